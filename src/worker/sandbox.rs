//! What a worker shuts itself in with before it looks at the first byte of a file, as far as the system has such.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
use linux as system;

#[cfg(windows)]
mod windows;
#[cfg(windows)]
use windows as system;

#[cfg(not(any(target_os = "linux", windows)))]
mod posix;
#[cfg(not(any(target_os = "linux", windows)))]
use posix as system;

use super::wire::choice;
use crate::bytes::error::{Error, Result};
use std::path::PathBuf;

/// How well a worker is shut in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// It is a process of its own, and nothing else (macOS).
    Process,
    /// It starts no program, and takes no more memory than it may (Windows).
    Job,
    /// It calls nothing that makes processes, opens sockets or writes to files; which files it reads the system does not
    /// bound (Linux before 5.13).
    Calls,
    /// It reads what is below the document's folder, and nothing else (Linux).
    Files,
}

choice!(Level { 0 Process; 1 Job; 2 Calls; 3 Files; });

impl Level {
    /// The level in words.
    pub fn words(self) -> &'static str {
        match self {
            Level::Process => "in a process of its own",
            Level::Job => "in a process of its own that cannot start programs",
            Level::Calls => "in a process of its own that cannot write, start programs or use the network",
            Level::Files => {
                "in a process of its own that reads the document's folder only and cannot write, start programs or \
                 use the network"
            }
        }
    }
}

/// Shuts this process in, for good: `folders` are what it may open, `memory` the bytes that it may take. On Linux it must have
/// one thread yet.
///
/// # Errors
/// Where the system refuses what it knows.
pub(super) fn enter(folders: &[PathBuf], memory: u64) -> Result<Level> {
    system::enter(folders, memory).map_err(|error| {
        Error::io(format!(
            "the reader's process cannot be shut in: {error}; --no-isolate reads files without it"
        ))
    })
}

/// Sets a limit of the system. Who started this program may have set one that is lower.
#[cfg(unix)]
fn bound(resource: rustix::process::Resource, most: u64) -> rustix::io::Result<()> {
    let known = rustix::process::getrlimit(resource).maximum;
    let most = Some(known.map_or(most, |known| known.min(most)));
    rustix::process::setrlimit(resource, rustix::process::Rlimit { current: most, maximum: most })
}
