//! The conversation with one worker: requests that wait for their answers, whoever of those who wait taking in what
//! arrives for all.

use super::budget::{self, Usage};
use super::calls::{Event, Opening, Priority, Request, Wanted};
use super::channel::{Descriptor, Message, Receiver};
use super::link::Handle;
use super::objects::Key;
use super::process::Process;
use super::wire::{In, Out, Wire, wrong};
use super::{Limits, limits};
use crate::bytes::error::{Error, Result};
use crate::bytes::stream::temporary;
use crate::bytes::system;
use crate::bytes::task::Task;
use crate::engines::ffmpeg;
use arrow::buffer::Buffer;
use parking_lot::{Condvar, Mutex};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

/// How long those who wait look at nothing but the channel.
const LOOK: Duration = Duration::from_millis(10);
/// Of a longer time between two looks no more than this counts as silence: this program itself was stopped (Ctrl+Z), or
/// had no processor, and the worker with it.
const LONGEST_LOOK: Duration = Duration::from_millis(100);
/// Things that nobody has any more are told in such numbers.
const RELEASED: usize = 64;

/// Why a request has no answer.
#[derive(Clone)]
pub(super) enum Failure {
    /// What was called gave this error.
    Error(Error),
    /// The worker died of it, or of another request.
    Died(String),
    /// The worker was ended because it did not stop what was cancelled.
    Dismissed,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Error(error)
    }
}

/// An answer as it was received.
#[derive(Clone)]
pub(super) struct Answer {
    /// All bytes of the message.
    pub(super) bytes: Buffer,
    /// Where in them the value begins.
    pub(super) skip: usize,
    /// The request.
    pub(super) request: u64,
}

/// A request that somebody waits for.
struct Slot {
    task: Task,
    answer: Option<Result<Answer>>,
    /// How far it was said to be.
    told: (u64, u64),
    /// When that was, or when it was asked.
    sign: Instant,
}

impl Slot {
    fn new(task: &Task) -> Self {
        Slot { task: task.clone(), answer: None, told: (0, 0), sign: Instant::now() }
    }

    /// Tells whoever waits how far it is.
    fn progress(&mut self, done: u64, total: u64, message: String) {
        let (before, known) = self.told;
        if total != known {
            self.task.set_total(total);
        }
        if total > 0 {
            self.task.reached(done);
        } else {
            // Without a total of its own it counts for that of the one who asks.
            let _ = self.task.advance(done.saturating_sub(before));
        }
        if !message.is_empty() && message != self.task.message() {
            self.task.set_message(message);
            self.sign = Instant::now();
        }
        if (done, total) != self.told {
            self.sign = Instant::now();
        }
        self.told = (done, total);
    }
}

#[derive(Default)]
struct Waiting {
    slots: HashMap<u64, Slot>,
    /// Requests that nobody waits for any more, which the worker has not ended yet.
    abandoned: HashMap<u64, Option<Instant>>,
    watched: HashMap<Key, Weak<Handle>>,
    dead: Option<Failure>,
    /// When it was too slow for a thread that draws.
    slow: Option<Instant>,
    /// When somebody looked last whether there is an answer.
    looked: Option<Instant>,
}

impl Waiting {
    /// Notes that somebody looks, and takes the time in which nobody could from the silence of what is waited for.
    fn look(&mut self, now: Instant) {
        let before = self.looked.replace(now).unwrap_or(now);
        let unseen = now.saturating_duration_since(before).saturating_sub(LONGEST_LOOK);
        if unseen > Duration::ZERO {
            self.slots.values_mut().for_each(|slot| slot.sign = now.min(slot.sign + unseen));
        }
    }
}

/// A worker with its document.
pub(super) struct Connection {
    pub(super) generation: u64,
    process: Process,
    silence: Duration,
    next: AtomicU64,
    waiting: Mutex<Waiting>,
    /// Something arrived, or nobody takes in what does.
    news: Condvar,
    /// Held by the one that takes in what arrives.
    receiver: Mutex<Receiver>,
    released: Mutex<Vec<Key>>,
    /// Programs that decode for the worker.
    decoders: Mutex<Vec<std::process::Child>>,
    /// Folders of what the document names and the worker may not open.
    refused: Mutex<Vec<PathBuf>>,
    /// Which it is in the budget, and when it was asked for something last.
    used: Arc<AtomicU64>,
}

