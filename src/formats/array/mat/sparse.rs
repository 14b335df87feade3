//! Sparse matrices: for each column where its elements begin, their rows, and their values. They are shown as
//! the whole matrix, with zeros, where that is not too large.

use super::data::{Stored, converted};
use crate::content::{Array, ArrayFacts};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::region::{Region, Span};
use crate::task::Task;

/// The most elements that a sparse matrix is shown with as a whole.
pub(super) const WHOLE: u64 = 16 << 20;

/// A sparse matrix with its zeros.
pub(super) struct Sparse {
    pub rows: Stored,
    /// One more than columns.
    pub starts: Stored,
    pub real: Stored,
    pub imaginary: Option<Stored>,
    pub dtype: DType,
    pub shape: Vec<u64>,
}

impl Sparse {
    /// The values of the elements `first..first + count`, as delivered bytes.
    fn values(&self, task: &Task, first: u64, count: u64) -> Result<Vec<u8>> {
        let Some(imaginary) = &self.imaginary else {
            return Ok(converted(self.real.bytes(task, first, count)?, &self.real.dtype, &self.dtype));
        };
        let (real, other) = (self.real.numbers(task, first, count)?, imaginary.numbers(task, first, count)?);
        Ok(real
            .iter()
            .zip(&other)
            .flat_map(|(re, im)| [re.to_le_bytes(), im.to_le_bytes()])
            .flatten()
            .collect())
    }

    /// Puts the elements of one column where they belong.
    fn column(
        &self,
        task: &Task,
        range: (u64, u64),
        rows: Span,
        mut put: impl FnMut(u64, &[u8]),
    ) -> Result<()> {
        let (first, end) = range;
        let Some(count) = end.checked_sub(first) else {
            let what = format!("sparse array: a column begins at element {first} and ends at {end}");
            return Err(Error::malformed(what).at(self.starts.at));
        };
        if count == 0 {
            return Ok(());
        }
        let places = self.rows.numbers(task, first, count)?;
        let values = self.values(task, first, count)?;
        for (place, value) in places.iter().zip(values.chunks_exact(self.dtype.size() as usize)) {
            let place = *place as u64;
            if let Some(gap) = place.checked_sub(rows.start)
                && gap % rows.step == 0
                && gap / rows.step < rows.count
            {
                put(gap / rows.step, value);
            }
        }
        Ok(())
    }
}

impl Array for Sparse {
    fn dtype(&self) -> &DType {
        &self.dtype
    }

    fn shape(&self) -> &[u64] {
        &self.shape
    }

    fn read(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<()> {
        let [rows, columns] = region.0.as_slice() else {
            return Err(Error::bug("a sparse array has two dimensions"));
        };
        out.fill(0);
        if out.is_empty() {
            return Ok(());
        }
        let size = self.dtype.size();
        let starts = self.starts.numbers(task, columns.start, columns.end() - columns.start + 1)?;
        for column in 0..columns.count {
            task.check()?;
            let at = (column * columns.step) as usize;
            let range = match starts.get(at..at + 2) {
                Some([first, end]) => (*first as u64, *end as u64),
                _ => return Err(Error::bug("a column of a sparse array is missing")),
            };
            self.column(task, range, *rows, |row, value| {
                let place = ((row * columns.count + column) * size) as usize;
                if let Some(element) = out.get_mut(place..place + value.len()) {
                    element.copy_from_slice(value);
                }
            })?;
        }
        Ok(())
    }

    fn facts(&self) -> ArrayFacts {
        let mut facts = ArrayFacts::default();
        facts.details.push(("stored elements".to_owned(), self.real.count.to_string()));
        facts.details.push(("order".to_owned(), "compressed columns".to_owned()));
        facts
    }
}
