//! What stands in the tree of a document: its elements under their names, lists as tables, models with their graphs.

use super::elements::{self, labelled, numbered};
use super::rows::RowTable;
use super::{Document, graph, terms};
use crate::bytes::error::{Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::content::Content;
use crate::data::node::{Listing, Node, page_of};
use crate::engines::xml::Element;
use std::ops::Range;
use std::sync::Arc;

/// The longest header that is parsed with the document.
const HEADER: u64 = 1 << 20;
/// Elements in elements that stand in the graph of their model.
const IN_GRAPH: &[(&str, &str)] = &[("TreeModel", "Node")];

/// The root of a document.
pub(super) fn root(task: &Task, document: &Arc<Document>) -> Result<Node> {
    let mut root = Node::new("", "PMML");
    let attributes = document.entry(0).map_or(&[][..], |entry| &entry.attributes);
    root.attributes = attributes.iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect();
    let header = document.child(0, "Header");
    let is_short = |header: &u32| {
        document.entry(*header).is_some_and(|entry| entry.span.end.saturating_sub(entry.span.start) <= HEADER)
    };
    if let Some(header) = header.filter(is_short)
        && let Ok((header, _)) = document.part(task, header).unless_cancelled()?
    {
        describe(&mut root, &header);
    }
    root.problem.clone_from(&document.outline.problem);
    let models: Vec<usize> = document
        .entry(0)
        .map_or(&[][..], |entry| &entry.below)
        .iter()
        .enumerate()
        .filter_map(|(n, below)| terms::is_model(document.name(*below)).then_some(n))
        .collect();
    if let [only] = models.as_slice() {
        root.start = names(document, 0).get(*only).map(|name| format!("/{name}"));
    }
    Ok(root.lazy(Below { document: document.clone(), number: 0, path: Arc::from("") }))
}

/// What the header says: who made it, when, by what.
fn describe(root: &mut Node, header: &Element) {
    let mut add = |name: &str, value: Option<&str>| {
        if let Some(value) = value.map(str::trim).filter(|value| !value.is_empty()) {
            root.attributes.push((name.to_owned(), value.into()));
        }
    };
    for name in ["copyright", "description", "modelVersion"] {
        add(name, header.attribute(name));
    }
    if let Some(application) = header.child("Application") {
        add("application", application.attribute("name"));
        add("application version", application.attribute("version"));
    }
    add("timestamp", header.text_of("Timestamp"));
}

/// The elements of the outline that stand below one.
fn shown(document: &Document, number: u32) -> Vec<u32> {
    let name = document.name(number);
    let is_shown = |below: &u32| !IN_GRAPH.contains(&(name, document.name(*below)));
    let below = document.entry(number).map_or(&[][..], |entry| &entry.below);
    below.iter().copied().filter(is_shown).collect()
}

/// The names of what stands below an element.
fn names(document: &Document, number: u32) -> Vec<String> {
    let shown = shown(document, number);
    numbered(shown.iter().map(|below| document.name(*below)))
}

/// The elements and lists in an element of the outline.
struct Below {
    document: Arc<Document>,
    number: u32,
    /// The path of the element.
    path: Arc<str>,
}

impl Listing for Below {
    fn count(&self) -> Option<u64> {
        Some(shown(&self.document, self.number).len() as u64)
    }

    fn page(&self, task: &Task, range: Range<u64>) -> Result<Vec<Arc<Node>>> {
        let names = names(&self.document, self.number);
        let shown = shown(&self.document, self.number);
        page_of(task, range, Some(names.len() as u64), |n| {
            let (Some(name), Some(below)) = (names.get(n as usize), shown.get(n as usize)) else {
                return Ok(None);
            };
            Ok(Some(Arc::new(node(&self.document, *below, name, &self.path))))
        })
    }

    fn boundaries(&self) -> &'static [char] {
        &['/']
    }
}

