//! Element types: NumPy's type strings of version 2, the data types of version 3 and its extensions.
//! <https://numpy.org/doc/stable/reference/arrays.interface.html#arrays-interface>,
//! <https://zarr-specs.readthedocs.io/en/latest/v3/data-types/index.html>,
//! <https://github.com/zarr-developers/zarr-extensions/tree/main/data-types>

use super::json::{Object, kind, named, short, whole};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
pub(super) use crate::data::dtype::ByteOrder;
use crate::data::dtype::numpy::Word;
use crate::data::dtype::{DType, Field, Record, TimeBase, TimeUnit, Variable};
use arrow::datatypes::DataType;
use serde_json::Value;
use std::sync::Arc;

/// How deep structured types nest.
const DEEP: usize = 16;

/// What an array's elements are, and how they are stored.
#[derive(Clone, Debug)]
pub(super) struct Element {
    /// As delivered.
    pub(super) dtype: DType,
    /// The byte order that the type itself says (version 2); version 3's codec says it.
    pub(super) order: ByteOrder,
    /// Integers of fewer bits than a byte: how many, and whether the top one is the sign.
    pub(super) narrow: Option<(u32, bool)>,
    /// The type as the metadata name it.
    pub(super) word: String,
}

impl Element {
    fn new(dtype: DType, order: ByteOrder, word: impl Into<String>) -> Self {
        Element { dtype, order, narrow: None, word: word.into() }
    }

    /// Bytes of one stored element; 0 for those without a size.
    pub(super) fn size(&self) -> u64 {
        self.dtype.size()
    }

    /// Whether elements are Python objects or other things without a size.
    pub(super) fn is_variable(&self) -> bool {
        self.dtype.is_variable()
    }

    /// Gives integers under a byte, which stand in the low bits, the bits above.
    pub(super) fn widen(&self, bytes: &mut [u8]) {
        let Some((bits, signed)) = self.narrow else { return };
        let shift = 8u32.saturating_sub(bits);
        for byte in bytes {
            let high = *byte << shift;
            *byte = if signed { (high.cast_signed() >> shift).cast_unsigned() } else { high >> shift };
        }
    }
}

/// A type of elements without a size: NumPy's word and what a column of them is.
pub(super) fn variable(word: &str, arrow: DataType) -> DType {
    DType::Variable(Arc::new(Variable { word: word.to_owned(), arrow, reference: false }))
}

/// The type of a `dtype` of version 2: a type string or a list of fields. `|O` is text that codecs make
/// more of (see [`super::chain`]).
pub(super) fn of_v2(value: &Value) -> Result<Element> {
    of_v2_at(value, DEEP)
}

fn of_v2_at(value: &Value, deep: usize) -> Result<Element> {
    match value {
        Value::String(text) => of_typestr(text),
        Value::Array(fields) => {
            let fields: Vec<(String, Element, Vec<u64>)> =
                fields.iter().map(|field| v2_field(field, deep)).collect::<Result<_>>()?;
            record(fields, "structured")
        }
        other => Err(Error::malformed(format!("dtype: it is {}, not a text or list", kind(other)))),
    }
}

/// `[name, dtype]` or `[name, dtype, shape]`.
fn v2_field(field: &Value, deep: usize) -> Result<(String, Element, Vec<u64>)> {
    let wrong = || Error::malformed(format!("dtype: the field {} is no name and type", short(field)));
    let deep = deep.checked_sub(1).ok_or_else(|| Error::limit("dtype: structured types nest too deep"))?;
    let list = field.as_array().ok_or_else(wrong)?;
    let (Some(name), Some(inner)) = (list.first().and_then(Value::as_str), list.get(1)) else {
        return Err(wrong());
    };
    let shape = match list.get(2) {
        None => Vec::new(),
        Some(one @ Value::Number(_)) => vec![whole(one).ok_or_else(wrong)?],
        Some(shape) => super::json::lengths("dtype: the shape of a field", shape)?,
    };
    Ok((name.to_owned(), of_v2_at(inner, deep)?, shape))
}

