//! Compound files ([MS-CFB]), the containers of OLE: streams and storages, in sectors in chains that the file
//! allocation table links. Excel's XLS, Word's DOC and Outlook's MSG are such files.
//!
//! Some writers link chains into each other or into a circle where nobody looks: behind the bytes that a stream
//! says it has, or in streams that are not the workbook's. So only the chains that are needed are followed, each
//! for as many bytes as it needs, and a sector that comes twice in one ends it.
//!
//! Specification: <https://learn.microsoft.com/openspecs/windows_protocols/ms-cfb/>

use crate::bytes::error::{Error, Result};
use crate::bytes::numbers::le_or_zero;
use crate::bytes::task::Task;

/// What a compound file begins with.
pub const MAGIC: &[u8] = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1";
/// Numbers of sectors from here on are marks (section 2.1).
const MARKS: u32 = 0xffff_fffa;
/// The end of a chain.
const END: u32 = 0xffff_fffe;
/// No entry of the directory.
const NONE: u32 = 0xffff_ffff;
/// Bytes of an entry of the directory (section 2.6.1).
const ENTRY: usize = 128;
/// Bytes of a sector of the mini stream (section 2.4), in which streams lie that are shorter than `SHORT`.
const MINI: usize = 64;
const SHORT: usize = 4096;

/// The stream of the first of these names that is in no storage; `None` where there is none. Where its chain ends
/// before its length, it is what there is of it.
///
/// # Errors
/// Where the header or the tables are damaged.
pub fn stream(task: &Task, bytes: &[u8], names: &[&str]) -> Result<Option<Vec<u8>>> {
    let file = File::of(bytes)?;
    let table = file.table(|| task.check())?;
    let directory = file.joined(&table, file.number(48), usize::MAX);
    let entries: Vec<&[u8]> = directory.chunks_exact(ENTRY).collect();
    let Some(entry) = Tree::of(&entries).find(names) else { return Ok(None) };
    task.check()?;
    let (first, len) = (le_or_zero::<u32>(entry, 116), file.length(entry));
    if len >= SHORT {
        return Ok(Some(file.joined(&table, first, len)));
    }
    let Some(root) = entries.first() else { return Ok(None) };
    let mini = file.joined(&table, le_or_zero::<u32>(root, 116), file.length(root));
    let mini_table: Vec<u32> = numbers(&file.joined(&table, file.number(60), usize::MAX)).collect();
    let at = |n: u32| {
        let start = (n as usize).saturating_mul(MINI).min(mini.len());
        mini.get(start..start.saturating_add(MINI).min(mini.len())).unwrap_or_default()
    };
    Ok(Some(joined(&mini_table, first, len, at)))
}

/// Which of these names the streams have that are in no storage, as far as the first bytes of a file tell, and whether
/// these tell of all of them; `None` where the directory reaches beyond them, or is damaged.
pub fn listed<'n>(head: &[u8], names: &[&'n str]) -> Option<(Vec<&'n str>, bool)> {
    let file = File::of(head).ok()?;
    let table = file.table(|| Ok(())).ok()?;
    let directory = file.joined(&table, file.number(48), usize::MAX);
    let entries: Vec<&[u8]> = directory.chunks_exact(ENTRY).collect();
    let tree = Tree::of(&entries);
    Some((names.iter().copied().filter(|name| tree.find(&[name]).is_some()).collect(), tree.is_whole))
}

/// The entries of a directory that are in no storage but the root: documents with a workbook in them have its
/// stream too, in a storage of its own (section 2.6.4).
struct Tree<'a> {
    /// Those that the root leads to.
    root: Vec<&'a [u8]>,
    /// Those that no entry leads to: some writers leave links out, and others lead to where nothing is.
    lost: Vec<&'a [u8]>,
    /// Whether all links lead to an entry.
    is_whole: bool,
}

