//! Record batches as one table.

use super::batch::{Batch, Body};
use super::capacity;
use super::decode::Decoder;
use super::index::{BatchAt, DictionaryAt, Index, Opened};
use super::schema::{Cursor, IpcSchema, Plan};
use crate::bytes::cache::Cache;
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::guard::guarded;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::table::{batch, cut, joined, project};
use crate::data::content::{Block, Layout, Rows, Table, TableFacts};
use crate::data::location::{BytePlace, Location, Owner};
use arrow::array::{Array, ArrayRef, RecordBatch, new_empty_array};
use arrow::buffer::Buffer;
use arrow::datatypes::SchemaRef;
use rayon::prelude::*;
use std::ops::Range;

/// Decompressed buffers that are kept, in bytes.
const KEPT: usize = 128 << 20;
/// Dictionaries that are kept, in bytes.
const DICTIONARIES: usize = 256 << 20;
/// About how many stored bytes one step of a scan covers.
const SCAN: u64 = 4 << 20;
/// The most rows of one step of a scan.
const STEP: u64 = 1 << 20;
/// The most batches whose layout is listed.
const LISTED: usize = 100_000;

/// The rows of a file or stream.
pub(super) struct IpcTable {
    source: Source,
    schema: IpcSchema,
    index: Index,
    container: &'static str,
    /// Where each column's description starts, in a batch without views.
    places: Vec<Cursor>,
    buffers: Cache<u64, Buffer>,
    dictionaries: Cache<(i64, usize), ArrayRef>,
}

impl IpcTable {
    /// The table of what was opened.
    pub(super) fn new(source: Source, opened: Opened) -> Self {
        let Opened { schema, index, container, .. } = opened;
        let mut at = Cursor::default();
        let mut places = Vec::with_capacity(schema.plans.len());
        for plan in &schema.plans {
            places.push(at);
            plan.skip(&mut at, &[], schema.old_unions);
        }
        let (buffers, dictionaries) = (Cache::new(KEPT), Cache::new(DICTIONARIES));
        IpcTable { source, schema, index, container, places, buffers, dictionaries }
    }

    /// Why the last batches are missing, if they are.
    pub(super) fn broken(&self) -> Option<Error> {
        self.index.with(|known| known.broken.clone())
    }

    fn name(&self, column: usize) -> &str {
        self.schema.schema.fields().get(column).map_or("", |field| field.name())
    }

    /// The batches that the rows `rows` lie in, with their numbers and the rows of each.
    fn batches(&self, rows: &Range<u64>) -> Vec<(usize, BatchAt, Range<u64>)> {
        self.index.with(|known| {
            let mut found = Vec::new();
            let first = known.starts.partition_point(|&start| start <= rows.start).saturating_sub(1);
            for (n, place) in known.batches.iter().enumerate().skip(first) {
                let start = known.starts.get(n).copied().unwrap_or(0);
                if start >= rows.end {
                    break;
                }
                let part =
                    rows.start.max(start) - start..rows.end.min(start + place.rows).saturating_sub(start);
                if !part.is_empty() {
                    found.push((n, place.clone(), part));
                }
            }
            found
        })
    }

    /// One column of a part of one batch.
    fn part(
        &self,
        task: &Task,
        number: usize,
        at: &BatchAt,
        batch: &Batch,
        column: usize,
        rows: Range<u64>,
    ) -> Result<ArrayRef> {
        let plan = self.schema.plans.get(column).ok_or_else(|| Error::bug("a column without a plan"))?;
        let place = self.place(batch, column);
        let dictionaries = |id: i64, plan: &Plan| self.dictionary(task, id, number, plan, 0);
        let decoder = self.decoder(task, batch, at.body.clone(), &dictionaries);
        decoder.column(plan, place, rows)
    }

    /// Where a column's description starts in a batch.
    fn place(&self, batch: &Batch, column: usize) -> Cursor {
        let mut place = self.places.get(column).copied().unwrap_or_default();
        // Each view before this column has buffers of its own.
        let before = batch.views.iter().take(place.views);
        place.buffer =
            before.fold(place.buffer, |sum, n| sum.saturating_add(usize::try_from(*n).unwrap_or(0)));
        place
    }

