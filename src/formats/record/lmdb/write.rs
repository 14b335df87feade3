//! Writes LMDB: a store as the library makes one of keys that come in order — pages filled one after the other, branches
//! above them, values of more than half a page on pages of their own. Version 1 of the format, 64 bits, little-endian,
//! pages of 4,096 bytes.
//!
//! A table of a column `key` and a column `value` is written as it is. Of others the value is the payload, where there is
//! no other column, else all columns but the key as a map of MessagePack; or Caffe's `Datum` of payload and label.

use super::build::Builder;
use crate::bytes::cache::Reservation;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::adapt::{ChosenRows, TableView};
use crate::data::content::{Kind, Table};
use crate::data::format::{Files, Loss, LossKind, OptionSpec, Options, Payload, Sink, WriteTo, Writer};
use crate::data::format::{loss, note};
use crate::data::scan::scan;
use crate::engines::msgpack::write as msgpack;
use crate::engines::samples::classes::{self, CLASSES};
use crate::engines::samples::columns::bytes_at;
use crate::engines::samples::{Column, FILES, Flat, Form, KEY, LABEL, Leaf, Numbered, PAYLOAD, Roles};
use arrow::array::{ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::UInt64Type;
use std::collections::HashSet;
use std::sync::Arc;

const ENTRIES: OptionSpec = OptionSpec::new(
    "entries",
    "What values are: the payload, a MessagePack map of all columns but the key, Caffe's Datum of payload and label; auto: columns key and value as they are, else the payload where it is the only column, else MessagePack",
)
.one_of("auto", &["auto", "payload", "msgpack", "datum"]);
const FOLDER: OptionSpec = OptionSpec::new(
    "folder",
    "Write a folder with the file data.mdb in it, which the library opens by itself, or the file alone",
)
.one_of("no", &["no", "yes"]);

/// The writer.
pub(super) const WRITER: Writer = Writer {
    options: &[ENTRIES, FOLDER, KEY, PAYLOAD, LABEL, CLASSES, FILES],
    check: |payload| match payload.table()?.schema().fields().is_empty() {
        true => Err(Error::unsupported("the table has no columns")),
        false => Ok(()),
    },
    write: WriteTo::Either { is_folder, file: write, folder: write_folder },
    ..Writer::new(&[Kind::Table], losses, write)
};

/// Keys are not longer than the library takes.
const LONGEST: usize = 511;
/// Bytes of keys that are kept to put them in order.
const KEYS: u64 = 4 << 30;
/// Rows that are read at once where keys are not in order.
const CHUNK: usize = 1024;

fn is_folder(options: &Options) -> bool {
    options.get(FOLDER.name) == Some("yes")
}

/// What values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entries {
    Payload,
    MessagePack,
    Datum,
}

/// What is written of a table.
struct Plan {
    roles: Roles,
    key: Option<usize>,
    entries: Entries,
    /// The columns that are in no value.
    left_out: Vec<usize>,
}

impl Plan {
    fn new(payload: &Payload, options: &Options) -> Result<Plan> {
        let mut roles = Roles::find(payload, options, '.')?;
        let mut key = roles.key.or(roles.path);
        let of = |flat: &Flat| Form::of(&flat.data_type);
        let is_value =
            |flat: &Flat| flat.name == "value" && matches!(of(flat), Form::Single(Leaf::Bytes | Leaf::Text));
        // What keys and values of a store are read as.
        if let [first, second] = roles.columns.as_slice()
            && first.name == "key"
            && is_value(second)
        {
            (key, roles.payload) = (Some(0), Some(1));
        }
        let others: Vec<usize> = roles.others(&[key, roles.payload]).map(|(at, _)| at).collect();
        let has_payload = roles.payload.is_some() && roles.payload != key;
        let entries = match options.choice(&ENTRIES)? {
            "payload" => Entries::Payload,
            "msgpack" => Entries::MessagePack,
            "datum" => Entries::Datum,
            _ if has_payload && others.is_empty() => Entries::Payload,
            _ => Entries::MessagePack,
        };
        if entries != Entries::MessagePack && !has_payload {
            return Err(Error::unsupported(
                "there is no column of bytes for the values; payload=NAME names one",
            ));
        }
        let left_out = match entries {
            Entries::Payload => others,
            Entries::Datum => others.into_iter().filter(|at| Some(*at) != roles.label).collect(),
            Entries::MessagePack => Vec::new(),
        };
        let mut names = HashSet::new();
        let mut members = roles.columns.iter().enumerate().filter(|(at, _)| Some(*at) != key);
        let twice = members.find(|(_, flat)| !names.insert(flat.name.as_str()));
        if let Some((_, flat)) = twice.filter(|_| entries == Entries::MessagePack) {
            let what = format!("two columns are called {:?}, and a map has one value for a name", flat.name);
            return Err(Error::unsupported(what));
        }
        Ok(Plan { roles, key, entries, left_out })
    }

