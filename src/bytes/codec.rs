//! Codecs: what turns the stored bytes of a chunk into its elements — compression, filters that make bytes
//! compress better, checksums. The formats that are made of chunks (HDF5, Zarr, N5, bloscpack, FITS) share
//! them.
//!
//! Compression is a [`Decompressor`](decompress::Decompressor) for each algorithm. Whoever has the bytes drives it:
//! [`crate::bytes::stream`] piece by piece over files; whole buffers are functions over slices, which take the
//! library's one call where there is one. `most` is the number of bytes that the caller can use: no codec gives or
//! allocates more, and more in the input is an error. Where the caller knows the exact size, it compares
//! afterwards ([`crate::data::chunked`] does).
//!
//! | module | what |
//! |---|---|
//! | [`decompress`] | what all decompressors have in common |
//! | [`deflate`], [`gzip`], [`zstd`], [`bzip2`], [`lzma`], [`lz4`], [`lz4_frame`], [`lzf`], [`snappy`] | general compression, in the framings that files and array formats use |
//! | [`deflating`] | deflate on all cores, for writers |
//! | [`blosc`], [`blosc2`], [`blosclz`] | Blosc's chunks, frames and its own compression |
//! | [`shuffle`], [`bitshuffle`] | bytes or bits of the elements sorted by their significance |
//! | [`szip`], [`nbit`], [`scaleoffset`], [`zfp`] | compression that knows numbers (HDF5) |
//! | [`compress`] | the other way round: what writers of chunks compress whole buffers by |
//! | [`checksum`] | Fletcher-32, Adler-32, CRC-32, CRC-32C, lookup3, xxHash |

mod bits;
pub mod bitshuffle;
pub mod blosc;
pub mod blosc2;
pub mod blosclz;
pub mod bzip2;
pub mod checksum;
pub mod compress;
pub mod decompress;
pub mod deflate;
pub mod deflating;
pub mod gzip;
pub mod inflater;
pub mod lz4;
pub mod lz4_frame;
pub mod lzf;
pub mod lzma;
pub mod nbit;
pub mod scaleoffset;
pub mod shuffle;
pub mod snappy;
pub mod szip;
#[cfg(test)]
mod tests;
pub mod zfp;
pub mod zstd;

use crate::bytes::error::{Error, Result};
use crate::bytes::limits;

/// A zeroed buffer for what `input` bytes may become: at most `most`, and at most `ratio` bytes for each.
/// One byte more than that, so that too much is noticed.
fn room(input: usize, ratio: usize, most: usize, what: &str) -> Result<Vec<u8>> {
    let size = input.saturating_mul(ratio).saturating_add(64).min(most).saturating_add(1);
    limits::buffer((size as u64).min(limits::CHUNK), what)
}

/// `out` cut to `len` bytes; memory that stays unused is given back where it is much.
fn cut_to(mut out: Vec<u8>, len: usize) -> Vec<u8> {
    out.truncate(len);
    if out.capacity() / 4 > len.max(1024) {
        out.shrink_to_fit();
    }
    out
}

/// The error of a stream that holds more than it should.
fn too_much(what: &str, most: usize) -> Error {
    Error::malformed(format!("{what}: it decodes to more than the {most} bytes that belong there"))
}

/// The error of a stream that ends early.
fn cut_off(what: &str) -> Error {
    Error::malformed(format!("{what}: it ends in the middle of its data"))
}
