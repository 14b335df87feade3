//! What the status bar says of a selection: count, nulls, sum, mean, min and max of its numbers.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, AsArray};
use arrow::datatypes::{DataType, Float64Type, Int64Type, UInt64Type};
use gander::bytes::error::Result;
use gander::bytes::task::Task;
use gander::data::cell;
use gander::data::content::Table;
use gander::jobs::{Jobs, Slot};

/// A selection of more cells is only counted.
const CELLS: u64 = 20_000_000;
const STEP: u64 = 32_768;

/// What is known of a selection.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Sum {
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

/// The sums of the newest selection.
#[derive(Default)]
pub(super) struct Sums(Slot<(Range<u64>, Vec<usize>), Sum>);

impl Sums {
    /// Words for the selection, once they are there; never waits.
    pub(super) fn words(
        &self,
        jobs: &Jobs,
        table: &Arc<dyn Table>,
        rows: Range<u64>,
        columns: Vec<usize>,
    ) -> Option<String> {
        let cells = rows.end.saturating_sub(rows.start).saturating_mul(columns.len() as u64);
        let selected = super::copy::words(&rows, columns.len());
        if cells < 2 {
            return None;
        }
        if cells > CELLS {
            return Some(format!("{selected} selected"));
        }
        let (table, key) = (table.clone(), (rows, columns));
        let wanted = key.clone();
        let shown = self
            .0
            .get(jobs, &key, "sums of the selection", move |task| sum(&*table, task, wanted.0, &wanted.1));
        match (shown.value.filter(|_| shown.fresh), shown.error) {
            (Some(sum), _) => Some(format!("{selected} · {}", sum.words())),
            (None, Some(error)) if !error.is_cancelled() => Some(format!("{selected} · {}", error.message())),
            (None, _) => Some(format!("{selected} selected")),
        }
    }
}

fn sum(table: &dyn Table, task: &Task, rows: Range<u64>, columns: &[usize]) -> Result<Sum> {
    let mut total = Sum { exact: true, ..Sum::default() };
    task.set_total(rows.end - rows.start);
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
    Ok(total)
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
            let text = cell::text(array, row).unwrap_or_else(|| short(value));
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

    fn words(&self) -> String {
        let mut words = Vec::new();
        if self.nulls > 0 {
            words.push(format!("{} null", gander::bytes::display::count(self.nulls)));
        }
        if self.numbers > 0 {
            let (sum, count) = (self.whole as f64 + self.broken, i128::from(self.numbers));
            let exact = if self.exact { self.whole.to_string() } else { short(sum) };
            words.push(format!("sum {exact}"));
            let mean = match self.exact && self.whole % count == 0 {
                true => (self.whole / count).to_string(),
                false => short(sum / self.numbers as f64),
            };
            words.push(format!("mean {mean}"));
        }
        if let (Some(min), Some(max)) = (&self.min, &self.max) {
            words.push(format!("min {}", min.text()));
            words.push(format!("max {}", max.text()));
        }
        if words.is_empty() { "no numbers".to_owned() } else { words.join(" · ") }
    }
}

/// A number of at most seven digits.
pub(crate) fn short(value: f64) -> String {
    let size = value.abs();
    if value.fract() == 0.0 && size < 1e15 {
        return format!("{value:.0}");
    }
    if size != 0.0 && !(1e-4..1e9).contains(&size) {
        return format!("{value:.4e}");
    }
    let digits = (6 - size.max(1.0).log10().floor() as i32).clamp(0, 8) as usize;
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use arrow::array::{Decimal128Array, Float32Array, Float64Array, Int64Array, UInt64Array};

    use super::*;

    #[test]
    fn integers_sum_exactly_and_odd_values_are_left_out() {
        let mut sum = Sum { exact: true, ..Sum::default() };
        sum.add(&Int64Array::from(vec![Some(i64::MAX), Some(1), None])).unwrap();
        assert!(sum.words().contains("sum 9223372036854775808"), "{}", sum.words());
        sum.add(&Float64Array::from(vec![f64::NAN, 0.5])).unwrap();
        assert_eq!((sum.numbers, sum.nulls), (3, 1));
    }

    #[test]
    fn extremes_and_sums_are_exact() {
        let words = |array: &dyn Array| {
            let mut sum = Sum { exact: true, ..Sum::default() };
            sum.add(array).unwrap();
            sum.words()
        };
        let ids = Int64Array::from(vec![9_223_372_036_854_775_806, 9_007_199_254_740_993, i64::MAX]);
        let ids = words(&ids);
        assert!(ids.ends_with("min 9007199254740993 · max 9223372036854775807"), "{ids}");
        let large = words(&UInt64Array::from(vec![u64::MAX, u64::MAX]));
        let (one, two) = (u64::MAX, u128::from(u64::MAX) * 2);
        assert_eq!(large, format!("sum {two} · mean {one} · min {one} · max {one}"));
        assert!(words(&Float32Array::from(vec![0.1, 16_777_216.0])).ends_with("min 0.1 · max 16777216.0"));
        let close = vec![12_345_678_901_234_567_891i128, 12_345_678_901_234_567_890, -1];
        let close = Decimal128Array::from(close).with_precision_and_scale(38, 2).unwrap();
        assert!(words(&close).ends_with("min -0.01 · max 123456789012345678.91"));
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

    #[test]
    fn numbers_are_short() {
        assert_eq!(
            (short(16.073), short(0.1 + 0.2), short(1.27e-5)),
            ("16.073".into(), "0.3".into(), "1.2700e-5".into())
        );
        assert_eq!((short(1e6), short(123_456.789)), ("1000000".into(), "123456.8".into()));
    }
}
