//! Records of a text as a table: what every text format's table does alike. A format says where its records
//! are ([`Pages`]) and how they become columns ([`RecordSchema`]).

use super::{Paged, Records, Step};
use crate::bytes::error::Result;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::table::{Columns, Rows, Table, batch, wide_step};
use crate::data::location::{BytePlace, Location, Owner, Within};
use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{DataType, SchemaRef};
use rayon::prelude::*;
use std::ops::Range;

/// From so many rows on, a read is shared by several workers.
const SHARED: u64 = 8 << 10;

/// Where the records are: [`Paged`] for lines, a container's elements for JSON.
pub trait Pages: Send + Sync {
    /// How many, as far as is known now.
    fn rows(&self) -> Rows;
    /// Counts all of them, with progress in bytes.
    fn count(&self, task: &Task) -> Result<u64>;
    /// How many a step of a whole scan takes.
    fn scan_step(&self) -> u64;
    /// Keeps the records `rows`, as far as they are there.
    fn read<R: Records>(&self, task: &Task, rows: Range<u64>, records: &mut R) -> Result<()>;
    /// What the records lie in.
    fn source(&self) -> &Source;
    /// Learns exactly where the row `row` begins, where that was an estimate; reads what it must.
    fn settle(&self, _task: &Task, _row: u64) -> Result<()> {
        Ok(())
    }
    /// Keeps the last `count` records; the index of the first one, if it is known.
    fn tail<R: Records>(
        &self,
        task: &Task,
        count: u64,
        make: &dyn Fn() -> Result<R>,
    ) -> Result<(Option<u64>, R)>;
}

impl Pages for Paged {
    fn rows(&self) -> Rows {
        Paged::rows(self)
    }

    fn count(&self, task: &Task) -> Result<u64> {
        Paged::count(self, task)
    }

    fn scan_step(&self) -> u64 {
        Paged::scan_step(self)
    }

    fn source(&self) -> &Source {
        Paged::source(self)
    }

    fn settle(&self, task: &Task, row: u64) -> Result<()> {
        Paged::settle(self, task, row)
    }

    fn read<R: Records>(&self, task: &Task, rows: Range<u64>, records: &mut R) -> Result<()> {
        Paged::read(self, task, rows, records)
    }

    fn tail<R: Records>(
        &self,
        task: &Task,
        count: u64,
        make: &dyn Fn() -> Result<R>,
    ) -> Result<(Option<u64>, R)> {
        Paged::tail(self, task, count, make)
    }
}

/// How records become columns.
pub trait RecordSchema: Send + Sync {
    /// Gathers the cells of some columns.
    type Cells: Gather;
    /// The columns of the table.
    fn columns(&self) -> &Columns;
    /// An empty gatherer of the columns with these indices.
    fn cells(&self, columns: &[usize]) -> Result<Self::Cells>;
}

/// Cells of the asked columns, as they are gathered.
pub trait Gather: Records + Send {
    /// The columns, in the order in which they were asked for, and how many rows they have.
    fn finish(self) -> Result<(Vec<ArrayRef>, usize)>;

    /// Where in `bytes` the record lies that was split off them last; `None` where that is not told.
    fn record(&self, _bytes: &[u8]) -> Option<Range<usize>> {
        None
    }

    /// Where in `bytes` the text of a column of that record stands, quotes included; `None` where it has none, or
    /// that is not told.
    fn field(&self, _bytes: &[u8], _column: usize) -> Option<Range<usize>> {
        None
    }
}

/// A table of records.
pub struct TextTable<F, P = Paged> {
    pages: P,
    form: F,
}

impl<F: RecordSchema, P: Pages> TextTable<F, P> {
    /// The records of `pages` in the columns of `form`.
    pub fn new(pages: P, form: F) -> Self {
        TextTable { pages, form }
    }

    /// Where the records are.
    pub fn pages(&self) -> &P {
        &self.pages
    }

    fn finish(&self, cells: F::Cells, columns: &[usize]) -> Result<RecordBatch> {
        let (arrays, rows) = cells.finish()?;
        batch(&self.form.columns().schema, columns, arrays, rows)
    }

    /// Where the row lies in the text, and each of `columns` in it; `None` behind the last row.
    fn traced(&self, task: &Task, row: u64, columns: Range<usize>) -> Result<Option<Found>> {
        self.pages.settle(task, row)?;
        let mut trace = Trace { cells: self.form.cells(&[])?, base: 0, columns, found: None };
        self.pages.read(task, row..row.saturating_add(1), &mut trace)?;
        Ok(trace.found)
    }

    /// The first row that does not end before byte `at` of the text, by halves.
    fn row_at(&self, task: &Task, at: u64) -> Result<Option<(u64, Range<u64>)>> {
        let (mut first, mut behind) = (0, self.pages.rows().number());
        let mut found = None;
        // The number of rows may be an estimate.
        while first < behind || found.is_none() && first == behind && !self.is_counted() {
            task.check()?;
            let row = if first < behind { first + (behind - first) / 2 } else { first };
            match self.traced(task, row, 0..0)? {
                Some(there) if there.record.end <= at => {
                    first = row + 1;
                    behind = behind.max(first);
                }
                Some(there) => {
                    behind = row;
                    found = Some((row, there.record));
                }
                None => {
                    behind = row;
                    if first == behind {
                        break;
                    }
                }
            }
        }
        Ok(found)
    }

