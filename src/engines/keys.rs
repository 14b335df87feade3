//! Stores of keys and bytes, in which hierarchies of arrays lie: a folder, or a ZIP archive. Keys are paths with `/`
//! between their parts.

use crate::bytes::archive::zip::{Archive, Member};
use crate::bytes::display::natural_order;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::{Folder, Source};
use crate::bytes::task::Task;
use bytes::Bytes;
use std::path::PathBuf;

/// The largest metadata document that is read.
const METADATA: u64 = limits::HEADER;

/// A store of keys and bytes.
pub enum Store {
    /// Files in folders.
    Folder(Folder),
    /// Members of an archive.
    Zip(Zip),
}

/// An archive and its members in the order of their names.
pub struct Zip {
    archive: Archive,
    sorted: Vec<u32>,
}

impl Store {
    /// The store in a folder or archive.
    ///
    /// # Errors
    /// As [`Source::folder`] and [`Archive::open`].
    pub fn open(task: &Task, source: &Source) -> Result<Store> {
        if source.is_folder() {
            return source.folder().map(Store::Folder);
        }
        let archive = Archive::open(task, source)?;
        let count = u32::try_from(archive.members.len()).map_err(|_| Error::limit("the members of a ZIP"))?;
        let mut sorted: Vec<u32> = (0..count).collect();
        let name = |n: &u32| archive.members.get(*n as usize).map_or("", |m| m.name.as_str());
        // Later members of the same name replace earlier ones, as zip files that were updated have them.
        sorted.sort_by(|a, b| name(a).cmp(name(b)).then(b.cmp(a)));
        Ok(Store::Zip(Zip { archive, sorted }))
    }

    /// What is wrong with the store as a whole.
    pub fn problem(&self) -> Option<Error> {
        match self {
            Store::Folder(_) => None,
            Store::Zip(zip) => zip.archive.problem.clone(),
        }
    }

    /// All bytes of a key, at most `most`; `None` where it is not there.
    ///
    /// # Errors
    /// Those of reading; `Limit` for more than `most`.
    pub fn load(&self, task: &Task, key: &str, most: u64) -> Result<Option<Bytes>> {
        match self {
            Store::Folder(folder) => folder.load(task, key, most),
            Store::Zip(zip) => {
                let Some(member) = zip.member(key) else { return Ok(None) };
                let size = limits::check(member.size, most, key)? as u64;
                zip.archive.read(task, member)?.read(task, 0..size).map(Some)
            }
        }
    }

    /// A key as a source, to read parts of it.
    ///
    /// # Errors
    /// Those of opening it.
    pub fn source(&self, task: &Task, key: &str) -> Result<Option<Source>> {
        match self {
            Store::Folder(folder) => folder.source(task, key).map(|s| s.filter(|s| !s.is_folder())),
            Store::Zip(zip) => zip.member(key).map(|member| zip.archive.read(task, member)).transpose(),
        }
    }

    /// A metadata document, if it is there.
    ///
    /// # Errors
    /// As [`Store::load`].
    pub fn document(&self, task: &Task, key: &str) -> Result<Option<Bytes>> {
        self.load(task, key, METADATA)
    }

    /// The bytes that a key has, if it is there, without reading it.
    ///
    /// # Errors
    /// Those of looking for it.
    pub fn stored(&self, task: &Task, key: &str) -> Result<Option<u64>> {
        Ok(match self {
            Store::Folder(folder) => folder.size(task, key)?,
            Store::Zip(zip) => zip.member(key).map(|member| member.stored),
        })
    }

    /// The names of the folders below `prefix` (`""`: the root), in natural order.
    ///
    /// # Errors
    /// Those of listing it.
    pub fn folders(&self, task: &Task, prefix: &str) -> Result<Vec<String>> {
        match self {
            Store::Folder(folder) => {
                let entries = folder.entries(task, prefix)?;
                Ok(entries.into_iter().filter(|e| e.is_folder).map(|e| e.name).collect())
            }
            Store::Zip(zip) => Ok(zip.folders(prefix)),
        }
    }

    /// Keys right below `prefix` with their stored bytes: the chunks of an array with flat names.
    ///
    /// # Errors
    /// Those of listing it.
    pub fn files(&self, task: &Task, prefix: &str) -> Result<Vec<(String, u64)>> {
        match self {
            Store::Folder(folder) => {
                let entries = folder.entries(task, prefix)?;
                Ok(entries.into_iter().filter(|e| !e.is_folder).map(|e| (e.name, e.bytes)).collect())
            }
            Store::Zip(zip) => Ok(zip.files(prefix)),
        }
    }

