//! Reading all of a table or an array in steps of bounded memory: the next rows are read while the last are taken.

use crate::bytes::display;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::content::{Array, Table};
use crate::data::format::Sink;
use crate::data::region::pieces;
use ::arrow::array::RecordBatch;
use rayon::prelude::*;
use std::ops::Range;

/// About how many bytes of decoded rows one step of a scan has.
const STEP: u64 = 16 << 20;
/// The rows of the first step, which tells how long rows are.
const FIRST: u64 = 4_096;
/// The bytes of an array that are read at once.
const PIECE: u64 = 8 << 20;

/// Reads all rows of a table in steps, several at a time, and hands over what `make` makes of each, in
/// order. The next steps are read and made while `each` takes the last ones. Reports progress in rows.
///
/// # Errors
/// Those of the table, `make` and `each`; `Malformed` where rows that were counted are not there.
pub fn scan<T: Send>(
    task: &Task,
    table: &dyn Table,
    make: impl Fn(RecordBatch) -> Result<T> + Sync,
    mut each: impl FnMut(T) -> Result<()> + Send,
) -> Result<u64> {
    let total = table.count(task)?;
    let columns: Vec<usize> = (0..table.schema().fields().len()).collect();
    task.expect(total);
    let read = |rows: &Range<u64>| -> Result<(u64, u64, T)> {
        let batch = table.read(task, rows.clone(), &columns)?;
        if batch.num_rows() as u64 != rows.end - rows.start {
            let (there, from) = (batch.num_rows(), display::count(rows.start));
            return Err(Error::malformed(format!(
                "table: only {there} rows could be read from row {from} on"
            )));
        }
        let (rows, bytes) = (batch.num_rows() as u64, batch.get_array_memory_size() as u64);
        Ok((rows, bytes, make(batch)?))
    };
    let many =
        |steps: Vec<Range<u64>>| -> Result<Vec<(u64, u64, T)>> { steps.par_iter().map(read).collect() };
    let mut at = 0;
    let mut window = |step: u64| -> Vec<Range<u64>> {
        let mut steps = Vec::new();
        while at < total && steps.len() < rayon::current_num_threads() {
            let end = at.saturating_add(step.min(table.scan_step(at)).max(1)).min(total);
            steps.push(at..end);
            at = end;
        }
        steps
    };
    let mut current = many(window(FIRST))?;
    let mut step = FIRST;
    while !current.is_empty() {
        task.check()?;
        let (rows, bytes) = current.iter().fold((0, 0), |sum, made| (sum.0 + made.0, sum.1 + made.1));
        // Rows may be longer further on: never more than eight times the last step.
        step = (STEP * rows.max(1) / bytes.max(1)).clamp(64, step.saturating_mul(8));
        let steps = window(step);
        let take = || {
            current.into_iter().try_for_each(|(rows, _, made)| {
                each(made)?;
                task.advance(rows)
            })
        };
        let (taken, next) = rayon::join(take, || many(steps));
        taken?;
        current = next?;
    }
    Ok(total)
}

/// Reads an array from end to end in C order, by pieces of some megabytes. Reports progress in bytes.
pub fn elements(
    task: &Task,
    array: &dyn Array,
    each: &mut (dyn FnMut(&[u8]) -> Result<()> + Send),
) -> Result<()> {
    let size = array.dtype().size();
    let most = (PIECE / size.max(1)).max(1);
    let mut buffer = Vec::new();
    for region in pieces(array.shape(), most) {
        let bytes =
            limits::check(limits::bytes(&region.shape(), size)?, limits::CHUNK, "a part of the array")?;
        buffer.resize(bytes, 0);
        array.read(task, &region, &mut buffer)?;
        each(&buffer)?;
        task.advance(bytes as u64)?;
    }
    Ok(())
}

/// The bytes of an array's elements as they are delivered.
pub fn array_bytes(array: &dyn Array) -> Result<u64> {
    limits::bytes(array.shape(), array.dtype().size())
}

/// Writes bytes; a failed write keeps the words that the output gave it.
pub fn put(sink: &mut dyn Sink, bytes: &[u8]) -> Result<()> {
    Ok(sink.write_all(bytes)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::content::table::{MemoryTable, Rows};
    use ::arrow::array::{ArrayRef, AsArray, Int64Array};
    use ::arrow::datatypes::{Int64Type, SchemaRef};
    use std::sync::Arc;

    struct Slow(MemoryTable, u64);

    impl Table for Slow {
        fn schema(&self) -> &SchemaRef {
            self.0.schema()
        }
        fn rows(&self) -> Rows {
            Rows::Exact(self.0.rows().number() + self.1)
        }
        fn read(&self, task: &Task, rows: Range<u64>, columns: &[usize]) -> Result<RecordBatch> {
            self.0.read(task, rows, columns)
        }
        fn scan_step(&self, _at: u64) -> u64 {
            7
        }
    }

    fn numbers(missing: u64) -> Slow {
        let column: ArrayRef = Arc::new(Int64Array::from_iter_values(0..1000));
        Slow(MemoryTable::new(RecordBatch::try_from_iter([("n", column)]).unwrap()), missing)
    }

    #[test]
    fn a_scan_sees_every_row_once_and_in_order() {
        let mut seen = Vec::new();
        let task = Task::new();
        let sums = |batch: RecordBatch| Ok(batch.column(0).as_primitive::<Int64Type>().values().to_vec());
        let rows = scan(&task, &numbers(0), sums, |part| {
            seen.extend(part);
            Ok(())
        });
        assert_eq!((rows.unwrap(), task.progress()), (1000, (1000, 1000)));
        assert_eq!(seen, (0..1000).collect::<Vec<i64>>());
    }

    #[test]
    fn rows_that_are_not_there_are_an_error_and_cancelling_ends_it() {
        let task = Task::new();
        assert!(scan(&task, &numbers(1), |_| Ok(()), |()| Ok(())).is_err());
        let cancelled = scan(
            &task,
            &numbers(0),
            |_| Ok(()),
            |()| {
                task.cancel();
                Ok(())
            },
        );
        assert!(cancelled.unwrap_err().is_cancelled());
    }
}
