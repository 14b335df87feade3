//! `File`: the bytes of one HDF5 file with what its superblock says of them, and `Cursor`, which takes the
//! fields of its structures apart. Every address of an HDF5 file counts from the base address; all reads
//! pass through here, so that no address leads out of the file and no field out of its structure.

use super::global::GlobalHeaps;
use super::shared::SharedMessages;
use super::superblock::Superblock;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use bytes::Bytes;
use std::sync::{Arc, OnceLock};

/// One open HDF5 file. Cheap to clone.
#[derive(Clone)]
pub struct File(Arc<Inner>);

struct Inner {
    source: Source,
    superblock: Superblock,
    /// The file's length in bytes, user block included.
    len: u64,
    globals: GlobalHeaps,
    shared: OnceLock<SharedMessages>,
}

impl File {
    /// A file whose superblock was read.
    pub fn new(source: Source, superblock: Superblock, len: u64) -> Self {
        File(Arc::new(Inner {
            source,
            superblock,
            len,
            globals: GlobalHeaps::default(),
            shared: OnceLock::new(),
        }))
    }

    /// The bytes that it lies in.
    pub fn source(&self) -> &Source {
        &self.0.source
    }

    /// What its superblock says.
    pub fn superblock(&self) -> &Superblock {
        &self.0.superblock
    }

    /// Bytes of an address in this file: 2, 4, 8, 16 or 32.
    pub fn offset_size(&self) -> usize {
        usize::from(self.0.superblock.offset_size)
    }

    /// Bytes of a length in this file.
    pub fn length_size(&self) -> usize {
        usize::from(self.0.superblock.length_size)
    }

    /// The file's length in bytes, user block included.
    #[allow(clippy::len_without_is_empty)] // a file with a superblock is never empty
    pub fn len(&self) -> u64 {
        self.0.len
    }

    /// The global heaps that were read so far: where variable-length values lie.
    pub fn globals(&self) -> &GlobalHeaps {
        &self.0.globals
    }

    /// The file's heaps of shared messages; read once.
    pub fn shared_messages(&self, task: &Task) -> Result<&SharedMessages> {
        match self.0.shared.get() {
            Some(shared) => Ok(shared),
            None => {
                let shared = SharedMessages::read(self, task)?;
                Ok(self.0.shared.get_or_init(|| shared))
            }
        }
    }

    /// The place in the source that `address` stands for: for error messages and for reading.
    ///
    /// # Errors
    /// `Malformed` where it lies beyond the file.
    pub fn position(&self, address: u64) -> Result<u64> {
        let place = address.checked_add(self.0.superblock.base).filter(|place| *place <= self.0.len);
        place.ok_or_else(|| {
            Error::malformed(format!(
                "HDF5 address {address:#x}: the file ends at byte {}; it may be cut off",
                self.0.len
            ))
        })
    }

    /// The `len` bytes at `address`, all of them.
    ///
    /// # Errors
    /// `Malformed` where they reach beyond the file, `Limit` above [`limits::CHUNK`].
    pub fn read(&self, task: &Task, address: u64, len: u64) -> Result<Bytes> {
        limits::check(len, limits::CHUNK, "a structure of this HDF5 file")?;
        let at = self.position(address)?;
        self.0.source.read(task, at..at.saturating_add(len)).map_err(|e| e.at(at))
    }

    /// Up to `most` bytes at `address`: fewer where the file ends.
    pub fn read_up_to(&self, task: &Task, address: u64, most: u64) -> Result<Bytes> {
        let at = self.position(address)?;
        let len = most.min(self.0.len - at);
        self.read(task, address, len)
    }

    /// Copies the bytes at `address` into `out`, all of them: for raw data.
    pub fn read_into(&self, task: &Task, address: u64, out: &mut [u8]) -> Result<()> {
        let at = self.position(address)?;
        self.0.source.read_into(task, at, out).map_err(|e| e.at(at))
    }

    /// A cursor over `bytes`, which were read at `address`.
    pub fn cursor<'a>(&self, what: &'static str, address: u64, bytes: &'a [u8]) -> Cursor<'a> {
        let start = address.saturating_add(self.0.superblock.base);
        Cursor::new(what, start, bytes, self.0.superblock.sizes())
    }
}

impl std::fmt::Debug for File {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "File({:?}, {:?})", self.0.source, self.0.superblock)
    }
}

/// How many bytes addresses and lengths have in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Of an address.
    pub offset: u8,
    /// Of a length.
    pub length: u8,
}

/// Takes the fields of one structure apart, little-endian, front to back.
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    what: &'static str,
    /// Where `bytes` start in the source.
    start: u64,
    bytes: &'a [u8],
    at: usize,
    sizes: Sizes,
}

impl<'a> Cursor<'a> {
    /// A cursor over the bytes of `what` (for error messages), which start at byte `start` of the source.
    pub fn new(what: &'static str, start: u64, bytes: &'a [u8], sizes: Sizes) -> Self {
        Cursor { what, start, bytes, at: 0, sizes }
    }

