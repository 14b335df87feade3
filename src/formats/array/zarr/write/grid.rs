//! The shapes of chunks and shards, and which part of an array each holds.

use super::{CHUNKS, SHARDS, part};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::data::content::Array;
use crate::data::format::Options;
use crate::data::region::Region;

/// About how many bytes a chunk has that nobody asked for.
const CHUNK: u64 = 1 << 20;
/// The same for a shard.
const SHARD: u64 = 64 << 20;
/// Chunks of the source between these sizes are kept.
const KEPT: std::ops::RangeInclusive<u64> = (64 << 10)..=(16 << 20);

/// The chunks of one array.
pub(super) struct Grid {
    shape: Vec<u64>,
    pub(super) chunk: Vec<u64>,
    /// What one key holds: as the chunk, without shards.
    pub(super) shard: Vec<u64>,
    /// How many keys there are along each dimension.
    pub(super) keys: Vec<u64>,
    sharded: bool,
}

impl Grid {
    pub(super) fn new(array: &dyn Array, options: &Options) -> Result<Self> {
        let shape = array.shape().to_vec();
        // Elements without a size: a guess.
        let size = array.dtype().size().max(if array.dtype().is_variable() { 32 } else { 1 });
        let chunk = match sides(options.get(CHUNKS.name).unwrap_or(CHUNKS.default), "chunks")? {
            Some(sides) if sides.len() == shape.len() => {
                sides.iter().zip(&shape).map(|(side, len)| *side.min(&(*len).max(1))).collect()
            }
            _ => chosen(array, &shape, size),
        };
        limits::check(limits::bytes(&chunk, size)?, limits::CHUNK, "a chunk")?;
        let wanted = options.get(SHARDS.name).unwrap_or(SHARDS.default);
        let shard = match (wanted, sides(wanted, "shards")?) {
            ("auto", _) => grown(&chunk, &shape, size),
            (_, Some(sides)) if sides.len() == shape.len() => {
                // A whole number of chunks.
                sides
                    .iter()
                    .zip(&chunk)
                    .map(|(side, chunk)| side.div_ceil(*chunk).saturating_mul(*chunk))
                    .collect()
            }
            _ => chunk.clone(),
        };
        limits::check(limits::bytes(&shard, size)?, limits::CHUNK, "a shard")?;
        let sharded = !shape.is_empty() && (wanted == "auto" || shard != chunk);
        let keys = shape.iter().zip(&shard).map(|(len, side)| len.div_ceil((*side).max(1))).collect();
        Ok(Grid { shape, chunk, shard, keys, sharded })
    }

    pub(super) fn is_sharded(&self) -> bool {
        self.sharded
    }

    /// Chunks in a shard along each dimension.
    pub(super) fn chunks_of_shard(&self) -> Vec<u64> {
        self.shard.iter().zip(&self.chunk).map(|(shard, chunk)| shard / chunk).collect()
    }

    /// The part of the array that a chunk holds.
    pub(super) fn region(&self, index: &[u64]) -> Region {
        let start: Vec<u64> =
            index.iter().zip(&self.chunk).map(|(at, side)| at.saturating_mul(*side)).collect();
        part(&start, &self.chunk, &self.shape)
    }

    /// Whether a chunk of a shard lies beyond the array.
    pub(super) fn is_outside(&self, index: &[u64]) -> bool {
        let places = index.iter().zip(&self.chunk).zip(&self.shape);
        places.into_iter().any(|((at, side), len)| at.saturating_mul(*side) >= *len)
    }

    /// Elements of the array in one key.
    pub(super) fn elements(&self, index: &[u64]) -> Result<u64> {
        let start: Vec<u64> =
            index.iter().zip(&self.shard).map(|(at, side)| at.saturating_mul(*side)).collect();
        part(&start, &self.shard, &self.shape).elements()
    }

    /// A whole chunk of the part that lies in the array; zeros beyond.
    pub(super) fn padded(&self, part: &[u8], shape: &[u64], size: u64) -> Result<Vec<u8>> {
        let mut out = limits::buffer(limits::bytes(&self.chunk, size)?, "a chunk")?;
        let row = shape.last().map_or(1, |len| *len as usize) * size as usize;
        for (from, n) in part.chunks_exact(row.max(1)).zip(0..) {
            let at = self.place(n, shape) as usize * size as usize;
            if let Some(to) = out.get_mut(at..at + row) {
                to.copy_from_slice(from);
            }
        }
        Ok(out)
    }

