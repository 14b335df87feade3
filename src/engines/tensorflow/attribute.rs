//! The attributes of nodes (`AttrValue`).
//! <https://github.com/tensorflow/tensorflow/blob/master/tensorflow/core/framework/attr_value.proto>

use super::{messages, tensor::Tensor, types};
use crate::bytes::error::Result;
use crate::data::content::graph::{Attribute, Dimension};
use crate::engines::protobuf::{Field, Part, Value as Wire};
use std::sync::Arc;

/// The longest text of an attribute that is shown, in bytes.
const TEXT: usize = 1 << 12;
/// The most items of a list that are shown.
const ITEMS: usize = 1 << 12;

/// A shape as text: `[?, 4]`; `?` where nothing is known.
pub fn shape_text(shape: Option<&[Dimension]>) -> String {
    let Some(shape) = shape else { return "?".to_owned() };
    let sides: Vec<String> = shape.iter().map(ToString::to_string).collect();
    format!("[{}]", sides.join(", "))
}

/// A text; bytes that are none, and long ones, are told by their length.
fn text(part: Part) -> String {
    match std::str::from_utf8(part.bytes()) {
        Ok(text) if text.len() <= TEXT => text.to_owned(),
        _ => format!("{} bytes", part.bytes().len()),
    }
}

/// What a float says.
fn float(value: Wire) -> f64 {
    if let Wire::Fixed32(bytes) = value { shortest(f32::from_le_bytes(bytes)) } else { 0.0 }
}

/// The number of 64 bits that is written as the one of 32 bits is: 0.1 stays 0.1.
fn shortest(value: f32) -> f64 {
    value.to_string().parse().unwrap_or(f64::from(value))
}

fn boolean(value: Wire) -> String {
    (value.uint() != 0).to_string()
}

/// The name in a `NameAttrList`.
pub fn function_name(part: Part) -> String {
    let mut fields = part.fields().map_while(Result::ok);
    fields.find(|field| field.number == 1).map_or(String::new(), |field| field.value.text())
}

/// The functions that an attribute names.
pub fn functions(part: Part) -> Vec<String> {
    let mut names = Vec::new();
    for field in part.fields().map_while(Result::ok) {
        match field.number {
            10 => names.push(function_name(field.value.part())),
            1 => {
                let inner = field.value.fields().map_while(Result::ok).filter(|field| field.number == 9);
                names.extend(inner.take(ITEMS).map(|field| function_name(field.value.part())));
            }
            _ => {}
        }
    }
    names
}

/// The value of an attribute. `weight` is the path of the tensor that it holds, where that is a node of the document.
///
/// # Errors
/// `Malformed` for what is none.
pub fn value(part: Part, weight: Option<&Arc<str>>) -> Result<Attribute> {
    let mut found = Attribute::Text(String::new());
    for field in part.fields() {
        let Field { number, value, .. } = field?;
        found = match number {
            1 => list(value.part())?,
            2 => Attribute::Text(text(value.part())),
            3 => Attribute::Int(value.uint().cast_signed()),
            4 => Attribute::Float(float(value)),
            5 => Attribute::Text(boolean(value)),
            6 => Attribute::Text(types::word(value.uint())),
            7 => Attribute::Text(shape_text(messages::shape(value.part())?.as_deref())),
            8 => Attribute::Tensor(weight.cloned(), Tensor::parse(value.part())?.summary()),
            9 => Attribute::Text(format!("${}", value.text())),
            10 => Attribute::Text(function_name(value.part())),
            _ => continue,
        };
    }
    Ok(found)
}

/// A list: of one kind, of which the empty one is not known.
fn list(part: Part) -> Result<Attribute> {
    let (mut texts, mut ints, mut floats) = (Vec::new(), Vec::new(), Vec::new());
    let mut left_out = 0u64;
    for field in part.fields() {
        let Field { number, value, .. } = field?;
        if texts.len() + ints.len() + floats.len() >= ITEMS {
            left_out += 1;
            continue;
        }
        match number {
            2 => texts.push(text(value.part())),
            3 => numbers(value, |value| ints.push(value.cast_signed()))?,
            4 => match value {
                Wire::Bytes(part) => {
                    let (chunks, _) = part.bytes().as_chunks::<4>();
                    floats.extend(chunks.iter().map(|bytes| shortest(f32::from_le_bytes(*bytes))));
                }
                single => floats.push(float(single)),
            },
            5 => numbers(value, |value| texts.push((value != 0).to_string()))?,
            6 => numbers(value, |value| texts.push(types::word(value)))?,
            7 => texts.push(shape_text(messages::shape(value.part())?.as_deref())),
            8 => texts.push(Tensor::parse(value.part())?.summary()),
            9 => texts.push(function_name(value.part())),
            _ => {}
        }
    }
    if left_out > 0 {
        texts.push(format!("{left_out} more"));
    }
    Ok(match (ints.is_empty(), floats.is_empty(), texts.is_empty()) {
        (false, true, true) => Attribute::Ints(ints),
        (true, false, true) => Attribute::Floats(floats),
        (true, true, _) => Attribute::Texts(texts),
        _ => {
            texts.extend(ints.iter().map(ToString::to_string));
            texts.extend(floats.iter().map(ToString::to_string));
            Attribute::Texts(texts)
        }
    })
}

/// Numbers, packed or not.
fn numbers(value: Wire, mut each: impl FnMut(u64)) -> Result<()> {
    match value {
        Wire::Bytes(part) => {
            for number in part.varints().take(ITEMS) {
                each(number?);
            }
        }
        single => each(single.uint()),
    }
    Ok(())
}
