//! `DType`: what one element of an array is, from bool to 4-bit floats and structured records.
//!
//! Arrays always deliver elements little-endian, one after the other, whatever the file's byte
//! order; types under a byte are delivered one element a byte, in its low bits.

mod blocks;
mod cast;
mod long;
mod numbers;
pub mod numpy;
mod order;

pub use blocks::Blocks;
pub use cast::Fit;
pub use long::Long;
pub(crate) use numbers::{Number, with_integer, with_number};
pub use order::{ByteOrder, swap_bytes};

use crate::bytes::error::Result;
use crate::bytes::limits;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// The type of an array's elements.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // the names are the field's
pub enum DType {
    Bool,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F16,
    BF16,
    F32,
    F64,
    /// A float of 8, 6 or 4 bits.
    Mini(Mini),
    /// C's `long double`.
    Long(Long),
    /// Two f16: real, imaginary.
    C32,
    /// Stored in blocks of few bits that share scales; delivered as `f32`.
    Blocks(Blocks),
    /// Two f32: real, imaginary.
    C64,
    /// Two f64: real, imaginary.
    C128,
    /// Fixed bytes, padded with zeros (NumPy `S`).
    Bytes(u32),
    /// Fixed text of so many UCS-4 characters, padded with zeros (NumPy `U`).
    Str(u32),
    /// Opaque bytes (NumPy `V`).
    Void(u32),
    /// i64 counts of a time unit since 1970; `i64::MIN` is not-a-time.
    DateTime(TimeUnit),
    /// i64 counts of a time unit; `i64::MIN` is not-a-time.
    TimeDelta(TimeUnit),
    /// Named fields at offsets in each element.
    Struct(Arc<Record>),
    /// Elements without a fixed size: text of any length, sequences, references, records of them. They
    /// have no delivered bytes; [`Array::column`](crate::data::content::Array::column) gives them.
    Variable(Arc<Variable>),
}

/// Elements without a fixed size.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Variable {
    /// The word for it: NumPy's `str` and `object`, or the format's own (`reference`).
    pub word: String,
    /// What `column` gives.
    pub arrow: arrow::datatypes::DataType,
    /// Whether the texts are paths of nodes of the same file, which a click follows.
    pub reference: bool,
}

/// The fields of a structured element.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Record {
    /// In file order.
    pub fields: Vec<Field>,
    /// Bytes of one element, gaps included.
    pub size: u64,
}

/// One field of a structured element.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// The type of its values.
    pub dtype: DType,
    /// The shape of its values; empty for one value.
    pub shape: Vec<u64>,
    /// Where it starts in the element, in bytes.
    pub offset: u64,
}

impl Field {
    /// Bytes of the field: element size times the product of its shape.
    pub fn bytes(&self) -> Result<u64> {
        limits::bytes(&self.shape, self.dtype.size())
    }
}

/// A time unit with a count: `datetime64[25s]` is (25, Second).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TimeUnit {
    /// How many of the base a step has.
    pub count: u32,
    /// The base.
    pub base: TimeBase,
}

/// NumPy's datetime units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum TimeBase {
    Generic,
    Year,
    Month,
    Week,
    Day,
    Hour,
    Minute,
    Second,
    Milli,
    Micro,
    Nano,
    Pico,
    Femto,
    Atto,
}

impl TimeBase {
    const WORDS: [(TimeBase, &'static str); 14] = [
        (TimeBase::Generic, "generic"),
        (TimeBase::Year, "Y"),
        (TimeBase::Month, "M"),
        (TimeBase::Week, "W"),
        (TimeBase::Day, "D"),
        (TimeBase::Hour, "h"),
        (TimeBase::Minute, "m"),
        (TimeBase::Second, "s"),
        (TimeBase::Milli, "ms"),
        (TimeBase::Micro, "us"),
        (TimeBase::Nano, "ns"),
        (TimeBase::Pico, "ps"),
        (TimeBase::Femto, "fs"),
        (TimeBase::Atto, "as"),
    ];

    /// NumPy's letter for the unit.
    pub fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(base, _)| *base == self).map_or("generic", |(_, word)| word)
    }

    /// The unit of a NumPy letter. Micro may be spelled with its sign, as old files have it.
    pub fn parse(word: &str) -> Option<Self> {
        let word = if matches!(word, "μs" | "µs") { "us" } else { word };
        Self::WORDS.iter().find(|(_, w)| *w == word).map(|(base, _)| *base)
    }
}

