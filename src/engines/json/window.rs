//! A moving window over the text: bytes to parse, refilled in front.

use crate::bytes::error::Result;
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::engines::delimited::index::fill;

/// Bytes that are read at first, since most containers are small; then more and more at a time.
const FIRST: usize = 2 << 10;
const USUAL: usize = 512 << 10;

/// The unread bytes from some place on.
pub(super) struct Window<'a> {
    task: &'a Task,
    source: &'a Source,
    buffer: Vec<u8>,
    spare: Vec<u8>,
    /// The place of the buffer's first byte.
    base: u64,
    at: usize,
    last: bool,
    size: usize,
}

impl<'a> Window<'a> {
    pub(super) fn new(task: &'a Task, source: &'a Source, place: u64) -> Self {
        let (buffer, spare) = (Vec::new(), Vec::new());
        Window { task, source, buffer, spare, base: place, at: 0, last: false, size: FIRST }
    }

    pub(super) fn task(&self) -> &'a Task {
        self.task
    }

    /// The place of the next byte.
    pub(super) fn place(&self) -> u64 {
        self.base + self.at as u64
    }

    /// The bytes that are here.
    pub(super) fn rest(&self) -> &[u8] {
        self.buffer.get(self.at..).unwrap_or_default()
    }

    /// The next byte, if the text has not ended.
    pub(super) fn peek(&mut self) -> Result<Option<u8>> {
        if let Some(&byte) = self.buffer.get(self.at) {
            return Ok(Some(byte));
        }
        self.more()?;
        Ok(self.buffer.get(self.at).copied())
    }

    /// Goes over `n` bytes that are here.
    pub(super) fn skip(&mut self, n: usize) {
        self.at = (self.at + n).min(self.buffer.len());
    }

    /// Goes to a place.
    pub(super) fn seek(&mut self, place: u64) {
        match place.checked_sub(self.base).and_then(|n| usize::try_from(n).ok()) {
            Some(at) if at <= self.buffer.len() => self.at = at,
            _ => {
                self.buffer.clear();
                (self.base, self.at, self.last) = (place, 0, false);
            }
        }
    }

    /// Reads on behind what is here; false at the end of the text.
    pub(super) fn more(&mut self) -> Result<bool> {
        if self.last {
            return Ok(false);
        }
        self.task.check()?;
        self.buffer.drain(..self.at.min(self.buffer.len()));
        (self.base, self.at) = (self.base + self.at as u64, 0);
        // A long token doubles what is here.
        let want = self.size.max(self.buffer.len());
        limits::check((self.buffer.len() + want) as u64, limits::CHUNK, "one JSON token")?;
        let from = self.base + self.buffer.len() as u64;
        let n = fill(self.source, self.task, from, &mut self.spare, want)?;
        self.buffer.extend_from_slice(self.spare.get(..n).unwrap_or_default());
        self.last = n < want;
        self.size = (8 * self.size).min(USUAL);
        Ok(n > 0)
    }

    /// Whether no more bytes follow those that are here.
    pub(super) fn is_last(&self) -> bool {
        self.last
    }
}
