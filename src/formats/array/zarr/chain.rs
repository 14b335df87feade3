//! An array's codecs in the order of decoding: from the stored bytes of a chunk to its elements. Sharding is
//! a chain of its own around the one of the inner chunks.

use super::codec::{self, At, Codec};
use super::dtype::{ByteOrder, Element};
use super::filters::Numbers;
use super::items::Items;
use super::json::{Object, kind, lengths, may_ignore, named, object, short};
use super::offsets::Offsets;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::numbers::le;
use crate::bytes::strides;
use crate::bytes::task::Task;
use crate::data::dtype::DType;
use arrow::array::ArrayRef;
use bytes::Bytes;
use serde_json::Value;
use std::sync::Arc;

/// Codecs of elements without a size that zarrs defines: with offsets beside the values, and as `vlen-utf8` and
/// `vlen-bytes` for any type.
const VLEN: &str = "zarrs.vlen";
const VLEN_V2: &str = "zarrs.vlen_v2";

/// How deep shards nest.
const SHARDS: usize = 8;
/// What a compressor may give for an inner compressor beyond the size of the elements.
const SLACK: u64 = 1 << 20;

/// The codecs of one chunk, or of one shard.
#[derive(Debug)]
pub(super) struct Chain {
    /// The shape of the chunk.
    pub(super) shape: Vec<u64>,
    /// From the stored bytes to what the core reads.
    stored: Vec<Codec>,
    pub(super) core: Core,
    /// From the elements of the core to the array's.
    arrays: Vec<Codec>,
    /// The shape of what the core makes: another one where dimensions are moved.
    core_shape: Vec<u64>,
    /// Bytes that the core reads, where they are known.
    encoded: Option<u64>,
}

/// What makes elements of bytes.
#[derive(Debug)]
pub(super) enum Core {
    /// Elements one after the other.
    Plain,
    /// Elements without a size.
    Items(Items),
    /// Inner chunks and their index.
    Shard(Box<Sharding>),
}

/// `sharding_indexed`.
#[derive(Debug)]
pub(super) struct Sharding {
    /// The codecs of an inner chunk; its shape divides the shard's.
    pub(super) inner: Chain,
    /// How many inner chunks lie along each dimension.
    pub(super) counts: Vec<u64>,
    index: Vec<Codec>,
    /// Stored bytes of the index.
    pub(super) index_bytes: u64,
    pub(super) index_at: At,
}

/// What the codecs of an array are: the chain, and words about it.
pub(super) struct Described {
    /// The chain, or why there is none.
    pub(super) chain: Result<Chain>,
    /// The type of the elements where codecs say more of it than the metadata.
    pub(super) dtype: Option<DType>,
    /// The codecs for people, in the order of writing.
    pub(super) names: Vec<String>,
    /// The stored byte order, where it matters.
    pub(super) byte_order: Option<&'static str>,
}

impl Chain {
    fn new(
        shape: &[u64],
        stored: Vec<Codec>,
        core: Core,
        arrays: Vec<Codec>,
        element: &Element,
    ) -> Result<Self> {
        let size = limits::bytes(shape, element.size())?;
        let encoded = arrays.iter().rev().try_fold(size, |after, codec| codec.before(after));
        let encoded = encoded.filter(|_| matches!(core, Core::Plain));
        Ok(Chain { shape: shape.to_vec(), stored, core, arrays, core_shape: shape.to_vec(), encoded })
    }

    /// Undoes the codecs from bytes to bytes.
    pub(super) fn unwrap(&self, mut bytes: Bytes) -> Result<Bytes> {
        let Some(encoded) = self.encoded else {
            for codec in &self.stored {
                bytes = codec.decode(bytes, limits::CHUNK as usize)?;
            }
            return Ok(bytes);
        };
        for (n, codec) in self.stored.iter().enumerate() {
            let after = self.stored.get(n + 1..).unwrap_or_default();
            let exact = after.iter().rev().try_fold(encoded, |size, codec| codec.before(size));
            let most = exact.unwrap_or_else(|| encoded.saturating_mul(2).saturating_add(SLACK));
            let most = limits::check(most.min(limits::CHUNK + SLACK), limits::CHUNK + SLACK, "a chunk")?;
            bytes = codec.decode(bytes, most)?;
        }
        Ok(bytes)
    }

