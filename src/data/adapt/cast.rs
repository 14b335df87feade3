//! Columns in other Arrow types, for targets that hold fewer types than Arrow has.

use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::cell;
use crate::data::content::table::batch;
use crate::data::content::{ColumnStatistics, Rows, Table};
use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StringArray};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DataType, Date64Type, Schema, SchemaRef};
use std::ops::Range;
use std::sync::Arc;

/// A table with some columns cast to other types; a value that does not fit is an error, never a null.
pub struct Cast {
    inner: Arc<dyn Table>,
    schema: SchemaRef,
    targets: Vec<Option<DataType>>,
}

impl Cast {
    /// `inner` with column n as `targets[n]`, where there is one. What Arrow cannot cast to text
    /// becomes its exact text ([`cell::text`]).
    pub fn new(inner: Arc<dyn Table>, targets: Vec<Option<DataType>>) -> Self {
        let fields: Vec<_> = inner
            .schema()
            .fields()
            .iter()
            .zip(&targets)
            .map(|(field, target)| match target {
                Some(target) => Arc::new(field.as_ref().clone().with_data_type(target.clone())),
                None => field.clone(),
            })
            .collect();
        let schema = Arc::new(Schema::new_with_metadata(fields, inner.schema().metadata().clone()));
        Cast { inner, schema, targets }
    }
}

impl Table for Cast {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn rows(&self) -> Rows {
        self.inner.rows()
    }

    fn read(&self, task: &Task, rows: Range<u64>, columns: &[usize]) -> Result<RecordBatch> {
        let read = self.inner.read(task, rows, columns)?;
        let mut out = Vec::with_capacity(columns.len());
        for (array, &column) in read.columns().iter().zip(columns) {
            out.push(match self.targets.get(column) {
                Some(Some(target)) => convert(array, target).map_err(|e| {
                    let name = self.schema.fields().get(column).map_or("", |f| f.name().as_str());
                    Error::unsupported(format!("column {name:?} as {target}: {}", e.message()))
                })?,
                _ => array.clone(),
            });
        }
        batch(&self.schema, columns, out, read.num_rows())
    }

    fn inferred(&self, column: usize) -> Option<&DataType> {
        match self.targets.get(column) {
            Some(Some(_)) => None,
            _ => self.inner.inferred(column),
        }
    }

    fn count(&self, task: &Task) -> Result<u64> {
        self.inner.count(task)
    }

    fn scan_step(&self, at: u64) -> u64 {
        self.inner.scan_step(at)
    }

    fn statistics(&self, column: usize) -> Option<ColumnStatistics> {
        let data_type = self.schema.fields().get(column)?.data_type();
        let found = self.inner.statistics(column)?.read_as(data_type);
        found.is_known().then_some(found)
    }
}

fn convert(array: &ArrayRef, target: &DataType) -> Result<ArrayRef> {
    if array.data_type() == target {
        return Ok(array.clone());
    }
    if *target == DataType::Utf8 {
        let texts = (0..array.len()).map(|row| match array.as_union_opt() {
            Some(union) => cell::text(union.value(row).as_ref(), 0),
            None => cell::text(array.as_ref(), row),
        });
        return Ok(Arc::new(texts.collect::<StringArray>()));
    }
    if let Some(days) = array.as_primitive_opt::<Date64Type>().filter(|_| *target == DataType::Date32)
        && let Some(part) = days.iter().flatten().find(|n| n % 86_400_000 != 0)
    {
        return Err(Error::unsupported(format!("{part} ms since 1970 is within a day")));
    }
    let options = CastOptions { safe: false, ..CastOptions::default() };
    Ok(cast_with_options(array, target, &options)?)
}
