//! What `attributes.json` says: of an array its shape, type and compression; of physical space its axes.

use super::DOCUMENT;
use crate::bytes::error::{Error, Result};
use crate::data::content::array::Axis;
use crate::data::dtype::DType;
use crate::data::node::Value;
use serde_json::{Map, Value as Json};

/// The most dimensions of an array.
const DIMENSIONS: usize = 64;
/// The version of the format, which the root says.
pub(super) const VERSION: &str = "n5";
/// The keys that describe the array itself.
pub(super) const RESERVED: [&str; 5] =
    ["dimensions", "blockSize", "dataType", "compression", "compressionType"];

/// A document.
pub(super) type Object = Map<String, Json>;

/// What an array is; dimensions slowest first.
#[derive(Clone, Debug)]
pub(super) struct Dataset {
    pub(super) shape: Vec<u64>,
    pub(super) block: Vec<u64>,
    pub(super) dtype: DType,
    pub(super) compression: Compression,
}

/// How blocks are compressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Compression {
    Raw,
    Gzip,
    Zlib,
    Bzip2,
    Xz,
    Lz4,
    /// With the inner codec's name.
    Blosc(String),
    Zstd,
    Unknown(String),
}

impl Compression {
    fn read(json: &Object) -> Compression {
        let given = json.get("compression");
        let word = given.and_then(|c| c.get("type").or_else(|| c.get("id")).or(Some(c)));
        // The first version of the format had another key.
        let word = word.or_else(|| json.get("compressionType")).and_then(Json::as_str).unwrap_or("raw");
        let zlib = given.and_then(|c| c.get("useZlib")).and_then(Json::as_bool) == Some(true);
        match word {
            "raw" => Compression::Raw,
            "gzip" if zlib => Compression::Zlib,
            "gzip" => Compression::Gzip,
            "zlib" => Compression::Zlib,
            "bzip2" => Compression::Bzip2,
            "xz" | "lzma" => Compression::Xz,
            "lz4" => Compression::Lz4,
            "blosc" => {
                let inner = given.and_then(|c| c.get("cname")).and_then(Json::as_str);
                Compression::Blosc(inner.unwrap_or("").to_owned())
            }
            "zstd" | "zstandard" => Compression::Zstd,
            other => Compression::Unknown(other.to_owned()),
        }
    }

    /// The codecs' names, in the order of compressing.
    pub(super) fn words(&self) -> Vec<String> {
        let one = |word: &str| vec![word.to_owned()];
        match self {
            Compression::Raw => Vec::new(),
            Compression::Gzip => one("gzip"),
            Compression::Zlib => one("zlib"),
            Compression::Bzip2 => one("bzip2"),
            Compression::Xz => one("xz"),
            Compression::Lz4 => one("lz4"),
            Compression::Blosc(inner) if inner.is_empty() => one("blosc"),
            Compression::Blosc(inner) => one(&format!("blosc ({inner})")),
            Compression::Zstd => one("zstd"),
            Compression::Unknown(word) => one(word),
        }
    }
}

impl Dataset {
    /// The array that a document describes; `None` for a group's.
    pub(super) fn read(json: &Object) -> Option<Result<Dataset>> {
        if !json.contains_key("dimensions") || !json.contains_key("dataType") {
            return None;
        }
        Some(Self::parse(json))
    }

    fn parse(json: &Object) -> Result<Dataset> {
        let shape = sides(json, "dimensions")?;
        let block = if json.contains_key("blockSize") { sides(json, "blockSize")? } else { shape.clone() };
        if block.len() != shape.len() {
            return Err(Error::malformed(format!(
                "{DOCUMENT}: {} dimensions, but blocks have {}",
                shape.len(),
                block.len()
            )));
        }
        let word = json.get("dataType").and_then(Json::as_str).unwrap_or_default();
        let dtype = match word {
            "uint8" => DType::U8,
            "uint16" => DType::U16,
            "uint32" => DType::U32,
            "uint64" => DType::U64,
            "int8" => DType::I8,
            "int16" => DType::I16,
            "int32" => DType::I32,
            "int64" => DType::I64,
            "float32" => DType::F32,
            "float64" => DType::F64,
            "string" => DType::text(),
            "object" => return Err(Error::unsupported("blocks of Java objects (dataType \"object\")")),
            other => return Err(Error::malformed(format!("{DOCUMENT}: the dataType is {other:?}"))),
        };
        Ok(Dataset { shape, block, dtype, compression: Compression::read(json) })
    }
}

