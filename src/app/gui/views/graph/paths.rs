//! The ways from the inputs to an item, and from it to the outputs.

use gander::bytes::error::Result;
use gander::bytes::task::Task;
use gander::data::content::graph::{Graph, ValueId};
use gander::data::graph::{GroupId, Item, Outline, PlacedEdge};
use serde::{Deserialize, Serialize};

use super::scene::{Outlined, Scene};

/// Which ways are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Ways {
    /// From the inputs to the item.
    #[default]
    Before,
    /// From the item to the outputs.
    After,
    /// Both.
    Both,
    /// Only its own edges.
    Own,
}

impl Ways {
    pub(super) const ALL: [Ways; 4] = [Ways::Before, Ways::After, Ways::Both, Ways::Own];

    pub(super) fn words(self) -> &'static str {
        match self {
            Ways::Before => "Path from the input",
            Ways::After => "Path to the output",
            Ways::Both => "Whole path",
            Ways::Own => "Own edges",
        }
    }
}

/// What lies on the ways.
pub(super) struct OnWay {
    /// By edge of the scene.
    pub(super) edges: Vec<bool>,
    /// Nodes before the item.
    pub(super) before: u64,
    /// Nodes after it.
    pub(super) after: u64,
}

/// The nodes of an item: itself, or all of a group.
pub(super) fn nodes_of(graph: &Graph, outline: &Outline, item: Item) -> Vec<u32> {
    match item {
        Item::Node(node) => vec![node],
        Item::Group(group) => below(outline, group),
        Item::Input(value) => graph.consumers(value).to_vec(),
        Item::Output(value) => graph.producer(value).map(|node| node as u32).into_iter().collect(),
    }
}

/// The nodes in a group and in those below it.
pub(super) fn below(outline: &Outline, group: GroupId) -> Vec<u32> {
    let (mut nodes, mut open) = (Vec::new(), vec![group]);
    while let Some(group) = open.pop().and_then(|id| outline.group(id)) {
        nodes.extend_from_slice(&group.nodes);
        open.extend_from_slice(&group.children);
    }
    nodes
}

/// Finds what lies on the ways of an item.
pub(super) fn on_way(task: &Task, of: &Outlined, scene: &Scene, item: Item, ways: Ways) -> Result<OnWay> {
    let start = nodes_of(&of.graph, &of.outline, item);
    let mut way = OnWay { edges: vec![false; scene.layout.edges.len()], before: 0, after: 0 };
    if ways == Ways::Own {
        let edges = scene.layout.find(item).map_or(&[][..], |number| scene.layout.edges_of(number));
        for edge in edges {
            way.edges[*edge as usize] = true;
        }
        return Ok(way);
    }
    if matches!(ways, Ways::Before | Ways::Both) && !matches!(item, Item::Input(_)) {
        let nodes = reached(task, &of.graph, &start, true)?;
        way.before = count(&nodes, &start);
        mark(
            task,
            of,
            scene,
            &nodes,
            |edge| !matches!(scene.layout.boxes[edge.to].item, Item::Output(_)),
            &mut way,
        )?;
    }
    if matches!(ways, Ways::After | Ways::Both) && !matches!(item, Item::Output(_)) {
        let nodes = reached(task, &of.graph, &start, false)?;
        way.after = count(&nodes, &start);
        let is_from_start = |edge: &PlacedEdge| match scene.layout.boxes[edge.from].item {
            Item::Input(value) => item == Item::Input(value),
            _ => true,
        };
        mark(task, of, scene, &nodes, is_from_start, &mut way)?;
    }
    if let (Item::Output(_), Some(number)) = (item, scene.layout.find(item)) {
        for edge in scene.layout.edges_of(number) {
            way.edges[*edge as usize] = true;
        }
    }
    Ok(way)
}

fn count(nodes: &[bool], start: &[u32]) -> u64 {
    let all = nodes.iter().filter(|is| **is).count() as u64;
    all.saturating_sub(start.len() as u64)
}

/// By node: whether it comes before (or after) those of the start, which are among them.
fn reached(task: &Task, graph: &Graph, start: &[u32], backward: bool) -> Result<Vec<bool>> {
    let mut seen = vec![false; graph.nodes().len()];
    let mut open: Vec<u32> = start.to_vec();
    while let Some(node) = open.pop() {
        let Some(mark) = seen.get_mut(node as usize) else { continue };
        if std::mem::replace(mark, true) {
            continue;
        }
        task.check()?;
        let Some(node) = graph.nodes().get(node as usize) else { continue };
        let ports = if backward { &node.inputs } else { &node.outputs };
        for value in ports.iter().filter_map(|port| port.value) {
            match backward {
                true => open.extend(graph.producer(value).map(|node| node as u32)),
                false => open.extend_from_slice(graph.consumers(value)),
            }
        }
    }
    Ok(seen)
}

/// Marks the edges between nodes of a set.
fn mark(
    task: &Task,
    of: &Outlined,
    scene: &Scene,
    nodes: &[bool],
    counts: impl Fn(&PlacedEdge) -> bool,
    way: &mut OnWay,
) -> Result<()> {
    let is_in = |node: usize| nodes.get(node).copied().unwrap_or(false);
    let layout = &scene.layout;
    for (edge, on_way) in layout.edges.iter().zip(&mut way.edges) {
        task.check()?;
        let flows = |value: &ValueId| {
            let made = of.graph.producer(*value).is_none_or(is_in);
            let is_taken =
                |node: &u32| is_in(*node as usize) && layout.find_node(&of.outline, *node) == Some(edge.to);
            let leaves = layout.boxes.get(edge.to).is_some_and(|to| to.item == Item::Output(*value));
            made && (leaves || of.graph.consumers(*value).iter().any(is_taken))
        };
        if !*on_way && counts(edge) {
            *on_way = edge.values.iter().any(flows);
        }
    }
    Ok(())
}
