//! Exports that wait, run or have ended: a queue of the window's own. It outlives the dialog and the tab that an
//! export was started from.
//!
//! Two run at a time, so that a short one does not wait for a long one to end, and a third may be started by hand.
//! The next one begins when one ends, also while the window is not drawn. One that is cancelled makes room at once,
//! and has ended when its job has removed what it had written.
//!
//! [`write`] is what the job of one file does, [`batch`] that of many; [`rows`] draws the list of them, and [`leave`]
//! asks what is to become of them when the window is closed.

mod batch;
mod leave;
mod rows;
#[cfg(test)]
mod tests;
mod write;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use gander::bytes::display;
use gander::bytes::error::{Error, Result};
use gander::bytes::guard::guarded;
use gander::bytes::task::Task;
use gander::convert::{Consent, Plan};
use gander::jobs::{Jobs, Priority};
use parking_lot::Mutex;

pub(crate) use batch::{Conversion, Line, Progress, plan_file};
pub(crate) use leave::Leave;
pub(crate) use rows::progress_bar;
pub(crate) use write::ExportOutcome;

/// How many run at the same time.
const RUNNING: usize = 2;
/// How many of those that have ended are kept in the list.
const KEPT: usize = 100;
/// The longest name that stands in the status bar, in characters.
const NAME: usize = 36;

/// How far an export is.
#[derive(Clone)]
pub(crate) enum State {
    /// Its turn has not come.
    Waiting,
    /// Its job runs, since then; it is being cancelled where its task is.
    Running(Task, Instant),
    /// It was written.
    Done(Arc<ExportOutcome>),
    /// It was not written, and why.
    Failed(Arc<Error>),
    /// The user stopped it.
    Cancelled,
}

impl State {
    /// Whether nothing will change any more.
    pub(crate) fn has_ended(&self) -> bool {
        !matches!(self, State::Waiting | State::Running(..))
    }
}

/// An export as it is now. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) id: u64,
    /// The file that is written, or the folder into which a batch is.
    pub(crate) path: Arc<Path>,
    /// The files of a batch.
    pub(crate) batch: Option<Arc<Progress>>,
    pub(crate) state: State,
    /// Whether its end was looked at.
    seen: bool,
}

impl Entry {
    /// What it is called: the name of the file, or the number of files.
    pub(crate) fn name(&self) -> String {
        match &self.batch {
            Some(batch) => display::plural(batch.files().len() as u64, "file"),
            None => file_name(&self.path),
        }
    }

    /// Whether it was asked to stop and has not ended yet.
    pub(crate) fn is_stopping(&self) -> bool {
        matches!(&self.state, State::Running(task, _) if task.is_cancelled())
    }

    /// Whether it failed, or a file of it did.
    fn is_bad(&self) -> bool {
        let part = self.batch.as_ref().is_some_and(|batch| batch.counts().failed > 0);
        matches!(self.state, State::Failed(_)) || part && self.state.has_ended()
    }

    /// The share that is done, 0 to 1, where it runs and that is known.
    pub(crate) fn fraction(&self) -> Option<f32> {
        let State::Running(task, _) = &self.state else { return None };
        match &self.batch {
            Some(batch) => Some(batch.fraction(task.fraction())),
            None => task.fraction(),
        }
    }

    /// How far it is, in words.
    pub(crate) fn words(&self) -> String {
        match &self.state {
            State::Waiting => "Waits until another export ends".to_owned(),
            State::Running(task, _) if task.is_cancelled() => "Being cancelled…".to_owned(),
            State::Running(task, since) => {
                let percent = self.fraction().map(|part| format!("{:.0} %", part * 100.0));
                let file = self.batch.as_ref().and_then(|batch| batch.current());
                let message = Some(task.message()).filter(|words| !words.is_empty());
                let seconds = Some(format!("{} s", since.elapsed().as_secs()));
                let parts = [percent, file, message, seconds];
                parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
            }
            State::Done(written) => match &self.batch {
                Some(batch) => batch.counts().words(),
                None => written.words(),
            },
            State::Failed(error) => error.message(),
            State::Cancelled => match self.batch.as_ref().map(|batch| batch.counts()) {
                Some(counts) if counts.written > 0 => format!("Cancelled: {}", counts.words()),
                _ => "Cancelled: nothing was written".to_owned(),
            },
        }
    }
}

