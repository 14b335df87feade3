//! Texts: each a row of characters in a cell, or all together a matrix of characters.
//!
//! Characters are UTF-16, as MATLAB's are. Where one of them takes two units, all are UTF-8 instead, as SciPy writes them:
//! readers count characters then, and no unit is without its other half.

use super::put::{MatrixHead, Out, UTF8, UTF16, head, padding, whole};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::adapt::PartsArray;
use crate::data::cell;
use crate::data::column_order::{blocks, elements_by_columns, places};
use crate::data::content::Array;
use crate::data::dtype::DType;
use crate::data::region::Region;
use crate::data::scan::elements;
use arrow::array::{Array as _, ArrayRef, AsArray, StringBuilder};
use std::sync::Arc;

/// The class of characters, and that of cells.
pub(super) const CHAR: u8 = 4;
pub(super) const CELL: u8 = 1;
/// Texts that are read at once.
const AT_ONCE: u64 = 1 << 16;

/// What measuring found.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Coded {
    /// Bytes of the characters.
    pub bytes: u64,
    /// Whether they are UTF-8.
    pub utf8: bool,
}

/// Hands over all texts of an array in column order; null is empty.
pub(super) fn each(task: &Task, array: &dyn Array, take: &mut dyn FnMut(&str) -> Result<()>) -> Result<()> {
    for region in blocks(array, AT_ONCE) {
        task.check()?;
        let column = array.column(task, &region)?;
        let texts = column.as_string_opt::<i32>();
        for place in places(&region.shape())? {
            match texts {
                Some(texts) if texts.is_valid(place) => take(texts.value(place))?,
                Some(_) => take("")?,
                None => take(&cell::shown(column.as_ref(), place).unwrap_or_default())?,
            }
        }
        task.advance(column.len() as u64)?;
    }
    Ok(())
}

/// A text as the characters of one row.
fn row(text: &str) -> (Vec<u8>, Coded, u64) {
    let count = text.chars().count() as u64;
    if text.chars().any(|c| c.len_utf16() > 1) {
        let bytes = text.as_bytes().to_vec();
        let coded = Coded { bytes: bytes.len() as u64, utf8: true };
        return (bytes, coded, count);
    }
    let bytes: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let coded = Coded { bytes: bytes.len() as u64, utf8: false };
    (bytes, coded, count)
}

/// MATLAB's empty text has no row.
fn sides(count: u64) -> [u64; 2] {
    [u64::from(count > 0), count]
}

fn cell_head<'a>(shape: &'a [u64]) -> MatrixHead<'a> {
    MatrixHead { class: CHAR, complex: false, logical: false, shape, name: "" }
}

/// Bytes of all cells.
pub(super) fn measure_cells(task: &Task, array: &dyn Array) -> Result<u64> {
    let mut total = 0u64;
    each(task, array, &mut |text| {
        let units = text.encode_utf16().count() as u64;
        let count = text.chars().count() as u64;
        let bytes = if units > count { text.len() as u64 } else { 2 * units };
        total = total.saturating_add(8 + cell_head(&sides(count)).bytes() + whole(bytes));
        Ok(())
    })?;
    Ok(total)
}

/// Writes all cells.
pub(super) fn put_cells(task: &Task, array: &dyn Array, out: &mut Out<'_>) -> Result<()> {
    let mut buffer = Vec::new();
    each(task, array, &mut |text| {
        let (bytes, coded, count) = row(text);
        let shape = sides(count);
        let mut keep = |bytes: &[u8]| {
            buffer.extend_from_slice(bytes);
            Ok(())
        };
        cell_head(&shape).put(whole(coded.bytes), &mut keep)?;
        keep(&head(if coded.utf8 { UTF8 } else { UTF16 }, coded.bytes)?)?;
        keep(&bytes)?;
        keep(padding(coded.bytes))?;
        if buffer.len() > 1 << 20 {
            out(&buffer)?;
            buffer.clear();
        }
        Ok(())
    })?;
    out(&buffer)
}

/// The code of a character as it is written: zeros, which fill short texts, are blanks.
fn written(code: u32) -> u32 {
    match code {
        0 => 0x20,
        code if char::from_u32(code).is_none() => 0xfffd,
        code => code,
    }
}

