//! The stored tensors by name, as arrays of other shapes.

use super::super::{Tensor, What};
use super::Part;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::Array;
use crate::data::content::array::Plain;
use crate::data::dtype::DType;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// The largest part that is read while a model is opened, in bytes.
const SMALL: u64 = 64 << 10;

/// All tensors of a model.
pub(super) struct Parts<'a> {
    places: HashMap<&'a str, &'a Tensor>,
    file: Option<&'a Source>,
}

/// One of them.
pub(super) struct Stored<'a> {
    pub(super) name: &'a str,
    pub(super) dtype: &'a DType,
    pub(super) shape: &'a [u64],
    span: Range<u64>,
    file: &'a Source,
}

impl<'a> Parts<'a> {
    pub(super) fn new(stored: &'a [Part]) -> Self {
        let tensors = stored.iter().filter_map(|part| match part {
            Part::Stored(tensor) => Some(tensor),
            Part::Dequantised { .. } => None,
        });
        let file = tensors.clone().find_map(|tensor| tensor.file.as_ref());
        Parts { places: tensors.map(|tensor| (tensor.entry.name.as_str(), tensor)).collect(), file }
    }

    /// One of the files that they lie in.
    pub(super) fn file(&self) -> Option<&'a Source> {
        self.file
    }

    /// The tensor of a name, if it can be read.
    pub(super) fn get(&self, name: &str) -> Option<Stored<'a>> {
        let Tensor { entry, file, .. } = self.places.get(name)?;
        let What::Array { dtype, shape, span } = &entry.what else { return None };
        let file = file.as_ref()?;
        Some(Stored { name: &entry.name, dtype, shape, span: span.clone(), file })
    }

    /// The tensor of a name with an ending: `weight` and `_scale`.
    pub(super) fn with(&self, stem: &str, ending: &str) -> Option<Stored<'a>> {
        self.get(&format!("{stem}{ending}"))
    }
}

impl Stored<'_> {
    /// How many elements.
    pub(super) fn elements(&self) -> u64 {
        limits::elements(self.shape).unwrap_or(0)
    }

    /// Its bytes in the file.
    pub(super) fn bytes(&self) -> u64 {
        self.span.end - self.span.start
    }

    /// Its sides, if there are two.
    pub(super) fn sides(&self) -> Option<(u64, u64)> {
        match self.shape {
            [rows, columns] => Some((*rows, *columns)),
            _ => None,
        }
    }

    /// The same elements in another shape.
    ///
    /// # Errors
    /// `Malformed` where it has other elements.
    pub(super) fn shaped(&self, shape: Vec<u64>) -> Result<Arc<dyn Array>> {
        if limits::elements(&shape)? != self.elements() {
            let (name, stored) = (self.name, self.shape);
            let what = format!("{name:?} has the shape {stored:?}, where {shape:?} is needed");
            return Err(Error::malformed(what).at(self.span.start));
        }
        Ok(Arc::new(Plain::new(self.file.clone(), self.span.start, self.dtype.clone(), shape)?))
    }

    /// Its elements as a matrix.
    ///
    /// # Errors
    /// As [`Stored::shaped`].
    pub(super) fn matrix(&self, rows: u64, columns: u64) -> Result<Arc<dyn Array>> {
        self.shaped(vec![rows, columns])
    }

    /// Its elements one behind the other.
    ///
    /// # Errors
    /// As [`Stored::shaped`].
    pub(super) fn list(&self) -> Result<Arc<dyn Array>> {
        self.shaped(vec![self.elements()])
    }

    /// All of its bytes, which are few.
    ///
    /// # Errors
    /// `Limit` where they are not; those of reading.
    pub(super) fn read(&self, task: &Task) -> Result<bytes::Bytes> {
        limits::check(self.bytes(), SMALL, "this part of a quantised tensor")?;
        self.file.read(task, self.span.clone())
    }
}
