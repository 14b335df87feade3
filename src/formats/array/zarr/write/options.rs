//! What may be set, and how it is said in the metadata of either version.

use super::encode::{Filter, Packing};
use crate::bytes::codec::blosc::encode as blosc;
use crate::bytes::codec::compress::Compressor;
use crate::bytes::error::Result;
use crate::data::dtype::DType;
use crate::data::format::{OptionSpec, Options};
use crate::engines::blosc::{CNAME, SHUFFLE, codec, shuffle};
use serde_json::{Value as Json, json};
use std::ops::RangeInclusive;

pub(super) const FORMAT: OptionSpec = OptionSpec::new(
    "zarr_format",
    "The version of Zarr: 3, or 2 for older programs; either has all metadata in one document too",
)
.one_of("3", &["3", "2"]);
pub(super) const COMPRESSION: OptionSpec = OptionSpec::new(
    "compression",
    "How chunks are compressed; pcodec: numbers of 16 to 64 bits, others as zstd",
)
.one_of("zstd", &["zstd", "gzip", "bz2", "blosc", "pcodec", "none"]);
pub(super) const LEVEL: OptionSpec = OptionSpec::new(
    "level",
    "How hard the compression tries: zstd -7 to 22, gzip 0 to 9, bz2 1 to 9, blosc 0 to 9, pcodec 0 to 12; auto: 3, 6, 9, 5, 8",
)
.default("auto");
pub(super) const BITROUND: OptionSpec = OptionSpec::new(
    "bitround",
    "How many bits of the mantissa of floats are kept, the others rounded to zero so that they compress; none: all",
)
.default("none");
pub(super) const DELTA: OptionSpec = OptionSpec::new(
    "delta",
    "Integers as differences from the one before, which compress better where they grow",
)
.one_of("no", &["no", "yes"]);
pub(super) const CHUNKS: OptionSpec = OptionSpec::new(
    "chunks",
    "The shape of a chunk (100,100), for arrays of as many dimensions; auto: the source's, or about 1 MB",
)
.default("auto");
pub(super) const SHARDS: OptionSpec = OptionSpec::new("shards", "The shape of a shard of chunks, which is one file (1000,1000); auto: about 64 MB; none: each chunk is one").default("none");

/// All of them, in the order of a dialog.
pub(super) const ALL: &[OptionSpec] =
    &[FORMAT, COMPRESSION, LEVEL, CNAME, SHUFFLE, BITROUND, DELTA, CHUNKS, SHARDS];

/// The version of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    /// <https://zarr-specs.readthedocs.io/en/latest/v2/v2.0.html>
    V2,
    /// <https://zarr-specs.readthedocs.io/en/latest/v3/core/index.html>
    V3,
}

impl Version {
    pub(super) fn of(options: &Options) -> Result<Self> {
        Ok(if options.choice(&FORMAT)? == "2" { Version::V2 } else { Version::V3 })
    }
}

/// What was set.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    pub(super) version: Version,
    compression: Compression,
    bitround: Option<u32>,
    delta: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compression {
    Plain(Compressor),
    /// Elements to bytes, of a level.
    Pco(u8),
}

/// Zstandard's level where nobody says one.
const ZSTD: i32 = 3;

impl Settings {
    pub(super) fn of(options: &Options) -> Result<Self> {
        let bitround = match options.get(BITROUND.name).unwrap_or(BITROUND.default) {
            "none" | "" => None,
            _ => {
                Some(options.number(&BITROUND, "a number of bits, 0 to 52, or none", |bits| *bits <= 52u32)?)
            }
        };
        let delta = options.choice(&DELTA)? == "yes";
        Ok(Settings {
            version: Version::of(options)?,
            compression: Compression::of(options)?,
            bitround,
            delta,
        })
    }

    /// How many bits of the mantissa of elements of a type are kept, where that is not all of them.
    pub(super) fn rounds(&self, dtype: &DType) -> Option<u32> {
        let (_, mantissa) = Filter::float(dtype)?;
        self.bitround.filter(|keep| *keep < mantissa)
    }

    /// What the elements of a type go through before they are bytes.
    pub(super) fn filters(&self, dtype: &DType) -> Vec<Filter> {
        let is_integer = matches!(
            dtype,
            DType::I8
                | DType::I16
                | DType::I32
                | DType::I64
                | DType::U8
                | DType::U16
                | DType::U32
                | DType::U64
        );
        match self.rounds(dtype) {
            Some(keep) => vec![Filter::Round(dtype.clone(), keep)],
            None if self.delta && is_integer => vec![Filter::Delta(dtype.clone())],
            None => Vec::new(),
        }
    }

    /// How elements of a type, of `size` bytes each, are compressed.
    pub(super) fn packing(&self, dtype: &DType, size: usize) -> Packing {
        match self.compression {
            Compression::Pco(level) if super::super::pco::holds(dtype) => Packing::Pco(dtype.clone(), level),
            Compression::Pco(_) => Packing::Plain(Compressor::Zstd(ZSTD)),
            Compression::Plain(Compressor::Blosc(settings)) => {
                // The header has one byte for it.
                let typesize = if (1..=255).contains(&size) { size } else { 1 };
                Packing::Plain(Compressor::Blosc(blosc::Settings { typesize, ..settings }))
            }
            Compression::Plain(compressor) => Packing::Plain(compressor),
        }
    }
}

