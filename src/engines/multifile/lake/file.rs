//! One data file as a table of the lake table's schema, without the rows that are deleted.

use super::DataFile;
use super::fit::{By, fit};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::content::table::{batch, cut, filled_step};
use crate::data::content::{ColumnStatistics, RowRanges, Rows, Table, TableFacts};
use arrow::array::{ArrayRef, BooleanArray, RecordBatch, UInt32Array, new_null_array};
use arrow::datatypes::{DataType, SchemaRef};
use roaring::RoaringTreemap;
use std::ops::Range;
use std::sync::Arc;

/// Finds the positions of deleted rows of a file; gets the file as it is.
pub type Deletes = Box<dyn Fn(&Task, &Arc<dyn Table>) -> Result<RoaringTreemap> + Send + Sync>;

/// Where a column's values come from.
enum Origin {
    /// This column of the file.
    Own(usize),
    /// The same value in all rows.
    Constant(ArrayRef),
    /// Nowhere: null.
    Missing,
}

struct FileTable {
    inner: Arc<dyn Table>,
    schema: SchemaRef,
    by: By,
    origins: Vec<Origin>,
    file: Arc<DataFile>,
}

/// Opens a data file as a table of `schema`. What is deleted of it is looked for when it is read, unless
/// metadata says how much that is.
///
/// # Errors
/// What opening it gives.
pub fn file_table(task: &Task, schema: &SchemaRef, by: By, file: &Arc<DataFile>) -> Result<Arc<dyn Table>> {
    let inner = (file.open)(task)?;
    let origin = |(place, field): (usize, &Arc<arrow::datatypes::Field>)| {
        let constant = file.constants.iter().find(|(at, _)| *at == place);
        match (by.find(inner.schema().fields(), field), constant) {
            (Some(own), _) => Origin::Own(own),
            (None, Some((_, value))) => Origin::Constant(value.clone()),
            (None, None) => Origin::Missing,
        }
    };
    let origins = schema.fields().iter().enumerate().map(origin).collect();
    let table = FileTable { inner, schema: schema.clone(), by, origins, file: file.clone() };
    // A list of positions is small, and what is broken about it is better said now.
    if file.deleted.is_some() {
        table.deleted(task)?;
    }
    Ok(Arc::new(table))
}

/// Bytes that a value takes of a column that a file lacks.
const FILLED: u64 = 16;

impl FileTable {
    /// The positions in the file of the rows that are deleted; `None` where none is.
    fn deleted(&self, task: &Task) -> Result<Option<Arc<RoaringTreemap>>> {
        if self.file.deletes.is_empty() {
            return Ok(None);
        }
        if let Some(known) = self.known_deleted() {
            return Ok(Some(known).filter(|gone| !gone.is_empty()));
        }
        // Not under the lock: reading uses all threads, and one that waits for others may come here again.
        let mut deleted = RoaringTreemap::new();
        for deletes in &self.file.deletes {
            deleted |= deletes(task, &self.inner)?;
        }
        if !deleted.is_empty() {
            // Positions beyond the end would be counted as rows that are gone.
            deleted.remove_range(self.inner.count(task)?..);
        }
        let deleted = Arc::new(deleted);
        *self.file.gone.lock() = Some(deleted.clone());
        Ok(Some(deleted).filter(|gone| !gone.is_empty()))
    }

    /// The same, if it was looked for already.
    fn known_deleted(&self) -> Option<Arc<RoaringTreemap>> {
        self.file.gone.lock().clone()
    }

    /// How many rows are deleted, if that is known.
    fn gone(&self) -> Option<u64> {
        match self.file.deletes.is_empty() {
            true => Some(0),
            false => self.known_deleted().map(|gone| gone.len()).or(self.file.deleted),
        }
    }

