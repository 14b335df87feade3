//! What a person wants to know of a table's columns at a glance: how values spread, which are frequent,
//! how many are missing or only seem to be there, which columns say the same.
//!
//! Two depths: [`sampled`] reads some thousand rows from all over the table; [`exact`] reads everything once,
//! in parallel. Each says which it is. What the file itself says is [`Table::statistics`].

mod correlation;
mod hashes;
mod nothing;
#[cfg(test)]
mod tests;

pub use correlation::{Correlation, correlation};

use super::column::{ColumnCounts, value_type};
use super::sketch::{COUNTED, Frequent, HyperLogLog, Spread, Steps, mixed};
use super::texts::Cells;
use super::{Distinct, Histogram, Moments};
use crate::bytes::error::Result;
use crate::bytes::task::Task;
use crate::data::cell;
use crate::data::content::{Picked, Table};
use crate::data::infer;
use crate::data::scan::{column_groups, fold_columns};
use arrow::array::*;
use arrow::datatypes::*;
use rayon::prelude::*;

/// How deep a summary looked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// So many rows from all over the table.
    Sampled(u64),
    /// All rows.
    Exact,
}

/// Summaries of some columns.
#[derive(Clone, Debug)]
pub struct Summaries {
    /// How deep.
    pub depth: Depth,
    /// Rows of the table, as far as is known.
    pub rows: u64,
    /// One entry a column, in the order asked.
    pub columns: Vec<Result<Summary>>,
}

/// A column at a glance.
#[derive(Clone, Debug)]
pub struct Summary {
    /// Its name.
    pub name: String,
    /// The type of its values; of a column of text that one that was guessed.
    pub data_type: DataType,
    /// Rows that were looked at.
    pub rows: u64,
    /// Null cells.
    pub nulls: u64,
    /// Cells that do not fit the guessed type.
    pub unfit: u64,
    /// Cells that are NaN.
    pub nan: u64,
    /// Infinite cells.
    pub inf: u64,
    /// Cells that are zero.
    pub zeros: u64,
    /// The smallest value as text.
    pub min: Option<String>,
    /// The largest value.
    pub max: Option<String>,
    /// The mean of finite numbers.
    pub mean: Option<f64>,
    /// Their standard deviation (of the whole population).
    pub std: Option<f64>,
    /// Numbers, dates and times: the values below which 5, 25, 50, 75 and 95 % lie, from up to 65,536 rows
    /// spread over the table.
    pub quantiles: Option<[f64; 5]>,
    /// Whether more rows were looked at than those that the quantiles are from.
    pub quantiles_sampled: bool,
    /// How numbers, dates and times spread (dates and times as their stored numbers).
    pub histogram: Option<Histogram>,
    /// The most frequent values with their counts; null counts as none.
    pub top: Vec<(String, u64)>,
    /// Whether the counts in `top` are of the rows that a sample has, not of all rows.
    pub top_sampled: bool,
    /// Different values.
    pub distinct: Option<Distinct>,
    /// The fewest and the most characters, and their mean, of texts; bytes of binary; elements of lists.
    pub lengths: Option<(u64, u64, f64)>,
    /// Values that often stand for a missing one, with their counts.
    pub disguised: Vec<(String, u64)>,
    /// The first column (its place among those asked) whose cells are all the same as here.
    pub same_as: Option<usize>,
    /// Of all cells and their places; `None` where some could not be hashed.
    pub(crate) fingerprint: Option<u64>,
}

/// Rows whose values are kept for quantiles.
const KEPT: u64 = 65_536;
/// The most that the columns of one pass keep together, in bytes.
const MOST: u64 = 1 << 30;
/// Rows of a sample.
const SAMPLE: u64 = 20_000;
/// Bins of a histogram.
const BINS: usize = 32;
/// Frequent values.
const TOP: usize = 12;
/// Numbers that often stand for a missing value, where they lie far from all others.
const NOTHING_NUMBERS: [f64; 9] = [-1.0, -9.0, -99.0, -999.0, -9999.0, -99999.0, 999.0, 9999.0, 99999.0];

impl Summary {
    /// Whether every cell has the same value, none of them null.
    pub fn is_constant(&self) -> bool {
        self.rows > 1 && self.nulls == 0 && self.unfit == 0 && self.distinct == Some(Distinct::Exactly(1))
    }

