//! The hierarchy as nodes: groups and arrays, listed when somebody looks, from consolidated metadata where
//! there are any and from the store.

use super::array;
use super::json::{self, Object};
use super::meta::{self, ArrayMeta};
use super::ome;
use super::python;
use crate::bytes::display::{self, natural_order};
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::cf;
use crate::data::content::array::Axis;
use crate::data::content::{Array, Content};
use crate::data::grouped;
use crate::data::node::{Listing, Node, Value, page_of};
use crate::engines::keys::{Store, is_inside, join};
use parking_lot::Mutex;
use serde_json::Value as Json;
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// A store, and the consolidated metadata that hold where one looks.
#[derive(Clone)]
pub(super) struct Hierarchy {
    pub(super) store: Arc<Store>,
    known: Option<Arc<Known>>,
    /// The axes of arrays that a multiscale image above names, by their paths.
    scales: Option<Arc<HashMap<String, Vec<Axis>>>>,
}

/// Consolidated metadata: documents by their keys, from the root of the store.
#[derive(Default)]
struct Known {
    documents: HashMap<String, Json>,
    /// Names of the nodes below each group.
    children: HashMap<String, BTreeSet<String>>,
    /// How many keys name no node inside of the store, and one of them.
    outside: (u64, Option<String>),
}

/// What lies at a path.
pub(super) enum Found {
    Array(Box<ArrayMeta>),
    Group(Group),
    /// No metadata: a folder with nodes below, or nothing.
    Nothing,
}

/// A group's metadata.
pub(super) struct Group {
    version: u8,
    pub(super) attributes: Object,
    /// Metadata of all nodes below that the group's own document holds.
    consolidated: Option<Json>,
}

impl Hierarchy {
    pub(super) fn new(store: Store) -> Self {
        Hierarchy { store: Arc::new(store), known: None, scales: None }
    }

    /// A metadata document, from the consolidated ones or the store.
    fn document(&self, task: &Task, path: &str, name: &str) -> Result<Option<Json>> {
        let key = join(path, name);
        if let Some(found) = self.known.as_ref().and_then(|known| known.documents.get(&key)) {
            return Ok(Some(found.clone()));
        }
        let bytes = self.store.document(task, &key)?;
        bytes.map(|bytes| json::parse(&key, &bytes)).transpose()
    }

    /// What lies at a path: version 3 before version 2 where both are there.
    pub(super) fn look(&self, task: &Task, path: &str) -> Result<Found> {
        if let Some(document) = self.document(task, path, "zarr.json")? {
            return found_v3(&document);
        }
        if let Some(document) = self.document(task, path, ".zarray")? {
            let (attributes, problem) = self.attributes(task, path)?;
            let mut meta = meta::of_v2(&document, attributes)?;
            meta.remarks.extend(problem);
            return Ok(Found::Array(Box::new(meta)));
        }
        let group = self.document(task, path, ".zgroup")?;
        let consolidated = match self.known {
            Some(_) => None,
            None => self.document(task, path, ".zmetadata")?,
        };
        if group.is_none() && consolidated.is_none() {
            return Ok(Found::Nothing);
        }
        // Consolidated attributes hold for the group itself too.
        let inner = consolidated.as_ref().and_then(|doc| doc.get("metadata")?.get(".zattrs")?.as_object());
        let attributes = match inner {
            Some(inner) => inner.clone(),
            None => self.attributes(task, path)?.0,
        };
        Ok(Found::Group(Group { version: 2, attributes, consolidated }))
    }

    /// `.zattrs`, and what is wrong with it.
    fn attributes(&self, task: &Task, path: &str) -> Result<(Object, Option<String>)> {
        match self.document(task, path, ".zattrs").unless_cancelled()? {
            Ok(Some(Json::Object(object))) => Ok((object, None)),
            Ok(None) => Ok((Object::new(), None)),
            Ok(Some(_)) => {
                Ok((Object::new(), Some(".zattrs is no object; the attributes are lost".to_owned())))
            }
            Err(error) => Ok((Object::new(), Some(format!("the attributes are lost: {error}")))),
        }
    }

    /// With the consolidated metadata of a group at `path`.
    fn with(&self, path: &str, version: u8, consolidated: &Json) -> Self {
        let mut known = Known::default();
        known.add(path, version, consolidated);
        Hierarchy { known: Some(Arc::new(known)), ..self.clone() }
    }

