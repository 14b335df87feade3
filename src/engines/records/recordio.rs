//! RecordIO, the framing of MXNet's data sets (and of dmlc-core): for each record a magic number and a word that has its
//! length in 29 bits, then its bytes, filled up to a multiple of four. A record that has the magic number in it, where a
//! frame could begin, is cut into parts there, and the number is left out between them: three more bits say which part
//! one is.
//! <https://mxnet.apache.org/versions/1.9.1/api/architecture/note_data_loading>,
//! <https://github.com/dmlc/dmlc-core/blob/main/include/dmlc/recordio.h>

use super::container::RecordFraming;
use super::{Frame, Framing, Window};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::numbers::le;
use std::ops::Range;

/// What stands before each part.
pub const MAGIC: [u8; 4] = 0xced7_230a_u32.to_le_bytes();
/// Bytes before a part: the magic number, and which part it is with its length.
pub const HEAD: u64 = 8;

/// Which part of a record one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Which {
    Whole,
    First,
    Middle,
    Last,
}

/// What stands before a part says of it; `None` where that is none.
fn head(bytes: &[u8]) -> Option<(Which, u64)> {
    let word: u32 = le(bytes.strip_prefix(&MAGIC)?, 0)?;
    let which = match word >> 29 {
        0 => Which::Whole,
        1 => Which::First,
        2 => Which::Middle,
        3 => Which::Last,
        _ => return None,
    };
    Some((which, u64::from(word & ((1 << 29) - 1))))
}

/// Appends a record as dmlc-core writes it: cut where the magic number stands in it at a multiple of four.
///
/// # Errors
/// `Unsupported` for a record of 512 MiB and more.
pub fn append(record: &[u8], out: &mut Vec<u8>) -> Result<()> {
    if record.len() >= 1 << 29 {
        let what = format!("a record of {} bytes; RecordIO has lengths of 29 bits", record.len());
        return Err(Error::unsupported(what));
    }
    let mut part = |which: u32, bytes: &[u8]| {
        out.extend(MAGIC);
        out.extend((which << 29 | bytes.len() as u32).to_le_bytes());
        out.extend_from_slice(bytes);
        out.extend(std::iter::repeat_n(0, bytes.len().next_multiple_of(4) - bytes.len()));
    };
    let is_cut = |at: &usize| at.is_multiple_of(4);
    let (mut start, mut first) = (0, true);
    for cut in memchr::memmem::find_iter(record, &MAGIC).filter(is_cut) {
        part(if first { 1 } else { 2 }, record.get(start..cut).unwrap_or_default());
        (start, first) = (cut + MAGIC.len(), false);
    }
    part(if first { 0 } else { 3 }, record.get(start..).unwrap_or_default());
    Ok(())
}

/// Whether a file that begins like this is RecordIO: the number, and the first part of a record or all of one. The number
/// alone is no sign, since records may have it in them.
pub fn begins(first: &[u8]) -> bool {
    matches!(head(first), Some((Which::Whole | Which::First, _)))
}

/// A part of a record: which, and where its bytes lie.
struct Part {
    which: Which,
    span: Range<u64>,
    /// Where the next one begins.
    end: u64,
}

/// The framing.
pub struct RecordIo;

impl RecordIo {
    /// The part that begins at byte `at`; `None` where the file ends there.
    fn part(window: &mut Window, at: u64) -> Result<Option<Part>> {
        let wrong = |what: &str| Error::malformed(format!("RecordIO: {what}")).at(at);
        let cut = || wrong("the file ends within a record; it may be cut off");
        let bytes = window.get(at, HEAD as usize)?;
        if bytes.is_empty() {
            return Ok(None);
        }
        if (bytes.len() as u64) < HEAD {
            return Err(cut());
        }
        let (which, size) = head(bytes).ok_or_else(|| wrong("no record begins here"))?;
        let start = at.saturating_add(HEAD);
        let span = start..start.saturating_add(size);
        let is_there = match window.known_len() {
            Some(len) => span.end <= len,
            None => size == 0 || !window.get(span.end - 1, 1)?.is_empty(),
        };
        if !is_there {
            return Err(cut());
        }
        // The last record may lack what it is filled up with.
        let end = start.saturating_add(size.next_multiple_of(4));
        Ok(Some(Part { which, end: window.known_len().map_or(end, |len| end.min(len)), span }))
    }

    /// Gives each part of the record whose first one begins at `at`, and where the record ends; nothing where the file
    /// ends there.
    fn parts(window: &mut Window, at: u64, mut each: impl FnMut(&Part)) -> Result<Option<u64>> {
        let Some(mut part) = Self::part(window, at)? else { return Ok(None) };
        let mut count = 0_u64;
        loop {
            match (part.which, count) {
                (Which::Whole, 0) | (Which::Last, 1..) => {
                    each(&part);
                    return Ok(Some(part.end));
                }
                (Which::First, 0) | (Which::Middle, 1..) => each(&part),
                (_, 0) => {
                    let what = "RecordIO: a part of a record whose first part is missing";
                    return Err(Error::malformed(what).at(at));
                }
                _ => return Err(Error::malformed("RecordIO: a record whose last part is missing").at(at)),
            }
            count += 1;
            if count.is_multiple_of(1024) {
                window.task.check()?;
            }
            let missing =
                || Error::malformed("RecordIO: the file ends within a record; it may be cut off").at(at);
            part = Self::part(window, part.end)?.ok_or_else(missing)?;
        }
    }
}