    /// Undoes the codecs from elements to elements.
    fn rearranged(&self, mut bytes: Bytes) -> Result<Bytes> {
        if !self.arrays.is_empty()
            && let Some(encoded) = self.encoded
            && bytes.len() as u64 != encoded
        {
            return Err(Error::malformed(format!(
                "data: it decodes to {} bytes, {encoded} belong there",
                bytes.len()
            )));
        }
        for codec in &self.arrays {
            bytes = codec.decode(bytes, limits::CHUNK as usize)?;
        }
        Ok(bytes)
    }

    /// The elements of a chunk as delivered. `fill` is one element, for what a shard lacks.
    pub(super) fn decode(&self, stored: Bytes, fill: &[u8]) -> Result<Bytes> {
        match &self.core {
            Core::Plain => self.rearranged(self.unwrap(stored)?),
            Core::Items(_) => Err(Error::bug("bytes were asked of elements without a size")),
            Core::Shard(shard) => {
                self.rearranged(shard.whole(&self.unwrap(stored)?, &self.core_shape, fill)?)
            }
        }
    }

    /// The elements without a size of a chunk.
    pub(super) fn column(&self, task: &Task, stored: Bytes) -> Result<ArrayRef> {
        match &self.core {
            Core::Items(items) => items.column(task, &self.unwrap(stored)?),
            _ => Err(Error::bug("a column was asked of elements with a size")),
        }
    }

    /// Whether inner chunks can be read alone: the shard is not rearranged as a whole.
    pub(super) fn shard(&self) -> Option<&Sharding> {
        match &self.core {
            Core::Shard(shard) if self.arrays.is_empty() => Some(shard),
            _ => None,
        }
    }

    /// Whether the stored bytes are the elements as they are delivered.
    pub(super) fn is_verbatim(&self) -> bool {
        self.stored.is_empty() && self.arrays.is_empty() && matches!(self.core, Core::Plain | Core::Items(_))
    }

    /// Whether the stored bytes are what the core reads, so that parts of them mean something.
    pub(super) fn is_bare(&self) -> bool {
        self.stored.is_empty()
    }

    /// How elements without a size are stored, at the bottom of shards.
    pub(super) fn items(&self) -> Option<&Items> {
        match &self.core {
            Core::Plain => None,
            Core::Items(items) => Some(items),
            Core::Shard(shard) => shard.inner.items(),
        }
    }
}

impl Sharding {
    /// The places of the inner chunks in the shard: offset and length, `None` for those that are not there.
    pub(super) fn entries(&self, stored: Bytes) -> Result<Vec<Option<(u64, u64)>>> {
        let mut bytes = stored;
        for codec in &self.index {
            bytes = codec.decode(bytes, limits::CHUNK as usize).map_err(|e| e.of("shard index"))?;
        }
        let entry = |pair: &[u8; 16]| {
            let [offset, len] = [0, 8].map(|at| le(pair, at).unwrap_or(u64::MAX));
            (offset != u64::MAX || len != u64::MAX).then_some((offset, len))
        };
        let entries: Vec<_> = bytes.as_chunks::<16>().0.iter().map(entry).collect();
        let count = limits::elements(&self.counts)?;
        if entries.len() as u64 != count || bytes.len() as u64 != count * 16 {
            return Err(Error::malformed(format!(
                "shard index: it has {} bytes for {count} inner chunks",
                bytes.len()
            )));
        }
        Ok(entries)
    }

    /// Where the index stands in a shard of `len` bytes.
    pub(super) fn index_place(&self, len: u64) -> Result<std::ops::Range<u64>> {
        let start = len.checked_sub(self.index_bytes).ok_or_else(|| {
            Error::malformed(format!("shard: it has {len} bytes, its index alone needs {}", self.index_bytes))
        })?;
        Ok(match self.index_at {
            At::Start => 0..self.index_bytes,
            At::End => start..len,
        })
    }