impl Connection {
    /// The request that opens the document.
    pub(super) const OPEN: u64 = 0;

    /// Starts a worker, and asks it to open a document.
    ///
    /// # Errors
    /// `Crashed` where no process can be started.
    pub(super) fn start(opening: Opening, generation: u64, limits: &Limits) -> Result<Arc<Connection>> {
        let process = super::spare::take(&limits.program)?;
        let slot = Slot::new(&Task::new());
        let waiting = Waiting { slots: [(Self::OPEN, slot)].into(), ..Waiting::default() };
        let connection = Arc::new(Connection {
            generation,
            process,
            silence: limits.silence,
            next: AtomicU64::new(Self::OPEN + 1),
            waiting: Mutex::new(waiting),
            news: Condvar::new(),
            receiver: Mutex::new(Receiver::new()),
            released: Mutex::default(),
            decoders: Mutex::default(),
            refused: Mutex::default(),
            used: Arc::default(),
        });
        let most = opening.cached;
        connection.send(&Request::Open { id: Self::OPEN, opening: Box::new(opening) });
        // From here on it takes other messages, too.
        budget::enter(&connection, most, &connection.used);
        Ok(connection)
    }

    /// Waits until the document is open.
    pub(super) fn opened(self: &Arc<Self>, task: &Task) -> Result<Answer, Failure> {
        if let Some(slot) = self.waiting.lock().slots.get_mut(&Self::OPEN) {
            slot.task = task.clone();
        }
        self.answer(Self::OPEN, task, None)
    }

    /// The answer to opening was understood; it need not be kept.
    pub(super) fn forget_opening(&self) {
        if let Some(slot) = self.waiting.lock().slots.get_mut(&Self::OPEN)
            && let Some(Ok(answer)) = &mut slot.answer
        {
            answer.bytes = Buffer::from_vec(Vec::<u8>::new());
            answer.skip = 0;
        }
    }

    /// Calls a method of what was kept under a key, and waits for the answer.
    pub(super) fn call(
        self: &Arc<Self>,
        task: &Task,
        key: Key,
        call: &[u8],
        budget: u64,
        priority: Priority,
        patience: Option<Duration>,
    ) -> Result<Answer, Failure> {
        task.check()?;
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        budget::touch(&self.used);
        self.waiting.lock().slots.insert(id, Slot::new(task));
        self.tell_released(RELEASED);
        let mut bytes = Request::head(id, key, budget, priority);
        bytes.extend_from_slice(call);
        self.send_bytes(&bytes, &[]);
        self.answer(id, task, patience)
    }

    fn answer(self: &Arc<Self>, id: u64, task: &Task, patience: Option<Duration>) -> Result<Answer, Failure> {
        let since = Instant::now();
        loop {
            if let Some(answer) = self.arrived(id) {
                return answer;
            }
            if task.is_cancelled() {
                self.abandon(id);
                return Err(Error::cancelled().into());
            }
            if patience.is_some_and(|patience| since.elapsed() > patience) {
                let mut waiting = self.waiting.lock();
                waiting.slots.remove(&id);
                // It is not for ever that it is waited for: what is asked here is read already.
                waiting.abandoned.insert(id, None);
                waiting.slow = Some(Instant::now());
                return Err(Error::crashed("the reader does not answer in time").into());
            }
            match self.receiver.try_lock() {
                Some(mut receiver) => {
                    self.take_in(&mut receiver, patience.map_or(LOOK, |patience| patience.min(LOOK)));
                    drop(receiver);
                    // Whoever looked whether somebody takes in what arrives waits now, or has not looked yet.
                    let _waiting = self.waiting.lock();
                    self.news.notify_all();
                }
                None => {
                    let mut waiting = self.waiting.lock();
                    let open = waiting.slots.get(&id).is_some_and(|slot| slot.answer.is_none());
                    if open && waiting.dead.is_none() && self.receiver.is_locked() {
                        self.news.wait_for(&mut waiting, LOOK);
                    }
                }
            }
        }
    }

