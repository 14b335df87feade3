//! Records of a text as a table: what every text format's table does alike. A format says where its records
//! are ([`Pages`]) and how they become columns ([`RecordSchema`]).

use super::{Paged, Records};
use crate::bytes::error::Result;
use crate::bytes::task::Task;
use crate::data::content::table::{Columns, Rows, Table, batch};
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

    fn part(&self, task: &Task, rows: Range<u64>, columns: &[usize]) -> Result<RecordBatch> {
        let mut cells = self.form.cells(columns)?;
        self.pages.read(task, rows, &mut cells)?;
        self.finish(cells, columns)
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

    fn scan_step(&self, _at: u64) -> u64 {
        self.pages.scan_step()
    }

    fn tail(&self, task: &Task, count: u64, columns: &[usize]) -> Result<(Option<u64>, RecordBatch)> {
        let (first, cells) = self.pages.tail(task, count, &|| self.form.cells(columns))?;
        Ok((first, self.finish(cells, columns)?))
    }
}
