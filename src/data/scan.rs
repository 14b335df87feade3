//! Reading all of a table or an array in steps of bounded memory: rows in their order, the next ones read while the
//! last are taken ([`scan`]), or columns side by side ([`fold_columns`]).

use crate::bytes::display;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::content::table::read_each;
use crate::data::content::{Array, Table};
use crate::data::format::Sink;
use crate::data::region::{Region, pieces};
use ::arrow::array::{ArrayRef, NullArray, RecordBatch};
use ::arrow::datatypes::DataType;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// About how many bytes of decoded rows one step of a scan has.
const STEP: u64 = 16 << 20;
/// The rows of the first step, which tells how long rows are.
const FIRST: u64 = 4_096;
/// The bytes of an array that are read at once.
const PIECE: u64 = 8 << 20;

/// So many equal rows are not read one by one.
const EQUAL: u64 = 65_536;
/// The most steps whose columns are in memory at once.
const AT_ONCE: usize = 8;
/// About how many arrays are in memory at once: each takes some hundred bytes, however few rows it has.
const ARRAYS: usize = 1 << 18;

/// The rows of a table in the steps in which they are read.
pub struct RowSteps<'a> {
    table: &'a dyn Table,
    rows: Range<u64>,
    /// The most rows of the next step.
    pub most: u64,
}

impl<'a> RowSteps<'a> {
    /// Steps as large as the table reads best at once.
    pub fn new(table: &'a dyn Table, rows: Range<u64>) -> Self {
        RowSteps { table, rows, most: u64::MAX }
    }

    /// Steps of at most so many rows, which can be changed on the way.
    pub fn at_most(self, most: u64) -> Self {
        RowSteps { most, ..self }
    }
}

impl Iterator for RowSteps<'_> {
    type Item = Range<u64>;

    fn next(&mut self) -> Option<Range<u64>> {
        let start = self.rows.start;
        if start >= self.rows.end {
            return None;
        }
        let step = self.table.scan_step(start).min(self.most).max(1);
        self.rows.start = start.saturating_add(step).min(self.rows.end);
        Some(start..self.rows.start)
    }
}

/// Reads rows that are known to be there.
///
/// # Errors
/// Those of the table; `Malformed` where some of the rows are not there.
pub fn read_rows(table: &dyn Table, task: &Task, rows: Range<u64>, columns: &[usize]) -> Result<RecordBatch> {
    let batch = table.read(task, rows.clone(), columns)?;
    if batch.num_rows() as u64 != rows.end - rows.start {
        let (there, from) = (batch.num_rows(), display::count(rows.start));
        return Err(Error::malformed(format!("table: only {there} rows could be read from row {from} on")));
    }
    Ok(batch)
}

/// Reads columns of all `rows` rows of a table, several steps at a time, and lets `add` take the cells of each column
/// in the order of rows: an array, and how many times it counts (more than once for rows that are all equal). Columns
/// are taken side by side, so that what comes out does not depend on the number of threads. A column that cannot be
/// read or taken has its own error.
///
/// # Errors
/// `Cancelled`; `Limit` for more rows than can be read; what keeps the table from being read at all.
pub fn fold_columns<F: Send>(
    task: &Task,
    table: &dyn Table,
    rows: u64,
    folds: Vec<(usize, F)>,
    add: impl Fn(&mut F, &ArrayRef, u64) -> Result<()> + Sync,
) -> Result<Vec<Result<F>>> {
    fold(task, table, rows, folds, &add, None)
}

/// [`fold_columns`] where columns share something: none is taken a step further before `settle` saw all of them after
/// the last one. Not those that failed, nor those of nulls alone, of which the one cell comes before all steps.
///
/// # Errors
/// As [`fold_columns`].
pub fn fold_together<F: Send>(
    task: &Task,
    table: &dyn Table,
    rows: u64,
    folds: Vec<(usize, F)>,
    add: impl Fn(&mut F, &ArrayRef, u64) -> Result<()> + Sync,
    settle: &dyn Fn(&mut [&mut F]),
) -> Result<Vec<Result<F>>> {
    fold(task, table, rows, folds, &add, Some(settle))
}

/// `columns` in groups, for one pass over the rows each: as many columns as keep `most` bytes together, if each keeps
/// `bytes` of itself, and at least one.
pub fn column_groups(columns: &[usize], most: u64, bytes: impl Fn(usize) -> u64) -> Vec<&[usize]> {
    let (mut groups, mut rest) = (Vec::new(), columns);
    while !rest.is_empty() {
        let mut held = 0u64;
        let fits = |column: &&usize| {
            held = held.saturating_add(bytes(**column));
            held <= most
        };
        let count = rest.iter().take_while(fits).count().max(1);
        let (group, others) = rest.split_at(count);
        groups.push(group);
        rest = others;
    }
    groups
}

/// What sees all columns after each step.
type Settle<'a, F> = Option<&'a dyn Fn(&mut [&mut F])>;

