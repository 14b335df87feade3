//! The pieces of one pass over an array, and the checksum of all of it from pieces in any order.
//!
//! Chunked arrays are read in blocks of whole chunks, so that each chunk is decoded once; a block is
//! seldom contiguous in C order, and CRC-32 is defined over that order. But the checksum is linear: that of
//! a whole is the exclusive or of its parts' checksums, each moved on by the bytes that follow the part
//! (multiplied with a power of x, modulo the polynomial). So each run of bytes counts for itself.

use crate::bytes::strides;
use crate::data::region::{Region, pieces};

/// Bytes of a block at least, where the array has so many.
const BLOCK: u64 = 8 << 20;

/// Regions of about `piece` bytes that cover an array once: runs in C order, or blocks of whole chunks of
/// `chunk` where it is chunked.
pub(super) fn blocks(shape: &[u64], chunk: Option<&[u64]>, size: u64, piece: u64) -> Vec<Region> {
    let valid = |chunk: &&[u64]| chunk.len() == shape.len() && !chunk.is_empty() && !chunk.contains(&0);
    let Some(chunk) = chunk.filter(valid) else {
        return pieces(shape, (piece / size.max(1)).max(1)).collect();
    };
    let mut block: Vec<u64> = chunk.iter().zip(shape).map(|(side, len)| *side.min(len)).collect();
    let mut bytes = block.iter().fold(size.max(1), |product, side| product.saturating_mul(*side));
    // The last dimensions grow first: the runs get longer, and slabs of whole rows of chunks come about.
    for ((block, &side), &len) in block.iter_mut().zip(chunk).zip(shape).rev() {
        let times = (BLOCK / bytes.max(1)).clamp(1, len.div_ceil(side).max(1));
        let grown = side.saturating_mul(times).min(len);
        bytes = (bytes / (*block).max(1)).saturating_mul(grown);
        *block = grown;
        if grown < len {
            break;
        }
    }
    tiles(shape, &block)
}

/// Regions of the shape `block` that cover `shape`, in C order of their places.
fn tiles(shape: &[u64], block: &[u64]) -> Vec<Region> {
    let grid = strides::counts(shape, block);
    let count = if grid.contains(&0) { 0 } else { grid.iter().product() };
    (0..count).map(|n| Region::of_part(&strides::unravel(n, &grid), block, shape)).collect()
}

/// What the delivered bytes of `region` add to the CRC-32 of the whole array of `shape` elements of
/// `bits` bits: the exclusive or of all regions' shares is the checksum. `packed` are the region's bytes as
/// they count (elements under a byte together), and a region of those has to begin at a whole byte.
pub(super) fn crc_share(packed: &[u8], region: &Region, shape: &[u64], bits: u64) -> u32 {
    let bytes = |elements: u64| (u128::from(elements) * u128::from(bits)).div_ceil(8);
    // Trailing dimensions that are taken whole make longer runs.
    let mut run = 1u64;
    let mut outer = shape.len();
    while let Some((span, &len)) = outer.checked_sub(1).and_then(|a| Some((region.0.get(a)?, shape.get(a)?)))
    {
        outer -= 1;
        run = run.saturating_mul(span.count);
        if span.count != len {
            break;
        }
    }
    let run_bytes = usize::try_from(bytes(run)).unwrap_or(usize::MAX).max(1);
    let mut share = 0;
    let mut end = 0u128;
    let mut index = vec![0u64; outer];
    let mut last = (0u128, power(0));
    for part in packed.chunks(run_bytes) {
        let place = |flat: u128, (axis, &len): (usize, &u64)| {
            let start = region.0.get(axis).map_or(0, |span| span.start);
            flat * u128::from(len) + u128::from(start + index.get(axis).copied().unwrap_or(0))
        };
        let first = shape.iter().enumerate().fold(0u128, place);
        let to = first * u128::from(bits) / 8 + part.len() as u128;
        // Neighbouring runs mostly lie at the same distance.
        if to - end != last.0 {
            last = (to - end, power(to - end));
        }
        share = times(last.1, share) ^ crc32fast::hash(part);
        end = to;
        for (at, span) in index.iter_mut().zip(&region.0).rev() {
            *at += 1;
            if *at < span.count {
                break;
            }
            *at = 0;
        }
    }
    let total = shape.iter().fold(1u128, |product, &len| product * u128::from(len));
    times(power((total * u128::from(bits)).div_ceil(8).saturating_sub(end)), share)
}

/// The same where all elements of `region` are `element`: without a pass over their bytes.
pub(super) fn crc_share_of_same(element: &[u8], region: &Region, shape: &[u64]) -> u32 {
    let size = element.len() as u128;
    let (mut share, mut stride, mut end) = (crc32fast::hash(element), size, size);
    for (span, &len) in region.0.iter().zip(shape).rev() {
        share = repeated(share, span.count, stride);
        end += u128::from(span.end().saturating_sub(1)) * stride;
        stride *= u128::from(len);
    }
    times(power(stride.saturating_sub(end)), share)
}

