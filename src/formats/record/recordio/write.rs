//! Writes MXNet's RecordIO: a record for each row, with an `IRHeader` of label and number before the payload; beside it
//! `NAME.idx`, which says where each record begins, and where rows have keys of their own `NAME.lst`, which says them.
//! <https://mxnet.apache.org/versions/1.9.1/api/python/docs/api/mxnet/recordio/index.html>

use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::cell;
use crate::data::content::Kind;
use crate::data::format::{Files, Loss, LossKind, OptionSpec, Options, Payload, Sink, WriteTo, Writer};
use crate::data::format::{loss, note};
use crate::data::scan::{put, scan};
use crate::engines::records::recordio::append;
use crate::engines::samples::classes;
use crate::engines::samples::{
    Column, FILES, Flat, Form, KEY, LABEL, Leaf, Numbered, PAYLOAD, Roles, shards,
};
use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::{DataType, Float32Type, Float64Type, Int64Type, UInt64Type};

const HEADER: OptionSpec = OptionSpec::new(
    "header",
    "Whether an IRHeader with label and number stands before each payload, as MXNet's readers of images want it",
)
.one_of("yes", &["yes", "no"]);

/// The writer.
pub(super) const WRITER: Writer = Writer {
    options: &[HEADER, KEY, PAYLOAD, LABEL, shards::SHARDS, shards::ROWS, shards::BYTES, FILES],
    check: |payload| Plan::new(payload, &Options::default()).map(drop),
    write: WriteTo::Either { is_folder: shards::is_asked, file: write, folder: write_shards },
    ..Writer::new(&[Kind::Table], losses, write)
};

/// The largest integer up to which a float32 has all.
const EXACT: u64 = 1 << 24;

/// What is written of a table.
struct Plan {
    roles: Roles,
    payload: usize,
    /// The label, where it is of numbers.
    label: Option<usize>,
    /// Two numbers of the header.
    id: Option<usize>,
    id2: Option<usize>,
    header: bool,
}

impl Plan {
    fn new(payload: &Payload, options: &Options) -> Result<Plan> {
        let roles = Roles::find(payload, options, '.')?;
        let files = roles.payload.filter(|at| Some(*at) != roles.key);
        let files = files.ok_or_else(|| Error::unsupported("there is no column of bytes for the records"))?;
        let header = options.choice(&HEADER)? == "yes";
        let of = |flat: &Flat| Form::of(&flat.data_type);
        let is_number =
            |leaf: Leaf| matches!(leaf, Leaf::Bool | Leaf::Int | Leaf::Uint | Leaf::Float | Leaf::Double);
        let named = |name: &str, test: &dyn Fn(&Flat) -> bool| {
            roles.columns.iter().position(|flat| flat.name == name && test(flat)).filter(|_| header)
        };
        let is_label = |flat: &Flat| is_number(of(flat).leaf());
        // Several labels are lists, which are no labels of a table of one each.
        let label = roles.label.filter(|at| header && roles.columns.get(*at).is_some_and(is_label));
        let label =
            label.or_else(|| named("label", &is_label)).filter(|_| options.get(LABEL.name) != Some("none"));
        let is_id = |flat: &Flat| matches!(of(flat), Form::Single(Leaf::Int | Leaf::Uint));
        let (id, id2) = (named("id", &is_id), named("id2", &is_id));
        Ok(Plan { roles, payload: files, label, id, id2, header })
    }

    fn column(&self, at: Option<usize>, batch: &RecordBatch) -> Result<Option<Column>> {
        let made = |flat: &Flat| Column::new(&flat.name, &flat.cells(batch)?);
        self.roles.column(at).map(made).transpose()
    }
}

