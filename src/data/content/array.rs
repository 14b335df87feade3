//! Arrays: elements of one type in n dimensions, read by region in C order, little-endian.

use super::Layout;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::adapt;
use crate::data::cf::Times;
use crate::data::dtype::{DType, swap_to_little};
use crate::data::region::{Region, Span};
use arrow::array::ArrayRef;
use std::sync::Arc;

/// An array. `read` is the only access to values.
pub trait Array: Send + Sync {
    /// The type of one element.
    fn dtype(&self) -> &DType;

    /// The length of each dimension, slowest first; empty for a scalar.
    fn shape(&self) -> &[u64];

    /// Fills `out` with the elements of `region`, in C order, little-endian, without gaps; `out` is
    /// exactly `region.elements() × dtype.size()` bytes long.
    fn read(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<()>;

    /// The element that all of `region` is, where it is known without reading that nothing of it is stored: a
    /// pass over a large array with few chunks need not go through what is not there.
    fn unstored(&self, _task: &Task, _region: &Region) -> Result<Option<Vec<u8>>> {
        Ok(None)
    }

    /// The regions of which the file holds something, apart from each other, where that is known without reading
    /// values: all other elements are equal, and a pass counts them without going through them. May read an index.
    fn stored(&self, _task: &Task) -> Result<Option<Stored>> {
        Ok(None)
    }

    /// What is known of its storage without reading values.
    fn facts(&self) -> ArrayFacts {
        ArrayFacts::default()
    }

    /// The elements of `region` as an Arrow column, one row an element in C order: the way to elements of
    /// [`DType::Variable`], whose `read` gives no bytes. Others are converted as [`adapt::column`] does.
    ///
    /// # Errors
    /// As `read`; `Limit` for more than [`limits::READ`] bytes.
    fn column(&self, task: &Task, region: &Region) -> Result<ArrayRef> {
        column_of_bytes(self, task, region)
    }

    /// As `read`, but a part of the file that cannot be read leaves its elements at the fill value (or zero)
    /// and is listed, so that its neighbours can be shown.
    ///
    /// # Errors
    /// `Cancelled`, and what concerns all of it; for arrays without parts all that `read` gives.
    fn read_lenient(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<Vec<Gap>> {
        self.read(task, region, out)?;
        Ok(Vec::new())
    }

    /// Its blocks in the file. May read an index of chunks, so it takes a task.
    fn layout(&self, _task: &Task) -> Result<Layout> {
        Ok(Layout::default())
    }

    /// Decodes the chunks of `region` into the cache, where there is one: what a view will probably ask for
    /// next. Failures are not reported; the read that follows does.
    fn prefetch(&self, _task: &Task, _region: &Region) {}
}

/// What of an array the file holds, and what all the rest is.
#[derive(Clone, Debug, Default)]
pub struct Stored {
    /// The regions that are there; no two have an element in common.
    pub regions: Vec<Region>,
    /// Any other element, as [`Array::read`] delivers it; `None` for elements without a fixed size.
    pub element: Option<Vec<u8>>,
    /// Any other element of [`DType::Variable`]: a column of one row; `None` for null.
    pub row: Option<ArrayRef>,
}

impl Stored {
    /// How many elements the regions have.
    pub fn elements(&self) -> u64 {
        let count = |region: &Region| region.elements().unwrap_or(u64::MAX);
        self.regions.iter().fold(0u64, |all, region| all.saturating_add(count(region)))
    }
}

/// A part of what was read that could not be read.
#[derive(Clone, Debug)]
pub struct Gap {
    /// Where it lies in the result: indices of the region that was asked for, not of the array.
    pub part: Region,
    /// Why.
    pub error: Error,
}

/// What is known of an array's storage.
#[derive(Clone, Debug, Default)]
pub struct ArrayFacts {
    /// The shape of one chunk, where the array is chunked.
    pub chunks: Option<Vec<u64>>,
    /// Compression codecs and filters, in the order of writing.
    pub codecs: Vec<String>,
    /// The stored byte order, where it matters.
    pub byte_order: Option<&'static str>,
    /// Bytes in the file.
    pub bytes_stored: Option<u64>,
    /// Further lines for the inspector: name and value (`order`, `file`, `offset`).
    pub details: Vec<(String, String)>,
    /// The unit of the values, as the file spells it (`K`, `m s-1`).
    pub unit: Option<String>,
    /// How values are read where they count time from a date.
    pub times: Option<Times>,
    /// What each dimension is: one a dimension, or empty where nothing is known.
    pub axes: Vec<Axis>,
    /// What whole indices stand for, where the axes cannot tell it one by one.
    pub world: Option<Arc<dyn World>>,
    /// What stored values mean, where that is another number.
    pub scaling: Option<Scaling>,
    /// The names of values, for enumerations and flags.
    pub value_names: Vec<(i64, String)>,
}

/// One dimension of an array: its name and what its indices stand for.
#[derive(Clone, Default)]
pub struct Axis {
    /// The dimension's name (`time`, `lat`, `c`); empty where it has none.
    pub name: String,
    /// The unit of its coordinates.
    pub unit: Option<String>,
    /// The values along it: one dimension, as long as the axis. Text, numbers or counts of time.
    pub coordinate: Option<Arc<dyn Array>>,
    /// Coordinates that are a start and a step, where no array holds them.
    pub regular: Option<(f64, f64)>,
    /// How the coordinates are read where they count time from a date.
    pub times: Option<Times>,
}

impl std::fmt::Debug for Axis {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Axis").field("name", &self.name).field("unit", &self.unit).finish_non_exhaustive()
    }
}

/// What whole indices stand for where no axis tells it alone: places on the sky in a projection.
pub trait World: Send + Sync + std::fmt::Debug {
    /// Name, value and unit of each coordinate of an element; none where the projection does not reach.
    fn at(&self, index: &[u64]) -> Vec<(String, f64, String)>;
}

/// Stored values stand for `stored × scale + offset`, except those that stand for nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Scaling {
    /// The factor; 1 where there is none.
    pub scale: f64,
    /// What is added; 0 where there is nothing.
    pub offset: f64,
    /// Stored values that mean *missing* (`_FillValue`, `missing_value`, `BLANK`).
    pub fill: Vec<f64>,
    /// Stored values outside of it mean *missing* (`valid_min`, `valid_max`, `valid_range`).
    pub valid: Option<(f64, f64)>,
}

