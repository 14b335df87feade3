//! HDF5's n-bit filter (5): only the significant bits of each element, one after the other, from the highest
//! on. The filter's client data describes the type as a tree.
//! <https://support.hdfgroup.org/documentation/hdf5/latest/_f_m_t4.html> and `H5Znbit.c`.

use super::bits::Bits;
use super::{cut_off, too_much};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;

/// How deep types may nest.
const DEPTH: usize = 32;

/// A type, as the client data describes it; sizes in bytes.
enum Type {
    Number {
        size: usize,
        big: bool,
        precision: u32,
        offset: u32,
    },
    Array {
        size: usize,
        each: usize,
        base: Box<Type>,
    },
    Record {
        size: usize,
        members: Vec<(usize, Type)>,
    },
    /// Stored as it is.
    Other {
        size: usize,
    },
}

impl Type {
    fn size(&self) -> usize {
        match self {
            Type::Number { size, .. }
            | Type::Array { size, .. }
            | Type::Record { size, .. }
            | Type::Other { size } => *size,
        }
    }

    /// Reads a type that stands in `data` from `at` on.
    fn read(data: &[u32], at: &mut usize, depth: usize) -> Option<Type> {
        if depth > DEPTH {
            return None;
        }
        let mut next = || {
            *at += 1;
            data.get(*at - 1).copied()
        };
        let (class, size) = (next()?, next()? as usize);
        Some(match class {
            1 => {
                let (order, precision, offset) = (next()?, next()?, next()?);
                let fits = size <= 16
                    && size > 0
                    && precision > 0
                    && u64::from(precision) + u64::from(offset) <= size as u64 * 8;
                if !fits {
                    return None;
                }
                Type::Number { size, big: order == 1, precision, offset }
            }
            2 => {
                let base = Type::read(data, at, depth + 1)?;
                // What is stored as it is counts as one.
                let each = if matches!(base, Type::Other { .. }) { size } else { base.size() };
                let base = if matches!(base, Type::Other { .. }) { Type::Other { size } } else { base };
                if each == 0 || size % each != 0 {
                    return None;
                }
                Type::Array { size, each, base: Box::new(base) }
            }
            3 => {
                let count = next()?;
                let mut members = Vec::new();
                for _ in 0..count {
                    let offset = *data.get(*at)? as usize;
                    *at += 1;
                    let member = Type::read(data, at, depth + 1)?;
                    if offset.checked_add(member.size())? > size {
                        return None;
                    }
                    members.push((offset, member));
                }
                Type::Record { size, members }
            }
            4 => Type::Other { size },
            _ => return None,
        })
    }

    /// Decodes one element into its bytes.
    fn decode(&self, bits: &mut Bits, to: &mut [u8]) -> Option<()> {
        match self {
            Type::Number { size, big, precision, offset } => {
                let value = (bits.take_wide(*precision)? << offset).to_le_bytes();
                let to = to.get_mut(..*size)?;
                to.copy_from_slice(value.get(..*size)?);
                if *big {
                    to.reverse();
                }
            }
            Type::Array { size, each, base } => {
                for part in to.get_mut(..*size)?.chunks_exact_mut(*each) {
                    base.decode(bits, part)?;
                }
            }
            Type::Record { members, .. } => {
                for (offset, member) in members {
                    member.decode(bits, to.get_mut(*offset..*offset + member.size())?)?;
                }
            }
            Type::Other { size } => {
                for byte in to.get_mut(..*size)? {
                    *byte = bits.take(8)? as u8;
                }
            }
        }
        Some(())
    }
}

/// Decodes a chunk by the filter's client data.
///
/// # Errors
/// `Malformed` for client data that describes no type, a chunk that is cut off, or more than `most` bytes.
pub fn decode(input: &[u8], client: &[u32], most: usize) -> Result<Vec<u8>> {
    let [_, whole, count, ..] = client else {
        return Err(Error::malformed("n-bit filter: its client data is too short"));
    };
    if *whole != 0 {
        // All bits are significant: nothing was done.
        return if input.len() <= most { Ok(input.to_vec()) } else { Err(too_much("n-bit data", most)) };
    }
    let kind = Type::read(client, &mut 3, 0)
        .filter(|kind| kind.size() > 0)
        .ok_or_else(|| Error::malformed("n-bit filter: its client data describes no type"))?;
    let size = (*count as usize).checked_mul(kind.size()).filter(|&size| size <= most);
    let size = size.ok_or_else(|| too_much("n-bit data", most))?;
    let mut out = limits::buffer(size as u64, "n-bit data")?;
    let mut bits = Bits::new(input);
    for element in out.chunks_exact_mut(kind.size()) {
        kind.decode(&mut bits, element).ok_or_else(|| cut_off("n-bit data"))?;
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(clippy::unusual_byte_groupings)] // by the numbers that lie in them
    fn records_and_arrays() {
        // Two records of 8 bytes: a 3-bit number at bit 1, an array of two 4-bit numbers, two plain bytes.
        let client = [0, 0, 2, 3, 8, 3, 0, 1, 1, 0, 3, 1, 2, 2, 2, 1, 1, 0, 4, 0, 4, 4, 2];
        let packed =
            [0b101_0011_0, 0b110_01000, 0b001_01000, 0b010_111_00, 0b01_0010_00, 0b000011_00, 0b000100_00];
        let out = decode(&packed, &client, 16).unwrap();
        assert_eq!(out, [10, 0, 3, 6, 0x41, 0x42, 0, 0, 14, 0, 1, 2, 3, 4, 0, 0]);
        assert!(decode(&packed[..6], &client, 16).is_err() && decode(&packed, &client, 15).is_err());
        assert!(decode(&packed, &[0, 0, 1, 1, 4, 0, 40, 0], 16).is_err(), "more bits than it has");
        assert_eq!(decode(b"abc", &[0, 1, 3], 3).unwrap(), b"abc");
    }
}
