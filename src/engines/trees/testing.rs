//! For the tests of formats: rows as JSON, and what libraries say of fixtures.

use crate::bytes::error::Result;
use crate::bytes::task::Task;
use crate::data::content::Content;
use crate::data::content::graph::Graph;
use crate::data::node::Node;
use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::{DataType, Float32Type, Float64Type, Int32Type, Int64Type};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// What `facts.py` in the folder of fixtures of a format says.
pub(crate) fn facts(id: &str) -> Value {
    let path = format!("{}/fixtures/{id}/facts.py", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let json = text.split("r'''").nth(1).unwrap().split("'''").next().unwrap();
    serde_json::from_str(json).unwrap()
}

/// All of a table below a root.
pub(crate) fn table(root: &Arc<Node>, name: &str) -> RecordBatch {
    let (task, node) = (Task::new(), root.find(&Task::new(), name).unwrap().unwrap());
    let Some(Content::Table(table)) = &node.content else { panic!("{name} is no table") };
    let columns: Vec<usize> = (0..table.schema().fields().len()).collect();
    table.read(&task, 0..table.count(&task).unwrap(), &columns).unwrap()
}

/// A row by the names of its columns.
pub(crate) fn row(batch: &RecordBatch, n: usize) -> Map<String, Value> {
    let names = batch.schema().fields().iter().map(|field| field.name().clone()).collect::<Vec<_>>();
    names.into_iter().zip(batch.columns()).map(|(name, column)| (name, cell(column, n))).collect()
}

fn cell(column: &ArrayRef, n: usize) -> Value {
    if column.is_null(n) {
        return Value::Null;
    }
    match column.data_type() {
        DataType::Int32 => json!(column.as_primitive::<Int32Type>().value(n)),
        DataType::Int64 => json!(column.as_primitive::<Int64Type>().value(n)),
        DataType::Float32 => json!(f64::from(column.as_primitive::<Float32Type>().value(n))),
        DataType::Float64 => json!(column.as_primitive::<Float64Type>().value(n)),
        DataType::Utf8 => json!(column.as_string::<i32>().value(n)),
        DataType::Boolean => json!(column.as_boolean().value(n)),
        DataType::List(_) => {
            let items = column.as_list::<i32>().value(n);
            (0..items.len()).map(|n| cell(&items, n)).collect()
        }
        other => panic!("{other}"),
    }
}

/// The graph of a tree.
pub(crate) fn graph(root: &Arc<Node>, tree: usize) -> Result<Arc<Graph>> {
    let task = Task::new();
    let node = root.find(&task, &format!("trees/{tree}")).unwrap().unwrap_or_else(|| panic!("tree {tree}"));
    let node = node.resolved(&task)?;
    match (&node.content, &node.problem) {
        (Some(Content::Graph(graph)), _) => Ok(graph.clone()),
        (_, Some(problem)) => Err(problem.clone()),
        (_, None) => panic!("tree {tree} is no graph"),
    }
}

/// The edges of a tree's graph: from, to, when.
pub(crate) fn edges(graph: &Graph) -> Vec<(usize, usize, String)> {
    let mut edges: Vec<_> = graph
        .edges()
        .map(|edge| {
            let when = graph.value(edge.value).unwrap().name.to_string();
            (edge.from.unwrap() as usize, edge.to.unwrap() as usize, when)
        })
        .collect();
    edges.sort();
    edges
}
