//! LZ4 blocks in the framings of array formats: numcodecs' (the size before a block), HDF5's filter 32004
//! (blocks with their sizes, big-endian), and lz4-java's `LZ4Block` (N5). LZ4's own frames are in
//! [`super::lz4_frame`]. <https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md>

use super::{checksum, cut_off, room, too_much};
use crate::bytes::error::{Error, Result};
use crate::bytes::numbers::{be, le, le_or_zero};
use lz4_flex::block;

/// No LZ4 block gives more bytes for one.
const RATIO: usize = 255;

/// One bare block into `out`'s first bytes; returns how many it gave. References may reach back into
/// `dictionary`.
///
/// # Errors
/// `Malformed` for damage or more than `out` holds.
pub fn block_into(input: &[u8], out: &mut [u8], dictionary: Option<&[u8]>) -> Result<usize> {
    match dictionary {
        Some(dictionary) => block::decompress_into_with_dict(input, out, dictionary),
        None => block::decompress_into(input, out),
    }
    .map_err(|error| Error::malformed(format!("LZ4 block: {error}")))
}

/// One bare block of at most `most` bytes.
///
/// # Errors
/// As [`block_into`].
pub fn block(input: &[u8], most: usize) -> Result<Vec<u8>> {
    let mut out = room(input.len(), RATIO, most, "LZ4 block")?;
    let made = block_into(input, &mut out, None)?;
    if made > most { Err(too_much("LZ4 block", most)) } else { Ok(super::cut_to(out, made)) }
}

/// numcodecs': four bytes with the size, little-endian, then one block.
///
/// # Errors
/// `Malformed` for damage or more than `most` bytes.
pub fn sized(input: &[u8], most: usize) -> Result<Vec<u8>> {
    let size = le::<u32>(input, 0).ok_or_else(|| cut_off("LZ4 data"))? as usize;
    if size > most {
        return Err(too_much("LZ4 data", most));
    }
    let out = block(input.get(4..).unwrap_or_default(), size)?;
    exact(out, size)
}

/// HDF5's filter 32004: the size (8 bytes), the size of a block (4), then each block after its stored size
/// (4, all big-endian); a block that is not smaller is stored as it is.
///
/// # Errors
/// As [`sized`].
pub fn hdf5(input: &[u8], most: usize) -> Result<Vec<u8>> {
    let size = be::<u64>(input, 0).ok_or_else(|| cut_off("LZ4 data"))?;
    let size =
        usize::try_from(size).ok().filter(|&size| size <= most).ok_or_else(|| too_much("LZ4 data", most))?;
    let block_size = be::<u32>(input, 8).ok_or_else(|| cut_off("LZ4 data"))? as usize;
    if block_size == 0 && size > 0 {
        return Err(Error::malformed("LZ4 data: its blocks have 0 bytes"));
    }
    let mut out = crate::bytes::limits::buffer(size as u64, "LZ4 data")?;
    let mut at = 12;
    for to in out.chunks_mut(block_size.max(1)) {
        let stored = be::<u32>(input, at).ok_or_else(|| cut_off("LZ4 data"))? as usize;
        let from =
            input.get(at + 4..).and_then(|rest| rest.get(..stored)).ok_or_else(|| cut_off("LZ4 data"))?;
        at += 4 + stored;
        if stored == to.len() {
            to.copy_from_slice(from);
        } else if block_into(from, to, None)? != to.len() {
            return Err(Error::malformed("LZ4 data: a block is shorter than it should be"));
        }
    }
    Ok(out)
}

