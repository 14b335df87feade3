//! Opening: source → head → format → tree. The one door for files named by the user and for files
//! found inside others.

use crate::concat::{self, Part};
use crate::content::{Content, Table};
use crate::error::{Error, ErrorKind, Result};
use crate::format::{Format, Opening, Options};
use crate::formats;
use crate::limits;
use crate::node::{Children, Node};
use crate::sniff::{self, Head};
use crate::source::Source;
use crate::task::Task;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::Once;

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

/// Opens a path. Options: `format` forces a format by its id; the rest are the format's own.
pub fn open(task: &Task, path: &Path, options: &Options) -> Result<Document> {
    let source = Source::open(task, path)?;
    open_source(task, &source, options).map_err(|e| e.in_file(path.display()))
}

/// Opens a source.
///
/// # Errors
/// `Malformed` for an empty file and where the format's own header cannot be read; a panic in a
/// parser ends as `Bug`.
pub fn open_source(task: &Task, source: &Source, options: &Options) -> Result<Document> {
    let head = Head::read(task, source)?;
    if !head.is_folder && head.first.is_empty() {
        return Err(Error::malformed("file: it is empty (0 bytes)"));
    }
    let mut verdict = sniff::detect(&head);
    if let Some(id) = options.get("format") {
        verdict.format =
            formats::by_id(id).ok_or_else(|| Error::unsupported(format!("there is no format {id:?}")))?;
        verdict.remark = None;
        verdict.broken_promise = false;
    }
    let opening = Opening { task, source, head: &head, options };
    let root = guarded(|| (verdict.format.open)(&opening))?;
    let root = Node { name: source.name().to_owned(), ..root };
    // Files that only looked like the parts of one table are a folder of files.
    let plain = verdict.format.id == "dataset" && root.label == "folder";
    let folder = formats::by_id("folder").filter(|_| plain);
    Ok(Document {
        source: source.clone(),
        format: folder.unwrap_or(verdict.format),
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

/// Opens several files or folders as one table, one after the other in the order given (files that were
/// dropped together). Their columns must be the same, or fit; how they differ stands in the remarks.
///
/// # Errors
/// `Unsupported` where one of them is no table or fits nothing of the first; else what opening gives.
pub fn together(task: &Task, paths: &[PathBuf]) -> Result<Document> {
    let [first, ..] = paths else { return Err(Error::bug("no files were given")) };
    let mut parts = Vec::new();
    for path in paths {
        let place = path.clone();
        let make = move |task: &Task| table_of(&open(task, &place, &Options::default())?);
        let bytes = Source::open(task, path)?.known_len().unwrap_or(0);
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        parts.push(Part::new(name, bytes, Box::new(make)));
    }
    let names: Vec<String> = parts.iter().map(|part| part.name.clone()).collect();
    let joined = concat::tables(task, parts, Vec::new())?;
    if joined.fitting < joined.opened {
        let why = joined.differences.join("; ");
        return Err(Error::unsupported(format!("these files are not one table: {why}")));
    }
    let source = Source::open(task, first)?;
    let title = format!("{} and {} more", source.name(), names.len() - 1);
    let child = |(path, name): (&PathBuf, &String)| {
        let path = path.clone();
        nested(name.as_str(), "file", move |task| Source::open(task, &path))
    };
    let children = paths.iter().zip(&names).map(child).collect();
    let mut root = Node::new(title, "files").content(Content::Table(joined.table)).listed(children);
    root.remarks = joined.differences;
    let format = formats::by_id("dataset").ok_or_else(|| Error::bug("there is no format for datasets"))?;
    Ok(Document {
        source,
        format,
        root: Arc::new(root),
        remarks: Vec::new(),
        broken_promise: false,
        options: Options::default(),
    })
}

/// Runs a parser; a panic in it becomes an error.
pub fn guarded<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    caught(work, |words| Error::bug(format!("a parser panicked: {words}")))
}

/// The same for decoders that are not ours and that panic on bytes which break their format's rules:
/// a panic says that `what` (the footer, a column) is malformed.
pub fn distrusted<T>(what: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    hush();
    let outer = FORESEEN.replace(true);
    let result = caught(work, |words| Error::malformed(format!("{what} cannot be decoded: {words}")));
    FORESEEN.set(outer);
    result
}

/// What an unwrapped error says at its heart; the places in the decoder's source around it help nobody.
fn innermost(words: &str) -> &str {
    let inner = words.split_once("error: \"").and_then(|(_, rest)| rest.split('"').next());
    inner.unwrap_or_else(|| words.split(", location: ").next().unwrap_or(words))
}

thread_local! {
    /// Whether a panic on this thread is foreseen: it becomes an error, and nobody wants its trace.
    static FORESEEN: Cell<bool> = const { Cell::new(false) };
}

/// Leaves foreseen panics out of what is printed.
fn hush() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !FORESEEN.get() {
                before(info);
            }
        }));
    });
}

