//! Selections: which elements of a dataspace a region reference names or a virtual dataset takes — all, none,
//! points, or hyperslabs, regular or a list of blocks (section VIII.A, "Appendix: selection encodings").

use super::super::file::Cursor;
use super::super::message::RANK;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::strides;

/// Stands for a count or a block without an end.
pub(super) const UNLIMITED: u64 = u64::MAX;
/// The most elements of a selection that are listed one by one.
const LISTED: u64 = 1 << 20;

/// A selection of elements, in the order in which they are counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Selection {
    /// No element.
    None,
    /// Every element.
    All,
    /// These elements, in this order: one coordinate a dimension each.
    Points { rank: usize, coordinates: Vec<u64> },
    /// Along each dimension so many blocks at equal distances.
    Regular(Vec<Slab>),
    /// Blocks from corner to corner, both included; elements count in C order.
    Blocks { rank: usize, corners: Vec<u64> },
}

/// One dimension of a regular hyperslab.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slab {
    pub(super) start: u64,
    pub(super) stride: u64,
    pub(super) count: u64,
    pub(super) block: u64,
}

impl Slab {
    /// All of a dimension.
    pub(super) fn all(len: u64) -> Self {
        Slab { start: 0, stride: 1, count: 1, block: len }
    }

    /// Whether it has no end.
    pub(super) fn is_unlimited(&self) -> bool {
        self.count == UNLIMITED || self.block == UNLIMITED
    }

    /// How many indices below `extent` it takes.
    pub(super) fn len(&self, extent: u64) -> u64 {
        let Some(room) = extent.checked_sub(self.start).filter(|room| *room > 0) else { return 0 };
        if self.block == UNLIMITED {
            return room;
        }
        let stride = self.stride.max(1);
        let blocks = room.div_ceil(stride).min(self.count);
        let last_start = blocks.saturating_sub(1).saturating_mul(stride);
        let last = room.saturating_sub(last_start).min(self.block);
        blocks.saturating_sub(1).saturating_mul(self.block).saturating_add(last)
    }

    /// The n-th index that it takes.
    pub(super) fn index(&self, n: u64) -> u64 {
        if self.block == UNLIMITED {
            return self.start.saturating_add(n);
        }
        let block = self.block.max(1);
        self.start.saturating_add((n / block).saturating_mul(self.stride)).saturating_add(n % block)
    }

    /// The how-manieth `index` is among those that it takes.
    pub(super) fn number(&self, index: u64) -> Option<u64> {
        let behind = index.checked_sub(self.start)?;
        if self.block == UNLIMITED {
            return Some(behind);
        }
        let stride = self.stride.max(1);
        let (block, within) = (behind / stride, behind % stride);
        // Where blocks touch or there is one only, the stride says nothing.
        if self.count == 1 {
            return Some(behind).filter(|n| *n < self.block);
        }
        (block < self.count && within < self.block)
            .then(|| block.saturating_mul(self.block).saturating_add(within))
    }

    /// The extent that holds `n` indices and ends with the last of them.
    pub(super) fn extent_of(&self, n: u64) -> u64 {
        match n.checked_sub(1) {
            None => 0,
            Some(last) => self.index(last).saturating_add(1),
        }
    }
}

impl Selection {
    /// Takes a selection apart.
    ///
    /// # Errors
    /// `Malformed` and `Unsupported` as the bytes are.
    pub(super) fn parse(cursor: &mut Cursor<'_>) -> Result<Self> {
        let kind = cursor.u32()?;
        let version = cursor.u32()?;
        match (kind, version) {
            (0 | 3, 1) => {
                cursor.skip(8)?;
                Ok(if kind == 0 { Selection::None } else { Selection::All })
            }
            (1, 1) => {
                cursor.skip(8)?;
                let rank = rank(cursor)?;
                let count = u64::from(cursor.u32()?);
                Ok(Selection::Points { rank, coordinates: numbers(cursor, count, rank, 4)? })
            }
            (1, 2) => {
                let width = width(cursor)?;
                let rank = rank(cursor)?;
                let count = cursor.uint(width)?;
                Ok(Selection::Points { rank, coordinates: numbers(cursor, count, rank, width)? })
            }
            (2, 1) => {
                cursor.skip(8)?;
                let rank = rank(cursor)?;
                let count = u64::from(cursor.u32()?);
                Ok(Selection::Blocks { rank, corners: numbers(cursor, count, 2 * rank, 4)? })
            }
            (2, 2) => {
                cursor.skip(1 + 4)?;
                let rank = rank(cursor)?;
                Self::regular(cursor, rank, 8)
            }
            (2, 3) => {
                let is_regular = cursor.u8()? & 1 == 1;
                let width = width(cursor)?;
                let rank = rank(cursor)?;
                if is_regular {
                    return Self::regular(cursor, rank, width);
                }
                let count = cursor.uint(width)?;
                Ok(Selection::Blocks { rank, corners: numbers(cursor, count, 2 * rank, width)? })
            }
            _ => Err(Error::unsupported(format!("HDF5 selection: kind {kind} of version {version}"))
                .at(cursor.place())),
        }
    }