/// lz4-java's block stream: blocks of `LZ4Block`, a token (method and level), the stored and the raw size and
/// an xxHash, up to an empty one.
///
/// # Errors
/// As [`sized`]; `Unsupported` for an unknown method.
pub fn java(input: &[u8], most: usize) -> Result<Vec<u8>> {
    const MAGIC: &[u8] = b"LZ4Block";
    const SEED: u32 = 0x9747_b28c;
    let mut out = Vec::new();
    let mut rest = input;
    while !rest.is_empty() {
        let head = rest.get(..21).ok_or_else(|| cut_off("LZ4 block stream"))?;
        if !head.starts_with(MAGIC) {
            return Err(Error::malformed("LZ4 block stream: a block does not begin with LZ4Block"));
        }
        let field = |at| le_or_zero::<u32>(head, at);
        let (stored, raw, check) = (field(9) as usize, field(13) as usize, field(17));
        let method = head.get(8).copied().unwrap_or(0) & 0xf0;
        let data = rest.get(21..).and_then(|r| r.get(..stored)).ok_or_else(|| cut_off("LZ4 block stream"))?;
        rest = rest.get(21 + stored..).unwrap_or_default();
        if raw == 0 {
            break;
        }
        if raw > most - out.len() {
            return Err(too_much("LZ4 block stream", most));
        }
        let start = out.len();
        match method {
            0x10 if stored == raw => out.extend_from_slice(data),
            0x20 => out.extend_from_slice(&exact(block(data, raw)?, raw)?),
            other => return Err(Error::unsupported(format!("LZ4 block stream: method {other:#x}"))),
        }
        // The library keeps 28 bits of the hash.
        let hash = checksum::xxhash32(out.get(start..).unwrap_or_default(), SEED) & 0x0fff_ffff;
        if hash != check {
            return Err(Error::malformed("LZ4 block stream: a block's checksum does not match"));
        }
    }
    Ok(out)
}

fn exact(out: Vec<u8>, size: usize) -> Result<Vec<u8>> {
    if out.len() == size {
        return Ok(out);
    }
    Err(Error::malformed(format!("LZ4 data: a block gives {} bytes of {size}", out.len())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data() -> Vec<u8> {
        (0..10_000u32).map(|n| (n / 20) as u8).collect()
    }

    #[test]
    fn sizes_before_a_block() {
        let data = data();
        let packed = block::compress_prepend_size(&data);
        assert_eq!(sized(&packed, data.len()).unwrap(), data);
        assert!(sized(&packed, data.len() - 1).is_err());
        for cut in 0..packed.len() {
            assert!(sized(&packed[..cut], data.len()).is_err(), "{cut}");
        }
    }

    #[test]
    fn the_framing_of_hdf5() {
        let data = data();
        let mut packed = (data.len() as u64).to_be_bytes().to_vec();
        packed.extend(4096u32.to_be_bytes());
        for (n, part) in data.chunks(4096).enumerate() {
            let bytes = if n == 1 { part.to_vec() } else { block::compress(part) };
            packed.extend((bytes.len() as u32).to_be_bytes());
            packed.extend(bytes);
        }
        assert_eq!(hdf5(&packed, data.len()).unwrap(), data);
        assert!(hdf5(&packed, 9_999).is_err());
        for cut in 0..packed.len() {
            assert!(hdf5(&packed[..cut], data.len()).is_err(), "{cut}");
        }
    }

    #[test]
    fn the_blocks_of_java() {
        let data = data();
        let mut packed = Vec::new();
        for (n, part) in data.chunks(4096).enumerate() {
            let (method, bytes) = if n == 0 { (0x15, part.to_vec()) } else { (0x25, block::compress(part)) };
            packed.extend(b"LZ4Block");
            packed.push(method);
            packed.extend((bytes.len() as u32).to_le_bytes());
            packed.extend((part.len() as u32).to_le_bytes());
            packed.extend((checksum::xxhash32(part, 0x9747_b28c) & 0x0fff_ffff).to_le_bytes());
            packed.extend(bytes);
        }
        packed.extend(b"LZ4Block\x15\0\0\0\0\0\0\0\0\0\0\0\0");
        assert_eq!(java(&packed, data.len()).unwrap(), data);
        assert!(java(&packed, data.len() - 1).is_err());
        let mut wrong = packed.clone();
        wrong[40] ^= 1;
        assert!(java(&wrong, data.len()).unwrap_err().message().contains("checksum"));
    }
}