impl Compression {
    fn of(options: &Options) -> Result<Self> {
        let level = |usual: i32, range: RangeInclusive<i32>| options.within(&LEVEL, usual, range);
        Ok(match options.choice(&COMPRESSION)? {
            "gzip" => Compression::Plain(Compressor::Gzip(level(6, 0..=9)?.unsigned_abs())),
            "bz2" => Compression::Plain(Compressor::Bzip2(level(9, 1..=9)?.unsigned_abs())),
            "blosc" => Compression::Plain(Compressor::Blosc(blosc::Settings {
                codec: codec(options)?,
                level: level(5, 0..=9)? as u8,
                shuffle: shuffle(options)?,
                typesize: 1,
            })),
            "pcodec" => Compression::Pco(level(8, 0..=12)? as u8),
            "none" => Compression::Plain(Compressor::None),
            _ => Compression::Plain(Compressor::Zstd(level(ZSTD, -7..=22)?)),
        })
    }
}

/// A compressor as the documents of a version name it; `None` for none.
pub(super) fn compressor(compressor: Compressor, version: Version) -> Option<Json> {
    let v2 = version == Version::V2;
    let named = |short: &str, full: &str, configuration: Json| match v2 {
        true => {
            let mut all = json!({"id": short});
            if let (Some(all), Json::Object(more)) = (all.as_object_mut(), configuration) {
                all.extend(more);
            }
            all
        }
        false => json!({"name": full, "configuration": configuration}),
    };
    Some(match compressor {
        Compressor::Zstd(level) if v2 => named("zstd", "zstd", json!({"level": level})),
        Compressor::Zstd(level) => named("zstd", "zstd", json!({"level": level, "checksum": false})),
        Compressor::Gzip(level) => named("gzip", "gzip", json!({"level": level})),
        Compressor::Zlib(level) => named("zlib", "numcodecs.zlib", json!({"level": level})),
        Compressor::Bzip2(level) => named("bz2", "numcodecs.bz2", json!({"level": level})),
        Compressor::Blosc(settings) => named("blosc", "blosc", blosc_configuration(&settings, v2)),
        Compressor::None | Compressor::Xz(_) | Compressor::Lz4Java(_) => return None,
    })
}

/// The compressor of a name and its configuration; `None` for those that are not written here.
pub(super) fn read_compressor(name: &str, configuration: &Json) -> Option<Compressor> {
    let number = |key: &str| i32::try_from(configuration.get(key)?.as_i64()?).ok();
    let word = |key: &str| configuration.get(key).and_then(Json::as_str);
    Some(match name {
        "zstd" => Compressor::Zstd(number("level")?),
        "gzip" => Compressor::Gzip(number("level")?.try_into().ok()?),
        "zlib" | "numcodecs.zlib" => Compressor::Zlib(number("level")?.try_into().ok()?),
        "bz2" | "numcodecs.bz2" => Compressor::Bzip2(number("level")?.try_into().ok()?),
        "blosc" => Compressor::Blosc(blosc::Settings {
            codec: match word("cname")? {
                "lz4" => blosc::Codec::Lz4,
                "zlib" => blosc::Codec::Zlib,
                "zstd" => blosc::Codec::Zstd,
                _ => return None,
            },
            level: number("clevel")?.try_into().ok()?,
            shuffle: match (word("shuffle"), number("shuffle")) {
                (Some("noshuffle"), _) | (_, Some(0)) => blosc::Shuffle::None,
                (Some("shuffle"), _) | (_, Some(1)) => blosc::Shuffle::Byte,
                (Some("bitshuffle"), _) | (_, Some(2)) => blosc::Shuffle::Bit,
                _ => return None,
            },
            typesize: number("typesize").map_or(Some(1), |size| size.try_into().ok())?,
        }),
        _ => return None,
    })
}

fn blosc_configuration(settings: &blosc::Settings, v2: bool) -> Json {
    let cname = match settings.codec {
        blosc::Codec::Lz4 => "lz4",
        blosc::Codec::Zlib => "zlib",
        blosc::Codec::Zstd => "zstd",
    };
    let (number, word) = match settings.shuffle {
        blosc::Shuffle::None => (0, "noshuffle"),
        blosc::Shuffle::Byte => (1, "shuffle"),
        blosc::Shuffle::Bit => (2, "bitshuffle"),
    };
    let level = settings.level;
    match v2 {
        true => json!({"cname": cname, "clevel": level, "shuffle": number, "blocksize": 0}),
        false => {
            json!({"cname": cname, "clevel": level, "shuffle": word, "typesize": settings.typesize, "blocksize": 0})
        }
    }
}

/// The configuration of numcodecs' pcodec, which both versions share.
pub(super) fn pcodec(level: u8) -> Json {
    json!({"level": level, "mode_spec": "auto", "delta_spec": "auto", "paging_spec": "equal_pages_up_to",
        "delta_encoding_order": null, "equal_pages_up_to": 1 << 18})
}
