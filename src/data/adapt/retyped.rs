//! An array whose delivered elements go by the name of another type: those in blocks are float32 for who knows no blocks.

use crate::bytes::error::Result;
use crate::bytes::task::Task;
use crate::data::content::array::MissingRegion;
use crate::data::content::{Array, ArrayFacts};
use crate::data::dtype::DType;
use crate::data::location::{BytePlace, Location, Owner};
use crate::data::region::Region;
use std::sync::Arc;

/// An array with another type of the same delivered bytes.
pub struct Retyped {
    inner: Arc<dyn Array>,
    dtype: DType,
}

impl Retyped {
    /// `inner` as elements of `dtype`, which is as large as its own.
    pub fn new(inner: Arc<dyn Array>, dtype: DType) -> Self {
        Retyped { inner, dtype }
    }
}

impl Array for Retyped {
    fn dtype(&self) -> &DType {
        &self.dtype
    }

    fn shape(&self) -> &[u64] {
        self.inner.shape()
    }

    fn read(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<()> {
        self.inner.read(task, region, out)
    }

    fn read_lenient(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<Vec<MissingRegion>> {
        self.inner.read_lenient(task, region, out)
    }

    fn location(&self, task: &Task, index: &[u64]) -> Result<Option<Location>> {
        self.inner.location(task, index)
    }

    fn owner(&self, task: &Task, byte: &BytePlace) -> Result<Option<Owner>> {
        self.inner.owner(task, byte)
    }

    fn facts(&self) -> ArrayFacts {
        self.inner.facts()
    }

    fn prefetch(&self, task: &Task, region: &Region) {
        self.inner.prefetch(task, region);
    }
}
