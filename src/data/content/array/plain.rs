//! Arrays that lie uncompressed in a source, in any order of axes.

use super::{Array, ArrayFacts, MissingRegion, read};
use crate::bytes::error::{Defect, Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::strides::{self, Axis};
use crate::bytes::task::Task;
use crate::data::dtype::{ByteOrder, DType};
use crate::data::location::{BytePlace, Location, Owner, Within};
use crate::data::region::{Region, Span};
use std::ops::Range;

/// An array that lies uncompressed in a source: NPY, safetensors, NIfTI, NetCDF classic, raw files. Its axes may stand
/// in any order there, with gaps between rows, and its numbers in any byte order.
pub struct Plain {
    source: Source,
    offset: u64,
    dtype: DType,
    shape: Vec<u64>,
    /// Bytes between neighbours along each dimension. Elements under a byte, which lie packed, count as one each.
    strides: Vec<u64>,
    /// The dimensions in the file's order, the slowest first.
    axes: Vec<usize>,
    order: ByteOrder,
    /// How many elements are there, where the file is cut off; strides are dense then.
    there: Option<u64>,
    /// Whether the checksum is over the bytes as they are stored.
    as_stored: bool,
    facts: ArrayFacts,
}

/// Runs that lie nearer to each other than this, on average, are read together,
const GAP: u64 = 4 << 10;
/// as long as all of them are not more than this.
const TOGETHER: u64 = 8 << 20;

impl Plain {
    /// Names as texts of one length, of which letters beyond that are not kept; `None` where all are empty or there are
    /// very many.
    pub fn names(names: &[String]) -> Option<Self> {
        /// Longer names and more of them are not kept.
        const LETTERS: usize = 64;
        const MOST: usize = 1 << 16;
        let longest = names.iter().map(|name| name.chars().count()).max()?.min(LETTERS);
        if longest == 0 || names.len() > MOST {
            return None;
        }
        let mut bytes = Vec::with_capacity(names.len() * longest * 4);
        for name in names {
            let letters = name.chars().chain(std::iter::repeat('\0')).take(longest);
            bytes.extend(letters.flat_map(|letter| u32::from(letter).to_le_bytes()));
        }
        let source = Source::memory("names", bytes);
        Plain::new(source, 0, DType::Str(longest as u32), vec![names.len() as u64]).ok()
    }

    /// An array of `dtype` and `shape` at `offset` of `source`, in C order without gaps. Its bytes must be there.
    ///
    /// # Errors
    /// `Malformed` where shape and type overflow or reach beyond the source.
    pub fn new(source: Source, offset: u64, dtype: DType, shape: Vec<u64>) -> Result<Self> {
        let plain = Self::cut(source, offset, dtype, shape)?;
        match plain.missing() {
            Some(error) => Err(error),
            None => Ok(plain),
        }
    }

    /// The same, but where the file is cut off its elements beyond the end fail when they are read, and no
    /// others; [`Plain::missing`] says so.
    ///
    /// # Errors
    /// `Malformed` where shape and type overflow.
    pub fn cut(source: Source, offset: u64, dtype: DType, shape: Vec<u64>) -> Result<Self> {
        let elements = limits::elements(&shape)?;
        let bytes = packed_bytes(elements, &dtype)?;
        let end = offset.checked_add(bytes);
        let len = source.known_len().filter(|len| end.is_none_or(|end| end > *len));
        // Wide enough for the bits of any length.
        let bits = |len: u64| u128::from(len.saturating_sub(offset)) * 8 / u128::from(dtype.bits().max(1));
        let there = len.map(|len| u64::try_from(bits(len)).unwrap_or(u64::MAX).min(elements));
        let stored = bytes.min(len.map_or(bytes, |len| len.saturating_sub(offset)));
        let axes = strides::c_order(shape.len());
        let strides = strides::dense(&shape, &axes, dtype.size());
        let facts = ArrayFacts { bytes_stored: Some(stored), ..ArrayFacts::default() };
        Ok(Plain {
            source,
            offset,
            dtype,
            shape,
            strides,
            axes,
            order: ByteOrder::Little,
            there,
            as_stored: false,
            facts,
        })
    }

    /// The same without gaps in C or Fortran order, and where the file is cut off only as long along its slowest
    /// dimension as all of it is there; with what is to be said then, for its node's problem.
    ///
    /// # Errors
    /// `Malformed` where shape and type overflow, and where not one whole slice is there.
    pub fn within(
        source: Source,
        offset: u64,
        dtype: DType,
        mut shape: Vec<u64>,
        fortran: bool,
    ) -> Result<(Self, Option<Error>)> {
        let all = Self::cut(source.clone(), offset, dtype.clone(), shape.clone())?;
        let (Some(there), Some(missing)) = (all.there, all.missing()) else {
            return Ok((all.fortran(fortran), None));
        };
        let whole = limits::elements(&shape)?;
        let Some(slowest) = (if fortran { shape.last_mut() } else { shape.first_mut() }) else {
            return Err(missing);
        };
        // What is cut off has elements, and so no side of 0.
        *slowest = there.checked_div(whole.checked_div(*slowest).unwrap_or(0)).unwrap_or(0);
        if *slowest == 0 {
            return Err(missing);
        }
        Ok((Self::cut(source, offset, dtype, shape)?.fortran(fortran), Some(missing)))
    }

    /// An array of `dtype` and `shape` whose neighbours along each dimension lie `strides` bytes apart, the first
    /// element at `offset` of `source`. Its bytes must be there.
    ///
    /// # Errors
    /// `Malformed` where it overflows or reaches beyond the source.
    pub fn strided(
        source: Source,
        offset: u64,
        dtype: DType,
        shape: Vec<u64>,
        strides: Vec<u64>,
    ) -> Result<Self> {
        if strides.len() != shape.len() || dtype.bits() < 8 {
            return Err(Error::bug(format!("strides {strides:?} of shape {shape:?} of {dtype}")));
        }
        let stored = limits::bytes(&shape, dtype.size())?;
        let along = |(side, stride): (&u64, &u64)| side.saturating_sub(1).checked_mul(*stride);
        let last = shape.iter().zip(&strides).map(along).try_fold(0u64, |all, one| all.checked_add(one?));
        let end = last.and_then(|last| last.checked_add(dtype.size())?.checked_add(offset));
        let beyond = |end: u64| source.known_len().is_some_and(|len| end > len);
        if stored > 0 && end.is_none_or(beyond) {
            let what =
                format!("array: shape {shape:?} of {dtype} with strides {strides:?} reaches beyond the file");
            return Err(Error::malformed(what).at(offset));
        }
        let mut axes = strides::c_order(shape.len());
        axes.sort_by_key(|axis| std::cmp::Reverse(strides.get(*axis).copied()));
        let facts = ArrayFacts { bytes_stored: Some(stored), ..ArrayFacts::default() };
        Ok(Plain {
            source,
            offset,
            dtype,
            shape,
            strides,
            axes,
            order: ByteOrder::Little,
            there: None,
            as_stored: false,
            facts,
        })
    }

    /// How many elements are there, in the file's order; `None` where all are.
    pub fn there(&self) -> Option<u64> {
        self.there
    }

    /// What is to be said where not all of its bytes are there.
    pub fn missing(&self) -> Option<Error> {
        self.there?;
        let (shape, dtype) = (&self.shape, &self.dtype);
        let bytes = limits::elements(shape).and_then(|elements| packed_bytes(elements, dtype)).unwrap_or(0);
        let there = self.source.known_len().unwrap_or(0).saturating_sub(self.offset);
        Some(Error::malformed(format!(
            "array: shape {shape:?} of {dtype} needs {bytes} bytes, {there} are there; the file may be cut off"
        ))
        .with_defect(Defect::Truncated)
        .at(self.offset))
    }

    /// All of its bytes, as one unit.
    fn unit(&self) -> Location {
        let along = |(side, stride): (&u64, &u64)| side.saturating_sub(1).saturating_mul(*stride);
        let last = self.shape.iter().zip(&self.strides).map(along).fold(0, u64::saturating_add);
        let bytes = match self.dtype.bits() {
            _ if self.shape.contains(&0) => 0,
            bits @ 1..8 => last.saturating_add(1).saturating_mul(bits).div_ceil(8),
            _ => last.saturating_add(self.dtype.size()),
        };
        let end = self.offset.saturating_add(bytes);
        let end = self.source.known_len().map_or(end, |len| end.min(len.max(self.offset)));
        let unit = Location::new(self.source.clone(), self.offset..end, "buffer", "");
        match self.order.word(&self.dtype) {
            Some(order) => unit.encoding(format!("{}, {order}-endian", self.dtype)),
            None => unit.encoding(self.dtype.to_string()),
        }
    }

    /// Fails where a region reaches beyond what is there.
    fn reaches(&self, region: &Region) -> Result<()> {
        let Some(there) = self.there else { return Ok(()) };
        let last = |span: &Span| span.index(span.count.saturating_sub(1));
        let ends =
            region.0.iter().zip(&self.strides).map(|(span, stride)| last(span).saturating_mul(*stride));
        let end = ends.fold(0u64, u64::saturating_add);
        let missing = end.checked_div(self.dtype.size()).unwrap_or(0) >= there;
        self.missing().filter(|_| missing).map_or(Ok(()), Err)
    }

    /// Stored big-endian, all of it.
    pub fn big_endian(self, big: bool) -> Self {
        self.byte_order(ByteOrder::big(big))
    }

    /// Stored in this byte order.
    pub fn byte_order(mut self, order: ByteOrder) -> Self {
        self.order = order;
        self
    }

    /// Stored in Fortran order (first dimension fastest), without gaps.
    pub fn fortran(self, fortran: bool) -> Self {
        let mut axes = strides::c_order(self.shape.len());
        if fortran {
            axes.reverse();
        }
        self.axes(axes)
    }

    /// Stored without gaps, the dimensions in this order, the slowest first: each of them once.
    pub fn axes(mut self, axes: Vec<usize>) -> Self {
        self.strides = strides::dense(&self.shape, &axes, self.dtype.size());
        self.axes = axes;
        self
    }

    /// With a checksum over the bytes as they are stored, also where those are big-endian; without gaps, in C order.
    pub fn checksum_as_stored(mut self) -> Self {
        self.as_stored = true;
        self
    }

    /// Further facts for the inspector; byte order and stored bytes are filled in here.
    pub fn detail(mut self, name: &str, value: impl Into<String>) -> Self {
        self.facts.details.push((name.to_owned(), value.into()));
        self
    }

    /// With everything that is known of it; byte order, stored bytes and order are filled in here.
    pub fn with_facts(mut self, facts: ArrayFacts) -> Self {
        self.facts = ArrayFacts { bytes_stored: self.facts.bytes_stored, ..facts };
        self
    }

    /// Elements that follow each other, from byte `first` on, into `out`.
    fn load(&self, task: &Task, first: u64, out: &mut [u8]) -> Result<()> {
        match self.dtype.bits() {
            bits @ 1..8 => self.unpack(task, bits, first, out),
            _ => self.source.read_into(task, self.offset + first, out),
        }
    }

    /// Elements under a byte, from the one of number `first` on: packed from the low bits upwards, delivered one a
    /// byte.
    fn unpack(&self, task: &Task, bits: u64, first: u64, out: &mut [u8]) -> Result<()> {
        let start = first * bits / 8;
        let end = ((first + out.len() as u64) * bits).div_ceil(8);
        let packed = self.source.read(task, self.offset + start..self.offset + end)?;
        let mask = (1u16 << bits) - 1;
        for (n, element) in out.iter_mut().enumerate() {
            let bit = (first + n as u64) * bits - start * 8;
            let (byte, shift) = ((bit / 8) as usize, bit % 8);
            let low = packed.get(byte).copied().unwrap_or(0);
            let high = packed.get(byte + 1).copied().unwrap_or(0);
            *element = ((u16::from_le_bytes([low, high]) >> shift) & mask) as u8;
        }
        Ok(())
    }

    /// Elements from byte `first` on into `out`, as `axes` say. What is one run on both sides is read into its place;
    /// what lies together, or moves, is read in parts and copied from there.
    fn gather(
        &self,
        task: &Task,
        axes: &[Axis],
        first: u64,
        out: &mut [u8],
        part: &mut Vec<u8>,
    ) -> Result<()> {
        let size = self.dtype.size();
        let short = || Error::bug("an array was asked for less than its region");
        if axes.len() < 2 && axes.iter().all(|axis| axis.from == size && axis.to == size) {
            let len = axes.iter().fold(size, |len, axis| len.saturating_mul(axis.count));
            return self.load(task, first, out.get_mut(..len as usize).ok_or_else(short)?);
        }
        if let Some(extent) = near(axes, size) {
            part.resize(extent as usize, 0);
            self.load(task, first, part)?;
            strides::copy(part, out, axes, size as usize);
            return Ok(());
        }
        let Some((&slowest, inner)) = axes.split_first() else { return Ok(()) };
        let together = together(slowest, inner, size);
        for n in (0..slowest.count).step_by(together as usize) {
            let count = together.min(slowest.count - n);
            let outer = (count != 1).then_some(Axis { count, ..slowest });
            let axes: Vec<Axis> = outer.into_iter().chain(inner.iter().copied()).collect();
            let rest = out.get_mut((n * slowest.to) as usize..).ok_or_else(short)?;
            self.gather(task, &axes, first + n * slowest.from, rest, part)?;
        }
        Ok(())
    }
}

/// The bytes from the first to the last element of a copy, where reading all of them is cheaper than a read for each
/// run, or they have to be moved anyway.
fn near(axes: &[Axis], size: u64) -> Option<u64> {
    let (mut extent, mut wanted, mut runs) = (size, size, 1u64);
    for (n, axis) in axes.iter().enumerate() {
        extent = extent.saturating_add(axis.count.checked_sub(1)?.saturating_mul(axis.from));
        wanted = wanted.saturating_mul(axis.count);
        let is_run = n + 1 == axes.len() && axis.from == size;
        runs = runs.saturating_mul(if is_run { 1 } else { axis.count });
    }
    let moves = axes.last().is_some_and(|axis| axis.from != size || axis.to != size);
    let costs = if moves { extent.saturating_sub(wanted) } else { extent };
    (extent <= TOGETHER && costs <= runs.saturating_mul(GAP)).then_some(extent)
}

/// How many of the slowest axis are read together; 1 where each is to be read by itself.
fn together(slowest: Axis, inner: &[Axis], size: u64) -> u64 {
    let one = inner
        .iter()
        .fold(size, |all, axis| all.saturating_add(axis.count.saturating_sub(1).saturating_mul(axis.from)));
    let most =
        (TOGETHER.saturating_sub(one)).checked_div(slowest.from).map_or(1, |more| more.saturating_add(1));
    let count = most.clamp(1, slowest.count.max(1));
    let axes = [&[Axis { count, ..slowest }], inner].concat();
    if near(&axes, size).is_some() { count } else { 1 }
}

impl Array for Plain {
    fn dtype(&self) -> &DType {
        &self.dtype
    }

    fn shape(&self) -> &[u64] {
        &self.shape
    }

    fn read(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<()> {
        if out.is_empty() {
            return Ok(());
        }
        self.reaches(region)?;
        let places = strides::dense(&region.shape(), &strides::c_order(self.shape.len()), self.dtype.size());
        let each = region.0.iter().zip(self.strides.iter().zip(places));
        let first = each.clone().map(|(span, (stride, _))| span.start * stride).sum();
        let axes = each.map(|(span, (stride, to))| Axis { count: span.count, from: span.step * stride, to });
        self.gather(task, &strides::joined(axes), first, out, &mut Vec::new())?;
        self.order.to_little(&self.dtype, out)
    }

    fn read_lenient(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<Vec<MissingRegion>> {
        let (Some(there), Some(error)) = (self.there, self.missing()) else {
            self.read(task, region, out)?;
            return Ok(Vec::new());
        };
        region.check(&self.shape)?;
        if out.is_empty() {
            return Ok(Vec::new());
        }
        out.fill(0);
        let (size, whole) = (self.dtype.size() as usize, region.shape());
        let mut gaps = Vec::new();
        for (part, is_there) in region.divided(&self.shape, there, &self.axes) {
            if is_there {
                let inner = region.0.iter().zip(&part.0).map(|(outer, part)| outer.part(part)).collect();
                let bytes = read(self, task, &Region(inner))?;
                strides::paste(&bytes, &part.shape(), out, &whole, &part.start(), size);
            } else {
                gaps.push(MissingRegion { part, error: error.clone() });
            }
        }
        Ok(gaps)
    }

    fn location(&self, task: &Task, index: &[u64]) -> Result<Option<Location>> {
        task.check()?;
        let inside =
            index.len() == self.shape.len() && index.iter().zip(&self.shape).all(|(at, side)| at < side);
        let at = index.iter().zip(&self.strides).map(|(at, stride)| at.saturating_mul(*stride));
        let (at, bits) = (at.fold(0, u64::saturating_add), self.dtype.bits());
        let within = match bits {
            1..8 => Within::of_bits(at.saturating_mul(bits)..at.saturating_add(1).saturating_mul(bits)),
            _ => Within::from(at..at.saturating_add(self.dtype.size())),
        };
        let unit = self.unit();
        let there = inside && within.bytes.end <= unit.range.end - unit.range.start;
        Ok(there.then(|| unit.within(within)))
    }

    fn owner(&self, task: &Task, byte: &BytePlace) -> Result<Option<Owner>> {
        task.check()?;
        let unit = self.unit();
        let Some(at) = byte.within(&self.source, &unit.range) else { return Ok(None) };
        let bits = self.dtype.bits();
        let mut rest = if bits < 8 { at.saturating_mul(8) / bits.max(1) } else { at };
        // The slowest dimension first; along sides that are repeated nothing is told.
        let mut index = vec![0; self.shape.len()];
        for &axis in &self.axes {
            let (Some(to), Some(stride), Some(side)) =
                (index.get_mut(axis), self.strides.get(axis), self.shape.get(axis))
            else {
                continue;
            };
            *to = rest.checked_div(*stride).unwrap_or(0).min(side.saturating_sub(1));
            rest = rest.saturating_sub(to.saturating_mul(*stride));
        }
        let exact = bits < 8 || rest < self.dtype.size();
        Ok(Some(Owner::of_element(unit, index, exact)))
    }

    fn storage(&self) -> Option<(Source, Range<u64>)> {
        // Strides that leave gaps reach further than the elements do.
        let dense = strides::dense(&self.shape, &self.axes, self.dtype.size());
        let bytes = packed_bytes(limits::elements(&self.shape).ok()?, &self.dtype).ok()?;
        let end = self.offset.checked_add(bytes)?;
        (self.dtype.bits() < 8 || self.strides == dense).then(|| (self.source.clone(), self.offset..end))
    }

    fn verbatim(&self) -> Option<(Source, Range<u64>)> {
        let c_order = strides::dense(&self.shape, &strides::c_order(self.shape.len()), self.dtype.size());
        // Along sides of one nothing lies.
        let mut each = self.shape.iter().zip(self.strides.iter().zip(&c_order));
        let is_c = each.all(|(side, (have, want))| *side == 1 || have == want);
        let is_turned = self.order != ByteOrder::Little && self.dtype.size() > 1;
        if !is_c || self.there.is_some() || self.dtype.bits() < 8 || is_turned {
            return None;
        }
        let bytes = limits::bytes(&self.shape, self.dtype.size()).ok()?;
        Some((self.source.clone(), self.offset..self.offset.checked_add(bytes)?))
    }

    fn facts(&self) -> ArrayFacts {
        let mut facts = self.facts.clone();
        facts.byte_order = self.order.word(&self.dtype);
        let order = match self.axes.as_slice() {
            axes if axes.is_sorted() => "C".to_owned(),
            axes if axes.iter().rev().is_sorted() => "Fortran".to_owned(),
            axes => format!("axes {axes:?}, the slowest first"),
        };
        facts.details.push(("order".to_owned(), order));
        facts
    }

    fn checksummed(&self) -> Option<(Source, Range<u64>)> {
        let turned = self.as_stored && self.order != ByteOrder::Little && self.there.is_none();
        let bytes = self.facts.bytes_stored.filter(|_| turned)?;
        Some((self.source.clone(), self.offset..self.offset.checked_add(bytes)?))
    }
}

/// Bytes of `elements` packed elements of `dtype`.
pub fn packed_bytes(elements: u64, dtype: &DType) -> Result<u64> {
    elements
        .checked_mul(dtype.bits())
        .map(|bits| bits.div_ceil(8))
        .ok_or_else(|| Error::malformed(format!("array: {elements} elements of {dtype} overflow 64 bits")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::strides::tests::order;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_region_in_any_order_is_what_numpy_would_give(
            dims in prop::collection::vec((1u64..6, 0u64..6, 0u64..6, 1u64..4, 0u64..9), 0..4),
            seed in 0usize..24, big: bool, gaps: bool, offset in 0u64..3, long: bool,
        ) {
            // Long elements make runs that are read by themselves.
            let width = if long { 6000 } else { 2 };
            let dtype = if long { DType::Void(6000) } else { DType::U16 };
            let shape: Vec<u64> = dims.iter().map(|d| d.0).collect();
            let spans: Vec<Span> = dims.iter().map(|&(len, a, b, step, _)| {
                let start = a.min(len);
                Span { start, count: (b.min(len - start)).div_ceil(step), step }
            }).collect();
            let axes = order(shape.len(), seed);
            let mut places = strides::dense(&shape, &axes, width);
            let mut wider = 0;
            for &axis in axes.iter().rev().filter(|_| gaps) {
                wider = (wider + dims[axis].4) * shape[axis];
                places[axis] += wider;
            }
            // Every byte of the file is another one, nearly.
            let last: u64 = places.iter().zip(&shape).map(|(place, side)| place * (side - 1)).sum();
            let bytes: Vec<u8> = (0..offset + last + width).map(|n| (n * 37 % 251) as u8).collect();
            let source = Source::memory("a", bytes.clone());
            let plain = match gaps {
                true => Plain::strided(source, offset, dtype, shape.clone(), places.clone()),
                false => Plain::new(source, offset, dtype, shape.clone()).map(|plain| plain.axes(axes)),
            };
            let got = read(&plain.unwrap().big_endian(big), &Task::new(), &Region(spans.clone())).unwrap();
            let mut expected = vec![offset];
            for (axis, span) in spans.iter().enumerate() {
                expected = expected.iter().flat_map(|&at| (0..span.count).map(move |n| (at, n)))
                    .map(|(at, n)| at + span.index(n) * places[axis]).collect();
            }
            let element = |at: u64| {
                let element = &bytes[at as usize..][..width as usize];
                if big && !long { vec![element[1], element[0]] } else { element.to_vec() }
            };
            prop_assert_eq!(got, expected.into_iter().flat_map(element).collect::<Vec<u8>>());
        }
    }

    #[test]
    fn strides_beyond_the_file_are_refused() {
        let strided = |shape: &[u64], strides: &[u64]| {
            let source = Source::memory("a", vec![0; 20]);
            Plain::strided(source, 2, DType::U16, shape.to_vec(), strides.to_vec())
        };
        assert!(strided(&[3, 2], &[6, 2]).is_ok() && strided(&[3, 3], &[6, 2]).is_ok());
        assert!(strided(&[0, 9], &[u64::MAX, 7]).is_ok(), "nothing is in it");
        for (shape, strides) in [([4, 2], [6, 2]), ([2, 2], [u64::MAX, 2]), ([u64::MAX, 2], [3, 2])] {
            assert!(strided(&shape, &strides).is_err(), "{shape:?} {strides:?}");
        }
        assert!(strided(&[3], &[6, 2]).is_err());
    }

    /// As NumPy's `broadcast_to` and windows over a signal lie.
    #[test]
    fn elements_may_share_bytes() {
        let of = |shape: &[u64], strides: &[u64]| {
            let bytes: Vec<u8> = (0..8u32).flat_map(u32::to_le_bytes).collect();
            let source = Source::memory("a", bytes);
            let plain = Plain::strided(source, 4, DType::U32, shape.to_vec(), strides.to_vec()).unwrap();
            let got = read(&plain, &Task::new(), &Region::all(shape)).unwrap();
            got.as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)).collect::<Vec<_>>()
        };
        assert_eq!(of(&[2, 3], &[0, 4]), [1, 2, 3, 1, 2, 3]);
        assert_eq!(of(&[2, 3], &[4, 0]), [1, 1, 1, 2, 2, 2]);
        assert_eq!(of(&[3], &[0]), [1, 1, 1]);
        assert_eq!(of(&[3, 3], &[4, 4]), [1, 2, 3, 2, 3, 4, 3, 4, 5]);
    }

    /// Parts that are read together, by themselves and in groups, of an array that is longer than one of them.
    #[test]
    fn large_arrays_in_any_order_are_read_in_parts() {
        let shape = vec![700, 300, 25];
        let count = 700 * 300 * 25;
        let bytes: Vec<u8> = (0..count as u32).flat_map(u32::to_be_bytes).collect();
        for axes in [[0, 1, 2], [2, 1, 0], [1, 2, 0], [2, 0, 1]] {
            let places = strides::dense(&shape, &axes, 1);
            let source = Source::memory("a", bytes.clone());
            let plain = Plain::new(source, 0, DType::U32, shape.clone()).unwrap();
            let plain = plain.axes(axes.to_vec()).big_endian(true);
            for spans in [
                [0, 700, 1, 0, 300, 1, 0, 25, 1],
                [5, 40, 17, 0, 300, 1, 3, 4, 6],
                [0, 700, 1, 7, 1, 1, 0, 25, 1],
            ] {
                let spans = spans.as_chunks::<3>().0.iter();
                let region = Region(spans.map(|&[start, count, step]| Span { start, count, step }).collect());
                let got = read(&plain, &Task::new(), &region).unwrap();
                let mut wanted = vec![0];
                for (span, place) in region.0.iter().zip(&places) {
                    wanted = wanted
                        .iter()
                        .flat_map(|at| (0..span.count).map(move |n| at + span.index(n) * place))
                        .collect();
                }
                let same =
                    got.as_chunks::<4>().0.iter().map(|b| u64::from(u32::from_le_bytes(*b))).eq(wanted);
                assert!(same, "{axes:?} {region:?}");
            }
        }
    }

    #[test]
    fn four_bit_elements_unpack_from_the_low_bits() {
        let dtype = DType::Mini(crate::data::dtype::Mini::F4E2M1);
        let array = Plain::new(Source::memory("a", vec![0x21, 0x43, 0x05]), 0, dtype, vec![5]).unwrap();
        let region = Region(vec![Span { start: 1, count: 2, step: 2 }]);
        assert_eq!(read(&array, &Task::new(), &region).unwrap(), [2, 4]);
    }

    proptest! {
        #[test]
        fn of_a_file_that_is_cut_off_what_is_there_is_read(
            dims in prop::collection::vec((1u64..5, 0u64..5, 1u64..5, 1u64..3), 0..4), cut in 0usize..140, seed in 0usize..24,
        ) {
            let shape: Vec<u64> = dims.iter().map(|d| d.0).collect();
            let spans: Vec<Span> = dims.iter().map(|&(len, a, b, step)| {
                let start = a.min(len - 1);
                Span { start, count: b.min(len - start).div_ceil(step), step }
            }).collect();
            let region = Region(spans);
            let axes = order(shape.len(), seed);
            let total = shape.iter().product::<u64>() as usize;
            // Every element is its number, from 1 on, in the file's order.
            let all: Vec<u8> = (1..=total as u16).flat_map(u16::to_le_bytes).collect();
            let task = Task::new();
            let whole = Plain::new(Source::memory("a", all.clone()), 0, DType::U16, shape.clone()).unwrap().axes(axes.clone());
            let there = cut.min(all.len());
            let part = Plain::cut(Source::memory("a", all[..there].to_vec()), 0, DType::U16, shape).unwrap().axes(axes);
            prop_assert_eq!(part.missing().is_some(), there < all.len());
            let wanted = read(&whole, &task, &region).unwrap();
            let mut got = vec![0xff; wanted.len()];
            let gaps = part.read_lenient(&task, &region, &mut got).unwrap();
            let expected: Vec<u16> = wanted.as_chunks::<2>().0.iter().map(|b| u16::from_le_bytes(*b))
                .map(|n| if usize::from(n) * 2 <= there { n } else { 0 }).collect();
            let got: Vec<u16> = got.as_chunks::<2>().0.iter().map(|b| u16::from_le_bytes(*b)).collect();
            prop_assert_eq!(&got, &expected);
            let missing = expected.iter().filter(|n| **n == 0).count() as u64;
            prop_assert_eq!(gaps.iter().map(|gap| gap.part.elements().unwrap()).sum::<u64>(), missing);
            prop_assert_eq!(read(&part, &task, &region).is_ok(), missing == 0);
        }
    }

    #[test]
    fn of_a_file_that_is_cut_off_the_whole_slices_stay() {
        let within = |len: usize, shape: &[u64], fortran: bool| {
            let source = Source::memory("a", (0..len as u8).collect::<Vec<u8>>());
            let (plain, problem) = Plain::within(source, 1, DType::U8, shape.to_vec(), fortran).unwrap();
            let values = read(&plain, &Task::new(), &Region::all(plain.shape()));
            (plain.shape().to_vec(), values.ok(), problem.map(|error| error.message()))
        };
        assert_eq!(within(7, &[3, 2], false), (vec![3, 2], Some(vec![1, 2, 3, 4, 5, 6]), None));
        let (shape, values, problem) = within(6, &[3, 2], false);
        assert_eq!((shape, values), (vec![2, 2], Some(vec![1, 2, 3, 4])));
        assert!(problem.unwrap().contains("shape [3, 2] of uint8 needs 6 bytes, 5 are there"));
        let (shape, values, problem) = within(6, &[3, 2], true);
        assert_eq!((shape, values, problem.is_some()), (vec![3, 1], Some(vec![1, 2, 3]), true));
        assert_eq!(within(1, &[0, 2], false), (vec![0, 2], Some(vec![]), None));
        for (len, shape) in [(2, vec![3, 2]), (1, vec![])] {
            let source = Source::memory("a", vec![0; len]);
            let error = Plain::within(source, 1, DType::U8, shape, false).err().unwrap();
            assert!(error.message().contains("are there; the file may be cut off"), "{error}");
        }
    }

    #[test]
    fn an_array_longer_than_its_file_is_refused() {
        let error = Plain::new(Source::memory("a", vec![0; 7]), 4, DType::F32, vec![1]).err().unwrap();
        assert!(error.to_string().contains("4 bytes, 3 are there"), "{error}");
        assert!(Plain::new(Source::memory("a", vec![]), 0, DType::F64, vec![1 << 62, 1 << 62]).is_err());
    }
}
