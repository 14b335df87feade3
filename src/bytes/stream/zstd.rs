//! Zstandard (RFC 8878): frames one after the other, with skippable ones between them.

use super::{Codec, Feed, Notes};
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use ::zstd::stream::raw::{Decoder, InBuffer, Operation, OutBuffer};

/// The magic number of a frame.
pub const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Whether these four bytes begin a skippable frame (LZ4 has the same ones).
pub fn is_skippable(magic: [u8; 4]) -> bool {
    matches!(magic, [0x50..=0x5f, 0x2a, 0x4d, 0x18])
}

/// Decodes all frames.
pub struct Zstd {
    decoder: Decoder<'static>,
    frames: u64,
    inside: bool,
    done: bool,
    notes: Notes,
}

impl Zstd {
    /// A decoder at the start.
    pub fn new() -> Result<Self> {
        let decoder = Decoder::new().map_err(|_| Error::limit("no memory for a Zstandard decoder"))?;
        Ok(Zstd { decoder, frames: 0, inside: false, done: false, notes: Notes::default() })
    }

    /// Goes to the next frame's first byte; false at the end.
    fn next_frame(&mut self, task: &Task, feed: &mut Feed) -> Result<bool> {
        loop {
            let start = feed.at();
            let peeked = feed.peek(task, 8)?;
            match peeked.first_chunk::<4>() {
                Some(&magic) if magic == MAGIC => {
                    self.frames += 1;
                    self.inside = true;
                    return Ok(true);
                }
                Some(&magic) if is_skippable(magic) => {
                    let Some(&[_, _, _, _, a, b, c, d]) = peeked.first_chunk::<8>() else {
                        return Err(cut().at(start));
                    };
                    skip(task, feed, u64::from(u32::from_le_bytes([a, b, c, d])))?;
                }
                _ if peeked.is_empty() => return Ok(false),
                _ if self.frames > 0 => {
                    self.notes.remarks.push(format!(
                        "bytes after byte {start} do not belong to the Zstandard stream and are ignored"
                    ));
                    return Ok(false);
                }
                _ => return Err(Error::malformed("Zstandard stream: there is no frame").at(start)),
            }
        }
    }
}

/// Goes over a skippable frame, which must be there as a whole.
pub(super) fn skip(task: &Task, feed: &mut Feed, len: u64) -> Result<()> {
    let start = feed.at();
    feed.skip(8);
    if len > 0 {
        feed.skip(len - 1);
        if feed.take::<1>(task)?.is_none() {
            return Err(Error::malformed(format!(
                "skippable frame: its {len} bytes reach beyond the end; the file may be cut off"
            ))
            .at(start));
        }
    }
    Ok(())
}

fn cut() -> Error {
    Error::malformed("Zstandard stream: it ends in the middle of a frame; the file may be cut off")
}

impl Codec for Zstd {
    fn decode(&mut self, task: &Task, feed: &mut Feed, out: &mut [u8]) -> Result<usize> {
        loop {
            if self.done || !self.inside && !self.next_frame(task, feed)? {
                self.done = true;
                return Ok(0);
            }
            let chunk = feed.chunk(task)?;
            let at_end = chunk.is_empty();
            let mut from = InBuffer::around(chunk);
            let mut to = OutBuffer::around(&mut *out);
            let hint = self.decoder.run(&mut from, &mut to);
            let (taken, made) = (from.pos(), to.pos());
            let place = feed.at();
            feed.skip(taken as u64);
            let hint = hint.map_err(|e| blame(&e.to_string(), self.frames).at(place))?;
            if hint == 0 {
                self.inside = false;
                let _ = self.decoder.reinit();
            }
            if made > 0 {
                return Ok(made);
            }
            if at_end && hint != 0 {
                return Err(cut().at(feed.at()));
            }
        }
    }

    fn notes(&self) -> Notes {
        self.notes.clone()
    }
}

/// The library's error in our words.
fn blame(error: &str, frame: u64) -> Error {
    let lower = error.to_lowercase();
    if lower.contains("too much memory") {
        return Error::limit(format!("Zstandard frame {frame}: its window is larger than 128 MiB"));
    }
    if lower.contains("dictionary") {
        return Error::unsupported(format!(
            "Zstandard frame {frame}: compressed against a dictionary that is not in the file"
        ));
    }
    Error::malformed(format!("Zstandard frame {frame}: {lower}"))
}
