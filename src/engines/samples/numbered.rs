//! A table with the numbers of its rows as one more column, so that who takes its batches knows which rows they are.

use crate::bytes::error::Result;
use crate::bytes::task::Task;
use crate::data::content::table::batch;
use crate::data::content::{Rows, Table};
use arrow::array::{ArrayRef, RecordBatch, UInt64Array};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use std::ops::Range;
use std::sync::Arc;

/// The table; the numbers are its last column.
pub struct Numbered {
    table: Arc<dyn Table>,
    first: u64,
    schema: SchemaRef,
}

impl Numbered {
    /// The rows of a table, counted from `first` on.
    pub fn new(table: Arc<dyn Table>, first: u64) -> Self {
        let mut fields = table.schema().fields().to_vec();
        fields.push(Arc::new(Field::new("", DataType::UInt64, false)));
        Numbered { schema: Arc::new(Schema::new(fields)), table, first }
    }
}

impl Table for Numbered {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn rows(&self) -> Rows {
        self.table.rows()
    }

    fn count(&self, task: &Task) -> Result<u64> {
        self.table.count(task)
    }

    fn read(&self, task: &Task, rows: Range<u64>, columns: &[usize]) -> Result<RecordBatch> {
        let own = self.schema.fields().len() - 1;
        let inner: Vec<usize> = columns.iter().copied().filter(|column| *column != own).collect();
        let read = self.table.read(task, rows.clone(), &inner)?;
        let count = read.num_rows() as u64;
        let start = self.first.saturating_add(rows.start);
        let numbers: ArrayRef = Arc::new(UInt64Array::from_iter_values(start..start.saturating_add(count)));
        let mut others = read.columns().iter().cloned();
        let each = columns.iter().filter_map(|column| match *column == own {
            true => Some(numbers.clone()),
            false => others.next(),
        });
        batch(&self.schema, columns, each.collect(), read.num_rows())
    }

    fn scan_step(&self, at: u64) -> u64 {
        self.table.scan_step(at)
    }
}
