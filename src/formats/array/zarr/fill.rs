//! Fill values: what elements are that no chunk holds. JSON in many spellings, as one delivered element.
//! <https://zarr-specs.readthedocs.io/en/latest/v3/core/index.html#fill-value>

use super::dtype::Element;
use super::json::{base64, short};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::data::dtype::{DType, Mini, with_integer};
use serde_json::Value;

/// The bytes of one element, little-endian; `None` for null: elements without a chunk have no value then, which
/// times can say.
pub(super) fn bytes(value: &Value, element: &Element) -> Result<Option<Vec<u8>>> {
    if value.is_null() {
        let nat = matches!(element.dtype, DType::DateTime(_) | DType::TimeDelta(_));
        return Ok(nat.then(|| i64::MIN.to_le_bytes().to_vec()));
    }
    let wrong = || Error::malformed(format!("fill_value: {} is no {}", short(value), element.word));
    of(value, &element.dtype, element).map(Some).ok_or_else(wrong)
}

/// One element of a type.
fn of(value: &Value, dtype: &DType, element: &Element) -> Option<Vec<u8>> {
    let whole = |dtype: &DType| {
        let value = integer(value)?;
        with_integer!(dtype, T => Some(T::try_from(value).ok()?.to_le_bytes().to_vec()), _ => None)
    };
    if let Some(element) = whole(dtype) {
        return Some(element);
    }
    Some(match dtype {
        DType::Bool => vec![u8::from(boolean(value)?)],
        DType::DateTime(_) | DType::TimeDelta(_) => match value.as_str() {
            Some("NaT") => i64::MIN.to_le_bytes().to_vec(),
            _ => whole(&DType::I64)?,
        },
        DType::F16 | DType::BF16 | DType::F32 | DType::F64 | DType::Mini(_) => float(value, dtype)?,
        DType::C64 => complex(value, &DType::F32)?,
        DType::C128 => complex(value, &DType::F64)?,
        DType::Bytes(n) | DType::Void(n) => opaque(value, *n as usize)?,
        DType::Str(n) => text(value, *n as usize)?,
        DType::Long(kind) => match float(value, &DType::F64)?.as_slice() {
            zero if zero.iter().all(|&b| b == 0) => vec![0; kind.size() as usize],
            _ => return None,
        },
        DType::Struct(_) => structured(value, dtype, element)?,
        _ => return None,
    })
}

fn boolean(value: &Value) -> Option<bool> {
    value.as_bool().or_else(|| integer(value).map(|n| n != 0))
}

/// A whole number, also spelled as a float.
fn integer(value: &Value) -> Option<i128> {
    if let Some(boolean) = value.as_bool() {
        return Some(i128::from(boolean));
    }
    let number = value.as_number()?;
    let whole = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
    whole.or_else(|| {
        let float = number.as_f64()?;
        (float.fract() == 0.0 && float.abs() < 1e18).then_some(float as i128)
    })
}

/// A float: a number, a word, or its bits in hexadecimal.
fn float(value: &Value, dtype: &DType) -> Option<Vec<u8>> {
    let size = dtype.size() as usize;
    let number = match value {
        Value::String(text) => match text.as_str() {
            "NaN" => f64::NAN,
            "Infinity" | "inf" => f64::INFINITY,
            "-Infinity" | "-inf" => f64::NEG_INFINITY,
            text => match text.strip_prefix("0x") {
                Some(digits) => {
                    let bits = u64::from_str_radix(digits, 16).ok()?;
                    let fits = size >= 8 || bits >> (size * 8) == 0;
                    return fits.then(|| bits.to_le_bytes().iter().take(size).copied().collect());
                }
                // xarray puts the bytes themselves into attributes.
                None => match text.parse::<f64>() {
                    Ok(number) => number,
                    Err(_) => return base64(text).filter(|bytes| bytes.len() == size),
                },
            },
        },
        Value::Bool(value) => f64::from(u8::from(*value)),
        number => number.as_f64()?,
    };
    Some(match dtype {
        DType::F16 => half::f16::from_f64(number).to_le_bytes().to_vec(),
        DType::BF16 => half::bf16::from_f64(number).to_le_bytes().to_vec(),
        DType::F32 => (number as f32).to_le_bytes().to_vec(),
        DType::F64 => number.to_le_bytes().to_vec(),
        DType::Mini(kind) => vec![small(*kind, number)?],
        _ => return None,
    })
}

/// The pattern of a small float that is nearest to a number.
fn small(kind: Mini, number: f64) -> Option<u8> {
    let patterns = 0..=u8::try_from((1u32 << kind.bits()) - 1).ok()?;
    let value = |pattern: u8| kind.table().get(usize::from(pattern)).map_or(f64::NAN, |v| f64::from(*v));
    if number.is_nan() {
        return patterns.into_iter().find(|&p| value(p).is_nan()).or(Some(0));
    }
    let away = |pattern: u8| match value(pattern) {
        v if v == number => f64::from(u8::from(v.is_sign_negative() != number.is_sign_negative())) * 1e-300,
        v if v.is_nan() => f64::INFINITY,
        v => (v - number).abs(),
    };
    patterns.min_by(|&a, &b| away(a).total_cmp(&away(b)))
}

/// `[real, imaginary]`, or a real number.
fn complex(value: &Value, part: &DType) -> Option<Vec<u8>> {
    match value.as_array().map(Vec::as_slice) {
        Some([real, imaginary]) => {
            let mut bytes = float(real, part)?;
            bytes.append(&mut float(imaginary, part)?);
            Some(bytes)
        }
        Some(_) => None,
        None => {
            let mut bytes = float(value, part)?;
            bytes.resize(bytes.len() * 2, 0);
            Some(bytes)
        }
    }
}

