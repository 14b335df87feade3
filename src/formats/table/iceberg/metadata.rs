//! Table metadata: which file it is, and what it says (specification, *Table Metadata*).

use crate::bytes::codec::gzip::gzip;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::node::{Node, Value};
use crate::engines::multifile::lake::{Places, time};
use arrow::array::{ArrayRef, Int64Array, StringArray, UInt64Array};
use serde_json::Value as Json;
use std::sync::Arc;

/// The folder of the metadata below the table's.
pub(super) const FOLDER: &str = "metadata";

/// The number of a snapshot: a `long` by the specification, in tables of some writers beyond that.
pub(super) type SnapshotId = i128;

/// The number of a snapshot where it is written.
fn snapshot_id(json: &Json) -> Option<SnapshotId> {
    match json {
        Json::Number(number) => number.to_string().parse().ok(),
        Json::String(text) => text.parse().ok(),
        _ => None,
    }
}

/// Whether two numbers are of one snapshot: in 64 bits some writers give them a sign and some do not.
fn is_same(one: SnapshotId, other: SnapshotId) -> bool {
    let words = i128::from(i64::MIN)..=i128::from(u64::MAX);
    one == other || words.contains(&one) && words.contains(&other) && one as u64 == other as u64
}

/// A column of numbers of snapshots: signed if all are, else unsigned or as text.
pub(super) fn ids(all: &[Option<SnapshotId>]) -> ArrayRef {
    fn fit<N: TryFrom<SnapshotId>>(all: &[Option<SnapshotId>]) -> Option<Vec<Option<N>>> {
        all.iter().map(|id| id.map(N::try_from).transpose().ok()).collect()
    }
    if let Some(signed) = fit::<i64>(all) {
        return Arc::new(Int64Array::from(signed));
    }
    match fit::<u64>(all) {
        Some(unsigned) => Arc::new(UInt64Array::from(unsigned)),
        None => Arc::new(all.iter().map(|id| id.map(|id| id.to_string())).collect::<StringArray>()),
    }
}

/// What a metadata file says, as far as it is looked at here.
pub(super) struct Metadata {
    json: Json,
    /// The name of the metadata file.
    file: String,
    pub(super) places: Places,
    pub(super) snapshots: Vec<Snapshot>,
    pub(super) references: Vec<Reference>,
}

/// One state of the table.
pub(super) struct Snapshot {
    pub(super) id: SnapshotId,
    pub(super) parent: Option<SnapshotId>,
    pub(super) sequence: Option<i64>,
    /// Milliseconds since 1970.
    pub(super) timestamp: Option<i64>,
    pub(super) schema: Option<i64>,
    json: Json,
}

/// A branch or a tag.
pub(super) struct Reference {
    pub(super) name: String,
    /// `branch` or `tag`.
    pub(super) kind: &'static str,
    pub(super) snapshot: SnapshotId,
}

impl Metadata {
    /// The newest metadata of the table in the folder `root`; `None` where there is none.
    pub(super) fn find(task: &Task, root: &Source) -> Result<Option<Metadata>> {
        let folder = root.child(task, FOLDER)?;
        let entries = folder.entries(task)?;
        let mut candidates: Vec<(u64, String)> = entries
            .iter()
            .filter(|entry| !entry.is_folder)
            .filter_map(|entry| Some((version(&entry.name)?, entry.name.clone())))
            .collect();
        candidates.sort();
        let hint = entries.iter().any(|entry| entry.name == "version-hint.text");
        if hint && let Ok(hinted) = hinted(task, &folder) {
            // What the catalog of the folder says is the table, even if a failed commit left a newer file.
            candidates.sort_by_key(|(version, _)| *version == hinted);
        }
        let Some((mut number, mut name)) = candidates.pop() else { return Ok(None) };
        // In a folder a file with the next number is the next state, though the hint to it may not be there yet.
        while name.starts_with('v')
            && let Some((next, later)) =
                candidates.iter().find(|(other, later)| *other == number + 1 && later.starts_with('v'))
        {
            (number, name) = (*next, later.clone());
        }
        let source = folder.child(task, &name)?;
        Metadata::read(task, root, &source, name.clone()).map(Some).map_err(|e| e.in_file(&name))
    }

