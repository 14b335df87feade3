//! One file: row groups whose columns are encoded side by side.

use super::options::{ROW_GROUP, ROW_GROUP_BYTES, SORTED, SortKey, properties, sort_keys, sorting};
use crate::bytes::display;
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::format::Options;
use crate::engines::parquet_write::RowGroups;
use arrow::array::{ArrayRef, RecordBatch};
use arrow::compute::SortOptions;
use arrow::datatypes::SchemaRef;
use arrow::row::{OwnedRow, RowConverter, SortField};
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use std::io::Write;

/// What all files of a conversion have in common.
pub(super) struct Shape {
    schema: SchemaRef,
    properties: WriterProperties,
    keys: Vec<SortKey>,
    /// The most rows of a row group, and the bytes after which a new one begins.
    rows: usize,
    bytes: usize,
}

impl Shape {
    /// Files of these columns.
    pub(super) fn new(schema: SchemaRef, pairs: Vec<KeyValue>, options: &Options) -> Result<Self> {
        let keys = sort_keys(&schema, options)?;
        let above = |spec| options.number(spec, "it is no number above 0", |&n: &usize| n > 0);
        Ok(Shape {
            properties: properties(pairs, &schema, sorting(&schema, &keys), options)?,
            keys,
            rows: above(&ROW_GROUP)?,
            bytes: above(&ROW_GROUP_BYTES)?,
            schema,
        })
    }
}

/// A file, and the row group that is being filled.
pub(super) struct ParquetOut<W: Write + Send> {
    groups: RowGroups<W>,
    order: Option<Order>,
    /// Rows so far.
    pub(super) rows: u64,
}

impl<W: Write + Send> ParquetOut<W> {
    /// Begins a file.
    pub(super) fn new(sink: W, shape: &Shape) -> Result<Self> {
        let arrow = ArrowWriterOptions::new().with_properties(shape.properties.clone());
        let groups = RowGroups::new(sink, shape.schema.clone(), arrow, shape.rows, shape.bytes)?;
        Ok(ParquetOut { groups, order: Order::of(shape)?, rows: 0 })
    }

    /// Adds rows, beginning new row groups where one is full.
    pub(super) fn add(&mut self, task: &Task, batch: &RecordBatch) -> Result<()> {
        if let Some(order) = &mut self.order {
            order.check(batch, self.rows)?;
        }
        self.groups.add(task, batch)?;
        self.rows += batch.num_rows() as u64;
        Ok(())
    }

    /// Bytes that the open row group holds in memory.
    pub(super) fn memory(&self) -> usize {
        self.groups.memory()
    }

    /// Bytes of the file so far, those of the open row group included, about.
    pub(super) fn bytes(&self) -> u64 {
        self.groups.estimated_bytes()
    }

    /// Writes the row group that is open, if one is.
    pub(super) fn close_group(&mut self) -> Result<()> {
        self.groups.close()
    }

    /// Writes what is left, and the footer.
    pub(super) fn finish(self) -> Result<()> {
        self.groups.finish().map(drop)
    }
}

/// Holds rows against the order that the file says they have.
struct Order {
    converter: RowConverter,
    columns: Vec<usize>,
    words: String,
    last: Option<OwnedRow>,
}

impl Order {
    fn of(shape: &Shape) -> Result<Option<Self>> {
        if shape.keys.is_empty() {
            return Ok(None);
        }
        let field = |key: &SortKey| {
            let options = SortOptions { descending: key.descending, nulls_first: key.nulls_first };
            SortField::new_with_options(shape.schema.field(key.column).data_type().clone(), options)
        };
        let word = |key: &SortKey| {
            let name = shape.schema.field(key.column).name();
            if key.descending { format!("{name} desc") } else { name.clone() }
        };
        Ok(Some(Order {
            converter: RowConverter::new(shape.keys.iter().map(field).collect())?,
            columns: shape.keys.iter().map(|key| key.column).collect(),
            words: shape.keys.iter().map(word).collect::<Vec<_>>().join(", "),
            last: None,
        }))
    }

    /// Goes on with rows, the first of which is row `first` of the file.
    fn check(&mut self, batch: &RecordBatch, first: u64) -> Result<()> {
        let columns: Vec<ArrayRef> = batch.project(&self.columns)?.columns().to_vec();
        let rows = self.converter.convert_columns(&columns)?;
        let mut last = self.last.as_ref().map(OwnedRow::row);
        for (at, row) in rows.iter().enumerate() {
            if last.is_some_and(|last| last > row) {
                let number = display::count(first + at as u64);
                let (option, words) = (SORTED.name, &self.words);
                let what = format!(
                    "{option}: row {number} stands before the row above it; sort the rows first (ORDER BY {words})"
                );
                return Err(Error::unsupported(what));
            }
            last = Some(row);
        }
        self.last = last.map(|row| row.owned());
        Ok(())
    }
}