/// A structured type of fields one after the other.
fn record(fields: Vec<(String, Element, Vec<u64>)>, word: &str) -> Result<Element> {
    let (mut parts, mut orders, mut size) = (Vec::new(), Vec::new(), 0u64);
    if fields.is_empty() {
        return Err(Error::malformed("dtype: a structured type without fields"));
    }
    for (name, inner, shape) in fields {
        if inner.is_variable() || inner.narrow.is_some() {
            let what = format!("a structured type with the field {name:?} of {}", inner.word);
            return Err(Error::unsupported(what));
        }
        let field = Field { name, dtype: inner.dtype, shape, offset: size };
        let bytes = field.bytes()?;
        let end = size.checked_add(bytes).filter(|&end| end <= u64::from(u32::MAX));
        size = end.ok_or_else(|| {
            Error::malformed(format!("dtype: with the field {:?} an element is too large", field.name))
        })?;
        orders.push(inner.order);
        parts.push(field);
    }
    let order = match orders.iter().all(|order| *order == ByteOrder::Little) {
        true => ByteOrder::Little,
        false => ByteOrder::Fields(orders),
    };
    Ok(Element::new(DType::Struct(Arc::new(Record { fields: parts, size })), order, word))
}

/// One type string: byte order, letter, size, unit.
pub(super) fn of_typestr(text: &str) -> Result<Element> {
    let unknown = || Error::unsupported(format!("the dtype {text:?}"));
    if let Some(dtype) = of_name(text) {
        return Ok(Element::new(dtype, ByteOrder::Little, text));
    }
    let word = Word::parse(text).ok_or_else(unknown)?;
    let dtype = match (word.letter, word.size) {
        ('c', Some(n @ (24 | 32))) => DType::Void(n),
        ('O', None | Some(4 | 8)) => variable("object", DataType::Utf8),
        ('T', None | Some(16)) => DType::text(),
        _ => word.dtype().ok_or_else(unknown)?,
    };
    let order = if word.big && dtype.swap_unit() > 1 { ByteOrder::Big } else { ByteOrder::Little };
    Ok(Element::new(dtype, order, text))
}

/// The types with a plain name, which both versions know.
fn of_name(name: &str) -> Option<DType> {
    match name {
        "complex_float32" => Some(DType::C64),
        "complex_float64" => Some(DType::C128),
        _ => DType::of_name(name),
    }
}

/// The type of a `data_type` of version 3.
pub(super) fn of_v3(value: &Value) -> Result<Element> {
    of_v3_at(value, DEEP)
}

fn of_v3_at(value: &Value, deep: usize) -> Result<Element> {
    let (name, configuration) = named("data_type", value)?;
    if let Some(dtype) = of_name(name) {
        return Ok(Element::new(dtype, ByteOrder::Little, name));
    }
    let unknown = || Error::unsupported(format!("the data type {}", short(value)));
    let number = |key: &str| configuration.and_then(|c| c.get(key)).and_then(whole);
    let length = || number("length_bytes").and_then(|n| u32::try_from(n).ok()).ok_or_else(unknown);
    let narrow = |dtype, bits, signed| Element {
        narrow: Some((bits, signed)),
        ..Element::new(dtype, ByteOrder::Little, name)
    };
    let dtype = match name {
        "int2" => return Ok(narrow(DType::I8, 2, true)),
        "int4" => return Ok(narrow(DType::I8, 4, true)),
        "uint2" => return Ok(narrow(DType::U8, 2, false)),
        "uint4" => return Ok(narrow(DType::U8, 4, false)),
        "string" => DType::text(),
        "bytes" | "variable_length_bytes" => variable("bytes", DataType::Binary),
        "null_terminated_bytes" => DType::Bytes(length()?),
        "raw_bytes" => DType::Void(length()?),
        "fixed_length_utf32" => DType::Str(length().ok().filter(|n| n % 4 == 0).ok_or_else(unknown)? / 4),
        "fixed_length_ucs4" => DType::Str(length()? / 4),
        "numpy.datetime64" => DType::DateTime(v3_unit(configuration).ok_or_else(unknown)?),
        "numpy.timedelta64" => DType::TimeDelta(v3_unit(configuration).ok_or_else(unknown)?),
        "structured" | "struct" => return v3_record(name, configuration, deep),
        _ => match complex(name) {
            Some(element) => return Ok(element),
            None => DType::Void(raw_bits(name).ok_or_else(unknown)?),
        },
    };
    Ok(Element::new(dtype, ByteOrder::Little, name))
}

/// `r16`: so many opaque bits.
fn raw_bits(name: &str) -> Option<u32> {
    let bits: u32 = name.strip_prefix('r')?.parse().ok()?;
    (bits > 0 && bits.is_multiple_of(8)).then_some(bits / 8)
}

