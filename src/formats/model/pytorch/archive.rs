//! The container of today: a ZIP archive with one folder, in which `data.pkl` holds the objects and `data/0`,
//! `data/1` … the storages, uncompressed and aligned. TorchScript adds `code/` and `constants.pkl`; packages of
//! `torch.package` are several pickles with their sources.
//! <https://github.com/pytorch/pytorch/blob/main/caffe2/serialize/inline_container.h>

use super::storage::{Stores, stored};
use super::survey::{Survey, survey};
use super::values::Torch;
use crate::bytes::archive::zip::{Archive, Member};
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::format::Options;
use crate::data::node::Node;
use crate::data::security::Report;
use crate::engines::archive::{self as tree, Members};
use crate::engines::pickle::{self, Pickle, Values};
use bytes::Bytes;
use std::collections::HashSet;
use std::sync::Arc;

/// The most bytes of all pickles in an archive that are looked into for the report.
const EXAMINED: u64 = 256 << 20;
/// Archives in archives that are looked into.
const NESTED: u32 = 2;

/// An archive of PyTorch's.
#[derive(Clone)]
pub(super) struct Container {
    pub(super) archive: Archive,
    /// The folder that all of it lies in, with its slash; empty where there is none.
    pub(super) prefix: String,
}

/// Members that say how the others are stored.
const BOOKKEEPING: [&str; 7] = [
    "version",
    "byteorder",
    ".format_version",
    ".storage_alignment",
    ".data/serialization_id",
    ".data/version",
    "archive_version",
];

impl Container {
    /// An archive, if it is one of PyTorch's.
    ///
    /// # Errors
    /// Those of reading the archive.
    pub(super) fn open(task: &Task, source: &Source) -> Result<Option<Container>> {
        let archive = Archive::open(task, source)?;
        let prefix = archive.members.iter().find_map(|member| {
            let (prefix, name) = match member.name.split_once('/') {
                Some((folder, name)) => (format!("{folder}/"), name),
                None => (String::new(), member.name.as_str()),
            };
            let signs = [
                "data.pkl",
                "constants.pkl",
                "archive_format",
                "archive_version",
                ".format_version",
                ".data/serialization_id",
                super::export::OLD,
            ];
            let is_sign = signs.contains(&name) || name == "extern_modules" && prefix == ".data/";
            let package = name == ".data/extern_modules";
            (is_sign || package).then(|| if prefix == ".data/" { String::new() } else { prefix })
        });
        Ok(prefix.map(|prefix| Container { archive, prefix }))
    }

    /// A member by its name in the folder.
    pub(super) fn member(&self, name: &str) -> Option<&Member> {
        let is = |member: &&Member| member.name.strip_prefix(self.prefix.as_str()) == Some(name);
        self.archive.members.iter().find(is)
    }

