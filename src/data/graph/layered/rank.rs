//! Which layer each box is in: cycles are broken, then the edges are as short as a network simplex makes them (Gansner,
//! Koutsofios, North and Vo, <https://doi.org/10.1109/32.221135>).

use super::Lists;
use crate::bytes::error::Result;
use crate::bytes::task::Task;

/// An edge that points downward.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arc {
    pub(super) from: u32,
    pub(super) to: u32,
    /// How much it counts that it is short.
    pub(super) weight: i64,
}

/// How many steps the network simplex takes at most; what it has then is good, if not the best.
const MOST_STEPS: u64 = 12_000_000;

/// By edge: whether it has to be turned around so that none is part of a cycle. Self-loops are none of its business.
pub(super) fn turned(task: &Task, boxes: usize, edges: &[(u32, u32)]) -> Result<Vec<bool>> {
    let out = Lists::of(boxes, edges.iter().map(|edge| edge.0));
    let mut into = vec![0u32; boxes];
    for (from, to) in edges {
        into[*to as usize] += u32::from(from != to);
    }
    let mut turned = vec![false; edges.len()];
    // 0: not seen, 1: on the path from the beginning, 2: done.
    let mut state = vec![0u8; boxes];
    let mut path: Vec<(u32, usize)> = Vec::new();
    let beginnings = (0..boxes).filter(|n| into[*n] == 0).chain((0..boxes).filter(|n| into[*n] > 0));
    for first in beginnings {
        task.check()?;
        if state[first] != 0 {
            continue;
        }
        state[first] = 1;
        path.push((first as u32, 0));
        while let Some((at, next)) = path.last_mut() {
            let Some(edge) = out.get(*at).get(*next) else {
                state[*at as usize] = 2;
                path.pop();
                continue;
            };
            *next += 1;
            let to = edges[*edge as usize].1;
            match state[to as usize] {
                0 => {
                    state[to as usize] = 1;
                    path.push((to, 0));
                }
                1 if to != edges[*edge as usize].0 => turned[*edge as usize] = true,
                _ => {}
            }
        }
    }
    Ok(turned)
}

/// By box: its layer, from 0. The arcs make no cycle and hold all boxes together.
pub(super) fn ranks(task: &Task, boxes: usize, arcs: &[Arc]) -> Result<Vec<i32>> {
    let mut ranks = longest_paths(boxes, arcs);
    task.check()?;
    let mut tree = Tree::tight(task, boxes, arcs, &mut ranks)?;
    tree.improve(task, arcs, &mut ranks)?;
    let first = ranks.iter().copied().min().unwrap_or(0);
    ranks.iter_mut().for_each(|rank| *rank -= first);
    Ok(ranks)
}

/// Each box as high as it can be.
fn longest_paths(boxes: usize, arcs: &[Arc]) -> Vec<i32> {
    let out = Lists::of(boxes, arcs.iter().map(|arc| arc.from));
    let mut open = vec![0u32; boxes];
    for arc in arcs {
        open[arc.to as usize] += 1;
    }
    let mut ranks = vec![0; boxes];
    let mut ready: Vec<u32> = (0..boxes as u32).filter(|n| open[*n as usize] == 0).collect();
    while let Some(at) = ready.pop() {
        for arc in out.get(at) {
            let to = arcs[*arc as usize].to as usize;
            ranks[to] = ranks[to].max(ranks[at as usize] + 1);
            open[to] -= 1;
            if open[to] == 0 {
                ready.push(to as u32);
            }
        }
    }
    ranks
}

fn slack(arcs: &[Arc], ranks: &[i32], arc: u32) -> i32 {
    let arc = arcs[arc as usize];
    ranks[arc.to as usize] - ranks[arc.from as usize] - 1
}

const NONE: u32 = u32::MAX;

/// A spanning tree of arcs that are as short as can be.
struct Tree {
    /// The arcs at each box, both ways.
    at: Lists,
    /// The arcs of the tree at each box.
    tree: Vec<Vec<u32>>,
    /// By box: the arc of the tree to the box above it.
    up: Vec<u32>,
    depth: Vec<u32>,
    /// By box: the weights that leave less those that enter, of it and all below it in the tree.
    sum: Vec<i64>,
}

