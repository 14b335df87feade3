//! The storages of a file by their keys: bytes that tensors are views of.

use super::rebuild::Strided;
use crate::bytes::archive::zip::{Archive, Member, Method};
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use std::collections::HashMap;

/// The storages of a file.
#[derive(Default)]
pub(super) struct Stores {
    pub(super) parts: HashMap<String, Result<Stored>>,
    /// Whether their numbers are big-endian.
    pub(super) big_endian: bool,
    /// Whether storages may be left empty on purpose: of a traced module's examples only types and shapes are kept.
    pub(super) without_data: bool,
    /// What stands before a key in the name of a member: `data/`.
    pub(super) folder: String,
    /// The name of the file, where a model has several.
    pub(super) file: Option<String>,
    /// The tensors of the oldest container, which are named like storages.
    pub(super) tensors: HashMap<String, Result<Strided>>,
}

/// The bytes of a storage.
#[derive(Clone)]
pub(super) struct Stored {
    /// The bytes.
    pub(super) source: Source,
    /// Where they begin in the file, if they lie there as they are.
    pub(super) at: Option<u64>,
}

impl Stores {
    /// The members of an archive below `folder` (which ends in `/`), whose names end in `end`: each a storage, its name
    /// the key. Reads the local header of each, since only that says where its bytes begin.
    ///
    /// # Errors
    /// `Cancelled`. What is wrong with a member is said of the tensors that need it.
    pub(super) fn of_archive(task: &Task, archive: &Archive, folder: &str, end: &str) -> Result<Stores> {
        let mut parts = HashMap::new();
        for member in archive.members.iter() {
            let key = member.name.strip_prefix(folder).and_then(|name| name.strip_suffix(end));
            if let Some(key) = key.filter(|key| !key.is_empty() && !member.is_folder()) {
                let stored = stored(task, archive, member).unless_cancelled()?;
                parts.entry(key.to_owned()).or_insert(stored);
            }
        }
        let shown = folder.split_once('/').map_or(folder, |(_, rest)| rest);
        Ok(Stores { parts, folder: shown.to_owned(), ..Stores::default() })
    }

    /// Adds a storage.
    pub(super) fn put(&mut self, key: String, stored: Result<Stored>) {
        self.parts.entry(key).or_insert(stored);
    }

    /// The storage of a key.
    ///
    /// # Errors
    /// Where it is not there, or its bytes are not.
    pub(super) fn get(&self, key: &str) -> Result<&Stored> {
        match self.parts.get(key) {
            Some(Ok(stored)) => Ok(stored),
            Some(Err(error)) => Err(error.clone()),
            None => {
                let name = self.name(key);
                Err(Error::malformed(format!("tensor: its storage {name} is not in the file")))
            }
        }
    }

    /// Whether the storage of a key was left empty on purpose.
    pub(super) fn is_left_out(&self, key: &str) -> bool {
        let empty = |stored: &Stored| stored.source.known_len() == Some(0);
        self.without_data && self.get(key).is_ok_and(empty)
    }

    /// How the file names the storage of a key.
    pub(super) fn name(&self, key: &str) -> String {
        format!("{}{key}", self.folder)
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.parts.len()
    }
}

/// The bytes of a member. Those that are compressed are inflated as they are read.
pub(super) fn stored(task: &Task, archive: &Archive, member: &Member) -> Result<Stored> {
    let source = archive.read(task, member)?;
    let at = match member.method {
        Method::Stored => Some(archive.place(task, member)?.start),
        _ => None,
    };
    Ok(Stored { source, at })
}
