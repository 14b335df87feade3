//! Some of a table's rows that stand for all of them, and a table of these alone.
//!
//! Each row is as likely to be among them as any other (a stratified sample: the table is cut into parts of the same
//! length, and of each part neighbours are taken from a random place on). Which ones does not change from look to
//! look, nor with the order in which a view shows the rows ([`Table::sample`]).

use super::table::{Rows, Table, TableFacts, cut, stacked};
use crate::bytes::error::Result;
use crate::bytes::task::Task;
use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{DataType, SchemaRef};
use std::ops::Range;

/// Into how many parts a table is cut whose neighbours are read together.
const PARTS: u64 = 64;

/// A number that is spread evenly, the same for the same word (the finalizer of SplitMix64, Steele and others 2014).
pub fn mixed(word: u64) -> u64 {
    let mut state = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    state = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    state = (state ^ state >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ state >> 31
}

/// `most` of `rows` rows as ranges in order, none of them twice; all where there are not more. Rows that are costly to
/// reach one by one come as neighbours.
pub fn spread(rows: u64, most: u64) -> Vec<Range<u64>> {
    spread_over(rows, most, PARTS)
}

/// The same from `parts` parts: as many as rows are wanted where each row costs the same.
pub fn spread_over(rows: u64, most: u64, parts: u64) -> Vec<Range<u64>> {
    if rows <= most {
        return std::iter::once(0..rows).collect();
    }
    let parts = parts.min(most).max(1);
    let edge = |part: u64| (u128::from(rows) * u128::from(part) / u128::from(parts)) as u64;
    let mut out: Vec<Range<u64>> = Vec::new();
    for part in 0..parts {
        let (from, to) = (edge(part), edge(part + 1));
        let wanted = (most / parts).min(to - from);
        // From any row of the part on, and at its end on from its begin: so all are as likely.
        let start = from + mixed(part ^ rows.rotate_left(32)) % (to - from).max(1);
        let end = start + wanted;
        if end > to {
            out.push(from..from + (end - to));
        }
        out.push(start..end.min(to));
    }
    out.retain(|range| !range.is_empty());
    out
}

/// Rows of a table as a table of their own.
pub struct Picked<'a> {
    table: &'a dyn Table,
    /// The rows, and the number that the first of each range has here.
    ranges: Vec<(Range<u64>, u64)>,
    rows: u64,
}

impl<'a> Picked<'a> {
    /// These rows of a table.
    pub fn new(table: &'a dyn Table, ranges: Vec<Range<u64>>) -> Self {
        let mut rows = 0;
        let place = |range: Range<u64>| {
            let first = rows;
            rows += range.end - range.start;
            (range, first)
        };
        let ranges = ranges.into_iter().map(place).collect();
        Picked { table, ranges, rows }
    }

    /// A sample of about `most` rows; all where there are not more.
    ///
    /// # Errors
    /// What reading the table gives; `Cancelled`.
    pub fn sample(table: &'a dyn Table, task: &Task, most: u64) -> Result<Self> {
        Ok(Picked::new(table, table.sample(task, most)?))
    }

    /// How many rows these are.
    pub fn len(&self) -> u64 {
        self.rows
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }
}

impl Table for Picked<'_> {
    fn schema(&self) -> &SchemaRef {
        self.table.schema()
    }

    fn rows(&self) -> Rows {
        Rows::Exact(self.rows)
    }

    fn read(&self, task: &Task, rows: Range<u64>, columns: &[usize]) -> Result<RecordBatch> {
        let rows = cut(&rows, self.rows);
        let first =
            self.ranges.partition_point(|(range, first)| first + (range.end - range.start) <= rows.start);
        let mut read = Vec::new();
        for (range, first) in self.ranges.get(first..).unwrap_or_default() {
            if *first >= rows.end {
                break;
            }
            task.check()?;
            let from = range.start + rows.start.saturating_sub(*first);
            let to = range.end.min(range.start + (rows.end - first));
            read.push(self.table.read(task, from..to, columns)?);
        }
        if let [one] = read.as_slice() {
            return Ok(one.clone());
        }
        let count = read.iter().map(RecordBatch::num_rows).sum();
        let parts: Vec<&[ArrayRef]> = read.iter().map(RecordBatch::columns).collect();
        stacked(self.table.schema(), columns, &parts, count)
    }

    fn inferred(&self, column: usize) -> Option<&DataType> {
        self.table.inferred(column)
    }

    fn scan_step(&self, at: u64) -> u64 {
        match self.ranges.as_slice() {
            [(range, _)] => self.table.scan_step(range.start.saturating_add(at)),
            _ => 1_024,
        }
    }

    fn equal_rows(&self, task: &Task, at: u64) -> Result<u64> {
        let next = self.ranges.partition_point(|(_, first)| *first <= at);
        let Some((range, first)) = next.checked_sub(1).and_then(|n| self.ranges.get(n)) else { return Ok(0) };
        let row = range.start.saturating_add(at - first);
        Ok(self.table.equal_rows(task, row)?.min(range.end.saturating_sub(row)))
    }

    fn facts(&self) -> TableFacts {
        TableFacts::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::content::table::MemoryTable;
    use arrow::array::{AsArray, Int64Array};
    use arrow::datatypes::Int64Type;
    use proptest::prelude::*;
    use std::sync::Arc;

    proptest! {
        #[test]
        fn ranges_lie_in_order_within_the_table(rows in 0u64..3_000_000, most in 1u64..30_000, parts in 1u64..30_000) {
            let ranges = spread_over(rows, most, parts);
            let mut at = 0;
            for range in &ranges {
                prop_assert!(range.start >= at && (range.start < range.end || rows == 0) && range.end <= rows);
                at = range.end;
            }
            let count: u64 = ranges.iter().map(|range| range.end - range.start).sum();
            prop_assert!(count <= most && (rows <= most || count + parts.min(most) > most), "{} of {}", count, most);
            prop_assert!(rows > most || count == rows);
        }

        #[test]
        fn picked_rows_are_those_of_the_table(rows in 1u64..5_000, most in 1u64..400, from in 0u64..400, len in 0u64..400) {
            let column: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows as i64));
            let table = MemoryTable::new(RecordBatch::try_from_iter([("n", column)]).unwrap());
            let ranges = spread_over(rows, most, 7);
            let all: Vec<i64> = ranges.iter().cloned().flatten().map(|row| row as i64).collect();
            let picked = Picked::new(&table, ranges);
            let read = picked.read(&Task::new(), from..from + len, &[0]).unwrap();
            let end = all.len().min((from + len) as usize);
            let there = all.get((from as usize).min(end)..end).unwrap();
            prop_assert_eq!(read.column(0).as_primitive::<Int64Type>().values().to_vec(), there.to_vec());
        }
    }

    #[test]
    fn each_row_is_as_likely_as_any_other() {
        // Over tables of many lengths no place of a table is left out, the first and the last rows least of all.
        let mut counts = [0u64; 10];
        for rows in 10_000..11_000 {
            for range in spread(rows, 640) {
                range.for_each(|row| counts[(row * 10 / rows) as usize] += 1);
            }
        }
        assert!(counts.iter().all(|count| (62_000..66_000).contains(count)), "{counts:?}");
    }
}