    fn regular(cursor: &mut Cursor<'_>, rank: usize, width: usize) -> Result<Self> {
        let most = if width >= 8 { u64::MAX } else { (1 << (8 * width)) - 1 };
        let mut slabs = Vec::with_capacity(rank);
        for _ in 0..rank {
            let (start, stride) = (cursor.uint(width)?, cursor.uint(width)?);
            let mut open = || cursor.uint(width).map(|n| if n == most { UNLIMITED } else { n });
            let (count, block) = (open()?, open()?);
            let touching = count > 1 && block != UNLIMITED && stride < block;
            if touching || stride == 0 && count > 1 || count == UNLIMITED && block == UNLIMITED {
                return Err(cursor.error("blocks of a selection overlap"));
            }
            slabs.push(Slab { start, stride, count, block });
        }
        Ok(Selection::Regular(slabs))
    }

    /// The selection along each dimension, where it is one of slabs; `None` where it must be listed.
    pub(super) fn slabs(&self, shape: &[u64]) -> Option<Vec<Slab>> {
        match self {
            Selection::All => Some(shape.iter().map(|&len| Slab::all(len)).collect()),
            Selection::Regular(slabs) if slabs.len() == shape.len() => Some(slabs.clone()),
            Selection::Blocks { rank, corners } if *rank == shape.len() && corners.len() == 2 * rank => {
                let (low, high) = corners.split_at_checked(*rank)?;
                let slab = |(&low, &high): (&u64, &u64)| {
                    Some(Slab {
                        start: low,
                        stride: 1,
                        count: 1,
                        block: high.checked_sub(low)?.checked_add(1)?,
                    })
                };
                low.iter().zip(high).map(slab).collect()
            }
            _ => None,
        }
    }

    /// Every element of the selection of `shape` as its number in C order, in the order of the selection.
    ///
    /// # Errors
    /// `Malformed` where elements lie outside, `Limit` for more than a million.
    pub(super) fn listed(&self, shape: &[u64]) -> Result<Vec<u64>> {
        let outside = || Error::malformed(format!("selection: it reaches beyond the shape {shape:?}"));
        let flat = |point: &[u64]| -> Result<u64> {
            if point.len() != shape.len() || point.iter().zip(shape).any(|(at, len)| at >= len) {
                return Err(outside());
            }
            Ok(strides::ravel(point, shape))
        };
        limits::elements(shape)?;
        match self {
            Selection::None => Ok(Vec::new()),
            Selection::Points { rank, coordinates } => {
                let count = coordinates.len() / (*rank).max(1);
                if count as u64 > LISTED {
                    return Err(Error::limit(format!("a selection of {count} points")));
                }
                coordinates.chunks_exact((*rank).max(1)).map(flat).collect()
            }
            Selection::Blocks { rank, corners } => {
                let mut all = Vec::new();
                for block in corners.chunks_exact((2 * rank).max(1)) {
                    let one = Selection::Blocks { rank: *rank, corners: block.to_vec() };
                    let slabs = one.slabs(shape).ok_or_else(outside)?;
                    list(&slabs, shape, &mut all)?;
                }
                all.sort_unstable();
                all.dedup();
                Ok(all)
            }
            _ => {
                let slabs = self.slabs(shape).ok_or_else(outside)?;
                let mut all = Vec::new();
                list(&slabs, shape, &mut all)?;
                Ok(all)
            }
        }
    }

    /// The selection in NumPy's notation, as far as that can say it: `[0:3, 5]`.
    pub(super) fn text(&self) -> String {
        match self {
            Selection::None => "[nothing]".to_owned(),
            Selection::All => String::new(),
            Selection::Points { rank, coordinates } => {
                let count = coordinates.len() / (*rank).max(1);
                let first = coordinates.get(..*rank).unwrap_or_default();
                let first: Vec<String> = first.iter().map(u64::to_string).collect();
                match count {
                    1 => format!("[{}]", first.join(", ")),
                    _ => format!("[{count} points from {}]", first.join(", ")),
                }
            }
            Selection::Regular(slabs) => {
                let items: Vec<String> = slabs.iter().map(slab_text).collect();
                format!("[{}]", items.join(", "))
            }
            Selection::Blocks { rank, corners } => {
                let blocks = corners.len() / (2 * rank).max(1);
                let block = corners.get(..2 * rank).unwrap_or_default();
                let (low, high) = block.split_at_checked(*rank).unwrap_or_default();
                let item = |(low, high): (&u64, &u64)| format!("{low}:{}", high.saturating_add(1));
                let items: Vec<String> = low.iter().zip(high).map(item).collect();
                match blocks {
                    1 => format!("[{}]", items.join(", ")),
                    _ => format!("[{} and {} more blocks]", items.join(", "), blocks.saturating_sub(1)),
                }
            }
        }
    }
}

