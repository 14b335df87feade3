//! Adds rows to a table: the next metadata file, with a snapshot more (specification, *File System Tables*).

use super::document::{Added, push};
use super::manifest::{Spec, list, manifest as manifest_of};
use super::schema::layout;
use super::{LOCATION, PARTITION_BY, RULES, snapshot_id};
use crate::bytes::error::{Error, Result};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::format::{Additions, Files, Options, Payload};
use crate::engines::multifile::lake::FIELD_ID;
use crate::engines::multifile::lake::write::{now, partition_by, uuid, write as write_data};
use crate::formats::table::iceberg::manifest;
use crate::formats::table::iceberg::metadata::{FOLDER, Metadata, numbered};
use crate::formats::table::iceberg::schema::schema;
use arrow::datatypes::Schema;
use serde_json::{Value as Json, json};
use std::collections::{BTreeSet, HashSet};

/// How often the next number is tried.
const TRIES: usize = 1_000;

/// Adds rows.
pub(super) fn append(
    task: &Task,
    payload: &Payload,
    options: &Options,
    files: &mut dyn Additions,
) -> Result<()> {
    let table = payload.table()?;
    if options.get(LOCATION.name).is_some() {
        return Err(Error::unsupported(format!("{}: the table has one already", LOCATION.name)));
    }
    let mut base = newest(task, files)?;
    let of_table = schema(base.current_schema())?;
    let (spec_id, partition) = partition(&base, &of_table)?;
    let names: Vec<String> = of_table.fields().iter().map(|field| field.name().clone()).collect();
    let places: Vec<usize> = partition.iter().map(|(place, _)| *place).collect();
    if options.get(PARTITION_BY.name).is_some() && partition_by(options, &names)? != places {
        let by: Vec<&str> = places.iter().filter_map(|place| names.get(*place)).map(String::as_str).collect();
        let has = match by.is_empty() {
            true => "has no partitions".to_owned(),
            false => format!("is partitioned by {}", by.join(", ")),
        };
        return Err(Error::unsupported(format!("{}: the table {has}", PARTITION_BY.name)));
    }
    let layout = layout(&of_table, table.schema().fields(), places)?;
    let mut spec = Spec::new(&layout, spec_id, 0)?;
    spec.fields.iter_mut().zip(&partition).for_each(|(field, (_, number))| field.1 = *number);
    let written = write_data(task, table, &RULES, &layout, options, upcast(files))?;
    let (id, run) = (snapshot_id()?, uuid()?);
    let (path, location) = (format!("{FOLDER}/{run}-m0.avro"), location(&base)?);
    let added = |base: &Metadata| Added { id, time: now(), written: &written, sequence: sequence(base) + 1 };
    let manifest = manifest_of(&location, base.current_schema(), &spec, &added(&base))?;
    files.put(&path, &manifest)?;
    for attempt in 1..=TRIES {
        let added = added(&base);
        let line = added.line(format!("{location}/{path}"), manifest.len(), &spec)?;
        let of_list = format!("{FOLDER}/snap-{id}-{attempt}-{run}.avro");
        let document = next(task, files, &base, &added, line, &of_list)?;
        let number = base.number()? + 1;
        let name = format!("{FOLDER}/{}", numbered(number));
        if files.commit(task, &name, document.to_string().as_bytes())? {
            // A word to readers where to begin; those that find it old look for the numbers after it.
            let _ =
                files.replace(task, &format!("{FOLDER}/version-hint.text"), number.to_string().as_bytes());
            return Ok(());
        }
        // Somebody else came first. What was added has nothing to do with that, unless the table is another one.
        files.take_back(&of_list);
        let other = newest(task, files)?;
        if !is_written_as(&other, &base) {
            return Err(Error::unsupported(
                "the table's schema or partitions were changed meanwhile: try again",
            ));
        }
        base = other;
    }
    Err(Error::io(format!("others were faster {TRIES} times: nothing was added")))
}

fn upcast(files: &mut dyn Additions) -> &mut dyn Files {
    files
}

