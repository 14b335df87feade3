//! Adapters: one content seen as another — some rows and columns of a table, a slice of an array, an
//! array as a table, columns as an array, a field of records, scaled values, a picture as an array and back, text columns
//! as typed ones.
//! They implement the traits of [`crate::data::content`], so views, commands and writers need no special cases.

mod cast;
mod chosen;
mod columns;
mod composite;
mod embedded;
mod field;
mod frame;
pub mod graph;
pub mod graph_cost;
mod lenient;
mod long;
mod managed;
mod mapped;
mod nested;
mod overview;
mod parts;
mod picture;
mod records;
mod retyped;
mod shown;
mod texts;
mod typed;

pub use cast::Cast;
pub use chosen::ChosenRows;
pub use columns::{Columns, NullRule, TableArray, column_dtype, values as cell_bytes};
pub use composite::{ChannelWindows, Composite};
pub use embedded::EmbeddedFiles;
pub use field::{FieldArray, FieldPath};
pub use frame::FrameArray;
pub use lenient::LenientTyped;
pub use long::LongTable;
pub use managed::{Managed, profile_name, profile_text};
pub use mapped::{ColumnMap, MappedArray, MappedTable, scaled};
pub use overview::Overview;
pub use parts::PartsArray;
pub use picture::{ArrayImage, ImageArray, is_picture};
pub use records::{ArrayTable, StoredRows, arrow_of, column};
pub use retyped::Retyped;
pub use shown::Interpreted;
pub use texts::{TextColumn, is_text, text_dtype};
pub use typed::{TypeMismatch, Typed, is_json};

use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::content::array::{Axis, MissingRegion, Stored};
use crate::data::content::table::{batch, cut, project};
use crate::data::content::{Array, ArrayFacts, ColumnStatistics, Layout, Rows, Table, TableFacts, sample};
use crate::data::dtype::DType;
use crate::data::location::{BytePlace, Location, Owner};
use crate::data::quantised::{Block, Code, Quant, Quantised};
use crate::data::region::{Region, Span};
use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{DataType, SchemaRef};
use std::ops::Range;
use std::sync::Arc;

/// Some rows and columns of a table.
pub struct TableView {
    table: Arc<dyn Table>,
    columns: Vec<usize>,
    /// An end of `u64::MAX` means all that follow.
    rows: Range<u64>,
    schema: SchemaRef,
}

impl TableView {
    /// The rows `rows` (an end beyond the table is cut) of the columns `columns`, in that order.
    ///
    /// # Errors
    /// `Bug` for a column index that the table has not.
    pub fn new(table: Arc<dyn Table>, rows: Range<u64>, columns: Vec<usize>) -> Result<Self> {
        let schema = project(table.schema(), &columns)?;
        Ok(TableView { table, columns, rows, schema })
    }

    /// Whether rows were left out.
    fn is_cut(&self) -> bool {
        self.rows.start > 0 || self.rows.end < u64::MAX
    }
}

impl Table for TableView {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn rows(&self) -> Rows {
        let within = |n: u64| cut(&self.rows, n);
        let len = |range: Range<u64>| range.end - range.start;
        match self.table.rows() {
            Rows::Exact(n) => Rows::Exact(len(within(n))),
            Rows::AtLeast(n) | Rows::About { known: n, .. } if within(n).end == self.rows.end => {
                Rows::Exact(len(within(n)))
            }
            Rows::AtLeast(n) => Rows::AtLeast(len(within(n))),
            Rows::About { rows, known } => Rows::About { rows: len(within(rows)), known: len(within(known)) },
        }
    }

    fn read(&self, task: &Task, rows: Range<u64>, columns: &[usize]) -> Result<RecordBatch> {
        let wanted = |n: &usize| {
            self.columns.get(*n).copied().ok_or_else(|| Error::bug(format!("column {n} was asked for")))
        };
        let inner: Vec<usize> = columns.iter().map(wanted).collect::<Result<_>>()?;
        let at = |row: u64| self.rows.start.saturating_add(row).min(self.rows.end);
        let read = self.table.read(task, at(rows.start)..at(rows.end), &inner)?;
        batch(&self.schema, columns, read.columns().to_vec(), read.num_rows())
    }

    fn inferred(&self, column: usize) -> Option<&DataType> {
        self.table.inferred(*self.columns.get(column)?)
    }

    fn count(&self, task: &Task) -> Result<u64> {
        if let Some(known) = self.rows().exact() {
            return Ok(known);
        }
        let total = self.table.count(task)?;
        let rows = cut(&self.rows, total);
        Ok(rows.end - rows.start)
    }

    fn read_headers(&self, task: &Task, most: usize) -> Result<()> {
        self.table.read_headers(task, most)
    }

    fn scan_step(&self, at: u64) -> u64 {
        self.table.scan_step(self.rows.start.saturating_add(at))
    }

