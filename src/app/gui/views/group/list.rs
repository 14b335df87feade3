//! What lies below a node, as rows of a table.

use std::borrow::Cow;
use std::sync::Arc;

use gander::bytes::display;
use gander::bytes::error::Result;
use gander::bytes::limits;
use gander::bytes::task::Task;
use gander::data::content::Content;
use gander::data::node::{Children, Node};

use super::Scope;
use crate::gui::facts;

/// One row. What it says is worked out when it is drawn: a group may have a million of them.
pub(super) struct Entry {
    /// The node.
    pub(super) node: Arc<Node>,
    /// What it lies in.
    above: Arc<Above>,
    /// How many bytes.
    pub(super) bytes: Option<u64>,
}

/// A group whose children are rows.
pub(super) struct Above {
    /// Its path in the file.
    path: String,
    /// Its name below the group that is listed, with the separator; empty for that one itself.
    prefix: String,
    separator: &'static str,
}

impl Entry {
    /// A row for a child of what has this path.
    pub(super) fn new(node: Arc<Node>, above: Arc<Above>, bytes: Option<u64>) -> Self {
        Entry { node, above, bytes }
    }

    /// The name below the group: more than one part where all levels are listed.
    pub(super) fn name(&self) -> Cow<'_, str> {
        match self.above.prefix.as_str() {
            "" => Cow::Borrowed(&self.node.name),
            prefix => Cow::Owned(format!("{prefix}{}", self.node.name)),
        }
    }

    /// The path in the file.
    pub(super) fn path(&self) -> String {
        format!("{}{}{}", self.above.path, self.above.separator, self.node.name)
    }

    /// The format's word for it.
    pub(super) fn kind(&self) -> &'static str {
        self.node.label
    }

    /// The type of its elements.
    pub(super) fn dtype(&self) -> Option<String> {
        match &self.node.content {
            Some(Content::Array(array)) => Some(array.dtype().to_string()),
            Some(
                Content::Table(_)
                | Content::Image(_)
                | Content::Text(_)
                | Content::Graph(_)
                | Content::Bytes(_),
            )
            | None => None,
        }
    }

    /// The value of a scalar.
    pub(super) fn value(&self) -> Option<String> {
        self.node.value.as_ref().map(|value| value.replace('\n', "⏎"))
    }

    /// Its shape.
    pub(super) fn shape(&self) -> Option<Vec<u64>> {
        match &self.node.content {
            Some(Content::Array(array)) => Some(array.shape().to_vec()),
            Some(Content::Table(table)) => {
                Some(vec![table.rows().number(), table.schema().fields().len() as u64])
            }
            Some(Content::Image(image)) => Some(vec![image.info().height, image.info().width]),
            Some(Content::Text(_) | Content::Graph(_) | Content::Bytes(_)) | None => None,
        }
    }

    /// How many elements or rows.
    pub(super) fn elements(&self) -> Option<u64> {
        match &self.node.content {
            Some(Content::Array(array)) => limits::elements(array.shape()).ok(),
            Some(Content::Table(table)) => table.rows().exact(),
            Some(Content::Image(_) | Content::Text(_) | Content::Graph(_) | Content::Bytes(_)) | None => None,
        }
    }

    /// Why it could not be read.
    pub(super) fn problem(&self) -> Option<String> {
        self.node.problem_now().map(|problem| problem.to_string())
    }
}

impl Above {
    /// The group that is listed.
    pub(super) fn top(path: &str, separator: &'static str) -> Arc<Self> {
        Arc::new(Above { path: path.to_owned(), prefix: String::new(), separator })
    }
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
/// Of children that are made while they are listed so many are rows without being asked: each takes memory.
pub(super) const MOST: usize = 200_000;

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
        return of(task, node, path, scope, MOST);
    }
    let mut sums = facts::Sums::default();
    let mut listed = Listed { partly: true, ..Listed::default() };
    let above = Above::top(path, node.separator);
    for child in first {
        listed.entries.push(entry(child, &above, &mut sums));
    }
    listed.sum(task)?;
    // Shares of a part of it would mislead.
    listed.bytes = 0;
    Ok(listed)
}

