//! A table's b-tree, walked by ourselves (<https://www.sqlite.org/fileformat2.html>, section 1.6): which of
//! its pages are damaged, how many rows the others have, and where among their keys these begin.
//!
//! SQLite stops at the first damaged page that it meets. A search for a key that lies on a good page does
//! not touch the damaged ones, so what is found here lets it read everything between them.

use super::pages::{Encoding, Pages};
use super::table::STEP;
use crate::bytes::error::{Error, Result};
use crate::bytes::numbers::be;
use crate::bytes::task::Task;
use bytes::Bytes;
use roaring::RoaringBitmap;
use rusqlite::types::Value;

/// How deep trees are in SQLite.
const DEEP: usize = 20;
/// The most damaged places that are named.
const NAMED: usize = 8;
/// The most bytes of a record that are put together to find its key.
const KEY: usize = 1 << 20;

/// A row whose key is known.
#[derive(Clone, Debug)]
pub(super) struct Mark {
    /// Its number among the rows that can be read.
    pub(super) row: u64,
    /// The values that rows are ordered by.
    pub(super) key: Vec<Value>,
    /// What lies between it and the row before it cannot be read.
    pub(super) begins: bool,
}

/// What the walk found.
pub(super) struct Found {
    /// Rows that can be read.
    pub(super) rows: u64,
    /// Every [`STEP`]-th row at least, and each one behind a damaged place.
    pub(super) marks: Vec<Mark>,
    /// What cannot be read.
    pub(super) damage: Vec<Damaged>,
}

/// A page, or a row of it, that cannot be read.
#[derive(Clone, Debug)]
pub(super) struct Damaged {
    /// The page and its place, what is wrong with it, which rows are lost.
    pub(super) words: String,
    /// Its first byte in the database file.
    pub(super) at: Option<u64>,
}

/// The damaged pages as one error.
pub(super) fn problem(damage: &[Damaged]) -> Option<Error> {
    let first = damage.first()?;
    let words: Vec<&str> = damage.iter().take(NAMED).map(|damaged| damaged.words.as_str()).collect();
    let mut text = format!("pages: {}", words.join("; "));
    if damage.len() > NAMED {
        text.push_str(&format!("; and {} more", damage.len() - NAMED));
    }
    let error = Error::malformed(text);
    Some(match first.at {
        Some(at) => error.at(at),
        None => error,
    })
}

/// Walks the tree whose root is page `root`: of a table with row numbers, or, with `columns`, of one that
/// is ordered by the first so many columns of its records.
pub(super) fn walk(task: &Task, pages: &Pages, root: u32, columns: Option<usize>) -> Result<Found> {
    let found = Found { rows: 0, marks: Vec::new(), damage: Vec::new() };
    let mut walk = Walk { task, pages, columns, found, seen: RoaringBitmap::new(), fresh: true };
    walk.page(root, Bounds { after: None, until: None }, 0)?;
    Ok(walk.found)
}

/// Between which row numbers those of a page lie, as far as that is known.
#[derive(Clone, Copy)]
struct Bounds {
    after: Option<i64>,
    until: Option<i64>,
}

impl Bounds {
    fn has(self, row: i64) -> bool {
        self.after.is_none_or(|after| row > after) && self.until.is_none_or(|until| row <= until)
    }

    /// The rows that are lost with the page.
    fn words(self) -> String {
        match (self.after.map(|after| after.saturating_add(1)), self.until) {
            (Some(first), Some(last)) if first == last => format!(" (row {first} is lost)"),
            (Some(first), Some(last)) => format!(" (rows {first} to {last} are lost)"),
            (Some(first), None) => format!(" (rows from {first} on are lost)"),
            (None, Some(last)) => format!(" (rows up to {last} are lost)"),
            (None, None) => String::new(),
        }
    }
}

/// Where a row lies.
pub(super) struct Leaf {
    pub(super) page: u32,
    /// The bytes of the row number, and those of the record that lie on this page.
    pub(super) number: std::ops::Range<usize>,
    pub(super) local: std::ops::Range<usize>,
    /// The length of the record.
    pub(super) len: u64,
    /// Where the rest of it lies, if there is one.
    pub(super) overflow: Option<u32>,
}

