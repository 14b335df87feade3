//! Writes an image folder: a file for each payload, in folders that are called after their classes, those in folders of
//! their splits; what else is known of them in `metadata.csv`. The bytes of the payloads are the files.
//! <https://huggingface.co/docs/datasets/image_dataset#imagefolder>,
//! <https://pytorch.org/vision/stable/generated/torchvision.datasets.ImageFolder.html>

use super::Numbered;
use super::columns::{Column, Flat, Leaf};
use super::roles::{FILES, KEY, LABEL, PAYLOAD, Roles, extension};
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::cell;
use crate::data::content::Kind;
use crate::data::format::{Files, Loss, LossKind, Options, Payload, Sink, WriteTo, Writer, loss, note};
use crate::data::media::LabelColumn;
use crate::data::scan::{put, scan};
use crate::engines::json::value_text::{self, nan_patterns};
use arrow::array::{ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::UInt64Type;
use std::collections::BTreeMap;

/// The writer.
pub const WRITER: Writer = Writer {
    options: &[KEY, PAYLOAD, LABEL, FILES],
    check: |payload| Plan::new(payload, &Options::default()).map(drop),
    write: WriteTo::Folder(write),
    ..Writer::new(&[Kind::Table], losses, no_file)
};

/// The most splits, each of which has a file of metadata that is open.
const SPLITS: usize = 100;

/// What is written of a table.
struct Plan {
    roles: Roles,
    key: Option<usize>,
    payload: usize,
    /// The columns of the metadata.
    told: Vec<usize>,
    /// The columns that have no place.
    left_out: Vec<usize>,
}

impl Plan {
    fn new(payload: &Payload, options: &Options) -> Result<Plan> {
        let roles = Roles::find(payload, options, '.')?;
        let key = roles.key.or(roles.path);
        let files = roles.payload.filter(|at| Some(*at) != key);
        let files = files
            .ok_or_else(|| Error::unsupported("there is no column of bytes, which the files would be of"))?;
        let (mut told, mut left_out) = (Vec::new(), Vec::new());
        for (at, flat) in roles.others(&[key, Some(files), roles.label, roles.class, roles.split]) {
            match Leaf::of(&flat.data_type) {
                Leaf::Bytes => left_out.push(at),
                _ => told.push(at),
            }
        }
        Ok(Plan { roles, key, payload: files, told, left_out })
    }

    fn flat(&self, at: usize) -> Result<&Flat> {
        self.roles.columns.get(at).ok_or_else(|| Error::bug("a column that is not there"))
    }
}

fn losses(payload: &Payload, options: &Options) -> Vec<Loss> {
    let Ok(plan) = Plan::new(payload, options) else { return Vec::new() };
    let Ok(table) = payload.table() else { return Vec::new() };
    let mut losses = Vec::new();
    for (at, flat) in plan.roles.columns.iter().enumerate() {
        let column = table.schema().fields().get(flat.column).map_or("", |field| field.name());
        let mut say = |made: Loss| losses.push(made.of(column));
        let mut both = |what: &str| {
            say(note(LossKind::Type, what).if_any());
            say(note(LossKind::Name, what).if_any());
        };
        match Some(at) {
            place if place == plan.key => both("keys become the names of files, without their extensions"),
            place if place == plan.roles.label || place == plan.roles.class => both("classes become folders"),
            place if place == plan.roles.split => both("splits become folders"),
            _ if at == plan.payload => both("its values become files, with the extension of what they are"),
            _ if plan.left_out.contains(&at) => {
                say(loss(LossKind::Type, "a file holds one payload: the column is left out"));
            }
            _ => {
                both("its values are kept as text in metadata.csv");
                nan_patterns(&flat.data_type).into_iter().for_each(&mut say);
            }
        }
    }
    if plan.key.is_none() {
        losses.push(note(LossKind::Name, "files are called after the numbers of the rows").if_any());
    }
    losses.push(note(LossKind::Order, "rows are in the order of the folders").if_any());
    losses.push(
        note(LossKind::Null, "a null payload stops the conversion; null elsewhere is an empty text").if_any(),
    );
    losses
}

/// A row on its way into a file.
struct Row {
    split: String,
    /// The folder of its class, with a slash behind it.
    class: String,
    name: String,
    bytes: Vec<u8>,
    /// Its other cells, as they stand in the metadata.
    told: String,
}

/// A text as the name of a folder.
fn folder(text: &str, what: &str) -> Result<String> {
    let is_name = !text.is_empty()
        && !matches!(text, "." | "..")
        && !text.contains(['/', '\0'])
        && !text.starts_with('.');
    match is_name {
        true => Ok(format!("{text}/")),
        false => Err(Error::unsupported(format!("the {what} {text:?} cannot be the name of a folder"))),
    }
}

/// A key as the name of a file: without the folders of its split and class, and without the extension of a path.
fn name_of(key: &str, split: &str, class: &str, extension: &str) -> Result<String> {
    let key = key.strip_prefix(split).unwrap_or(key);
    let key = key.strip_prefix(class).unwrap_or(key);
    let stem = match key.rsplit_once('.') {
        Some((stem, last))
            if last.eq_ignore_ascii_case(extension)
                || last.eq_ignore_ascii_case("jpeg") && extension == "jpg" =>
        {
            stem
        }
        _ => key,
    };
    let name = stem.replace('/', "_");
    match name.is_empty() || name.starts_with('.') || name.contains('\0') {
        true => Err(Error::unsupported(format!("the key {key:?} cannot be the name of a file"))),
        false => Ok(format!("{name}.{extension}")),
    }
}

/// Appends a field of CSV.
fn field(text: &str, out: &mut String) {
    if text.contains(['"', ',', '\n', '\r']) || text.trim() != text {
        out.push('"');
        out.push_str(&text.replace('"', "\"\""));
        out.push('"');
    } else {
        out.push_str(text);
    }
}

fn rows(plan: &Plan, batch: &RecordBatch) -> Result<Vec<Row>> {
    let numbers = batch.columns().last().and_then(|column| column.as_primitive_opt::<UInt64Type>());
    let flat = plan.flat(plan.payload)?;
    let payload = Column::new(&flat.name, &flat.cells(batch)?)?;
    let cells = |at: Option<usize>| plan.roles.column(at).map(|flat| flat.cells(batch)).transpose();
    let (keys, labels, splits) = (cells(plan.key)?, cells(plan.roles.label)?, cells(plan.roles.split)?);
    let told: Vec<ArrayRef> =
        plan.told.iter().map(|at| plan.flat(*at)?.cells(batch)).collect::<Result<_>>()?;
    let names = LabelColumn { column: 0, names: plan.roles.names.clone() };
    let classes = cells(plan.roles.class)?;
    let text = |cells: &Option<ArrayRef>, row: usize| {
        cells.as_ref().and_then(|cells| cell::shown(cells.as_ref(), row))
    };
    let mut all = Vec::new();
    for row in 0..batch.num_rows() {
        let number = numbers.map_or(0, |numbers| numbers.value(row));
        let bytes =
            payload.bytes(row).ok_or_else(|| Error::unsupported(format!("row {number} has no payload")))?;
        let split = text(&splits, row).map_or(Ok(String::new()), |split| folder(&split, "split"))?;
        let name = |labels: &ArrayRef| names.text(labels.as_ref(), row);
        let class = text(&classes, row).or_else(|| labels.as_ref().and_then(name));
        let mut line = String::new();
        for cells in &told {
            line.push(',');
            field(&value_text::whole(cells.as_ref(), row).unwrap_or_default(), &mut line);
        }
        if labels.is_some() {
            line.push(',');
            field(class.as_deref().unwrap_or_default(), &mut line);
        }
        let class = class.map_or(Ok(String::new()), |class| folder(&class, "class"))?;
        let key = text(&keys, row).unwrap_or_else(|| format!("{number:09}"));
        let name = name_of(&key, &split, &class, extension(bytes).unwrap_or("bin"))?;
        all.push(Row { split, class, name, bytes: bytes.to_vec(), told: line });
    }
    Ok(all)
}

fn write(task: &Task, payload: &Payload, options: &Options, files: &mut dyn Files) -> Result<()> {
    let plan = Plan::new(payload, options)?;
    let table = Numbered::new(payload.table()?.clone(), 0);
    let mut head = "file_name".to_owned();
    let label = plan.roles.column(plan.roles.label);
    let told = plan.told.iter().filter_map(|at| plan.roles.columns.get(*at));
    for flat in told.chain(label) {
        head.push(',');
        field(&flat.name, &mut head);
    }
    head.push('\n');
    let mut metadata: BTreeMap<String, Box<dyn Sink>> = BTreeMap::new();
    scan(
        task,
        &table,
        |batch| rows(&plan, &batch),
        |rows| {
            for Row { split, class, name, bytes, told } in rows {
                files.put(&format!("{split}{class}{name}"), &bytes)?;
                if plan.told.is_empty() {
                    continue;
                }
                if !metadata.contains_key(&split) {
                    if metadata.len() >= SPLITS {
                        return Err(Error::unsupported(format!("more than {SPLITS} splits")));
                    }
                    let mut file = files.file(&format!("{split}metadata.csv"))?;
                    put(file.as_mut(), head.as_bytes())?;
                    metadata.insert(split.clone(), file);
                }
                if let Some(file) = metadata.get_mut(&split) {
                    let mut line = String::new();
                    field(&format!("{class}{name}"), &mut line);
                    put(file.as_mut(), format!("{line}{told}\n").as_bytes())?;
                }
            }
            Ok(())
        },
    )?;
    metadata.values_mut().try_for_each(|file| Ok(file.flush()?))
}

/// What is never asked: a folder is written.
fn no_file(_: &Task, _: &Payload, _: &Options, _: &mut dyn Sink) -> Result<()> {
    Err(Error::bug("an image folder is no file"))
}
