//! A store made of entries that come in the order of their keys: what `mdb_put` with `MDB_APPEND` makes, in one transaction
//! without a page that is left over. Pages are written one after the other and never again; the meta pages come last.
//! The layout is that of `mdb.c` in <https://git.openldap.org/openldap/openldap>.

use crate::bytes::error::{Error, Result};
use crate::data::format::Sink;
use crate::data::scan::put;
use std::io::SeekFrom;

/// Bytes of a page, and of its header.
const PAGE: usize = 4_096;
const HEADER: usize = 16;
/// Bytes of a node before its key.
const NODE: usize = 8;
/// The most bytes of a node: two of them fit on a page.
const LARGEST: usize = (((PAGE - HEADER) / 2) & !1) - 2;
/// Meta pages.
const METAS: u64 = 2;
/// What pages are, and that the value of a node has pages of its own.
const BRANCH: u16 = 0x01;
const LEAF: u16 = 0x02;
const OVERFLOW: u16 = 0x04;
const META: u16 = 0x08;
const BIG: u16 = 0x01;

/// A page that is being filled: nodes from its end, their places from its begin.
struct Page {
    bytes: Vec<u8>,
    places: Vec<u16>,
    upper: usize,
}

impl Page {
    fn new() -> Page {
        Page { bytes: vec![0; PAGE], places: Vec::new(), upper: PAGE }
    }

    /// Adds a node where there is room for it. `low`, `high` and `flags` are what it begins with.
    fn add(&mut self, start: [u16; 3], key: &[u8], rest: &[u8]) -> bool {
        let size = (NODE + key.len() + rest.len()).next_multiple_of(2);
        let lower = HEADER + self.places.len() * 2;
        let Some(at) = self.upper.checked_sub(size).filter(|at| lower + 2 <= *at) else { return false };
        let [low, high, flags] = start;
        let numbers = [low, high, flags, key.len() as u16];
        let node = numbers.iter().flat_map(|number| number.to_le_bytes()).chain(key.iter().copied());
        for (to, from) in self.bytes.iter_mut().skip(at).zip(node.chain(rest.iter().copied())) {
            *to = from;
        }
        self.upper = at;
        self.places.push(at as u16);
        true
    }

    /// The page as it lies in the file.
    fn finish(mut self, number: u64, flags: u16) -> Vec<u8> {
        let lower = (HEADER + self.places.len() * 2) as u16;
        let head = header(number, flags, u32::from(lower) | (self.upper as u32) << 16);
        let places = self.places.iter().flat_map(|place| place.to_le_bytes());
        for (to, from) in self.bytes.iter_mut().zip(head.into_iter().chain(places)) {
            *to = from;
        }
        self.bytes
    }
}

/// A page's number, what it is, and four bytes of what it has.
fn header(number: u64, flags: u16, has: u32) -> Vec<u8> {
    let mut out = number.to_le_bytes().to_vec();
    out.extend([0, 0]);
    out.extend(flags.to_le_bytes());
    out.extend(has.to_le_bytes());
    out
}

/// A page below a branch, and its first key.
type Child = (Vec<u8>, u64);

/// A level of branches. Of the children that were not written yet there are more than one page: so that the last page
/// gets two of them, without which it would be none.
#[derive(Default)]
struct Level {
    ready: Vec<Child>,
    current: Vec<Child>,
    /// Bytes that the current ones take.
    bytes: usize,
}

/// The store.
pub(super) struct Builder<'a> {
    sink: &'a mut dyn Sink,
    next: u64,
    leaf: Page,
    /// The first key of the leaf.
    first: Vec<u8>,
    last: Vec<u8>,
    levels: Vec<Level>,
    branches: u64,
    leaves: u64,
    large: u64,
    entries: u64,
}

impl<'a> Builder<'a> {
    /// Begins a store.
    pub(super) fn new(sink: &'a mut dyn Sink) -> Result<Self> {
        put(sink, &[0; PAGE * METAS as usize])?;
        Ok(Builder {
            sink,
            next: METAS,
            leaf: Page::new(),
            first: Vec::new(),
            last: Vec::new(),
            levels: Vec::new(),
            branches: 0,
            leaves: 0,
            large: 0,
            entries: 0,
        })
    }

    /// Adds an entry, whose key is behind all before it.
    ///
    /// # Errors
    /// `Unsupported` where it is not, and for values of 4 GiB; those of writing.
    pub(super) fn add(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        if self.entries > 0 && *key <= *self.last {
            let key = key.escape_ascii();
            return Err(Error::unsupported(format!(
                "the key \"{key}\" comes twice; an LMDB store has each once"
            )));
        }
        let size = u32::try_from(value.len()).map_err(|_| {
            Error::unsupported(format!("a value of {} bytes; LMDB has 32 bits for that", value.len()))
        })?;
        let (low, high) = (size as u16, (size >> 16) as u16);
        let is_large = NODE + key.len() + value.len() > LARGEST;
        let (flags, rest) = match is_large {
            true => (BIG, self.overflow(value)?.to_le_bytes().to_vec()),
            false => (0, value.to_vec()),
        };
        if !self.leaf.add([low, high, flags], key, &rest) {
            self.end_leaf()?;
            self.leaf.add([low, high, flags], key, &rest);
        }
        if self.leaf.places.len() == 1 {
            self.first = key.to_vec();
        }
        key.clone_into(&mut self.last);
        self.entries += 1;
        Ok(())
    }

