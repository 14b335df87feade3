//! Parts of a graph that do not hang together, packed.

use super::{Flat, Pin, PlacedFlat, Spacing};
use crate::bytes::error::Result;
use crate::bytes::task::Task;

/// How much wider than high a drawing of many parts is to be.
const ASPECT: f32 = 1.6;

/// A part: its boxes and edges.
#[derive(Default)]
struct Part {
    boxes: Vec<u32>,
    edges: Vec<u32>,
}

/// Places each part, those with ports side by side, the others in lines.
pub(super) fn place(task: &Task, flat: &Flat, spacing: &Spacing) -> Result<PlacedFlat> {
    let parts = parts(flat);
    if parts.len() == 1 {
        return super::place_one(task, flat, spacing);
    }
    let mut local = vec![0u32; flat.sizes.len()];
    let mut placed = Vec::with_capacity(parts.len());
    for part in &parts {
        task.check()?;
        if let ([only], []) = (part.boxes.as_slice(), part.edges.as_slice()) {
            let at = vec![[0.0; 2]];
            placed.push(PlacedFlat { size: flat.sizes[*only as usize], at, points: Vec::new() });
            continue;
        }
        part.boxes.iter().enumerate().for_each(|(number, n)| local[*n as usize] = number as u32);
        let edges = part.edges.iter().map(|number| {
            let mut edge = flat.edges[*number as usize];
            (edge.from, edge.to) = (local[edge.from as usize], local[edge.to as usize]);
            edge
        });
        let own = Flat {
            sizes: part.boxes.iter().map(|n| flat.sizes[*n as usize]).collect(),
            pins: part.boxes.iter().map(|n| flat.pins[*n as usize]).collect(),
            edges: edges.collect(),
        };
        placed.push(super::place_one(task, &own, spacing)?);
    }
    let has_port: Vec<bool> =
        parts.iter().map(|part| part.boxes.iter().any(|n| flat.pins[*n as usize] != Pin::Free)).collect();
    let (size, origins) = packed(&placed, &has_port, spacing);
    let mut whole =
        PlacedFlat { size, at: vec![[0.0; 2]; flat.sizes.len()], points: vec![Vec::new(); flat.edges.len()] };
    for ((part, placed), origin) in parts.iter().zip(placed).zip(origins) {
        let moved = |[x, y]: [f32; 2]| [x + origin[0], y + origin[1]];
        for (n, at) in part.boxes.iter().zip(placed.at) {
            whole.at[*n as usize] = moved(at);
        }
        for (number, line) in part.edges.iter().zip(placed.points) {
            whole.points[*number as usize] = line.into_iter().map(moved).collect();
        }
    }
    Ok(whole)
}

/// The parts, by the first of their boxes.
fn parts(flat: &Flat) -> Vec<Part> {
    let mut above: Vec<u32> = (0..flat.sizes.len() as u32).collect();
    let find = |above: &mut Vec<u32>, mut n: u32| {
        while above[n as usize] != n {
            above[n as usize] = above[above[n as usize] as usize];
            n = above[n as usize];
        }
        n
    };
    for edge in &flat.edges {
        let (a, b) = (find(&mut above, edge.from), find(&mut above, edge.to));
        // The smaller number stays on top: parts are in the order of their first boxes.
        above[a.max(b) as usize] = a.min(b);
    }
    let mut parts: Vec<Part> = Vec::new();
    let mut numbers = vec![u32::MAX; flat.sizes.len()];
    for n in 0..flat.sizes.len() as u32 {
        let top = find(&mut above, n) as usize;
        if numbers[top] == u32::MAX {
            numbers[top] = parts.len() as u32;
            parts.push(Part::default());
        }
        parts[numbers[top] as usize].boxes.push(n);
    }
    for (number, edge) in flat.edges.iter().enumerate() {
        let top = find(&mut above, edge.from) as usize;
        parts[numbers[top] as usize].edges.push(number as u32);
    }
    parts
}

/// The size of all, and where each part is.
fn packed(placed: &[PlacedFlat], has_port: &[bool], spacing: &Spacing) -> ([f32; 2], Vec<[f32; 2]>) {
    let mut origins = vec![[0.0; 2]; placed.len()];
    let (mut left, mut height) = (0.0, 0.0f32);
    for (n, part) in placed.iter().enumerate().filter(|(n, _)| has_port[*n]) {
        origins[n] = [left, 0.0];
        left += part.size[0] + spacing.node_gap;
        height = height.max(part.size[1]);
    }
    let others = || placed.iter().enumerate().filter(|(n, _)| !has_port[*n]);
    let space = |part: &PlacedFlat| (part.size[0] + spacing.node_gap) * (part.size[1] + spacing.layer_gap);
    let area: f32 = others().map(|(_, part)| space(part)).sum();
    let widest = others().map(|(_, part)| part.size[0]).fold(0.0, f32::max);
    let most = widest.max((area * ASPECT).sqrt());
    // Below the ports, where there are any.
    let top = if left > 0.0 { spacing.layer_gap } else { 0.0 };
    let (mut x, mut y, mut line) = (0.0, top, 0.0f32);
    let mut width = if left > 0.0 { left - spacing.node_gap } else { 0.0 };
    for (n, part) in others() {
        if x > 0.0 && x + part.size[0] > most {
            (x, y, line) = (0.0, y + line + spacing.layer_gap, 0.0);
        }
        origins[n] = [left + x, y];
        width = width.max(left + x + part.size[0]);
        x += part.size[0] + spacing.node_gap;
        line = line.max(part.size[1]);
        height = height.max(y + part.size[1] + top);
    }
    ([width, height], origins)
}
