//! Histograms: counts of numbers in bins of equal width. Integers are binned as integers, so that no limit and no
//! count suffers from rounding, however large they are.

use super::column::{value_type, values};
use super::table::{ColumnStats, GROUP, TableStats};
use crate::bytes::error::Result;
use crate::bytes::task::Task;
use crate::data::cell;
use crate::data::content::Table;
use crate::data::infer;
use crate::data::scan::fold_columns;
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Decimal128Type, Float64Type};

/// Counts of values in bins of equal width.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Histogram {
    /// The bins' limits, one more than bins.
    pub edges: Vec<f64>,
    /// How many values lie in each bin; the last includes its upper edge.
    pub counts: Vec<u64>,
    /// Where the values are integers, the limits exactly: a bin has the integers from its limit up to, without, that
    /// of the next one.
    pub whole: Option<Vec<i128>>,
}

impl Histogram {
    /// Empty bins from `low` to `high`.
    fn new(low: f64, high: f64, bins: usize) -> Self {
        let bins = bins.max(1);
        let edge = |i: usize| if i == bins { high } else { low + (high - low) * (i as f64 / bins as f64) };
        Histogram { edges: (0..=bins).map(edge).collect(), counts: vec![0; bins], whole: None }
    }

    /// Of integers, in at most `bins` bins of the same number of integers each, but for the last one.
    pub fn of_integers(values: &[i128], bins: usize) -> Option<Self> {
        let (low, high) = (*values.iter().min()?, *values.iter().max()?);
        let mut counter = Counter::of_integers(low, high, Binning::AtMost(bins));
        values.iter().for_each(|&value| counter.add_integer(value, 1));
        Some(counter.finish())
    }

    /// Of finite numbers, in `bins` bins of the same width.
    pub fn of_numbers(values: &[f64], bins: usize) -> Option<Self> {
        let low = values.iter().copied().reduce(f64::min)?;
        let high = values.iter().copied().reduce(f64::max)?;
        let mut counter = Counter::of_numbers(low, high, Binning::AtMost(bins));
        counter.add(values, 1);
        Some(counter.finish())
    }

    /// Where bin `bin` begins and ends, as texts: of integers the first and the last one that lie in it, else its
    /// limits as `number` writes them.
    pub fn limits(&self, bin: usize, number: impl Fn(f64) -> String) -> Option<(String, String)> {
        if let Some(whole) = &self.whole {
            return Some((whole.get(bin)?.to_string(), (whole.get(bin + 1)? - 1).to_string()));
        }
        Some((number(*self.edges.get(bin)?), number(*self.edges.get(bin + 1)?)))
    }

    /// Where the first bin begins and the last one ends, as [`Histogram::limits`].
    pub fn ends(&self, number: impl Fn(f64) -> String) -> Option<(String, String)> {
        let last = self.counts.len().checked_sub(1)?;
        Some((self.limits(0, &number)?.0, self.limits(last, &number)?.1))
    }

    /// Counts of integers between exact limits.
    pub(super) fn of_edges(whole: Vec<i128>, counts: Vec<u64>) -> Self {
        Histogram { edges: whole.iter().map(|&edge| edge as f64).collect(), counts, whole: Some(whole) }
    }
}

/// How wide bins are so that at most `bins` hold `span` units: of widths up to twice the least one, the one that
/// leaves the least of the last bin empty.
pub(super) fn even_width(span: u128, bins: u128) -> u128 {
    let least = span.div_ceil(bins).max(1);
    let most = least.saturating_mul(2).min(least.saturating_add(64));
    let empty = |width: u128| (span.div_ceil(width)).saturating_mul(width) - span;
    // What is empty is compared by its share of a bin.
    let share = |width: &u128| empty(*width).saturating_mul(1 << 20) / width;
    (least..most).min_by_key(share).unwrap_or(least)
}

/// Which bins numbers are counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binning {
    /// So many bins of equal width from the smallest to the largest number, as NumPy's `histogram`.
    Exactly(usize),
    /// At most so many. Integers lie in bins of equally many integers each, but for the last one: a steady column
    /// has no stripes.
    AtMost(usize),
}

/// How a number is placed.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// Bins for each unit above the least number.
    Number { low: f64, scale: f64 },
    /// By its share of the distance from the least to the greatest integer.
    Share { low: i128, span: u128 },
    /// By whole integers a bin.
    Width { low: i128, width: u128 },
}

/// A histogram that numbers are added to.
#[derive(Clone, Debug)]
pub struct Counter {
    histogram: Histogram,
    place: Place,
}

