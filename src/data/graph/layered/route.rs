//! From ordered rows to places and lines.

use super::coordinates::coordinates;
use super::rows::Rows;
use super::{Flat, FlatEdge, Pin, PlacedFlat, Spacing};
use crate::bytes::error::Result;
use crate::bytes::task::Task;
use std::collections::BTreeMap;

/// What a self-loop takes beside its box, as a part of the gap between boxes.
const LOOP: f32 = 0.7;

/// How many points lines have in all, about: those after that go straight.
const MOST_POINTS: usize = 4_000_000;

/// How near lines come to the corners of a box.
const CORNER: f32 = 10.0;

/// Places the boxes of rows and draws the lines.
pub(super) fn routed(
    task: &Task,
    flat: &Flat,
    spacing: &Spacing,
    turned: &[bool],
    rows: &Rows,
) -> Result<PlacedFlat> {
    let mut widths: Vec<f32> = flat.sizes.iter().map(|size| size[0]).collect();
    let mut has_loop = vec![false; widths.len()];
    for edge in flat.edges.iter().filter(|edge| edge.from == edge.to) {
        has_loop[edge.from as usize] = true;
    }
    for (width, has_loop) in widths.iter_mut().zip(&has_loop) {
        *width += if *has_loop { 2.0 * LOOP * spacing.node_gap } else { 0.0 };
    }
    widths.resize(rows.rank.len(), 0.0);
    let is_box = |n: u32| flat.pins.get(n as usize).is_some_and(|pin| *pin == Pin::Free);
    let gap = |a: u32, b: u32| if is_box(a) && is_box(b) { spacing.node_gap } else { spacing.edge_gap };
    let x = coordinates(task, rows, &widths, &gap)?;
    let right = x.iter().zip(&widths).map(|(x, width)| x + width / 2.0).fold(0.0, f32::max);
    let (bands, bottom) = bands(flat, spacing, rows);
    let at = flat.sizes.iter().enumerate().map(|(n, [width, height])| {
        let (top, bottom) = bands[rows.rank[n] as usize];
        [x[n] - width / 2.0, (top + bottom - height) / 2.0]
    });
    let mut router = Router {
        flat,
        spacing,
        turned,
        rows,
        at: at.collect(),
        x,
        bands,
        ends: vec![[0.0; 2]; flat.edges.len()],
    };
    router.spread(task)?;
    let runs = router.runs();
    let mut left = MOST_POINTS;
    let mut points = Vec::with_capacity(flat.edges.len());
    for number in 0..flat.edges.len() {
        task.check()?;
        let line = router.line(number, &runs, left);
        left = left.saturating_sub(line.len());
        points.push(line);
    }
    Ok(PlacedFlat { size: [right, bottom], at: router.at, points })
}

/// By row: its upper and lower border; and where the last ends.
fn bands(flat: &Flat, spacing: &Spacing, rows: &Rows) -> (Vec<(f32, f32)>, f32) {
    let mut heights = vec![0.0f32; rows.rows.len()];
    for (size, rank) in flat.sizes.iter().zip(&rows.rank) {
        heights[*rank as usize] = heights[*rank as usize].max(size[1]);
    }
    let mut top = 0.0f64;
    let mut bands = Vec::with_capacity(heights.len());
    for height in heights {
        bands.push((top as f32, (top + f64::from(height)) as f32));
        top += f64::from(height) + f64::from(spacing.layer_gap);
    }
    let bottom = bands.last().map_or(0.0, |band| band.1);
    (bands, bottom)
}

struct Router<'a> {
    flat: &'a Flat,
    spacing: &'a Spacing,
    turned: &'a [bool],
    rows: &'a Rows,
    /// By box: its left and upper edge.
    at: Vec<[f32; 2]>,
    /// By box and bend: its middle.
    x: Vec<f32>,
    bands: Vec<(f32, f32)>,
    /// By edge: where it meets its upper box and its lower one.
    ends: Vec<[f32; 2]>,
}

