//! The tree behind the explorer: which nodes are open, what is read of lazy ones. A million children
//! cost nothing until they are in sight; only opened nodes have a [`Branch`].

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use gander::bytes::error::Error;
use gander::data::node::{Children, Listing, Node};
use gander::jobs::{JobSpec, Jobs, Shown, Slot};

/// How many children of a lazy node are read at once.
const PAGE: u64 = 200;

/// Files in an open folder are looked into while they are in sight, so that their rows say what they are:
/// so many at a time, and so many of one folder.
const PEEKS: usize = 4;
const PEEKED: usize = 2_000;

/// Of more children a job looks for the one that a path leads to.
const LOOKED: usize = 5_000;

/// The way to a path.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Trail {
    /// The child numbers that lead there.
    There(Vec<u64>),
    /// A job looks for it.
    Waits,
    /// It is not in memory.
    Unknown,
}

impl Trail {
    /// The same from above the child with this number.
    fn below(self, child: u64) -> Self {
        match self {
            Trail::There(mut trail) => {
                trail.insert(0, child);
                Trail::There(trail)
            }
            other => other,
        }
    }
}

/// A node that was opened or looked into.
pub(super) struct Branch {
    /// The node; what it really is once it was looked into.
    pub(super) node: Arc<Node>,
    /// Its path in the file.
    pub(super) path: String,
    /// Whether its children show.
    pub(super) open: bool,
    resolved: bool,
    real: Slot<u8, Arc<Node>>,
    pages: BTreeMap<u64, Page>,
    /// The number of children where the list itself does not know it: found by reading to the end.
    end: Option<u64>,
    /// Children read so far, where their number is not known.
    seen: u64,
    /// The counting of the others, once the first page was full.
    measured: Slot<(), ()>,
    /// The children on the way to a path that was asked for.
    ways: Slot<String, Vec<usize>>,
    kids: BTreeMap<u64, Branch>,
    /// Children that are being looked into without having been asked for.
    peeking: Vec<u64>,
    peeked: usize,
}

/// A page of children: at first what can be had at once, then, if that is not all, all of it.
#[derive(Default)]
struct Page {
    whole: bool,
    slot: Slot<bool, (Vec<Arc<Node>>, bool)>,
}

impl Page {
    fn get(
        &mut self,
        jobs: &Jobs,
        title: &str,
        list: &Arc<dyn Listing>,
        range: Range<u64>,
    ) -> Shown<(Vec<Arc<Node>>, bool)> {
        loop {
            let (whole, list, range) = (self.whole, list.clone(), range.clone());
            let shown =
                self.slot.get(jobs, &whole, JobSpec::view(title.to_owned()), move |task| match whole {
                    true => Ok((list.page(task, range)?, true)),
                    false => list.soon(task, range),
                });
            let partly = shown.fresh && shown.value.as_ref().is_some_and(|value| !value.1);
            if whole || !partly {
                return shown;
            }
            self.whole = true;
        }
    }
}

/// A child as far as it is read.
pub(super) enum Child {
    /// It is there.
    Node(Arc<Node>),
    /// A job reads it.
    Pending,
    /// It could not be read.
    Failed(Error),
}

/// One row in sight.
pub(super) struct Row {
    /// Its number.
    pub(super) index: u64,
    /// The child numbers that lead to it from the file's root.
    pub(super) trail: Vec<u64>,
    /// The path in the file.
    pub(super) path: String,
    /// The node, or why it is not there.
    pub(super) child: Child,
    /// Whether its children show.
    pub(super) open: bool,
}

impl Branch {
    /// A closed branch.
    pub(super) fn new(node: Arc<Node>, path: String) -> Self {
        let resolved = !matches!(node.children, Children::Lazy(_));
        Branch {
            node,
            path,
            open: false,
            resolved,
            real: Slot::default(),
            pages: BTreeMap::new(),
            end: None,
            seen: 0,
            measured: Slot::default(),
            ways: Slot::default(),
            kids: BTreeMap::new(),
            peeking: Vec::new(),
            peeked: 0,
        }
    }

    /// Finds out by a job what the node really is, if it stands for another file. True once known.
    pub(super) fn look(&mut self, jobs: &Jobs) -> bool {
        let title = format!("looking into {}", self.node.name);
        self.look_as(&title, jobs)
    }

