//! TFRecord, the framing of TensorFlow's data sets and event files: for each record its length (eight bytes,
//! little-endian), the masked CRC-32C of these eight bytes, the record, and the masked CRC-32C of the record.
//! <https://www.tensorflow.org/tutorials/load_data/tfrecord#tfrecords_format_details>,
//! <https://github.com/tensorflow/tensorflow/blob/master/tensorflow/core/lib/io/record_writer.h>

use super::container::RecordFraming;
use super::{Frame, Framing, Window};
use crate::bytes::codec::checksum::crc32c;
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::numbers::le;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use bytes::Bytes;
use std::ops::Range;

/// Bytes before a record: its length and the checksum of that.
pub const HEAD: usize = 12;
/// Bytes behind a record: its checksum.
pub const TAIL: usize = 4;
/// Bytes of records that are looked at to find where records go on.
const LOOKED_AT: u64 = 256 << 20;

/// TFRecord's framing. Finding frames checks lengths; [`record`] checks the records.
pub struct TfRecords;

/// A checksum as it is stored: turned and moved, so that checksums in checked bytes do no harm.
pub fn masked(bytes: &[u8]) -> u32 {
    crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8)
}

/// Appends a record with what stands before and behind it.
pub fn append(record: &[u8], out: &mut Vec<u8>) {
    let length = (record.len() as u64).to_le_bytes();
    out.extend(length);
    out.extend(masked(&length).to_le_bytes());
    out.extend_from_slice(record);
    out.extend(masked(record).to_le_bytes());
}

/// The length that a head says; `None` where its checksum is wrong or it is too short.
pub fn length(head: &[u8]) -> Option<u64> {
    let (length, rest) = head.split_first_chunk::<8>()?;
    let sum: u32 = le(rest, 0)?;
    (sum == masked(length)).then_some(u64::from_le_bytes(*length))
}

/// The bytes of a record.
///
/// # Errors
/// `Malformed` where its checksum is wrong, `Limit` for more than [`limits::CHUNK`] bytes.
pub fn record(task: &Task, source: &Source, frame: &Frame) -> Result<Bytes> {
    let len = limits::check(frame.span.end - frame.span.start, limits::CHUNK, "a record")?;
    let all = source.read(task, frame.span.start..frame.span.end.saturating_add(TAIL as u64))?;
    let (record, sum) = (all.slice(..len), all.get(len..).unwrap_or_default());
    match masked(&record).to_le_bytes() == *sum {
        true => Ok(record),
        false => Err(Error::malformed("TFRecord: the checksum of a record is wrong").at(frame.span.start)),
    }
}

/// The record that begins at a place in a part of a file, if all of it lies there, and where the next one begins.
fn whole(part: &[u8], at: usize) -> Option<(&[u8], usize)> {
    let head = part.get(at..at.checked_add(HEAD)?)?;
    let start = at + HEAD;
    let end = start.checked_add(usize::try_from(length(head)?).ok()?)?;
    let (bytes, next) = (part.get(start..end)?, end.checked_add(TAIL)?);
    (masked(bytes).to_le_bytes() == *part.get(end..next)?).then_some((bytes, next))
}

/// Gives the records of a part of a file that lie in it as a whole, from the first one on that begins there: somewhere in a
/// file, without an index. At most `most` of them.
pub fn within<'a>(part: &'a [u8], most: usize, mut each: impl FnMut(&'a [u8])) {
    let mut next = (0..part.len()).find_map(|at| whole(part, at));
    for _ in 0..most {
        let Some((bytes, at)) = next else { return };
        each(bytes);
        next = whole(part, at);
    }
}

impl Framing for TfRecords {
    fn frame(&self, window: &mut Window, at: u64) -> Result<Option<Frame>> {
        let wrong = |what: &str| Error::malformed(format!("TFRecord: {what}")).at(at);
        let head = window.get(at, HEAD)?;
        if head.is_empty() {
            return Ok(None);
        }
        let cut = || wrong("the file ends within a record; it may be cut off");
        if head.len() < HEAD {
            return Err(cut());
        }
        let len = length(head).ok_or_else(|| wrong("the checksum of a record's length is wrong"))?;
        let start = at.saturating_add(HEAD as u64);
        let end = start.checked_add(len).and_then(|end| end.checked_add(TAIL as u64)).ok_or_else(cut)?;
        if window.known_len().is_some_and(|len| end > len) {
            return Err(cut());
        }
        if window.known_len().is_none() && window.get(end - 1, 1)?.is_empty() {
            return Err(cut());
        }
        Ok(Some(Frame { span: start..end - TAIL as u64, records: 1, end }))
    }

    /// The next place where both checksums are right: 64 bits, which do not happen to be.
    fn resume(&self, window: &mut Window, at: u64) -> Result<Option<u64>> {
        let (task, source) = (window.task, window.source);
        let (mut looked_at, known) = (0_u64, window.known_len());
        let mut whole = |at: u64, len: u64| {
            // Lengths with right checksums that stand close together would have the same bytes read again and again.
            let start = at.checked_add(HEAD as u64);
            let frame = start.and_then(|start| {
                let end = start.checked_add(len)?;
                Some(Frame { span: start..end, records: 1, end: end.checked_add(TAIL as u64)? })
            });
            let is_there = |frame: &Frame| known.is_none_or(|known| frame.end <= known);
            let Some(frame) = frame.filter(is_there) else { return Ok(false) };
            looked_at = looked_at.saturating_add(len);
            if looked_at > LOOKED_AT.max(len) {
                return Ok(false);
            }
            record(task, source, &frame).unless_cancelled().map(|read| read.is_ok())
        };
        window.search(at.saturating_add(1), HEAD - 1, |bytes, from| {
            for (place, head) in bytes.windows(HEAD).enumerate() {
                if let Some(len) = length(head)
                    && whole(from + place as u64, len)?
                {
                    return Ok(Some(place));
                }
            }
            Ok(None)
        })
    }
}

impl RecordFraming for TfRecords {
    /// Two checksums are right: 64 bits, which do not happen to be.
    fn first_in(&self, part: &[u8]) -> Option<usize> {
        (0..part.len()).find(|at| whole(part, *at).is_some())
    }

    fn payload<'w>(
        &self,
        window: &'w mut Window<'_>,
        frame: &Range<u64>,
        _scratch: &'w mut Vec<u8>,
    ) -> Result<&'w [u8]> {
        let len = limits::check(frame.end.saturating_sub(frame.start), limits::CHUNK, "a record")?;
        let all = window.get(frame.start, len + TAIL)?;
        match all.split_at_checked(len) {
            Some((record, sum)) if masked(record).to_le_bytes() == *sum => Ok(record),
            _ => Err(Error::malformed("TFRecord: the checksum of a record is wrong").at(frame.start)),
        }
    }
}
