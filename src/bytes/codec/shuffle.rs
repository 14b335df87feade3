//! Byte shuffle (HDF5's filter 2, Blosc, numcodecs): the first bytes of all elements, then the second bytes,
//! and so on. Bytes beyond the last whole element stay where they are.

/// Elements that are put together at a time, where there is no faster way: they stay in the nearest cache.
const TILE: usize = 512;

/// Puts elements of `size` bytes together again.
pub fn unshuffle(input: &[u8], size: usize) -> Vec<u8> {
    let mut out = vec![0; input.len()];
    unshuffle_into(input, size, &mut out);
    out
}

/// As [`unshuffle`], into a buffer that is as long as the input.
pub fn unshuffle_into(input: &[u8], size: usize, out: &mut [u8]) {
    if size < 2 || input.len() < size || out.len() != input.len() {
        let len = out.len().min(input.len());
        if let (Some(to), Some(from)) = (out.get_mut(..len), input.get(..len)) {
            to.copy_from_slice(from);
        }
        return;
    }
    let count = input.len() / size;
    let (planes, rest) = input.split_at(count * size);
    let (elements, last) = out.split_at_mut(count * size);
    last.copy_from_slice(rest);
    // What the processor's own instructions have done.
    let done = match size {
        2 => wide::<2>(planes, elements, count),
        4 => wide::<4>(planes, elements, count),
        8 => wide::<8>(planes, elements, count),
        16 => wide::<16>(planes, elements, count),
        _ => 0,
    };
    for (tile, to) in elements.chunks_mut(TILE * size).enumerate().skip(done / TILE) {
        let start = tile * TILE;
        let here = to.len() / size;
        for (byte, plane) in planes.chunks_exact(count).enumerate() {
            let from = plane.get(start..start + here).unwrap_or_default();
            for (element, value) in to.chunks_exact_mut(size).zip(from) {
                if let Some(place) = element.get_mut(byte) {
                    *place = *value;
                }
            }
        }
    }
}

/// Interleaves N planes, 16 elements at a time, by unpacking neighbours log₂ N times. Returns how many
/// elements that were, a multiple of [`TILE`] or all.
#[cfg(target_arch = "x86_64")]
#[allow(clippy::indexing_slicing, reason = "2k + 1 and k + N/2 are below N where k is below N/2")]
fn wide<const N: usize>(planes: &[u8], elements: &mut [u8], count: usize) -> usize {
    use std::arch::x86_64::{__m128i, _mm_unpackhi_epi8, _mm_unpacklo_epi8};
    let whole = count / TILE * TILE;
    let mut lanes: [&[[u8; 16]]; N] = [&[]; N];
    for (lane, plane) in lanes.iter_mut().zip(planes.chunks_exact(count)) {
        *lane = plane.get(..whole).unwrap_or_default().as_chunks::<16>().0;
    }
    let (outs, _) = elements.as_chunks_mut::<16>();
    for (n, to) in outs.chunks_exact_mut(N).take(whole / 16).enumerate() {
        let mut rows: [__m128i; N] =
            lanes.map(|lane| bytemuck::cast(lane.get(n).copied().unwrap_or_default()));
        // Each step interleaves row k with row k + N/2, so that after log₂ N of them elements are whole.
        let mut step = 1;
        while step < N {
            let before = rows;
            for k in 0..N / 2 {
                // SAFETY: SSE2 is part of x86-64.
                unsafe {
                    rows[2 * k] = _mm_unpacklo_epi8(before[k], before[k + N / 2]);
                    rows[2 * k + 1] = _mm_unpackhi_epi8(before[k], before[k + N / 2]);
                }
            }
            step *= 2;
        }
        for (to, row) in to.iter_mut().zip(rows) {
            *to = bytemuck::cast(row);
        }
    }
    whole
}

#[cfg(not(target_arch = "x86_64"))]
fn wide<const N: usize>(_: &[u8], _: &mut [u8], _: usize) -> usize {
    0
}

/// Sorts the bytes of elements of `size` bytes by their place: what [`unshuffle`] undoes.
pub fn shuffle(input: &[u8], size: usize) -> Vec<u8> {
    let mut out = vec![0; input.len()];
    shuffle_into(input, size, &mut out);
    out
}

