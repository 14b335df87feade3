//! Statistics of a table's columns: one pass over all rows, row groups read and columns counted in
//! parallel.

use super::Moments;
use super::texts::Cells;
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::cell;
use crate::data::content::Table;
use crate::data::infer;
use arrow::array::{Array, ArrayRef, AsArray, NullArray, PrimitiveArray, make_comparator};
use arrow::compute::SortOptions;
use arrow::datatypes::*;
use rayon::prelude::*;
use std::cmp::Ordering;
use std::collections::HashSet;
use std::hash::{BuildHasher, Hasher};
use std::ops::Range;
use std::sync::Arc;

/// What one pass over a table tells.
#[derive(Clone, Debug, Default)]
pub struct TableStats {
    /// All rows.
    pub rows: u64,
    /// One entry a column, in the table's order.
    pub columns: Vec<Result<ColumnStats>>,
}

/// What one pass over a column tells.
#[derive(Clone, Debug, Default)]
pub struct ColumnStats {
    /// Its name.
    pub name: String,
    /// Null cells.
    pub nulls: u64,
    /// Cells that are not a number.
    pub nan: u64,
    /// Infinite cells.
    pub inf: u64,
    /// The smallest value as text; none for nested columns.
    pub min: Option<String>,
    /// The largest value.
    pub max: Option<String>,
    /// The sum of finite numbers in f64.
    pub sum: Option<f64>,
    /// Their mean.
    pub mean: Option<f64>,
    /// Different values.
    pub distinct: Option<Distinct>,
    /// Cells of a text format that do not fit the type that was inferred for their column; they are
    /// left out of the rest.
    pub unfit: u64,
}

/// A count of different values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distinct {
    /// All of them.
    Exactly(u64),
    /// Counting stopped here.
    AtLeast(u64),
}

/// Distinct values are counted up to here, to bound memory.
const DISTINCT: usize = 1 << 16;
/// Values whose extremes are taken at once.
const BLOCK: usize = 1024;
/// So many equal rows are not read one by one.
const ALIKE: u64 = 65_536;
/// The most steps of a scan that are in memory at once.
const AT_ONCE: usize = 8;

