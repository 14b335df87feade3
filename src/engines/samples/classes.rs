//! The names of classes beside their numbers, for containers that have no place for what a schema says of classes: a
//! column of texts, called after the column of labels (`label/text`), as TensorFlow's data sets have them.
//! <https://github.com/tensorflow/models/blob/master/research/slim/datasets/dataset_utils.py>

use super::roles::{LABEL, Roles};
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::adapt::{ColumnMap, MappedTable};
use crate::data::content::table::batch;
use crate::data::content::{Rows, Table};
use crate::data::format::{Data, OptionSpec, Options, Payload};
use crate::data::media::{LabelColumn, features};
use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// Whether names are written.
pub const CLASSES: OptionSpec = OptionSpec::new(
    "classes",
    "Where the names of classes are known: write them too, as texts in a column LABEL/text, or the numbers alone",
)
.one_of("names", &["names", "numbers"]);

/// The payload with the names of classes as a column, where they are known and wanted.
///
/// # Errors
/// Those of [`Roles::find`].
pub fn named(payload: &Payload, options: &Options) -> Result<Payload> {
    let table = payload.table()?;
    if options.get(CLASSES.name) == Some("numbers") {
        return Ok(payload.clone());
    }
    let mut known = Options::default();
    if let Some(label) = options.get(LABEL.name) {
        known.set(LABEL.name, label);
    }
    let roles = Roles::find(payload, &known, '.')?;
    let column = roles.column(roles.label).map(|flat| flat.column);
    let Some(column) = column.filter(|_| !roles.names.is_empty()) else { return Ok(payload.clone()) };
    let fields = table.schema().fields();
    let label = fields.get(column).map_or("label", |field| field.name());
    let name = format!("{label}/text");
    if fields.iter().any(|field| *field.name() == name) {
        return Ok(payload.clone());
    }
    let mut all: Vec<Arc<Field>> = fields.iter().cloned().collect();
    all.push(Arc::new(Field::new(name, DataType::Utf8, true)));
    let schema = Schema::new_with_metadata(all, table.schema().metadata().clone());
    let label = LabelColumn { column, names: roles.names.clone() };
    let table = Named { table: table.clone(), label, schema: Arc::new(schema) };
    Ok(Payload { data: Data::Table(Arc::new(table)), ..payload.clone() })
}

/// The payload with the numbers of classes in the place of their names, for containers whose labels are numbers; as it is
/// where labels are no texts or not all names are known.
///
/// # Errors
/// Those of [`Roles::find`].
pub fn numbered(payload: &Payload, options: &Options) -> Result<Payload> {
    let mut known = Options::default();
    if let Some(label) = options.get(LABEL.name) {
        known.set(LABEL.name, label);
    }
    let roles = Roles::find(payload, &known, '.')?;
    let Some(flat) = roles.column(roles.label) else { return Ok(payload.clone()) };
    let table = payload.table()?;
    let fields = table.schema().fields();
    let field = fields.get(flat.column).filter(|field| *field.data_type() == DataType::Utf8);
    let Some((field, names)) = field.and_then(|field| Some((field, features::classes_of(field)?))) else {
        return Ok(payload.clone());
    };
    let number = Field::clone(field).with_data_type(DataType::Int64);
    let change = |(n, field): (usize, &Arc<Field>)| match n == flat.column {
        true => Arc::new(number.clone()),
        false => field.clone(),
    };
    let all: Vec<Arc<Field>> = fields.iter().enumerate().map(change).collect();
    let schema = Arc::new(Schema::new_with_metadata(all, table.schema().metadata().clone()));
    let of = names.iter().enumerate().map(|(n, name)| (name.clone(), n as i64)).collect();
    let numbers = ClassNumbers { column: flat.column, of };
    let table = MappedTable::new(table.clone(), schema, numbers);
    Ok(Payload { data: Data::Table(Arc::new(table)), ..payload.clone() })
}

/// The numbers of classes for their names.
struct ClassNumbers {
    column: usize,
    of: HashMap<String, i64>,
}

impl ColumnMap for ClassNumbers {
    fn changes(&self, column: usize) -> bool {
        column == self.column
    }

    fn map(&self, cells: &ArrayRef, _column: usize, _field: &Field) -> Result<ArrayRef> {
        let number = |name: Option<&str>| name.and_then(|name| self.of.get(name)).copied();
        let names = cells.as_string_opt::<i32>().ok_or_else(|| Error::bug("classes that are no texts"))?;
        Ok(Arc::new(names.iter().map(number).collect::<Int64Array>()))
    }
}

/// A table with the names of its classes as its last column.
struct Named {
    table: Arc<dyn Table>,
    label: LabelColumn,
    schema: SchemaRef,
}

impl Table for Named {
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
        let inner: Vec<usize> =
            columns.iter().map(|column| if *column == own { self.label.column } else { *column }).collect();
        let read = self.table.read(task, rows, &inner)?;
        let name = |array: &ArrayRef| -> ArrayRef {
            let text = |row: usize| {
                let number = crate::data::cell::shown(array.as_ref(), row)?;
                number.parse::<usize>().ok().and_then(|number| self.label.names.get(number)).cloned()
            };
            Arc::new((0..array.len()).map(text).collect::<StringArray>())
        };
        let each = columns.iter().zip(read.columns());
        let made = each.map(|(column, array)| if *column == own { name(array) } else { array.clone() });
        batch(&self.schema, columns, made.collect(), read.num_rows())
    }

    fn scan_step(&self, at: u64) -> u64 {
        self.table.scan_step(at)
    }
}
