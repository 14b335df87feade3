//! The nodes of a model: metadata as attributes of the root; below it the trees, the importance of the features, the features,
//! which output each tree is of, DART's weights, or the weights of a linear model.

use super::document::{WHOLE, integer};
use super::tree::{Place, XgbTrees};
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::array::Plain;
use crate::data::content::table::MemoryTable;
use crate::data::content::{Content, Table};
use crate::data::dtype::DType;
use crate::data::node::Node;
use crate::engines::trees::{Forest, LateTable};
use crate::engines::ubjson::Numbers;
use arrow::array::{ArrayRef, Float32Array, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema};
use serde_json::{Map, Value};
use std::sync::Arc;

/// The weights of a linear model: of each feature for each output, then the biases.
pub(super) enum Weights {
    /// Big-endian in the file.
    Placed(Numbers),
    /// Little-endian in the file.
    Little(Numbers),
    /// Read from a text.
    Read(Vec<f64>, DType),
}

/// What a file says.
pub(super) struct Model {
    pub(super) source: Source,
    /// The names of the features.
    pub(super) names: Vec<String>,
    /// Their types: `float`, `int`, `i`, `q`, `c`.
    pub(super) types: Vec<String>,
    pub(super) version: Option<String>,
    /// Where the trees begin, how many there are said to be, and how they are found.
    pub(super) trees: Option<(u64, Option<u64>, Place)>,
    /// The output that each tree is of.
    pub(super) groups: Vec<i64>,
    /// The weight of each tree of DART.
    pub(super) weight_drop: Vec<f64>,
    pub(super) weights: Option<Weights>,
    /// What else stands in these objects.
    pub(super) learner: Map<String, Value>,
    pub(super) booster: Map<String, Value>,
    pub(super) model: Map<String, Value>,
    pub(super) remarks: Vec<String>,
    pub(super) problem: Option<Error>,
}

impl Model {
    /// One of which nothing is known.
    pub(super) fn empty(source: &Source) -> Model {
        Model {
            source: source.clone(),
            names: Vec::new(),
            types: Vec::new(),
            version: None,
            trees: None,
            groups: Vec::new(),
            weight_drop: Vec::new(),
            weights: None,
            learner: Map::new(),
            booster: Map::new(),
            model: Map::new(),
            remarks: Vec::new(),
            problem: None,
        }
    }

    /// The root. Small files are gone through at once, so that it is known how many rows there are.
    ///
    /// # Errors
    /// `Cancelled`.
    pub(super) fn node(mut self, task: &Task) -> Result<Node> {
        let mut root = Node::new("", "XGBoost model");
        self.attributes(&mut root);
        let mut children = Vec::new();
        if let Some(trees) = self.trees.take() {
            self.add_trees(task, trees, &mut root, &mut children)?;
        }
        if !self.names.is_empty() {
            children.push(Node::new("features", "table").content(Content::Table(Arc::new(self.features()?))));
        }
        if !self.groups.is_empty() {
            let bytes: Vec<u8> = self.groups.iter().flat_map(|group| (*group as i32).to_le_bytes()).collect();
            children.push(array("tree_info", DType::I32, bytes, vec![self.groups.len() as u64])?);
        }
        if !self.weight_drop.is_empty() {
            let bytes: Vec<u8> =
                self.weight_drop.iter().flat_map(|weight| (*weight as f32).to_le_bytes()).collect();
            children.push(array("weight_drop", DType::F32, bytes, vec![self.weight_drop.len() as u64])?);
        }
        if let Some(weights) = self.weights.take() {
            match self.weights(weights).unless_cancelled()? {
                Ok(node) => children.push(node),
                Err(error) => children.push(Node::new("weights", "array").problem(error)),
            }
        }
        root.problem = self.problem.or(root.problem);
        root.remarks.append(&mut self.remarks);
        Ok(root.listed(children))
    }

    /// A parameter of the learner.
    fn param(&self, name: &str) -> Option<u64> {
        integer(self.learner.get("learner_model_param")?.get(name)?)
    }

