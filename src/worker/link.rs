//! The window's end: a document's worker, what it was asked for, and what happens when it dies.
//!
//! Whatever a worker made is known here by the request that made it and a place in the answer ([`Handle`]). When the
//! worker dies, a new one opens the document, and what is used next is made once more by the same requests.

use super::calls::{Call, Opened, Opening, Place, Spec};
use super::connection::{Connection, Failure};
use super::objects::{Key, State};
use super::sandbox::Level;
use super::wire::{In, Out, Wire, wrong};
use super::{Limits, grants};
use crate::bytes::cache;
use crate::bytes::error::{Error, Result};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::format::Options;
use crate::data::open::Document;
use parking_lot::Mutex;
use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};

/// How often a document's worker may die.
const LIVES: u32 = 2;

thread_local! {
    /// Whether this thread draws, and never waits.
    pub(super) static DRAWS: Cell<bool> = const { Cell::new(false) };
}

/// Documents whose readers ended for good or were refused something, as long as somebody has them.
static TROUBLED: Mutex<Vec<Weak<Link>>> = Mutex::new(Vec::new());

/// How the reader of a document of these bytes ended for good, if it did.
pub(super) fn crash_of(source: &Source) -> Option<Error> {
    troubled(source).find_map(|link| link.closed.get().cloned())
}

/// Folders of what a document of these bytes names and its reader may not open.
pub(super) fn refused_to(source: &Source) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = troubled(source).flat_map(|link| link.refused.lock().clone()).collect();
    all.sort();
    all.dedup();
    all
}

fn troubled(source: &Source) -> impl Iterator<Item = Arc<Link>> {
    let links: Vec<Arc<Link>> = TROUBLED.lock().iter().filter_map(Weak::upgrade).collect();
    links.into_iter().filter(|link| link.source.is(source))
}

/// A document in a worker.
pub(super) struct Link {
    spec: Spec,
    options: Options,
    source: Source,
    limits: Limits,
    state: Mutex<Life>,
    /// Why it stays closed, and what its readers might not open. Beside the state, which is held while a reader starts:
    /// whoever draws does not wait for it.
    closed: OnceLock<Error>,
    refused: Mutex<Vec<PathBuf>>,
}

#[derive(Default)]
struct Life {
    connection: Option<Arc<Connection>>,
    generation: u64,
    deaths: u32,
}

/// The request that made something.
struct Made {
    /// What was called; `None` for opening the document.
    call: Option<(Arc<Handle>, Vec<u8>, u64)>,
    /// Where it was made last.
    at: Mutex<Birth>,
}

/// In which worker something was made, and by which of the requests to it.
#[derive(Clone, Copy)]
struct Birth {
    generation: u64,
    request: u64,
}

/// Something that reads, in a worker.
pub(super) struct Handle {
    link: Arc<Link>,
    made: Arc<Made>,
    ordinal: u32,
    state: Mutex<State>,
    /// How often its state changed.
    changes: AtomicU64,
}

/// Makes the handles of one answer.
pub(super) struct Adopter {
    link: Arc<Link>,
    made: Arc<Made>,
    connection: Arc<Connection>,
}

impl Adopter {
    pub(super) fn link(&self) -> &Arc<Link> {
        &self.link
    }

    pub(super) fn handle(&self, ordinal: u32, state: State) -> Arc<Handle> {
        let watched = !state.is_final();
        let handle = Arc::new(Handle {
            link: self.link.clone(),
            made: self.made.clone(),
            ordinal,
            state: Mutex::new(state),
            changes: AtomicU64::new(0),
        });
        if watched {
            let request = self.made.at.lock().request;
            self.connection.watch((request, ordinal), &handle);
        }
        handle
    }
}

/// What a request came to that may be tried once more.
enum Tried<T> {
    Done(T),
    /// The worker died; a new one may do better.
    Again,
}

