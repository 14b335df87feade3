//! Many small files of one folder, each read whole: the chunks of a Zarr or N5 store. The folder is held
//! open, and each file is opened relative to it and read in one go, without a map.

use super::{Entry, Source, inside};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::task::Task;
use bytes::Bytes;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Component, Path, PathBuf};

/// A folder whose files are read whole. Names may have folders (`c/0/1`) but stay inside, also through
/// links.
pub struct Folder {
    path: PathBuf,
    #[cfg(target_os = "linux")]
    handle: File,
}

impl Source {
    /// This folder, for reading many of its files.
    ///
    /// # Errors
    /// `Bug` for a source that is no folder; `Io` where it cannot be opened.
    pub fn folder(&self) -> Result<Folder> {
        let path = self.folder_path()?.to_owned();
        Ok(Folder {
            #[cfg(target_os = "linux")]
            handle: File::open(&path).map_err(|e| Error::from(e).in_file(path.display()))?,
            path,
        })
    }
}

impl Folder {
    /// All bytes of a file, at most `most`; `None` where there is no such file (or a folder of that name).
    ///
    /// # Errors
    /// `Malformed` for a name that leads out, `Limit` for a larger file.
    pub fn load(&self, task: &Task, name: &str, most: u64) -> Result<Option<Bytes>> {
        task.check()?;
        let named = |e: std::io::Error| Error::from(e).in_file(self.path.join(name).display());
        let mut file = match self.open(name)? {
            Some(file) => file,
            None => return Ok(None),
        };
        let meta = file.metadata().map_err(named)?;
        if meta.is_dir() {
            return Ok(None);
        }
        if !meta.is_file() {
            return Err(Error::unsupported(format!("{name:?} is a device, socket or pipe")));
        }
        let mut out = Vec::new();
        let size = limits::check(meta.len(), most, name)?;
        out.try_reserve_exact(size)
            .map_err(|_| Error::limit(format!("{name} needs {size} bytes of memory, which are not there")))?;
        // A file that grows meanwhile is cut where it ended at first.
        file.by_ref().take(meta.len()).read_to_end(&mut out).map_err(named)?;
        Ok(Some(out.into()))
    }

    /// A file or folder as a source of its own (mapped, for reading parts of it); `None` where there is
    /// none.
    pub fn source(&self, task: &Task, name: &str) -> Result<Option<Source>> {
        task.check()?;
        let path = inside(&self.path, name)?;
        match std::fs::metadata(&path) {
            Err(e) if absent(&e) => Ok(None),
            _ => Source::open(task, &path).map(Some),
        }
    }

    /// The size of a file, without opening it; `None` where there is none.
    pub fn size(&self, task: &Task, name: &str) -> Result<Option<u64>> {
        task.check()?;
        let path = if is_plain(name) { self.path.join(name) } else { inside(&self.path, name)? };
        match std::fs::metadata(&path) {
            Ok(meta) => Ok(meta.is_file().then_some(meta.len())),
            Err(e) if absent(&e) => Ok(None),
            Err(e) => Err(Error::from(e).in_file(path.display())),
        }
    }

    /// What is in a folder of this one (`""` is itself), in natural order; nothing where there is none.
    pub fn entries(&self, task: &Task, name: &str) -> Result<Vec<Entry>> {
        let path = if name.is_empty() { self.path.clone() } else { inside(&self.path, name)? };
        match std::fs::metadata(&path) {
            Err(e) if absent(&e) => Ok(Vec::new()),
            Ok(meta) if !meta.is_dir() => Ok(Vec::new()),
            _ => Source::open(task, &path)?.entries(task),
        }
    }

    /// The path of what is called `name` in it.
    pub fn place(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Where a folder of this one really is, links resolved.
    pub fn real(&self, name: &str) -> Option<PathBuf> {
        std::fs::canonicalize(self.path.join(name)).ok()
    }

    #[cfg(target_os = "linux")]
    fn open(&self, name: &str) -> Result<Option<File>> {
        use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
        use rustix::io::Errno;
        if !is_plain(name) {
            return inside(&self.path, name).map(|_| None);
        }
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        match openat2(&self.handle, name, flags, Mode::empty(), ResolveFlags::BENEATH) {
            Ok(fd) => Ok(Some(fd.into())),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            // Links with an absolute target, and kernels that do not know the call.
            Err(_) => self.open_by_path(name),
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn open(&self, name: &str) -> Result<Option<File>> {
        self.open_by_path(name)
    }

    fn open_by_path(&self, name: &str) -> Result<Option<File>> {
        let path = inside(&self.path, name)?;
        match std::fs::metadata(&path) {
            Err(e) if absent(&e) => return Ok(None),
            Ok(meta) if meta.is_dir() => return Ok(None),
            Ok(meta) if !meta.is_file() => {
                return Err(Error::unsupported(format!("{name:?} is a device, socket or pipe")));
            }
            _ => {}
        }
        match File::open(&path) {
            Ok(file) => Ok(Some(file)),
            Err(e) if absent(&e) => Ok(None),
            Err(e) => Err(Error::from(e).in_file(path.display())),
        }
    }
}

/// Whether the error says that there is no such file.
fn absent(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// Whether a name has only parts that lead down.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && Path::new(name).components().all(|c| matches!(c, Component::Normal(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_whole_and_only_inside() {
        let folder = tempfile::tempdir().unwrap();
        let outside = folder.path().join("secret");
        std::fs::write(&outside, b"x").unwrap();
        let inner = folder.path().join("data");
        std::fs::create_dir_all(inner.join("c/0")).unwrap();
        std::fs::write(inner.join("c/0/1"), b"chunk").unwrap();
        std::os::unix::fs::symlink("c/0/1", inner.join("near")).unwrap();
        std::os::unix::fs::symlink(inner.join("c/0/1"), inner.join("absolute")).unwrap();
        std::os::unix::fs::symlink(&outside, inner.join("link")).unwrap();
        std::os::unix::fs::symlink("../secret", inner.join("up")).unwrap();
        let task = Task::new();
        let store = Source::open(&task, &inner).unwrap().folder().unwrap();
        for name in ["c/0/1", "near", "absolute"] {
            assert_eq!(store.load(&task, name, 100).unwrap().unwrap(), &b"chunk"[..], "{name}");
        }
        for name in ["c/0/2", "c/0", "c/0/1/2", "no/such"] {
            assert!(store.load(&task, name, 100).unwrap().is_none(), "{name}");
        }
        for name in ["../secret", "link", "up", "/etc/passwd", "", "c/../../secret"] {
            assert!(store.load(&task, name, 100).is_err(), "{name}");
        }
        assert!(store.load(&task, "c/0/1", 4).is_err());
        let names: Vec<String> = store.entries(&task, "c").unwrap().into_iter().map(|e| e.name).collect();
        assert_eq!(names, ["0"]);
        assert!(store.entries(&task, "nowhere").unwrap().is_empty());
        assert!(store.source(&task, "nowhere").unwrap().is_none());
    }
}
