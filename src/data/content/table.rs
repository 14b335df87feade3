//! Tables: rows and named, typed columns, read as Arrow record batches by row range and columns.

use super::{ColumnStatistics, Layout, RowRanges};
use crate::bytes::cache::Reservation;
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::task::Task;
use crate::data::location::{BytePlace, Location, Owner};
use crate::data::stats::passes::TablePasses;
use arrow::array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, new_empty_array};
use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

/// How many rows a table has, and how sure that is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// Counted, or stated by the file.
    Exact(u64),
    /// These are there, more may follow.
    AtLeast(u64),
    /// An estimate; row numbers below `known` are exact already.
    About {
        /// The estimate.
        rows: u64,
        /// Rows counted so far.
        known: u64,
    },
}

impl Rows {
    /// The number, whatever its certainty.
    pub fn number(self) -> u64 {
        match self {
            Rows::Exact(n) | Rows::AtLeast(n) => n,
            Rows::About { rows, .. } => rows,
        }
    }

    /// How many are there for sure.
    pub fn known(self) -> u64 {
        match self {
            Rows::Exact(n) | Rows::AtLeast(n) => n,
            Rows::About { known, .. } => known,
        }
    }

    /// The number if it is certain.
    pub fn exact(self) -> Option<u64> {
        match self {
            Rows::Exact(n) => Some(n),
            _ => None,
        }
    }
}

impl std::fmt::Display for Rows {
    /// `1,204`, `≥ 1,204` or `≈ 1,204`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mark = match self {
            Rows::Exact(_) => "",
            Rows::AtLeast(_) => "≥ ",
            Rows::About { .. } => "≈ ",
        };
        write!(f, "{mark}{}", crate::bytes::display::count(self.number()))
    }
}

/// A table. `read` is the only access to values.
pub trait Table: Send + Sync {
    /// Names and types of all columns.
    fn schema(&self) -> &SchemaRef;

    /// How many rows, as far as is known now; may become more certain over time.
    fn rows(&self) -> Rows;

    /// The rows `rows` (cut to what is there) of the columns with these indices, in this order. The
    /// batch's schema is the table's, projected. With an estimated count, rows beyond the known ones
    /// are the ones that stand about there in the file.
    fn read(&self, task: &Task, rows: Range<u64>, columns: &[usize]) -> Result<RecordBatch>;

    /// The type that the cells of a column of texts fit, as far as a sample tells: no cell is bound to it. `None` for
    /// columns whose file states their type.
    fn inferred(&self, _column: usize) -> Option<&DataType> {
        None
    }

    /// The exact count; reads what it must (a text file is indexed), with progress on the task.
    fn count(&self, _task: &Task) -> Result<u64> {
        self.rows().exact().ok_or_else(|| Error::bug("a table with an open end does not count itself"))
    }

    /// Learns what headers say that were not read yet, of a table of many files: more of them say then what
    /// [`rows`](Table::rows) and [`facts`](Table::facts) are. Does nothing where more than `most` files are left.
    ///
    /// # Errors
    /// Only that the work was cancelled.
    fn read_headers(&self, _task: &Task, _most: usize) -> Result<()> {
        Ok(())
    }

    /// The last `count` rows, without counting all of them where that can be avoided. The index of
    /// the first one, if it is known.
    fn tail(&self, task: &Task, count: u64, columns: &[usize]) -> Result<(Option<u64>, RecordBatch)> {
        let total = self.count(task)?;
        let first = total.saturating_sub(count);
        Ok((Some(first), self.read(task, first..total, columns)?))
    }

    /// How many rows one step of a whole scan should read, starting at row `at` (aligned to row
    /// groups, record batches).
    fn scan_step(&self, _at: u64) -> u64 {
        wide_step(self.schema()).min(65_536)
    }

    /// How many rows from row `at` on are known to be equal in all columns without reading them: rows of which the
    /// file holds nothing. A pass counts them by the first. 0 and 1 say nothing; may read an index.
    fn equal_rows(&self, _task: &Task, _at: u64) -> Result<u64> {
        Ok(0)
    }

