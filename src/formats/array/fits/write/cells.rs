//! Cells as bytes: rows of fixed size, big-endian, and the heap of what has no fixed size.

use super::super::image::turn_sign;
use super::column::{Cell, Element};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::data::adapt::{NullRule, arrow_of, cell_bytes};
use crate::data::dtype::{DType, swap_bytes};
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::buffer::NullBuffer;
use arrow::compute::cast;

/// How the cells of a column are laid out.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub cell: Cell,
    /// Where the column begins in a row, and how many bytes it has there.
    pub offset: usize,
    pub width: usize,
    /// Whether a cell is a descriptor of bytes in the heap.
    pub in_heap: bool,
    /// The integer that means null.
    pub null: Option<i128>,
}

/// Some rows, and what they refer to.
pub(super) struct Rows {
    pub bytes: Vec<u8>,
    pub heap: Vec<u8>,
    pub count: u64,
}

/// The elements of lists of a fixed length, and which of them are null, or lie in a null list.
pub(super) fn leaf(array: &ArrayRef) -> Result<(ArrayRef, Option<NullBuffer>)> {
    let own = array.logical_nulls();
    let Some(list) = array.as_fixed_size_list_opt() else { return Ok((array.clone(), own)) };
    let len = usize::try_from(list.value_length()).unwrap_or(0);
    let start = if list.is_empty() { 0 } else { usize::try_from(list.value_offset(0)).unwrap_or(0) };
    let inner = list.values().slice(start, list.len() * len);
    let (leaf, nulls) = leaf(&inner)?;
    let each = leaf.len().checked_div(list.len()).unwrap_or(0);
    let outer = own.filter(|_| each > 0).map(|own| own.expand(each));
    Ok((leaf, NullBuffer::union(outer.as_ref(), nulls.as_ref())))
}

/// Elements as they are stored, one after the other.
fn elements(
    element: &Element,
    leaf: &ArrayRef,
    nulls: Option<&NullBuffer>,
    null: Option<i128>,
) -> Result<Vec<u8>> {
    let rule = NullRule::default();
    rule.fill(true);
    let is_null = |n: usize| nulls.is_some_and(|nulls| nulls.is_null(n));
    match element {
        Element::Logical => {
            let values = leaf.as_boolean_opt().ok_or_else(|| Error::bug("truth values that are none"))?;
            let one = |n: usize| match (is_null(n), values.value(n)) {
                (true, _) => 0,
                (_, true) => b'T',
                (_, false) => b'F',
            };
            Ok((0..values.len()).map(one).collect())
        }
        Element::Number(dtype) => {
            if let Some(fixed) = leaf.as_fixed_size_binary_opt() {
                let len = usize::try_from(fixed.value_length()).unwrap_or(0);
                let mut bytes = Vec::with_capacity(leaf.len() * len);
                (0..leaf.len()).for_each(|n| match is_null(n) {
                    true => bytes.resize(bytes.len() + len, 0),
                    false => bytes.extend_from_slice(fixed.value(n)),
                });
                return Ok(bytes);
            }
            let is_narrow = DType::number(leaf.data_type()).is_some_and(|own| own != *dtype);
            let mut bytes = match arrow_of(dtype).filter(|_| is_narrow) {
                Some((wide, _)) => cell_bytes(&cast(leaf, &wide)?, dtype, &rule)?,
                None => cell_bytes(leaf, dtype, &rule)?,
            };
            let size = dtype.size() as usize;
            let filler = match dtype {
                DType::F32 => f32::NAN.to_le_bytes().to_vec(),
                DType::F64 => f64::NAN.to_le_bytes().to_vec(),
                _ => null.unwrap_or(0).to_le_bytes().get(..size).unwrap_or_default().to_vec(),
            };
            if nulls.is_some_and(|nulls| nulls.null_count() > 0) {
                for (n, place) in bytes.chunks_exact_mut(size.max(1)).enumerate() {
                    if is_null(n) {
                        place.copy_from_slice(&filler);
                    }
                }
            }
            if element.zero().is_some() {
                turn_sign(&mut bytes, size);
            }
            swap_bytes(&mut bytes, size);
            Ok(bytes)
        }
        Element::Complex(dtype) => {
            let parts = leaf.as_struct_opt().ok_or_else(|| Error::bug("complex numbers that are none"))?;
            let part = if *dtype == DType::C64 { DType::F32 } else { DType::F64 };
            let size = part.size() as usize;
            let mut out = vec![0; leaf.len() * 2 * size];
            for (place, column) in parts.columns().iter().enumerate() {
                let mut bytes = cell_bytes(column, &part, &rule)?;
                swap_bytes(&mut bytes, size);
                for (to, from) in out.chunks_exact_mut(2 * size).zip(bytes.chunks_exact(size)) {
                    if let Some(to) = to.get_mut(place * size..(place + 1) * size) {
                        to.copy_from_slice(from);
                    }
                }
            }
            Ok(out)
        }
    }
}

