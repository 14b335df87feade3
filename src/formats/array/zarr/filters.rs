//! Filters on numbers that numcodecs defines: differences, scaled integers, other types, packed bits.
//! <https://numcodecs.readthedocs.io/en/stable/filter/index.html>

use super::dtype::{ByteOrder, of_typestr};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::data::dtype::{DType, with_integer};

/// A type of numbers in some byte order.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Numbers {
    dtype: DType,
    big: bool,
}

/// A number on its way from one type to another.
#[derive(Clone, Copy)]
enum Number {
    Int(i128),
    Float(f64),
}

impl Number {
    fn float(self) -> f64 {
        match self {
            Number::Int(n) => n as f64,
            Number::Float(x) => x,
        }
    }

    /// As C casts: floats are cut, integers keep their low bits.
    fn int(self) -> i128 {
        match self {
            Number::Int(n) => n,
            Number::Float(x) => x as i128,
        }
    }
}

impl Numbers {
    /// The numbers of a NumPy type string; dates count as integers.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let element = of_typestr(text)?;
        let numbers = Numbers::of(element.dtype, element.order == ByteOrder::Big);
        numbers.ok_or_else(|| Error::unsupported(format!("a filter on elements of {text:?}")))
    }

    /// The numbers of a type; `None` where it has none.
    pub(super) fn of(dtype: DType, big: bool) -> Option<Self> {
        let dtype = match dtype {
            DType::DateTime(_) | DType::TimeDelta(_) => DType::I64,
            DType::Mini(_) | DType::Long(_) => return None,
            other => other,
        };
        dtype.is_real().then_some(Numbers { dtype, big })
    }

    pub(super) fn dtype(&self) -> &DType {
        &self.dtype
    }

    /// The same numbers, little-endian.
    pub(super) fn little(&self) -> Self {
        Numbers { dtype: self.dtype.clone(), big: false }
    }

    pub(super) fn size(&self) -> usize {
        self.dtype.size() as usize
    }

    /// Calls `each` with every number.
    fn read(&self, bytes: &[u8], mut each: impl FnMut(Number)) {
        macro_rules! floats {
            ($ty:ty, $n:literal) => {
                for part in bytes.as_chunks::<$n>().0 {
                    let x = if self.big { <$ty>::from_be_bytes(*part) } else { <$ty>::from_le_bytes(*part) };
                    each(Number::Float(f64::from(x)));
                }
            };
        }
        with_integer!(self.dtype, T => {
            for part in bytes.as_chunks::<{ size_of::<T>() }>().0 {
                let n = if self.big { T::from_be_bytes(*part) } else { T::from_le_bytes(*part) };
                each(Number::Int(n.into()));
            }
        }, _ => match self.dtype {
            DType::Bool => bytes.iter().for_each(|&b| each(Number::Int(i128::from(b != 0)))),
            DType::F16 => floats!(half::f16, 2),
            DType::BF16 => floats!(half::bf16, 2),
            DType::F32 => floats!(f32, 4),
            _ => floats!(f64, 8),
        });
    }

    fn push(&self, number: Number, out: &mut Vec<u8>) {
        macro_rules! put {
            ($value:expr) => {{
                let value = $value;
                out.extend_from_slice(&if self.big { value.to_be_bytes() } else { value.to_le_bytes() });
            }};
        }
        with_integer!(self.dtype, T => put!(number.int() as T), _ => match self.dtype {
            DType::Bool => out.push(u8::from(number.float() != 0.0)),
            DType::F16 => put!(half::f16::from_f64(number.float())),
            DType::BF16 => put!(half::bf16::from_f64(number.float())),
            DType::F32 => put!(number.float() as f32),
            _ => put!(number.float()),
        });
    }

    /// A float as this type rounds it.
    fn round(&self, x: f64) -> f64 {
        match self.dtype {
            DType::F16 => half::f16::from_f64(x).to_f64(),
            DType::BF16 => half::bf16::from_f64(x).to_f64(),
            DType::F32 => f64::from(x as f32),
            _ => x,
        }
    }

    /// A buffer for as many numbers as `bytes` of another type hold.
    fn room(&self, bytes: usize, from: &Numbers) -> Result<Vec<u8>> {
        let size = (bytes / from.size().max(1)) as u64 * self.size() as u64;
        Ok(Vec::with_capacity(limits::check(size, limits::CHUNK, "a filtered chunk")?))
    }
}

/// Undoes `delta`: sums of the differences `bytes`, in the type of the sums.
pub(super) fn sums(bytes: &[u8], from: &Numbers, to: &Numbers) -> Result<Vec<u8>> {
    let mut out = to.room(bytes.len(), from)?;
    if to.dtype.is_float() {
        let mut sum = 0.0;
        let mut first = true;
        from.read(bytes, |difference| {
            // Adding to zero would lose the sign of a negative zero.
            sum = if first {
                to.round(difference.float())
            } else {
                to.round(sum + to.round(difference.float()))
            };
            first = false;
            to.push(Number::Float(sum), &mut out);
        });
    } else {
        let mut sum = 0i128;
        from.read(bytes, |difference| {
            sum = sum.wrapping_add(difference.int());
            to.push(Number::Int(sum), &mut out);
        });
    }
    Ok(out)
}

/// Undoes `fixedscaleoffset`: stored / scale + offset, in the precision in which NumPy computes it.
pub(super) fn scaled(bytes: &[u8], from: &Numbers, to: &Numbers, scale: f64, offset: f64) -> Result<Vec<u8>> {
    let mut out = to.room(bytes.len(), from)?;
    let (s, o) = (from.round(scale), from.round(offset));
    from.read(bytes, |stored| {
        let value = from.round(from.round(stored.float() / s) + o);
        to.push(Number::Float(value), &mut out);
    });
    Ok(out)
}

