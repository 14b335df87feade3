//! Which temporary files are being written, in a folder of the user's own: what a process that was killed left behind is
//! found at the next start, wherever it lies.
//!
//! One small file an output, named after it, with its path. All of this is by the way: where it fails, a result is written
//! all the same, and what is left of it goes when the same target is written again.

use super::{is_left_behind, process_of_temporary};
use crate::bytes::system::{is_alive, name_bytes, name_of};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;
use xxhash_rust::xxh3::xxh3_64;

/// The longest path in bytes.
const LONGEST: u64 = 1 << 16;

/// How long a note may stay without its path.
const PATIENCE: Duration = Duration::from_secs(60);

/// The folder of the notes.
fn folder() -> Option<&'static Path> {
    static FOLDER: OnceLock<Option<PathBuf>> = OnceLock::new();
    let made = || {
        let dirs = directories::ProjectDirs::from("", "", "gander")?;
        Some(dirs.state_dir().unwrap_or(dirs.data_local_dir()).join("outputs"))
    };
    FOLDER.get_or_init(made).as_deref()
}

fn note_of(folder: &Path, temp: &Path) -> PathBuf {
    folder.join(format!("{:016x}", xxh3_64(name_bytes(temp.as_os_str()))))
}

/// Notes that this file or folder is being written.
pub(super) fn note(temp: &Path) {
    let (Some(folder), Ok(temp)) = (folder(), std::path::absolute(temp)) else { return };
    let write = || std::fs::write(note_of(folder, &temp), name_bytes(temp.as_os_str()));
    if write().is_err() {
        let _ = std::fs::create_dir_all(folder).and_then(|()| write());
    }
}

/// It is not there any more.
pub(super) fn forget(temp: &Path) {
    if let (Some(folder), Ok(temp)) = (folder(), std::path::absolute(temp)) {
        let _ = std::fs::remove_file(note_of(folder, &temp));
    }
}

/// Removes what processes that are gone have left behind of their outputs. For the start of the program.
pub fn sweep() {
    if let Some(folder) = folder() {
        sweep_notes(folder);
    }
}

fn sweep_notes(folder: &Path) {
    let Ok(notes) = std::fs::read_dir(folder) else { return };
    for note in notes.flatten() {
        let Ok(meta) = note.metadata() else { continue };
        // One without a path is being written, or was when its process was killed.
        let is_new =
            meta.modified().ok().and_then(|time| time.elapsed().ok()).is_none_or(|age| age < PATIENCE);
        if !meta.is_file() || meta.len() > LONGEST || meta.len() == 0 && is_new {
            continue;
        }
        let Some(temp) = text_of(&note.path()) else { continue };
        let temp = PathBuf::from(name_of(temp));
        let temp = temp.as_path();
        // Only what has the name of an output: the notes are a file like others.
        let is_output = temp.file_name().and_then(|name| process_of_temporary(name_bytes(name)));
        let is_gone = match is_output {
            None => true,
            // It may be about to be made.
            Some(process) if std::fs::symlink_metadata(temp).is_err() => !is_alive(process),
            Some(process) if is_left_behind(temp, process) => {
                let is_dir = temp.is_dir();
                if is_dir { std::fs::remove_dir_all(temp) } else { std::fs::remove_file(temp) }.is_ok()
            }
            Some(_) => false,
        };
        if is_gone {
            let _ = std::fs::remove_file(note.path());
        }
    }
}

/// The bytes of a small file.
fn text_of(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut std::fs::File::open(path).ok()?, &mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_outputs_of_dead_processes_go() {
        let (notes, place) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let dead = child.id();
        child.wait().unwrap();
        let names = [
            format!(".out.gander-{dead}-0.tmp"),
            format!(".out.gander-{}-0.tmp", std::process::id()),
            "precious.csv".to_owned(),
        ];
        for name in &names {
            let path = place.path().join(name);
            std::fs::write(&path, b"x").unwrap();
            std::fs::write(note_of(notes.path(), &path), name_bytes(path.as_os_str())).unwrap();
        }
        std::fs::write(notes.path().join("begun"), b"").unwrap();
        sweep_notes(notes.path());
        let there: Vec<bool> = names.iter().map(|name| place.path().join(name).exists()).collect();
        assert_eq!(there, [false, true, true]);
        assert_eq!(std::fs::read_dir(notes.path()).unwrap().count(), 2, "what is being written stays noted");
        let begun = std::fs::File::options().write(true).open(notes.path().join("begun")).unwrap();
        begun.set_modified(std::time::SystemTime::now() - 2 * PATIENCE).unwrap();
        sweep_notes(notes.path());
        assert!(!notes.path().join("begun").exists());
    }
}
