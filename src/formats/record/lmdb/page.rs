//! The file by pages, and what lies on a page.
//!
//! A writer changes no page that the newest transaction uses; it writes new ones and then one of the two meta pages. So
//! what is read belongs together as long as the meta pages are the same before and after.

use super::layout::{Db, Layout, Meta};
use crate::bytes::error::{Error, Result};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use bytes::Bytes;
use std::ops::Range;

/// Levels of pages: as deep as the library goes.
pub(super) const DEPTH: u16 = 32;
/// How often the meta pages are read again while they change.
const TRIES: usize = 16;

const BRANCH: u16 = 0x01;
const LEAF: u16 = 0x02;
const OVERFLOW: u16 = 0x04;
/// Keys of one size without nodes.
const LEAF2: u16 = 0x20;

/// A node's value lies on pages of its own,
const BIG_DATA: u16 = 0x01;
/// is a database,
const SUB_DATA: u16 = 0x02;
/// or several values.
const DUP_DATA: u16 = 0x04;

/// A file of pages.
pub(super) struct Environment {
    /// The file.
    pub(super) source: Source,
    /// How its numbers lie.
    pub(super) layout: Layout,
    /// The size of a page.
    pub(super) page: u64,
    /// Its length in bytes.
    pub(super) len: u64,
}

/// The newest transaction that is whole.
#[derive(Clone, Debug)]
pub(super) struct Snapshot {
    /// What its meta page says.
    pub(super) meta: Meta,
    /// What is wrong with the other one, where it may be newer.
    pub(super) problem: Option<Error>,
}

impl Environment {
    /// Finds the meta pages.
    ///
    /// # Errors
    /// `Malformed` where there are none; those of reading.
    pub(super) fn open(task: &Task, source: &Source) -> Result<Environment> {
        let first = source.read_up_to(task, 0, 1 << 17)?;
        let none = || Error::malformed("LMDB: there is no meta page");
        let layout = Layout::find(&first).ok_or_else(none)?;
        let page = match layout.read_meta(&first) {
            Ok(meta) => u64::from(meta.page),
            Err(error) => {
                // The second one tells where it is by where it is.
                let second = |page: &u64| {
                    let there = first.get(*page as usize..).map(|bytes| layout.read_meta(bytes));
                    there.is_some_and(|meta| meta.is_ok_and(|meta| u64::from(meta.page) == *page))
                };
                (8..=16).map(|power| 1u64 << power).find(second).ok_or(error)?
            }
        };
        Ok(Environment { source: source.clone(), layout, page, len: source.len(task)? })
    }

    /// How many pages the file has.
    pub(super) fn pages(&self) -> u64 {
        self.len.checked_div(self.page).unwrap_or(0)
    }

    /// The newest transaction, as of now.
    ///
    /// # Errors
    /// What is wrong with both meta pages; `Io` where they change all the time.
    pub(super) fn snapshot(&self, task: &Task) -> Result<Snapshot> {
        let read = |start: u64| self.source.read_up_to(task, start, self.layout.meta());
        let pair = || Ok::<_, Error>((read(0)?, read(self.page)?));
        let mut before = pair()?;
        for _ in 0..TRIES {
            task.check()?;
            let again = pair()?;
            if again == before {
                return self.newest(&before.0, &before.1);
            }
            before = again;
        }
        Err(Error::io("LMDB: another program changes the meta pages all the time"))
    }

    /// The newer of two meta pages, of those that are right.
    fn newest(&self, first: &[u8], second: &[u8]) -> Result<Snapshot> {
        let read = |bytes: &[u8], at: u64| {
            let meta = self.layout.read_meta(bytes).map_err(|error| error.at(at))?;
            self.check(meta).map_err(|error| error.at(at))
        };
        match (read(first, 0), read(second, self.page)) {
            (Ok(a), Ok(b)) => {
                let meta = if b.txn > a.txn { b } else { a };
                Ok(Snapshot { meta, problem: None })
            }
            (Ok(meta), Err(error)) | (Err(error), Ok(meta)) => {
                let what =
                    format!("{}; transaction {} is shown, which may be an older one", error.what(), meta.txn);
                let problem = Error::malformed(what).at(error.offset().unwrap_or(0));
                Ok(Snapshot { meta, problem: Some(problem) })
            }
            (Err(error), Err(_)) => Err(error),
        }
    }

