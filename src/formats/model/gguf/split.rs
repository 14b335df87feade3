//! Models that are split into files: `NAME-00001-of-00003.gguf` and so on, as llama.cpp's `gguf-split` makes them. The
//! first file has the metadata; each has `split.no`, `split.count` and `split.tensors.count`.
//! <https://github.com/ggml-org/llama.cpp/tree/master/tools/gguf-split>

use super::header;
use super::{blame, tree};
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::node::Node;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Missing files that are named.
const NAMED: usize = 5;
/// The most files of one model.
const MOST: u64 = 10_000;

/// A file name of the form `NAME-00001-of-00003.gguf`: the name, the number, how many there are.
fn part_of(name: &str) -> Option<(&str, u64, u64)> {
    let (rest, total) = name.strip_suffix(".gguf")?.rsplit_once("-of-")?;
    let (prefix, number) = rest.rsplit_once('-')?;
    let digits = |text: &str| {
        let fits = (4..=9).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
        fits.then(|| text.parse::<u64>().ok()).flatten()
    };
    Some((prefix, digits(number)?, digits(total)?))
}

/// Opens the model that a file is a part of; `None` for a file that is none, or lies where it has no neighbours.
pub(super) fn open(task: &Task, source: &Source) -> Result<Option<Node>> {
    let (Some((prefix, _, total)), Some(path)) = (part_of(source.name()), source.path()) else {
        return Ok(None);
    };
    if !(2..=MOST).contains(&total) {
        return Ok(None);
    }
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    };
    let width = source.name().strip_suffix(".gguf").and_then(|stem| Some(stem.rsplit_once("-of-")?.1.len()));
    let name = |n: u64| {
        let width = width.unwrap_or(5);
        format!("{prefix}-{n:0width$}-of-{total:0width$}.gguf")
    };
    let entries = Source::open(task, &folder)?.entries(task)?;
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
        match part(task, &folder, &name(n)).unless_cancelled()? {
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
    tree(task, root, files).map(Some)
}

/// One file with its header.
fn part(task: &Task, folder: &Path, name: &str) -> Result<(Source, header::Header)> {
    let source = Source::open(task, &folder.join(name))?;
    let header = header::read(task, &source)?;
    Ok((source, header))
}
