//! Arrays of whole numbers of a few bits, several in a byte, the first one in the lowest bits. They are delivered as one
//! byte each.

use crate::bytes::error::Result;
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::array::{Array, ArrayFacts, Plain, read};
use crate::data::dtype::DType;
use crate::data::region::Region;
use std::sync::Arc;

/// Numbers that follow each other without gaps, over all rows.
pub struct Bits {
    /// Bytes, in one dimension.
    packed: Arc<dyn Array>,
    shape: Vec<u64>,
    bits: u32,
    dtype: DType,
    facts: ArrayFacts,
}

impl Bits {
    /// Numbers of `bits` (1, 2 or 4) bits from byte `at` of `source` on; [`DType::I8`] ones have a sign.
    ///
    /// # Errors
    /// `Malformed` where the source ends before them.
    pub fn new(
        source: Source,
        at: u64,
        shape: Vec<u64>,
        bits: u32,
        dtype: DType,
        facts: ArrayFacts,
    ) -> Result<Self> {
        let bytes = limits::elements(&shape)?.div_ceil(u64::from(8 / bits.clamp(1, 8)));
        let packed = Plain::new(source, at, DType::U8, vec![bytes])?;
        let facts = ArrayFacts { bytes_stored: packed.facts().bytes_stored, ..facts };
        Ok(Bits { packed: Arc::new(packed), shape, bits, dtype, facts })
    }

    /// Numbers in the bytes of an array of one dimension.
    pub fn over(packed: Arc<dyn Array>, shape: Vec<u64>, bits: u32, dtype: DType, facts: ArrayFacts) -> Self {
        Bits { packed, shape, bits, dtype, facts }
    }

    fn number(&self, byte: u8, place: u64) -> u8 {
        let mask = ((1u16 << self.bits) - 1) as u8;
        let value = (byte >> (place as u32 * self.bits)) & mask;
        let sign = 1u8 << (self.bits - 1);
        if self.dtype == DType::I8 && value & sign != 0 { value | !mask } else { value }
    }
}

impl Array for Bits {
    fn dtype(&self) -> &DType {
        &self.dtype
    }

    fn shape(&self) -> &[u64] {
        &self.shape
    }

    fn read(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<()> {
        region.check(&self.shape)?;
        if out.is_empty() {
            return Ok(());
        }
        let each = u64::from(8 / self.bits);
        // Row by row: the elements of a row lie side by side.
        let (outer, last) = match region.0.split_last() {
            Some((last, outer)) => (outer, *last),
            None => (&[][..], crate::data::region::Span::range(0, 1)),
        };
        let counts: Vec<u64> = outer.iter().map(|span| span.count).collect();
        let width = self.shape.last().copied().unwrap_or(1);
        let lead = self.shape.get(..outer.len()).unwrap_or_default();
        for (row, to) in out.chunks_exact_mut(last.count.max(1) as usize).enumerate() {
            let place = crate::bytes::strides::unravel(row as u64, &counts);
            let index: Vec<u64> = outer.iter().zip(&place).map(|(span, place)| span.index(*place)).collect();
            let start = crate::bytes::strides::ravel(&index, lead) * width;
            let (first, end) = ((start + last.start) / each, (start + last.end()).div_ceil(each));
            let bytes = read(
                self.packed.as_ref(),
                task,
                &Region(vec![crate::data::region::Span::range(first, end - first)]),
            )?;
            for (n, to) in to.iter_mut().enumerate() {
                let element = start + last.index(n as u64);
                let byte = bytes.get((element / each - first) as usize).copied().unwrap_or(0);
                *to = self.number(byte, element % each);
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
    use crate::data::region::Span;

    #[test]
    fn numbers_of_a_few_bits_follow_each_other() {
        // 1, -1, 2, -8, 7, 0 of four bits in two rows of three.
        let source = Source::memory("a", vec![0xf1, 0x82, 0x07]);
        let of = |dtype| Bits::new(source.clone(), 0, vec![2, 3], 4, dtype, ArrayFacts::default()).unwrap();
        let task = Task::new();
        let all = read(&of(DType::I8), &task, &Region::all(&[2, 3])).unwrap();
        assert_eq!(all.iter().map(|b| *b as i8).collect::<Vec<_>>(), [1, -1, 2, -8, 7, 0]);
        let part = Region(vec![Span::range(1, 1), Span { start: 0, count: 2, step: 2 }]);
        assert_eq!(read(&of(DType::U8), &task, &part).unwrap(), [8, 0]);
        assert!(Bits::new(source, 0, vec![7], 4, DType::U8, ArrayFacts::default()).is_err());
    }
}
