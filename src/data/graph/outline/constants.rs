//! Nodes whose results are known before anything flows: constants, and what is made of weights alone (a weight that is cast,
//! transposed, dequantised or has another name).

use crate::bytes::error::Result;
use crate::bytes::task::Task;
use crate::data::content::graph::{Graph, Operation};
use std::collections::HashSet;

/// Operators that make something else each time, whatever they take.
const RANDOM: [&str; 6] = ["random", "multinomial", "bernoulli", "dropout", "uniform", "normal"];

/// By node: whether it makes constants, and none that leaves the graph.
pub(super) fn find(task: &Task, graph: &Graph) -> Result<Vec<bool>> {
    let nodes = graph.nodes();
    let leaving: HashSet<usize> = graph.outputs.iter().filter_map(|value| graph.producer(*value)).collect();
    let is_weight = |value| graph.value(value).is_some_and(|value| value.weight.is_some());
    // What each node still waits for; a value counts as often as it is taken.
    let mut waits: Vec<usize> = Vec::with_capacity(nodes.len());
    let mut ready = Vec::new();
    for (number, node) in nodes.iter().enumerate() {
        task.check()?;
        let taken = node.inputs.iter().filter_map(|port| port.value);
        let open = taken.filter(|value| graph.producer(*value).is_some() || !is_weight(*value)).count();
        waits.push(if may_be(node) { open } else { usize::MAX });
        let begins =
            !node.inputs.is_empty() || node.outputs.iter().filter_map(|port| port.value).any(is_weight);
        if open == 0 && begins && may_be(node) {
            ready.push(number);
        }
    }
    let mut found = vec![false; nodes.len()];
    while let Some(number) = ready.pop() {
        task.check()?;
        let Some(node) = nodes.get(number) else { continue };
        if let Some(mark) = found.get_mut(number) {
            *mark = !leaving.contains(&number);
        }
        for value in node.outputs.iter().filter_map(|port| port.value) {
            if graph.producer(value) != Some(number) {
                continue;
            }
            for taker in graph.consumers(value) {
                let times = nodes
                    .get(*taker as usize)
                    .map_or(0, |node| node.inputs.iter().filter(|port| port.value == Some(value)).count());
                let Some(left) = waits.get_mut(*taker as usize).filter(|left| **left != usize::MAX) else {
                    continue;
                };
                let waited = *left > 0;
                *left = left.saturating_sub(times);
                if waited && *left == 0 {
                    ready.push(*taker as usize);
                }
            }
        }
    }
    Ok(found)
}

/// Whether what a node makes depends on nothing but what it takes.
fn may_be(node: &Operation) -> bool {
    let name = node.operator.to_lowercase();
    node.subgraphs.is_empty()
        && node.function.is_none()
        && !node.outputs.is_empty()
        && !node.inputs.iter().any(|port| port.is_control)
        && !RANDOM.iter().any(|word| name.contains(word))
}