impl Router<'_> {
    /// By bend: the last one that is straight below it.
    fn runs(&self) -> Vec<u32> {
        let all = self.rows.rank.len();
        let mut runs: Vec<u32> = (self.rows.boxes as u32..all as u32).collect();
        for bend in (self.rows.boxes..all.saturating_sub(1)).rev() {
            // The next bend is that of the next row, or of another line.
            let is_next = self.rows.rank[bend + 1] == self.rows.rank[bend] + 1;
            if is_next && (self.x[bend + 1] - self.x[bend]).abs() < 1e-3 {
                runs[bend - self.rows.boxes] = runs[bend + 1 - self.rows.boxes];
            }
        }
        runs
    }

    /// The upper and the lower box of an edge, and its places there where these are fixed.
    fn boxes(&self, number: usize) -> [(u32, Option<f32>); 2] {
        let FlatEdge { from, to, from_at, to_at, .. } = self.flat.edges[number];
        if self.turned[number] { [(to, None), (from, None)] } else { [(from, from_at), (to, to_at)] }
    }

    /// Gives all ends their places along the borders of boxes, in the order in which their lines come.
    fn spread(&mut self, task: &Task) -> Result<()> {
        // By box and border: the edges that meet there in one place, and where they go.
        let mut groups: BTreeMap<(u32, usize, u64), (f64, Vec<u32>)> = BTreeMap::new();
        for number in 0..self.flat.edges.len() {
            let edge = self.flat.edges[number];
            if edge.from == edge.to {
                continue;
            }
            let boxes = self.boxes(number);
            let bends = self.rows.bends[number].clone();
            for side in 0..2 {
                let (n, fixed) = boxes[side];
                if let Some(fixed) = fixed {
                    self.ends[number][side] = self.at[n as usize][0] + fixed;
                    continue;
                }
                let next = match (bends.is_empty(), side) {
                    (true, _) => boxes[1 - side].0,
                    (_, 0) => bends.start,
                    _ => bends.end - 1,
                };
                let next = match boxes[1 - side] {
                    (other, Some(fixed)) if bends.is_empty() => self.at[other as usize][0] + fixed,
                    _ => self.x[next as usize],
                };
                // What leaves a box with one value leaves it in one place.
                let alone = side == 1 || self.turned[number];
                let group = if alone { (number as u64) << 1 | 1 } else { edge.trunk << 1 };
                let group = groups.entry((n, side, group)).or_default();
                group.0 += f64::from(next);
                group.1.push(number as u32);
            }
        }
        let mut all: Vec<((u32, usize), f32, Vec<u32>)> = groups
            .into_iter()
            .map(|((n, side, _), (sum, edges))| ((n, side), (sum / edges.len() as f64) as f32, edges))
            .collect();
        all.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        for border in all.chunk_by(|a, b| a.0 == b.0) {
            task.check()?;
            self.border(border);
        }
        Ok(())
    }

    /// Gives the ends along one border their places.
    fn border(&mut self, ends: &[((u32, usize), f32, Vec<u32>)]) {
        let Some(((n, side), ..)) = ends.first() else { return };
        let middle = self.x[*n as usize];
        let reach = (self.flat.sizes[*n as usize][0] / 2.0 - CORNER).max(0.0);
        let count = ends.len();
        let between = (self.spacing.edge_gap).min(2.0 * reach / count.saturating_sub(1).max(1) as f32);
        let wide = reach;
        let least = between / 2.0;
        let mut places: Vec<f32> = Vec::with_capacity(count);
        for (_, next, _) in ends {
            let want = (next - middle).clamp(-wide, wide);
            places.push(places.last().map_or(want, |last: &f32| want.max(last + least)));
        }
        for (n, place) in places.iter_mut().enumerate() {
            *place = place.min(wide - (count - 1 - n) as f32 * least);
        }
        for ((_, _, edges), place) in ends.iter().zip(places) {
            edges.iter().for_each(|edge| self.ends[*edge as usize][*side] = middle + place);
        }
    }

    /// The line of an edge, from its beginning to its end.
    fn line(&self, number: usize, runs: &[u32], most: usize) -> Vec<[f32; 2]> {
        let edge = self.flat.edges[number];
        if edge.from == edge.to {
            return self.self_loop(edge.from);
        }
        let [(up, _), (down, _)] = self.boxes(number);
        let [start, end] = self.ends[number];
        let mut line = vec![
            [start, self.border_of(up, true)],
            [start, self.bands[self.rows.rank[up as usize] as usize].1],
        ];
        let bends = self.rows.bends[number].clone();
        let mut bend = bends.start;
        while bend < bends.end && line.len() < most {
            // From the first bend of a straight way to its last one.
            let last = runs[bend as usize - self.rows.boxes].min(bends.end - 1);
            let x = self.x[bend as usize];
            let band = |bend: u32| self.bands[self.rows.rank[bend as usize] as usize];
            line.extend([[x, band(bend).0], [x, band(last).1]]);
            bend = last + 1;
        }
        line.push([end, self.bands[self.rows.rank[down as usize] as usize].0]);
        line.push([end, self.border_of(down, false)]);
        if self.turned[number] {
            line.reverse();
            if let Some(at) = edge.from_at {
                self.around(edge.from, at, true, &mut line);
            }
            if let Some(at) = edge.to_at {
                line.reverse();
                self.around(edge.to, at, false, &mut line);
                line.reverse();
            }
        }
        straight(line)
    }

    fn border_of(&self, n: u32, is_lower: bool) -> f32 {
        self.at[n as usize][1] + if is_lower { self.flat.sizes[n as usize][1] } else { 0.0 }
    }

    /// A line that begins at the side of a box where it would not: it is led around the box to its place.
    fn around(&self, n: u32, at: f32, is_lower: bool, line: &mut Vec<[f32; 2]>) {
        let [left, _] = self.at[n as usize];
        let width = self.flat.sizes[n as usize][0];
        let far = self.spacing.edge_gap / 2.0;
        let side = match line.first() {
            Some([x, _]) if *x < left + width / 2.0 => left - far,
            _ => left + width + far,
        };
        let (near, other) = (self.border_of(n, is_lower), self.border_of(n, !is_lower));
        let down = if is_lower { far } else { -far };
        let mut begin =
            vec![[left + at, near], [left + at, near + down], [side, near + down], [side, other - down]];
        // The first point lies on the other border.
        begin.extend(line.iter().skip(1));
        *line = begin;
    }

    /// A line from the right side of a box back to it.
    fn self_loop(&self, n: u32) -> Vec<[f32; 2]> {
        let ([left, top], [width, height]) = (self.at[n as usize], self.flat.sizes[n as usize]);
        let right = left + width;
        let far = right + LOOP * self.spacing.node_gap;
        let (upper, lower) = (top + height * 0.3, top + height * 0.7);
        vec![[right, lower], [far, lower], [far, upper], [right, upper]]
    }
}

/// A line without the points that it would go through anyway.
fn straight(line: Vec<[f32; 2]>) -> Vec<[f32; 2]> {
    let mut out: Vec<[f32; 2]> = Vec::with_capacity(line.len());
    for point in line {
        if out.last() == Some(&point) {
            continue;
        }
        if let [.., a, b] = out.as_slice() {
            let turn = (b[0] - a[0]) * (point[1] - b[1]) - (b[1] - a[1]) * (point[0] - b[0]);
            let goes_on = (b[0] - a[0]) * (point[0] - b[0]) + (b[1] - a[1]) * (point[1] - b[1]) > 0.0;
            if turn.abs() < 1e-3 && goes_on {
                out.pop();
            }
        }
        out.push(point);
    }
    out
}
