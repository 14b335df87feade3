//! Statistics of a selection of a table: several columns as one set of numbers.

use super::column::ColumnCounts;
use crate::bytes::error::Result;
use crate::bytes::task::Task;
use crate::data::cell;
use crate::data::content::{Picked, Table};
use crate::data::scan::fold_columns;
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Decimal128Type, Float64Type};
use std::cmp::Ordering;
use std::ops::Range;

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

/// A number that is compared and shown exactly: an integer, or as the text of its cell.
#[derive(Clone, Debug, PartialEq)]
enum Number {
    Whole(i128),
    Float(f64, String),
    Decimal(f64, String),
}

impl Number {
    /// The number of an array of one; `None` where it holds none.
    fn of(end: &ArrayRef) -> Option<Number> {
        let text = cell::text(end, 0)?;
        Some(match end.data_type() {
            kind if kind.is_integer() => Number::Whole(text.parse().ok()?),
            kind if kind.is_floating() => {
                let float = arrow::compute::cast(end, &DataType::Float64).ok()?;
                Number::Float(float.as_primitive_opt::<Float64Type>()?.iter().next()??, text)
            }
            kind if kind.is_numeric() => Number::Decimal(text.parse().ok()?, text),
            _ => return None,
        })
    }

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
    let picked = Picked::new(table, std::iter::once(rows.start..rows.end.max(rows.start)).collect());
    task.set_total(picked.len());
    let folds = columns.iter().map(|&column| (column, Sum::default())).collect();
    let sums = fold_columns(task, &picked, picked.len(), folds, Sum::add)?;
    let sums: Vec<Sum> = sums.into_iter().collect::<Result<_>>()?;
    let count = |of: fn(&Sum) -> u64| sums.iter().map(of).fold(0, u64::saturating_add);
    let [whole, broken] = [0, 1].map(|n| sums.iter().filter(move |sum| usize::from(sum.is_broken) == n));
    let whole = whole.fold(0i128, |all, sum| all.saturating_add(sum.whole));
    let broken = broken.map(|sum| sum.broken).reduce(|a, b| a + b);
    let total = broken.map_or(Total::Exact(whole), |broken| Total::Float(whole as f64 + broken));
    let ends = |which: usize, better: Ordering| {
        let ends = sums.iter().filter_map(|sum| Number::of(sum.counts.ends().get(which).copied()??));
        ends.reduce(|best, end| if end.order(&best) == better { end } else { best }).map(|end| end.text())
    };
    let numbers = count(|sum| sum.numbers);
    Ok(SelectionStats {
        cells: count(|sum| sum.counts.rows),
        nulls: count(|sum| sum.counts.nulls),
        numbers,
        sum: (numbers > 0).then_some(total),
        min: ends(0, Ordering::Less),
        max: ends(1, Ordering::Greater),
    })
}

/// The sum of a column so far.
#[derive(Default)]
struct Sum {
    counts: ColumnCounts,
    /// Finite numbers.
    numbers: u64,
    /// The sum of integers.
    whole: i128,
    /// The sum of others, and whether there are any.
    broken: f64,
    is_broken: bool,
}

impl Sum {
    fn add(&mut self, array: &ArrayRef, times: u64) -> Result<()> {
        let array = self.counts.add(array, times)?;
        match array.data_type() {
            kind if kind.is_floating() => {
                let floats = arrow::compute::cast(&array, &DataType::Float64)?;
                self.floats(floats.as_primitive::<Float64Type>().iter().flatten(), times);
            }
            kind if kind.is_integer() => {
                let integers = arrow::compute::cast(&array, &DataType::Decimal128(38, 0))?;
                for value in integers.as_primitive::<Decimal128Type>().iter().flatten() {
                    self.whole = self.whole.saturating_add(value.saturating_mul(times.into()));
                    self.numbers = self.numbers.saturating_add(times);
                }
            }
            kind if kind.is_numeric() => {
                let value = |row| cell::text(&array, row)?.parse::<f64>().ok();
                self.floats((0..array.len()).filter_map(value), times);
            }
            _ => {}
        }
        Ok(())
    }

    fn floats(&mut self, values: impl Iterator<Item = f64>, times: u64) {
        for value in values {
            self.is_broken = true;
            if value.is_finite() {
                self.broken += value * times as f64;
                self.numbers = self.numbers.saturating_add(times);
            }
        }
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