/// Floats of 8, 6 and 4 bits. Names as in the OCP and ONNX specifications: `FN` finite with one
/// NaN pattern a sign, `FNUZ` finite with one NaN and no negative zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Mini {
    F8E4M3FN,
    F8E5M2,
    F8E4M3FNUZ,
    F8E5M2FNUZ,
    F8E4M3B11FNUZ,
    F8E4M3,
    F8E3M4,
    F8E8M0,
    F6E2M3,
    F6E3M2,
    F4E2M1,
}

/// How a small float spells what is not a number.
#[derive(Clone, Copy, PartialEq)]
enum Special {
    /// The top exponent is infinity and NaN, as in IEEE 754.
    Ieee,
    /// All ones is NaN, no infinity.
    Finite,
    /// Only the negative zero's pattern is NaN.
    Unsigned,
    /// Every pattern is a number.
    None,
}

impl Mini {
    /// Every kind, for loops over them.
    pub const ALL: [Mini; 11] = [
        Mini::F8E4M3FN,
        Mini::F8E5M2,
        Mini::F8E4M3FNUZ,
        Mini::F8E5M2FNUZ,
        Mini::F8E4M3B11FNUZ,
        Mini::F8E4M3,
        Mini::F8E3M4,
        Mini::F8E8M0,
        Mini::F6E2M3,
        Mini::F6E3M2,
        Mini::F4E2M1,
    ];

    /// (exponent bits, mantissa bits, bias, specials), signs apart; E8M0 is apart altogether.
    fn layout(self) -> (u32, u32, i32, Special) {
        match self {
            Mini::F8E4M3FN => (4, 3, 7, Special::Finite),
            Mini::F8E5M2 => (5, 2, 15, Special::Ieee),
            Mini::F8E4M3FNUZ => (4, 3, 8, Special::Unsigned),
            Mini::F8E5M2FNUZ => (5, 2, 16, Special::Unsigned),
            Mini::F8E4M3B11FNUZ => (4, 3, 11, Special::Unsigned),
            Mini::F8E4M3 => (4, 3, 7, Special::Ieee),
            Mini::F8E3M4 => (3, 4, 3, Special::Ieee),
            Mini::F8E8M0 => (8, 0, 127, Special::None),
            Mini::F6E2M3 => (2, 3, 1, Special::None),
            Mini::F6E3M2 => (3, 2, 3, Special::None),
            Mini::F4E2M1 => (2, 1, 1, Special::None),
        }
    }

    /// How many bits the sign, the exponent and the mantissa have.
    pub fn fields(self) -> (u32, u32, u32) {
        let (exponent, mantissa, ..) = self.layout();
        (self.bits() - exponent - mantissa, exponent, mantissa)
    }

    /// Stored bits of one element: 8, 6 or 4.
    pub fn bits(self) -> u32 {
        match self {
            Mini::F6E2M3 | Mini::F6E3M2 => 6,
            Mini::F4E2M1 => 4,
            _ => 8,
        }
    }

