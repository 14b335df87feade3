//! Which parts of a table, and which ranges of their rows, a filter can want: those that their partition,
//! metadata and row groups' statistics do not rule out. The filter itself is still asked of each row.

use crate::bytes::error::Result;
use crate::bytes::guard::catch_decoder_panic;
use crate::bytes::task::Task;
use crate::data::content::{ColumnStatistics, RowRanges, Table};
use arrow::array::{ArrayRef, BooleanArray, UInt64Array};
use arrow::datatypes::SchemaRef;
use datafusion::catalog::Session;
use datafusion::common::pruning::PruningStatistics;
use datafusion::common::{Column, DFSchema, ScalarValue};
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::utils::conjunction;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_optimizer::pruning::{PruningPredicate, PruningPredicateBuilder};
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

/// A filter as a question to what is known of values.
pub(super) struct Pruning {
    predicate: PruningPredicate,
    schema: SchemaRef,
    /// The columns that it is about.
    columns: Vec<usize>,
}

impl Pruning {
    /// The question of `filters`, all of which have to hold, to columns of `schema`; only the first `own` are
    /// the table's. `None` where nothing that is known could answer it.
    pub(super) fn new(
        state: &dyn Session,
        schema: &SchemaRef,
        own: usize,
        filters: &[Expr],
    ) -> Option<Pruning> {
        let filter = conjunction(filters.iter().cloned())?;
        let named = DFSchema::try_from(schema.clone()).ok()?;
        let expression = state.create_physical_expr(filter, &named).ok()?;
        let mut columns: Vec<usize> = collect_columns(&expression).iter().map(|c| c.index()).collect();
        columns.retain(|&column| column < own && !schema.field(column).data_type().is_nested());
        columns.sort_unstable();
        columns.dedup();
        let predicate =
            PruningPredicateBuilder::new().with_file_schema(schema.clone()).try_build(expression).ok()?;
        let asks = !predicate.always_true() && !columns.is_empty();
        asks.then(|| Pruning { predicate, schema: schema.clone(), columns })
    }

    /// What is asked of each range, for plans.
    pub(super) fn words(&self) -> String {
        self.predicate.orig_expr().to_string()
    }

    /// Which of the ranges may have rows that are wanted.
    fn keep(&self, found: &RowRanges) -> Vec<bool> {
        let rows = UInt64Array::from(found.counts());
        let asked = catch_decoder_panic("statistics", || {
            let known = Stated { pruning: self, found, rows };
            self.predicate.prune(&known).map_err(super::diagnostic::of_run)
        });
        asked.unwrap_or_else(|_| vec![true; found.rows.len()])
    }

    /// Which parts of a table made of parts may have them; `None` for another one, or where all may.
    fn parts(&self, table: &dyn Table) -> Option<Vec<bool>> {
        let keep = self.keep(&table.parts(&self.columns)?);
        keep.contains(&false).then_some(keep)
    }

    /// The table of the parts that may have them, where that is not the whole.
    pub(super) fn narrowed(&self, table: &dyn Table) -> Option<Arc<dyn Table>> {
        table.with_parts(&self.parts(table)?)
    }

    /// The rows of the ranges that may have them; `None` where nothing is known of the table's.
    pub(super) fn ranges(&self, task: &Task, table: &dyn Table) -> Result<Option<Vec<Range<u64>>>> {
        let parts = self.parts(table).unwrap_or_default();
        let Some(found) = table.row_ranges(task, &self.columns, &parts)? else { return Ok(None) };
        let keep = self.keep(&found);
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for (rows, _) in found.rows.into_iter().zip(keep).filter(|(_, keep)| *keep) {
            match ranges.last_mut() {
                Some(last) if last.end == rows.start => last.end = rows.end,
                _ => ranges.push(rows),
            }
        }
        Ok(Some(ranges))
    }
}

/// What is known, as the engine asks for it.
struct Stated<'a> {
    pruning: &'a Pruning,
    found: &'a RowRanges,
    rows: UInt64Array,
}

impl Stated<'_> {
    fn bounds(&self, column: &Column) -> Option<&ColumnStatistics> {
        let index = self.pruning.schema.index_of(&column.name).ok()?;
        let place = self.pruning.columns.iter().position(|&column| column == index)?;
        let bounds = self.found.columns.get(place)?;
        (bounds.min.data_type() == self.pruning.schema.field(index).data_type()).then_some(bounds)
    }
}

