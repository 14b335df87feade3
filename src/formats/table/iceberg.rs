//! Apache Iceberg, versions 1 to 3: a folder of data files and a tree of metadata (`metadata/*.json`, lists of
//! manifests, manifests) that says which of them are the table, at every snapshot.
//! <https://iceberg.apache.org/spec/>
//!
//! Opening reads the newest metadata file and the manifests of the current snapshot. Every snapshot is a node
//! `snapshot=ID` with its files and manifests, branches and tags are `branch=NAME` and `tag=NAME`, and
//! `timestamp=2024-01-31T12:00:00` finds the snapshot of that time; beside them stand the history, the files and
//! manifests of the current snapshot and the schemas. Metadata holds absolute paths of where the table was written: they are looked up where it is now.

mod deletes;
mod files;
mod manifest;
mod metadata;
mod schema;
mod states;
mod write;

#[cfg(test)]
mod tests;

use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::content::{Content, Kind};
use crate::data::format::{Format, Opening, Target};
use crate::data::node::{Listing, Node, page_of};
use crate::data::sniff::{Head, Match};
use crate::engines::multifile::lake::{self, By, text_table};
use arrow::array::{ArrayRef, Int64Array, StringArray, TimestampMillisecondArray};
use metadata::{Metadata, Reference, Snapshot, SnapshotId};
use states::States;
use std::ops::Range;
use std::sync::Arc;

/// Iceberg tables.
pub static FORMAT: Format = Format {
    extensions: &[],
    sniff: Some(sniff),
    reads: &[Kind::Table],
    targets: &[Target::new("iceberg", "Iceberg table", &["iceberg"], &write::WRITER)],
    ..Format::new("iceberg", "Iceberg table", open)
};

fn sniff(head: &Head) -> Match {
    let has = |name: &str| head.entries.iter().any(|e| e.is_folder && e.name == name);
    // Whether the folder holds an Iceberg table shows only inside; `open` gives it back if not.
    if head.is_folder && has(metadata::FOLDER) && !has("_delta_log") { Match::Yes } else { Match::No }
}

fn open(opening: &Opening) -> Result<Node> {
    let Some(metadata) = Metadata::find(opening.task, opening.source)? else {
        return Err(Error::other_format(""));
    };
    let metadata = Arc::new(metadata);
    let name = opening.source.name();
    let mut node = match (metadata.current(), metadata.current_id()) {
        (Some(snapshot), _) => {
            at_snapshot(opening.task, &metadata, snapshot, metadata.current_schema(), name)?
        }
        (None, Some(id)) => {
            let words = format!("Iceberg metadata: the current snapshot {id} is not among its snapshots");
            Node::new(name, "table").problem(Error::malformed(words))
        }
        // A table that was created and never written to.
        (None, None) => {
            let schema = schema::schema(metadata.current_schema())?;
            let empty = lake::table(opening.task, &metadata.places, &schema, By::Id, Vec::new())?;
            Node::new(name, "table").content(Content::Table(empty.table))
        }
    };
    let own = std::mem::take(&mut node.attributes);
    metadata.describe(&mut node);
    node.attributes.extend(own);
    let states = States::new(metadata.clone());
    Ok(node.separator("").timeline(states.clone(), None).lazy(Below { metadata, states }))
}

/// The table at a snapshot with the columns of `columns`, without children.
fn at_snapshot(
    task: &Task,
    metadata: &Arc<Metadata>,
    snapshot: &Snapshot,
    columns: &serde_json::Value,
    name: &str,
) -> Result<Node> {
    let mut node = Node::new(name, "table");
    snapshot.describe(&mut node);
    let made = schema::schema(columns).and_then(|schema| {
        let parts = files::data_files(task, metadata, snapshot, &schema, columns)?;
        let count = parts.len();
        lake::table(task, &metadata.places, &schema, By::Id, parts).map(|joined| (joined, count))
    });
    lake::filled(node, &format!("snapshot {}", snapshot.id), made)
}

/// How many nodes stand before branches, tags and snapshots.
const ABOUT: usize = 4;

/// What lies below the table: history, files, manifests, schemas, branches and tags, snapshots.
struct Below {
    metadata: Arc<Metadata>,
    states: Arc<States>,
}

impl Below {
    fn history(&self) -> Node {
        let metadata = self.metadata.clone();
        Node::deferred("history", "history", move |task| {
            task.check()?;
            Ok(Node::new("history", "history").content(history(&metadata)?))
        })
    }

    fn schemas(&self) -> Node {
        let states = self.states.clone();
        Node::deferred("schemas", "schemas", move |task| {
            task.check()?;
            Ok(Node::new("schemas", "schemas")
                .content(schema::evolution(states.metadata(), &states.firsts())?))
        })
    }

    /// What stands before branches, tags and snapshots.
    fn about(&self, n: usize) -> Option<Node> {
        let current = self.metadata.current().map(|snapshot| snapshot.id);
        let [files, manifests] = inside(&self.metadata, current);
        [self.history(), files, manifests, self.schemas()].into_iter().nth(n)
    }