    /// A meta page whose databases can be there.
    fn check(&self, meta: Meta) -> Result<Meta> {
        if u64::from(meta.page) != self.page {
            let (one, other) = (meta.page, self.page);
            return Err(Error::malformed(format!(
                "LMDB: the meta pages say pages of {one} and {other} bytes"
            )));
        }
        self.check_db(&meta.main)?;
        Ok(meta)
    }

    /// Whether a database can be there.
    ///
    /// # Errors
    /// `Malformed` where its root lies outside of the file, or it claims more than there can be.
    pub(super) fn check_db(&self, db: &Db) -> Result<()> {
        let wrong = match db.root {
            None if db.entries > 0 => format!("{} entries and no root page", db.entries),
            Some(root) if root >= self.pages() => {
                format!("its root is page {root}, the file has {}; it may be cut off", self.pages())
            }
            Some(_) if db.depth == 0 || db.depth > DEPTH => format!("{} levels of pages", db.depth),
            _ if db.entries > self.len => format!("{} entries in {} bytes", db.entries, self.len),
            _ => return Ok(()),
        };
        Err(Error::malformed(format!("LMDB: a database: {wrong}")))
    }

    /// A page.
    ///
    /// # Errors
    /// `Malformed` where it lies outside of the file or holds no nodes.
    pub(super) fn page(&self, task: &Task, number: u64) -> Result<Page> {
        let at = self.place(number)?;
        let bytes = self.source.read(task, at..at + self.page)?;
        Page::new(self.layout, bytes, at)
    }

    /// Where a page begins that lies in the file.
    fn place(&self, number: u64) -> Result<u64> {
        let outside = || Error::malformed(format!("LMDB: page {number} lies outside of the file"));
        if number >= self.pages() {
            return Err(outside());
        }
        number.checked_mul(self.page).ok_or_else(outside)
    }

    /// Where a value of `size` bytes lies that has pages of its own.
    fn overflow(&self, task: &Task, number: u64, size: u64) -> Result<Range<u64>> {
        let page = self.place(number)?;
        let header = self.layout.header();
        let head = self.source.read(task, page..page + header as u64)?;
        let flags = self.layout.u16(&head, header - 6).unwrap_or(0);
        if flags & OVERFLOW == 0 {
            return Err(Error::malformed("LMDB: a large value begins on a page of another kind").at(page));
        }
        let start = page + header as u64;
        match start.checked_add(size).filter(|end| *end <= self.len) {
            Some(end) => Ok(start..end),
            None => {
                let what =
                    format!("LMDB: a value of {size} bytes reaches beyond the file; it may be cut off");
                Err(Error::malformed(what).at(page))
            }
        }
    }
}

/// A page with branches or entries, or a small one of that kind within a value.
#[derive(Clone)]
pub(super) struct Page {
    layout: Layout,
    bytes: Bytes,
    at: u64,
    flags: u16,
    /// How many nodes it has.
    pub(super) count: usize,
    /// The size of a key where it has no nodes.
    key: usize,
}

/// Bytes that lie at a place of the file.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    /// Where in the file.
    pub(super) span: Range<u64>,
    /// They themselves, where they came with a page.
    pub(super) here: Option<Bytes>,
}

/// What an entry of a leaf holds beside its key.
pub(super) enum Held {
    /// One value.
    Value(Piece),
    /// A named database.
    Database(Db, Piece),
    /// Several values on a page within the page.
    Page(Page),
    /// Several values in a tree of their own.
    Tree(Db),
}

