//! The tree: groups, whose children are read by pages, datasets with their arrays and tables, committed
//! datatypes, and links with what they lead to. Links that lead back to a group above end there.

use super::attribute;
use super::axes::{self, Seen};
use super::conventions::{self, Flavour};
use super::data::{self, Delivery};
use super::file_index::FileIndex;
use super::links::{Link, Links, Target};
use super::matlab;
use super::members::GroupOf;
use super::message::Layout;
use super::nexus::{self, Plot};
use super::object::{Dataset, Object, kind};
use super::variables::Variables;
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::source::Growth;
use crate::bytes::task::Task;
use crate::data::cf;
use crate::data::content::{Array, Content};
use crate::data::grouped;
use crate::data::keras;
use crate::data::node::{Children, Listing, Node};
use crate::engines::matlab::BOUNDARIES;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// How many groups that have several links may lie in each other.
const ALIASES: u32 = 8;

/// The groups from the root down to one.
pub struct Above {
    /// The object header's address.
    address: u64,
    /// The path of the node.
    path: String,
    /// How many of them were reached by links beside the first hard one.
    aliases: u32,
    /// How many lie above it.
    depth: usize,
    up: Option<Arc<Above>>,
}

/// An object to be shown.
struct ListedObject<'a> {
    book: &'a Arc<FileIndex>,
    above: Option<&'a Arc<Above>>,
    name: &'a str,
    /// How it was reached; `None` by a hard link.
    link: Option<&'static str>,
    /// Whether a dataset of references led to it.
    referred: bool,
    /// The names that its group has for its axes.
    axes: &'a [String],
}

/// The children of a group.
struct Group {
    book: Arc<FileIndex>,
    links: Arc<Links>,
    above: Arc<Above>,
    /// The names of a NetCDF-4 group's variables.
    variables: Variables,
    /// It is shown elsewhere already: children are found by name, but not listed.
    closed: bool,
    /// The damage that the group's node tells of already.
    told: bool,
    /// What NeXus plots of it.
    plot: Option<Plot>,
    nodes: Mutex<HashMap<u64, Arc<Node>>>,
}

/// The root node of a file.
///
/// # Errors
/// Only a cancellation: a root group that cannot be read is the node's problem.
pub fn root(task: &Task, book: &Arc<FileIndex>) -> Result<Node> {
    let shown = ListedObject { book, above: None, name: "", link: None, referred: false, axes: &[] };
    let mut node = shown.node(task, book.root())?;
    node.label = "file";
    conventions::describe(&mut node);
    keras::complete(&mut node)?;
    node.start = nexus::start(task, book, &node.attributes)?;
    node.remarks.extend(node.start.iter().map(|path| format!("its default plot is {path}")));
    let superblock = book.file().superblock();
    if superblock.damaged {
        node.remarks.push("the superblock's checksum is wrong; it may be damaged".to_owned());
    }
    if !matlab::root(task, book.file(), &mut node)? && superblock.start > 0 {
        node.remarks.push(format!("a user block of {} bytes stands before the HDF5 data", superblock.start));
    }
    if superblock.version == 3 && superblock.flags & 1 > 0 {
        let is_swmr = superblock.flags & 4 > 0;
        if is_swmr {
            // Its writer keeps an order in which readers find each structure whole.
            book.file().source().grows(Growth::Live)?;
        }
        let how = if is_swmr { " by a writer that others may read beside (SWMR)" } else { "" };
        node.remarks.push(format!("the file is marked as open for writing{how}; it may be incomplete"));
    }
    if let Some(end) = superblock.end.filter(|end| *end > book.file().len()) {
        let error = Error::malformed(format!(
            "HDF5 file: it ends at byte {} and should have {end}; it may be cut off",
            book.file().len()
        ));
        node.problem.get_or_insert(error);
    }
    Ok(node)
}

/// The node of one object, as an external link's file shows it.
pub fn object(
    task: &Task,
    book: &Arc<FileIndex>,
    address: u64,
    name: &str,
    label: &'static str,
) -> Result<Node> {
    ListedObject { book, above: None, name, link: Some(label), referred: false, axes: &[] }
        .node(task, address)
}

/// The node of an object that a dataset of references in `above` leads to.
pub fn referred(
    task: &Task,
    book: &Arc<FileIndex>,
    above: &Arc<Above>,
    name: &str,
    address: u64,
) -> Result<Node> {
    ListedObject { book, above: Some(above), name, link: None, referred: true, axes: &[] }.node(task, address)
}

impl Above {
    fn contains(&self, address: u64) -> Option<&str> {
        if self.address == address {
            return Some(&self.path);
        }
        self.up.as_ref().and_then(|up| up.contains(address))
    }
}