/// Where the row `id` lies in the tree of a table with row numbers whose root is page `root`.
///
/// # Errors
/// `Malformed` where a page on the way is broken.
pub(super) fn find(task: &Task, pages: &Pages, root: u32, id: i64) -> Result<Option<Leaf>> {
    let mut number = root;
    for _ in 0..DEEP {
        task.check()?;
        let page = sound(task, pages, number)?;
        let behind = page.cells.partition_point(|cell| cell.row < id);
        let cell = page.cells.into_iter().nth(behind);
        if !page.is_leaf {
            number = cell.map_or(page.last, |cell| cell.child);
            continue;
        }
        return Ok(cell.filter(|cell| cell.row == id).map(|cell| cell.leaf(number)));
    }
    Err(Error::malformed(format!("page {root}: its tree is too deep")))
}

/// A page of a table's tree, looked at for one of its bytes.
pub(super) struct Page {
    pub(super) is_leaf: bool,
    /// The first row number of its cells.
    pub(super) first: i64,
    /// The row number and the place of the record of each cell of a leaf.
    pub(super) leaves: Vec<(i64, Leaf)>,
}

/// The page `number` where it is one of the tree whose root is page `root`; `None` where it is none of it, or has no rows.
///
/// # Errors
/// `Malformed` where a page on the way to it is broken.
pub(super) fn page_of(task: &Task, pages: &Pages, root: u32, number: u32) -> Result<Option<Page>> {
    let bytes = pages.read(task, number)?;
    let Ok(page) = parse(bytes, number, false, pages.usable) else { return Ok(None) };
    let Some(first) = page.cells.first().map(|cell| cell.row) else { return Ok(None) };
    // The way to a row of the page leads through it.
    let mut at = root;
    for _ in 0..DEEP {
        task.check()?;
        if at == number {
            let leaves = page.cells.into_iter().filter(|_| page.is_leaf);
            let leaves = leaves.map(|cell| (cell.row, cell.leaf(number))).collect();
            return Ok(Some(Page { is_leaf: page.is_leaf, first, leaves }));
        }
        let Some(below) = below(task, pages, at, first)? else { return Ok(None) };
        at = below;
    }
    Ok(None)
}

/// The page below page `number` that leads to a row; `None` for a leaf.
fn below(task: &Task, pages: &Pages, number: u32, id: i64) -> Result<Option<u32>> {
    let page = sound(task, pages, number)?;
    let next = page.cells.get(page.cells.partition_point(|cell| cell.row < id));
    Ok((!page.is_leaf).then(|| next.map_or(page.last, |cell| cell.child)))
}

/// A page of a table's tree.
fn sound(task: &Task, pages: &Pages, number: u32) -> Result<Cells> {
    parse(pages.read(task, number)?, number, false, pages.usable)
        .map_err(|why| Error::malformed(format!("page {number}: {why}")))
}

/// The serial type of a value of a record, its place in the header and that of the value; `None` where the record has
/// fewer values.
pub(super) fn placed(
    record: &[u8],
    value: usize,
) -> Option<(u64, std::ops::Range<u64>, std::ops::Range<u64>)> {
    let mut at = 0;
    let header = usize::try_from(varint(record, &mut at)?).ok()?;
    let mut body = header as u64;
    for n in 0.. {
        if at >= header {
            return None;
        }
        let from = at;
        let kind = varint(record, &mut at)? as u64;
        let end = body.checked_add(width(kind))?;
        if n == value {
            return (end <= record.len() as u64).then_some((kind, from as u64..at as u64, body..end));
        }
        body = end;
    }
    None
}

/// One cell of a page.
struct Cell {
    /// The page below, of an inner page.
    child: u32,
    /// The row number.
    row: i64,
    /// The bytes of the row number.
    number: std::ops::Range<usize>,
    /// The record's length, and the part of it that lies on this page.
    len: u64,
    local: std::ops::Range<usize>,
    /// Where the rest lies, if there is one.
    overflow: Option<u32>,
}

