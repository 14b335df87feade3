//! Readers in processes of their own: what a file does to its reader ends there.
//!
//! ```text
//!  window, commands ── Formats::open ──▶ Link ── Connection ════ channel ════ server ── Formats::open ──▶ readers
//!        ▲                               │ Handle            requests, answers   │
//!        └── Table, Array, … ◀── proxies ┘                   bytes in memory     └── Registry: what reads
//! ```
//! Once [`isolate`] was called, whatever is opened is opened by a *worker*: the same program with one argument
//! ([`ARGUMENT`]), a process a document. It shuts itself in (the sandbox) before it looks at the first byte, opens the
//! document, and answers. What it says is data (nodes, schemas, facts); what reads stays with it under a key, and a proxy
//! that implements the same trait stands for it here. So nothing else in the house knows of workers.
//!
//! | file | what is in it |
//! |---|---|
//! | `wire` | what crosses, as bytes; read as hostile on this side |
//! | `calls` | what is asked: one call for each method that reads |
//! | `channel`, `connection` | messages between two processes; requests, answers, progress, cancelling, death |
//! | `link` | a document: its worker, the next one where that died, and how what was made is made again |
//! | `process`, `spare` | starting and reaping; one that waits for the next document |
//! | `sandbox`, `grants` | what a worker may do, and which files it may open |
//! | `server`, `answers`, `objects` | the worker's end |
//! | `proxy` | the traits, on this end |
//! | `budget` | what all of them keep of decoded bytes, with this process |
//! | `limits` | how much, how long, and why |
//!
//! # What happens when
//! - *A reader dies* (a signal, its stack, its memory, a forbidden call), *gives no sign of progress for a minute*, or *says
//!   what makes no sense*: a new worker opens the document, what was asked is asked once more, and a second death closes the
//!   document with an [`ErrorKind::Crashed`](crate::ErrorKind::Crashed) that says how. Other documents go on.
//! - *A request is cancelled*: whoever waits has the answer at once. The worker is told; one that does not stop in time is
//!   ended, and the next request starts another.
//! - *A file names another one* outside of its own folder: it is not opened, and the error is an
//!   [`ErrorKind::Refused`](crate::ErrorKind::Refused).
//! - *A decoded stream is too long for memory*: the worker asks for a temporary file, which it cannot make.
//!
//! # What this process still reads itself
//! Bytes that are delivered as they lie in the file (hex views, elements of plain arrays), files that the user exports to,
//! and pictures in the cells of tables, which are opened in workers of their own.

mod answers;
mod budget;
mod calls;
mod channel;
mod connection;
mod grants;
mod limits;
mod link;
#[cfg(all(debug_assertions, target_os = "linux"))]
mod misbehave;
mod objects;
mod process;
mod proxy;
mod sandbox;
mod server;
mod spare;
mod wire;

pub use budget::{kept, make_room, processes};
pub use process::{ARGUMENT, fork_first};
pub use sandbox::Level;
pub use server::serve;

use crate::bytes::error::{Error, Result};
use crate::bytes::source::Source;
use crate::bytes::system;
use crate::bytes::task::Task;
use crate::data::format::{Formats, Options};
use crate::data::open::{Document, Elsewhere, Opened, open_elsewhere};
use crate::formats;
use calls::Spec;
use link::Link;
use parking_lot::Mutex;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::Duration;

/// What workers may take, as far as a user may change it.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The program that is started with [`ARGUMENT`]: this one.
    pub program: PathBuf,
    /// Bytes of private memory of one worker.
    pub memory: u64,
    /// How long a request may run without a sign of progress.
    pub silence: Duration,
    /// Folders that every reader may read beside its document's own.
    pub reads: Vec<PathBuf>,
}

/// The program that runs, on Linux also where its file was replaced meanwhile.
fn program() -> PathBuf {
    match cfg!(target_os = "linux") {
        true => PathBuf::from("/proc/self/exe"),
        // Where that is not known none can be started, which is said.
        false => std::env::current_exe().unwrap_or_default(),
    }
}

impl Default for Limits {
    fn default() -> Self {
        Limits { program: program(), memory: limits::MEMORY, silence: limits::SILENCE, reads: Vec::new() }
    }
}

impl Limits {
    /// Bytes of private memory of a worker on this machine.
    fn memory(&self) -> u64 {
        self.memory.min(system::memory() / 100 * limits::SHARE)
    }
}

/// From now on all that is opened in this process is opened in workers.
pub fn isolate(limits: Limits) {
    ON.store(true, Ordering::Relaxed);
    open_elsewhere(Workers(limits));
}