fn fold<F: Send>(
    task: &Task,
    table: &dyn Table,
    rows: u64,
    folds: Vec<(usize, F)>,
    add: &(impl Fn(&mut F, &ArrayRef, u64) -> Result<()> + Sync),
    settle: Settle<'_, F>,
) -> Result<Vec<Result<F>>> {
    let mut all: Vec<(usize, Result<F>)> =
        folds.into_iter().map(|(column, fold)| (column, Ok(fold))).collect();
    // Columns of nulls alone have nothing to read, however long they are; of one that failed the rest says no more.
    let is_null = |column: usize| {
        table.schema().fields().get(column).is_some_and(|field| *field.data_type() == DataType::Null)
    };
    for (_, slot) in all.iter_mut().filter(|(column, _)| rows > 0 && is_null(*column)) {
        take(slot, Ok(Arc::new(NullArray::new(1))), rows, add);
    }
    let is_live = |(column, slot): &(usize, Result<F>)| slot.is_ok() && !is_null(*column);
    let live = |all: &[(usize, Result<F>)]| -> Vec<usize> {
        all.iter().filter(|one| is_live(one)).map(|(column, _)| *column).collect()
    };
    let mut columns = live(&all);
    if !columns.is_empty() {
        check_work(table, task, rows)?;
    }
    let mut at = 0;
    while at < rows && !columns.is_empty() {
        let equal = table.equal_rows(task, at)?.min(rows - at);
        let mut slots: Vec<_> = all.iter_mut().filter(|one| is_live(one)).map(|(_, slot)| slot).collect();
        if equal > EQUAL {
            let one = read_each(table, task, at..at + 1, &columns)?;
            slots.iter_mut().zip(one).for_each(|(slot, array)| take(slot, array, equal, add));
            at += equal;
            settled(&mut slots, settle);
            task.advance(equal)?;
        } else {
            let (end, arrays) = by_column(table, task, at..rows, &columns)?;
            at = end;
            take_steps(&mut slots, arrays, add, settle);
            task.check()?;
        }
        columns = live(&all);
    }
    Ok(all.into_iter().map(|(_, slot)| slot).collect())
}

/// Takes what was read of a column, so many times.
fn take<F>(
    slot: &mut Result<F>,
    array: Result<ArrayRef>,
    times: u64,
    add: &impl Fn(&mut F, &ArrayRef, u64) -> Result<()>,
) {
    let Ok(fold) = slot else { return };
    if let Err(error) = array.and_then(|array| add(fold, &array, times)) {
        *slot = Err(error);
    }
}

/// Takes the arrays of some steps, which are those of the last column first.
fn take_steps<F: Send>(
    slots: &mut [&mut Result<F>],
    arrays: Vec<Vec<Result<ArrayRef>>>,
    add: &(impl Fn(&mut F, &ArrayRef, u64) -> Result<()> + Sync),
    settle: Settle<'_, F>,
) {
    if settle.is_none() {
        return slots.par_iter_mut().rev().zip(arrays).for_each(|(slot, arrays)| {
            arrays.into_iter().for_each(|array| take(slot, array, 1, add));
        });
    }
    let steps = arrays.iter().map(Vec::len).max().unwrap_or(0);
    let mut arrays: Vec<_> = arrays.into_iter().map(Vec::into_iter).collect();
    for _ in 0..steps {
        slots.par_iter_mut().rev().zip(&mut arrays).for_each(|(slot, arrays)| {
            arrays.next().into_iter().for_each(|array| take(slot, array, 1, add));
        });
        settled(slots, settle);
    }
}

fn settled<F>(slots: &mut [&mut Result<F>], settle: Settle<'_, F>) {
    if let Some(settle) = settle {
        settle(&mut slots.iter_mut().filter_map(|slot| slot.as_mut().ok()).collect::<Vec<_>>());
    }
}

