//! Opening: source → head → format → tree. The one door for files named by the user and for files
//! found inside others.

use crate::bytes::display;
use crate::bytes::error::{Error, ErrorKind, Result, UnlessCancelled};
use crate::bytes::guard::guarded;
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::{Content, Table};
use crate::data::format::{Format, Formats, Opening, Options};
use crate::data::guard;
use crate::data::node::{Children, Node};
use crate::data::security::Report;
use crate::data::sniff::{self, Head, Verdict};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// An opened file or folder.
#[derive(Clone)]
pub struct Document {
    /// Its bytes.
    pub source: Source,
    /// What it was recognised as.
    pub format: &'static Format,
    /// The tree.
    pub root: Arc<Node>,
    /// What there is to say about the file as a whole.
    pub remarks: Vec<String>,
    /// The extension promises a format that the content is not (see [`sniff::Verdict`]).
    pub broken_promise: bool,
    /// What it was opened with.
    pub options: Options,
}

/// Where sources are opened, if that is not in this process.
pub(crate) trait Elsewhere: Send + Sync {
    /// Opens a source with formats of this list; `None` where it is to be opened here.
    fn open(&self, list: Formats, task: &Task, source: &Source, options: &Options) -> Opened;
    /// Opens several files as one table, where that is done elsewhere.
    fn together(&self, task: &Task, paths: &[PathBuf]) -> Opened;
}

/// Opens several files as one table, if that is done elsewhere.
pub(crate) fn together_elsewhere(task: &Task, paths: &[PathBuf]) -> Opened {
    ELSEWHERE.get()?.together(task, paths)
}

/// A document that was opened elsewhere, if it was.
pub(crate) type Opened = Option<Result<Document>>;

static ELSEWHERE: OnceLock<Box<dyn Elsewhere>> = OnceLock::new();

/// From now on sources are opened there. Only the first one counts.
pub(crate) fn open_elsewhere(place: impl Elsewhere + 'static) {
    let _ = ELSEWHERE.set(Box::new(place));
}

impl Formats {
    /// Opens a path. Options: `format` forces a format by its id; the rest are the format's own.
    pub fn open(self, task: &Task, path: &Path, options: &Options) -> Result<Document> {
        let source = Source::open(task, path)?;
        self.open_source(task, &source, options).map_err(|e| e.in_file(path.display()))
    }

    /// Opens a source.
    ///
    /// # Errors
    /// `Malformed` for an empty file and where the format's own header cannot be read; a panic in a
    /// parser ends as `Bug`.
    pub fn open_source(self, task: &Task, source: &Source, options: &Options) -> Result<Document> {
        if let Some(elsewhere) = ELSEWHERE.get()
            && let Some(document) = elsewhere.open(self, task, source, options)
        {
            return document;
        }
        self.open_here(task, source, options)
    }

    /// Opens a source in this process.
    fn open_here(self, task: &Task, source: &Source, options: &Options) -> Result<Document> {
        let head = guarded(|| Head::read(task, source, self))?;
        if !head.is_folder && head.first.is_empty() {
            let named =
                |format: &&&'static Format| format.may_be_empty && head.has_extension(format.extensions);
            let Some(format) = self.0.iter().find(named).copied() else {
                return Err(Error::malformed("file: it is empty (0 bytes)"));
            };
            let verdict = Verdict { format, remark: None, broken_promise: false };
            let mut document = opened(task, source, &head, verdict, options)?;
            document.remarks.push("the file is empty (0 bytes)".to_owned());
            return Ok(document);
        }
        if let Some(id) = options.get("format") {
            let format = self.by_id(id);
            let format = format.ok_or_else(|| Error::unsupported(format!("there is no format {id:?}")))?;
            let verdict = Verdict { format, remark: None, broken_promise: false };
            return opened(task, source, &head, verdict, options).map_err(|error| match error.kind() {
                ErrorKind::OtherFormat => Error::malformed(format!("it is no {}", format.name)),
                _ => error,
            });
        }
        let (mut others, mut remarks) = (Vec::new(), Vec::new());
        loop {
            let verdict = guarded(|| Ok(sniff::detect(&head, self, &others)))?;
            let verdict = verdict.ok_or_else(|| Error::bug("there is no format"))?;
            let format = verdict.format;
            match opened(task, source, &head, verdict, options) {
                Err(error) if error.kind() == ErrorKind::OtherFormat => {
                    others.push(format);
                    remarks.extend(Some(error.message()).filter(|remark| !remark.is_empty()));
                }
                Err(error) if error.is_cancelled() => return Err(error),
                Err(error) => {
                    // It cannot be read as what it seems to be; as what it is too it can.
                    let Some((other, _)) = self.disguised(task, source, &head, format)? else {
                        return Err(error);
                    };
                    let verdict =
                        Verdict { format: other, remark: Some(error.message()), broken_promise: false };
                    return opened(task, source, &head, verdict, options);
                }
                Ok(mut document) => {
                    document.remarks.extend(remarks);
                    if document.root.security.is_none()
                        && let Some((other, report)) = self.disguised(task, source, &head, format)?
                    {
                        let names: Vec<&str> = report.suspects.iter().map(String::as_str).take(8).collect();
                        let names = display::harmless(&names.join(", "), 400);
                        document.remarks.push(format!("loaded as a {} it would run {names}", other.name));
                        let root = Node { security: Some(Arc::new(report)), ..(*document.root).clone() };
                        document.root = Arc::new(root);
                    }
                    return Ok(document);
                }
            }
        }
    }

