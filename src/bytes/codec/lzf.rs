//! LZF: runs of literal bytes and references to earlier ones.
//! <http://oldhome.schmorp.de/marc/liblzf.html>

use super::{cut_off, too_much};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::task::Task;

/// The most bytes that one compressed byte can stand for: three make 264.
const RATIO: u64 = 88;
/// Bytes between two looks at the task.
const STEP: usize = 1 << 20;

/// What `packed` bytes can stand for at most.
pub fn most(packed: u64) -> u64 {
    packed.saturating_mul(RATIO)
}

/// What was decoded, and the byte of the input where it had to stop, if it did.
#[derive(Debug, PartialEq, Eq)]
pub struct Decoded {
    /// As far as the input is good.
    pub bytes: Vec<u8>,
    /// Where it had to stop.
    pub stopped: Option<u64>,
}

/// Decodes all of `packed`.
///
/// # Errors
/// `Malformed` for damage or more than `most` bytes.
pub fn decode(packed: &[u8], most: usize) -> Result<Vec<u8>> {
    let room = most.min(packed.len().saturating_mul(RATIO as usize));
    let mut out = limits::buffer(room as u64, "LZF data")?;
    out.clear();
    let mut at = 0;
    while let Some(rest) = packed.get(at..).filter(|rest| !rest.is_empty()) {
        match token(rest, &mut out, room) {
            Some(used) => at += used,
            // With unlimited room it says whether the room or the data is to blame.
            None if token(rest, &mut out, usize::MAX).is_some() => return Err(too_much("LZF data", most)),
            None if rest.len() < 3 => return Err(cut_off("LZF data")),
            None => return Err(Error::malformed(format!("LZF data: damaged at its byte {at}"))),
        }
    }
    Ok(out)
}

/// Decodes `packed` to at most `raw` bytes: as many as the input is good for.
///
/// # Errors
/// `Limit`, and `Cancelled`.
pub fn partial(task: &Task, packed: &[u8], raw: u64) -> Result<Decoded> {
    let room = raw.min(most(packed.len() as u64));
    let mut out = limits::buffer(room, "the decompressed points")?;
    out.clear();
    let (mut at, mut next) = (0, 0);
    while at < packed.len() {
        if out.len() >= next {
            task.check()?;
            next = out.len() + STEP;
        }
        match token(packed.get(at..).unwrap_or_default(), &mut out, room as usize) {
            Some(used) => at += used,
            None => return Ok(Decoded { bytes: out, stopped: Some(at as u64) }),
        }
    }
    let stopped = ((out.len() as u64) < raw).then_some(at as u64);
    Ok(Decoded { bytes: out, stopped })
}

/// Decodes one run or reference; returns the bytes it takes. `None` where it is cut off, reaches before
/// the beginning or beyond `room`.
fn token(packed: &[u8], out: &mut Vec<u8>, room: usize) -> Option<usize> {
    let control = usize::from(*packed.first()?);
    if control < 32 {
        let run = packed.get(1..control + 2)?;
        if out.len() + run.len() > room {
            return None;
        }
        out.extend_from_slice(run);
        return Some(control + 2);
    }
    let long = control >> 5 == 7;
    let more = if long { usize::from(*packed.get(1)?) } else { 0 };
    let used = if long { 3 } else { 2 };
    let low = usize::from(*packed.get(used - 1)?);
    let mut length = (control >> 5) + more + 2;
    let from = out.len().checked_sub(((control & 31) << 8 | low) + 1)?;
    if out.len() + length > room {
        return None;
    }
    // A reference may reach into what it writes: then the piece between repeats.
    while length > 0 {
        let piece = length.min(out.len() - from);
        out.extend_from_within(from..from + piece);
        length -= piece;
    }
    Some(used)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(packed: &[u8], raw: u64) -> (Vec<u8>, Option<u64>) {
        let decoded = partial(&Task::new(), packed, raw).unwrap();
        (decoded.bytes, decoded.stopped)
    }

    #[test]
    fn runs_and_references_that_overlap() {
        assert_eq!(decoded(b"\x02abc\x60\x02", 8), (b"abcabcab".to_vec(), None));
        assert_eq!(decoded(b"\0a\xe0\xff\0", 265), (vec![b'a'; 265], None));
    }

    #[test]
    fn damage_stops_where_it_is() {
        assert_eq!(decoded(b"\x02abc\x60\x09", 8), (b"abc".to_vec(), Some(4)));
        assert_eq!(decoded(b"\x02ab", 3), (vec![], Some(0)));
        assert_eq!(decoded(b"\x02abc\x60\x02", 5), (b"abc".to_vec(), Some(4)));
        assert_eq!(decoded(b"\0a", 2), (b"a".to_vec(), Some(2)));
        assert_eq!(decoded(b"", u64::MAX), (vec![], Some(0)));
    }

    #[test]
    fn whole_buffers() {
        assert_eq!(decode(b"\x02abc\x60\x02", 8).unwrap(), b"abcabcab");
        assert!(decode(b"\x02abc\x60\x02", 7).unwrap_err().message().contains("more than"));
        assert!(decode(b"\x02abc\x60", 8).is_err());
        assert!(decode(b"\x02abc\x60\x09", 8).is_err());
    }
}
