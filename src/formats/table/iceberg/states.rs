//! The snapshots of a table in the order in which they were made.

use super::metadata::{Metadata, Snapshot, SnapshotId};
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::node::{Version, Versions};
use std::sync::Arc;

/// The snapshots, from the oldest to the newest.
pub(super) struct States {
    metadata: Arc<Metadata>,
    /// Their places in the metadata.
    order: Vec<usize>,
}

impl States {
    pub(super) fn new(metadata: Arc<Metadata>) -> Arc<States> {
        let mut order: Vec<usize> = (0..metadata.snapshots.len()).collect();
        // Sequence numbers count commits; version 1 has none, and its snapshots have times.
        order.sort_by_key(|n| metadata.snapshots.get(*n).map(|s| (s.sequence, s.timestamp)));
        Arc::new(States { metadata, order })
    }

    pub(super) fn metadata(&self) -> &Arc<Metadata> {
        &self.metadata
    }

    /// Where the snapshot of this number stands.
    pub(super) fn place(&self, id: SnapshotId) -> Option<usize> {
        (0..self.order.len()).find(|n| self.nth(*n).is_some_and(|snapshot| snapshot.id == id))
    }

    /// Schemas with the first snapshot that has each.
    pub(super) fn firsts(&self) -> Vec<(i64, SnapshotId)> {
        let mut firsts: Vec<(i64, SnapshotId)> = Vec::new();
        for snapshot in (0..self.order.len()).filter_map(|n| self.nth(n)) {
            if let Some(schema) = snapshot.schema.filter(|id| firsts.iter().all(|(known, _)| known != id)) {
                firsts.push((schema, snapshot.id));
            }
        }
        firsts
    }

    fn nth(&self, n: usize) -> Option<&Snapshot> {
        self.metadata.snapshots.get(*self.order.get(n)?)
    }
}

impl Versions for States {
    fn count(&self) -> usize {
        self.order.len()
    }

    fn current(&self) -> Option<usize> {
        self.place(self.metadata.current()?.id)
    }

    fn name(&self, n: usize) -> String {
        self.nth(n).map_or(String::new(), |snapshot| format!("snapshot={}", snapshot.id))
    }

    fn about(&self, task: &Task, n: usize) -> Result<Version> {
        task.check()?;
        let snapshot = self.nth(n).ok_or_else(|| Error::bug(format!("snapshot {n} was asked for")))?;
        let marks = self.metadata.references.iter().filter(|r| r.snapshot == snapshot.id);
        let mut details = snapshot.summaries();
        details.retain(|(name, _)| name != "operation");
        Ok(Version {
            time: snapshot.time(),
            operation: snapshot.summary("operation"),
            marks: marks.map(|r| format!("{} {}", r.kind, r.name)).collect(),
            details,
        })
    }
}
