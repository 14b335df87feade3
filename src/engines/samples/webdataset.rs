//! Writes WebDataset: a tar archive with a member for each cell, `KEY.FIELD`, those of a row one after the other. What a
//! member holds its extension says: payloads are the bytes themselves under the extension of what they are, labels `.cls`,
//! other integers `.index`, texts `.txt`, arrays of one shape `.npy`, all else `.json`. Null is a member that is not there.
//! <https://github.com/webdataset/webdataset>

use super::classes::{self, CLASSES};
use super::columns::{Column, Flat, Form, Leaf};
use super::roles::{FILES, KEY, LABEL, PAYLOAD, Roles, extension};
use super::{Coded, Coding, Numbered, shards, tar};
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::cell;
use crate::data::content::Kind;
use crate::data::dtype::DType;
use crate::data::format::{Files, Loss, LossKind, OptionSpec, Options, Payload, Sink, WriteTo, Writer, note};
use crate::data::scan::scan;
use crate::engines::json::value_text::{self, NotFinite, nan_patterns};
use crate::engines::numpy;
use arrow::array::{ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::UInt64Type;
use std::collections::HashSet;

const COMPRESSION: OptionSpec = OptionSpec::new("compression", "How all of the archive is compressed")
    .one_of("none", &["none", "gzip", "zstd"]);

/// The writer.
pub const WRITER: Writer = Writer {
    options: &[COMPRESSION, KEY, PAYLOAD, LABEL, CLASSES, shards::SHARDS, shards::ROWS, shards::BYTES, FILES],
    check: |payload| Plan::new(payload, &Options::default()).map(drop),
    write: WriteTo::Either { is_folder: shards::is_asked, file: write, folder: write_shards },
    ..Writer::new(&[Kind::Table], losses, write)
};

/// Extensions that the library `webdataset` takes for integers and for texts.
const INTEGERS: [&str; 7] = ["cls", "cls2", "class", "count", "index", "inx", "id"];
const TEXTS: [&str; 4] = ["txt", "text", "transcript", "json"];
/// Extensions of files.
const MEDIA_EXTENSIONS: [&str; 26] = [
    "jpg", "jpeg", "png", "gif", "bmp", "tif", "tiff", "webp", "ppm", "pgm", "qoi", "exr", "npy", "npz",
    "zip", "pickle", "pkl", "pyd", "wav", "flac", "ogg", "mp3", "m4a", "mp4", "bin", "msg",
];

/// What becomes of a column.
#[derive(Clone, Debug, PartialEq)]
enum Member {
    /// The bytes of a file, under the extension of what they are, behind this name if there is one.
    File(String),
    /// The bytes of a file under this name.
    Named(String),
    /// A text.
    Text(String),
    /// An integer in digits.
    Integer(String),
    /// An array.
    Array(String),
    /// JSON.
    Json(String),
}

impl Member {
    /// The field as far as it is known without a value.
    fn field(&self) -> &str {
        match self {
            Member::File(name)
            | Member::Named(name)
            | Member::Text(name)
            | Member::Integer(name)
            | Member::Array(name)
            | Member::Json(name) => name,
        }
    }
}

/// What is written of a table.
struct Plan {
    roles: Roles,
    key: Option<usize>,
    members: Vec<(usize, Member)>,
    /// The fields whose names are known.
    fields: HashSet<String>,
}

impl Plan {
    fn new(payload: &Payload, options: &Options) -> Result<Plan> {
        let roles = Roles::find(payload, options, '.')?;
        let key = roles.key.or(roles.path);
        let mut members = Vec::new();
        let (mut fields, mut files) = (HashSet::new(), HashSet::new());
        for (at, flat) in roles.others(&[key]) {
            let member = member(flat, Some(at) == roles.label, Some(at) == roles.payload);
            if !matches!(member, Member::File(_)) && !fields.insert(member.field().to_owned()) {
                let what = format!("two columns would become members with the extension .{}", member.field());
                return Err(Error::unsupported(what));
            }
            if matches!(member, Member::File(_)) && !files.insert(member.field().to_owned()) {
                let what = format!("two columns would become files called {:?}", member.field());
                return Err(Error::unsupported(what));
            }
            members.push((at, member));
        }
        if members.is_empty() {
            return Err(Error::unsupported("the table has no columns but keys"));
        }
        Ok(Plan { roles, key, members, fields })
    }
}

/// A name as a field: lower case, as the library takes it, without what parts paths.
fn field_name(name: &str) -> String {
    let parts = name.split(['/', '\\', '.']).filter(|part| !part.is_empty());
    let name = parts.collect::<Vec<_>>().join(".").to_lowercase();
    let plain = |c: char| if c.is_control() { '_' } else { c };
    if name.is_empty() { "column".to_owned() } else { name.chars().map(plain).collect() }
}

fn member(flat: &Flat, is_label: bool, is_payload: bool) -> Member {
    let name = field_name(&flat.name);
    let last = name.rsplit('.').next().unwrap_or_default();
    let with = |extension: &str, known: &[&str]| match known.contains(&last) {
        true => name.clone(),
        false => format!("{name}.{extension}"),
    };
    match Form::of(&flat.data_type) {
        Form::Single(Leaf::Bytes) if MEDIA_EXTENSIONS.contains(&last) => Member::Named(name),
        Form::Single(Leaf::Bytes) if is_payload => Member::File(String::new()),
        Form::Single(Leaf::Bytes) => Member::File(name),
        Form::Single(Leaf::Int | Leaf::Uint) if is_label && !INTEGERS.contains(&last) => {
            Member::Integer("cls".to_owned())
        }
        Form::Single(Leaf::Int | Leaf::Uint) => Member::Integer(with("index", &INTEGERS)),
        Form::Single(Leaf::Text) => Member::Text(with("txt", &TEXTS)),
        Form::Single(Leaf::Other) if !flat.data_type.is_nested() => Member::Text(with("txt", &TEXTS)),
        Form::Fixed(_, leaf) if dtype(leaf).is_some() => Member::Array(with("npy", &["npy"])),
        _ => Member::Json(with("json", &["json"])),
    }
}

/// The elements of arrays.
fn dtype(leaf: Leaf) -> Option<DType> {
    Some(match leaf {
        Leaf::Int => DType::I64,
        Leaf::Uint => DType::U64,
        Leaf::Float => DType::F32,
        Leaf::Double => DType::F64,
        _ => return None,
    })
}

fn losses(payload: &Payload, options: &Options) -> Vec<Loss> {
    let named = classes::named(payload, options);
    let Ok(payload) = named else { return Vec::new() };
    let Ok(plan) = Plan::new(&payload, options) else { return Vec::new() };
    let Ok(table) = payload.table() else { return Vec::new() };
    let mut losses = Vec::new();
    let top =
        |flat: &Flat| table.schema().fields().get(flat.column).map_or(String::new(), |f| f.name().clone());
    for (at, member) in &plan.members {
        let Some(flat) = plan.roles.columns.get(*at) else { continue };
        let column = top(flat);
        let mut say = |made: Loss| losses.push(made.of(&column).if_any());
        match member {
            Member::File(_) => say(note(LossKind::Name, "its members are called after what their bytes are")),
            other if *other.field() != column => {
                let what = format!("its members have the extension .{}", other.field());
                say(note(LossKind::Name, what).called(other.field()));
            }
            _ => {}
        }
        match member {
            Member::Integer(_) => say(note(LossKind::Type, "integers are written as digits")),
            Member::Array(_) => say(note(LossKind::Type, "arrays become NPY files")),
            Member::Json(_) => {
                say(note(LossKind::Type, "its values become JSON"));
                say(note(LossKind::Nesting, "its values become JSON"));
                nan_patterns(&flat.data_type).into_iter().for_each(&mut say);
            }
            Member::Text(_) => {
                say(note(LossKind::Type, "its values become text"));
                nan_patterns(&flat.data_type).into_iter().for_each(&mut say);
            }
            Member::File(_) | Member::Named(_) => {
                say(note(LossKind::Type, "a reader takes for text what can be printed"));
            }
        }
    }
    let key = plan.roles.column(plan.key);
    let what = match key {
        Some(_) => {
            "keys become names of members: dots in them become underscores; a row that has the key of the one before it stops the conversion"
        }
        None => "the keys of the samples are the numbers of the rows",
    };
    let subject = key.map(top).unwrap_or_default();
    losses.push(note(LossKind::Name, what).of(&subject).if_any());
    if key.is_some() {
        losses.push(note(LossKind::Type, "keys are texts").of(&subject).if_any());
    }
    losses.push(
        note(LossKind::Null, "nulls are members that are not there; a row of nulls stops the conversion")
            .if_any(),
    );
    losses
}

/// Whether the library passes a member by: one in a folder such as `__meta__`.
fn is_hidden(key: &str) -> bool {
    key.split_once('/')
        .is_some_and(|(folder, _)| folder.len() > 3 && folder.starts_with("__") && folder.ends_with("__"))
}

/// The key of a row, as names of members have it.
fn key_of(text: &str, is_path: bool) -> Result<String> {
    let text = match text.rsplit_once('.') {
        Some((stem, last)) if is_path && !stem.is_empty() && !last.contains('/') => stem,
        _ => text,
    };
    let (folder, name) = text.rsplit_once('/').map_or(("", text), |(folder, name)| (folder, name));
    let name = name.replace('.', "_");
    let key = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
    let wrong = name.is_empty()
        || key.starts_with('/')
        || is_hidden(&key)
        || key.split('/').any(|part| part == ".." || part == "." || part.is_empty())
        || key.contains('\0');
    match wrong {
        true => Err(Error::unsupported(format!(
            "{text:?} cannot be the key of a sample: it is no name of a file"
        ))),
        false => Ok(key),
    }
}

/// Samples of a batch: their members, where each ends, the first key and the last one.
struct Samples {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    keys: Option<(String, String)>,
}

fn samples(plan: &Plan, batch: &RecordBatch) -> Result<Samples> {
    let numbers = batch.columns().last().and_then(|column| column.as_primitive_opt::<UInt64Type>());
    let made = plan.members.iter().map(|(at, member)| {
        let flat = plan.roles.columns.get(*at).ok_or_else(|| Error::bug("a column that is not there"))?;
        Cells::new(member, flat, flat.cells(batch)?)
    });
    let made: Vec<Cells> = made.collect::<Result<_>>()?;
    let keys = plan.roles.column(plan.key).map(|flat| flat.cells(batch)).transpose()?;
    let is_path = plan.roles.key.is_none();
    let mut all =
        Samples { bytes: Vec::with_capacity(batch.get_array_memory_size()), ends: Vec::new(), keys: None };
    for row in 0..batch.num_rows() {
        let number = numbers.map_or(0, |numbers| numbers.value(row));
        let key = match &keys {
            None => format!("{number:09}"),
            Some(keys) => match cell::text(keys.as_ref(), row) {
                Some(text) => key_of(&text, is_path)?,
                None => return Err(Error::unsupported(format!("row {number} has no key"))),
            },
        };
        if all.keys.as_ref().is_some_and(|(_, last)| *last == key) {
            return Err(same_key(&key));
        }
        let start = all.bytes.len();
        for cells in &made {
            cells.append(plan, &key, row, &mut all.bytes)?;
        }
        if all.bytes.len() == start {
            return Err(Error::unsupported(format!(
                "row {number} has nothing but nulls, which is no sample"
            )));
        }
        all.ends.push(all.bytes.len());
        match &mut all.keys {
            Some((_, last)) => *last = key,
            None => all.keys = Some((key.clone(), key)),
        }
    }
    Ok(all)
}

fn same_key(key: &str) -> Error {
    Error::unsupported(format!(
        "two rows that follow each other have the key {key:?}: they would be one sample"
    ))
}

/// The cells of a column on their way into members.
struct Cells<'a> {
    member: &'a Member,
    column: Column,
    raw: ArrayRef,
    header: Vec<u8>,
}