    /// A number of the histogram or of the quantiles as text of the column's type.
    pub fn text_of(&self, value: f64) -> String {
        let whole = Int64Array::from(vec![value as i64]);
        if self.data_type.is_temporal()
            && let Ok(array) = temporal(&whole, &self.data_type)
            && let Some(text) = cell::text(array.as_ref(), 0)
        {
            return text;
        }
        if self.data_type.is_integer() && value.abs() < 9e15 {
            return (value.round() as i64).to_string();
        }
        if self.data_type == DataType::Float64 || value.abs() >= 1e9 {
            return cell::float64(value);
        }
        cell::float32(value as f32)
    }
}

/// An integer of a histogram as text of a column's type: of dates and times, the one that is stored so.
pub fn integer_text(value: i128, data_type: &DataType) -> String {
    if data_type.is_temporal()
        && let Ok(stored) = i64::try_from(value)
        && let Ok(array) = temporal(&Int64Array::from(vec![stored]), data_type)
        && let Some(text) = cell::text(array.as_ref(), 0)
    {
        return text;
    }
    value.to_string()
}

/// Numbers as values of a type of dates or times.
fn temporal(numbers: &Int64Array, data_type: &DataType) -> Result<ArrayRef> {
    let narrow = match data_type {
        DataType::Date32 | DataType::Time32(_) => arrow::compute::cast(numbers, &DataType::Int32)?,
        _ => std::sync::Arc::new(numbers.clone()),
    };
    Ok(arrow::compute::cast(&narrow, data_type)?)
}

/// From rows all over the table.
///
/// # Errors
/// `Cancelled`; columns that cannot be read have their own error.
pub fn sampled(table: &dyn Table, task: &Task, columns: &[usize]) -> Result<Summaries> {
    if let Some(passes) = table.passes() {
        return passes.summaries(task, columns, false);
    }
    let rows = table.rows();
    let picked = Picked::sample(table, task, SAMPLE)?;
    let seen = picked.len();
    let depth = if rows.exact() == Some(seen) { Depth::Exact } else { Depth::Sampled(seen) };
    let columns = pass(&picked, task, columns, seen, MOST)?;
    Ok(Summaries { depth, rows: rows.number(), columns })
}

/// From all rows, in one pass; of some hundred columns and more in several.
///
/// # Errors
/// `Cancelled`, and where rows cannot be counted; columns that cannot be read have their own error.
pub fn exact(table: &dyn Table, task: &Task, columns: &[usize]) -> Result<Summaries> {
    if let Some(passes) = table.passes() {
        return passes.summaries(task, columns, true);
    }
    let rows = table.count(task)?;
    let columns = pass(table, task, columns, rows, MOST)?;
    Ok(Summaries { depth: Depth::Exact, rows, columns })
}

/// One pass over all `rows` rows; of so many columns that they might keep more than `most` bytes, one for some of them
/// each.
fn pass(
    table: &dyn Table,
    task: &Task,
    columns: &[usize],
    rows: u64,
    most: u64,
) -> Result<Vec<Result<Summary>>> {
    let stride = (rows / KEPT).max(1);
    let groups = column_groups(columns, most, |column| kept_bytes(&value_type(table, column), rows));
    task.set_total(rows.saturating_mul(groups.len() as u64));
    let mut out: Vec<Result<Summary>> = Vec::with_capacity(columns.len());
    for group in groups {
        let folds = group.iter().map(|&column| (column, Fold::new(table, column, stride))).collect();
        let folds = fold_columns(task, table, rows, folds, Fold::add)?;
        let texts: Vec<ArrayTexts> = texts_of(table, task, group, &folds)?;
        out.extend(folds.into_iter().zip(&texts).map(|(fold, texts)| fold.map(|fold| fold.finish(texts))));
    }
    find_same(&mut out);
    Ok(out)
}

/// About how many bytes the running state of a column takes at most when it has seen so many rows.
fn kept_bytes(data_type: &DataType, rows: u64) -> u64 {
    /// Registers, bins, counts.
    const ALWAYS: u64 = 32 << 10;
    let frequent = rows.min(COUNTED as u64) * 50;
    let values = match data_type {
        DataType::Boolean | DataType::Null => 0,
        // With what a growing vector has ahead.
        _ if data_type.is_numeric() || data_type.is_temporal() => rows.min(2 * KEPT) * 16,
        _ => rows.min(KEPT) * 80,
    };
    ALWAYS + frequent + values
}

