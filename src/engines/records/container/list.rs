//! The records of a container as children of its node.

use super::{Container, Record};
use crate::bytes::error::Result;
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::content::Rows;
use crate::data::node::{Listing, Node};
use std::ops::Range;
use std::sync::Arc;

/// The records as children, by pages: a page tells where they lie, a payload is read when somebody looks into it.
pub struct RecordList<C>(pub Arc<C>);

impl<C: Container> RecordList<C> {
    fn node(&self, record: Record) -> Arc<Node> {
        let (container, name, span) = (self.0.clone(), self.0.name(&record), record.span.clone());
        // Places in what was decompressed are none in the file.
        let is_placed = container.source().path().is_some();
        let node = Node::deferred(name, "record", move |task| {
            let mut node = container.node(task, &record)?;
            if let Some(problem) = &node.problem
                && problem.offset().is_some()
            {
                container.problems().add(problem.clone());
            }
            node.separator = if node.separator.is_empty() { "/" } else { node.separator };
            Ok(node)
        });
        Arc::new(if is_placed { node.span(span) } else { node })
    }
}

impl<C: Container> Listing for RecordList<C> {
    fn count(&self) -> Option<u64> {
        self.0.rows().exact()
    }

    fn page(&self, task: &Task, range: Range<u64>) -> Result<Vec<Arc<Node>>> {
        let end = range.end.min(range.start.saturating_add(limits::LISTED));
        let found = self.0.records(task, range.start..end)?;
        Ok(found.into_iter().map(|record| self.node(record)).collect())
    }

    fn at_least(&self) -> u64 {
        self.0.rows().known()
    }

    fn soon(&self, task: &Task, range: Range<u64>) -> Result<(Vec<Arc<Node>>, bool)> {
        let rows = self.0.rows();
        let known = rows.known();
        let whole = matches!(rows, Rows::Exact(_)) || range.end <= known;
        let nodes = self.page(task, range.start..range.end.min(known).max(range.start))?;
        Ok((nodes, whole))
    }

    fn measure(&self, task: &Task) -> Result<()> {
        self.0.measure(task).map(drop)
    }

    fn find(&self, task: &Task, name: &str) -> Result<Option<Arc<Node>>> {
        Ok(self.0.find(task, name)?.map(|record| self.node(record)))
    }
}
