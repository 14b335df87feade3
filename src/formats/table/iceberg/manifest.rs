//! Manifests: which files a snapshot is made of (specification, *Manifests*, *Manifest Lists*).

use super::metadata::{Metadata, Snapshot};
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::format::Options;
use crate::data::node::{Node, Value};
use crate::data::open::table_of;
use crate::engines::multifile::lake::{Places, json_of, text_table};
use crate::formats::open_source;
use arrow::array::{ArrayRef, Int64Array, StringArray};
use rayon::prelude::*;
use serde_json::Value as Json;
use std::collections::HashMap;
use std::sync::Arc;

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holds {
    Data,
    PositionDeletes,
    EqualityDeletes,
}

/// A file of a snapshot.
#[derive(Clone, Debug)]
pub(super) struct File {
    pub(super) holds: Holds,
    /// As in the manifest.
    pub(super) path: String,
    /// `PARQUET`, `AVRO`, `ORC`, `PUFFIN`.
    pub(super) format: String,
    pub(super) bytes: u64,
    pub(super) rows: u64,
    /// The data sequence number: deletes of a greater or equal one apply.
    pub(super) sequence: i64,
    /// The partition spec, and the partition's values by the names that the manifest has for its fields,
    pub(super) spec: i64,
    pub(super) partition: Json,
    /// which are these for the ids of the fields.
    pub(super) partition_names: Arc<HashMap<i64, String>>,
    /// The fields that equality deletes compare.
    pub(super) equality: Vec<i64>,
    /// For a deletion vector, and for position deletes of one file: the file that they are of.
    pub(super) referenced: Option<String>,
    /// For a deletion vector: where it is in its file.
    pub(super) place: Option<(u64, u64)>,
    /// The smallest and largest values by field id, as bytes.
    pub(super) lower: Json,
    pub(super) upper: Json,
    /// How many nulls there are, by field id.
    pub(super) nulls: Json,
}

#[cfg(test)]
impl File {
    /// A data file of seven rows without a partition.
    pub(super) fn sample() -> File {
        let entry =
            serde_json::json!({ "file_path": "a.parquet", "file_format": "PARQUET", "record_count": 7 });
        parse(&entry, 0, 1).unwrap()
    }
}

/// One manifest of a list.
struct Manifest {
    path: String,
    spec: i64,
    /// What its entries inherit (specification, *Sequence Number Inheritance*).
    sequence: i64,
}

/// The files that are live at a snapshot, in the order of the manifests.
pub(super) fn files(task: &Task, metadata: &Metadata, snapshot: &Snapshot) -> Result<Vec<File>> {
    let places = &metadata.places;
    let one = |row: &Json| -> Result<Manifest> {
        Ok(Manifest {
            path: text(row, "manifest_path")?,
            spec: number(row, "partition_spec_id").unwrap_or(0),
            sequence: number(row, "sequence_number").unwrap_or(0),
        })
    };
    let manifests: Vec<Manifest> = list(task, metadata, snapshot)?.iter().map(one).collect::<Result<_>>()?;
    let read: Vec<Vec<File>> =
        manifests.par_iter().map(|manifest| entries(task, places, manifest)).collect::<Result<_>>()?;
    Ok(read.into_iter().flatten().collect())
}

/// The paths of the live files of a manifest.
pub(super) fn paths(task: &Task, metadata: &Metadata, manifest: &str) -> Result<Vec<String>> {
    let manifest = Manifest { path: manifest.to_owned(), spec: 0, sequence: 0 };
    Ok(entries(task, &metadata.places, &manifest)?.into_iter().map(|file| file.path).collect())
}

/// The manifests of a snapshot, as the list has them.
pub(super) fn list(task: &Task, metadata: &Metadata, snapshot: &Snapshot) -> Result<Vec<Json>> {
    let Some(list) = snapshot.manifest_list() else {
        // Version 1 may name them one by one.
        let one = |path: &str| serde_json::json!({ "manifest_path": path });
        return Ok(snapshot.manifests().into_iter().map(one).collect());
    };
    let mut manifests = Vec::new();
    rows(task, &metadata.places, list, |_, row| {
        manifests.push(row.clone());
        Ok(())
    })?;
    Ok(manifests)
}

