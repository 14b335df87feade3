//! Arrays of values that several stored tensors stand for together: integers of few bits in one, scales and zero points in
//! others.

use super::{Block, Code, Quant, Quantised};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::strides;
use crate::bytes::task::Task;
use crate::data::content::Array;
use crate::data::content::array::ArrayFacts;
use crate::data::dtype::DType;
use crate::data::region::{Region, Span};
use std::ops::Range;

/// Elements that are made at a time.
const TILE: u64 = 1 << 18;

/// What makes the elements of a matrix.
pub trait Recipe: Send + Sync {
    /// The elements of some rows and columns, row by row.
    ///
    /// # Errors
    /// Those of reading; `Malformed` where parts disagree.
    fn quants(&self, task: &Task, rows: Range<u64>, columns: Range<u64>) -> Result<Vec<Quant>>;

    /// The bits that are stored for one element, where it has some of its own.
    ///
    /// # Errors
    /// As [`quants`](Self::quants).
    fn code(&self, _task: &Task, _row: u64, _column: u64) -> Result<Option<Code>> {
        Ok(None)
    }
}

/// Values as an array of float32. All dimensions but the last are the rows of the recipe's matrix.
pub struct MadeArray {
    shape: Vec<u64>,
    dtype: DType,
    recipe: Box<dyn Recipe>,
    facts: ArrayFacts,
}

impl MadeArray {
    /// An array of this shape.
    pub fn new(shape: Vec<u64>, recipe: impl Recipe + 'static, facts: ArrayFacts) -> Self {
        MadeArray { shape, dtype: DType::F32, recipe: Box::new(recipe), facts }
    }

    /// Makes the elements of `region`, tile by tile, each with its place.
    fn visit(
        &self,
        task: &Task,
        region: &Region,
        mut each: impl FnMut(usize, &Quant) -> Result<()>,
    ) -> Result<()> {
        region.check(&self.shape)?;
        if region.elements()? == 0 {
            return Ok(());
        }
        let one = Span::range(0, 1);
        let (outer, last) = match region.0.split_last() {
            Some((last, outer)) => (outer, *last),
            None => (&[][..], one),
        };
        let lead = self.shape.get(..outer.len()).unwrap_or_default();
        let counts: Vec<u64> = outer.iter().map(|span| span.count).collect();
        let rows: u64 = counts.iter().product();
        let row = |n: u64| {
            let place = strides::unravel(n, &counts);
            let index: Vec<u64> = outer.iter().zip(&place).map(|(span, place)| span.index(*place)).collect();
            strides::ravel(&index, lead)
        };
        let wide = last.end() - last.start;
        let mut n = 0;
        while n < rows {
            // Rows that follow each other are made together.
            let (first, mut count) = (row(n), 1);
            while n + count < rows && (count + 1) * wide.min(TILE) <= TILE && row(n + count) == first + count
            {
                count += 1;
            }
            for start in (0..last.count).step_by((TILE / last.step.max(1)).max(1) as usize) {
                task.check()?;
                let part = Span { start: last.index(start), ..last };
                let part = Span { count: (TILE / last.step.max(1)).max(1).min(last.count - start), ..part };
                let tile = self.recipe.quants(task, first..first + count, part.start..part.end())?;
                let width = (part.end() - part.start) as usize;
                for (k, made) in tile.chunks_exact(width.max(1)).enumerate() {
                    let to = (n + k as u64) * last.count + start;
                    for (m, quant) in made.iter().step_by(last.step.max(1) as usize).enumerate() {
                        each(to as usize + m, quant)?;
                    }
                }
            }
            n += count;
        }
        Ok(())
    }
}

impl Array for MadeArray {
    fn dtype(&self) -> &DType {
        &self.dtype
    }

    fn shape(&self) -> &[u64] {
        &self.shape
    }

    fn read(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<()> {
        let out = out.as_chunks_mut::<4>().0;
        self.visit(task, region, |to, quant| {
            let to =
                out.get_mut(to).ok_or_else(|| Error::bug("an array was asked for less than its region"))?;
            *to = quant.value().to_le_bytes();
            Ok(())
        })
    }

    fn facts(&self) -> ArrayFacts {
        self.facts.clone()
    }

    fn quantised(&self) -> Option<&dyn Quantised> {
        Some(self)
    }
}

impl Quantised for MadeArray {
    fn quants(&self, task: &Task, region: &Region) -> Result<Vec<Quant>> {
        let bytes = limits::bytes(&region.shape(), size_of::<Quant>() as u64)?;
        let count = limits::check(bytes, limits::READ, "this part")? / size_of::<Quant>();
        let mut out = Vec::with_capacity(count);
        self.visit(task, region, |_, quant| {
            out.push(*quant);
            Ok(())
        })?;
        Ok(out)
    }

    fn block(&self, _task: &Task, _index: &[u64]) -> Result<Option<Block>> {
        Ok(None)
    }

    fn code(&self, task: &Task, index: &[u64]) -> Result<Option<Code>> {
        Region(index.iter().map(|at| Span::range(*at, 1)).collect()).check(&self.shape)?;
        let Some((column, outer)) = index.split_last() else { return Ok(None) };
        let row = strides::ravel(outer, self.shape.get(..outer.len()).unwrap_or_default());
        self.recipe.code(task, row, *column)
    }
}

impl Recipe for Box<dyn Recipe> {
    fn quants(&self, task: &Task, rows: Range<u64>, columns: Range<u64>) -> Result<Vec<Quant>> {
        self.as_ref().quants(task, rows, columns)
    }

    fn code(&self, task: &Task, row: u64, column: u64) -> Result<Option<Code>> {
        self.as_ref().code(task, row, column)
    }
}
