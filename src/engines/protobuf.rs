//! Protocol Buffers on the wire: the fields of a message, one after the other, without a schema.
//! <https://protobuf.dev/programming-guides/encoding/>
//!
//! Nothing is copied: a field's bytes are a part of what was given, and every part knows its place in the file, so that
//! a tensor in a message can become a slice of the file. Fields that nobody knows are passed by, groups too. A field of
//! another wire type than a reader expects counts as absent: it gives zero or nothing, as the specification wants of
//! unknown fields.

pub mod json;
pub mod schema;
pub mod text;
pub mod tree;

use crate::bytes::error::{Error, Result};
use crate::bytes::numbers::{leb128, zigzag};
use std::ops::Range;

/// How deep messages and groups may nest: what Google's own readers allow.
const DEPTH: u32 = 100;
/// The most fields of one message: a reader may keep something for each.
const FIELDS: u32 = 1 << 24;

/// A message, or the contents of a field, and where it lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part<'a> {
    bytes: &'a [u8],
    start: u64,
    /// Whether that is a place in a file, for errors.
    placed: bool,
    depth: u32,
}

/// A field of a message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Field<'a> {
    /// Its number in the schema.
    pub number: u32,
    /// Where its key begins.
    pub at: u64,
    /// What it holds.
    pub value: Value<'a>,
}

/// The value of a field, by its wire type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// An integer, a boolean or an enumeration.
    Varint(u64),
    /// Eight bytes, little-endian: an integer or a double.
    Fixed64([u8; 8]),
    /// A text, bytes, a message, or several numbers packed.
    Bytes(Part<'a>),
    /// The fields of a group, which proto2 had before messages.
    Group(Part<'a>),
    /// Four bytes, little-endian: an integer or a float.
    Fixed32([u8; 4]),
}

impl<'a> Part<'a> {
    /// The message that `bytes` are, whose first one lies at byte `start` of the file.
    pub fn new(bytes: &'a [u8], start: u64) -> Self {
        Part { bytes, start, placed: true, depth: 0 }
    }

    /// A message that lies nowhere in a file: it was decompressed. Places count from its begin, and errors have none.
    pub fn decoded(bytes: &'a [u8]) -> Self {
        Part { bytes, start: 0, placed: false, depth: 0 }
    }

    /// The bytes themselves.
    pub fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// Where they lie in the file.
    pub fn span(self) -> Range<u64> {
        self.start..self.start.saturating_add(self.bytes.len() as u64)
    }

    /// The fields, in the order of the file. The first error is the last item.
    pub fn fields(self) -> Fields<'a> {
        Fields { rest: self, count: 0 }
    }

    /// Several numbers packed, each a varint. The first error is the last item.
    pub fn varints(mut self) -> impl Iterator<Item = Result<u64>> {
        std::iter::from_fn(move || {
            let value = (!self.bytes.is_empty()).then(|| self.varint())?;
            if value.is_err() {
                self.bytes = &[];
            }
            Some(value)
        })
    }

    fn wrong(&self, what: &str) -> Error {
        self.place(Error::malformed(what))
    }

    fn place(&self, error: Error) -> Error {
        if self.placed { error.at(self.start) } else { error }
    }

    fn take(&mut self, count: u64) -> Result<Part<'a>> {
        let split = usize::try_from(count).ok().and_then(|count| self.bytes.split_at_checked(count));
        let (bytes, rest) = split.ok_or_else(|| self.wrong("a message ends in the middle of a field"))?;
        let part = Part { bytes, ..*self };
        (self.bytes, self.start) = (rest, self.start.saturating_add(count));
        Ok(part)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let part = self.take(N as u64)?;
        part.bytes.first_chunk().copied().ok_or_else(|| Error::bug("as many bytes as were taken"))
    }

    fn varint(&mut self) -> Result<u64> {
        if let Some((value, taken)) = leb128(self.bytes) {
            self.take(taken as u64)?;
            return Ok(value);
        }
        Err(self.wrong(match self.bytes.len() {
            ..10 => "a message ends in the middle of a field",
            _ => "an integer has more than 64 bits",
        }))
    }

    /// Number and wire type of the next field.
    fn key(&mut self) -> Result<(u32, u8)> {
        let start = *self;
        let key = self.varint()?;
        let number = u32::try_from(key >> 3).ok().filter(|number| (1..1 << 29).contains(number));
        Ok((number.ok_or_else(|| start.wrong("a field's number is none"))?, (key & 7) as u8))
    }

    /// What a field of this wire type holds. Groups are another matter.
    fn value(&mut self, wire: u8) -> Result<Value<'a>> {
        Ok(match wire {
            0 => Value::Varint(self.varint()?),
            1 => Value::Fixed64(self.array()?),
            2 => {
                let len = self.varint()?;
                let part = self.take(len)?;
                Value::Bytes(Part { depth: part.depth + 1, ..part })
            }
            5 => Value::Fixed32(self.array()?),
            other => return Err(self.wrong(&format!("a field of the unknown wire type {other}"))),
        })
    }

    /// What stands before the end mark of the group `number`, with the groups in it.
    fn group(&mut self, number: u32) -> Result<Value<'a>> {
        let start = *self;
        let mut open = vec![number];
        while let Some(&innermost) = open.last() {
            let here = *self;
            match self.key()? {
                (number, 3) if open.len() as u64 + u64::from(self.depth) < u64::from(DEPTH) => {
                    open.push(number);
                }
                (_, 3) => return Err(too_deep(here)),
                (number, 4) if number == innermost => {
                    open.pop();
                    if open.is_empty() {
                        let len = (here.start - start.start) as usize;
                        let bytes = start.bytes.get(..len).unwrap_or_default();
                        return Ok(Value::Group(Part { bytes, depth: start.depth + 1, ..start }));
                    }
                }
                (_, 4) => return Err(here.wrong("a group ends that is not open")),
                (_, wire) => drop(self.value(wire)?),
            }
        }
        Err(Error::bug("a group without an end"))
    }
}