impl Cell {
    /// Where the row of a cell of the leaf `page` lies.
    fn leaf(self, page: u32) -> Leaf {
        let Cell { number, local, len, overflow, .. } = self;
        Leaf { page, number, local, len, overflow }
    }
}

/// A page whose cells are sound.
struct Cells {
    bytes: Bytes,
    is_leaf: bool,
    cells: Vec<Cell>,
    /// The last page below, of an inner page.
    last: u32,
}

struct Walk<'a> {
    task: &'a Task,
    pages: &'a Pages,
    columns: Option<usize>,
    found: Found,
    seen: RoaringBitmap,
    /// The next row begins a stretch.
    fresh: bool,
}

impl Walk<'_> {
    fn lose(&mut self, page: u32, why: &str, lost: Bounds) {
        let (place, at) = self.pages.place(page);
        self.found.damage.push(Damaged { words: format!("{place}: {why}{}", lost.words()), at });
        self.fresh = true;
    }

    /// Walks what hangs on a page.
    fn page(&mut self, number: u32, bounds: Bounds, depth: usize) -> Result<()> {
        self.task.check()?;
        let page = match self.load(number, bounds, depth)? {
            Ok(page) => page,
            Err(why) => {
                self.lose(number, &why, bounds);
                return Ok(());
            }
        };
        let mut after = bounds.after;
        for cell in &page.cells {
            if !page.is_leaf {
                let until = self.columns.is_none().then_some(cell.row);
                self.page(cell.child, Bounds { after, until }, depth + 1)?;
            }
            // Inner pages have rows of their own only where there are no row numbers.
            // One behind a damaged page is lost with it: a search for it would look there first.
            if page.is_leaf || (self.columns.is_some() && !self.fresh) {
                self.row(number, &page, cell)?;
            }
            after = self.columns.is_none().then_some(cell.row);
        }
        if !page.is_leaf {
            self.page(page.last, Bounds { after, until: bounds.until }, depth + 1)?;
        }
        Ok(())
    }

    /// Reads a page and everything of it that SQLite would look at; why it cannot be read.
    fn load(&mut self, number: u32, bounds: Bounds, depth: usize) -> Result<Result<Cells, String>> {
        if depth >= DEEP {
            return Ok(Err("it lies too deep in its tree".to_owned()));
        }
        if number == 0 || !self.seen.insert(number) {
            return Ok(Err("it is used twice".to_owned()));
        }
        let bytes = self.pages.read(self.task, number)?;
        if bytes.len() < self.pages.usable {
            return Ok(Err("it lies beyond the end of the file".to_owned()));
        }
        let page = parse(bytes, number, self.columns.is_some(), self.pages.usable);
        Ok(page.and_then(|page| match (page.cells.is_empty(), self.columns) {
            (true, _) if depth > 0 => Err("it has no cells".to_owned()),
            (_, None) => ordered(&page, bounds).map(|()| page),
            _ => Ok(page),
        }))
    }

    /// Counts a row, if it can be read.
    fn row(&mut self, number: u32, page: &Cells, cell: &Cell) -> Result<()> {
        let own = match self.columns {
            None => Bounds { after: Some(cell.row.saturating_sub(1)), until: Some(cell.row) },
            Some(_) => Bounds { after: None, until: None },
        };
        let record = page.bytes.get(cell.local.clone()).unwrap_or_default();
        if !header_fits(record, cell.len) {
            self.lose(number, "a record's header does not fit it", own);
            return Ok(());
        }
        if let Some((broken, why)) = self.chain(number, cell)? {
            self.lose(broken, why, own);
            return Ok(());
        }
        let last = self.found.marks.last().map_or(0, |mark| mark.row);
        if self.fresh || self.found.rows - last >= STEP {
            let Some(key) = self.key(cell, record)? else {
                self.lose(number, "a record's key cannot be read", own);
                return Ok(());
            };
            let begins = std::mem::replace(&mut self.fresh, false);
            self.found.marks.push(Mark { row: self.found.rows, key, begins });
        }
        self.found.rows += 1;
        Ok(())
    }

    /// Follows the pages on which the rest of a record lies; the one that breaks them off.
    fn chain(&self, number: u32, cell: &Cell) -> Result<Option<(u32, &'static str)>> {
        let Some(mut next) = cell.overflow else { return Ok(None) };
        let each = self.pages.usable.saturating_sub(4).max(1) as u64;
        let mut count = (cell.len - cell.local.len() as u64).div_ceil(each);
        let mut before = number;
        while count > 0 {
            self.task.check()?;
            if next == 0 {
                return Ok(Some((before, "the rest of a record is missing behind it")));
            }
            let head = self.pages.head(self.task, next, self.pages.usable)?;
            let Some(following) = be::<u32>(&head, 0).filter(|_| head.len() == self.pages.usable) else {
                return Ok(Some((
                    next,
                    "it should have the rest of a record, and lies beyond the file's end",
                )));
            };
            (before, next) = (next, following);
            count -= 1;
        }
        Ok(None)
    }

    /// The values that a row is ordered by.
    fn key(&self, cell: &Cell, local: &[u8]) -> Result<Option<Vec<Value>>> {
        let Some(columns) = self.columns else { return Ok(Some(vec![Value::Integer(cell.row)])) };
        let whole = usize::try_from(cell.len).unwrap_or(usize::MAX).min(KEY);
        let mut record = local.to_vec();
        let mut next = cell.overflow;
        while let Some(number) = next.filter(|_| record.len() < whole) {
            let page = self.pages.head(self.task, number, self.pages.usable)?;
            record.extend_from_slice(page.get(4..).unwrap_or_default());
            next = be::<u32>(&page, 0).filter(|&number| number != 0);
        }
        record.truncate(whole);
        Ok(values(&record, columns, self.pages.encoding))
    }
}

