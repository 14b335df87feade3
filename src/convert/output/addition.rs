//! What is added to a folder that is there: files that belong to nothing until a last one speaks of them, which appears
//! whole or not at all.
//!
//! In the folder there is a hidden one, `.append.gander-PID-N.tmp`, as long as somebody adds to it. Its list `files`
//! names each file before it is made, so that what a killed process left behind is known, and removed when the next
//! one begins, if the folder does not speak of it.

use super::folder::{Piece, below};
use super::{explained, process_of, said, stem, temporary};
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::source::Source;
use crate::bytes::system;
use crate::bytes::task::Task;
use crate::data::format::{Additions, Files, KnownFiles, Sink};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// What the hidden folders are called after.
const NAME: &str = "append";
/// The list of files in them.
const LIST: &str = "files";

/// Files that are being added to a folder. Dropped without a commit, it leaves no trace.
pub struct Addition {
    /// The folder.
    root: PathBuf,
    /// The hidden folder, and its lock, by which others see that it is in use.
    hidden: PathBuf,
    lock: Option<File>,
    list: File,
    files: Vec<PathBuf>,
    folders: Vec<PathBuf>,
    bytes: u64,
    /// Whether what was written belongs to the folder.
    belongs: bool,
}

impl Addition {
    /// Begins to add to the folder `target`; what processes left there that have ended is removed.
    ///
    /// # Errors
    /// Where there is no such folder, or it must not be written to.
    pub fn open(task: &Task, target: &Path, known: KnownFiles) -> Result<Addition> {
        let named = |e: Error| e.in_file(target.display());
        let missing = |_| named(Error::io("there is nothing to add to; without --append it is made"));
        let root = std::fs::canonicalize(target).map_err(missing)?;
        if !root.is_dir() {
            return Err(named(Error::unsupported("it is a file; what is added to is a folder")));
        }
        clean(task, &root, known)?;
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let hidden = loop {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let hidden = root.join(temporary(&OsString::from(NAME), std::process::id(), number));
            match std::fs::create_dir(&hidden) {
                Ok(()) => break hidden,
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(named(said(e))),
            }
        };
        let lock = File::open(&hidden).ok();
        if let Some(lock) = &lock {
            let _ = system::lock(lock);
        }
        let list = OpenOptions::new().append(true).create_new(true).open(hidden.join(LIST));
        let list = list.map_err(said).map_err(named)?;
        let (files, folders) = (Vec::new(), Vec::new());
        Ok(Addition { root, hidden, lock, list, files, folders, bytes: 0, belongs: false })
    }

    /// Starts again with nothing.
    pub fn restart(&mut self) -> Result<()> {
        if self.belongs {
            return Err(Error::bug("what was added cannot be taken back"));
        }
        self.remove();
        self.bytes = 0;
        self.list.set_len(0).map_err(said)
    }

    /// Ends it: the bytes that were added.
    ///
    /// # Errors
    /// `Bug` where nothing was committed.
    pub fn finish(self) -> Result<u64> {
        if self.belongs { Ok(self.bytes) } else { Err(Error::bug("what was written was not committed")) }
    }

    /// Removes what was made.
    fn remove(&mut self) {
        for file in self.files.drain(..) {
            let _ = std::fs::remove_file(file);
        }
        // Those that others have put files into stay.
        for folder in self.folders.drain(..).rev() {
            let _ = std::fs::remove_dir(folder);
        }
    }

    /// Names a file or a folder in the list, which then is on the disk.
    fn note(&mut self, path: &Path, end: &[u8]) -> std::io::Result<()> {
        let relative = path.strip_prefix(&self.root).unwrap_or(path);
        let mut line = system::name_bytes(relative.as_os_str()).to_vec();
        line.extend_from_slice(end);
        self.list.write_all(&line)?;
        self.list.sync_data()
    }

