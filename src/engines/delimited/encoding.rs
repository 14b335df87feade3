//! Encodings: which one a text has, decoding of pieces, and UTF-16 and UTF-32 as a stream of UTF-8.
//!
//! All encodings but these two keep line ends, quotes and the usual delimiters as single ASCII bytes, so
//! records are split before they are decoded. UTF-16 and UTF-32 are decoded first: their source becomes a stream
//! of UTF-8 with its own checkpoints. Names and labels: <https://encoding.spec.whatwg.org/>.

use crate::bytes::error::{Error, Result};
use crate::bytes::source::{ReadAt, Source};
use crate::bytes::task::Task;
use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};
use parking_lot::Mutex;
use std::borrow::Cow;
use std::sync::Arc;

/// The encoding of a text: one of the Encoding Standard, or UTF-32, which that leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charset {
    /// One of the Encoding Standard.
    Standard(&'static Encoding),
    /// UTF-32, the least significant byte first.
    Utf32Le,
    /// UTF-32, the most significant byte first.
    Utf32Be,
}

impl From<&'static Encoding> for Charset {
    fn from(encoding: &'static Encoding) -> Self {
        Charset::Standard(encoding)
    }
}

impl Charset {
    /// The name as people write it: lower case.
    pub fn name(self) -> String {
        match self {
            Charset::Standard(encoding) => encoding.name().to_lowercase(),
            Charset::Utf32Le => "utf-32le".to_owned(),
            Charset::Utf32Be => "utf-32be".to_owned(),
        }
    }

    /// Bytes of a unit, where that is more than one.
    fn unit(self) -> Option<u64> {
        match self {
            Charset::Standard(encoding) => is_utf16(encoding).then_some(2),
            Charset::Utf32Le | Charset::Utf32Be => Some(4),
        }
    }

    /// Whether it is UTF-16 or UTF-32.
    pub fn is_wide(self) -> bool {
        self.unit().is_some()
    }

    /// Bytes of its byte order mark at the beginning of a text, 0 where there is none.
    pub fn mark(self, first: &[u8]) -> u64 {
        marked(first).filter(|found| found.encoding == self).map_or(0, |found| found.mark)
    }
}

/// The encoding of a text and the length of its byte order mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Detected {
    /// The encoding.
    pub encoding: Charset,
    /// Bytes of the byte order mark; 0 without one.
    pub mark: u64,
}

/// Guesses the encoding from the first bytes: byte order mark, zero bytes, valid UTF-8, statistics.
pub fn detect(sample: &[u8]) -> Detected {
    if let Some(found) = marked(sample) {
        return found;
    }
    let encoding = utf32_by_zeros(sample).or_else(|| utf16_by_zeros(sample).map(Charset::from));
    let encoding = encoding.unwrap_or_else(|| {
        if mostly_utf8(sample) {
            return UTF_8.into();
        }
        let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
        detector.feed(sample, false);
        detector.guess(None, Utf8Detection::Allow).into()
    });
    Detected { encoding, mark: 0 }
}

/// What a byte order mark says. That of UTF-32 begins like the one of UTF-16.
fn marked(sample: &[u8]) -> Option<Detected> {
    match sample {
        [0xff, 0xfe, 0, 0, rest @ ..] if rest.len() != 1 && rest.get(..2) != Some(&[0, 0]) => {
            Some(Detected { encoding: Charset::Utf32Le, mark: 4 })
        }
        [0, 0, 0xfe, 0xff, ..] => Some(Detected { encoding: Charset::Utf32Be, mark: 4 }),
        _ => Encoding::for_bom(sample)
            .map(|(found, mark)| Detected { encoding: found.into(), mark: mark as u64 }),
    }
}

/// The encoding with this label (`utf-8`, `latin1`), if the option was set; else the detected one.
pub fn choose(option: Option<&str>, sample: &[u8]) -> Result<Detected> {
    let Some(label) = option.filter(|label| *label != "auto") else { return Ok(detect(sample)) };
    let encoding = match label.to_lowercase().as_str() {
        "utf-32" | "utf32" if detect(sample).encoding == Charset::Utf32Be => Charset::Utf32Be,
        "utf-32" | "utf32" | "utf-32le" | "utf-32-le" => Charset::Utf32Le,
        "utf-32be" | "utf-32-be" => Charset::Utf32Be,
        _ => Charset::Standard(standard(label)?),
    };
    Ok(Detected { encoding, mark: encoding.mark(sample) })
}