impl Counter {
    /// For finite numbers from `low` to `high`.
    pub fn of_numbers(low: f64, high: f64, binning: Binning) -> Self {
        let bins = match binning {
            Binning::Exactly(bins) => bins,
            Binning::AtMost(bins) => {
                if low < high {
                    bins
                } else {
                    1
                }
            }
        };
        let scale = if high > low { bins.max(1) as f64 / (high - low) } else { 0.0 };
        Counter { histogram: Histogram::new(low, high, bins), place: Place::Number { low, scale } }
    }

    /// For integers from `low` to `high`.
    pub fn of_integers(low: i128, high: i128, binning: Binning) -> Self {
        let span = high.abs_diff(low);
        match binning {
            Binning::Exactly(bins) => {
                let bins = bins.max(1);
                let edge = |i: usize| match span.checked_mul(i as u128) {
                    // Exactly, and rounded once.
                    Some(part) if part % bins as u128 == 0 => (low + (part / bins as u128) as i128) as f64,
                    _ => low as f64 + span as f64 * (i as f64 / bins as f64),
                };
                let edges = (0..=bins).map(edge).collect();
                let histogram = Histogram { edges, counts: vec![0; bins], whole: None };
                Counter { histogram, place: Place::Share { low, span } }
            }
            Binning::AtMost(bins) => {
                let width = even_width(span.saturating_add(1), bins.max(1) as u128);
                let count = (span / width) as usize + 1;
                let edge = |bin: usize| low.saturating_add((width as i128).saturating_mul(bin as i128));
                let edges = (0..count).map(edge).chain([high.saturating_add(1)]).collect();
                let histogram = Histogram::of_edges(edges, vec![0; count]);
                Counter { histogram, place: Place::Width { low, width } }
            }
        }
    }

    /// Whether integers are expected.
    pub fn takes_integers(&self) -> bool {
        !matches!(self.place, Place::Number { .. })
    }

    /// Counts numbers, each so many times; not those that are not finite.
    pub fn add(&mut self, values: &[f64], times: u64) {
        let (low, scale) = match self.place {
            Place::Number { low, scale } => (low, scale),
            // Integers that came as numbers.
            _ => return values.iter().for_each(|&value| self.add_integer(value as i128, times)),
        };
        let Histogram { edges, counts, .. } = &mut self.histogram;
        let last = counts.len().saturating_sub(1);
        for value in values.iter().copied().filter(|value| value.is_finite()) {
            let mut bin = (((value - low) * scale) as usize).min(last);
            // A product may round to the other side of a limit.
            if edges.get(bin).is_some_and(|edge| value < *edge) {
                bin = bin.saturating_sub(1);
            } else if bin < last && edges.get(bin + 1).is_some_and(|edge| value >= *edge) {
                bin += 1;
            }
            if let Some(count) = counts.get_mut(bin) {
                *count += times;
            }
        }
    }

    /// Counts an integer so many times.
    pub fn add_integer(&mut self, value: i128, times: u64) {
        let bins = self.histogram.counts.len();
        let bin = match self.place {
            Place::Number { .. } => return self.add(&[value as f64], times),
            Place::Width { low, width } => value.abs_diff(low.min(value)) / width,
            Place::Share { low, span } => {
                let off = value.abs_diff(low.min(value));
                match (
                    u64::try_from(off).ok().and_then(|off| off.checked_mul(bins as u64)),
                    u64::try_from(span),
                ) {
                    // What fits in a register is divided twenty times as fast.
                    (Some(off), Ok(span)) => u128::from(off / span.max(1)),
                    _ => off.saturating_mul(bins as u128) / span.max(1),
                }
            }
        };
        let bin = usize::try_from(bin).unwrap_or(usize::MAX).min(bins.saturating_sub(1));
        if let Some(count) = self.histogram.counts.get_mut(bin) {
            *count += times;
        }
    }

    /// Adds what another counter with the same bins has counted.
    pub fn merge(&mut self, other: &Counter) {
        self.histogram.counts.iter_mut().zip(&other.histogram.counts).for_each(|(a, b)| *a += b);
    }

    /// The counts.
    pub fn finish(self) -> Histogram {
        self.histogram
    }
}

