//! The HDF5 types of delivered elements.

use super::library::{Layout, Type};
use crate::bytes::error::Result;
use crate::data::dtype::{DType, Long, Mini};

/// Whether elements have an HDF5 type that keeps every bit and its meaning.
pub(super) fn is_there(dtype: &DType) -> bool {
    match dtype {
        DType::Mini(kind) => small(*kind).is_some(),
        DType::C32 | DType::Bytes(0) | DType::Void(0) | DType::Str(_) | DType::Variable(_) => false,
        DType::Struct(record) => {
            !record.fields.is_empty()
                && record.fields.iter().all(|f| is_there(&f.dtype) && !f.shape.contains(&0))
        }
        _ => true,
    }
}

/// The type of delivered elements; `None` where HDF5 has none.
///
/// # Errors
/// As libhdf5.
pub(super) fn of(dtype: &DType) -> Result<Option<Type>> {
    if !is_there(dtype) {
        return Ok(None);
    }
    let ieee = |size: usize, exponent_bits: usize| {
        let precision = size * 8;
        let mantissa_bits = precision - 1 - exponent_bits;
        Type::float(size, &Layout { precision, exponent_bits, mantissa_bits, explicit: false })
    };
    Ok(Some(match dtype {
        DType::Bool => Type::bool()?,
        DType::I8 => Type::integer(1, true)?,
        DType::I16 => Type::integer(2, true)?,
        DType::I32 => Type::integer(4, true)?,
        DType::I64 => Type::integer(8, true)?,
        DType::U8 => Type::integer(1, false)?,
        DType::U16 => Type::integer(2, false)?,
        DType::U32 => Type::integer(4, false)?,
        DType::U64 => Type::integer(8, false)?,
        DType::F16 => ieee(2, 5)?,
        DType::BF16 => ieee(2, 8)?,
        DType::F32 | DType::Blocks(_) => ieee(4, 8)?,
        DType::F64 => ieee(8, 11)?,
        DType::Mini(kind) => match small(*kind) {
            Some(layout) => Type::float(1, &layout)?,
            None => return Ok(None),
        },
        DType::Long(Long::Quad) => ieee(16, 15)?,
        DType::Long(Long::X87(size)) => {
            let layout = Layout { precision: 80, exponent_bits: 15, mantissa_bits: 64, explicit: true };
            Type::float(*size as usize, &layout)?
        }
        DType::C64 => complex(4, ieee(4, 8)?, ieee(4, 8)?)?,
        DType::C128 => complex(8, ieee(8, 11)?, ieee(8, 11)?)?,
        DType::Bytes(size) => Type::text(*size as usize, false)?,
        DType::Void(size) => Type::opaque(*size as usize, "")?,
        // As h5py keeps NumPy's times.
        DType::DateTime(_) | DType::TimeDelta(_) => Type::opaque(8, &format!("NUMPY:{}", numpy_time(dtype)))?,
        DType::Struct(record) => {
            let mut members = Vec::with_capacity(record.fields.len());
            for field in &record.fields {
                let Some(element) = of(&field.dtype)? else { return Ok(None) };
                let member = if field.shape.is_empty() { element } else { element.array(&field.shape)? };
                members.push((field.name.clone(), field.offset as usize, member));
            }
            Type::record(record.size as usize, &members)?
        }
        DType::C32 | DType::Str(_) | DType::Variable(_) => return Ok(None),
    }))
}

fn complex(size: usize, real: Type, imaginary: Type) -> Result<Type> {
    Type::record(2 * size, &[("r".to_owned(), 0, real), ("i".to_owned(), size, imaginary)])
}

/// `datetime64[s]` as NumPy's type string: `<M8[s]`.
fn numpy_time(dtype: &DType) -> String {
    let text = dtype.to_string();
    text.replace("datetime64", "<M8").replace("timedelta64", "<m8")
}

/// The layout of small floats whose special values HDF5's readers know.
fn small(kind: Mini) -> Option<Layout> {
    let layout = |precision, exponent_bits, mantissa_bits| Layout {
        precision,
        exponent_bits,
        mantissa_bits,
        explicit: false,
    };
    match kind {
        Mini::F8E4M3FN => Some(layout(8, 4, 3)),
        Mini::F8E5M2 => Some(layout(8, 5, 2)),
        Mini::F6E2M3 => Some(layout(6, 2, 3)),
        Mini::F6E3M2 => Some(layout(6, 3, 2)),
        Mini::F4E2M1 => Some(layout(4, 2, 1)),
        _ => None,
    }
}
