//! Output files: the only room that creates files for results. A file is written whole or not at all:
//! a temporary one beside the target, flushed and synced, then renamed over it.
//!
//! The temporary name is `.NAME.gander-PID-N.tmp`, and its writer holds a lock on it, so what a killed
//! process left behind is told from what a living one is writing, and removed at the next run.

mod addition;
mod folder;
mod journal;

pub use addition::Addition;
pub use folder::Folder;
pub use journal::sweep;

use crate::bytes::error::{Error, ErrorKind, Result};
use crate::bytes::source::{self, Source};
use crate::bytes::system::{self, FileIdentity};
use crate::bytes::task::Task;
use crate::data::format::{Sink, copy_by_pieces};
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A file that is being written. Dropped without [`Output::commit`], it leaves no trace and the target
/// as it was.
pub struct Output {
    file: Option<BufWriter<File>>,
    temp: PathBuf,
    target: PathBuf,
    overwrite: bool,
    /// The files that belong to it, by their extensions.
    beside: Vec<(String, Output)>,
}

/// Bytes gathered before a write; large, so that writers may write small pieces.
const BUFFER: usize = 1 << 20;
/// The longest part of the target's name in the temporary one (file names end at 255 bytes).
const NAME: usize = 180;
const MARK: &[u8] = b".gander-";

/// What `make` made under a temporary name beside what will be `target`, that name, and the target's real path.
fn begun<T>(
    target: &Path,
    overwrite: bool,
    make: impl Fn(&Path) -> std::io::Result<T>,
) -> Result<(T, PathBuf, PathBuf)> {
    let named = |e: Error| e.in_file(target.display());
    let real = check_target(target, overwrite).map_err(named)?;
    let (folder, name) = parts(&real).map_err(named)?;
    clean(&folder, &name);
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    loop {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let temp = folder.join(temporary(&name, std::process::id(), number));
        // Before it is made: a process may be killed at any moment.
        journal::note(&temp);
        match make(&temp) {
            Ok(made) => return Ok((made, temp, real)),
            Err(e) => {
                journal::forget(&temp);
                if e.kind() != std::io::ErrorKind::AlreadyExists {
                    return Err(named(said(e)));
                }
            }
        }
    }
}

impl Output {
    /// Starts a file that will become `target`.
    ///
    /// # Errors
    /// Where `target` exists and `overwrite` is not given, is a folder, is open as a source (through
    /// whatever link), or lies in a folder that is missing or must not be written.
    pub fn create(target: &Path, overwrite: bool) -> Result<Output> {
        let make = |temp: &Path| OpenOptions::new().read(true).write(true).create_new(true).open(temp);
        let (file, temp, real) = begun(target, overwrite, make)?;
        // A file system without locks still has the process number in the name.
        let _ = system::lock(&file);
        if let Ok(old) = std::fs::metadata(&real) {
            let _ = file.set_permissions(old.permissions());
        }
        let file = Some(BufWriter::with_capacity(BUFFER, file));
        Ok(Output { file, temp, target: real, overwrite, beside: Vec::new() })
    }

    /// Starts again with an empty file.
    pub fn restart(&mut self) -> Result<()> {
        self.beside.clear();
        self.rewind().map_err(said)?;
        self.writer().and_then(|w| w.get_mut().set_len(0)).map_err(said)
    }

    /// Makes what was written the target: flushed, on the disk, renamed. Returns its length in bytes.
    pub fn commit(mut self) -> Result<u64> {
        let target = self.target.clone();
        self.finish().map_err(|e| e.in_file(target.display()))
    }

