//! The other way round: whole buffers compressed in one call, in the framings that array formats have for their chunks.
//! What a compressor needs beside the bytes stays with its thread, so that a pass over many chunks makes it once.

use super::blosc::encode as blosc;
use super::checksum;
use crate::bytes::error::{Error, Result};
use ::zstd::zstd_safe::{
    CCtx, CParameter, ErrorCode, ResetDirective, WriteBuf, compress_bound, get_error_name,
};
use flate2::{Compress, Compression, FlushCompress, Status};
use std::cell::RefCell;
use std::io::Write;

/// How a buffer is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compressor {
    /// Not at all.
    None,
    /// Zstandard of a level: 1 is fast, 22 small; below zero faster still.
    Zstd(i32),
    /// gzip: 0 stores, 9 is small.
    Gzip(u32),
    /// A zlib stream: 0 stores, 9 is small.
    Zlib(u32),
    /// bzip2 with blocks of so many times 100 kB, 1 to 9.
    Bzip2(u32),
    /// An xz stream of a preset, 0 to 9.
    Xz(u32),
    /// lz4-java's stream of blocks of so many bytes.
    Lz4Java(usize),
    /// A Blosc chunk.
    Blosc(blosc::Settings),
}

impl Compressor {
    /// The compressed bytes of `input`; without compression itself.
    ///
    /// # Errors
    /// `Limit` for more bytes than the framing holds or without the memory for it.
    pub fn compress(self, input: Vec<u8>) -> Result<Vec<u8>> {
        match self {
            Compressor::None => Ok(input),
            Compressor::Zstd(level) => zstd(&input, level),
            Compressor::Gzip(level) => gzip(&input, level),
            Compressor::Zlib(level) => {
                let mut out = Vec::with_capacity(room(input.len()));
                deflate(&input, level, true, &mut out)?;
                Ok(out)
            }
            Compressor::Bzip2(level) => {
                let out = Vec::with_capacity(room(input.len()));
                let mut writer = ::bzip2::write::BzEncoder::new(out, ::bzip2::Compression::new(level));
                writer.write_all(&input)?;
                Ok(writer.finish()?)
            }
            Compressor::Xz(level) => xz(&input, level),
            Compressor::Lz4Java(block) => lz4_java(&input, block),
            Compressor::Blosc(settings) => blosc::encode(&input, &settings),
        }
    }
}

/// The room that is taken at first for what compresses to about half.
fn room(input: usize) -> usize {
    input / 2 + 64
}

thread_local! {
    static ZSTD: RefCell<Option<CCtx<'static>>> = const { RefCell::new(None) };
    static DEFLATE: RefCell<Option<(u32, bool, Compress)>> = const { RefCell::new(None) };
}

/// One call of this thread's compressor of Zstandard; the library's number of an error where there is one.
fn with_zstd<B: WriteBuf + ?Sized>(
    input: &[u8],
    out: &mut B,
    level: i32,
) -> Result<std::result::Result<usize, ErrorCode>> {
    ZSTD.with_borrow_mut(|kept| {
        let context = match kept {
            Some(context) => context,
            None => kept
                .insert(CCtx::try_create().ok_or_else(|| Error::limit("no memory for a Zstandard encoder"))?),
        };
        let _ = context.reset(ResetDirective::SessionOnly);
        let failed = |code| Error::bug(format!("Zstandard, level {level}: {}", get_error_name(code)));
        context.set_parameter(CParameter::CompressionLevel(level)).map_err(failed)?;
        Ok(context.compress2(out, input))
    })
}

/// One frame.
fn zstd(input: &[u8], level: i32) -> Result<Vec<u8>> {
    let most = compress_bound(input.len());
    let mut out: Vec<u8> = Vec::new();
    // Only asked for, not touched: what is not written takes no memory.
    out.try_reserve_exact(most).map_err(|_| Error::limit(format!("no memory for {most} bytes")))?;
    let made = with_zstd(input, &mut out, level)?;
    made.map_err(|code| Error::limit(format!("Zstandard data: {}", get_error_name(code).to_lowercase())))?;
    out.shrink_to_fit();
    Ok(out)
}

