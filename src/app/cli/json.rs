//! The tree as JSON (CLI.md, *tree --json*).

use arrow::datatypes::FieldRef;
use gander::bytes::display;
use gander::bytes::error::UnlessCancelled;
use gander::bytes::limits;
use gander::data::adapt::graph_cost;
use gander::data::content::graph::{self, Dimension, Operation, Port, ValueId};
use gander::data::content::{Array, Content, Graph, Image, Kind, Rows, Table, Text};
use gander::data::dtype::DType;
use gander::data::node::{Children, Node, Value};
use gander::engines::pickle::Report;
use gander::{Document, Error, Task};
use serde_json::{Map, Value as Json, json};
use std::sync::Arc;

/// An error as an object.
pub(crate) fn error(error: &Error) -> Json {
    json!({ "kind": error.kind().word(), "message": error.message(), "at": error.offset() })
}

/// A whole document, `depth` levels down.
pub(crate) fn document(task: &Task, document: &Document, path: &str, depth: usize) -> Result<Json, Error> {
    let mut pickles = None;
    let root = node(task, &document.root, "", depth, &mut pickles)?;
    let mut json = json!({
        "path": path,
        "format": document.format.id,
        "format_name": document.format.name,
        "bytes": document.source.known_len(),
        "remarks": document.remarks,
        "root": root,
    });
    if let Some(report) = pickles {
        json["globals"] = report.globals.iter().map(String::as_str).collect();
        json["verdict"] = report.verdict.word().into();
    }
    Ok(json)
}

/// One node and what is below it. What pickles on the way would import is gathered in `pickles`.
fn node(
    task: &Task,
    node_: &Arc<Node>,
    path: &str,
    depth: usize,
    pickles: &mut Option<Report>,
) -> Result<Json, Error> {
    task.check()?;
    // Whoever waits sees which one it is.
    task.set_message(path);
    if let Some(findings) = &node_.findings {
        findings.finish(task)?;
    }
    if let Some(report) = node_.security_now() {
        pickles.get_or_insert_default().merge(Report::clone(&report));
    }
    let mut object = Map::new();
    object.insert("name".into(), node_.name.clone().into());
    object.insert("path".into(), path.into());
    object.insert("kind".into(), node_.kind().word().into());
    object.insert("label".into(), node_.word().into());
    if let Some(length) = node_.length {
        object.insert("length".into(), length.into());
    }
    let attributes: Map<String, Json> =
        node_.shown_attributes().chain(&node_.reserved).map(|(k, v)| (k.clone(), attribute(v))).collect();
    object.insert("attributes".into(), attributes.into());
    let names = |list: &[(String, Value)]| -> Json { list.iter().map(|(name, _)| name.as_str()).collect() };
    if !node_.reader.is_empty() {
        object.insert("reader".into(), names(&node_.reader));
    }
    if !node_.reserved.is_empty() {
        object.insert("reserved".into(), names(&node_.reserved));
    }
    object.insert("problem".into(), Json::Null);
    if let Some(value) = &node_.value {
        object.insert("value".into(), value.clone().into());
    }
    if let Some(content) = &node_.content {
        super::look(task, node_)?;
        object.insert(content.kind().word().into(), facts(content));
        if let Some(sound) = sound(content) {
            object.insert("kind".into(), "audio".into());
            object.insert("audio".into(), sound);
        }
        if let Some(video) = video(content) {
            object.insert("kind".into(), "video".into());
            object.insert("video".into(), video);
        }
    }
    if !matches!(node_.children, Children::None) {
        children(task, node_, path, depth, &mut object, pickles)?;
    }
    // What came up while the children were listed is known now.
    if let Some(problem) = node_.problem_now() {
        object.insert("problem".into(), problem.message().into());
    }
    let remarks = node_.remarks_now();
    if !remarks.is_empty() {
        object.insert("remarks".into(), remarks.into());
    }
    Ok(Json::Object(object))
}