impl Scaling {
    /// What a stored value stands for; NaN for a missing one.
    pub fn apply(&self, stored: f64) -> f64 {
        let outside = self.valid.is_some_and(|(low, high)| stored < low || stored > high);
        if outside || self.fill.contains(&stored) { f64::NAN } else { stored * self.scale + self.offset }
    }

    /// Whether values stay the numbers that are stored, and only missing ones are marked.
    pub fn is_identity(&self) -> bool {
        (self.scale, self.offset) == (1.0, 0.0)
    }
}

/// `stored × 0.01; plus 273.15; -32768 missing`.
impl std::fmt::Display for Scaling {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let number = |value: f64| crate::data::cell::float64(value).trim_end_matches(".0").to_owned();
        let mut words = Vec::new();
        if self.scale != 1.0 {
            words.push(format!("stored × {}", number(self.scale)));
        }
        if self.offset != 0.0 {
            words.push(format!("plus {}", number(self.offset)));
        }
        if !self.fill.is_empty() {
            let fill: Vec<String> = self.fill.iter().take(4).map(|value| number(*value)).collect();
            words.push(format!("{} missing", fill.join(", ")));
        }
        if let Some((low, high)) = self.valid {
            words.push(format!("valid {} to {}", number(low), number(high)));
        }
        f.write_str(&words.join("; "))
    }
}

/// [`Array::column`] for elements that `read` gives.
///
/// # Errors
/// As `read`; `Limit` for more than [`limits::READ`] bytes.
pub fn column_of_bytes<A: Array + ?Sized>(array: &A, task: &Task, region: &Region) -> Result<ArrayRef> {
    region.check(array.shape())?;
    let count = region.elements()?;
    let bytes = limits::check(limits::bytes(&[count], array.dtype().size())?, limits::READ, "this part")?;
    let mut out = limits::zeroed(bytes, "the array")?;
    array.read(task, region, &mut out)?;
    adapt::column(array.dtype(), &[], &out, limits::check(count, u64::MAX, "this part")?)
}