    /// About `most` rows that stand for all that are known, as ranges in order: all where there are not more. The
    /// same ones in whatever order this table shows the rows of another.
    fn sample(&self, task: &Task, most: u64) -> Result<Vec<Range<u64>>> {
        task.check()?;
        Ok(super::sample::spread(self.rows().known(), most))
    }

    /// What is known of its storage without reading values.
    fn facts(&self) -> TableFacts {
        TableFacts::default()
    }

    /// What the file itself says of one column's values: statistics of one range.
    fn statistics(&self, _column: usize) -> Option<ColumnStatistics> {
        None
    }

    /// Its blocks in the file.
    fn layout(&self) -> Layout {
        Layout::default()
    }

    /// Ranges of its rows, and the statistics of `columns` in each: row groups, as a rule. Reads headers, no values.
    /// Of a table of parts, only `parts` count (empty: all of them); rows of the others are in no range. `None`
    /// where nothing is known.
    fn row_ranges(&self, _task: &Task, _columns: &[usize], _parts: &[bool]) -> Result<Option<RowRanges>> {
        Ok(None)
    }

    /// The same of the parts that the table is made of, as far as it is known without opening any of them;
    /// their `rows` are not places in the table. `None` for a table that is not made of parts.
    fn parts(&self, _columns: &[usize]) -> Option<RowRanges> {
        None
    }

    /// The table of some of its parts alone, with the same columns.
    fn with_parts(&self, _parts: &[bool]) -> Option<Arc<dyn Table>> {
        None
    }

    /// Where in the bytes of its file the cell at `row` and `column` lies; `None` where that is not told. May read an
    /// index or a header, and the unit that holds the cell where only that tells.
    ///
    /// # Errors
    /// What reading these gives.
    fn location(&self, _task: &Task, _row: u64, _column: usize) -> Result<Option<Location>> {
        Ok(None)
    }

    /// What of this table a byte belongs to; `None` where it is none of its bytes, or that is not told.
    ///
    /// # Errors
    /// What reading an index gives.
    fn owner(&self, _task: &Task, _byte: &BytePlace) -> Result<Option<Owner>> {
        Ok(None)
    }

    /// Passes over all of it that are made elsewhere, where its rows are read; `None` where that is here.
    fn passes(&self) -> Option<&dyn TablePasses> {
        None
    }

    /// What its format gives to who knows that format and reads it in another way: the checked footer of a Parquet
    /// file (`formats::table::parquet::ParquetFile`). `None` where there is nothing of that sort, or where what it
    /// reads would not be this table.
    fn native(&self) -> Option<Box<dyn Any + Send>> {
        None
    }
}

impl dyn Table + '_ {
    /// The type of the values of a column: the one that was inferred for its texts, or that of its field.
    /// `Null` for a column that is not there.
    pub fn column_type(&self, column: usize) -> &DataType {
        let stated = || self.schema().fields().get(column).map_or(&DataType::Null, |field| field.data_type());
        self.inferred(column).unwrap_or_else(stated)
    }

    /// The names of all columns, and the types of their values as they are shown.
    pub fn described(&self) -> Vec<(String, String)> {
        let kind = |n| crate::bytes::display::arrow_type(self.column_type(n));
        self.schema().fields().iter().enumerate().map(|(n, field)| (field.name().clone(), kind(n))).collect()
    }

    /// Whether the type of any column is inferred.
    pub fn is_inferred(&self) -> bool {
        (0..self.schema().fields().len()).any(|column| self.inferred(column).is_some())
    }
}

/// What is known of a table's storage.
#[derive(Clone, Debug, Default)]
pub struct TableFacts {
    /// Row groups or record batches, where there are any.
    pub row_groups: Option<u64>,
    /// Compression codecs, each once.
    pub codecs: Vec<String>,
    /// Further lines for the inspector: name and value (`delimiter`, `encoding`, `created by`).
    pub details: Vec<(String, String)>,
    /// For each column, lines for the inspector (`physical type`, `encodings`); may be empty.
    pub columns: Vec<Vec<(String, String)>>,
}

