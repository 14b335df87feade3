//! What tabs, views and commands are about: nodes of open files, queries, and what can be asked of a view.

use std::sync::Arc;

use gander::bytes::task::Task;
use gander::convert::Selection;
use gander::data::content::{Array, Content, Table};
use gander::data::format::{Data, Format, Options};
use gander::data::location::Location;
use gander::data::node::Node;
use gander::data::open::Document;
use gander::query::Condition;

/// Formats that hand options on to the files in them.
const PASSING: [&str; 9] = ["gzip", "zstd", "bzip2", "xz", "lz4", "zlib", "zip", "tar", "folder"];

/// What a view is about: a node of an open file. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Target {
    /// The number of the open file, unique in this process.
    pub(crate) file: u64,
    /// The open file.
    pub(crate) document: Arc<Document>,
    /// The node's path in it; empty for the root.
    pub(crate) path: String,
    /// The node, resolved: what it really is.
    pub(crate) node: Arc<Node>,
}

impl Target {
    /// Its place.
    pub(crate) fn place(&self) -> NodeRef {
        NodeRef::new(self.file, self.path.as_str())
    }

    /// The node's name, as on its tab. In models names repeat in every module, which goes along.
    pub(crate) fn title(&self) -> &str {
        let name = &self.node.name;
        let above = self.path.strip_suffix(name.as_str()).and_then(|path| path.strip_suffix('.'));
        let Some(above) = above else { return name };
        let start = above.rfind('.').map_or(0, |dot| dot + 1);
        self.path.get(start..).unwrap_or(name)
    }

    /// The words on its tab: a version goes with the name of its table.
    pub(crate) fn tab_words(&self) -> String {
        if self.node.timeline.as_ref().is_none_or(|timeline| timeline.at.is_none()) {
            return self.title().to_owned();
        }
        let above = self.path.strip_suffix(self.node.name.as_str()).unwrap_or_default().trim_end_matches('/');
        let table = above.rsplit('/').next().filter(|name| !name.is_empty());
        let table = table.unwrap_or_else(|| self.document.source.name());
        format!("{table} · {}", self.node.name.replacen('=', " ", 1))
    }

    /// The format that reads it and takes [`Target::options`]: the document's own, that of what a compressed
    /// file holds, or that of a file in an archive or a folder. `None` for a part of a file.
    pub(crate) fn reader(&self) -> Option<&'static Format> {
        let own = self.document.format;
        // Sheets of a workbook are read by its options.
        let is_table = matches!(self.node.content, Some(Content::Table(_)));
        if !own.options.is_empty() && (self.path.is_empty() || self.is_part() && is_table) {
            return Some(own);
        }
        if !PASSING.contains(&own.id) {
            return None;
        }
        // A wrapper in a wrapper says so before what it holds.
        self.node.formats.last().copied()
    }

    /// Whether it is a part of the file that the document is, not of a file in that one.
    fn is_part(&self) -> bool {
        self.path.is_empty() || !PASSING.contains(&self.document.format.id) && self.node.formats.is_empty()
    }

    /// What its file is opened with.
    pub(crate) fn options(&self) -> Options {
        let options = &self.document.options;
        if self.is_part() { options.clone() } else { options.below(self.inner_path()) }
    }

    /// What the document is to be opened with so that its file is with these.
    pub(crate) fn with_options(&self, own: Options) -> Options {
        if self.is_part() {
            return own;
        }
        let mut all = self.document.options.clone();
        let prefix = format!("{}:", self.inner_path());
        all.0.retain(|name, _| !name.starts_with(&prefix));
        own.0.into_iter().for_each(|(name, value)| all.set(&format!("{prefix}{name}"), value));
        all
    }

    fn inner_path(&self) -> &str {
        self.path.trim_start_matches('/')
    }

    /// `FILE#NODE`, as on the command line.
    pub(crate) fn address(&self) -> String {
        let source = &self.document.source;
        let file = source.path().map_or_else(|| source.name().to_owned(), |path| path.display().to_string());
        if self.path.is_empty() { file } else { format!("{file}#{}", self.path) }
    }
}

/// A node of an open file by its place: the node itself may still have to be found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct NodeRef {
    /// The number of the open file.
    pub(crate) file: u64,
    /// The node's path in it; empty for the root.
    pub(crate) path: String,
}