    /// Whether there is a member of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.member(name).is_some()
    }

    /// Whether a member lies in this folder.
    pub(super) fn has_folder(&self, name: &str) -> bool {
        let folder = format!("{}{name}", self.prefix);
        self.archive.members.iter().any(|member| member.name.starts_with(&folder))
    }

    /// The bytes of a member, all of them.
    ///
    /// # Errors
    /// Where it is not there, or is too large for what is read whole.
    pub(super) fn bytes(&self, task: &Task, name: &str) -> Result<Bytes> {
        let member = self.member(name);
        let member = member.ok_or_else(|| Error::malformed(format!("archive: it has no {name}")))?;
        bytes_of(task, &self.archive, member)
    }

    /// A short text, as files say how they are stored.
    fn word(&self, task: &Task, name: &str) -> Result<Option<String>> {
        let Some(member) = self.member(name).filter(|member| member.size <= 1 << 10) else { return Ok(None) };
        let bytes = bytes_of(task, &self.archive, member).unless_cancelled()?.unwrap_or_default();
        Ok(Some(String::from_utf8_lossy(&bytes).trim().to_owned()))
    }

    /// The storages in one folder, or whose names end so.
    ///
    /// # Errors
    /// `Cancelled`.
    pub(super) fn stores(&self, task: &Task, folder: &str, end: &str) -> Result<Stores> {
        let whole = format!("{}{folder}", self.prefix);
        let mut stores = Stores::of_archive(task, &self.archive, &whole, end)?;
        stores.big_endian = self.is_big_endian(task)?;
        Ok(stores)
    }

    /// Whether numbers are big-endian.
    pub(super) fn is_big_endian(&self, task: &Task) -> Result<bool> {
        Ok(self.word(task, "byteorder")?.is_some_and(|word| word == "big"))
    }

    /// Says of a root how the archive is stored, and what is wrong with it.
    ///
    /// # Errors
    /// `Cancelled`.
    pub(super) fn describe(&self, task: &Task, mut root: Node) -> Result<Node> {
        let lines = [("format version", ".data/version"), ("format version", "version")];
        for (name, member) in lines {
            if let Some(value) = self.word(task, member)?.filter(|_| !has_line(&root, name)) {
                root = root.read_as(name, value);
            }
        }
        if let Some(order) = self.word(task, "byteorder")? {
            if !["little", "big"].contains(&order.as_str()) {
                let what = format!("the byte order {order:?} is none that is known; read as little-endian");
                root.remarks.push(what);
            }
            root = root.read_as("byte order", order);
        }
        if let Some(problem) = &self.archive.problem {
            root.problem.get_or_insert_with(|| problem.clone());
        }
        Ok(root)
    }

    /// What all pickles in the archive would import, those in archives within included.
    ///
    /// # Errors
    /// `Cancelled`.
    pub(super) fn report(&self, task: &Task) -> Result<Report> {
        let mut report = Report::default();
        examine_all(task, &self.archive, &mut report)?;
        Ok(report)
    }

    /// The members that are neither storages nor bookkeeping, as nodes; those in `taken` are shown otherwise.
    ///
    /// # Errors
    /// `Cancelled`.
    pub(super) fn others(&self, task: &Task, storages: &[&str], taken: &[&str]) -> Result<Vec<Arc<Node>>> {
        let folders: Vec<String> = storages.iter().map(|folder| format!("{}{folder}", self.prefix)).collect();
        let known: HashSet<String> =
            taken.iter().chain(&BOOKKEEPING).map(|name| format!("{}{name}", self.prefix)).collect();
        let is_other = |member: &Member| {
            !member.is_folder()
                && !known.contains(&member.name)
                && !folders.iter().any(|folder| member.name.starts_with(folder.as_str()))
        };
        let members = self.archive.members.iter().zip(0u32..).filter(|(member, _)| is_other(member));
        let members = members.map(|(_, index)| index).collect();
        let others = Others {
            archive: self.archive.clone(),
            prefix: self.prefix.clone(),
            big_endian: self.is_big_endian(task)?,
            members,
        };
        let listing = tree::listing(task, others)?;
        crate::data::node::Listing::page(&listing, task, 0..limits::LISTED)
    }
}

fn has_line(node: &Node, name: &str) -> bool {
    node.reader.iter().any(|(known, _)| known == name)
}

/// All bytes of a member, for a pickle.
fn bytes_of(task: &Task, archive: &Archive, member: &Member) -> Result<Bytes> {
    limits::check(member.size, limits::CHUNK, "a pickle")?;
    let source = archive.read(task, member)?;
    let len = source.len(task)?;
    source.read(task, 0..len)
}

/// Adds what the pickles of an archive would import.
///
/// # Errors
/// `Cancelled`.
pub(super) fn examine_all(task: &Task, archive: &Archive, report: &mut Report) -> Result<()> {
    examine(task, archive, 0, &mut { EXAMINED }, report)
}

