//! Types of ML programs: `DataType` and `ValueType`.
//! <https://github.com/apple/coremltools/blob/main/mlmodel/format/MIL.proto>

use crate::bytes::error::{Error, Result};
use crate::data::content::graph::Dimension;
use crate::data::dtype::{DType, Mini};
use crate::engines::protobuf::{Field, Part};

/// The number of truth values, of texts, of bytes.
pub(super) const BOOL: u64 = 1;
pub(super) const STRING: u64 = 2;
pub(super) const UINT8: u64 = 31;
/// How deep types may lie in types.
const DEPTH: usize = 16;
/// The most dimensions.
const DIMENSIONS: usize = 64;

/// How elements of a type lie in memory: the type that is delivered, the format's own word where NumPy has none,
/// bits.
pub(super) fn element(code: u64) -> Option<(DType, Option<&'static str>, u32)> {
    let plain = |dtype: DType| {
        let bits = dtype.bits() as u32;
        Some((dtype, None, bits))
    };
    match code {
        BOOL => plain(DType::Bool),
        10 => plain(DType::F16),
        11 => plain(DType::F32),
        12 => plain(DType::F64),
        13 => plain(DType::BF16),
        21 => plain(DType::I8),
        22 => plain(DType::I16),
        23 => plain(DType::I32),
        24 => plain(DType::I64),
        25 => Some((DType::I8, Some("int4"), 4)),
        UINT8 => plain(DType::U8),
        32 => plain(DType::U16),
        33 => plain(DType::U32),
        34 => plain(DType::U64),
        35 => Some((DType::U8, Some("uint4"), 4)),
        36 => Some((DType::U8, Some("uint2"), 2)),
        37 => Some((DType::U8, Some("uint1"), 1)),
        38 => Some((DType::U8, Some("uint6"), 6)),
        39 => Some((DType::U8, Some("uint3"), 3)),
        40 => plain(DType::Mini(Mini::F8E4M3FN)),
        41 => plain(DType::Mini(Mini::F8E5M2)),
        _ => None,
    }
}

/// The word for a type.
pub(super) fn word(code: u64) -> String {
    match (element(code), code) {
        (Some((_, Some(word), _)), _) => word.to_owned(),
        (Some((dtype, ..)), _) => dtype.to_string(),
        (None, STRING) => "str".to_owned(),
        (None, code) => format!("type {code}"),
    }
}

/// The type of a value.
#[derive(Clone, Debug, Default)]
pub(super) struct Type {
    /// The number of the elements' type; 0 of what is no tensor.
    pub(super) code: u64,
    /// Its word.
    pub(super) word: String,
    /// The shape of a tensor; `None` where not even its rank is known.
    pub(super) shape: Option<Vec<Dimension>>,
}

impl Type {
    /// The shape, where it is fixed.
    pub(super) fn fixed(&self) -> Option<Vec<u64>> {
        let side = |dimension: &Dimension| match dimension {
            Dimension::Fixed(length) => Some(*length),
            _ => None,
        };
        self.shape.as_ref()?.iter().map(side).collect()
    }
}

/// A `ValueType`.
///
/// # Errors
/// `Malformed`, `Limit`.
pub(super) fn parse(part: Part) -> Result<Type> {
    inner(part, 0)
}

fn inner(part: Part, depth: usize) -> Result<Type> {
    if depth > DEPTH {
        return Err(Error::limit(format!("types more than {DEPTH} deep")));
    }
    let mut found = Type::default();
    for field in part.fields() {
        let Field { number, value, .. } = field?;
        let words = |numbers: &[u32]| -> Result<String> {
            let mut words = Vec::new();
            for field in value.fields() {
                let field = field?;
                if numbers.contains(&field.number) {
                    words.push(inner(field.value.part(), depth + 1)?.word);
                }
            }
            Ok(words.join(", "))
        };
        match number {
            1 => found = tensor(value.part())?,
            2 => found.word = format!("list({})", words(&[1])?),
            3 => found.word = format!("tuple({})", words(&[1])?),
            4 => found.word = format!("dictionary({})", words(&[1, 2])?),
            5 => {
                for field in value.fields() {
                    let field = field?;
                    if field.number == 1 {
                        let wrapped = inner(field.value.part(), depth + 1)?;
                        found.word = format!("state({})", wrapped.word);
                        found.shape = wrapped.shape;
                    }
                }
            }
            _ => {}
        }
    }
    Ok(found)
}

fn tensor(part: Part) -> Result<Type> {
    let (mut found, mut rank, mut shape) = (Type::default(), 0, Vec::new());
    for field in part.fields() {
        let Field { number, value, at } = field?;
        match number {
            1 => found.code = value.uint(),
            2 => rank = value.uint().cast_signed(),
            3 => {
                let mut side = Dimension::Open;
                for field in value.fields() {
                    let field = field?;
                    if field.number == 1 {
                        let mut size = 0;
                        for field in field.value.fields() {
                            let field = field?;
                            if field.number == 1 {
                                size = field.value.uint();
                            }
                        }
                        side = Dimension::Fixed(size);
                    }
                }
                if shape.len() == DIMENSIONS {
                    return Err(Error::malformed("a tensor of very many dimensions").at(at));
                }
                shape.push(side);
            }
            _ => {}
        }
    }
    found.word = word(found.code);
    // Below zero the rank is not known.
    found.shape = (rank >= 0).then_some(shape);
    Ok(found)
}
