//! Hashes of cells: of single values for counts of different and frequent ones, of nested ones to tell
//! whether two columns are the same.

use super::super::sketch::{hashed, hashed_word, mixed};
use super::super::texts::Cells;
use super::{Fold, Place};
use arrow::array::*;
use arrow::datatypes::*;
use std::ops::Range;

impl Fold {
    /// Hashes an array: for the different values, the frequent ones, and
    /// to tell equal columns.
    #[allow(
        clippy::indexing_slicing,
        reason = "rows below the length of the array are asked for, which has a value each"
    )]
    pub(super) fn hashes(&mut self, array: &ArrayRef, place: Place) {
        let seed = self.seed;
        macro_rules! words {
            ($ty:ty, $bits:expr) => {{
                let array = array.as_primitive::<$ty>();
                let values = array.values();
                self.take(array.nulls(), array.len(), place, |row| hashed_word(seed, $bits(values[row])));
            }};
        }
        macro_rules! bytes {
            ($array:expr) => {{
                let cells = $array;
                self.take(cells.nulls(), cells.len(), place, |row| {
                    let value: &[u8] = cells.value(row).as_ref();
                    hashed(seed, value)
                });
            }};
        }
        macro_rules! cells {
            ($array:expr) => {{
                let cells = Cells::of($array);
                self.take(array.nulls(), array.len(), place, |row| cells.hash(seed, row));
            }};
        }
        match array.data_type() {
            DataType::Utf8 => cells!(array.as_string::<i32>()),
            DataType::LargeUtf8 => cells!(array.as_string::<i64>()),
            DataType::Utf8View => bytes!(array.as_string_view()),
            DataType::Binary => cells!(array.as_binary::<i32>()),
            DataType::LargeBinary => cells!(array.as_binary::<i64>()),
            DataType::BinaryView => bytes!(array.as_binary_view()),
            DataType::FixedSizeBinary(_) => bytes!(array.as_fixed_size_binary()),
            DataType::Boolean => {
                let flags = array.as_boolean();
                self.take(flags.nulls(), flags.len(), place, |row| {
                    hashed_word(seed, u64::from(flags.value(row)))
                });
            }
            DataType::Int8 => words!(Int8Type, |v: i8| v as u64),
            DataType::Int16 => words!(Int16Type, |v: i16| v as u64),
            DataType::Int32 => words!(Int32Type, |v: i32| v as u64),
            DataType::Int64 => words!(Int64Type, |v: i64| v as u64),
            DataType::UInt8 => words!(UInt8Type, u64::from),
            DataType::UInt16 => words!(UInt16Type, u64::from),
            DataType::UInt32 => words!(UInt32Type, u64::from),
            DataType::UInt64 => words!(UInt64Type, |v: u64| v),
            DataType::Float32 => words!(Float32Type, |v: f32| u64::from(v.to_bits())),
            DataType::Float64 => words!(Float64Type, |v: f64| v.to_bits()),
            DataType::Null => {}
            data_type if data_type.is_nested() => {
                self.hashable = false;
                self.prints(array, place.first);
            }
            _ => {
                let data = array.to_data();
                let Some((width, values)) = array.data_type().primitive_width().zip(data.buffers().first())
                else {
                    (self.hashable, self.fingerprint) = (false, None);
                    return;
                };
                let values = values.as_slice().get(data.offset() * width..).unwrap_or_default();
                self.take(array.nulls(), array.len(), place, |row| {
                    hashed(seed, values.get(row * width..(row + 1) * width).unwrap_or_default())
                });
            }
        }
    }

    /// Takes the hashes of valid rows into account.
    fn take(
        &mut self,
        nulls: Option<&arrow::buffer::NullBuffer>,
        len: usize,
        Place { first, times }: Place,
        hash: impl Fn(usize) -> u64,
    ) {
        let mut print = 0u64;
        let (mut before, mut run, mut run_row) = (None, 0u64, 0u64);
        for row in 0..len {
            if nulls.is_some_and(|nulls| nulls.is_null(row)) {
                continue;
            }
            let now = hash(row);
            // A sum of each value with its place: parts can be put together in any order.
            print = print.wrapping_add(mixed(now, first + row as u64));
            if before == Some(now) {
                run += 1;
                continue;
            }
            if let Some(before) = before.replace(now) {
                self.distinct.add(before);
                self.frequent.add(before, run_row, run * times);
            }
            (run, run_row) = (1, first + row as u64);
        }
        if let Some(before) = before {
            self.distinct.add(before);
            self.frequent.add(before, run_row, run * times);
        }
        self.fingerprint = self.fingerprint.map(|before| before.wrapping_add(print));
    }

    /// The same of nested cells, which are only compared.
    fn prints(&mut self, array: &ArrayRef, first: u64) {
        let mut print = self.fingerprint;
        for row in (0..array.len()).filter(|row| array.is_valid(*row)) {
            let Some(before) = print else { break };
            print = nested(self.seed, array.as_ref(), row)
                .map(|hash| before.wrapping_add(mixed(hash, first + row as u64)));
        }
        self.fingerprint = print;
    }
}

