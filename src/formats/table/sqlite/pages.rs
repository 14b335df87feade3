//! Pages as SQLite sees them: those of the database file and, over them, the newest ones of the write-ahead
//! log (<https://www.sqlite.org/fileformat2.html>, sections 1.2, 1.3 and 4).

use crate::bytes::error::{Error, Result};
use crate::bytes::numbers::be;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::location::BytePlace;
use bytes::Bytes;
use std::collections::HashMap;

/// Bytes in front of each page in a write-ahead log, and at the log's begin.
const FRAME: u64 = 24;
const LOG: u64 = 32;

/// How texts are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    Utf8,
    Utf16Le,
    Utf16Be,
}

/// The pages of one database.
pub(super) struct Pages {
    source: Source,
    wal: Option<Source>,
    /// Where the log has a newer state of a page.
    newer: HashMap<u32, u64>,
    size: u32,
    /// The bytes of a page that its content may take.
    pub(super) usable: usize,
    pub(super) encoding: Encoding,
}

/// The size of pages that a database's header states, if it is one that there can be.
pub(super) fn page_size(header: &[u8]) -> Option<u32> {
    let stored = u32::from(be::<u16>(header, 16)?);
    let size = if stored == 1 { 65_536 } else { stored };
    ((512..=65_536).contains(&size) && size.is_power_of_two()).then_some(size)
}

/// How many pages the header says there are, where it can be believed: not where a library wrote last that
/// did not know of this number.
pub(super) fn stated_count(header: &[u8]) -> Option<u32> {
    let count = be::<u32>(header, 28).filter(|&count| count > 0)?;
    (be::<u32>(header, 24)? == be::<u32>(header, 92)?).then_some(count)
}

impl Pages {
    /// The pages of a database with the log beside it.
    pub(super) fn open(task: &Task, source: &Source, wal: Option<&Source>) -> Result<Pages> {
        let header = source.read_up_to(task, 0, 100)?;
        let size = page_size(&header).ok_or_else(|| Error::malformed("header: the size of pages").at(16))?;
        let newer = wal.map(|wal| newest(task, wal, size)).transpose()?.unwrap_or_default();
        let mut pages = Pages {
            source: source.clone(),
            wal: wal.cloned(),
            newer,
            size,
            usable: 0,
            encoding: Encoding::Utf8,
        };
        let first = pages.read(task, 1)?;
        let header = if first.is_empty() { header } else { first };
        let reserved = header.get(20).copied().unwrap_or(0);
        pages.usable = (size as usize).saturating_sub(usize::from(reserved));
        pages.encoding = match be::<u32>(&header, 56) {
            Some(2) => Encoding::Utf16Le,
            Some(3) => Encoding::Utf16Be,
            _ => Encoding::Utf8,
        };
        Ok(pages)
    }

    /// The file in which a page lies, and its first byte there.
    pub(super) fn at(&self, number: u32) -> (&Source, u64) {
        match (&self.wal, self.newer.get(&number)) {
            (Some(wal), Some(&at)) => (wal, at),
            _ => (&self.source, u64::from(number.saturating_sub(1)) * u64::from(self.size)),
        }
    }

    /// The page that a byte is of and how far behind its first byte it stands; `None` for what is not the newest state of a
    /// page, and for a byte of another file.
    pub(super) fn page_of(&self, byte: &BytePlace) -> Option<(u32, usize)> {
        let size = u64::from(self.size);
        if let Some(at) = self.wal.as_ref().and_then(|wal| byte.offset_in(wal)) {
            let holds = |start: &u64| (*start..start.saturating_add(size)).contains(&at);
            let (number, start) = self.newer.iter().find(|(_, start)| holds(start))?;
            return Some((*number, usize::try_from(at - start).ok()?));
        }
        let at = byte.offset_in(&self.source)?;
        let number = u32::try_from((at / size).checked_add(1)?).ok()?;
        (!self.newer.contains_key(&number)).then_some((number, usize::try_from(at % size).ok()?))
    }

    /// The first byte of a page, in words, and as a number where it is in the database file itself.
    pub(super) fn place(&self, number: u32) -> (String, Option<u64>) {
        match self.newer.get(&number) {
            Some(at) => (format!("page {number} at byte {at} of the write-ahead log"), None),
            None => {
                let at = self.at(number).1;
                (format!("page {number} at byte {at}"), Some(at))
            }
        }
    }

    /// A page; fewer bytes, or none, where the file is cut off.
    pub(super) fn read(&self, task: &Task, number: u32) -> Result<Bytes> {
        self.head(task, number, self.size as usize)
    }

    /// The first `bytes` of a page.
    pub(super) fn head(&self, task: &Task, number: u32, bytes: usize) -> Result<Bytes> {
        if number == 0 {
            return Ok(Bytes::new());
        }
        let (source, at) = self.at(number);
        source.read_up_to(task, at, bytes)
    }
}

/// Where the newest committed state of each page lies in a log.
fn newest(task: &Task, wal: &Source, size: u32) -> Result<HashMap<u32, u64>> {
    let (head, len) = (wal.read_up_to(task, 0, LOG as usize)?, wal.len(task)?);
    let (mut committed, mut open) = (HashMap::new(), Vec::new());
    let magic = be::<u32>(&head, 0).is_some_and(|magic| magic & !1 == 0x377f_0682);
    if !magic || be::<u32>(&head, 8) != Some(size) {
        return Ok(committed);
    }
    let mut at = LOG;
    while at.saturating_add(FRAME + u64::from(size)) <= len {
        task.check()?;
        let frame = wal.read_up_to(task, at, FRAME as usize)?;
        let (Some(number), Some(commit)) = (be::<u32>(&frame, 0), be::<u32>(&frame, 4)) else { break };
        // Frames of an older run of the log have other salts.
        if frame.get(8..16) != head.get(16..24) {
            break;
        }
        open.push((number, at + FRAME));
        if commit > 0 {
            committed.extend(open.drain(..));
        }
        at += FRAME + u64::from(size);
    }
    Ok(committed)
}
