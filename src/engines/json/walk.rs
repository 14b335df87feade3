//! The children of a container, one after the other, from its beginning or a mark on. Scalars come with the
//! beginning of their text; containers are stepped over.

use super::index::{Document, End, Mark};
use super::stage;
use super::window::Window;
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
pub use crate::data::json::Kind;
use crate::data::json::token::{self as text, Word};
use std::ops::Range;

/// Bytes of a string that are looked for in memory; longer ones are searched through in the file.
const LONG: usize = 1 << 20;
/// How far ends are looked for where only near ones are wanted.
const NEAR: usize = 1 << 20;
/// Bytes of a name that are kept.
const NAME: usize = 4 << 10;

/// A value in a document.
#[derive(Clone, Debug)]
pub struct Child {
    /// Its number in the container, from 0.
    pub index: u64,
    /// Its name in an object, without escapes.
    pub name: Option<String>,
    /// Its kind.
    pub kind: Kind,
    /// Its bytes; of a string, with the quotes.
    pub span: Range<u64>,
    /// The text of a scalar, a long string's beginning (with its quote).
    pub text: Vec<u8>,
    /// What is wrong with it.
    pub problem: Option<Error>,
}

impl Child {
    /// A string's text without quotes and escapes, another scalar's as it stands there; at most about `most`
    /// bytes of it, and whether that is all.
    pub fn value(&self, most: usize) -> (String, bool) {
        let whole = self.text.len() as u64 == self.span.end - self.span.start;
        let raw = match self.kind {
            Kind::String => self.text.get(1..).unwrap_or_default(),
            _ => &self.text,
        };
        let raw =
            if whole && self.kind == Kind::String { raw.strip_suffix(b"\"").unwrap_or(raw) } else { raw };
        if raw.len() <= most {
            return (text::unescape(raw).0.into_owned(), whole);
        }
        let mut cut = most;
        while cut > 0 && raw.get(cut).is_some_and(|b| b & 0xc0 == 0x80) {
            cut -= 1;
        }
        // No escape is torn apart.
        let head = raw.get(..cut).unwrap_or_default();
        let torn = head.iter().rev().take(12).position(|&b| b == b'\\').map_or(0, |n| n + 1);
        (text::unescape(head.get(..cut - torn).unwrap_or_default()).0.into_owned(), false)
    }
}

/// Goes over the children of one container.
pub struct Walk<'a> {
    document: &'a Document,
    window: Window<'a>,
    object: bool,
    next: u64,
    /// Whether a value was read since the last comma.
    filled: bool,
    over: bool,
    /// Whether to stop at a container whose end is far.
    near: bool,
    /// Whether it did.
    far: bool,
}