    /// The answer to a request, where there is one; ends a worker that has given no sign for too long.
    fn arrived(&self, id: u64) -> Option<Result<Answer, Failure>> {
        let mut waiting = self.waiting.lock();
        waiting.look(Instant::now());
        let slot = waiting.slots.get(&id)?;
        if let Some(answer) = &slot.answer {
            let answer = answer.clone().map_err(Failure::Error);
            if id != Self::OPEN {
                waiting.slots.remove(&id);
            }
            return Some(answer);
        }
        if let Some(failure) = waiting.dead.clone() {
            return Some(Err(failure));
        }
        if slot.sign.elapsed() > self.silence {
            let seconds = self.silence.as_secs_f32();
            let reason = format!("it gave no sign of progress for {seconds} seconds");
            self.process.kill();
            waiting.dead = Some(Failure::Died(reason));
            drop(waiting);
            self.has_ended();
        }
        None
    }

    /// Nobody waits for this answer any more.
    fn abandon(self: &Arc<Self>, id: u64) {
        {
            let mut waiting = self.waiting.lock();
            if id != Self::OPEN {
                waiting.slots.remove(&id);
            }
            waiting.abandoned.insert(id, Some(Instant::now()));
        }
        self.send(&Request::Cancel { id });
        let _ = warden().send((Arc::downgrade(self), Instant::now() + limits::GRACE));
    }

    /// Ends a worker that has not ended in time what was cancelled.
    fn look_after(&self) {
        if let Some(mut receiver) = self.receiver.try_lock() {
            while self.take_in(&mut receiver, Duration::ZERO) {}
        }
        let late = |since: &Option<Instant>| since.is_some_and(|since| since.elapsed() >= limits::GRACE);
        if self.waiting.lock().abandoned.values().any(late) {
            self.dismiss();
        }
    }

    /// Ends the worker; what waits for it is asked of a new one.
    pub(super) fn dismiss(&self) {
        self.waiting.lock().dead.get_or_insert(Failure::Dismissed);
        self.process.reap();
        self.has_ended();
    }

    /// Whether there is something that it may not open.
    pub(super) fn was_refused(&self) -> bool {
        !self.refused.lock().is_empty()
    }

    /// Folders of what the document names and the worker may not open.
    pub(super) fn refused(&self) -> Vec<PathBuf> {
        self.refused.lock().clone()
    }

    /// It keeps nothing any more, and answers nothing.
    fn has_ended(&self) {
        budget::leave(&self.used);
        self.news.notify_all();
    }

    /// The number of its process, while there is one.
    pub(super) fn process_id(&self) -> Option<u32> {
        self.process.id()
    }

    /// Whether nothing more comes from it.
    pub(super) fn is_dead(&self) -> bool {
        self.waiting.lock().dead.is_some()
    }

    /// Whether the document is open, and what is asked is answered at once.
    pub(super) fn is_prompt(&self) -> bool {
        let waiting = self.waiting.lock();
        let opened = waiting.slots.get(&Self::OPEN).is_some_and(|slot| slot.answer.is_some());
        opened && waiting.dead.is_none() && waiting.slow.is_none_or(|slow| slow.elapsed() > limits::SLOW)
    }

    /// Takes in what arrives next, within this time; whether anything did.
    fn take_in(&self, receiver: &mut Receiver, patience: Duration) -> bool {
        let channel = self.process.channel();
        if !channel.wait(Some(patience)) || self.is_dead() {
            return false;
        }
        let taken = match receiver.receive(channel) {
            Ok(Some(message)) => self.dispatch(message),
            Ok(None) => Err(None),
            Err(error) => Err(Some(error)),
        };
        match taken {
            Ok(()) => true,
            Err(reason) => {
                self.died(reason);
                false
            }
        }
    }