    fn look_as(&mut self, title: &str, jobs: &Jobs) -> bool {
        if self.resolved {
            return true;
        }
        let node = self.node.clone();
        let shown = self.real.get(jobs, &0, JobSpec::view(title.to_owned()), move |task| node.resolved(task));
        if let Some(real) = shown.value {
            self.node = (*real).clone();
            self.resolved = true;
        } else if let Some(error) = shown.error {
            let mut node = (*self.node).clone();
            node.problem = Some(error);
            node.children = Children::None;
            self.node = Arc::new(node);
            self.resolved = true;
        }
        self.resolved
    }

    /// How many rows its children take while they are all closed, a waiting one included.
    fn count(&self) -> u64 {
        if !self.resolved {
            return 1;
        }
        match self.node.child_count().or(self.end) {
            Some(count) => count,
            None => self.seen.max(self.node.children_at_least()) + 1,
        }
    }

    /// How many rows it takes.
    pub(super) fn rows(&self) -> u64 {
        if !self.open {
            return 1;
        }
        let below: u64 = self.kids.values().map(|kid| kid.rows() - 1).sum();
        1 + self.count() + below
    }

    /// The child with this number, asked for by a job where it is not in memory.
    fn child(&mut self, index: u64, jobs: &Jobs) -> Child {
        if !self.look(jobs) {
            return Child::Pending;
        }
        match &self.node.children {
            Children::None => Child::Pending,
            Children::Listed(list) => list.get(index as usize).cloned().map_or(Child::Pending, Child::Node),
            Children::Lazy(list) => {
                let (page, list) = (index / PAGE, list.clone());
                let start = page * PAGE;
                let title = format!("listing {}", self.node.name);
                let shown = self.pages.entry(page).or_default().get(jobs, &title, &list, start..start + PAGE);
                let known = shown.value.as_ref().and_then(|value| value.0.get((index - start) as usize));
                if let (Some(error), None) = (shown.error, known) {
                    self.end.get_or_insert(index + 1);
                    return Child::Failed(error);
                }
                let Some(value) = &shown.value else { return Child::Pending };
                let (nodes, whole) = value.as_ref();
                self.seen = self.seen.max(start + nodes.len() as u64);
                if *whole && (nodes.len() as u64) < PAGE {
                    self.end = Some(start + nodes.len() as u64);
                } else if *whole && list.count().is_none() {
                    let title = format!("counting what is in {}", self.node.name);
                    // Without a count the rows still come as they are scrolled to.
                    self.measured
                        .get(jobs, &(), JobSpec::scan(title), move |task| list.measure(task).map(drop));
                }
                known.cloned().map_or(Child::Pending, Child::Node)
            }
        }
    }

    /// The rows of this branch that lie in `wanted`; the first has the number `at`. `reopen` are paths
    /// that were open earlier.
    pub(super) fn visit(
        &mut self,
        at: u64,
        wanted: &Range<u64>,
        trail: &mut Vec<u64>,
        jobs: &Jobs,
        reopen: &mut HashSet<String>,
        out: &mut Vec<Row>,
    ) {
        if reopen.remove(&self.path) {
            self.open = true;
        }
        if wanted.contains(&at) {
            out.push(Row {
                index: at,
                trail: trail.clone(),
                path: self.path.clone(),
                child: Child::Node(self.node.clone()),
                open: self.open,
            });
        }
        if !self.open {
            return;
        }
        self.look(jobs);
        let kids = &mut self.kids;
        self.peeking.retain(|index| kids.get_mut(index).is_some_and(|kid| !kid.look_as("", jobs)));
        let mut row = at + 1;
        let mut next = 0;
        let opened: Vec<u64> = self.kids.keys().copied().collect();
        for kid in opened {
            self.gap(&mut row, next..kid, wanted, trail, jobs, reopen, out);
            if let Some(branch) = self.kids.get_mut(&kid) {
                let rows = branch.rows();
                if row < wanted.end && row + rows > wanted.start {
                    trail.push(kid);
                    branch.visit(row, wanted, trail, jobs, reopen, out);
                    trail.pop();
                }
                row += rows;
            }
            next = kid + 1;
        }
        let count = self.count();
        self.gap(&mut row, next..count.max(next), wanted, trail, jobs, reopen, out);
    }