impl<'a> Walk<'a> {
    /// The children of the container whose bracket is at `start`, from the last mark before child `from` on.
    pub fn new(task: &'a Task, document: &'a Document, start: u64, from: u64) -> Result<Walk<'a>> {
        let mark = document.mark(task, start, from)?;
        Walk::behind(task, document, start, mark)
    }

    /// The same from a mark on that is known.
    pub(super) fn behind(task: &'a Task, document: &'a Document, start: u64, mark: Mark) -> Result<Walk<'a>> {
        let mut window = Window::new(task, document.source(), start);
        let object = window.peek()? == Some(b'{');
        window.seek(mark.at);
        Ok(Walk { object, next: mark.child, near: false, ..Walk::of(document, window) })
    }

    fn of(document: &'a Document, window: Window<'a>) -> Walk<'a> {
        Walk { document, window, object: false, next: 0, filled: false, over: false, near: true, far: false }
    }

    /// Stops at a container whose end is not found at once, as the last child: its span is then said to go to
    /// the end of the text.
    pub fn nearby(self) -> Walk<'a> {
        Walk { near: true, ..self }
    }

    /// The value at `at` (behind white space), whatever it is; `None` where the text has ended. The end of a
    /// long one is not looked for: its span is then said to go to the end of the text.
    pub fn value_at(task: &'a Task, document: &'a Document, at: u64) -> Result<Option<Child>> {
        let mut walk = Walk::of(document, Window::new(task, document.source(), at));
        walk.space()?;
        if walk.window.peek()?.is_none() {
            return Ok(None);
        }
        walk.value(None).map(Some)
    }

    /// Whether the last child goes on behind what was looked at: its end is not known, nor what follows it.
    pub fn is_far(&self) -> bool {
        self.far
    }

    /// Whether the container is an object.
    pub fn is_object(&self) -> bool {
        self.object
    }

    /// The number of the next child.
    pub fn position(&self) -> u64 {
        self.next
    }

    /// The place where it stands.
    pub fn place(&self) -> u64 {
        self.window.place()
    }

    /// The next child; `None` behind the last one.
    ///
    /// # Errors
    /// What breaks the text here; there is nothing more after that.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<Child>> {
        if self.over {
            return Ok(None);
        }
        let found = self.step();
        self.over |= !matches!(found, Ok(Some(_)));
        found
    }

    fn step(&mut self) -> Result<Option<Child>> {
        loop {
            self.space()?;
            let closing = if self.object { b'}' } else { b']' };
            match self.window.peek()? {
                None => {
                    let what = if self.object { "an object" } else { "an array" };
                    return Err(self.wrong(&format!("the text ends inside {what}; it may be cut off")));
                }
                Some(byte) if byte == closing => {
                    self.window.skip(1);
                    return Ok(None);
                }
                Some(b',') if self.filled => {
                    self.window.skip(1);
                    self.filled = false;
                }
                Some(byte) if self.filled => {
                    let closing = char::from(closing);
                    return Err(self.wrong(&format!("',' or {closing:?} is expected, not {}", shown(byte))));
                }
                Some(_) => break,
            }
        }
        let name = if self.object { Some(self.name()?) } else { None };
        let child = self.value(name)?;
        self.filled = true;
        Ok(Some(child))
    }

    fn name(&mut self) -> Result<String> {
        match self.window.peek()? {
            Some(b'"') => {}
            Some(byte) => {
                return Err(self.wrong(&format!("a name in quotes is expected, not {}", shown(byte))));
            }
            None => return Err(self.wrong("the text ends where a name is expected")),
        }
        let end = loop {
            match text::string(self.window.rest()) {
                Some(end) => break end,
                None if self.window.more()? => {}
                None => return Err(self.wrong("the text ends inside a name; it may be cut off")),
            }
        };
        let raw = self.window.rest().get(1..end - 1).unwrap_or_default();
        let mut name = text::unescape(raw).0.into_owned();
        if name.len() > NAME {
            let cut = (0..=NAME).rev().find(|&at| name.is_char_boundary(at)).unwrap_or(0);
            name.truncate(cut);
            name.push('…');
        }
        self.window.skip(end);
        self.space()?;
        match self.window.peek()? {
            Some(b':') => self.window.skip(1),
            Some(byte) => {
                return Err(self.wrong(&format!("':' is expected behind a name, not {}", shown(byte))));
            }
            None => return Err(self.wrong("the text ends behind a name; it may be cut off")),
        }
        self.space()?;
        Ok(name)
    }

    fn value(&mut self, name: Option<String>) -> Result<Child> {
        let start = self.window.place();
        let index = self.next;
        self.next += 1;
        let child = |kind, end, text| Child { index, name, kind, span: start..end, text, problem: None };
        match self.window.peek()? {
            Some(byte @ (b'{' | b'[')) => {
                let end = self.end(start)?;
                self.over |= matches!(end, End::Broken(_));
                self.window.seek(end.place());
                let kind = if byte == b'{' { Kind::Object } else { Kind::Array };
                Ok(child(kind, end.place(), Vec::new()))
            }
            Some(b'"') => {
                let (end, text) = self.string(start)?;
                let mut child = child(Kind::String, end, text);
                let whole = child.text.len() as u64 == end - start;
                let inner = child.text.get(1..child.text.len().saturating_sub(1)).filter(|_| whole);
                if let Some(fault) = inner.and_then(|raw| text::unescape(raw).1) {
                    let at = start + 1 + fault.at as u64;
                    child.problem = Some(self.document.malformed(self.window.task(), fault.what, at));
                }
                Ok(child)
            }
            Some(_) => {
                let text = self.word()?;
                let kind = match text::classify(&text) {
                    Word::Plain(kind) => kind,
                    Word::NotFinite | Word::Odd => Kind::Number,
                    Word::No => {
                        let words =
                            format!("a value is expected, not {}", quoted(&text, self.window.peek()?));
                        return Err(self.document.malformed(self.window.task(), &words, start));
                    }
                };
                let mut child = child(kind, start + text.len() as u64, text);
                if text::classify(&child.text) == Word::Odd {
                    let words = format!("{} is no number of JSON", quoted(&child.text, None));
                    child.problem = Some(self.document.malformed(self.window.task(), &words, start));
                }
                Ok(child)
            }
            None => Err(self.wrong("the text ends where a value is expected; it may be cut off")),
        }
    }

    /// Where the container here ends.
    fn end(&mut self, start: u64) -> Result<End> {
        if let Some(len) = stage::container(self.window.rest()) {
            return Ok(End::At(start + len as u64));
        }
        let (task, source) = (self.window.task(), self.document.source());
        if !self.near {
            return self.document.end(task, start);
        }
        if let Some(end) = self.document.known_end(start) {
            return Ok(end);
        }
        let bytes = source.read_up_to(task, start, NEAR)?;
        if let Some(len) = stage::container(&bytes) {
            return Ok(End::At(start + len as u64));
        }
        self.far = true;
        Ok(End::Broken(source.known_len().unwrap_or(start + bytes.len() as u64)))
    }

    /// The string here: where it ends and its text, of a long one the beginning.
    fn string(&mut self, start: u64) -> Result<(u64, Vec<u8>)> {
        loop {
            if let Some(len) = text::string(self.window.rest()) {
                let text = self.window.rest().get(..len).unwrap_or_default().to_vec();
                self.window.skip(len);
                return Ok((start + len as u64, text));
            }
            if self.window.rest().len() >= LONG {
                break;
            }
            if !self.window.more()? {
                let words = "the text ends inside a string; it may be cut off";
                return Err(self.document.malformed(self.window.task(), words, start));
            }
        }
        let mut text = self.window.rest().get(..LONG).unwrap_or_default().to_vec();
        text.shrink_to_fit();
        self.window.skip(1);
        loop {
            let rest = self.window.rest();
            match memchr::memchr2(b'"', b'\\', rest) {
                Some(at) if rest.get(at) == Some(&b'"') => {
                    self.window.skip(at + 1);
                    return Ok((self.window.place(), text));
                }
                Some(at) if at + 1 < rest.len() => self.window.skip(at + 2),
                Some(at) => {
                    self.window.skip(at);
                    if !self.window.more()? {
                        break;
                    }
                }
                None => {
                    self.window.skip(rest.len());
                    if !self.window.more()? {
                        break;
                    }
                }
            }
        }
        let words = "the text ends inside a string; it may be cut off";
        Err(self.document.malformed(self.window.task(), words, start))
    }

    fn word(&mut self) -> Result<Vec<u8>> {
        let mut len = text::word(self.window.rest());
        while len == self.window.rest().len() && !self.window.is_last() && self.window.more()? {
            len += text::word(self.window.rest().get(len..).unwrap_or_default());
        }
        let text = self.window.rest().get(..len).unwrap_or_default().to_vec();
        self.window.skip(len);
        Ok(text)
    }

    fn space(&mut self) -> Result<()> {
        match space(&mut self.window)? {
            Space::Open(at) => {
                let task = self.window.task();
                Err(self.document.malformed(task, "the text ends inside a comment", at))
            }
            _ => Ok(()),
        }
    }

    fn wrong(&mut self, what: &str) -> Error {
        let at = self.window.place();
        self.document.malformed(self.window.task(), what, at)
    }
}