/// Reads `region` with [`Array::read_lenient`] into a fresh buffer of at most [`limits::READ`] bytes.
pub fn read_lenient(array: &dyn Array, task: &Task, region: &Region) -> Result<(Vec<u8>, Vec<Gap>)> {
    region.check(array.shape())?;
    let bytes = limits::bytes(&region.shape(), array.dtype().size())?;
    let mut out = limits::zeroed(limits::check(bytes, limits::READ, "this part of the array")?, "the array")?;
    let gaps = array.read_lenient(task, region, &mut out)?;
    Ok((out, gaps))
}

/// Reads `region` into a fresh buffer of at most [`limits::READ`] bytes.
pub fn read(array: &dyn Array, task: &Task, region: &Region) -> Result<Vec<u8>> {
    region.check(array.shape())?;
    let bytes = limits::bytes(&region.shape(), array.dtype().size())?;
    let mut out = limits::zeroed(limits::check(bytes, limits::READ, "this part of the array")?, "the array")?;
    array.read(task, region, &mut out)?;
    Ok(out)
}

/// An array that lies uncompressed in a source: NPY, safetensors, NetCDF classic, raw files.
pub struct Plain {
    source: Source,
    offset: u64,
    dtype: DType,
    shape: Vec<u64>,
    big_endian: bool,
    /// Distance in elements between neighbours along each dimension: C or Fortran order.
    strides: Vec<u64>,
    fortran: bool,
    /// How many elements are there, where the file is cut off.
    there: Option<u64>,
    facts: ArrayFacts,
}

/// Runs that lie nearer to each other than this, on average, are read together,
const GAP: u64 = 4 << 10;
/// as long as all of them are not more than this.
const TOGETHER: u64 = 8 << 20;

impl Plain {
    /// An array of `dtype` and `shape` at `offset` of `source`. Its bytes must be there.
    ///
    /// # Errors
    /// `Malformed` where shape and type overflow or reach beyond the source.
    pub fn new(source: Source, offset: u64, dtype: DType, shape: Vec<u64>) -> Result<Self> {
        let plain = Self::cut(source, offset, dtype, shape)?;
        match plain.lack() {
            Some(error) => Err(error),
            None => Ok(plain),
        }
    }

