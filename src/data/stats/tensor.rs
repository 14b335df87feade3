//! What one pass over a tensor tells of it as weights: elements that are no numbers, zero, subnormal or the largest that
//! their type has, how they spread, rows and columns of zeros, a hash of the content.
//!
//! Elements of up to 16 bits are counted by their bits, and the table of counts tells all else exactly. Of wider ones
//! counts, extremes and moments are exact; quantiles come from a sample that is counted by the upper half of its
//! single-precision bits, which is one part in 128.

mod tally;
mod zeros;

use self::tally::{Tallied, Tally};
use self::zeros::Alive;
use super::floats::{self, Floats};
use super::{Moments, blocks::blocks};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::content::Array;
use crate::data::dtype::DType;
use crate::data::region::{Region, Span, pieces};
use rayon::prelude::*;
use xxhash_rust::xxh3::xxh3_128;

pub use self::tally::{Distribution, Quantiles};
pub use self::zeros::ZeroLines;

/// Bytes that are gone through at a time: they stay in the second cache while each of the loops goes over them.
const PIECE: u64 = 256 << 10;
/// Pieces that one worker takes at least: each has tables of its own.
const PIECES_EACH: usize = 16;
/// The most bytes of a band of rows: a piece has whole rows, and of arrays in chunks whole chunks.
const BAND: u64 = 64 << 20;
/// The most pieces: what has more is a shape that nothing stands behind.
const PIECES: u64 = 1 << 24;

/// What one pass over a tensor tells.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TensorStats {
    /// Elements.
    pub count: u64,
    /// Elements that are not a number (a complex one counts for each of its parts).
    pub nan: u64,
    /// Elements that are infinite.
    pub infinite: u64,
    /// Elements that are zero, of either sign.
    pub zeros: u64,
    /// Elements that are so small that they have fewer digits than the type's others; of floats of 16 bits and more.
    pub subnormal: u64,
    /// Elements whose magnitude is the largest finite one of the type; of floats that are not quantised in blocks.
    pub saturated: u64,
    /// The least finite element.
    pub min: Option<f64>,
    /// The greatest finite element.
    pub max: Option<f64>,
    /// The mean of the finite elements.
    pub mean: Option<f64>,
    /// Their standard deviation (of the population).
    pub std: Option<f64>,
    /// The square root of the sum of their squares.
    pub norm: Option<f64>,
    /// How the finite elements are distributed; `None` where there are none.
    pub distribution: Option<Distribution>,
    /// Rows (along the first axis) of zeros; `None` for fewer than two axes.
    pub zero_rows: Option<ZeroLines>,
    /// Columns (along the second axis) of zeros; `None` for fewer than two axes, and for rows of very many elements.
    pub zero_columns: Option<ZeroLines>,
    /// A hash of the elements: of tensors of one type and shape, equal where all elements are, bit for bit.
    pub hash: u128,
}

impl TensorStats {
    /// Whether all elements are one and the same number.
    pub fn is_constant(&self) -> bool {
        self.nan + self.infinite == 0 && self.min.is_some() && self.min == self.max
    }

    /// The root mean square of the finite elements.
    pub fn rms(&self) -> Option<f64> {
        let finite = self.count.saturating_sub(self.nan + self.infinite);
        self.norm.filter(|_| finite > 0).map(|norm| norm / (finite as f64).sqrt())
    }
}

/// How elements are gone through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Path {
    /// Counted by their bits: one byte, two bytes.
    Bits8,
    Bits16,
    /// Measured as single- or double-precision numbers as they lie there; complex ones as two.
    F32,
    F64,
    /// Decoded first.
    Decoded,
}

/// How elements of a type are gone through; `None` for those that are no numbers.
fn path(dtype: &DType) -> Option<Path> {
    Some(match dtype {
        DType::Bool | DType::I8 | DType::U8 | DType::Mini(_) => Path::Bits8,
        DType::I16 | DType::U16 | DType::F16 | DType::BF16 | DType::C32 => Path::Bits16,
        DType::F32 | DType::C64 | DType::Blocks(_) => Path::F32,
        DType::F64 | DType::C128 => Path::F64,
        DType::I32 | DType::U32 | DType::I64 | DType::U64 | DType::Long(_) => Path::Decoded,
        DType::Bytes(_)
        | DType::Str(_)
        | DType::Void(_)
        | DType::DateTime(_)
        | DType::TimeDelta(_)
        | DType::Struct(_)
        | DType::Variable(_) => return None,
    })
}

