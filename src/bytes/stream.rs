//! Streams: bytes that have to be decompressed from their start, made readable by ranges.
//!
//! A [`Codec`] decodes forwards from a [`Feed`]: [`Frames`], whatever the [decompressor](crate::bytes::codec::decompress),
//! or [`Chained`]. [`Spooled`] runs it once, as far as somebody asks,
//! and keeps what came out: the first megabytes in memory, the rest in a temporary file that has no
//! name. [`indexed`] reads large gzip files without keeping them, by an index of places where
//! decoding can start.

mod chained;
mod feed;
mod frames;
pub mod indexed;
pub(crate) mod spool;
mod spooled;
#[cfg(test)]
mod tests;

pub use chained::Chained;
pub use feed::Feed;
pub use frames::Frames;
pub(crate) use spool::{ask_for_files, temporary};
pub use spooled::Spooled;

use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;

/// A decompressor that goes forwards.
pub trait Codec: Send {
    /// Decodes some bytes into the beginning of `out` (which is not empty) and returns how many;
    /// 0 is the end of the stream. A call that fails with `Cancelled` may be repeated.
    ///
    /// # Errors
    /// With the place where decoding cannot go on. What was returned before stays good.
    fn decode(&mut self, task: &Task, feed: &mut Feed, out: &mut [u8]) -> Result<usize, Failure>;

    /// What is to be said at the end: damage that did not stop the decoding, things to remark.
    fn notes(&self) -> Notes {
        Notes::default()
    }
}

/// Why decoding does not go on.
#[derive(Debug)]
pub enum Failure {
    /// The compressed bytes cannot be read.
    Read(Error),
    /// They end in the middle of something.
    Cut(Error),
    /// They are wrong.
    Damaged(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Read(error)
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        let (Failure::Read(error) | Failure::Cut(error) | Failure::Damaged(error)) = failure;
        error
    }
}

/// What a codec has to say at the end of its stream.
#[derive(Clone, Debug, Default)]
pub struct Notes {
    /// The first damage.
    pub problem: Option<Error>,
    /// What is unusual.
    pub remarks: Vec<String>,
}

impl Notes {
    /// Keeps the first problem.
    pub(crate) fn blame(&mut self, problem: Error) {
        self.problem.get_or_insert(problem);
    }
}