    fn reference(&self, reference: &Reference) -> Node {
        let (states, id, kind) = (self.states.clone(), reference.snapshot, reference.kind);
        let name = format!("{kind}={}", reference.name);
        let (of, at) = (states.clone(), states.place(id));
        let node = Node::deferred(name.clone(), kind, move |task| {
            let mut node = snapshot_node(task, &states, id, &name)?;
            node.label = kind;
            Ok(node)
        });
        node.timeline(of, at)
    }

    fn snapshot(&self, id: SnapshotId) -> Node {
        let (states, name) = (self.states.clone(), format!("snapshot={id}"));
        let label = name.clone();
        let (of, at) = (states.clone(), states.place(id));
        let make = move |task: &Task| snapshot_node(task, &states, id, &name);
        Node::deferred(label, "snapshot", make).timeline(of, at)
    }

    fn nth(&self, n: usize) -> Option<Node> {
        let (references, snapshots) = (&self.metadata.references, &self.metadata.snapshots);
        let Some(n) = n.checked_sub(ABOUT) else { return self.about(n) };
        match n.checked_sub(references.len()) {
            None => references.get(n).map(|r| self.reference(r)),
            Some(n) => snapshots.get(n).map(|s| self.snapshot(s.id)),
        }
    }
}

/// The files and the manifests of a snapshot, looked for when somebody looks into them.
fn inside(metadata: &Arc<Metadata>, id: Option<SnapshotId>) -> [Node; 2] {
    let (of_files, of_manifests) = (metadata.clone(), metadata.clone());
    let files = move |task: &Task| files::node(task, &of_files, id.and_then(|id| of_files.snapshot(id)));
    let manifests =
        move |task: &Task| manifest::node(task, &of_manifests, id.and_then(|id| of_manifests.snapshot(id)));
    [Node::deferred("files", "files", files), Node::deferred("manifests", "manifests", manifests)]
}

fn snapshot_node(task: &Task, states: &Arc<States>, id: SnapshotId, name: &str) -> Result<Node> {
    let metadata = states.metadata();
    let snapshot =
        metadata.snapshot(id).ok_or_else(|| Error::malformed(format!("there is no snapshot {id}")))?;
    let columns = metadata.schema_of(snapshot);
    let mut node = at_snapshot(task, metadata, snapshot, columns, name)?;
    node.label = "snapshot";
    Ok(node.separator("/").listed(inside(metadata, Some(id)).into()))
}

impl Listing for Below {
    fn count(&self) -> Option<u64> {
        Some((ABOUT + self.metadata.references.len() + self.metadata.snapshots.len()) as u64)
    }

    fn page(&self, task: &Task, range: Range<u64>) -> Result<Vec<Arc<Node>>> {
        page_of(task, range, self.count(), |n| Ok(self.nth(n as usize).map(Arc::new)))
    }

    fn find(&self, _task: &Task, name: &str) -> Result<Option<Arc<Node>>> {
        let id = name.strip_prefix("snapshot=").and_then(|text| text.parse::<SnapshotId>().ok());
        let id = id.filter(|id| self.metadata.snapshot(*id).is_some());
        let time = name.strip_prefix("timestamp=").and_then(lake::millis);
        let id = id.or_else(|| self.metadata.at_time(time?).map(|snapshot| snapshot.id));
        let reference = || self.metadata.references.iter().find(|r| format!("{}={}", r.kind, r.name) == name);
        Ok(match name {
            "history" => self.about(0),
            "files" => self.about(1),
            "manifests" => self.about(2),
            "schemas" => self.about(3),
            _ => id.map(|id| self.snapshot(id)).or_else(|| reference().map(|r| self.reference(r))),
        }
        .map(Arc::new))
    }
}

/// The snapshots as a table.
fn history(metadata: &Metadata) -> Result<Content> {
    let snapshots = &metadata.snapshots;
    let number = |of: &dyn Fn(&Snapshot) -> Option<i64>| -> ArrayRef {
        Arc::new(snapshots.iter().map(of).collect::<Int64Array>())
    };
    let summary = |key: &str| -> ArrayRef {
        Arc::new(snapshots.iter().map(|s| s.summary(key)).collect::<StringArray>())
    };
    let times: TimestampMillisecondArray = snapshots.iter().map(|s| s.timestamp).collect();
    let current = metadata.current().map(|s| s.id);
    let is_current: arrow::array::BooleanArray =
        snapshots.iter().map(|s| Some(Some(s.id) == current)).collect();
    text_table(vec![
        ("snapshot", metadata::ids(&snapshots.iter().map(|s| Some(s.id)).collect::<Vec<_>>())),
        ("parent", metadata::ids(&snapshots.iter().map(|s| s.parent).collect::<Vec<_>>())),
        ("timestamp", Arc::new(times.with_timezone("UTC"))),
        ("operation", summary("operation")),
        ("sequence number", number(&|s| s.sequence)),
        ("schema", number(&|s| s.schema)),
        ("added rows", summary("added-records")),
        ("deleted rows", summary("deleted-records")),
        ("total rows", summary("total-records")),
        ("total files", summary("total-data-files")),
        ("current", Arc::new(is_current)),
    ])
}