    /// What the bytes of a file would run where they are loaded as another format's than `known`, and that format.
    fn disguised(
        self,
        task: &Task,
        source: &Source,
        head: &Head,
        known: &Format,
    ) -> Result<Option<(&'static Format, Report)>> {
        if head.is_folder {
            return Ok(None);
        }
        for format in self.0.iter().filter(|format| format.id != known.id) {
            let Some(disguised) = format.disguised else { continue };
            if let Ok(Some(report)) = guarded(|| disguised(task, source, head)).unless_cancelled()? {
                return Ok(Some((format, report)));
            }
        }
        Ok(None)
    }

    /// Opens a nested file at once, as a node: used where the bytes are at hand (a decompressed file).
    /// A failure becomes the node's problem, and its bytes stay visible.
    pub fn nested_now(
        self,
        task: &Task,
        name: &str,
        label: &'static str,
        source: &Source,
        options: &Options,
    ) -> Result<Node> {
        let mut node = self.unwrapped(task, name, label, source, options)?;
        node.name = name.to_owned();
        if node.separator.is_empty() {
            node.separator = "/";
        }
        Ok(node)
    }

    /// The root of what lies in a wrapper (a compressed file), which is the root of the wrapper's own document. A
    /// failure becomes the problem of a node of this name, and the bytes stay visible.
    pub fn unwrapped(
        self,
        task: &Task,
        name: &str,
        label: &'static str,
        source: &Source,
        options: &Options,
    ) -> Result<Node> {
        match self.open_source(task, source, options).unless_cancelled()? {
            Ok(document) => {
                let mut node = (*document.root).clone();
                node.remarks.extend(document.remarks);
                node.recognised(document.format);
                Ok(node)
            }
            Err(error) => {
                let bytes = !source.is_folder()
                    && matches!(error.kind(), ErrorKind::Malformed | ErrorKind::Unsupported);
                let node = Node::new(name, label).problem(error);
                Ok(if bytes { node.content(Content::Bytes(source.clone())) } else { node })
            }
        }
    }

    /// A node for a file inside another (a zip member, an entry of a folder) that is opened when somebody
    /// looks into it. `make` gives its bytes then. The options are the file's own (see [`Options::below`]).
    pub fn nested(
        self,
        name: impl Into<String>,
        label: &'static str,
        options: Options,
        make: impl Fn(&Task) -> Result<Source> + Send + Sync + 'static,
    ) -> Node {
        Node::deferred(name, label, move |task| {
            let source = make(task)?;
            self.nested_now(task, source.name(), "file", &source, &options)
        })
    }
}

/// Opens a source as a format that is in no list.
#[cfg(test)]
pub(crate) fn open_as(
    task: &Task,
    source: &Source,
    format: &'static Format,
    options: &Options,
) -> Result<Document> {
    let head = Head::read(task, source, Formats(&[]))?;
    opened(task, source, &head, Verdict { format, remark: None, broken_promise: false }, options)
}

fn opened(
    task: &Task,
    source: &Source,
    head: &Head,
    verdict: Verdict,
    options: &Options,
) -> Result<Document> {
    source.grows(verdict.format.growth)?;
    let opening = Opening { task, source, head, options };
    let root = guarded(|| (verdict.format.open)(&opening))?;
    let root = guard::node(Node { name: source.name().to_owned(), ..root });
    Ok(Document {
        source: source.clone(),
        format: verdict.format,
        root: Arc::new(root),
        remarks: verdict.remark.into_iter().collect(),
        broken_promise: verdict.broken_promise,
        options: options.clone(),
    })
}

/// The table that a document is.
///
/// # Errors
/// Why it is none.
pub fn table_of(document: &Document) -> Result<Arc<dyn Table>> {
    match (&document.root.content, &document.root.problem) {
        (Some(Content::Table(table)), _) => Ok(table.clone()),
        (_, Some(problem)) => Err(problem.clone()),
        _ => Err(Error::unsupported(format!("{} is no table", document.format.name))),
    }
}

/// What is done at a node with its path and level; whether to go on below it.
pub type Visit<'a> = dyn FnMut(&Arc<Node>, &str, usize) -> Result<bool> + 'a;

/// The nodes at and below `node` with their paths, depth first, at most `depth` levels down and
/// [`limits::PRINTED`] children of each; `visit` answers whether to go on below it. It is a first look, which
/// leaves out the rest without a word: who must not miss anything takes [`walk_all`].
pub fn walk(task: &Task, node: &Arc<Node>, path: &str, depth: usize, visit: &mut Visit<'_>) -> Result<()> {
    Walk { task, depth, children: limits::PRINTED, left: u64::MAX }.at(node, path, 0, visit)
}

