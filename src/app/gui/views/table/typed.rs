//! A table of a text format with the values of the types that were inferred: what sums, heads and some
//! copies are made of. The cells on screen keep their text.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use gander::bytes::error::Result;
use gander::bytes::task::Task;
use gander::data::content::{Rows, Table};
use gander::data::infer;

struct Typed {
    table: Arc<dyn Table>,
    schema: SchemaRef,
}

/// The table itself where its columns have types of their own.
pub(super) fn typed(table: &Arc<dyn Table>) -> Arc<dyn Table> {
    let schema = table.schema();
    if !table.is_inferred() {
        return table.clone();
    }
    let fields: Vec<Field> = schema
        .fields()
        .iter()
        .enumerate()
        .map(|(n, field)| of(field, infer::inferred(table.as_ref(), n)))
        .collect();
    let schema = Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()));
    Arc::new(Typed { table: table.clone(), schema })
}

fn of(field: &Field, inferred: Option<DataType>) -> Field {
    match inferred {
        Some(kind) => Field::new(field.name(), kind, true),
        None => field.clone(),
    }
}

impl Table for Typed {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn rows(&self) -> Rows {
        self.table.rows()
    }

    fn read(&self, task: &Task, rows: Range<u64>, columns: &[usize]) -> Result<RecordBatch> {
        let batch = self.table.read(task, rows, columns)?;
        let value = |(array, &column): (&ArrayRef, &usize)| {
            infer::values(array, infer::inferred(self.table.as_ref(), column).as_ref()).0
        };
        let arrays: Vec<ArrayRef> = batch.columns().iter().zip(columns).map(value).collect();
        gander::data::content::table::batch(&self.schema, columns, arrays, batch.num_rows())
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
