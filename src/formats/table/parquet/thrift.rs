//! Thrift's compact protocol: a reader that only walks, and the few things that are written anew.
//!
//! Specification: <https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md>.

use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::numbers::{leb128, zigzag};

pub(super) const TRUE: u8 = 1;
pub(super) const FALSE: u8 = 2;
pub(super) const BYTE: u8 = 3;
pub(super) const I32: u8 = 5;
pub(super) const I64: u8 = 6;
pub(super) const BINARY: u8 = 8;
pub(super) const LIST: u8 = 9;
pub(super) const SET: u8 = 10;
pub(super) const STRUCT: u8 = 12;

/// A reader of Thrift's compact protocol that only walks.
pub(super) struct Thrift<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
}

impl<'a> Thrift<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Thrift { bytes, at: 0 }
    }

    fn ends(&self) -> Error {
        Error::malformed("footer: it ends in the middle of a field")
    }

    pub(super) fn byte(&mut self) -> Result<u8> {
        let byte = *self.bytes.get(self.at).ok_or_else(|| self.ends())?;
        self.at += 1;
        Ok(byte)
    }

    fn varint(&mut self) -> Result<u64> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let (value, taken) = leb128(rest).ok_or_else(|| match rest.len() {
            ..10 => self.ends(),
            _ => Error::malformed("footer: an integer has more than 64 bits"),
        })?;
        self.at += taken;
        Ok(value)
    }

    /// The bytes of a text or of binary data.
    pub(super) fn binary(&mut self) -> Result<&'a [u8]> {
        let len = self.varint()?;
        let start = self.at;
        self.advance(len)?;
        Ok(self.bytes.get(start..self.at).unwrap_or_default())
    }

    /// An integer of the type `kind`, of 8 to 64 bits.
    pub(super) fn integer(&mut self, kind: u8) -> Result<i64> {
        if kind == BYTE { Ok(i64::from(self.byte()? as i8)) } else { self.zigzag() }
    }

    pub(super) fn zigzag(&mut self) -> Result<i64> {
        self.varint().map(zigzag)
    }

    /// The next field's type; its number goes into `id`. `None` at the end of the struct.
    pub(super) fn field(&mut self, id: &mut i64) -> Result<Option<u8>> {
        let byte = self.byte()?;
        if byte & 0x0f == 0 {
            return Ok(None);
        }
        *id = match byte >> 4 {
            0 => self.zigzag()?,
            delta => id.saturating_add(i64::from(delta)),
        };
        Ok(Some(byte & 0x0f))
    }

    /// A list's count, at most what the remaining bytes can hold, and the type of its elements.
    pub(super) fn list(&mut self) -> Result<(u64, u8)> {
        let byte = self.byte()?;
        let count = match byte >> 4 {
            15 => self.varint()?,
            short => u64::from(short),
        };
        if count > (self.bytes.len() - self.at) as u64 {
            return Err(Error::malformed(format!(
                "footer: a list of {count} elements is longer than the footer"
            )));
        }
        Ok((count, byte & 0x0f))
    }

    fn advance(&mut self, bytes: u64) -> Result<()> {
        let end = usize::try_from(bytes).ok().and_then(|n| self.at.checked_add(n));
        self.at = end.filter(|&end| end <= self.bytes.len()).ok_or_else(|| self.ends())?;
        Ok(())
    }

    pub(super) fn skip(&mut self, kind: u8, depth: usize) -> Result<()> {
        if depth > limits::DEPTH {
            return Err(Error::limit("the footer nests too deeply"));
        }
        match kind {
            1 | 2 => Ok(()),
            3 => self.advance(1),
            4..=6 => self.varint().map(|_| ()),
            7 => self.advance(8),
            8 => {
                let len = self.varint()?;
                self.advance(len)
            }
            LIST | SET => {
                let (count, kind) = self.list()?;
                (0..count).try_for_each(|_| self.skip_element(kind, depth + 1))
            }
            11 => self.skip_map(depth),
            STRUCT => {
                let mut id = 0;
                while let Some(kind) = self.field(&mut id)? {
                    self.skip(kind, depth + 1)?;
                }
                Ok(())
            }
            other => Err(Error::malformed(format!("footer: a field of the unknown type {other}"))),
        }
    }

    /// An element of a list or map: booleans take a byte there.
    pub(super) fn skip_element(&mut self, kind: u8, depth: usize) -> Result<()> {
        if matches!(kind, 1 | 2) { self.advance(1) } else { self.skip(kind, depth) }
    }

    fn skip_map(&mut self, depth: usize) -> Result<()> {
        let count = self.varint()?;
        if count == 0 {
            return Ok(());
        }
        let kinds = self.byte()?;
        for _ in 0..count {
            self.skip_element(kinds >> 4, depth + 1)?;
            self.skip_element(kinds & 0x0f, depth + 1)?;
        }
        Ok(())
    }
}

/// Adds an unsigned integer.
pub(super) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Adds a signed integer of 16 to 64 bits.
pub(super) fn put_integer(out: &mut Vec<u8>, value: i64) {
    put_varint(out, (value << 1 ^ value >> 63) as u64);
}

/// Adds a text or binary data.
pub(super) fn put_binary(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Adds the header of a list.
pub(super) fn put_list(out: &mut Vec<u8>, count: u64, kind: u8) {
    match count {
        0..15 => out.push((count as u8) << 4 | kind),
        _ => {
            out.push(0xf0 | kind);
            put_varint(out, count);
        }
    }
}

/// Adds a field's header: its number as the distance from the last one, or in full.
pub(super) fn put_field(out: &mut Vec<u8>, id: i64, last: &mut i64, kind: u8) {
    match id.checked_sub(*last).and_then(|gap| u8::try_from(gap).ok()) {
        Some(gap @ 1..=15) => out.push(gap << 4 | kind),
        _ => {
            out.push(kind);
            put_integer(out, id);
        }
    }
    *last = id;
}
