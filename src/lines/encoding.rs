//! Encodings: which one a text has, decoding of pieces, and UTF-16 as a stream of UTF-8.
//!
//! All encodings but UTF-16 keep line ends, quotes and the usual delimiters as single ASCII bytes, so
//! records are split before they are decoded. UTF-16 is decoded first: its source becomes a stream
//! of UTF-8 with its own checkpoints. Names and labels: <https://encoding.spec.whatwg.org/>.

use crate::error::{Error, Result};
use crate::source::{ReadAt, Source};
use crate::task::Task;
use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};
use parking_lot::Mutex;
use std::borrow::Cow;
use std::sync::Arc;

/// The encoding of a text and the length of its byte order mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Detected {
    /// The encoding.
    pub encoding: &'static Encoding,
    /// Bytes of the byte order mark; 0 without one.
    pub mark: u64,
}

/// Guesses the encoding from the first bytes: byte order mark, zero bytes, valid UTF-8, statistics.
pub fn detect(sample: &[u8]) -> Detected {
    if let Some((encoding, mark)) = Encoding::for_bom(sample) {
        return Detected { encoding, mark: mark as u64 };
    }
    let encoding = utf16_by_zeros(sample).unwrap_or_else(|| {
        if mostly_utf8(sample) {
            return UTF_8;
        }
        let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
        detector.feed(sample, false);
        detector.guess(None, Utf8Detection::Allow)
    });
    Detected { encoding, mark: 0 }
}

/// The encoding with this label (`utf-8`, `latin1`), if the option was set; else the detected one.
pub fn choose(option: Option<&str>, sample: &[u8]) -> Result<Detected> {
    let Some(label) = option.filter(|label| *label != "auto") else { return Ok(detect(sample)) };
    let encoding = Encoding::for_label(label.as_bytes())
        .ok_or_else(|| Error::unsupported(format!("encoding={label}: no encoding has this name")))?;
    if !encoding.is_ascii_compatible() && !is_utf16(encoding) {
        return Err(Error::unsupported(format!("encoding={label}: lines of it are not found")));
    }
    let mark = Encoding::for_bom(sample).filter(|(marked, _)| *marked == encoding).map_or(0, |(_, n)| n);
    Ok(Detected { encoding, mark: mark as u64 })
}

/// Whether the bytes are text for somebody who was told so by the file's name: of an encoding with
/// few control characters, where a few zeros do no harm.
pub fn is_plausible(sample: &[u8]) -> bool {
    let found = detect(sample);
    let body = sample.get(found.mark as usize..).unwrap_or_default();
    if found.encoding != UTF_8 && found.mark == 0 && body.contains(&0) && !is_utf16(found.encoding) {
        return false;
    }
    let text = decode(found.encoding, body);
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

/// The name as people write it: lower case.
pub fn name(encoding: &'static Encoding) -> String {
    encoding.name().to_lowercase()
}

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
/// UTF-16 a stream of UTF-8, else the source itself.
pub fn ascii_view(source: &Source, detected: Detected) -> Result<(Source, u64, &'static Encoding)> {
    if !is_utf16(detected.encoding) {
        return Ok((source.clone(), detected.mark, detected.encoding));
    }
    Ok((wide(source, 2, detected.encoding == UTF_16BE, detected.mark)?, 0, UTF_8))
}

/// Whether a text begins with the byte order mark of UTF-32 (which begins like that of UTF-16), and if so
/// whether the big end comes first. Only JSON and XML are ever written so.
pub fn utf32(sample: &[u8]) -> Option<bool> {
    match sample {
        [0xff, 0xfe, 0, 0, rest @ ..] if rest.len() != 1 && rest.get(..2) != Some(&[0, 0]) => Some(false),
        [0, 0, 0xfe, 0xff, ..] => Some(true),
        _ => None,
    }
}

/// A source in UTF-32 with a byte order mark as a stream of UTF-8.
pub fn utf32_view(source: &Source, big: bool) -> Result<Source> {
    wide(source, 4, big, 4)
}

fn wide(source: &Source, unit: u64, big: bool, mark: u64) -> Result<Source> {
    let known = Mutex::new(WideKnown { marks: vec![(mark, 0)], len: None });
    source.stream(source.name(), Arc::new(Wide { source: source.clone(), unit, big, known }))
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
            _ => self.utf32(&bytes),
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

    fn utf32(&self, bytes: &[u8]) -> (String, u64) {
        let units = bytes.as_chunks::<4>().0;
        let unit = |u: &[u8; 4]| if self.big { u32::from_be_bytes(*u) } else { u32::from_le_bytes(*u) };
        let text = units.iter().map(|u| char::from_u32(unit(u)).unwrap_or('\u{fffd}')).collect();
        (text, units.len() as u64 * 4)
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
        let found = |bytes: &[u8]| (name(detect(bytes).encoding), detect(bytes).mark);
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
            let detected = Detected { encoding: if big { UTF_16BE } else { UTF_16LE }, mark: 0 };
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

    #[test]
    fn utf32_with_a_mark() {
        let text = "{\"a\": \"😀 naïve\"}".repeat(9_000);
        for big in [false, true] {
            let bytes = |c: char| if big { (c as u32).to_be_bytes() } else { (c as u32).to_le_bytes() };
            let written: Vec<u8> = "\u{feff}".chars().chain(text.chars()).flat_map(bytes).collect();
            assert_eq!(utf32(&written), Some(big));
            let view = utf32_view(&Source::memory("t", written), big).unwrap();
            let task = Task::new();
            let read = view.read_up_to(&task, 0, 1 << 20).unwrap();
            assert!(read == text.as_bytes());
            assert_eq!(view.read(&task, 140_000..140_100).unwrap(), text.as_bytes()[140_000..140_100]);
        }
        assert_eq!(utf32(b"\xff\xfe{\0}\0"), None);
    }
}