    /// Writes a value on pages of its own; the first of them.
    fn overflow(&mut self, value: &[u8]) -> Result<u64> {
        let pages = (HEADER + value.len()).div_ceil(PAGE);
        let number = self.next;
        put(self.sink, &header(number, OVERFLOW, pages as u32))?;
        put(self.sink, value)?;
        put(self.sink, &vec![0; pages * PAGE - HEADER - value.len()])?;
        self.next += pages as u64;
        self.large += pages as u64;
        Ok(number)
    }

    fn end_leaf(&mut self) -> Result<()> {
        if self.leaf.places.is_empty() {
            return Ok(());
        }
        let page = std::mem::replace(&mut self.leaf, Page::new());
        let number = self.next;
        put(self.sink, &page.finish(number, LEAF))?;
        self.next += 1;
        self.leaves += 1;
        let first = std::mem::take(&mut self.first);
        self.child(0, (first, number))
    }

    /// Adds a page below the branches of a level.
    fn child(&mut self, level: usize, child: Child) -> Result<()> {
        if self.levels.len() <= level {
            self.levels.push(Level::default());
        }
        let Some(at) = self.levels.get_mut(level) else {
            return Err(Error::bug("a level that is not there"));
        };
        let size = (NODE + child.0.len()).next_multiple_of(2) + 2;
        if at.bytes + size > PAGE - HEADER {
            let ready = std::mem::replace(&mut at.ready, std::mem::take(&mut at.current));
            (at.current, at.bytes) = (vec![child], size);
            return self.branch(level, ready);
        }
        at.bytes += size;
        at.current.push(child);
        Ok(())
    }

    /// Writes a branch page; nothing where it has no children.
    fn branch(&mut self, level: usize, children: Vec<Child>) -> Result<()> {
        let mut page = Page::new();
        for (n, (key, child)) in children.iter().enumerate() {
            let start = [*child as u16, (*child >> 16) as u16, (*child >> 32) as u16];
            // What stands before the second key lies below the first child, whatever its key.
            let key: &[u8] = if n == 0 { &[] } else { key };
            if !page.add(start, key, &[]) {
                return Err(Error::bug("a page of branches that do not fit"));
            }
        }
        let Some((first, _)) = children.into_iter().next() else { return Ok(()) };
        let number = self.next;
        put(self.sink, &page.finish(number, BRANCH))?;
        self.next += 1;
        self.branches += 1;
        self.child(level + 1, (first, number))
    }

    /// Writes what is left, then the meta pages.
    ///
    /// # Errors
    /// Those of writing.
    pub(super) fn finish(mut self) -> Result<()> {
        self.end_leaf()?;
        let mut root = u64::MAX;
        let mut level = 0;
        while let Some(at) = self.levels.get_mut(level) {
            let (mut ready, mut current) = (std::mem::take(&mut at.ready), std::mem::take(&mut at.current));
            if let ([only], true) = (current.as_slice(), ready.is_empty()) {
                root = only.1;
                break;
            }
            if current.len() == 1
                && let Some(last) = ready.pop()
            {
                current.insert(0, last);
            }
            self.branch(level, ready)?;
            self.branch(level, current)?;
            level += 1;
        }
        let depth = if self.entries == 0 { 0 } else { level as u16 + 1 };
        let last = self.next - 1;
        let map = self.next * PAGE as u64;
        let main = [self.branches, self.leaves, self.large, self.entries, root];
        self.sink.seek(SeekFrom::Start(0))?;
        put(self.sink, &meta(0, map, (0, [0, 0, 0, 0, u64::MAX]), METAS - 1, 0))?;
        put(self.sink, &meta(1, map, (depth, main), last, 1))?;
        self.sink.seek(SeekFrom::End(0))?;
        Ok(())
    }
}

/// A meta page.
fn meta(number: u64, map: u64, main: (u16, [u64; 5]), last: u64, transaction: u64) -> Vec<u8> {
    let mut out = header(number, META, 0);
    out.extend(0xbeef_c0de_u32.to_le_bytes());
    out.extend(1_u32.to_le_bytes());
    out.extend(0_u64.to_le_bytes());
    out.extend(map.to_le_bytes());
    // The pages that are free: none; its first fields are the size of pages and the flags of the store.
    let free = (PAGE as u32, 0x08_u16, 0_u16, [0, 0, 0, 0, u64::MAX]);
    for (pad, flags, depth, numbers) in [free, (0, 0, main.0, main.1)] {
        out.extend(pad.to_le_bytes());
        out.extend(flags.to_le_bytes());
        out.extend(depth.to_le_bytes());
        numbers.iter().for_each(|number: &u64| out.extend(number.to_le_bytes()));
    }
    out.extend(last.to_le_bytes());
    out.extend(transaction.to_le_bytes());
    out.resize(PAGE, 0);
    out
}
