//! The pictures of folders, listed one folder after the other as far as somebody asks.

use super::{Annotated, ImageRow, is_picture};
use crate::bytes::cache::Reservation;
use crate::bytes::display::natural_order;
use crate::bytes::error::{Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::Rows;
use parking_lot::Mutex;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The most pictures of a folder.
const PICTURES: u64 = 1 << 25;
/// How deep folders in a class's folder are gone into.
const DEEP: usize = 8;

/// A folder of pictures that have something in common.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Its path in the folder of the data set; empty for that itself.
    pub path: String,
    /// Their class.
    pub label: Option<String>,
    /// The set that they belong to.
    pub split: Option<String>,
}

#[derive(Default)]
struct Listed {
    /// The number of the folder, and the name in it.
    files: Vec<(u32, Box<str>)>,
    /// Folders that are done.
    folders: usize,
    kept: Reservation,
    bytes: usize,
}

/// The pictures.
pub struct Pictures {
    root: Source,
    places: Vec<Place>,
    listed: Mutex<Listed>,
    known: AtomicU64,
    ended: AtomicBool,
}

impl Pictures {
    /// The pictures of these folders in `root`; none is looked into yet.
    pub fn new(root: Source, places: Vec<Place>) -> Pictures {
        let ended = AtomicBool::new(places.is_empty());
        Pictures { root, places, listed: Mutex::default(), known: AtomicU64::new(0), ended }
    }

    /// Lists pictures until so many are known, or all.
    ///
    /// # Errors
    /// `Cancelled`; `Limit`. A folder that cannot be read has none.
    pub fn list(&self, task: &Task, until: u64) -> Result<()> {
        while !self.ended.load(Ordering::Acquire) && self.known.load(Ordering::Acquire) < until {
            task.check()?;
            let mut listed = self.listed.lock();
            let number = listed.folders;
            let Some(place) = self.places.get(number) else {
                self.ended.store(true, Ordering::Release);
                break;
            };
            let mut names = Vec::new();
            let folder = match place.path.as_str() {
                "" => Ok(self.root.clone()),
                path => self.root.child(task, path).unless_cancelled()?,
            };
            if let Ok(folder) = folder {
                gather(task, &folder, "", 0, &mut names)?;
            }
            limits::check((listed.files.len() + names.len()) as u64, PICTURES, "the list of pictures")?;
            listed.bytes += names.iter().map(|name| name.len() + 40).sum::<usize>();
            let bytes = listed.bytes;
            listed.kept.set(bytes);
            listed.files.extend(names.into_iter().map(|name| (number as u32, name.into_boxed_str())));
            listed.folders += 1;
            self.known.store(listed.files.len() as u64, Ordering::Release);
            self.ended.store(listed.folders >= self.places.len(), Ordering::Release);
        }
        Ok(())
    }

    /// The folder and the path of each of these pictures, as far as there are such.
    ///
    /// # Errors
    /// As [`Pictures::list`].
    pub fn paths(&self, task: &Task, range: Range<u64>) -> Result<Vec<(&Place, String)>> {
        self.list(task, range.end)?;
        let listed = self.listed.lock();
        let end = usize::try_from(range.end).unwrap_or(usize::MAX).min(listed.files.len());
        let start = usize::try_from(range.start).unwrap_or(usize::MAX).min(end);
        let path = |(number, name): &(u32, Box<str>)| {
            let place = self.places.get(*number as usize)?;
            let path =
                if place.path.is_empty() { name.to_string() } else { format!("{}/{name}", place.path) };
            Some((place, path))
        };
        Ok(listed.files.get(start..end).unwrap_or_default().iter().filter_map(path).collect())
    }
}

/// The pictures of a folder and of those in it, in natural order.
fn gather(task: &Task, folder: &Source, before: &str, depth: usize, names: &mut Vec<String>) -> Result<()> {
    let Ok(mut entries) = folder.some_entries(task, PICTURES as usize).unless_cancelled()? else {
        return Ok(());
    };
    entries.retain(|entry| !entry.name.starts_with('.') && (entry.is_folder || is_picture(&entry.name)));
    entries.sort_by(|a, b| natural_order(&a.name, &b.name));
    for entry in entries {
        if !entry.is_folder {
            names.push(format!("{before}{}", entry.name));
        } else if depth < DEEP
            && let Ok(inner) = folder.child(task, &entry.name).unless_cancelled()?
        {
            gather(task, &inner, &format!("{before}{}/", entry.name), depth + 1, names)?;
        }
    }
    Ok(())
}

impl Annotated for Pictures {
    fn rows(&self) -> Rows {
        let known = self.known.load(Ordering::Acquire);
        if self.ended.load(Ordering::Acquire) { Rows::Exact(known) } else { Rows::AtLeast(known) }
    }

    fn count(&self, task: &Task) -> Result<u64> {
        self.list(task, u64::MAX)?;
        Ok(self.known.load(Ordering::Acquire))
    }

    fn images(&self, task: &Task, range: Range<u64>, _objects: bool) -> Result<Vec<ImageRow>> {
        let row = |(place, path): (&Place, String)| ImageRow {
            image: Some(path),
            label: place.label.clone(),
            split: place.split.clone(),
            ..ImageRow::default()
        };
        Ok(self.paths(task, range)?.into_iter().map(row).collect())
    }
}

/// Whether a name is usual for a set of samples: `train`, `val2017`, `test_images`.
pub fn is_split(name: &str) -> bool {
    const WORDS: [&str; 13] = [
        "train",
        "training",
        "trainset",
        "val",
        "valid",
        "validation",
        "dev",
        "test",
        "testing",
        "testset",
        "eval",
        "evaluation",
        "trainval",
    ];
    let name = name.to_lowercase();
    let first = name.split(['_', '-', ' ']).next().unwrap_or_default();
    WORDS.contains(&first.trim_end_matches(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_are_listed_as_far_as_they_are_wanted() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b/2.png", "b/10.png", "b/note.txt", "b/.x.png", "a/deep/1.JPG", "c/1.png"] {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "x").unwrap();
        }
        let task = Task::new();
        let place = |name: &str| Place { path: name.to_owned(), label: Some(name.to_owned()), split: None };
        let root = Source::open(&task, folder.path()).unwrap();
        let pictures = Pictures::new(root, ["b", "a", "none", "c"].map(place).to_vec());
        assert_eq!(pictures.rows(), Rows::AtLeast(0));
        let paths = |range| -> Vec<String> {
            pictures.paths(&task, range).unwrap().into_iter().map(|(_, path)| path).collect()
        };
        assert_eq!(paths(0..2), ["b/2.png", "b/10.png"]);
        assert_eq!(pictures.rows(), Rows::AtLeast(2));
        assert_eq!(paths(1..100), ["b/10.png", "a/deep/1.JPG", "c/1.png"]);
        assert_eq!(pictures.rows(), Rows::Exact(4));
        assert_eq!(pictures.images(&task, 2..3, true).unwrap()[0].label.as_deref(), Some("a"));
    }

    #[test]
    fn names_of_splits() {
        assert!(["train", "Train", "val2017", "test_images", "validation"].iter().all(|name| is_split(name)));
        assert!(["trains", "cat", "values", "tested", "images"].iter().all(|name| !is_split(name)));
    }
}