    fn read(task: &Task, root: &Source, source: &Source, file: String) -> Result<Metadata> {
        let json = json(task, source)?;
        let version = json.get("format-version").and_then(Json::as_i64).unwrap_or(1);
        if !(1..=3).contains(&version) {
            return Err(Error::unsupported(format!("Iceberg: format version {version}; known are 1 to 3")));
        }
        let snapshots = json.get("snapshots").and_then(Json::as_array).cloned().unwrap_or_default();
        let parsed = |(n, one)| {
            let nameless =
                || Error::malformed(format!("Iceberg metadata: snapshot {n} of the list has no number"));
            Snapshot::parse(one).ok_or_else(nameless)
        };
        let snapshots = snapshots.into_iter().enumerate().map(parsed).collect::<Result<_>>()?;
        let references = json.get("refs").and_then(Json::as_object);
        let references = references.into_iter().flatten().filter_map(Reference::parse).collect();
        let places =
            Places::new(root.clone(), json.get("location").and_then(Json::as_str), crate::formats::ALL);
        Ok(Metadata { file, places, snapshots, references, json })
    }

    pub(super) fn get(&self, key: &str) -> Option<&Json> {
        self.json.get(key).filter(|value| !value.is_null())
    }

    /// All of it.
    pub(super) fn document(&self) -> &Json {
        &self.json
    }

    /// The name of its file.
    pub(super) fn file(&self) -> &str {
        &self.file
    }

    /// Its number among those of a folder that is its own catalog.
    ///
    /// # Errors
    /// `Unsupported` where another catalog keeps it.
    pub(super) fn number(&self) -> Result<u64> {
        let number = Some(&self.file).filter(|file| file.starts_with('v')).and_then(|file| version(file));
        number.ok_or_else(|| {
            let what = "a catalog keeps its metadata: rows are added to tables of vN.metadata.json";
            Error::unsupported(format!("Iceberg table: {} is the newest one, so {what}", self.file))
        })
    }

    /// The snapshot that is the table now.
    pub(super) fn current(&self) -> Option<&Snapshot> {
        self.snapshot(self.current_id()?)
    }

    /// The number of the snapshot that is the table now, which may not be there; `None` where nothing was written
    /// to the table.
    pub(super) fn current_id(&self) -> Option<SnapshotId> {
        let main = || Some(self.references.iter().find(|r| r.name == "main")?.snapshot);
        // Older writers say -1 where there is none.
        let said = self.get("current-snapshot-id").and_then(snapshot_id).or_else(main);
        said.filter(|id| !is_same(*id, -1) || self.snapshot(*id).is_some())
    }

    /// The snapshot of this number.
    pub(super) fn snapshot(&self, id: SnapshotId) -> Option<&Snapshot> {
        self.snapshots.iter().find(|snapshot| is_same(snapshot.id, id))
    }

    /// The snapshot that was the table at a time (milliseconds since 1970): as the log of changes has it, else
    /// the newest one not after that.
    pub(super) fn at_time(&self, millis: i64) -> Option<&Snapshot> {
        let log = self.get("snapshot-log").and_then(Json::as_array).into_iter().flatten();
        let one = |entry: &Json| {
            Some((entry.get("timestamp-ms")?.as_i64()?, snapshot_id(entry.get("snapshot-id")?)?))
        };
        let logged = log.filter_map(one).filter(|(time, _)| *time <= millis).max_by_key(|(time, _)| *time);
        let found = logged.and_then(|(_, id)| self.snapshot(id));
        found.or_else(|| {
            let before = |s: &&Snapshot| s.timestamp.is_some_and(|time| time <= millis);
            self.snapshots.iter().filter(before).max_by_key(|s| s.timestamp)
        })
    }

    /// All schemas, in the file's order.
    pub(super) fn schemas(&self) -> Vec<&Json> {
        match self.get("schemas").and_then(Json::as_array) {
            Some(list) if !list.is_empty() => list.iter().collect(),
            _ => self.get("schema").into_iter().collect(),
        }
    }

