//! N5: arrays in blocks, each a file in folders that its coordinates name, with `attributes.json` beside
//! them, in groups. <https://github.com/saalfeldlab/n5#file-system-specification>
//!
//! N5 names its dimensions from the fastest on; they are delivered the other way round, slowest first, as
//! Zarr's N5 store and z5py give them. Blocks are big-endian.

mod attributes;
mod block;
#[cfg(test)]
mod tests;
mod tree;
mod write;

use crate::bytes::error::{Error, Result};
use crate::data::content::Kind;
use crate::data::format::{Format, Opening, Target};
use crate::data::node::Node;
use crate::data::sniff::{Head, Match};
use tree::Hierarchy;

/// The document of a group or array.
const DOCUMENT: &str = "attributes.json";

/// The descriptor.
pub static FORMAT: Format = Format {
    extensions: &["n5"],
    sniff: Some(sniff),
    reads: &[Kind::Array],
    targets: &[Target::new("n5", "N5", &["n5"], &write::WRITER)],
    ..Format::new("n5", "N5", open)
};

/// A folder with the document, or one that is named so; `open` looks into it.
fn sniff(head: &Head) -> Match {
    let has_document = head.entries.iter().any(|entry| !entry.is_folder && entry.name == DOCUMENT);
    let named = head.has_extension(&["n5"]) && head.entries.iter().any(|entry| entry.is_folder);
    if head.is_folder && (has_document || named) { Match::Yes } else { Match::No }
}

fn open(opening: &Opening) -> Result<Node> {
    let store = Hierarchy::open(opening.task, opening.source)?;
    if !opening.head.has_extension(&["n5"]) && !store.is_n5(opening.task)? {
        // Some other folder with a file of that name.
        return Err(Error::other_format(""));
    }
    store.root(opening.task, opening.source.name())
}
