//! Readers in processes of their own, as far as the system has what they are shut in with: Linux.

#[cfg(target_os = "linux")]
use gander::worker;
#[cfg(feature = "gui")]
use gander::{Error, Source};
use std::path::PathBuf;

/// The argument that asks for them.
pub(crate) const ARGUMENT: &str = "--isolate";
/// The argument that asks for none.
pub(crate) const NOT: &str = "--no-isolate";

/// From now on files are read in such processes, which may read these folders, too.
///
/// # Errors
/// In words, where the system has nothing to shut them in with.
#[cfg(target_os = "linux")]
pub(crate) fn start(reads: &[PathBuf]) -> Result<(), &'static str> {
    worker::isolate(worker::Limits { reads: reads.to_vec(), ..Default::default() });
    Ok(())
}

/// Whether a folder is one of files that are nothing together, or cannot be opened. That is found out in such a process.
#[cfg(target_os = "linux")]
pub(crate) fn is_of_any_files(folder: &std::path::Path) -> bool {
    let opened = worker::open(&gander::Task::new(), folder, &Default::default(), &worker::Limits::default());
    opened.map_or(true, |document| document.format.id == gander::formats::plain::folder::FORMAT.id)
}

/// What this process does where it is a worker of another one: its exit status.
#[cfg(target_os = "linux")]
pub(crate) fn work() -> Option<std::process::ExitCode> {
    let is_worker = std::env::args_os().nth(1).is_some_and(|word| word == worker::ARGUMENT);
    is_worker.then(worker::serve)
}

/// Makes the first of them ready. To be called before there is a second thread.
#[cfg(target_os = "linux")]
pub(crate) fn prepare() {
    worker::fork_first();
}

/// What was made ready is not needed.
#[cfg(all(feature = "gui", target_os = "linux"))]
pub(crate) fn unprepare() {
    worker::drop_spare();
}

/// One more is made ready, for the next file.
#[cfg(all(feature = "gui", target_os = "linux"))]
pub(crate) fn prepare_next() {
    if worker::is_on() {
        worker::keep_spare();
    }
}

/// This thread draws: what it asks readers for must be there at once.
#[cfg(all(feature = "gui", target_os = "linux"))]
pub(crate) fn never_wait_here() {
    worker::never_wait_here();
}

/// How the reader of these bytes ended, if it did.
#[cfg(all(feature = "gui", target_os = "linux"))]
pub(crate) fn crash_of(source: &Source) -> Option<Error> {
    worker::crash_of(source)
}

/// The folders of what a document of these bytes names and its reader may not open.
#[cfg(all(feature = "gui", target_os = "linux"))]
pub(crate) fn refused_folders(source: &Source) -> Vec<PathBuf> {
    worker::refused_to(source)
}

/// From now on readers may read this folder, too.
#[cfg(all(feature = "gui", target_os = "linux"))]
pub(crate) fn allow(folder: &std::path::Path) {
    worker::allow(folder);
}

/// Decoded bytes that readers keep, in bytes.
#[cfg(all(feature = "gui", target_os = "linux"))]
pub(crate) fn kept() -> u64 {
    worker::kept()
}

/// The numbers of the processes that read.
#[cfg(all(feature = "gui", target_os = "linux"))]
pub(crate) fn processes() -> Vec<u32> {
    worker::processes()
}

/// Has readers give back what is more than may be kept by now.
#[cfg(all(feature = "gui", target_os = "linux"))]
pub(crate) fn make_room() {
    worker::make_room();
}

/// Whether files can be read in processes of their own here.
#[cfg(feature = "gui")]
pub(crate) const CAN: bool = cfg!(target_os = "linux");

/// Whether they are.
#[cfg(all(feature = "gui", target_os = "linux"))]
pub(crate) fn is_on() -> bool {
    worker::is_on()
}

/// How files are read, in a sentence.
#[cfg(all(feature = "gui", target_os = "linux"))]
pub(crate) fn words() -> String {
    match (worker::is_on(), worker::level()) {
        (false, _) => HERE.to_owned(),
        (true, None) => "Each file is read in a process of its own.".to_owned(),
        (true, Some(level)) => format!("Each file is read {}.", level.words()),
    }
}

/// What is said where files are read in the window's own process.
#[cfg(feature = "gui")]
const HERE: &str =
    "Files are read in this process; the settings say whether each is read in one of its own (Linux).";

#[cfg(not(target_os = "linux"))]
pub(crate) use nowhere::*;

/// Where there are none.
#[cfg(not(target_os = "linux"))]
mod nowhere {
    use super::*;

    pub(crate) fn start(_reads: &[PathBuf]) -> Result<(), &'static str> {
        Err("--isolate: files are read in processes of their own on Linux only")
    }

    pub(crate) fn is_of_any_files(_folder: &std::path::Path) -> bool {
        false
    }

    pub(crate) fn work() -> Option<std::process::ExitCode> {
        None
    }

    pub(crate) fn prepare() {}

    #[cfg(feature = "gui")]
    pub(crate) fn unprepare() {}

    #[cfg(feature = "gui")]
    pub(crate) fn prepare_next() {}

    #[cfg(feature = "gui")]
    pub(crate) fn never_wait_here() {}

    #[cfg(feature = "gui")]
    pub(crate) fn crash_of(_source: &Source) -> Option<Error> {
        None
    }

    #[cfg(feature = "gui")]
    pub(crate) fn refused_folders(_source: &Source) -> Vec<PathBuf> {
        Vec::new()
    }

    #[cfg(feature = "gui")]
    pub(crate) fn allow(_folder: &std::path::Path) {}

    #[cfg(feature = "gui")]
    pub(crate) fn kept() -> u64 {
        0
    }

    #[cfg(feature = "gui")]
    pub(crate) fn processes() -> Vec<u32> {
        Vec::new()
    }

    #[cfg(feature = "gui")]
    pub(crate) fn make_room() {}

    #[cfg(feature = "gui")]
    pub(crate) fn is_on() -> bool {
        false
    }

    #[cfg(feature = "gui")]
    pub(crate) fn words() -> String {
        HERE.to_owned()
    }
}