/// Cancellations go up, other errors become the node's problem.
fn noting<T>(node: &mut Node, result: Result<T>) -> Result<Option<T>> {
    match result.unless_cancelled()? {
        Ok(value) => Ok(Some(value)),
        Err(error) => {
            if node.problem.is_some() {
                node.remarks.push(error.message());
            } else {
                node.problem = Some(error);
            }
            Ok(None)
        }
    }
}

impl ListedObject<'_> {
    /// The node of the object at `address`.
    fn node(&self, task: &Task, address: u64) -> Result<Node> {
        task.check()?;
        let file = self.book.file();
        let mut node = Node::new(self.name, self.link.unwrap_or("object"));
        let object = Object::read(file, task, address);
        let Some(object) = noting(&mut node, object)? else { return Ok(node) };
        for problem in &object.problems {
            noting::<()>(&mut node, Err(problem.clone()))?;
        }
        self.attributes(task, &object, &mut node)?;
        let is_dataset = [kind::LAYOUT, kind::DATASPACE].iter().any(|kind| object.find(*kind).is_some());
        if is_dataset {
            node.label = self.label(&node, "dataset");
            let filled = self.dataset(task, &object, &mut node);
            noting(&mut node, filled)?;
        } else if object.find(kind::DATATYPE).is_some() {
            node.label = self.link.unwrap_or("datatype");
            let described = describe(task, self.book, &object);
            if let Some(text) = noting(&mut node, described)? {
                node.remarks.push(text);
            }
        } else {
            let links = self.book.links_of(task, &object);
            match noting(&mut node, links)? {
                Some(Some(links)) => self.group(task, &object, links, &mut node)?,
                Some(None) if object.messages.is_empty() && object.problems.is_empty() => {
                    node.remarks.push("an object of no known kind".to_owned());
                }
                _ => {}
            }
        }
        conventions::reserve(&mut node);
        Ok(node)
    }

    /// The link's word, the convention's, or HDF5's.
    fn label(&self, node: &Node, word: &'static str) -> &'static str {
        self.link.or_else(|| conventions::label(&node.attributes)).unwrap_or(word)
    }

    fn attributes(&self, task: &Task, object: &Object, node: &mut Node) -> Result<()> {
        let file = self.book.file();
        let (attributes, problem) = attribute::all(file, task, object)?;
        if let Some(problem) = problem {
            noting::<()>(node, Err(problem))?;
        }
        let names = self.book.names();
        let list: Vec<_> = attributes.iter().map(attribute::Attribute::stored).collect();
        if !list.is_empty() {
            node.places = Some(Arc::new(attribute::AttributePlaces { file: file.clone(), list }));
        }
        for attribute in attributes {
            let value = attribute.value(file, task, names.as_ref());
            let Some((value, cut)) = noting(node, value)? else { continue };
            if cut {
                node.remarks.push(format!("attribute {}: only its first values are shown", attribute.name));
            }
            let value = match self.book.flavour {
                Flavour::NetCdf => axes::single(&value),
                Flavour::Plain => matlab::spelled(&attribute.name, value),
            };
            super::pickled::note(task, &attribute.name, &attribute.data, node)?;
            if let Some(dtype) = attribute.dtype() {
                node.attribute_types.insert(attribute.name.clone(), dtype);
            }
            node.attributes.push((attribute.name, value));
        }
        if let Some(message) = object.find(kind::COMMENT) {
            let comment = super::message::text(&message.data);
            node.attributes.push(("comment".to_owned(), comment.into()));
        }
        Ok(())
    }

    fn dataset(&self, task: &Task, object: &Object, node: &mut Node) -> Result<()> {
        let file = self.book.file();
        let mut dataset = object.dataset(file, task)?;
        node.span = span(self.book, &dataset);
        // What came from MATLAB into another format is there what its attributes say.
        let is_plain = matches!(self.book.flavour, Flavour::Plain);
        let said = matlab::MatlabAttributes::of(&node.attributes).filter(|_| is_plain);
        if let Some(said) = &said {
            matlab::rename_parts(&mut dataset);
            if said.has_cells(&dataset) {
                let (above, closed) = self.below(dataset.address, false, node);
                return matlab::cells(task, self.book, Some(above).filter(|_| !closed), &dataset, node);
            }
        }
        let opened = data::open(task, file, &dataset, self.book.names())?;
        if let Some(problem) = opened.problem.clone() {
            noting::<()>(node, Err(problem))?;
        }
        if let Some(said) = said {
            return said.fill(task, file, opened.array, node);
        }
        node.content = Some(match opened.content(self.name, &dataset)? {
            Content::Array(array) => {
                let described = self.described(task, node, &array)?;
                if described.dtype() != array.dtype() {
                    node.remarks.push(cf::UNSIGNED.to_owned());
                }
                Content::Array(described)
            }
            other => other,
        });
        Ok(())
    }

    /// The array with its axes.
    fn described(&self, task: &Task, node: &Node, array: &Arc<dyn Array>) -> Result<Arc<dyn Array>> {
        let mut groups = Vec::new();
        let mut above = self.above;
        while let Some(group) = above {
            groups.push(group.address);
            above = group.up.as_ref();
        }
        let (book, name, attributes) = (self.book, self.name, node.attributes.as_slice());
        axes::described(task, &Seen { book, groups: &groups, name, attributes, array, axes: self.axes })
    }

    /// What is above the members of the group or dataset of references at `address`, and whether they are not
    /// listed: since it leads back, or since there is no end of it.
    fn below(&self, address: u64, linked: bool, node: &mut Node) -> (Arc<Above>, bool) {
        let circle = self.above.and_then(|above| above.contains(address));
        let aliases = self.above.map_or(0, |above| above.aliases);
        let is_alias = self.link.is_some() || self.referred || linked;
        let path = match self.above {
            Some(above) => format!("{}/{}", above.path, self.name),
            None => String::new(),
        };
        if let Some(circle) = circle {
            let circle = if circle.is_empty() { "/" } else { circle };
            node.remarks.push(format!("it leads back to {circle}, which is above it"));
        }
        // Groups with several links to each can make a file of a few kilobytes a tree without end.
        let many = is_alias && (aliases >= ALIASES || !self.book.shown_again(address));
        if many && circle.is_none() {
            node.remarks.push("a group with several links to it; not listed here once more".to_owned());
        }
        let depth = self.above.map_or(0, |above| above.depth + 1);
        let deep = depth > 2 * limits::DEPTH;
        if deep {
            node.remarks.push(format!("groups nest deeper than {}; not listed", 2 * limits::DEPTH));
        }
        let aliases = aliases + u32::from(is_alias);
        let above = Above { address, path, aliases, depth, up: self.above.cloned() };
        (Arc::new(above), circle.is_some() || many || deep)
    }

    fn group(&self, task: &Task, object: &Object, links: Arc<Links>, node: &mut Node) -> Result<()> {
        node.label = self.label(node, "group");
        let (above, closed) = self.below(object.address, object.references > 1, node);
        links.probe(task)?;
        let problem = links.problem();
        let told = problem.is_some();
        if let Some(problem) = problem {
            noting::<()>(node, Err(problem))?;
        }
        let members = GroupOf { book: self.book, address: object.address };
        let sparse = matlab::sparse(task, &members, &node.attributes);
        node.content = noting(node, sparse)?.flatten();
        if !closed && matlab::structs(task, self.book, &above, &links, node)? {
            return Ok(());
        }
        let plot = nexus::plot(task, self.book, object.address, &node.attributes)?;
        grouped::complete(task, &members, node)?;
        let variables = match self.book.flavour {
            Flavour::NetCdf => Variables::of(task, self.book, object.address, &links)?,
            Flavour::Plain => Variables::default(),
        };
        let book = self.book.clone();
        let group = Group { book, links, above, variables, closed, told, plot, nodes: Mutex::default() };
        node.children = match group.links.count() {
            Some(0) => Children::None,
            _ => Children::Lazy(Arc::new(group)),
        };
        keras::order(node);
        Ok(())
    }
}

