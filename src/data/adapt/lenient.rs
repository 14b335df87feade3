//! A table of a text format with values of the types that were inferred: what statistics and copies are made of.

use crate::bytes::error::Result;
use crate::bytes::task::Task;
use crate::data::content::table::batch;
use crate::data::content::{Rows, Table};
use crate::data::infer;
use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{Field, Schema, SchemaRef};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Columns of text as values of their inferred types; cells that do not fit are null, and counted. ([`super::Typed`] ends
/// at such a cell, so that its column can be taken as a wider type.)
pub struct LenientTyped {
    table: Arc<dyn Table>,
    schema: SchemaRef,
    unfit: AtomicU64,
}

impl LenientTyped {
    /// `table` with typed columns; those that have types of their own stay.
    pub fn new(table: Arc<dyn Table>) -> Self {
        let typed = |(column, field): (usize, &Arc<Field>)| match infer::inferred(table.as_ref(), column) {
            Some(kind) => Arc::new(Field::new(field.name(), kind, true)),
            None => field.clone(),
        };
        let fields: Vec<Arc<Field>> = table.schema().fields().iter().enumerate().map(typed).collect();
        let schema = Arc::new(Schema::new_with_metadata(fields, table.schema().metadata().clone()));
        LenientTyped { table, schema, unfit: AtomicU64::new(0) }
    }

    /// How many cells of all that were read did not fit.
    pub fn unfit(&self) -> u64 {
        self.unfit.load(Ordering::Relaxed)
    }
}

impl Table for LenientTyped {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn rows(&self) -> Rows {
        self.table.rows()
    }

    fn read(&self, task: &Task, rows: Range<u64>, columns: &[usize]) -> Result<RecordBatch> {
        let read = self.table.read(task, rows, columns)?;
        let typed = |(array, &column): (&ArrayRef, &usize)| {
            let inferred = infer::inferred(self.table.as_ref(), column);
            let (values, unfit) = infer::values(array, inferred.as_ref());
            self.unfit.fetch_add(unfit, Ordering::Relaxed);
            values
        };
        let arrays = read.columns().iter().zip(columns).map(typed).collect();
        batch(&self.schema, columns, arrays, read.num_rows())
    }

    fn count(&self, task: &Task) -> Result<u64> {
        self.table.count(task)
    }

    fn scan_step(&self, at: u64) -> u64 {
        self.table.scan_step(at)
    }

    fn sample(&self, task: &Task, most: u64) -> Result<Vec<Range<u64>>> {
        self.table.sample(task, most)
    }
}
