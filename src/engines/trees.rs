//! Ensembles of decision trees, as gradient boosting makes them: neutral ground between the formats of XGBoost, LightGBM
//! and CatBoost. The trees of a file stand one after the other, and each of their nodes is a row of one table.
//!
//! A [`Forest`] is that table. Where each tree begins and how many rows it has is found as far as somebody asks, goes on
//! where it stopped, and takes a bounded amount of memory: of very many trees every second, fourth … one is kept and the
//! others are found from there. A tree is parsed when its rows are looked at. [`LateTable`] holds what takes a look at
//! all trees: the importance of features. Below the table lies a graph a tree (see [`drawing`]).

pub mod drawing;
mod late;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

pub use late::LateTable;

use crate::bytes::cache::Cache;
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::table::{cut, stacked};
use crate::data::content::{Content, Rows, Table};
use crate::data::node::{Findings, Node, Value};
use crate::engines::records::Window;
use arrow::array::{Array, ArrayRef, RecordBatch};
use arrow::datatypes::SchemaRef;
use drawing::{Drawings, TreeGraph};
use parking_lot::Mutex;
use std::ops::Range;
use std::sync::Arc;

/// The most trees whose place is kept: some megabytes.
const KEPT: usize = 1 << 18;
/// Bytes of parsed trees that are kept.
const PARSED: usize = 64 << 20;

/// A tree in its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// Its number, from 0.
    pub number: u64,
    /// The number of its first row in the table.
    pub first: u64,
    /// Its bytes.
    pub span: Range<u64>,
    /// How many rows it has: nodes and leaves.
    pub rows: u64,
}

/// How the trees of a format are found and read.
pub trait Trees: Send + Sync + 'static {
    /// Whether places are bytes of the file, which errors name; not so where a model only numbers its trees.
    const PLACED: bool = true;

    /// The columns.
    fn schema(&self) -> &SchemaRef;

    /// The bytes of the tree that begins at byte `at` or soon after it, and its rows; `None` behind the last one.
    ///
    /// # Errors
    /// `Cancelled`; all others say that no tree can be read there.
    fn next(&self, window: &mut Window, at: u64) -> Result<Option<(Range<u64>, u64)>>;

    /// All columns of a tree, with as many rows as were said of it.
    ///
    /// # Errors
    /// What is wrong with the tree.
    fn read(&self, task: &Task, source: &Source, tree: &Tree) -> Result<Vec<ArrayRef>>;

    /// The graph of a tree.
    ///
    /// # Errors
    /// What is wrong with the tree.
    fn draw(&self, task: &Task, source: &Source, tree: &Tree) -> Result<TreeGraph>;

    /// What is known of a tree by its number: the class that it is of.
    fn about(&self, _number: u64) -> Vec<(String, Value)> {
        Vec::new()
    }
}

/// The nodes of all trees as one table.
pub struct Forest<T> {
    trees: T,
    source: Source,
    /// Where the first tree begins.
    start: u64,
    /// How many trees the file says it has.
    promised: Option<u64>,
    index: Mutex<Index>,
    /// Held by who makes the index longer.
    growing: Mutex<()>,
    parsed: Cache<u64, Arc<Vec<ArrayRef>>>,
}

/// What is known of the trees.
struct Index {
    /// Where every `every`-th tree begins, and the number of its first row.
    kept: Vec<(u64, u64)>,
    every: u64,
    trees: u64,
    rows: u64,
    next: u64,
    ended: bool,
    problem: Option<Error>,
}

impl<T: Trees> Forest<T> {
    /// The trees from byte `start` of `source` on. Reads nothing.
    pub fn new(source: Source, start: u64, promised: Option<u64>, trees: T) -> Arc<Self> {
        let index =
            Index { kept: Vec::new(), every: 1, trees: 0, rows: 0, next: start, ended: false, problem: None };
        let (index, growing) = (Mutex::new(index), Mutex::new(()));
        Arc::new(Forest { trees, source, start, promised, index, growing, parsed: Cache::new(PARSED) })
    }

    /// The format's part.
    pub fn trees(&self) -> &T {
        &self.trees
    }

    /// The file.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Where the trees end, once all are known.
    pub fn end(&self) -> Option<u64> {
        let index = self.index.lock();
        index.ended.then_some(index.next)
    }

    /// How many trees are known.
    pub fn known_trees(&self) -> u64 {
        self.index.lock().trees
    }

    /// Finds further trees until `row` is known, or the last one.
    ///
    /// # Errors
    /// `Cancelled`, after which another call goes on. What is wrong with a tree ends the trees, and is
    /// told as a finding.
    pub fn grow(&self, task: &Task, row: u64) -> Result<()> {
        self.grow_until(task, |index| index.rows > row)
    }

