//! Which tables there are, by which names, and the files that a statement names in quotes.

use super::diagnostic::{Failure, SqlDiagnostic, nearest};
use super::glob;
use crate::bytes::display::natural_order;
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::adapt::{ArrayTable, TypeMismatch, Typed};
use crate::data::content::{Content, Rows, Table};
use crate::data::format::Options;
use crate::data::node::Node;
use crate::data::open::{self, Document};
use crate::data::parameters::{Parameters, Tensors};
use crate::engines::multifile::concat::partition;
use arrow::datatypes::DataType;
use parking_lot::{Mutex, RwLock};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

/// The most tables of one document.
const TABLES: usize = 2_000;
/// How deep tables are looked for in a document.
const DEEP: usize = 6;

/// The name of the table of a model's tensors, where nothing in the file is called so.
const PARAMETERS: &str = "parameters";

/// How many of the nodes below a table are looked at for further tables.
const BESIDE: u64 = 32;

/// A table as completion and lists show it.
#[derive(Clone, Debug)]
pub struct Registered {
    /// Its name; statements write it in double quotes where it is not a plain word.
    pub name: String,
    /// Names and types of its columns, as a statement sees them.
    pub columns: Vec<(String, DataType)>,
    /// How many rows, as far as is known.
    pub rows: Rows,
}

/// A table and what is known of its columns of text.
#[derive(Clone)]
pub(super) struct Entry {
    pub(super) name: String,
    aliases: Vec<String>,
    pub(super) table: Arc<dyn Table>,
    /// Columns whose guessed type did not hold.
    pub(super) type_overrides: TypeOverrides,
}

/// Columns whose guessed type did not hold, with a wider one; shared by the queries of a table.
pub(super) type TypeOverrides = Arc<Mutex<BTreeMap<usize, TypeMismatch>>>;

impl Entry {
    fn new(name: String, table: Arc<dyn Table>, aliases: &[String]) -> Self {
        Entry { name, aliases: aliases.to_vec(), table, type_overrides: Arc::default() }
    }

    /// The table with its columns of text as the types that were guessed, lists and structs too.
    pub(super) fn typed(&self) -> (Arc<dyn Table>, Option<Arc<Typed>>) {
        if !self.table.is_inferred() {
            return (self.table.clone(), None);
        }
        let typed = Arc::new(Typed::nested(self.table.clone(), &self.type_overrides.lock()));
        (typed.clone(), Some(typed))
    }

    fn is_called(&self, name: &str, same: impl Fn(&str, &str) -> bool) -> bool {
        same(&self.name, name) || self.aliases.iter().any(|alias| same(alias, name))
    }
}

/// All tables of an engine.
pub(super) struct Catalog {
    folders: Vec<PathBuf>,
    entries: RwLock<Vec<Entry>>,
    /// Files that statements named, by their text, each with the node that holds the table.
    visited: Mutex<HashMap<String, (Entry, Arc<Node>)>>,
    /// What is known of tables that were filtered.
    guesses: Mutex<Vec<(Weak<dyn Table>, TypeOverrides)>>,
}

impl Catalog {
    pub(super) fn new(folders: Vec<PathBuf>) -> Self {
        Catalog { folders, entries: RwLock::default(), visited: Mutex::default(), guesses: Mutex::default() }
    }

    /// Adds a table under `name`, or `name_2` and so on where that is taken; aliases only where they are
    /// free.
    pub(super) fn add(&self, name: &str, table: Arc<dyn Table>, aliases: &[String]) -> String {
        let name = if name.is_empty() { "table" } else { name };
        let mut entries = self.entries.write();
        let taken = |entries: &[Entry], name: &str| {
            entries.iter().any(|e| e.is_called(name, str::eq_ignore_ascii_case))
        };
        let numbered = |n: u32| if n == 1 { name.to_owned() } else { format!("{name}_{n}") };
        let free = (1..).map(numbered).find(|name| !taken(&entries, name)).unwrap_or_default();
        let word = plain_word(&free);
        let wanted = aliases.iter().cloned().chain(Some(word));
        let aliases: Vec<String> = wanted.filter(|a| *a != free && !taken(&entries, a)).collect();
        entries.push(Entry::new(free.clone(), table, &aliases));
        free
    }

