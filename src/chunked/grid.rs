//! Which chunks of a regular grid hold the elements of a region, and which part of each.

use crate::error::{Error, Result};
use crate::limits;
use crate::region::{Region, Span};

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

/// The chunks of a region, by number.
pub(super) struct Plan {
    axes: Vec<Vec<Cut>>,
    count: u64,
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
        let axes: Vec<Vec<Cut>> = region.0.iter().zip(&self.chunk).map(|(s, side)| cuts(s, *side)).collect();
        let count = axes.iter().map(|cuts| cuts.len() as u64).product();
        Plan { axes, count }
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
            let len = (axis.len() as u64).max(1);
            cuts.extend(axis.get((rest % len) as usize).copied());
            rest /= len;
        }
        cuts.reverse();
        (cuts.iter().map(|cut| cut.chunk).collect(), cuts)
    }
}

/// What a span takes of each chunk that it touches.
fn cuts(span: &Span, side: u64) -> Vec<Cut> {
    let side = side.max(1);
    let mut cuts = Vec::new();
    let mut done = 0;
    while done < span.count {
        let at = span.index(done);
        let (chunk, from) = (at / side, at % side);
        // Elements of this chunk: from, from + step, … below side.
        let count = ((side - from).div_ceil(span.step.max(1))).min(span.count - done);
        cuts.push(Cut { chunk, from, step: span.step, count, out: done });
        done += count.max(1);
    }
    cuts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_go_over_chunks_and_skip_some() {
        let cut = |chunk, from, step, count, out| Cut { chunk, from, step, count, out };
        assert_eq!(cuts(&Span::range(3, 6), 4), [cut(0, 3, 1, 1, 0), cut(1, 0, 1, 4, 1), cut(2, 0, 1, 1, 5)]);
        let span = Span { start: 1, count: 4, step: 3 };
        assert_eq!(cuts(&span, 4), [cut(0, 1, 3, 1, 0), cut(1, 0, 3, 2, 1), cut(2, 2, 3, 1, 3)]);
        let far = Span { start: 0, count: 2, step: 10 };
        assert_eq!(cuts(&far, 4), [cut(0, 0, 10, 1, 0), cut(2, 2, 10, 1, 1)]);
        assert!(cuts(&Span::range(5, 0), 4).is_empty());
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