fn slab_text(slab: &Slab) -> String {
    let Slab { start, stride, count, block } = *slab;
    match (count, block) {
        (_, UNLIMITED) => format!("{start}:"),
        (UNLIMITED, 1) => format!("{start}::{stride}"),
        (1, block) => format!("{start}:{}", start.saturating_add(block)),
        (count, block) if stride == block => {
            format!("{start}:{}", start.saturating_add(count.saturating_mul(block)))
        }
        (UNLIMITED, block) => format!("{start}::{stride} by {block}"),
        (count, 1) => format!("{start}:{}:{stride}", slab.extent_of(count)),
        (count, block) => {
            format!("{start}:{}:{stride} by {block}", slab.extent_of(count.saturating_mul(block)))
        }
    }
}

/// Appends the numbers of all elements of slabs.
fn list(slabs: &[Slab], shape: &[u64], all: &mut Vec<u64>) -> Result<()> {
    let lens: Vec<u64> = slabs.iter().zip(shape).map(|(slab, &len)| slab.len(len)).collect();
    let count = limits::elements(&lens)?;
    if count.saturating_add(all.len() as u64) > LISTED {
        return Err(Error::limit(format!("a selection of {count} elements in an irregular form")));
    }
    let start = all.len();
    all.push(0);
    for ((slab, &len), &n) in slabs.iter().zip(shape).zip(&lens) {
        let so_far = all.split_off(start);
        let next = |&at: &u64| (0..n).map(move |k| at.wrapping_mul(len).wrapping_add(slab.index(k)));
        all.extend(so_far.iter().flat_map(next));
    }
    Ok(())
}

fn rank(cursor: &mut Cursor<'_>) -> Result<usize> {
    let rank = cursor.u32()? as usize;
    if rank > RANK {
        return Err(cursor.error(format!("a selection of {rank} dimensions")));
    }
    Ok(rank)
}

fn width(cursor: &mut Cursor<'_>) -> Result<usize> {
    match cursor.u8()? {
        width @ (2 | 4 | 8) => Ok(usize::from(width)),
        other => Err(cursor.error(format!("a selection with numbers of {other} bytes"))),
    }
}

/// `count` × `each` numbers of `width` bytes, which are there before anything is kept for them.
fn numbers(cursor: &mut Cursor<'_>, count: u64, each: usize, width: usize) -> Result<Vec<u64>> {
    let total = count.saturating_mul(each as u64);
    if total.saturating_mul(width as u64) > cursor.left() as u64 {
        return Err(cursor.error(format!("a selection of {count} parts that are not there")));
    }
    (0..total).map(|_| cursor.uint(width)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slabs_count_their_indices() {
        let slab = Slab { start: 2, stride: 5, count: 3, block: 2 };
        let taken: Vec<u64> = (0..slab.len(100)).map(|n| slab.index(n)).collect();
        assert_eq!(taken, [2, 3, 7, 8, 12, 13]);
        for extent in 0..20 {
            assert_eq!(slab.len(extent), taken.iter().filter(|at| **at < extent).count() as u64, "{extent}");
        }
        for at in 0..20 {
            assert_eq!(slab.number(at), taken.iter().position(|t| *t == at).map(|n| n as u64));
        }
        let open = Slab { count: UNLIMITED, ..slab };
        assert_eq!((open.len(15), open.extent_of(7)), (6, 18));
        assert_eq!(Slab::all(4).len(4), 4);
    }

    #[test]
    fn lists_are_in_the_order_of_the_selection() {
        let corners = vec![1, 0, 1, 1, 0, 1, 0, 2];
        assert_eq!(Selection::Blocks { rank: 2, corners }.listed(&[2, 3]).unwrap(), [1, 2, 3, 4]);
        let points = Selection::Points { rank: 2, coordinates: vec![1, 2, 0, 0] };
        assert_eq!(points.listed(&[2, 3]).unwrap(), [5, 0]);
        assert!(points.listed(&[1, 3]).is_err());
        assert_eq!(Selection::All.listed(&[2, 2]).unwrap(), [0, 1, 2, 3]);
    }
}
