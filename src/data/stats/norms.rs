//! The Euclidean norms of the rows and of the columns of a matrix: a plane of two axes of any array.
//!
//! One pass over the plane in bands of whole rows (of parts of rows where these are very long), on all cores. A worker
//! keeps a sum of squares for each row of its band and for each column, so that memory goes with the number of rows and
//! columns, which has a limit, not with that of elements.

use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::content::Array;
use crate::data::numbers::{ComplexPart, has_numbers, numbers};
use crate::data::plane::{Slice, Window};
use crate::data::region::Span;
use rayon::prelude::*;
use std::ops::Range;

/// Bytes that are read at a time, where chunks are not larger.
const PIECE: u64 = 1 << 20;
/// The most bytes that are read at a time for the sake of whole chunks.
const BAND: u64 = 32 << 20;
/// The most rows, and the most columns.
const LINES: u64 = 1 << 22;
/// The most elements: what has more is a shape that nothing stands behind.
const ELEMENTS: u64 = 1 << 44;

/// Norms of rows and columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Norms {
    /// The norm of each row of the plane: the square root of the sum of the squares of its elements, of complex ones of
    /// their magnitudes. NaN where an element is NaN, infinite where one is infinite or the sum of squares overflows
    /// double precision.
    pub rows: Vec<f64>,
    /// The same of each column.
    pub columns: Vec<f64>,
}

/// The norms of the rows and columns of the plane that a slice shows; of a slice with channels those of the first one.
/// A plane of one axis is one row.
///
/// # Errors
/// `Unsupported` for elements that are no numbers; `Limit` for more than 4 Mi rows or columns; those of reading.
pub fn norms(array: &dyn Array, task: &Task, slice: &Slice) -> Result<Norms> {
    let dtype = array.dtype();
    if !has_numbers(dtype) {
        return Err(Error::unsupported(format!("norms of elements of the type {dtype}")));
    }
    let slice = &flat(slice);
    let (height, width) = (slice.height(), slice.width());
    for (what, count) in [("rows", height), ("columns", width)] {
        if count > LINES {
            return Err(Error::limit(format!("norms of {count} {what} (at most {LINES})")));
        }
    }
    if height.saturating_mul(width) > ELEMENTS {
        return Err(Error::limit(format!("norms of a plane of {height} × {width} elements")));
    }
    task.set_total(height * width);
    let empty = || Sums { rows: vec![0.0; height as usize], columns: vec![0.0; width as usize] };
    // Several bands each, and few workers that have sums of their own.
    let windows = windows(array, slice);
    let least = windows.len().div_ceil(4 * rayon::current_num_threads().max(1));
    let sums = windows
        .par_iter()
        .with_min_len(least.max(1))
        .try_fold(empty, |mut sums, window| {
            sums.add(array, task, slice, window)?;
            Ok::<_, Error>(sums)
        })
        .try_reduce(empty, |sums, more| Ok(sums.merge(&more)))?;
    let roots = |squares: Vec<f64>| squares.into_iter().map(f64::sqrt).collect();
    Ok(Norms { rows: roots(sums.rows), columns: roots(sums.columns) })
}

/// The slice with one channel.
fn flat(slice: &Slice) -> Slice {
    let mut slice = slice.clone();
    if let Some(span) = slice.channels.take().and_then(|axis| slice.spans.get_mut(axis)) {
        span.count = span.count.min(1);
    }
    slice
}

/// The windows of a pass: bands of whole rows and whole chunks.
pub(super) fn windows(array: &dyn Array, slice: &Slice) -> Vec<Window> {
    let (height, width, size) = (slice.height(), slice.width(), array.dtype().size().max(1));
    if height == 0 || width == 0 {
        return Vec::new();
    }
    let chunks = array.facts().chunks;
    let chunk = |axis: Option<usize>| {
        let side = axis.and_then(|axis| chunks.as_ref()?.get(axis).copied()).unwrap_or(1);
        side.div_ceil(slice.step(axis)).max(1)
    };
    let whole = |wanted: u64, chunk: u64, len: u64| (wanted.max(1).div_ceil(chunk) * chunk).min(len);
    let columns = whole(PIECE / size, chunk(slice.columns), width);
    let mut rows = whole(PIECE / size / columns, chunk(slice.rows), height);
    if rows.saturating_mul(columns).saturating_mul(size) > BAND {
        rows = (BAND / size / columns).clamp(1, height);
    }
    let starts = |len: u64, step: u64| (0..len.div_ceil(step)).map(move |n| n * step);
    let window = |row: u64, column: u64| Window {
        rows: Span::range(row, rows.min(height - row)),
        columns: Span::range(column, columns.min(width - column)),
    };
    starts(height, rows)
        .flat_map(|row| starts(width, columns).map(move |column| window(row, column)))
        .collect()
}

