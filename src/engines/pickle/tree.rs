//! Values as nodes: the type as the label, scalars with their value, containers with what they hold.

use super::content;
use super::machine::{Id, Pickle, Value};
use super::names::{Report, Verdict};
use super::resolve::{Resolved, Resolver};
use super::shared::Shared;
use super::view::Run;
use crate::bytes::error::Result;
use crate::bytes::task::Task;
use crate::data::cell;
use crate::data::node::{Listing, Node, page_of};
use bytes::Bytes;
use serde_json::Value as Json;
use std::ops::Range;
use std::sync::Arc;

/// How deep values are opened.
pub(super) const DEEP: usize = 64;

/// The value of the first pickle in `bytes` as a node, in which `resolver` says what more than plain data becomes; what
/// all pickles in them would import stands beside it.
///
/// # Errors
/// `Cancelled`. A broken pickle is a node with a problem.
pub fn node(task: &Task, name: &str, bytes: &Bytes, resolver: impl Resolver + 'static) -> Result<Node> {
    let pickle = Pickle::read(task, bytes, 0)?;
    let report = super::examine(task, bytes)?;
    Ok(node_of(task, name, pickle, resolver)?.python(report))
}

/// The value of a pickle that was read, as a node; without its report.
///
/// # Errors
/// `Cancelled`. A broken pickle is a node with a problem.
pub fn node_of(task: &Task, name: &str, pickle: Pickle, resolver: impl Resolver + 'static) -> Result<Node> {
    Ok(Values::new(task, pickle, resolver)?.root(name))
}

/// The values of a pickle as nodes, in which a [`Resolver`] says what more than plain data becomes; at a level of the
/// tree.
#[derive(Clone)]
pub struct Values {
    tree: Arc<Tree>,
    depth: usize,
}

impl Values {
    /// Of a pickle that was walked through.
    ///
    /// # Errors
    /// `Cancelled`.
    pub fn new(task: &Task, pickle: Pickle, resolver: impl Resolver + 'static) -> Result<Values> {
        let shared = Shared::of(task, &pickle)?;
        let tree = Arc::new(Tree { pickle: Arc::new(pickle), shared, resolver: Box::new(resolver) });
        Ok(Values { tree, depth: 0 })
    }

    /// The pickle.
    pub fn pickle(&self) -> &Pickle {
        &self.tree.pickle
    }

    /// The node of the whole, with what is wrong with the pickle.
    pub fn root(&self, name: &str) -> Node {
        let mut node = match self.pickle().root().or_else(|| self.pickle().rest()) {
            Some(root) => of(&self.tree, root, name, 0, None),
            None => Node::new(name, "pickle"),
        };
        node.problem = node.problem.or_else(|| self.pickle().fault().cloned());
        if self.pickle().outside() > 0 {
            let many = self.pickle().outside();
            node.remarks
                .push(format!("{many} of its buffers were handed over beside it and are not in the file"));
        }
        node
    }

    /// The nodes of what the root holds, a part of a value at this depth.
    pub(super) fn parts(&self, depth: usize) -> Vec<Node> {
        let Some(root) = self.pickle().root() else { return Vec::new() };
        let base = self.pickle().facts.base;
        let mut nodes = Vec::new();
        for run in &self.pickle().view(root).runs {
            for n in 0..run.count() {
                let Some((name, id)) = run.child(self.pickle(), n) else { continue };
                let name =
                    if matches!(run, Run::Items(_)) { n.saturating_add(base).to_string() } else { name };
                nodes.push(of(&self.tree, id, &name, depth + 1, Some((root, n))));
            }
        }
        nodes
    }

    /// Whether what is looked at is the whole.
    pub fn is_root(&self) -> bool {
        self.depth == 0
    }

    /// The node of a value that lies in the one that is looked at.
    pub fn below(&self, id: Id, name: &str) -> Node {
        of(&self.tree, id, name, self.depth + 1, None)
    }

    /// The same values a level deeper; `None` where it is too deep to be opened.
    pub fn deeper(&self) -> Option<Values> {
        (self.depth < DEEP).then(|| Values { tree: self.tree.clone(), depth: self.depth + 1 })
    }
}

/// The values, and who knows what they become.
struct Tree {
    pickle: Arc<Pickle>,
    shared: Shared,
    resolver: Box<dyn Resolver>,
}