/// The columns of a table: what their fields say, and the types that were inferred for columns of texts.
#[derive(Clone, Debug)]
pub struct Columns {
    /// The fields.
    pub schema: SchemaRef,
    /// By column; may be shorter than the schema, but not longer.
    inferred: Arc<[Option<DataType>]>,
}

/// Columns whose fields say their types.
impl From<SchemaRef> for Columns {
    fn from(schema: SchemaRef) -> Self {
        Columns { schema, inferred: Arc::default() }
    }
}

/// Fields, and the types that were inferred for them.
impl FromIterator<(Field, Option<DataType>)> for Columns {
    fn from_iter<I: IntoIterator<Item = (Field, Option<DataType>)>>(columns: I) -> Self {
        let (fields, inferred): (Vec<Field>, Vec<_>) = columns.into_iter().unzip();
        Columns { schema: Arc::new(Schema::new(fields)), inferred: inferred.into() }
    }
}

impl Columns {
    /// A column of texts, with the type that its cells fit.
    pub fn text(name: impl Into<String>, inferred: DataType) -> (Field, Option<DataType>) {
        (Field::new(name, DataType::Utf8, true), Some(inferred))
    }

    /// Columns of these fields and types; as many types as fields.
    pub fn new(inferred: impl Iterator<Item = Option<DataType>>, schema: SchemaRef) -> Self {
        Columns { schema, inferred: inferred.collect() }
    }

    /// These columns and behind them others.
    pub fn and(&self, more: Vec<(FieldRef, Option<DataType>)>) -> Self {
        let mut inferred = self.inferred.to_vec();
        inferred.resize(self.schema.fields().len(), None);
        let (fields, types): (Vec<FieldRef>, Vec<_>) = more.into_iter().unzip();
        let fields: Vec<FieldRef> = self.schema.fields().iter().cloned().chain(fields).collect();
        inferred.extend(types);
        let schema = Arc::new(Schema::new_with_metadata(fields, self.schema.metadata().clone()));
        Columns { schema, inferred: inferred.into() }
    }

    /// The fields with their inferred types.
    pub fn iter(&self) -> impl Iterator<Item = (&FieldRef, Option<&DataType>)> {
        self.schema.fields().iter().enumerate().map(|(n, field)| (field, self.inferred(n)))
    }

    /// The columns of a table.
    pub fn of(table: &dyn Table) -> Self {
        let schema = table.schema().clone();
        Columns::new((0..schema.fields().len()).map(|column| table.inferred(column).cloned()), schema)
    }

    /// See [`Table::inferred`].
    pub fn inferred(&self, column: usize) -> Option<&DataType> {
        self.inferred.get(column)?.as_ref()
    }
}

/// A batch of `columns` for the projection `indices` of `schema`; keeps the row count when there are
/// no columns.
pub fn batch(
    schema: &SchemaRef,
    indices: &[usize],
    columns: Vec<ArrayRef>,
    rows: usize,
) -> Result<RecordBatch> {
    let schema = project(schema, indices)?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(schema, columns, &options)?)
}

/// The schema of the columns `indices`.
pub fn project(schema: &SchemaRef, indices: &[usize]) -> Result<SchemaRef> {
    let mut fields = Vec::with_capacity(indices.len());
    for &index in indices {
        let field =
            schema.fields().get(index).ok_or_else(|| Error::bug(format!("column {index} was asked for")))?;
        fields.push(field.clone());
    }
    Ok(Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone())))
}

/// Parts of a column of this type, one behind the other; no copy where there is only one.
pub fn joined(parts: &[ArrayRef], data_type: &DataType) -> Result<ArrayRef> {
    match parts {
        [] => Ok(new_empty_array(data_type)),
        [only] => Ok(only.clone()),
        parts => {
            let parts: Vec<&dyn Array> = parts.iter().map(AsRef::as_ref).collect();
            Ok(arrow::compute::concat(&parts)?)
        }
    }
}

