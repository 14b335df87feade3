//! The records of XLS ([MS-XLS] section 2.1.4): a kind, a length and so many bytes; what does not fit goes on in
//! records of its own. And the texts in them, of a byte or of two for each letter.
//!
//! Specification: <https://learn.microsoft.com/openspecs/office_file_formats/ms-xls/>; for the versions before
//! Excel 97 <https://www.openoffice.org/sc/excelfileformat.pdf>.

use crate::bytes::numbers::le;
use encoding_rs::Encoding;

/// Continues the record before it.
pub(super) const CONTINUE: u16 = 0x003c;

/// A record: where it begins, its kind, its bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record<'a> {
    pub(super) kind: u16,
    pub(super) bytes: &'a [u8],
    /// What comes behind it.
    pub(super) rest: &'a [u8],
}

/// The records of a stream; a last one that is cut off is given as far as it is there.
pub(super) fn records(mut stream: &[u8]) -> impl Iterator<Item = Record<'_>> {
    std::iter::from_fn(move || {
        let (kind, len) = (le::<u16>(stream, 0)?, usize::from(le::<u16>(stream, 2)?));
        let behind = stream.get(4..)?;
        let bytes = behind.get(..len.min(behind.len()))?;
        stream = behind.get(bytes.len()..)?;
        Some(Record { kind, bytes, rest: stream })
    })
}

/// A version of the records (BOF, section 2.4.21).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Version {
    /// Excel 2.
    Biff2,
    /// Excel 3 and 4.
    Biff34,
    /// Excel 5 and 95.
    Biff5,
    /// Excel 97 and later.
    Biff8,
}

/// How texts are written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Texts {
    pub(super) version: Version,
    /// What bytes are before Excel 97; `None` for UTF-16.
    pub(super) encoding: Option<&'static Encoding>,
}

impl Texts {
    /// The encoding of a code page ([MS-XLS] section 2.4.52).
    pub(super) fn code_page(page: u16) -> Option<&'static Encoding> {
        Some(match page {
            1200 => return None,
            65_001 => encoding_rs::UTF_8,
            866 => encoding_rs::IBM866,
            874 => encoding_rs::WINDOWS_874,
            932 => encoding_rs::SHIFT_JIS,
            936 => encoding_rs::GBK,
            949 => encoding_rs::EUC_KR,
            950 => encoding_rs::BIG5,
            1250 => encoding_rs::WINDOWS_1250,
            1251 => encoding_rs::WINDOWS_1251,
            1253 => encoding_rs::WINDOWS_1253,
            1254 => encoding_rs::WINDOWS_1254,
            1255 => encoding_rs::WINDOWS_1255,
            1256 => encoding_rs::WINDOWS_1256,
            1257 => encoding_rs::WINDOWS_1257,
            1258 => encoding_rs::WINDOWS_1258,
            10_000 | 0x8000 => encoding_rs::MACINTOSH,
            10_007 => encoding_rs::X_MAC_CYRILLIC,
            _ => encoding_rs::WINDOWS_1252,
        })
    }

    /// A text of so many letters that begins behind its length, with a byte of flags from Excel 97 on; cut off
    /// where the bytes end.
    pub(super) fn read(&self, bytes: &[u8], letters: usize) -> String {
        if self.version < Version::Biff8 {
            return self.narrow(bytes.get(..letters.min(bytes.len())).unwrap_or_default());
        }
        let Some((flags, rest)) = bytes.split_first() else { return String::new() };
        // Runs of formats and what says how to pronounce it stand before the letters.
        let before = if flags & 8 != 0 { 2 } else { 0 } + if flags & 4 != 0 { 4 } else { 0 };
        let rest = rest.get(before..).unwrap_or_default();
        let len = if flags & 1 != 0 { letters.saturating_mul(2) } else { letters };
        let raw = rest.get(..len.min(rest.len())).unwrap_or_default();
        if flags & 1 != 0 { wide(raw) } else { latin(raw) }
    }

    /// A text of a byte for each letter, in the workbook's encoding.
    fn narrow(&self, raw: &[u8]) -> String {
        match self.encoding {
            _ if is_wide(raw) => wide(raw),
            Some(encoding) => encoding.decode_without_bom_handling(raw).0.into_owned(),
            None => latin(raw),
        }
    }
}

/// Letters of two bytes.
fn wide(raw: &[u8]) -> String {
    let units = raw.chunks_exact(2).filter_map(|two| le::<u16>(two, 0));
    char::decode_utf16(units).map(|letter| letter.unwrap_or('\u{fffd}')).collect()
}

/// Letters of which the upper byte is left out, as it is 0 (section 2.5.268).
fn latin(raw: &[u8]) -> String {
    match is_wide(raw) {
        true => wide(raw),
        false => raw.iter().map(|&byte| char::from(byte)).collect(),
    }
}

/// Whether bytes that are said to be letters are letters of two bytes: some writers count bytes, and do not say
/// that each letter has two. No text has a NUL behind each of its letters.
fn is_wide(raw: &[u8]) -> bool {
    let pairs = raw.chunks_exact(2);
    raw.len() >= 2
        && pairs.remainder().is_empty()
        && pairs.clone().all(|pair| pair.first() != Some(&0) && pair.last() == Some(&0))
}

/// The texts of the table that all sheets share (SST, section 2.4.265), whose texts go on in further records at
/// any letter.
pub(super) struct Shared<'a> {
    /// The bytes of the record, and of those that continue it, from the last on.
    pieces: Vec<&'a [u8]>,
    bytes: &'a [u8],
}