fn standard(label: &str) -> Result<&'static Encoding> {
    let encoding = Encoding::for_label(label.as_bytes())
        .ok_or_else(|| Error::unsupported(format!("encoding={label}: no encoding has this name")))?;
    if !encoding.is_ascii_compatible() && !is_utf16(encoding) {
        return Err(Error::unsupported(format!("encoding={label}: lines of it are not found")));
    }
    Ok(encoding)
}

/// Whether the bytes are text for somebody who was told so by the file's name: of an encoding with
/// few control characters, where a few zeros do no harm.
pub fn is_plausible(sample: &[u8]) -> bool {
    let found = detect(sample);
    let body = sample.get(found.mark as usize..).unwrap_or_default();
    let narrow = found.encoding != UTF_8.into() && !found.encoding.is_wide();
    if narrow && found.mark == 0 && body.contains(&0) {
        return false;
    }
    let text = match found.encoding {
        Charset::Standard(encoding) => decode(encoding, body),
        wide => Cow::Owned(utf32(body, wide == Charset::Utf32Be).0),
    };
    let (mut strange, mut count) = (0usize, 0usize);
    for c in text.chars() {
        count += 1;
        strange += usize::from(
            c.is_control() && !matches!(c, '\t' | '\n' | '\r' | '\u{c}' | '\u{1b}') || c == '\u{fffd}',
        );
    }
    strange * 4 <= count
}

fn is_utf16(encoding: &'static Encoding) -> bool {
    encoding == UTF_16LE || encoding == UTF_16BE
}

/// Text in UTF-32 that is mostly ASCII: units that are characters, none of them a control character.
fn utf32_by_zeros(sample: &[u8]) -> Option<Charset> {
    let units = sample.get(..UTF32_SAMPLE).unwrap_or(sample).as_chunks::<4>().0;
    let is_text = |big: bool| {
        let unit = |unit: &[u8; 4]| if big { u32::from_be_bytes(*unit) } else { u32::from_le_bytes(*unit) };
        let mut plain = 0;
        let all = units.iter().all(|bytes| {
            let c = char::from_u32(unit(bytes));
            plain += usize::from(c.is_some_and(|c| c.is_ascii()));
            c.is_some_and(|c| !c.is_control() || matches!(c, '\t' | '\n' | '\r' | '\u{c}'))
        });
        units.len() > 1 && all && plain * 10 >= units.len() * 7
    };
    match () {
        _ if is_text(false) => Some(Charset::Utf32Le),
        _ if is_text(true) => Some(Charset::Utf32Be),
        _ => None,
    }
}

/// Bytes that tell UTF-32.
const UTF32_SAMPLE: usize = 4 << 10;

/// ASCII text in UTF-16 has a zero in every second byte.
fn utf16_by_zeros(sample: &[u8]) -> Option<&'static Encoding> {
    let pairs = sample.len() / 2;
    if pairs < 2 {
        return None;
    }
    let (mut high, mut low) = (0, 0);
    for pair in sample.as_chunks::<2>().0 {
        high += usize::from(pair[0] == 0 && pair[1] != 0);
        low += usize::from(pair[1] == 0 && pair[0] != 0);
    }
    match () {
        _ if low * 10 >= pairs * 7 => Some(UTF_16LE),
        _ if high * 10 >= pairs * 7 => Some(UTF_16BE),
        _ => None,
    }
}

/// Whether a sample is UTF-8: whole, cut at its end, or damaged in few places.
fn mostly_utf8(sample: &[u8]) -> bool {
    let (mut rest, mut bad, mut good) = (sample, 0usize, 0usize);
    loop {
        match simdutf8::compat::from_utf8(rest) {
            Ok(text) => {
                good += text.bytes().filter(|b| *b >= 0xc2).count();
                return bad == 0 || good > bad * 10;
            }
            Err(error) => {
                let (valid, after) = rest.split_at(error.valid_up_to());
                good += valid.iter().filter(|b| **b >= 0xc2).count();
                let Some(length) = error.error_len() else {
                    // Cut in the middle of a character, by the sample's end or the file's.
                    return bad == 0 || good > bad * 10;
                };
                bad += 1;
                rest = after.get(length..).unwrap_or_default();
            }
        }
    }
}

/// Decodes a piece; what is no character becomes U+FFFD.
pub fn decode<'a>(encoding: &'static Encoding, bytes: &'a [u8]) -> Cow<'a, str> {
    if encoding == UTF_8
        && let Ok(text) = simdutf8::basic::from_utf8(bytes)
    {
        return Cow::Borrowed(text);
    }
    encoding.decode_without_bom_handling(bytes).0
}

