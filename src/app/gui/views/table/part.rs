//! A part of a table — some rows, some columns — as a table: what *Export…* writes of a selection.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, SchemaRef};
use gander::bytes::error::{Error, Result};
use gander::bytes::task::Task;
use gander::data::content::table::project;
use gander::data::content::{Rows, Table};

/// The rows `rows` and columns `columns` of `table`.
pub(super) struct Part {
    table: Arc<dyn Table>,
    rows: Range<u64>,
    columns: Vec<usize>,
    schema: SchemaRef,
}

impl Part {
    pub(super) fn new(table: Arc<dyn Table>, rows: Range<u64>, columns: Vec<usize>) -> Result<Self> {
        let schema = project(table.schema(), &columns)?;
        Ok(Part { table, rows, columns, schema })
    }
}

impl Table for Part {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn inferred(&self, column: usize) -> Option<&DataType> {
        self.table.inferred(*self.columns.get(column)?)
    }

    fn rows(&self) -> Rows {
        Rows::Exact(self.rows.end.saturating_sub(self.rows.start))
    }

    fn read(&self, task: &Task, rows: Range<u64>, columns: &[usize]) -> Result<RecordBatch> {
        let start = self.rows.start.saturating_add(rows.start).min(self.rows.end);
        let end = self.rows.start.saturating_add(rows.end).min(self.rows.end);
        let mut of = Vec::with_capacity(columns.len());
        for &column in columns {
            let column = self.columns.get(column).copied();
            of.push(column.ok_or_else(|| Error::bug("a column beyond the selection was asked for"))?);
        }
        self.table.read(task, start..end, &of)
    }

    fn scan_step(&self, at: u64) -> u64 {
        self.table.scan_step(self.rows.start.saturating_add(at))
    }
}
