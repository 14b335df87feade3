//! The worker's end: one thread takes messages, others answer them.

use super::answers;
use super::calls::{Call, Event, Opened, Opening, Priority, Request, Spec, Wanted};
use super::channel::{self, Channel, Descriptor, Message, Receiver};
use super::limits;
use super::objects::{Keeper, Key, Registry};
use super::sandbox::{self, Level};
use super::wire::{In, Out, Wire};
use crate::bytes::cache;
use crate::bytes::display;
use crate::bytes::error::{Error, Result};
use crate::bytes::guard::guarded;
use crate::bytes::source::{self, Source};
use crate::bytes::stream;
use crate::bytes::task::Task;
use crate::data::format::Options;
use crate::data::open::Document;
use crate::engines::ffmpeg;
use crate::formats;
use parking_lot::{Condvar, Mutex};
use std::collections::{HashMap, VecDeque};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, OnceLock};
use std::time::Instant;

/// The stack of a thread that answers, in bytes: as much as the first thread of a program has.
const STACK: usize = 8 << 20;

/// What all threads of a worker share.
#[derive(Default)]
struct Worker {
    registry: OnceLock<Registry>,
    level: OnceLock<Level>,
    queue: Mutex<Queue>,
    work: Condvar,
    /// What was asked for, and what came.
    given: Mutex<HashMap<u64, Option<Result<Vec<Descriptor>>>>>,
    arrived: Condvar,
    asks: AtomicU64,
    /// Decoded bytes that were said to be kept.
    kept: Mutex<usize>,
    /// Held while what has become known is told: an answer comes after what is known with it.
    telling: Mutex<()>,
}

#[derive(Default)]
struct Queue {
    seen: VecDeque<Job>,
    background: VecDeque<Job>,
    running: HashMap<u64, Running>,
    idle: usize,
    threads: usize,
}

/// A request that waits or that somebody works on.
struct Running {
    task: Task,
    told: (u64, u64, String),
}

enum Job {
    Open(u64, Box<Opening>),
    Call { id: u64, key: Key, budget: u64, call: Box<Call> },
}

static WORKER: LazyLock<Worker> = LazyLock::new(Worker::default);

/// The channel to the process that started this one.
pub(super) fn channel() -> Option<&'static Channel> {
    static CHANNEL: LazyLock<Option<Channel>> = LazyLock::new(channel::inherited);
    CHANNEL.as_ref()
}

/// Does what a worker does, until the program that started it is gone.
pub fn serve() -> ExitCode {
    let Some(channel) = channel().filter(|_| ends_with_its_parent()) else {
        eprintln!(
            "gander {}: this is started by Gander itself, to read a file apart from it",
            super::ARGUMENT
        );
        return ExitCode::from(2);
    };
    // A document may stay open for days, and this process has one thread.
    cache::keep_little();
    let mut receiver = Receiver::new();
    let opening = match receiver.receive(channel).ok().flatten().map(|message| request(&message)) {
        Some(Ok(Request::Open { id, opening })) => (id, opening),
        _ => return ExitCode::SUCCESS,
    };
    let (id, opening) = opening;
    // What it may open is allowed by where it is; what it opens is named as it was given.
    match sandbox::enter(&opening.folders, opening.memory) {
        Ok(level) => {
            let _ = WORKER.level.set(level);
            source::confine((level != Level::Files).then_some(&opening.folders[..]));
        }
        Err(error) => {
            tell(&Event::Failed { id, error });
            return ExitCode::from(1);
        }
    }
    cache::DECODED.allow(usize::try_from(opening.cached).unwrap_or(usize::MAX));
    stream::ask_for_files(temporary_file);
    ffmpeg::start_by(decoder);
    enqueue(Priority::Seen, id, Job::Open(id, opening));
    take_messages(channel, &mut receiver)
}

