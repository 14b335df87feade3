//! Ensembles of trees: the nodes of all of them as a table, and each tree as a graph.
//! <https://apple.github.io/coremltools/mlmodel/Format/TreeEnsemble.html>

use super::schema;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::Content;
use crate::data::content::graph::{Attribute, Builder, Graph, Operation, Port};
use crate::data::content::table::MemoryTable;
use crate::data::node::Node;
use crate::engines::protobuf::{Field, Part};
use arrow::array::{
    ArrayRef, BooleanArray, Float64Array, Float64Builder, Int64Array, Int64Builder, ListBuilder, RecordBatch,
    StringArray,
};
use arrow::datatypes::{DataType, Field as Column, Schema};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;

/// The message of a node.
pub(super) const NODE: &str = "TreeEnsembleParameters.TreeNode";
/// The most nodes of an ensemble, and of a tree that is drawn.
const NODES: u64 = 1 << 24;
const DRAWN: u64 = 1 << 18;
/// What a leaf's behaviour is.
const LEAF: u64 = 6;

/// A node of a tree.
#[derive(Default)]
struct TreeNode {
    tree: u64,
    id: u64,
    behaviour: u64,
    feature: u64,
    value: f64,
    yes: u64,
    no: u64,
    missing_is_yes: bool,
    results: Vec<(u64, f64)>,
    hit_rate: Option<f64>,
}

impl TreeNode {
    fn parse(part: Part) -> Result<TreeNode> {
        let mut node = TreeNode::default();
        for field in part.fields() {
            let Field { number, value, .. } = field?;
            match number {
                1 => node.tree = value.uint(),
                2 => node.id = value.uint(),
                3 => node.behaviour = value.uint(),
                10 => node.feature = value.uint(),
                11 => node.value = value.double().unwrap_or(0.0),
                12 => node.yes = value.uint(),
                13 => node.no = value.uint(),
                14 => node.missing_is_yes = value.uint() != 0,
                20 => {
                    let mut result = (0, 0.0);
                    for field in value.fields() {
                        match field? {
                            Field { number: 1, value, .. } => result.0 = value.uint(),
                            Field { number: 2, value, .. } => result.1 = value.double().unwrap_or(0.0),
                            _ => {}
                        }
                    }
                    node.results.push(result);
                }
                30 => node.hit_rate = value.double(),
                _ => {}
            }
        }
        Ok(node)
    }

    fn is_leaf(&self) -> bool {
        self.behaviour == LEAF
    }

    fn word(&self) -> String {
        schema::value_name("TreeEnsembleParameters.TreeNode.TreeNodeBehavior", self.behaviour)
    }
}

/// Calls `each` with the nodes of these places.
fn visit(
    task: &Task,
    source: &Source,
    spans: &[Range<u64>],
    mut each: impl FnMut(&Range<u64>, TreeNode) -> Result<()>,
) -> Result<()> {
    let (Some(first), Some(last)) = (spans.first(), spans.last()) else { return Ok(()) };
    let start = first.start;
    let bytes = source.read(task, start..last.end)?;
    for (n, span) in spans.iter().enumerate() {
        if n % 1_024 == 0 {
            task.check()?;
        }
        let (from, to) = ((span.start - start) as usize, (span.end.max(span.start) - start) as usize);
        each(span, TreeNode::parse(Part::new(bytes.get(from..to).unwrap_or_default(), span.start))?)?;
    }
    Ok(())
}

/// The nodes of an ensemble: a table, with the trees below it.
pub(super) fn node(source: &Source, name: &str, spans: Vec<Range<u64>>) -> Node {
    let (source, own) = (source.clone(), name.to_owned());
    let spans: Arc<[Range<u64>]> = spans.into();
    Node::deferred(name, "table", move |task| {
        limits::check(spans.len() as u64, NODES, "the nodes of an ensemble")?;
        let table = Content::Table(Arc::new(table(task, &source, &spans)?));
        let mut trees: BTreeMap<u64, Vec<Range<u64>>> = BTreeMap::new();
        visit(task, &source, &spans, |span, node| {
            trees.entry(node.tree).or_default().push(span.clone());
            Ok(())
        })?;
        let trees = trees.into_iter().map(|(number, spans)| {
            let (source, name) = (source.clone(), format!("tree {number}"));
            Node::new(name.clone(), "tree").deferred_leaf(move |task| {
                let graph = graph(task, &source, &name, &spans)?;
                Ok(Node::new(name.as_str(), "tree").content(Content::Graph(Arc::new(graph))))
            })
        });
        Ok(Node::new(own.as_str(), "table").content(table).listed(trees.collect()))
    })
}