/// What stood between two tokens.
pub(super) enum Space {
    /// Nothing, or white space.
    Plain,
    /// A comment, which begins here.
    Comment(u64),
    /// A comment that is not closed.
    Open(u64),
}

/// Goes over white space and comments.
pub(super) fn space(window: &mut Window<'_>) -> Result<Space> {
    let mut found = Space::Plain;
    loop {
        let blank = text::space(window.rest());
        window.skip(blank);
        let place = window.place();
        match window.peek()? {
            Some(byte) if text::is_space(byte) => continue,
            Some(b'/') => {}
            _ => return Ok(found),
        }
        if window.rest().len() < 2 {
            window.more()?;
        }
        let closed = match window.rest().get(1) {
            Some(b'/') => comment(window, b"\n")?,
            Some(b'*') => comment(window, b"*/")?,
            _ => return Ok(found),
        };
        found = match (found, closed) {
            (_, false) => return Ok(Space::Open(place)),
            (Space::Plain, true) => Space::Comment(place),
            (found, true) => found,
        };
    }
}

/// Goes over a comment; a line's comment may end with the text.
fn comment(window: &mut Window<'_>, end: &[u8]) -> Result<bool> {
    window.skip(2);
    loop {
        if let Some(at) = memchr::memmem::find(window.rest(), end) {
            window.skip(at + end.len());
            return Ok(true);
        }
        // The first half of the end may stand at the border.
        window.skip(window.rest().len().saturating_sub(1));
        if !window.more()? {
            window.skip(1);
            return Ok(end.len() == 1);
        }
    }
}

/// A byte in words.
pub(super) fn shown(byte: u8) -> String {
    match byte {
        b' '..=b'~' => format!("{:?}", char::from(byte)),
        _ => format!("the byte 0x{byte:02x}"),
    }
}

