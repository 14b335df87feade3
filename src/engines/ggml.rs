//! What GGUF and the older files of ggml have in common: the numbers of types, tensors, lists of texts.
//! <https://github.com/ggml-org/ggml/blob/master/docs/gguf.md>, <https://github.com/ggml-org/ggml/blob/master/include/ggml.h>

mod cursor;
mod texts;

pub use cursor::Cursor;
pub use texts::{Texts, Vocabulary};

use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::data::content::Array;
use crate::data::content::array::{Plain, packed_bytes};
use crate::data::dtype::{Blocks, DType};
use crate::data::quantised::BlockArray;
use std::sync::Arc;

/// What a type of ggml is here.
#[derive(Clone, Debug, PartialEq)]
pub enum Type {
    /// Elements that stand by themselves.
    Plain(DType),
    /// Elements in blocks.
    Blocks(Blocks),
}

/// Types that were taken out of ggml: those that files had for some weeks, and those that were repacked in memory.
const REMOVED: [(u32, &str); 8] = [
    (4, "Q4_2"),
    (5, "Q4_3"),
    (31, "Q4_0_4_4"),
    (32, "Q4_0_4_8"),
    (33, "Q4_0_8_8"),
    (36, "IQ4_NL_4_4"),
    (37, "IQ4_NL_4_8"),
    (38, "IQ4_NL_8_8"),
];

/// The least part of a tensor that is shown where the file is cut off, if it is larger than so many bytes.
const SHARE: u64 = 64;
const SMALL: u64 = 1 << 20;

/// The type of this number in `ggml_type`.
///
/// # Errors
/// `Unsupported` for one that ggml has no longer; `Malformed` for one that it never had.
pub fn type_of(number: u32) -> Result<Type> {
    let blocks = match number {
        0 => return Ok(Type::Plain(DType::F32)),
        1 => return Ok(Type::Plain(DType::F16)),
        24 => return Ok(Type::Plain(DType::I8)),
        25 => return Ok(Type::Plain(DType::I16)),
        26 => return Ok(Type::Plain(DType::I32)),
        27 => return Ok(Type::Plain(DType::I64)),
        28 => return Ok(Type::Plain(DType::F64)),
        30 => return Ok(Type::Plain(DType::BF16)),
        2 => Blocks::Q4_0,
        3 => Blocks::Q4_1,
        6 => Blocks::Q5_0,
        7 => Blocks::Q5_1,
        8 => Blocks::Q8_0,
        9 => Blocks::Q8_1,
        10 => Blocks::Q2_K,
        11 => Blocks::Q3_K,
        12 => Blocks::Q4_K,
        13 => Blocks::Q5_K,
        14 => Blocks::Q6_K,
        15 => Blocks::Q8_K,
        16 => Blocks::IQ2_XXS,
        17 => Blocks::IQ2_XS,
        18 => Blocks::IQ3_XXS,
        19 => Blocks::IQ1_S,
        20 => Blocks::IQ4_NL,
        21 => Blocks::IQ3_S,
        22 => Blocks::IQ2_S,
        23 => Blocks::IQ4_XS,
        29 => Blocks::IQ1_M,
        34 => Blocks::TQ1_0,
        35 => Blocks::TQ2_0,
        39 => Blocks::MXFP4,
        40 => Blocks::NVFP4,
        41 => Blocks::Q1_0,
        _ => {
            return Err(match REMOVED.iter().find(|(known, _)| *known == number) {
                Some((_, name)) => {
                    Error::unsupported(format!("tensors of the type {name}, which ggml took out again"))
                }
                None => Error::malformed(format!("tensor: its type is {number}, which is none of ggml's")),
            });
        }
    };
    Ok(Type::Blocks(blocks))
}

/// The number of a type in `ggml_type`, if it is one of ggml's.
pub fn number_of(wanted: &Type) -> Option<u32> {
    /// More than there are.
    const NUMBERS: u32 = 64;
    (0..NUMBERS).find(|number| type_of(*number).is_ok_and(|known| known == *wanted))
}

impl Type {
    /// The bytes of a tensor of this shape, the slowest side first.
    ///
    /// # Errors
    /// `Malformed` where they overflow or its rows are no whole blocks.
    pub fn bytes(&self, shape: &[u64]) -> Result<u64> {
        let elements = limits::elements(shape)?;
        match self {
            Type::Plain(dtype) => packed_bytes(elements, dtype),
            Type::Blocks(kind) => {
                let block = kind.elements() as u64;
                let (name, bytes) = (kind.name(), kind.bytes() as u64);
                if shape.last().copied().unwrap_or(1) % block != 0 {
                    let what =
                        format!("tensor: shape {shape:?} of {name}, whose rows are multiples of {block}");
                    return Err(Error::malformed(what));
                }
                (elements / block).checked_mul(bytes).ok_or_else(|| {
                    Error::malformed(format!("tensor: shape {shape:?} of {name} overflows 64 bits"))
                })
            }
        }
    }

    /// A tensor in a file, and what is wrong where not all of it is there. The checksum of its statistics is over the
    /// bytes as they are stored, also where those are big-endian: so other readers of these files have it.
    ///
    /// # Errors
    /// `Malformed` where its shape overflows or its rows are no whole blocks.
    pub fn array(
        &self,
        source: &Source,
        offset: u64,
        shape: Vec<u64>,
        big: bool,
        details: &[(&str, String)],
    ) -> Result<(Arc<dyn Array>, Option<Error>)> {
        let bytes = self.bytes(&shape)?;
        let there = source.known_len().map_or(bytes, |len| len.saturating_sub(offset));
        // Years of elements that are not there are no array; the beginning of a tensor is.
        if bytes > SMALL && bytes / SHARE > there {
            let what = format!("tensor: shape {shape:?} needs {bytes} bytes, of which {there} are there");
            return Err(Error::malformed(what).at(offset));
        }
        Ok(match self {
            Type::Plain(dtype) => {
                let plain = Plain::cut(source.clone(), offset, dtype.clone(), shape)?;
                let plain = plain.big_endian(big).checksum_as_stored();
                let plain = details.iter().fold(plain, |all, (name, value)| all.detail(name, value.as_str()));
                let missing = plain.missing();
                (Arc::new(plain), missing)
            }
            Type::Blocks(kind) => {
                let blocks = BlockArray::new(source.clone(), offset, *kind, shape, big)?;
                let blocks =
                    details.iter().fold(blocks, |all, (name, value)| all.detail(name, value.as_str()));
                let missing = blocks.missing();
                (Arc::new(blocks), missing)
            }
        })
    }
}
