//! A tree of pages as entries by number.
//!
//! Which leaf an entry lies in is counted: once from the first leaf on, as far as somebody asks. Of that a mark is kept
//! for each branch with leaves below it, in very large trees for every second, fourth … of them. What lies near the end
//! is counted from there, so that the last entries are there at once.

use super::cursor::{Compare, Cursor, Side, node_of};
use super::layout::{Db, Layout};
use super::page::{Environment, Held, Page, Piece};
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::task::Task;
use crate::engines::records::container::Problems;
use bytes::Bytes;
use parking_lot::Mutex;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// The most marks that are kept.
const MARKS: usize = 1 << 16;
/// Leaves that are counted while nobody else is let in.
const SLICE: usize = 1 << 12;
/// Leaves between two looks at the task.
const CHECK: usize = 1 << 10;
/// Entries before the end that are counted from there.
const TAIL: u64 = 1 << 16;
/// Trees of values of one key that are kept with what is known of them.
const TREES: usize = 64;

/// One pair of a key and a value.
pub(super) struct Entry {
    /// Its number.
    pub(super) number: u64,
    /// The key.
    pub(super) key: Bytes,
    /// The value.
    pub(super) value: Piece,
    /// The database that it is.
    pub(super) db: Option<Db>,
}

/// A tree.
pub(super) struct Tree {
    /// The file.
    pub(super) environment: Arc<Environment>,
    /// What the file says of it.
    pub(super) db: Db,
    /// Whether a key may have several values.
    dup: bool,
    /// Whether its keys are the values of one key of another tree.
    is_values: bool,
    index: Mutex<Index>,
    trees: Mutex<HashMap<u64, Arc<Tree>>>,
    problems: Arc<Problems>,
}

/// The number of an entry and the way to its leaf, whose first one it is.
struct Mark {
    first: u64,
    path: Box<[u16]>,
}

/// What is known of the leaves.
struct Index {
    marks: Vec<Mark>,
    /// Of so many branches one is kept.
    every: u64,
    branches: u64,
    /// Entries of the known leaves.
    rows: u64,
    /// The way to the last known leaf; `None` at the beginning.
    last: Option<Box<[u16]>>,
    leaves: u64,
    ended: bool,
}

impl Tree {
    /// The tree that the file says.
    pub(super) fn new(environment: &Arc<Environment>, db: Db, dup: bool, problems: Arc<Problems>) -> Tree {
        let index = Index {
            marks: Vec::new(),
            every: 1,
            branches: 0,
            rows: 0,
            last: None,
            leaves: 0,
            ended: db.root.is_none(),
        };
        let (environment, index) = (environment.clone(), Mutex::new(index));
        Tree { environment, db, dup, is_values: false, index, trees: Mutex::default(), problems }
    }

    /// How many entries are known, and whether these are all.
    pub(super) fn known(&self) -> (u64, bool) {
        let index = self.index.lock();
        (index.rows, index.ended)
    }

    /// Counts leaves until so many entries are known, or all.
    ///
    /// # Errors
    /// `Cancelled`, after which another call goes on. What is broken is among the problems.
    pub(super) fn extend(&self, task: &Task, rows: u64) -> Result<()> {
        loop {
            task.check()?;
            let mut index = self.index.lock();
            if index.ended || index.rows >= rows {
                return Ok(());
            }
            self.count(task, &mut index, rows)?;
            if self.db.entries > 0 && task.progress().1 == self.db.entries {
                task.reached(index.rows.min(self.db.entries));
            }
        }
    }

    fn count(&self, task: &Task, index: &mut Index, rows: u64) -> Result<()> {
        let mut cursor = Cursor::new(&self.environment, &self.db);
        let Some(root) = self.db.root else { return Ok(()) };
        let mut more = match &index.last {
            None => self.found(cursor.descend(task, root, &Side::First))?.is_some() || self.db.depth > 1,
            Some(path) => {
                self.found(cursor.descend(task, root, &Side::Path(path)))?;
                self.stepped(task, &mut cursor)?
            }
        };
        for n in 0..SLICE {
            if n % CHECK == 0 {
                task.check()?;
            }
            if !more {
                index.ended = true;
                self.ended(index.rows);
                return Ok(());
            }
            index.leaves += 1;
            if index.leaves > self.environment.pages() {
                let what = "LMDB: a tree with more leaves than the file has pages: they refer to each other";
                self.problems.add(Error::malformed(what));
                index.ended = true;
                return Ok(());
            }
            let count = cursor.leaf().map_or(0, |leaf| self.rows_of(leaf));
            index.mark(&cursor);
            index.rows = index.rows.saturating_add(count);
            index.last = Some(cursor.path());
            if index.rows >= rows {
                return Ok(());
            }
            more = self.stepped(task, &mut cursor)?;
        }
        Ok(())
    }

