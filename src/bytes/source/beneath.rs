//! Many small files of a folder that are read whole: opened without a map of each, and never outside of the folder.

use crate::bytes::error::{Error, Result};
#[cfg(target_os = "linux")]
use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// An open file of a folder.
#[derive(Debug)]
pub struct FileBeneath {
    file: File,
    len: u64,
}

impl FileBeneath {
    /// Opens the file of this name below a folder; `name` may have folders. `None` where it cannot be opened in this way: it
    /// is not there, is no file, a link leads out of the folder, or the system has no `openat2` (Linux before 5.6).
    #[cfg(target_os = "linux")]
    pub fn open(folder: &Path, name: &str) -> Option<FileBeneath> {
        let folder =
            rustix::fs::open(folder, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
                .ok()?;
        // A pipe would wait for its writer.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file =
            openat2(&folder, name, flags, Mode::empty(), ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS);
        let file = File::from(file.ok()?);
        let meta = file.metadata().ok()?;
        meta.is_file().then(|| FileBeneath { len: meta.len(), file })
    }

    /// Elsewhere files are opened as every other source.
    #[cfg(not(target_os = "linux"))]
    pub fn open(_folder: &Path, _name: &str) -> Option<FileBeneath> {
        None
    }

    /// Its length in bytes when it was opened.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All of its bytes.
    ///
    /// # Errors
    /// `Io`, also where the file has become longer or shorter.
    pub fn read(mut self) -> Result<Vec<u8>> {
        let len =
            usize::try_from(self.len).map_err(|_| Error::limit("a file that is larger than the memory"))?;
        let mut bytes = Vec::with_capacity(len);
        Read::by_ref(&mut self.file).take(self.len).read_to_end(&mut bytes)?;
        match bytes.len() == len {
            true => Ok(bytes),
            false => Err(Error::io("a file became shorter while it was read")),
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_the_folder_are_opened() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("set");
        std::fs::create_dir_all(folder.join("a")).unwrap();
        std::fs::write(folder.join("a/1.bin"), b"one").unwrap();
        std::fs::write(root.path().join("secret"), b"secret").unwrap();
        std::os::unix::fs::symlink("../secret", folder.join("out")).unwrap();
        std::os::unix::fs::symlink("a/1.bin", folder.join("in")).unwrap();
        std::os::unix::fs::symlink(root.path(), folder.join("above")).unwrap();
        for name in ["a/1.bin", "in"] {
            let file = FileBeneath::open(&folder, name).unwrap();
            assert_eq!((file.len(), file.is_empty()), (3, false));
            assert_eq!(file.read().unwrap(), b"one");
        }
        for name in ["out", "above/secret", "../secret", "/etc/passwd", "a", "none", ""] {
            assert!(FileBeneath::open(&folder, name).is_none(), "{name}");
        }
    }
}
