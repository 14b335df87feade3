//! The text format of Protocol Buffers, as it would lie on the wire: what a reader of the binary form is given then.
//! <https://protobuf.dev/reference/protobuf/textformat-spec/>
//!
//! Names of fields become numbers by a schema of the fields that are read. Fields that it does not have are passed by,
//! as unknown ones are on the wire. What stands before an error is kept.

use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;

/// How deep messages may nest.
const DEPTH: usize = 100;
/// The most bytes of a text that is read.
pub const LARGEST: u64 = 256 << 20;

/// What a field holds.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// An integer, a boolean, or an enumeration by its number.
    Int,
    /// A signed integer in zigzag form.
    Zigzag,
    /// A float of 32 bits.
    Float,
    /// A float of 64 bits.
    Double,
    /// Eight bytes.
    Fixed64,
    /// Four bytes.
    Fixed32,
    /// A text or bytes.
    Bytes,
    /// An enumeration, whose names this knows.
    Enum(fn(&str) -> Option<u64>),
    /// A message.
    Message(&'static Message),
}

/// The fields of a message: names, numbers, and what they hold.
#[derive(Debug)]
pub struct Message(pub &'static [(&'static str, u32, Kind)]);

/// The message that `text` is, on the wire, and what was wrong with the text, where anything was.
///
/// # Errors
/// `Cancelled`.
pub fn encode(task: &Task, text: &[u8], message: &'static Message) -> Result<(Vec<u8>, Option<Error>)> {
    let mut parser = Parser { text, at: 0, task, fields: 0 };
    let mut out = Vec::new();
    match parser.message(Some(message), None, 0, &mut out) {
        Ok(()) => Ok((out, None)),
        Err(error) if error.is_cancelled() => Err(error),
        Err(error) => Ok((out, Some(error))),
    }
}

/// The name that a text begins with, behind comments and white space: that of its first field.
pub fn first_name(text: &[u8]) -> Option<&str> {
    let mut at = 0;
    skip(text, &mut at);
    let rest = text.get(at..)?;
    let len = rest.iter().take_while(|byte| is_name(**byte)).count();
    let (name, after) = rest.split_at_checked(len)?;
    let next = after.trim_ascii_start().first();
    let name = std::str::from_utf8(name).ok()?;
    (matches!(next, Some(b'{' | b':' | b'<')) && !name.is_empty()).then_some(name)
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Passes white space and comments.
fn skip(text: &[u8], at: &mut usize) {
    while let Some(byte) = text.get(*at) {
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' | 11 | 12 => *at += 1,
            b'#' => {
                let rest = text.get(*at..).unwrap_or_default();
                *at += rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
            }
            _ => break,
        }
    }
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
    task: &'a Task,
    fields: u64,
}

/// A scalar as it stands.
enum Scalar<'a> {
    Bytes(Vec<u8>),
    Word(&'a str),
}

impl<'a> Parser<'a> {
    fn peek(&mut self) -> Option<u8> {
        skip(self.text, &mut self.at);
        self.text.get(self.at).copied()
    }

    fn takes(&mut self, byte: u8) -> bool {
        let is_there = self.peek() == Some(byte);
        self.at += usize::from(is_there);
        is_there
    }

    fn wrong(&self, what: &str) -> Error {
        Error::malformed(what).at(self.at as u64)
    }

    /// The fields up to `end`, or to the end of the text.
    fn message(
        &mut self,
        message: Option<&'static Message>,
        end: Option<u8>,
        depth: usize,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        if depth > DEPTH {
            return Err(
                Error::limit(format!("messages more than {DEPTH} deep in each other")).at(self.at as u64)
            );
        }
        loop {
            match (self.peek(), end) {
                (None, None) => return Ok(()),
                (None, Some(_)) => return Err(self.wrong("the text ends inside of a message")),
                (Some(byte), Some(end)) if byte == end => {
                    self.at += 1;
                    return Ok(());
                }
                (Some(_), _) => self.field(message, depth, out)?,
            }
        }
    }

