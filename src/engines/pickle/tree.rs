//! Values as nodes: the type as the label, scalars with their value, containers with what they hold.

use super::machine::{Id, Object, Pickle, Value};
use super::names::{Report, Verdict};
use super::resolve::{Resolved, Resolver};
use crate::bytes::error::Result;
use crate::bytes::task::Task;
use crate::data::node::{Listing, Node, page_of};
use bytes::Bytes;
use std::ops::Range;
use std::sync::Arc;

/// How deep values are opened.
const DEEP: usize = 64;
/// Characters of a value beside its node.
const SHOWN: usize = 200;

/// The value of the first pickle in `bytes` as a node, in which `resolver` says what more than plain data becomes; what
/// all pickles in them would import stands beside it.
///
/// # Errors
/// `Cancelled`, and `Limit` for more than four gigabytes. A broken pickle is a node with a problem.
pub fn node(task: &Task, name: &str, bytes: &Bytes, resolver: impl Resolver + 'static) -> Result<Node> {
    let tree = Arc::new(Tree { pickle: Pickle::read(task, bytes, 0)?, resolver: Box::new(resolver) });
    let report = super::examine(task, bytes)?;
    let mut node = match tree.pickle.root() {
        Some(root) => of(&tree, root, name, 0),
        None => Node::new(name, "pickle"),
    };
    node.problem = node.problem.or_else(|| tree.pickle.fault().cloned());
    Ok(node.python(report))
}

/// The values, and who knows what they become.
struct Tree {
    pickle: Pickle,
    resolver: Box<dyn Resolver>,
}

/// One value.
fn of(tree: &Arc<Tree>, id: Id, name: &str, depth: usize) -> Node {
    let pickle = &tree.pickle;
    let known = label(pickle, id);
    let mut node = Node::new(name, known.unwrap_or("object"));
    match pickle.value(id).is_open().then(|| tree.resolver.resolve(pickle, id, name)).flatten() {
        Some(Ok(Resolved { label, content })) => return Node { label, ..node }.content(content),
        Some(Err(error)) => node.problem = Some(error),
        None => {}
    }
    if known.is_none() {
        node = node.read_as("type", pickle.type_name(id));
    }
    let count: u64 = runs(pickle, id).iter().map(Run::count).sum();
    if count == 0 {
        node.value = Some(pickle.brief(id, SHOWN));
        return node;
    }
    node = node.read_as("length", serde_json::Value::from(count));
    if depth >= DEEP {
        return node.remark(format!("values more than {DEEP} deep are not opened"));
    }
    node.lazy(Below { tree: tree.clone(), id, count, depth })
}

/// The type's name if it is one of those that are known, since labels are fixed words.
fn label(pickle: &Pickle, id: Id) -> Option<&'static str> {
    let value = pickle.value(id);
    value.builtin().or_else(|| match value {
        Value::Object(_) => {
            let name = pickle.type_name(id);
            ["numpy.ndarray", "collections.OrderedDict"].into_iter().find(|known| *known == name)
        }
        _ => None,
    })
}

/// A stretch of what a value holds. The names are not made here: many values may hold the same million entries.
enum Run<'a> {
    /// Named by their numbers.
    Items(&'a [Id]),
    /// Named by their keys.
    Entries(&'a [(Id, Id)]),
    /// What an object would be filled with, where it is no dict.
    State(Id),
}

impl Run<'_> {
    fn count(&self) -> u64 {
        match self {
            Run::Items(items) => items.len() as u64,
            Run::Entries(entries) => entries.len() as u64,
            Run::State(_) => 1,
        }
    }

    /// Name and value of the n-th.
    fn child(&self, pickle: &Pickle, n: u64) -> Option<(String, Id)> {
        match self {
            Run::Items(items) => items.get(n as usize).map(|item| (n.to_string(), *item)),
            Run::Entries(entries) => {
                entries.get(n as usize).map(|(key, value)| (pickle.brief(*key, SHOWN), *value))
            }
            Run::State(state) => Some(("state".to_owned(), *state)),
        }
    }
}

/// What a value holds.
fn runs(pickle: &Pickle, id: Id) -> Vec<Run<'_>> {
    match pickle.value(id) {
        Value::List(items) | Value::Tuple(items) | Value::Set(items) | Value::FrozenSet(items) => {
            vec![Run::Items(items)]
        }
        Value::Dict(entries) => vec![Run::Entries(entries)],
        Value::Object(object) if pickle.encoded_start(id, SHOWN).is_none() => inside(pickle, object),
        _ => Vec::new(),
    }
}

fn inside<'a>(pickle: &'a Pickle, object: &'a Object) -> Vec<Run<'a>> {
    let mut runs = vec![Run::Entries(&object.pairs), Run::Items(&object.items)];
    runs.extend(object.state.map(|state| match pickle.value(state) {
        Value::Dict(entries) => Run::Entries(entries),
        _ => Run::State(state),
    }));
    runs
}

/// What a value holds, made when somebody looks.
struct Below {
    tree: Arc<Tree>,
    id: Id,
    count: u64,
    depth: usize,
}

impl Listing for Below {
    fn count(&self) -> Option<u64> {
        Some(self.count)
    }

    fn page(&self, task: &Task, range: Range<u64>) -> Result<Vec<Arc<Node>>> {
        let runs = runs(&self.tree.pickle, self.id);
        let child = |mut n: u64| {
            for run in &runs {
                match n.checked_sub(run.count()) {
                    Some(rest) => n = rest,
                    None => return run.child(&self.tree.pickle, n),
                }
            }
            None
        };
        let node = |(name, id): (String, Id)| Arc::new(of(&self.tree, id, &name, self.depth + 1));
        page_of(task, range, self.count(), |n| Ok(child(n).map(node)))
    }
}

impl Node {
    /// With what the pickle that it is made of would import.
    pub fn python(mut self, report: Report) -> Self {
        self.problem = report.problem("Python objects").or(self.problem);
        if report.verdict == Verdict::Unusual {
            self.remarks.push(report.sentence());
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
