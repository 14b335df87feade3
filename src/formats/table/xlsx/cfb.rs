//! The frame of an XLS workbook, a compound file ([MS-CFB]): sectors in chains that the file allocation table
//! links. calamine follows them as the file says; a chain that bites its own tail, or a length beyond the
//! file, would have it copy sectors until the memory is full. Both are looked for here first.
//!
//! Specification: <https://learn.microsoft.com/openspecs/windows_protocols/ms-cfb/>

use crate::error::{Error, Result};
use crate::source::Source;
use crate::task::Task;

/// Numbers of sectors from here on are marks (section 2.1).
const MARKS: u32 = 0xffff_fffa;
/// The end of a chain.
const END: u32 = 0xffff_fffe;
/// Marks a sector of the table itself; what is smaller in the list of these is a sector.
const LIST: u32 = 0xffff_fffc;
/// Bytes of an entry of the directory (section 2.6.1).
const ENTRY: usize = 128;

/// Bytes of a sector of the mini stream (section 2.4), in which streams lie that are shorter than `SHORT`.
const MINI: usize = 64;
const SHORT: usize = 4096;

/// The stream of the workbook, once it is sure that what calamine reads of a compound file ends; empty where
/// there is none.
///
/// # Errors
/// Where chains of sectors go in a circle or meet.
pub(super) fn workbook(task: &Task, source: &Source) -> Result<Vec<u8>> {
    let bytes = source.read(task, 0..source.len(task)?)?;
    let Some(file) = File::of(&bytes) else { return Ok(Vec::new()) };
    let table = file.table(task)?;
    let sector = |n: u32| file.at(n).len();
    let mut steps = Steps(file.sectors);
    let directory = steps.chain(&table, file.number(48), usize::MAX, sector)?;
    let mini_len = (file.number(64) as usize).saturating_mul(file.sector);
    let mini_table = steps.chain(&table, file.number(60), mini_len, sector)?;
    let mini_table: Vec<u32> = mini_table.into_iter().flat_map(|n| numbers(file.at(n))).collect();
    let mut mini_steps = Steps(mini_table.len());
    let mut mini: Vec<u8> = Vec::new();
    let mut found: [Option<Vec<u8>>; 2] = [None, None];
    let joined = |sectors: Vec<u32>, len: usize| -> Vec<u8> {
        let mut all: Vec<u8> = sectors.into_iter().flat_map(|n| file.at(n).iter().copied()).collect();
        all.truncate(len);
        all
    };
    let entries = directory.into_iter().flat_map(|n| file.at(n).chunks_exact(ENTRY));
    for (n, entry) in entries.enumerate() {
        task.check()?;
        let (first, len) = (number(entry, 116), file.length(entry));
        if n == 0 {
            mini = joined(steps.chain(&table, first, len, sector)?, len);
            continue;
        }
        let place = NAMES.iter().position(|name| is_named(entry, name));
        let place = place.and_then(|at| found.get_mut(at)).filter(|stream| stream.is_none());
        if len >= SHORT {
            let sectors = steps.chain(&table, first, len, sector)?;
            place.map(|stream| stream.insert(joined(sectors, len)));
        } else {
            let at = |n: u32| {
                let start = (n as usize).saturating_mul(MINI).min(mini.len());
                &mini[start..(start + MINI).min(mini.len())]
            };
            let sectors = mini_steps.chain(&mini_table, first, len, |n| at(n).len())?;
            place.map(|stream| {
                let mut all: Vec<u8> = sectors.into_iter().flat_map(|n| at(n).iter().copied()).collect();
                all.truncate(len);
                stream.insert(all)
            });
        }
    }
    let [new, old] = found;
    Ok(new.or(old).unwrap_or_default())
}

/// The streams of a workbook: of Excel 97 and later, else of those before.
const NAMES: [&str; 2] = ["Workbook", "Book"];

/// Whether an entry of the directory has this name, whatever the case.
fn is_named(entry: &[u8], name: &str) -> bool {
    let letters = entry.chunks_exact(2).take(32).map(|two| u16::from_le_bytes([two[0], two[1]]));
    let letters = letters.take_while(|&letter| letter != 0);
    let lower = letters.map(|letter| u8::try_from(letter).map_or(0, |letter| letter.to_ascii_lowercase()));
    lower.eq(name.bytes().map(|letter| letter.to_ascii_lowercase()))
}

/// How many sectors chains may still take: no two of them share one.
struct Steps(usize);

