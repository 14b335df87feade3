//! Statistics of an array: pieces of it — whole chunks where it has chunks —, read and summed on all cores.

mod gaps;
mod texts;

use self::gaps::take_out;
use self::texts::variable;
use super::blocks::{blocks, crc_share, crc_share_of_same};
use super::floats::{self, Float};
use super::{Binning, Counter, Histogram, Moments};
use crate::bytes::entry;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::Array;
use crate::data::content::array::{self, Scaling, Stored};
use crate::data::dtype::{DType, Long, with_integer};
use crate::data::region::{Region, pieces};
use parking_lot::Mutex;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::OnceLock;

/// Bytes read at a time by each worker: large enough to amortise a call, small enough for the cache.
const PIECE: u64 = 1 << 20;
/// Elements counted in a histogram at a time.
const COUNTED: usize = 4096;
/// Pieces of more bytes than this are read one after the other, to spare memory.
const LARGE: u64 = 64 << 20;

/// What one pass over an array tells.
#[derive(Clone, Debug, Default)]
pub struct ArrayStats {
    /// Elements.
    pub count: u64,
    /// Elements that are not a number (a complex one if either part is not).
    pub nan: u64,
    /// Infinite elements.
    pub inf: u64,
    /// Elements equal to zero.
    pub zeros: u64,
    /// The smallest finite element, as text in its own type (bool as 0 or 1; complex: of the real parts).
    pub min: Option<String>,
    /// The largest finite element.
    pub max: Option<String>,
    /// Their mean, finite elements only, in f64.
    pub mean: Option<f64>,
    /// Their standard deviation (of the population).
    pub std: Option<f64>,
    /// Their sum in f64 (complex: of the real parts).
    pub sum: Option<f64>,
    /// For complex elements: the sums of the real and the imaginary parts.
    pub complex_sum: Option<(f64, f64)>,
    /// CRC-32 of the elements in C order, little-endian, packed; of those without a fixed size: of their
    /// texts, each with a zero byte behind it.
    pub crc32: u32,
    /// The same of what stored values stand for, where that is another number.
    pub scaled: Option<Scaled>,
    /// Counts in bins from min to max; only on request, from a second pass.
    pub histogram: Option<Histogram>,
    /// Elements that could not be read and are in none of these numbers; only of [`readable`]. The checksum
    /// says nothing then.
    pub unread: Option<Unread>,
}

/// Elements that could not be read.
#[derive(Clone, Debug)]
pub struct Unread {
    /// How many.
    pub count: u64,
    /// Why the first of them could not.
    pub error: Error,
}

impl Unread {
    /// Adds elements to those that could not be read.
    pub fn add(to: &mut Option<Unread>, count: u64, error: &Error) {
        if count > 0 {
            to.get_or_insert_with(|| Unread { count: 0, error: error.clone() }).count += count;
        }
    }
}

impl std::fmt::Display for Unread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let elements = crate::bytes::display::plural(self.count, "element");
        write!(f, "{elements} could not be read: {}", self.error)
    }
}

/// Statistics of what stored values stand for: scale and offset applied, missing ones left out.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Scaled {
    /// Elements that are missing.
    pub missing: u64,
    /// The smallest finite value.
    pub min: Option<f64>,
    /// The largest finite value.
    pub max: Option<f64>,
    /// Their mean.
    pub mean: Option<f64>,
    /// Their sum.
    pub sum: Option<f64>,
}

/// One piece's part.
#[derive(Clone, Default)]
struct Part {
    scaled: Part64,
    count: u64,
    nan: u64,
    inf: u64,
    zeros: u64,
    low: Option<Extreme>,
    high: Option<Extreme>,
    moments: Moments,
    imaginary: f64,
    /// Its share of the checksum (see `blocks`).
    crc: u32,
    /// Nothing of it is stored; its share is not counted yet.
    gap: bool,
}

/// One piece's part of scaled values.
#[derive(Clone, Copy, Default)]
struct Part64 {
    missing: u64,
    count: u64,
    low: f64,
    high: f64,
    sum: f64,
}

impl Part64 {
    fn measure(values: &[f64], scaling: &Scaling) -> Self {
        let mut part = Part64::default();
        for &stored in values {
            let value = scaling.apply(stored);
            part.missing += u64::from(value.is_nan() && !stored.is_nan());
            if value.is_finite() {
                part = part.merge(Part64 { missing: 0, count: 1, low: value, high: value, sum: value });
            }
        }
        part
    }

