//! Statistics of values that a file or a table's metadata states, so that nothing has to be read for them: of a whole
//! column, or of each of several ranges of rows (row groups, the files of a data set). Whoever looks for some values
//! reads only the ranges that may have them.

use crate::bytes::error::Result;
use crate::data::cell;
use arrow::array::{Array, ArrayRef, UInt32Array, UInt64Array, new_null_array};
use arrow::compute::{CastOptions, SortOptions, sort_to_indices};
use arrow::datatypes::DataType;
use std::ops::Range;

/// One column's values in each of several ranges of rows; of a whole column it is one range.
#[derive(Clone, Debug)]
pub struct ColumnStatistics {
    /// The smallest value of each range, in the column's type or in that of its dictionary's values; null where it
    /// is not known.
    pub min: ArrayRef,
    /// The largest value of each range.
    pub max: ArrayRef,
    /// Whether `min` and `max` are values of the column; else they may lie beyond them, as texts that were cut.
    pub exact: bool,
    /// Null cells of each range.
    pub nulls: UInt64Array,
    /// Different values in all ranges together.
    pub distinct: Option<u64>,
}

/// Ranges of a table's rows in their order, and the statistics of the columns that were asked for.
#[derive(Clone, Debug)]
pub struct RowRanges {
    /// The rows of each range.
    pub rows: Vec<Range<u64>>,
    /// Of each column, in the order in which they were asked for.
    pub columns: Vec<ColumnStatistics>,
}

impl ColumnStatistics {
    /// Smallest and largest values, and how many are null, in each range.
    pub fn new(min: ArrayRef, max: ArrayRef, nulls: UInt64Array) -> Self {
        ColumnStatistics { min, max, exact: true, nulls, distinct: None }
    }

    /// Nothing is known of `ranges` ranges of a column.
    pub fn unknown(data_type: &DataType, ranges: usize) -> Self {
        Self::only_nulls(data_type, UInt64Array::new_null(ranges))
    }

    /// Nothing but the null cells of each range is known.
    pub fn only_nulls(data_type: &DataType, nulls: UInt64Array) -> Self {
        let none = new_null_array(data_type, nulls.len());
        Self::new(none.clone(), none, nulls)
    }

    /// All cells are the one value of `value`, in ranges of so many rows.
    ///
    /// # Errors
    /// What Arrow's kernels give.
    pub fn constant(value: &ArrayRef, rows: &[u64]) -> Result<Self> {
        let all = arrow::compute::take(value, &UInt32Array::from(vec![0; rows.len()]), None)?;
        let nulls = rows.iter().map(|&rows| if value.is_null(0) { rows } else { 0 });
        Ok(Self::new(all.clone(), all, UInt64Array::from_iter_values(nulls)))
    }

    /// The same with ends that may lie beyond the values.
    pub fn inexact(self) -> Self {
        ColumnStatistics { exact: false, ..self }
    }

    /// The smallest value of the first range, as a cell shows it.
    pub fn min_text(&self) -> Option<String> {
        cell::text(self.min.as_ref(), 0)
    }

    /// The largest value of the first range, as a cell shows it.
    pub fn max_text(&self) -> Option<String> {
        cell::text(self.max.as_ref(), 0)
    }

    /// The null cells of the first range.
    pub fn null_count(&self) -> Option<u64> {
        self.nulls.iter().next().flatten()
    }

    /// Whether anything is known of the first range.
    pub fn is_known(&self) -> bool {
        self.min_text().is_some()
            || self.max_text().is_some()
            || self.null_count().is_some()
            || self.distinct.is_some()
    }

    /// The ranges of several, one behind the other.
    ///
    /// # Errors
    /// What Arrow's kernels give, for columns of different types.
    pub fn joined(parts: &[Self], data_type: &DataType) -> Result<Self> {
        if parts.is_empty() {
            return Ok(Self::unknown(data_type, 0));
        }
        let one = |of: fn(&Self) -> &dyn Array| {
            arrow::compute::concat(&parts.iter().map(of).collect::<Vec<&dyn Array>>())
        };
        let nulls = UInt64Array::from(one(|part| &part.nulls)?.to_data());
        let exact = parts.iter().all(|part| part.exact);
        let joined = Self::new(one(|part| part.min.as_ref())?, one(|part| part.max.as_ref())?, nulls);
        Ok(ColumnStatistics { exact, ..joined })
    }

