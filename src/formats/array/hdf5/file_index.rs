//! `FileIndex`: one open file with what is known of its paths — following links by name, finding the path of an
//! object, opening the other files that external links and virtual datasets name.

use super::axes::Scale;
use super::conventions::Flavour;
use super::data::{self, Names};
use super::file::File;
use super::links::{Link, Links, Target};
use super::object::Object;
use super::superblock::Superblock;
use crate::bytes::error::{Error, Result};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::Array;
use parking_lot::Mutex;
use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;

/// The soft and external links that one path may lead through; HDF5's own limit.
const HOPS: u32 = 16;
/// How deep virtual datasets may be made of virtual datasets.
const VIRTUAL: u32 = 8;
/// The groups whose links are kept.
const GROUPS: usize = 1_024;
/// How often one group with several links is listed.
const SHOWN: u32 = 64;
/// The objects that are looked at to find the path of one.
const SEARCHED: usize = 50_000;

/// One open file with what was found out about its paths.
pub struct FileIndex {
    /// What kind of file it is.
    pub flavour: Flavour,
    file: File,
    /// The files whose external links led here, and this one.
    chain: Vec<PathBuf>,
    groups: Mutex<HashMap<u64, Arc<Links>>>,
    paths: Mutex<Paths>,
    /// Datasets that others have as their axes.
    scales: Mutex<HashMap<u64, Option<Arc<Scale>>>>,
    /// How often groups with several links were shown.
    shown: Mutex<HashMap<u64, u32>>,
    /// Other files, by the name that is used for them; `None` for those that cannot be opened.
    others: Mutex<HashMap<String, Option<Arc<FileIndex>>>>,
}

/// Paths of objects, as far as the file was searched, breadth first.
struct Paths {
    known: HashMap<u64, String>,
    queue: VecDeque<u64>,
    looked_at: usize,
}

/// Where a path leads.
pub struct Place {
    /// The file.
    pub book: Arc<FileIndex>,
    /// The object header.
    pub address: u64,
}

impl FileIndex {
    /// Opens the HDF5 file in a source: its superblock only.
    ///
    /// # Errors
    /// `Malformed` where there is none.
    pub fn open(task: &Task, source: &Source, flavour: Flavour) -> Result<Arc<Self>> {
        Self::after(task, source, flavour, &[])
    }

    fn after(task: &Task, source: &Source, flavour: Flavour, chain: &[PathBuf]) -> Result<Arc<Self>> {
        let len = source.len(task)?;
        let superblock = Superblock::read(task, source, len)?;
        let root = superblock.root;
        let mut chain = chain.to_vec();
        chain.extend(source.path().map(|path| path.canonicalize().unwrap_or_else(|_| path.to_owned())));
        let paths = Paths {
            known: HashMap::from([(root, String::new())]),
            queue: VecDeque::from([root]),
            looked_at: 0,
        };
        Ok(Arc::new(FileIndex {
            flavour,
            file: File::new(source.clone(), superblock, len),
            chain,
            groups: Mutex::default(),
            paths: Mutex::new(paths),
            scales: Mutex::default(),
            shown: Mutex::default(),
            others: Mutex::default(),
        }))
    }

    /// The file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// The address of the root group.
    pub fn root(&self) -> u64 {
        self.file.superblock().root
    }

    /// The links of a group; `None` where the object is none.
    pub fn links(&self, task: &Task, address: u64) -> Result<Option<Arc<Links>>> {
        if let Some(links) = self.groups.lock().get(&address) {
            return Ok(Some(links.clone()));
        }
        let object = Object::read(&self.file, task, address)?;
        self.links_of(task, &object)
    }

    /// The same where the object header was read already.
    pub fn links_of(&self, task: &Task, object: &Object) -> Result<Option<Arc<Links>>> {
        let Some(links) = Links::of(&self.file, task, object)? else { return Ok(None) };
        let links = Arc::new(links);
        let mut groups = self.groups.lock();
        if groups.len() >= GROUPS {
            groups.clear();
        }
        Ok(Some(groups.entry(object.address).or_insert(links).clone()))
    }

    /// Follows a path: absolute, or from the group `from`. `None` where it leads nowhere.
    ///
    /// # Errors
    /// `Malformed` for links that go in circles, and what reading groups gives.
    pub fn follow(self: &Arc<Self>, task: &Task, from: u64, path: &str) -> Result<Option<Place>> {
        let mut hops = 0;
        self.walk(task, from, path, &mut hops)
    }

    fn walk(self: &Arc<Self>, task: &Task, from: u64, path: &str, hops: &mut u32) -> Result<Option<Place>> {
        let start = if path.starts_with('/') { self.root() } else { from };
        let mut at = Place { book: self.clone(), address: start };
        for name in path.split('/').filter(|name| !name.is_empty() && *name != ".") {
            let Some(links) = at.book.links(task, at.address)? else { return Ok(None) };
            let Some(link) = links.find(task, name)? else { return Ok(None) };
            match at.book.clone().target(task, at.address, &link, hops)? {
                Some(place) => at = place,
                None => return Ok(None),
            }
        }
        Ok(Some(at))
    }

