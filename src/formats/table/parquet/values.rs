//! Where the values of a decoded page stand: behind its levels, in the order of the encoding.
//!
//! Definition: <https://github.com/apache/parquet-format/blob/master/Encodings.md>.

use super::pages::{Header, Kind};
use crate::bytes::numbers::{le, leb128};
use crate::data::location::Within;
use parquet::basic::Type;
use std::ops::Range;

/// Numbers of encodings.
pub(super) const PLAIN: i64 = 0;
pub(super) const RLE: i64 = 3;
pub(super) const DELTA: i64 = 5;
pub(super) const DELTA_LENGTH: i64 = 6;
pub(super) const DELTA_PREFIX: i64 = 7;
pub(super) const STREAMS: i64 = 9;
const BIT_PACKED: i64 = 4;

/// The definition levels of a page of a column without lists.
pub(super) enum Levels<'a> {
    /// Every value is there.
    None,
    /// Runs and packed ones.
    Hybrid(Hybrid<'a>),
    /// Packed from the highest bit down, as old writers did: the bytes, and the bits of a level.
    Packed(&'a [u8], u32),
}

/// The definition levels of a page, whose highest one is `most`, and where the values begin.
pub(super) fn levels<'a>(bytes: &'a [u8], header: &Header, most: u16) -> Option<(Levels<'a>, usize)> {
    let width = 16 - most.leading_zeros();
    if header.kind == Kind::DataV2 {
        let end = usize::try_from(header.levels).ok()?;
        let first = usize::try_from(header.levels.checked_sub(header.definition)?).ok()?;
        let levels = bytes.get(first..end)?;
        let levels = if most == 0 { Levels::None } else { Levels::Hybrid(Hybrid::new(levels, width)) };
        return Some((levels, end));
    }
    if most == 0 {
        return Some((Levels::None, 0));
    }
    if header.level_encoding == BIT_PACKED {
        let len = usize::try_from(header.values.checked_mul(u64::from(width))?.div_ceil(8)).ok()?;
        return Some((Levels::Packed(bytes.get(..len)?, width), len));
    }
    let len = usize::try_from(le::<u32>(bytes, 0)?).ok()?;
    let end = len.checked_add(4)?;
    Some((Levels::Hybrid(Hybrid::new(bytes.get(4..end)?, width)), end))
}

/// How many values of those before the `n`-th of `count` are there, and whether that one is.
pub(super) fn present(levels: Levels<'_>, most: u16, n: u64, count: u64) -> Option<(u64, bool)> {
    if n >= count {
        return None;
    }
    match levels {
        Levels::None => Some((n, true)),
        Levels::Hybrid(hybrid) => {
            let (level, _) = hybrid.entry(n)?;
            Some((hybrid.count(u64::from(most), n), level == u64::from(most)))
        }
        Levels::Packed(bytes, width) => {
            let level = |n: u64| {
                (0..u64::from(width)).fold(0, |level, bit| {
                    let at = n * u64::from(width) + bit;
                    let byte = bytes.get((at / 8) as usize).copied().unwrap_or(0);
                    level << 1 | u64::from(byte >> (7 - at % 8) & 1)
                })
            };
            let before = (0..n).filter(|n| level(*n) == u64::from(most)).count();
            Some((before as u64, level(n) == u64::from(most)))
        }
    }
}

/// Where the `n`-th value of a type and a length stands that is encoded as it is.
pub(super) fn plain(bytes: &[u8], (physical, length): (Type, u64), n: u64) -> Option<Within> {
    if physical == Type::BOOLEAN {
        return Some(Within::of_bits(n..n.checked_add(1)?)).filter(|w| w.bytes.end <= bytes.len() as u64);
    }
    let Some(width) = width((physical, length)) else { return text(bytes, n) };
    let start = n.checked_mul(width)?;
    let end = start.checked_add(width).filter(|end| *end <= bytes.len() as u64)?;
    Some(Within::from(start..end))
}

/// The bytes of a value of a type and its length; `None` for bits and texts.
pub(super) fn width((physical, length): (Type, u64)) -> Option<u64> {
    match physical {
        Type::INT32 | Type::FLOAT => Some(4),
        Type::INT64 | Type::DOUBLE => Some(8),
        Type::INT96 => Some(12),
        Type::FIXED_LEN_BYTE_ARRAY => Some(length),
        Type::BOOLEAN | Type::BYTE_ARRAY => None,
    }
}

/// The `n`-th of values that stand behind their lengths.
fn text(bytes: &[u8], n: u64) -> Option<Within> {
    let mut at = 0usize;
    for _ in 0..n {
        at = at.checked_add(4)?.checked_add(usize::try_from(le::<u32>(bytes, at)?).ok()?)?;
    }
    let len = usize::try_from(le::<u32>(bytes, at)?).ok()?;
    let end = at.checked_add(4)?.checked_add(len).filter(|end| *end <= bytes.len())?;
    Some(Within::from(at as u64 + 4..end as u64))
}

