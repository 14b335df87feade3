//! Statistics of a table's columns: one pass over all rows, row groups read and columns counted in
//! parallel.

use super::column::ColumnCounts;
use super::{Distinct, Moments};
use crate::bytes::error::Result;
use crate::bytes::task::Task;
use crate::data::content::Table;
use crate::data::scan::fold_columns;
use crate::data::{cell, infer};
use arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray};
use arrow::datatypes::*;
use std::collections::HashSet;
use std::hash::{BuildHasher, Hasher};

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

/// Distinct values are counted up to here, to bound memory.
const DISTINCT: usize = 1 << 16;
/// Statistics of the columns `columns`, in this order.
pub fn table(table: &dyn Table, task: &Task, columns: &[usize]) -> Result<TableStats> {
    if let Some(passes) = table.passes() {
        return passes.stats(task, columns);
    }
    let rows = table.count(task)?;
    if columns.is_empty() {
        return Ok(TableStats { rows, columns: Vec::new() });
    }
    task.set_total(rows);
    let fold = |&column: &usize| {
        (column, ColumnFold::new(table.schema().fields().get(column), infer::inferred(table, column)))
    };
    let folds = columns.iter().map(fold).collect();
    let folds = fold_columns(task, table, rows, folds, ColumnFold::add)?;
    Ok(TableStats { rows, columns: folds.into_iter().map(|fold| fold.map(ColumnFold::finish)).collect() })
}

/// A column's running state.
struct ColumnFold {
    name: String,
    counts: ColumnCounts,
    numeric: bool,
    moments: Moments,
    seen: HashSet<Box<[u8]>, Seed>,
    countable: bool,
}

impl ColumnFold {
    fn new(field: Option<&FieldRef>, inferred: Option<DataType>) -> Self {
        ColumnFold {
            name: field.map_or(String::new(), |f| f.name().clone()),
            counts: ColumnCounts::new(inferred),
            numeric: false,
            moments: Moments::default(),
            seen: HashSet::default(),
            countable: true,
        }
    }

    /// Adds an array that stands so many times in the column; more than once if it is one row.
    fn add(&mut self, array: &ArrayRef, times: u64) -> Result<()> {
        let array = &self.counts.add(array, times)?;
        self.numbers(array, times);
        self.distinct(array);
        Ok(())
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

    fn distinct(&mut self, array: &ArrayRef) {
        if array.data_type().is_nested() {
            self.countable = false;
        }
        if !self.countable || self.seen.len() > DISTINCT {
            return;
        }
        let data = array.to_data();
        let width = array.data_type().primitive_width();
        let values = data.buffers().first().and_then(|b| b.get(data.offset() * width.unwrap_or(0)..));
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

    fn finish(self) -> ColumnStats {
        let text = |end: Option<&ArrayRef>| match end?.as_primitive_opt::<Float16Type>() {
            // The shortest text of a half is not near enough to compute with.
            Some(half) => Some(cell::float64(half.value(0).to_f64())),
            None => cell::text(end?.as_ref(), 0),
        };
        let [min, max] = self.counts.ends().map(text);
        let distinct = self.countable.then_some(match self.seen.len() {
            n if n > DISTINCT => Distinct::AtLeast(DISTINCT as u64),
            n => Distinct::Exactly(n as u64),
        });
        ColumnStats {
            name: self.name,
            nulls: self.counts.nulls,
            nan: self.counts.nan,
            inf: self.counts.inf,
            min,
            max,
            sum: self.numeric.then_some(self.moments.sum),
            mean: self.moments.mean().filter(|_| self.numeric),
            distinct,
            unfit: self.counts.unfit,
        }
    }
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
        last.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
        self.mix(u64::from_le_bytes(last) ^ (bytes.len() as u64) << 56);
    }

    fn write_usize(&mut self, _length: usize) {
        // The length of the bytes is mixed in with their last word.
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::data::content::table::{Columns, MemoryTable};
    use arrow::array::*;
    use std::ops::Range;
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
