//! The rows of a table that are in memory: pages of 64 rows of single columns, as texts that are ready
//! to draw. What is in sight and not there yet is read by a job; the latest request wins. Bounded by bytes,
//! but what was drawn last is never dropped.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{DataType, Field};
use gander::bytes::error::{Error, Result, UnlessCancelled};
use gander::bytes::task::Task;
use gander::data::cell;
use gander::data::content::Table;
use gander::data::content::table::read_each;
use gander::jobs::{JobSpec, Jobs, Slot};

use crate::gui::grid::{Cell, CellKind, Side};

/// Rows of a page.
const PAGE: u64 = 64;
/// Bytes of texts that are kept.
const LIMIT: usize = 64 << 20;
/// Of a longer value only so many bytes of text are kept.
pub(super) const SHOWN: usize = 1200;
/// Of a longer list only so many items are made into text.
const ITEMS: usize = 40;
/// Rows that one job reads at most.
const MOST: u64 = 16 * PAGE;

/// The text of a cell, or its beginning.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Text {
    /// Missing.
    Null,
    /// Not a number, or an infinity.
    Odd(Box<str>),
    /// Any other value.
    Value(Box<str>),
}

/// One page of one column.
struct Page {
    cells: std::result::Result<Vec<Text>, Error>,
    bytes: usize,
    used: u64,
    /// How many rows the table said it had when this was read.
    of: u64,
}

/// What a job reads. How many rows the table has is no part of it: while they are counted that changes with
/// each frame, and the job would be begun anew each time.
#[derive(Clone, Debug, PartialEq)]
struct Wanted {
    pages: Range<u64>,
    columns: Vec<usize>,
}

/// What a job read.
struct Block {
    /// How many rows the table said it had before.
    of: u64,
    /// For each column its pages.
    columns: Vec<Vec<Result<Vec<Text>>>>,
}

/// The pages of one table.
pub(super) struct Pages {
    table: Arc<dyn Table>,
    name: String,
    kept: HashMap<(u64, usize), Page>,
    bytes: usize,
    frame: u64,
    slot: Slot<Wanted, Block>,
    /// The rows that are being read, and since when.
    pending: Option<(Range<u64>, Instant)>,
}

impl Pages {
    /// No pages yet.
    pub(super) fn new(table: Arc<dyn Table>, name: &str) -> Self {
        Pages {
            table,
            name: name.to_owned(),
            kept: HashMap::new(),
            bytes: 0,
            frame: 0,
            slot: Slot::default(),
            pending: None,
        }
    }

    /// The rows that are being read, and since when.
    pub(super) fn pending(&self) -> Option<(Range<u64>, Instant)> {
        self.pending.clone()
    }

    /// Stops the reading; its cells say so until they are asked for again.
    pub(super) fn cancel(&mut self) {
        self.slot.cancel();
    }

    /// Forgets the cells that could not be read, so that they are read anew.
    pub(super) fn retry(&mut self) {
        self.kept.retain(|_, page| page.cells.is_ok());
        self.bytes = self.kept.values().map(|page| page.bytes).sum();
        self.slot.clear();
    }

    /// The texts of a column in the first page that is there of these rows.
    pub(super) fn texts(&self, rows: &Range<u64>, column: usize) -> Option<&[Text]> {
        let mut pages =
            pages_of(rows).filter_map(|page| self.kept.get(&(page, column))?.cells.as_deref().ok());
        pages.find(|cells| !cells.is_empty())
    }

    /// Why cells in these rows could not be read.
    pub(super) fn error(&self, rows: &Range<u64>, columns: &[usize]) -> Option<&Error> {
        let pages = pages_of(rows);
        let mut places = pages.flat_map(|page| columns.iter().map(move |column| (page, *column)));
        places.find_map(|place| self.kept.get(&place)?.cells.as_ref().err())
    }

