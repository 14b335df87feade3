//! Columns of a table as an array: one column, several of one type as a matrix, several of different
//! types as records.

use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::content::{Array, Table};
use crate::data::dtype::{DType, Field, Number, Record, TimeBase, TimeUnit, Variable, with_number};
use crate::data::region::{Region, Span};
use arrow::array::{Array as _, ArrayRef, AsArray, StructArray, UInt64Array};
use arrow::compute::{cast, take};
use arrow::datatypes::{self as types, DataType};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What happens to null cells, which an array cannot hold: an error, or NaN, not-a-time or zero once the
/// user agreed to lose them. Shared, so that consent may come after the adapter was made.
#[derive(Clone, Default)]
pub struct NullRule(Arc<AtomicBool>);

impl NullRule {
    /// Agrees to fill nulls.
    pub fn fill(&self, yes: bool) {
        self.0.store(yes, Ordering::Relaxed);
    }

    /// Whether nulls are filled.
    pub(super) fn fills(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The element type and the shape of one cell that hold values of an Arrow type exactly; `None` for types
/// without a fixed size.
pub fn column_dtype(data_type: &DataType) -> Option<(DType, Vec<u64>)> {
    let unit = |unit: &types::TimeUnit| TimeUnit {
        count: 1,
        base: match unit {
            types::TimeUnit::Second => TimeBase::Second,
            types::TimeUnit::Millisecond => TimeBase::Milli,
            types::TimeUnit::Microsecond => TimeBase::Micro,
            types::TimeUnit::Nanosecond => TimeBase::Nano,
        },
    };
    let day = TimeUnit { count: 1, base: TimeBase::Day };
    Some(match data_type {
        DataType::Boolean => (DType::Bool, vec![]),
        DataType::Timestamp(u, _) => (DType::DateTime(unit(u)), vec![]),
        DataType::Date32 => (DType::DateTime(day), vec![]),
        DataType::Duration(u) => (DType::TimeDelta(unit(u)), vec![]),
        DataType::FixedSizeBinary(n) if *n > 0 => (DType::Void(u32::try_from(*n).ok()?), vec![]),
        DataType::FixedSizeList(item, n) => {
            let (dtype, mut shape) = column_dtype(item.data_type())?;
            shape.insert(0, u64::try_from(*n).ok()?);
            (dtype, shape)
        }
        DataType::Dictionary(_, values) => column_dtype(values)?,
        DataType::RunEndEncoded(_, values) => column_dtype(values.data_type())?,
        other => (DType::number(other)?, vec![]),
    })
}

/// All columns of a table as one array with the rows in front.
pub struct Columns {
    table: Arc<dyn Table>,
    dtype: DType,
    shape: Vec<u64>,
    /// For each column, the type of a cell's elements and how many bytes a cell has.
    cells: Vec<(DType, usize)>,
    nulls: NullRule,
}

impl Columns {
    /// The columns of `table`, which has `rows` rows: one column is rows × its cell's shape; several are
    /// rows × columns if they are of one type and `records` is false, else records.
    ///
    /// # Errors
    /// `Unsupported` where a column has no fixed size.
    pub fn new(table: Arc<dyn Table>, rows: u64, records: bool, nulls: NullRule) -> Result<Self> {
        let fields = table.schema().fields();
        let mut types = Vec::with_capacity(fields.len());
        for field in fields {
            types.push(column_dtype(field.data_type()).ok_or_else(|| {
                Error::unsupported(format!(
                    "column {:?}: an array cannot hold {}",
                    field.name(),
                    crate::bytes::display::arrow_type(field.data_type())
                ))
            })?);
        }
        let Some(first) = types.first().cloned() else {
            return Err(Error::unsupported("a table without columns as an array"));
        };
        let bytes = |(dtype, shape): &(DType, Vec<u64>)| crate::bytes::limits::bytes(shape, dtype.size());
        let mut cells = Vec::with_capacity(types.len());
        for kind in &types {
            cells.push((kind.0.clone(), crate::bytes::limits::check(bytes(kind)?, 1 << 30, "a cell")?));
        }
        let mut shape = vec![rows];
        let dtype = if types.len() == 1 {
            shape.extend(first.1);
            first.0
        } else if !records && types.iter().all(|kind| *kind == first) {
            shape.push(types.len() as u64);
            shape.extend(first.1);
            first.0
        } else {
            let mut record = Record { fields: Vec::new(), size: 0 };
            for (field, (dtype, shape)) in fields.iter().zip(types) {
                let new = Field { name: field.name().clone(), dtype, shape, offset: record.size };
                record.size += new.bytes()?;
                record.fields.push(new);
            }
            DType::Struct(Arc::new(record))
        };
        Ok(Columns { table, dtype, shape, cells, nulls })
    }

    /// The bytes of one cell of every column together.
    fn row_bytes(&self) -> usize {
        self.cells.iter().map(|(_, bytes)| bytes).sum()
    }
}

impl Array for Columns {
    fn dtype(&self) -> &DType {
        &self.dtype
    }

    fn shape(&self) -> &[u64] {
        &self.shape
    }

    fn read(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<()> {
        region.check(&self.shape)?;
        if out.is_empty() {
            return Ok(());
        }
        let Some(rows) = region.0.first() else { return Err(Error::bug("columns without rows")) };
        let read = rows.start..rows.end();
        let columns: Vec<usize> = (0..self.cells.len()).collect();
        let batch = self.table.read(task, read.clone(), &columns)?;
        if batch.num_rows() as u64 != read.end - read.start {
            let (there, from) = (batch.num_rows(), read.start);
            return Err(Error::malformed(format!(
                "table: {there} rows are there from row {from} on, not all"
            )));
        }
        let row = self.row_bytes();
        let mut whole = vec![0; batch.num_rows() * row];
        let mut at = 0;
        for ((array, field), (dtype, size)) in
            batch.columns().iter().zip(self.table.schema().fields()).zip(&self.cells)
        {
            let bytes = values(array, dtype, &self.nulls)
                .map_err(|e| e.in_node(&format!("column {:?}", field.name())))?;
            if *size > 0 {
                for (to, from) in whole.chunks_exact_mut(row).zip(bytes.chunks_exact(*size)) {
                    if let Some(to) = to.get_mut(at..at + size) {
                        to.copy_from_slice(from);
                    }
                }
            }
            at += size;
        }
        pick(task, whole, self, region, out)
    }
}

/// The elements of `region` from the rows that were read for it.
fn pick(task: &Task, whole: Vec<u8>, columns: &Columns, region: &Region, out: &mut [u8]) -> Result<()> {
    let ([rows, inner @ ..], [_, rest @ ..]) = (&region.0[..], &columns.shape[..]) else {
        return Err(Error::bug("columns: a region without rows"));
    };
    let plain = rows.step == 1 && inner.iter().zip(rest).all(|(s, &n)| *s == Span::all(n));
    if plain {
        out.copy_from_slice(&whole);
        return Ok(());
    }
    let mut shape = vec![rows.end() - rows.start];
    shape.extend(rest);
    let mut spans = vec![Span { start: 0, ..*rows }];
    spans.extend(inner);
    let source = crate::bytes::source::Source::memory("rows", whole);
    let inner = crate::data::content::array::Plain::new(source, 0, columns.dtype.clone(), shape)?;
    inner.read(task, &Region(spans), out)
}

/// A table as an array of records in one dimension, whatever its columns hold: they come as Arrow columns.
pub struct TableArray {
    table: Arc<dyn Table>,
    dtype: DType,
    shape: Vec<u64>,
}

impl TableArray {
    /// The `rows` rows of a table.
    pub fn new(table: Arc<dyn Table>, rows: u64) -> Self {
        let arrow = DataType::Struct(table.schema().fields().clone());
        let kind = Variable { word: "object".to_owned(), arrow, reference: false };
        TableArray { table, dtype: DType::Variable(Arc::new(kind)), shape: vec![rows] }
    }
}

impl Array for TableArray {
    fn dtype(&self) -> &DType {
        &self.dtype
    }

    fn shape(&self) -> &[u64] {
        &self.shape
    }

    fn read(&self, _task: &Task, _region: &Region, _out: &mut [u8]) -> Result<()> {
        Err(Error::bug("bytes of a table's rows"))
    }

    fn column(&self, task: &Task, region: &Region) -> Result<ArrayRef> {
        region.check(&self.shape)?;
        let Some(rows) = region.0.first() else { return Err(Error::bug("rows without a dimension")) };
        let columns: Vec<usize> = (0..self.table.schema().fields().len()).collect();
        let batch = self.table.read(task, rows.start..rows.end(), &columns)?;
        if batch.num_rows() as u64 != rows.end() - rows.start {
            let (there, from) = (batch.num_rows(), rows.start);
            return Err(Error::malformed(format!(
                "table: {there} rows are there from row {from} on, not all"
            )));
        }
        let all = StructArray::try_new_with_length(
            batch.schema().fields().clone(),
            batch.columns().to_vec(),
            None,
            batch.num_rows(),
        )?;
        if rows.step == 1 {
            return Ok(Arc::new(all));
        }
        let wanted = UInt64Array::from_iter_values((0..rows.count).map(|n| n * rows.step));
        Ok(take(&all, &wanted, None)?)
    }
}

/// The cells of one column as delivered elements of the type that [`column_dtype`] names.
///
/// # Errors
/// `Unsupported` for null cells where nobody agreed to lose them; `Bug` for types without a fixed size.
pub fn values(array: &ArrayRef, dtype: &DType, nulls: &NullRule) -> Result<Vec<u8>> {
    let plain = match array.data_type() {
        DataType::Dictionary(_, values) => cast(array, values)?,
        DataType::RunEndEncoded(_, values) => cast(array, values.data_type())?,
        _ => array.clone(),
    };
    let found = plain.logical_null_count();
    if found > 0 && !nulls.0.load(Ordering::Relaxed) {
        return Err(Error::unsupported(format!(
            "{found} null cells, which an array cannot hold; with consent to losses they become {}",
            filled(dtype)
        )));
    }
    let mut bytes = raw(&plain, dtype, nulls)?;
    let size = (bytes.len() / plain.len().max(1)).max(1);
    if found > 0 {
        let filler = filler(dtype);
        for (row, cell) in bytes.chunks_exact_mut(size).enumerate() {
            if plain.is_null(row) {
                cell.chunks_exact_mut(filler.len()).for_each(|element| element.copy_from_slice(&filler));
            }
        }
    }
    Ok(bytes)
}

fn raw(array: &ArrayRef, dtype: &DType, nulls: &NullRule) -> Result<Vec<u8>> {
    if array.data_type().is_numeric() {
        with_number!(dtype, T => {
            let values = array.as_primitive_opt::<<T as Number>::Arrow>().map(|array| array.values());
            let values = values.ok_or_else(|| Error::bug(format!("{} as {dtype}", array.data_type())))?;
            return Ok(values.inner().as_slice().to_vec());
        }, _ => {});
    }
    Ok(match array.data_type() {
        DataType::Boolean => array.as_boolean().values().iter().map(u8::from).collect(),
        DataType::Date32 => {
            let days = array.as_primitive::<types::Date32Type>().values();
            days.iter().flat_map(|&day| i64::from(day).to_le_bytes()).collect()
        }
        DataType::Timestamp(_, _) | DataType::Duration(_) => {
            let counts = array.to_data();
            counts.buffer::<i64>(0).iter().take(array.len()).flat_map(|n| n.to_le_bytes()).collect()
        }
        DataType::FixedSizeBinary(size) => {
            let fixed = array.as_fixed_size_binary();
            let mut out = Vec::with_capacity(array.len() * *size as usize);
            (0..array.len()).for_each(|row| out.extend_from_slice(fixed.value(row)));
            out
        }
        DataType::FixedSizeList(_, size) => {
            let list = array.as_fixed_size_list();
            let from = list.value_offset(0) as usize;
            let inner = list.values().slice(from, array.len() * *size as usize);
            values(&inner, dtype, nulls)?
        }
        other => return Err(Error::bug(format!("{other} has no fixed size"))),
    })
}

/// What null becomes, in words.
fn filled(dtype: &DType) -> &'static str {
    match dtype {
        DType::F16 | DType::F32 | DType::F64 => "NaN",
        DType::DateTime(_) | DType::TimeDelta(_) => "not-a-time",
        DType::Bool => "false",
        _ => "zero",
    }
}

fn filler(dtype: &DType) -> Vec<u8> {
    match dtype {
        DType::F16 => half::f16::NAN.to_le_bytes().to_vec(),
        DType::F32 | DType::Blocks(_) => f32::NAN.to_le_bytes().to_vec(),
        DType::F64 => f64::NAN.to_le_bytes().to_vec(),
        DType::DateTime(_) | DType::TimeDelta(_) => i64::MIN.to_le_bytes().to_vec(),
        other => vec![0; other.size() as usize],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::content::array::read;
    use crate::data::content::table::MemoryTable;
    use arrow::array::{Float32Array, Int32Array, RecordBatch};

    fn columns(batch: &[(&str, ArrayRef)], records: bool) -> (Columns, NullRule) {
        let batch = RecordBatch::try_from_iter(batch.iter().cloned()).unwrap();
        let (rows, rule) = (batch.num_rows() as u64, NullRule::default());
        (Columns::new(Arc::new(MemoryTable::new(batch)), rows, records, rule.clone()).unwrap(), rule)
    }

    #[test]
    fn one_type_is_a_matrix_and_several_are_records() {
        let task = Task::new();
        let floats = |n: f32| Arc::new(Float32Array::from(vec![n, n + 1.0, n + 2.0])) as ArrayRef;
        let (matrix, _) = columns(&[("a", floats(0.0)), ("b", floats(10.0))], false);
        assert_eq!(matrix.shape(), [3, 2]);
        let (region, _) = Region::parse("::2, 1", &[3, 2]).unwrap();
        let got = read(&matrix, &task, &region).unwrap();
        assert_eq!(got, [10f32, 12.0].iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>());
        let ints = Arc::new(Int32Array::from(vec![7, 8, 9]));
        let (records, _) = columns(&[("a", floats(0.0)), ("i", ints)], false);
        let got = read(&records, &task, &Region::parse("1:", &[3]).unwrap().0).unwrap();
        let expected = [1f32.to_le_bytes(), 8i32.to_le_bytes(), 2f32.to_le_bytes(), 9i32.to_le_bytes()];
        assert_eq!((got, records.shape()), (expected.concat(), &[3][..]));
    }

    #[test]
    fn nulls_are_refused_until_there_is_consent() {
        let task = Task::new();
        let (array, rule) = columns(&[("a", Arc::new(Float32Array::from(vec![Some(1.0), None])))], false);
        let all = Region::all(array.shape());
        let error = read(&array, &task, &all).unwrap_err().to_string();
        assert!(error.contains("1 null cells") && error.contains("\"a\""), "{error}");
        rule.fill(true);
        let got = read(&array, &task, &all).unwrap();
        assert!(f32::from_le_bytes(got[4..].try_into().unwrap()).is_nan());
    }
}
