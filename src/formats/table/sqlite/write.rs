//! Writes tables into a new SQLite database, by SQLite itself (<https://www.sqlite.org/lang_insert.html>). SQLite has
//! integers, floats, texts and bytes (<https://www.sqlite.org/datatype3.html>): all else becomes one of these, so that
//! no value is another one by an affinity.

use super::database::quoted;
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::cell;
use crate::data::content::{Kind, Table};
use crate::data::format::{Loss, LossKind, OptionSpec, Options, Payload, Sink, Writer, loss, note};
use crate::data::scan::scan;
use crate::engines::json::value_text::{holds, plain, text, whole};
use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::{self as types, DataType, Fields};
use rusqlite::{Connection, OpenFlags, Statement};
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

const NAME: OptionSpec =
    OptionSpec::new("table", "The name of the table; several keep their own").default("data");
const STRICT: OptionSpec = OptionSpec::new(
    "strict",
    "Whether the table is STRICT: its columns take values of their types only, and programs before SQLite 3.37 do not open it",
)
.one_of("no", &["no", "yes"]);

/// Columns of a table, as SQLite is compiled unless one asks for more.
const COLUMNS: usize = 2_000;

/// The writer.
pub(super) const WRITER: Writer = Writer {
    many: true,
    options: &[NAME, STRICT],
    check: |payload| payload.tables()?.into_iter().try_for_each(|(_, table)| check(table.as_ref())),
    ..Writer::new(&[Kind::Table], losses, write)
};

fn check(table: &dyn Table) -> Result<()> {
    match table.schema().fields().len() {
        0 => Err(Error::unsupported("a table without columns as SQLite")),
        count if count > COLUMNS => {
            Err(Error::unsupported(format!("{count} columns: SQLite has {COLUMNS} at most")))
        }
        _ => Ok(()),
    }
}

fn losses(payload: &Payload, _: &Options) -> Vec<Loss> {
    let Ok(tables) = payload.tables() else { return Vec::new() };
    let what = "SQLite has integers, floats, texts and bytes only; a reader infers narrower types again";
    let mut losses = vec![note(LossKind::Type, what).if_any()];
    for ((path, table), name) in tables.iter().zip(table_names(&tables)) {
        losses.extend(of_table(table.schema().fields()).into_iter().map(|loss| loss.at(*path)));
        if !path.is_empty() && name != *path {
            let what = format!("the table is called {name}");
            losses.push(loss(LossKind::Name, what).at(*path).called(name));
        }
    }
    losses
}

/// The names of several tables, each once also without regard to its case, and none that SQLite keeps for itself.
fn table_names(tables: &[(&str, &Arc<dyn Table>)]) -> Vec<String> {
    let own = |(name, _): &(&str, _)| match name.get(..7) {
        Some(start) if start.eq_ignore_ascii_case("sqlite_") => format!("_{name}"),
        _ => (*name).to_owned(),
    };
    unique(tables.iter().map(own))
}

fn of_table(fields: &Fields) -> Vec<Loss> {
    let mut losses = Vec::new();
    for (field, name) in fields.iter().zip(names(fields)) {
        if *field.name() != name {
            let what = format!("it is called {name}");
            losses.push(loss(LossKind::Name, what).of(field.name()).called(name));
        }
        let told = |kind, what: &str| note(kind, what).of(field.name());
        let has = |test: &dyn Fn(&DataType) -> bool| holds(field.data_type(), test);
        match field.data_type() {
            of if of.is_nested() && !matches!(of, DataType::RunEndEncoded(_, _)) => {
                losses.push(told(LossKind::Nesting, "nested values are written as JSON"));
                if has(&|of| of.is_binary() || matches!(of, DataType::FixedSizeBinary(_))) {
                    losses.push(told(LossKind::Type, "binary is written as hexadecimal text"));
                }
                continue;
            }
            DataType::Boolean => losses.push(told(LossKind::Type, "booleans become 0 and 1").if_any()),
            DataType::UInt64 => {
                losses.push(told(LossKind::Type, "numbers from 2^63 on become texts").if_any());
            }
            of if of.is_decimal() => {
                losses.push(told(LossKind::Type, "decimals become texts, with all of their digits"));
            }
            of if of.is_temporal() => {
                losses.push(told(LossKind::Type, "times become texts, in ISO 8601").if_any());
            }
            _ => {}
        }
        if may_be_nan(field.data_type()) {
            losses.push(loss(LossKind::Nan, "NaN becomes null: SQLite has none").of(field.name()).if_any());
            losses.push(told(LossKind::Precision, "a negative zero becomes zero").if_any());
            if !field.is_nullable() {
                losses.push(told(LossKind::Null, "the column may have nulls, since NaN becomes one"));
            }
        }
    }
    losses
}

/// Whether cells are floats. Those within lists and structs are in texts.
fn may_be_nan(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => may_be_nan(values),
        DataType::RunEndEncoded(_, values) => may_be_nan(values.data_type()),
        DataType::Union(fields, _) => fields.iter().any(|(_, field)| may_be_nan(field.data_type())),
        other => other.is_floating(),
    }
}

/// Names of columns, each once also without regard to its case.
fn names(fields: &Fields) -> Vec<String> {
    unique(fields.iter().map(|field| field.name().clone()))
}

fn unique(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut seen = HashSet::new();
    let unique = |name: String| {
        let name = name.replace('\0', "_");
        let mut unique = name.clone();
        for n in 2u64.. {
            if seen.insert(unique.to_ascii_lowercase()) {
                break;
            }
            unique = format!("{name}_{n}");
        }
        unique
    };
    names.map(unique).collect()
}