    fn field(&mut self, message: Option<&'static Message>, depth: usize, out: &mut Vec<u8>) -> Result<()> {
        self.fields += 1;
        if self.fields.is_multiple_of(4096) {
            self.task.check()?;
        }
        let name = self.name()?;
        let known = message.and_then(|message| message.0.iter().find(|(known, _, _)| *known == name));
        let known = known.map(|(_, number, kind)| (*number, *kind));
        let has_colon = self.takes(b':');
        match self.peek() {
            Some(b'{' | b'<') => self.inner(known, depth, out)?,
            Some(b'[') if has_colon => {
                self.at += 1;
                self.list(known, depth, out)?;
            }
            Some(_) if has_colon => self.scalar(known, out)?,
            _ => return Err(self.wrong(&format!("field {name}: it has no value"))),
        }
        if !self.takes(b',') {
            self.takes(b';');
        }
        Ok(())
    }

    /// The name of a field; that of an extension or of a type in brackets counts as unknown.
    fn name(&mut self) -> Result<&'a str> {
        let text = self.text;
        if self.takes(b'[') {
            let rest = text.get(self.at..).unwrap_or_default();
            let len = rest.iter().position(|byte| *byte == b']');
            self.at += len.ok_or_else(|| self.wrong("the name of an extension does not end"))? + 1;
            return Ok("");
        }
        let rest = text.get(self.at..).unwrap_or_default();
        let len = rest.iter().take_while(|byte| is_name(**byte)).count();
        let name = rest.get(..len).and_then(|name| std::str::from_utf8(name).ok()).unwrap_or_default();
        if name.is_empty() {
            return Err(self.wrong("the name of a field is expected"));
        }
        self.at += len;
        Ok(name)
    }

    /// The items of a list.
    fn list(&mut self, known: Option<(u32, Kind)>, depth: usize, out: &mut Vec<u8>) -> Result<()> {
        if self.takes(b']') {
            return Ok(());
        }
        loop {
            match self.peek() {
                Some(b'{' | b'<') => self.inner(known, depth, out)?,
                Some(_) => self.scalar(known, out)?,
                None => return Err(self.wrong("the text ends inside of a list")),
            }
            if self.takes(b']') {
                return Ok(());
            }
            if !self.takes(b',') {
                return Err(self.wrong("a list goes on without a comma"));
            }
        }
    }

    /// A message in braces. Of one that breaks off, what stands before is kept.
    fn inner(&mut self, known: Option<(u32, Kind)>, depth: usize, out: &mut Vec<u8>) -> Result<()> {
        let end = if self.takes(b'{') { b'}' } else { b'>' };
        if end == b'>' {
            self.takes(b'<');
        }
        let mut inside = Vec::new();
        let message = match known {
            Some((_, Kind::Message(message))) => Some(message),
            _ => None,
        };
        let read = self.message(message, Some(end), depth + 1, &mut inside);
        if let Some((number, Kind::Message(_))) = known {
            delimited(number, &inside, out);
        }
        read
    }

    fn scalar(&mut self, known: Option<(u32, Kind)>, out: &mut Vec<u8>) -> Result<()> {
        let at = self.at;
        let scalar = self.value()?;
        let Some((number, kind)) = known else { return Ok(()) };
        let wrong = || Error::malformed("a value is not of its field's type").at(at as u64);
        match (kind, scalar) {
            (Kind::Bytes, Scalar::Bytes(bytes)) => delimited(number, &bytes, out),
            (Kind::Int, Scalar::Word(word)) => {
                // An enumeration whose names are not known is passed by.
                let Some(value) = integer(word) else {
                    return if word.starts_with(|first: char| first.is_ascii_alphabetic()) {
                        Ok(())
                    } else {
                        Err(wrong())
                    };
                };
                varint(u64::from(number) << 3, out);
                varint(value, out);
            }
            (Kind::Enum(names), Scalar::Word(word)) => {
                let value = names(word).or_else(|| integer(word)).ok_or_else(wrong)?;
                varint(u64::from(number) << 3, out);
                varint(value, out);
            }
            (Kind::Zigzag, Scalar::Word(word)) => {
                let value = integer(word).ok_or_else(wrong)?.cast_signed();
                varint(u64::from(number) << 3, out);
                varint((value << 1 ^ value >> 63).cast_unsigned(), out);
            }
            (Kind::Float, Scalar::Word(word)) => {
                varint(u64::from(number) << 3 | 5, out);
                let value = float::<f32>(word, f32::NAN, f32::INFINITY);
                out.extend(value.ok_or_else(wrong)?.to_le_bytes());
            }
            (Kind::Double, Scalar::Word(word)) => {
                varint(u64::from(number) << 3 | 1, out);
                let value = float::<f64>(word, f64::NAN, f64::INFINITY);
                out.extend(value.ok_or_else(wrong)?.to_le_bytes());
            }
            (Kind::Fixed64, Scalar::Word(word)) => {
                varint(u64::from(number) << 3 | 1, out);
                out.extend(integer(word).ok_or_else(wrong)?.to_le_bytes());
            }
            (Kind::Fixed32, Scalar::Word(word)) => {
                varint(u64::from(number) << 3 | 5, out);
                let value = integer(word).and_then(|value| u32::try_from(value).ok()).ok_or_else(wrong)?;
                out.extend(value.to_le_bytes());
            }
            _ => return Err(wrong()),
        }
        Ok(())
    }

    fn value(&mut self) -> Result<Scalar<'a>> {
        let text = self.text;
        if let Some(b'"' | b'\'') = self.peek() {
            let mut bytes = Vec::new();
            while let Some(quote @ (b'"' | b'\'')) = self.peek() {
                self.at += 1;
                self.quoted(quote, &mut bytes)?;
            }
            return Ok(Scalar::Bytes(bytes));
        }
        let start = self.at;
        if self.takes(b'-') {
            skip(text, &mut self.at);
        }
        let first = self.at;
        let fits = |byte: &u8| is_name(*byte) || matches!(byte, b'.' | b'+' | b'-');
        let len = text.get(first..).unwrap_or_default().iter().take_while(|byte| fits(byte)).count();
        if len == 0 {
            return Err(self.wrong("a value is expected"));
        }
        self.at += len;
        let word = text.get(start..self.at).and_then(|word| std::str::from_utf8(word).ok());
        word.map(Scalar::Word).ok_or_else(|| self.wrong("a value is expected"))
    }

    /// What stands before the closing quote.
    fn quoted(&mut self, quote: u8, bytes: &mut Vec<u8>) -> Result<()> {
        loop {
            let Some(&byte) = self.text.get(self.at) else {
                return Err(self.wrong("the text ends inside of quotes"));
            };
            self.at += 1;
            match byte {
                b'\\' => self.escape(bytes)?,
                b'\n' => return Err(self.wrong("a line ends inside of quotes")),
                byte if byte == quote => return Ok(()),
                byte => bytes.push(byte),
            }
        }
    }

    fn escape(&mut self, bytes: &mut Vec<u8>) -> Result<()> {
        let Some(&byte) = self.text.get(self.at) else {
            return Err(self.wrong("the text ends inside of quotes"));
        };
        self.at += 1;
        bytes.push(match byte {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'a' => 7,
            b'b' => 8,
            b'f' => 12,
            b'v' => 11,
            b'0'..=b'7' => {
                self.at -= 1;
                (self.digits(8, 3) & 0xff) as u8
            }
            b'x' | b'X' => (self.digits(16, 2) & 0xff) as u8,
            b'u' | b'U' => {
                let code = self.digits(16, if byte == b'u' { 4 } else { 8 });
                let character = char::from_u32(code).ok_or_else(|| self.wrong("a character is none"))?;
                bytes.extend(character.encode_utf8(&mut [0; 4]).bytes());
                return Ok(());
            }
            other => other,
        });
        Ok(())
    }

    /// The number that up to `most` digits are.
    fn digits(&mut self, base: u32, most: usize) -> u32 {
        let mut value = 0u32;
        for _ in 0..most {
            let digit = self.text.get(self.at).and_then(|byte| char::from(*byte).to_digit(base));
            let Some(digit) = digit else { break };
            value = value.wrapping_mul(base).wrapping_add(digit);
            self.at += 1;
        }
        value
    }
}