    fn merge(self, other: Part64) -> Self {
        let missing = self.missing + other.missing;
        match (self.count, other.count) {
            (_, 0) => Part64 { missing, ..self },
            (0, _) => Part64 { missing, ..other },
            (a, b) => Part64 {
                missing,
                count: a + b,
                low: self.low.min(other.low),
                high: self.high.max(other.high),
                sum: self.sum + other.sum,
            },
        }
    }

    fn finish(self) -> Scaled {
        let known = |value: f64| (self.count > 0).then_some(value);
        Scaled {
            missing: self.missing,
            min: known(self.low),
            max: known(self.high),
            mean: known(self.sum / self.count.max(1) as f64),
            sum: known(self.sum),
        }
    }
}

/// An extreme value: by its number, and its exact bytes for integers beyond 2⁵³.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Extreme {
    Float(f64),
    Int(i128),
}

impl Extreme {
    fn text(self, dtype: &DType) -> String {
        match self {
            Extreme::Int(value) => value.to_string(),
            Extreme::Float(value) => match dtype {
                // The shortest text of a half would read as another number elsewhere (4.8125 as 4.8).
                DType::F32 | DType::Blocks(_) => crate::data::cell::float32(value as f32),
                _ => crate::data::cell::float64(value),
            },
        }
    }
}

/// Statistics of all elements. `bins` asks for a histogram, which costs a second pass. Types without
/// numbers give their count and checksum.
pub fn array(array: &dyn Array, task: &Task, bins: Option<usize>) -> Result<ArrayStats> {
    match array.passes() {
        Some(passes) => passes.stats(task, bins, false),
        None => of(array, task, bins, None),
    }
}

/// As [`array`], but of what can be read: the parts that cannot are counted in [`ArrayStats::unread`].
///
/// # Errors
/// What the array says, where nothing of it can be read; `Cancelled`.
pub fn readable(array: &dyn Array, task: &Task, bins: Option<usize>) -> Result<ArrayStats> {
    if let Some(passes) = array.passes() {
        return passes.stats(task, bins, true);
    }
    let unread = Mutex::new(None);
    let mut stats = of(array, task, bins, Some(&unread))?;
    stats.unread = unread.into_inner();
    match &stats.unread {
        Some(unread) if stats.count == 0 => Err(unread.error.clone()),
        _ => Ok(stats),
    }
}

/// The elements of a region that can be read, in C order; the others are left out and counted.
///
/// # Errors
/// What concerns the region as a whole; `Cancelled`; `Limit` for more than [`limits::READ`] bytes.
pub fn readable_elements(
    array: &dyn Array,
    task: &Task,
    region: &Region,
    unread: &mut Option<Unread>,
) -> Result<Vec<u8>> {
    let (mut out, gaps) = array::read_lenient(array, task, region)?;
    if let Some(first) = gaps.first() {
        let lost = take_out(&mut out, array.dtype().size(), region, &gaps);
        Unread::add(unread, lost, &first.error);
    }
    Ok(out)
}

/// Where elements that could not be read are counted; without one each is an error.
type Losses<'a> = Option<&'a Mutex<Option<Unread>>>;