impl NodeRef {
    /// The node at `path` of a file.
    pub(crate) fn new(file: u64, path: impl Into<String>) -> Self {
        NodeRef { file, path: path.into() }
    }
}

/// What a tab shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TabContent {
    /// A node of an open file.
    Node(NodeRef),
    /// SQL statements over all open files: the number of the query, unique among the tabs.
    Query(u64),
    /// The bytes behind a value.
    Bytes(BytesOf),
    /// Two nodes beside each other.
    #[cfg(test)]
    Comparison([NodeRef; 2]),
}

impl TabContent {
    /// The nodes that its view is about, which are found before it is made.
    pub(crate) fn nodes(&self) -> &[NodeRef] {
        match self {
            TabContent::Node(node) => std::slice::from_ref(node),
            TabContent::Query(_) => &[],
            TabContent::Bytes(of) => std::slice::from_ref(&of.node),
            #[cfg(test)]
            TabContent::Comparison(nodes) => nodes,
        }
    }

    /// Whether it shows a node of this file.
    pub(crate) fn is_of(&self, file: u64) -> bool {
        self.nodes().iter().any(|node| node.file == file)
    }
}

/// The bytes behind a value of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BytesOf {
    /// The node.
    pub(crate) node: NodeRef,
    /// The value.
    pub(crate) value: StoredValue,
    /// Whether those of the decoded unit, and not those of the file.
    pub(crate) decoded: bool,
}

impl BytesOf {
    /// The words on its tab.
    pub(crate) fn name(&self) -> String {
        let what = if self.decoded { "Decoded bytes" } else { "Bytes" };
        format!("{what} of {}", self.value.what)
    }
}

/// A value whose place in its file can be asked for. Cheap to clone.
#[derive(Clone)]
pub(crate) struct StoredValue {
    /// What it is: `row 3, column price`, `element [1, 2]`.
    pub(crate) what: String,
    place: ValuePlace,
}

/// Of what it is a value.
#[derive(Clone)]
pub(crate) enum ValuePlace {
    /// Row and column of a table.
    Cell(Arc<dyn Table>, u64, usize),
    /// The full index of an element.
    Element(Arc<dyn Array>, Vec<u64>),
    /// All of a node.
    Node(Arc<Node>),
    /// The value of an attribute of a node.
    Attribute(Arc<Node>, String),
}

impl StoredValue {
    /// The value at a place, which is called `what`.
    pub(crate) fn new(what: impl Into<String>, place: ValuePlace) -> Self {
        StoredValue { what: what.into(), place }
    }

    /// The cell of a table.
    pub(crate) fn cell(table: &Arc<dyn Table>, row: u64, column: usize) -> Self {
        let name = table.schema().fields().get(column).map_or("", |field| field.name());
        let what = format!("row {row}, column {name}");
        StoredValue::new(what, ValuePlace::Cell(table.clone(), row, column))
    }

    /// The element of an array.
    pub(crate) fn element(array: &Arc<dyn Array>, index: Vec<u64>) -> Self {
        StoredValue::new(format!("element {index:?}"), ValuePlace::Element(array.clone(), index))
    }

    /// A node as a whole, where it may be told where that lies.
    pub(crate) fn node(node: &Arc<Node>) -> Option<Self> {
        let is_array = matches!(&node.content, Some(Content::Array(array)) if array.facts().chunks.is_none());
        let told = is_array || node.places.as_ref().is_some_and(|places| places.is_member());
        told.then(|| StoredValue::new(node.name.clone(), ValuePlace::Node(node.clone())))
    }

    /// An attribute of a node, where it may be told where that lies.
    pub(crate) fn attribute(node: &Arc<Node>, name: &str) -> Option<Self> {
        let place = || ValuePlace::Attribute(node.clone(), name.to_owned());
        node.places.as_ref().map(|_| StoredValue::new(format!("attribute {name}"), place()))
    }