/// As [`walk`], with all children of each node. They are read by pages of [`limits::LISTED`], so that no more
/// of them are in memory at once.
///
/// # Errors
/// `Limit` where there are more than [`limits::WALKED`] nodes; so many were visited then.
pub fn walk_all(
    task: &Task,
    node: &Arc<Node>,
    path: &str,
    depth: usize,
    visit: &mut Visit<'_>,
) -> Result<()> {
    Walk { task, depth, children: u64::MAX, left: limits::WALKED }.at(node, path, 0, visit)
}

/// How a walk goes.
struct Walk<'a> {
    task: &'a Task,
    /// How many levels down.
    depth: usize,
    /// How many children of each node.
    children: u64,
    /// How many nodes it may still visit.
    left: u64,
}

impl Walk<'_> {
    fn at(&mut self, node: &Arc<Node>, path: &str, level: usize, visit: &mut Visit<'_>) -> Result<()> {
        self.task.check()?;
        let Some(left) = self.left.checked_sub(1) else {
            let most = display::count(limits::WALKED);
            return Err(Error::limit(format!("there are more than {most} nodes; name a part of them")));
        };
        self.left = left;
        if !visit(node, path, level)? || level >= self.depth || matches!(node.children, Children::None) {
            return Ok(());
        }
        let mut start: u64 = 0;
        loop {
            let end = start.saturating_add(limits::LISTED).min(self.children);
            let page = node.child_page(self.task, start..end)?;
            start += page.len() as u64;
            let whole = page.is_empty() || node.child_count().is_some_and(|count| start >= count);
            for child in page {
                let child = child.resolved(self.task)?;
                self.at(&child, &node.child_path(path, &child), level + 1, visit)?;
            }
            if whole || end == self.children {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::node::{Listing, page_of};
    use std::ops::Range;

    /// Numbers as nodes, in pages as containers give them.
    struct Numbers {
        count: u64,
        known: bool,
    }

    impl Listing for Numbers {
        fn count(&self) -> Option<u64> {
            self.known.then_some(self.count)
        }

        fn page(&self, task: &Task, range: Range<u64>) -> Result<Vec<Arc<Node>>> {
            let child = |n: u64| Ok(Some(Arc::new(Node::new(n.to_string(), "number"))));
            page_of(task, range, Some(self.count), child)
        }
    }

    fn numbers(count: u64, known: bool) -> Arc<Node> {
        Arc::new(Node::new("numbers", "group").lazy(Numbers { count, known }))
    }

    #[test]
    fn a_folder_that_cannot_be_opened_has_no_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let table = folder.path().join("table");
        std::fs::create_dir_all(table.join("metadata")).unwrap();
        std::fs::write(table.join("metadata/v1.metadata.json"), b"{\"format-version\": 2, \"table-uuid\":")
            .unwrap();
        let source = Source::open(&Task::new(), &table).unwrap();
        let options =
            Options(std::collections::BTreeMap::from([("format".to_owned(), "iceberg".to_owned())]));
        let node =
            crate::formats::ALL.nested_now(&Task::new(), "table", "folder", &source, &options).unwrap();
        assert!(node.problem.is_some() && node.content.is_none(), "{:?}", node.problem);
    }

    #[test]
    fn all_children_are_walked_page_by_page() {
        for (count, known) in [(0, true), (1_500, true), (2 * limits::LISTED, false), (25_000, false)] {
            let (mut seen, mut last) = (0, String::new());
            let mut visit = |_: &Arc<Node>, path: &str, _: usize| {
                seen += 1;
                path.clone_into(&mut last);
                Ok(true)
            };
            walk_all(&Task::new(), &numbers(count, known), "", usize::MAX, &mut visit).unwrap();
            assert_eq!(seen, 1 + count);
            assert_eq!(last, count.checked_sub(1).map_or(String::new(), |n| format!("/{n}")));
        }
        let mut seen = 0;
        let mut visit = |_: &Arc<Node>, _: &str, _: usize| {
            seen += 1;
            Ok(true)
        };
        walk(&Task::new(), &numbers(1_500, true), "", 1, &mut visit).unwrap();
        assert_eq!(seen, 1 + limits::PRINTED);
    }

    #[test]
    fn a_walk_ends_at_its_limit_and_when_it_is_cancelled() {
        let task = Task::new();
        let mut seen = 0;
        let mut visit = |_: &Arc<Node>, _: &str, _: usize| {
            seen += 1;
            Ok(true)
        };
        let mut few = Walk { task: &task, depth: 1, children: u64::MAX, left: 100 };
        let error = few.at(&numbers(200, true), "", 0, &mut visit).unwrap_err();
        assert_eq!((error.kind(), seen), (ErrorKind::Limit, 100));
        let mut seen = 0;
        let mut visit = |_: &Arc<Node>, _: &str, _: usize| {
            seen += 1;
            if seen == 7 {
                task.cancel();
            }
            Ok(true)
        };
        let error = walk_all(&task, &numbers(200, true), "", 1, &mut visit).unwrap_err();
        assert!(error.is_cancelled() && seen == 7);
    }
}
