//! Sparse tensors as the whole tensors that they stand for: stored values and their places; what is not stored is zero.
//! <https://docs.pytorch.org/docs/stable/sparse.html>

use super::array::DIMENSIONS;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::strides;
use crate::bytes::task::Task;
use crate::data::content::array::{Array, ArrayFacts, read};
use crate::data::dtype::DType;
use crate::data::region::{Region, Span};
use std::ops::Range;
use std::sync::Arc;

/// Stored values that are taken at once.
const AT_ONCE: u64 = 1 << 18;

/// A sparse tensor: each stored value is an element, or a block of them.
pub(super) struct Sparse {
    layout: String,
    shape: Vec<u64>,
    places: Places,
    values: Arc<dyn Array>,
    /// How many elements of each dimension a stored value covers.
    block: Vec<u64>,
    /// How many values are stored.
    count: u64,
}

/// Where stored values belong.
enum Places {
    /// Coordinates: a row for each of the first dimensions, a column for each value.
    Coordinates(Arc<dyn Array>),
    /// Compressed rows (`major` 0) or columns (1): where each one's values begin, and where in it each value belongs.
    Compressed { major: usize, starts: Arc<dyn Array>, minor: Arc<dyn Array> },
}

impl Sparse {
    /// Of coordinates, values and a shape.
    ///
    /// # Errors
    /// Where they do not fit.
    pub(super) fn coordinates(
        indices: Arc<dyn Array>,
        values: Arc<dyn Array>,
        shape: Vec<u64>,
    ) -> Result<Sparse> {
        let wrong = || {
            let (places, values) = (indices.shape(), values.shape());
            let what = format!(
                "sparse tensor: its indices {places:?} and values {values:?} do not fit its shape {shape:?}"
            );
            Error::malformed(what)
        };
        let [dims, count] = *indices.shape() else { return Err(wrong()) };
        let dense = usize::try_from(dims).ok().and_then(|dims| shape.get(dims..)).ok_or_else(wrong)?;
        let fits = values.shape().split_first().is_some_and(|(len, rest)| *len == count && rest == dense);
        if !fits {
            return Err(wrong());
        }
        let block = (0..dims).map(|_| 1).chain(dense.iter().copied()).collect();
        let layout = "COO".to_owned();
        Sparse { layout, shape, places: Places::Coordinates(indices), values, block, count }.checked()
    }

    /// Of compressed rows or columns, of elements or of blocks.
    ///
    /// # Errors
    /// Where they do not fit; `Unsupported` for several matrices in one.
    pub(super) fn compressed(
        layout: &str,
        [starts, minor, values]: [Arc<dyn Array>; 3],
        shape: Vec<u64>,
    ) -> Result<Sparse> {
        let layout = layout.trim_start_matches("torch.sparse_").to_uppercase();
        let major = usize::from(layout.ends_with('C'));
        if starts.shape().len() > 1 {
            return Err(Error::unsupported(format!("several {layout} matrices in one tensor")));
        }
        let blocks = layout.starts_with('B');
        let wrong = || {
            let what = format!(
                "{layout} tensor: its parts {:?}, {:?} and {:?} do not fit its shape {shape:?}",
                starts.shape(),
                minor.shape(),
                values.shape()
            );
            Error::malformed(what)
        };
        let ([lines], [count]) = (starts.shape(), minor.shape()) else { return Err(wrong()) };
        let (stored, inner) = values.shape().split_first().ok_or_else(wrong)?;
        let (mut block, dense) = match (blocks, inner) {
            (true, [rows, columns, dense @ ..]) => (vec![*rows, *columns], dense),
            (false, dense) => (vec![1, 1], dense),
            _ => return Err(wrong()),
        };
        let tail = shape.get(2..).ok_or_else(wrong)?;
        let side = shape.get(major).zip(block.get(major));
        let sides = side.is_some_and(|(len, block)| {
            len.checked_div(*block).and_then(|n| n.checked_add(1)) == Some(*lines) && len % block == 0
        });
        if stored != count || dense != tail || !sides {
            return Err(wrong());
        }
        block.extend(dense);
        let (count, places) = (*count, Places::Compressed { major, starts: starts.clone(), minor });
        Sparse { layout, shape, places, values, block, count }.checked()
    }

