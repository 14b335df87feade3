//! The nodes of a symbol as a graph.

use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::content::Content;
use crate::data::content::graph::{
    Attribute, Builder, Dimension, Graph, Operation, Port, Value, ValueId, scope,
};
use crate::data::node::Node;
use serde_json::Value as Json;
use std::collections::{BTreeSet, HashMap};
use std::iter;
use std::sync::Arc;

/// How deep symbols may lie in nodes.
const LEVELS: usize = 16;
/// The most outputs of a node that are told apart.
const OUTPUTS: u64 = 1 << 16;
/// How MXNet calls the parameters of its layers: the name of the layer, and one of these.
const PARAMETERS: &[&str] = &[
    "weight",
    "bias",
    "gamma",
    "beta",
    "moving_mean",
    "moving_var",
    "running_mean",
    "running_var",
    "parameters",
    "state",
    "state_cell",
    "moving_inv_var",
];

/// The arrays of a file of parameters.
pub(super) struct Arrays {
    /// The node of the file.
    pub(super) node: Option<Arc<Node>>,
}

impl Arrays {
    /// What is known of the array that a `null` node stands for.
    fn of(&self, task: &Task, name: &str) -> Result<Option<Value>> {
        let Some(node) = &self.node else { return Ok(None) };
        for prefix in ["arg:", "aux:", ""] {
            let path = format!("{}{prefix}{name}", node.separator);
            let Some(found) = node.find(task, &path)? else { continue };
            if let Some(Content::Array(array)) = &found.content {
                return Ok(Some(Value {
                    name: name.into(),
                    dtype: Some(array.dtype().to_string().into()),
                    shape: Some(array.shape().iter().map(|length| Dimension::Fixed(*length)).collect()),
                    weight: Some(format!("{}{path}", node.name).into()),
                    elements: limits::elements(array.shape()).ok(),
                    ..Value::default()
                }));
            }
        }
        Ok(None)
    }
}

/// The graph of a symbol, and what is wrong with a part of it.
///
/// # Errors
/// `Malformed` where there are no nodes; `Cancelled`.
pub(super) fn graph(task: &Task, json: &Json, arrays: &mut Arrays) -> Result<(Graph, Option<Error>)> {
    let mut problem = None;
    let graph = symbol(task, json, arrays, 0, &mut problem)?;
    Ok((graph, problem))
}

fn symbol(
    task: &Task,
    json: &Json,
    arrays: &mut Arrays,
    level: usize,
    problem: &mut Option<Error>,
) -> Result<Graph> {
    let nodes = json.get("nodes").and_then(Json::as_array);
    let nodes = nodes.ok_or_else(|| Error::malformed("the symbol has no list of nodes"))?;
    let mut made =
        GraphBuilder { builder: Builder::new(""), values: HashMap::new(), outputs: outputs(nodes, json) };
    for (number, node) in nodes.iter().enumerate() {
        task.check()?;
        let added = match node.get("op").and_then(Json::as_str) {
            Some("null") => made.given(task, number, node, arrays),
            Some(operator) => made.node(number, node, operator).and_then(|mut operation| {
                operation.subgraphs = subgraphs(task, node, arrays, level, problem)?;
                made.builder.node(operation)
            }),
            None => Err(Error::malformed("it has no operator")),
        };
        match added {
            Err(error) if error.is_cancelled() => return Err(error),
            Err(error) => drop(problem.get_or_insert(error.of(&format!("node {number}")))),
            Ok(()) => {}
        }
    }
    for head in json.get("heads").and_then(Json::as_array).into_iter().flatten() {
        match made.referred(head, nodes.len()) {
            Ok(id) => made.builder.output(id),
            Err(error) => drop(problem.get_or_insert(error.of("heads"))),
        }
    }
    made.describe(json);
    Ok(made.builder.finish())
}

/// The outputs of each node that somebody takes, but for the first one, which every node has.
fn outputs(nodes: &[Json], json: &Json) -> HashMap<u64, BTreeSet<u64>> {
    let heads = json.get("heads").and_then(Json::as_array).into_iter().flatten();
    let inputs = nodes.iter().filter_map(|node| node.get("inputs")?.as_array()).flatten();
    let mut taken: HashMap<u64, BTreeSet<u64>> = HashMap::new();
    for entry in inputs.chain(heads) {
        let number = |n: usize| entry.get(n).and_then(Json::as_u64);
        if let (Some(node), Some(output @ 1..OUTPUTS)) = (number(0), number(1)) {
            taken.entry(node).or_default().insert(output);
        }
    }
    taken
}

/// The symbols that a node holds: the bodies of loops and branches.
fn subgraphs(
    task: &Task,
    node: &Json,
    arrays: &mut Arrays,
    level: usize,
    problem: &mut Option<Error>,
) -> Result<Vec<(Arc<str>, Arc<Graph>)>> {
    let mut found = Vec::new();
    for (n, inner) in node.get("subgraphs").and_then(Json::as_array).into_iter().flatten().enumerate() {
        if level + 1 >= LEVELS {
            return Err(Error::limit(format!("symbols more than {LEVELS} deep in nodes")));
        }
        found.push((n.to_string().into(), Arc::new(symbol(task, inner, arrays, level + 1, problem)?)));
    }
    Ok(found)
}

/// A graph that is being made.
struct GraphBuilder {
    builder: Builder,
    /// The values by node and output.
    values: HashMap<(u64, u64), ValueId>,
    outputs: HashMap<u64, BTreeSet<u64>>,
}