/// The last part of a path.
fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}

type Work = Box<dyn FnOnce(&Task) -> Result<ExportOutcome> + Send>;

/// An export, and its work until that begins.
struct Queued {
    entry: Entry,
    work: Option<Work>,
}

#[derive(Default)]
struct Queue {
    /// The oldest first.
    all: Vec<Queued>,
    last_id: u64,
}

struct Shared {
    jobs: Jobs,
    queue: Mutex<Queue>,
}

/// The exports of a window. Those that have not ended are cancelled when it is dropped.
pub(crate) struct Exports(Arc<Shared>);

impl Exports {
    /// None yet.
    pub(crate) fn new(jobs: &Jobs) -> Self {
        // What exports of a window that was killed have left goes now.
        jobs.run("", Priority::Background, |_| gander::convert::output::sweep());
        Exports(Arc::new(Shared { jobs: jobs.clone(), queue: Mutex::default() }))
    }

    /// Writes a plan to a file as soon as its turn comes; gives the number of the export.
    pub(crate) fn write(&self, plan: Arc<Plan>, path: PathBuf, consent: Consent, verify: bool) -> u64 {
        let to = path.clone();
        self.add(path, None, Box::new(move |task| write::write(task, &plan, &to, consent, verify)))
    }

    /// Converts files as soon as its turn comes; gives the number of the export, and how far each file is.
    pub(crate) fn convert(&self, conversion: Conversion) -> (u64, Arc<Progress>) {
        let places = conversion.places(|path| self.is_target(path));
        let progress = Arc::new(Progress::new(conversion.files.clone(), places));
        let (folder, lines) = (conversion.folder.clone(), progress.clone());
        let work = Box::new(move |task: &Task| conversion.run(task, &lines));
        (self.add(folder, Some(progress.clone()), work), progress)
    }

    fn add(&self, path: PathBuf, batch: Option<Arc<Progress>>, work: Work) -> u64 {
        let mut queue = self.0.queue.lock();
        queue.last_id += 1;
        let id = queue.last_id;
        let entry = Entry { id, path: path.into(), batch, state: State::Waiting, seen: false };
        queue.all.push(Queued { entry, work: Some(work) });
        queue.forget();
        self.0.advance(&mut queue);
        id
    }

    /// One of them, as it is now; `None` where it is no longer in the list.
    pub(crate) fn get(&self, id: u64) -> Option<Entry> {
        self.0.queue.lock().all.iter().find(|queued| queued.entry.id == id).map(|queued| queued.entry.clone())
    }

    /// All of them as they are now, the oldest first.
    pub(crate) fn list(&self) -> Vec<Entry> {
        self.0.queue.lock().all.iter().map(|queued| queued.entry.clone()).collect()
    }

    /// Whether any waits or runs.
    pub(crate) fn is_busy(&self) -> bool {
        self.0.queue.lock().all.iter().any(|queued| !queued.entry.state.has_ended())
    }

    /// Whether one that has not ended will write this file.
    pub(crate) fn is_target(&self, path: &Path) -> bool {
        let queue = self.0.queue.lock();
        let mut busy = queue.all.iter().filter(|queued| !queued.entry.state.has_ended());
        busy.any(|queued| match &queued.entry.batch {
            Some(batch) => batch.writes(path),
            None => *queued.entry.path == *path,
        })
    }

    /// Stops one: at once where it waits, when its job looks up where it runs.
    pub(crate) fn cancel(&self, id: u64) {
        self.stop(|entry| entry.id == id);
    }