    /// The position in the file of row `row` of those that are left.
    fn position(deleted: &RoaringTreemap, row: u64) -> u64 {
        // The smallest position before and at which `row + 1` rows are left.
        let (mut low, mut high) = (row, row.saturating_add(deleted.len()));
        while low < high {
            let middle = low + (high - low) / 2;
            if middle + 1 - deleted.rank(middle) > row {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        low
    }

    /// How many rows are left before position `at`.
    fn before(deleted: &RoaringTreemap, at: u64) -> u64 {
        at - at.checked_sub(1).map_or(0, |last| deleted.rank(last))
    }

    /// The rows `rows` that are left, of the columns `needed` of the file.
    fn left(&self, task: &Task, rows: Range<u64>, needed: &[usize]) -> Result<(Vec<ArrayRef>, usize)> {
        let Some(deleted) = self.deleted(task)? else {
            let rows = cut(&rows, self.inner.rows().number());
            let read = self.inner.read(task, rows.clone(), needed)?;
            let count = if needed.is_empty() { (rows.end - rows.start) as usize } else { read.num_rows() };
            return Ok((read.columns().to_vec(), count));
        };
        let rows = cut(&rows, self.inner.count(task)?.saturating_sub(deleted.len()));
        if rows.is_empty() {
            let none = self.inner.read(task, 0..0, needed)?;
            return Ok((none.columns().to_vec(), 0));
        }
        let physical = Self::position(&deleted, rows.start)..Self::position(&deleted, rows.end - 1) + 1;
        let read = self.inner.read(task, physical.clone(), needed)?;
        let keep: BooleanArray = physical.map(|at| Some(!deleted.contains(at))).collect();
        let columns: Vec<ArrayRef> =
            read.columns().iter().map(|c| arrow::compute::filter(c, &keep)).collect::<Result<_, _>>()?;
        Ok((columns, (rows.end - rows.start) as usize))
    }

    /// The columns of the file that these columns are made of, each once.
    fn needed(&self, columns: &[usize]) -> Vec<usize> {
        let mut needed: Vec<usize> = Vec::new();
        for &column in columns {
            if let Some(Origin::Own(own)) = self.origins.get(column)
                && !needed.contains(own)
            {
                needed.push(*own);
            }
        }
        needed
    }
}

impl Table for FileTable {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn rows(&self) -> Rows {
        match (self.inner.rows(), self.gone()) {
            (Rows::Exact(n), Some(gone)) => Rows::Exact(n.saturating_sub(gone)),
            (other, Some(0)) => other,
            (other, _) => Rows::About { rows: other.number(), known: 0 },
        }
    }

    fn read(&self, task: &Task, rows: Range<u64>, columns: &[usize]) -> Result<RecordBatch> {
        let needed = self.needed(columns);
        let (read, count) = self.left(task, rows, &needed)?;
        let filled = (columns.len() - needed.len().min(columns.len())) as u64;
        let bytes = (count as u64).saturating_mul(FILLED).saturating_mul(filled);
        limits::check(bytes, limits::CHUNK, "the columns that a file lacks")?;
        let theirs = self.inner.schema();
        let one = |&column: &usize| -> Result<ArrayRef> {
            let field = self.schema.fields().get(column).ok_or_else(|| Error::bug("no such column"))?;
            match self.origins.get(column) {
                Some(Origin::Own(own)) => {
                    let at = needed.iter().position(|n| n == own).and_then(|at| read.get(at));
                    let array = at.ok_or_else(|| Error::bug("a column that was not read"))?;
                    fit(array, theirs.field(*own), field, self.by)
                }
                Some(Origin::Constant(value)) => {
                    Ok(arrow::compute::take(value, &UInt32Array::from(vec![0; count]), None)?)
                }
                _ => Ok(new_null_array(field.data_type(), count)),
            }
        };
        let arrays = columns.iter().map(one).collect::<Result<_>>()?;
        // Columns that the metadata promises without nulls may lack in old files.
        let fields = columns.iter().filter_map(|&n| self.schema.fields().get(n));
        if fields.clone().any(|field| !field.is_nullable()) {
            return nullable(fields, arrays, count);
        }
        batch(&self.schema, columns, arrays, count)
    }

    fn count(&self, task: &Task) -> Result<u64> {
        let gone = self.deleted(task)?.map_or(0, |gone| gone.len());
        Ok(self.inner.count(task)?.saturating_sub(gone))
    }

    fn scan_step(&self, at: u64) -> u64 {
        let step = match self.known_deleted() {
            None => self.inner.scan_step(at),
            Some(deleted) => self.inner.scan_step(Self::position(&deleted, at)),
        };
        step.min(filled_step(&self.schema))
    }

    fn row_ranges(&self, task: &Task, columns: &[usize], _parts: &[bool]) -> Result<Option<RowRanges>> {
        let own = self.needed(columns);
        let theirs = self.inner.schema();
        let types: Vec<&DataType> = own.iter().map(|&n| theirs.field(n).data_type()).collect();
        let found = self.inner.row_ranges(task, &own, &[])?;
        let found = match found {
            Some(found) => found,
            None => RowRanges::unknown(0..self.inner.count(task)?, &types),
        };
        let deleted = self.deleted(task)?;
        let left = |rows: &Range<u64>| match &deleted {
            Some(deleted) => Self::before(deleted, rows.start)..Self::before(deleted, rows.end),
            None => rows.clone(),
        };
        let rows: Vec<Range<u64>> = found.rows.iter().map(left).collect();
        let counts: Vec<u64> = rows.iter().map(|rows| rows.end - rows.start).collect();
        let one = |&column: &usize| -> Result<ColumnStatistics> {
            let data_type = self.schema.field(column).data_type();
            match self.origins.get(column) {
                Some(Origin::Own(theirs)) => {
                    let bounds = own.iter().position(|n| n == theirs).and_then(|at| found.columns.get(at));
                    let bounds = bounds.cloned().ok_or_else(|| Error::bug("a column without its bounds"))?;
                    let bounds = bounds.read_as(data_type);
                    Ok(if deleted.is_some() { bounds.of_some_rows() } else { bounds })
                }
                Some(Origin::Constant(value)) => ColumnStatistics::constant(value, &counts),
                _ => ColumnStatistics::constant(&new_null_array(data_type, 1), &counts),
            }
        };
        let columns = columns.iter().map(one).collect::<Result<_>>()?;
        Ok(Some(RowRanges { rows, columns }))
    }

    fn facts(&self) -> TableFacts {
        self.inner.facts()
    }
}

/// A batch whose fields may all be null, whatever the schema says.
fn nullable<'a>(
    fields: impl Iterator<Item = &'a arrow::datatypes::FieldRef>,
    arrays: Vec<ArrayRef>,
    count: usize,
) -> Result<RecordBatch> {
    let fields: Vec<_> = fields.map(|field| field.as_ref().clone().with_nullable(true)).collect();
    let schema = Arc::new(arrow::datatypes::Schema::new(fields));
    let all: Vec<usize> = (0..arrays.len()).collect();
    batch(&schema, &all, arrays, count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::content::table::MemoryTable;
    use arrow::array::{AsArray, Int64Array};
    use arrow::datatypes::{Field, Int64Type, Schema};
    use proptest::prelude::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    fn opened(
        rows: i64,
        gone: &[u64],
        constants: Vec<(usize, ArrayRef)>,
    ) -> (Arc<dyn Table>, Arc<AtomicU32>) {
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows));
        let inner: Arc<dyn Table> =
            Arc::new(MemoryTable::new(RecordBatch::try_from_iter([("a", numbers)]).unwrap()));
        let gone: RoaringTreemap = gone.iter().copied().collect();
        let looks = Arc::new(AtomicU32::new(0));
        let mut file = DataFile::new("part", 0, Box::new(move |_| Ok(inner.clone())));
        file.constants = constants;
        if !gone.is_empty() {
            let looks = looks.clone();
            file.deletes.push(Box::new(move |_, _| {
                looks.fetch_add(1, Ordering::Relaxed);
                Ok(gone.clone())
            }));
        }
        let schema = Arc::new(Schema::new(vec![
            Field::new("p", DataType::Int64, true),
            Field::new("a", DataType::Int64, true),
        ]));
        (file_table(&Task::new(), &schema, By::Name, &Arc::new(file)).unwrap(), looks)
    }

