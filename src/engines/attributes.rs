//! Attributes as formats of arrays keep them: numbers in their type, lists as arrays, texts as texts. What is none of
//! these (objects, lists of several types) is the text of its JSON.

use crate::data::cf;
use crate::data::dtype::{DType, with_integer};
use crate::data::format::Attributes;
use crate::data::node::Value;
use serde_json::Value as Json;

/// What is compared with elements, and has their type where nothing else is said.
pub const OF_ELEMENTS: [&str; 7] =
    ["_FillValue", "missing_value", "valid_min", "valid_max", "valid_range", "flag_values", "flag_masks"];

/// A value as such formats keep it.
#[derive(Clone, Debug, PartialEq)]
pub enum Encoded {
    /// No value.
    Nothing,
    /// One text.
    Text(String),
    /// Texts, and their shape.
    Texts(Vec<String>, Vec<u64>),
    /// The bytes of elements, and their shape; `None` for one alone.
    Numbers(DType, Vec<u8>, Option<Vec<u64>>),
}

/// How a value is kept beside elements of `dtype`.
pub fn encoded(attributes: &Attributes, name: &str, value: &Value, dtype: &DType) -> Encoded {
    let of_elements = OF_ELEMENTS.contains(&name).then_some(dtype).filter(|dtype| dtype.is_real());
    let json = match value {
        Value::Json(json) => json,
        Value::Text(text) => {
            // A float that JSON has no number for, or that xarray spells as Base64 in Zarr.
            let typed = attributes.types.get(name).or(of_elements.filter(|dtype| dtype.is_float()));
            let number = cf::numbers(&attributes.list, name);
            return match (typed, number.as_slice()) {
                (Some(dtype), [number]) if dtype.is_float() => numbers(
                    &[Json::from(crate::data::cell::float64(*number))],
                    dtype,
                )
                .map_or_else(|| Encoded::Text(text.clone()), |b| Encoded::Numbers(dtype.clone(), b, None)),
                _ => Encoded::Text(text.clone()),
            };
        }
    };
    let mut shape = Vec::new();
    let mut flat = Vec::new();
    if matches!(json, Json::Null) {
        return Encoded::Nothing;
    }
    if !flatten(json, 0, &mut shape, &mut flat) {
        return Encoded::Text(json.to_string());
    }
    let is_list = json.is_array();
    if flat.iter().all(|item| item.is_boolean()) && !flat.is_empty() {
        let bytes = flat.iter().map(|item| u8::from(item == &Json::Bool(true))).collect();
        return Encoded::Numbers(DType::Bool, bytes, is_list.then_some(shape));
    }
    let known = attributes.types.get(name);
    let usual = [DType::I64, DType::U64, DType::F64];
    for dtype in known.into_iter().chain(of_elements).chain(&usual) {
        // Texts among numbers are NaN and infinities, and only where the type says so.
        let plain = known.is_some() || flat.iter().all(|item| item.is_number());
        if let Some(bytes) = numbers(&flat, dtype).filter(|_| plain) {
            return Encoded::Numbers(dtype.clone(), bytes, is_list.then_some(shape));
        }
    }
    match flat.iter().map(|item| item.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>() {
        Some(texts) if is_list && !texts.is_empty() => Encoded::Texts(texts, shape),
        _ => Encoded::Text(json.to_string()),
    }
}

/// The items of a rectangle of lists, and its shape; false where it is none.
fn flatten(json: &Json, depth: usize, shape: &mut Vec<u64>, flat: &mut Vec<Json>) -> bool {
    let Json::Array(items) = json else {
        flat.push(json.clone());
        return depth == shape.len() && !json.is_object() && !json.is_null();
    };
    match shape.get(depth) {
        Some(side) if *side == items.len() as u64 => {}
        Some(_) => return false,
        None if flat.is_empty() && shape.len() == depth && depth < 8 => shape.push(items.len() as u64),
        None => return false,
    }
    items.iter().all(|item| flatten(item, depth + 1, shape, flat))
}

/// Numbers as little-endian elements of a type; `None` where one of them is none of it.
pub fn numbers(items: &[Json], dtype: &DType) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    for item in items {
        let float = || match item {
            Json::String(text) => text.parse::<f64>().ok(),
            other => other.as_f64(),
        };
        // Spelled with a point: `-32768.0`; of types that hold more than a float does it may be rounded.
        let point = || {
            let value = item.as_f64().filter(|n| n.fract() == 0.0 && n.abs() < 9e15)?;
            (dtype.size() < 8).then_some(value as i128)
        };
        let whole = || {
            let (signed, unsigned) = (item.as_i64().map(i128::from), item.as_u64().map(i128::from));
            signed.or(unsigned).or_else(point)
        };
        with_integer!(dtype, T => out.extend(T::try_from(whole()?).ok()?.to_le_bytes()), _ => match dtype {
            DType::F32 => out.extend((float()? as f32).to_le_bytes()),
            DType::F64 => out.extend(float()?.to_le_bytes()),
            _ => return None,
        });
    }
    Some(out)
}