/// The declared type of a column. Without one, SQLite keeps values as they are given.
fn declared(data_type: &DataType, strict: bool) -> &'static str {
    use DataType as D;
    match data_type {
        D::Dictionary(_, values) => declared(values, strict),
        D::RunEndEncoded(_, values) => declared(values.data_type(), strict),
        D::UInt64 | D::Null | D::Union(_, _) => {
            if strict {
                "ANY"
            } else {
                ""
            }
        }
        D::Boolean if !strict => "BOOLEAN",
        D::Boolean => "INTEGER",
        of if of.is_integer() => "INTEGER",
        of if of.is_floating() => "REAL",
        of if of.is_binary() => "BLOB",
        D::FixedSizeBinary(_) => "BLOB",
        D::Date32 | D::Date64 if !strict => "DATE",
        D::Timestamp(_, _) if !strict => "TIMESTAMP",
        _ => "TEXT",
    }
}

fn failed(error: rusqlite::Error) -> Error {
    match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::DiskFull) => Error::io("the disk is full; nothing was written"),
        Some(rusqlite::ErrorCode::SystemIoFailure) => {
            Error::io("the disk is full, or does not take so large a file; nothing was written")
        }
        _ => Error::io(format!("SQLite: {error}")),
    }
}

/// An empty database in a file that nobody else knows yet.
fn opened(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    // Locks of the file are its owner's; what is not finished is thrown away as a whole.
    let connection = Connection::open_with_flags_and_vfs(path, flags, c"unix-none")?;
    connection.execute_batch(
        "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -65536; BEGIN",
    )?;
    Ok(connection)
}

fn write(task: &Task, payload: &Payload, options: &Options, sink: &mut dyn Sink) -> Result<()> {
    let tables = payload.tables()?;
    sink.flush()?;
    let Some(path) = sink.path() else {
        return Err(Error::unsupported("SQLite is written to files only: its library wants one"));
    };
    let strict = options.choice(&STRICT)? == "yes";
    let mut connection = opened(path).map_err(failed)?;
    for ((own, table), name) in tables.iter().zip(table_names(&tables)) {
        let name = match own.is_empty() && tables.len() == 1 {
            true => options.get(NAME.name).unwrap_or(NAME.default),
            false => name.as_str(),
        };
        if tables.len() > 1 {
            task.set_message(name);
        }
        fill(task, &mut connection, name, table.as_ref(), strict)?;
    }
    connection.execute_batch("COMMIT").map_err(failed)?;
    connection.close().map_err(|(_, error)| failed(error))
}

/// Makes a table and inserts all rows.
fn fill(task: &Task, connection: &mut Connection, name: &str, table: &dyn Table, strict: bool) -> Result<()> {
    let (fields, name) = (table.schema().fields(), quoted(name));
    let columns: Vec<String> = fields
        .iter()
        .zip(names(fields))
        .map(|(field, name)| {
            let null = if field.is_nullable() || may_be_nan(field.data_type()) { "" } else { " NOT NULL" };
            format!("{} {}{null}", quoted(&name), declared(field.data_type(), strict))
        })
        .collect();
    let end = if strict { " STRICT" } else { "" };
    connection
        .execute_batch(&format!("CREATE TABLE {name} ({}){end}", columns.join(", ")))
        .map_err(failed)?;
    let places = vec!["?"; columns.len()].join(", ");
    let insert = format!("INSERT INTO {name} VALUES ({places})");
    let cells = |batch: RecordBatch| -> Result<(usize, Vec<ArrayRef>)> {
        Ok((batch.num_rows(), batch.columns().iter().map(plain).collect()))
    };
    scan(task, table, cells, move |(rows, columns)| {
        let mut statement = connection.prepare_cached(&insert).map_err(failed)?;
        for row in 0..rows {
            for (n, column) in columns.iter().enumerate() {
                bind(&mut statement, n + 1, column.as_ref(), row).map_err(failed)?;
            }
            statement.raw_execute().map_err(failed)?;
        }
        Ok(())
    })
    .map(drop)
}

/// Gives a statement the value of a cell.
fn bind(statement: &mut Statement<'_>, n: usize, array: &dyn Array, row: usize) -> rusqlite::Result<()> {
    macro_rules! number {
        ($ty:ty, $as:ty) => {
            statement.raw_bind_parameter(n, <$as>::from(array.as_primitive::<$ty>().value(row)))
        };
    }
    if array.is_null(row) {
        return statement.raw_bind_parameter(n, rusqlite::types::Null);
    }
    if let Some(text) = text(array, row) {
        return statement.raw_bind_parameter(n, text);
    }
    match array.data_type() {
        DataType::Boolean => statement.raw_bind_parameter(n, array.as_boolean().value(row)),
        DataType::Int8 => number!(types::Int8Type, i64),
        DataType::Int16 => number!(types::Int16Type, i64),
        DataType::Int32 => number!(types::Int32Type, i64),
        DataType::Int64 => number!(types::Int64Type, i64),
        DataType::UInt8 => number!(types::UInt8Type, i64),
        DataType::UInt16 => number!(types::UInt16Type, i64),
        DataType::UInt32 => number!(types::UInt32Type, i64),
        DataType::UInt64 => {
            let value = array.as_primitive::<types::UInt64Type>().value(row);
            match i64::try_from(value) {
                Ok(value) => statement.raw_bind_parameter(n, value),
                Err(_) => statement.raw_bind_parameter(n, value.to_string()),
            }
        }
        DataType::Float16 => number!(types::Float16Type, f64),
        DataType::Float32 => number!(types::Float32Type, f64),
        DataType::Float64 => number!(types::Float64Type, f64),
        _ => match cell::binary(array, row) {
            Some(bytes) => statement.raw_bind_parameter(n, bytes),
            None => statement.raw_bind_parameter(n, whole(array, row)),
        },
    }
}