/// The source as bytes that keep ASCII as single bytes, where they begin, and their encoding: for
/// UTF-16 and UTF-32 a stream of UTF-8, else the source itself.
pub fn ascii_view(source: &Source, detected: Detected) -> Result<(Source, u64, &'static Encoding)> {
    let unit = match (detected.encoding, detected.encoding.unit()) {
        (Charset::Standard(encoding), None) => return Ok((source.clone(), detected.mark, encoding)),
        (_, unit) => unit.unwrap_or(1),
    };
    let big = [Charset::Utf32Be, UTF_16BE.into()].contains(&detected.encoding);
    let known = Mutex::new(WideKnown { marks: vec![(detected.mark, 0)], len: None });
    let wide = Wide { source: source.clone(), unit, big, known };
    let (whole, codec) = (0..source.known_len().unwrap_or(0), detected.encoding.name());
    Ok((source.stream(source.name(), Arc::new(wide))?.unpacked_from(source, whole, codec), 0, UTF_8))
}

/// UTF-32 as text, and how many bytes it took.
fn utf32(bytes: &[u8], big: bool) -> (String, u64) {
    let units = bytes.as_chunks::<4>().0;
    let unit = |u: &[u8; 4]| if big { u32::from_be_bytes(*u) } else { u32::from_le_bytes(*u) };
    let text = units.iter().map(|u| char::from_u32(unit(u)).unwrap_or('\u{fffd}')).collect();
    (text, units.len() as u64 * 4)
}

/// UTF-16 or UTF-32 as UTF-8.
struct Wide {
    source: Source,
    /// Bytes of a unit: 2 or 4.
    unit: u64,
    big: bool,
    known: Mutex<WideKnown>,
}

struct WideKnown {
    /// (byte in the source, byte in the result), in order.
    marks: Vec<(u64, u64)>,
    len: Option<u64>,
}

/// Bytes that are decoded at a time, and between two marks.
const PIECE: usize = 128 << 10;

impl Wide {
    /// Decodes one piece from `at`: the text and how many bytes it took; 0 at the end.
    fn piece(&self, task: &Task, at: u64) -> Result<(String, u64)> {
        let bytes = self.source.read_up_to(task, at, PIECE)?;
        let last = bytes.len() < PIECE;
        let (mut text, mut taken) = match self.unit {
            2 => self.utf16(&bytes, last),
            _ => utf32(&bytes, self.big),
        };
        if last && !(bytes.len() as u64).is_multiple_of(self.unit) {
            text.push('\u{fffd}');
            taken = bytes.len() as u64;
        }
        Ok((text, taken))
    }

    fn utf16(&self, bytes: &[u8], last: bool) -> (String, u64) {
        let units = bytes.as_chunks::<2>().0.iter();
        let units = units.map(|u| if self.big { u16::from_be_bytes(*u) } else { u16::from_le_bytes(*u) });
        let mut units: Vec<u16> = units.collect();
        // A pair of surrogates is not torn apart.
        if !last && units.last().is_some_and(|unit| (0xd800..0xdc00).contains(unit)) {
            units.pop();
        }
        let text = char::decode_utf16(units.iter().copied()).map(|c| c.unwrap_or('\u{fffd}')).collect();
        (text, units.len() as u64 * 2)
    }

    /// Goes from the last mark that is not behind `offset` piece by piece; `visit` gets each piece
    /// with its place in the result and answers whether to go on.
    fn walk(&self, task: &Task, offset: u64, visit: &mut dyn FnMut(u64, &str) -> bool) -> Result<()> {
        let (mut from, mut to) = {
            let known = self.known.lock();
            let i = known.marks.partition_point(|(_, to)| *to <= offset);
            known.marks.get(i.saturating_sub(1)).copied().unwrap_or((0, 0))
        };
        loop {
            task.check()?;
            let (text, taken) = self.piece(task, from)?;
            if taken == 0 {
                self.known.lock().len = Some(to);
                return Ok(());
            }
            let go_on = visit(to, &text);
            from += taken;
            to += text.len() as u64;
            let mut known = self.known.lock();
            if known.marks.last().is_some_and(|last| last.0 < from) {
                known.marks.push((from, to));
            }
            if !go_on {
                return Ok(());
            }
        }
    }
}

impl ReadAt for Wide {
    fn known_len(&self) -> Option<u64> {
        self.known.lock().len
    }

    fn len(&self, task: &Task) -> Result<u64> {
        let mut end = self.known.lock().marks.last().map_or(0, |mark| mark.1);
        self.walk(task, end, &mut |to, text| {
            end = to + text.len() as u64;
            true
        })?;
        Ok(end)
    }

