//! Elements that are so many parts of one type each — complex numbers, fixed bytes, characters — as an array of the
//! parts: with a last dimension of them, or one part of each alone.

use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::content::{Array, ArrayFacts, array};
use crate::data::dtype::DType;
use crate::data::region::{Region, Span};
use std::sync::Arc;

/// See the head of the module.
pub struct PartsArray {
    inner: Arc<dyn Array>,
    dtype: DType,
    /// How many parts an element has.
    count: u64,
    /// The one that is given, else all of them.
    only: Option<u64>,
    shape: Vec<u64>,
}

impl PartsArray {
    /// All parts of each element, along a last dimension; `dtype` is the type of a part.
    pub fn all(inner: Arc<dyn Array>, dtype: DType) -> Self {
        let count = inner.dtype().size() / dtype.size().max(1);
        let shape = inner.shape().iter().copied().chain([count]).collect();
        PartsArray { inner, dtype, count, only: None, shape }
    }

    /// The `n`-th part of each element.
    pub fn only(inner: Arc<dyn Array>, dtype: DType, n: u64) -> Self {
        let count = inner.dtype().size() / dtype.size().max(1);
        let shape = inner.shape().to_vec();
        PartsArray { inner, dtype, count, only: Some(n), shape }
    }
}

impl Array for PartsArray {
    fn dtype(&self) -> &DType {
        &self.dtype
    }

    fn shape(&self) -> &[u64] {
        &self.shape
    }

    fn read(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<()> {
        region.check(&self.shape)?;
        let rank = self.inner.shape().len();
        let wanted = match self.only {
            Some(n) => Span::range(n, 1),
            None => region.0.last().copied().ok_or_else(|| Error::bug("parts without a dimension"))?,
        };
        let outer = Region(region.0.iter().take(rank).copied().collect());
        if out.is_empty() {
            return Ok(());
        }
        if wanted == Span::all(self.count) {
            return self.inner.read(task, &outer, out);
        }
        let raw = array::read(self.inner.as_ref(), task, &outer)?;
        let part = self.dtype.size() as usize;
        let element = (self.count as usize * part).max(1);
        let mut places = out.chunks_exact_mut(part.max(1));
        for element in raw.chunks_exact(element) {
            for n in 0..wanted.count {
                let at = wanted.index(n) as usize * part;
                if let (Some(to), Some(from)) = (places.next(), element.get(at..at + part)) {
                    to.copy_from_slice(from);
                }
            }
        }
        Ok(())
    }

    fn facts(&self) -> ArrayFacts {
        let facts = self.inner.facts();
        let chunks = facts.chunks.map(|mut chunks| {
            chunks.extend(self.only.is_none().then_some(self.count));
            chunks
        });
        ArrayFacts { chunks, ..ArrayFacts::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::source::Source;
    use crate::data::content::array::{Plain, read};

    #[test]
    fn parts_stand_along_a_last_dimension_or_alone() {
        let bytes: Vec<u8> = (0..12).collect();
        let plain = Plain::new(Source::memory("a", bytes), 0, DType::Void(3), vec![2, 2]).unwrap();
        let inner: Arc<dyn Array> = Arc::new(plain);
        let all = PartsArray::all(inner.clone(), DType::U8);
        assert_eq!(all.shape(), [2, 2, 3]);
        let some =
            |slice: &str| read(&all, &Task::new(), &Region::parse(slice, &[2, 2, 3]).unwrap().0).unwrap();
        assert_eq!(some(""), (0..12).collect::<Vec<u8>>());
        assert_eq!(some("1, :, ::2"), [6, 8, 9, 11]);
        let second = PartsArray::only(inner, DType::U8, 1);
        assert_eq!(read(&second, &Task::new(), &Region::all(&[2, 2])).unwrap(), [1, 4, 7, 10]);
    }
}