fn caught<T>(work: impl FnOnce() -> Result<T>, error: impl FnOnce(&str) -> Error) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        Err(error(text.as_deref().map_or("the decoder gave up without words", innermost)))
    })
}

/// A node for a file inside another (a zip member, an entry of a folder) that is opened when somebody
/// looks into it. `make` gives its bytes then.
pub fn nested(
    name: impl Into<String>,
    label: &'static str,
    make: impl Fn(&Task) -> Result<Source> + Send + Sync + 'static,
) -> Node {
    nested_with(name, label, Options::default(), make)
}

/// The same with options of the file's own (see [`Options::below`]).
pub fn nested_with(
    name: impl Into<String>,
    label: &'static str,
    options: Options,
    make: impl Fn(&Task) -> Result<Source> + Send + Sync + 'static,
) -> Node {
    Node::deferred(name, label, move |task| {
        let source = make(task)?;
        nested_now(task, source.name(), "file", &source, &options)
    })
}

/// Opens a nested file at once, as a node: used where the bytes are at hand (a decompressed file).
/// A failure becomes the node's problem, and its bytes stay visible.
pub fn nested_now(
    task: &Task,
    name: &str,
    label: &'static str,
    source: &Source,
    options: &Options,
) -> Result<Node> {
    match open_source(task, source, options) {
        Ok(document) => {
            let mut node = (*document.root).clone();
            node.name = name.to_owned();
            if node.separator.is_empty() {
                node.separator = "/";
            }
            node.remarks.extend(document.remarks);
            let format = document.format;
            node.attributes.insert(0, ("format".to_owned(), format.name.into()));
            Ok(node)
        }
        Err(error) if error.is_cancelled() => Err(error),
        Err(error) => {
            let bytes = matches!(error.kind(), ErrorKind::Malformed | ErrorKind::Unsupported);
            let node = Node::new(name, label).problem(error);
            Ok(if bytes { node.content(Content::Bytes(source.clone())) } else { node })
        }
    }
}

/// What is done at a node with its path and level; whether to go on below it.
pub type Visit<'a> = dyn FnMut(&Arc<Node>, &str, usize) -> Result<bool> + 'a;

/// All nodes at and below `node` with their paths, depth first, at most `depth` levels down and
/// [`limits::PRINTED`] children of each; `visit` answers whether to go on below it.
pub fn walk(task: &Task, node: &Arc<Node>, path: &str, depth: usize, visit: &mut Visit<'_>) -> Result<()> {
    walk_level(task, node, path, 0, depth, visit)
}

fn walk_level(
    task: &Task,
    node: &Arc<Node>,
    path: &str,
    level: usize,
    depth: usize,
    visit: &mut Visit<'_>,
) -> Result<()> {
    task.check()?;
    if !visit(node, path, level)? || level >= depth || matches!(node.children, Children::None) {
        return Ok(());
    }
    for child in node.child_page(task, 0..limits::PRINTED)? {
        let child = child.resolved(task)?;
        walk_level(task, &child, &node.child_path(path, &child), level + 1, depth, visit)?;
    }
    Ok(())
}