    /// The name as ml_dtypes spells it.
    pub fn name(self) -> &'static str {
        match self {
            Mini::F8E4M3FN => "float8_e4m3fn",
            Mini::F8E5M2 => "float8_e5m2",
            Mini::F8E4M3FNUZ => "float8_e4m3fnuz",
            Mini::F8E5M2FNUZ => "float8_e5m2fnuz",
            Mini::F8E4M3B11FNUZ => "float8_e4m3b11fnuz",
            Mini::F8E4M3 => "float8_e4m3",
            Mini::F8E3M4 => "float8_e3m4",
            Mini::F8E8M0 => "float8_e8m0fnu",
            Mini::F6E2M3 => "float6_e2m3fn",
            Mini::F6E3M2 => "float6_e3m2fn",
            Mini::F4E2M1 => "float4_e2m1fn",
        }
    }

    /// The values of all bit patterns (16, 64 or 256 of them, the rest repeats by masking).
    #[allow(clippy::indexing_slicing, reason = "there is a table for each of all")]
    pub fn table(self) -> &'static [f32; 256] {
        static TABLES: OnceLock<Vec<[f32; 256]>> = OnceLock::new();
        let tables = TABLES.get_or_init(|| {
            Mini::ALL.iter().map(|kind| std::array::from_fn(|bits| kind.decode(bits as u32))).collect()
        });
        &tables[Mini::ALL.iter().position(|kind| *kind == self).unwrap_or(0)]
    }

    /// The value of one bit pattern, by the layout's arithmetic.
    fn decode(self, pattern: u32) -> f32 {
        if self == Mini::F8E8M0 {
            return if pattern == 255 { f32::NAN } else { 2f32.powi(pattern as i32 - 127) };
        }
        let (exponent_bits, mantissa_bits, bias, special) = self.layout();
        let pattern = pattern & ((1 << self.bits()) - 1);
        let negative = pattern >> (exponent_bits + mantissa_bits) & 1 == 1;
        let exponent = pattern >> mantissa_bits & ((1 << exponent_bits) - 1);
        let mantissa = pattern & ((1 << mantissa_bits) - 1);
        let top = exponent == (1 << exponent_bits) - 1;
        let all_ones = top && mantissa == (1 << mantissa_bits) - 1;
        let magnitude = match special {
            Special::Ieee if top && mantissa == 0 => f32::INFINITY,
            Special::Ieee if top => f32::NAN,
            Special::Finite if all_ones => f32::NAN,
            Special::Unsigned if negative && exponent == 0 && mantissa == 0 => f32::NAN,
            _ => {
                let fraction = mantissa as f32 / (1 << mantissa_bits) as f32;
                if exponent == 0 {
                    fraction * 2f32.powi(1 - bias)
                } else {
                    (1.0 + fraction) * 2f32.powi(exponent as i32 - bias)
                }
            }
        };
        if negative { -magnitude } else { magnitude }
    }
}

impl DType {
    /// The type of numbers that NumPy and ml_dtypes call by this name.
    pub fn of_name(name: &str) -> Option<DType> {
        Some(match name {
            "bool" => DType::Bool,
            "int8" => DType::I8,
            "int16" => DType::I16,
            "int32" => DType::I32,
            "int64" => DType::I64,
            "uint8" => DType::U8,
            "uint16" => DType::U16,
            "uint32" => DType::U32,
            "uint64" => DType::U64,
            "float16" => DType::F16,
            "bfloat16" => DType::BF16,
            "float32" => DType::F32,
            "float64" => DType::F64,
            "complex64" => DType::C64,
            "complex128" => DType::C128,
            _ => DType::Mini(*Mini::ALL.iter().find(|mini| mini.name() == name)?),
        })
    }

    /// Bytes of one delivered element (one byte for types under a byte).
    pub fn size(&self) -> u64 {
        match self {
            DType::Bool | DType::I8 | DType::U8 | DType::Mini(_) => 1,
            DType::I16 | DType::U16 | DType::F16 | DType::BF16 => 2,
            DType::I32 | DType::U32 | DType::F32 | DType::C32 | DType::Blocks(_) => 4,
            DType::I64 | DType::U64 | DType::F64 | DType::C64 => 8,
            DType::DateTime(_) | DType::TimeDelta(_) => 8,
            DType::C128 => 16,
            DType::Bytes(n) | DType::Void(n) => u64::from(*n),
            DType::Str(n) => u64::from(*n) * 4,
            DType::Long(kind) => u64::from(kind.size()),
            DType::Struct(record) => record.size,
            DType::Variable(_) => 0,
        }
    }

    /// Stored bits of one element; of those in blocks the delivered ones.
    pub fn bits(&self) -> u64 {
        match self {
            DType::Mini(kind) => u64::from(kind.bits()),
            other => other.size() * 8,
        }
    }

    /// Bytes of the unit whose order a file's byte order turns: 8 for a complex of two f64.
    pub fn swap_unit(&self) -> usize {
        match self {
            DType::C32 => 2,
            DType::C64 => 4,
            DType::C128 => 8,
            DType::Str(_) => 4,
            DType::Bytes(_) | DType::Void(_) | DType::Struct(_) => 1,
            other => other.size() as usize,
        }
    }

    /// Whether elements are real numbers (bool counts): what heat maps and statistics take.
    pub fn is_real(&self) -> bool {
        matches!(
            self,
            DType::Bool
                | DType::I8
                | DType::I16
                | DType::I32
                | DType::I64
                | DType::U8
                | DType::U16
                | DType::U32
                | DType::U64
                | DType::F16
                | DType::BF16
                | DType::F32
                | DType::F64
                | DType::Mini(_)
                | DType::Long(_)
                | DType::Blocks(_)
        )
    }

