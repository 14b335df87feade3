//! An array as a table: one dimension is a column, two are rows × columns, structured elements are
//! records.

use crate::bytes::entry;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::cell::without_padding;
use crate::data::content::table::{batch, cut};
use crate::data::content::{Array, Rows, Table, array};
use crate::data::dtype::{DType, Number, TimeBase, TimeUnit, with_number};
use crate::data::location::{BytePlace, Location, Owner};
use crate::data::region::{Region, Span};
use arrow::array::Array as _;
use arrow::array::*;
use arrow::buffer::{Buffer, NullBuffer, ScalarBuffer};
use arrow::datatypes::{self as types, ArrowPrimitiveType, DataType, Field, Fields, Schema, SchemaRef};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// The most columns that a matrix is given as a table.
const WIDEST: u64 = 10_000;

/// The Arrow type that holds elements of `dtype` exactly, and what is said of it where its name or unit
/// is another one. `None` for elements without bytes.
pub fn arrow_of(dtype: &DType) -> Option<(DataType, Option<&'static str>)> {
    let same = |data_type| Some((data_type, None));
    with_number!(dtype, T => return same(<T as Number>::Arrow::DATA_TYPE), _ => {});
    match dtype {
        DType::Bool => same(DataType::Boolean),
        DType::BF16 | DType::Mini(_) => {
            Some((DataType::Float32, Some("its values become float32, exactly; the narrower type is lost")))
        }
        DType::C32 => {
            Some((complex(DataType::Float16), Some("complex becomes a struct of real and imaginary")))
        }
        DType::Blocks(_) => {
            Some((DataType::Float32, Some("its values become float32, exactly; the blocks are lost")))
        }
        DType::C64 => {
            Some((complex(DataType::Float32), Some("complex becomes a struct of real and imaginary")))
        }
        DType::C128 => {
            Some((complex(DataType::Float64), Some("complex becomes a struct of real and imaginary")))
        }
        DType::Str(_) => same(DataType::Utf8),
        DType::Long(_) => {
            Some((DataType::Utf8, Some("long double has no Arrow type; its values become text")))
        }
        DType::Bytes(_) => {
            Some((DataType::Binary, Some("fixed bytes become binary without the zeros at the end")))
        }
        DType::Void(0) => None,
        DType::Void(n) => same(DataType::FixedSizeBinary(i32::try_from(*n).ok()?)),
        DType::DateTime(unit) => Some(match time_of(*unit) {
            Some((unit, 1)) => (DataType::Timestamp(unit, None), None),
            Some((unit, _)) => (DataType::Timestamp(unit, None), Some("the time unit becomes a finer one")),
            None => (DataType::Int64, Some("the time unit has no Arrow type; the counts are kept as int64")),
        }),
        DType::TimeDelta(unit) => Some(match time_of(*unit) {
            Some((unit, 1)) => (DataType::Duration(unit), None),
            Some((unit, _)) => (DataType::Duration(unit), Some("the time unit becomes a finer one")),
            None => (DataType::Int64, Some("the time unit has no Arrow type; the counts are kept as int64")),
        }),
        DType::Struct(record) => {
            let fields = record.fields.iter().map(|field| {
                let inner = arrow_of(&field.dtype)?.0;
                let whole = field.shape.iter().rev().try_fold(inner, |inner, &side| {
                    Some(DataType::FixedSizeList(item(inner), i32::try_from(side).ok()?))
                })?;
                Some(Field::new(&field.name, whole, true))
            });
            same(DataType::Struct(fields.collect::<Option<Fields>>()?))
        }
        DType::Variable(kind) => same(kind.arrow.clone()),
        _ => None,
    }
}

fn item(inner: DataType) -> Arc<Field> {
    Arc::new(Field::new("item", inner, true))
}

fn complex(part: DataType) -> DataType {
    DataType::Struct(Fields::from(vec![
        Field::new("real", part.clone(), true),
        Field::new("imaginary", part, true),
    ]))
}

