//! Numbers among bytes that somebody else wrote: of a fixed width at any place, and in groups of seven bits.

/// A number that takes as many bytes as its type has.
pub trait Number: Default {
    /// Out of the first bytes, the lowest first; `None` where there are too few.
    fn le(bytes: &[u8]) -> Option<Self>;
    /// Out of the first bytes, the highest first.
    fn be(bytes: &[u8]) -> Option<Self>;
}

macro_rules! numbers {
    ($($ty:ty)*) => {$(
        impl Number for $ty {
            #[inline]
            fn le(bytes: &[u8]) -> Option<Self> {
                bytes.first_chunk().map(|bytes| Self::from_le_bytes(*bytes))
            }

            #[inline]
            fn be(bytes: &[u8]) -> Option<Self> {
                bytes.first_chunk().map(|bytes| Self::from_be_bytes(*bytes))
            }
        }
    )*};
}

numbers!(u8 u16 u32 u64 i8 i16 i32 i64 f32 f64);

/// The little-endian number at `at`; `None` where the bytes end before it does.
#[inline]
pub fn le<N: Number>(bytes: &[u8], at: usize) -> Option<N> {
    N::le(bytes.get(at..)?)
}

/// The same, and zero where the bytes end before it does.
#[inline]
pub fn le_or_zero<N: Number>(bytes: &[u8], at: usize) -> N {
    le(bytes, at).unwrap_or_default()
}

/// The big-endian number at `at`; `None` where the bytes end before it does.
#[inline]
pub fn be<N: Number>(bytes: &[u8], at: usize) -> Option<N> {
    N::be(bytes.get(at..)?)
}

/// The number at `at`, in the order that a file has.
#[inline]
pub fn ordered<N: Number>(big: bool, bytes: &[u8], at: usize) -> Option<N> {
    if big { be(bytes, at) } else { le(bytes, at) }
}

/// An unsigned number of any width, big-endian; its lowest 64 bits.
#[inline]
pub fn be_unsigned(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |n, &byte| n << 8 | u64::from(byte))
}

/// An unsigned number of any width, little-endian; its lowest 64 bits are right up to eight bytes.
#[inline]
pub fn le_unsigned(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |n, &byte| n << 8 | u64::from(byte))
}

/// The number that the bytes begin with in groups of seven bits, the lowest first (LEB128), and how many bytes it
/// takes; `None` where it ends in none of the first ten. Its lowest 64 bits.
#[inline]
pub fn leb128(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0u64;
    for (n, &byte) in bytes.iter().take(10).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * n);
        if byte < 0x80 {
            return Some((value, n + 1));
        }
    }
    None
}

/// A signed number out of its zigzag form.
#[inline]
pub fn zigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_both_orders_and_none_beyond_the_end() {
        let bytes = [1, 2, 3, 4, 5];
        assert_eq!((le(&bytes, 1), be(&bytes, 1)), (Some(0x0302_u16), Some(0x0203_u16)));
        assert_eq!(
            (ordered::<u32>(true, &bytes, 1), ordered::<u32>(false, &bytes, 1)),
            (be(&bytes, 1), le(&bytes, 1))
        );
        assert_eq!(
            (le::<u32>(&bytes, 2), be::<u8>(&bytes, 5), le::<u8>(&bytes, usize::MAX)),
            (None, None, None)
        );
        assert_eq!((le_or_zero::<u64>(&bytes, 0), be_unsigned(&bytes[..3])), (0, 0x01_0203));
    }

    #[test]
    fn groups_of_seven_bits_have_ten_bytes_at_most() {
        assert_eq!(leb128(&[0xac, 0x02, 9]), Some((300, 2)));
        assert_eq!(leb128(&[&[0xff; 9][..], &[1]].concat()), Some((u64::MAX, 10)));
        assert_eq!((leb128(&[0x80; 9]), leb128(&[0x80; 11]), leb128(&[])), (None, None, None));
        assert_eq!([0, 1, 2, u64::MAX].map(zigzag), [0, -1, 1, i64::MIN]);
    }
}
