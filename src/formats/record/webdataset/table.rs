//! Samples as rows: the key, and the payload of each field.

use super::member::Member;
use super::samples::{Shard, field_name};
use super::survey::{Survey, integer, text_of};
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::content::table::{Columns, project, stacked};
use crate::data::content::{Rows, Table};
use crate::engines::records::Window;
use crate::engines::records::container::{Container, Record, key_text};
use arrow::array::{ArrayRef, BinaryBuilder, Int64Builder, StringBuilder};
use arrow::datatypes::{DataType, SchemaRef};
use rayon::prelude::*;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// Bytes of samples, and samples, that one worker reads.
const PIECE: u64 = 8 << 20;
const RECORDS: usize = 1 << 10;
/// Bytes of samples of one step of a scan, and the most samples.
const STEP: u64 = 64 << 20;
const ROWS: u64 = 1 << 16;

/// The columns that samples have.
pub(super) struct Form {
    columns: Columns,
    /// The columns of fields.
    places: HashMap<String, usize>,
}

impl Form {
    /// Those that were found.
    pub(super) fn new(survey: &Survey) -> Self {
        Form { columns: survey.columns(), places: survey.places() }
    }

    /// Names and types.
    pub(super) fn schema(&self) -> &SchemaRef {
        &self.columns.schema
    }
}

/// The table.
pub(super) struct SampleTable {
    pub(super) shard: Arc<Shard>,
    pub(super) form: Arc<Form>,
}

enum Made {
    Key(StringBuilder),
    Text(StringBuilder),
    Integer(Int64Builder),
    Binary(BinaryBuilder),
}

impl Made {
    fn finish(self) -> ArrayRef {
        match self {
            Made::Key(mut made) | Made::Text(mut made) => Arc::new(made.finish()),
            Made::Integer(mut made) => Arc::new(made.finish()),
            Made::Binary(mut made) => Arc::new(made.finish()),
        }
    }
}

impl SampleTable {
    fn made(&self, column: usize) -> Result<Made> {
        let field = self.form.columns.schema.fields().get(column);
        let field = field.ok_or_else(|| Error::bug(format!("column {column} was asked for")))?;
        Ok(match field.data_type() {
            _ if column == 0 => Made::Key(StringBuilder::new()),
            DataType::Int64 => Made::Integer(Int64Builder::new()),
            DataType::Utf8 => Made::Text(StringBuilder::new()),
            _ => Made::Binary(BinaryBuilder::new()),
        })
    }

    /// Some columns of a part of the samples.
    fn part(&self, task: &Task, records: &[Record], columns: &[usize]) -> Result<Vec<ArrayRef>> {
        let mut made: Vec<Made> = columns.iter().map(|column| self.made(*column)).collect::<Result<_>>()?;
        let mut window = Window::new(task, self.shard.source());
        let wants_fields = columns.iter().any(|column| *column > 0);
        let mut total = 0_u64;
        for (n, record) in records.iter().enumerate() {
            if n.is_multiple_of(256) || record.len > 1 << 20 {
                task.check()?;
            }
            let key = record.key.as_deref().map(key_text);
            let fields = if wants_fields { self.fields(&mut window, record)? } else { HashMap::new() };
            for (column, made) in columns.iter().zip(&mut made) {
                if let Made::Key(keys) = made {
                    keys.append_option(key.as_deref());
                    continue;
                }
                let value = match fields.get(column) {
                    Some(member) => {
                        total = total.saturating_add(member.size);
                        limits::check(total, limits::CHUNK, "the payloads of these samples")?;
                        self.value(&window, member)?
                    }
                    None => None,
                };
                let member = fields.get(column);
                self.append(made, value.as_deref(), member);
            }
        }
        Ok(made.into_iter().map(Made::finish).collect())
    }

