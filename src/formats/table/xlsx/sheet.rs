//! A sheet's cells as a table: where it begins, which row is the header, of which type each column is.

use super::value::Value;
use crate::bytes::display;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::cell;
use crate::data::content::Content;
use crate::data::content::table::MemoryTable;
use crate::data::infer;
use crate::data::node::Node;
use arrow::array::*;
use arrow::datatypes::{DataType, Field, Schema};
use chrono::{NaiveDate, NaiveDateTime, NaiveTime, Timelike};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// The last row that a sheet can have, and some.
const LAST: u32 = 1_100_000;
/// Cells that are filled up with empty ones; a lonely cell far off would make billions of them.
const FILLED: u64 = 16 << 20;

/// The most bytes that the cells of a sheet take, and the texts that all sheets share.
const HELD: u64 = limits::CHUNK;
/// The most bytes that their texts take: they are held twice for a moment.
const TEXTS: u64 = limits::CHUNK / 4;
/// Cells between two looks at the task.
const CELLS: u64 = 4_096;
/// The most merged ranges that are noted.
const MERGED: usize = 100_000;

/// The texts that the sheets of a workbook share.
#[derive(Default)]
pub(super) struct SharedTexts {
    pub(super) all: Vec<String>,
    bytes: u64,
}

impl SharedTexts {
    /// Adds a text.
    ///
    /// # Errors
    /// `Limit` where they take more than a workbook may; `Cancelled`.
    pub(super) fn push(&mut self, task: &Task, text: String) -> Result<()> {
        self.bytes += text.len() as u64 + size_of::<String>() as u64;
        limits::check(self.bytes, HELD, "the shared texts")?;
        self.all.push(text);
        if self.all.len() % CELLS as usize == 0 { task.check() } else { Ok(()) }
    }
}

/// The cells of a sheet: of each column those that hold something, by row.
#[derive(Default)]
pub(super) struct Gathered {
    columns: BTreeMap<u32, Vec<(u32, Value)>>,
    bytes: u64,
    /// Bytes of the texts among them; cells may share one that is long.
    texts: u64,
    ticks: u64,
    /// Formulas, and those of them without a stored result.
    formulas: u64,
    unknown: u64,
    merged: Vec<Area>,
    problem: Option<Error>,
}

/// A range of cells, by row and column from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Area {
    pub(super) start: (u32, u32),
    pub(super) end: (u32, u32),
}

impl Area {
    /// `A1:C3`.
    pub(super) fn parse(text: &str) -> Option<Area> {
        let (start, end) = text.split_once(':').unwrap_or((text, text));
        Some(Area { start: place(start)?, end: place(end)? })
    }

    fn words(&self) -> String {
        format!("{}:{}", words(self.start), words(self.end))
    }
}

/// The row and the column, from 0, of `B7` or `$B$7`.
pub(super) fn place(text: &str) -> Option<(u32, u32)> {
    let (mut row, mut column) = (0u32, 0u32);
    for byte in text.trim().bytes().filter(|byte| *byte != b'$') {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' if row == 0 => {
                let letter = u32::from(byte.to_ascii_uppercase() - b'A') + 1;
                column = column.checked_mul(26)?.checked_add(letter)?;
            }
            b'0'..=b'9' => row = row.checked_mul(10)?.checked_add(u32::from(byte - b'0'))?,
            _ => return None,
        }
    }
    Some((row.checked_sub(1)?, column.checked_sub(1)?))
}

/// `B7`.
pub(super) fn words((row, column): (u32, u32)) -> String {
    let (mut letters, mut rest) = (Vec::new(), u64::from(column) + 1);
    while rest > 0 {
        rest -= 1;
        letters.push(char::from(b'A' + (rest % 26) as u8));
        rest /= 26;
    }
    format!("{}{}", letters.iter().rev().collect::<String>(), u64::from(row) + 1)
}

/// `$B$7`.
pub(super) fn absolute((row, column): (u32, u32)) -> String {
    let letters = words((0, column));
    format!("${}${}", letters.trim_end_matches('1'), u64::from(row) + 1)
}

impl Gathered {
    pub(super) fn push(&mut self, (row, column): (u32, u32), value: Value) {
        if row > LAST {
            return;
        }
        self.bytes += (size_of::<(u32, Value)>() + value.text_len()) as u64;
        self.texts += value.text_len() as u64;
        self.columns.entry(column).or_default().push((row, value));
    }

    /// Looks at the task now and then, and at what is held.
    pub(super) fn tick(&mut self, task: &Task) -> Result<()> {
        self.ticks += 1;
        if self.ticks.is_multiple_of(CELLS) {
            task.check()?;
        }
        limits::check(self.texts, TEXTS, "the texts of this sheet")?;
        limits::check(self.bytes, HELD, "the cells of this sheet").map(drop)
    }