impl Steps {
    /// The sectors of a chain, as many as `len` bytes take.
    fn chain(
        &mut self,
        table: &[u32],
        first: u32,
        len: usize,
        size: impl Fn(u32) -> usize,
    ) -> Result<Vec<u32>> {
        let (mut sectors, mut next, mut bytes) = (Vec::new(), first, 0usize);
        while next != END && bytes < len {
            let Some(left) = self.0.checked_sub(1) else {
                let words =
                    format!("compound file: the chain of sectors from {first} meets another or itself");
                return Err(Error::malformed(words));
            };
            self.0 = left;
            bytes = bytes.saturating_add(size(next));
            sectors.push(next);
            // A number beyond the table is calamine's to refuse.
            let Some(&following) = table.get(next as usize) else { break };
            next = following;
        }
        Ok(sectors)
    }
}

fn numbers(bytes: &[u8]) -> impl Iterator<Item = u32> {
    bytes.chunks_exact(4).map(|four| number(four, 0))
}

/// A little-endian number; 0 beyond the end.
fn number(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|four| four.try_into().ok()).map_or(0, u32::from_le_bytes)
}

/// The bytes of a compound file.
struct File<'a> {
    bytes: &'a [u8],
    /// Bytes in a sector.
    sector: usize,
    /// Sectors in the file.
    sectors: usize,
}

impl<'a> File<'a> {
    /// None where calamine refuses the header.
    fn of(bytes: &'a [u8]) -> Option<Self> {
        let sector = match bytes.get(30..32)? {
            [9, 0] => 512,
            [12, 0] => 4096,
            _ => return None,
        };
        Some(File { bytes, sector, sectors: bytes.len() / sector + 1 })
    }

    fn number(&self, at: usize) -> u32 {
        number(self.bytes, at)
    }

    /// A sector; the first one is behind the header, which takes a sector itself.
    fn at(&self, sector: u32) -> &'a [u8] {
        let start = (sector as usize).saturating_add(1).saturating_mul(self.sector).min(self.bytes.len());
        let end = start.saturating_add(self.sector).min(self.bytes.len());
        self.bytes.get(start..end).unwrap_or_default()
    }

    /// The file allocation table (section 2.3), whose sectors the header and a chain from it list.
    fn table(&self, task: &Task) -> Result<Vec<u32>> {
        let mut list: Vec<u32> = numbers(self.bytes.get(76..512).unwrap_or_default()).collect();
        let (mut next, mut seen) = (self.number(68), 0);
        while next < MARKS {
            task.check()?;
            seen += 1;
            if seen > self.sectors {
                return Err(Error::malformed("compound file: the list of its allocation table has no end"));
            }
            list.extend(numbers(self.at(next)));
            // The last number of each leads to the next one.
            next = list.pop().unwrap_or(END);
        }
        list.retain(|&sector| sector < LIST);
        if list.len() > self.sectors {
            return Err(Error::malformed(format!(
                "compound file: its allocation table has {} sectors, the file {}",
                list.len(),
                self.sectors
            )));
        }
        Ok(list.into_iter().flat_map(|sector| numbers(self.at(sector))).collect())
    }

    /// The bytes that an entry of the directory says its stream has; version 3 has four bytes for them.
    fn length(&self, entry: &[u8]) -> usize {
        let high = if self.sector == 512 { 0 } else { u64::from(number(entry, 124)) << 32 };
        usize::try_from(high | u64::from(number(entry, 120))).unwrap_or(usize::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn birds() -> Vec<u8> {
        std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/xlsx/birds.xls")).unwrap()
    }

    fn checked(bytes: Vec<u8>) -> Result<()> {
        workbook(&Task::new(), &Source::memory("birds.xls", bytes)).map(drop)
    }

    #[test]
    fn chains_that_go_in_a_circle_are_named() {
        checked(birds()).unwrap();
        let start = number(&birds(), 48);
        let table = (number(&birds(), 76) as usize + 1) * 512;
        let mut bytes = birds();
        bytes[table + start as usize * 4..][..4].copy_from_slice(&start.to_le_bytes());
        let error = checked(bytes).unwrap_err().to_string();
        assert!(error.contains(&format!("sectors from {start} meets")), "{error}");
    }

    #[test]
    fn no_damage_makes_it_long() {
        // Each byte of the header, of the table and of the directory, in turns.
        let whole = birds();
        for at in (24..512).chain(512..whole.len().min(4096)) {
            let mut bytes = whole.clone();
            bytes[at] ^= 0xff;
            let _ = checked(bytes);
        }
    }
}
