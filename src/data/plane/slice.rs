//! `Slice`: a part of an array as a plane of rows, columns and perhaps channels; and `Window`: the part of a plane that
//! is read at once.

use crate::bytes::error::{Error, Result};
use crate::bytes::strides::{self, Axis};
use crate::bytes::task::Task;
use crate::data::adapt::ArrayView;
use crate::data::content::Array;
use crate::data::content::array::{self, MissingRegion};
use crate::data::region::{Region, Span};
use arrow::array::{Array as _, ArrayRef, UInt64Array};
use std::sync::Arc;

/// Bytes of a band.
const BAND: u64 = 4 << 20;

/// A plane through an array.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Slice {
    /// The part of each axis.
    pub spans: Vec<Span>,
    /// The axis that goes down.
    pub rows: Option<usize>,
    /// The axis that goes across.
    pub columns: Option<usize>,
    /// The axis of the channels.
    pub channels: Option<usize>,
}

/// Rows and columns of a plane, with steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Window {
    /// Which rows of the plane.
    pub rows: Span,
    /// Which columns of the plane.
    pub columns: Span,
}

impl Window {
    /// How many elements it reads of each channel.
    pub fn elements(&self) -> u64 {
        self.rows.count.saturating_mul(self.columns.count)
    }

    /// The elements that the window stands for, steps filled in: left, top, width, height.
    pub fn area(&self) -> [f64; 4] {
        let (rows, columns) = (&self.rows, &self.columns);
        [
            columns.start as f64,
            rows.start as f64,
            columns.count as f64 * columns.step as f64,
            rows.count as f64 * rows.step as f64,
        ]
    }

    /// Where the sample for an element lies in the window, if it is exactly there.
    pub fn find(&self, row: u64, column: u64) -> Option<usize> {
        let place = |span: &Span, at: u64| {
            let offset = at.checked_sub(span.start)?;
            let n = offset / span.step;
            (offset.is_multiple_of(span.step) && n < span.count).then_some(n)
        };
        let (row, column) = (place(&self.rows, row)?, place(&self.columns, column)?);
        usize::try_from(row * self.columns.count + column).ok()
    }
}

impl Slice {
    fn count(&self, axis: Option<usize>) -> u64 {
        axis.and_then(|axis| self.spans.get(axis)).map_or(1, |span| span.count)
    }

    /// Rows of the plane.
    pub fn height(&self) -> u64 {
        if self.is_empty() { 0 } else { self.count(self.rows) }
    }

    /// Columns of the plane.
    pub fn width(&self) -> u64 {
        if self.is_empty() { 0 } else { self.count(self.columns) }
    }

    /// Channels of the plane; 1 where there is no such axis.
    pub fn depth(&self) -> u64 {
        self.count(self.channels)
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.spans.iter().any(|span| span.count == 0)
    }

    /// All of it.
    pub fn all(&self) -> Window {
        Window { rows: Span::all(self.height()), columns: Span::all(self.width()) }
    }

    /// All of it with at most `side` samples each way.
    pub fn coarse(&self, side: u64) -> Window {
        let thin = |len: u64| {
            let step = len.div_ceil(side.max(1)).max(1);
            Span { start: 0, count: len.div_ceil(step), step }
        };
        Window { rows: thin(self.height()), columns: thin(self.width()) }
    }

    /// The full index of an element of the plane, of the first channel.
    pub fn index(&self, row: u64, column: u64) -> Vec<u64> {
        let mut index: Vec<u64> = self.spans.iter().map(|span| span.start).collect();
        for (axis, n) in [(self.rows, row), (self.columns, column)] {
            if let Some(axis) = axis
                && let (Some(at), Some(span)) = (index.get_mut(axis), self.spans.get(axis))
            {
                *at = span.index(n);
            }
        }
        index
    }

    /// The index along the axis of the rows (or of the columns) of the n-th row.
    pub fn along(&self, axis: Option<usize>, n: u64) -> u64 {
        axis.and_then(|axis| self.spans.get(axis)).map_or(n, |span| span.index(n))
    }

