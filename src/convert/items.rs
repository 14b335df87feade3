//! What is converted: nodes with their attributes and the groups that they lie in, and the part of them that
//! was selected.

use super::targets::Target;
use crate::bytes::display;
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::adapt::{ArrayView, EmbeddedFiles, ImageArray, TableView};
use crate::data::content::graph::Graph;
use crate::data::content::{Content, Kind, Table};
use crate::data::format::Attributes;
use crate::data::media::{self, Held, Place};
use crate::data::node::{Children, Node};
use crate::data::open;
use crate::data::sniff::{self, Head};
use crate::formats;
use arrow::datatypes::Field;
use std::ops::Range;
use std::sync::Arc;

/// One thing to convert.
#[derive(Clone)]
pub struct Item {
    /// What it is called in a file of several (an array's name, a tensor's path).
    pub name: String,
    /// The content.
    pub content: Content,
    /// Its metadata.
    pub attributes: Attributes,
    /// The files that its cells name, where it is a table of such.
    pub files: Option<NamedFiles>,
    /// Whether it shows attributes of what it lies in, and nothing else.
    pub shows_attributes: bool,
    /// Why not all of its content can be read, where that is so: a file that is cut off, a part that is not there.
    pub problem: Option<Error>,
    /// What it lies in, where that goes along; all that were gathered together have the same.
    pub around: Arc<Around>,
}

/// Which columns of a table name files, and where these lie.
#[derive(Clone)]
pub struct NamedFiles {
    /// The names of the columns.
    pub columns: Vec<String>,
    /// Where the files lie.
    pub place: Place,
}

impl NamedFiles {
    /// Those of a table: columns of texts of which most of the first are the paths of pictures, sounds and the like.
    /// `path` is that of its node in the document of these bytes. `None` where there are none.
    ///
    /// # Errors
    /// `Cancelled`. A table that cannot be read names none.
    pub fn find(task: &Task, source: &Source, path: &str, node: &Node) -> Result<Option<NamedFiles>> {
        let Some(Content::Table(table)) = &node.content else { return Ok(None) };
        let place = Place::of_node(source, path, node);
        if !media::may_hold(table.as_ref(), true) {
            return Ok(None);
        }
        let attributes = Attributes::of(node).list;
        let found =
            media::find(task, formats::ALL, table.as_ref(), &attributes, &place).unless_cancelled()?;
        let paths = found.iter().flat_map(|media| &media.columns).filter(|column| column.held == Held::Path);
        let fields = table.schema().fields();
        let columns: Vec<String> =
            paths.filter_map(|column| fields.get(column.column)).map(|field| field.name().clone()).collect();
        Ok((!columns.is_empty()).then_some(NamedFiles { columns, place }))
    }

    /// The table with the files themselves in these columns, as far as it has them; `None` where it has none of them.
    pub(super) fn embed(&self, table: &Arc<dyn Table>) -> Option<EmbeddedFiles> {
        let columns = self.columns_of(table.as_ref());
        (!columns.is_empty()).then(|| EmbeddedFiles::new(table.clone(), columns, self.place.clone()))
    }

    /// The numbers of these columns in a table, or in a part of it.
    fn columns_of(&self, table: &dyn Table) -> Vec<usize> {
        let named = |field: &Arc<Field>| {
            self.columns.contains(field.name()) && media::held(field, None) == Some(Held::Path)
        };
        let fields = table.schema().fields().iter().enumerate();
        fields.filter(|(_, field)| named(field)).map(|(n, _)| n).collect()
    }
}

