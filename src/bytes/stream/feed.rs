//! The compressed bytes as a codec sees them: forwards, with a look ahead.

use crate::bytes::error::Result;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use bytes::Bytes;
use std::ops::Range;

/// How many compressed bytes are read at once.
const STEP: usize = 256 << 10;

/// A source read forwards.
pub struct Feed {
    source: Source,
    /// The offset of the first byte of `buffer`.
    at: u64,
    end: u64,
    buffer: Bytes,
}

impl Feed {
    /// Reads `range` of `source`, as far as it is there.
    pub fn new(source: Source, range: Range<u64>) -> Self {
        Feed { source, at: range.start, end: range.end, buffer: Bytes::new() }
    }

    /// The offset of the next byte.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// At least one byte, except at the end.
    pub fn chunk(&mut self, task: &Task) -> Result<&[u8]> {
        self.peek(task, 1)
    }

    /// At least `want` bytes (up to 256 kB), fewer only at the end.
    pub fn peek(&mut self, task: &Task, want: usize) -> Result<&[u8]> {
        if self.buffer.len() < want {
            self.buffer = self.next(task, STEP.max(want))?;
        }
        Ok(&self.buffer)
    }

    /// Up to `most` bytes from here: copied, so that going through a large file does not fill the
    /// memory with its mapped pages.
    fn next(&self, task: &Task, most: usize) -> Result<Bytes> {
        let most = most.min(usize::try_from(self.end.saturating_sub(self.at)).unwrap_or(usize::MAX));
        match self.source.known_len() {
            Some(len) if self.source.is_random_access() => {
                let there = usize::try_from(len.saturating_sub(self.at)).unwrap_or(usize::MAX);
                let mut buffer = vec![0; most.min(there)];
                self.source.read_into(task, self.at.min(len), &mut buffer)?;
                Ok(buffer.into())
            }
            _ => self.source.read_up_to(task, self.at, most),
        }
    }

    /// Goes on by `n` bytes, beyond the end if need be.
    pub fn skip(&mut self, n: u64) {
        self.at = self.at.saturating_add(n);
        let within = usize::try_from(n).unwrap_or(usize::MAX).min(self.buffer.len());
        self.buffer = self.buffer.slice(within..);
    }

    /// Goes over zero bytes; whether nothing follows them.
    pub fn only_zeros_left(&mut self, task: &Task) -> Result<bool> {
        loop {
            let chunk = self.chunk(task)?;
            if chunk.is_empty() {
                return Ok(true);
            }
            let zeros = chunk.iter().take_while(|&&b| b == 0).count();
            if zeros == 0 {
                return Ok(false);
            }
            self.skip(zeros as u64);
        }
    }
}
