//! Apache Parquet: row groups of column chunks, a Thrift footer at the end.
//!
//! Opening reads the footer only. Specification: <https://parquet.apache.org/docs/file-format/>.

mod corrected;
mod deltas;
mod elements;
mod facts;
mod footer;
mod pages;
mod place;
mod repair;
mod table;
mod thrift;
mod values;
pub mod write;

#[cfg(test)]
mod tests;

use crate::bytes::error::{Error, Result};
use crate::bytes::source::Source;
use crate::data::content::{Content, Kind};
use crate::data::format::{Format, Opening, Target};
use crate::data::node::{Node, Value};
use crate::data::sniff::{Head, Magic, Match};
use parquet::arrow::arrow_reader::ArrowReaderMetadata;
use parquet::file::metadata::KeyValue;
use std::sync::Arc;

/// A Parquet file whose footer was read and checked, and whose columns are the table's.
#[derive(Clone)]
pub struct ParquetFile {
    /// Its bytes.
    pub source: Source,
    /// How many there are.
    pub len: u64,
    /// What the footer says, without page indexes.
    pub metadata: ArrowReaderMetadata,
}

impl std::fmt::Debug for ParquetFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.source.name())
    }
}

/// Parquet files.
pub static FORMAT: Format = Format {
    extensions: &["parquet", "pq", "parq", "geoparquet"],
    mime: &["application/vnd.apache.parquet"],
    magic: &[Magic::at(0, footer::MAGIC), Magic::at(0, footer::ENCRYPTED)],
    sniff: Some(sniff),
    reads: &[Kind::Table],
    targets: &[
        Target::new("parquet", "Parquet", &["parquet", "pq"], &write::WRITER),
        Target::new(
            "parquet-hf",
            "Parquet of Hugging Face datasets",
            &["hf.parquet"],
            &write::huggingface::WRITER,
        ),
    ],
    ..Format::new("parquet", "Parquet", open)
};

/// The start decides; an end alone (a file whose beginning was lost) only with the extension.
fn sniff(head: &Head) -> Match {
    if head.starts_with(footer::MAGIC) || head.starts_with(footer::ENCRYPTED) {
        return Match::Yes;
    }
    let end = head.ends_with(footer::MAGIC) && head.len.is_some_and(|len| len >= 12);
    if end { Match::Maybe } else { Match::No }
}

fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    let footer = footer::read(task, source)?;
    let mut node = Node::new(source.name(), "file");
    node.attributes = attributes(footer.metadata.metadata().file_metadata().key_value_metadata());
    node.remarks.clone_from(&footer.remarks);
    let table = table::ParquetTable::new(source.clone(), footer)?;
    Ok(node.content(Content::Table(Arc::new(table))))
}

/// The file's key-value metadata; what is JSON (pandas, Hugging Face, GeoParquet) becomes JSON. The
/// Arrow schema is left out: it is binary and already the table's schema.
fn attributes(pairs: Option<&Vec<KeyValue>>) -> Vec<(String, Value)> {
    let value = |text: &str| -> Value {
        if text.starts_with(['{', '['])
            && let Ok(json) = serde_json::from_str::<serde_json::Value>(text)
        {
            return Value::Json(json);
        }
        text.into()
    };
    pairs
        .into_iter()
        .flatten()
        .filter(|pair| pair.key != "ARROW:schema")
        .map(|pair| (pair.key.clone(), value(pair.value.as_deref().unwrap_or_default())))
        .collect()
}

/// A cell of the error chain that names a column.
fn in_column(error: Error, name: &str) -> Error {
    error.in_node(&format!("column {name:?}"))
}
