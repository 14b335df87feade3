//! A sheet's cells as a table: where it begins, which row is the header, of which type each column is.

use crate::cell;
use crate::content::Content;
use crate::content::table::MemoryTable;
use crate::display;
use crate::error::Result;
use crate::lines::types;
use crate::node::Node;
use crate::task::Task;
use arrow::array::*;
use arrow::datatypes::{DataType, Field, Schema, TimeUnit};
use calamine::{Data, DataType as _};
use chrono::{NaiveDateTime, Timelike};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// The last row that a sheet can have, and some.
const LAST: u32 = 1_100_000;
/// Cells that are filled up with empty ones; a lonely cell far off would make billions of them.
const FILLED: u64 = 16 << 20;

/// The cells of a sheet: of each column those that hold something, by row.
#[derive(Default)]
pub(super) struct Gathered {
    columns: BTreeMap<u32, Vec<(u32, Data)>>,
    bytes: u64,
    /// Formulas, and those of them without a stored result.
    formulas: u64,
    unknown: u64,
}

impl Gathered {
    pub(super) fn push(&mut self, (row, column): (u32, u32), value: Data) {
        if matches!(value, Data::Empty) || row > LAST {
            return;
        }
        let text = match &value {
            Data::String(text) | Data::DateTimeIso(text) | Data::DurationIso(text) => text.len(),
            _ => 0,
        };
        self.bytes += (size_of::<(u32, Data)>() + text) as u64;
        self.columns.entry(column).or_default().push((row, value));
    }

    /// Notes a cell that may have a formula.
    pub(super) fn formula(&mut self, is_one: bool, empty: bool) {
        self.formulas += u64::from(is_one);
        self.unknown += u64::from(is_one && empty);
    }

    /// Bytes that are held.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The sheet.
    pub(super) fn node(mut self, task: &Task) -> Result<Node> {
        let mut node = Node::new("", "sheet");
        if self.formulas > 0 {
            node = node.read_as("formulas", serde_json::Value::from(self.formulas));
        }
        if self.unknown > 0 {
            let count = display::plural(self.unknown, "formula");
            node = node.remark(format!("{count} without a stored result: shown as empty"));
        }
        for cells in self.columns.values_mut() {
            cells.sort_by_key(|(row, _)| *row);
            cells.dedup_by_key(|(row, _)| *row);
        }
        let rows = self.columns.values().flat_map(|cells| cells.first().into_iter().chain(cells.last()));
        let rows: Vec<u32> = rows.map(|(row, _)| *row).collect();
        let columns = self.columns.keys().next().zip(self.columns.keys().next_back());
        let (Some(&first), Some(&last), Some((&left, &end))) =
            (rows.iter().min(), rows.iter().max(), columns)
        else {
            return Ok(node.remark("an empty sheet"));
        };
        let mut right = end;
        let used = self.columns.values().map(|cells| cells.len() as u64).sum::<u64>();
        let (height, most) = (u64::from(last - first) + 1, FILLED.max(used.saturating_mul(4)));
        let fits = u32::try_from(most / height).unwrap_or(u32::MAX).max(1);
        if right - left >= fits {
            let (all, beyond) = (right, self.columns.range(left + fits..));
            let cells: usize = beyond.map(|(_, cells)| cells.len()).sum();
            let (cells, all) = (display::plural(cells as u64, "cell"), u64::from(all) + 1);
            node = node.remark(format!("{cells} far off, up to column {all}, are left out"));
            right = left + fits - 1;
        }
        let header = self.header(first, left, right, last > first);
        let begin = if header.is_some() { first + 1 } else { first };
        let count = (last + 1).saturating_sub(begin) as usize;
        let (mut fields, mut arrays): (Vec<Field>, Vec<ArrayRef>) = (Vec::new(), Vec::new());
        for column in left..=right {
            task.check()?;
            let cells = self.columns.remove(&column).unwrap_or_default();
            let cells: Vec<(u32, Data)> = cells.into_iter().filter(|(row, _)| *row >= begin).collect();
            let name = match &header {
                Some(names) => names.get((column - left) as usize).cloned().unwrap_or_default(),
                None => format!("column{}", column - left),
            };
            let (field, array) = typed(&name, &cells, begin, count);
            fields.push(field);
            arrays.push(array);
        }
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)?;
        node = node.read_as("header", if header.is_some() { "the first row" } else { "none" });
        if (first, left) != (0, 0) {
            let place = format!("row {}, column {}", u64::from(first) + 1, u64::from(left) + 1);
            node = node.read_as("begins at", place);
        }
        Ok(node.content(Content::Table(Arc::new(MemoryTable::new(batch)))))
    }

    /// The names in the first row, if it is a header: texts, all different, over half of the columns that hold
    /// anything.
    fn header(&self, first: u32, left: u32, right: u32, more: bool) -> Option<Vec<String>> {
        let mut names = Vec::new();
        let (mut filled, mut seen) = (0usize, HashSet::new());
        for column in left..=right {
            let cells = self.columns.get(&column);
            match cells.and_then(|cells| cells.first()).filter(|(row, _)| *row == first) {
                None => names.push(String::new()),
                Some((_, Data::String(text))) if seen.insert(text.clone()) => {
                    filled += 1;
                    names.push(text.clone());
                }
                Some(_) => return None,
            }
        }
        let used = self.columns.range(left..=right).count();
        (more && filled * 2 >= used).then_some(names)
    }
}

