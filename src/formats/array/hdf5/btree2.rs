//! B-trees of version 2: records of one size in order, found by comparison or by position. They index
//! links, attributes, objects of fractal heaps, shared messages and chunks (section III.A.2).

use super::data::INDEX_CACHE;
use super::file::{Cursor, File};
use crate::bytes::cache::Cache;
use crate::bytes::codec::checksum;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::task::Task;
use bytes::Bytes;
use std::cmp::Ordering;
use std::sync::Arc;

/// The largest node that is read.
const NODE: u64 = 16 << 20;

/// A B-tree, with the nodes that were read last.
pub struct BTree2 {
    file: File,
    address: u64,
    /// The type of its records (1 to 11).
    pub kind: u8,
    /// Bytes of one record.
    pub record: usize,
    node_size: u64,
    depth: u16,
    root: Option<Child>,
    levels: Vec<Level>,
    /// Bytes of a number of records in a pointer to a child.
    count_size: usize,
    nodes: Cache<u64, Arc<Node>>,
}

/// What is the same for all nodes of one height above the leaves.
#[derive(Clone, Copy)]
struct Level {
    /// Records that a subtree of this height can hold at most.
    most: u64,
    /// Bytes of such a number in a pointer to a child.
    total_size: usize,
}

/// A pointer to a child: its address, the records in it and those in its whole subtree.
#[derive(Clone, Copy, Debug)]
struct Child {
    address: u64,
    records: u64,
    total: u64,
}

struct Node {
    bytes: Bytes,
    /// Where the records start.
    start: usize,
    children: Vec<Child>,
    records: usize,
}

impl BTree2 {
    /// Reads the header at `address`; no nodes.
    ///
    /// # Errors
    /// `Malformed` where there is none, its checksum is wrong or its sizes are impossible.
    pub fn read(file: &File, task: &Task, address: u64) -> Result<Self> {
        let len = 4 + 2 + 4 + 2 + 2 + 2 + file.offset_size() + 2 + file.length_size() + 4;
        let bytes = file.read(task, address, len as u64)?;
        let mut cursor = file.cursor("B-tree", address, &bytes);
        cursor.signature(b"BTHD")?;
        let version = cursor.u8()?;
        if version != 0 {
            return Err(super::message::unknown("B-tree", version, &cursor));
        }
        let kind = cursor.u8()?;
        let node_size = u64::from(cursor.u32()?);
        let (record, depth) = (usize::from(cursor.u16()?), cursor.u16()?);
        cursor.skip(2)?;
        let (root, records, total) = (cursor.address()?, u64::from(cursor.u16()?), cursor.size()?);
        if !checksum::lookup3_matches(&bytes) {
            return Err(cursor.error("its checksum is wrong; it is damaged"));
        }
        limits::check(node_size, NODE, "a node of a B-tree")?;
        let root = root.map(|address| Child { address, records, total });
        let (levels, count_size) = levels(file, &cursor, node_size, record, depth)?;
        let nodes = Cache::new(INDEX_CACHE);
        Ok(BTree2 {
            file: file.clone(),
            address,
            kind,
            record,
            node_size,
            depth,
            root,
            levels,
            count_size,
            nodes,
        })
    }

