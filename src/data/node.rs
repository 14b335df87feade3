//! `Node`: one row of the tree — a name, the format's own word for it, attributes, perhaps content,
//! perhaps children, perhaps a problem.
//!
//! A node's path is not stored: it is its parent's path, the parent's separator and its name, so
//! a safetensors tensor is `layers.0.weight`, an HDF5 dataset `/train/images`, a zip member `a/b.npy`.

use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::{Content, Kind};
use crate::data::curves::Presentation;
use crate::data::dtype::DType;
use crate::data::format::{Encoded, Format};
use crate::data::location::{BytePlace, Location};
use crate::data::security::Report;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

/// One row of the tree.
#[derive(Clone)]
pub struct Node {
    /// The name among its siblings, as in the file.
    pub name: String,
    /// The format's own word: dataset, tensor, row group, record, member.
    pub label: &'static str,
    /// The name of its type, of Python objects whose types are no fixed words; says more than the label.
    pub type_name: Option<Arc<str>>,
    /// How much it holds, where it is a container of a language: a list, a dict.
    pub length: Option<u64>,
    /// What stands between this node's path and a child's name.
    pub separator: &'static str,
    /// The value of a scalar, as text; a long one's beginning.
    pub value: Option<String>,
    /// The value of a scalar that JSON has too, all of it: what a conversion keeps of it among the metadata.
    pub scalar: Option<serde_json::Value>,
    /// The file's own attributes (metadata), in file order: what a conversion carries along.
    pub attributes: Vec<(String, Value)>,
    /// The types of those attribute values that the format types more narrowly than JSON: `scale_factor` is
    /// a float32. Of lists the type of an element.
    pub attribute_types: BTreeMap<String, DType>,
    /// Where attributes lie in the file, for a writer of the same format.
    pub attribute_places: BTreeMap<String, Encoded>,
    /// Attributes that the format reserves for its own bookkeeping (`DIMENSION_LIST`, `_Netcdf4Dimid`,
    /// `_ARRAY_DIMENSIONS`). What they say stands in the axes of the arrays; they mean nothing in another file.
    pub reserved: Vec<(String, Value)>,
    /// What the reader says of the file: how it is stored (compression, page size) and how it is read
    /// (delimiter, encoding). No part of what the file says, and of no use in another file.
    pub reader: Vec<(String, Value)>,
    /// The formats that were recognised on the way into a nested or compressed file, the outermost first; empty for
    /// other nodes.
    pub formats: Vec<&'static Format>,
    /// It is a dimension without values: a name and a length that arrays refer to.
    pub bare_dimension: bool,
    /// What can be shown, if there is anything.
    pub content: Option<Content>,
    /// What lies below.
    pub children: Children,
    /// Whether what lies below are parts of its content, as the files of a data set are, rather than things beside it.
    pub children_are_parts: bool,
    /// Whether its values are made of other nodes of the file and stored nowhere: what quantised weights stand for. It
    /// counts for nothing where bytes or parameters are summed, and is converted only where it is named.
    pub derived: bool,
    /// Whether what it shows are attributes of the root that are too long to stand there: a vocabulary. Where the
    /// attributes are kept with their values, it is kept with them.
    pub shows_attributes: bool,
    /// Why this node, or a part of it, could not be read.
    pub problem: Option<Error>,
    /// What a user should know but that is no error (`34 rows are ragged`).
    pub remarks: Vec<String>,
    /// Problems and remarks that come up later.
    pub findings: Option<Arc<dyn Findings>>,
    /// Where its bytes lie in the file, if they lie in one piece.
    pub span: Option<Range<u64>>,
    /// Where it lies in a file around it, and what bytes of that belong to its children.
    pub places: Option<Arc<dyn Places>>,
    /// What one pass over all of it tells, where that is not the statistics of its content.
    pub statistics: Option<Arc<dyn NodeStatistics>>,
    /// What code of the file's own would run where it is loaded by the program that wrote it.
    pub security: Option<Arc<Report>>,
    /// The states that it had over time, where its format keeps them.
    pub timeline: Option<Timeline>,
    /// What the columns of its table are to it, where it is looked at as something else than rows first.
    pub presentation: Option<Presentation>,
    /// The path of the node that a look at the file begins with, where the file names one; of a root only.
    pub start: Option<String>,
    /// The folder that the texts of its table name files in, where its format found them in another one than the folder
    /// of its file: COCO's images lie beside the folder of the annotations.
    pub media_folder: Option<PathBuf>,
    /// The file of an open folder that other programs may write to meanwhile, where it is one.
    pub growing: Option<Source>,
    /// Whether a guard stands around all of it that reads (see [`crate::data::guard`]).
    pub(crate) guarded: bool,
}

