//! Values that are stored as differences to those before them, or with each byte apart: put together of what is told of
//! them (<https://github.com/apache/parquet-format/blob/master/Encodings.md>).

use super::typed;
use arrow::array::{Array as _, ArrayRef};
use arrow::datatypes::DataType;
use gander::Task;
use gander::data::cell;
use gander::data::content::Table;
use gander::data::location::{Location, Within};

/// Whether a cell is what its parts make; `None` where it is stored in another way.
pub(super) fn same(
    task: &Task,
    table: &dyn Table,
    place: (u64, usize),
    location: &Location,
    bytes: &[u8],
    values: &ArrayRef,
) -> Option<bool> {
    match location.encoding.as_deref()? {
        "BYTE_STREAM_SPLIT" => {
            let mut all = bytes.to_vec();
            for part in location.parts.iter().filter(|part| part.what == "next byte of the value") {
                all.extend_from_slice(&part.location.value(task).unwrap().unwrap());
            }
            Some(typed(location, &all, values) == cell::text(values, 0))
        }
        "DELTA_BINARY_PACKED" => {
            let shown = integer(values)?;
            let least = location.parts.iter().find(|part| part.what == "least difference of the block");
            let Some(least) = least else { return Some(zigzag(bytes) == shown) };
            let least = zigzag(&least.location.value(task).unwrap().unwrap());
            let more = number(location, bytes) as i64;
            let before = integer(&before(task, table, place)?)?;
            let sum = before.wrapping_add(least).wrapping_add(more);
            // Numbers of 32 bits go round at 32 bits.
            let narrow = values.data_type().primitive_width()? <= 4;
            Some(if narrow { sum as i32 == shown as i32 } else { sum == shown })
        }
        "DELTA_BYTE_ARRAY" => {
            let (shown, own) = (cell::text(values, 0)?, std::str::from_utf8(bytes).ok()?);
            let Some(shared) = shown.strip_suffix(own) else { return Some(false) };
            let before = before(task, table, place).and_then(|values| cell::text(&values, 0));
            let said = location.parts.iter().any(|part| part.what.starts_with("length of what is"));
            Some(said && (shared.is_empty() || before.is_some_and(|before| before.starts_with(shared))))
        }
        _ => None,
    }
}

/// The value before, nulls aside.
fn before(task: &Task, table: &dyn Table, (row, column): (u64, usize)) -> Option<ArrayRef> {
    let values =
        (0..row).rev().map(|row| table.read(task, row..row + 1, &[column]).unwrap().column(0).clone());
    values.into_iter().find(|values| values.is_valid(0))
}

fn number(location: &Location, bytes: &[u8]) -> u64 {
    let bits = location.within.as_ref().and_then(|within| within.bits.clone());
    let within = Within { bytes: 0..bytes.len() as u64, bits };
    within.number(bytes).unwrap()
}

fn zigzag(bytes: &[u8]) -> i64 {
    let number = bytes.iter().rev().fold(0u64, |number, byte| number << 7 | u64::from(byte & 0x7f));
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

/// A whole number as it is stored.
fn integer(values: &ArrayRef) -> Option<i64> {
    let signed = matches!(
        values.data_type(),
        DataType::Int32 | DataType::Int64 | DataType::Date32 | DataType::Timestamp(..) | DataType::Time64(_)
    );
    let width = values.data_type().primitive_width().filter(|_| signed)?;
    let data = values.to_data();
    let bytes = &data.buffers()[0].as_slice()[data.offset() * width..][..width];
    Some(match width {
        4 => i64::from(i32::from_le_bytes(bytes.try_into().ok()?)),
        _ => i64::from_le_bytes(bytes.try_into().ok()?),
    })
}