    fn schema_by_id(&self, id: i64) -> Option<&Json> {
        self.schemas().into_iter().find(|s| s.get("schema-id").and_then(Json::as_i64).unwrap_or(0) == id)
    }

    /// The schema that the table has now.
    pub(super) fn current_schema(&self) -> &Json {
        let id = self.get("current-schema-id").and_then(Json::as_i64);
        let found = id.and_then(|id| self.schema_by_id(id)).or_else(|| self.schemas().first().copied());
        found.unwrap_or(&Json::Null)
    }

    /// The schema that the table had at a snapshot.
    pub(super) fn schema_of(&self, snapshot: &Snapshot) -> &Json {
        snapshot.schema.and_then(|id| self.schema_by_id(id)).unwrap_or_else(|| self.current_schema())
    }

    /// The fields of a partition spec.
    pub(super) fn spec(&self, id: i64) -> Vec<Json> {
        let specs = self.get("partition-specs").and_then(Json::as_array);
        let spec = specs.into_iter().flatten().find(|s| s.get("spec-id").and_then(Json::as_i64) == Some(id));
        let fields = spec.and_then(|s| s.get("fields")).or_else(|| self.get("partition-spec"));
        fields.and_then(Json::as_array).cloned().unwrap_or_default()
    }

    /// Tells a node what the table is.
    pub(super) fn describe(&self, node: &mut Node) {
        let mut put = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                node.attributes.push((name.to_owned(), value));
            }
        };
        let text = |key: &str| self.get(key).map(|value| Value::Text(Value::from(value.clone()).to_string()));
        put("format version", text("format-version"));
        put("metadata file", Some(self.file.as_str().into()));
        put("table uuid", text("table-uuid"));
        put("location", text("location"));
        let updated = self.get("last-updated-ms").and_then(Json::as_i64);
        put("updated", updated.map(|millis| time(millis).into()));
        put("snapshots", Some(self.snapshots.len().to_string().into()));
        put("current schema", Some(self.current_schema().clone().into()));
        let several = |key: &str| self.get(key).filter(|list| list.as_array().is_some_and(|l| !l.is_empty()));
        put("schemas", several("schemas").cloned().map(Value::from));
        put(
            "partition specs",
            several("partition-specs").or(several("partition-spec")).cloned().map(Value::from),
        );
        put("sort orders", several("sort-orders").cloned().map(Value::from));
        put("statistics", several("statistics").cloned().map(Value::from));
        for (name, value) in self.get("properties").and_then(Json::as_object).into_iter().flatten() {
            put(name, Some(value.clone().into()));
        }
    }
}

impl Snapshot {
    fn parse(json: Json) -> Option<Snapshot> {
        let number = |key: &str| json.get(key).and_then(Json::as_i64);
        Some(Snapshot {
            id: snapshot_id(json.get("snapshot-id")?)?,
            parent: json.get("parent-snapshot-id").and_then(snapshot_id),
            sequence: number("sequence-number"),
            timestamp: number("timestamp-ms"),
            schema: number("schema-id"),
            json,
        })
    }

    /// An entry of the summary.
    pub(super) fn summary(&self, key: &str) -> Option<String> {
        self.json.get("summary")?.get(key)?.as_str().map(str::to_owned)
    }

    /// All entries of the summary.
    pub(super) fn summaries(&self) -> Vec<(String, String)> {
        let entries = self.json.get("summary").and_then(Json::as_object);
        let one = |(name, value): (&String, &Json)| (name.clone(), Value::from(value.clone()).to_string());
        entries.into_iter().flatten().map(one).collect()
    }

    /// When it was made, ISO 8601.
    pub(super) fn time(&self) -> Option<String> {
        self.timestamp.map(time)
    }

    /// Where its manifests are listed.
    pub(super) fn manifest_list(&self) -> Option<&str> {
        self.json.get("manifest-list")?.as_str()
    }

