//! Actions of commits and checkpoints, and the state of the table that they add up to.

use super::schema;
use super::vector::Vector;
use crate::bytes::error::{Error, Result};
use crate::data::node::{Node, Value};
use crate::engines::multifile::lake::time;
use arrow::datatypes::SchemaRef;
use serde_json::Value as Json;
use std::collections::HashSet;
use std::sync::Arc;

/// Reader features that are understood here, or that change nothing for reading.
const FEATURES: [&str; 15] = [
    "columnMapping",
    "deletionVectors",
    "timestampNtz",
    "v2Checkpoint",
    "vacuumProtocolCheck",
    "typeWidening",
    "typeWidening-preview",
    "variantType",
    "variantType-preview",
    "appendOnly",
    "invariants",
    "generatedColumns",
    "identityColumns",
    "domainMetadata",
    "clustering",
];

/// A data file of the table.
#[derive(Clone, Debug, Default)]
pub(super) struct Add {
    /// As in the log, with escapes.
    pub(super) path: String,
    pub(super) bytes: u64,
    /// Milliseconds since 1970.
    pub(super) modified: Option<i64>,
    /// Values of the partition columns, by physical name.
    pub(super) partition: Vec<(String, Option<String>)>,
    /// `numRecords`, `minValues`, `maxValues`, `nullCount`.
    pub(super) stats: Option<Arc<Json>>,
    pub(super) vector: Option<Vector>,
}

/// Files that newer actions already spoke of.
pub(super) type Tombs = HashSet<(String, Option<String>)>;

/// The table at a version.
#[derive(Clone, Debug)]
pub(super) struct Snapshot {
    pub(super) version: u64,
    /// The checkpoint that it was put together from.
    pub(super) checkpoint: Option<u64>,
    pub(super) adds: Vec<Add>,
    protocol: Option<Json>,
    metadata: Option<Json>,
    transactions: Vec<(String, Json)>,
    domains: Vec<(String, Json)>,
}

impl Snapshot {
    pub(super) fn new(version: u64) -> Self {
        Snapshot {
            version,
            checkpoint: None,
            adds: Vec::new(),
            protocol: None,
            metadata: None,
            transactions: Vec::new(),
            domains: Vec::new(),
        }
    }

    /// Takes actions that are older than all that were taken before.
    pub(super) fn apply(&mut self, actions: &[Json], tombs: &mut Tombs) -> Result<()> {
        // Within a commit order does not matter, but a removed vector and the added one share a path.
        let mut fresh = Vec::new();
        for action in actions {
            let Json::Object(action) = action else {
                return Err(Error::malformed("Delta log: an action is no object"));
            };
            for (kind, body) in action {
                match kind.as_str() {
                    "add" => self.add(body, tombs, &mut fresh)?,
                    "remove" => fresh.push(key(body)?),
                    "protocol" if self.protocol.is_none() => self.protocol = Some(body.clone()),
                    "metaData" if self.metadata.is_none() => self.metadata = Some(body.clone()),
                    "txn" => keep(&mut self.transactions, body, "appId"),
                    "domainMetadata" => keep(&mut self.domains, body, "domain"),
                    _ => {}
                }
            }
        }
        tombs.extend(fresh);
        Ok(())
    }

    fn add(&mut self, body: &Json, tombs: &Tombs, fresh: &mut Vec<(String, Option<String>)>) -> Result<()> {
        let key = key(body)?;
        if tombs.contains(&key) {
            return Ok(());
        }
        let partition = match body.get("partitionValues") {
            Some(Json::Object(values)) => {
                values.iter().map(|(name, value)| (name.clone(), value.as_str().map(str::to_owned))).collect()
            }
            _ => Vec::new(),
        };
        let stats = match body.get("stats") {
            Some(Json::String(text)) => serde_json::from_str(text).ok(),
            _ => body.get("stats_parsed").filter(|stats| !stats.is_null()).cloned(),
        };
        let stats = stats.map(Arc::new);
        let vector = body.get("deletionVector").filter(|v| !v.is_null()).map(Vector::parse).transpose()?;
        self.adds.push(Add {
            path: key.0.clone(),
            bytes: body.get("size").and_then(Json::as_u64).unwrap_or(0),
            modified: body.get("modificationTime").and_then(Json::as_i64),
            partition,
            stats,
            vector,
        });
        fresh.push(key);
        Ok(())
    }

    /// Whether what every table must have was found.
    pub(super) fn check(&self) -> Result<()> {
        let missing = match (&self.protocol, &self.metadata) {
            (None, _) => "protocol",
            (_, None) => "metaData",
            _ => return Ok(()),
        };
        Err(Error::malformed(format!("Delta log: version {} has no {missing} action", self.version)))
    }

    pub(super) fn protocol(&self, key: &str) -> Option<&Json> {
        self.protocol.as_ref()?.get(key).filter(|value| !value.is_null())
    }

    pub(super) fn metadata(&self, key: &str) -> Option<&Json> {
        self.metadata.as_ref()?.get(key).filter(|value| !value.is_null())
    }

    /// A table property.
    pub(super) fn property(&self, key: &str) -> Option<&str> {
        self.metadata("configuration")?.get(key)?.as_str()
    }

