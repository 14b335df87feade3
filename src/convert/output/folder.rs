//! A folder of many files as one result: made under a temporary name beside the target and renamed when it
//! is whole. A folder that is there already is never replaced.

use super::{BUFFER, begun, copied, exists, explained, said};
use crate::bytes::error::{Error, Result};
use crate::bytes::source::Source;
use crate::bytes::system;
use crate::bytes::task::Task;
use crate::data::format::{Files, Sink};
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Component, Path, PathBuf};

/// The longest name of a file, in bytes, on the file systems in use.
const NAME: usize = 255;

/// A folder that is being written. Dropped without [`Folder::commit`], it leaves no trace.
pub struct Folder {
    /// Open and locked, so that others see that it is in use.
    handle: Option<File>,
    temp: PathBuf,
    target: PathBuf,
    /// The folder of the last key, which is there.
    last: PathBuf,
    bytes: u64,
    /// The files that were written piece by piece, whose lengths are known at the end.
    pieces: Vec<PathBuf>,
}

impl Folder {
    /// Starts a folder that will become `target`.
    ///
    /// # Errors
    /// Where there is anything of that name, or its own folder is missing or must not be written.
    pub fn create(target: &Path) -> Result<Folder> {
        if std::fs::symlink_metadata(target).is_ok() {
            let what = "it exists already; a folder is never replaced: choose another name";
            return Err(Error::io(what).in_file(target.display()));
        }
        let ((), temp, real) = begun(target, false, |temp| std::fs::create_dir(temp))?;
        let handle = File::open(&temp).ok();
        if let Some(handle) = &handle {
            let _ = system::lock(handle);
        }
        Ok(Folder { handle, last: temp.clone(), temp, target: real, bytes: 0, pieces: Vec::new() })
    }

    /// Starts again with an empty folder.
    pub fn restart(&mut self) -> Result<()> {
        for entry in std::fs::read_dir(&self.temp).map_err(said)?.flatten() {
            let path = entry.path();
            let folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if folder { std::fs::remove_dir_all(&path) } else { std::fs::remove_file(&path) }
                .map_err(said)?;
        }
        self.last.clone_from(&self.temp);
        self.bytes = 0;
        self.pieces.clear();
        Ok(())
    }

    /// Makes what was written the target: on the disk, then renamed. Returns the bytes of all files.
    pub fn commit(mut self) -> Result<u64> {
        let named = |e: std::io::Error| match e.kind() {
            std::io::ErrorKind::AlreadyExists => exists().in_file(self.target.display()),
            _ => said(e).in_file(self.target.display()),
        };
        for path in &self.pieces {
            let len = std::fs::metadata(path).map_err(said)?.len();
            self.bytes = self.bytes.saturating_add(len);
        }
        #[cfg(target_os = "linux")]
        if let Some(handle) = &self.handle {
            rustix::fs::syncfs(handle).map_err(|e| named(e.into()))?;
        }
        match system::rename_new(&self.temp, &self.target) {
            Ok(()) => {}
            // Without that call: a rename never replaces a folder that has something in it.
            Err(error) if system::has_no_rename_new(&error) => {
                std::fs::rename(&self.temp, &self.target).map_err(named)?;
            }
            Err(e) => return Err(named(e)),
        }
        self.handle = None;
        Ok(self.bytes)
    }
}

/// The path of a key below its folder.
pub(super) fn below(key: &str) -> Result<&Path> {
    let path = Path::new(key);
    if key.is_empty() || !path.components().all(|part| matches!(part, Component::Normal(_))) {
        return Err(Error::bug(format!("the key {key:?} leads out of its folder")));
    }
    if let Some(long) = key.split('/').find(|part| part.len() > NAME) {
        let start: String = long.chars().take(40).collect();
        return Err(Error::unsupported(format!(
            "the name {start:?}… has {} bytes; names of files end at {NAME}",
            long.len()
        )));
    }
    Ok(path)
}

impl Folder {
    /// Makes the file of a key, with the folders that it lies in.
    fn begin(&mut self, key: &str) -> Result<(File, PathBuf)> {
        let path = self.temp.join(below(key)?);
        let folder = path.parent().unwrap_or(&self.temp);
        if folder != self.last {
            std::fs::create_dir_all(folder).map_err(said)?;
            self.last = folder.to_owned();
        }
        let made = OpenOptions::new().read(true).write(true).create_new(true).open(&path);
        let file = made.map_err(|e| match e.kind() {
            std::io::ErrorKind::AlreadyExists => {
                Error::unsupported(format!("two of its files are called {key:?}"))
            }
            _ => explained(e, &self.target).into(),
        })?;
        Ok((file, path))
    }
}

