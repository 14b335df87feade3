//! Keras models as graphs: a node a call of a layer. Models in a model are laid out in their place, as groups. Both ways are
//! read in which configurations name what a call takes: tensors with their history (Keras 3), and lists of a layer, a call
//! and an output (Keras 2). <https://keras.io/guides/functional_api/>

use super::{LEVELS, list, snake};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::content::Content;
use crate::data::content::graph::{Attribute, Builder, Dimension, Graph, Operation, Port, Value, ValueId};
use crate::data::node::Node;
use serde_json::Value as Json;
use std::collections::{BTreeSet, HashMap};
use std::iter;
use std::sync::Arc;

/// The most nodes of a graph.
const NODES: usize = 100_000;
/// The most outputs of a call that are told apart.
const OUTPUTS: u64 = 1_024;
/// How often the layers of a model are gone through for those whose inputs are known by now.
const ROUNDS: usize = 64;
/// The most weights of a layer, and how deep its parts lie in the file of weights.
const WEIGHTS: u64 = 256;
const DEEP: usize = 6;

/// Where a layer is: by its own name, and in the file of weights of Keras 3.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// Its name, behind those of the models that it lies in, with `/` between them.
    pub name: &'a str,
    /// Its group in the file of weights of Keras 3: `layers/functional/layers/dense_1`.
    pub group: &'a str,
}

/// What knows the weights of layers.
pub type Weights<'a> = dyn FnMut(Place<'_>) -> Result<Vec<Weight>> + 'a;

/// A weight of a layer: a value that has the path of an array.
pub type Weight = Value;

/// The graph of a configuration; `None` where it has no layers, as those of models that are classes of their own.
///
/// # Errors
/// Those of `weights`; `Limit`; `Cancelled`.
pub fn graph(task: &Task, config: &Json, weights: &mut Weights<'_>) -> Result<Option<Graph>> {
    let Some(layers) =
        list(config).filter(|layers| layers.iter().any(|layer| layer.get("class_name").is_some()))
    else {
        return Ok(None);
    };
    let settings = config.get("config");
    let name = settings.and_then(|settings| settings.get("name")).and_then(Json::as_str).unwrap_or_default();
    let mut made = GraphBuilder { builder: Builder::new(name), nodes: 0, task, weights };
    let model = Model { config, layers, name: String::new(), group: String::new(), given: None };
    for output in made.model(&model, 0)? {
        made.builder.output(output);
    }
    Ok(Some(made.builder.finish()))
}

/// The arrays below a node of a file of weights as values, with their paths from `path` on.
///
/// # Errors
/// Those of reading.
pub fn arrays(task: &Task, node: &Arc<Node>, path: &str) -> Result<Vec<Value>> {
    let mut found = Vec::new();
    collect(task, node, path, 0, &mut found)?;
    Ok(found)
}

fn collect(task: &Task, node: &Arc<Node>, path: &str, depth: usize, found: &mut Vec<Value>) -> Result<()> {
    task.check()?;
    let node = node.resolved(task)?;
    if let Some(Content::Array(array)) = &node.content {
        found.push(Value {
            name: node.name.as_str().into(),
            dtype: Some(array.dtype().to_string().into()),
            shape: Some(array.shape().iter().map(|length| Dimension::Fixed(*length)).collect()),
            weight: Some(path.into()),
            elements: limits::elements(array.shape()).ok(),
            ..Value::default()
        });
        return Ok(());
    }
    if depth >= DEEP {
        return Ok(());
    }
    for child in node.child_page(task, 0..WEIGHTS)? {
        if found.len() as u64 >= WEIGHTS {
            break;
        }
        collect(task, &child, &node.child_path(path, &child), depth + 1, found)?;
    }
    Ok(())
}

/// A model, at the top or in another one.
struct Model<'a> {
    config: &'a Json,
    layers: &'a [Json],
    /// Its name, behind those of the models that it lies in; empty at the top.
    name: String,
    /// Its group in a file of weights.
    group: String,
    /// What it is called with; `None` at the top.
    given: Option<Vec<ValueId>>,
}