impl Tree {
    /// Moves parts together until one tree of tight arcs holds all.
    fn tight(task: &Task, boxes: usize, arcs: &[Arc], ranks: &mut [i32]) -> Result<Tree> {
        // Twice each arc: at its ends.
        let mut at = Lists::of(boxes, arcs.iter().flat_map(|arc| [arc.from, arc.to]));
        at.numbers.iter_mut().for_each(|number| *number /= 2);
        let mut tree = vec![Vec::new(); boxes];
        let mut part: Vec<u32> = (0..boxes as u32).collect();
        let mut members: Vec<Vec<u32>> = (0..boxes as u32).map(|n| vec![n]).collect();
        let mut join = |arc: u32, part: &mut Vec<u32>, members: &mut Vec<Vec<u32>>| {
            let Arc { from, to, .. } = arcs[arc as usize];
            let (mut a, mut b) = (part[from as usize], part[to as usize]);
            if a == b {
                return None;
            }
            if members[a as usize].len() < members[b as usize].len() {
                std::mem::swap(&mut a, &mut b);
            }
            let moved = std::mem::take(&mut members[b as usize]);
            moved.iter().for_each(|n| part[*n as usize] = a);
            members[a as usize].extend(moved);
            tree[from as usize].push(arc);
            tree[to as usize].push(arc);
            Some(a)
        };
        for arc in 0..arcs.len() as u32 {
            if slack(arcs, ranks, arc) == 0 {
                join(arc, &mut part, &mut members);
            }
        }
        // The smallest part first: each box is looked at a few times only.
        let sized = |part: u32, members: &[Vec<u32>]| std::cmp::Reverse((members[part as usize].len(), part));
        let mut queue: std::collections::BinaryHeap<_> = (0..boxes as u32)
            .filter(|p| !members[*p as usize].is_empty())
            .map(|p| sized(p, &members))
            .collect();
        while let Some(std::cmp::Reverse((size, own))) = queue.pop() {
            task.check()?;
            if members[own as usize].len() != size || size == boxes {
                continue;
            }
            let arcs_out = members[own as usize].iter().flat_map(|n| at.get(*n)).copied().filter(|arc| {
                let arc = arcs[*arc as usize];
                part[arc.from as usize] != part[arc.to as usize]
            });
            let Some(arc) = arcs_out.min_by_key(|arc| (slack(arcs, ranks, *arc), *arc)) else { continue };
            let is_down = part[arcs[arc as usize].from as usize] == own;
            let by = slack(arcs, ranks, arc) * if is_down { 1 } else { -1 };
            members[own as usize].iter().for_each(|n| ranks[*n as usize] += by);
            if let Some(joined) = join(arc, &mut part, &mut members) {
                queue.push(sized(joined, &members));
            }
        }
        let mut tree = Tree { at, tree, up: vec![NONE; boxes], depth: vec![0; boxes], sum: vec![0; boxes] };
        for arc in arcs {
            tree.sum[arc.from as usize] += arc.weight;
            tree.sum[arc.to as usize] -= arc.weight;
        }
        let order = tree.hang(arcs, 0, NONE);
        for n in order.into_iter().rev() {
            if let Some(above) = tree.above(arcs, n) {
                tree.sum[above as usize] += tree.sum[n as usize];
            }
        }
        Ok(tree)
    }

    /// Sets what is above each box below one, and their depths; the boxes, each after the one above it.
    fn hang(&mut self, arcs: &[Arc], root: u32, up: u32) -> Vec<u32> {
        self.up[root as usize] = up;
        self.depth[root as usize] = self.above(arcs, root).map_or(0, |above| self.depth[above as usize] + 1);
        let mut order = vec![root];
        let mut next = 0;
        while let Some(at) = order.get(next).copied() {
            next += 1;
            for arc in &self.tree[at as usize] {
                if *arc != self.up[at as usize] {
                    let Arc { from, to, .. } = arcs[*arc as usize];
                    let below = if from == at { to } else { from };
                    self.up[below as usize] = *arc;
                    self.depth[below as usize] = self.depth[at as usize] + 1;
                    order.push(below);
                }
            }
        }
        order
    }

    /// The box above one in the tree.
    fn above(&self, arcs: &[Arc], n: u32) -> Option<u32> {
        let arc = arcs.get(self.up[n as usize] as usize)?;
        Some(if arc.from == n { arc.to } else { arc.from })
    }

