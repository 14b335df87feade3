//! Models that are cut into shards: `NAME-00001-of-00003.safetensors` and so on, with an index
//! `NAME.safetensors.index.json` beside them that says in which file each tensor lies; the same with `.bin` for
//! PyTorch's pickles. What a shard holds its format reads.
//! <https://huggingface.co/docs/transformers/big_models#sharded-checkpoints>

use crate::bytes::display;
use crate::bytes::error::{Defect, Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::source::{Entry as Name, Source};
use crate::bytes::task::Task;
use crate::data::format::{Formats, Opening, Options};
use crate::data::node::{Node, Value};
use crate::data::security::Report;
use crate::data::sniff::{Head, Match};
use crate::engines::modules::{self, Leaf};
use serde_json::{Map, Value as Json};
use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How the index of shards is called, behind the name of a shard without its number.
const INDEX: &str = ".index.json";
/// Missing shards that are named.
const NAMED: usize = 5;

/// How the shards of a format are called and read.
pub struct Shards<L> {
    /// What their names end in: `.safetensors`.
    pub end: &'static str,
    /// Reads what one holds.
    pub read: fn(&Task, &Source) -> Result<Shard<L>>,
    /// A tensor that the index names and no shard has, and why.
    pub absent: fn(String, Error) -> L,
    /// What several of all its tensors stand for, by the metadata of the model.
    pub derived: fn(&Task, &[L], &[(String, Value)]) -> Result<Vec<L>>,
}

/// What one shard holds.
pub struct Shard<L> {
    /// Its tensors.
    pub tensors: Vec<L>,
    /// What its file says of itself.
    pub metadata: Vec<(String, Json)>,
    /// What is wrong with it as a whole.
    pub problems: Vec<Error>,
    /// What code of its own it would run, where it may have some.
    pub report: Option<Report>,
}

/// A file name of the form `NAME-00001-of-00003.END`: the name, the number, how many there are. `end` has its dot.
pub fn shard_of<'a>(name: &'a str, end: &str) -> Option<(&'a str, u64, u64)> {
    let (rest, total) = name.strip_suffix(end)?.rsplit_once("-of-")?;
    let (prefix, number) = rest.rsplit_once('-')?;
    let digits = |text: &str| {
        let fits = (4..=9).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
        fits.then(|| text.parse::<u64>().ok()).flatten()
    };
    Some((prefix, digits(number)?, digits(total)?))
}

/// The files of a folder that belong to no model of this name, opened as one of `formats` when somebody looks.
pub fn others(
    formats: Formats,
    folder: &Path,
    entries: &[Name],
    belongs: impl Fn(&str) -> bool,
) -> Vec<Arc<Node>> {
    let shown = |entry: &&Name| !belongs(&entry.name) && !entry.name.starts_with('.');
    entries.iter().filter(shown).map(|entry| Arc::new(beside(formats, folder, entry))).collect()
}

impl<L: Leaf> Shards<L> {
    fn shard_of<'a>(&self, name: &'a str) -> Option<(&'a str, u64, u64)> {
        shard_of(name, self.end)
    }

    /// The name of the model that an index is of.
    fn indexed<'a>(&self, name: &'a str) -> Option<&'a str> {
        name.strip_suffix(INDEX)?.strip_suffix(self.end)
    }

    /// Whether a file is called as an index is.
    pub fn is_index(&self, name: &str) -> bool {
        self.indexed(name).is_some()
    }

    /// The name of the model that a file belongs to.
    fn model_of<'a>(&self, name: &'a str) -> Option<&'a str> {
        self.indexed(name).or_else(|| self.shard_of(name).map(|(prefix, _, _)| prefix))
    }

    /// A folder with exactly one sharded model: with more of them each is opened from its own files.
    pub fn sniff_folder(&self, head: &Head) -> Match {
        if !head.is_folder {
            return Match::No;
        }
        let files = head.entries.iter().filter(|entry| !entry.is_folder);
        let models: BTreeSet<&str> = files.filter_map(|entry| self.model_of(&entry.name)).collect();
        if models.len() == 1 { Match::Yes } else { Match::No }
    }

    /// Opens the model of a folder; the folder's other files follow its tensors, opened as one of `formats`.
    ///
    /// # Errors
    /// Where there is none, or nothing of it can be read.
    pub fn open_folder(&self, opening: &Opening, formats: Formats) -> Result<Node> {
        let entries = &opening.head.entries;
        let prefix = entries.iter().filter(|e| !e.is_folder).find_map(|entry| self.model_of(&entry.name));
        let prefix = prefix.ok_or_else(|| Error::unsupported("a folder without shards of a model"))?;
        let folder = opening.source.path().ok_or_else(|| Error::bug("a folder without a path"))?;
        let others = others(formats, folder, entries, |name| self.model_of(name) == Some(prefix));
        Set::read(self, opening.task, folder, prefix, entries)?.open(opening.task, others)
    }

    /// Opens the model that an index tells of.
    ///
    /// # Errors
    /// Where nothing of it can be read.
    pub fn open_index(&self, task: &Task, source: &Source) -> Result<Node> {
        let Some(folder) = folder_of(source) else {
            let what = "an index of shards inside another file: it has no shards beside it";
            return Err(Error::unsupported(what));
        };
        let prefix = self.indexed(source.name()).unwrap_or_default();
        let entries = Source::open(task, &folder)?.entries(task)?;
        Set::read(self, task, &folder, prefix, &entries)?.open(task, Vec::new())
    }

    /// Opens the model that a shard belongs to; `None` if the file is no shard, or lies where it has no
    /// neighbours.
    ///
    /// # Errors
    /// Where nothing of it can be read.
    pub fn open_shard(&self, task: &Task, source: &Source) -> Result<Option<Node>> {
        let (Some((prefix, _, _)), Some(folder)) = (self.shard_of(source.name()), folder_of(source)) else {
            return Ok(None);
        };
        let entries = Source::open(task, &folder)?.entries(task)?;
        Set::read(self, task, &folder, prefix, &entries)?.open(task, Vec::new()).map(Some)
    }
}

