//! Arrays that are no slices of a file: texts, tensors of which only the first elements are stored, tensors of several
//! pieces.

use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::strides;
use crate::bytes::task::Task;
use crate::data::content::Array;
use crate::data::content::array::{ArrayFacts, MissingRegion, read};
use crate::data::dtype::{DType, Variable};
use crate::data::region::{Region, Span};
use arrow::array::{ArrayRef, BinaryArray, StringArray};
use arrow::datatypes::DataType;
use std::sync::Arc;

/// Elements between two looks at the task.
const STEP: usize = 1 << 16;

/// Calls `each` with the place of every element of `region` in `shape`, in C order.
fn places(task: &Task, region: &Region, shape: &[u64], mut each: impl FnMut(u64)) -> Result<()> {
    let count = limits::check(region.elements()?, limits::READ, "this part of the array")?;
    let mut index = vec![0u64; region.0.len()];
    for n in 0..count {
        if n % STEP == 0 {
            task.check()?;
        }
        let place = region.0.iter().zip(&index).zip(shape);
        each(place.fold(0u64, |at, ((span, n), side)| at.wrapping_mul(*side).wrapping_add(span.index(*n))));
        for (place, span) in index.iter_mut().zip(&region.0).rev() {
            *place += 1;
            if *place < span.count {
                break;
            }
            *place = 0;
        }
    }
    Ok(())
}

/// A tensor of which only the first elements are stored: the last of them stands for the rest.
pub struct Filled {
    dtype: DType,
    shape: Vec<u64>,
    values: Vec<u8>,
}

impl Filled {
    /// A tensor of these first elements; without any all are zero.
    pub fn new(dtype: DType, shape: Vec<u64>, mut values: Vec<u8>) -> Self {
        let size = dtype.size().max(1) as usize;
        values.truncate(values.len() / size * size);
        if values.is_empty() {
            values.resize(size, 0);
        }
        Filled { dtype, shape, values }
    }
}

impl Array for Filled {
    fn dtype(&self) -> &DType {
        &self.dtype
    }

    fn shape(&self) -> &[u64] {
        &self.shape
    }

    fn read(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<()> {
        region.check(&self.shape)?;
        let size = self.dtype.size().max(1) as usize;
        let last = (self.values.len() / size).saturating_sub(1);
        let mut elements = out.chunks_exact_mut(size);
        places(task, region, &self.shape, |place| {
            let at = usize::try_from(place).unwrap_or(usize::MAX).min(last) * size;
            if let (Some(to), Some(from)) = (elements.next(), self.values.get(at..at + size)) {
                to.copy_from_slice(from);
            }
        })
    }

    fn facts(&self) -> ArrayFacts {
        let stored = self.values.len() as u64 / self.dtype.size().max(1);
        ArrayFacts {
            bytes_stored: Some(self.values.len() as u64),
            details: vec![("elements stored".to_owned(), format!("{stored}; the last stands for the rest"))],
            ..ArrayFacts::default()
        }
    }
}

/// Texts, or bytes where they are none.
pub struct Strings {
    dtype: DType,
    shape: Vec<u64>,
    values: Vec<Vec<u8>>,
}

/// The type of texts or bytes.
pub fn kind_of_strings(is_text: bool) -> DType {
    if is_text {
        return DType::text();
    }
    let kind = Variable { word: "bytes".to_owned(), arrow: DataType::Binary, reference: false };
    DType::Variable(Arc::new(kind))
}

/// A column of texts, or of bytes.
fn column_of(is_text: bool, values: &[&[u8]]) -> ArrayRef {
    match is_text {
        true => {
            Arc::new(StringArray::from_iter_values(values.iter().map(|value| String::from_utf8_lossy(value))))
        }
        false => Arc::new(BinaryArray::from_iter_values(values)),
    }
}

impl Strings {
    /// Texts of this shape; of fewer than it has elements, the last one stands for the rest.
    ///
    /// # Errors
    /// `Malformed` where the shape overflows.
    pub fn new(values: Vec<Vec<u8>>, shape: Vec<u64>) -> Result<Self> {
        limits::elements(&shape)?;
        let is_text = values.iter().all(|value| std::str::from_utf8(value).is_ok());
        Ok(Strings { dtype: kind_of_strings(is_text), shape, values })
    }