/// The type that a committed datatype is, in words.
fn describe(task: &Task, book: &FileIndex, object: &Object) -> Result<String> {
    let datatype = object.datatype(book.file(), task)?;
    let datatype = datatype.ok_or_else(|| Error::malformed("HDF5 datatype: it is not there"))?;
    let way = Delivery::new(&datatype)?;
    let dims = if way.dims.is_empty() { String::new() } else { format!(" {:?}", way.dims) };
    let names: Vec<String> =
        way.names.iter().take(64).map(|(value, name)| format!("{name} = {value}")).collect();
    let names = if names.is_empty() { String::new() } else { format!(": {}", names.join(", ")) };
    Ok(format!("the type {}{dims}{names}", way.dtype))
}

/// Where the elements lie, if they lie in one piece of this file.
fn span(book: &FileIndex, dataset: &Dataset) -> Option<Range<u64>> {
    let Layout::Contiguous { address: Some(address), .. } = dataset.layout else { return None };
    if dataset.external.is_some() {
        return None;
    }
    let start = book.file().position(address).ok()?;
    let bytes = limits::bytes(&dataset.space.dims, dataset.datatype.size).ok()?;
    // Of a file that is cut off, what is there.
    let end = start.checked_add(bytes)?.min(book.file().len());
    (start < end).then_some(start..end)
}