/// An output of a call of a layer: the layer, the call, the output.
type Key = (String, u64, u64);

/// A call of a layer that is to be added.
struct Call<'a> {
    layer: &'a Json,
    settings: &'a Json,
    name: String,
    class: &'a str,
    group: String,
    number: u64,
    inputs: Vec<Key>,
}

struct GraphBuilder<'a, 'w> {
    builder: Builder,
    nodes: usize,
    task: &'a Task,
    weights: &'a mut Weights<'w>,
}

/// The values of a model that are known.
#[derive(Default)]
struct Known {
    values: HashMap<Key, ValueId>,
    /// By call: which of its outputs somebody takes, but for the first one, which every call has.
    outputs: HashMap<(String, u64), BTreeSet<u64>>,
}

impl Known {
    /// Those of a model with these calls and outputs: none yet.
    fn new(calls: &[Call<'_>], outputs: &[Key]) -> Self {
        let mut known = Known::default();
        for (name, call, output) in calls.iter().flat_map(|call| &call.inputs).chain(outputs) {
            if (1..OUTPUTS).contains(output) {
                known.outputs.entry((name.clone(), *call)).or_default().insert(*output);
            }
        }
        known
    }
}

impl GraphBuilder<'_, '_> {
    /// Adds the layers of a model; gives its outputs.
    fn model(&mut self, model: &Model<'_>, level: usize) -> Result<Vec<ValueId>> {
        let is_sequence = model.config.get("class_name").and_then(Json::as_str) == Some("Sequential");
        let mut calls = calls(model, is_sequence);
        let settings = model.config.get("config");
        let mut outputs =
            keys(settings.and_then(|settings| settings.get("output_layers")).unwrap_or(&Json::Null));
        let mut known = Known::new(&calls, &outputs);
        let mut given = model.given.clone().unwrap_or_default().into_iter();
        self.inputs(model, &mut calls, &mut given, &mut known)?;
        // A sequence need not say what it begins with.
        if is_sequence && let Some(first) = calls.iter_mut().find(|call| call.inputs.is_empty()) {
            let key = (String::new(), 0, 0);
            let id = match given.next() {
                Some(id) => id,
                None => self.given(first.settings, "input")?,
            };
            known.values.insert(key.clone(), id);
            first.inputs.push(key);
        }
        let last = calls.last().map(|call| (call.name.clone(), call.number, 0));
        for round in 0..=ROUNDS {
            let before = calls.len();
            let mut left = Vec::new();
            for call in calls {
                self.task.check()?;
                if round == ROUNDS || call.inputs.iter().all(|key| known.values.contains_key(key)) {
                    self.call(model, &call, level, &mut known)?;
                } else {
                    left.push(call);
                }
            }
            calls = left;
            if calls.is_empty() {
                break;
            }
            if calls.len() == before {
                // They wait for each other, or for what is not there: their inputs are known by name only.
                for call in std::mem::take(&mut calls) {
                    self.call(model, &call, level, &mut known)?;
                }
                break;
            }
        }
        if outputs.is_empty() {
            let only = || known.values.keys().next().filter(|_| known.values.len() == 1).cloned();
            outputs.extend(last.or_else(only));
        }
        Ok(outputs.iter().filter_map(|key| known.values.get(key).copied()).collect())
    }

    /// Takes the layers out that stand for what is handed in.
    fn inputs(
        &mut self,
        model: &Model<'_>,
        calls: &mut Vec<Call<'_>>,
        given: &mut impl Iterator<Item = ValueId>,
        known: &mut Known,
    ) -> Result<()> {
        let (inputs, others): (Vec<_>, Vec<_>) =
            std::mem::take(calls).into_iter().partition(|call| call.class == "InputLayer");
        *calls = others;
        // What a model is called with stands in the order that it says, not in that of its layers.
        let settings = model.config.get("config");
        let order = keys(settings.and_then(|settings| settings.get("input_layers")).unwrap_or(&Json::Null));
        let rank = |call: &Call<'_>| order.iter().position(|key| key.0 == call.name).unwrap_or(usize::MAX);
        let mut inputs = inputs;
        inputs.sort_by_key(rank);
        for call in inputs {
            let id = match given.next() {
                Some(id) => id,
                None => self.given(call.settings, &call.name)?,
            };
            known.values.insert((call.name.clone(), call.number, 0), id);
        }
        Ok(())
    }

