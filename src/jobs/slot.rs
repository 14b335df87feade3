//! `Slot`: one value that a view shows, asked for by key and made by a job.
//!
//! # When the user cancels a job
//! A job is cancelled through its task (*Cancel all jobs*, the status bar) or by [`Slot::cancel`]. What comes of it depends
//! on how the value was asked for ([`JobSpec`]): a [view](JobSpec::view) that looks again asks anew, since what is in sight is
//! cheap and must not stay empty. What is asked for [once](JobSpec::once) and [scans](JobSpec::scan) stay cancelled, as an error
//! that the view shows, until somebody says [`Slot::clear`]: long work never restarts by itself. `Slot::cancel` is the
//! view's own doing and always stays.

use super::{Jobs, Priority};
use crate::bytes::error::{Error, Result};
use crate::bytes::guard::guarded;
use crate::bytes::task::Task;
use parking_lot::Mutex;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

/// One value that a view shows: asked for by key, made by a job, kept until a newer one is there. The latest request
/// wins: older ones are cancelled, and so is the last one when the slot is dropped.
pub struct Slot<K, T>(Arc<Mutex<State<K, T>>>);

struct State<K, T> {
    /// The newest finished value, and the key that it was made for.
    value: Option<(K, Result<Arc<T>>)>,
    /// What its job gave of the newest request so far.
    partial: Option<Arc<T>>,
    /// The newest request that runs.
    running: Option<Running<K>>,
    /// Jobs of this slot that have not ended; stale ones were told to.
    in_flight: usize,
    /// What runs when one of them ends; newer requests replace it.
    next: Option<Request<K, T>>,
    /// Numbers of requests.
    last: u64,
}

struct Running<K> {
    key: K,
    number: u64,
    task: Task,
    since: Instant,
}

struct Request<K, T> {
    key: K,
    spec: JobSpec,
    make: Make<T>,
    since: Instant,
    /// How often the user had cancelled everything when it was made.
    cancellations: u64,
}

type Make<T> = Box<dyn FnOnce(&Task, &Partial<'_, T>) -> Result<Arc<T>> + Send>;

/// How a value is asked for: what the status bar says of its job, and how urgent it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobSpec {
    title: Cow<'static, str>,
    priority: Priority,
    /// Whether a request that the user cancelled is forgotten, so that the next look asks anew.
    again: bool,
}

impl JobSpec {
    /// Values that are waited for: a page, a listing. Their jobs look at what is in sight, never at all there is; one that
    /// the user cancels is asked for again by the next look.
    pub fn view(title: impl Into<Cow<'static, str>>) -> Self {
        JobSpec { title: title.into(), priority: Priority::View, again: true }
    }

    /// Values that are waited for too, and may take long or answer what somebody did once: an open file, a copy. One
    /// that the user cancels stays cancelled.
    pub fn once(title: impl Into<Cow<'static, str>>) -> Self {
        JobSpec { title: title.into(), priority: Priority::View, again: false }
    }

    /// Passes over all there is. One that the user cancels stays cancelled.
    pub fn scan(title: impl Into<Cow<'static, str>>) -> Self {
        JobSpec { title: title.into(), priority: Priority::Background, again: false }
    }
}

/// Takes what a job has of its value before all of it is there.
pub struct Partial<'a, T>(&'a (dyn Fn(T) + Sync));

impl<T> Partial<'_, T> {
    /// Shows a value until a better one comes, and wakes the window. Nobody sees it where the request is not the newest
    /// one any more.
    pub fn show(&self, value: T) {
        (self.0)(value);
    }
}

/// How many jobs of one slot may run: a reader that does not look up from a slow read holds up neither
/// the request after it nor, however often the user scrolls, more than one other worker.
const IN_FLIGHT: usize = 2;

/// What a slot has for the view that asked.
pub struct Shown<T> {
    /// The newest good value, perhaps of an older key.
    pub value: Option<Arc<T>>,
    /// Whether `value` is for the key that was asked.
    pub fresh: bool,
    /// What there is so far of the value for this key.
    pub partial: Option<Arc<T>>,
    /// Why there is no value for this key.
    pub error: Option<Error>,
    /// Since when the value for this key is being made.
    pub pending: Option<Instant>,
    /// The job that makes it.
    pub task: Option<Task>,
}

impl<T> Shown<T> {
    /// The value for the key that was asked.
    pub fn ready(&self) -> Option<Arc<T>> {
        self.value.clone().filter(|_| self.fresh)
    }

