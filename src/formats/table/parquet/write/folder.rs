//! A table as a folder of Parquet files: in folders that name the values of columns (`year=2024/month=1`), as Hive writes
//! them, and in parts of so many rows or bytes. <https://arrow.apache.org/docs/python/dataset.html#reading-partitioned-data>
//!
//! Rows of a partition are gathered before they are encoded; how many files are open, and how much they hold in memory, is
//! bounded: the file that was written to the longest time ago is closed, and more rows of it go to a part of their own.

use super::groups::{ParquetOut, Shape};
use super::options::{PARTITION, SPLIT_BYTES, SPLIT_ROWS, column, names, number_if_set};
use super::{Prepared, prepared};
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::cell;
use crate::data::format::{Files, Loss, LossKind, Options, Payload, Sink, note};
use crate::data::scan::scan;
use arrow::array::{RecordBatch, UInt32Array};
use arrow::compute::{concat_batches, take_record_batch};
use arrow::datatypes::{DataType, Schema, SchemaRef};
use arrow::row::{RowConverter, SortField};
use rayon::prelude::*;
use std::collections::HashMap;
use std::sync::Arc;

/// What Hive writes for null.
const NULL: &str = "__HIVE_DEFAULT_PARTITION__";
/// The most files that are open at once.
const OPEN: usize = 64;
/// The most partitions.
const PARTITIONS: usize = 100_000;
/// Rows of a partition that are encoded together.
const ROWS: usize = 64 << 10;
/// Bytes of rows that wait, and of encoded row groups, in all partitions.
const WAITING: usize = 128 << 20;
const ENCODED: usize = 256 << 20;

/// Whether a folder is asked for.
pub(super) fn is_asked(options: &Options) -> bool {
    [PARTITION, SPLIT_ROWS, SPLIT_BYTES]
        .iter()
        .any(|spec| options.get(spec.name).is_some_and(|text| !text.is_empty()))
}

/// What partitions do to columns and rows.
pub(super) fn losses(schema: &Schema, options: &Options) -> Vec<Loss> {
    let asked = options.get(PARTITION.name).unwrap_or_default();
    let known: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    let names = names(asked, &known);
    let mut losses = Vec::new();
    for name in &names {
        let what = "the names of folders are its values: a reader infers their type, and it stands behind the others";
        losses.push(note(LossKind::Type, what).of(*name).if_any());
        losses.push(
            note(LossKind::Null, "names of folders do not say that there are no nulls").of(*name).if_any(),
        );
    }
    if !names.is_empty() {
        losses.push(note(LossKind::Order, "rows stand by their partitions").if_any());
    }
    losses
}

/// Writes the folder.
pub(super) fn write(task: &Task, payload: &Payload, options: &Options, files: &mut dyn Files) -> Result<()> {
    let Prepared { table, schema, pairs } = prepared(payload)?;
    let asked = options.get(PARTITION.name).unwrap_or_default();
    let known: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    let keys = names(asked, &known).into_iter().map(|name| column(&schema, PARTITION.name, name));
    let keys: Vec<usize> = keys.collect::<Result<_>>()?;
    for &key in &keys {
        let data_type = schema.field(key).data_type();
        let is_text = |data_type: &DataType| !data_type.is_nested() && !data_type.is_binary();
        let fits = match data_type {
            DataType::Dictionary(_, values) => is_text(values),
            DataType::FixedSizeBinary(_) => false,
            other => is_text(other),
        };
        if !fits {
            let name = schema.field(key).name();
            return Err(Error::unsupported(format!("{}={name}: it cannot name folders", PARTITION.name)));
        }
    }
    let rest: Vec<usize> = (0..schema.fields().len()).filter(|column| !keys.contains(column)).collect();
    if rest.is_empty() {
        return Err(Error::unsupported(format!("{}: no column is left for the files", PARTITION.name)));
    }
    let inner: SchemaRef = Arc::new(schema.project(&rest)?);
    let shape = Shape::new(inner.clone(), pairs, options)?;
    let split = Split {
        rows: number_if_set(options, &SPLIT_ROWS)?.unwrap_or(u64::MAX),
        bytes: number_if_set(options, &SPLIT_BYTES)?.unwrap_or(u64::MAX),
    };
    let mut tree = Tree {
        task,
        files,
        shape: &shape,
        split,
        columns: keys.iter().map(|&key| schema.field(key).name().clone()).collect(),
        places: HashMap::new(),
        branches: Vec::new(),
        clock: 0,
    };
    let fields = keys.iter().map(|&key| SortField::new(schema.field(key).data_type().clone()));
    let converter = RowConverter::new(fields.collect())?;
    let split_up = |batch: RecordBatch| partitions(&batch, &keys, &rest, &converter);
    scan(task, table.as_ref(), split_up, |parts| tree.add(parts))?;
    tree.finish(keys.is_empty())
}

/// Rows of one partition: the bytes of its values, these as texts, and the columns that are left.
struct Rows {
    key: Vec<u8>,
    values: Vec<Option<String>>,
    rows: RecordBatch,
}