/// A node's place among the states that something had over time: the versions of a Delta Lake table, the
/// snapshots of an Iceberg table. The nodes of the states lie below the node of the thing itself.
#[derive(Clone)]
pub struct Timeline {
    /// All states.
    pub versions: Arc<dyn Versions>,
    /// The one that this node is; `None` for the thing itself, which is as it is now.
    pub at: Option<usize>,
}

/// The states that something had, from the oldest to the newest.
pub trait Versions: Send + Sync {
    /// How many there are.
    fn count(&self) -> usize;
    /// The one that stands now; `None` where there is none.
    fn current(&self) -> Option<usize>;
    /// The name of its node below that of the thing itself: `version=3`. Reads nothing.
    fn name(&self, n: usize) -> String;
    /// What is known of it.
    fn about(&self, task: &Task, n: usize) -> Result<Version>;
}

/// What is known of one state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Version {
    /// When it was made, ISO 8601.
    pub time: Option<String>,
    /// What made it, in the format's word: WRITE, MERGE, append.
    pub operation: Option<String>,
    /// Branches and tags that name it.
    pub marks: Vec<String>,
    /// Further lines: name and value.
    pub details: Vec<(String, String)>,
}

/// Statistics of a node as a whole: of a JSON document, of a container of records.
pub trait NodeStatistics: Send + Sync {
    /// The word for its kind in JSON: `json`, `records`.
    fn kind(&self) -> &'static str;
    /// Reads everything. Names and values, in the order in which they are told.
    fn statistics(&self, task: &Task) -> Result<Vec<(&'static str, serde_json::Value)>>;
}

/// Where the bytes of a node lie in a file that is around it: of a member of an archive, and of the archive.
pub trait Places: Send + Sync {
    /// Where the node as a whole lies.
    ///
    /// # Errors
    /// What reading a header gives.
    fn location(&self, _task: &Task) -> Result<Option<Location>> {
        Ok(None)
    }

    /// Whether the node lies in a file around it: `location` tells where.
    fn is_member(&self) -> bool {
        false
    }

    /// Where the value of an attribute lies.
    ///
    /// # Errors
    /// What reading it gives.
    fn attribute(&self, _task: &Task, _name: &str) -> Result<Option<Location>> {
        Ok(None)
    }

    /// The name of the child that a byte belongs to, as a path below the node, and where that child lies.
    ///
    /// # Errors
    /// What reading headers gives.
    fn owner(&self, _task: &Task, _byte: &BytePlace) -> Result<Option<(String, Location)>> {
        Ok(None)
    }
}

/// What is found only while the content of a node is indexed or read.
pub trait Findings: Send + Sync {
    /// What breaks it, as far as that is known now.
    fn problem(&self) -> Option<Error>;
    /// What else a user should know, as far as it is known now.
    fn remarks(&self) -> Vec<String>;
    /// What code of the file's own would run, as far as it is known now, where that is not known at once: it says
    /// itself that not all was looked at.
    fn security(&self) -> Option<Arc<Report>> {
        None
    }
    /// Reads what is needed to know all of it, with progress.
    ///
    /// # Errors
    /// Those of reading.
    fn finish(&self, _task: &Task) -> Result<()> {
        Ok(())
    }
}

/// A node that lies in one file and has others in it.
struct Nested {
    outer: Arc<dyn Places>,
    inner: Arc<dyn Places>,
}

impl Places for Nested {
    fn location(&self, task: &Task) -> Result<Option<Location>> {
        self.outer.location(task)
    }

    fn is_member(&self) -> bool {
        self.outer.is_member()
    }

    fn attribute(&self, task: &Task, name: &str) -> Result<Option<Location>> {
        let own = self.inner.attribute(task, name)?;
        own.map_or_else(|| self.outer.attribute(task, name), |found| Ok(Some(found)))
    }