impl Link {
    /// Opens a source in a worker of its own.
    ///
    /// # Errors
    /// What opening gives there; `Crashed`.
    pub(super) fn open(
        task: &Task,
        source: &Source,
        spec: Spec,
        options: &Options,
        limits: &Limits,
    ) -> Result<(Document, Level)> {
        let link = Arc::new(Link {
            spec,
            options: options.clone(),
            source: source.clone(),
            limits: limits.clone(),
            state: Mutex::default(),
            closed: OnceLock::new(),
            refused: Mutex::default(),
        });
        loop {
            let connection = link.connection(task)?;
            let made = Arc::new(Made {
                call: None,
                at: Mutex::new(Birth { generation: connection.generation, request: Connection::OPEN }),
            });
            match link.attempt(&connection, connection.opened(task))? {
                Tried::Done(answer) => {
                    connection.forget_opening();
                    let adopter = Adopter { link: link.clone(), made, connection: connection.clone() };
                    let opened = link.understood(&connection, decoded::<Opened>(&answer, &adopter))?;
                    link.note_refusals(&connection);
                    return link.document(opened);
                }
                Tried::Again => {}
            }
        }
    }

    /// Keeps it among those that somebody may be told of.
    fn is_troubled(self: &Arc<Self>) {
        let mut troubled = TROUBLED.lock();
        troubled.retain(|link| link.strong_count() > 0);
        if !troubled.iter().any(|link| std::ptr::eq(link.as_ptr(), Arc::as_ptr(self))) {
            troubled.push(Arc::downgrade(self));
        }
    }

    /// Keeps it, if its reader was refused something.
    fn note_refusals(self: &Arc<Self>, connection: &Connection) {
        if connection.was_refused() {
            *self.refused.lock() = connection.refused();
            self.is_troubled();
        }
    }

    fn document(&self, opened: Opened) -> Result<(Document, Level)> {
        if opened.length != self.source.known_len() {
            return Err(Error::io("the file changed on disk while it was opened; open it again"));
        }
        self.source.grows(opened.format.growth)?;
        let level = opened.level;
        let document = Document {
            source: self.source.clone(),
            format: opened.format,
            root: Arc::new(opened.root),
            remarks: opened.remarks,
            broken_promise: opened.broken_promise,
            options: opened.options,
        };
        Ok((document, level))
    }

    /// The bytes of the document.
    pub(super) fn source(&self) -> &Source {
        &self.source
    }

    /// A file that the worker names, for this process to read its bytes: of those only that the worker may open.
    ///
    /// # Errors
    /// `Crashed` for any other file; what opening gives.
    pub(super) fn side_file(&self, path: &Path) -> Result<Source> {
        if !grants::covers(&self.spec, &self.limits.reads, path) {
            return Err(wrong("a file outside of the document's folder"));
        }
        Source::open(&Task::new(), path)
    }

    /// The worker as it is, or a new one with the document opened.
    fn connection(&self, task: &Task) -> Result<Arc<Connection>> {
        task.check()?;
        let mut life = self.state.lock();
        if let Some(error) = self.closed.get() {
            return Err(error.clone());
        }
        if let Some(connection) = &life.connection
            && !connection.is_dead()
        {
            return Ok(connection.clone());
        }
        life.generation += 1;
        let opening = Opening {
            spec: self.spec.clone(),
            options: self.options.clone(),
            memory: self.limits.memory(),
            cached: cache::DECODED.most() as u64,
            folders: [grants::folders(&self.spec, &self.limits.reads), grants::plugins()].concat(),
        };
        let connection = Connection::start(opening, life.generation, &self.limits)?;
        life.connection = Some(connection.clone());
        Ok(connection)
    }

    /// What a request came to: a death is noted, and the first one forgiven.
    fn attempt<T>(self: &Arc<Self>, connection: &Connection, result: Result<T, Failure>) -> Result<Tried<T>> {
        let reason = match result {
            Ok(done) => return Ok(Tried::Done(done)),
            Err(Failure::Error(error)) => return Err(error),
            Err(Failure::Dismissed) => return Ok(Tried::Again),
            Err(Failure::Died(reason)) => reason,
        };
        let mut life = self.state.lock();
        if life.connection.as_ref().is_some_and(|current| current.generation == connection.generation) {
            life.connection = None;
            life.deaths += 1;
        }
        if life.deaths < LIVES {
            return Ok(Tried::Again);
        }
        let name = self.source.name();
        let error = Error::crashed(format!(
            "the reader of {name} crashed twice: {reason}; the file stays closed until it is opened again"
        ));
        Err(self.close(error))
    }

    /// An answer that makes no sense is as good as a death: nothing of that worker is believed any more.
    fn understood<T>(self: &Arc<Self>, connection: &Connection, result: Result<T>) -> Result<T> {
        if let Err(error) = &result
            && error.kind() == crate::bytes::error::ErrorKind::Crashed
        {
            connection.dismiss();
            let mut life = self.state.lock();
            life.deaths = LIVES;
            self.close(error.clone());
        }
        result
    }

