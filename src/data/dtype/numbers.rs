//! Delivered elements of the number types as Rust's numbers and back: the one list of which type is which.

use super::DType;
use crate::bytes::entry;
use arrow::datatypes::{self as types, ArrowPrimitiveType};

/// `$body` where `$T` is the Rust type of the elements of an integer type; `$other` for other types.
macro_rules! with_integer {
    ($dtype:expr, $T:ident => $body:expr, _ => $other:expr $(,)?) => {
        $crate::data::dtype::with_integer!(@ $dtype, $T, $body, $other,
            I8 => i8, I16 => i16, I32 => i32, I64 => i64, U8 => u8, U16 => u16, U32 => u32, U64 => u64)
    };
    (@ $dtype:expr, $T:ident, $body:expr, $other:expr, $($variant:ident => $rust:ty),*) => {
        match $dtype {
            $($crate::data::dtype::DType::$variant => {
                type $T = $rust;
                $body
            })*
            _ => $other,
        }
    };
}

/// The same for integers and the floats that Arrow has, which all are [`Number`]s.
macro_rules! with_number {
    ($dtype:expr, $T:ident => $body:expr, _ => $other:expr $(,)?) => {
        $crate::data::dtype::with_integer!(@ $dtype, $T, $body, $other,
            I8 => i8, I16 => i16, I32 => i32, I64 => i64, U8 => u8, U16 => u16, U32 => u32, U64 => u64,
            F16 => half::f16, F32 => f32, F64 => f64)
    };
}

pub(crate) use {with_integer, with_number};

/// A Rust number that elements are.
pub(crate) trait Number: Copy {
    /// The Arrow type of columns of such numbers.
    type Arrow: types::ArrowPrimitiveType<Native = Self>;
    /// Integers beyond 2⁵³ lose low bits.
    fn to_f64(self) -> f64;
    /// Of integers the fraction is cut off; what lies beyond the type becomes its nearest value, NaN zero.
    fn of_f64(value: f64) -> Self;
}

macro_rules! number {
    ($($rust:ty => $arrow:ident),*) => { $(impl Number for $rust {
        type Arrow = types::$arrow;
        fn to_f64(self) -> f64 {
            self as f64
        }
        fn of_f64(value: f64) -> Self {
            value as $rust
        }
    })* };
}

number!(i8 => Int8Type, i16 => Int16Type, i32 => Int32Type, i64 => Int64Type, u8 => UInt8Type, u16 => UInt16Type,
    u32 => UInt32Type, u64 => UInt64Type, f32 => Float32Type, f64 => Float64Type);

impl Number for half::f16 {
    type Arrow = types::Float16Type;
    fn to_f64(self) -> f64 {
        self.to_f64()
    }
    fn of_f64(value: f64) -> Self {
        half::f16::from_f64(value)
    }
}

impl DType {
    /// The number type that a column of an Arrow type has.
    pub fn number(of: &types::DataType) -> Option<DType> {
        use DType::{F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
        let is = |dtype: &DType| with_number!(dtype, T => <T as Number>::Arrow::DATA_TYPE == *of, _ => false);
        [I8, I16, I32, I64, U8, U16, U32, U64, F16, F32, F64].into_iter().find(is)
    }

    /// Decodes delivered elements of a real type to `f64`, appending to `out`. Integers beyond 2⁵³
    /// lose low bits here: this is for pictures and sums, not for showing values. Other types
    /// append nothing.
    pub fn decode(&self, bytes: &[u8], out: &mut Vec<f64>) {
        with_number!(self, T => {
            let elements = bytes.as_chunks::<{ size_of::<T>() }>().0.iter();
            out.extend(elements.map(|&b| Number::to_f64(T::from_le_bytes(b))));
        }, _ => match self {
            DType::Bool => out.extend(bytes.iter().map(|&b| f64::from(u8::from(b != 0)))),
            DType::BF16 => {
                out.extend(bytes.as_chunks::<2>().0.iter().map(|&b| half::bf16::from_le_bytes(b).to_f64()));
            }
            DType::Mini(kind) => {
                let table = kind.table();
                out.extend(bytes.iter().map(|&b| f64::from(*entry(table, b))));
            }
            DType::Blocks(_) => DType::F32.decode(bytes, out),
            DType::Long(kind) => {
                out.extend(bytes.chunks_exact(kind.size() as usize).map(|b| kind.to_f64(b)));
            }
            _ => {}
        });
    }

    /// Writes numbers to `out` as elements of this type: of integers the fraction is cut off, and what lies beyond the
    /// type becomes its nearest value. Whether it is a type that is written: bool, integers, floats of 16 bits and more.
    pub fn encode(&self, values: &[f64], out: &mut [u8]) -> bool {
        with_number!(self, T => {
            let elements = out.as_chunks_mut::<{ size_of::<T>() }>().0;
            elements.iter_mut().zip(values).for_each(|(to, &v)| *to = <T as Number>::of_f64(v).to_le_bytes());
        }, _ => match self {
            DType::Bool => out.iter_mut().zip(values).for_each(|(to, &v)| *to = u8::from(v != 0.0)),
            DType::BF16 => {
                let elements = out.as_chunks_mut::<2>().0.iter_mut().zip(values);
                elements.for_each(|(to, &v)| *to = half::bf16::from_f64(v).to_le_bytes());
            }
            _ => return false,
        });
        true
    }

    /// Hands over delivered elements of an integer type, none of them rounded. Whether it is one.
    pub fn integers(&self, bytes: &[u8], mut each: impl FnMut(i128)) -> bool {
        with_integer!(self, T => {
            bytes.as_chunks::<{ size_of::<T>() }>().0.iter().for_each(|&b| each(T::from_le_bytes(b).into()));
        }, _ => return false);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decoding_reads_little_endian() {
        let mut out = Vec::new();
        DType::I16.decode(&[0xff, 0xff, 2, 0], &mut out);
        assert_eq!(out, [-1.0, 2.0]);
    }

    #[test]
    fn what_is_encoded_is_decoded_again_and_what_does_not_fit_is_the_nearest() {
        for (dtype, least, most) in [
            (DType::Bool, 1.0, 1.0),
            (DType::I8, -128.0, 127.0),
            (DType::U16, 0.0, 65_535.0),
            (DType::I64, i64::MIN as f64, i64::MAX as f64),
            (DType::F16, f64::NEG_INFINITY, f64::INFINITY),
            (DType::BF16, -1e30, 1e30),
            (DType::F64, -1e30, 1e30),
        ] {
            let mut bytes = vec![0; 3 * dtype.size() as usize];
            assert!(dtype.encode(&[1.0, -1e30, 1e30], &mut bytes), "{dtype}");
            let mut back = Vec::new();
            dtype.decode(&bytes, &mut back);
            let near = |value: f64, wanted: f64| value == wanted || (value / wanted - 1.0).abs() < 0.01;
            assert!(back[0] == 1.0 && near(back[1], least) && near(back[2], most), "{dtype} {back:?}");
        }
        assert!(!DType::Str(1).encode(&[1.0], &mut [0; 4]));
    }
}
