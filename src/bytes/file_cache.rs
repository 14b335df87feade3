//! A folder of files that can be made again: bounded by bytes, the oldest go first. What the disk does not take or give is
//! made anew, without a word.

use super::source::Source;
use super::task::Task;
use bytes::Bytes;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::SystemTime;

/// The folder is looked through each time that so many bytes were added, and at first.
const CHECKED: u64 = 16 << 20;

/// The folder.
#[derive(Debug)]
pub struct FileCache {
    folder: PathBuf,
    /// Bytes that it may take.
    most: u64,
    /// Bytes that may still be added before it is looked through.
    room: AtomicU64,
    /// Counts files that are being written.
    next: AtomicU64,
}

impl FileCache {
    /// Files of a version in this folder, which is made when the first one is kept, of about `most` bytes. Another version
    /// does not read them.
    pub fn new(folder: &Path, version: u32, most: u64) -> Self {
        let folder = folder.join(version.to_string());
        FileCache { folder, most, room: AtomicU64::new(0), next: AtomicU64::new(0) }
    }

    /// Where a file lies: names begin with a hash, whose first letters are a folder.
    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name.get(..2).unwrap_or_default()).join(name)
    }

    /// The bytes of a file, of at most `most`; `None` where it is not there or larger.
    pub fn read(&self, task: &Task, name: &str, most: u64) -> Option<Bytes> {
        let source = Source::open(task, &self.path(name)).ok()?;
        let len = source.len(task).ok().filter(|len| *len <= most)?;
        source.read(task, 0..len).ok()
    }

    /// Keeps a file, and removes the oldest ones where there are too many.
    pub fn keep(&self, name: &str, bytes: &[u8]) {
        let is_full = self.room.fetch_update(Relaxed, Relaxed, |room| room.checked_sub(bytes.len() as u64));
        if is_full.is_err() {
            self.shrink();
            self.room.store(CHECKED, Relaxed);
        }
        let path = self.path(name);
        let Some(folder) = path.parent() else { return };
        // Whole or not at all: others may read it meanwhile.
        let number = self.next.fetch_add(1, Relaxed);
        let part = folder.join(format!("part-{}-{number}", std::process::id()));
        let written = fs::create_dir_all(folder)
            .and_then(|()| fs::write(&part, bytes))
            .and_then(|()| fs::rename(&part, &path));
        if written.is_err() {
            drop(fs::remove_file(&part));
        }
    }

    /// Removes the oldest files, where there are too many.
    fn shrink(&self) {
        let folders = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let files = folders.flat_map(|folder| fs::read_dir(folder.path()).into_iter().flatten().flatten());
        let facts = files.filter_map(|file| {
            let facts = file.metadata().ok()?;
            Some((facts.modified().unwrap_or(SystemTime::UNIX_EPOCH), facts.len(), file.path()))
        });
        let mut all: Vec<(SystemTime, u64, PathBuf)> = facts.collect();
        let mut bytes: u64 = all.iter().map(|(_, len, _)| len).sum();
        if bytes <= self.most {
            return;
        }
        all.sort();
        for (_, len, path) in all {
            if bytes <= self.most / 4 * 3 {
                break;
            }
            if fs::remove_file(path).is_ok() {
                bytes -= len;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_go_first() {
        let (folder, task) = (tempfile::tempdir().unwrap(), Task::new());
        let cache = FileCache::new(folder.path(), 7, 1_000);
        for n in 0..20 {
            cache.keep(&format!("{n:02}x"), &[n; 100]);
            cache.room.store(0, Relaxed);
        }
        let there: Vec<u8> =
            (0..20).filter(|n| cache.read(&task, &format!("{n:02}x"), 1_000).is_some()).collect();
        assert!((1..=13).contains(&there.len()), "{there:?}");
        assert_eq!(there.last(), Some(&19));
        assert_eq!(cache.read(&task, "19x", 1_000).as_deref(), Some(&[19; 100][..]));
        assert_eq!(cache.read(&task, "19x", 99), None);
        // Another version knows nothing of them.
        assert_eq!(FileCache::new(folder.path(), 8, 1_000).read(&task, "19x", 1_000), None);
    }
}