/// Adds what the pickles of an archive would import, and those of archives in it.
fn examine(task: &Task, archive: &Archive, depth: u32, left: &mut u64, report: &mut Report) -> Result<()> {
    for member in archive.members.iter() {
        let name = member.name.as_str();
        let is_pickle = [".pkl", ".pickle", ".debug_pkl"].iter().any(|end| name.ends_with(end));
        let is_archive = [".pt", ".pth", ".zip"].iter().any(|end| name.ends_with(end)) && depth < NESTED;
        if !is_pickle && !is_archive || member.is_folder() {
            continue;
        }
        task.check()?;
        let Some(rest) = left.checked_sub(member.size) else {
            report.incomplete(Error::limit(
                "the pickles in it are too large together to look into all of them",
            ));
            return Ok(());
        };
        *left = rest;
        let found = bytes_of(task, archive, member).and_then(|bytes| {
            let mut found = Report::default();
            match is_pickle {
                true => found = pickle::examine(task, &bytes)?,
                false => {
                    let inner = Archive::open(task, &Source::memory(name, bytes))?;
                    examine(task, &inner, depth + 1, left, &mut found)?;
                }
            }
            Ok(found)
        });
        match found.unless_cancelled()? {
            Ok(found) => report.merge(found),
            // What is no archive is none to be looked into.
            Err(error) if is_pickle => report.incomplete(error),
            Err(_) => {}
        }
    }
    Ok(())
}

/// A pickle with its storages.
pub(super) struct Loaded {
    pub(super) values: Values,
    pub(super) survey: Survey,
}

/// The values of a pickle whose storages are these.
///
/// # Errors
/// `Cancelled`, `Limit`.
pub(super) fn load(task: &Task, bytes: &Bytes, stores: Stores) -> Result<Loaded> {
    with(task, Pickle::read(task, bytes, 0)?, stores)
}

/// The same of a pickle that was walked through.
///
/// # Errors
/// `Cancelled`.
pub(super) fn with(task: &Task, pickle: Pickle, stores: Stores) -> Result<Loaded> {
    let mut survey = survey(task, &pickle)?;
    let users = std::mem::take(&mut survey.users);
    let torch = Torch { stores: Arc::new(stores), users: Arc::new(users) };
    Ok(Loaded { values: Values::new(task, pickle, torch)?, survey })
}

/// Members beside the main pickle.
struct Others {
    archive: Archive,
    prefix: String,
    big_endian: bool,
    members: Vec<u32>,
}

impl Others {
    fn member(&self, index: usize) -> Option<&Member> {
        self.archive.members.get(*self.members.get(index)? as usize)
    }
}

impl Members for Others {
    fn count(&self) -> usize {
        self.members.len()
    }

    fn path(&self, index: usize) -> &str {
        let name = self.member(index).map_or("", |member| member.name.as_str());
        name.strip_prefix(self.prefix.as_str()).unwrap_or(name)
    }

    fn is_folder(&self, _index: usize) -> bool {
        false
    }

    fn node(&self, index: usize, name: &str) -> Node {
        let Some(member) = self.member(index) else { return Node::new(name, "member") };
        let (archive, member) = (self.archive.clone(), member.clone());
        if !name.ends_with(".pkl") && !name.ends_with(".debug_pkl") {
            return crate::formats::ALL
                .nested(name, "member", Options::default(), move |task| archive.read(task, &member));
        }
        let container = Container { archive, prefix: self.prefix.clone() };
        let (big_endian, shown) = (self.big_endian, name.to_owned());
        Node::deferred(name, "pickle", move |task| pickled(task, &container, &member, &shown, big_endian))
    }
}

/// A pickle beside the main one. Its storages lie in a folder that is called as it is, or, in packages, in one of all.
fn pickled(
    task: &Task,
    container: &Container,
    member: &Member,
    name: &str,
    big_endian: bool,
) -> Result<Node> {
    let bytes = bytes_of(task, &container.archive, member)?;
    let own = format!("{}/", member.name.trim_end_matches(".pkl"));
    let package = format!("{}.data/", container.prefix);
    let mut stores = Stores::of_archive(task, &container.archive, &own, "")?;
    if stores.count() == 0 {
        stores = Stores::of_archive(task, &container.archive, &package, ".storage")?;
    }
    stores.big_endian = big_endian;
    stores.without_data = name == "traced_inputs.pkl";
    let loaded = load(task, &bytes, stores)?;
    Ok(loaded.values.root(name))
}

/// A storage by the name of its member, for formats that have them without a pickle.
///
/// # Errors
/// Where it is not there.
pub(super) fn part(task: &Task, container: &Container, name: &str) -> Result<super::storage::Stored> {
    let member = container.member(name);
    let member = member.ok_or_else(|| Error::malformed(format!("tensor: {name} is not in the archive")))?;
    stored(task, &container.archive, member)
}
