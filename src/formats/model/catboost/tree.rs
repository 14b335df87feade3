//! Trees as rows, one a node or leaf. An oblivious tree has one condition a level; its nodes are numbered level by level from the
//! root, whose condition is the last one stored, so that leaves stand from left to right in their order. Of other trees the
//! nodes are numbered as stored; where a node ends on one side only, the leaf of that side follows behind all nodes.

use super::model::{Model, Subject};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::numbers::le;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::cell;
use crate::data::content::graph::Attribute;
use crate::engines::records::Window;
use crate::engines::trees::drawing::{self, Step, TreeGraph, listed};
use crate::engines::trees::{Tree, Trees, reachable};
use arrow::array::{
    ArrayRef, Float32Builder, Float64Builder, Int32Array, Int64Array, Int64Builder, ListBuilder,
    StringBuilder,
};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use std::ops::Range;
use std::sync::Arc;

/// A node of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The number of its condition, and its children: where it does not hold, and where it does.
    Split(i32, [usize; 2]),
    /// The number of the leaf in the model.
    Leaf(u64),
}

impl Model {
    /// How many nodes and leaves a tree has.
    fn rows(&self, tree: usize) -> Option<u64> {
        let size = u64::try_from(*self.sizes.get(tree)?).ok()?;
        if self.steps.is_empty() {
            // The leaves were counted, so that this is no more than the file has values, twice.
            return Some((2 << size) - 1);
        }
        let steps = self.steps.get(self.range(tree)?)?;
        let ends = steps.iter().filter(|step| (**step & 0xffff == 0) != (**step >> 16 == 0)).count();
        Some(size + ends as u64)
    }

    /// The places of a tree's conditions.
    fn range(&self, tree: usize) -> Option<Range<usize>> {
        let start = *self.starts.get(tree)?;
        Some(start..start.checked_add(usize::try_from(*self.sizes.get(tree)?).ok()?)?)
    }

    /// The nodes of a tree.
    ///
    /// # Errors
    /// `Malformed` where the lists do not hold it.
    pub(super) fn nodes(&self, tree: usize) -> Result<Vec<Place>> {
        let there = || Some((self.range(tree)?, self.splits.get(self.range(tree)?)?));
        let (range, splits) = there().ok_or_else(|| Error::malformed("tree: it is not there"))?;
        if !self.steps.is_empty() {
            return self.linked(range, splits);
        }
        let first = self.leaves.get(tree).copied().unwrap_or(0);
        let inner = (1usize << splits.len()) - 1;
        let mut nodes = Vec::with_capacity(inner * 2 + 1);
        for (level, split) in splits.iter().rev().enumerate() {
            let before = (1usize << level) - 1;
            nodes.extend(
                (before..before * 2 + 1).map(|node| Place::Split(*split, [node * 2 + 1, node * 2 + 2])),
            );
        }
        nodes.extend((0..=inner as u64).map(|leaf| Place::Leaf(first + leaf)));
        Ok(nodes)
    }

    /// The nodes of a tree that is not oblivious.
    fn linked(&self, range: Range<usize>, splits: &[i32]) -> Result<Vec<Place>> {
        let (steps, ends) =
            (self.steps.get(range.clone()).unwrap_or_default(), self.ends.get(range).unwrap_or_default());
        let (mut nodes, mut behind) = (Vec::new(), Vec::new());
        for (node, ((step, end), split)) in steps.iter().zip(ends).zip(splits).enumerate() {
            let leaf = Place::Leaf(u64::from(*end) / self.width as u64);
            let (left, right) = ((step & 0xffff) as usize, (step >> 16) as usize);
            if left == 0 && right == 0 {
                nodes.push(leaf);
                continue;
            }
            let mut child = |far: usize| match far {
                0 => {
                    behind.push(leaf);
                    splits.len() + behind.len() - 1
                }
                far => node + far,
            };
            let children = [child(left), child(right)];
            nodes.push(Place::Split(*split, children));
        }
        nodes.append(&mut behind);
        Ok(nodes)
    }

    /// Values of leaves: those of `range`, all of each.
    ///
    /// # Errors
    /// `Malformed` where there are not so many.
    pub(super) fn leaf_values(
        &self,
        task: &Task,
        source: &Source,
        leaves: Range<u64>,
        weights: bool,
    ) -> Result<Vec<f64>> {
        let (vector, width) = if weights { (self.weights, 1) } else { (self.values, self.width as u64) };
        let place = |leaf: u64| leaf.checked_mul(width).filter(|place| *place <= vector.count);
        let (Some(start), Some(end)) = (place(leaves.start), place(leaves.end)) else {
            let (count, leaf) = (vector.count, leaves.end.saturating_sub(1));
            return Err(Error::malformed(format!("leaf {leaf}: there are {count} values")));
        };
        limits::check((end - start) * 8, limits::CHUNK, "the leaves of a tree")?;
        let bytes = source.read(task, vector.start + start * 8..vector.start + end * 8)?;
        Ok(bytes.chunks_exact(8).filter_map(|bytes| le(bytes, 0)).collect())
    }
}

