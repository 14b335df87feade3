//! The other way round: arrays cut into chunks, for formats that write them.

use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::strides;
use crate::bytes::task::Task;
use crate::data::content::{Array, array};
use crate::data::format::{OptionSpec, Options};
use crate::data::region::Region;
use rayon::prelude::*;

/// Chunks that are made together, for each thread.
const AT_ONCE: usize = 4;
/// The most bytes that the elements of those that are made together take, unless one chunk is larger.
const MEMORY: u64 = 64 << 20;
/// About how many bytes a chunk has that nobody asked for.
const CHUNK: u64 = 1 << 20;
/// Chunks of the source between these sizes are kept.
const KEPT: std::ops::RangeInclusive<u64> = (64 << 10)..=(16 << 20);

/// Cuts an array into chunks: `make` is called on all cores with the coordinates of a few chunks at a time, `put` with
/// what it made of them, in C order, while the next ones are made. The task's progress counts the bytes of elements.
///
/// # Errors
/// Those of both, and a cancellation.
pub fn each_chunk<T: Send>(
    task: &Task,
    array: &dyn Array,
    chunk: &[u64],
    make: impl Fn(&[u64]) -> Result<T> + Sync,
    mut put: impl FnMut(&[u64], T) -> Result<()> + Send,
) -> Result<()> {
    let (grid, size) = (strides::counts(array.shape(), chunk), array.dtype().size());
    let total = limits::elements(&grid)?;
    let most = MEMORY / limits::bytes(chunk, size)?.max(1);
    let step = most.clamp(1, (rayon::current_num_threads() * AT_ONCE) as u64);
    let one = |n: u64| {
        task.check()?;
        let index = strides::unravel(n, &grid);
        make(&index).map(|made| (index, made))
    };
    let some = |first: u64| -> Result<Vec<(Vec<u64>, T)>> {
        (first..first.saturating_add(step).min(total)).into_par_iter().map(one).collect()
    };
    let mut first = 0;
    let mut current = some(first)?;
    while !current.is_empty() {
        first = first.saturating_add(step);
        let take = || {
            current.into_iter().try_for_each(|(index, made)| {
                put(&index, made)?;
                let there = Region::of_part(&index, chunk, array.shape());
                task.advance(limits::bytes(&there.shape(), size)?)
            })
        };
        let (taken, next) = rayon::join(take, || some(first));
        taken?;
        current = next?;
    }
    Ok(())
}

/// The elements of one chunk, whole also at the array's edge: zeros beyond it.
///
/// # Errors
/// Those of reading; `Limit` for a chunk that is too large.
pub fn elements(task: &Task, array: &dyn Array, chunk: &[u64], index: &[u64]) -> Result<Vec<u8>> {
    let region = Region::of_part(index, chunk, array.shape());
    let part = array::read(array, task, &region)?;
    let shape = region.shape();
    if shape == chunk {
        return Ok(part);
    }
    let size = array.dtype().size();
    let mut whole = limits::buffer(limits::bytes(chunk, size)?, "a chunk")?;
    strides::paste(&part, &shape, &mut whole, chunk, &vec![0; chunk.len()], size as usize);
    Ok(whole)
}

/// The sides that an option of a writer names, `100,100`; `None` for its words: auto, none.
///
/// # Errors
/// `Unsupported` for another text.
pub fn sides(option: &str, text: &str) -> Result<Option<Vec<u64>>> {
    if matches!(text, "auto" | "none" | "") {
        return Ok(None);
    }
    let side = |part: &str| part.trim().parse::<u64>().ok().filter(|&side| side > 0);
    let sides: Option<Vec<u64>> = text.split([',', '×', 'x']).map(side).collect();
    let wrong =
        || Error::unsupported(format!("{option}={text}: it is a list of lengths (100,100), or auto or none"));
    sides.map(Some).ok_or_else(wrong)
}

/// The chunk of an array with elements of `size` bytes: as the option `spec` says it for arrays of as many dimensions,
/// no larger than the array; else [`chosen`].
///
/// # Errors
/// `Unsupported` where the option is no list of lengths, `Limit` for a chunk that is too large.
pub fn chunk_of(array: &dyn Array, size: u64, spec: &OptionSpec, options: &Options) -> Result<Vec<u64>> {
    let shape = array.shape();
    let chunk: Vec<u64> = match sides(spec.name, options.get(spec.name).unwrap_or(spec.default))? {
        Some(sides) if sides.len() == shape.len() => {
            sides.iter().zip(shape).map(|(side, len)| *side.min(&(*len).max(1))).collect()
        }
        _ => chosen(array, size),
    };
    limits::check(limits::bytes(&chunk, size)?, limits::CHUNK, "a chunk")?;
    Ok(chunk)
}

/// The source's own chunks where they are of a fair size, several of them where they are small, so that each is read
/// once; else the array halved along its longest side until it is small enough.
pub fn chosen(array: &dyn Array, size: u64) -> Vec<u64> {
    let (shape, size) = (array.shape(), size.max(1));
    let bytes = |sides: &[u64]| limits::bytes(sides, size).unwrap_or(u64::MAX);
    let Some(chunks) = array.facts().chunks.filter(|chunks| chunks.len() == shape.len()) else {
        return halved(shape, CHUNK / size);
    };
    let chunks: Vec<u64> = chunks.iter().zip(shape).map(|(side, len)| (*side).min(*len).max(1)).collect();
    match bytes(&chunks) {
        known if KEPT.contains(&known) => chunks,
        known if known < *KEPT.start() => grown(&chunks, shape, size, CHUNK),
        _ => halved(&chunks, CHUNK / size),
    }
}

/// Chunks doubled along the sides that have most of them, up to `most` bytes.
pub fn grown(chunk: &[u64], shape: &[u64], size: u64, most: u64) -> Vec<u64> {
    let mut all = chunk.to_vec();
    loop {
        let left = |axis: usize| {
            shape.get(axis).copied().unwrap_or(0).div_ceil(all.get(axis).copied().unwrap_or(1).max(1))
        };
        let Some(axis) = (0..all.len()).filter(|&axis| left(axis) > 1).max_by_key(|&axis| left(axis)) else {
            return all;
        };
        let mut larger = all.clone();
        if let Some(side) = larger.get_mut(axis) {
            *side = side.saturating_mul(2);
        }
        if limits::bytes(&larger, size).unwrap_or(u64::MAX) > most {
            return all;
        }
        all = larger;
    }
}

/// The chunk of at most `most` elements that comes of halving the longest side of `shape` again and again.
pub fn halved(shape: &[u64], most: u64) -> Vec<u64> {
    let mut chunk: Vec<u64> = shape.iter().map(|len| (*len).max(1)).collect();
    while chunk.iter().fold(1u64, |n, side| n.saturating_mul(*side)) > most {
        let Some(longest) = chunk.iter_mut().max_by_key(|side| **side).filter(|side| **side > 1) else {
            break;
        };
        *longest = longest.div_ceil(2);
    }
    chunk
}
