//! Guards around tables, arrays and images: every method, also those that have a default.

use super::{guarded, known};
use crate::bytes::error::Result;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::array::{Axis, MissingRegion, Stored, World};
use crate::data::content::text::Line;
use crate::data::content::{
    Array, ArrayFacts, ColumnStatistics, Image, ImageInfo, Layout, Pixels, Rect, RowRanges, Rows, Table,
    TableFacts, Text,
};
use crate::data::dtype::DType;
use crate::data::location::{BytePlace, Location, Owner};
use crate::data::quantised::{Block, Code, Quant, Quantised, StoredBlocks};
use crate::data::region::Region;
use crate::data::stats::passes::{ArrayPasses, TablePasses};
use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{DataType, SchemaRef};
use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

pub(super) struct GuardedTable(Arc<dyn Table>);

impl GuardedTable {
    pub(super) fn around(table: Arc<dyn Table>) -> Arc<dyn Table> {
        Arc::new(GuardedTable(table))
    }
}

impl Table for GuardedTable {
    fn schema(&self) -> &SchemaRef {
        self.0.schema()
    }

    fn rows(&self) -> Rows {
        known(Rows::AtLeast(0), || self.0.rows())
    }

    fn read(&self, task: &Task, rows: Range<u64>, columns: &[usize]) -> Result<RecordBatch> {
        guarded(|| self.0.read(task, rows, columns))
    }

    fn inferred(&self, column: usize) -> Option<&DataType> {
        self.0.inferred(column)
    }

    fn count(&self, task: &Task) -> Result<u64> {
        guarded(|| self.0.count(task))
    }

    fn tail(&self, task: &Task, count: u64, columns: &[usize]) -> Result<(Option<u64>, RecordBatch)> {
        guarded(|| self.0.tail(task, count, columns))
    }

    fn scan_step(&self, at: u64) -> u64 {
        known(1, || self.0.scan_step(at))
    }

    fn equal_rows(&self, task: &Task, at: u64) -> Result<u64> {
        guarded(|| self.0.equal_rows(task, at))
    }

    fn sample(&self, task: &Task, most: u64) -> Result<Vec<Range<u64>>> {
        guarded(|| self.0.sample(task, most))
    }

    fn read_headers(&self, task: &Task, most: usize) -> Result<()> {
        guarded(|| self.0.read_headers(task, most))
    }

    fn facts(&self) -> TableFacts {
        known(TableFacts::default(), || self.0.facts())
    }

    fn statistics(&self, column: usize) -> Option<ColumnStatistics> {
        known(None, || self.0.statistics(column))
    }

    fn layout(&self) -> Layout {
        known(Layout::default(), || self.0.layout())
    }

    fn row_ranges(&self, task: &Task, columns: &[usize], parts: &[bool]) -> Result<Option<RowRanges>> {
        guarded(|| self.0.row_ranges(task, columns, parts))
    }

    fn parts(&self, columns: &[usize]) -> Option<RowRanges> {
        known(None, || self.0.parts(columns))
    }

    fn with_parts(&self, parts: &[bool]) -> Option<Arc<dyn Table>> {
        known(None, || self.0.with_parts(parts)).map(GuardedTable::around)
    }

    fn location(&self, task: &Task, row: u64, column: usize) -> Result<Option<Location>> {
        guarded(|| self.0.location(task, row, column))
    }

    fn owner(&self, task: &Task, byte: &BytePlace) -> Result<Option<Owner>> {
        guarded(|| self.0.owner(task, byte))
    }

    fn passes(&self) -> Option<&dyn TablePasses> {
        // They are made in another process, whose end is an error already.
        self.0.passes()
    }

    fn native(&self) -> Option<Box<dyn Any + Send>> {
        known(None, || self.0.native())
    }
}

pub(super) struct GuardedArray(Arc<dyn Array>);

impl GuardedArray {
    pub(super) fn around(array: Arc<dyn Array>) -> Arc<dyn Array> {
        Arc::new(GuardedArray(array))
    }
}

impl Array for GuardedArray {
    fn dtype(&self) -> &DType {
        self.0.dtype()
    }

    fn shape(&self) -> &[u64] {
        self.0.shape()
    }

