//! The messages on the wire.

use crate::bytes::error::{Error, Result};
use crate::engines::protobuf::{Field, Part, Value};

/// Which message the records are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// `tf.train.Example`: features.
    Example,
    /// `tf.train.SequenceExample`: features of the whole (its context), and lists of features.
    Sequence,
}

/// What a feature is a list of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Bytes.
    Bytes,
    /// Floats of 32 bits.
    Float,
    /// Signed integers of 64 bits.
    Int64,
}

impl Kind {
    fn of(number: u32) -> Option<Kind> {
        match number {
            1 => Some(Kind::Bytes),
            2 => Some(Kind::Float),
            3 => Some(Kind::Int64),
            _ => None,
        }
    }
}

/// A feature: its values lie in one message or in several, which count as one behind the other.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Feature<'a> {
    /// The kind of its list; `None` where none is set.
    pub(super) kind: Option<Kind>,
    lists: Parts<'a>,
}

/// Mostly one.
#[derive(Clone, Debug, PartialEq)]
enum Parts<'a> {
    None,
    One(Part<'a>),
    Many(Vec<Part<'a>>),
}

impl<'a> Parts<'a> {
    fn push(&mut self, part: Part<'a>) {
        *self = match std::mem::replace(self, Parts::None) {
            Parts::None => Parts::One(part),
            Parts::One(first) => Parts::Many(vec![first, part]),
            Parts::Many(mut parts) => {
                parts.push(part);
                Parts::Many(parts)
            }
        };
    }

    fn as_slice(&self) -> &[Part<'a>] {
        match self {
            Parts::None => &[],
            Parts::One(part) => std::slice::from_ref(part),
            Parts::Many(parts) => parts,
        }
    }
}

impl<'a> Feature<'a> {
    /// Reads which list is set: of several the last one, with those of its kind before it.
    pub(super) fn parse(part: Part<'a>) -> Result<Feature<'a>> {
        let mut feature = Feature { kind: None, lists: Parts::None };
        for field in part.fields() {
            let Field { number, value, .. } = field?;
            if let (Some(kind), Value::Bytes(list)) = (Kind::of(number), value) {
                if feature.kind != Some(kind) {
                    feature = Feature { kind: Some(kind), lists: Parts::None };
                }
                feature.lists.push(list);
            }
        }
        Ok(feature)
    }

    /// Each value as it lies there: integers as varints, floats as four bytes, bytes as bytes.
    fn values(&self, mut each: impl FnMut(Value<'a>) -> Result<()>) -> Result<()> {
        for list in self.lists.as_slice() {
            for field in list.fields() {
                let Field { number, value, .. } = field?;
                if number == 1 {
                    each(value)?;
                }
            }
        }
        Ok(())
    }

    /// Its integers.
    pub(super) fn integers(&self, mut each: impl FnMut(i64)) -> Result<()> {
        self.values(|value| {
            match value {
                Value::Varint(value) => each(value.cast_signed()),
                Value::Bytes(packed) => {
                    for value in packed.varints() {
                        each(value?.cast_signed());
                    }
                }
                _ => {}
            }
            Ok(())
        })
    }

    /// Its floats.
    pub(super) fn floats(&self, mut each: impl FnMut(f32)) -> Result<()> {
        self.values(|value| {
            match value {
                Value::Fixed32(bytes) => each(f32::from_le_bytes(bytes)),
                Value::Bytes(packed) => {
                    let (floats, rest) = packed.bytes().as_chunks::<4>();
                    if !rest.is_empty() {
                        let what = "feature: packed floats end in the middle of one";
                        return Err(Error::malformed(what).at(packed.span().start));
                    }
                    floats.iter().for_each(|bytes| each(f32::from_le_bytes(*bytes)));
                }
                _ => {}
            }
            Ok(())
        })
    }

    /// Its bytes.
    pub(super) fn bytes(&self, mut each: impl FnMut(Part<'a>)) -> Result<()> {
        self.values(|value| {
            if let Value::Bytes(part) = value {
                each(part);
            }
            Ok(())
        })
    }

    /// How many values it has.
    pub(super) fn count(&self) -> Result<u64> {
        let mut count = 0;
        match self.kind {
            Some(Kind::Int64) => self.integers(|_| count += 1)?,
            Some(Kind::Float) => self.floats(|_| count += 1)?,
            Some(Kind::Bytes) => self.bytes(|_| count += 1)?,
            None => {}
        }
        Ok(count)
    }
}

/// A named feature, or a named list of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Named<'a> {
    /// Its name, as a rule UTF-8.
    pub(super) name: &'a [u8],
    /// Whether it is one of the lists of a `SequenceExample`.
    pub(super) is_list: bool,
    /// The `Feature`, or the `FeatureList`.
    pub(super) part: Part<'a>,
}

/// Gives each feature of a record, in the order of the file: of those of one name the last one counts. Whether the record
/// has other fields as well, which no such message has.
///
/// # Errors
/// `Malformed` where the message cannot be read.
pub(super) fn features<'a>(record: Part<'a>, mut each: impl FnMut(Named<'a>) -> Result<()>) -> Result<bool> {
    let mut foreign = false;
    for field in record.fields() {
        let Field { number, value, .. } = field?;
        let (1 | 2, Value::Bytes(map)) = (number, value) else {
            foreign = true;
            continue;
        };
        for entry in map.fields() {
            let Field { number: 1, value: entry, .. } = entry? else {
                foreign = true;
                continue;
            };
            let mut named = Named { name: &[], is_list: number == 2, part: Part::decoded(&[]) };
            for field in entry.fields() {
                match field? {
                    Field { number: 1, value: Value::Bytes(name), .. } => named.name = name.bytes(),
                    Field { number: 2, value: Value::Bytes(part), .. } => named.part = part,
                    _ => foreign = true,
                }
            }
            each(named)?;
        }
    }
    Ok(foreign)
}

/// The features of a `FeatureList`.
pub(super) fn listed<'a>(list: Part<'a>) -> impl Iterator<Item = Result<Part<'a>>> {
    list.fields().filter_map(|field| match field {
        Ok(Field { number: 1, value: Value::Bytes(part), .. }) => Some(Ok(part)),
        Ok(_) => None,
        Err(error) => Some(Err(error)),
    })
}

/// What a record is, as far as its fields tell it: `None` where it has others than such a message has. With how many
/// features it has: one without any may as well be something else.
pub(super) fn recognise(record: &[u8]) -> Option<(Message, usize)> {
    let (mut message, mut count) = (Message::Example, 0);
    for field in Part::decoded(record).fields() {
        let Field { number, value: Value::Bytes(map), .. } = field.ok()? else { return None };
        match number {
            1 => count += entries(map, is_feature)?,
            2 => {
                message = Message::Sequence;
                count += entries(map, is_feature_list)?;
            }
            _ => return None,
        }
    }
    Some((message, count))
}

/// How many entries a map from names has, if it is one and all its values are what they should be.
fn entries(map: Part, is_value: fn(Part) -> bool) -> Option<usize> {
    let mut count = 0;
    for entry in map.fields() {
        let Field { number: 1, value: Value::Bytes(entry), .. } = entry.ok()? else { return None };
        for field in entry.fields() {
            match field.ok()? {
                Field { number: 1, value: Value::Bytes(name), .. } => {
                    let name = std::str::from_utf8(name.bytes()).ok()?;
                    if name.contains(char::is_control) {
                        return None;
                    }
                }
                Field { number: 2, value: Value::Bytes(value), .. } if is_value(value) => {}
                _ => return None,
            }
        }
        count += 1;
    }
    Some(count)
}

fn is_feature(part: Part) -> bool {
    part.fields().all(|field| match field {
        Ok(Field { number: number @ 1..=3, value: Value::Bytes(list), .. }) => {
            list.fields().all(|field| match field {
                Ok(Field { number: 1, value, .. }) => match value {
                    Value::Bytes(_) => true,
                    Value::Varint(_) => number == 3,
                    Value::Fixed32(_) => number == 2,
                    _ => false,
                },
                _ => false,
            })
        }
        _ => false,
    })
}

fn is_feature_list(part: Part) -> bool {
    part.fields().all(
        |field| matches!(field, Ok(Field { number: 1, value: Value::Bytes(one), .. }) if is_feature(one)),
    )
}
