//! Groups and arrays: folders, those of the array's blocks left out.

use super::DOCUMENT;
use super::attributes::{self, Compression, Dataset, Object, Space};
use super::block::{self, Blocks, Lists};
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::source::Source;
use crate::bytes::strides;
use crate::bytes::task::Task;
use crate::data::chunked::Chunked;
use crate::data::content::{ArrayFacts, Content};
use crate::data::node::{Listing, Node};
use crate::engines::keys::{Store, join};
use serde_json::Value as Json;
use std::ops::Range;
use std::sync::Arc;

/// How deep groups nest.
const DEEP: usize = 32;
/// How many of a folder's children are looked at to find whether it is one of N5.
const LOOKED_AT: usize = 20;

/// The store of a hierarchy.
pub(super) struct Hierarchy(Arc<Store>);

impl Hierarchy {
    pub(super) fn open(task: &Task, source: &Source) -> Result<Arc<Hierarchy>> {
        Ok(Arc::new(Hierarchy(Arc::new(Store::open(task, source)?))))
    }

    /// The document of a folder; empty where it has none.
    fn document(&self, task: &Task, path: &str) -> Result<Object> {
        let key = join(path, DOCUMENT);
        let Some(bytes) = self.0.document(task, &key)? else { return Ok(Object::new()) };
        match serde_json::from_slice(&bytes) {
            Ok(Json::Object(object)) => Ok(object),
            Ok(_) => Err(Error::malformed(format!("{DOCUMENT}: it is no JSON object"))),
            Err(error) => Err(Error::malformed(format!("{DOCUMENT}: it is no JSON: {error}"))),
        }
        .map_err(|e| e.in_file(self.0.place(&key)))
    }

    /// The folders below one, without hidden ones.
    fn folders(&self, task: &Task, path: &str) -> Result<Vec<String>> {
        Ok(self.0.folders(task, path)?.into_iter().filter(|name| !name.starts_with('.')).collect())
    }

    /// Whether the documents here, or right below, are N5's.
    pub(super) fn is_n5(&self, task: &Task) -> Result<bool> {
        let is = |document: &Result<Object>| {
            document.as_ref().is_ok_and(|json| json.contains_key("n5") || Dataset::read(json).is_some())
        };
        if is(&self.document(task, "")) {
            return Ok(true);
        }
        Ok(self.folders(task, "")?.iter().take(LOOKED_AT).any(|name| is(&self.document(task, name))))
    }

    /// The root.
    pub(super) fn root(self: Arc<Self>, task: &Task, name: &str) -> Result<Node> {
        let mut node = self.node(task, "", name, &Space::default(), 0)?;
        if node.label == "group" {
            node.label = "N5";
        }
        (node.reader, node.attributes) =
            node.attributes.into_iter().partition(|(key, _)| key == attributes::VERSION);
        Ok(node)
    }

    /// The node of a folder.
    fn node(
        self: &Arc<Self>,
        task: &Task,
        path: &str,
        name: &str,
        around: &Space,
        depth: usize,
    ) -> Result<Node> {
        let (json, problem) = match self.document(task, path).unless_cancelled()? {
            Ok(json) => (json, None),
            Err(error) => (Object::new(), Some(error)),
        };
        let space = Space::within(&json, around);
        let mut node = match Dataset::read(&json) {
            Some(Ok(dataset)) => self.array(task, path, name, &json, dataset, &space),
            Some(Err(error)) => Node::new(name, "dataset").problem(error),
            None if depth >= DEEP => {
                Node::new(name, "group").problem(Error::limit(format!("groups nest more than {DEEP} deep")))
            }
            None => Node::new(name, "group").lazy(Group {
                store: self.clone(),
                path: path.to_owned(),
                space,
                depth: depth + 1,
            }),
        };
        node.attributes = attributes::attributes(&json, node.label == "dataset");
        node.problem = problem.or(node.problem);
        Ok(node)
    }

    fn array(
        self: &Arc<Self>,
        task: &Task,
        path: &str,
        name: &str,
        json: &Object,
        dataset: Dataset,
        space: &Space,
    ) -> Node {
        let node = Node::new(name, "dataset");
        let problem = match &dataset.compression {
            Compression::Unknown(word) => Some(Error::unsupported(format!("compression {word:?}"))),
            _ => None,
        };
        match self.chunked(task, path, name, json, dataset, space) {
            Ok((array, is_lists)) => {
                let node = Node { problem, ..node.content(Content::Array(Arc::new(array))) };
                match is_lists {
                    true => {
                        node.remark("blocks of variable length: an element is the list of one block's values")
                    }
                    false => node,
                }
            }
            Err(error) => node.problem(error),
        }
    }

    /// The array, and whether its elements are whole blocks of variable length.
    fn chunked(
        self: &Arc<Self>,
        task: &Task,
        path: &str,
        name: &str,
        json: &Object,
        dataset: Dataset,
        space: &Space,
    ) -> Result<(Chunked, bool)> {
        let facts = ArrayFacts {
            codecs: dataset.compression.words(),
            byte_order: (dataset.dtype.swap_unit() > 1).then_some("big"),
            axes: space.axes(json, name, dataset.shape.len()),
            ..ArrayFacts::default()
        };
        let (dtype, shape, block) = (dataset.dtype.clone(), dataset.shape.clone(), dataset.block.clone());
        let grid = strides::counts(&shape, &block);
        let fill = block::fill(&dtype);
        let blocks = Blocks { store: self.0.clone(), path: path.to_owned(), dataset, grid: grid.clone() };
        if blocks.are_lists(task)? {
            let list = |sides: &[u64]| sides.iter().map(u64::to_string).collect::<Vec<_>>().join(" × ");
            let mut facts = ArrayFacts { axes: Vec::new(), ..facts };
            facts.details.push(("dimensions".to_owned(), list(&shape)));
            facts.details.push(("block size".to_owned(), list(&block)));
            let ones = vec![1; grid.len()];
            let array = Chunked::new(Lists::dtype(&dtype)?, grid, ones, vec![], Arc::new(Lists(blocks)))?;
            return Ok((array.facts(facts), true));
        }
        let array = Chunked::new(dtype, shape, block, vec![], Arc::new(blocks))?.facts(facts);
        Ok(match fill {
            Some(fill) => (array.fill_column(fill), false),
            None => (array, false),
        })
    }
}

/// What is in a group.
struct Group {
    store: Arc<Hierarchy>,
    path: String,
    space: Space,
    depth: usize,
}

impl Group {
    fn child(&self, task: &Task, name: &str) -> Result<Arc<Node>> {
        let path = join(&self.path, name);
        self.store.node(task, &path, name, &self.space, self.depth).map(Arc::new)
    }
}

impl Listing for Group {
    fn count(&self) -> Option<u64> {
        None
    }

    fn page(&self, task: &Task, range: Range<u64>) -> Result<Vec<Arc<Node>>> {
        let names = self.store.folders(task, &self.path)?;
        let end = range.end.min(names.len() as u64) as usize;
        let start = range.start.min(end as u64) as usize;
        let names = names.get(start..end).unwrap_or_default();
        names.iter().map(|name| self.child(task, name)).collect()
    }

    fn find(&self, task: &Task, name: &str) -> Result<Option<Arc<Node>>> {
        let there = !name.contains('/') && self.store.folders(task, &self.path)?.iter().any(|n| n == name);
        if there { self.child(task, name).map(Some) } else { Ok(None) }
    }
}
