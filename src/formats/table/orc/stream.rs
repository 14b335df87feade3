//! A stream of a stripe: bytes, in compressed chunks.
//!
//! Each chunk has a header of three bytes: its length, and whether it is stored as it is.
//! Specification: <https://orc.apache.org/specification/ORCv1/#compression>.

use crate::bytes::codec;
use crate::bytes::error::{Error, Result};
use crate::bytes::guard::catch_decoder_panic;
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use bytes::Bytes;
use std::ops::Range;

/// How much of a stream without compression is read at once, in bytes.
const PIECE: u64 = 256 << 10;

/// What compresses chunks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Codec {
    #[default]
    None,
    Zlib,
    Snappy,
    Lzo,
    Lz4,
    Zstd,
}

impl Codec {
    /// The codec of a number in the postscript.
    pub(super) fn of(number: u64) -> Result<Codec> {
        Ok(match number {
            0 => Codec::None,
            1 => Codec::Zlib,
            2 => Codec::Snappy,
            3 => Codec::Lzo,
            4 => Codec::Lz4,
            5 => Codec::Zstd,
            6 => return Err(Error::unsupported("ORC with Brotli compression")),
            other => return Err(Error::unsupported(format!("ORC compression number {other}"))),
        })
    }

    /// Its name in the words of the field.
    pub(super) fn name(self) -> &'static str {
        match self {
            Codec::None => "none",
            Codec::Zlib => "zlib",
            Codec::Snappy => "snappy",
            Codec::Lzo => "lzo",
            Codec::Lz4 => "lz4",
            Codec::Zstd => "zstd",
        }
    }

    /// A chunk's bytes, at most `most` of them.
    fn decode(self, chunk: &[u8], most: usize) -> Result<Vec<u8>> {
        match self {
            Codec::None => Ok(chunk.to_vec()),
            Codec::Zlib => codec::deflate::raw(chunk, most),
            Codec::Snappy => codec::snappy::decode(chunk, most),
            Codec::Lz4 => codec::lz4::block(chunk, most),
            Codec::Zstd => codec::zstd::decode(chunk, most),
            Codec::Lzo => {
                // The crate takes no limit; LZO gives at most 255 bytes for one.
                limits::check(chunk.len() as u64 * 255, limits::CHUNK, "an LZO chunk")?;
                let out = catch_decoder_panic("an LZO chunk", || {
                    lzokay_native::decompress_all(chunk, None)
                        .map_err(|e| Error::malformed(format!("LZO data: {e}")))
                })?;
                if out.len() > most {
                    return Err(Error::malformed(format!("LZO data: it gives more than {most} bytes")));
                }
                Ok(out)
            }
        }
    }
}

/// How the streams of a file are compressed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Packing {
    pub(super) codec: Codec,
    /// The most bytes that a chunk decompresses to.
    pub(super) chunk: usize,
}

/// A place in a stream. A clone goes on from the same place.
#[derive(Clone)]
pub(super) struct Stream {
    source: Source,
    task: Task,
    packing: Packing,
    /// The bytes of the file that are not decompressed yet.
    rest: Range<u64>,
    /// The chunk that is read now.
    block: Bytes,
    /// Where in it.
    at: usize,
}

impl Stream {
    /// The stream in the bytes `range` of the file.
    pub(super) fn new(task: &Task, source: &Source, packing: Packing, range: Range<u64>) -> Stream {
        Stream {
            source: source.clone(),
            task: task.clone(),
            packing,
            rest: range,
            block: Bytes::new(),
            at: 0,
        }
    }

    /// From now on it is `task` that can be cancelled.
    pub(super) fn set_task(&mut self, task: &Task) {
        self.task = task.clone();
    }

    /// Whether the work goes on: for loops that need no bytes.
    pub(super) fn check(&self) -> Result<()> {
        self.task.check()
    }

    /// Bytes in memory.
    pub(super) fn memory(&self) -> usize {
        self.block.len() + size_of::<Stream>()
    }