    fn finish(&mut self) -> Result<u64> {
        let writer = self.file.take().ok_or_else(|| Error::bug("an output was committed twice"))?;
        let file = writer.into_inner().map_err(|e| said(e.into_error()))?;
        file.sync_all().map_err(said)?;
        let len = file.metadata().map_err(said)?.len();
        let beside = std::mem::take(&mut self.beside);
        self.rename().map_err(|e| match e.kind() {
            std::io::ErrorKind::AlreadyExists => exists(),
            _ => said(e),
        })?;
        // The name is durable once its folder is; a failure here leaves a whole file, so it is no error.
        if let Some(folder) = self.target.parent() {
            let _ = system::sync_folder(folder);
        }
        // An index without its file would be worse than a file without its index.
        beside.into_iter().try_fold(len, |len, (_, file)| Ok(len.saturating_add(file.commit()?)))
    }

    /// Moves the temporary file into place. Without consent it never replaces a file, not even one that
    /// appeared a moment ago.
    fn rename(&self) -> std::io::Result<()> {
        if self.overwrite {
            return std::fs::rename(&self.temp, &self.target);
        }
        match system::rename_new(&self.temp, &self.target) {
            // File systems that cannot do it: a second name fails where there is a file, too.
            Err(error) if system::has_no_rename_new(&error) => {
                std::fs::hard_link(&self.temp, &self.target)?;
                std::fs::remove_file(&self.temp)
            }
            other => other,
        }
    }

    fn writer(&mut self) -> std::io::Result<&mut BufWriter<File>> {
        self.file.as_mut().ok_or_else(|| std::io::Error::other("the output is closed"))
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.writer()?.write(bytes).map_err(|e| explained(e, &self.target))
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.writer()?.flush().map_err(|e| explained(e, &self.target))
    }
}

impl Seek for Output {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        self.writer()?.seek(to).map_err(|e| explained(e, &self.target))
    }
}

impl Sink for Output {
    fn expect(&mut self, bytes: u64) -> Result<()> {
        check_space(&self.target, bytes)
    }

    fn copy(&mut self, task: &Task, source: &Source, range: Range<u64>) -> Result<()> {
        let file = self.file.as_mut().ok_or_else(|| Error::bug("the output is closed"))?;
        copied(file, task, source, range).map_err(|e| named(e, &self.target))
    }

    fn path(&self) -> Option<&Path> {
        Some(&self.temp)
    }

    fn name(&self) -> Option<&str> {
        self.target.file_name()?.to_str()
    }

    fn beside(&mut self, extension: &str) -> Result<Option<&mut dyn Sink>> {
        let known = self.beside.iter().position(|(known, _)| known == extension);
        let place = match known {
            Some(place) => place,
            None => {
                let target = self.target.with_extension(extension);
                self.beside.push((extension.to_owned(), Output::create(&target, self.overwrite)?));
                self.beside.len() - 1
            }
        };
        Ok(self.beside.get_mut(place).map(|(_, file)| file as &mut dyn Sink))
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if let Some(writer) = self.file.take() {
            // Not `drop(writer)`: what is still in its buffer is not wanted any more.
            let _ = writer.into_parts();
        }
        // After a commit there is no such name any more.
        let _ = std::fs::remove_file(&self.temp);
        journal::forget(&self.temp);
    }
}

/// Whether a result may be written to `target`; the path that it would be written to, links followed.
///
/// # Errors
/// As [`Output::create`].
pub fn check_target(target: &Path, overwrite: bool) -> Result<PathBuf> {
    let Ok(here) = std::fs::symlink_metadata(target) else {
        let (folder, _) = parts(target)?;
        return match std::fs::metadata(&folder) {
            Ok(meta) if meta.is_dir() => Ok(target.to_owned()),
            Ok(_) => Err(Error::io(format!("{} is not a folder", folder.display()))),
            Err(e) => Err(Error::io(format!("the folder {}: {}", folder.display(), said(e).message()))),
        };
    };
    let real = std::fs::canonicalize(target).unwrap_or_else(|_| target.to_owned());
    if let Ok(meta) = std::fs::metadata(&real) {
        if meta.is_dir() {
            return Err(Error::io("it is a folder; name a file in it"));
        }
        if !meta.is_file() && !here.is_symlink() {
            return Err(Error::unsupported("not a file, but a device, socket or pipe"));
        }
        if FileIdentity::at(&real).is_ok_and(|file| source::is_open(file.device, file.inode)) {
            return Err(Error::io("it is a source of this conversion, or open: choose another name"));
        }
    }
    if overwrite { Ok(real) } else { Err(exists()) }
}