    /// The same, but where the file is cut off its elements beyond the end fail when they are read, and no
    /// others; [`Plain::lack`] says so.
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
        let strides = strides(&shape, false);
        let facts = ArrayFacts { bytes_stored: Some(stored), ..ArrayFacts::default() };
        Ok(Plain { source, offset, dtype, shape, big_endian: false, strides, fortran: false, there, facts })
    }

    /// How many elements are there, in the file's order; `None` where all are.
    pub fn there(&self) -> Option<u64> {
        self.there
    }

    /// What is to be said where not all of its bytes are there.
    pub fn lack(&self) -> Option<Error> {
        self.there?;
        let (shape, dtype) = (&self.shape, &self.dtype);
        let bytes = limits::elements(shape).and_then(|elements| packed_bytes(elements, dtype)).unwrap_or(0);
        let there = self.source.known_len().unwrap_or(0).saturating_sub(self.offset);
        Some(Error::malformed(format!(
            "array: shape {shape:?} of {dtype} needs {bytes} bytes, {there} are there; the file may be cut off"
        ))
        .at(self.offset))
    }

    /// Fails where a region reaches beyond what is there.
    fn reaches(&self, region: &Region) -> Result<()> {
        let Some(there) = self.there else { return Ok(()) };
        let last = |span: &Span| span.index(span.count.saturating_sub(1));
        let ends =
            region.0.iter().zip(&self.strides).map(|(span, stride)| last(span).saturating_mul(*stride));
        let missing = ends.fold(0u64, u64::saturating_add) >= there;
        self.lack().filter(|_| missing).map_or(Ok(()), Err)
    }

    /// Stored big-endian.
    pub fn big_endian(mut self, big: bool) -> Self {
        self.big_endian = big;
        self
    }

    /// Stored in Fortran order (first dimension fastest).
    pub fn fortran(mut self, fortran: bool) -> Self {
        // One dimension or none is the same in both orders, and the C path reads faster.
        self.fortran = fortran && self.shape.len() > 1;
        self.strides = strides(&self.shape, self.fortran);
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

    /// Reads `count` elements that lie `stride` elements apart, `stride` 1 in one go.
    fn run(&self, task: &Task, first: u64, stride: u64, out: &mut [u8]) -> Result<()> {
        let size = self.dtype.size();
        if self.dtype.bits() < 8 {
            return self.unpack(task, first, stride, out);
        }
        if stride == 1 || out.len() as u64 <= size {
            return self.source.read_into(task, self.offset + first * size, out);
        }
        let count = out.len() as u64 / size;
        // Near elements are cheaper read through than one by one.
        let span = (count - 1) * stride + 1;
        let bytes =
            self.source.read(task, self.offset + first * size..self.offset + (first + span) * size)?;
        let (size, step) = (size as usize, (stride * size) as usize);
        for (element, from) in out.chunks_exact_mut(size).zip(bytes.chunks(step)) {
            element.copy_from_slice(&from[..size]);
        }
        Ok(())
    }

    /// Elements under a byte: packed from the low bits upwards, delivered one a byte.
    fn unpack(&self, task: &Task, first: u64, stride: u64, out: &mut [u8]) -> Result<()> {
        let bits = self.dtype.bits();
        let count = out.len() as u64;
        if count == 0 {
            return Ok(());
        }
        let last = first + (count - 1) * stride;
        let start = first * bits / 8;
        let packed =
            self.source.read(task, self.offset + start..self.offset + (last * bits + bits).div_ceil(8))?;
        let mask = (1u16 << bits) - 1;
        for (n, element) in out.iter_mut().enumerate() {
            let bit = (first + n as u64 * stride) * bits - start * 8;
            let (byte, shift) = ((bit / 8) as usize, bit % 8);
            let low = packed.get(byte).copied().unwrap_or(0);
            let high = packed.get(byte + 1).copied().unwrap_or(0);
            *element = ((u16::from_le_bytes([low, high]) >> shift) & mask) as u8;
        }
        Ok(())
    }

    /// The region, dimension by dimension; the innermost dimensions that are contiguous in the file
    /// are read in one run, and runs that lie near each other with what is between them.
    fn walk(&self, task: &Task, spans: &[Span], axis: usize, first: u64, out: &mut [u8]) -> Result<()> {
        let size = self.dtype.size();
        let Some(span) = spans.get(axis) else {
            return self.run(task, first, 1, out);
        };
        let start = first + span.start * self.strides[axis];
        let whole = |i: usize| spans[i].step == 1 && spans[i].count == self.shape[i];
        if !self.fortran && span.step == 1 && (axis + 1..spans.len()).all(whole) {
            return self.run(task, start, 1, out);
        }
        if axis + 1 == spans.len() {
            return self.run(task, start, span.step * self.strides[axis], out);
        }
        if let Some(extent) = self.near(&spans[axis..], axis) {
            let first = first + (axis..spans.len()).map(|i| spans[i].start * self.strides[i]).sum::<u64>();
            let bytes =
                self.source.read(task, self.offset + first * size..self.offset + (first + extent) * size)?;
            self.gather(&bytes, &spans[axis..], axis, 0, out);
            return Ok(());
        }
        let inner = out.len() as u64 / span.count.max(1);
        for (n, part) in out.chunks_exact_mut((inner.max(size)) as usize).enumerate() {
            task.check()?;
            self.walk(task, spans, axis + 1, start + n as u64 * span.step * self.strides[axis], part)?;
        }
        Ok(())
    }

    /// The elements from the first to the last of a region, where reading all of them is cheaper than a read
    /// for each run.
    fn near(&self, spans: &[Span], axis: usize) -> Option<u64> {
        let (mut extent, mut runs) = (1u64, 1u64);
        for (i, span) in spans.iter().enumerate() {
            let stride = span.step.saturating_mul(self.strides[axis + i]);
            extent = extent.saturating_add(span.count.checked_sub(1)?.saturating_mul(stride));
            runs = runs.saturating_mul(if i + 1 < spans.len() { span.count } else { 1 });
        }
        let bytes = extent.saturating_mul(self.dtype.size());
        let near = self.dtype.bits() >= 8 && bytes <= TOGETHER && bytes <= runs.saturating_mul(GAP);
        near.then_some(extent)
    }

    /// Copies a region out of the bytes that hold it from its first element on.
    fn gather(&self, bytes: &[u8], spans: &[Span], axis: usize, first: u64, out: &mut [u8]) {
        let size = self.dtype.size();
        let Some((span, inner)) = spans.split_first() else { return };
        let stride = span.step * self.strides[axis];
        if inner.is_empty() {
            let at = (first * size) as usize;
            if stride == 1 {
                out.copy_from_slice(&bytes[at..at + out.len()]);
                return;
            }
            for (n, element) in out.chunks_exact_mut(size as usize).enumerate() {
                let at = at + n * (stride * size) as usize;
                element.copy_from_slice(&bytes[at..at + size as usize]);
            }
            return;
        }
        let part = out.len() / span.count.max(1) as usize;
        for (n, part) in out.chunks_exact_mut(part.max(1)).enumerate() {
            self.gather(bytes, inner, axis + 1, first + n as u64 * stride, part);
        }
    }

    /// A Fortran-order region: read in the file's order, then transposed in memory.
    fn walk_fortran(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<()> {
        let reversed = Plain {
            source: self.source.clone(),
            offset: self.offset,
            dtype: self.dtype.clone(),
            shape: self.shape.iter().rev().copied().collect(),
            big_endian: false,
            strides: self.strides.iter().rev().copied().collect(),
            fortran: false,
            there: None,
            facts: ArrayFacts::default(),
        };
        let spans: Vec<Span> = region.0.iter().rev().copied().collect();
        let mut stored = limits::zeroed(out.len(), "a part in Fortran order")?;
        reversed.walk(task, &spans, 0, 0, &mut stored)?;
        transpose(&stored, out, &region.shape(), self.dtype.size() as usize);
        Ok(())
    }
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
        if self.fortran {
            self.walk_fortran(task, region, out)?;
        } else {
            self.walk(task, &region.0, 0, 0, out)?;
        }
        if self.big_endian { swap_to_little(&self.dtype, out) } else { Ok(()) }
    }

    fn read_lenient(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<Vec<Gap>> {
        let (Some(there), Some(error)) = (self.there, self.lack()) else {
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
        for (part, is_there) in region.divided(&self.shape, there, self.fortran) {
            if is_there {
                let inner = region.0.iter().zip(&part.0).map(|(outer, part)| outer.part(part)).collect();
                paste(&read(self, task, &Region(inner))?, &part, &whole, size, out);
            } else {
                gaps.push(Gap { part, error: error.clone() });
            }
        }
        Ok(gaps)
    }

    fn facts(&self) -> ArrayFacts {
        let mut facts = self.facts.clone();
        if self.dtype.swap_unit() > 1 {
            facts.byte_order = Some(if self.big_endian { "big" } else { "little" });
        }
        facts.details.push(("order".to_owned(), if self.fortran { "Fortran" } else { "C" }.to_owned()));
        facts
    }
}

/// Bytes of `elements` packed elements of `dtype`.
pub fn packed_bytes(elements: u64, dtype: &DType) -> Result<u64> {
    elements
        .checked_mul(dtype.bits())
        .map(|bits| bits.div_ceil(8))
        .ok_or_else(|| Error::malformed(format!("array: {elements} elements of {dtype} overflow 64 bits")))
}

/// Element distances in C or Fortran order; saturating, since an empty array may have huge sides.
fn strides(shape: &[u64], fortran: bool) -> Vec<u64> {
    let mut strides = vec![1; shape.len()];
    let mut product = 1u64;
    let mut set = |axis: usize| {
        strides[axis] = product;
        product = product.saturating_mul(shape[axis]);
    };
    if fortran {
        (0..shape.len()).for_each(&mut set)
    } else {
        (0..shape.len()).rev().for_each(&mut set)
    }
    strides
}

/// Puts the elements of a part, which has no steps, to their places in a whole of the shape `whole`.
fn paste(from: &[u8], part: &Region, whole: &[u64], size: usize, out: &mut [u8]) {
    let Some((last, outer)) = part.0.split_last() else {
        out.copy_from_slice(from);
        return;
    };
    let run = last.count as usize * size;
    let mut index = vec![0u64; outer.len()];
    for row in from.chunks_exact(run.max(1)) {
        let places = outer.iter().zip(&index).map(|(span, at)| span.index(*at)).chain([last.start]);
        let at = places.zip(whole).fold(0, |at, (place, side)| at * side + place) as usize * size;
        out[at..at + run].copy_from_slice(row);
        for axis in (0..index.len()).rev() {
            index[axis] += 1;
            if index[axis] < outer[axis].count {
                break;
            }
            index[axis] = 0;
        }
    }
}

/// Copies `from`, whose first dimension is fastest, into `to` in C order.
fn transpose(from: &[u8], to: &mut [u8], shape: &[u64], size: usize) {
    let source_strides = strides(shape, true);
    let mut index = vec![0u64; shape.len()];
    let mut at = 0u64;
    for element in to.chunks_exact_mut(size.max(1)) {
        let start = at as usize * size;
        element.copy_from_slice(&from[start..start + size]);
        for axis in (0..shape.len()).rev() {
            index[axis] += 1;
            at += source_strides[axis];
            if index[axis] < shape[axis] {
                break;
            }
            at -= source_strides[axis] * shape[axis];
            index[axis] = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_region_in_any_order_is_what_numpy_would_give(
            dims in prop::collection::vec((1u64..6, 0u64..6, 0u64..6, 1u64..4), 0..4), fortran: bool, big: bool,
        ) {
            let shape: Vec<u64> = dims.iter().map(|d| d.0).collect();
            let spans: Vec<Span> = dims.iter().map(|&(len, a, b, step)| {
                let start = a.min(len);
                Span { start, count: (b.min(len - start)).div_ceil(step), step }
            }).collect();
            let total: u64 = shape.iter().product();
            let places = strides(&shape, fortran);
            let bytes: Vec<u8> = (0..total as u16).flat_map(|v| if big { v.to_be_bytes() } else { v.to_le_bytes() }).collect();
            let array = Plain::new(Source::memory("a", bytes), 0, DType::U16, shape.clone()).unwrap().fortran(fortran).big_endian(big);
            let region = Region(spans.clone());
            let got = read(&array, &Task::new(), &region).unwrap();
            let mut expected = vec![0u64];
            for (axis, span) in spans.iter().enumerate() {
                expected = expected.iter().flat_map(|&at| (0..span.count).map(move |n| (at, n)))
                    .map(|(at, n)| at + span.index(n) * places[axis]).collect();
            }
            let got: Vec<u64> = got.as_chunks::<2>().0.iter().map(|&b| u64::from(u16::from_le_bytes(b))).collect();
            prop_assert_eq!(got, expected);
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
            dims in prop::collection::vec((1u64..5, 0u64..5, 1u64..5, 1u64..3), 0..4), cut in 0usize..140, fortran: bool,
        ) {
            let shape: Vec<u64> = dims.iter().map(|d| d.0).collect();
            let spans: Vec<Span> = dims.iter().map(|&(len, a, b, step)| {
                let start = a.min(len - 1);
                Span { start, count: b.min(len - start).div_ceil(step), step }
            }).collect();
            let region = Region(spans);
            let total = shape.iter().product::<u64>() as usize;
            // Every element is its number, from 1 on, in the file's order.
            let all: Vec<u8> = (1..=total as u16).flat_map(u16::to_le_bytes).collect();
            let task = Task::new();
            let whole = Plain::new(Source::memory("a", all.clone()), 0, DType::U16, shape.clone()).unwrap().fortran(fortran);
            let there = cut.min(all.len());
            let part = Plain::cut(Source::memory("a", all[..there].to_vec()), 0, DType::U16, shape).unwrap().fortran(fortran);
            prop_assert_eq!(part.lack().is_some(), there < all.len());
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
    fn an_array_longer_than_its_file_is_refused() {
        let error = Plain::new(Source::memory("a", vec![0; 7]), 4, DType::F32, vec![1]).err().unwrap();
        assert!(error.to_string().contains("4 bytes, 3 are there"), "{error}");
        assert!(Plain::new(Source::memory("a", vec![]), 0, DType::F64, vec![1 << 62, 1 << 62]).is_err());
    }
}
