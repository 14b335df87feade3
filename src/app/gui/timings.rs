//! `GANDER_TIMINGS=1`: when the first frame and the first frame with content were drawn, on stderr, in
//! seconds since 1970. `benches/window.py` reads them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use gander::jobs::{Jobs, Priority};

/// What has been said so far.
pub(crate) struct Timings {
    frame: bool,
    content: bool,
}

/// Whether a view drew values.
static DRAWN: AtomicBool = AtomicBool::new(false);

/// Said by views that draw values in parts, and go on with what is not needed to read them.
pub(crate) fn drawn() {
    DRAWN.store(true, Ordering::Relaxed);
}

impl Timings {
    /// If they were asked for.
    pub(crate) fn wanted() -> Option<Self> {
        std::env::var_os("GANDER_TIMINGS").map(|_| Timings { frame: false, content: false })
    }

    /// At the end of each frame; `open` says whether a tab shows a node. It shows its values when its view
    /// says so, and once no view waits for a job.
    pub(crate) fn step(&mut self, jobs: &Jobs, open: bool) {
        if !std::mem::replace(&mut self.frame, true) {
            say("first frame");
        }
        let idle = || jobs.list().iter().all(|job| job.priority != Priority::View);
        if open && !self.content && (DRAWN.load(Ordering::Relaxed) || idle()) {
            self.content = true;
            say("first content");
        }
    }
}

fn say(what: &str) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    eprintln!("{what} {:.4}", now.as_secs_f64());
}
