//! The types of elements: as PyTorch calls them, by their storages and by name, and as what they are read.
//! <https://docs.pytorch.org/docs/stable/tensor_attributes.html#torch.dtype>

use crate::data::dtype::{DType, Mini};

/// A type of elements.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Kind {
    /// What elements are read as.
    pub(super) dtype: DType,
    /// PyTorch's word, where it says more.
    pub(super) word: Option<&'static str>,
    /// How elements that share a byte lie in it.
    pub(super) packed: Packed,
}

/// Whether several elements share a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packed {
    /// Each has bytes of its own.
    No,
    /// So many bits each, from the low ones upwards. Shapes and strides count elements, storages bytes.
    Bits(u32),
    /// Two floats of 4 bits, which PyTorch takes for one element.
    Pairs,
}

impl Kind {
    fn plain(dtype: DType) -> Kind {
        Kind { dtype, word: None, packed: Packed::No }
    }

    fn called(dtype: DType, word: &'static str) -> Kind {
        Kind { dtype, word: Some(word), packed: Packed::No }
    }

    /// Bytes of one element in a storage; those that share a byte have one.
    pub(super) fn size(&self) -> u64 {
        self.dtype.size()
    }

    /// Its name.
    pub(super) fn name(&self) -> String {
        self.word.map_or_else(|| self.dtype.to_string(), str::to_owned)
    }

    /// The bytes that `elements` elements of a storage take; those that share a byte are counted by bytes there.
    pub(super) fn bytes(&self, elements: u64) -> Option<u64> {
        elements.checked_mul(self.size())
    }
}

/// The type of `torch.NAME`, also by its other names.
pub(super) fn named(name: &str) -> Option<Kind> {
    let plain = |dtype| Some(Kind::plain(dtype));
    let mini = |kind| Some(Kind::plain(DType::Mini(kind)));
    match name {
        "bool" => plain(DType::Bool),
        "uint8" => plain(DType::U8),
        "int8" => plain(DType::I8),
        "int16" | "short" => plain(DType::I16),
        "int32" | "int" => plain(DType::I32),
        "int64" | "long" => plain(DType::I64),
        "uint16" => plain(DType::U16),
        "uint32" => plain(DType::U32),
        "uint64" => plain(DType::U64),
        "float16" | "half" => plain(DType::F16),
        "bfloat16" => plain(DType::BF16),
        "float32" | "float" => plain(DType::F32),
        "float64" | "double" => plain(DType::F64),
        "complex32" | "chalf" => plain(DType::C32),
        "complex64" | "cfloat" => plain(DType::C64),
        "complex128" | "cdouble" => plain(DType::C128),
        "float8_e4m3fn" => mini(Mini::F8E4M3FN),
        "float8_e5m2" => mini(Mini::F8E5M2),
        "float8_e4m3fnuz" => mini(Mini::F8E4M3FNUZ),
        "float8_e5m2fnuz" => mini(Mini::F8E5M2FNUZ),
        "float8_e8m0fnu" => mini(Mini::F8E8M0),
        "float4_e2m1fn_x2" => {
            let dtype = DType::Mini(Mini::F4E2M1);
            Some(Kind { dtype, word: Some("float4_e2m1fn_x2"), packed: Packed::Pairs })
        }
        _ => WORDS
            .iter()
            .find(|(word, _, _)| *word == name)
            .map(|(word, dtype, packed)| Kind { packed: *packed, ..Kind::called(dtype.clone(), word) }),
    }
}

