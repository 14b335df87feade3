//! Statistics of a selection of a table: several columns as one set of numbers.

use crate::bytes::error::Result;
use crate::bytes::task::Task;
use crate::data::cell;
use crate::data::content::Table;
use arrow::array::{Array, AsArray};
use arrow::datatypes::{DataType, Float64Type, Int64Type, UInt64Type};
use std::cmp::Ordering;
use std::ops::Range;

/// Rows that are read at a time.
const STEP: u64 = 32_768;

/// What one pass over a few columns, taken together, tells: sums and extremes of integers are exact, and so are the
/// extremes of decimals.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SelectionStats {
    /// All cells.
    pub cells: u64,
    /// Those that are null.
    pub nulls: u64,
    /// Those that are finite numbers; the rest is about them.
    pub numbers: u64,
    /// Their sum.
    pub sum: Option<Total>,
    /// The smallest, as text in its own type.
    pub min: Option<String>,
    /// The largest.
    pub max: Option<String>,
}

/// A sum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Total {
    /// Of integers alone.
    Exact(i128),
    /// In f64, where there are others.
    Float(f64),
}

impl SelectionStats {
    /// The mean; exact where it is an integer.
    pub fn mean(&self) -> Option<Total> {
        let count = i128::from(self.numbers);
        Some(match self.sum? {
            Total::Exact(sum) if sum % count == 0 => Total::Exact(sum / count),
            Total::Exact(sum) => Total::Float(sum as f64 / count as f64),
            Total::Float(sum) => Total::Float(sum / count as f64),
        })
    }
}

/// The sum so far.
#[derive(Default)]
struct Sum {
    cells: u64,
    nulls: u64,
    numbers: u64,
    whole: i128,
    broken: f64,
    /// Whether all numbers are integers.
    exact: bool,
    min: Option<Number>,
    max: Option<Number>,
}

/// A number that is compared and shown exactly: an integer, or as the text of its cell.
#[derive(Clone, Debug, PartialEq)]
enum Number {
    Whole(i128),
    Float(f64, String),
    Decimal(f64, String),
}

impl Number {
    fn value(&self) -> f64 {
        match self {
            Number::Whole(value) => *value as f64,
            Number::Float(value, _) | Number::Decimal(value, _) => *value,
        }
    }

    fn order(&self, other: &Number) -> Ordering {
        match (self, other) {
            (Number::Whole(a), Number::Whole(b)) => a.cmp(b),
            (Number::Decimal(_, a), Number::Decimal(_, b)) => decimal_order(a, b),
            _ => self.value().total_cmp(&other.value()),
        }
    }

    fn text(&self) -> String {
        match self {
            Number::Whole(value) => value.to_string(),
            Number::Float(_, text) | Number::Decimal(_, text) => text.clone(),
        }
    }
}

/// The order of two decimals by their texts, which have no exponents and may have more digits than a float.
fn decimal_order(a: &str, b: &str) -> Ordering {
    fn parts(text: &str) -> (bool, &str, &str) {
        let digits = text.strip_prefix('-');
        let (whole, fraction) =
            digits.unwrap_or(text).split_once('.').unwrap_or((digits.unwrap_or(text), ""));
        (digits.is_some(), whole.trim_start_matches('0'), fraction.trim_end_matches('0'))
    }
    let ((a_negative, a, a_rest), (b_negative, b, b_rest)) = (parts(a), parts(b));
    let size = (a.len(), a, a_rest).cmp(&(b.len(), b, b_rest));
    match (a_negative, b_negative) {
        (false, false) => size,
        (true, true) => size.reverse(),
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
    }
}

/// Statistics of the cells in these rows and columns.
///
/// # Errors
/// As [`Table::read`].
pub fn selection(
    table: &dyn Table,
    task: &Task,
    rows: Range<u64>,
    columns: &[usize],
) -> Result<SelectionStats> {
    let mut total = Sum { exact: true, ..Sum::default() };
    task.set_total(rows.end.saturating_sub(rows.start));
    let mut at = rows.start;
    while at < rows.end {
        let end = (at + STEP).min(rows.end);
        let batch = table.read(task, at..end, columns)?;
        if batch.num_rows() == 0 {
            break;
        }
        for array in batch.columns() {
            total.add(array.as_ref())?;
        }
        task.advance(end - at)?;
        at = end;
    }
    Ok(total.finish())
}

impl Sum {
    fn add(&mut self, array: &dyn Array) -> Result<()> {
        self.cells += array.len() as u64;
        self.nulls += array.logical_null_count() as u64;
        match array.data_type() {
            DataType::Float16 | DataType::Float32 | DataType::Float64 => {
                let floats = arrow::compute::cast(array, &DataType::Float64)?;
                for (row, value) in floats.as_primitive::<Float64Type>().iter().enumerate() {
                    value.into_iter().for_each(|value| self.float(value, array, row));
                }
            }
            DataType::UInt64 => {
                let values = array.as_primitive::<UInt64Type>().iter().flatten();
                values.for_each(|value| self.integer(value.into()));
            }
            kind if kind.is_integer() => {
                let integers = arrow::compute::cast(array, &DataType::Int64)?;
                let values = integers.as_primitive::<Int64Type>().iter().flatten();
                values.for_each(|value| self.integer(value.into()));
            }
            kind if kind.is_numeric() => {
                let texts = (0..array.len()).filter_map(|row| cell::text(array, row));
                texts.for_each(|text| self.decimal(text));
            }
            _ => {}
        }
        Ok(())
    }

