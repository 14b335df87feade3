//! What the status bar says of a selection: count, nulls, sum, mean, min and max of its numbers.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, AsArray};
use arrow::datatypes::{DataType, Float64Type, Int64Type};
use gander::cell;
use gander::content::Table;
use gander::error::Result;
use gander::jobs::{Jobs, Slot};
use gander::task::Task;

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
    min: Option<f64>,
    max: Option<f64>,
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
    task.expect(rows.end - rows.start);
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
            DataType::UInt64 | DataType::Float16 | DataType::Float32 | DataType::Float64 => {
                let floats = arrow::compute::cast(array, &DataType::Float64)?;
                floats.as_primitive::<Float64Type>().iter().flatten().for_each(|value| self.float(value));
            }
            kind if kind.is_integer() => {
                let integers = arrow::compute::cast(array, &DataType::Int64)?;
                for value in integers.as_primitive::<Int64Type>().iter().flatten() {
                    self.whole += i128::from(value);
                    self.number(value as f64);
                }
            }
            kind if kind.is_numeric() => {
                // Decimals: their text is exact, and sums of a selection are few.
                let texts = (0..array.len()).filter_map(|row| cell::text(array, row));
                texts.filter_map(|text| text.parse().ok()).for_each(|value| self.float(value));
            }
            _ => {}
        }
        Ok(())
    }

    fn float(&mut self, value: f64) {
        self.exact = false;
        if value.is_finite() {
            self.broken += value;
            self.number(value);
        }
    }

    fn number(&mut self, value: f64) {
        self.numbers += 1;
        self.min = Some(self.min.map_or(value, |min| min.min(value)));
        self.max = Some(self.max.map_or(value, |max| max.max(value)));
    }

    fn words(&self) -> String {
        let mut words = Vec::new();
        if self.nulls > 0 {
            words.push(format!("{} null", gander::display::count(self.nulls)));
        }
        if self.numbers > 0 {
            let sum = self.whole as f64 + self.broken;
            let exact = if self.exact { self.whole.to_string() } else { short(sum) };
            words.push(format!("sum {exact}"));
            words.push(format!("mean {}", short(sum / self.numbers as f64)));
        }
        if let (Some(min), Some(max)) = (self.min, self.max) {
            words.push(format!("min {}", short(min)));
            words.push(format!("max {}", short(max)));
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
    use arrow::array::{Float64Array, Int64Array};

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
    fn numbers_are_short() {
        assert_eq!(
            (short(16.073), short(0.1 + 0.2), short(1.27e-5)),
            ("16.073".into(), "0.3".into(), "1.2700e-5".into())
        );
        assert_eq!((short(1e6), short(123_456.789)), ("1000000".into(), "123456.8".into()));
    }
}
