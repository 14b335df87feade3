//! ONNX: models as graphs, in Protocol Buffers.
//! <https://onnx.ai/onnx/repo-docs/IR.html>; the messages are those of
//! <https://github.com/onnx/onnx/blob/main/onnx/onnx.proto>, elements in other files those of
//! <https://github.com/onnx/onnx/blob/main/docs/ExternalData.md>.
//!
//! The file is walked once by its fields; tensors are slices of it, or of files beside it. The root is the main graph with
//! its initializers below it; behind them stand the values of constants, sparse initializers, the bodies of nodes and
//! of functions, and graphs for training. What the file leaves open of shapes is concluded where operators are simple.

mod attribute;
mod graph;
mod infer;
mod sparse;
mod tensor;
mod types;

use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::data::content::{Content, Kind};
use crate::data::format::{Format, Opening};
use crate::data::node::{Node, Value};
use crate::data::sniff::{Head, Match};
use crate::engines::modules;
use crate::engines::protobuf::{Field, Part, Value as Wire};
use graph::{GraphReader, ModelGraph};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use tensor::{Files, Weight};

/// The descriptor.
pub static FORMAT: Format = Format {
    extensions: &["onnx"],
    sniff: Some(sniff),
    reads: &[Kind::Graph, Kind::Array],
    holds_weights: true,
    ..Format::new("onnx", "ONNX model", open)
};

/// The highest version of the format that is taken for one.
const VERSION_MOST: u64 = 1_000;

/// A version, then a graph whose first node names an operator. All fields of a model are looked at as far as the head goes.
fn sniff(head: &Head) -> Match {
    if head.is_folder || head.is_text() {
        return Match::No;
    }
    let (mut version, mut by_graph) = (false, None);
    for field in Part::new(&head.first, 0).fields() {
        match field {
            Ok(Field { number: 1, value: Wire::Varint(number), .. }) => {
                version = (1..=VERSION_MOST).contains(&number)
            }
            Ok(Field { number: 2 | 3 | 4 | 6, value: Wire::Bytes(_), .. }) => {}
            Ok(Field { number: 5, value: Wire::Varint(_), .. }) => {}
            Ok(Field { number: 8 | 14 | 20 | 25 | 26, value: Wire::Bytes(_), .. }) => {}
            Ok(Field { number: 7, value: Wire::Bytes(part), .. }) => by_graph = Some(is_graph(part.bytes())),
            Ok(_) => return Match::No,
            // The graph goes beyond the head, mostly.
            Err(_) => break,
        }
    }
    let by_graph = by_graph.or_else(|| graph_in(&head.first).map(is_graph));
    match (by_graph, head.has_extension(&["onnx"])) {
        (Some(true), _) if version => Match::Yes,
        (Some(_), true) => Match::Yes,
        (None, true) if version => Match::Yes,
        _ => Match::No,
    }
}

/// The beginning of a graph that is cut off at the end of the head.
fn graph_in(head: &[u8]) -> Option<&[u8]> {
    let mut rest = head;
    loop {
        let (key, taken) = crate::bytes::numbers::leb128(rest)?;
        rest = rest.get(taken..)?;
        let (value, taken) = crate::bytes::numbers::leb128(rest)?;
        rest = rest.get(taken..)?;
        match key {
            // Field 7, with a length.
            0x3a => return Some(rest),
            _ if key & 7 == 0 => {}
            _ if key & 7 == 2 => rest = rest.get(usize::try_from(value).ok()?..)?,
            _ => return None,
        }
    }
}

/// Whether bytes begin as a graph does: with a node that has an operator, or else with a name, an initializer or an input.
fn is_graph(bytes: &[u8]) -> bool {
    let Some((key, taken)) = crate::bytes::numbers::leb128(bytes) else { return bytes.is_empty() };
    if key != 0x0a {
        return matches!(key, 0x12 | 0x2a | 0x52 | 0x5a | 0x62);
    }
    let Some(rest) = bytes.get(taken..) else { return false };
    let Some((len, taken)) = crate::bytes::numbers::leb128(rest) else { return false };
    let node = rest.get(taken..).unwrap_or_default();
    let node = usize::try_from(len).ok().and_then(|len| node.get(..len)).unwrap_or(node);
    // A node that is cut off has been one as far as it goes.
    let known = |field: &Field| matches!(field.number, 1..=10 | 13) && matches!(field.value, Wire::Bytes(_));
    let fields: Vec<Field> = Part::new(node, 0).fields().map_while(Result::ok).collect();
    !fields.is_empty() && fields.iter().all(known)
}

