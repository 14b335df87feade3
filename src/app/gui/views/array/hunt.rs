//! The way to the next NaN or Inf when it is not in the slice on the screen: the slices after (or
//! before) it are looked at one by one in a job, round the array until this one comes again.

use std::sync::Arc;

use gander::content::Array;
use gander::error::Result;
use gander::jobs::{Jobs, Slot};
use gander::task::Task;

use super::mapping::Mapping;
use super::values::{Odd, Part, bands, numbers};

/// What is looked for, and from where.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Prey {
    pub(super) mapping: Mapping,
    pub(super) part: Part,
    pub(super) kind: Odd,
    pub(super) forward: bool,
}

/// See the module.
#[derive(Default)]
pub(super) struct Hunt {
    prey: Option<Prey>,
    found: Slot<Prey, Option<Vec<u64>>>,
}

/// How a hunt ended.
pub(super) enum Ended {
    /// With the full index of an element.
    Found(Vec<u64>),
    /// No other slice has any.
    Nothing(Odd),
    /// It could not be read, or was stopped.
    Failed(gander::error::Error),
}

impl Hunt {
    /// Starts.
    pub(super) fn start(&mut self, prey: Prey) {
        self.found.clear();
        self.prey = Some(prey);
    }

    /// Stops.
    pub(super) fn stop(&mut self) {
        self.prey = None;
        self.found.cancel();
    }

    /// How it ended, once.
    pub(super) fn poll(&mut self, jobs: &Jobs, array: &Arc<dyn Array>, title: &str) -> Option<Ended> {
        let prey = self.prey.clone()?;
        let (array, wanted) = (array.clone(), prey.clone());
        let title = format!("looking for {} in {title}", prey.kind.word());
        let shown = self.found.get(jobs, &prey, &title, move |task| wanted.find(&*array, task));
        let ended = match (shown.value.filter(|_| shown.fresh), shown.error) {
            (Some(found), _) => (*found).clone().map_or(Ended::Nothing(prey.kind), Ended::Found),
            (None, Some(error)) => Ended::Failed(error),
            (None, None) => return None,
        };
        self.prey = None;
        Some(ended)
    }
}

impl Prey {
    fn find(&self, array: &dyn Array, task: &Task) -> Result<Option<Vec<u64>>> {
        let mut mapping = self.mapping.clone();
        let axes = mapping.others(false);
        let lengths: Vec<u64> = axes.iter().map(|&axis| mapping.shape()[axis]).collect();
        let count = lengths.iter().fold(1u64, |product, &len| product.saturating_mul(len.max(1)));
        let here = axes.iter().zip(&lengths).fold(0u64, |flat, (&axis, &len)| {
            flat.saturating_mul(len.max(1)).saturating_add(mapping.position(axis))
        });
        task.expect(count);
        for n in 1..count {
            let flat = if self.forward { (here + n) % count } else { (here + count - n) % count };
            let mut rest = flat;
            for (&axis, &len) in axes.iter().zip(&lengths).rev() {
                mapping.set_position(axis, rest % len.max(1));
                rest /= len.max(1);
            }
            if let Some(found) = self.find_in(array, task, &mapping)? {
                return Ok(Some(found));
            }
            task.advance(1)?;
        }
        Ok(None)
    }

    /// The first (or last) one in a slice, in the order of rows.
    fn find_in(&self, array: &dyn Array, task: &Task, mapping: &Mapping) -> Result<Option<Vec<u64>>> {
        let slice = mapping.slice(false);
        let mut best: Option<(u64, u64)> = None;
        for window in bands(&slice, array.dtype().size()) {
            task.check()?;
            let values = numbers(array.dtype(), self.part, &slice.read(array, task, &window)?);
            let places = values.iter().enumerate().filter(|(_, value)| Odd::of(**value) == Some(self.kind));
            let width = window.columns.count.max(1);
            let places = places
                .map(|(n, _)| (window.rows.index(n as u64 / width), window.columns.index(n as u64 % width)));
            let here = if self.forward { places.min() } else { places.max() };
            best = match (best, here) {
                (Some(a), Some(b)) => Some(if (a < b) == self.forward { a } else { b }),
                (a, b) => a.or(b),
            };
        }
        Ok(best.map(|(row, column)| slice.index(row, column)))
    }
}

#[cfg(test)]
mod tests {
    use gander::content::array::Plain;
    use gander::dtype::DType;
    use gander::source::Source;

    use super::*;

    #[test]
    fn round_the_array_in_both_directions() {
        let mut values = vec![0f32; 5 * 3 * 4];
        (values[2 * 12 + 5], values[2 * 12 + 9], values[4 * 12]) = (f32::NAN, f32::NAN, f32::INFINITY);
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let array = Plain::new(Source::memory("a", bytes), 0, DType::F32, vec![5, 3, 4]).unwrap();
        let prey = |at: u64, kind, forward| {
            let mut mapping = Mapping::new(&[5, 3, 4]);
            mapping.set_position(0, at);
            Prey { mapping, part: Part::Real, kind, forward }.find(&array, &Task::new()).unwrap()
        };
        assert_eq!(prey(0, Odd::Nan, true), Some(vec![2, 1, 1]));
        assert_eq!(prey(0, Odd::Nan, false), Some(vec![2, 2, 1]));
        assert_eq!(prey(4, Odd::Nan, true), Some(vec![2, 1, 1]));
        assert_eq!(prey(2, Odd::Nan, true), None);
        assert_eq!(prey(1, Odd::Plus, false), Some(vec![4, 0, 0]));
        assert_eq!(prey(1, Odd::Minus, true), None);
    }
}
