//! A graph as tables: a row a node, or a row an edge, for queries and files.

use crate::bytes::error::Result;
use crate::data::content::graph::{Graph, Port, Value};
use crate::data::content::table::{MemoryTable, Table};
use arrow::array::{ArrayRef, ListBuilder, RecordBatch, StringArray, StringBuilder, UInt64Array};
use serde_json::{Map, Value as Json};
use std::sync::Arc;

/// The nodes, in the order of the file: `node` (its number), `name`, `operator`, `domain`, `group`, `inputs` and `outputs`
/// (names of values), `parameters` (elements of its weights), `macs` (multiply-accumulate operations, as
/// [`graph_cost`](super::graph_cost) counts them; null where they are not known), `attributes` (JSON).
///
/// # Errors
/// `Bug` where columns are of different lengths.
pub fn nodes(graph: &Graph) -> Result<Arc<dyn Table>> {
    let nodes = graph.nodes();
    let texts = |of: fn(&crate::data::content::graph::Operation) -> &str| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(nodes.iter().map(of)))
    };
    let mut inputs = ListBuilder::new(StringBuilder::new());
    let mut outputs = ListBuilder::new(StringBuilder::new());
    for node in nodes {
        names(graph, &node.inputs, &mut inputs);
        names(graph, &node.outputs, &mut outputs);
    }
    let attributes = nodes.iter().map(|node| {
        let pairs =
            node.attributes.iter().map(|(name, value)| (name.to_string(), Json::from(value.to_string())));
        Json::Object(pairs.collect::<Map<_, _>>()).to_string()
    });
    table(vec![
        ("node", Arc::new(UInt64Array::from_iter_values(0..nodes.len() as u64))),
        ("name", texts(|node| &node.name)),
        ("operator", texts(|node| &node.operator)),
        ("domain", texts(|node| &node.domain)),
        ("group", texts(|node| &node.group)),
        ("inputs", Arc::new(inputs.finish())),
        ("outputs", Arc::new(outputs.finish())),
        (
            "parameters",
            Arc::new(UInt64Array::from_iter_values(nodes.iter().map(|node| graph.parameters(node)))),
        ),
        ("macs", Arc::new(UInt64Array::from(super::graph_cost::macs(graph).nodes))),
        ("attributes", Arc::new(StringArray::from_iter_values(attributes))),
    ])
}

/// The edges: `from` and `to` (numbers of nodes; null where the graph begins or ends), `tensor`, `dtype`, `shape`.
///
/// # Errors
/// `Bug` where columns are of different lengths.
pub fn edges(graph: &Graph) -> Result<Arc<dyn Table>> {
    let edges: Vec<_> = graph.edges().collect();
    let value = |edge: &crate::data::content::graph::Edge| graph.value(edge.value);
    let number = |number: Option<u32>| number.map(u64::from);
    let from: UInt64Array = edges.iter().map(|edge| number(edge.from)).collect();
    let to: UInt64Array = edges.iter().map(|edge| number(edge.to)).collect();
    let tensor: StringArray = edges.iter().map(|edge| value(edge).map(|value| value.name.as_ref())).collect();
    let dtype: StringArray = edges.iter().map(|edge| value(edge)?.dtype.as_deref()).collect();
    let shape: StringArray = edges.iter().map(|edge| value(edge).and_then(Value::shape_text)).collect();
    table(vec![
        ("from", Arc::new(from)),
        ("to", Arc::new(to)),
        ("tensor", Arc::new(tensor)),
        ("dtype", Arc::new(dtype)),
        ("shape", Arc::new(shape)),
    ])
}

fn table(columns: Vec<(&str, ArrayRef)>) -> Result<Arc<dyn Table>> {
    Ok(Arc::new(MemoryTable::new(RecordBatch::try_from_iter(columns)?)))
}

fn names(graph: &Graph, ports: &[Port], to: &mut ListBuilder<StringBuilder>) {
    for port in ports {
        to.values().append_option(port.value.and_then(|value| graph.value(value)).map(|value| &value.name));
    }
    to.append(true);
}
