//! Folders of TFRecord files that are one thing: shards (`train-00000-of-00128`, `NAME.tfrecord-00000-of-00010`), a table
//! for each set of them; and the data sets of TensorFlow Datasets, which say in `dataset_info.json` which splits there are
//! and in `features.json` what their fields are.
//! <https://www.tensorflow.org/datasets/external_tfrecord>,
//! <https://github.com/tensorflow/datasets/blob/master/tensorflow_datasets/core/features/feature.proto>
//!
//! All shards of a set have the same columns, those of a sample of the records of several of them.

use super::{Payloads, Records, sample};
use crate::bytes::display::{self, natural_order};
use crate::bytes::error::{Defect, Error, Result, UnlessCancelled};
use crate::bytes::source::{Entry, Source};
use crate::bytes::task::Task;
use crate::data::content::{Content, Kind, Rows, Table};
use crate::data::format::{Format, Opening, Options};
use crate::data::node::Node;
use crate::data::sniff::{Head, Match, has_extension};
use crate::engines::examples::{ExampleColumns, Hints, Survey};
use crate::engines::multifile::concat::{self, Part, Wanted};
use crate::engines::records::container::{Columns, Container, FileProblems, RecordTable};
use crate::engines::records::tfrecord::{HEAD, TfRecords, length};
use crate::formats::ALL;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::features::Described;

/// The descriptor.
pub static SET: Format = Format {
    sniff: Some(sniff),
    reads: &[Kind::Table, Kind::Group],
    ..Format::new("tfrecord_set", "TFRecord files", open)
};

/// Shards whose records are looked at for the columns.
const SURVEYED: usize = 8;
/// Missing shards that are named.
const NAMED: usize = 5;

/// What the name of a shard says: the set that it belongs to, which one it is, and of how many.
fn shard_of(name: &str) -> Option<(&str, u64, u64)> {
    let name = name.strip_suffix(".gz").unwrap_or(name);
    let name =
        [".tfrecord", ".tfrecords", ".tfrec"].iter().find_map(|end| name.strip_suffix(*end)).unwrap_or(name);
    let (rest, total) = name.rsplit_once("-of-")?;
    let (prefix, number) = rest.rsplit_once(['-', '_'])?;
    let digits = |text: &str| {
        let fits = (4..=9).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        fits.then(|| text.parse::<u64>().ok()).flatten()
    };
    let (number, total) = (digits(number)?, digits(total)?);
    (number <= total).then_some((prefix, number, total))
}

/// Whether a name is that of a TFRecord file.
fn is_named(name: &str) -> bool {
    let name = name.strip_suffix(".gz").unwrap_or(name);
    has_extension(name, super::FORMAT.extensions) || name.contains(".tfrecord-")
}

/// Files that say more of those beside them.
fn is_beside(name: &str) -> bool {
    has_extension(name, &["json", "txt", "md", "proto", "desc", "csv"]) || name.starts_with(['.', '_'])
}

/// A folder that a data set's description lies in, or one that has nothing but shards, and files that are named as such.
fn sniff(head: &Head) -> Match {
    if !head.is_folder {
        return Match::No;
    }
    let has = |name: &str| head.entries.iter().any(|entry| entry.name == name && !entry.is_folder);
    let files = || head.entries.iter().filter(|entry| !entry.is_folder && !is_beside(&entry.name));
    if has("dataset_info.json") && has("features.json") && files().any(|entry| is_named(&entry.name)) {
        return Match::Yes;
    }
    let shown = head.entries.iter().filter(|entry| !entry.name.starts_with(['.', '_']));
    let is_part = |entry: &Entry| {
        !entry.is_folder
            && (is_beside(&entry.name) || is_named(&entry.name) || shard_of(&entry.name).is_some())
    };
    if shown.clone().all(is_part) && files().count() > 1 { Match::Yes } else { Match::No }
}

/// The shards of one set.
struct Shards {
    /// What their names have in common.
    name: String,
    files: Vec<Entry>,
    /// Of how many there should be, those that are not there.
    missing: Option<Error>,
}

