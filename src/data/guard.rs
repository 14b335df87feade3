//! The guard: whatever a reader does with a file's bytes, a panic in it ends as an error with its place.
//!
//! It stands at one depth: where a format hands out what it made. [`node`] is called on the root that a format's
//! `open` returns; it puts a guard around the content, the children and whatever else of the node reads, and the
//! children that come out of a guarded list are guarded themselves. So every read, list, count, survey and layout of
//! a [`Document`](crate::Document) passes through here, whoever asks: a view, a command, a query, a writer.
//!
//! What other people's decoders do on broken bytes is [`distrusted`] where it is called: there a panic is the file's
//! fault and no mistake of Gander.

mod contents;

use crate::data::content::Content;
use crate::bytes::error::{Error, Result};
use crate::data::node::{Children, Listing, Node, Survey, Timeline, Version, Versions};
use crate::bytes::task::Task;
pub(crate) use contents::GuardedStream;
use contents::{GuardedArray, GuardedImage, GuardedTable};
use parking_lot::Mutex;
use std::cell::Cell;
use std::collections::VecDeque;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Once};

/// Runs a reader; a panic in it becomes an error of the class `Bug` that says where in the source it was.
pub fn guarded<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    caught(work, |words, place| {
        let place = place.map_or(String::new(), |place| format!(" ({place})"));
        Error::bug(format!("a reader panicked: {words}{place}"))
    })
}

/// The same for decoders that are not ours and that panic on bytes which break their format's rules:
/// a panic says that `what` (the footer, a column) is malformed.
pub fn distrusted<T>(what: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let outer = DISTRUSTED.replace(true);
    let done = caught(work, |words, _| Error::malformed(format!("{what} cannot be decoded: {words}")));
    DISTRUSTED.set(outer);
    done
}

/// The same for what cannot fail: what is not known after a panic is `otherwise`.
fn known<T>(otherwise: T, work: impl FnOnce() -> T) -> T {
    guarded(|| Ok(work())).unwrap_or(otherwise)
}

thread_local! {
    /// How many guards stand around what this thread does.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    /// Whether a panic is the file's fault, so that nobody wants its trace.
    static DISTRUSTED: Cell<bool> = const { Cell::new(false) };
}

/// Where the last panics were, with their words: a panic in a pool's thread is caught in another.
static PLACES: Mutex<VecDeque<(String, String)>> = Mutex::new(VecDeque::new());
/// How many of them are kept.
const KEPT: usize = 16;

/// Notes where a panic is. Of one that a guard catches nothing is printed: it becomes an error, which says it
/// (a mistake of Gander with its trace where `RUST_BACKTRACE` asks for one).
fn note_places() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            // What panics in a pool's thread is thrown again where somebody waits for it.
            let caught = DEPTH.get() > 0 || rayon::current_thread_index().is_some();
            let traced = std::env::var_os("RUST_BACKTRACE").is_some_and(|value| value != "0");
            if !caught || traced && !DISTRUSTED.get() {
                before(info);
            }
            if let Some(place) = info.location() {
                let mut places = PLACES.lock();
                places.truncate(KEPT - 1);
                let place = format!("{}:{}", in_crate(place.file()), place.line());
                places.push_front((words_of(info.payload()), place));
            }
        }));
    });
}

/// The path of a source file from its crate on, whatever machine it was built on.
fn in_crate(file: &str) -> &str {
    let start = file.rfind("/src/").and_then(|src| file[..src].rfind('/'));
    start.and_then(|start| file.get(start + 1..)).unwrap_or(file)
}

/// What a panic says.
fn words_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "the decoder gave up without words".to_owned())
}

/// What an unwrapped error says at its heart; the places in the decoder's source around it help nobody.
fn innermost(words: &str) -> &str {
    let inner = words.split_once("error: \"").and_then(|(_, rest)| rest.split('"').next());
    inner.unwrap_or_else(|| words.split(", location: ").next().unwrap_or(words))
}