    fn flat(&self, at: Option<usize>) -> Result<&Flat> {
        self.roles.column(at).ok_or_else(|| Error::bug("a column that is not there"))
    }
}

fn losses(payload: &Payload, options: &Options) -> Vec<Loss> {
    let Ok(payload) = named(payload, options) else { return Vec::new() };
    let Ok(plan) = Plan::new(&payload, options) else { return Vec::new() };
    let Ok(table) = payload.table() else { return Vec::new() };
    let mut losses = Vec::new();
    for (at, flat) in plan.roles.columns.iter().enumerate() {
        let column = table.schema().fields().get(flat.column).map_or("", |field| field.name());
        let mut say = |made: Loss| losses.push(made.of(column));
        match () {
            () if Some(at) == plan.key => {
                say(note(LossKind::Type, "it is the key: texts and bytes as they are, all else as text")
                    .if_any());
                say(note(LossKind::Name, "it is the key").if_any());
                say(note(LossKind::Order, "entries are in the order of their keys").if_any());
            }
            () if plan.left_out.contains(&at) => {
                say(loss(LossKind::Type, "it is left out (entries=msgpack keeps all columns)"));
            }
            () if plan.entries == Entries::MessagePack => {
                say(note(LossKind::Nesting, "it is a member of a map of MessagePack, which is the value")
                    .if_any());
                say(note(LossKind::Name, "it is a member of a map of MessagePack, which is the value")
                    .if_any());
            }
            () => {
                say(note(LossKind::Type, "it is the value: bytes, which a reader may take for text").if_any());
                say(note(LossKind::Name, "it is the value").if_any());
            }
        }
    }
    if plan.key.is_none() {
        losses.push(note(LossKind::Name, "the keys are the numbers of the rows").if_any());
    }
    losses.push(note(LossKind::Null, "a null key or payload stops the conversion").if_any());
    losses.push(note(LossKind::Order, "entries are in the order of their keys").if_any());
    losses
}

/// With the names of classes, where there is a place for them.
fn named(payload: &Payload, options: &Options) -> Result<Payload> {
    match options.get(ENTRIES.name) {
        Some("payload") => Ok(payload.clone()),
        Some("datum") => classes::numbered(payload, options),
        _ => classes::named(payload, options),
    }
}

/// Keys and values of a batch.
struct Made {
    bytes: Vec<u8>,
    /// Where each key ends and where its value does.
    ends: Vec<(usize, usize)>,
}

impl Made {
    fn each(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let mut start = 0;
        self.ends.iter().map(move |(key, end)| {
            let range = start..*key;
            start = *end;
            (self.bytes.get(range).unwrap_or_default(), self.bytes.get(*key..*end).unwrap_or_default())
        })
    }
}

/// The keys of the rows of a batch whose last column has their numbers.
fn key_cells(plan: &Plan, batch: &RecordBatch) -> Result<Option<Column>> {
    let Some(flat) = plan.roles.column(plan.key) else { return Ok(None) };
    let cells = flat.cells(batch)?;
    match Leaf::of(&flat.data_type) {
        Leaf::Text | Leaf::Bytes => Column::new(&flat.name, &cells).map(Some),
        _ => Ok(Some(Column::texts(&cells))),
    }
}

