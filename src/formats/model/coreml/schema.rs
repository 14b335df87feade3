//! The messages of Core ML by their names: fields, their numbers and what they hold, as `schema.txt` lists them. That
//! text
//! is made of the `.proto` files in <https://github.com/apple/coremltools/tree/main/mlmodel/format> (BSD-3-Clause),
//! of
//! specification version 9: a line a message, `name | number field type`, behind a field `@` and the choice (`oneof`)
//! that it is one of, before a type `*` where it repeats and `%` where it is a map, `:` before an enumeration.

use std::collections::HashMap;
use std::sync::LazyLock;

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// An integer, with a sign or not.
    Int,
    /// True or false.
    Bool,
    /// A float of 32 bits.
    Float,
    /// A float of 64 bits.
    Double,
    /// A text.
    Text,
    /// Bytes.
    Bytes,
    /// An enumeration of this name.
    Enum(&'static str),
    /// A message of this name.
    Message(&'static str),
}

/// How often a field may be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Count {
    One,
    Many,
    Map,
}

/// A field of a message.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) number: u32,
    pub(super) name: &'static str,
    /// The choice that it is one of.
    pub(super) choice: Option<&'static str>,
    pub(super) count: Count,
    pub(super) kind: Kind,
}

/// A message.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) name: &'static str,
    pub(super) fields: Vec<Field>,
}

impl Message {
    /// The field of a number.
    pub(super) fn field(&self, number: u32) -> Option<&Field> {
        self.fields.iter().find(|field| field.number == number)
    }
}

struct Schema {
    messages: HashMap<&'static str, Message>,
    enums: HashMap<&'static str, Vec<(u64, &'static str)>>,
}

static SCHEMA: LazyLock<Schema> = LazyLock::new(|| parse(include_str!("schema.txt")));

/// What stands for a message that nobody knows: it has no fields.
static NOTHING: Message = Message { name: "", fields: Vec::new() };

fn parse(text: &'static str) -> Schema {
    let mut schema = Schema { messages: HashMap::new(), enums: HashMap::new() };
    for line in text.lines() {
        let Some((name, rest)) = line.split_once('|') else { continue };
        let (name, rest) = (name.trim(), rest.trim());
        if let Some(name) = name.strip_prefix(':') {
            let value = |word: &'static str| {
                let (number, value) = word.split_once('=')?;
                Some((number.parse().ok()?, value))
            };
            schema.enums.insert(name, rest.split(' ').filter_map(value).collect());
            continue;
        }
        let fields = rest.split(", ").filter_map(field).collect();
        schema.messages.insert(name, Message { name, fields });
    }
    schema
}

fn field(text: &'static str) -> Option<Field> {
    let mut words = text.split(' ');
    let (number, name, kind) = (words.next()?.parse().ok()?, words.next()?, words.next()?);
    let (name, choice) = name.split_once('@').map_or((name, None), |(name, choice)| (name, Some(choice)));
    let (count, kind) = match (kind.strip_prefix('*'), kind.strip_prefix('%')) {
        (Some(kind), _) => (Count::Many, kind),
        (_, Some(kind)) => (Count::Map, kind),
        _ => (Count::One, kind),
    };
    let kind = match kind {
        "int" => Kind::Int,
        "bool" => Kind::Bool,
        "float" => Kind::Float,
        "double" => Kind::Double,
        "text" => Kind::Text,
        "bytes" => Kind::Bytes,
        other => other.strip_prefix(':').map_or(Kind::Message(other), Kind::Enum),
    };
    Some(Field { number, name, choice, count, kind })
}

/// The message of a name; one without fields where there is none.
pub(super) fn message(name: &str) -> &'static Message {
    SCHEMA.messages.get(name).unwrap_or(&NOTHING)
}

/// The name of a value of an enumeration, or its number.
pub(super) fn value_name(of: &str, number: u64) -> String {
    let values = SCHEMA.enums.get(of).map_or(&[][..], Vec::as_slice);
    let known = values.iter().find(|(value, _)| *value == number);
    known.map_or_else(|| number.to_string(), |(_, name)| (*name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_that_a_field_names_is_there() {
        assert!(SCHEMA.messages.len() > 350 && SCHEMA.enums.len() > 25);
        let mut fields = 0;
        for message in SCHEMA.messages.values() {
            for field in &message.fields {
                fields += 1;
                match field.kind {
                    Kind::Message(name) => assert!(SCHEMA.messages.contains_key(name), "{name}"),
                    Kind::Enum(name) => assert!(SCHEMA.enums.contains_key(name), "{name}"),
                    _ => {}
                }
            }
        }
        assert_eq!(fields, 1059);
        assert_eq!(value_name("ImageFeatureType.ColorSpace", 20), "RGB");
        assert_eq!(value_name("ImageFeatureType.ColorSpace", 21), "21");
        let choice = message("Model").field(500).unwrap();
        assert_eq!((choice.name, choice.choice), ("neuralNetwork", Some("Type")));
    }
}
