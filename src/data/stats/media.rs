//! What one pass over the media of a table tells: payloads that cannot be decoded, that are there twice, their sizes;
//! fields that are missing in some records; how many records each class has.

use crate::bytes::error::{Result, UnlessCancelled};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::cell;
use crate::data::content::{Content, Rect, Table};
use crate::data::format::{Formats, Options};
use crate::data::media::{LabelColumn, Media, MediaColumn, MediaKind, Payload, Place, payload};
use crate::data::scan::RowSteps;
use arrow::array::{Array, ArrayRef};
use rayon::prelude::*;
use std::collections::HashMap;
use std::hash::Hash;
use std::ops::Range;
use xxhash_rust::xxh3::xxh3_128;

/// Different sizes that are counted one by one.
const SIZES: usize = 1 << 16;
/// Different payloads that are told from each other.
const PAYLOADS: usize = 1 << 22;
/// Classes that are counted one by one.
const CLASSES: usize = 1 << 16;
/// Bytes of payloads that are in memory at once, told by those before.
const AT_ONCE: u64 = 32 << 20;
/// The most rows of a step.
const STEP: u64 = 512;
/// Rows of the first step.
const FIRST: u64 = 16;

/// How many records there are of each class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Classes {
    /// The values of cells as texts with their names and how often they come, the most frequent first; `None` is null.
    pub counts: Vec<(Option<String>, String, u64)>,
    /// Records that were counted.
    pub rows: u64,
    /// Whether those are all records.
    pub exact: bool,
    /// Records of classes that there were too many of.
    pub others: u64,
}

/// What one pass over a column of media tells.
#[derive(Clone, Debug, Default)]
pub struct Structure {
    /// Records that were looked at.
    pub rows: u64,
    /// Records without a payload.
    pub absent: u64,
    /// Bytes of all payloads.
    pub bytes: u64,
    /// Payloads that cannot be decoded.
    pub undecodable: u64,
    /// The record of the first one, and why.
    pub first_undecodable: Option<(u64, String)>,
    /// Payloads that were there before.
    pub duplicates: u64,
    /// The first of them, and the record that it is equal to.
    pub first_duplicate: Option<(u64, u64)>,
    /// What payloads are (`JPEG`), and how many.
    pub kinds: Vec<(String, u64)>,
    /// Width and height of pictures, or the last two sides of arrays, and how many have them.
    pub sizes: Vec<((u64, u64), u64)>,
    /// Columns, and of how many records they have no value; only those that lack some.
    pub missing: Vec<(String, u64)>,
    /// Whether there were more sizes or payloads than are told from each other.
    pub is_cut: bool,
}

/// Counts the classes of `rows`, ranges in order.
///
/// # Errors
/// Those of reading the table; `Cancelled`.
pub fn classes(
    task: &Task,
    table: &dyn Table,
    label: &LabelColumn,
    rows: Option<Vec<Range<u64>>>,
) -> Result<Classes> {
    let exact = rows.is_none();
    let ranges = match rows {
        Some(ranges) => ranges,
        None => std::iter::once(0..table.count(task)?).collect(),
    };
    task.set_total(ranges.iter().map(|range| range.end - range.start).sum());
    let mut counts: HashMap<Option<String>, u64> = HashMap::new();
    let mut found = Classes { exact, ..Classes::default() };
    for range in ranges {
        for step in RowSteps::new(table, range).at_most(65_536) {
            let batch = table.read(task, step, &[label.column])?;
            let Some(array) = batch.columns().first() else { continue };
            for row in 0..array.len() {
                let text = cell::shown(array.as_ref(), row);
                found.others += u64::from(!counted(&mut counts, text, CLASSES));
            }
            found.rows += array.len() as u64;
            task.advance(array.len() as u64)?;
        }
    }
    let named = |text: Option<String>, count| {
        let name = text.as_ref().and_then(|text| label.names.get(text.parse::<usize>().ok()?).cloned());
        let name = name.or_else(|| text.clone()).unwrap_or_else(|| "null".to_owned());
        (text, name, count)
    };
    found.counts = counts.into_iter().map(|(text, count)| named(text, count)).collect();
    found.counts.sort_by(|a, b| b.2.cmp(&a.2).then_with(|| crate::bytes::display::natural_order(&a.1, &b.1)));
    Ok(found)
}

/// Counts a value, unless there are too many others; whether it did.
fn counted<K: Eq + Hash>(counts: &mut HashMap<K, u64>, key: K, most: usize) -> bool {
    if let Some(count) = counts.get_mut(&key) {
        *count += 1;
        return true;
    }
    let room = counts.len() < most;
    if room {
        counts.insert(key, 1);
    }
    room
}

/// What is known of one payload.
struct Looked {
    bytes: u64,
    hash: u128,
    kind: String,
    size: Option<(u64, u64)>,
    problem: Option<String>,
}

