//! Arrays of whole numbers of a few bits, several in a byte, the first one in the lowest bits. They are delivered as one
//! byte each.

use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::strides;
use crate::bytes::task::Task;
use crate::data::content::array::{Array, ArrayFacts, Plain, read};
use crate::data::dtype::DType;
use crate::data::region::{Region, Span};
use bytes::Bytes;
use std::ops::Range;
use std::sync::Arc;

/// Up to so many bytes are read at once for elements that do not follow each other.
const TOGETHER: u64 = 8 << 20;

/// Where the numbers of a row begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rows {
    /// Right behind those of the row before, in the same byte where that has room.
    #[default]
    Joined,
    /// In a byte of their own.
    Padded,
}

/// How numbers lie in bytes.
#[derive(Clone, Debug)]
pub struct Packing {
    /// Bits of a number: 1, 2 or 4.
    pub bits: u32,
    /// What they are delivered as: [`DType::I8`] ones have a sign.
    pub dtype: DType,
    /// Where rows begin.
    pub rows: Rows,
}

/// Numbers of a few bits.
pub struct Bits {
    /// Bytes, in one dimension.
    packed: Arc<dyn Array>,
    shape: Vec<u64>,
    packing: Packing,
    facts: ArrayFacts,
    /// The bytes in their source, where a checksum goes over these.
    checksummed: Option<(Source, Range<u64>)>,
}

impl Bits {
    /// Numbers of `bits` (1, 2 or 4) bits from byte `at` of `source` on, without gaps; [`DType::I8`] ones have a sign.
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
        Bits::packed(source, at, shape, Packing { bits, dtype, rows: Rows::Joined }, facts)
    }

    /// Numbers that are packed so from byte `at` of `source` on.
    ///
    /// # Errors
    /// `Malformed` where the source ends before them.
    pub fn packed(
        source: Source,
        at: u64,
        shape: Vec<u64>,
        packing: Packing,
        facts: ArrayFacts,
    ) -> Result<Self> {
        let each = u64::from(8 / packing.bits.clamp(1, 8));
        let bytes = match (packing.rows, shape.split_last()) {
            (Rows::Padded, Some((width, outer))) => {
                let rows = limits::elements(outer)?;
                let bytes = rows.checked_mul(width.div_ceil(each));
                bytes.ok_or_else(|| Error::malformed(format!("array: shape {shape:?} overflows 64 bits")))?
            }
            _ => limits::elements(&shape)?.div_ceil(each),
        };
        let packed = Plain::new(source, at, DType::U8, vec![bytes])?;
        let facts = ArrayFacts { bytes_stored: packed.facts().bytes_stored, ..facts };
        Ok(Bits { packed: Arc::new(packed), shape, packing, facts, checksummed: None })
    }

    /// Numbers in the bytes of an array of one dimension, without gaps.
    pub fn over(packed: Arc<dyn Array>, shape: Vec<u64>, bits: u32, dtype: DType, facts: ArrayFacts) -> Self {
        let packing = Packing { bits, dtype, rows: Rows::Joined };
        Bits { packed, shape, packing, facts, checksummed: None }
    }

    /// With a checksum over the bytes as they are stored.
    pub fn checksum_as_stored(mut self) -> Self {
        self.checksummed = self.packed.verbatim();
        self
    }

    fn number(&self, byte: u8, place: u64) -> u8 {
        let bits = self.packing.bits;
        let mask = ((1u16 << bits) - 1) as u8;
        let value = (byte >> (place as u32 * bits)) & mask;
        let sign = 1u8 << (bits - 1);
        if self.packing.dtype == DType::I8 && value & sign != 0 { value | !mask } else { value }
    }

    /// The bytes that hold the numbers from place `first` to `last`, and the place of the first of them.
    fn load(&self, task: &Task, first: u64, last: u64) -> Result<(Bytes, u64)> {
        let each = u64::from(8 / self.packing.bits);
        let start = first / each;
        let bytes =
            read(self.packed.as_ref(), task, &Region(vec![Span::range(start, last / each + 1 - start)]))?;
        Ok((bytes.into(), start * each))
    }
}

