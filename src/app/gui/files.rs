//! The open files: each is opened by a job, and may be opened anew.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gander::bytes::error::Error;
use gander::bytes::source::Source;
use gander::bytes::task::Task;
use gander::data::content::Kind;
use gander::data::format::Options;
use gander::data::open::Document;
use gander::formats::array::raw;
use gander::jobs::{JobSpec, Jobs, Slot};
use parking_lot::Mutex;

use super::watch::{Change, Watch};
use crate::cli::split_target;

/// How far an open file is.
#[derive(Clone)]
pub(crate) enum State {
    /// A job reads its headers.
    Opening,
    /// Its tree is there.
    Ready(Arc<Document>),
    /// It could not be opened.
    Failed(Error),
}

/// A file that the user opened.
pub(crate) struct File {
    /// Unique in this process.
    pub(crate) id: u64,
    /// Where it lies.
    pub(crate) path: PathBuf,
    /// The files of which this is one table; none for a file of its own.
    pub(crate) parts: Vec<PathBuf>,
    /// What it is opened with.
    pub(crate) options: Options,
    /// How far it is.
    pub(crate) state: State,
    /// What somebody else did to it since it was opened.
    pub(crate) change: Option<Change>,
    /// What it was taken for, if it could not be opened.
    tried: Arc<Mutex<Option<String>>>,
    /// Counts up with each reload.
    generation: u64,
    slot: Slot<u64, Document>,
}

impl File {
    /// The file's name without its folders.
    pub(crate) fn name(&self) -> String {
        let name = self.path.file_name().map(|name| name.to_string_lossy().into_owned());
        name.unwrap_or_else(|| self.path.display().to_string())
    }

    /// Whether it was never opened anew.
    pub(crate) fn is_first(&self) -> bool {
        self.generation == 0
    }

    /// The tree, once it is there.
    pub(crate) fn document(&self) -> Option<&Arc<Document>> {
        match &self.state {
            State::Ready(document) => Some(document),
            _ => None,
        }
    }

    /// What it was taken for, if it could not be opened, as a sentence.
    pub(crate) fn tried(&self) -> Option<String> {
        self.tried.lock().clone()
    }

    fn poll(&mut self, jobs: &Jobs) -> bool {
        let (path, options, tried) = (self.path.clone(), self.options.clone(), self.tried.clone());
        let title = if matches!(self.state, State::Opening) {
            format!("opening {}", self.name())
        } else {
            String::new()
        };
        let parts = self.parts.clone();
        let shown = self.slot.get(jobs, &self.generation, JobSpec::once(title), move |task| {
            if !parts.is_empty() {
                return gander::formats::together(task, &parts);
            }
            let opened = gander::open(task, &path, &options);
            if opened.is_err() {
                *tried.lock() = looks_like(task, &path, &options);
            }
            opened
        });
        match (shown.ready(), shown.error) {
            (Some(document), _) => {
                let news = self.document().is_none_or(|old| !Arc::ptr_eq(old, &document));
                self.state = State::Ready(document);
                news
            }
            // Somebody cancelled the reload: the tree that is there stays.
            (None, Some(error)) if error.is_cancelled() && self.document().is_some() => false,
            (None, Some(error)) => {
                let news = !matches!(self.state, State::Failed(_));
                self.state = State::Failed(error);
                news
            }
            (None, None) => false,
        }
    }
}

/// What a file looks like, for one that could not be opened.
fn looks_like(task: &Task, path: &Path, options: &Options) -> Option<String> {
    if let Some(id) = options.get("format") {
        let format = gander::formats::by_id(id)?;
        return Some(format!("You asked for it as {}.", format.name));
    }
    let source = Source::open(task, path).ok()?;
    let head = gander::formats::head(task, &source).ok()?;
    if head.first.is_empty() && !head.is_folder {
        return None;
    }
    let verdict = gander::formats::detect(&head);
    let magic = verdict.format.magic.iter().any(|magic| magic.matches(&head));
    let by = if magic { "its first bytes" } else { "its name and its beginning" };
    Some(format!("By {by} it was taken for {}.", verdict.format.name))
}

/// A file that was named, perhaps with a node of it: `FILE#NODE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Named {
    /// The number of the file.
    pub(crate) file: u64,
    /// Whether it was not open before.
    pub(crate) is_new: bool,
    /// The path of the node in it.
    pub(crate) node: Option<String>,
}

/// All of them, in the order of opening.
#[derive(Default)]
pub(crate) struct Files {
    list: Vec<File>,
    next: u64,
    watch: Option<Watch>,
    /// How files were opened that do not say it themselves: raw arrays.
    told: BTreeMap<PathBuf, Options>,
}

impl Files {
    /// Opens a path, or finds it among the open ones. The number of the file, and whether it is new.
    pub(crate) fn open(&mut self, path: &Path) -> (u64, bool) {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        if let Some(file) = self.list.iter().find(|file| file.path == path) {
            return (file.id, false);
        }
        if let Some(watch) = &self.watch {
            watch.follow(&path);
        }
        (self.push(path, Vec::new()), true)
    }

