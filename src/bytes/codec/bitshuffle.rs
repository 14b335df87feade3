//! Bit shuffle: the lowest bits of all elements, then the next ones, and so on. Blosc uses it inside its
//! blocks; as HDF5's filter 32008 it stands alone or before LZ4 or Zstandard.
//! <https://github.com/kiyo-masui/bitshuffle>

use super::shuffle::{shuffle_into, unshuffle_into};
use super::{cut_off, lz4, too_much, zstd};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::numbers::be;

/// What bitshuffle's blocks have at least, in elements.
const LEAST: usize = 128;
/// What they have in bytes, where nobody says.
const TARGET: usize = 8192;

/// Puts the bits of elements of `size` bytes together again. `input` holds whole elements, a multiple of
/// eight; what is more stays as it is. `out` is as long as the input.
pub fn unshuffle_bits(input: &[u8], size: usize, out: &mut [u8], planes: &mut Vec<u8>) {
    let row = input.len() / size.max(1) / 8;
    let whole = row * 8 * size;
    if size == 0 || whole == 0 || out.len() != input.len() {
        let len = out.len().min(input.len());
        if let (Some(to), Some(from)) = (out.get_mut(..len), input.get(..len)) {
            to.copy_from_slice(from);
        }
        return;
    }
    let (bits, rest) = input.split_at(whole);
    let (elements, last) = out.split_at_mut(whole);
    last.copy_from_slice(rest);
    // First the bytes from their bits, as planes; then the elements from their bytes.
    planes.clear();
    planes.resize(whole, 0);
    for (plane, rows) in planes.chunks_exact_mut(row * 8).zip(bits.chunks_exact(row * 8)) {
        join_bits(rows, row, plane);
    }
    unshuffle_into(planes, size, elements);
}

/// Eight rows of `row` bytes, one a bit, to the bytes of `plane`.
fn join_bits(rows: &[u8], row: usize, plane: &mut [u8]) {
    let mut lanes: [&[u8]; 8] = [&[]; 8];
    for (lane, bits) in lanes.iter_mut().zip(rows.chunks_exact(row)) {
        *lane = bits;
    }
    for (n, to) in plane.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        let eight: [u8; 8] = lanes.map(|lane| lane.get(n).copied().unwrap_or(0));
        *to = transposed(u64::from_le_bytes(eight)).to_le_bytes();
    }
}

/// A matrix of eight by eight bits, rows as columns.
fn transposed(mut x: u64) -> u64 {
    for (shift, mask) in
        [(7, 0x00aa_00aa_00aa_00aa), (14, 0x0000_cccc_0000_cccc), (28, 0x0000_0000_f0f0_f0f0)]
    {
        let swap = (x ^ x >> shift) & mask;
        x ^= swap ^ swap << shift;
    }
    x
}

/// Compression after the shuffle, in the numbers of filter 32008.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inner {
    /// None.
    None,
    /// LZ4 blocks.
    Lz4,
    /// Zstandard frames.
    Zstd,
}

/// HDF5's filter 32008 over elements of `size` bytes in blocks of `block` elements (0 for the default, which
/// compressed data says itself).
///
/// # Errors
/// `Malformed` for damage or more than `most` bytes.
pub fn hdf5(input: &[u8], size: usize, block: usize, inner: Inner, most: usize) -> Result<Vec<u8>> {
    if size == 0 {
        return Err(Error::malformed("bitshuffle: elements of 0 bytes"));
    }
    if inner == Inner::None {
        if input.len() > most {
            return Err(too_much("bitshuffle", most));
        }
        let block = if block == 0 { default_block(size) } else { block };
        let decode = |at: usize, len: usize| {
            input.get(at..at + len).map(|part| (part.to_vec(), len)).ok_or_else(|| cut_off("bitshuffle"))
        };
        return blocks(input.len(), size, block, input, decode);
    }
    let cut = || cut_off("bitshuffle");
    let total = be::<u64>(input, 0).ok_or_else(cut)?;
    let total =
        usize::try_from(total).ok().filter(|&n| n <= most).ok_or_else(|| too_much("bitshuffle", most))?;
    let stated = be::<u32>(input, 8).ok_or_else(cut)? as usize / size;
    let block = if stated == 0 { default_block(size) } else { stated };
    let body = input.get(12..).unwrap_or_default();
    let decode = |at: usize, len: usize| {
        let stored = be::<u32>(body, at).ok_or_else(cut)? as usize;
        let data = body.get(at + 4..).and_then(|rest| rest.get(..stored)).ok_or_else(cut)?;
        let part = if inner == Inner::Lz4 { lz4::block(data, len)? } else { zstd::decode(data, len)? };
        if part.len() != len {
            return Err(Error::malformed(format!("bitshuffle: a block gives {} bytes of {len}", part.len())));
        }
        Ok((part, 4 + stored))
    };
    blocks(total, size, block, body, decode)
}

