//! BloscLZ, Blosc's own compression: literals and references, after FastLZ.
//! <https://github.com/Blosc/c-blosc2/blob/main/blosc/blosclz.c>

use crate::bytes::error::{Error, Result};

/// Distances from here on take two more bytes.
const FAR: usize = 8191;

/// One stream; appends to `out`, up to a length of `end`.
///
/// # Errors
/// `Malformed` for damage or more than that.
pub fn decode_onto(input: &[u8], out: &mut Vec<u8>, end: usize) -> Result<()> {
    let base = out.len();
    let mut at = 0;
    let Some(first) = input.first() else { return Ok(()) };
    // The first byte can only begin a literal; its upper bits are the level.
    let mut control = usize::from(first & 31);
    loop {
        at += 1;
        let rest = input.get(at..).unwrap_or_default();
        let used = if control < 32 {
            literal(rest, control + 1, out, end)
        } else {
            reference(rest, control, out, base, end)
        };
        at += used.ok_or_else(|| Error::malformed(format!("BloscLZ data: damaged at its byte {at}")))?;
        match input.get(at) {
            Some(&next) => control = usize::from(next),
            None => return Ok(()),
        }
    }
}

fn literal(rest: &[u8], length: usize, out: &mut Vec<u8>, end: usize) -> Option<usize> {
    let bytes = rest.get(..length)?;
    if length > end.checked_sub(out.len())? {
        return None;
    }
    out.extend_from_slice(bytes);
    Some(length)
}

fn reference(rest: &[u8], control: usize, out: &mut Vec<u8>, base: usize, end: usize) -> Option<usize> {
    let mut bytes = rest.iter().map(|&byte| usize::from(byte));
    let mut used = 0;
    let mut next = || {
        used += 1;
        bytes.next()
    };
    let mut length = (control >> 5) - 1;
    if length == 6 {
        loop {
            let more = next()?;
            length += more;
            if more < 255 {
                break;
            }
        }
    }
    let high = (control & 31) << 8;
    let low = next()?;
    let mut distance = high + low;
    if low == 255 && high == 31 << 8 {
        distance = (next()? << 8) + next()? + FAR;
    }
    let distance = distance + 1;
    // Never before this stream's own beginning.
    if distance > out.len() - base || out.len() > end {
        return None;
    }
    repeat(out, distance, length + 3, end)?;
    Some(used)
}

/// Appends `length` bytes from `distance` before the end; they may reach into what is appended.
fn repeat(out: &mut Vec<u8>, distance: usize, length: usize, size: usize) -> Option<()> {
    let from = out.len().checked_sub(distance).filter(|_| distance > 0)?;
    if length > size - out.len() {
        return None;
    }
    let mut left = length;
    while left > 0 {
        let piece = left.min(out.len() - from);
        out.extend_from_within(from..from + piece);
        left -= piece;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(input: &[u8], end: usize) -> Result<Vec<u8>> {
        let mut out = b"before".to_vec();
        decode_onto(input, &mut out, 6 + end)?;
        Ok(out[6..].to_vec())
    }

    #[test]
    fn literals_and_references() {
        assert_eq!(decode(b"\x02abc\x20\x02\x00d", 7).unwrap(), b"abcabcd");
        assert_eq!(decode(b"\x00a\xe0\x05\x00", 15).unwrap(), b"aaaaaaaaaaaaaaa");
        assert!(decode(b"\x02abc\x20\x02\x00d", 6).is_err(), "too much");
        assert!(decode(b"\x02abc\x20\x03", 9).is_err(), "before its beginning");
        assert!(decode(b"\x02ab", 9).is_err() && decode(b"\x02abc\xe0\xff", 9).is_err(), "cut off");
    }
}