/// What a column holds.
#[derive(Default)]
struct Kinds {
    numbers: bool,
    fractions: bool,
    texts: bool,
    bools: bool,
    stamps: bool,
    clocks: bool,
    spans: bool,
    errors: bool,
}

fn kinds(cells: &[(u32, Data)]) -> Kinds {
    let mut kinds = Kinds::default();
    for (_, value) in cells {
        match value {
            Data::Empty => {}
            Data::Int(_) => kinds.numbers = true,
            Data::Float(value) => {
                kinds.numbers = true;
                kinds.fractions |= value.fract() != 0.0 || value.abs() >= 9_007_199_254_740_992.0;
            }
            Data::String(_) | Data::DurationIso(_) => kinds.texts = true,
            Data::Bool(_) => kinds.bools = true,
            Data::Error(_) => kinds.errors = true,
            Data::DateTime(value) if value.is_duration() => kinds.spans = true,
            Data::DateTime(_) | Data::DateTimeIso(_) => match stamp(value) {
                Some(time) => {
                    kinds.stamps = true;
                    kinds.clocks |= time.num_seconds_from_midnight() != 0 || time.nanosecond() != 0;
                }
                None => kinds.texts = true,
            },
        }
    }
    kinds
}

fn stamp(value: &Data) -> Option<NaiveDateTime> {
    match value {
        Data::DateTime(value) if !value.is_duration() => value.as_datetime(),
        Data::DateTimeIso(_) => value.as_datetime().or_else(|| value.as_date()?.and_hms_opt(0, 0, 0)),
        _ => None,
    }
}

/// A column with the type that all its cells have; as text where there is no such type.
fn typed(name: &str, cells: &[(u32, Data)], begin: u32, count: usize) -> (Field, ArrayRef) {
    let kinds = kinds(cells);
    let one = [kinds.numbers, kinds.texts, kinds.bools, kinds.stamps, kinds.spans, kinds.errors];
    let alone = one.iter().filter(|kind| **kind).count() == 1;
    let plain = |array: ArrayRef| (Field::new(name, array.data_type().clone(), true), array);
    macro_rules! column {
        ($builder:expr, $value:expr) => {{
            let mut builder = $builder;
            let mut cells = cells.iter().peekable();
            for row in begin..begin.saturating_add(count as u32) {
                let cell = cells.next_if(|(at, _)| *at == row).map(|(_, value)| value);
                builder.append_option(cell.and_then($value));
            }
            Arc::new(builder.finish()) as ArrayRef
        }};
    }
    if alone && kinds.numbers && !kinds.fractions {
        return plain(column!(Int64Builder::new(), |value: &Data| match value {
            Data::Int(value) => Some(*value),
            Data::Float(value) => Some(*value as i64),
            _ => None,
        }));
    }
    if alone && kinds.numbers {
        return plain(column!(Float64Builder::new(), |value: &Data| value.as_f64()));
    }
    if alone && kinds.bools {
        return plain(column!(BooleanBuilder::new(), |value: &Data| value.get_bool()));
    }
    if alone && kinds.stamps && !kinds.clocks {
        let days = |value: &Data| stamp(value).map(|time| time.date().to_epoch_days());
        return plain(column!(Date32Builder::new(), days));
    }
    if alone && kinds.stamps {
        let micros = |value: &Data| stamp(value).map(|time| time.and_utc().timestamp_micros());
        return plain(column!(TimestampMicrosecondBuilder::new(), micros));
    }
    if alone && kinds.spans {
        let millis = |value: &Data| match value {
            Data::DateTime(value) => value.as_duration().map(|span| span.num_milliseconds()),
            _ => None,
        };
        return plain(column!(DurationMillisecondBuilder::new(), millis));
    }
    let guess = match (kinds.numbers, kinds.texts || kinds.bools || kinds.stamps || kinds.spans) {
        // Numbers among which there are errors.
        (true, false) if kinds.fractions => DataType::Float64,
        (true, false) => DataType::Int64,
        _ => DataType::Utf8,
    };
    (types::field(name, &guess), column!(StringBuilder::new(), |value: &Data| Some(text(value))))
}

/// A cell as text.
fn text(value: &Data) -> String {
    match value {
        Data::Empty => String::new(),
        Data::Int(value) => value.to_string(),
        // Excel knows no integers: what is one looks like one.
        Data::Float(value) if value.fract() == 0.0 && value.abs() < 9_007_199_254_740_992.0 => {
            (*value as i64).to_string()
        }
        Data::Float(value) => cell::float64(*value),
        Data::String(text) | Data::DateTimeIso(text) | Data::DurationIso(text) => text.clone(),
        Data::Bool(value) => value.to_string(),
        Data::Error(error) => error.to_string(),
        Data::DateTime(value) => match stamp(&Data::DateTime(*value)) {
            Some(time) => moment(time),
            None => cell::float64(value.as_f64()),
        },
    }
}

/// A moment as it is shown everywhere.
fn moment(time: NaiveDateTime) -> String {
    let array = TimestampMicrosecondArray::from(vec![time.and_utc().timestamp_micros()]);
    debug_assert_eq!(array.data_type(), &DataType::Timestamp(TimeUnit::Microsecond, None));
    cell::text(&array, 0).unwrap_or_default()
}