    /// The value for the key that was asked, or what there is of it.
    pub fn so_far(&self) -> Option<Arc<T>> {
        self.ready().or_else(|| self.partial.clone())
    }

    /// The value for the key that was asked, or why there is none; `None` while it is being made.
    pub fn answer(&self) -> Option<Result<Arc<T>>> {
        self.ready().map(Ok).or_else(|| self.error.clone().map(Err))
    }

    /// Whether a job makes the value for this key.
    pub fn runs(&self) -> bool {
        self.pending.is_some()
    }

    /// How far that job is, from 0 to 1, where it knows.
    pub fn progress(&self) -> Option<f32> {
        self.task.as_ref().and_then(Task::fraction)
    }
}

impl<K, T> Default for Slot<K, T> {
    fn default() -> Self {
        Slot(Arc::new(Mutex::new(State {
            value: None,
            partial: None,
            running: None,
            in_flight: 0,
            next: None,
            last: 0,
        })))
    }
}

impl<K, T> Drop for Slot<K, T> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.next = None;
        if let Some(running) = state.running.take() {
            running.task.cancel();
        }
    }
}

impl<K: Clone + PartialEq + Send + 'static, T: Send + Sync + 'static> Slot<K, T> {
    /// The value for `key`, or what there is until it comes. Never waits; `make` runs on a worker.
    pub fn get(
        &self,
        jobs: &Jobs,
        key: &K,
        spec: JobSpec,
        make: impl FnOnce(&Task) -> Result<T> + Send + 'static,
    ) -> Shown<T> {
        self.ask(jobs, key, || spec, |task, _| make(task))
    }

