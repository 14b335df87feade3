//! How much each feature changes predictions, from the leaves' values and weights: what `get_feature_importance` gives as
//! `PredictionValuesChange`. A split adds, for the leaves on its two sides, how far their values lie from their weighted mean; all
//! is scaled to a sum of 100. A statistic of several features counts for each of them alike.
//! <https://catboost.ai/docs/en/concepts/fstr#regular-feature-importance>

use super::model::Model;
use super::tree::{Place, leaves};
use crate::bytes::error::{Error, Result};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::engines::trees::{LateTable, reachable};
use arrow::array::{ArrayRef, Float64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema};
use std::sync::Arc;

/// The importance of every feature, in the order of the data's columns.
pub(super) fn table(source: &Source, model: &Arc<Model>) -> LateTable {
    let schema = Arc::new(Schema::new(vec![
        Field::new("feature", DataType::Utf8, false),
        Field::new("PredictionValuesChange", DataType::Float64, false),
    ]));
    let (source, model, columns) = (source.clone(), model.clone(), schema.clone());
    LateTable::new(schema, move |task| {
        let mut effects = vec![0.0; model.features.len()];
        task.set_total(model.sizes.len() as u64);
        for tree in 0..model.sizes.len() {
            task.advance(1)?;
            add(task, &source, &model, tree, &mut effects)?;
        }
        let sum: f64 = effects.iter().sum();
        let share = |effect: f64| if sum > 0.0 { effect / sum * 100.0 } else { 0.0 };
        let mut rows: Vec<(i32, &str, f64)> = Vec::with_capacity(effects.len());
        for (feature, effect) in model.features.iter().zip(effects) {
            rows.push((feature.flat, &feature.name, share(effect)));
        }
        rows.sort_by_key(|(flat, ..)| *flat);
        let arrays: Vec<ArrayRef> = vec![
            Arc::new(StringArray::from_iter_values(rows.iter().map(|row| row.1))),
            Arc::new(Float64Array::from_iter_values(rows.iter().map(|row| row.2))),
        ];
        Ok(RecordBatch::try_new(columns.clone(), arrays)?)
    })
}

/// Adds what the splits of a tree change.
fn add(task: &Task, source: &Source, model: &Model, tree: usize, effects: &mut [f64]) -> Result<()> {
    let nodes = model.nodes(tree).map_err(|error| error.of(&format!("tree {tree}")))?;
    let numbers = leaves(&nodes);
    let values = model.leaf_values(task, source, numbers.clone(), false)?;
    let weights = model.leaf_values(task, source, numbers.clone(), true)?;
    let mut effect = |condition: i32, sides: [(&[f64], f64); 2]| -> Result<()> {
        let [(a, count), (b, other)] = sides;
        if count == 0.0 || other == 0.0 {
            return Ok(());
        }
        let one = |(a, b): (&f64, &f64)| {
            let mean = (a * count + b * other) / (count + other);
            (a - mean).powi(2) * count + (b - mean).powi(2) * other
        };
        let change: f64 = a.iter().zip(b).map(one).sum();
        let (list, _) = model.condition(condition)?;
        let places = list.subject.places();
        for place in places {
            if let Some(effect) = effects.get_mut(*place) {
                *effect += change / places.len() as f64;
            }
        }
        Ok(())
    };
    let value = |leaf: usize| values.get(leaf * model.width..(leaf + 1) * model.width).unwrap_or_default();
    let weight = |leaf: usize| weights.get(leaf).copied().unwrap_or(0.0);
    if model.steps.is_empty() {
        // Each split of an oblivious tree is on all paths: leaves that differ in it alone are compared.
        let start = model.starts.get(tree).copied().unwrap_or(0);
        let size = numbers.end.saturating_sub(numbers.start).max(1).ilog2() as usize;
        let splits = model.splits.get(start..start + size).unwrap_or_default();
        for leaf in 0..1usize << size {
            for (bit, condition) in splits.iter().enumerate() {
                let other = leaf | 1 << bit;
                if other != leaf {
                    effect(*condition, [(value(leaf), weight(leaf)), (value(other), weight(other))])?;
                }
            }
        }
        return Ok(());
    }
    let children = |node: usize| {
        nodes
            .get(node)
            .and_then(|place| if let Place::Split(_, children) = place { Some(*children) } else { None })
    };
    let order = reachable(nodes.len(), |node| Ok(children(node)))?;
    // From the leaves up, each node has the mean of its leaves and their weight.
    let mut means: Vec<(Vec<f64>, f64)> = vec![(Vec::new(), 0.0); nodes.len()];
    for (node, _) in order.iter().rev() {
        let made = match nodes.get(*node) {
            Some(Place::Split(condition, [left, right])) => {
                let (Some((a, count)), Some((b, other))) = (means.get(*left), means.get(*right)) else {
                    return Err(Error::bug("a tree without its nodes"));
                };
                effect(*condition, [(a, *count), (b, *other)])?;
                let sum = count + other;
                let mean = |(a, b): (&f64, &f64)| if sum > 0.0 { (a * count + b * other) / sum } else { 0.0 };
                (a.iter().zip(b).map(mean).collect(), sum)
            }
            Some(Place::Leaf(leaf)) => {
                let leaf = (leaf - numbers.start.min(*leaf)) as usize;
                (value(leaf).to_vec(), weight(leaf))
            }
            None => return Err(Error::bug("a tree without its nodes")),
        };
        if let Some(mean) = means.get_mut(*node) {
            *mean = made;
        }
    }
    Ok(())
}