/// The leaves of nodes, from the first to the last one.
pub(super) fn leaves(nodes: &[Place]) -> Range<u64> {
    let all =
        || nodes.iter().filter_map(|node| if let Place::Leaf(leaf) = node { Some(*leaf) } else { None });
    match (all().min(), all().max()) {
        (Some(first), Some(last)) => first..last.saturating_add(1),
        _ => 0..0,
    }
}

/// The trees of a model. They are counted, not placed: byte `n` stands for tree `n`.
pub(super) struct CatTrees {
    model: Arc<Model>,
    schema: SchemaRef,
}

impl CatTrees {
    pub(super) fn new(model: Arc<Model>) -> Self {
        let number = |name: &str, nullable| Field::new(name, DataType::Int64, nullable);
        let text = |name: &str| Field::new(name, DataType::Utf8, true);
        let list = DataType::List(Arc::new(Field::new_list_field(DataType::Float64, true)));
        let value = if model.width > 1 { list } else { DataType::Float64 };
        let fields = vec![
            number("Tree", false),
            number("Node", false),
            Field::new("Depth", DataType::Int32, false),
            text("Feature"),
            text("Type"),
            Field::new("Border", DataType::Float32, true),
            text("Category"),
            number("Left", true),
            number("Right", true),
            number("Leaf", true),
            Field::new("Value", value, true),
            Field::new("Weight", DataType::Float64, true),
        ];
        CatTrees { model, schema: Arc::new(Schema::new(fields)) }
    }
}

impl Trees for CatTrees {
    const PLACED: bool = false;

    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn next(&self, _: &mut Window, at: u64) -> Result<Option<(Range<u64>, u64)>> {
        let rows = usize::try_from(at).ok().and_then(|tree| self.model.rows(tree));
        Ok(rows.map(|rows| (at..at + 1, rows)))
    }

    fn read(&self, task: &Task, source: &Source, tree: &Tree) -> Result<Vec<ArrayRef>> {
        let model = &self.model;
        let nodes = model.nodes(usize::try_from(tree.number).unwrap_or(usize::MAX))?;
        let order = ordered(&nodes)?;
        let Leaves { numbers, values, weights } = Leaves::read(model, task, source, &nodes)?;
        let [mut features, mut kinds, mut categories] = [(); 3].map(|()| StringBuilder::new());
        let [mut left, mut right, mut leaf] = [(); 3].map(|()| Int64Builder::new());
        let mut border = Float32Builder::new();
        let (mut single, mut many, mut weight) =
            (Float64Builder::new(), ListBuilder::new(Float64Builder::new()), Float64Builder::new());
        for (node, _) in &order {
            match nodes.get(*node) {
                Some(Place::Split(number, children)) => {
                    let (list, at) = model.condition(*number)?;
                    features.append_value(model.name(&list.subject));
                    kinds.append_value(list.kind);
                    border.append_option(list.borders.get(at).copied());
                    categories.append_option(list.values.get(at));
                    left.append_value(children[0] as i64);
                    right.append_value(children[1] as i64);
                    leaf.append_null();
                    single.append_null();
                    many.append_null();
                    weight.append_null();
                }
                place => {
                    let number = if let Some(Place::Leaf(number)) = place { *number } else { 0 };
                    let at = (number - numbers.start.min(number)) as usize;
                    for builder in [&mut features, &mut kinds, &mut categories] {
                        builder.append_null();
                    }
                    border.append_null();
                    left.append_null();
                    right.append_null();
                    leaf.append_value(number.cast_signed());
                    let own = values.get(at * model.width..(at + 1) * model.width);
                    single.append_option(own.and_then(|own| own.first().copied()));
                    many.append_option(own.map(|own| own.iter().map(|value| Some(*value))));
                    weight.append_option(weights.get(at).copied());
                }
            }
        }
        Ok(vec![
            Arc::new(Int64Array::from_value(tree.number.cast_signed(), order.len())),
            Arc::new(Int64Array::from_iter_values(order.iter().map(|(node, _)| *node as i64))),
            Arc::new(Int32Array::from_iter_values(order.iter().map(|(_, depth)| depth.cast_signed()))),
            Arc::new(features.finish()),
            Arc::new(kinds.finish()),
            Arc::new(border.finish()),
            Arc::new(categories.finish()),
            Arc::new(left.finish()),
            Arc::new(right.finish()),
            Arc::new(leaf.finish()),
            if model.width > 1 { Arc::new(many.finish()) } else { Arc::new(single.finish()) as ArrayRef },
            Arc::new(weight.finish()),
        ])
    }

    fn draw(&self, task: &Task, source: &Source, tree: &Tree) -> Result<TreeGraph> {
        let model = &self.model;
        let number = usize::try_from(tree.number).unwrap_or(usize::MAX);
        let name = format!("tree {number}");
        let levels = model.range(number).map_or(0, |range| range.len());
        if model.steps.is_empty() && levels > LEVELS {
            return self.levels(task, name, number);
        }
        let nodes = model.nodes(number)?;
        let leaves = Leaves::read(model, task, source, &nodes)?;
        drawing::draw(task, name, ordered(&nodes)?, |node| self.step(&nodes, &leaves, node))
    }
}

