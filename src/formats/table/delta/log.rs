//! The log: which commits and checkpoints are there, and what they say the table is at a version.

use super::action::{self, Snapshot, Tombs};
use super::info_attributes;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::format::Options;
use crate::data::node::Value;
use crate::data::open::table_of;
use crate::engines::multifile::lake::json_of;
use crate::formats::open_source;
use parking_lot::Mutex;
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Bytes of a commit in which its own information is looked for first.
const HEAD: usize = 16 << 10;
/// The folder of the log below the table's.
const FOLDER: &str = "_delta_log";

/// A checkpoint: the state at a version in one or more files.
#[derive(Clone, Debug)]
struct Checkpoint {
    files: Vec<String>,
    /// How many files there must be.
    wanted: usize,
}

/// What is in the log's folder, by version.
pub(super) struct Log {
    root: Source,
    commits: BTreeSet<u64>,
    checkpoints: BTreeMap<u64, Checkpoint>,
    strange: Vec<String>,
    /// The table as it was put together last.
    kept: Mutex<Option<Arc<Snapshot>>>,
}

impl Log {
    /// Lists the log of the table in the folder `root`.
    pub(super) fn list(task: &Task, root: &Source) -> Result<Log> {
        let folder = root.child(task, FOLDER)?;
        let mut log = Log {
            root: root.clone(),
            commits: BTreeSet::new(),
            checkpoints: BTreeMap::new(),
            strange: Vec::new(),
            kept: Mutex::default(),
        };
        for entry in folder.entries(task)?.into_iter().filter(|e| !e.is_folder) {
            log.note(entry.name);
        }
        Ok(log)
    }

    /// Sorts one file of the folder in.
    fn note(&mut self, name: String) {
        let parts: Vec<&str> = name.split('.').collect();
        let version = parts.first().filter(|p| p.len() == 20).and_then(|p| p.parse::<u64>().ok());
        let Some(version) = version else { return };
        let whole = |files: Vec<String>| Checkpoint { wanted: 1, files };
        match parts.as_slice() {
            [_, "json"] => {
                self.commits.insert(version);
            }
            [_, "checkpoint", "parquet"] | [_, "checkpoint", _, "parquet" | "json"] => {
                self.checkpoints.insert(version, whole(vec![name]));
            }
            [_, "checkpoint", _, total, "parquet"] => {
                let wanted = total.parse::<usize>().unwrap_or(usize::MAX);
                let several = Checkpoint { files: Vec::new(), wanted };
                let entry = self.checkpoints.entry(version).or_insert(several);
                if entry.wanted == wanted {
                    entry.files.push(name);
                }
            }
            [_, "crc"] | [_, _, "compacted", "json"] => {}
            _ => self.strange.push(name),
        }
    }

    /// The table's folder.
    pub(super) fn root(&self) -> &Source {
        &self.root
    }

    /// The newest version.
    ///
    /// # Errors
    /// `Malformed` where the log has neither commits nor checkpoints.
    pub(super) fn newest(&self) -> Result<u64> {
        let commit = self.commits.last().copied();
        let checkpoint = self.usable(u64::MAX).map(|(version, _)| version);
        commit
            .max(checkpoint)
            .ok_or_else(|| Error::malformed(format!("Delta log: {FOLDER} has no commit and no checkpoint")))
    }

    /// What is strange in the log.
    pub(super) fn remarks(&self) -> Vec<String> {
        let incomplete = self.checkpoints.iter().filter(|(_, c)| c.files.len() != c.wanted);
        let mut remarks: Vec<String> = incomplete
            .map(|(version, c)| {
                format!("the checkpoint of version {version} has {} of {} parts", c.files.len(), c.wanted)
            })
            .collect();
        if let (Some(first), Some(last)) = (self.commits.first(), self.commits.last())
            && last - first + 1 != self.commits.len() as u64
        {
            remarks.push(format!("the log has gaps between version {first} and {last}"));
        }
        if let Some(name) = self.strange.first() {
            let more = self.strange.len() - 1;
            remarks.push(format!("{FOLDER} has files that are no part of a log: {name} and {more} more"));
        }
        remarks
    }

