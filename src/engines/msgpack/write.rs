//! Cells as MessagePack: numbers in their shortest form, lists as arrays, structs and maps as maps, moments as timestamps,
//! arrays of one shape as `msgpack-numpy` writes them; what MessagePack has no type for as text.
//! <https://github.com/msgpack/msgpack/blob/master/spec.md>, <https://github.com/lebedov/msgpack-numpy>

use crate::bytes::error::{Error, Result};
use crate::data::cell;
use crate::engines::json::value_text::{plain, text, whole};
use crate::engines::samples::columns::{Column, Form, Leaf};
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{self as types, DataType, TimeUnit};

/// How deep values nest.
const DEPTH: usize = 64;

/// A head that says a length, in the shortest of its forms: of so few values, of 8, 16 and 32 bits.
fn head(short: Option<(u8, u64)>, codes: [u8; 3], len: usize, out: &mut Vec<u8>) -> Result<()> {
    let len = len as u64;
    match (short, codes) {
        (Some((base, most)), _) if len <= most => out.push(base | len as u8),
        (_, [code, ..]) if code != 0 && len <= 0xff => out.extend([code, len as u8]),
        (_, [_, code, _]) if len <= 0xffff => {
            out.push(code);
            out.extend((len as u16).to_be_bytes());
        }
        (_, [_, _, code]) => {
            let len = u32::try_from(len).map_err(|_| {
                Error::unsupported(format!("{len} bytes or values; MessagePack has lengths of 32 bits"))
            })?;
            out.push(code);
            out.extend(len.to_be_bytes());
        }
    }
    Ok(())
}

/// Begins a map of so many pairs.
///
/// # Errors
/// `Unsupported` for more than 2³² of them.
pub fn map(len: usize, out: &mut Vec<u8>) -> Result<()> {
    head(Some((0x80, 15)), [0, 0xde, 0xdf], len, out)
}

/// Begins an array of so many values.
///
/// # Errors
/// As [`map`].
pub fn array(len: usize, out: &mut Vec<u8>) -> Result<()> {
    head(Some((0x90, 15)), [0, 0xdc, 0xdd], len, out)
}

/// Appends a text.
///
/// # Errors
/// `Unsupported` for one of 4 GiB and more.
pub fn string(text: &str, out: &mut Vec<u8>) -> Result<()> {
    head(Some((0xa0, 31)), [0xd9, 0xda, 0xdb], text.len(), out)?;
    out.extend_from_slice(text.as_bytes());
    Ok(())
}

/// Appends bytes.
///
/// # Errors
/// As [`string`].
pub fn bytes(bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
    head(None, [0xc4, 0xc5, 0xc6], bytes.len(), out)?;
    out.extend_from_slice(bytes);
    Ok(())
}

fn unsigned(value: u64, out: &mut Vec<u8>) {
    match value {
        0..=0x7f => out.push(value as u8),
        0x80..=0xff => out.extend([0xcc, value as u8]),
        0x100..=0xffff => {
            out.push(0xcd);
            out.extend((value as u16).to_be_bytes());
        }
        0x1_0000..=0xffff_ffff => {
            out.push(0xce);
            out.extend((value as u32).to_be_bytes());
        }
        _ => {
            out.push(0xcf);
            out.extend(value.to_be_bytes());
        }
    }
}

fn signed(value: i64, out: &mut Vec<u8>) {
    if let Ok(value) = u64::try_from(value) {
        unsigned(value, out);
    } else if value >= -32 {
        out.push(value as u8);
    } else if let Ok(value) = i8::try_from(value) {
        out.extend([0xd0, value.cast_unsigned()]);
    } else if let Ok(value) = i16::try_from(value) {
        out.push(0xd1);
        out.extend(value.to_be_bytes());
    } else if let Ok(value) = i32::try_from(value) {
        out.push(0xd2);
        out.extend(value.to_be_bytes());
    } else {
        out.push(0xd3);
        out.extend(value.to_be_bytes());
    }
}

/// A moment: the timestamp of 32, 64 or 96 bits.
fn moment(seconds: i64, nanos: u32, out: &mut Vec<u8>) {
    match u64::try_from(seconds) {
        Ok(seconds) if nanos == 0 && u32::try_from(seconds).is_ok() => {
            out.extend([0xd6, 0xff]);
            out.extend((seconds as u32).to_be_bytes());
        }
        Ok(seconds) if seconds < 1 << 34 => {
            out.extend([0xd7, 0xff]);
            out.extend((u64::from(nanos) << 34 | seconds).to_be_bytes());
        }
        _ => {
            out.extend([0xc7, 12, 0xff]);
            out.extend(nanos.to_be_bytes());
            out.extend(seconds.to_be_bytes());
        }
    }
}

/// A column in the form in which its cells are written fastest.
///
/// # Errors
/// Those of a cast.
pub fn prepared(column: &ArrayRef) -> Result<ArrayRef> {
    let column = plain(column);
    Ok(match column.data_type() {
        // As nanoseconds moments end in the year 2262; coarser ones keep their unit.
        DataType::Float16 => cast(&column, &DataType::Float32)?,
        _ => column,
    })
}

