//! A ZIP archive of members that are stored as they are: one file for each key.

use crate::bytes::archive::write::{Entry, directory, local};
use crate::bytes::error::Result;
use crate::data::format::{Files, Sink};
use crate::data::scan::put;

/// A ZIP archive that is being written.
pub(super) struct Zip<'a> {
    sink: &'a mut dyn Sink,
    entries: Vec<Entry>,
}

impl<'a> Zip<'a> {
    pub(super) fn new(sink: &'a mut dyn Sink) -> Self {
        Zip { sink, entries: Vec::new() }
    }

    /// Writes the directory.
    pub(super) fn finish(self) -> Result<()> {
        directory(&self.entries, false, self.sink)
    }
}

impl Files for Zip<'_> {
    fn put(&mut self, key: &str, bytes: &[u8]) -> Result<()> {
        let (at, len) = (self.sink.stream_position()?, bytes.len() as u64);
        let entry = Entry { name: key.to_owned(), at, crc: crc32fast::hash(bytes), stored: len, raw: len };
        put(self.sink, &local(&entry, false)?)?;
        put(self.sink, bytes)?;
        self.entries.push(entry);
        Ok(())
    }
}
