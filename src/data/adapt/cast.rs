//! Columns in other Arrow types, for targets that hold fewer types than Arrow has.

use super::{ColumnMap, MappedTable};
use crate::bytes::error::{Error, Result};
use crate::data::cell;
use crate::data::content::Table;
use arrow::array::{Array, ArrayRef, AsArray, StringArray};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DataType, Date64Type, Field, FieldRef, Schema};
use std::sync::Arc;

/// A table with some columns cast to other types; a value that does not fit is an error, never a null.
pub type Cast = MappedTable<Targets>;

/// The types that columns are cast to, where they are.
pub struct Targets(Vec<Option<DataType>>);

impl Cast {
    /// `inner` with column n as `targets[n]`, where there is one. What Arrow cannot cast to text
    /// becomes its exact text ([`cell::text`]).
    pub fn cast(inner: Arc<dyn Table>, targets: Vec<Option<DataType>>) -> Self {
        let field = |(field, target): (&FieldRef, &Option<DataType>)| match target {
            Some(target) => Arc::new(field.as_ref().clone().with_data_type(target.clone())),
            None => field.clone(),
        };
        let fields: Vec<_> = inner.schema().fields().iter().zip(&targets).map(field).collect();
        let schema = Arc::new(Schema::new_with_metadata(fields, inner.schema().metadata().clone()));
        MappedTable::new(inner, schema, Targets(targets))
    }
}

impl ColumnMap for Targets {
    fn changes(&self, column: usize) -> bool {
        self.0.get(column).is_some_and(Option::is_some)
    }

    fn map(&self, cells: &ArrayRef, _: usize, field: &Field) -> Result<ArrayRef> {
        let (name, target) = (field.name(), field.data_type());
        convert(cells, target)
            .map_err(|e| Error::unsupported(format!("column {name:?} as {target}: {}", e.message())))
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