    /// The place of a value of a dictionary as it stands for record batch `number`, where that has all its values in one
    /// piece.
    fn entry(
        &self,
        task: &Task,
        id: i64,
        number: usize,
        plan: &Plan,
        key: u64,
        depth: usize,
    ) -> Result<Option<Location>> {
        let only = self.index.with(|known| {
            let list = known.dictionaries.get(&id).map_or(&[][..], Vec::as_slice);
            let end = list.partition_point(|d| d.from <= number);
            let last = list.get(end.checked_sub(1)?)?;
            (!last.delta).then(|| last.clone())
        });
        let Some(at) = only.filter(|_| depth < 16) else { return Ok(None) };
        let batch = Batch::read(task, &self.source, &at.header)?;
        let none = |id: i64, plan: &Plan| self.dictionary(task, id, number, plan, depth + 1);
        let decoder = self.decoder(task, &batch, at.body.clone(), &none);
        let inner = |id: i64, plan: &Plan, key| self.entry(task, id, number, plan, key, depth + 1);
        if key >= decoder.values(Cursor::default())? {
            return Ok(None);
        }
        decoder.located(plan, Cursor::default(), key, &format!("dictionary {id}"), &inner)
    }

    /// What of a batch whose first row is `first` a byte of its body belongs to.
    fn owner_in(
        &self,
        task: &Task,
        number: usize,
        at: &BatchAt,
        first: u64,
        byte: &BytePlace,
    ) -> Result<Option<Owner>> {
        let batch = Batch::read(task, &self.source, &at.header)?;
        let none = |id: i64, plan: &Plan| self.dictionary(task, id, number, plan, 0);
        let decoder = self.decoder(task, &batch, at.body.clone(), &none);
        for column in 0..self.schema.plans.len() {
            let begin = self.place(&batch, column).buffer;
            let end = match column + 1 < self.schema.plans.len() {
                true => self.place(&batch, column + 1).buffer,
                false => batch.buffers.len(),
            };
            for index in begin..end {
                let buffer = decoder.buffer(index, &self.batch_name(number, column))?;
                let Some(offset) = byte.within(&self.source, &buffer.range) else { continue };
                // Numbers stand one behind the other in the buffer behind the validity bitmap.
                let dtype = self.schema.plans.get(column).map(|plan| &plan.dtype);
                let width =
                    dtype.and_then(arrow::datatypes::DataType::primitive_width).map(|width| width as u64);
                let row = match width.filter(|_| index == begin + 1 && buffer.is_plain()) {
                    Some(width) => Some(offset / width.max(1)).filter(|row| *row < at.rows),
                    None => None,
                };
                let cell = first.saturating_add(row.unwrap_or(0));
                return Ok(Some(Owner::of_row(buffer, cell, Some(column), row.is_some())));
            }
        }
        let body = Location::new(
            self.source.clone(),
            at.body.clone(),
            "record batch",
            format!("record batch {number}"),
        );
        Ok(Some(Owner::of_row(body, first, None, false)))
    }

    fn batch_name(&self, number: usize, column: usize) -> String {
        format!("record batch {number}, column {:?}", self.name(column))
    }

