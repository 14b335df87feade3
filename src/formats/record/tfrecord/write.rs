//! Writes TFRecord: a `tf.train.Example` for each row, whose features are the columns. Integers and truth values become
//! `int64_list`, floats `float_list`, texts and bytes `bytes_list`; lists have several values, arrays of one shape all of
//! theirs one after the other; null is a feature that is not there. Everything else is text, as in cells.
//! <https://www.tensorflow.org/tutorials/load_data/tfrecord>

use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::content::Kind;
use crate::data::format::{Files, Loss, LossKind, OptionSpec, Options, Payload, Sink, WriteTo, Writer};
use crate::data::format::{loss, note};
use crate::data::scan::scan;
use crate::engines::records::tfrecord::append;
use crate::engines::samples::classes::{self, CLASSES};
use crate::engines::samples::columns::{bytes_at, flat};
use crate::engines::samples::{Coded, Coding, Column, FILES, Flat, Form, LABEL, Leaf, shards};
use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::{Float32Type, Float64Type, Int64Type, UInt64Type};
use std::collections::HashSet;

const COMPRESSION: OptionSpec = OptionSpec::new("compression", "How all of the file is compressed")
    .one_of("none", &["none", "gzip", "zlib"]);

/// The writer.
pub(super) const WRITER: Writer = Writer {
    options: &[COMPRESSION, LABEL, CLASSES, shards::SHARDS, shards::ROWS, shards::BYTES, FILES],
    check,
    streams: true,
    write: WriteTo::Either { is_folder: shards::is_asked, file: write, folder: write_shards },
    ..Writer::new(&[Kind::Table], losses, write)
};

/// Features are told apart by their names.
fn check(payload: &Payload) -> Result<()> {
    let mut names = HashSet::new();
    for flat in flat(payload.table()?.schema(), '/') {
        if flat.name.is_empty() {
            return Err(Error::unsupported("a column has no name, by which a feature is found"));
        }
        if !names.insert(flat.name.clone()) {
            return Err(Error::unsupported(format!(
                "two columns are called {:?}, and an Example has one feature of a name",
                flat.name
            )));
        }
    }
    if names.is_empty() { Err(Error::unsupported("the table has no columns")) } else { Ok(()) }
}

fn losses(payload: &Payload, options: &Options) -> Vec<Loss> {
    let Ok(payload) = classes::named(payload, options) else { return Vec::new() };
    let Ok(table) = payload.table() else { return Vec::new() };
    let mut losses = Vec::new();
    for flat in flat(table.schema(), '/') {
        let top = table.schema().fields().get(flat.column);
        let column = top.map_or("", |field| field.name());
        if flat.name != column {
            let what = format!("a field of the struct becomes the feature {}", flat.name);
            losses.push(note(LossKind::Type, what.clone()).of(column).if_any());
            losses.push(note(LossKind::Name, what).of(column).if_any());
        }
        losses.extend(of_type(&flat).into_iter().map(|loss| loss.of(column)));
    }
    let what = "the file does not say that a column has no nulls";
    losses.push(note(LossKind::Null, what).if_any());
    let what = "a column without any value is no feature, and columns that begin with nulls come later";
    losses.push(note(LossKind::Name, what).if_any());
    if table.rows().exact() == Some(0) {
        losses
            .push(loss(LossKind::Name, "the names of the columns: the file has none without rows").if_any());
    }
    losses
}

/// What is said of the type of a column.
fn of_type(flat: &Flat) -> Vec<Loss> {
    let form = Form::of(&flat.data_type);
    let word = crate::bytes::display::arrow_type(&flat.data_type);
    let mut losses = Vec::new();
    match form.leaf() {
        Leaf::Null => losses.push(loss(LossKind::Type, "a column of nulls is no feature")),
        Leaf::Bool => losses.push(note(LossKind::Type, "truth values become the integers 0 and 1")),
        Leaf::Int if word != "int64" => {
            losses.push(note(LossKind::Type, format!("{word} becomes int64")).if_any());
        }
        Leaf::Uint => {
            let what = "uint64 becomes int64; a larger number stops the conversion";
            losses.push(note(LossKind::Type, what).if_any());
        }
        Leaf::Float if word != "float" => {
            losses.push(note(LossKind::Type, format!("{word} becomes float")).if_any());
        }
        Leaf::Double => {
            let what = "float64 becomes float32, which has 24 bits for digits: there are no others";
            losses.push(loss(LossKind::Precision, what).if_any());
            losses.push(note(LossKind::Type, "float64 becomes float32"));
        }
        Leaf::Text | Leaf::Bytes => {
            let what = "bytes and texts are one: a reader takes for text what can be printed";
            losses.push(note(LossKind::Type, what).if_any());
        }
        Leaf::Other => {
            losses.push(note(LossKind::Type, format!("{word} becomes text")).if_any());
        }
        _ => {}
    }
    match form {
        Form::Single(_) => {}
        Form::List(_) => {
            let what = "lists that all have one value are read as single values; a null within a list stops the conversion";
            losses.push(note(LossKind::Type, what).if_any());
        }
        Form::Fixed(shape, _) => {
            let what =
                format!("arrays of shape {shape:?} become lists of their values; the shape is not kept");
            losses.push(note(LossKind::Nesting, what).if_any());
        }
    }
    losses
}

