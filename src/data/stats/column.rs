//! What all statistics of a column begin with: its values in their own type, how many are null, the smallest and the
//! largest.

use super::texts::Cells;
use crate::bytes::error::Result;
use crate::data::content::Table;
use crate::data::{cell, infer};
use arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray, make_comparator};
use arrow::compute::SortOptions;
use arrow::datatypes::*;
use std::cmp::Ordering;

/// Values whose extremes are taken at once.
const BLOCK: usize = 1024;

/// The counts of a column so far.
#[derive(Debug, Default)]
pub(super) struct ColumnCounts {
    /// The type that was inferred for a column of text.
    inferred: Option<DataType>,
    pub(super) rows: u64,
    pub(super) nulls: u64,
    /// Cells that do not fit the inferred type.
    pub(super) unfit: u64,
    pub(super) nan: u64,
    pub(super) inf: u64,
    low: Option<ArrayRef>,
    high: Option<ArrayRef>,
}

impl ColumnCounts {
    pub(super) fn new(inferred: Option<DataType>) -> Self {
        ColumnCounts { inferred, ..ColumnCounts::default() }
    }

    pub(super) fn is_inferred(&self) -> bool {
        self.inferred.is_some()
    }

    /// An array of the column as plain values of its type.
    ///
    /// # Errors
    /// What Arrow's kernels give.
    pub(super) fn values(&self, array: &ArrayRef) -> Result<ArrayRef> {
        values(array, self.inferred.as_ref())
    }

    /// Counts an array that stands so many times in the column; more than once if it is one row. Gives its plain values;
    /// of nothing but nulls only one.
    ///
    /// # Errors
    /// What Arrow's kernels give.
    pub(super) fn add(&mut self, array: &ArrayRef, times: u64) -> Result<ArrayRef> {
        let (array, unfit) = infer::values(array, self.inferred.as_ref());
        // A dictionary that holds null as a value is no null of the column, as Arrow counts them.
        let nulls = match array.data_type() {
            DataType::Dictionary(_, _) => array.null_count() as u64,
            _ => array.logical_null_count() as u64,
        };
        for (all, more) in [
            (&mut self.rows, array.len() as u64),
            (&mut self.unfit, unfit),
            (&mut self.nulls, nulls.saturating_sub(unfit)),
        ] {
            *all = all.saturating_add(more.saturating_mul(times));
        }
        // Of nothing but nulls one says as much as all of them.
        let array = if nulls == array.len() as u64 && nulls > 1 { array.slice(0, 1) } else { array };
        let array = decoded(&array)?;
        // The extreme cells, by the type's own order; NaN and infinities are left out.
        if !array.data_type().is_nested() && *array.data_type() != DataType::Null {
            let (low, high) = ends_of(&array);
            replace(&mut self.low, &array, low, Ordering::Less)?;
            replace(&mut self.high, &array, high, Ordering::Greater)?;
        }
        Ok(array)
    }

    /// The smallest and the largest value: arrays of one.
    pub(super) fn ends(&self) -> [Option<&ArrayRef>; 2] {
        [self.low.as_ref(), self.high.as_ref()]
    }

    /// The same as texts.
    pub(super) fn end_texts(&self) -> [Option<String>; 2] {
        self.ends().map(|end| cell::text(end?.as_ref(), 0))
    }
}

/// The type of a column's values, whatever holds them: of texts the one that was inferred.
pub(super) fn value_type(table: &dyn Table, column: usize) -> DataType {
    infer::inferred(table, column).unwrap_or_else(|| {
        match table.schema().fields().get(column).map_or(&DataType::Null, |field| field.data_type()) {
            DataType::Dictionary(_, values) => values.as_ref().clone(),
            DataType::RunEndEncoded(_, values) => values.data_type().clone(),
            other => other.clone(),
        }
    })
}

/// An array of a column, for whose texts a type may be inferred, as plain values of its type.
///
/// # Errors
/// What Arrow's kernels give.
pub(super) fn values(array: &ArrayRef, inferred: Option<&DataType>) -> Result<ArrayRef> {
    decoded(&infer::values(array, inferred).0)
}

/// Dictionaries and run ends are looked through.
fn decoded(array: &ArrayRef) -> Result<ArrayRef> {
    match array.data_type() {
        DataType::Dictionary(_, value) => Ok(arrow::compute::cast(array, value)?),
        DataType::RunEndEncoded(_, value) => Ok(arrow::compute::cast(array, value.data_type())?),
        _ => Ok(array.clone()),
    }
}

