//! Delta Lake: a folder of Parquet files and a log (`_delta_log`) that says which of them are the table, at
//! every version. <https://github.com/delta-io/delta/blob/master/PROTOCOL.md>
//!
//! Opening reads the log up to the newest version: the last checkpoint (classic, in parts, or version 2 with
//! sidecars) and the commits after it. Every version that the log still has is a node `version=N` with its files
//! and their statistics; `timestamp=2024-01-31T12:00:00` finds the version of that time. Beside them stand the
//! history of operations and the files of the newest version.

mod action;
mod files;
mod history;
mod log;
mod schema;
mod vector;
mod write;

#[cfg(test)]
mod tests;

use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::task::Task;
use crate::data::content::Kind;
use crate::data::format::{Format, Opening, Target};
use crate::data::node::{Listing, Node, Value, Version, Versions, page_of};
use crate::data::sniff::{Head, Match};
use crate::engines::multifile::lake::{self, By, Places};
use action::Snapshot;
use history::history;
use log::Log;
use serde_json::Value as Json;
use std::ops::Range;
use std::sync::Arc;

/// Delta Lake tables.
pub static FORMAT: Format = Format {
    extensions: &[],
    sniff: Some(sniff),
    reads: &[Kind::Table],
    targets: &[Target::new("delta", "Delta Lake table", &["delta"], &write::WRITER)],
    ..Format::new("delta", "Delta Lake table", open)
};

fn sniff(head: &Head) -> Match {
    let log = head.is_folder && head.entries.iter().any(|e| e.is_folder && e.name == "_delta_log");
    if log { Match::Yes } else { Match::No }
}

fn open(opening: &Opening) -> Result<Node> {
    let log = Arc::new(Log::list(opening.task, opening.source)?);
    let newest = log.newest()?;
    let snapshot = log.snapshot(opening.task, newest);
    let mut node = match snapshot.unless_cancelled()? {
        Ok(snapshot) => at_version(opening.task, &log, &snapshot, opening.source.name())?,
        Err(error) => Node::new(opening.source.name(), "table").problem(error),
    };
    node.remarks.extend(log.remarks());
    let versions = Arc::new(States { versions: log.versions(), log, newest });
    Ok(node.separator("").timeline(versions.clone(), None).lazy(Below { states: versions }))
}

/// The table at a version, without children.
fn at_version(task: &Task, log: &Log, snapshot: &Snapshot, name: &str) -> Result<Node> {
    let mut node = Node::new(name, "table").attribute("version", snapshot.version.to_string());
    snapshot.describe(&mut node);
    if let Some(problem) = snapshot.unreadable() {
        return Ok(node.problem(problem));
    }
    let schema = match snapshot.schema() {
        Ok(schema) => schema,
        Err(error) => return Ok(node.problem(error)),
    };
    let places = Places::new(log.root().clone(), None, crate::formats::ALL);
    let by = if snapshot.maps_by_id() { By::Id } else { By::Name };
    let (parts, left_out) = files::data_files(task, &places, snapshot, &schema)?;
    let made = lake::table(task, &places, &schema, by, parts).map(|mut joined| {
        // They are files that cannot be read, as those that do not open are.
        joined.opened += left_out.len();
        joined.differences = left_out.into_iter().chain(joined.differences).collect();
        (joined, snapshot.adds.len())
    });
    lake::filled(node, &format!("version {}", snapshot.version), made)
}

/// What lies below the table: its history, its files, its versions.
struct Below {
    states: Arc<States>,
}

/// The versions that the log still has, from the oldest to the newest.
struct States {
    log: Arc<Log>,
    versions: Vec<u64>,
    newest: u64,
}

impl States {
    /// When a version was made, in milliseconds since 1970, as its commit says.
    fn made(info: &Json) -> Option<i64> {
        info.get("timestamp").or_else(|| info.get("inCommitTimestamp")).and_then(Json::as_i64)
    }

    /// The newest version that was made at this time or before it.
    fn at_time(&self, task: &Task, millis: i64) -> Result<Option<u64>> {
        for &version in self.versions.iter().rev() {
            task.check()?;
            let info = self.log.raw_info(task, version).unwrap_or(Json::Null);
            if States::made(&info).is_some_and(|made| made <= millis) {
                return Ok(Some(version));
            }
        }
        Ok(None)
    }
}

impl Versions for States {
    fn count(&self) -> usize {
        self.versions.len()
    }

