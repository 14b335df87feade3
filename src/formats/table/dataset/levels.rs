//! Folders whose names are values without a key (`2024/01/part-0.parquet`): one table where all files below are
//! of one kind and equally deep, and nothing else is there.

use super::{File, check_count, family};
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::source::{Entry, Source};
use crate::bytes::task::Task;
use crate::engines::multifile::concat::partition::{is_hidden, is_log};
use arrow::datatypes::SchemaRef;

/// How deep levels nest.
const DEEP: usize = 8;
/// The most folders that are looked into.
const FOLDERS: usize = 20_000;

/// The files below in natural order with the names of their folders as values; none where the folders are no
/// levels of one table.
pub(super) fn files(task: &Task, folder: &Source, entries: &[Entry]) -> Result<Vec<File>> {
    let mut tree = Tree::default();
    let whole = tree.walk(task, folder, entries, &mut Vec::new())?;
    Ok(if whole && tree.files.len() > 1 { tree.files } else { Vec::new() })
}

#[derive(Default)]
struct Tree {
    files: Vec<File>,
    family: Option<usize>,
    folders: usize,
}

impl Tree {
    /// Takes what is in a folder below `names`; whether it may be a level, or the files of the last one.
    fn walk(
        &mut self,
        task: &Task,
        folder: &Source,
        entries: &[Entry],
        names: &mut Vec<String>,
    ) -> Result<bool> {
        self.folders += 1;
        if self.folders > FOLDERS || names.len() > DEEP {
            return Ok(false);
        }
        for entry in entries {
            task.check()?;
            // A file about the parts (`_SUCCESS`) is none of them; other hidden things belong to other formats.
            if !entry.is_folder && entry.name.starts_with('_') {
                continue;
            }
            if is_hidden(&entry.name) || is_log(entry) {
                return Ok(false);
            }
            let fits = if entry.is_folder {
                let path = folder.path().ok_or_else(|| Error::bug("a folder without a path"))?;
                let opened = Source::open(task, &path.join(&entry.name))
                    .and_then(|inner| inner.entries(task).map(|entries| (inner, entries)));
                let Ok((inner, entries)) = opened.unless_cancelled()? else { return Ok(false) };
                names.push(entry.name.clone());
                let fits = self.walk(task, &inner, &entries, names)?;
                names.pop();
                fits
            } else {
                self.take(entry, names)?
            };
            if !fits {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Takes a file, if it is one like the others.
    fn take(&mut self, entry: &Entry, names: &[String]) -> Result<bool> {
        let Some(kind) = family(&entry.name) else { return Ok(false) };
        let deep = self.files.first().map_or(names.len(), |first| first.keys.len());
        if *self.family.get_or_insert(kind) != kind || deep != names.len() {
            return Ok(false);
        }
        check_count(&self.files)?;
        let keys = names.iter().enumerate().map(|(n, name)| (n.to_string(), Some(name.clone()))).collect();
        let name = format!("{}/{}", names.join("/"), entry.name);
        self.files.push(File { name, bytes: entry.bytes, keys });
        Ok(true)
    }
}

/// Whether two tables have columns of the same names.
pub(super) fn are_alike(one: &SchemaRef, other: &SchemaRef) -> bool {
    one.fields().iter().map(|field| field.name()).eq(other.fields().iter().map(|field| field.name()))
}

/// Names the levels `part_0`, `part_1` and so on, or by another word where the files have such a column.
pub(super) fn name(files: &mut [File], schema: &SchemaRef) {
    let is_free = |word: &&str| {
        let begin = format!("{word}_");
        !schema.fields().iter().any(|field| field.name().to_lowercase().starts_with(&begin))
    };
    let word = ["part", "folder", "level"].into_iter().find(is_free).unwrap_or("level of folders");
    for (key, _) in files.iter_mut().flat_map(|file| &mut file.keys) {
        *key = format!("{word}_{key}");
    }
}