fn exists() -> Error {
    Error::io("it exists already; --overwrite replaces it")
}

/// Free bytes for us in the file system of `target`, where that can be known.
pub fn free_space(target: &Path) -> Option<u64> {
    let (folder, _) = parts(target).ok()?;
    system::free_space(&folder)
}

/// An error before anything is written, where `needed` bytes are certainly not there.
pub fn check_space(target: &Path, needed: u64) -> Result<()> {
    match free_space(target) {
        Some(free) if free < needed => {
            let (needed, free) = (crate::bytes::display::bytes(needed), crate::bytes::display::bytes(free));
            Err(Error::io(format!("the disk has {free} left, {needed} are needed")).in_file(target.display()))
        }
        _ => Ok(()),
    }
}

/// The folder and the name of a path.
fn parts(path: &Path) -> Result<(PathBuf, OsString)> {
    let name = path.file_name().ok_or_else(|| Error::io("this names no file"))?.to_owned();
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    };
    Ok((folder, name))
}

fn stem(name: &OsString) -> Vec<u8> {
    let bytes = system::name_bytes(name);
    let mut stem = vec![b'.'];
    stem.extend_from_slice(bytes.get(..NAME).unwrap_or(bytes));
    stem.extend_from_slice(MARK);
    stem
}

fn temporary(name: &OsString, process: u32, number: u64) -> OsString {
    let mut bytes = stem(name);
    bytes.extend_from_slice(format!("{process}-{number}.tmp").as_bytes());
    system::name_of(bytes)
}

/// The process that made this temporary file for a target with this stem.
fn process_of(name: &[u8], stem: &[u8]) -> Option<i32> {
    let rest = name.strip_prefix(stem)?.strip_suffix(b".tmp")?;
    let (process, number) = std::str::from_utf8(rest).ok()?.split_once('-')?;
    number.parse::<u64>().ok()?;
    process.parse().ok().filter(|&process| process > 0)
}

/// Removes what dead processes left behind for this target.
fn clean(folder: &Path, name: &OsString) {
    let stem = stem(name);
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let Some(process) = process_of(system::name_bytes(&entry.file_name()), &stem) else { continue };
        let Some(kind) = entry.file_type().ok().filter(|kind| kind.is_file() || kind.is_dir()) else {
            continue;
        };
        let path = entry.path();
        if is_left_behind(&path, process) {
            let _ = if kind.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
        }
    }
}

/// Whether nobody writes this temporary file or folder any more.
fn is_left_behind(path: &Path, process: i32) -> bool {
    // The number may be of another container's process: its lock tells.
    !system::is_alive(process) && system::hold(path).is_some()
}

/// The process that made a temporary file of this name; `None` for other names.
fn process_of_temporary(name: &[u8]) -> Option<i32> {
    let at = name.windows(MARK.len()).rposition(|part| part == MARK)?;
    let stem = name.get(..at + MARK.len()).filter(|stem| stem.first() == Some(&b'.'))?;
    process_of(name, stem)
}

/// A failed write in words that help.
fn said(error: std::io::Error) -> Error {
    use std::io::ErrorKind as K;
    match error.kind() {
        K::StorageFull => Error::io("the disk is full; nothing was written"),
        K::QuotaExceeded => Error::io("the disk quota is used up; nothing was written"),
        K::FileTooLarge => Error::io("the file would be larger than this file system or limit allows"),
        K::ReadOnlyFilesystem => Error::io("the file system is read-only"),
        _ => error.into(),
    }
}

/// Copies a range of a source to an output: in the kernel, as far as the system does that.
fn copied(file: &mut BufWriter<File>, task: &Task, source: &Source, mut range: Range<u64>) -> Result<()> {
    /// Less than this is gathered in the buffer with what is around it.
    const LEAST: u64 = BUFFER as u64;
    if range.end.saturating_sub(range.start) >= LEAST {
        file.flush().map_err(said)?;
        range.start += source.copy_to(task, range.clone(), file.get_ref())?;
    }
    copy_by_pieces(file, task, source, range)
}

