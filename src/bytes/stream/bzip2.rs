//! bzip2: streams one after the other (no specification; the decoder is libbzip2's algorithm).

use super::{Codec, Feed, Notes};
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use ::bzip2::{Decompress, Status};

/// Decodes all streams.
pub struct Bzip2 {
    decoder: Option<Decompress>,
    streams: u64,
    done: bool,
    notes: Notes,
}

impl Bzip2 {
    /// A decoder at the start.
    pub fn new() -> Self {
        Bzip2 { decoder: None, streams: 0, done: false, notes: Notes::default() }
    }

    /// Finds the next stream; false at the end.
    fn next_stream(&mut self, task: &Task, feed: &mut Feed) -> Result<bool> {
        let start = feed.at();
        let head = feed.peek(task, 4)?;
        if matches!(head, [b'B', b'Z', b'h', b'1'..=b'9', ..]) {
            self.streams += 1;
            self.decoder = Some(Decompress::new(false));
            return Ok(true);
        }
        if self.streams == 0 {
            return Err(match head {
                [b'B', b'Z', b'h', ..] => Error::malformed("bzip2 header: its block size is not 1 to 9"),
                _ => Error::malformed("bzip2 stream: there is no header"),
            }
            .at(start));
        }
        if !feed.only_zeros_left(task)? {
            self.notes
                .remarks
                .push(format!("bytes after byte {start} do not belong to the bzip2 stream and are ignored"));
        }
        Ok(false)
    }
}

impl Default for Bzip2 {
    fn default() -> Self {
        Self::new()
    }
}

impl Codec for Bzip2 {
    fn decode(&mut self, task: &Task, feed: &mut Feed, out: &mut [u8]) -> Result<usize> {
        loop {
            if self.done || self.decoder.is_none() && !self.next_stream(task, feed)? {
                self.done = true;
                return Ok(0);
            }
            let Some(decoder) = &mut self.decoder else { return Ok(0) };
            let place = feed.at();
            let chunk = feed.chunk(task)?;
            let at_end = chunk.is_empty();
            let (before_in, before_out) = (decoder.total_in(), decoder.total_out());
            let status = decoder.decompress(chunk, out);
            let taken = decoder.total_in() - before_in;
            let made = (decoder.total_out() - before_out) as usize;
            feed.skip(taken);
            let status = status.map_err(|_| {
                Error::malformed(format!("bzip2 stream {}: a block is damaged", self.streams)).at(place)
            })?;
            if status == Status::StreamEnd {
                self.decoder = None;
            }
            if made > 0 {
                return Ok(made);
            }
            if self.decoder.is_some() && (at_end || taken == 0) {
                return Err(Error::malformed(format!(
                    "bzip2 stream {}: it ends in the middle of a block; the file may be cut off",
                    self.streams
                ))
                .at(feed.at()));
            }
        }
    }

    fn notes(&self) -> Notes {
        self.notes.clone()
    }
}
