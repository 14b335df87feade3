//! An array whose elements are made when somebody first looks: numbers that a file spells one by one.

use crate::bytes::error::Result;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::array::{Array, ArrayFacts, Plain};
use crate::data::dtype::DType;
use crate::data::region::Region;
use bytes::Bytes;
use std::sync::OnceLock;

type Make = dyn Fn(&Task) -> Result<Bytes> + Send + Sync;

/// Elements that a function gives: in C order, little-endian, all of them. They are kept once they were made.
pub struct LateArray {
    dtype: DType,
    shape: Vec<u64>,
    facts: ArrayFacts,
    make: Box<Make>,
    made: OnceLock<Plain>,
}

impl LateArray {
    /// An array of this type and shape.
    pub fn new(
        dtype: DType,
        shape: Vec<u64>,
        make: impl Fn(&Task) -> Result<Bytes> + Send + Sync + 'static,
    ) -> Self {
        let facts = ArrayFacts::default();
        LateArray { dtype, shape, facts, make: Box::new(make), made: OnceLock::new() }
    }

    /// With what is known of its storage.
    pub fn with_facts(mut self, facts: ArrayFacts) -> Self {
        self.facts = facts;
        self
    }
}

impl Array for LateArray {
    fn dtype(&self) -> &DType {
        &self.dtype
    }

    fn shape(&self) -> &[u64] {
        &self.shape
    }

    fn read(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<()> {
        region.check(&self.shape)?;
        let plain = match self.made.get() {
            Some(plain) => plain,
            None => {
                let source = Source::memory("elements", (self.make)(task)?);
                let plain = Plain::new(source, 0, self.dtype.clone(), self.shape.clone())?;
                self.made.get_or_init(|| plain)
            }
        };
        plain.read(task, region, out)
    }

    fn facts(&self) -> ArrayFacts {
        self.facts.clone()
    }
}