    /// It stays closed, for the first reason that there was.
    fn close(self: &Arc<Self>, error: Error) -> Error {
        let error = self.closed.get_or_init(|| error).clone();
        self.is_troubled();
        error
    }

    /// A byte in words that the worker knows.
    pub(super) fn place(self: &Arc<Self>, byte: &crate::data::location::BytePlace) -> Place {
        if let Some(offset) = byte.offset_in(&self.source) {
            return Place::Document { offset };
        }
        let (source, offset) = byte.base();
        let kept = source.made_by::<super::proxy::RemoteBytes>();
        match (source.path(), kept) {
            (Some(path), _) => Place::Path { path: path.to_owned(), offset },
            (None, Some(bytes)) => bytes.place(self, offset),
            (None, None) => Place::Unknown,
        }
    }
}

/// Reads an answer, all of it.
fn decoded<T: Wire>(answer: &super::connection::Answer, adopter: &Adopter) -> Result<T> {
    let mut from = In::reply(&answer.bytes, answer.skip, adopter);
    let value = T::read(&mut from)?;
    from.end()?;
    Ok(value)
}

impl Made {
    /// The request in this worker that made it, which is made once more where it was another worker.
    fn request_in(&self, connection: &Arc<Connection>, task: &Task) -> Result<u64, Failure> {
        {
            let at = self.at.lock();
            if at.generation == connection.generation {
                return Ok(at.request);
            }
        }
        let request = match &self.call {
            None => {
                connection.opened(task)?;
                Connection::OPEN
            }
            Some((parent, call, budget)) => {
                let key = parent.key_in(connection, task)?;
                connection.call(task, key, call, *budget, super::calls::Priority::Seen, None)?.request
            }
        };
        *self.at.lock() = Birth { generation: connection.generation, request };
        Ok(request)
    }
}

impl Handle {
    fn key_in(&self, connection: &Arc<Connection>, task: &Task) -> Result<Key, Failure> {
        Ok((self.made.request_in(connection, task)?, self.ordinal))
    }

    /// Asks for something; `patience` bounds how long that may take, where nobody can cancel it.
    fn asked<T>(
        self: &Arc<Self>,
        task: &Task,
        call: &Call,
        patience: Option<std::time::Duration>,
        read: impl Fn(&super::connection::Answer, &Adopter) -> Result<T>,
    ) -> Result<T> {
        let (bytes, priority) = (Out::plain(call), call.priority());
        let budget = super::limits::ANSWER;
        loop {
            let connection = self.link.connection(task)?;
            let called = self
                .key_in(&connection, task)
                .and_then(|key| connection.call(task, key, &bytes, budget, priority, patience));
            let attempt = self.link.attempt(&connection, called);
            self.link.note_refusals(&connection);
            if let Tried::Done(answer) = attempt? {
                let made = Arc::new(Made {
                    call: Some((self.clone(), bytes.clone(), budget)),
                    at: Mutex::new(Birth { generation: connection.generation, request: answer.request }),
                });
                let adopter = Adopter { link: self.link.clone(), made, connection: connection.clone() };
                return self.link.understood(&connection, read(&answer, &adopter));
            }
        }
    }

    /// Calls a method.
    ///
    /// # Errors
    /// Those of the method; `Crashed`; `Cancelled` at once when the task is.
    pub(super) fn call<T: Wire>(self: &Arc<Self>, task: &Task, call: &Call) -> Result<T> {
        self.asked(task, call, None, decoded)
    }

    /// Calls a method whose answer is bytes and nothing else, which are copied to where they belong.
    ///
    /// # Errors
    /// As [`call`](Handle::call); `Crashed` for an answer of another length.
    pub(super) fn fill(self: &Arc<Self>, task: &Task, call: &Call, out: &mut [u8]) -> Result<()> {
        let place = Mutex::new(out);
        self.asked(task, call, None, |answer, _| {
            copy(answer.bytes.as_slice().get(answer.skip..).unwrap_or_default(), &mut place.lock())
        })
    }

