//! Protocol Buffers as they are on the wire: fields of a message, one after the other.
//!
//! Specification: <https://protobuf.dev/programming-guides/encoding/>.

use crate::bytes::error::{Error, Result};

/// A field's value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value<'a> {
    /// A varint.
    Int(u64),
    /// Eight bytes, little-endian.
    Eight([u8; 8]),
    /// A text, bytes, a message, or several numbers packed.
    Bytes(&'a [u8]),
    /// Four bytes: no field that is read has them.
    Four,
}

impl<'a> Value<'a> {
    /// An unsigned number; 0 for what is none.
    pub(super) fn int(self) -> u64 {
        if let Value::Int(value) = self { value } else { 0 }
    }

    /// A number of 32 bits; one that does not fit is an error.
    pub(super) fn small(self) -> Result<u32> {
        u32::try_from(self.int()).map_err(|_| Error::malformed("a number is beyond 32 bits"))
    }

    /// A signed number in zigzag form.
    pub(super) fn zigzag(self) -> i64 {
        zigzag(self.int())
    }

    /// A float of 64 bits.
    pub(super) fn double(self) -> Option<f64> {
        if let Value::Eight(bytes) = self { Some(f64::from_le_bytes(bytes)) } else { None }
    }

    /// A message's or text's bytes; none for a number.
    pub(super) fn bytes(self) -> &'a [u8] {
        if let Value::Bytes(bytes) = self { bytes } else { &[] }
    }

    /// A text. Bytes that are no UTF-8 are replaced.
    pub(super) fn text(self) -> String {
        String::from_utf8_lossy(self.bytes()).into_owned()
    }

    /// Adds a repeated number, packed or not.
    pub(super) fn numbers(self, to: &mut Vec<u32>) -> Result<()> {
        let Value::Bytes(mut bytes) = self else {
            to.push(self.small()?);
            return Ok(());
        };
        while !bytes.is_empty() {
            to.push(Value::Int(varint(&mut bytes)?).small()?);
        }
        Ok(())
    }
}

/// A signed number out of its zigzag form.
pub(super) fn zigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

fn ends() -> Error {
    Error::malformed("a message ends in the middle of a field")
}

fn varint(bytes: &mut &[u8]) -> Result<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first().ok_or_else(ends)?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err(Error::malformed("an integer has more than 64 bits"))
}

fn take<'a>(bytes: &mut &'a [u8], count: u64) -> Result<&'a [u8]> {
    let count = usize::try_from(count).map_err(|_| ends())?;
    let (head, rest) = bytes.split_at_checked(count).ok_or_else(ends)?;
    *bytes = rest;
    Ok(head)
}

/// Calls `each` with every field of a message: its number and value.
///
/// # Errors
/// `Malformed` where the message is cut off, and what `each` gives.
pub(super) fn fields<'a>(
    mut bytes: &'a [u8],
    mut each: impl FnMut(u64, Value<'a>) -> Result<()>,
) -> Result<()> {
    while !bytes.is_empty() {
        let key = varint(&mut bytes)?;
        let value = match key & 7 {
            0 => Value::Int(varint(&mut bytes)?),
            1 => Value::Eight(take(&mut bytes, 8)?.try_into().map_err(|_| ends())?),
            2 => {
                let len = varint(&mut bytes)?;
                Value::Bytes(take(&mut bytes, len)?)
            }
            5 => {
                take(&mut bytes, 4)?;
                Value::Four
            }
            other => return Err(Error::malformed(format!("a field of the unknown wire type {other}"))),
        };
        each(key >> 3, value)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_packed_and_single() {
        let mut all = Vec::new();
        fields(&[0x0a, 3, 1, 0x80, 1, 0x08, 5], |_, value| value.numbers(&mut all)).unwrap();
        assert_eq!(all, [1, 128, 5]);
        assert!(fields(&[0x0a, 3, 1], |_, _| Ok(())).is_err());
        assert!(fields(&[0x0b], |_, _| Ok(())).is_err(), "groups are no fields of these messages");
        assert_eq!([zigzag(1), zigzag(2), zigzag(u64::MAX)], [-1, 1, i64::MIN]);
    }
}
