//! What has dotted names as a tree of modules, as PyTorch and others name the tensors of a model
//! (<https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.state_dict>):
//! `layers.0.attn.q` lies in `layers`, `0`, `attn`. The tree is made level by level, when somebody looks; only the
//! sorted list of names is there before.

use crate::bytes::display::natural_order;
use crate::bytes::error::Result;
use crate::bytes::task::Task;
use crate::data::node::{Children, Listing, Node, page_of};
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// Levels beyond which the rest of a name is one part: names come from a file.
const LEVELS: usize = 64;

/// Something with a dotted name.
pub trait Leaf: Send + Sync + 'static {
    /// The full name.
    fn name(&self) -> &str;
    /// Its node, under the last part of its name.
    fn node(&self, name: &str) -> Node;
}

/// Names that are given once: one that is there already gets a number.
#[derive(Debug, Default)]
pub struct Names {
    known: HashSet<String>,
    /// By name: the number that the next one of it gets.
    next: HashMap<String, u64>,
}

impl Names {
    /// This name (`unnamed` for an empty one), or the first one with a number that nobody has: `w (2)`.
    pub fn free(&mut self, name: &str) -> String {
        let own = if name.is_empty() { "unnamed" } else { name };
        if self.known.insert(own.to_owned()) {
            return own.to_owned();
        }
        let next = self.next.entry(own.to_owned()).or_insert(2);
        loop {
            let name = format!("{own} ({next})");
            *next += 1;
            if self.known.insert(name.clone()) {
                return name;
            }
        }
    }
}

/// `root` with the tree of all leaves below it, in natural order, and `after` behind them. Names are
/// taken to differ.
pub fn tree<L: Leaf>(root: Node, leaves: Vec<L>, after: Vec<Arc<Node>>) -> Node {
    tree_by(root.separator(""), leaves, after, ".")
}

/// The same of names whose parts stand between `between`, as TensorFlow's scopes do (`dense/kernel`); the root keeps its
/// separator.
pub fn tree_by<L: Leaf>(
    root: Node,
    mut leaves: Vec<L>,
    after: Vec<Arc<Node>>,
    between: &'static str,
) -> Node {
    leaves.sort_by(|a, b| order(a.name(), b.name(), between));
    let range = 0..leaves.len();
    let leaves = Arc::new(leaves);
    root.lazy(Module { leaves, range, at: 0, level: 0, between, after, own: None, groups: OnceLock::new() })
}

/// Part by part, so that what lies in one module stands together.
fn order(a: &str, b: &str, between: &str) -> Ordering {
    let (mut x, mut y) = (a.splitn(LEVELS, between), b.splitn(LEVELS, between));
    loop {
        match (x.next(), y.next()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => return Ordering::Less,
            (Some(_), None) => return Ordering::Greater,
            (Some(p), Some(q)) => match natural_order(p, q) {
                Ordering::Equal => {}
                different => return different,
            },
        }
    }
}

/// The leaves whose names begin with the same parts.
struct Module<L> {
    /// All leaves of the model, sorted.
    leaves: Arc<Vec<L>>,
    /// Those of this module.
    range: Range<usize>,
    /// Where the names go on behind this module's.
    at: usize,
    level: usize,
    /// What stands between the parts of names.
    between: &'static str,
    after: Vec<Arc<Node>>,
    /// What makes the content of the node itself later, where it is a tensor as well.
    own: Option<Arc<dyn Listing>>,
    /// The children, as parts of `range`.
    groups: OnceLock<Vec<Range<usize>>>,
}

impl<L: Leaf> Module<L> {
    /// The part of a leaf's name that its child of this module has, and whether the name ends there.
    fn part(&self, index: usize) -> (&str, bool) {
        let rest = self.leaves.get(index).and_then(|leaf| leaf.name().get(self.at..)).unwrap_or_default();
        match rest.split_once(self.between) {
            Some((part, _)) if self.level + 1 < LEVELS => (part, false),
            _ => (rest, true),
        }
    }

    fn groups(&self) -> &[Range<usize>] {
        self.groups.get_or_init(|| {
            let mut groups = Vec::new();
            let mut start = self.range.start;
            while start < self.range.end {
                let (first, _) = self.part(start);
                let mut end = start + 1;
                while end < self.range.end && self.part(end).0 == first {
                    end += 1;
                }
                groups.push(start..end);
                start = end;
            }
            groups
        })
    }