    /// The same where a value stands before the bytes.
    ///
    /// # Errors
    /// As [`fill`](Handle::fill).
    pub(super) fn fill_after<T: Wire>(
        self: &Arc<Self>,
        task: &Task,
        call: &Call,
        out: &mut [u8],
    ) -> Result<T> {
        let place = Mutex::new(out);
        self.asked(task, call, None, |answer, adopter| {
            let mut from = In::reply(&answer.bytes, answer.skip, adopter);
            let value = T::read(&mut from)?;
            copy(from.left(), &mut place.lock())?;
            Ok(value)
        })
    }

    /// Asks for what is known without reading values; `None` where that is not to be had in time.
    pub(super) fn prompt<T: Wire>(self: &Arc<Self>, call: &Call) -> Option<T> {
        if !DRAWS.get() {
            return self.asked(&Task::new(), call, Some(super::limits::PROMPT), decoded).ok();
        }
        // A new worker would have to open the document first, and one that was too slow just now is busy.
        let ready = |life: &Life| life.connection.as_ref().is_some_and(|connection| connection.is_prompt());
        if !self.link.state.try_lock().is_some_and(|life| ready(&life)) {
            return None;
        }
        self.asked(&Task::new(), call, Some(super::limits::FRAME), decoded).ok()
    }

    /// The same, or else something else.
    pub(super) fn known<T: Wire>(self: &Arc<Self>, otherwise: T, call: &Call) -> T {
        self.prompt(call).unwrap_or(otherwise)
    }

    /// A byte of the bytes that it is.
    pub(super) fn place(&self, offset: u64) -> Place {
        let (at, generation) = (*self.made.at.lock(), self.link.state.lock().generation);
        match at.generation == generation {
            true => Place::Kept { request: at.request, ordinal: self.ordinal, offset },
            false => Place::Unknown,
        }
    }

    /// What was last told of what changes.
    pub(super) fn state(&self) -> State {
        self.state.lock().clone()
    }

    /// A number that is another one after each change.
    pub(super) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// Takes what is known now.
    pub(super) fn update(&self, state: State) {
        *self.state.lock() = state;
        self.changes.fetch_add(1, Ordering::AcqRel);
    }

    /// The document that it belongs to.
    pub(super) fn link(&self) -> &Arc<Link> {
        &self.link
    }

    /// Opens the bytes that it is, in the same worker.
    ///
    /// # Errors
    /// What opening gives there; `Crashed`.
    pub(super) fn open_inner(
        self: &Arc<Self>,
        task: &Task,
        source: &Source,
        options: &Options,
    ) -> Result<Document> {
        let opened: Opened = self.call(task, &Call::SourceOpen { options: options.clone() })?;
        Ok(Document {
            source: source.clone(),
            format: opened.format,
            root: Arc::new(opened.root),
            remarks: opened.remarks,
            broken_promise: opened.broken_promise,
            options: opened.options,
        })
    }
}

/// Copies elements to where they belong.
fn copy(bytes: &[u8], out: &mut [u8]) -> Result<()> {
    if bytes.len() != out.len() {
        return Err(wrong("elements of another number than were asked for"));
    }
    out.copy_from_slice(bytes);
    Ok(())
}

impl Drop for Handle {
    fn drop(&mut self) {
        let life = self.link.state.try_lock();
        let Some(connection) = life.as_ref().and_then(|life| life.connection.as_ref()) else { return };
        let at = *self.made.at.lock();
        if at.generation == connection.generation {
            connection.release((at.request, self.ordinal));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_of_a_reader_waits_for_no_other_one() {
        let source = Source::memory("a.pkl", vec![1]);
        let link = Arc::new(Link {
            spec: Spec::Bytes { name: "a.pkl".to_owned(), bytes: vec![1].into() },
            options: Options::default(),
            source: source.clone(),
            limits: Limits::default(),
            state: Mutex::default(),
            closed: OnceLock::new(),
            refused: Mutex::default(),
        });
        assert!(crash_of(&source).is_none() && refused_to(&source).is_empty());
        link.refused.lock().push("/data/images".into());
        // As while a reader is started.
        let held = link.state.lock();
        link.close(Error::crashed("the first reason"));
        link.close(Error::crashed("another one"));
        assert_eq!(crash_of(&source).map(|error| error.message()), Some("the first reason".to_owned()));
        assert_eq!(refused_to(&source), [PathBuf::from("/data/images")]);
        drop(held);
        drop(link);
        assert!(crash_of(&source).is_none(), "nobody has it any more");
    }
}
