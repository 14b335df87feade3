//! The graphs of exported programs, as JSON: nodes that call operators by their targets, what is known of each value, and
//! the signature, which tells the inputs that are weights from those of the user.
//! <https://github.com/pytorch/pytorch/blob/main/torch/_export/serde/schema.py>

use super::super::types;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::content::graph::{Attribute, Builder, Dimension, Graph, Operation, Port, ValueId};
use serde_json::{Map, Value as Json};
use std::collections::HashMap;
use std::sync::Arc;

/// How deep graphs may lie in graphs, and arguments in arguments.
const DEPTH: usize = 24;

/// The array nodes of the document by the names of the tensors: their paths.
pub(super) type Weights = HashMap<String, Arc<str>>;

/// What a program says beside its nodes.
#[derive(Default)]
pub(super) struct ExportedGraph {
    pub(super) graph: Graph,
    /// Attributes of the whole.
    pub(super) attributes: Vec<(String, Json)>,
}

/// The graph of a program.
///
/// # Errors
/// `Malformed` where it has none, `Limit`, `Cancelled`.
pub(super) fn program(task: &Task, json: &Json, weights: &Weights) -> Result<ExportedGraph> {
    let mut attributes = Vec::new();
    for name in ["schema_version", "opset_version", "torch_version", "verifiers", "dialect"] {
        match json.get(name) {
            Some(Json::Object(entries)) if name == "schema_version" => {
                let part = |name: &str| entries.get(name).map(ToString::to_string).unwrap_or_default();
                let version = format!("{}.{}", part("major"), part("minor"));
                attributes.push((name.to_owned(), version.into()));
            }
            Some(Json::Null) | None => {}
            Some(value) => attributes.push((name.to_owned(), value.clone())),
        }
    }
    if let Some(Json::Object(ranges)) = json.get("range_constraints").filter(|ranges| !is_empty(ranges)) {
        attributes.push(("range_constraints".to_owned(), Json::Object(ranges.clone())));
    }
    let module =
        json.get("graph_module").ok_or_else(|| Error::malformed("program: it has no graph_module"))?;
    let graph = module.get("graph").ok_or_else(|| Error::malformed("program: its module has no graph"))?;
    let mut maker = GraphBuilder { task, builder: Builder::new("forward"), depth: 0, nodes: 0 };
    let signature = module.get("signature");
    let specs = |name: &str| signature.and_then(|signature| signature.get(name)).and_then(Json::as_array);
    let empty = Vec::new();
    maker.described(graph)?;
    let has_specs = specs("input_specs").is_some_and(|specs| !specs.is_empty());
    for spec in specs("input_specs").unwrap_or(&empty) {
        maker.input(spec, weights)?;
    }
    if !has_specs {
        maker.inputs(graph)?;
    }
    maker.fill(graph)?;
    let mutations = specs("output_specs").unwrap_or(&empty).iter().filter_map(mutation);
    let mutations: Map<String, Json> = mutations.collect();
    if !mutations.is_empty() {
        attributes.push(("mutations".to_owned(), Json::Object(mutations)));
    }
    Ok(ExportedGraph { graph: maker.builder.finish(), attributes })
}

fn is_empty(json: &Json) -> bool {
    json.as_object().is_some_and(Map::is_empty)
}

/// An output that is written back: the output, and what it is written to.
fn mutation(spec: &Json) -> Option<(String, Json)> {
    let (kind, spec) = only(spec)?;
    let name = spec.get("arg")?.get("name")?.as_str()?;
    let to = match kind {
        "buffer_mutation" => "buffer_name",
        "parameter_mutation" | "gradient_to_parameter" => "parameter_name",
        "user_input_mutation" | "gradient_to_user_input" => "user_input_name",
        _ => return None,
    };
    Some((name.to_owned(), spec.get(to)?.clone()))
}

/// The only entry of an object: which of several it is, and what.
fn only(json: &Json) -> Option<(&str, &Json)> {
    let object = json.as_object()?;
    let mut entries = object.iter().filter(|(name, _)| *name != "$type" && *name != "type");
    let (name, value) = entries.next()?;
    Some((name, value))
}

struct GraphBuilder<'a> {
    task: &'a Task,
    builder: Builder,
    depth: usize,
    nodes: usize,
}