/// What surrounds the items of one source.
#[derive(Debug, Default)]
pub struct Around {
    /// Attributes of the whole, which is called "", and of the groups below it, by name.
    pub groups: Vec<(String, Attributes)>,
    /// What holds no content that could be converted: its name, the format's word for it, and whether it has a
    /// value of its own.
    pub left_out: Vec<(String, &'static str, bool)>,
    /// Values that are no content: the name, the format's word and the value. They go among the metadata of targets that
    /// have such.
    pub values: Vec<(String, &'static str, serde_json::Value)>,
    /// Dimensions without values, which live in the arrays along them: name and length.
    pub dimensions: Vec<(String, u64)>,
    /// The library whose tensors the arrays are, where that is known.
    pub framework: Option<&'static str>,
    /// The graph whose weights the arrays are, and its name: what targets of drawings get.
    pub graph: Option<(String, Arc<Graph>)>,
}

impl Item {
    /// Content with nothing around it.
    pub fn new(name: impl Into<String>, content: Content, attributes: Attributes) -> Self {
        let (shows_attributes, around) = (false, Arc::default());
        Item { name: name.into(), content, attributes, files: None, shows_attributes, problem: None, around }
    }
}

/// What the node at `path` of its document gives to convert: its content, or everything that has content
/// below it, with names relative to it. `source` are the bytes of the document.
///
/// # Errors
/// The node's problem if it has no content; `Unsupported` for an empty group.
pub fn gather(task: &Task, source: &Source, node: &Arc<Node>, path: &str) -> Result<Vec<Item>> {
    let node = node.resolved(task)?;
    let is_graph = matches!(node.content, Some(Content::Graph(_)));
    if let Some(content) = node.content.as_ref().filter(|_| !is_graph || !has_arrays(task, &node)) {
        // A whole file is called by its stem, a node by its path.
        let name = match path.trim_start_matches('/') {
            "" => node.name.rsplit_once('.').map_or(node.name.as_str(), |(stem, _)| stem),
            path => path,
        };
        let files = NamedFiles::find(task, source, path, &node)?;
        let around = Arc::new(Around { framework: framework(task, source), ..Around::default() });
        let item = Item::new(name, content.clone(), Attributes::of(&node));
        return Ok(vec![Item { files, around, problem: unread(&node), ..item }]);
    }
    let (mut found, mut around) = (Vec::new(), Around::default());
    around.groups.push((String::new(), Attributes::of(&node)));
    if let Some(Content::Graph(graph)) = &node.content {
        around.graph = Some((node.name.clone(), graph.clone()));
    }
    open::walk_all(task, &node, "", limits::DEPTH, &mut |below, path, level| {
        if let Some(problem) = below.problem.as_ref().filter(|_| below.content.is_none()) {
            return Err(problem.clone().in_node(path));
        }
        let name = path.strip_prefix(node.separator).unwrap_or(path).to_owned();
        if level > 0 && !below.derived {
            sort(&name, below, &mut found, &mut around);
        }
        // A tensor may have tensors below it; the parts of a table or a picture are its own.
        let whole = match below.content {
            None | Some(Content::Array(_) | Content::Graph(_)) => false,
            Some(Content::Table(_) | Content::Image(_) | Content::Text(_) | Content::Bytes(_)) => true,
        };
        // Said before a million files are opened for nothing.
        if !whole && below.child_count().is_some_and(|count| count > limits::WALKED) {
            let most = display::count(limits::WALKED);
            return Err(Error::limit(format!("{path:?} has more than {most} parts; name one of them")));
        }
        Ok(!whole)
    })?;
    if found.is_empty() {
        return Err(node
            .problem
            .clone()
            .unwrap_or_else(|| Error::unsupported("there is nothing in it to convert")));
    }
    around.framework = framework(task, source);
    let around = Arc::new(around);
    let item = |item: Item| Item { around: around.clone(), ..item };
    Ok(found.into_iter().map(item).collect())
}

/// What a target of drawings gets of a model whose weights were gathered: its graph.
pub(super) fn drawn(items: &[Item], target: &Target) -> Option<Vec<Item>> {
    if !target.writer.accepts.contains(&Kind::Graph) {
        return None;
    }
    let [first, rest @ ..] = items else { return None };
    let (name, graph) = first.around.graph.as_ref()?;
    // Those of several sources are several graphs.
    let is_one = rest.iter().all(|item| Arc::ptr_eq(&item.around, &first.around));
    let of_all = first.around.groups.iter().find(|(name, _)| name.is_empty());
    let attributes = of_all.map(|(_, attributes)| attributes.clone()).unwrap_or_default();
    is_one.then(|| vec![Item::new(name.clone(), Content::Graph(graph.clone()), attributes)])
}

/// Whether there is an array below a node.
fn has_arrays(task: &Task, node: &Arc<Node>) -> bool {
    let mut found = false;
    // The first one is enough; what cannot be listed has none.
    let _ = open::walk_all(task, node, "", limits::DEPTH, &mut |below, _, _| {
        found |= matches!(below.content, Some(Content::Array(_)));
        Ok(!found)
    });
    found
}

/// Whether a value is of a size for metadata.
fn is_small(value: &serde_json::Value) -> bool {
    /// Bytes of a text among the metadata.
    const MOST: usize = 64 << 10;
    value.as_str().is_none_or(|text| text.len() <= MOST)
}

/// The library whose tensors the format of these bytes holds.
fn framework(task: &Task, source: &Source) -> Option<&'static str> {
    let head = Head::read(task, source, formats::ALL).ok()?;
    sniff::detect(&head, formats::ALL, &[])?.format.framework
}

/// Puts a node where it belongs.
fn sort(name: &str, node: &Node, found: &mut Vec<Item>, around: &mut Around) {
    match &node.content {
        Some(Content::Array(array)) if node.bare_dimension => {
            around.dimensions.push((name.to_owned(), array.shape().first().copied().unwrap_or(0)));
        }
        // Nodes of a graph are a table where the graph alone is asked for; of a model it is the weights that are meant.
        Some(Content::Graph(graph)) => {
            around.left_out.push((name.to_owned(), node.label, false));
            around.graph.get_or_insert_with(|| (name.to_owned(), graph.clone()));
        }
        Some(content) => {
            let shows_attributes = node.shows_attributes;
            let item = Item::new(name, content.clone(), Attributes::of(node));
            found.push(Item { shows_attributes, problem: unread(node), ..item });
        }
        None if node.scalar.as_ref().is_some_and(is_small) => {
            let scalar = node.scalar.clone().unwrap_or_default();
            around.values.push((name.to_owned(), node.label, scalar));
        }
        None if node.value.is_some()
            || matches!(node.children, Children::None) && node.attributes.is_empty() =>
        {
            around.left_out.push((name.to_owned(), node.label, node.value.is_some()));
        }
        // Modules of names with dots are no groups of their own.
        None if node.separator != "/" && node.attributes.is_empty() => {}
        None => around.groups.push((name.to_owned(), Attributes::of(node))),
    }
}

/// Why not all of a node's content can be read, where that is known. Bytes and text are whole whatever their format says
/// of them.
pub fn unread(node: &Node) -> Option<Error> {
    let is_whole = matches!(node.content, Some(Content::Bytes(_) | Content::Text(_)));
    node.problem.clone().filter(|_| !is_whole)
}

/// Which part of the items is converted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Rows of a table.
    pub rows: Option<Range<u64>>,
    /// Columns of a table, by name, in this order.
    pub columns: Option<Vec<String>>,
    /// Elements of an array or a picture, in NumPy's notation.
    pub slice: Option<String>,
}

