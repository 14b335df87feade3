//! Which chunks of a grid hold the elements of a region, and which part of each.

use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::strides;
use crate::data::region::{Region, Span};

/// A grid of chunks over an array.
pub(super) struct Grid {
    shape: Vec<u64>,
    sides: Vec<Sides>,
    counts: Vec<u64>,
}

/// The lengths of the chunks along one dimension.
enum Sides {
    /// All of one.
    Even(u64),
    /// Where each begins, and where the last ends; and the longest.
    Uneven(Vec<u64>, u64),
}

impl Sides {
    /// Where the `n`-th chunk begins, and its length.
    fn of(&self, n: u64) -> (u64, u64) {
        match self {
            Sides::Even(side) => (n.saturating_mul(*side), *side),
            Sides::Uneven(edges, _) => {
                let edge = |n: u64| usize::try_from(n).ok().and_then(|n| edges.get(n)).copied();
                let start = edge(n).unwrap_or(u64::MAX);
                (start, edge(n.saturating_add(1)).unwrap_or(start).saturating_sub(start))
            }
        }
    }

    fn uneven(edges: Vec<u64>) -> Self {
        let sides = edges.iter().zip(edges.iter().skip(1)).map(|(start, end)| end.saturating_sub(*start));
        let longest = sides.max().unwrap_or(0);
        Sides::Uneven(edges, longest)
    }

    fn longest(&self) -> u64 {
        match self {
            Sides::Even(side) | Sides::Uneven(_, side) => *side,
        }
    }
}

/// What a region takes of one chunk along one dimension, and where it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    /// The chunk's number along the dimension.
    pub(super) chunk: u64,
    /// The first element, counted from the chunk's start.
    pub(super) from: u64,
    /// The distance between two elements.
    pub(super) step: u64,
    /// How many.
    pub(super) count: u64,
    /// Where the first goes in the region.
    pub(super) out: u64,
}

/// The chunks of a region, by number. Nothing is kept for each of them: a shape that a file only claims may have
/// any number.
pub(super) struct Plan {
    axes: Vec<Axis>,
    count: u64,
}

/// The chunks that a span touches along one dimension.
enum Axis {
    /// Chunks of the length `side`; `len` of them.
    Even { span: Span, side: u64, len: u64 },
    /// What is taken of each: as many as the grid itself lists.
    Uneven(Vec<Cut>),
}

impl Grid {
    /// The grid over `shape` of chunks of `chunk` elements.
    pub(super) fn new(shape: Vec<u64>, chunk: Vec<u64>) -> Result<Self> {
        if shape.len() != chunk.len() {
            return Err(Error::malformed(format!(
                "array: chunks of {} dimensions in an array of {}",
                chunk.len(),
                shape.len()
            )));
        }
        let empty = limits::elements(&shape)? == 0;
        if !empty && chunk.contains(&0) {
            return Err(Error::malformed(format!("array: its chunk shape {chunk:?} has a side of 0")));
        }
        let counts = strides::counts(&shape, &chunk);
        Ok(Grid { shape, sides: chunk.into_iter().map(Sides::Even).collect(), counts })
    }

    /// The grid over `shape` of chunks that begin at `edges` along each dimension, behind which stands where the last
    /// one ends.
    pub(super) fn uneven(shape: Vec<u64>, edges: Vec<Vec<u64>>) -> Result<Self> {
        let covers = |(edges, len): (&Vec<u64>, &u64)| {
            edges.first() == Some(&0) && edges.last() >= Some(len) && edges.is_sorted_by(|a, b| a < b)
        };
        if shape.len() != edges.len() || !edges.iter().zip(&shape).all(covers) {
            return Err(Error::malformed("array: its chunks do not cover it"));
        }
        let count = |(edges, len): (&Vec<u64>, &u64)| edges.partition_point(|edge| edge < len) as u64;
        let counts = edges.iter().zip(&shape).map(count).collect();
        Ok(Grid { shape, sides: edges.into_iter().map(Sides::uneven).collect(), counts })
    }

    pub(super) fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// How many chunks lie along each dimension.
    pub(super) fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// How many chunks there are; at most what 64 bits hold.
    pub(super) fn total(&self) -> u64 {
        self.counts.iter().fold(1u64, |product, count| product.saturating_mul(*count))
    }

    /// The shape of a whole chunk.
    pub(super) fn whole(&self, index: &[u64]) -> Vec<u64> {
        self.sides.iter().zip(index).map(|(sides, at)| sides.of(*at).1).collect()
    }

    /// The longest side of a chunk along each dimension.
    pub(super) fn longest(&self) -> Vec<u64> {
        self.sides.iter().map(Sides::longest).collect()
    }