/// The fields of a model.
#[derive(Default)]
struct Model<'a> {
    attributes: Vec<(String, Value)>,
    opsets: Vec<(String, u64)>,
    graph: Option<Part<'a>>,
    functions: Vec<Part<'a>>,
    training: Vec<Part<'a>>,
}

impl<'a> Model<'a> {
    fn parse(whole: Part<'a>) -> Result<(Model<'a>, Option<Error>)> {
        let mut model = Model::default();
        let mut metadata = Vec::new();
        let mut problem = None;
        for field in whole.fields() {
            let Field { number: field, value, .. } = match field {
                Ok(field) => field,
                Err(error) => {
                    problem = Some(error);
                    break;
                }
            };
            let text = |name: &str| (name.to_owned(), Value::from(value.text()));
            let number = |name: &str, number: serde_json::Value| (name.to_owned(), Value::from(number));
            match field {
                1 => model.attributes.push(number("ir_version", value.uint().into())),
                2 => model.attributes.push(text("producer_name")),
                3 => model.attributes.push(text("producer_version")),
                4 => model.attributes.push(text("domain")),
                5 => model.attributes.push(number("model_version", (value.uint() as i64).into())),
                6 => model.attributes.push(text("doc_string")),
                7 => model.graph = Some(value.part()),
                8 => model.opsets.push(opset(value.part())?),
                14 => metadata.push(pair(value.part())?),
                20 => model.training.push(value.part()),
                25 => model.functions.push(value.part()),
                _ => {}
            }
        }
        model.attributes.retain(|(_, value)| !value.to_string().is_empty());
        let opsets = model.opsets.iter().map(|(domain, version)| {
            let domain = if domain.is_empty() { "ai.onnx" } else { domain };
            (domain.to_owned(), serde_json::Value::from(*version))
        });
        let opsets = serde_json::Value::Object(opsets.collect());
        model.attributes.push(("opset_import".to_owned(), opsets.into()));
        model.attributes.extend(metadata.into_iter().map(|(name, value)| (name, value.into())));
        Ok((model, problem))
    }
}

/// A pair of texts (`StringStringEntryProto`).
fn pair(part: Part) -> Result<(String, String)> {
    let mut pair = (String::new(), String::new());
    for field in part.fields() {
        let field = field?;
        match field.number {
            1 => pair.0 = field.value.text(),
            2 => pair.1 = field.value.text(),
            _ => {}
        }
    }
    Ok(pair)
}

fn opset(part: Part) -> Result<(String, u64)> {
    let mut opset = (String::new(), 0);
    for field in part.fields() {
        let field = field?;
        match field.number {
            1 => opset.0 = field.value.text(),
            2 => opset.1 = field.value.uint(),
            _ => {}
        }
    }
    Ok(opset)
}

fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    let bytes = source.read(task, 0..source.len(task)?)?;
    let (mut model, problem) = Model::parse(Part::new(&bytes, 0))?;
    let mut root = Node::new("", "file").separator("");
    root.problem = problem;
    root.attributes.extend(std::mem::take(&mut model.attributes));
    let Some(graph) = model.graph else {
        root.problem.get_or_insert_with(|| Error::malformed("a model without a graph"));
        return Ok(root);
    };
    let files = Arc::new(Files::new(source.clone()));
    let mut reader = GraphReader::new(task, files.clone(), &model.functions)?;
    let mut main = reader.graph(graph, "")?;
    root.problem = root.problem.take().or(main.problem.take());
    root.remarks.append(&mut main.remarks);
    let mut after = Vec::new();
    let initializers = std::mem::take(&mut main.initializers);
    extras(&mut main, &files, &mut after);
    functions(&mut reader, &model, &files, &mut after)?;
    training(&mut reader, &model, &files, &mut after)?;
    subgraphs(main.subgraphs, &files, &mut after);
    root.content = Some(Content::Graph(main.graph));
    Ok(modules::tree(root, leaves(initializers, &files), after))
}