/// The texts of the frequent values of a column, by the rows where they stand.
#[derive(Default)]
struct ArrayTexts(Vec<(String, u64)>);

/// Reads the cells of frequent values.
fn texts_of(
    table: &dyn Table,
    task: &Task,
    columns: &[usize],
    folds: &[Result<Fold>],
) -> Result<Vec<ArrayTexts>> {
    let one = |(fold, &column): (&Result<Fold>, &usize)| -> Result<ArrayTexts> {
        let Ok(fold) = fold else { return Ok(ArrayTexts::default()) };
        let mut texts = Vec::new();
        for (times, row) in fold.frequent.top(TOP) {
            task.check()?;
            let read = table.read(task, row..row + 1, &[column])?;
            let Some(array) = read.columns().first().filter(|array| array.len() == 1) else { continue };
            let text = cell::text(fold.counts.values(array)?.as_ref(), 0);
            texts.extend(text.map(|text| (text, times)));
        }
        Ok(ArrayTexts(texts))
    };
    folds.par_iter().zip(columns).map(one).collect()
}

/// Marks columns whose cells are all the same as those of one before them.
fn find_same(columns: &mut [Result<Summary>]) {
    for at in 1..columns.len() {
        let (before, rest) = columns.split_at_mut(at);
        let Some(Ok(this)) = rest.first_mut() else { continue };
        let same = |other: &Result<Summary>| {
            other.as_ref().is_ok_and(|o| {
                o.fingerprint == this.fingerprint
                    && o.data_type == this.data_type
                    && (o.nulls, o.unfit) == (this.nulls, this.unfit)
            })
        };
        // Columns that are constant or empty are said to be that; of cells without a hash nothing is known,
        // nor of those that do not fit the type, which are none of its values.
        let known = this.fingerprint.is_some() && this.unfit == 0;
        if known && this.nulls < this.rows && !this.is_constant() {
            this.same_as = before.iter().position(same);
        }
    }
}

/// A column's running state.
struct Fold {
    name: String,
    data_type: DataType,
    counts: ColumnCounts,
    seed: u64,
    stride: u64,
    zeros: u64,
    moments: Moments,
    spread: Spread,
    /// How integers spread.
    steps: Steps,
    distinct: HyperLogLog,
    frequent: Frequent,
    /// Whether different values are counted.
    hashable: bool,
    fingerprint: Option<u64>,
    kept: Vec<f64>,
    /// A sample of texts and their counts, for frequent values when there are too many different ones.
    kept_texts: Vec<String>,
    lengths: Option<(u64, u64, f64, u64)>,
    disguised: Vec<u64>,
    numbers_as_nothing: Vec<u64>,
}

impl Fold {
    fn new(table: &dyn Table, column: usize, stride: u64) -> Self {
        Fold {
            name: table.schema().fields().get(column).map_or(String::new(), |field| field.name().clone()),
            data_type: value_type(table, column),
            counts: ColumnCounts::new(infer::inferred(table, column)),
            seed: 0x2545_f491_4f6c_dd1d,
            stride,
            zeros: 0,
            moments: Moments::default(),
            spread: Spread::new(),
            steps: Steps::default(),
            distinct: HyperLogLog::new(),
            frequent: Frequent::default(),
            hashable: true,
            fingerprint: Some(0),
            kept: Vec::new(),
            kept_texts: Vec::new(),
            lengths: None,
            disguised: vec![0; nothing::TEXTS.len()],
            numbers_as_nothing: vec![0; NOTHING_NUMBERS.len()],
        }
    }

    /// Takes the next rows into account: an array that stands so many times; more than once if it is one row.
    fn add(&mut self, array: &ArrayRef, times: u64) -> Result<()> {
        let place = Place { first: self.counts.rows, times };
        if self.counts.is_inferred()
            && let Some(cells) = array.as_string_opt::<i32>()
        {
            self.nothing(cells.iter(), times);
        }
        let array = self.counts.add(array, times)?;
        self.numbers(&array, place);
        self.texts(&array, place);
        self.hashes(&array, place);
        Ok(())
    }

