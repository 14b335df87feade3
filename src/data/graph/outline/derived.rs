//! Groups of a graph whose nodes name none, concluded from the names of weights.
//!
//! A weight `layer1.0.conv1.weight` lies in the module `layer1.0.conv1`. A node that takes weights of one module lies in
//! it; a node without weights lies in the innermost module around all of its neighbours in the order of the file. What
//! is not sure stays outside: a module whose nodes are not one after the other (but for nodes without weights) is none.

use crate::bytes::error::Result;
use crate::bytes::task::Task;
use crate::data::content::graph::Graph;
use std::collections::HashMap;

/// By node: the path of its group with `/` between the parts; empty where none is sure.
pub(super) fn paths(task: &Task, graph: &Graph) -> Result<Vec<String>> {
    let mut modules: Vec<Option<Vec<&str>>> = Vec::with_capacity(graph.nodes().len());
    for node in graph.nodes() {
        task.check()?;
        let weights = node.inputs.iter().filter_map(|port| graph.value(port.value?)?.weight.as_deref());
        let mut module: Option<Vec<&str>> = None;
        for weight in weights {
            let mut parts: Vec<&str> = weight.split('.').take(super::DEEPEST).collect();
            parts.pop();
            module = Some(match module {
                Some(before) => common(&before, &parts),
                None => parts,
            });
        }
        modules.push(module.filter(|module| !module.is_empty()));
    }
    fill(&mut modules);
    let mut sure = modules;
    // What is not in one piece is cut to the group around it, from the outermost level inwards.
    for depth in 1..=super::DEEPEST {
        task.check()?;
        if !cut(&mut sure, depth) {
            break;
        }
    }
    Ok(sure.into_iter().map(|module| module.unwrap_or_default().join("/")).collect())
}

fn common<'a>(a: &[&'a str], b: &[&'a str]) -> Vec<&'a str> {
    a.iter().zip(b).take_while(|(a, b)| a == b).map(|(a, _)| *a).collect()
}

/// Nodes without weights lie in what the nodes with weights before and after them share.
fn fill(modules: &mut [Option<Vec<&str>>]) {
    let mut after: Vec<Option<usize>> = vec![None; modules.len()];
    let mut next = None;
    for number in (0..modules.len()).rev() {
        if modules.get(number).is_some_and(Option::is_some) {
            next = Some(number);
        }
        if let Some(place) = after.get_mut(number) {
            *place = next;
        }
    }
    let given: Vec<Option<Vec<&str>>> = modules.to_vec();
    let mut before: Option<&Vec<&str>> = None;
    for (number, module) in modules.iter_mut().enumerate() {
        if let Some(own) = given.get(number).and_then(Option::as_ref) {
            before = Some(own);
            continue;
        }
        let next = after.get(number).copied().flatten().and_then(|next| given.get(next)?.as_ref());
        *module =
            before.zip(next).map(|(before, next)| common(before, next)).filter(|shared| !shared.is_empty());
    }
}

/// Cuts the modules of a depth that come back after another has been; whether there were any modules so deep.
fn cut(modules: &mut [Option<Vec<&str>>], depth: usize) -> bool {
    // By module: how many pieces it has.
    let mut pieces: HashMap<Vec<&str>, u32> = HashMap::new();
    let mut last: Option<&[&str]> = None;
    for module in modules.iter() {
        let here = module.as_deref().and_then(|module| module.get(..depth));
        if here != last
            && let Some(here) = here
        {
            *pieces.entry(here.to_vec()).or_default() += 1;
        }
        last = here;
    }
    let is_whole = |module: &[&str]| pieces.get(module).is_none_or(|pieces| *pieces == 1);
    for module in modules.iter_mut().flatten() {
        if module.get(..depth).is_some_and(|here| !is_whole(here)) {
            module.truncate(depth - 1);
        }
    }
    !pieces.is_empty()
}
