//! The types of tensors, and as what they are read and written.

use crate::data::dtype::{DType, Mini};
use safetensors::Dtype;
use serde::Deserialize;
use serde::de::value::{Error, StrDeserializer};

/// The types of the reference implementation with ours.
static TYPES: [(Dtype, DType); 22] = [
    (Dtype::BOOL, DType::Bool),
    (Dtype::U8, DType::U8),
    (Dtype::I8, DType::I8),
    (Dtype::U16, DType::U16),
    (Dtype::I16, DType::I16),
    (Dtype::U32, DType::U32),
    (Dtype::I32, DType::I32),
    (Dtype::U64, DType::U64),
    (Dtype::I64, DType::I64),
    (Dtype::F16, DType::F16),
    (Dtype::BF16, DType::BF16),
    (Dtype::F32, DType::F32),
    (Dtype::F64, DType::F64),
    (Dtype::C64, DType::C64),
    (Dtype::F8_E4M3, DType::Mini(Mini::F8E4M3FN)),
    (Dtype::F8_E5M2, DType::Mini(Mini::F8E5M2)),
    (Dtype::F8_E4M3FNUZ, DType::Mini(Mini::F8E4M3FNUZ)),
    (Dtype::F8_E5M2FNUZ, DType::Mini(Mini::F8E5M2FNUZ)),
    (Dtype::F8_E8M0, DType::Mini(Mini::F8E8M0)),
    (Dtype::F6_E2M3, DType::Mini(Mini::F6E2M3)),
    (Dtype::F6_E3M2, DType::Mini(Mini::F6E3M2)),
    (Dtype::F4, DType::Mini(Mini::F4E2M1)),
];

/// The type of this name in a header. `C128` is written by others than the reference implementation.
pub(super) fn named(name: &str) -> Option<DType> {
    if name == "C128" {
        return Some(DType::C128);
    }
    let known = Dtype::deserialize(StrDeserializer::<Error>::new(name)).ok()?;
    TYPES.iter().find(|(theirs, _)| *theirs == known).map(|(_, ours)| ours.clone())
}

/// The reference implementation's type for ours, if it has one.
pub(super) fn theirs(dtype: &DType) -> Option<Dtype> {
    TYPES.iter().find(|(_, ours)| ours == dtype).map(|(theirs, _)| *theirs)
}
