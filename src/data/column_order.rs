//! The elements of an array in column order, the first index fastest, as MATLAB, Fortran and NIfTI store them: blocks of
//! bounded size are read as arrays give them, in C order, and turned.
//! <https://numpy.org/doc/stable/glossary.html#term-column-major>

use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::strides::{self, Axis};
use crate::bytes::task::Task;
use crate::data::content::Array;
use crate::data::region::{Region, Span, pieces};
use rayon::prelude::*;

/// The bytes of a block, at least and at most: larger ones for larger arrays, since what is contiguous in the source is
/// cut once for each block.
const BLOCK: (u64, u64) = (32 << 20, 128 << 20);
/// The blocks that an array is cut into where that makes none larger than that.
const BLOCKS: u64 = 64;
/// Parts of a block that are worth a thread, in bytes.
const PART: usize = 256 << 10;

/// Reads an array from end to end in column order, block by block. Reports progress in bytes.
///
/// # Errors
/// Those of reading and of `each`; a cancellation.
pub fn elements_by_columns(
    task: &Task,
    array: &dyn Array,
    each: &mut (dyn FnMut(&[u8]) -> Result<()> + Send),
) -> Result<()> {
    let size = array.dtype().size();
    let total = limits::bytes(array.shape(), size)?;
    let block = (total / BLOCKS).clamp(BLOCK.0, BLOCK.1);
    let (mut rows, mut columns) = (Vec::new(), Vec::new());
    for region in blocks(array, (block / size.max(1)).max(1)) {
        task.check()?;
        let bytes = limits::bytes(&region.shape(), size)?;
        let bytes = limits::check(bytes, limits::CHUNK, "a part of the array")?;
        rows.resize(bytes, 0);
        read(task, array, &region, &mut rows)?;
        let turned = turn(&rows, &region.shape(), size as usize, &mut columns);
        each(if turned { &columns } else { &rows })?;
        task.advance(bytes as u64)?;
    }
    Ok(())
}

/// Regions of about `most` elements that follow each other in column order, cut between chunks where that is possible.
pub fn blocks(array: &dyn Array, most: u64) -> impl Iterator<Item = Region> {
    let shape: Vec<u64> = array.shape().iter().rev().copied().collect();
    let chunks = array.facts().chunks.filter(|chunks| chunks.len() == shape.len());
    let (mut inner, mut wanted) = (1u64, most);
    for (n, &len) in shape.iter().rev().enumerate() {
        let more = inner.saturating_mul(len);
        if more > most {
            let side = chunks.as_ref().and_then(|chunks| chunks.get(n)).copied().unwrap_or(1).max(1);
            let step = most / inner.max(1);
            wanted = if step > side { step / side * side * inner } else { most };
            break;
        }
        inner = more;
    }
    pieces(&shape, wanted).map(|mut region| {
        region.0.reverse();
        region
    })
}

/// Fills `out` with a region, in parts along its first dimension that are read side by side.
fn read(task: &Task, array: &dyn Array, region: &Region, out: &mut [u8]) -> Result<()> {
    let shape = region.shape();
    let Some(axis) = shape.iter().position(|&side| side > 1) else { return array.read(task, region, out) };
    let row = out.len() / shape.get(axis).map_or(1, |&side| side as usize).max(1);
    let most = (out.len() / rayon::current_num_threads().max(1)).max(PART);
    let rows = (most / row.max(1)).max(1);
    if row == 0 || rows * row >= out.len() {
        return array.read(task, region, out);
    }
    out.par_chunks_mut(rows * row).enumerate().try_for_each(|(n, part)| {
        let mut own = region.clone();
        let count = (part.len() / row) as u64;
        if let Some(span) = own.0.get_mut(axis) {
            *span = span.part(&Span::range((n * rows) as u64, count));
        }
        array.read(task, &own, part)
    })
}

