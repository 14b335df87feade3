//! Metadata documents as JSON, and typed access to their members with errors that name the place.

use crate::bytes::error::{Error, Result};
use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde_json::{Map, Value};

/// A parsed document or a part of it.
pub(super) type Object = Map<String, Value>;

/// Parses a document. `NaN` and `Infinity` without quotes, as Python writes them, become texts.
pub(super) fn parse(what: &str, bytes: &[u8]) -> Result<Value> {
    let first = match serde_json::from_slice(bytes) {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    if let Some(quoted) = quote_constants(bytes)
        && let Ok(value) = serde_json::from_slice(&quoted)
    {
        return Ok(value);
    }
    let at = offset(bytes, first.line(), first.column());
    let words = first.to_string();
    let words = words.split(" at line").next().unwrap_or(&words).to_owned();
    Err(Error::malformed(format!("{what}: it is no JSON: {words}")).at(at))
}

/// The byte of a line and column, both from 1.
fn offset(bytes: &[u8], line: usize, column: usize) -> u64 {
    let before: usize =
        bytes.split_inclusive(|&b| b == b'\n').take(line.saturating_sub(1)).map(<[u8]>::len).sum();
    (before + column.saturating_sub(1)).min(bytes.len()) as u64
}

/// The document with bare `NaN`, `Infinity` and `-Infinity` in quotes; `None` if there are none.
fn quote_constants(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(bytes.len() + 16);
    let (mut in_text, mut found, mut rest) = (false, false, bytes);
    while let Some((&byte, after)) = rest.split_first() {
        if in_text && byte == b'\\' {
            out.extend_from_slice(rest.get(..2).unwrap_or(rest));
            rest = rest.get(2..).unwrap_or_default();
            continue;
        }
        in_text ^= byte == b'"';
        let constant = [&b"NaN"[..], b"Infinity", b"-Infinity"].into_iter().find(|c| rest.starts_with(c));
        match constant.filter(|_| !in_text) {
            Some(constant) => {
                found = true;
                out.push(b'"');
                out.extend_from_slice(constant);
                out.push(b'"');
                rest = rest.get(constant.len()..).unwrap_or_default();
            }
            None => {
                out.push(byte);
                rest = after;
            }
        }
    }
    found.then_some(out)
}

/// An object, or an error that names what it should have been.
pub(super) fn object<'a>(what: &str, value: &'a Value) -> Result<&'a Object> {
    value.as_object().ok_or_else(|| Error::malformed(format!("{what}: it is {}, not an object", kind(value))))
}

/// A member that must be there.
pub(super) fn member<'a>(object: &'a Object, name: &str) -> Result<&'a Value> {
    object.get(name).ok_or_else(|| Error::malformed(format!("metadata: it has no {name:?}")))
}

/// A list of lengths.
pub(super) fn lengths(name: &str, value: &Value) -> Result<Vec<u64>> {
    let wrong = |value: &Value| Error::malformed(format!("{name}: {} is no length", short(value)));
    let list = value
        .as_array()
        .ok_or_else(|| Error::malformed(format!("{name}: it is {}, not a list", kind(value))))?;
    if list.len() > super::DIMENSIONS {
        return Err(Error::limit(format!(
            "{name}: {} dimensions, the limit is {}",
            list.len(),
            super::DIMENSIONS
        )));
    }
    list.iter().map(|item| whole(item).ok_or_else(|| wrong(item))).collect()
}

/// A number without a fraction that is not negative; `10.0` counts.
pub(super) fn whole(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| {
        let float = value.as_f64()?;
        (float >= 0.0 && float.fract() == 0.0 && float < 9e15).then_some(float as u64)
    })
}

/// The word for a kind of value.
pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// A value for a message, cut where it is long.
pub(super) fn short(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(80) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text,
    }
}

/// The name and configuration of an extension point: `"bytes"` or `{"name": …, "configuration": {…}}`.
pub(super) fn named<'a>(what: &str, value: &'a Value) -> Result<(&'a str, Option<&'a Object>)> {
    match value {
        Value::String(name) => Ok((name, None)),
        Value::Object(object) => {
            let name = object.get("name").and_then(Value::as_str);
            let name =
                name.ok_or_else(|| Error::malformed(format!("{what}: {} has no name", short(value))))?;
            Ok((name, object.get("configuration").and_then(Value::as_object)))
        }
        other => Err(Error::malformed(format!("{what}: it is {}, not a name or an object", kind(other)))),
    }
}

/// Whether an extension point says that readers may ignore it.
pub(super) fn may_ignore(value: &Value) -> bool {
    value.get("must_understand").and_then(Value::as_bool) == Some(false)
}

/// Standard Base64; read with its padding or without.
pub(super) const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Bytes of standard Base64.
pub(super) fn base64(text: &str) -> Option<Vec<u8>> {
    BASE64.decode(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bare_constants_of_python() {
        let text = br#"{"a": NaN, "b": [-Infinity, Infinity], "c": "NaN \" NaN"}"#;
        let value = parse("x", text).unwrap();
        assert_eq!(value.to_string(), r#"{"a":"NaN","b":["-Infinity","Infinity"],"c":"NaN \" NaN"}"#);
        let error = parse("x", b"{\n\"a\": ]").unwrap_err();
        assert_eq!(error.offset(), Some(7), "{error}");
    }

    #[test]
    fn base64_of_every_length() {
        assert_eq!(base64("AAAAAAAA+H8=").unwrap(), f64::NAN.to_le_bytes());
        assert_eq!(base64("Z28=").unwrap(), b"go");
        assert_eq!(base64("Zw==").unwrap(), b"g");
        assert_eq!(base64("Z29v").unwrap(), b"goo");
        assert_eq!(base64("").unwrap(), b"");
        assert_eq!(BASE64.encode(f64::NAN.to_le_bytes()), "AAAAAAAA+H8=");
        assert_eq!(base64("Zw").unwrap(), b"g");
        assert!(base64("Z").is_none() && base64("Z2!v").is_none());
    }
}
