//! Rows of Arrow columns as elements of a compound datatype in memory: fixed values by their bytes, text and
//! bytes of any length as places of their own.

use super::library::{Dataset, Type};
use super::types;
use crate::bytes::error::{Error, Result};
use crate::data::adapt::{NullRule, cell_bytes, column_dtype};
use crate::data::cell;
use crate::data::dtype::DType;
use crate::engines::variables::refused;
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field as ArrowField};

/// How the cells of one column are kept.
pub(super) enum Cell {
    /// Elements of a fixed size, so many in a cell as the shape has.
    Fixed(DType, Vec<u64>),
    /// UTF-8 text.
    Text,
    /// Bytes of any length.
    Bytes,
    /// Members of their own: where each starts.
    Record(Vec<(String, usize, Cell)>),
}

impl Cell {
    /// What holds the values of a column.
    pub(super) fn of(data_type: &DataType) -> Cell {
        if let Some((dtype, shape)) = column_dtype(data_type).filter(|(dtype, _)| types::is_there(dtype)) {
            return Cell::Fixed(dtype, shape);
        }
        match data_type {
            DataType::Binary | DataType::LargeBinary | DataType::BinaryView => Cell::Bytes,
            DataType::Struct(fields) if !fields.is_empty() => {
                let mut at = 0;
                let mut place = |field: &ArrowField| {
                    let cell = Cell::of(field.data_type());
                    let start = at;
                    at += cell.size();
                    (field.name().clone(), start, cell)
                };
                Cell::Record(fields.iter().map(|field| place(field)).collect())
            }
            DataType::Dictionary(_, values) => Cell::of(values),
            DataType::RunEndEncoded(_, values) => Cell::of(values.data_type()),
            _ => Cell::Text,
        }
    }

    /// Bytes of a cell in memory.
    pub(super) fn size(&self) -> usize {
        match self {
            Cell::Fixed(dtype, shape) => (shape.iter().product::<u64>() * dtype.size()) as usize,
            Cell::Text => size_of::<usize>(),
            Cell::Bytes => 2 * size_of::<usize>(),
            Cell::Record(members) => members.iter().map(|(_, _, cell)| cell.size()).sum(),
        }
    }

    /// The HDF5 type of a cell in memory.
    pub(super) fn datatype(&self) -> Result<Type> {
        match self {
            Cell::Fixed(dtype, shape) => {
                let Some(element) = types::of(dtype)? else {
                    return Err(Error::bug(format!("{dtype} has no HDF5 type")));
                };
                if shape.is_empty() { Ok(element) } else { element.array(shape) }
            }
            Cell::Text => Type::texts(),
            Cell::Bytes => Type::byte_lists(),
            Cell::Record(members) => {
                let member = |(name, start, cell): &(String, usize, Cell)| {
                    Ok((name.clone(), *start, cell.datatype()?))
                };
                Type::record(self.size(), &members.iter().map(member).collect::<Result<Vec<_>>>()?)
            }
        }
    }
}

/// Rows in memory, and what their places point to.
pub(super) struct Rows {
    bytes: Vec<u8>,
    /// Never touched again: the rows hold the addresses of these bytes.
    kept: Vec<Vec<u8>>,
    pub(super) count: usize,
}

impl Rows {
    /// So many rows of bytes that hold no places.
    pub(super) fn plain(bytes: Vec<u8>, count: usize) -> Rows {
        Rows { bytes, kept: Vec::new(), count }
    }

    /// The rows of a column.
    ///
    /// # Errors
    /// `Unsupported` for null cells without consent, and for text with a zero character.
    pub(super) fn of(cell: &Cell, column: &ArrayRef, fill: bool) -> Result<Rows> {
        let (count, size) = (column.len(), cell.size());
        let mut rows = Rows { bytes: vec![0; count * size], kept: Vec::new(), count };
        rows.put(cell, column, fill, size, 0)?;
        Ok(rows)
    }