    /// All elements of a shard that is in memory.
    fn whole(&self, shard: &Bytes, shape: &[u64], fill: &[u8]) -> Result<Bytes> {
        let place = self.index_place(shard.len() as u64)?;
        let entries = self.entries(shard.slice(place.start as usize..place.end as usize))?;
        let size = fill.len();
        let total = limits::check(limits::bytes(shape, size as u64)?, limits::CHUNK, "a shard")?;
        let mut out = limits::zeroed(total, "a shard")?;
        if fill.iter().any(|&b| b != 0) {
            strides::fill(&mut out, fill);
        }
        for (n, entry) in entries.iter().enumerate() {
            let Some((offset, len)) = *entry else { continue };
            let end = offset.checked_add(len).filter(|&end| end <= shard.len() as u64);
            let end = end.ok_or_else(|| beyond(n, offset, len, shard.len() as u64))?;
            let bytes = self.inner.decode(shard.slice(offset as usize..end as usize), fill)?;
            let need = limits::bytes(&self.inner.shape, size as u64)?;
            if bytes.len() as u64 != need {
                let what =
                    format!("shard: inner chunk {n} decodes to {} bytes, {need} belong there", bytes.len());
                return Err(Error::malformed(what));
            }
            let inside = strides::unravel(n as u64, &self.counts);
            let start: Vec<u64> = inside.iter().zip(&self.inner.shape).map(|(at, side)| at * side).collect();
            strides::paste(&bytes, &self.inner.shape, &mut out, shape, &start, size);
        }
        Ok(out.into())
    }
}

/// The error of an entry that leads out of its shard.
pub(super) fn beyond(n: usize, offset: u64, len: u64, shard: u64) -> Error {
    Error::malformed(format!(
        "shard index: inner chunk {n} should have {len} bytes at {offset}, the shard has {shard}"
    ))
}

/// The codecs of version 2: filters, then a compressor.
pub(super) fn of_v2(meta: &Object, element: &Element, chunk: &[u64], fortran: bool) -> Described {
    let list = |key: &str| match meta.get(key) {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(list)) => list.clone(),
        Some(one) => vec![one.clone()],
    };
    let (filters, compressor) = (list("filters"), list("compressor"));
    let name = |codec: &Value| {
        let id = codec.get("id").and_then(Value::as_str).unwrap_or("a codec without a name");
        codec::shown(id, codec.as_object())
    };
    let names = filters.iter().chain(&compressor).map(name).collect();
    let mut items = None;
    let chain = v2_chain(&filters, &compressor, element, chunk, fortran, &mut items);
    let byte_order = if items.is_some() { None } else { element.order.word(&element.dtype) };
    Described { chain, dtype: items.map(|items| items.dtype()), names, byte_order }
}

fn v2_chain(
    filters: &[Value],
    compressor: &[Value],
    element: &Element,
    chunk: &[u64],
    fortran: bool,
    found: &mut Option<Items>,
) -> Result<Chain> {
    let id = |codec: &Value| -> Result<(String, Object)> {
        let object = object("codec", codec)?;
        let id = object.get("id").and_then(Value::as_str);
        let id = id.ok_or_else(|| Error::malformed(format!("codec: {} has no id", short(codec))))?;
        Ok((id.to_owned(), object.clone()))
    };
    let mut stored = Vec::new();
    for codec in compressor {
        let (id, configuration) = id(codec)?;
        stored.push(v2_bytes(&id, &configuration, element)?);
    }
    // In the order of writing; each says what it makes of what.
    let mut arrays = Vec::new();
    let own = Numbers::of(element.dtype.clone(), element.order == ByteOrder::Big);
    for (n, filter) in filters.iter().enumerate() {
        let (id, configuration) = id(filter)?;
        if n == 0 && element.is_variable() {
            *found = Some(items(&id, &configuration)?);
        } else if let Some((codec, _)) = codec::of_numbers(&id, Some(&configuration), own.as_ref())? {
            arrays.push(codec);
        } else if id == "packbits" {
            arrays.push(Codec::Unpack);
        } else {
            arrays.push(v2_bytes(&id, &configuration, element)?);
        }
    }
    arrays.reverse();
    if let Some(items) = found.clone() {
        stored.extend(arrays);
        return Chain::new(chunk, stored, Core::Items(items), Vec::new(), element);
    }
    if element.dtype == DType::text() {
        return Chain::new(chunk, stored, Core::Items(Items::Texts), Vec::new(), element);
    }
    if element.is_variable() {
        return Err(Error::unsupported("an array of objects without a codec that says what they are"));
    }
    if element.order != ByteOrder::Little {
        arrays.push(Codec::Turn(element.order.clone(), element.dtype.clone()));
    }
    let order: Vec<usize> = (0..chunk.len()).rev().collect();
    if fortran && let Some(axes) = strides::to_c_order(chunk, &order, element.size()) {
        arrays.push(Codec::Transpose(axes, element.size() as usize));
    }
    Chain::new(chunk, stored, Core::Plain, arrays, element)
}

