//! Streams: bytes that have to be decompressed from their start, made readable by ranges.
//!
//! A [`Codec`] decodes forwards from a [`Feed`]. [`Spooled`] runs it once, as far as somebody asks,
//! and keeps what came out: the first megabytes in memory, the rest in a temporary file that has no
//! name. [`indexed`] reads large gzip files without keeping them, by an index of places where
//! decoding can start.

pub mod bzip2;
pub mod deflate;
mod feed;
pub mod gzip;
pub mod indexed;
pub mod lz4;
mod raw;
pub(crate) mod spool;
mod spooled;
#[cfg(test)]
mod tests;
pub mod xz;
pub mod zstd;

pub use feed::Feed;
pub use spooled::Spooled;

use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;

/// A decompressor that goes forwards.
pub trait Codec: Send {
    /// Decodes some bytes into the beginning of `out` (which is not empty) and returns how many;
    /// 0 is the end of the stream. A call that fails with `Cancelled` may be repeated.
    ///
    /// # Errors
    /// `Malformed` with the place where decoding cannot go on. What was returned before stays good.
    fn decode(&mut self, task: &Task, feed: &mut Feed, out: &mut [u8]) -> Result<usize>;

    /// What is to be said at the end: damage that did not stop the decoding, things to remark.
    fn notes(&self) -> Notes {
        Notes::default()
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