    /// How many records it says it has.
    pub fn len(&self) -> u64 {
        self.root.map_or(0, |root| root.total)
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Calls `each` with the records from number `first` on, in order, until it answers `false`.
    ///
    /// # Errors
    /// Of damaged nodes, after the records before them.
    pub fn each(&self, task: &Task, first: u64, each: &mut dyn FnMut(&[u8]) -> Result<bool>) -> Result<()> {
        let Some(root) = self.root else { return Ok(()) };
        let mut skip = first;
        self.walk(task, root, self.depth, &mut skip, each).map(drop)
    }

    fn walk(
        &self,
        task: &Task,
        at: Child,
        height: u16,
        skip: &mut u64,
        each: &mut dyn FnMut(&[u8]) -> Result<bool>,
    ) -> Result<bool> {
        task.check()?;
        if at.total <= *skip {
            *skip -= at.total;
            return Ok(true);
        }
        let node = self.node(task, at, height)?;
        for n in 0..=node.records {
            if let Some(child) = node.children.get(n)
                && !self.walk(task, *child, height.saturating_sub(1), skip, each)?
            {
                return Ok(false);
            }
            let Some(record) = node.record(n, self.record) else { continue };
            if *skip > 0 {
                *skip -= 1;
            } else if !each(record)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The record for which `compare` answers `Equal` in a tree that has no two such.
    pub fn find_one(&self, task: &Task, compare: &dyn Fn(&[u8]) -> Ordering) -> Result<Option<Vec<u8>>> {
        let (mut next, mut height) = (self.root, self.depth);
        while let Some(at) = next {
            let node = self.node(task, at, height)?;
            let slot = node.slot(self.record, compare);
            if let Some(record) = node.record(slot, self.record).filter(|record| compare(record).is_eq()) {
                return Ok(Some(record.to_vec()));
            }
            next = node.children.get(slot).copied();
            height = height.saturating_sub(1);
        }
        Ok(None)
    }

    /// All records for which `compare` answers `Equal`; it says how a record stands to what is looked for.
    pub fn find(&self, task: &Task, compare: &dyn Fn(&[u8]) -> Ordering) -> Result<Vec<Vec<u8>>> {
        let mut found = Vec::new();
        if let Some(root) = self.root {
            self.search(task, root, self.depth, compare, &mut found)?;
        }
        Ok(found)
    }

    fn search(
        &self,
        task: &Task,
        at: Child,
        height: u16,
        compare: &dyn Fn(&[u8]) -> Ordering,
        found: &mut Vec<Vec<u8>>,
    ) -> Result<()> {
        task.check()?;
        let node = self.node(task, at, height)?;
        for n in node.slot(self.record, compare).. {
            // Between two records lies a child: it is looked into where the record before is not beyond and
            // the one after not before what is looked for.
            if let Some(child) = node.children.get(n) {
                self.search(task, *child, height.saturating_sub(1), compare, found)?;
            }
            match node.record(n, self.record).filter(|record| compare(record).is_eq()) {
                Some(record) => found.push(record.to_vec()),
                None => break,
            }
        }
        Ok(())
    }

    fn node(&self, task: &Task, at: Child, height: u16) -> Result<Arc<Node>> {
        // The same node from two places would have to be as long.
        if let Some(node) = self.nodes.get(&at.address).filter(|node| node.records as u64 == at.records) {
            return Ok(node);
        }
        let node = Arc::new(self.read_node(task, at, height)?);
        let weight = node.bytes.len() + node.children.len() * size_of::<Child>();
        self.nodes.put(at.address, node.clone(), weight);
        Ok(node)
    }

    fn read_node(&self, task: &Task, at: Child, height: u16) -> Result<Node> {
        let bytes = self.file.read(task, at.address, self.node_size)?;
        let mut cursor = self.file.cursor("B-tree node", at.address, &bytes);
        cursor.signature(if height == 0 { b"BTLF" } else { b"BTIN" })?;
        cursor.skip(1)?;
        let kind = cursor.u8()?;
        let records = usize::try_from(at.records).unwrap_or(usize::MAX);
        if kind != self.kind || at.address == self.address {
            return Err(cursor.error(format!("it is of type {kind}, its tree of {}", self.kind)));
        }
        let start = cursor.taken();
        let len = records.saturating_mul(self.record);
        cursor.skip(len)?;
        let mut children = Vec::new();
        if height > 0 {
            for _ in 0..=records {
                children.push(self.child(&mut cursor, height)?);
            }
        }
        let covered = bytes.get(..cursor.taken()).unwrap_or_default();
        if checksum::lookup3(covered, 0) != cursor.u32()? {
            return Err(cursor.error("its checksum is wrong; it is damaged"));
        }
        Ok(Node { bytes, start, children, records })
    }

    fn child(&self, cursor: &mut Cursor<'_>, height: u16) -> Result<Child> {
        let address = cursor.defined()?;
        let records = cursor.uint(self.count_size)?;
        let below = usize::from(height).checked_sub(1).and_then(|n| self.levels.get(n));
        let level = below.ok_or_else(|| Error::malformed("B-tree: a node lies deeper than its tree"))?;
        let total = if height > 1 { cursor.uint(level.total_size)? } else { records };
        if total > level.most {
            return Err(cursor.error(format!("{total} records in a subtree that holds {}", level.most)));
        }
        Ok(Child { address, records, total })
    }
}

impl Node {
    /// The first record that is not before what is looked for; their number where all are.
    fn slot(&self, size: usize, compare: &dyn Fn(&[u8]) -> Ordering) -> usize {
        let (mut low, mut high) = (0, self.records);
        while low < high {
            let middle = (low + high) / 2;
            match self.record(middle, size).map(compare) {
                Some(Ordering::Less) => low = middle + 1,
                _ => high = middle,
            }
        }
        low
    }

    fn record(&self, n: usize, size: usize) -> Option<&[u8]> {
        if n >= self.records {
            return None;
        }
        let start = self.start + n * size;
        self.bytes.get(start..start + size)
    }
}

/// How many records nodes of each height can hold, and how many bytes such numbers take.
fn levels(
    file: &File,
    cursor: &Cursor<'_>,
    node_size: u64,
    record: usize,
    depth: u16,
) -> Result<(Vec<Level>, usize)> {
    let prefix = 10;
    let record = record as u64;
    if record == 0 || node_size < prefix + record || depth > 64 {
        return Err(cursor.error(format!("nodes of {node_size} bytes, records of {record}, depth {depth}")));
    }
    let leaf = (node_size - prefix) / record;
    let count_size = enough(leaf);
    let mut below = Level { most: leaf, total_size: 0 };
    let mut levels = vec![below];
    for _ in 0..depth {
        let pointer = (file.offset_size() + count_size + below.total_size) as u64;
        let room = node_size.checked_sub(prefix + pointer);
        let here = room.map_or(0, |room| room / (record + pointer));
        if here == 0 {
            return Err(cursor.error(format!("nodes of {node_size} bytes hold no record of {record}")));
        }
        let most = (here + 1).saturating_mul(below.most).saturating_add(here);
        below = Level { most, total_size: enough(most) };
        levels.push(below);
    }
    Ok((levels, count_size))
}

/// How many bytes hold numbers up to `most`.
pub(super) fn enough(most: u64) -> usize {
    most.checked_ilog2().unwrap_or(0) as usize / 8 + 1
}