impl Files for Folder {
    fn put(&mut self, key: &str, bytes: &[u8]) -> Result<()> {
        let (mut file, _) = self.begin(key)?;
        file.write_all(bytes).map_err(|e| explained(e, &self.target))?;
        self.bytes = self.bytes.saturating_add(bytes.len() as u64);
        Ok(())
    }

    fn file(&mut self, key: &str) -> Result<Box<dyn Sink>> {
        let (file, path) = self.begin(key)?;
        self.pieces.push(path.clone());
        Ok(Box::new(Piece::new(file, path, self.target.clone())))
    }

    fn stem(&self) -> String {
        let name = self.target.file_name().unwrap_or_default().to_string_lossy();
        let stem = name.split('.').find(|part| !part.is_empty()).unwrap_or("data");
        stem.to_owned()
    }

    fn place(&self) -> Option<PathBuf> {
        let folder = self.target.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = std::fs::canonicalize(folder.unwrap_or(Path::new("."))).ok()?;
        Some(folder.join(self.target.file_name()?))
    }
}

/// A file of the folder that is written piece by piece.
pub(super) struct Piece {
    file: BufWriter<File>,
    path: PathBuf,
    target: PathBuf,
    beside: Vec<(String, Piece)>,
}

impl Piece {
    /// A file at `path`, which is still empty, of the folder `target`.
    pub(super) fn new(file: File, path: PathBuf, target: PathBuf) -> Piece {
        Piece { file: BufWriter::with_capacity(BUFFER, file), path, target, beside: Vec::new() }
    }
}

impl Write for Piece {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.file.write(bytes).map_err(|e| explained(e, &self.target))
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.beside.iter_mut().try_for_each(|(_, file)| file.flush())?;
        self.file.flush().map_err(|e| explained(e, &self.target))
    }
}

impl Seek for Piece {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        self.file.seek(to).map_err(|e| explained(e, &self.target))
    }
}

impl Sink for Piece {
    fn copy(&mut self, task: &Task, source: &Source, range: Range<u64>) -> Result<()> {
        copied(&mut self.file, task, source, range)
    }

    fn path(&self) -> Option<&Path> {
        Some(&self.path)
    }

    fn name(&self) -> Option<&str> {
        self.path.file_name()?.to_str()
    }

    fn beside(&mut self, extension: &str) -> Result<Option<&mut dyn Sink>> {
        let known = self.beside.iter().position(|(known, _)| known == extension);
        let place = match known {
            Some(place) => place,
            None => {
                let path = self.path.with_extension(extension);
                let failed = |e| Error::from(explained(e, &self.target));
                let file = OpenOptions::new().write(true).create_new(true).open(&path).map_err(failed)?;
                let target = self.target.clone();
                self.beside.push((extension.to_owned(), Piece::new(file, path, target)));
                self.beside.len() - 1
            }
        };
        Ok(self.beside.get_mut(place).map(|(_, file)| file as &mut dyn Sink))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // After a commit there is no such name any more.
        if self.handle.take().is_some() || self.temp.exists() {
            let _ = std::fs::remove_dir_all(&self.temp);
        }
        super::journal::forget(&self.temp);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_or_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("out.zarr");
        let mut output = Folder::create(&target).unwrap();
        output.put("a/b/c", b"123").unwrap();
        assert!(
            output.put("../x", b"").is_err()
                && output.put("/x", b"").is_err()
                && output.put("", b"").is_err()
        );
        drop(output);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        let mut output = Folder::create(&target).unwrap();
        output.put("half", b"12").unwrap();
        output.restart().unwrap();
        output.put("a/b", b"123").unwrap();
        output.put("a/c", b"4").unwrap();
        assert_eq!(output.commit().unwrap(), 4);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        assert_eq!(std::fs::read(target.join("a/b")).unwrap(), b"123");
        assert!(!target.join("half").exists());
        assert!(Folder::create(&target).err().unwrap().to_string().contains("exists"));
    }

    #[test]
    fn a_target_that_appears_meanwhile_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("out.zarr");
        let mut output = Folder::create(&target).unwrap();
        output.put("a", b"123").unwrap();
        std::fs::create_dir(&target).unwrap();
        assert!(output.commit().unwrap_err().to_string().contains("exists"));
        assert_eq!(std::fs::read_dir(&target).unwrap().count(), 0);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
