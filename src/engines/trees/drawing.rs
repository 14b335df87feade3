//! Trees as graphs, one a tree: a node a `split`, whose name is its condition, or a `leaf`, whose name is its value. An edge
//! leads from a split to each of its children; the name of its value says when it is taken: `yes`, `no`, `yes, missing`.
//! The nodes are those of the tree's rows in the table, in their order.

use super::{Forest, Trees, placed};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::content::Content;
use crate::data::content::graph::{Attribute, Builder, Graph, Operation, Port, Value, ValueId};
use crate::data::node::{Listing, Node, page_of};
use std::collections::HashMap;
use std::fmt::Display;
use std::ops::Range;
use std::sync::Arc;

/// The operator of a node with children.
pub const SPLIT: &str = "split";
/// The operator of a node without.
pub const LEAF: &str = "leaf";
/// The most nodes of a graph; of larger trees the topmost levels are drawn.
const NODES: usize = 1 << 18;
/// Items of a list that stand in a name.
const SHOWN: usize = 12;

/// A node of a tree for its graph.
#[derive(Debug, Default)]
pub struct Step {
    /// The condition of a split, or the value of a leaf.
    pub name: String,
    /// The children by their numbers, and when each of them is next; none of a leaf.
    pub children: Vec<(usize, &'static str)>,
    /// What else is known of it.
    pub attributes: Vec<(&'static str, Attribute)>,
}

/// The children of a split: where its condition holds and where it does not. `missing` says whether it counts as holding
/// for a value that is missing; `None` where nothing is missing.
pub fn branches(yes: usize, no: usize, missing: Option<bool>) -> Vec<(usize, &'static str)> {
    let [if_yes, if_no] = match missing {
        Some(true) => ["yes, missing", "no"],
        Some(false) => ["yes", "no, missing"],
        None => ["yes", "no"],
    };
    vec![(yes, if_yes), (no, if_no)]
}

/// A tree's graph.
pub struct TreeGraph {
    /// The graph.
    pub graph: Graph,
    /// What it leaves out.
    pub remark: Option<String>,
}

/// The graph of the nodes `order` with their depths, as [`super::reachable`] gives them, in the order in which they are to
/// stand; `step` says what each of them is.
///
/// # Errors
/// Those of `step`; `Cancelled`.
pub fn draw(
    task: &Task,
    name: String,
    mut order: Vec<(usize, u32)>,
    step: impl Fn(usize) -> Result<Step>,
) -> Result<TreeGraph> {
    let remark = cut(&mut order, NODES);
    let mut builder = Builder::new(name);
    builder.label_edges();
    let mut words = Words::default();
    // The edge that leads to each node but the root, which is 0.
    let mut into: HashMap<usize, ValueId> = HashMap::with_capacity(order.len());
    for (node, _) in order.iter().filter(|(node, _)| *node != 0) {
        into.insert(*node, builder.unnamed(Value::default())?);
    }
    for (n, (node, _)) in order.iter().enumerate() {
        if n.is_multiple_of(1024) {
            task.check()?;
        }
        let step = step(*node)?;
        let operator = if step.children.is_empty() { LEAF } else { SPLIT };
        let mut outputs = Vec::with_capacity(step.children.len());
        for (child, when) in step.children {
            // Children below the last level that is drawn have no edge.
            let Some(edge) = into.get(&child) else { continue };
            if let Some(value) = builder.describe(*edge) {
                value.name = words.get(when);
            }
            outputs.push(Port::of(*edge));
        }
        builder.node(Operation {
            name: shortened(step.name).into(),
            operator: words.get(operator),
            inputs: into.get(node).map(|edge| Port::of(*edge)).into_iter().collect(),
            outputs,
            attributes: step.attributes.into_iter().map(|(name, value)| (words.get(name), value)).collect(),
            ..Operation::default()
        })?;
    }
    Ok(TreeGraph { graph: builder.finish(), remark })
}

/// Leaves the topmost levels of a tree of more than `most` nodes; what is to be said of it.
fn cut(order: &mut Vec<(usize, u32)>, most: usize) -> Option<String> {
    let all = order.len();
    if all <= most {
        return None;
    }
    let mut levels: Vec<usize> = Vec::new();
    for (_, depth) in order.iter() {
        let depth = *depth as usize;
        if levels.len() <= depth {
            levels.resize(depth + 1, 0);
        }
        if let Some(count) = levels.get_mut(depth) {
            *count += 1;
        }
    }
    let mut kept = 0usize;
    let drawn = levels.iter().take_while(|count| {
        kept = kept.saturating_add(**count);
        kept <= most
    });
    let drawn = drawn.count();
    order.retain(|(_, depth)| (*depth as usize) < drawn);
    Some(format!("the tree has {all} nodes on {} levels; the first {drawn} levels are drawn", levels.len()))
}

/// Texts that many nodes have, each once in memory.
#[derive(Default)]
struct Words(HashMap<&'static str, Arc<str>>);

impl Words {
    fn get(&mut self, word: &'static str) -> Arc<str> {
        self.0.entry(word).or_insert_with(|| word.into()).clone()
    }
}

/// A list for a name: `0, 2, 5`, with a word where it is long.
pub fn listed<T: Display>(items: impl ExactSizeIterator<Item = T>) -> String {
    let more = items.len().saturating_sub(SHOWN);
    let mut shown: Vec<String> = items.take(SHOWN).map(|item| item.to_string()).collect();
    if more > 0 {
        shown.push(format!("… {more} more"));
    }
    shown.join(", ")
}

/// A name as long as can stand in every node: of a longer one its beginning and its end, where the threshold is.
pub fn shortened(name: String) -> String {
    /// Characters of each.
    const KEPT: usize = 100;
    if name.len() <= KEPT * 4 {
        return name;
    }
    let begin = name.char_indices().nth(KEPT).and_then(|(end, _)| name.get(..end)).unwrap_or_default();
    let end =
        name.char_indices().rev().nth(KEPT).and_then(|(start, _)| name.get(start..)).unwrap_or_default();
    format!("{begin}…{end}")
}

/// A number of single precision as an attribute: the shortest decimal number that reads back to it.
pub fn float32(value: f32) -> Attribute {
    Attribute::Float(crate::data::cell::float32(value).parse().unwrap_or(f64::from(value)))
}

/// The trees of a forest, a node each.
pub(super) struct Drawings<T>(pub(super) Arc<Forest<T>>);

impl<T: Trees> Drawings<T> {
    fn node(&self, number: u64) -> Node {
        let forest = self.0.clone();
        let mut node = Node::new(number.to_string(), "tree");
        node.attributes = forest.trees().about(number);
        node.deferred_leaf(move |task| {
            let TreeGraph { graph, remark } = forest.drawn(task, number)?;
            let node = Node::new(number.to_string(), "tree").content(Content::Graph(Arc::new(graph)));
            Ok(match remark {
                Some(remark) => node.remark(remark),
                None => node,
            })
        })
    }
}

impl<T: Trees> Forest<T> {
    /// The graph of a tree.
    fn drawn(&self, task: &Task, number: u64) -> Result<TreeGraph> {
        let Some(tree) = self.tree(task, number)? else {
            return Err(Error::malformed(format!("tree {number}: it is not there")));
        };
        let of = |error: Error| placed::<T>(error.of(&format!("tree {number}")), tree.span.start);
        self.trees().draw(task, self.source(), &tree).map_err(of)
    }
}

impl<T: Trees> Listing for Drawings<T> {
    fn count(&self) -> Option<u64> {
        self.0.end().map(|_| self.0.known_trees())
    }

    fn at_least(&self) -> u64 {
        self.0.known_trees()
    }

    fn page(&self, task: &Task, range: Range<u64>) -> Result<Vec<Arc<Node>>> {
        let end = range.end.min(range.start.saturating_add(limits::LISTED));
        self.0.grow_trees(task, end)?;
        let known = self.0.known_trees();
        page_of(task, range, Some(known), |number| Ok(Some(Arc::new(self.node(number)))))
    }

    fn measure(&self, task: &Task) -> Result<()> {
        self.0.grow_trees(task, u64::MAX)
    }

    fn find(&self, task: &Task, name: &str) -> Result<Option<Arc<Node>>> {
        let Some(number) = name.parse::<u64>().ok().filter(|number| number.to_string() == name) else {
            return Ok(None);
        };
        self.0.grow_trees(task, number.saturating_add(1))?;
        Ok((number < self.0.known_trees()).then(|| Arc::new(self.node(number))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A full tree of so many nodes: the children of `n` are `2n + 1` and `2n + 2`.
    fn full(count: usize) -> TreeGraph {
        let children = |node: usize| (node * 2 + 2 < count).then_some([node * 2 + 1, node * 2 + 2]);
        let mut order = super::super::reachable(count, |node| Ok(children(node))).unwrap();
        order.sort_unstable();
        let step = |node: usize| {
            let children = children(node).map_or(Vec::new(), |[a, b]| vec![(a, "yes"), (b, "no, missing")]);
            Ok(Step {
                name: node.to_string(),
                children,
                attributes: vec![("node", Attribute::Int(node as i64))],
            })
        };
        draw(&Task::new(), "tree 0".to_owned(), order, step).unwrap()
    }

    #[test]
    fn edges_lead_to_children_and_say_when() {
        let TreeGraph { graph, remark } = full(7);
        let edges: Vec<_> = graph
            .edges()
            .map(|edge| {
                (edge.from.unwrap(), edge.to.unwrap(), graph.value(edge.value).unwrap().name.to_string())
            })
            .collect();
        let edge = |from, to, name: &str| (from, to, name.to_owned());
        assert_eq!(
            edges,
            [
                edge(0, 1, "yes"),
                edge(0, 2, "no, missing"),
                edge(1, 3, "yes"),
                edge(1, 4, "no, missing"),
                edge(2, 5, "yes"),
                edge(2, 6, "no, missing")
            ]
        );
        assert_eq!(graph.operators(), [(LEAF, 4), (SPLIT, 3)].into());
        assert_eq!(remark, None);
    }

    #[test]
    fn of_a_large_tree_the_topmost_levels_are_drawn() {
        let TreeGraph { graph, remark } = full((1 << 20) - 1);
        assert_eq!(graph.nodes().len(), NODES - 1);
        assert!(remark.unwrap().contains("1048575 nodes on 20 levels; the first 18"));
        assert_eq!(graph.edges().count(), NODES - 2);
    }

    #[test]
    fn a_million_levels_are_no_harm() {
        let count = (1 << 21) + 1;
        let children =
            |node: usize| Ok((node.is_multiple_of(2) && node + 2 < count).then_some([node + 1, node + 2]));
        let mut order = super::super::reachable(count, children).unwrap();
        order.sort_unstable();
        let step = |node: usize| {
            let next = children(node)?.map_or(Vec::new(), |[a, b]| vec![(a, "yes"), (b, "no")]);
            Ok(Step { children: next, ..Step::default() })
        };
        let TreeGraph { graph, remark } = draw(&Task::new(), String::new(), order, step).unwrap();
        assert!(graph.nodes().len() <= NODES && graph.nodes().len() > NODES / 2);
        assert!(remark.unwrap().contains("1048577 levels"));
    }

    #[test]
    fn long_lists_are_cut_in_names() {
        assert_eq!(listed([1, 2, 3].iter()), "1, 2, 3");
        assert_eq!(listed(0..20), "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, … 8 more");
        assert_eq!(float32(0.1), Attribute::Float(0.1));
        let long = shortened(format!("{} < 0.5", "ä".repeat(1 << 20)));
        assert!(long.len() < 500 && long.starts_with("ää") && long.ends_with("ä < 0.5"));
    }
}
