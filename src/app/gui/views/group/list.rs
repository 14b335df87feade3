//! What lies below a node, as rows of a table.

use std::sync::Arc;

use gander::bytes::display;
use gander::bytes::error::Result;
use gander::bytes::limits;
use gander::bytes::task::Task;
use gander::data::content::Content;
use gander::data::node::{Children, Node};

use super::Scope;
use crate::gui::facts;

/// One row.
pub(super) struct Entry {
    /// The name below the group: more than one part where all levels are listed.
    pub(super) name: String,
    /// The path in the file.
    pub(super) path: String,
    /// The node.
    pub(super) node: Arc<Node>,
    /// The format's word for it.
    pub(super) kind: String,
    /// The type of its elements.
    pub(super) dtype: Option<String>,
    /// The value of a scalar.
    pub(super) value: Option<String>,
    /// Its shape.
    pub(super) shape: Option<Vec<u64>>,
    /// How many elements or rows.
    pub(super) elements: Option<u64>,
    /// How many bytes.
    pub(super) bytes: Option<u64>,
    /// Why it could not be read.
    pub(super) problem: Option<String>,
}

/// All rows.
#[derive(Default)]
pub(super) struct Listed {
    /// In natural order.
    pub(super) entries: Vec<Entry>,
    /// Their bytes together.
    pub(super) bytes: u64,
    /// The letters of the longest name.
    pub(super) widest: usize,
    /// Characters of the longest kind.
    pub(super) widest_kind: usize,
    /// Whether there are more.
    pub(super) cut: bool,
    /// Whether some of the children have levels below them, so that there is a choice.
    pub(super) levels: bool,
    /// Whether all levels are listed.
    pub(super) all: bool,
    /// Whether these are the first ones, which were to be had at once.
    pub(super) partly: bool,
}

/// Groups with so many children together are opened without being asked.
const FEW: u64 = 1_000;
/// How many rows are listed at most.
const MOST: usize = 200_000;

/// Whether a child is a part of the same thing (a group, a module) and not another file.
fn is_level(node: &Node) -> bool {
    let other = matches!(node.label, "file" | "member" | "folder" | "archive" | "record" | "array");
    node.content.is_none() && !other && node.child_count().is_some_and(|count| count > 0)
}

/// The children of `node` that can be had at once; said to be a part where these are not all, or where more
/// than them is to be listed.
pub(super) fn soon(task: &Task, node: &Arc<Node>, path: &str, scope: Scope) -> Result<Listed> {
    let (first, whole) = node.children_soon(task, 0..limits::LISTED)?;
    if whole {
        return of(task, node, path, scope);
    }
    let mut sums = facts::Sums::default();
    let mut listed = Listed { partly: true, ..Listed::default() };
    for child in &first {
        listed.entries.push(entry(child, child.name.clone(), node.child_path(path, child), &mut sums));
    }
    listed.sum();
    // Shares of a part of it would mislead.
    listed.bytes = 0;
    Ok(listed)
}

impl Listed {
    /// Sorts the entries and sums them up.
    fn sum(&mut self) {
        self.entries.sort_by(|a, b| display::natural_order(&a.name, &b.name));
        self.bytes = self.entries.iter().filter_map(|entry| entry.bytes).fold(0, u64::saturating_add);
        let kinds = self.entries.iter().map(|entry| entry.kind.chars().count());
        self.widest_kind = kinds.max().unwrap_or(0);
        self.widest = self.entries.iter().map(|entry| entry.name.chars().count()).max().unwrap_or(0);
    }
}

/// Lists what lies below `node`, whose path is `path`.
pub(super) fn of(task: &Task, node: &Arc<Node>, path: &str, scope: Scope) -> Result<Listed> {
    let mut listed = Listed::default();
    let mut sums = facts::Sums::default();
    below(task, node, path, "", false, &mut sums, &mut listed)?;
    listed.levels = listed.entries.iter().any(|entry| is_level(&entry.node));
    let model = listed.entries.iter().any(|entry| matches!(entry.node.label, "module" | "tensor"));
    // A few groups of groups say little: what they hold does.
    let counts = listed.entries.iter().map(|entry| entry.node.child_count().unwrap_or(u64::MAX));
    let few = counts.fold(0, u64::saturating_add) <= FEW;
    let bare =
        few && listed.entries.iter().all(|entry| entry.node.content.is_none() && entry.value.is_none());
    if listed.levels && (scope == Scope::All || scope == Scope::Auto && (model || bare)) {
        listed = Listed { levels: true, all: true, ..Listed::default() };
        below(task, node, path, "", true, &mut sums, &mut listed)?;
    }
    listed.sum();
    Ok(listed)
}

