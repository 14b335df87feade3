//! A `std::io` view of a source, for parsers that want `Read + Seek`.

use super::Source;
use crate::bytes::error::Error;
use crate::bytes::task::Task;
use std::io::{self, BufRead, Read, Seek, SeekFrom};

const STEP: usize = 256 << 10;

/// Buffered reading from a source; stops with an error when its task is cancelled.
pub struct Reader {
    source: Source,
    task: Task,
    position: u64,
    buffer: bytes::Bytes,
}

impl Reader {
    pub(super) fn new(source: Source, task: Task) -> Self {
        Reader { source, task, position: 0, buffer: bytes::Bytes::new() }
    }

    /// The offset of the next byte.
    pub fn position(&self) -> u64 {
        self.position
    }
}

impl BufRead for Reader {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.buffer.is_empty() {
            self.buffer = self.source.read_up_to(&self.task, self.position, STEP)?;
        }
        Ok(&self.buffer)
    }

    fn consume(&mut self, amount: usize) {
        let amount = amount.min(self.buffer.len());
        self.position += amount as u64;
        self.buffer = self.buffer.slice(amount..);
    }
}

impl Read for Reader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let n = self.fill_buf()?.read(out)?;
        self.consume(n);
        Ok(n)
    }
}

impl Seek for Reader {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let target = match to {
            SeekFrom::Start(offset) => Some(offset),
            SeekFrom::Current(delta) => self.position.checked_add_signed(delta),
            SeekFrom::End(delta) => self.source.len(&self.task)?.checked_add_signed(delta),
        }
        .ok_or_else(|| Error::malformed("offset: it leads before the file's start"))?;
        // Small steps forward stay in the buffer: parsers skip fields one by one.
        match target.checked_sub(self.position) {
            Some(step) if step <= self.buffer.len() as u64 => {
                self.buffer = self.buffer.slice(step as usize..)
            }
            _ => self.buffer = bytes::Bytes::new(),
        }
        self.position = target;
        Ok(target)
    }
}