fn of(array: &dyn Array, task: &Task, bins: Option<usize>, losses: Losses<'_>) -> Result<ArrayStats> {
    if array.dtype().is_variable() {
        return variable(array, task);
    }
    let size = array.dtype().size().max(1);
    task.set_total(limits::bytes(array.shape(), size)?);
    let (dtype, shape) = (array.dtype(), array.shape());
    let scaling = array.facts().scaling;
    let scaled = |bytes: &[u8]| match &scaling {
        Some(scaling) => {
            let mut values = Vec::new();
            dtype.decode(bytes, &mut values);
            Part64::measure(&values, scaling)
        }
        None => Part64::default(),
    };
    let (unstored, stored, bits) = (OnceLock::new(), array.checksummed(), checksum_bits(array));
    let pass = each_piece(
        array,
        task,
        losses,
        |region, bytes| {
            let mut part = Part::default();
            for bytes in bytes.chunks((PIECE / size).max(1) as usize * size as usize) {
                part = merge(part, Part { scaled: scaled(bytes), ..measure(dtype, bytes) });
            }
            if stored.is_none()
                && region.elements().is_ok_and(|n| n.saturating_mul(dtype.size()) == bytes.len() as u64)
            {
                part.crc = crc_share(&packed(bits, bytes), region, shape, bits);
            }
            part
        },
        |element, count| {
            let part = times(Part { scaled: scaled(element), ..measure(dtype, element) }, count);
            unstored.get_or_init(|| element.to_vec());
            Part { gap: true, ..part }
        },
    )?;
    let gaps = match unstored.get() {
        Some(element) => crc_of_gaps(element, array, &pass),
        None => 0,
    };
    let mut total = Part { crc: gaps, ..Part::default() };
    for part in pass.parts.into_iter().chain(pass.rest) {
        total = merge(total, part);
    }
    let mut stats = finish(array.dtype(), &total);
    stats.scaled = scaling.map(|_| total.scaled.finish());
    let whole = losses.is_none_or(|losses| losses.lock().is_none());
    if whole && let Some((source, span)) = stored {
        stats.crc32 = crc_of_bytes(&source, span, task)?;
    } else if whole && let Some(crc) = crc_across_pieces(array, task)? {
        stats.crc32 = crc;
    }
    if let (Some(bins), Some(low), Some(high)) = (bins, total.low, total.high) {
        let binning = Binning::Exactly(bins);
        let empty = match (low, high) {
            (Extreme::Int(low), Extreme::Int(high)) => Counter::of_integers(low, high, binning),
            _ => Counter::of_numbers(as_f64(low), as_f64(high), binning),
        };
        stats.histogram = Some(histogram(array, task, losses, &empty)?);
    }
    Ok(stats)
}

fn as_f64(extreme: Extreme) -> f64 {
    match extreme {
        Extreme::Float(value) => value,
        Extreme::Int(value) => value as f64,
    }
}

/// Counts of the finite elements in the bins of `empty`, in one pass.
fn histogram(array: &dyn Array, task: &Task, losses: Losses<'_>, empty: &Counter) -> Result<Histogram> {
    let dtype = array.dtype();
    let count = |bytes: &[u8], times: u64| {
        let mut counter = empty.clone();
        if !counter.takes_integers() || !dtype.integers(bytes, |value| counter.add_integer(value, times)) {
            let mut values = Vec::new();
            // As many at a time as stay in the cache.
            for bytes in bytes.chunks(COUNTED * dtype.size().max(1) as usize) {
                values.clear();
                dtype.decode(bytes, &mut values);
                counter.add(&values, times);
            }
        }
        counter
    };
    // The first pass has counted what is lost.
    let again = Mutex::new(None);
    let pass = each_piece(array, task, losses.map(|_| &again), |_, bytes| count(bytes, 1), count)?;
    let mut total = empty.clone();
    pass.parts.iter().chain(&pass.rest).for_each(|part| total.merge(part));
    Ok(total.finish())
}

/// The regions of a pass.
fn regions_of(array: &dyn Array) -> Vec<Region> {
    let (dtype, size) = (array.dtype(), array.dtype().size().max(1));
    // Elements under a byte are summed up byte by byte in C order.
    let chunks = array.facts().chunks.filter(|_| dtype.bits() >= 8);
    blocks(array.shape(), chunks.as_deref(), size, PIECE)
}

/// What the pieces add to the checksum of which nothing is stored: of those, or of the others and the whole,
/// whichever are fewer.
fn crc_of_gaps(element: &[u8], array: &dyn Array, pass: &Pass<Part>) -> u32 {
    let shape = array.shape();
    let gaps = pass.parts.iter().filter(|part| part.gap).count();
    let few = pass.rest.is_none() && gaps <= pass.parts.len() / 2;
    let whole = if few { 0 } else { crc_share_of_same(element, &Region::all(shape), shape) };
    let counted = pass.regions.iter().zip(&pass.parts).filter(|(_, part)| part.gap == few);
    counted.fold(whole, |crc, (region, _)| crc ^ crc_share_of_same(element, region, shape))
}

/// More pieces than this are years of work, and a shape that nothing stands behind.
const PIECES: u64 = 1 << 22;
/// Of arrays with more bytes it is asked first what of them is stored.
const SPARSE: u64 = 64 << 20;

/// What one pass gave.
struct Pass<T> {
    /// The regions that were gone through.
    regions: Vec<Region>,
    /// What each of them gave.
    parts: Vec<T>,
    /// What all the elements gave that are in none of them, where the array told that they are equal.
    rest: Option<T>,
}

