//! From the elements of a chunk to its stored bytes: filters on numbers, what makes bytes of them, compression.
//! <https://numcodecs.readthedocs.io/en/stable/>

use super::super::pco;
use super::data_type::Stored;
use super::options::{Settings, Version, compressor, pcodec, read_compressor};
use crate::bytes::codec::blosc::encode as blosc;
use crate::bytes::codec::compress::Compressor;
use crate::bytes::error::{Error, Result};
use crate::data::dtype::{DType, with_integer};
use arrow::array::{Array, ArrayRef, AsArray};
use serde_json::{Value as Json, json};

/// What elements are to codecs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Elements {
    /// So many bytes each, little-endian already.
    Bytes(usize),
    /// Texts of any length.
    Texts,
    /// Byte strings of any length.
    Binaries,
}

/// A filter on numbers of a type.
#[derive(Clone, Debug)]
pub(super) enum Filter {
    /// Integers as differences from the one before.
    Delta(DType),
    /// Floats with so many bits of the mantissa, the nearest to what they were.
    Round(DType, u32),
}

/// What makes bytes of elements that went through the filters.
#[derive(Clone, Debug)]
pub(super) enum Packing {
    /// The elements as they are, compressed.
    Plain(Compressor),
    /// Pco of numbers of a type and of a level.
    Pco(DType, u8),
}

/// The codecs of an array's chunks.
#[derive(Clone)]
pub(super) struct Codecs {
    elements: Elements,
    filters: Vec<Filter>,
    packing: Packing,
}

impl Codecs {
    /// For elements of `dtype`, which are `elements` to codecs.
    pub(super) fn new(dtype: &DType, elements: Elements, settings: &Settings) -> Self {
        let size = if let Elements::Bytes(size) = elements { size } else { 1 };
        Codecs { elements, filters: settings.filters(dtype), packing: settings.packing(dtype, size) }
    }

    /// Those of a list in a `zarr.json`; `None` where they are not written here.
    pub(super) fn read_v3(list: &[Json], dtype: &DType, stored: &Stored) -> Option<Self> {
        let name = |codec: &Json| codec.get("name").and_then(Json::as_str).map(str::to_owned);
        let find = |wanted: &str| list.iter().find(|codec| name(codec).as_deref() == Some(wanted));
        let number = |codec: &Json, key: &str| codec.get("configuration")?.get(key)?.as_u64();
        let mut filters = Vec::new();
        if find("numcodecs.delta").is_some() {
            filters.push(Filter::Delta(dtype.clone()));
        }
        if let Some(codec) = find("numcodecs.bitround") {
            filters.push(Filter::Round(dtype.clone(), u32::try_from(number(codec, "keepbits")?).ok()?));
        }
        let packing = match find("numcodecs.pcodec") {
            Some(codec) => Packing::Pco(dtype.clone(), u8::try_from(number(codec, "level")?).ok()?),
            None => {
                let last = list.last().filter(|codec| **codec != stored.codec);
                Packing::Plain(last.map_or(Some(Compressor::None), |codec| {
                    read_compressor(&name(codec)?, codec.get("configuration")?)
                })?)
            }
        };
        let codecs = Codecs { elements: stored.elements, filters, packing };
        (codecs.of_v3(&stored.codec) == list).then_some(codecs)
    }

    /// Those of a `.zarray`; `None` where they are not written here.
    pub(super) fn read_v2(filters: &Json, compressor: &Json, dtype: &DType, stored: &Stored) -> Option<Self> {
        let id = |codec: &Json| codec.get("id").and_then(Json::as_str).map(str::to_owned);
        let mut read = Vec::new();
        for filter in filters.as_array().map(Vec::as_slice).unwrap_or_default() {
            match id(filter)?.as_str() {
                "delta" => read.push(Filter::Delta(dtype.clone())),
                "bitround" => {
                    let keep = filter.get("keepbits")?.as_u64()?;
                    read.push(Filter::Round(dtype.clone(), u32::try_from(keep).ok()?));
                }
                _ => {}
            }
        }
        let packing = match compressor {
            Json::Null => Packing::Plain(Compressor::None),
            codec if id(codec)? == "pcodec" => {
                Packing::Pco(dtype.clone(), u8::try_from(codec.get("level")?.as_u64()?).ok()?)
            }
            codec => {
                let packing = read_compressor(&id(codec)?, codec)?;
                match (packing, stored.elements) {
                    // Which version 2 does not say.
                    (Compressor::Blosc(settings), Elements::Bytes(size)) => {
                        let typesize = if (1..=255).contains(&size) { size } else { 1 };
                        Packing::Plain(Compressor::Blosc(blosc::Settings { typesize, ..settings }))
                    }
                    (packing, _) => Packing::Plain(packing),
                }
            }
        };
        let codecs = Codecs { elements: stored.elements, filters: read, packing };
        (codecs.of_v2() == (filters.clone(), compressor.clone())).then_some(codecs)
    }