impl Page {
    /// The page that lies at `at`.
    fn new(layout: Layout, bytes: Bytes, at: u64) -> Result<Page> {
        let wrong = |what: &str| Error::malformed(format!("LMDB: a page {what}")).at(at);
        let header = layout.header();
        let fields = || {
            let half = |back: usize| layout.u16(&bytes, header - back);
            Some((half(8)?, half(6)?, half(4)?))
        };
        let (key, flags, lower) = fields().ok_or_else(|| wrong("is cut off"))?;
        if flags & (BRANCH | LEAF) == 0 || bytes.len() < header {
            return Err(wrong("holds neither branches nor entries"));
        }
        let ends = usize::from(lower) + layout.base();
        // Keys without nodes are counted by slots that are not there, and may be shorter than those.
        let fits = ends <= bytes.len() || flags & LEAF2 != 0;
        let count = ends.checked_sub(header).map(|bytes| bytes / 2).filter(|_| fits);
        let count = count.ok_or_else(|| wrong("says a count of nodes that do not fit"))?;
        let key = usize::from(key);
        if flags & LEAF2 != 0 && (key == 0 && count > 0 || header + count * key > bytes.len()) {
            return Err(wrong("says a size of keys that do not fit"));
        }
        Ok(Page { layout, bytes, at, flags, count, key })
    }

    /// Whether it refers to other pages.
    pub(super) fn is_branch(&self) -> bool {
        self.flags & BRANCH != 0
    }

    /// Whether it holds only keys, of one size.
    pub(super) fn is_keys(&self) -> bool {
        self.flags & LEAF2 != 0
    }

    /// Where it lies.
    pub(super) fn at(&self) -> u64 {
        self.at
    }

    fn wrong(&self, what: &str) -> Error {
        Error::malformed(format!("LMDB: {what}")).at(self.at)
    }

    /// Where a node begins.
    fn node(&self, n: usize) -> Result<usize> {
        let slot = self.layout.header() + n * 2;
        let place = self.layout.u16(&self.bytes, slot).filter(|_| n < self.count);
        let place = place.map(|place| usize::from(place) + self.layout.base());
        let fits = |at: &usize| *at >= self.layout.header() && at + 8 <= self.bytes.len();
        place.filter(fits).ok_or_else(|| self.wrong("a node lies outside of its page"))
    }

    fn half(&self, at: usize) -> u64 {
        self.layout.u16(&self.bytes, at).map_or(0, u64::from)
    }

    /// The four bytes that a node begins with: the size of its value, the low part of a page's number.
    fn first(&self, node: usize) -> u64 {
        self.layout.u32(&self.bytes, node).map_or(0, u64::from)
    }

    /// The page that branch `n` leads to.
    pub(super) fn child(&self, n: usize) -> Result<u64> {
        let node = self.node(n)?;
        let high = if self.layout.wide { self.half(node + 4) << 32 } else { 0 };
        Ok(self.first(node) | high)
    }

    /// The key of a node.
    pub(super) fn key(&self, n: usize) -> Result<Piece> {
        let range = match self.is_keys() {
            true if n < self.count => {
                let start = self.layout.header() + n * self.key;
                start..start + self.key
            }
            true => return Err(self.wrong("a node lies outside of its page")),
            false => self.key_range(self.node(n)?),
        };
        self.piece(range).ok_or_else(|| self.wrong("a key reaches beyond its page"))
    }

    fn key_range(&self, node: usize) -> Range<usize> {
        node + 8..node + 8 + self.half(node + 6) as usize
    }

    /// Where the value of a node begins: behind its key, in version 3 at an even place.
    fn value_at(&self, node: usize) -> usize {
        let size = self.half(node + 6) as usize;
        node + 8 + if self.layout.version == 3 { size.next_multiple_of(2) } else { size }
    }

