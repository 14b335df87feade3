//! Writes Parquet as the library `datasets` does: pictures and sounds as structs of their bytes and a path, classes as
//! int64, and what the columns are in the metadata under the key `huggingface`, so that its readers decode them.
//! <https://huggingface.co/docs/datasets/about_dataset_features>,
//! <https://github.com/huggingface/datasets/blob/main/src/datasets/features/features.py>

use super::options::{COMPRESSION, DICTIONARY, LEVEL, ROW_GROUP};
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::adapt::TableView;
use crate::data::cell;
use crate::data::content::table::batch;
use crate::data::content::{Kind, Rows, Table};
use crate::data::format::{
    Data, Files, Loss, LossKind, Metadata, Options, Payload, Sink, WriteTo, Writer, note,
};
use crate::data::media::{LabelColumn, sound};
use crate::data::node::Value;
use crate::data::scan::scan;
use crate::engines::samples::columns::is_file;
use crate::engines::samples::{FILES, LABEL, Leaf, Roles, extension, shards};
use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StringArray, StructArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Fields, Schema, SchemaRef};
use serde_json::{Map, Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

/// The key in the metadata.
const KEY: &str = "huggingface";
/// The most classes.
const CLASSES: usize = 1 << 20;
/// Rows that are looked at for what their bytes are.
const LOOKED: u64 = 16;

/// The writer.
pub const WRITER: Writer = Writer {
    metadata: Metadata::Texts,
    options: &[COMPRESSION, LEVEL, ROW_GROUP, DICTIONARY, LABEL, shards::SHARDS, shards::ROWS, FILES],
    write: WriteTo::Either { is_folder: shards::is_asked, file: write, folder: write_shards },
    ..Writer::new(&[Kind::Table], losses, write)
};

fn losses(payload: &Payload, options: &Options) -> Vec<Loss> {
    let mut losses = super::losses(payload, options);
    let Ok(table) = payload.table() else { return losses };
    for field in table.schema().fields() {
        let is_bytes = Leaf::of(field.data_type()) == Leaf::Bytes;
        if is_bytes || is_file(field.data_type()) {
            let what = "pictures and sounds become structs of their bytes and a path";
            losses.push(note(LossKind::Type, what).of(field.name()).if_any());
        }
    }
    if let Some(label) = label_of(payload, options) {
        let name = table.schema().fields().get(label.column).map_or("", |field| field.name());
        losses.push(note(LossKind::Type, "the numbers of classes become int64").of(name).if_any());
    }
    let what = "the metadata say under huggingface what pictures, sounds and classes are";
    losses.push(note(LossKind::Metadata, what).if_any());
    losses.push(note(LossKind::Null, "the columns may have nulls, as those of datasets").if_any());
    losses
}

/// The column of classes whose names are known.
fn label_of(payload: &Payload, options: &Options) -> Option<LabelColumn> {
    let roles = Roles::find(payload, options, '.').ok()?;
    let flat = roles.column(roles.label).filter(|_| !roles.names.is_empty())?;
    let is_number = matches!(Leaf::of(&flat.data_type), Leaf::Int | Leaf::Uint);
    is_number.then(|| LabelColumn { column: flat.column, names: roles.names.clone() })
}

/// The column of classes whose names stand beside them as texts: all rows are read for them. `None` where a class has
/// several names, or a name several classes.
fn label_by_texts(task: &Task, payload: &Payload, options: &Options) -> Result<Option<LabelColumn>> {
    let roles = Roles::find(payload, options, '.')?;
    let (Some(label), Some(class)) = (roles.column(roles.label), roles.column(roles.class)) else {
        return Ok(None);
    };
    if !matches!(Leaf::of(&label.data_type), Leaf::Int | Leaf::Uint) {
        return Ok(None);
    }
    task.set_message("looking for the names of classes");
    let view = TableView::new(payload.table()?.clone(), 0..u64::MAX, vec![label.column, class.column])?;
    let (label, class) = (label.clone(), class.clone());
    let pairs = |batch: RecordBatch| {
        let (numbers, texts) = (label.clone().at(0).cells(&batch)?, class.clone().at(1).cells(&batch)?);
        let mut found = BTreeMap::new();
        for row in 0..batch.num_rows() {
            let number = cell::text(numbers.as_ref(), row).and_then(|text| text.parse::<usize>().ok());
            if let (Some(number), Some(text)) = (number, cell::shown(texts.as_ref(), row)) {
                found.insert(number, text);
            }
        }
        Ok(found)
    };
    let (mut names, mut is_one) = (BTreeMap::<usize, String>::new(), true);
    scan(task, &view, pairs, |found| {
        for (number, text) in found {
            is_one &= number < CLASSES && names.get(&number).is_none_or(|known| *known == text);
            names.insert(number, text);
        }
        Ok(())
    })?;
    let distinct: BTreeSet<&String> = names.values().collect();
    let last = names.last_key_value().map_or(0, |(last, _)| last + 1);
    if !is_one || names.is_empty() || distinct.len() != names.len() {
        return Ok(None);
    }
    // Numbers that do not occur have no name.
    let name = |n: usize| names.get(&n).cloned().unwrap_or_else(|| n.to_string());
    Ok(Some(LabelColumn { column: label.column, names: (0..last).map(name).collect() }))
}

/// What is written of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Made {
    /// The column.
    Same,
    /// Bytes, or a struct with them, as a struct.
    File,
    /// Integers of 64 bits.
    Class,
}

