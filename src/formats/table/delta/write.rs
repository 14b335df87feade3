//! Writes Delta Lake tables: the data files, then the commit that speaks of them (PROTOCOL.md, *Actions*).
//!
//! A new table is its first commit: protocol, schema and files. What is added to one is the next commit, put under its
//! number if nobody else took that meanwhile; else the log is read again, and the number after it is tried.

mod actions;
mod append;
mod schema;

#[cfg(test)]
mod tests;

use super::log::commit_path;
use crate::bytes::error::Result;
use crate::bytes::task::Task;
use crate::data::content::Kind;
use crate::data::format::{
    Append, Files, Loss, LossKind, OptionSpec, Options, Payload, WriteTo, Writer, note,
};
use crate::engines::multifile::lake::write::{
    COMPRESSION, FILE_BYTES, PARTITION_BY, Rules, now, partition_by, uuid, write as write_data,
};
use actions::{Commit, partition_type};
use schema::Made;
use serde_json::json;

const NAME: OptionSpec = OptionSpec::new("name", "The name of the table, which stands in its log");

const MAPPING: OptionSpec = OptionSpec::new(
    "column_mapping",
    "Whether columns have other names in files than in the table: where names ask for it, always, or never",
)
.one_of("auto", &["auto", "name", "none"]);

/// What Delta has of types.
const RULES: Rules = Rules { small: true, times: false, fixed: false, folds_case: true };
/// What sentences call it.
const FORMAT: &str = "a Delta table";

/// The writer.
pub(super) const WRITER: Writer = Writer {
    options: &[PARTITION_BY, FILE_BYTES, COMPRESSION, NAME, MAPPING],
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
    for name in schema::mapped(table.schema().fields(), options) {
        let what = "it has another name in files: readers must know column mapping (-o column_mapping=none keeps it)";
        losses.push(note(LossKind::Name, what).of(name).if_any());
    }
    let what = "a reader shows what the log says of the table: its number, version, files and schema";
    losses.push(note(LossKind::Metadata, what));
    losses
}

/// A new table.
fn create(task: &Task, payload: &Payload, options: &Options, files: &mut dyn Files) -> Result<()> {
    let table = payload.table()?;
    let names = RULES.names(table.schema().fields());
    let partition = partition_by(options, &names)?;
    let made = Made::new(table.schema().fields(), &names, partition, options)?;
    for place in &made.layout.partition {
        made.layout.columns.get(*place).map_or(Ok(()), partition_type)?;
    }
    let written = write_data(task, table, &RULES, &made.layout, options, files)?;
    let (ntz, mapped) = (made.has_ntz, made.is_mapped());
    let mut configuration = serde_json::Map::new();
    if mapped {
        configuration.insert("delta.columnMapping.mode".to_owned(), json!("name"));
        configuration.insert("delta.columnMapping.maxColumnId".to_owned(), json!(made.last_id.to_string()));
    }
    let features: Vec<&str> = [("timestampNtz", ntz), ("columnMapping", mapped)]
        .iter()
        .filter(|(_, is)| *is)
        .map(|(name, _)| *name)
        .collect();
    let protocol = match (ntz, mapped) {
        (true, _) => json!({
            "minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": features, "writerFeatures": features,
        }),
        (false, true) => json!({ "minReaderVersion": 2, "minWriterVersion": 5 }),
        (false, false) => json!({ "minReaderVersion": 1, "minWriterVersion": 2 }),
    };
    let partitions: Vec<&String> = made
        .layout
        .partition
        .iter()
        .filter_map(|place| made.layout.columns.get(*place))
        .map(|c| &c.name)
        .collect();
    let created = now();
    let name = options.get(NAME.name).filter(|name| !name.is_empty());
    let metadata = json!({
        "id": uuid()?, "name": name, "format": { "provider": "parquet", "options": {} },
        "schemaString": made.json.to_string(), "partitionColumns": partitions, "createdTime": created,
        "configuration": configuration,
    });
    let mut commit = Commit::new(created, "ErrorIfExists", &partitions, &written);
    commit.action("protocol", protocol);
    commit.action("metaData", metadata);
    commit.adds(&made.layout, &written, created)?;
    files.put(&commit_path(0), commit.bytes())
}
