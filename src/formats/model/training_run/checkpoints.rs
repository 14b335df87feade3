//! Checkpoints: what is one, by its name, and the table of them.

use super::{Sign, TRAINER_STATE, numbers_in};
use crate::bytes::error::{Result, UnlessCancelled};
use crate::bytes::source::{Entry, Source};
use crate::bytes::task::Task;
use crate::data::content::Content;
use crate::data::content::table::MemoryTable;
use crate::data::format::Options;
use crate::data::node::Node;
use crate::data::sniff::has_extension;
use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, TimestampMillisecondArray};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

/// A checkpoint: a folder, a file, or the files of one prefix.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Checkpoint {
    /// Its path below the folder of the run.
    pub(super) name: String,
    /// The folder or file that it is opened by.
    pub(super) path: PathBuf,
    pub(super) step: Option<u64>,
    pub(super) epoch: Option<f64>,
    pub(super) has_state: bool,
    is_folder: bool,
    files: u64,
    bytes: u64,
    /// Milliseconds since 1970.
    modified: Option<i64>,
    /// The other files of its prefix.
    others: Vec<PathBuf>,
}

/// Endings of files that hold weights.
const WEIGHTS: &[&str] = &["ckpt", "pt", "pth", "bin", "safetensors", "h5", "hdf5", "keras", "msgpack"];
/// Words before a number in the names of folders that are checkpoints for sure, and of others.
const SURE: &[&str] = &["checkpoint", "ckpt", "global_step"];
const PERHAPS: &[&str] = &["iter", "step", "epoch"];

/// The number behind a word in a name: `step=500`, `checkpoint-500`, `global_step500`.
pub(super) fn number_after(name: &str, word: &str) -> Option<u64> {
    let name = name.to_ascii_lowercase();
    let mut from = 0;
    while let Some(at) = name.get(from..)?.find(word) {
        let rest = name.get(from + at + word.len()..)?;
        let rest = rest.strip_prefix(['=', '-', '_', '.']).unwrap_or(rest);
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        // A letter before makes it another word: `timestep`.
        let begins = !name.get(..from + at)?.ends_with(|c: char| c.is_ascii_alphabetic());
        if begins && let Ok(number) = digits.parse() {
            return Some(number);
        }
        from += at + word.len();
    }
    None
}

/// A folder's name that is a word and a number, nothing else.
fn folder_number(name: &str, words: &[&str]) -> Option<u64> {
    let word = words.iter().find(|word| name.starts_with(**word))?;
    let rest = name.strip_prefix(word)?;
    let rest = rest.strip_prefix(['-', '_', '=']).unwrap_or(rest);
    let is_number = !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| rest.parse().ok()).flatten()
}

/// The step in the name of a file, and the epoch.
fn in_file(name: &str) -> (Option<u64>, Option<u64>) {
    let step = ["global_step", "step", "iter", "iteration", "checkpoint", "ckpt"];
    let step = step.iter().find_map(|word| number_after(name, word));
    (step, number_after(name, "epoch"))
}

/// The prefix of a TensorFlow checkpoint by the name of its index: `model.ckpt-500`.
fn tensorflow(name: &str) -> Option<(&str, Option<u64>)> {
    let prefix = name.strip_suffix(".index")?;
    let number = prefix.rsplit_once('-').and_then(|(_, number)| number.parse().ok());
    (prefix.contains("ckpt") || number.is_some()).then_some((prefix, number))
}

/// What the names of a folder's entries say.
pub(super) fn sign(entries: &[Entry]) -> Sign {
    let has = |name: &str| entries.iter().any(|entry| entry.name == name);
    let is_named = |words: &'static [&'static str]| {
        entries.iter().any(move |entry| entry.is_folder && folder_number(&entry.name, words).is_some())
    };
    if is_named(SURE) || (has("latest_checkpointed_iteration.txt") || has("latest")) && is_named(PERHAPS) {
        return Sign::Sure;
    }
    let files = || entries.iter().filter(|entry| !entry.is_folder).map(|entry| entry.name.as_str());
    let index = |name: &str| {
        let prefix = tensorflow(name).map(|(prefix, _)| format!("{prefix}.data-"));
        prefix.is_some_and(|prefix| files().any(|other| other.starts_with(&prefix)))
    };
    let lightning =
        |name: &str| has_extension(name, &["ckpt"]) && (name.contains("step=") || name.contains("epoch="));
    if files().any(|name| index(name) || lightning(name)) {
        return Sign::Sure;
    }
    let numbered = |name: &&str| has_extension(name, WEIGHTS) && in_file(name) != (None, None);
    let count = files().filter(numbered).count();
    if count >= 2 { Sign::Sure } else { Sign::None }
}