    /// The array at a path, with named axes and nothing else: what others take coordinates from.
    fn plain_array(&self, task: &Task, path: &str) -> Option<cf::Found> {
        let Ok(Found::Array(meta)) = self.look(task, path) else { return None };
        let attributes = array::attributes(&meta.attributes);
        let facts = array::facts(&meta);
        let (array, problem) = array::content(&self.store, path, *meta, facts).ok()?;
        problem.is_none().then_some(cf::Found { attributes, array })
    }

    /// The variable of a name as seen from the array at `path`: beside it, or beside a group above.
    fn variable(&self, task: &Task, path: &str, name: &str) -> Option<cf::Found> {
        if !is_inside(name) || path.is_empty() {
            return None;
        }
        let mut group = path;
        loop {
            group = group.rsplit_once('/').map_or("", |(group, _)| group);
            let found = self.plain_array(task, &join(group, name));
            if found.is_some() || group.is_empty() {
                return found;
            }
        }
    }

    /// The array at `path` with its axes; and its node's attributes.
    pub(super) fn array(
        &self,
        task: &Task,
        path: &str,
        meta: ArrayMeta,
    ) -> Result<(Arc<dyn Array>, Option<Error>)> {
        let mut facts = array::facts(&meta);
        let name = path.rsplit('/').next().unwrap_or_default();
        array::describe(name, &meta, &mut facts, &|name| self.variable(task, path, name));
        let scaled = self.scales.as_ref().and_then(|scales| scales.get(path));
        if let Some(axes) = scaled.filter(|axes| axes.len() == meta.shape.len()) {
            facts.axes.clone_from(axes);
        }
        array::content(&self.store, path, meta, facts)
    }
}

impl Known {
    /// Takes the documents of a group at `path`.
    fn add(&mut self, path: &str, version: u8, consolidated: &Json) {
        let Some(documents) = consolidated.get("metadata").and_then(Json::as_object) else { return };
        for (key, document) in documents {
            // Version 2 names documents, version 3 nodes.
            let node = match version {
                2 => key.rsplit_once('/').map_or("", |(node, _)| node),
                _ => key.as_str(),
            };
            if !node.is_empty() && !is_inside(node) {
                self.outside.0 += 1;
                self.outside.1.get_or_insert_with(|| key.clone());
                continue;
            }
            let full = if version == 2 { join(path, key) } else { join(&join(path, key), "zarr.json") };
            self.documents.insert(full, document.clone());
            let mut below = if node.is_empty() { path.to_owned() } else { join(path, node) };
            while below.len() > path.len() {
                let (group, name) = below.rsplit_once('/').unwrap_or(("", &below));
                let new = self.children.entry(group.to_owned()).or_default().insert(name.to_owned());
                if !new {
                    break;
                }
                below = group.to_owned();
            }
        }
    }
}

impl Known {
    /// What of the metadata is not shown, and why.
    fn remark(&self) -> Option<String> {
        let (count, first) = (self.outside.0, self.outside.1.as_ref()?);
        let shown: String = first.chars().take(80).collect();
        Some(match count {
            1 => format!(
                "the key {shown:?} of the consolidated metadata names no node in here; it is left out"
            ),
            _ => format!(
                "{} keys of the consolidated metadata name no nodes in here, as {shown:?}; they are left out",
                display::count(count)
            ),
        })
    }
}

/// What a `zarr.json` says.
fn found_v3(document: &Json) -> Result<Found> {
    let object = json::object("zarr.json", document)?;
    if let Some(version) = object.get("zarr_format").filter(|version| version.as_u64() != Some(3)) {
        return Err(Error::unsupported(format!("Zarr format {version}; 2 and 3 are known")));
    }
    match object.get("node_type").and_then(Json::as_str) {
        Some("array") => meta::of_v3(document).map(|meta| Found::Array(Box::new(meta))),
        Some("group") => {
            let attributes = object.get("attributes").and_then(Json::as_object).cloned().unwrap_or_default();
            let consolidated = object.get("consolidated_metadata").filter(|c| c.get("metadata").is_some());
            Ok(Found::Group(Group { version: 3, attributes, consolidated: consolidated.cloned() }))
        }
        // Documents of the first drafts have no type but a shape.
        None if object.contains_key("shape") => {
            meta::of_v3(document).map(|meta| Found::Array(Box::new(meta)))
        }
        Some(other) => Err(Error::malformed(format!("zarr.json: the node type {other:?}"))),
        None => Err(Error::malformed("zarr.json: it has no \"node_type\"")),
    }
}