/// The type of the parts of a complex type, and of what blocks deliver; any other type itself.
fn part(dtype: &DType) -> DType {
    match dtype {
        DType::C32 => DType::F16,
        DType::C64 | DType::Blocks(_) => DType::F32,
        DType::C128 => DType::F64,
        other => other.clone(),
    }
}

/// Whether a tensor has numbers that [`tensor`] goes through.
pub fn has_tensor_stats(dtype: &DType) -> bool {
    path(dtype).is_some()
}

/// The largest finite magnitude of a type of floats, and the least that has all digits, where that means something.
pub fn float_range(dtype: &DType) -> (Option<f64>, Option<f64>) {
    match dtype {
        DType::F16 | DType::C32 => (Some(65504.0), Some(2f64.powi(-14))),
        DType::BF16 => (Some(half::bf16::MAX.to_f64()), Some(f64::from(f32::MIN_POSITIVE))),
        DType::F32 | DType::C64 => (Some(f64::from(f32::MAX)), Some(f64::from(f32::MIN_POSITIVE))),
        DType::F64 | DType::C128 => (Some(f64::MAX), Some(f64::MIN_POSITIVE)),
        DType::Mini(kind) => {
            let finite = kind.table().iter().copied().filter(|value| value.is_finite());
            (Some(f64::from(finite.fold(0f32, f32::max))), None)
        }
        _ => (None, None),
    }
}

/// Goes once through all elements of a tensor, on all cores.
///
/// # Errors
/// `Unsupported` for elements that are no numbers; those of reading; `Limit` for shapes that nothing stands behind.
pub fn tensor(array: &dyn Array, task: &Task) -> Result<TensorStats> {
    let dtype = array.dtype();
    let Some(path) = path(dtype) else {
        return Err(Error::unsupported(format!("statistics of weights of the type {dtype}")));
    };
    if let Some(passes) = array.passes() {
        return passes.tensor(task);
    }
    let regions = bands(array)?;
    let each = |mut pass: Pass, (n, region): (usize, &Region)| {
        pass.add(array, task, n, region)?;
        Ok(pass)
    };
    let passes: Vec<Pass> = regions
        .par_iter()
        .enumerate()
        .with_min_len(PIECES_EACH)
        .try_fold(|| Pass::new(array, path), each)
        .collect::<Result<_>>()?;
    let mut total = Pass::new(array, path);
    passes.into_iter().for_each(|pass| total.merge(pass));
    Ok(total.finish(array))
}

/// The regions of a pass: whole rows where a band of them is not too large.
pub(super) fn bands(array: &dyn Array) -> Result<Vec<Region>> {
    let (shape, size) = (array.shape(), array.dtype().size().max(1));
    if shape.contains(&0) {
        // There may be very many rows of nothing.
        return Ok(Vec::new());
    }
    let bytes = limits::bytes(shape, size)?;
    if bytes / PIECE > PIECES {
        return Err(Error::limit(format!("a pass over {}", crate::bytes::display::bytes(bytes))));
    }
    let chunks = array.facts().chunks;
    let (Some(&rows), Some(inner)) = (shape.first(), shape.get(1..)) else {
        return Ok(pieces(shape, PIECE / size).collect());
    };
    let row = limits::bytes(inner, size)?;
    let chunk = chunks.as_ref().and_then(|chunks| chunks.first()).copied().unwrap_or(1).max(1);
    let band = (PIECE / row.max(1)).max(1).div_ceil(chunk).saturating_mul(chunk);
    if band.min(rows).saturating_mul(row) > BAND {
        return Ok(blocks(shape, chunks.as_deref(), size, PIECE));
    }
    let part = |start: u64| {
        let first = Span::range(start, band.min(rows - start));
        Region(std::iter::once(first).chain(inner.iter().map(|&side| Span::all(side))).collect())
    };
    Ok((0..rows).step_by(band as usize).map(part).collect())
}

