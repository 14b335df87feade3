//! The links of groups: old style (symbol tables: a B-tree of version 1 and a local heap), compact (in the
//! object header) and dense (a fractal heap with B-trees of version 2 by name and by creation order).
//! Sections III.A.1, III.B, IV.A.2.c and IV.A.2.g of the specification.

use super::btree2::BTree2;
use super::file::{Cursor, File};
use super::fractal::FractalHeap;
use super::heap::LocalHeap;
use super::message::text;
use super::object::{Message, Object, kind};
use crate::bytes::codec::checksum;
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::numbers::le_or_zero;
use crate::bytes::task::Task;
use parking_lot::Mutex;
use rayon::slice::ParallelSliceMut;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// The most links of one group that are held in memory.
const HELD: usize = 2_000_000;

/// One link of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Its name.
    pub name: Box<str>,
    /// What it leads to.
    pub target: Target,
}

/// What a link leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// An object header.
    Hard(u64),
    /// A path in this file, absolute or from the link's group.
    Soft(Box<str>),
    /// A path in another file.
    External(Box<(String, String)>),
    /// A class that only its author knows.
    Unknown(u8),
}

/// The links of one group, read as far as they are asked for.
pub struct Links {
    file: File,
    kind: Kind,
    /// What is wrong with a part of them.
    problem: Mutex<Option<Error>>,
}

#[allow(clippy::large_enum_variant)] // one a group that is open
enum Kind {
    /// All of them, in order.
    Known(Vec<Link>),
    Dense(Dense),
    Table(Mutex<Table>),
}

/// Dense links.
struct Dense {
    heap: FractalHeap,
    names: BTree2,
    orders: Option<BTree2>,
    /// By name, where no index of creation orders is there.
    sorted: OnceLock<Arc<Vec<Link>>>,
}

/// An old-style group: its leaves in order, read one after the other.
struct Table {
    tree: u64,
    heap: u64,
    names: Option<LocalHeap>,
    /// The addresses of all symbol table nodes; `None` before the B-tree was read.
    leaves: Option<Vec<u64>>,
    /// How many of them were read.
    read: usize,
    links: Vec<Link>,
}

impl Links {
    /// The links of a group, from its object header. Reads the headers of its indexes only. `None` where the
    /// object is no group.
    ///
    /// # Errors
    /// `Malformed` where they cannot be found.
    pub fn of(file: &File, task: &Task, object: &Object) -> Result<Option<Self>> {
        let kind = if let Some(message) = object.find(kind::SYMBOL_TABLE) {
            let mut cursor = message.cursor(file, "symbol table");
            let (tree, heap) = (cursor.defined()?, cursor.defined()?);
            Kind::Table(Mutex::new(Table {
                tree,
                heap,
                names: None,
                leaves: None,
                read: 0,
                links: Vec::new(),
            }))
        } else if let Some(dense) = Dense::of(file, task, object)? {
            Kind::Dense(dense)
        } else if [kind::LINK, kind::LINK_INFO, kind::GROUP_INFO].iter().any(|k| object.find(*k).is_some()) {
            return compact(file, object).map(Some);
        } else {
            return Ok(None);
        };
        Ok(Some(Links { file: file.clone(), kind, problem: Mutex::default() }))
    }

    /// How many there are, as far as that is known without reading them.
    pub fn count(&self) -> Option<u64> {
        match &self.kind {
            Kind::Known(links) => Some(links.len() as u64),
            Kind::Dense(dense) => Some(dense.names.len()),
            Kind::Table(table) => {
                let table = table.lock();
                let whole = table.leaves.as_ref().is_some_and(|leaves| table.read == leaves.len());
                whole.then_some(table.links.len() as u64)
            }
        }
    }

    /// What is wrong with a part of the links that were read so far.
    pub fn problem(&self) -> Option<Error> {
        self.problem.lock().clone()
    }

    /// The links `range`, cut to what is there: in the order of creation where that is kept, else by name.
    ///
    /// # Errors
    /// Where none of them can be read.
    pub fn page(&self, task: &Task, range: Range<u64>) -> Result<Vec<Link>> {
        match &self.kind {
            Kind::Known(links) => Ok(part(links, &range)),
            Kind::Dense(dense) => self.dense_page(task, dense, &range),
            Kind::Table(table) => {
                let mut table = table.lock();
                self.noting(|| table.load(&self.file, task, range.end))?;
                Ok(part(&table.links, &range))
            }
        }
    }

