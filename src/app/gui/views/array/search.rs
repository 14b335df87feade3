//! The search for the next NaN or infinity as a job: what is known of the slice on the screen may not tell where it is.

use std::sync::Arc;

use gander::bytes::error::Error;
use gander::data::content::Array;
use gander::data::plane::{NonFiniteSearch, SearchFrom, SearchResult};
use gander::jobs::{JobSpec, Jobs, Slot};

/// The search that runs.
#[derive(Default)]
pub(super) struct Search {
    wanted: Option<NonFiniteSearch>,
    found: Slot<NonFiniteSearch, SearchResult>,
}

/// How a search ended.
pub(super) enum Ended {
    /// With the full index of an element.
    Found(Vec<u64>),
    /// There is none; in words.
    Nothing(String),
    /// It could not be read, or was stopped.
    Failed(Error),
}

impl Search {
    /// Starts.
    pub(super) fn start(&mut self, wanted: NonFiniteSearch) {
        self.found.clear();
        self.wanted = Some(wanted);
    }

    /// Stops.
    pub(super) fn stop(&mut self) {
        self.wanted = None;
        self.found.cancel();
    }

    /// How it ended, once.
    pub(super) fn poll(&mut self, jobs: &Jobs, array: &Arc<dyn Array>, title: &str) -> Option<Ended> {
        let wanted = self.wanted.clone()?;
        let (array, search) = (array.clone(), wanted.clone());
        let title = format!("looking for {} in {title}", wanted.kind.word());
        let shown =
            self.found.get(jobs, &wanted, JobSpec::scan(title), move |task| search.find(&*array, task));
        let ended = match (shown.ready(), shown.error) {
            (Some(result), _) => match &result.place {
                Some(place) => Ended::Found(place.clone()),
                None => Ended::Nothing(nothing(&wanted, &result)),
            },
            (None, Some(error)) => Ended::Failed(error),
            (None, None) => return None,
        };
        self.wanted = None;
        Some(ended)
    }
}

/// That there is none, in words.
fn nothing(wanted: &NonFiniteSearch, result: &SearchResult) -> String {
    let kind = wanted.kind.word();
    let words = match wanted.from {
        SearchFrom::Nothing => format!("No other slice has a {kind}."),
        SearchFrom::All | SearchFrom::Place(..) => format!("There is no {kind}."),
    };
    result.unread.as_ref().map_or(words.clone(), |unread| format!("{words} {unread}"))
}
