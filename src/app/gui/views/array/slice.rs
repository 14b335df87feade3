//! `Slice`: the part of an array that is on the screen, as a plane of rows, columns and perhaps
//! channels; and `Window`: the part of a plane that is read at once.

use std::sync::Arc;

use gander::bytes::error::{Error, Result};
use gander::bytes::limits;
use gander::bytes::task::Task;
use gander::data::content::array::{Axis, MissingRegion};
use gander::data::content::{Array, ArrayFacts};
use gander::data::dtype::DType;
use gander::data::region::{Region, Span};

/// A plane through an array.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Slice {
    /// The part of each axis.
    pub(crate) spans: Vec<Span>,
    /// The axis that goes down.
    pub(crate) rows: Option<usize>,
    /// The axis that goes across.
    pub(crate) columns: Option<usize>,
    /// The axis of the channels.
    pub(crate) channels: Option<usize>,
}

/// Rows and columns of a plane, with steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Window {
    /// Which rows of the plane.
    pub(crate) rows: Span,
    /// Which columns of the plane.
    pub(crate) columns: Span,
}

impl Window {
    /// How many elements it reads of each channel.
    pub(crate) fn elements(&self) -> u64 {
        self.rows.count.saturating_mul(self.columns.count)
    }

    /// The elements that the window stands for, steps filled in: left, top, width, height.
    pub(crate) fn area(&self) -> [f64; 4] {
        let (rows, columns) = (&self.rows, &self.columns);
        [
            columns.start as f64,
            rows.start as f64,
            columns.count as f64 * columns.step as f64,
            rows.count as f64 * rows.step as f64,
        ]
    }

    /// Where the sample for an element lies in the window, if it is exactly there.
    pub(crate) fn find(&self, row: u64, column: u64) -> Option<usize> {
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
    pub(crate) fn height(&self) -> u64 {
        if self.is_empty() { 0 } else { self.count(self.rows) }
    }

    /// Columns of the plane.
    pub(crate) fn width(&self) -> u64 {
        if self.is_empty() { 0 } else { self.count(self.columns) }
    }

    /// Channels of the plane; 1 where there is no such axis.
    pub(crate) fn depth(&self) -> u64 {
        self.count(self.channels)
    }

    /// Whether nothing is in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.spans.iter().any(|span| span.count == 0)
    }

    /// All of it.
    pub(crate) fn all(&self) -> Window {
        Window { rows: Span::all(self.height()), columns: Span::all(self.width()) }
    }

    /// All of it with at most `side` samples each way.
    pub(crate) fn coarse(&self, side: u64) -> Window {
        let thin = |len: u64| {
            let step = len.div_ceil(side.max(1)).max(1);
            Span { start: 0, count: len.div_ceil(step), step }
        };
        Window { rows: thin(self.height()), columns: thin(self.width()) }
    }

    /// The full index of an element of the plane, of the first channel.
    pub(crate) fn index(&self, row: u64, column: u64) -> Vec<u64> {
        let mut index: Vec<u64> = self.spans.iter().map(|span| span.start).collect();
        for (axis, n) in [(self.rows, row), (self.columns, column)] {
            if let Some(axis) = axis {
                index[axis] = self.spans[axis].index(n);
            }
        }
        index
    }

    /// The index along the axis of the rows (or of the columns) of the n-th row.
    pub(crate) fn along(&self, axis: Option<usize>, n: u64) -> u64 {
        axis.and_then(|axis| self.spans.get(axis)).map_or(n, |span| span.index(n))
    }

    /// The distance in the array between two neighbours of the plane along an axis.
    pub(crate) fn step(&self, axis: Option<usize>) -> u64 {
        axis.and_then(|axis| self.spans.get(axis)).map_or(1, |span| span.step.max(1))
    }

    /// The window as a region of the array.
    pub(crate) fn region(&self, window: &Window) -> Region {
        let mut spans = self.spans.clone();
        for (axis, part) in [(self.rows, &window.rows), (self.columns, &window.columns)] {
            if let Some(span) = axis.and_then(|axis| spans.get_mut(axis)) {
                *span = Span {
                    start: span.index(part.start),
                    count: part.count,
                    step: span.step.saturating_mul(part.step),
                };
            }
        }
        Region(spans)
    }

    /// A window of it as a slice of its own.
    pub(crate) fn part(&self, window: &Window) -> Slice {
        Slice { spans: self.region(window).0, ..self.clone() }
    }

    /// All elements of a window.
    #[cfg(test)]
    pub(crate) fn read(&self, array: &dyn Array, task: &Task, window: &Window) -> Result<Vec<u8>> {
        let (raw, gaps) = self.read_lenient(array, task, window)?;
        gaps.into_iter().next().map_or(Ok(raw), |(_, error)| Err(error))
    }