    fn owner(&self, task: &Task, byte: &BytePlace) -> Result<Option<(String, Location)>> {
        self.inner.owner(task, byte)
    }
}

/// What lies below a node.
#[derive(Clone)]
pub enum Children {
    /// Nothing.
    None,
    /// All of them, known at open.
    Listed(Arc<Vec<Arc<Node>>>),
    /// Read by pages when somebody looks.
    Lazy(Arc<dyn Listing>),
}

/// Children that are read on demand: archives of a million members, nested files.
pub trait Listing: Send + Sync {
    /// How many there are, if that is known without reading.
    fn count(&self) -> Option<u64>;
    /// The children `range` (cut to what is there), in the file's order; of many perhaps only the first
    /// [`limits::LISTED`]. Where one costs as little as many, [`page_of`] makes it.
    ///
    /// # Errors
    /// Those of reading.
    fn page(&self, task: &Task, range: Range<u64>) -> Result<Vec<Arc<Node>>>;
    /// How many there are at least, while [`Listing::count`] does not know it; grows while an index does.
    fn at_least(&self) -> u64 {
        0
    }
    /// What of `range` can be had at once, and whether that is all of it: the first children of a large
    /// container are there before its end was found.
    fn soon(&self, task: &Task, range: Range<u64>) -> Result<(Vec<Arc<Node>>, bool)> {
        Ok((self.page(task, range)?, true))
    }
    /// Finds out how many there are where that means to read on, with progress.
    fn measure(&self, _task: &Task) -> Result<()> {
        Ok(())
    }
    /// The characters that what lies below a child begins with in a path: separators, brackets of elements. By them
    /// a path is cut where names hold such characters too.
    fn boundaries(&self) -> &'static [char] {
        &['/', '.']
    }
    /// A node that stands for another file opens it here: what it really is. `None` for others.
    fn resolve(&self, _task: &Task) -> Result<Option<Arc<Node>>> {
        Ok(None)
    }
    /// The child of this name. The default looks through all pages.
    fn find(&self, task: &Task, name: &str) -> Result<Option<Arc<Node>>> {
        let mut start = 0;
        loop {
            task.check()?;
            let page = self.page(task, start..start + limits::LISTED)?;
            if page.is_empty() {
                return Ok(None);
            }
            start += page.len() as u64;
            if let Some(found) = page.into_iter().find(|node| node.name == name) {
                return Ok(Some(found));
            }
        }
    }
}

/// The page `range` of children that are made one by one from their places: up to `count`, or to the first that is not
/// there, [`limits::LISTED`] of them at most.
///
/// # Errors
/// Those of `child`; `Cancelled`.
pub fn page_of(
    task: &Task,
    range: Range<u64>,
    count: Option<u64>,
    child: impl Fn(u64) -> Result<Option<Arc<Node>>>,
) -> Result<Vec<Arc<Node>>> {
    let end = range.end.min(range.start.saturating_add(limits::LISTED)).min(count.unwrap_or(u64::MAX));
    let child = |n| task.check().and_then(|()| child(n)).transpose();
    (range.start..end).map_while(child).collect()
}

type Make = dyn Fn(&Task) -> Result<Node> + Send + Sync;

/// What a deferred node stands for.
struct Deferred {
    make: Box<Make>,
    made: Mutex<Option<Arc<Node>>>,
    /// Whether it never has children.
    is_leaf: bool,
}

impl Deferred {
    fn node(&self, task: &Task) -> Result<Arc<Node>> {
        if let Some(node) = &*self.made.lock() {
            return Ok(node.clone());
        }
        let node = Arc::new((self.make)(task)?);
        *self.made.lock() = Some(node.clone());
        Ok(node)
    }
}

impl Listing for Deferred {
    fn count(&self) -> Option<u64> {
        if self.is_leaf {
            return Some(0);
        }
        self.made.lock().as_ref().and_then(|node| node.child_count())
    }

    fn page(&self, task: &Task, range: Range<u64>) -> Result<Vec<Arc<Node>>> {
        self.node(task)?.child_page(task, range)
    }

    fn resolve(&self, task: &Task) -> Result<Option<Arc<Node>>> {
        self.node(task).map(Some)
    }
}

/// A piece of metadata.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Text, or a number as its text.
    Text(String),
    /// Structured metadata, as JSON.
    Json(serde_json::Value),
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Value::Text(text)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::Text(text.to_owned())
    }
}