/// Arrow's unit and how many of it one step has. Years and months have no fixed length.
fn time_of(unit: TimeUnit) -> Option<(types::TimeUnit, i64)> {
    use types::TimeUnit as Arrow;
    let (base, steps) = match unit.base {
        TimeBase::Week => (Arrow::Second, 604_800),
        TimeBase::Day => (Arrow::Second, 86_400),
        TimeBase::Hour => (Arrow::Second, 3_600),
        TimeBase::Minute => (Arrow::Second, 60),
        TimeBase::Second => (Arrow::Second, 1),
        TimeBase::Milli => (Arrow::Millisecond, 1),
        TimeBase::Micro => (Arrow::Microsecond, 1),
        TimeBase::Nano => (Arrow::Nanosecond, 1),
        _ => return None,
    };
    Some((base, steps * i64::from(unit.count)))
}

/// The rows of an array (places along its first dimension) that the file holds something of, in order, once
/// somebody asked.
#[derive(Default)]
pub struct StoredRows(OnceLock<Option<Vec<Range<u64>>>>);

impl StoredRows {
    /// How many rows of `array`, which is the same at each call, from `at` on are known to be equal: [`Table::equal_rows`].
    ///
    /// # Errors
    /// As [`Array::stored`].
    pub fn equal_rows(&self, task: &Task, array: &dyn Array, at: u64) -> Result<u64> {
        if self.0.get().is_none() {
            let rows = |region: &Region| region.0.first().map_or(0..1, |span| span.start..span.end());
            let found = array.stored(task)?.map(|stored| {
                let mut all: Vec<Range<u64>> = stored.regions.iter().map(rows).collect();
                all.sort_by_key(|rows| rows.start);
                // Regions beside each other have rows in common.
                all.dedup_by(|next, before| {
                    let together = next.start <= before.end;
                    before.end = before.end.max(if together { next.end } else { 0 });
                    together
                });
                all
            });
            let _ = self.0.set(found);
        }
        let Some(Some(there)) = self.0.get() else { return Ok(0) };
        let next = there.partition_point(|rows| rows.start <= at);
        let within = next.checked_sub(1).and_then(|n| there.get(n)).is_some_and(|rows| rows.end > at);
        let all = array.shape().first().copied().unwrap_or(1);
        let end = there.get(next).map_or(all, |rows| rows.start);
        Ok(if within { 0 } else { end.saturating_sub(at) })
    }
}

/// An array of at most two dimensions as a table; records are its columns, and cells where it has two dimensions.
pub struct ArrayTable {
    array: Arc<dyn Array>,
    schema: SchemaRef,
    /// Whether the second dimension is the columns.
    matrix: bool,
    there: StoredRows,
}

impl ArrayTable {
    /// `array` as a table. A lone column is called `name`, those of a matrix column0, column1, …, those of
    /// records as their fields.
    ///
    /// # Errors
    /// `Unsupported` for more dimensions or more than 10,000 columns.
    pub fn new(name: &str, array: Arc<dyn Array>) -> Result<Self> {
        let (dtype, shape) = (array.dtype(), array.shape());
        let no = |why: &str| Err(Error::unsupported(format!("{dtype} of shape {shape:?} as a table: {why}")));
        let Some((element, _)) = arrow_of(dtype) else { return no("its elements have no bytes") };
        let mut matrix = false;
        let fields = match (element, shape) {
            (DataType::Struct(fields), [] | [_]) if dtype.record().is_some() || dtype.is_variable() => fields,
            (element, [] | [_]) => {
                let name = if name.is_empty() { "value" } else { name };
                Fields::from(vec![Field::new(name, element, true)])
            }
            (element, [_, columns]) => {
                if *columns > WIDEST {
                    return no("it has more than 10,000 columns; a slice of it may do");
                }
                matrix = true;
                (0..*columns).map(|n| Field::new(format!("column{n}"), element.clone(), true)).collect()
            }
            _ => return no("a table has two dimensions; a slice of the array may do"),
        };
        let schema = Arc::new(Schema::new(fields));
        Ok(ArrayTable { array, schema, matrix, there: StoredRows::default() })
    }