    /// The same for a job that shows what it has on the way. `spec` is asked for when the job begins.
    pub fn ask(
        &self,
        jobs: &Jobs,
        key: &K,
        spec: impl FnOnce() -> JobSpec,
        make: impl FnOnce(&Task, &Partial<'_, T>) -> Result<T> + Send + 'static,
    ) -> Shown<T> {
        self.ask_shared(jobs, key, spec, |task, partial| make(task, partial).map(Arc::new))
    }

    /// The same for a value that others keep too.
    pub fn ask_shared(
        &self,
        jobs: &Jobs,
        key: &K,
        spec: impl FnOnce() -> JobSpec,
        make: impl FnOnce(&Task, &Partial<'_, T>) -> Result<Arc<T>> + Send + 'static,
    ) -> Shown<T> {
        let mut state = self.0.lock();
        if state.knows(key) {
            return state.shown(key);
        }
        if let Some(running) = &state.running {
            running.task.cancel();
        }
        state.partial = None;
        let request = Request {
            key: key.clone(),
            spec: spec(),
            make: Box::new(make),
            since: Instant::now(),
            cancellations: jobs.cancellations(),
        };
        if state.in_flight < IN_FLIGHT {
            start(&self.0, &mut state, jobs, request);
        } else {
            state.next = Some(request);
        }
        state.shown(key)
    }

    /// What there is for `key`, without asking for it.
    pub fn peek(&self, key: &K) -> Shown<T> {
        self.0.lock().shown(key)
    }

    /// Whether a job runs or waits, for whatever key.
    pub fn is_busy(&self) -> bool {
        let state = self.0.lock();
        state.running.is_some() || state.next.is_some()
    }

    /// Stops what runs. The key that was being made is shown as cancelled until it is asked for anew
    /// after a `clear`; what there was of it stays.
    pub fn cancel(&self) {
        let mut state = self.0.lock();
        let replaced = state.cancel();
        // What is replaced is large perhaps; it goes when the lock is gone.
        drop(state);
        drop(replaced);
    }

    /// Forgets everything, so that the next request starts anew.
    pub fn clear(&self) {
        let mut state = self.0.lock();
        let replaced = (state.cancel(), state.value.take(), state.partial.take());
        drop(state);
        drop(replaced);
    }
}

/// Starts a job for the newest request.
fn start<K, T>(slot: &Arc<Mutex<State<K, T>>>, state: &mut State<K, T>, jobs: &Jobs, request: Request<K, T>)
where
    K: Clone + PartialEq + Send + 'static,
    T: Send + Sync + 'static,
{
    let (slot, again) = (slot.clone(), jobs.clone());
    let Request { key, spec: JobSpec { title, priority, again: forgets }, make, since, cancellations: _ } =
        request;
    state.in_flight += 1;
    state.last += 1;
    let (number, wanted) = (state.last, key.clone());
    let task = jobs.run(title, priority, move |task| {
        let show = |value: T| {
            let mut state = slot.lock();
            if state.running.as_ref().is_some_and(|running| running.number == number) {
                state.partial = Some(Arc::new(value));
                drop(state);
                again.wake();
            }
        };
        let result = task.check().and_then(|()| guarded(|| make(task, &Partial(&show))));
        // Nobody but the user stops the newest request. An error of a task that nobody cancelled is kept even if it says
        // so (another reader's, say): asked for anew it could come again and again.
        let answer = match result {
            Err(_) if task.is_cancelled() && forgets => None,
            Err(_) if task.is_cancelled() => Some(Err(Error::cancelled())),
            result => Some(result),
        };
        finish(&slot, &again, wanted, number, answer);
    });
    state.running = Some(Running { key, number, task, since });
}

/// Keeps an answer if it is still wanted, and starts what waits. Without an answer the request is forgotten.
fn finish<K, T>(
    slot: &Arc<Mutex<State<K, T>>>,
    jobs: &Jobs,
    key: K,
    number: u64,
    answer: Option<Result<Arc<T>>>,
) where
    K: Clone + PartialEq + Send + 'static,
    T: Send + Sync + 'static,
{
    // What is replaced is large perhaps; it goes when the lock is gone, for frames ask for it.
    let mut replaced = (None, None);
    let mut state = slot.lock();
    state.in_flight -= 1;
    if state.next.is_none() && state.running.as_ref().is_some_and(|running| running.number == number) {
        state.running = None;
        // What there is so far of a value that failed, or that was stopped, stays.
        if !matches!(answer, Some(Err(_))) {
            replaced.0 = state.partial.take();
        }
        if let Some(result) = answer {
            replaced.1 = state.value.replace((key, result));
        }
    }
    match state.next.take() {
        // The user cancelled everything while it waited.
        Some(next) if next.cancellations != jobs.cancellations() => {
            state.running = None;
            if !next.spec.again {
                replaced.1 = state.value.replace((next.key, Err(Error::cancelled())));
            }
        }
        Some(next) => start(slot, &mut state, jobs, next),
        None => {}
    }
}

impl<K: PartialEq, T> State<K, T> {
    /// Stops the newest request, whether it runs or waits, and keeps that it was cancelled. Gives what that replaces.
    fn cancel(&mut self) -> Option<(K, Result<Arc<T>>)> {
        let waiting = self.next.take().map(|next| next.key);
        let running = self.running.take().map(|running| {
            running.task.cancel();
            running.key
        });
        let key = waiting.or(running)?;
        self.value.replace((key, Err(Error::cancelled())))
    }

    /// Whether there is an answer for `key`, or it comes.
    fn knows(&self, key: &K) -> bool {
        let has = self.value.as_ref().is_some_and(|(known, _)| known == key);
        has || match &self.next {
            Some(next) => next.key == *key,
            None => self.running.as_ref().is_some_and(|running| running.key == *key),
        }
    }

    fn shown(&self, key: &K) -> Shown<T> {
        let value = self.value.as_ref();
        let fresh = value.is_some_and(|(known, _)| known == key);
        let running = self.running.as_ref().filter(|running| self.next.is_none() && running.key == *key);
        // What was cancelled on the way shows what there was.
        let partial = self.partial.clone().filter(|_| fresh || running.is_some());
        Shown {
            value: value.and_then(|(_, result)| result.as_ref().ok().cloned()),
            fresh: fresh && value.is_some_and(|(_, result)| result.is_ok()),
            partial,
            error: value.filter(|_| fresh).and_then(|(_, result)| result.as_ref().err().cloned()),
            pending: match &self.next {
                Some(next) => (next.key == *key).then_some(next.since),
                None => running.map(|running| running.since),
            },
            task: running.map(|running| running.task.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jobs::tests::wait_for;
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    use std::time::Duration;

    #[test]
    fn the_latest_request_wins_and_the_old_value_stays() {
        let jobs = Jobs::new(|| {});
        let slot: Slot<u32, u32> = Slot::default();
        let made = |n: u32| move |_: &Task| Ok(n * 10);
        wait_for(|| slot.get(&jobs, &1, JobSpec::view("one"), made(1)).value);
        let release = Arc::new(AtomicU64::new(0));
        let gate = release.clone();
        let shown = slot.get(&jobs, &2, JobSpec::view("two"), move |task| {
            while gate.load(Ordering::Relaxed) == 0 {
                task.check()?;
                std::thread::sleep(Duration::from_millis(1));
            }
            Ok(20)
        });
        assert_eq!((shown.value.as_deref(), shown.fresh, shown.runs()), (Some(&10), false, true));
        assert!(shown.ready().is_none() && shown.answer().is_none());
        let three = wait_for(|| slot.get(&jobs, &3, JobSpec::view("three"), made(3)).ready());
        assert_eq!(*three, 30);
        release.store(1, Ordering::Relaxed);
        std::thread::sleep(Duration::from_millis(30));
        assert_eq!(slot.peek(&3).value.as_deref(), Some(&30), "the stale result is dropped");
    }

    #[test]
    fn a_panic_is_an_error_and_the_worker_lives() {
        let jobs = Jobs::new(|| {});
        for round in 0..20 {
            let slot: Slot<u32, u32> = Slot::default();
            let error = wait_for(|| slot.get(&jobs, &round, JobSpec::view("p"), |_| panic!("boom")).error);
            assert!(error.to_string().contains("boom"));
        }
    }

    /// A job that counts up until it is cancelled or let go.
    fn counting(
        free: &Arc<AtomicBool>,
    ) -> impl FnOnce(&Task, &Partial<'_, u64>) -> Result<u64> + Send + 'static {
        let free = free.clone();
        move |task, partial| {
            for n in 0.. {
                task.check()?;
                partial.show(n);
                if free.load(Ordering::Relaxed) {
                    break;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            Ok(1_000_000)
        }
    }

    #[test]
    fn what_there_is_so_far_is_shown_until_all_is_there() {
        let jobs = Jobs::new(|| {});
        let slot: Slot<u32, u64> = Slot::default();
        let free = Arc::new(AtomicBool::new(false));
        let ask = |key| slot.ask(&jobs, &key, || JobSpec::scan("counting"), counting(&free));
        let first = wait_for(|| ask(1).partial);
        wait_for(|| ask(1).so_far().filter(|now| **now > *first));
        // Another key does not see it.
        assert!(slot.peek(&2).partial.is_none());
        slot.cancel();
        let stopped = slot.peek(&1);
        assert!(stopped.partial.is_some() && stopped.error.is_some_and(|error| error.is_cancelled()));
        free.store(true, Ordering::Relaxed);
        slot.clear();
        assert_eq!(*wait_for(|| ask(1).ready()), 1_000_000);
        assert!(slot.peek(&1).partial.is_none());
    }

    /// Cancels every job once there is one, as *Cancel all jobs* does; waits until they are gone.
    fn cancel_all(jobs: &Jobs) {
        wait_for(|| (!jobs.list().is_empty()).then_some(()));
        jobs.cancel_all();
        wait_for(|| jobs.list().is_empty().then_some(()));
    }

    #[test]
    fn what_waits_for_its_turn_is_cancelled_with_everything() {
        let jobs = Jobs::new(|| {});
        for spec in [JobSpec::scan as fn(&'static str) -> JobSpec, JobSpec::view] {
            let slot: Slot<u32, u64> = Slot::default();
            let (deaf, runs) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
            // Readers that do not look up: the third request waits for one of them to end.
            let ask = |key: u32| {
                let (deaf, runs) = (deaf.clone(), runs.clone());
                slot.ask(
                    &jobs,
                    &key,
                    || spec("all of it"),
                    move |_, _| {
                        runs.fetch_add(1, Ordering::Relaxed);
                        while !deaf.load(Ordering::Relaxed) {
                            std::thread::sleep(Duration::from_millis(1));
                        }
                        Ok(u64::from(key))
                    },
                )
            };
            for key in 1..=2 {
                ask(key);
                wait_for(|| (runs.load(Ordering::Relaxed) == u64::from(key)).then_some(()));
            }
            assert!(ask(3).runs());
            jobs.cancel_all();
            deaf.store(true, Ordering::Relaxed);
            wait_for(|| (!slot.is_busy() && jobs.list().is_empty()).then_some(()));
            assert_eq!(runs.load(Ordering::Relaxed), 2, "it began after all");
            let stays = spec("") == JobSpec::scan("");
            assert_eq!(slot.peek(&3).error.is_some_and(|error| error.is_cancelled()), stays);
            slot.clear();
            assert_eq!(*wait_for(|| ask(3).ready()), 3);
        }
    }

    #[test]
    fn a_view_that_the_user_cancels_is_asked_for_again_by_the_next_look() {
        let jobs = Jobs::new(|| {});
        let slot: Slot<u32, u64> = Slot::default();
        let (never, free) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(true)));
        let look = |key: u32, gate: &Arc<AtomicBool>| {
            slot.ask(&jobs, &key, || JobSpec::view("a page"), counting(gate))
        };
        wait_for(|| look(1, &free).ready());
        wait_for(|| look(2, &never).partial);
        cancel_all(&jobs);
        // Nothing runs until somebody looks, nothing is said to be wrong, and what there was before stays.
        let forgotten = slot.peek(&2);
        assert!(forgotten.error.is_none() && !forgotten.runs() && forgotten.partial.is_none());
        assert!(!slot.is_busy() && slot.peek(&1).ready().is_some());
        assert!(look(2, &free).runs());
        assert_eq!(*wait_for(|| look(2, &free).ready()), 1_000_000);
    }

    #[test]
    fn scans_and_what_is_asked_once_stay_cancelled_until_they_are_cleared() {
        let jobs = Jobs::new(|| {});
        let (never, free) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(true)));
        for spec in [JobSpec::scan as fn(&'static str) -> JobSpec, JobSpec::once] {
            let slot: Slot<u32, u64> = Slot::default();
            let ask = |gate: &Arc<AtomicBool>| slot.ask(&jobs, &1, || spec("all of it"), counting(gate));
            wait_for(|| ask(&never).partial);
            cancel_all(&jobs);
            for _ in 0..3 {
                let stopped = ask(&free);
                assert!(stopped.error.is_some_and(|error| error.is_cancelled()) && stopped.partial.is_some());
            }
            assert!(!slot.is_busy() && jobs.list().is_empty(), "it restarts by itself");
            slot.clear();
            assert_eq!(*wait_for(|| ask(&free).ready()), 1_000_000);
        }
    }

    #[test]
    fn a_cancelled_answer_of_a_task_that_nobody_cancelled_is_kept() {
        let jobs = Jobs::new(|| {});
        let slot: Slot<u32, u64> = Slot::default();
        let runs = Arc::new(AtomicU64::new(0));
        let ask = || {
            let runs = runs.clone();
            slot.get(&jobs, &1, JobSpec::view("a page"), move |_| {
                runs.fetch_add(1, Ordering::Relaxed);
                Err(Error::cancelled())
            })
        };
        wait_for(|| ask().error);
        (0..20).for_each(|_| assert!(ask().error.is_some()));
        assert_eq!(runs.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn what_a_view_stops_itself_stays_stopped() {
        let jobs = Jobs::new(|| {});
        let slot: Slot<u32, u64> = Slot::default();
        let never = Arc::new(AtomicBool::new(false));
        let look = || slot.ask(&jobs, &1, || JobSpec::view("a page"), counting(&never));
        wait_for(|| look().partial);
        slot.cancel();
        wait_for(|| jobs.list().is_empty().then_some(()));
        assert!(look().error.is_some_and(|error| error.is_cancelled()) && !slot.is_busy());
    }

    #[test]
    fn a_slot_that_is_dropped_stops_its_job() {
        let jobs = Jobs::new(|| {});
        let slot: Slot<u32, u64> = Slot::default();
        let never = Arc::new(AtomicBool::new(false));
        wait_for(|| slot.ask(&jobs, &1, || JobSpec::scan("counting"), counting(&never)).partial);
        drop(slot);
        wait_for(|| jobs.list().is_empty().then_some(()));
    }

    #[test]
    fn scans_never_keep_a_page_from_its_rows() {
        let jobs = Jobs::new(|| {});
        let never = Arc::new(AtomicBool::new(false));
        let scans: Vec<Slot<u32, u64>> = (0..40).map(|_| Slot::default()).collect();
        for scan in &scans {
            wait_for(|| scan.ask(&jobs, &1, || JobSpec::scan("scan"), counting(&never)).partial);
        }
        let page: Slot<u32, u32> = Slot::default();
        assert_eq!(*wait_for(|| page.get(&jobs, &1, JobSpec::view("page"), |_| Ok(7)).ready()), 7);
    }
}
