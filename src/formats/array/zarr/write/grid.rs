//! The shapes of chunks and shards, and which part of an array each holds.

use super::{CHUNKS, SHARDS};
use crate::bytes::error::Result;
use crate::bytes::limits;
use crate::bytes::strides::{self, Axis};
use crate::data::chunked::write;
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
    sharded: bool,
}

impl Grid {
    pub(super) fn new(array: &dyn Array, options: &Options) -> Result<Self> {
        let shape = array.shape().to_vec();
        // Elements without a size: a guess.
        let size = array.dtype().size().max(if array.dtype().is_variable() { 32 } else { 1 });
        let chunk = match write::sides(CHUNKS.name, options.get(CHUNKS.name).unwrap_or(CHUNKS.default))? {
            Some(sides) if sides.len() == shape.len() => {
                sides.iter().zip(&shape).map(|(side, len)| *side.min(&(*len).max(1))).collect()
            }
            _ => chosen(array, &shape, size),
        };
        limits::check(limits::bytes(&chunk, size)?, limits::CHUNK, "a chunk")?;
        let wanted = options.get(SHARDS.name).unwrap_or(SHARDS.default);
        let shard = match (wanted, write::sides(SHARDS.name, wanted)?) {
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
        Ok(Grid { shape, chunk, shard, sharded })
    }

    pub(super) fn is_sharded(&self) -> bool {
        self.sharded
    }

    /// How many chunks lie along each dimension of a shard.
    pub(super) fn inside(&self) -> Vec<u64> {
        strides::counts(&self.shard, &self.chunk)
    }

    /// The part of the array that a chunk holds.
    pub(super) fn region(&self, index: &[u64]) -> Region {
        Region::of_part(index, &self.chunk, &self.shape)
    }

    /// For each element of a whole chunk, which row of the part's column it is; `None` beyond the array.
    pub(super) fn whole_rows(&self, region: &Region) -> Result<Vec<Option<usize>>> {
        let count = limits::check(limits::elements(&self.chunk)?, limits::CHUNK / 16, "a chunk of texts")?;
        let (mut cells, part, order) =
            (vec![None; count], region.shape(), strides::c_order(self.chunk.len()));
        let places = strides::dense(&part, &order, 1).into_iter().zip(strides::dense(&self.chunk, &order, 1));
        let axes = part.iter().zip(places).map(|(&count, (from, to))| Axis { count, from, to });
        strides::walk(&strides::joined(axes), (0, 0), &mut |from, to| {
            if let Some(cell) = cells.get_mut(to as usize) {
                *cell = Some(from as usize);
            }
        });
        Ok(cells)
    }
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
    write::halved(shape, CHUNK / size)
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