    fn equal_rows(&self, task: &Task, at: u64) -> Result<u64> {
        let first = self.rows.start.saturating_add(at);
        Ok(self.table.equal_rows(task, first)?.min(self.rows.end.saturating_sub(first)))
    }

    fn sample(&self, task: &Task, most: u64) -> Result<Vec<Range<u64>>> {
        match self.is_cut() {
            true => Ok(sample::spread(self.rows().known(), most)),
            false => self.table.sample(task, most),
        }
    }

    fn location(&self, task: &Task, row: u64, column: usize) -> Result<Option<Location>> {
        let Some(&inner) = self.columns.get(column) else { return Ok(None) };
        self.table.location(task, self.rows.start.saturating_add(row), inner)
    }

    fn owner(&self, task: &Task, byte: &BytePlace) -> Result<Option<Owner>> {
        let Some(mut owner) = self.table.owner(task, byte)? else { return Ok(None) };
        let Some((row, column)) = owner.cell else { return Ok(None) };
        let Some(row) = row.checked_sub(self.rows.start).filter(|_| row < self.rows.end) else {
            return Ok(None);
        };
        let here = |column: usize| self.columns.iter().position(|inner| *inner == column);
        owner.cell = Some((row, column.and_then(here)));
        Ok(Some(owner))
    }

    fn layout(&self) -> Layout {
        if self.is_cut() { Layout::default() } else { self.table.layout() }
    }

    fn facts(&self) -> TableFacts {
        self.table.facts()
    }

    fn statistics(&self, column: usize) -> Option<ColumnStatistics> {
        let inner = *self.columns.get(column)?;
        if self.is_cut() { None } else { self.table.statistics(inner) }
    }
}

/// A slice of an array; dimensions that were given by an index are gone.
pub struct ArrayView {
    array: Arc<dyn Array>,
    region: Region,
    /// For each dimension of the inner array, whether it is gone.
    single: Vec<bool>,
    shape: Vec<u64>,
}

impl ArrayView {
    /// The part of `array` in NumPy's notation (see [`Region::parse`]).
    ///
    /// # Errors
    /// `Unsupported` where the text is no slice of this shape.
    pub fn parse(array: Arc<dyn Array>, slice: &str) -> Result<Self> {
        let (region, single) = Region::parse(slice, array.shape())?;
        Ok(Self::new(array, region, single))
    }

    /// The part `region` of `array`, without the dimensions marked in `single`.
    pub fn new(array: Arc<dyn Array>, region: Region, single: Vec<bool>) -> Self {
        let kept = region.0.iter().zip(&single).filter(|(_, gone)| !**gone);
        let shape = kept.map(|(span, _)| span.count).collect();
        ArrayView { array, region, single, shape }
    }

    /// The shape of its chunks, where its first element begins one and it leaves none out.
    fn chunks(&self, inner: &[u64]) -> Option<Vec<u64>> {
        let axes = || self.region.0.iter().zip(inner).zip(&self.single).filter(|(_, gone)| !**gone);
        let whole = |span: &Span, side: u64| span.step == 1 && span.start.checked_rem(side) == Some(0);
        let all = inner.len() == self.single.len() && axes().all(|((span, &side), _)| whole(span, side));
        all.then(|| axes().map(|((_, &side), _)| side).collect())
    }

    /// The region of the inner array that `region` of this one is.
    fn outer(&self, region: &Region) -> Result<Region> {
        region.check(&self.shape)?;
        let mut wanted = region.0.iter();
        let mut spans = Vec::with_capacity(self.region.0.len());
        for (mine, gone) in self.region.0.iter().zip(&self.single) {
            spans.push(match gone {
                true => *mine,
                false => mine.part(wanted.next().ok_or_else(|| Error::bug("a slice lost a dimension"))?),
            });
        }
        Ok(Region(spans))
    }
}

impl Array for ArrayView {
    fn dtype(&self) -> &DType {
        self.array.dtype()
    }

    fn shape(&self) -> &[u64] {
        &self.shape
    }