    pub(super) fn add_document(&self, task: &Task, document: &Document) -> Result<Vec<String>> {
        let names: Vec<String> = self.add_tables(task, document)?.into_iter().map(|(_, name)| name).collect();
        if names.is_empty() {
            let why = document.root.problem.clone();
            return Err(why.unwrap_or_else(|| {
                Error::unsupported(format!("there is no table in this file ({})", document.format.name))
            }));
        }
        Ok(names)
    }

    /// Adds the tables of a document; for each the path of its node and the name that it got.
    fn add_tables(&self, task: &Task, document: &Document) -> Result<Vec<(String, String)>> {
        let stem = stem(document.source.name());
        let found = tables_in(task, document)?;
        let only = found.len() == 1;
        let mut names = Vec::new();
        for (node, table) in found {
            if node.is_empty() {
                names.push((node, self.add(&stem, table, &[])));
                continue;
            }
            let path = plain_path(&node);
            let mut aliases = vec![format!("{stem}.{path}")];
            aliases.extend(only.then(|| stem.clone()));
            names.push((node, self.add(&format!("{stem}_{path}"), table, &aliases)));
        }
        Ok(names)
    }

    pub(super) fn remove(&self, name: &str) {
        self.entries.write().retain(|entry| entry.name != name);
    }

    pub(super) fn known(&self) -> Vec<Registered> {
        let one = |entry: &Entry| {
            let (table, _) = entry.typed();
            let columns = super::provider::plain_schema(table.schema());
            let columns = columns.fields().iter().map(|f| (f.name().clone(), f.data_type().clone()));
            Registered { name: entry.name.clone(), columns: columns.collect(), rows: table.rows() }
        };
        self.entries.read().iter().map(one).collect()
    }

    /// The table of this name, whatever the case where that is clear.
    pub(super) fn find(&self, name: &str) -> Option<Entry> {
        let entries = self.entries.read();
        let exact = entries.iter().find(|e| e.name == name);
        let exact = exact.or_else(|| entries.iter().find(|e| e.is_called(name, |a, b| a == b)));
        exact.or_else(|| entries.iter().find(|e| e.is_called(name, str::eq_ignore_ascii_case))).cloned()
    }

    /// What is known of a table's guessed types, whether it has a name here or not.
    pub(super) fn guesses(&self, table: &Arc<dyn Table>) -> TypeOverrides {
        let entries = self.entries.read();
        if let Some(entry) = entries.iter().find(|entry| Arc::ptr_eq(&entry.table, table)) {
            return entry.type_overrides.clone();
        }
        let mut all = self.guesses.lock();
        all.retain(|(table, _)| table.strong_count() > 0);
        let weak = Arc::downgrade(table);
        if let Some((_, known)) = all.iter().find(|(other, _)| other.ptr_eq(&weak)) {
            return known.clone();
        }
        let fresh = TypeOverrides::default();
        all.push((weak, fresh.clone()));
        fresh
    }

    /// Files are opened anew by the next statement.
    pub(super) fn forget_visited(&self) {
        self.visited.lock().clear();
    }

    /// The nodes whose tables the last statement read, with what it calls them, in the order of that.
    pub(super) fn named_nodes(&self) -> Vec<(String, Arc<Node>)> {
        let visited = self.visited.lock();
        let mut nodes: Vec<_> =
            visited.iter().map(|(text, (_, node))| (text.clone(), node.clone())).collect();
        nodes.sort_by(|a, b| natural_order(&a.0, &b.0));
        nodes
    }