/// What some pieces tell.
struct Pass {
    path: Path,
    buffer: Vec<u8>,
    tally: Tally,
    floats: Option<Floats>,
    subnormal: u64,
    saturated: u64,
    alive: Alive,
    /// Of each piece its place among them, and its hash.
    hashes: Vec<(usize, u128)>,
}

impl Pass {
    fn new(array: &dyn Array, path: Path) -> Self {
        let elements = limits::elements(array.shape()).unwrap_or(u64::MAX);
        Pass {
            path,
            buffer: Vec::new(),
            tally: Tally::new(path, &part(array.dtype()), elements),
            floats: None,
            subnormal: 0,
            saturated: 0,
            alive: Alive::new(array),
            hashes: Vec::new(),
        }
    }

    /// Reads a piece and goes through it.
    fn add(&mut self, array: &dyn Array, task: &Task, number: usize, region: &Region) -> Result<()> {
        task.check()?;
        let dtype = array.dtype();
        let bytes = limits::bytes(&region.shape(), dtype.size())?;
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.resize(limits::check(bytes, limits::CHUNK, "a part of the tensor")?, 0);
        array.read(task, region, &mut buffer)?;
        task.advance(bytes)?;
        self.measure(dtype, number, region, &buffer);
        self.buffer = buffer;
        Ok(())
    }

    fn measure(&mut self, dtype: &DType, number: usize, region: &Region, bytes: &[u8]) {
        self.hashes.push((number, xxh3_128(bytes)));
        let zeros =
            |pass: &Self| pass.floats.as_ref().map(|floats| floats.zeros).or_else(|| pass.tally.zeros());
        let before = zeros(self).unwrap_or_default();
        self.count(dtype, bytes);
        let zeros = zeros(self).map(|after| after.saturating_sub(before));
        self.alive.add(region, bytes, zeros);
    }

    fn count(&mut self, dtype: &DType, bytes: &[u8]) {
        match self.path {
            Path::Bits8 | Path::Bits16 => self.tally.count(&part(dtype), bytes),
            Path::F32 => {
                self.small_and_large32(bytes);
                self.tally.sample32(bytes);
                self.measured(floats::measure::<4, f32>(bytes, f32::from_le_bytes));
            }
            Path::F64 => {
                let (least, most) = (f64::MIN_POSITIVE.to_bits(), f64::MAX.to_bits());
                for &element in bytes.as_chunks::<8>().0 {
                    let magnitude = u64::from_le_bytes(element) & (u64::MAX >> 1);
                    self.subnormal += u64::from(magnitude != 0 && magnitude < least);
                    self.saturated += u64::from(magnitude == most);
                }
                self.tally.sample64(bytes.as_chunks::<8>().0.iter().map(|&b| f64::from_le_bytes(b)));
                self.measured(floats::measure::<8, f64>(bytes, f64::from_le_bytes));
            }
            Path::Decoded => {
                let mut values = Vec::new();
                dtype.decode(bytes, &mut values);
                self.tally.sample64(values.iter().copied());
                let bytes = bytemuck::cast_slice(&values);
                self.measured(floats::measure::<8, f64>(bytes, f64::from_ne_bytes));
            }
        }
    }

    fn small_and_large32(&mut self, bytes: &[u8]) {
        let (least, most) = (f32::MIN_POSITIVE.to_bits(), f32::MAX.to_bits());
        for block in bytes.as_chunks::<4>().0.chunks(4096) {
            let (mut subnormal, mut saturated) = (0u32, 0u32);
            for &element in block {
                let magnitude = u32::from_le_bytes(element) & (u32::MAX >> 1);
                subnormal += u32::from(magnitude.wrapping_sub(1) < least - 1);
                saturated += u32::from(magnitude == most);
            }
            self.subnormal += u64::from(subnormal);
            self.saturated += u64::from(saturated);
        }
    }

    fn measured(&mut self, more: Floats) {
        self.floats = Some(match self.floats.take() {
            None => more,
            Some(so_far) => so_far.merge(more),
        });
    }

    fn merge(&mut self, other: Pass) {
        self.tally.merge(other.tally);
        if let Some(floats) = other.floats {
            self.measured(floats);
        }
        self.subnormal += other.subnormal;
        self.saturated += other.saturated;
        self.alive.merge(&other.alive);
        self.hashes.extend(other.hashes);
    }