    /// Reads the first link or a few, to see whether the index of the group is there at all.
    ///
    /// # Errors
    /// Only a cancellation; damage becomes the [problem](Self::problem).
    pub fn probe(&self, task: &Task) -> Result<()> {
        match &self.kind {
            Kind::Known(_) => Ok(()),
            Kind::Table(table) => self.noting(|| table.lock().load(&self.file, task, 1)),
            Kind::Dense(dense) => {
                let index = dense.orders.as_ref().map_or((&dense.names, 4), |orders| (orders, 8));
                self.noting(|| dense.read(&self.file, task, index.0, index.1, 0..1, &mut Vec::new()))
            }
        }
    }

    /// The link of this name.
    pub fn find(&self, task: &Task, name: &str) -> Result<Option<Link>> {
        match &self.kind {
            Kind::Known(links) => Ok(links.iter().find(|link| &*link.name == name).cloned()),
            Kind::Dense(dense) => dense.find(&self.file, task, name),
            Kind::Table(table) => {
                let mut table = table.lock();
                self.noting(|| table.load(&self.file, task, u64::MAX))?;
                Ok(table.links.iter().find(|link| &*link.name == name).cloned())
            }
        }
    }

    /// Runs a part of reading; a failure is kept as the problem of the whole.
    fn noting(&self, work: impl FnOnce() -> Result<()>) -> Result<()> {
        if let Err(error) = work().unless_cancelled()? {
            self.problem.lock().get_or_insert(error);
        }
        Ok(())
    }

    fn dense_page(&self, task: &Task, dense: &Dense, range: &Range<u64>) -> Result<Vec<Link>> {
        let Some(orders) = &dense.orders else {
            let sorted = match dense.sorted.get() {
                Some(sorted) => sorted.clone(),
                None => {
                    let mut links = Vec::new();
                    self.noting(|| dense.read_by_name(&self.file, task, &mut links))?;
                    dense.sorted.get_or_init(|| Arc::new(links)).clone()
                }
            };
            return Ok(part(&sorted, range));
        };
        let mut links = Vec::new();
        self.noting(|| dense.read(&self.file, task, orders, 8, range.clone(), &mut links))?;
        Ok(links)
    }
}

/// The elements `range`, cut to what is there.
fn part(links: &[Link], range: &Range<u64>) -> Vec<Link> {
    let end = range.end.min(links.len() as u64);
    let start = range.start.min(end);
    links.get(start as usize..end as usize).unwrap_or_default().to_vec()
}

/// Links in the object header.
fn compact(file: &File, object: &Object) -> Result<Links> {
    let mut links = Vec::new();
    let mut problem = None;
    for message in object.all(kind::LINK) {
        match parse(&mut message.cursor(file, "link")) {
            Ok(link) => links.push(link),
            Err(error) => problem = problem.or(Some(error)),
        }
    }
    // In the order of creation where all say theirs, else by name.
    if links.iter().all(|(order, _)| order.is_some()) {
        links.sort_by_key(|(order, _)| *order);
    } else {
        links.sort_by(|(_, a), (_, b)| a.name.cmp(&b.name));
    }
    let kind = Kind::Known(links.into_iter().map(|(_, link)| link).collect());
    Ok(Links { file: file.clone(), kind, problem: Mutex::new(problem) })
}

impl Dense {
    /// The indexes that a link info message names; `None` where the links are compact.
    fn of(file: &File, task: &Task, object: &Object) -> Result<Option<Self>> {
        let Some(message) = object.find(kind::LINK_INFO) else { return Ok(None) };
        let Some(Places { heap, names, orders }) = Places::parse(file, message, "link info", 8)? else {
            return Ok(None);
        };
        // A damaged index of creation orders is no loss: the one by name has the same links.
        let orders = orders.and_then(|address| BTree2::read(file, task, address).ok());
        let heap = FractalHeap::read(file, task, heap)?;
        let names = BTree2::read(file, task, names)?;
        Ok(Some(Dense { heap, names, orders, sorted: OnceLock::new() }))
    }

    /// Reads the links of the records `range` of an index; the heap id stands `skip` bytes into a record.
    fn read(
        &self,
        file: &File,
        task: &Task,
        index: &BTree2,
        skip: usize,
        range: Range<u64>,
        links: &mut Vec<Link>,
    ) -> Result<()> {
        let mut ids = Vec::new();
        let walked = ids_of(index, task, skip, range, &mut ids);
        self.links(file, task, &ids, links).and(walked)
    }

    /// Reads all links, by name.
    fn read_by_name(&self, file: &File, task: &Task, links: &mut Vec<Link>) -> Result<()> {
        let mut ids = Vec::new();
        let walked = ids_of(&self.names, task, 4, 0..HELD as u64, &mut ids);
        // The index is in the order of hashes; in the heap's own order each block is looked up once.
        ids.sort_by_cached_key(|id| self.heap.place(id));
        let read = self.links(file, task, &ids, links);
        // Stable, since that takes names that were written in order as they are.
        links.par_sort_by(|a, b| a.name.cmp(&b.name));
        read.and(walked)
    }