fn key<'a>(keys: Option<&'a Column>, row: usize, number: u64, own: &'a mut String) -> Result<&'a [u8]> {
    let key = match keys {
        None => {
            *own = format!("{number:09}");
            own.as_bytes()
        }
        Some(keys) => {
            keys.bytes(row).ok_or_else(|| Error::unsupported(format!("row {number} has no key")))?
        }
    };
    match key.len() {
        1..=LONGEST => Ok(key),
        0 => Err(Error::unsupported(format!("the key of row {number} is empty, which LMDB does not take"))),
        len => Err(Error::unsupported(format!(
            "the key of row {number} has {len} bytes; the longest of LMDB is {LONGEST}"
        ))),
    }
}

fn numbers(batch: &RecordBatch) -> Result<&arrow::array::UInt64Array> {
    let last = batch.columns().last().and_then(|column| column.as_primitive_opt::<UInt64Type>());
    last.ok_or_else(|| Error::bug("rows without numbers"))
}

/// The entries of a batch, in the order of its rows.
fn entries(plan: &Plan, batch: &RecordBatch) -> Result<Made> {
    let numbers = numbers(batch)?;
    let keys = key_cells(plan, batch)?;
    let payload = match plan.entries {
        Entries::MessagePack => None,
        _ => {
            let flat = plan.flat(plan.roles.payload)?;
            Some(Column::new(&flat.name, &flat.cells(batch)?)?)
        }
    };
    let label = match plan.entries {
        Entries::Datum => plan.roles.column(plan.roles.label).map(|flat| flat.cells(batch)).transpose()?,
        _ => None,
    };
    let members = members(plan, batch)?;
    let mut made = Made { bytes: Vec::with_capacity(batch.get_array_memory_size()), ends: Vec::new() };
    let mut own = String::new();
    for row in 0..batch.num_rows() {
        let number = numbers.value(row);
        let key = key(keys.as_ref(), row, number, &mut own)?;
        made.bytes.extend_from_slice(key);
        let end = made.bytes.len();
        let out = &mut made.bytes;
        let nothing =
            || Error::unsupported(format!("row {number} has no payload (entries=msgpack keeps nulls)"));
        match &payload {
            None => {
                msgpack::map(members.len(), out)?;
                for (name, cells) in &members {
                    out.extend_from_slice(name);
                    msgpack::value(cells.as_ref(), row, 0, out)?;
                }
            }
            Some(payload) => {
                let at = payload.range(row).ok_or_else(nothing)?.start;
                let bytes = bytes_at(payload.values.as_ref(), at).unwrap_or_default();
                match plan.entries {
                    Entries::Datum => datum(bytes, label.as_ref(), row, out)?,
                    _ => out.extend_from_slice(bytes),
                }
            }
        }
        made.ends.push((end, made.bytes.len()));
    }
    Ok(made)
}

/// The members of maps: their keys as they are written, and their cells.
fn members(plan: &Plan, batch: &RecordBatch) -> Result<Vec<(Vec<u8>, ArrayRef)>> {
    if plan.entries != Entries::MessagePack {
        return Ok(Vec::new());
    }
    let one = |(_, flat): (usize, &Flat)| {
        let mut name = Vec::new();
        msgpack::string(&flat.name, &mut name)?;
        Ok((name, msgpack::prepared(&flat.cells(batch)?)?))
    };
    plan.roles.others(&[plan.key]).map(one).collect()
}

/// Appends Caffe's message of encoded bytes and a label:
/// <https://github.com/BVLC/caffe/blob/master/src/caffe/proto/caffe.proto>.
fn datum(bytes: &[u8], label: Option<&ArrayRef>, row: usize, out: &mut Vec<u8>) -> Result<()> {
    let varint = |mut value: u64, out: &mut Vec<u8>| {
        while value >= 0x80 {
            out.push(value as u8 | 0x80);
            value >>= 7;
        }
        out.push(value as u8);
    };
    out.push(4 << 3 | 2);
    varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
    let text = label.and_then(|label| crate::data::cell::text(label.as_ref(), row));
    if let Some(text) = text {
        let label: i32 = text.parse().map_err(|_| {
            Error::unsupported(format!("the label {text:?} is no integer of 32 bits, which a Datum has"))
        })?;
        out.push(5 << 3);
        varint(i64::from(label).cast_unsigned(), out);
    }
    out.extend([7 << 3, 1]);
    Ok(())
}