    /// What a chunk holds of the array.
    pub(super) fn region(&self, index: &[u64]) -> Region {
        let span = |((sides, at), len): ((&Sides, &u64), &u64)| {
            let (start, side) = sides.of(*at);
            Span::range(start.min(*len), side.min(len.saturating_sub(start)))
        };
        Region(self.sides.iter().zip(index).zip(&self.shape).map(span).collect())
    }

    /// The shape of a chunk cut to the array.
    pub(super) fn cut(&self, index: &[u64]) -> Vec<u64> {
        self.region(index).shape()
    }

    /// The chunk's number in C order. It fits, since no more chunks are there than elements.
    pub(super) fn number(&self, index: &[u64]) -> u64 {
        strides::ravel(index, &self.counts)
    }

    /// Whether `cuts` take every element of the chunk that lies in the array.
    pub(super) fn takes_all(&self, index: &[u64], cuts: &[Cut]) -> bool {
        cuts.iter().zip(self.cut(index)).all(|(cut, side)| cut.count == side)
    }

    /// The chunks of a region that was checked.
    pub(super) fn plan(&self, region: &Region) -> Plan {
        let axes: Vec<Axis> =
            region.0.iter().zip(&self.sides).map(|(span, sides)| Axis::new(*span, sides)).collect();
        let empty = axes.iter().any(|axis| axis.len() == 0);
        let all = axes.iter().fold(1u64, |product, axis| product.saturating_mul(axis.len()));
        Plan { axes, count: if empty { 0 } else { all } }
    }
}

impl Plan {
    /// How many chunks there are.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// The n-th chunk in C order: its grid coordinates and what is taken of it.
    pub(super) fn at(&self, n: u64) -> (Vec<u64>, Vec<Cut>) {
        let mut rest = n;
        let mut cuts: Vec<Cut> = Vec::with_capacity(self.axes.len());
        for axis in self.axes.iter().rev() {
            let len = axis.len().max(1);
            cuts.extend(axis.cut(rest % len));
            rest /= len;
        }
        cuts.reverse();
        (cuts.iter().map(|cut| cut.chunk).collect(), cuts)
    }

    /// What is taken of the chunk at these grid coordinates; `None` where the region does not touch it.
    pub(super) fn of(&self, index: &[u64]) -> Option<Vec<Cut>> {
        self.axes.iter().zip(index).map(|(axis, &chunk)| axis.of(chunk)).collect()
    }
}

impl Axis {
    fn new(span: Span, sides: &Sides) -> Self {
        let side = match sides {
            Sides::Even(side) => (*side).max(1),
            Sides::Uneven(edges, _) => return Axis::Uneven(cuts(span, edges)),
        };
        let len = match span.count {
            0 => 0,
            // Every chunk from the first to the last has an element.
            n if span.step <= side => span.index(n - 1) / side - span.start / side + 1,
            // No chunk has two.
            n => n,
        };
        Axis::Even { span, side, len }
    }

    /// How many chunks.
    fn len(&self) -> u64 {
        match self {
            Axis::Even { len, .. } => *len,
            Axis::Uneven(cuts) => cuts.len() as u64,
        }
    }

    /// What is taken of the n-th chunk.
    fn cut(&self, n: u64) -> Option<Cut> {
        let (span, side) = match self {
            Axis::Even { span, side, len } if n < *len => (span, side),
            Axis::Even { .. } => return None,
            Axis::Uneven(cuts) => return cuts.get(usize::try_from(n).ok()?).copied(),
        };
        if span.step > *side {
            let at = span.index(n);
            return Some(Cut { chunk: at / side, from: at % side, step: span.step, count: 1, out: n });
        }
        let chunk = span.start / side + n;
        let first = chunk.saturating_mul(*side);
        let done = first.saturating_sub(span.start).div_ceil(span.step.max(1));
        let from = span.index(done).saturating_sub(first);
        // Elements of this chunk: from, from + step, … below side.
        let count = side.saturating_sub(from).div_ceil(span.step.max(1)).min(span.count.saturating_sub(done));
        Some(Cut { chunk, from, step: span.step, count, out: done })
    }

    /// What is taken of a chunk, if anything is.
    fn of(&self, chunk: u64) -> Option<Cut> {
        let n = match self {
            Axis::Even { span, side, .. } if span.step > *side => {
                chunk.checked_mul(*side)?.saturating_sub(span.start).div_ceil(span.step)
            }
            Axis::Even { span, side, .. } => chunk.checked_sub(span.start / side)?,
            Axis::Uneven(cuts) => cuts.partition_point(|cut| cut.chunk < chunk) as u64,
        };
        self.cut(n).filter(|cut| cut.chunk == chunk)
    }
}