pub(super) fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value > 0x7f {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

pub(super) fn delimited(number: u32, bytes: &[u8], out: &mut Vec<u8>) {
    varint(u64::from(number) << 3 | 2, out);
    varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

/// An integer or a boolean, as the bits of 64.
fn integer(word: &str) -> Option<u64> {
    match word {
        "true" | "True" | "t" => return Some(1),
        "false" | "False" | "f" => return Some(0),
        _ => {}
    }
    let (is_negative, digits) =
        word.strip_prefix('-').map_or((false, word), |rest| (true, rest.trim_start()));
    let hex = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
    let value = match hex {
        Some(hex) => u64::from_str_radix(hex, 16).ok()?,
        None if digits.len() > 1 && digits.starts_with('0') => u64::from_str_radix(digits, 8).ok()?,
        None => digits.parse().ok()?,
    };
    Some(if is_negative { value.wrapping_neg() } else { value })
}

/// A float; `f` may stand behind it.
fn float<T: std::str::FromStr + std::ops::Neg<Output = T>>(word: &str, nan: T, infinity: T) -> Option<T> {
    let (is_negative, digits) =
        word.strip_prefix('-').map_or((false, word), |rest| (true, rest.trim_start()));
    let lower = digits.to_ascii_lowercase();
    let value = match lower.as_str() {
        "nan" => nan,
        "inf" | "infinity" => infinity,
        other => other.strip_suffix('f').unwrap_or(other).parse().ok()?,
    };
    Some(if is_negative { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    static INNER: Message = Message(&[("n", 1, Kind::Int), ("inner", 2, Kind::Message(&INNER))]);
    static OUTER: Message = Message(&[
        ("s", 1, Kind::Bytes),
        ("f", 2, Kind::Float),
        ("d", 3, Kind::Double),
        ("i", 4, Kind::Int),
        ("inner", 5, Kind::Message(&INNER)),
    ]);

    fn encoded(text: &str) -> Vec<u8> {
        let (bytes, error) = encode(&Task::new(), text.as_bytes(), &OUTER).unwrap();
        assert!(error.is_none(), "{text}: {error:?}");
        bytes
    }

    #[test]
    fn scalars_lie_as_on_the_wire() {
        assert_eq!(encoded("s: \"a\\n\" 'b\\x41\\101'"), b"\x0a\x05a\nbAA");
        assert_eq!(
            encoded("f: 1.5f, f: -inf"),
            [&[0x15][..], &1.5f32.to_le_bytes(), &[0x15], &f32::NEG_INFINITY.to_le_bytes()].concat()
        );
        assert_eq!(
            encoded("i: [0x10, -1]; i: true"),
            b"\x20\x10\x20\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x20\x01"
        );
        assert_eq!(
            encoded("# no field\ninner < n: 7 > inner: { inner { } }"),
            b"\x2a\x02\x08\x07\x2a\x02\x12\x00"
        );
        assert_eq!(encoded("unknown { a: [1, \"x\"] [type.googleapis.com/A] { b: 1 } } i: 010"), b"\x20\x08");
    }

    #[test]
    fn what_stands_before_an_error_is_kept() {
        let (bytes, error) = encode(&Task::new(), b"i: 3 inner { n: 1 inner { n: 2", &OUTER).unwrap();
        assert_eq!(bytes, b"\x20\x03\x2a\x06\x08\x01\x12\x02\x08\x02");
        assert!(error.unwrap().message().contains("inside of a message"));
        let deep = "inner {".repeat(200);
        assert!(encode(&Task::new(), deep.as_bytes(), &OUTER).unwrap().1.unwrap().message().contains("deep"));
    }

    #[test]
    fn the_first_field_is_told() {
        assert_eq!(first_name(b" # c\n node {"), Some("node"));
        assert_eq!((first_name(b"node"), first_name(b"{}"), first_name(b"")), (None, None, None));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[a-z{}<>\\[\\]:,;'\"\\\\0-9. #-]{0,60}") {
            let _ = encode(&Task::new(), text.as_bytes(), &OUTER).unwrap();
        }
    }
}