    fn decoder<'a>(
        &'a self,
        task: &'a Task,
        batch: &'a Batch,
        range: Range<u64>,
        dictionaries: super::decode::Dictionaries<'a>,
    ) -> Decoder<'a> {
        Decoder {
            body: Body { task, source: &self.source, batch, range, kept: &self.buffers },
            dictionaries,
            big_endian: self.schema.big_endian,
            old_unions: self.schema.old_unions,
        }
    }

    /// The dictionary `id` as it stands for record batch `number`: the last whole one before it, and
    /// what was added since.
    fn dictionary(&self, task: &Task, id: i64, number: usize, plan: &Plan, depth: usize) -> Result<ArrayRef> {
        if depth > 16 {
            return Err(Error::limit("dictionaries of dictionaries nest deeper than 16 levels"));
        }
        let (list, end) = self.index.with(|known| {
            let list = known.dictionaries.get(&id).map_or(&[][..], Vec::as_slice);
            let end = list.partition_point(|d| d.from <= number);
            let whole = list.iter().take(end).rposition(|d| !d.delta).unwrap_or(0);
            (list.get(whole..end).unwrap_or_default().to_vec(), end)
        });
        // Where all values are null, writers may leave the dictionary out.
        if list.is_empty() {
            return Ok(new_empty_array(&plan.dtype));
        }
        // From the longest prefix that is kept, on.
        let begin = end - list.len();
        let kept = (begin + 1..=end).rev().find_map(|n| Some((n, self.dictionaries.get(&(id, n))?)));
        let (done, mut values) = match kept {
            Some((n, values)) => (n - begin, Some(values)),
            None => (0, None),
        };
        for place in list.iter().skip(done) {
            task.check()?;
            let more = self.dictionary_values(task, number, plan, place, depth)?;
            values = Some(match values {
                Some(values) if values.data_type() != more.data_type() => {
                    return Err(Error::malformed(format!("dictionary {id}: it is used with two types")));
                }
                Some(values) => arrow::compute::concat(&[values.as_ref(), more.as_ref()])?,
                None => more,
            });
        }
        let values = values.ok_or_else(|| Error::bug("a dictionary without values"))?;
        self.dictionaries.put((id, end), values.clone(), values.get_array_memory_size());
        Ok(values)
    }

    fn dictionary_values(
        &self,
        task: &Task,
        number: usize,
        plan: &Plan,
        place: &DictionaryAt,
        depth: usize,
    ) -> Result<ArrayRef> {
        let batch = Batch::read(task, &self.source, &place.header)?;
        let inner = |id: i64, plan: &Plan| self.dictionary(task, id, number, plan, depth + 1);
        let decoder = self.decoder(task, &batch, place.body.clone(), &inner);
        let count = decoder.values(Cursor::default())?;
        decoder.column(plan, Cursor::default(), 0..count)
    }

    /// The arrays of the rows `rows`, which are known.
    fn arrays(&self, task: &Task, rows: &Range<u64>, columns: &[usize]) -> Result<Vec<ArrayRef>> {
        let mut parts = Vec::new();
        for (number, at, rows) in self.batches(rows) {
            let header = match at.problem.clone() {
                Some(problem) => return Err(problem),
                None => Batch::read(task, &self.source, &at.header)?,
            };
            parts.push((number, at, header, rows));
        }
        let one = |&column: &usize| -> Result<ArrayRef> {
            let arrays = parts.iter().map(|(number, at, header, rows)| {
                task.check()?;
                guarded(|| self.part(task, *number, at, header, column, rows.clone()))
            });
            let field =
                self.schema.schema.fields().get(column).ok_or_else(|| Error::bug("no such column"))?;
            joined(&arrays.collect::<Result<Vec<_>>>()?, field.data_type())
        };
        let named =
            |column: &usize| one(column).map_err(|e| e.in_node(&format!("column {:?}", self.name(*column))));
        columns.par_iter().map(named).collect()
    }
}

impl Table for IpcTable {
    fn schema(&self) -> &SchemaRef {
        &self.schema.schema
    }

    fn rows(&self) -> Rows {
        self.index.with(|known| match known.complete {
            true => Rows::Exact(known.rows()),
            false => Rows::AtLeast(known.rows()),
        })
    }

    fn read(&self, task: &Task, rows: Range<u64>, columns: &[usize]) -> Result<RecordBatch> {
        task.check()?;
        self.index.reach(task, &self.source, rows.end.saturating_sub(1))?;
        let rows = cut(&rows, self.rows().number());
        if rows.is_empty() {
            return Ok(RecordBatch::new_empty(project(self.schema(), columns)?));
        }
        batch(self.schema(), columns, self.arrays(task, &rows, columns)?, (rows.end - rows.start) as usize)
    }

    fn location(&self, task: &Task, row: u64, column: usize) -> Result<Option<Location>> {
        self.index.reach(task, &self.source, row)?;
        let batches = self.batches(&(row..row.saturating_add(1)));
        let (Some((number, at, rows)), Some(plan)) = (batches.first(), self.schema.plans.get(column)) else {
            return Ok(None);
        };
        if let Some(problem) = &at.problem {
            return Err(problem.clone());
        }
        let batch = Batch::read(task, &self.source, &at.header)?;
        let dictionaries = |id: i64, plan: &Plan| self.dictionary(task, id, *number, plan, 0);
        let decoder = self.decoder(task, &batch, at.body.clone(), &dictionaries);
        let entry = |id: i64, plan: &Plan, key| self.entry(task, id, *number, plan, key, 0);
        let name = self.batch_name(*number, column);
        let found = guarded(|| decoder.located(plan, self.place(&batch, column), rows.start, &name, &entry))?;
        let whole = || Location::new(self.source.clone(), at.body.clone(), "record batch", name.as_str());
        Ok(Some(found.unwrap_or_else(whole)))
    }

