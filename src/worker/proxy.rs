//! What stands in this process for what reads in a worker: each trait, method by method. Whatever is known without a read
//! was sent along, or is asked for once.

mod array;
mod content;
mod node;
mod table;

pub(super) use array::{RemoteArray, RemoteWorld};
pub(super) use content::{RemoteImage, RemoteText};
pub(super) use node::{
    Listed, RemoteFindings, RemoteListing, RemotePlaces, RemoteStatistics, RemoteVersions,
};
pub(super) use table::RemoteTable;

use super::calls::{Call, Place};
use super::link::{Handle, Link};
use super::objects::State;
use super::wire::wrong;
use crate::bytes::error::Result;
use crate::bytes::source::{ReadAt, Source};
use crate::bytes::task::Task;
use crate::data::content::Rows;
use crate::data::format::Options;
use crate::data::open::Document;
use bytes::Bytes;
use std::any::Any;
use std::sync::Arc;

/// Bytes of one read.
const READ: usize = 8 << 20;

/// Bytes that a worker makes: a decompressed stream, a member of an archive.
pub(super) struct RemoteBytes(pub(super) Arc<Handle>);

impl ReadAt for RemoteBytes {
    fn known_len(&self) -> Option<u64> {
        match self.0.state() {
            State::Length(len) => len,
            _ => None,
        }
    }

    fn len(&self, task: &Task) -> Result<u64> {
        match self.known_len() {
            Some(len) => Ok(len),
            None => self.0.call(task, &Call::SourceLen),
        }
    }

    fn read_at(&self, task: &Task, offset: u64, out: &mut [u8]) -> Result<usize> {
        let mut done = 0;
        while let Some(rest) = out.get_mut(done..).filter(|rest| !rest.is_empty()) {
            let count = rest.len().min(READ);
            let offset = offset.saturating_add(done as u64);
            let bytes: Bytes = self.0.call(task, &Call::SourceRead { offset, count })?;
            let Some(place) = rest.get_mut(..bytes.len()).filter(|_| bytes.len() <= count) else {
                return Err(wrong("more bytes than were asked for"));
            };
            place.copy_from_slice(&bytes);
            done += bytes.len();
            if bytes.len() < count {
                break;
            }
        }
        Ok(done)
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }
}

impl RemoteBytes {
    /// A byte of these, in words that the worker knows.
    pub(super) fn place(&self, link: &Arc<Link>, offset: u64) -> Place {
        match Arc::ptr_eq(link, self.0.link()) {
            true => self.0.place(offset),
            false => Place::Unknown,
        }
    }

    /// Opens them in the worker that makes them.
    ///
    /// # Errors
    /// What opening gives there; `Crashed`.
    pub(super) fn open(&self, task: &Task, source: &Source, options: &Options) -> Result<Document> {
        self.0.open_inner(task, source, options)
    }
}

/// The decoded unit of a location.
pub(super) fn decoded(handle: &Arc<Handle>, task: &Task) -> Result<Bytes> {
    handle.call(task, &Call::LocationDecoded)
}

/// How many rows or lines there are, as was last told.
fn rows(handle: &Handle) -> Rows {
    match handle.state() {
        State::Rows(rows) => rows,
        _ => Rows::AtLeast(0),
    }
}