    fn numbers(&mut self, array: &ArrayRef, place: Place) {
        macro_rules! each {
            ($($pattern:pat => $ty:ty),* $(,)?) => { match array.data_type() {
                $( $pattern => {
                    self.integers(array.as_primitive::<$ty>(), place.times, |v| i128::from(v));
                    self.values(array.as_primitive::<$ty>(), place, |v| v as f64);
                } )*
                DataType::Float32 => self.values(array.as_primitive::<Float32Type>(), place, f64::from),
                DataType::Float64 => self.values(array.as_primitive::<Float64Type>(), place, |v| v),
                DataType::Float16 => self.values(array.as_primitive::<Float16Type>(), place, |v| v.to_f64()),
                DataType::Decimal128(_, scale) => {
                    let unit = 10f64.powi(-i32::from(*scale));
                    self.values(array.as_primitive::<Decimal128Type>(), place, move |v| v as f64 * unit);
                }
                DataType::Decimal64(_, scale) => {
                    let unit = 10f64.powi(-i32::from(*scale));
                    self.values(array.as_primitive::<Decimal64Type>(), place, move |v| v as f64 * unit);
                }
                DataType::Decimal32(_, scale) => {
                    let unit = 10f64.powi(-i32::from(*scale));
                    self.values(array.as_primitive::<Decimal32Type>(), place, move |v| f64::from(v) * unit);
                }
                _ => {}
            } };
        }
        each!(
            DataType::Int8 => Int8Type, DataType::Int16 => Int16Type, DataType::Int32 => Int32Type,
            DataType::Int64 => Int64Type, DataType::UInt8 => UInt8Type, DataType::UInt16 => UInt16Type,
            DataType::UInt32 => UInt32Type, DataType::UInt64 => UInt64Type,
            DataType::Date32 => Date32Type, DataType::Date64 => Date64Type,
            DataType::Time32(TimeUnit::Second) => Time32SecondType,
            DataType::Time32(_) => Time32MillisecondType,
            DataType::Time64(TimeUnit::Microsecond) => Time64MicrosecondType,
            DataType::Time64(_) => Time64NanosecondType,
            DataType::Timestamp(TimeUnit::Second, _) => TimestampSecondType,
            DataType::Timestamp(TimeUnit::Millisecond, _) => TimestampMillisecondType,
            DataType::Timestamp(TimeUnit::Microsecond, _) => TimestampMicrosecondType,
            DataType::Timestamp(TimeUnit::Nanosecond, _) => TimestampNanosecondType,
            DataType::Duration(TimeUnit::Second) => DurationSecondType,
            DataType::Duration(TimeUnit::Millisecond) => DurationMillisecondType,
            DataType::Duration(TimeUnit::Microsecond) => DurationMicrosecondType,
            DataType::Duration(TimeUnit::Nanosecond) => DurationNanosecondType,
        );
    }

    /// Counts integers, and dates and times by their stored numbers.
    fn integers<T: ArrowPrimitiveType>(
        &mut self,
        array: &PrimitiveArray<T>,
        times: u64,
        integer: impl Fn(T::Native) -> i128,
    ) {
        let values = || array.iter().flatten().map(&integer);
        let (Some(low), Some(high)) = (values().min(), values().max()) else { return };
        self.steps.cover(low, high);
        values().for_each(|value| self.steps.add(value, times));
    }

    fn values<T: ArrowPrimitiveType>(
        &mut self,
        array: &PrimitiveArray<T>,
        place: Place,
        number: impl Fn(T::Native) -> f64,
    ) {
        let valid = |row: usize| array.nulls().is_none_or(|nulls| nulls.is_valid(row));
        let numbers =
            || array.values().iter().enumerate().filter(|(row, _)| valid(*row)).map(|(_, &v)| number(v));
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        let (mut nan, mut inf, mut zeros, mut count, mut sum) = (0u64, 0u64, 0u64, 0u64, 0.0);
        for value in numbers() {
            if value.is_finite() {
                low = low.min(value);
                high = high.max(value);
                sum += value;
                count += 1;
                zeros += u64::from(value == 0.0);
            } else if value.is_nan() {
                nan += 1;
            } else {
                inf += 1;
            }
        }
        let times = place.times;
        self.counts.nan += nan * times;
        self.counts.inf += inf * times;
        self.zeros += zeros * times;
        if count == 0 {
            return;
        }
        self.spread.cover(low, high);
        let shift = sum / count as f64;
        let (mut off, mut squares, n) = (0.0, 0.0, times as f64);
        for value in numbers().filter(|value| value.is_finite()) {
            self.spread.add(value, times);
            off += value - shift;
            squares += (value - shift) * (value - shift);
        }
        self.moments =
            self.moments.merge(Moments::of_sums(count.saturating_mul(times), shift, off * n, squares * n));
        if low <= -1.0 || high >= 999.0 {
            let ends = NOTHING_NUMBERS.map(|n| n == low || n == high);
            let slots = self.numbers_as_nothing.iter_mut().zip(NOTHING_NUMBERS).zip(ends);
            for ((slot, candidate), _) in slots.filter(|(_, is_end)| *is_end) {
                *slot += numbers().filter(|value| *value == candidate).count() as u64 * times;
            }
        }
        for row in place.picks(array.len(), self.stride).filter(|row| valid(*row)) {
            self.kept.extend(array.values().get(row).map(|v| number(*v)).filter(|v| v.is_finite()));
        }
    }

