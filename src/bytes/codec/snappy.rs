//! Snappy blocks of whole buffers.
//! <https://github.com/google/snappy/blob/main/format_description.txt>

use super::{cut_to, too_much};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use snap::raw::{Decoder, decompress_len};

/// One block.
///
/// # Errors
/// `Malformed` for damage or more than `most` bytes.
pub fn decode(input: &[u8], most: usize) -> Result<Vec<u8>> {
    let size = decompress_len(input).map_err(|e| damaged(&e))?;
    if size > most {
        return Err(too_much("Snappy data", most));
    }
    // A reference of three bytes gives 64 at most.
    if size / 64 > input.len() {
        return Err(Error::malformed(format!("Snappy data: {} bytes cannot hold {size}", input.len())));
    }
    let mut out = limits::buffer(size as u64, "Snappy data")?;
    let made = decode_into(input, &mut out)?;
    Ok(cut_to(out, made))
}

/// One block into `out`'s first bytes; returns how many it gave.
///
/// # Errors
/// As [`decode`].
pub fn decode_into(input: &[u8], out: &mut [u8]) -> Result<usize> {
    Decoder::new().decompress(input, out).map_err(|e| damaged(&e))
}

fn damaged(error: &snap::Error) -> Error {
    Error::malformed(format!("Snappy data: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_and_references() {
        // "Wikipedia", then a reference of each kind.
        let packed = b"\x17\x20Wikipedia\x01\x09\x0e\x04\x00\x0f\x01\0\0\0";
        assert_eq!(decode(packed, 23).unwrap_err().message(), decode(packed, 100).unwrap_err().message());
        let packed = b"\x15\x20Wikipedia\x01\x09\x0e\x04\x00\x0f\x01\0\0\0";
        assert_eq!(decode(packed, 21).unwrap(), b"WikipediaWikiWikiiiii");
        assert!(decode(packed, 20).unwrap_err().message().contains("more than"));
        for cut in 0..packed.len() {
            assert!(decode(&packed[..cut], 21).is_err(), "{cut}");
        }
        // A length of a gigabyte in front of nothing asks for no memory.
        assert!(decode(b"\x80\x80\x80\x80\x04", 1 << 30).unwrap_err().message().contains("cannot hold"));
    }
}