/// Bytes: Base64, a list of numbers, or a zero for none.
fn opaque(value: &Value, size: usize) -> Option<Vec<u8>> {
    let mut bytes = raw(value)?;
    if bytes.len() > size {
        return None;
    }
    bytes.resize(size, 0);
    Some(bytes)
}

/// The bytes of a value of any length.
pub(super) fn raw(value: &Value) -> Option<Vec<u8>> {
    match value {
        Value::String(text) => base64(text),
        Value::Array(list) => list.iter().map(|n| u8::try_from(n.as_u64()?).ok()).collect(),
        other => (integer(other)? == 0).then(Vec::new),
    }
}

/// Text of so many characters; a zero is none.
fn text(value: &Value, characters: usize) -> Option<Vec<u8>> {
    let text = match value {
        Value::String(text) => text.as_str(),
        other => (integer(other)? == 0).then_some("")?,
    };
    let mut bytes: Vec<u8> = text.chars().flat_map(|c| u32::from(c).to_le_bytes()).collect();
    if bytes.len() > characters * 4 {
        return None;
    }
    bytes.resize(characters * 4, 0);
    Some(bytes)
}

/// A structured element: its stored bytes as Base64, a list of its fields' values, an object of them, or 0.
fn structured(value: &Value, dtype: &DType, element: &Element) -> Option<Vec<u8>> {
    let record = dtype.record()?;
    let size = limits::check(record.size, limits::CHUNK, "the fill value").ok()?;
    match value {
        Value::String(text) => {
            let mut bytes = base64(text).filter(|bytes| bytes.len() == size)?;
            element.order.to_little(dtype, &mut bytes).ok()?;
            Some(bytes)
        }
        Value::Array(values) if values.len() == record.fields.len() => {
            fields(record.fields.iter().zip(values.iter().map(Some)), size, element)
        }
        Value::Object(values) => {
            fields(record.fields.iter().map(|f| (f, values.get(&f.name))), size, element)
        }
        other => (integer(other)? == 0).then(|| vec![0; size]),
    }
}

fn fields<'a>(
    pairs: impl Iterator<Item = (&'a crate::data::dtype::Field, Option<&'a Value>)>,
    size: usize,
    element: &Element,
) -> Option<Vec<u8>> {
    let mut out = vec![0; size];
    for (field, value) in pairs {
        let Some(value) = value else { continue };
        let one = of(value, &field.dtype, element)?;
        let start = usize::try_from(field.offset).ok()?;
        let place = out.get_mut(start..start.checked_add(usize::try_from(field.bytes().ok()?).ok()?)?)?;
        place.chunks_exact_mut(one.len().max(1)).for_each(|part| part.copy_from_slice(&one));
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::super::dtype::{of_v2, of_v3};
    use super::*;
    use serde_json::json;

    fn v2(dtype: Value, fill: Value) -> Option<Vec<u8>> {
        bytes(&fill, &of_v2(&dtype).unwrap()).unwrap()
    }

    #[test]
    fn every_spelling() {
        assert_eq!(v2(json!("<f8"), json!("NaN")).unwrap(), f64::NAN.to_le_bytes());
        assert_eq!(v2(json!(">f4"), json!("-Infinity")).unwrap(), f32::NEG_INFINITY.to_le_bytes());
        assert_eq!(v2(json!("<i4"), json!(7.0)).unwrap(), [7, 0, 0, 0]);
        assert_eq!(v2(json!("|V3"), json!("AAAA")).unwrap(), [0, 0, 0]);
        assert_eq!(v2(json!("|S5"), json!("Z28=")).unwrap(), b"go\0\0\0");
        assert_eq!(v2(json!("<U2"), json!("é")).unwrap(), [0xe9, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(v2(json!("<c8"), json!([1.0, "NaN"])).unwrap().len(), 8);
        assert_eq!(v2(json!("<M8[ns]"), json!("NaT")).unwrap(), i64::MIN.to_le_bytes());
        assert_eq!(v2(json!("<i4"), json!(null)), None);
        assert_eq!(v2(json!("<M8[s]"), json!(null)), Some(i64::MIN.to_le_bytes().to_vec()));
        assert_eq!(v2(json!([["a", ">i2"], ["b", "|u1"]]), json!("AAEC")).unwrap(), [1, 0, 2]);
        assert_eq!(v2(json!([["a", ">i2", [2]], ["b", "|u1"]]), json!([3, 4])).unwrap(), [3, 0, 3, 0, 4]);
        assert!(bytes(&json!(300), &of_v2(&json!("|u1")).unwrap()).is_err());
        assert!(bytes(&json!("x"), &of_v2(&json!("<i4")).unwrap()).is_err());
    }

    #[test]
    fn bits_in_hexadecimal() {
        let v3 = |name: &str, fill: Value| bytes(&fill, &of_v3(&json!(name)).unwrap());
        assert_eq!(v3("float32", json!("0x7fc00001")).unwrap().unwrap(), 0x7fc0_0001u32.to_le_bytes());
        assert!(v3("float16", json!("0x7fc00001")).is_err());
        assert_eq!(v3("float8_e4m3fn", json!(448.0)).unwrap().unwrap(), [0x7e]);
        assert_eq!(v3("float8_e4m3fn", json!(-0.0)).unwrap().unwrap(), [0x80]);
        assert_eq!(v3("r16", json!([1, 2])).unwrap().unwrap(), [1, 2]);
    }
}