    fn texts(&mut self, array: &ArrayRef, place: Place) {
        let picked = place.picks(array.len(), self.stride.max(self.counts.rows / 4_096));
        let times = place.times;
        match array.data_type() {
            DataType::Utf8 => self.words(array.as_string::<i32>(), times),
            DataType::LargeUtf8 => self.words(array.as_string::<i64>(), times),
            DataType::Utf8View => {
                let cells = array.as_string_view();
                self.long(cells.iter().flatten().map(|text| text.chars().count() as u64), times);
                self.untyped(cells.iter(), times);
            }
            DataType::Binary => self.long(Cells::of(array.as_binary::<i32>()).lengths(), times),
            DataType::LargeBinary => self.long(Cells::of(array.as_binary::<i64>()).lengths(), times),
            DataType::BinaryView => {
                self.long(array.as_binary_view().iter().flatten().map(|b| b.len() as u64), times)
            }
            DataType::List(_) => {
                let list = array.as_list::<i32>();
                let valid = (0..list.len()).filter(|&row| list.is_valid(row));
                self.long(valid.map(|row| list.value_length(row) as u64), times);
            }
            DataType::LargeList(_) => {
                let list = array.as_list::<i64>();
                let valid = (0..list.len()).filter(|&row| list.is_valid(row));
                self.long(valid.map(|row| list.value_length(row) as u64), times);
            }
            _ => return,
        }
        if self.data_type.is_nested() || self.kept_texts.len() >= KEPT as usize {
            return;
        }
        self.kept_texts.extend(
            picked.filter(|&row| array.is_valid(row)).filter_map(|row| cell::text(array.as_ref(), row)),
        );
    }

    fn words<O: OffsetSizeTrait>(&mut self, array: &GenericStringArray<O>, times: u64) {
        let cells = Cells::of(array);
        match cells.is_ascii() {
            true => self.long(cells.lengths(), times),
            false => self.long(cells.characters(), times),
        }
        self.untyped(array.iter(), times);
    }