fn losses(payload: &Payload, options: &Options) -> Vec<Loss> {
    let Ok(payload) = classes::numbered(payload, options) else { return Vec::new() };
    let Ok(plan) = Plan::new(&payload, options) else { return Vec::new() };
    let Ok(table) = payload.table() else { return Vec::new() };
    let mut losses = Vec::new();
    for (at, flat) in plan.roles.columns.iter().enumerate() {
        let column = table.schema().fields().get(flat.column).map_or("", |field| field.name());
        let mut say = |made: Loss| losses.push(made.of(column));
        let place = Some(at);
        // What the header tells again.
        let has_lists = plan.roles.column(plan.label).is_some_and(|label| label.data_type.is_nested());
        let is_told = plan.header
            && match flat.name.as_str() {
                "flag" => flat.data_type == DataType::UInt32,
                "objects.class" | "objects.bbox" => has_lists,
                _ => false,
            };
        match () {
            () if at == plan.payload => {
                say(note(LossKind::Name, "it is the payload").if_any());
                say(note(LossKind::Type, "it is the payload").if_any());
            }
            () if place == plan.label => {
                say(note(LossKind::Type, "labels become float32; lists are several labels").if_any());
                say(note(LossKind::Name, "it is the label").if_any());
                if flat.data_type.is_floating() || flat.data_type.is_nested() {
                    say(loss(LossKind::Precision, "labels have 24 bits for digits: others are rounded")
                        .if_any());
                }
            }
            () if place == plan.id || place == plan.id2 => {
                say(note(LossKind::Type, "it is a number of the header, of 64 bits").if_any());
            }
            () if place == plan.roles.key || place == plan.roles.path => {
                say(note(LossKind::Name, "the key stands in a list of files (.lst) beside the records")
                    .if_any());
                say(note(LossKind::Type, "the key stands in a list of files (.lst) beside the records")
                    .if_any());
            }
            () if is_told => {
                say(note(LossKind::Type, "it follows from the labels").if_any());
                say(note(LossKind::Name, "it follows from the labels").if_any());
            }
            () => {
                let made = loss(LossKind::Type, "a record has a label and a payload: the column is left out");
                // Of no rows all columns are those that a reader gives.
                let possible = table.rows().exact() == Some(0);
                say(Loss { possible, ..made });
            }
        }
    }
    if plan.label.is_some() && !plan.roles.names.is_empty() {
        losses.push(note(LossKind::Name, "the names of the classes are not kept").if_any());
    }
    losses.push(note(LossKind::Name, "records have numbers of their own").if_any());
    losses.push(note(LossKind::Null, "a null label or payload stops the conversion").if_any());
    losses
}

/// The labels of a row.
fn labels(column: &Column, row: usize, number: u64) -> Result<Vec<f32>> {
    let nothing = || Error::unsupported(format!("row {number} has no label (label=none writes none)"));
    let range = column.range(row).ok_or_else(nothing)?;
    let cells = &column.values;
    let exact = |magnitude: u64, label: f32| match magnitude > EXACT {
        true => Err(Error::unsupported(format!(
            "row {number}: a label beyond 2^24, which a float32 does not have"
        ))),
        false => Ok(label),
    };
    match column.form.leaf() {
        Leaf::Bool => Ok(range.map(|at| f32::from(u8::from(cells.as_boolean().value(at)))).collect()),
        Leaf::Int => {
            let cells = cells.as_primitive::<Int64Type>().values().get(range).unwrap_or_default();
            cells.iter().map(|value| exact(value.unsigned_abs(), *value as f32)).collect()
        }
        Leaf::Uint => {
            let cells = cells.as_primitive::<UInt64Type>().values().get(range).unwrap_or_default();
            cells.iter().map(|value| exact(*value, *value as f32)).collect()
        }
        Leaf::Float => {
            Ok(cells.as_primitive::<Float32Type>().values().get(range).unwrap_or_default().to_vec())
        }
        Leaf::Double => {
            let cells = cells.as_primitive::<Float64Type>().values().get(range).unwrap_or_default();
            Ok(cells.iter().map(|value| *value as f32).collect())
        }
        _ => Err(Error::bug("a label that is no number")),
    }
}

/// The integer of a row; `None` for null and where there is no column.
fn integer(column: Option<&Column>, row: usize) -> Option<u64> {
    let column = column?;
    let at = column.range(row)?.start;
    match column.form.leaf() {
        Leaf::Int => Some(column.values.as_primitive::<Int64Type>().value(at).cast_unsigned()),
        Leaf::Uint => Some(column.values.as_primitive::<UInt64Type>().value(at)),
        _ => None,
    }
}

/// Records of a batch.
struct Made {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// The number of each record in the index, and a line of the list of files for each that has a key.
    index: Vec<u64>,
    list: String,
}