    /// The worker is gone, or nothing that it says can be believed.
    fn died(&self, reason: Option<Error>) {
        if reason.is_some() {
            // It said what makes no sense, and does not end of itself.
            self.process.kill();
        }
        let ended = self.process.end();
        let reason = reason.map_or(ended, |error| error.what().to_owned());
        self.waiting.lock().dead.get_or_insert(Failure::Died(reason));
        self.has_ended();
    }

    fn dispatch(&self, message: Message) -> Result<(), Option<Error>> {
        let mut from = In::new(&message.bytes);
        let event = Event::read(&mut from).map_err(Some)?;
        let skip = message.bytes.len() - from.left().len();
        if !matches!(event, Event::Done { .. }) {
            from.end().map_err(Some)?;
        }
        match event {
            Event::Done { id } => {
                let bytes = message.bytes.clone();
                self.done(id, Ok(Answer { bytes, skip, request: id }))?;
            }
            Event::Failed { id, error } => self.done(id, Err(error))?,
            Event::Progress { id, done, total, message } => {
                if let Some(slot) = self.waiting.lock().slots.get_mut(&id) {
                    slot.progress(done, total, message);
                }
            }
            Event::State { request, ordinal, state } => {
                let handle = self.waiting.lock().watched.get(&(request, ordinal)).and_then(Weak::upgrade);
                if let Some(handle) = handle {
                    handle.update(state);
                }
            }
            Event::Ask { ask, wanted } => self.give(ask, &wanted),
            Event::Kept { bytes, reserved, asked } => {
                budget::note(&self.used, Usage { bytes, reserved }, asked);
            }
            Event::Refused { paths } => {
                let mut refused = self.refused.lock();
                let room = limits::REFUSED.saturating_sub(refused.len());
                // A folder that is named is asked for itself, a file by its folder, a link by what it leads to.
                let here = paths.into_iter().filter(|path| !system::is_elsewhere(path));
                let real = here.map(|path| std::fs::canonicalize(&path).unwrap_or(path));
                let folder = |path: PathBuf| match path.is_dir() {
                    true => Some(path),
                    false => path.parent().map(Path::to_owned),
                };
                refused.extend(real.filter_map(folder).take(room));
            }
        }
        Ok(())
    }

    /// Notes an answer.
    fn done(&self, id: u64, answer: Result<Answer>) -> Result<(), Option<Error>> {
        let mut waiting = self.waiting.lock();
        let abandoned = waiting.abandoned.remove(&id).is_some();
        match waiting.slots.get_mut(&id) {
            Some(slot) if slot.answer.is_none() => slot.answer = Some(answer),
            _ if abandoned => {}
            _ => return Err(Some(wrong("it is to no request"))),
        }
        Ok(())
    }

    /// Gives the worker what it cannot make.
    fn give(&self, ask: u64, wanted: &Wanted) {
        let given = match wanted {
            // How many there are at a time its number of open files bounds.
            Wanted::Temporary(what) => temporary(what).map(|file| vec![file.into()]),
            Wanted::Decoder(is_still, layout) => self.decoder(*is_still, layout),
        };
        match given {
            Ok(descriptors) => {
                self.send_bytes(&Out::plain(&Request::Given { ask, error: None }), &descriptors);
            }
            Err(error) => self.send(&Request::Given { ask, error: Some(error) }),
        }
    }

    /// A decoder, which ends when the worker closes its pipes, and with it at the latest.
    fn decoder(&self, is_still: bool, layout: &str) -> Result<Vec<Descriptor>> {
        let mut decoders = self.decoders.lock();
        decoders.retain_mut(|decoder| matches!(decoder.try_wait(), Ok(None)));
        if decoders.len() >= limits::DECODERS {
            return Err(Error::limit(format!("more than {} decoders for one document", limits::DECODERS)));
        }
        let purpose = if is_still { ffmpeg::Purpose::Still } else { ffmpeg::Purpose::Frames };
        let (decoder, pipes) = ffmpeg::begin(purpose, layout)?;
        decoders.push(decoder);
        Ok(pipes.into())
    }

