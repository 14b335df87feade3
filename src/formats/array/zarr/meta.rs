//! What the metadata documents of an array say: `.zarray` of version 2, `zarr.json` of version 3.
//! <https://zarr-specs.readthedocs.io/en/latest/v2/v2.0.html>,
//! <https://zarr-specs.readthedocs.io/en/latest/v3/core/index.html>

use super::chain::{self, Chain};
use super::dtype::{self, Element};
use super::fill;
use super::json::{Object, lengths, may_ignore, member, named, object, short};
use crate::bytes::error::{Error, Result};
use crate::data::cf;
use crate::engines::keys::coordinate;
use arrow::array::ArrayRef;
use serde_json::Value;

/// An array's metadata, understood.
pub(super) struct ArrayMeta {
    pub(super) version: u8,
    pub(super) shape: Vec<u64>,
    /// The shape of what one key holds: a chunk or a shard.
    pub(super) chunk: Vec<u64>,
    /// Where chunks begin along each dimension, with the end at last, where they differ in size.
    pub(super) edges: Option<Vec<Vec<u64>>>,
    pub(super) element: Element,
    /// One delivered element.
    pub(super) fill: Vec<u8>,
    /// One row for elements without a size.
    pub(super) fill_row: Option<ArrayRef>,
    /// As the metadata spell it.
    pub(super) fill_text: String,
    pub(super) keys: Keys,
    /// The decoders, or why there are none.
    pub(super) chain: Result<Chain>,
    pub(super) codecs: Vec<String>,
    /// The codecs of version 3 as they stand in the document.
    pub(super) codec_list: Value,
    pub(super) byte_order: Option<&'static str>,
    /// Whether chunks are stored with the first dimension fastest (version 2).
    pub(super) fortran: bool,
    /// The names of the dimensions; empty where there are none.
    pub(super) dimensions: Vec<String>,
    pub(super) attributes: Object,
    pub(super) remarks: Vec<String>,
}

/// How keys of chunks are made of their numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Keys {
    /// Whether keys begin with `c`.
    prefixed: bool,
    pub(super) separator: char,
    suffix: String,
}

impl Keys {
    /// The key of a chunk below its array.
    pub(super) fn key(&self, index: &[u64]) -> String {
        let mut key = String::new();
        if self.prefixed {
            key.push('c');
        } else if index.is_empty() {
            key.push('0');
        }
        for (n, at) in index.iter().enumerate() {
            if n > 0 || self.prefixed {
                key.push(self.separator);
            }
            key.push_str(&at.to_string());
        }
        key + &self.suffix
    }

    /// What stands before the numbers, as a folder or as the beginning of a name.
    pub(super) fn prefix(&self) -> Option<char> {
        self.prefixed.then_some('c')
    }

    /// The numbers that a key below its array is made of; `None` for another name.
    pub(super) fn index(&self, key: &str) -> Option<Vec<u64>> {
        let mut numbers = key.strip_suffix(self.suffix.as_str())?;
        if let Some(prefix) = self.prefix() {
            numbers = numbers.strip_prefix(prefix)?;
            if numbers.is_empty() {
                return Some(Vec::new());
            }
            numbers = numbers.strip_prefix(self.separator)?;
        }
        numbers.split(self.separator).map(coordinate).collect()
    }

    /// Whether all keys lie side by side in the array's own folder.
    pub(super) fn is_flat(&self) -> bool {
        self.separator == '.'
    }
}

