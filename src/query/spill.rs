//! Folders for what queries put on the disk while they run: each query has its own, which goes with its threads, or at
//! the latest when [`remove_spilled`] is called before the process ends.

use crate::bytes::error::{Error, Result};
use crate::bytes::system;
use parking_lot::Mutex;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Folders that are there.
static FOLDERS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Removes the temporary files of queries whose threads still work: what they write afterwards has no place.
pub fn remove_spilled() {
    for folder in FOLDERS.lock().drain(..) {
        let _ = std::fs::remove_dir_all(folder);
    }
}

/// A query's folder of temporary files. It goes when this is dropped.
pub(super) struct SpillFolder(PathBuf);

impl SpillFolder {
    /// An empty folder among the system's temporary files, readable by nobody else.
    ///
    /// # Errors
    /// `Io` where it cannot be made.
    pub(super) fn create() -> Result<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        loop {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let path = std::env::temp_dir().join(format!("gander-query-{}-{number}", std::process::id()));
            match system::create_private_folder(&path) {
                Ok(()) => {
                    FOLDERS.lock().push(path.clone());
                    return Ok(SpillFolder(path));
                }
                // Of a process of the same number that was killed.
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => {
                    let place = path.display();
                    return Err(Error::io(format!("no folder for temporary files at {place}: {error}")));
                }
            }
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for SpillFolder {
    fn drop(&mut self) {
        FOLDERS.lock().retain(|folder| *folder != self.0);
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_go_with_their_query_or_before_the_process_ends() {
        let one = SpillFolder::create().unwrap();
        let path = one.path().to_owned();
        std::fs::write(path.join("run"), b"1").unwrap();
        drop(one);
        assert!(!path.exists());
    }
}