/// Appends a number as Protocol Buffers have it.
fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a field of bytes.
fn field(number: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(number << 3 | 2);
    varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

/// Scratch buffers for messages within messages.
#[derive(Default)]
struct Scratch {
    values: Vec<u8>,
    list: Vec<u8>,
    feature: Vec<u8>,
    entry: Vec<u8>,
}

/// Appends the entry of a column in the map of features: nothing where its cell is null.
fn entry(name: &str, column: &Column, row: usize, scratch: &mut Scratch, out: &mut Vec<u8>) -> Result<()> {
    let Some(range) = column.range(row) else { return Ok(()) };
    let Scratch { values, list, feature, entry } = scratch;
    [&mut *values, &mut *list, &mut *feature, &mut *entry].into_iter().for_each(Vec::clear);
    let cells = &column.values;
    let kind = match column.form.leaf() {
        Leaf::Null => return Ok(()),
        Leaf::Bool => {
            let cells = cells.as_boolean();
            range.for_each(|at| values.push(u8::from(cells.value(at))));
            3
        }
        Leaf::Int => {
            let cells = cells.as_primitive::<Int64Type>().values();
            let cells = cells.get(range).unwrap_or_default();
            cells.iter().for_each(|value| varint(value.cast_unsigned(), values));
            3
        }
        Leaf::Uint => {
            let cells = cells.as_primitive::<UInt64Type>().values();
            for value in cells.get(range).unwrap_or_default() {
                if i64::try_from(*value).is_err() {
                    let what = format!(
                        "column {name:?}: {value} is too large for int64, the only integers of an Example"
                    );
                    return Err(Error::unsupported(what));
                }
                varint(*value, values);
            }
            3
        }
        Leaf::Float => {
            let cells = cells.as_primitive::<Float32Type>().values();
            cells.get(range).unwrap_or_default().iter().for_each(|value| values.extend(value.to_le_bytes()));
            2
        }
        Leaf::Double => {
            let cells = cells.as_primitive::<Float64Type>().values();
            let cells = cells.get(range).unwrap_or_default();
            cells.iter().for_each(|value| values.extend((*value as f32).to_le_bytes()));
            2
        }
        Leaf::Text | Leaf::Bytes | Leaf::Other => {
            range.for_each(|at| field(1, bytes_at(cells.as_ref(), at).unwrap_or_default(), list));
            1
        }
    };
    // Numbers are packed: one field has all of them.
    if kind != 1 && !values.is_empty() {
        field(1, values, list);
    }
    field(kind, list, feature);
    field(1, name.as_bytes(), entry);
    field(2, feature, entry);
    field(1, entry, out);
    Ok(())
}

/// The rows of a batch as records, and where each ends.
fn records(columns: &[Flat], batch: &RecordBatch) -> Result<(Vec<u8>, Vec<usize>)> {
    let made = columns.iter().map(|flat| Column::new(&flat.name, &flat.cells(batch)?));
    let made: Vec<Column> = made.collect::<Result<_>>()?;
    let (mut out, mut ends) = (Vec::with_capacity(batch.get_array_memory_size()), Vec::new());
    let (mut scratch, mut features, mut example) = (Scratch::default(), Vec::new(), Vec::new());
    for row in 0..batch.num_rows() {
        features.clear();
        example.clear();
        for (flat, column) in columns.iter().zip(&made) {
            entry(&flat.name, column, row, &mut scratch, &mut features)?;
        }
        field(1, &features, &mut example);
        append(&example, &mut out);
        ends.push(out.len());
    }
    Ok((out, ends))
}

fn write(task: &Task, payload: &Payload, options: &Options, sink: &mut dyn Sink) -> Result<()> {
    let payload = classes::named(payload, options)?;
    check(&payload)?;
    let table = payload.table()?;
    let columns = flat(table.schema(), '/');
    let mut out = Coded::new(Coding::of(options, &COMPRESSION)?, sink)?;
    scan(task, table.as_ref(), |batch| records(&columns, &batch), |(bytes, _)| out.put(&bytes))?;
    out.finish()
}

fn write_shards(task: &Task, payload: &Payload, options: &Options, files: &mut dyn Files) -> Result<()> {
    let name = |stem: &str, number: u64, total: u64| format!("{stem}-{number:05}-of-{total:05}.tfrecord");
    shards::write(task, payload, options, files, (name, write, Some(sizes)))
}

/// The bytes that each row takes.
fn sizes(
    task: &Task,
    payload: &Payload,
    options: &Options,
    each: &mut (dyn FnMut(u64) + Send),
) -> Result<()> {
    let payload = classes::named(payload, options)?;
    let table = payload.table()?;
    let columns = flat(table.schema(), '/');
    let lengths = |batch: RecordBatch| Ok(records(&columns, &batch)?.1);
    scan(task, table.as_ref(), lengths, |ends| {
        shards::lengths(&ends, each);
        Ok(())
    })
    .map(drop)
}