/// What a null inside a cell counts as.
const NULL: u64 = 0x6e75_6c6c;

/// The hash of a cell, whatever is in it; `None` for types that are not hashed.
fn nested(seed: u64, array: &dyn Array, row: usize) -> Option<u64> {
    if array.is_null(row) {
        return Some(hashed_word(seed, NULL));
    }
    match array.data_type() {
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            let ends = list.value_offsets();
            elements(seed, list.values().as_ref(), *ends.get(row)? as usize..*ends.get(row + 1)? as usize)
        }
        DataType::LargeList(_) => {
            let list = array.as_list::<i64>();
            let ends = list.value_offsets();
            elements(seed, list.values().as_ref(), *ends.get(row)? as usize..*ends.get(row + 1)? as usize)
        }
        DataType::FixedSizeList(_, size) => {
            let (list, size) = (array.as_fixed_size_list(), usize::try_from(*size).ok()?);
            elements(seed, list.values().as_ref(), row * size..(row + 1) * size)
        }
        DataType::Map(..) => {
            let map = array.as_map();
            let ends = map.value_offsets();
            elements(seed, map.entries(), *ends.get(row)? as usize..*ends.get(row + 1)? as usize)
        }
        DataType::Struct(_) => {
            let columns = array.as_struct().columns();
            columns.iter().try_fold(seed, |hash, column| nested(hash, column.as_ref(), row))
        }
        DataType::Utf8 => Some(hashed(seed, array.as_string::<i32>().value(row).as_bytes())),
        DataType::LargeUtf8 => Some(hashed(seed, array.as_string::<i64>().value(row).as_bytes())),
        DataType::Utf8View => Some(hashed(seed, array.as_string_view().value(row).as_bytes())),
        DataType::Binary => Some(hashed(seed, array.as_binary::<i32>().value(row))),
        DataType::LargeBinary => Some(hashed(seed, array.as_binary::<i64>().value(row))),
        DataType::BinaryView => Some(hashed(seed, array.as_binary_view().value(row))),
        DataType::FixedSizeBinary(_) => Some(hashed(seed, array.as_fixed_size_binary().value(row))),
        DataType::Boolean => Some(hashed_word(seed, u64::from(array.as_boolean().value(row)))),
        DataType::Null => Some(hashed_word(seed, NULL)),
        _ => numbers(seed, array, row..row + 1),
    }
}

/// The hash of the elements of a list.
fn elements(seed: u64, values: &dyn Array, range: Range<usize>) -> Option<u64> {
    // Plain numbers, as in embeddings, are hashed by their bytes.
    if values.null_count() == 0
        && let Some(hash) = numbers(seed, values, range.clone())
    {
        return Some(hash);
    }
    let first = mixed(seed, range.len() as u64);
    range.into_iter().try_fold(first, |hash, row| nested(hash, values, row))
}

/// The hash of values of a fixed width; `None` for others.
fn numbers(seed: u64, array: &dyn Array, range: Range<usize>) -> Option<u64> {
    let width = array.data_type().primitive_width()?;
    macro_rules! bytes {
        ($array:expr) => {{
            let values = $array.values().inner().as_slice();
            Some(hashed(seed, values.get(range.start * width..range.end * width)?))
        }};
    }
    arrow::array::downcast_primitive_array!(
        array => bytes!(array),
        _ => None,
    )
}