/// The cells of a page, if they are those of a table's (with `records`, an index') page.
fn parse(bytes: Bytes, number: u32, records: bool, usable: usize) -> Result<Cells, String> {
    let begin = if number == 1 { 100 } else { 0 };
    let kind = bytes.get(begin).copied().unwrap_or(0);
    let is_leaf = match (kind, records) {
        (13, false) | (10, true) => true,
        (5, false) | (2, true) => false,
        (_, false) => return Err(format!("its type is {kind}, that of a table's page is 5 or 13")),
        (_, true) => return Err(format!("its type is {kind}, that of an index' page is 2 or 10")),
    };
    let cut = || "its header is cut off".to_owned();
    let count = be::<u16>(&bytes, begin + 3).map(usize::from).ok_or_else(cut)?;
    let first = begin + if is_leaf { 8 } else { 12 };
    let area = first + 2 * count;
    if count > (usable - 8) / 6 || area > usable {
        return Err(format!("its header says that it has {count} cells, for which it has no place"));
    }
    let last = if is_leaf { 0 } else { be::<u32>(&bytes, begin + 8).ok_or_else(cut)? };
    let one = |n: usize| {
        let at =
            be::<u16>(&bytes, first + 2 * n).map(usize::from).filter(|&at| at >= area && at + 4 <= usable);
        let found = at.and_then(|at| cell(bytes.get(..usable)?, at, is_leaf, records));
        found.ok_or_else(|| format!("its cell {n} does not lie inside of it"))
    };
    let cells = (0..count).map(one).collect::<Result<_, _>>()?;
    Ok(Cells { is_leaf, cells, last, bytes })
}

/// Whether the row numbers of a page follow one another and lie where the page above says.
fn ordered(page: &Cells, bounds: Bounds) -> Result<(), String> {
    let mut before = bounds.after;
    for cell in &page.cells {
        if before.is_some_and(|before| cell.row <= before) || !bounds.has(cell.row) {
            return Err("its row numbers are not in order".to_owned());
        }
        before = Some(cell.row);
    }
    Ok(())
}

