//! Values of a part in the type that their column has in the common schema: none is rounded on the way.

use crate::bytes::display::arrow_type;
use crate::bytes::error::{Error, Result};
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::kernels::cmp::distinct;
use arrow::compute::{CastOptions, cast, cast_with_options};
use arrow::datatypes::{DataType, Field, Int64Type, UInt64Type};

/// An array of a part as the column `field` of the common schema.
///
/// # Errors
/// Where a value does not fit the type; `Unsupported` for an integer that a float does not hold exactly.
pub(super) fn fitted(array: &ArrayRef, field: &Field) -> Result<ArrayRef> {
    let to = field.data_type();
    if array.data_type() == to {
        return Ok(array.clone());
    }
    let array = match array.data_type() {
        DataType::Dictionary(_, values) if values.is_integer() && to.is_floating() => cast(array, values)?,
        _ => array.clone(),
    };
    let options = CastOptions { safe: false, ..CastOptions::default() };
    let fitted = cast_with_options(&array, to, &options)?;
    if array.data_type().is_integer() && to.is_floating() {
        check(&array, &fitted, field.name())?;
    }
    Ok(fitted)
}

/// That the floats are just these integers: a cast rounds without a word.
fn check(integers: &ArrayRef, floats: &ArrayRef, name: &str) -> Result<()> {
    // Most numbers are small enough for any rounding, which is quick to see.
    let digits: u32 = match floats.data_type() {
        DataType::Float16 => 11,
        DataType::Float32 => 24,
        _ => 53,
    };
    if bits(integers) >> digits == 0 {
        return Ok(());
    }
    // What is too large for the integers after it was rounded up becomes null, and so differs too.
    let options = CastOptions { safe: true, ..CastOptions::default() };
    let back = cast_with_options(floats, integers.data_type(), &options)?;
    let lost = distinct(integers, &back)?;
    let Some(row) = lost.values().set_indices().next() else { return Ok(()) };
    let number = crate::data::cell::text(integers.as_ref(), row).unwrap_or_default();
    let float = arrow_type(floats.data_type());
    Err(Error::unsupported(format!("column {name:?}: {number} is more than a {float} can hold exactly")))
}

/// All bits that the magnitudes of the numbers have, or may have by their type.
fn bits(integers: &ArrayRef) -> u64 {
    match integers.data_type() {
        DataType::Int64 => {
            let numbers = integers.as_primitive::<Int64Type>().values();
            numbers.iter().fold(0u64, |all, number| all | number.unsigned_abs())
        }
        DataType::UInt64 => {
            let numbers = integers.as_primitive::<UInt64Type>().values();
            numbers.iter().fold(0u64, |all, number| all | number)
        }
        other => match other.primitive_width() {
            Some(1) => 0xff,
            Some(2) => 0xffff,
            _ => 0xffff_ffff,
        },
    }
}