    fn is_counted(&self) -> bool {
        self.pages.rows().exact().is_some()
    }

    fn part(&self, task: &Task, rows: Range<u64>, columns: &[usize]) -> Result<RecordBatch> {
        let mut cells = self.form.cells(columns)?;
        self.pages.read(task, rows, &mut cells)?;
        self.finish(cells, columns)
    }
}

/// Where a row lies in the text.
struct Found {
    record: Range<u64>,
    /// The columns that were asked for; where they stand from the beginning of the record.
    fields: Vec<Option<Range<u64>>>,
}

/// Looks where records lie, and keeps none.
struct Trace<C> {
    cells: C,
    /// The place of the bytes that records are found in.
    base: u64,
    columns: Range<usize>,
    found: Option<Found>,
}

impl<C: Gather> Records for Trace<C> {
    fn begin(&mut self, place: u64) {
        self.base = place;
    }

    fn split(&mut self, bytes: &[u8], at: usize, last: bool) -> Step {
        self.cells.split(bytes, at, last)
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<()> {
        let Some(record) = self.cells.record(bytes) else { return Ok(()) };
        let field = |column: usize| {
            let field = self.cells.field(bytes, column)?;
            let from = |at: usize| at.checked_sub(record.start).map(|at| at as u64);
            Some(from(field.start)?..from(field.end)?)
        };
        let fields = self.columns.clone().map(field).collect();
        self.found =
            Some(Found { record: self.base + record.start as u64..self.base + record.end as u64, fields });
        Ok(())
    }

    fn fit(&self, bytes: &[u8], at: usize) -> f64 {
        self.cells.fit(bytes, at)
    }
}

impl<F: RecordSchema, P: Pages> Table for TextTable<F, P> {
    fn schema(&self) -> &SchemaRef {
        &self.form.columns().schema
    }

    fn inferred(&self, column: usize) -> Option<&DataType> {
        self.form.columns().inferred(column)
    }

    fn rows(&self) -> Rows {
        self.pages.rows()
    }

    /// In one go, or by several workers at once where the rows are many and their places known.
    fn read(&self, task: &Task, rows: Range<u64>, columns: &[usize]) -> Result<RecordBatch> {
        let Some(total) = self.rows().exact() else { return self.part(task, rows, columns) };
        let end = rows.end.min(total);
        let count = end.saturating_sub(rows.start);
        let workers = rayon::current_num_threads() as u64;
        // A worker is one of several that read other rows at the same time: its parts would only have to be joined.
        if count < SHARED || workers < 2 || rayon::current_thread_index().is_some() {
            return self.part(task, rows, columns);
        }
        let step = count.div_ceil(workers);
        let part = |i: u64| rows.start + i * step..rows.start.saturating_add((i + 1) * step).min(end);
        let parts: Vec<Range<u64>> = (0..workers).map(part).filter(|part| !part.is_empty()).collect();
        let read = |rows| self.part(task, rows, columns);
        let read: Vec<Result<RecordBatch>> = parts.into_par_iter().map(read).collect();
        let batches: Vec<RecordBatch> = read.into_iter().collect::<Result<_>>()?;
        let schema = crate::data::content::table::project(&self.form.columns().schema, columns)?;
        Ok(arrow::compute::concat_batches(&schema, &batches)?)
    }

    fn count(&self, task: &Task) -> Result<u64> {
        self.pages.count(task)
    }

    fn location(&self, task: &Task, row: u64, column: usize) -> Result<Option<Location>> {
        let Some(found) = self.traced(task, row, column..column.saturating_add(1))? else { return Ok(None) };
        let mut location =
            Location::new(self.pages.source().clone(), found.record, "record", format!("row {row}"));
        location.within = found.fields.into_iter().next().flatten().map(Within::from);
        Ok(Some(location))
    }

    fn owner(&self, task: &Task, byte: &BytePlace) -> Result<Option<Owner>> {
        let source = self.pages.source();
        let Some(at) = byte.offset_in(source) else { return Ok(None) };
        let Some((row, record)) = self.row_at(task, at)? else { return Ok(None) };
        let unit = Location::new(source.clone(), record.clone(), "record", format!("row {row}"));
        if !record.contains(&at) {
            return Ok(None);
        }
        let width = self.form.columns().schema.fields().len();
        let fields = self.traced(task, row, 0..width)?.map(|found| found.fields).unwrap_or_default();
        let at = at - record.start;
        let column = fields.iter().position(|field| field.as_ref().is_some_and(|field| field.contains(&at)));
        Ok(Some(Owner::of_row(unit, row, column, column.is_some())))
    }

    fn scan_step(&self, _at: u64) -> u64 {
        self.pages.scan_step().min(wide_step(&self.form.columns().schema))
    }

    fn tail(&self, task: &Task, count: u64, columns: &[usize]) -> Result<(Option<u64>, RecordBatch)> {
        let (first, cells) = self.pages.tail(task, count, &|| self.form.cells(columns))?;
        Ok((first, self.finish(cells, columns)?))
    }
}