/// The arrays of some steps, of the last column first, and the row behind them. As many steps at once as there are
/// threads: the memory is bounded by so many row groups, and by so many arrays.
fn by_column(
    table: &dyn Table,
    task: &Task,
    rows: Range<u64>,
    columns: &[usize],
) -> Result<(u64, Vec<Vec<Result<ArrayRef>>>)> {
    let mut at = rows.start;
    let mut steps: Vec<Range<u64>> = Vec::new();
    let most = rayon::current_num_threads().clamp(1, AT_ONCE).min(ARRAYS / columns.len().max(1)).max(1);
    for step in RowSteps::new(table, rows).take(most) {
        if !steps.is_empty() && table.equal_rows(task, step.start)? > EQUAL {
            break;
        }
        at = step.end;
        steps.push(step);
    }
    let read = |step: &Range<u64>| {
        let arrays = read_each(table, task, step.clone(), columns)?;
        task.advance(step.end - step.start)?;
        Ok(arrays)
    };
    let read: Vec<Result<Vec<_>>> = steps.par_iter().map(read).collect();
    let mut read: Vec<Vec<_>> = read.into_iter().collect::<Result<_>>()?;
    let last = |_| read.iter_mut().filter_map(Vec::pop).collect();
    Ok((at, columns.iter().map(last).collect()))
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
        let equal = table.equal_rows(task, at)?.min(rows - at);
        let step = if equal > EQUAL { equal } else { table.scan_step(at).clamp(1, rows - at) };
        if equal <= EQUAL {
            read += step;
        }
        if read > READ {
            return Err(Error::limit(format!("a pass over {}", display::plural(rows, "row"))));
        }
        at += step;
        task.check()?;
    }
    Ok(())
}

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
    task.set_total(total);
    let read = |rows: &Range<u64>| -> Result<(u64, u64, T)> {
        let batch = read_rows(table, task, rows.clone(), &columns)?;
        let (rows, bytes) = (batch.num_rows() as u64, batch.get_array_memory_size() as u64);
        Ok((rows, bytes, make(batch)?))
    };
    let many =
        |steps: Vec<Range<u64>>| -> Result<Vec<(u64, u64, T)>> { steps.par_iter().map(read).collect() };
    let mut steps = RowSteps::new(table, 0..total);
    let mut window = |most: u64| -> Vec<Range<u64>> {
        steps.most = most;
        steps.by_ref().take(rayon::current_num_threads()).collect()
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

/// Reads an array from end to end in C order and hands over what `make` makes of each piece, in order. The next pieces
/// are read and made on all cores while `each` takes the last ones; a piece begins at a multiple of `multiple` elements
/// of the last dimension. Reports progress in bytes of the array.
///
/// # Errors
/// Those of the array, `make` and `each`.
pub fn made_elements<T: Send>(
    task: &Task,
    array: &dyn Array,
    multiple: u64,
    make: impl Fn(Vec<u8>) -> Result<T> + Sync,
    mut each: impl FnMut(T) -> Result<()> + Send,
) -> Result<()> {
    /// Bytes of a piece, of which there are two for each thread.
    const MADE: u64 = 4 << 20;
    let (size, multiple) = (array.dtype().size().max(1), multiple.max(1));
    let most = (MADE / size / multiple * multiple).max(multiple);
    // Several readers of one stream would each decompress it from its start.
    let is_stream = array.storage().is_some_and(|(source, _)| source.is_stream());
    let threads = if is_stream { 1 } else { rayon::current_num_threads().max(1) };
    let read = |region: &Region| -> Result<(u64, T)> {
        let bytes = limits::bytes(&region.shape(), size)?;
        let mut buffer =
            limits::zeroed(limits::check(bytes, limits::CHUNK, "a part of the array")?, "the array")?;
        array.read(task, region, &mut buffer)?;
        Ok((bytes, make(buffer)?))
    };
    let many = |regions: Vec<Region>| regions.par_iter().map(read).collect::<Result<Vec<_>>>();
    let mut regions = pieces(array.shape(), most);
    let mut window = || regions.by_ref().take(threads).collect::<Vec<_>>();
    let mut current = many(window())?;
    while !current.is_empty() {
        task.check()?;
        let regions = window();
        let take = || {
            current.into_iter().try_for_each(|(bytes, made)| {
                each(made)?;
                task.advance(bytes)
            })
        };
        let (taken, next) = rayon::join(take, || many(regions));
        taken?;
        current = next?;
    }
    Ok(())
}

/// Writes all elements of an array as they are delivered, without gaps: copied in the kernel where they lie in a file so.
/// Reports progress in bytes.
///
/// # Errors
/// Those of the array and of writing.
pub fn put_elements(task: &Task, array: &dyn Array, sink: &mut dyn Sink) -> Result<()> {
    match array.verbatim() {
        Some((source, range)) => sink.copy(task, &source, range),
        None => made_elements(task, array, 1, Ok, |bytes: Vec<u8>| put(sink, &bytes)),
    }
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
    fn columns_are_grouped_by_what_they_keep() {
        let bytes = |column: usize| column as u64;
        assert_eq!(column_groups(&[3, 3, 9, 1, 2, 3], 6, bytes), [&[3, 3][..], &[9], &[1, 2, 3]]);
        assert_eq!(column_groups(&[7, 8], 0, bytes), [[7], [8]]);
        assert!(column_groups(&[], 6, bytes).is_empty());
    }

    #[test]
    fn what_columns_share_is_settled_after_each_step() {
        let column: ArrayRef = Arc::new(Int64Array::from_iter_values(0..100));
        let batch = RecordBatch::try_from_iter([("a", column.clone()), ("b", column)]).unwrap();
        let table = Slow(MemoryTable::new(batch), 0);
        let seen = parking_lot::Mutex::new(Vec::new());
        let settle = |folds: &mut [&mut usize]| {
            seen.lock().push(folds.iter().map(|rows| **rows).collect::<Vec<usize>>());
        };
        let add = |fold: &mut usize, array: &ArrayRef, _: u64| {
            *fold += array.len();
            Ok(())
        };
        let folds = vec![(1, 0), (0, 0)];
        let found = fold_together(&Task::new(), &table, 100, folds, add, &settle).unwrap();
        assert!(found.into_iter().all(|rows| rows.unwrap() == 100));
        let expected: Vec<Vec<usize>> = (1..=15).map(|step| vec![(step * 7).min(100); 2]).collect();
        assert_eq!(seen.into_inner(), expected);
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