    fn checked(self) -> Result<Sparse> {
        if self.shape.len() > DIMENSIONS {
            let what = format!("a tensor of {} dimensions, the limit is {DIMENSIONS}", self.shape.len());
            return Err(Error::limit(what));
        }
        limits::bytes(&self.shape, self.values.dtype().size())?;
        limits::bytes(&self.block, self.values.dtype().size())?;
        match self.values.dtype().is_variable() {
            true => Err(Error::unsupported("a sparse tensor of texts")),
            false => Ok(self),
        }
    }

    /// Some of an array of whole numbers.
    fn numbers(&self, task: &Task, array: &dyn Array, region: Vec<Span>) -> Result<Vec<u64>> {
        let bytes = read(array, task, &Region(region))?;
        let mut numbers = Vec::new();
        let whole = array.dtype().integers(&bytes, |value| numbers.push(u64::try_from(value).ok()));
        let numbers = numbers.into_iter().collect::<Option<Vec<u64>>>().filter(|_| whole);
        let layout = &self.layout;
        numbers.ok_or_else(|| Error::malformed(format!("{layout} tensor: a place that is no index")))
    }

    /// The stored values that may lie in a region.
    fn candidates(&self, task: &Task, region: &Region) -> Result<Range<u64>> {
        let Places::Compressed { major, starts, .. } = &self.places else { return Ok(0..self.count) };
        let (Some(span), Some(block)) = (region.0.get(*major), self.block.get(*major)) else {
            return Ok(0..self.count);
        };
        let (first, last) = (span.start / (*block).max(1), span.end().saturating_sub(1) / (*block).max(1));
        let from = self.numbers(task, starts.as_ref(), vec![Span::range(first, 1)])?;
        let to = self.numbers(task, starts.as_ref(), vec![Span::range(last + 1, 1)])?;
        match (from.first(), to.first()) {
            (Some(from), Some(to)) if from <= to && *to <= self.count => Ok(*from..*to),
            _ => Err(Error::malformed(format!("{} tensor: lines that begin beyond the next", self.layout))),
        }
    }

    /// The places of some stored values: of each the first element that it covers, in all dimensions.
    fn places(&self, task: &Task, range: &Range<u64>) -> Result<Vec<Vec<u64>>> {
        let span = Span::range(range.start, range.end - range.start);
        let dense = self.shape.len();
        match &self.places {
            Places::Coordinates(indices) => {
                let dims = indices.shape().first().copied().unwrap_or(0);
                let all = self.numbers(task, indices.as_ref(), vec![Span::all(dims), span])?;
                let count = span.count as usize;
                let at = |n: usize, dim: usize| all.get(dim * count + n).copied().unwrap_or(0);
                Ok((0..count)
                    .map(|n| (0..dense).map(|d| if d < dims as usize { at(n, d) } else { 0 }).collect())
                    .collect())
            }
            Places::Compressed { major, starts, minor } => {
                let lines = starts.shape().first().copied().unwrap_or(0);
                let ends = self.numbers(task, starts.as_ref(), vec![Span::all(lines)])?;
                let minors = self.numbers(task, minor.as_ref(), vec![span])?;
                let side = |dim: usize| self.block.get(dim).copied().unwrap_or(1);
                let place = |(n, minor): (usize, u64)| {
                    let line = ends.partition_point(|end| *end <= range.start + n as u64).saturating_sub(1);
                    let mut at = vec![0; dense];
                    for (dim, index) in [(*major, line as u64), (1 - *major, minor)] {
                        if let Some(at) = at.get_mut(dim) {
                            *at = index.saturating_mul(side(dim));
                        }
                    }
                    at
                };
                Ok(minors.into_iter().enumerate().map(place).collect())
            }
        }
    }
}

/// Where elements of a region go.
struct Target<'a> {
    out: &'a mut [u8],
    dtype: &'a DType,
    /// Whether an element was put there before: places that come twice are summed.
    taken: Vec<bool>,
    region: &'a Region,
    strides: Vec<u64>,
}

