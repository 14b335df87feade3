//! UBJSON, JSON's values as bytes: a letter for the type, then the value, numbers big-endian; containers may say how many
//! values they hold and of which type, so that arrays of numbers are stepped over at once.
//! <https://ubjson.org/type-reference/>, with draft 12's optimised containers.
//!
//! Nothing is read as a whole: a value is a place in a file, [`skip`] finds its end, [`Members`] lists an object,
//! [`value`] makes JSON of a small one and [`array`] finds the elements of an array of numbers.

use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::numbers::be;
use crate::data::dtype::DType;
use crate::engines::records::Window;
use serde_json::Value;

/// The most elements of an array that becomes JSON.
const ELEMENTS: u64 = 1 << 22;
/// The longest name of a member.
const NAME: u64 = 1 << 20;

/// The byte at `at`; padding (`N`) is passed by.
fn marker(window: &mut Window, at: &mut u64) -> Result<u8> {
    loop {
        let here = *at;
        let byte = window.get(here, 1)?.first().copied().ok_or_else(|| ends(here))?;
        *at += 1;
        if byte != b'N' {
            return Ok(byte);
        }
    }
}

/// The next byte, which is looked at only.
fn peek(window: &mut Window, at: u64) -> Result<Option<u8>> {
    Ok(window.get(at, 1)?.first().copied())
}

fn ends(at: u64) -> Error {
    Error::malformed("UBJSON: the file ends inside a value; it may be cut off").at(at)
}

fn unknown(byte: u8, at: u64) -> Error {
    Error::malformed(format!("UBJSON: no value begins with the byte 0x{byte:02x}")).at(at)
}

/// The bytes of a value of this type; `None` where they depend on the value.
fn width(kind: u8) -> Option<u64> {
    Some(match kind {
        b'Z' | b'T' | b'F' => 0,
        b'i' | b'U' | b'C' => 1,
        b'I' => 2,
        b'l' | b'd' => 4,
        b'L' | b'D' => 8,
        _ => return None,
    })
}

/// A number of this type: integers and floats.
fn number(kind: u8, bytes: &[u8]) -> Option<Value> {
    Some(match kind {
        b'i' => Value::from(be::<u8>(bytes, 0)?.cast_signed()),
        b'U' => Value::from(be::<u8>(bytes, 0)?),
        b'I' => Value::from(be::<i16>(bytes, 0)?),
        b'l' => Value::from(be::<i32>(bytes, 0)?),
        b'L' => Value::from(be::<i64>(bytes, 0)?),
        b'd' => be::<f32>(bytes, 0)?.to_string().parse().map(Value::Number).unwrap_or(Value::Null),
        b'D' => Value::from(be::<f64>(bytes, 0)?),
        _ => return None,
    })
}

/// A length: a type of integers and its value, which is none below zero.
fn length(window: &mut Window, at: &mut u64) -> Result<u64> {
    let from = *at;
    let kind = marker(window, at)?;
    let width = width(kind).filter(|_| b"iUIlL".contains(&kind)).ok_or_else(|| unknown(kind, from))?;
    let bytes = window.get(*at, width as usize)?;
    let count = number(kind, bytes).ok_or_else(|| ends(from))?;
    *at += width;
    count.as_u64().ok_or_else(|| Error::malformed(format!("UBJSON: a length of {count}")).at(from))
}

/// What stands at the beginning of a container.
#[derive(Clone, Copy, Debug)]
struct Header {
    /// The type of all values.
    kind: Option<u8>,
    /// How many there are.
    count: Option<u64>,
}

/// The header of a container whose bracket ends at `at`.
fn header(window: &mut Window, at: &mut u64) -> Result<Header> {
    let mut header = Header { kind: None, count: None };
    if peek(window, *at)? == Some(b'$') {
        *at += 1;
        header.kind = Some(peek(window, *at)?.ok_or_else(|| ends(*at))?);
        *at += 1;
        if peek(window, *at)? != Some(b'#') {
            return Err(Error::malformed("UBJSON: a container of one type without a count").at(*at));
        }
    }
    if peek(window, *at)? == Some(b'#') {
        *at += 1;
        header.count = Some(length(window, at)?);
    }
    Ok(header)
}

/// `at` moved by `bytes`, which must be there.
fn forward(window: &Window, at: u64, bytes: u64) -> Result<u64> {
    let end = at.checked_add(bytes).filter(|end| window.known_len().is_none_or(|len| *end <= len));
    end.ok_or_else(|| ends(at))
}

/// A container that is being stepped over.
struct Level {
    header: Header,
    is_object: bool,
}