    fn attributes(&self, root: &mut Node) {
        let mut add =
            |name: &str, value: &Value| root.attributes.push((name.to_owned(), value.clone().into()));
        if let Some(version) = &self.version {
            add("version", &Value::from(version.as_str()));
        }
        add("booster", self.booster.get("name").unwrap_or(&Value::from("gbtree")));
        for (name, value) in &self.learner {
            match (name.as_str(), value) {
                ("learner_model_param", Value::Object(params)) => {
                    params.iter().for_each(|(name, value)| add(name, value))
                }
                ("objective", Value::Object(objective)) => {
                    for (name, value) in objective {
                        add(if name == "name" { "objective" } else { name }, value);
                    }
                }
                ("attributes", Value::Object(own)) => {
                    own.iter().for_each(|(name, value)| add(&format!("attributes.{name}"), value));
                }
                _ => add(name, value),
            }
        }
        for (name, value) in &self.model {
            match (name.as_str(), value) {
                ("gbtree_model_param", Value::Object(params)) => {
                    params.iter().for_each(|(name, value)| add(name, value))
                }
                // Where the trees of each iteration begin is counted, no fact of its own.
                ("iteration_indptr" | "cats", _) => {}
                _ => add(name, value),
            }
        }
    }

    fn add_trees(
        &self,
        task: &Task,
        (start, count, place): (u64, Option<u64>, Place),
        root: &mut Node,
        children: &mut Vec<Node>,
    ) -> Result<()> {
        let width = match self.param("num_target") {
            Some(targets) if targets > 1 && self.leaf_width(task, start, place)? > 1 => targets as usize,
            _ => 1,
        };
        let groups: Option<Arc<[i64]>> =
            self.groups.iter().any(|group| *group != 0).then(|| self.groups.as_slice().into());
        let trees = XgbTrees::new(place, self.names.as_slice().into(), groups, width);
        let forest = Forest::new(self.source.clone(), start, count, trees);
        let importance = Arc::new(importance(&forest));
        if self.source.known_len().is_some_and(|len| len <= WHOLE) {
            forest.count(task)?;
            if let Err(error) = importance.count(task).unless_cancelled()? {
                root.problem = Some(error);
            }
        }
        root.findings = Some(forest.clone());
        children.push(Forest::node(&forest));
        children.push(Node::new("feature importance", "table").content(Content::Table(importance)));
        Ok(())
    }

    /// How many values the leaves of the first tree have.
    fn leaf_width(&self, task: &Task, start: u64, place: Place) -> Result<u64> {
        if matches!(place, Place::Binary(_)) {
            let bytes = self.source.read_up_to(task, start, 24)?;
            return Ok(crate::bytes::numbers::le::<u32>(&bytes, 20).map_or(1, u64::from));
        }
        // The parameters of a tree stand behind its lists; its name begins them.
        let trees = XgbTrees::new(place, Arc::default(), None, 1);
        let mut window = crate::engines::records::Window::new(task, &self.source);
        let Ok(Some((span, _))) =
            crate::engines::trees::Trees::next(&trees, &mut window, start).unless_cancelled()?
        else {
            return Ok(1);
        };
        let Ok(nodes) = trees.nodes(task, &self.source, &span).unless_cancelled()? else { return Ok(1) };
        let leaves = nodes.left.iter().filter(|left| **left == -1).count();
        let per = if nodes.by_leaf { leaves } else { nodes.left.len() };
        Ok(nodes.vectors.len().checked_div(per).unwrap_or(1) as u64)
    }

    fn features(&self) -> Result<MemoryTable> {
        let fields = vec![
            Field::new("index", DataType::Int64, false),
            Field::new("name", DataType::Utf8, false),
            Field::new("type", DataType::Utf8, true),
        ];
        let types = (0..self.names.len()).map(|n| self.types.get(n));
        let columns: Vec<ArrayRef> = vec![
            Arc::new(Int64Array::from_iter_values(0..self.names.len() as i64)),
            Arc::new(StringArray::from_iter_values(&self.names)),
            Arc::new(StringArray::from_iter(types)),
        ];
        Ok(MemoryTable::new(RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?))
    }