    fn read(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<()> {
        self.array.read(task, &self.outer(region)?, out)
    }

    fn read_lenient(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<Vec<MissingRegion>> {
        let mut gaps = self.array.read_lenient(task, &self.outer(region)?, out)?;
        for gap in &mut gaps {
            let mut single = self.single.iter();
            gap.part.0.retain(|_| !single.next().copied().unwrap_or(false));
        }
        Ok(gaps)
    }

    fn unstored(&self, task: &Task, region: &Region) -> Result<Option<Vec<u8>>> {
        self.array.unstored(task, &self.outer(region)?)
    }

    fn stored(&self, task: &Task) -> Result<Option<Stored>> {
        let Some(mut stored) = self.array.stored(task)? else { return Ok(None) };
        let inside = |region: &Region| -> Option<Region> {
            let spans = region.0.iter().zip(&self.region.0).map(|(there, mine)| mine.holding(there));
            let mut spans = spans.collect::<Option<Vec<Span>>>()?;
            let mut single = self.single.iter();
            spans.retain(|_| !single.next().copied().unwrap_or(false));
            Some(Region(spans))
        };
        stored.regions = stored.regions.iter().filter_map(inside).collect();
        Ok(Some(stored))
    }

    fn location(&self, task: &Task, index: &[u64]) -> Result<Option<Location>> {
        let outer = self.outer(&Region(index.iter().map(|at| Span::range(*at, 1)).collect()))?;
        self.array.location(task, &outer.start())
    }

    fn column(&self, task: &Task, region: &Region) -> Result<ArrayRef> {
        self.array.column(task, &self.outer(region)?)
    }

    fn prefetch(&self, task: &Task, region: &Region) {
        if let Ok(region) = self.outer(region) {
            self.array.prefetch(task, &region);
        }
    }

    fn quantised(&self) -> Option<&dyn Quantised> {
        self.array.quantised().map(|_| self as &dyn Quantised)
    }

    fn facts(&self) -> ArrayFacts {
        let mut facts = ArrayFacts { bytes_stored: None, ..self.array.facts() };
        facts.chunks = facts.chunks.and_then(|chunks| self.chunks(&chunks));
        if facts.axes.len() == self.single.len() {
            // Names hold for what is left, and coordinates that are a start and a step; others only where the whole
            // axis is.
            let kept = facts.axes.into_iter().zip(self.region.0.iter().zip(self.array.shape()));
            let cut = |(axis, (span, len)): (Axis, (&Span, &u64))| match *span == Span::all(*len) {
                true => axis,
                false => {
                    let along = |(first, each): (f64, f64)| {
                        (first + each * span.start as f64, each * span.step as f64)
                    };
                    let regular = axis.regular.map(along);
                    Axis { name: axis.name, unit: axis.unit, regular, ..Axis::default() }
                }
            };
            let left = kept.zip(&self.single).filter(|(_, gone)| !**gone);
            facts.axes = left.map(|(axis, _)| cut(axis)).collect();
        } else {
            facts.axes.clear();
        }
        facts
    }
}

impl Quantised for ArrayView {
    fn quants(&self, task: &Task, region: &Region) -> Result<Vec<Quant>> {
        let outer = self.outer(region)?;
        self.array.quantised().map_or(Ok(Vec::new()), |inner| inner.quants(task, &outer))
    }

    fn block(&self, task: &Task, index: &[u64]) -> Result<Option<Block>> {
        let outer = self.outer(&Region(index.iter().map(|at| Span::range(*at, 1)).collect()))?;
        self.array.quantised().map_or(Ok(None), |inner| inner.block(task, &outer.start()))
    }

    fn code(&self, task: &Task, index: &[u64]) -> Result<Option<Code>> {
        let outer = self.outer(&Region(index.iter().map(|at| Span::range(*at, 1)).collect()))?;
        self.array.quantised().map_or(Ok(None), |inner| inner.code(task, &outer.start()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::source::Source;
    use crate::data::content::array::{Plain, read};
    use crate::data::content::table::MemoryTable;
    use arrow::array::{ArrayRef, AsArray, Int32Array, StringArray};
    use arrow::datatypes::Int32Type;

    fn table() -> Arc<dyn Table> {
        let a: ArrayRef = Arc::new(Int32Array::from_iter_values(0..10));
        let b: ArrayRef = Arc::new(StringArray::from_iter_values((0..10).map(|n| format!("r{n}"))));
        Arc::new(MemoryTable::new(RecordBatch::try_from_iter([("a", a), ("b", b)]).unwrap()))
    }

    #[test]
    fn a_view_of_a_table_has_its_own_row_numbers() {
        let task = Task::new();
        let view = TableView::new(table(), 3..7, vec![1, 0]).unwrap();
        assert_eq!((view.rows(), view.count(&task).unwrap()), (Rows::Exact(4), 4));
        let got = view.read(&task, 2..9, &[1]).unwrap();
        assert_eq!(got.column(0).as_primitive::<Int32Type>().values(), &[5, 6]);
        assert_eq!(TableView::new(table(), 8..u64::MAX, vec![0]).unwrap().rows(), Rows::Exact(2));
        assert_eq!(TableView::new(table(), 20..30, vec![0]).unwrap().rows(), Rows::Exact(0));
        assert!(TableView::new(table(), 0..1, vec![2]).is_err());
    }

    #[test]
    fn a_slice_of_a_slice() {
        let task = Task::new();
        let plain =
            Plain::new(Source::memory("a", (0..60).collect::<Vec<u8>>()), 0, DType::U8, vec![3, 4, 5]);
        let outer = Arc::new(ArrayView::parse(Arc::new(plain.unwrap()), "1, ::2, 1:").unwrap());
        assert_eq!(outer.shape(), [2, 4]);
        let inner = ArrayView::parse(outer, "-1, ::3").unwrap();
        assert_eq!(read(&inner, &task, &Region::all(inner.shape())).unwrap(), [31, 34]);
    }
}