/// Opens one path in a worker, whatever [`isolate`] says; options as those of [`formats::open`].
///
/// # Errors
/// What opening gives there; `Crashed`.
pub fn open(task: &Task, path: &Path, options: &Options, limits: &Limits) -> Result<Document> {
    let source = Source::open(task, path)?;
    let opened = spec_of(task, &source).and_then(|spec| Link::open(task, &source, spec, options, limits));
    opened.map(|(document, _)| document).map_err(|error| error.in_file(path.display()))
}

/// Keeps one worker ready for the next document.
pub fn keep_spare() {
    spare::keep(&Limits::default().program);
}

/// Ends the worker that waits for a document, if there is one.
pub fn drop_spare() {
    spare::drop_it();
}

/// How well the last document that was opened is shut in; `None` before that, and where nothing is isolated.
pub fn level() -> Option<Level> {
    match LEVEL.load(Ordering::Relaxed) {
        1 => Some(Level::Process),
        2 => Some(Level::Job),
        3 => Some(Level::Calls),
        4 => Some(Level::Files),
        _ => None,
    }
}

static LEVEL: AtomicU8 = AtomicU8::new(0);

/// Whether [`isolate`] was called.
pub fn is_on() -> bool {
    ON.load(Ordering::Relaxed)
}

static ON: AtomicBool = AtomicBool::new(false);

/// This thread draws. What it asks readers for without a task — facts that they know — must be there within a frame; else
/// nothing is known.
pub fn never_wait_here() {
    link::DRAWS.set(true);
}

/// How the reader of a document of these bytes ended for good, if it did. The document stays closed until it is opened
/// anew.
pub fn crash_of(source: &Source) -> Option<Error> {
    link::crash_of(source)
}

/// Folders of what a document of these bytes names outside of its own, which its reader may not open; [`allow`] changes that for the
/// next time that it is opened.
pub fn refused_to(source: &Source) -> Vec<PathBuf> {
    link::refused_to(source)
}

/// From now on readers of documents may read this folder, too.
pub fn allow(folder: &Path) {
    ALLOWED.lock().push(folder.to_owned());
}

/// Folders that somebody allowed to be read while this process ran.
static ALLOWED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Opens in workers.
struct Workers(Limits);

impl Workers {
    /// With the folders that were allowed since.
    fn limits(&self) -> Limits {
        let mut limits = self.0.clone();
        limits.reads.extend(ALLOWED.lock().iter().cloned());
        limits
    }
}

impl Elsewhere for Workers {
    fn open(&self, list: Formats, task: &Task, source: &Source, options: &Options) -> Opened {
        // A worker knows one list of formats; others are those of tests.
        if !std::ptr::eq(list.0, formats::FORMATS) {
            return None;
        }
        if let Some(bytes) = source.made_by::<proxy::RemoteBytes>() {
            return Some(bytes.open(task, source, options));
        }
        let opened =
            spec_of(task, source).and_then(|spec| Link::open(task, source, spec, options, &self.limits()));
        Some(opened.map(|(document, level)| {
            LEVEL.store(level as u8 + 1, Ordering::Relaxed);
            document
        }))
    }

    fn together(&self, task: &Task, paths: &[PathBuf]) -> Opened {
        let first = paths.first()?;
        let opened = Source::open(task, first).and_then(|source| {
            let spec = Spec::Several(paths.to_vec());
            Link::open(task, &source, spec, &Options::default(), &self.limits())
        });
        Some(opened.map(|(document, _)| document))
    }
}

/// A source in words that a worker understands.
fn spec_of(task: &Task, source: &Source) -> Result<Spec> {
    let (base, range) = source.base(0..source.known_len().unwrap_or(0));
    match (source.path(), base.path()) {
        // A name that stands for several files lies in a folder; it is told as it was given.
        (Some(path), _)
            if source.is_folder() && path.file_name().is_none_or(|name| name != source.name()) =>
        {
            let several = path.join(source.name());
            Ok(Spec::Path(if several.exists() || !source.name().contains('{') {
                path.to_owned()
            } else {
                several
            }))
        }
        (Some(path), _) => Ok(Spec::Path(path.to_owned())),
        (None, Some(path)) => Ok(Spec::Part { path: path.to_owned(), range, name: source.name().to_owned() }),
        (None, None) => {
            let len = crate::bytes::limits::check(source.len(task)?, limits::SENT, "a file inside another")?;
            let bytes = source.read(task, 0..len as u64)?;
            Ok(Spec::Bytes { name: source.name().to_owned(), bytes })
        }
    }
}