    /// A value that is handed in to the graph.
    fn given(&mut self, settings: &Json, name: &str) -> Result<ValueId> {
        let shape =
            ["batch_shape", "batch_input_shape"].into_iter().find_map(|name| settings.get(name)?.as_array());
        let dtype = settings.get("dtype").and_then(policy);
        let value = Value {
            dtype: dtype.map(Arc::from),
            shape: shape.map(|shape| lengths(shape)),
            ..Value::default()
        };
        let id = self.builder.unnamed(Value { name: name.into(), ..value })?;
        self.builder.input(id);
        Ok(id)
    }

    /// Adds a call: a node, or the nodes of a model.
    fn call(&mut self, model: &Model<'_>, call: &Call<'_>, level: usize, known: &mut Known) -> Result<()> {
        let name =
            if model.name.is_empty() { call.name.clone() } else { format!("{}/{}", model.name, call.name) };
        let inputs: Vec<ValueId> =
            call.inputs.iter().map(|key| self.value(key, known)).collect::<Result<_>>()?;
        if let Some(layers) = list(call.layer)
            && level + 1 < LEVELS
        {
            let (group, given) = (call.group.clone(), Some(inputs));
            let inner = Model { config: call.layer, layers, name, group, given };
            let outputs = self.model(&inner, level + 1)?;
            for (output, id) in outputs.into_iter().enumerate() {
                known.values.insert((call.name.clone(), call.number, output as u64), id);
            }
            return Ok(());
        }
        self.nodes += 1;
        if self.nodes > NODES {
            return Err(Error::limit(format!("a graph of more than {NODES} calls of layers")));
        }
        let mut outputs = Vec::new();
        let taken = known.outputs.remove(&(call.name.clone(), call.number)).unwrap_or_default();
        for output in iter::once(0).chain(taken) {
            outputs.push(Port::of(self.value(&(call.name.clone(), call.number, output), known)?));
        }
        let mut ports: Vec<Port> = inputs.into_iter().map(Port::of).collect();
        // Further calls take the same weights.
        for weight in (self.weights)(Place { name: &name, group: &call.group })? {
            let path = weight.weight.clone().unwrap_or_default();
            let own = weight.name.clone();
            let id = self.builder.value(&path)?;
            if let Some(value) = self.builder.describe(id) {
                *value = weight;
            }
            ports.push(Port { name: own, ..Port::of(id) });
        }
        self.builder.node(Operation {
            name: name.as_str().into(),
            operator: call.class.into(),
            group: model.name.as_str().into(),
            inputs: ports,
            outputs,
            attributes: attributes(call.settings),
            ..Operation::default()
        })
    }

    /// The value of an output of a call.
    fn value(&mut self, key: &Key, known: &mut Known) -> Result<ValueId> {
        if let Some(id) = known.values.get(key) {
            return Ok(*id);
        }
        let name = match key {
            (name, 0, 0) => name.clone(),
            (name, call, output) => format!("{name}:{call}:{output}"),
        };
        let id = self.builder.unnamed(Value { name: name.into(), ..Value::default() })?;
        known.values.insert(key.clone(), id);
        Ok(id)
    }
}

/// The calls of the layers of a model, in the order of its configuration.
fn calls<'a>(model: &Model<'a>, is_sequence: bool) -> Vec<Call<'a>> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    let mut before: Option<String> = None;
    let mut found = Vec::new();
    for layer in model.layers {
        let settings = layer.get("config").unwrap_or(&Json::Null);
        let Some(class) = layer.get("class_name").and_then(Json::as_str) else { continue };
        let own =
            settings.get("name").or_else(|| layer.get("name")).and_then(Json::as_str).unwrap_or_default();
        let kind = snake(class);
        let count = counts.entry(kind.clone()).and_modify(|count| *count += 1).or_insert(0);
        let place = if *count == 0 { kind } else { format!("{kind}_{count}") };
        let slash = if model.group.is_empty() { "" } else { "/" };
        let group = format!("{}{slash}layers/{place}", model.group);
        let nodes = layer.get("inbound_nodes").and_then(Json::as_array).map_or(&[][..], Vec::as_slice);
        let mut inputs: Vec<Vec<Key>> = nodes.iter().map(keys).collect();
        if inputs.is_empty() {
            let before = before.take().filter(|_| is_sequence);
            inputs.push(before.map(|before| (before, 0, 0)).into_iter().collect());
        }
        before = Some(own.to_owned());
        for (number, inputs) in (0..).zip(inputs) {
            let (name, group) = (own.to_owned(), group.clone());
            found.push(Call { layer, settings, name, class, group, number, inputs });
        }
    }
    found
}