    /// Guessed types were looked at before they became values.
    fn untyped<'a>(&mut self, cells: impl Iterator<Item = Option<&'a str>>, times: u64) {
        if !self.counts.is_inferred() {
            self.nothing(cells, times);
        }
    }

    fn long(&mut self, lengths: impl Iterator<Item = u64>, times: u64) {
        let (mut low, mut high, mut sum, mut count) = self.lengths.unwrap_or((u64::MAX, 0, 0.0, 0));
        let mut total = 0u64;
        for length in lengths {
            low = low.min(length);
            high = high.max(length);
            total = total.saturating_add(length);
            count += times;
        }
        sum += total as f64 * times as f64;
        self.lengths = (count > 0).then_some((low, high, sum, count));
    }

    /// Counts the texts that stand for a missing value.
    fn nothing<'a>(&mut self, cells: impl Iterator<Item = Option<&'a str>>, times: u64) {
        for slot in cells.flatten().filter_map(nothing::slot) {
            if let Some(count) = self.disguised.get_mut(slot) {
                *count += times;
            }
        }
    }

    fn finish(mut self, texts: &ArrayTexts) -> Summary {
        let [min, max] = self.counts.end_texts();
        self.kept.sort_unstable_by(f64::total_cmp);
        let numeric = self.data_type.is_numeric();
        let (mut top, mut top_sampled) = (texts.0.clone(), false);
        if self.frequent.over && !self.kept_texts.is_empty() {
            (top, top_sampled) = (counted(std::mem::take(&mut self.kept_texts)), true);
        }
        let (rows, nulls) = (self.counts.rows, self.counts.nulls);
        let distinct = match self.frequent.distinct() {
            _ if !self.hashable || rows == 0 => None,
            Some(n) => Some(Distinct::Exactly(n)),
            // An estimate errs both ways; there are never more than values.
            None => Some(Distinct::About(self.distinct.count().min(rows.saturating_sub(nulls)))),
        };
        let quantiles = quantiles(&self.kept);
        let disguised = self.disguises(quantiles);
        Summary {
            min,
            max,
            mean: self.moments.mean().filter(|_| numeric),
            std: self.moments.std().filter(|_| numeric),
            histogram: self.steps.histogram(BINS).or_else(|| self.spread.histogram(BINS)),
            lengths: self.lengths.map(|(low, high, sum, count)| (low, high, sum / count.max(1) as f64)),
            same_as: None,
            fingerprint: self.fingerprint,
            name: self.name,
            data_type: self.data_type,
            rows,
            nulls,
            unfit: self.counts.unfit,
            nan: self.counts.nan,
            inf: self.counts.inf,
            zeros: self.zeros,
            quantiles,
            quantiles_sampled: quantiles.is_some() && self.stride > 1,
            top,
            top_sampled,
            distinct,
            disguised,
        }
    }

    /// Values that seem to stand for missing ones.
    fn disguises(&self, quantiles: Option<[f64; 5]>) -> Vec<(String, u64)> {
        let quoted = |text: &str| if text.trim().is_empty() { format!("{text:?}") } else { text.to_owned() };
        let words = nothing::TEXTS.iter().zip(&self.disguised).filter(|(_, count)| **count > 0);
        let mut out: Vec<(String, u64)> = words.map(|(text, &count)| (quoted(text), count)).collect();
        let (Some([_, q1, middle, q3, _]), Some((low, high))) = (quantiles, self.ends()) else { return out };
        for (&candidate, &count) in NOTHING_NUMBERS.iter().zip(&self.numbers_as_nothing) {
            let end = candidate == low || candidate == high;
            let far =
                (candidate - middle).abs() > 3.0 * (q3 - q1).max(1e-9) && (candidate < q1 || candidate > q3);
            // -1 is too usual a number where others are negative, too.
            if end && far && count > 1 && self.data_type.is_numeric() && (candidate != -1.0 || q1 >= 0.0) {
                out.push((candidate.to_string(), count));
            }
        }
        out
    }

    fn ends(&self) -> Option<(f64, f64)> {
        let [low, high] = self.counts.end_texts().map(|end| end?.parse::<f64>().ok());
        low.zip(high)
    }
}

/// Where an array stands in its column.
#[derive(Clone, Copy)]
struct Place {
    /// The row of its first cell.
    first: u64,
    /// How many times; more than once if it is one row.
    times: u64,
}

impl Place {
    /// Cells of an array of `len` ones that are kept: those of one row of each `stride`, anywhere in it.
    fn picks(self, len: usize, stride: u64) -> impl Iterator<Item = usize> {
        let Place { first, times } = self;
        let (stride, end) = (stride.max(1), first.saturating_add((len as u64).saturating_mul(times)));
        (first / stride..=end / stride).filter_map(move |block| {
            let row = (block * stride).saturating_add(mixed(block, 0x9e37) % stride);
            (row >= first && row < end).then(|| ((row - first) / times.max(1)) as usize)
        })
    }
}

/// 5, 25, 50, 75 and 95 % of sorted values.
fn quantiles(sorted: &[f64]) -> Option<[f64; 5]> {
    let last = sorted.len().checked_sub(1)?;
    let at = |share: f64| sorted.get((share * last as f64).round() as usize).copied().unwrap_or(f64::NAN);
    Some([0.05, 0.25, 0.5, 0.75, 0.95].map(at))
}

/// The most frequent texts.
fn counted(mut texts: Vec<String>) -> Vec<(String, u64)> {
    texts.sort_unstable();
    let mut all: Vec<(String, u64)> = Vec::new();
    for text in texts {
        match all.last_mut() {
            Some((last, count)) if *last == text => *count += 1,
            _ => all.push((text, 1)),
        }
    }
    all.retain(|(_, count)| *count > 1);
    all.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    all.truncate(TOP);
    all
}