/// A table as `datasets` has it.
struct Shaped {
    table: Arc<dyn Table>,
    made: Vec<Made>,
    schema: SchemaRef,
}

fn file_fields() -> Fields {
    let fields = [("bytes", DataType::Binary), ("path", DataType::Utf8)];
    fields.map(|(name, kind)| Field::new(name, kind, true)).into_iter().collect()
}

impl Shaped {
    fn new(task: &Task, payload: &Payload, options: &Options) -> Result<Shaped> {
        let table = payload.table()?.clone();
        let fields = table.schema().fields().clone();
        let label = match label_of(payload, options) {
            Some(label) => Some(label),
            None => label_by_texts(task, payload, options)?,
        };
        let mut features = stated(payload, table.schema());
        let mut made = Vec::new();
        let mut shaped: Vec<Field> = Vec::new();
        for (n, field) in fields.iter().enumerate() {
            let is_bytes = Leaf::of(field.data_type()) == Leaf::Bytes || is_file(field.data_type());
            let feature = if is_bytes { feature(task, table.as_ref(), n)? } else { None };
            let known =
                features.get(field.name()).and_then(|feature| feature.get("_type")).and_then(Json::as_str);
            let is_media = is_bytes && (feature.is_some() || matches!(known, Some("Image" | "Audio")));
            let plain = |kind: DataType| Field::new(field.name(), kind, true);
            if is_media {
                if let Some(word) = feature.filter(|_| known.is_none()) {
                    features.insert(field.name().clone(), json!({ "_type": word }));
                }
                made.push(Made::File);
                shaped.push(plain(DataType::Struct(file_fields())));
            } else if let Some(label) = label.as_ref().filter(|label| label.column == n) {
                let names: Vec<&str> = label.names.iter().map(String::as_str).collect();
                features.insert(field.name().clone(), json!({ "names": names, "_type": "ClassLabel" }));
                made.push(Made::Class);
                shaped.push(plain(DataType::Int64));
            } else {
                made.push(Made::Same);
                shaped.push(field.as_ref().clone().with_nullable(true));
            }
        }
        features.retain(|name, _| fields.iter().any(|field| field.name() == name));
        let mut metadata = table.schema().metadata().clone();
        metadata.remove(KEY);
        if !features.is_empty() {
            metadata.insert(KEY.to_owned(), json!({ "info": { "features": features } }).to_string());
        }
        Ok(Shaped { table, made, schema: Arc::new(Schema::new_with_metadata(shaped, metadata)) })
    }
}

