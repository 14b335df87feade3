//! Snappy blocks: literals and references to what came before.
//! <https://github.com/google/snappy/blob/main/format_description.txt>

use super::{cut_off, too_much};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;

/// One block.
///
/// # Errors
/// `Malformed` for damage or more than `most` bytes.
pub fn decode(input: &[u8], most: usize) -> Result<Vec<u8>> {
    let (size, head) = length(input).ok_or_else(|| cut_off("Snappy data"))?;
    let size =
        usize::try_from(size).ok().filter(|&n| n <= most).ok_or_else(|| too_much("Snappy data", most))?;
    // A reference of three bytes gives 64 at most.
    if size / 64 > input.len() {
        return Err(Error::malformed(format!("Snappy data: {} bytes cannot hold {size}", input.len())));
    }
    let mut out = limits::buffer(size as u64, "Snappy data")?;
    out.clear();
    let mut at = head;
    while let Some(&tag) = input.get(at) {
        at += element(tag, input.get(at + 1..).unwrap_or_default(), &mut out, size)
            .ok_or_else(|| Error::malformed(format!("Snappy data: damaged at its byte {at}")))?;
    }
    if out.len() == size { Ok(out) } else { Err(cut_off("Snappy data")) }
}

/// The length at the start, and how many bytes it takes.
fn length(input: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0u64;
    for (n, &byte) in input.iter().take(5).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * n);
        if byte < 0x80 {
            return Some((value, n + 1));
        }
    }
    None
}

/// Decodes one element after its tag; returns the bytes it takes with the tag.
fn element(tag: u8, rest: &[u8], out: &mut Vec<u8>, size: usize) -> Option<usize> {
    let number = |bytes: usize| {
        let bytes = rest.get(..bytes)?;
        Some(bytes.iter().rev().fold(0usize, |n, &byte| n << 8 | usize::from(byte)))
    };
    let high = usize::from(tag >> 2);
    let (distance, length, extra) = match tag & 3 {
        0 => {
            let more = high.saturating_sub(59);
            let length = if more == 0 { high } else { number(more)? } + 1;
            let bytes = rest.get(more..)?.get(..length)?;
            if length > size - out.len() {
                return None;
            }
            out.extend_from_slice(bytes);
            return Some(1 + more + length);
        }
        1 => ((high >> 3) << 8 | number(1)?, (high & 7) + 4, 1),
        2 => (number(2)?, high + 1, 2),
        _ => (number(4)?, high + 1, 4),
    };
    repeat(out, distance, length, size)?;
    Some(1 + extra)
}

/// Appends `length` bytes from `distance` before the end; they may reach into what is appended.
pub(super) fn repeat(out: &mut Vec<u8>, distance: usize, length: usize, size: usize) -> Option<()> {
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

    #[test]
    fn literals_and_references() {
        // "Wikipedia", then a reference of each kind.
        let packed = b"\x17\x20Wikipedia\x01\x09\x0e\x04\x00\x0f\x01\0\0\0";
        assert_eq!(decode(packed, 23).unwrap_err().message(), decode(packed, 100).unwrap_err().message());
        let packed = b"\x15\x20Wikipedia\x01\x09\x0e\x04\x00\x0f\x01\0\0\0";
        assert_eq!(decode(packed, 21).unwrap(), b"WikipediaWikiWikiiiii");
        assert!(decode(packed, 20).unwrap_err().message().contains("more than"));
        for cut in 0..packed.len() {
            assert!(decode(&packed[..cut], 21).is_err(), "{cut}");
        }
    }
}