    /// Whether a version's own commit is there.
    pub(super) fn has_commit(&self, version: u64) -> bool {
        self.commits.contains(&version)
    }

    /// The newest complete checkpoint up to a version.
    fn usable(&self, version: u64) -> Option<(u64, &Checkpoint)> {
        let complete = |(_, c): &(&u64, &Checkpoint)| c.files.len() == c.wanted;
        self.checkpoints.range(..=version).rev().find(complete).map(|(v, c)| (*v, c))
    }

    /// The versions that can be put together from what is there.
    pub(super) fn versions(&self) -> Vec<u64> {
        let mut versions = BTreeSet::new();
        for start in self.checkpoints.keys().copied().chain([0]) {
            let is_start =
                start == 0 && self.has_commit(0) || self.usable(start).is_some_and(|(v, _)| v == start);
            let mut version = start;
            while is_start && (version == start || self.has_commit(version)) {
                if !versions.insert(version) {
                    break;
                }
                version += 1;
            }
        }
        versions.into_iter().collect()
    }

    /// The table at `version`.
    ///
    /// # Errors
    /// `Malformed` where commits are missing or not readable.
    pub(super) fn snapshot(&self, task: &Task, version: u64) -> Result<Arc<Snapshot>> {
        if let Some(kept) = self.kept.lock().clone()
            && kept.version == version
        {
            return Ok(kept);
        }
        let snapshot = Arc::new(self.assembled(task, version)?);
        let mut kept = self.kept.lock();
        // The newest one is asked for again, by the list of its files.
        if kept.as_ref().is_none_or(|kept| kept.version < version) {
            *kept = Some(snapshot.clone());
        }
        Ok(snapshot)
    }

    /// Puts the table together from the newest checkpoint and the commits after it.
    fn assembled(&self, task: &Task, version: u64) -> Result<Snapshot> {
        let start = self.usable(version);
        let first = start.map_or(0, |(v, _)| v + 1);
        let mut snapshot = Snapshot::new(version);
        let mut tombs = Tombs::default();
        for number in (first..=version).rev() {
            task.check()?;
            if !self.has_commit(number) {
                return Err(Error::malformed(format!(
                    "Delta log: version {version} needs the commit of version {number}, which is missing"
                )));
            }
            let actions = self.commit(task, number)?;
            let place = |e: Error| e.in_node(&commit_name(number));
            snapshot.apply(&actions, &mut tombs).map_err(place)?;
        }
        if let Some((number, checkpoint)) = start {
            for name in &checkpoint.files {
                task.check()?;
                let place = |e: Error| e.in_file(name);
                self.checkpoint(task, name, &mut snapshot, &mut tombs).map_err(place)?;
            }
            snapshot.checkpoint = Some(number);
        }
        snapshot.check()?;
        Ok(snapshot)
    }

    /// The versions whose commits are there.
    pub(super) fn commits(&self) -> impl Iterator<Item = u64> {
        self.commits.iter().copied()
    }

    /// The actions of one commit.
    pub(super) fn commit(&self, task: &Task, version: u64) -> Result<Vec<Json>> {
        let name = commit_name(version);
        let source = self.root.child(task, &format!("{FOLDER}/{name}"))?;
        actions(task, &source).map_err(|e| e.in_file(&name))
    }

    /// The `commitInfo` of a version, which stands at the begin of a commit almost always.
    pub(super) fn raw_info(&self, task: &Task, version: u64) -> Option<Json> {
        const INFO: &str = "commitInfo";
        let source = self.root.child(task, &format!("{FOLDER}/{}", commit_name(version))).ok()?;
        let head = source.read_up_to(task, 0, HEAD).ok()?;
        // The last one may be cut off.
        let mut actions =
            serde_json::Deserializer::from_slice(&head).into_iter::<Json>().map_while(Result::ok);
        actions.find_map(|mut action| action.get_mut(INFO).map(Json::take)).or_else(|| {
            let actions = self.commit(task, version).ok()?;
            actions.into_iter().find_map(|mut action| action.get_mut(INFO).map(Json::take))
        })
    }