    /// Notes a cell that may have a formula.
    pub(super) fn formula(&mut self, is_one: bool, empty: bool) {
        self.formulas += u64::from(is_one);
        self.unknown += u64::from(is_one && empty);
    }

    /// Notes a merged range.
    pub(super) fn merged(&mut self, area: Option<Area>) {
        self.merged.extend(area.filter(|_| self.merged.len() < MERGED));
    }

    /// Notes what is wrong with a cell; the first one is told.
    pub(super) fn problem(&mut self, error: Error) {
        self.problem.get_or_insert(error);
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
        node = self.tell_merged(node);
        node.problem = self.problem.take();
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
            let cells: Vec<(u32, Value)> = cells.into_iter().filter(|(row, _)| *row >= begin).collect();
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

    fn tell_merged(&self, node: Node) -> Node {
        let Some(first) = self.merged.first() else { return node };
        let ranges: Vec<String> = self.merged.iter().take(50).map(Area::words).collect();
        let count = display::plural(self.merged.len() as u64, "range");
        let first = first.words();
        let words =
            format!("{count} of merged cells: the value stands in the first cell of each ({first} …)");
        node.remark(words).read_as("merged cells", ranges.join(", "))
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
                Some((_, Value::Text(text))) if seen.insert(text.clone()) => {
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
    /// Stamps with a time, and with a date after that from which days are counted.
    times: bool,
    dates: bool,
    clocks: bool,
    spans: bool,
    errors: bool,
}

fn kinds(cells: &[(u32, Value)]) -> Kinds {
    let mut kinds = Kinds::default();
    for (_, value) in cells {
        match value {
            Value::Number(value) => {
                kinds.numbers = true;
                kinds.fractions |= value.fract() != 0.0 || value.abs() >= 9_007_199_254_740_992.0;
            }
            Value::Text(_) => kinds.texts = true,
            Value::Bool(_) => kinds.bools = true,
            Value::Error(_) => kinds.errors = true,
            Value::Stamp(moment) => {
                kinds.stamps = true;
                kinds.times |= moment.time() != NaiveTime::MIN;
                kinds.dates |= moment.date() > START;
            }
            Value::Clock(_) => kinds.clocks = true,
            Value::Span(_) => kinds.spans = true,
        }
    }
    kinds
}

/// The day of times without a date.
const START: NaiveDate = match NaiveDate::from_ymd_opt(1899, 12, 31) {
    Some(day) => day,
    None => NaiveDate::MIN,
};

fn stamp(value: &Value) -> Option<NaiveDateTime> {
    match value {
        Value::Stamp(moment) => Some(*moment),
        Value::Clock(time) => Some(START.and_time(*time)),
        _ => None,
    }
}

/// Microseconds since midnight.
fn clock(value: &Value) -> Option<i64> {
    let time = stamp(value)?.time();
    Some(i64::from(time.num_seconds_from_midnight()) * 1_000_000 + i64::from(time.nanosecond()) / 1_000)
}

/// Milliseconds of a duration.
fn span(value: &Value) -> Option<i64> {
    match value {
        Value::Span(millis) => Some(*millis),
        value => Some(clock(value)? / 1_000),
    }
}

/// A column with the type that all its cells have; as text where there is no such type.
fn typed(name: &str, cells: &[(u32, Value)], begin: u32, count: usize) -> (Field, ArrayRef) {
    let kinds = kinds(cells);
    // A time has no date: among dates it is none of them.
    let moments = kinds.stamps || kinds.clocks && !kinds.dates;
    let times = kinds.clocks && kinds.dates;
    let one = [kinds.numbers, kinds.texts, kinds.bools, moments, times, kinds.spans, kinds.errors];
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
    let number = |value: &Value| match value {
        Value::Number(value) => Some(*value),
        _ => None,
    };
    if alone && kinds.numbers && !kinds.fractions {
        return plain(column!(Int64Builder::new(), |value: &Value| number(value).map(|value| value as i64)));
    }
    if alone && kinds.numbers {
        return plain(column!(Float64Builder::new(), number));
    }
    if alone && kinds.bools {
        return plain(column!(BooleanBuilder::new(), |value: &Value| match value {
            Value::Bool(value) => Some(*value),
            _ => None,
        }));
    }
    if alone && moments && !kinds.dates {
        return plain(column!(Time64MicrosecondBuilder::new(), clock));
    }
    if alone && moments && !kinds.times {
        let days = |value: &Value| stamp(value).map(|time| time.date().to_epoch_days());
        return plain(column!(Date32Builder::new(), days));
    }
    if alone && moments {
        let micros = |value: &Value| stamp(value).map(|time| time.and_utc().timestamp_micros());
        return plain(column!(TimestampMicrosecondBuilder::new(), micros));
    }
    // Durations of less than a day may be told as times.
    let only_spans = one.iter().filter(|kind| **kind).count() == 1 + usize::from(moments) && !kinds.stamps;
    if kinds.spans && only_spans {
        return plain(column!(DurationMillisecondBuilder::new(), span));
    }
    let guess = match (kinds.numbers, kinds.texts || kinds.bools || moments || kinds.spans) {
        // Numbers among which there are errors.
        (true, false) if kinds.fractions => DataType::Float64,
        (true, false) => DataType::Int64,
        _ => DataType::Utf8,
    };
    (infer::field(name, &guess), column!(StringBuilder::new(), |value: &Value| Some(text(value))))
}

/// A cell as text.
fn text(value: &Value) -> String {
    let shown = |array: &dyn Array| cell::text(array, 0).unwrap_or_default();
    match value {
        // Excel knows no integers: what is one looks like one.
        Value::Number(value) if value.fract() == 0.0 && value.abs() < 9_007_199_254_740_992.0 => {
            (*value as i64).to_string()
        }
        Value::Number(value) => cell::float64(*value),
        Value::Text(text) | Value::Error(text) => text.clone(),
        Value::Bool(value) => value.to_string(),
        // A time that is formatted as a date.
        Value::Stamp(moment) if moment.date() == START => {
            shown(&Time64MicrosecondArray::from(vec![clock(value)]))
        }
        Value::Stamp(moment) => {
            shown(&TimestampMicrosecondArray::from(vec![moment.and_utc().timestamp_micros()]))
        }
        Value::Clock(_) => shown(&Time64MicrosecondArray::from(vec![clock(value)])),
        Value::Span(millis) => shown(&DurationMillisecondArray::from(vec![*millis])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::datatypes::TimeUnit;

    #[test]
    fn places_have_letters() {
        for (at, text) in
            [((0, 0), "A1"), ((9, 25), "Z10"), ((0, 26), "AA1"), ((1_048_575, 16_383), "XFD1048576")]
        {
            assert_eq!((words(at), place(text)), (text.to_owned(), Some(at)));
        }
        assert_eq!(place("$b$7"), Some((6, 1)));
        for text in ["", "7", "A", "A0", "1A", "A1B", "A99999999999", "AAAAAAAAAAAAAA1", "Ä1"] {
            assert_eq!(place(text), None, "{text}");
        }
        assert_eq!(Area::parse("A1:B2").unwrap().words(), "A1:B2");
    }

    /// The type of a column of these values, and its cells.
    fn column(values: Vec<Value>) -> (DataType, Vec<String>) {
        let count = values.len();
        let cells: Vec<(u32, Value)> =
            values.into_iter().enumerate().map(|(row, v)| (row as u32, v)).collect();
        let (field, array) = typed("c", &cells, 0, count);
        (field.data_type().clone(), (0..count).map(|row| cell::text(array.as_ref(), row).unwrap()).collect())
    }

    #[test]
    fn a_column_has_the_type_of_all_its_cells() {
        let stamp = |day, hour| {
            Value::Stamp(NaiveDate::from_ymd_opt(2024, 1, day).unwrap().and_hms_opt(hour, 0, 0).unwrap())
        };
        let clock = |hour| Value::Clock(NaiveTime::from_hms_opt(hour, 30, 0).unwrap());
        let midnight = Value::Stamp(START.and_hms_opt(12, 0, 0).unwrap());
        assert_eq!(column(vec![stamp(1, 0), stamp(2, 0)]).0, DataType::Date32);
        assert_eq!(
            column(vec![stamp(1, 0), stamp(2, 1)]).0,
            DataType::Timestamp(TimeUnit::Microsecond, None)
        );
        let (of, cells) = column(vec![clock(7), midnight]);
        assert_eq!(
            (of, cells.join(" ")),
            (DataType::Time64(TimeUnit::Microsecond), "07:30:00 12:00:00".into())
        );
        let (of, cells) = column(vec![Value::Span(4 * 86_400_000), clock(1)]);
        assert_eq!(
            (of, cells.join(" ")),
            (DataType::Duration(TimeUnit::Millisecond), "345600s 5400s".into())
        );
        let (of, cells) = column(vec![stamp(1, 0), clock(7)]);
        assert_eq!((of, cells.join(" ")), (DataType::Utf8, "2024-01-01T00:00:00 07:30:00".into()));
        // A date that is none leaves the others readable.
        let (of, cells) = column(vec![stamp(1, 0), Value::Number(3e6)]);
        assert_eq!((of, cells.join(" ")), (DataType::Utf8, "2024-01-01T00:00:00 3000000".into()));
        let (of, cells) = column(vec![Value::Number(3.0), Value::Span(1_500), clock(1)]);
        assert_eq!((of, cells.join(" ")), (DataType::Utf8, "3 1.5s 01:30:00".into()));
    }
}