    /// All leaves were seen.
    fn ended(&self, rows: u64) {
        let said = self.db.entries;
        if rows != said {
            let what = format!("LMDB: a database says that it has {said} entries, {rows} are there");
            self.problems.add(Error::malformed(what));
        }
    }

    /// Goes to the next leaf, behind those that are broken.
    fn stepped(&self, task: &Task, cursor: &mut Cursor<'_>) -> Result<bool> {
        for _ in 0..self.environment.pages() {
            match cursor.next(task).unless_cancelled()? {
                Ok(more) => return Ok(more),
                Err(error) => self.problems.add(error),
            }
        }
        Ok(false)
    }

    /// What was found; what is broken is among the problems then.
    fn found<T>(&self, result: Result<T>) -> Result<Option<T>> {
        match result.unless_cancelled()? {
            Ok(value) => Ok(Some(value)),
            Err(error) => {
                self.problems.add(error);
                Ok(None)
            }
        }
    }

    /// How many entries a leaf has.
    fn rows_of(&self, leaf: &Page) -> u64 {
        if !self.dup || leaf.is_keys() {
            return leaf.count as u64;
        }
        (0..leaf.count).fold(0, |all: u64, n| all.saturating_add(self.rows_at(leaf, n)))
    }

    /// How many entries a node is; one that is broken counts as one.
    fn rows_at(&self, leaf: &Page, n: usize) -> u64 {
        leaf.rows(n, self.dup).unwrap_or(1).min(self.environment.len)
    }

    /// The leaf that holds entry `row`, and the number of its first one; `None` behind the end.
    fn locate(&self, task: &Task, row: u64) -> Result<Option<(Cursor<'_>, u64)>> {
        let Some(root) = self.db.root else { return Ok(None) };
        let (known, ended) = self.known();
        let near = self.db.entries.saturating_sub(row) <= TAIL && row < self.db.entries;
        if row >= known && !ended && near && self.db.entries - row < row - known {
            return self.before_end(task, root, row);
        }
        self.extend(task, row.saturating_add(1))?;
        let (mut first, path) = {
            let index = self.index.lock();
            let at = index.marks.partition_point(|mark| mark.first <= row).checked_sub(1);
            match at.and_then(|at| index.marks.get(at)) {
                Some(mark) if row < index.rows => (mark.first, mark.path.clone()),
                _ => return Ok(None),
            }
        };
        let mut cursor = Cursor::new(&self.environment, &self.db);
        self.found(cursor.descend(task, root, &Side::Path(&path)))?;
        loop {
            task.check()?;
            let count = cursor.leaf().map_or(0, |leaf| self.rows_of(leaf));
            if row < first.saturating_add(count) {
                return Ok(Some((cursor, first)));
            }
            first = first.saturating_add(count);
            if !self.stepped(task, &mut cursor)? {
                return Ok(None);
            }
        }
    }

    /// The same, counted from the end.
    fn before_end(&self, task: &Task, root: u64, row: u64) -> Result<Option<(Cursor<'_>, u64)>> {
        let mut cursor = Cursor::new(&self.environment, &self.db);
        let mut first = self.db.entries;
        let mut there = self.found(cursor.descend(task, root, &Side::Last))?.is_some() || self.db.depth > 1;
        let mut left = self.environment.pages();
        while there && left > 0 {
            task.check()?;
            left -= 1;
            let count = cursor.leaf().map_or(0, |leaf| self.rows_of(leaf));
            first = first.saturating_sub(count);
            if row >= first && count > 0 {
                return Ok(Some((cursor, first)));
            }
            there = match cursor.previous(task).unless_cancelled()? {
                Ok(more) => more,
                Err(error) => {
                    self.problems.add(error);
                    true
                }
            };
        }
        Ok(None)
    }