fn records(plan: &Plan, batch: &RecordBatch) -> Result<Made> {
    let numbers = batch.columns().last().and_then(|column| column.as_primitive_opt::<UInt64Type>());
    let payload = plan.column(Some(plan.payload), batch)?;
    let label = plan.column(plan.label, batch)?;
    let (id, id2) = (plan.column(plan.id, batch)?, plan.column(plan.id2, batch)?);
    let key = plan.roles.key.or(plan.roles.path);
    let keys = plan.roles.column(key).map(|flat| flat.cells(batch)).transpose()?;
    let has_numbers = keys.as_ref().is_some_and(|keys| keys.data_type().is_integer());
    let mut made = Made { bytes: Vec::new(), ends: Vec::new(), index: Vec::new(), list: String::new() };
    let mut record = Vec::new();
    for row in 0..batch.num_rows() {
        let number = numbers.map_or(0, |numbers| numbers.value(row));
        let bytes = payload.as_ref().and_then(|payload| payload.bytes(row));
        let bytes = bytes.ok_or_else(|| Error::unsupported(format!("row {number} has no payload")))?;
        record.clear();
        let labels = label.as_ref().map_or(Ok(vec![0.0]), |label| labels(label, row, number))?;
        let is_list = label.as_ref().is_some_and(|label| !matches!(label.form, Form::Single(_)));
        let id = integer(id.as_ref(), row).unwrap_or(number);
        if plan.header {
            let flag = if is_list { labels.len() as u32 } else { 0 };
            let first = if is_list { 0.0 } else { labels.first().copied().unwrap_or(0.0) };
            record.extend(flag.to_le_bytes());
            record.extend(first.to_le_bytes());
            record.extend(id.to_le_bytes());
            record.extend(integer(id2.as_ref(), row).unwrap_or(0).to_le_bytes());
            if is_list {
                labels.iter().for_each(|label| record.extend(label.to_le_bytes()));
            }
        }
        record.extend_from_slice(bytes);
        append(&record, &mut made.bytes)?;
        made.ends.push(made.bytes.len());
        let text = keys.as_ref().and_then(|keys| cell::shown(keys.as_ref(), row));
        // Keys of an index are integers; among texts some may be, and would be taken for the numbers of other rows.
        let own = text.as_ref().filter(|_| has_numbers).and_then(|text| text.parse::<u64>().ok());
        made.index.push(own.unwrap_or(number));
        if let (Some(text), None) = (text, own) {
            if text.contains(['\n', '\r', '\t']) {
                return Err(Error::unsupported(format!("the key {text:?} cannot stand in a line of a list")));
            }
            let shown: Vec<String> = labels.iter().map(|label| cell::float32(*label)).collect();
            made.list.push_str(&format!("{id}\t{}\t{text}\n", shown.join("\t")));
        }
    }
    Ok(made)
}

fn write(task: &Task, payload: &Payload, options: &Options, sink: &mut dyn Sink) -> Result<()> {
    let payload = classes::numbered(payload, options)?;
    let plan = Plan::new(&payload, options)?;
    let table = Numbered::new(payload.table()?.clone(), shards::first_row(options));
    let mut at = 0_u64;
    scan(
        task,
        &table,
        |batch| records(&plan, &batch),
        |made| {
            put(sink, &made.bytes)?;
            let (mut lines, mut start) = (String::new(), 0);
            for (key, end) in made.index.iter().zip(&made.ends) {
                lines.push_str(&format!("{key}\t{}\n", at + start as u64));
                start = *end;
            }
            at += made.bytes.len() as u64;
            if let Some(index) = sink.beside("idx")? {
                put(index, lines.as_bytes())?;
            }
            if !made.list.is_empty()
                && let Some(list) = sink.beside("lst")?
            {
                put(list, made.list.as_bytes())?;
            }
            Ok(())
        },
    )
    .map(drop)
}

fn write_shards(task: &Task, payload: &Payload, options: &Options, files: &mut dyn Files) -> Result<()> {
    let name: shards::Name = |stem, number, total| format!("{stem}-{number:05}-of-{total:05}.rec");
    shards::write(task, payload, options, files, (name, write, Some(sizes)))
}

/// The bytes that each row takes.
fn sizes(
    task: &Task,
    payload: &Payload,
    options: &Options,
    each: &mut (dyn FnMut(u64) + Send),
) -> Result<()> {
    let payload = classes::numbered(payload, options)?;
    let plan = Plan::new(&payload, options)?;
    let table = Numbered::new(payload.table()?.clone(), 0);
    scan(
        task,
        &table,
        |batch| Ok(records(&plan, &batch)?.ends),
        |ends| {
            shards::lengths(&ends, each);
            Ok(())
        },
    )
    .map(drop)
}
