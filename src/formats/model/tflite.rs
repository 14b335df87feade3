//! TensorFlow Lite (LiteRT): a model as one FlatBuffer with the identifier `TFL3`. Tables of operator codes, of
//! subgraphs with tensors and operators, and of buffers that hold the weights; the first subgraph is the model's graph,
//! the others are what its operators run.
//! <https://ai.google.dev/edge/litert>; the schema is
//! <https://github.com/tensorflow/tensorflow/blob/master/tensorflow/compiler/mlir/lite/schema/schema.fbs>.
//!
//! Opening reads the tables, values stay where they are: weights are slices of the file, in the FlatBuffer, or behind
//! it where a model is larger than 2 GB. Sparse tensors show the values that are stored. What a model carries beside
//! its graph lies in `metadata`; files that were packed to its end as a ZIP archive (labels, vocabularies) lie in
//! `associated files`: <https://ai.google.dev/edge/litert/models/metadata>.

mod attributes;
mod files;
mod graph;
mod model;
mod operators;
mod options;
mod tensor;
mod values;

use crate::bytes::error::Result;
use crate::data::content::{Content, Kind};
use crate::data::format::{Format, Opening};
use crate::data::node::Node;
use crate::data::sniff::Magic;
use crate::engines::flatbuffer::{Buffer, Table};
use crate::engines::modules;
use graph::{Graphs, SUBGRAPHS};
use model::{Model, Place, Problems, each, unique};
use serde_json::{Map, Value as Json, json};
use std::collections::HashMap;
use std::sync::Arc;

/// The descriptor.
pub static FORMAT: Format = Format {
    extensions: &["tflite"],
    magic: &[Magic::at(4, b"TFL3")],
    reads: &[Kind::Array, Kind::Graph],
    holds_weights: true,
    ..Format::new("tflite", "TensorFlow Lite model", open)
};

/// How far a FlatBuffer reaches: its offsets have 32 bits. What lies behind is named by offsets of 64.
const REACH: u64 = 1 << 32;
/// The longest text in a buffer of metadata that is shown as an attribute.
const TEXT: u64 = 64;

fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    // Of a large file this is a view of the map, of which only the tables are looked at.
    let bytes = source.read(task, 0..source.len(task)?.min(REACH))?;
    let buffer = Buffer::new(&bytes);
    let table = buffer.root()?;
    let mut model = Model::read(task, source, table)?;
    let mut root = Node::new("", "file").separator("");
    let mut problems = std::mem::take(&mut model.problems);
    describe(&model, &mut root, &mut problems)?;
    let mut groups = Vec::new();
    let metadata = metadata(&model, &mut root, &mut problems)?;
    let own = model.subgraphs.iter_mut().map(|subgraph| std::mem::take(&mut subgraph.problems)).collect();
    groups.extend(subgraphs(&model, own, &mut root, &mut problems)?);
    if !metadata.is_empty() {
        groups.push(Node::new("metadata", "group").listed(metadata));
    }
    groups.extend(files::node(opening)?);
    problems.tell(&mut root);
    // A group whose name a weight has, or the module of one, gets a number.
    let first = |name: &str| name.split('.').next().unwrap_or_default().to_owned();
    let mut known: HashMap<String, u64> =
        model.weights.iter().map(|weight| (first(&weight.name), 1)).collect();
    for group in &mut groups {
        group.name = unique(&mut known, group.name.clone());
    }
    Ok(modules::tree(root, model.weights, groups.into_iter().map(Arc::new).collect()))
}

/// Attributes of the root: what the model says of itself, and its signatures.
fn describe(model: &Model, root: &mut Node, problems: &mut Problems) -> Result<()> {
    let version: u32 = problems.keep("version", model.table.number(0, 0))?;
    root.attributes.push(("version".to_owned(), version.to_string().into()));
    if let Some(description) = problems.keep("description", model.table.text(3))? {
        root.attributes.push(("description".to_owned(), description.into()));
    }
    let signatures = problems.keep("signatures", model.table.tables(7).map(Some))?;
    let Some(signatures) = signatures else { return Ok(()) };
    let read = |table: &Table| signature(model, table).map(Some);
    let read = each(model.task, problems, "signature", signatures, read)?;
    let listed: Map<String, Json> = read.into_iter().flatten().collect();
    if !listed.is_empty() {
        root.attributes.push(("signatures".to_owned(), Json::Object(listed).into()));
    }
    Ok(())
}