    fn weights(&self, weights: Weights) -> Result<Node> {
        let (count, outputs) = match &weights {
            Weights::Placed(numbers) | Weights::Little(numbers) => (numbers.count, self.outputs()),
            Weights::Read(list, _) => (list.len() as u64, self.outputs()),
        };
        let shape =
            if outputs > 1 && count % outputs == 0 { vec![count / outputs, outputs] } else { vec![count] };
        let label = "array";
        let node = Node::new("weights", label).read_as("order", "a row for each feature, the bias last");
        match weights {
            Weights::Placed(numbers) => {
                let plain =
                    Plain::new(self.source.clone(), numbers.start, numbers.dtype, shape)?.big_endian(true);
                Ok(node.content(Content::Array(Arc::new(plain))))
            }
            Weights::Little(numbers) => {
                let plain = Plain::new(self.source.clone(), numbers.start, numbers.dtype, shape)?;
                Ok(node.content(Content::Array(Arc::new(plain))))
            }
            Weights::Read(list, dtype) => {
                let bytes = list.iter().flat_map(|weight| (*weight as f32).to_le_bytes()).collect();
                let mut made = array("weights", dtype, bytes, shape)?;
                made.reader = node.reader;
                Ok(made)
            }
        }
    }

    /// How many outputs there are.
    fn outputs(&self) -> u64 {
        let stated = self.model.get("num_output_group").and_then(integer);
        stated
            .or_else(|| self.param("num_class"))
            .unwrap_or(1)
            .max(self.param("num_target").unwrap_or(1))
            .max(1)
    }
}

/// An array in memory.
fn array(name: &str, dtype: DType, bytes: Vec<u8>, shape: Vec<u64>) -> Result<Node> {
    let plain = Plain::new(Source::memory(name, bytes), 0, dtype, shape)?;
    Ok(Node::new(name, "array").content(Content::Array(Arc::new(plain))))
}

/// How often a feature splits nodes, and what these splits gain and cover.
#[derive(Clone, Copy, Default)]
struct Score {
    count: u64,
    gain: f32,
    cover: f32,
}

/// What `Booster.get_score` gives for each type of importance: of the features that split any node, in the order of the
/// features. Sums are of float32 and in XGBoost's order, so that they are the same.
fn importance(forest: &Arc<Forest<XgbTrees>>) -> LateTable {
    let float = |name: &str| Field::new(name, DataType::Float32, false);
    let mut fields =
        vec![Field::new("feature", DataType::Utf8, false), Field::new("weight", DataType::Int64, false)];
    fields.extend(["gain", "total_gain", "cover", "total_cover"].map(float));
    let schema = Arc::new(Schema::new(fields));
    let (forest, columns) = (forest.clone(), schema.clone());
    LateTable::new(schema, move |task| {
        task.set_total(forest.source().known_len().unwrap_or(0));
        let mut scores: std::collections::BTreeMap<usize, Score> = std::collections::BTreeMap::new();
        forest.visit(task, |trees, tree| {
            let nodes = trees.nodes(task, forest.source(), &tree.span)?;
            for (node, _) in nodes.reachable()? {
                if nodes.children(node)?.is_some() {
                    let score = scores.entry(nodes.feature(node)).or_default();
                    score.count += 1;
                    score.gain += nodes.gain.get(node).copied().unwrap_or(0.0);
                    score.cover += nodes.cover.get(node).copied().unwrap_or(0.0);
                }
            }
            Ok(())
        })?;
        let names = scores.keys().map(|feature| forest.trees().name(*feature));
        let floats = |of: fn(&Score) -> f32| -> ArrayRef {
            Arc::new(Float32Array::from_iter_values(scores.values().map(of)))
        };
        let arrays: Vec<ArrayRef> = vec![
            Arc::new(StringArray::from_iter_values(names)),
            Arc::new(Int64Array::from_iter_values(scores.values().map(|score| score.count as i64))),
            floats(|score| score.gain / score.count as f32),
            floats(|score| score.gain),
            floats(|score| score.cover / score.count as f32),
            floats(|score| score.cover),
        ];
        Ok(RecordBatch::try_new(columns.clone(), arrays)?)
    })
}
