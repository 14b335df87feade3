//! Statistics of a table's columns: one pass over all rows, columns in parallel.

use super::Moments;
use crate::cell;
use crate::content::Table;
use crate::error::Result;
use crate::lines::types;
use crate::task::Task;
use arrow::array::{Array, ArrayRef, AsArray, make_comparator};
use arrow::compute::SortOptions;
use arrow::datatypes::*;
use rayon::prelude::*;
use std::cmp::Ordering;
use std::collections::HashSet;
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

/// Statistics of the columns `columns`, in this order.
pub fn table(table: &dyn Table, task: &Task, columns: &[usize]) -> Result<TableStats> {
    let rows = table.count(task)?;
    task.expect(rows);
    let schema = table.schema();
    let mut folds: Vec<Result<Fold>> =
        columns.iter().map(|&i| Ok(Fold::new(schema.fields().get(i).map(|f| f.as_ref())))).collect();
    let mut at = 0;
    while at < rows {
        let end = at.saturating_add(table.scan_step(at).max(1)).min(rows);
        let arrays = crate::content::table::read_each(table, task, at..end, columns)?;
        folds.par_iter_mut().zip(arrays).for_each(|(fold, array)| match (&mut *fold, array) {
            (Ok(f), Ok(array)) => {
                if let Err(error) = f.add(&array) {
                    *fold = Err(error);
                }
            }
            (Ok(_), Err(error)) => *fold = Err(error),
            (Err(_), _) => {}
        });
        task.advance(end - at)?;
        at = end;
    }
    Ok(TableStats { rows, columns: folds.into_iter().map(|fold| fold.map(Fold::finish)).collect() })
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
    seen: HashSet<Box<[u8]>>,
    countable: bool,
}

impl Fold {
    fn new(field: Option<&Field>) -> Self {
        let name = field.map_or(String::new(), |f| f.name().clone());
        Fold {
            inferred: field.and_then(types::inferred),
            stats: ColumnStats { name, ..ColumnStats::default() },
            numeric: false,
            moments: Moments::default(),
            low: None,
            high: None,
            seen: HashSet::new(),
            countable: true,
        }
    }

    fn add(&mut self, array: &ArrayRef) -> Result<()> {
        let (array, unfit) = match (&self.inferred, array.as_string_opt::<i32>()) {
            (Some(kind), Some(cells)) => types::typed(cells, kind),
            _ => (Arc::clone(array), 0),
        };
        // A dictionary that holds null as a value is no null of the column, as Arrow counts them.
        let nulls = match array.data_type() {
            DataType::Dictionary(_, _) => array.null_count() as u64,
            _ => array.logical_null_count() as u64,
        };
        self.stats.unfit += unfit;
        self.stats.nulls += nulls.saturating_sub(unfit);
        let array = &plain(&array)?;
        self.numbers(array);
        self.distinct(array);
        self.extremes(array)
    }

