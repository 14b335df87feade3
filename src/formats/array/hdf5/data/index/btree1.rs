//! The version-1 B-tree of chunks: nodes of keys (a chunk's stored size, its filter mask, its offset in
//! elements) and children, sorted by offset; the leaves' children are the chunks.

use super::{ChunkRecord, Grid, Looked};
use crate::bytes::cache::Cache;
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::formats::array::hdf5::data::bytes::{is_undefined, place, uint, uint_at};
use crate::formats::array::hdf5::file::File;
use bytes::Bytes;
use std::cmp::Ordering;

/// More levels than any tree of 2⁶⁴ chunks has, with two children a node.
const DEEPEST: u8 = 64;

/// The tree.
pub(crate) struct BTree1 {
    root: u64,
    nodes: Cache<u64, Node>,
}

/// One node as it lies in the file.
#[derive(Clone)]
struct Node {
    level: u8,
    /// Children in use.
    used: usize,
    /// Keys and children in turn, and one key more.
    bytes: Bytes,
}

impl BTree1 {
    pub(super) fn new(root: u64) -> Self {
        BTree1 { root, nodes: Cache::new(super::super::INDEX_CACHE) }
    }

    pub(super) fn find(&self, task: &Task, file: &File, grid: &Grid, coords: &[u64]) -> Looked {
        let key_size = 8 + 8 * (coords.len() + 1);
        let wanted: Vec<u64> =
            coords.iter().zip(&grid.chunk).map(|(&at, &side)| at.saturating_mul(side)).collect();
        let (mut address, mut above) = (self.root, None);
        loop {
            let node = self.node(task, file, address, key_size)?;
            if above.is_some_and(|above: u8| node.level.checked_add(1) != Some(above)) {
                return Err(Error::malformed("chunk B-tree: a node is not one level below its parent")
                    .at(place(file, address)));
            }
            let Some(slot) = node.slot(&wanted, key_size, file.offset_size()) else { return Ok(None) };
            let child = node.child(slot, key_size, file.offset_size());
            if node.level > 0 {
                above = Some(node.level);
                address = child;
                continue;
            }
            let key = node.key(slot, key_size, file.offset_size());
            if compare(key, &wanted) != Ordering::Equal || is_undefined(file, child) {
                return Ok(None);
            }
            let (stored, mask) = (uint_at(key, 0, 4), uint_at(key, 4, 4) as u32);
            return Ok(Some(ChunkRecord { address: child, stored, mask }));
        }
    }

    /// Calls `each` with the coordinates of every chunk of the tree until it wants no more; whether it saw all.
    pub(super) fn each(
        &self,
        task: &Task,
        file: &File,
        grid: &Grid,
        mut each: impl FnMut(Vec<u64>) -> bool,
    ) -> Result<bool> {
        let (key_size, so) = (8 + 8 * (grid.chunk.len() + 1), file.offset_size());
        // No tree has more nodes than fit into its file.
        let mut left = file.len() / (8 + 2 * so + key_size) as u64 + 1;
        let mut open = vec![(self.root, None)];
        while let Some((address, above)) = open.pop() {
            task.check()?;
            let node = self.node(task, file, address, key_size)?;
            let sound = above.is_none_or(|above: u8| node.level.checked_add(1) == Some(above));
            if !sound || left == 0 {
                return Err(
                    Error::malformed("chunk B-tree: its nodes are not a tree").at(place(file, address))
                );
            }
            left -= 1;
            for slot in 0..node.used {
                let child = node.child(slot, key_size, so);
                if node.level > 0 {
                    open.push((child, Some(node.level)));
                } else if !is_undefined(file, child) {
                    let offsets =
                        node.key(slot, key_size, so).get(8..).unwrap_or_default().as_chunks::<8>().0;
                    let sides = offsets.iter().zip(&grid.chunk);
                    let coords = sides.map(|(at, side)| u64::from_le_bytes(*at) / (*side).max(1)).collect();
                    if !each(coords) {
                        return Ok(false);
                    }
                }
            }
        }
        Ok(true)
    }

    fn node(&self, task: &Task, file: &File, address: u64, key_size: usize) -> Result<Node> {
        if let Some(node) = self.nodes.get(&address) {
            return Ok(node);
        }
        let broken = |what: &str| Error::malformed(format!("chunk B-tree: {what}")).at(place(file, address));
        let head_size = 8 + 2 * file.offset_size();
        let head = file.read(task, address, head_size as u64)?;
        if head.get(..5) != Some(b"TREE\x01") {
            return Err(broken("this is no node of a tree of chunks"));
        }
        let (level, used) = (uint_at(&head, 5, 1) as u8, uint_at(&head, 6, 2) as usize);
        if level > DEEPEST {
            return Err(broken("it is impossibly deep"));
        }
        let size = used * (key_size + file.offset_size()) + key_size;
        let bytes = file.read(task, address.saturating_add(head_size as u64), size as u64)?;
        let node = Node { level, used, bytes };
        self.nodes.put(address, node.clone(), size + 64);
        Ok(node)
    }
}

impl Node {
    fn key(&self, slot: usize, key_size: usize, offset_size: usize) -> &[u8] {
        let at = slot * (key_size + offset_size);
        self.bytes.get(at..at + key_size).unwrap_or_default()
    }

    fn child(&self, slot: usize, key_size: usize, offset_size: usize) -> u64 {
        let at = slot * (key_size + offset_size) + key_size;
        uint(self.bytes.get(at..at + offset_size).unwrap_or_default())
    }

    /// The last child whose key is not beyond `wanted`.
    fn slot(&self, wanted: &[u64], key_size: usize, offset_size: usize) -> Option<usize> {
        let (mut low, mut high) = (0, self.used);
        while low < high {
            let middle = (low + high) / 2;
            match compare(self.key(middle, key_size, offset_size), wanted) {
                Ordering::Greater => high = middle,
                _ => low = middle + 1,
            }
        }
        low.checked_sub(1)
    }
}

/// A key's offset against `wanted`, the slowest dimension first.
fn compare(key: &[u8], wanted: &[u64]) -> Ordering {
    let offsets = key.get(8..).unwrap_or_default().as_chunks::<8>().0;
    offsets
        .iter()
        .zip(wanted)
        .map(|(b, want)| u64::from_le_bytes(*b).cmp(want))
        .find(|o| o.is_ne())
        .unwrap_or(Ordering::Equal)
}
