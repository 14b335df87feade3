//! GNU dbm: a header, a directory of buckets by the first bits of a key's hash, and buckets that say where key and value
//! of each entry lie, the value right behind the key.
//! <https://www.gnu.org.ua/software/gdbm/manual/>, `gdbmdefs.h`

use super::{Database, ENTRIES, Entry, KEY, Pieces, Place};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::numbers::ordered;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use std::collections::BTreeSet;

/// Magic numbers: whether places have 64 bits, and whether an extended header follows the first one.
const MAGICS: [(u32, bool); 5] = [
    (0x1357_9ace, false),
    (0x1357_9acd, false),
    (0x1357_9acf, true),
    (0x1357_9ad0, false),
    (0x1357_9ad1, true),
];
/// Places for free stretches in each bucket.
const FREE: usize = 6;
/// The first characters of a key that a bucket keeps.
const SMALL: usize = 4;

/// Whether a file begins as one: the byte order, and whether places have 64 bits.
fn magic(first: &[u8]) -> Option<(bool, bool)> {
    [false, true].into_iter().find_map(|big| {
        let word: u32 = ordered(big, first, 0)?;
        MAGICS.iter().find(|(magic, _)| *magic == word).map(|(_, wide)| (big, *wide))
    })
}

pub(super) fn is(first: &[u8]) -> bool {
    magic(first).is_some()
}

/// Numbers of a file.
#[derive(Clone, Copy)]
struct Numbers<'a> {
    big: bool,
    wide: bool,
    bytes: &'a [u8],
}

impl Numbers<'_> {
    fn int(self, at: usize) -> Option<u64> {
        ordered::<u32>(self.big, self.bytes, at).map(u64::from)
    }

    /// A place in the file, which is aligned to its size.
    fn place(self, at: usize) -> Option<u64> {
        if self.wide { ordered::<u64>(self.big, self.bytes, at) } else { self.int(at) }
    }
}

pub(super) fn read(task: &Task, source: &Source) -> Result<Database> {
    let len = source.len(task)?;
    let head = source.read_up_to(task, 0, 64)?;
    let wrong = |what: &str| Error::malformed(format!("gdbm: {what}"));
    let (big, wide) = magic(&head).ok_or_else(|| wrong("it does not begin with its magic number").at(0))?;
    fn numbers(bytes: &[u8], big: bool, wide: bool) -> Numbers<'_> {
        Numbers { big, wide, bytes }
    }
    let width = if wide { 8 } else { 4 };
    let header = numbers(&head, big, wide);
    // magic, block size, directory, its bytes, its bits, bytes of a bucket, elements of a bucket
    let fields = || {
        let directory = header.place(8)?;
        let size = header.int(8 + width)?;
        let bucket = header.int(16 + width)?;
        let elements = header.int(20 + width)?;
        Some((directory, size, bucket, elements))
    };
    let (directory, size, bucket, elements) = fields().ok_or_else(|| wrong("its header is cut off").at(8))?;
    // Counts, then free stretches of a size and a place each, bits, count, and the elements.
    let free = 2 * width * FREE + width;
    let start = free + 8;
    let element = 4 + SMALL + width + 8;
    let enough = (start as u64).checked_add(elements.saturating_mul(element as u64));
    if bucket == 0 || enough.is_none_or(|enough| enough > bucket) || bucket > limits::CHUNK {
        return Err(wrong("a bucket is too small for its elements").at(24));
    }
    let size = limits::check(size.min(len), limits::HEADER, "the directory")? as u64;
    let listed = source.read_up_to(task, directory, size as usize)?;
    let mut problem = (listed.len() as u64 != size).then(|| wrong("its directory is cut off").at(directory));
    let places = (0..listed.len() / width).filter_map(|n| numbers(&listed, big, wide).place(n * width));
    // Several hashes share a bucket until it is split.
    let places: BTreeSet<u64> = places.collect();
    let mut entries = Vec::new();
    for place in places {
        task.check()?;
        let bytes = source.read_up_to(task, place, bucket as usize)?;
        if (bytes.len() as u64) < bucket {
            problem.get_or_insert(wrong("a bucket lies beyond the end").at(place));
            continue;
        }
        let numbers = numbers(&bytes, big, wide);
        for n in 0..elements as usize {
            let at = start + n * element;
            if numbers.int(at).is_none_or(|hash| hash == u64::from(u32::MAX)) {
                continue;
            }
            let fields = (numbers.place(at + 8), numbers.int(at + 8 + width), numbers.int(at + 12 + width));
            let (Some(data), Some(key), Some(value)) = fields else { continue };
            let end = data.checked_add(key).and_then(|end| end.checked_add(value));
            if end.is_none_or(|end| end > len) || key > KEY {
                problem.get_or_insert(wrong("an entry lies beyond the end").at(place + at as u64));
                continue;
            }
            limits::check(entries.len() as u64, ENTRIES, "the keys")?;
            let value = data + key..data + key + value;
            entries.push(Entry { key: source.read(task, data..data + key)?, value: Place::At(value) });
        }
    }
    // As they were written, as far as the places tell.
    entries.sort_by_key(|entry| match &entry.value {
        Place::At(range) => range.start,
        _ => 0,
    });
    Ok(Database { library: "GNU dbm", entries, values: Box::new(Pieces(source.clone())), problem })
}