    /// What a statement means by `text`: a table, or (`quoted`, or where there is such a file) a path.
    ///
    /// # Errors
    /// Where there is neither; what opening the file gives.
    pub(super) fn lookup(&self, task: &Task, text: &str, quoted: bool) -> Result<Entry, Failure> {
        if !quoted && let Some(entry) = self.find(text) {
            return Ok(entry);
        }
        if let Some((entry, _)) = self.visited.lock().get(text) {
            return Ok(entry.clone());
        }
        let (files, found) = self.files(task, text)?;
        if files.is_empty() {
            return Err(self.missing(text, quoted).into());
        }
        let (path, node) = found;
        // What a pattern finds keeps what its folders say of it, be it one file or many.
        let parted = |file: &PathBuf| node.is_empty() && !partition::of_path(file).is_empty();
        let (table, holder) = match glob::is_pattern(path) && files.iter().any(parted) {
            true => all_of(task, &files)?,
            false => table_at(task, &files, node)?,
        };
        let name = stem(files.first().map(|f| f.to_string_lossy()).unwrap_or_default().as_ref());
        let entry = Entry::new(name, table, &[]);
        self.visited.lock().insert(text.to_owned(), (entry.clone(), holder));
        Ok(entry)
    }

    /// The files that a path or a pattern means, in natural order, with that path and the node that is named behind it.
    fn files<'t>(&self, task: &Task, text: &'t str) -> Result<(Vec<PathBuf>, (&'t str, &'t str))> {
        if text.contains("://") {
            let what = format!("{text}: files are read from this machine only, not from a network");
            return Err(Error::unsupported(what));
        }
        let mut here = vec![PathBuf::new()];
        here.extend(self.folders.iter().cloned());
        let split = text.split_once('#');
        for (path, node) in std::iter::once((text, "")).chain(split) {
            for folder in &here {
                let whole = folder.join(path);
                if !path.is_empty() && whole.exists() {
                    return Ok((vec![whole], (path, node)));
                }
                if glob::is_pattern(path) {
                    let found = glob::files(task, &whole)?;
                    if !found.is_empty() {
                        return Ok((found, (path, node)));
                    }
                }
            }
        }
        Ok((Vec::new(), (text, "")))
    }

    fn missing(&self, text: &str, quoted: bool) -> SqlDiagnostic {
        if quoted {
            let what = if glob::is_pattern(text) { "no file matches" } else { "there is no file" };
            return SqlDiagnostic::new(format!("{what} {text:?}"));
        }
        let entries = self.entries.read();
        let names = || entries.iter().map(|e| e.name.as_str());
        let all = entries.iter().flat_map(|e| e.aliases.iter().map(String::as_str)).chain(names());
        let advice = match nearest(text, all) {
            Some(near) => format!("did you mean {near:?}?"),
            None if entries.is_empty() => "name a file in quotes: FROM 'data/file.parquet'".to_owned(),
            None => {
                let all: Vec<&str> = names().take(20).collect();
                let more = if entries.len() > 20 { ", …" } else { "" };
                format!("there are {}{more}; a file is named in quotes: FROM 'file.csv'", all.join(", "))
            }
        };
        SqlDiagnostic::new(format!("there is no table {text:?}; {advice}"))
    }
}

/// The table that files are together, and the node that holds it.
fn all_of(task: &Task, files: &[PathBuf]) -> Result<(Arc<dyn Table>, Arc<Node>)> {
    let document = crate::formats::together(task, files)?;
    Ok((open::table_of(&document)?, document.root.clone()))
}