/// Another file of the model's folder: its configuration, its tokenizer.
fn beside(formats: Formats, folder: &Path, entry: &Name) -> Node {
    let path = folder.join(&entry.name);
    let label = if entry.is_folder { "folder" } else { "file" };
    formats.nested(entry.name.as_str(), label, Options::default(), move |task| Source::open(task, &path))
}

fn folder_of(source: &Source) -> Option<PathBuf> {
    let parent = source.path()?.parent()?;
    Some(if parent.as_os_str().is_empty() { PathBuf::from(".") } else { parent.to_owned() })
}

/// The files of one model.
struct Set<'a, L> {
    shards: &'a Shards<L>,
    folder: PathBuf,
    /// File names in the order of their numbers; those of the index first.
    files: Vec<String>,
    /// Which of them are not there.
    missing: BTreeSet<String>,
    /// What the index says, if there is one.
    index: Option<Index>,
    problems: Vec<Error>,
}

#[derive(Default)]
struct Index {
    metadata: Map<String, Json>,
    /// Tensor and file name.
    tensors: Vec<(String, String)>,
}

impl<'a, L: Leaf> Set<'a, L> {
    /// Finds the files among a folder's entries, and in the index.
    fn read(
        shards: &'a Shards<L>,
        task: &Task,
        folder: &Path,
        prefix: &str,
        entries: &[Name],
    ) -> Result<Set<'a, L>> {
        let mut set = Set {
            shards,
            folder: folder.to_owned(),
            files: Vec::new(),
            missing: BTreeSet::new(),
            index: None,
            problems: Vec::new(),
        };
        let index_name = format!("{prefix}{}{INDEX}", shards.end);
        if entries.iter().any(|entry| entry.name == index_name && !entry.is_folder) {
            match read_index(task, &folder.join(&index_name)).unless_cancelled()? {
                Ok(index) => set.index = Some(index),
                Err(error) => set.problems.push(error.in_node(&index_name)),
            }
        }
        let there: Vec<(&str, u64, u64)> = entries
            .iter()
            .filter(|entry| !entry.is_folder)
            .filter_map(|entry| Some((entry.name.as_str(), shards.shard_of(&entry.name)?)))
            .filter(|(_, (name, _, _))| *name == prefix)
            .map(|(name, (_, number, total))| (name, number, total))
            .collect();
        let known: BTreeSet<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
        let mut files: BTreeSet<String> = there.iter().map(|(name, _, _)| (*name).to_owned()).collect();
        for (_, file) in set.index.iter().flat_map(|index| &index.tensors) {
            if !files.contains(file) {
                if !known.contains(file.as_str()) {
                    set.missing.insert(file.clone());
                }
                files.insert(file.clone());
            }
        }
        set.files = files.into_iter().collect();
        set.files.sort_by(|a, b| display::natural_order(a, b));
        set.missed(&there);
        Ok(set)
    }

    /// Says which shards are missing, by the index or else by their numbers.
    fn missed(&mut self, there: &[(&str, u64, u64)]) {
        let list = |mut names: Vec<String>, count: u64| {
            names.truncate(NAMED);
            let more = count.saturating_sub(names.len() as u64);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("{}{more}", names.join(", "))
        };
        if !self.missing.is_empty() {
            let names = list(self.missing.iter().cloned().collect(), self.missing.len() as u64);
            let count = self.files.len();
            let what = format!("model: of the {count} shards in its index these are missing: {names}");
            self.problems.push(Error::malformed(what).with_defect(Defect::Shards));
        } else if let Some(total) = there.iter().map(|(_, _, total)| *total).max() {
            let numbers: BTreeSet<u64> = there.iter().map(|(_, number, _)| *number).collect();
            let present = numbers.range(1..=total).count() as u64;
            if present < total {
                let absent = (1..=total).filter(|number| !numbers.contains(number));
                let names = list(absent.take(NAMED).map(|n| n.to_string()).collect(), total - present);
                let what = format!("model: of its {total} shards these are missing: {names}");
                self.problems.push(Error::malformed(what).with_defect(Defect::Shards));
            }
        }
    }

    /// Reads the headers of all shards and puts their tensors together.
    fn open(mut self, task: &Task, others: Vec<Arc<Node>>) -> Result<Node> {
        let mut leaves: Vec<L> = Vec::new();
        let mut root = Node::new("", "model");
        let mut names: HashSet<String> = HashSet::new();
        let mut report: Option<Report> = None;
        let mut read = 0;
        task.set_total(self.files.len() as u64);
        for file in std::mem::take(&mut self.files) {
            task.advance(1)?;
            if self.missing.contains(&file) {
                continue;
            }
            let shard = self.source(task, &file).and_then(|source| (self.shards.read)(task, &source));
            match shard.unless_cancelled()? {
                Ok(shard) => {
                    read += 1;
                    if let Some(found) = &shard.report {
                        report.get_or_insert_default().merge(found.clone());
                    }
                    self.take(shard, &file, &mut root, &mut leaves, &mut names);
                }
                Err(error) => self.problems.push(error.in_node(&file)),
            }
        }
        self.unfound(&names, &mut leaves);
        let metadata = self.index.into_iter().flat_map(|index| index.metadata);
        root.attributes.extend(metadata.map(|(name, value)| (name, value.into())));
        blame(&mut root, self.problems);
        let derived = (self.shards.derived)(task, &leaves, &root.attributes)?;
        leaves.extend(derived);
        if read == 0 && others.is_empty() && leaves.is_empty() {
            return Err(root.problem.unwrap_or_else(|| Error::malformed("model: it has no shards")));
        }
        let root = modules::tree(root, leaves, others);
        Ok(match report {
            Some(report) => root.python(report),
            None => root,
        })
    }

    /// The file of a name in the index: beside it. Links are followed, since caches consist of them.
    fn source(&self, task: &Task, file: &str) -> Result<Source> {
        if file.contains(['/', '\\']) || file == ".." || file == "." {
            return Source::open(task, &self.folder)?.child(task, file);
        }
        Source::open(task, &self.folder.join(file))
    }

    /// Adds what one shard holds.
    fn take(
        &mut self,
        shard: Shard<L>,
        file: &str,
        root: &mut Node,
        leaves: &mut Vec<L>,
        names: &mut HashSet<String>,
    ) {
        self.problems.extend(shard.problems.into_iter().map(|problem| problem.in_node(file)));
        for (name, value) in shard.metadata {
            let value = value.into();
            if !root.attributes.iter().any(|(n, v)| *n == name && *v == value) {
                root.attributes.push((name, value));
            }
        }
        for leaf in shard.tensors {
            if !names.insert(leaf.name().to_owned()) {
                let what = format!("model: {:?} is in {file} again; the first one holds", leaf.name());
                self.problems.push(Error::malformed(what).with_defect(Defect::Shards));
                continue;
            }
            leaves.push(leaf);
        }
    }

    /// Tensors of the index that no shard has: named in the tree, with the reason.
    fn unfound(&mut self, names: &HashSet<String>, leaves: &mut Vec<L>) {
        let mut absent = 0;
        let tensors = self.index.as_mut().map(|index| std::mem::take(&mut index.tensors));
        let mut seen = BTreeSet::new();
        for (name, file) in tensors.into_iter().flatten() {
            if names.contains(&name) || !seen.insert(name.clone()) {
                continue;
            }
            let missing = self.missing.contains(&file);
            absent += u64::from(!missing);
            let why = if missing { "which is missing" } else { "which does not have it" };
            let problem = Error::malformed(format!("model: the index puts it in {file}, {why}"));
            leaves.push((self.shards.absent)(name, problem));
        }
        if absent > 0 {
            let count = display::plural(absent, "tensor");
            let what = format!("model: {count} of the index are not in the shards that it names");
            self.problems.push(Error::malformed(what).with_defect(Defect::Shards));
        }
    }
}