    /// Makes the file of a key, with the folders that it lies in.
    fn begin(&mut self, key: &str) -> Result<(File, PathBuf)> {
        let path = self.root.join(below(key)?);
        if key.contains('\n') {
            return Err(Error::unsupported(format!("{key:?} is no name of a file that is added")));
        }
        let mut missing = Vec::new();
        let mut folder = path.parent();
        while let Some(this) = folder.filter(|this| *this != self.root && !this.exists()) {
            missing.push(this.to_owned());
            folder = this.parent();
        }
        let failed = |e: std::io::Error, root: &Path| Error::from(explained(e, root));
        for folder in missing.into_iter().rev() {
            self.note(&folder, b"/\n").map_err(|e| failed(e, &self.root))?;
            match std::fs::create_dir(&folder) {
                Ok(()) => self.folders.push(folder),
                // Somebody else adds to it, too.
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(failed(e, &self.root)),
            }
        }
        if path.exists() {
            return Err(Error::unsupported(format!("there is a file {key:?} already")));
        }
        self.note(&path, b"\n").map_err(|e| failed(e, &self.root))?;
        let made = OpenOptions::new().read(true).write(true).create_new(true).open(&path);
        let file = made.map_err(|e| failed(e, &self.root))?;
        self.files.push(path.clone());
        Ok((file, path))
    }

    /// Everything that was written goes to the disk, and the names of it.
    fn sync(&mut self, task: &Task) -> Result<()> {
        let mut folders = BTreeSet::from([self.root.clone()]);
        self.bytes = 0;
        for path in &self.files {
            task.check()?;
            let file = File::open(path).map_err(said)?;
            file.sync_all().map_err(said)?;
            self.bytes = self.bytes.saturating_add(file.metadata().map_err(said)?.len());
            folders.extend(path.parent().map(Path::to_owned));
        }
        folders.extend(self.folders.iter().filter_map(|folder| folder.parent()).map(Path::to_owned));
        for folder in folders {
            system::sync_folder(&folder).map_err(said)?;
        }
        Ok(())
    }

    /// Gives bytes a name at once, whatever had it before.
    fn put_over(&self, target: &Path, bytes: &[u8]) -> Result<()> {
        let staged = self.staged(bytes).map_err(said)?;
        std::fs::rename(staged, target).map_err(said)
    }

    /// A file of these bytes that nobody knows yet, on the disk.
    fn staged(&self, bytes: &[u8]) -> std::io::Result<PathBuf> {
        let staged = self.hidden.join("commit");
        let mut file = File::create(&staged)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        Ok(staged)
    }
}

/// Gives a file its name, if there is none of that name yet; whether it did.
fn put_if_absent(staged: &Path, target: &Path) -> std::io::Result<bool> {
    match std::fs::hard_link(staged, target) {
        Ok(()) => {
            let _ = std::fs::remove_file(staged);
            return Ok(true);
        }
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => return Ok(false),
        // File systems without second names.
        Err(_) => {}
    }
    match system::rename_new(staged, target) {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
        Err(e) => Err(e),
    }
}

impl Files for Addition {
    fn put(&mut self, key: &str, bytes: &[u8]) -> Result<()> {
        let (mut file, _) = self.begin(key)?;
        Ok(file.write_all(bytes).map_err(|e| explained(e, &self.root))?)
    }

    fn file(&mut self, key: &str) -> Result<Box<dyn Sink>> {
        let (file, path) = self.begin(key)?;
        Ok(Box::new(Piece::new(file, path, self.root.clone())))
    }

    fn stem(&self) -> String {
        let name = self.root.file_name().unwrap_or_default().to_string_lossy();
        name.split('.').find(|part| !part.is_empty()).unwrap_or("data").to_owned()
    }

    fn place(&self) -> Option<PathBuf> {
        Some(self.root.clone())
    }
}

impl Additions for Addition {
    fn source(&self, task: &Task) -> Result<Source> {
        Source::open(task, &self.root)
    }

