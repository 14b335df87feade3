//! Attributes in HDF5: numbers in their type, lists as arrays, texts as texts. What HDF5 has no type for is
//! kept as the text of its JSON.

use super::library::{Described, Type};
use super::types;
use crate::bytes::error::{Error, Result};
use crate::data::dtype::DType;
use crate::data::format::note;
use crate::data::format::{Attributes, Loss, LossKind};
use crate::data::node::Value;
use crate::engines::attributes::{Encoded, encoded};
use std::ffi::CString;

/// The longest value of an attribute: object headers end at 64 KB.
const LONGEST: usize = 60_000;
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

/// Writes a value.
pub(super) fn put(object: &dyn Described, name: &str, value: &Encoded) -> Result<()> {
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
            let held = texts.iter().map(|text| text.as_bytes_with_nul().len() as u64).sum();
            let places = texts.iter().flat_map(|text| (text.as_ptr() as usize).to_ne_bytes());
            // SAFETY: the texts end with zero and live until the end of the call.
            unsafe { object.attribute_of(name, &Type::texts()?, shape, (&places.collect::<Vec<u8>>(), held)) }
        }
        Encoded::Numbers(dtype, bytes, shape) => {
            let datatype =
                types::of(dtype)?.ok_or_else(|| Error::bug(format!("{dtype} has no HDF5 type")))?;
            // SAFETY: a type without places in memory.
            unsafe { object.attribute(name, &datatype, shape.as_deref(), bytes) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value as Json, json};

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
