//! Where the chunks of a dataset lie: the indices of HDF5, apart from what reads the chunks.
//!
//! Every index answers one question, "where is the chunk at these coordinates?", by reading the few blocks
//! of the file on the way to it; the blocks stay in a small cache. No index is ever walked as a whole to
//! read a slice.
//!
//! Specification: <https://support.hdfgroup.org/documentation/hdf5/latest/_f_m_t4.html>, "Version 1
//! B-trees", "Version 2 B-trees", "Fixed Array Index", "Extensible Array Index".

mod btree1;
mod btree2;
mod extensible;
mod fixed;

use super::super::file::File;
use super::bytes::{is_undefined, uint};
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use parking_lot::Mutex;
use std::sync::Arc;

/// Where one chunk lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChunkRecord {
    /// Where its bytes start, counted as the file's addresses are.
    pub address: u64,
    /// How many bytes are stored.
    pub stored: u64,
    /// The filters that were left out for this chunk: bit n is the n-th filter of the pipeline.
    pub mask: u32,
}

/// What looking for a chunk finds: `None` where the file has none.
pub(crate) type Looked = Result<Option<ChunkRecord>>;

/// What an index needs to know of its dataset.
#[derive(Clone, Debug)]
pub(crate) struct Grid {
    /// How many chunks lie along each dimension of the largest shape; `u64::MAX` where it has no limit.
    pub most: Vec<u64>,
    /// The shape of a chunk, in elements.
    pub chunk: Vec<u64>,
    /// Bytes of a chunk before its filters.
    pub bytes: u64,
}

impl Grid {
    /// The number of the chunk at `coords` in C order of the largest grid; the dimension `first`, which may
    /// have no end, counts slowest.
    fn number(&self, coords: &[u64], first: usize) -> Result<u64> {
        let axes = std::iter::once(first).chain((0..coords.len()).filter(|axis| *axis != first));
        let mut number = 0u64;
        for axis in axes {
            let (at, most) = (coords.get(axis).copied(), self.most.get(axis).copied());
            let (Some(at), Some(most)) = (at, most) else { return Err(rank()) };
            let next = if number == 0 { Some(0) } else { number.checked_mul(most) };
            number = next.and_then(|n| n.checked_add(at)).ok_or_else(|| {
                Error::malformed("chunk index: the chunk numbers of this shape overflow 64 bits")
            })?;
        }
        Ok(number)
    }

    /// The chunk of a number: what [`Grid::number`] counts, backwards. `None` where the dimensions do not hold it.
    fn coords(&self, number: u64, first: usize) -> Option<Vec<u64>> {
        let mut coords = vec![0; self.most.len()];
        let mut rest = number;
        for axis in (0..self.most.len()).rev().filter(|axis| *axis != first) {
            let most = self.most.get(axis).copied().filter(|most| *most > 0)?;
            *coords.get_mut(axis)? = rest % most;
            rest /= most;
        }
        *coords.get_mut(first)? = rest;
        Some(coords)
    }
}

fn rank() -> Error {
    Error::malformed("chunk index: it has another number of dimensions than its dataset")
}

/// What the header of an index says, read when the first chunk is looked for.
struct IndexHeader<T>(Mutex<Option<Arc<T>>>);

impl<T> IndexHeader<T> {
    fn new() -> Self {
        IndexHeader(Mutex::new(None))
    }

    /// What `read` found, now or before; `None`, where the index has no blocks, is not kept.
    fn get(&self, read: impl FnOnce() -> Result<Option<T>>) -> Result<Option<Arc<T>>> {
        if let Some(kept) = self.0.lock().as_ref() {
            return Ok(Some(kept.clone()));
        }
        let Some(found) = read()? else { return Ok(None) };
        let found = Arc::new(found);
        *self.0.lock() = Some(found.clone());
        Ok(Some(found))
    }
}

/// One of the indices of HDF5.
pub(crate) enum Index {
    /// Nothing is stored: the dataset was never written to.
    Empty,
    /// One chunk, its place in the layout message.
    Single(ChunkRecord),
    /// All chunks one after the other from this address.
    Implicit(u64),
    /// A fixed array.
    Fixed(fixed::Fixed),
    /// An extensible array.
    Extensible(extensible::Extensible),
    /// A B-tree of version 1.
    BTree1(btree1::BTree1),
    /// A B-tree of version 2.
    BTree2(btree2::BTree2),
}

impl Index {
    /// The fixed array whose header is at `address`.
    pub(crate) fn fixed(address: u64) -> Self {
        Index::Fixed(fixed::Fixed::new(address))
    }

    /// The extensible array whose header is at `address`, of a dataset that grows along `axis`.
    pub(crate) fn extensible(address: u64, axis: usize) -> Self {
        Index::Extensible(extensible::Extensible::new(address, axis))
    }

    /// The version-1 B-tree whose root is at `address`.
    pub(crate) fn btree1(address: u64) -> Self {
        Index::BTree1(btree1::BTree1::new(address))
    }

    /// The version-2 B-tree whose header is at `address`.
    pub(crate) fn btree2(address: u64) -> Self {
        Index::BTree2(btree2::BTree2::new(address))
    }