    /// The cell, as far as it is in memory.
    pub(super) fn cell(&self, row: u64, column: usize, kind: &CellKind) -> Cell<'_> {
        let Some(page) = self.kept.get(&(row / PAGE, column)) else { return Cell::pending() };
        match &page.cells {
            Err(error) if error.is_cancelled() => Cell::failed("Reading was cancelled"),
            Err(error) => Cell::failed(error.to_string()),
            Ok(cells) => match cells.get((row % PAGE) as usize) {
                Some(Text::Null) => Cell::null(),
                Some(Text::Odd(text)) => Cell::new(CellKind::Nan, &**text),
                Some(Text::Value(text)) => Cell::new(kind.clone(), &**text),
                None if self.table.rows().exact().is_some() => Cell::new(kind.clone(), ""),
                None => Cell::pending(),
            },
        }
    }

    /// Reads what is missing of these rows and columns. Called once a frame.
    pub(super) fn want(&mut self, jobs: &Jobs, rows: Range<u64>, columns: &[usize]) {
        self.frame += 1;
        self.pending = None;
        self.forget_cancelled();
        let of = self.table.rows().number();
        let Some(wanted) = self.missing(&rows, columns, of) else { return };
        let (table, job) = (self.table.clone(), wanted.clone());
        let title =
            format!("rows {} of {}", gander::bytes::display::count(wanted.pages.start * PAGE), self.name);
        let shown = self.slot.get(jobs, &wanted, JobSpec::once(title), move |task| read(&*table, task, &job));
        if let Some(block) = shown.ready() {
            self.keep(&wanted, &block);
            // What had fewer rows than there are by now is read anew.
            self.slot.clear();
        } else if let Some(error) = shown.error {
            let pages = || wanted.pages.clone().map(|_| Err(error.clone())).collect();
            let columns = wanted.columns.iter().map(|_| pages()).collect();
            self.keep(&wanted, &Block { of, columns });
        } else if let Some(since) = shown.pending {
            self.pending = Some((wanted.pages.start * PAGE..wanted.pages.end * PAGE, since));
        }
    }

    /// Forgets cells that were cancelled and went out of sight: they are read when they come back.
    fn forget_cancelled(&mut self) {
        let (before, frame) = (self.kept.len(), self.frame);
        self.kept.retain(|_, page| match &page.cells {
            Err(error) if error.is_cancelled() => page.used + 1 >= frame,
            _ => true,
        });
        if self.kept.len() < before {
            self.bytes = self.kept.values().map(|page| page.bytes).sum();
            self.slot.clear();
        }
    }

    /// The first run of pages of which a column is missing; marks the others as used.
    fn missing(&mut self, rows: &Range<u64>, columns: &[usize], of: u64) -> Option<Wanted> {
        let mut pages: Option<Range<u64>> = None;
        let mut lacking: Vec<usize> = Vec::new();
        for number in pages_of(rows) {
            let room = pages.as_ref().is_none_or(|p| number < p.start + MOST / PAGE);
            for &column in columns {
                let there = self.kept.get_mut(&(number, column)).is_some_and(|page| {
                    page.used = self.frame;
                    page.is_whole(number, of)
                });
                if !there && room {
                    let start = pages.as_ref().map_or(number, |p| p.start);
                    pages = Some(start..number + 1);
                    if !lacking.contains(&column) {
                        lacking.push(column);
                    }
                }
            }
        }
        Some(Wanted { pages: pages?, columns: lacking })
    }

    fn keep(&mut self, wanted: &Wanted, block: &Block) {
        for (&column, pages) in wanted.columns.iter().zip(&block.columns) {
            for (number, cells) in wanted.pages.clone().zip(pages) {
                let cells = cells.clone();
                let bytes = cells.as_ref().map_or(64, |cells| cells.iter().map(Text::bytes).sum());
                let page = Page { cells, bytes, used: self.frame, of: block.of };
                self.bytes += bytes;
                if let Some(old) = self.kept.insert((number, column), page) {
                    self.bytes -= old.bytes;
                }
            }
        }
        if self.bytes > LIMIT {
            self.shrink();
        }
    }

    fn shrink(&mut self) {
        let mut ages: Vec<(u64, (u64, usize))> = self.kept.iter().map(|(k, p)| (p.used, *k)).collect();
        ages.sort_unstable();
        for (used, key) in ages {
            if self.bytes <= LIMIT / 2 || used >= self.frame {
                break;
            }
            if let Some(page) = self.kept.remove(&key) {
                self.bytes -= page.bytes;
            }
        }
    }
}