/// Statistics of the columns `columns`, in this order.
pub fn table(table: &dyn Table, task: &Task, columns: &[usize]) -> Result<TableStats> {
    let rows = table.count(task)?;
    if columns.is_empty() {
        return Ok(TableStats { rows, columns: Vec::new() });
    }
    task.expect(rows);
    let schema = table.schema();
    let mut folds: Vec<Result<Fold>> =
        columns.iter().map(|&i| Ok(Fold::new(schema.fields().get(i), infer::inferred(table, i)))).collect();
    // Columns of nulls alone have nothing to read, however long they are; of one that failed the rest says no
    // more.
    let is_null = |column: &usize| {
        schema.fields().get(*column).is_some_and(|field| matches!(field.data_type(), DataType::Null))
    };
    for (fold, _) in folds.iter_mut().zip(columns).filter(|(_, column)| rows > 0 && is_null(column)) {
        let nulls: ArrayRef = Arc::new(NullArray::new(usize::try_from(rows).unwrap_or(usize::MAX)));
        if let Ok(fold) = fold {
            fold.add(&nulls)?;
        }
    }
    let running = |(fold, column): &(&mut Result<Fold>, &usize)| fold.is_ok() && !is_null(column);
    let still = |folds: &[Result<Fold>]| -> Vec<usize> {
        let running = |(fold, column): &(&Result<Fold>, &usize)| fold.is_ok() && !is_null(column);
        folds.iter().zip(columns).filter(running).map(|(_, column)| *column).collect()
    };
    let mut live = still(&folds);
    if !live.is_empty() {
        check_work(table, task, rows)?;
    }
    let mut at = 0;
    while at < rows && !live.is_empty() {
        let alike = table.alike(task, at)?.min(rows - at);
        if alike > ALIKE {
            let one = crate::data::content::table::read_each(table, task, at..at + 1, &live)?;
            for ((fold, _), array) in folds.iter_mut().zip(columns).filter(running).zip(one) {
                let Ok(running) = fold else { continue };
                if let Err(error) = array.and_then(|array| running.add_many(&array, alike)) {
                    *fold = Err(error);
                }
            }
            live = still(&folds);
            at += alike;
            task.advance(alike)?;
            continue;
        }
        // As many steps at once as there are threads: the memory is bounded by so many row groups.
        let mut steps = Vec::new();
        while at < rows
            && (steps.is_empty() || table.alike(task, at)? <= ALIKE)
            && steps.len() < rayon::current_num_threads().clamp(1, AT_ONCE)
        {
            let end = at.saturating_add(table.scan_step(at).max(1)).min(rows);
            steps.push(at..end);
            at = end;
        }
        let read = |step: &Range<u64>| {
            let arrays = crate::data::content::table::read_each(table, task, step.clone(), &live)?;
            task.advance(step.end - step.start)?;
            Ok(arrays)
        };
        let read: Vec<Result<Vec<_>>> = steps.par_iter().map(read).collect();
        let mut read: Vec<Vec<_>> = read.into_iter().collect::<Result<_>>()?;
        // By columns, the last first, each with its steps in order: sums come out the same whatever the
        // threads do.
        let last = |_| read.iter_mut().filter_map(Vec::pop).collect();
        let by_column: Vec<Vec<Result<ArrayRef>>> = live.iter().map(last).collect();
        let mut folding: Vec<_> = folds.iter_mut().zip(columns).filter(running).collect();
        folding.par_iter_mut().rev().zip(by_column).for_each(|((fold, _), arrays)| {
            for array in arrays {
                let Ok(running) = fold else { return };
                if let Err(error) = array.and_then(|array| running.add(&array)) {
                    **fold = Err(error);
                }
            }
        });
        live = still(&folds);
        task.check()?;
    }
    Ok(TableStats { rows, columns: folds.into_iter().map(|fold| fold.map(Fold::finish)).collect() })
}

/// Whether a pass over so many rows ends some day. A table of more than anybody has is one whose rows are mostly
/// not there: these are counted, and only the others are read.
fn check_work(table: &dyn Table, task: &Task, rows: u64) -> Result<()> {
    /// More rows are looked at before.
    const MANY: u64 = 1 << 40;
    /// The most rows that are read of such a table.
    const READ: u64 = 1 << 36;
    if rows <= MANY {
        return Ok(());
    }
    let (mut at, mut read) = (0u64, 0u64);
    while at < rows {
        let alike = table.alike(task, at)?.min(rows - at);
        let step = if alike > ALIKE { alike } else { table.scan_step(at).clamp(1, rows - at) };
        if alike <= ALIKE {
            read += step;
        }
        if read > READ {
            return Err(Error::limit(format!("a pass over {}", crate::bytes::display::plural(rows, "row"))));
        }
        at += step;
        task.check()?;
    }
    Ok(())
}

/// A column's running state.
struct Fold {
    stats: ColumnStats,
    /// The type that was inferred for a column of text.
    inferred: Option<DataType>,
    numeric: bool,
    moments: Moments,
    low: Option<ArrayRef>,
    high: Option<ArrayRef>,
    seen: HashSet<Box<[u8]>, Seed>,
    countable: bool,
}

impl Fold {
    fn new(field: Option<&FieldRef>, inferred: Option<DataType>) -> Self {
        let name = field.map_or(String::new(), |f| f.name().clone());
        Fold {
            inferred,
            stats: ColumnStats { name, ..ColumnStats::default() },
            numeric: false,
            moments: Moments::default(),
            low: None,
            high: None,
            seen: HashSet::default(),
            countable: true,
        }
    }