    /// Finds further trees until so many are known, or the last one.
    ///
    /// # Errors
    /// Those of [`Forest::grow`].
    pub fn grow_trees(&self, task: &Task, trees: u64) -> Result<()> {
        self.grow_until(task, |index| index.trees >= trees)
    }

    fn grow_until(&self, task: &Task, is_enough: impl Fn(&Index) -> bool) -> Result<()> {
        let known = || {
            let index = self.index.lock();
            (!index.ended && !is_enough(&index)).then_some(index.next)
        };
        // What is known needs not wait for who goes on.
        if known().is_none() {
            return Ok(());
        }
        let _growing = self.growing.lock();
        let mut window = Window::new(task, &self.source);
        let mut steps = 0u64;
        loop {
            let Some(next) = known() else { return Ok(()) };
            if steps.is_multiple_of(1024) {
                task.check()?;
                task.reached(next);
            }
            steps += 1;
            let found = self.trees.next(&mut window, next).unless_cancelled()?;
            let mut index = self.index.lock();
            match found {
                Ok(Some((span, rows))) => index.push(span, rows),
                Ok(None) => {
                    index.ended = true;
                    if let Some(promised) = self.promised.filter(|promised| *promised != index.trees) {
                        let there = index.trees;
                        let what = format!("model: {there} trees are there, {promised} are promised");
                        index.problem.get_or_insert(Error::malformed(what).at(next));
                    }
                }
                Err(error) => index.fail(placed::<T>(error, next)),
            }
        }
    }

    /// A tree by its number; `None` behind the last one.
    ///
    /// # Errors
    /// Those of [`Forest::grow`].
    pub fn tree(&self, task: &Task, number: u64) -> Result<Option<Tree>> {
        self.grow_trees(task, number.saturating_add(1))?;
        let (mut at, mut first, mut here) = {
            let index = self.index.lock();
            let place = number / index.every;
            let kept = usize::try_from(place).ok().and_then(|place| index.kept.get(place));
            let Some((at, first)) = kept.filter(|_| number < index.trees) else { return Ok(None) };
            (*at, *first, place * index.every)
        };
        let mut window = Window::new(task, &self.source);
        loop {
            task.check()?;
            let Some((span, rows)) = self.trees.next(&mut window, at)? else { return Ok(None) };
            if here == number {
                return Ok(Some(Tree { number, first, span, rows }));
            }
            (at, first, here) = (span.end, first.saturating_add(rows), here + 1);
        }
    }

    /// The node of the trees: their table, and below it the graph of each, which is made when somebody looks at it.
    pub fn node(forest: &Arc<Self>) -> Node {
        let node = Node::new("trees", "table").content(Content::Table(forest.clone()));
        node.lazy(Drawings(forest.clone())).parts()
    }

    /// The known trees that have some of these rows, in order.
    fn trees_of(&self, task: &Task, rows: Range<u64>) -> Result<Vec<Tree>> {
        let (mut number, mut at, mut first, last) = {
            let index = self.index.lock();
            let place = index.kept.partition_point(|(_, first)| *first <= rows.start).saturating_sub(1);
            let Some((at, first)) = index.kept.get(place).copied() else { return Ok(Vec::new()) };
            (place as u64 * index.every, at, first, index.trees)
        };
        let mut window = Window::new(task, &self.source);
        let mut found = Vec::new();
        while number < last && first < rows.end {
            task.check()?;
            let Some((span, count)) = self.trees.next(&mut window, at)? else { break };
            let (tree, end) =
                (Tree { number, first, span: span.clone(), rows: count }, first.saturating_add(count));
            if end > rows.start {
                found.push(tree);
            }
            (number, at, first) = (number + 1, span.end, end);
        }
        Ok(found)
    }

    /// All columns of a tree.
    fn parsed(&self, task: &Task, tree: &Tree) -> Result<Arc<Vec<ArrayRef>>> {
        if let Some(known) = self.parsed.get(&tree.number) {
            return Ok(known);
        }
        let of = |error: Error| placed::<T>(error.of(&format!("tree {}", tree.number)), tree.span.start);
        let columns = self.trees.read(task, &self.source, tree).map_err(of)?;
        if let Some(wrong) = columns.iter().find(|column| column.len() as u64 != tree.rows) {
            let what =
                format!("tree {}: {} nodes are there, {} are promised", tree.number, wrong.len(), tree.rows);
            return Err(placed::<T>(Error::malformed(what), tree.span.start));
        }
        let columns = Arc::new(columns);
        let bytes = columns.iter().map(|column| column.get_array_memory_size()).sum();
        self.parsed.put(tree.number, columns.clone(), bytes);
        Ok(columns)
    }