/// The rows of the smallest and the largest cell; NaN and infinities are left out.
pub(super) fn ends_of(array: &ArrayRef) -> (Option<usize>, Option<usize>) {
    let array = array.as_ref();
    match array.data_type() {
        DataType::Float16 => return ends_if(array.as_primitive::<Float16Type>(), |v| v.is_finite()),
        DataType::Float32 => return ends_if(array.as_primitive::<Float32Type>(), |v| v.is_finite()),
        DataType::Float64 => return ends_if(array.as_primitive::<Float64Type>(), |v| v.is_finite()),
        _ => {}
    }
    arrow::array::downcast_primitive_array!(
        array => ends_if(array, |_| true),
        DataType::Utf8 => Cells::of(array.as_string::<i32>()).ends(),
        DataType::LargeUtf8 => Cells::of(array.as_string::<i64>()).ends(),
        DataType::Utf8View => ends(array.as_string_view().iter()),
        DataType::Boolean => ends(array.as_boolean().iter()),
        DataType::Binary => Cells::of(array.as_binary::<i32>()).ends(),
        DataType::LargeBinary => Cells::of(array.as_binary::<i64>()).ends(),
        DataType::BinaryView => ends(array.as_binary_view().iter()),
        DataType::FixedSizeBinary(_) => ends(array.as_fixed_size_binary().iter()),
        _ => (None, None),
    )
}

/// The rows of the smallest and the largest value of those that `counts`.
fn ends_if<T: ArrowPrimitiveType>(
    array: &PrimitiveArray<T>,
    counts: impl Fn(T::Native) -> bool,
) -> (Option<usize>, Option<usize>)
where
    T::Native: PartialOrd + Copy,
{
    if array.null_count() > 0 {
        return ends(array.iter().map(|v| v.filter(|v| counts(*v))));
    }
    let (mut low, mut high): (Option<(usize, T::Native)>, Option<(usize, T::Native)>) = (None, None);
    // Block by block without a jump in it; few blocks have a new extreme, and only these ask where it is.
    for (block, values) in array.values().chunks(BLOCK).enumerate() {
        let Some(first) = values.iter().copied().find(|v| counts(*v)) else { continue };
        let (least, most) = values.iter().fold((first, first), |(least, most), &v| {
            let counts = counts(v);
            (if counts & (v < least) { v } else { least }, if counts & (v > most) { v } else { most })
        });
        let row = |value| values.iter().position(|v| *v == value).map(|at| (block * BLOCK + at, value));
        if low.is_none_or(|(_, best)| least < best) {
            low = row(least);
        }
        if high.is_none_or(|(_, best)| most > best) {
            high = row(most);
        }
    }
    (low.map(|(row, _)| row), high.map(|(row, _)| row))
}

fn ends<V: PartialOrd + Copy>(values: impl Iterator<Item = Option<V>>) -> (Option<usize>, Option<usize>) {
    let mut low: Option<(usize, V)> = None;
    let mut high = low;
    for (row, value) in values.enumerate() {
        let Some(value) = value else { continue };
        if low.is_none_or(|(_, best)| value < best) {
            low = Some((row, value));
        }
        if high.is_none_or(|(_, best)| value > best) {
            high = Some((row, value));
        }
    }
    (low.map(|(row, _)| row), high.map(|(row, _)| row))
}

/// Keeps the better of the best so far and row `index` of `array`.
fn replace(
    best: &mut Option<ArrayRef>,
    array: &ArrayRef,
    index: Option<usize>,
    better: Ordering,
) -> Result<()> {
    let Some(index) = index else { return Ok(()) };
    let candidate = array.slice(index, 1);
    let wins = match best.as_ref() {
        Some(old) => make_comparator(&candidate, old, SortOptions::default())?(0, 0) == better,
        None => true,
    };
    if wins {
        // A copy of one cell, so that the whole batch is not kept alive.
        *best = Some(arrow::compute::take(&candidate, &arrow::array::UInt32Array::from(vec![0]), None)?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Float64Array, Int64Array};
    use std::sync::Arc;

    #[test]
    fn the_first_of_equal_extremes_is_told_with_and_without_nulls() {
        let mut values: Vec<f64> = (0..5000).map(|n| f64::from(n * 7919 % 4001)).collect();
        values[1] = f64::NAN;
        values[1030] = f64::NEG_INFINITY;
        values[4999] = f64::INFINITY;
        let dense: ArrayRef = Arc::new(Float64Array::from(values.clone()));
        let holes: ArrayRef = Arc::new(
            values.iter().enumerate().map(|(i, v)| (i != 2).then_some(*v)).collect::<Float64Array>(),
        );
        let first = |wanted: f64| values.iter().position(|v| *v == wanted);
        assert_eq!(ends_of(&dense), (first(0.0), first(4000.0)));
        assert_eq!(ends_of(&holes), ends_of(&dense));
        let nothing: ArrayRef = Arc::new(Float64Array::from(vec![f64::NAN; 3]));
        assert_eq!(ends_of(&nothing), (None, None));
        let whole: ArrayRef = Arc::new(Int64Array::from_iter_values([i64::MAX, 5, i64::MIN, 5]));
        assert_eq!(ends_of(&whole), (Some(2), Some(0)));
    }
}
