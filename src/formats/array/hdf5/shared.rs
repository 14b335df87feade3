//! Shared messages: those that lie not in the object header but in a committed datatype's, or in the file's
//! heap of shared messages (sections IV.A.2.p and III.G).

use super::file::File;
use super::object::{Message, Object};
use crate::error::{Error, Result};
use crate::task::Task;
use bytes::Bytes;

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
    let kind = cursor.u8()?;
    match version {
        1 => cursor.skip(6 + file.length_size())?,
        2 => {}
        3 if kind == 1 => {
            return Err(Error::unsupported("HDF5 shared message in the file's heap").at(message.address));
        }
        3 => {}
        other => return Err(super::message::unknown("shared message", other, &cursor)),
    }
    committed(file, task, message.kind, cursor.defined()?)
}

/// The message of another object header. That one must hold it itself: a chain could have no end.
pub fn committed(file: &File, task: &Task, kind: u16, address: u64) -> Result<(u64, Bytes)> {
    let object = Object::read(file, task, address)?;
    match object.find(kind) {
        Some(found) if !found.is_shared() => Ok((found.address, found.data.clone())),
        _ => Err(Error::malformed("HDF5 shared message: it does not lie where it should").at(address)),
    }
}
