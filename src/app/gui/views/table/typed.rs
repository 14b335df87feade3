//! A table of a text format with the values of the types that were inferred: what sums, heads and some
//! copies are made of. The cells on screen keep their text.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::{Field, Schema, SchemaRef};
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
    if schema.fields().iter().all(|field| infer::inferred(field).is_none()) {
        return table.clone();
    }
    let fields: Vec<Field> = schema.fields().iter().map(|field| of(field)).collect();
    let schema = Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()));
    Arc::new(Typed { table: table.clone(), schema })
}

fn of(field: &Field) -> Field {
    match infer::inferred(field) {
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
        let fields = batch.schema();
        let arrays: Vec<ArrayRef> = batch
            .columns()
            .iter()
            .zip(fields.fields())
            .map(|(array, field)| match (infer::inferred(field), array.as_string_opt::<i32>()) {
                (Some(kind), Some(cells)) => infer::typed(cells, &kind).0,
                _ => array.clone(),
            })
            .collect();
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
