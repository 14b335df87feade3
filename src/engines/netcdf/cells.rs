//! The elements of variables in NetCDF's types: of arrays, of columns of Arrow, nulls as the value that stands for them.

use super::types::{Number, fill};
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::adapt::{NullRule, cell_bytes};
use crate::data::cell;
use crate::data::content::{Array, array};
use crate::data::dtype::DType;
use crate::data::region::{Region, Span};
use crate::engines::variables::{Values, Variable, refused};
use arrow::array::{Array as _, ArrayRef};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What happens to nulls of one variable, and whether there were any.
#[derive(Clone, Default)]
pub struct Nulls {
    /// What has no value that stands for null becomes false, zero or empty; else it is refused.
    pub fill: bool,
    /// Integers have a value that stands for null.
    marked: bool,
    used: Arc<AtomicBool>,
}

impl Nulls {
    /// Integers have a value that stands for null; truth values and texts are filled or refused.
    pub fn marked(fill: bool) -> Self {
        Nulls { fill, marked: true, used: Arc::default() }
    }

    /// Only floats and times have a value that stands for null.
    pub fn plain(fill: bool) -> Self {
        Nulls { fill, marked: false, used: Arc::default() }
    }

    /// Whether a null became the value that stands for it.
    pub fn used(&self) -> bool {
        self.used.load(Ordering::Relaxed)
    }
}

/// The cells of a column, plain and of a fixed size, as numbers of NetCDF's type.
///
/// # Errors
/// `Unsupported` for null truth values unless they are filled, for numbers that the type does not hold, and for one
/// that is the value that stands for null, where there are nulls.
pub fn numbers(column: &ArrayRef, from: &DType, number: &Number, nulls: &Nulls) -> Result<Vec<u8>> {
    let found = column.logical_null_count();
    let is_time = matches!(from, DType::DateTime(_) | DType::TimeDelta(_));
    let has_word = is_time || number.dtype.is_float() || nulls.marked && *from != DType::Bool;
    if found > 0 && !has_word && !nulls.fill {
        return Err(refused(found));
    }
    let rule = NullRule::default();
    rule.fill(true);
    let mut bytes = number.changed(from, cell_bytes(column, from, &rule)?)?;
    if found == 0 || *from == DType::Bool || is_time || !nulls.marked {
        return Ok(bytes);
    }
    let filler = fill(&number.dtype);
    let row = (bytes.len() / column.len().max(1)).max(1);
    for (n, cell) in bytes.chunks_exact_mut(row).enumerate() {
        if column.is_null(n) {
            cell.chunks_exact_mut(filler.len()).for_each(|element| element.copy_from_slice(&filler));
        } else if !number.dtype.is_float() && cell.chunks_exact(filler.len()).any(|element| element == filler)
        {
            return Err(Error::unsupported(format!(
                "{} is among the values, and would stand for null cells",
                cell::element(&number.dtype, &filler)
            )));
        }
    }
    if !number.dtype.is_float() {
        nulls.used.store(true, Ordering::Relaxed);
    }
    Ok(bytes)
}

/// A variable's numbers as an array of NetCDF's type.
pub struct Numbers {
    values: Values,
    from: DType,
    number: Number,
    shape: Vec<u64>,
    /// The dimensions of the array that the values come from.
    outer: usize,
    nulls: Nulls,
}

impl Numbers {
    /// The numbers of an array or of records.
    pub fn new(variable: &Variable, number: &Number, nulls: Nulls) -> Self {
        let shape = variable.shape.iter().copied().chain(number.inner).collect();
        let (values, from, outer) = (variable.values.clone(), variable.dtype.clone(), variable.outer());
        Numbers { values, from, number: number.clone(), shape, outer, nulls }
    }

    /// All numbers of the elements of a region.
    fn elements(&self, task: &Task, region: &Region) -> Result<Vec<u8>> {
        match &self.values {
            Values::Array(array) => {
                self.number.changed(&self.from, array::read(array.as_ref(), task, region)?)
            }
            cells => numbers(&cells.cells(task, region)?, &self.from, &self.number, &self.nulls),
        }
    }
}

impl Array for Numbers {
    fn dtype(&self) -> &DType {
        &self.number.dtype
    }

    fn shape(&self) -> &[u64] {
        &self.shape
    }

    fn read(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<()> {
        region.check(&self.shape)?;
        if out.is_empty() {
            return Ok(());
        }
        let (outer, inner) = region.0.split_at_checked(self.outer).ok_or_else(|| Error::bug("a rank"))?;
        let sides = self.shape.get(self.outer..).unwrap_or_default();
        if let (Values::Array(array), true, true) =
            (&self.values, inner.is_empty(), self.number.change == super::types::Change::Same)
        {
            return array.read(task, region, out);
        }
        let bytes = self.elements(task, &Region(outer.to_vec()))?;
        if inner.iter().zip(sides).all(|(span, side)| *span == Span::all(*side)) {
            if bytes.len() != out.len() {
                return Err(Error::bug(format!("{} bytes of numbers, not {}", bytes.len(), out.len())));
            }
            out.copy_from_slice(&bytes);
            return Ok(());
        }
        let size = self.number.dtype.size() as usize;
        let each = size.saturating_mul(sides.iter().product::<u64>() as usize).max(1);
        let mut places = vec![0u64];
        for (side, span) in sides.iter().zip(inner) {
            places = places
                .iter()
                .flat_map(|at| (0..span.count).map(move |n| at * side + span.index(n)))
                .collect();
        }
        let mut out = out.chunks_exact_mut(size.max(1));
        for element in bytes.chunks_exact(each) {
            for at in &places {
                let at = *at as usize * size;
                if let (Some(to), Some(from)) = (out.next(), element.get(at..at + size)) {
                    to.copy_from_slice(from);
                }
            }
        }
        Ok(())
    }
}
