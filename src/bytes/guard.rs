//! A panic becomes an error: of a reader with its place, of a decoder that is not ours as what is wrong with the file.

use super::error::{Error, Result};
use parking_lot::Mutex;
use std::cell::Cell;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

/// Runs a reader; a panic in it becomes an error of the class `Bug` that says where in the source it was.
pub fn guarded<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    caught(work, |words, place| {
        let place = place.map_or(String::new(), |place| format!(" ({place})"));
        Error::bug(format!("a reader panicked: {words}{place}"))
    })
}

/// The same for decoders that are not ours and that panic on bytes which break their format's rules:
/// a panic says that `what` (the footer, a column) is malformed.
pub fn catch_decoder_panic<T>(what: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let outer = DISTRUSTED.replace(true);
    let done = caught(work, |words, _| Error::malformed(format!("{what} cannot be decoded: {words}")));
    DISTRUSTED.set(outer);
    done
}

/// The same for what cannot fail: what is not known after a panic is `otherwise`.
pub fn known<T>(otherwise: T, work: impl FnOnce() -> T) -> T {
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
    let start = file.rfind("/src/").and_then(|src| file.get(..src)?.rfind('/'));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::error::ErrorKind;

    #[test]
    fn other_peoples_decoders_are_the_files_fault() {
        let error = catch_decoder_panic::<()>("the footer", || panic!("index out of bounds")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Malformed);
        assert_eq!(error.message(), "malformed the footer cannot be decoded: index out of bounds");
    }

    #[test]
    fn places_are_told_from_the_crate_on() {
        assert_eq!(
            in_crate("/home/u/.cargo/registry/src/index-1/chrono-0.4.45/src/lib.rs"),
            "chrono-0.4.45/src/lib.rs"
        );
        assert_eq!(in_crate("src/formats/array/npy.rs"), "src/formats/array/npy.rs");
        assert_eq!(in_crate("/rustc/abc/library/core/src/option.rs"), "core/src/option.rs");
    }
}
