//! Finding nodes: by name, operator, module, tensor, type and shape.

use gander::bytes::error::Result;
use gander::bytes::task::Task;
use gander::data::content::graph::{Graph, Operation, Port};

use super::scene::Outlined;

/// The most nodes that are kept.
const MOST: usize = 100_000;

/// Nodes that were found.
pub(super) struct Found {
    /// Their numbers, in the order of the graph.
    pub(super) nodes: Vec<u32>,
    /// By node.
    pub(super) is_found: Vec<bool>,
    /// By group: whether one lies in it or below it.
    pub(super) groups: Vec<bool>,
}

/// Finds the nodes that have all words of a text somewhere, in letters of either case.
pub(super) fn find(task: &Task, of: &Outlined, text: &str) -> Result<Found> {
    let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
    let nodes = of.graph.nodes();
    let mut found = Found {
        nodes: Vec::new(),
        is_found: vec![false; nodes.len()],
        groups: vec![false; of.outline.groups().len()],
    };
    for (number, node) in nodes.iter().enumerate() {
        task.check()?;
        if found.nodes.len() >= MOST || !words.iter().all(|word| has(&of.graph, node, word)) {
            continue;
        }
        found.nodes.push(number as u32);
        found.is_found[number] = true;
        for group in of.outline.ancestors(of.outline.group_of(number as u32)) {
            if let Some(mark) = found.groups.get_mut(group.index()) {
                *mark = true;
            }
        }
    }
    Ok(found)
}

fn has(graph: &Graph, node: &Operation, word: &str) -> bool {
    let holds = |text: &str| text.to_lowercase().contains(word);
    let flows = |port: &Port| {
        let Some(value) = port.value.and_then(|value| graph.value(value)) else { return false };
        let shape = || value.shape_text().is_some_and(|text| holds(&text) || holds(&text.replace(' ', "")));
        holds(&value.name) || value.dtype.as_deref().is_some_and(holds) || shape()
    };
    holds(&node.name)
        || holds(&node.operator)
        || holds(&node.group)
        || node.outputs.iter().chain(&node.inputs).any(flows)
}
