//! `Jobs`: worker threads for everything that blocks, and `Slot`: what a view asks for values.
//!
//! The thread that draws never waits: it asks a slot with a key and draws what the slot has. The
//! latest request wins — the newest runs, older ones are cancelled — and the old value stays until
//! the new one is there. Each stored result wakes the window once, after the lock is gone.

use crate::bytes::error::{Error, Result};
use crate::bytes::guard::guarded;
use crate::bytes::task::Task;
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

/// How urgent a job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// A view waits for it.
    View,
    /// Long work that the user started or that fills in details: scans, exports, indexes.
    Background,
    /// A query, which has threads of its own: the job starts it and waits. None waits for another to end; the system
    /// shares the processors between them.
    Query,
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
    for_queries: Condvar,
    wake: Box<dyn Fn() + Send + Sync>,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Job>,
    all: Vec<JobInfo>,
    next_id: u64,
    closed: bool,
    /// Workers for queries, and how many of them have none.
    queries: usize,
    idle: usize,
}

/// The most queries that run at once.
const QUERIES: usize = 64;
/// Workers that do what views wait for, and those that do the rest.
const VIEW: usize = 5;
const BACKGROUND: usize = 3;

impl Jobs {
    /// Starts the workers. `wake` is called after each stored result (the window repaints).
    pub fn new(wake: impl Fn() + Send + Sync + 'static) -> Self {
        let shared = Arc::new(Shared {
            queue: Mutex::default(),
            for_views: Condvar::new(),
            for_background: Condvar::new(),
            for_queries: Condvar::new(),
            wake: Box::new(wake),
        });
        let views = std::iter::repeat_n(Priority::View, VIEW);
        for (n, kind) in views.chain([Priority::Background; BACKGROUND]).enumerate() {
            // A machine that cannot start a thread has fewer workers; with none, jobs wait.
            shared.start(kind, n);
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
        let waiting = queue.waiting.iter().filter(|job| job.priority == Priority::Query).count();
        let one_more = priority == Priority::Query && waiting > queue.idle && queue.queries < QUERIES;
        if one_more {
            queue.queries += 1;
        }
        let workers = VIEW + BACKGROUND + queue.queries;
        drop(queue);
        if one_more && !self.0.0.start(priority, workers) {
            self.0.0.queue.lock().queries -= 1;
        }
        self.0.0.arrived(priority).notify_one();
        task
    }

    /// What runs and waits, oldest first.
    pub fn list(&self) -> Vec<JobInfo> {
        self.0.0.queue.lock().all.clone()
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
        self.0.for_queries.notify_all();
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
                return Some(job);
            }
            let counts = usize::from(kind == Priority::Query);
            queue.idle += counts;
            self.arrived(kind).wait(&mut queue);
            queue.idle -= counts;
        }
    }

    fn arrived(&self, kind: Priority) -> &Condvar {
        match kind {
            Priority::View => &self.for_views,
            Priority::Background => &self.for_background,
            Priority::Query => &self.for_queries,
        }
    }
}

/// One value that a view shows: asked for by key, made by a job, kept until a newer one is there.
pub struct Slot<K, T>(Arc<Mutex<State<K, T>>>);

struct State<K, T> {
    /// The newest finished value, and the key that it was made for.
    value: Option<(K, Result<Arc<T>>)>,
    /// The newest request that runs.
    running: Option<(K, Task, Instant)>,
    /// Jobs of this slot that have not ended; stale ones were told to.
    in_flight: usize,
    /// What runs when one of them ends; newer requests replace it.
    next: Option<Request<K, T>>,
}

struct Request<K, T> {
    key: K,
    title: String,
    make: Make<T>,
    since: Instant,
}

type Make<T> = Box<dyn FnOnce(&Task) -> Result<T> + Send>;

/// How many jobs of one slot may run: a reader that does not look up from a slow read holds up neither
/// the request after it nor, however often the user scrolls, more than one other worker.
const IN_FLIGHT: usize = 2;

/// What a slot has for the view that asked.
pub struct Shown<T> {
    /// The newest good value, perhaps of an older key.
    pub value: Option<Arc<T>>,
    /// Whether `value` is for the key that was asked.
    pub fresh: bool,
    /// Why there is no value for this key.
    pub error: Option<Error>,
    /// Since when the value for this key is being made.
    pub pending: Option<Instant>,
}

impl<K, T> Clone for Slot<K, T> {
    fn clone(&self) -> Self {
        Slot(self.0.clone())
    }
}

impl<K, T> Default for Slot<K, T> {
    fn default() -> Self {
        Slot(Arc::new(Mutex::new(State { value: None, running: None, in_flight: 0, next: None })))
    }
}

impl<K: Clone + PartialEq + Send + 'static, T: Send + Sync + 'static> Slot<K, T> {
    /// The value for `key`, or what there is until it comes. Never waits. `title` is what the status
    /// bar says; `make` runs on a worker.
    pub fn get(
        &self,
        jobs: &Jobs,
        key: &K,
        title: &str,
        make: impl FnOnce(&Task) -> Result<T> + Send + 'static,
    ) -> Shown<T> {
        let mut state = self.0.lock();
        let has = state.value.as_ref().is_some_and(|(k, _)| k == key);
        let wanted = match &state.next {
            Some(next) => next.key == *key,
            None => state.running.as_ref().is_some_and(|(k, _, _)| k == key),
        };
        if has || wanted {
            return state.shown(key);
        }
        if let Some((_, task, _)) = &state.running {
            task.cancel();
        }
        let request = Request {
            key: key.clone(),
            title: title.to_owned(),
            make: Box::new(make),
            since: Instant::now(),
        };
        if state.in_flight < IN_FLIGHT {
            self.start(&mut state, jobs, request);
        } else {
            state.next = Some(request);
        }
        state.shown(key)
    }

