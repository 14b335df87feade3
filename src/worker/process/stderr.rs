//! What a process says before it dies, as the run-time system does when a stack overflows: so much of it, and no more.

use crate::worker::limits;
use std::io::Result;
use std::process::Stdio;

/// What was said at the end.
pub(super) struct CapturedStderr(Kept);

#[cfg(target_os = "linux")]
type Kept = rustix::fd::OwnedFd;

/// A thread reads all, and keeps the first of it.
#[cfg(not(target_os = "linux"))]
type Kept = std::sync::Arc<parking_lot::Mutex<Vec<u8>>>;

#[cfg(target_os = "linux")]
impl CapturedStderr {
    /// Memory of a fixed size that a process writes to, and what is given to the process.
    pub(super) fn new() -> Result<(Self, Stdio)> {
        use rustix::fs::{MemfdFlags, SealFlags};
        let memory = rustix::fs::memfd_create("gander", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        rustix::fs::ftruncate(&memory, limits::LAST_WORDS as u64)?;
        rustix::fs::fcntl_add_seals(&memory, SealFlags::GROW | SealFlags::SHRINK)?;
        let input = Stdio::from(memory.try_clone()?);
        Ok((CapturedStderr(memory), input))
    }

    /// Where a copy of this process is to write.
    pub(super) fn descriptor(&self) -> rustix::fd::RawFd {
        std::os::fd::AsRawFd::as_raw_fd(&self.0)
    }

    pub(super) fn text(&self) -> String {
        let mut bytes = vec![0; limits::LAST_WORDS];
        let count = rustix::io::pread(&self.0, &mut bytes[..], 0).unwrap_or(0);
        String::from_utf8_lossy(bytes.get(..count).unwrap_or_default()).trim_end_matches('\0').to_owned()
    }
}

#[cfg(not(target_os = "linux"))]
impl CapturedStderr {
    /// A pipe that a process writes to: what is given to the process.
    pub(super) fn new() -> Result<(Self, Stdio)> {
        use std::io::Read;
        let (mut from, to) = std::io::pipe()?;
        let kept = Kept::default();
        let all = kept.clone();
        let work = move || {
            let mut piece = [0; 1024];
            while let Ok(count @ 1..) = from.read(&mut piece) {
                let mut all = all.lock();
                let room = limits::LAST_WORDS - all.len();
                all.extend_from_slice(piece.get(..count.min(room)).unwrap_or_default());
            }
        };
        std::thread::Builder::new().name("last words".to_owned()).spawn(work)?;
        Ok((CapturedStderr(kept), Stdio::from(to)))
    }

    pub(super) fn text(&self) -> String {
        // The thread ends with the process, which has ended: it has time to read what there is.
        let since = std::time::Instant::now();
        while std::sync::Arc::strong_count(&self.0) > 1 && since.elapsed() < limits::ENDING {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        String::from_utf8_lossy(&self.0.lock()).into_owned()
    }
}
