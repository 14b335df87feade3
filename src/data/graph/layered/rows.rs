//! Rows: the boxes of each layer, with bends where lines pass through layers.

use super::rank::Arc;
use super::{Flat, FlatEdge, Lists, Pin};
use std::collections::{BTreeMap, HashMap};

/// A piece of a line, from a row to the next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    /// The box or bend above.
    pub(super) up: u32,
    /// The box or bend below.
    pub(super) down: u32,
    /// Which of the places along the lower border of `up` it leaves from, from the left.
    pub(super) up_slot: u32,
    /// Which of the places along the upper border of `down` it comes to.
    pub(super) down_slot: u32,
    /// How far these are from the middle of the box.
    pub(super) up_off: f32,
    /// How far these are from the middle of the box.
    pub(super) down_off: f32,
    /// How many edges share it.
    pub(super) weight: u32,
}

/// Boxes and bends in rows.
#[derive(Debug, Default)]
pub(super) struct Rows {
    /// How many boxes there are; higher numbers are bends.
    pub(super) boxes: usize,
    /// By row: boxes and bends from left to right.
    pub(super) rows: Vec<Vec<u32>>,
    /// By box and bend: its row.
    pub(super) rank: Vec<u32>,
    pub(super) pieces: Vec<Piece>,
    /// By box and bend: the pieces upward and downward.
    pub(super) above: Lists,
    pub(super) below: Lists,
    /// By box: how many places there are along its upper and lower border.
    pub(super) slots: Vec<[u32; 2]>,
    /// By edge: the bends on its way, from the upper end to the lower.
    pub(super) bends: Vec<std::ops::Range<u32>>,
}

/// How many bends there are at most; the longest lines go without beyond.
fn most_bends(boxes: usize) -> u64 {
    60_000 + 5 * boxes as u64
}

/// The layers of boxes, with ports in the first and the last.
pub(super) fn pinned(flat: &Flat, mut ranks: Vec<i32>) -> Vec<i32> {
    let free = || flat.pins.iter().zip(&ranks).filter(|(pin, _)| **pin == Pin::Free).map(|(_, rank)| *rank);
    let (low, high) = (free().min().unwrap_or(1), free().max().unwrap_or(1));
    let has_first = flat.pins.contains(&Pin::First);
    for (rank, pin) in ranks.iter_mut().zip(&flat.pins) {
        *rank = match pin {
            Pin::Free => *rank - low + i32::from(has_first),
            Pin::First => 0,
            Pin::Last => high - low + 1 + i32::from(has_first),
        };
    }
    ranks
}

/// How much the length of an edge counts: those of ports are as long as they are.
pub(super) fn arc(flat: &Flat, edge: &FlatEdge, is_turned: bool) -> Arc {
    let is_free = |n: u32| flat.pins[n as usize] == Pin::Free;
    let weight = i64::from(is_free(edge.from) && is_free(edge.to));
    let (from, to) = if is_turned { (edge.to, edge.from) } else { (edge.from, edge.to) };
    Arc { from, to, weight }
}

impl Rows {
    pub(super) fn of(flat: &Flat, turned: &[bool], ranks: &[i32]) -> Rows {
        let boxes = flat.sizes.len();
        let mut rows =
            Rows { boxes, rank: ranks.iter().map(|rank| *rank as u32).collect(), ..Rows::default() };
        rows.bends = vec![0..0; flat.edges.len()];
        // Edges of one box and one trunk share their bends.
        let mut trunks: BTreeMap<(u32, u64, u32), Vec<u32>> = BTreeMap::new();
        for (number, edge) in flat.edges.iter().enumerate() {
            if edge.from == edge.to {
                continue;
            }
            let alone = if turned[number] { number as u32 + 1 } else { 0 };
            let up = if turned[number] { edge.to } else { edge.from };
            trunks.entry((up, edge.trunk, alone)).or_default().push(number as u32);
        }
        let longest = longest(flat, turned, ranks, &trunks);
        let places = Places::of(flat, turned);
        rows.slots = places.slots.clone();
        for ((up, ..), edges) in &trunks {
            rows.trunk(flat, turned, *up, edges, longest, &places);
        }
        let all = rows.rank.len();
        rows.above = Lists::of(all, rows.pieces.iter().map(|piece| piece.down));
        rows.below = Lists::of(all, rows.pieces.iter().map(|piece| piece.up));
        rows
    }

