//! What is wrong with the records of a container.

use crate::bytes::display;
use crate::bytes::error::Error;
use crate::data::node::Findings;
use parking_lot::Mutex;
use std::collections::HashSet;

/// Problems that are kept, the first ones.
const KEPT: usize = 20;
/// The most places that are remembered: a broken record is counted once, however often it is read.
const PLACES: usize = 1 << 16;

/// The records that cannot be read, each named once; and what else there is to say.
#[derive(Default)]
pub struct Problems(Mutex<State>);

#[derive(Default)]
struct State {
    kept: Vec<Error>,
    places: HashSet<u64>,
    remarks: Vec<String>,
}

impl Problems {
    /// Takes in a problem, unless one at its place is known. Cancellations are none.
    pub fn add(&self, error: Error) {
        if error.is_cancelled() {
            return;
        }
        let mut state = self.0.lock();
        let new = match error.offset() {
            Some(at) => state.places.len() < PLACES && state.places.insert(at),
            None => !state.kept.contains(&error),
        };
        if new && state.kept.len() < KEPT {
            state.kept.push(error);
        }
    }

    /// Takes in a remark, once.
    pub fn remark(&self, text: impl Into<String>) {
        let (mut state, text) = (self.0.lock(), text.into());
        if state.remarks.len() < KEPT && !state.remarks.contains(&text) {
            state.remarks.push(text);
        }
    }

    /// The first one.
    pub fn first(&self) -> Option<Error> {
        self.0.lock().kept.first().cloned()
    }
}

impl Findings for Problems {
    fn problem(&self) -> Option<Error> {
        self.first()
    }

    fn remarks(&self) -> Vec<String> {
        let state = self.0.lock();
        let mut remarks: Vec<String> = state.kept.iter().skip(1).map(Error::message).collect();
        let more = state.places.len().saturating_sub(state.kept.len());
        if more > 0 {
            let least = if state.places.len() >= PLACES { "at least " } else { "" };
            remarks.push(format!("{least}{} more records are broken", display::count(more as u64)));
        }
        remarks.extend(state.remarks.iter().cloned());
        remarks
    }
}