    fn add(&mut self, array: &ArrayRef) -> Result<()> {
        let (array, unfit) = infer::values(array, self.inferred.as_ref());
        // A dictionary that holds null as a value is no null of the column, as Arrow counts them.
        let nulls = match array.data_type() {
            DataType::Dictionary(_, _) => array.null_count() as u64,
            _ => array.logical_null_count() as u64,
        };
        self.stats.unfit += unfit;
        self.stats.nulls += nulls.saturating_sub(unfit);
        // Of nothing but nulls one says as much as all of them.
        let array = if nulls == array.len() as u64 && nulls > 1 { array.slice(0, 1) } else { array };
        let array = &decoded(&array)?;
        self.numbers(array);
        self.distinct(array);
        self.extremes(array)
    }

    /// Adds a column of one row so many times.
    fn add_many(&mut self, array: &ArrayRef, times: u64) -> Result<()> {
        let mut one = Fold::new(None, self.inferred.clone());
        one.add(array)?;
        self.add(array)?;
        let more = times.saturating_sub(1);
        let scaled = Moments {
            count: one.moments.count.saturating_mul(more),
            sum: one.moments.sum * more as f64,
            mean: one.moments.mean,
            ..Moments::default()
        };
        self.moments = self.moments.merge(scaled);
        for (all, of_one) in [
            (&mut self.stats.nulls, one.stats.nulls),
            (&mut self.stats.nan, one.stats.nan),
            (&mut self.stats.inf, one.stats.inf),
            (&mut self.stats.unfit, one.stats.unfit),
        ] {
            *all = all.saturating_add(of_one.saturating_mul(more));
        }
        Ok(())
    }

    fn numbers(&mut self, array: &ArrayRef) {
        macro_rules! each {
            ($($variant:ident => $ty:ty),*) => { match array.data_type() {
                $( DataType::$variant => self.sums(array.as_primitive::<$ty>(), |v| f64::from(v)), )*
                DataType::Int64 => self.sums(array.as_primitive::<Int64Type>(), |v| v as f64),
                DataType::UInt64 => self.sums(array.as_primitive::<UInt64Type>(), |v| v as f64),
                DataType::Decimal32(_, _) | DataType::Decimal64(_, _) | DataType::Decimal128(_, _)
                | DataType::Decimal256(_, _) => {
                    let value = |i| cell::text(array.as_ref(), i)?.parse::<f64>().ok();
                    self.add_sums((0..array.len()).filter_map(value));
                }
                _ => {}
            } };
        }
        each!(Int8 => Int8Type, Int16 => Int16Type, Int32 => Int32Type, UInt8 => UInt8Type,
            UInt16 => UInt16Type, UInt32 => UInt32Type, Float16 => Float16Type, Float32 => Float32Type, Float64 => Float64Type);
    }

    fn sums<T: ArrowPrimitiveType>(&mut self, array: &PrimitiveArray<T>, value: impl Fn(T::Native) -> f64) {
        match array.null_count() {
            0 => self.add_sums(array.values().iter().map(|&v| value(v))),
            _ => self.add_sums(array.iter().flatten().map(value)),
        }
    }

    fn add_sums(&mut self, values: impl Iterator<Item = f64>) {
        self.numeric = true;
        let (mut sum, mut count) = (0.0, 0);
        for value in values {
            if value.is_finite() {
                sum += value;
                count += 1;
            } else if value.is_nan() {
                self.stats.nan += 1;
            } else {
                self.stats.inf += 1;
            }
        }
        self.moments = self.moments.merge(Moments { count, sum, ..Moments::default() });
    }

    /// The extreme cells, by the type's own order; NaN and infinities are left out.
    fn extremes(&mut self, array: &ArrayRef) -> Result<()> {
        let nested = array.data_type().is_nested();
        if nested || matches!(array.data_type(), DataType::Null) {
            return Ok(());
        }
        let (low, high) = ends_of(array);
        replace(&mut self.low, array, low, Ordering::Less)?;
        replace(&mut self.high, array, high, Ordering::Greater)
    }