/// The outputs of layers that a call takes, or that a model gives, in the order in which they are named.
fn keys(json: &Json) -> Vec<Key> {
    let mut found = Vec::new();
    add(json, 0, &mut found);
    found
}

fn add(json: &Json, depth: usize, found: &mut Vec<Key>) {
    let key = |items: &[Json]| match items {
        [Json::String(name), call, output, ..] => Some((name.clone(), call.as_u64()?, output.as_u64()?)),
        _ => None,
    };
    match json {
        _ if depth > limits::DEPTH => {}
        Json::Object(object) => {
            match object.get("keras_history").and_then(|history| key(history.as_array()?)) {
                Some(from) => found.push(from),
                None => object.values().for_each(|inner| add(inner, depth + 1, found)),
            }
        }
        Json::Array(items) => match key(items) {
            Some(from) => {
                found.push(from);
                // Further arguments of the call may be tensors as well.
                items.iter().skip(3).for_each(|inner| add(inner, depth + 1, found));
            }
            None => items.iter().for_each(|inner| add(inner, depth + 1, found)),
        },
        _ => {}
    }
}

/// The lengths of a shape, of which those that are not fixed are null.
fn lengths(shape: &[Json]) -> Vec<Dimension> {
    shape.iter().map(|length| length.as_u64().map_or(Dimension::Open, Dimension::Fixed)).collect()
}

/// The type of a policy: a name, or an object that has one.
fn policy(json: &Json) -> Option<&str> {
    json.as_str().or_else(|| json.get("config")?.get("name")?.as_str())
}

/// The settings of a layer as attributes: scalars, lists of scalars, and of objects their classes.
fn attributes(settings: &Json) -> Vec<(Arc<str>, Attribute)> {
    let all = settings.as_object().into_iter().flatten().filter(|(name, _)| *name != "name");
    all.filter_map(|(name, value)| {
        let value =
            if name == "dtype" { Attribute::Text(policy(value)?.to_owned()) } else { attribute(value)? };
        Some((name.as_str().into(), value))
    })
    .collect()
}