    /// The elements of a region as a column.
    ///
    /// # Errors
    /// `Cancelled`; `Limit` for too many.
    pub fn column_as(&self, task: &Task, region: &Region, is_text: bool) -> Result<ArrayRef> {
        region.check(&self.shape)?;
        let last = self.values.len().saturating_sub(1);
        let (mut values, mut bytes): (Vec<&[u8]>, u64) = (Vec::new(), 0);
        places(task, region, &self.shape, |place| {
            let at = usize::try_from(place).unwrap_or(usize::MAX).min(last);
            let value = self.values.get(at).map_or(&[][..], Vec::as_slice);
            bytes = bytes.saturating_add(value.len() as u64 + 1);
            if bytes <= limits::READ {
                values.push(value);
            }
        })?;
        limits::check(bytes, limits::READ, "this part of the array")?;
        Ok(column_of(is_text, &values))
    }
}

impl Array for Strings {
    fn dtype(&self) -> &DType {
        &self.dtype
    }

    fn shape(&self) -> &[u64] {
        &self.shape
    }

    fn read(&self, _task: &Task, _region: &Region, _out: &mut [u8]) -> Result<()> {
        Err(Error::bug("texts have no bytes of a fixed size"))
    }

    fn column(&self, task: &Task, region: &Region) -> Result<ArrayRef> {
        self.column_as(task, region, self.dtype == DType::text())
    }
}

/// A piece of a tensor, and where it lies in the whole.
pub struct Piece {
    /// Its first index in each dimension.
    pub start: Vec<u64>,
    /// Its length along each dimension.
    pub sides: Vec<u64>,
    /// Its elements.
    pub array: Result<Arc<dyn Array>>,
}

/// A tensor of several pieces: a variable that was partitioned.
pub struct Joined {
    dtype: DType,
    shape: Vec<u64>,
    pieces: Vec<Piece>,
}

impl Joined {
    /// A tensor of these pieces. Elements that none of them has are zero.
    pub fn new(dtype: DType, shape: Vec<u64>, pieces: Vec<Piece>) -> Self {
        Joined { dtype, shape, pieces }
    }

    /// Copies what a piece has of a region.
    fn copy(
        &self,
        task: &Task,
        piece: &Piece,
        from: &Region,
        to: &Region,
        whole: &[u64],
        out: &mut [u8],
    ) -> Result<()> {
        let array = piece.array.as_ref().map_err(Clone::clone)?;
        if array.shape() != piece.sides || array.dtype() != &self.dtype {
            return Err(Error::malformed(format!("a piece of {} {:?}", array.dtype(), array.shape())));
        }
        let bytes = read(array.as_ref(), task, from)?;
        strides::paste(&bytes, &from.shape(), out, whole, &to.start(), self.dtype.size() as usize);
        Ok(())
    }
}

/// What a piece has of a region: the part of the piece, and the part of the region.
fn overlap(piece: &Piece, region: &Region) -> Option<(Region, Region)> {
    let (mut from, mut to) = (Vec::new(), Vec::new());
    for (span, (start, side)) in region.0.iter().zip(piece.start.iter().zip(&piece.sides)) {
        let there = span.holding(&Span::range(*start, *side))?;
        let first = span.index(there.start).checked_sub(*start)?;
        from.push(Span { start: first, count: there.count, step: span.step });
        to.push(there);
    }
    Some((Region(from), Region(to)))
}

impl Array for Joined {
    fn dtype(&self) -> &DType {
        &self.dtype
    }

    fn shape(&self) -> &[u64] {
        &self.shape
    }

    fn read(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<()> {
        match self.read_lenient(task, region, out)?.into_iter().next() {
            Some(gap) => Err(gap.error),
            None => Ok(()),
        }
    }

    fn read_lenient(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<Vec<MissingRegion>> {
        region.check(&self.shape)?;
        out.fill(0);
        let (mut gaps, whole) = (Vec::new(), region.shape());
        if out.is_empty() {
            return Ok(gaps);
        }
        for piece in &self.pieces {
            task.check()?;
            let Some((from, part)) = overlap(piece, region) else { continue };
            if let Err(error) = self.copy(task, piece, &from, &part, &whole, out).unless_cancelled()? {
                gaps.push(MissingRegion { part, error });
            }
        }
        Ok(gaps)
    }

    fn facts(&self) -> ArrayFacts {
        ArrayFacts {
            bytes_stored: limits::bytes(&self.shape, self.dtype.size()).ok(),
            details: vec![("pieces".to_owned(), self.pieces.len().to_string())],
            ..ArrayFacts::default()
        }
    }
}
