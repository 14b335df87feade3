//! An array whose elements are made when somebody first looks: numbers that a file spells one by one.

use crate::bytes::error::Result;
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::array::{Array, ArrayFacts, Plain};
use crate::data::dtype::DType;
use crate::data::region::Region;
use bytes::Bytes;
use std::sync::OnceLock;

type Make = dyn Fn(&Task) -> Result<Bytes> + Send + Sync;

/// What was made.
enum Values {
    /// All elements.
    All(Box<Plain>),
    /// The first ones, at least one.
    First(Bytes),
}

/// Elements that a function gives: in C order, little-endian, all of them. They are kept once they were made.
pub struct LateArray {
    dtype: DType,
    shape: Vec<u64>,
    facts: ArrayFacts,
    make: Box<Make>,
    made: OnceLock<Values>,
    repeats_last: bool,
}

impl LateArray {
    /// An array of this type and shape.
    pub fn new(
        dtype: DType,
        shape: Vec<u64>,
        make: impl Fn(&Task) -> Result<Bytes> + Send + Sync + 'static,
    ) -> Self {
        let facts = ArrayFacts::default();
        LateArray { dtype, shape, facts, make: Box::new(make), made: OnceLock::new(), repeats_last: false }
    }

    /// The last element that is made stands for all further ones; without any all are zero.
    pub fn repeating_last(mut self) -> Self {
        self.repeats_last = true;
        self
    }

    /// With what is known of its storage.
    pub fn with_facts(mut self, facts: ArrayFacts) -> Self {
        self.facts = facts;
        self
    }
}

impl LateArray {
    fn made(&self, task: &Task) -> Result<Values> {
        let bytes = (self.make)(task)?;
        let size = self.dtype.size().max(1) as usize;
        Ok(match self.repeats_last {
            true if bytes.len() < size => Values::First(Bytes::from(vec![0; size])),
            true => Values::First(bytes),
            false => {
                let source = Source::memory("elements", bytes);
                Values::All(Box::new(Plain::new(source, 0, self.dtype.clone(), self.shape.clone())?))
            }
        })
    }
}

/// Calls `each` with the place of every element of `region` in an array of this shape, in C order.
///
/// # Errors
/// `Limit` for a region that is too large to be read; `Cancelled`.
pub fn places(task: &Task, region: &Region, shape: &[u64], mut each: impl FnMut(u64)) -> Result<()> {
    /// Elements between two looks at the task.
    const STEP: usize = 1 << 16;
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

impl Array for LateArray {
    fn dtype(&self) -> &DType {
        &self.dtype
    }

    fn shape(&self) -> &[u64] {
        &self.shape
    }

    fn read(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<()> {
        region.check(&self.shape)?;
        let made = match self.made.get() {
            Some(made) => made,
            None => {
                let made = self.made(task)?;
                self.made.get_or_init(|| made)
            }
        };
        let values = match made {
            Values::All(plain) => return plain.read(task, region, out),
            Values::First(values) => values,
        };
        let size = self.dtype.size().max(1) as usize;
        let last = (values.len() / size).saturating_sub(1);
        let mut elements = out.chunks_exact_mut(size);
        places(task, region, &self.shape, |place| {
            let at = usize::try_from(place).unwrap_or(usize::MAX).min(last) * size;
            if let (Some(to), Some(from)) = (elements.next(), values.get(at..at + size)) {
                to.copy_from_slice(from);
            }
        })
    }

    fn facts(&self) -> ArrayFacts {
        self.facts.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::content::array::read;
    use crate::data::region::Span;

    #[test]
    fn the_last_element_may_stand_for_the_rest() {
        let task = Task::new();
        // As many elements as no memory holds.
        let shape = vec![1 << 30, 1 << 20];
        let of = |values: &'static [u8]| {
            LateArray::new(DType::I16, shape.clone(), move |_| Ok(Bytes::from_static(values)))
                .repeating_last()
        };
        let part = Region(vec![Span::range(0, 2), Span::range(0, 3)]);
        let array = of(&[1, 0, 2, 0, 9]);
        assert_eq!(read(&array, &task, &part).unwrap(), [1, 0, 2, 0, 2, 0, 2, 0, 2, 0, 2, 0]);
        assert_eq!(read(&of(&[]), &task, &part).unwrap(), [0; 12]);
    }
}
