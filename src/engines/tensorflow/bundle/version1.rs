//! The first version of checkpoints: a table whose first entry says which tensors there are, and whose others have their
//! parts.
//! <https://github.com/tensorflow/tensorflow/blob/master/tensorflow/core/util/saved_tensor_slice.proto>

use super::stored::{Place, Stored};
use super::{Bundle, messages};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::array::ArrayFacts;
use crate::data::content::{Array, Content};
use crate::data::dtype::DType;
use crate::data::region::Region;
use crate::engines::protobuf::{Field, Part, Value as Wire};
use crate::engines::tensorflow::arrays::kind_of_strings;
use crate::engines::tensorflow::slices::Slice;
use crate::engines::tensorflow::table::Table;
use crate::engines::tensorflow::tensor::{self, Tensor};
use crate::engines::tensorflow::types;
use arrow::array::ArrayRef;
use std::sync::{Arc, OnceLock};

/// Whether the first entry of a table is the list of a checkpoint of the first version: a list of tensors with names.
pub(super) fn is_metadata(value: &[u8]) -> bool {
    let Some(Ok(list)) = messages(Part::decoded(value), 1).next() else { return false };
    match messages(list, 1).next() {
        Some(Ok(first)) => first.fields().map_while(Result::ok).any(|field| field.number == 1),
        _ => false,
    }
}

/// Reads which tensors there are.
pub(super) fn read(task: &Task, table: &Arc<Table>, value: &[u8], bundle: &mut Bundle) -> Result<()> {
    for list in messages(Part::decoded(value), 1) {
        for tensor in messages(list?, 1) {
            task.check()?;
            if bundle.tensors.len() as u64 >= limits::WALKED {
                return Err(Error::limit(format!("more than {} tensors", limits::WALKED)));
            }
            bundle.tensors.push(self::tensor(table, tensor?));
        }
    }
    bundle.about.push(("checkpoint_version".to_owned(), "1".to_owned()));
    Ok(())
}

/// A tensor of the list.
fn tensor(table: &Arc<Table>, part: Part) -> Stored {
    let (mut name, mut dtype, mut shape, mut slices) = (String::new(), 0, Vec::new(), Vec::new());
    let mut read = || -> Result<()> {
        for field in part.fields() {
            let Field { number, value, .. } = field?;
            match number {
                1 => name = value.text(),
                2 => shape = tensor::shape(value.part())?,
                3 => dtype = value.uint(),
                4 => slices.push(Slice::parse(value.part())?),
                _ => {}
            }
        }
        limits::elements(&shape)?;
        Ok(())
    };
    if let Err(error) = read() {
        return Stored::broken(&name, error);
    }
    let mut pieces = Vec::new();
    for slice in &slices {
        let bounds = match slice.within(&shape) {
            Ok(bounds) => bounds,
            Err(error) => return Stored::broken(&name, error),
        };
        let saved = Saved::new(table.clone(), slice.key(&name), dtype, bounds.1.clone());
        pieces.push((bounds, saved.map(|saved| Place::Saved(Arc::new(saved)))));
    }
    match pieces.pop() {
        Some((bounds, Ok(place))) if pieces.is_empty() && bounds.1 == shape => {
            Stored::new(&name, dtype, shape, place)
        }
        Some(last) => {
            pieces.push(last);
            Stored::new(&name, dtype, shape, Place::Parts(pieces))
        }
        None => Stored::broken(&name, Error::malformed("a tensor without values")),
    }
}

/// A part of a tensor in the table. Its entry is looked up when values are asked for.
pub(super) struct Saved {
    table: Arc<Table>,
    key: Vec<u8>,
    code: u64,
    dtype: DType,
    shape: Vec<u64>,
    found: OnceLock<Arc<dyn Array>>,
}

impl Saved {
    fn new(table: Arc<Table>, key: Vec<u8>, dtype: u64, shape: Vec<u64>) -> Result<Saved> {
        let kind = if dtype == 7 { Some(kind_of_strings(false)) } else { types::dtype(dtype) };
        let kind =
            kind.ok_or_else(|| Error::unsupported(format!("values of the type {}", types::word(dtype))))?;
        Ok(Saved { table, key, code: dtype, dtype: kind, shape, found: OnceLock::new() })
    }

    /// The values, which lie in a message of the entry.
    fn found(&self, task: &Task) -> Result<Arc<dyn Array>> {
        if let Some(array) = self.found.get() {
            return Ok(array.clone());
        }
        let entry = self.table.find(task, &self.key)?;
        let entry = entry.ok_or_else(|| Error::malformed("its values are not in the table"))?;
        let array = self.array(&entry.value).map_err(|error| match entry.at {
            Some(at) => error.at(at),
            None => error,
        })?;
        Ok(self.found.get_or_init(|| array).clone())
    }

    fn array(&self, value: &bytes::Bytes) -> Result<Arc<dyn Array>> {
        let missing = || Error::malformed("an entry without a tensor");
        let slice = messages(Part::new(value, 0), 2).next().ok_or_else(missing)??;
        let data = slice.fields().map_while(Result::ok).find(|field| field.number == 3);
        let Some(Field { value: Wire::Bytes(part), .. }) = data else { return Err(missing()) };
        // The message of the values leaves out their type and shape: they are those of the part.
        let mut tensor = Tensor::parse(part)?.or_type(self.code);
        tensor.shape = self.shape.clone();
        let source = Source::memory("entry", value.clone());
        let Some(Content::Array(array)) = tensor.content(&source)? else { return Err(missing()) };
        if array.dtype() != &self.dtype && !self.dtype.is_variable() {
            let (there, said) = (array.dtype(), &self.dtype);
            return Err(Error::malformed(format!("its values are {there}, the list says {said}")));
        }
        Ok(array)
    }
}

impl Array for Saved {
    fn dtype(&self) -> &DType {
        &self.dtype
    }

    fn shape(&self) -> &[u64] {
        &self.shape
    }

    fn read(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<()> {
        self.found(task)?.read(task, region, out)
    }

    fn column(&self, task: &Task, region: &Region) -> Result<ArrayRef> {
        let column = self.found(task)?.column(task, region)?;
        if self.dtype.is_variable() {
            return arrow::compute::cast(&column, &arrow::datatypes::DataType::Binary).map_err(Into::into);
        }
        Ok(column)
    }

    fn facts(&self) -> ArrayFacts {
        ArrayFacts {
            bytes_stored: limits::bytes(&self.shape, self.dtype.size()).ok(),
            ..ArrayFacts::default()
        }
    }
}
