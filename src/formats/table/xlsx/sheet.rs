//! A sheet's cells as a table: where it begins, which row is the header, of which type each column is.

use super::value::Value;
use crate::bytes::display;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::cell;
use crate::data::content::Content;
use crate::data::content::table::{Columns, MemoryTable};
use crate::data::node::Node;
use arrow::array::*;
use arrow::datatypes::{DataType, Field};
use chrono::{NaiveDate, NaiveDateTime, NaiveTime, Timelike};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// The most columns that a sheet has, in Excel and in LibreOffice. Rows have no such end: programs that stream
/// rows write more of them than Excel reads.
const COLUMNS: u32 = 1 << 14;
/// Cells that are filled up with empty ones; a lonely cell far off would make billions of them.
const FILLED: u64 = 16 << 20;

/// The most bytes that the cells of a sheet take, and the texts that all sheets share.
const MOST_BYTES: u64 = limits::CHUNK;
/// The most bytes that their texts take: they are held twice for a moment.
const MOST_TEXT: u64 = limits::CHUNK / 4;
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
        limits::check(self.bytes, MOST_BYTES, "the shared texts")?;
        self.all.push(text);
        if self.all.len().is_multiple_of(CELLS as usize) { task.check() } else { Ok(()) }
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
    /// Cells that are in no column that a sheet can have, and how far they reach.
    beyond: u64,
    reach: (u32, u32),
    merged: Vec<Area>,
    /// Whether the first row stays in sight.
    frozen: bool,
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
        if column >= COLUMNS {
            self.beyond += 1;
            self.reach = (self.reach.0.max(row), self.reach.1.max(column));
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
        self.room(0, 0)
    }

    /// Whether there is room for cells of so many bytes more, of which texts take so many.
    pub(super) fn room(&self, bytes: u64, texts: u64) -> Result<()> {
        limits::check(self.texts.saturating_add(texts), MOST_TEXT, "the texts of this sheet")?;
        limits::check(self.bytes.saturating_add(bytes), MOST_BYTES, "the cells of this sheet").map(drop)
    }

    /// Notes a cell that may have a formula.
    pub(super) fn formula(&mut self, is_one: bool, empty: bool) {
        self.formulas += u64::from(is_one);
        self.unknown += u64::from(is_one && empty);
    }

    /// Notes that the first row stays in sight, which makes it a header also where nothing stands below it.
    pub(super) fn freeze(&mut self) {
        self.frozen = true;
    }

    /// Notes a merged range.
    pub(super) fn merged(&mut self, area: Option<Area>) {
        self.merged.extend(area.filter(|_| self.merged.len() < MERGED));
    }

    /// Notes what is wrong with a cell; the first one is told.
    pub(super) fn problem(&mut self, error: Error) {
        self.problem.get_or_insert(error);
    }

    /// The sheet; `header` says whether its first row has the names of the columns, which is else told from the cells.
    pub(super) fn node(mut self, task: &Task, header: Option<bool>) -> Result<Node> {
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
            task.check()?;
            cells.sort_by_key(|(row, _)| *row);
            cells.dedup_by_key(|(row, _)| *row);
        }
        let (area, kept) = self.area();
        node = self.tell_left_out(node, kept);
        let Some(Area { start: (first, left), end: (last, right) }) = area else {
            return Ok(if self.beyond > 0 { node } else { node.remark("an empty sheet") });
        };
        let header = match header {
            Some(true) => Some(self.names(first, left, right)),
            Some(false) => None,
            None => self.header(first, left, right, last > first || self.frozen && first == 0),
        };
        let begin = if header.is_some() { first + 1 } else { first };
        let count = (u64::from(last) + 1).saturating_sub(u64::from(begin)) as usize;
        let (mut fields, mut arrays): (Vec<_>, Vec<ArrayRef>) = (Vec::new(), Vec::new());
        for column in left..=right {
            task.check()?;
            let cells = self.columns.remove(&column).unwrap_or_default();
            let cells: Vec<(u32, Value)> =
                cells.into_iter().filter(|(row, _)| (begin..=last).contains(row)).collect();
            let name = match &header {
                Some(names) => names.get((column - left) as usize).cloned().unwrap_or_default(),
                None => format!("column{}", column - left),
            };
            let (field, array) = typed(&name, &cells, begin, count);
            fields.push(field);
            arrays.push(array);
        }
        let table = MemoryTable::of(fields.into_iter().collect(), arrays)?;
        node = node.read_as("header", if header.is_some() { "the first row" } else { "none" });
        if (first, left) != (0, 0) {
            let place = format!("row {}, column {}", u64::from(first) + 1, u64::from(left) + 1);
            node = node.read_as("begins at", place);
        }
        Ok(node.content(Content::Table(Arc::new(table))))
    }

    /// The range that the table shows, and how many cells in it hold something: all of them where no more than
    /// `FILLED` have to be filled up; else the range, from the first row and column on, that has the most of them.
    fn area(&self) -> (Option<Area>, u64) {
        let Some(&left) = self.columns.keys().next() else { return (None, 0) };
        let used: u64 = self.columns.values().map(|cells| cells.len() as u64).sum();
        let most = FILLED.max(used.saturating_mul(4));
        let (mut best, mut most_kept) = (None, 0);
        // The fewer columns, the more rows there may be: what ends at the last used column of 1, 2, 4 … is tried.
        for power in 0..=COLUMNS.ilog2() {
            let within = || self.columns.range(left..left.saturating_add(1 << power));
            let Some((&right, _)) = within().next_back() else { continue };
            let first = within().filter_map(|(_, cells)| cells.first()).map(|(row, _)| *row).min();
            let height = most / (u64::from(right - left) + 1);
            let end = u64::from(first.unwrap_or(0)).saturating_add(height);
            let (mut area, mut kept): (Option<Area>, u64) = (None, 0);
            for (&column, cells) in within() {
                let count = cells.partition_point(|(row, _)| u64::from(*row) < end);
                let last = count.checked_sub(1).and_then(|last| cells.get(last));
                // Columns and rows at the edges of which nothing is kept are not shown.
                let (Some(&(top, _)), Some(&(bottom, _))) = (cells.first(), last) else { continue };
                kept += count as u64;
                let area = area.get_or_insert(Area { start: (top, column), end: (bottom, column) });
                area.start.0 = area.start.0.min(top);
                area.end = (area.end.0.max(bottom), column);
            }
            if kept > most_kept {
                (best, most_kept) = (area, kept);
            }
        }
        (best, most_kept)
    }

    /// Says which cells are not among the `kept` ones that the table shows.
    fn tell_left_out(&self, node: Node, kept: u64) -> Node {
        let used: u64 = self.columns.values().map(|cells| cells.len() as u64).sum();
        let left_out = self.beyond + used.saturating_sub(kept);
        if left_out == 0 {
            return node;
        }
        let lasts = self.columns.iter().filter_map(|(column, cells)| Some((cells.last()?.0, *column)));
        let (row, column) = lasts.fold(self.reach, |reach, at| (reach.0.max(at.0), reach.1.max(at.1)));
        let (row, column) = (display::count(u64::from(row) + 1), display::count(u64::from(column) + 1));
        let cells = display::plural(left_out, "cell");
        node.remark(format!("left out: {cells} far off, up to row {row} and column {column}"))
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

    /// The cells of the first row as names, whatever they hold.
    fn names(&self, first: u32, left: u32, right: u32) -> Vec<String> {
        let name = |column: u32| {
            let cells = self.columns.get(&column)?.get(..1)?;
            let (_, array) = typed("", cells, first, 1);
            cell::text(array.as_ref(), 0)
        };
        (left..=right).map(|column| name(column).unwrap_or_default()).collect()
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
fn typed(
    name: &str,
    cells: &[(u32, Value)],
    begin: u32,
    count: usize,
) -> ((Field, Option<DataType>), ArrayRef) {
    let kinds = kinds(cells);
    // A time has no date: among dates it is none of them.
    let moments = kinds.stamps || kinds.clocks && !kinds.dates;
    let times = kinds.clocks && kinds.dates;
    let one = [kinds.numbers, kinds.texts, kinds.bools, moments, times, kinds.spans, kinds.errors];
    let alone = one.iter().filter(|kind| **kind).count() == 1;
    let plain = |array: ArrayRef| ((Field::new(name, array.data_type().clone(), true), None), array);
    macro_rules! column {
        ($builder:expr, $value:expr) => {{
            let mut builder = $builder;
            let mut cells = cells.iter().peekable();
            for row in (u64::from(begin)..).take(count) {
                let cell = cells.next_if(|(at, _)| u64::from(*at) == row).map(|(_, value)| value);
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
        return plain(column!(Int64Builder::with_capacity(count), |value: &Value| number(value)
            .map(|value| value as i64)));
    }
    if alone && kinds.numbers {
        return plain(column!(Float64Builder::with_capacity(count), number));
    }
    if alone && kinds.bools {
        return plain(column!(BooleanBuilder::with_capacity(count), |value: &Value| match value {
            Value::Bool(value) => Some(*value),
            _ => None,
        }));
    }
    if alone && moments && !kinds.dates {
        return plain(column!(Time64MicrosecondBuilder::with_capacity(count), clock));
    }
    if alone && moments && !kinds.times {
        let days = |value: &Value| stamp(value).map(|time| time.date().to_epoch_days());
        return plain(column!(Date32Builder::with_capacity(count), days));
    }
    if alone && moments {
        let micros = |value: &Value| stamp(value).map(|time| time.and_utc().timestamp_micros());
        return plain(column!(TimestampMicrosecondBuilder::with_capacity(count), micros));
    }
    // Durations of less than a day may be told as times.
    let only_spans = one.iter().filter(|kind| **kind).count() == 1 + usize::from(moments) && !kinds.stamps;
    if kinds.spans && only_spans {
        return plain(column!(DurationMillisecondBuilder::with_capacity(count), span));
    }
    let guess = match (kinds.numbers, kinds.texts || kinds.bools || moments || kinds.spans) {
        // Numbers among which there are errors.
        (true, false) if kinds.fractions => DataType::Float64,
        (true, false) => DataType::Int64,
        _ => DataType::Utf8,
    };
    (
        Columns::text(name, guess),
        column!(StringBuilder::with_capacity(count, 0), |value: &Value| Some(text(value))),
    )
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

    fn gathered(places: impl IntoIterator<Item = (u32, u32)>) -> Gathered {
        let mut out = Gathered::default();
        for place in places {
            out.push(place, Value::Number(1.0));
        }
        for cells in out.columns.values_mut() {
            cells.sort_by_key(|(row, _)| *row);
            cells.dedup_by_key(|(row, _)| *row);
        }
        out
    }

    /// Rows, columns, and what is said.
    fn shape(out: Gathered) -> (u64, usize, String) {
        let node = out.node(&Task::new(), None).unwrap();
        let Some(Content::Table(table)) = &node.content else { return (0, 0, node.remarks.join("; ")) };
        (table.count(&Task::new()).unwrap(), table.schema().fields().len(), node.remarks.join("; "))
    }

    #[test]
    fn rows_beyond_what_excel_reads_are_shown() {
        let far = gathered([(0, 0), (1_100_001, 0), (1_199_999, 1)]);
        assert_eq!(shape(far), (1_200_000, 2, String::new()));
        let last = gathered([(u32::MAX - 1, 0), (u32::MAX, 0)]);
        assert_eq!(shape(last), (2, 1, String::new()));
    }

    #[test]
    fn lonely_cells_far_off_are_left_out() {
        let words = |cells, row: &str, column: &str| {
            format!("left out: {cells} far off, up to row {row} and column {column}")
        };
        let block = || (0..20).flat_map(|row| (0..30).map(move |column| (row, column)));
        let row = gathered(block().chain([(5_000_000, 3)]));
        assert_eq!(shape(row), (20, 30, words("1 cell", "5,000,001", "30")));
        let both = gathered(block().chain([(u32::MAX, 0), (7, 16_000), (2_000_000, 40)]));
        let (rows, columns, remark) = shape(both);
        assert_eq!((rows, columns), (20, 16_001), "{remark}");
        assert_eq!(remark, words("2 cells", "4,294,967,296", "16,001"));
        // A column takes memory even where it holds nothing: there are no more than programs have.
        let wide = gathered([(0, 0), (0, u32::MAX)].into_iter().chain((0..100_000).map(|n| (0, 16_384 + n))));
        assert_eq!(wide.columns.len(), 1);
        assert_eq!(shape(wide), (1, 1, words("100,001 cells", "1", "4,294,967,296")));
        assert_eq!(shape(gathered([(4, 20_000)])), (0, 0, words("1 cell", "5", "20,001")));
    }

    proptest::proptest! {
        #[test]
        fn the_range_has_all_that_fit(
            near in proptest::collection::vec((0u32..50, 0u32..50), 1..40),
            far in proptest::collection::vec((proptest::prelude::any::<u32>(), 0u32..20_000), 0..3),
        ) {
            let out = gathered(near.iter().chain(&far).copied());
            let used: u64 = out.columns.values().map(|cells| cells.len() as u64).sum();
            let (area, kept) = out.area();
            let area = area.unwrap();
            let within = |(column, cells): (&u32, &Vec<(u32, Value)>)| {
                let rows = cells.iter().filter(|(row, _)| (area.start.0..=area.end.0).contains(row)).count();
                if (area.start.1..=area.end.1).contains(column) { rows as u64 } else { 0 }
            };
            proptest::prop_assert_eq!(out.columns.iter().map(within).sum::<u64>(), kept);
            let sides = |area: Area| {
                let side = |from, to| u64::from(to) - u64::from(from) + 1;
                (side(area.start.0, area.end.0), side(area.start.1, area.end.1))
            };
            let (height, width) = sides(area);
            proptest::prop_assert!(height * width <= FILLED && width <= u64::from(COLUMNS));
            proptest::prop_assert!(far.is_empty() <= (kept == used));
        }
    }

    /// The type of a column of these values, and its cells.
    fn column(values: Vec<Value>) -> (DataType, Vec<String>) {
        let count = values.len();
        let cells: Vec<(u32, Value)> =
            values.into_iter().enumerate().map(|(row, v)| (row as u32, v)).collect();
        let ((field, _), array) = typed("c", &cells, 0, count);
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
