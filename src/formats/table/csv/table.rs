//! The table: rows of the text, split and decoded when they are read.

use super::record::{self, Field, Step};
use super::sample::{self, Sample};
use super::values::Values;
use crate::bytes::error::Result;
use crate::bytes::limits;
use crate::data::content::table::Columns;
use crate::engines::delimited::texts::Texts;
use crate::engines::delimited::{self, Gather, Paged, Records, Rules, TextTable};
use arrow::array::ArrayRef;
use encoding_rs::Encoding;
use std::ops::Range;

/// A table in a text.
pub(super) type CsvTable = TextTable<CsvSchema>;

/// The table that a sample promises.
pub(super) fn of(sample: &Sample) -> CsvTable {
    let before = u64::from(sample.dialect.header);
    let (view, rules) = (sample.view.clone(), sample.dialect.rules);
    let rows = Paged::new(view, rules, sample.start, before, sample.row_bytes, sample.rows);
    let (columns, values) = (sample.columns.clone(), sample.values.clone());
    TextTable::new(rows, CsvSchema { columns, rules, values, encoding: sample.encoding })
}

/// How fields become columns.
pub(super) struct CsvSchema {
    columns: Columns,
    rules: Rules,
    values: Values,
    encoding: &'static Encoding,
}

impl delimited::RecordSchema for CsvSchema {
    type Cells = Cells;

    fn columns(&self) -> &Columns {
        &self.columns
    }

    fn cells(&self, columns: &[usize]) -> Result<Cells> {
        Ok(Cells {
            rules: self.rules,
            values: self.values.clone(),
            encoding: self.encoding,
            width: self.columns.schema.fields().len(),
            columns: columns.iter().map(|&column| (column, Texts::default())).collect(),
            fields: Vec::new(),
            rows: 0,
            bytes: 0,
        })
    }
}

/// The cells of the asked columns, as they are gathered.
pub(super) struct Cells {
    rules: Rules,
    values: Values,
    encoding: &'static Encoding,
    /// All columns of the table.
    width: usize,
    columns: Vec<(usize, Texts)>,
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
        for (column, texts) in &mut self.columns {
            let Some(field) = self.fields.get(*column) else {
                texts.push_null();
                continue;
            };
            let last_column = *column + 1 == self.width;
            let over =
                if last_column { self.fields.get(self.width..).and_then(<[Field]>::last) } else { None };
            let end = over.map_or(field.end, |last| last.end);
            if field.start == end {
                texts.push_null();
            } else {
                let cell = match field.quoted && over.is_none() {
                    true => record::unquote(bytes, field, self.rules.quote),
                    false => bytes.get(field.start..end).unwrap_or_default().into(),
                };
                match self.values.is_null(&cell) {
                    true => texts.push_null(),
                    false => texts.push(&self.values.plain(&cell)),
                }
            }
            self.bytes += (end - field.start) as u64;
        }
        self.rows += 1;
        // Three bytes are the most that one becomes when decoded; a column has 2 GiB at most.
        limits::check(self.bytes.saturating_mul(3), limits::READ - 1, "the text of these rows").map(|_| ())
    }

    fn fit(&self, bytes: &[u8], at: usize) -> f64 {
        sample::share(bytes, at, &self.rules, self.width)
    }
}

impl Gather for Cells {
    fn finish(self) -> Result<(Vec<ArrayRef>, usize)> {
        let encoding = self.encoding;
        let array = |(_, texts): (usize, Texts)| texts.finish(encoding);
        Ok((self.columns.into_iter().map(array).collect(), self.rows))
    }

    fn record(&self, _bytes: &[u8]) -> Option<Range<usize>> {
        Some(self.fields.first()?.start..self.fields.last()?.end)
    }

    fn field(&self, _bytes: &[u8], column: usize) -> Option<Range<usize>> {
        let field = self.fields.get(column)?;
        let over = self.fields.last().filter(|_| column + 1 == self.width && self.fields.len() > self.width);
        Some(field.start..over.map_or(field.end, |last| last.end))
    }
}
