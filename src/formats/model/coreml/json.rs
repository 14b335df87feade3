//! Messages as metadata: by the names of their fields, bounded.

use super::schema::{self, Count, Kind, Message};
use crate::bytes::error::Result;
use crate::engines::protobuf::{Field as WireField, Part, Value as Wire};
use serde_json::{Map, Value as Json};

/// The most values of a message that are shown.
const VALUES: usize = 4_096;
/// The longest text that is shown, in bytes.
const TEXT: usize = 1 << 14;

/// A float of 32 bits as the shortest number of 64 that reads the same: 0.1 rather than 0.10000000149.
pub(super) fn shortest(value: f32) -> f64 {
    value.to_string().parse().unwrap_or_else(|_| f64::from(value))
}

/// A message as JSON.
///
/// # Errors
/// `Malformed`, `Limit`.
pub(super) fn of(part: Part, message: &'static Message) -> Result<Json> {
    let mut left = VALUES;
    object(part, message, &mut left)
}

fn object(part: Part, message: &'static Message, left: &mut usize) -> Result<Json> {
    let mut found = Map::new();
    for field in part.fields() {
        let WireField { number, value, .. } = field?;
        let Some(field) = message.field(number) else { continue };
        match field.count {
            Count::One => {
                let json = scalar(value, field.kind, left)?;
                found.insert(field.name.to_owned(), json);
            }
            Count::Many => {
                let list = found.entry(field.name).or_insert_with(|| Json::Array(Vec::new()));
                if let Json::Array(list) = list {
                    repeated(value, field.kind, left, list)?;
                }
            }
            Count::Map => {
                let Kind::Message(entry) = field.kind else { continue };
                let inner = object(value.part(), schema::message(entry), left)?;
                let key = match inner.get("key") {
                    Some(Json::String(text)) => text.clone(),
                    Some(other) => other.to_string(),
                    None => String::new(),
                };
                let value = inner.get("value").cloned().unwrap_or_default();
                let map = found.entry(field.name).or_insert_with(|| Json::Object(Map::new()));
                if let Json::Object(map) = map {
                    map.insert(key, value);
                }
            }
        }
        if *left == 0 {
            found.insert("…".to_owned(), Json::from("there is more"));
            break;
        }
    }
    Ok(Json::Object(found))
}

/// Adds what a repeated field holds: one value, or several packed ones.
fn repeated(value: Wire, kind: Kind, left: &mut usize, list: &mut Vec<Json>) -> Result<()> {
    match (value, kind) {
        (Wire::Bytes(part), Kind::Float) => {
            for bytes in part.bytes().as_chunks::<4>().0.iter().take(*left) {
                list.push(scalar(Wire::Fixed32(*bytes), kind, left)?);
            }
        }
        (Wire::Bytes(part), Kind::Double) => {
            for bytes in part.bytes().as_chunks::<8>().0.iter().take(*left) {
                list.push(scalar(Wire::Fixed64(*bytes), kind, left)?);
            }
        }
        (Wire::Bytes(part), Kind::Int | Kind::Bool | Kind::Enum(_)) => {
            for number in part.varints().take(*left) {
                list.push(scalar(Wire::Varint(number?), kind, left)?);
            }
        }
        _ => list.push(scalar(value, kind, left)?),
    }
    Ok(())
}

/// The value of a field.
fn scalar(value: Wire, kind: Kind, left: &mut usize) -> Result<Json> {
    *left = left.saturating_sub(1);
    Ok(match kind {
        Kind::Int => value.uint().cast_signed().into(),
        Kind::Bool => (value.uint() != 0).into(),
        Kind::Float => match value {
            Wire::Fixed32(bytes) => number(shortest(f32::from_le_bytes(bytes))),
            _ => Json::Null,
        },
        Kind::Double => value.double().map_or(Json::Null, number),
        Kind::Text => text(value).into(),
        Kind::Bytes => format!("{} bytes", value.part().bytes().len()).into(),
        Kind::Enum(name) => schema::value_name(name, value.uint()).into(),
        Kind::Message(name) => object(value.part(), schema::message(name), left)?,
    })
}

/// A number; those that JSON does not have as texts.
pub(super) fn number(value: f64) -> Json {
    if value.is_finite() { value.into() } else { value.to_string().into() }
}

/// A text, of a very long one its beginning.
pub(super) fn text(value: Wire) -> String {
    let bytes = value.part().bytes();
    match bytes.get(..TEXT) {
        Some(first) if bytes.len() > TEXT => {
            format!("{}… ({} bytes)", String::from_utf8_lossy(first), bytes.len())
        }
        _ => value.text(),
    }
}