    /// The bytes of the current chunk that are left, of the next one if there are none; empty at the end.
    fn ready(&mut self) -> Result<&[u8]> {
        while self.at >= self.block.len() && !self.rest.is_empty() {
            self.block = self.next()?;
            self.at = 0;
        }
        Ok(self.block.get(self.at..).unwrap_or_default())
    }

    fn next(&mut self) -> Result<Bytes> {
        let (start, end) = (self.rest.start, self.rest.end);
        if self.packing.codec == Codec::None {
            let to = end.min(start + PIECE);
            self.rest.start = to;
            return self.source.read(&self.task, start..to);
        }
        let cut = || Error::malformed("a stream ends in the middle of a chunk").at(start);
        let body = start.checked_add(3).filter(|&at| at <= end).ok_or_else(cut)?;
        let head = self.source.read(&self.task, start..body)?;
        let word = head.iter().rev().fold(0u64, |sum, byte| sum << 8 | u64::from(*byte));
        let to = Some(body + (word >> 1)).filter(|&to| to <= end).ok_or_else(cut)?;
        self.rest.start = to;
        let bytes = self.source.read(&self.task, body..to)?;
        if word & 1 == 1 {
            return Ok(bytes);
        }
        self.packing.codec.decode(&bytes, self.packing.chunk).map(Bytes::from).map_err(|e| e.at(start))
    }

    /// Whether there are no more bytes.
    pub(super) fn is_at_end(&mut self) -> Result<bool> {
        Ok(self.ready()?.is_empty())
    }

    /// The next byte.
    pub(super) fn byte(&mut self) -> Result<u8> {
        let byte = self.ready()?.first().copied().ok_or_else(over)?;
        self.at += 1;
        Ok(byte)
    }

    /// Adds the next `count` bytes to `out`.
    pub(super) fn read(&mut self, mut count: usize, out: &mut Vec<u8>) -> Result<()> {
        while count > 0 {
            let ready = self.ready()?;
            let part =
                ready.get(..count.min(ready.len())).filter(|part| !part.is_empty()).ok_or_else(over)?;
            // What is there is taken: a count that lies does not get memory.
            out.try_reserve(part.len()).map_err(|_| Error::limit("no memory for a stream's bytes"))?;
            out.extend_from_slice(part);
            let taken = part.len();
            self.at += taken;
            count -= taken;
        }
        Ok(())
    }

    /// Passes over `count` bytes.
    pub(super) fn skip(&mut self, mut count: u64) -> Result<()> {
        while count > 0 {
            let there = self.ready()?.len() as u64;
            if there == 0 {
                return Err(over());
            }
            let part = there.min(count);
            self.at += part as usize;
            count -= part;
        }
        Ok(())
    }

    /// All bytes that are left, at most `most`, of `what`.
    pub(super) fn all(&mut self, most: u64, what: &str) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        loop {
            let there = self.ready()?.len();
            if there == 0 {
                return Ok(out);
            }
            limits::check((out.len() + there) as u64, most, what)?;
            self.read(there, &mut out)?;
        }
    }

    /// An integer of any width in groups of seven bits, the lowest first; beyond 128 bits it is an error.
    pub(super) fn wide(&mut self) -> Result<u128> {
        let mut value = 0u128;
        for shift in (0..133).step_by(7) {
            let byte = self.byte()?;
            let bits = u128::from(byte & 0x7f);
            if shift > 121 && bits >> (128 - shift) != 0 {
                break;
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Error::malformed("an integer has more than 128 bits"))
    }

    /// The same of at most 64 bits.
    pub(super) fn varint(&mut self) -> Result<u64> {
        u64::try_from(self.wide()?).map_err(|_| Error::malformed("an integer has more than 64 bits"))
    }
}

/// A column needs more of a stream than there is.
fn over() -> Error {
    Error::malformed("a stream ends before the stripe's rows do")
}