/// What the source says of its columns already.
fn stated(payload: &Payload, schema: &Schema) -> Map<String, Json> {
    let text = schema.metadata().get(KEY).and_then(|text| serde_json::from_str::<Json>(text).ok());
    let attribute = || match payload.attributes.get(KEY)? {
        Value::Text(text) => serde_json::from_str(text).ok(),
        Value::Json(json) => Some(json.clone()),
    };
    let said = text.or_else(attribute);
    let features = said.as_ref().and_then(|json| json.pointer("/info/features"));
    features.and_then(Json::as_object).cloned().unwrap_or_default()
}

/// What the first values of a column of bytes are: all pictures, or all sounds.
fn feature(task: &Task, table: &dyn Table, column: usize) -> Result<Option<&'static str>> {
    let rows = table.rows().number().min(LOOKED);
    let read = table.read(task, 0..rows, &[column])?;
    let Some(array) = read.columns().first() else { return Ok(None) };
    let inner = array.as_struct_opt().and_then(|all| all.column_by_name("bytes")).unwrap_or(array);
    let plain = cast(inner, &DataType::LargeBinary)?;
    let mut found: Option<&'static str> = None;
    for row in (0..plain.len()).filter(|row| plain.is_valid(*row)) {
        let bytes = plain.as_binary::<i64>().value(row);
        let one = match extension(bytes) {
            _ if sound(bytes).is_some() => "Audio",
            Some("jpg" | "png" | "gif" | "bmp" | "tif" | "webp" | "ppm" | "pgm") => "Image",
            _ => return Ok(None),
        };
        if found.is_some_and(|known| known != one) {
            return Ok(None);
        }
        found = Some(one);
    }
    Ok(found)
}

/// Bytes, or a struct with bytes and path in any order, as the struct of a file.
fn file(array: &ArrayRef) -> Result<ArrayRef> {
    let (bytes, path, nulls) = match array.as_struct_opt() {
        Some(all) => {
            let field = |name: &str| {
                all.column_by_name(name).cloned().ok_or_else(|| Error::bug("a file without bytes and path"))
            };
            (field("bytes")?, cast(&field("path")?, &DataType::Utf8)?, all.nulls().cloned())
        }
        None => {
            let paths: ArrayRef = Arc::new(StringArray::new_null(array.len()));
            (array.clone(), paths, array.nulls().cloned())
        }
    };
    let bytes = cast(&bytes, &DataType::Binary)?;
    Ok(Arc::new(StructArray::try_new(file_fields(), vec![bytes, path], nulls)?))
}

impl Table for Shaped {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn rows(&self) -> Rows {
        self.table.rows()
    }

    fn count(&self, task: &Task) -> Result<u64> {
        self.table.count(task)
    }

    fn read(&self, task: &Task, rows: Range<u64>, columns: &[usize]) -> Result<RecordBatch> {
        let read = self.table.read(task, rows, columns)?;
        let shaped = |(column, array): (&usize, &ArrayRef)| match self.made.get(*column) {
            Some(Made::File) => file(array),
            Some(Made::Class) => Ok(cast(array, &DataType::Int64)?),
            _ => Ok(array.clone()),
        };
        let made = columns.iter().zip(read.columns()).map(shaped).collect::<Result<_>>()?;
        batch(&self.schema, columns, made, read.num_rows())
    }

    fn scan_step(&self, at: u64) -> u64 {
        self.table.scan_step(at)
    }
}

fn write(task: &Task, payload: &Payload, options: &Options, sink: &mut dyn Sink) -> Result<()> {
    let shaped = Shaped::new(task, payload, options)?;
    let mut whole = Payload { data: Data::Table(Arc::new(shaped)), ..payload.clone() };
    whole.attributes.remove(&[KEY]);
    super::write(task, &whole, options, sink)
}

fn write_shards(task: &Task, payload: &Payload, options: &Options, files: &mut dyn Files) -> Result<()> {
    let name: shards::Name = |stem, number, total| format!("{stem}-{number:05}-of-{total:05}.parquet");
    shards::write(task, payload, options, files, (name, write, None))
}