/// What of an array has to be gone through, and how many elements are not in it, which are all equal; `None`
/// where most of it is there, or nobody knows.
fn sparse(array: &dyn Array, task: &Task, bytes: u64) -> Result<Option<(Stored, u64)>> {
    if bytes <= SPARSE || array.shape().contains(&0) {
        return Ok(None);
    }
    let Some(stored) = array.stored(task)? else { return Ok(None) };
    let (all, there) = (limits::elements(array.shape())?, stored.elements());
    Ok((there <= all / 2).then(|| (stored, all - there)))
}

/// Reads the array piece by piece on all cores; the results in the order of the pieces. Of elements that are not
/// stored, `same` gets the one that they all are, and how many they are.
fn each_piece<T: Send>(
    array: &dyn Array,
    task: &Task,
    losses: Losses<'_>,
    work: impl Fn(&Region, &[u8]) -> T + Sync,
    same: impl Fn(&[u8], u64) -> T + Sync,
) -> Result<Pass<T>> {
    let (dtype, size) = (array.dtype(), array.dtype().size().max(1));
    let bytes = limits::bytes(array.shape(), size)?;
    let whole = dtype.bits() >= 8;
    let fits = |element: &Vec<u8>| element.len() as u64 == dtype.size();
    let (mut regions, mut rest, mut asked) = (Vec::new(), None, false);
    if whole
        && let Some((stored, left)) = sparse(array, task, bytes)?
        && let Some(element) = stored.element.clone().filter(fits)
    {
        let pieces = stored.elements().saturating_mul(size) / PIECE;
        limits::check(pieces, PIECES, "a pass over what is stored")?;
        for region in &stored.regions {
            let parts = blocks(&region.shape(), None, size, 4 * LARGE);
            regions.extend(parts.into_iter().map(|part| {
                Region(region.0.iter().zip(&part.0).map(|(span, part)| span.part(part)).collect())
            }));
        }
        rest = Some(same(&element, left));
        asked = true;
        task.advance(left.saturating_mul(size))?;
    } else if bytes / PIECE > PIECES {
        return Err(Error::limit(format!("a pass over {}", crate::bytes::display::bytes(bytes))));
    } else {
        regions = regions_of(array);
    }
    let one = |buffer: &mut Vec<u8>, region: &Region| -> Result<T> {
        let count = region.elements()?;
        let bytes = count.saturating_mul(dtype.size());
        if whole
            && !asked
            && let Some(element) = array.unstored(task, region)?
            && fits(&element)
        {
            task.advance(bytes)?;
            return Ok(same(&element, count));
        }
        let bytes = limits::check(bytes, limits::CHUNK, "a piece")?;
        buffer.resize(bytes, 0);
        match losses {
            None => array.read(task, region, buffer)?,
            Some(losses) => {
                let gaps = array.read_lenient(task, region, buffer)?;
                if let Some(first) = gaps.first() {
                    // Before the lock, for which all other pieces would wait.
                    let lost = take_out(buffer, dtype.size(), region, &gaps);
                    Unread::add(&mut losses.lock(), lost, &first.error);
                }
            }
        }
        task.advance(bytes as u64)?;
        Ok(work(region, buffer))
    };
    let elements = |region: &Region| region.elements().unwrap_or(u64::MAX).saturating_mul(size);
    let largest = regions.iter().map(elements).max().unwrap_or(0);
    let parts: Result<Vec<T>> = if largest > LARGE {
        let mut buffer = Vec::new();
        regions.iter().map(|region| one(&mut buffer, region)).collect()
    } else {
        regions.par_iter().map_init(Vec::new, one).collect()
    };
    Ok(Pass { parts: parts?, regions, rest })
}

/// Bits that an element has in the checksum.
fn checksum_bits(array: &dyn Array) -> u64 {
    let dtype = array.dtype();
    let is_packed = dtype.size() == 1 && !array.facts().byte_each;
    if is_packed { dtype.bits() } else { dtype.size() * 8 }
}

/// Elements under a byte packed again, from the low bits upwards, as they are stored.
fn packed(bits: u64, bytes: &[u8]) -> std::borrow::Cow<'_, [u8]> {
    if bits >= 8 {
        return bytes.into();
    }
    let mut out = vec![0u8; (bytes.len() * bits as usize).div_ceil(8)];
    for (n, &byte) in bytes.iter().enumerate() {
        let bit = n * bits as usize;
        let wide = u16::from(byte) << (bit % 8);
        for (place, part) in out.iter_mut().skip(bit / 8).zip(wide.to_le_bytes()) {
            *place |= part;
        }
    }
    out.into()
}

