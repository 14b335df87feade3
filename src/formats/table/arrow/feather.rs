//! Feather, version 1: columns one after the other, described by a flatbuffer at the end. Each column
//! is a bitmap where it has nulls, offsets where it is text or bytes, and values.
//!
//! It is read as one record batch whose body is the whole file. Specification:
//! <https://github.com/wesm/feather/blob/master/doc/FORMAT.md>.

use super::batch::Batch;
use super::capacity;
use super::flat;
use super::index::{BatchAt, DictionaryAt, Header, Index, Opened};
use super::schema::{IpcSchema, Plan};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use arrow::datatypes::{DataType, Field, Schema, TimeUnit};
use std::collections::HashMap;
use std::sync::Arc;

/// The first and last bytes.
pub(super) const MAGIC: &[u8] = b"FEA1";

/// What the footer is made into.
#[derive(Default)]
struct Columns {
    fields: Vec<Arc<Field>>,
    plans: Vec<Arc<Plan>>,
    batch: Batch,
    dictionaries: HashMap<i64, Vec<DictionaryAt>>,
    remarks: Vec<String>,
}

/// Opens a file of version 1.
///
/// # Errors
/// `Malformed` where there is no whole footer.
pub(super) fn open(task: &Task, source: &Source) -> Result<Opened> {
    let len = source.len(task)?;
    let (metadata, start) = footer(task, source, len)?;
    let table = flat::Table::root(&metadata).map_err(|e| e.at(start))?;
    let rows = table.number::<i64>(1, 0)?;
    let rows = u64::try_from(rows).map_err(|_| Error::malformed(format!("footer: {rows} rows")).at(start))?;
    // Before version 2 nothing was padded.
    let padded = table.number::<i32>(3, 0)? >= 2;
    let mut columns = Columns::default();
    for column in table.tables(2).map_err(|e| e.at(start))? {
        columns.add(&column, rows, padded).map_err(|e| e.at(start))?;
    }
    let mut attributes = Vec::new();
    for (name, field) in [("description", 0), ("metadata", 4)] {
        if let Some(text) = table.text(field)?.filter(|text| !text.is_empty()) {
            attributes.push((name.to_owned(), text.to_owned()));
        }
    }
    let Columns { fields, plans, batch, dictionaries, remarks } = columns;
    if !capacity::holds(plans.iter().map(AsRef::as_ref), &batch, start, false, rows) {
        return Err(wrong(format!("it claims {rows} rows, which none of its columns has room for")).at(start));
    }
    let schema = IpcSchema {
        schema: Arc::new(Schema::new(fields)),
        plans,
        attributes,
        big_endian: false,
        old_unions: false,
        version: "Feather 1",
    };
    let header = Header::Made(Arc::new(batch));
    let index = Index::whole(BatchAt { header, body: 0..start, rows, problem: None }, dictionaries);
    Ok(Opened { schema, index, remarks, container: "Feather V1" })
}

/// The footer's flatbuffer and where it starts.
fn footer(task: &Task, source: &Source, len: u64) -> Result<(bytes::Bytes, u64)> {
    let short =
        || Error::malformed(format!("footer: the file has {len} bytes, too few for one; it is cut off"));
    let tail_at = len.checked_sub(8).filter(|&at| at >= 4).ok_or_else(short)?;
    let tail = source.read(task, tail_at..len)?;
    let (size, magic) = tail.split_at_checked(4).ok_or_else(short)?;
    if magic != MAGIC {
        let what = "footer: the file does not end with FEA1; it is cut off, or still being written";
        return Err(Error::malformed(what).at(len - 4));
    }
    let size = u64::from(u32::from_le_bytes(size.try_into().unwrap_or_default()));
    let start = tail_at.checked_sub(size).filter(|&start| start >= 4 && size > 0);
    let Some(start) = start else {
        let what = format!("footer: its length, {size} bytes, does not fit a file of {len}");
        return Err(Error::malformed(what).at(tail_at));
    };
    limits::check(size, limits::HEADER, "the footer")?;
    Ok((source.read(task, start..tail_at)?, start))
}

