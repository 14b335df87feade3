//! Where a cell of a table with row numbers lies: the b-tree leads to the page and to the record in it, the record's
//! header to the value (<https://www.sqlite.org/fileformat2.html>, sections 1.6 and 2.1).

use super::btree::{self, Leaf, width};
use super::database::Database;
use super::pages::{Encoding, Pages};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::numbers::be;
use crate::bytes::task::Task;
use crate::data::location::{BytePlace, Location, Within};
use bytes::Bytes;
use rusqlite::OptionalExtension;
use std::ops::Range;
use std::sync::Arc;

/// Overflow pages that are named.
const NAMED: usize = 16;

/// A column as records have it.
pub(super) enum Stored {
    /// The row number itself, which is no value of the record.
    RowNumber,
    /// The value of this number.
    Value(usize),
    /// Computed when it is read.
    Computed,
}

/// How records have a column; `None` for one that is not there.
///
/// # Errors
/// What SQLite says.
pub(super) fn stored(task: &Task, database: &Database, table: &str, column: &str) -> Result<Option<Stored>> {
    let sql = "SELECT cid, hidden, (SELECT count(*) FROM pragma_table_xinfo(?1) AS b WHERE b.cid < a.cid AND b.hidden <> 2) \
               FROM pragma_table_xinfo(?1) AS a WHERE a.name = ?2";
    let found: Option<(i64, i64)> = database.with(task, |db| {
        db.query_row(sql, [table, column], |row| Ok((row.get(1)?, row.get(2)?))).optional()
    })?;
    Ok(found.map(|(hidden, before)| match (hidden, usize::try_from(before)) {
        (2, _) | (_, Err(_)) => Stored::Computed,
        (_, Ok(before)) => Stored::Value(before),
    }))
}

/// Where the value of the row `id` lies in the tree whose first page is `root`.
///
/// # Errors
/// `Malformed` where pages or the record are broken.
pub(super) fn location(
    task: &Task,
    pages: Pages,
    root: u32,
    id: i64,
    stored: &Stored,
) -> Result<Option<Location>> {
    let Some(leaf) = btree::find(task, &pages, root, id)? else { return Ok(None) };
    let (source, start) = pages.at(leaf.page);
    let source = source.clone();
    let at = |range: &Range<usize>| {
        start.saturating_add(range.start as u64)..start.saturating_add(range.end as u64)
    };
    let name = format!("page {}, row number {id}", leaf.page);
    let page = Location::new(
        source.clone(),
        start..start.saturating_add(pages.usable as u64),
        "page",
        leaf.page.to_string(),
    );
    let number = Location::new(source.clone(), at(&leaf.number), "cell", name.as_str());
    let number = number.encoding("varint").within(0..leaf.number.len() as u64);
    let value = match stored {
        Stored::RowNumber => return Ok(Some(number.part("page", page))),
        Stored::Computed => return Ok(None),
        Stored::Value(value) => *value,
    };
    let record = record(task, &pages, &leaf)?;
    let mut location = Location::new(source, at(&leaf.local), "cell payload", name).part("page", page);
    let Some((kind, header, body)) = btree::placed(&record, value) else {
        // A column that was added when the row was there already: its default is in the schema.
        return Ok(Some(location.absent()));
    };
    location = location.encoding(format!("serial type {kind}, {}", word(kind, pages.encoding)));
    // Constants have no bytes but those of their type.
    let within = match kind {
        0 => return Ok(Some(location.absent())),
        8 | 9 => header,
        _ => body,
    };
    if within.end > leaf.local.len() as u64 {
        for (number, range) in overflow(task, &pages, &leaf)?.into_iter().take(NAMED) {
            let (source, start) = pages.at(number);
            let range = start + range.start as u64..start + range.end as u64;
            location = location.part(
                "overflow page",
                Location::new(source.clone(), range, "overflow page", number.to_string()),
            );
        }
        let (pages, leaf) = (Arc::new(pages), Arc::new(leaf));
        location = location.decoded_by(Vec::new(), move |task, _| self::record(task, &pages, &leaf));
    }
    Ok(Some(location.within(Within::from(within))))
}

/// What of a table a byte of one of its pages is.
pub(super) struct Held {
    /// The page.
    pub(super) page: Location,
    /// The row number: of the row that it is of, or of the first one of the page.
    pub(super) id: i64,
    /// What of the row.
    pub(super) part: HeldPart,
}