    /// Children without a branch of their own, one row each.
    #[allow(clippy::too_many_arguments, reason = "the state of one recursive walk")]
    fn gap(
        &mut self,
        row: &mut u64,
        kids: Range<u64>,
        wanted: &Range<u64>,
        trail: &[u64],
        jobs: &Jobs,
        reopen: &mut HashSet<String>,
        out: &mut Vec<Row>,
    ) {
        let start = *row;
        *row += kids.end - kids.start;
        let first = wanted.start.saturating_sub(start).min(kids.end - kids.start);
        let last = wanted.end.saturating_sub(start).min(kids.end - kids.start);
        for offset in first..last {
            let index = kids.start + offset;
            let child = self.child(index, jobs);
            let path = match &child {
                Child::Node(node) => self.node.child_path(&self.path, node),
                _ => String::new(),
            };
            if let Child::Node(node) = &child
                && reopen.remove(&path)
            {
                let mut branch = Branch::new(node.clone(), path.clone());
                branch.open = node.has_children();
                self.kids.insert(index, branch);
            }
            let mut trail = trail.to_vec();
            trail.push(index);
            if let Child::Node(node) = &child {
                self.peek(index, node, &path, jobs);
            }
            out.push(Row { index: start + offset, trail, path, child, open: false });
        }
    }

    /// Looks into a file of a folder, if not too many are being looked into.
    fn peek(&mut self, index: u64, node: &Arc<Node>, path: &str, jobs: &Jobs) {
        let file = node.label == "array" || (self.node.label == "folder" && node.label == "file");
        if !file || !matches!(node.children, Children::Lazy(_)) || self.peeked >= PEEKED {
            return;
        }
        if self.peeking.len() < PEEKS && !self.kids.contains_key(&index) {
            let mut branch = Branch::new(node.clone(), path.to_owned());
            branch.look_as("", jobs);
            self.kids.insert(index, branch);
            self.peeking.push(index);
            self.peeked += 1;
        }
    }

    /// The branch at the end of a trail, made if it is not there yet.
    pub(super) fn descend(&mut self, trail: &[u64], jobs: &Jobs) -> Option<&mut Branch> {
        let Some((&first, rest)) = trail.split_first() else { return Some(self) };
        if !self.kids.contains_key(&first) {
            let Child::Node(node) = self.child(first, jobs) else { return None };
            let path = self.node.child_path(&self.path, &node);
            self.kids.insert(first, Branch::new(node, path));
        }
        self.kids.get_mut(&first)?.descend(rest, jobs)
    }

    /// The row of the node at the end of a trail, counted from this branch's own row.
    pub(super) fn row_of(&self, trail: &[u64]) -> Option<u64> {
        let Some((&first, rest)) = trail.split_first() else { return Some(0) };
        if !self.open {
            return None;
        }
        let before: u64 = self.kids.range(..first).map(|(_, kid)| kid.rows() - 1).sum();
        let row = 1 + first + before;
        match self.kids.get(&first) {
            Some(kid) => kid.row_of(rest).map(|below| row + below),
            None => rest.is_empty().then_some(row),
        }
    }

    /// The paths of all open nodes, for the session and for reloads.
    pub(super) fn open_paths(&self, out: &mut Vec<String>) {
        if self.open {
            out.push(self.path.clone());
            self.kids.values().for_each(|kid| kid.open_paths(out));
        }
    }

    /// The trail to a path along what is in memory, opening on the way.
    pub(super) fn trail_to(&mut self, path: &str, jobs: &Jobs) -> Trail {
        if self.path == path {
            return Trail::There(Vec::new());
        }
        let Children::Listed(list) = &self.node.children else {
            return self.trail_in_kids(path, jobs);
        };
        let list = list.clone();
        let Some(ways) = self.ways(&list, path, jobs) else { return Trail::Waits };
        for index in ways {
            let Some(node) = list.get(index) else { continue };
            let below = self.node.child_path(&self.path, node);
            if path == below {
                self.open = true;
                return Trail::There(vec![index as u64]);
            }
            let kid = self.kids.entry(index as u64).or_insert_with(|| Branch::new(node.clone(), below));
            match kid.trail_to(path, jobs).below(index as u64) {
                Trail::Unknown => {}
                Trail::Waits => return Trail::Waits,
                found => {
                    self.open = true;
                    return found;
                }
            }
        }
        Trail::Unknown
    }