/// The histograms of columns of a table in a second pass over its rows, when the first one has told where their
/// numbers begin and end: `stats` are those of these columns. Of a column the error that a part of it gave; `None`
/// where it has no finite numbers.
///
/// # Errors
/// `Cancelled`; what keeps the table from being read at all.
pub fn histograms(
    table: &dyn Table,
    task: &Task,
    columns: &[usize],
    stats: &TableStats,
    binning: Binning,
) -> Result<Vec<Option<Result<Histogram>>>> {
    if let Some(passes) = table.passes() {
        return passes.histograms(task, columns, stats, binning);
    }
    task.set_total(stats.rows.saturating_mul(columns.len().div_ceil(GROUP) as u64));
    let mut found: Vec<Option<Result<Histogram>>> = columns.iter().map(|_| None).collect();
    let groups = columns.chunks(GROUP).zip(stats.columns.chunks(GROUP)).zip(found.chunks_mut(GROUP));
    for ((columns, of_columns), found) in groups {
        let mut counters = Vec::new();
        for (place, (&column, stats)) in columns.iter().zip(of_columns).enumerate() {
            let Ok(stats) = stats else { continue };
            let inferred = infer::inferred(table, column);
            let counter = counter(stats, &value_type(table, column), binning);
            counters.extend(counter.map(|counter| (column, (place, inferred, counter))));
        }
        if counters.is_empty() {
            task.advance(stats.rows)?;
            continue;
        }
        let places: Vec<usize> = counters.iter().map(|(_, (place, ..))| *place).collect();
        let counted =
            fold_columns(task, table, stats.rows, counters, |(_, inferred, counter), array, times| {
                add(counter, array, inferred.as_ref(), times)
            })?;
        for (place, counted) in places.into_iter().zip(counted) {
            if let Some(slot) = found.get_mut(place) {
                *slot = Some(counted.map(|(_, _, counter)| counter.finish()));
            }
        }
    }
    Ok(found)
}

/// Empty bins from the smallest to the largest number of a column of numbers.
fn counter(stats: &ColumnStats, kind: &DataType, binning: Binning) -> Option<Counter> {
    stats.sum?;
    let (low, high) = (stats.min.as_deref()?, stats.max.as_deref()?);
    if kind.is_integer() {
        return Some(Counter::of_integers(low.parse().ok()?, high.parse().ok()?, binning));
    }
    let number = |text: &str| match kind {
        // Its shortest text is another number in double precision.
        DataType::Float32 => text.parse::<f32>().ok().map(f64::from),
        _ => text.parse::<f64>().ok(),
    };
    Some(Counter::of_numbers(number(low)?, number(high)?, binning))
}