/// The next metadata of a table, after the list of its manifests was written to `of_list`.
fn next(
    task: &Task,
    files: &mut dyn Additions,
    base: &Metadata,
    added: &Added,
    line: Json,
    of_list: &str,
) -> Result<Json> {
    let current = base.current();
    let mut lines = current.map_or(Ok(Vec::new()), |snapshot| manifest::list(task, base, snapshot))?;
    if !added.written.is_empty() {
        lines.insert(0, line);
    }
    let parent = base.get("current-snapshot-id").filter(|_| current.is_some());
    files.put(of_list, &list(added, parent, &lines)?)?;
    let (mut document, location) = (base.document().clone(), location(base)?);
    if let Json::Object(document) = &mut document {
        let before = format!("{location}/{FOLDER}/{}", base.file());
        let time = document.get("last-updated-ms").cloned().unwrap_or(json!(added.time));
        push(document, "metadata-log", json!({ "metadata-file": before, "timestamp-ms": time }));
    }
    added.put(&mut document, &format!("{location}/{of_list}"));
    Ok(document)
}

/// The table as it is now, if rows can be added.
///
/// # Errors
/// `Unsupported` where not, and for tables of a catalog, which would not know of them.
fn newest(task: &Task, files: &dyn Additions) -> Result<Metadata> {
    let refuse = |what: String| Err(Error::unsupported(format!("Iceberg table: {what}")));
    let Some(metadata) = Metadata::find(task, &files.source(task)?)? else {
        return refuse("there is none in the folder".to_owned());
    };
    metadata.number()?;
    match metadata.get("format-version").and_then(Json::as_i64) {
        Some(2) => {}
        version => {
            let version = version.unwrap_or(1);
            return refuse(format!("it is of version {version}; rows are added to tables of version 2"));
        }
    }
    if metadata.current().is_none() && metadata.current_id().is_some() {
        return refuse("its current snapshot is not there".to_owned());
    }
    Ok(metadata)
}

fn location(metadata: &Metadata) -> Result<String> {
    let location =
        metadata.get("location").and_then(Json::as_str).map(|text| text.trim_end_matches('/').to_owned());
    location.ok_or_else(|| Error::malformed("Iceberg metadata: they have no location"))
}

fn sequence(metadata: &Metadata) -> i64 {
    metadata.get("last-sequence-number").and_then(Json::as_i64).unwrap_or(0)
}

/// Whether another state of a table is written to in the same way.
fn is_written_as(other: &Metadata, base: &Metadata) -> bool {
    let same = |key: &str| other.get(key) == base.get(key);
    ["table-uuid", "location", "current-schema-id", "default-spec-id"].into_iter().all(same)
        && other.current_schema() == base.current_schema()
}

/// The number of the partition spec, and its columns by their places with the numbers of its fields.
fn partition(metadata: &Metadata, table: &Schema) -> Result<(i64, Vec<(usize, i64)>)> {
    let id = metadata.get("default-spec-id").and_then(Json::as_i64).unwrap_or(0);
    let one = |field: &Json| {
        let transform = field.get("transform").and_then(Json::as_str).unwrap_or_default();
        if transform != "identity" {
            let what =
                format!("it has partitions by {transform}; rows are added to those by values as they are");
            return Err(Error::unsupported(format!("Iceberg table: {what}")));
        }
        let source = field.get("source-id").and_then(Json::as_i64).map(|id| id.to_string());
        let place = table.fields().iter().position(|of| of.metadata().get(FIELD_ID) == source.as_ref());
        let number = field.get("field-id").and_then(Json::as_i64);
        place
            .zip(number)
            .ok_or_else(|| Error::unsupported("Iceberg table: it has partitions by a member of a struct"))
    };
    Ok((id, metadata.spec(id).iter().map(one).collect::<Result<_>>()?))
}

/// Which of these files a table speaks of, in any of its snapshots.
pub(super) fn known(task: &Task, source: &Source, files: &[String]) -> Result<HashSet<String>> {
    let mut known = HashSet::new();
    let Some(metadata) = Metadata::find(task, source)?.filter(|_| !files.is_empty()) else {
        return Ok(known);
    };
    let mut take = |path: &str| {
        known.extend(files.iter().filter(|file| path.ends_with(file.as_str())).cloned());
    };
    let mut manifests = BTreeSet::new();
    for snapshot in &metadata.snapshots {
        task.check()?;
        snapshot.manifest_list().into_iter().for_each(&mut take);
        for line in manifest::list(task, &metadata, snapshot)? {
            manifests.extend(line.get("manifest_path").and_then(Json::as_str).map(str::to_owned));
        }
    }
    for path in manifests {
        task.check()?;
        take(&path);
        manifest::paths(task, &metadata, &path)?.iter().for_each(|path| take(path));
    }
    Ok(known)
}