    /// The word for it in the inspector.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Index::Empty => "none",
            Index::Single(_) => "single chunk",
            Index::Implicit(_) => "implicit",
            Index::Fixed(_) => "fixed array",
            Index::Extensible(_) => "extensible array",
            Index::BTree1(_) => "B-tree 1",
            Index::BTree2(_) => "B-tree 2",
        }
    }

    /// Where the chunk at `coords` lies (in chunks, one a dimension); `None` where the file has none.
    ///
    /// # Errors
    /// `Malformed`, with the place, where a block of the index is broken.
    pub(crate) fn find(&self, task: &Task, file: &File, grid: &Grid, coords: &[u64]) -> Looked {
        if coords.len() != grid.chunk.len() || coords.len() != grid.most.len() {
            return Err(rank());
        }
        match self {
            Index::Empty => Ok(None),
            Index::Single(record) => Ok(coords.iter().all(|&at| at == 0).then_some(*record)),
            Index::Implicit(start) => implicit(*start, grid, coords),
            Index::Fixed(array) => array.find(task, file, grid, coords),
            Index::Extensible(array) => array.find(task, file, grid, coords),
            Index::BTree1(tree) => tree.find(task, file, grid, coords),
            Index::BTree2(tree) => tree.find(task, file, grid, coords),
        }
    }
}

impl Index {
    /// The chunks that the file holds, at most `most`; `None` for more, and where every chunk has its place.
    ///
    /// # Errors
    /// As [`Index::find`].
    pub(crate) fn all(
        &self,
        task: &Task,
        file: &File,
        grid: &Grid,
        most: usize,
    ) -> Result<Option<Vec<Vec<u64>>>> {
        let rank = grid.chunk.len();
        let mut found = Found { list: Vec::new(), most };
        let whole = match self {
            Index::Empty => true,
            Index::Single(_) => found.add(vec![0; rank]),
            Index::Implicit(_) => false,
            Index::Fixed(array) => array.each(task, file, |number| {
                let Some(coords) = grid.coords(number, 0) else { return Ok(true) };
                Ok(array.find(task, file, grid, &coords)?.is_none() || found.add(coords))
            })?,
            Index::Extensible(array) => array.each(task, file, most, |number| {
                let Some(coords) = grid.coords(number, array.axis()) else { return Ok(true) };
                Ok(array.find(task, file, grid, &coords)?.is_none() || found.add(coords))
            })?,
            Index::BTree1(tree) => tree.each(task, file, grid, |coords| found.add(coords))?,
            Index::BTree2(tree) => tree.each(task, file, grid, |coords| found.add(coords))?,
        };
        Ok(whole.then_some(found.list))
    }
}

/// Chunks that were found, up to a number of them.
struct Found {
    list: Vec<Vec<u64>>,
    most: usize,
}

impl Found {
    /// Whether there was room for it.
    fn add(&mut self, coords: Vec<u64>) -> bool {
        let room = self.list.len() < self.most;
        if room {
            self.list.push(coords);
        }
        room
    }
}

fn implicit(start: u64, grid: &Grid, coords: &[u64]) -> Looked {
    let address = grid.number(coords, 0)?.checked_mul(grid.bytes).and_then(|at| at.checked_add(start));
    let address = address.ok_or_else(|| Error::malformed("chunk index: an address overflows 64 bits"))?;
    Ok(Some(ChunkRecord { address, stored: grid.bytes, mask: 0 }))
}

/// An element of a fixed or extensible array: an address, and for filtered chunks their size and mask.
/// The size of `bytes` tells which it is. `None` where the address says that there is no chunk.
fn element(file: &File, grid: &Grid, bytes: &[u8]) -> Result<Option<ChunkRecord>> {
    let short = || Error::malformed("chunk index: an element is too short");
    let (address, rest) = bytes.split_at_checked(file.offset_size()).ok_or_else(short)?;
    let address = uint(address);
    if is_undefined(file, address) {
        return Ok(None);
    }
    if rest.is_empty() {
        return Ok(Some(ChunkRecord { address, stored: grid.bytes, mask: 0 }));
    }
    let (size, mask) =
        rest.len().checked_sub(4).and_then(|at| rest.split_at_checked(at)).ok_or_else(short)?;
    Ok(Some(ChunkRecord { address, stored: uint(size), mask: uint(mask) as u32 }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_numbered_by_the_largest_grid() {
        let grid = Grid { most: vec![u64::MAX, 3, 4], chunk: vec![1; 3], bytes: 8 };
        assert_eq!(grid.number(&[2, 1, 3], 0).unwrap(), 2 * 12 + 7);
        let grid = Grid { most: vec![3, 4, u64::MAX], chunk: vec![1; 3], bytes: 8 };
        assert_eq!(grid.number(&[1, 2, 5], 2).unwrap(), 5 * 12 + 6);
        assert!(grid.number(&[1, 2, u64::MAX], 2).is_err());
        assert_eq!(grid.coords(5 * 12 + 6, 2), Some(vec![1, 2, 5]));
        assert_eq!(Grid { most: vec![3, 0], ..grid.clone() }.coords(7, 0), None);
        assert_eq!(implicit(100, &Grid { most: vec![2, 3], ..grid }, &[1, 1]).unwrap().unwrap().address, 132);
    }
}