    fn start(&self, state: &mut State<K, T>, jobs: &Jobs, request: Request<K, T>) {
        let (slot, again) = (self.clone(), jobs.clone());
        let Request { key, title, make, since } = request;
        let wanted = key.clone();
        state.in_flight += 1;
        let task = jobs.run(title, Priority::View, move |task| {
            let result = task.check().and_then(|()| guarded(|| make(task)));
            slot.finish(&again, wanted, task, result.map(Arc::new));
        });
        state.running = Some((key, task, since));
    }

    /// Keeps a result if it is still wanted, and starts what waits.
    fn finish(&self, jobs: &Jobs, key: K, task: &Task, result: Result<Arc<T>>) {
        let mut state = self.0.lock();
        state.in_flight -= 1;
        let newest = state.next.is_none() && state.running.as_ref().is_some_and(|(k, _, _)| *k == key);
        if newest {
            state.running = None;
            if !(task.is_cancelled() && result.is_err()) {
                state.value = Some((key, result));
            }
        }
        if let Some(next) = state.next.take() {
            self.start(&mut state, jobs, next);
        }
    }

    /// What there is for `key`, without asking for it.
    pub fn peek(&self, key: &K) -> Shown<T> {
        self.0.lock().shown(key)
    }

    /// Stops what runs. The key that was being made is shown as cancelled until it is asked for anew
    /// after a `clear`.
    pub fn cancel(&self) {
        let mut state = self.0.lock();
        state.next = None;
        if let Some((key, task, _)) = state.running.take() {
            task.cancel();
            state.value = Some((key, Err(Error::cancelled())));
        }
    }

    /// Forgets everything, so that the next `get` starts anew.
    pub fn clear(&self) {
        self.cancel();
        self.0.lock().value = None;
    }
}

impl<K: PartialEq, T> State<K, T> {
    fn shown(&self, key: &K) -> Shown<T> {
        let value = self.value.as_ref();
        let fresh = value.is_some_and(|(k, _)| k == key);
        Shown {
            value: value.and_then(|(_, result)| result.as_ref().ok().cloned()),
            fresh: fresh && value.is_some_and(|(_, result)| result.is_ok()),
            error: value.filter(|_| fresh).and_then(|(_, result)| result.as_ref().err().cloned()),
            pending: match &self.next {
                Some(next) => (next.key == *key).then_some(next.since),
                None => self.running.as_ref().filter(|(k, _, _)| k == key).map(|(_, _, since)| *since),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::Duration;

    fn wait_for<T>(mut look: impl FnMut() -> Option<T>) -> T {
        for _ in 0..2_000 {
            if let Some(value) = look() {
                return value;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("nothing came in ten seconds");
    }

    #[test]
    fn the_latest_request_wins_and_the_old_value_stays() {
        let jobs = Jobs::new(|| {});
        let slot: Slot<u32, u32> = Slot::default();
        let made = |n: u32| move |_: &Task| Ok(n * 10);
        wait_for(|| slot.get(&jobs, &1, "one", made(1)).value);
        let release = Arc::new(AtomicU64::new(0));
        let gate = release.clone();
        let shown = slot.get(&jobs, &2, "two", move |task| {
            while gate.load(Ordering::Relaxed) == 0 {
                task.check()?;
                std::thread::sleep(Duration::from_millis(1));
            }
            Ok(20)
        });
        assert_eq!((shown.value.as_deref(), shown.fresh, shown.pending.is_some()), (Some(&10), false, true));
        let three = wait_for(|| Some(slot.get(&jobs, &3, "three", made(3))).filter(|s| s.fresh));
        assert_eq!(three.value.as_deref(), Some(&30));
        release.store(1, Ordering::Relaxed);
        std::thread::sleep(Duration::from_millis(30));
        assert_eq!(slot.peek(&3).value.as_deref(), Some(&30), "the stale result is dropped");
    }

    #[test]
    fn no_query_waits_for_another_to_end() {
        let jobs = Jobs::new(|| {});
        let (many, together) = (20u64, Arc::new(AtomicU64::new(0)));
        for _ in 0..many {
            let together = together.clone();
            jobs.run("query", Priority::Query, move |task| {
                together.fetch_add(1, Ordering::Relaxed);
                while !task.is_cancelled() {
                    std::thread::sleep(Duration::from_millis(1));
                }
                together.fetch_sub(1, Ordering::Relaxed);
            });
        }
        wait_for(|| (together.load(Ordering::Relaxed) == many).then_some(()));
        jobs.list().iter().for_each(|job| job.task.cancel());
        wait_for(|| (together.load(Ordering::Relaxed) == 0).then_some(()));
        // Workers that have nothing to do take the next ones.
        jobs.run("one more", Priority::Query, |_| ());
        wait_for(|| jobs.list().is_empty().then_some(()));
        assert!(jobs.0.0.queue.lock().queries <= many as usize);
    }

    #[test]
    fn a_panic_is_an_error_and_the_worker_lives() {
        let jobs = Jobs::new(|| {});
        for round in 0..20 {
            let slot: Slot<u32, u32> = Slot::default();
            let error = wait_for(|| slot.get(&jobs, &round, "p", |_| panic!("boom")).error);
            assert!(error.to_string().contains("boom"));
        }
    }
}
