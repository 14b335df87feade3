//! Shards: archives of a folder whose names differ in a number (`train-000000.tar`), one table for each set of them.

use super::samples::Shard;
use super::survey::Survey;
use super::table::{Form, SampleTable};
use crate::bytes::display::{self, natural_order};
use crate::bytes::error::{Defect, Error, Result, UnlessCancelled};
use crate::bytes::source::{Entry, Source};
use crate::bytes::task::Task;
use crate::data::content::{Content, Kind, Table};
use crate::data::format::{Format, Opening, Options};
use crate::data::node::Node;
use crate::data::sniff::{Head, Match, has_extension};
use crate::engines::multifile::concat::{self, Part, Wanted};
use crate::engines::records::container::{Container, FileProblems};
use crate::formats::ALL;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// The descriptor.
pub static SET: Format = Format {
    sniff: Some(sniff),
    reads: &[Kind::Table, Kind::Group],
    ..Format::new("webdataset_set", "WebDataset shards", open)
};

/// Endings of archives.
const ARCHIVES: &[&str] = &["tar", "tar.gz", "tgz", "tar.zst", "tar.bz2", "tar.xz", "tar.lz4"];
/// Shards that are looked at for the columns.
const SURVEYED: usize = 8;
/// Missing shards that are named, and the most numbers that are looked through for them.
const NAMED: usize = 5;
const NUMBERS: u64 = 1 << 20;

/// What the name of a shard says: the set that it belongs to, which one it is, and of how many where that is said.
fn shard_of(name: &str) -> Option<(&str, u64, Option<u64>)> {
    let lower = name.to_lowercase();
    let ending = ARCHIVES.iter().filter(|ending| lower.ends_with(&format!(".{ending}")));
    let ending = ending.max_by_key(|ending| ending.len())?;
    let stem = name.get(..name.len().checked_sub(ending.len() + 1)?)?;
    // train-00003-of-00128
    let (stem, total) = match stem.rsplit_once("-of-") {
        Some((before, total)) if !total.is_empty() && total.bytes().all(|b| b.is_ascii_digit()) => {
            (before, total.parse().ok())
        }
        _ => (stem, None),
    };
    let prefix = stem.trim_end_matches(|digit: char| digit.is_ascii_digit());
    let number = stem.get(prefix.len()..)?.parse().ok()?;
    Some((prefix.trim_end_matches(['-', '_', '.']), number, total))
}

/// Files that say more of those beside them.
fn is_beside(entry: &Entry) -> bool {
    has_extension(&entry.name, &["json", "txt", "md", "idx", "index", "yaml", "yml", "csv", "sh"])
        || entry.name.starts_with(['.', '_'])
}

/// A folder with nothing but shards, several of each set, and files that say more of them.
fn sniff(head: &Head) -> Match {
    if !head.is_folder {
        return Match::No;
    }
    let others = || head.entries.iter().filter(|entry| !is_beside(entry));
    let sets = sets(&head.entries);
    let all = others().all(|entry| !entry.is_folder && shard_of(&entry.name).is_some());
    let several = !sets.is_empty() && sets.iter().any(|set| set.files.len() > 1);
    if all && several { Match::Yes } else { Match::No }
}

/// The shards of one set.
struct Shards {
    name: String,
    files: Vec<Entry>,
    /// Those that are not there.
    missing: Option<Error>,
}

/// The sets of a folder, by their names.
fn sets(entries: &[Entry]) -> Vec<Shards> {
    let mut found: BTreeMap<&str, (Vec<Entry>, Vec<u64>, Option<u64>)> = BTreeMap::new();
    for entry in entries.iter().filter(|entry| !entry.is_folder && !is_beside(entry)) {
        let Some((prefix, number, total)) = shard_of(&entry.name) else { continue };
        let (files, numbers, most) = found.entry(prefix).or_default();
        *most = total.max(*most);
        files.push(entry.clone());
        numbers.push(number);
    }
    let set = |(name, (mut files, mut numbers, total)): (&str, (Vec<Entry>, Vec<u64>, Option<u64>))| {
        files.sort_by(|a, b| natural_order(&a.name, &b.name));
        numbers.sort_unstable();
        Shards { name: name.to_owned(), files, missing: missing(name, &numbers, total) }
    };
    found.into_iter().map(set).collect()
}

