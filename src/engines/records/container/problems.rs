//! What is wrong with the records of a container.

use crate::bytes::display;
use crate::bytes::error::Error;
use crate::data::node::Findings;
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

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

/// What is wrong with the records of several files that are one table.
#[derive(Default)]
pub struct FileProblems(Mutex<BTreeMap<String, Arc<Problems>>>);

impl FileProblems {
    /// What is found in this file from now on.
    pub fn watch(&self, file: &str, problems: &Arc<Problems>) {
        self.0.lock().insert(file.to_owned(), problems.clone());
    }

    /// The first problem of each file, with its name, and how many files have some.
    fn firsts(&self) -> Vec<Error> {
        let files = self.0.lock();
        files.iter().filter_map(|(file, problems)| Some(problems.first()?.in_file(file))).collect()
    }
}

impl Findings for FileProblems {
    fn problem(&self) -> Option<Error> {
        self.firsts().into_iter().next()
    }

    fn remarks(&self) -> Vec<String> {
        let firsts = self.firsts();
        let mut remarks: Vec<String> = firsts.iter().skip(1).take(KEPT).map(Error::to_string).collect();
        if let more @ 1.. = firsts.len().saturating_sub(KEPT + 1) {
            remarks.push(format!("{} more files have broken records", display::count(more as u64)));
        }
        remarks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_problems_of_several_files() {
        let all = FileProblems::default();
        let (a, b) = (Arc::new(Problems::default()), Arc::new(Problems::default()));
        all.watch("b", &b);
        all.watch("a", &a);
        assert!(all.problem().is_none());
        b.add(Error::malformed("broken").at(7));
        assert!(all.problem().unwrap().to_string().contains("b"));
        a.add(Error::malformed("torn").at(7));
        assert!(all.problem().unwrap().to_string().contains("torn"));
        assert!(all.remarks()[0].contains("broken"));
    }
}