    /// Where it lies; reads what tells it.
    pub(crate) fn location(&self, task: &Task) -> gander::Result<Option<Location>> {
        match &self.place {
            ValuePlace::Cell(table, row, column) => table.location(task, *row, *column),
            ValuePlace::Element(array, index) => array.location(task, index),
            ValuePlace::Attribute(node, name) => {
                node.places.as_ref().map_or(Ok(None), |places| places.attribute(task, name))
            }
            ValuePlace::Node(node) => match (&node.places, &node.content) {
                (Some(places), _) if places.is_member() => places.location(task),
                (_, Some(Content::Array(array))) => {
                    let first = array.location(task, &vec![0; array.shape().len()])?;
                    Ok(first.map(Location::of_unit))
                }
                _ => Ok(None),
            },
        }
    }

    /// What tells it from others: the address of the content, which it keeps alive, and the place in it.
    fn key(&self) -> (usize, Vec<u64>) {
        match &self.place {
            ValuePlace::Cell(table, row, column) => {
                (Arc::as_ptr(table).cast::<()>() as usize, vec![*row, *column as u64])
            }
            ValuePlace::Element(array, index) => (Arc::as_ptr(array).cast::<()>() as usize, index.clone()),
            ValuePlace::Node(node) => (Arc::as_ptr(node) as usize, Vec::new()),
            ValuePlace::Attribute(node, name) => {
                let number = node.attributes.iter().position(|(own, _)| own == name);
                (Arc::as_ptr(node) as usize, vec![number.unwrap_or(0) as u64])
            }
        }
    }
}

impl PartialEq for StoredValue {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for StoredValue {}

impl std::hash::Hash for StoredValue {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

impl std::fmt::Debug for StoredValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.what)
    }
}

/// What a new query begins with.
#[derive(Clone)]
pub(crate) enum QueryStart {
    /// Nothing.
    Empty,
    /// All rows of a table that satisfy these clauses (`WHERE …`, `ORDER BY …`), once its name in SQL is known.
    Table(Target, String),
    /// This statement.
    Statement(String),
}

/// What *Export…* writes. A part is what a view has selected, filtered or cut: words for it, and the data.
pub(crate) enum ExportSource {
    /// A node, or a part of it.
    Node(Target, Option<(String, Data)>),
    /// What a view shows.
    Shown(Box<ShownExport>),
}

/// What *Export…* of a view writes.
pub(crate) struct ShownExport {
    /// The node; `None` for what is no node, a query's result.
    pub(crate) target: Option<Target>,
    /// What it is called.
    pub(crate) name: String,
    /// The part that is selected, filtered or cut.
    pub(crate) part: Option<(String, Data)>,
    /// Other parts that there are.
    pub(crate) others: Vec<(String, Data)>,
    /// How a recipe says that part; `None` where it cannot.
    pub(crate) repeat: Option<Repeat>,
    /// Pictures of what is shown.
    pub(crate) pictures: Vec<(String, Data)>,
    /// Whether one of these is what was asked for.
    pub(crate) pictures_first: bool,
}

/// How a part of a node is said in a recipe.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Repeat {
    /// Rows and columns, or a slice.
    Selection(Selection),
    /// The clauses of a query over the table: `WHERE …`, `ORDER BY …`.
    Clauses(String),
    /// A whole query, and the files that it may name.
    Query(String, Arc<[String]>),
}

/// What a command or another room asks of a view.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Request {
    /// Go to a row (`:123`), an element (`3, 17`) or a byte, as the person typed it.
    GoTo(String),
    /// Put the cursor into the field that finds something in the view.
    Find,
    /// Go to this column (tables).
    Column(usize),
    /// Go to this element (arrays): its full index.
    Element(Vec<u64>),
    /// Show the rows of which this holds (tables), besides what else is asked of them if so.
    Filter(Condition, bool),
}

/// What of the target the inspector should tell about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Subject {
    /// The node as a whole.
    #[default]
    Node,
    /// One column of a table, by its index.
    Column(usize),
    /// A part of a graph.
    Graph(GraphPlace),
}

/// A part of a graph or of a body in it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct GraphPlace {
    /// The bodies that it lies in, outermost first: the number of the node, and of the body among those of that node.
    pub(crate) bodies: Vec<(u32, u32)>,
    /// What it is.
    pub(crate) part: GraphPart,
}

/// What there is in a graph.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum GraphPart {
    /// A node, by its number.
    Node(u32),
    /// A group, by its path.
    Group(Arc<str>),
    /// A value, by its number.
    Value(u32),
}