/// Decodes the payloads of a column, all of them, and looks which fields of their records are missing.
///
/// # Errors
/// Those of reading the table; `Cancelled`.
pub fn structure(
    task: &Task,
    formats: Formats,
    table: &dyn Table,
    media: &Media,
    column: &MediaColumn,
    place: &Place,
) -> Result<Structure> {
    let total = table.count(task)?;
    task.set_total(total);
    let fields = table.schema().fields();
    // The other columns of media are as large.
    let others = |n: &usize| *n == column.column || media.column(*n).is_none();
    let columns: Vec<usize> = (0..fields.len().min(256)).filter(others).collect();
    let own = columns.iter().position(|n| *n == column.column).unwrap_or_default();
    let mut pass = Pass { nulls: vec![0; columns.len()], ..Pass::default() };
    let mut steps = RowSteps::new(table, 0..total).at_most(FIRST);
    while let Some(rows) = steps.next() {
        let batch = table.read(task, rows.clone(), &columns)?;
        let missing = |array: &ArrayRef| array.logical_null_count() as u64;
        pass.nulls.iter_mut().zip(batch.columns()).for_each(|(nulls, array)| *nulls += missing(array));
        let Some(array) = batch.columns().get(own) else { continue };
        let look = |row: usize| look(task, formats, column, array, row, place);
        let looked: Vec<Result<Option<Looked>>> = (0..array.len()).into_par_iter().map(look).collect();
        let before = pass.found.bytes;
        for (row, looked) in (rows.start..).zip(looked) {
            pass.add(row, looked?);
        }
        let each = (pass.found.bytes - before) / (array.len() as u64).max(1);
        steps.most = (AT_ONCE / each.max(1)).clamp(1, STEP);
        // Each row was counted when it was looked at; what is inside of it may have counted for itself.
        task.set_total(total);
        task.reached(rows.end);
        task.check()?;
    }
    let name = |n: &usize| fields.get(*n).map_or(String::new(), |field| field.name().clone());
    let missing = columns.iter().map(name).zip(std::mem::take(&mut pass.nulls));
    let missing = missing.filter(|(_, count)| *count > 0).collect();
    Ok(Structure { missing, ..pass.finish() })
}

#[derive(Default)]
struct Pass {
    found: Structure,
    nulls: Vec<u64>,
    seen: HashMap<u128, u64>,
    kinds: HashMap<String, u64>,
    sizes: HashMap<(u64, u64), u64>,
}

impl Pass {
    fn add(&mut self, row: u64, looked: Option<Looked>) {
        let found = &mut self.found;
        found.rows += 1;
        let Some(looked) = looked else {
            found.absent += 1;
            return;
        };
        found.bytes += looked.bytes;
        if let Some(problem) = looked.problem {
            found.undecodable += 1;
            found.first_undecodable.get_or_insert((row, problem));
        }
        match self.seen.get(&looked.hash) {
            Some(first) => {
                found.duplicates += 1;
                found.first_duplicate.get_or_insert((row, *first));
            }
            None if self.seen.len() < PAYLOADS => drop(self.seen.insert(looked.hash, row)),
            None => found.is_cut = true,
        }
        found.is_cut |= !counted(&mut self.kinds, looked.kind, CLASSES);
        if let Some(size) = looked.size {
            found.is_cut |= !counted(&mut self.sizes, size, SIZES);
        }
    }

    fn finish(self) -> Structure {
        let mut found = self.found;
        found.kinds = self.kinds.into_iter().collect();
        found.kinds.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        found.sizes = self.sizes.into_iter().collect();
        found.sizes.sort_unstable();
        found
    }
}

/// Decodes one payload.
fn look(
    task: &Task,
    formats: Formats,
    column: &MediaColumn,
    array: &ArrayRef,
    row: usize,
    place: &Place,
) -> Result<Option<Looked>> {
    task.advance(1)?;
    let failed = |problem: String| {
        Some(Looked {
            bytes: 0,
            hash: xxh3_128(problem.as_bytes()),
            kind: String::new(),
            size: None,
            problem: Some(problem),
        })
    };
    let payload = match payload::payload(task, column, array.as_ref(), row, place).unless_cancelled()? {
        Ok(Some(payload)) => payload,
        Ok(None) => return Ok(None),
        Err(error) => return Ok(failed(error.message())),
    };
    match payload {
        Payload::Array(array) => {
            let all = crate::data::region::Region::all(array.shape());
            let raw = crate::data::content::array::read(array.as_ref(), task, &all)?;
            let size = match array.shape() {
                [.., height, width] => Some((*width, *height)),
                _ => None,
            };
            let kind = format!("{} {}", array.dtype(), crate::bytes::display::shape(array.shape()));
            Ok(Some(Looked { bytes: raw.len() as u64, hash: xxh3_128(&raw), kind, size, problem: None }))
        }
        Payload::File(source) => {
            let bytes = source.read(task, 0..source.len(task)?)?;
            let mut looked = Looked {
                bytes: bytes.len() as u64,
                hash: xxh3_128(&bytes),
                kind: String::new(),
                size: None,
                problem: None,
            };
            decode(task, formats, (&source, column.kind), &mut looked)?;
            Ok(Some(looked))
        }
    }
}

/// Opens a file and decodes the first frame of a picture.
fn decode(
    task: &Task,
    formats: Formats,
    (source, kind): (&Source, MediaKind),
    looked: &mut Looked,
) -> Result<()> {
    let document = match formats.open_source(task, source, &Options::default()).unless_cancelled()? {
        Ok(document) => document,
        Err(error) => {
            looked.problem = Some(error.message());
            return Ok(());
        }
    };
    looked.kind = document.format.name.to_owned();
    let problem = document.root.problem_now().map(|problem| problem.message());
    if let Some(Content::Image(image)) = &document.root.content {
        let info = image.info();
        looked.size = Some((info.width, info.height));
        let read = image.read(task, 0, 0, Rect::all(info.width, info.height)).unless_cancelled()?;
        looked.problem = read.err().map(|error| error.message());
    } else if let Some(Content::Array(array)) = &document.root.content
        && array.facts().sound.is_some()
    {
        looked.problem = super::sound::problem(task, array.as_ref())?;
    } else if kind == MediaKind::Image && problem.is_none() {
        looked.problem = Some(format!("it is no picture, but {}", looked.kind));
    }
    looked.problem = looked.problem.take().or(problem);
    Ok(())
}