    fn read(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<()> {
        guarded(|| self.0.read(task, region, out))
    }

    fn unstored(&self, task: &Task, region: &Region) -> Result<Option<Vec<u8>>> {
        guarded(|| self.0.unstored(task, region))
    }

    fn stored(&self, task: &Task) -> Result<Option<Stored>> {
        guarded(|| self.0.stored(task))
    }

    fn location(&self, task: &Task, index: &[u64]) -> Result<Option<Location>> {
        guarded(|| self.0.location(task, index))
    }

    fn owner(&self, task: &Task, byte: &BytePlace) -> Result<Option<Owner>> {
        guarded(|| self.0.owner(task, byte))
    }

    fn storage(&self) -> Option<(Source, Range<u64>)> {
        known(None, || self.0.storage())
    }

    fn verbatim(&self) -> Option<(Source, Range<u64>)> {
        known(None, || self.0.verbatim())
    }

    fn facts(&self) -> ArrayFacts {
        let mut facts = known(ArrayFacts::default(), || self.0.facts());
        facts.axes = facts.axes.into_iter().map(axis).collect();
        facts.world = facts.world.map(|world| Arc::new(GuardedWorld(world)) as Arc<dyn World>);
        facts
    }

    fn column(&self, task: &Task, region: &Region) -> Result<ArrayRef> {
        guarded(|| self.0.column(task, region))
    }

    fn read_lenient(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<Vec<MissingRegion>> {
        guarded(|| self.0.read_lenient(task, region, out))
    }

    fn layout(&self, task: &Task) -> Result<Layout> {
        guarded(|| self.0.layout(task))
    }

    fn prefetch(&self, task: &Task, region: &Region) {
        known((), || self.0.prefetch(task, region));
    }

    fn quantised(&self) -> Option<&dyn Quantised> {
        known(false, || self.0.quantised().is_some()).then_some(self)
    }

    fn checksummed(&self) -> Option<(Source, Range<u64>)> {
        known(None, || self.0.checksummed())
    }

    fn passes(&self) -> Option<&dyn ArrayPasses> {
        self.0.passes()
    }
}

impl Quantised for GuardedArray {
    fn quants(&self, task: &Task, region: &Region) -> Result<Vec<Quant>> {
        guarded(|| self.0.quantised().map_or(Ok(Vec::new()), |inner| inner.quants(task, region)))
    }

    fn blocks(&self) -> Option<StoredBlocks> {
        known(None, || self.0.quantised().and_then(Quantised::blocks))
    }

    fn block(&self, task: &Task, index: &[u64]) -> Result<Option<Block>> {
        guarded(|| self.0.quantised().map_or(Ok(None), |inner| inner.block(task, index)))
    }

    fn code(&self, task: &Task, index: &[u64]) -> Result<Option<Code>> {
        guarded(|| self.0.quantised().map_or(Ok(None), |inner| inner.code(task, index)))
    }
}

/// An axis with a guard around its coordinates.
fn axis(axis: Axis) -> Axis {
    Axis { coordinate: axis.coordinate.map(GuardedArray::around), ..axis }
}

#[derive(Debug)]
struct GuardedWorld(Arc<dyn World>);

impl World for GuardedWorld {
    fn at(&self, index: &[u64]) -> Vec<(String, f64, String)> {
        known(Vec::new(), || self.0.at(index))
    }
}

pub(super) struct GuardedImage(pub(super) Arc<dyn Image>);

impl Image for GuardedImage {
    fn info(&self) -> &ImageInfo {
        self.0.info()
    }

    fn read(&self, task: &Task, frame: u64, level: u32, rect: Rect) -> Result<Pixels> {
        guarded(|| self.0.read(task, frame, level, rect))
    }

    fn reduced(&self, task: &Task, frame: u64, width: u64, height: u64) -> Result<Option<Pixels>> {
        guarded(|| self.0.reduced(task, frame, width, height))
    }

    fn stored(&self, task: &Task, frame: u64, rect: Rect) -> Result<Option<Pixels>> {
        guarded(|| self.0.stored(task, frame, rect))
    }

    fn unstored_rows(&self, task: &Task, frame: u64, y: u64) -> Result<u64> {
        guarded(|| self.0.unstored_rows(task, frame, y))
    }
}

pub(super) struct GuardedText(pub(super) Arc<dyn Text>);

impl Text for GuardedText {
    fn source(&self) -> &Source {
        self.0.source()
    }

    fn encoding(&self) -> String {
        known(String::new(), || self.0.encoding())
    }

    fn lines(&self) -> Rows {
        known(Rows::AtLeast(0), || self.0.lines())
    }

    fn beginnings(&self, task: &Task, range: Range<u64>) -> Result<Vec<Line>> {
        guarded(|| self.0.beginnings(task, range))
    }

    fn each(
        &self,
        task: &Task,
        start: u64,
        longest: usize,
        each: &mut dyn FnMut(u64, Line) -> Result<bool>,
    ) -> Result<()> {
        guarded(|| self.0.each(task, start, longest, each))
    }

    fn count(&self, task: &Task) -> Result<u64> {
        guarded(|| self.0.count(task))
    }

    fn characters(&self, task: &Task) -> Result<u64> {
        guarded(|| self.0.characters(task))
    }

    fn read(&self, task: &Task, range: Range<u64>) -> Result<Vec<String>> {
        guarded(|| self.0.read(task, range))
    }
}
