//! Writes tables as SQL: the table with its types, and statements that insert its rows, in the words of DuckDB, SQLite
//! or PostgreSQL.
//!
//! <https://duckdb.org/docs/stable/sql/data_types/literal_types>, <https://www.sqlite.org/lang_expr.html#literal_values_constants_>,
//! <https://www.postgresql.org/docs/current/sql-syntax-lexical.html>, <https://www.postgresql.org/docs/current/sql-copy.html>

mod copy;
mod literal;
mod types;

use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::content::{Kind, Table};
use crate::data::format::{Loss, LossKind, OptionSpec, Options, Payload, Sink, Writer, loss, note};
use crate::data::scan::{put, scan};
use crate::engines::json::value_text::{holds, nan_patterns, plain};
use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{DataType, FieldRef, Fields, TimeUnit};
use std::sync::Arc;
use types::Dialect;

const DIALECT: OptionSpec =
    OptionSpec::new("dialect", "Whose SQL is written; DuckDB's keeps all types, lists and structs too")
        .one_of("duckdb", &["duckdb", "sqlite", "postgres"]);
const NAME: OptionSpec =
    OptionSpec::new("table", "The name of the table; several keep their own").default("data");
const CREATE: OptionSpec = OptionSpec::new(
    "create",
    "Whether the table is made before rows are put into it, and what happens to one of the same name: an error, or it is replaced",
)
.one_of("yes", &["yes", "replace", "no"]);
const ROWS: OptionSpec = OptionSpec::new(
    "rows",
    "How rows are put in: by INSERT, or PostgreSQL's COPY blocks, which psql reads several times as fast",
)
.one_of("insert", &["insert", "copy"]);
const BATCH: OptionSpec = OptionSpec::new("batch", "The most rows of an INSERT statement").default("500");
const WHOLE: OptionSpec =
    OptionSpec::new("transaction", "Whether all of it is one transaction: everything is put in, or nothing")
        .one_of("yes", &["yes", "no"]);

/// The most bytes of a statement, about: SQLite takes a million.
const STATEMENT: usize = 256 << 10;

/// The writer.
pub(super) const WRITER: Writer = Writer {
    many: true,
    options: &[DIALECT, NAME, CREATE, ROWS, BATCH, WHOLE],
    check: super::pages::check,
    ..Writer::new(&[Kind::Table], losses, write)
};

fn dialect(options: &Options) -> Result<Dialect> {
    Ok(match options.choice(&DIALECT)? {
        "sqlite" => Dialect::SQLite,
        "postgres" => Dialect::Postgres,
        _ => Dialect::DuckDb,
    })
}

fn losses(payload: &Payload, options: &Options) -> Vec<Loss> {
    let (Ok(tables), Ok(dialect)) = (payload.tables(), dialect(options)) else { return Vec::new() };
    let mut losses = Vec::new();
    for ((path, table), name) in tables.iter().zip(table_names(&tables, dialect, options)) {
        let own = if path.is_empty() { options.get(NAME.name).unwrap_or(NAME.default) } else { *path };
        if own != name {
            losses.push(loss(LossKind::Name, format!("the table is called {name}")).at(*path));
        }
        let fields = table.schema().fields();
        for (field, name) in
            fields.iter().zip(dialect.names(fields.iter().map(|field| field.name().as_str())))
        {
            let first = losses.len();
            if *field.name() != name {
                losses.push(loss(LossKind::Name, format!("it is called {name}")));
            }
            of_field(field, dialect, &mut losses);
            for loss in losses.iter_mut().skip(first) {
                (loss.path, loss.subject) = ((*path).to_owned(), field.name().clone());
            }
        }
    }
    losses
}

/// What is lost of a column.
fn of_field(field: &FieldRef, dialect: Dialect, losses: &mut Vec<Loss>) {
    let of = field.data_type();
    let has = |test: &dyn Fn(&DataType) -> bool| holds(of, test);
    let (word, kept) = (types::declared(dialect, of), types::is_kept(dialect, of));
    if !kept {
        losses.push(note(
            LossKind::Type,
            format!("it becomes {}", if word.is_empty() { "a column of any type" } else { &word }),
        ));
    }
    if dialect != Dialect::SQLite {
        losses.extend(nan_patterns(of));
    }
    if types::is_json(dialect, of) {
        losses.push(note(LossKind::Nesting, "nested values are written as JSON"));
        if has(&|of| of.is_binary() || matches!(of, DataType::FixedSizeBinary(_))) {
            losses.push(note(LossKind::Type, "binary is written as hexadecimal text"));
        }
        return;
    }
    if has(&|of| matches!(of, DataType::Timestamp(_, Some(_)))) {
        losses.push(note(LossKind::Zone, "moments are kept, the name of their zone is not"));
    }
    if dialect != Dialect::SQLite && has(&|of| is_too_fine(dialect, of)) {
        losses.push(note(LossKind::Precision, "digits of times below a microsecond are not kept").if_any());
    }
    if dialect != Dialect::SQLite && has(&|of| of.is_temporal()) {
        losses.push(note(LossKind::Type, "a time that no calendar has stops the conversion").if_any());
    }
    if dialect == Dialect::SQLite && has(&|of| of.is_floating()) {
        losses.push(loss(LossKind::Nan, "NaN becomes null: SQLite has none").if_any());
        losses.push(note(LossKind::Precision, "a negative zero becomes zero").if_any());
        if !field.is_nullable() {
            losses.push(note(LossKind::Null, "the column may have nulls, since NaN becomes one"));
        }
    }
    if dialect == Dialect::Postgres && has(&|of| of.is_string()) {
        losses.push(
            note(
                LossKind::Type,
                "a text with a zero character, which PostgreSQL has not, stops the conversion",
            )
            .if_any(),
        );
    }
}

