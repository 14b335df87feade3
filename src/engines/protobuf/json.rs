//! Messages of Protocol Buffers as JSON, as they would lie on the wire: what a reader of the binary form is given
//! then.
//! <https://protobuf.dev/programming-guides/json/>
//!
//! Names of fields become numbers by a schema of the fields that are read, written as in the schema or in camel case.
//! Fields that it does not have are passed by. A field that is wrong is left out, the others are kept.

use super::text::{Kind, Message, delimited, varint};
use crate::bytes::error::{Error, ErrorKind, Result};
use crate::bytes::limits;
use crate::bytes::task::Task;
use base64::Engine as _;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use serde_json::Value as Json;
use std::cell::RefCell;

/// The most bytes of a message that is made.
const LARGEST: usize = 1 << 30;

/// Base 64 with padding or without.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// The message that `json` is, on the wire, and what was wrong with it, where anything was. Fields of the names
/// `bytes` hold bytes in base 64, other texts are texts.
///
/// # Errors
/// `Cancelled`.
pub fn encode(
    task: &Task,
    json: &Json,
    message: &'static Message,
    bytes: &[&str],
) -> Result<(Vec<u8>, Option<Error>)> {
    let mut out = Vec::new();
    let encoder = Encoder { task, bytes, problem: RefCell::new(None) };
    match encoder.message(json, message, 0, &mut out) {
        Ok(()) => Ok((out, encoder.problem.into_inner())),
        Err(error) if error.is_cancelled() => Err(error),
        Err(error) => Ok((out, Some(error))),
    }
}

struct Encoder<'a> {
    task: &'a Task,
    bytes: &'a [&'a str],
    /// The first field that is wrong; those behind it are read.
    problem: RefCell<Option<Error>>,
}

/// Whether a name in JSON is that of a field: as it is, or in camel case.
fn is_named(field: &str, name: &str) -> bool {
    let mut left = name.chars();
    let mut upper = false;
    for letter in field.chars() {
        if letter == '_' {
            upper = true;
            continue;
        }
        let wanted = if upper { letter.to_ascii_uppercase() } else { letter };
        upper = false;
        if left.next() != Some(wanted) {
            return field == name;
        }
    }
    left.next().is_none() || field == name
}

/// Whether messages of a type are the entries of a map.
fn is_entry(message: &Message) -> bool {
    matches!(message.0, [("key", 1, _), ("value", 2, _)])
}

impl Encoder<'_> {
    fn message(&self, json: &Json, message: &'static Message, depth: usize, out: &mut Vec<u8>) -> Result<()> {
        self.task.check()?;
        if depth > limits::DEPTH {
            return Err(Error::limit("messages too deep in each other"));
        }
        let object = json.as_object().ok_or_else(|| Error::malformed("a message that is no object"))?;
        // In the order of the schema: names of nodes stand before what is said of them.
        for &(name, number, kind) in message.0 {
            let Some((_, value)) = object.iter().find(|(own, _)| is_named(name, own)) else { continue };
            let field = Named { name, number, kind };
            match self.field(&field, value, depth, out).map_err(|error| error.of(field.name)) {
                Err(error) if error.kind() != ErrorKind::Malformed => return Err(error),
                Err(error) => drop(self.problem.borrow_mut().get_or_insert(error)),
                Ok(()) => {}
            }
            if out.len() > LARGEST {
                return Err(Error::limit(format!("a message of more than {LARGEST} bytes")));
            }
        }
        Ok(())
    }

    fn field(&self, field: &Named, value: &Json, depth: usize, out: &mut Vec<u8>) -> Result<()> {
        match (field.kind, value) {
            (_, Json::Null) => {}
            (Kind::Message(entry), Json::Object(map)) if is_entry(entry) && !is_written_out(map) => {
                for (key, value) in map {
                    let mut inner = Vec::new();
                    for (name, number, kind) in entry.0 {
                        let own = Json::from(key.as_str());
                        let value = if *name == "key" { &own } else { value };
                        self.field(
                            &Named { name, number: *number, kind: *kind },
                            value,
                            depth + 1,
                            &mut inner,
                        )?;
                    }
                    delimited(field.number, &inner, out);
                }
            }
            (Kind::Bytes, Json::Array(numbers))
                if self.is_bytes(field) && numbers.iter().all(Json::is_u64) =>
            {
                let byte = |number: &Json| number.as_u64().and_then(|number| u8::try_from(number).ok());
                let bytes: Option<Vec<u8>> = numbers.iter().map(byte).collect();
                let bytes = bytes.ok_or_else(|| Error::malformed("numbers that are no bytes"))?;
                delimited(field.number, &bytes, out);
            }
            (_, Json::Array(items)) => {
                for item in items {
                    self.field(field, item, depth + 1, out)?;
                }
            }
            (Kind::Message(message), value) => {
                let mut inner = Vec::new();
                let read = self.message(value, message, depth + 1, &mut inner);
                delimited(field.number, &inner, out);
                read?;
            }
            (_, value) => self.scalar(field, value, out)?,
        }
        Ok(())
    }

    fn is_bytes(&self, field: &Named) -> bool {
        self.bytes.contains(&field.name)
    }

    fn scalar(&self, field: &Named, value: &Json, out: &mut Vec<u8>) -> Result<()> {
        let number = u64::from(field.number);
        let wrong = || Error::malformed(format!("{value} is no value of its type"));
        let integer = || integer(value).ok_or_else(wrong);
        let float = || float(value).ok_or_else(wrong);
        match field.kind {
            Kind::Int => {
                let value = integer()?.cast_unsigned();
                varint(number << 3, out);
                varint(value, out);
            }
            Kind::Zigzag => {
                let value = integer()?;
                varint(number << 3, out);
                varint((value << 1 ^ value >> 63).cast_unsigned(), out);
            }
            Kind::Enum(known) => {
                let value = match value {
                    Json::String(text) => known(text).ok_or_else(wrong)?,
                    _ => integer()?.cast_unsigned(),
                };
                varint(number << 3, out);
                varint(value, out);
            }
            Kind::Float => {
                let value = float()? as f32;
                varint(number << 3 | 5, out);
                out.extend(value.to_le_bytes());
            }
            Kind::Double => {
                let value = float()?;
                varint(number << 3 | 1, out);
                out.extend(value.to_le_bytes());
            }
            Kind::Fixed64 => {
                let value = integer()?;
                varint(number << 3 | 1, out);
                out.extend(value.to_le_bytes());
            }
            Kind::Fixed32 => {
                let value = integer()? as u32;
                varint(number << 3 | 5, out);
                out.extend(value.to_le_bytes());
            }
            Kind::Bytes => {
                let text = value.as_str().ok_or_else(wrong)?;
                if !self.is_bytes(field) {
                    delimited(field.number, text.as_bytes(), out);
                    return Ok(());
                }
                // Either alphabet is allowed.
                let plain = text.replace('-', "+").replace('_', "/");
                let bytes =
                    BASE64.decode(plain).map_err(|_| Error::malformed("bytes that are no base 64"))?;
                delimited(field.number, &bytes, out);
            }
            Kind::Message(_) => return Err(wrong()),
        }
        Ok(())
    }
}

