//! Writes Parquet: row groups whose columns are encoded in parallel ([`groups`]), in one file or in the files of a folder
//! ([`folder`]). Specification: <https://parquet.apache.org/docs/file-format/>.

mod folder;
mod groups;
pub mod huggingface;
mod options;
#[cfg(test)]
mod tests;

use crate::bytes::error::Result;
use crate::bytes::task::Task;
use crate::data::adapt::Cast;
use crate::data::content::{Kind, Table};
use crate::data::format::{Loss, LossKind, Metadata, Options, Payload, Sink, WriteTo, Writer};
use crate::data::format::{loss, note};
use crate::data::scan::scan;
use arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema, SchemaRef, TimeUnit};
use groups::{ParquetOut, Shape};
use options::{
    BLOOM, BLOOM_FPP, BLOOM_NDV, COMPRESSION, DICTIONARY, ENCODING, LEVEL, PAGE_BYTES, PAGE_ROWS, PARTITION,
    ROW_GROUP, ROW_GROUP_BYTES, SORTED, SPLIT_BYTES, SPLIT_ROWS, STATISTICS, VERSION,
};
use parquet::file::metadata::KeyValue;
use std::sync::Arc;

/// The writer.
pub const WRITER: Writer = Writer {
    metadata: Metadata::Texts,
    streams: true,
    options: &[
        COMPRESSION,
        LEVEL,
        ROW_GROUP,
        ROW_GROUP_BYTES,
        PAGE_BYTES,
        PAGE_ROWS,
        DICTIONARY,
        ENCODING,
        VERSION,
        STATISTICS,
        BLOOM,
        BLOOM_FPP,
        BLOOM_NDV,
        SORTED,
        PARTITION,
        SPLIT_ROWS,
        SPLIT_BYTES,
    ],
    write: WriteTo::Either { is_folder: folder::is_asked, file: write, folder: folder::write },
    ..Writer::new(&[Kind::Table], losses, write)
};

/// The type in which Parquet keeps a column, where it is another one, and what is said of it.
fn stored(data_type: &DataType) -> Option<(DataType, &'static str, bool)> {
    match data_type {
        DataType::Union(_, _) => Some((DataType::Utf8, "the union is kept as text", true)),
        DataType::Interval(_) => Some((DataType::Utf8, "the interval is kept as text", true)),
        DataType::RunEndEncoded(_, values) => {
            Some((stored_or_same(values.data_type()), "the run-end encoding is lost, the values stay", false))
        }
        DataType::ListView(item) => Some((
            DataType::List(inner(item)),
            "the list view becomes a list",
            stored(item.data_type()).is_some_and(|s| s.2),
        )),
        DataType::LargeListView(item) => Some((
            DataType::LargeList(inner(item)),
            "the list view becomes a list",
            stored(item.data_type()).is_some_and(|s| s.2),
        )),
        DataType::List(item) => nested(item, DataType::List),
        DataType::LargeList(item) => nested(item, DataType::LargeList),
        DataType::FixedSizeList(item, n) => {
            let n = *n;
            nested(item, |item| DataType::FixedSizeList(item, n))
        }
        DataType::Struct(fields) if fields.is_empty() => {
            Some((DataType::Utf8, "a struct without fields is kept as text", true))
        }
        DataType::Struct(fields) => {
            let (_, what, serious) = fields.iter().find_map(|f| stored(f.data_type()))?;
            let fields: Fields = fields.iter().map(inner).collect();
            Some((DataType::Struct(fields), what, serious))
        }
        // Parquet's times begin at milliseconds; whole seconds would be read as plain numbers.
        DataType::Date64 => Some((DataType::Date32, "date64 becomes date32", false)),
        DataType::Time32(TimeUnit::Second) => {
            Some((DataType::Time32(TimeUnit::Millisecond), "seconds become milliseconds", false))
        }
        DataType::Timestamp(TimeUnit::Second, zone) => {
            let finer = DataType::Timestamp(TimeUnit::Millisecond, zone.clone());
            Some((finer, "seconds become milliseconds", false))
        }
        DataType::Dictionary(key, values)
            if matches!(**values, DataType::Utf8View | DataType::BinaryView) =>
        {
            let plain = if **values == DataType::Utf8View { DataType::Utf8 } else { DataType::Binary };
            let data_type = DataType::Dictionary(key.clone(), Box::new(plain));
            Some((data_type, "the dictionary's views become plain values", false))
        }
        DataType::Dictionary(_, values) if values.is_nested() || matches!(**values, DataType::Boolean) => {
            Some((stored_or_same(values), "the dictionary encoding is lost, the values stay", false))
        }
        _ => None,
    }
}

