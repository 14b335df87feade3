//! MessagePack as JSON, for `msgpack2`. <https://github.com/msgpack/msgpack/blob/master/spec.md>

use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::numbers::be_unsigned;
use serde_json::{Map, Value};

/// The one value that `bytes` are.
pub(super) fn parse(bytes: &[u8]) -> Result<Value> {
    let mut reader = Reader { bytes, at: 0 };
    reader.value(limits::DEPTH)
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let end = self.at.checked_add(len);
        let part = end.and_then(|end| self.bytes.get(self.at..end));
        let part = part.ok_or_else(|| Error::malformed("msgpack2: the chunk ends too early"))?;
        self.at += len;
        Ok(part)
    }

    /// A big-endian number of `len` bytes.
    fn number(&mut self, len: usize) -> Result<u64> {
        self.take(len).map(be_unsigned)
    }

    fn length(&mut self, len: usize) -> Result<usize> {
        let count = self.number(len)? as usize;
        // Each element takes a byte at least.
        match count <= self.bytes.len() - self.at {
            true => Ok(count),
            false => Err(Error::malformed("msgpack2: a length is beyond the chunk")),
        }
    }

    fn value(&mut self, deep: usize) -> Result<Value> {
        let deep = deep.checked_sub(1).ok_or_else(|| Error::limit("msgpack2: it nests too deep"))?;
        let tag = self.number(1)? as u8;
        Ok(match tag {
            0..=0x7f => Value::from(tag),
            0x80..=0x8f => self.map(usize::from(tag & 15), deep)?,
            0x90..=0x9f => self.list(usize::from(tag & 15), deep)?,
            0xa0..=0xbf => self.text(usize::from(tag & 31))?,
            0xc0 => Value::Null,
            0xc2 | 0xc3 => Value::Bool(tag == 0xc3),
            0xc4..=0xc6 => {
                let len = self.length(1 << (tag - 0xc4))?;
                self.hex(len)?
            }
            0xc7..=0xc9 => {
                let len = self.length(1 << (tag - 0xc7))?;
                self.number(1)?;
                self.hex(len)?
            }
            0xca => float(f64::from(f32::from_bits(self.number(4)? as u32))),
            0xcb => float(f64::from_bits(self.number(8)?)),
            0xcc..=0xcf => Value::from(self.number(1 << (tag - 0xcc))?),
            0xd0 => Value::from((self.number(1)? as u8).cast_signed()),
            0xd1 => Value::from((self.number(2)? as u16).cast_signed()),
            0xd2 => Value::from((self.number(4)? as u32).cast_signed()),
            0xd3 => Value::from(self.number(8)?.cast_signed()),
            0xd4..=0xd8 => {
                self.number(1)?;
                self.hex(1 << (tag - 0xd4))?
            }
            0xd9..=0xdb => {
                let len = self.length(1 << (tag - 0xd9))?;
                self.text(len)?
            }
            0xdc | 0xdd => {
                let len = self.length(if tag == 0xdc { 2 } else { 4 })?;
                self.list(len, deep)?
            }
            0xde | 0xdf => {
                let len = self.length(if tag == 0xde { 2 } else { 4 })?;
                self.map(len, deep)?
            }
            0xe0..=0xff => Value::from(tag.cast_signed()),
            0xc1 => return Err(Error::malformed("msgpack2: a byte that starts no value")),
        })
    }

    fn list(&mut self, len: usize, deep: usize) -> Result<Value> {
        (0..len).map(|_| self.value(deep)).collect::<Result<Vec<Value>>>().map(Value::from)
    }

    fn map(&mut self, len: usize, deep: usize) -> Result<Value> {
        let mut map = Map::new();
        for _ in 0..len {
            let key = match self.value(deep)? {
                Value::String(text) => text,
                other => other.to_string(),
            };
            map.insert(key, self.value(deep)?);
        }
        Ok(Value::Object(map))
    }

    fn text(&mut self, len: usize) -> Result<Value> {
        Ok(Value::from(String::from_utf8_lossy(self.take(len)?).into_owned()))
    }

    /// Bytes, which JSON has not, in the way in which they are shown.
    fn hex(&mut self, len: usize) -> Result<Value> {
        let digits: Vec<String> = self.take(len)?.iter().map(|b| format!("{b:02x}")).collect();
        Ok(Value::from(format!("0x{}", digits.concat())))
    }
}

/// A float; what JSON cannot say becomes its word.
fn float(x: f64) -> Value {
    serde_json::Number::from_f64(x).map_or_else(|| Value::from(x.to_string()), Value::Number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_kind_of_value() {
        let value = parse(b"\x96\x01\xff\xc0\xc3\xa1x\x81\xa1k\xcb\x3f\xe0\0\0\0\0\0\0").unwrap();
        assert_eq!(value.to_string(), r#"[1,-1,null,true,"x",{"k":0.5}]"#);
        let value = parse(b"\x93\xcd\x01\x00\xd1\xff\x00\xc4\x02\x0a\xff").unwrap();
        assert_eq!(value.to_string(), r#"[256,-256,"0x0aff"]"#);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&bytes);
        }
    }
}