impl<'a> Cells<'a> {
    fn new(member: &'a Member, flat: &Flat, raw: ArrayRef) -> Result<Self> {
        // What becomes JSON may have nulls in it.
        let column = match member {
            Member::Json(_) => Column::texts(&raw),
            _ => Column::new(&flat.name, &raw)?,
        };
        let header = match (&column.form, dtype(column.form.leaf())) {
            (Form::Fixed(shape, _), Some(dtype)) => {
                let shape: Vec<u64> = shape.iter().map(|side| *side as u64).collect();
                numpy::header(&dtype, &shape)?
            }
            _ => Vec::new(),
        };
        Ok(Cells { member, column, raw, header })
    }

    /// Appends the member of a row; nothing for null.
    fn append(&self, plan: &Plan, key: &str, row: usize, out: &mut Vec<u8>) -> Result<()> {
        let Some(range) = self.column.range(row) else { return Ok(()) };
        let digits = || cell::text(self.raw.as_ref(), row).unwrap_or_default();
        match self.member {
            Member::File(name) => {
                let bytes = self.column.bytes(row).unwrap_or_default();
                let extension = extension(bytes).unwrap_or("bin");
                let field = match name.as_str() {
                    "" if plan.fields.contains(extension) => format!("payload.{extension}"),
                    "" => extension.to_owned(),
                    name if plan.fields.contains(&format!("{name}.{extension}")) => {
                        format!("{name}.payload.{extension}")
                    }
                    name => format!("{name}.{extension}"),
                };
                tar::append(&format!("{key}.{field}"), bytes, out);
            }
            Member::Named(field) | Member::Text(field) => {
                let bytes = self.column.bytes(row).unwrap_or_default();
                tar::append(&format!("{key}.{field}"), bytes, out);
            }
            Member::Integer(field) => tar::append(&format!("{key}.{field}"), digits().as_bytes(), out),
            Member::Json(field) => {
                let mut json = Vec::new();
                value_text::value(self.raw.as_ref(), row, NotFinite::Text, &mut json);
                tar::append(&format!("{key}.{field}"), &json, out);
            }
            Member::Array(field) => {
                let mut npy = self.header.clone();
                self.column.elements(range, &mut npy);
                tar::append(&format!("{key}.{field}"), &npy, out);
            }
        }
        Ok(())
    }
}