impl Framing for RecordIo {
    fn frame(&self, window: &mut Window, at: u64) -> Result<Option<Frame>> {
        let mut span: Option<Range<u64>> = None;
        let end = Self::parts(window, at, |part| {
            span = Some(span.as_ref().map_or(part.span.start, |known| known.start)..part.span.end);
        })?;
        Ok(span.zip(end).map(|(span, end)| Frame { span, records: 1, end }))
    }

    /// The next place that a record can begin at: magic number, first part, and enough bytes.
    fn resume(&self, window: &mut Window, at: u64) -> Result<Option<u64>> {
        let len = window.known_len();
        let start = (at.saturating_add(1)).next_multiple_of(4);
        window.search(start, HEAD as usize - 1, |bytes, from| {
            let is_one = |place: &usize| {
                let here = from + *place as u64;
                let whole = bytes.get(*place..).and_then(head);
                here.is_multiple_of(4)
                    && matches!(whole, Some((Which::Whole | Which::First, size))
                        if len.is_none_or(|len| here + HEAD + size <= len))
            };
            Ok(memchr::memmem::find_iter(bytes, &MAGIC).find(is_one))
        })
    }
}

impl RecordFraming for RecordIo {
    fn payload<'w>(
        &self,
        window: &'w mut Window<'_>,
        frame: &Range<u64>,
        scratch: &'w mut Vec<u8>,
    ) -> Result<&'w [u8]> {
        let size = frame.end.saturating_sub(frame.start);
        let len = limits::check(size, limits::CHUNK, "a record")?;
        let at = frame.start.saturating_sub(HEAD);
        let cut = || Error::malformed("RecordIO: the file ends within a record").at(at);
        if matches!(head(window.get(at, HEAD as usize)?), Some((Which::Whole, _))) {
            return window.get(frame.start, len)?.get(..len).ok_or_else(cut);
        }
        let mut spans = Vec::new();
        Self::parts(window, at, |part| spans.push(part.span.clone()))?;
        scratch.clear();
        for (n, span) in spans.into_iter().enumerate() {
            if n > 0 {
                scratch.extend(MAGIC);
            }
            let len = limits::check(span.end - span.start, limits::CHUNK, "a record")?;
            scratch.extend_from_slice(window.get(span.start, len)?.get(..len).ok_or_else(cut)?);
        }
        Ok(scratch)
    }

    fn len(&self, window: &mut Window<'_>, frame: &Range<u64>) -> Result<u64> {
        let at = frame.start.saturating_sub(HEAD);
        if let Some((Which::Whole, size)) = head(window.get(at, HEAD as usize)?) {
            return Ok(size);
        }
        let mut len = 0_u64;
        let mut count = 0_u64;
        Self::parts(window, at, |part| {
            len = len.saturating_add(part.span.end - part.span.start);
            count += 1;
        })?;
        Ok(len.saturating_add(count.saturating_sub(1) * MAGIC.len() as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::source::Source;
    use crate::bytes::task::Task;
    use crate::engines::records::container::{Container, Framed};
    use proptest::prelude::*;

    fn written(records: &[Vec<u8>]) -> Vec<u8> {
        let mut out = Vec::new();
        records.iter().for_each(|record| append(record, &mut out).unwrap());
        out
    }

    fn read(bytes: Vec<u8>) -> (Vec<Vec<u8>>, Option<Error>) {
        let source = Source::memory("a", bytes);
        let container = Framed::new(source, crate::formats::ALL, RecordIo, 0);
        let (task, mut all) = (Task::new(), Vec::new());
        let records = container.records(&task, 0..u64::MAX).unwrap();
        container
            .read(&task, &records, &mut |record, payload| {
                let payload = payload?;
                assert_eq!(record.len, payload.len() as u64);
                all.push(payload.to_vec());
                Ok(())
            })
            .unwrap();
        (all, container.problems().first())
    }

    fn records() -> impl Strategy<Value = Vec<Vec<u8>>> {
        let word = prop_oneof![Just(MAGIC.to_vec()), prop::collection::vec(any::<u8>(), 0..6)];
        let record = prop::collection::vec(word, 0..8).prop_map(|words| words.concat());
        prop::collection::vec(record, 0..20)
    }

    proptest! {
        #[test]
        fn records_with_the_magic_number_come_back(all in records()) {
            let bytes = written(&all);
            prop_assert!(all.is_empty() || begins(&bytes));
            prop_assert_eq!(read(bytes), (all, None));
        }

        #[test]
        fn damage_and_cuts_cost_no_more_than_they_hit(
            all in records(), at in any::<prop::sample::Index>(), by in 1u8.., cut in any::<prop::sample::Index>(),
        ) {
            let mut bytes = written(&all);
            if !bytes.is_empty() {
                let at = at.index(bytes.len());
                bytes[at] ^= by;
                bytes.truncate(cut.index(bytes.len()) + 1);
            }
            let (some, _) = read(bytes);
            prop_assert!(some.len() <= all.len() * 8 + 8);
        }
    }

    #[test]
    fn a_broken_record_is_passed_by() {
        let mut bytes = written(&[b"one".to_vec(), b"two".to_vec(), b"three".to_vec()]);
        bytes[12] = 0;
        let (some, problem) = read(bytes.clone());
        assert_eq!(some, [b"one".to_vec(), b"three".to_vec()]);
        assert_eq!(problem.unwrap().offset(), Some(12));
        bytes.truncate(30);
        assert_eq!(read(bytes).0, [b"one".to_vec()]);
        let (none, problem) = read([&MAGIC[..], &[4, 0, 0, 0x40], b"abcd"].concat());
        assert!(none.is_empty() && problem.unwrap().message().contains("first part is missing"));
    }
}