/// Where the value ends whose type stands at `at`. However deep it nests, no stack is used; only sizes and names are read.
///
/// # Errors
/// What breaks the value; `Limit` where it nests too deep.
pub fn skip(window: &mut Window, mut at: u64) -> Result<u64> {
    let mut open: Vec<Level> = Vec::new();
    let mut kind = marker(window, &mut at)?;
    let mut steps = 0u64;
    loop {
        steps += 1;
        if steps.is_multiple_of(1 << 16) {
            window.task.check()?;
        }
        at = match kind {
            b'S' | b'H' => {
                let len = length(window, &mut at)?;
                forward(window, at, len)?
            }
            b'[' | b'{' => {
                if open.len() >= limits::DEPTH {
                    return Err(Error::limit(format!("UBJSON that nests {} deep", limits::DEPTH)).at(at));
                }
                let mut header = header(window, &mut at)?;
                if let (Some(count), Some(width), b'[') = (header.count, header.kind.and_then(width), kind) {
                    at = forward(window, at, count.checked_mul(width).ok_or_else(|| ends(at))?)?;
                    header.count = Some(0);
                }
                open.push(Level { header, is_object: kind == b'{' });
                at
            }
            other => {
                let width = width(other).ok_or_else(|| unknown(other, at.saturating_sub(1)))?;
                forward(window, at, width)?
            }
        };
        // The next value of the innermost container that is not at its end.
        kind = loop {
            let Some(level) = open.last_mut() else { return Ok(at) };
            match &mut level.header.count {
                Some(0) => {
                    open.pop();
                    continue;
                }
                Some(left) => *left -= 1,
                None => {
                    let mut behind = at;
                    let closing = if level.is_object { b'}' } else { b']' };
                    if marker(window, &mut behind)? == closing {
                        at = behind;
                        open.pop();
                        continue;
                    }
                }
            }
            if level.is_object {
                let len = length(window, &mut at)?;
                at = forward(window, at, len)?;
            }
            let fixed = level.header.kind;
            break match fixed {
                Some(kind) => kind,
                None => marker(window, &mut at)?,
            };
        };
    }
}

/// The members of an object, one after the other.
pub struct Members {
    left: Option<u64>,
}

impl Members {
    /// Those of the object that begins at `at`, which is moved behind its header; `None` where it is no object.
    ///
    /// # Errors
    /// Those of reading; `Unsupported` for an object whose values are all of one stated type.
    pub fn of(window: &mut Window, at: &mut u64) -> Result<Option<Members>> {
        let from = *at;
        if marker(window, at)? != b'{' {
            return Ok(None);
        }
        let header = header(window, at)?;
        if header.kind.is_some() {
            return Err(Error::unsupported("UBJSON: an object of values of one type").at(from));
        }
        Ok(Some(Members { left: header.count }))
    }

    /// Those that follow from a place inside an object on.
    pub fn within() -> Members {
        Members { left: None }
    }

    /// The name of the next member, whose value then begins at `at`; `None` at the end of the object, which `at` is moved
    /// behind.
    ///
    /// # Errors
    /// Those of reading.
    pub fn next(&mut self, window: &mut Window, at: &mut u64) -> Result<Option<String>> {
        match &mut self.left {
            Some(0) => return Ok(None),
            Some(left) => *left -= 1,
            None => {
                let mut behind = *at;
                if marker(window, &mut behind)? == b'}' {
                    *at = behind;
                    return Ok(None);
                }
            }
        }
        let len = length(window, at)?;
        text(window, at, len, NAME).map(Some)
    }
}

/// A text of `len` bytes at `at`, which is moved behind it.
fn text(window: &mut Window, at: &mut u64, len: u64, most: u64) -> Result<String> {
    let size = limits::check(len, most, "a text in UBJSON")?;
    forward(window, *at, len)?;
    let bytes = window.get(*at, size)?;
    if bytes.len() < size {
        return Err(ends(*at));
    }
    *at += len;
    Ok(String::from_utf8_lossy(bytes).into_owned())
}

/// The elements of an array whose values are all numbers of one type, lying together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Numbers {
    /// Their type; big-endian in the file.
    pub dtype: DType,
    /// Where the first one begins.
    pub start: u64,
    /// How many there are.
    pub count: u64,
}

/// The array at `at`, if it is one of numbers of one stated type.
///
/// # Errors
/// Those of reading.
pub fn array(window: &mut Window, mut at: u64) -> Result<Option<Numbers>> {
    if marker(window, &mut at)? != b'[' {
        return Ok(None);
    }
    let Header { kind: Some(kind), count: Some(count) } = header(window, &mut at)? else { return Ok(None) };
    let dtype = match kind {
        b'i' => DType::I8,
        b'U' => DType::U8,
        b'I' => DType::I16,
        b'l' => DType::I32,
        b'L' => DType::I64,
        b'd' => DType::F32,
        b'D' => DType::F64,
        _ => return Ok(None),
    };
    forward(window, at, count.checked_mul(dtype.size()).ok_or_else(|| ends(at))?)?;
    Ok(Some(Numbers { dtype, start: at, count }))
}

