//! The superblock: where an HDF5 file says its sizes and where its root group is. Section II of the
//! specification: <https://support.hdfgroup.org/documentation/hdf5/latest/_f_m_t4.html>

use super::file::{Cursor, Sizes};
use crate::bytes::codec::checksum;
use crate::bytes::error::{Error, Result};
use crate::bytes::source::Source;
use crate::bytes::task::Task;

/// The eight bytes that a superblock starts with.
pub const SIGNATURE: &[u8; 8] = b"\x89HDF\r\n\x1a\n";

/// What a superblock says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Superblock {
    /// Its version, 0 to 3.
    pub version: u8,
    /// Bytes of an address.
    pub offset_size: u8,
    /// Bytes of a length.
    pub length_size: u8,
    /// Where the superblock itself stands: after a user block of so many bytes.
    pub start: u64,
    /// What addresses count from.
    pub base: u64,
    /// Where the file ended when it was closed, in bytes from its start.
    pub end: Option<u64>,
    /// The root group's object header.
    pub root: u64,
    /// The superblock extension: an object header with messages about the whole file.
    pub extension: Option<u64>,
    /// Consistency flags: bit 0 open for writing, bit 2 open for single writer, multiple readers.
    pub flags: u8,
    /// Internal and leaf fan-out of group B-trees of version 1, where the superblock has them.
    pub group_k: Option<(u16, u16)>,
    /// Fan-out of chunk B-trees of version 1 (32 where it is not said).
    pub chunk_k: u16,
    /// The checksum is wrong.
    pub damaged: bool,
}

impl Superblock {
    /// The sizes of addresses and lengths.
    pub fn sizes(&self) -> Sizes {
        Sizes { offset: self.offset_size, length: self.length_size }
    }

    /// Looks for a superblock at 0, 512, 1024, 2048 … and parses it.
    ///
    /// # Errors
    /// `Malformed` where there is none, or it is cut off or says impossible sizes.
    pub fn read(task: &Task, source: &Source, len: u64) -> Result<Self> {
        let mut at = 0u64;
        while at < len {
            task.check()?;
            if source.read_up_to(task, at, SIGNATURE.len())?[..] == SIGNATURE[..] {
                let bytes = source.read_up_to(task, at, 256)?;
                return Self::parse(at, &bytes);
            }
            at = if at == 0 { 512 } else { at.saturating_mul(2) };
        }
        Err(Error::malformed("HDF5 file: there is no superblock at byte 0, 512, 1024, …"))
    }

    fn parse(start: u64, bytes: &[u8]) -> Result<Self> {
        let mut cursor = Cursor::new("superblock", start, bytes, Sizes { offset: 8, length: 8 });
        cursor.skip(SIGNATURE.len())?;
        match cursor.u8()? {
            version @ 0..=1 => Self::parse_old(cursor, version, start),
            version @ 2..=3 => Self::parse_new(cursor, version, start, bytes),
            other => Err(super::message::unknown("superblock", other, &cursor)),
        }
    }

    /// Versions 0 and 1: with a symbol table entry for the root group.
    fn parse_old(mut cursor: Cursor<'_>, version: u8, start: u64) -> Result<Self> {
        cursor.skip(4)?;
        let sizes = sizes(&mut cursor)?;
        cursor.skip(1)?;
        let (leaf, internal) = (cursor.u16()?, cursor.u16()?);
        let flags = cursor.u32()?;
        let chunk_k = if version == 1 { cursor.u16()? } else { 32 };
        if version == 1 {
            cursor.skip(2)?;
        }
        let mut cursor = resized(cursor, sizes);
        let base = cursor.defined()?;
        let _free_space = cursor.address()?;
        let end = cursor.address()?;
        let _driver = cursor.address()?;
        let _name = cursor.address()?;
        let root = cursor.defined()?;
        Ok(Superblock {
            version,
            offset_size: sizes.offset,
            length_size: sizes.length,
            start,
            base: relocated(base, start),
            end: end.and_then(|end| end.checked_add(if base == 0 { start } else { 0 })),
            root,
            extension: None,
            flags: (flags & 0xff) as u8,
            group_k: Some((internal, leaf)),
            chunk_k,
            damaged: false,
        })
    }

    /// Versions 2 and 3: shorter, with a checksum.
    fn parse_new(mut cursor: Cursor<'_>, version: u8, start: u64, bytes: &[u8]) -> Result<Self> {
        let sizes = sizes(&mut cursor)?;
        let flags = cursor.u8()?;
        let mut cursor = resized(cursor, sizes);
        let base = cursor.defined()?;
        let extension = cursor.address()?;
        let end = cursor.address()?;
        let root = cursor.defined()?;
        let covered = bytes.get(..bytes.len() - cursor.left()).unwrap_or_default();
        let damaged = checksum::lookup3(covered, 0) != cursor.u32()?;
        Ok(Superblock {
            version,
            offset_size: sizes.offset,
            length_size: sizes.length,
            start,
            base: relocated(base, start),
            end: end.and_then(|end| end.checked_add(if base == 0 { start } else { 0 })),
            root,
            extension,
            flags,
            group_k: None,
            chunk_k: 32,
            damaged,
        })
    }
}

/// The base address of a file to which a user block was added afterwards is where its superblock stands.
fn relocated(base: u64, start: u64) -> u64 {
    if base == 0 { start } else { base }
}

fn sizes(cursor: &mut Cursor<'_>) -> Result<Sizes> {
    let (offset, length) = (cursor.u8()?, cursor.u8()?);
    let fits = |size: u8| matches!(size, 2 | 4 | 8 | 16 | 32);
    if !fits(offset) || !fits(length) {
        return Err(cursor.error(format!("addresses of {offset} and lengths of {length} bytes")));
    }
    Ok(Sizes { offset, length })
}

/// The rest of a cursor, with the sizes that are known now.
fn resized(mut cursor: Cursor<'_>, sizes: Sizes) -> Cursor<'_> {
    let place = cursor.place();
    Cursor::new("superblock", place, cursor.rest(), sizes)
}