/// The checksum of bytes of a source.
fn crc_of_bytes(source: &Source, span: Range<u64>, task: &Task) -> Result<u32> {
    let (mut crc, mut buffer) = (crc32fast::Hasher::new(), Vec::new());
    for at in span.clone().step_by(PIECE as usize) {
        buffer.resize((span.end - at).min(PIECE) as usize, 0);
        source.read_into(task, at, &mut buffer)?;
        crc.update(&buffer);
    }
    Ok(crc.finalize())
}

/// The checksum of elements under a byte whose pieces end within a byte, in a pass of its own: the
/// elements that do not fill a byte go along with the next piece.
fn crc_across_pieces(array: &dyn Array, task: &Task) -> Result<Option<u32>> {
    let bits = checksum_bits(array);
    let uneven = |region: &Region| region.elements().is_ok_and(|n| n % 8 != 0);
    if bits >= 8 || pieces(array.shape(), PIECE).filter(uneven).take(2).count() < 2 {
        return Ok(None);
    }
    let (mut crc, mut left) = (crc32fast::Hasher::new(), Vec::new());
    for region in pieces(array.shape(), PIECE) {
        let start = left.len();
        let more = limits::check(region.elements()?, limits::CHUNK, "a piece")?;
        left.resize(start + more, 0);
        array.read(task, &region, left.get_mut(start..).unwrap_or_default())?;
        let whole = left.as_chunks::<8>().0.as_flattened();
        crc.update(&packed(bits, whole));
        let whole = whole.len();
        left.drain(..whole);
    }
    crc.update(&packed(bits, &left));
    Ok(Some(crc.finalize()))
}

fn measure(dtype: &DType, bytes: &[u8]) -> Part {
    with_integer!(dtype, T => {
        return integers(bytes.as_chunks::<{ size_of::<T>() }>().0.iter().map(|&b| T::from_le_bytes(b)));
    }, _ => {});
    match dtype {
        DType::Bool => integers(bytes.iter().map(|&b| u8::from(b != 0))),
        DType::F32 | DType::Blocks(_) => floats(bytes, f32::from_le_bytes),
        DType::F64 => floats(bytes, f64::from_le_bytes),
        DType::BF16 => floats(bytes, |b| half::bf16::from_le_bytes(b).to_f32()),
        DType::F16 => floats(bytes, |b| half::f16::from_le_bytes(b).to_f32()),
        DType::Mini(kind) => {
            let table = kind.table();
            floats(bytes, |[byte]: [u8; 1]| *entry(table, byte))
        }
        DType::Long(kind @ Long::X87(10)) => floats(bytes, |b: [u8; 10]| kind.to_f64(&b)),
        DType::Long(kind @ Long::X87(12)) => floats(bytes, |b: [u8; 12]| kind.to_f64(&b)),
        DType::Long(kind) => floats(bytes, |b: [u8; 16]| kind.to_f64(&b)),
        DType::C32 => complex(bytes.as_chunks::<4>().0.iter().map(|&[a, b, c, d]| {
            let part = |bytes| half::f16::from_le_bytes(bytes).to_f64();
            (part([a, b]), part([c, d]))
        })),
        DType::C64 => complex(bytes.as_chunks::<8>().0.iter().map(|&[a, b, c, d, e, f, g, h]| {
            let part = |bytes| f64::from(f32::from_le_bytes(bytes));
            (part([a, b, c, d]), part([e, f, g, h]))
        })),
        DType::C128 => complex(bytes.as_chunks::<16>().0.iter().map(|b| {
            let (real, imaginary) = (b.first_chunk::<8>(), b.last_chunk::<8>());
            (real.map_or(0.0, |&r| f64::from_le_bytes(r)), imaginary.map_or(0.0, |&i| f64::from_le_bytes(i)))
        })),
        other => Part { count: bytes.len() as u64 / other.size().max(1), ..Part::default() },
    }
}

