//! The version-2 B-tree of chunks: records (address, for filtered chunks their size and mask, coordinates in
//! chunks) in all nodes, sorted by coordinates.

use super::{ChunkRecord, Grid, IndexHeader, Looked};
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::formats::array::hdf5::btree2::BTree2 as Tree;
use crate::formats::array::hdf5::data::bytes::{is_undefined, place, uint_at};
use crate::formats::array::hdf5::file::File;
use std::cmp::Ordering;
use std::sync::Arc;

/// The tree.
pub(crate) struct BTree2 {
    header: u64,
    tree: IndexHeader<Tree>,
}

impl BTree2 {
    pub(super) fn new(header: u64) -> Self {
        BTree2 { header, tree: IndexHeader::new() }
    }

    pub(super) fn find(&self, task: &Task, file: &File, grid: &Grid, coords: &[u64]) -> Looked {
        let Some(tree) = self.tree(task, file, coords.len())? else { return Ok(None) };
        let found = tree.find_one(task, &|record| compare(record, coords))?;
        Ok(found.and_then(|record| chunk(&tree, &record, file, grid)))
    }

    /// Calls `each` with the coordinates of every chunk of the tree until it wants no more; whether it saw all.
    pub(super) fn each(
        &self,
        task: &Task,
        file: &File,
        grid: &Grid,
        mut each: impl FnMut(Vec<u64>) -> bool,
    ) -> Result<bool> {
        let rank = grid.chunk.len();
        let Some(tree) = self.tree(task, file, rank)? else { return Ok(true) };
        // No tree has more records than fit into its file.
        let mut left = file.len() / tree.record as u64 + 1;
        let mut whole = true;
        tree.each(task, 0, &mut |record| {
            left = left.checked_sub(1).ok_or_else(|| self.broken(file, "its nodes are not a tree"))?;
            let coords = coords_of(record, rank).collect();
            whole = chunk(&tree, record, file, grid).is_none() || each(coords);
            Ok(whole)
        })?;
        Ok(whole)
    }

    /// The tree whose records have coordinates of `rank` dimensions; `None` where it has no records.
    fn tree(&self, task: &Task, file: &File, rank: usize) -> Result<Option<Arc<Tree>>> {
        self.tree.get(|| {
            let tree = Tree::read(file, task, self.header)?;
            let filtered = match tree.kind {
                10 => false,
                11 => true,
                _ => return Err(self.broken(file, "its records are not those of chunks")),
            };
            let fixed = file.offset_size() + 8 * rank + if filtered { 4 } else { 0 };
            let size_of_size = tree.record.checked_sub(fixed);
            if size_of_size.is_none_or(|n| n > 8 || (n == 0) == filtered) {
                return Err(self.broken(file, "the size of its records is impossible"));
            }
            Ok((!tree.is_empty()).then_some(tree))
        })
    }

    fn broken(&self, file: &File, what: &str) -> Error {
        Error::malformed(format!("chunk B-tree: {what}")).at(place(file, self.header))
    }
}

/// The coordinates at the end of a record.
fn coords_of(record: &[u8], rank: usize) -> impl Iterator<Item = u64> {
    let start = record.len().saturating_sub(8 * rank);
    record.get(start..).unwrap_or_default().as_chunks::<8>().0.iter().map(|at| u64::from_le_bytes(*at))
}

fn compare(record: &[u8], coords: &[u64]) -> Ordering {
    coords_of(record, coords.len()).cmp(coords.iter().copied())
}

fn chunk(tree: &Tree, record: &[u8], file: &File, grid: &Grid) -> Option<ChunkRecord> {
    let so = file.offset_size();
    let address = uint_at(record, 0, so);
    if is_undefined(file, address) {
        return None;
    }
    if tree.kind == 10 {
        return Some(ChunkRecord { address, stored: grid.bytes, mask: 0 });
    }
    let size = tree.record.checked_sub(so + 4 + 8 * grid.chunk.len())?;
    Some(ChunkRecord {
        address,
        stored: uint_at(record, so, size),
        mask: uint_at(record, so + size, 4) as u32,
    })
}
