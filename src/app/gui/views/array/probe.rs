//! One element, read by a job when nothing has it in memory.

use std::sync::Arc;

use gander::data::content::{Array, array};
use gander::data::region::{Region, Span};
use gander::jobs::{JobSpec, Jobs, Slot};

/// Reads the element that was asked for last.
#[derive(Default)]
pub(crate) struct Probe(Slot<Vec<u64>, Vec<u8>>);

impl Probe {
    /// The bytes of an element, if they are there by now.
    pub(crate) fn get(&self, jobs: &Jobs, array: &Arc<dyn Array>, index: &[u64]) -> Option<Arc<Vec<u8>>> {
        let (key, array, at) = (index.to_vec(), array.clone(), index.to_vec());
        let shown = self.0.get(jobs, &key, JobSpec::view("one element"), move |task| {
            let region = Region(at.iter().map(|&at| Span::range(at, 1)).collect());
            array::read(&*array, task, &region)
        });
        shown.ready()
    }
}

/// `[3, 17]`.
pub(crate) fn place(index: &[u64]) -> String {
    let numbers: Vec<String> = index.iter().map(u64::to_string).collect();
    format!("[{}]", numbers.join(", "))
}