fn caught<T>(work: impl FnOnce() -> Result<T>, error: impl FnOnce(&str, Option<&str>) -> Error) -> Result<T> {
    note_places();
    DEPTH.set(DEPTH.get() + 1);
    let done = catch_unwind(AssertUnwindSafe(work));
    DEPTH.set(DEPTH.get() - 1);
    done.unwrap_or_else(|panic| {
        let words = words_of(panic.as_ref());
        let place = PLACES.lock().iter().find(|(said, _)| *said == words).map(|(_, place)| place.clone());
        Err(error(innermost(&words), place.as_deref()))
    })
}

/// The node with a guard around everything of it that reads.
pub fn node(mut node: Node) -> Node {
    if node.guarded {
        return node;
    }
    node.guarded = true;
    node.content = node.content.map(content);
    node.children = match node.children {
        Children::None => Children::None,
        Children::Listed(list) => {
            let list = Arc::try_unwrap(list).unwrap_or_else(|shared| shared.as_ref().clone());
            Children::Listed(Arc::new(list.into_iter().map(shared).collect()))
        }
        Children::Lazy(list) => Children::Lazy(Arc::new(GuardedListing(list))),
    };
    node.survey = node.survey.map(|survey| Arc::new(GuardedSurvey(survey)) as Arc<dyn Survey>);
    node.timeline = node
        .timeline
        .map(|timeline| Timeline { versions: Arc::new(GuardedVersions(timeline.versions)), at: timeline.at });
    node
}

/// The same of a node that others may have, too.
pub fn shared(shared: Arc<Node>) -> Arc<Node> {
    if shared.guarded {
        return shared;
    }
    Arc::new(node(Arc::try_unwrap(shared).unwrap_or_else(|shared| shared.as_ref().clone())))
}

/// Content with a guard around it.
pub fn content(content: Content) -> Content {
    match content {
        Content::Table(table) => Content::Table(GuardedTable::around(table)),
        Content::Array(array) => Content::Array(GuardedArray::around(array)),
        Content::Image(image) => Content::Image(Arc::new(GuardedImage(image))),
        // These are no traits: `Text` guards its own methods, and `Source` the streams that it is made of.
        content @ (Content::Text(_) | Content::Bytes(_)) => content,
    }
}

struct GuardedListing(Arc<dyn Listing>);

impl Listing for GuardedListing {
    fn count(&self) -> Option<u64> {
        known(None, || self.0.count())
    }

    fn page(&self, task: &Task, range: Range<u64>) -> Result<Vec<Arc<Node>>> {
        Ok(guarded(|| self.0.page(task, range))?.into_iter().map(shared).collect())
    }

    fn at_least(&self) -> u64 {
        known(0, || self.0.at_least())
    }

    fn soon(&self, task: &Task, range: Range<u64>) -> Result<(Vec<Arc<Node>>, bool)> {
        let (nodes, whole) = guarded(|| self.0.soon(task, range))?;
        Ok((nodes.into_iter().map(shared).collect(), whole))
    }

    fn measure(&self, task: &Task) -> Result<()> {
        guarded(|| self.0.measure(task))
    }

    fn resolve(&self, task: &Task) -> Result<Option<Arc<Node>>> {
        Ok(guarded(|| self.0.resolve(task))?.map(shared))
    }

    fn find(&self, task: &Task, name: &str) -> Result<Option<Arc<Node>>> {
        Ok(guarded(|| self.0.find(task, name))?.map(shared))
    }
}

struct GuardedSurvey(Arc<dyn Survey>);

impl Survey for GuardedSurvey {
    fn kind(&self) -> &'static str {
        self.0.kind()
    }

    fn survey(&self, task: &Task) -> Result<Vec<(&'static str, serde_json::Value)>> {
        guarded(|| self.0.survey(task))
    }
}

struct GuardedVersions(Arc<dyn Versions>);

impl Versions for GuardedVersions {
    fn count(&self) -> usize {
        known(0, || self.0.count())
    }

    fn current(&self) -> Option<usize> {
        known(None, || self.0.current())
    }

    fn name(&self, n: usize) -> String {
        known(String::new(), || self.0.name(n))
    }

    fn about(&self, task: &Task, n: usize) -> Result<Version> {
        guarded(|| self.0.about(task, n))
    }
}

#[cfg(test)]
mod tests;