    /// A child: a tensor, a module, or a tensor with others below its name.
    fn child(&self, group: &Range<usize>) -> Arc<Node> {
        let (part, is_leaf) = self.part(group.start);
        let (node, below) = match self.leaves.get(group.start) {
            Some(leaf) if is_leaf => (leaf.node(part), group.start + 1..group.end),
            _ => (Node::new(part, "module"), group.clone()),
        };
        if below.is_empty() {
            return Arc::new(node);
        }
        let at = self.at + part.len() + self.between.len();
        let (leaves, level, between) = (self.leaves.clone(), self.level + 1, self.between);
        let after = Vec::new();
        let own = match &node.children {
            Children::Lazy(own) => Some(own.clone()),
            _ => None,
        };
        let module = Module { leaves, range: below, at, level, between, after, own, groups: OnceLock::new() };
        Arc::new(node.separator(between).lazy(module))
    }
}

impl<L: Leaf> Listing for Module<L> {
    fn count(&self) -> Option<u64> {
        Some((self.groups().len() + self.after.len()) as u64)
    }

    fn page(&self, task: &Task, range: Range<u64>) -> Result<Vec<Arc<Node>>> {
        let groups = self.groups();
        let child = |n: usize| match groups.get(n) {
            Some(group) => Some(self.child(group)),
            None => self.after.get(n - groups.len()).cloned(),
        };
        page_of(task, range, self.count(), |n| Ok(child(n as usize)))
    }

    fn resolve(&self, task: &Task) -> Result<Option<Arc<Node>>> {
        let Some(own) = &self.own else { return Ok(None) };
        let Some(made) = own.resolve(task)? else { return Ok(None) };
        let module = Module {
            leaves: self.leaves.clone(),
            range: self.range.clone(),
            after: self.after.clone(),
            own: None,
            groups: OnceLock::new(),
            ..*self
        };
        Ok(Some(Arc::new((*made).clone().separator(self.between).lazy(module))))
    }

    fn find(&self, _task: &Task, name: &str) -> Result<Option<Arc<Node>>> {
        let groups = self.groups();
        let found = groups.binary_search_by(|group| natural_order(self.part(group.start).0, name));
        if let Ok(at) = found {
            return Ok(groups.get(at).map(|group| self.child(group)));
        }
        Ok(self.after.iter().find(|node| node.name == name).cloned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    impl Leaf for String {
        fn name(&self) -> &str {
            self
        }
        fn node(&self, name: &str) -> Node {
            Node::new(name, "tensor")
        }
    }

    fn made(names: &[&str]) -> Arc<Node> {
        let leaves = names.iter().map(|n| (*n).to_owned()).collect();
        Arc::new(tree(Node::new("", "file"), leaves, Vec::new()))
    }

    /// The paths of all tensors, in the order of the tree.
    fn paths(root: &Arc<Node>) -> Vec<String> {
        let mut paths = Vec::new();
        crate::data::open::walk(&Task::new(), root, "", 100, &mut |node, path, _| {
            if node.label == "tensor" {
                paths.push(path.to_owned());
            }
            Ok(true)
        })
        .unwrap();
        paths
    }

    #[test]
    fn names_are_given_once() {
        let mut names = Names::default();
        let given = ["w", "w", "", "w (2)", "w", ""].map(|name| names.free(name));
        assert_eq!(given, ["w", "w (2)", "unnamed", "w (2) (2)", "w (3)", "unnamed (2)"]);
    }

    #[test]
    fn layers_stand_in_natural_order() {
        let root = made(&["layers.10.w", "layers.2.w", "embed", "layers.2.b", "layers"]);
        assert_eq!(paths(&root), ["embed", "layers", "layers.2.b", "layers.2.w", "layers.10.w"]);
        assert_eq!(root.child_count(), Some(2));
    }

    #[test]
    fn a_name_of_very_many_parts_ends_somewhere() {
        let name = "a.".repeat(100_000);
        let root = made(&[&name]);
        assert_eq!(paths(&root), std::slice::from_ref(&name));
        assert!(root.find(&Task::new(), &name).unwrap().is_some());
    }

    proptest! {
        #[test]
        fn every_tensor_stands_under_its_name(names in prop::collection::btree_set("[aB.0-2]{1,6}", 1..30)) {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let root = made(&names);
            let mut found = paths(&root);
            found.sort();
            prop_assert_eq!(&found, &names);
            for name in names {
                let node = root.find(&Task::new(), name).unwrap();
                prop_assert!(node.is_some_and(|node| node.label == "tensor"), "{}", name);
            }
        }
    }
}