/// Complex numbers of small floats: a pair of them.
fn complex(name: &str) -> Option<Element> {
    let part = of_name(name.strip_prefix("complex_")?)?;
    let part = || Element::new(part.clone(), ByteOrder::Little, name);
    record(vec![("real".into(), part(), Vec::new()), ("imag".into(), part(), Vec::new())], name).ok()
}

fn v3_unit(configuration: Option<&Object>) -> Option<TimeUnit> {
    let configuration = configuration?;
    let base = TimeBase::parse(configuration.get("unit")?.as_str()?)?;
    let count = configuration.get("scale_factor").map_or(Some(1), whole)?;
    Some(TimeUnit { count: u32::try_from(count).ok().filter(|&count| count > 0)?, base })
}

/// Fields as `[name, type]` or `{"name": …, "data_type": …}`.
fn v3_record(name: &str, configuration: Option<&Object>, deep: usize) -> Result<Element> {
    let deep =
        deep.checked_sub(1).ok_or_else(|| Error::limit("data_type: structured types nest too deep"))?;
    let list = configuration.and_then(|c| c.get("fields")).and_then(Value::as_array);
    let list = list.ok_or_else(|| Error::malformed(format!("data_type: {name:?} without fields")))?;
    let field = |field: &Value| {
        let (name, inner) = match field {
            Value::Array(pair) => (pair.first(), pair.get(1)),
            other => (other.get("name"), other.get("data_type")),
        };
        let (Some(name), Some(inner)) = (name.and_then(Value::as_str), inner) else {
            return Err(Error::malformed(format!(
                "data_type: the field {} is no name and type",
                short(field)
            )));
        };
        Ok((name.to_owned(), of_v3_at(inner, deep)?, Vec::new()))
    };
    record(list.iter().map(field).collect::<Result<_>>()?, name)
}

/// Checked bytes of a chunk of elements.
pub(super) fn chunk_bytes(element: &Element, shape: &[u64]) -> Result<usize> {
    limits::check(limits::bytes(shape, element.size())?, limits::CHUNK, "a chunk")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn type_strings_of_version_2() {
        let word = |value: Value| of_v2(&value).map(|e| e.dtype.to_string());
        assert_eq!(word(json!("<f4")).unwrap(), "float32");
        assert_eq!(word(json!(">M8[25s]")).unwrap(), "datetime64[25s]");
        assert_eq!(word(json!("|S5")).unwrap(), "bytes[5]");
        assert_eq!(word(json!("bfloat16")).unwrap(), "bfloat16");
        assert_eq!(
            word(json!([["a", "<i4"], ["b", [["x", ">f8"]], [2]]])).unwrap(),
            "struct<a: int32, b: struct<x: float64>>"
        );
        for wrong in [json!("<i3"), json!("f4[s]"), json!(5), json!([]), json!([["a"]]), json!(">")] {
            assert!(word(wrong.clone()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn fields_turn_each_in_its_order() {
        let element = of_v2(&json!([["a", ">i2"], ["b", "<i2"]])).unwrap();
        let mut bytes = [0, 1, 2, 0, 0, 3, 4, 0];
        element.order.to_little(&element.dtype, &mut bytes).unwrap();
        assert_eq!(bytes, [1, 0, 2, 0, 3, 0, 4, 0]);
    }

    #[test]
    fn data_types_of_version_3() {
        let of = |value: Value| of_v3(&value).map(|e| e.dtype.to_string());
        assert_eq!(of(json!("r16")).unwrap(), "void[2]");
        assert_eq!(of(json!("float8_e4m3fn")).unwrap(), "float8_e4m3fn");
        assert_eq!(
            of(json!({"name": "numpy.datetime64", "configuration": {"unit": "ns", "scale_factor": 10}}))
                .unwrap(),
            "datetime64[10ns]"
        );
        assert_eq!(
            of(json!({"name": "fixed_length_utf32", "configuration": {"length_bytes": 20}})).unwrap(),
            "str"
        );
        assert_eq!(of(json!("complex_bfloat16")).unwrap(), "struct<real: bfloat16, imag: bfloat16>");
        assert!(of(json!("r7")).is_err() && of(json!("nonsense")).is_err() && of(json!({})).is_err());
        let mut bytes = [0x0f, 0x07, 0xf8];
        of_v3(&json!("int4")).unwrap().widen(&mut bytes);
        assert_eq!(bytes.map(u8::cast_signed), [-1, 7, -8]);
    }
}