    /// Stops all of them.
    pub(crate) fn cancel_all(&self) {
        self.stop(|_| true);
    }

    fn stop(&self, which: impl Fn(&Entry) -> bool) {
        let mut queue = self.0.queue.lock();
        for queued in queue.all.iter_mut().filter(|queued| which(&queued.entry)) {
            match &queued.entry.state {
                State::Running(task, _) => task.cancel(),
                State::Waiting => {
                    queued.work = None;
                    queued.entry.state = State::Cancelled;
                }
                State::Done(_) | State::Failed(_) | State::Cancelled => {}
            }
        }
        self.0.advance(&mut queue);
    }

    /// Starts one that waits although others run.
    pub(crate) fn start_now(&self, id: u64) {
        let mut queue = self.0.queue.lock();
        if let Some(queued) = queue.all.iter_mut().find(|queued| queued.entry.id == id) {
            self.0.begin(queued);
        }
    }

    /// Takes one that has ended off the list.
    pub(crate) fn remove(&self, id: u64) {
        let mut queue = self.0.queue.lock();
        queue.all.retain(|queued| queued.entry.id != id || !queued.entry.state.has_ended());
    }

    /// Takes all that have ended off the list.
    pub(crate) fn clear(&self) {
        self.0.queue.lock().all.retain(|queued| !queued.entry.state.has_ended());
    }

    /// The user has seen how this one ended, if it has.
    pub(crate) fn mark_seen(&self, id: u64) {
        self.mark(|entry| entry.id == id);
    }

    fn mark(&self, which: impl Fn(&Entry) -> bool) {
        let mut queue = self.0.queue.lock();
        for queued in queue.all.iter_mut().filter(|queued| which(&queued.entry)) {
            queued.entry.seen = queued.entry.state.has_ended();
        }
    }

    /// Stops all of them and waits until they have removed what they had written, but no longer than `most`. For the
    /// end of the program: nothing is drawn any more.
    pub(crate) fn end_all(&self, most: Duration) {
        let started = Instant::now();
        self.cancel_all();
        while self.is_busy() && started.elapsed() < most {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// What the status bar says; `None` where the list is empty.
    pub(crate) fn summary(&self) -> Option<Summary> {
        Summary::of(&self.list())
    }
}

impl Drop for Exports {
    fn drop(&mut self) {
        self.cancel_all();
    }
}

impl Queue {
    /// Lets go of the oldest that have ended.
    fn forget(&mut self) {
        let ended = |queued: &Queued| queued.entry.state.has_ended();
        let mut more = self.all.iter().filter(|queued| ended(queued)).count().saturating_sub(KEPT);
        self.all.retain(|queued| {
            let goes = more > 0 && ended(queued);
            more -= usize::from(goes);
            !goes
        });
    }

    /// Those that run and were not asked to stop.
    fn running(&self) -> usize {
        let runs = |queued: &&Queued| {
            matches!(queued.entry.state, State::Running(..)) && !queued.entry.is_stopping()
        };
        self.all.iter().filter(runs).count()
    }
}

impl Shared {
    /// Starts what waits where there is room.
    fn advance(self: &Arc<Self>, queue: &mut Queue) {
        while queue.running() < RUNNING {
            let Some(next) = queue.all.iter_mut().find(|queued| queued.work.is_some()) else { return };
            self.begin(next);
        }
    }

    fn begin(self: &Arc<Self>, queued: &mut Queued) {
        let Some(work) = queued.work.take() else { return };
        let (shared, id) = (self.clone(), queued.entry.id);
        // Without a title: the status bar shows exports by themselves.
        let task = self.jobs.run("", Priority::Background, move |task| {
            let result = task.check().and_then(|()| guarded(|| work(task)));
            shared.end(id, task, result);
        });
        queued.entry.state = State::Running(task, Instant::now());
    }

    fn end(self: &Arc<Self>, id: u64, task: &Task, result: Result<ExportOutcome>) {
        let mut queue = self.queue.lock();
        if let Some(queued) = queue.all.iter_mut().find(|queued| queued.entry.id == id) {
            queued.entry.state = match result {
                Ok(written) => State::Done(Arc::new(written)),
                Err(_) if task.is_cancelled() => State::Cancelled,
                Err(error) => State::Failed(Arc::new(error)),
            };
        }
        self.advance(&mut queue);
    }
}

/// What a summary is about, which gives its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    /// Something runs.
    Busy,
    /// Something failed that nobody has looked at.
    Bad,
    /// Something was written that nobody has looked at.
    Good,
    /// Nothing is new.
    Calm,
}

/// All exports in a few words.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Summary {
    pub(crate) words: String,
    pub(crate) tone: Tone,
    /// The share of the first that runs that is done, 0 to 1, where that is known.
    pub(crate) fraction: Option<f32>,
}

