//! The tree behind the explorer: which nodes are open, what is read of lazy ones. A million children
//! cost nothing until they are in sight; only opened nodes have a [`Branch`].

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use gander::bytes::error::Error;
use gander::data::node::{Children, Listing, Node};
use gander::jobs::{Jobs, Shown, Slot};

/// How many children of a lazy node are read at once.
const PAGE: u64 = 200;

/// Files in an open folder are looked into while they are in sight, so that their rows say what they are:
/// so many at a time, and so many of one folder.
const PEEKS: usize = 4;
const PEEKED: usize = 2_000;

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
            let shown = self.slot.get(jobs, &whole, title, move |task| match whole {
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
        let shown = self.real.get(jobs, &0, title, move |task| node.resolved(task));
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
                    self.measured.scan(jobs, &(), &title, move |task| list.measure(task).map(drop));
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
    pub(super) fn trail_to(&mut self, path: &str) -> Option<Vec<u64>> {
        if self.path == path {
            return Some(Vec::new());
        }
        let Children::Listed(list) = &self.node.children else {
            return self.trail_in_kids(path);
        };
        let list = list.clone();
        for (index, node) in list.iter().enumerate() {
            let below = self.node.child_path(&self.path, node);
            let deeper = path.strip_prefix(&below);
            if deeper == Some("") {
                self.open = true;
                return Some(vec![index as u64]);
            }
            if deeper.is_some_and(|rest| rest.starts_with(node.separator) && node.has_children()) {
                let kid = self.kids.entry(index as u64).or_insert_with(|| Branch::new(node.clone(), below));
                if let Some(mut trail) = kid.trail_to(path) {
                    self.open = true;
                    trail.insert(0, index as u64);
                    return Some(trail);
                }
            }
        }
        None
    }

    fn trail_in_kids(&mut self, path: &str) -> Option<Vec<u64>> {
        for (index, kid) in &mut self.kids {
            if let Some(mut trail) = kid.trail_to(path) {
                trail.insert(0, *index);
                return Some(trail);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
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
        let mut branch = tree();
        assert_eq!(branch.trail_to("a.y"), Some(vec![1, 1]));
        assert_eq!(branch.row_of(&[1, 1]), Some(4), "what is above it was opened on the way");
        assert_eq!(branch.trail_to("a.z"), None);
    }
}