    /// Adds the bends and pieces of edges that share a line.
    fn trunk(&mut self, flat: &Flat, turned: &[bool], up: u32, edges: &[u32], longest: u32, places: &Places) {
        let top = self.rank[up as usize];
        let start = self.rank.len() as u32;
        // By bend: how many edges go on from it; by its number less that of the first.
        let mut weights: Vec<u32> = Vec::new();
        let mut direct: HashMap<(u32, u32, u32), usize> = HashMap::new();
        for number in edges {
            let edge = &flat.edges[*number as usize];
            let is_turned = turned[*number as usize];
            let down = if is_turned { edge.from } else { edge.to };
            let span = self.rank[down as usize] - top;
            if span > longest {
                continue;
            }
            let bends = span - 1;
            if weights.len() < bends as usize {
                weights.resize(bends as usize, 0);
            }
            // Where it ends; summed up below.
            if let Some(last) = bends.checked_sub(1) {
                weights[last as usize] += 1;
            }
            self.bends[*number as usize] = start..start + bends;
            let ((up_slot, up_off), (down_slot, down_off)) =
                (places.end(flat, edge, is_turned, true), places.end(flat, edge, is_turned, false));
            let mut piece = Piece { up, down, up_slot, down_slot, up_off, down_off, weight: 1 };
            if bends > 0 {
                (piece.up, piece.up_slot, piece.up_off) = (start + bends - 1, 0, 0.0);
            }
            let key = (piece.up, piece.down, piece.down_slot);
            match direct.get(&key) {
                Some(there) => self.pieces[*there].weight += 1,
                None => {
                    direct.insert(key, self.pieces.len());
                    self.pieces.push(piece);
                }
            }
            if bends > 0 && !direct.contains_key(&(up, start, 0)) {
                let piece =
                    Piece { down: start, up, up_slot, up_off, down_slot: 0, down_off: 0.0, weight: 0 };
                direct.insert((up, start, 0), self.pieces.len());
                self.pieces.push(piece);
            }
        }
        for n in (1..weights.len()).rev() {
            weights[n - 1] += weights[n];
        }
        if let Some(there) = direct.get(&(up, start, 0)) {
            self.pieces[*there].weight = weights.first().copied().unwrap_or(1);
        }
        for n in 0..weights.len() as u32 {
            self.rank.push(top + 1 + n);
            if n > 0 {
                let (up, down) = (start + n - 1, start + n);
                let weight = weights[n as usize];
                let (up_slot, down_slot, up_off, down_off) = (0, 0, 0.0, 0.0);
                self.pieces.push(Piece { up, down, up_slot, down_slot, up_off, down_off, weight });
            }
        }
    }

    /// Whether a number is that of a bend.
    pub(super) fn is_bend(&self, n: u32) -> bool {
        n as usize >= self.boxes
    }

    /// Whether both ends of a piece are bends.
    pub(super) fn is_inner(&self, piece: &Piece) -> bool {
        self.is_bend(piece.up) && self.is_bend(piece.down)
    }
}

/// The most layers that an edge may span so that there are not too many bends.
fn longest(flat: &Flat, turned: &[bool], ranks: &[i32], trunks: &BTreeMap<(u32, u64, u32), Vec<u32>>) -> u32 {
    let mut spans: Vec<u32> = Vec::with_capacity(trunks.len());
    for ((up, ..), edges) in trunks {
        let downs = edges.iter().map(|number| {
            let edge = &flat.edges[*number as usize];
            if turned[*number as usize] { edge.from } else { edge.to }
        });
        let lowest = downs.map(|down| ranks[down as usize]).max().unwrap_or_default();
        spans.push((lowest - ranks[*up as usize]).max(1) as u32);
    }
    spans.sort_unstable();
    let most = most_bends(flat.sizes.len());
    let mut sum = 0u64;
    for (n, span) in spans.iter().enumerate() {
        // If this is the longest, those after it have about as many bends.
        let rest = (spans.len() - n) as u64;
        if sum + rest * u64::from(span - 1) > most {
            return (((most - sum.min(most)) / rest) as u32 + 1).max(2);
        }
        sum += u64::from(span - 1);
    }
    u32::MAX
}

/// The places along the borders of boxes where edges have to begin and end.
struct Places {
    slots: Vec<[u32; 2]>,
    /// By box with such places: their distances from the left edge, along the upper and the lower border.
    fixed: HashMap<(u32, bool), Vec<f32>>,
}

impl Places {
    fn of(flat: &Flat, turned: &[bool]) -> Places {
        let mut fixed: HashMap<(u32, bool), Vec<f32>> = HashMap::new();
        for (edge, is_turned) in flat.edges.iter().zip(turned) {
            // An edge that is turned around reaches a fixed place from the side.
            if !is_turned && edge.from != edge.to {
                edge.from_at.into_iter().for_each(|at| fixed.entry((edge.from, true)).or_default().push(at));
                edge.to_at.into_iter().for_each(|at| fixed.entry((edge.to, false)).or_default().push(at));
            }
        }
        let mut slots = vec![[1, 1]; flat.sizes.len()];
        for ((n, is_lower), places) in &mut fixed {
            places.sort_unstable_by(f32::total_cmp);
            places.dedup();
            slots[*n as usize][usize::from(*is_lower)] = places.len() as u32;
        }
        Places { slots, fixed }
    }

    /// The place of an end, and how far that is from the middle.
    fn end(&self, flat: &Flat, edge: &FlatEdge, is_turned: bool, is_upper: bool) -> (u32, f32) {
        let (n, at) = if is_upper { (edge.from, edge.from_at) } else { (edge.to, edge.to_at) };
        let Some(at) = at.filter(|_| !is_turned) else { return (0, 0.0) };
        let places = self.fixed.get(&(n, is_upper)).map_or(&[][..], Vec::as_slice);
        let slot = places.binary_search_by(|place| place.total_cmp(&at)).unwrap_or(0);
        (slot as u32, at - flat.sizes[n as usize][0] / 2.0)
    }
}
