//! Statistics of a table's columns: one pass over all rows, row groups read and columns counted in
//! parallel. Of very many columns some at a time.

use super::column::ColumnCounts;
use super::distinct::{self, DistinctValues};
use super::{Distinct, Moments};
use crate::bytes::error::Result;
use crate::bytes::task::Task;
use crate::data::content::Table;
use crate::data::scan::{fold_columns, fold_together};
use crate::data::{cell, infer};
use arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray};
use arrow::datatypes::*;
use rayon::prelude::*;
use std::ops::Range;

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

/// The most columns that a pass over the rows takes: each keeps about two kilobytes, different values aside, with the
/// arrays that were read of it.
pub(super) const GROUP: usize = 1 << 16;

/// How much is kept at once, whatever the number of columns.
struct Bounds {
    /// Columns of a pass.
    group: usize,
    /// Different values of all of them together.
    values: usize,
    /// Where there is little room for more values, so many cells are looked at before all columns are seen together
    /// again.
    cells: usize,
}

const BOUNDS: Bounds = Bounds { group: GROUP, values: distinct::ALL, cells: distinct::ALL >> 3 };

/// Statistics of the columns `columns`, in this order. Of very many columns the rows are read several times, for some
/// of the columns each; more columns than 128 share a bound for the different values that are counted.
///
/// # Errors
/// `Cancelled`; what keeps the table from being read at all. A column that cannot be read has its own error.
pub fn table(table: &dyn Table, task: &Task, columns: &[usize]) -> Result<TableStats> {
    let mut found = Vec::with_capacity(columns.len());
    let rows = table_groups(table, task, columns, &mut |group| found.extend(group))?;
    Ok(TableStats { rows, columns: found })
}

/// [`table`] that hands over the statistics of some columns after the other, in their order, and gives the number of
/// rows: those of all columns of very wide tables take much memory.
///
/// # Errors
/// As [`table`].
pub fn table_groups(
    table: &dyn Table,
    task: &Task,
    columns: &[usize],
    each: &mut dyn FnMut(Vec<Result<ColumnStats>>),
) -> Result<u64> {
    let Some(passes) = table.passes() else { return bounded(table, task, columns, &BOUNDS, each) };
    let found = passes.stats(task, columns)?;
    each(found.columns);
    Ok(found.rows)
}

fn bounded(
    table: &dyn Table,
    task: &Task,
    columns: &[usize],
    bounds: &Bounds,
    each: &mut dyn FnMut(Vec<Result<ColumnStats>>),
) -> Result<u64> {
    let rows = table.count(task)?;
    task.set_total(rows.saturating_mul(columns.len().div_ceil(bounds.group) as u64));
    for group in columns.chunks(bounds.group) {
        let is_shared = group.len().saturating_mul(distinct::MOST) > bounds.values;
        let fold = |&column: &usize| (column, ColumnFold::new(table, column, is_shared));
        let folds = group.iter().map(fold).collect();
        let folds = match is_shared {
            true => fold_together(task, table, rows, folds, ColumnFold::add, &|folds| share(folds, bounds)),
            false => fold_columns(task, table, rows, folds, ColumnFold::add),
        }?;
        each(folds.into_iter().map(|fold| fold.map(ColumnFold::finish)).collect());
    }
    Ok(rows)
}

/// Counts the different values of the arrays that wait, some rows of all columns at a time: so what comes out of the
/// same steps depends neither on threads nor on the order of columns.
fn share(folds: &mut [&mut ColumnFold], bounds: &Bounds) {
    let mut open: Vec<&mut ColumnFold> = Vec::with_capacity(folds.len());
    open.extend(folds.iter_mut().map(|fold| &mut **fold).filter(|fold| fold.distinct.is_counting()));
    let rows =
        open.iter().map(|fold| fold.waiting.as_ref().map_or(0, |array| array.len())).max().unwrap_or(0);
    let mut from = 0;
    while from < rows {
        open.retain(|fold| fold.distinct.is_counting());
        let counts: Vec<usize> = open.iter().map(|fold| fold.distinct.len()).collect();
        let room = bounds.values.saturating_sub(counts.iter().sum());
        let piece = (room.max(bounds.cells) / open.len().max(1)).clamp(1, rows - from);
        let level = distinct::level(&counts, piece, bounds.values);
        open.par_iter_mut().for_each(|fold| fold.count_waiting(from..from + piece, level));
        from += piece;
    }
    folds.par_iter_mut().for_each(|fold| fold.waiting = None);
}

/// A column's running state.
struct ColumnFold {
    name: String,
    counts: ColumnCounts,
    numeric: bool,
    moments: Moments,
    distinct: DistinctValues,
    /// Whether different values are counted when those of all columns are.
    is_shared: bool,
    /// The array that waits for that.
    waiting: Option<ArrayRef>,
}

