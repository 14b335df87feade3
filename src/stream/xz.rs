//! xz (the .xz file format 1.2) and its forerunner .lzma.

use super::{Codec, Feed};
use crate::error::{Error, Result};
use crate::limits;
use crate::task::Task;
use lzma_rust2::{Action, LzmaStream, Status, StreamResult, XzStream};

/// The magic number of an xz stream.
pub const MAGIC: &[u8] = b"\xfd7zXZ\0";

/// The most memory for a dictionary, in KiB.
const MEMORY: u32 = (limits::CHUNK >> 10) as u32;

/// Decodes all streams of an xz file, or an lzma file.
pub struct Xz {
    decoder: Decoder,
    done: bool,
}

enum Decoder {
    Xz(Box<XzStream>),
    Lzma(Box<LzmaStream>),
}

impl Xz {
    /// A decoder of xz at the start.
    pub fn new() -> Self {
        Xz { decoder: Decoder::Xz(Box::new(XzStream::new_mem_limit(true, MEMORY))), done: false }
    }

    /// A decoder of lzma at the start.
    pub fn lzma() -> Self {
        Xz { decoder: Decoder::Lzma(Box::new(LzmaStream::new_mem_limit(MEMORY, None))), done: false }
    }

    fn process(&mut self, chunk: &[u8], out: &mut [u8]) -> lzma_rust2::Result<StreamResult> {
        let action = if chunk.is_empty() { Action::Finish } else { Action::Run };
        match &mut self.decoder {
            Decoder::Xz(decoder) => decoder.process(chunk, out, action),
            Decoder::Lzma(decoder) => decoder.process(chunk, out, action),
        }
    }

    fn word(&self) -> &'static str {
        match self.decoder {
            Decoder::Xz(_) => "xz stream",
            Decoder::Lzma(_) => "lzma stream",
        }
    }
}

impl Default for Xz {
    fn default() -> Self {
        Self::new()
    }
}

impl Codec for Xz {
    fn decode(&mut self, task: &Task, feed: &mut Feed, out: &mut [u8]) -> Result<usize> {
        loop {
            if self.done {
                return Ok(0);
            }
            let place = feed.at();
            let chunk = feed.chunk(task)?;
            let at_end = chunk.is_empty();
            let step = self.process(chunk, out).map_err(|error| match error.kind() {
                std::io::ErrorKind::UnexpectedEof => cut(self.word()).at(place),
                std::io::ErrorKind::OutOfMemory => {
                    Error::limit(format!("{}: its dictionary is larger than 1 GiB", self.word())).at(place)
                }
                std::io::ErrorKind::Unsupported => {
                    Error::unsupported(format!("{}: {error}", self.word())).at(place)
                }
                _ => Error::malformed(format!("{}: {}", self.word(), error.to_string().to_lowercase()))
                    .at(place),
            })?;
            feed.skip(step.bytes_consumed as u64);
            self.done = step.status == Status::StreamEnd;
            if step.bytes_produced > 0 {
                return Ok(step.bytes_produced);
            }
            if !self.done && step.bytes_consumed == 0 {
                let stuck = Error::malformed(format!("{}: its data stops short", self.word()));
                return Err(if at_end { cut(self.word()) } else { stuck }.at(place));
            }
        }
    }
}

fn cut(word: &str) -> Error {
    Error::malformed(format!("{word}: it ends in the middle of its data; the file may be cut off"))
}
