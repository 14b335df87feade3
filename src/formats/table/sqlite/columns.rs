//! Columns: any cell of SQLite may hold any type, whatever its column declares
//! (<https://www.sqlite.org/datatype3.html>). A column gets an Arrow type of its own where nothing else can
//! stand in it (a row number, a STRICT table) or where it holds bytes; every other one is delivered as text,
//! exactly, with the type that its cells fit as the inferred one.

use crate::data::cell;
use crate::data::infer::Guess;
use arrow::array::{ArrayRef, BinaryBuilder, Float64Builder, Int64Builder, StringBuilder};
use arrow::datatypes::{DataType, Field};
use rusqlite::types::ValueRef;
use std::sync::Arc;

/// What was seen of a column in the first rows.
#[derive(Clone, Copy)]
pub(super) struct Seen {
    integer: bool,
    real: bool,
    text: bool,
    blob: bool,
    guess: Guess,
}

impl Seen {
    pub(super) fn nothing() -> Seen {
        Seen { integer: false, real: false, text: false, blob: false, guess: Guess::new() }
    }

    pub(super) fn see(&mut self, value: ValueRef<'_>) {
        match value {
            ValueRef::Null => {}
            ValueRef::Integer(_) => self.integer = true,
            ValueRef::Real(_) => self.real = true,
            ValueRef::Blob(_) => self.blob = true,
            ValueRef::Text(text) => {
                self.text = true;
                self.guess.see(&String::from_utf8_lossy(text));
            }
        }
    }
}

/// A column of a table.
#[derive(Clone, Debug)]
pub(super) struct Column {
    pub(super) name: String,
    /// The declared type; empty for none.
    pub(super) declared: String,
    pub(super) nullable: bool,
    /// Nothing but integers can stand in it.
    pub(super) row_number: bool,
    /// The table enforces types.
    pub(super) strict: bool,
}

impl Column {
    /// The field of the column, and the type that its cells fit where it is delivered as text.
    pub(super) fn field(&self, seen: &Seen) -> (Field, Option<DataType>) {
        let declared = self.declared.to_uppercase();
        let fixed = match declared.as_str() {
            _ if self.row_number => Some(DataType::Int64),
            "INT" | "INTEGER" if self.strict => Some(DataType::Int64),
            "REAL" if self.strict => Some(DataType::Float64),
            "BLOB" if self.strict || !(seen.integer || seen.real || seen.text) => Some(DataType::Binary),
            _ if seen.blob && !(seen.integer || seen.real || seen.text) => Some(DataType::Binary),
            _ => None,
        };
        match fixed {
            Some(fixed) => (Field::new(&self.name, fixed, self.nullable), None),
            None => (Field::new(&self.name, DataType::Utf8, self.nullable), Some(guess(&declared, seen))),
        }
    }
}

/// The type that the cells fit.
fn guess(declared: &str, seen: &Seen) -> DataType {
    let temporal = declared.contains("DATE") || declared.contains("TIME");
    match (seen.integer, seen.real, seen.text, seen.blob) {
        (true, false, false, false) => DataType::Int64,
        (_, true, false, false) => DataType::Float64,
        (false, false, true, false) if temporal => match seen.guess.data_type() {
            found @ (DataType::Date32 | DataType::Timestamp(..)) => found,
            _ => DataType::Utf8,
        },
        // No values: what the declaration promises, by SQLite's own rules.
        (false, false, false, false) if declared.contains("INT") => DataType::Int64,
        (false, false, false, false)
            if declared.contains("REAL") || declared.contains("FLOA") || declared.contains("DOUB") =>
        {
            DataType::Float64
        }
        _ => DataType::Utf8,
    }
}

/// A column as it is gathered.
pub(super) enum Builder {
    Integer(Int64Builder),
    Real(Float64Builder),
    Blob(BinaryBuilder),
    Text(StringBuilder),
}

impl Builder {
    pub(super) fn new(data_type: &DataType) -> Builder {
        match data_type {
            DataType::Int64 => Builder::Integer(Int64Builder::new()),
            DataType::Float64 => Builder::Real(Float64Builder::new()),
            DataType::Binary => Builder::Blob(BinaryBuilder::new()),
            _ => Builder::Text(StringBuilder::new()),
        }
    }

    /// Appends a cell; its bytes.
    pub(super) fn push(&mut self, value: ValueRef<'_>) -> u64 {
        match self {
            Builder::Integer(builder) => builder.append_option(match value {
                ValueRef::Integer(value) => Some(value),
                _ => None,
            }),
            Builder::Real(builder) => builder.append_option(match value {
                ValueRef::Real(value) => Some(value),
                ValueRef::Integer(value) => Some(value as f64),
                _ => None,
            }),
            Builder::Blob(builder) => match value {
                ValueRef::Null => builder.append_null(),
                ValueRef::Blob(bytes) | ValueRef::Text(bytes) => builder.append_value(bytes),
                other => builder.append_value(text(other)),
            },
            Builder::Text(builder) => match value {
                ValueRef::Null => builder.append_null(),
                ValueRef::Text(bytes) => builder.append_value(String::from_utf8_lossy(bytes)),
                other => builder.append_value(text(other)),
            },
        }
        match value {
            ValueRef::Text(bytes) => bytes.len() as u64,
            // As text a byte takes two.
            ValueRef::Blob(bytes) => 2 * bytes.len() as u64,
            _ => 8,
        }
    }

    pub(super) fn finish(self) -> ArrayRef {
        match self {
            Builder::Integer(mut builder) => Arc::new(builder.finish()),
            Builder::Real(mut builder) => Arc::new(builder.finish()),
            Builder::Blob(mut builder) => Arc::new(builder.finish()),
            Builder::Text(mut builder) => Arc::new(builder.finish()),
        }
    }
}

/// A value as text: as everywhere, bytes as hexadecimal digits.
fn text(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => String::new(),
        ValueRef::Integer(value) => value.to_string(),
        ValueRef::Real(value) => cell::float64(value),
        ValueRef::Text(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        ValueRef::Blob(bytes) => {
            let mut out = String::with_capacity(2 + 2 * bytes.len());
            out.push_str("0x");
            bytes.iter().for_each(|byte| out.push_str(&format!("{byte:02x}")));
            out
        }
    }
}