    /// Whether its columns are the fields of records.
    fn is_record(&self) -> bool {
        let dtype = self.array.dtype();
        let fields = matches!(arrow_of(dtype), Some((DataType::Struct(_), _)));
        fields && (dtype.record().is_some() || dtype.is_variable())
    }

    fn len(&self) -> u64 {
        self.array.shape().first().copied().unwrap_or(1)
    }

    /// One column of elements without a fixed size.
    fn part(&self, elements: &ArrayRef, column: usize) -> Result<ArrayRef> {
        if self.matrix {
            let width = self.schema.fields().len();
            let indices =
                UInt64Array::from_iter_values((column..elements.len()).step_by(width).map(|n| n as u64));
            return Ok(arrow::compute::take(elements, &indices, None)?);
        }
        match elements.as_struct_opt() {
            Some(records) => records
                .columns()
                .get(column)
                .cloned()
                .ok_or_else(|| Error::bug("no such field of the records")),
            None => Ok(elements.clone()),
        }
    }
}

impl Table for ArrayTable {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn rows(&self) -> Rows {
        Rows::Exact(self.len())
    }

    fn equal_rows(&self, task: &Task, at: u64) -> Result<u64> {
        self.there.equal_rows(task, self.array.as_ref(), at)
    }

    fn read(&self, task: &Task, rows: Range<u64>, columns: &[usize]) -> Result<RecordBatch> {
        let rows = cut(&rows, self.len());
        let count = rows.end - rows.start;
        let mut spans = vec![Span::range(rows.start, count); self.array.shape().len().min(1)];
        if let Some(&side) = self.array.shape().get(1) {
            spans.push(Span::all(side));
        }
        let dtype = self.array.dtype();
        if dtype.is_variable() {
            let elements = self.array.column(task, &Region(spans))?;
            let part = |column: &usize| self.part(&elements, *column);
            return batch(
                &self.schema,
                columns,
                columns.iter().map(part).collect::<Result<_>>()?,
                count as usize,
            );
        }
        let bytes = array::read(self.array.as_ref(), task, &Region(spans))?;
        let size = dtype.size() as usize;
        let mut out = Vec::with_capacity(columns.len());
        for &column in columns {
            task.check()?;
            out.push(if self.matrix {
                let width = self.schema.fields().len() * size;
                column_of(dtype, &gather(&bytes, width, column * size, size), count as usize)?
            } else if let Some(record) = dtype.record() {
                let field = record.fields.get(column).ok_or_else(|| Error::bug("no such field"))?;
                let part = gather(&bytes, size, field.offset as usize, field.bytes()? as usize);
                shaped(&field.dtype, &field.shape, &part, count as usize)?
            } else {
                column_of(dtype, &bytes, count as usize)?
            });
        }
        batch(&self.schema, columns, out, count as usize)
    }

    fn location(&self, task: &Task, row: u64, column: usize) -> Result<Option<Location>> {
        let mut index = vec![row; self.array.shape().len().min(1)];
        if self.matrix {
            index.push(column as u64);
        }
        let Some(location) = self.array.location(task, &index)? else { return Ok(None) };
        if self.matrix || !self.is_record() {
            return Ok(Some(location));
        }
        if let Some(field) = location.clone().nth_field(column) {
            return field.followed(task).map(Some);
        }
        let dtype = self.array.dtype();
        let Some(field) = dtype.record().and_then(|record| record.fields.get(column)) else {
            return Ok(Some(location.of_unit()));
        };
        let bytes = field.offset..field.offset.saturating_add(field.bytes()?);
        Ok(Some(location.field(dtype.size(), bytes)))
    }

