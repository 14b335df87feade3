//! Writes MessagePack: a map for each row, one after the other or in one array. Cells are written by
//! [`engines::msgpack`](crate::engines::msgpack::write).

use crate::bytes::display::arrow_type;
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::content::Kind;
use crate::data::format::{Files, Loss, LossKind, OptionSpec, Options, Payload, Sink, WriteTo, Writer};
use crate::data::format::{loss, note};
use crate::data::scan::{put, scan};
use crate::engines::msgpack::write as msgpack;
use crate::engines::samples::classes::{self, CLASSES};
use crate::engines::samples::{Form, LABEL, Leaf, shards};
use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::FieldRef;
use std::collections::HashSet;

const LAYOUT: OptionSpec = OptionSpec::new("layout", "Maps one after the other, or one array of maps")
    .one_of("stream", &["stream", "array"]);

/// The writer.
pub(super) const WRITER: Writer = Writer {
    options: &[LAYOUT, LABEL, CLASSES, shards::SHARDS, shards::ROWS, shards::BYTES],
    check,
    streams: true,
    write: WriteTo::Either { is_folder: shards::is_asked, file: write, folder: write_shards },
    ..Writer::new(&[Kind::Table], losses, write)
};

/// Readers take the last one of two pairs with the same key.
fn check(payload: &Payload) -> Result<()> {
    let mut names = HashSet::new();
    for field in payload.table()?.schema().fields() {
        if !names.insert(field.name()) {
            let what =
                format!("two columns are called {:?}, and a map has one value for a key", field.name());
            return Err(Error::unsupported(what));
        }
    }
    if names.is_empty() { Err(Error::unsupported("the table has no columns")) } else { Ok(()) }
}

fn losses(payload: &Payload, options: &Options) -> Vec<Loss> {
    let Ok(payload) = classes::named(payload, options) else { return Vec::new() };
    let Ok(table) = payload.table() else { return Vec::new() };
    let mut losses = Vec::new();
    for field in table.schema().fields() {
        let word = arrow_type(field.data_type());
        let mut say = |kind: LossKind, what: String| losses.push(note(kind, what).of(field.name()).if_any());
        match Form::of(field.data_type()) {
            Form::Fixed(..) => {
                say(LossKind::Type, format!("{word} becomes an array of msgpack-numpy"));
                say(
                    LossKind::Nesting,
                    "arrays of integers and floats have 8 or 4 bytes an element".to_owned(),
                );
            }
            Form::Single(Leaf::Int | Leaf::Uint | Leaf::Float) => {
                say(LossKind::Type, "numbers do not say how many bits they had".to_owned());
            }
            Form::Single(Leaf::Other) | Form::List(_) => {
                say(LossKind::Type, format!("{word} has no type of its own in MessagePack"));
                say(LossKind::Zone, "moments are kept in UTC, without their zone".to_owned());
            }
            Form::Single(_) => say(LossKind::Type, "types are those of the values".to_owned()),
        }
    }
    losses.push(note(LossKind::Null, "the file does not say that a column has no nulls").if_any());
    if table.rows().exact() == Some(0) {
        losses.push(loss(LossKind::Name, "the names of the columns: the file has none without rows"));
    }
    losses
}

/// The key of a column.
fn key(field: &FieldRef) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    msgpack::string(field.name(), &mut out)?;
    Ok(out)
}

/// The rows of a batch as maps, and where each ends.
fn maps(keys: &[Vec<u8>], batch: &RecordBatch) -> Result<(Vec<u8>, Vec<usize>)> {
    let columns: Vec<ArrayRef> = batch.columns().iter().map(msgpack::prepared).collect::<Result<_>>()?;
    let (mut out, mut ends) = (Vec::with_capacity(batch.get_array_memory_size()), Vec::new());
    for row in 0..batch.num_rows() {
        msgpack::map(columns.len(), &mut out)?;
        for (key, column) in keys.iter().zip(&columns) {
            out.extend_from_slice(key);
            msgpack::value(column.as_ref(), row, 0, &mut out)?;
        }
        ends.push(out.len());
    }
    Ok((out, ends))
}

fn keys(payload: &Payload) -> Result<Vec<Vec<u8>>> {
    payload.table()?.schema().fields().iter().map(key).collect()
}

fn write(task: &Task, payload: &Payload, options: &Options, sink: &mut dyn Sink) -> Result<()> {
    let payload = classes::named(payload, options)?;
    let (table, keys) = (payload.table()?, keys(&payload)?);
    if options.choice(&LAYOUT)? == "array" {
        let rows = table.count(task)?;
        let rows = usize::try_from(rows).map_err(|_| Error::limit("the rows of an array"))?;
        let mut head = Vec::new();
        msgpack::array(rows, &mut head)?;
        put(sink, &head)?;
    }
    scan(task, table.as_ref(), |batch| maps(&keys, &batch), |(bytes, _)| put(sink, &bytes)).map(drop)
}

fn write_shards(task: &Task, payload: &Payload, options: &Options, files: &mut dyn Files) -> Result<()> {
    let name: shards::Name = |stem, number, total| format!("{stem}-{number:05}-of-{total:05}.msgpack");
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
    let (table, keys) = (payload.table()?, keys(&payload)?);
    scan(
        task,
        table.as_ref(),
        |batch| Ok(maps(&keys, &batch)?.1),
        |ends| {
            shards::lengths(&ends, each);
            Ok(())
        },
    )
    .map(drop)
}
