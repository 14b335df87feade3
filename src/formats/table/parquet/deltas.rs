//! Where values stand in pages whose encoding stores differences, or each byte of a value in a stream of its own.
//!
//! Definition: <https://github.com/apache/parquet-format/blob/master/Encodings.md>, `DELTA_BINARY_PACKED`,
//! `DELTA_LENGTH_BYTE_ARRAY`, `DELTA_BYTE_ARRAY`, `BYTE_STREAM_SPLIT`.

use crate::bytes::numbers::leb128;
use crate::data::location::Within;
use std::ops::Range;

/// The most numbers that are gone through.
const MOST: u64 = 1 << 26;
/// The widest value whose bytes are told one by one.
const WIDEST: u64 = 64;

/// Numbers as differences to the ones before them, in blocks of packed bits.
pub(super) struct Delta<'a> {
    bytes: &'a [u8],
    /// Numbers of a block, and of a part of it that has one width.
    block: u64,
    part: u64,
    /// How many numbers there are.
    total: u64,
    /// The first one, and its bytes.
    first: (i64, Range<usize>),
}

/// A number of a [`Delta`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) number: i64,
    /// Its own bits: of the first one the number itself, else what is added to the least difference of its block.
    pub(super) bits: Range<u64>,
    /// The bytes of that; the first number has none.
    pub(super) least: Option<Range<u64>>,
}

/// A number of both signs in seven bits a byte, and how many bytes it takes.
fn zigzag(bytes: &[u8]) -> Option<(i64, usize)> {
    let (number, len) = leb128(bytes)?;
    Some(((number >> 1) as i64 ^ -((number & 1) as i64), len))
}

/// The number in these bits, the lowest bit first; at most 64.
fn bits(bytes: &[u8], range: &Range<u64>) -> Option<u64> {
    Within::of_bits(range.clone()).number(bytes)
}

impl<'a> Delta<'a> {
    /// The numbers that begin with `bytes`.
    pub(super) fn new(bytes: &'a [u8]) -> Option<Self> {
        let mut at = 0;
        let mut next = || {
            let (number, len) = leb128(bytes.get(at..)?)?;
            at += len;
            Some(number)
        };
        let (block, parts, total) = (next()?, next()?, next()?);
        let part = block.checked_div(parts).filter(|part| *part > 0 && part.is_multiple_of(8))?;
        let (first, len) = zigzag(bytes.get(at..)?)?;
        let fits = total <= MOST && parts <= bytes.len() as u64 && part.checked_mul(parts)? == block;
        fits.then_some(Delta { bytes, block, part, total, first: (first, at..at + len) })
    }

    /// Goes through the numbers until `on` says that it is enough; where what was gone through ends. `None` where the bytes
    /// do.
    pub(super) fn each(&self, mut on: impl FnMut(u64, Entry) -> bool) -> Option<usize> {
        let (mut number, begin) = (self.first.0, self.first.1.clone());
        let first = Entry { number, bits: begin.start as u64 * 8..begin.end as u64 * 8, least: None };
        let (mut n, mut at) = (1, begin.end);
        if self.total == 0 || !on(0, first) {
            return Some(at);
        }
        while n < self.total {
            let (least, len) = zigzag(self.bytes.get(at..)?)?;
            let least_bytes = at as u64..(at + len) as u64;
            at += len;
            let parts = usize::try_from(self.block / self.part).ok()?;
            let widths = self.bytes.get(at..at.checked_add(parts)?)?;
            at += parts;
            for width in widths.iter().map(|width| u64::from(*width)) {
                // Parts behind the last number have no bytes.
                if n >= self.total {
                    break;
                }
                let begin = at as u64 * 8;
                let bytes = usize::try_from(width.checked_mul(self.part)? / 8).ok()?;
                let end = at.checked_add(bytes).filter(|end| *end <= self.bytes.len() && width <= 64)?;
                for k in 0..self.part.min(self.total - n) {
                    let own = begin + k * width..begin + (k + 1) * width;
                    number = number.wrapping_add(least).wrapping_add(bits(self.bytes, &own)? as i64);
                    let entry = Entry { number, bits: own, least: Some(least_bytes.clone()) };
                    if !on(n + k, entry) {
                        return Some(end);
                    }
                }
                (n, at) = (n + self.part.min(self.total - n), end);
            }
        }
        Some(at)
    }

