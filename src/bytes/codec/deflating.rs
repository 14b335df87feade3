//! Deflate on all cores: what is written is cut into blocks that are compressed side by side and follow each other in one
//! stream, as pigz does; any reader takes it for one that was compressed in one go.
//! zlib: <https://www.rfc-editor.org/rfc/rfc1950>, gzip: <https://www.rfc-editor.org/rfc/rfc1952>.

use crate::bytes::error::{Error, Result};
use flate2::{Compress, Compression, FlushCompress, Status};
use rayon::prelude::*;
use std::io::Write;

/// Bytes of a block: what compression loses by beginning anew is below a hundredth then.
const BLOCK: usize = 1 << 20;

/// What stands around the compressed bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrapper {
    /// Two bytes before, and Adler-32 behind them.
    Zlib,
    /// Ten bytes before, CRC-32 and the length behind them.
    Gzip,
}

/// A stream that is being compressed into `inner`; it is whole once [`Deflating::finish`] was called.
pub struct Deflating<W> {
    inner: W,
    wrapper: Wrapper,
    level: u32,
    waiting: Vec<u8>,
    /// How many bytes are compressed together.
    batch: usize,
    adler: simd_adler32::Adler32,
    crc: crc32fast::Hasher,
    /// Bytes before and after compression.
    raw: u64,
    written: u64,
}

impl<W: Write> Deflating<W> {
    /// Begins a stream with a level of 0 to 9.
    ///
    /// # Errors
    /// Those of writing.
    pub fn new(mut inner: W, wrapper: Wrapper, level: u32) -> Result<Self> {
        let head: &[u8] = match wrapper {
            Wrapper::Zlib => &[0x78, 0x9c],
            // No name, no time, written on no system in particular.
            Wrapper::Gzip => &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255],
        };
        inner.write_all(head)?;
        let batch = BLOCK * rayon::current_num_threads().clamp(1, 32) * 2;
        Ok(Deflating {
            inner,
            wrapper,
            level,
            waiting: Vec::new(),
            batch,
            adler: simd_adler32::Adler32::new(),
            crc: crc32fast::Hasher::new(),
            raw: 0,
            written: head.len() as u64,
        })
    }

    /// Takes bytes.
    ///
    /// # Errors
    /// Those of writing.
    pub fn put(&mut self, mut bytes: &[u8]) -> Result<()> {
        self.raw = self.raw.wrapping_add(bytes.len() as u64);
        match self.wrapper {
            Wrapper::Zlib => self.adler.write(bytes),
            Wrapper::Gzip => self.crc.update(bytes),
        }
        while !bytes.is_empty() {
            let (now, rest) = bytes.split_at(bytes.len().min(self.batch - self.waiting.len()));
            self.waiting.extend_from_slice(now);
            bytes = rest;
            if self.waiting.len() >= self.batch {
                self.compress(false)?;
            }
        }
        Ok(())
    }

    /// Compresses what waits; the last block ends the stream.
    fn compress(&mut self, is_last: bool) -> Result<()> {
        let mut blocks: Vec<&[u8]> = self.waiting.chunks(BLOCK).collect();
        if blocks.is_empty() && is_last {
            blocks.push(&[]);
        }
        let count = blocks.len();
        let one = |(n, block): (usize, &&[u8])| deflated(block, self.level, is_last && n + 1 == count);
        let made: Vec<Vec<u8>> = blocks.par_iter().enumerate().map(one).collect::<Result<_>>()?;
        for block in made {
            self.inner.write_all(&block)?;
            self.written += block.len() as u64;
        }
        self.waiting.clear();
        Ok(())
    }

    /// Ends the stream; what it was written to, and how many bytes it has.
    ///
    /// # Errors
    /// Those of writing.
    pub fn finish(mut self) -> Result<(W, u64)> {
        self.compress(true)?;
        let tail: Vec<u8> = match self.wrapper {
            Wrapper::Zlib => self.adler.finish().to_be_bytes().to_vec(),
            // The length is kept modulo 2^32.
            Wrapper::Gzip => {
                [self.crc.clone().finalize().to_le_bytes(), (self.raw as u32).to_le_bytes()].concat()
            }
        };
        self.inner.write_all(&tail)?;
        self.written += tail.len() as u64;
        Ok((self.inner, self.written))
    }
}

/// A block of raw deflate that ends at a byte.
fn deflated(block: &[u8], level: u32, is_last: bool) -> Result<Vec<u8>> {
    let mut coder = Compress::new(Compression::new(level), false);
    let mut out = Vec::with_capacity(block.len() / 2 + 1024);
    let flush = if is_last { FlushCompress::Finish } else { FlushCompress::Sync };
    loop {
        let rest = block.get(coder.total_in() as usize..).unwrap_or_default();
        let before = out.len();
        let status = coder
            .compress_vec(rest, &mut out, flush)
            .map_err(|error| Error::bug(format!("deflate: {error}")))?;
        let is_whole = coder.total_in() == block.len() as u64;
        match status {
            Status::StreamEnd => return Ok(out),
            // A flush that left room has nothing more to give.
            Status::Ok | Status::BufError if is_whole && !is_last && out.len() < out.capacity() => {
                return Ok(out);
            }
            Status::BufError if out.len() == before && out.len() < out.capacity() => {
                return Err(Error::bug("deflate: it does not go on"));
            }
            _ => out.reserve(block.len() / 4 + 1024),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::codec::{deflate, gzip};

    fn bytes(len: usize) -> Vec<u8> {
        let mut state = 1u32;
        let next = |n: usize| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            if n.is_multiple_of(3) { (state >> 24) as u8 } else { (n / 1000) as u8 }
        };
        (0..len).map(next).collect()
    }

    #[test]
    fn streams_are_those_of_zlib_and_gzip() {
        for len in [0, 1, 1000, BLOCK, 5 * BLOCK + 17, 9 * BLOCK] {
            let raw = bytes(len);
            for (wrapper, level) in [(Wrapper::Zlib, 6), (Wrapper::Gzip, 1), (Wrapper::Gzip, 0)] {
                let mut stream = Deflating::new(Vec::new(), wrapper, level).unwrap();
                raw.chunks(777_777).for_each(|part| stream.put(part).unwrap());
                let (out, written) = stream.finish().unwrap();
                assert_eq!(out.len() as u64, written);
                let back = match wrapper {
                    Wrapper::Zlib => deflate::zlib(&out, len + 1).unwrap(),
                    Wrapper::Gzip => gzip::gzip(&out, len + 1).unwrap(),
                };
                assert!(back == raw, "{len} bytes, {wrapper:?}, level {level}");
                assert!(level == 0 || len < 1000 || out.len() < len);
            }
        }
    }
}