/// An error of writing in words that help; others have their own.
fn named(error: Error, target: &Path) -> Error {
    let is_written = error.kind() == ErrorKind::Io && !error.is_cancelled();
    if is_written { error.in_file(target.display()) } else { error }
}

/// The same, on its way through `std::io`, with the file that could not be written.
fn explained(error: std::io::Error, target: &Path) -> std::io::Error {
    match error.kind() {
        std::io::ErrorKind::Interrupted => error,
        _ => said(error).in_file(target.display()).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|e| e.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    fn content(path: &Path) -> Vec<u8> {
        let source = Source::open(&Task::new(), path).unwrap();
        source.read(&Task::new(), 0..source.known_len().unwrap()).unwrap().to_vec()
    }

    #[test]
    fn without_commit_the_target_is_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("out.npy");
        std::fs::write(&target, b"old").unwrap();
        let mut output = Output::create(&target, true).unwrap();
        output.write_all(&vec![1; 3 << 20]).unwrap();
        assert_eq!(names(folder.path()).len(), 2);
        drop(output);
        assert_eq!((names(folder.path()), content(&target)), (vec!["out.npy".to_owned()], b"old".to_vec()));
        let mut output = Output::create(&target, true).unwrap();
        output.write_all(b"half").unwrap();
        output.restart().unwrap();
        output.write_all(b"new").unwrap();
        assert_eq!(output.commit().unwrap(), 3);
        assert_eq!((names(folder.path()), content(&target)), (vec!["out.npy".to_owned()], b"new".to_vec()));
    }

    #[test]
    fn an_existing_file_wants_consent_even_if_it_appears_late() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("out");
        let output = Output::create(&target, false).unwrap();
        std::fs::write(&target, b"mine").unwrap();
        assert!(output.commit().unwrap_err().to_string().contains("exists"));
        assert!(Output::create(&target, false).err().unwrap().to_string().contains("exists"));
        assert_eq!((names(folder.path()), content(&target)), (vec!["out".to_owned()], b"mine".to_vec()));
    }

    #[test]
    fn a_source_is_never_the_target_not_even_through_links() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("in.npy");
        std::fs::write(&path, b"data").unwrap();
        let source = Source::open(&Task::new(), &path).unwrap();
        std::os::unix::fs::symlink("in.npy", folder.path().join("soft")).unwrap();
        std::fs::hard_link(&path, folder.path().join("hard")).unwrap();
        for name in ["in.npy", "soft", "hard"] {
            let error = Output::create(&folder.path().join(name), true).err().unwrap();
            assert!(error.to_string().contains("source"), "{name}: {error}");
        }
        drop(source);
        assert!(Output::create(&path, true).is_ok());
    }

    #[test]
    fn what_a_dead_process_left_is_removed_and_what_a_living_one_writes_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let dead = child.id();
        child.wait().unwrap();
        let left = |process: u32, of: &str| folder.path().join(format!(".{of}.gander-{process}-0.tmp"));
        for path in [left(dead, "out"), left(dead, "other"), left(1, "out")] {
            std::fs::write(path, b"x").unwrap();
        }
        drop(Output::create(&folder.path().join("out"), false).unwrap());
        assert!(!left(dead, "out").exists());
        assert!(left(dead, "other").exists() && left(1, "out").exists());
    }

    #[test]
    fn folders_and_missing_folders_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let error = |path: &Path| Output::create(path, true).err().unwrap().to_string();
        assert!(error(folder.path()).contains("folder"));
        assert!(error(&folder.path().join("no/out")).contains("no such file"));
        assert!(check_space(&folder.path().join("x"), u64::MAX).is_err());
        assert!(Output::create(&folder.path().join("n".repeat(250)), true).is_ok());
    }
}