    /// The same as attributes.
    pub(super) fn commit_info(&self, task: &Task, version: u64) -> Result<Vec<(String, Value)>> {
        Ok(info_attributes(&self.raw_info(task, version).unwrap_or(Json::Null)))
    }

    /// Takes one file of a checkpoint, and the sidecars that it names.
    fn checkpoint(&self, task: &Task, name: &str, snapshot: &mut Snapshot, tombs: &mut Tombs) -> Result<()> {
        let source = self.root.child(task, &format!("{FOLDER}/{name}"))?;
        let sidecars = if name.ends_with(".json") {
            let actions = actions(task, &source)?;
            snapshot.apply(&actions, tombs)?;
            actions.iter().filter_map(action::sidecar).collect()
        } else {
            rows(task, &source, |actions| snapshot.apply(actions, tombs))?
        };
        for sidecar in sidecars {
            // A sidecar is named alone or by a path that ends in its name.
            let file = sidecar.rsplit('/').next().unwrap_or_default();
            let source = self.root.child(task, &format!("{FOLDER}/_sidecars/{file}"))?;
            rows(task, &source, |actions| snapshot.apply(actions, tombs)).map_err(|e| e.in_file(file))?;
        }
        Ok(())
    }
}

/// The name of a version's commit.
fn commit_name(version: u64) -> String {
    format!("{version:020}.json")
}

/// The path of a version's commit below the table's folder.
pub(super) fn commit_path(version: u64) -> String {
    format!("{FOLDER}/{}", commit_name(version))
}

/// The actions of a file of JSON: a line each, where some writers break lines within them.
fn actions(task: &Task, source: &Source) -> Result<Vec<Json>> {
    let len = limits::check(source.len(task)?, limits::HEADER, "this commit")? as u64;
    let bytes = source.read(task, 0..len)?;
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    let mut stream = serde_json::Deserializer::from_slice(text).into_iter::<Json>();
    let mut actions = Vec::new();
    let mut at = 0;
    while let Some(action) = stream.next() {
        let wrong = |e| Error::malformed(format!("an action is no JSON: {e}")).at(at);
        actions.push(action.map_err(wrong)?);
        at = stream.byte_offset() as u64;
        task.check()?;
    }
    Ok(actions)
}

/// The actions of a checkpoint in Parquet, a batch at a time; gives the sidecars that it names.
fn rows(task: &Task, source: &Source, mut take: impl FnMut(&[Json]) -> Result<()>) -> Result<Vec<String>> {
    let table = table_of(&open_source(task, source, &Options::default())?)?;
    let known = ["protocol", "metaData", "add", "remove", "sidecar", "txn", "domainMetadata"];
    let fields = table.schema().fields();
    let columns: Vec<usize> = (0..fields.len())
        .filter(|&n| fields.get(n).is_some_and(|field| known.contains(&field.name().as_str())))
        .collect();
    let (mut at, total) = (0, table.count(task)?);
    let mut sidecars = Vec::new();
    while at < total {
        let end = (at + 8192).min(total);
        let batch = table.read(task, at..end, &columns)?;
        let schema = batch.schema();
        let action = |row: usize| {
            let named = schema.fields().iter().zip(batch.columns()).find(|(_, column)| column.is_valid(row));
            named.map(|(field, column)| {
                Json::Object([(field.name().clone(), json_of(column, row))].into_iter().collect())
            })
        };
        let actions: Vec<Json> = (0..batch.num_rows()).filter_map(action).collect();
        sidecars.extend(actions.iter().filter_map(action::sidecar));
        take(&actions)?;
        at = end;
    }
    Ok(sidecars)
}
