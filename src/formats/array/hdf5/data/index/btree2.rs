//! The version-2 B-tree of chunks: records (address, for filtered chunks their size and mask, coordinates in
//! chunks) in all nodes, sorted by coordinates.

use super::{ChunkRecord, Grid, Kept};
use crate::bytes::cache::Cache;
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::formats::array::hdf5::data::bytes::{checked_block, is_undefined, place, uint_at};
use crate::formats::array::hdf5::file::File;
use bytes::Bytes;
use std::cmp::Ordering;

/// More levels than any tree has: nodes have at least two children.
const DEEPEST: u64 = 64;
/// Signature, version, type and checksum of a node.
const FRAME: u64 = 10;

/// The tree.
pub(crate) struct BTree2 {
    header: u64,
    head: Kept<Head>,
    nodes: Cache<u64, Bytes>,
}

/// What the header says.
struct Head {
    /// Whether records hold a size and a mask.
    filtered: bool,
    /// Bytes of a record.
    record: usize,
    root: u64,
    /// Records in the root.
    count: u64,
    /// What is known of the nodes of each level, the leaves first.
    levels: Vec<Level>,
    /// Bytes of the number of records in a node.
    count_size: usize,
}

struct Level {
    /// The most records of a node.
    most: u64,
    /// Bytes of the number of records below a node of this level.
    total_size: usize,
}

impl BTree2 {
    pub(super) fn new(header: u64) -> Self {
        BTree2 { header, head: Kept::new(), nodes: Cache::new(super::super::INDEX_CACHE) }
    }

    pub(super) fn find(
        &self,
        task: &Task,
        file: &File,
        grid: &Grid,
        coords: &[u64],
    ) -> Result<Option<ChunkRecord>> {
        let head = self.head.get(|| self.read_head(task, file, coords.len()))?;
        let Some(head) = head else { return Ok(None) };
        let (mut address, mut count) = (head.root, head.count);
        for (depth, level) in head.levels.iter().enumerate().rev() {
            if count > level.most {
                let what = "chunk B-tree: a node has more records than fit into it";
                return Err(Error::malformed(what).at(place(file, address)));
            }
            let below = depth.checked_sub(1).and_then(|n| head.levels.get(n));
            let pointer = below.map_or(0, |below| file.offset_size() + head.count_size + below.total_size);
            let records = count as usize * head.record;
            let pointers = below.map_or(0, |_| (count as usize + 1) * pointer);
            let node = self.node(task, file, address, depth, (6 + records + pointers) as u64)?;
            let slot = match head.search(&node, count as usize, coords) {
                Ok(slot) => return Ok(head.chunk(&node, slot, file, grid)),
                Err(slot) => slot,
            };
            if below.is_none() {
                return Ok(None);
            }
            let at = 6 + records + slot * pointer;
            address = uint_at(&node, at, file.offset_size());
            count = uint_at(&node, at + file.offset_size(), head.count_size);
        }
        Ok(None)
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
        let Some(head) = self.head.get(|| self.read_head(task, file, rank))? else { return Ok(true) };
        let so = file.offset_size();
        // No tree has more nodes than fit into its file.
        let mut left = file.len() / FRAME + 1;
        let mut open = vec![(head.root, head.count, head.levels.len().saturating_sub(1))];
        while let Some((address, count, depth)) = open.pop() {
            task.check()?;
            let most = head.levels.get(depth).map_or(0, |level| level.most);
            if count > most || left == 0 {
                return Err(
                    Error::malformed("chunk B-tree: its nodes are not a tree").at(place(file, address))
                );
            }
            left -= 1;
            let below = depth.checked_sub(1).and_then(|n| head.levels.get(n));
            let pointer = below.map_or(0, |below| so + head.count_size + below.total_size);
            let records = count as usize * head.record;
            let pointers = below.map_or(0, |_| (count as usize + 1) * pointer);
            let node = self.node(task, file, address, depth, (6 + records + pointers) as u64)?;
            for slot in 0..count as usize {
                let record = head.bytes(&node, slot);
                let start = head.record.saturating_sub(8 * rank);
                let stored = record.get(start..).unwrap_or_default().as_chunks::<8>().0;
                let coords = stored.iter().map(|at| u64::from_le_bytes(*at)).collect();
                if head.chunk(&node, slot, file, grid).is_some() && !each(coords) {
                    return Ok(false);
                }
            }
            if below.is_some() {
                open.extend((0..=count as usize).map(|slot| {
                    let at = 6 + records + slot * pointer;
                    (uint_at(&node, at, so), uint_at(&node, at + so, head.count_size), depth - 1)
                }));
            }
        }
        Ok(true)
    }

