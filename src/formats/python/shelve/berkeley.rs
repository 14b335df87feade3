//! Berkeley DB's hash tables, which `dbm.ndbm` writes with its library: pages with keys and values in turn, from the end
//! of a page to its beginning; long ones lie on pages of their own. The pages are taken in the order of the file, not of
//! the hash.
//! <https://github.com/berkeleydb/libdb/blob/master/src/dbinc/db_page.h>

use super::{Database, ENTRIES, Entry, KEY, Place, Values};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::numbers::ordered;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use bytes::Bytes;

/// The magic number, and where it stands.
const MAGIC: (usize, u32) = (12, 0x0006_1561);
/// The type of a page of metadata, of hashed entries, and of the same before they are sorted; of a long value.
const META: u8 = 8;
const HASH: [u8; 2] = [13, 2];
const OVERFLOW: u8 = 7;
/// Bytes before the places on a page.
const PAGE: usize = 26;
/// The kinds of an item: its bytes, or where they lie.
const DATA: u8 = 1;
const ELSEWHERE: u8 = 3;

/// Whether a file begins as one, and whether it is big-endian.
fn order(first: &[u8]) -> Option<bool> {
    let (at, magic) = MAGIC;
    let big = [false, true].into_iter().find(|big| ordered::<u32>(*big, first, at) == Some(magic))?;
    (first.get(25) == Some(&META)).then_some(big)
}

pub(super) fn is(first: &[u8]) -> bool {
    order(first).is_some()
}

/// The pages of a file.
#[derive(Clone)]
struct Pages {
    source: Source,
    big: bool,
    size: u64,
    count: u64,
}

impl Pages {
    fn page(&self, task: &Task, number: u64) -> Result<Bytes> {
        let start = number.checked_mul(self.size).filter(|_| number < self.count);
        let start =
            start.ok_or_else(|| Error::malformed(format!("Berkeley DB: there is no page {number}")))?;
        self.source.read(task, start..start.saturating_add(self.size))
    }

    /// The bytes that begin on a page of their own.
    fn long(&self, task: &Task, first: u64, len: u64) -> Result<Bytes> {
        let mut out =
            Vec::with_capacity(limits::check(len, limits::CHUNK.min(self.count * self.size), "a value")?);
        let mut number = first;
        while (out.len() as u64) < len {
            let page = self.page(task, number)?;
            let used = ordered::<u16>(self.big, &page, 22).map_or(0, usize::from);
            let part = page
                .get(PAGE..PAGE + used)
                .filter(|part| !part.is_empty() && page.get(25) == Some(&OVERFLOW));
            let wrong = || Error::malformed("Berkeley DB: a long value is cut off").at(number * self.size);
            out.extend_from_slice(part.ok_or_else(wrong)?);
            number = ordered::<u32>(self.big, &page, 16).map_or(0, u64::from);
        }
        out.truncate(len as usize);
        Ok(out.into())
    }
}

impl Values for Pages {
    fn value(&self, task: &Task, place: &Place) -> Result<Source> {
        match place {
            Place::At(range) => self.source.member("value", range.clone()),
            Place::Pages(first, len) => self.source.inflated("value", self.long(task, *first, *len)?),
            Place::Row(_) => Err(Error::bug("a value in a row of no table")),
        }
    }
}

pub(super) fn read(task: &Task, source: &Source) -> Result<Database> {
    let len = source.len(task)?;
    let head = source.read_up_to(task, 0, 72)?;
    let wrong = |what: &str| Error::malformed(format!("Berkeley DB: {what}"));
    let big = order(&head).ok_or_else(|| wrong("it has no magic number").at(12))?;
    let size = ordered::<u32>(big, &head, 20).map_or(0, u64::from);
    if !size.is_power_of_two() || !(512..=65_536).contains(&size) {
        return Err(wrong(&format!("pages of {size} bytes")).at(20));
    }
    if head.get(24).is_some_and(|algorithm| *algorithm != 0) {
        return Err(Error::unsupported("Berkeley DB: it is encrypted").at(24));
    }
    let pages = Pages { source: source.clone(), big, size, count: len / size };
    let said = ordered::<u32>(big, &head, 32).map_or(0, |last| u64::from(last) + 1);
    let mut problem =
        (said > pages.count).then(|| wrong(&format!("{} of {said} pages are there", pages.count)).at(len));
    let mut entries = Vec::new();
    for number in 1..pages.count {
        task.check()?;
        let page = pages.page(task, number)?;
        if !page.get(25).is_some_and(|kind| HASH.contains(kind)) {
            continue;
        }
        if let Err(error) = on_page(task, &pages, number, &page, &mut entries) {
            if error.is_cancelled() {
                return Err(error);
            }
            problem.get_or_insert(error);
        }
    }
    Ok(Database { library: "Berkeley DB (ndbm)", entries, values: Box::new(pages), problem })
}

/// The entries of a page: its items are keys and values in turn, the first one at the end of the page.
fn on_page(task: &Task, pages: &Pages, number: u64, page: &Bytes, entries: &mut Vec<Entry>) -> Result<()> {
    let wrong = |what: &str| Error::malformed(format!("Berkeley DB: {what}")).at(number * pages.size);
    let start = |n: usize| ordered::<u16>(pages.big, page, PAGE + 2 * n).map(usize::from);
    let count = ordered::<u16>(pages.big, page, 20).map_or(0, usize::from);
    let item = |n: usize| {
        let end = if n == 0 { Some(page.len()) } else { start(n - 1) };
        let range = start(n)?..end?;
        page.get(range.clone()).map(|bytes| (range.start, bytes))
    };
    let place = |(at, bytes): (usize, &[u8])| match bytes.first() {
        Some(&DATA) => {
            let first = number * pages.size + at as u64 + 1;
            Some(Place::At(first..first + bytes.len() as u64 - 1))
        }
        Some(&ELSEWHERE) => {
            let word = |at| ordered::<u32>(pages.big, bytes, at).map(u64::from);
            Some(Place::Pages(word(4)?, word(8)?))
        }
        _ => None,
    };
    for pair in 0..count / 2 {
        let (Some(key), Some(value)) = (item(2 * pair), item(2 * pair + 1)) else {
            return Err(wrong("an item lies beyond its page"));
        };
        let (Some(key), Some(value)) = (place(key), place(value)) else {
            return Err(wrong("an item of an unknown kind"));
        };
        let key = match key {
            Place::At(range) => pages.source.read(task, range)?,
            Place::Pages(first, len) => pages.long(task, first, limits::check(len, KEY, "a key")? as u64)?,
            Place::Row(_) => continue,
        };
        limits::check(entries.len() as u64, ENTRIES, "the keys")?;
        entries.push(Entry { key, value });
    }
    Ok(())
}
