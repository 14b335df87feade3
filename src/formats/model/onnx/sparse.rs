//! `SparseTensorProto`: the elements of a tensor that are not zero, with their places in ascending order; all others are
//! zero. Places are numbers in C order, or coordinates.
//! <https://github.com/onnx/onnx/blob/main/onnx/onnx.proto>

use super::tensor::{Files, Tensor};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::strides::{ravel, unravel};
use crate::bytes::task::Task;
use crate::data::content::Content;
use crate::data::content::array::{Array, ArrayFacts, read};
use crate::data::dtype::DType;
use crate::data::node::Node;
use crate::data::region::Region;
use crate::engines::protobuf::{Field, Part, Value as Wire};
use std::sync::{Arc, OnceLock};

/// The most bytes of values and of places that are kept.
const STORED: u64 = 1 << 30;
/// The most dimensions.
const RANK: usize = 64;

/// A sparse tensor, as its message says.
#[derive(Default)]
pub(super) struct SparseTensor {
    pub(super) name: String,
    /// The shape of the whole.
    pub(super) shape: Vec<u64>,
    values: Option<Tensor>,
    indices: Option<Tensor>,
}

impl SparseTensor {
    /// Reads the fields; elements are not looked at.
    pub(super) fn parse(part: Part) -> Result<Self> {
        let mut sparse = SparseTensor::default();
        for field in part.fields() {
            let Field { number, value, .. } = field?;
            match (number, value) {
                (1, value) => sparse.values = Some(Tensor::parse(value.part())?),
                (2, value) => sparse.indices = Some(Tensor::parse(value.part())?),
                (3, Wire::Bytes(part)) => {
                    for length in part.varints() {
                        sparse.shape.push(length?);
                        if sparse.shape.len() > RANK {
                            break;
                        }
                    }
                }
                (3, value) => sparse.shape.push(value.uint()),
                _ => {}
            }
            if sparse.shape.len() > RANK {
                return Err(Error::limit(format!("a tensor of more than {RANK} dimensions")));
            }
        }
        sparse.name = sparse.values.as_ref().map_or(String::new(), |values| values.name.clone());
        Ok(sparse)
    }

    /// The name of the type of its values.
    pub(super) fn type_name(&self) -> String {
        self.values.as_ref().map_or_else(|| "undefined".to_owned(), Tensor::type_name)
    }

    /// Its node: the whole as an array, and what is stored of it below.
    pub(super) fn node(self, files: &Files) -> Node {
        let content = self.content(files);
        let parts = [("values", self.values), ("indices", self.indices)];
        let parts = parts.into_iter().filter_map(|(name, tensor)| Some(tensor?.node(name, files)));
        let mut node = Node::new(self.name, "sparse tensor").listed(parts.collect());
        match content {
            Ok(content) => node.content = Some(content),
            Err(error) => node.problem = Some(error),
        }
        node
    }

    fn content(&self, files: &Files) -> Result<Content> {
        let array = |tensor: &Option<Tensor>, what: &str| {
            let tensor =
                tensor.as_ref().ok_or_else(|| Error::malformed(format!("a sparse tensor without {what}")))?;
            // Opens a file beside the model at most; reads nothing of it.
            match tensor.content(&Task::new(), files)? {
                Content::Array(array) => Ok(array),
                _ => Err(Error::malformed(format!("{what} of a sparse tensor that are no array"))),
            }
        };
        let (values, indices) = (array(&self.values, "values")?, array(&self.indices, "indices")?);
        limits::elements(&self.shape)?;
        let (count, rank) = (values.shape().first().copied().unwrap_or(0), self.shape.len() as u64);
        let is_linear = indices.shape() == [count];
        if values.shape().len() != 1
            || !(is_linear || indices.shape() == [count, rank])
            || *indices.dtype() != DType::I64
        {
            let (values, indices) = (values.shape(), indices.shape());
            return Err(Error::malformed(format!(
                "a sparse tensor with values {values:?} and indices {indices:?}"
            )));
        }
        let width = values.dtype().size();
        limits::check(count.saturating_mul(width), STORED, "the values of a sparse tensor")?;
        limits::check(limits::bytes(indices.shape(), 8)?, STORED, "the indices of a sparse tensor")?;
        Ok(Content::Array(Arc::new(SparseArray {
            shape: self.shape.clone(),
            values,
            indices,
            stored: OnceLock::new(),
        })))
    }
}

/// The whole of a sparse tensor. What is stored of it is read when somebody first looks.
struct SparseArray {
    shape: Vec<u64>,
    values: Arc<dyn Array>,
    indices: Arc<dyn Array>,
    stored: OnceLock<Stored>,
}

/// Places in C order, ascending, and the bytes of the elements there.
struct Stored {
    places: Vec<u64>,
    bytes: Vec<u8>,
}

