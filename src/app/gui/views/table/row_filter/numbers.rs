//! The numbers that rows of a filtered table have in the table itself, for those in sight.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use gander::data::content::Table as _;
use gander::jobs::{JobSpec, Jobs, Slot};
use gander::query::Filtered;

/// Rows of a page.
const PAGE: u64 = 256;
/// Pages that are kept.
const KEPT: usize = 64;

/// The numbers that are in memory.
pub(in super::super) struct Numbers {
    rows: Arc<Filtered>,
    pages: HashMap<u64, Vec<u64>>,
    slot: Slot<(u64, u64), Vec<u64>>,
}

impl Numbers {
    /// None yet.
    pub(in super::super) fn new(rows: Arc<Filtered>) -> Self {
        Numbers { rows, pages: HashMap::new(), slot: Slot::default() }
    }

    /// Whether no more rows come: all are there, or it was stopped, or it failed.
    pub(in super::super) fn ended(&self) -> bool {
        self.rows.answer().ended().is_some()
    }

    /// The number of a row, if it is in memory.
    pub(in super::super) fn get(&self, row: u64) -> Option<u64> {
        self.pages.get(&(row / PAGE))?.get((row % PAGE) as usize).copied()
    }

    /// Reads the numbers of these rows. Called once a frame.
    pub(in super::super) fn want(&mut self, jobs: &Jobs, rows: &Range<u64>) {
        let there = self.rows.rows().number();
        let whole = |page: u64| {
            let known = self.pages.get(&page).map_or(0, |page| page.len() as u64);
            known == PAGE || page * PAGE + known >= there
        };
        let pages = rows.start / PAGE..rows.end.min(there).div_ceil(PAGE);
        let Some(page) = pages.into_iter().find(|page| !whole(*page)) else { return };
        let (source, end) = (self.rows.clone(), ((page + 1) * PAGE).min(there));
        let read = move |task: &gander::Task| source.numbers(task, page * PAGE..end);
        let shown = self.slot.get(jobs, &(page, end), JobSpec::view("row numbers"), read);
        if let Some(numbers) = shown.ready() {
            if self.pages.len() >= KEPT {
                self.pages.clear();
            }
            self.pages.insert(page, numbers.to_vec());
            jobs.wake();
        }
    }
}