    #[test]
    fn deletes_are_looked_for_at_the_first_read() {
        let (table, looks) = opened(5, &[1, 2, 9], Vec::new());
        assert_eq!((table.rows(), looks.load(Ordering::Relaxed)), (Rows::About { rows: 5, known: 0 }, 0));
        let got = table.read(&Task::new(), 0..9, &[1]).unwrap();
        assert_eq!(got.column(0).as_primitive::<Int64Type>().values(), &[0, 3, 4]);
        assert_eq!((table.rows(), table.count(&Task::new()).unwrap()), (Rows::Exact(3), 3));
        assert_eq!(looks.load(Ordering::Relaxed), 1);
        assert_eq!(
            table.row_ranges(&Task::new(), &[0, 1], &[]).unwrap().unwrap().rows,
            std::slice::from_ref(&(0..3))
        );
    }

    #[test]
    fn partition_values_are_columns() {
        let (table, _) = opened(3, &[], vec![(0, Arc::new(Int64Array::from(vec![9])))]);
        let got = table.read(&Task::new(), 1..3, &[0, 1]).unwrap();
        assert_eq!(got.column(0).as_primitive::<Int64Type>().values(), &[9, 9]);
        assert_eq!(got.column(1).as_primitive::<Int64Type>().values(), &[1, 2]);
        assert_eq!(table.read(&Task::new(), 0..9, &[0]).unwrap().num_rows(), 3);
    }