/// The checkpoints among the entries of a folder; `below` gives a name below the run's folder.
pub(super) fn among(path: &Path, entries: &[Entry], below: &dyn Fn(&str) -> String) -> Vec<Checkpoint> {
    let in_checkpoints = path.file_name().is_some_and(|name| name == "checkpoints");
    let sure = sign(entries) == Sign::Sure || in_checkpoints;
    let words: Vec<&str> = SURE.iter().chain(if sure { PERHAPS } else { &[] }).copied().collect();
    let mut found = Vec::new();
    for entry in entries {
        let name = entry.name.as_str();
        let mut checkpoint = Checkpoint {
            name: below(name),
            path: path.join(name),
            is_folder: entry.is_folder,
            ..Default::default()
        };
        if entry.is_folder {
            let Some(number) = folder_number(name, &words) else { continue };
            match name.starts_with("epoch") {
                true => checkpoint.epoch = Some(number as f64),
                false => checkpoint.step = Some(number),
            }
            found.push(checkpoint);
        } else if let Some((prefix, step)) = tensorflow(name) {
            let data = format!("{prefix}.");
            let is_other =
                |other: &&Entry| !other.is_folder && other.name.starts_with(&data) && other.name != name;
            checkpoint.others = entries.iter().filter(is_other).map(|other| path.join(&other.name)).collect();
            (checkpoint.name, checkpoint.step) = (below(prefix), step);
            if !checkpoint.others.is_empty() {
                found.push(checkpoint);
            }
        } else if has_extension(name, WEIGHTS) && sure {
            let (step, epoch) = in_file(name);
            (checkpoint.step, checkpoint.epoch) = (step, epoch.map(|epoch| epoch as f64));
            let is_one = step.is_some() || epoch.is_some() || has_extension(name, &["ckpt"]);
            // Parts of a model in shards are none.
            if is_one && !name.contains("-of-") {
                found.push(checkpoint);
            }
        }
    }
    found
}

impl Checkpoint {
    /// Whether a file is one of those that it consists of.
    pub(super) fn has(&self, path: &Path) -> bool {
        self.path == path || self.others.iter().any(|other| other == path)
    }

    /// Finds out what it takes, and what its trainer says of it; looks at up to `most` entries, and says at how many.
    pub(super) fn measure(&mut self, task: &Task, most: usize) -> Result<usize> {
        let mut seen = 0;
        let mut left = vec![(self.path.clone(), 0_u32)];
        left.extend(self.others.iter().map(|path| (path.clone(), 0)));
        while let Some((path, depth)) = left.pop() {
            let Ok(meta) = std::fs::metadata(&path) else { continue };
            let modified = meta.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
            let modified = modified.and_then(|time| i64::try_from(time.as_millis()).ok());
            if meta.is_file() {
                self.files += 1;
                self.bytes = self.bytes.saturating_add(meta.len());
                self.modified = self.modified.max(modified);
            } else if depth < 4 && seen < most {
                let listed = Source::open(task, &path).and_then(|folder| folder.entries(task));
                let Ok(entries) = listed.unless_cancelled()? else { continue };
                seen += entries.len();
                left.extend(entries.into_iter().map(|entry| (path.join(entry.name), depth + 1)));
            }
        }
        let state = self.path.join(TRAINER_STATE);
        if self.is_folder && state.is_file() {
            self.has_state = true;
            let numbers = numbers_in(task, &state, &["global_step", "epoch"])?;
            if let [step, epoch] = numbers.as_slice() {
                self.step = step.map(|step| step as u64).or(self.step);
                self.epoch = epoch.or(self.epoch);
            }
        }
        Ok(seen)
    }

    /// The checkpoint as what it is.
    fn node(&self) -> Node {
        let path = self.path.clone();
        let make = move |task: &Task| Source::open(task, &path);
        crate::formats::ALL.nested(self.name.as_str(), "checkpoint", Options::default(), make)
    }
}

/// The table of the checkpoints, each of them below it.
pub(super) fn node(checkpoints: &[Checkpoint]) -> Result<Node> {
    fn column<T, A: FromIterator<Option<T>> + arrow::array::Array + 'static>(
        all: &[Checkpoint],
        of: impl Fn(&Checkpoint) -> Option<T>,
    ) -> ArrayRef {
        Arc::new(all.iter().map(of).collect::<A>())
    }
    let integer = |number: u64| i64::try_from(number).ok();
    let times: TimestampMillisecondArray = checkpoints.iter().map(|checkpoint| checkpoint.modified).collect();
    let columns = vec![
        ("checkpoint", column::<_, StringArray>(checkpoints, |c| Some(c.name.clone()))),
        ("step", column::<_, Int64Array>(checkpoints, |c| c.step.and_then(integer))),
        ("epoch", column::<_, Float64Array>(checkpoints, |c| c.epoch)),
        ("files", column::<_, Int64Array>(checkpoints, |c| integer(c.files))),
        ("bytes", column::<_, Int64Array>(checkpoints, |c| integer(c.bytes))),
        ("modified", Arc::new(times.with_timezone("+00:00")) as ArrayRef),
    ];
    let table = MemoryTable::new(RecordBatch::try_from_iter(columns)?);
    let children = checkpoints.iter().map(Checkpoint::node).collect();
    Ok(Node::new("checkpoints", "checkpoints").content(Content::Table(Arc::new(table))).listed(children))
}