    /// Where a link of the group `from` leads.
    fn target(
        self: &Arc<Self>,
        task: &Task,
        from: u64,
        link: &Link,
        hops: &mut u32,
    ) -> Result<Option<Place>> {
        if let Target::Hard(address) = link.target {
            return Ok(Some(Place { book: self.clone(), address }));
        }
        *hops += 1;
        if *hops > HOPS {
            return Err(Error::malformed(format!(
                "HDF5 link {:?}: it leads through over {HOPS} other links; they may go in a circle",
                link.name
            )));
        }
        match &link.target {
            Target::Soft(path) => self.walk(task, from, path, hops),
            Target::External(target) => match self.other(task, &target.0)? {
                Some(other) => other.walk(task, other.root(), &target.1, hops),
                None => Ok(None),
            },
            _ => Ok(None),
        }
    }

    /// Another file, by the name that an external link or virtual dataset has for it: only in this file's
    /// own folder or below. `None` where it is not there or lies elsewhere.
    ///
    /// # Errors
    /// `Malformed` where it is no HDF5 file, or where files name each other in a circle.
    pub fn other(self: &Arc<Self>, task: &Task, name: &str) -> Result<Option<Arc<FileIndex>>> {
        if let Some(other) = self.others.lock().get(name) {
            return Ok(other.clone());
        }
        let Some(source) = self.beside(task, name) else {
            self.others.lock().insert(name.to_owned(), None);
            return Ok(None);
        };
        let real = source.path().map(|path| path.canonicalize().unwrap_or_else(|_| path.to_owned()));
        if let Some(real) = real {
            if self.chain.last() == Some(&real) {
                return Ok(Some(self.clone()));
            }
            if self.chain.contains(&real) {
                return Err(Error::malformed(format!("HDF5 external link: {name} leads back to this file")));
            }
        }
        let other = Self::after(task, &source, self.flavour, &self.chain).map_err(|e| e.in_file(name))?;
        self.others.lock().insert(name.to_owned(), Some(other.clone()));
        Ok(Some(other))
    }

    /// A file in this one's folder. Of a path elsewhere only the name is looked for, as HDF5 does it.
    fn beside(&self, task: &Task, name: &str) -> Option<Source> {
        let source = self.file.source();
        let opened = source.sibling(task, name).ok();
        opened.or_else(|| source.sibling(task, name.rsplit(['/', '\\']).next()?).ok())
    }

    /// The path of an object, by searching the file from its root; `None` where it has none, or the file is
    /// too large to search all of it.
    pub fn path_of(&self, task: &Task, address: u64) -> Option<String> {
        let mut paths = self.paths.lock();
        loop {
            if let Some(path) = paths.known.get(&address) {
                return Some(if path.is_empty() { "/".to_owned() } else { path.clone() });
            }
            if paths.looked_at >= SEARCHED || task.is_cancelled() {
                return None;
            }
            let group = paths.queue.pop_front()?;
            paths.looked_at += 1;
            let Ok(Some(links)) = self.links(task, group) else { continue };
            let Ok(links) = links.page(task, 0..SEARCHED as u64) else { continue };
            let path = paths.known.get(&group).cloned().unwrap_or_default();
            for link in links {
                if let Target::Hard(child) = link.target
                    && !paths.known.contains_key(&child)
                {
                    paths.known.insert(child, format!("{path}/{}", link.name));
                    paths.queue.push_back(child);
                }
            }
        }
    }

    /// Counts how often a group with several links is shown; whether it may be once more.
    pub fn shown_again(&self, address: u64) -> bool {
        let mut shown = self.shown.lock();
        let times = shown.entry(address).or_insert(0);
        *times += 1;
        *times <= SHOWN
    }

    /// The dataset at a path from a group, with its attributes: for axes. Kept, since datasets share them.
    pub(super) fn scale(self: &Arc<Self>, task: &Task, from: u64, path: &str) -> Option<Arc<Scale>> {
        let place = self.follow(task, from, path).ok().flatten()?;
        if !Arc::ptr_eq(&place.book, self) {
            return Scale::read(task, &place, path).map(Arc::new);
        }
        if let Some(scale) = self.scales.lock().get(&place.address) {
            return scale.clone();
        }
        let scale = Scale::read(task, &place, path).map(Arc::new);
        if scale.as_ref().is_some_and(|scale| scale.holds_index) {
            return scale;
        }
        let mut scales = self.scales.lock();
        if scales.len() >= GROUPS {
            scales.clear();
        }
        scales.insert(place.address, scale.clone());
        scale
    }

    /// What values need of the file.
    pub fn names(self: &Arc<Self>) -> Arc<dyn Names> {
        Arc::new(Within { book: self.clone(), depth: 0 })
    }
}

/// The names of a file for the sources of virtual datasets that lie `depth` deep in each other.
struct Within {
    book: Arc<FileIndex>,
    depth: u32,
}

impl Names for Within {
    fn path(&self, task: &Task, address: u64) -> Option<String> {
        self.book.path_of(task, address)
    }

    fn dataset(&self, task: &Task, file: &str, dataset: &str) -> Result<Option<Arc<dyn Array>>> {
        if self.depth >= VIRTUAL {
            return Err(Error::limit(format!("over {VIRTUAL} virtual datasets made of each other")));
        }
        let book = match file {
            "." => Some(self.book.clone()),
            name => self.book.other(task, name)?,
        };
        let Some(book) = book else { return Ok(None) };
        let Some(place) = book.follow(task, book.root(), dataset)? else { return Ok(None) };
        let file = place.book.file();
        let source = Object::read(file, task, place.address)?.dataset(file, task)?;
        let names = Arc::new(Within { book: place.book.clone(), depth: self.depth + 1 });
        data::open(task, file, &source, names).map(|opened| Some(opened.array))
    }

    fn is_outermost(&self) -> bool {
        self.depth == 0
    }
}
