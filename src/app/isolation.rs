//! Readers in processes of their own.

use gander::worker;
#[cfg(feature = "gui")]
use gander::{Error, Source};
use std::path::PathBuf;

/// The argument that asks for them.
pub(crate) const ARGUMENT: &str = "--isolate";
/// The argument that asks for none.
pub(crate) const NOT: &str = "--no-isolate";

/// From now on files are read in such processes, which may read these folders, too.
pub(crate) fn start(reads: &[PathBuf]) {
    worker::isolate(worker::Limits { reads: reads.to_vec(), ..Default::default() });
}

/// Whether a folder is one of files that are nothing together, or cannot be opened. That is found out in such a process.
pub(crate) fn is_of_any_files(folder: &std::path::Path) -> bool {
    let opened = worker::open(&gander::Task::new(), folder, &Default::default(), &worker::Limits::default());
    opened.map_or(true, |document| document.format.id == gander::formats::plain::folder::FORMAT.id)
}

/// What this process does where it is a worker of another one: its exit status.
pub(crate) fn work() -> Option<std::process::ExitCode> {
    let is_worker = std::env::args_os().nth(1).is_some_and(|word| word == worker::ARGUMENT);
    is_worker.then(worker::serve)
}

/// Makes the first of them ready. To be called before there is a second thread.
pub(crate) fn prepare() {
    worker::fork_first();
}

/// What was made ready is not needed.
#[cfg(feature = "gui")]
pub(crate) fn unprepare() {
    worker::drop_spare();
}

/// One more is made ready, for the next file.
#[cfg(feature = "gui")]
pub(crate) fn prepare_next() {
    if worker::is_on() {
        worker::keep_spare();
    }
}

/// This thread draws: what it asks readers for must be there at once.
#[cfg(feature = "gui")]
pub(crate) fn never_wait_here() {
    worker::never_wait_here();
}

/// How the reader of these bytes ended, if it did.
#[cfg(feature = "gui")]
pub(crate) fn crash_of(source: &Source) -> Option<Error> {
    worker::crash_of(source)
}

/// The folders of what a document of these bytes names and its reader may not open.
#[cfg(feature = "gui")]
pub(crate) fn refused_folders(source: &Source) -> Vec<PathBuf> {
    worker::refused_to(source)
}

/// From now on readers may read this folder, too.
#[cfg(feature = "gui")]
pub(crate) fn allow(folder: &std::path::Path) {
    worker::allow(folder);
}

/// Decoded bytes that readers keep, in bytes.
#[cfg(feature = "gui")]
pub(crate) fn kept() -> u64 {
    worker::kept()
}

/// The numbers of the processes that read.
#[cfg(feature = "gui")]
pub(crate) fn processes() -> Vec<u32> {
    worker::processes()
}

/// Has readers give back what is more than may be kept by now.
#[cfg(feature = "gui")]
pub(crate) fn make_room() {
    worker::make_room();
}

/// Whether files are read so.
#[cfg(feature = "gui")]
pub(crate) fn is_on() -> bool {
    worker::is_on()
}

/// How files are read, in a sentence.
#[cfg(feature = "gui")]
pub(crate) fn words() -> String {
    match (worker::is_on(), worker::level()) {
        (false, _) => HERE.to_owned(),
        (true, None) => "Each file is read in a process of its own.".to_owned(),
        (true, Some(level)) => format!("Each file is read {}.", level.words()),
    }
}

/// What is said where files are read in the window's own process.
#[cfg(feature = "gui")]
const HERE: &str = "Files are read in this process; the settings say whether each is read in one of its own.";