/// Sees to it that this process ends when the one that started it does, whatever that one's end is like; whether it will.
#[cfg(target_os = "linux")]
fn ends_with_its_parent() -> bool {
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL)).is_ok()
}

/// It ends with its channel, which has a thread for itself.
#[cfg(not(target_os = "linux"))]
fn ends_with_its_parent() -> bool {
    true
}

fn request(message: &Message) -> Result<Request> {
    let mut from = In::new(&message.bytes);
    let request = Request::read(&mut from)?;
    from.end()?;
    Ok(request)
}

/// Takes messages, and says at each tick how far everything is.
fn take_messages(channel: &Channel, receiver: &mut Receiver) -> ExitCode {
    let mut told = Instant::now();
    loop {
        let is_idle = WORKER.queue.lock().running.is_empty();
        if channel.wait((!is_idle).then_some(limits::TICK)) {
            match receiver.receive(channel) {
                Ok(Some(message)) => take(message),
                // Whoever asks is gone.
                Ok(None) | Err(_) => std::process::exit(0),
            }
        }
        if !is_idle && told.elapsed() >= limits::TICK {
            told = Instant::now();
            tell_progress();
            tell_kept(false);
        }
    }
}

fn take(mut message: Message) {
    match request(&message) {
        Ok(Request::Call { id, request, ordinal, budget, priority, call }) => {
            enqueue(priority, id, Job::Call { id, key: (request, ordinal), budget, call });
        }
        Ok(Request::Cancel { id }) => {
            if let Some(running) = WORKER.queue.lock().running.get(&id) {
                running.task.cancel();
            }
        }
        Ok(Request::Release { keys }) => {
            if let Some(registry) = WORKER.registry.get() {
                registry.release(&keys);
            }
            tell_kept(false);
        }
        Ok(Request::Given { ask, error }) => {
            let given = error.map_or(Ok(std::mem::take(&mut message.descriptors)), Err);
            if let Some(place) = WORKER.given.lock().get_mut(&ask) {
                *place = Some(given);
            }
            WORKER.arrived.notify_all();
        }
        Ok(Request::Keep { most, now }) => {
            let bytes = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
            cache::DECODED.allow(bytes(now.min(most)));
            cache::DECODED.allow(bytes(most));
            tell_kept(true);
        }
        // What opens a document comes once, and first.
        Ok(Request::Open { .. }) | Err(_) => std::process::exit(1),
    }
}

/// What only the other process may make.
fn asked(wanted: Wanted) -> Result<Vec<Descriptor>> {
    let ask = WORKER.asks.fetch_add(1, Ordering::Relaxed);
    WORKER.given.lock().insert(ask, None);
    tell(&Event::Ask { ask, wanted });
    let mut all = WORKER.given.lock();
    loop {
        if let Some(Some(given)) = all.get_mut(&ask).map(Option::take) {
            all.remove(&ask);
            return given;
        }
        WORKER.arrived.wait(&mut all);
    }
}

fn temporary_file(what: &str) -> Result<std::fs::File> {
    let file = asked(Wanted::Temporary(what.to_owned()))?.pop();
    let full =
        || Error::limit(format!("more than {} open and temporary files for one document", limits::FILES));
    file.map(Into::into).ok_or_else(full)
}

fn decoder(purpose: ffmpeg::Purpose, layout: &str) -> Result<ffmpeg::Pipes> {
    let pipes = asked(Wanted::Decoder(purpose == ffmpeg::Purpose::Still, layout.to_owned()))?;
    pipes.try_into().map_err(|_| Error::bug("the pipes of a decoder did not arrive"))
}

fn enqueue(priority: Priority, id: u64, job: Job) {
    let mut queue = WORKER.queue.lock();
    queue.running.insert(id, Running { task: Task::new(), told: Default::default() });
    match priority {
        Priority::Seen => queue.seen.push_back(job),
        Priority::Background => queue.background.push_back(job),
    }
    let waiting = queue.seen.len() + queue.background.len();
    if queue.idle >= waiting || queue.threads >= limits::THREADS {
        WORKER.work.notify_one();
        return;
    }
    queue.threads += 1;
    drop(queue);
    let started = std::thread::Builder::new().name("reader".to_owned()).stack_size(STACK).spawn(work);
    if started.is_err() {
        WORKER.queue.lock().threads -= 1;
    }
}