impl From<serde_json::Value> for Value {
    fn from(json: serde_json::Value) -> Self {
        match json {
            serde_json::Value::String(text) => Value::Text(text),
            other => Value::Json(other),
        }
    }
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Text(text) => f.write_str(text),
            Value::Json(json) => write!(f, "{json}"),
        }
    }
}

impl Node {
    /// A node with a name and the format's word for it, and nothing else yet.
    pub fn new(name: impl Into<String>, label: &'static str) -> Self {
        Node {
            name: name.into(),
            label,
            type_name: None,
            length: None,
            separator: "/",
            value: None,
            scalar: None,
            attributes: Vec::new(),
            attribute_types: BTreeMap::new(),
            attribute_places: BTreeMap::new(),
            reserved: Vec::new(),
            reader: Vec::new(),
            formats: Vec::new(),
            bare_dimension: false,
            content: None,
            children: Children::None,
            children_are_parts: false,
            derived: false,
            shows_attributes: false,
            problem: None,
            remarks: Vec::new(),
            findings: None,
            span: None,
            places: None,
            statistics: None,
            security: None,
            timeline: None,
            presentation: None,
            start: None,
            media_folder: None,
            growing: None,
            guarded: false,
        }
    }

    /// The word for what it is: the name of its type, or its label.
    pub fn word(&self) -> &str {
        self.type_name.as_deref().unwrap_or(self.label)
    }

    /// With content.
    pub fn content(mut self, content: Content) -> Self {
        self.guarded = false;
        self.content = Some(content);
        self
    }

    /// With listed children.
    pub fn listed(mut self, children: Vec<Node>) -> Self {
        self.guarded = false;
        self.children = Children::Listed(Arc::new(children.into_iter().map(Arc::new).collect()));
        self
    }

    /// With lazy children.
    pub fn lazy(mut self, children: impl Listing + 'static) -> Self {
        self.guarded = false;
        self.children = Children::Lazy(Arc::new(children));
        self
    }

    /// With children that are parts of its content.
    pub fn parts(mut self) -> Self {
        self.children_are_parts = true;
        self
    }

    /// A node that is made when somebody looks into it, once.
    pub fn deferred(
        name: impl Into<String>,
        label: &'static str,
        make: impl Fn(&Task) -> Result<Node> + Send + Sync + 'static,
    ) -> Self {
        Node::new(name, label).deferred_as(false, make)
    }

    /// The same of one that is known to have no children: of which only the content is made later.
    pub fn deferred_leaf(self, make: impl Fn(&Task) -> Result<Node> + Send + Sync + 'static) -> Self {
        self.deferred_as(true, make)
    }

    fn deferred_as(
        self,
        is_leaf: bool,
        make: impl Fn(&Task) -> Result<Node> + Send + Sync + 'static,
    ) -> Self {
        self.lazy(Deferred { make: Box::new(make), made: Mutex::new(None), is_leaf })
    }

    /// With the separator between its path and its children's names.
    pub fn separator(mut self, separator: &'static str) -> Self {
        self.separator = separator;
        self
    }

    /// With an attribute.
    pub fn attribute(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.attributes.push((name.into(), value.into()));
        self
    }

    /// With something that the reader says of the file.
    pub fn read_as(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.reader.push((name.into(), value.into()));
        self
    }

    /// With the format that was recognised inside of it, which goes before those further in.
    pub fn recognised(&mut self, format: &'static Format) {
        self.formats.insert(0, format);
        self.reader.insert(0, ("format".to_owned(), format.name.into()));
    }

    /// What people are shown of its metadata: what the reader says, then the file's own attributes.
    pub fn shown_attributes(&self) -> impl Iterator<Item = &(String, Value)> {
        self.reader.iter().chain(&self.attributes)
    }

    /// With a value.
    pub fn value(mut self, value: impl Into<String>) -> Self {
        self.value = Some(value.into());
        self
    }

    /// With statistics of its own.
    pub fn statistics(mut self, statistics: impl NodeStatistics + 'static) -> Self {
        self.guarded = false;
        self.statistics = Some(Arc::new(statistics));
        self
    }

    /// With where it and its children lie in a file around it.
    pub fn placed(mut self, places: impl Places + 'static) -> Self {
        self.guarded = false;
        self.places = Some(Arc::new(places));
        self
    }