    fn integer(&mut self, value: i128) {
        self.whole += value;
        self.numbers += 1;
        self.extreme(&Number::Whole(value));
    }

    fn float(&mut self, value: f64, array: &dyn Array, row: usize) {
        self.exact = false;
        if !value.is_finite() {
            return;
        }
        self.broken += value;
        self.numbers += 1;
        // Few are extremes: only their texts are made.
        let beats = |old: &Option<Number>, way: Ordering| {
            old.as_ref().is_none_or(|old| value.total_cmp(&old.value()) == way)
        };
        if beats(&self.min, Ordering::Less) || beats(&self.max, Ordering::Greater) {
            let text = cell::text(array, row).unwrap_or_else(|| cell::float64(value));
            self.extreme(&Number::Float(value, text));
        }
    }

    fn decimal(&mut self, text: String) {
        self.exact = false;
        let Ok(value) = text.parse::<f64>() else { return };
        self.broken += value;
        self.numbers += 1;
        self.extreme(&Number::Decimal(value, text));
    }

    fn extreme(&mut self, number: &Number) {
        if self.min.as_ref().is_none_or(|min| number.order(min) == Ordering::Less) {
            self.min = Some(number.clone());
        }
        if self.max.as_ref().is_none_or(|max| number.order(max) == Ordering::Greater) {
            self.max = Some(number.clone());
        }
    }

    fn finish(self) -> SelectionStats {
        let text = |number: Option<Number>| number.map(|number| number.text());
        let sum = (self.numbers > 0).then_some(match self.exact {
            true => Total::Exact(self.whole),
            false => Total::Float(self.whole as f64 + self.broken),
        });
        let (cells, nulls, numbers) = (self.cells, self.nulls, self.numbers);
        SelectionStats { cells, nulls, numbers, sum, min: text(self.min), max: text(self.max) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::content::table::MemoryTable;
    use arrow::array::{
        ArrayRef, Decimal128Array, Float32Array, Float64Array, Int64Array, RecordBatch, StringArray,
        UInt64Array,
    };
    use std::sync::Arc;

    fn of(columns: &[ArrayRef]) -> SelectionStats {
        let named = columns.iter().enumerate().map(|(n, column)| (format!("c{n}"), column.clone()));
        let table = MemoryTable::new(RecordBatch::try_from_iter(named).unwrap());
        let all: Vec<usize> = (0..columns.len()).collect();
        selection(&table, &Task::new(), 0..columns[0].len() as u64, &all).unwrap()
    }

    #[test]
    fn integers_sum_exactly_and_odd_values_are_left_out() {
        let integers: ArrayRef = Arc::new(Int64Array::from(vec![Some(i64::MAX), Some(1), None]));
        let found = of(std::slice::from_ref(&integers));
        assert_eq!((found.sum, found.numbers), (Some(Total::Exact(9_223_372_036_854_775_808)), 2));
        assert_eq!(found.mean(), Some(Total::Exact(1 << 62)));
        let floats: ArrayRef = Arc::new(Float64Array::from(vec![f64::NAN, 0.5, f64::INFINITY]));
        let found = of(&[integers, floats]);
        assert_eq!((found.cells, found.numbers, found.nulls), (6, 3, 1));
        assert_eq!((found.sum, found.min.as_deref()), (Some(Total::Float((1u64 << 63) as f64)), Some("0.5")));
        let words: ArrayRef = Arc::new(StringArray::from(vec!["a"]));
        assert_eq!((of(std::slice::from_ref(&words)).sum, of(&[words]).mean()), (None, None));
    }

    #[test]
    fn extremes_and_sums_are_exact() {
        let ends = |array: ArrayRef| {
            let found = of(&[array]);
            (found.min.unwrap(), found.max.unwrap())
        };
        let text = |low: &str, high: &str| (low.to_owned(), high.to_owned());
        let ids = vec![9_223_372_036_854_775_806, 9_007_199_254_740_993, i64::MAX];
        assert_eq!(ends(Arc::new(Int64Array::from(ids))), text("9007199254740993", "9223372036854775807"));
        let large: ArrayRef = Arc::new(UInt64Array::from(vec![u64::MAX, u64::MAX]));
        let found = of(&[large]);
        assert_eq!(found.sum, Some(Total::Exact(i128::from(u64::MAX) * 2)));
        assert_eq!(found.mean(), Some(Total::Exact(u64::MAX.into())));
        assert_eq!(ends(Arc::new(Float32Array::from(vec![0.1, 16_777_216.0]))), text("0.1", "16777216.0"));
        let close = vec![12_345_678_901_234_567_891i128, 12_345_678_901_234_567_890, -1];
        let close = Decimal128Array::from(close).with_precision_and_scale(38, 2).unwrap();
        assert_eq!(ends(Arc::new(close)), text("-0.01", "123456789012345678.91"));
    }

    #[test]
    fn decimals_are_ordered_by_their_digits() {
        let sorted = ["-10.5", "-2", "-0.05", "0", "0.049", "0.05", "9.99", "10"];
        for pair in sorted.windows(2) {
            assert_eq!(decimal_order(pair[0], pair[1]), Ordering::Less, "{pair:?}");
            assert_eq!(decimal_order(pair[1], pair[0]), Ordering::Greater, "{pair:?}");
        }
        assert_eq!(decimal_order("1.50", "1.5"), Ordering::Equal);
    }
}