/// One value, and at which place of which other one it is.
fn of(tree: &Arc<Tree>, id: Id, name: &str, depth: usize, place: Option<(Id, u64)>) -> Node {
    let pickle = &tree.pickle;
    if let Value::Elsewhere(at, word) = pickle.value(id) {
        let node = Node::new(name, word).value(format!("(the same object as the one at byte {at})"));
        return node.read_as("same object as", format!("the one at byte {at}"));
    }
    let open = pickle.value(id).is_open();
    if let Some(node) = tree.resolver.node(&Values { tree: tree.clone(), depth }, id, name) {
        return node;
    }
    let view = pickle.view(id);
    let mut node = Node::new(name, fixed(&view.label));
    match open.then(|| tree.resolver.resolve(pickle, id, name)).flatten() {
        Some(Ok(Resolved { label, content })) => return Node { label, ..node }.content(content),
        Some(Err(error)) => node.problem = Some(error),
        None => {}
    }
    if node.label == "object" {
        node.type_name = Some(view.label.as_ref().into());
        node = node.read_as("type", view.label.as_ref());
    }
    let (content, beside) = content::of(pickle, id, name);
    match content {
        Some(Ok(content)) => node = node.content(content),
        Some(Err(error)) if node.problem.is_none() => node.problem = Some(error),
        _ => {}
    }
    if node.content.is_none() {
        node.value = view.value;
        node.scalar = scalar(pickle, id);
    }
    if let Some(length) = view.length {
        node.length = Some(length);
        node = node.read_as("length", serde_json::Value::from(length));
    }
    for (name, text) in view.notes {
        node = node.read_as(name, text);
    }
    let count: u64 = view.runs.iter().map(Run::count).sum::<u64>() + beside.len() as u64;
    if count == 0 {
        return node;
    }
    if let Some(home) = place.and_then(|(parent, at)| tree.shared.elsewhere(id, parent, at)) {
        let whose = tree.shared.name(pickle, home);
        let whose = whose.map_or_else(|| "the whole".to_owned(), |name| format!("{name:?}"));
        if tree.shared.is_large(id) {
            node.value = Some(format!("(the same object as {whose})"));
            return node.read_as("same object as", whose);
        }
        node = node.read_as("same object as", whose);
    }
    if depth >= DEEP {
        return node.remark(format!("values more than {DEEP} deep are not opened"));
    }
    node.lazy(Below { tree: tree.clone(), id, count, depth, beside })
}

/// A value that JSON has too.
fn scalar(pickle: &Pickle, id: Id) -> Option<Json> {
    match pickle.value(id) {
        Value::None => Some(Json::Null),
        Value::Bool(value) => Some(Json::from(*value)),
        Value::Int(value) => Some(Json::from(*value)),
        // As words where JSON has no such number.
        Value::Float(value) if !value.is_finite() => Some(Json::from(cell::float64(*value))),
        Value::Float(value) => Some(Json::from(*value)),
        Value::Text(_) => pickle.text(id).map(Json::from),
        _ => None,
    }
}

/// The labels that are fixed words; all others are `object`, and the name of the type stands beside it.
fn fixed(label: &str) -> &'static str {
    const KNOWN: [&str; 20] = [
        "NoneType",
        "bool",
        "int",
        "float",
        "str",
        "bytes",
        "bytearray",
        "list",
        "tuple",
        "dict",
        "set",
        "frozenset",
        "complex",
        "numpy.ndarray",
        "collections.OrderedDict",
        "type",
        "function",
        "instance",
        "collections.deque",
        "collections.defaultdict",
    ];
    KNOWN.into_iter().find(|known| *known == label).unwrap_or("object")
}

/// What a value holds, made when somebody looks.
struct Below {
    tree: Arc<Tree>,
    id: Id,
    count: u64,
    depth: usize,
    /// What stands before what the value holds: the mask of an array.
    beside: Vec<Node>,
}

impl Listing for Below {
    fn count(&self) -> Option<u64> {
        Some(self.count)
    }

    fn page(&self, task: &Task, range: Range<u64>) -> Result<Vec<Arc<Node>>> {
        let runs = self.tree.pickle.view(self.id).runs;
        let before = self.beside.len() as u64;
        let child = |at: u64| {
            let Some(place) = at.checked_sub(before) else {
                return self.beside.get(at as usize).cloned().map(Arc::new);
            };
            let mut n = place;
            for run in &runs {
                match n.checked_sub(run.count()) {
                    Some(rest) => n = rest,
                    None => {
                        let (name, id) = run.child(&self.tree.pickle, n)?;
                        let place = Some((self.id, place));
                        return Some(Arc::new(of(&self.tree, id, &name, self.depth + 1, place)));
                    }
                }
            }
            None
        };
        page_of(task, range, self.count(), |n| Ok(child(n)))
    }
}

impl Node {
    /// With what the pickle that it is made of would import.
    pub fn python(mut self, report: Report) -> Self {
        self.problem = report.problem("Python objects").or(self.problem);
        if report.verdict == Verdict::Unusual {
            self.remarks.push(report.sentence());
        }
        if !report.effects.is_empty() {
            let each = report.effects.iter().map(|(name, effect)| format!("{name} {effect}").into());
            self = self.read_as("would do", serde_json::Value::Array(each.collect()));
        }
        if !report.calls.is_empty() {
            let calls: Vec<serde_json::Value> =
                report.calls.iter().map(|call| call.as_str().into()).collect();
            self = self.read_as("would call", serde_json::Value::from(calls));
        }
        if !report.globals.is_empty() {
            let all: Vec<serde_json::Value> =
                report.globals.iter().map(|name| name.as_str().into()).collect();
            self = self.read_as("globals", serde_json::Value::from(all));
        }
        self.security = Some(Arc::new(report));
        self
    }
}
