//! `zarrs.vlen`: elements without a size as Arrow has them, offsets and values, each with codecs of its own. The length of
//! the encoded offsets, eight bytes, lies at the same end of the chunk as they do.
//! <https://codec.zarrs.dev/array_to_bytes/vlen>

use super::codec::{At, Codec};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::numbers::le;
use arrow::array::{ArrayRef, BinaryArray, StringArray};
use arrow::buffer::{OffsetBuffer, ScalarBuffer};
use bytes::Bytes;
use std::sync::Arc;

/// How both parts of a chunk are stored.
#[derive(Debug)]
pub(super) struct Offsets {
    /// The codecs of the offsets, and of the values, in the order of decoding.
    pub(super) offsets: Vec<Codec>,
    pub(super) values: Vec<Codec>,
    /// Bytes of an offset: 4 or 8.
    pub(super) width: usize,
    pub(super) at: At,
    /// Whether the values are texts.
    pub(super) are_texts: bool,
}

impl Offsets {
    /// The elements of a chunk.
    ///
    /// # Errors
    /// `Malformed` for parts that are cut, offsets that do not rise or lie outside the values, and texts that are no UTF-8.
    pub(super) fn column(&self, chunk: &Bytes) -> Result<ArrayRef> {
        let wrong = |what: &str| Error::malformed(format!("zarrs.vlen: {what}"));
        let cut = || wrong("the chunk ends too early");
        let rest = chunk.len().checked_sub(8).ok_or_else(cut)?;
        let len = |at: usize| {
            let len = usize::try_from(le::<u64>(chunk, at).ok_or_else(cut)?).ok();
            len.filter(|&len| len <= rest).ok_or_else(cut)
        };
        let (offsets, values) = match self.at {
            At::Start => {
                let end = 8 + len(0)?;
                (chunk.slice(8..end), chunk.slice(end..))
            }
            At::End => {
                let start = rest - len(rest)?;
                (chunk.slice(start..rest), chunk.slice(..start))
            }
        };
        let decoded = |codecs: &[Codec], bytes: Bytes| {
            codecs.iter().try_fold(bytes, |bytes, codec| codec.decode(bytes, limits::CHUNK as usize))
        };
        let (offsets, values) = (decoded(&self.offsets, offsets)?, decoded(&self.values, values)?);
        let mut ends = Vec::with_capacity(offsets.len() / self.width);
        for at in (0..offsets.len()).step_by(self.width) {
            let end = match self.width {
                4 => le::<u32>(&offsets, at).map(u64::from),
                _ => le::<u64>(&offsets, at),
            };
            let end = end.filter(|&end| end <= values.len() as u64).and_then(|end| i32::try_from(end).ok());
            let end = end.ok_or_else(|| wrong("an offset lies outside the values"))?;
            if ends.last().is_some_and(|last| *last > end) {
                return Err(wrong("the offsets do not rise"));
            }
            ends.push(end);
        }
        if ends.is_empty() {
            return Err(wrong("there are no offsets"));
        }
        let (ends, values) = (OffsetBuffer::new(ScalarBuffer::from(ends)), values.to_vec().into());
        Ok(match self.are_texts {
            true => {
                let column = StringArray::try_new(ends, values, None);
                Arc::new(column.map_err(|e| Error::malformed(format!("zarrs.vlen: {e}")))?)
            }
            false => Arc::new(BinaryArray::try_new(ends, values, None)?),
        })
    }
}