/// The table that one file, a node of it, or several files together are, and the node that holds it.
fn table_at(task: &Task, files: &[PathBuf], node: &str) -> Result<(Arc<dyn Table>, Arc<Node>)> {
    let [path] = files else { return all_of(task, files) };
    let named = |e: Error| e.in_file(path.display());
    let document = crate::formats::open(task, path, &Options::default())?;
    if !node.is_empty() {
        let found = document.root.find(task, node).map_err(named)?;
        if found.is_none() && node == PARAMETERS && document.format.holds_weights {
            return parameters(task, &document).map(|table| (table, document.root.clone())).map_err(named);
        }
        let found = found.ok_or_else(|| named(Error::io(format!("there is no node {node:?} in it"))))?;
        let table = found.content.as_ref().and_then(|content| as_table(&found.name, content));
        let table = table.ok_or_else(|| named(Error::unsupported(format!("{node} is no table"))))?;
        return Ok((table, found));
    }
    let mut inside = tables_in(task, &document).map_err(named)?;
    match inside.len() {
        // Of a model all tensors are told of.
        n if n > 1 && document.format.holds_weights => {
            Ok((parameters(task, &document).map_err(named)?, document.root.clone()))
        }
        // What a file is as a whole comes first; what lies beside that is named.
        n if n == 1 || inside.first().is_some_and(|(path, _)| path.is_empty()) => {
            let (path, table) = inside.remove(0);
            let holder = document.root.find(task, &path).unless_cancelled()?.ok().flatten();
            Ok((table, holder.unwrap_or_else(|| document.root.clone())))
        }
        0 => Err(named(document.root.problem.clone().unwrap_or_else(|| {
            Error::unsupported(format!("there is no table in this file ({})", document.format.name))
        }))),
        _ => {
            let names: Vec<String> = inside.iter().take(10).map(|(node, _)| plain_path(node)).collect();
            let what =
                format!("there are several tables in it; name one: 'file#NODE' ({})", names.join(", "));
            Err(named(Error::unsupported(what)))
        }
    }
}

/// A table, or an array that can be seen as one.
fn as_table(name: &str, content: &Content) -> Option<Arc<dyn Table>> {
    match content {
        Content::Table(table) => Some(table.clone()),
        Content::Array(array) => Some(Arc::new(ArrayTable::new(name, array.clone()).ok()?)),
        Content::Graph(graph) => crate::data::adapt::graph::nodes(graph).ok(),
        Content::Image(_) | Content::Text(_) | Content::Bytes(_) => None,
    }
}

/// The tables of a document with the paths of their nodes; the root's is empty.
fn tables_in(task: &Task, document: &Document) -> Result<Vec<(String, Arc<dyn Table>)>> {
    let root = &document.root;
    if let Some(table) = root.content.as_ref().and_then(|content| as_table("value", content)) {
        let mut found = vec![(String::new(), table)];
        found.extend(beside(task, root)?);
        return Ok(found);
    }
    let mut found: Vec<(String, Arc<dyn Table>)> = Vec::new();
    open::walk(task, root, "", DEEP, &mut |node, path, _| {
        let table = node.content.as_ref().and_then(|content| as_table(&node.name, content));
        if let Some(table) = table {
            found.push((path.to_owned(), table));
            // What lies below a table are its parts.
            return Ok(false);
        }
        Ok(found.len() < TABLES)
    })?;
    if document.format.holds_weights && root.find(task, PARAMETERS)?.is_none() {
        found.push((PARAMETERS.to_owned(), parameters(task, document)?));
    }
    Ok(found)
}

/// The tensors of a model, a row each.
fn parameters(task: &Task, document: &Document) -> Result<Arc<dyn Table>> {
    Ok(Arc::new(Parameters::new(Tensors::below(task, &document.root, "")?.all)))
}

/// The tables below a table that are no parts or states of it: the history of a lake table, the images of
/// COCO's annotations.
fn beside(task: &Task, root: &Arc<Node>) -> Result<Vec<(String, Arc<dyn Table>)>> {
    if root.children_are_parts {
        return Ok(Vec::new());
    }
    let children = root.child_page(task, 0..BESIDE).unless_cancelled()?.unwrap_or_default();
    let mut found = Vec::new();
    let is_state = |child: &Node| child.timeline.as_ref().is_some_and(|timeline| timeline.at.is_some());
    for child in children.iter().filter(|child| !is_state(child)) {
        let child = child.resolved(task)?;
        if let Some(Content::Table(table)) = &child.content {
            found.push((root.child_path("", &child), table.clone()));
        }
    }
    Ok(found)
}

/// A node's path without what stands before it and without an extension of a table's file.
fn plain_path(path: &str) -> String {
    let path = path.trim_matches(['/', '.', ':', '\\']);
    let known = [".csv", ".tsv", ".json", ".jsonl", ".parquet", ".arrow", ".feather", ".npy"];
    known.iter().find_map(|ext| path.strip_suffix(ext)).unwrap_or(path).replace('/', "_")
}

