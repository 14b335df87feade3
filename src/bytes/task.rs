//! `Task`: the permission to block. Whoever holds one may read files, may be asked to stop, and
//! reports how far it is. Only workers of [`crate::jobs`] and the command line make them, so code
//! that draws cannot call anything that reads.

use crate::bytes::error::{Error, Result};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Permission to block, with cancellation and progress. Cheap to clone; clones share both.
#[derive(Clone)]
pub struct Task(Arc<State>);

struct State {
    cancelled: AtomicBool,
    done: AtomicU64,
    total: AtomicU64,
    message: Mutex<String>,
}

impl Task {
    /// A new task. Called by `Jobs` for its workers and by programs without a window (the command
    /// line, tests, benchmarks); never by code that draws — a test in `tests/` holds this.
    pub fn new() -> Self {
        Task(Arc::new(State {
            cancelled: AtomicBool::new(false),
            done: AtomicU64::new(0),
            total: AtomicU64::new(0),
            message: Mutex::new(String::new()),
        }))
    }

    /// `Err(Cancelled)` once somebody asked to stop. Call it at each chunk, row group or megabyte.
    pub fn check(&self) -> Result<()> {
        if self.is_cancelled() { Err(Error::cancelled()) } else { Ok(()) }
    }

    /// Whether somebody asked to stop.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::Relaxed)
    }

    /// Asks the work to stop. It answers at its next `check`.
    pub fn cancel(&self) {
        self.0.cancelled.store(true, Ordering::Relaxed);
    }

    /// Sets how much there is to do, in any unit (bytes, rows), and starts again at zero.
    pub fn set_total(&self, total: u64) {
        self.0.done.store(0, Ordering::Relaxed);
        self.0.total.store(total, Ordering::Relaxed);
    }

    /// Adds to what is done and checks for cancellation.
    pub fn advance(&self, more: u64) -> Result<()> {
        self.0.done.fetch_add(more, Ordering::Relaxed);
        self.check()
    }

    /// Sets what is done, for work that knows its position.
    pub fn reached(&self, done: u64) {
        self.0.done.store(done, Ordering::Relaxed);
    }

    /// (done, total); a total of zero means that nobody knows.
    pub fn progress(&self) -> (u64, u64) {
        (self.0.done.load(Ordering::Relaxed), self.0.total.load(Ordering::Relaxed))
    }

    /// The share that is done, 0 to 1, where the total is known.
    pub fn fraction(&self) -> Option<f32> {
        let (done, total) = self.progress();
        (total > 0).then(|| (done as f64 / total as f64).min(1.0) as f32)
    }

    /// Says in words what is being done now (`row group 3 of 20`).
    pub fn set_message(&self, message: impl Into<String>) {
        *self.0.message.lock() = message.into();
    }

    /// What was last said.
    pub fn message(&self) -> String {
        self.0.message.lock().clone()
    }
}

impl Default for Task {
    fn default() -> Self {
        Self::new()
    }
}
