//! The order within rows, so that few lines cross: by barycentres of neighbours, row after row downward and upward, and
//! by exchanging neighbours; crossings are counted with a tree of sums (Barth, Jünger and Mutzel,
//! <https://doi.org/10.1007/3-540-36151-0_13>).

use super::rows::{Piece, Rows};
use crate::bytes::error::Result;
use crate::bytes::task::Task;

/// How many pieces sweeps look at in all, about, and how many more for each box: large graphs are swept less often.
const MOST_WORK: [u64; 2] = [250_000, 70];

/// How often each box is brought to its best place at most.
const ROUNDS: u32 = 8;

/// The widest row in which all places are tried for each box.
const WIDEST: usize = 400;

/// Sweeps without gain after which a start is given up.
const PATIENCE: u32 = 5;

/// Orders the rows.
pub(super) fn order(task: &Task, rows: &mut Rows) -> Result<()> {
    let work = rows.pieces.len() as u64 + rows.rank.len() as u64 + 1;
    let sweeps = ((MOST_WORK[0] + MOST_WORK[1] * rows.boxes as u64) / work).clamp(3, 96) as u32;
    let starts = (12_000 / work).clamp(1, 48) as u32;
    let mut best: Option<(u64, Vec<Vec<u32>>)> = None;
    for start in 0..starts {
        let mut sweeper = Sweeper::new(task, rows, start)?;
        let (crossings, order) = sweeper.run(task, sweeps)?;
        if best.as_ref().is_none_or(|(least, _)| crossings < *least) {
            best = Some((crossings, order));
        }
        if best.as_ref().is_some_and(|(least, _)| *least == 0) {
            break;
        }
    }
    rows.rows = best.map(|(_, order)| order).unwrap_or_default();
    Ok(())
}

struct Sweeper<'a> {
    rows: &'a Rows,
    order: Vec<Vec<u32>>,
    /// By box and bend: its place in its row.
    place: Vec<u32>,
    /// By box and bend: how many slots are left of it in its row, along upper borders and along lower ones.
    base: Vec<[u32; 2]>,
    sums: Vec<u64>,
    /// Whether medians count and not barycentres.
    by_median: bool,
    /// Kept from row to row.
    pool: Vec<(u32, u32)>,
    boxes: Vec<Ends>,
}

impl<'a> Sweeper<'a> {
    fn new(task: &Task, rows: &'a Rows, start: u32) -> Result<Self> {
        let all = rows.rank.len();
        let count = rows.rank.iter().max().map_or(0, |rank| *rank as usize + 1);
        let mut order = vec![Vec::new(); count];
        let mut seen = vec![false; all];
        let mut by_rank: Vec<u32> = (0..all as u32).collect();
        let is_up = start % 2 == 1;
        by_rank
            .sort_by_key(|n| if is_up { u32::MAX - rows.rank[*n as usize] } else { rows.rank[*n as usize] });
        let mut stack = Vec::new();
        // What hangs together stands together: depth first from the first row, or from the last.
        for first in by_rank {
            task.check()?;
            stack.push(first);
            while let Some(at) = stack.pop() {
                if std::mem::replace(&mut seen[at as usize], true) {
                    continue;
                }
                order[rows.rank[at as usize] as usize].push(at);
                let (forward, backward) =
                    if is_up { (&rows.above, &rows.below) } else { (&rows.below, &rows.above) };
                let other = |piece: &u32| {
                    let piece = &rows.pieces[*piece as usize];
                    if piece.up == at { piece.down } else { piece.up }
                };
                if start % 4 >= 2 {
                    stack.extend(backward.get(at).iter().rev().map(other).filter(|n| !seen[*n as usize]));
                }
                stack.extend(forward.get(at).iter().rev().map(other).filter(|n| !seen[*n as usize]));
            }
        }
        let by_median = start % 8 >= 4;
        // Beginnings by chance find what those by depth do not.
        if start >= 4 {
            shuffle(&mut order, start);
        }
        let (place, base) = (vec![0; all], vec![[0; 2]; all]);
        let mut sweeper = Sweeper {
            rows,
            order,
            place,
            base,
            sums: Vec::new(),
            by_median,
            pool: Vec::new(),
            boxes: Vec::new(),
        };
        for row in 0..count {
            sweeper.number(row);
        }
        Ok(sweeper)
    }

    /// Numbers the places of a row.
    fn number(&mut self, row: usize) {
        let mut base = [0, 0];
        for (place, n) in self.order[row].iter().enumerate() {
            self.place[*n as usize] = place as u32;
            self.base[*n as usize] = base;
            let slots = self.rows.slots.get(*n as usize).copied().unwrap_or([1, 1]);
            base = [base[0] + slots[0], base[1] + slots[1]];
        }
    }

