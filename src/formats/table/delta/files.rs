//! The data files of a version: as parts of its table, and listed with what the log says of them.

use super::action::{Add, Snapshot};
use super::log::Log;
use crate::bytes::error::{Error, Result};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::ColumnStatistics;
use crate::data::node::Node;
pub(super) use crate::engines::multifile::lake::time;
use crate::engines::multifile::lake::{DataFile, PHYSICAL_NAME, Places, constant, text_table, unescaped};
use arrow::array::{ArrayRef, AsArray, Int64Array, StringArray, TimestampMillisecondArray, UInt64Array};
use arrow::compute::cast;
use arrow::datatypes::{DataType as D, Field, SchemaRef, TimestampMicrosecondType};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The most files of the folder that are compared with the log.
const LISTED: usize = 1_000_000;

/// The name of a column in files and partition values.
fn physical(field: &Field) -> &str {
    field.metadata().get(PHYSICAL_NAME).unwrap_or(field.name())
}

/// How folders are named whose partition's value is null; some writers take it over into the log.
const NULL: &str = "__HIVE_DEFAULT_PARTITION__";

/// The files as parts of the table of `schema`, and a sentence about each that is left out since the log says of
/// it what cannot be.
///
/// # Errors
/// Only that the work was cancelled.
pub(super) fn data_files(
    task: &Task,
    places: &Places,
    snapshot: &Snapshot,
    schema: &SchemaRef,
) -> Result<(Vec<DataFile>, Vec<String>)> {
    let partitions = snapshot.partition_columns();
    let (mut files, mut left_out) = (Vec::with_capacity(snapshot.adds.len()), Vec::new());
    for add in &snapshot.adds {
        task.check()?;
        match data_file(places, add, schema, &partitions) {
            Ok(file) => files.push(file),
            Err(error) => {
                let name = error.file().unwrap_or(&add.path);
                left_out.push(format!("{name} is left out: {}", error.message()));
            }
        }
    }
    Ok((files, left_out))
}

fn data_file(places: &Places, add: &Add, schema: &SchemaRef, partitions: &[&str]) -> Result<DataFile> {
    let relative = places.relative(&unescaped(&add.path));
    let mut made = DataFile::at(places, relative, &add.path, add.bytes);
    for (place, field) in schema.fields().iter().enumerate() {
        if partitions.contains(&field.name().as_str()) {
            let value = add.partition.iter().find(|(key, _)| key == physical(field) || key == field.name());
            // The empty text is null, for every type (PROTOCOL.md, *Partition Value Serialization*).
            let text = value.and_then(|(_, text)| text.as_deref());
            let text = text.filter(|text| !text.is_empty() && *text != NULL);
            let value = partition_value(text, field.data_type())
                .map_err(|e| e.in_node(field.name()).in_file(&made.name))?;
            made.constants.push((place, value));
            made.partition.push(place);
        }
    }
    let stats = add.stats.clone();
    made.rows = stats.as_ref().and_then(|stats| stats.get("numRecords")?.as_u64());
    made.deleted = Some(add.vector.as_ref().map_or(0, |vector| vector.cardinality));
    if let Some(vector) = add.vector.clone() {
        let places = places.clone();
        made.deletes.push(Box::new(move |task, _| vector.read(task, &places)));
    }
    let schema = schema.clone();
    made.bounds = Some(Box::new(move |column| bounds(stats.as_deref()?, schema.fields().get(column)?)));
    Ok(made)
}

/// What the log says of a column's values in a file. Nothing is taken of floats, whose bounds leave NaN out.
fn bounds(stats: &Json, field: &Field) -> Option<ColumnStatistics> {
    let data_type = field.data_type();
    let known = data_type.is_integer() || matches!(data_type, D::Utf8 | D::Date32 | D::Timestamp(..));
    let of = |key: &str| {
        let text = match stats.get(key)?.get(physical(field))? {
            Json::String(text) => text.clone(),
            Json::Number(number) => number.to_string(),
            _ => return None,
        };
        constant(Some(&text), data_type).ok()
    };
    let nulls = stats.get("nullCount").and_then(|nulls| nulls.get(physical(field))?.as_u64());
    let nulls = UInt64Array::from(vec![nulls]);
    let (min, mut max) = match (known, of("minValues").zip(of("maxValues"))) {
        (true, Some(ends)) => ends,
        _ => return Some(ColumnStatistics::only_nulls(data_type, nulls)),
    };
    // Times are cut to milliseconds in the log, the largest one too.
    if let Some(micros) = max.as_primitive_opt::<TimestampMicrosecondType>() {
        let later = micros.value(0).checked_add(1_000)?;
        max = cast(&(Arc::new(Int64Array::from(vec![later])) as ArrayRef), data_type).ok()?;
    }
    Some(ColumnStatistics::new(min, max, nulls).inexact())
}