/// Reads `.zarray`; the attributes are those of `.zattrs`.
pub(super) fn of_v2(document: &Value, attributes: Object) -> Result<ArrayMeta> {
    let meta = object(".zarray", document)?;
    let shape = lengths("shape", member(meta, "shape")?)?;
    let chunk = lengths("chunks", member(meta, "chunks")?)?;
    same_rank(&shape, &chunk)?;
    let mut element = dtype::of_v2(member(meta, "dtype")?)?;
    let fortran = meta.get("order").and_then(Value::as_str) == Some("F");
    let separator = match meta.get("dimension_separator") {
        None | Some(Value::Null) => '.',
        Some(value) => separator(value)?,
    };
    let described = chain::of_v2(meta, &element, &chunk, fortran);
    if let Some(dtype) = described.dtype {
        element.dtype = dtype;
    }
    let fill = meta.get("fill_value").unwrap_or(&Value::Null).clone();
    let dimensions = attributes.get("_ARRAY_DIMENSIONS").map(names).unwrap_or_default();
    let meta = ArrayMeta {
        version: 2,
        fill: Vec::new(),
        fill_row: None,
        fill_text: short(&fill),
        keys: Keys { prefixed: false, separator, suffix: String::new() },
        chain: described.chain,
        codecs: described.names,
        codec_list: Value::Null,
        byte_order: described.byte_order,
        dimensions: if dimensions.len() == shape.len() { dimensions } else { Vec::new() },
        shape,
        chunk,
        edges: None,
        element,
        fortran,
        attributes,
        remarks: Vec::new(),
    };
    Ok(unsigned(with_fill(meta, &fill)))
}

/// Reads the `zarr.json` of an array.
pub(super) fn of_v3(document: &Value) -> Result<ArrayMeta> {
    let meta = object("zarr.json", document)?;
    let shape = lengths("shape", member(meta, "shape")?)?;
    let (chunk, edges) = grid(member(meta, "chunk_grid")?, &shape)?;
    same_rank(&shape, &chunk)?;
    let mut element = dtype::of_v3(member(meta, "data_type")?)?;
    let keys = keys(meta.get("chunk_key_encoding"))?;
    let described = chain::of_v3(member(meta, "codecs")?, &element, &chunk);
    if let Some(dtype) = described.dtype {
        element.dtype = dtype;
    }
    let transformers = meta.get("storage_transformers").and_then(Value::as_array);
    let transformer = transformers.into_iter().flatten().find(|value| !may_ignore(value));
    let chain = match transformer {
        Some(value) => Err(Error::unsupported(format!("the storage transformer {}", short(value)))),
        None => described.chain,
    };
    let dimensions = meta.get("dimension_names").map(names).unwrap_or_default();
    let fill = meta.get("fill_value").unwrap_or(&Value::Null).clone();
    let attributes = meta.get("attributes").and_then(Value::as_object).cloned().unwrap_or_default();
    let dimensions = match dimensions.len() == shape.len() {
        true => dimensions,
        // Some writers put xarray's attribute of version 2 into version 3.
        false => attributes
            .get("_ARRAY_DIMENSIONS")
            .map(names)
            .filter(|n| n.len() == shape.len())
            .unwrap_or_default(),
    };
    let meta = ArrayMeta {
        version: 3,
        fill: Vec::new(),
        fill_row: None,
        fill_text: short(&fill),
        keys,
        chain,
        codecs: described.names,
        codec_list: member(meta, "codecs")?.clone(),
        byte_order: described.byte_order,
        dimensions,
        remarks: extensions(meta),
        shape,
        chunk,
        edges,
        element,
        fortran: false,
        attributes,
    };
    Ok(unsigned(with_fill(meta, &fill)))
}

/// The members of an array's document that readers should understand and that we do not know.
fn extensions(meta: &Object) -> Vec<String> {
    const KNOWN: [&str; 12] = [
        "zarr_format",
        "node_type",
        "shape",
        "data_type",
        "chunk_grid",
        "chunk_key_encoding",
        "fill_value",
        "codecs",
        "attributes",
        "storage_transformers",
        "dimension_names",
        "consolidated_metadata",
    ];
    let unknown = meta.iter().filter(|(name, value)| !KNOWN.contains(&name.as_str()) && !may_ignore(value));
    let words = |(name, _): (&String, &Value)| format!("the metadata have {name:?}, which is not known here");
    unknown.map(words).collect()
}

