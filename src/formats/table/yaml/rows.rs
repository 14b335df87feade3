//! A sequence of mappings as a table: a column for each key.

use crate::bytes::error::Result;
use crate::bytes::task::Task;
use crate::data::content::table::MemoryTable;
use crate::engines::yaml::{Place, Scalar, Value, Yaml};
use arrow::array::{ArrayRef, BooleanBuilder, Float64Builder, Int64Builder, RecordBatch, StringBuilder};
use arrow::datatypes::{DataType, Field, Schema};
use std::collections::HashMap;
use std::sync::Arc;

/// The most columns.
const COLUMNS: usize = 2_000;
/// The most values of a nested cell.
const NESTED: usize = 1 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Null,
    Bool,
    Int,
    Float,
    Text,
}

impl Kind {
    fn of(yaml: &Yaml, place: Place) -> Kind {
        match yaml.scalar(place) {
            Some(Scalar::Null) => Kind::Null,
            Some(Scalar::Bool(_)) => Kind::Bool,
            Some(Scalar::Int(digits)) if digits.parse::<i64>().is_ok() => Kind::Int,
            Some(Scalar::Float(_)) => Kind::Float,
            _ => Kind::Text,
        }
    }

    fn and(self, other: Kind) -> Kind {
        match (self, other) {
            (a, b) if a == b => a,
            (Kind::Null, other) | (other, Kind::Null) => other,
            (Kind::Int, Kind::Float) | (Kind::Float, Kind::Int) => Kind::Float,
            _ => Kind::Text,
        }
    }
}

/// The table that a value is; `None` where it is no sequence of mappings with keys in common.
pub(super) fn table(task: &Task, yaml: &Yaml, place: Place) -> Result<Option<MemoryTable>> {
    let Some(Value::Sequence(rows)) = yaml.item(place).map(|item| &item.value) else { return Ok(None) };
    let (mut names, mut kinds): (Vec<String>, Vec<Kind>) = (Vec::new(), Vec::new());
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut cells: Vec<HashMap<usize, Place>> = Vec::with_capacity(rows.len());
    let mut filled = 0_usize;
    for row in rows {
        task.check()?;
        let Some(members) = yaml.members(*row) else { return Ok(None) };
        let mut found = HashMap::with_capacity(members.len());
        filled += members.len();
        for (name, value) in members {
            let n = *places.entry(name.clone()).or_insert(names.len());
            if n == names.len() {
                names.push(name);
                kinds.push(Kind::Null);
            }
            if let Some(kind) = kinds.get_mut(n) {
                *kind = kind.and(Kind::of(yaml, value));
            }
            found.insert(n, value);
        }
        if names.len() > COLUMNS {
            return Ok(None);
        }
        cells.push(found);
    }
    // Half of the cells are there.
    if names.is_empty() || filled * 2 < names.len() * rows.len() {
        return Ok(None);
    }
    let (mut fields, mut arrays) = (Vec::new(), Vec::new());
    for (n, (name, kind)) in names.into_iter().zip(kinds).enumerate() {
        task.check()?;
        let (data_type, array) = column(yaml, kind, cells.iter().map(|row| row.get(&n).copied()));
        fields.push(Field::new(name, data_type, true));
        arrays.push(array);
    }
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)?;
    Ok(Some(MemoryTable::new(batch)))
}

fn column(yaml: &Yaml, kind: Kind, cells: impl Iterator<Item = Option<Place>>) -> (DataType, ArrayRef) {
    let scalars = cells.map(|cell| (cell, cell.and_then(|place| yaml.scalar(place))));
    match kind {
        Kind::Bool => {
            let mut made = BooleanBuilder::new();
            scalars.for_each(|(_, scalar)| match scalar {
                Some(Scalar::Bool(value)) => made.append_value(value),
                _ => made.append_null(),
            });
            (DataType::Boolean, Arc::new(made.finish()))
        }
        Kind::Int => {
            let mut made = Int64Builder::new();
            scalars.for_each(|(_, scalar)| match scalar {
                Some(Scalar::Int(digits)) => made.append_option(digits.parse().ok()),
                _ => made.append_null(),
            });
            (DataType::Int64, Arc::new(made.finish()))
        }
        Kind::Float => {
            let mut made = Float64Builder::new();
            scalars.for_each(|(_, scalar)| match scalar {
                Some(Scalar::Float(value)) => made.append_value(value),
                Some(Scalar::Int(digits)) => made.append_option(digits.parse().ok()),
                _ => made.append_null(),
            });
            (DataType::Float64, Arc::new(made.finish()))
        }
        Kind::Null | Kind::Text => {
            let mut made = StringBuilder::new();
            scalars.for_each(|(place, scalar)| match scalar {
                Some(Scalar::Null) => made.append_null(),
                Some(scalar) => made.append_value(scalar.text()),
                None => made.append_option(
                    place.and_then(|place| yaml.json(place, NESTED)).map(|json| json.to_string()),
                ),
            });
            (DataType::Utf8, Arc::new(made.finish()))
        }
    }
}