    fn owner(&self, task: &Task, byte: &BytePlace) -> Result<Option<Owner>> {
        let Some(owner) = self.array.owner(task, byte)? else { return Ok(None) };
        let index = owner.element.unwrap_or_default();
        let row = index.first().copied().unwrap_or(0);
        if !self.is_record() || self.matrix {
            let column = if self.matrix { index.get(1).copied().unwrap_or(0) as usize } else { 0 };
            return Ok(Some(Owner::of_row(owner.unit, row, Some(column), owner.exact)));
        }
        // The field of the record whose bytes hold it.
        for column in (0..self.schema.fields().len()).filter(|_| owner.exact) {
            task.check()?;
            let Some(location) = self.location(task, row, column)? else { break };
            let Some(range) = location.exact() else { break };
            if byte.within(&location.source, &range).is_some() {
                return Ok(Some(Owner::of_row(owner.unit, row, Some(column), true)));
            }
        }
        Ok(Some(Owner::of_row(owner.unit, row, None, false)))
    }

    fn scan_step(&self, _at: u64) -> u64 {
        let row = self.array.dtype().size().max(8)
            * if self.matrix { self.schema.fields().len() as u64 } else { 1 };
        ((16 << 20) / row.max(1)).clamp(1, 1 << 20)
    }
}

/// `len` bytes at `offset` of every element of `size` bytes.
fn gather(bytes: &[u8], size: usize, offset: usize, len: usize) -> Vec<u8> {
    if size == 0 {
        return Vec::new();
    }
    bytes.chunks_exact(size).filter_map(|e| e.get(offset..offset + len)).flatten().copied().collect()
}

/// `count` elements, each of `shape` (empty for one value), as a column: what `arrow_of` says, in lists for
/// each dimension of the shape. `bytes` are as an array delivers them: little-endian, without gaps.
pub fn column(dtype: &DType, shape: &[u64], bytes: &[u8], count: usize) -> Result<ArrayRef> {
    let need = limits::bytes(shape, dtype.size())?.checked_mul(count as u64);
    if need != Some(bytes.len() as u64) {
        return Err(Error::bug(format!("{} bytes for {count} of {dtype} {shape:?}", bytes.len())));
    }
    shaped(dtype, shape, bytes, count)
}

/// `count` values of a field, each of `shape`.
fn shaped(dtype: &DType, shape: &[u64], bytes: &[u8], count: usize) -> Result<ArrayRef> {
    let Some((&side, rest)) = shape.split_first() else { return column_of(dtype, bytes, count) };
    let inner = shaped(dtype, rest, bytes, count * side as usize)?;
    let field = item(inner.data_type().clone());
    let list = FixedSizeListArray::try_new_with_length(field, side as i32, inner, None, count)?;
    Ok(Arc::new(list))
}