fn v2_bytes(id: &str, configuration: &Object, element: &Element) -> Result<Codec> {
    if let Some(codec) = codec::of_elements(id, element) {
        return Ok(codec);
    }
    codec::of_bytes(id, Some(configuration), element.size())?.ok_or_else(|| unknown(id))
}

fn unknown(name: &str) -> Error {
    Error::unsupported(format!("the codec {name:?}"))
}

/// What an object codec stores.
fn items(id: &str, configuration: &Object) -> Result<Items> {
    let typed = |key: &str| -> Result<&str> {
        let text = configuration.get(key).and_then(Value::as_str);
        text.ok_or_else(|| Error::malformed(format!("{id}: it has no {key:?}")))
    };
    Ok(match id {
        "vlen-utf8" => Items::Texts,
        "vlen-bytes" => Items::Bytes,
        "vlen-array" => {
            let element = super::dtype::of_typestr(typed("dtype")?)?;
            if element.size() == 0 {
                return Err(Error::unsupported(format!("lists of {}", element.word)));
            }
            Items::Lists(element)
        }
        "categorize" => {
            let labels = configuration.get("labels").and_then(Value::as_array);
            let labels = labels.ok_or_else(|| Error::malformed("categorize: it has no labels"))?;
            let text = |label: &Value| label.as_str().map_or_else(|| label.to_string(), str::to_owned);
            let numbers = configuration.get("astype").and_then(Value::as_str).unwrap_or("|u1");
            Items::Labels(Numbers::parse(numbers)?, labels.iter().map(text).collect())
        }
        "json2" | "json" => Items::Json,
        "msgpack2" | "msgpack" => Items::MsgPack,
        "pickle" => Items::Pickle,
        _ => return Err(unknown(id)),
    })
}

/// The codecs of version 3.
pub(super) fn of_v3(codecs: &Value, element: &Element, chunk: &[u64]) -> Described {
    let mut names = Vec::new();
    let mut byte_order = None;
    let chain = v3_chain(codecs, element, chunk, SHARDS, &mut names, &mut byte_order);
    let dtype = chain.as_ref().ok().and_then(Chain::items).map(Items::dtype);
    if names.is_empty() {
        names = names_of(codecs);
    }
    Described { chain, dtype, names, byte_order }
}

/// The names of codecs that could not be read as a chain.
fn names_of(codecs: &Value) -> Vec<String> {
    let list = codecs.as_array().map(Vec::as_slice).unwrap_or_default();
    let shown = |codec| named("codec", codec).map(|(name, configuration)| codec::shown(name, configuration));
    list.iter().flat_map(shown).collect()
}

/// What is known of the elements on the way through the codecs of one level, in the order of writing.
struct Encoding {
    element: Element,
    shape: Vec<u64>,
    /// The numbers that the elements are, once a filter changed them.
    numbers: Option<Numbers>,
}

