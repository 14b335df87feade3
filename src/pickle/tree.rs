//! Values as nodes: the type as the label, scalars with their value, containers with what they hold.

use super::machine::{Id, Object, Pickle, Value};
use super::names::{Report, Verdict};
use crate::content::Content;
use crate::error::Result;
use crate::limits;
use crate::node::{Listing, Node};
use crate::task::Task;
use bytes::Bytes;
use std::ops::Range;
use std::sync::Arc;

/// How deep values are opened.
const DEEP: usize = 64;
/// Characters of a value beside its node.
const SHOWN: usize = 200;

/// The value of the first pickle in `bytes` as a node; what all pickles in them would import stands beside it.
///
/// # Errors
/// `Cancelled`, and `Limit` for more than four gigabytes. A broken pickle is a node with a problem.
pub fn node(task: &Task, name: &str, bytes: &Bytes) -> Result<Node> {
    let pickle = Arc::new(Pickle::read(task, bytes, 0)?);
    let report = super::examine(task, bytes)?;
    let mut node = match pickle.root() {
        Some(root) => of(&pickle, root, name, 0),
        None => Node::new(name, "pickle"),
    };
    node.problem = node.problem.or_else(|| pickle.fault().cloned());
    Ok(node.python(report))
}

/// One value.
fn of(pickle: &Arc<Pickle>, id: Id, name: &str, depth: usize) -> Node {
    let mut node = Node::new(name, label(pickle, id));
    if let Some(array) = pickle.ndarray(id) {
        match array.plain(name) {
            Ok(plain) => {
                return Node { label: "numpy.ndarray", ..node }.content(Content::Array(Arc::new(plain)));
            }
            Err(error) => node.problem = Some(error),
        }
    }
    if node.label == "object" {
        node = node.attribute("type", pickle.type_name(id));
    }
    let children = below(pickle, id);
    if children.is_empty() {
        let text = pickle.show(id);
        let short: String = text.chars().take(SHOWN).collect();
        node.value = Some(if short.len() < text.len() { format!("{short}…") } else { short });
        return node;
    }
    node = node.attribute("length", serde_json::Value::from(children.len()));
    if depth >= DEEP {
        return node.remark(format!("values more than {DEEP} deep are not opened"));
    }
    node.lazy(Below { pickle: pickle.clone(), children, depth })
}

/// The type's name: one of those that are known, since labels are fixed words.
fn label(pickle: &Pickle, id: Id) -> &'static str {
    let value = pickle.value(id);
    if let Some(word) = value.builtin() {
        return word;
    }
    match value {
        Value::Object(_) => match pickle.type_name(id).as_str() {
            "numpy.ndarray" => "numpy.ndarray",
            "collections.OrderedDict" => "collections.OrderedDict",
            _ => "object",
        },
        _ => "object",
    }
}

/// Names and values of what a value holds.
fn below(pickle: &Pickle, id: Id) -> Vec<(String, Id)> {
    let numbered =
        |items: &[Id]| items.iter().enumerate().map(|(n, item)| (n.to_string(), *item)).collect::<Vec<_>>();
    let keyed = |entries: &[(Id, Id)]| {
        entries.iter().map(|(key, value)| (cut(pickle.show(*key)), *value)).collect::<Vec<_>>()
    };
    match pickle.value(id) {
        Value::List(items) | Value::Tuple(items) | Value::Set(items) | Value::FrozenSet(items) => {
            numbered(items)
        }
        Value::Dict(entries) => keyed(entries),
        Value::Object(object) if pickle.encoded(id).is_none() => inside(pickle, object, &numbered, &keyed),
        _ => Vec::new(),
    }
}

fn inside(
    pickle: &Pickle,
    object: &Object,
    numbered: &dyn Fn(&[Id]) -> Vec<(String, Id)>,
    keyed: &dyn Fn(&[(Id, Id)]) -> Vec<(String, Id)>,
) -> Vec<(String, Id)> {
    let mut all = keyed(&object.pairs);
    all.extend(numbered(&object.items));
    if let Some(state) = object.state {
        match pickle.value(state) {
            Value::Dict(entries) => all.extend(keyed(entries)),
            _ => all.push(("state".to_owned(), state)),
        }
    }
    all
}

fn cut(name: String) -> String {
    match name.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", name.get(..at).unwrap_or_default()),
        None => name,
    }
}

/// What a value holds, made when somebody looks.
struct Below {
    pickle: Arc<Pickle>,
    children: Vec<(String, Id)>,
    depth: usize,
}

impl Listing for Below {
    fn count(&self) -> Option<u64> {
        Some(self.children.len() as u64)
    }

    fn page(&self, task: &Task, range: Range<u64>) -> Result<Vec<Arc<Node>>> {
        task.check()?;
        let end = range.end.min(range.start.saturating_add(limits::LISTED)).min(self.children.len() as u64);
        let start = range.start.min(end);
        let page = self.children.get(start as usize..end as usize).unwrap_or_default();
        Ok(page.iter().map(|(name, id)| Arc::new(of(&self.pickle, *id, name, self.depth + 1))).collect())
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
            self = self.attribute("globals", serde_json::Value::from(all));
        }
        self.pickle = Some(Arc::new(report));
        self
    }
}