    /// For each element of a whole chunk, which row of the part's column it is; `None` beyond the array.
    pub(super) fn whole_rows(&self, region: &Region, rows: usize) -> Result<Vec<Option<usize>>> {
        let count = limits::check(limits::elements(&self.chunk)?, limits::CHUNK / 16, "a chunk of texts")?;
        let mut cells = vec![None; count];
        let shape = region.shape();
        let row = shape.last().map_or(1, |len| *len as usize).max(1);
        for n in 0..rows / row {
            let at = self.place(n as u64, &shape) as usize;
            for (k, cell) in cells.iter_mut().skip(at).take(row).enumerate() {
                *cell = Some(n * row + k);
            }
        }
        Ok(cells)
    }

    /// The element of a whole chunk at which the n-th row of a part begins.
    fn place(&self, n: u64, shape: &[u64]) -> u64 {
        let outer = shape.get(..shape.len().saturating_sub(1)).unwrap_or_default();
        let mut index = index(n, outer);
        index.push(0);
        index.iter().zip(&self.chunk).fold(0, |at, (i, side)| at * side + i)
    }
}

/// The coordinates of the n-th index of a grid in C order.
pub(super) fn index(n: u64, counts: &[u64]) -> Vec<u64> {
    let mut rest = n;
    let mut index: Vec<u64> = Vec::with_capacity(counts.len());
    for count in counts.iter().rev() {
        index.push(rest % (*count).max(1));
        rest /= (*count).max(1);
    }
    index.reverse();
    index
}

/// `100,100`; `None` for the words.
fn sides(text: &str, option: &str) -> Result<Option<Vec<u64>>> {
    if matches!(text, "auto" | "none" | "") {
        return Ok(None);
    }
    let side = |part: &str| part.trim().parse::<u64>().ok().filter(|&side| side > 0);
    let sides: Option<Vec<u64>> = text.split([',', '×', 'x']).map(side).collect();
    let wrong =
        || Error::unsupported(format!("{option}={text}: it is a list of lengths (100,100), or auto or none"));
    sides.map(Some).ok_or_else(wrong)
}

/// The source's own chunks where they are of a fair size, else the array halved along its longest side until
/// it is small enough.
fn chosen(array: &dyn Array, shape: &[u64], size: u64) -> Vec<u64> {
    let bytes = |sides: &[u64]| limits::bytes(sides, size).unwrap_or(u64::MAX);
    if let Some(chunks) = array.facts().chunks.filter(|chunks| chunks.len() == shape.len())
        && KEPT.contains(&bytes(&chunks))
    {
        return chunks.iter().zip(shape).map(|(side, len)| (*side).min(*len).max(1)).collect();
    }
    let mut chunk: Vec<u64> = shape.iter().map(|len| (*len).max(1)).collect();
    while bytes(&chunk) > CHUNK {
        let Some(longest) = chunk.iter_mut().max_by_key(|side| **side).filter(|side| **side > 1) else {
            break;
        };
        *longest = longest.div_ceil(2);
    }
    chunk
}

/// Chunks doubled along the sides that have most of them, up to a shard's size.
fn grown(chunk: &[u64], shape: &[u64], size: u64) -> Vec<u64> {
    let mut shard = chunk.to_vec();
    loop {
        let left = |axis: usize| {
            shape.get(axis).copied().unwrap_or(0).div_ceil(shard.get(axis).copied().unwrap_or(1))
        };
        let Some(axis) = (0..shard.len()).filter(|&axis| left(axis) > 1).max_by_key(|&axis| left(axis))
        else {
            return shard;
        };
        let mut larger = shard.clone();
        if let Some(side) = larger.get_mut(axis) {
            *side = side.saturating_mul(2);
        }
        if limits::bytes(&larger, size).unwrap_or(u64::MAX) > SHARD {
            return shard;
        }
        shard = larger;
    }
}
