//! Adds rows to a table: the next commit of its log (PROTOCOL.md, *Requirements for Writers*).

use super::actions::Commit;
use super::schema::layout;
use super::{PARTITION_BY, RULES};
use crate::bytes::error::{Error, Result};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::format::{Additions, Files, Options, Payload};
use crate::engines::multifile::lake::unescaped;
use crate::engines::multifile::lake::write::{now, partition_by, write as write_data};
use crate::formats::table::delta::action::Snapshot;
use crate::formats::table::delta::log::{Log, commit_path};
use serde_json::Value as Json;
use std::collections::HashSet;
use std::sync::Arc;

/// Writer features that change nothing for who adds rows only, or that are kept here.
const FEATURES: [&str; 16] = [
    "appendOnly",
    "invariants",
    "checkConstraints",
    "changeDataFeed",
    "generatedColumns",
    "identityColumns",
    "allowColumnDefaults",
    "columnMapping",
    "deletionVectors",
    "timestampNtz",
    "domainMetadata",
    "clustering",
    "v2Checkpoint",
    "vacuumProtocolCheck",
    "typeWidening",
    "typeWidening-preview",
];
/// What columns may say of themselves that a writer would have to see to.
const RULED: [&str; 3] = ["delta.invariants", "delta.generationExpression", "delta.identity.start"];
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
    let base = newest(task, &files.source(task)?)?;
    check(&base)?;
    let schema = base.schema()?;
    let names: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
    let partition: Vec<usize> = base
        .partition_columns()
        .iter()
        .filter_map(|name| names.iter().position(|known| known == name))
        .collect();
    if options.get(PARTITION_BY.name).is_some() && partition_by(options, &names)? != partition {
        let by = base.partition_columns().join(", ");
        let has =
            if by.is_empty() { "has no partitions".to_owned() } else { format!("is partitioned by {by}") };
        return Err(Error::unsupported(format!("{}: the table {has}", PARTITION_BY.name)));
    }
    let layout = layout(&schema, table.schema().fields(), partition)?;
    for place in &layout.partition {
        layout.columns.get(*place).map_or(Ok(()), super::actions::partition_type)?;
    }
    for (column, field) in layout.columns.iter().zip(schema.fields()) {
        if column.from.is_none() && field.metadata().contains_key("CURRENT_DEFAULT") {
            let what = "the rows have no such column, and its default is made by other programs";
            return Err(Error::unsupported(format!("column {:?}: {what}", column.name)));
        }
    }
    let written = write_data(task, table, &RULES, &layout, options, upcast(files))?;
    let time = now();
    let mut commit = Commit::new(time, "Append", &[], &written);
    commit.adds(&layout, &written, time)?;
    let mut version = base.version + 1;
    for _ in 0..TRIES {
        if files.commit(task, &commit_path(version), commit.bytes())? {
            return Ok(());
        }
        // Somebody else came first. What was added has nothing to do with that, unless the table is another one.
        let other = newest(task, &files.source(task)?)?;
        if !other.is_written_as(&base) {
            return Err(Error::unsupported(
                "the table's schema or properties were changed meanwhile: try again",
            ));
        }
        version = other.version + 1;
    }
    Err(Error::io(format!("others were faster {TRIES} times: nothing was added")))
}

fn upcast(files: &mut dyn Additions) -> &mut dyn Files {
    files
}

/// The table as it is now.
fn newest(task: &Task, source: &Source) -> Result<Arc<Snapshot>> {
    let log = Log::list(task, source)?;
    log.snapshot(task, log.newest()?)
}

/// Whether rows can be added.
///
/// # Errors
/// `Unsupported` where the table asks for more than is done here.
fn check(table: &Snapshot) -> Result<()> {
    if let Some(error) = table.unreadable() {
        return Err(error);
    }
    let refuse = |what: String| Err(Error::unsupported(format!("Delta table: {what}")));
    let version = table.protocol("minWriterVersion").and_then(Json::as_i64).unwrap_or(0);
    if version > 7 {
        return refuse(format!("it wants a writer of protocol version {version}; known are 1 to 7"));
    }
    let features = table.protocol("writerFeatures").and_then(Json::as_array).into_iter().flatten();
    let unknown: Vec<&str> =
        features.filter_map(Json::as_str).filter(|feature| !FEATURES.contains(feature)).collect();
    if !unknown.is_empty() {
        return refuse(format!("nothing is added to tables with these features: {}", unknown.join(", ")));
    }
    let configuration = table.metadata("configuration").and_then(Json::as_object);
    if let Some((name, _)) =
        configuration.into_iter().flatten().find(|(name, _)| name.starts_with("delta.constraints."))
    {
        return refuse(format!("its rows must keep to {name}, which is not looked at here"));
    }
    for field in table.schema()?.fields() {
        let ruled = RULED.iter().find(|rule| field.metadata().contains_key(**rule));
        if let Some(rule) = ruled {
            return refuse(format!("the column {:?} has {rule}, which is not looked at here", field.name()));
        }
    }
    Ok(())
}

/// Which of these files a table speaks of: in its newest state, or in a commit.
pub(super) fn known(task: &Task, source: &Source, files: &[String]) -> Result<HashSet<String>> {
    if files.is_empty() {
        return Ok(HashSet::new());
    }
    let log = Log::list(task, source)?;
    let mut known = HashSet::new();
    let mut take = |path: &str| {
        let path = unescaped(path);
        known.extend(files.iter().filter(|file| path.ends_with(file.as_str())).cloned());
    };
    log.snapshot(task, log.newest()?)?.adds.iter().for_each(|add| take(&add.path));
    for version in log.commits() {
        task.check()?;
        for action in log.commit(task, version)? {
            let body = action.get("add").or_else(|| action.get("remove"));
            body.and_then(|body| body.get("path")?.as_str()).into_iter().for_each(&mut take);
        }
    }
    Ok(known)
}