/// Writes a dense block in C order to `out` in column order; false where both are the same.
fn turn(rows: &[u8], shape: &[u64], size: usize, out: &mut Vec<u8>) -> bool {
    if shape.iter().filter(|&&side| side > 1).count() < 2 || size == 0 {
        return false;
    }
    out.resize(rows.len(), 0);
    let order = strides::c_order(shape.len());
    let reversed: Vec<usize> = order.iter().rev().copied().collect();
    let from = strides::dense(shape, &order, size as u64);
    let to = strides::dense(shape, &reversed, size as u64);
    let axes: Vec<Axis> = shape
        .iter()
        .zip(from.iter().zip(&to))
        .map(|(&count, (&from, &to))| Axis { count, from, to })
        .collect();
    // The slowest one of what comes out: each part of it is a part of the output.
    let Some(slowest) = shape.iter().rposition(|&side| side > 1) else { return false };
    let Some(along) = axes.get(slowest).copied() else { return false };
    let most = (out.len() / rayon::current_num_threads().max(1)).max(PART);
    let step = (most as u64 / along.to.max(1)).max(1);
    out.par_chunks_mut((step * along.to) as usize).enumerate().for_each(|(n, part)| {
        let first = n as u64 * step;
        let mut own = axes.clone();
        if let Some(axis) = own.get_mut(slowest) {
            axis.count = step.min(along.count - first.min(along.count));
        }
        let start = (first * along.from) as usize;
        strides::copy(rows.get(start..).unwrap_or_default(), part, &strides::joined(own), size);
    });
    true
}

/// The places, in C order, of the elements of a shape in column order.
///
/// # Errors
/// `Limit` for more elements than fit into memory.
pub fn places(shape: &[u64]) -> Result<Vec<usize>> {
    let count = limits::check(limits::elements(shape)?, limits::CHUNK / 8, "the order of the elements")?;
    let reversed: Vec<u64> = shape.iter().rev().copied().collect();
    if shape.iter().filter(|&&side| side > 1).count() < 2 {
        return Ok((0..count).collect());
    }
    let place = |n: usize| {
        let mut index = strides::unravel(n as u64, &reversed);
        index.reverse();
        usize::try_from(strides::ravel(&index, shape)).map_err(|_| Error::bug("a place beyond its shape"))
    };
    (0..count).map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::source::Source;
    use crate::data::content::array::Plain;
    use crate::data::dtype::DType;
    use proptest::prelude::*;

    fn array(shape: &[u64]) -> Plain {
        let count: u64 = shape.iter().product();
        let bytes: Vec<u8> = (0..count as u32).flat_map(u32::to_le_bytes).collect();
        Plain::new(Source::memory("a", bytes), 0, DType::U32, shape.to_vec()).unwrap()
    }

    proptest! {
        #[test]
        fn blocks_cover_everything_once_in_column_order(shape in prop::collection::vec(0u64..7, 0..5), most in 1u64..50) {
            let array = array(&shape);
            let mut got = Vec::new();
            for region in blocks(&array, most) {
                let mut rows = vec![0; region.elements().unwrap() as usize * 4];
                read(&Task::new(), &array, &region, &mut rows).unwrap();
                let mut columns = Vec::new();
                let turned = turn(&rows, &region.shape(), 4, &mut columns);
                got.extend(if turned { columns } else { rows });
            }
            let wanted: Vec<u8> = places(&shape).unwrap().into_iter().flat_map(|n| (n as u32).to_le_bytes()).collect();
            prop_assert_eq!(got, wanted);
        }
    }

    #[test]
    fn a_large_array_is_turned_on_all_cores() {
        let array = array(&[700, 3, 900]);
        let mut got = Vec::new();
        let task = Task::new();
        elements_by_columns(&task, &array, &mut |bytes| {
            got.extend_from_slice(bytes);
            Ok(())
        })
        .unwrap();
        let at = |i: u32, j: u32, k: u32| (i * 3 + j) * 900 + k;
        let numbers: Vec<u32> = got.as_chunks::<4>().0.iter().map(|&b| u32::from_le_bytes(b)).collect();
        for (i, j, k) in [(0, 0, 0), (1, 0, 0), (699, 2, 899), (350, 1, 17)] {
            assert_eq!(numbers[(i + 700 * (j + 3 * k)) as usize], at(i, j, k));
        }
        assert_eq!(task.progress().0, got.len() as u64);
    }
}