    fn finish(mut self, array: &dyn Array) -> TensorStats {
        self.hashes.sort_unstable_by_key(|(number, _)| *number);
        let hashes: Vec<u8> = self.hashes.iter().flat_map(|(_, hash)| hash.to_le_bytes()).collect();
        let (zero_rows, zero_columns) = self.alive.finish(array);
        let tallied = self.tally.finish(&part(array.dtype()));
        let mut stats = TensorStats {
            count: limits::elements(array.shape()).unwrap_or_default(),
            distribution: tallied.distribution(),
            zero_rows,
            zero_columns,
            hash: xxh3_128(&hashes),
            ..TensorStats::default()
        };
        match self.floats {
            Some(floats) => {
                stats.nan = floats.nan;
                stats.infinite = floats.inf;
                stats.zeros = floats.zeros;
                (stats.subnormal, stats.saturated) = (self.subnormal, self.saturated);
                if float_range(array.dtype()).0.is_none() {
                    (stats.subnormal, stats.saturated) = (0, 0);
                }
                let some = floats.moments.count > 0;
                (stats.min, stats.max) = (some.then_some(floats.low), some.then_some(floats.high));
                stats.moments(&floats.moments);
            }
            None => stats.counted(&tallied, array.dtype()),
        }
        stats
    }
}

impl TensorStats {
    /// What the moments of the finite elements tell.
    fn moments(&mut self, moments: &Moments) {
        self.mean = moments.mean();
        self.std = moments.std();
        let (n, mean) = (moments.count as f64, moments.mean);
        self.norm = (moments.count > 0).then(|| (moments.squares + n * mean * mean).sqrt());
    }

    /// What exact counts of all values tell.
    fn counted(&mut self, tallied: &Tallied, dtype: &DType) {
        (self.nan, self.infinite) = (tallied.nan, tallied.infinite);
        let (most, least) = float_range(dtype);
        let mut moments = Moments::default();
        for &(value, count) in &tallied.finite {
            let magnitude = value.abs();
            if value == 0.0 {
                self.zeros += count;
            } else if least.is_some_and(|least| magnitude < least) {
                self.subnormal += count;
            }
            if most == Some(magnitude) {
                self.saturated += count;
            }
            let sum = value * count as f64;
            moments = moments.merge(Moments { count, mean: value, squares: 0.0, sum });
        }
        self.min = tallied.finite.first().map(|(value, _)| *value);
        self.max = tallied.finite.last().map(|(value, _)| *value);
        self.moments(&moments);
    }
}

/// The first element, in C order, that `wanted` accepts, by its index; and how many there are, where `all` of them are to
/// be counted.
///
/// # Errors
/// Those of reading; `Unsupported` for elements that are no numbers.
pub fn first_element(
    array: &dyn Array,
    task: &Task,
    all: bool,
    wanted: impl Fn(f64) -> bool + Sync,
) -> Result<(Option<Vec<u64>>, u64)> {
    let (dtype, shape) = (array.dtype(), array.shape());
    let (part, parts) = (part(dtype), if dtype.is_complex() { 2 } else { 1 });
    let (mut buffer, mut values) = (Vec::new(), Vec::new());
    let (mut first, mut count) = (None, 0);
    for region in pieces(shape, PIECE * 4 / dtype.size().max(1)) {
        task.check()?;
        let bytes = limits::bytes(&region.shape(), dtype.size())?;
        buffer.resize(limits::check(bytes, limits::CHUNK, "a part of the tensor")?, 0);
        array.read(task, &region, &mut buffer)?;
        values.clear();
        part.decode(&buffer, &mut values);
        if first.is_none()
            && let Some(at) = values.iter().position(|&value| wanted(value))
        {
            let inside = crate::bytes::strides::unravel((at / parts) as u64, &region.shape());
            first = Some(region.0.iter().zip(inside).map(|(span, n)| span.index(n)).collect());
            if !all {
                return Ok((first, 1));
            }
        }
        if first.is_some() {
            count += values.iter().filter(|&&value| wanted(value)).count() as u64;
        }
    }
    Ok((first, count))
}

#[cfg(test)]
mod tests;
