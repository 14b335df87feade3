//! Tables of sorted keys, as checkpoints have them: LevelDB's table format without its filters. Blocks of entries whose
//! keys leave out what they share with the key before, a block of what each block's last key is, and a footer with a mark.
//! <https://github.com/google/leveldb/blob/main/doc/table_format.md>,
//! <https://github.com/tensorflow/tensorflow/blob/master/tensorflow/core/lib/io/format.cc>

use crate::bytes::codec::checksum::crc32c;
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::numbers::{le, leb128};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use bytes::Bytes;

/// The mark at the end.
pub const MARK: &[u8] = b"\x57\xfb\x80\x8b\x24\x75\x47\xdb";
/// Bytes of the footer: two places of blocks, padding, and the mark.
const FOOTER: u64 = 48;
/// Bytes behind a block: the way that it is compressed, and its checksum.
const TRAILER: u64 = 5;
/// The longest key.
const KEY: usize = 1 << 20;
/// The most blocks of a table.
const BLOCKS: usize = 1 << 20;

/// Where a block lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Handle {
    at: u64,
    len: u64,
}

/// An entry.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The key.
    pub key: Vec<u8>,
    /// The value.
    pub value: Bytes,
    /// Where the value lies in the file, of a block that is not compressed.
    pub at: Option<u64>,
}

/// A table.
pub struct Table {
    source: Source,
    /// A key that is no less than the last one of each block, and where the block lies.
    index: Vec<(Vec<u8>, Handle)>,
    /// What is wrong with its index.
    pub problem: Option<Error>,
}

/// A checksum as it is stored: rotated, with something added.
pub fn masked(bytes: &[u8]) -> u32 {
    crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8)
}

/// Takes a number from the beginning of bytes.
pub fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let (value, taken) = leb128(bytes)?;
    *bytes = bytes.get(taken..)?;
    Some(value)
}

impl Handle {
    fn take(bytes: &mut &[u8]) -> Option<Handle> {
        Some(Handle { at: varint(bytes)?, len: varint(bytes)? })
    }
}

impl Table {
    /// Reads footer and index.
    ///
    /// # Errors
    /// `Malformed` where there are none; `Cancelled`; failures to read.
    pub fn open(task: &Task, source: &Source) -> Result<Table> {
        let len = source.len(task)?;
        let start = len.checked_sub(FOOTER).ok_or_else(|| Error::malformed("a table without a footer"))?;
        let footer = source.read(task, start..len)?;
        if !footer.ends_with(MARK) {
            return Err(Error::malformed("a table without its mark at the end; it may be cut off").at(start));
        }
        let mut rest = footer.get(..).unwrap_or_default();
        let handles = Handle::take(&mut rest).zip(Handle::take(&mut rest));
        let (_, index) = handles.ok_or_else(|| Error::malformed("the footer of a table").at(start))?;
        let mut table = Table { source: source.clone(), index: Vec::new(), problem: None };
        let mut handles = Vec::new();
        let read = table.block(task, index).and_then(|block| {
            block.each(task, |entry| {
                if handles.len() >= BLOCKS {
                    return Err(Error::limit(format!("a table of more than {BLOCKS} blocks")));
                }
                let mut value = entry.value.get(..).unwrap_or_default();
                let handle = Handle::take(&mut value);
                handles.push((entry.key, handle.ok_or_else(|| Error::malformed("the index of a table"))?));
                Ok(())
            })
        });
        if let Err(error) = read.unless_cancelled()? {
            if handles.is_empty() {
                return Err(error.of("index"));
            }
            table.problem = Some(error.of("index"));
        }
        table.index = handles;
        Ok(table)
    }

    /// How many blocks there are.
    pub fn blocks(&self) -> usize {
        self.index.len()
    }

    /// The entries of a block, one after the other; those before an error are given, and those of a block that does not
    /// have its checksum before that is said.
    ///
    /// # Errors
    /// What is wrong with the block; those of `each`.
    pub fn each(&self, task: &Task, n: usize, each: impl FnMut(Entry) -> Result<()>) -> Result<()> {
        let Some((_, handle)) = self.index.get(n) else { return Ok(()) };
        self.block(task, *handle)?.each(task, each)
    }