fn table(task: &Task, source: &Source, spans: &[Range<u64>]) -> Result<MemoryTable> {
    let mut nodes = Vec::with_capacity(spans.len());
    visit(task, source, spans, |_, node| {
        nodes.push(node);
        Ok(())
    })?;
    let int = |name: &str| Column::new(name, DataType::Int64, true);
    let double = |name: &str| Column::new(name, DataType::Float64, true);
    let list = |kind| DataType::List(Arc::new(Column::new_list_field(kind, true)));
    let columns = vec![
        int("treeId"),
        int("nodeId"),
        Column::new("nodeBehavior", DataType::Utf8, true),
        int("branchFeatureIndex"),
        double("branchFeatureValue"),
        int("trueChildNodeId"),
        int("falseChildNodeId"),
        Column::new("missingValueTracksTrueChild", DataType::Boolean, true),
        Column::new("evaluationIndex", list(DataType::Int64), true),
        Column::new("evaluationValue", list(DataType::Float64), true),
        double("relativeHitRate"),
    ];
    let ints = |of: &dyn Fn(&TreeNode) -> Option<u64>| -> ArrayRef {
        Arc::new(nodes.iter().map(|node| of(node).map(u64::cast_signed)).collect::<Int64Array>())
    };
    let branch = |of: fn(&TreeNode) -> u64| move |node: &TreeNode| (!node.is_leaf()).then(|| of(node));
    let mut indices = ListBuilder::new(Int64Builder::new());
    let mut values = ListBuilder::new(Float64Builder::new());
    for node in &nodes {
        indices.append_value(node.results.iter().map(|(index, _)| Some(index.cast_signed())));
        values.append_value(node.results.iter().map(|(_, value)| Some(*value)));
    }
    let missing = nodes.iter().map(|node| (!node.is_leaf()).then_some(node.missing_is_yes));
    let arrays: Vec<ArrayRef> = vec![
        ints(&|node| Some(node.tree)),
        ints(&|node| Some(node.id)),
        Arc::new(nodes.iter().map(|node| Some(node.word())).collect::<StringArray>()),
        ints(&branch(|node| node.feature)),
        Arc::new(nodes.iter().map(|node| (!node.is_leaf()).then_some(node.value)).collect::<Float64Array>()),
        ints(&branch(|node| node.yes)),
        ints(&branch(|node| node.no)),
        Arc::new(missing.collect::<BooleanArray>()),
        Arc::new(indices.finish()),
        Arc::new(values.finish()),
        Arc::new(nodes.iter().map(|node| node.hit_rate).collect::<Float64Array>()),
    ];
    Ok(MemoryTable::new(RecordBatch::try_new(Arc::new(Schema::new(columns)), arrays)?))
}

/// A tree: from each node go values to the nodes that follow where its question is answered by yes or by no.
fn graph(task: &Task, source: &Source, name: &str, spans: &[Range<u64>]) -> Result<Graph> {
    limits::check(spans.len() as u64, DRAWN, "the nodes of a tree that is drawn")?;
    let mut nodes = Vec::with_capacity(spans.len());
    visit(task, source, spans, |_, node| {
        nodes.push(node);
        Ok(())
    })?;
    let mut builder = Builder::new(name);
    builder.label_edges();
    let mut parents: HashMap<u64, Vec<(u64, &'static str)>> = HashMap::new();
    for node in nodes.iter().filter(|node| !node.is_leaf()) {
        parents.entry(node.yes).or_default().push((node.id, "true"));
        parents.entry(node.no).or_default().push((node.id, "false"));
    }
    let value = |builder: &mut Builder, id: u64, answer: &str| builder.value(&format!("{id}.{answer}"));
    for node in &nodes {
        task.check()?;
        let mut operation = Operation {
            name: node.id.to_string().into(),
            operator: node.word().into(),
            ..Operation::default()
        };
        for (parent, answer) in parents.get(&node.id).into_iter().flatten() {
            operation.inputs.push(Port::of(value(&mut builder, *parent, answer)?));
        }
        let mut say = |name: &str, value: Attribute| operation.attributes.push((name.into(), value));
        if node.is_leaf() {
            for (index, value) in &node.results {
                say(&format!("evaluationInfo[{index}]"), Attribute::Float(*value));
            }
        } else {
            say("branchFeatureIndex", Attribute::Int(node.feature.cast_signed()));
            say("branchFeatureValue", Attribute::Float(node.value));
            say("missingValueTracksTrueChild", Attribute::Text(node.missing_is_yes.to_string()));
            for answer in ["true", "false"] {
                let id = value(&mut builder, node.id, answer)?;
                operation.outputs.push(Port { name: answer.into(), ..Port::of(id) });
            }
        }
        if let Some(rate) = node.hit_rate {
            operation.attributes.push(("relativeHitRate".into(), Attribute::Float(rate)));
        }
        builder.node(operation)?;
    }
    if nodes.is_empty() {
        return Err(Error::malformed("a tree without nodes"));
    }
    Ok(builder.finish())
}