impl Columns {
    fn add(&mut self, column: &flat::Table, rows: u64, padded: bool) -> Result<()> {
        let name = column.text(0)?.unwrap_or_default();
        let named = |e: Error| e.in_node(&format!("column {name:?}"));
        let values = column.table(1)?.ok_or_else(|| wrong("a column without values"))?;
        let stored = plain(values.number::<u8>(0, 0)?).map_err(named)?;
        let length = values.number::<i64>(3, 0)?;
        if u64::try_from(length).ok() != Some(rows) {
            self.remarks.push(format!("column {name:?} has {length} values, the table {rows} rows"));
        }
        let description = column.table(3)?;
        let mut plan = Plan::flat(stored.clone());
        let mut ordered = false;
        match (column.number::<u8>(2, 0)?, description) {
            (1, Some(category)) => {
                let levels = category.table(0)?.ok_or_else(|| named(wrong("categories without levels")))?;
                ordered = category.number::<u8>(1, 0)? != 0;
                plan = self.category(stored, &levels, padded).map_err(named)?;
            }
            (2, Some(stamp)) if stored == DataType::Int64 => {
                let zone = stamp.text(1)?.filter(|zone| !zone.is_empty());
                plan.dtype = DataType::Timestamp(unit(stamp.number::<u8>(0, 0)?)?, zone.map(Into::into));
            }
            (3, _) if stored == DataType::Int32 => plan.dtype = DataType::Date32,
            (4, Some(time)) => {
                plan.dtype = match (stored, unit(time.number::<u8>(0, 0)?)?) {
                    (DataType::Int32, unit @ (TimeUnit::Second | TimeUnit::Millisecond)) => {
                        DataType::Time32(unit)
                    }
                    (DataType::Int64, unit @ (TimeUnit::Microsecond | TimeUnit::Nanosecond)) => {
                        DataType::Time64(unit)
                    }
                    (stored, _) => stored,
                };
            }
            _ => {}
        }
        let mut metadata = HashMap::new();
        if let Some(text) = column.text(4)?.filter(|text| !text.is_empty()) {
            metadata.insert("user metadata".to_owned(), text.to_owned());
        }
        if ordered {
            metadata.insert("categories".to_owned(), "ordered".to_owned());
        }
        lay_out(&mut self.batch, &values, padded).map_err(named)?;
        self.fields.push(Arc::new(Field::new(name, plan.dtype.clone(), true).with_metadata(metadata)));
        self.plans.push(Arc::new(plan));
        Ok(())
    }

    /// A column of categories: its levels are a dictionary.
    fn category(&mut self, keys: DataType, levels: &flat::Table, padded: bool) -> Result<Plan> {
        if !keys.is_integer() {
            return Err(wrong("categories are counted by something that is no integer"));
        }
        let values = plain(levels.number::<u8>(0, 0)?)?;
        let mut batch = Batch::default();
        let body = lay_out(&mut batch, levels, padded)?;
        let header = Header::Made(Arc::new(batch));
        let id = self.dictionaries.len() as i64;
        self.dictionaries.insert(id, vec![DictionaryAt { header, body, delta: false, from: 0 }]);
        let dtype = DataType::Dictionary(Box::new(keys), Box::new(values.clone()));
        Ok(Plan { dtype, dictionary: Some(id), children: vec![Plan::flat(values)] })
    }
}

/// Adds a primitive array's node and buffers; gives where the file must reach to.
fn lay_out(batch: &mut Batch, values: &flat::Table, padded: bool) -> Result<std::ops::Range<u64>> {
    let size = |field: usize, what: &str| -> Result<u64> {
        let n = values.number::<i64>(field, 0)?;
        u64::try_from(n).map_err(|_| wrong(format!("{what} of {n}")))
    };
    let (start, rows) = (size(2, "an offset")?, size(3, "a length")?);
    let (nulls, total) = (size(4, "a null count")?, size(5, "a size")?);
    let width = match plain(values.number::<u8>(0, 0)?)? {
        DataType::Utf8 | DataType::Binary => 4,
        DataType::LargeUtf8 | DataType::LargeBinary => 8,
        _ => 0,
    };
    let too_long = || wrong("a column is too long");
    let pad = |len: u64| {
        let len = if padded { len.checked_next_multiple_of(8) } else { Some(len) };
        len.ok_or_else(too_long)
    };
    let end = start.checked_add(total).ok_or_else(too_long)?;
    let bitmap = if nulls > 0 { pad(rows.div_ceil(8))? } else { 0 };
    batch.nodes.push((rows, nulls));
    batch.buffers.push((start, bitmap.min(total)));
    let mut at = start.saturating_add(bitmap);
    if width > 0 {
        let offsets = rows.checked_add(1).and_then(|n| n.checked_mul(width));
        let len = pad(offsets.ok_or_else(too_long)?)?;
        batch.buffers.push((at, len.min(end.saturating_sub(at))));
        at = at.saturating_add(len);
    }
    batch.buffers.push((at, end.saturating_sub(at)));
    Ok(0..end)
}

fn wrong(what: impl std::fmt::Display) -> Error {
    Error::malformed(format!("footer: {what}"))
}

/// The stored types.
fn plain(number: u8) -> Result<DataType> {
    Ok(match number {
        0 => DataType::Boolean,
        1 => DataType::Int8,
        2 => DataType::Int16,
        3 => DataType::Int32,
        4 => DataType::Int64,
        5 => DataType::UInt8,
        6 => DataType::UInt16,
        7 => DataType::UInt32,
        8 => DataType::UInt64,
        9 => DataType::Float32,
        10 => DataType::Float64,
        11 => DataType::Utf8,
        12 => DataType::Binary,
        13 => DataType::Int32,
        14 => DataType::Int64,
        15 => DataType::Int32,
        16 => DataType::Int64,
        17 => DataType::LargeUtf8,
        18 => DataType::LargeBinary,
        other => return Err(wrong(format!("a column of type number {other}"))),
    })
}

fn unit(number: u8) -> Result<TimeUnit> {
    Ok(match number {
        0 => TimeUnit::Second,
        1 => TimeUnit::Millisecond,
        2 => TimeUnit::Microsecond,
        3 => TimeUnit::Nanosecond,
        other => return Err(wrong(format!("the time unit {other}"))),
    })
}
