//! The shape of JSON values: which kinds were seen, and from them the Arrow type that all of them fit.

use super::record;
use crate::data::infer::{self, Guess};
use arrow::datatypes::{DataType, Field};
use std::collections::HashMap;
use std::sync::Arc;

/// How deep shapes are told; below, a value is its text.
const DEPTH: usize = 6;
/// More fields than these in one nested object are keys of data rather than names.
const NESTED: usize = 64;

/// What was seen of a value in many lines.
#[derive(Default, Debug)]
pub struct Shape {
    boolean: bool,
    integer: bool,
    float: bool,
    string: bool,
    /// Whether all texts are dates or times.
    times: Guess,
    list: bool,
    object: bool,
    /// The items of lists.
    item: Option<Box<Shape>>,
    /// The fields of objects, in the order of their first appearance.
    pub fields: Vec<(String, Shape)>,
    /// Where each field stands.
    places: HashMap<String, usize>,
}

impl Shape {
    /// Takes one value into account.
    pub fn see(&mut self, raw: &str, depth: usize) {
        match raw.as_bytes().first() {
            Some(b't' | b'f') => self.boolean = true,
            Some(b'"') => {
                self.string = true;
                // What stands for a missing cell elsewhere is a text here.
                let text = raw.trim_matches('"');
                self.times.see(if infer::is_typed(text) { text } else { "text" });
            }
            Some(b'[') => {
                self.list = true;
                if depth < DEPTH
                    && let Some(items) = record::elements(raw)
                {
                    let item = self.item.get_or_insert_default();
                    items.iter().for_each(|value| item.see(value, depth + 1));
                }
            }
            Some(b'{') => {
                if depth < DEPTH
                    && let Some(fields) = record::object(raw)
                {
                    self.see_object(&fields, depth + 1);
                }
                self.object = true;
            }
            Some(b'n') | None => {}
            // A number: whole ones beyond 64 bits would lose digits as a float.
            Some(_) if raw.parse::<i64>().is_ok() => self.integer = true,
            Some(_) if raw.bytes().all(|b| b.is_ascii_digit() || b == b'-') => {
                self.string = true;
                self.times.see(raw);
            }
            Some(_) => self.float = true,
        }
    }

    /// Takes the fields of one object into account.
    pub fn see_object(&mut self, fields: &[(std::borrow::Cow<'_, str>, &str)], depth: usize) {
        self.object = true;
        for (name, raw) in fields {
            let place = match self.places.get(name.as_ref()) {
                Some(&place) => place,
                None => {
                    if depth > 0 && self.fields.len() > NESTED {
                        continue;
                    }
                    self.places.insert(name.clone().into_owned(), self.fields.len());
                    self.fields.push((name.clone().into_owned(), Shape::default()));
                    self.fields.len() - 1
                }
            };
            if let Some((_, shape)) = self.fields.get_mut(place) {
                shape.see(raw, depth);
            }
        }
    }

    /// Adds a field whose shape is known.
    pub fn push(&mut self, name: &str, shape: Shape) {
        self.places.insert(name.to_owned(), self.fields.len());
        self.fields.push((name.to_owned(), shape));
    }

    /// The type that all values fit; text where there is none. Texts that are dates or times, all of them, are
    /// values of these, but texts that are numbers stay texts.
    pub fn data_type(&self) -> DataType {
        match self.times.data_type() {
            times @ (DataType::Date32 | DataType::Timestamp(..)) if self.kinds() == 1 => times,
            _ => self.json_type(),
        }
    }

    /// Whether values of several kinds were seen, which only texts can all be.
    pub fn is_mixed(&self) -> bool {
        self.kinds() > 1
    }

    fn kinds(&self) -> usize {
        let kinds = [self.boolean, self.integer || self.float, self.string, self.list, self.object];
        kinds.iter().filter(|seen| **seen).count()
    }

    /// The same where texts are texts, as inside of lists and objects.
    fn json_type(&self) -> DataType {
        if self.kinds() != 1 {
            return DataType::Utf8;
        }
        match self {
            _ if self.boolean => DataType::Boolean,
            _ if self.float => DataType::Float64,
            _ if self.integer => DataType::Int64,
            _ if self.list => {
                let item = self.item.as_ref().map_or(DataType::Utf8, |item| item.json_type());
                DataType::List(Arc::new(Field::new("item", item, true)))
            }
            _ if self.object && !self.fields.is_empty() && self.fields.len() <= NESTED => {
                let field = |(name, shape): &(String, Shape)| Field::new(name, shape.json_type(), true);
                DataType::Struct(self.fields.iter().map(field).collect())
            }
            _ => DataType::Utf8,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[&str]) -> String {
        let mut shape = Shape::default();
        values.iter().for_each(|value| shape.see(value, 0));
        crate::bytes::display::arrow_type(&shape.data_type())
    }

    #[test]
    fn the_type_that_fits_all() {
        assert_eq!(of(&["1", "null", "-2"]), "int64");
        assert_eq!(of(&["1", "0.5"]), "double");
        assert_eq!(of(&["18446744073709551616", "1"]), "string");
        assert_eq!(of(&["1", "\"1\""]), "string");
        assert_eq!(of(&["[]", "[1,2]"]), "list<item: int64>");
        assert_eq!(of(&["{\"a\":1}", "{\"b\":[\"x\"]}"]), "struct<a: int64, b: list<item: string>>");
        assert_eq!(of(&["{}"]), "string");
        assert_eq!(of(&["null"]), "string");
        assert_eq!(of(&["true", "1"]), "string");
        assert_eq!(of(&["\"2024-01-31\"", "null", "\"2024-02-29\""]), "date32[day]");
        assert_eq!(
            of(&["\"2024-01-31T12:00:00Z\"", "\"2024-01-31T12:00:00.5+01:00\""]),
            "timestamp[us, tz=+00:00]"
        );
        assert_eq!(of(&["\"2024-01-31\"", "\"tomorrow\""]), "string");
        assert_eq!(of(&["\"2024-01-31\"", "\"NA\""]), "string");
        assert_eq!(of(&["\"2024-01-31\"", "20240131"]), "string");
        assert_eq!(of(&["\"2024-01-31\"", "18446744073709551616"]), "string");
        assert_eq!(of(&["\"12\"", "\"true\""]), "string");
        assert_eq!(of(&["[\"2024-01-31\"]"]), "list<item: string>");
    }
}