/// How a statement calls the table at a node of a document, among the tables of all `documents`: by the name
/// that an [`Engine`](super::Engine) gives it which they were added to in this order. Of a node that is no table
/// it is the first one in it; `None` where there is none, as for the versions below a table.
///
/// # Errors
/// What opening the nodes of `document` gives.
pub fn name_of(
    task: &Task,
    documents: &[Arc<Document>],
    document: &Arc<Document>,
    path: &str,
) -> Result<Option<String>> {
    let catalog = Catalog::new(Vec::new());
    for other in documents.iter().take_while(|other| !Arc::ptr_eq(other, document)) {
        task.check()?;
        drop(catalog.add_tables(task, other).unless_cancelled()?);
    }
    let names = catalog.add_tables(task, document)?;
    let exact = names.iter().find(|(node, _)| node == path);
    let found = exact.or_else(|| names.iter().find(|(node, _)| node.starts_with(path)));
    Ok(found.map(|(_, name)| name.clone()))
}

/// A name with every character that a plain word cannot have as `_`.
fn plain_word(name: &str) -> String {
    let word: String = name.chars().map(|c| if c.is_alphanumeric() || c == '_' { c } else { '_' }).collect();
    match word.chars().next() {
        Some(first) if first.is_numeric() => format!("_{word}"),
        _ => word,
    }
}

/// A file's name without folders and extensions, those of compression and then one more: `a.csv.gz` is `a`.
pub fn stem(name: &str) -> String {
    let name = Path::new(name).file_name().map_or(String::new(), |n| n.to_string_lossy().into_owned());
    let packed = [".gz", ".zst", ".bz2", ".xz", ".lz4", ".zip"];
    let inner = packed.iter().find_map(|ext| name.strip_suffix(ext)).filter(|inner| !inner.is_empty());
    let inner = inner.unwrap_or(&name);
    match inner.rfind('.') {
        Some(at) if at > 0 => inner.get(..at).unwrap_or(inner).to_owned(),
        _ => inner.to_owned(),
    }
}

/// The name of the table that is the node at `path` of a file: that of the file alone for the file itself.
pub fn table_name(file: &str, path: &str) -> String {
    match path.trim_matches(['/', '.']) {
        "" => stem(file),
        path => format!("{}_{}", stem(file), path.replace('/', "_")),
    }
}

/// Opens a file for a pattern's folder.
pub(super) fn folder(task: &Task, path: &Path) -> Option<Source> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    Source::open(task, path).ok().filter(Source::is_folder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::content::table::MemoryTable;
    use arrow::array::{ArrayRef, Int32Array, RecordBatch};

    #[test]
    fn stems_and_words() {
        let stems = ["a.csv.gz", "/x/b.c.parquet", ".hidden", "folder", "t.zip"].map(stem);
        assert_eq!(stems, ["a", "b.c", ".hidden", "folder", "t"]);
        assert_eq!(plain_word("train-00000"), "train_00000");
        assert_eq!(plain_word("2024 sales"), "_2024_sales");
    }

    #[test]
    fn names_are_unique_and_found_in_any_case() {
        let column: ArrayRef = Arc::new(Int32Array::from(vec![1]));
        let table =
            || Arc::new(MemoryTable::new(RecordBatch::try_from_iter([("a", column.clone())]).unwrap()));
        let catalog = Catalog::new(Vec::new());
        assert_eq!(catalog.add("Train-1", table(), &[]), "Train-1");
        assert_eq!(catalog.add("train-1", table(), &[]), "train-1_2");
        assert_eq!(catalog.find("TRAIN_1").unwrap().name, "Train-1");
        assert_eq!(catalog.find("train-1_2").unwrap().name, "train-1_2");
        assert!(catalog.find("other").is_none());
        let said = catalog.lookup(&Task::new(), "trein-1", false).err().unwrap().to_string();
        assert!(said.contains("did you mean \"Train-1\"?"), "{said}");
        let said = catalog.lookup(&Task::new(), "http://x/y.csv", true).err().unwrap().to_string();
        assert!(said.contains("not from a network"), "{said}");
    }
}