/// Where the first element of the array at `at` begins, and how many there are where it says so; `None` where it is no array
/// or one of a stated type.
///
/// # Errors
/// Those of reading.
pub fn elements(window: &mut Window, mut at: u64) -> Result<Option<(u64, Option<u64>)>> {
    if marker(window, &mut at)? != b'[' {
        return Ok(None);
    }
    let header = header(window, &mut at)?;
    Ok(header.kind.is_none().then_some((at, header.count)))
}

/// The value at `at` as JSON, and where it ends. Floats that JSON has no number for become null.
///
/// # Errors
/// What breaks the value; `Limit` where it is too large or nests too deep.
pub fn value(window: &mut Window, mut at: u64) -> Result<(Value, u64)> {
    let end = skip(window, at)?;
    limits::check(end - at, limits::HEADER, "a value in UBJSON")?;
    let kind = marker(window, &mut at)?;
    let value = one(window, &mut at, kind, &mut 0)?;
    Ok((value, end))
}

/// A value of this type; `count` is how many there are of all.
fn one(window: &mut Window, at: &mut u64, kind: u8, count: &mut u64) -> Result<Value> {
    *count += 1;
    if *count > ELEMENTS {
        return Err(Error::limit(format!("a value in UBJSON with more than {ELEMENTS} parts")).at(*at));
    }
    match kind {
        b'Z' => Ok(Value::Null),
        b'T' => Ok(Value::Bool(true)),
        b'F' => Ok(Value::Bool(false)),
        b'S' | b'H' => {
            let len = length(window, at)?;
            text(window, at, len, limits::HEADER).map(Value::String)
        }
        b'C' => text(window, at, 1, 1).map(Value::String),
        b'[' => {
            let Header { kind, count: left } = header(window, at)?;
            let mut items = Vec::new();
            let mut n = 0;
            while left.is_none_or(|left| n < left) {
                let kind = match kind {
                    Some(kind) => kind,
                    None => marker(window, at)?,
                };
                if left.is_none() && kind == b']' {
                    break;
                }
                items.push(one(window, at, kind, count)?);
                n += 1;
            }
            Ok(Value::Array(items))
        }
        b'{' => {
            let Header { kind, count: left } = header(window, at)?;
            let (mut members, mut object) = (Members { left }, serde_json::Map::new());
            while let Some(name) = members.next(window, at)? {
                let kind = match kind {
                    Some(kind) => kind,
                    None => marker(window, at)?,
                };
                object.insert(name, one(window, at, kind, count)?);
            }
            Ok(Value::Object(object))
        }
        other => {
            let size = width(other).ok_or_else(|| unknown(other, *at))?;
            let found = number(other, window.get(*at, size as usize)?).ok_or_else(|| ends(*at))?;
            *at += size;
            Ok(found)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::source::Source;
    use crate::bytes::task::Task;
    use proptest::prelude::*;

    fn read(bytes: &[u8]) -> Result<(Value, u64)> {
        let (task, source) = (Task::new(), Source::memory("x", bytes.to_vec()));
        value(&mut Window::new(&task, &source), 0)
    }

    #[test]
    fn every_type_reads() {
        let bytes = b"{U\x01a[$d#U\x02\x3f\x80\0\0\xc0\0\0\0i\x01b[Si\x02hiTFZCx]i\x01c{#i\x01i\x01dL\0\0\0\0\0\0\0\x05}trailing";
        let (value, end) = read(bytes).unwrap();
        let text = r#"{"a":[1,-2],"b":["hi",true,false,null,"x"],"c":{"d":5}}"#;
        assert_eq!(value.to_string(), text);
        assert_eq!(end as usize, bytes.len() - "trailing".len());
        assert_eq!(
            read(b"[#i\x03i\xffI\x01\0D\x3f\xb9\x99\x99\x99\x99\x99\x9a").unwrap().0.to_string(),
            "[-1,256,0.1]"
        );
        assert_eq!(read(b"[NNi\x01N]").unwrap().0.to_string(), "[1]");
    }

    #[test]
    fn what_is_hostile_ends_in_a_sentence() {
        let says = |bytes: &[u8]| read(bytes).unwrap_err().message();
        assert!(says(b"[$d#L\x7f\xff\xff\xff\xff\xff\xff\xff").contains("ends inside a value"));
        assert!(says(b"[$Z#L\x7f\xff\xff\xff\xff\xff\xff\xff").contains("parts"));
        assert!(says(b"[#i\xff").contains("a length of -1"));
        assert!(says(&b"[".repeat(100_000)).contains("nests"));
        assert!(says(b"{i\x01a").contains("ends inside"));
        assert!(says(b"\x07").contains("0x07"));
    }

    proptest! {
        #[test]
        fn any_bytes_end(bytes in prop::collection::vec(prop::sample::select(b"{}[]$#iUIlLdDSCTFZNH\0\x01\x02\xff".to_vec()), 0..60)) {
            if let Ok((_, end)) = read(&bytes) {
                prop_assert!(end as usize <= bytes.len());
            }
        }
    }
}
