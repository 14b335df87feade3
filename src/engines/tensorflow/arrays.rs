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
use crate::engines::late_array::{LateArray, places};
use arrow::array::{ArrayRef, BinaryArray, StringArray};
use arrow::datatypes::DataType;
use bytes::Bytes;
use std::sync::Arc;

/// A tensor of which only the first elements are stored: the last of them stands for the rest; without any all are zero.
pub fn filled(dtype: DType, shape: Vec<u64>, values: Vec<u8>) -> LateArray {
    let stored = (values.len() as u64 / dtype.size().max(1)).max(1);
    let facts = ArrayFacts {
        bytes_stored: Some(stored * dtype.size()),
        details: vec![("elements stored".to_owned(), format!("{stored}; the last stands for the rest"))],
        ..ArrayFacts::default()
    };
    let values = Bytes::from(values);
    LateArray::new(dtype, shape, move |_| Ok(values.clone())).repeating_last().with_facts(facts)
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
pub struct Partitioned {
    dtype: DType,
    shape: Vec<u64>,
    pieces: Vec<Piece>,
}

impl Partitioned {
    /// A tensor of these pieces. Elements that none of them has are zero.
    pub fn new(dtype: DType, shape: Vec<u64>, pieces: Vec<Piece>) -> Self {
        Partitioned { dtype, shape, pieces }
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

impl Array for Partitioned {
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