/// The initializers under names that differ.
fn leaves(tensors: Vec<tensor::Tensor>, files: &Arc<Files>) -> Vec<Weight> {
    let (mut known, mut again) = (HashSet::new(), HashMap::<String, u64>::new());
    let named = |tensor: tensor::Tensor| {
        let own = if tensor.name.is_empty() { "unnamed".to_owned() } else { tensor.name.clone() };
        let mut name = own.clone();
        while !known.insert(name.clone()) {
            // Counted on, so that a million of one name are no work.
            let number = again.entry(own.clone()).or_insert(1);
            *number += 1;
            name = format!("{own} ({number})");
        }
        Weight { tensor, name, files: files.clone() }
    };
    tensors.into_iter().map(named).collect()
}

/// The constants and sparse initializers of a graph, as groups.
fn extras(read: &mut ModelGraph, files: &Arc<Files>, after: &mut Vec<Arc<Node>>) {
    let constants = std::mem::take(&mut read.constants);
    if !constants.is_empty() {
        let nodes = constants.into_iter().map(|(name, tensor)| {
            let files = files.clone();
            Node::new(name.clone(), "tensor").deferred_leaf(move |_| Ok(tensor.node(&name, &files)))
        });
        after.push(Arc::new(Node::new("constants", "group").listed(nodes.collect())));
    }
    let sparse = std::mem::take(&mut read.sparse);
    if !sparse.is_empty() {
        let nodes = sparse.into_iter().map(|sparse| sparse.node(files));
        after.push(Arc::new(Node::new("sparse", "group").listed(nodes.collect())));
    }
}

/// A graph that is not the main one, with its own initializers.
fn node_of(name: String, label: &'static str, mut read: ModelGraph, files: &Arc<Files>) -> Node {
    let mut node = Node::new(name, label);
    node.problem = read.problem.take();
    node.remarks.append(&mut read.remarks);
    let mut below: Vec<Arc<Node>> = Vec::new();
    for tensor in std::mem::take(&mut read.initializers) {
        below.push(Arc::new(tensor.node(&tensor.name, files)));
    }
    extras(&mut read, files, &mut below);
    subgraphs(std::mem::take(&mut read.subgraphs), files, &mut below);
    node.content = Some(Content::Graph(read.graph));
    match below.is_empty() {
        true => node,
        false => Node { children: crate::data::node::Children::Listed(Arc::new(below)), ..node },
    }
}

fn subgraphs(list: Vec<(String, ModelGraph)>, files: &Arc<Files>, after: &mut Vec<Arc<Node>>) {
    if !list.is_empty() {
        let nodes = list.into_iter().map(|(name, read)| node_of(name, "subgraph", read, files));
        after.push(Arc::new(Node::new("subgraphs", "group").listed(nodes.collect())));
    }
}

fn functions(
    reader: &mut GraphReader,
    model: &Model,
    files: &Arc<Files>,
    after: &mut Vec<Arc<Node>>,
) -> Result<()> {
    let mut nodes = Vec::new();
    for part in &model.functions {
        let (name, read) = match reader.function(*part).unless_cancelled()? {
            Ok(read) => read,
            Err(error) => {
                nodes.push(Node::new(format!("function {}", nodes.len()), "function").problem(error));
                continue;
            }
        };
        nodes.push(node_of(name, "function", read, files));
    }
    if !nodes.is_empty() {
        after.push(Arc::new(Node::new("functions", "group").listed(nodes)));
    }
    Ok(())
}

/// Graphs that set up and run a step of training.
fn training(
    reader: &mut GraphReader,
    model: &Model,
    files: &Arc<Files>,
    after: &mut Vec<Arc<Node>>,
) -> Result<()> {
    let mut nodes = Vec::new();
    for (number, info) in model.training.iter().enumerate() {
        let mut group = Node::new(number.to_string(), "training");
        let mut graphs = Vec::new();
        for field in info.fields() {
            let Field { number: which, value, .. } = field?;
            let name = match which {
                1 => "initialization",
                2 => "algorithm",
                3 | 4 => {
                    let (name, value) = pair(value.part())?;
                    let kind = if which == 3 { "initialization_binding" } else { "update_binding" };
                    group = group.attribute(format!("{kind} {name}"), value);
                    continue;
                }
                _ => continue,
            };
            let read = reader.graph(value.part(), &format!("training/{number}/{name}"))?;
            graphs.push(node_of(name.to_owned(), "graph", read, files));
        }
        nodes.push(group.listed(graphs));
    }
    if !nodes.is_empty() {
        after.push(Arc::new(Node::new("training", "group").listed(nodes)));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