impl Summary {
    fn of(list: &[Entry]) -> Option<Self> {
        let last = list.last()?;
        let busy = list.iter().filter(|entry| !entry.state.has_ended()).collect::<Vec<_>>();
        if !busy.is_empty() {
            return Some(Summary::busy(&busy));
        }
        let news = || list.iter().filter(|entry| !entry.seen);
        let (bad, good) = (news().filter(|entry| entry.is_bad()), news().rev());
        let bad: Vec<&Entry> = bad.collect();
        let (tone, words) = match (bad.as_slice(), good.clone().next().unwrap_or(last)) {
            ([one], _) if one.batch.is_some() => (Tone::Bad, one.words()),
            ([one], _) => (Tone::Bad, format!("Export failed: {}", short(&one.name()))),
            ([_, _, ..], _) => (Tone::Bad, format!("{} exports failed", bad.len())),
            ([], last) if last.seen => (Tone::Calm, display::plural(list.len() as u64, "export")),
            ([], last) if matches!(last.state, State::Cancelled) => {
                (Tone::Calm, format!("Cancelled: {}", short(&last.name())))
            }
            ([], last) if good.count() == 1 => (Tone::Good, format!("ExportSource {}", short(&last.name()))),
            ([], _) => (Tone::Good, format!("{} exports have ended", news().count())),
        };
        Some(Summary { words, tone, fraction: None })
    }

    /// In words what runs and waits.
    fn busy(busy: &[&Entry]) -> Self {
        let running = || busy.iter().filter(|entry| matches!(entry.state, State::Running(..)));
        let first = running().find(|entry| !entry.is_stopping()).or_else(|| running().next());
        let Some(first) = first else {
            let words = format!("{} wait", display::plural(busy.len() as u64, "export"));
            return Summary { words, tone: Tone::Busy, fraction: None };
        };
        let name = short(&first.name());
        let fraction = first.fraction();
        let mut words = match running().count() {
            1 if first.is_stopping() => format!("Cancelling {name}"),
            1 => format!("Exporting {name}"),
            many => format!("{many} exports · {name}"),
        };
        if let Some(part) = fraction {
            words.push_str(&format!(" {:.0} %", part * 100.0));
        }
        // What it does, where that is said: reading back begins anew at nothing.
        if let State::Running(task, _) = &first.state
            && running().count() == 1
            && first.batch.is_none()
        {
            let message = task.message();
            words.push_str(&if message.is_empty() { message } else { format!(" · {}", short(&message)) });
        }
        let waiting = busy.len() - running().count();
        if waiting > 0 {
            words.push_str(&format!(" · {waiting} waiting"));
        }
        Summary { words, tone: Tone::Busy, fraction }
    }
}

/// A name with its middle left out where it is long.
fn short(name: &str) -> String {
    let count = name.chars().count();
    if count <= NAME {
        return name.to_owned();
    }
    let head: String = name.chars().take(NAME / 2).collect();
    let tail: String = name.chars().skip(count - NAME / 2 + 1).collect();
    format!("{head}…{tail}")
}