impl ColumnFold {
    fn new(table: &dyn Table, column: usize, is_shared: bool) -> Self {
        ColumnFold {
            name: table.schema().fields().get(column).map_or(String::new(), |field| field.name().clone()),
            counts: ColumnCounts::new(infer::inferred(table, column)),
            numeric: false,
            moments: Moments::default(),
            distinct: DistinctValues::new(),
            is_shared,
            waiting: None,
        }
    }

    /// Adds an array that stands so many times in the column; more than once if it is one row.
    fn add(&mut self, array: &ArrayRef, times: u64) -> Result<()> {
        let array = self.counts.add(array, times)?;
        self.numbers(&array, times);
        match self.is_shared && self.distinct.is_counting() {
            true => self.waiting = Some(array),
            false => self.distinct.add(&array, distinct::MOST),
        }
        Ok(())
    }

    /// Counts the different values of some rows of the array that waits, up to `level`.
    fn count_waiting(&mut self, rows: Range<usize>, level: usize) {
        let Some(array) = &self.waiting else { return };
        let end = rows.end.min(array.len());
        if rows.start < end {
            // A column above the level keeps what it has.
            let most = self.distinct.len().max(level);
            self.distinct.add(&array.slice(rows.start, end - rows.start), most);
        }
    }

    fn numbers(&mut self, array: &ArrayRef, times: u64) {
        macro_rules! each {
            ($($variant:ident => $ty:ty),*) => { match array.data_type() {
                $( DataType::$variant => self.sums(array.as_primitive::<$ty>(), times, |v| f64::from(v)), )*
                DataType::Int64 => self.sums(array.as_primitive::<Int64Type>(), times, |v| v as f64),
                DataType::UInt64 => self.sums(array.as_primitive::<UInt64Type>(), times, |v| v as f64),
                DataType::Decimal32(_, _) | DataType::Decimal64(_, _) | DataType::Decimal128(_, _)
                | DataType::Decimal256(_, _) => {
                    let value = |i| cell::text(array.as_ref(), i)?.parse::<f64>().ok();
                    self.add_sums((0..array.len()).filter_map(value), times);
                }
                _ => {}
            } };
        }
        each!(Int8 => Int8Type, Int16 => Int16Type, Int32 => Int32Type, UInt8 => UInt8Type,
            UInt16 => UInt16Type, UInt32 => UInt32Type, Float16 => Float16Type, Float32 => Float32Type, Float64 => Float64Type);
    }

    fn sums<T: ArrowPrimitiveType>(
        &mut self,
        array: &PrimitiveArray<T>,
        times: u64,
        value: impl Fn(T::Native) -> f64,
    ) {
        match array.null_count() {
            0 => self.add_sums(array.values().iter().map(|&v| value(v)), times),
            _ => self.add_sums(array.iter().flatten().map(value), times),
        }
    }

    fn add_sums(&mut self, values: impl Iterator<Item = f64>, times: u64) {
        self.numeric = true;
        let (mut sum, mut count, mut nan, mut inf) = (0.0, 0u64, 0, 0);
        for value in values {
            if value.is_finite() {
                sum += value;
                count += 1;
            } else if value.is_nan() {
                nan += 1;
            } else {
                inf += 1;
            }
        }
        self.counts.nan += nan * times;
        self.counts.inf += inf * times;
        let (count, sum) = (count.saturating_mul(times), sum * times as f64);
        self.moments = self.moments.merge(Moments { count, sum, ..Moments::default() });
    }

