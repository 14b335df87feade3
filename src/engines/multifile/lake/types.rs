//! Types that the schemas of both table formats have.

use arrow::datatypes::{DataType, Field, FieldRef, Fields};
use std::sync::Arc;

/// `decimal(10,2)`; `None` for what is none, or of a precision or scale that there is not.
pub fn decimal(word: &str) -> Option<DataType> {
    let (precision, scale) = word.strip_prefix("decimal(")?.strip_suffix(')')?.split_once(',')?;
    let (precision, scale): (u8, i8) = (precision.trim().parse().ok()?, scale.trim().parse().ok()?);
    let fits = (1..=38).contains(&precision) && (0..=precision as i8).contains(&scale);
    fits.then_some(DataType::Decimal128(precision, scale))
}

/// A map of a key and a value.
pub fn map(entry: Vec<impl Into<FieldRef>>) -> DataType {
    let entry = DataType::Struct(entry.into_iter().map(Into::into).collect::<Vec<FieldRef>>().into());
    DataType::Map(Arc::new(Field::new("key_value", entry, false)), false)
}

/// The bytes in which a variant is stored.
pub fn variant() -> DataType {
    let field = |name| Field::new(name, DataType::Binary, true);
    DataType::Struct(Fields::from(vec![field("metadata"), field("value")]))
}