impl Group {
    /// The node of one link.
    fn node(&self, task: &Task, link: &Link) -> Result<Arc<Node>> {
        let axes = match &self.plot {
            Some(plot) if *plot.signal == *link.name => plot.axes.as_slice(),
            _ => &[],
        };
        let name = self.variables.shown(&link.name);
        let shown = |link_label| ListedObject {
            axes,
            book: &self.book,
            above: Some(&self.above),
            name,
            link: link_label,
            referred: false,
        };
        let node = match &link.target {
            Target::Hard(address) => shown(None).node(task, *address)?,
            Target::Soft(path) => {
                let mut node = Node::new(&*link.name, "soft link");
                let place = self.book.follow(task, self.above.address, path);
                match noting(&mut node, place)? {
                    Some(Some(place)) if Arc::ptr_eq(&place.book, &self.book) => {
                        node = shown(Some("soft link")).node(task, place.address)?;
                    }
                    Some(Some(place)) => {
                        node = object(task, &place.book, place.address, &link.name, "soft link")?;
                    }
                    Some(None) => node.remarks.push("there is nothing at the path it names".to_owned()),
                    None => {}
                }
                node.remark(format!("a soft link to {path}"))
            }
            Target::External(target) => self.external(link, &target.0, &target.1),
            Target::Unknown(class) => Node::new(&*link.name, "link").remark(format!(
                "a link of the user-defined class {class}, which only its program can follow"
            )),
        };
        Ok(Arc::new(node))
    }

    /// An external link: its file is opened when somebody looks.
    fn external(&self, link: &Link, file: &str, path: &str) -> Node {
        let (book, file_name, target) = (self.book.clone(), file.to_owned(), path.to_owned());
        Node::deferred(&*link.name, "external link", move |task| external(task, &book, &file_name, &target))
            .remark(format!("an external link to {path} in {file}"))
    }
}

impl Listing for Group {
    fn boundaries(&self) -> &'static [char] {
        BOUNDARIES
    }

    fn count(&self) -> Option<u64> {
        if self.closed { Some(0) } else { self.links.count().map(|count| self.variables.count(count)) }
    }

    fn page(&self, task: &Task, range: Range<u64>) -> Result<Vec<Arc<Node>>> {
        if self.closed {
            return Ok(Vec::new());
        }
        let range = range.start..range.end.min(range.start.saturating_add(limits::LISTED));
        let mut page = Vec::new();
        let mut links = Vec::new();
        for part in self.variables.places(range.clone()) {
            links.extend((part.start..).zip(self.links.page(task, part)?));
        }
        for (n, link) in links {
            task.check()?;
            let known = self.nodes.lock().get(&n).cloned();
            let node = match known {
                Some(node) => node,
                None => {
                    let node = self.node(task, &link)?;
                    let mut nodes = self.nodes.lock();
                    if nodes.len() as u64 >= limits::LISTED {
                        nodes.clear();
                    }
                    nodes.entry(n).or_insert(node).clone()
                }
            };
            page.push(node);
        }
        // Damage that showed only now stands behind the last child that is there.
        let whole = (page.len() as u64) < range.end - range.start;
        if whole
            && !self.told
            && !(page.is_empty() && range.start > 0)
            && let Some(problem) = self.links.problem()
        {
            page.push(Arc::new(Node::new("…", "links that cannot be read").problem(problem)));
        }
        Ok(page)
    }

    fn find(&self, task: &Task, name: &str) -> Result<Option<Arc<Node>>> {
        match self.links.find(task, &self.variables.link(name))? {
            Some(link) => self.node(task, &link).map(Some),
            None => Ok(None),
        }
    }
}

/// What an external link to a path in another file leads to.
fn external(task: &Task, book: &Arc<FileIndex>, file: &str, path: &str) -> Result<Node> {
    let label = "external link";
    let node = match book.other(task, file).unless_cancelled()? {
        Ok(Some(other)) if Arc::ptr_eq(&other, book) => {
            Node::new("", label).remark("it leads into this file")
        }
        Ok(Some(other)) => match other.follow(task, other.root(), path)? {
            Some(place) => object(task, &place.book, place.address, "", label)?,
            None => Node::new("", label).remark("there is nothing at the path it names"),
        },
        Ok(None) => Node::new("", label)
            .remark("the file is not there; only files in this file's own folder are looked for"),
        Err(error) => Node::new("", label).problem(error),
    };
    Ok(node.remark(format!("an external link to {path} in {file}")))
}
