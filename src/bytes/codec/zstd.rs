//! Zstandard (RFC 8878) of whole buffers: frames one after the other, with or without their content's size.

use super::{cut_to, too_much};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use ::zstd::bulk::Decompressor;
use ::zstd::zstd_safe::WriteBuf;
use std::cell::RefCell;

thread_local! {
    static DECODER: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

/// All frames of `input`.
///
/// # Errors
/// `Malformed` for damage or more than `most` bytes; `Unsupported` for a dictionary that is not there.
pub fn decode(input: &[u8], most: usize) -> Result<Vec<u8>> {
    decode_with(input, most, None)
}

/// As [`decode`], for a frame that was compressed against a dictionary.
///
/// # Errors
/// As [`decode`].
pub fn decode_with(input: &[u8], most: usize, dictionary: Option<&[u8]>) -> Result<Vec<u8>> {
    let most_bytes = (most as u64).min(limits::CHUNK) as usize;
    let mut out = Vec::new();
    // Only asked for, not touched: what is not written takes no memory.
    out.try_reserve_exact(most_bytes)
        .map_err(|_| Error::limit(format!("Zstandard data: no memory for {most_bytes} bytes")))?;
    let made = run(input, &mut out, dictionary, most)?;
    Ok(cut_to(out, made))
}

/// All frames of `input` into `out`'s first bytes; returns how many they gave.
///
/// # Errors
/// As [`decode`].
pub fn decode_into(input: &[u8], out: &mut [u8], dictionary: Option<&[u8]>) -> Result<usize> {
    let most = out.len();
    run(input, out, dictionary, most)
}

fn run<B: WriteBuf + ?Sized>(
    input: &[u8],
    out: &mut B,
    dictionary: Option<&[u8]>,
    most: usize,
) -> Result<usize> {
    let failed = |error: std::io::Error| blame(&error.to_string(), most);
    if let Some(dictionary) = dictionary {
        let made = Decompressor::with_dictionary(dictionary)
            .and_then(|mut decoder| decoder.decompress_to_buffer(input, out));
        return made.map_err(failed);
    }
    DECODER.with_borrow_mut(|kept| {
        let decoder = match kept {
            Some(decoder) => decoder,
            None => {
                let new =
                    Decompressor::new().map_err(|_| Error::limit("no memory for a Zstandard decoder"))?;
                kept.insert(new)
            }
        };
        decoder.decompress_to_buffer(input, out).map_err(failed)
    })
}

/// The library's error in our words.
fn blame(error: &str, most: usize) -> Error {
    let lower = error.to_lowercase();
    if lower.contains("too small") {
        too_much("Zstandard data", most)
    } else if lower.contains("dictionary") {
        Error::unsupported("Zstandard data: compressed against a dictionary that is not in the file")
    } else {
        Error::malformed(format!("Zstandard data: {lower}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_with_and_without_a_size() {
        let data: Vec<u8> = (0..100_000u32).map(|n| (n / 7) as u8).collect();
        let sized = ::zstd::bulk::compress(&data, 3).unwrap();
        let streamed = ::zstd::stream::encode_all(data.as_slice(), 3).unwrap();
        for frame in [&sized, &streamed] {
            assert_eq!(decode(frame, data.len()).unwrap(), data);
            assert_eq!(decode(frame, 10 << 20).unwrap(), data);
            assert!(decode(frame, data.len() - 1).unwrap_err().message().contains("more than"));
            assert!(decode(&frame[..frame.len() / 2], data.len()).is_err());
        }
        assert_eq!(decode(&[sized, streamed].concat(), data.len() * 2).unwrap(), data.repeat(2));
        assert!(decode(b"nonsense", 10).is_err());
    }
}