fn children(
    task: &Task,
    parent: &Arc<Node>,
    path: &str,
    depth: usize,
    object: &mut Map<String, Json>,
    pickles: &mut Option<Report>,
) -> Result<(), Error> {
    if depth == 0 {
        let count = parent.child_count();
        if count != Some(0) {
            object.insert("children_total".into(), count.map_or(Json::Null, Json::from));
        }
        return Ok(());
    }
    let page = match parent.child_page(task, 0..limits::PRINTED + 1).unless_cancelled()? {
        Ok(page) => page,
        Err(error) => {
            object.insert("problem".into(), error.message().into());
            return Ok(());
        }
    };
    let more = page.len() as u64 > limits::PRINTED;
    let mut list = Vec::new();
    for child in page.iter().take(limits::PRINTED as usize) {
        let child = child.resolved(task)?;
        list.push(node(task, &child, &parent.child_path(path, &child), depth - 1, pickles)?);
    }
    object.insert("children".into(), list.into());
    if more {
        object.insert("children_total".into(), parent.child_count().map_or(Json::Null, Json::from));
    }
    Ok(())
}

fn attribute(value: &Value) -> Json {
    match value {
        Value::Text(text) => text.clone().into(),
        Value::Json(json) => json.clone(),
    }
}

/// What is said of an array that is a sound.
pub(crate) fn sound(content: &Content) -> Option<Json> {
    let Content::Array(array) = content else { return None };
    let sound = array.facts().sound?;
    let (frames, channels) = (array.shape().first(), array.shape().get(1));
    Some(json!({
        "codec": sound.codec, "rate": sound.rate, "channels": channels, "frames": frames, "bits": sound.bits,
    }))
}

/// What is said of a picture that is a video.
pub(crate) fn video(content: &Content) -> Option<Json> {
    let Content::Image(image) = content else { return None };
    let info = image.info();
    let video = info.video.as_ref()?;
    Some(json!({
        "codec": video.codec, "width": info.width, "height": info.height, "frames": info.frames, "fps": video.fps,
        "seconds": video.seconds, "key_frames": video.keys.len(),
    }))
}

/// The object named after a content's kind.
fn facts(content: &Content) -> Json {
    match content {
        Content::Table(table) => table_facts(table.as_ref()),
        Content::Array(array) => array_facts(array.as_ref()),
        Content::Image(image) => image_facts(image.as_ref()),
        Content::Text(text) => text_facts(text.as_ref()),
        Content::Graph(graph) => graph_facts(graph),
        Content::Bytes(source) => json!({ "length": source.known_len() }),
    }
}

/// A table's columns: name, type, nullable.
pub(crate) fn columns(table: &dyn Table) -> Vec<Json> {
    let column = |(n, field): (usize, &FieldRef)| {
        let kind = display::arrow_type(table.column_type(n));
        json!({ "name": field.name(), "type": kind, "nullable": field.is_nullable() })
    };
    table.schema().fields().iter().enumerate().map(column).collect()
}

/// A graph in numbers, and what goes in and comes out.
pub(crate) fn graph_facts(graph: &Graph) -> Json {
    let ends = |ids: &[ValueId]| -> Json {
        let end = |value: &graph::Value| json!({ "name": &*value.name, "dtype": value.dtype.as_deref(), "shape": shape(value) });
        ids.iter().filter_map(|id| graph.value(*id)).map(end).collect()
    };
    json!({
        "name": graph.name, "nodes": graph.nodes().len(), "operators": graph.operators(),
        "inputs": ends(&graph.inputs), "outputs": ends(&graph.outputs), "macs": cost(&graph_cost::macs(graph)),
    })
}

/// A shape as a list of lengths, names and nulls; null where it is open.
/// The multiply-accumulate operations of a graph: those of one of the batch, where its size is open.
fn cost(macs: &graph_cost::Macs) -> Json {
    json!({ "sum": macs.sum(), "unknown": macs.unknown(), "per_sample": macs.is_per_sample })
}

fn shape(value: &graph::Value) -> Json {
    let length = |length: &Dimension| match length {
        Dimension::Fixed(length) => Json::from(*length),
        Dimension::Named(name) => Json::from(&**name),
        Dimension::Open => Json::Null,
    };
    value.shape.as_ref().map_or(Json::Null, |lengths| lengths.iter().map(length).collect())
}

/// The nodes and edges of a graph (CLI.md, *show --json*).
pub(crate) fn graph_whole(graph: &Graph) -> Json {
    let macs = graph_cost::macs(graph);
    let edge = |edge: graph::Edge| {
        let value = graph.value(edge.value);
        json!({
            "from": edge.from, "to": edge.to, "tensor": value.map(|value| &*value.name),
            "dtype": value.and_then(|value| value.dtype.as_deref()), "shape": value.map_or(Json::Null, shape),
            "inferred": value.is_some_and(|value| value.is_inferred),
        })
    };
    json!({
        "nodes": graph.nodes().iter().zip(&macs.nodes).map(|(node, macs)| graph_node(graph, node, *macs)).collect::<Vec<_>>(),
        "edges": graph.edges().map(edge).collect::<Vec<_>>(),
        "macs": cost(&macs),
    })
}