/// How the characters of texts of a fixed width are coded.
pub(super) fn measure_chars(task: &Task, array: &dyn Array) -> Result<Coded> {
    let (mut count, mut bytes, mut is_wide) = (0u64, 0u64, false);
    elements(task, array, &mut |part| {
        for &code in part.as_chunks::<4>().0 {
            let code = written(u32::from_le_bytes(code));
            count += 1;
            is_wide |= code > 0xffff;
            bytes += char::from_u32(code).map_or(3, char::len_utf8) as u64;
        }
        Ok(())
    })?;
    Ok(if is_wide { Coded { bytes, utf8: true } } else { Coded { bytes: 2 * count, utf8: false } })
}

/// Writes the characters of texts of a fixed width in column order: all first ones, then all second ones.
pub(super) fn put_chars(task: &Task, array: &Arc<dyn Array>, coded: Coded, out: &mut Out<'_>) -> Result<()> {
    let characters = PartsArray::all(array.clone(), DType::U32);
    out(&head(if coded.utf8 { UTF8 } else { UTF16 }, coded.bytes)?)?;
    let mut coding = Vec::new();
    elements_by_columns(task, &characters, &mut |part| {
        coding.clear();
        for &code in part.as_chunks::<4>().0 {
            let code = written(u32::from_le_bytes(code));
            match (coded.utf8, char::from_u32(code)) {
                (true, Some(character)) => {
                    coding.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                }
                _ => coding.extend_from_slice(&(code as u16).to_le_bytes()),
            }
        }
        out(&coding)
    })?;
    out(padding(coded.bytes))
}

/// The most characters that a text has.
pub(super) fn widest(task: &Task, array: &dyn Array) -> Result<u32> {
    let mut most = 0usize;
    each(task, array, &mut |text| {
        most = most.max(text.chars().count());
        Ok(())
    })?;
    let bytes = (most as u64).saturating_mul(4);
    limits::check(bytes, limits::CHUNK, "a text").map(|bytes| (bytes / 4) as u32)
}

/// Texts of any length as texts of a fixed width.
pub(super) struct Fixed {
    inner: Arc<dyn Array>,
    dtype: DType,
}

impl Fixed {
    pub(super) fn new(inner: Arc<dyn Array>, width: u32) -> Self {
        Fixed { inner, dtype: DType::Str(width) }
    }
}

impl Array for Fixed {
    fn dtype(&self) -> &DType {
        &self.dtype
    }

    fn shape(&self) -> &[u64] {
        self.inner.shape()
    }

    fn read(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<()> {
        out.fill(0);
        let column = self.inner.column(task, region)?;
        let size = self.dtype.size() as usize;
        for (row, place) in out.chunks_exact_mut(size.max(1)).enumerate() {
            let text = cell::shown(column.as_ref(), row).unwrap_or_default();
            let mut characters = text.chars();
            for (to, character) in place.as_chunks_mut::<4>().0.iter_mut().zip(&mut characters) {
                *to = u32::from(character).to_le_bytes();
            }
            if characters.next().is_some() {
                return Err(Error::malformed("texts: one is longer than when they were measured"));
            }
        }
        Ok(())
    }
}

/// Fixed texts as texts of any length, without the zeros that fill them.
pub(super) struct Loose {
    inner: Arc<dyn Array>,
    dtype: DType,
}

impl Loose {
    pub(super) fn new(inner: Arc<dyn Array>) -> Self {
        Loose { inner, dtype: DType::text() }
    }
}

impl Array for Loose {
    fn dtype(&self) -> &DType {
        &self.dtype
    }

    fn shape(&self) -> &[u64] {
        self.inner.shape()
    }

    fn read(&self, _task: &Task, _region: &Region, _out: &mut [u8]) -> Result<()> {
        Err(Error::bug("bytes of texts of any length"))
    }

    fn column(&self, task: &Task, region: &Region) -> Result<ArrayRef> {
        let bytes = crate::data::content::array::read(self.inner.as_ref(), task, region)?;
        let (dtype, size) = (self.inner.dtype(), self.inner.dtype().size() as usize);
        let mut texts = StringBuilder::new();
        match size {
            0 => (0..region.elements()?).for_each(|_| texts.append_value("")),
            size => bytes.chunks_exact(size).for_each(|text| texts.append_value(cell::element(dtype, text))),
        }
        Ok(Arc::new(texts.finish()))
    }
}
