//! What is known of the values in stretches of a table's rows without reading them: files of a dataset by
//! their partition, row groups by their statistics. Whoever looks for some values reads only the stretches
//! that may have them.

use crate::bytes::error::Result;
use arrow::array::{Array, ArrayRef, UInt32Array, UInt64Array, new_null_array};
use arrow::compute::{CastOptions, SortOptions, sort_to_indices};
use arrow::datatypes::DataType;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use std::ops::Range;

/// One column's values in each of several stretches.
#[derive(Clone, Debug)]
pub struct Bounds {
    /// No value is smaller, for each stretch; null where that is not known.
    pub min: ArrayRef,
    /// No value is larger.
    pub max: ArrayRef,
    /// Null cells.
    pub nulls: UInt64Array,
}

/// Stretches of rows, in their order, and the bounds of the columns that were asked for.
#[derive(Clone, Debug)]
pub struct Stretches {
    /// The rows of each.
    pub rows: Vec<Range<u64>>,
    /// Of each column, in the order in which they were asked for.
    pub columns: Vec<Bounds>,
}

impl Bounds {
    /// Nothing is known of `stretches` stretches of a column.
    pub fn unknown(data_type: &DataType, stretches: usize) -> Bounds {
        let none = new_null_array(data_type, stretches);
        Bounds { min: none.clone(), max: none, nulls: UInt64Array::new_null(stretches) }
    }

    /// All cells are the one value of `value`, in stretches of so many rows.
    ///
    /// # Errors
    /// What Arrow's kernels give.
    pub fn constant(value: &ArrayRef, rows: &[u64]) -> Result<Bounds> {
        let all = arrow::compute::take(value, &UInt32Array::from(vec![0; rows.len()]), None)?;
        let nulls = rows.iter().map(|&rows| if value.is_null(0) { rows } else { 0 });
        Ok(Bounds { min: all.clone(), max: all, nulls: UInt64Array::from_iter_values(nulls) })
    }

    /// The stretches of several, one behind the other.
    ///
    /// # Errors
    /// What Arrow's kernels give, for columns of different types.
    pub fn joined(parts: &[Bounds], data_type: &DataType) -> Result<Bounds> {
        if parts.is_empty() {
            return Ok(Bounds::unknown(data_type, 0));
        }
        let one = |of: fn(&Bounds) -> &dyn Array| {
            arrow::compute::concat(&parts.iter().map(of).collect::<Vec<&dyn Array>>())
        };
        let nulls = one(|bounds| &bounds.nulls)?;
        Ok(Bounds {
            min: one(|bounds| bounds.min.as_ref())?,
            max: one(|bounds| bounds.max.as_ref())?,
            nulls: UInt64Array::from(nulls.to_data()),
        })
    }

    /// The same where the column is read as another type; nothing is known where the order of values may
    /// be another one then.
    pub fn read_as(self, data_type: &DataType) -> Bounds {
        use DataType as D;
        let (from, count) = (self.min.data_type().clone(), self.min.len());
        let text = |t: &D| matches!(t, D::Utf8 | D::LargeUtf8 | D::Utf8View);
        let keeps_order = match (&from, data_type) {
            (a, b) if a == b => return self,
            (a, b) if a.is_integer() && (b.is_integer() || b.is_floating()) => true,
            (D::Date32, D::Date64 | D::Timestamp(..)) | (D::Timestamp(..), D::Timestamp(..)) => true,
            (D::Decimal128(..) | D::Decimal256(..), D::Decimal128(..) | D::Decimal256(..)) => true,
            (a, b) => text(a) && text(b),
        };
        // What does not fit the type becomes null: not known.
        let options = CastOptions { safe: true, ..CastOptions::default() };
        let cast = |array: &ArrayRef| arrow::compute::cast_with_options(array, data_type, &options);
        match (cast(&self.min), cast(&self.max)) {
            (Ok(min), Ok(max)) if keeps_order => Bounds { min, max, nulls: self.nulls },
            _ => Bounds { nulls: self.nulls, ..Bounds::unknown(data_type, count) },
        }
    }

    /// The same after rows were left out of the stretches: how many nulls there are is not known then.
    pub fn of_some_rows(self) -> Bounds {
        Bounds { nulls: UInt64Array::new_null(self.nulls.len()), ..self }
    }

    /// Those of the one stretch `at`.
    pub fn at(&self, at: usize) -> Bounds {
        Bounds { min: self.min.slice(at, 1), max: self.max.slice(at, 1), nulls: self.nulls.slice(at, 1) }
    }
}

impl Stretches {
    /// One stretch of which nothing is known.
    pub fn unknown(rows: Range<u64>, types: &[&DataType]) -> Stretches {
        let columns = types.iter().map(|data_type| Bounds::unknown(data_type, 1)).collect();
        Stretches { rows: vec![rows], columns }
    }

    /// How many rows each has.
    pub fn counts(&self) -> Vec<u64> {
        self.rows.iter().map(|rows| rows.end.saturating_sub(rows.start)).collect()
    }
}

/// The smallest or the largest value of an array, as text; `None` where all are null.
pub fn extreme(array: &ArrayRef, largest: bool) -> Option<String> {
    let options = SortOptions { descending: largest, nulls_first: false };
    let order = sort_to_indices(array, Some(options), Some(1)).ok()?;
    let row = order.values().first().map(|&row| row as usize)?;
    if array.is_null(row) {
        return None;
    }
    let options = FormatOptions::default();
    Some(ArrayFormatter::try_new(array, &options).ok()?.value(row).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{AsArray, Int64Array, StringArray};
    use arrow::datatypes::{Float64Type, Int8Type};
    use std::sync::Arc;

    fn bounds() -> Bounds {
        Bounds {
            min: Arc::new(Int64Array::from(vec![Some(1), None])),
            max: Arc::new(Int64Array::from(vec![5, 900])),
            nulls: UInt64Array::from(vec![0, 2]),
        }
    }

    #[test]
    fn other_types_keep_what_still_holds() {
        let wide = bounds().read_as(&DataType::Float64);
        assert_eq!(wide.max.as_primitive::<Float64Type>().values(), &[5.0, 900.0]);
        let narrow = bounds().read_as(&DataType::Int8);
        assert_eq!(
            narrow.max.as_primitive::<Int8Type>(),
            &arrow::array::Int8Array::from(vec![Some(5), None])
        );
        let text = bounds().read_as(&DataType::Utf8);
        assert!(text.min.null_count() == 2 && text.nulls.value(1) == 2);
    }

    #[test]
    fn constants_and_joined_ones() {
        let year: ArrayRef = Arc::new(Int64Array::from(vec![2024]));
        let all = Bounds::constant(&year, &[3, 4]).unwrap();
        let joined = Bounds::joined(&[bounds(), all], &DataType::Int64).unwrap();
        assert_eq!((joined.min.len(), joined.nulls.value(3)), (4, 0));
        let none: ArrayRef = Arc::new(StringArray::from(vec![None::<&str>]));
        assert_eq!(Bounds::constant(&none, &[7]).unwrap().nulls.value(0), 7);
        assert_eq!(Bounds::joined(&[], &DataType::Utf8).unwrap().min.len(), 0);
    }
}
