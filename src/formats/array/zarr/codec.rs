//! Codecs as their decoders: those of the specification, its registered extensions, and numcodecs'.
//! <https://zarr-specs.readthedocs.io/en/latest/v3/codecs/index.html>,
//! <https://github.com/zarr-developers/zarr-extensions/tree/main/codecs>,
//! <https://numcodecs.readthedocs.io/en/stable/>

use super::dtype::{ByteOrder, Element};
use super::filters::{self, Numbers, Packing, Padding};
use super::json::{Object, base64, whole};
use super::pco;
use crate::bytes::codec::lzma::Filter;
use crate::bytes::codec::{self, checksum};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::numbers::le_or_zero;
use crate::bytes::strides::{self, Axis};
use crate::data::dtype::DType;
use bytes::Bytes;
use serde_json::Value;

/// One codec, as what undoes it.
#[derive(Clone, Debug)]
pub(super) enum Codec {
    Blosc,
    Zstd,
    Gzip,
    Zlib,
    Bzip2,
    /// numcodecs' LZ4: a block after its size.
    Lz4,
    /// With these filters where it has no container that says them.
    Lzma(Option<Vec<Filter>>),
    /// Bytes of elements of so many bytes, sorted by their place in the element.
    Shuffle(usize),
    /// numcodecs' ZFP: a stream with its header.
    Zfp,
    /// numcodecs' pcodec of numbers of this type.
    Pco(DType),
    Checksum(Checksum, At),
    Base64,
    Sums(Numbers, Numbers),
    Scaled {
        from: Numbers,
        to: Numbers,
        scale: f64,
        offset: f64,
    },
    Cast(Numbers, Numbers),
    /// numcodecs' packed booleans.
    Unpack,
    /// So many packed components.
    Packing(Packing, u64),
    /// Elements of the type from this byte order.
    Turn(ByteOrder, DType),
    /// Elements of so many bytes from another order of dimensions.
    Transpose(Vec<Axis>, usize),
    /// Integers of fewer bits than a byte.
    Widen(Element),
}

/// A checksum of 32 bits beside the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Checksum {
    Crc32,
    Crc32c,
    Adler32,
    Fletcher32,
    /// Bob Jenkins' lookup3 with this start value.
    Lookup3(u32),
}

/// Where a checksum stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum At {
    Start,
    End,
}

impl Codec {
    /// What decodes `bytes`, at most `most` bytes.
    pub(super) fn decode(&self, bytes: Bytes, most: usize) -> Result<Bytes> {
        let out = match self {
            Codec::Blosc => codec::blosc::decode(&bytes, most)?,
            Codec::Zstd => codec::zstd::decode(&bytes, most)?,
            Codec::Gzip => codec::gzip::gzip(&bytes, most)?,
            Codec::Zlib => codec::deflate::zlib(&bytes, most)?,
            Codec::Bzip2 => codec::bzip2::decode(&bytes, most)?,
            Codec::Lz4 => codec::lz4::sized(&bytes, most)?,
            Codec::Lzma(None) => codec::lzma::decode(&bytes, most)?,
            Codec::Lzma(Some(filters)) => codec::lzma::raw(&bytes, filters, most)?,
            Codec::Shuffle(size) => codec::shuffle::unshuffle(&bytes, *size),
            Codec::Zfp => codec::zfp::stream(&bytes, most)?,
            Codec::Pco(dtype) => pco::decode(&bytes, dtype, most)?,
            Codec::Checksum(kind, at) => return kind.checked(bytes, *at),
            Codec::Base64 => std::str::from_utf8(&bytes)
                .ok()
                .and_then(base64)
                .ok_or_else(|| Error::malformed("base64: the chunk is none"))?,
            Codec::Sums(from, to) => filters::sums(&bytes, from, to)?,
            Codec::Scaled { from, to, scale, offset } => filters::scaled(&bytes, from, to, *scale, *offset)?,
            Codec::Cast(from, to) => filters::cast(bytes.into(), from, to)?,
            Codec::Unpack => filters::unpacked(&bytes)?,
            Codec::Packing(packing, count) => packing.unpack(&bytes, *count)?,
            Codec::Turn(order, dtype) => {
                let mut bytes = Vec::from(bytes);
                order.to_little(dtype, &mut bytes)?;
                bytes
            }
            Codec::Transpose(axes, size) => {
                let mut out = limits::zeroed(bytes.len(), "a chunk")?;
                strides::copy(&bytes, &mut out, axes, *size);
                out
            }
            Codec::Widen(element) => {
                let mut bytes = Vec::from(bytes);
                element.widen(&mut bytes);
                bytes
            }
        };
        Ok(out.into())
    }

