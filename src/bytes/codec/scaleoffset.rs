//! HDF5's scale-offset filter (6): numbers as their distance from the smallest, in as few bits as the largest
//! distance needs; floats as integers after a multiplication by a power of ten.
//! <https://support.hdfgroup.org/documentation/hdf5/latest/_f_m_t4.html> and `H5Zscaleoffset.c`.

use super::bits::Bits;
use super::{cut_off, too_much};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::numbers::{le_or_zero, le_unsigned};

/// Where the packed bits begin: after the number of bits, the smallest value's size, and the value.
const START: usize = 21;

/// What the filter's client data says.
struct Kind {
    /// The power of ten of floats.
    decimals: i32,
    count: usize,
    float: bool,
    size: usize,
    big: bool,
    /// The fill value, which takes the largest pattern of bits.
    fill: Option<u64>,
}

impl Kind {
    fn read(client: &[u32]) -> Result<Kind> {
        let &[scale, factor, count, class, size, _, order, filled, ref fill @ ..] = client else {
            return Err(Error::malformed("scale-offset filter: its client data is too short"));
        };
        if class == 1 && scale == 1 {
            return Err(Error::unsupported("scale-offset filter: floats scaled by powers of two"));
        }
        if !matches!((class, size), (0, 1 | 2 | 4 | 8) | (1, 4 | 8)) {
            return Err(Error::malformed(format!("scale-offset filter: numbers of {size} bytes")));
        }
        let word = |n: usize| u64::from(fill.get(n).copied().unwrap_or(0));
        Ok(Kind {
            decimals: factor as i32,
            count: count as usize,
            float: class == 1,
            size: size as usize,
            big: order == 1,
            fill: (filled == 1).then(|| word(0) | word(1) << 32),
        })
    }

    /// The number of a pattern of bits.
    fn value(&self, packed: u64, width: u32, least: u64) -> u64 {
        if let Some(fill) = self.fill
            && packed == (1u64 << width).wrapping_sub(1)
        {
            return fill;
        }
        if !self.float {
            return packed.wrapping_add(least);
        }
        // Patterns are signed integers as wide as the float.
        if self.size == 4 {
            let value =
                packed as u32 as i32 as f32 / 10f32.powi(self.decimals) + f32::from_bits(least as u32);
            u64::from(value.to_bits())
        } else {
            (packed as i64 as f64 / 10f64.powi(self.decimals) + f64::from_bits(least)).to_bits()
        }
    }
}

/// Decodes a chunk by the filter's client data; the elements are in the type's own byte order.
///
/// # Errors
/// `Malformed` for damage or more than `most` bytes; `Unsupported` for the variant that HDF5 does not have
/// either.
pub fn decode(input: &[u8], client: &[u32], most: usize) -> Result<Vec<u8>> {
    let kind = Kind::read(client)?;
    let size = kind.count.checked_mul(kind.size).filter(|&size| size <= most);
    let size = size.ok_or_else(|| too_much("scale-offset data", most))?;
    let Some(head) = input.first_chunk::<START>() else { return Err(cut_off("scale-offset data")) };
    let width = le_or_zero::<u32>(head, 0);
    let body = input.get(START..).unwrap_or_default();
    let mut out = limits::buffer(size as u64, "scale-offset data")?;
    if width as usize >= kind.size * 8 {
        // All bits are needed: the numbers stand as they are.
        let from = body.get(..size).ok_or_else(|| cut_off("scale-offset data"))?;
        out.copy_from_slice(from);
    } else {
        let stored = usize::from(head[4]).min(8);
        let least = le_unsigned(head[5..].get(..stored).unwrap_or_default());
        let mut bits = Bits::new(body);
        for element in out.chunks_exact_mut(kind.size) {
            let packed = take(&mut bits, width).ok_or_else(|| cut_off("scale-offset data"))?;
            let bytes = kind.value(packed, width, least).to_le_bytes();
            element.copy_from_slice(bytes.get(..kind.size).unwrap_or_default());
        }
    }
    if kind.big {
        out.chunks_exact_mut(kind.size).for_each(<[u8]>::reverse);
    }
    Ok(out)
}

fn take(bits: &mut Bits, width: u32) -> Option<u64> {
    bits.take_wide(width).map(|value| value as u64)
}