/// What a thread does: one request after the other.
fn work() {
    loop {
        let (job, task) = {
            let mut queue = WORKER.queue.lock();
            loop {
                let next = queue.seen.pop_front().or_else(|| queue.background.pop_front());
                if let Some(job) = next {
                    let id = job.id();
                    let task = queue.running.get(&id).map(|running| running.task.clone()).unwrap_or_default();
                    break (job, task);
                }
                queue.idle += 1;
                WORKER.work.wait(&mut queue);
                queue.idle -= 1;
            }
        };
        let id = job.id();
        do_job(job, &task);
        WORKER.queue.lock().running.remove(&id);
    }
}

impl Job {
    fn id(&self) -> u64 {
        match self {
            Job::Open(id, _) | Job::Call { id, .. } => *id,
        }
    }
}

fn do_job(job: Job, task: &Task) {
    match job {
        Job::Open(id, opening) => {
            let Opening { spec, options, .. } = *opening;
            let opened = guarded(|| source_of(&spec)).and_then(|source| {
                let registry = WORKER.registry.get_or_init(|| Registry::new(source.clone()));
                let mut out = begun(registry, id);
                let opened = match &spec {
                    Spec::Several(paths) => told(formats::together(task, paths)?),
                    _ => opened(task, &source, &options)?,
                };
                opened.put(&mut out);
                Ok((out.bytes, out.fault))
            });
            finish(id, limits::ANSWER, opened);
        }
        Job::Call { id, key, budget, call } => {
            #[cfg(all(debug_assertions, target_os = "linux"))]
            super::misbehave::at_call();
            let Some(registry) = WORKER.registry.get() else {
                return finish(id, budget, Err(Error::bug("nothing was opened")));
            };
            let mut out = begun(registry, id);
            let answered = match (task.check(), registry.get(key)) {
                (Err(error), _) => Err(error),
                (_, None) => Err(Error::bug("what was asked for was not kept")),
                (_, Some(object)) => guarded(|| answers::answer(&object, *call, task, registry, &mut out)),
            };
            // Those that no node says, too: of what failed, or was only looked at.
            drop(refusals());
            let answered = answered.map(|()| (std::mem::take(&mut out.bytes), out.fault.take()));
            let telling = WORKER.telling.lock();
            for (key, state) in registry.news_after(key, limits::FOUND) {
                tell(&Event::State { request: key.0, ordinal: key.1, state });
            }
            drop(telling);
            finish(id, budget, answered);
        }
    }
}

/// The beginning of an answer.
fn begun(registry: &Registry, id: u64) -> Out<'_> {
    let mut out = Out::new(Some(Keeper::new(registry, id)));
    Event::Done { id }.put(&mut out);
    out
}

/// Sends an answer, or why there is none.
fn finish(id: u64, budget: u64, answered: Result<(Vec<u8>, Option<Error>)>) {
    let bytes = answered.and_then(|(bytes, fault)| match fault {
        Some(fault) => Err(fault),
        None if bytes.len() as u64 > budget => {
            Err(Error::limit(format!("an answer of {} bytes; the limit is {budget}", bytes.len())))
        }
        None => Ok(bytes),
    });
    tell_kept(false);
    match bytes {
        Ok(bytes) => drop(say(&bytes, true)),
        Err(error) => tell(&Event::Failed { id, error }),
    }
}