    /// The distance in the array between two neighbours of the plane along an axis.
    pub fn step(&self, axis: Option<usize>) -> u64 {
        axis.and_then(|axis| self.spans.get(axis)).map_or(1, |span| span.step.max(1))
    }

    /// The window as a region of the array.
    pub fn region(&self, window: &Window) -> Region {
        let mut spans = self.spans.clone();
        for (axis, part) in [(self.rows, &window.rows), (self.columns, &window.columns)] {
            if let Some(span) = axis.and_then(|axis| spans.get_mut(axis)) {
                *span = span.part(part);
            }
        }
        Region(spans)
    }

    /// A window of it as a slice of its own.
    pub fn part(&self, window: &Window) -> Slice {
        Slice { spans: self.region(window).0, ..self.clone() }
    }

    /// It in windows of about 4 MiB, elements of `size` bytes, in the order of rows.
    pub(super) fn bands(&self, size: u64) -> impl DoubleEndedIterator<Item = Window> {
        let (height, width) = (self.height(), self.width());
        let size = size.max(1);
        let columns = (BAND / size).clamp(1, width.max(1));
        let rows = (BAND / size / columns).clamp(1, height.max(1));
        let starts = |len: u64, step: u64| (0..len.div_ceil(step)).map(move |n| n * step);
        starts(height, rows).flat_map(move |row| {
            starts(width, columns).map(move |column| Window {
                rows: Span::range(row, rows.min(height - row)),
                columns: Span::range(column, columns.min(width - column)),
            })
        })
    }

    /// It as an array of its own, without the axes that stand still: what statistics, histograms and writers take.
    pub fn view(&self, array: Arc<dyn Array>) -> ArrayView {
        let shown = [self.rows, self.columns, self.channels];
        let still = |(axis, span): (usize, &Span)| !shown.contains(&Some(axis)) && span.count == 1;
        let single = self.spans.iter().enumerate().map(still).collect();
        ArrayView::new(array, Region(self.spans.clone()), single)
    }

    /// All elements of a window.
    #[cfg(test)]
    pub(super) fn read(&self, array: &dyn Array, task: &Task, window: &Window) -> Result<Vec<u8>> {
        let (raw, gaps) = self.read_lenient(array, task, window)?;
        gaps.into_iter().next().map_or(Ok(raw), |(_, error)| Err(error))
    }

    /// The elements of a window, row by row, the channels of an element together. Parts that cannot be read are
    /// left as the array leaves them and listed, in rows and columns of the window.
    ///
    /// # Errors
    /// As [`array::read_lenient`].
    pub fn read_lenient(
        &self,
        array: &dyn Array,
        task: &Task,
        window: &Window,
    ) -> Result<(Vec<u8>, Vec<(Window, Error)>)> {
        let region = self.region(window);
        let (raw, gaps) = array::read_lenient(array, task, &region)?;
        let place = |gap: MissingRegion| {
            let along = |axis: Option<usize>| axis.and_then(|axis| gap.part.0.get(axis).copied());
            let span = |axis| along(axis).unwrap_or(Span::range(0, 1));
            (Window { rows: span(self.rows), columns: span(self.columns) }, gap.error)
        };
        let gaps = gaps.into_iter().map(place).collect();
        let wanted: Vec<usize> = [self.rows, self.columns, self.channels].into_iter().flatten().collect();
        if wanted.is_sorted() {
            return Ok((raw, gaps));
        }
        Ok((self.permuted(&raw, &region, array.dtype().size() as usize), gaps))
    }

    /// The elements of a window as an Arrow column, row by row: the way to those without a fixed size.
    ///
    /// # Errors
    /// As [`Array::column`].
    pub fn column(&self, array: &dyn Array, task: &Task, window: &Window) -> Result<ArrayRef> {
        let column = array.column(task, &self.region(window))?;
        let (rows, columns) = (window.rows.count, window.columns.count);
        if column.len() as u64 != window.elements() {
            let (came, expected) = (column.len(), window.elements());
            return Err(Error::bug(format!("array: {came} elements came, {expected} were asked for")));
        }
        // Columns of the plane before its rows: the elements come the other way round.
        if self.rows.zip(self.columns).is_none_or(|(rows, columns)| rows < columns) {
            return Ok(column);
        }
        let place = |row| (0..columns).map(move |column| column * rows + row);
        let places: UInt64Array = (0..rows).flat_map(place).collect::<Vec<u64>>().into();
        Ok(arrow::compute::take(&column, &places, None)?)
    }

