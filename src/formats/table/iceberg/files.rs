//! The data files of a snapshot: as parts of its table, and listed.

use super::deletes::DeleteFiles;
use super::manifest::{self, File, Holds};
use super::metadata::{Metadata, Snapshot};
use super::schema;
use crate::error::Result;
use crate::format::Options;
use crate::lake::{DataFile, FIELD_ID, constant, text_table};
use crate::node::Node;
use crate::open::{open_source, table_of};
use crate::task::Task;
use arrow::array::{ArrayRef, Int64Array, StringArray};
use arrow::datatypes::{FieldRef, SchemaRef};
use serde_json::Value as Json;

/// The files as parts of the table of `schema`, which was made of `columns`.
pub(super) fn data_files(
    task: &Task,
    metadata: &Metadata,
    snapshot: &Snapshot,
    schema: &SchemaRef,
    columns: &Json,
) -> Result<Vec<DataFile>> {
    let files = manifest::files(task, metadata, snapshot)?;
    let mut known = vec![schema.clone()];
    known.extend(metadata.schemas().into_iter().rev().filter_map(|json| schema::schema(json).ok()));
    let deletes = DeleteFiles::new(&metadata.places, &files, &known)?;
    let data = files.iter().filter(|file| file.holds == Holds::Data);
    data.map(|file| data_file(metadata, file, schema, columns, &deletes)).collect()
}

fn data_file(
    metadata: &Metadata,
    file: &File,
    schema: &SchemaRef,
    columns: &Json,
    deletes: &DeleteFiles,
) -> Result<DataFile> {
    let relative = metadata.places.relative(&file.path);
    let name = relative.as_ref().map_or_else(|_| file.path.clone(), Clone::clone);
    let spec = metadata.spec(file.spec);
    let mut constants = Vec::new();
    for (place, field) in schema.fields().iter().enumerate() {
        // For what the file lacks (specification, *Column Projection*): the partition's value, the default.
        let text = partitioned(field, &spec, &file.partition).or_else(|| default(field, columns));
        if let Some(text) = text {
            constants.push((place, constant(Some(&text), field.data_type()).map_err(|e| e.in_file(&name))?));
        }
    }
    let places = metadata.places.clone();
    let open = Box::new(move |task: &Task| {
        let source = places.open(task, &relative.clone()?)?;
        table_of(&open_source(task, &source, &Options::default())?)
    });
    Ok(DataFile { name, bytes: file.bytes, open, constants, deletes: deletes.of(file) })
}

/// A field's value by an identity partition.
fn partitioned(field: &FieldRef, spec: &[Json], partition: &Json) -> Option<String> {
    let id: i64 = field.metadata().get(FIELD_ID)?.parse().ok()?;
    let of = |one: &&Json| {
        one.get("source-id").and_then(Json::as_i64) == Some(id)
            && one.get("transform").and_then(Json::as_str) == Some("identity")
    };
    let name = spec.iter().find(of)?.get("name")?.as_str()?;
    text(partition.get(name)?)
}

/// A field's default for rows that were written before it was added.
fn default(field: &FieldRef, columns: &Json) -> Option<String> {
    let id: i64 = field.metadata().get(FIELD_ID)?.parse().ok()?;
    let fields = columns.get("fields")?.as_array()?;
    let one = fields.iter().find(|one| one.get("id").and_then(Json::as_i64) == Some(id))?;
    text(one.get("initial-default")?)
}

fn text(json: &Json) -> Option<String> {
    match json {
        Json::String(text) => Some(text.clone()),
        Json::Number(_) | Json::Bool(_) => Some(json.to_string()),
        _ => None,
    }
}

/// The node `files`: data and delete files of the current snapshot.
pub(super) fn node(task: &Task, metadata: &Metadata) -> Result<Node> {
    let files = match metadata.current() {
        Some(snapshot) => manifest::files(task, metadata, snapshot)?,
        None => Vec::new(),
    };
    let state = |file: &File| {
        let found = metadata.places.relative(&file.path).and_then(|path| metadata.places.open(task, &path));
        if found.is_ok() { "in the table" } else { "missing" }
    };
    let states: Vec<&str> =
        files.iter().map(|file| task.check().map(|()| state(file))).collect::<Result<_>>()?;
    let missing = states.iter().filter(|state| **state == "missing").count();
    let path = |file: &File| metadata.places.relative(&file.path).unwrap_or_else(|_| file.path.clone());
    let texts = |of: &dyn Fn(&File) -> Option<String>| -> ArrayRef {
        std::sync::Arc::new(files.iter().map(of).collect::<StringArray>())
    };
    let numbers = |of: &dyn Fn(&File) -> Option<i64>| -> ArrayRef {
        std::sync::Arc::new(files.iter().map(of).collect::<Int64Array>())
    };
    let holds = |file: &File| match file.holds {
        Holds::Data => "data",
        Holds::PositionDeletes if file.format == "PUFFIN" => "deletion vector",
        Holds::PositionDeletes => "position deletes",
        Holds::EqualityDeletes => "equality deletes",
    };
    let content = text_table(vec![
        ("path", texts(&|file| Some(path(file)))),
        ("state", std::sync::Arc::new(StringArray::from(states))),
        ("holds", texts(&|file| Some(holds(file).to_owned()))),
        ("format", texts(&|file| Some(file.format.clone()))),
        ("bytes", numbers(&|file| i64::try_from(file.bytes).ok())),
        ("rows", numbers(&|file| i64::try_from(file.rows).ok())),
        ("sequence number", numbers(&|file| Some(file.sequence))),
        ("partition", texts(&|file| manifest::words(&file.partition))),
    ])?;
    let mut node = Node::new("files", "files").content(content);
    if missing > 0 {
        node.problem = Some(crate::error::Error::io(format!("{missing} files of the table are missing")));
    }
    Ok(node)
}