    /// Why the table must not be read, if it asks for more than is known here.
    pub(super) fn unreadable(&self) -> Option<Error> {
        let version = self.protocol("minReaderVersion").and_then(Json::as_i64).unwrap_or(0);
        if version > 3 {
            return Some(Error::unsupported(format!(
                "Delta table: it wants a reader of protocol version {version}; known are 1 to 3"
            )));
        }
        let features = self.protocol("readerFeatures").and_then(Json::as_array);
        let unknown: Vec<&str> = features
            .into_iter()
            .flatten()
            .filter_map(Json::as_str)
            .filter(|feature| !FEATURES.contains(feature))
            .collect();
        (!unknown.is_empty()).then(|| {
            Error::unsupported(format!(
                "Delta table: it needs reader features that are unknown: {}",
                unknown.join(", ")
            ))
        })
    }

    /// Whether another state of the table is written to in the same way: it has the same columns, properties and
    /// features.
    pub(super) fn is_written_as(&self, other: &Snapshot) -> bool {
        self.protocol == other.protocol && self.metadata == other.metadata
    }

    /// Whether columns are found by field id.
    pub(super) fn maps_by_id(&self) -> bool {
        self.property("delta.columnMapping.mode") == Some("id")
    }

    /// The columns' types.
    pub(super) fn schema(&self) -> Result<SchemaRef> {
        let text = self.metadata("schemaString").and_then(Json::as_str);
        let text = text.ok_or_else(|| Error::malformed("Delta log: metaData has no schemaString"))?;
        let json = serde_json::from_str(text)
            .map_err(|e| Error::malformed(format!("Delta log: schemaString is no JSON: {e}")))?;
        // Without a mapping names are what they say, whatever an old mapping left behind.
        let mapped = matches!(self.property("delta.columnMapping.mode"), Some("name" | "id"));
        schema::schema(&json, mapped)
    }

    /// The partition columns' names.
    pub(super) fn partition_columns(&self) -> Vec<&str> {
        let names = self.metadata("partitionColumns").and_then(Json::as_array);
        names.into_iter().flatten().filter_map(Json::as_str).collect()
    }

    /// Tells a node what the table is.
    pub(super) fn describe(&self, node: &mut Node) {
        let mut put = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                node.attributes.push((name.to_owned(), value));
            }
        };
        let text = |value: Option<&Json>| value.cloned().map(Value::from);
        put("table name", text(self.metadata("name")));
        put("description", text(self.metadata("description")));
        put("id", text(self.metadata("id")));
        let created = self.metadata("createdTime").and_then(Json::as_i64);
        put("created", created.map(|millis| time(millis).into()));
        let partitions = self.partition_columns();
        put("partitioned by", (!partitions.is_empty()).then(|| partitions.join(", ").into()));
        put("files", Some(self.adds.len().to_string().into()));
        put(
            "bytes",
            Some(self.adds.iter().map(|add| add.bytes).fold(0, u64::saturating_add).to_string().into()),
        );
        put("min reader version", text(self.protocol("minReaderVersion")).map(as_text));
        put("min writer version", text(self.protocol("minWriterVersion")).map(as_text));
        put("reader features", self.protocol("readerFeatures").map(joined));
        put("writer features", self.protocol("writerFeatures").map(joined));
        put("checkpoint", self.checkpoint.map(|version| format!("version {version}").into()));
        for (name, value) in self.metadata("configuration").and_then(Json::as_object).into_iter().flatten() {
            put(name, Some(value.clone().into()));
        }
        for (kind, list) in [("transaction", &self.transactions), ("domain", &self.domains)] {
            for (name, body) in list {
                put(&format!("{kind} {name}"), Some(body.clone().into()));
            }
        }
        if let Some(Json::String(text)) = self.metadata("schemaString")
            && let Ok(json) = serde_json::from_str::<Json>(text)
        {
            put("schema", Some(json.into()));
        }
    }
}

fn as_text(value: Value) -> Value {
    Value::Text(value.to_string())
}

/// A list of texts in one line.
fn joined(list: &Json) -> Value {
    let items: Vec<&str> = list.as_array().into_iter().flatten().filter_map(Json::as_str).collect();
    items.join(", ").into()
}

/// Keeps the newest of what has one state a name.
fn keep(list: &mut Vec<(String, Json)>, body: &Json, name: &str) {
    if let Some(name) = body.get(name).and_then(Json::as_str)
        && !list.iter().any(|(known, _)| known == name)
    {
        list.push((name.to_owned(), body.clone()));
    }
}

/// What a file is known by: its path and its deletion vector (PROTOCOL.md, *Action Reconciliation*).
fn key(body: &Json) -> Result<(String, Option<String>)> {
    let path = body.get("path").and_then(Json::as_str);
    let path = path.ok_or_else(|| Error::malformed("Delta log: an add or remove has no path"))?;
    let vector = body.get("deletionVector").filter(|v| !v.is_null());
    let vector = vector.map(|v| {
        let part = |name: &str| v.get(name).map_or(String::new(), Json::to_string);
        format!("{}{}@{}", part("storageType"), part("pathOrInlineDv"), part("offset"))
    });
    Ok((path.to_owned(), vector))
}

/// The path of a sidecar action.
pub(super) fn sidecar(action: &Json) -> Option<String> {
    action.get("sidecar")?.get("path")?.as_str().map(str::to_owned)
}