/// What is missing between shards of these numbers, which are in order, or of so many in all.
fn missing(name: &str, numbers: &[u64], total: Option<u64>) -> Option<Error> {
    let (first, last) = (*numbers.first()?, *numbers.last()?);
    // Counted from 0 or from 1.
    let (first, last) = match total.filter(|total| *total > 0 && last <= *total) {
        Some(total) if last == total && first > 0 => (1, total),
        Some(total) => (0, total.saturating_sub(1).max(last)),
        None => (first, last),
    };
    if last.saturating_sub(first) >= NUMBERS {
        return None;
    }
    let absent: Vec<u64> = (first..=last).filter(|number| numbers.binary_search(number).is_err()).collect();
    if absent.is_empty() {
        return None;
    }
    let names: Vec<String> = absent.iter().take(NAMED).map(u64::to_string).collect();
    let more = if absent.len() > NAMED { ", …" } else { "" };
    let what = format!(
        "WebDataset: of the shards {first} to {last} of {name} these are missing: {}{more}",
        names.join(", ")
    );
    Some(Error::malformed(what).with_defect(Defect::Shards))
}

fn open(opening: &Opening) -> Result<Node> {
    let (task, folder) = (opening.task, opening.source);
    let root = folder.path().ok_or_else(|| Error::bug("a folder without a path"))?.to_owned();
    let mut nodes = Vec::new();
    for set in sets(&opening.head.entries) {
        nodes.push(of_set(task, &root, set)?);
    }
    let beside = opening.head.entries.iter().filter(|entry| is_beside(entry) && !entry.is_folder);
    let beside: Vec<Node> = beside
        .filter(|entry| !entry.name.starts_with('.'))
        .map(|entry| nested(&root, &entry.name, "file"))
        .collect();
    match <[Node; 1]>::try_from(nodes) {
        Ok([only]) => Ok(Node { name: folder.name().to_owned(), ..only }),
        Err(nodes) if nodes.is_empty() => Err(Error::other_format("")),
        Err(mut nodes) => {
            nodes.extend(beside);
            Ok(Node::new(folder.name(), "data set").listed(nodes))
        }
    }
}

fn nested(root: &Path, name: &str, label: &'static str) -> Node {
    let path = root.join(name);
    ALL.nested(name, label, Options::default(), move |task| Source::open(task, &path))
}

/// The shards of one set as one table.
fn of_set(task: &Task, root: &Path, set: Shards) -> Result<Node> {
    let plain = set.files.iter().all(|file| has_extension(&file.name, &["tar"]));
    let problems = Arc::new(FileProblems::default());
    let (table, remarks) = if plain {
        let form = Arc::new(Form::new(&survey(task, root, &set.files)?));
        let parts = set.files.iter().map(|file| {
            let (path, form, found) = (root.join(&file.name), form.clone(), problems.clone());
            let open = move |task: &Task| shard(task, &path, &form, &found);
            Part::new(file.name.as_str(), file.bytes, Box::new(open))
        });
        let joined = concat::known(task, form.schema(), parts.collect(), |_| false)?;
        (joined.table, joined.differences)
    } else {
        // Compressed ones: as each file tells it.
        let parts = set.files.iter().map(|file| {
            let path = root.join(&file.name);
            let open = move |task: &Task| compressed(task, &path);
            Part::new(file.name.as_str(), file.bytes, Box::new(open))
        });
        let joined = concat::join(task, parts.collect(), Vec::new(), Wanted::Seen).unless_cancelled()?;
        let Ok(joined) = joined else { return Err(Error::other_format("")) };
        (joined.table, joined.differences)
    };
    let count = display::plural(set.files.len() as u64, "file");
    let files = set.files.iter().map(|file| nested(root, &file.name, "shard")).collect();
    let name = if set.name.is_empty() { "samples" } else { &set.name };
    let mut node = Node::new(name, "split");
    node.problem = set.missing;
    node.remarks = remarks;
    Ok(node.content(Content::Table(table)).listed(files).findings(problems).parts().read_as("shards", count))
}

