//! Integers of one to eight bits that follow each other without gaps, over bytes and rows. ML programs have the first
//! one in the lowest bits, neural networks in the highest. They are delivered as a byte each.

use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::strides;
use crate::bytes::task::Task;
use crate::data::content::Array;
use crate::data::content::array::ArrayFacts;
use crate::data::dtype::DType;
use crate::data::region::{Region, Span};

/// Such integers as an array.
pub(super) struct Packed {
    source: Source,
    shape: Vec<u64>,
    bits: u32,
    /// [`DType::I8`] ones have a sign.
    dtype: DType,
    /// Whether the first one lies in the highest bits of the first byte.
    high_first: bool,
    facts: ArrayFacts,
}

impl Packed {
    /// The integers in `source`, from its first byte on.
    ///
    /// # Errors
    /// `Malformed` where it ends before them or `bits` is none of 1 to 8.
    pub(super) fn new(
        source: Source,
        shape: Vec<u64>,
        bits: u32,
        dtype: DType,
        high_first: bool,
        word: Option<&'static str>,
    ) -> Result<Self> {
        if !(1..=8).contains(&bits) {
            return Err(Error::malformed(format!("integers of {bits} bits")));
        }
        let needed = u128::from(limits::elements(&shape)?) * u128::from(bits);
        let there = source.known_len().unwrap_or(0);
        if needed.div_ceil(8) > u128::from(there) {
            let what = format!("shape {shape:?} of {bits} bits needs {} bytes", needed.div_ceil(8));
            return Err(Error::malformed(format!("{what}, {there} are stored")));
        }
        let details = vec![("bits".to_owned(), bits.to_string())];
        let facts =
            ArrayFacts { word, bytes_stored: Some(there), byte_each: true, details, ..ArrayFacts::default() };
        Ok(Packed { source, shape, bits, dtype, high_first, facts })
    }

    /// The integer whose first bit is `at` bits behind the first of `bytes`.
    fn number(&self, bytes: &[u8], at: u64) -> u8 {
        let (byte, shift) = ((at / 8) as usize, (at % 8) as u32);
        let get = |n: usize| u32::from(bytes.get(n).copied().unwrap_or(0));
        let mask = (1u32 << self.bits) - 1;
        let value = match self.high_first {
            true => (get(byte) << 8 | get(byte + 1)) >> (16 - shift - self.bits) & mask,
            false => (get(byte) | get(byte + 1) << 8) >> shift & mask,
        };
        let is_negative = self.dtype == DType::I8 && value >> (self.bits - 1) & 1 == 1;
        (if is_negative { value | !mask } else { value }) as u8
    }
}

impl Array for Packed {
    fn dtype(&self) -> &DType {
        &self.dtype
    }

    fn shape(&self) -> &[u64] {
        &self.shape
    }

    fn read(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<()> {
        region.check(&self.shape)?;
        let (outer, last) = match region.0.split_last() {
            Some((last, outer)) => (outer, *last),
            None => (&[][..], Span::range(0, 1)),
        };
        if out.is_empty() || last.count == 0 {
            return Ok(());
        }
        let counts: Vec<u64> = outer.iter().map(|span| span.count).collect();
        let width = self.shape.last().copied().unwrap_or(1);
        let lead = self.shape.get(..outer.len()).unwrap_or_default();
        let bits = u64::from(self.bits);
        for (row, to) in out.chunks_exact_mut(last.count as usize).enumerate() {
            task.check()?;
            let place = strides::unravel(row as u64, &counts);
            let index: Vec<u64> = outer.iter().zip(&place).map(|(span, place)| span.index(*place)).collect();
            let start = strides::ravel(&index, lead) * width;
            let (first, end) = ((start + last.start) * bits / 8, ((start + last.end()) * bits).div_ceil(8));
            let bytes = self.source.read(task, first..end)?;
            for (n, to) in to.iter_mut().enumerate() {
                let element = start + last.index(n as u64);
                *to = self.number(&bytes, element * bits - first * 8);
            }
        }
        Ok(())
    }

    fn facts(&self) -> ArrayFacts {
        self.facts.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::content::array::read;

    #[test]
    fn integers_lie_over_bytes_from_either_side() {
        let all = |bytes: &[u8], bits, dtype, high| {
            let source = Source::memory("a", bytes.to_vec());
            let array = Packed::new(source, vec![2, 2], bits, dtype, high, None).unwrap();
            let whole = read(&array, &Task::new(), &Region::all(&[2, 2])).unwrap();
            let part = Region(vec![Span::range(1, 1), Span::range(1, 1)]);
            assert_eq!(read(&array, &Task::new(), &part).unwrap(), whole[3..]);
            whole
        };
        // 1, 2, 3, 4 of six bits.
        assert_eq!(all(&[0b1000_0001, 0b0011_0000, 0b0001_0000], 6, DType::U8, false), [1, 2, 3, 4]);
        assert_eq!(all(&[0b0000_0100, 0b0010_0000, 0b1100_0100], 6, DType::U8, true), [1, 2, 3, 4]);
        // -1, 1, -8, 7 of four bits.
        assert_eq!(all(&[0x1f, 0x78], 4, DType::I8, false).map_signed(), [-1, 1, -8, 7]);
        assert_eq!(all(&[1, 2, 3, 255], 8, DType::U8, true), [1, 2, 3, 255]);
        let short = Packed::new(Source::memory("a", vec![0; 2]), vec![6], 3, DType::U8, true, None);
        assert!(short.is_err());
    }

    trait Signed {
        fn map_signed(&self) -> Vec<i8>;
    }

    impl Signed for Vec<u8> {
        fn map_signed(&self) -> Vec<i8> {
            self.iter().map(|byte| *byte as i8).collect()
        }
    }
}
