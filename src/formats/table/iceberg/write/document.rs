//! Table metadata that are written (specification, *Table Metadata Fields*, *Snapshots*).

use super::manifest::Spec;
use super::schema::Made;
use crate::bytes::error::Result;
use crate::engines::multifile::lake::write::{Written, uuid};
use serde_json::{Map, Value as Json, json};

/// The metadata of a new table, to which nothing was written yet.
pub(super) fn first(location: &str, time: i64, made: &Made, spec: &Spec, codec: &str) -> Result<Json> {
    let codec = if codec == "none" { "uncompressed" } else { codec };
    Ok(json!({
        "format-version": 2, "table-uuid": uuid()?, "location": location, "last-sequence-number": 0,
        "last-updated-ms": time, "last-column-id": made.last_id, "current-schema-id": 0,
        "schemas": [made.json], "default-spec-id": 0, "partition-specs": [spec.json()],
        "last-partition-id": spec.last_id(), "default-sort-order-id": 0,
        "sort-orders": [{ "order-id": 0, "fields": [] }],
        "properties": { "write.parquet.compression-codec": codec },
        "current-snapshot-id": -1, "refs": {}, "snapshots": [], "snapshot-log": [], "metadata-log": [],
    }))
}

/// What a new snapshot adds.
pub(super) struct Added<'a> {
    /// Its number.
    pub(super) id: i64,
    /// When it is made, in milliseconds since 1970.
    pub(super) time: i64,
    pub(super) written: &'a [Written],
    /// Which commit of the table it is.
    pub(super) sequence: i64,
}

impl Added<'_> {
    /// Its rows.
    pub(super) fn rows(&self) -> u64 {
        self.written.iter().map(|file| file.rows).sum()
    }

    /// Makes it the current snapshot of a table, whose manifests are listed at `list`.
    pub(super) fn put(&self, document: &mut Json, list: &str) {
        let Json::Object(document) = document else { return };
        let current = document.get("current-snapshot-id").cloned().filter(|id| id.as_i64() != Some(-1));
        let parent = current.filter(|id| !id.is_null());
        let before = document.get("snapshots").and_then(Json::as_array).and_then(|all| {
            all.iter().find(|snapshot| parent.is_some() && snapshot.get("snapshot-id") == parent.as_ref())
        });
        let summary = self.summary(before.and_then(|snapshot| snapshot.get("summary")));
        let mut snapshot = json!({
            "sequence-number": self.sequence, "snapshot-id": self.id, "timestamp-ms": self.time,
            "summary": summary, "manifest-list": list,
            "schema-id": document.get("current-schema-id").cloned().unwrap_or(json!(0)),
        });
        if let (Some(parent), Json::Object(snapshot)) = (parent, &mut snapshot) {
            snapshot.insert("parent-snapshot-id".to_owned(), parent);
        }
        push(document, "snapshots", snapshot);
        push(document, "snapshot-log", json!({ "snapshot-id": self.id, "timestamp-ms": self.time }));
        document.insert("current-snapshot-id".to_owned(), json!(self.id));
        document.insert("last-sequence-number".to_owned(), json!(self.sequence));
        document.insert("last-updated-ms".to_owned(), json!(self.time));
        let main = json!({ "snapshot-id": self.id, "type": "branch" });
        match document.get_mut("refs") {
            // What else is said of the branch stays.
            Some(Json::Object(refs)) => match refs.get_mut("main") {
                Some(Json::Object(branch)) => drop(branch.insert("snapshot-id".to_owned(), json!(self.id))),
                _ => drop(refs.insert("main".to_owned(), main)),
            },
            _ => drop(document.insert("refs".to_owned(), json!({ "main": main }))),
        }
    }

    /// What is said of it, and of the table with it.
    fn summary(&self, before: Option<&Json>) -> Json {
        let bytes: u64 = self.written.iter().map(|file| file.bytes).sum();
        let own =
            [("data-files", self.written.len() as u64), ("records", self.rows()), ("files-size", bytes)];
        let mut summary = Map::new();
        summary.insert("operation".to_owned(), json!("append"));
        for (name, count) in own {
            summary.insert(format!("added-{name}"), json!(count.to_string()));
        }
        let total = |name: &str| before?.get(format!("total-{name}"))?.as_str()?.parse::<u64>().ok();
        let own =
            own.into_iter().chain([("delete-files", 0), ("position-deletes", 0), ("equality-deletes", 0)]);
        for (name, count) in own {
            // Without a total before there is none now.
            if let Some(total) = if before.is_none() { Some(0) } else { total(name) } {
                let total = total.saturating_add(count);
                summary.insert(format!("total-{name}"), json!(total.to_string()));
            }
        }
        Json::Object(summary)
    }
}

/// Appends to a list of the metadata.
pub(super) fn push(document: &mut Map<String, Json>, name: &str, value: Json) {
    match document.get_mut(name) {
        Some(Json::Array(list)) => list.push(value),
        _ => drop(document.insert(name.to_owned(), json!([value]))),
    }
}