    /// The list in a `zarr.json`; `serializer` makes bytes of elements that no codec takes as numbers.
    pub(super) fn of_v3(&self, serializer: &Json) -> Vec<Json> {
        let mut all: Vec<Json> = self.filters.iter().map(|filter| filter.named(Version::V3)).collect();
        match &self.packing {
            Packing::Plain(codec) => {
                all.push(serializer.clone());
                all.extend(compressor(*codec, Version::V3));
            }
            Packing::Pco(_, level) => {
                all.push(json!({"name": "numcodecs.pcodec", "configuration": pcodec(*level)}));
            }
        }
        all
    }

    /// `filters` and `compressor` of a `.zarray`.
    pub(super) fn of_v2(&self) -> (Json, Json) {
        let mut filters: Vec<Json> = self.filters.iter().map(|filter| filter.named(Version::V2)).collect();
        match self.elements {
            Elements::Bytes(_) => {}
            Elements::Texts => filters.push(json!({"id": "vlen-utf8"})),
            Elements::Binaries => filters.push(json!({"id": "vlen-bytes"})),
        }
        let compressor = match &self.packing {
            Packing::Plain(codec) => compressor(*codec, Version::V2).unwrap_or(Json::Null),
            Packing::Pco(_, level) => {
                let mut all = json!({"id": "pcodec"});
                if let (Some(all), Json::Object(more)) = (all.as_object_mut(), pcodec(*level)) {
                    all.extend(more);
                }
                all
            }
        };
        (if filters.is_empty() { Json::Null } else { Json::from(filters) }, compressor)
    }

    /// The stored bytes of a chunk of elements with a size, in C order.
    ///
    /// # Errors
    /// Those of the codecs.
    pub(super) fn encode(&self, mut bytes: Vec<u8>) -> Result<Vec<u8>> {
        self.filters.iter().for_each(|filter| filter.apply(&mut bytes));
        match &self.packing {
            Packing::Plain(compressor) => compressor.compress(bytes),
            Packing::Pco(dtype, level) => pco::encode(&bytes, dtype, *level),
        }
    }

    /// The same for elements without a size: `cells` says which row of the column each is; nulls and `None` are empty.
    /// numcodecs' form: how many, then each behind its length.
    ///
    /// # Errors
    /// Those of the codecs; `Limit` for a chunk or an element of 4 GB; `Bug` for a column of something else.
    pub(super) fn encode_column(&self, column: &ArrayRef, cells: &[Option<usize>]) -> Result<Vec<u8>> {
        let (texts, bytes) = (column.as_string_opt::<i32>(), column.as_binary_opt::<i32>());
        if texts.is_none() && bytes.is_none() {
            return Err(Error::bug(format!("zarr: a column of {} as texts", column.data_type())));
        }
        let value = |row: usize| -> Option<&[u8]> {
            match (texts, bytes) {
                _ if row >= column.len() || column.is_null(row) => None,
                (Some(texts), _) => Some(texts.value(row).as_bytes()),
                (_, Some(bytes)) => Some(bytes.value(row)),
                _ => None,
            }
        };
        let length = |len: usize| {
            let len = u32::try_from(len).map_err(|_| Error::limit("zarr: a chunk or text of 4 GB"))?;
            Ok::<_, Error>(len.to_le_bytes())
        };
        let mut out = Vec::with_capacity(4 + cells.len() * 16);
        out.extend(length(cells.len())?);
        for cell in cells {
            let value = cell.and_then(value).unwrap_or_default();
            out.extend(length(value.len())?);
            out.extend_from_slice(value);
        }
        match &self.packing {
            Packing::Plain(compressor) => compressor.compress(out),
            Packing::Pco(..) => Err(Error::bug("zarr: texts as numbers")),
        }
    }
}

