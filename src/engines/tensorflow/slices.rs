//! Parts of variables: where each lies, and the keys by which tables have them.
//! <https://github.com/tensorflow/tensorflow/blob/master/tensorflow/core/framework/tensor_slice.proto>,
//! <https://github.com/tensorflow/tensorflow/blob/master/tensorflow/core/util/saved_tensor_slice_util.cc>,
//! <https://github.com/tensorflow/tensorflow/blob/master/tensorflow/core/lib/strings/ordered_code.cc>

use crate::bytes::error::{Error, Result};
use crate::engines::protobuf::{Field, Part, Value as Wire};

/// The length that stands for all of a dimension.
const WHOLE: i64 = -1;

/// A part of a variable: first index and length along each dimension, as they are stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slice(Vec<(i64, i64)>);

impl Slice {
    /// Reads a `TensorSliceProto`.
    ///
    /// # Errors
    /// `Malformed` where it is none.
    pub fn parse(part: Part) -> Result<Slice> {
        let mut extents = Vec::new();
        for field in part.fields() {
            let Field { number, value, at } = field?;
            if number != 1 {
                continue;
            }
            if extents.len() >= 254 {
                return Err(Error::malformed("a slice of very many dimensions").at(at));
            }
            let (mut start, mut len) = (0, WHOLE);
            for field in value.fields() {
                match field? {
                    Field { number: 1, value, .. } => start = value.uint().cast_signed(),
                    Field { number: 2, value: Wire::Varint(value), .. } => len = value.cast_signed(),
                    _ => {}
                }
            }
            extents.push((start, len));
        }
        Ok(Slice(extents))
    }

    /// The first index and the length along each dimension of a variable of this shape.
    ///
    /// # Errors
    /// `Malformed` where it does not lie in it.
    pub fn within(&self, shape: &[u64]) -> Result<(Vec<u64>, Vec<u64>)> {
        let wrong = || Error::malformed(format!("slice {:?} of a variable of shape {shape:?}", self.0));
        if self.0.len() != shape.len() {
            return Err(wrong());
        }
        let (mut starts, mut sides) = (Vec::new(), Vec::new());
        for ((start, len), side) in self.0.iter().zip(shape) {
            let (start, len) = match *len {
                WHOLE => (0, *side),
                len => {
                    (u64::try_from(*start).map_err(|_| wrong())?, u64::try_from(len).map_err(|_| wrong())?)
                }
            };
            if start.checked_add(len).is_none_or(|end| end > *side) {
                return Err(wrong());
            }
            starts.push(start);
            sides.push(len);
        }
        Ok((starts, sides))
    }

    /// The key of this part of a variable: bytes that sort as what they say does.
    pub fn key(&self, name: &str) -> Vec<u8> {
        let mut key = Vec::new();
        unsigned(0, &mut key);
        for byte in name.bytes() {
            match byte {
                0 => key.extend([0, 0xff]),
                0xff => key.extend([0xff, 0]),
                other => key.push(other),
            }
        }
        key.extend([0, 1]);
        unsigned(self.0.len() as u64, &mut key);
        for (start, len) in &self.0 {
            signed(*start, &mut key);
            signed(*len, &mut key);
        }
        key
    }
}

/// How many bytes follow, and the number, the highest first.
fn unsigned(value: u64, key: &mut Vec<u8>) {
    let bytes = value.to_be_bytes();
    let skipped = (value.leading_zeros() / 8) as usize;
    key.push((8 - skipped) as u8);
    key.extend(bytes.get(skipped..).unwrap_or_default());
}

/// A number whose first bits tell how many bytes it has: as many ones as bytes, upside down for those below zero.
fn signed(value: i64, key: &mut Vec<u8>) {
    let magnitude = if value < 0 { !value } else { value };
    let bits = 64 - magnitude.leading_zeros() as usize;
    // Seven bits a byte, one of them the sign.
    let len = (bits / 7 + 1).min(10);
    let fill = if value < 0 { 0xff } else { 0 };
    let mut bytes = [fill; 10];
    if let Some(low) = bytes.last_chunk_mut::<8>() {
        *low = value.to_be_bytes();
    }
    let header: u16 = if len < 10 { (0xffff << (16 - len)) as u16 } else { 0xffc0 };
    let [first, second] = header.to_be_bytes();
    if let Some(bytes) = bytes.get_mut(10 - len..) {
        if let Some(byte) = bytes.first_mut() {
            *byte ^= first;
        }
        if let Some(byte) = bytes.get_mut(1) {
            *byte ^= second;
        }
        key.extend_from_slice(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(value: i64) -> Vec<u8> {
        let mut key = Vec::new();
        signed(value, &mut key);
        key
    }

    #[test]
    fn numbers_sort_as_their_keys_do() {
        assert_eq!((of(0), of(63), of(-1), of(-64)), (vec![0x80], vec![0xbf], vec![0x7f], vec![0x40]));
        assert_eq!((of(64), of(-65)), (vec![0xc0, 0x40], vec![0x3f, 0xbf]));
        let values =
            [i64::MIN, -1 << 40, -8193, -8192, -65, -64, -1, 0, 63, 64, 8191, 8192, 1 << 40, i64::MAX];
        let keys: Vec<Vec<u8>> = values.iter().map(|value| of(*value)).collect();
        assert!(keys.is_sorted(), "{keys:x?}");
    }

    #[test]
    fn a_slice_lies_in_its_variable() {
        let slice = Slice(vec![(2, 2), (0, WHOLE)]);
        assert_eq!(slice.within(&[4, 3]).unwrap(), (vec![2, 0], vec![2, 3]));
        assert!(slice.within(&[3, 3]).is_err() && slice.within(&[4]).is_err());
        assert_eq!(slice.key("v"), b"\0v\0\x01\x01\x02\x82\x82\x80\x7f");
    }
}