/// How much is kept of what was decoded, where that is news or was `asked` for. Where it does not fit now it is said later.
fn tell_kept(asked: bool) {
    // What is said later was measured later.
    let mut told = WORKER.kept.lock();
    let now = cache::DECODED.used();
    if !asked && now.abs_diff(*told) < limits::KEPT && (now == 0) == (*told == 0) {
        return;
    }
    let (bytes, reserved) = (now as u64, cache::DECODED.reserved() as u64);
    let event = Out::plain(&Event::Kept { bytes, reserved, asked });
    if channel().is_some_and(|channel| channel.send(&event, &[], false).is_ok()) {
        *told = now;
    }
}

/// Sends, and waits until it can.
fn tell(event: &Event) {
    say(&Out::plain(event), true);
}

/// Sends; without waiting what does not fit now is not said. Whether it was.
fn say(bytes: &[u8], wait: bool) -> bool {
    let is_sent = channel().is_some_and(|channel| channel.send(bytes, &[], wait).is_ok());
    if !is_sent && wait {
        std::process::exit(0);
    }
    is_sent
}

/// How far all requests are, and what has become known of what may change.
fn tell_progress() {
    let mut events = Vec::new();
    for (id, running) in &mut WORKER.queue.lock().running {
        let (done, total) = running.task.progress();
        let message = running.task.message();
        if running.told != (done, total, message.clone()) {
            running.told = (done, total, message.clone());
            events.push(Event::Progress { id: *id, done, total, message });
        }
    }
    for event in &events {
        say(&Out::plain(event), false);
    }
    // Where an answer is told just now, this thread does not wait for that.
    let (Some(registry), Some(_telling)) = (WORKER.registry.get(), WORKER.telling.try_lock()) else { return };
    for key in registry.watched(limits::WATCHED) {
        let Some(state) = registry.news_of(key) else { continue };
        // Unlike how far it is, what has become known is not said again at each tick.
        if !say(&Out::plain(&Event::State { request: key.0, ordinal: key.1, state }), false) {
            registry.tell_again(key);
        }
    }
}

fn source_of(spec: &Spec) -> Result<Source> {
    let task = Task::new();
    match spec {
        Spec::Path(path) => Source::open(&task, path),
        Spec::Part { path, range, name } => Source::open(&task, path)?.member(name, range.clone()),
        Spec::Bytes { name, bytes } => Ok(Source::memory(name, bytes.clone())),
        Spec::Several(paths) => match paths.first() {
            Some(path) => Source::open(&task, path),
            None => Err(Error::bug("no files were given")),
        },
    }
}

/// Opens a source, and says what it is.
pub(super) fn opened(task: &Task, source: &Source, options: &Options) -> Result<Opened> {
    #[cfg(all(debug_assertions, target_os = "linux"))]
    super::misbehave::at_opening(options)?;
    formats::ALL.open_source(task, source, options).map(told)
}

/// What is said of a document.
fn told(document: Document) -> Opened {
    let mut remarks = document.remarks;
    remarks.extend(refusals());
    Opened {
        level: WORKER.level.get().copied().unwrap_or(Level::Process),
        format: document.format,
        length: document.source.known_len(),
        remarks,
        broken_promise: document.broken_promise,
        options: document.options,
        root: Arc::try_unwrap(document.root).unwrap_or_else(|shared| shared.as_ref().clone()),
    }
}

/// What the document names and this process may not open, in a sentence.
pub(super) fn refusals() -> Option<String> {
    let paths = source::take_refused();
    // A link is told with what it leads to, which is what may be allowed.
    let told = |path: &std::path::PathBuf| match std::fs::read_link(path) {
        Ok(to) => format!("{} ({})", path.display(), to.display()),
        Err(_) => path.display().to_string(),
    };
    let refused: Vec<String> = paths.iter().map(told).collect();
    (!refused.is_empty()).then(|| {
        tell(&Event::Refused { paths });
        format!(
            "it names what lies outside of its folder, which its reader may not open: {}; --reads FOLDER allows it",
            display::harmless(&refused.join(", "), 1_000)
        )
    })
}