fn stored_or_same(data_type: &DataType) -> DataType {
    stored(data_type).map_or_else(|| data_type.clone(), |s| s.0)
}

fn inner(field: &FieldRef) -> FieldRef {
    Arc::new(field.as_ref().clone().with_data_type(stored_or_same(field.data_type())))
}

fn nested(item: &FieldRef, list: impl Fn(FieldRef) -> DataType) -> Option<(DataType, &'static str, bool)> {
    let (_, what, serious) = stored(item.data_type())?;
    // Arrow casts no union or interval inside a list: the whole becomes text.
    if serious {
        return Some((DataType::Utf8, what, true));
    }
    Some((list(inner(item)), what, serious))
}

fn losses(payload: &Payload, options: &Options) -> Vec<Loss> {
    let Ok(table) = payload.table() else { return Vec::new() };
    let mut losses = Vec::new();
    for field in table.schema().fields() {
        if let Some((_, what, serious)) = stored(field.data_type()) {
            let made = if serious { loss(LossKind::Type, what) } else { note(LossKind::Type, what) };
            losses.push(made.of(field.name()));
        }
    }
    if table.schema().fields().is_empty() {
        losses
            .push(loss(LossKind::Metadata, "the number of rows: Parquet has none without columns").if_any());
    }
    losses.extend(folder::losses(table.schema(), options));
    losses
}

/// The metadata of the whole, each name once.
fn pairs(payload: &Payload, schema: &Schema) -> Vec<KeyValue> {
    let mut pairs: Vec<KeyValue> = Vec::new();
    let attributes = payload.attributes.list.iter().map(|(name, value)| (name.clone(), value.to_string()));
    let schema_pairs = schema.metadata().iter().map(|(name, value)| (name.clone(), value.clone()));
    for (name, value) in attributes.chain(schema_pairs) {
        if name != "ARROW:schema" && !pairs.iter().any(|pair| pair.key == name) {
            pairs.push(KeyValue::new(name, value));
        }
    }
    pairs
}

/// A table in the types that Parquet has.
struct Prepared {
    table: Arc<dyn Table>,
    schema: SchemaRef,
    /// The metadata of the file.
    pairs: Vec<KeyValue>,
}

fn prepared(payload: &Payload) -> Result<Prepared> {
    let table = payload.table()?;
    let targets: Vec<Option<DataType>> =
        table.schema().fields().iter().map(|f: &Arc<Field>| stored(f.data_type()).map(|s| s.0)).collect();
    let table: Arc<dyn Table> = match targets.iter().any(Option::is_some) {
        true => Arc::new(Cast::cast(table.clone(), targets)),
        false => table.clone(),
    };
    // The metadata stand in the footer's own pairs, and in the schema that PyArrow takes them from.
    let pairs = pairs(payload, table.schema());
    let metadata = pairs.iter().map(|pair| (pair.key.clone(), pair.value.clone().unwrap_or_default()));
    let schema = Schema::new_with_metadata(table.schema().fields().clone(), metadata.collect());
    Ok(Prepared { table, schema: Arc::new(schema), pairs })
}

fn write(task: &Task, payload: &Payload, options: &Options, sink: &mut dyn Sink) -> Result<()> {
    let Prepared { table, schema, pairs } = prepared(payload)?;
    let shape = Shape::new(schema, pairs, options)?;
    let mut out = ParquetOut::new(sink, &shape)?;
    scan(task, table.as_ref(), Ok, |batch| out.add(task, &batch))?;
    out.finish()
}