/// The rows of a batch by their partitions, in the order in which these come.
fn partitions(
    batch: &RecordBatch,
    keys: &[usize],
    rest: &[usize],
    converter: &RowConverter,
) -> Result<Vec<Rows>> {
    let inner = batch.project(rest)?;
    if keys.is_empty() {
        return Ok(vec![Rows { key: Vec::new(), values: Vec::new(), rows: inner }]);
    }
    let columns = batch.project(keys)?.columns().to_vec();
    let rows = converter.convert_columns(&columns)?;
    let (mut places, mut found) = (HashMap::<&[u8], usize>::new(), Vec::<Vec<u32>>::new());
    let all: Vec<_> = rows.iter().collect();
    for (at, row) in all.iter().enumerate() {
        let place = *places.entry(row.as_ref()).or_insert_with(|| {
            found.push(Vec::new());
            found.len() - 1
        });
        if let Some(list) = found.get_mut(place) {
            list.push(at as u32);
        }
    }
    let part = |list: Vec<u32>| {
        let first = list.first().map_or(0, |first| *first as usize);
        let values = columns.iter().map(|column| cell::text(column.as_ref(), first)).collect();
        let key = all.get(first).map(|row| row.as_ref().to_vec()).unwrap_or_default();
        let rows = match list.len() == inner.num_rows() {
            true => inner.clone(),
            false => take_record_batch(&inner, &UInt32Array::from(list))?,
        };
        Ok(Rows { key, values, rows })
    };
    found.into_iter().map(part).collect()
}

/// Where a file ends.
#[derive(Clone, Copy)]
struct Split {
    rows: u64,
    bytes: u64,
}

/// The partitions that were met.
struct Tree<'a> {
    task: &'a Task,
    files: &'a mut dyn Files,
    shape: &'a Shape,
    split: Split,
    columns: Vec<String>,
    places: HashMap<Vec<u8>, usize>,
    branches: Vec<Branch>,
    clock: u64,
}

/// One partition.
struct Branch {
    /// Its folder, with a `/` behind it; empty for the whole.
    folder: String,
    /// The number of the next file.
    next: u64,
    waiting: Vec<RecordBatch>,
    waiting_rows: usize,
    waiting_bytes: usize,
    file: Option<ParquetOut<Box<dyn Sink>>>,
    /// When it was written to.
    used: u64,
}

impl<'a> Tree<'a> {
    /// Takes the rows of a step.
    fn add(&mut self, parts: Vec<Rows>) -> Result<()> {
        for part in parts.into_iter().filter(|part| part.rows.num_rows() > 0) {
            let place = self.place(part.key, &part.values)?;
            self.clock += 1;
            let Some(branch) = self.branches.get_mut(place) else { continue };
            branch.used = self.clock;
            branch.waiting_rows += part.rows.num_rows();
            branch.waiting_bytes += part.rows.get_array_memory_size();
            branch.waiting.push(part.rows);
        }
        let waiting: usize = self.branches.iter().map(|branch| branch.waiting_bytes).sum();
        let is_one = self.columns.is_empty();
        let full = self.branches.iter().enumerate().filter(|(_, branch)| {
            is_one && branch.waiting_rows > 0
                || branch.waiting_rows >= ROWS
                || waiting > WAITING && branch.waiting_bytes * self.branches.len() >= waiting
        });
        let full: Vec<usize> = full.map(|(place, _)| place).collect();
        self.write(&full)
    }

    /// The branch of a partition.
    fn place(&mut self, key: Vec<u8>, values: &[Option<String>]) -> Result<usize> {
        if let Some(place) = self.places.get(&key) {
            return Ok(*place);
        }
        if self.branches.len() >= PARTITIONS {
            let what = format!("{}: more than {PARTITIONS} partitions", PARTITION.name);
            return Err(Error::limit(what));
        }
        let mut folder = String::new();
        for (name, value) in self.columns.iter().zip(values) {
            let value = value.as_deref().map_or_else(|| NULL.to_owned(), escaped);
            folder.push_str(&format!("{}={value}/", escaped(name)));
        }
        // Empty at first, so that two partitions of one folder are told apart from one.
        let (waiting, file) = (Vec::new(), None);
        self.branches.push(Branch {
            folder,
            next: 0,
            waiting,
            waiting_rows: 0,
            waiting_bytes: 0,
            file,
            used: 0,
        });
        self.places.insert(key, self.branches.len() - 1);
        Ok(self.branches.len() - 1)
    }

    /// Encodes the rows that wait in some partitions, several side by side.
    fn write(&mut self, places: &[usize]) -> Result<()> {
        for some in places.chunks(OPEN / 2) {
            self.task.check()?;
            self.make_room(some)?;
            for place in some {
                if let Some(branch) = self.branches.get_mut(*place) {
                    branch.open(self.files, self.shape)?;
                }
            }
            let (task, split) = (self.task, self.split);
            let chosen = self.branches.par_iter_mut().enumerate();
            let chosen = chosen.filter(|(place, _)| some.contains(place));
            chosen.try_for_each(|(_, branch)| branch.encode(task, split))?;
            // What did not fit goes to more files.
            for place in some {
                if let Some(branch) = self.branches.get_mut(*place) {
                    branch.go_on(task, self.files, self.shape, split)?;
                }
            }
        }
        self.bound()
    }