impl PruningStatistics for Stated<'_> {
    fn min_values(&self, column: &Column) -> Option<ArrayRef> {
        self.bounds(column).map(|bounds| bounds.min.clone())
    }

    fn max_values(&self, column: &Column) -> Option<ArrayRef> {
        self.bounds(column).map(|bounds| bounds.max.clone())
    }

    fn num_containers(&self) -> usize {
        self.found.rows.len()
    }

    fn null_counts(&self, column: &Column) -> Option<ArrayRef> {
        self.bounds(column).map(|bounds| Arc::new(bounds.nulls.clone()) as ArrayRef)
    }

    fn row_counts(&self) -> Option<ArrayRef> {
        Some(Arc::new(self.rows.clone()))
    }

    fn contained(&self, _column: &Column, _values: &HashSet<ScalarValue>) -> Option<BooleanArray> {
        None
    }
}

#[cfg(test)]
mod tests {
    use crate::bytes::error::Result;
    use crate::bytes::task::Task;
    use crate::data::content::table::{batch, cut};
    use crate::data::content::{ColumnStatistics, RowRanges, Rows, Table};
    use crate::engines::multifile::concat::{Part, tables};
    use crate::query::{Condition, Engine, Filter, Settings, Test, filtered};
    use arrow::array::*;
    use arrow::datatypes::{DataType, Field, Int64Type, Schema, SchemaRef};
    use parking_lot::Mutex;
    use std::ops::Range;
    use std::sync::Arc;

    /// A thousand rows in row groups of a hundred: `a` counts on from `first`, `b` is its text.
    struct Groups {
        first: i64,
        schema: SchemaRef,
        read: Reads,
    }

    /// The rows and columns that were read, with the first `a` of the table.
    type Reads = Arc<Mutex<Vec<(i64, Range<u64>, Vec<usize>)>>>;

    impl Table for Groups {
        fn schema(&self) -> &SchemaRef {
            &self.schema
        }

        fn rows(&self) -> Rows {
            Rows::Exact(1_000)
        }

        fn read(&self, _task: &Task, rows: Range<u64>, columns: &[usize]) -> Result<RecordBatch> {
            let rows = cut(&rows, 1_000);
            self.read.lock().push((self.first, rows.clone(), columns.to_vec()));
            let values = || rows.clone().map(|row| self.first + row as i64);
            let one = |&column: &usize| -> ArrayRef {
                match column {
                    0 => Arc::new(Int64Array::from_iter_values(values())),
                    _ => Arc::new(StringArray::from_iter_values(values().map(|n| n.to_string()))),
                }
            };
            let count = (rows.end - rows.start) as usize;
            batch(&self.schema, columns, columns.iter().map(one).collect(), count)
        }

        fn scan_step(&self, at: u64) -> u64 {
            100 - at % 100
        }

        fn row_ranges(&self, _: &Task, columns: &[usize], _: &[bool]) -> Result<Option<RowRanges>> {
            let rows: Vec<Range<u64>> = (0..10).map(|n| n * 100..(n + 1) * 100).collect();
            let one = |&column: &usize| {
                let end =
                    |last: i64| Int64Array::from_iter_values((0..10).map(|n| self.first + n * 100 + last));
                match column {
                    0 => ColumnStatistics::new(
                        Arc::new(end(0)),
                        Arc::new(end(99)),
                        UInt64Array::from(vec![0; 10]),
                    ),
                    _ => ColumnStatistics::unknown(&DataType::Utf8, 10),
                }
            };
            Ok(Some(RowRanges { rows, columns: columns.iter().map(one).collect() }))
        }
    }