/// The node `manifests`: the manifests of a snapshot with what its list says of them.
pub(super) fn node(task: &Task, metadata: &Metadata, snapshot: Option<&Snapshot>) -> Result<Node> {
    let list = snapshot.map_or(Ok(Vec::new()), |snapshot| list(task, metadata, snapshot))?;
    let path = |row: &Json| {
        let path = row.get("manifest_path").and_then(Json::as_str).unwrap_or_default();
        metadata.places.relative(path).unwrap_or_else(|_| path.to_owned())
    };
    let texts = |of: &dyn Fn(&Json) -> Option<String>| -> ArrayRef {
        Arc::new(list.iter().map(of).collect::<StringArray>())
    };
    // Older writers have longer words for the counts of files.
    let numbers = |keys: &[&str]| -> ArrayRef {
        let of = |row: &Json| keys.iter().find_map(|key| number(row, key));
        Arc::new(list.iter().map(of).collect::<Int64Array>())
    };
    let state = |row: &Json| if metadata.places.size(&path(row)).is_ok() { "there" } else { "missing" };
    let holds = |row: &Json| if number(row, "content") == Some(1) { "deletes" } else { "data" };
    Ok(Node::new("manifests", "manifests").content(text_table(vec![
        ("path", texts(&|row| Some(path(row)))),
        ("state", texts(&|row| Some(state(row).to_owned()))),
        ("holds", texts(&|row| Some(holds(row).to_owned()))),
        ("bytes", numbers(&["manifest_length"])),
        ("partition spec", numbers(&["partition_spec_id"])),
        ("sequence number", numbers(&["sequence_number"])),
        ("added by snapshot", numbers(&["added_snapshot_id"])),
        ("added files", numbers(&["added_files_count", "added_data_files_count"])),
        ("existing files", numbers(&["existing_files_count", "existing_data_files_count"])),
        ("deleted files", numbers(&["deleted_files_count", "deleted_data_files_count"])),
        ("added rows", numbers(&["added_rows_count"])),
        ("existing rows", numbers(&["existing_rows_count"])),
        ("deleted rows", numbers(&["deleted_rows_count"])),
    ])?))
}

/// The live entries of a manifest.
fn entries(task: &Task, places: &Places, manifest: &Manifest) -> Result<Vec<File>> {
    let mut files = Vec::new();
    let mut names = None;
    rows(task, places, &manifest.path, |schema, row| {
        const DELETED: i64 = 2;
        if number(row, "status") == Some(DELETED) {
            return Ok(());
        }
        let file = row.get("data_file").unwrap_or(&Json::Null);
        let sequence = number(row, "sequence_number").unwrap_or(manifest.sequence);
        let names = names.get_or_insert_with(|| Arc::new(partition_names(schema)));
        files.push(File { partition_names: names.clone(), ..parse(file, manifest.spec, sequence)? });
        Ok(())
    })?;
    Ok(files)
}

/// The names of the partition's fields in the Avro schema of a manifest, by their ids. Avro takes fewer letters in
/// names than Iceberg: what a writer made of one stands here.
fn partition_names(schema: &Json) -> HashMap<i64, String> {
    let of = |record: &Json, name: &str| -> Option<Json> {
        let mut fields = record.get("fields")?.as_array()?.iter();
        fields.find(|field| field.get("name").and_then(Json::as_str) == Some(name))?.get("type").cloned()
    };
    let fields = of(schema, "data_file")
        .and_then(|file| of(&file, "partition"))
        .and_then(|partition| partition.get("fields")?.as_array().cloned());
    let one = |field: &Json| {
        Some((field.get("field-id")?.as_i64()?, field.get("name").and_then(Json::as_str)?.to_owned()))
    };
    fields.iter().flatten().filter_map(one).collect()
}