    /// The children that lie on the way to a path. Of many a job looks for them; `None` until it is done.
    fn ways(&self, list: &Arc<Vec<Arc<Node>>>, path: &str, jobs: &Jobs) -> Option<Vec<usize>> {
        let Some(rest) =
            path.strip_prefix(&self.path).and_then(|rest| rest.strip_prefix(self.node.separator))
        else {
            return Some(Vec::new());
        };
        if list.len() <= LOOKED {
            return Some(ways(list, rest));
        }
        let (list, rest) = (list.clone(), rest.to_owned());
        let shown = self.ways.get(jobs, &path.to_owned(), JobSpec::view(""), move |_| Ok(ways(&list, &rest)));
        // What fails is not there.
        shown.answer().map(|ways| ways.map_or(Vec::new(), |ways| ways.as_ref().clone()))
    }

    fn trail_in_kids(&mut self, path: &str, jobs: &Jobs) -> Trail {
        for (index, kid) in &mut self.kids {
            match kid.trail_to(path, jobs).below(*index) {
                Trail::Unknown => {}
                found => return found,
            }
        }
        // A child that was never opened is among those that were read.
        let found = self.pages.iter().find_map(|(page, read)| {
            let read = read.slot.peek(&read.whole).value?;
            let is_it = |node: &Arc<Node>| {
                path.ends_with(&node.name) && self.node.child_path(&self.path, node) == path
            };
            let at = read.0.iter().position(is_it)?;
            Some(page * PAGE + at as u64)
        });
        match found {
            Some(child) => {
                self.open = true;
                Trail::There(vec![child])
            }
            None => Trail::Unknown,
        }
    }
}

