//! Zarr: arrays in chunks under keys of a store — a folder or a ZIP archive — with JSON beside them, in
//! groups. Versions 2 and 3: <https://zarr-specs.readthedocs.io/>.
//!
//! Opening reads metadata documents only, those of a group's children when somebody looks. What the codecs
//! demand that would have to be run (pickles) is named and never run.

mod array;
mod chain;
mod chunks;
mod codec;
mod dtype;
mod fill;
mod filters;
mod items;
mod json;
mod meta;
mod msgpack;
mod ome;
mod pco;
mod python;
mod store;
#[cfg(test)]
mod tests;
mod transpose;
mod tree;
mod uneven;
pub mod write;

use crate::bytes::error::Result;
use crate::data::content::Kind;
use crate::data::format::{Format, Opening, Target};
use crate::data::node::Node;
use crate::data::sniff::{Head, Match};

/// The most dimensions of an array.
const DIMENSIONS: usize = 64;

/// The descriptor.
pub static FORMAT: Format = Format {
    extensions: &["zarr", "zarr.zip", "zip"],
    sniff: Some(sniff),
    reads: &[Kind::Array, Kind::Image],
    targets: &[
        Target { folder: true, ..Target::new("zarr", "Zarr", &["zarr"], &write::WRITER) },
        Target::new("zarr-zip", "Zarr in a ZIP archive", &["zarr.zip"], &write::WRITER),
    ],
    ..Format::new("zarr", "Zarr", open)
};

/// The documents that make a folder a node.
const DOCUMENTS: [&str; 4] = ["zarr.json", ".zgroup", ".zarray", ".zmetadata"];

fn sniff(head: &Head) -> Match {
    let named = head.has_extension(&["zarr"]);
    if head.is_folder {
        let is_node = head.entries.iter().any(|e| !e.is_folder && DOCUMENTS.contains(&e.name.as_str()));
        let holds_folders = || head.entries.iter().any(|entry| entry.is_folder);
        return if is_node || named && holds_folders() { Match::Yes } else { Match::No };
    }
    if !head.starts_with(b"PK\x03\x04") {
        return Match::No;
    }
    if named || head.has_extension(&["zarr.zip"]) || is_zipped(head) { Match::Yes } else { Match::No }
}

/// Whether the names of a ZIP archive's members are those of a hierarchy: a document at the root, or in the
/// one folder that everything is in.
fn is_zipped(head: &Head) -> bool {
    let first = local_name(&head.first);
    if first.is_some_and(is_document) {
        return true;
    }
    let names = listed_names(&head.last);
    if names.iter().any(|name| is_document(name)) {
        return true;
    }
    let Some(folder) = first.and_then(|name| name.split(|&b| b == b'/').next()) else { return false };
    let documents = first.iter().chain(&names).any(|name| inside(folder, name).is_some_and(is_document));
    documents && names.iter().all(|name| inside(folder, name).is_some())
}

/// What follows a folder and a slash in a name.
fn inside<'a>(folder: &[u8], name: &'a [u8]) -> Option<&'a [u8]> {
    name.strip_prefix(folder)?.strip_prefix(b"/")
}

fn is_document(name: &[u8]) -> bool {
    DOCUMENTS.iter().any(|document| name == document.as_bytes())
}

/// The name in the local header at the start.
fn local_name(first: &[u8]) -> Option<&[u8]> {
    let len = first.get(26..28)?.first_chunk().map(|b| usize::from(u16::from_le_bytes(*b)))?;
    first.get(30..30 + len)
}

/// The names of the directory's entries that stand in the end of the file.
fn listed_names(last: &[u8]) -> Vec<&[u8]> {
    let name = |at: usize| {
        let entry = last.get(at..)?;
        let len = entry.get(28..30)?.first_chunk().map(|b| usize::from(u16::from_le_bytes(*b)))?;
        entry.get(46..46 + len)
    };
    memchr::memmem::find_iter(last, b"PK\x01\x02").filter_map(name).collect()
}

fn open(opening: &Opening) -> Result<Node> {
    let store = store::Store::open(opening.task, opening.source)?;
    let problem = store.problem();
    let hierarchy = tree::Hierarchy::new(store);
    let mut node = tree::node(opening.task, &hierarchy, "", opening.source.name())?;
    node.problem = node.problem.or(problem);
    Ok(node)
}
