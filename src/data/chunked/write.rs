//! The other way round: arrays cut into chunks, for formats that write them.

use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::strides;
use crate::bytes::task::Task;
use crate::data::content::{Array, array};
use crate::data::region::Region;
use rayon::prelude::*;

/// Chunks on their way at once, for each thread.
const AT_ONCE: usize = 4;
/// The most bytes that their elements take, unless one chunk is larger.
const MEMORY: u64 = 128 << 20;

/// Cuts an array into chunks: `make` is called on all cores with the coordinates of a few chunks at a time, `put` with
/// what it made of them, in C order. The task's progress counts the bytes of elements.
///
/// # Errors
/// Those of both, and a cancellation.
pub fn each_chunk<T: Send>(
    task: &Task,
    array: &dyn Array,
    chunk: &[u64],
    make: impl Fn(&[u64]) -> Result<T> + Sync,
    mut put: impl FnMut(&[u64], T) -> Result<()>,
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
    let mut first = 0;
    while first < total {
        let end = first.saturating_add(step).min(total);
        let batch: Vec<(Vec<u64>, T)> = (first..end).into_par_iter().map(one).collect::<Result<_>>()?;
        for (index, made) in batch {
            put(&index, made)?;
            let there = Region::of_part(&index, chunk, array.shape());
            task.advance(limits::bytes(&there.shape(), size)?)?;
        }
        first = end;
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