/// What a span takes of each chunk that it touches; chunk n lies between the edges n and n + 1.
fn cuts(span: Span, edges: &[u64]) -> Vec<Cut> {
    let mut cuts = Vec::new();
    let mut out = 0;
    while out < span.count {
        let at = span.index(out);
        let chunk = edges.partition_point(|&edge| edge <= at).saturating_sub(1);
        let start = edges.get(chunk).copied().unwrap_or(0);
        let end = edges.get(chunk + 1).copied().unwrap_or(u64::MAX);
        let count = (end - at).div_ceil(span.step.max(1)).clamp(1, span.count - out);
        cuts.push(Cut { chunk: chunk as u64, from: at - start, step: span.step, count, out });
        out += count;
    }
    cuts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_go_over_chunks_and_skip_some() {
        let cut = |chunk, from, step, count, out| Cut { chunk, from, step, count, out };
        let cuts = |span: &Span, side| -> Vec<Cut> {
            let cuts_of = |sides: &Sides| -> Vec<Cut> {
                let axis = Axis::new(*span, sides);
                let all: Vec<Cut> = (0..axis.len()).filter_map(|n| axis.cut(n)).collect();
                for chunk in 0..10 {
                    assert_eq!(axis.of(chunk), all.iter().find(|cut| cut.chunk == chunk).copied());
                }
                all
            };
            let all = cuts_of(&Sides::Even(side));
            assert_eq!(cuts_of(&Sides::uneven((0..20).map(|n| n * side).collect())), all);
            all
        };
        assert_eq!(cuts(&Span::range(3, 6), 4), [cut(0, 3, 1, 1, 0), cut(1, 0, 1, 4, 1), cut(2, 0, 1, 1, 5)]);
        let span = Span { start: 1, count: 4, step: 3 };
        assert_eq!(cuts(&span, 4), [cut(0, 1, 3, 1, 0), cut(1, 0, 3, 2, 1), cut(2, 2, 3, 1, 3)]);
        let far = Span { start: 0, count: 2, step: 10 };
        assert_eq!(cuts(&far, 4), [cut(0, 0, 10, 1, 0), cut(2, 2, 10, 1, 1)]);
        assert!(cuts(&Span::range(5, 0), 4).is_empty());
    }

    #[test]
    fn a_plan_of_any_size_costs_nothing() {
        let shape = vec![u64::MAX / 8, 2];
        let grid = Grid::new(shape.clone(), vec![1, 1]).unwrap();
        let plan = grid.plan(&Region::all(&shape));
        assert_eq!(plan.count(), u64::MAX / 8 * 2);
        let (index, cuts) = plan.at(plan.count() - 1);
        assert_eq!((index.as_slice(), cuts[0].out), (&[u64::MAX / 8 - 1, 1][..], u64::MAX / 8 - 1));
        assert_eq!(plan.of(&index).unwrap(), cuts);
        assert!(plan.of(&[u64::MAX / 8, 0]).is_none());
        let none = Grid::new(vec![u64::MAX, u64::MAX, 0], vec![1, 1, 1]).unwrap();
        assert_eq!(none.plan(&Region::all(&[u64::MAX, u64::MAX, 0])).count(), 0);
    }

    #[test]
    fn edges_and_numbers() {
        let grid = Grid::new(vec![5, 7], vec![2, 4]).unwrap();
        assert_eq!(grid.counts(), [3, 2]);
        assert_eq!(grid.cut(&[2, 1]), [1, 3]);
        assert_eq!(grid.number(&[2, 1]), 5);
        let uneven = Grid::uneven(vec![5, 7], vec![vec![0, 1, 4, 9, 10], vec![0, 7]]).unwrap();
        assert_eq!((uneven.counts(), uneven.longest()), (&[3, 1][..], vec![5, 7]));
        assert_eq!((uneven.whole(&[2, 0]), uneven.cut(&[2, 0])), (vec![5, 7], vec![1, 7]));
        for edges in [vec![0, 4], vec![1, 5], vec![0, 3, 3, 5], vec![]] {
            assert!(Grid::uneven(vec![5], vec![edges]).is_err());
        }
        assert!(Grid::new(vec![5], vec![0]).is_err());
        assert!(Grid::new(vec![5], vec![1, 1]).is_err());
        assert!(Grid::new(vec![0], vec![0]).is_ok());
        assert!(Grid::new(vec![1 << 40, 1 << 40], vec![1, 1]).is_err());
    }
}