impl<'a> Tree<'a> {
    fn of(entries: &[&'a [u8]]) -> Tree<'a> {
        let mut tree = Tree { root: Vec::new(), lost: Vec::new(), is_whole: !entries.is_empty() };
        let mut seen = vec![false; entries.len()];
        if let Some(root) = seen.first_mut() {
            *root = true;
        }
        // Places of entries, and whether they are in the root. Each entry is gone to once, however links lead.
        let mut next: Vec<(u32, bool)> =
            entries.first().map(|root| (le_or_zero::<u32>(root, 76), true)).into_iter().collect();
        while let Some((place, in_root)) = next.pop() {
            if place == NONE {
                continue;
            }
            let place = place as usize;
            let first_time = seen.get_mut(place).is_some_and(|seen| !std::mem::replace(seen, true));
            let Some(&entry) = entries.get(place).filter(|_| first_time) else {
                tree.is_whole = false;
                continue;
            };
            if in_root {
                tree.root.push(entry);
            }
            next.extend([68, 72].map(|at| (le_or_zero::<u32>(entry, at), in_root)));
            // What is in a storage.
            if entry.get(66) == Some(&1) {
                next.push((le_or_zero::<u32>(entry, 76), false));
            }
        }
        let lost = entries.iter().zip(seen).filter(|(_, seen)| !seen);
        tree.lost.extend(lost.map(|(entry, _)| *entry));
        tree
    }

    /// The stream of the first of these names that is there.
    fn find(&self, names: &[&str]) -> Option<&'a [u8]> {
        // Kinds of entries: 2 is a stream, 5 the root. Some writers leave the kind out.
        let is = |entry: &&&[u8], name: &str| is_named(entry, name) && matches!(entry.get(66), Some(2 | 0));
        let named = |all: &[&'a [u8]]| {
            names.iter().find_map(|name| all.iter().find(|entry| is(entry, name)).copied())
        };
        named(&self.root).or_else(|| named(&self.lost))
    }
}

/// Whether an entry of the directory has this name, whatever the case.
fn is_named(entry: &[u8], name: &str) -> bool {
    let letters = entry.chunks_exact(2).take(32).map(|two| le_or_zero::<u16>(two, 0));
    let letters = letters.take_while(|&letter| letter != 0);
    let lower = letters.map(|letter| u8::try_from(letter).map_or(0, |letter| letter.to_ascii_lowercase()));
    lower.eq(name.bytes().map(|letter| letter.to_ascii_lowercase()))
}

/// The bytes of a chain, at most `len` of them: up to its end, to a sector that is not there or to one that was
/// in it before.
fn joined<'a>(table: &[u32], first: u32, len: usize, sector: impl Fn(u32) -> &'a [u8]) -> Vec<u8> {
    let mut seen = vec![false; table.len()];
    let (mut all, mut next): (Vec<u8>, u32) = (Vec::new(), first);
    while next < MARKS && all.len() < len {
        let bytes = sector(next);
        let first_time = seen.get_mut(next as usize).is_some_and(|seen| !std::mem::replace(seen, true));
        if bytes.is_empty() || !first_time {
            break;
        }
        all.extend_from_slice(bytes);
        next = table.get(next as usize).copied().unwrap_or(END);
    }
    all.truncate(len);
    all
}

