//! One file: row groups whose columns are encoded side by side.

use super::options::{ROW_GROUP, ROW_GROUP_BYTES, SORTED, SortKey, properties, sort_keys, sorting};
use super::stored_leaves;
use crate::bytes::display;
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::format::Options;
use arrow::array::{ArrayRef, RecordBatch};
use arrow::compute::SortOptions;
use arrow::datatypes::{Field, SchemaRef};
use arrow::row::{OwnedRow, RowConverter, SortField};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{
    ArrowColumnWriter, ArrowRowGroupWriterFactory, ArrowWriterOptions, compute_leaves,
};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use rayon::prelude::*;
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
pub(super) struct ParquetOut<'a, W: Write + Send> {
    file: SerializedFileWriter<W>,
    factory: ArrowRowGroupWriterFactory,
    shape: &'a Shape,
    open: Option<Group>,
    order: Option<Order>,
    /// Rows so far.
    pub(super) rows: u64,
}

/// One row group: for each column the writers of its leaves.
struct Group {
    rows: usize,
    columns: Vec<Vec<ArrowColumnWriter>>,
}

impl<'a, W: Write + Send> ParquetOut<'a, W> {
    /// Begins a file.
    pub(super) fn new(sink: W, shape: &'a Shape) -> Result<Self> {
        let arrow = ArrowWriterOptions::new().with_properties(shape.properties.clone());
        let writer = ArrowWriter::try_new_with_options(sink, shape.schema.clone(), arrow)?;
        let (file, factory) = writer.into_serialized_writer()?;
        let order = Order::of(shape)?;
        Ok(ParquetOut { file, factory, shape, open: None, order, rows: 0 })
    }

    /// Adds rows, beginning new row groups where one is full.
    pub(super) fn add(&mut self, task: &Task, batch: &RecordBatch) -> Result<()> {
        if let Some(order) = &mut self.order {
            order.check(batch, self.rows)?;
        }
        let mut at = 0;
        while at < batch.num_rows() {
            task.check()?;
            let mut group = match self.open.take() {
                Some(group) => group,
                None => self.begin()?,
            };
            let len = (batch.num_rows() - at).min(self.shape.rows - group.rows);
            let part = batch.slice(at, len);
            let fields = self.shape.schema.fields();
            group
                .columns
                .par_iter_mut()
                .zip(part.columns())
                .zip(fields.par_iter())
                .with_max_len(1)
                .try_for_each(|((writers, array), field)| encode(writers, field, array))?;
            group.rows += len;
            at += len;
            let full = group.rows >= self.shape.rows || group.memory() >= self.shape.bytes;
            self.open = Some(group);
            if full {
                self.close_group()?;
            }
        }
        self.rows += batch.num_rows() as u64;
        Ok(())
    }

    fn begin(&self) -> Result<Group> {
        let mut writers =
            self.factory.create_column_writers(self.file.flushed_row_groups().len())?.into_iter();
        let leaves = self.shape.schema.fields().iter().map(|field| stored_leaves(field.data_type()));
        Ok(Group { rows: 0, columns: leaves.map(|n| writers.by_ref().take(n).collect()).collect() })
    }

    /// Bytes that the open row group holds in memory.
    pub(super) fn memory(&self) -> usize {
        self.open.as_ref().map_or(0, Group::memory)
    }

    /// Bytes of the file so far, those of the open row group included, about.
    pub(super) fn bytes(&self) -> u64 {
        let columns = self.open.iter().flat_map(|group| group.columns.iter().flatten());
        let open: usize = columns.map(ArrowColumnWriter::get_estimated_total_bytes).sum();
        (self.file.bytes_written() + open) as u64
    }

    /// Writes the row group that is open, if one is.
    pub(super) fn close_group(&mut self) -> Result<()> {
        let Some(group) = self.open.take() else { return Ok(()) };
        let chunks: Vec<_> =
            group.columns.into_par_iter().flatten_iter().map(ArrowColumnWriter::close).collect();
        let mut out = self.file.next_row_group()?;
        for chunk in chunks {
            chunk?.append_to_row_group(&mut out)?;
        }
        out.close()?;
        Ok(())
    }

    /// Writes what is left, and the footer.
    pub(super) fn finish(mut self) -> Result<()> {
        self.close_group()?;
        let mut sink = self.file.into_inner()?;
        Ok(sink.flush()?)
    }
}

impl Group {
    fn memory(&self) -> usize {
        self.columns.iter().flatten().map(ArrowColumnWriter::memory_size).sum()
    }
}

fn encode(writers: &mut [ArrowColumnWriter], field: &Field, array: &ArrayRef) -> Result<()> {
    let leaves = compute_leaves(field, array)?;
    if leaves.len() != writers.len() {
        return Err(Error::bug(format!("column {:?} has {} leaves", field.name(), leaves.len())));
    }
    for (writer, leaf) in writers.iter_mut().zip(&leaves) {
        writer.write(leaf)?;
    }
    Ok(())
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