/// Whether times have digits that are not kept.
fn is_too_fine(dialect: Dialect, of: &DataType) -> bool {
    match of {
        DataType::Timestamp(TimeUnit::Nanosecond, zone) => dialect == Dialect::Postgres || zone.is_some(),
        DataType::Time64(TimeUnit::Nanosecond) | DataType::Duration(TimeUnit::Nanosecond) => true,
        DataType::Interval(unit) => *unit == arrow::datatypes::IntervalUnit::MonthDayNano,
        _ => false,
    }
}

/// The names of the tables.
fn table_names(tables: &[(&str, &Arc<dyn Table>)], dialect: Dialect, options: &Options) -> Vec<String> {
    let wanted = options.get(NAME.name).unwrap_or(NAME.default);
    dialect.names(tables.iter().map(|(own, _)| if own.is_empty() { wanted } else { *own }))
}

fn write(task: &Task, payload: &Payload, options: &Options, sink: &mut dyn Sink) -> Result<()> {
    let (tables, dialect) = (payload.tables()?, dialect(options)?);
    let copy = options.choice(&ROWS)? == "copy";
    if copy && dialect != Dialect::Postgres {
        return Err(Error::unsupported("rows=copy: only PostgreSQL has COPY blocks (dialect=postgres)"));
    }
    let batch = options
        .number(&BATCH, "it is no number from 1 to 1,000,000", |n: &usize| (1..=1_000_000).contains(n))?;
    let (create, whole) = (options.choice(&CREATE)?, options.choice(&WHOLE)? == "yes");
    if whole {
        put(sink, b"BEGIN;\n")?;
    }
    for ((_, table), name) in tables.iter().zip(table_names(&tables, dialect, options)) {
        if tables.len() > 1 {
            task.set_message(name.clone());
        }
        let (fields, name) = (table.schema().fields(), types::quoted(&name));
        if create == "replace" {
            put(sink, format!("DROP TABLE IF EXISTS {name};\n").as_bytes())?;
        }
        if create != "no" {
            put(sink, made(dialect, &name, fields).as_bytes())?;
        }
        match copy {
            true => copied(task, table.as_ref(), &name, dialect, sink)?,
            false => inserted(task, table.as_ref(), &name, dialect, batch, sink)?,
        }
    }
    if whole {
        put(sink, b"COMMIT;\n")?;
    }
    Ok(())
}

/// The names of columns in the order of the table.
fn columns(dialect: Dialect, fields: &Fields) -> Vec<String> {
    let names = dialect.names(fields.iter().map(|field| field.name().as_str()));
    names.iter().map(|name| types::quoted(name)).collect()
}

/// The statement that makes the table.
fn made(dialect: Dialect, name: &str, fields: &Fields) -> String {
    let column = |(field, name): (&FieldRef, String)| {
        let nan = dialect == Dialect::SQLite && holds(field.data_type(), &|of| of.is_floating());
        let null =
            if field.is_nullable() || nan || *field.data_type() == DataType::Null { "" } else { " NOT NULL" };
        let of = types::declared(dialect, field.data_type());
        format!("    {name}{}{of}{null}", if of.is_empty() { "" } else { " " })
    };
    let all: Vec<String> = fields.iter().zip(columns(dialect, fields)).map(column).collect();
    format!("CREATE TABLE {name} (\n{}\n);\n", all.join(",\n"))
}

fn inserted(
    task: &Task,
    table: &dyn Table,
    name: &str,
    dialect: Dialect,
    most: usize,
    sink: &mut dyn Sink,
) -> Result<()> {
    let names = columns(dialect, table.schema().fields()).join(", ");
    let begin = format!("INSERT INTO {name} ({names}) VALUES\n");
    let statements = |batch: RecordBatch| -> Result<Vec<u8>> {
        let columns: Vec<ArrayRef> = batch.columns().iter().map(plain).collect();
        let mut out = Vec::new();
        let (mut rows, mut start) = (0, 0);
        for row in 0..batch.num_rows() {
            if rows == 0 {
                start = out.len();
                out.extend_from_slice(begin.as_bytes());
            }
            out.push(b'(');
            for (n, column) in columns.iter().enumerate() {
                if n > 0 {
                    out.extend(b", ");
                }
                literal::put(dialect, column.as_ref(), row, &mut out)?;
            }
            out.push(b')');
            rows += 1;
            let ends = rows >= most || out.len() - start >= STATEMENT || row + 1 == batch.num_rows();
            out.extend(if ends { &b";\n"[..] } else { &b",\n"[..] });
            if ends {
                rows = 0;
            }
        }
        Ok(out)
    };
    scan(task, table, statements, |bytes| put(sink, &bytes)).map(drop)
}

fn copied(task: &Task, table: &dyn Table, name: &str, dialect: Dialect, sink: &mut dyn Sink) -> Result<()> {
    let names = columns(dialect, table.schema().fields()).join(", ");
    put(sink, format!("COPY {name} ({names}) FROM stdin;\n").as_bytes())?;
    let lines = |batch: RecordBatch| -> Result<Vec<u8>> {
        let columns: Vec<ArrayRef> = batch.columns().iter().map(plain).collect();
        let mut out = Vec::new();
        for row in 0..batch.num_rows() {
            for (n, column) in columns.iter().enumerate() {
                if n > 0 {
                    out.push(b'\t');
                }
                copy::put(column.as_ref(), row, &mut out)?;
            }
            out.push(b'\n');
        }
        Ok(out)
    };
    scan(task, table, lines, |bytes| put(sink, &bytes))?;
    put(sink, b"\\.\n")
}

#[cfg(test)]
mod tests;
