//! Lines of text as records, where not every line is one: blank lines and comments are passed by. Made for formats whose
//! lines are parsed anyway; where each line is a record, [`delimited`](crate::engines::delimited) is faster.

use super::container::RecordFraming;
use super::{Frame, Framing, Window};
use crate::bytes::error::{Error, Result};
use std::ops::Range;

/// The longest line that is read, in bytes.
const LONGEST: usize = 64 << 20;
/// Bytes that are looked at first for the end of a line.
const FIRST: usize = 4 << 10;

/// Lines, and which of them are passed by.
pub struct Lines {
    /// Whether a line, which comes without its end, is no record.
    pub is_none: fn(&[u8]) -> bool,
}

impl Framing for Lines {
    fn frame(&self, window: &mut Window, at: u64) -> Result<Option<Frame>> {
        let (mut most, mut looked) = (FIRST, 0);
        loop {
            let bytes = window.get(at, most)?;
            if bytes.is_empty() {
                return Ok(None);
            }
            let found =
                memchr::memchr(b'\n', bytes.get(looked..).unwrap_or_default()).map(|end| looked + end);
            let (line, end) = match found {
                Some(end) => (bytes.get(..end).unwrap_or_default(), end + 1),
                None if bytes.len() < most => (bytes, bytes.len()),
                None if most >= LONGEST => {
                    return Err(Error::limit(format!("a line of more than {LONGEST} bytes")).at(at));
                }
                None => {
                    looked = bytes.len();
                    most = most.saturating_mul(16).min(LONGEST);
                    continue;
                }
            };
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            let span = at..at.saturating_add(line.len() as u64);
            let records = u64::from(!(self.is_none)(line));
            return Ok(Some(Frame { span, records, end: at.saturating_add(end as u64) }));
        }
    }

    fn resume(&self, window: &mut Window, at: u64) -> Result<Option<u64>> {
        let found = window.search(at, 0, |part, _| Ok(memchr::memchr(b'\n', part)))?;
        Ok(found.map(|end| end.saturating_add(1)))
    }
}

impl RecordFraming for Lines {
    fn payload<'w>(
        &self,
        window: &'w mut Window<'_>,
        frame: &Range<u64>,
        _scratch: &'w mut Vec<u8>,
    ) -> Result<&'w [u8]> {
        let length = usize::try_from(frame.end.saturating_sub(frame.start)).unwrap_or(usize::MAX);
        window.get(frame.start, length.min(LONGEST))
    }

    fn first_in(&self, part: &[u8]) -> Option<usize> {
        memchr::memchr(b'\n', part).map(|end| end + 1)
    }
}