fn parse(file: &Json, spec: i64, sequence: i64) -> Result<File> {
    let unsigned = |key: &str| number(file, key).and_then(|n| u64::try_from(n).ok());
    let holds = match number(file, "content") {
        None | Some(0) => Holds::Data,
        Some(1) => Holds::PositionDeletes,
        Some(2) => Holds::EqualityDeletes,
        Some(other) => {
            return Err(Error::unsupported(format!("Iceberg manifest: content {other} is unknown")));
        }
    };
    let equality = file.get("equality_ids").and_then(Json::as_array);
    Ok(File {
        holds,
        path: text(file, "file_path")?,
        format: text(file, "file_format")?.to_ascii_uppercase(),
        bytes: unsigned("file_size_in_bytes").unwrap_or(0),
        rows: unsigned("record_count").unwrap_or(0),
        sequence,
        spec,
        partition: file.get("partition").cloned().unwrap_or(Json::Null),
        partition_names: Arc::default(),
        equality: equality.into_iter().flatten().filter_map(Json::as_i64).collect(),
        referenced: file.get("referenced_data_file").and_then(Json::as_str).map(str::to_owned),
        place: unsigned("content_offset").zip(unsigned("content_size_in_bytes")),
        lower: file.get("lower_bounds").cloned().unwrap_or(Json::Null),
        upper: file.get("upper_bounds").cloned().unwrap_or(Json::Null),
        nulls: file.get("null_value_counts").cloned().unwrap_or(Json::Null),
    })
}

fn text(json: &Json, key: &str) -> Result<String> {
    let text = json.get(key).and_then(Json::as_str).map(str::to_owned);
    text.ok_or_else(|| Error::malformed(format!("Iceberg manifest: an entry has no {key}")))
}

fn number(json: &Json, key: &str) -> Option<i64> {
    json.get(key)?.as_i64()
}

/// Calls `each` with the schema and every record of a file of metadata.
fn rows(
    task: &Task,
    places: &Places,
    path: &str,
    mut each: impl FnMut(&Json, &Json) -> Result<()>,
) -> Result<()> {
    let relative = places.relative(path)?;
    let mut inner = || -> Result<()> {
        let document = open_source(task, &places.open(task, &relative)?, &Options::default())?;
        if let Some(problem) = &document.root.problem {
            return Err(problem.clone());
        }
        let avro = document.root.reader.iter().find_map(|(name, value)| match value {
            Value::Json(schema) if name == "schema" => Some(schema),
            _ => None,
        });
        let avro = avro.unwrap_or(&Json::Null);
        let table = table_of(&document)?;
        let columns: Vec<usize> = (0..table.schema().fields().len()).collect();
        let (mut at, total) = (0, table.count(task)?);
        while at < total {
            let end = (at + 4096).min(total);
            let batch = table.read(task, at..end, &columns)?;
            let schema = batch.schema();
            for row in 0..batch.num_rows() {
                let pairs = schema.fields().iter().zip(batch.columns());
                let record = pairs.map(|(field, column)| (field.name().clone(), json_of(column, row)));
                each(avro, &Json::Object(record.collect()))?;
            }
            at = end;
        }
        Ok(())
    };
    inner().map_err(|e| e.in_file(&relative))
}

/// A partition's values in words.
pub(super) fn words(partition: &Json) -> Option<String> {
    let values = partition.as_object().filter(|values| !values.is_empty())?;
    let one = |(name, value): (&String, &Json)| format!("{name}={}", Value::from(value.clone()));
    Some(values.iter().map(one).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_of_partition_fields_are_those_of_the_manifest() {
        let partition = json!({ "type": "record", "name": "r102", "fields": [
            { "name": "größe_x2Dkg", "type": ["null", "int"], "field-id": 1000 },
            { "name": "without_id", "type": "int" },
        ] });
        let file = json!({ "type": "record", "name": "r2", "fields": [
            { "name": "file_path", "type": "string", "field-id": 100 },
            { "name": "partition", "type": partition, "field-id": 102 },
        ] });
        let schema = json!({ "type": "record", "fields": [{ "name": "data_file", "type": file }] });
        assert_eq!(partition_names(&schema), HashMap::from([(1000, "größe_x2Dkg".to_owned())]));
        assert_eq!(partition_names(&Json::Null), HashMap::new());
        assert_eq!(
            partition_names(&json!({ "fields": [{ "name": "data_file", "type": "r2" }] })),
            HashMap::new()
        );
    }
}
