//! macOS and other systems that have Unix' limits: no dumps of memory that a reader had, and no more open files than it needs.
//! <https://pubs.opengroup.org/onlinepubs/9799919799/functions/getrlimit.html>

use super::{Level, bound};
use crate::worker::limits;
use rustix::process::Resource;
use std::path::PathBuf;

/// Shuts this process in. What it opens is bounded by the library, its memory by nothing: these systems count maps of files
/// as memory, or do not count.
pub(super) fn enter(_folders: &[PathBuf], _memory: u64) -> rustix::io::Result<Level> {
    bound(Resource::Core, 0)?;
    bound(Resource::Nofile, limits::FILES)?;
    Ok(Level::Process)
}
