//! The XML of workbooks, piece by piece, in any encoding that its byte order mark or declaration names.

use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::{self, Source};
use crate::bytes::task::Task;
use encoding_rs::{Decoder, Encoding, UTF_8, UTF_16BE, UTF_16LE};
use quick_xml::events::{BytesEnd, BytesStart, Event};
use std::borrow::Cow;
use std::io::{self, BufRead, Read};

/// The most bytes of one tag or of one text.
const PIECE: usize = 256 << 20;
/// The most bytes of the text of an element, which may consist of many pieces.
const TEXT: u64 = 64 << 20;
/// The most elements within each other.
const DEPTH: u32 = 256;
/// Bytes in which a declaration stands.
const HEAD: usize = 256;

/// A part that is being read.
pub(super) struct Xml {
    reader: quick_xml::Reader<Input>,
    buffer: Vec<u8>,
    depth: u32,
}

/// What comes next.
pub(super) enum Token<'a> {
    /// An element begins; one without content ends right after.
    Open(BytesStart<'a>),
    /// An element ends.
    Close(BytesEnd<'a>),
    /// Text, a piece of it: references stand alone.
    Text(Cow<'a, str>),
    /// Comments, declarations.
    Other,
    /// The end of the part.
    End,
}

impl Xml {
    /// The XML in `source`, of any length: for who takes little of it, or counts what it takes.
    pub(super) fn open(task: &Task, source: &Source) -> Result<Xml> {
        Self::open_up_to(task, source, u64::MAX)
    }

    /// The XML in `source`, of no more bytes than a header may have: for who keeps what is in it.
    pub(super) fn open_header(task: &Task, source: &Source) -> Result<Xml> {
        Self::open_up_to(task, source, limits::HEADER)
    }

    fn open_up_to(task: &Task, source: &Source, most: u64) -> Result<Xml> {
        let head = source.read_up_to(task, 0, HEAD)?;
        let (encoding, skipped) = encoding(&head);
        let mut inner = source.reader(task);
        io::copy(&mut (&mut inner).take(skipped), &mut io::sink())?;
        let decoder = (encoding != UTF_8).then(|| encoding.new_decoder_without_bom_handling());
        let input =
            Input { inner, decoder, decoded: Vec::new(), at: 0, is_over: false, taken: 0, total: 0, most };
        let mut reader = quick_xml::Reader::from_reader(input);
        let config = reader.config_mut();
        config.check_end_names = false;
        config.expand_empty_elements = true;
        config.allow_dangling_amp = true;
        Ok(Xml { reader, buffer: Vec::new(), depth: 0 })
    }

    /// The next piece.
    pub(super) fn next(&mut self) -> Result<Token<'_>> {
        self.buffer.clear();
        self.reader.get_mut().taken = 0;
        let place = self.reader.buffer_position();
        let event = self.reader.read_event_into(&mut self.buffer).map_err(|error| failed(error, place))?;
        Ok(match event {
            Event::Start(tag) => {
                self.depth += 1;
                if self.depth > DEPTH {
                    return Err(Error::limit(format!("XML: more than {DEPTH} elements within each other")));
                }
                Token::Open(tag)
            }
            Event::End(tag) => {
                self.depth = self.depth.saturating_sub(1);
                Token::Close(tag)
            }
            Event::Text(text) => Token::Text(text.xml10_content()),
            Event::CData(text) => Token::Text(text.xml10_content()),
            Event::GeneralRef(name) => Token::Text(referred(&name)),
            Event::Eof => Token::End,
            _ => Token::Other,
        })
    }

    /// Goes behind the end of the element that was opened last.
    pub(super) fn skip(&mut self) -> Result<()> {
        self.inside(|_, _| Ok(()))
    }

    /// The text in the element that was opened last, that of elements in it too; goes behind its end.
    pub(super) fn text(&mut self) -> Result<String> {
        let mut all = String::new();
        self.inside(|_, token| match token {
            Token::Text(text) => gather(&mut all, text),
            _ => Ok(()),
        })?;
        Ok(all)
    }

    /// Shows what is in the element that was opened last, with the number of elements around it; goes behind its
    /// end.
    pub(super) fn inside(&mut self, mut show: impl FnMut(u32, &Token<'_>) -> Result<()>) -> Result<()> {
        let outer = self.depth;
        let mut depth = outer;
        loop {
            let token = self.next()?;
            match &token {
                Token::End => return Err(Error::malformed("XML: it ends within an element")),
                Token::Open(_) => depth += 1,
                Token::Close(_) => depth -= 1,
                _ => {}
            }
            if depth < outer {
                return Ok(());
            }
            show(depth - outer, &token)?;
        }
    }
}

/// Appends a piece of an element's text.
///
/// # Errors
/// `Limit` where the text becomes too long.
pub(super) fn gather(all: &mut String, piece: &str) -> Result<()> {
    limits::check(all.len() as u64 + piece.len() as u64, TEXT, "the text of an element")?;
    all.push_str(piece);
    Ok(())
}

/// The attribute of this name, with its prefix.
pub(super) fn attribute<'a>(tag: &'a BytesStart<'_>, name: &str) -> Option<Cow<'a, str>> {
    find(tag, |key| key == name)
}

/// The attribute of this name, whatever its prefix.
pub(super) fn local_attribute<'a>(tag: &'a BytesStart<'_>, name: &str) -> Option<Cow<'a, str>> {
    find(tag, |key| key.rsplit(':').next() == Some(name))
}

fn find<'a>(tag: &'a BytesStart<'_>, is: impl Fn(&str) -> bool) -> Option<Cow<'a, str>> {
    let mut all = tag.attributes();
    let found = all.with_checks(false).find_map(|one| one.ok().filter(|one| is(one.key.as_ref())))?;
    Some(unescaped(found.value))
}

/// A value without references; as it is where one of them is unknown.
pub(super) fn unescaped(value: Cow<'_, str>) -> Cow<'_, str> {
    if !value.contains('&') {
        return value;
    }
    let plain = quick_xml::escape::unescape(&value).map(Cow::into_owned);
    plain.map_or(value, Cow::Owned)
}

/// What a reference stands for; the reference itself where that is not known.
fn referred<'a>(name: &quick_xml::events::BytesRef<'_>) -> Cow<'a, str> {
    if let Ok(Some(letter)) = name.resolve_char_ref() {
        return Cow::Owned(letter.to_string());
    }
    let name: &str = name.as_ref();
    match quick_xml::escape::resolve_xml_entity(name) {
        Some(known) => Cow::Borrowed(known),
        None => Cow::Owned(format!("&{name};")),
    }
}

fn failed(error: quick_xml::Error, place: u64) -> Error {
    if let quick_xml::Error::Io(io) = &error {
        let ours = io.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
        return ours.cloned().unwrap_or_else(|| Error::io(format!("XML: {io}")));
    }
    Error::malformed(format!("XML: {error}")).at(place)
}

/// In which encoding a part is that begins so, and how many bytes of a mark come first.
fn encoding(head: &[u8]) -> (&'static Encoding, u64) {
    if let Some((encoding, len)) = Encoding::for_bom(head) {
        return (encoding, len as u64);
    }
    match head {
        [0, b'<', ..] => return (UTF_16BE, 0),
        [b'<', 0, ..] => return (UTF_16LE, 0),
        _ => {}
    }
    let declaration = head.split(|&byte| byte == b'>').next().unwrap_or_default();
    let label = memchr::memmem::find(declaration, b"encoding").and_then(|at| {
        let rest = declaration.get(at + 8..)?.trim_ascii_start().strip_prefix(b"=")?.trim_ascii_start();
        let quote = rest.first().filter(|&&quote| quote == b'"' || quote == b'\'')?;
        rest.get(1..)?.split(|byte| byte == quote).next()
    });
    // It can be read as bytes, so it is not in 16 bits, whatever it says.
    let named = label.and_then(Encoding::for_label).filter(|named| ![UTF_16LE, UTF_16BE].contains(named));
    (named.unwrap_or(UTF_8), 0)
}

/// The bytes of a part in UTF-8.
struct Input {
    inner: source::Reader,
    decoder: Option<Decoder>,
    decoded: Vec<u8>,
    at: usize,
    is_over: bool,
    /// Bytes that were taken for this piece.
    taken: usize,
    /// Bytes that were taken in all, and how many may be.
    total: u64,
    most: u64,
}

impl Input {
    /// Decodes a piece more.
    fn refill(&mut self, decoder: &mut Decoder) -> io::Result<()> {
        self.decoded.clear();
        self.at = 0;
        while self.decoded.is_empty() && !self.is_over {
            let raw = self.inner.fill_buf()?;
            let last = raw.is_empty();
            let most = decoder.max_utf8_buffer_length(raw.len()).unwrap_or(raw.len());
            let mut text = String::with_capacity(most);
            let (_, read, _) = decoder.decode_to_string(raw, &mut text, last);
            self.inner.consume(read);
            self.decoded = text.into_bytes();
            self.is_over = last;
        }
        Ok(())
    }
}

impl BufRead for Input {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.taken > PIECE {
            let most = PIECE >> 20;
            return Err(Error::limit(format!("XML: a tag or a text has more than {most} MB")).into());
        }
        if self.total > self.most {
            let most = self.most >> 20;
            return Err(Error::limit(format!("XML: this part has more than {most} MiB")).into());
        }
        let Some(mut decoder) = self.decoder.take() else { return self.inner.fill_buf() };
        let filled = if self.at >= self.decoded.len() { self.refill(&mut decoder) } else { Ok(()) };
        self.decoder = Some(decoder);
        filled?;
        Ok(self.decoded.get(self.at..).unwrap_or_default())
    }

    fn consume(&mut self, amount: usize) {
        self.taken += amount;
        self.total = self.total.saturating_add(amount as u64);
        match self.decoder {
            None => self.inner.consume(amount),
            Some(_) => self.at += amount,
        }
    }
}

