//! bzip2: streams one after the other (no specification; the decoder is libbzip2's algorithm).

use super::decompress::{Begin, Decompressor, State, Step, whole};
use crate::bytes::error::{Error, Result};
use ::bzip2::{Decompress, Status};

/// All streams of `input`. Bytes after them that begin no stream are ignored.
///
/// # Errors
/// `Malformed` for damage, a stream that is cut off, or more than `most` bytes.
pub fn decode(input: &[u8], most: usize) -> Result<Vec<u8>> {
    whole(&mut Bzip2::default(), input, most, "bzip2 data")
}

/// Decompresses all streams.
#[derive(Default)]
pub struct Bzip2 {
    decoder: Option<Decompress>,
    stream: u64,
}

impl Decompressor for Bzip2 {
    fn head(&self) -> usize {
        4
    }

    fn begin(&mut self, head: &[u8], number: u64) -> Result<Begin> {
        match head {
            [b'B', b'Z', b'h', b'1'..=b'9', ..] => {
                (self.decoder, self.stream) = (Some(Decompress::new(false)), number);
                Ok(Begin::Frame(0))
            }
            _ if number > 1 => Ok(Begin::Other("bzip2")),
            [b'B', b'Z', b'h', ..] => Err(Error::malformed("bzip2 header: its block size is not 1 to 9")),
            _ => Err(Error::malformed("bzip2 stream: there is no header")),
        }
    }

    fn step(&mut self, input: &mut &[u8], out: &mut [u8], _last: bool) -> Result<Step> {
        let decoder = self.decoder.get_or_insert_with(|| Decompress::new(false));
        let before = (decoder.total_in(), decoder.total_out());
        let status = decoder.decompress(input, out).map_err(|_| Error::malformed("a block is damaged"))?;
        let taken = (decoder.total_in() - before.0) as usize;
        *input = input.get(taken..).unwrap_or_default();
        let made = (decoder.total_out() - before.1) as usize;
        Ok(Step { made, state: if status == Status::StreamEnd { State::End(None) } else { State::More(1) } })
    }

    fn name(&self) -> String {
        format!("bzip2 stream {}", self.stream)
    }

    fn cut(&self) -> String {
        format!("{}: it ends in the middle of a block", self.name())
    }
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