    /// An error about this place.
    pub fn error(&self, message: impl std::fmt::Display) -> Error {
        Error::malformed(format!("HDF5 {}: {message}", self.what)).at(self.place())
    }

    /// The place in the source.
    pub fn place(&self) -> u64 {
        self.start.saturating_add(self.at as u64)
    }

    /// How many bytes were taken.
    pub fn taken(&self) -> usize {
        self.at
    }

    /// How many bytes are left.
    pub fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// How many bytes addresses and lengths have.
    pub fn sizes(&self) -> Sizes {
        self.sizes
    }

    /// The next `len` bytes.
    pub fn bytes(&mut self, len: usize) -> Result<&'a [u8]> {
        let part = self.at.checked_add(len).and_then(|end| self.bytes.get(self.at..end));
        let Some(part) = part else {
            return Err(self.error(format!("{len} bytes are needed, {} are left", self.left())));
        };
        self.at += len;
        Ok(part)
    }

    /// All bytes that are left.
    pub fn rest(&mut self) -> &'a [u8] {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        self.at = self.bytes.len();
        rest
    }

    /// Leaves out `len` bytes.
    pub fn skip(&mut self, len: usize) -> Result<()> {
        self.bytes(len).map(drop)
    }

    /// Leaves out what is missing to a multiple of `to` bytes since the start; not beyond the end.
    pub fn align(&mut self, to: usize) {
        let over = self.at % to.max(1);
        if over > 0 {
            self.at = (self.at + to - over).min(self.bytes.len());
        }
    }

    /// An unsigned number of `size` bytes, at most 8 of them significant.
    pub fn uint(&mut self, size: usize) -> Result<u64> {
        let bytes = self.bytes(size)?;
        // The usual sizes without a loop: a group of 100,000 links has a million of these numbers.
        match *bytes {
            [a] => return Ok(u64::from(a)),
            [a, b] => return Ok(u64::from(u16::from_le_bytes([a, b]))),
            [a, b, c, d] => return Ok(u64::from(u32::from_le_bytes([a, b, c, d]))),
            [a, b, c, d, e, f, g, h] => return Ok(u64::from_le_bytes([a, b, c, d, e, f, g, h])),
            _ => {}
        }
        let mut value = 0u64;
        for (n, byte) in bytes.iter().enumerate() {
            if n < 8 {
                value |= u64::from(*byte) << (8 * n);
            } else if *byte != 0 {
                return Err(self.error(format!("a number of {size} bytes is over 64 bits")));
            }
        }
        Ok(value)
    }

    /// One byte.
    pub fn u8(&mut self) -> Result<u8> {
        Ok(self.uint(1)? as u8)
    }

    /// Two bytes.
    pub fn u16(&mut self) -> Result<u16> {
        Ok(self.uint(2)? as u16)
    }

    /// Four bytes.
    pub fn u32(&mut self) -> Result<u32> {
        Ok(self.uint(4)? as u32)
    }

    /// Eight bytes.
    pub fn u64(&mut self) -> Result<u64> {
        self.uint(8)
    }

    /// An address; `None` for the undefined one (all bits set).
    pub fn address(&mut self) -> Result<Option<u64>> {
        self.unless_all_set(usize::from(self.sizes.offset))
    }

    /// A number of `size` bytes; `None` where all bits are set.
    fn unless_all_set(&mut self, size: usize) -> Result<Option<u64>> {
        let bytes = self.bytes(size)?;
        if bytes.iter().all(|byte| *byte == 0xff) {
            return Ok(None);
        }
        self.at -= size;
        self.uint(size).map(Some)
    }

    /// An address that has to be there.
    pub fn defined(&mut self) -> Result<u64> {
        self.address()?.ok_or_else(|| self.error("an address is undefined that must not be"))
    }

    /// A length; `None` where all bits are set ("unlimited", "unknown").
    pub fn length(&mut self) -> Result<Option<u64>> {
        self.unless_all_set(usize::from(self.sizes.length))
    }

    /// A length that has to be a number.
    pub fn size(&mut self) -> Result<u64> {
        self.length()?.ok_or_else(|| self.error("a length is undefined that must not be"))
    }

    /// Checks that the next bytes are the signature of the structure.
    pub fn signature(&mut self, signature: &[u8; 4]) -> Result<()> {
        let found = self.bytes(4)?;
        if found == signature {
            return Ok(());
        }
        self.at -= 4;
        let (wanted, found) = (signature.escape_ascii(), found.escape_ascii());
        Err(self.error(format!("it starts with \"{found}\" where \"{wanted}\" has to be")))
    }

    /// Bytes up to a zero byte, which is taken too; all that is left where there is none.
    pub fn until_zero(&mut self) -> &'a [u8] {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let text = rest.split(|byte| *byte == 0).next().unwrap_or_default();
        self.at += (text.len() + 1).min(rest.len());
        text
    }
}