    /// The entries `rows`, cut to what is there.
    ///
    /// # Errors
    /// `Cancelled`; failures to read. What is broken is among the problems.
    pub(super) fn entries(&self, task: &Task, rows: Range<u64>) -> Result<Vec<Entry>> {
        let mut found = Vec::new();
        if rows.is_empty() {
            return Ok(found);
        }
        let Some((mut cursor, mut first)) = self.locate(task, rows.start)? else { return Ok(found) };
        let rows = match self.known() {
            (known, true) => rows.start..rows.end.min(known),
            _ => rows,
        };
        loop {
            task.check()?;
            if let Some(leaf) = cursor.leaf() {
                for n in 0..leaf.count {
                    let end = first.saturating_add(self.rows_at(leaf, n));
                    if end > rows.start {
                        let wanted = first.max(rows.start)..end.min(rows.end);
                        self.node(task, leaf, n, first, wanted, &mut found)?;
                    }
                    first = end;
                    if first >= rows.end {
                        return Ok(found);
                    }
                }
            }
            if !self.stepped(task, &mut cursor)? {
                return Ok(found);
            }
        }
    }

    /// The entries `wanted` of node `n`, whose first entry is `first`.
    fn node(
        &self,
        task: &Task,
        leaf: &Page,
        n: usize,
        first: u64,
        wanted: Range<u64>,
        found: &mut Vec<Entry>,
    ) -> Result<()> {
        let key = self.found(leaf.key(n))?;
        if self.is_values || leaf.is_keys() {
            let value = key.unwrap_or_else(|| self.lost());
            found.push(Entry { number: first, key: Bytes::new(), value, db: None });
            return Ok(());
        }
        let key = key.and_then(|key| key.here).unwrap_or_default();
        let inner = wanted.start - first..wanted.end - first;
        let mut push = |at: u64, value: Piece, db: Option<Db>| {
            found.push(Entry { number: first + at, key: key.clone(), value, db });
        };
        match self.found(leaf.held(task, &self.environment, n))? {
            Some(Held::Value(value)) => push(0, value, None),
            Some(Held::Database(db, value)) => push(0, value, Some(db)),
            Some(Held::Page(page)) if self.dup => {
                for at in inner {
                    let value = self.found(page.key(at as usize))?;
                    push(at, value.unwrap_or_else(|| self.lost()), None);
                }
            }
            Some(Held::Tree(db)) if self.dup => {
                let there = self.values(task, db, inner.clone())?;
                let missing = inner.start.saturating_add(there.len() as u64)..inner.end;
                there.into_iter().for_each(|entry| push(entry.number, entry.value, None));
                if !missing.is_empty() {
                    let what = "LMDB: a key has fewer values than it says";
                    self.problems.add(Error::malformed(what).at(leaf.at()));
                }
                missing.for_each(|at| push(at, self.lost(), None));
            }
            Some(Held::Page(_) | Held::Tree(_)) => {
                let what = "LMDB: a key with several values, where keys have one";
                self.problems.add(Error::malformed(what).at(leaf.at()));
                push(0, self.lost(), None);
            }
            None => push(0, self.lost(), None),
        }
        Ok(())
    }

    /// A place for what cannot be found: reading it says so.
    fn lost(&self) -> Piece {
        Piece { span: self.environment.len..self.environment.len + 1, here: None }
    }

    /// Values of one key that lie in a tree of their own: they are its keys.
    fn values(&self, task: &Task, db: Db, range: Range<u64>) -> Result<Vec<Entry>> {
        if self.found(self.environment.check_db(&db))?.is_none() {
            return Ok(Vec::new());
        }
        let Some(root) = db.root else { return Ok(Vec::new()) };
        let tree = {
            let mut trees = self.trees.lock();
            if trees.len() >= TREES && !trees.contains_key(&root) {
                trees.clear();
            }
            let new = || {
                let tree = Tree::new(&self.environment, db, false, self.problems.clone());
                Arc::new(Tree { is_values: true, ..tree })
            };
            trees.entry(root).or_insert_with(new).clone()
        };
        tree.entries(task, range)
    }

    /// The entry with a key; the first where it has several values.
    ///
    /// # Errors
    /// `Cancelled`; what is wrong on the way.
    pub(super) fn get(&self, task: &Task, key: &[u8]) -> Result<Option<Entry>> {
        let compare = comparison(self.environment.layout, self.db.flags, key);
        let Some((cursor, n, true)) = self.seek(task, &*compare)? else { return Ok(None) };
        let Some(leaf) = cursor.leaf() else { return Ok(None) };
        let mut found = Vec::new();
        self.node(task, leaf, n, 0, 0..1, &mut found)?;
        Ok(found.into_iter().next())
    }

