//! What each system does in a way of its own, under one set of names: who a file is, reads and writes at a place, locks,
//! names as bytes, room on a disk and in memory.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(crate) use unix::*;
#[cfg(windows)]
pub(crate) use windows::*;

/// What makes a file the one that was opened.
#[derive(PartialEq, Eq)]
pub(crate) struct FileIdentity {
    /// What the file lies on; with `inode`, which file it is, whatever leads to it.
    pub(crate) device: u64,
    /// Its number there.
    pub(crate) inode: u64,
    /// Its bytes.
    pub(crate) size: u64,
    /// When it was changed last: seconds and nanoseconds, or whatever else the system counts in.
    pub(crate) mtime: (i64, i64),
}
