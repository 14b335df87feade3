//! Rows of a table that somebody chose, as a table.

use crate::bytes::error::Result;
use crate::bytes::task::Task;
use crate::data::content::table::{cut, stacked};
use crate::data::content::{Rows, Table, TableFacts};
use crate::data::location::Location;
use crate::data::scan::read_rows;
use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{DataType, SchemaRef};
use std::ops::Range;
use std::sync::Arc;

/// Some rows of a table, in its order.
pub struct ChosenRows {
    table: Arc<dyn Table>,
    /// Each once, in order.
    rows: Vec<u64>,
}

impl ChosenRows {
    /// The rows of these numbers.
    pub fn new(table: Arc<dyn Table>, rows: impl IntoIterator<Item = u64>) -> Self {
        let mut rows: Vec<u64> = rows.into_iter().collect();
        rows.sort_unstable();
        rows.dedup();
        ChosenRows { table, rows }
    }
}

impl Table for ChosenRows {
    fn schema(&self) -> &SchemaRef {
        self.table.schema()
    }

    fn rows(&self) -> Rows {
        Rows::Exact(self.rows.len() as u64)
    }

    fn inferred(&self, column: usize) -> Option<&DataType> {
        self.table.inferred(column)
    }

    fn read(&self, task: &Task, rows: Range<u64>, columns: &[usize]) -> Result<RecordBatch> {
        let rows = cut(&rows, self.rows.len() as u64);
        let wanted = self.rows.get(rows.start as usize..rows.end as usize).unwrap_or_default();
        let mut parts: Vec<Vec<ArrayRef>> = Vec::new();
        // Neighbours are read together.
        for run in wanted.chunk_by(|row, next| row + 1 == *next) {
            task.check()?;
            let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
            let batch = read_rows(self.table.as_ref(), task, *first..last + 1, columns)?;
            parts.push(batch.columns().to_vec());
        }
        stacked(self.table.schema(), columns, &parts, wanted.len())
    }

    fn location(&self, task: &Task, row: u64, column: usize) -> Result<Option<Location>> {
        let number = usize::try_from(row).ok().and_then(|row| self.rows.get(row));
        number.map_or(Ok(None), |number| self.table.location(task, *number, column))
    }

    fn scan_step(&self, _at: u64) -> u64 {
        256
    }

    fn facts(&self) -> TableFacts {
        TableFacts { details: self.table.facts().details, ..TableFacts::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::content::table::MemoryTable;
    use arrow::array::{AsArray, Int64Array};
    use arrow::datatypes::Int64Type;

    #[test]
    fn chosen_rows_come_in_the_order_of_the_table() {
        let column: ArrayRef = Arc::new(Int64Array::from_iter_values((0..100).map(|n| n * n)));
        let table = Arc::new(MemoryTable::new(RecordBatch::try_from_iter([("n", column)]).unwrap()));
        let chosen = ChosenRows::new(table, [50, 7, 8, 9, 7, 99]);
        let read = |rows: Range<u64>| {
            let batch = chosen.read(&Task::new(), rows, &[0]).unwrap();
            batch.column(0).as_primitive::<Int64Type>().values().to_vec()
        };
        assert_eq!(chosen.rows(), Rows::Exact(5));
        assert_eq!(read(0..10), [49, 64, 81, 2500, 9801]);
        assert_eq!(read(2..4), [81, 2500]);
        assert_eq!(read(5..9), Vec::<i64>::new());
        let beyond = ChosenRows::new(chosen.table.clone(), [3, 100]);
        assert!(beyond.read(&Task::new(), 0..2, &[0]).is_err());
        let empty = chosen.read(&Task::new(), 0..3, &[]).unwrap();
        assert_eq!(empty.num_rows(), 3);
    }
}