/// `count` delivered elements as an Arrow array.
fn column_of(dtype: &DType, bytes: &[u8], count: usize) -> Result<ArrayRef> {
    with_number!(dtype, T => {
        let values = ScalarBuffer::<T>::new(Buffer::from(bytes), 0, count);
        return Ok(Arc::new(PrimitiveArray::<<T as Number>::Arrow>::new(values, None)));
    }, _ => {});
    Ok(match dtype {
        DType::Variable(kind) => arrow::array::new_null_array(&kind.arrow, count),
        DType::Bool => Arc::new(bytes.iter().map(|&b| Some(b != 0)).collect::<BooleanArray>()),
        DType::BF16 => {
            let widen = |&b: &[u8; 2]| f32::from_bits(u32::from(u16::from_le_bytes(b)) << 16);
            Arc::new(Float32Array::from_iter_values(bytes.as_chunks::<2>().0.iter().map(widen)))
        }
        DType::Mini(kind) => {
            let table = kind.table();
            Arc::new(Float32Array::from_iter_values(bytes.iter().map(|&b| *entry(table, b))))
        }
        DType::C32 => parts(&DType::F16, bytes, count)?,
        DType::Blocks(_) => return column_of(&DType::F32, bytes, count),
        DType::C64 => parts(&DType::F32, bytes, count)?,
        DType::C128 => parts(&DType::F64, bytes, count)?,
        DType::Bytes(n) => {
            let mut out = BinaryBuilder::with_capacity(count, bytes.len());
            for row in 0..count {
                out.append_value(without_padding(element(bytes, row, *n as usize)));
            }
            Arc::new(out.finish())
        }
        DType::Str(_) | DType::Long(_) => {
            let size = dtype.size() as usize;
            let text = |row| crate::data::cell::element(dtype, element(bytes, row, size));
            Arc::new(StringArray::from_iter_values((0..count).map(text)))
        }
        DType::Void(n) => {
            let size = i32::try_from(*n).map_err(|_| Error::limit(format!("elements of {n} bytes")))?;
            Arc::new(FixedSizeBinaryArray::try_new_with_len(size, Buffer::from(bytes), None, count)?)
        }
        DType::DateTime(unit) | DType::TimeDelta(unit) => times(dtype, *unit, bytes)?,
        DType::Struct(record) => {
            let mut columns = Vec::with_capacity(record.fields.len());
            for field in &record.fields {
                let size = record.size as usize;
                let part = gather(bytes, size, field.offset as usize, field.bytes()? as usize);
                columns.push(shaped(&field.dtype, &field.shape, &part, count)?);
            }
            let Some((DataType::Struct(fields), _)) = arrow_of(dtype) else {
                return Err(Error::unsupported("a field without bytes"));
            };
            Arc::new(StructArray::try_new_with_length(fields, columns, None, count)?)
        }
        _ => return Err(Error::bug(format!("{dtype} as a column"))),
    })
}

fn element(bytes: &[u8], row: usize, size: usize) -> &[u8] {
    bytes.get(row * size..(row + 1) * size).unwrap_or_default()
}

/// Complex numbers as structs.
fn parts(part: &DType, bytes: &[u8], count: usize) -> Result<ArrayRef> {
    let size = part.size() as usize;
    let half = |at: usize| column_of(part, &gather(bytes, size * 2, at * size, size), count);
    let (real, imaginary) = (half(0)?, half(1)?);
    let DataType::Struct(fields) = complex(real.data_type().clone()) else {
        return Err(Error::bug("complex numbers without parts"));
    };
    Ok(Arc::new(StructArray::try_new(fields, vec![real, imaginary], None)?))
}