    fn owner(&self, task: &Task, byte: &BytePlace) -> Result<Option<Owner>> {
        let found = self.index.with(|known| {
            let is_in = |at: &BatchAt| byte.within(&self.source, &at.body).is_some();
            let number = known.batches.iter().position(is_in)?;
            Some((number, known.batches.get(number)?.clone(), known.starts.get(number).copied().unwrap_or(0)))
        });
        match found {
            Some((number, at, first)) if at.problem.is_none() => {
                self.owner_in(task, number, &at, first, byte)
            }
            _ => Ok(None),
        }
    }

    fn equal_rows(&self, task: &Task, at: u64) -> Result<u64> {
        if !self.schema.plans.iter().all(|plan| capacity::may_be_hollow(&plan.dtype)) {
            return Ok(0);
        }
        let batches = self.batches(&(at..at.saturating_add(1)));
        let Some((_, place, rows)) = batches.first().filter(|(_, place, _)| place.problem.is_none()) else {
            return Ok(0);
        };
        // What is broken is said when it is read.
        let Ok(batch) = Batch::read(task, &self.source, &place.header).unless_cancelled()? else {
            return Ok(0);
        };
        let plans = self.schema.plans.iter().map(AsRef::as_ref);
        let equal = capacity::is_hollow(plans, &batch, self.schema.old_unions, place.rows);
        Ok(if equal { place.rows - rows.start } else { 0 })
    }

    fn count(&self, task: &Task) -> Result<u64> {
        self.index.reach(task, &self.source, u64::MAX)?;
        Ok(self.rows().number())
    }

    fn scan_step(&self, at: u64) -> u64 {
        self.index.with(|known| {
            let number = known.starts.partition_point(|&start| start <= at).saturating_sub(1);
            let (Some(place), Some(&start)) = (known.batches.get(number), known.starts.get(number)) else {
                return 65_536;
            };
            // Compressed batches are taken whole: a second step would decompress them again.
            let most = match (place.body.end - place.body.start).div_ceil(SCAN) {
                parts if parts > 1 && known.codecs.is_empty() => place.rows.div_ceil(parts),
                _ => place.rows,
            };
            most.min(STEP).min((start + place.rows).saturating_sub(at)).max(1)
        })
    }

    fn facts(&self) -> TableFacts {
        let version = self.schema.version.to_owned();
        let mut details = vec![
            ("container".to_owned(), self.container.to_owned()),
            ("metadata version".to_owned(), version),
        ];
        if self.schema.big_endian {
            details.push(("byte order".to_owned(), "big endian".to_owned()));
        }
        let columns = self.schema.schema.fields().iter().map(|field| {
            let shown = |(key, value): (&String, &String)| {
                let name = match key.as_str() {
                    "ARROW:extension:name" => "extension type",
                    "ARROW:extension:metadata" => "extension parameters",
                    other => other,
                };
                (name.to_owned(), value.clone())
            };
            let mut lines: Vec<_> = field.metadata().iter().map(shown).collect();
            lines.sort();
            lines
        });
        let columns = columns.collect();
        self.index.with(|known| {
            if !known.dictionaries.is_empty() {
                details.push(("dictionaries".to_owned(), known.dictionaries.len().to_string()));
            }
            if let Some(broken) = &known.broken {
                details.push(("ends early".to_owned(), broken.message()));
            }
            let batches = known.complete.then_some(known.batches.len() as u64);
            TableFacts { row_groups: batches, codecs: known.codecs.clone(), details, columns }
        })
    }

    fn layout(&self) -> Layout {
        self.index.with(|known| {
            let blocks = known.batches.iter().zip(&known.starts).take(LISTED).map(|(place, &first)| Block {
                name: String::new(),
                first,
                count: place.rows,
                stored: place.body.end - place.body.start,
                raw: if known.codecs.is_empty() { place.body.end - place.body.start } else { 0 },
                missing: place.problem.is_some(),
            });
            Layout { unit: "record batch", blocks: blocks.collect(), ..Layout::default() }
        })
    }
}