fn v3_chain(
    codecs: &Value,
    element: &Element,
    chunk: &[u64],
    deep: usize,
    names: &mut Vec<String>,
    byte_order: &mut Option<&'static str>,
) -> Result<Chain> {
    let list = codecs
        .as_array()
        .ok_or_else(|| Error::malformed(format!("codecs: it is {}, not a list", kind(codecs))))?;
    let numbers = Numbers::of(element.dtype.clone(), false);
    let mut now = Encoding { element: element.clone(), shape: chunk.to_vec(), numbers };
    let (mut stored, mut arrays, mut core) = (Vec::new(), Vec::new(), None);
    for value in list {
        let (full, configuration) = named("codec", value)?;
        let name = full.strip_prefix("numcodecs.").unwrap_or(full);
        if name != "sharding_indexed" {
            names.push(codec::shown(full, configuration));
        }
        if core.is_some() {
            match codec::of_bytes(name, configuration, now.element.size())? {
                Some(codec) => stored.push(codec),
                None if may_ignore(value) => {}
                None => return Err(unknown(full)),
            }
        } else if name == "transpose" {
            arrays.extend(transposed(configuration, &mut now)?);
        } else if let Some((codec, from)) = codec::of_numbers(name, configuration, now.numbers.as_ref())? {
            arrays.push(codec);
            now.element = Element { dtype: from.dtype().clone(), narrow: None, ..now.element };
            now.numbers = Some(from);
        } else if full == "numcodecs.packbits" {
            arrays.push(Codec::Unpack);
            now.element = Element { dtype: DType::U8, ..now.element };
            now.shape = vec![limits::elements(&now.shape)?.div_ceil(8) + 1];
        } else if let Some(shape) = reshaped(name, configuration, &now.shape)? {
            now.shape = shape;
        } else if let Some(codec) = codec::of_elements(name, &now.element) {
            stored.push(codec);
            core = Some(Core::Plain);
        } else if name == "sharding_indexed" {
            names.push("sharding".to_owned());
            let shard = sharding(configuration, &now, deep, names, byte_order)?;
            core = Some(Core::Shard(Box::new(shard)));
        } else {
            core = Some(v3_core(full, configuration, &now, &mut arrays, byte_order)?);
        }
    }
    let core = core.ok_or_else(|| Error::malformed("codecs: none of them makes bytes of elements"))?;
    // The outermost was written last and is undone first.
    stored.reverse();
    arrays.reverse();
    if element.narrow.is_some() && !matches!(core, Core::Shard(_)) {
        arrays.push(Codec::Widen(element.clone()));
    }
    let chain = Chain::new(chunk, stored, core, arrays, element)?;
    Ok(Chain { core_shape: now.shape, ..chain })
}

/// `transpose`: dimension `order[i]` of the chunk is dimension `i` of what is stored.
fn transposed(configuration: Option<&Object>, now: &mut Encoding) -> Result<Option<Codec>> {
    let rank = now.shape.len();
    let order: Vec<usize> = match configuration.and_then(|c| c.get("order")) {
        Some(Value::String(word)) if word == "C" => (0..rank).collect(),
        Some(Value::String(word)) if word == "F" => (0..rank).rev().collect(),
        Some(list @ Value::Array(_)) => {
            lengths("transpose", list)?.iter().map(|&axis| axis as usize).collect()
        }
        _ => return Err(Error::malformed("transpose: it has no order")),
    };
    let mut sorted = order.clone();
    sorted.sort_unstable();
    if sorted != (0..rank).collect::<Vec<_>>() {
        return Err(Error::malformed(format!("transpose: {order:?} is no order of {rank} dimensions")));
    }
    let size = now.element.size();
    let axes = strides::to_c_order(&now.shape, &order, size);
    now.shape = order.iter().filter_map(|&axis| now.shape.get(axis).copied()).collect();
    Ok(axes.map(|axes| Codec::Transpose(axes, size as usize)))
}

