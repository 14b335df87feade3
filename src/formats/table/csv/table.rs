//! The table: rows found by the sparse index, or near a place, or at the end; split and decoded when
//! they are read.

use super::record::{self, Field, Step};
use super::sample::{self, Sample};
use crate::content::table::{Rows, Table, batch};
use crate::error::{Error, Result};
use crate::limits;
use crate::lines::{Index, encoding, resync};
use crate::task::Task;
use arrow::array::{ArrayRef, RecordBatch, StringBuilder};
use arrow::datatypes::SchemaRef;
use encoding_rs::Encoding;
use std::ops::Range;
use std::sync::Arc;

/// The longest record that is read, in bytes: a quote that is never closed makes the rest of the
/// file one record.
const RECORD: usize = 256 << 20;
/// Rows that begin so many bytes behind what is indexed are estimated rather than searched.
const FAR: f64 = (256 << 20) as f64;
/// The most that is read to find the last rows without counting all.
const TAIL: u64 = 64 << 20;
/// The most that is read for certainty about quotes.
const CERTAIN: u64 = 4 << 20;

/// A table in a text.
pub(super) struct CsvTable {
    schema: SchemaRef,
    index: Index,
    encoding: &'static Encoding,
    /// Records before the first row: 1 with a header.
    header: u64,
    row_bytes: f64,
}

impl CsvTable {
    pub(super) fn new(sample: &Sample) -> Self {
        CsvTable {
            schema: sample.schema.clone(),
            index: Index::new(sample.view.clone(), sample.dialect.rules, sample.start),
            encoding: sample.encoding,
            header: u64::from(sample.dialect.header),
            row_bytes: sample.row_bytes,
        }
    }

    /// Whether a quote is known to be open at the end of the file.
    pub(super) fn is_unclosed(&self) -> bool {
        self.index.total().is_some_and(|total| total.unclosed)
    }

    /// The byte where row `row` begins, blank lines aside; `None` behind the last one. A row far
    /// behind what is indexed is one that begins about there.
    fn place(&self, task: &Task, row: u64) -> Result<Option<u64>> {
        let record = row.saturating_add(self.header);
        let (known, at) = self.index.known();
        let ahead = record.saturating_sub(known) as f64 * self.row_bytes;
        let source = self.index.source();
        match source.known_len() {
            Some(len) if self.index.total().is_none() && ahead > FAR && source.is_random_access() => {
                self.near(task, at.saturating_add(ahead as u64), len)
            }
            _ => self.index.locate(task, record),
        }
    }

    /// A record's begin behind byte `at`.
    fn near(&self, task: &Task, at: u64, len: u64) -> Result<Option<u64>> {
        if at >= len {
            return Ok(None);
        }
        let bytes = self.index.source().read_up_to(task, at, CERTAIN as usize / 4)?;
        let at_end = at + bytes.len() as u64 >= len;
        Ok(self.first(&bytes, at_end).map(|begin| at + begin.at as u64))
    }

    fn first(&self, bytes: &[u8], at_end: bool) -> Option<resync::Begin> {
        let (rules, width) = (self.index.rules(), self.schema.fields().len());
        resync::first(rules, bytes, at_end, &|at| sample::share(bytes, at, rules, width))
    }

    /// Up to `most` records from byte `at` on.
    fn records(&self, task: &Task, at: u64, most: u64, columns: &[usize]) -> Result<RecordBatch> {
        let mut cells = Cells::new(self, columns);
        let expected = (most as f64 * self.row_bytes * 1.1) as usize;
        let usual = expected.saturating_add(4 << 10).clamp(16 << 10, 4 << 20);
        let (mut place, mut window, mut fields) = (at, usual, Vec::new());
        while cells.rows < most {
            let bytes = self.index.source().read_up_to(task, place, window)?;
            let last = bytes.len() < window;
            let mut at = 0;
            while cells.rows < most {
                match record::next(&bytes, at, self.index.rules(), last, &mut fields) {
                    Step::Record(after) => {
                        cells.push(&bytes, &fields)?;
                        at = after;
                    }
                    Step::Partial(begin) => {
                        at = begin;
                        break;
                    }
                    Step::End => {
                        at = bytes.len();
                        break;
                    }
                }
            }
            if last {
                break;
            }
            place += at as u64;
            // A record longer than the window: a wider one, for this record only.
            window = if at == 0 { window.saturating_mul(4) } else { usual };
            if window > RECORD {
                return Err(Error::limit(format!(
                    "a row of more than {} bytes; its quote may not be closed, quote=none reads quotes as text",
                    RECORD / 4
                ))
                .at(place));
            }
        }
        cells.finish()
    }