/// The rows in the order of their keys; `None` where they are in that order already.
fn order(task: &Task, plan: &Plan, table: &Arc<dyn Table>) -> Result<Option<Vec<u64>>> {
    let Some(flat) = plan.roles.column(plan.key) else { return Ok(None) };
    task.set_message("putting keys in order");
    let view: Arc<dyn Table> = Arc::new(TableView::new(table.clone(), 0..u64::MAX, vec![flat.column])?);
    let lone = Plan {
        roles: Roles { columns: vec![flat.clone().at(0)], ..empty_roles() },
        key: Some(0),
        entries: plan.entries,
        left_out: Vec::new(),
    };
    let numbered = Numbered::new(view, 0);
    let take = |batch: RecordBatch| {
        let (keys, numbers) = (key_cells(&lone, &batch)?, numbers(&batch)?);
        let mut own = String::new();
        let each = (0..batch.num_rows())
            .map(|row| Ok(key(keys.as_ref(), row, numbers.value(row), &mut own)?.to_vec()));
        each.collect::<Result<Vec<Vec<u8>>>>()
    };
    let (mut all, mut bytes, mut sorted) = (Vec::<Vec<u8>>::new(), 0_u64, true);
    let mut reserved: Vec<Reservation> = Vec::new();
    scan(task, &numbered, take, |keys| {
        let more: u64 = keys.iter().map(|key| key.len() as u64 + 24).sum();
        bytes = bytes.saturating_add(more);
        limits::check(bytes, KEYS, "the keys that are to be put in order")?;
        reserved.push(Reservation::new(more as usize));
        for key in keys {
            sorted &= all.last().is_none_or(|last| *last < key);
            all.push(key);
        }
        Ok(())
    })?;
    if sorted {
        return Ok(None);
    }
    let mut order: Vec<u64> = (0..all.len() as u64).collect();
    let at = |row: &u64| all.get(*row as usize).map(Vec::as_slice).unwrap_or_default();
    order.sort_unstable_by(|a, b| at(a).cmp(at(b)));
    for pair in order.windows(2) {
        if let [a, b] = pair
            && at(a) == at(b)
        {
            let (first, second) = ((*a).min(*b), (*a).max(*b));
            return Err(same_key(at(a), first, second));
        }
    }
    Ok(Some(order))
}

fn same_key(key: &[u8], first: u64, second: u64) -> Error {
    let key = key.escape_ascii();
    Error::unsupported(format!(
        "rows {first} and {second} have the same key, \"{key}\"; an LMDB store has each once"
    ))
}

fn empty_roles() -> Roles {
    let names = Arc::from(Vec::new());
    Roles {
        columns: Vec::new(),
        key: None,
        path: None,
        payload: None,
        label: None,
        names,
        class: None,
        split: None,
    }
}

fn write(task: &Task, payload: &Payload, options: &Options, sink: &mut dyn Sink) -> Result<()> {
    let payload = named(payload, options)?;
    let plan = Plan::new(&payload, options)?;
    let table = payload.table()?.clone();
    let order = order(task, &plan, &table)?;
    task.set_message("");
    let mut store = Builder::new(sink)?;
    let numbered: Arc<dyn Table> = Arc::new(Numbered::new(table, 0));
    match order {
        None => {
            scan(
                task,
                numbered.as_ref(),
                |batch| entries(&plan, &batch),
                |made| made.each().try_for_each(|(key, value)| store.add(key, value)),
            )?;
        }
        Some(order) => {
            let columns: Vec<usize> = (0..numbered.schema().fields().len()).collect();
            for chunk in order.chunks(CHUNK) {
                let chosen = ChosenRows::new(numbered.clone(), chunk.iter().copied());
                let batch = chosen.read(task, 0..chunk.len() as u64, &columns)?;
                let made = entries(&plan, &batch)?;
                let mut all: Vec<(&[u8], &[u8])> = made.each().collect();
                all.sort_unstable();
                all.into_iter().try_for_each(|(key, value)| store.add(key, value))?;
                task.advance(chunk.len() as u64)?;
            }
        }
    }
    store.finish()
}

fn write_folder(task: &Task, payload: &Payload, options: &Options, files: &mut dyn Files) -> Result<()> {
    let mut file = files.file(super::DATA)?;
    write(task, payload, options, file.as_mut())?;
    Ok(file.flush()?)
}
