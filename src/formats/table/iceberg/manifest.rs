//! Manifests: which files a snapshot is made of (specification, *Manifests*, *Manifest Lists*).

use super::metadata::{Metadata, Snapshot};
use crate::error::{Error, Result};
use crate::format::Options;
use crate::lake::{Places, json_of};
use crate::node::Value;
use crate::open::{open_source, table_of};
use crate::task::Task;
use rayon::prelude::*;
use serde_json::Value as Json;

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
    /// The partition spec, and the partition's values by field name.
    pub(super) spec: i64,
    pub(super) partition: Json,
    /// The fields that equality deletes compare.
    pub(super) equality: Vec<i64>,
    /// For a deletion vector: the file that it is of, and where it is in its file.
    pub(super) referenced: Option<String>,
    pub(super) place: Option<(u64, u64)>,
    /// The smallest and largest values by field id, as bytes.
    pub(super) lower: Json,
    pub(super) upper: Json,
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
    let manifests: Vec<Manifest> = match snapshot.manifest_list() {
        Some(list) => {
            let mut manifests = Vec::new();
            rows(task, places, list, |row| {
                manifests.push(Manifest {
                    path: text(row, "manifest_path")?,
                    spec: number(row, "partition_spec_id").unwrap_or(0),
                    sequence: number(row, "sequence_number").unwrap_or(0),
                });
                Ok(())
            })?;
            manifests
        }
        None => {
            let one = |path: &str| Manifest { path: path.to_owned(), spec: 0, sequence: 0 };
            snapshot.manifests().into_iter().map(one).collect()
        }
    };
    let read: Vec<Vec<File>> =
        manifests.par_iter().map(|manifest| entries(task, places, manifest)).collect::<Result<_>>()?;
    Ok(read.into_iter().flatten().collect())
}

/// The live entries of a manifest.
fn entries(task: &Task, places: &Places, manifest: &Manifest) -> Result<Vec<File>> {
    let mut files = Vec::new();
    rows(task, places, &manifest.path, |row| {
        const DELETED: i64 = 2;
        if number(row, "status") == Some(DELETED) {
            return Ok(());
        }
        let file = row.get("data_file").unwrap_or(&Json::Null);
        let sequence = number(row, "sequence_number").unwrap_or(manifest.sequence);
        files.push(parse(file, manifest.spec, sequence)?);
        Ok(())
    })?;
    Ok(files)
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
        equality: equality.into_iter().flatten().filter_map(Json::as_i64).collect(),
        referenced: file.get("referenced_data_file").and_then(Json::as_str).map(str::to_owned),
        place: unsigned("content_offset").zip(unsigned("content_size_in_bytes")),
        lower: file.get("lower_bounds").cloned().unwrap_or(Json::Null),
        upper: file.get("upper_bounds").cloned().unwrap_or(Json::Null),
    })
}

fn text(json: &Json, key: &str) -> Result<String> {
    let text = json.get(key).and_then(Json::as_str).map(str::to_owned);
    text.ok_or_else(|| Error::malformed(format!("Iceberg manifest: an entry has no {key}")))
}

fn number(json: &Json, key: &str) -> Option<i64> {
    json.get(key)?.as_i64()
}

/// Calls `each` for every record of a file of metadata.
fn rows(task: &Task, places: &Places, path: &str, mut each: impl FnMut(&Json) -> Result<()>) -> Result<()> {
    let relative = places.relative(path)?;
    let mut inner = || -> Result<()> {
        let document = open_source(task, &places.open(task, &relative)?, &Options::default())?;
        if let Some(problem) = &document.root.problem {
            return Err(problem.clone());
        }
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
                each(&Json::Object(record.collect()))?;
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