    /// How many bytes it was made of, where it decodes to `after`; `None` where only the data tell.
    pub(super) fn before(&self, after: u64) -> Option<u64> {
        let scaled = |from: &Numbers, to: &Numbers| {
            (after / (to.size() as u64).max(1)).checked_mul(from.size() as u64)
        };
        match self {
            Codec::Shuffle(_) | Codec::Turn(..) | Codec::Transpose(..) | Codec::Widen(_) => Some(after),
            Codec::Checksum(..) => after.checked_add(4),
            Codec::Sums(from, to) | Codec::Cast(from, to) | Codec::Scaled { from, to, .. } => {
                scaled(from, to)
            }
            Codec::Unpack => Some(after.div_ceil(8) + 1),
            Codec::Packing(packing, count) => {
                let bits = count.checked_mul(u64::from(packing.last - packing.first + 1))?;
                Some(bits.div_ceil(8) + u64::from(packing.padding != Padding::None))
            }
            _ => None,
        }
    }
}

impl Checksum {
    fn of(self, bytes: &[u8]) -> u32 {
        match self {
            Checksum::Crc32 => checksum::crc32(bytes),
            Checksum::Crc32c => checksum::crc32c(bytes),
            Checksum::Adler32 => checksum::adler32(bytes),
            Checksum::Fletcher32 => checksum::fletcher32(bytes),
            Checksum::Lookup3(start) => checksum::lookup3(bytes, start),
        }
    }

    /// The bytes without the checksum, which must be theirs.
    pub(super) fn checked(self, bytes: Bytes, at: At) -> Result<Bytes> {
        let split = bytes.len().checked_sub(4);
        let split = split.ok_or_else(|| Error::malformed("checksum: there are fewer than 4 bytes"))?;
        let (data, sum) = match at {
            At::Start => (bytes.slice(4..), bytes.slice(..4)),
            At::End => (bytes.slice(..split), bytes.slice(split..)),
        };
        let stored = le_or_zero::<u32>(&sum, 0);
        let found = self.of(&data);
        if stored != found {
            let what = format!("checksum ({self:?}): the data have {found:08x}, {stored:08x} is stored");
            return Err(Error::malformed(what));
        }
        Ok(data)
    }
}

/// The decoder of a codec from elements to bytes that numcodecs counts as a compressor; `None` for others and where it
/// does not hold such elements.
pub(super) fn of_elements(name: &str, element: &Element) -> Option<Codec> {
    match name {
        "zfpy" => Some(Codec::Zfp),
        "pcodec" if pco::holds(&element.dtype) && element.order != ByteOrder::Big => {
            Some(Codec::Pco(element.dtype.clone()))
        }
        _ => None,
    }
}

/// The decoder of a codec from bytes to bytes, by its name without `numcodecs.`; `None` for others.
/// `element` is the size of an element.
pub(super) fn of_bytes(name: &str, configuration: Option<&Object>, element: u64) -> Result<Option<Codec>> {
    let get = |key: &str| configuration.and_then(|c| c.get(key));
    let summed = |kind, usual| match get("location").and_then(Value::as_str) {
        Some("start") => Codec::Checksum(kind, At::Start),
        Some("end") => Codec::Checksum(kind, At::End),
        _ => Codec::Checksum(kind, usual),
    };
    Ok(Some(match name {
        "blosc" => Codec::Blosc,
        "zstd" => Codec::Zstd,
        "gzip" => Codec::Gzip,
        "zlib" => Codec::Zlib,
        "bz2" => Codec::Bzip2,
        "lz4" => Codec::Lz4,
        "lzma" => match get("format").and_then(whole) {
            Some(3) => Codec::Lzma(Some(lzma_filters(get("filters"))?)),
            _ => Codec::Lzma(None),
        },
        "shuffle" => {
            let size = get("elementsize").filter(|v| !v.is_null()).map_or(Some(element), whole);
            let size = size.and_then(|size| usize::try_from(size).ok()).filter(|&size| size > 0);
            Codec::Shuffle(size.ok_or_else(|| Error::malformed("shuffle: elementsize is no length"))?)
        }
        "base64" => Codec::Base64,
        "crc32" => summed(Checksum::Crc32, At::Start),
        "crc32c" => summed(Checksum::Crc32c, At::End),
        "adler32" => summed(Checksum::Adler32, At::Start),
        "fletcher32" => summed(Checksum::Fletcher32, At::End),
        "jenkins_lookup3" => {
            let start = get("initval").and_then(whole).and_then(|n| u32::try_from(n).ok()).unwrap_or(0);
            summed(Checksum::Lookup3(start), At::End)
        }
        _ => return Ok(None),
    }))
}

/// numcodecs' filters of LZMA without a container.
fn lzma_filters(value: Option<&Value>) -> Result<Vec<Filter>> {
    let list = value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let filter = |filter: &Value| {
        let number = |key: &str| filter.get(key).and_then(whole);
        let small = |key: &str, usual| number(key).and_then(|n| u32::try_from(n).ok()).unwrap_or(usual);
        let id = number("id").ok_or_else(|| Error::malformed("lzma: a filter without an id"))?;
        let value = number("dist").or(number("dict_size")).unwrap_or(0);
        let value =
            u32::try_from(value).map_err(|_| Error::malformed("lzma: a filter's number is too large"))?;
        Ok(Filter { id, value, literals: (small("lc", 3), small("lp", 0), small("pb", 2)) })
    };
    list.iter().map(filter).collect()
}

