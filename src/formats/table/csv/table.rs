//! The table: rows of the text, split and decoded when they are read.

use super::record::{self, Field, Step};
use super::sample::{self, Sample};
use crate::content::table::{Rows, Table, batch};
use crate::error::Result;
use crate::limits;
use crate::lines::{Paged, Records, Rules, encoding};
use crate::task::Task;
use arrow::array::{ArrayRef, RecordBatch, StringBuilder};
use arrow::datatypes::SchemaRef;
use encoding_rs::Encoding;
use std::ops::Range;
use std::sync::Arc;

/// A table in a text.
pub(super) struct CsvTable {
    schema: SchemaRef,
    rows: Paged,
    encoding: &'static Encoding,
}

impl CsvTable {
    pub(super) fn new(sample: &Sample) -> Self {
        let before = u64::from(sample.dialect.header);
        let (view, rules) = (sample.view.clone(), sample.dialect.rules);
        CsvTable {
            schema: sample.schema.clone(),
            rows: Paged::new(view, rules, sample.start, before, sample.row_bytes, sample.rows),
            encoding: sample.encoding,
        }
    }

    /// Whether a quote is known to be open at the end of the file.
    pub(super) fn is_unclosed(&self) -> bool {
        self.rows.is_unclosed()
    }

    fn cells(&self, columns: &[usize]) -> Cells {
        Cells {
            rules: *self.rows.rules(),
            encoding: self.encoding,
            width: self.schema.fields().len(),
            columns: columns.iter().map(|&column| (column, StringBuilder::new())).collect(),
            fields: Vec::new(),
            rows: 0,
            bytes: 0,
        }
    }

    fn finish(&self, cells: Cells, columns: &[usize]) -> Result<RecordBatch> {
        let arrays: Vec<ArrayRef> =
            cells.columns.into_iter().map(|(_, mut b)| Arc::new(b.finish()) as ArrayRef).collect();
        batch(&self.schema, columns, arrays, cells.rows)
    }
}

impl Table for CsvTable {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn rows(&self) -> Rows {
        self.rows.rows()
    }

    fn read(&self, task: &Task, rows: Range<u64>, columns: &[usize]) -> Result<RecordBatch> {
        self.rows.batch(rows, |rows| {
            let mut cells = self.cells(columns);
            self.rows.read(task, rows, &mut cells)?;
            self.finish(cells, columns)
        })
    }

    fn count(&self, task: &Task) -> Result<u64> {
        self.rows.count(task)
    }

    fn scan_step(&self, _at: u64) -> u64 {
        self.rows.scan_step()
    }

    fn tail(&self, task: &Task, count: u64, columns: &[usize]) -> Result<(Option<u64>, RecordBatch)> {
        let (first, cells) = self.rows.tail(task, count, &|| self.cells(columns))?;
        Ok((first, self.finish(cells, columns)?))
    }
}

/// The cells of the asked columns, as they are gathered.
struct Cells {
    rules: Rules,
    encoding: &'static Encoding,
    /// All columns of the table.
    width: usize,
    columns: Vec<(usize, StringBuilder)>,
    /// The record that was found last.
    fields: Vec<Field>,
    rows: usize,
    bytes: u64,
}

impl Records for Cells {
    fn split(&mut self, bytes: &[u8], at: usize, last: bool) -> Step {
        record::next(bytes, at, &self.rules, last, &mut self.fields)
    }

    /// Fields beyond the last column stand, as they are in the file, in the last one.
    fn keep(&mut self, bytes: &[u8]) -> Result<()> {
        for (column, builder) in &mut self.columns {
            let Some(field) = self.fields.get(*column) else {
                builder.append_null();
                continue;
            };
            let last_column = *column + 1 == self.width;
            let over =
                if last_column { self.fields.get(self.width..).and_then(<[Field]>::last) } else { None };
            if let Some(last) = over {
                let raw = bytes.get(field.start..last.end).unwrap_or_default();
                builder.append_value(encoding::decode(self.encoding, raw));
            } else if field.start == field.end {
                builder.append_null();
            } else {
                let raw = record::unquote(bytes, field, self.rules.quote);
                builder.append_value(encoding::decode(self.encoding, &raw));
            }
            self.bytes += (over.unwrap_or(field).end - field.start) as u64;
        }
        self.rows += 1;
        // Three bytes are the most that one becomes when decoded; a column has 2 GiB at most.
        limits::check(self.bytes.saturating_mul(3), limits::READ - 1, "the text of these rows").map(|_| ())
    }

    fn fit(&self, bytes: &[u8], at: usize) -> f64 {
        sample::share(bytes, at, &self.rules, self.width)
    }
}