/// Reads an index.
fn read_index(task: &Task, path: &Path) -> Result<Index> {
    let source = Source::open(task, path)?;
    let len = source.len(task)?;
    limits::check(len, limits::HEADER, "the index of the shards")?;
    let text = source.read(task, 0..len)?;
    let json: Json = serde_json::from_slice(&text)
        .map_err(|error| Error::malformed(format!("index of the shards: {error}")))?;
    let map = json.get("weight_map").and_then(Json::as_object);
    let map = map.ok_or_else(|| Error::malformed("index of the shards: it has no weight_map"))?;
    let file = |(name, file): (&String, &Json)| Some((name.clone(), file.as_str()?.to_owned()));
    let tensors: Vec<(String, String)> = map.iter().filter_map(file).collect();
    if tensors.len() < map.len() {
        return Err(Error::malformed("index of the shards: its weight_map has what is no file name"));
    }
    let metadata = json.get("metadata").and_then(Json::as_object).cloned().unwrap_or_default();
    Ok(Index { metadata, tensors })
}

/// The first problem becomes the node's, the others remarks.
fn blame(node: &mut Node, problems: Vec<Error>) {
    for problem in problems {
        match &node.problem {
            None => node.problem = Some(problem),
            Some(_) => node.remarks.push(problem.message()),
        }
    }
}
