//! Any folder: its files and folders as a tree, each opened when somebody looks into it.
//!
//! A folder that the user opens and in which nothing is of a format that Gander knows is a problem, said in
//! a sentence; its files are listed all the same. Folders inside it are not searched: they are part of what
//! was opened.

use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::source::{Entry, Source};
use crate::bytes::task::Task;
use crate::data::format::{Format, Opening, Options};
use crate::data::node::{Listing, Node, page_of};

use crate::data::sniff::{self, Head, Match};
use crate::engines::multifile::concat::partition;
use crate::formats::{self, FORMATS};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// How many files are looked at to find one of a known format.
const LOOKED_AT: u64 = 1_000;
/// How many folders deep that goes.
const LOOKED_INTO: u32 = 2;

/// The descriptor.
pub static FORMAT: Format =
    Format { extensions: &[], sniff: Some(sniff), ..Format::new("folder", "Folder", open) };

fn sniff(head: &Head) -> Match {
    if head.is_folder { Match::Yes } else { Match::No }
}

fn open(opening: &Opening) -> Result<Node> {
    let folder = opening.source;
    let mut entries = opening.head.entries.clone();
    if entries.is_empty() {
        return Err(Error::malformed("folder: it is empty"));
    }
    let mut search = Search { left: LOOKED_AT, files: 0 };
    let known = search.finds(opening.task, folder, &entries, 0)?;
    hidden_last(&mut entries);
    let mut node = Node::new(folder.name(), "folder").lazy(Entries {
        folder: folder.clone(),
        entries,
        options: opening.options.clone(),
    });
    if !known {
        let more = if search.left == 0 { "the first " } else { "" };
        node.problem = Some(Error::unsupported(format!(
            "nothing in this folder is of a format that Gander knows; looked at {more}{}",
            crate::bytes::display::plural(search.files, "file")
        )));
    }
    Ok(node)
}

/// Hidden files last; the sort is stable, so natural order holds in both parts.
fn hidden_last(entries: &mut [Entry]) {
    entries.sort_by_key(|entry| entry.name.starts_with('.'));
}

/// The search for anything that is worth opening the folder for.
struct Search {
    left: u64,
    files: u64,
}