impl<'a> Shared<'a> {
    /// The table in this record.
    pub(super) fn new(record: &Record<'a>) -> Shared<'a> {
        let more = records(record.rest).take_while(|more| more.kind == CONTINUE);
        let mut pieces: Vec<&[u8]> = more.map(|more| more.bytes).collect();
        pieces.reverse();
        Shared { pieces, bytes: record.bytes.get(8..).unwrap_or_default() }
    }

    /// The one text in this record, behind its length.
    pub(super) fn alone(record: &Record<'a>) -> Shared<'a> {
        Shared { bytes: record.bytes, ..Shared::new(record) }
    }

    /// So many bytes, which may lie in several records; `None` where there are not so many.
    fn take(&mut self, len: usize, mut show: impl FnMut(&[u8])) -> Option<()> {
        let mut left = len;
        while left > 0 {
            if self.bytes.is_empty() {
                self.bytes = self.pieces.pop()?;
                continue;
            }
            let (now, rest) = self.bytes.split_at(left.min(self.bytes.len()));
            show(now);
            self.bytes = rest;
            left -= now.len();
        }
        Some(())
    }

    fn number(&mut self, len: usize) -> Option<usize> {
        let (mut value, mut shift) = (0usize, 0);
        self.take(len, |bytes| {
            for byte in bytes {
                value |= usize::from(*byte) << shift;
                shift += 8;
            }
        })?;
        Some(value)
    }

    /// The next text; `None` at the end.
    pub(super) fn next(&mut self) -> Option<String> {
        let letters = self.number(2)?;
        let mut flags = self.number(1)?;
        let runs = if flags & 8 != 0 { self.number(2)? } else { 0 };
        let more = if flags & 4 != 0 { self.number(4)? } else { 0 };
        let (mut text, mut left) = (String::new(), letters);
        // Letters of two bytes, halves of which may lie in two records.
        let mut units: Vec<u8> = Vec::new();
        while left > 0 {
            if self.bytes.is_empty() {
                // Behind each break the flags are said anew.
                let Some(piece) = self.pieces.pop() else { break };
                let Some((first, rest)) = piece.split_first() else { continue };
                (flags, self.bytes) = (usize::from(*first), rest);
                continue;
            }
            let size = if flags & 1 != 0 { 2 } else { 1 };
            let count = left.min(self.bytes.len().div_ceil(size));
            let (now, rest) = self.bytes.split_at((count * size).min(self.bytes.len()));
            match size {
                1 => {
                    text.push_str(&wide(&std::mem::take(&mut units)));
                    text.push_str(&latin(now));
                }
                _ => units.extend_from_slice(now),
            }
            self.bytes = rest;
            left -= count;
        }
        text.push_str(&wide(&units));
        // What is said of runs and of pronunciation.
        let behind = runs.saturating_mul(4).saturating_add(more);
        if self.take(behind, |_| ()).is_none() {
            self.bytes = &[];
        }
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(version: Version, page: u16) -> Texts {
        Texts { version, encoding: Texts::code_page(page) }
    }

    #[test]
    fn letters_have_one_byte_or_two() {
        let new = texts(Version::Biff8, 1200);
        assert_eq!(new.read(b"\0mpg", 3), "mpg");
        assert_eq!(new.read(b"\x01m\0p\0g\0", 3), "mpg");
        assert_eq!(new.read(b"\x08\x01\0\xfcmpg", 2), "üm");
        // Bytes were counted, and the flag is missing.
        assert_eq!(new.read(b"\0m\0p\0g\0", 6), "mpg");
        assert_eq!(new.read(b"\0a\0", 2), "a");
        assert_eq!(new.read(b"\0ab\0", 3), "ab\0");
        assert_eq!(new.read(b"\x01m\0p", 3), "m");
        assert_eq!(new.read(b"", 3), "");
        assert_eq!(texts(Version::Biff5, 1251).read(b"\xcf\xf0", 2), "Пр");
        assert_eq!(texts(Version::Biff5, 1200).read(b"m\0p\0g\0", 6), "mpg");
        assert_eq!(texts(Version::Biff5, 1252).read(b"m\0p\0g\0", 6), "mpg");
        assert_eq!(texts(Version::Biff5, 0x8000).read(b"\x8a", 1), "ä");
    }

    #[test]
    fn shared_texts_go_on_in_further_records() {
        let record = |kind: u16, bytes: &[u8]| {
            [&kind.to_le_bytes()[..], &(bytes.len() as u16).to_le_bytes(), bytes].concat()
        };
        let head = [0u8; 8];
        let first = [&head[..], b"\x03\0\0abc", b"\x04\0\0de"].concat();
        // Goes on with two bytes a letter, then a text with runs that are cut, then one that is not whole.
        let second = b"\x01f\0\xe4\0\x01\0\x08\x02\0g\x01\x02\x03";
        let stream = [
            record(0xfc, &first),
            record(CONTINUE, second),
            record(CONTINUE, b"\x04\x05\x06\x07\x08\x02\0\x01h\0"),
            record(CONTINUE, b"\x00i"),
            record(0x0a, b""),
        ]
        .concat();
        let record = records(&stream).next().unwrap();
        let mut shared = Shared::new(&record);
        let all: Vec<String> = std::iter::from_fn(|| shared.next()).collect();
        assert_eq!(all, ["abc", "defä", "g", "hi"]);
    }
}
