//! `Jobs`: worker threads for everything that blocks, and [`Slot`]: what a view asks for values.
//!
//! The thread that draws never waits: it asks a slot with a key and draws what the slot has. The
//! latest request wins — the newest runs, older ones are cancelled — and the old value stays until
//! the new one is there. Each stored result wakes the window once, after the lock is gone.

mod slot;

pub use slot::{JobSpec, Partial, Shown, Slot};

use crate::bytes::cache;
use crate::bytes::guard::guarded;
use crate::bytes::task::Task;
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How urgent a job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// A view waits for it.
    View,
    /// Long work that the user started or that fills in details: scans, queries, exports, indexes. None waits for
    /// another to end; the system shares among them what views leave of the processors.
    Background,
}

type Work = Box<dyn FnOnce(&Task) + Send>;

struct Job {
    id: u64,
    title: String,
    priority: Priority,
    task: Task,
    work: Work,
}

/// A job as the status bar shows it.
#[derive(Clone)]
pub struct JobInfo {
    /// Its number, unique in this process.
    pub id: u64,
    /// What it does.
    pub title: String,
    /// How urgent.
    pub priority: Priority,
    /// Its progress and cancellation.
    pub task: Task,
    /// When it was asked for.
    pub since: Instant,
    /// Whether a worker has it.
    pub running: bool,
}

/// The workers. Cheap to clone; the threads end when the last clone is dropped.
#[derive(Clone)]
pub struct Jobs(Arc<Owner>);

struct Owner(Arc<Shared>);

struct Shared {
    queue: Mutex<Queue>,
    for_views: Condvar,
    for_background: Condvar,
    /// How often everything was cancelled.
    cancellations: AtomicU64,
    /// How often freed memory was given back to the system.
    trims: AtomicU64,
    wake: Box<dyn Fn() + Send + Sync>,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Job>,
    all: Vec<JobInfo>,
    next_id: u64,
    closed: bool,
    /// Workers for what is in the background, and how many of them have nothing to do.
    background: usize,
    idle: usize,
    /// Whether a job has run since freed memory was last given back to the system.
    worked: bool,
}

/// Freed memory is given back when there has been no job for so long: allocators keep what many threads freed.
const SETTLED: Duration = Duration::from_secs(2);

/// Workers that do what views wait for.
const VIEW: usize = 5;
/// The most that do the rest; they are started when there is work for them.
const BACKGROUND: usize = 64;

impl Jobs {
    /// Starts the workers. `wake` is called after each stored result (the window repaints).
    pub fn new(wake: impl Fn() + Send + Sync + 'static) -> Self {
        let shared = Arc::new(Shared {
            queue: Mutex::default(),
            for_views: Condvar::new(),
            for_background: Condvar::new(),
            cancellations: AtomicU64::new(0),
            trims: AtomicU64::new(0),
            wake: Box::new(wake),
        });
        for n in 0..VIEW {
            // A machine that cannot start a thread has fewer workers; with none, jobs wait.
            shared.start(Priority::View, n);
        }
        Jobs(Arc::new(Owner(shared)))
    }

    /// Queues work and gives its task, to cancel it or to show its progress.
    pub fn run(
        &self,
        title: impl Into<String>,
        priority: Priority,
        work: impl FnOnce(&Task) + Send + 'static,
    ) -> Task {
        let task = Task::new();
        let mut queue = self.0.0.queue.lock();
        queue.next_id += 1;
        let job = Job {
            id: queue.next_id,
            title: title.into(),
            priority,
            task: task.clone(),
            work: Box::new(work),
        };
        queue.all.push(JobInfo {
            id: job.id,
            title: job.title.clone(),
            priority,
            task: task.clone(),
            since: Instant::now(),
            running: false,
        });
        queue.waiting.push_back(job);
        let waiting = queue.waiting.iter().filter(|job| job.priority == Priority::Background).count();
        let one_more =
            priority == Priority::Background && waiting > queue.idle && queue.background < BACKGROUND;
        if one_more {
            queue.background += 1;
        }
        let workers = VIEW + queue.background;
        drop(queue);
        if one_more && !self.0.0.start(priority, workers) {
            self.0.0.queue.lock().background -= 1;
        }
        self.0.0.arrived(priority).notify_one();
        task
    }

    /// What runs and waits, oldest first.
    pub fn list(&self) -> Vec<JobInfo> {
        self.0.0.queue.lock().all.clone()
    }

    /// Cancels everything that runs and waits, also what waits in a [`Slot`] for its turn.
    pub fn cancel_all(&self) {
        self.0.0.cancellations.fetch_add(1, Ordering::Relaxed);
        self.0.0.queue.lock().all.iter().for_each(|job| job.task.cancel());
    }

    /// How often everything was cancelled.
    fn cancellations(&self) -> u64 {
        self.0.0.cancellations.load(Ordering::Relaxed)
    }