    /// Reads the links of these ids: all that can be read, then the first error.
    fn links(&self, file: &File, task: &Task, ids: &[HeapId], links: &mut Vec<Link>) -> Result<()> {
        let mut broken = None;
        for id in ids {
            task.check()?;
            match self.link(file, task, id).unless_cancelled()? {
                Ok(link) => links.push(link),
                Err(error) => broken = broken.or(Some(error)),
            }
        }
        broken.map_or(Ok(()), Err)
    }

    fn link(&self, file: &File, task: &Task, id: &[u8]) -> Result<Link> {
        let (address, bytes) = self.heap.object(task, id)?;
        parse(&mut file.cursor("link", address, &bytes)).map(|(_, link)| link)
    }

    fn find(&self, file: &File, task: &Task, name: &str) -> Result<Option<Link>> {
        let hash = checksum::lookup3(name.as_bytes(), 0);
        let stored = |record: &[u8]| le_or_zero::<u32>(record, 0);
        for record in self.names.find(task, &|record| stored(record).cmp(&hash))? {
            let link = self.link(file, task, record.get(4..).unwrap_or_default())?;
            if &*link.name == name {
                return Ok(Some(link));
            }
        }
        Ok(None)
    }
}

/// The id of a link in the fractal heap of its group (section III.A.2, records of type 5 and 6).
type HeapId = [u8; 7];

/// The ids in the records `range` of an index, which stand `skip` bytes into each.
///
/// # Errors
/// Of damaged nodes, after the records before them.
fn ids_of(index: &BTree2, task: &Task, skip: usize, range: Range<u64>, ids: &mut Vec<HeapId>) -> Result<()> {
    let wanted = range.end.saturating_sub(range.start).min(HELD as u64);
    if wanted == 0 {
        return Ok(());
    }
    index.each(task, range.start, &mut |record| {
        let id = record.get(skip..).and_then(<[u8]>::first_chunk);
        ids.push(*id.ok_or_else(|| Error::malformed("HDF5 B-tree: a record is too short for a link"))?);
        Ok((ids.len() as u64) < wanted)
    })
}

/// Where dense links or attributes lie.
pub(super) struct Places {
    /// The fractal heap.
    pub heap: u64,
    /// The B-tree by name.
    pub names: u64,
    /// The B-tree by creation order.
    pub orders: Option<u64>,
}

impl Places {
    /// Parses a link info or attribute info message, whose largest creation order has `width` bytes. `None`
    /// where nothing is stored densely.
    pub(super) fn parse(
        file: &File,
        message: &Message,
        what: &'static str,
        width: usize,
    ) -> Result<Option<Self>> {
        let mut cursor = message.cursor(file, what);
        let version = cursor.u8()?;
        if version != 0 {
            return Err(super::message::unknown(what, version, &cursor));
        }
        let flags = cursor.u8()?;
        if flags & 1 > 0 {
            cursor.skip(width)?;
        }
        let (heap, names) = (cursor.address()?, cursor.address()?);
        let orders = if flags & 2 > 0 { cursor.address()? } else { None };
        Ok(heap.zip(names).map(|(heap, names)| Places { heap, names, orders }))
    }
}

/// Parses a link message: its creation order and the link.
fn parse(cursor: &mut Cursor<'_>) -> Result<(Option<u64>, Link)> {
    let version = cursor.u8()?;
    if version != 1 {
        return Err(super::message::unknown("link", version, cursor));
    }
    let flags = cursor.u8()?;
    let class = if flags & 8 > 0 { cursor.u8()? } else { 0 };
    let order = if flags & 4 > 0 { Some(cursor.u64()?) } else { None };
    if flags & 16 > 0 {
        cursor.skip(1)?;
    }
    let len = cursor.uint(1 << (flags & 3))?;
    let name = String::from_utf8_lossy(cursor.bytes(usize::try_from(len).unwrap_or(usize::MAX))?);
    let target = match class {
        0 => Target::Hard(cursor.defined()?),
        1 => {
            let len = usize::from(cursor.u16()?);
            Target::Soft(text(cursor.bytes(len)?).into())
        }
        64 => {
            let len = usize::from(cursor.u16()?);
            external(cursor.bytes(len)?)
        }
        other => Target::Unknown(other),
    };
    Ok((order, Link { name: name.into(), target }))
}

