//! `GANDER_TIMINGS=1`: when the first frame and the first frame with content were drawn, on stderr, in
//! seconds since 1970. `benches/window.py` reads them.

use std::time::{SystemTime, UNIX_EPOCH};

use gander::jobs::{Jobs, Priority};

/// What has been said so far.
pub(super) struct Timings {
    frame: bool,
    content: bool,
}

impl Timings {
    /// If they were asked for.
    pub(super) fn wanted() -> Option<Self> {
        std::env::var_os("GANDER_TIMINGS").map(|_| Timings { frame: false, content: false })
    }

    /// At the end of each frame; `open` says whether a tab shows a node. It shows its values once no view
    /// waits for a job.
    pub(super) fn step(&mut self, jobs: &Jobs, open: bool) {
        if !std::mem::replace(&mut self.frame, true) {
            say("first frame");
        }
        if open && !self.content && jobs.list().iter().all(|job| job.priority != Priority::View) {
            self.content = true;
            say("first content");
        }
    }
}

fn say(what: &str) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    eprintln!("{what} {:.4}", now.as_secs_f64());
}
