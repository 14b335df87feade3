//! Checksums of chunks and headers.

use crate::bytes::error::{Error, Result};
use crate::bytes::numbers::le_or_zero;

pub use xxhash_rust::xxh32::Xxh32;

/// CRC-32 (zlib's).
pub fn crc32(bytes: &[u8]) -> u32 {
    crc32fast::hash(bytes)
}

/// Adler-32 (RFC 1950).
pub fn adler32(bytes: &[u8]) -> u32 {
    simd_adler32::adler32(&bytes)
}

/// CRC-32C (Castagnoli; RFC 3720).
pub fn crc32c(bytes: &[u8]) -> u32 {
    crc32c::crc32c(bytes)
}

/// HDF5's Fletcher-32: over 16-bit words, big-endian, an odd last byte as a word's upper half.
pub fn fletcher32(bytes: &[u8]) -> u32 {
    let (mut a, mut b) = (0u32, 0u32);
    let (words, rest) = bytes.as_chunks::<2>();
    for block in words.chunks(360) {
        for &word in block {
            a = a.wrapping_add(u32::from(u16::from_be_bytes(word)));
            b = b.wrapping_add(a);
        }
        a = (a & 0xffff) + (a >> 16);
        b = (b & 0xffff) + (b >> 16);
    }
    if let [last] = rest {
        a += u32::from(*last) << 8;
        b += a;
        a = (a & 0xffff) + (a >> 16);
        b = (b & 0xffff) + (b >> 16);
    }
    a = (a & 0xffff) + (a >> 16);
    b = (b & 0xffff) + (b >> 16);
    b << 16 | a
}

/// A chunk that ends with its Fletcher-32 (HDF5's filter 3): the bytes before it.
///
/// # Errors
/// `Malformed` where it does not match, in the right order or in that of HDF5 1.6.2, which swapped bytes.
pub fn without_fletcher32(input: &[u8]) -> Result<&[u8]> {
    let Some((data, stored)) = input.split_last_chunk::<4>() else {
        return Err(Error::malformed("data: too short for its Fletcher-32 checksum"));
    };
    let sum = fletcher32(data);
    let [a, b, c, d] = *stored;
    if sum == u32::from_le_bytes([a, b, c, d]) || sum == u32::from_le_bytes([b, a, d, c]) {
        return Ok(data);
    }
    Err(Error::malformed(format!(
        "data: its Fletcher-32 checksum is {sum:08x}, the file says {:08x}",
        u32::from_le_bytes(*stored)
    )))
}

/// Bob Jenkins' lookup3 (`hashlittle`) with `seed`; HDF5's metadata checksum has the seed 0.
/// <http://burtleburtle.net/bob/c/lookup3.c>
pub fn lookup3(bytes: &[u8], seed: u32) -> u32 {
    let start = 0xdead_beef_u32.wrapping_add(bytes.len() as u32).wrapping_add(seed);
    let (mut a, mut b, mut c) = (start, start, start);
    if bytes.is_empty() {
        return c;
    }
    // The last block, also a whole one, is mixed in another way.
    let (body, tail) = bytes.split_at((bytes.len() - 1) / 12 * 12);
    let word = |block: &[u8], at: usize| le_or_zero::<u32>(block, at);
    for block in body.as_chunks::<12>().0 {
        a = a.wrapping_add(word(block, 0));
        b = b.wrapping_add(word(block, 4));
        c = c.wrapping_add(word(block, 8));
        for [x, y, z] in [[4, 6, 8], [16, 19, 4]] {
            a = a.wrapping_sub(c) ^ c.rotate_left(x);
            c = c.wrapping_add(b);
            b = b.wrapping_sub(a) ^ a.rotate_left(y);
            a = a.wrapping_add(c);
            c = c.wrapping_sub(b) ^ b.rotate_left(z);
            b = b.wrapping_add(a);
        }
    }
    let mut last = [0u8; 12];
    last.iter_mut().zip(tail).for_each(|(to, from)| *to = *from);
    a = a.wrapping_add(word(&last, 0));
    b = b.wrapping_add(word(&last, 4));
    c = c.wrapping_add(word(&last, 8));
    c = (c ^ b).wrapping_sub(b.rotate_left(14));
    a = (a ^ c).wrapping_sub(c.rotate_left(11));
    b = (b ^ a).wrapping_sub(a.rotate_left(25));
    c = (c ^ b).wrapping_sub(b.rotate_left(16));
    a = (a ^ c).wrapping_sub(c.rotate_left(4));
    b = (b ^ a).wrapping_sub(a.rotate_left(14));
    (c ^ b).wrapping_sub(b.rotate_left(24))
}

/// Whether the last four bytes are the lookup3 of all before them, which is how HDF5 protects its newer structures.
pub fn lookup3_matches(bytes: &[u8]) -> bool {
    bytes
        .split_last_chunk::<4>()
        .is_some_and(|(covered, stored)| lookup3(covered, 0).to_le_bytes() == *stored)
}

/// xxHash, 32 bits, with `seed`.
pub fn xxhash32(bytes: &[u8], seed: u32) -> u32 {
    xxhash_rust::xxh32::xxh32(bytes, seed)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &[u8] = b"Four score and seven years ago";

    #[test]
    fn published_values() {
        assert_eq!(adler32(b"Wikipedia"), 0x11e6_0398);
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(lookup3(b"", 0), 0xdead_beef);
        assert_eq!(lookup3(TEXT, 0), 0x1777_0551);
        assert_eq!(lookup3(TEXT, 1), 0xcd62_8161);
        assert_eq!(xxhash32(b"", 0), 0x02cc_5d05);
        assert_eq!(xxhash32(b"a", 0x9747_b28c), 0x12b7_e114);
    }

    #[test]
    fn fletcher32_as_hdf5_writes_it() {
        // What h5py stored after these chunks.
        let all: Vec<u8> = (0..255).collect();
        assert_eq!(fletcher32(&all).to_le_bytes(), [0x40, 0xbf, 0x76, 0x54]);
        assert_eq!(fletcher32(b"abcde").to_le_bytes(), [0xc7, 0x29, 0xf0, 0x4f]);
        assert_eq!(fletcher32(&[255; 2000]).to_le_bytes(), [0xff; 4]);
        assert_eq!(without_fletcher32(b"abcde\xc7\x29\xf0\x4f").unwrap(), b"abcde");
        assert!(without_fletcher32(b"abcde\xc7\x29\xf0\x4e").is_err());
        assert!(without_fletcher32(b"abc").is_err());
    }
}
