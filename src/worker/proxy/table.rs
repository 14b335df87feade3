//! Tables.

use super::rows;
use crate::bytes::error::Result;
use crate::bytes::task::Task;
use crate::data::content::{ColumnStatistics, Layout, RowRanges, Rows, Table, TableFacts};
use crate::data::location::{BytePlace, Location, Owner};
use crate::data::stats::passes::TablePasses;
use crate::data::stats::summary::{Summaries, Summary};
use crate::data::stats::{Binning, Histogram, TableStats};
use crate::worker::calls::Call;
use crate::worker::link::Handle;
use crate::worker::wire::{In, Out, Wire, check_batch, put_inferred, take_inferred, wrong};
use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, SchemaRef};
use parking_lot::Mutex;
use std::ops::Range;
use std::sync::Arc;

/// A table in a worker.
pub(in crate::worker) struct RemoteTable {
    handle: Arc<Handle>,
    schema: SchemaRef,
    inferred: Vec<Option<DataType>>,
    /// What its facts were, after how many changes.
    facts: Mutex<Option<(u64, TableFacts)>>,
}

impl RemoteTable {
    pub(in crate::worker) fn describe(table: &dyn Table, out: &mut Out<'_>) {
        table.schema().put(out);
        put_inferred(table, out);
    }

    pub(in crate::worker) fn described(handle: Arc<Handle>, from: &mut In<'_>) -> Result<Self> {
        let schema = SchemaRef::read(from)?;
        let inferred = take_inferred(schema.fields().len(), from)?;
        Ok(RemoteTable { handle, schema, inferred, facts: Mutex::default() })
    }

    /// What was known of it may be more now.
    fn forget(&self) {
        *self.facts.lock() = None;
    }
}

impl Table for RemoteTable {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn rows(&self) -> Rows {
        rows(&self.handle)
    }

    fn read(&self, task: &Task, rows: Range<u64>, columns: &[usize]) -> Result<RecordBatch> {
        let most = rows.end.saturating_sub(rows.start);
        let batch: RecordBatch =
            self.handle.call(task, &Call::TableRead { rows, columns: columns.to_vec() })?;
        check_batch(&batch, &self.schema, columns, most)?;
        Ok(batch)
    }

    fn inferred(&self, column: usize) -> Option<&DataType> {
        self.inferred.get(column)?.as_ref()
    }

    fn count(&self, task: &Task) -> Result<u64> {
        if let Rows::Exact(rows) = self.rows() {
            return Ok(rows);
        }
        let count = self.handle.call(task, &Call::TableCount);
        self.forget();
        count
    }

    fn tail(&self, task: &Task, count: u64, columns: &[usize]) -> Result<(Option<u64>, RecordBatch)> {
        let (first, batch): (Option<u64>, RecordBatch) =
            self.handle.call(task, &Call::TableTail { count, columns: columns.to_vec() })?;
        check_batch(&batch, &self.schema, columns, count)?;
        Ok((first, batch))
    }

    fn scan_step(&self, at: u64) -> u64 {
        self.handle.known(65_536, &Call::TableScanStep { at }).max(1)
    }

    fn equal_rows(&self, task: &Task, at: u64) -> Result<u64> {
        self.handle.call(task, &Call::TableEqualRows { at })
    }

    fn sample(&self, task: &Task, most: u64) -> Result<Vec<Range<u64>>> {
        self.handle.call(task, &Call::TableSample { most })
    }

    fn read_headers(&self, task: &Task, most: usize) -> Result<()> {
        if let Rows::Exact(_) = self.rows() {
            // Nothing but its facts can become more.
            self.forget();
        }
        let done = self.handle.call(task, &Call::TableReadHeaders { most });
        self.forget();
        done
    }

    fn facts(&self) -> TableFacts {
        let changes = self.handle.changes();
        if let Some((after, facts)) = &*self.facts.lock()
            && *after == changes
        {
            return facts.clone();
        }
        let asked: Option<TableFacts> = self.handle.prompt(&Call::TableFacts);
        let facts = asked.clone().unwrap_or_default();
        if asked.is_some() {
            *self.facts.lock() = Some((changes, facts.clone()));
        }
        facts
    }

    fn statistics(&self, column: usize) -> Option<ColumnStatistics> {
        self.handle.known(None, &Call::TableStatistics { column })
    }

    fn layout(&self) -> Layout {
        self.handle.prompt(&Call::TableLayout).unwrap_or_default()
    }

    fn row_ranges(&self, task: &Task, columns: &[usize], parts: &[bool]) -> Result<Option<RowRanges>> {
        let (columns, parts) = (columns.to_vec(), parts.to_vec());
        self.handle.call(task, &Call::TableRowRanges { columns, parts })
    }

    fn parts(&self, columns: &[usize]) -> Option<RowRanges> {
        self.handle.known(None, &Call::TableParts { columns: columns.to_vec() })
    }

    fn with_parts(&self, parts: &[bool]) -> Option<Arc<dyn Table>> {
        self.handle.known(None, &Call::TableWithParts { parts: parts.to_vec() })
    }

    fn location(&self, task: &Task, row: u64, column: usize) -> Result<Option<Location>> {
        self.handle.call(task, &Call::TableLocation { row, column })
    }

    fn owner(&self, task: &Task, byte: &BytePlace) -> Result<Option<Owner>> {
        self.handle.call(task, &Call::TableOwner { byte: self.handle.link().place(byte) })
    }

    fn passes(&self) -> Option<&dyn TablePasses> {
        Some(self)
    }
}

/// As many as were asked for.
fn each<T>(found: Vec<T>, columns: &[usize]) -> Result<Vec<T>> {
    match found.len() == columns.len() {
        true => Ok(found),
        false => Err(wrong("other columns than were asked for")),
    }
}

impl TablePasses for RemoteTable {
    fn stats(&self, task: &Task, columns: &[usize]) -> Result<TableStats> {
        let found: TableStats = self.handle.call(task, &Call::TableStats { columns: columns.to_vec() })?;
        Ok(TableStats { columns: each(found.columns, columns)?, ..found })
    }

    fn summaries(&self, task: &Task, columns: &[usize], exact: bool) -> Result<Summaries> {
        let call = Call::TableSummaries { columns: columns.to_vec(), exact };
        let found: Summaries = self.handle.call(task, &call)?;
        let is_before = |(n, summary): (usize, &Result<Summary>)| {
            summary.as_ref().ok().and_then(|summary| summary.same_as).is_none_or(|other| other < n)
        };
        match found.columns.iter().enumerate().all(is_before) {
            true => Ok(Summaries { columns: each(found.columns, columns)?, ..found }),
            false => Err(wrong("a column that is the same as one behind it")),
        }
    }

    fn histograms(
        &self,
        task: &Task,
        columns: &[usize],
        stats: &TableStats,
        binning: Binning,
    ) -> Result<Vec<Option<Result<Histogram>>>> {
        let call = Call::TableHistograms { columns: columns.to_vec(), stats: stats.clone(), binning };
        each(self.handle.call(task, &call)?, columns)
    }
}
