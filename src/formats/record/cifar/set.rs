//! The folder of a set: its batches as one table for training, and one for tests.

use super::{Batch, FORMAT, Layout};
use crate::bytes::error::{Error, Result};
use crate::bytes::source::{Entry, Source};
use crate::bytes::task::Task;
use crate::data::content::{Content, Kind, Rows, Table};
use crate::data::format::{Format, Opening, Options};
use crate::data::node::Node;
use crate::data::sniff::{Head, Match};
use crate::engines::multifile::concat::{self, Part, Wanted};
use crate::engines::pictures::Pictures;
use crate::formats::ALL;
use std::path::Path;
use std::sync::Arc;

/// The descriptor.
pub static SET: Format = Format {
    sniff: Some(sniff),
    reads: &[Kind::Table, Kind::Group],
    ..Format::new("cifar_set", "CIFAR", open)
};

/// The files of a folder that have names of batches, in natural order.
fn batches(entries: &[Entry]) -> impl Iterator<Item = (&Entry, Layout)> {
    let layout = |entry: &Entry| Layout::named(&entry.name).filter(|_| !entry.is_folder);
    entries.iter().filter_map(move |entry| Some((entry, layout(entry)?)))
}

/// Batches, and the names of their classes beside them.
fn sniff(head: &Head) -> Match {
    let has = |name: &str| head.entries.iter().any(|entry| entry.name == name);
    let named = |(_, layout): (&Entry, Layout)| layout.labels().iter().all(|(_, _, file)| has(file));
    if head.is_folder && batches(&head.entries).any(named) { Match::Yes } else { Match::No }
}

/// A batch as a table.
fn table(task: &Task, path: &Path, layout: Layout) -> Result<Arc<dyn Table>> {
    let batch = Batch::open(task, &Source::open(task, path)?, layout)?;
    Ok(Arc::new(batch.table()?))
}

fn open(opening: &Opening) -> Result<Node> {
    let (task, folder) = (opening.task, opening.source);
    let root = folder.path().ok_or_else(|| Error::bug("a folder without a path"))?.to_owned();
    let all: Vec<(&Entry, Layout)> = batches(&opening.head.entries).collect();
    let mut nodes = Vec::new();
    for (split, is_test) in [("train", false), ("test", true)] {
        let files: Vec<&(&Entry, Layout)> =
            all.iter().filter(|(entry, _)| entry.name.starts_with("test") == is_test).collect();
        if files.is_empty() {
            continue;
        }
        let part = |(entry, layout): &&(&Entry, Layout)| {
            let (path, layout) = (root.join(&entry.name), *layout);
            let open = move |task: &Task| table(task, &path, layout);
            let rows = Rows::Exact(entry.bytes / layout.record());
            Part { rows: Some(rows), ..Part::new(entry.name.as_str(), entry.bytes, Box::new(open)) }
        };
        let joined = concat::join(task, files.iter().map(part).collect(), Vec::new(), Wanted::First)?;
        let nested = |(entry, _): &&(&Entry, Layout)| {
            let path = root.join(&entry.name);
            ALL.nested(entry.name.as_str(), "batch", Options::default(), move |task| {
                Source::open(task, &path)
            })
        };
        let node = Pictures::described(Node::new(split, "split"), &*joined.table);
        let mut node = node.content(Content::Table(joined.table));
        node.remarks = joined.differences;
        nodes.push(node.listed(files.iter().map(nested).collect()).parts());
    }
    Ok(Node::new(folder.name(), FORMAT.name).listed(nodes))
}