    /// Is told what changes of something.
    pub(super) fn watch(&self, key: Key, handle: &Arc<Handle>) {
        self.waiting.lock().watched.insert(key, Arc::downgrade(handle));
    }

    /// Nobody has this any more.
    pub(super) fn release(&self, key: Key) {
        if let Some(mut waiting) = self.waiting.try_lock() {
            waiting.watched.remove(&key);
        }
        self.released.lock().push(key);
        self.tell_released(RELEASED * 16);
    }

    /// Tells of what nobody has any more, where there is enough of it.
    fn tell_released(&self, enough: usize) {
        let mut released = self.released.lock();
        if released.len() >= enough {
            let keys = std::mem::take(&mut *released);
            drop(released);
            self.send(&Request::Release { keys });
        }
    }

    fn send(&self, request: &Request) {
        self.send_bytes(&Out::plain(request), &[]);
    }

    /// Sends what need not arrive; whether the worker took it at once.
    pub(super) fn send_soon(&self, request: &Request) -> bool {
        self.process.channel().send(&Out::plain(request), &[], false).is_ok()
    }

    /// Has somebody take in soon what it says, where nobody waits for it.
    pub(super) fn listen(self: &Arc<Self>) {
        let _ = warden().send((Arc::downgrade(self), Instant::now() + limits::TICK));
    }

    /// Sends; where that fails the worker is dead, which those who wait are told.
    fn send_bytes(&self, bytes: &[u8], descriptors: &[Descriptor]) {
        if self.process.channel().send(bytes, descriptors, true).is_err() && !self.is_dead() {
            self.died(None);
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        budget::leave(&self.used);
        for decoder in self.decoders.get_mut() {
            let _ = decoder.kill();
            let _ = decoder.wait();
        }
    }
}

/// The thread that looks after what was cancelled.
fn warden() -> &'static Sender<(Weak<Connection>, Instant)> {
    static WARDEN: OnceLock<Sender<(Weak<Connection>, Instant)>> = OnceLock::new();
    WARDEN.get_or_init(|| {
        let (sender, list) = channel::<(Weak<Connection>, Instant)>();
        let work = move || {
            let mut due: Vec<(Weak<Connection>, Instant)> = Vec::new();
            loop {
                let first = due.iter().map(|(_, at)| *at).min();
                let wait = first
                    .map_or(Duration::from_secs(3_600), |at| at.saturating_duration_since(Instant::now()));
                match list.recv_timeout(wait) {
                    Ok(next) => due.push(next),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return,
                }
                let now = Instant::now();
                let (late, rest) = due.into_iter().partition(|(_, at)| *at <= now);
                due = rest;
                for connection in
                    late.iter().filter_map(|(connection, _): &(Weak<Connection>, _)| connection.upgrade())
                {
                    connection.look_after();
                }
            }
        };
        let _ = std::thread::Builder::new().name("warden".to_owned()).spawn(work);
        sender
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_in_which_nobody_could_look_is_no_silence() {
        let start = Instant::now();
        let at = |milliseconds| start + Duration::from_millis(milliseconds);
        let mut waiting = Waiting::default();
        waiting.slots.insert(1, Slot { sign: start, ..Slot::new(&Task::new()) });
        let silence = |waiting: &Waiting, now: Instant| (now - waiting.slots[&1].sign).as_millis();
        for milliseconds in (0..=500).step_by(10) {
            waiting.look(at(milliseconds));
        }
        assert_eq!(silence(&waiting, at(500)), 500);
        // Stopped for an hour.
        waiting.look(at(3_600_500));
        assert_eq!(silence(&waiting, at(3_600_500)), 600);
        // However rarely somebody looks, silence has an end.
        (1..=100).for_each(|n| waiting.look(at(3_600_500 + n * 5_000)));
        assert_eq!(silence(&waiting, at(4_100_500)), 600 + 100 * 100);
        // What is asked after a while in which nothing was is not older than it is.
        waiting.slots.insert(1, Slot { sign: at(9_000_000), ..Slot::new(&Task::new()) });
        waiting.look(at(9_000_010));
        assert_eq!(silence(&waiting, at(9_000_010)), 0);
    }
}