    fn numbers(&mut self, array: &ArrayRef) {
        macro_rules! each {
            ($($variant:ident => $ty:ty),*) => { match array.data_type() {
                $( DataType::$variant => array.as_primitive::<$ty>().iter().flatten().map(|v| f64::from(v)).collect(), )*
                DataType::Int64 => array.as_primitive::<Int64Type>().iter().flatten().map(|v| v as f64).collect(),
                DataType::UInt64 => array.as_primitive::<UInt64Type>().iter().flatten().map(|v| v as f64).collect(),
                DataType::Decimal32(_, _) | DataType::Decimal64(_, _) | DataType::Decimal128(_, _) | DataType::Decimal256(_, _) =>
                    (0..array.len()).filter_map(|i| cell::text(array.as_ref(), i)?.parse::<f64>().ok()).collect(),
                _ => return,
            } };
        }
        let values: Vec<f64> = each!(Int8 => Int8Type, Int16 => Int16Type, Int32 => Int32Type, UInt8 => UInt8Type,
            UInt16 => UInt16Type, UInt32 => UInt32Type, Float16 => Float16Type, Float32 => Float32Type, Float64 => Float64Type);
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
        let counts = |i: usize| array.is_valid(i) && is_finite(array.as_ref(), i);
        let Ok(compare) = make_comparator(array, array, SortOptions::default()) else { return Ok(()) };
        let (mut low, mut high): (Option<usize>, Option<usize>) = (None, None);
        for i in (0..array.len()).filter(|&i| counts(i)) {
            if low.is_none_or(|best| compare(i, best) == Ordering::Less) {
                low = Some(i);
            }
            if high.is_none_or(|best| compare(i, best) == Ordering::Greater) {
                high = Some(i);
            }
        }
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
        let size = array.data_type().primitive_width();
        let data = array.to_data();
        let fixed = size
            .and_then(|size| data.buffers().first().map(|b| (size, &b.as_slice()[data.offset() * size..])));
        // Runs of one value are common, and comparing costs less than hashing.
        let mut before: Option<&[u8]> = None;
        for row in 0..array.len() {
            if self.seen.len() > DISTINCT {
                break;
            }
            if array.is_null(row) {
                continue;
            }
            let value: Option<&[u8]> = match (fixed, array.data_type()) {
                (Some((size, bytes)), _) => bytes.get(row * size..(row + 1) * size),
                (_, DataType::Utf8) => Some(array.as_string::<i32>().value(row).as_bytes()),
                (_, DataType::LargeUtf8) => Some(array.as_string::<i64>().value(row).as_bytes()),
                (_, DataType::Utf8View) => Some(array.as_string_view().value(row).as_bytes()),
                (_, DataType::Boolean) => Some(if array.as_boolean().value(row) { b"t" } else { b"f" }),
                _ => cell::binary(array.as_ref(), row),
            };
            match value {
                Some(value) if before == Some(value) => {}
                Some(value) if !self.seen.contains(value) => drop(self.seen.insert(value.into())),
                Some(_) => {}
                None => self.countable = false,
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
fn plain(array: &ArrayRef) -> Result<ArrayRef> {
    match array.data_type() {
        DataType::Dictionary(_, value) => Ok(arrow::compute::cast(array, value)?),
        DataType::RunEndEncoded(_, value) => Ok(arrow::compute::cast(array, value.data_type())?),
        _ => Ok(array.clone()),
    }
}

fn is_finite(array: &dyn Array, row: usize) -> bool {
    match array.data_type() {
        DataType::Float16 => array.as_primitive::<Float16Type>().value(row).is_finite(),
        DataType::Float32 => array.as_primitive::<Float32Type>().value(row).is_finite(),
        DataType::Float64 => array.as_primitive::<Float64Type>().value(row).is_finite(),
        _ => true,
    }
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
    use crate::content::table::MemoryTable;
    use crate::lines::types;
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
    fn text_columns_are_counted_by_the_type_that_their_cells_fit() {
        let schema = Arc::new(Schema::new(vec![
            types::field("n", &DataType::Int64),
            types::field("d", &DataType::Date32),
            types::field("s", &DataType::Utf8),
        ]));
        let numbers = StringArray::from(vec![Some("10"), Some("9"), None, Some("x")]);
        let dates = StringArray::from(vec![Some("2024-01-31"), Some(""), None, Some("2023/12/31")]);
        let words = StringArray::from(vec![Some("b"), Some(""), None, Some("a")]);
        let columns: Vec<ArrayRef> = vec![Arc::new(numbers), Arc::new(dates), Arc::new(words)];
        let batch = RecordBatch::try_new(schema, columns).unwrap();
        let stats = table(&MemoryTable::new(batch), &Task::new(), &[0, 1, 2]).unwrap();
        let column = |i: usize| stats.columns[i].as_ref().unwrap();
        let n = column(0);
        assert_eq!((n.nulls, n.unfit, n.sum, n.min.as_deref()), (1, 1, Some(19.0), Some("9")));
        assert_eq!((column(1).nulls, column(1).min.as_deref()), (2, Some("2023-12-31")));
        assert_eq!((column(2).nulls, column(2).max.as_deref(), column(2).sum), (2, Some("b"), None));
    }
}
