//! Models that are split into files: `NAME-00001-of-00003.gguf` and so on, as llama.cpp's `gguf-split` makes them. The
//! first file has the metadata; each has `split.no`, `split.count` and `split.tensors.count`.
//! <https://github.com/ggml-org/llama.cpp/tree/master/tools/gguf-split>

use super::header;
use super::{blame, tree};
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::source::{Entry, Source};
use crate::bytes::task::Task;
use crate::data::format::Opening;
use crate::data::node::Node;
use crate::data::sniff::{Head, Match};
use crate::engines::shards::{others, shard_of};
use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Missing files that are named.
const NAMED: usize = 5;
/// The most files of one model.
const MOST: u64 = 10_000;

/// What the names of files end in.
const END: &str = ".gguf";

/// A folder with exactly one model in several files: with more of them each is opened from its own files.
pub(super) fn sniff_folder(head: &Head) -> Match {
    let files = head.entries.iter().filter(|entry| !entry.is_folder);
    let parts = files.filter_map(|entry| shard_of(&entry.name, END)).filter(|part| part.2 > 1);
    let models: BTreeSet<(&str, u64)> = parts.map(|(prefix, _, total)| (prefix, total)).collect();
    if head.is_folder && models.len() == 1 { Match::Yes } else { Match::No }
}

/// Opens the model of a folder; the folder's other files follow its tensors.
pub(super) fn open_folder(opening: &Opening) -> Result<Node> {
    let entries = &opening.head.entries;
    let folder = opening.source.path().ok_or_else(|| Error::bug("a folder without a path"))?;
    let none = || Error::unsupported("a folder without the files of a model");
    let first = entries.iter().find(|entry| !entry.is_folder && shard_of(&entry.name, END).is_some());
    let first = first.map(|entry| entry.name.as_str()).ok_or_else(none)?;
    let prefix = shard_of(first, END).map(|(prefix, ..)| prefix);
    let others = others(crate::formats::ALL, folder, entries, |name| {
        shard_of(name, END).map(|(prefix, ..)| prefix) == prefix
    });
    open_parts(opening.task, folder, first, entries, others)?.ok_or_else(none)
}

/// Opens the model that a file is a part of; `None` for a file that is none, or lies where it has no neighbours.
pub(super) fn open(task: &Task, source: &Source) -> Result<Option<Node>> {
    let (Some(_), Some(path)) = (shard_of(source.name(), END), source.path()) else { return Ok(None) };
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    };
    let entries = Source::open(task, &folder)?.entries(task)?;
    open_parts(task, &folder, source.name(), &entries, Vec::new())
}

/// Opens the model that the file `part` of a folder belongs to; `None` where none of its files can be read.
fn open_parts(
    task: &Task,
    folder: &Path,
    part: &str,
    entries: &[Entry],
    others: Vec<Arc<Node>>,
) -> Result<Option<Node>> {
    let Some((prefix, _, total)) = shard_of(part, END).filter(|part| (2..=MOST).contains(&part.2)) else {
        return Ok(None);
    };
    let width = part.strip_suffix(END).and_then(|stem| Some(stem.rsplit_once("-of-")?.1.len()));
    let name = |n: u64| {
        let width = width.unwrap_or(5);
        format!("{prefix}-{n:0width$}-of-{total:0width$}{END}")
    };
    let there: HashSet<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
    let mut root = Node::new("", "model");
    let (mut files, mut missing) = (Vec::new(), Vec::new());
    task.set_total(total);
    for n in 1..=total {
        task.advance(1)?;
        if !there.contains(name(n).as_str()) {
            missing.push(name(n));
            continue;
        }
        match read(task, folder, &name(n)).unless_cancelled()? {
            Ok(file) => files.push(file),
            Err(error) => blame(&mut root, error.in_node(&name(n))),
        }
    }
    if files.is_empty() {
        return Ok(None);
    }
    if !missing.is_empty() {
        let count = missing.len();
        missing.truncate(NAMED);
        let more = if count > NAMED { format!(" and {} more", count - NAMED) } else { String::new() };
        let what = format!("model: of its {total} files these are missing: {}{more}", missing.join(", "));
        blame(&mut root, Error::malformed(what));
    }
    let stated = files.iter().find_map(|(_, header)| header.number("split.tensors.count"));
    let found: u64 = files.iter().map(|(_, header)| header.tensors.len() as u64).sum();
    if let Some(stated) = stated.filter(|stated| *stated != found && root.problem.is_none()) {
        let what = format!("model: it should have {stated} tensors (split.tensors.count), {found} are there");
        blame(&mut root, Error::malformed(what));
    }
    tree(task, root, files, others).map(Some)
}

/// One file with its header.
fn read(task: &Task, folder: &Path, name: &str) -> Result<(Source, header::Header)> {
    let source = Source::open(task, &folder.join(name))?;
    let header = header::read(task, &source)?;
    Ok((source, header))
}