/// The node of an element or a list of the outline.
fn node(document: &Arc<Document>, number: u32, name: &str, path: &str) -> Node {
    let Some(entry) = document.entry(number) else { return Node::new(name, "element") };
    let path: Arc<str> = format!("{path}/{name}").into();
    let made = labelled(name, &entry.name);
    let mut made = if entry.rows.is_some() {
        table(document, number, made)
    } else if entry.is_part {
        let (document, own) = (document.clone(), name.to_owned());
        Node { label: made.label, type_name: made.type_name, ..deferred_part(document, number, own) }
    } else if graph::is_drawn(&entry.name) {
        let (document, own) = (document.clone(), name.to_owned());
        let label = made.label;
        Node::deferred(name, label, move |task| model(task, &document, number, &own, &path))
    } else {
        container(document, number, made, path)
    };
    made.attributes =
        entry.attributes.iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect();
    if document.text.is_file && entry.span.end > entry.span.start && entry.rows.is_none() {
        made.span = Some(entry.span.clone());
    }
    made
}

/// A part, which is parsed when somebody looks into it. A long one is not.
fn deferred_part(document: Arc<Document>, number: u32, name: String) -> Node {
    Node::deferred(name.clone(), "element", move |task| {
        let (element, problem) = document.part(task, number)?;
        let node = elements::node(&name, element, true);
        Ok(match problem {
            Some(problem) => node.problem(problem),
            None => node,
        })
    })
}

/// A model with its graph, and what lies in it.
fn model(task: &Task, document: &Arc<Document>, number: u32, name: &str, path: &Arc<str>) -> Result<Node> {
    let node = container(document, number, labelled(name, document.name(number)), path.clone());
    Ok(match graph::graph(task, document, number, path).unless_cancelled()? {
        Ok((graph, problem)) => {
            let mut node = node.content(Content::Graph(Arc::new(graph)));
            node.problem = problem;
            node
        }
        Err(problem) => node.problem(problem),
    })
}

/// An element with what lies in it: one that is nothing but a list is its table itself.
fn container(document: &Arc<Document>, number: u32, node: Node, path: Arc<str>) -> Node {
    let below = shown(document, number);
    if let [only] = below.as_slice()
        && !terms::is_model(document.name(number))
        && document.entry(*only).is_some_and(|entry| entry.rows.is_some())
    {
        return table(document, *only, node);
    }
    if below.is_empty() {
        return node;
    }
    node.lazy(Below { document: document.clone(), number, path })
}

fn table(document: &Arc<Document>, number: u32, mut node: Node) -> Node {
    let is_cut = document.entry(number).and_then(|entry| entry.rows.as_ref()).is_some_and(|rows| rows.is_cut);
    if is_cut {
        node = node.remark("it has more columns than are shown");
    }
    match RowTable::new(document, number) {
        Some(table) => node.content(Content::Table(Arc::new(table))),
        None => node,
    }
}

/// The path of the model that lies in a segment, given that of the segment.
pub(super) fn model_in(document: &Document, segment: u32, path: &str) -> Option<(u32, String)> {
    let names = names(document, segment);
    let mut below = shown(document, segment).into_iter().zip(names);
    below
        .find(|(below, _)| terms::is_model(document.name(*below)))
        .map(|(below, name)| (below, format!("{path}/{name}")))
}

/// The segments of a mining model with their paths, up to a limit that no list has.
pub(super) fn segments(document: &Document, model: u32, path: &str) -> Vec<(u32, String)> {
    let Some(segmentation) = document.child(model, "Segmentation") else { return Vec::new() };
    let names = names(document, segmentation);
    shown(document, segmentation)
        .into_iter()
        .zip(names)
        .filter(|(below, _)| document.name(*below) == "Segment")
        .take(limits::WALKED as usize)
        .map(|(below, name)| (below, format!("{path}/Segmentation/{name}")))
        .collect()
}