    /// All ranges as one. `rows` are the rows of each, as far as they are known.
    pub fn merged(&self, rows: &[Option<u64>]) -> Self {
        let data_type = self.min.data_type();
        let nulls = self.nulls.iter().try_fold(0u64, |sum, nulls| sum.checked_add(nulls?));
        let only_nulls = Self::only_nulls(data_type, UInt64Array::from(vec![nulls]));
        let only_nulls = ColumnStatistics { exact: self.exact, distinct: self.distinct, ..only_nulls };
        // A range without its ends makes the others' useless, unless all of its values are null.
        let covered = |(at, rows): (usize, &Option<u64>)| {
            let has = self.min.is_valid(at) && self.max.is_valid(at);
            let nulls = self.nulls.is_valid(at).then(|| self.nulls.value(at));
            has || *rows == Some(0) || (rows.is_some() && nulls == *rows)
        };
        if self.min.len() != rows.len() || !rows.iter().enumerate().all(covered) {
            return only_nulls;
        }
        match (extreme(&self.min, false), extreme(&self.max, true)) {
            (Some(min), Some(max)) => ColumnStatistics { min, max, ..only_nulls },
            _ => only_nulls,
        }
    }

    /// The same where the column is read as another type; nothing is known where the order of values may
    /// be another one then.
    pub fn read_as(self, data_type: &DataType) -> Self {
        use DataType as D;
        let from = self.min.data_type().clone();
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
            (Ok(min), Ok(max)) if keeps_order => ColumnStatistics { min, max, ..self },
            _ => Self::only_nulls(data_type, self.nulls),
        }
    }

    /// The same after rows were left out of the ranges: how many nulls there are is not known then.
    pub fn of_some_rows(self) -> Self {
        ColumnStatistics {
            exact: false,
            distinct: None,
            nulls: UInt64Array::new_null(self.nulls.len()),
            ..self
        }
    }
}

impl RowRanges {
    /// One range of which nothing is known.
    pub fn unknown(rows: Range<u64>, types: &[&DataType]) -> Self {
        let columns = types.iter().map(|data_type| ColumnStatistics::unknown(data_type, 1)).collect();
        RowRanges { rows: vec![rows], columns }
    }

    /// How many rows each has.
    pub fn counts(&self) -> Vec<u64> {
        self.rows.iter().map(|rows| rows.end.saturating_sub(rows.start)).collect()
    }
}

/// The smallest or the largest value of an array, as an array of one; `None` where all are null.
fn extreme(array: &ArrayRef, largest: bool) -> Option<ArrayRef> {
    let options = SortOptions { descending: largest, nulls_first: false };
    let order = sort_to_indices(array, Some(options), Some(1)).ok()?;
    let row = order.values().first().map(|&row| row as usize)?;
    array.is_valid(row).then(|| array.slice(row, 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{AsArray, Float64Array, Int64Array, StringArray};
    use arrow::datatypes::{Float64Type, Int8Type};
    use std::sync::Arc;

    fn bounds() -> ColumnStatistics {
        ColumnStatistics::new(
            Arc::new(Int64Array::from(vec![Some(1), None])),
            Arc::new(Int64Array::from(vec![5, 900])),
            UInt64Array::from(vec![0, 2]),
        )
    }

    #[test]
    fn all_ranges_as_one() {
        let ends = |merged: &ColumnStatistics| (merged.min_text(), merged.max_text(), merged.null_count());
        // The second range has no smallest value: nothing is known of the ends of all but where it is null throughout.
        assert_eq!(ends(&bounds().merged(&[Some(7), Some(3)])), (None, None, Some(2)));
        let both = (Some("1".into()), Some("900".into()), Some(2));
        assert_eq!(ends(&bounds().merged(&[None, Some(2)])), both);
        assert!(!bounds().inexact().merged(&[None, None]).exact);
        let floats: ArrayRef = Arc::new(Float64Array::from(vec![0.1, -2.0]));
        let found = ColumnStatistics::new(floats.clone(), floats, UInt64Array::new_null(2));
        assert_eq!(ends(&found.merged(&[None, None])), (Some("-2.0".into()), Some("0.1".into()), None));
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
        let all = ColumnStatistics::constant(&year, &[3, 4]).unwrap();
        let joined = ColumnStatistics::joined(&[bounds(), all], &DataType::Int64).unwrap();
        assert_eq!((joined.min.len(), joined.nulls.value(3)), (4, 0));
        let none: ArrayRef = Arc::new(StringArray::from(vec![None::<&str>]));
        assert_eq!(ColumnStatistics::constant(&none, &[7]).unwrap().nulls.value(0), 7);
        assert_eq!(ColumnStatistics::joined(&[], &DataType::Utf8).unwrap().min.len(), 0);
    }
}
