//! One level of a graph in layers: boxes in rows, lines from row to row.
//!
//! The method is that of Sugiyama, Tagawa and Toda (<https://doi.org/10.1109/TSMC.1981.4308636>): cycles are broken and
//! boxes get layers ([`rank`]); long lines get bends in the layers between ([`rows`]); rows are ordered so that few lines
//! cross ([`order`]); boxes and bends are placed so that most lines are straight ([`coordinates`]); lines are drawn through
//! their bends ([`route`]). Parts that do not hang together are placed for themselves and packed ([`parts`]). No step
//! recurses, and all work is bounded by the number of boxes and edges.
//!
//! Boxes, bends and edges are known by numbers that these modules give out themselves; edges to boxes that are not there
//! are refused at the entry.

#![allow(clippy::indexing_slicing, reason = "numbers are checked by `place` or given out here")]

mod coordinates;
mod order;
mod parts;
mod rank;
mod route;
mod rows;
#[cfg(test)]
mod tests;

use crate::bytes::error::{Error, Result};
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
/// `Cancelled`; `Bug` where an edge names a box that is not there.
pub fn place(task: &Task, flat: &Flat, spacing: &Spacing) -> Result<PlacedFlat> {
    let count = flat.sizes.len();
    let is_there = |edge: &FlatEdge| (edge.from as usize) < count && (edge.to as usize) < count;
    if flat.pins.len() != count || !flat.edges.iter().all(is_there) {
        return Err(Error::bug("a layout of edges without their boxes"));
    }
    parts::place(task, flat, spacing)
}

/// Places a graph that hangs together.
fn place_one(task: &Task, flat: &Flat, spacing: &Spacing) -> Result<PlacedFlat> {
    let ends: Vec<(u32, u32)> = flat.edges.iter().map(|edge| (edge.from, edge.to)).collect();
    let turned = rank::turned(task, flat.sizes.len(), &ends)?;
    let edges = flat.edges.iter().zip(&turned).filter(|(edge, _)| edge.from != edge.to);
    let arcs: Vec<rank::Arc> = edges.map(|(edge, turned)| rows::arc(flat, edge, *turned)).collect();
    let ranks = rows::pinned(flat, rank::ranks(task, flat.sizes.len(), &arcs)?);
    let mut rows = rows::Rows::of(flat, &turned, &ranks);
    order::order(task, &mut rows)?;
    route::routed(task, flat, spacing, &turned, &rows)
}

/// Lists of numbers, all in one.
#[derive(Debug, Default)]
struct Lists {
    starts: Vec<u32>,
    numbers: Vec<u32>,
}

impl Lists {
    /// For each of `count` keys the numbers of the places where it stands in `keys`.
    fn of(count: usize, keys: impl Iterator<Item = u32> + Clone) -> Lists {
        let mut starts = vec![0u32; count + 1];
        keys.clone().for_each(|key| starts[key as usize + 1] += 1);
        for n in 0..count {
            starts[n + 1] += starts[n];
        }
        let mut next = starts.clone();
        let mut numbers = vec![0; starts[count] as usize];
        for (number, key) in keys.enumerate() {
            let at = &mut next[key as usize];
            numbers[*at as usize] = number as u32;
            *at += 1;
        }
        Lists { starts, numbers }
    }

    fn get(&self, key: u32) -> &[u32] {
        &self.numbers[self.starts[key as usize] as usize..self.starts[key as usize + 1] as usize]
    }
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