/// A partition's value: binary ones are written with `\u0001` escapes.
fn partition_value(text: Option<&str>, data_type: &D) -> Result<ArrayRef> {
    match (data_type, text) {
        (D::Binary, Some(text)) => {
            let quoted = format!("\"{}\"", text.replace('"', "\\\""));
            let text = serde_json::from_str::<String>(&quoted).unwrap_or_else(|_| text.to_owned());
            let bytes: Vec<u8> = text.chars().map(|c| u8::try_from(u32::from(c)).unwrap_or(b'?')).collect();
            Ok(Arc::new(arrow::array::BinaryArray::from(vec![bytes.as_slice()])))
        }
        _ => constant(text, data_type),
    }
}

/// What is below the table's folder: paths with sizes; without the log and hidden folders.
fn present(task: &Task, folder: &Source, prefix: &str, found: &mut BTreeMap<String, u64>) -> Result<()> {
    for entry in folder.entries(task)? {
        task.check()?;
        let path = format!("{prefix}{}", entry.name);
        if found.len() >= LISTED {
            return Err(Error::limit(format!("the table's folder has more than {LISTED} files")));
        }
        if !entry.is_folder {
            found.insert(path, entry.bytes);
        } else if !entry.name.starts_with(['_', '.']) || entry.name.contains('=') {
            let inner = folder.child(task, &entry.name)?;
            present(task, &inner, &format!("{path}/"), found)?;
        }
    }
    Ok(())
}

/// The node `files`: the files of a version with their statistics, and those of the folder that are none.
pub(super) fn node(task: &Task, log: &Log, snapshot: &Snapshot) -> Result<Node> {
    let mut there = BTreeMap::new();
    present(task, log.root(), "", &mut there)?;
    let places = Places::new(log.root().clone(), None, crate::formats::ALL);
    let mut rows: Vec<Row> = Vec::with_capacity(snapshot.adds.len());
    for add in &snapshot.adds {
        task.check()?;
        let path = places.relative(&unescaped(&add.path)).unwrap_or_else(|_| add.path.clone());
        let state = if there.remove(&path).is_some() { "in the table" } else { "missing" };
        rows.push(Row { path, state, add: Some(add), bytes: add.bytes });
    }
    let strangers = there
        .into_iter()
        .filter(|(path, _)| !path.rsplit('/').next().unwrap_or_default().starts_with(['.', '_']));
    rows.extend(strangers.map(|(path, bytes)| Row { path, state: "not in this version", add: None, bytes }));
    let count = |state: &str| rows.iter().filter(|row| row.state == state).count();
    let (missing, others) = (count("missing"), count("not in this version"));
    let mut node = Node::new("files", "files").content(table(&rows)?);
    if missing > 0 {
        node.problem =
            Some(Error::io(format!("{missing} files of version {} are missing", snapshot.version)));
    }
    if others > 0 {
        node = node.remark(format!("{others} files of the folder are not in version {}", snapshot.version));
    }
    Ok(node)
}

struct Row<'a> {
    path: String,
    state: &'static str,
    add: Option<&'a Add>,
    bytes: u64,
}

fn table(rows: &[Row]) -> Result<crate::data::content::Content> {
    let text = |of: &dyn Fn(&Row) -> Option<String>| -> ArrayRef {
        Arc::new(rows.iter().map(of).collect::<StringArray>())
    };
    let number = |of: &dyn Fn(&Row) -> Option<i64>| -> ArrayRef {
        Arc::new(rows.iter().map(of).collect::<Int64Array>())
    };
    let stat = |row: &Row, key: &str| row.add?.stats.as_ref()?.get(key).cloned();
    let modified: TimestampMillisecondArray = rows.iter().map(|row| row.add?.modified).collect();
    let partition = |row: &Row| {
        let add = row.add.filter(|add| !add.partition.is_empty())?;
        let pairs =
            add.partition.iter().map(|(k, v)| (k.clone(), v.clone().map_or(Json::Null, Json::String)));
        Some(Json::Object(pairs.collect()).to_string())
    };
    text_table(vec![
        ("path", text(&|row| Some(row.path.clone()))),
        ("state", text(&|row| Some(row.state.to_owned()))),
        ("bytes", number(&|row| i64::try_from(row.bytes).ok())),
        ("rows", number(&|row| stat(row, "numRecords")?.as_i64())),
        ("deleted rows", number(&|row| i64::try_from(row.add?.vector.as_ref()?.cardinality).ok())),
        ("modified", Arc::new(modified.with_timezone("UTC"))),
        ("partition", text(&partition)),
        ("min", text(&|row| Some(stat(row, "minValues")?.to_string()))),
        ("max", text(&|row| Some(stat(row, "maxValues")?.to_string()))),
        ("nulls", text(&|row| Some(stat(row, "nullCount")?.to_string()))),
    ])
}