    /// Whether NaN and infinities can occur.
    pub fn is_float(&self) -> bool {
        matches!(
            self,
            DType::F16
                | DType::BF16
                | DType::F32
                | DType::F64
                | DType::Mini(_)
                | DType::Long(_)
                | DType::C32
                | DType::Blocks(_)
                | DType::C64
                | DType::C128
        )
    }

    /// Text of any length.
    pub fn text() -> Self {
        let arrow = arrow::datatypes::DataType::Utf8;
        DType::Variable(Arc::new(Variable { word: "str".to_owned(), arrow, reference: false }))
    }

    /// Whether elements have no fixed size: `read` gives no bytes of them, `column` gives them.
    pub fn is_variable(&self) -> bool {
        matches!(self, DType::Variable(_))
    }

    /// Whether elements are complex numbers.
    pub fn is_complex(&self) -> bool {
        matches!(self, DType::C32 | DType::C64 | DType::C128)
    }

    /// The record of a structured type.
    pub fn record(&self) -> Option<&Record> {
        match self {
            DType::Struct(record) => Some(record),
            _ => None,
        }
    }
}

impl fmt::Display for DType {
    /// In NumPy's words where NumPy has one (`CLI.md`).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = |f: &mut fmt::Formatter<'_>, word: &str, unit: &TimeUnit| match (unit.count, unit.base) {
            (_, TimeBase::Generic) => write!(f, "{word}"),
            (1, base) => write!(f, "{word}[{}]", base.word()),
            (count, base) => write!(f, "{word}[{count}{}]", base.word()),
        };
        match self {
            DType::Bool => f.write_str("bool"),
            DType::I8 => f.write_str("int8"),
            DType::I16 => f.write_str("int16"),
            DType::I32 => f.write_str("int32"),
            DType::I64 => f.write_str("int64"),
            DType::U8 => f.write_str("uint8"),
            DType::U16 => f.write_str("uint16"),
            DType::U32 => f.write_str("uint32"),
            DType::U64 => f.write_str("uint64"),
            DType::F16 => f.write_str("float16"),
            DType::BF16 => f.write_str("bfloat16"),
            DType::F32 => f.write_str("float32"),
            DType::F64 => f.write_str("float64"),
            DType::Mini(kind) => f.write_str(kind.name()),
            DType::Long(kind) => f.write_str(&kind.name()),
            DType::C32 => f.write_str("complex32"),
            DType::Blocks(kind) => f.write_str(kind.name()),
            DType::C64 => f.write_str("complex64"),
            DType::C128 => f.write_str("complex128"),
            DType::Bytes(n) => write!(f, "bytes[{n}]"),
            DType::Str(_) => f.write_str("str"),
            DType::Void(n) => write!(f, "void[{n}]"),
            DType::DateTime(unit) => time(f, "datetime64", unit),
            DType::TimeDelta(unit) => time(f, "timedelta64", unit),
            DType::Struct(record) => {
                let names: Vec<String> =
                    record.fields.iter().map(|x| format!("{}: {}", x.name, x.dtype)).collect();
                write!(f, "struct<{}>", names.join(", "))
            }
            DType::Variable(kind) => f.write_str(&kind.word),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_floats_at_their_corners() {
        let value = |kind: Mini, bits: usize| kind.table()[bits];
        assert_eq!(value(Mini::F8E4M3FN, 0x7e), 448.0);
        assert!(value(Mini::F8E4M3FN, 0x7f).is_nan() && value(Mini::F8E4M3FN, 0xff).is_nan());
        assert_eq!(value(Mini::F8E4M3FN, 0x01), 2f32.powi(-9));
        assert_eq!(value(Mini::F8E5M2, 0x7b), 57344.0);
        assert_eq!(value(Mini::F8E5M2, 0xfc), f32::NEG_INFINITY);
        assert_eq!(value(Mini::F8E4M3FNUZ, 0x7f), 240.0);
        assert!(value(Mini::F8E5M2FNUZ, 0x80).is_nan());
        assert_eq!(value(Mini::F8E8M0, 127), 1.0);
        assert_eq!(value(Mini::F6E2M3, 0x1f), 7.5);
        assert_eq!(value(Mini::F6E3M2, 0x1f), 28.0);
        assert_eq!(value(Mini::F4E2M1, 0x7), 6.0);
        assert_eq!(value(Mini::F4E2M1, 0x9), -0.5);
    }
}