    fn run(&mut self, task: &Task, sweeps: u32) -> Result<(u64, Vec<Vec<u32>>)> {
        let mut best = (self.crossings(task)?, self.order.clone());
        let (mut idle, mut sweep) = (0, 0);
        while sweep < sweeps && idle < PATIENCE && best.0 > 0 {
            self.sweep(task, sweep % 2 == 0, sweep % 4 >= 2)?;
            self.exchange(task, false)?;
            let crossings = self.crossings(task)?;
            idle += 1;
            if crossings < best.0 {
                idle = 0;
                best = (crossings, self.order.clone());
            }
            sweep += 1;
        }
        // Each box at its best place, as long as that gains anything.
        self.order.clone_from(&best.1);
        (0..self.order.len()).for_each(|row| self.number(row));
        for _ in 0..ROUNDS {
            if best.0 == 0 || sweeps < 24 {
                break;
            }
            self.exchange(task, true)?;
            let crossings = self.crossings(task)?;
            if crossings >= best.0 {
                break;
            }
            best = (crossings, self.order.clone());
        }
        Ok(best)
    }

    /// Crossings of all pieces, each as often as edges share it.
    fn crossings(&mut self, task: &Task) -> Result<u64> {
        let mut all = 0u64;
        let mut ends = Vec::new();
        for row in 1..self.order.len() {
            task.check()?;
            ends.clear();
            for n in &self.order[row - 1] {
                let base = self.base[*n as usize][1];
                let own = self.rows.below.get(*n).iter().map(|piece| {
                    let piece = &self.rows.pieces[*piece as usize];
                    let lower = self.base[piece.down as usize][0] + piece.down_slot;
                    (base + piece.up_slot, lower, piece.weight)
                });
                let start = ends.len();
                ends.extend(own);
                ends[start..].sort_unstable();
            }
            all = all.saturating_add(inversions(&ends, &mut self.sums));
        }
        Ok(all)
    }

    /// Sorts row after row by the barycentres of its neighbours in the row before it.
    fn sweep(&mut self, task: &Task, is_down: bool, biased: bool) -> Result<()> {
        let count = self.order.len();
        let mut sorted: Vec<(f64, u32)> = Vec::new();
        for step in 1..count {
            task.check()?;
            let row = if is_down { step } else { count - 1 - step };
            sorted.clear();
            for n in &self.order[row] {
                if let Some(centre) = self.centre(*n, is_down) {
                    sorted.push((centre, *n));
                }
            }
            if biased {
                sorted.reverse();
            }
            sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
            // What has no neighbours stays where it is.
            let mut next = sorted.iter();
            let lists = if is_down { &self.rows.above } else { &self.rows.below };
            for place in &mut self.order[row] {
                if !lists.get(*place).is_empty()
                    && let Some((_, n)) = next.next()
                {
                    *place = *n;
                }
            }
            self.number(row);
        }
        Ok(())
    }

    /// Where a box would stand by its neighbours in the row before.
    fn centre(&self, n: u32, is_down: bool) -> Option<f64> {
        let list = if is_down { self.rows.above.get(n) } else { self.rows.below.get(n) };
        if self.by_median {
            let ends = list.iter().map(|piece| self.end(&self.rows.pieces[*piece as usize], is_down));
            let mut ends: Vec<u32> = ends.collect();
            ends.sort_unstable();
            let (left, right) = (ends.get(ends.len().saturating_sub(1) / 2)?, ends.get(ends.len() / 2)?);
            return Some((f64::from(*left) + f64::from(*right)) / 2.0);
        }
        let (mut sum, mut weights) = (0.0, 0.0);
        for piece in list {
            let piece = &self.rows.pieces[*piece as usize];
            let weight = f64::from(piece.weight);
            sum += weight * f64::from(self.end(piece, is_down));
            weights += weight;
        }
        (weights > 0.0).then(|| sum / weights)
    }

    /// Where the end of a piece is in its row: the upper or the lower.
    fn end(&self, piece: &Piece, is_upper: bool) -> u32 {
        if is_upper {
            self.base[piece.up as usize][1] + piece.up_slot
        } else {
            self.base[piece.down as usize][0] + piece.down_slot
        }
    }

    /// Exchanges neighbours where fewer lines cross then; with `all_places`, brings each box to its best place.
    fn exchange(&mut self, task: &Task, all_places: bool) -> Result<()> {
        for row in 0..self.order.len() {
            task.check()?;
            if self.order[row].len() < 2 {
                continue;
            }
            let mut own = std::mem::take(&mut self.order[row]);
            self.pool.clear();
            let mut boxes = std::mem::take(&mut self.boxes);
            boxes.extend(own.iter().map(|n| self.ends(*n)));
            if all_places && boxes.len() <= WIDEST {
                sift(&mut boxes, &self.pool);
            } else {
                transpose(&mut boxes, &self.pool);
            }
            own.clear();
            own.extend(boxes.drain(..).map(|ends| ends.of));
            self.boxes = boxes;
            self.order[row] = own;
            self.number(row);
        }
        Ok(())
    }