/// What `reshape` and `squeeze` make of a shape; the elements keep their order. `None` for other codecs.
/// <https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/reshape>
fn reshaped(name: &str, configuration: Option<&Object>, shape: &[u64]) -> Result<Option<Vec<u64>>> {
    if name == "zarrs.squeeze" {
        return Ok(Some(shape.iter().copied().filter(|&side| side != 1).collect()));
    }
    if name != "reshape" {
        return Ok(None);
    }
    let wrong = || Error::malformed(format!("reshape: its shape does not fit to chunks of {shape:?}"));
    let wanted = configuration.and_then(|c| c.get("shape")).and_then(Value::as_array).ok_or_else(wrong)?;
    let product = |sides: &[u64]| limits::elements(sides);
    // -1 stands for what is left over, a list for the product of these dimensions.
    let side = |value: &Value| match value {
        Value::Array(axes) => {
            let side = |axis: &Value| shape.get(usize::try_from(axis.as_u64()?).ok()?).copied();
            product(&axes.iter().map(side).collect::<Option<Vec<u64>>>().ok_or_else(wrong)?)
        }
        other if other.as_i64() == Some(-1) => Ok(0),
        other => other.as_u64().filter(|&side| side > 0).ok_or_else(wrong),
    };
    let mut made = wanted.iter().map(side).collect::<Result<Vec<u64>>>()?;
    let all = product(shape)?;
    let others: Vec<u64> = made.iter().copied().filter(|&side| side != 0).collect();
    if let Some(rest) = made.iter_mut().find(|side| **side == 0) {
        *rest = all / product(&others)?.max(1);
    }
    if product(&made)? == all { Ok(Some(made)) } else { Err(wrong()) }
}

/// The codec that makes bytes of elements.
fn v3_core(
    name: &str,
    configuration: Option<&Object>,
    now: &Encoding,
    arrays: &mut Vec<Codec>,
    byte_order: &mut Option<&'static str>,
) -> Result<Core> {
    let element = &now.element;
    match name {
        "bytes" | "endian" if !element.is_variable() => {
            let big = configuration.and_then(|c| c.get("endian")).and_then(Value::as_str) == Some("big");
            if element.dtype.swap_unit() > 1 || matches!(element.dtype, DType::Struct(_)) {
                *byte_order = Some(if big { "big" } else { "little" });
                if big {
                    arrays.push(Codec::Turn(ByteOrder::Big, element.dtype.clone()));
                }
            }
            Ok(Core::Plain)
        }
        "packbits" if !element.is_variable() => {
            arrays.push(codec::packing(configuration, element, limits::elements(&now.shape)?)?);
            Ok(Core::Plain)
        }
        "vlen-utf8" | VLEN_V2 if element.dtype == DType::text() => Ok(Core::Items(Items::Texts)),
        "vlen-bytes" | VLEN_V2 if element.is_variable() && element.dtype != DType::text() => {
            Ok(Core::Items(Items::Bytes))
        }
        VLEN if element.is_variable() => offsets(configuration, element),
        "bytes" | "endian" | "packbits" | "vlen-utf8" | "vlen-bytes" | VLEN | VLEN_V2 => {
            Err(Error::malformed(format!("codecs: {name:?} does not store elements of {}", element.word)))
        }
        _ => Err(unknown(name)),
    }
}

/// `zarrs.vlen`.
fn offsets(configuration: Option<&Object>, element: &Element) -> Result<Core> {
    let get = |key: &str| configuration.and_then(|c| c.get(key));
    let codecs = |key: &str, dtype: DType| -> Result<Vec<Codec>> {
        let list = get(key).ok_or_else(|| Error::malformed(format!("{VLEN}: it has no {key:?}")))?;
        let word = dtype.to_string();
        let number = Element { dtype, order: ByteOrder::Little, narrow: None, word };
        let chain = v3_chain(list, &number, &[1], 0, &mut Vec::new(), &mut None)?;
        match chain.core {
            Core::Plain => Ok(chain.stored.into_iter().chain(chain.arrays).collect()),
            _ => Err(Error::malformed(format!("{VLEN}: {key}: they store no plain list of numbers"))),
        }
    };
    let (width, number) = match get("index_data_type").and_then(Value::as_str) {
        Some("uint32") => (4, DType::U32),
        Some("uint64") => (8, DType::U64),
        _ => return Err(Error::malformed(format!("{VLEN}: its offsets are neither uint32 nor uint64"))),
    };
    Ok(Core::Items(Items::Offsets(Arc::new(Offsets {
        offsets: codecs("index_codecs", number)?,
        values: codecs("data_codecs", DType::U8)?,
        width,
        at: if get("index_location").and_then(Value::as_str) == Some("end") { At::End } else { At::Start },
        are_texts: element.dtype == DType::text(),
    }))))
}