    /// Opens paths, each of which may name a node behind a `#`. Those without one that are tables of one kind are looked
    /// at as one table, too.
    pub(crate) fn open_named(&mut self, paths: &[PathBuf]) -> Vec<Named> {
        let split = |path: &PathBuf| match path.to_str().map(split_target) {
            Some((file, node)) if !node.is_empty() => (file, Some(node.to_owned())),
            _ => (path.clone(), None),
        };
        let named: Vec<(PathBuf, Option<String>)> = paths.iter().map(split).collect();
        let opened = named.iter().map(|(path, node)| {
            let (file, is_new) = self.open(path);
            Named { file, is_new, node: node.clone() }
        });
        let opened = opened.collect();
        let whole = named.into_iter().filter(|(_, node)| node.is_none()).map(|(path, _)| path);
        self.open_together(&whole.collect::<Vec<_>>());
        opened
    }

    /// Several table files of one kind, opened at the same time, as one table beside them, if their
    /// columns fit; else it goes away again.
    pub(crate) fn open_together(&mut self, paths: &[PathBuf]) {
        let extension = |path: &PathBuf| path.extension().map(|e| e.to_string_lossy().to_lowercase());
        let [first, second, ..] = paths else { return };
        let Some(kind) = extension(first).filter(|_| extension(second).is_some()) else { return };
        let is_table = gander::formats::FORMATS
            .iter()
            .any(|format| format.reads.contains(&Kind::Table) && format.extensions.contains(&kind.as_str()));
        if !is_table || !paths.iter().all(|path| extension(path).as_ref() == Some(&kind)) {
            return;
        }
        let parts: Vec<PathBuf> =
            paths.iter().map(|path| std::path::absolute(path).unwrap_or_else(|_| path.clone())).collect();
        let Some(name) = first.file_name() else { return };
        let path = first.with_file_name(format!("{} and {} more", name.to_string_lossy(), paths.len() - 1));
        if self.list.iter().all(|file| file.parts != parts) {
            self.push(path, parts);
        }
    }

    fn push(&mut self, path: PathBuf, parts: Vec<PathBuf>) -> u64 {
        self.next += 1;
        let options = self.told.get(&path).cloned().unwrap_or_default();
        self.list.push(File {
            id: self.next,
            path,
            parts,
            options,
            state: State::Opening,
            change: None,
            tried: Arc::default(),
            generation: 0,
            slot: Slot::default(),
        });
        self.next
    }

    /// By which options files were opened before, so that they are opened like that again.
    pub(crate) fn remember(&mut self, told: &[(PathBuf, BTreeMap<String, String>)]) {
        self.told.extend(told.iter().map(|(path, options)| (path.clone(), Options(options.clone()))));
    }

    /// What is to be remembered of files that were told how they are to be read.
    pub(crate) fn told(&self) -> Vec<(PathBuf, BTreeMap<String, String>)> {
        self.told.iter().map(|(path, options)| (path.clone(), options.0.clone())).collect()
    }

    /// Takes what the jobs have done; the files with news.
    pub(crate) fn poll(&mut self, jobs: &Jobs) -> Vec<u64> {
        let watch = self.watch.get_or_insert_with(|| {
            let watch = Watch::new(jobs);
            self.list.iter().for_each(|file| watch.follow(&file.path));
            watch
        });
        let own = |file: &&mut File| file.parts.is_empty();
        self.list.iter_mut().filter(own).for_each(|file| file.change = watch.change(&file.path));
        let mut news = Vec::new();
        for file in &mut self.list {
            if file.poll(jobs) {
                news.push(file.id);
                let growing = |document: &'_ Document| document.root.growing.clone();
                let source =
                    file.document().map(|document| growing(document).unwrap_or(document.source.clone()));
                if let Some(source) = source.filter(|source| source.may_grow()) {
                    watch.opened(&file.path, &source);
                }
            }
        }
        // What has grown is opened again, and what is there is shown until then.
        let grown = |file: &&File| file.change == Some(Change::Grown) && file.document().is_some();
        let grown: Vec<u64> = self.list.iter().filter(grown).map(|file| file.id).collect();
        grown.into_iter().for_each(|id| self.reload(id, None));
        // Files that are not one table stand alone, without a word.
        self.list.retain(|file| file.parts.is_empty() || !matches!(file.state, State::Failed(_)));
        news
    }

    /// A file by its number.
    pub(crate) fn get(&self, id: u64) -> Option<&File> {
        self.list.iter().find(|file| file.id == id)
    }

    /// All files.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &File> {
        self.list.iter()
    }

    /// How many.
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// Closes a file.
    pub(crate) fn close(&mut self, id: u64) {
        if let Some(file) = self.list.iter().find(|file| file.id == id) {
            file.slot.cancel();
            if let Some(watch) = &self.watch {
                watch.forget(&file.path);
            }
        }
        self.list.retain(|file| file.id != id);
    }

    /// Opens a file anew, perhaps with other options. The old tree stays until the new one is there.
    pub(crate) fn reload(&mut self, id: u64, options: Option<Options>) {
        if let Some(file) = self.list.iter_mut().find(|file| file.id == id) {
            file.generation += 1;
            file.change = None;
            *file.tried.lock() = None;
            if let Some(watch) = &self.watch {
                watch.follow(&file.path);
            }
            if let Some(options) = options {
                // A format alone is a try; what it is told to read by holds for the file from now on.
                let is_told = options.0.keys().any(|name| name != "format") || is_raw(&options);
                match is_told {
                    true => drop(self.told.insert(file.path.clone(), options.clone())),
                    false => drop(self.told.remove(&file.path)),
                }
                file.options = options;
            }
            if !matches!(file.state, State::Ready(_)) {
                file.state = State::Opening;
            }
        }
    }
}

/// Whether a file is read as numbers without a header.
fn is_raw(options: &Options) -> bool {
    options.get("format") == Some(raw::FORMAT.id)
}
