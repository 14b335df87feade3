//! bzip2 of whole buffers: streams one after the other.

use super::{cut_off, cut_to, too_much};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use ::bzip2::{Decompress, Status};

/// Bytes that the result grows by at first.
const START: usize = 64 << 10;

/// All streams of `input`. Bytes after them that begin no stream are ignored.
///
/// # Errors
/// `Malformed` for damage, a stream that is cut off, or more than `most` bytes.
pub fn decode(input: &[u8], most: usize) -> Result<Vec<u8>> {
    let mut out = limits::buffer((input.len() * 4).clamp(1, most.clamp(1, START)) as u64, "bzip2 data")?;
    let (mut at, mut made) = (0, 0);
    if !is_stream(input) {
        return Err(Error::malformed("bzip2 data: there is no header"));
    }
    while is_stream(input.get(at..).unwrap_or_default()) {
        let mut decoder = Decompress::new(false);
        loop {
            if made == out.len() {
                // One byte more than is allowed shows whether there is more.
                let next = (out.len().saturating_mul(2)).min(most.saturating_add(1)).max(made + 1);
                if made > most {
                    return Err(too_much("bzip2 data", most));
                }
                limits::check(next as u64, limits::CHUNK + 1, "bzip2 data")?;
                out.resize(next, 0);
            }
            let rest = input.get(at..).unwrap_or_default();
            let to = out.get_mut(made..).unwrap_or_default();
            let before = (decoder.total_in(), decoder.total_out());
            let status = decoder
                .decompress(rest, to)
                .map_err(|_| Error::malformed("bzip2 data: a block is damaged"))?;
            let (taken, given) = (decoder.total_in() - before.0, decoder.total_out() - before.1);
            at += taken as usize;
            made += given as usize;
            if status == Status::StreamEnd {
                break;
            }
            if taken == 0 && given == 0 && made < out.len() {
                return Err(cut_off("bzip2 data"));
            }
        }
    }
    if made > most { Err(too_much("bzip2 data", most)) } else { Ok(cut_to(out, made)) }
}

fn is_stream(bytes: &[u8]) -> bool {
    matches!(bytes, [b'B', b'Z', b'h', b'1'..=b'9', ..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn streams_and_damage() {
        let data: Vec<u8> = (0..300_000u32).map(|n| (n / 100) as u8).collect();
        let mut packed = Vec::new();
        ::bzip2::read::BzEncoder::new(data.as_slice(), ::bzip2::Compression::fast())
            .read_to_end(&mut packed)
            .unwrap();
        assert_eq!(decode(&packed, data.len()).unwrap(), data);
        assert_eq!(decode(&packed.repeat(2), usize::MAX).unwrap(), data.repeat(2));
        assert!(decode(&packed, data.len() - 1).unwrap_err().message().contains("more than"));
        assert!(decode(&packed.repeat(2), data.len()).is_err());
        for cut in [0, 3, 4, packed.len() / 2, packed.len() - 1] {
            assert!(decode(&packed[..cut], data.len()).is_err(), "{cut}");
        }
    }
}