/// `sharding_indexed`. <https://zarr-specs.readthedocs.io/en/latest/v3/codecs/sharding-indexed/index.html>
fn sharding(
    configuration: Option<&Object>,
    now: &Encoding,
    deep: usize,
    names: &mut Vec<String>,
    byte_order: &mut Option<&'static str>,
) -> Result<Sharding> {
    let deep =
        deep.checked_sub(1).ok_or_else(|| Error::limit(format!("more than {SHARDS} shards in shards")))?;
    let get = |key: &str| {
        let value = configuration.and_then(|c| c.get(key));
        value.ok_or_else(|| Error::malformed(format!("sharding_indexed: it has no {key:?}")))
    };
    let shape = lengths("sharding_indexed: chunk_shape", get("chunk_shape")?)?;
    let fits = shape.len() == now.shape.len()
        && shape.iter().zip(&now.shape).all(|(inner, outer)| *inner > 0 && outer % inner == 0);
    if !fits {
        let what =
            format!("sharding_indexed: inner chunks of {shape:?} do not divide shards of {:?}", now.shape);
        return Err(Error::malformed(what));
    }
    let counts: Vec<u64> = shape.iter().zip(&now.shape).map(|(inner, outer)| outer / inner).collect();
    let inner = v3_chain(get("codecs")?, &now.element, &shape, deep, names, byte_order)?;
    let mut entries = counts.clone();
    entries.push(2);
    let number =
        Element { dtype: DType::U64, order: ByteOrder::Little, narrow: None, word: "uint64".to_owned() };
    let plain = Value::from(vec![
        serde_json::json!({"name": "bytes", "configuration": {"endian": "little"}}),
        "crc32c".into(),
    ]);
    let codecs = configuration.and_then(|c| c.get("index_codecs")).unwrap_or(&plain);
    let chain = v3_chain(codecs, &number, &entries, 0, &mut Vec::new(), &mut None)?;
    if !matches!(chain.core, Core::Plain) {
        return Err(Error::malformed("sharding_indexed: its index is no plain list of numbers"));
    }
    let index: Vec<Codec> = chain.stored.into_iter().chain(chain.arrays).collect();
    let bytes = limits::bytes(&entries, 8)?;
    let index_bytes = index.iter().rev().try_fold(bytes, |after, codec| codec.before(after));
    let index_bytes = index_bytes.ok_or_else(|| Error::unsupported("a shard index that is compressed"))?;
    limits::check(index_bytes, limits::CHUNK, "a shard's index")?;
    let index_at = match configuration.and_then(|c| c.get("index_location")).and_then(Value::as_str) {
        Some("start") => At::Start,
        _ => At::End,
    };
    Ok(Sharding { inner, counts, index, index_bytes, index_at })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_that_codecs_change() {
        let reshape = |shape: Value| {
            let configuration = serde_json::json!({"shape": shape});
            reshaped("reshape", configuration.as_object(), &[2, 3, 4, 3])
        };
        assert_eq!(reshape(serde_json::json!([[0, 1], -1, 3])).unwrap().unwrap(), [6, 4, 3]);
        assert_eq!(reshape(serde_json::json!([72])).unwrap().unwrap(), [72]);
        for wrong in [
            serde_json::json!([71]),
            serde_json::json!([5, -1]),
            serde_json::json!([[4]]),
            serde_json::json!([-1, -1]),
            serde_json::json!(7),
        ] {
            assert!(reshape(wrong.clone()).is_err(), "{wrong}");
        }
        assert_eq!(reshaped("zarrs.squeeze", None, &[1, 3, 1]).unwrap().unwrap(), [3]);
        assert!(reshaped("gzip", None, &[3]).unwrap().is_none());
    }
}