    /// Calls `each` with all trees in order.
    ///
    /// # Errors
    /// Those of `each`; `Cancelled`.
    pub fn visit(&self, task: &Task, mut each: impl FnMut(&T, &Tree) -> Result<()>) -> Result<()> {
        let mut window = Window::new(task, &self.source);
        let (mut number, mut first, mut at) = (0, 0u64, self.start);
        while let Ok(Some((span, rows))) = self.trees.next(&mut window, at).unless_cancelled()? {
            task.check()?;
            task.reached(span.end);
            let tree = Tree { number, first, span: span.clone(), rows };
            each(&self.trees, &tree)
                .map_err(|error| placed::<T>(error.of(&format!("tree {number}")), span.start))?;
            (number, first, at) = (number + 1, first.saturating_add(rows), span.end);
        }
        Ok(())
    }
}

/// An error with its byte, where places are such.
fn placed<T: Trees>(error: Error, at: u64) -> Error {
    if T::PLACED { error.at(at) } else { error }
}

impl Index {
    fn push(&mut self, span: Range<u64>, rows: u64) {
        if span.end <= self.next || self.rows.checked_add(rows).is_none_or(|all| i64::try_from(all).is_err())
        {
            return self.fail(Error::malformed("tree: its size is not possible").at(span.start));
        }
        if self.trees.is_multiple_of(self.every) {
            if self.kept.len() >= KEPT {
                let mut n = 0;
                self.kept.retain(|_| {
                    n += 1;
                    n % 2 == 1
                });
                self.every *= 2;
            }
            if self.trees.is_multiple_of(self.every) {
                self.kept.push((self.next, self.rows));
            }
        }
        self.trees += 1;
        self.rows += rows;
        self.next = span.end;
    }

    fn fail(&mut self, error: Error) {
        self.ended = true;
        self.problem.get_or_insert(error);
    }
}

impl<T: Trees> Table for Forest<T> {
    fn schema(&self) -> &SchemaRef {
        self.trees.schema()
    }

    fn rows(&self) -> Rows {
        let index = self.index.lock();
        let seen = index.next - self.start;
        match self.source.known_len().map(|len| len.saturating_sub(self.start)) {
            _ if index.ended => Rows::Exact(index.rows),
            Some(all) if seen > 0 => {
                let rows = u128::from(index.rows) * u128::from(all) / u128::from(seen);
                Rows::About {
                    rows: u64::try_from(rows).unwrap_or(u64::MAX).max(index.rows),
                    known: index.rows,
                }
            }
            _ => Rows::AtLeast(index.rows),
        }
    }

    fn read(&self, task: &Task, rows: Range<u64>, columns: &[usize]) -> Result<RecordBatch> {
        if let Some(last) = rows.end.checked_sub(1) {
            self.grow(task, last)?;
        }
        let known = self.index.lock().rows;
        let rows = cut(&rows, known);
        let mut parts: Vec<Vec<ArrayRef>> = Vec::new();
        for tree in self.trees_of(task, rows.clone())? {
            let all = self.parsed(task, &tree)?;
            let start = rows.start.max(tree.first) - tree.first;
            let end = rows.end.min(tree.first + tree.rows) - tree.first;
            let (start, len) = (start as usize, end.saturating_sub(start) as usize);
            let part = columns.iter().filter_map(|&column| Some(all.get(column)?.slice(start, len)));
            parts.push(part.collect());
        }
        stacked(self.schema(), columns, &parts, (rows.end - rows.start) as usize)
    }

    fn count(&self, task: &Task) -> Result<u64> {
        task.set_total(self.source.known_len().unwrap_or(0));
        self.grow(task, u64::MAX)?;
        Ok(self.index.lock().rows)
    }
}

impl<T: Trees> Findings for Forest<T> {
    fn problem(&self) -> Option<Error> {
        self.index.lock().problem.clone()
    }

    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The nodes of a binary tree with their depths, the root's being 0, in the order of a walk that goes down the second child
/// first; `children` gives the two of a node that is no leaf.
///
/// # Errors
/// `Malformed` where a child is none of `count` nodes or has two parents.
pub fn reachable(
    count: usize,
    children: impl Fn(usize) -> Result<Option<[usize; 2]>>,
) -> Result<Vec<(usize, u32)>> {
    let mut seen = vec![false; count];
    let (mut found, mut open) = (Vec::new(), vec![(0usize, 0u32)]);
    while let Some((node, depth)) = open.pop() {
        match seen.get_mut(node) {
            None => return Err(Error::malformed(format!("node {node}: there are {count} nodes"))),
            Some(true) => return Err(Error::malformed(format!("node {node}: two nodes lead to it"))),
            Some(new) => *new = true,
        }
        found.push((node, depth));
        if let Some(both) = children(node)? {
            open.extend(both.map(|child| (child, depth + 1)));
        }
    }
    Ok(found)
}
