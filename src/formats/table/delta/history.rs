//! The commits that are still in the log, as a table: a commit is read when its row is.

use super::log::Log;
use crate::bytes::cache::Cache;
use crate::bytes::error::Result;
use crate::bytes::task::Task;
use crate::data::content::table::{batch, cut};
use crate::data::content::{Content, Rows, Table};
use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray, TimestampMillisecondArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use rayon::prelude::*;
use serde_json::Value as Json;
use std::ops::Range;
use std::sync::Arc;

/// What is kept of commits' information, in bytes, and what is counted for each.
const KEPT: usize = 10 << 20;
const INFO: usize = 1 << 10;

/// What a column takes of a commit's information.
#[derive(Clone, Copy)]
enum Taken {
    Version,
    Time(&'static str),
    Number(&'static str),
    Text(&'static str),
}

const COLUMNS: [(&str, Taken); 8] = [
    ("version", Taken::Version),
    ("timestamp", Taken::Time("timestamp")),
    ("operation", Taken::Text("operation")),
    ("parameters", Taken::Text("operationParameters")),
    ("metrics", Taken::Text("operationMetrics")),
    ("read version", Taken::Number("readVersion")),
    ("user", Taken::Text("userName")),
    ("engine", Taken::Text("engineInfo")),
];

/// The commits of `versions` that are there, as a table.
///
/// # Errors
/// Only that the work was cancelled.
pub(super) fn history(task: &Task, log: &Arc<Log>, versions: &[u64]) -> Result<Content> {
    task.check()?;
    Ok(Content::Table(Arc::new(History::new(log.clone(), versions))))
}

/// The table of commits.
struct History {
    log: Arc<Log>,
    versions: Vec<u64>,
    schema: SchemaRef,
    infos: Cache<u64, Arc<Json>>,
}

impl History {
    /// The commits of `versions` that are there.
    fn new(log: Arc<Log>, versions: &[u64]) -> Self {
        let versions = versions.iter().copied().filter(|version| log.has_commit(*version)).collect();
        let field = |(name, taken): &(&str, Taken)| {
            let data_type = match taken {
                Taken::Version | Taken::Number(_) => DataType::Int64,
                Taken::Time(_) => DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into())),
                Taken::Text(_) => DataType::Utf8,
            };
            Field::new(*name, data_type, true)
        };
        let schema = Arc::new(Schema::new(COLUMNS.iter().map(field).collect::<Vec<_>>()));
        History { log, versions, schema, infos: Cache::new(KEPT) }
    }

    /// What a commit says of itself; null where it says nothing.
    fn info(&self, task: &Task, version: u64) -> Result<Arc<Json>> {
        task.check()?;
        if let Some(info) = self.infos.get(&version) {
            return Ok(info);
        }
        let info = Arc::new(self.log.raw_info(task, version).unwrap_or(Json::Null));
        task.check()?;
        self.infos.put(version, info.clone(), INFO);
        Ok(info)
    }
}

impl Table for History {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn rows(&self) -> Rows {
        Rows::Exact(self.versions.len() as u64)
    }

    fn read(&self, task: &Task, rows: Range<u64>, columns: &[usize]) -> Result<RecordBatch> {
        let rows = cut(&rows, self.versions.len() as u64);
        let versions = self.versions.get(rows.start as usize..rows.end as usize).unwrap_or_default();
        // The version alone needs no commit.
        let needed = columns.iter().any(|&column| column > 0);
        let read = |&version: &u64| if needed { self.info(task, version) } else { Ok(Arc::default()) };
        let infos: Vec<Arc<Json>> = versions.par_iter().map(read).collect::<Result<_>>()?;
        let one = |&column: &usize| COLUMNS.get(column).map(|(_, taken)| taken.of(versions, &infos));
        let arrays = columns.iter().filter_map(one).collect();
        batch(&self.schema, columns, arrays, versions.len())
    }

    fn scan_step(&self, _at: u64) -> u64 {
        1_024
    }
}

impl Taken {
    fn of(self, versions: &[u64], infos: &[Arc<Json>]) -> ArrayRef {
        let number = |key: &'static str| infos.iter().map(move |info| info.get(key).and_then(Json::as_i64));
        match self {
            Taken::Version => Arc::new(Int64Array::from_iter_values(versions.iter().map(|&v| v as i64))),
            Taken::Number(key) => Arc::new(number(key).collect::<Int64Array>()),
            Taken::Time(key) => {
                Arc::new(number(key).collect::<TimestampMillisecondArray>().with_timezone("UTC"))
            }
            Taken::Text(key) => {
                let one = |info: &Arc<Json>| match info.get(key) {
                    None | Some(Json::Null) => None,
                    Some(Json::String(text)) => Some(text.clone()),
                    Some(other) => Some(other.to_string()),
                };
                Arc::new(infos.iter().map(one).collect::<StringArray>())
            }
        }
    }
}