    fn piece(&self, range: Range<usize>) -> Option<Piece> {
        if range.end > self.bytes.len() {
            return None;
        }
        let span = self.at + range.start as u64..self.at + range.end as u64;
        Some(Piece { span, here: Some(self.bytes.slice(range)) })
    }

    /// How many rows node `n` is.
    ///
    /// # Errors
    /// What is wrong with a node of several values.
    pub(super) fn rows(&self, n: usize, dup: bool) -> Result<u64> {
        if !dup || self.is_keys() {
            return Ok(1);
        }
        let node = self.node(n)?;
        let flags = self.half(node + 4) as u16;
        if flags & DUP_DATA == 0 {
            return Ok(1);
        }
        match self.several(node, flags)? {
            Held::Page(page) => Ok(page.count as u64),
            Held::Tree(db) => Ok(db.entries),
            _ => Ok(1),
        }
    }

    /// Several values of one key.
    fn several(&self, node: usize, flags: u16) -> Result<Held> {
        let start = self.value_at(node);
        let inner = usize::try_from(self.first(node)).ok().and_then(|size| start.checked_add(size));
        let inner = inner.and_then(|end| self.piece(start..end));
        let inner = inner.ok_or_else(|| self.wrong("a value reaches beyond its page"))?;
        let bytes = inner.here.unwrap_or_default();
        if flags & SUB_DATA != 0 {
            let db = self.layout.db(&bytes, 0);
            return db.map(Held::Tree).ok_or_else(|| self.wrong("a tree of values is cut off"));
        }
        let page = Page::new(self.layout, bytes, inner.span.start)?;
        match page.is_branch() {
            true => Err(self.wrong("a page of values has branches")),
            false => Ok(Held::Page(page)),
        }
    }

    /// What node `n` holds beside its key.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn held(&self, task: &Task, environment: &Environment, n: usize) -> Result<Held> {
        let node = self.node(n)?;
        let flags = self.half(node + 4) as u16;
        if flags & DUP_DATA != 0 {
            return self.several(node, flags);
        }
        let (start, size) = (self.value_at(node), self.first(node));
        if flags & BIG_DATA != 0 {
            let number = self.layout.number(&self.bytes, start);
            let number = number.ok_or_else(|| self.wrong("the place of a large value is cut off"))?;
            let span = environment.overflow(task, number, size)?;
            return Ok(Held::Value(Piece { span, here: None }));
        }
        let value = usize::try_from(size).ok().and_then(|size| self.piece(start..start.checked_add(size)?));
        let value = value.ok_or_else(|| self.wrong("a value reaches beyond its page"))?;
        if flags & SUB_DATA != 0 {
            let db = value.here.as_ref().and_then(|bytes| self.layout.db(bytes, 0));
            let db = db.ok_or_else(|| self.wrong("the record of a database is cut off"))?;
            return Ok(Held::Database(db, value));
        }
        Ok(Held::Value(value))
    }
}

impl Piece {
    /// How many bytes.
    pub(super) fn len(&self) -> u64 {
        self.span.end - self.span.start
    }

    /// The bytes.
    ///
    /// # Errors
    /// Those of reading; `Limit` for more than one may have.
    pub(super) fn bytes(&self, task: &Task, environment: &Environment) -> Result<Bytes> {
        if let Some(bytes) = &self.here {
            return Ok(bytes.clone());
        }
        crate::bytes::limits::check(self.len(), crate::bytes::limits::CHUNK, "a value")?;
        environment.source.read(task, self.span.clone())
    }

    /// Their beginning.
    ///
    /// # Errors
    /// Those of reading.
    pub(super) fn head(&self, task: &Task, environment: &Environment, most: u64) -> Result<Bytes> {
        match &self.here {
            Some(bytes) => Ok(bytes.slice(..bytes.len().min(most as usize))),
            None => {
                let end = self.span.start.saturating_add(most).min(self.span.end);
                environment.source.read(task, self.span.start..end)
            }
        }
    }
}