/// An integer, which may be written as a text, or a truth value.
fn integer(value: &Json) -> Option<i64> {
    match value {
        Json::Bool(value) => Some(i64::from(*value)),
        Json::String(text) => {
            text.parse::<i64>().ok().or_else(|| text.parse::<u64>().ok().map(u64::cast_signed))
        }
        number => {
            let unsigned = || number.as_u64().map(u64::cast_signed);
            number.as_i64().or_else(unsigned).or_else(|| whole(number))
        }
    }
}

/// A float, which may be written as a text.
fn float(value: &Json) -> Option<f64> {
    match value {
        Json::String(text) => match text.as_str() {
            "Infinity" => Some(f64::INFINITY),
            "-Infinity" => Some(f64::NEG_INFINITY),
            "NaN" => Some(f64::NAN),
            text => text.parse().ok(),
        },
        number => number.as_f64(),
    }
}

/// A number without a fraction that is written with one.
fn whole(value: &Json) -> Option<i64> {
    let value = value.as_f64()?;
    (value.fract() == 0.0 && value.abs() < 9.0e15).then_some(value as i64)
}

/// Whether an entry of a map stands there by itself: `{"key": …, "value": …}`.
fn is_written_out(map: &serde_json::Map<String, Json>) -> bool {
    map.len() == 2 && map.get("key").is_some_and(Json::is_string) && map.contains_key("value")
}

/// A field by its name.
struct Named {
    name: &'static str,
    number: u32,
    kind: Kind,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::protobuf::{Part, Value};

    static INNER: Message = Message(&[("size", 1, Kind::Int)]);
    static ENTRY: Message = Message(&[("key", 1, Kind::Bytes), ("value", 2, Kind::Message(&INNER))]);
    static OUTER: Message = Message(&[
        ("name", 1, Kind::Bytes),
        ("tensor_content", 2, Kind::Bytes),
        ("attr", 3, Kind::Message(&ENTRY)),
        ("ratio", 4, Kind::Float),
        ("dim", 5, Kind::Message(&INNER)),
    ]);

    #[test]
    fn json_lies_as_on_the_wire() {
        let json = serde_json::json!({"attr": {"a": {"size": "-1"}, "b": {"size": 2}}, "name": "AAA=", "other": [1],
            "tensorContent": "AAECAw==", "ratio": "NaN", "dim": [{"size": 3}, {}]});
        let (bytes, problem) = encode(&Task::new(), &json, &OUTER, &["tensor_content"]).unwrap();
        assert!(problem.is_none());
        let fields: Vec<_> = Part::new(&bytes, 0).fields().map(Result::unwrap).collect();
        assert_eq!(fields.iter().map(|field| field.number).collect::<Vec<_>>(), [1, 2, 3, 3, 4, 5, 5]);
        assert_eq!(fields[0].value.text(), "AAA=");
        assert_eq!(fields[1].value.part().bytes(), [0, 1, 2, 3]);
        let size = fields[2].value.fields().nth(1).unwrap().unwrap().value.fields().next().unwrap().unwrap();
        assert_eq!(size.value, Value::Varint(u64::MAX));
        let error =
            encode(&Task::new(), &serde_json::json!({"dim": [{"size": "x"}]}), &OUTER, &[]).unwrap().1;
        assert!(error.unwrap().message().contains("size"));
    }

    #[test]
    fn names_are_told_in_either_writing() {
        assert!(is_named("tensor_shape", "tensorShape") && is_named("tensor_shape", "tensor_shape"));
        assert!(!is_named("tensor_shape", "tensorshape") && !is_named("tensor", "tensorShape"));
    }
}