/// Appends a cell.
///
/// # Errors
/// `Unsupported` for what is too long, `Limit` for what nests too deep.
pub fn value(cells: &dyn Array, row: usize, depth: usize, out: &mut Vec<u8>) -> Result<()> {
    if depth > DEPTH {
        return Err(Error::limit(format!("values that nest more than {DEPTH} deep")));
    }
    if cells.is_null(row) || matches!(cells.data_type(), DataType::Null) {
        out.push(0xc0);
        return Ok(());
    }
    if let Some(text) = text(cells, row) {
        return string(text, out);
    }
    if let Some(binary) = cell::binary(cells, row) {
        return bytes(binary, out);
    }
    if number(cells, row, out) {
        return Ok(());
    }
    let items = |items: ArrayRef, out: &mut Vec<u8>| {
        array(items.len(), out)?;
        (0..items.len()).try_for_each(|at| value(items.as_ref(), at, depth + 1, out))
    };
    match cells.data_type() {
        DataType::List(_) => items(cells.as_list::<i32>().value(row), out),
        DataType::LargeList(_) => items(cells.as_list::<i64>().value(row), out),
        DataType::FixedSizeList(_, _) => {
            let list = cells.as_fixed_size_list();
            match numpy(&(list.slice(row, 1)), out)? {
                true => Ok(()),
                false => items(list.value(row), out),
            }
        }
        DataType::Struct(fields) => {
            map(fields.len(), out)?;
            for (field, child) in fields.iter().zip(cells.as_struct().columns()) {
                string(field.name(), out)?;
                value(child.as_ref(), row, depth + 1, out)?;
            }
            Ok(())
        }
        DataType::Map(_, _) => {
            let entries = cells.as_map().value(row);
            map(entries.len(), out)?;
            for at in 0..entries.len() {
                entries.columns().iter().try_for_each(|side| value(side.as_ref(), at, depth + 1, out))?;
            }
            Ok(())
        }
        _ => string(&whole(cells, row).unwrap_or_default(), out),
    }
}

/// Appends a number, a truth value or a moment; `false` for other types.
fn number(cells: &dyn Array, row: usize, out: &mut Vec<u8>) -> bool {
    macro_rules! integer {
        ($ty:ty, $how:ident, $to:ty) => {
            $how(<$to>::from(cells.as_primitive::<$ty>().value(row)), out)
        };
    }
    match cells.data_type() {
        DataType::Boolean => out.push(if cells.as_boolean().value(row) { 0xc3 } else { 0xc2 }),
        DataType::Int8 => integer!(types::Int8Type, signed, i64),
        DataType::Int16 => integer!(types::Int16Type, signed, i64),
        DataType::Int32 => integer!(types::Int32Type, signed, i64),
        DataType::Int64 => integer!(types::Int64Type, signed, i64),
        DataType::UInt8 => integer!(types::UInt8Type, unsigned, u64),
        DataType::UInt16 => integer!(types::UInt16Type, unsigned, u64),
        DataType::UInt32 => integer!(types::UInt32Type, unsigned, u64),
        DataType::UInt64 => integer!(types::UInt64Type, unsigned, u64),
        DataType::Float16 => {
            out.push(0xca);
            out.extend(f32::from(cells.as_primitive::<types::Float16Type>().value(row)).to_be_bytes());
        }
        DataType::Float32 => {
            out.push(0xca);
            out.extend(cells.as_primitive::<types::Float32Type>().value(row).to_be_bytes());
        }
        DataType::Float64 => {
            out.push(0xcb);
            out.extend(cells.as_primitive::<types::Float64Type>().value(row).to_be_bytes());
        }
        DataType::Timestamp(unit, Some(_)) => {
            let (count, each) = match unit {
                TimeUnit::Second => (cells.as_primitive::<types::TimestampSecondType>().value(row), 1),
                TimeUnit::Millisecond => {
                    (cells.as_primitive::<types::TimestampMillisecondType>().value(row), 1_000)
                }
                TimeUnit::Microsecond => {
                    (cells.as_primitive::<types::TimestampMicrosecondType>().value(row), 1_000_000)
                }
                TimeUnit::Nanosecond => {
                    (cells.as_primitive::<types::TimestampNanosecondType>().value(row), 1_000_000_000)
                }
            };
            let rest = count.rem_euclid(each) as u32;
            moment(count.div_euclid(each), rest * (1_000_000_000 / each) as u32, out);
        }
        _ => return false,
    }
    true
}

/// Appends an array of one shape as `msgpack-numpy` does; `false` where it is none of numbers.
fn numpy(one: &dyn Array, out: &mut Vec<u8>) -> Result<bool> {
    let Form::Fixed(shape, leaf) = Form::of(one.data_type()) else { return Ok(false) };
    let word = match leaf {
        Leaf::Bool => "|b1",
        Leaf::Int => "<i8",
        Leaf::Uint => "<u8",
        Leaf::Float => "<f4",
        Leaf::Double => "<f8",
        _ => return Ok(false),
    };
    let Ok(column) = Column::new("", &arrow::array::make_array(one.to_data())) else { return Ok(false) };
    let Some(range) = column.range(0) else { return Ok(false) };
    map(5, out)?;
    bytes(b"nd", out)?;
    out.push(0xc3);
    bytes(b"type", out)?;
    string(word, out)?;
    bytes(b"kind", out)?;
    bytes(b"", out)?;
    bytes(b"shape", out)?;
    array(shape.len(), out)?;
    shape.iter().for_each(|side| unsigned(*side as u64, out));
    bytes(b"data", out)?;
    let mut data = Vec::new();
    column.elements(range, &mut data);
    bytes(&data, out)?;
    Ok(true)
}