impl Target<'_> {
    /// Puts the elements of a block, whose first one belongs at `at`.
    fn put(&mut self, at: &[u64], block: &[u64], bytes: &[u8]) -> Result<()> {
        let size = self.dtype.size().max(1) as usize;
        let within = |((at, side), span): ((&u64, &u64), &Span)| {
            *at < span.end() && at.saturating_add(*side) > span.start
        };
        if !at.iter().zip(block).zip(&self.region.0).all(within) {
            return Ok(());
        }
        for (n, element) in bytes.chunks_exact(size).enumerate() {
            let index = strides::unravel(n as u64, block);
            if let Some(place) = self.place(at, &index) {
                self.set(place, element, size)?;
            }
        }
        Ok(())
    }

    /// The number in the region of an element; `None` where it is not in it.
    fn place(&self, at: &[u64], index: &[u64]) -> Option<usize> {
        let mut place = 0u64;
        for (((at, n), span), stride) in at.iter().zip(index).zip(&self.region.0).zip(&self.strides) {
            let from = at.checked_add(*n)?.checked_sub(span.start)?;
            let step = span.step.max(1);
            if from % step != 0 || from / step >= span.count {
                return None;
            }
            place = place.checked_add((from / step).checked_mul(*stride)?)?;
        }
        usize::try_from(place).ok()
    }

    fn set(&mut self, place: usize, element: &[u8], size: usize) -> Result<()> {
        let at = place.saturating_mul(size);
        let (Some(to), Some(taken)) =
            (self.out.get_mut(at..at.saturating_add(size)), self.taken.get_mut(place))
        else {
            return Ok(());
        };
        if !std::mem::replace(taken, true) {
            to.copy_from_slice(element);
            return Ok(());
        }
        let (mut sum, mut more) = (Vec::new(), Vec::new());
        self.dtype.decode(to, &mut sum);
        self.dtype.decode(element, &mut more);
        sum.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
        match self.dtype.encode(&sum, to) {
            true if !sum.is_empty() => Ok(()),
            _ => Err(Error::unsupported(format!("a sparse tensor of {} with a place twice", self.dtype))),
        }
    }
}

impl Array for Sparse {
    fn dtype(&self) -> &DType {
        self.values.dtype()
    }

    fn shape(&self) -> &[u64] {
        &self.shape
    }

    fn read(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<()> {
        region.check(&self.shape)?;
        out.fill(0);
        if out.is_empty() {
            return Ok(());
        }
        let dtype = self.values.dtype();
        let elements = limits::check(region.elements()?, limits::READ, "this part")?;
        let axes = strides::c_order(self.shape.len());
        let strides = strides::dense(&region.shape(), &axes, 1);
        let mut target = Target { out, dtype, taken: vec![false; elements], region, strides };
        let bytes = limits::bytes(&self.block, dtype.size())?;
        let most = (limits::READ / 8 / bytes.max(1)).clamp(1, AT_ONCE);
        let candidates = self.candidates(task, region)?;
        let mut at = candidates.start;
        while at < candidates.end {
            task.check()?;
            let range = at..candidates.end.min(at + most);
            let places = self.places(task, &range)?;
            let mut spans: Vec<Span> = self.values.shape().iter().map(|side| Span::all(*side)).collect();
            if let Some(first) = spans.first_mut() {
                *first = Span::range(range.start, range.end - range.start);
            }
            let values = read(self.values.as_ref(), task, &Region(spans))?;
            for (place, value) in places.iter().zip(values.chunks_exact(bytes.max(1) as usize)) {
                let inside = |((at, side), len): ((&u64, &u64), &u64)| {
                    at.checked_add(*side).is_some_and(|end| end <= *len)
                };
                if !place.iter().zip(&self.block).zip(&self.shape).all(inside) {
                    let what = format!("{} tensor: a value at {place:?} of {:?}", self.layout, self.shape);
                    return Err(Error::malformed(what));
                }
                target.put(place, &self.block, value)?;
            }
            at = range.end;
        }
        Ok(())
    }

    fn facts(&self) -> ArrayFacts {
        let values = self.values.facts();
        let all = limits::elements(&self.shape).unwrap_or(0).max(1);
        let stored = limits::elements(self.values.shape()).unwrap_or(0);
        let share = stored as f64 / all as f64 * 100.0;
        let stored = format!("{} ({share:.2} %)", crate::bytes::display::count(stored));
        ArrayFacts {
            word: values.word,
            bytes_stored: values.bytes_stored,
            details: vec![
                ("layout".to_owned(), format!("{}, sparse", self.layout)),
                ("stored values".to_owned(), stored),
            ],
            ..ArrayFacts::default()
        }
    }
}