/// The value of an external link: a byte of version and flags, the file, the path in it.
fn external(value: &[u8]) -> Target {
    let value = value.get(1..).unwrap_or_default();
    let mut parts = value.split(|byte| *byte == 0);
    let mut part = || String::from_utf8_lossy(parts.next().unwrap_or_default()).into_owned();
    Target::External(Box::new((part(), part())))
}

/// The deepest B-tree of version 1 that is followed.
const LEVELS: u8 = 32;

impl Table {
    /// Reads leaves until there are `wanted` links.
    fn load(&mut self, file: &File, task: &Task, wanted: u64) -> Result<()> {
        if self.leaves.is_none() {
            let mut walk = Walk { file, task, seen: HashSet::new(), leaves: Vec::new() };
            let walked = walk.node(self.tree, LEVELS);
            self.leaves = Some(walk.leaves);
            walked?;
        }
        if self.names.is_none() {
            self.names = Some(LocalHeap::read(file, task, self.heap)?);
        }
        let (Some(leaves), Some(names)) = (&self.leaves, &self.names) else { return Ok(()) };
        let mut broken = None;
        while (self.links.len() as u64) < wanted && self.links.len() < HELD {
            let Some(leaf) = leaves.get(self.read) else { break };
            task.check()?;
            self.read += 1;
            if let Err(error) = symbols(file, task, *leaf, names, &mut self.links) {
                broken = broken.or(Some(error));
            }
        }
        broken.map_or(Ok(()), Err)
    }
}

/// Collects the leaves of a B-tree of version 1.
struct Walk<'a> {
    file: &'a File,
    task: &'a Task,
    seen: HashSet<u64>,
    leaves: Vec<u64>,
}

impl Walk<'_> {
    fn node(&mut self, address: u64, above: u8) -> Result<()> {
        self.task.check()?;
        let (offset, length) = (self.file.offset_size(), self.file.length_size());
        let head_len = 8 + 2 * offset;
        let head = self.file.read(self.task, address, head_len as u64)?;
        let mut cursor = self.file.cursor("group B-tree", address, &head);
        cursor.signature(b"TREE")?;
        let (kind, level, count) = (cursor.u8()?, cursor.u8()?, usize::from(cursor.u16()?));
        if kind != 0 || level >= above {
            return Err(cursor.error(format!("a node of type {kind} at level {level} below level {above}")));
        }
        if !self.seen.insert(address) {
            return Err(cursor.error("its nodes go in a circle"));
        }
        let start = address.saturating_add(head_len as u64);
        let bytes = self.file.read(self.task, start, (count * (offset + length) + length) as u64)?;
        let mut cursor = self.file.cursor("group B-tree", start, &bytes);
        let mut broken = None;
        for _ in 0..count {
            cursor.skip(length)?;
            let child = cursor.defined()?;
            if level == 0 {
                self.leaves.push(child);
            } else if let Err(error) = self.node(child, level).unless_cancelled()? {
                broken = broken.or(Some(error));
            }
        }
        broken.map_or(Ok(()), Err)
    }
}

/// The entries of one symbol table node.
fn symbols(file: &File, task: &Task, address: u64, names: &LocalHeap, links: &mut Vec<Link>) -> Result<()> {
    let entry = 2 * file.offset_size() + 4 + 4 + 16;
    // Most nodes have at most eight entries; those of larger ones are read with a second look.
    let mut bytes = file.read_up_to(task, address, 8 + 8 * entry as u64)?;
    let mut cursor = file.cursor("symbol table node", address, &bytes);
    cursor.signature(b"SNOD")?;
    cursor.skip(2)?;
    let count = usize::from(cursor.u16()?);
    if count > 8 {
        bytes = file.read_up_to(task, address, (8 + count * entry) as u64)?;
        cursor = file.cursor("symbol table node", address, &bytes);
        cursor.skip(8)?;
    }
    let mut broken = None;
    for _ in 0..count {
        let name = cursor.uint(file.offset_size())?;
        let object = cursor.address()?;
        let cached = cursor.u32()?;
        cursor.skip(4)?;
        let scratch = cursor.bytes(16)?;
        let target = match (cached, object) {
            (2, _) => {
                let place = le_or_zero::<u32>(scratch, 0);
                names.name(u64::from(place)).map(|path| Target::Soft(path.into()))
            }
            (_, Some(object)) => Ok(Target::Hard(object)),
            _ => Err(cursor.error("a symbol leads nowhere")),
        };
        match names.name(name).and_then(|name| target.map(|target| Link { name: name.into(), target })) {
            Ok(link) => links.push(link),
            Err(error) => broken = broken.or(Some(error)),
        }
    }
    broken.map_or(Ok(()), Err)
}
