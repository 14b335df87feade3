//! Samples of large arrays: runs of neighbours at places that are spread evenly over every dimension, each within one
//! chunk where the array has chunks.

use super::ArrayStats;
use crate::bytes::error::Result;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::array::Plain;
use crate::data::content::{Array, ArrayFacts};
use crate::data::dtype::DType;
use crate::data::region::{Region, Span};

/// At most `count` places with about `most` elements each.
fn places(array: &dyn Array, count: u64, most: u64) -> Vec<Region> {
    let shape = array.shape();
    let chunks = array.facts().chunks.filter(|chunks| chunks.len() == shape.len());
    let chunks = chunks.unwrap_or_else(|| shape.to_vec());
    let mut list: Vec<Region> = (0..count.max(1)).map(|n| place(shape, &chunks, n, count, most)).collect();
    // A small array has fewer places than were asked for.
    list.sort_by_key(Region::start);
    list.dedup();
    list
}

/// Statistics of a sample: of the elements that can be read at `count` places, about `most` at each, also of what stored
/// values stand for; with a histogram of so many `bins`.
///
/// # Errors
/// `Cancelled`; what the array says, where nothing of the sample can be read.
pub fn sampled(
    array: &dyn Array,
    task: &Task,
    count: u64,
    most: u64,
    bins: Option<usize>,
) -> Result<ArrayStats> {
    let (mut bytes, mut unread) = (Vec::new(), None);
    let places = places(array, count, most);
    task.set_total(places.len() as u64);
    for region in &places {
        bytes.extend(super::readable_elements(array, task, region, &mut unread)?);
        task.advance(1)?;
    }
    if let Some(unread) = unread.as_ref().filter(|_| bytes.is_empty()) {
        return Err(unread.error.clone());
    }
    let elements = bytes.len() as u64 / array.dtype().size().max(1);
    let mut dtype = array.dtype().clone();
    if dtype.bits() < 8 {
        // Types under a byte come one a byte, which is not how they would lie in a file.
        let mut values = Vec::new();
        dtype.decode(&bytes, &mut values);
        (dtype, bytes) = (DType::F64, values.into_iter().flat_map(f64::to_le_bytes).collect());
    }
    let facts = ArrayFacts { scaling: array.facts().scaling, ..ArrayFacts::default() };
    let plain = Plain::new(Source::memory("sample", bytes), 0, dtype, vec![elements])?.with_facts(facts);
    Ok(ArrayStats { unread, ..super::array(&plain, task, bins)? })
}

fn place(shape: &[u64], chunks: &[u64], n: u64, count: u64, most: u64) -> Region {
    let mut left = most.max(1);
    let mut spans: Vec<Span> = Vec::with_capacity(shape.len());
    for (axis, (&len, &chunk)) in shape.iter().zip(chunks).enumerate().rev() {
        let chunk = chunk.clamp(1, len.max(1));
        let take = chunk.min(left).max(1).min(len);
        left = (left / take.max(1)).max(1);
        let part = spread(n, count, axis);
        let grid = len / chunk;
        let start = if grid > 1 {
            // Whole chunks only: the last one may be cut.
            (grid as f64 * part) as u64 * chunk
        } else {
            (len.saturating_sub(take) as f64 * part) as u64
        };
        spans.push(Span::range(start.min(len.saturating_sub(take)), take));
    }
    spans.reverse();
    Region(spans)
}

/// The n-th place along an axis, 0 to 1: evenly along the first, and along the others so that no two axes go
/// together (an additive recurrence).
#[allow(clippy::indexing_slicing, reason = "a remainder by their number is a place in the steps")]
fn spread(n: u64, count: u64, axis: usize) -> f64 {
    // The golden ratio, and its kin for three and four dimensions.
    const STEPS: [f64; 3] = [0.618_033_988_75, 0.569_840_290_998, 0.819_172_513_396];
    if axis == 0 {
        return if count > 1 { n as f64 / (count - 1) as f64 * 0.999_999 } else { 0.0 };
    }
    (0.5 + n as f64 * STEPS[(axis - 1) % STEPS.len()]).fract()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_lie_within_their_array_and_within_one_chunk() {
        for shape in [vec![7, 1000, 3], vec![5], vec![], vec![1 << 40, 2], vec![100_000, 100_000]] {
            for chunk in [1u64, 3, 1000, u64::MAX] {
                let chunks: Vec<u64> = shape.iter().map(|&len: &u64| chunk.min(len)).collect();
                for n in 0..16 {
                    let region = place(&shape, &chunks, n, 16, 500);
                    region.check(&shape).unwrap();
                    assert!(region.elements().unwrap() <= 500);
                    for ((span, chunk), len) in region.0.iter().zip(&chunks).zip(&shape) {
                        let one = span.start / chunk == (span.end() - 1) / chunk;
                        assert!(one || chunk * 2 > *len, "{span:?} {chunk} {len}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_sample_knows_what_its_values_stand_for() {
        let stored: Vec<i16> = (0..4000).map(|n| if n % 10 == 0 { -99 } else { n % 7 }).collect();
        let bytes: Vec<u8> = stored.iter().flat_map(|v| v.to_le_bytes()).collect();
        let scaling =
            crate::data::content::array::Scaling { scale: 0.5, offset: 10.0, fill: vec![-99.0], valid: None };
        let facts = ArrayFacts { scaling: Some(scaling), ..ArrayFacts::default() };
        let plain =
            Plain::new(Source::memory("a", bytes), 0, DType::I16, vec![4000]).unwrap().with_facts(facts);
        let found = sampled(&plain, &Task::new(), 4, 100, Some(8)).unwrap();
        assert_eq!((found.count, found.min.as_deref()), (400, Some("-99")));
        let scaled = found.scaled.unwrap();
        assert_eq!((scaled.missing, scaled.min, scaled.max), (40, Some(10.0), Some(13.0)));
    }

    #[test]
    fn places_are_spread_over_every_axis() {
        let starts: Vec<[u64; 2]> = (0..16)
            .map(|n| place(&[1000, 1000], &[100, 100], n, 16, 100))
            .map(|region| [region.0[0].start, region.0[1].start])
            .collect();
        assert_eq!((starts[0][0], starts[15][0]), (0, 900));
        for axis in 0..2 {
            let mut seen: Vec<u64> = starts.iter().map(|start| start[axis] / 100).collect();
            seen.sort_unstable();
            seen.dedup();
            assert!(seen.len() >= 7, "{seen:?}");
        }
        // Not along the diagonal only.
        assert!(starts.iter().filter(|start| start[0] == start[1]).count() < 6);
    }
}