    /// The elements of a window, row by row, the channels of an element together. Parts that cannot be read are
    /// left as the array leaves them and listed, in rows and columns of the window.
    pub(crate) fn read_lenient(
        &self,
        array: &dyn Array,
        task: &Task,
        window: &Window,
    ) -> Result<(Vec<u8>, Vec<(Window, Error)>)> {
        let region = self.region(window);
        region.check(array.shape())?;
        let bytes = limits::bytes(&region.shape(), array.dtype().size())?;
        let bytes = limits::check(bytes, limits::READ, "this part of the array")?;
        let mut raw = limits::zeroed(bytes, "the array")?;
        let gaps = array.read_lenient(task, &region, &mut raw)?;
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

    /// Puts what came in the order of the axes into the order rows, columns, channels.
    fn permuted(&self, raw: &[u8], region: &Region, size: usize) -> Vec<u8> {
        let shape: Vec<usize> = region.shape().iter().map(|&n| n as usize).collect();
        let mut strides = vec![1usize; shape.len()];
        for axis in (1..shape.len()).rev() {
            strides[axis - 1] = strides[axis] * shape[axis];
        }
        let along = |axis: Option<usize>| axis.map_or((1, 0), |axis| (shape[axis], strides[axis]));
        let (rows, columns, channels) = (along(self.rows), along(self.columns), along(self.channels));
        let mut out = Vec::with_capacity(raw.len());
        for row in 0..rows.0 {
            for column in 0..columns.0 {
                for channel in 0..channels.0 {
                    let at = (row * rows.1 + column * columns.1 + channel * channels.1) * size;
                    out.extend_from_slice(&raw[at..at + size]);
                }
            }
        }
        out
    }
}

/// A slice as an array of its own: what statistics, histograms and *Export…* take.
pub(crate) struct Sliced {
    array: Arc<dyn Array>,
    spans: Vec<Span>,
    /// The axes that are left, in the array's order.
    axes: Vec<usize>,
    shape: Vec<u64>,
}

impl Sliced {
    /// The slice of an array; axes that stand still are gone.
    pub(crate) fn new(array: Arc<dyn Array>, slice: &Slice) -> Self {
        let shown = [slice.rows, slice.columns, slice.channels];
        let kept = |axis: &usize| shown.contains(&Some(*axis)) || slice.spans[*axis].count != 1;
        let axes: Vec<usize> = (0..slice.spans.len()).filter(kept).collect();
        let shape: Vec<u64> = axes.iter().map(|&axis| slice.spans[axis].count).collect();
        Sliced { array, spans: slice.spans.clone(), axes, shape }
    }

    /// The region of the inner array that a region of this one is.
    fn outer(&self, region: &Region) -> Region {
        let mut spans = self.spans.clone();
        for (&axis, part) in self.axes.iter().zip(&region.0) {
            let span = &mut spans[axis];
            *span = Span {
                start: span.index(part.start),
                count: part.count,
                step: span.step.saturating_mul(part.step),
            };
        }
        Region(spans)
    }

    /// What an axis means: coordinates hold only where all of it is left.
    fn axis(&self, whole: &Axis, axis: usize) -> Axis {
        if self.spans[axis] == Span::all(self.array.shape()[axis]) {
            return whole.clone();
        }
        Axis { name: whole.name.clone(), unit: whole.unit.clone(), ..Axis::default() }
    }
}

impl Array for Sliced {
    fn dtype(&self) -> &DType {
        self.array.dtype()
    }

    fn shape(&self) -> &[u64] {
        &self.shape
    }

    fn read(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<()> {
        if out.is_empty() {
            return Ok(());
        }
        self.array.read(task, &self.outer(region), out)
    }

    fn read_lenient(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<Vec<MissingRegion>> {
        if out.is_empty() {
            return Ok(Vec::new());
        }
        let outer = self.outer(region);
        let mut gaps = self.array.read_lenient(task, &outer, out)?;
        for gap in &mut gaps {
            let along =
                |&axis: &usize| gap.part.0.get(axis).copied().unwrap_or(Span::all(outer.0[axis].count));
            gap.part = Region(self.axes.iter().map(along).collect());
        }
        Ok(gaps)
    }

    fn column(&self, task: &Task, region: &Region) -> Result<arrow::array::ArrayRef> {
        self.array.column(task, &self.outer(region))
    }

    fn facts(&self) -> ArrayFacts {
        let facts = self.array.facts();
        let axes = match facts.axes.len() == self.spans.len() {
            true => self.axes.iter().map(|&axis| self.axis(&facts.axes[axis], axis)).collect(),
            false => Vec::new(),
        };
        // A view begins where a chunk does only if it is whole; elsewhere their shape still tells what is near.
        let chunks = facts.chunks.filter(|chunks| chunks.len() == self.spans.len());
        ArrayFacts {
            chunks: chunks.map(|chunks| self.axes.iter().map(|&axis| chunks[axis]).collect()),
            unit: facts.unit,
            times: facts.times,
            scaling: facts.scaling,
            value_names: facts.value_names,
            axes,
            ..ArrayFacts::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use gander::bytes::source::Source;
    use gander::data::content::array::{self, Plain};

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
        let sliced = Sliced::new(array, &slice);
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