/// One frame into `out`'s first bytes; `None` where it has more.
pub(super) fn zstd_into(input: &[u8], out: &mut [u8], level: i32) -> Result<Option<usize>> {
    Ok(with_zstd(input, out, level)?.ok())
}

/// Calls `run` with this thread's deflater, at its start.
fn with_deflate<T>(level: u32, zlib: bool, run: impl FnOnce(&mut Compress) -> T) -> T {
    DEFLATE.with_borrow_mut(|kept| {
        let fits = kept.as_ref().is_some_and(|(its, wrapped, _)| *its == level && *wrapped == zlib);
        if !fits {
            *kept = None;
        }
        let new = || (level, zlib, Compress::new(Compression::new(level), zlib));
        let (_, _, deflater) = kept.get_or_insert_with(new);
        deflater.reset();
        run(deflater)
    })
}

/// Appends a deflate stream, in zlib's wrapper or bare.
fn deflate(input: &[u8], level: u32, zlib: bool, out: &mut Vec<u8>) -> Result<()> {
    with_deflate(level, zlib, |deflater| {
        loop {
            let taken = usize::try_from(deflater.total_in()).unwrap_or(usize::MAX);
            let rest = input.get(taken..).unwrap_or_default();
            if out.capacity() == out.len() {
                out.try_reserve(rest.len() / 2 + 4096)
                    .map_err(|_| Error::limit("no memory for what is compressed"))?;
            }
            let status = deflater.compress_vec(rest, out, FlushCompress::Finish);
            match status.map_err(|e| Error::bug(format!("deflate: {e}")))? {
                Status::StreamEnd => return Ok(()),
                Status::Ok | Status::BufError => {}
            }
        }
    })
}

/// A zlib stream into `out`'s first bytes; `None` where it has more.
pub(super) fn zlib_into(input: &[u8], out: &mut [u8], level: u32) -> Option<usize> {
    with_deflate(level, true, |deflater| {
        let status = deflater.compress(input, out, FlushCompress::Finish);
        let made = usize::try_from(deflater.total_out()).ok()?;
        matches!(status, Ok(Status::StreamEnd)).then_some(made)
    })
}

/// One member without a name or a time: the same bytes whenever they are written.
fn gzip(input: &[u8], level: u32) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(room(input.len()));
    // Magic, deflate, no flags, no time, no word about the effort, an unknown system.
    out.extend([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]);
    deflate(input, level, false, &mut out)?;
    out.extend(checksum::crc32(input).to_le_bytes());
    out.extend((input.len() as u32).to_le_bytes());
    Ok(out)
}

fn xz(input: &[u8], level: u32) -> Result<Vec<u8>> {
    let mut options = lzma_rust2::XzOptions::with_preset(level);
    // A dictionary beyond the data would only take memory.
    let most = u32::try_from(input.len().next_power_of_two()).unwrap_or(u32::MAX).max(1 << 12);
    options.lzma_options.dict_size = options.lzma_options.dict_size.min(most);
    let failed = |e: std::io::Error| Error::limit(format!("xz data: {e}"));
    let mut writer =
        lzma_rust2::XzWriter::new(Vec::with_capacity(room(input.len())), options).map_err(failed)?;
    writer.write_all(input).map_err(failed)?;
    writer.finish().map_err(failed)
}