    /// Its manifests, where version 1 names them one by one.
    pub(super) fn manifests(&self) -> Vec<&str> {
        let list = self.json.get("manifests").and_then(Json::as_array);
        list.into_iter().flatten().filter_map(Json::as_str).collect()
    }

    pub(super) fn describe(&self, node: &mut Node) {
        node.attributes.push(("snapshot".to_owned(), self.id.to_string().into()));
        if let Some(millis) = self.timestamp {
            node.attributes.push(("snapshot time".to_owned(), time(millis).into()));
        }
        for (name, value) in self.json.get("summary").and_then(Json::as_object).into_iter().flatten() {
            node.attributes.push((name.clone(), value.clone().into()));
        }
    }
}

impl Reference {
    fn parse((name, json): (&String, &Json)) -> Option<Reference> {
        let kind = if json.get("type").and_then(Json::as_str) == Some("tag") { "tag" } else { "branch" };
        Some(Reference { name: name.clone(), kind, snapshot: snapshot_id(json.get("snapshot-id")?)? })
    }
}

/// The name of a metadata file in a folder that is its own catalog.
pub(super) fn numbered(number: u64) -> String {
    format!("v{number}.metadata.json")
}

/// The version of a metadata file: `v3.metadata.json`, `00003-uuid.metadata.json`, also gzipped.
fn version(name: &str) -> Option<u64> {
    let endings = [".gz.metadata.json", ".metadata.json.gz", ".metadata.json"];
    let stem = endings.iter().find_map(|ending| name.strip_suffix(ending))?;
    let digits = stem.trim_start_matches('v');
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    // One without a number is older than all that have one.
    Some(digits.get(..end)?.parse().unwrap_or(0))
}

/// The version that `version-hint.text` names.
fn hinted(task: &Task, folder: &Source) -> Result<u64> {
    let bytes = folder.child(task, "version-hint.text")?.read_up_to(task, 0, 64)?;
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim();
    let number = text.parse().ok().or_else(|| version(&format!("{text}.metadata.json")));
    number.ok_or_else(|| Error::malformed("version-hint.text holds no version"))
}

/// A file of JSON, perhaps gzipped.
fn json(task: &Task, source: &Source) -> Result<Json> {
    let len = limits::check(source.len(task)?, limits::HEADER, "the metadata")? as u64;
    let bytes = source.read(task, 0..len)?;
    let text = if bytes.starts_with(&[0x1f, 0x8b]) {
        gzip(&bytes, limits::HEADER as usize).map_err(|error| error.of("Iceberg metadata"))?.into()
    } else {
        bytes
    };
    serde_json::from_slice(&text)
        .map_err(|e| Error::malformed(format!("Iceberg metadata: it is no JSON: {e}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_snapshots_may_be_unsigned() {
        let id = |text: &str| snapshot_id(&serde_json::from_str(text).unwrap());
        assert_eq!(id("18446744073709551615"), Some(i128::from(u64::MAX)));
        assert_eq!((id("\"7\""), id("1.5"), id("null")), (Some(7), None, None));
        assert!(is_same(-2, i128::from(u64::MAX) - 1) && is_same(5, 5) && !is_same(5, -5));
        assert!(!is_same(1, 1 + (1 << 64)));
        let shown = |all: &[Option<SnapshotId>]| ids(all).data_type().to_string();
        assert_eq!(shown(&[Some(-1), None, Some(i128::from(i64::MAX))]), "Int64");
        assert_eq!(shown(&[Some(1), Some(i128::from(u64::MAX))]), "UInt64");
        assert_eq!(shown(&[Some(-1), Some(i128::from(u64::MAX))]), "Utf8");
    }

    #[test]
    fn versions_of_metadata_files() {
        assert_eq!(version("v12.metadata.json"), Some(12));
        assert_eq!(version("00003-1f38-ab.metadata.json"), Some(3));
        assert_eq!(version("v2.gz.metadata.json"), Some(2));
        assert_eq!(version("00001-x.metadata.json.gz"), Some(1));
        assert_eq!(version("snap-1.avro"), None);
    }
}