    /// The entry of a key.
    ///
    /// # Errors
    /// What is wrong with the block that would have it.
    pub fn find(&self, task: &Task, key: &[u8]) -> Result<Option<Entry>> {
        let n = self.index.partition_point(|(last, _)| last.as_slice() < key);
        let Some((_, handle)) = self.index.get(n) else { return Ok(None) };
        let mut found = None;
        self.block(task, *handle)?.each(task, |entry| {
            if entry.key == key {
                found = Some(entry);
            }
            Ok(())
        })?;
        Ok(found)
    }

    fn block(&self, task: &Task, handle: Handle) -> Result<Block> {
        let Handle { at, len } = handle;
        limits::check(len, limits::CHUNK, "a block of a table")?;
        let end = at.checked_add(len).and_then(|end| end.checked_add(TRAILER));
        let end = end.ok_or_else(|| Error::malformed("a block beyond 64 bits").at(at))?;
        let bytes = self.source.read(task, at..end)?;
        let (covered, sum) = bytes.split_at(len as usize + 1);
        let is_right = le::<u32>(sum, 0) == Some(masked(covered));
        match covered.last() {
            Some(0) => {
                Ok(Block { bytes: bytes.slice(..len as usize), place: at, is_packed: false, is_right })
            }
            Some(1) => {
                let packed = bytes.get(..len as usize).unwrap_or_default();
                let wrong = |error| Error::malformed(format!("a block of a table: {error}")).at(at);
                let whole = snap::raw::decompress_len(packed).map_err(wrong)?;
                limits::check(
                    whole as u64,
                    (len.saturating_mul(64)).min(limits::CHUNK),
                    "a block of a table",
                )?;
                let whole = snap::raw::Decoder::new().decompress_vec(packed).map_err(wrong)?;
                Ok(Block { bytes: whole.into(), place: at, is_packed: true, is_right })
            }
            other => {
                let way = other.copied().unwrap_or_default();
                Err(Error::unsupported(format!("a block of a table that is compressed in the way {way}"))
                    .at(at))
            }
        }
    }
}

/// A block.
struct Block {
    bytes: Bytes,
    /// Where it lies in the file.
    place: u64,
    /// Whether it is compressed there.
    is_packed: bool,
    /// Whether it has its checksum.
    is_right: bool,
}

impl Block {
    /// Its entries: what each key shares with the one before, what it adds, and the value. The restarts behind them,
    /// where keys are whole, are of no use to who reads all of it.
    fn each(&self, task: &Task, mut each: impl FnMut(Entry) -> Result<()>) -> Result<()> {
        let place = |at: usize, error: Error| match (self.is_right, self.is_packed) {
            (false, _) => self.wrong(),
            (true, false) => error.at(self.place + at as u64),
            (true, true) => error.at(self.place),
        };
        let len = self.bytes.len();
        let restarts = len.checked_sub(4).and_then(|at| Some((at, le::<u32>(&self.bytes, at)? as usize)));
        let end = restarts.and_then(|(at, count)| at.checked_sub(count.checked_mul(4)?));
        let end = end.ok_or_else(|| place(0, Error::malformed("a block of a table has no restarts")))?;
        let all = self.bytes.get(..end).unwrap_or_default();
        let (mut rest, mut key, mut n) = (all, Vec::new(), 0u32);
        while !rest.is_empty() {
            n = n.wrapping_add(1);
            if n.is_multiple_of(1024) {
                task.check()?;
            }
            let at = end - rest.len();
            let wrong = || place(at, Error::malformed("an entry of a table"));
            let head = varint(&mut rest).zip(varint(&mut rest)).zip(varint(&mut rest));
            let ((shared, own), value) = head.ok_or_else(wrong)?;
            let shared =
                usize::try_from(shared).ok().filter(|shared| *shared <= key.len()).ok_or_else(wrong)?;
            let own = usize::try_from(own)
                .ok()
                .filter(|own| shared.saturating_add(*own) <= KEY)
                .ok_or_else(wrong)?;
            let (own, after) = rest.split_at_checked(own).ok_or_else(wrong)?;
            key.truncate(shared);
            key.extend_from_slice(own);
            let value =
                usize::try_from(value).ok().filter(|value| *value <= after.len()).ok_or_else(wrong)?;
            let start = end - after.len();
            rest = after.get(value..).unwrap_or_default();
            let at = (!self.is_packed).then_some(self.place + start as u64);
            each(Entry { key: key.clone(), value: self.bytes.slice(start..start + value), at })?;
        }
        if self.is_right { Ok(()) } else { Err(self.wrong()) }
    }

    fn wrong(&self) -> Error {
        Error::malformed("a block of a table does not have its checksum").at(self.place)
    }
}
