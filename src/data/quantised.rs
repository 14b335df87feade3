//! Quantised values: integers of few bits that share scales. A stored element stands for `scale × level + offset`.
//!
//! | file | what is in it |
//! |---|---|
//! | `decode`, `codebook`, `grids` | what the bits of each kind of block of ggml stand for |
//! | `encode` | values as blocks of the kinds that are made here |
//! | `codes` | where the bits of one element lie in such a block |
//! | `array` | an array of such blocks in a source |
//! | `made`, `affine` | arrays that several stored tensors stand for together, and how their values are made |

mod affine;
mod array;
mod codebook;
mod codes;
mod decode;
mod encode;
mod grids;
mod made;

pub use affine::{Affine, Along, Factor, Levels, Scales, Tabled};
pub use array::{BlockArray, turn};
pub use encode::{Encoder, encoder};
pub use made::{MadeArray, Recipe};

use crate::bytes::error::Result;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::dtype::Blocks;
use crate::data::region::Region;
use std::ops::Range;

/// What one element is made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quant {
    /// What its own bits stand for: a whole number, or a value of a small table.
    pub level: f32,
    /// The factor that it shares with its neighbours.
    pub scale: f32,
    /// What is added, for types that have that.
    pub offset: Option<f32>,
}

impl Quant {
    /// `scale × level + offset`, in float32.
    pub fn value(self) -> f32 {
        match self.offset {
            Some(offset) => self.scale * self.level + offset,
            None => self.scale * self.level,
        }
    }
}

/// The bits that are stored for one element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    /// As one number.
    pub value: u32,
    /// How many bits these are.
    pub bits: u32,
}

/// `1101`: the bits, the highest first.
impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:0width$b}", self.value, width = self.bits as usize)
    }
}

/// The stored block that an element lies in.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// Where it lies in its source, in bytes.
    pub span: Range<u64>,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// The number of its first element in C order, and how many it has.
    pub elements: Range<u64>,
}

/// Where all blocks of an array lie, one after the other.
#[derive(Clone)]
pub struct StoredBlocks {
    /// Their source.
    pub source: Source,
    /// Where in it.
    pub span: Range<u64>,
    /// Whether their numbers are big-endian.
    pub big: bool,
}

/// Access to elements as they are stored, beside their values that [`read`](crate::data::content::Array::read) gives.
pub trait Quantised: Send + Sync {
    /// The elements of `region` in C order: what they are made of.
    ///
    /// # Errors
    /// Those of reading; `Limit` for more than [`limits::READ`](crate::bytes::limits::READ) bytes.
    fn quants(&self, task: &Task, region: &Region) -> Result<Vec<Quant>>;

    /// The block that the element at `index` lies in; `None` where its parts lie in several places.
    ///
    /// # Errors
    /// Those of reading; `Malformed` for an index beyond the array.
    fn block(&self, task: &Task, index: &[u64]) -> Result<Option<Block>>;

    /// All of its blocks, one after the other, where they lie so: the source, where in it, and whether their numbers are
    /// big-endian.
    fn blocks(&self) -> Option<StoredBlocks> {
        None
    }

    /// The bits that are stored for the element at `index` alone; `None` where its level is a part of a number that it
    /// shares with others.
    ///
    /// # Errors
    /// Those of reading; `Malformed` for an index beyond the array.
    fn code(&self, _task: &Task, _index: &[u64]) -> Result<Option<Code>> {
        Ok(None)
    }
}

/// The values of whole blocks: `out` gets the bytes of little-endian float32, as far as it reaches.
pub fn decode(kind: Blocks, blocks: &[u8], out: &mut [u8]) {
    decode::blocks(kind, blocks, &mut decode::Values(out.as_chunks_mut::<4>().0));
}

/// What the elements of whole blocks are made of.
pub fn quants(kind: Blocks, blocks: &[u8]) -> Vec<Quant> {
    let mut out = Vec::new();
    decode::blocks(kind, blocks, &mut out);
    out
}

#[cfg(test)]
mod tests;