    /// The last `count` rows read from the end, if that is possible: a piece of the end long enough to
    /// hold them and to be certain about quotes.
    fn from_end(&self, task: &Task, len: u64, count: u64, columns: &[usize]) -> Result<Option<RecordBatch>> {
        let wanted = (count as f64 * self.row_bytes * 1.5) as u64;
        let mut piece = wanted.saturating_add(64 << 10);
        while piece <= TAIL {
            let from = len.saturating_sub(piece).max(self.index.start());
            if from == self.index.start() {
                return Ok(None);
            }
            let bytes = self.index.source().read(task, from..len)?;
            if let Some(begin) = self.first(&bytes, true)
                && (begin.sure || piece >= CERTAIN.max(wanted))
            {
                let rows = self.last_of(&bytes, begin.at, count, columns)?;
                if rows.num_rows() as u64 == count {
                    return Ok(Some(rows));
                }
            }
            piece = piece.saturating_mul(4);
        }
        Ok(None)
    }

    /// The last `count` of the records that begin at `at`.
    fn last_of(&self, bytes: &[u8], at: usize, count: u64, columns: &[usize]) -> Result<RecordBatch> {
        let (mut at, mut fields, mut begins) = (at, Vec::new(), Vec::new());
        while let Step::Record(after) = record::next(bytes, at, self.index.rules(), true, &mut fields) {
            begins.push(at);
            at = after;
        }
        let skipped = begins.len().saturating_sub(usize::try_from(count).unwrap_or(usize::MAX));
        let mut cells = Cells::new(self, columns);
        for &begin in begins.iter().skip(skipped) {
            record::next(bytes, begin, self.index.rules(), true, &mut fields);
            cells.push(bytes, &fields)?;
        }
        cells.finish()
    }
}

impl Table for CsvTable {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn rows(&self) -> Rows {
        if let Some(total) = self.index.total() {
            return Rows::Exact(total.records.saturating_sub(self.header));
        }
        let (records, at) = self.index.known();
        let known = records.saturating_sub(self.header);
        match self.index.source().known_len() {
            Some(len) => {
                let rest = (len.saturating_sub(at) as f64 / self.row_bytes) as u64;
                Rows::About { rows: known.saturating_add(rest), known }
            }
            None => Rows::AtLeast(known),
        }
    }

    fn read(&self, task: &Task, rows: Range<u64>, columns: &[usize]) -> Result<RecordBatch> {
        let most = rows.end.saturating_sub(rows.start);
        match self.place(task, rows.start)? {
            Some(at) if most > 0 => self.records(task, at, most, columns),
            _ => Cells::new(self, columns).finish(),
        }
    }

    fn count(&self, task: &Task) -> Result<u64> {
        Ok(self.index.count(task)?.saturating_sub(self.header))
    }

    fn tail(&self, task: &Task, count: u64, columns: &[usize]) -> Result<(Option<u64>, RecordBatch)> {
        let source = self.index.source();
        if let Some(len) = source.known_len()
            && source.is_random_access()
            && self.index.total().is_none()
            && let Some(rows) = self.from_end(task, len, count, columns)?
        {
            return Ok((None, rows));
        }
        let total = self.count(task)?;
        let first = total.saturating_sub(count);
        Ok((Some(first), self.read(task, first..total, columns)?))
    }
}

/// The cells of the asked columns, as they are gathered.
struct Cells<'a> {
    table: &'a CsvTable,
    columns: &'a [usize],
    builders: Vec<StringBuilder>,
    rows: u64,
    bytes: u64,
}

impl<'a> Cells<'a> {
    fn new(table: &'a CsvTable, columns: &'a [usize]) -> Self {
        let builders = columns.iter().map(|_| StringBuilder::new()).collect();
        Cells { table, columns, builders, rows: 0, bytes: 0 }
    }

    /// One row. Fields beyond the last column stand, as they are in the file, in the last one.
    fn push(&mut self, bytes: &[u8], fields: &[Field]) -> Result<()> {
        let width = self.table.schema.fields().len();
        let quote = self.table.index.rules().quote;
        for (builder, &column) in self.builders.iter_mut().zip(self.columns) {
            let Some(field) = fields.get(column) else {
                builder.append_null();
                continue;
            };
            let over = if column + 1 == width { fields.get(width..).and_then(<[Field]>::last) } else { None };
            if let Some(last) = over {
                let raw = bytes.get(field.start..last.end).unwrap_or_default();
                builder.append_value(encoding::decode(self.table.encoding, raw));
            } else if field.start == field.end {
                builder.append_null();
            } else {
                let raw = record::unquote(bytes, field, quote);
                builder.append_value(encoding::decode(self.table.encoding, &raw));
            }
            self.bytes += (over.unwrap_or(field).end - field.start) as u64;
        }
        self.rows += 1;
        // Three bytes are the most that one becomes when decoded; a column has 2 GiB at most.
        limits::check(self.bytes.saturating_mul(3), limits::READ - 1, "the text of these rows").map(|_| ())
    }

    fn finish(self) -> Result<RecordBatch> {
        let arrays: Vec<ArrayRef> =
            self.builders.into_iter().map(|mut b| Arc::new(b.finish()) as ArrayRef).collect();
        batch(&self.table.schema, self.columns, arrays, self.rows as usize)
    }
}
