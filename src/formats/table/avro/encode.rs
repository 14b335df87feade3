//! Cells of Arrow as Avro's bytes (specification, *Binary encoding*).

use crate::bytes::error::{Error, Result};
use crate::engines::avro::{bytes, long, shortened};
use arrow::array::{
    Array, ArrowPrimitiveType, AsArray, BinaryArray, BooleanArray, Decimal128Array, Decimal256Array,
    FixedSizeBinaryArray, ListArray, MapArray, PrimitiveArray, StringArray,
};
use arrow::buffer::ScalarBuffer;
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int32Type, Int64Type,
    Time32MillisecondType, Time64MicrosecondType, TimeUnit, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType,
};

/// A column of a type that Avro has.
pub(super) struct Encoder<'a> {
    /// Its cells stand in a union with null; nulls by their place, where there are some.
    nulls: Option<Option<&'a arrow::buffer::NullBuffer>>,
    cells: Cells<'a>,
}

enum Cells<'a> {
    Null,
    Boolean(&'a BooleanArray),
    Int(&'a ScalarBuffer<i32>),
    Long(&'a ScalarBuffer<i64>),
    Float(&'a ScalarBuffer<f32>),
    Double(&'a ScalarBuffer<f64>),
    Decimal(&'a Decimal128Array),
    WideDecimal(&'a Decimal256Array),
    Text(&'a StringArray),
    Bytes(&'a BinaryArray),
    Fixed(&'a FixedSizeBinaryArray),
    List(&'a ListArray, Box<Encoder<'a>>),
    Map(&'a MapArray, Box<Encoder<'a>>, Box<Encoder<'a>>),
    Record(Vec<Encoder<'a>>),
}

fn values<T: ArrowPrimitiveType>(array: &dyn Array) -> &ScalarBuffer<T::Native> {
    PrimitiveArray::<T>::values(array.as_primitive::<T>())
}

impl<'a> Encoder<'a> {
    /// # Errors
    /// `Bug` for types that Avro has not.
    pub(super) fn new(array: &'a dyn Array, nullable: bool) -> Result<Self> {
        use DataType as D;
        let boxed = |array: &'a dyn Array, nullable| Encoder::new(array, nullable).map(Box::new);
        let cells = match array.data_type() {
            D::Null => return Ok(Encoder { nulls: None, cells: Cells::Null }),
            D::Boolean => Cells::Boolean(array.as_boolean()),
            D::Int32 => Cells::Int(values::<Int32Type>(array)),
            D::Date32 => Cells::Int(values::<Date32Type>(array)),
            D::Time32(TimeUnit::Millisecond) => Cells::Int(values::<Time32MillisecondType>(array)),
            D::Int64 => Cells::Long(values::<Int64Type>(array)),
            D::Time64(TimeUnit::Microsecond) => Cells::Long(values::<Time64MicrosecondType>(array)),
            D::Timestamp(TimeUnit::Millisecond, _) => Cells::Long(values::<TimestampMillisecondType>(array)),
            D::Timestamp(TimeUnit::Microsecond, _) => Cells::Long(values::<TimestampMicrosecondType>(array)),
            D::Timestamp(TimeUnit::Nanosecond, _) => Cells::Long(values::<TimestampNanosecondType>(array)),
            D::Float32 => Cells::Float(values::<Float32Type>(array)),
            D::Float64 => Cells::Double(values::<Float64Type>(array)),
            D::Decimal128(_, _) => Cells::Decimal(array.as_primitive::<Decimal128Type>()),
            D::Decimal256(_, _) => Cells::WideDecimal(array.as_primitive::<Decimal256Type>()),
            D::Utf8 => Cells::Text(array.as_string()),
            D::Binary => Cells::Bytes(array.as_binary()),
            D::FixedSizeBinary(_) => Cells::Fixed(array.as_fixed_size_binary()),
            D::List(item) => {
                let list = array.as_list::<i32>();
                Cells::List(list, boxed(list.values().as_ref(), item.is_nullable())?)
            }
            D::Map(_, _) => {
                let map = array.as_map();
                let nullable = map.entries().fields().get(1).is_some_and(|field| field.is_nullable());
                Cells::Map(map, boxed(map.keys().as_ref(), false)?, boxed(map.values().as_ref(), nullable)?)
            }
            D::Struct(fields) => {
                let columns = array.as_struct().columns().iter().zip(fields);
                let encoders =
                    columns.map(|(column, field)| Encoder::new(column.as_ref(), field.is_nullable()));
                Cells::Record(encoders.collect::<Result<_>>()?)
            }
            other => return Err(Error::bug(format!("Avro has no {other}"))),
        };
        Ok(Encoder { nulls: nullable.then(|| array.nulls()), cells })
    }

    /// Appends a cell.
    pub(super) fn encode(&self, row: usize, out: &mut Vec<u8>) {
        match self.nulls {
            Some(Some(nulls)) if nulls.is_null(row) => return out.push(0),
            // The second branch of the union.
            Some(_) => out.push(2),
            None => {}
        }
        match &self.cells {
            Cells::Null => {}
            Cells::Boolean(array) => out.push(u8::from(array.value(row))),
            Cells::Int(values) => long(values.get(row).copied().unwrap_or_default().into(), out),
            Cells::Long(values) => long(values.get(row).copied().unwrap_or_default(), out),
            Cells::Float(values) => out.extend(values.get(row).copied().unwrap_or_default().to_le_bytes()),
            Cells::Double(values) => out.extend(values.get(row).copied().unwrap_or_default().to_le_bytes()),
            Cells::Decimal(array) => bytes(shortened(&array.value(row).to_be_bytes()), out),
            Cells::WideDecimal(array) => bytes(shortened(&array.value(row).to_be_bytes()), out),
            Cells::Text(array) => bytes(array.value(row).as_bytes(), out),
            Cells::Bytes(array) => bytes(array.value(row), out),
            Cells::Fixed(array) => out.extend_from_slice(array.value(row)),
            Cells::List(list, items) => {
                let offsets = list.value_offsets();
                blocks(offsets.get(row), offsets.get(row + 1), out, |at, out| items.encode(at, out));
            }
            Cells::Map(map, keys, values) => {
                let offsets = map.value_offsets();
                blocks(offsets.get(row), offsets.get(row + 1), out, |at, out| {
                    keys.encode(at, out);
                    values.encode(at, out);
                });
            }
            Cells::Record(columns) => columns.iter().for_each(|column| column.encode(row, out)),
        }
    }
}

/// Items between two offsets: one block of them, and the empty one that ends all.
fn blocks(
    start: Option<&i32>,
    end: Option<&i32>,
    out: &mut Vec<u8>,
    mut each: impl FnMut(usize, &mut Vec<u8>),
) {
    let (start, end) = (start.copied().unwrap_or(0), end.copied().unwrap_or(0));
    if end > start {
        long(i64::from(end) - i64::from(start), out);
        (start..end).for_each(|at| each(at as usize, out));
    }
    out.push(0);
}
