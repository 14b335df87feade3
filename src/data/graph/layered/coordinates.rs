//! Where boxes and bends are along their rows: the method of Brandes and Köpf
//! (<https://doi.org/10.1007/3-540-45848-4_3>), with lines that meet boxes elsewhere than in the middle (Rüegg and
//! others, <https://doi.org/10.1007/978-3-319-27261-0_12>). Boxes in line with each other are one block; blocks are
//! pushed together by longest paths. Of four results, from either side and in either direction, the mean of the two in the
//! middle counts.

use super::rows::Rows;
use crate::bytes::error::Result;
use crate::bytes::task::Task;

/// By box and bend: its middle along the row, from 0 upward with `widths` from the left edge of the first.
pub(super) fn coordinates(
    task: &Task,
    rows: &Rows,
    widths: &[f32],
    gap: &dyn Fn(u32, u32) -> f32,
) -> Result<Vec<f32>> {
    let crossed = crossed(rows);
    let mut results: Vec<Vec<f32>> = Vec::with_capacity(4);
    for (is_up, is_right) in [(false, false), (false, true), (true, false), (true, true)] {
        task.check()?;
        let side = Side { rows, is_up, is_right };
        let blocks = side.align(&crossed);
        let mut places = side.compact(task, &blocks, widths, gap)?;
        if is_right {
            places.iter_mut().for_each(|x| *x = -*x);
        }
        results.push(places);
    }
    // All are moved to the one that is least wide: at its left edge or at its right one.
    let extent = |places: &[f32]| {
        let ends = places.iter().zip(widths);
        let left = ends.clone().map(|(x, width)| x - width / 2.0).fold(f32::INFINITY, f32::min);
        (left, ends.map(|(x, width)| x + width / 2.0).fold(f32::NEG_INFINITY, f32::max))
    };
    let extents: Vec<(f32, f32)> = results.iter().map(|places| extent(places)).collect();
    let narrowest = extents.iter().copied().min_by(|a, b| (a.1 - a.0).total_cmp(&(b.1 - b.0)));
    let Some(narrowest) = narrowest else { return Ok(Vec::new()) };
    for (n, (places, own)) in results.iter_mut().zip(&extents).enumerate() {
        let by = if n % 2 == 0 { narrowest.0 - own.0 } else { narrowest.1 - own.1 };
        places.iter_mut().for_each(|x| *x += by);
    }
    let middle = (0..widths.len()).map(|n| {
        let mut four: Vec<f32> = results.iter().map(|places| places[n]).collect();
        four.sort_unstable_by(f32::total_cmp);
        (four[1] + four[2]) / 2.0
    });
    let mut middle: Vec<f32> = middle.collect();
    let (left, _) = extent(&middle);
    middle.iter_mut().for_each(|x| *x -= left);
    Ok(middle)
}

/// By piece: whether it crosses one between two bends, which is to be straight.
fn crossed(rows: &Rows) -> Vec<bool> {
    let mut crossed = vec![false; rows.pieces.len()];
    let mut place = vec![0u32; rows.rank.len()];
    for row in &rows.rows {
        row.iter().enumerate().for_each(|(at, n)| place[*n as usize] = at as u32);
    }
    for pair in rows.rows.windows(2) {
        let [upper, lower] = pair else { continue };
        let (mut left, mut next) = (0, 0);
        for (at, n) in lower.iter().enumerate() {
            let inner = rows.above.get(*n).iter().find(|piece| rows.is_inner(&rows.pieces[**piece as usize]));
            let is_last = at + 1 == lower.len();
            if inner.is_none() && !is_last {
                continue;
            }
            let right = match inner {
                Some(piece) => place[rows.pieces[*piece as usize].up as usize],
                None => upper.len() as u32,
            };
            for n in &lower[next..=at] {
                for piece in rows.above.get(*n) {
                    let own = &rows.pieces[*piece as usize];
                    let up = place[own.up as usize];
                    if (up < left || up > right) && !rows.is_inner(own) {
                        crossed[*piece as usize] = true;
                    }
                }
            }
            next = at + 1;
            left = right;
        }
    }
    crossed
}

/// Boxes and bends in line.
struct Blocks {
    /// By box and bend: the first of its block.
    root: Vec<u32>,
    /// By box and bend: how far its middle is from that of the first.
    shift: Vec<f32>,
}

/// One of the four ways to see the rows: from the first or the last, from the left or the right.
struct Side<'a> {
    rows: &'a Rows,
    is_up: bool,
    is_right: bool,
}