/// Numbers of a few bits: runs of one and groups of eight packed ones, in turns.
pub(super) struct Hybrid<'a> {
    bytes: &'a [u8],
    width: u32,
}

/// A run of a [`Hybrid`].
enum Run {
    /// One number, so often; where its bytes are.
    Same(u64, Range<usize>),
    /// Packed ones from this byte on.
    Packed(usize),
}

impl<'a> Hybrid<'a> {
    /// Numbers of `width` bits.
    pub(super) fn new(bytes: &'a [u8], width: u32) -> Self {
        Hybrid { bytes, width: width.min(64) }
    }

    /// The run at `at`: what it is, how many numbers it has, and where the next one begins.
    fn run(&self, at: usize) -> Option<(Run, u64, usize)> {
        let (head, taken) = leb128(self.bytes.get(at..)?)?;
        let start = at.checked_add(taken)?;
        let count = head >> 1;
        if head & 1 == 1 {
            let len = usize::try_from(count.checked_mul(u64::from(self.width))?).ok()?;
            return Some((Run::Packed(start), count.checked_mul(8)?, start.checked_add(len)?));
        }
        let end = start.checked_add(self.width.div_ceil(8) as usize)?;
        let number = self
            .bytes
            .get(start..end)?
            .iter()
            .rev()
            .fold(0u64, |number, byte| number << 8 | u64::from(*byte));
        Some((Run::Same(number, start..end), count, end))
    }

    fn packed(&self, start: usize, n: u64) -> Range<u64> {
        let first = start as u64 * 8 + n * u64::from(self.width);
        first..first + u64::from(self.width)
    }

    /// The `n`-th number, and the bits that it is made of.
    pub(super) fn entry(&self, mut n: u64) -> Option<(u64, Range<u64>)> {
        let mut at = 0;
        loop {
            let (run, count, next) = self.run(at)?;
            if n < count {
                return match run {
                    Run::Same(number, bytes) => Some((number, bytes.start as u64 * 8..bytes.end as u64 * 8)),
                    Run::Packed(start) => {
                        let bits = self.packed(start, n);
                        Some((Within::of_bits(bits.clone()).number(self.bytes)?, bits))
                    }
                };
            }
            (n, at) = (n - count, next);
            if at >= self.bytes.len() {
                return None;
            }
        }
    }

    /// How many of the first `n` numbers are `wanted`.
    pub(super) fn count(&self, wanted: u64, mut n: u64) -> u64 {
        let (mut at, mut found) = (0, 0);
        while n > 0
            && let Some((run, count, next)) = self.run(at)
        {
            let taken = count.min(n);
            found += match run {
                Run::Same(number, _) => {
                    if number == wanted {
                        taken
                    } else {
                        0
                    }
                }
                Run::Packed(start) => {
                    let is =
                        |n: &u64| Within::of_bits(self.packed(start, *n)).number(self.bytes) == Some(wanted);
                    (0..taken).filter(is).count() as u64
                }
            };
            (n, at) = (n - taken, next);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_and_packed_numbers() {
        // Three times 5, then eight numbers of 3 bits: 0 to 7 (the specification's own example).
        let bytes = [6, 5, 3, 0b1000_1000, 0b1100_0110, 0b1111_1010];
        let hybrid = Hybrid::new(&bytes, 3);
        let numbers: Vec<u64> = (0..11).map(|n| hybrid.entry(n).unwrap().0).collect();
        assert_eq!(numbers, [5, 5, 5, 0, 1, 2, 3, 4, 5, 6, 7]);
        assert!(hybrid.entry(11).is_none());
        assert_eq!((hybrid.count(5, 11), hybrid.count(5, 2), hybrid.count(5, 8)), (4, 2, 3));
        let (number, bits) = hybrid.entry(5).unwrap();
        assert_eq!(Within::of_bits(bits).number(&bytes), Some(number));
    }

    #[test]
    fn values_as_they_are() {
        assert_eq!(plain(&[0; 8], (Type::INT32, 0), 1), Some(Within::from(4..8)));
        assert_eq!(plain(&[0; 8], (Type::INT32, 0), 2), None);
        let texts = [1, 0, 0, 0, b'a', 2, 0, 0, 0, b'b', b'c'];
        assert_eq!(plain(&texts, (Type::BYTE_ARRAY, 0), 1), Some(Within::from(9..11)));
        assert_eq!(plain(&texts, (Type::BYTE_ARRAY, 0), 2), None);
    }
}
