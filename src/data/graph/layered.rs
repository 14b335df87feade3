//! One level of a graph in layers: boxes in rows, lines from row to row.

use crate::bytes::error::Result;
use crate::bytes::task::Task;

/// Where a box has to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pin {
    /// Anywhere.
    #[default]
    Free,
    /// In the first layer, before all others.
    First,
    /// In the last layer, after all others.
    Last,
}

/// A graph without groups. Layers are rows, one below the other.
#[derive(Clone, Debug, Default)]
pub struct Flat {
    /// By box: width and height.
    pub sizes: Vec<[f32; 2]>,
    /// By box: where it has to be.
    pub pins: Vec<Pin>,
    /// The edges.
    pub edges: Vec<FlatEdge>,
}

/// An edge of a graph without groups.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlatEdge {
    /// The box where it begins.
    pub from: u32,
    /// The box where it ends.
    pub to: u32,
    /// How far from the left edge of `from` it begins; `None` where that is free.
    pub from_at: Option<f32>,
    /// How far from the left edge of `to` it ends; `None` where that is free.
    pub to_at: Option<f32>,
    /// Edges of one box with one number here can share a line as far as their way is the same.
    pub trunk: u64,
}

/// Lengths, as [`Settings`](super::Settings) has them.
#[derive(Clone, Copy, Debug)]
pub struct Spacing {
    /// Between boxes side by side.
    pub node_gap: f32,
    /// Between lines, and between a line and a box.
    pub edge_gap: f32,
    /// Between layers.
    pub layer_gap: f32,
}

/// Where everything is.
#[derive(Clone, Debug, Default)]
pub struct PlacedFlat {
    /// Width and height of all.
    pub size: [f32; 2],
    /// By box: its left and upper edge.
    pub at: Vec<[f32; 2]>,
    /// By edge: from the border of `from` to the border of `to`.
    pub points: Vec<Vec<[f32; 2]>>,
}

/// Places a graph.
///
/// # Errors
/// `Cancelled`.
pub fn place(task: &Task, flat: &Flat, spacing: &Spacing) -> Result<PlacedFlat> {
    let mut y = 0.0;
    let mut at = vec![[0.0; 2]; flat.sizes.len()];
    let mut size = [0.0f32; 2];
    for pin in [Pin::First, Pin::Free, Pin::Last] {
        for ((place, box_size), own) in at.iter_mut().zip(&flat.sizes).zip(&flat.pins) {
            task.check()?;
            if *own == pin {
                *place = [0.0, y];
                size = [size[0].max(box_size[0]), y + box_size[1]];
                y = size[1] + spacing.layer_gap;
            }
        }
    }
    let points = flat.edges.iter().map(|edge| {
        let end = |number: u32, along: Option<f32>, down: f32| {
            let at = at.get(number as usize).copied().unwrap_or_default();
            let size = flat.sizes.get(number as usize).copied().unwrap_or_default();
            [at[0] + along.unwrap_or(size[0] / 2.0), at[1] + size[1] * down]
        };
        vec![end(edge.from, edge.from_at, 1.0), end(edge.to, edge.to_at, 0.0)]
    });
    Ok(PlacedFlat { points: points.collect(), at, size })
}

/// A line through points as cubic Bézier curves: the first point, then two control points and an end for each. It
/// leaves and reaches each point downward (to the right where `turned`) where the line goes on that way.
pub fn curve(points: &[[f32; 2]], turned: bool) -> Vec<[f32; 2]> {
    let axis = usize::from(!turned);
    let mut out: Vec<[f32; 2]> = points.first().copied().into_iter().collect();
    for pair in points.windows(2) {
        let [a, b] = pair else { continue };
        let along = |point: &[f32; 2]| point.get(axis).copied().unwrap_or_default();
        let half = (along(b) - along(a)) / 2.0;
        let (mut first, mut second) = (*a, *b);
        if let (Some(first), Some(second)) = (first.get_mut(axis), second.get_mut(axis)) {
            *first += half;
            *second -= half;
        }
        out.extend([first, second, *b]);
    }
    out
}