impl GraphBuilder {
    /// An output of a node.
    fn value(&mut self, node: u64, output: u64, name: &str) -> Result<ValueId> {
        if let Some(known) = self.values.get(&(node, output)) {
            return Ok(*known);
        }
        let name = if output == 0 { name.to_owned() } else { format!("{name}:{output}") };
        let id = self.builder.unnamed(Value { name: name.into(), ..Value::default() })?;
        self.values.insert((node, output), id);
        Ok(id)
    }

    /// The value that an entry of a list of inputs means: a node that stands before it, and one of its outputs.
    fn referred(&mut self, entry: &Json, before: usize) -> Result<ValueId> {
        let number = |n: usize| entry.get(n).and_then(Json::as_u64);
        let node = number(0).ok_or_else(|| Error::malformed("an input names no node"))?;
        if node >= before as u64 {
            return Err(Error::malformed(format!("an input is node {node}, which does not stand before it")));
        }
        let output = number(1).unwrap_or(0);
        let known = self.values.get(&(node, output)).copied();
        known.ok_or_else(|| Error::malformed(format!("node {node} has no output {output}")))
    }

    /// Something that is handed in: data, or a parameter.
    fn given(&mut self, task: &Task, number: usize, node: &Json, arrays: &Arrays) -> Result<()> {
        let name = node.get("name").and_then(Json::as_str).unwrap_or_default();
        let id = self.value(number as u64, 0, name)?;
        if let Some(known) = arrays.of(task, name)? {
            if let Some(value) = self.builder.describe(id) {
                *value = known;
            }
            return Ok(());
        }
        let is_parameter = PARAMETERS.iter().any(|end| {
            name.strip_suffix(end).is_some_and(|rest| rest.is_empty() || rest.ends_with(['_', '.']))
        });
        if !is_parameter {
            self.builder.input(id);
        }
        Ok(())
    }

    fn node(&mut self, number: usize, node: &Json, operator: &str) -> Result<Operation> {
        let name = node.get("name").and_then(Json::as_str).unwrap_or_default();
        let number = number as u64;
        let mut outputs = Vec::new();
        let taken = self.outputs.remove(&number).unwrap_or_default();
        for output in iter::once(0).chain(taken) {
            outputs.push(Port::of(self.value(number, output, name)?));
        }
        let mut inputs = Vec::new();
        for entry in node.get("inputs").and_then(Json::as_array).into_iter().flatten() {
            inputs.push(Port::of(self.referred(entry, number as usize)?));
        }
        let control = node.get("control_deps").and_then(Json::as_array).into_iter().flatten();
        for before in control.filter_map(Json::as_u64) {
            let value = self.values.get(&(before, 0)).copied();
            inputs.push(Port { value, is_control: true, ..Port::default() });
        }
        // TVM's nodes are all of one operator; which function they call is an attribute.
        let attributes = attributes(node);
        Ok(Operation {
            name: name.into(),
            operator: operator.into(),
            group: scope(name).into(),
            inputs,
            outputs,
            attributes,
            ..Operation::default()
        })
    }

    /// The types and shapes of all outputs, where the graph has them: TVM's do.
    fn describe(&mut self, json: &Json) {
        let list = |name: &str, kind: &str| {
            let entry = json.get("attrs")?.get(name)?.as_array()?;
            entry.first().filter(|first| first.as_str() == Some(kind))?;
            entry.get(1)?.as_array()
        };
        let (types, shapes) = (list("dltype", "list_str"), list("shape", "list_shape"));
        let starts = json.get("node_row_ptr").and_then(Json::as_array);
        let Some(starts) = starts.filter(|_| types.is_some() || shapes.is_some()) else { return };
        for ((node, output), id) in &self.values {
            let start = starts.get(*node as usize).and_then(Json::as_u64);
            let Some(at) = start.and_then(|start| start.checked_add(*output)) else { continue };
            let Some(value) = self.builder.describe(*id) else { continue };
            let kind = types.and_then(|types| types.get(at as usize)?.as_str());
            value.dtype = value.dtype.take().or_else(|| kind.map(Arc::from));
            let shape = shapes.and_then(|shapes| shapes.get(at as usize)?.as_array());
            let length = |length: &Json| length.as_u64().map_or(Dimension::Open, Dimension::Fixed);
            value.shape =
                value.shape.take().or_else(|| shape.map(|shape| shape.iter().map(length).collect()));
        }
    }
}

/// The attributes of a node, which early versions called `param` and `attr`. They are texts; whole numbers and lists of such are
/// told.
fn attributes(node: &Json) -> Vec<(Arc<str>, Attribute)> {
    let all = ["attrs", "param", "attr"].into_iter().filter_map(|name| node.get(name)?.as_object()).flatten();
    all.map(|(name, value)| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        (name.as_str().into(), typed(text))
    })
    .collect()
}

/// `3`, `0.5`, `(3, 3)` as what they are.
fn typed(text: String) -> Attribute {
    if let Some(number) = whole(&text) {
        return Attribute::Int(number);
    }
    let is_number =
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    if let Some(number) = text.parse::<f64>().ok().filter(|number| is_number && number.is_finite()) {
        return Attribute::Float(number);
    }
    let inner = [('(', ')'), ('[', ']')].into_iter().find_map(|(a, b)| text.strip_prefix(a)?.strip_suffix(b));
    let items = inner.map(|inner| inner.trim_end().trim_end_matches(',')).filter(|inner| !inner.is_empty());
    match items
        .and_then(|items| items.split(',').map(|item| whole(item.trim())).collect::<Option<Vec<i64>>>())
    {
        Some(items) => Attribute::Ints(items),
        None => Attribute::Text(text),
    }
}

/// A whole number that is written as one.
fn whole(text: &str) -> Option<i64> {
    text.parse::<i64>().ok().filter(|number| number.to_string() == text)
}