/// Fills in what elements are that no chunk holds.
fn with_fill(mut meta: ArrayMeta, value: &Value) -> ArrayMeta {
    if meta.element.is_variable() {
        let items = meta.chain.as_ref().ok().and_then(Chain::items);
        meta.fill_row = items.and_then(|items| items.fill(value));
        return meta;
    }
    match fill::bytes(value, &meta.element) {
        Ok(Some(bytes)) => meta.fill = bytes,
        Ok(None) => {
            meta.fill_text = "none: elements without a chunk are undefined, and shown as 0".to_owned();
        }
        Err(error) => meta.remarks.push(format!("{error}; elements without a chunk are shown as 0")),
    }
    if let Some((bits, signed)) = meta.element.narrow
        && let Some(byte) = meta.fill.first().copied()
    {
        let inside = match signed {
            true => (-1..=0).contains(&(byte.cast_signed() >> (bits - 1))),
            false => u32::from(byte) >> bits == 0,
        };
        if !inside {
            meta.remarks.push(format!("the fill value {} does not fit into {bits} bits", meta.fill_text));
        }
    }
    meta
}

/// Takes the sign from elements that the conventions say have none; their bytes are the same.
fn unsigned(mut meta: ArrayMeta) -> ArrayMeta {
    let dtype = cf::stored_type(&super::array::attributes(&meta.attributes), &meta.element.dtype);
    if dtype != meta.element.dtype && meta.element.narrow.is_none() {
        meta.element.dtype = dtype;
        meta.remarks.push(cf::UNSIGNED.to_owned());
    }
    meta
}

fn same_rank(shape: &[u64], chunk: &[u64]) -> Result<()> {
    match shape.len() == chunk.len() {
        true => Ok(()),
        false => Err(Error::malformed(format!("metadata: chunks of {chunk:?} in an array of {shape:?}"))),
    }
}

fn separator(value: &Value) -> Result<char> {
    match value.as_str() {
        Some(".") => Ok('.'),
        Some("/") => Ok('/'),
        _ => Err(Error::malformed(format!("metadata: {} separates no chunk numbers", short(value)))),
    }
}

/// Names of dimensions; null is none.
fn names(value: &Value) -> Vec<String> {
    let list = value.as_array().map(Vec::as_slice).unwrap_or_default();
    list.iter().map(|name| name.as_str().unwrap_or_default().to_owned()).collect()
}

/// `default`, `v2`, or one of them with a suffix.
fn keys(value: Option<&Value>) -> Result<Keys> {
    let Some(value) = value else {
        return Ok(Keys { prefixed: true, separator: '/', suffix: String::new() });
    };
    let (name, configuration) = named("chunk_key_encoding", value)?;
    // Old writers put the separator beside the name.
    let beside = value.get("separator");
    let separate = configuration.and_then(|c| c.get("separator")).or(beside).map(separator).transpose()?;
    match name {
        "default" => Ok(Keys { prefixed: true, separator: separate.unwrap_or('/'), suffix: String::new() }),
        "v2" => Ok(Keys { prefixed: false, separator: separate.unwrap_or('.'), suffix: String::new() }),
        "suffix" => {
            let get =
                |names: [&str; 2]| configuration.and_then(|c| names.iter().find_map(|name| c.get(*name)));
            let base = keys(get(["base-encoding", "base_encoding"]))?;
            let suffix = get(["suffix", "suffix"]).and_then(Value::as_str).unwrap_or_default().to_owned();
            if suffix.contains(['/', '\\', '\0']) {
                return Err(Error::malformed(format!("chunk_key_encoding: the suffix {suffix:?}")));
            }
            Ok(Keys { suffix, ..base })
        }
        _ => Err(Error::unsupported(format!("the chunk key encoding {name:?}"))),
    }
}

