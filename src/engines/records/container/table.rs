//! The records of a container as rows of a table.

use super::{Container, Record, key_text};
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::content::table::{project, stacked, wide_step};
use crate::data::content::{Rows, Table, TableFacts};
use arrow::array::{ArrayRef, BinaryBuilder, RecordBatch, StringBuilder, UInt64Array};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// Bytes of payloads that one builder is given, where there are several records.
const PIECE: u64 = 4 << 20;
/// The most records that one builder is given.
const RECORDS: usize = 1 << 13;
/// Bytes of payloads of one step of a scan.
const STEP: u64 = 32 << 20;
/// The most rows of one step.
const ROWS: u64 = 1 << 16;

/// How the columns of a table are made of records.
pub trait Columns: Send + Sync + 'static {
    /// Their names and types.
    fn schema(&self) -> &SchemaRef;

    /// Whether the payloads are needed for these columns.
    fn wants_payloads(&self, _columns: &[usize]) -> bool {
        true
    }

    /// Makes some of the columns, for a part of the rows.
    ///
    /// # Errors
    /// Where there is no such column.
    fn builder(&self, columns: &[usize]) -> Result<Box<dyn Builder + '_>>;

    /// What is known of how they are stored.
    fn facts(&self) -> TableFacts {
        TableFacts::default()
    }
}

/// Takes records in and gives columns.
pub trait Builder {
    /// Adds a row: a record and its payload; `None` where it cannot be read, or is not wanted.
    ///
    /// # Errors
    /// Those that end the read. What is wrong with one record is said among the container's problems.
    fn add(&mut self, record: &Record, payload: Option<&[u8]>) -> Result<()>;

    /// The columns that were asked for, in that order.
    ///
    /// # Errors
    /// `Bug` where they do not fit together.
    fn finish(self: Box<Self>) -> Result<Vec<ArrayRef>>;
}

/// The table.
pub struct RecordTable<C, D> {
    container: Arc<C>,
    columns: D,
}

impl<C: Container, D: Columns> RecordTable<C, D> {
    /// The records of `container` as rows.
    pub fn new(container: Arc<C>, columns: D) -> Self {
        RecordTable { container, columns }
    }

    /// How its columns are made.
    pub fn columns(&self) -> &D {
        &self.columns
    }

    fn part(&self, task: &Task, records: &[Record], columns: &[usize]) -> Result<Vec<ArrayRef>> {
        let mut builder = self.columns.builder(columns)?;
        if !self.columns.wants_payloads(columns) {
            records.iter().try_for_each(|record| builder.add(record, None))?;
            return builder.finish();
        }
        self.container.read(task, records, &mut |record, payload| match payload.unless_cancelled()? {
            Ok(payload) => builder.add(record, Some(payload)),
            Err(error) => {
                self.container.problems().add(error);
                builder.add(record, None)
            }
        })?;
        builder.finish()
    }
}

/// Records in parts of about as many bytes.
fn parts(records: &[Record]) -> Vec<&[Record]> {
    let (mut parts, mut start, mut bytes) = (Vec::new(), 0, 0_u64);
    for (n, record) in records.iter().enumerate() {
        let len = record.len.saturating_add(64);
        if n > start && (bytes.saturating_add(len) > PIECE || n - start >= RECORDS) {
            parts.extend(records.get(start..n));
            (start, bytes) = (n, 0);
        }
        bytes = bytes.saturating_add(len);
    }
    parts.extend(records.get(start..).filter(|rest| !rest.is_empty()));
    parts
}

impl<C: Container, D: Columns> Table for RecordTable<C, D> {
    fn schema(&self) -> &SchemaRef {
        self.columns.schema()
    }

    fn rows(&self) -> Rows {
        self.container.rows()
    }