fn attribute(json: &Json) -> Option<Attribute> {
    Some(match json {
        Json::Null => return None,
        Json::Bool(value) => Attribute::Text(value.to_string()),
        Json::String(text) => Attribute::Text(text.clone()),
        Json::Number(number) => match number.as_i64() {
            Some(number) => Attribute::Int(number),
            None => Attribute::Float(number.as_f64()?),
        },
        Json::Array(items) => {
            let ints: Option<Vec<i64>> = items.iter().map(Json::as_i64).collect();
            let floats = || items.iter().map(Json::as_f64).collect::<Option<Vec<f64>>>();
            let texts =
                || items.iter().map(|item| item.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>();
            let text = || Attribute::Text(json.to_string());
            ints.map(Attribute::Ints)
                .or_else(|| floats().map(Attribute::Floats))
                .or_else(|| texts().map(Attribute::Texts))
                .unwrap_or_else(text)
        }
        Json::Object(object) => {
            let class = object.get("class_name").and_then(Json::as_str);
            Attribute::Text(class.map_or_else(|| json.to_string(), str::to_owned))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(config: Json) -> Graph {
        graph(&Task::new(), &config, &mut |_| Ok(Vec::new())).unwrap().unwrap()
    }

    /// Edges as names of nodes; `.` for the graph itself.
    fn edges(graph: &Graph) -> Vec<String> {
        let name = |node: Option<u32>| {
            node.map_or(".".to_owned(), |node| graph.nodes()[node as usize].name.to_string())
        };
        graph.edges().map(|edge| format!("{}>{}", name(edge.from), name(edge.to))).collect()
    }

    #[test]
    fn models_in_models_are_groups() {
        let dense = |name: &str, from: Json| {
            serde_json::json!({"class_name": "Dense", "config": {"name": name, "units": 3},
            "inbound_nodes": from})
        };
        let input = |name: &str| {
            serde_json::json!({"class_name": "InputLayer", "config": {"name": name, "batch_shape": [null, 4],
            "dtype": "float32"}, "inbound_nodes": []})
        };
        let history = |name: &str| {
            serde_json::json!([{"args": [{"class_name": "__keras_tensor__", "config": {"shape": [null, 4],
            "keras_history": [name, 0, 0]}}], "kwargs": {}}])
        };
        let inner = serde_json::json!({"class_name": "Functional", "config": {"name": "inner", "layers": [
            input("x"), dense("d", history("x"))], "input_layers": [["x", 0, 0]], "output_layers": [["d", 0, 0]]},
            "inbound_nodes": history("a")});
        let graph = drawn(serde_json::json!({"class_name": "Functional", "config": {"name": "m", "layers": [
            dense("z", history("inner")), input("image"), dense("a", history("image")), inner],
            "input_layers": ["image", 0, 0], "output_layers": [["z", 0, 0]]}}));
        assert_eq!(edges(&graph), [".>a", "a>inner/d", "inner/d>z", "z>."]);
        assert_eq!(graph.nodes()[1].group.as_ref(), "inner");
        assert_eq!(graph.nodes()[0].attributes, [("units".into(), Attribute::Int(3))]);
        assert_eq!(graph.value(graph.inputs[0]).unwrap().shape_text().as_deref(), Some("[?, 4]"));
    }

    #[test]
    fn sequences_and_shared_layers_of_keras_2() {
        let graph = drawn(serde_json::json!({"class_name": "Sequential", "config": [
            {"class_name": "Dense", "config": {"name": "a", "batch_input_shape": [null, 2]}},
            {"class_name": "ReLU", "config": {"name": "b"}}]}));
        assert_eq!(edges(&graph), [".>a", "a>b", "b>."]);
        let graph = drawn(serde_json::json!({"class_name": "Model", "config": {"name": "m", "layers": [
            {"name": "x", "class_name": "InputLayer", "config": {"name": "x"}, "inbound_nodes": []},
            {"name": "s", "class_name": "Dense", "config": {"name": "s"}, "inbound_nodes": [[["x", 0, 0, {}]], [["s", 0, 0, {}]]]},
            {"name": "add", "class_name": "Add", "config": {"name": "add"}, "inbound_nodes": [[["s", 0, 0, {}], ["s", 1, 0, {}]]]}],
            "input_layers": [["x", 0, 0]], "output_layers": [["add", 0, 0]]}}));
        assert_eq!(edges(&graph), [".>s", "s>s", "s>add", "s>add", "add>."]);
    }

    #[test]
    fn circles_end() {
        let graph = drawn(serde_json::json!({"class_name": "Functional", "config": {"layers": [
            {"class_name": "A", "config": {"name": "a"}, "inbound_nodes": [[["b", 0, 0]]]},
            {"class_name": "B", "config": {"name": "b"}, "inbound_nodes": [[["a", 0, 0]]]}]}}));
        assert_eq!(edges(&graph)[..2], ["b>a", "a>b"]);
        assert!(
            self::graph(&Task::new(), &serde_json::json!({"config": {}}), &mut |_| Ok(Vec::new()))
                .unwrap()
                .is_none()
        );
    }
}
