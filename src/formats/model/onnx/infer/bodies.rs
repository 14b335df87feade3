//! Operators that run other graphs: what comes out of their bodies.

use super::{Output, Shape, Step};
use crate::data::content::graph::{Dimension, Graph, Value};
use std::sync::Arc;

impl Step<'_> {
    fn body(&self, name: &str) -> Option<&Arc<Graph>> {
        self.node.subgraphs.iter().find(|(own, _)| &**own == name).map(|(_, graph)| graph)
    }

    /// What both branches agree on.
    pub(super) fn branches(&self) -> Vec<Output> {
        let (Some(yes), Some(no)) = (self.body("then_branch"), self.body("else_branch")) else {
            return Vec::new();
        };
        let both = yes.outputs.iter().zip(&no.outputs);
        both.map(|(a, b)| match (yes.value(*a), no.value(*b)) {
            (Some(a), Some(b)) => common(a, b),
            _ => Output::default(),
        })
        .collect()
    }

    /// The last of what is carried from turn to turn, then what each turn gives, one behind the other.
    pub(super) fn repeated(&self) -> Vec<Output> {
        let Some(body) = self.body("body") else { return Vec::new() };
        // The number of turns and the condition come before what is carried.
        let carried = self.node.inputs.len().saturating_sub(2);
        let output = |(n, id): (usize, &_)| {
            let Some(value) = body.value(*id) else { return Output::default() };
            if n >= carried {
                let shape = value.shape.as_ref();
                let shape = shape.map(|shape| [&[Dimension::Open], shape.as_slice()].concat());
                return Output { dtype: value.dtype.clone(), shape, literal: None };
            }
            // Without a turn it is what was handed in; with turns, what the body made of it.
            let first = self.id(n + 2).and_then(|id| self.graph.value(id));
            let shape = first.and_then(|first| same_rank(first.shape.as_deref()?, value.shape.as_deref()?));
            Output { dtype: value.dtype.clone(), shape, literal: None }
        };
        // The first output of the body is whether it goes on.
        body.outputs.iter().skip(1).enumerate().map(output).collect()
    }
}

fn common(a: &Value, b: &Value) -> Output {
    let dtype = a.dtype.clone().filter(|_| a.dtype == b.dtype);
    let shape = match (&a.shape, &b.shape) {
        (Some(a), Some(b)) => same_rank(a, b),
        _ => None,
    };
    Output { dtype, shape, literal: None }
}

/// The lengths that two shapes of one rank share. Names of the two are not compared: bodies have their own.
fn same_rank(a: &[Dimension], b: &[Dimension]) -> Option<Shape> {
    let length = |(a, b): (&Dimension, &Dimension)| match (a, b) {
        (Dimension::Fixed(a), Dimension::Fixed(b)) if a == b => Dimension::Fixed(*a),
        _ => Dimension::Open,
    };
    (a.len() == b.len()).then(|| a.iter().zip(b).map(length).collect())
}
