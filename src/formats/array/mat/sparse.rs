//! Sparse matrices: for each column where its elements begin, their rows, and their values. They are shown as
//! the whole matrix, with zeros, where that is not too large.

use super::blob::Blob;
use super::data::{Stored, converted};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::{Array, ArrayFacts};
use crate::data::dtype::DType;
use crate::data::region::{Region, Span};
use std::sync::OnceLock;

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

/// A sparse matrix of version 4: a row, a column and a value (and an imaginary part) for each element, in any
/// order. They are put in order by the first read.
pub(super) struct Triples {
    stored: Stored,
    /// How many there are, and one with the shape.
    rows: u64,
    dtype: DType,
    shape: Vec<u64>,
    made: OnceLock<Sparse>,
}

impl Triples {
    /// The matrix of `rows` times `columns` stored numbers.
    ///
    /// # Errors
    /// `Malformed` where the last row is no shape.
    pub(super) fn new(task: &Task, stored: Stored, (rows, columns): (u64, u64)) -> Result<Self> {
        let wrong = |what: String| Error::malformed(format!("sparse array: {what}")).at(stored.at);
        let dtype = match columns {
            3 => DType::F64,
            4 => DType::C128,
            _ => return Err(wrong(format!("{columns} numbers for each element"))),
        };
        let Some(last) = rows.checked_sub(1) else { return Err(wrong("it has no shape".to_owned())) };
        let mut shape = Vec::new();
        for column in 0..2 {
            let side = stored.numbers(task, column * rows + last, 1)?.first().copied().unwrap_or(-1.0);
            if !(0.0..9e15).contains(&side) || side.fract() != 0.0 {
                return Err(wrong(format!("its shape has {side}")));
            }
            shape.push(side as u64);
        }
        limits::bytes(&shape, dtype.size())?;
        Ok(Triples { stored, rows, dtype, shape, made: OnceLock::new() })
    }

    /// Whether it can be shown with its zeros.
    pub(super) fn is_small(&self) -> bool {
        self.shape.iter().all(|side| *side <= WHOLE)
            && limits::elements(&self.shape).is_ok_and(|n| n <= WHOLE)
    }

    /// The elements, by columns.
    fn ordered(&self, task: &Task) -> Result<Sparse> {
        let count = self.rows.saturating_sub(1);
        limits::check(limits::bytes(&[count], 64)?, limits::CHUNK, "a sparse matrix")?;
        let part = |n: u64| self.stored.numbers(task, n * self.rows, count);
        let (rows, columns, real) = (part(0)?, part(1)?, part(2)?);
        let imaginary = if self.dtype.is_complex() { Some(part(3)?) } else { None };
        let sides = self.shape.first().copied().unwrap_or(0).max(1) as f64;
        let mut starts = vec![0u64; self.shape.last().copied().unwrap_or(0) as usize + 1];
        for (row, column) in rows.iter().zip(&columns) {
            let start = if *column >= 1.0 { starts.get_mut(*column as usize) } else { None };
            match start.filter(|_| (1.0..=sides).contains(row)) {
                Some(start) => *start += 1,
                None => {
                    let what = format!("sparse array: an element at ({row}, {column}) of {:?}", self.shape);
                    return Err(Error::malformed(what).at(self.stored.at));
                }
            }
        }
        let mut before = 0;
        for start in &mut starts {
            before += *start;
            *start = before;
        }
        task.check()?;
        let mut order: Vec<usize> = (0..rows.len()).collect();
        order.sort_by_key(|n| columns.get(*n).map_or(0, |column| *column as u64));
        let number = |list: &[f64], n: usize| list.get(n).copied().unwrap_or(0.0);
        let places = order.iter().map(|n| (number(&rows, *n) as u64).saturating_sub(1));
        let values = |list: &[f64]| memory(DType::F64, order.iter().map(|n| number(list, *n).to_le_bytes()));
        Ok(Sparse {
            rows: memory(DType::U64, places.map(u64::to_le_bytes)),
            starts: memory(DType::U64, starts.iter().map(|start| start.to_le_bytes())),
            real: values(&real),
            imaginary: imaginary.map(|list| values(&list)),
            dtype: self.dtype.clone(),
            shape: self.shape.clone(),
        })
    }
}

/// Numbers of eight bytes in memory.
fn memory(dtype: DType, numbers: impl Iterator<Item = [u8; 8]>) -> Stored {
    let bytes: Vec<u8> = numbers.flatten().collect();
    let count = bytes.len() as u64 / 8;
    Stored { blob: Blob::File(Source::memory("sparse", bytes)), big: false, dtype, at: 0, count }
}

impl Array for Triples {
    fn dtype(&self) -> &DType {
        &self.dtype
    }

    fn shape(&self) -> &[u64] {
        &self.shape
    }

    fn read(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<()> {
        let matrix = match self.made.get() {
            Some(matrix) => matrix,
            None => {
                let matrix = self.ordered(task)?;
                self.made.get_or_init(|| matrix)
            }
        };
        matrix.read(task, region, out)
    }

    fn facts(&self) -> ArrayFacts {
        let stored = self.rows.saturating_sub(1).to_string();
        let details = vec![
            ("stored elements".to_owned(), stored),
            ("order".to_owned(), "as they were written".to_owned()),
        ];
        ArrayFacts { details, ..ArrayFacts::default() }
    }
}
