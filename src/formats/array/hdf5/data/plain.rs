//! Elements that lie one after the other, and elements that are all the same.

use super::super::datatype::{Class, Datatype};
use super::super::file::File;
use super::Names;
use super::column::Places;
use super::deliver::Delivery;
use crate::content::{Array, ArrayFacts, array};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::limits;
use crate::region::Region;
use crate::source::Source;
use crate::task::Task;
use arrow::array::{ArrayRef, UInt64Array, new_null_array};
use arrow::compute::take;
use bytes::Bytes;
use std::sync::Arc;

/// The elements of an array type, however deep it is; other types as they are.
pub(super) fn element(datatype: &Datatype) -> &Datatype {
    let mut datatype = datatype;
    while let Class::Array { base, .. } = &datatype.class {
        datatype = base;
    }
    datatype
}

/// The array of elements that lie in `source` from `start`.
///
/// # Errors
/// `Malformed` where they reach beyond the source.
pub(super) fn open(
    source: Source,
    start: u64,
    datatype: &Datatype,
    (way, shape): (Delivery, Vec<u64>),
    mut facts: ArrayFacts,
    (file, names): (&File, Arc<dyn Names>),
) -> Result<Arc<dyn Array>> {
    let size = u32::try_from(way.stored())
        .map_err(|_| Error::limit(format!("elements of {} bytes", way.stored())))?;
    let raw = array::Plain::new(source, start, DType::Void(size), shape)?;
    facts.bytes_stored = raw.facts().bytes_stored;
    let datatype = Arc::new(element(datatype).clone());
    Ok(Arc::new(Plain { raw, way, datatype, facts, file: file.clone(), names }))
}

/// Elements one after the other.
struct Plain {
    /// The elements as stored.
    raw: array::Plain,
    way: Delivery,
    datatype: Arc<Datatype>,
    facts: ArrayFacts,
    file: File,
    names: Arc<dyn Names>,
}

impl Array for Plain {
    fn dtype(&self) -> &DType {
        &self.way.dtype
    }

    fn shape(&self) -> &[u64] {
        self.raw.shape()
    }

    fn read(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<()> {
        if self.way.is_same() {
            return self.raw.read(task, region, out);
        }
        if self.way.dtype.is_variable() {
            return Err(Error::bug("bytes of elements without a size"));
        }
        let delivered = self.way.deliver(array::read(&self.raw, task, region)?.into())?;
        if delivered.len() != out.len() {
            return Err(Error::bug(format!("{} bytes were delivered of {}", delivered.len(), out.len())));
        }
        out.copy_from_slice(&delivered);
        Ok(())
    }

    fn column(&self, task: &Task, region: &Region) -> Result<ArrayRef> {
        if !self.way.dtype.is_variable() {
            return array::column_of_bytes(self, task, region);
        }
        let count = limits::check(region.elements()?, limits::READ, "elements of this part")?;
        let stored = array::read(&self.raw, task, region)?;
        let places = Places { task, file: &self.file, names: self.names.as_ref() };
        places.column(&self.datatype, &stored, count)
    }

    fn facts(&self) -> ArrayFacts {
        self.facts.clone()
    }
}

/// Elements that are all the same: of a dataset that was never written.
pub(super) struct Constant {
    dtype: DType,
    shape: Vec<u64>,
    value: Bytes,
    column: Option<ArrayRef>,
    facts: ArrayFacts,
}

impl Constant {
    /// An array of one delivered element, `value`, or one row of a column.
    pub(super) fn new(
        dtype: DType,
        shape: Vec<u64>,
        value: Vec<u8>,
        column: Option<ArrayRef>,
        facts: ArrayFacts,
    ) -> Result<Self> {
        if !dtype.is_variable() && value.len() as u64 != dtype.size() {
            return Err(Error::bug(format!("a fill value of {} bytes for {dtype}", value.len())));
        }
        Ok(Constant { dtype, shape, value: value.into(), column, facts })
    }
}

impl Array for Constant {
    fn dtype(&self) -> &DType {
        &self.dtype
    }

    fn shape(&self) -> &[u64] {
        &self.shape
    }

    fn read(&self, _task: &Task, _region: &Region, out: &mut [u8]) -> Result<()> {
        if self.value.iter().all(|byte| *byte == 0) {
            out.fill(0);
        } else {
            out.chunks_exact_mut(self.value.len()).for_each(|element| element.copy_from_slice(&self.value));
        }
        Ok(())
    }

    fn column(&self, task: &Task, region: &Region) -> Result<ArrayRef> {
        let DType::Variable(kind) = &self.dtype else { return array::column_of_bytes(self, task, region) };
        let count = limits::check(region.elements()?, limits::READ / 16, "elements of this part")?;
        match &self.column {
            Some(column) => Ok(take(column.as_ref(), &UInt64Array::from(vec![0; count]), None)?),
            None => Ok(new_null_array(&kind.arrow, count)),
        }
    }

    fn unstored(&self, _task: &Task, _region: &Region) -> Result<Option<Vec<u8>>> {
        Ok((!self.dtype.is_variable()).then(|| self.value.to_vec()))
    }

    fn facts(&self) -> ArrayFacts {
        self.facts.clone()
    }
}
