//! The threads of one query: a runtime of its own, so that a step that is slow to look up holds up no other query,
//! and the system shares the processors fairly between the queries that run.

use super::STACK;
use super::spill::SpillFolder;
use crate::bytes::cache;
use crate::bytes::error::{Error, Result};
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Handle, Runtime};

/// How long the end of a query's threads is waited for, away from everybody.
const LAST: Duration = Duration::from_secs(600);

/// How many queries have ended whose threads have not.
static ENDING: Mutex<usize> = Mutex::new(0);
static ENDED: Condvar = Condvar::new();

/// Waits, at most so long, until nothing works any more for queries that have ended; whether that is so.
pub fn settled(most: Duration) -> bool {
    let until = Instant::now() + most;
    let mut ending = ENDING.lock();
    while *ending > 0 {
        if ENDED.wait_until(&mut ending, until).timed_out() {
            return *ending == 0;
        }
    }
    true
}

/// The threads of a query. Dropping them ends what runs on them: each at its next step.
pub(super) struct Threads {
    runtime: Option<(Runtime, SpillFolder)>,
    handle: Handle,
}

impl Threads {
    /// Starts `count` threads, with a folder that goes when they have ended.
    ///
    /// # Errors
    /// `Io` where the system gives none.
    pub(super) fn start(count: usize, spill: SpillFolder) -> Result<Threads> {
        let made = Builder::new_multi_thread()
            .worker_threads(count.max(1))
            .thread_name("query")
            // Expressions are evaluated by recursion; the memory is taken only where it is used.
            .thread_stack_size(STACK)
            .enable_time()
            .build();
        let runtime =
            made.map_err(|error| Error::io(format!("the threads for a query do not start: {error}")))?;
        let handle = runtime.handle().clone();
        Ok(Threads { runtime: Some((runtime, spill)), handle })
    }

    /// What starts work on them.
    pub(super) fn handle(&self) -> &Handle {
        &self.handle
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        let Some(runtime) = self.runtime.take() else { return };
        // The last step may be one of the threads' own, which cannot wait for itself.
        let place = Arc::new(Mutex::new(Some(runtime)));
        let taken = place.clone();
        let wait = move || {
            let runtime = taken.lock().take();
            if let Some((runtime, spill)) = runtime {
                runtime.shutdown_timeout(LAST);
                drop(spill);
                cache::trim();
            }
            *ENDING.lock() -= 1;
            ENDED.notify_all();
        };
        *ENDING.lock() += 1;
        if std::thread::Builder::new().name("query end".to_owned()).spawn(wait).is_err()
            && let Some((runtime, _)) = place.lock().take()
        {
            runtime.shutdown_background();
            *ENDING.lock() -= 1;
        }
    }
}