impl Filter {
    /// Bytes and bits of the mantissa of a float type whose bits can be rounded.
    pub(super) fn float(dtype: &DType) -> Option<(usize, u32)> {
        match dtype {
            DType::F16 => Some((2, 10)),
            DType::F32 => Some((4, 23)),
            DType::F64 => Some((8, 52)),
            _ => None,
        }
    }

    /// As a version names it.
    fn named(&self, version: Version) -> Json {
        let word = |dtype: &DType| crate::engines::numpy::typestr(dtype).unwrap_or_default();
        match (self, version) {
            (Filter::Delta(dtype), Version::V2) => json!({"id": "delta", "dtype": word(dtype)}),
            (Filter::Delta(dtype), Version::V3) => {
                json!({"name": "numcodecs.delta", "configuration": {"dtype": word(dtype)}})
            }
            (Filter::Round(_, keep), Version::V2) => json!({"id": "bitround", "keepbits": keep}),
            (Filter::Round(_, keep), Version::V3) => {
                json!({"name": "numcodecs.bitround", "configuration": {"keepbits": keep}})
            }
        }
    }

    fn apply(&self, bytes: &mut [u8]) {
        match self {
            Filter::Delta(dtype) => with_integer!(dtype, T => {
                let mut before: T = 0;
                for place in bytes.as_chunks_mut::<{ size_of::<T>() }>().0 {
                    let value = T::from_le_bytes(*place);
                    *place = value.wrapping_sub(before).to_le_bytes();
                    before = value;
                }
            }, _ => {}),
            Filter::Round(dtype, keep) => match Self::float(dtype) {
                Some((2, mantissa)) => round(bytes.as_chunks_mut::<2>().0, mantissa, *keep),
                Some((4, mantissa)) => round(bytes.as_chunks_mut::<4>().0, mantissa, *keep),
                Some((8, mantissa)) => round(bytes.as_chunks_mut::<8>().0, mantissa, *keep),
                _ => {}
            },
        }
    }
}

/// Rounds floats of N bytes to `keep` of the `mantissa` bits behind the exponent, of two that are as near to the even
/// one. NaN and infinities stay as they are.
fn round<const N: usize>(floats: &mut [[u8; N]], mantissa: u32, keep: u32) {
    let gone = mantissa - keep.min(mantissa);
    if gone == 0 {
        return;
    }
    let exponent = ((1u64 << (N as u32 * 8 - 1 - mantissa)) - 1) << mantissa;
    let half = (1u64 << (gone - 1)) - 1;
    for place in floats {
        let mut wide = [0; 8];
        wide.iter_mut().zip(place.iter()).for_each(|(to, from)| *to = *from);
        let bits = u64::from_le_bytes(wide);
        if bits & exponent == exponent {
            continue;
        }
        let rounded = (bits + (bits >> gone & 1) + half) >> gone << gone;
        place.iter_mut().zip(rounded.to_le_bytes()).for_each(|(to, from)| *to = from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_rounded_to_the_nearest() {
        let rounded = |value: f32, keep| {
            let mut bytes = value.to_le_bytes();
            Filter::Round(DType::F32, keep).apply(&mut bytes);
            f32::from_le_bytes(bytes)
        };
        assert_eq!(rounded(1.0 + 0.25 + 0.0625, 2), 1.25);
        assert_eq!(rounded(1.0 + 0.125, 2), 1.0, "a tie goes to the even one");
        assert_eq!(rounded(1.0 + 0.375, 2), 1.5, "a tie goes to the even one");
        assert_eq!(rounded(-1.999, 2), -2.0);
        assert_eq!(rounded(f32::INFINITY, 0), f32::INFINITY);
        assert!(rounded(f32::from_bits(0x7fff_ffff), 0).is_nan());
        assert_eq!(rounded(0.1, 23), 0.1);
        let mut half = half::f16::from_f32(1.3).to_le_bytes();
        Filter::Round(DType::F16, 1).apply(&mut half);
        assert_eq!(half::f16::from_le_bytes(half).to_f32(), 1.5);
    }
}