impl SparseArray {
    fn stored(&self, task: &Task) -> Result<&Stored> {
        if let Some(stored) = self.stored.get() {
            return Ok(stored);
        }
        let all = read(self.indices.as_ref(), task, &Region::all(self.indices.shape()))?;
        let numbers: Vec<u64> =
            all.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
        let count = limits::elements(&self.shape)?;
        let outside = |what: &[u64]| {
            // Numbers below zero are huge ones here.
            let what: Vec<i64> = what.iter().map(|number| *number as i64).collect();
            Error::malformed(format!("a sparse tensor of shape {:?} has an element at {what:?}", self.shape))
        };
        let places = match self.indices.shape() {
            [_] => numbers,
            _ => {
                let mut places = Vec::with_capacity(numbers.len() / self.shape.len().max(1));
                for index in numbers.chunks_exact(self.shape.len().max(1)) {
                    if index.iter().zip(&self.shape).any(|(at, length)| at >= length) {
                        return Err(outside(index));
                    }
                    places.push(ravel(index, &self.shape));
                }
                places
            }
        };
        task.check()?;
        if let Some(place) = places.iter().find(|place| **place >= count) {
            return Err(outside(&[*place]));
        }
        if !places.is_sorted_by(|a, b| a < b) {
            return Err(Error::malformed("the indices of a sparse tensor are not in ascending order"));
        }
        let bytes = read(self.values.as_ref(), task, &Region::all(self.values.shape()))?;
        Ok(self.stored.get_or_init(|| Stored { places, bytes }))
    }
}

impl Array for SparseArray {
    fn dtype(&self) -> &DType {
        self.values.dtype()
    }

    fn shape(&self) -> &[u64] {
        &self.shape
    }

    fn read(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<()> {
        region.check(&self.shape)?;
        out.fill(0);
        if out.is_empty() {
            return Ok(());
        }
        let stored = self.stored(task)?;
        let width = self.dtype().size().max(1) as usize;
        let first = ravel(&region.start(), &self.shape);
        let last: Vec<u64> = region.0.iter().map(|span| span.end().saturating_sub(1)).collect();
        let (last, wanted) = (ravel(&last, &self.shape), region.shape());
        let begin = stored.places.partition_point(|place| *place < first);
        let there = stored.places.iter().enumerate().skip(begin).take_while(|(_, place)| **place <= last);
        for (number, place) in there {
            if number % (1 << 16) == 0 {
                task.check()?;
            }
            let index = unravel(*place, &self.shape);
            // Where it goes, if it is one of those that are asked for.
            let at = index.iter().zip(&region.0).map(|(at, span)| {
                let far = at.checked_sub(span.start)?;
                (far % span.step == 0 && far / span.step < span.count).then(|| far / span.step)
            });
            let Some(at) = at.collect::<Option<Vec<u64>>>() else { continue };
            let to = (ravel(&at, &wanted) as usize).saturating_mul(width);
            let from = number.saturating_mul(width);
            if let (Some(to), Some(from)) = (
                out.get_mut(to..to.saturating_add(width)),
                stored.bytes.get(from..from.saturating_add(width)),
            ) {
                to.copy_from_slice(from);
            }
        }
        Ok(())
    }

    fn facts(&self) -> ArrayFacts {
        let own = self.values.facts();
        let details =
            vec![("elements stored".to_owned(), self.values.shape().iter().product::<u64>().to_string())];
        ArrayFacts {
            word: own.word,
            byte_each: own.byte_each,
            bytes_stored: own.bytes_stored,
            details,
            ..ArrayFacts::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::content::array::Plain;
    use crate::data::region::Span;

    fn array(shape: &[u64], indices: &[i64], each: &[u64], values: &[f32]) -> SparseArray {
        let bytes: Vec<u8> = indices.iter().flat_map(|n| n.to_le_bytes()).collect();
        let indices =
            Plain::new(crate::bytes::source::Source::memory("i", bytes), 0, DType::I64, each.to_vec())
                .unwrap();
        let bytes: Vec<u8> = values.iter().flat_map(|n| n.to_le_bytes()).collect();
        let source = crate::bytes::source::Source::memory("v", bytes);
        let values = Plain::new(source, 0, DType::F32, vec![values.len() as u64]).unwrap();
        SparseArray {
            shape: shape.to_vec(),
            values: Arc::new(values),
            indices: Arc::new(indices),
            stored: OnceLock::new(),
        }
    }

    fn floats(array: &SparseArray, region: &Region) -> Result<Vec<f32>> {
        let bytes = read(array, &Task::new(), region)?;
        Ok(bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect())
    }

    #[test]
    fn numbers_and_coordinates_are_the_same_places() {
        let linear = array(&[3, 4], &[1, 6, 11], &[3], &[1.0, 2.0, 3.0]);
        let places = array(&[3, 4], &[0, 1, 1, 2, 2, 3], &[3, 2], &[1.0, 2.0, 3.0]);
        for sparse in [linear, places] {
            let all = floats(&sparse, &Region::all(&[3, 4])).unwrap();
            assert_eq!(all, [0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 3.0]);
            let part =
                Region(vec![Span { start: 0, count: 2, step: 1 }, Span { start: 0, count: 2, step: 2 }]);
            assert_eq!(floats(&sparse, &part).unwrap(), [0.0, 0.0, 0.0, 2.0]);
            assert_eq!(floats(&sparse, &Region(vec![Span::range(2, 1), Span::range(3, 1)])).unwrap(), [3.0]);
        }
    }

    #[test]
    fn places_outside_or_out_of_order_are_errors() {
        for (indices, each) in
            [(&[1i64, 12][..], &[2u64][..]), (&[6, 1], &[2]), (&[1, -1], &[2]), (&[0, 4, 1, 1], &[2, 2])]
        {
            let sparse = array(&[3, 4], indices, each, &[1.0, 2.0]);
            assert!(floats(&sparse, &Region::all(&[3, 4])).is_err(), "{indices:?}");
        }
    }
}