    fn read_at(&self, task: &Task, offset: u64, out: &mut [u8]) -> Result<usize> {
        let mut filled = 0;
        self.walk(task, offset, &mut |to, text| {
            let skip = offset.saturating_add(filled as u64).saturating_sub(to);
            let rest = usize::try_from(skip).ok().and_then(|skip| text.as_bytes().get(skip..)).unwrap_or(&[]);
            let space = out.get_mut(filled..).unwrap_or_default();
            let n = rest.len().min(space.len());
            if let (Some(space), Some(rest)) = (space.get_mut(..n), rest.get(..n)) {
                space.copy_from_slice(rest);
            }
            filled += n;
            filled < out.len()
        })?;
        Ok(filled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utf16(text: &str, big: bool) -> Vec<u8> {
        text.encode_utf16().flat_map(|u| if big { u.to_be_bytes() } else { u.to_le_bytes() }).collect()
    }

    #[test]
    fn marks_zeros_and_statistics() {
        let found = |bytes: &[u8]| (detect(bytes).encoding.name(), detect(bytes).mark);
        assert_eq!(found(b"a,b\n"), ("utf-8".into(), 0));
        assert_eq!(found(b"\xef\xbb\xbfa,b\n"), ("utf-8".into(), 3));
        assert_eq!(found(&utf16("a,b\n1,2\n", false)), ("utf-16le".into(), 0));
        assert_eq!(found(&utf16("a,b\n1,2\n", true)), ("utf-16be".into(), 0));
        assert_eq!(found("Zoé;Köln\r\nJürgen;Malmö".as_bytes()), ("utf-8".into(), 0));
        assert_eq!(found(b"Zo\xe9;K\xf6ln\r\nJ\xfcrgen;12 \x80").0, "windows-1252");
        assert!(is_plausible(b"a,b\n1,\0\0\n\0,2\n") && is_plausible(&utf16("a,b\n", true)));
        assert!(!is_plausible(&(0..=255).collect::<Vec<u8>>().repeat(3)));
        assert_eq!(found("naïve".as_bytes().split_at(3).0).0, "utf-8");
    }

    #[test]
    fn utf16_reads_the_same_from_everywhere() {
        let text = "goose 😀 naïve 東京\n".repeat(20_000);
        for big in [false, true] {
            let source = Source::memory("t", utf16(&text, big));
            let detected = Detected { encoding: if big { UTF_16BE } else { UTF_16LE }.into(), mark: 0 };
            let (view, start, _) = ascii_view(&source, detected).unwrap();
            let task = Task::new();
            assert_eq!((start, view.known_len()), (0, None));
            for at in [0usize, 7, 131_071, 300_000, text.len() - 5] {
                let end = (at + 1000).min(text.len());
                assert_eq!(view.read(&task, at as u64..end as u64).unwrap(), text.as_bytes()[at..end]);
            }
            assert_eq!(view.len(&task).unwrap(), text.len() as u64);
            assert_eq!(view.read_up_to(&task, text.len() as u64, 10).unwrap().len(), 0);
        }
    }

    fn utf32_of(text: &str, big: bool) -> Vec<u8> {
        let bytes = |c: char| if big { (c as u32).to_be_bytes() } else { (c as u32).to_le_bytes() };
        text.chars().flat_map(bytes).collect()
    }

    #[test]
    fn utf32_with_and_without_a_mark() {
        let text = "{\"a\": \"😀 naïve\"}".repeat(9_000);
        for (big, mark) in [(false, ""), (true, ""), (false, "\u{feff}"), (true, "\u{feff}")] {
            let written = utf32_of(&format!("{mark}{text}"), big);
            let found = detect(&written);
            assert_eq!(found.encoding, if big { Charset::Utf32Be } else { Charset::Utf32Le });
            assert_eq!((found.mark, is_plausible(&written)), (4 * mark.chars().count() as u64, true));
            assert_eq!(choose(Some("utf-32"), &written).unwrap(), found);
            let (view, start, encoding) = ascii_view(&Source::memory("t", written), found).unwrap();
            let task = Task::new();
            let read = view.read_up_to(&task, start, 1 << 20).unwrap();
            assert!(read == text.as_bytes() && encoding == UTF_8);
            assert_eq!(view.read(&task, 140_000..140_100).unwrap(), text.as_bytes()[140_000..140_100]);
        }
        // A mark of UTF-16 before two zeros of text, numbers of 32 bits, and text in UTF-16.
        assert_eq!(detect(b"\xff\xfe{\0}\0").encoding, UTF_16LE.into());
        let numbers: Vec<u8> = (0..500u32).flat_map(u32::to_le_bytes).collect();
        assert!(!matches!(detect(&numbers).encoding, Charset::Utf32Le | Charset::Utf32Be));
        assert_eq!(detect(&utf16("a,b\n1,2\n", true)).encoding, UTF_16BE.into());
    }
}