fn integers<T: Copy + Ord + Into<i128>>(values: impl ExactSizeIterator<Item = T>) -> Part {
    let mut part = Part { count: values.len() as u64, ..Part::default() };
    let (mut low, mut high): (Option<T>, Option<T>) = (None, None);
    let (mut shift, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for value in values {
        let wide: i128 = value.into();
        part.zeros += u64::from(wide == 0);
        if low.is_none() {
            shift = wide as f64;
        }
        low = Some(low.map_or(value, |l| l.min(value)));
        high = Some(high.map_or(value, |h| h.max(value)));
        let gap = wide as f64 - shift;
        sum += gap;
        squares += gap * gap;
    }
    part.low = low.map(|v| Extreme::Int(v.into()));
    part.high = high.map(|v| Extreme::Int(v.into()));
    part.moments = Moments::of_sums(part.count, shift, sum, squares);
    part
}

fn floats<const N: usize, T: Float>(bytes: &[u8], get: impl Fn([u8; N]) -> T) -> Part {
    let count = (bytes.len() / N) as u64;
    let found = floats::measure(bytes, get);
    let some = found.nan + found.inf < count;
    Part {
        count,
        nan: found.nan,
        inf: found.inf,
        zeros: found.zeros,
        low: some.then_some(Extreme::Float(found.low)),
        high: some.then_some(Extreme::Float(found.high)),
        moments: found.moments,
        ..Part::default()
    }
}

fn complex(values: impl ExactSizeIterator<Item = (f64, f64)>) -> Part {
    let mut part = Part { count: values.len() as u64, ..Part::default() };
    for (real, imaginary) in values {
        if real.is_nan() || imaginary.is_nan() {
            part.nan += 1;
        } else if real.is_infinite() || imaginary.is_infinite() {
            part.inf += 1;
        } else {
            part.zeros += u64::from(real == 0.0 && imaginary == 0.0);
            part.low = Some(Extreme::Float(part.low.map_or(real, |low| as_f64(low).min(real))));
            part.high = Some(Extreme::Float(part.high.map_or(real, |high| as_f64(high).max(real))));
            part.moments.count += 1;
            part.moments.sum += real;
            part.imaginary += imaginary;
        }
    }
    part
}

fn merge(a: Part, b: Part) -> Part {
    let least = |a: Option<Extreme>, b: Option<Extreme>| match (a, b) {
        (Some(a), Some(b)) => Some(if b < a { b } else { a }),
        (a, b) => a.or(b),
    };
    let most = |a: Option<Extreme>, b: Option<Extreme>| match (a, b) {
        (Some(a), Some(b)) => Some(if b > a { b } else { a }),
        (a, b) => a.or(b),
    };
    Part {
        count: a.count + b.count,
        nan: a.nan + b.nan,
        inf: a.inf + b.inf,
        zeros: a.zeros + b.zeros,
        low: least(a.low, b.low),
        high: most(a.high, b.high),
        moments: a.moments.merge(b.moments),
        imaginary: a.imaginary + b.imaginary,
        crc: a.crc ^ b.crc,
        gap: false,
        scaled: a.scaled.merge(b.scaled),
    }
}

/// The part of `count` elements that are all as the one that `part` is of.
fn times(part: Part, count: u64) -> Part {
    let moments = match part.moments.mean() {
        Some(value) => Moments::of_sums(count, value, 0.0, 0.0),
        None => Moments::default(),
    };
    Part {
        count: part.count * count,
        nan: part.nan * count,
        inf: part.inf * count,
        zeros: part.zeros * count,
        imaginary: part.imaginary * count as f64,
        moments,
        scaled: Part64 {
            missing: part.scaled.missing * count,
            count: part.scaled.count * count,
            sum: part.scaled.sum * count as f64,
            ..part.scaled
        },
        ..part
    }
}

fn finish(dtype: &DType, total: &Part) -> ArrayStats {
    let numeric = dtype.is_real();
    ArrayStats {
        count: total.count,
        nan: total.nan,
        inf: total.inf,
        zeros: total.zeros,
        min: total.low.map(|v| v.text(dtype)),
        max: total.high.map(|v| v.text(dtype)),
        mean: total.moments.mean().filter(|_| numeric),
        std: total.moments.std().filter(|_| numeric),
        sum: (numeric || dtype.is_complex()).then_some(total.moments.sum),
        complex_sum: dtype.is_complex().then_some((total.moments.sum, total.imaginary)),
        crc32: total.crc,
        scaled: None,
        histogram: None,
        unread: None,
    }
}

#[cfg(test)]
mod tests;