/// Counts the numbers of a part of a column, each so many times.
fn add(counter: &mut Counter, array: &ArrayRef, inferred: Option<&DataType>, times: u64) -> Result<()> {
    let array = values(array, inferred)?;
    if array.data_type().is_decimal() {
        let value = |row: usize| cell::text(array.as_ref(), row)?.parse::<f64>().ok();
        counter.add(&(0..array.len()).filter_map(value).collect::<Vec<_>>(), times);
    } else if counter.takes_integers() {
        let integers = cast(&array, &DataType::Decimal128(38, 0))?;
        let values = integers.as_primitive::<Decimal128Type>().iter().flatten();
        values.for_each(|value| counter.add_integer(value, times));
    } else {
        let numbers = cast(&array, &DataType::Float64)?;
        let numbers = numbers.as_primitive::<Float64Type>();
        match numbers.null_count() {
            0 => counter.add(numbers.values(), times),
            _ => counter.add(&numbers.iter().flatten().collect::<Vec<_>>(), times),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::content::table::MemoryTable;
    use arrow::array::{
        Decimal128Array, DictionaryArray, Float32Array, Int64Array, RecordBatch, StringArray,
    };
    use arrow::datatypes::Int8Type;
    use std::sync::Arc;

    /// The histograms of a table of these columns.
    fn found(columns: Vec<(&str, ArrayRef)>, bins: usize) -> Vec<Option<Result<Histogram>>> {
        let table = MemoryTable::new(
            RecordBatch::try_from_iter_with_nullable(
                columns.into_iter().map(|(name, array)| (name, array, true)),
            )
            .unwrap(),
        );
        let task = Task::new();
        let all: Vec<usize> = (0..table.schema().fields().len()).collect();
        let stats = crate::data::stats::table(&table, &task, &all).unwrap();
        histograms(&table, &task, &all, &stats, Binning::Exactly(bins)).unwrap()
    }

    #[test]
    fn numbers_of_every_kind_lie_in_their_bins() {
        let floats = [Some(0.1), None, Some(f32::NAN), Some(f32::INFINITY), Some(0.9), Some(0.2)];
        let decimals = Decimal128Array::from(vec![Some(0), Some(100), Some(25), None, Some(75), Some(50)]);
        let words = StringArray::from(vec!["b"; 6]);
        let keys = arrow::array::Int8Array::from(vec![Some(0), Some(1), None, Some(1), Some(1), Some(0)]);
        let dictionary =
            DictionaryArray::<Int8Type>::new(keys, Arc::new(Int64Array::from(vec![-1, i64::from(u32::MAX)])));
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("f", Arc::new(Float32Array::from(floats.to_vec()))),
            ("d", Arc::new(decimals.with_precision_and_scale(8, 2).unwrap())),
            ("s", Arc::new(words)),
            ("k", Arc::new(dictionary)),
            ("nothing", Arc::new(Int64Array::from(vec![None::<i64>; 6]))),
        ];
        let found = found(columns, 2);
        let one = |column: usize| found[column].as_ref().unwrap().as_ref().unwrap();
        assert_eq!(one(0).counts, [2, 1]);
        assert_eq!((one(0).edges[0], one(0).edges[2]), (f64::from(0.1f32), f64::from(0.9f32)));
        assert_eq!((one(1).counts.as_slice(), one(1).edges.as_slice()), (&[2, 3][..], &[0.0, 0.5, 1.0][..]));
        assert_eq!(one(3).counts, [2, 3]);
        assert!(found[2].is_none() && found[4].is_none());
    }

    #[test]
    fn integers_are_binned_as_integers() {
        // No float tells these apart.
        let first = 900_719_925_474_099_300i64;
        let ids: Vec<i64> = (first..first + 1000).collect();
        let found = found(vec![("id", Arc::new(Int64Array::from(ids)))], 10);
        assert_eq!(found[0].as_ref().unwrap().as_ref().unwrap().counts, [100; 10]);
        let mut even = Counter::of_integers(0, 99, Binning::AtMost(32));
        let mut exact = Counter::of_integers(i128::from(i64::MIN), i128::from(u64::MAX), Binning::Exactly(3));
        (0..100).for_each(|n| even.add_integer(n, 1));
        for value in [i128::from(i64::MIN), 0, i128::from(u64::MAX)] {
            exact.add_integer(value, 2);
        }
        let even = even.finish();
        assert!(even.counts.iter().rev().skip(1).all(|count| *count == even.counts[0]), "{even:?}");
        assert_eq!(exact.finish().counts, [2, 2, 2]);
        let ends = even.ends(|_| String::new()).unwrap();
        assert_eq!((ends.0.as_str(), ends.1.as_str()), ("0", "99"));
    }

    /// More equal rows than anybody could read.
    struct Same(MemoryTable);

    impl Table for Same {
        fn schema(&self) -> &arrow::datatypes::SchemaRef {
            self.0.schema()
        }

        fn rows(&self) -> crate::data::content::Rows {
            crate::data::content::Rows::Exact(1 << 50)
        }

        fn read(&self, task: &Task, rows: std::ops::Range<u64>, columns: &[usize]) -> Result<RecordBatch> {
            self.0.read(task, 0..rows.end - rows.start, columns)
        }

        fn equal_rows(&self, _: &Task, at: u64) -> Result<u64> {
            Ok((1 << 50) - at)
        }
    }

    #[test]
    fn equal_rows_are_counted_at_once() {
        let one: ArrayRef = Arc::new(Int64Array::from(vec![5]));
        let table = Same(MemoryTable::new(RecordBatch::try_from_iter([("n", one)]).unwrap()));
        let task = Task::new();
        let stats = crate::data::stats::table(&table, &task, &[0]).unwrap();
        let found = histograms(&table, &task, &[0], &stats, Binning::Exactly(3)).unwrap();
        assert_eq!(found[0].as_ref().unwrap().as_ref().unwrap().counts, [1 << 50, 0, 0]);
    }

    proptest::proptest! {
        #[test]
        fn every_number_lies_between_the_limits_of_its_bin(
            values in proptest::collection::vec(-1e3f64..1e3, 1..200), bins in 1usize..70,
        ) {
            let (low, high) = values.iter().fold((f64::MAX, f64::MIN), |(a, b), v| (a.min(*v), b.max(*v)));
            let mut counter = Counter::of_numbers(low, high, Binning::Exactly(bins));
            counter.add(&values, 1);
            let found = counter.finish();
            for (bin, count) in found.counts.iter().enumerate() {
                let inside = |v: &&f64| **v >= found.edges[bin] && (**v < found.edges[bin + 1] || bin + 1 == bins);
                let expected = values.iter().filter(inside).count() as u64;
                proptest::prop_assert!(*count == expected || low == high, "{found:?}");
            }
        }
    }
}