    /// With its place among the states that it had over time.
    pub fn timeline(mut self, versions: Arc<dyn Versions>, at: Option<usize>) -> Self {
        self.guarded = false;
        self.timeline = Some(Timeline { versions, at });
        self
    }

    /// With what the columns of its table are to it.
    pub fn presented(mut self, presentation: impl Into<Option<Presentation>>) -> Self {
        self.presentation = presentation.into();
        self
    }

    /// With a problem.
    pub fn problem(mut self, problem: Error) -> Self {
        self.problem = Some(problem);
        self
    }

    /// With a remark.
    pub fn remark(mut self, remark: impl Into<String>) -> Self {
        self.remarks.push(remark.into());
        self
    }

    /// With what comes up later.
    pub fn findings(mut self, findings: Arc<dyn Findings>) -> Self {
        self.findings = Some(findings);
        self
    }

    /// Its problem, or what was found since it was opened.
    pub fn problem_now(&self) -> Option<Error> {
        self.problem.clone().or_else(|| self.findings.as_ref()?.problem())
    }

    /// What code of the file's own would run, as far as it is known now.
    pub fn security_now(&self) -> Option<Arc<Report>> {
        self.findings.as_ref().and_then(|findings| findings.security()).or_else(|| self.security.clone())
    }

    /// Its remarks, and what was found since it was opened.
    pub fn remarks_now(&self) -> Vec<String> {
        let found = self.findings.as_ref().map_or(Vec::new(), |findings| findings.remarks());
        self.remarks.iter().cloned().chain(found).collect()
    }

    /// With its place in the file.
    pub fn span(mut self, span: Range<u64>) -> Self {
        self.span = Some(span);
        self
    }

    /// The kind of its content; a group where there is none.
    pub fn kind(&self) -> Kind {
        self.content.as_ref().map_or(Kind::Group, Content::kind)
    }

    /// The path of `child` when this node's path is `path`.
    pub fn child_path(&self, path: &str, child: &Node) -> String {
        format!("{path}{}{}", self.separator, child.name)
    }

    /// Whether anything can lie below.
    pub fn has_children(&self) -> bool {
        match &self.children {
            Children::None => false,
            Children::Listed(list) => !list.is_empty(),
            Children::Lazy(list) => list.count() != Some(0),
        }
    }

    /// How many children, if that is known without reading.
    pub fn child_count(&self) -> Option<u64> {
        match &self.children {
            Children::None => Some(0),
            Children::Listed(list) => Some(list.len() as u64),
            Children::Lazy(list) => list.count(),
        }
    }

    /// The children `range`, cut to what is there.
    pub fn child_page(&self, task: &Task, range: Range<u64>) -> Result<Vec<Arc<Node>>> {
        match &self.children {
            Children::None => Ok(Vec::new()),
            Children::Listed(list) => {
                let end = range.end.min(list.len() as u64) as usize;
                let start = (range.start.min(end as u64)) as usize;
                Ok(list.get(start..end).unwrap_or_default().to_vec())
            }
            Children::Lazy(list) => list.page(task, range),
        }
    }

    /// How many children there are at least, while nobody knows how many.
    pub fn children_at_least(&self) -> u64 {
        match &self.children {
            Children::Lazy(list) => list.at_least(),
            _ => 0,
        }
    }

    /// What of the children `range` can be had at once, and whether that is all of it.
    pub fn children_soon(&self, task: &Task, range: Range<u64>) -> Result<(Vec<Arc<Node>>, bool)> {
        match &self.children {
            Children::Lazy(list) => list.soon(task, range),
            _ => Ok((self.child_page(task, range)?, true)),
        }
    }