/// A batch of the columns `indices` of `schema` out of parts that hold those columns, one part behind the other;
/// `rows` of them where there are no columns.
pub fn stacked(
    schema: &SchemaRef,
    indices: &[usize],
    parts: &[impl AsRef<[ArrayRef]>],
    rows: usize,
) -> Result<RecordBatch> {
    let one = |(n, field): (usize, &FieldRef)| {
        let parts: Vec<ArrayRef> = parts.iter().filter_map(|part| part.as_ref().get(n)).cloned().collect();
        joined(&parts, field.data_type())
    };
    let fields = project(schema, indices)?;
    let columns: Vec<ArrayRef> = fields.fields().iter().enumerate().map(one).collect::<Result<_>>()?;
    let rows = columns.first().map_or(rows, |column| column.len());
    batch(schema, indices, columns, rows)
}

/// The rows `rows` cut to a count of `total`.
pub fn cut(rows: &Range<u64>, total: u64) -> Range<u64> {
    let end = rows.end.min(total);
    rows.start.min(end)..end
}

/// Reads like [`Table::read`], but a column that cannot be read does not hide its neighbours: each
/// gets its own result.
pub fn read_each(
    table: &dyn Table,
    task: &Task,
    rows: Range<u64>,
    columns: &[usize],
) -> Result<Vec<Result<ArrayRef>>> {
    match table.read(task, rows.clone(), columns).unless_cancelled()? {
        Ok(batch) => Ok(batch.columns().iter().map(|c| Ok(c.clone())).collect()),
        Err(error) if columns.len() < 2 => Ok(vec![Err(error)]),
        Err(_) => columns
            .iter()
            .map(|&column| {
                let read = table.read(task, rows.clone(), &[column]).unless_cancelled()?;
                Ok(read.map(|batch| batch.column(0).clone()))
            })
            .collect(),
    }
}

/// The most rows of one step of a scan of columns that may have to be filled up where a file lacks them: what a file
/// claims of its rows is not proved by bytes then.
pub fn filled_step(schema: &Schema) -> u64 {
    (1 << 26) / schema.fields().len().max(16) as u64
}

/// The most rows of one step of a scan of records that need not have a value for each column: a short record of a wide
/// table becomes a cell of each, so that its bytes do not bound its memory.
pub fn wide_step(schema: &Schema) -> u64 {
    ((1 << 23) / schema.fields().len().max(1) as u64).max(1)
}

/// A table that is in memory.
pub struct MemoryTable {
    batch: RecordBatch,
    columns: Columns,
    _reservation: Reservation,
}

impl MemoryTable {
    /// Wraps a batch.
    pub fn new(batch: RecordBatch) -> Self {
        let columns = batch.schema().into();
        MemoryTable { columns, _reservation: Reservation::new(batch.get_array_memory_size()), batch }
    }

    /// The values of `columns`.
    ///
    /// # Errors
    /// `Bug` where they are of other types or lengths.
    pub fn of(columns: Columns, values: Vec<ArrayRef>) -> Result<Self> {
        let batch = RecordBatch::try_new(columns.schema.clone(), values)?;
        Ok(MemoryTable { columns, ..MemoryTable::new(batch) })
    }
}

impl Table for MemoryTable {
    fn schema(&self) -> &SchemaRef {
        &self.columns.schema
    }

    fn rows(&self) -> Rows {
        Rows::Exact(self.batch.num_rows() as u64)
    }

    fn inferred(&self, column: usize) -> Option<&DataType> {
        self.columns.inferred(column)
    }

    fn read(&self, task: &Task, rows: Range<u64>, columns: &[usize]) -> Result<RecordBatch> {
        task.check()?;
        let rows = cut(&rows, self.batch.num_rows() as u64);
        let (start, len) = (rows.start as usize, (rows.end - rows.start) as usize);
        Ok(self.batch.project(columns)?.slice(start, len))
    }

    fn sample(&self, _task: &Task, most: u64) -> Result<Vec<Range<u64>>> {
        // One row costs as little as its neighbours.
        Ok(super::sample::spread_over(self.batch.num_rows() as u64, most, most))
    }
}