/// The name of a codec for people: with what it says of itself.
pub(super) fn shown(name: &str, configuration: Option<&Object>) -> String {
    let short = name.strip_prefix("numcodecs.").unwrap_or(name);
    let inner = configuration.and_then(|c| c.get("cname")).and_then(Value::as_str);
    match inner {
        Some(inner) => format!("{short} ({inner})"),
        None => short.to_owned(),
    }
}

/// The numbers of a filter's `dtype` or `astype`; those of the array where it names none.
pub(super) fn numbers(configuration: Option<&Object>, key: &str, other: &Numbers) -> Result<Numbers> {
    match configuration.and_then(|c| c.get(key)) {
        None | Some(Value::Null) => Ok(other.clone()),
        Some(Value::String(text)) => Numbers::parse(text),
        Some(value) => Err(Error::malformed(format!("{key}: {} is no dtype", super::json::short(value)))),
    }
}

/// The decoder of a filter on numbers, and the numbers that it stores; `None` for others. `of` are the numbers
/// that it makes.
pub(super) fn of_numbers(
    name: &str,
    configuration: Option<&Object>,
    of: Option<&Numbers>,
) -> Result<Option<(Codec, Numbers)>> {
    if !matches!(name, "delta" | "fixedscaleoffset" | "quantize" | "bitround" | "astype") {
        return Ok(None);
    }
    let no_numbers = || Error::unsupported(format!("the codec {name:?} on elements that are no numbers"));
    let of = of.ok_or_else(no_numbers)?;
    let number = |key: &str| {
        let value = configuration.and_then(|c| c.get(key)).and_then(Value::as_f64);
        value.ok_or_else(|| Error::malformed(format!("{name}: it has no {key:?}")))
    };
    let to = numbers(configuration, if name == "astype" { "decode_dtype" } else { "dtype" }, of)?;
    let from = numbers(configuration, if name == "astype" { "encode_dtype" } else { "astype" }, &to)?;
    let codec = match name {
        "delta" => Codec::Sums(from.clone(), to),
        "fixedscaleoffset" => {
            Codec::Scaled { from: from.clone(), to, scale: number("scale")?, offset: number("offset")? }
        }
        "bitround" => Codec::Cast(of.clone(), of.clone()),
        _ => Codec::Cast(from.clone(), to),
    };
    let stored = if name == "bitround" { of.clone() } else { from };
    Ok(Some((codec, stored)))
}

/// Version 3's `packbits` for elements of a type.
pub(super) fn packing(configuration: Option<&Object>, element: &Element, count: u64) -> Result<Codec> {
    let get = |key: &str| configuration.and_then(|c| c.get(key)).filter(|v| !v.is_null());
    let padding = match get("padding_encoding").and_then(Value::as_str) {
        None | Some("none") => Padding::None,
        Some("first_byte" | "start_byte") => Padding::First,
        Some("last_byte" | "end_byte") => Padding::Last,
        Some(other) => return Err(Error::unsupported(format!("packbits with the padding {other:?}"))),
    };
    let components: u64 = if element.dtype.is_complex() { 2 } else { 1 };
    let bytes = element.size() / components;
    let width = match (&element.dtype, element.narrow) {
        (DType::Bool, _) => 1,
        (_, Some((bits, _))) => bits,
        (DType::Mini(kind), _) => kind.bits(),
        (dtype, _) if dtype.is_real() || dtype.is_complex() => (bytes * 8) as u32,
        _ => return Err(Error::unsupported(format!("packbits on elements of {}", element.word))),
    };
    let bit = |key: &str, usual: u32| match get(key) {
        None => Ok(usual),
        Some(value) => {
            let bit = whole(value).and_then(|n| u32::try_from(n).ok()).filter(|&n| n < width);
            bit.ok_or_else(|| Error::malformed(format!("packbits: {key} is no bit of {}", element.word)))
        }
    };
    let (first, last) = (bit("first_bit", 0)?, bit("last_bit", width - 1)?);
    if first > last || bytes == 0 || bytes > 8 {
        return Err(Error::malformed(format!("packbits: bits {first} to {last} of {}", element.word)));
    }
    let signed = matches!(element.dtype, DType::I8 | DType::I16 | DType::I32 | DType::I64);
    let packing = Packing { padding, first, last, bytes: bytes as usize, signed };
    let count = count.checked_mul(components).filter(|&n| n <= limits::CHUNK);
    let count = count.ok_or_else(|| Error::limit("a chunk of that many packed elements"))?;
    Ok(Codec::Packing(packing, count))
}