impl Side<'_> {
    fn rows(&self) -> impl Iterator<Item = &Vec<u32>> {
        let count = self.rows.rows.len();
        (0..count).map(move |row| &self.rows.rows[if self.is_up { count - 1 - row } else { row }])
    }

    /// A row from the side's left to its right.
    fn along<'r>(&self, row: &'r [u32]) -> impl Iterator<Item = u32> + use<'r> {
        let (count, is_right) = (row.len(), self.is_right);
        (0..count).map(move |at| row[if is_right { count - 1 - at } else { at }])
    }

    fn align(&self, crossed: &[bool]) -> Blocks {
        let all = self.rows.rank.len();
        let mut blocks = Blocks { root: (0..all as u32).collect(), shift: vec![0.0; all] };
        let mut place = vec![0i64; all];
        for row in &self.rows.rows {
            self.along(row).enumerate().for_each(|(at, n)| place[n as usize] = at as i64);
        }
        let sign = if self.is_right { -1.0 } else { 1.0 };
        let mut near: Vec<(i64, f32, u32)> = Vec::new();
        for row in self.rows() {
            let mut last = -1;
            for n in self.along(row) {
                let list = if self.is_up { self.rows.below.get(n) } else { self.rows.above.get(n) };
                near.clear();
                near.extend(list.iter().map(|number| {
                    let piece = &self.rows.pieces[*number as usize];
                    let (other, off) =
                        if self.is_up { (piece.down, piece.down_off) } else { (piece.up, piece.up_off) };
                    (place[other as usize], off * sign, *number)
                }));
                near.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2)));
                if near.is_empty() {
                    continue;
                }
                // The one in the middle, or both.
                for (at, off, number) in near[(near.len() - 1) / 2..=near.len() / 2].iter().copied() {
                    if crossed[number as usize] || at <= last {
                        continue;
                    }
                    let piece = &self.rows.pieces[number as usize];
                    let (other, own) =
                        if self.is_up { (piece.down, piece.up_off) } else { (piece.up, piece.down_off) };
                    blocks.root[n as usize] = blocks.root[other as usize];
                    blocks.shift[n as usize] = blocks.shift[other as usize] + off - own * sign;
                    last = at;
                    break;
                }
            }
        }
        blocks
    }

    /// Pushes blocks together: to the left, then each to the right as far as that brings it nearer to those there.
    fn compact(
        &self,
        task: &Task,
        blocks: &Blocks,
        widths: &[f32],
        gap: &dyn Fn(u32, u32) -> f32,
    ) -> Result<Vec<f32>> {
        let all = widths.len();
        // From block to block on its right, with the least distance of their first boxes.
        let mut next: Vec<(u32, u32, f32)> = Vec::with_capacity(all);
        for row in &self.rows.rows {
            let mut left: Option<u32> = None;
            for n in self.along(row) {
                if let Some(left) = left {
                    let apart = (widths[left as usize] + widths[n as usize]) / 2.0 + gap(left, n);
                    let apart = apart + blocks.shift[left as usize] - blocks.shift[n as usize];
                    next.push((blocks.root[left as usize], blocks.root[n as usize], apart));
                }
                left = Some(n);
            }
        }
        task.check()?;
        let right = super::Lists::of(all, next.iter().map(|link| link.0));
        let mut open = vec![0u32; all];
        next.iter().for_each(|link| open[link.1 as usize] += 1);
        let mut order: Vec<u32> =
            (0..all as u32).filter(|n| blocks.root[*n as usize] == *n && open[*n as usize] == 0).collect();
        let mut x = vec![f32::NEG_INFINITY; all];
        let mut at = 0;
        while let Some(n) = order.get(at).copied() {
            at += 1;
            let own = if x[n as usize] == f32::NEG_INFINITY { 0.0 } else { x[n as usize] };
            x[n as usize] = own;
            for link in right.get(n) {
                let (_, to, apart) = next[*link as usize];
                x[to as usize] = x[to as usize].max(own + apart);
                open[to as usize] -= 1;
                if open[to as usize] == 0 {
                    order.push(to);
                }
            }
        }
        task.check()?;
        for n in order.iter().rev() {
            let links = right.get(*n).iter().map(|link| next[*link as usize]);
            let most = links.map(|(_, to, apart)| x[to as usize] - apart).fold(f32::INFINITY, f32::min);
            if most.is_finite() {
                x[*n as usize] = x[*n as usize].max(most);
            }
        }
        Ok((0..all).map(|n| x[blocks.root[n] as usize] + blocks.shift[n]).collect())
    }
}
