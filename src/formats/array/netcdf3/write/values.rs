//! Values on their way: read by pieces on all cores, turned big-endian, and put where they lie.

use super::layout::{Layout, Place};
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::content::{Array, Table, array};
use crate::data::dtype::swap_bytes;
use crate::data::format::Sink;
use crate::data::region::{Region, Span, pieces};
use crate::data::scan::{put, scan};
use crate::engines::netcdf::cells::{Nulls, Numbers, numbers};
use crate::engines::netcdf::types::Stored;
use crate::engines::netcdf::{Kept, Model};
use crate::engines::variables::{Values as Source, plain, texts};
use arrow::array::{ArrayRef, RecordBatch};
use rayon::prelude::*;
use std::io::SeekFrom;
use std::sync::Arc;

/// Bytes of a piece.
const PIECE: u64 = 4 << 20;

/// Texts that are looked at at once.
const TEXTS: u64 = 1 << 14;

/// The values of all variables.
pub(super) struct Values<'a> {
    model: &'a Model,
    table: Option<&'a Arc<dyn Table>>,
    nulls: Vec<Nulls>,
    widths: Vec<u64>,
}

impl<'a> Values<'a> {
    /// Looks how wide texts are.
    pub(super) fn of(
        task: &Task,
        model: &'a Model,
        table: Option<&'a Arc<dyn Table>>,
        fill: bool,
    ) -> Result<Self> {
        let nulls: Vec<Nulls> = model.variables.iter().map(|_| Nulls::marked(fill)).collect();
        let mut widths = Vec::new();
        for kept in &model.variables {
            let is_text = kept.stored == Stored::Text;
            widths.push(match &kept.source.values {
                Source::Column(_) => 1,
                source if is_text => {
                    width(task, kept, source, fill).map_err(|e| e.in_node(&kept.source.item))?
                }
                _ => 1,
            });
        }
        let mut values = Values { model, table, nulls, widths };
        if table.is_some() && model.variables.iter().any(|kept| kept.stored == Stored::Text) {
            values.look(task, fill)?;
        }
        Ok(values)
    }

    /// Looks how wide the texts of a table's columns are.
    fn look(&mut self, task: &Task, fill: bool) -> Result<()> {
        let Some(table) = self.table else { return Ok(()) };
        task.set_message("measuring texts");
        let model = self.model;
        let measure = |batch: RecordBatch| -> Result<Vec<u64>> {
            let one = |kept: &Kept| match kept.stored {
                Stored::Text => longest(&texts(&column(&batch, kept)?, fill).map_err(|e| placed(e, kept))?),
                _ => Ok(1),
            };
            model.variables.iter().map(one).collect()
        };
        let widths = &mut self.widths;
        scan(task, table.as_ref(), measure, |found| {
            widths.iter_mut().zip(found).for_each(|(width, found)| *width = (*width).max(found));
            Ok(())
        })?;
        Ok(())
    }

    /// The width of each variable's texts; at least 1.
    pub(super) fn widths(&self) -> &[u64] {
        &self.widths
    }

    /// Which variables have nulls that a value stands for.
    pub(super) fn marked(&self) -> Vec<bool> {
        self.nulls.iter().map(Nulls::used).collect()
    }

    /// Writes all values.
    pub(super) fn write(&self, task: &Task, layout: &Layout<'_>, sink: &mut dyn Sink) -> Result<()> {
        if self.table.is_some() {
            return self.columns(task, layout, sink);
        }
        let all = layout
            .places
            .iter()
            .map(|place| if place.recorded { place.bytes * layout.records } else { place.bytes });
        task.set_total(all.fold(0, u64::saturating_add));
        for (n, place) in layout.places.iter().enumerate().filter(|(_, place)| !place.recorded) {
            let Some(kept) = self.model.variables.get(n) else { continue };
            task.set_message(kept.path.clone());
            let shape = &kept.source.shape;
            let most = (PIECE / place.element.max(1)).max(1);
            let mut all = pieces(shape, most);
            loop {
                let regions: Vec<Region> = all.by_ref().take(rayon::current_num_threads() * 2).collect();
                if regions.is_empty() {
                    break;
                }
                task.check()?;
                let read = |region: &Region| self.bytes(task, n, place, region);
                let read: Result<Vec<Vec<u8>>> = regions.par_iter().map(read).collect();
                for bytes in &read.map_err(|e| e.in_node(&kept.source.item))? {
                    put(sink, bytes)?;
                    task.advance(bytes.len() as u64)?;
                }
            }
            put(sink, [0; 3].get(..(place.bytes.wrapping_neg() % 4) as usize).unwrap_or_default())?;
        }
        self.records(task, layout, sink)
    }

    /// The elements of a region of a variable, big-endian.
    fn bytes(&self, task: &Task, n: usize, place: &Place, region: &Region) -> Result<Vec<u8>> {
        let (Some(kept), Some(nulls)) = (self.model.variables.get(n), self.nulls.get(n)) else {
            return Err(Error::bug("a variable that is not there"));
        };
        match &kept.stored {
            Stored::Number(number) => {
                let mut region = region.clone();
                region.0.extend(number.inner.map(Span::all));
                let array = Numbers::new(&kept.source, number, nulls.clone());
                let mut bytes = array::read(&array as &dyn Array, task, &region)?;
                swap_bytes(&mut bytes, place.size);
                Ok(bytes)
            }
            _ => spread(&texts(&kept.source.values.cells(task, region)?, nulls.fill)?, place.element),
        }
    }