fn below(
    task: &Task,
    node: &Arc<Node>,
    path: &str,
    prefix: &str,
    all: bool,
    sums: &mut facts::Sums,
    out: &mut Listed,
) -> Result<()> {
    let mut start = 0;
    loop {
        task.check()?;
        let page = node.child_page(task, start..start + limits::LISTED)?;
        start += page.len() as u64;
        for child in &page {
            if out.entries.len() >= MOST {
                out.cut = true;
                return Ok(());
            }
            let path = node.child_path(path, child);
            let name = if prefix.is_empty() {
                child.name.clone()
            } else {
                format!("{prefix}{}{}", node.separator, child.name)
            };
            if all && is_level(child) {
                below(task, child, &path, &name, true, sums, out)?;
            } else {
                out.entries.push(entry(child, name, path, sums));
            }
        }
        if (page.len() as u64) < limits::LISTED {
            return Ok(());
        }
    }
}

fn entry(node: &Arc<Node>, name: String, path: String, sums: &mut facts::Sums) -> Entry {
    let array = match &node.content {
        Some(Content::Array(array)) => Some(array),
        _ => None,
    };
    let rows = match &node.content {
        Some(Content::Table(table)) => table.rows().exact(),
        _ => None,
    };
    let shape = match &node.content {
        Some(Content::Array(array)) => Some(array.shape().to_vec()),
        Some(Content::Table(table)) => {
            Some(vec![table.rows().number(), table.schema().fields().len() as u64])
        }
        Some(Content::Image(image)) => Some(vec![image.info().height, image.info().width]),
        _ => None,
    };
    let bytes = match &node.children {
        Children::Listed(list) if node.content.is_none() => sums.bytes(list),
        _ => facts::bytes(node),
    };
    Entry {
        name,
        path,
        kind: node.label.to_owned(),
        value: node.value.as_ref().map(|value| value.replace('\n', "⏎")),
        dtype: array.map(|array| array.dtype().to_string()),
        elements: array.and_then(|array| limits::elements(array.shape()).ok()).or(rows),
        shape,
        bytes: Some(bytes).filter(|bytes| *bytes > 0),
        problem: node.problem_now().map(|problem| problem.to_string()),
        node: node.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_levels_are_listed_in_natural_order() {
        let leaf = |name: &str| {
            Node::new(name, "tensor").content(Content::Bytes(gander::Source::memory("m", vec![0u8; 3])))
        };
        let layer = |name: &str| Node::new(name, "module").separator(".").listed(vec![leaf("w")]);
        let layers = Node::new("layers", "module").separator(".").listed(vec![layer("10"), layer("2")]);
        let root = Arc::new(Node::new("m", "model").separator("").listed(vec![layers, leaf("norm")]));
        let listed = of(&Task::new(), &root, "", Scope::Auto).unwrap();
        assert!(listed.levels && listed.all);
        let names: Vec<&str> = listed.entries.iter().map(|entry| entry.path.as_str()).collect();
        assert_eq!(names, ["layers.2.w", "layers.10.w", "norm"]);
        assert_eq!(listed.bytes, 9);
        let direct = of(&Task::new(), &root, "", Scope::Direct).unwrap();
        assert_eq!((direct.entries.len(), direct.entries[0].bytes), (2, Some(6)));
    }

    #[test]
    fn a_few_groups_of_groups_list_what_they_hold() {
        let leaf = |n: u64| {
            let bytes = Content::Bytes(gander::Source::memory("m", vec![0u8; 3]));
            Node::new(format!("w{n}"), "dimension scale").content(bytes)
        };
        let group = |name: &str, count: u64| Node::new(name, "group").listed((0..count).map(leaf).collect());
        let listed = |children: Vec<Node>| {
            let root = Arc::new(Node::new("m", "file").listed(children));
            of(&Task::new(), &root, "", Scope::Auto).unwrap()
        };
        let both = listed(vec![group("model", 2), group("optimizer", 1)]);
        let names: Vec<&str> = both.entries.iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!((names, both.widest_kind), (vec!["model/w0", "model/w1", "optimizer/w0"], 15));
        // Something to see beside them, or too much below them: the children alone.
        assert!(!listed(vec![group("model", 2), leaf(7)]).all);
        assert!(!listed(vec![group("model", FEW), group("optimizer", 1)]).all);
    }
}
