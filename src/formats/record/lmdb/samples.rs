//! Samples whose parts are entries of their own: `image-000000001` and `label-000000001` are one sample, `num-samples`
//! says how many there are. Text recognition's data sets are kept so.
//! <https://github.com/clovaai/deep-text-recognition-benchmark/blob/master/create_lmdb_dataset.py>

use super::store::Store;
use super::values::is_text;
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::content::table::{batch, cut};
use crate::data::content::{Rows, Table};
use crate::engines::records::container::Container;
use arrow::array::{ArrayRef, BinaryBuilder, RecordBatch, StringBuilder, UInt64Array};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use std::ops::Range;
use std::sync::Arc;

/// The entry that says how many samples there are.
const COUNT: &[u8] = b"num-samples";
/// The most kinds of keys that are looked for.
const KINDS: usize = 32;
/// Samples that are looked at for texts.
const SAMPLE: u64 = 16;
/// Bytes of values in one step of a scan.
const STEP: u64 = 32 << 20;

/// What the keys of one part of all samples begin with, and how their numbers are written.
struct Part {
    prefix: String,
    width: usize,
    first: u64,
    is_text: bool,
}

/// The samples as rows.
pub(super) struct Samples {
    store: Arc<Store>,
    parts: Vec<Part>,
    rows: u64,
    schema: SchemaRef,
}

impl Samples {
    /// The samples of a database; `None` where it has none.
    ///
    /// # Errors
    /// `Cancelled`; failures to read.
    pub(super) fn find(task: &Task, store: &Arc<Store>) -> Result<Option<Samples>> {
        if store.tree.db.flags != 0 {
            return Ok(None);
        }
        match Samples::look(task, store).unless_cancelled()? {
            Ok(found) => Ok(found),
            // What is broken is named where it is met.
            Err(_) => Ok(None),
        }
    }

    fn look(task: &Task, store: &Arc<Store>) -> Result<Option<Samples>> {
        let Some(entry) = store.tree.get(task, COUNT)? else { return Ok(None) };
        let count = entry.value.head(task, store.environment(), 32)?;
        let count = std::str::from_utf8(&count).ok().and_then(|text| text.trim().parse::<u64>().ok());
        let Some(rows) = count.filter(|rows| *rows <= store.rows().number()) else { return Ok(None) };
        let mut parts: Vec<Part> = Vec::new();
        let mut from: Vec<u8> = Vec::new();
        for _ in 0..KINDS {
            task.check()?;
            let Some(key) = store.tree.key_from(task, &from)? else { break };
            from = match Part::of(&key) {
                Some(part) => {
                    // Behind all keys of this prefix.
                    let behind = format!("{}.", part.prefix).into_bytes();
                    parts.push(part);
                    behind
                }
                None => [&key[..], b"\0"].concat(),
            };
        }
        if parts.is_empty() || rows == 0 {
            return Ok(None);
        }
        // A sample has one number in all of its parts, also where one of them lacks the first.
        let first = parts.iter().map(|part| part.first).min().unwrap_or_default();
        parts.iter_mut().for_each(|part| part.first = first);
        let mut samples = Samples { store: store.clone(), parts, rows, schema: Arc::new(Schema::empty()) };
        for n in 0..samples.parts.len() {
            let is_text = samples.are_texts(task, n)?;
            if let Some(part) = samples.parts.get_mut(n) {
                part.is_text = is_text;
            }
        }
        let number = Field::new("number", DataType::UInt64, false);
        let field = |part: &Part| {
            Field::new(&part.prefix, if part.is_text { DataType::Utf8 } else { DataType::Binary }, true)
        };
        let fields: Vec<Field> = std::iter::once(number).chain(samples.parts.iter().map(field)).collect();
        samples.schema = Arc::new(Schema::new(fields));
        Ok(Some(samples))
    }

    /// Whether the first values of a part are texts.
    fn are_texts(&self, task: &Task, part: usize) -> Result<bool> {
        let Some(part) = self.parts.get(part) else { return Ok(false) };
        for row in 0..self.rows.min(SAMPLE) {
            let Some(entry) = self.store.tree.get(task, &part.key(row))? else { continue };
            let head = entry.value.head(task, self.store.environment(), 1 << 12)?;
            if entry.value.len() > 1 << 12 || !head.is_empty() && !is_text(&head) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn says(&self, part: &Part, row: u64, what: &str) {
        let key = part.key(row).escape_ascii().to_string();
        self.store.problems().add(Error::malformed(format!("LMDB: entry {key:?} {what}")));
    }

    fn column(&self, task: &Task, part: &Part, rows: Range<u64>) -> Result<ArrayRef> {
        let (mut texts, mut all, mut total) = (StringBuilder::new(), BinaryBuilder::new(), 0_u64);
        for row in rows {
            task.check()?;
            let entry = self.store.tree.get(task, &part.key(row))?;
            if entry.is_none() {
                self.says(part, row, "is not there, though the store counts its sample");
            }
            let value = entry.map(|entry| {
                total = total.saturating_add(entry.value.len());
                limits::check(total, limits::CHUNK, "the values of a column")?;
                entry.value.bytes(task, self.store.environment())
            });
            let value = value.transpose()?;
            if !part.is_text {
                all.append_option(value);
                continue;
            }
            let text = value.as_deref().map(std::str::from_utf8);
            if let Some(Err(_)) = text {
                self.says(part, row, "is no text as the others are");
            }
            texts.append_option(text.and_then(std::result::Result::ok));
        }
        Ok(if part.is_text { Arc::new(texts.finish()) } else { Arc::new(all.finish()) })
    }
}

impl Part {
    /// The part that a key is of: a name, a hyphen and a number of several digits.
    fn of(key: &[u8]) -> Option<Part> {
        let (prefix, digits) = std::str::from_utf8(key).ok()?.rsplit_once('-')?;
        let is_number = digits.len() > 1 && digits.bytes().all(|digit| digit.is_ascii_digit());
        let first = digits.parse().ok().filter(|_| is_number && !prefix.is_empty())?;
        Some(Part { prefix: prefix.to_owned(), width: digits.len(), first, is_text: false })
    }

    /// The key of its entry of a sample.
    fn key(&self, row: u64) -> Vec<u8> {
        format!("{}-{:0width$}", self.prefix, self.first.saturating_add(row), width = self.width).into_bytes()
    }
}

impl Table for Samples {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn rows(&self) -> Rows {
        Rows::Exact(self.rows)
    }

    fn read(&self, task: &Task, rows: Range<u64>, columns: &[usize]) -> Result<RecordBatch> {
        let rows = cut(&rows, self.rows);
        let first = self.parts.first().map_or(0, |part| part.first);
        let column = |column: &usize| -> Result<ArrayRef> {
            match column.checked_sub(1).map(|n| self.parts.get(n)) {
                None => Ok(Arc::new(UInt64Array::from_iter_values(
                    rows.clone().map(|row| first.saturating_add(row)),
                ))),
                Some(Some(part)) => self.column(task, part, rows.clone()),
                Some(None) => Err(Error::bug(format!("column {column} was asked for"))),
            }
        };
        let made: Vec<ArrayRef> = columns.iter().map(column).collect::<Result<_>>()?;
        self.store.unchanged(task)?;
        batch(&self.schema, columns, made, (rows.end - rows.start) as usize)
    }

    fn scan_step(&self, _at: u64) -> u64 {
        (STEP / self.store.average().max(1) / self.parts.len().max(1) as u64).clamp(1, 1 << 16)
    }
}