    /// Ten tables, `a` from 0 to 9,999, with the years 2020 to 2024, two of each.
    fn folder() -> (Arc<dyn Table>, Reads) {
        let (read, schema) = (Reads::default(), [("a", DataType::Int64), ("b", DataType::Utf8)]);
        let fields = schema.map(|(name, data_type)| Field::new(name, data_type, true));
        let schema = Arc::new(Schema::new(fields.to_vec()));
        let part = |n: i64| {
            let (schema, read) = (schema.clone(), read.clone());
            let open = move |_: &Task| {
                let (schema, read) = (schema.clone(), read.clone());
                Ok(Arc::new(Groups { first: n * 1_000, schema, read }) as Arc<dyn Table>)
            };
            let constants: Vec<ArrayRef> = vec![Arc::new(Int32Array::from(vec![2020 + n as i32 / 2]))];
            Part { constants, ..Part::new(format!("part {n}"), 0, Box::new(open)) }
        };
        let year = Arc::new(Field::new("year", DataType::Int32, true));
        let joined = tables(&Task::new(), (0..10).map(part).collect(), vec![year]).unwrap();
        (joined.table, read)
    }

    /// The numbers that a statement gives, and what was read for it: rows, and parts by their first `a`.
    fn asked(sql: &str) -> (Vec<i64>, Vec<(i64, Range<u64>, Vec<usize>)>) {
        let (table, read) = folder();
        let engine = Engine::new(Settings { threads: 2, ..Settings::default() }, Vec::new());
        engine.add_table("t", table);
        let answer = engine.run(&Task::new(), sql, |_| ()).unwrap();
        let rows = answer.count(&Task::new()).unwrap();
        let batch = answer.read(&Task::new(), 0..rows, &[0]).unwrap();
        let reads = read.lock().clone();
        (batch.column(0).as_primitive::<Int64Type>().values().to_vec(), reads)
    }

    fn rows(reads: &[(i64, Range<u64>, Vec<usize>)]) -> u64 {
        reads.iter().map(|(_, rows, _)| rows.end - rows.start).sum()
    }

    #[test]
    fn partitions_leave_out_whole_parts() {
        let (sum, reads) = asked("SELECT sum(a) FROM t WHERE year = 2023 AND b <> '6001'");
        assert_eq!(sum, [(6_000..8_000).sum::<i64>() - 6_001]);
        assert_eq!(rows(&reads), 2_000);
        assert!(reads.iter().all(|(first, ..)| [6_000, 7_000].contains(first)), "{reads:?}");
        let (none, reads) = asked("SELECT a FROM t WHERE year > 2024");
        assert!(none.is_empty() && reads.is_empty(), "{reads:?}");
    }

    #[test]
    fn statistics_leave_out_row_groups_and_other_columns_are_not_read() {
        let (values, reads) = asked("SELECT a FROM t WHERE a BETWEEN 4298 AND 4301 OR a = 9000");
        assert_eq!(values, [4298, 4299, 4300, 4301, 9000]);
        assert_eq!(rows(&reads), 300);
        assert!(reads.iter().all(|(_, _, columns)| columns == &[0]), "{reads:?}");
        let (values, reads) = asked("SELECT a FROM t WHERE b = '77'");
        assert_eq!((values, rows(&reads)), (vec![77], 10_000));
    }

    #[test]
    fn a_limit_reads_the_first_rows_only() {
        let (values, reads) = asked("SELECT a FROM t LIMIT 5");
        assert_eq!((values, rows(&reads)), (vec![0, 1, 2, 3, 4], 5));
        let (values, reads) = asked("SELECT a FROM t WHERE year = 2022 LIMIT 3");
        assert_eq!(values, [4000, 4001, 4002]);
        assert!(reads.iter().all(|(first, ..)| [4_000, 5_000].contains(first)), "{reads:?}");
    }

    #[test]
    fn filtered_tables_keep_the_numbers_of_the_whole() {
        let (table, read) = folder();
        let engine = Engine::new(Settings { threads: 2, ..Settings::default() }, Vec::new());
        let low = Test::Between { low: Some("7950".into()), high: None, closed: false };
        let conditions = vec![Condition::new("year", Test::Equals("2023".into())), Condition::new("a", low)];
        let filter = Filter { conditions, expression: String::new() };
        let found = filtered(&engine, &Task::new(), &table, &filter, &[]).unwrap();
        found.answer().wait(&Task::new()).unwrap();
        assert_eq!(found.numbers(&Task::new(), 0..100).unwrap(), (7_950..8_000).collect::<Vec<u64>>());
        // The first rows tell how large rows are.
        let reads = read.lock().clone();
        assert!(rows(&reads) <= 100 + 256, "{reads:?}");
    }
}
