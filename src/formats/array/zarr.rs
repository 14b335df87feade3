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
mod offsets;
mod ome;
mod pco;
mod python;
#[cfg(test)]
mod tests;
mod tree;
mod uneven;
pub mod write;

use crate::bytes::error::Result;
use crate::data::content::Kind;
use crate::data::format::{Format, Opening, Target};
use crate::data::node::Node;
use crate::data::sniff::{Head, Match, zip};
use crate::engines::keys::Store;

/// The most dimensions of an array.
const DIMENSIONS: usize = 64;

/// The descriptor.
pub static FORMAT: Format = Format {
    extensions: &["zarr", "zarr.zip", "zip"],
    sniff: Some(sniff),
    reads: &[Kind::Array, Kind::Image],
    targets: &[
        Target::new("zarr", "Zarr", &["zarr"], &write::WRITER),
        Target::new("zarr-zip", "Zarr in a ZIP archive", &["zarr.zip"], &write::ZIP),
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
    let is_zarr = |zip| named || head.has_extension(&["zarr.zip"]) || is_zipped(zip);
    if head.zip().is_some_and(is_zarr) { Match::Yes } else { Match::No }
}

/// Whether the names of a ZIP archive's members are those of a hierarchy: a document at the root, or in the
/// one folder that everything is in.
fn is_zipped(zip: &zip::Peek) -> bool {
    if zip.names().any(is_document) {
        return true;
    }
    let Some(folder) = zip.first.split('/').next() else { return false };
    let inside =
        |name: &str| name.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/')).map(is_document);
    zip.names().any(|name| inside(name) == Some(true)) && zip.listed.iter().all(|name| inside(name).is_some())
}

fn is_document(name: &str) -> bool {
    DOCUMENTS.contains(&name)
}

fn open(opening: &Opening) -> Result<Node> {
    let store = Store::open(opening.task, opening.source)?;
    let problem = store.problem();
    let hierarchy = tree::Hierarchy::new(store);
    let mut node = tree::node(opening.task, &hierarchy, "", opening.source.name())?;
    node.problem = node.problem.or(problem);
    Ok(node)
}