/// A short text in words, or the byte that stands there instead.
pub(super) fn quoted(text: &[u8], next: Option<u8>) -> String {
    match (text, next) {
        ([], Some(byte)) => shown(byte),
        ([], None) => "the end".to_owned(),
        _ => {
            let head: String =
                String::from_utf8_lossy(text.get(..160).unwrap_or(text)).chars().take(40).collect();
            format!("{head:?}{}", if head.len() < text.len() { "…" } else { "" })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::source::Source;

    fn listed(text: &[u8], from: u64) -> (Vec<String>, Option<String>) {
        let task = Task::new();
        let document = Document::new(&task, &Source::memory("t", text.to_vec())).unwrap();
        let mut walk = Walk::new(&task, &document, document.start(), from).unwrap();
        let mut out = Vec::new();
        loop {
            match walk.next() {
                Ok(Some(child)) => {
                    let name = child.name.clone().unwrap_or_else(|| child.index.to_string());
                    let value = match child.kind.is_container() {
                        true => format!("{}", child.span.end - child.span.start),
                        false => child.value(20).0,
                    };
                    let problem = if child.problem.is_some() { " ✗" } else { "" };
                    out.push(format!("{name} {} {value}{problem}", child.kind.word()));
                }
                Ok(None) => return (out, None),
                Err(error) => return (out, Some(error.to_string())),
            }
        }
    }

    #[test]
    fn children_with_kinds_and_texts() {
        let (children, error) = listed(
            br#" {"a": 1.50, "b\n": "x\"\u00e9", "a": [1, {"z": "]"}], "c": {} , "d":null,"e" : false}"#
                .trim_ascii_start(),
            0,
        );
        let expected =
            ["a number 1.50", "b\n string x\"é", "a array 15", "c object 2", "d null null", "e bool false"];
        assert_eq!((children, error), (expected.map(str::to_owned).to_vec(), None));
        assert_eq!(listed(b"[]", 0), (vec![], None));
    }

    #[test]
    fn what_is_often_added_is_read() {
        let (children, error) = listed(b"[ // one\n 1, /* two ] */ NaN, -Infinity,\n]", 0);
        assert_eq!((children.len(), error), (3, None));
        assert_eq!(
            listed(b"{\"a\": 01, \"b\": \"\x01\", \"c\": 2}", 0).0,
            ["a number 01 ✗", "b string \u{1} ✗", "c number 2"]
        );
    }

    #[test]
    fn what_is_wrong_has_its_place_and_hides_nothing_before_it() {
        let error = |text: &str| {
            let (children, error) = listed(text.as_bytes(), 0);
            format!("{} {}", children.len(), error.unwrap_or_default())
        };
        assert_eq!(
            error("[1,\n 2 3]"),
            "2 malformed JSON: ',' or ']' is expected, not '3', in line 2, column 4 (at byte 7)"
        );
        assert_eq!(
            error("[1,,2]"),
            "1 malformed JSON: a value is expected, not ',', in line 1, column 4 (at byte 3)"
        );
        assert_eq!(
            error("{\"a\" 1}"),
            "0 malformed JSON: ':' is expected behind a name, not '1', in line 1, column 6 (at byte 5)"
        );
        assert_eq!(
            error("{a: 1}"),
            "0 malformed JSON: a name in quotes is expected, not 'a', in line 1, column 2 (at byte 1)"
        );
        assert_eq!(
            error("[nul]"),
            "0 malformed JSON: a value is expected, not \"nul\", in line 1, column 2 (at byte 1)"
        );
        assert!(error("[1, [2, 3").starts_with("2 "));
        assert!(error("[1, \"ab").starts_with("1 malformed JSON: the text ends inside a string"));
        assert!(error("[1, /* x").contains("ends inside a comment"));
    }

    #[test]
    fn a_long_string_is_not_held() {
        let text = format!("[\"{}\\\"\\n\", 2]", "ab\\\\".repeat(2 << 20));
        let task = Task::new();
        let document = Document::new(&task, &Source::memory("t", text.clone())).unwrap();
        let mut walk = Walk::new(&task, &document, 0, 0).unwrap();
        let child = walk.next().unwrap().unwrap();
        assert_eq!((child.span.end, child.text.len()), (text.len() as u64 - 4, LONG));
        assert_eq!(child.value(7), ("ab\\ab".to_owned(), false));
        assert_eq!(walk.next().unwrap().unwrap().text, b"2");
        assert!(walk.next().unwrap().is_none());
    }

    #[test]
    fn from_the_middle_of_a_large_array() {
        let items: Vec<String> = (0..100_000).map(|n| format!("{{\"n\": {n}}}")).collect();
        let text = format!("[{}]", items.join(","));
        let (children, error) = listed(text.as_bytes(), 99_999);
        assert!(children.len() < 6_000 && children.last().unwrap().starts_with("99999 object"), "{error:?}");
    }
}