/// A signature: the name that programs call it by, and its tensors under their names.
fn signature(model: &Model, table: &Table) -> Result<(String, Json)> {
    let index: u32 = table.number(4, 0)?;
    let subgraph = model.subgraphs.get(index as usize);
    let subgraph =
        subgraph.ok_or_else(|| attributes::not_there("subgraph", index.into(), model.subgraphs.len()))?;
    let side = |slot: usize| -> Result<Map<String, Json>> {
        let maps = table.tables(slot)?;
        let mut listed = Map::new();
        for n in 0..maps.len() {
            let map = maps.table(n)?;
            let index: u32 = map.number(1, 0)?;
            let tensor = subgraph.tensors.get(index as usize);
            let tensor = tensor
                .ok_or_else(|| attributes::not_there("tensor", index.into(), subgraph.tensors.len()))?;
            listed.insert(map.text(0)?.unwrap_or_default(), json!(tensor.name));
        }
        Ok(listed)
    };
    let name = if subgraph.name.is_empty() { json!(index) } else { json!(subgraph.name) };
    let said = json!({"subgraph": name, "inputs": side(0)?, "outputs": side(1)?});
    Ok((table.text(2)?.unwrap_or_default(), said))
}

/// The buffers of metadata as nodes; what is a short text becomes an attribute of the root too.
fn metadata(model: &Model, root: &mut Node, problems: &mut Problems) -> Result<Vec<Node>> {
    let mut listed: Vec<(String, u64)> = Vec::new();
    if let Some(tables) = problems.keep("metadata", model.table.tables(6).map(Some))? {
        let read =
            |table: &Table| Ok(Some((table.text(0)?.unwrap_or_default(), table.number::<u32>(1, 0)?.into())));
        listed.extend(each(model.task, problems, "metadata", tables, read)?.into_iter().flatten());
    }
    // What there was before entries had names.
    let before: Vec<i32> = problems.keep("metadata_buffer", model.table.numbers(5))?;
    for (n, buffer) in before.into_iter().enumerate() {
        listed.push((format!("metadata_buffer {n}"), u64::try_from(buffer).unwrap_or(u64::MAX)));
    }
    let mut known = HashMap::new();
    let mut nodes = Vec::new();
    for (name, buffer) in listed {
        let name = unique(&mut known, if name.is_empty() { "unnamed".to_owned() } else { name });
        let node = Node::new(name.as_str(), "metadata");
        nodes.push(match model.buffer(buffer) {
            Ok(Some(Place::Here(span))) => {
                if name == "min_runtime_version" && span.end - span.start <= TEXT {
                    let text = model.source.read(model.task, span.clone())?;
                    let text = String::from_utf8_lossy(&text).trim_end_matches('\0').to_owned();
                    root.attributes.push((name.clone(), text.into()));
                }
                let bytes = model.source.member(name, span.clone())?;
                node.content(Content::Bytes(bytes)).span(span)
            }
            Ok(_) => node.remark("it is empty (0 bytes)"),
            Err(error) => node.problem(error),
        });
    }
    Ok(nodes)
}

/// Gives the root the first subgraph as its graph, and a group of the others, where there are any.
fn subgraphs(
    model: &Model,
    own: Vec<Problems>,
    root: &mut Node,
    problems: &mut Problems,
) -> Result<Option<Node>> {
    let mut graphs = Graphs::new(model, own);
    let mut nodes = Vec::new();
    for (n, subgraph) in model.subgraphs.iter().enumerate() {
        let graph = graphs.graph(n)?;
        let variables = subgraph.tensors.iter().filter(|tensor| tensor.is_variable);
        let variables: Vec<&str> = variables.map(|tensor| tensor.name.as_str()).collect();
        let mut node = Node::new(graphs.names.get(n).cloned().unwrap_or_default(), "subgraph");
        let node = if n == 0 { &mut *root } else { &mut node };
        node.content = Some(Content::Graph(graph));
        if !variables.is_empty() {
            node.attributes.push(("variables".to_owned(), json!(variables).into()));
        }
        let said = graphs.problems.get_mut(n).map(std::mem::take).unwrap_or_default();
        if n == 0 {
            problems.join(said);
        } else {
            said.tell(node);
            nodes.push(node.clone());
        }
    }
    if model.subgraphs.is_empty() {
        problems.add(crate::bytes::error::Error::malformed("it has no subgraph, and so no graph"));
    }
    Ok((!nodes.is_empty()).then(|| Node::new(SUBGRAPHS, "group").listed(nodes)))
}

#[cfg(test)]
mod tests;