    /// Closes files so that those of some partitions may be opened.
    fn make_room(&mut self, wanted: &[usize]) -> Result<()> {
        let open = |branch: &Branch| branch.file.is_some();
        let mut now = self.branches.iter().filter(|branch| open(branch)).count();
        if now + wanted.len() <= OPEN {
            return Ok(());
        }
        let others = self.branches.iter_mut().enumerate();
        let mut others: Vec<&mut Branch> = others
            .filter(|(place, branch)| open(branch) && !wanted.contains(place))
            .map(|(_, branch)| branch)
            .collect();
        others.sort_by_key(|branch| branch.used);
        for branch in others {
            if now + wanted.len() <= OPEN {
                break;
            }
            branch.close()?;
            now -= 1;
        }
        Ok(())
    }

    /// Writes the largest open row groups until all fit into memory.
    fn bound(&mut self) -> Result<()> {
        let memory = |branch: &Branch| branch.file.as_ref().map_or(0, ParquetOut::memory);
        let mut sizes: Vec<(usize, usize)> =
            self.branches.iter().map(memory).enumerate().map(|(place, size)| (size, place)).collect();
        let mut all: usize = sizes.iter().map(|(size, _)| size).sum();
        sizes.sort_unstable();
        while all > ENCODED
            && let Some((size, place)) = sizes.pop().filter(|(size, _)| *size > 0)
        {
            if let Some(file) = self.branches.get_mut(place).and_then(|branch| branch.file.as_mut()) {
                file.close_group()?;
            }
            all -= size;
        }
        Ok(())
    }

    /// Writes what is left; a table without rows is a file without rows.
    fn finish(mut self, is_one: bool) -> Result<()> {
        if self.branches.is_empty() {
            let place = self.place(Vec::new(), &vec![None; self.columns.len()])?;
            if let Some(branch) = self.branches.get_mut(place) {
                branch.open(self.files, self.shape)?;
            }
        }
        let all: Vec<usize> = (0..self.branches.len()).collect();
        self.write(&all)?;
        self.branches.iter_mut().try_for_each(Branch::close)?;
        // The mark of a whole dataset: a folder with one file only would be taken for a folder.
        if is_one { self.files.put("_SUCCESS", b"") } else { Ok(()) }
    }
}

impl Branch {
    /// Begins its next file, if none is open.
    fn open(&mut self, files: &mut dyn Files, shape: &Shape) -> Result<()> {
        if self.file.is_none() {
            let path = format!("{}part-{:05}.parquet", self.folder, self.next);
            self.next += 1;
            self.file = Some(ParquetOut::new(files.file(&path)?, shape)?);
        }
        Ok(())
    }

    /// Encodes the rows that wait, as many as its file takes.
    fn encode(&mut self, task: &Task, split: Split) -> Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let waiting = std::mem::take(&mut self.waiting);
        let Some(first) = waiting.first() else { return Ok(()) };
        let rows = match waiting.len() {
            1 => first.clone(),
            _ => concat_batches(first.schema_ref(), &waiting)?,
        };
        (self.waiting_rows, self.waiting_bytes) = (0, 0);
        let mut at = 0;
        while at < rows.num_rows() {
            let left = split.rows.saturating_sub(file.rows).min((rows.num_rows() - at) as u64) as usize;
            // By bytes it is looked again after each part.
            let step = if split.bytes == u64::MAX { left } else { left.min(ROWS) };
            if step == 0 || file.bytes() >= split.bytes {
                break;
            }
            file.add(task, &rows.slice(at, step))?;
            at += step;
        }
        if at < rows.num_rows() {
            let rest = rows.slice(at, rows.num_rows() - at);
            (self.waiting_rows, self.waiting_bytes) = (rest.num_rows(), rest.get_array_memory_size());
            self.waiting.push(rest);
        }
        Ok(())
    }

    /// Encodes what waits after its file is full in the next ones.
    fn go_on(&mut self, task: &Task, files: &mut dyn Files, shape: &Shape, split: Split) -> Result<()> {
        while self.waiting_rows > 0 {
            self.close()?;
            self.open(files, shape)?;
            self.encode(task, split)?;
        }
        Ok(())
    }

    fn close(&mut self) -> Result<()> {
        self.file.take().map_or(Ok(()), ParquetOut::finish)
    }
}

/// A name or value as part of a folder's name: what Hive escapes stands as `%` and two digits.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let is_odd = c.is_control()
            || matches!(
                c,
                '"' | '#'
                    | '%'
                    | '\''
                    | '*'
                    | '/'
                    | ':'
                    | '='
                    | '?'
                    | '\\'
                    | '{'
                    | '}'
                    | '['
                    | ']'
                    | '^'
                    | '<'
                    | '>'
                    | '|'
            );
        if is_odd {
            let mut buffer = [0; 4];
            for byte in c.encode_utf8(&mut buffer).bytes() {
                out.push_str(&format!("%{byte:02X}"));
            }
        } else {
            out.push(c);
        }
    }
    out
}