    fn distinct(&mut self, array: &ArrayRef) {
        if array.data_type().is_nested() {
            self.countable = false;
        }
        if !self.countable || self.seen.len() > DISTINCT {
            return;
        }
        let data = array.to_data();
        let width = array.data_type().primitive_width();
        let values = data.buffers().first().map(|b| &b.as_slice()[data.offset() * width.unwrap_or(0)..]);
        let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0);
        let valid = |row: &usize| nulls.is_none_or(|nulls| nulls.is_valid(*row));
        let rows = (0..array.len()).filter(valid);
        match (array.data_type(), width, values) {
            (_, Some(1), Some(values)) => self.see(rows.map(|row| values.get(row..row + 1))),
            (_, Some(2), Some(values)) => self.see(rows.map(|row| values.get(row * 2..row * 2 + 2))),
            (_, Some(4), Some(values)) => self.see(rows.map(|row| values.get(row * 4..row * 4 + 4))),
            (_, Some(8), Some(values)) => self.see(rows.map(|row| values.get(row * 8..row * 8 + 8))),
            (_, Some(size), Some(values)) => {
                self.see(rows.map(|row| values.get(row * size..(row + 1) * size)))
            }
            (DataType::Utf8, ..) => {
                let texts = array.as_string::<i32>();
                self.see(rows.map(|row| Some(texts.value(row).as_bytes())));
            }
            (DataType::LargeUtf8, ..) => {
                let texts = array.as_string::<i64>();
                self.see(rows.map(|row| Some(texts.value(row).as_bytes())));
            }
            (DataType::Utf8View, ..) => {
                let texts = array.as_string_view();
                self.see(rows.map(|row| Some(texts.value(row).as_bytes())));
            }
            (DataType::Boolean, ..) => {
                let flags = array.as_boolean();
                self.see(rows.map(|row| Some(if flags.value(row) { &b"t"[..] } else { b"f" })));
            }
            _ => self.see(rows.map(|row| cell::binary(array.as_ref(), row))),
        }
    }

    /// Counts values that were not seen yet, until there are too many; `None` is one that cannot be
    /// compared.
    fn see<'a>(&mut self, values: impl Iterator<Item = Option<&'a [u8]>>) {
        // Runs of one value are common, and comparing costs less than hashing.
        let mut before: Option<&[u8]> = None;
        for value in values {
            let Some(bytes) = value else {
                self.countable = false;
                return;
            };
            if before != value && !self.seen.contains(bytes) {
                self.seen.insert(bytes.into());
                if self.seen.len() > DISTINCT {
                    return;
                }
            }
            before = value;
        }
    }

    fn finish(mut self) -> ColumnStats {
        let text = |best: &Option<ArrayRef>| match best.as_ref()?.as_primitive_opt::<Float16Type>() {
            // The shortest text of a half is not near enough to compute with.
            Some(half) => Some(cell::float64(half.value(0).to_f64())),
            None => cell::text(best.as_ref()?.as_ref(), 0),
        };
        self.stats.min = text(&self.low);
        self.stats.max = text(&self.high);
        self.stats.sum = self.numeric.then_some(self.moments.sum);
        self.stats.mean = self.moments.mean().filter(|_| self.numeric);
        self.stats.distinct = self.countable.then_some(match self.seen.len() {
            n if n > DISTINCT => Distinct::AtLeast(DISTINCT as u64),
            n => Distinct::Exactly(n as u64),
        });
        self.stats
    }
}