/// The node at `path` under `name`; whatever is wrong with it is its problem.
///
/// # Errors
/// A cancellation only.
pub(super) fn node(task: &Task, hierarchy: &Hierarchy, path: &str, name: &str) -> Result<Node> {
    Ok(made(task, hierarchy, path, name)
        .unless_cancelled()?
        .unwrap_or_else(|error| Node::new(name, "node").problem(error)))
}

fn made(task: &Task, hierarchy: &Hierarchy, path: &str, name: &str) -> Result<Node> {
    match hierarchy.look(task, path).unless_cancelled()? {
        Ok(Found::Array(meta)) => array_node(task, hierarchy, path, name, *meta),
        Ok(Found::Group(group)) => group_node(task, hierarchy, path, name, group),
        Ok(Found::Nothing) => {
            let node = Node::new(name, "group").remark("it has no metadata of its own");
            Ok(node.lazy(Members::listed(task, hierarchy.clone(), path)?))
        }
        Err(error) => {
            // What its document says of it is shown as it is; nodes below may be whole.
            let mut node = Node::new(name, "node").problem(error);
            node.attributes = spelled(hierarchy.document(task, path, "zarr.json").ok().flatten())
                .or_else(|| spelled(hierarchy.document(task, path, ".zarray").ok().flatten()))
                .unwrap_or_default();
            Ok(node)
        }
    }
}

/// The members of a document that could not be understood, and the attributes.
fn spelled(document: Option<Json>) -> Option<Vec<(String, Value)>> {
    let document = document?;
    let object = document.as_object()?;
    let shown = ["shape", "data_type", "dtype", "codecs", "compressor", "filters", "chunk_grid", "chunks"];
    let members = shown.iter().filter_map(|name| Some((*name, object.get(*name)?)));
    let mut all: Vec<(String, Value)> =
        members.map(|(name, value)| (name.to_owned(), Value::from(value.clone()))).collect();
    all.extend(object.get("attributes").and_then(Json::as_object).map(array::attributes).unwrap_or_default());
    Some(all)
}

fn array_node(task: &Task, hierarchy: &Hierarchy, path: &str, name: &str, meta: ArrayMeta) -> Result<Node> {
    let mut node = Node::new(name, "array");
    let all = array::attributes(&meta.attributes);
    // xarray's names of the dimensions, in version 2.
    (node.reserved, node.attributes) = all.into_iter().partition(|(name, _)| name == "_ARRAY_DIMENSIONS");
    node.remarks.clone_from(&meta.remarks);
    let shape = meta.shape.clone();
    if let Some(report) = python::report(task, &hierarchy.store, path, &meta)? {
        node = node.python(report);
    }
    match hierarchy.array(task, path, meta).unless_cancelled()? {
        Ok((array, problem)) => {
            node.problem = problem.or(node.problem);
            Ok(node.content(Content::Array(array)))
        }
        Err(error) => {
            let node = node.problem(error);
            Ok(node.read_as("shape", Json::from(shape)))
        }
    }
}

fn group_node(task: &Task, hierarchy: &Hierarchy, path: &str, name: &str, group: Group) -> Result<Node> {
    let mut inner = match (&group.consolidated, &hierarchy.known) {
        (Some(consolidated), None) => hierarchy.with(path, group.version, consolidated),
        _ => hierarchy.clone(),
    };
    if let Some(scales) = ome::scales(&group.attributes, path) {
        inner.scales = Some(Arc::new(scales));
    }
    let attributes = array::attributes(&group.attributes);
    let label = ome::label(&group.attributes).or_else(|| grouped::label(&attributes));
    let mut node = Node::new(name, label.unwrap_or("group"));
    node.attributes = attributes;
    // Those of a group's own metadata are said where that is.
    if group.consolidated.is_some() && hierarchy.known.is_none() {
        node.remarks.extend(inner.known.as_ref().and_then(|known| known.remark()));
    }
    grouped::complete(task, &GroupOf { hierarchy: &inner, path }, &mut node)?;
    match ome::image(task, &inner, path, &group.attributes).unless_cancelled()? {
        Ok(Some(image)) => node.content = Some(Content::Image(image)),
        Ok(None) => {}
        Err(error) => node.remarks.push(format!("it is no pyramid of images: {error}")),
    }
    Ok(node.lazy(Members::listed(task, inner, path)?))
}

