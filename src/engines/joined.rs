//! The children of a node among others: a model's tensors with the files beside it, the values of a run with its
//! checkpoints.

use crate::bytes::error::Result;
use crate::bytes::task::Task;
use crate::data::node::{Children, Listing, Node};
use std::ops::Range;
use std::sync::Arc;

/// `root` with `before`, the children of `inner` and `after` below it, in this order. `inner` itself is not seen;
/// the separator of `root` stands for its own.
pub fn joined(root: Node, before: Vec<Node>, inner: Node, after: Vec<Node>) -> Node {
    let shared = |nodes: Vec<Node>| nodes.into_iter().map(Arc::new).collect();
    root.lazy(Joined { before: shared(before), inner, after: shared(after) })
}

struct Joined {
    before: Vec<Arc<Node>>,
    inner: Node,
    after: Vec<Arc<Node>>,
}

impl Joined {
    /// The page `range`, the part of the inner node's children given by `inner`.
    fn paged(
        &self,
        range: Range<u64>,
        mut inner: impl FnMut(Range<u64>) -> Result<Vec<Arc<Node>>>,
    ) -> Result<Vec<Arc<Node>>> {
        let before = self.before.len() as u64;
        let part = |list: &[Arc<Node>], range: Range<u64>| {
            let end = range.end.min(list.len() as u64) as usize;
            let start = (range.start as usize).min(end);
            list.get(start..end).unwrap_or_default().to_vec()
        };
        let mut page = part(&self.before, range.clone());
        let below = range.start.saturating_sub(before)..range.end.saturating_sub(before);
        if below.start < below.end {
            let nodes = inner(below.clone())?;
            let got = nodes.len() as u64;
            page.extend(nodes);
            // What is behind begins where the children of the inner node end, which a short page tells.
            if got < below.end - below.start
                && let Some(count) = self.inner.child_count()
            {
                page.extend(part(
                    &self.after,
                    below.start.saturating_sub(count)..below.end.saturating_sub(count),
                ));
            }
        }
        Ok(page)
    }

    fn others(&self) -> u64 {
        (self.before.len() + self.after.len()) as u64
    }
}

impl Listing for Joined {
    fn count(&self) -> Option<u64> {
        Some(self.inner.child_count()?.saturating_add(self.others()))
    }

    fn page(&self, task: &Task, range: Range<u64>) -> Result<Vec<Arc<Node>>> {
        self.paged(range, |below| self.inner.child_page(task, below))
    }

    fn at_least(&self) -> u64 {
        self.inner.children_at_least().saturating_add(self.others())
    }

    fn soon(&self, task: &Task, range: Range<u64>) -> Result<(Vec<Arc<Node>>, bool)> {
        let mut whole = true;
        let page = self.paged(range, |below| {
            let (nodes, all) = self.inner.children_soon(task, below)?;
            whole = all;
            Ok(nodes)
        })?;
        Ok((page, whole))
    }

    fn measure(&self, task: &Task) -> Result<()> {
        match &self.inner.children {
            Children::Lazy(list) => list.measure(task),
            _ => Ok(()),
        }
    }

    fn boundaries(&self) -> &'static [char] {
        match &self.inner.children {
            Children::Lazy(list) => list.boundaries(),
            _ => &['/', '.'],
        }
    }

    fn find(&self, task: &Task, name: &str) -> Result<Option<Arc<Node>>> {
        let own = self.before.iter().chain(&self.after).find(|node| node.name == name);
        if let Some(node) = own {
            return Ok(Some(node.clone()));
        }
        match &self.inner.children {
            Children::None => Ok(None),
            Children::Listed(list) => Ok(list.iter().find(|node| node.name == name).cloned()),
            Children::Lazy(list) => list.find(task, name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::node::page_of;

    /// So many children, of which nobody knows before whether there are more.
    struct Numbers(u64, bool);

    impl Listing for Numbers {
        fn count(&self) -> Option<u64> {
            self.1.then_some(self.0)
        }

        fn page(&self, task: &Task, range: Range<u64>) -> Result<Vec<Arc<Node>>> {
            page_of(task, range, Some(self.0), |n| Ok(Some(Arc::new(Node::new(n.to_string(), "number")))))
        }
    }

    #[test]
    fn pages_go_over_all_parts() {
        let named = |names: &[&str]| names.iter().map(|name| Node::new(*name, "other")).collect::<Vec<_>>();
        for count in [0, 1, 5] {
            let inner = Node::new("inner", "list").lazy(Numbers(count, true));
            let root =
                Arc::new(joined(Node::new("root", "all"), named(&["a", "b"]), inner, named(&["y", "z"])));
            let all = root.child_page(&Task::new(), 0..100).unwrap();
            let names: Vec<&str> = all.iter().map(|node| node.name.as_str()).collect();
            assert_eq!(names.len() as u64, count + 4);
            assert_eq!(root.child_count(), Some(count + 4));
            assert_eq!((names[0], names[names.len() - 1]), ("a", "z"));
            for (start, end) in [(0, 1), (1, 4), (2, 3), (3, 9), (8, 9), (20, 30)] {
                let page = root.child_page(&Task::new(), start..end).unwrap();
                let page: Vec<&str> = page.iter().map(|node| node.name.as_str()).collect();
                let (start, end) = (names.len().min(start as usize), names.len().min(end as usize));
                assert_eq!(page, names[start..end]);
            }
            for name in &names {
                assert_eq!(root.find(&Task::new(), &format!("/{name}")).unwrap().unwrap().name, *name);
            }
            assert!(root.find(&Task::new(), "/no").unwrap().is_none());
        }
    }
}