/// What of a row a byte is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HeldPart {
    /// The row number.
    RowNumber,
    /// Of the value of this number of the record; whether it is one of the value's own bytes, and not only of its type.
    Value(usize, bool),
    /// Nothing: the byte is of the page.
    None,
}

/// What the byte is of the tree whose first page is `root`; `None` where it is none of its pages. Of the rest of a record
/// on other pages it is not told whose it is.
///
/// # Errors
/// `Malformed` where a page on the way is broken.
pub(super) fn owner(task: &Task, pages: &Pages, root: u32, byte: &BytePlace) -> Result<Option<Held>> {
    let Some((number, at)) = pages.page_of(byte) else { return Ok(None) };
    let Some(page) = btree::page_of(task, pages, root, number)? else { return Ok(None) };
    let (source, start) = pages.at(number);
    let range = start..start.saturating_add(pages.usable as u64);
    let unit = Location::new(source.clone(), range, "page", number.to_string());
    let held = |id, part| Ok(Some(Held { page: unit.clone(), id, part }));
    let found = page.leaves.iter().find(|(_, leaf)| leaf.number.contains(&at) || leaf.local.contains(&at));
    let Some((id, leaf)) = found.filter(|_| page.is_leaf) else { return held(page.first, HeldPart::None) };
    if leaf.number.contains(&at) {
        return held(*id, HeldPart::RowNumber);
    }
    let record = record(task, pages, leaf)?;
    let at = at.saturating_sub(leaf.local.start) as u64;
    for value in 0.. {
        let Some((kind, header, body)) = btree::placed(&record, value) else { break };
        // Constants have no bytes but those of their type.
        let own = if matches!(kind, 8 | 9) { &header } else { &body };
        if header.contains(&at) || body.contains(&at) {
            return held(*id, HeldPart::Value(value, own.contains(&at)));
        }
    }
    held(*id, HeldPart::None)
}

/// What a serial type stands for.
fn word(kind: u64, encoding: Encoding) -> String {
    let bytes = width(kind);
    match kind {
        0 => "null".to_owned(),
        1..=6 => format!("{}-bit integer, big-endian", bytes * 8),
        7 => "64-bit float, big-endian".to_owned(),
        8 => "the constant 0".to_owned(),
        9 => "the constant 1".to_owned(),
        kind if kind % 2 == 0 => format!("blob of {bytes} bytes"),
        _ => {
            let encoding = match encoding {
                Encoding::Utf8 => "UTF-8",
                Encoding::Utf16Le => "UTF-16LE",
                Encoding::Utf16Be => "UTF-16BE",
            };
            format!("text of {bytes} bytes of {encoding}")
        }
    }
}

/// The pages on which the rest of a record lies, with its bytes in each.
fn overflow(task: &Task, pages: &Pages, leaf: &Leaf) -> Result<Vec<(u32, Range<usize>)>> {
    let each = pages.usable.saturating_sub(4).max(1);
    let mut left = limits::check(leaf.len, limits::CHUNK, "a record")?.saturating_sub(leaf.local.len());
    let (mut next, mut found) = (leaf.overflow.unwrap_or(0), Vec::new());
    while left > 0 {
        task.check()?;
        let head = pages.head(task, next, 4)?;
        let Some(following) = be::<u32>(&head, 0).filter(|_| next != 0) else {
            return Err(Error::malformed(format!("page {}: the rest of a record is missing", leaf.page)));
        };
        let taken = left.min(each);
        found.push((next, 4..4 + taken));
        (next, left) = (following, left - taken);
    }
    Ok(found)
}

/// The whole record of a cell.
fn record(task: &Task, pages: &Pages, leaf: &Leaf) -> Result<Bytes> {
    let page = pages.read(task, leaf.page)?;
    let lost = |page: u32| Error::malformed(format!("page {page}: it ends before a record does"));
    let local = page.get(leaf.local.clone()).ok_or_else(|| lost(leaf.page))?;
    if leaf.overflow.is_none() {
        return Ok(Bytes::copy_from_slice(local));
    }
    let mut record = local.to_vec();
    for (number, range) in overflow(task, pages, leaf)? {
        let page = pages.read(task, number)?;
        record.extend_from_slice(page.get(range).ok_or_else(|| lost(number))?);
    }
    Ok(record.into())
}