/// A node of a graph, with its multiply-accumulate operations.
pub(crate) fn graph_node(graph: &Graph, node: &Operation, macs: Option<u64>) -> Json {
    let names = |ports: &[Port]| -> Json {
        let name = |port: &Port| port.value.and_then(|value| graph.value(value)).map(|value| &*value.name);
        ports.iter().map(name).collect()
    };
    let attributes: Map<String, Json> =
        node.attributes.iter().map(|(name, value)| (name.to_string(), attribute_of_node(value))).collect();
    json!({
        "name": &*node.name, "op": &*node.operator, "domain": &*node.domain, "group": &*node.group,
        "inputs": names(&node.inputs), "outputs": names(&node.outputs), "attributes": attributes,
        "parameters": graph.parameters(node), "macs": macs,
    })
}

fn attribute_of_node(attribute: &graph::Attribute) -> Json {
    use graph::Attribute;
    match attribute {
        Attribute::Int(value) => (*value).into(),
        Attribute::Float(value) if value.is_finite() => (*value).into(),
        Attribute::Text(text) | Attribute::Graph(text) => text.as_str().into(),
        Attribute::Tensor(path, text) => path.as_deref().unwrap_or(text).into(),
        Attribute::Ints(list) => list.as_slice().into(),
        Attribute::Floats(list) if list.iter().all(|value| value.is_finite()) => list.as_slice().into(),
        Attribute::Texts(list) => list.as_slice().into(),
        Attribute::Float(_) | Attribute::Floats(_) => attribute.to_string().into(),
    }
}

fn table_facts(table: &dyn Table) -> Json {
    let rows = table.rows();
    let mut object = json!({
        "rows": rows.number(), "rows_exact": matches!(rows, Rows::Exact(_)), "columns": columns(table),
    });
    let facts = table.facts();
    if let Some(groups) = facts.row_groups {
        object["row_groups"] = groups.into();
    }
    if !facts.codecs.is_empty() {
        object["codecs"] = facts.codecs.into();
    }
    details(&mut object, &facts.details);
    object
}

fn details(object: &mut Json, details: &[(String, String)]) {
    if !details.is_empty() {
        object["details"] =
            Json::Object(details.iter().map(|(k, v)| (k.clone(), v.clone().into())).collect());
    }
}

/// A dtype: its name, or a list of [name, dtype, shape] for a structured one.
pub(crate) fn dtype(dtype_: &DType) -> Json {
    match dtype_.record() {
        None => dtype_.to_string().into(),
        Some(record) => record.fields.iter().map(|f| json!([f.name, dtype(&f.dtype), f.shape])).collect(),
    }
}

fn array_facts(array: &dyn Array) -> Json {
    let facts = array.facts();
    let word = facts.word.map_or_else(|| dtype(array.dtype()), Json::from);
    let mut object = json!({ "dtype": word, "shape": array.shape() });
    if let Some(chunks) = facts.chunks {
        object["chunks"] = chunks.into();
    }
    if !facts.codecs.is_empty() {
        object["codecs"] = facts.codecs.into();
    }
    if let Some(order) = facts.byte_order {
        object["byte_order"] = order.into();
    }
    if let Some(bytes) = facts.bytes_stored {
        object["bytes_stored"] = bytes.into();
    }
    if facts.axes.iter().any(|axis| !axis.name.is_empty()) {
        object["dimensions"] = facts.axes.iter().map(|axis| axis.name.as_str()).collect();
    }
    details(&mut object, &facts.details);
    object
}

fn image_facts(image: &dyn Image) -> Json {
    let info = image.info();
    let levels: Vec<Json> = info.levels.iter().map(|&(w, h)| json!([w, h])).collect();
    let mut object = json!({
        "width": info.width, "height": info.height, "channels": info.channels, "bits": info.bits,
        "sample": if info.sample.is_float() { "float" } else { "uint" }, "frames": info.frames, "levels": levels,
    });
    details(&mut object, &info.details);
    object
}

fn text_facts(text: &dyn Text) -> Json {
    json!({ "encoding": text.encoding(), "lines": text.lines().exact() })
}

/// Whether statistics can be had of a node.
pub(crate) fn is_data(node: &Node) -> bool {
    node.statistics.is_some() || !matches!(node.kind(), Kind::Group)
}
