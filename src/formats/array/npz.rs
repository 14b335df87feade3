//! NPZ: a ZIP archive whose members are NPY files, as `np.savez` writes it. A member `x.npy` is the
//! array `x`; other members (SciPy's and other people's additions) are opened as what they are.
//! <https://numpy.org/doc/stable/reference/generated/numpy.savez.html>

pub mod write;

use crate::bytes::archive::zip::{Archive, Member};
use crate::bytes::error::Result;
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::content::Kind;
use crate::data::format::{Format, Opening, Target};
use crate::data::node::{Listing, Node, page_of};
use crate::data::sniff::{Head, Match};
use crate::engines::members::{ArchivePlaces, MemberPlace};
use std::ops::Range;
use std::sync::Arc;

/// The descriptor.
pub static FORMAT: Format = Format {
    extensions: &["npz"],
    sniff: Some(sniff),
    reads: &[Kind::Array],
    targets: &[Target::new("npz", "NumPy archive", &["npz"], &write::WRITER)],
    ..Format::new("npz", "NumPy archive", open)
};

/// A ZIP archive that is called so, or whose first member is an array.
fn sniff(head: &Head) -> Match {
    let empty = head.starts_with(b"PK\x05\x06");
    if head.is_folder || !(empty || head.starts_with(b"PK\x03\x04")) {
        return Match::No;
    }
    let first_is_array = head.zip().is_some_and(|zip| zip.first.ends_with(".npy"));
    if first_is_array || head.has_extension(FORMAT.extensions) { Match::Yes } else { Match::No }
}

fn open(opening: &Opening) -> Result<Node> {
    let archive = Archive::open(opening.task, opening.source)?;
    let mut root = Node::new("", "file").separator("");
    root.problem = archive.problem.clone();
    if !archive.comment.is_empty() {
        root = root.attribute("comment", archive.comment.clone());
    }
    let name = |member: &Member| member.name.strip_suffix(".npy").unwrap_or(&member.name).to_owned();
    root = root.placed(ArchivePlaces { archive: archive.clone(), name });
    let members = Members { indices: array_order(&archive), archive };
    let count = members.indices.len() as u64;
    Ok(if count <= limits::LISTED {
        root.listed((0..count).filter_map(|n| members.node(n)).collect())
    } else {
        root.lazy(members)
    })
}

/// The members that are files, in the order of the directory.
fn array_order(archive: &Archive) -> Vec<u32> {
    let files = archive.members.iter().zip(0u32..).filter(|(member, _)| !member.is_folder());
    files.map(|(_, index)| index).collect()
}

/// The members of a large archive, by pages.
struct Members {
    archive: Archive,
    /// Which of the archive's members are listed.
    indices: Vec<u32>,
}

impl Members {
    fn node(&self, n: u64) -> Option<Node> {
        let index = *self.indices.get(usize::try_from(n).ok()?)?;
        let member = self.archive.members.get(index as usize)?;
        Some(node(&self.archive, member))
    }
}

impl Listing for Members {
    fn count(&self) -> Option<u64> {
        Some(self.indices.len() as u64)
    }

    fn page(&self, task: &Task, range: Range<u64>) -> Result<Vec<Arc<Node>>> {
        page_of(task, range, self.count(), |n| Ok(self.node(n).map(Arc::new)))
    }
}

/// A member, opened when somebody looks into it.
fn node(archive: &Archive, member: &Member) -> Node {
    let name = member.name.strip_suffix(".npy").unwrap_or(&member.name);
    let place = MemberPlace { archive: archive.clone(), member: member.clone() };
    let (archive, member) = (archive.clone(), member.clone());
    let label = if name.len() < member.name.len() { "array" } else { "member" };
    crate::formats::ALL
        .nested(name.to_owned(), label, crate::data::format::Options::default(), move |task| {
            archive.read(task, &member)
        })
        .placed(place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::content::Content;
    use crate::data::format::Options;
    use crate::data::open::Document;
    use std::path::Path;

    fn opened(name: &str) -> Document {
        let path = format!("{}/fixtures/npz/{name}.npz", env!("CARGO_MANIFEST_DIR"));
        crate::open(&Task::new(), Path::new(&path), &Options::default()).unwrap()
    }

    /// The members and their types, or their problems.
    fn members(document: &Document) -> Vec<(String, String)> {
        let task = Task::new();
        let children = document.root.child_page(&task, 0..100).unwrap();
        let resolved = children.iter().map(|node| node.resolved(&task).unwrap());
        resolved
            .map(|node| {
                let what = match (&node.problem, &node.content) {
                    (Some(problem), _) => problem.message(),
                    (_, Some(Content::Array(array))) => format!("{} {:?}", array.dtype(), array.shape()),
                    (_, Some(content)) => content.kind().word().to_owned(),
                    _ => "group".to_owned(),
                };
                (node.name.clone(), what)
            })
            .collect()
    }

    #[test]
    fn members_are_arrays_under_their_names() {
        for name in ["stored", "deflated", "bzip2"] {
            let document = opened(name);
            assert_eq!(document.format.id, "npz");
            let found = members(&document);
            assert!(found.iter().any(|(name, _)| name == "weights" || name == "x"), "{found:?}");
            assert!(found.iter().all(|(_, what)| what.contains('[')), "{found:?}");
        }
        let found = members(&opened("names_with_slashes"));
        assert!(found.iter().any(|(name, _)| name.contains('/')), "{found:?}");
        assert!(members(&opened("no_arrays")).is_empty());
    }

    #[test]
    fn a_bad_member_leaves_its_neighbours() {
        let found = members(&opened("malformed/one_bad_member"));
        let bad: Vec<&str> =
            found.iter().filter(|(_, w)| w.contains("malformed")).map(|(n, _)| n.as_str()).collect();
        assert_eq!((found.len(), bad), (3, vec!["bad"]), "{found:?}");
    }

    #[test]
    fn a_path_finds_its_array() {
        let document = opened("stored");
        let node = document.root.find(&Task::new(), "weights").unwrap().unwrap();
        assert_eq!(node.name, "weights");
        assert!(matches!(node.content, Some(Content::Array(_))));
    }
}