    /// This node, or what it stands for: a member that is a file itself is opened and takes this
    /// node's name.
    pub fn resolved(self: &Arc<Self>, task: &Task) -> Result<Arc<Node>> {
        let Children::Lazy(list) = &self.children else { return Ok(self.clone()) };
        let mut node = match list.resolve(task).unless_cancelled()? {
            Ok(None) => return Ok(self.clone()),
            Ok(Some(real)) => (*real).clone(),
            Err(error) => Node::new("", self.label).problem(error),
        };
        node.name.clone_from(&self.name);
        node.span.clone_from(&self.span);
        // What the node itself is says where its children lie, this one where it lies.
        node.places = match (self.places.clone(), node.places.take()) {
            (Some(outer), Some(inner)) => Some(Arc::new(Nested { outer, inner })),
            (outer, inner) => outer.or(inner),
        };
        if node.timeline.is_none() {
            node.timeline.clone_from(&self.timeline);
        }
        let before = |own: &[(String, Value)], inner: &mut Vec<(String, Value)>| {
            let mut all = own.to_vec();
            all.append(inner);
            *inner = all;
        };
        before(&self.attributes, &mut node.attributes);
        before(&self.reader, &mut node.reader);
        node.formats.splice(0..0, self.formats.iter().copied());
        Ok(Arc::new(node))
    }

    /// The node at `path` below this one (`""` is this one). Names may hold separators themselves,
    /// so at each level the longest name that fits is tried first. The separator before the first name may
    /// be left out: `group/x` is `/group/x`.
    pub fn find(self: &Arc<Self>, task: &Task, path: &str) -> Result<Option<Arc<Node>>> {
        let exact = self.find_exact(task, path)?;
        if exact.is_some() || self.separator.is_empty() || path.starts_with(self.separator) {
            return Ok(exact);
        }
        self.find_exact(task, &format!("{}{path}", self.separator))
    }

    fn find_exact(self: &Arc<Self>, task: &Task, path: &str) -> Result<Option<Arc<Node>>> {
        let this = &self.resolved(task)?;
        if path.is_empty() {
            return Ok(Some(this.clone()));
        }
        this.find_below(task, path)
    }

    fn find_below(self: &Arc<Self>, task: &Task, path: &str) -> Result<Option<Arc<Node>>> {
        let Some(rest) = path.strip_prefix(self.separator) else { return Ok(None) };
        let Children::Lazy(lazy) = &self.children else {
            let list = match &self.children {
                Children::Listed(list) => list.as_slice(),
                _ => &[],
            };
            let fit = |n: &'_ Arc<Node>| Some((n.clone(), rest.strip_prefix(n.name.as_str())?));
            let mut fits: Vec<(Arc<Node>, &str)> = list.iter().filter_map(fit).collect();
            fits.sort_by_key(|(n, _)| std::cmp::Reverse(n.name.len()));
            for (node, below) in fits {
                if let Some(found) = node.find_exact(task, below)? {
                    return Ok(Some(found));
                }
            }
            return Ok(None);
        };
        // Lazy children are asked by name: the whole rest first, then up to each place where a name may end.
        let mut end = rest.len();
        loop {
            let (name, below) = rest.split_at(end);
            if let Some(node) = lazy.find(task, name)?
                && let Some(found) = node.find_exact(task, below)?
            {
                return Ok(Some(found));
            }
            match name.rfind(lazy.boundaries()) {
                // Names may be empty too: `a..b` lies in `a`, in a nameless module.
                Some(at) => end = at,
                None => return Ok(None),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_with_separators_in_names() {
        let leaf = |name: &str| Node::new(name, "tensor");
        let inner = Node::new("layers.0", "module").separator(".").listed(vec![leaf("q.weight"), leaf("q")]);
        let root = Arc::new(Node::new("f", "file").separator("").listed(vec![inner, leaf("layers")]));
        let task = Task::new();
        let found = |path: &str| root.find(&task, path).unwrap().map(|n| n.name.clone());
        assert_eq!(found("layers.0.q.weight").as_deref(), Some("q.weight"));
        assert_eq!(found("layers.0.q").as_deref(), Some("q"));
        assert_eq!(found("layers").as_deref(), Some("layers"));
        assert_eq!(found("layers.0.x"), None);
        assert_eq!(found("").as_deref(), Some("f"));
    }

    #[test]
    fn the_first_separator_may_be_left_out() {
        let inner = Node::new("a", "group").separator("/").listed(vec![Node::new("b", "table")]);
        let root = Arc::new(Node::new("f", "file").separator("/").listed(vec![inner]));
        let found = |path: &str| root.find(&Task::new(), path).unwrap().map(|n| n.name.clone());
        assert_eq!(found("/a/b").as_deref(), Some("b"));
        assert_eq!(found("a/b").as_deref(), Some("b"));
        assert_eq!(found("ab"), None);
        assert_eq!(found("/ab"), None);
    }
}