/// The cell at `at` of a page.
fn cell(page: &[u8], mut at: usize, is_leaf: bool, records: bool) -> Option<Cell> {
    let mut made = Cell { child: 0, row: 0, number: 0..0, len: 0, local: 0..0, overflow: None };
    if !is_leaf {
        made.child = be::<u32>(page, at)?;
        at += 4;
    }
    if !is_leaf && !records {
        made.row = varint(page, &mut at)?;
        return Some(made);
    }
    made.len = u64::try_from(varint(page, &mut at)?).ok()?;
    if !records {
        let begin = at;
        made.row = varint(page, &mut at)?;
        made.number = begin..at;
    }
    // Section 1.6, *Cell Payload Overflow Pages*.
    let usable = page.len() as u64;
    let least = (usable - 12) * 32 / 255 - 23;
    let most = if records { (usable - 12) * 64 / 255 - 23 } else { usable - 35 };
    let local = match made.len {
        len if len <= most => len,
        len => Some(least + (len - least) % (usable - 4)).filter(|&some| some <= most).unwrap_or(least),
    };
    let end = at.checked_add(usize::try_from(local).ok()?)?;
    page.get(at..end)?;
    made.local = at..end;
    if local < made.len {
        made.overflow = Some(be::<u32>(page, end)?);
    }
    Some(made)
}

/// A number of one to nine bytes, seven bits each.
pub(super) fn varint(bytes: &[u8], at: &mut usize) -> Option<i64> {
    let mut value = 0u64;
    for n in 0..9 {
        let byte = *bytes.get(*at)?;
        *at += 1;
        if n == 8 {
            return Some((value << 8 | u64::from(byte)) as i64);
        }
        value = value << 7 | u64::from(byte & 0x7f);
        if byte < 0x80 {
            break;
        }
    }
    Some(value as i64)
}

/// The bytes of a value of a serial type.
pub(super) fn width(kind: u64) -> u64 {
    match kind {
        0 | 8..=11 => 0,
        1..=4 => kind,
        5 => 6,
        6 | 7 => 8,
        _ => (kind - 12) / 2,
    }
}

/// Whether the values that a record's header names are as long as the record; true where not all of the
/// header is there to be looked at.
fn header_fits(record: &[u8], len: u64) -> bool {
    let mut at = 0;
    let Some(header) = varint(record, &mut at).and_then(|header| usize::try_from(header).ok()) else {
        return len > record.len() as u64;
    };
    if header as u64 > len || header < at {
        return false;
    }
    let Some(bytes) = record.get(..header) else { return true };
    let mut sum = header as u64;
    while at < header {
        let Some(kind) = varint(bytes, &mut at) else { return false };
        sum = sum.saturating_add(width(kind as u64));
    }
    sum <= len
}

/// The first `columns` values of a record.
fn values(record: &[u8], columns: usize, encoding: Encoding) -> Option<Vec<Value>> {
    let mut at = 0;
    let mut body = usize::try_from(varint(record, &mut at)?).ok()?;
    let mut values = Vec::with_capacity(columns);
    for _ in 0..columns {
        let kind = varint(record, &mut at)? as u64;
        let end = body.checked_add(usize::try_from(width(kind)).ok()?)?;
        let bytes = record.get(body..end)?;
        values.push(value(kind, bytes, encoding)?);
        body = end;
    }
    Some(values)
}

fn value(kind: u64, bytes: &[u8], encoding: Encoding) -> Option<Value> {
    Some(match kind {
        0 | 10 | 11 => Value::Null,
        1..=6 => {
            let sign = if bytes.first()? & 0x80 == 0 { 0 } else { -1i64 };
            Value::Integer(bytes.iter().fold(sign, |number, &byte| number << 8 | i64::from(byte)))
        }
        7 => Value::Real(be(bytes, 0)?),
        8 => Value::Integer(0),
        9 => Value::Integer(1),
        blob if blob % 2 == 0 => Value::Blob(bytes.to_vec()),
        _ => Value::Text(text(bytes, encoding)),
    })
}

fn text(bytes: &[u8], encoding: Encoding) -> String {
    let unit: fn([u8; 2]) -> u16 = match encoding {
        Encoding::Utf8 => return String::from_utf8_lossy(bytes).into_owned(),
        Encoding::Utf16Le => u16::from_le_bytes,
        Encoding::Utf16Be => u16::from_be_bytes,
    };
    let (pairs, _) = bytes.as_chunks::<2>();
    String::from_utf16_lossy(&pairs.iter().map(|pair| unit(*pair)).collect::<Vec<u16>>())
}