/// Numbers of which the greatest of any range is found without going through all of it: what a strip of pixels shows of
/// millions of rows.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    /// The numbers, and of each level the greatest of [`EACH`] of the one before.
    levels: Vec<Vec<f64>>,
}

/// Numbers that one of the next level stands for.
const EACH: usize = 64;

/// The greater of two; NaN where one is.
fn greater(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) }
}

impl Profile {
    /// Of these numbers.
    pub fn new(values: Vec<f64>) -> Self {
        let mut levels = vec![values];
        while let Some(last) = levels.last().filter(|last| last.len() > EACH) {
            let of = |part: &[f64]| part.iter().copied().reduce(greater).unwrap_or(f64::NAN);
            let next = last.chunks(EACH).map(of).collect();
            levels.push(next);
        }
        Profile { levels }
    }

    /// How many there are.
    pub fn len(&self) -> u64 {
        self.levels.first().map_or(0, |values| values.len() as u64)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The greatest of those from `range.start` to before `range.end`, NaN where one of them is; `None` of nothing.
    pub fn greatest(&self, range: Range<u64>) -> Option<f64> {
        let (mut start, mut end) = (range.start as usize, range.end.min(self.len()) as usize);
        let mut found: Option<f64> = None;
        for level in &self.levels {
            if start >= end {
                break;
            }
            let mut take = |part: Range<usize>| {
                let values = level.get(part).unwrap_or_default().iter().copied();
                found = values.chain(found).reduce(greater);
            };
            let (first, last) = (start.div_ceil(EACH), end / EACH);
            if first >= last {
                take(start..end);
                break;
            }
            take(start..first * EACH);
            take(last * EACH..end);
            (start, end) = (first, last);
        }
        found
    }

    /// The greatest finite one of all.
    pub fn greatest_finite(&self) -> Option<f64> {
        self.levels.first()?.iter().copied().filter(|value| value.is_finite()).reduce(f64::max)
    }
}

/// Sums of squares.
struct Sums {
    rows: Vec<f64>,
    columns: Vec<f64>,
}

impl Sums {
    /// Reads a window and adds its squares.
    fn add(&mut self, array: &dyn Array, task: &Task, slice: &Slice, window: &Window) -> Result<()> {
        task.check()?;
        let values = plane(array, task, slice, window)?;
        let columns = self.columns.iter_mut().skip(window.columns.start as usize);
        let columns: Vec<&mut f64> = columns.take(window.columns.count as usize).collect();
        let mut columns = columns;
        let rows = self.rows.iter_mut().skip(window.rows.start as usize);
        for (sum, row) in rows.zip(values.chunks_exact((window.columns.count as usize).max(1))) {
            let mut all = 0.0;
            for (column, value) in columns.iter_mut().zip(row) {
                let square = value * value;
                all += square;
                **column += square;
            }
            *sum += all;
        }
        task.advance(window.elements())
    }

