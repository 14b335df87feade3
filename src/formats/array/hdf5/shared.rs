//! Shared messages: those that lie not in the object header but in a committed datatype's, or in the file's
//! heap of shared messages (sections IV.A.2.p and III.G).

use super::file::File;
use super::fractal::FractalHeap;
use super::object::{Message, Object, kind};
use crate::bytes::codec::checksum;
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use bytes::Bytes;

/// The file's heaps of shared messages.
pub struct SharedMessages(Vec<Index>);

/// One of them, with the kinds of messages that it holds.
struct Index {
    kinds: u16,
    heap: FractalHeap,
}

/// The bytes of a message, from wherever they lie, with their address.
///
/// # Errors
/// `Malformed` where the place has no such message.
pub fn resolve(file: &File, task: &Task, message: &Message) -> Result<(u64, Bytes)> {
    if !message.is_shared() {
        return Ok((message.address, message.data.clone()));
    }
    let mut cursor = message.cursor(file, "shared message");
    let version = cursor.u8()?;
    let place = cursor.u8()?;
    match version {
        1 => cursor.skip(6 + file.length_size())?,
        2 => {}
        3 if place == 1 => {
            let id = cursor.bytes(8)?;
            return file.shared_messages(task)?.message(task, message.kind, id);
        }
        3 => {}
        other => return Err(super::message::unknown("shared message", other, &cursor)),
    }
    committed(file, task, message.kind, cursor.defined()?)
}

/// The message of another object header. That one must hold it itself: a chain could have no end.
fn committed(file: &File, task: &Task, kind: u16, address: u64) -> Result<(u64, Bytes)> {
    let object = Object::read(file, task, address)?;
    match object.find(kind) {
        Some(found) if !found.is_shared() => Ok((found.address, found.data.clone())),
        _ => Err(Error::malformed("HDF5 shared message: it does not lie where it should").at(address)),
    }
}

impl SharedMessages {
    /// Reads the table that the superblock extension names.
    pub(super) fn read(file: &File, task: &Task) -> Result<Self> {
        let missing = || Error::malformed("HDF5 shared message: the file has no table of them");
        let extension = file.superblock().extension.ok_or_else(missing)?;
        let object = Object::read(file, task, extension)?;
        let message = object.find(kind::SHARED_TABLE).ok_or_else(missing)?;
        let mut cursor = message.cursor(file, "shared message table");
        cursor.skip(1)?;
        let (address, count) = (cursor.defined()?, usize::from(cursor.u8()?));
        let entry = 1 + 1 + 2 + 4 + 3 * 2 + 2 * file.offset_size();
        let bytes = file.read(task, address, (4 + count * entry + 4) as u64)?;
        let mut cursor = file.cursor("shared message table", address, &bytes);
        cursor.signature(b"SMTB")?;
        if !checksum::lookup3_matches(&bytes) {
            return Err(cursor.error("its checksum is wrong; it is damaged"));
        }
        let mut indexes = Vec::new();
        for _ in 0..count {
            cursor.skip(2)?;
            let kinds = cursor.u16()?;
            cursor.skip(4 + 3 * 2)?;
            let (_index, heap) = (cursor.address()?, cursor.address()?);
            if let Some(heap) = heap {
                indexes.push(Index { kinds, heap: FractalHeap::read(file, task, heap)? });
            }
        }
        Ok(SharedMessages(indexes))
    }

    /// The message of a kind with this id.
    pub(super) fn message(&self, task: &Task, kind: u16, id: &[u8]) -> Result<(u64, Bytes)> {
        let holds = |index: &&Index| kind < 16 && index.kinds >> kind & 1 == 1;
        let index = self.0.iter().find(holds);
        let missing = || Error::malformed(format!("HDF5 shared message: none of kind {kind} are shared"));
        index.ok_or_else(missing)?.heap.object(task, id)
    }
}