/// Times: not-a-time is null.
fn times(dtype: &DType, unit: TimeUnit, bytes: &[u8]) -> Result<ArrayRef> {
    let counts: Vec<i64> = bytes.as_chunks::<8>().0.iter().map(|&b| i64::from_le_bytes(b)).collect();
    let nulls = NullBuffer::from_iter(counts.iter().map(|&n| n != i64::MIN));
    let steps = time_of(unit).map_or(1, |(_, steps)| steps);
    let values: Option<Vec<i64>> =
        counts.iter().map(|&n| if n == i64::MIN { Some(0) } else { n.checked_mul(steps) }).collect();
    let values = values.ok_or_else(|| Error::unsupported(format!("a {dtype} beyond Arrow's seconds")))?;
    let plain = Int64Array::try_new(values.into(), Some(nulls).filter(|n| n.null_count() > 0))?;
    let Some((target, _)) = arrow_of(dtype) else { return Ok(Arc::new(plain)) };
    // The same 64 bits under another name.
    let data = plain.to_data().into_builder().data_type(target).build()?;
    Ok(make_array(data))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::cell;
    use crate::data::dtype::Record;

    /// Text cells of an array of `dtype` with these bytes, column by column.
    fn cells(dtype: DType, shape: &[u64], bytes: Vec<u8>) -> Vec<Vec<Option<String>>> {
        let source = crate::bytes::source::Source::memory("a", bytes);
        let plain = array::Plain::new(source, 0, dtype, shape.to_vec()).unwrap();
        let table = ArrayTable::new("x", Arc::new(plain)).unwrap();
        let columns: Vec<usize> = (0..table.schema().fields().len()).collect();
        let batch = table.read(&Task::new(), 0..u64::MAX, &columns).unwrap();
        batch
            .columns()
            .iter()
            .map(|c| (0..c.len()).map(|row| cell::text(c.as_ref(), row)).collect())
            .collect()
    }

    fn texts(values: &[&str]) -> Vec<Option<String>> {
        values.iter().map(|v| Some((*v).to_owned())).collect()
    }

    #[test]
    fn matrices_are_rows_of_columns() {
        let bytes = [1i16, 2, 3, 4, 5, 6].iter().flat_map(|v| v.to_le_bytes()).collect();
        assert_eq!(
            cells(DType::I16, &[2, 3], bytes),
            [texts(&["1", "4"]), texts(&["2", "5"]), texts(&["3", "6"])]
        );
    }

    #[test]
    fn every_exact_value_and_not_a_time() {
        let day = DType::DateTime(TimeUnit { count: 1, base: TimeBase::Day });
        let bytes = [1i64, i64::MIN].iter().flat_map(|v| v.to_le_bytes()).collect();
        assert_eq!(cells(day, &[2], bytes), [vec![Some("1970-01-02T00:00:00".to_owned()), None]]);
        assert_eq!(
            cells(DType::U64, &[1], u64::MAX.to_le_bytes().to_vec()),
            [texts(&["18446744073709551615"])]
        );
        assert_eq!(cells(DType::BF16, &[1], vec![0x80, 0x3f]), [texts(&["1.0"])]);
        assert_eq!(cells(DType::Bytes(3), &[1], vec![b'a', 0, 0]), [texts(&["0x61"])]);
        assert_eq!(cells(DType::Bool, &[], vec![1]), [texts(&["true"])]);
    }

    #[test]
    fn records_are_rows_with_their_fields() {
        let field = |name: &str, dtype, shape: &[u64], offset| crate::data::dtype::Field {
            name: name.to_owned(),
            dtype,
            shape: shape.to_vec(),
            offset,
        };
        let fields = vec![field("x", DType::U8, &[], 1), field("y", DType::U8, &[2], 2)];
        let dtype = DType::Struct(Arc::new(Record { fields, size: 4 }));
        let got = cells(dtype, &[2], vec![9, 1, 2, 3, 9, 4, 5, 6]);
        assert_eq!(got, [texts(&["1", "4"]), texts(&[r#"["2","3"]"#, r#"["5","6"]"#])]);
    }

    /// A hundred rows by six columns; of some the file holds one column, of one row another element, too.
    struct Overlapping;

    impl Array for Overlapping {
        fn dtype(&self) -> &DType {
            &DType::U8
        }

        fn shape(&self) -> &[u64] {
            &[100, 6]
        }

        fn read(&self, _: &Task, _: &Region, out: &mut [u8]) -> Result<()> {
            out.fill(0);
            Ok(())
        }

        fn stored(&self, _: &Task) -> Result<Option<array::Stored>> {
            let span = |start, count| Span { start, count, step: 1 };
            let regions = vec![
                Region(vec![span(10, 1), span(5, 1)]),
                Region(vec![span(0, 50), span(0, 1)]),
                Region(vec![span(50, 2), span(3, 1)]),
            ];
            Ok(Some(array::Stored { regions, ..array::Stored::default() }))
        }
    }

    #[test]
    fn rows_are_stored_where_any_region_has_them() {
        let (rows, task) = (StoredRows::default(), Task::new());
        let alike = |at| rows.equal_rows(&task, &Overlapping, at).unwrap();
        assert_eq!([0, 10, 11, 49, 51, 52, 99].map(alike), [0, 0, 0, 0, 0, 48, 1]);
    }
}