/// Dictionaries and run ends are looked through.
pub(super) fn decoded(array: &ArrayRef) -> Result<ArrayRef> {
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

/// Hashes for counting: a few instructions for eight bytes. The seed differs from run to run, so that
/// no file can be made to collide.
#[derive(Clone)]
struct Seed(u64);

impl Default for Seed {
    fn default() -> Self {
        Seed(std::hash::RandomState::new().hash_one(0))
    }
}

impl BuildHasher for Seed {
    type Hasher = Mixer;

    fn build_hasher(&self) -> Mixer {
        Mixer(self.0)
    }
}

struct Mixer(u64);

impl Mixer {
    fn mix(&mut self, word: u64) {
        // Both halves of a wide product depend on all bits of both factors.
        let product = u128::from(self.0 ^ word) * 0x9e37_79b9_7f4a_7c15u128;
        self.0 = (product >> 64) as u64 ^ product as u64;
    }
}

impl Hasher for Mixer {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| self.mix(u64::from_le_bytes(*word)));
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.mix(u64::from_le_bytes(last) ^ (bytes.len() as u64) << 56);
    }

    fn write_usize(&mut self, _length: usize) {
        // The length of the bytes is mixed in with their last word.
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Keeps the better of the best so far and row `index` of `array`.
pub(super) fn replace(
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
    use crate::data::content::table::{Columns, MemoryTable};
    use arrow::array::*;
    use std::sync::Arc;

    #[test]
    fn columns_of_many_types() {
        let decimals =
            Decimal128Array::from(vec![Some(250), None, Some(-125)]).with_precision_and_scale(8, 2).unwrap();
        let batch = RecordBatch::try_from_iter([
            ("f", Arc::new(Float64Array::from(vec![Some(1.5), Some(f64::NAN), None])) as ArrayRef),
            ("s", Arc::new(StringArray::from(vec![Some("b"), Some("a"), Some("b")]))),
            ("d", Arc::new(decimals)),
        ])
        .unwrap();
        let stats = table(&MemoryTable::new(batch), &Task::new(), &[0, 1, 2]).unwrap();
        let column = |i: usize| stats.columns[i].as_ref().unwrap();
        assert_eq!((column(0).nulls, column(0).nan, column(0).min.as_deref()), (1, 1, Some("1.5")));
        assert_eq!((column(1).min.as_deref(), column(1).max.as_deref()), (Some("a"), Some("b")));
        assert_eq!(column(1).distinct, Some(Distinct::Exactly(2)));
        assert_eq!((column(2).min.as_deref(), column(2).sum), (Some("-1.25"), Some(1.25)));
    }

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

    #[test]
    fn many_steps_add_up_to_the_whole() {
        let column = |range: std::ops::Range<i64>| -> ArrayRef {
            Arc::new(Int64Array::from_iter(range.map(|n| (n % 11 != 0).then_some(n))))
        };
        let other = |range: std::ops::Range<i64>| -> ArrayRef {
            Arc::new(StringArray::from_iter_values(range.map(|n| format!("{}", n % 50))))
        };
        let both = move |range: std::ops::Range<i64>| {
            let columns = [("n", column(range.clone())), ("s", other(range))];
            Arc::new(MemoryTable::new(RecordBatch::try_from_iter(columns).unwrap()))
        };
        let parts = (0..23).map(|part| {
            let open = move |_: &Task| Ok(both(part * 100..part * 100 + 100) as Arc<dyn Table>);
            crate::engines::multifile::concat::Part::new(part.to_string(), 0, Box::new(open))
        });
        let joined =
            crate::engines::multifile::concat::tables(&Task::new(), parts.collect(), Vec::new()).unwrap();
        let many = table(&*joined.table, &Task::new(), &[0, 1]).unwrap();
        let one = table(&*both(0..2300), &Task::new(), &[0, 1]).unwrap();
        assert_eq!((many.rows, one.rows), (2300, 2300));
        for (a, b) in many.columns.iter().zip(&one.columns) {
            assert_eq!(format!("{a:?}"), format!("{b:?}"));
        }
        let n = many.columns[0].as_ref().unwrap();
        assert_eq!((n.min.as_deref(), n.max.as_deref(), n.nulls), (Some("1"), Some("2298"), 210));
    }

    /// Rows of which the first and the tenth to twelfth are there; the others are 5.
    struct Sparse(SchemaRef, u64);

    impl Table for Sparse {
        fn schema(&self) -> &SchemaRef {
            &self.0
        }
        fn rows(&self) -> crate::data::content::Rows {
            crate::data::content::Rows::Exact(self.1)
        }
        fn read(&self, _: &Task, rows: Range<u64>, columns: &[usize]) -> Result<RecordBatch> {
            let value = |row: u64| match row {
                0 => None,
                10..13 => Some(row as f64),
                _ => Some(5.0),
            };
            let column: ArrayRef = Arc::new(Float64Array::from_iter(rows.clone().map(value)));
            let len = column.len();
            crate::data::content::table::batch(&self.0, columns, vec![column; columns.len()], len)
        }
        fn alike(&self, _: &Task, at: u64) -> Result<u64> {
            Ok(match at {
                0 | 10..13 => 0,
                1..10 => 10 - at,
                _ => self.1 - at,
            })
        }
    }

    #[test]
    fn a_pass_that_would_never_end_is_refused() {
        struct Endless(Sparse);
        impl Table for Endless {
            fn schema(&self) -> &SchemaRef {
                self.0.schema()
            }
            fn rows(&self) -> crate::data::content::Rows {
                self.0.rows()
            }
            fn read(&self, task: &Task, rows: Range<u64>, columns: &[usize]) -> Result<RecordBatch> {
                self.0.read(task, rows, columns)
            }
        }
        let schema = Arc::new(Schema::new(vec![Field::new("f", DataType::Float64, true)]));
        let endless = Endless(Sparse(schema, u64::MAX));
        let error = table(&endless, &Task::new(), &[0]).unwrap_err();
        assert_eq!(error.kind(), crate::bytes::error::ErrorKind::Limit);
        assert_eq!(table(&endless, &Task::new(), &[]).unwrap().rows, u64::MAX);
    }

    #[test]
    fn equal_rows_are_counted_by_one_of_them() {
        let schema = Arc::new(Schema::new(vec![Field::new("f", DataType::Float64, true)]));
        let of = |rows| table(&Sparse(schema.clone(), rows), &Task::new(), &[0]).unwrap();
        let all = of(1 << 60);
        let column = all.columns[0].as_ref().unwrap();
        assert_eq!((all.rows, column.nulls, column.distinct), (1 << 60, 1, Some(Distinct::Exactly(4))));
        assert_eq!((column.min.as_deref(), column.max.as_deref()), (Some("5.0"), Some("12.0")));
        assert_eq!(column.sum, Some(5.0 * ((1u64 << 60) - 4) as f64 + 33.0));
        let few = of(200_000);
        assert_eq!(few.columns[0].as_ref().unwrap().sum, Some(5.0 * 199_996.0 + 33.0));
    }

    #[test]
    fn text_columns_are_counted_by_the_type_that_their_cells_fit() {
        let typed = [("n", DataType::Int64), ("d", DataType::Date32), ("s", DataType::Utf8)];
        let typed: Columns = typed.into_iter().map(|(name, kind)| Columns::text(name, kind)).collect();
        let numbers = StringArray::from(vec![Some("10"), Some("9"), None, Some("x")]);
        let dates = StringArray::from(vec![Some("2024-01-31"), Some(""), None, Some("2023/12/31")]);
        let words = StringArray::from(vec![Some("b"), Some(""), None, Some("a")]);
        let columns: Vec<ArrayRef> = vec![Arc::new(numbers), Arc::new(dates), Arc::new(words)];
        let stats = table(&MemoryTable::of(typed, columns).unwrap(), &Task::new(), &[0, 1, 2]).unwrap();
        let column = |i: usize| stats.columns[i].as_ref().unwrap();
        let n = column(0);
        assert_eq!((n.nulls, n.unfit, n.sum, n.min.as_deref()), (1, 1, Some(19.0), Some("9")));
        assert_eq!((column(1).nulls, column(1).min.as_deref()), (2, Some("2023-12-31")));
        assert_eq!((column(2).nulls, column(2).max.as_deref(), column(2).sum), (2, Some("b"), None));
    }
}