/// lz4-java's stream: blocks of `block` bytes, an empty one at the end. A block that does not become smaller is stored
/// as it is. <https://github.com/lz4/lz4-java/blob/master/src/java/net/jpountz/lz4/LZ4BlockOutputStream.java>
fn lz4_java(input: &[u8], block: usize) -> Result<Vec<u8>> {
    const SEED: u32 = 0x9747_b28c;
    const LEAST: u32 = 10;
    let block = block.clamp(64, 32 << 20);
    // The power of two that is not below the block's size says how large blocks can be.
    let level = block.next_power_of_two().trailing_zeros().saturating_sub(LEAST) as u8;
    let mut out = Vec::with_capacity(room(input.len()));
    let mut table = lz4_flex::block::CompressTable::default();
    let mut packed = vec![0; lz4_flex::block::get_maximum_output_size(block.min(input.len()))];
    let head = |out: &mut Vec<u8>, method: u8, stored: usize, raw: usize, check: u32| {
        out.extend(b"LZ4Block");
        out.push(method | level);
        out.extend((stored as u32).to_le_bytes());
        out.extend((raw as u32).to_le_bytes());
        out.extend(check.to_le_bytes());
    };
    for part in input.chunks(block) {
        let made = lz4_flex::block::compress_into_with_table(part, &mut packed, &mut table)
            .map_err(|e| Error::bug(format!("LZ4 block: {e}")))?;
        // The library keeps 28 bits of the hash.
        let check = checksum::xxhash32(part, SEED) & 0x0fff_ffff;
        match packed.get(..made).filter(|_| made < part.len()) {
            Some(packed) => {
                head(&mut out, 0x20, packed.len(), part.len(), check);
                out.extend_from_slice(packed);
            }
            None => {
                head(&mut out, 0x10, part.len(), part.len(), check);
                out.extend_from_slice(part);
            }
        }
    }
    head(&mut out, 0x10, 0, 0, 0);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::super::blosc::encode::{Codec, Settings, Shuffle};
    use super::super::{blosc as decoder, bzip2, deflate, gzip, lz4, lzma, zstd};
    use super::*;
    use proptest::prelude::*;

    fn undone(compressor: Compressor, packed: &[u8], most: usize) -> Result<Vec<u8>> {
        match compressor {
            Compressor::None => Ok(packed.to_vec()),
            Compressor::Zstd(_) => zstd::decode(packed, most),
            Compressor::Gzip(_) => gzip::gzip(packed, most),
            Compressor::Zlib(_) => deflate::zlib(packed, most),
            Compressor::Bzip2(_) => bzip2::decode(packed, most),
            Compressor::Xz(_) => lzma::decode(packed, most),
            Compressor::Lz4Java(_) => lz4::java(packed, most),
            Compressor::Blosc(_) => decoder::decode(packed, most),
        }
    }

    fn any() -> impl Strategy<Value = Compressor> {
        let blosc = (
            prop::sample::select(vec![Codec::Lz4, Codec::Zlib, Codec::Zstd]),
            0u8..=9,
            prop::sample::select(vec![Shuffle::None, Shuffle::Byte, Shuffle::Bit]),
            1usize..20,
        );
        prop_oneof![
            Just(Compressor::None),
            (-5i32..8).prop_map(Compressor::Zstd),
            (0u32..=9).prop_map(Compressor::Gzip),
            (0u32..=9).prop_map(Compressor::Zlib),
            (1u32..=9).prop_map(Compressor::Bzip2),
            (0u32..=4).prop_map(Compressor::Xz),
            (64usize..70_000).prop_map(Compressor::Lz4Java),
            blosc.prop_map(|(codec, level, shuffle, typesize)| Compressor::Blosc(Settings {
                codec,
                level,
                shuffle,
                typesize
            })),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn what_is_compressed_is_read(compressor in any(), len in 0usize..200_000, noise in 0u32..4) {
            let byte = |n: u32| match noise {
                0 => (n / 500) as u8,
                1 => (n % 7) as u8,
                2 => (n.wrapping_mul(2_654_435_761) >> 24) as u8,
                _ => if n < 40_000 { (n.wrapping_mul(2_654_435_761) >> 24) as u8 } else { 3 },
            };
            let bytes: Vec<u8> = (0..len as u32).map(byte).collect();
            let packed = compressor.compress(bytes.clone()).unwrap();
            prop_assert!(undone(compressor, &packed, len).unwrap() == bytes, "{:?}, {} bytes", compressor, len);
        }
    }
}