impl CatTrees {
    /// A node for the graph of its tree.
    fn step(&self, nodes: &[Place], leaves: &Leaves, node: usize) -> Result<Step> {
        let model = &self.model;
        let mut attributes = vec![("node", Attribute::Int(node as i64))];
        let number = match nodes.get(node) {
            Some(Place::Split(condition, [no, yes])) => {
                let (name, missing, kind) = self.condition(*condition)?;
                attributes.push(("type", Attribute::Text(kind.to_owned())));
                let mut children = drawing::branches(*yes, *no, missing);
                // From left to right as the leaves are numbered.
                children.reverse();
                return Ok(Step { name, children, attributes });
            }
            Some(Place::Leaf(number)) => *number,
            None => return Err(Error::bug("a node that is not there")),
        };
        let at = number.checked_sub(leaves.numbers.start).and_then(|at| usize::try_from(at).ok());
        let own = at.and_then(|at| leaves.values.get(at * model.width..(at + 1) * model.width));
        let own = own.unwrap_or_default();
        let name = match own {
            [value] => cell::float64(*value),
            several => format!("[{}]", listed(several.iter().map(|value| cell::float64(*value)))),
        };
        attributes.push(("leaf", Attribute::Int(number.cast_signed())));
        if model.width > 1 {
            attributes.push(("values", Attribute::Floats(own.to_vec())));
        }
        let weight = at.and_then(|at| leaves.weights.get(at));
        attributes.extend(weight.map(|weight| ("weight", Attribute::Float(*weight))));
        Ok(Step { name, children: Vec::new(), attributes })
    }

    /// An oblivious tree of many leaves: its levels below each other, since all nodes of a level have one condition.
    fn levels(&self, task: &Task, name: String, tree: usize) -> Result<TreeGraph> {
        let range = self.model.range(tree).unwrap_or_default();
        let splits = self.model.splits.get(range).unwrap_or_default();
        let count = splits.len();
        let order = (0..=count).map(|level| (level, level as u32)).collect();
        let drawn = drawing::draw(task, name, order, |level| {
            let Some(split) = count.checked_sub(level + 1).and_then(|place| splits.get(place)) else {
                let leaves = 1u64.checked_shl(count as u32).unwrap_or(0);
                return Ok(Step { name: format!("{leaves} leaves"), ..Step::default() });
            };
            let (name, missing, kind) = self.condition(*split)?;
            let mut attributes = vec![("type", Attribute::Text(kind.to_owned()))];
            if let Some(missing) = missing {
                let where_to = if missing { "yes" } else { "no" };
                attributes.push(("missing", Attribute::Text(where_to.to_owned())));
            }
            Ok(Step { name, children: vec![(level + 1, "yes or no")], attributes })
        })?;
        let remark = format!(
            "the tree has {count} levels; all nodes of a level have one condition and are drawn as one"
        );
        Ok(TreeGraph { remark: Some(remark), ..drawn })
    }

    /// What a condition says, whether it holds where the value is missing, and CatBoost's word for its kind.
    fn condition(&self, number: i32) -> Result<(String, Option<bool>, &'static str)> {
        let (list, at) = self.model.condition(number)?;
        let subject = self.model.name(&list.subject);
        let name = match (list.borders.get(at), list.values.get(at)) {
            (Some(border), _) => format!("{subject} > {}", cell::float32(*border)),
            (None, Some(value)) => format!("{subject} = {value}"),
            (None, None) => subject.to_owned(),
        };
        Ok((name, self.model.missing(&list.subject), list.kind))
    }
}

/// The most levels of an oblivious tree that is drawn with all its nodes: 4,095.
const LEVELS: usize = 11;

/// The nodes of a tree by their numbers, with their depths.
fn ordered(nodes: &[Place]) -> Result<Vec<(usize, u32)>> {
    let mut order = reachable(nodes.len(), |node| {
        Ok(nodes
            .get(node)
            .and_then(|place| if let Place::Split(_, children) = place { Some(*children) } else { None }))
    })?;
    order.sort_unstable();
    Ok(order)
}

/// What the leaves of a tree hold.
struct Leaves {
    /// Their numbers in the model, from the first to the last one.
    numbers: Range<u64>,
    values: Vec<f64>,
    /// Empty where the model has none.
    weights: Vec<f64>,
}

impl Leaves {
    fn read(model: &Model, task: &Task, source: &Source, nodes: &[Place]) -> Result<Self> {
        let numbers = leaves(nodes);
        let values = model.leaf_values(task, source, numbers.clone(), false)?;
        let weights = match model.has_weights() {
            true => model.leaf_values(task, source, numbers.clone(), true)?,
            false => Vec::new(),
        };
        Ok(Leaves { numbers, values, weights })
    }
}

impl Subject {
    /// The features that it is made of, by their places.
    pub(super) fn places(&self) -> &[usize] {
        match self {
            Subject::Feature(place) => std::slice::from_ref(place),
            Subject::Made(_, places) => places,
        }
    }
}