    fn commit(&mut self, task: &Task, path: &str, bytes: &[u8]) -> Result<bool> {
        let target = self.root.join(below(path)?);
        let named = |e: Error| e.in_file(target.display());
        self.sync(task).map_err(named)?;
        let staged = self.staged(bytes).map_err(said).map_err(named)?;
        task.check()?;
        if !put_if_absent(&staged, &target).map_err(said).map_err(named)? {
            return Ok(false);
        }
        self.belongs = true;
        self.bytes = self.bytes.saturating_add(bytes.len() as u64);
        // The name is durable once its folder is; a failure here leaves what is whole, so it is no error.
        if let Some(folder) = target.parent() {
            let _ = system::sync_folder(folder);
        }
        Ok(true)
    }

    fn replace(&mut self, task: &Task, path: &str, bytes: &[u8]) -> Result<()> {
        let target = self.root.join(below(path)?);
        let named = |e: Error| e.in_file(target.display());
        if !self.belongs {
            self.sync(task).map_err(named)?;
        }
        self.put_over(&target, bytes).map_err(named)?;
        self.belongs = true;
        if let Some(folder) = target.parent() {
            let _ = system::sync_folder(folder);
        }
        Ok(())
    }

    fn overwrite(&mut self, path: &str, bytes: &[u8]) -> Result<()> {
        let target = self.root.join(below(path)?);
        if self.files.contains(&target) || !target.exists() {
            return self.put(path, bytes);
        }
        self.put_over(&target, bytes).map_err(|e| e.in_file(target.display()))
    }

    fn take_back(&mut self, path: &str) {
        let path = self.root.join(path);
        if let Some(place) = self.files.iter().position(|file| *file == path) {
            let _ = std::fs::remove_file(self.files.remove(place));
        }
    }
}

impl Drop for Addition {
    fn drop(&mut self) {
        if !self.belongs {
            self.remove();
        }
        let _ = std::fs::remove_dir_all(&self.hidden);
        self.lock = None;
    }
}

