//! What can be set of files in HDF5: how datasets are cut into chunks, and what chunks go through.

use super::library::{Compression, Creation, Filters, LATEST, Storage};
use crate::bytes::codec::{checksum, shuffle};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::data::chunked::write;
use crate::data::format::{OptionSpec, Options};
use hdf5_sys::h5f::H5F_libver_t;
use std::io::Write;

pub(super) const COMPRESSION: OptionSpec = OptionSpec::new(
    "compression",
    "How chunks are compressed; readers need a plugin for zstd (filter 32015, in hdf5plugin), and texts and records are gzip then",
)
.one_of("gzip", &["gzip", "zstd", "none"]);
pub(super) const LEVEL: OptionSpec =
    OptionSpec::new("level", "How hard it tries: gzip 0 to 9 (4 if not set), zstd 1 to 22 (3 if not set)");
pub(super) const SHUFFLE: OptionSpec =
    OptionSpec::new("shuffle", "Sort the bytes of numbers by their place, which makes them compress better")
        .one_of("yes", &["yes", "no"]);
pub(super) const FLETCHER32: OptionSpec =
    OptionSpec::new("fletcher32", "Put a checksum behind every chunk, which readers check")
        .one_of("no", &["yes", "no"]);
pub(super) const CHUNKS: OptionSpec = OptionSpec::new(
    "chunks",
    "The shape of a chunk (100,100), for arrays of as many dimensions; auto: about 1 MB; contiguous: in one piece",
)
.default("auto");
pub(super) const LIBVER: OptionSpec = OptionSpec::new(
    "libver",
    "The version of HDF5's library whose structures are used: earliest takes what every version reads; latest is faster for many objects",
)
.one_of("earliest", &["earliest", "v108", "v110", "v112", "v114", "latest"]);
pub(super) const NULLS: OptionSpec = OptionSpec::new(
    "nulls",
    "What happens to null cells, which the file cannot hold: an error, or empty text, zero or NaN",
)
.one_of("refuse", &["refuse", "fill"]);

/// Bytes of a chunk whose shape nobody chose.
pub(super) const AUTO: u64 = 1 << 20;

/// What was set.
pub(super) struct Settings {
    filters: Filters,
    /// `None` for auto, empty for one piece.
    chunks: Option<Vec<u64>>,
    pub(super) fill: bool,
}

impl Settings {
    pub(super) fn of(options: &Options) -> Result<Self> {
        let compression = match options.choice(&COMPRESSION)? {
            "gzip" => Compression::Gzip(level(options, "4", 0..=9)?),
            "zstd" => Compression::Zstd(level(options, "3", 1..=22)?),
            _ => Compression::None,
        };
        let shuffle = compression != Compression::None && options.choice(&SHUFFLE)? == "yes";
        let fletcher32 = options.choice(&FLETCHER32)? == "yes";
        let is_asked =
            options.get(COMPRESSION.name).is_some() && compression != Compression::None || fletcher32;
        let chunks = match options.choice(&CHUNKS)? {
            "none" | "contiguous" if is_asked => {
                return Err(Error::unsupported(
                    "chunks=contiguous: what is compressed or has checksums is in chunks; set compression=none",
                ));
            }
            "none" | "contiguous" => Some(Vec::new()),
            text => write::sides(CHUNKS.name, text)?,
        };
        let fill = options.choice(&NULLS)? == "fill";
        Ok(Settings { filters: Filters { shuffle, compression, fletcher32 }, chunks, fill })
    }

    /// Whether chunks go through nothing.
    fn is_plain(&self) -> bool {
        self.filters.compression == Compression::None && !self.filters.fletcher32
    }

    /// The storage of a dataset of this shape with elements of `size` bytes.
    pub(super) fn storage(&self, shape: &[u64], size: u64, most: u64) -> Result<Storage> {
        self.growing(shape, &[], size, most)
    }

    /// The storage of a dataset some of whose dimensions can grow, which is in chunks.
    pub(super) fn growing(&self, shape: &[u64], unlimited: &[bool], size: u64, most: u64) -> Result<Storage> {
        let one_piece = Storage::default();
        let grows = unlimited.contains(&true);
        if !grows && (shape.is_empty() || shape.contains(&0)) {
            return Ok(one_piece);
        }
        let chunk = match &self.chunks {
            None if self.is_plain() && most == AUTO && !grows => return Ok(one_piece),
            Some(chunk) if chunk.is_empty() && !grows => return Ok(one_piece),
            Some(chunk) if !chunk.is_empty() && chunk.len() != shape.len() => {
                return Err(Error::unsupported(format!(
                    "chunks={chunk:?} of {} dimensions for an array of {}",
                    chunk.len(),
                    shape.len()
                )));
            }
            // A chunk beyond the array would only be padding.
            Some(chunk) if !chunk.is_empty() => {
                chunk.iter().zip(shape).map(|(side, len)| (*side).min((*len).max(1))).collect()
            }
            _ => write::halved(shape, (most / size.max(1)).max(1)),
        };
        limits::check(limits::bytes(&chunk, size)?, limits::CHUNK, "a chunk")?;
        let unlimited = unlimited.to_vec();
        Ok(Storage { chunk: Some(chunk), filters: self.filters, whole: false, unlimited })
    }
}

fn level(options: &Options, default: &str, range: std::ops::RangeInclusive<u32>) -> Result<u32> {
    let text = options.get(LEVEL.name).filter(|text| !text.trim().is_empty()).unwrap_or(default);
    text.trim().parse().ok().filter(|level| range.contains(level)).ok_or_else(|| {
        Error::unsupported(format!("level={text}: it is a number from {} to {}", range.start(), range.end()))
    })
}

/// How a file of these options is made.
pub(super) fn creation(options: &Options) -> Result<Creation> {
    use H5F_libver_t::*;
    let versions = match options.choice(&LIBVER)? {
        "v108" => (H5F_LIBVER_V18, H5F_LIBVER_V18),
        "v110" => (H5F_LIBVER_V110, H5F_LIBVER_V110),
        "v112" => (H5F_LIBVER_V112, H5F_LIBVER_V112),
        "v114" => (H5F_LIBVER_V114, H5F_LIBVER_V114),
        "latest" => (LATEST, LATEST),
        _ => return Ok(Creation::default()),
    };
    Ok(Creation { versions, ..Creation::default() })
}

/// A chunk of elements of `size` bytes as its filters leave it.
pub(super) fn filtered(bytes: Vec<u8>, size: usize, filters: &Filters) -> Result<Vec<u8>> {
    let bytes = if filters.shuffle && size > 1 { shuffle::shuffle(&bytes, size) } else { bytes };
    let mut bytes = match filters.compression {
        Compression::None => bytes,
        Compression::Gzip(level) => {
            let room = Vec::with_capacity(bytes.len() / 2);
            let mut encoder = flate2::write::ZlibEncoder::new(room, flate2::Compression::new(level));
            encoder.write_all(&bytes)?;
            encoder.finish()?
        }
        // With the size of the content in its header, which the filter's readers want.
        Compression::Zstd(level) => zstd::bulk::compress(&bytes, level as i32)?,
    };
    if filters.fletcher32 {
        bytes.extend(checksum::fletcher32(&bytes).to_le_bytes());
    }
    Ok(bytes)
}