    /// The members of a sample by the columns that they stand in.
    fn fields(&self, window: &mut Window, record: &Record) -> Result<HashMap<usize, Member>> {
        let mut fields = HashMap::new();
        let members = match self.shard.members(window, record).unless_cancelled()? {
            Ok(members) => members,
            Err(error) => {
                self.shard.problems().add(error);
                return Ok(fields);
            }
        };
        for member in members {
            let Some((key, field)) = member.place() else { continue };
            let name = field_name(field);
            match self.form.places.get(&name) {
                Some(column) if !fields.contains_key(column) => {
                    fields.insert(*column, member);
                }
                Some(_) => {
                    let what = format!("WebDataset: sample {key:?} has the field {name:?} more than once; the first is shown");
                    self.shard.problems().add(Error::malformed(what).at(member.begin));
                }
                None => self.shard.problems().remark(format!(
                    "the field {name:?} has no column: it is not in the samples that the columns were made from"
                )),
            }
        }
        Ok(fields)
    }

    /// The bytes of a field; `None` where they cannot be read.
    fn value(&self, window: &Window, member: &Member) -> Result<Option<bytes::Bytes>> {
        if let Some(problem) = &member.problem {
            self.shard.problems().add(problem.clone());
            return Ok(None);
        }
        let span = member.data..member.data.saturating_add(member.size);
        match window.source.read(window.task, span).unless_cancelled()? {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) => {
                self.shard.problems().add(error);
                Ok(None)
            }
        }
    }

    fn append(&self, made: &mut Made, value: Option<&[u8]>, member: Option<&Member>) {
        let says = |what: &str| {
            if let Some(member) = member {
                let what = format!("WebDataset: member {:?} {what}", member.path);
                self.shard.problems().add(Error::malformed(what).at(member.begin));
            }
        };
        match made {
            Made::Key(keys) => keys.append_null(),
            Made::Binary(all) => all.append_option(value),
            Made::Text(texts) => {
                let text = value.and_then(|bytes| std::str::from_utf8(bytes).ok());
                if value.is_some() && text.is_none() {
                    says("is no text as the others are");
                }
                texts.append_option(text);
            }
            Made::Integer(numbers) => {
                let number = value.and_then(|bytes| text_of(bytes, false)).and_then(integer);
                if value.is_some() && number.is_none() {
                    says("is no integer as the others are");
                }
                numbers.append_option(number);
            }
        }
    }
}

/// Samples in parts of about as many bytes.
fn parts(records: &[Record]) -> Vec<&[Record]> {
    let (mut parts, mut start, mut bytes) = (Vec::new(), 0, 0_u64);
    for (n, record) in records.iter().enumerate() {
        if n > start && (bytes.saturating_add(record.len) > PIECE || n - start >= RECORDS) {
            parts.extend(records.get(start..n));
            (start, bytes) = (n, 0);
        }
        bytes = bytes.saturating_add(record.len);
    }
    parts.extend(records.get(start..).filter(|rest| !rest.is_empty()));
    parts
}

impl Table for SampleTable {
    fn schema(&self) -> &SchemaRef {
        &self.form.columns.schema
    }

    fn rows(&self) -> Rows {
        self.shard.rows()
    }

    fn read(&self, task: &Task, rows: Range<u64>, columns: &[usize]) -> Result<arrow::array::RecordBatch> {
        task.check()?;
        project(self.schema(), columns)?;
        let records = self.shard.records(task, rows)?;
        let parts = parts(&records);
        let part = |part: &&[Record]| self.part(task, part, columns);
        let read: Vec<Vec<ArrayRef>> = match self.shard.source().is_stream() {
            true => parts.iter().map(part).collect::<Result<_>>()?,
            false => parts.par_iter().map(part).collect::<Result<_>>()?,
        };
        stacked(self.schema(), columns, &read, records.len())
    }

    fn count(&self, task: &Task) -> Result<u64> {
        self.shard.measure(task)
    }

    fn scan_step(&self, _at: u64) -> u64 {
        (STEP / self.shard.average().max(1)).clamp(1, ROWS)
    }
}
