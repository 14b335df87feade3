//! Rows as row groups of a Parquet file, whose columns are encoded in parallel: what every writer of Parquet files
//! shares, whatever it says of them. Specification: <https://parquet.apache.org/docs/file-format/>.

use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{DataType, Field, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{
    ArrowColumnWriter, ArrowRowGroupWriterFactory, ArrowWriterOptions, compute_leaves,
};
use parquet::file::metadata::ParquetMetaData;
use parquet::file::writer::SerializedFileWriter;
use rayon::prelude::*;
use std::io::Write;

/// Encoded bytes of a row group after which a new one begins where nobody says otherwise, so that memory stays bounded.
pub const GROUP: usize = 128 << 20;

/// A Parquet file that is being written, and the row group that is being filled.
pub struct RowGroups<W: Write + Send> {
    file: SerializedFileWriter<W>,
    factory: ArrowRowGroupWriterFactory,
    schema: SchemaRef,
    most: usize,
    bytes: usize,
    open: Option<Group>,
}

/// One row group: for each column the writers of its leaves.
struct Group {
    rows: usize,
    columns: Vec<Vec<ArrowColumnWriter>>,
}

impl<W: Write + Send> RowGroups<W> {
    /// Begins a file of columns of these types; a row group has at most `most` rows, which is not 0, and ends where it has
    /// `bytes` encoded bytes in memory.
    ///
    /// # Errors
    /// `Unsupported` for types that Parquet has not; those of writing.
    pub fn new(
        sink: W,
        schema: SchemaRef,
        options: ArrowWriterOptions,
        most: usize,
        bytes: usize,
    ) -> Result<Self> {
        let writer = ArrowWriter::try_new_with_options(sink, schema.clone(), options)?;
        let (file, factory) = writer.into_serialized_writer()?;
        Ok(RowGroups { file, factory, schema, most, bytes, open: None })
    }

    /// Adds rows, beginning new row groups where one is full.
    ///
    /// # Errors
    /// Those of encoding and writing; that the work was cancelled.
    pub fn add(&mut self, task: &Task, batch: &RecordBatch) -> Result<()> {
        let mut at = 0;
        while at < batch.num_rows() {
            task.check()?;
            let mut group = match self.open.take() {
                Some(group) => group,
                None => self.begin()?,
            };
            let len = (batch.num_rows() - at).min(self.most - group.rows);
            let part = batch.slice(at, len);
            let fields = self.schema.fields();
            group
                .columns
                .par_iter_mut()
                .zip(part.columns())
                .zip(fields.par_iter())
                .with_max_len(1)
                .try_for_each(|((writers, array), field)| encode(writers, field, array))?;
            group.rows += len;
            at += len;
            let full = group.rows >= self.most || group.memory() >= self.bytes;
            self.open = Some(group);
            if full {
                self.close()?;
            }
        }
        Ok(())
    }

    /// Encoded bytes of the row group that is open, which are in memory.
    pub fn memory(&self) -> usize {
        self.open.as_ref().map_or(0, Group::memory)
    }

    /// Bytes of the file so far.
    pub fn bytes(&self) -> u64 {
        self.file.bytes_written() as u64
    }

    /// Bytes of the file so far, those of the open row group included, about.
    pub fn estimated_bytes(&self) -> u64 {
        let columns = self.open.iter().flat_map(|group| group.columns.iter().flatten());
        let open: usize = columns.map(ArrowColumnWriter::get_estimated_total_bytes).sum();
        self.bytes() + open as u64
    }

    fn begin(&self) -> Result<Group> {
        let mut writers =
            self.factory.create_column_writers(self.file.flushed_row_groups().len())?.into_iter();
        let leaves = self.schema.fields().iter().map(|field| leaves(field.data_type()));
        Ok(Group { rows: 0, columns: leaves.map(|n| writers.by_ref().take(n).collect()).collect() })
    }

    /// Writes the row group that is open, if one is.
    ///
    /// # Errors
    /// Those of encoding and writing.
    pub fn close(&mut self) -> Result<()> {
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

    /// Writes what is left and the footer. Returns what the footer says, and the bytes of the file.
    ///
    /// # Errors
    /// Those of encoding and writing.
    pub fn finish(mut self) -> Result<(ParquetMetaData, u64)> {
        self.close()?;
        let metadata = self.file.finish()?;
        Ok((metadata, self.bytes()))
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

/// How many Parquet columns a type takes.
pub fn leaves(data_type: &DataType) -> usize {
    match data_type {
        DataType::Struct(fields) => fields.iter().map(|field| leaves(field.data_type())).sum(),
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => leaves(item.data_type()),
        _ => 1,
    }
}