    fn ends(&mut self, n: u32) -> Ends {
        let start = self.pool.len();
        for piece in self.rows.above.get(n) {
            let piece = &self.rows.pieces[*piece as usize];
            self.pool.push((self.end(piece, true), piece.weight));
        }
        let middle = self.pool.len();
        for piece in self.rows.below.get(n) {
            let piece = &self.rows.pieces[*piece as usize];
            self.pool.push((self.end(piece, false), piece.weight));
        }
        self.pool[start..middle].sort_unstable();
        self.pool[middle..].sort_unstable();
        Ends { of: n, above: (start, middle), below: (middle, self.pool.len()) }
    }
}

/// Where lines end, sorted, and how many edges share each.
type Pool = [(u32, u32)];

/// A box or bend of a row, with the other ends of its pieces above and below: from and to where they are in the pool.
struct Ends {
    of: u32,
    above: (usize, usize),
    below: (usize, usize),
}

impl Ends {
    /// How often lines cross those of a box on the right.
    fn crossings(&self, right: &Ends, pool: &Pool) -> u64 {
        let of = |(start, end): (usize, usize)| &pool[start..end];
        crossing(of(self.above), of(right.above)) + crossing(of(self.below), of(right.below))
    }
}

/// Another order of rows: by chance, but the same each time.
fn shuffle(order: &mut [Vec<u32>], seed: u32) {
    let mut state = u64::from(seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    for row in order {
        for n in (1..row.len()).rev() {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            row.swap(n, (state % (n as u64 + 1)) as usize);
        }
    }
}

/// Exchanges neighbours.
fn transpose(boxes: &mut [Ends], pool: &Pool) {
    for _ in 0..6 {
        let mut changed = false;
        for left in 0..boxes.len() - 1 {
            let (a, b) = (&boxes[left], &boxes[left + 1]);
            let now = a.crossings(b, pool);
            if now > 0 && b.crossings(a, pool) < now {
                boxes.swap(left, left + 1);
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
}

/// Brings each box to where the fewest lines cross, the others as they are.
fn sift(boxes: &mut [Ends], pool: &Pool) {
    let order: Vec<u32> = boxes.iter().map(|ends| ends.of).collect();
    for n in order {
        let Some(at) = boxes.iter().position(|ends| ends.of == n) else { continue };
        let (mut best, mut to) = (0i64, at);
        let gain = |left: &Ends, right: &Ends| {
            right.crossings(left, pool) as i64 - left.crossings(right, pool) as i64
        };
        let mut sum = 0;
        for right in at + 1..boxes.len() {
            sum += gain(&boxes[at], &boxes[right]);
            if sum < best {
                (best, to) = (sum, right);
            }
        }
        sum = 0;
        for left in (0..at).rev() {
            sum += gain(&boxes[left], &boxes[at]);
            if sum < best {
                (best, to) = (sum, left);
            }
        }
        if to > at {
            boxes[at..=to].rotate_left(1);
        } else {
            boxes[to..=at].rotate_right(1);
        }
    }
}

/// How often lines of a left box and a right one cross, by the sorted ends of both.
fn crossing(left: &[(u32, u32)], right: &[(u32, u32)]) -> u64 {
    let (mut sum, mut before, mut n) = (0u64, 0u64, 0);
    // For each end of the left one: the ends of the right one that are left of it.
    for (end, weight) in left {
        while let Some((other, weight)) = right.get(n).filter(|(other, _)| other < end) {
            before += u64::from(*weight);
            let _ = other;
            n += 1;
        }
        sum += before * u64::from(*weight);
    }
    sum
}

/// Pairs of pieces, sorted by their upper ends, whose lower ends are the other way around.
fn inversions(ends: &[(u32, u32, u32)], sums: &mut Vec<u64>) -> u64 {
    let width = ends.iter().map(|end| end.1 as usize + 1).max().unwrap_or(0);
    sums.clear();
    sums.resize(width + 1, 0);
    let (mut all, mut total) = (0u64, 0u64);
    let mut group = 0;
    for n in 0..ends.len() {
        // Pieces from one place do not cross: they are counted before they are added.
        if ends[n].0 != ends[group].0 {
            for (_, lower, weight) in &ends[group..n] {
                total += u64::from(*weight);
                let mut at = *lower as usize + 1;
                while at <= width {
                    sums[at] += u64::from(*weight);
                    at += at & at.wrapping_neg();
                }
            }
            group = n;
        }
        let (_, lower, weight) = ends[n];
        let (mut left, mut at) = (0, lower as usize + 1);
        while at > 0 {
            left += sums[at];
            at &= at - 1;
        }
        all = all.saturating_add((total - left) * u64::from(weight));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crossings_are_pairs_the_other_way_around() {
        let mut sums = Vec::new();
        let ends = [(0, 1, 1), (0, 3, 2), (1, 0, 1), (2, 2, 3), (2, 3, 1)];
        let mut expected = 0;
        for a in ends {
            for b in ends {
                expected += if a.0 < b.0 && a.1 > b.1 { u64::from(a.2 * b.2) } else { 0 };
            }
        }
        assert_eq!(inversions(&ends, &mut sums), expected);
        assert_eq!(crossing(&[(1, 1), (3, 2)], &[(0, 1), (2, 3)]), 1 + 2 * 4);
    }
}
