//! Attributes in HDF5: numbers in their type, lists as arrays, texts as texts. What HDF5 has no type for is
//! kept as the text of its JSON.

use super::library::{Described, Type};
use super::types;
use crate::bytes::error::{Error, Result};
use crate::data::cf;
use crate::data::dtype::{DType, with_integer};
use crate::data::format::note;
use crate::data::format::{Attributes, Loss, LossKind};
use crate::data::node::Value;
use serde_json::Value as Json;
use std::ffi::CString;

/// The longest value of an attribute: object headers end at 64 KB.
const LONGEST: usize = 60_000;
/// What is compared with elements, and has their type where nothing else is said.
const OF_ELEMENTS: [&str; 7] =
    ["_FillValue", "missing_value", "valid_min", "valid_max", "valid_range", "flag_values", "flag_masks"];

/// A value as HDF5 keeps it.
enum Encoded {
    Nothing,
    Text(String),
    /// Texts, and their shape.
    Texts(Vec<String>, Vec<u64>),
    /// The bytes of elements, and their shape; `None` for one alone.
    Numbers(DType, Vec<u8>, Option<Vec<u64>>),
}

/// What of the attributes of the object called `path` HDF5 does not keep as it is.
pub(super) fn losses(path: &str, attributes: &Attributes, losses: &mut Vec<Loss>) {
    for (name, value) in &attributes.list {
        let mut say = |what: &str| losses.push(note(LossKind::Attribute, what).at(path).of(name));
        let zeros = |texts: &[String]| texts.iter().any(|text| text.contains('\0'));
        if !fits(name, value) {
            say("the attribute is too long for HDF5, or has no name there: it is left out");
            continue;
        }
        match encoded(attributes, name, value, &DType::U8) {
            Encoded::Text(_) if matches!(value, Value::Json(_)) => {
                say("HDF5 has no type for it: its JSON is kept as text");
            }
            Encoded::Texts(texts, _) if zeros(&texts) => say("NUL characters within its texts are left out"),
            _ => {}
        }
    }
}

fn fits(name: &str, value: &Value) -> bool {
    !name.is_empty() && !name.contains('\0') && name.len() < LONGEST && value.to_string().len() <= LONGEST
}

/// Writes the attributes of an object; `dtype` is the type of a dataset's elements.
pub(super) fn write(object: &dyn Described, attributes: &Attributes, dtype: &DType) -> Result<()> {
    for (name, value) in &attributes.list {
        if fits(name, value) {
            put(object, name, &encoded(attributes, name, value, dtype))?;
        }
    }
    Ok(())
}

/// Writes a text, as the library's own attributes of dimension scales are.
pub(super) fn text(object: &dyn Described, name: &str, text: &str) -> Result<()> {
    let bytes = [text.as_bytes(), &[0]].concat();
    // SAFETY: a type without places in memory.
    unsafe { object.attribute(name, &Type::ended_text(bytes.len(), !text.is_ascii())?, None, &bytes) }
}

/// Writes whole numbers: one, or a list.
pub(super) fn numbers_of(object: &dyn Described, name: &str, numbers: &[i32], is_list: bool) -> Result<()> {
    let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    let shape = is_list.then(|| vec![numbers.len() as u64]);
    put(object, name, &Encoded::Numbers(DType::I32, bytes, shape))
}

/// Writes a list of texts.
pub(super) fn texts(object: &dyn Described, name: &str, texts: &[String]) -> Result<()> {
    put(object, name, &Encoded::Texts(texts.to_vec(), vec![texts.len() as u64]))
}

fn put(object: &dyn Described, name: &str, value: &Encoded) -> Result<()> {
    match value {
        Encoded::Nothing => object.empty_attribute(name),
        Encoded::Text(text) => {
            let bytes = if text.is_empty() { vec![0] } else { text.clone().into_bytes() };
            // SAFETY: a type without places in memory.
            unsafe { object.attribute(name, &Type::text(bytes.len(), true)?, None, &bytes) }
        }
        Encoded::Texts(texts, shape) => {
            let zero = |text: &String| CString::new(text.replace('\0', ""));
            let texts: Vec<CString> = texts
                .iter()
                .map(zero)
                .collect::<std::result::Result<_, _>>()
                .map_err(|_| Error::bug("a text with a zero that was taken out"))?;
            let places = texts.iter().flat_map(|text| (text.as_ptr() as usize).to_ne_bytes());
            // SAFETY: the texts end with zero and live until the end of the call.
            unsafe { object.attribute(name, &Type::texts()?, Some(shape), &places.collect::<Vec<u8>>()) }
        }
        Encoded::Numbers(dtype, bytes, shape) => {
            let datatype =
                types::of(dtype)?.ok_or_else(|| Error::bug(format!("{dtype} has no HDF5 type")))?;
            // SAFETY: a type without places in memory.
            unsafe { object.attribute(name, &datatype, shape.as_deref(), bytes) }
        }
    }
}

/// How a value is kept beside elements of `dtype`.
fn encoded(attributes: &Attributes, name: &str, value: &Value, dtype: &DType) -> Encoded {
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

/// Numbers as elements of a type; `None` where one of them is none of it.
fn numbers(items: &[Json], dtype: &DType) -> Option<Vec<u8>> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn characters_that_are_left_out_are_told() {
        let list = |texts: Json| {
            let attributes = Attributes::from(vec![("names".to_owned(), Value::Json(texts))]);
            let mut found = Vec::new();
            losses("a", &attributes, &mut found);
            found.len()
        };
        assert_eq!((list(json!(["a", "b"])), list(json!(["a", "b\0c"]))), (0, 1));
    }
}