impl Page {
    /// Whether nothing more can be read into it: all its rows are there, or the table said of as many
    /// rows as now that there are no more.
    fn is_whole(&self, number: u64, of: u64) -> bool {
        let expected = of.saturating_sub(number * PAGE).min(PAGE);
        self.cells.as_ref().map_or(true, |cells| cells.len() as u64 >= expected || self.of == of)
    }
}

impl Text {
    fn bytes(&self) -> usize {
        match self {
            Text::Null => 24,
            Text::Odd(text) | Text::Value(text) => 24 + text.len(),
        }
    }
}

fn pages_of(rows: &Range<u64>) -> Range<u64> {
    rows.start / PAGE..rows.end.div_ceil(PAGE)
}

fn read(table: &dyn Table, task: &Task, wanted: &Wanted) -> Result<Block> {
    let of = table.rows().number();
    let rows = wanted.pages.start * PAGE..wanted.pages.end * PAGE;
    let arrays = read_each(table, task, rows, &wanted.columns)?;
    let mut columns = Vec::with_capacity(arrays.len());
    for (array, &column) in arrays.into_iter().zip(&wanted.columns) {
        task.check()?;
        columns.push(match array {
            Ok(array) => {
                let start = |page: u64| (((page - wanted.pages.start) * PAGE) as usize).min(array.len());
                let texts =
                    |page| (start(page)..start(page + 1)).map(|row| text(array.as_ref(), row)).collect();
                wanted.pages.clone().map(|page| Ok(texts(page))).collect()
            }
            Err(error) => pages_alone(table, task, wanted, column, &error)?,
        });
    }
    Ok(Block { of, columns })
}

/// Reads the pages of a column one by one, since together they failed with `error`.
fn pages_alone(
    table: &dyn Table,
    task: &Task,
    wanted: &Wanted,
    column: usize,
    error: &Error,
) -> Result<Vec<Result<Vec<Text>>>> {
    let mut pages = Vec::new();
    let alone = wanted.pages.end - wanted.pages.start > 1;
    for page in wanted.pages.clone() {
        if !alone {
            pages.push(Err(error.clone()));
            continue;
        }
        let result = table.read(task, page * PAGE..(page + 1) * PAGE, &[column]);
        let cells = |batch: RecordBatch| {
            (0..batch.num_rows()).map(|row| text(batch.column(0).as_ref(), row)).collect()
        };
        pages.push(result.unless_cancelled()?.map(cells));
    }
    Ok(pages)
}

/// The text of a cell as the grid shows it: its beginning, where it is long.
pub(super) fn text(array: &dyn Array, row: usize) -> Text {
    if array.is_null(row) {
        return Text::Null;
    }
    if let Some(string) = string(array, row) {
        return Text::Value(cut(string).into());
    }
    if let Some((items, count)) = long_list(array, row) {
        let mut words = cell::shown_json(&items, 0).to_string();
        words.truncate(words.len().saturating_sub(1));
        let more = gander::bytes::display::count(count as u64 - ITEMS as u64);
        return Text::Value(format!("{}, … {more} more]", cut(&words)).into());
    }
    match cell::shown(array, row) {
        None => Text::Null,
        Some(text) if matches!(text.as_str(), "nan" | "inf" | "-inf") => Text::Odd(text.into()),
        Some(text) => Text::Value(cut(&text).into()),
    }
}

