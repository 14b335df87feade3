//! One line: its fields as the JSON that stands in the file, nothing converted.

use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// What stands on a line.
pub(super) enum Parsed<'a> {
    /// An object: names and values, in the file's order.
    Object(Vec<(Cow<'a, str>, &'a str)>),
    /// Any other value.
    Other(&'a str),
}

/// Whether a line holds nothing but white space.
pub(super) fn is_blank(line: &[u8]) -> bool {
    line.iter().all(|b| matches!(b, b' ' | b'\t' | b'\r' | b'\n'))
}

/// Whether a line is an object and nothing else.
pub(super) fn is_object(line: &[u8]) -> bool {
    matches!(parse(line), Ok(Parsed::Object(_)))
}

/// Parses a line. The error says what is wrong, and at which character where that is known.
pub(super) fn parse(line: &[u8]) -> Result<Parsed<'_>, String> {
    let text = simdutf8::compat::from_utf8(line)
        .map_err(|error| format!("it is not UTF-8 at character {}", error.valid_up_to() + 1))?;
    let text = text.trim_matches([' ', '\t', '\r', '\n']);
    if !text.starts_with('{') {
        return serde_json::from_str::<&RawValue>(text).map(|raw| Parsed::Other(raw.get())).map_err(sentence);
    }
    object(text).map(Parsed::Object).map_err(sentence)
}

/// The fields of an object.
pub(super) fn object(text: &str) -> serde_json::Result<Vec<(Cow<'_, str>, &str)>> {
    let mut parser = serde_json::Deserializer::from_str(text);
    let fields = parser.deserialize_map(Fields)?;
    parser.end()?;
    Ok(fields)
}

/// serde_json's error without the line number, which is always 1 here.
fn sentence(error: serde_json::Error) -> String {
    let text = error.to_string();
    let what = text.split(" at line ").next().unwrap_or(&text);
    format!("{what} at character {}", error.column())
}

struct Fields;

/// A name: borrowed unless it has escapes.
#[derive(serde::Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de> Visitor<'de> for Fields {
    type Value = Vec<(Cow<'de, str>, &'de str)>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = Vec::new();
        while let Some((Name(name), raw)) = map.next_entry::<Name<'de>, &'de RawValue>()? {
            fields.push((name, raw.get()));
        }
        Ok(fields)
    }
}

/// A value as a cell: strings without quotes and escapes, everything else as it stands in the file;
/// `None` for null.
pub(super) fn cell(raw: &str) -> Option<Cow<'_, str>> {
    if raw == "null" {
        return None;
    }
    if !raw.starts_with('"') {
        return Some(Cow::Borrowed(raw));
    }
    match serde_json::from_str::<Name<'_>>(raw) {
        Ok(Name(text)) => Some(text),
        // Half a surrogate pair is no text; it stays as it is escaped.
        Err(_) => Some(Cow::Borrowed(raw)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stay_as_they_are_written() {
        let Ok(Parsed::Object(fields)) =
            parse(b" {\"a\\n\": 1.50, \"b\":[1, 2 ],\"c\":\"x\\\"\\u00e9\", \"a\\n\":null}\r\n")
        else {
            panic!()
        };
        let cells: Vec<(&str, Option<Cow<'_, str>>)> =
            fields.iter().map(|(name, raw)| (name.as_ref(), cell(raw))).collect();
        let text = |t: &'static str| Some(Cow::Borrowed(t));
        assert_eq!(
            cells,
            [("a\n", text("1.50")), ("b", text("[1, 2 ]")), ("c", text("x\"é")), ("a\n", None)]
        );
        assert_eq!(cell("\"\\ud800\"").unwrap(), "\"\\ud800\"");
    }

    #[test]
    fn wrong_lines_say_where() {
        let error = |line: &[u8]| parse(line).err().unwrap();
        assert_eq!(error(b"{\"a\":\n"), "EOF while parsing a value at character 5");
        assert_eq!(error(b"{\"a\":1} x"), "trailing characters at character 9");
        assert_eq!(error(b"\"\xff\""), "it is not UTF-8 at character 2");
        assert!(parse(&b"[".repeat(100_000)).is_err());
    }
}