/// The part of an item that was selected.
pub(super) fn select(item: &Item, selection: &Selection) -> Result<Item> {
    let no = |option: &str, kind: Kind| {
        Err(Error::unsupported(format!("--{option} does not go with {} ({})", kind.word(), item.name)))
    };
    let kind = item.content.kind();
    if kind != Kind::Table && (selection.rows.is_some() || selection.columns.is_some()) {
        return no(if selection.rows.is_some() { "rows" } else { "columns" }, kind);
    }
    let content = match &item.content {
        Content::Table(_) | Content::Text(_) | Content::Graph(_) | Content::Bytes(_)
            if selection.slice.is_some() =>
        {
            return no("slice", kind);
        }
        Content::Table(table) => {
            let fields = table.schema().fields();
            let columns = match &selection.columns {
                None => (0..fields.len()).collect(),
                Some(names) => {
                    names.iter().map(|name| column(table.as_ref(), name)).collect::<Result<Vec<_>>>()?
                }
            };
            let rows = selection.rows.clone().unwrap_or(0..u64::MAX);
            if selection.rows.is_none() && selection.columns.is_none() {
                item.content.clone()
            } else {
                Content::Table(Arc::new(TableView::new(table.clone(), rows, columns)?))
            }
        }
        Content::Array(array) => match &selection.slice {
            Some(slice) => Content::Array(Arc::new(ArrayView::parse(array.clone(), slice)?)),
            None => item.content.clone(),
        },
        Content::Image(image) => match &selection.slice {
            Some(slice) => {
                let array = Arc::new(ImageArray::new(image.clone()));
                Content::Array(Arc::new(ArrayView::parse(array, slice)?))
            }
            None => item.content.clone(),
        },
        Content::Text(_) | Content::Graph(_) | Content::Bytes(_) => item.content.clone(),
    };
    Ok(Item { content, ..item.clone() })
}

fn column(table: &dyn Table, name: &str) -> Result<usize> {
    let found = table.schema().fields().iter().position(|field| field.name() == name);
    found.ok_or_else(|| Error::unsupported(format!("there is no column {name:?}")))
}