/// The string of a cell, without a copy.
pub(super) fn string(array: &dyn Array, row: usize) -> Option<&str> {
    match array.data_type() {
        DataType::Utf8 => Some(array.as_string::<i32>().value(row)),
        DataType::LargeUtf8 => Some(array.as_string::<i64>().value(row)),
        DataType::Utf8View => Some(array.as_string_view().value(row)),
        _ => None,
    }
}

/// A list of one row with the first items of a long list, and how many items it has.
fn long_list(array: &dyn Array, row: usize) -> Option<(arrow::array::ListArray, usize)> {
    let items = match array.data_type() {
        DataType::List(_) => array.as_list::<i32>().value(row),
        DataType::LargeList(_) => array.as_list::<i64>().value(row),
        DataType::FixedSizeList(_, _) => array.as_fixed_size_list().value(row),
        _ => return None,
    };
    let count = items.len();
    if count <= ITEMS {
        return None;
    }
    let field = Arc::new(Field::new("item", items.data_type().clone(), true));
    let offsets = arrow::buffer::OffsetBuffer::from_lengths([ITEMS]);
    let first = items.slice(0, ITEMS);
    arrow::array::ListArray::try_new(field, offsets, first, None).ok().map(|list| (list, count))
}

/// The beginning of a text.
pub(super) fn cut(text: &str) -> &str {
    if text.len() <= SHOWN {
        return text;
    }
    let end = (0..=SHOWN).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    &text[..end]
}

/// How the values of a column look.
pub(super) fn look(data_type: &DataType) -> (CellKind, Side) {
    match data_type {
        kind if kind.is_numeric() => (CellKind::Number, Side::Right),
        DataType::Boolean => (CellKind::Bool, Side::Left),
        DataType::Dictionary(_, values) => look(values),
        DataType::RunEndEncoded(_, values) => look(values.data_type()),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            (CellKind::Binary, Side::Left)
        }
        kind if kind.is_temporal() => (CellKind::Time, Side::Left),
        kind if kind.is_nested() => (CellKind::Nested, Side::Left),
        _ => (CellKind::Text, Side::Left),
    }
}

/// How wide the values of a column are likely to be, in characters.
pub(super) fn likely_width(kind: &DataType) -> f32 {
    match kind {
        DataType::Boolean => 6.0,
        DataType::Int8 | DataType::UInt8 | DataType::Int16 | DataType::UInt16 => 7.0,
        DataType::Int32 | DataType::UInt32 | DataType::Float16 | DataType::Float32 => 11.0,
        DataType::Int64 | DataType::UInt64 => 13.0,
        DataType::Float64 => 19.0,
        DataType::Date32 | DataType::Date64 => 11.0,
        DataType::Timestamp(_, zone) => 27.0 + if zone.is_some() { 6.0 } else { 0.0 },
        DataType::Decimal128(digits, _) => f32::from(*digits).clamp(8.0, 20.0),
        kind if kind.is_nested() => 34.0,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => 24.0,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => 20.0,
        _ => 16.0,
    }
}

/// How wide a text is about, in digits of the font of numbers: letters of texts have widths of their own.
pub(super) fn text_width(text: &str) -> f32 {
    let width = |c: char| match c {
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | ' ' => 0.55,
        'f' | 't' | 'r' | '(' | ')' | '[' | ']' | '-' | '"' | '/' => 0.68,
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 1.6,
        'A'..='Z' | '0'..='9' => 1.25,
        c if c.is_ascii() => 1.05,
        // Signs of East Asia are as wide as they are high.
        '\u{1100}'..='\u{11ff}'
        | '\u{2e80}'..='\u{d7ff}'
        | '\u{f900}'..='\u{faff}'
        | '\u{ff00}'..='\u{ff60}' => 1.9,
        _ => 1.2,
    };
    text.chars().take(300).map(width).sum()
}