    /// The records, some at a time: each has a row of every variable.
    fn records(&self, task: &Task, layout: &Layout<'_>, sink: &mut dyn Sink) -> Result<()> {
        let (start, each) = layout.record;
        if each == 0 {
            return Ok(());
        }
        let step = (2 * PIECE / each).max(1);
        let mut first = 0;
        while first < layout.records {
            task.check()?;
            let count = step.min(layout.records - first);
            let mut block = crate::bytes::limits::buffer(count.saturating_mul(each), "records")?;
            for (n, place) in layout.places.iter().enumerate().filter(|(_, place)| place.recorded) {
                let Some(kept) = self.model.variables.get(n) else { continue };
                let mut region = Region::all(&kept.source.shape);
                if let Some(rows) = region.0.first_mut() {
                    *rows = Span::range(first, count);
                }
                let bytes = self.bytes(task, n, place, &region).map_err(|e| e.in_node(&kept.source.item))?;
                lay(&bytes, &mut block, place.bytes, each, place.begin - start);
                task.advance(bytes.len() as u64)?;
            }
            put(sink, &block)?;
            first += count;
        }
        Ok(())
    }

    /// The rows of a table: each column where it lies, or all of them row by row.
    fn columns(&self, task: &Task, layout: &Layout<'_>, sink: &mut dyn Sink) -> Result<()> {
        let Some(table) = self.table else { return Ok(()) };
        task.set_message("");
        if layout.total > layout.first {
            sink.seek(SeekFrom::Start(layout.total - 1))?;
            put(sink, &[0])?;
        }
        let encode = |batch: RecordBatch| -> Result<(u64, Vec<Vec<u8>>)> {
            let places = self.model.variables.iter().zip(&layout.places).zip(&self.nulls);
            let one = |((kept, place), nulls): ((&Kept, &Place), &Nulls)| -> Result<Vec<u8>> {
                let column = column(&batch, kept)?;
                match &kept.stored {
                    Stored::Number(number) => {
                        let mut bytes = numbers(&column, &kept.source.dtype, number, nulls)?;
                        swap_bytes(&mut bytes, place.size);
                        Ok(bytes)
                    }
                    _ => spread(&texts(&column, nulls.fill)?, place.element),
                }
                .map_err(|e| placed(e, kept))
            };
            Ok((batch.num_rows() as u64, places.map(one).collect::<Result<_>>()?))
        };
        let mut at = 0u64;
        scan(task, table.as_ref(), encode, |(count, parts)| {
            let (start, each) = layout.record;
            let mut block = crate::bytes::limits::buffer(count.saturating_mul(each), "records")?;
            for (bytes, place) in parts.iter().zip(&layout.places) {
                if place.recorded {
                    lay(bytes, &mut block, place.bytes, each, place.begin - start);
                } else if let Some(row) = (bytes.len() as u64).checked_div(count) {
                    sink.seek(SeekFrom::Start(place.begin + at * row))?;
                    put(sink, bytes)?;
                }
            }
            if !block.is_empty() {
                sink.seek(SeekFrom::Start(start + at * each))?;
                put(sink, &block)?;
            }
            at += count;
            Ok(())
        })?;
        Ok(())
    }
}

fn column(batch: &RecordBatch, kept: &Kept) -> Result<ArrayRef> {
    let Source::Column(n) = kept.source.values else { return Err(Error::bug("no column")) };
    plain(batch.columns().get(n).ok_or_else(|| Error::bug("a column that is not there"))?)
}

fn placed(error: Error, kept: &Kept) -> Error {
    error.in_node(&format!("column {:?}", kept.source.part))
}

/// Puts rows of `size` bytes into records of `each` bytes, `at` bytes behind their beginning.
fn lay(rows: &[u8], block: &mut [u8], size: u64, each: u64, at: u64) {
    let (size, each, at) = (size as usize, each as usize, at as usize);
    if size == 0 || each == 0 {
        return;
    }
    for (record, row) in block.chunks_exact_mut(each).zip(rows.chunks_exact(size)) {
        if let Some(place) = record.get_mut(at..at + size) {
            place.copy_from_slice(row);
        }
    }
}

/// Texts side by side, each so many bytes wide.
fn spread(texts: &[String], width: u64) -> Result<Vec<u8>> {
    let size = (texts.len() as u64).saturating_mul(width);
    let mut out = crate::bytes::limits::buffer(size, "a piece of texts")?;
    for (place, text) in out.chunks_exact_mut(width.max(1) as usize).zip(texts) {
        let bytes = text.as_bytes();
        let place = place.get_mut(..bytes.len());
        place.ok_or_else(|| Error::bug("a text that is longer than the longest"))?.copy_from_slice(bytes);
    }
    Ok(out)
}

fn longest(texts: &[String]) -> Result<u64> {
    Ok(texts.iter().map(String::len).max().unwrap_or(0).max(1) as u64)
}

/// The width of the longest text of an array.
fn width(task: &Task, kept: &Kept, source: &Source, fill: bool) -> Result<u64> {
    task.set_message("measuring texts");
    let mut most = 1;
    for region in pieces(&kept.source.shape, TEXTS) {
        task.check()?;
        most = most.max(longest(&texts(&source.cells(task, &region)?, fill)?)?);
    }
    Ok(most)
}