    /// Puts what came in the order of the axes into the order rows, columns, channels.
    fn permuted(&self, raw: &[u8], region: &Region, size: usize) -> Vec<u8> {
        let shape = region.shape();
        let from = strides::dense(&shape, &strides::c_order(shape.len()), size as u64);
        let mut to = size as u64;
        let along = |axis: Option<usize>| {
            let side = axis.and_then(|axis| Some((*shape.get(axis)?, *from.get(axis)?)));
            let (count, from) = side.unwrap_or((1, 0));
            let axis = Axis { count, from, to };
            to *= count;
            axis
        };
        // The fastest first.
        let axes = strides::joined([self.channels, self.columns, self.rows].map(along));
        let mut out = vec![0; raw.len()];
        strides::copy(raw, &mut out, &axes, size);
        out
    }
}

#[cfg(test)]
mod tests {
    use crate::bytes::source::Source;
    use crate::data::content::array::Plain;
    use crate::data::dtype::DType;

    use super::*;

    /// `a[i, j, k] = 100 i + 10 j + k`, shape 3×4×5.
    fn cube() -> Arc<dyn Array> {
        let mut bytes = Vec::new();
        for i in 0..3u16 {
            for j in 0..4u16 {
                (0..5u16).for_each(|k| bytes.extend((100 * i + 10 * j + k).to_le_bytes()));
            }
        }
        Arc::new(Plain::new(Source::memory("a", bytes), 0, DType::U16, vec![3, 4, 5]).unwrap())
    }

    fn numbers(raw: &[u8]) -> Vec<u16> {
        raw.as_chunks::<2>().0.iter().map(|&b| u16::from_le_bytes(b)).collect()
    }

    #[test]
    fn a_window_of_a_transposed_slice() {
        let spans = vec![Span::all(3), Span::range(2, 1), Span { start: 1, count: 2, step: 2 }];
        let slice = Slice { spans, rows: Some(2), columns: Some(0), channels: None };
        let array = cube();
        let task = Task::new();
        let raw = slice.read(&*array, &task, &slice.all()).unwrap();
        assert_eq!(numbers(&raw), [21, 121, 221, 23, 123, 223]);
        assert_eq!(slice.index(1, 2), [2, 2, 3]);
        let window = Window { rows: Span::range(1, 1), columns: Span { start: 0, count: 2, step: 2 } };
        assert_eq!(numbers(&slice.read(&*array, &task, &window).unwrap()), [23, 223]);
        assert_eq!((window.find(1, 2), window.find(1, 1), window.find(0, 0)), (Some(1), None, None));
        let sliced = slice.view(array);
        assert_eq!(sliced.shape(), [3, 2]);
        let all = array::read(&sliced, &task, &Region::all(&[3, 2])).unwrap();
        assert_eq!(numbers(&all), [21, 23, 121, 123, 221, 223]);
    }

    #[test]
    fn channels_stand_together() {
        let slice = Slice {
            spans: vec![Span::all(3), Span::all(4), Span::all(5)],
            rows: Some(1),
            columns: Some(2),
            channels: Some(0),
        };
        let window = Window { rows: Span::range(3, 1), columns: Span::range(3, 2) };
        let raw = slice.read(&*cube(), &Task::new(), &window).unwrap();
        assert_eq!(numbers(&raw), [33, 133, 233, 34, 134, 234]);
    }

    #[test]
    fn an_overview_has_few_samples() {
        let slice = Slice {
            spans: vec![Span::all(4096), Span::all(10)],
            rows: Some(0),
            columns: Some(1),
            channels: None,
        };
        let window = slice.coarse(64);
        assert_eq!((window.rows.count, window.rows.step, window.columns.step), (64, 64, 1));
        assert_eq!(window.area(), [0.0, 0.0, 10.0, 4096.0]);
    }
}