fn write(task: &Task, payload: &Payload, options: &Options, sink: &mut dyn Sink) -> Result<()> {
    let payload = classes::named(payload, options)?;
    let plan = Plan::new(&payload, options)?;
    let table = Numbered::new(payload.table()?.clone(), shards::first_row(options));
    let mut out = Coded::new(Coding::of(options, &COMPRESSION)?, sink)?;
    let mut before: Option<String> = None;
    scan(
        task,
        &table,
        |batch| samples(&plan, &batch),
        |samples| {
            if let Some((first, last)) = samples.keys {
                if before.as_ref() == Some(&first) {
                    return Err(same_key(&first));
                }
                before = Some(last);
            }
            out.put(&samples.bytes)
        },
    )?;
    out.put(&tar::END)?;
    out.finish()
}

fn write_shards(task: &Task, payload: &Payload, options: &Options, files: &mut dyn Files) -> Result<()> {
    let name: shards::Name = match Coding::of(options, &COMPRESSION)? {
        Coding::Gzip => |stem, number, _| format!("{stem}-{number:06}.tar.gz"),
        Coding::Zstd => |stem, number, _| format!("{stem}-{number:06}.tar.zst"),
        _ => |stem, number, _| format!("{stem}-{number:06}.tar"),
    };
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
    let plan = Plan::new(&payload, options)?;
    let table = Numbered::new(payload.table()?.clone(), 0);
    scan(
        task,
        &table,
        |batch| Ok(samples(&plan, &batch)?.ends),
        |ends| {
            shards::lengths(&ends, each);
            Ok(())
        },
    )
    .map(drop)
}
