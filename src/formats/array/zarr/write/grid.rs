//! The shapes of chunks and shards, and which part of an array each holds.

use super::options::{CHUNKS, SHARDS};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::strides::{self, Axis};
use crate::data::chunked::write;
use crate::data::content::Array;
use crate::data::format::Options;
use crate::data::region::Region;

/// About how many bytes a shard has that nobody asked for.
const SHARD: u64 = 64 << 20;

/// The chunks of one array.
#[derive(Clone)]
pub(super) struct Grid {
    shape: Vec<u64>,
    pub(super) chunk: Vec<u64>,
    /// What one key holds: as the chunk, without shards.
    pub(super) shard: Vec<u64>,
    sharded: bool,
}

impl Grid {
    pub(super) fn new(array: &dyn Array, options: &Options, has_shards: bool) -> Result<Self> {
        let shape = array.shape().to_vec();
        // Elements without a size: a guess.
        let size = array.dtype().size().max(if array.dtype().is_variable() { 32 } else { 1 });
        let chunk = write::chunk_of(array, size, &CHUNKS, options)?;
        let wanted = options.get(SHARDS.name).unwrap_or(SHARDS.default);
        if !has_shards && !matches!(wanted, "none" | "") {
            return Err(Error::unsupported(format!(
                "shards={wanted}: version 2 of Zarr has no shards (zarr_format=3 has)"
            )));
        }
        let shard = match (wanted, write::sides(SHARDS.name, wanted)?) {
            ("auto", _) => write::grown(&chunk, &shape, size, SHARD),
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

    /// The chunks of an array that is there already.
    pub(super) fn known(shape: &[u64], chunk: Vec<u64>, shard: Vec<u64>, sharded: bool) -> Result<Self> {
        let fits = |sides: &[u64]| sides.len() == shape.len() && !sides.contains(&0);
        if !fits(&chunk) || !fits(&shard) || shard.iter().zip(&chunk).any(|(whole, part)| whole % part != 0) {
            return Err(Error::malformed(format!("chunks of {chunk:?} and shards of {shard:?}")));
        }
        limits::check(limits::elements(&shard)?, limits::CHUNK, "a shard")?;
        Ok(Grid { shape: shape.to_vec(), chunk, shard, sharded })
    }

    /// The same chunks over an array of another shape.
    pub(super) fn cover(&mut self, shape: &[u64]) {
        self.shape = shape.to_vec();
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
