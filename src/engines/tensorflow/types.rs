//! The types of elements, as the files number them.
//! <https://github.com/tensorflow/tensorflow/blob/master/tensorflow/core/framework/types.proto>

use crate::data::dtype::{DType, Mini};

/// What is added to the number of a type for a reference to a variable of it.
const REFERENCE: u64 = 100;

/// The names in text files, and their numbers.
pub const NAMES: &[(&str, u64)] = &[
    ("DT_INVALID", 0),
    ("DT_FLOAT", 1),
    ("DT_DOUBLE", 2),
    ("DT_INT32", 3),
    ("DT_UINT8", 4),
    ("DT_INT16", 5),
    ("DT_INT8", 6),
    ("DT_STRING", 7),
    ("DT_COMPLEX64", 8),
    ("DT_INT64", 9),
    ("DT_BOOL", 10),
    ("DT_QINT8", 11),
    ("DT_QUINT8", 12),
    ("DT_QINT32", 13),
    ("DT_BFLOAT16", 14),
    ("DT_QINT16", 15),
    ("DT_QUINT16", 16),
    ("DT_UINT16", 17),
    ("DT_COMPLEX128", 18),
    ("DT_HALF", 19),
    ("DT_RESOURCE", 20),
    ("DT_VARIANT", 21),
    ("DT_UINT32", 22),
    ("DT_UINT64", 23),
    ("DT_FLOAT8_E5M2", 24),
    ("DT_FLOAT8_E4M3FN", 25),
    ("DT_FLOAT8_E4M3FNUZ", 26),
    ("DT_FLOAT8_E4M3B11FNUZ", 27),
    ("DT_FLOAT8_E5M2FNUZ", 28),
    ("DT_INT4", 29),
    ("DT_UINT4", 30),
    ("DT_INT2", 31),
    ("DT_UINT2", 32),
];

/// The number of a name in a text file: `DT_FLOAT`, `DT_FLOAT_REF`.
pub fn number(name: &str) -> Option<u64> {
    let (plain, more) = name.strip_suffix("_REF").map_or((name, 0), |plain| (plain, REFERENCE));
    NAMES.iter().find(|(known, _)| *known == plain).map(|(_, number)| number + more)
}

/// The type of elements as they lie in memory; `None` for texts and what has no elements of a fixed size. Integers under
/// a byte take a whole one.
pub fn dtype(code: u64) -> Option<DType> {
    Some(match code {
        1 => DType::F32,
        2 => DType::F64,
        3 | 13 => DType::I32,
        4 | 12 => DType::U8,
        5 | 15 => DType::I16,
        6 | 11 | 29 | 31 => DType::I8,
        30 | 32 => DType::U8,
        8 => DType::C64,
        9 => DType::I64,
        10 => DType::Bool,
        14 => DType::BF16,
        16 | 17 => DType::U16,
        18 => DType::C128,
        19 => DType::F16,
        22 => DType::U32,
        23 => DType::U64,
        24 => DType::Mini(Mini::F8E5M2),
        25 => DType::Mini(Mini::F8E4M3FN),
        26 => DType::Mini(Mini::F8E4M3FNUZ),
        27 => DType::Mini(Mini::F8E4M3B11FNUZ),
        28 => DType::Mini(Mini::F8E5M2FNUZ),
        _ => return None,
    })
}

/// TensorFlow's own word for a type that says more than that of its elements.
pub fn own_word(code: u64) -> Option<&'static str> {
    Some(match code {
        11 => "qint8",
        12 => "quint8",
        13 => "qint32",
        15 => "qint16",
        16 => "quint16",
        29 => "int4",
        30 => "uint4",
        31 => "int2",
        32 => "uint2",
        _ => return None,
    })
}

/// The word for a type: NumPy's, or TensorFlow's.
pub fn word(code: u64) -> String {
    match code {
        7 => "str".to_owned(),
        20 => "resource".to_owned(),
        21 => "variant".to_owned(),
        0 => "unknown".to_owned(),
        code if code > REFERENCE && code < 2 * REFERENCE => format!("ref({})", word(code - REFERENCE)),
        code => match (own_word(code), dtype(code)) {
            (Some(word), _) => word.to_owned(),
            (None, Some(dtype)) => dtype.to_string(),
            (None, None) => format!("type {code}"),
        },
    }
}
