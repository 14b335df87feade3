//! The leaves of a tree of pages, one after the other. Leaves do not know their neighbours: the way from the root is kept.

use super::layout::Db;
use super::page::{Environment, Page};
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use std::cmp::Ordering;

/// Compares a key with those of a tree.
pub(super) type Compare<'a> = dyn Fn(&[u8]) -> Ordering + 'a;

/// Which child of each branch to take.
pub(super) enum Side<'a> {
    /// The first,
    First,
    /// the last,
    Last,
    /// these, from the root on, and the first of those below,
    Path(&'a [u16]),
    /// or the one that a key lies in: it is compared with those on the way.
    Key(&'a Compare<'a>),
}

/// A leaf and the way to it.
pub(super) struct Cursor<'a> {
    environment: &'a Environment,
    depth: usize,
    branches: Vec<(Page, usize)>,
    leaf: Option<Page>,
}

impl<'a> Cursor<'a> {
    /// At no leaf yet.
    pub(super) fn new(environment: &'a Environment, db: &Db) -> Self {
        Cursor { environment, depth: usize::from(db.depth), branches: Vec::new(), leaf: None }
    }

    /// The leaf; `None` where the way to it is broken.
    pub(super) fn leaf(&self) -> Option<&Page> {
        self.leaf.as_ref()
    }

    /// The way to the leaf: which child of each branch.
    pub(super) fn path(&self) -> Box<[u16]> {
        self.branches.iter().map(|(_, n)| *n as u16).collect()
    }

    /// Whether the leaf is the first of its branch, or there are no branches.
    pub(super) fn is_first_of_branch(&self) -> bool {
        self.branches.last().is_none_or(|(_, n)| *n == 0)
    }

    /// Goes down from a page.
    ///
    /// # Errors
    /// What is wrong with a page on the way; the next step goes on behind it.
    pub(super) fn descend(&mut self, task: &Task, page: u64, side: &Side<'_>) -> Result<()> {
        self.leaf = None;
        let mut number = page;
        loop {
            let page = self.environment.page(task, number)?;
            let wrong = |what: &str| Error::malformed(format!("LMDB: {what}")).at(page.at());
            if self.branches.len() + 1 >= self.depth {
                if page.is_branch() {
                    return Err(wrong("branches lead further down than the tree is deep"));
                }
                self.leaf = Some(page);
                return Ok(());
            }
            let Some(last) = page.count.checked_sub(1).filter(|_| page.is_branch()) else {
                return Err(wrong("a page that leads to others has no branches"));
            };
            let n = match side {
                Side::First => 0,
                Side::Last => last,
                Side::Path(path) => path.get(self.branches.len()).map_or(0, |n| usize::from(*n)).min(last),
                Side::Key(compare) => branch_of(&page, compare)?,
            };
            let child = page.child(n);
            self.branches.push((page, n));
            number = child?;
        }
    }

    /// Goes to the next leaf; whether there is one.
    ///
    /// # Errors
    /// As [`descend`](Cursor::descend); another call goes on behind what is broken.
    pub(super) fn next(&mut self, task: &Task) -> Result<bool> {
        self.step(task, &Side::First, |n, count| n.checked_add(1).filter(|n| *n < count))
    }

    /// Goes to the leaf before; whether there is one.
    ///
    /// # Errors
    /// As [`next`](Cursor::next).
    pub(super) fn previous(&mut self, task: &Task) -> Result<bool> {
        self.step(task, &Side::Last, |n, _| n.checked_sub(1))
    }

    fn step(
        &mut self,
        task: &Task,
        side: &Side<'_>,
        other: impl Fn(usize, usize) -> Option<usize>,
    ) -> Result<bool> {
        self.leaf = None;
        while let Some((page, n)) = self.branches.last_mut() {
            match other(*n, page.count) {
                Some(next) => {
                    *n = next;
                    let child = page.child(next)?;
                    return self.descend(task, child, side).map(|()| true);
                }
                None => drop(self.branches.pop()),
            }
        }
        Ok(false)
    }
}

/// The branch of a page that a key lies in: the last whose key is not greater. The first one's key says nothing.
fn branch_of(page: &Page, compare: &Compare<'_>) -> Result<usize> {
    let (mut low, mut high) = (1, page.count);
    while low < high {
        let middle = low + (high - low) / 2;
        let key = page.key(middle)?;
        match compare(key.here.as_deref().unwrap_or_default()) {
            // The wanted one is less than this one.
            Ordering::Less => high = middle,
            _ => low = middle + 1,
        }
    }
    Ok(low - 1)
}

/// The first node of a leaf whose key is not less than the wanted one, and whether it is equal.
pub(super) fn node_of(leaf: &Page, compare: &Compare<'_>) -> Result<(usize, bool)> {
    let (mut low, mut high) = (0, leaf.count);
    while low < high {
        let middle = low + (high - low) / 2;
        let key = leaf.key(middle)?;
        match compare(key.here.as_deref().unwrap_or_default()) {
            Ordering::Less => high = middle,
            Ordering::Equal => return Ok((middle, true)),
            Ordering::Greater => low = middle + 1,
        }
    }
    Ok((low, false))
}
