//! Writes Iceberg tables of version 2 in a folder: data files, a manifest of them, the list of manifests, and the table
//! metadata `vN.metadata.json`, as catalogs of folders have it (specification, *File System Tables*).
//!
//! A new table is its first metadata file. What is added to one is the next file, put under its number if nobody else
//! took that meanwhile; else the metadata are read again, and the number after it is tried.

mod append;
mod document;
mod manifest;
mod schema;

#[cfg(test)]
mod tests;

use super::metadata::FOLDER;
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::content::Kind;
use crate::data::format::{
    Append, Files, Loss, LossKind, OptionSpec, Options, Payload, WriteTo, Writer, note,
};
use crate::engines::multifile::lake::write::{
    COMPRESSION, FILE_BYTES, PARTITION_BY, Rules, now, partition_by, uuid, write as write_data,
};
use document::{Added, first};
use manifest::{Spec, list, manifest};
use schema::Made;

const LOCATION: OptionSpec = OptionSpec::new(
    "location",
    "Where the table will lie when it is read: its files are named by paths below it (s3://bucket/table); without it, where it is written",
);

/// What Iceberg has of types.
const RULES: Rules = Rules { small: false, times: true, fixed: true, folds_case: false };
/// What sentences call it.
const FORMAT: &str = "an Iceberg table";

/// The writer.
pub(super) const WRITER: Writer = Writer {
    options: &[PARTITION_BY, FILE_BYTES, COMPRESSION, LOCATION],
    check: |payload| RULES.check(payload.table()?.schema().fields(), FORMAT),
    write: WriteTo::Folder(create),
    append: Some(Append { write: append::append, known: append::known }),
    ..Writer::new(&[Kind::Table], losses, |_, _, _, _| Ok(()))
};

fn losses(payload: &Payload, options: &Options) -> Vec<Loss> {
    let Ok(table) = payload.table() else { return Vec::new() };
    let mut losses = RULES.losses(table.schema().fields(), FORMAT);
    if !options.get(PARTITION_BY.name).unwrap_or_default().is_empty() {
        let what = "rows lie by the values of their partition, no longer in their order";
        losses.push(note(LossKind::Order, what).if_any());
    }
    let what = "a reader shows what the metadata say of the table: its number, snapshot, files and schema";
    losses.push(note(LossKind::Metadata, what));
    losses
}

/// Where the table will lie.
fn location(options: &Options, files: &dyn Files) -> Result<String> {
    if let Some(location) = options.get(LOCATION.name).filter(|location| !location.is_empty()) {
        return Ok(location.trim_end_matches('/').to_owned());
    }
    let place = files.place();
    let place = place.as_deref().and_then(|place| place.to_str());
    let place =
        place.ok_or_else(|| Error::unsupported("the folder's path is no text: -o location=… names it"))?;
    // Programs take these for parts of a URI where there is a scheme.
    let is_plain = !place.contains(['#', '?', '%']);
    Ok(if is_plain { format!("file://{place}") } else { place.to_owned() })
}

/// The number of a new snapshot.
fn snapshot_id() -> Result<i64> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(|e| Error::io(format!("no random number: {e}")))?;
    Ok(i64::from_le_bytes(bytes) & i64::MAX)
}

/// A new table.
fn create(task: &Task, payload: &Payload, options: &Options, files: &mut dyn Files) -> Result<()> {
    let table = payload.table()?;
    let names = RULES.names(table.schema().fields());
    let partition = partition_by(options, &names)?;
    let made = Made::new(table.schema().fields(), &names, partition)?;
    let spec = Spec::new(&made.layout, 0, 1_000)?;
    let location = location(options, files)?;
    let written = write_data(task, table, &RULES, &made.layout, options, files)?;
    let codec = options.choice(&COMPRESSION)?;
    let time = now();
    let mut document = first(&location, time, &made, &spec, codec)?;
    if !written.is_empty() {
        let (id, run) = (snapshot_id()?, uuid()?);
        let added = Added { id, time, written: &written, sequence: 1 };
        let path = format!("{FOLDER}/{run}-m0.avro");
        let bytes = manifest(&location, &made.json, &spec, &added)?;
        files.put(&path, &bytes)?;
        let line = added.line(format!("{location}/{path}"), bytes.len(), &spec)?;
        let of_list = format!("{FOLDER}/snap-{id}-1-{run}.avro");
        files.put(&of_list, &list(&added, None, &[line])?)?;
        added.put(&mut document, &format!("{location}/{of_list}"));
    }
    files.put(&format!("{FOLDER}/v1.metadata.json"), document.to_string().as_bytes())?;
    files.put(&format!("{FOLDER}/version-hint.text"), b"1")
}