fn numbers(bytes: &[u8]) -> impl Iterator<Item = u32> {
    bytes.chunks_exact(4).map(|four| le_or_zero::<u32>(four, 0))
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
    fn of(bytes: &'a [u8]) -> Result<Self> {
        let sector = match bytes.get(30..32) {
            Some([9, 0]) => 512,
            Some([12, 0]) => 4096,
            Some(_) => {
                return Err(Error::malformed("compound file: its sectors have no size that there is").at(30));
            }
            None => {
                return Err(Error::malformed("compound file: its header is cut off").at(bytes.len() as u64));
            }
        };
        Ok(File { bytes, sector, sectors: bytes.len() / sector + 1 })
    }

    fn number(&self, at: usize) -> u32 {
        le_or_zero::<u32>(self.bytes, at)
    }

    /// A sector; the first one is behind the header, which takes a sector itself.
    fn at(&self, sector: u32) -> &'a [u8] {
        let start = (sector as usize).saturating_add(1).saturating_mul(self.sector).min(self.bytes.len());
        let end = start.saturating_add(self.sector).min(self.bytes.len());
        self.bytes.get(start..end).unwrap_or_default()
    }

    /// The bytes of a chain of sectors.
    fn joined(&self, table: &[u32], first: u32, len: usize) -> Vec<u8> {
        joined(table, first, len, |n| self.at(n))
    }

    /// The file allocation table (section 2.3), whose sectors the header and a chain from it list.
    fn table(&self, check: impl Fn() -> Result<()>) -> Result<Vec<u32>> {
        let mut list: Vec<u32> = numbers(self.bytes.get(76..512).unwrap_or_default()).collect();
        let (mut next, mut seen) = (self.number(68), 0);
        while next < MARKS && seen < self.sectors {
            check()?;
            seen += 1;
            list.extend(numbers(self.at(next)));
            // The last number of each leads to the next one.
            next = list.pop().unwrap_or(END);
        }
        // Sectors of the table that are marks have no numbers; those that are not there keep their place.
        let whole = list.into_iter().filter(|&sector| sector < MARKS).take(self.sectors);
        let (mut table, mut known) = (Vec::new(), 0);
        for sector in whole {
            table.extend(numbers(self.at(sector)));
            known = if self.at(sector).is_empty() { known } else { table.len() };
            table.resize(table.len().next_multiple_of(self.sector / 4), END);
        }
        table.truncate(known);
        if table.is_empty() {
            return Err(Error::malformed("compound file: it has no allocation table; it may be cut off"));
        }
        Ok(table)
    }

    /// The bytes that an entry of the directory says its stream has; version 3 has four bytes for them.
    fn length(&self, entry: &[u8]) -> usize {
        let high = if self.sector == 512 { 0 } else { u64::from(le_or_zero::<u32>(entry, 124)) << 32 };
        usize::try_from(high | u64::from(le_or_zero::<u32>(entry, 120))).unwrap_or(usize::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn birds() -> Vec<u8> {
        std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/xlsx/birds.xls")).unwrap()
    }

    fn workbook(bytes: &[u8]) -> Option<Vec<u8>> {
        stream(&Task::new(), bytes, &["Workbook", "Book"]).unwrap()
    }

    /// The file with another number in the allocation table.
    fn linked(sector: u32, next: u32) -> Vec<u8> {
        let mut bytes = birds();
        let table = (le_or_zero::<u32>(&bytes, 76) as usize + 1) * 512;
        bytes[table + sector as usize * 4..][..4].copy_from_slice(&next.to_le_bytes());
        bytes
    }

    #[test]
    fn chains_that_go_in_a_circle_end() {
        let whole = workbook(&birds()).unwrap();
        let directory = le_or_zero::<u32>(&birds(), 48);
        // The directory leads to itself, and to the workbook's first sector.
        assert_eq!(workbook(&linked(directory, directory)), Some(whole.clone()));
        assert_eq!(workbook(&linked(directory, 0)), Some(whole.clone()));
        // The last sector of the workbook leads back: behind its length nobody looks.
        let file = birds();
        let table = File::of(&file).unwrap().table(|| Ok(())).unwrap();
        let sectors = whole.len().div_ceil(512);
        let last = (1..sectors).fold(0, |at: u32, _| table[at as usize]);
        assert_eq!(workbook(&linked(last, 0)), Some(whole.clone()));
        // In its midst there is only what comes before.
        assert_eq!(workbook(&linked(2, 1)).unwrap(), whole[..3 * 512]);
    }

    /// The file with other entries in its directory: `Workbook` in a storage, which stands first, and a stream of
    /// this name in the root, which has the bytes of the workbook.
    fn embedding(name: &str) -> Vec<u8> {
        let mut bytes = birds();
        let at = (le_or_zero::<u32>(&bytes, 48) as usize + 1) * 512;
        let mut put = |entry: usize, place: usize, what: &[u8]| {
            bytes[at + entry * ENTRY + place..][..what.len()].copy_from_slice(what);
        };
        let own: Vec<u8> = birds()[at + ENTRY..][..ENTRY].to_vec();
        for entry in [1, 2, 3] {
            put(entry, 0, &own);
            put(entry, 68, &[0xff; 12]);
        }
        put(0, 76, &2u32.to_le_bytes());
        // The embedded one begins elsewhere.
        put(1, 116, &3u32.to_le_bytes());
        put(2, 0, &[0; 64]);
        put(2, 0, b"M\0B\0D\0");
        put(2, 66, &[1]);
        put(2, 72, &3u32.to_le_bytes());
        put(2, 76, &1u32.to_le_bytes());
        put(3, 0, &[0; 64]);
        let name: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
        put(3, 0, &name);
        bytes
    }

    #[test]
    fn streams_in_storages_are_those_of_others() {
        let names = ["Workbook", "Book"];
        let whole = workbook(&birds()).unwrap();
        for name in names {
            assert_eq!(workbook(&embedding(name)), Some(whole.clone()), "{name}");
            assert_eq!(listed(&embedding(name), &names), Some((vec![name], true)));
        }
        let document = embedding("WordDocument");
        assert_eq!((workbook(&document), listed(&document, &names)), (None, Some((vec![], true))));
        // Where the tree is damaged any place will do.
        let mut damaged = embedding("WordDocument");
        let root = (le_or_zero::<u32>(&damaged, 48) as usize + 1) * 512;
        damaged[root + 76] = 99;
        assert!(workbook(&damaged).is_some());
        damaged[root + 76..][..4].copy_from_slice(&NONE.to_le_bytes());
        assert!(workbook(&damaged).is_some());
        // The directory is beyond what is known.
        assert_eq!(listed(&birds()[..1_024], &names), None);
    }

    proptest::proptest! {
        #[test]
        fn any_links_end(links in proptest::collection::vec(0u32..6, 13)) {
            let mut bytes = embedding("Workbook");
            let at = (le_or_zero::<u32>(&bytes, 48) as usize + 1) * 512;
            for (n, link) in links.iter().enumerate() {
                let place = at + n / 3 % 4 * ENTRY + 68 + n % 3 * 4;
                bytes[place..][..4].copy_from_slice(&link.to_le_bytes());
            }
            stream(&Task::new(), &bytes, &["Workbook"]).unwrap();
            listed(&bytes, &["Workbook"]);
        }
    }

    #[test]
    fn no_damage_makes_it_long() {
        // Each byte of the header, of the table and of the directory, in turns.
        let whole = birds();
        for at in (24..512).chain(512..whole.len().min(4096)) {
            let mut bytes = whole.clone();
            bytes[at] ^= 0xff;
            let _ = stream(&Task::new(), &bytes, &["Workbook"]);
        }
    }
}