    fn read(&self, task: &Task, rows: Range<u64>, columns: &[usize]) -> Result<RecordBatch> {
        task.check()?;
        project(self.schema(), columns)?;
        let records = self.container.records(task, rows)?;
        let parts = parts(&records);
        let part = |part: &&[Record]| self.part(task, part, columns);
        let read: Vec<Vec<ArrayRef>> = match self.container.source().is_stream() {
            true => parts.iter().map(part).collect::<Result<_>>()?,
            false => parts.par_iter().map(part).collect::<Result<_>>()?,
        };
        stacked(self.schema(), columns, &read, records.len())
    }

    fn count(&self, task: &Task) -> Result<u64> {
        self.container.measure(task)
    }

    fn scan_step(&self, _at: u64) -> u64 {
        (STEP / self.container.average().max(1)).clamp(1, ROWS).min(wide_step(self.schema()))
    }

    fn facts(&self) -> TableFacts {
        self.columns.facts()
    }
}

/// The columns of records that have no fields in common: number, key where there are keys, bytes, payload.
pub struct PlainColumns {
    schema: SchemaRef,
    of: Vec<Column>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Column {
    Number,
    Key,
    Bytes,
    Payload,
}

impl PlainColumns {
    /// With a column of keys, or without.
    pub fn new(has_keys: bool) -> Self {
        let all = [
            (Column::Number, Field::new("record", DataType::UInt64, false)),
            (Column::Key, Field::new("key", DataType::Utf8, true)),
            (Column::Bytes, Field::new("bytes", DataType::UInt64, false)),
            (Column::Payload, Field::new("payload", DataType::Binary, true)),
        ];
        let is_there = |(column, _): &(Column, Field)| has_keys || *column != Column::Key;
        let (of, fields): (Vec<Column>, Vec<Field>) = all.into_iter().filter(is_there).unzip();
        PlainColumns { schema: Arc::new(Schema::new(fields)), of }
    }
}

impl Columns for PlainColumns {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn wants_payloads(&self, columns: &[usize]) -> bool {
        columns.iter().any(|column| self.of.get(*column) == Some(&Column::Payload))
    }

    fn builder(&self, columns: &[usize]) -> Result<Box<dyn Builder + '_>> {
        let made = |column: &usize| match self.of.get(*column) {
            Some(Column::Number) => Ok(PlainColumnBuilder::Number(Vec::new())),
            Some(Column::Key) => Ok(PlainColumnBuilder::Key(StringBuilder::new())),
            Some(Column::Bytes) => Ok(PlainColumnBuilder::Bytes(Vec::new())),
            Some(Column::Payload) => Ok(PlainColumnBuilder::Payload(BinaryBuilder::new())),
            None => Err(Error::bug(format!("column {column} was asked for"))),
        };
        Ok(Box::new(PlainBuilder(columns.iter().map(made).collect::<Result<_>>()?)))
    }
}

struct PlainBuilder(Vec<PlainColumnBuilder>);

enum PlainColumnBuilder {
    Number(Vec<u64>),
    Key(StringBuilder),
    Bytes(Vec<u64>),
    Payload(BinaryBuilder),
}

impl Builder for PlainBuilder {
    fn add(&mut self, record: &Record, payload: Option<&[u8]>) -> Result<()> {
        for made in &mut self.0 {
            match made {
                PlainColumnBuilder::Number(numbers) => numbers.push(record.number),
                PlainColumnBuilder::Key(keys) => keys.append_option(record.key.as_deref().map(key_text)),
                PlainColumnBuilder::Bytes(lengths) => lengths.push(record.len),
                PlainColumnBuilder::Payload(payloads) => {
                    limits::check(record.len, limits::CHUNK, "a record")?;
                    payloads.append_option(payload);
                }
            }
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Vec<ArrayRef>> {
        let array = |made: PlainColumnBuilder| -> ArrayRef {
            match made {
                PlainColumnBuilder::Number(numbers) | PlainColumnBuilder::Bytes(numbers) => {
                    Arc::new(UInt64Array::from(numbers))
                }
                PlainColumnBuilder::Key(mut keys) => Arc::new(keys.finish()),
                PlainColumnBuilder::Payload(mut payloads) => Arc::new(payloads.finish()),
            }
        };
        Ok(self.0.into_iter().map(array).collect())
    }
}