    /// Says that much was freed that no job had: it is given back to the system as what jobs free, when there has been
    /// none for a while.
    pub fn freed(&self) {
        self.0.0.queue.lock().worked = true;
        self.0.0.for_views.notify_one();
    }

    /// Wakes the window.
    pub fn wake(&self) {
        (self.0.0.wake)();
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        let mut queue = self.0.queue.lock();
        queue.closed = true;
        queue.waiting.clear();
        queue.all.iter().for_each(|job| job.task.cancel());
        drop(queue);
        self.0.for_views.notify_all();
        self.0.for_background.notify_all();
    }
}

/// Gives the thread and those that it starts what the processor has left, as far as the system does that for
/// threads (on Linux "this process" is the calling thread, setpriority(2)): a scan on all cores must not hold
/// up the frames and reads that somebody looks at.
fn yield_to_views() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(None, NICE);
}

/// How much less a background thread gets than one that serves a view, in steps of `nice`.
#[cfg(target_os = "linux")]
const NICE: i32 = 10;

impl Shared {
    /// Starts a worker; whether the system gave a thread.
    fn start(self: &Arc<Self>, kind: Priority, number: usize) -> bool {
        let shared = self.clone();
        let work = move || {
            if kind != Priority::View {
                yield_to_views();
            }
            shared.work(kind);
        };
        std::thread::Builder::new().name(format!("worker {number}")).spawn(work).is_ok()
    }

    fn work(&self, kind: Priority) {
        while let Some(job) = self.take(kind) {
            let id = job.id;
            let task = job.task.clone();
            let _ = guarded(|| {
                (job.work)(&task);
                Ok(())
            });
            self.queue.lock().all.retain(|info| info.id != id);
            (self.wake)();
        }
    }

    fn take(&self, kind: Priority) -> Option<Job> {
        let mut queue = self.queue.lock();
        loop {
            if queue.closed {
                return None;
            }
            let index = queue.waiting.iter().position(|job| job.priority == kind);
            if let Some(job) = index.and_then(|i| queue.waiting.remove(i)) {
                if let Some(info) = queue.all.iter_mut().find(|info| info.id == job.id) {
                    info.running = true;
                }
                queue.worked = true;
                return Some(job);
            }
            let counts = usize::from(kind == Priority::Background);
            queue.idle += counts;
            // Whoever ends the last job comes here behind it.
            let settled = if queue.worked && queue.all.is_empty() {
                self.arrived(kind).wait_for(&mut queue, SETTLED).timed_out()
            } else {
                self.arrived(kind).wait(&mut queue);
                false
            };
            queue.idle -= counts;
            if settled && queue.worked && queue.all.is_empty() {
                queue.worked = false;
                MutexGuard::unlocked(&mut queue, cache::trim);
                self.trims.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    fn arrived(&self, kind: Priority) -> &Condvar {
        match kind {
            Priority::View => &self.for_views,
            Priority::Background => &self.for_background,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(super) fn wait_for<T>(mut look: impl FnMut() -> Option<T>) -> T {
        for _ in 0..2_000 {
            if let Some(value) = look() {
                return value;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("nothing came in ten seconds");
    }

    #[test]
    fn memory_is_given_back_once_when_no_job_is_left() {
        let jobs = Jobs::new(|| {});
        let trims = || jobs.0.0.trims.load(Ordering::Relaxed);
        let long = jobs.run("", Priority::Background, |task| {
            while !task.is_cancelled() {
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        jobs.run("", Priority::View, |_| ());
        std::thread::sleep(SETTLED + SETTLED / 4);
        assert_eq!(trims(), 0);
        long.cancel();
        wait_for(|| (trims() == 1).then_some(()));
        std::thread::sleep(SETTLED + SETTLED / 4);
        assert_eq!(trims(), 1);
        jobs.freed();
        wait_for(|| (trims() == 2).then_some(()));
    }

    #[test]
    fn no_scan_waits_for_another_to_end() {
        let jobs = Jobs::new(|| {});
        let (many, together) = (20u64, Arc::new(AtomicU64::new(0)));
        for _ in 0..many {
            let together = together.clone();
            jobs.run("scan", Priority::Background, move |task| {
                together.fetch_add(1, Ordering::Relaxed);
                while !task.is_cancelled() {
                    std::thread::sleep(Duration::from_millis(1));
                }
                together.fetch_sub(1, Ordering::Relaxed);
            });
        }
        wait_for(|| (together.load(Ordering::Relaxed) == many).then_some(()));
        jobs.cancel_all();
        wait_for(|| (together.load(Ordering::Relaxed) == 0).then_some(()));
        // Workers that have nothing to do take the next ones.
        jobs.run("one more", Priority::Background, |_| ());
        wait_for(|| jobs.list().is_empty().then_some(()));
        assert!(jobs.0.0.queue.lock().background <= many as usize);
    }
}