/// Looks at some of the archives.
fn survey(task: &Task, root: &Path, files: &[Entry]) -> Result<Survey> {
    let step = files.len().div_ceil(SURVEYED).max(1);
    let last = files.len().saturating_sub(1);
    let chosen = files.iter().enumerate().filter(|(n, _)| n.is_multiple_of(step) || *n == last);
    let mut all: Option<Survey> = None;
    for (_, file) in chosen {
        let found = Source::open(task, &root.join(&file.name)).and_then(|source| Survey::of(task, &source));
        let Ok(found) = found.unless_cancelled()? else { continue };
        match &mut all {
            // Others may be cut off, or have a sample or two.
            Some(all) => all.merge(found),
            None if found.is_dataset() || found.has_samples() && files.len() > 1 && found.is_likely() => {
                all = Some(found);
            }
            None => return Err(Error::other_format("")),
        }
    }
    let mut all = all.ok_or_else(|| Error::other_format(""))?;
    all.complete &= files.len() <= SURVEYED;
    Ok(all)
}

/// One of the archives as a table of the columns of all.
fn shard(task: &Task, path: &Path, form: &Arc<Form>, problems: &FileProblems) -> Result<Arc<dyn Table>> {
    let source = Source::open(task, path)?;
    let survey = Survey::of(task, &source)?;
    let shard = Arc::new(Shard::new(source, survey.apart()));
    problems.watch(&path.file_name().unwrap_or_default().to_string_lossy(), shard.problems());
    shard.begin(task, super::EAGER)?;
    if let (false, Some(problem)) = (survey.has_samples(), shard.problems().first()) {
        return Err(problem);
    }
    Ok(Arc::new(SampleTable { shard, form: form.clone() }))
}

/// A compressed archive as a table of its own columns.
fn compressed(task: &Task, path: &Path) -> Result<Arc<dyn Table>> {
    let document = ALL.open(task, path, &Options::default())?;
    let is_one = document.root.formats.iter().any(|format| format.id == super::FORMAT.id)
        || document.format.id == super::FORMAT.id;
    if !is_one {
        return Err(Error::other_format(""));
    }
    crate::data::open::table_of(&document)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_shards() {
        for (name, expected) in [
            ("train-000003.tar", Some(("train", 3, None))),
            ("train-00003-of-00128.tar.gz", Some(("train", 3, Some(128)))),
            ("000012.TAR", Some(("", 12, None))),
            ("a_b_7.tgz", Some(("a_b", 7, None))),
            ("train.tar", None),
            ("train-1.zip", None),
            (".tar", None),
        ] {
            assert_eq!(shard_of(name), expected, "{name}");
        }
    }

    #[test]
    fn missing_shards_are_named() {
        assert!(missing("a", &[0, 1, 2], None).is_none() && missing("a", &[7], None).is_none());
        let text = missing("a", &[0, 3, 9], None).unwrap().message();
        assert!(text.ends_with("of the shards 0 to 9 of a these are missing: 1, 2, 4, 5, 6, …"), "{text}");
        assert!(missing("a", &[0, u64::MAX], None).is_none());
        let text = missing("a", &[0, 1], Some(4)).unwrap().message();
        assert!(text.ends_with("of the shards 0 to 3 of a these are missing: 2, 3"), "{text}");
        assert!(missing("a", &[1, 2], Some(2)).is_none() && missing("a", &[0, 1], Some(2)).is_none());
    }
}