    fn merge(mut self, other: &Sums) -> Sums {
        self.rows.iter_mut().zip(&other.rows).for_each(|(sum, more)| *sum += more);
        self.columns.iter_mut().zip(&other.columns).for_each(|(sum, more)| *sum += more);
        self
    }
}

/// The elements of a window as numbers, row by row; of complex ones their magnitudes.
pub(super) fn plane(array: &dyn Array, task: &Task, slice: &Slice, window: &Window) -> Result<Vec<f64>> {
    let (raw, gaps) = slice.read_lenient(array, task, window)?;
    if let Some((_, error)) = gaps.into_iter().next() {
        return Err(error);
    }
    let values = numbers(array.dtype(), ComplexPart::Magnitude, &raw);
    let wanted = limits::check(window.elements(), u64::MAX, "this part")?;
    if values.len() != wanted {
        return Err(Error::bug(format!("array: {} elements came, {wanted} were asked for", values.len())));
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::source::Source;
    use crate::data::content::array::Plain;
    use crate::data::dtype::DType;
    use crate::data::plane::{Mapping, Role};

    fn floats(shape: &[u64], values: &[f32]) -> Plain {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
        Plain::new(Source::memory("x", bytes), 0, DType::F32, shape.to_vec()).unwrap()
    }

    fn close(got: &[f64], wanted: &[f64]) {
        assert_eq!(got.len(), wanted.len());
        for (got, wanted) in got.iter().zip(wanted) {
            assert!((got - wanted).abs() <= 1e-12 * wanted.abs().max(1.0), "{got} is not {wanted}");
        }
    }

    #[test]
    fn norms_of_a_small_matrix() {
        let array = floats(&[2, 3], &[3.0, 4.0, 0.0, -1.0, 2.0, 2.0]);
        let got = norms(&array, &Task::new(), &Mapping::new(&[2, 3]).slice(false)).unwrap();
        close(&got.rows, &[5.0, 3.0]);
        close(&got.columns, &[10f64.sqrt(), 20f64.sqrt(), 2.0]);
        let mut turned = Mapping::new(&[2, 3]);
        turned.transpose();
        let other = norms(&array, &Task::new(), &turned.slice(false)).unwrap();
        assert_eq!((other.rows, other.columns), (got.columns, got.rows));
    }

    #[test]
    fn planes_of_more_axes_in_many_bands_are_as_plain_loops_have_them() {
        // Rows of 700 and 900 of them are more than one band, of the second of three planes.
        let shape = [3u64, 900, 700];
        let values: Vec<f32> = (0..3 * 900 * 700u64).map(|n| (n * 7919 % 1013) as f32 - 500.0).collect();
        let array = floats(&shape, &values);
        let mut mapping = Mapping::new(&shape);
        mapping.assign(Role::Rows, 1);
        mapping.assign(Role::Columns, 2);
        mapping.set_position(0, 1);
        let slice = mapping.slice(false);
        assert!(windows(&array, &slice).len() > 2);
        let got = norms(&array, &Task::new(), &slice).unwrap();
        let plane = &values[900 * 700..2 * 900 * 700];
        let root = |all: f64| all.sqrt();
        let square = |value: &f32| f64::from(*value).powi(2);
        let rows: Vec<f64> = plane.chunks(700).map(|row| root(row.iter().map(square).sum())).collect();
        let column = |n: usize| root(plane.iter().skip(n).step_by(700).map(square).sum());
        close(&got.rows, &rows);
        close(&got.columns, &(0..700).map(column).collect::<Vec<_>>());
    }

    #[test]
    fn what_is_not_finite_is_seen_in_its_row_and_column() {
        let array = floats(&[2, 2], &[f32::NAN, 1.0, f32::INFINITY, 2.0]);
        let got = norms(&array, &Task::new(), &Mapping::new(&[2, 2]).slice(false)).unwrap();
        assert!(got.rows[0].is_nan() && got.rows[1].is_infinite() && got.columns[0].is_nan());
        close(&got.columns[1..], &[5f64.sqrt()]);
    }

    #[test]
    fn the_greatest_of_any_range_is_that_of_all_its_numbers() {
        let mut values: Vec<f64> = (0..70_000u64).map(|n| (n * 7919 % 100_003) as f64).collect();
        (values[300], values[65_000]) = (f64::NAN, f64::INFINITY);
        let profile = Profile::new(values.clone());
        for (start, end) in
            [(0, 0), (0, 1), (3, 70), (0, 300), (301, 64_000), (5000, 5001), (4096, 8192), (301, 70_000)]
        {
            let wanted = values[start as usize..end as usize].iter().copied().reduce(f64::max);
            assert_eq!(profile.greatest(start..end), wanted, "{start}..{end}");
        }
        assert!(
            profile.greatest(0..70_000).unwrap().is_nan() && profile.greatest(300..301).unwrap().is_nan()
        );
        assert_eq!(profile.greatest(69_999..80_000), Some(values[69_999]));
        assert_eq!(
            profile.greatest_finite(),
            values.iter().copied().filter(|value| value.is_finite()).reduce(f64::max)
        );
        assert_eq!((Profile::new(Vec::new()).greatest(0..5), profile.len()), (None, 70_000));
    }

    #[test]
    fn it_can_be_stopped_and_has_a_limit() {
        let array = floats(&[2, 2], &[1.0; 4]);
        let task = Task::new();
        task.cancel();
        let slice = Mapping::new(&[2, 2]).slice(false);
        assert!(norms(&array, &task, &slice).unwrap_err().is_cancelled());
        let long = Slice { spans: vec![Span::all(1 << 23), Span::all(2)], ..slice };
        let error = norms(&array, &Task::new(), &long).unwrap_err();
        assert_eq!(error.kind(), crate::bytes::error::ErrorKind::Limit);
    }
}