fn too_deep(here: Part) -> Error {
    here.place(Error::limit(format!("messages more than {DEPTH} deep in each other")))
}

/// The fields of a message.
pub struct Fields<'a> {
    rest: Part<'a>,
    count: u32,
}

impl<'a> Fields<'a> {
    fn field(&mut self) -> Result<Field<'a>> {
        let here = self.rest;
        if here.depth > DEPTH {
            return Err(too_deep(here));
        }
        if self.count == FIELDS {
            return Err(here.place(Error::limit(format!("a message of more than {FIELDS} fields"))));
        }
        self.count += 1;
        let (number, wire) = self.rest.key()?;
        let value = match wire {
            3 => self.rest.group(number)?,
            wire => self.rest.value(wire)?,
        };
        Ok(Field { number, at: here.start, value })
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<Field<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        let field = (!self.rest.bytes.is_empty()).then(|| self.field())?;
        if field.is_err() {
            self.rest.bytes = &[];
        }
        Some(field)
    }
}

impl<'a> Value<'a> {
    /// An unsigned number.
    pub fn uint(self) -> u64 {
        if let Value::Varint(value) = self { value } else { 0 }
    }

    /// A number of 32 bits.
    ///
    /// # Errors
    /// `Malformed` for one that does not fit.
    pub fn small(self) -> Result<u32> {
        u32::try_from(self.uint()).map_err(|_| Error::malformed("a number is beyond 32 bits"))
    }

    /// A signed number in zigzag form.
    pub fn zigzag(self) -> i64 {
        zigzag(self.uint())
    }

    /// A float of 64 bits.
    pub fn double(self) -> Option<f64> {
        if let Value::Fixed64(bytes) = self { Some(f64::from_le_bytes(bytes)) } else { None }
    }