    /// Writes the rows, which were made for this type, to these elements.
    pub(super) fn write(
        &self,
        dataset: &Dataset,
        datatype: &Type,
        start: &[u64],
        count: &[u64],
    ) -> Result<()> {
        let held: u64 = self.kept.iter().map(|bytes| bytes.len() as u64).sum();
        // SAFETY: texts end with zero, lists are as long as they say, and both live as long as the rows do.
        unsafe {
            match self.kept.is_empty() {
                true => dataset.write(datatype, start, count, &self.bytes),
                false => dataset.write_of(datatype, start, count, (&self.bytes, held)),
            }
        }
    }

    fn put(&mut self, cell: &Cell, column: &ArrayRef, fill: bool, stride: usize, at: usize) -> Result<()> {
        match cell {
            Cell::Fixed(dtype, _) => {
                let rule = NullRule::default();
                rule.fill(fill);
                let plain = plain(column)?;
                let found = plain.logical_null_count();
                if found > 0 && !fill {
                    return Err(refused(found));
                }
                let bytes = cell_bytes(&plain, dtype, &rule)?;
                self.scatter(&bytes, cell.size(), stride, at);
            }
            Cell::Text => self.texts(&plain(column)?, fill, stride, at)?,
            Cell::Bytes => self.lists(&cast(&plain(column)?, &DataType::LargeBinary)?, fill, stride, at)?,
            Cell::Record(members) => {
                let column = plain(column)?;
                let records = column.as_struct_opt().ok_or_else(|| Error::bug("a record that is none"))?;
                if !fill && records.null_count() > 0 {
                    return Err(refused(records.null_count()));
                }
                for ((_, start, cell), column) in members.iter().zip(records.columns()) {
                    self.put(cell, column, fill, stride, at + start)?;
                }
            }
        }
        Ok(())
    }

    fn scatter(&mut self, bytes: &[u8], size: usize, stride: usize, at: usize) {
        if size == 0 || stride == 0 {
            return;
        }
        for (row, cell) in self.bytes.chunks_exact_mut(stride).zip(bytes.chunks_exact(size)) {
            if let Some(place) = row.get_mut(at..at + size) {
                place.copy_from_slice(cell);
            }
        }
    }

    fn texts(&mut self, column: &ArrayRef, fill: bool, stride: usize, at: usize) -> Result<()> {
        let empty = column.logical_null_count();
        if empty > 0 && !fill {
            return Err(refused(empty));
        }
        let mut text = Vec::new();
        let mut starts = Vec::with_capacity(column.len());
        for row in 0..column.len() {
            starts.push(text.len());
            if let Some(cell) = cell::shown(column.as_ref(), row) {
                if cell.contains('\0') {
                    return Err(Error::unsupported(format!(
                        "the text {cell:?} has a zero character, with which HDF5 ends text"
                    )));
                }
                text.extend_from_slice(cell.as_bytes());
            }
            text.push(0);
        }
        let base = text.as_ptr() as usize;
        let places: Vec<u8> = starts.iter().flat_map(|start| (base + start).to_ne_bytes()).collect();
        self.kept.push(text);
        self.scatter(&places, size_of::<usize>(), stride, at);
        Ok(())
    }

    fn lists(&mut self, column: &ArrayRef, fill: bool, stride: usize, at: usize) -> Result<()> {
        if column.null_count() > 0 && !fill {
            return Err(refused(column.null_count()));
        }
        let column = column.as_binary::<i64>();
        let all = column.value_data().to_vec();
        let base = all.as_ptr() as usize;
        let mut places = Vec::with_capacity(column.len() * 2 * size_of::<usize>());
        for row in 0..column.len() {
            let len = if column.is_null(row) { 0 } else { column.value(row).len() };
            let start = column.value_offsets().get(row).copied().unwrap_or(0) as usize;
            places.extend_from_slice(&len.to_ne_bytes());
            places.extend_from_slice(&(base + start).to_ne_bytes());
        }
        self.kept.push(all);
        self.scatter(&places, 2 * size_of::<usize>(), stride, at);
        Ok(())
    }
}

/// A column with its values in it, not behind keys or runs.
fn plain(column: &ArrayRef) -> Result<ArrayRef> {
    Ok(match column.data_type() {
        DataType::Dictionary(_, values) => cast(column, values)?,
        DataType::RunEndEncoded(_, values) => cast(column, values.data_type())?,
        _ => column.clone(),
    })
}