    fn finish(mut self) -> ColumnStats {
        // The one cell of a column of nulls alone waits for nobody.
        if let Some(array) = self.waiting.take() {
            self.distinct.add(&array, distinct::MOST);
        }
        let text = |end: Option<&ArrayRef>| match end?.as_primitive_opt::<Float16Type>() {
            // The shortest text of a half is not near enough to compute with.
            Some(half) => Some(cell::float64(half.value(0).to_f64())),
            None => cell::text(end?.as_ref(), 0),
        };
        let [min, max] = self.counts.ends().map(text);
        ColumnStats {
            name: self.name,
            nulls: self.counts.nulls,
            nan: self.counts.nan,
            inf: self.counts.inf,
            min,
            max,
            sum: self.numeric.then_some(self.moments.sum),
            mean: self.moments.mean().filter(|_| self.numeric),
            distinct: self.distinct.count(),
            unfit: self.counts.unfit,
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::data::content::table::{Columns, MemoryTable};
    use crate::engines::multifile::concat::Part;
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

    /// Columns of 1,000 rows in steps of 300; column `n` has `n` different numbers, and 0 a sum that depends on the order.
    fn wide(columns: usize) -> Arc<dyn Table> {
        let column = |n: usize| -> ArrayRef {
            match n {
                0 => Arc::new(Float64Array::from_iter_values((0..1_000).map(|row| 0.1 * f64::from(row % 7)))),
                1 => Arc::new(StringArray::from_iter_values(
                    (0..1_000).map(|row| format!("row {row} of all rows")),
                )),
                n => Arc::new(Int64Array::from_iter_values((0..1_000).map(|row| (row * 7 % n) as i64))),
            }
        };
        let columns = (0..columns).map(|n| (format!("c{n}"), column(n)));
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let part = |part: usize| {
            let rows: Arc<dyn Table> = Arc::new(MemoryTable::new(batch.slice(part * 250, 250)));
            Part::new(part.to_string(), 0, Box::new(move |_: &Task| Ok(rows.clone())))
        };
        crate::engines::multifile::concat::tables(&Task::new(), (0..4).map(part).collect(), Vec::new())
            .unwrap()
            .table
    }

    /// The statistics of columns of such a table, with how far the task came.
    fn within(table: &dyn Table, columns: &[usize], bounds: &Bounds) -> (Vec<ColumnStats>, (u64, u64)) {
        let (task, mut found) = (Task::new(), Vec::new());
        let mut each = |group: Vec<Result<ColumnStats>>| found.extend(group.into_iter().map(Result::unwrap));
        let rows = bounded(table, &task, columns, bounds, &mut each).unwrap();
        assert_eq!(rows, table.rows().number());
        (found, task.progress())
    }

    fn distinct(stats: &[ColumnStats]) -> Vec<Distinct> {
        stats.iter().map(|column| column.distinct.unwrap()).collect()
    }

    #[test]
    fn columns_in_groups_are_what_they_are_at_once() {
        let table = wide(11);
        let all: Vec<usize> = (0..11).rev().collect();
        let of = |bounds: &Bounds| {
            let (found, progress) = within(&*table, &all, bounds);
            (found.iter().map(|column| format!("{column:?}")).collect::<Vec<_>>(), progress)
        };
        let (whole, progress) = of(&BOUNDS);
        assert_eq!(progress, (1_000, 1_000));
        for group in [1, 3, 11] {
            let (found, progress) = of(&Bounds { group, ..BOUNDS });
            assert_eq!(found, whole, "{group}");
            let rows = 1_000 * 11u64.div_ceil(group as u64);
            assert_eq!(progress, (rows, rows));
            // The same where they share a bound that has room for all.
            let (found, _) = of(&Bounds { group, values: 5_000, cells: 64 });
            assert_eq!(found, whole, "{group}");
        }
    }

    #[test]
    fn different_values_of_all_columns_have_one_bound() {
        let table = wide(200);
        let all: Vec<usize> = (0..200).collect();
        let of = |values: usize| distinct(&within(&*table, &all, &Bounds { values, cells: 200, ..BOUNDS }).0);
        let exact = of(usize::MAX);
        assert_eq!(exact[..4], [7, 1_000, 2, 3].map(Distinct::Exactly));
        // All 20,000 and more have no room; those with few values keep theirs, of the others so many are told at least.
        let found = of(6_000);
        let mut kept = 0;
        for (found, exact) in found.iter().zip(&exact) {
            let Distinct::Exactly(all) = *exact else { panic!("{exact:?}") };
            match *found {
                Distinct::Exactly(count) => {
                    assert_eq!(count, all);
                    kept += count;
                }
                Distinct::AtLeast(count) => assert!(count >= 6_000 / 200 && count < all, "{count} of {all}"),
                Distinct::About(_) => panic!("{found:?}"),
            }
        }
        assert!(kept <= 6_000 && found[2..30] == exact[2..30], "{kept}");
        assert!(matches!(found[1], Distinct::AtLeast(_)), "{:?}", found[1]);
        assert_eq!(of(6_000), found, "the same each time");
    }

    #[test]
    fn columns_share_a_bound_where_there_are_many_alone() {
        // As many columns as may each have all of their values.
        let at = |columns: usize, rows: usize| {
            let column: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows as i64));
            let columns = (0..columns).map(|n| (n.to_string(), column.clone()));
            let table = MemoryTable::new(RecordBatch::try_from_iter(columns).unwrap());
            let all: Vec<usize> = (0..table.schema().fields().len()).collect();
            let bounds = Bounds { values: distinct::MOST * 2, ..BOUNDS };
            distinct(&within(&table, &all, &bounds).0)
        };
        assert_eq!(at(2, 70_000), [Distinct::AtLeast(65_536); 2]);
        assert_eq!(at(2, 65_536), [Distinct::Exactly(65_536); 2]);
        assert_eq!(at(4, 70_000), [Distinct::AtLeast(32_768); 4]);
        assert_eq!(at(4, 32_768), [Distinct::Exactly(32_768); 4]);
    }

    /// Rows of which the first and the tenth to twelfth are there; the others are 5.
    pub(in crate::data::stats) struct Sparse(pub SchemaRef, pub u64);

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
        fn equal_rows(&self, _: &Task, at: u64) -> Result<u64> {
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
        assert_eq!((column(2).nulls, column(2).min.as_deref(), column(2).sum), (1, Some(""), None));
    }
}