/// A group, for the conventions on groups.
struct GroupOf<'a> {
    hierarchy: &'a Hierarchy,
    path: &'a str,
}

impl grouped::Members for GroupOf<'_> {
    fn find(&self, task: &Task, path: &str) -> Result<Option<grouped::Found>> {
        let full = match path.strip_prefix('/') {
            Some(absolute) => absolute.to_owned(),
            None => join(self.path, path),
        };
        if !is_inside(&full) {
            return Ok(None);
        }
        Ok(match self.hierarchy.look(task, &full)? {
            Found::Array(meta) => {
                let attributes = array::attributes(&meta.attributes);
                let facts = array::facts(&meta);
                let (array, problem) = array::content(&self.hierarchy.store, &full, *meta, facts)?;
                problem.map_or(Ok(()), Err)?;
                Some(grouped::Found { attributes, array: Some(array) })
            }
            Found::Group(group) => {
                Some(grouped::Found { attributes: array::attributes(&group.attributes), array: None })
            }
            Found::Nothing => None,
        })
    }
}

/// The nodes below a group.
struct Members {
    hierarchy: Hierarchy,
    path: String,
    names: OnceLock<Vec<String>>,
    /// Nodes that were made, by their number.
    made: Mutex<HashMap<usize, Arc<Node>>>,
}

impl Members {
    /// The nodes below the group at `path`; their names are looked for, and where that fails it is said when
    /// somebody looks.
    ///
    /// # Errors
    /// A cancellation only.
    fn listed(task: &Task, hierarchy: Hierarchy, path: &str) -> Result<Self> {
        let members = Members {
            hierarchy,
            path: path.to_owned(),
            names: OnceLock::new(),
            made: Mutex::new(HashMap::new()),
        };
        drop(members.names(task).unless_cancelled()?);
        Ok(members)
    }

    /// The names below: those of the consolidated metadata and those of the store.
    fn names(&self, task: &Task) -> Result<&Vec<String>> {
        if let Some(names) = self.names.get() {
            return Ok(names);
        }
        if self.path.split('/').count() > limits::DEPTH {
            return Err(Error::limit(format!("more than {} groups in groups", limits::DEPTH)));
        }
        if self.is_loop() {
            return Err(Error::unsupported("this is a link to a folder that it lies in itself"));
        }
        let known = self.hierarchy.known.as_ref().and_then(|known| known.children.get(&self.path));
        let mut names: BTreeSet<String> = known.cloned().unwrap_or_default();
        let folders = self.hierarchy.store.folders(task, &self.path)?;
        names.extend(folders.into_iter().filter(|name| !name.starts_with('.') && is_inside(name)));
        let mut names: Vec<String> = names.into_iter().collect();
        names.sort_by(|a, b| natural_order(a, b));
        Ok(self.names.get_or_init(|| names))
    }

    /// Whether a link leads from here to a folder above.
    fn is_loop(&self) -> bool {
        let Some((above, _)) =
            self.path.rsplit_once('/').or(Some(("", ""))).filter(|_| !self.path.is_empty())
        else {
            return false;
        };
        match (self.hierarchy.store.real(&self.path), self.hierarchy.store.real(above)) {
            (Some(here), Some(above)) => above.starts_with(&here),
            _ => false,
        }
    }

    fn node(&self, task: &Task, number: usize, name: &str) -> Result<Arc<Node>> {
        if let Some(node) = self.made.lock().get(&number) {
            return Ok(node.clone());
        }
        let node = Arc::new(node(task, &self.hierarchy, &join(&self.path, name), name)?);
        let mut made = self.made.lock();
        if made.len() < limits::LISTED as usize {
            made.insert(number, node.clone());
        }
        Ok(node)
    }
}

impl Listing for Members {
    fn count(&self) -> Option<u64> {
        self.names.get().map(|names| names.len() as u64)
    }

    fn page(&self, task: &Task, range: Range<u64>) -> Result<Vec<Arc<Node>>> {
        let names = self.names(task)?;
        let node = |n: usize| names.get(n).map(|name| self.node(task, n, name)).transpose();
        page_of(task, range, None, |n| node(n as usize))
    }

    fn find(&self, task: &Task, name: &str) -> Result<Option<Arc<Node>>> {
        match self.names(task)?.iter().position(|known| known == name) {
            Some(number) => self.node(task, number, name).map(Some),
            None => Ok(None),
        }
    }
}