/// The checksum of `count` parts whose own is `crc`, each `stride` bytes behind the one before, zeros between.
fn repeated(crc: u32, count: u64, stride: u128) -> u32 {
    let (mut sum, mut block, mut moved, mut left) = (0, crc, power(stride), count);
    while left > 0 {
        if left & 1 == 1 {
            sum = times(moved, sum) ^ block;
        }
        block ^= times(moved, block);
        moved = times(moved, moved);
        left >>= 1;
    }
    sum
}

/// The checksum of parts one after the other, of which each is given by its own.
#[derive(Default)]
pub(super) struct Joined(pub(super) u32);

impl Joined {
    /// Adds a part of `bytes` bytes with the checksum `crc`, `times` over.
    pub(super) fn add(&mut self, crc: u32, bytes: u64, times_over: u64) {
        let all = repeated(crc, times_over, u128::from(bytes));
        self.0 = times(power(u128::from(bytes) * u128::from(times_over)), self.0) ^ all;
    }
}

/// CRC-32's polynomial, bits reversed.
const POLYNOMIAL: u32 = 0xedb8_8320;

/// The product of two polynomials modulo CRC-32's; bit 31 is x⁰.
fn times(a: u32, mut b: u32) -> u32 {
    let mut product = 0;
    for bit in (0..32).rev() {
        product ^= b & 0u32.wrapping_sub(a >> bit & 1);
        b = b >> 1 ^ POLYNOMIAL & 0u32.wrapping_sub(b & 1);
    }
    product
}

/// x to the power of so many bytes.
fn power(bytes: u128) -> u32 {
    let (mut power, mut square, mut left) = (1u32 << 31, 1u32 << 23, bytes);
    while left > 0 {
        if left & 1 == 1 {
            power = times(power, square);
        }
        square = times(square, square);
        left >>= 1;
    }
    power
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn tiles_cover_everything_and_their_shares_make_the_checksum(
            dims in prop::collection::vec((1u64..7, 1u64..9), 0..4), size in 1u64..4,
        ) {
            let shape: Vec<u64> = dims.iter().map(|d| d.0).collect();
            let block: Vec<u64> = dims.iter().map(|d| d.1).collect();
            let total: u64 = shape.iter().product::<u64>() * size;
            let all: Vec<u8> = (0..total).map(|n| (n * 37 % 251) as u8).collect();
            let mut crc = 0;
            for region in tiles(&shape, &block) {
                let mut places = vec![0u64];
                for (span, len) in region.0.iter().zip(&shape) {
                    places = places.iter().flat_map(|p| (0..span.count).map(move |n| p * len + span.index(n))).collect();
                }
                let bytes: Vec<u8> = places.iter().flat_map(|p| &all[(p * size) as usize..][..size as usize]).copied().collect();
                crc ^= crc_share(&bytes, &region, &shape, size * 8);
            }
            prop_assert_eq!(crc, crc32fast::hash(&all));
        }
    }

    proptest! {
        #[test]
        fn equal_elements_need_no_pass(
            dims in prop::collection::vec((1u64..7, 0u64..7, 1u64..7), 0..4), element in prop::collection::vec(any::<u8>(), 1..4),
        ) {
            let shape: Vec<u64> = dims.iter().map(|d| d.0).collect();
            let span = |&(len, start, count): &(u64, u64, u64)| {
                let start = start.min(len - 1);
                crate::data::region::Span::range(start, count.min(len - start))
            };
            let region = Region(dims.iter().map(span).collect());
            let bytes = element.repeat(region.elements().unwrap() as usize);
            let expected = crc_share(&bytes, &region, &shape, 8 * element.len() as u64);
            prop_assert_eq!(crc_share_of_same(&element, &region, &shape), expected);
        }
    }

    #[test]
    fn parts_join_to_the_whole() {
        let mut joined = Joined::default();
        let mut all = Vec::new();
        for (part, times) in [(&b"abc"[..], 3u64), (b"", 5), (b"\0\0", 1000), (b"x", 0), (b"end", 1)] {
            joined.add(crc32fast::hash(part), part.len() as u64, times);
            all.extend(part.repeat(times as usize));
        }
        assert_eq!(joined.0, crc32fast::hash(&all));
    }

    #[test]
    fn blocks_are_whole_chunks_and_not_small() {
        let regions = blocks(&[1000, 1000, 1000], Some(&[10, 100, 300]), 4, 1 << 20);
        assert_eq!(regions[0].shape(), [10, 200, 1000]);
        assert_eq!(blocks(&[100, 100], Some(&[10, 10]), 4, 1 << 20).len(), 1);
        assert_eq!(blocks(&[3, 5], Some(&[0, 1]), 4, 20), pieces(&[3, 5], 5).collect::<Vec<_>>());
        let wide = blocks(&[4, 1 << 30], Some(&[2, 1 << 22]), 1, 1 << 20);
        assert_eq!((wide.len(), wide[0].shape()), (512, vec![2, 1 << 22]));
    }
}