/// As [`shuffle`], into a buffer that is as long as the input.
pub fn shuffle_into(input: &[u8], size: usize, out: &mut [u8]) {
    if size < 2 || input.len() < size || out.len() != input.len() {
        let len = out.len().min(input.len());
        if let (Some(to), Some(from)) = (out.get_mut(..len), input.get(..len)) {
            to.copy_from_slice(from);
        }
        return;
    }
    let count = input.len() / size;
    let (elements, rest) = input.split_at(count * size);
    let (planes, last) = out.split_at_mut(count * size);
    last.copy_from_slice(rest);
    // What the processor's own instructions have done.
    let done = match size {
        2 => sorted::<2>(elements, planes, count),
        4 => sorted::<4>(elements, planes, count),
        8 => sorted::<8>(elements, planes, count),
        16 => sorted::<16>(elements, planes, count),
        _ => 0,
    };
    for (tile, from) in elements.chunks(TILE * size).enumerate().skip(done / TILE) {
        let start = tile * TILE;
        for (byte, plane) in planes.chunks_exact_mut(count).enumerate() {
            let to = plane.get_mut(start..).unwrap_or_default();
            for (place, element) in to.iter_mut().zip(from.chunks_exact(size)) {
                *place = element.get(byte).copied().unwrap_or(0);
            }
        }
    }
}

/// Sorts the bytes of 16 elements of N bytes at a time. Unpacking neighbours moves each byte to the place whose number
/// has the bits of the old one turned by one; after four of these steps the place of the byte in its element leads.
/// Returns how many elements that were, a multiple of [`TILE`] or all.
#[cfg(target_arch = "x86_64")]
#[allow(clippy::indexing_slicing, reason = "2k + 1 and k + N/2 are below N where k is below N/2")]
fn sorted<const N: usize>(elements: &[u8], planes: &mut [u8], count: usize) -> usize {
    use std::arch::x86_64::{__m128i, _mm_unpackhi_epi8, _mm_unpacklo_epi8};
    let whole = count / TILE * TILE;
    let (rows, _) = elements.as_chunks::<16>();
    let mut outs = planes.chunks_exact_mut(count);
    let mut lanes: [&mut [[u8; 16]]; N] = std::array::from_fn(|_| {
        outs.next().and_then(|plane| plane.get_mut(..whole)).unwrap_or_default().as_chunks_mut::<16>().0
    });
    for (n, from) in rows.chunks_exact(N).take(whole / 16).enumerate() {
        let mut rows: [__m128i; N] =
            std::array::from_fn(|k| bytemuck::cast(from.get(k).copied().unwrap_or_default()));
        for _ in 0..4 {
            let before = rows;
            for k in 0..N / 2 {
                // SAFETY: SSE2 is part of x86-64.
                unsafe {
                    rows[2 * k] = _mm_unpacklo_epi8(before[k], before[k + N / 2]);
                    rows[2 * k + 1] = _mm_unpackhi_epi8(before[k], before[k + N / 2]);
                }
            }
        }
        for (lane, row) in lanes.iter_mut().zip(rows) {
            if let Some(to) = lane.get_mut(n) {
                *to = bytemuck::cast(row);
            }
        }
    }
    whole
}

#[cfg(not(target_arch = "x86_64"))]
fn sorted<const N: usize>(_: &[u8], _: &mut [u8], _: usize) -> usize {
    0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_size_and_length() {
        for size in [0, 1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 255] {
            for len in [0, 1, 7, 16, 31, 1024, 4096, 8191, 20_003] {
                let bytes: Vec<u8> = (0..len as u32).map(|n| ((n * 31) ^ (n >> 5)) as u8).collect();
                assert_eq!(unshuffle(&shuffle(&bytes, size), size), bytes, "{len} bytes of {size}");
            }
        }
        assert_eq!(shuffle(b"abcdefg", 3), b"adbecfg");
    }

    #[test]
    fn each_byte_comes_to_its_place() {
        for size in [2, 3, 4, 8, 16, 24] {
            let count = 2 * TILE + 77;
            let bytes: Vec<u8> = (0..(count * size) as u32).map(|n| ((n * 31) ^ (n >> 5)) as u8).collect();
            let sorted = shuffle(&bytes, size);
            for (n, element) in bytes.chunks_exact(size).enumerate() {
                for (byte, value) in element.iter().enumerate() {
                    assert_eq!(sorted[byte * count + n], *value, "element {n} of {size} bytes, byte {byte}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn there_and_back(bytes in prop::collection::vec(any::<u8>(), 0..5000), size in 0usize..20) {
            prop_assert_eq!(unshuffle(&shuffle(&bytes, size), size), bytes);
        }
    }
}