    proptest! {
        #[test]
        fn deleted_rows_are_never_seen(
            rows in 0u64..60, gone in prop::collection::btree_set(0u64..70, 0..60), a in 0u64..70, b in 0u64..70,
        ) {
            let gone: Vec<u64> = gone.into_iter().collect();
            let (table, _) = opened(rows as i64, &gone, Vec::new());
            let left: Vec<i64> = (0..rows).filter(|n| !gone.contains(n)).map(|n| n as i64).collect();
            prop_assert_eq!(table.count(&Task::new()).unwrap(), left.len() as u64);
            let (from, to) = (a.min(b), a.max(b));
            let got = table.read(&Task::new(), from..to, &[1]).unwrap();
            let cut = |n: u64| (n as usize).min(left.len());
            prop_assert_eq!(&got.column(0).as_primitive::<Int64Type>().values()[..], &left[cut(from)..cut(to)]);
        }
    }

    /// A file that claims rows which no byte proves.
    struct Claims(SchemaRef);

    impl Table for Claims {
        fn schema(&self) -> &SchemaRef {
            &self.0
        }

        fn rows(&self) -> Rows {
            Rows::Exact(1 << 40)
        }

        fn read(&self, _: &Task, rows: Range<u64>, columns: &[usize]) -> Result<RecordBatch> {
            assert!(columns.is_empty());
            batch(&self.0, columns, Vec::new(), (rows.end - rows.start) as usize)
        }

        fn scan_step(&self, _: u64) -> u64 {
            1 << 40
        }
    }

    #[test]
    fn columns_that_a_file_lacks_are_filled_up_within_limits() {
        let claims = Arc::new(Claims(Arc::new(Schema::new(vec![Field::new("a", DataType::Int64, true)]))));
        let file = DataFile::new("part", 0, Box::new(move |_| Ok(claims.clone())));
        let schema = Arc::new(Schema::new(vec![Field::new("new", DataType::Int64, true)]));
        let table = file_table(&Task::new(), &schema, By::Name, &Arc::new(file)).unwrap();
        let step = table.scan_step(0);
        assert_eq!(table.read(&Task::new(), 0..step, &[0]).unwrap().column(0).null_count() as u64, step);
        let error = table.read(&Task::new(), 0..1 << 40, &[0]).unwrap_err();
        assert_eq!(error.kind(), crate::bytes::error::ErrorKind::Limit);
    }
}