impl GraphBuilder<'_> {
    /// What is known of the values of a graph.
    fn described(&mut self, graph: &Json) -> Result<()> {
        let entries = |name: &str| graph.get(name).and_then(Json::as_object);
        for (name, meta) in entries("tensor_values").into_iter().flatten() {
            let id = self.builder.value(name)?;
            let Some(value) = self.builder.describe(id) else { continue };
            let kind = meta.get("dtype").and_then(Json::as_u64).and_then(types::numbered);
            value.dtype = kind.map(|kind| kind.name().into());
            let sizes = meta.get("sizes").and_then(Json::as_array);
            value.shape = sizes.map(|sizes| sizes.iter().map(dimension).collect());
        }
        let scalars =
            [("sym_int_values", "SymInt"), ("sym_float_values", "SymFloat"), ("sym_bool_values", "SymBool")];
        for (list, word) in scalars {
            for (name, _) in entries(list).into_iter().flatten() {
                let id = self.builder.value(name)?;
                if let Some(value) = self.builder.describe(id) {
                    value.dtype = Some(word.into());
                }
            }
        }
        Ok(())
    }

    /// An input of the signature.
    fn input(&mut self, spec: &Json, weights: &Weights) -> Result<()> {
        let Some((kind, spec)) = only(spec) else { return Ok(()) };
        let key = match kind {
            "user_input" => {
                let mut ids = Vec::new();
                if let Some(argument) = spec.get("arg") {
                    self.values(argument, "", &mut ids)?;
                }
                ids.into_iter().for_each(|(_, id)| self.builder.input(id));
                return Ok(());
            }
            "parameter" => "parameter_name",
            "buffer" => "buffer_name",
            "tensor_constant" => "tensor_constant_name",
            "custom_obj" => "custom_obj_name",
            _ => return Ok(()),
        };
        let name = spec.get("arg").and_then(|arg| arg.get("name")).and_then(Json::as_str);
        let path = spec.get(key).and_then(Json::as_str).and_then(|name| weights.get(name));
        let (Some(name), Some(path)) = (name, path) else { return Ok(()) };
        let id = self.builder.value(name)?;
        if let Some(value) = self.builder.describe(id) {
            let fixed =
                |length: &Dimension| if let Dimension::Fixed(length) = length { Some(*length) } else { None };
            let shape: Option<Vec<u64>> =
                value.shape.as_ref().and_then(|shape| shape.iter().map(fixed).collect());
            value.elements = shape.and_then(|shape| limits::elements(&shape).ok());
            value.weight = Some(path.clone());
        }
        Ok(())
    }

    /// The inputs of a graph that has no signature.
    fn inputs(&mut self, graph: &Json) -> Result<()> {
        let mut ids = Vec::new();
        for input in graph.get("inputs").and_then(Json::as_array).into_iter().flatten() {
            self.values(input, "", &mut ids)?;
        }
        ids.into_iter().for_each(|(_, id)| self.builder.input(id));
        Ok(())
    }

    /// The nodes and outputs of a graph.
    fn fill(&mut self, graph: &Json) -> Result<()> {
        for node in graph.get("nodes").and_then(Json::as_array).into_iter().flatten() {
            self.nodes += 1;
            if self.nodes.is_multiple_of(256) {
                self.task.check()?;
            }
            self.node(node)?;
        }
        let mut ids = Vec::new();
        for output in graph.get("outputs").and_then(Json::as_array).into_iter().flatten() {
            self.values(output, "", &mut ids)?;
        }
        ids.into_iter().for_each(|(_, id)| self.builder.output(id));
        Ok(())
    }

    fn node(&mut self, json: &Json) -> Result<()> {
        let text = |name: &str| json.get(name).and_then(Json::as_str).unwrap_or_default();
        let target = text("target");
        let (domain, operator, overload) = parts(target);
        let mut node = Operation {
            name: text("name").into(),
            operator: operator.into(),
            domain: domain.into(),
            group: group(json.get("metadata")).into(),
            ..Operation::default()
        };
        if !matches!(overload, "" | "default") {
            node.attributes.push(("overload".into(), Attribute::Text(overload.to_owned())));
        }
        let inputs = json.get("inputs").and_then(Json::as_array);
        for input in inputs.into_iter().flatten() {
            let name = input.get("name").and_then(Json::as_str).unwrap_or_default();
            if let Some(argument) = input.get("arg") {
                self.argument(&mut node, name, argument)?;
            }
        }
        let mut outputs = Vec::new();
        for output in json.get("outputs").and_then(Json::as_array).into_iter().flatten() {
            self.values(output, "", &mut outputs)?;
        }
        // Before names were written nodes were called after what they make.
        if node.name.is_empty()
            && let Some(value) = outputs.first().and_then(|(_, id)| self.builder.describe(*id))
        {
            node.name = value.name.clone();
        }
        node.outputs =
            outputs.into_iter().map(|(name, id)| Port { name: name.into(), ..Port::of(id) }).collect();
        self.builder.node(node)
    }

    /// An argument of a node: values as inputs, graphs as bodies, the rest as attributes.
    fn argument(&mut self, node: &mut Operation, name: &str, argument: &Json) -> Result<()> {
        let mut ids = Vec::new();
        self.values(argument, name, &mut ids)?;
        node.inputs.extend(ids.into_iter().map(|(name, id)| Port { name: name.into(), ..Port::of(id) }));
        let Some((kind, value)) = only(argument) else { return Ok(()) };
        match kind {
            "as_graph" => {
                let called = value.get("name").and_then(Json::as_str).unwrap_or(name);
                let called: Arc<str> = if name.is_empty() { called.into() } else { name.into() };
                let Some(json) = value.get("graph") else { return Ok(()) };
                let graph = self.body(&called, json)?;
                let what = crate::bytes::display::plural(graph.nodes().len() as u64, "node");
                node.attributes.push((called.clone(), Attribute::Graph(format!("graph of {what}"))));
                node.subgraphs.push((called, Arc::new(graph)));
            }
            "as_string_to_argument" => {
                for (key, argument) in value.as_object().into_iter().flatten() {
                    self.deeper(|maker| maker.argument(node, &format!("{name}.{key}"), argument))?;
                }
            }
            "as_tensor" | "as_tensors" | "as_none" | "as_optional_tensor" | "as_nested_tensors" => {}
            _ => {
                if let Some(attribute) = attribute(kind, value) {
                    node.attributes.push((name.into(), attribute));
                }
            }
        }
        Ok(())
    }

    fn deeper<T>(&mut self, run: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= DEPTH {
            return Err(Error::limit(format!("graphs or arguments more than {DEPTH} deep in each other")));
        }
        self.depth += 1;
        let made = run(self);
        self.depth -= 1;
        made
    }

    /// A graph in a node.
    fn body(&mut self, name: &str, json: &Json) -> Result<Graph> {
        let around = std::mem::replace(&mut self.builder, Builder::new(name));
        let filled = self.deeper(|maker| {
            maker.described(json)?;
            maker.inputs(json)?;
            maker.fill(json)
        });
        let body = std::mem::replace(&mut self.builder, around);
        filled.map(|()| body.finish())
    }

    /// The values that an argument names; those of lists by their places.
    fn values(&mut self, argument: &Json, name: &str, to: &mut Vec<(String, ValueId)>) -> Result<()> {
        let Some((kind, value)) = only(argument) else { return Ok(()) };
        let mut add = |name: String, value: Option<&Json>| -> Result<()> {
            if let Some(value) = value.and_then(Json::as_str) {
                to.push((name, self.builder.value(value)?));
            }
            Ok(())
        };
        match kind {
            "as_tensor" | "as_custom_obj" => add(name.to_owned(), value.get("name")),
            "as_sym_int" | "as_sym_bool" | "as_sym_float" => add(name.to_owned(), value.get("as_name")),
            "as_optional_tensor" => {
                add(name.to_owned(), value.get("as_tensor").and_then(|it| it.get("name")))
            }
            "as_tensors" | "as_optional_tensors" | "as_sym_ints" | "as_sym_bools" | "as_sym_floats" => {
                for (n, item) in value.as_array().into_iter().flatten().enumerate() {
                    let inner = item.get("as_tensor").unwrap_or(item);
                    add(format!("{name}[{n}]"), inner.get("name").or_else(|| inner.get("as_name")))?;
                }
                Ok(())
            }
            "as_nested_tensors" => {
                for (n, list) in value.as_array().into_iter().flatten().enumerate() {
                    for (m, item) in list.as_array().into_iter().flatten().enumerate() {
                        add(format!("{name}[{n}][{m}]"), item.get("name"))?;
                    }
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// Namespace, operator and overload of `torch.ops.aten.add.Tensor`, of `_operator.getitem`.
fn parts(target: &str) -> (&str, &str, &str) {
    let Some(rest) = target.strip_prefix("torch.ops.") else {
        let (domain, operator) = target.rsplit_once('.').unwrap_or(("", target));
        return (domain, operator, "");
    };
    let (domain, rest) = rest.split_once('.').unwrap_or(("", rest));
    match rest.split_once('.') {
        Some((operator, overload)) => (domain, operator, overload),
        None => (domain, rest, ""),
    }
}

/// The modules of a node: the last one of its stack has their path. `L__self__,,Net;L__self__conv1,conv1,Conv2d`.
fn group(metadata: Option<&Json>) -> String {
    let stack = metadata.and_then(|metadata| metadata.get("nn_module_stack")).and_then(Json::as_str);
    let last = stack.and_then(|stack| stack.split(';').next_back()).unwrap_or_default();
    let mut fields = last.splitn(3, ',');
    let path = fields.nth(1).unwrap_or_default();
    // A module that is called again has the number of the call behind its name.
    let path = path.split('@').next().unwrap_or_default();
    // What passes put there for nodes of no module.
    if path.starts_with("_empty_nn_module_stack") {
        return String::new();
    }
    let path = path.strip_prefix("L['self']").unwrap_or(path).trim_start_matches('.');
    path.replace('.', "/")
}

/// A length of a tensor.
fn dimension(size: &Json) -> Dimension {
    if let Some(length) = size.as_u64().or_else(|| size.get("as_int")?.as_u64()) {
        return Dimension::Fixed(length);
    }
    let expression = size.get("as_expr").and_then(|expression| expression.get("expr_str"));
    match expression.and_then(Json::as_str) {
        Some(name) => Dimension::Named(plain_expression(name).into()),
        None => Dimension::Open,
    }
}

/// An expression of SymPy's as it is read: of `Mul(Integer(2), Symbol('s77', positive=True))` `Mul(2, s77)`.
fn plain_expression(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((at, word)) =
        ["Symbol('", "Integer("].iter().filter_map(|word| Some((rest.find(word)?, *word))).min()
    {
        plain.push_str(rest.get(..at).unwrap_or_default());
        let inner = rest.get(at + word.len()..).unwrap_or_default();
        let end = inner.find(')').unwrap_or(inner.len());
        let body = inner.get(..end).unwrap_or_default();
        plain.push_str(body.split('\'').next().unwrap_or(body));
        rest = inner.get(end + 1..).unwrap_or_default();
    }
    plain.push_str(rest);
    plain
}

/// A value that is none of those that flow.
fn attribute(kind: &str, value: &Json) -> Option<Attribute> {
    let named = |names: &[&str]| {
        let number = value.as_u64().and_then(|number| usize::try_from(number).ok());
        let name = number.and_then(|number| names.get(number)).copied().filter(|name| !name.is_empty());
        Attribute::Text(name.map_or_else(|| value.to_string(), str::to_owned))
    };
    Some(match kind {
        "as_int" => Attribute::Int(value.as_i64()?),
        "as_float" => match value {
            Json::String(text) => Attribute::Text(text.clone()),
            value => Attribute::Float(value.as_f64()?),
        },
        "as_ints" => Attribute::Ints(value.as_array()?.iter().map(Json::as_i64).collect::<Option<_>>()?),
        "as_floats" => Attribute::Floats(value.as_array()?.iter().map(Json::as_f64).collect::<Option<_>>()?),
        "as_string" | "as_operator" => Attribute::Text(value.as_str()?.to_owned()),
        "as_bool" => Attribute::Text(value.to_string()),
        "as_scalar_type" => {
            let kind = value.as_u64().and_then(types::numbered);
            Attribute::Text(kind.map_or_else(|| value.to_string(), |kind| kind.name()))
        }
        "as_layout" => named(&[
            "",
            "sparse_coo",
            "sparse_csr",
            "sparse_csc",
            "sparse_bsr",
            "sparse_bsc",
            "mkldnn",
            "strided",
        ]),
        "as_memory_format" => {
            named(&["", "contiguous_format", "channels_last", "channels_last_3d", "preserve_format"])
        }
        "as_device" => {
            let word = value.get("type").and_then(Json::as_str)?;
            let index = value.get("index").and_then(Json::as_u64);
            Attribute::Text(index.map_or_else(|| word.to_owned(), |index| format!("{word}:{index}")))
        }
        "as_strings" => {
            let texts = value.as_array()?.iter().map(|item| item.as_str().map(str::to_owned));
            Attribute::Texts(texts.collect::<Option<_>>()?)
        }
        "as_sym_int" | "as_sym_float" | "as_sym_bool" => plain(value).map(Attribute::Text)?,
        // Numbers beside names: what the list is as a whole.
        "as_sym_ints" | "as_sym_floats" | "as_sym_bools" => {
            let items: Vec<String> = value
                .as_array()?
                .iter()
                .map(|item| {
                    plain(item).or_else(|| item.get("as_name").and_then(Json::as_str).map(str::to_owned))
                })
                .collect::<Option<_>>()?;
            Attribute::Texts(items)
        }
        "as_optional_tensors" => return None,
        _ => Attribute::Text(value.to_string()),
    })
}

/// A number of a symbolic argument that is none.
fn plain(value: &Json) -> Option<String> {
    let (kind, value) = only(value)?;
    matches!(kind, "as_int" | "as_float" | "as_bool").then(|| value.to_string())
}