/// A list of lengths, turned round.
fn sides(json: &Object, key: &str) -> Result<Vec<u64>> {
    let wrong = |what: String| Error::malformed(format!("{DOCUMENT}: {key} {what}"));
    let list = json.get(key).and_then(Json::as_array).ok_or_else(|| wrong("is not a list".to_owned()))?;
    if list.is_empty() || list.len() > DIMENSIONS {
        return Err(wrong(format!("has {} entries; 1 to {DIMENSIONS} can be", list.len())));
    }
    let side = |json: &Json| {
        // z5 has written lengths as floats.
        let whole = json.as_f64().filter(|n| *n >= 0.0 && n.fract() == 0.0 && *n < 9e15).map(|n| n as u64);
        json.as_u64().or(whole).ok_or_else(|| wrong(format!("holds {json}")))
    };
    list.iter().rev().map(side).collect()
}

/// A document's own attributes.
pub(super) fn attributes(json: &Object, is_array: bool) -> Vec<(String, Value)> {
    let own = |key: &str| !is_array || !RESERVED.contains(&key);
    json.iter().filter(|(key, _)| own(key)).map(|(k, v)| (k.clone(), v.clone().into())).collect()
}

/// Physical space, as groups and arrays describe it; dimensions fastest first, as written.
#[derive(Clone, Debug, Default)]
pub(super) struct Space {
    names: Vec<String>,
    units: Vec<String>,
    resolution: Vec<f64>,
    offset: Vec<f64>,
    /// The factors of the levels `s0`, `s1` …
    scales: Vec<Vec<f64>>,
}

impl Space {
    /// What a document says, and else what the group around it said.
    pub(super) fn within(json: &Object, around: &Space) -> Space {
        let pixel = json.get("pixelResolution").filter(|p| p.is_object());
        let unit = pixel.and_then(|p| p.get("unit")).and_then(Json::as_str);
        let resolution = json.get("resolution").or_else(|| json.get("pixelResolution"));
        let resolution = numbers(pixel.and_then(|p| p.get("dimensions")).or(resolution));
        let mut space = Space {
            names: texts(json.get("axes")),
            units: texts(json.get("units")),
            offset: numbers(json.get("offset")),
            scales: list(json.get("scales")).iter().map(|factors| numbers(Some(factors))).collect(),
            resolution,
        };
        if let Some(unit) = unit.filter(|_| space.units.is_empty()) {
            space.units = vec![unit.to_owned(); space.resolution.len()];
        }
        let inherit = |own: &mut Vec<String>, other: &Vec<String>| {
            if own.is_empty() {
                own.clone_from(other);
            }
        };
        inherit(&mut space.names, &around.names);
        inherit(&mut space.units, &around.units);
        if space.resolution.is_empty() {
            space.resolution.clone_from(&around.resolution);
        }
        if space.scales.is_empty() {
            space.scales.clone_from(&around.scales);
        }
        space
    }

    /// The axes of an array of `rank` dimensions called `name`, slowest first; none where nothing is said.
    pub(super) fn axes(&self, json: &Object, name: &str, rank: usize) -> Vec<Axis> {
        let known = [self.names.len(), self.units.len(), self.resolution.len()];
        if !known.contains(&rank) {
            return Vec::new();
        }
        let level = name.strip_prefix('s').and_then(|n| n.parse::<usize>().ok());
        let mut factors = numbers(json.get("downsamplingFactors"));
        if factors.is_empty() {
            factors = level.and_then(|n| self.scales.get(n)).cloned().unwrap_or_default();
        }
        let axis = |d: usize| {
            let step = self.resolution.get(d).filter(|_| self.resolution.len() == rank);
            let factor = factors.get(d).copied().unwrap_or(1.0);
            let offset = self.offset.get(d).copied().unwrap_or(0.0);
            Axis {
                name: self.names.get(d).filter(|_| self.names.len() == rank).cloned().unwrap_or_default(),
                unit: self.units.get(d).filter(|_| self.units.len() == rank).cloned(),
                // A pixel of a smaller level lies in the middle of those that it was made of.
                regular: step.map(|step| (offset + step * (factor - 1.0) / 2.0, step * factor)),
                ..Axis::default()
            }
        };
        (0..rank).rev().map(axis).collect()
    }
}

fn list(json: Option<&Json>) -> &[Json] {
    json.and_then(Json::as_array).map_or(&[], Vec::as_slice)
}

fn texts(json: Option<&Json>) -> Vec<String> {
    list(json).iter().map(|item| item.as_str().unwrap_or_default().to_owned()).collect()
}

fn numbers(json: Option<&Json>) -> Vec<f64> {
    list(json).iter().map(|item| item.as_f64().unwrap_or(1.0)).collect()
}