/// The children whose name is, or may begin, the rest of a path.
fn ways(list: &[Arc<Node>], rest: &str) -> Vec<usize> {
    let leads = |node: &Arc<Node>| {
        let deeper = rest.strip_prefix(node.name.as_str());
        deeper.is_some_and(|deeper| {
            deeper.is_empty() || (deeper.starts_with(node.separator) && node.has_children())
        })
    };
    list.iter().enumerate().filter(|(_, node)| leads(node)).map(|(index, _)| index).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::{Duration, Instant};

    use gander::bytes::error::Result;
    use gander::bytes::task::Task;

    use super::*;

    fn tree() -> Branch {
        let leaf = |name: &str| Node::new(name, "tensor");
        let a = Node::new("a", "group").separator(".").listed(vec![leaf("x"), leaf("y")]);
        let root = Node::new("f", "file").separator("").listed(vec![leaf("0"), a, leaf("b")]);
        let mut branch = Branch::new(Arc::new(root), String::new());
        branch.open = true;
        branch
    }

    fn shown(branch: &mut Branch, wanted: Range<u64>) -> Vec<(u64, String)> {
        let jobs = Jobs::new(|| {});
        let mut out = Vec::new();
        branch.visit(0, &wanted, &mut Vec::new(), &jobs, &mut HashSet::new(), &mut out);
        out.into_iter().map(|row| (row.index, row.path)).collect()
    }

    #[test]
    fn rows_are_counted_and_found_without_listing_all() {
        let mut branch = tree();
        let jobs = Jobs::new(|| {});
        assert_eq!(branch.rows(), 4);
        branch.descend(&[1], &jobs).unwrap().open = true;
        assert_eq!(branch.rows(), 6);
        let names = |rows: Vec<(u64, String)>| rows.into_iter().map(|r| r.1).collect::<Vec<_>>();
        assert_eq!(names(shown(&mut branch, 0..10)), ["", "0", "a", "a.x", "a.y", "b"]);
        assert_eq!(shown(&mut branch, 3..5), [(3, "a.x".into()), (4, "a.y".into())]);
        assert_eq!(branch.row_of(&[1, 1]), Some(4));
        assert_eq!(branch.row_of(&[2]), Some(5));
    }

    #[test]
    fn a_path_is_found_and_opened() {
        let (mut branch, jobs) = (tree(), Jobs::new(|| {}));
        assert_eq!(branch.trail_to("a.y", &jobs), Trail::There(vec![1, 1]));
        assert_eq!(branch.row_of(&[1, 1]), Some(4), "what is above it was opened on the way");
        assert_eq!(branch.trail_to("a.z", &jobs), Trail::Unknown);
    }

    #[test]
    fn among_a_million_children_a_job_finds_the_path() {
        let leaf = |n: u32| Node::new(format!("t{n}"), "tensor");
        let root = Node::new("f", "file").separator("").listed((0..1_000_000).map(leaf).collect());
        let (mut branch, jobs) = (Branch::new(Arc::new(root), String::new()), Jobs::new(|| {}));
        branch.open = true;
        assert_eq!(branch.trail_to("t999999", &jobs), Trail::Waits, "nothing is searched in the frame");
        let started = std::time::Instant::now();
        while branch.trail_to("t999999", &jobs) == Trail::Waits {
            assert!(started.elapsed().as_secs() < 60);
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        assert_eq!(branch.trail_to("t999999", &jobs), Trail::There(vec![999_999]));
        assert_eq!(branch.rows(), 1_000_001);
        let last: Vec<String> = shown(&mut branch, 999_990..1_000_001).into_iter().map(|row| row.1).collect();
        assert_eq!((last.len(), last[10].as_str()), (11, "t999999"));
    }

    /// Children that cannot be listed before the gate is open.
    struct Gated {
        open: Arc<AtomicBool>,
        count: u64,
    }

    impl Listing for Gated {
        fn count(&self) -> Option<u64> {
            None
        }

        fn page(&self, task: &Task, range: Range<u64>) -> Result<Vec<Arc<Node>>> {
            while !self.open.load(Ordering::Relaxed) {
                task.check()?;
                std::thread::sleep(Duration::from_millis(1));
            }
            let range = range.start.min(self.count)..range.end.min(self.count);
            Ok(range.map(|n| Arc::new(Node::new(n.to_string(), "leaf"))).collect())
        }
    }

    /// Asks for rows until none of them is waited for.
    fn walk(branch: &mut Branch, jobs: &Jobs, wanted: Range<u64>) -> Vec<Row> {
        let started = Instant::now();
        loop {
            let mut out = Vec::new();
            branch.visit(0, &wanted, &mut Vec::new(), jobs, &mut HashSet::new(), &mut out);
            // A job that ends between the visit and this question has left rows that the visit did not see.
            if jobs.list().is_empty() && !out.iter().any(|row| matches!(row.child, Child::Pending)) {
                return out;
            }
            assert!(started.elapsed() < Duration::from_secs(20), "the jobs do not end");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn a_listing_that_was_cancelled_goes_on_and_cuts_nothing() {
        let (jobs, open) = (Jobs::new(|| {}), Arc::new(AtomicBool::new(false)));
        let lazy = Children::Lazy(Arc::new(Gated { open: open.clone(), count: 450 }));
        let mut root = Node::new("f", "file").separator("");
        root.children = lazy;
        let mut branch = Branch::new(Arc::new(root), String::new());
        branch.open = true;
        for round in 0..3 {
            // What the root is was looked for in the first round; then it is listed.
            while round > 0 && !branch.look(&jobs) {
                std::thread::sleep(Duration::from_millis(1));
            }
            let mut out = Vec::new();
            branch.visit(0, &(0..10), &mut Vec::new(), &jobs, &mut HashSet::new(), &mut out);
            assert!(out.iter().skip(1).all(|row| matches!(row.child, Child::Pending)));
            assert!(branch.end.is_none() && branch.node.problem.is_none());
            // As *Cancel all jobs* does.
            let started = Instant::now();
            while !jobs.list().is_empty() {
                jobs.cancel_all();
                assert!(started.elapsed() < Duration::from_secs(20), "the jobs do not end");
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        open.store(true, Ordering::Relaxed);
        for first in [0, 190, 390, 440] {
            walk(&mut branch, &jobs, first..first + 20);
        }
        let rows = walk(&mut branch, &jobs, 440..460);
        let last = rows.last().map(|row| row.path.clone());
        assert_eq!((branch.rows(), last.as_deref()), (451, Some("449")));
    }
}