/// Removes what dead processes left behind in this folder, and the folder does not speak of.
fn clean(task: &Task, root: &Path, known: KnownFiles) -> Result<()> {
    let stem = stem(&OsString::from(NAME));
    let Ok(entries) = std::fs::read_dir(root) else { return Ok(()) };
    for entry in entries.flatten() {
        let Some(process) = process_of(system::name_bytes(&entry.file_name()), &stem) else { continue };
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if !is_folder || system::is_alive(process) {
            continue;
        }
        // The number may be of another container's process: its lock tells. It is held until all is removed.
        let Some(_hold) = system::hold(&entry.path()) else { continue };
        let mut list = Vec::new();
        let listed = File::open(entry.path().join(LIST)).and_then(|mut file| file.read_to_end(&mut list));
        if listed.is_err() {
            continue;
        }
        // A last line without its end names a file that was not made.
        let whole = list.iter().rposition(|byte| *byte == b'\n').and_then(|end| list.get(..end));
        let text = String::from_utf8_lossy(whole.unwrap_or_default());
        let lines = text.lines().filter(|line| below(line).is_ok());
        let (folders, files): (Vec<&str>, Vec<&str>) = lines.partition(|line| line.ends_with('/'));
        let files: Vec<String> = files.into_iter().map(str::to_owned).collect();
        let source = Source::open(task, root)?;
        // Where that cannot be told, nothing is removed.
        let Ok(spoken) = known(task, &source, &files).unless_cancelled()? else { continue };
        for file in files.iter().filter(|file| !spoken.contains(*file)) {
            let _ = std::fs::remove_file(root.join(file));
        }
        for folder in folders.into_iter().rev() {
            let _ = std::fs::remove_dir(root.join(folder));
        }
        let _ = std::fs::remove_dir_all(entry.path());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// A folder speaks of the files that its commits name, a line each.
    fn known(_: &Task, source: &Source, files: &[String]) -> Result<HashSet<String>> {
        let mut spoken = HashSet::new();
        for entry in source.entries(&Task::new())?.into_iter().filter(|entry| entry.name.ends_with(".commit"))
        {
            let file = source.child(&Task::new(), &entry.name)?;
            let bytes = file.read(&Task::new(), 0..file.known_len().unwrap())?;
            spoken.extend(String::from_utf8_lossy(&bytes).lines().map(str::to_owned));
        }
        spoken.retain(|name| files.contains(name));
        Ok(spoken)
    }

    fn all(folder: &Path) -> Vec<String> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap()) {
            let name = entry.file_name().to_string_lossy().into_owned();
            match entry.path().is_dir() {
                true => names.extend(all(&entry.path()).into_iter().map(|below| format!("{name}/{below}"))),
                false => names.push(name),
            }
        }
        names.sort();
        names
    }

    #[test]
    fn what_is_not_committed_leaves_no_trace() {
        let (folder, task) = (tempfile::tempdir().unwrap(), Task::new());
        let mut added = Addition::open(&task, folder.path(), known).unwrap();
        added.put("p=1/q=2/a", b"123").unwrap();
        added.file("b").unwrap().write_all(b"4").unwrap();
        assert!(added.put("../x", b"").is_err() && added.put("b", b"").is_err());
        assert_eq!(all(folder.path()).len(), 3);
        added.restart().unwrap();
        added.put("b", b"123").unwrap();
        task.cancel();
        assert!(added.commit(&task, "0.commit", b"b").unwrap_err().is_cancelled());
        drop(added);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn the_first_of_two_commits_counts() {
        let (folder, task) = (tempfile::tempdir().unwrap(), Task::new());
        let mut one = Addition::open(&task, folder.path(), known).unwrap();
        let mut other = Addition::open(&task, folder.path(), known).unwrap();
        one.put("p=1/a", b"12").unwrap();
        other.put("p=1/b", b"3").unwrap();
        assert!(one.commit(&task, "0.commit", b"p=1/a\n").unwrap());
        assert!(!other.commit(&task, "0.commit", b"p=1/b\n").unwrap());
        assert!(other.commit(&task, "1.commit", b"p=1/b\n").unwrap());
        other.replace(&task, "hint", b"1").unwrap();
        assert_eq!((one.finish().unwrap(), other.finish().unwrap()), (8, 7));
        assert_eq!(all(folder.path()), ["0.commit", "1.commit", "hint", "p=1/a", "p=1/b"]);
    }

    #[test]
    fn what_a_dead_process_left_is_removed_unless_the_folder_speaks_of_it() {
        let (folder, task) = (tempfile::tempdir().unwrap(), Task::new());
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let dead = child.id();
        child.wait().unwrap();
        let left = |process: u32| folder.path().join(format!(".append.gander-{process}-0.tmp"));
        for (process, name) in [(dead, "dead"), (1, "alive")] {
            std::fs::create_dir(left(process)).unwrap();
            std::fs::create_dir(folder.path().join(name)).unwrap();
            std::fs::write(folder.path().join(name).join("a"), b"x").unwrap();
            std::fs::write(left(process).join(LIST), format!("{name}/\n{name}/a\nkept\n../x\n{name}/b"))
                .unwrap();
        }
        std::fs::write(folder.path().join("kept"), b"x").unwrap();
        std::fs::write(folder.path().join("0.commit"), b"kept\n").unwrap();
        drop(Addition::open(&task, folder.path(), known).unwrap());
        assert_eq!(all(folder.path()), [".append.gander-1-0.tmp/files", "0.commit", "alive/a", "kept"]);
        assert!(!left(dead).exists() && !folder.path().join("dead").exists());
    }

    #[test]
    fn there_must_be_a_folder() {
        let (folder, task) = (tempfile::tempdir().unwrap(), Task::new());
        let error = |path: &Path| Addition::open(&task, path, known).err().unwrap().to_string();
        assert!(error(&folder.path().join("no")).contains("nothing to add to"));
        std::fs::write(folder.path().join("file"), b"x").unwrap();
        assert!(error(&folder.path().join("file")).contains("is a file"));
    }
}