/// The sets of a folder, by their names.
fn sets(entries: &[Entry]) -> Vec<Shards> {
    let mut found: BTreeMap<String, (Vec<Entry>, Vec<(u64, u64)>)> = BTreeMap::new();
    for entry in entries.iter().filter(|entry| !entry.is_folder && !is_beside(&entry.name)) {
        let shard = shard_of(&entry.name);
        // Files without numbers are one set.
        let name = shard.map_or("", |(prefix, ..)| prefix);
        let name = name.strip_suffix(".tfrecord").unwrap_or(name);
        let (files, numbers) = found.entry(name.to_owned()).or_default();
        files.push(entry.clone());
        numbers.extend(shard.map(|(_, number, total)| (number, total)));
    }
    let set = |(name, (mut files, numbers)): (String, (Vec<Entry>, Vec<(u64, u64)>))| {
        files.sort_by(|a, b| natural_order(&a.name, &b.name));
        let missing = missing(&name, &numbers);
        Shards { name, files, missing }
    };
    found.into_iter().map(set).collect()
}

/// What is missing of shards with these numbers, which count from 0 or from 1.
fn missing(name: &str, numbers: &[(u64, u64)]) -> Option<Error> {
    let total = numbers.iter().map(|(_, total)| *total).max()?;
    let is_there = |number: u64| numbers.iter().any(|(known, _)| *known == number);
    let first = u64::from(!is_there(0) && is_there(total));
    let count = total.saturating_sub(numbers.len() as u64);
    if count == 0 || numbers.len() > 1 << 16 {
        return None;
    }
    let absent = (first..first.saturating_add(total)).filter(|number| !is_there(*number));
    let names: Vec<String> = absent.take(NAMED).map(|number| number.to_string()).collect();
    let more = if count > NAMED as u64 { ", …" } else { "" };
    let what =
        format!("TFRecord: of the {total} shards of {name} these are missing: {}{more}", names.join(", "));
    Some(Error::malformed(what).with_defect(Defect::Shards))
}

fn open(opening: &Opening) -> Result<Node> {
    let (task, folder) = (opening.task, opening.source);
    let root = folder.path().ok_or_else(|| Error::bug("a folder without a path"))?.to_owned();
    let sets = sets(&opening.head.entries);
    // Names say little: the first file of each set is looked at.
    for set in &sets {
        if !set.files.first().is_some_and(|file| begins(task, &root.join(&file.name)).unwrap_or(false)) {
            return Err(Error::other_format(""));
        }
    }
    let described = Described::read(task, folder)?;
    let mut nodes = Vec::new();
    for set in sets {
        nodes.push(of_set(task, &root, set, &described)?);
    }
    let beside = opening.head.entries.iter().filter(|entry| is_beside(&entry.name));
    let beside: Vec<Node> = beside
        .filter(|entry| !entry.is_folder && !entry.name.starts_with('.'))
        .map(|entry| nested(&root, &entry.name, "file"))
        .collect();
    let mut node = match <[Node; 1]>::try_from(nodes) {
        Ok([only]) => {
            let name = folder.name().to_owned();
            Node { name, ..only }
        }
        Err(nodes) => {
            let mut all = nodes;
            all.extend(beside);
            Node::new(folder.name(), "data set").listed(all)
        }
    };
    described.tell(&mut node);
    Ok(node)
}

/// Whether a file, or what is compressed in it, begins with a record.
fn begins(task: &Task, path: &Path) -> Result<bool> {
    let source = Source::open(task, path)?;
    let first = source.read_up_to(task, 0, HEAD)?;
    Ok(first.is_empty() || length(&first).is_some() || matches!(*first, [0x1f, 0x8b, ..] | [0x78, ..]))
}

fn nested(root: &Path, name: &str, label: &'static str) -> Node {
    let path = root.join(name);
    ALL.nested(name, label, Options::default(), move |task| Source::open(task, &path))
}