/// Types of PyTorch's own: quantised numbers, and bits without a meaning.
const WORDS: &[(&str, DType, Packed)] = &[
    ("qint8", DType::I8, Packed::No),
    ("quint8", DType::U8, Packed::No),
    ("qint32", DType::I32, Packed::No),
    ("quint4x2", DType::U8, Packed::Bits(4)),
    ("quint2x4", DType::U8, Packed::Bits(2)),
    ("bits8", DType::U8, Packed::No),
    ("bits16", DType::U16, Packed::No),
    ("bits1x8", DType::U8, Packed::No),
    ("bits2x4", DType::U8, Packed::No),
    ("bits4x2", DType::U8, Packed::No),
    ("uint1", DType::U8, Packed::No),
    ("uint2", DType::U8, Packed::No),
    ("uint3", DType::U8, Packed::No),
    ("uint4", DType::U8, Packed::No),
    ("uint5", DType::U8, Packed::No),
    ("uint6", DType::U8, Packed::No),
    ("uint7", DType::U8, Packed::No),
    ("int1", DType::I8, Packed::No),
    ("int2", DType::I8, Packed::No),
    ("int3", DType::I8, Packed::No),
    ("int4", DType::I8, Packed::No),
    ("int5", DType::I8, Packed::No),
    ("int6", DType::I8, Packed::No),
    ("int7", DType::I8, Packed::No),
];

/// Classes of storages, what their nodes are called, and the type of their elements.
const STORAGES: &[(&str, &str, &str)] = &[
    ("FloatStorage", "torch.FloatStorage", "float32"),
    ("DoubleStorage", "torch.DoubleStorage", "float64"),
    ("HalfStorage", "torch.HalfStorage", "float16"),
    ("BFloat16Storage", "torch.BFloat16Storage", "bfloat16"),
    ("LongStorage", "torch.LongStorage", "int64"),
    ("IntStorage", "torch.IntStorage", "int32"),
    ("ShortStorage", "torch.ShortStorage", "int16"),
    ("CharStorage", "torch.CharStorage", "int8"),
    ("ByteStorage", "torch.ByteStorage", "uint8"),
    ("BoolStorage", "torch.BoolStorage", "bool"),
    ("ComplexHalfStorage", "torch.ComplexHalfStorage", "complex32"),
    ("ComplexFloatStorage", "torch.ComplexFloatStorage", "complex64"),
    ("ComplexDoubleStorage", "torch.ComplexDoubleStorage", "complex128"),
    ("QInt8Storage", "torch.QInt8Storage", "qint8"),
    ("QUInt8Storage", "torch.QUInt8Storage", "quint8"),
    ("QInt32Storage", "torch.QInt32Storage", "qint32"),
    ("QUInt4x2Storage", "torch.QUInt4x2Storage", "quint4x2"),
    ("QUInt2x4Storage", "torch.QUInt2x4Storage", "quint2x4"),
    ("UntypedStorage", "torch.UntypedStorage", "uint8"),
    ("_UntypedStorage", "torch.UntypedStorage", "uint8"),
];

/// What a storage of a class is called, and the type of its elements. One without a type counts bytes.
pub(super) fn of_storage(class: &str) -> Option<(&'static str, Kind)> {
    // Those of graphics cards have a module of their own, not a name.
    let known = STORAGES.iter().find(|(name, _, _)| *name == class)?;
    Some((known.1, named(known.2)?))
}

/// The type of a class of tensors, as the oldest files name it: `FloatTensor`.
pub(super) fn of_tensor(class: &str) -> Option<Kind> {
    let stem = class.strip_suffix("Tensor")?;
    of_storage(&format!("{stem}Storage")).map(|(_, kind)| kind)
}

/// The type of this number in the files of exported programs (`torch/_export/serde/schema.py`: `ScalarType`).
pub(super) fn numbered(number: u64) -> Option<Kind> {
    let name = match number {
        1 => "uint8",
        2 => "int8",
        3 => "int16",
        4 => "int32",
        5 => "int64",
        6 => "float16",
        7 => "float32",
        8 => "float64",
        9 => "complex32",
        10 => "complex64",
        11 => "complex128",
        12 => "bool",
        13 => "bfloat16",
        28 => "uint16",
        29 => "float8_e4m3fn",
        30 => "float8_e5m2",
        31 => "float8_e4m3fnuz",
        32 => "float8_e5m2fnuz",
        33 => "float8_e8m0fnu",
        34 => "uint32",
        35 => "uint64",
        _ => return None,
    };
    named(name)
}