impl Search {
    /// Whether one of the entries, or one below, is of a known format. Names first: they cost
    /// nothing.
    fn finds(&mut self, task: &Task, folder: &Source, entries: &[Entry], depth: u32) -> Result<bool> {
        if entries.iter().any(|e| !e.is_folder && e.bytes > 0 && has_known_name(&e.name)) {
            return Ok(true);
        }
        for entry in entries.iter().filter(|e| !e.is_folder) {
            if self.left == 0 {
                return Ok(false);
            }
            self.left -= 1;
            self.files += 1;
            task.check()?;
            if entry.bytes > 0 && has_known_head(task, folder, &entry.name)? {
                return Ok(true);
            }
        }
        if depth >= LOOKED_INTO {
            return Ok(false);
        }
        for entry in entries.iter().filter(|e| e.is_folder) {
            if self.left == 0 {
                return Ok(false);
            }
            self.left -= 1;
            let Ok(inner) = enter(task, folder, &entry.name) else { continue };
            let Ok(head) = formats::head(task, &inner).unless_cancelled()? else { continue };
            // Folders in a folder are a table or not: that shows only inside.
            let certain = formats::detect(&head).format.id != FORMAT.id && !partition::are_levels(&head);
            if certain || self.finds(task, &inner, &head.entries, depth + 1)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Whether a name ends like a format that Gander reads.
fn has_known_name(name: &str) -> bool {
    FORMATS.iter().any(|format| is_worth(format) && sniff::has_extension(name, format.extensions))
}

/// Whether a file's first bytes are of a format that Gander reads.
fn has_known_head(task: &Task, folder: &Source, name: &str) -> Result<bool> {
    let head = Source::open(task, &place(folder, name)?).and_then(|file| formats::head(task, &file));
    Ok(head.unless_cancelled()?.is_ok_and(|head| is_worth(formats::detect(&head).format)))
}

/// Whether something of this format can be more than looked at as bytes.
fn is_worth(format: &Format) -> bool {
    !matches!(format.id, "bytes" | "known" | "folder")
}

/// The place of an entry. Links are followed wherever they lead, as far as this process may: they are the user's own (model
/// caches consist of them), not words in a file.
fn place(folder: &Source, name: &str) -> Result<std::path::PathBuf> {
    let path = folder.path().ok_or_else(|| Error::bug("a folder without a path"))?;
    Ok(path.join(name))
}

/// Opens a folder in a folder, unless it is a link back up.
fn enter(task: &Task, folder: &Source, name: &str) -> Result<Source> {
    let path = place(folder, name)?;
    let real = |p: &Path| std::fs::canonicalize(p).ok();
    if let (Some(outer), Some(inner)) = (folder.path().and_then(real), real(&path))
        && outer.starts_with(&inner)
    {
        return Err(Error::unsupported(format!("{name:?} is a link to a folder that it lies in itself")));
    }
    Source::open(task, &path)
}

/// The entries as children.
struct Entries {
    folder: Source,
    entries: Vec<Entry>,
    /// Those of files in it.
    options: Options,
}

impl Entries {
    fn node(&self, entry: &Entry) -> Arc<Node> {
        let (folder, name) = (self.folder.clone(), entry.name.clone());
        let options = self.options.below(&name);
        if entry.is_folder {
            let make = move |task: &Task| inner(task, &folder, &name, &options);
            return Arc::new(Node::deferred(entry.name.as_str(), "folder", make));
        }
        let make = move |task: &Task| Source::open(task, &place(&folder, &name)?);
        Arc::new(crate::formats::ALL.nested(entry.name.as_str(), "file", options, make).span(0..entry.bytes))
    }
}

impl Listing for Entries {
    fn count(&self) -> Option<u64> {
        Some(self.entries.len() as u64)
    }

    fn page(&self, task: &Task, range: Range<u64>) -> Result<Vec<Arc<Node>>> {
        page_of(task, range, self.count(), |n| Ok(self.entries.get(n as usize).map(|entry| self.node(entry))))
    }

    fn find(&self, _task: &Task, name: &str) -> Result<Option<Arc<Node>>> {
        Ok(self.entries.iter().find(|e| e.name == name).map(|e| self.node(e)))
    }
}

/// A folder in a folder: as what it is, or as its files.
fn inner(task: &Task, folder: &Source, name: &str, options: &Options) -> Result<Node> {
    let source = enter(task, folder, name)?;
    let mut head = formats::head(task, &source)?;
    if formats::detect(&head).format.id != FORMAT.id {
        return formats::ALL.nested_now(task, name, "folder", &source, options);
    }
    let mut entries = std::mem::take(&mut head.entries);
    hidden_last(&mut entries);
    let node = Node::new(name, "folder");
    let node = if entries.is_empty() { node.remark("it is empty") } else { node };
    Ok(node.lazy(Entries { folder: source, entries, options: options.clone() }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::format::Options;

    fn names(node: &Arc<Node>) -> Vec<String> {
        let page = node.child_page(&Task::new(), 0..1000).unwrap();
        page.iter().map(|node| node.name.clone()).collect()
    }

    #[test]
    fn order_hidden_files_and_loops() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        for name in ["p10.csv", "p2.csv", ".a.csv", "b.bin", "z.npy"] {
            std::fs::write(path.join(name), b"a,b\n1,2\n").unwrap();
        }
        std::fs::create_dir(path.join("inner")).unwrap();
        std::os::unix::fs::symlink("..", path.join("inner/up")).unwrap();
        std::os::unix::fs::symlink("nowhere", path.join("gone")).unwrap();
        let task = Task::new();
        let document = crate::open(&task, path, &Options::default()).unwrap();
        assert_eq!(document.format.id, "folder");
        let expected = ["b.bin", "gone", "inner", "p2.csv", "p10.csv", "z.npy", ".a.csv"];
        assert_eq!(names(&document.root), expected);
        let up = document.root.find(&task, "/inner/up").unwrap().unwrap();
        assert!(
            up.problem.as_ref().is_some_and(|p| p.message().contains("lies in itself")),
            "{:?}",
            up.problem
        );
        let gone = document.root.find(&task, "/gone").unwrap().unwrap();
        assert!(
            gone.problem.as_ref().is_some_and(|p| p.message().contains("no such file")),
            "{:?}",
            gone.problem
        );
        let mut visited = 0;
        let mut visit = |_: &Arc<Node>, _: &str, _| {
            visited += 1;
            Ok(true)
        };
        crate::data::open::walk(&task, &document.root, "", 100, &mut visit).unwrap();
        assert!(visited < 30);
    }

    #[test]
    fn a_folder_without_anything_known_says_so_and_lists_it() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("x.dat"), [0, 1, 2, 255]).unwrap();
        std::fs::create_dir(folder.path().join("inner")).unwrap();
        let task = Task::new();
        let document = crate::open(&task, folder.path(), &Options::default()).unwrap();
        let problem = document.root.problem.as_ref().unwrap().message();
        assert!(problem.contains("nothing in this folder") && problem.contains("1 file"), "{problem}");
        assert_eq!(names(&document.root), ["inner", "x.dat"]);
        let inner = document.root.find(&task, "/inner").unwrap().unwrap();
        assert!(inner.problem.is_none() && !inner.remarks.is_empty());
        std::fs::write(folder.path().join("inner/t.csv"), "a,b\n1,2\n3,4\n").unwrap();
        let document = crate::open(&task, folder.path(), &Options::default()).unwrap();
        assert!(document.root.problem.is_none());
    }
}