    /// The number of the first entry with a key.
    ///
    /// # Errors
    /// As [`get`](Tree::get); all before it is counted.
    pub(super) fn number_of(&self, task: &Task, key: &[u8]) -> Result<Option<u64>> {
        let compare = comparison(self.environment.layout, self.db.flags, key);
        let Some((cursor, n, true)) = self.seek(task, &*compare)? else { return Ok(None) };
        let path = cursor.path();
        let before = cursor.leaf().map_or(0, |leaf| (0..n).map(|n| self.rows_at(leaf, n)).sum::<u64>());
        Ok(self.first_of(task, &path)?.map(|first| first + before))
    }

    /// The least key that is not less than one.
    ///
    /// # Errors
    /// As [`get`](Tree::get).
    pub(super) fn key_from(&self, task: &Task, key: &[u8]) -> Result<Option<Bytes>> {
        let compare = comparison(self.environment.layout, self.db.flags, key);
        let Some((mut cursor, mut n, _)) = self.seek(task, &*compare)? else { return Ok(None) };
        loop {
            if let Some(key) = cursor.leaf().filter(|leaf| n < leaf.count).map(|leaf| leaf.key(n)) {
                return Ok(key?.here);
            }
            if !self.stepped(task, &mut cursor)? {
                return Ok(None);
            }
            n = 0;
        }
    }

    /// The leaf and the node where a key is or would be, and whether it is there.
    fn seek(&self, task: &Task, compare: &Compare<'_>) -> Result<Option<(Cursor<'_>, usize, bool)>> {
        let Some(root) = self.db.root else { return Ok(None) };
        let mut cursor = Cursor::new(&self.environment, &self.db);
        cursor.descend(task, root, &Side::Key(compare))?;
        let Some(leaf) = cursor.leaf() else { return Ok(None) };
        let (n, equal) = node_of(leaf, compare)?;
        Ok(Some((cursor, n, equal)))
    }

    /// The number of the first entry of the leaf that a way leads to.
    fn first_of(&self, task: &Task, path: &[u16]) -> Result<Option<u64>> {
        loop {
            let (rows, ended) = {
                let index = self.index.lock();
                let at = index.marks.partition_point(|mark| *mark.path <= *path).checked_sub(1);
                let passed = index.ended || index.last.as_deref().is_some_and(|last| last >= path);
                if let (Some(mark), true) = (at.and_then(|at| index.marks.get(at)), passed) {
                    let (first, from) = (mark.first, mark.path.clone());
                    drop(index);
                    return self.count_between(task, first, &from, path);
                }
                (index.rows, index.ended)
            };
            if ended {
                return Ok(None);
            }
            self.extend(task, rows.saturating_add(TAIL))?;
        }
    }

    /// The number of the first entry of the leaf at `to`, where that at `from` begins with `first`.
    fn count_between(&self, task: &Task, mut first: u64, from: &[u16], to: &[u16]) -> Result<Option<u64>> {
        let Some(root) = self.db.root else { return Ok(None) };
        let mut cursor = Cursor::new(&self.environment, &self.db);
        self.found(cursor.descend(task, root, &Side::Path(from)))?;
        while *cursor.path() < *to {
            task.check()?;
            first = first.saturating_add(cursor.leaf().map_or(0, |leaf| self.rows_of(leaf)));
            if !self.stepped(task, &mut cursor)? {
                return Ok(None);
            }
        }
        Ok(Some(first))
    }
}

impl Index {
    /// Keeps the way to a leaf, if it is the first of its branch.
    fn mark(&mut self, cursor: &Cursor<'_>) {
        if !cursor.is_first_of_branch() && !self.marks.is_empty() {
            return;
        }
        if self.branches.is_multiple_of(self.every) {
            if self.marks.len() >= MARKS {
                let mut n = 0;
                self.marks.retain(|_| {
                    n += 1;
                    n % 2 == 1
                });
                self.every = self.every.saturating_mul(2);
            }
            if self.branches.is_multiple_of(self.every) {
                self.marks.push(Mark { first: self.rows, path: cursor.path() });
            }
        }
        self.branches += 1;
    }
}

/// How a key compares with others in a database with these flags.
pub(super) fn comparison(layout: Layout, flags: u16, key: &[u8]) -> Box<Compare<'_>> {
    if flags & Db::INTEGER_KEY != 0 {
        return Box::new(move |other| match layout.big {
            true => key.cmp(other),
            false => key.iter().rev().cmp(other.iter().rev()),
        });
    }
    if flags & Db::REVERSE_KEY != 0 {
        return Box::new(move |other: &[u8]| -> Ordering { key.iter().rev().cmp(other.iter().rev()) });
    }
    Box::new(move |other: &[u8]| -> Ordering { key.cmp(other) })
}