    fn current(&self) -> Option<usize> {
        self.versions.iter().position(|version| *version == self.newest)
    }

    fn name(&self, n: usize) -> String {
        self.versions.get(n).map_or(String::new(), |version| format!("version={version}"))
    }

    fn about(&self, task: &Task, n: usize) -> Result<Version> {
        task.check()?;
        let version = self.versions.get(n).copied();
        let version = version.ok_or_else(|| Error::bug(format!("version {n} was asked for")))?;
        // Old commits are cleaned away; what a checkpoint kept of the version has no such line.
        let info = self.log.raw_info(task, version).unwrap_or(Json::Null);
        let time = States::made(&info);
        let lines = |key: &str| {
            let map = info.get(key).and_then(Json::as_object);
            let line =
                |(name, value): (&String, &Json)| (name.clone(), Value::from(value.clone()).to_string());
            map.into_iter().flatten().map(line).collect::<Vec<_>>()
        };
        let mut details = lines("operationParameters");
        details.extend(lines("operationMetrics"));
        Ok(Version {
            time: time.map(lake::time),
            operation: info.get("operation").and_then(Json::as_str).map(str::to_owned),
            marks: Vec::new(),
            details,
        })
    }
}

impl Below {
    fn history(&self) -> Node {
        let states = self.states.clone();
        Node::deferred("history", "history", move |task| {
            Ok(Node::new("history", "history").content(history(task, &states.log, &states.versions)?))
        })
    }

    fn files(&self, version: u64) -> Node {
        files_of(&self.states, version)
    }

    fn version(&self, version: u64) -> Node {
        let states = self.states.clone();
        let name = format!("version={version}");
        let at = states.versions.iter().position(|other| *other == version);
        let of = states.clone();
        let node = Node::deferred(name.clone(), "version", move |task| {
            let log = &states.log;
            let mut node = match log.snapshot(task, version).unless_cancelled()? {
                Ok(snapshot) => at_version(task, log, &snapshot, &name)?
                    .separator("/")
                    .listed(vec![files_of(&states, version)]),
                Err(error) => Node::new(name.as_str(), "version").problem(error),
            };
            node.label = "version";
            if let Ok(commit) = log.commit_info(task, version) {
                node.attributes.extend(commit);
            }
            Ok(node)
        });
        node.timeline(of, at)
    }

    fn nth(&self, n: u64) -> Option<Node> {
        match n {
            0 => Some(self.history()),
            1 => Some(self.files(self.states.newest)),
            _ => self.states.versions.get(usize::try_from(n - 2).ok()?).map(|&version| self.version(version)),
        }
    }
}

impl Listing for Below {
    fn count(&self) -> Option<u64> {
        Some(self.states.versions.len() as u64 + 2)
    }

    fn page(&self, task: &Task, range: Range<u64>) -> Result<Vec<Arc<Node>>> {
        page_of(task, range, self.count(), |n| Ok(self.nth(n).map(Arc::new)))
    }

    fn find(&self, task: &Task, name: &str) -> Result<Option<Arc<Node>>> {
        let version = || name.strip_prefix("version=").and_then(|text| text.parse().ok());
        if let Some(millis) = name.strip_prefix("timestamp=").and_then(lake::millis) {
            let version = self.states.at_time(task, millis)?;
            return Ok(version.map(|version| Arc::new(self.version(version))));
        }
        Ok(match name {
            "history" => Some(Arc::new(self.history())),
            "files" => Some(Arc::new(self.files(self.states.newest))),
            _ => version().filter(|v| self.states.versions.contains(v)).map(|v| Arc::new(self.version(v))),
        })
    }
}

/// The files of a version, looked for when somebody looks into them.
fn files_of(states: &Arc<States>, version: u64) -> Node {
    let states = states.clone();
    Node::deferred("files", "files", move |task| {
        let snapshot = states.log.snapshot(task, version)?;
        files::node(task, &states.log, &snapshot)
    })
}

/// A commit's information as attributes.
fn info_attributes(info: &Json) -> Vec<(String, Value)> {
    let Json::Object(info) = info else { return Vec::new() };
    let one = |(key, value): (&String, &Json)| {
        let value = match (key.as_str(), value.as_i64()) {
            ("timestamp", Some(millis)) => Value::Text(files::time(millis)),
            _ => Value::from(value.clone()),
        };
        (key.clone(), value)
    };
    info.iter().map(one).collect()
}