/// Undoes all blocks of a buffer of `total` bytes; `decode` gives the shuffled bytes of the block that is
/// stored at a place, and how many bytes that took. What fills no eight elements is stored as it is.
fn blocks(
    total: usize,
    size: usize,
    block: usize,
    body: &[u8],
    decode: impl Fn(usize, usize) -> Result<(Vec<u8>, usize)>,
) -> Result<Vec<u8>> {
    if !block.is_multiple_of(8) {
        return Err(Error::malformed(format!("bitshuffle: blocks of {block} elements, no multiple of 8")));
    }
    let mut out = limits::buffer(total as u64, "bitshuffle")?;
    let mut planes = Vec::new();
    let (mut at, whole) = (0, total / size / 8 * 8 * size);
    let (elements, rest) = out.split_at_mut(whole);
    for to in elements.chunks_mut(block.saturating_mul(size).max(1)) {
        let (bits, used) = decode(at, to.len())?;
        unshuffle_bits(&bits, size, to, &mut planes);
        at += used;
    }
    let last = body.get(at..).and_then(|b| b.get(..rest.len())).ok_or_else(|| cut_off("bitshuffle"))?;
    rest.copy_from_slice(last);
    Ok(out)
}

/// Elements of a block, where nobody says.
fn default_block(size: usize) -> usize {
    (TARGET / size / 8 * 8).max(LEAST)
}

/// Sorts the bits of elements of `size` bytes: what [`unshuffle_bits`] undoes.
pub fn shuffle_bits(input: &[u8], size: usize) -> Vec<u8> {
    let mut out = vec![0; input.len()];
    shuffle_bits_into(input, size, &mut out, &mut Vec::new());
    out
}

/// As [`shuffle_bits`], into a buffer that is as long as the input; `planes` is room for the bytes on their way.
pub fn shuffle_bits_into(input: &[u8], size: usize, out: &mut [u8], planes: &mut Vec<u8>) {
    let row = input.len() / size.max(1) / 8;
    let whole = row * 8 * size;
    if size == 0 || whole == 0 || out.len() != input.len() {
        let len = out.len().min(input.len());
        if let (Some(to), Some(from)) = (out.get_mut(..len), input.get(..len)) {
            to.copy_from_slice(from);
        }
        return;
    }
    let (elements, rest) = input.split_at(whole);
    let (bits, last) = out.split_at_mut(whole);
    last.copy_from_slice(rest);
    planes.clear();
    planes.resize(whole, 0);
    shuffle_into(elements, size, planes);
    for (plane, rows) in planes.chunks_exact(row * 8).zip(bits.chunks_exact_mut(row * 8)) {
        part_bits(plane, row, rows);
    }
}

/// The bytes of `plane` to eight rows of `row` bytes, one a bit.
fn part_bits(plane: &[u8], row: usize, rows: &mut [u8]) {
    let mut outs = rows.chunks_exact_mut(row);
    let mut lanes: [&mut [u8]; 8] = std::array::from_fn(|_| outs.next().unwrap_or_default());
    for (n, from) in plane.as_chunks::<8>().0.iter().enumerate() {
        let bits = transposed(u64::from_le_bytes(*from)).to_le_bytes();
        for (lane, bit) in lanes.iter_mut().zip(bits) {
            if let Some(place) = lane.get_mut(n) {
                *place = bit;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there_and_back(len: usize, size: usize) {
        let bytes: Vec<u8> = (0..len as u32).map(|n| ((n * 31) ^ (n >> 5)) as u8).collect();
        let mut out = vec![0; len];
        unshuffle_bits(&shuffle_bits(&bytes, size), size, &mut out, &mut Vec::new());
        assert_eq!(out, bytes, "{len} bytes of {size}");
    }

    #[test]
    fn every_size() {
        for size in [1, 2, 3, 4, 8, 12] {
            for len in [0, 8, 64, 96, 384, 4800, 4801] {
                there_and_back(len, size);
            }
        }
    }

    #[test]
    fn each_bit_comes_to_its_place() {
        for (len, size) in [(4801, 4), (96, 12), (80, 1), (4096, 2)] {
            let bytes: Vec<u8> = (0..len as u32).map(|n| ((n * 31) ^ (n >> 5)) as u8).collect();
            let row = len / size / 8;
            let mut expected = bytes.clone();
            expected[..row * 8 * size].fill(0);
            for (n, element) in bytes.chunks_exact(size).take(row * 8).enumerate() {
                for (byte, value) in element.iter().enumerate() {
                    for bit in 0..8 {
                        expected[(byte * 8 + bit) * row + n / 8] |= (value >> bit & 1) << (n % 8);
                    }
                }
            }
            assert_eq!(shuffle_bits(&bytes, size), expected, "{len} bytes of {size}");
        }
    }

    #[test]
    fn hdf5_with_lz4() {
        let bytes: Vec<u8> = (0..1003u16).flat_map(|n| (n / 3).to_le_bytes()).collect();
        let (block, size) = (256, 2);
        let mut packed = (bytes.len() as u64).to_be_bytes().to_vec();
        packed.extend(((block * size) as u32).to_be_bytes());
        let whole = 1000 * size;
        for part in bytes[..whole].chunks(block * size) {
            let data = lz4_flex::block::compress(&shuffle_bits(part, size));
            packed.extend((data.len() as u32).to_be_bytes());
            packed.extend(data);
        }
        packed.extend(&bytes[whole..]);
        assert_eq!(hdf5(&packed, size, 0, Inner::Lz4, bytes.len()).unwrap(), bytes);
        assert!(hdf5(&packed, size, 0, Inner::Lz4, bytes.len() - 1).is_err());
        for cut in 0..packed.len() {
            assert!(hdf5(&packed[..cut], size, 0, Inner::Lz4, bytes.len()).is_err(), "{cut}");
        }
    }
}