/// Undoes `astype`: the numbers in another type.
pub(super) fn cast(bytes: Vec<u8>, from: &Numbers, to: &Numbers) -> Result<Vec<u8>> {
    if from == to {
        return Ok(bytes);
    }
    let mut out = to.room(bytes.len(), from)?;
    from.read(&bytes, |number| to.push(number, &mut out));
    Ok(out)
}

/// Undoes numcodecs' `packbits`: booleans from the high bits down, after a byte that says how many bits at
/// the end mean nothing.
pub(super) fn unpacked(bytes: &[u8]) -> Result<Vec<u8>> {
    let Some((&padding, packed)) = bytes.split_first() else {
        return Err(Error::malformed("packbits: there are no bytes"));
    };
    let count = (packed.len() * 8).checked_sub(usize::from(padding)).filter(|_| padding < 8);
    let count = count.ok_or_else(|| Error::malformed(format!("packbits: {padding} bits of padding")))?;
    limits::check(count as u64, limits::CHUNK, "unpacked bits")?;
    let bit = |n: usize| packed.get(n / 8).map_or(0, |byte| byte >> (7 - n % 8) & 1);
    Ok((0..count).map(bit).collect())
}

/// How version 3's `packbits` packs elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Packing {
    /// Where a byte with the count of padding bits stands: none, first or last.
    pub(super) padding: Padding,
    /// The bits of each component that are kept, from `first` to `last`.
    pub(super) first: u32,
    pub(super) last: u32,
    /// Bytes of a component (a complex number has two).
    pub(super) bytes: usize,
    /// Whether the bits above `last` repeat it.
    pub(super) signed: bool,
}

/// See [`Packing::padding`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Padding {
    None,
    First,
    Last,
}

impl Packing {
    /// `count` components, each from the low bits up, one after the other without gaps.
    pub(super) fn unpack(&self, stored: &[u8], count: u64) -> Result<Vec<u8>> {
        let packed = match self.padding {
            Padding::None => Some(stored),
            Padding::First => stored.get(1..),
            Padding::Last => stored.get(..stored.len().saturating_sub(1)),
        };
        let width = u64::from(self.last - self.first + 1);
        let needed = count.checked_mul(width).map(|bits| bits.div_ceil(8));
        let packed = packed.filter(|packed| Some(packed.len() as u64) == needed);
        let packed = packed.ok_or_else(|| {
            let there = stored.len();
            Error::malformed(format!(
                "packbits: {count} elements of {width} bits do not fit to {there} bytes"
            ))
        })?;
        let size = count.saturating_mul(self.bytes as u64);
        let mut out = Vec::with_capacity(limits::check(size, limits::CHUNK, "unpacked elements")?);
        for n in 0..count {
            let mut value = 0u64;
            for bit in 0..width {
                let at = n * width + bit;
                let byte = packed.get((at / 8) as usize).copied().unwrap_or(0);
                value |= u64::from(byte >> (at % 8) & 1) << (bit + u64::from(self.first));
            }
            if self.signed && value >> self.last & 1 == 1 && self.last < 63 {
                value |= u64::MAX << (self.last + 1);
            }
            out.extend_from_slice(value.to_le_bytes().get(..self.bytes).unwrap_or_default());
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(text: &str) -> Numbers {
        Numbers::parse(text).unwrap()
    }

    #[test]
    fn sums_wrap_and_round_as_numpy() {
        let differences = [100i8, 100, -1].map(i8::cast_unsigned);
        assert_eq!(sums(&differences, &numbers("|i1"), &numbers("|i1")).unwrap(), [100, 200, 199]);
        let wide = sums(&differences, &numbers("|i1"), &numbers(">i2")).unwrap();
        assert_eq!(wide, [0, 100, 0, 200, 0, 199]);
        let floats: Vec<u8> = [16_777_216f32, 1.0, 1.0].iter().flat_map(|x| x.to_le_bytes()).collect();
        let got = sums(&floats, &numbers("<f4"), &numbers("<f4")).unwrap();
        assert_eq!(got, [16_777_216f32; 3].iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<_>>());
    }

    #[test]
    fn scaled_and_cast() {
        let stored: Vec<u8> = [1500i32, -1].iter().flat_map(|n| n.to_le_bytes()).collect();
        let got = scaled(&stored, &numbers("<i4"), &numbers("<f4"), 1000.0, 10.0).unwrap();
        assert_eq!(got, [11.5f32, 9.999].iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<_>>());
        let got = cast(
            [2.9f32, -2.9].iter().flat_map(|x| x.to_be_bytes()).collect(),
            &numbers(">f4"),
            &numbers("<i2"),
        );
        assert_eq!(got.unwrap(), [2, 0, 254, 255]);
        assert!(Numbers::parse("|S3").is_err());
    }

    #[test]
    fn bits() {
        assert_eq!(unpacked(&[5, 0b1010_0000]).unwrap(), [1, 0, 1]);
        assert!(unpacked(&[]).is_err() && unpacked(&[9, 0]).is_err() && unpacked(&[1]).is_err());
        let packing = Packing { padding: Padding::Last, first: 0, last: 3, bytes: 1, signed: true };
        assert_eq!(packing.unpack(&[0x8f, 0x07, 4], 3).unwrap().as_slice(), [0xff, 0xf8, 7]);
        assert!(packing.unpack(&[0x8f, 0x07, 4], 9).is_err());
    }
}