impl Array for Bits {
    fn dtype(&self) -> &DType {
        &self.packing.dtype
    }

    fn shape(&self) -> &[u64] {
        &self.shape
    }

    fn read(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<()> {
        region.check(&self.shape)?;
        if out.is_empty() {
            return Ok(());
        }
        let each = u64::from(8 / self.packing.bits);
        // Row by row: the elements of a row lie side by side.
        let (outer, along) = match region.0.split_last() {
            Some((along, outer)) => (outer, *along),
            None => (&[][..], Span::range(0, 1)),
        };
        let counts: Vec<u64> = outer.iter().map(|span| span.count).collect();
        let width = self.shape.last().copied().unwrap_or(1);
        let width = if self.packing.rows == Rows::Padded { width.next_multiple_of(each) } else { width };
        let lead = self.shape.get(..outer.len()).unwrap_or_default();
        let row = |number: u64| {
            let place = strides::unravel(number, &counts);
            let index: Vec<u64> = outer.iter().zip(&place).map(|(span, place)| span.index(*place)).collect();
            strides::ravel(&index, lead) * width
        };
        let ends = |start: u64| (start + along.start, start + along.index(along.count.saturating_sub(1)));
        let rows = out.chunks_exact_mut(along.count.max(1) as usize);
        let (first, last) = (ends(row(0)).0, ends(row((rows.len() as u64).saturating_sub(1))).1);
        let is_near = (last - first) / each < TOGETHER.max(rows.len() as u64 * along.count);
        let all = if is_near { Some(self.load(task, first, last)?) } else { None };
        for (number, to) in rows.enumerate() {
            let start = row(number as u64);
            let (bytes, before) = match &all {
                Some((bytes, before)) => (bytes.clone(), *before),
                None => self.load(task, ends(start).0, ends(start).1)?,
            };
            for (n, to) in to.iter_mut().enumerate() {
                let place = start + along.index(n as u64) - before;
                let byte = bytes.get((place / each) as usize).copied().unwrap_or(0);
                *to = self.number(byte, place % each);
            }
        }
        Ok(())
    }

    fn facts(&self) -> ArrayFacts {
        self.facts.clone()
    }

    fn checksummed(&self) -> Option<(Source, Range<u64>)> {
        self.checksummed.clone()
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

    #[test]
    fn rows_may_begin_in_bytes_of_their_own() {
        let source = Source::memory("a", vec![0, 0b01_10_11_00, 0b10, 0b00_00_00_01, 0b11]);
        let packing = Packing { bits: 2, dtype: DType::U8, rows: Rows::Padded };
        let bits =
            |shape: Vec<u64>| Bits::packed(source.clone(), 1, shape, packing.clone(), ArrayFacts::default());
        let array = bits(vec![2, 5]).unwrap().checksum_as_stored();
        let task = Task::new();
        assert_eq!(read(&array, &task, &Region::all(&[2, 5])).unwrap(), [0, 3, 2, 1, 2, 1, 0, 0, 0, 3]);
        let part = Region(vec![Span::range(1, 1), Span { start: 0, count: 2, step: 4 }]);
        assert_eq!(read(&array, &task, &part).unwrap(), [1, 3]);
        assert_eq!(array.facts().bytes_stored, Some(4));
        assert_eq!(array.checksummed().unwrap().1, 1..5);
        assert_eq!(read(&bits(vec![]).unwrap(), &task, &Region::all(&[])).unwrap(), [0]);
        assert!(bits(vec![3, 5]).is_err() && bits(vec![u64::MAX, 5]).is_err());
    }

    /// Rows that lie far apart are read one by one.
    #[test]
    fn rows_far_apart_are_read() {
        let mut bytes = vec![0u8; 20 << 20];
        (bytes[0], bytes[10 << 20]) = (0x21, 0x43);
        let shape = vec![2, 20 << 20];
        let array =
            Bits::new(Source::memory("a", bytes), 0, shape, 4, DType::U8, ArrayFacts::default()).unwrap();
        let part = Region(vec![Span::range(0, 2), Span::range(0, 2)]);
        assert_eq!(read(&array, &Task::new(), &part).unwrap(), [1, 2, 3, 4]);
    }
}