    /// A message, or bytes with their place; empty for a number.
    pub fn part(self) -> Part<'a> {
        match self {
            Value::Bytes(part) | Value::Group(part) => part,
            _ => Part::decoded(&[]),
        }
    }

    /// The fields of a message.
    pub fn fields(self) -> Fields<'a> {
        self.part().fields()
    }

    /// A text. Bytes that are no UTF-8 are replaced.
    pub fn text(self) -> String {
        String::from_utf8_lossy(self.part().bytes).into_owned()
    }

    /// Adds a repeated number of 32 bits, packed or not.
    ///
    /// # Errors
    /// `Malformed` for one that does not fit or is cut off.
    pub fn numbers(self, to: &mut Vec<u32>) -> Result<()> {
        let Value::Bytes(part) = self else {
            to.push(self.small()?);
            return Ok(());
        };
        for value in part.varints() {
            to.push(Value::Varint(value?).small()?);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::error::ErrorKind;
    use proptest::prelude::*;

    /// A message to be encoded, field by field.
    #[derive(Clone, Debug)]
    enum Made {
        Varint(u64),
        Fixed64([u8; 8]),
        Bytes(Vec<u8>),
        Message(Vec<(u32, Made)>),
        Packed(Vec<u64>),
        Group(Vec<(u32, Made)>),
        Fixed32([u8; 4]),
    }

    fn varint(mut value: u64, out: &mut Vec<u8>) {
        while value > 0x7f {
            out.push(value as u8 | 0x80);
            value >>= 7;
        }
        out.push(value as u8);
    }

    fn encode(message: &[(u32, Made)]) -> Vec<u8> {
        let mut out = Vec::new();
        for (number, made) in message {
            let key = |wire: u64, out: &mut Vec<u8>| varint(u64::from(*number) << 3 | wire, out);
            let delimited = |bytes: &[u8], out: &mut Vec<u8>| {
                key(2, out);
                varint(bytes.len() as u64, out);
                out.extend(bytes);
            };
            match made {
                Made::Varint(value) => {
                    key(0, &mut out);
                    varint(*value, &mut out);
                }
                Made::Bytes(bytes) => delimited(bytes, &mut out),
                Made::Message(inner) => delimited(&encode(inner), &mut out),
                Made::Packed(values) => {
                    let mut bytes = Vec::new();
                    values.iter().for_each(|value| varint(*value, &mut bytes));
                    delimited(&bytes, &mut out);
                }
                Made::Fixed64(bytes) => {
                    key(1, &mut out);
                    out.extend(bytes);
                }
                Made::Fixed32(bytes) => {
                    key(5, &mut out);
                    out.extend(bytes);
                }
                Made::Group(inner) => {
                    key(3, &mut out);
                    out.extend(encode(inner));
                    key(4, &mut out);
                }
            }
        }
        out
    }

    /// Whether a message has these fields, each at its place in `file`.
    fn same(fields: Fields, message: &[(u32, Made)], file: &[u8]) -> bool {
        let fields: Vec<Field> = fields.collect::<Result<_>>().unwrap();
        let placed = |part: Part| file[part.span().start as usize..part.span().end as usize] == *part.bytes();
        fields.len() == message.len()
            && fields.iter().zip(message).all(|(field, (number, made))| {
                let mut key = Vec::new();
                varint(u64::from(*number) << 3, &mut key);
                let key_at = &file[field.at as usize..][..key.len()];
                field.number == *number
                    && key_at[0] & !7 == key[0]
                    && key_at[1..] == key[1..]
                    && match (field.value, made) {
                        (Value::Varint(value), Made::Varint(wanted)) => value == *wanted,
                        (Value::Fixed64(value), Made::Fixed64(wanted)) => value == *wanted,
                        (Value::Fixed32(value), Made::Fixed32(wanted)) => value == *wanted,
                        (Value::Bytes(part), Made::Bytes(wanted)) => part.bytes() == wanted && placed(part),
                        (Value::Bytes(part), Made::Packed(wanted)) => {
                            part.varints().map(Result::unwrap).eq(wanted.iter().copied())
                        }
                        (Value::Bytes(part), Made::Message(wanted)) => {
                            placed(part) && same(part.fields(), wanted, file)
                        }
                        (Value::Group(part), Made::Group(wanted)) => {
                            placed(part) && same(part.fields(), wanted, file)
                        }
                        _ => false,
                    }
            })
    }

    fn messages() -> impl Strategy<Value = Vec<(u32, Made)>> {
        let number = prop_oneof![1u32..20, Just((1 << 29) - 1)];
        let leaf = prop_oneof![
            prop_oneof![any::<u64>(), 0u64..300, Just(u64::MAX)].prop_map(Made::Varint),
            any::<[u8; 8]>().prop_map(Made::Fixed64),
            any::<[u8; 4]>().prop_map(Made::Fixed32),
            prop::collection::vec(any::<u8>(), 0..200).prop_map(Made::Bytes),
            prop::collection::vec(any::<u64>(), 0..20).prop_map(Made::Packed),
        ];
        let made = leaf.prop_recursive(4, 40, 5, move |inner| {
            let fields = prop::collection::vec((1u32..20, inner), 0..5);
            prop_oneof![fields.clone().prop_map(Made::Message), fields.prop_map(Made::Group)]
        });
        prop::collection::vec((number, made), 0..8)
    }

    /// Walks all of a message as if every part were one.
    fn walk(part: Part) -> Result<u64> {
        let mut count = 0;
        for field in part.fields() {
            let inner = field?.value.part();
            assert!(part.span().start <= inner.span().start || inner.bytes().is_empty());
            count += 1 + walk(inner).unwrap_or(0);
        }
        Ok(count)
    }

    proptest! {
        #[test]
        fn what_was_encoded_is_walked(message in messages(), before in prop::collection::vec(any::<u8>(), 0..5)) {
            let bytes = encode(&message);
            let file = [before.clone(), bytes.clone()].concat();
            prop_assert!(same(Part::new(&bytes, before.len() as u64).fields(), &message, &file));
        }

        #[test]
        fn of_a_message_that_is_cut_off_the_fields_before_are_walked(message in messages(), cut in 0usize..400) {
            let bytes = encode(&message);
            let whole = Part::new(&bytes, 0).fields().map(Result::unwrap);
            let cut = cut.min(bytes.len());
            let ends: Vec<u64> = whole.map(|field| field.at).chain([bytes.len() as u64]).collect();
            let mut fields: Vec<Result<Field>> = Part::new(&bytes[..cut], 0).fields().collect();
            let errors = usize::from(!ends.contains(&(cut as u64)));
            prop_assert_eq!(fields.len(), ends.iter().filter(|end| **end <= cut as u64).count() - 1 + errors);
            if let Some(Err(error)) = fields.pop_if(|_| errors == 1) {
                prop_assert_eq!(error.kind(), ErrorKind::Malformed);
                prop_assert!(error.offset().is_some_and(|at| at <= cut as u64));
            }
            prop_assert!(fields.iter().all(Result::is_ok));
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = walk(Part::new(&bytes, 7));
        }
    }

    #[test]
    fn numbers_packed_and_single() {
        let mut all = Vec::new();
        for field in Part::new(&[0x0a, 3, 1, 0x80, 1, 0x08, 5], 0).fields() {
            field.unwrap().value.numbers(&mut all).unwrap();
        }
        assert_eq!(all, [1, 128, 5]);
        assert_eq!([zigzag(1), zigzag(2), zigzag(u64::MAX)], [-1, 1, i64::MIN]);
        assert!(Value::Varint(1 << 32).small().is_err());
        assert_eq!((Value::Fixed32([1; 4]).uint(), Value::Varint(7).text()), (0, String::new()));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let error = |bytes: &[u8]| {
            let last = Part::new(bytes, 100).fields().last().unwrap().unwrap_err();
            (last.message(), last.offset())
        };
        assert!(error(&[0x08, 1, 0x0a, 3, 1]).0.contains("middle of a field"));
        assert_eq!(error(&[0x08, 1, 0x0a, 3, 1]).1, Some(104));
        assert!(
            error(&[8, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1]).0.contains("more than 64 bits")
        );
        assert_eq!(error(&[0x08, 1, 0x0e]).1, Some(103));
        assert!(error(&[0x0e]).0.contains("wire type 6"));
        for key in [&[0x00, 1][..], &[0x80, 0x80, 0x80, 0x80, 0x10, 1]] {
            assert!(error(key).0.contains("number is none"), "{key:?}");
        }
        // Groups: one that ends without being open, that ends as another one, that does not end.
        assert!(error(&[0x0c]).0.contains("wire type 4"));
        assert!(error(&[0x0b, 0x14]).0.contains("not open"));
        assert!(error(&[0x0b, 0x08, 1]).0.contains("middle of a field"));
        let nowhere = Part::decoded(&[0x0e]).fields().next().unwrap().unwrap_err();
        assert_eq!(nowhere.offset(), None);
    }

    #[test]
    fn what_is_too_deep_is_not_walked() {
        let groups = |depth: usize| [vec![0x0b; depth], vec![0x0c; depth]].concat();
        assert_eq!(Part::new(&groups(100), 0).fields().filter(|field| field.is_ok()).count(), 1);
        let error = Part::new(&groups(101), 0).fields().next().unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
        let mut nested = Vec::new();
        for _ in 0..120 {
            nested = [
                vec![0x0a],
                {
                    let mut len = Vec::new();
                    varint(nested.len() as u64, &mut len);
                    len
                },
                nested,
            ]
            .concat();
        }
        let (mut part, mut depth) = (Part::new(&nested, 0), 0);
        let error = loop {
            match part.fields().next().unwrap() {
                Ok(field) => (part, depth) = (field.value.part(), depth + 1),
                Err(error) => break error,
            }
        };
        assert_eq!((error.kind(), depth), (ErrorKind::Limit, 101));
    }
}