/// The shards of one set as one table.
fn of_set(task: &Task, root: &Path, set: Shards, described: &Described) -> Result<Node> {
    let name = described.split(&set.name).unwrap_or(if set.name.is_empty() { "records" } else { &set.name });
    let mut node = Node::new(name, "split");
    let rows = described.rows(&set.name, set.files.len());
    let problems = Arc::new(FileProblems::default());
    let (table, remarks) = match survey(task, root, &set.files)? {
        Some((survey, complete)) => {
            let hints = described.hints();
            let columns = ExampleColumns::new(&survey, complete, &hints, Arc::default());
            let schema = columns.schema().clone();
            let parts = set.files.iter().enumerate().map(|(n, file)| {
                let path = root.join(&file.name);
                let (survey, hints, found) = (survey.clone(), hints.clone(), problems.clone());
                let open = move |task: &Task| shard(task, &path, &survey, complete, &hints, &found);
                let part = Part::new(file.name.as_str(), file.bytes, Box::new(open));
                Part {
                    rows: rows.as_ref().and_then(|rows| rows.get(n)).map(|rows| Rows::Exact(*rows)),
                    ..part
                }
            });
            let joined = concat::known(task, &schema, parts.collect(), |_| false)?;
            (joined.table, joined.differences)
        }
        // Other records, or compressed ones: as each file tells it.
        None => {
            let parts = set.files.iter().map(|file| {
                let path = root.join(&file.name);
                let open = move |task: &Task| {
                    crate::data::open::table_of(&ALL.open(task, &path, &Options::default())?)
                };
                Part::new(file.name.as_str(), file.bytes, Box::new(open))
            });
            let joined = concat::join(task, parts.collect(), Vec::new(), Wanted::Seen).unless_cancelled()?;
            let Ok(joined) = joined else { return Err(Error::other_format("")) };
            (joined.table, joined.differences)
        }
    };
    node.problem = set.missing;
    node.remarks = remarks;
    let count = display::plural(set.files.len() as u64, "file");
    let files = set.files.iter().map(|file| nested(root, &file.name, "shard")).collect();
    Ok(node.content(Content::Table(table)).listed(files).findings(problems).parts().read_as("shards", count))
}

/// The records of a file; nothing of them is read yet.
fn framed(task: &Task, path: &Path) -> Result<Arc<Records>> {
    let source = Source::open(task, path)?;
    Ok(Arc::new(Records::of_a_kind(source, ALL, TfRecords, 0)))
}

/// Looks at records of some of the files, and whether those were all; `None` where they are no examples.
fn survey(task: &Task, root: &Path, files: &[Entry]) -> Result<Option<(Survey, bool)>> {
    let mut survey = Survey::default();
    let mut complete = files.len() <= SURVEYED;
    let step = files.len().div_ceil(SURVEYED).max(1);
    let last = files.len().saturating_sub(1);
    let chosen = files.iter().enumerate().filter(|(n, _)| n.is_multiple_of(step) || *n == last);
    for (_, file) in chosen {
        let records = framed(task, &root.join(&file.name)).unless_cancelled()?;
        let Ok(records) = records else { continue };
        records.extend(task, super::EAGER, super::EAGER as usize)?;
        complete &= sample::look(task, &records, &mut survey)?;
    }
    Ok(survey.message().map(|_| (survey, complete)))
}

/// One of the files as a table of columns that are those of all.
fn shard(
    task: &Task,
    path: &Path,
    survey: &Survey,
    complete: bool,
    hints: &Hints,
    problems: &FileProblems,
) -> Result<Arc<dyn Table>> {
    let records = framed(task, path)?;
    problems.watch(&path.file_name().unwrap_or_default().to_string_lossy(), records.problems());
    records.extend(task, super::EAGER, super::EAGER as usize)?;
    if let (0, Some(problem)) = (records.rows().known(), records.problems().first()) {
        return Err(problem);
    }
    records.set_kind(Payloads::Examples);
    let columns = ExampleColumns::new(survey, complete, hints, records.problems().clone());
    Ok(Arc::new(RecordTable::new(records, columns)))
}
