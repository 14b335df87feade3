//! Where the event files and the checkpoints of a run lie.

use super::TRAINER_STATE;
use super::checkpoints::{self, Checkpoint};
use crate::bytes::error::{Result, UnlessCancelled};
use crate::bytes::source::{Entry, Source};
use crate::bytes::task::Task;
use crate::engines::tfevents::{self, Run};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};

/// How deep folders are searched,
const DEEP: u32 = 5;
/// and how many entries are looked at.
const ENTRIES: usize = 50_000;

/// How many folders are looked into for event files where only folders are there.
const LOOKED_INTO: usize = 64;
/// The most other files that are listed.
const OTHERS: usize = 10_000;

/// What was found.
#[derive(Default)]
pub(super) struct Found {
    pub(super) runs: Vec<Run>,
    pub(super) checkpoints: Vec<Checkpoint>,
    pub(super) remarks: Vec<String>,
    /// Other files, by their paths below the folder.
    pub(super) others: Vec<(String, PathBuf)>,
    /// Whether there was too much to look at all of it.
    pub(super) cut: bool,
    seen: usize,
}

/// Searches a folder: event files of one folder are one run, as TensorBoard has it; checkpoints are not entered.
pub(super) fn search(task: &Task, folder: &Source) -> Result<Found> {
    let mut found = Found::default();
    let root = folder.path().map(PathBuf::from).unwrap_or_default();
    found.folder(task, &root, "", 0)?;
    found.checkpoints.sort_by(|a, b| {
        let key = |c: &Checkpoint| (c.step.is_none(), c.step, c.epoch.map(f64::to_bits));
        key(a).cmp(&key(b)).then_with(|| crate::bytes::display::natural_order(&a.name, &b.name))
    });
    let mut taken = 0_usize;
    for checkpoint in &mut found.checkpoints {
        taken = checkpoint.measure(task, ENTRIES.saturating_sub(taken))?.saturating_add(taken);
    }
    found.cut |= taken >= ENTRIES;
    Ok(found)
}

/// Whether event files lie in the folders of a folder or in theirs, of which only some are looked into.
pub(super) fn has_event_files(task: &Task, folder: &Path) -> Result<bool> {
    let mut waiting = VecDeque::from([(folder.to_owned(), 0)]);
    let mut looked = 0;
    while let Some((folder, depth)) = waiting.pop_front().filter(|_| looked < LOOKED_INTO) {
        looked += 1;
        task.check()?;
        let listed = Source::open(task, &folder).and_then(|folder| folder.entries(task));
        let Ok(entries) = listed.unless_cancelled()? else { continue };
        if entries.iter().any(|entry| !entry.is_folder && tfevents::is_event_file(&entry.name)) {
            return Ok(true);
        }
        let folders =
            entries.iter().filter(|entry| depth < 2 && entry.is_folder && !entry.name.starts_with('.'));
        waiting.extend(folders.take(LOOKED_INTO).map(|entry| (folder.join(&entry.name), depth + 1)));
    }
    Ok(false)
}

impl Found {
    fn folder(&mut self, task: &Task, path: &Path, name: &str, depth: u32) -> Result<()> {
        task.check()?;
        let listed = Source::open(task, path).and_then(|folder| folder.entries(task));
        let entries = match listed.unless_cancelled()? {
            Ok(entries) => entries,
            Err(error) if depth == 0 => return Err(error),
            Err(error) => {
                self.remarks.push(error.message());
                return Ok(());
            }
        };
        self.seen += entries.len();
        if self.seen > ENTRIES {
            self.cut = true;
            return Ok(());
        }
        let below = |entry: &str| if name.is_empty() { entry.to_owned() } else { format!("{name}/{entry}") };
        let mut files = Vec::new();
        for entry in entries.iter().filter(|entry| !entry.is_folder && tfevents::is_event_file(&entry.name)) {
            match Source::open(task, &path.join(&entry.name)).unless_cancelled()? {
                Ok(file) if entry.bytes > 0 => files.push(file),
                Ok(_) => self.remarks.push(format!("{}: it is empty", below(&entry.name))),
                Err(error) => self.remarks.push(error.message()),
            }
        }
        if !files.is_empty() {
            let name = if name.is_empty() { ".".to_owned() } else { name.to_owned() };
            self.runs.push(Run { name, files });
        }
        let checkpoints = checkpoints::among(path, &entries, &below);
        let is_one = |folder: &str| checkpoints.iter().any(|checkpoint| checkpoint.path.ends_with(folder));
        for entry in entries.iter().filter(|entry| entry.is_folder && !entry.name.starts_with('.')) {
            let inner = path.join(&entry.name);
            // A link may lead back up.
            let is_link = std::fs::symlink_metadata(&inner).is_ok_and(|meta| meta.is_symlink());
            if depth < DEEP && !is_link && !is_one(&entry.name) {
                self.folder(task, &inner, &below(&entry.name), depth + 1)?;
            }
        }
        let is_other = |entry: &&Entry| {
            !entry.is_folder
                && !entry.name.starts_with('.')
                && !tfevents::is_event_file(&entry.name)
                && entry.name != TRAINER_STATE
                && checkpoints.iter().all(|checkpoint| !checkpoint.has(&path.join(&entry.name)))
        };
        let left = OTHERS.saturating_sub(self.others.len());
        let others = entries.iter().filter(is_other).take(left);
        self.others.extend(others.map(|entry| (below(&entry.name), path.join(&entry.name))));
        self.checkpoints.extend(checkpoints);
        Ok(())
    }
}
