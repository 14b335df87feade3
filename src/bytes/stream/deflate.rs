//! Deflate in a zlib wrapper (RFC 1951, RFC 1950).

use super::{Codec, Feed};
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use flate2::{Decompress, FlushDecompress, Status};

/// One run of deflate: bytes out, or the end.
pub(super) enum Run {
    /// So many bytes.
    Bytes(usize),
    /// So many bytes, and the stream is over.
    Last(usize),
}

/// Inflates some bytes; errors name `what` and the place.
pub(super) fn run(
    inflate: &mut Decompress,
    task: &Task,
    feed: &mut Feed,
    out: &mut [u8],
    what: &str,
) -> Result<Run> {
    loop {
        let (eof, (taken, made, status)) = {
            let chunk = feed.chunk(task)?;
            let (before_in, before_out) = (inflate.total_in(), inflate.total_out());
            let status = inflate.decompress(chunk, out, FlushDecompress::None);
            let taken = inflate.total_in() - before_in;
            (chunk.is_empty(), (taken, (inflate.total_out() - before_out) as usize, status))
        };
        feed.skip(taken);
        match status {
            Ok(Status::StreamEnd) => return Ok(Run::Last(made)),
            Ok(_) if made > 0 => return Ok(Run::Bytes(made)),
            Ok(_) if eof => {
                return Err(Error::malformed(format!(
                    "{what}: it ends in the middle of its data; the file may be cut off"
                ))
                .at(feed.at()));
            }
            Ok(_) if taken > 0 => {}
            Ok(_) => {
                return Err(Error::malformed(format!("{what}: the deflate data stops short")).at(feed.at()));
            }
            Err(error) if error.needs_dictionary().is_some() => {
                return Err(Error::unsupported(format!(
                    "{what}: compressed against a dictionary that is not in the file"
                ))
                .at(feed.at()));
            }
            Err(error) => {
                let why = error.message().unwrap_or("not valid deflate");
                return Err(Error::malformed(format!("{what}: {why}")).at(feed.at()));
            }
        }
    }
}

/// A zlib stream; its Adler-32 is checked at the end.
pub struct Zlib {
    inflate: Decompress,
    done: bool,
    notes: super::Notes,
}

impl Zlib {
    /// A decoder at the start.
    pub fn new() -> Self {
        Zlib { inflate: Decompress::new(true), done: false, notes: super::Notes::default() }
    }
}

impl Default for Zlib {
    fn default() -> Self {
        Self::new()
    }
}

impl Codec for Zlib {
    fn decode(&mut self, task: &Task, feed: &mut Feed, out: &mut [u8]) -> Result<usize> {
        if self.done {
            return Ok(0);
        }
        match run(&mut self.inflate, task, feed, out, "zlib stream")? {
            Run::Bytes(n) => Ok(n),
            Run::Last(n) => {
                self.done = true;
                let end = feed.at();
                if !feed.only_zeros_left(task)? {
                    self.notes
                        .remarks
                        .push(format!("bytes after byte {end} do not belong to the zlib stream"));
                }
                Ok(n)
            }
        }
    }

    fn notes(&self) -> super::Notes {
        self.notes.clone()
    }
}
