//! Which chunks of a regular grid hold the elements of a region, and which part of each.

use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::data::region::{Region, Span};

/// A regular grid of chunks over an array.
pub(super) struct Grid {
    shape: Vec<u64>,
    chunk: Vec<u64>,
    counts: Vec<u64>,
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
struct Axis {
    span: Span,
    /// Elements of a chunk along the dimension.
    side: u64,
    /// How many chunks.
    len: u64,
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
        let counts = shape.iter().zip(&chunk).map(|(len, side)| len.div_ceil((*side).max(1))).collect();
        Ok(Grid { shape, chunk, counts })
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
    pub(super) fn whole(&self) -> Vec<u64> {
        self.chunk.clone()
    }

    /// The shape of a chunk, cut at the array's upper edge.
    pub(super) fn cut(&self, index: &[u64]) -> Vec<u64> {
        let sides = self.shape.iter().zip(&self.chunk).zip(index);
        sides.map(|((len, side), at)| len.saturating_sub(at.saturating_mul(*side)).min(*side)).collect()
    }

    /// The chunk's number in C order. It fits, since no more chunks are there than elements.
    pub(super) fn number(&self, index: &[u64]) -> u64 {
        index.iter().zip(&self.counts).fold(0, |n, (at, count)| n.wrapping_mul(*count).wrapping_add(*at))
    }

    /// Whether `cuts` take every element of the chunk that lies in the array.
    pub(super) fn takes_all(&self, index: &[u64], cuts: &[Cut]) -> bool {
        cuts.iter().zip(self.cut(index)).all(|(cut, side)| cut.count == side)
    }

    /// The chunks of a region that was checked.
    pub(super) fn plan(&self, region: &Region) -> Plan {
        let axes: Vec<Axis> =
            region.0.iter().zip(&self.chunk).map(|(s, side)| Axis::new(*s, *side)).collect();
        let empty = axes.iter().any(|axis| axis.len == 0);
        let all = axes.iter().fold(1u64, |product, axis| product.saturating_mul(axis.len));
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
            let len = axis.len.max(1);
            cuts.push(axis.cut(rest % len));
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
    fn new(span: Span, side: u64) -> Self {
        let side = side.max(1);
        let len = match span.count {
            0 => 0,
            // Every chunk from the first to the last has an element.
            n if span.step <= side => span.index(n - 1) / side - span.start / side + 1,
            // No chunk has two.
            n => n,
        };
        Axis { span, side, len }
    }

    /// What is taken of the n-th chunk.
    fn cut(&self, n: u64) -> Cut {
        let Axis { span, side, .. } = self;
        if span.step > *side {
            let at = span.index(n);
            return Cut { chunk: at / side, from: at % side, step: span.step, count: 1, out: n };
        }
        let chunk = span.start / side + n;
        let first = chunk.saturating_mul(*side);
        let done = first.saturating_sub(span.start).div_ceil(span.step.max(1));
        let from = span.index(done).saturating_sub(first);
        // Elements of this chunk: from, from + step, … below side.
        let count = side.saturating_sub(from).div_ceil(span.step.max(1)).min(span.count.saturating_sub(done));
        Cut { chunk, from, step: span.step, count, out: done }
    }

    /// What is taken of a chunk, if anything is.
    fn of(&self, chunk: u64) -> Option<Cut> {
        let Axis { span, side, .. } = self;
        let n = match span.step > *side {
            true => chunk.checked_mul(*side)?.saturating_sub(span.start).div_ceil(span.step),
            false => chunk.checked_sub(span.start / side)?,
        };
        (n < self.len).then(|| self.cut(n)).filter(|cut| cut.chunk == chunk)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_go_over_chunks_and_skip_some() {
        let cut = |chunk, from, step, count, out| Cut { chunk, from, step, count, out };
        let cuts = |span: &Span, side| -> Vec<Cut> {
            let axis = Axis::new(*span, side);
            let all: Vec<Cut> = (0..axis.len).map(|n| axis.cut(n)).collect();
            for chunk in 0..10 {
                assert_eq!(axis.of(chunk), all.iter().find(|cut| cut.chunk == chunk).copied());
            }
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
        assert!(Grid::new(vec![5], vec![0]).is_err());
        assert!(Grid::new(vec![5], vec![1, 1]).is_err());
        assert!(Grid::new(vec![0], vec![0]).is_ok());
        assert!(Grid::new(vec![1 << 40, 1 << 40], vec![1, 1]).is_err());
    }
}