    /// What is gained for each layer that the arc above a box is longer.
    fn gain(&self, arcs: &[Arc], n: u32) -> i64 {
        match arcs.get(self.up[n as usize] as usize) {
            None => 0,
            Some(arc) if arc.from == n => -self.sum[n as usize],
            Some(_) => self.sum[n as usize],
        }
    }

    /// Changes arcs of the tree for others as long as the sum of all lengths falls.
    fn improve(&mut self, task: &Task, arcs: &[Arc], ranks: &mut [i32]) -> Result<()> {
        let boxes = ranks.len();
        let (mut steps, mut clean, mut n) = (0u64, 0, 0);
        let mut is_below = vec![false; boxes];
        while clean < boxes && steps < MOST_STEPS {
            n = (n + 1) % boxes;
            steps += 1;
            if self.gain(arcs, n as u32) <= 0 {
                clean += 1;
                continue;
            }
            task.check()?;
            clean = 0;
            let arc = self.up[n];
            let below = self.below(arcs, n as u32);
            below.iter().for_each(|n| is_below[*n as usize] = true);
            let goes_up = arcs[arc as usize].from as usize == n;
            // What comes in its place crosses between the same parts the other way.
            let entering = below.iter().flat_map(|n| self.at.get(*n)).copied().filter(|arc| {
                let arc = arcs[*arc as usize];
                let (from, to) = (is_below[arc.from as usize], is_below[arc.to as usize]);
                if goes_up { !from && to } else { from && !to }
            });
            let entering = entering.min_by_key(|arc| (slack(arcs, ranks, *arc), *arc));
            steps += below.iter().map(|n| 1 + self.at.get(*n).len() as u64).sum::<u64>();
            if let Some(entering) = entering {
                let by = slack(arcs, ranks, entering) * if goes_up { -1 } else { 1 };
                below.iter().for_each(|n| ranks[*n as usize] += by);
                steps += self.exchange(arcs, n as u32, entering, &is_below);
            }
            below.iter().for_each(|n| is_below[*n as usize] = false);
        }
        Ok(())
    }

    /// A box and all below it in the tree.
    fn below(&self, arcs: &[Arc], n: u32) -> Vec<u32> {
        let mut all = vec![n];
        let mut next = 0;
        while let Some(at) = all.get(next).copied() {
            next += 1;
            for arc in self.tree[at as usize].iter().filter(|arc| **arc != self.up[at as usize]) {
                let Arc { from, to, .. } = arcs[*arc as usize];
                all.push(if from == at { to } else { from });
            }
        }
        all
    }

    /// Hangs what is below a box at another arc; how many steps that took.
    fn exchange(&mut self, arcs: &[Arc], n: u32, entering: u32, is_below: &[bool]) -> u64 {
        let mut steps = 0;
        let leaving = self.up[n as usize];
        let Some(old) = self.above(arcs, n) else { return steps };
        let Arc { from, to, .. } = arcs[entering as usize];
        let (inside, outside) = if is_below[from as usize] { (from, to) } else { (to, from) };
        let moved = self.sum[n as usize];
        // Sums above the two places, up to where their ways meet.
        let (mut a, mut b) = (old, outside);
        while a != b {
            steps += 1;
            if self.depth[a as usize] >= self.depth[b as usize] {
                self.sum[a as usize] -= moved;
                let Some(above) = self.above(arcs, a) else { break };
                a = above;
            } else {
                self.sum[b as usize] += moved;
                let Some(above) = self.above(arcs, b) else { break };
                b = above;
            }
        }
        // Sums on the way that is turned around.
        let (mut at, mut before) = (inside, 0);
        loop {
            let own = self.sum[at as usize];
            self.sum[at as usize] = moved - before;
            before = own;
            if at == n {
                break;
            }
            let Some(above) = self.above(arcs, at) else { break };
            at = above;
        }
        for end in [arcs[leaving as usize].from, arcs[leaving as usize].to] {
            steps += self.tree[end as usize].len() as u64;
            self.tree[end as usize].retain(|arc| *arc != leaving);
        }
        self.tree[from as usize].push(entering);
        self.tree[to as usize].push(entering);
        steps + self.hang(arcs, inside, entering).len() as u64
    }
}