impl Read for Input {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let ready = self.fill_buf()?;
        let n = ready.len().min(out.len());
        for (to, from) in out.iter_mut().zip(ready) {
            *to = *from;
        }
        self.consume(n);
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: Vec<u8>) -> Result<String> {
        let mut xml = Xml::open(&Task::new(), &Source::memory("part.xml", bytes))?;
        let mut all = String::new();
        loop {
            match xml.next()? {
                Token::Open(tag) => {
                    let value = local_attribute(&tag, "b").map_or_else(String::new, |b| format!(" {b}"));
                    all += &format!("<{}{value}>", tag.local_name().as_ref());
                }
                Token::Close(_) => all += "</>",
                Token::Text(text) => all += &text,
                Token::Other => {}
                Token::End => return Ok(all),
            }
        }
    }

    const TEXT: &str = "<a x:b='&lt;é'>ü&amp;&#x41;&nix;<![CDATA[<]]><!-- ? --><c/></a>";
    const PLAIN: &str = "<a <é>ü&A&nix;<<c></></>";

    #[test]
    fn any_encoding_is_read() {
        let wide = |unit: fn(u16) -> [u8; 2], head: &str| {
            format!("{head}{TEXT}").encode_utf16().flat_map(unit).collect::<Vec<u8>>()
        };
        let declared = "<?xml version='1.0' encoding='UTF-16'?>";
        let latin = format!("<?xml version=\"1.0\" encoding = \"ISO-8859-1\" ?>{TEXT}");
        let latin: Vec<u8> = latin.chars().map(|letter| letter as u8).collect();
        for bytes in [
            TEXT.into(),
            format!("\u{feff}{TEXT}").into_bytes(),
            format!("{declared}{TEXT}").into_bytes(),
            wide(u16::to_le_bytes, declared),
            wide(u16::to_be_bytes, declared),
            wide(u16::to_le_bytes, "\u{feff}"),
            wide(u16::to_be_bytes, "\u{feff}<?xml version='1.0'?>"),
            wide(u16::to_be_bytes, ""),
            latin,
        ] {
            assert_eq!(read(bytes.clone()).unwrap(), PLAIN, "{bytes:?}");
        }
    }

    #[test]
    fn texts_and_parts_have_limits() {
        // Comments, references and CDATA cut a text into pieces.
        let piece = "a".repeat(1 << 20) + "<!-- --><![CDATA[a]]>&amp;";
        let text = format!("<t>{}</t>", piece.repeat(65));
        let mut xml = Xml::open(&Task::new(), &Source::memory("x", text)).unwrap();
        xml.next().unwrap();
        assert_eq!(xml.text().unwrap_err().kind(), crate::ErrorKind::Limit);
        let part = Source::memory("x", "<a>".to_owned() + &"<b/>".repeat(1_000));
        let mut xml = Xml::open_up_to(&Task::new(), &part, 2_000).unwrap();
        let error = loop {
            match xml.next() {
                Ok(Token::End) => panic!("it is longer"),
                Ok(_) => {}
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind(), crate::ErrorKind::Limit);
    }

    #[test]
    fn depth_and_ends_are_looked_at() {
        assert_eq!(read("<a>".repeat(300).into()).unwrap_err().kind(), crate::bytes::error::ErrorKind::Limit);
        assert!(read("<a b='".into()).is_err());
        let mut xml = Xml::open(&Task::new(), &Source::memory("x", "<a><b>1<c>2</c></b>3</a>")).unwrap();
        assert!(matches!(xml.next(), Ok(Token::Open(_))) && matches!(xml.next(), Ok(Token::Open(_))));
        assert_eq!(xml.text().unwrap(), "12");
        assert!(matches!(xml.next(), Ok(Token::Text(text)) if text == "3"));
        let mut xml = Xml::open(&Task::new(), &Source::memory("x", "<a><b>")).unwrap();
        xml.next().unwrap();
        assert_eq!(xml.skip().unwrap_err().kind(), crate::bytes::error::ErrorKind::Malformed);
    }
}