/// The chunk shape of a regular grid; for one whose chunks differ, where they begin, and the largest.
fn grid(value: &Value, shape: &[u64]) -> Result<(Vec<u64>, Option<Vec<Vec<u64>>>)> {
    let (name, configuration) = named("chunk_grid", value)?;
    let get = |key: &str| {
        let value = configuration.and_then(|c| c.get(key));
        value.ok_or_else(|| Error::malformed(format!("chunk_grid: it has no {key:?}")))
    };
    match name {
        "regular" => Ok((lengths("chunk_shape", get("chunk_shape")?)?, None)),
        "rectilinear" => {
            let list =
                get("chunk_shapes").or_else(|_| get("chunk_shape"))?.as_array().cloned().unwrap_or_default();
            if list.len() != shape.len() {
                return Err(Error::malformed("chunk_grid: as many lists of chunks as dimensions are needed"));
            }
            let edges: Vec<Vec<u64>> =
                list.iter().zip(shape).map(|(sides, len)| edges(sides, *len)).collect::<Result<_>>()?;
            let largest = |edges: &Vec<u64>| {
                edges.windows(2).map(|pair| pair.last().unwrap_or(&0) - pair.first().unwrap_or(&0)).max()
            };
            Ok((edges.iter().map(|edges| largest(edges).unwrap_or(1).max(1)).collect(), Some(edges)))
        }
        _ => Err(Error::unsupported(format!("the chunk grid {name:?}"))),
    }
}

/// The most chunks along a dimension of a grid whose chunks differ.
const SIDES: usize = 1 << 22;

/// Where chunks begin: of one length for all, or of a list of lengths and `[length, count]`.
fn edges(value: &Value, len: u64) -> Result<Vec<u64>> {
    let wrong = || Error::malformed(format!("chunk_grid: {} are no lengths of chunks", short(value)));
    let mut edges = vec![0u64];
    let mut push = |side: u64, count: u64| -> Result<()> {
        for _ in 0..count {
            let next = edges.last().copied().unwrap_or(0).checked_add(side).filter(|_| side > 0);
            edges.push(next.ok_or_else(wrong)?);
            if edges.len() > SIDES {
                return Err(Error::limit("more than 4 million chunks along a dimension"));
            }
        }
        Ok(())
    };
    match value {
        Value::Array(list) => {
            for item in list {
                match item.as_array().map(Vec::as_slice) {
                    Some([side, count]) => {
                        let number = |value| super::json::whole(value).ok_or_else(wrong);
                        push(number(side)?, number(count)?)?;
                    }
                    Some(_) => return Err(wrong()),
                    None => push(super::json::whole(item).ok_or_else(wrong)?, 1)?,
                }
            }
        }
        side => {
            let side = super::json::whole(side).filter(|&side| side > 0).ok_or_else(wrong)?;
            push(side, len.div_ceil(side))?;
        }
    }
    if edges.last().is_none_or(|&end| end < len) {
        return Err(Error::malformed(format!("chunk_grid: the chunks end before {len} elements")));
    }
    Ok(edges)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn keys_of_every_encoding() {
        let key = |encoding: Value, index: &[u64]| keys(Some(&encoding)).unwrap().key(index);
        assert_eq!(key(json!({"name": "default"}), &[1, 23]), "c/1/23");
        assert_eq!(key(json!({"name": "default", "configuration": {"separator": "."}}), &[1, 23]), "c.1.23");
        assert_eq!(key(json!("default"), &[]), "c");
        assert_eq!(key(json!({"name": "v2"}), &[1, 23]), "1.23");
        assert_eq!(key(json!({"name": "v2", "configuration": {"separator": "/"}}), &[4]), "4");
        assert_eq!(key(json!({"name": "v2"}), &[]), "0");
        let suffix =
            json!({"name": "suffix", "configuration": {"suffix": ".tiff", "base-encoding": {"name": "v2"}}});
        assert_eq!(key(suffix, &[0, 1]), "0.1.tiff");
        assert!(keys(Some(&json!({"name": "fanout"}))).is_err());
        assert!(keys(Some(&json!({"name": "v2", "configuration": {"separator": "../"}}))).is_err());
    }

    #[test]
    fn chunks_of_different_sizes() {
        assert_eq!(edges(&json!([2, [3, 2], 1]), 9).unwrap(), [0, 2, 5, 8, 9]);
        assert_eq!(edges(&json!(4), 9).unwrap(), [0, 4, 8, 12]);
        for wrong in
            [json!([0]), json!([1, 2]), json!([[1u64 << 60, 1u64 << 40]]), json!("x"), json!([[1, 2, 3]])]
        {
            assert!(edges(&wrong, 9).is_err(), "{wrong}");
        }
    }
}
