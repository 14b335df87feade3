//! Which tensor of the checkpoint each variable of a graph is: by the part of the graph itself that restores them, since names
//! of variables need not differ. It reads tensors by their keys and assigns them, at the top or in a function that is
//! called with the variables.
//! <https://www.tensorflow.org/api_docs/python/tf/raw_ops/RestoreV2>

use super::attribute;
use super::build::Reference;
use super::messages::{GraphDef, NodeDef};
use super::tensor::Tensor;
use crate::bytes::error::Result;
use crate::bytes::task::Task;
use std::collections::HashMap;

/// How many nodes a value goes through between where it is read and where it is assigned.
const STEPS: usize = 8;

/// The keys of tensors by the names of the nodes that are handles of variables.
///
/// # Errors
/// `Cancelled`.
pub fn keys(task: &Task, def: &GraphDef) -> Result<HashMap<String, String>> {
    let mut keys: HashMap<String, String> = assigned(task, &def.nodes, false)?.into_iter().collect();
    let mut by_function = HashMap::new();
    for function in &def.functions {
        let found = assigned(task, &function.nodes, true)?;
        if found.is_empty() {
            continue;
        }
        let places: HashMap<&str, usize> =
            function.inputs.iter().enumerate().map(|(n, argument)| (argument.name.as_str(), n)).collect();
        let found = found.into_iter().filter_map(|(name, key)| Some((*places.get(name.as_str())?, key)));
        by_function.insert(function.name.as_str(), found.collect::<Vec<(usize, String)>>());
    }
    if by_function.is_empty() {
        return Ok(keys);
    }
    for node in def.nodes.iter().filter(|node| node.op.ends_with("PartitionedCall")) {
        task.check()?;
        let called = node.attribute("f").map(attribute::functions).unwrap_or_default();
        // A function restores once.
        for (place, key) in called.iter().filter_map(|name| by_function.remove(name.as_str())).flatten() {
            if let Some(input) = node.inputs.get(place) {
                keys.entry(Reference::of(input, false).producer.to_owned()).or_insert(key);
            }
        }
    }
    Ok(keys)
}

/// What is assigned in a body: the names of the variables (or of the arguments that they are), and the keys.
fn assigned(task: &Task, nodes: &[NodeDef], in_function: bool) -> Result<Vec<(String, String)>> {
    let mut found = Vec::new();
    if !nodes.iter().any(|node| node.op == "RestoreV2") {
        return Ok(found);
    }
    let by_name: HashMap<&str, &NodeDef> = nodes.iter().map(|node| (node.name.as_str(), node)).collect();
    let mut names: HashMap<&str, Vec<String>> = HashMap::new();
    for node in nodes.iter().filter(|node| node.op == "RestoreV2") {
        let list =
            node.inputs.get(1).and_then(|input| by_name.get(Reference::of(input, in_function).producer));
        let list = list.and_then(|node| Tensor::parse(node.field("value", 8)?.part()).ok());
        let texts = list.iter().flat_map(|list| list.strings().iter());
        let texts = texts.map(|text| String::from_utf8_lossy(text.bytes()).into_owned());
        names.insert(node.name.as_str(), texts.collect());
    }
    for node in nodes.iter().filter(|node| matches!(node.op.as_str(), "AssignVariableOp" | "Assign")) {
        task.check()?;
        let [target, value, ..] = node.inputs.as_slice() else { continue };
        let mut reference = Reference::of(value, in_function);
        for _ in 0..STEPS {
            let Some(maker) = by_name.get(reference.producer) else { break };
            if let Some(key) = names.get(maker.name.as_str()) {
                let key = usize::try_from(reference.index).ok().and_then(|index| key.get(index));
                let target = Reference::of(target, in_function).producer.to_owned();
                found.extend(key.map(|key| (target, key.clone())));
                break;
            }
            let Some(input) = maker.inputs.first() else { break };
            reference = Reference::of(input, in_function);
        }
    }
    Ok(found)
}