    /// The keys of chunks below `prefix`: in folders that are named by numbers, `levels` parts long, the last part of any
    /// name. `None` for more than `most`.
    ///
    /// # Errors
    /// Those of listing folders.
    pub fn chunks(
        &self,
        task: &Task,
        prefix: &str,
        levels: usize,
        most: usize,
    ) -> Result<Option<Vec<String>>> {
        let (mut found, mut open) = (Vec::new(), vec![(String::new(), levels)]);
        while let Some((below, levels)) = open.pop() {
            let folder = join(prefix, &below);
            match levels {
                0 | 1 => found.extend(self.files(task, &folder)?.iter().map(|(name, _)| join(&below, name))),
                _ => {
                    let names = self.folders(task, &folder)?.into_iter().filter(|n| coordinate(n).is_some());
                    open.extend(names.map(|name| (join(&below, &name), levels - 1)));
                }
            }
            if found.len().max(open.len()) > most {
                return Ok(None);
            }
        }
        Ok(Some(found))
    }

    /// Where a key lies, for errors.
    pub fn place(&self, key: &str) -> String {
        match self {
            Store::Folder(folder) => folder.place(key).display().to_string(),
            Store::Zip(_) => key.to_owned(),
        }
    }

    /// Where a folder really is, for finding loops of links.
    pub fn real(&self, prefix: &str) -> Option<PathBuf> {
        match self {
            Store::Folder(folder) => folder.real(prefix),
            Store::Zip(_) => None,
        }
    }
}

impl Zip {
    fn at(&self, position: usize) -> Option<&Member> {
        self.archive.members.get(*self.sorted.get(position)? as usize)
    }

    /// The position of the first name that is not before `name`.
    fn position(&self, name: &str) -> usize {
        let before = |n: &u32| self.archive.members.get(*n as usize).is_some_and(|m| m.name.as_str() < name);
        self.sorted.partition_point(before)
    }

    fn member(&self, key: &str) -> Option<&Member> {
        self.at(self.position(key)).filter(|member| member.name == key)
    }

    /// What stands below a prefix: calls `each` with what follows it in a name and the member, and goes on
    /// at the name that `each` returns, if it returns one.
    fn below(&self, prefix: &str, mut each: impl FnMut(&str, &Member) -> Option<String>) {
        let start = if prefix.is_empty() { String::new() } else { format!("{prefix}/") };
        let mut position = self.position(&start);
        while let Some(member) = self.at(position) {
            let Some(rest) = member.name.strip_prefix(&start) else { return };
            position = match each(rest, member) {
                Some(next) => self.position(&format!("{start}{next}")).max(position + 1),
                None => position + 1,
            };
        }
    }

    fn folders(&self, prefix: &str) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        self.below(prefix, |rest, _| {
            let (name, _) = rest.split_once('/')?;
            if !name.is_empty() && names.last().is_none_or(|last| last != name) {
                names.push(name.to_owned());
            }
            // The character after '/': all that is in this folder is skipped.
            Some(format!("{name}0"))
        });
        names.sort_by(|a, b| natural_order(a, b));
        names.dedup();
        names
    }

    fn files(&self, prefix: &str) -> Vec<(String, u64)> {
        let mut files: Vec<(String, u64)> = Vec::new();
        self.below(prefix, |rest, member| match rest.split_once('/') {
            Some((name, _)) => Some(format!("{name}0")),
            None => {
                if !rest.is_empty() && files.last().is_none_or(|(last, _)| last != rest) {
                    files.push((rest.to_owned(), member.stored));
                }
                None
            }
        });
        files
    }
}

/// The key of `name` below `prefix`; either may be empty.
pub fn join(prefix: &str, name: &str) -> String {
    match (prefix, name) {
        ("", one) | (one, "") => one.to_owned(),
        _ => format!("{prefix}/{name}"),
    }
}

/// The coordinate that a file or folder of chunks is named by. Names that are read as a number but are not how it is
/// written (`+5`, `05`) are other files: no chunk is looked for there.
pub fn coordinate(name: &str) -> Option<u64> {
    name.parse().ok().filter(|number: &u64| number.to_string() == name)
}

/// Whether a name from a metadata document stays below the node that names it.
pub fn is_inside(path: &str) -> bool {
    let part = |part: &str| !part.is_empty() && part != "." && part != ".." && !part.contains(['\\', '\0']);
    path.split('/').all(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_named_by_numbers_as_they_are_written() {
        let read = ["0", "7", "10", "18446744073709551615"].map(coordinate);
        assert_eq!(read, [Some(0), Some(7), Some(10), Some(u64::MAX)]);
        for name in ["+5", "-0", "05", "00", "", " 5", "5.raw", "18446744073709551616", "٣"] {
            assert_eq!(coordinate(name), None, "{name:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn every_coordinate_is_found_by_its_name(number: u64, name in "[+0-9]{0,4}") {
            proptest::prop_assert_eq!(coordinate(&number.to_string()), Some(number));
            proptest::prop_assert!(coordinate(&name).is_none_or(|number| number.to_string() == name));
        }
    }
}