impl Listed {
    /// Sorts the entries and sums them up.
    fn sum(&mut self, task: &Task) -> Result<()> {
        // The names of rows below others are put together once.
        let mut entries: Vec<(String, Entry)> = std::mem::take(&mut self.entries)
            .into_iter()
            .map(|entry| (entry.name().into_owned(), entry))
            .collect();
        task.check()?;
        entries.sort_by(|a, b| display::natural_order(&a.0, &b.0));
        task.check()?;
        self.widest = entries.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        self.entries = entries.into_iter().map(|(_, entry)| entry).collect();
        self.bytes = self.entries.iter().filter_map(|entry| entry.bytes).fold(0, u64::saturating_add);
        let kinds = self.entries.iter().map(|entry| entry.kind().chars().count());
        self.widest_kind = kinds.max().unwrap_or(0);
        Ok(())
    }
}

/// Lists what lies below `node`, whose path is `path`; of children that are made for it at most `most`.
pub(super) fn of(task: &Task, node: &Arc<Node>, path: &str, scope: Scope, most: usize) -> Result<Listed> {
    let mut listed = Listed::default();
    let mut sums = facts::Sums::default();
    let top = Above::top(path, node.separator);
    below(task, node, &top, false, most, &mut sums, &mut listed)?;
    listed.levels = listed.entries.iter().any(|entry| is_level(&entry.node));
    let model = listed.entries.iter().any(|entry| matches!(entry.node.label, "module" | "tensor"));
    // A few groups of groups say little: what they hold does.
    let counts = listed.entries.iter().map(|entry| entry.node.child_count().unwrap_or(u64::MAX));
    let few = counts.fold(0, u64::saturating_add) <= FEW;
    let bare =
        few && listed.entries.iter().all(|entry| entry.node.content.is_none() && entry.node.value.is_none());
    if listed.levels && (scope == Scope::All || scope == Scope::Auto && (model || bare)) {
        listed = Listed { levels: true, all: true, ..Listed::default() };
        below(task, node, &top, true, most, &mut sums, &mut listed)?;
    }
    listed.sum(task)?;
    Ok(listed)
}

fn below(
    task: &Task,
    node: &Arc<Node>,
    above: &Arc<Above>,
    all: bool,
    most: usize,
    sums: &mut facts::Sums,
    out: &mut Listed,
) -> Result<()> {
    // What is in memory already may be rows, too.
    let room = if matches!(node.children, Children::Listed(_)) { usize::MAX } else { most };
    let mut start = 0;
    loop {
        task.check()?;
        let page = node.child_page(task, start..start + limits::LISTED)?;
        let count = page.len() as u64;
        start += count;
        for child in page {
            if out.entries.len() >= room {
                out.cut = true;
                return Ok(());
            }
            if all && is_level(&child) {
                let inner = Arc::new(Above {
                    path: format!("{}{}{}", above.path, above.separator, child.name),
                    prefix: format!("{}{}{}", above.prefix, child.name, child.separator),
                    separator: child.separator,
                });
                below(task, &child, &inner, true, most, sums, out)?;
            } else {
                out.entries.push(entry(child, above, sums));
            }
        }
        if count < limits::LISTED {
            return Ok(());
        }
    }
}

fn entry(node: Arc<Node>, above: &Arc<Above>, sums: &mut facts::Sums) -> Entry {
    let bytes = match &node.children {
        Children::Listed(list) if node.content.is_none() => sums.bytes(list),
        _ => facts::bytes(&node),
    };
    Entry::new(node, above.clone(), Some(bytes).filter(|bytes| *bytes > 0))
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
        let listed = of(&Task::new(), &root, "", Scope::Auto, MOST).unwrap();
        assert!(listed.levels && listed.all);
        let names: Vec<String> = listed.entries.iter().map(Entry::path).collect();
        assert_eq!(names, ["layers.2.w", "layers.10.w", "norm"]);
        assert_eq!(listed.bytes, 9);
        let direct = of(&Task::new(), &root, "", Scope::Direct, MOST).unwrap();
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
            of(&Task::new(), &root, "", Scope::Auto, MOST).unwrap()
        };
        let both = listed(vec![group("model", 2), group("optimizer", 1)]);
        let names: Vec<String> = both.entries.iter().map(|entry| entry.name().into_owned()).collect();
        let wanted = ["model/w0", "model/w1", "optimizer/w0"].map(str::to_owned).to_vec();
        assert_eq!((names, both.widest_kind), (wanted, 15));
        // Something to see beside them, or too much below them: the children alone.
        assert!(!listed(vec![group("model", 2), leaf(7)]).all);
        assert!(!listed(vec![group("model", FEW), group("optimizer", 1)]).all);
    }
}