impl Rows {
    /// The rows of some columns; places in the heap are counted from the beginning of theirs.
    ///
    /// # Errors
    /// `Limit` for more bytes than fit into memory; `Malformed` for a text that is longer than it was.
    pub(super) fn new(columns: &[ArrayRef], layouts: &[Layout], count: usize, row: usize) -> Result<Rows> {
        let bytes = limits::bytes(&[count as u64], row as u64)?;
        let mut rows =
            Rows { bytes: limits::buffer(bytes, "these rows")?, heap: Vec::new(), count: count as u64 };
        for (column, layout) in columns.iter().zip(layouts) {
            rows.column(column, layout, row)?;
        }
        Ok(rows)
    }

    fn column(&mut self, column: &ArrayRef, layout: &Layout, row: usize) -> Result<()> {
        match &layout.cell {
            Cell::Fixed(element, _) => {
                let (leaf, nulls) = leaf(column)?;
                let bytes = elements(element, &leaf, nulls.as_ref(), layout.null)?;
                for (n, cell) in bytes.chunks_exact(layout.width.max(1)).enumerate() {
                    self.put(n * row + layout.offset, cell);
                }
            }
            Cell::Text => {
                let texts = column.as_string_opt::<i32>().ok_or_else(|| Error::bug("texts that are none"))?;
                for (n, text) in texts.iter().enumerate() {
                    let text = text.unwrap_or_default().as_bytes();
                    self.cell(n * row + layout.offset, layout, text, text.len())?;
                }
            }
            Cell::Binary => {
                let all = column.as_binary_opt::<i32>().ok_or_else(|| Error::bug("bytes that are none"))?;
                for (n, bytes) in all.iter().enumerate() {
                    let bytes = bytes.unwrap_or_default();
                    self.cell(n * row + layout.offset, layout, bytes, bytes.len())?;
                }
            }
            Cell::List(element) => {
                let lists = column.as_list_opt::<i32>().ok_or_else(|| Error::bug("lists that are none"))?;
                let inner = lists.values();
                let bytes = elements(element, inner, inner.logical_nulls().as_ref(), layout.null)?;
                for (n, ends) in lists.offsets().windows(2).enumerate() {
                    let [start, end] = ends else { continue };
                    let (start, end) =
                        (usize::try_from(*start).unwrap_or(0), usize::try_from(*end).unwrap_or(0));
                    let is_there = lists.is_valid(n);
                    let range = if is_there { start..end } else { 0..0 };
                    let size = element.size();
                    let cell = bytes.get(range.start * size..range.end * size).unwrap_or_default();
                    self.cell(n * row + layout.offset, layout, cell, range.len())?;
                }
            }
        }
        Ok(())
    }

    /// A cell of `count` elements, in its row or in the heap.
    fn cell(&mut self, at: usize, layout: &Layout, bytes: &[u8], count: usize) -> Result<()> {
        if !layout.in_heap {
            if bytes.len() > layout.width {
                return Err(Error::malformed("table: a text is longer than when it was measured"));
            }
            self.put(at, bytes);
            return Ok(());
        }
        let place = self.heap.len();
        match layout.width {
            16 => self.put(at, &[(count as u64).to_be_bytes(), (place as u64).to_be_bytes()].concat()),
            _ => self.put(at, &[(count as u32).to_be_bytes(), (place as u32).to_be_bytes()].concat()),
        }
        self.heap.extend_from_slice(bytes);
        Ok(())
    }

    fn put(&mut self, at: usize, bytes: &[u8]) {
        if let Some(place) = self.bytes.get_mut(at..at + bytes.len()) {
            place.copy_from_slice(bytes);
        }
    }

    /// Moves places in the heap: what it refers to begins at byte `base` of the whole heap.
    pub(super) fn move_heap(&mut self, base: u64, layouts: &[Layout], row: usize) {
        for layout in layouts.iter().filter(|layout| layout.in_heap) {
            let size = layout.width / 2;
            for cells in self.bytes.chunks_exact_mut(row.max(1)) {
                let start = layout.offset + size;
                let Some(place) = cells.get_mut(start..start + size) else { continue };
                let old = place.iter().fold(0u64, |value, byte| value << 8 | u64::from(*byte));
                let new = (old + base).to_be_bytes();
                place.copy_from_slice(new.get(8 - size..).unwrap_or_default());
            }
        }
    }
}