    /// The `n`-th number.
    pub(super) fn entry(&self, n: u64) -> Option<Entry> {
        let mut found = None;
        self.each(|at, entry| {
            found = (at == n).then_some(entry);
            at < n
        })?;
        found
    }

    /// The sum of the first `n` numbers, the `n`-th one, and where all of them end.
    fn lengths(&self, n: u64) -> Option<(u64, u64, usize)> {
        let (mut before, mut own) = (0u64, None);
        let mut sound = n < self.total;
        let end = self.each(|at, entry| {
            let length = u64::try_from(entry.number);
            sound &= length.is_ok();
            let length = length.unwrap_or(0);
            if at < n {
                before = before.saturating_add(length);
            } else if at == n {
                own = Some(length);
            }
            sound
        })?;
        Some((before, own.filter(|_| sound)?, end))
    }
}

/// The `n`-th of texts that stand one after the other behind their lengths.
pub(super) fn lengths(bytes: &[u8], n: u64) -> Option<Within> {
    let (before, len, start) = Delta::new(bytes)?.lengths(n)?;
    let start = (start as u64).checked_add(before)?;
    let end = start.checked_add(len).filter(|end| *end <= bytes.len() as u64)?;
    Some(Within::from(start..end))
}

/// The `n`-th of texts that begin like the one before: what is its own of it, and the bits of how much they share, as a
/// difference to that of the text before.
pub(super) fn prefixed(bytes: &[u8], n: u64) -> Option<(Within, Within)> {
    let shared = Delta::new(bytes)?;
    let (_, _, end) = shared.lengths(n)?;
    let own = lengths(bytes.get(end..)?, n)?;
    let own = own.bytes.start + end as u64..own.bytes.end + end as u64;
    Some((own.into(), Within::of_bits(shared.entry(n)?.bits)))
}

/// The bytes of the `n`-th value of `width` bytes, of which each stands in a stream of its own.
pub(super) fn streams(bytes: &[u8], width: u64, n: u64) -> Option<Vec<Within>> {
    let count = (bytes.len() as u64).checked_div(width).filter(|count| n < *count && width <= WIDEST)?;
    Some((0..width).map(|stream| Within::from(stream * count + n..stream * count + n + 1)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the specification: 7, 5, 3, 1, 2, 3, 4, 5 in blocks of 128 in 4 parts; with the bits of the rest.
    fn example() -> Vec<u8> {
        let mut bytes = vec![0x80, 1, 4, 8, 14, 3, 2, 0, 0, 0];
        // Above −2: 0, 0, 0, 3, 3, 3, 3 in two bits each.
        bytes.extend([0b1100_0000, 0b0011_1111, 0, 0, 0, 0, 0, 0]);
        bytes
    }

    #[test]
    fn numbers_are_sums_of_differences() {
        let bytes = example();
        let delta = Delta::new(&bytes).unwrap();
        assert_eq!(delta.total, 8);
        let numbers: Vec<i64> = (0..8).map(|n| delta.entry(n).unwrap().number).collect();
        assert_eq!(numbers, [7, 5, 3, 1, 2, 3, 4, 5]);
        assert!(delta.entry(8).is_none());
        let fourth = delta.entry(4).unwrap();
        assert_eq!((fourth.bits.clone(), fourth.least), (10 * 8 + 6..10 * 8 + 8, Some(5..6)));
        assert_eq!(bits(&bytes, &fourth.bits), Some(3));
        assert_eq!(delta.each(|_, _| true), Some(bytes.len()));
        // What is cut off is not told, and what claims more than there is ends.
        assert!(Delta::new(&bytes[..12]).unwrap().entry(7).is_none());
        assert!(Delta::new(&[0x80, 1, 4, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0]).is_none());
    }

    #[test]
    fn bytes_of_a_value_stand_in_streams() {
        let places = streams(&[1, 2, 3, 4, 5, 6, 7, 8], 4, 1).unwrap();
        let at: Vec<u64> = places.iter().map(|within| within.bytes.start).collect();
        assert_eq!(at, [1, 3, 5, 7]);
        assert!(streams(&[1, 2, 3, 4], 4, 1).is_none() && streams(&[1; 100], 80, 0).is_none());
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_end(bytes: Vec<u8>, n in 0u64..1000) {
            let _ = Delta::new(&bytes).and_then(|delta| delta.entry(n));
            let (_, _) = (lengths(&bytes, n), prefixed(&bytes, n));
        }
    }
}