    fn node(&self, task: &Task, file: &File, address: u64, depth: usize, size: u64) -> Result<Bytes> {
        if let Some(node) = self.nodes.get(&address) {
            // The same node from two places would have to be as long.
            if node.len() as u64 == size {
                return Ok(node);
            }
        }
        let node = checked_block(task, file, address, size, "node of a chunk B-tree")?;
        let signature: &[u8] = if depth == 0 { b"BTLF\0" } else { b"BTIN\0" };
        if !node.starts_with(signature) {
            let what = "chunk B-tree: a node has another signature than its level asks for";
            return Err(Error::malformed(what).at(place(file, address)));
        }
        self.nodes.put(address, node.clone(), node.len());
        Ok(node)
    }

    fn read_head(&self, task: &Task, file: &File, rank: usize) -> Result<Option<Head>> {
        let (so, sl) = (file.offset_size(), file.length_size());
        let broken =
            |what: &str| Error::malformed(format!("chunk B-tree: {what}")).at(place(file, self.header));
        let bytes =
            checked_block(task, file, self.header, (18 + so + sl) as u64, "header of a chunk B-tree")?;
        if bytes.get(..5) != Some(b"BTHD\0") {
            return Err(broken("this is no header of version 0"));
        }
        let filtered = match bytes.get(5) {
            Some(10) => false,
            Some(11) => true,
            _ => return Err(broken("its records are not those of chunks")),
        };
        let (node, record, depth) = (uint_at(&bytes, 6, 4), uint_at(&bytes, 10, 2), uint_at(&bytes, 12, 2));
        let (root, count) = (uint_at(&bytes, 16, so), uint_at(&bytes, 16 + so, 2));
        if is_undefined(file, root) || count == 0 {
            return Ok(None);
        }
        let fixed = (so + 8 * rank + if filtered { 4 } else { 0 }) as u64;
        let size_of_size = record.checked_sub(fixed);
        if size_of_size.is_none_or(|n| n > 8 || (n == 0) == filtered) || depth > DEEPEST {
            return Err(broken("the size of its records or its depth is impossible"));
        }
        let most = node.saturating_sub(FRAME) / record;
        let count_size = bytes_for(most);
        let mut levels = vec![Level { most, total_size: 0 }];
        let mut total = most;
        for _ in 0..depth {
            let below = levels.last().map_or(0, |level| level.total_size);
            let pointer = (so + count_size + below) as u64;
            let most = node.saturating_sub(FRAME + pointer) / (record + pointer);
            total = most.saturating_add(1).saturating_mul(total).saturating_add(most);
            levels.push(Level { most, total_size: bytes_for(total) });
        }
        Ok(Some(Head { filtered, record: record as usize, root, count, levels, count_size }))
    }
}

impl Head {
    /// The record at `coords`, or the child that would hold it.
    fn search(&self, node: &[u8], count: usize, coords: &[u64]) -> Result<usize, usize> {
        let (mut low, mut high) = (0, count);
        while low < high {
            let middle = (low + high) / 2;
            match self.compare(self.bytes(node, middle), coords) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal => return Ok(middle),
                Ordering::Greater => high = middle,
            }
        }
        Err(low)
    }

    fn bytes<'a>(&self, node: &'a [u8], slot: usize) -> &'a [u8] {
        let at = 6 + slot * self.record;
        node.get(at..at + self.record).unwrap_or_default()
    }

    fn compare(&self, record: &[u8], coords: &[u64]) -> Ordering {
        let start = self.record.saturating_sub(8 * coords.len());
        let stored = record.get(start..).unwrap_or_default().as_chunks::<8>().0;
        let differ =
            |(b, want): (&[u8; 8], &u64)| Some(u64::from_le_bytes(*b).cmp(want)).filter(|o| o.is_ne());
        stored.iter().zip(coords).find_map(differ).unwrap_or(Ordering::Equal)
    }

    fn chunk(&self, node: &[u8], slot: usize, file: &File, grid: &Grid) -> Option<ChunkRecord> {
        let record = self.bytes(node, slot);
        let address = uint_at(record, 0, file.offset_size());
        if is_undefined(file, address) {
            return None;
        }
        if !self.filtered {
            return Some(ChunkRecord { address, stored: grid.bytes, mask: 0 });
        }
        let size = self.record.checked_sub(file.offset_size() + 4 + 8 * grid.chunk.len())?;
        let stored = uint_at(record, file.offset_size(), size);
        Some(ChunkRecord { address, stored, mask: uint_at(record, file.offset_size() + size, 4) as u32 })
    }
}

/// Bytes that a number up to `most` takes.
fn bytes_for(most: u64) -> usize {
    most.max(1).ilog2() as usize / 8 + 1
}
