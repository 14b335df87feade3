//! Files that another program writes to while they are read: which changes of a file leave what was there as it was.

use super::Source;
use super::map::MappedFile;
use crate::bytes::error::Result;
use crate::bytes::system::FileIdentity;
use std::path::Path;

/// How a file changes while it is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Growth {
    /// Not at all: any change is an error.
    #[default]
    Fixed,
    /// Bytes are added behind those that are there, which stay. Whether they did is told by the beginning and the end of
    /// what was there; the length of a source stays what it was when it was opened.
    Appended,
    /// In any place, in a way that its format allows: who reads it finds out itself whether what it has read is of one
    /// state. Only a file that becomes shorter is an error.
    Live,
}

impl Source {
    /// Says how the file that the bytes are in may change from now on; nothing for bytes that are in no file.
    ///
    /// # Errors
    /// Those of reading.
    pub fn grows(&self, growth: Growth) -> Result<()> {
        self.file().map_or(Ok(()), |file| file.grows(growth))
    }

    /// Whether the file may change while it is read.
    pub fn may_grow(&self) -> bool {
        self.file().is_some_and(|file| file.growth() != Growth::Fixed)
    }

    /// Whether the file has changed since it was opened in the way that it may, and lies under its path still, so that it is
    /// to be opened again. Reads a few kilobytes.
    pub fn has_grown(&self) -> bool {
        let (Some(file), Some(path)) = (self.file(), self.path()) else { return false };
        is_there(file, path) && file.has_grown()
    }
}

/// Whether `path` leads to this file and to no other one that was put in its place.
fn is_there(file: &MappedFile, path: &Path) -> bool {
    FileIdentity::at(path).is_ok_and(|found| file.is(found.device, found.inode))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::task::Task;
    use std::io::Write;

    #[test]
    fn what_is_appended_leaves_what_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        let task = Task::new();
        let text = b"a,b\n1,2\n".repeat(1000);
        std::fs::write(&path, &text).unwrap();
        let source = Source::open(&task, &path).unwrap();
        source.grows(Growth::Appended).unwrap();
        assert!(source.may_grow() && !source.has_grown());
        let append = |bytes: &[u8]| {
            std::fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(bytes).unwrap();
        };
        append(b"3,4\n");
        assert!(source.has_grown());
        // The bytes that were there can be read as long as they stay.
        assert_eq!(source.read(&task, 0..4).unwrap(), &b"a,b\n"[..]);
        assert_eq!(source.known_len(), Some(text.len() as u64));
        append(b"5,6\n");
        assert_eq!(source.read(&task, 4..8).unwrap(), &b"1,2\n"[..]);
        // Another beginning or end is another file.
        for place in [0, text.len() - 2] {
            let mut other = text.clone();
            other[place] = b'9';
            other.extend(b"more,and more\n");
            std::fs::write(&path, &other).unwrap();
            assert!(!source.has_grown());
            assert!(source.read(&task, 0..4).is_err());
        }
        std::fs::write(&path, &text[..100]).unwrap();
        assert!(!source.has_grown());
        assert!(source.read(&task, 0..4).is_err());
    }

    #[test]
    fn a_file_in_its_place_is_another_one() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("a.csv"), folder.path().join("b.csv"));
        std::fs::write(&path, "a\n1\n").unwrap();
        std::fs::write(&other, "a\n1\n2\n").unwrap();
        let source = Source::open(&Task::new(), &path).unwrap();
        source.grows(Growth::Appended).unwrap();
        std::fs::rename(&other, &path).unwrap();
        assert!(!source.has_grown());
    }

    #[test]
    fn a_file_that_may_not_grow_is_changed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npy");
        std::fs::write(&path, "1234").unwrap();
        let source = Source::open(&Task::new(), &path).unwrap();
        std::fs::write(&path, "123456").unwrap();
        assert!(!source.may_grow() && !source.has_grown());
        assert!(source.read(&Task::new(), 0..2).is_err());
        let source = Source::open(&Task::new(), &path).unwrap();
        source.grows(Growth::Live).unwrap();
        std::fs::write(&path, "12_45678").unwrap();
        assert!(source.has_grown());
        assert_eq!(source.read(&Task::new(), 0..3).unwrap(), &b"12_"[..]);
        std::fs::write(&path, "12").unwrap();
        assert!(source.read(&Task::new(), 0..2).is_err());
    }
}
