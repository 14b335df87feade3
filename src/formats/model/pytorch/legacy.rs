//! The containers before PyTorch 1.6: pickles one after the other — a magic number, the protocol's number, what the
//! machine was like, the objects, the keys of the storages — and then the storages, each behind its number of elements.
//! And the oldest, before 0.1.10: a tar with the pickles `pickle`, `storages` and `tensors`.
//! <https://github.com/pytorch/pytorch/blob/main/torch/serialization.py>

use super::archive::{Loaded, with};
use super::rebuild::{Storage, Strided, key_of, number};
use super::storage::{Stored, Stores};
use super::survey::survey;
use super::types;
use crate::bytes::archive::tar::{self, Scan};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::numbers::{le, le_or_zero};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::node::Node;
use crate::data::security::Report;
use crate::data::sniff::Head;
use crate::engines::pickle::{Id, Pickle, Value};
use bytes::Bytes;
use std::collections::HashMap;

/// The magic number 0x1950a86a20f9469cfc6c, as pickles hold it: in bytes, and, in the oldest protocols, in digits.
const MAGIC: &[u8] = b"\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";
const DIGITS: &[u8] = b"119547037146038801333356";
/// How far from the start the magic number may end.
const FIRST: usize = 64;
/// How much of the file is read for its pickles, at first and at most.
const PICKLES: [u64; 3] = [64 << 10, 8 << 20, limits::CHUNK];
/// The most storages and tensors of a tar.
const PARTS: u64 = 1 << 20;

/// Whether a file begins with the magic number.
pub(super) fn is_legacy(head: &Head) -> bool {
    let first = head.first.get(..FIRST.min(head.first.len())).unwrap_or_default();
    let begins = matches!(first.first(), Some(0x80 | b'L' | b'I' | b'J'));
    begins && [MAGIC, DIGITS].iter().any(|magic| memchr::memmem::find(first, magic).is_some())
}

/// Whether a file is the oldest container: a tar whose first member is one of its four.
pub(super) fn is_tar(head: &Head) -> bool {
    let Some(block) = head.first.get(..tar::BLOCK as usize) else { return false };
    let name = block.split(|byte| *byte == 0).next().unwrap_or_default();
    [&b"sys_info"[..], b"pickle", b"tensors", b"storages"].contains(&name) && tar::has_good_checksum(block)
}

/// The four pickles before the storages.
struct Parts {
    bytes: Bytes,
    /// The machine that wrote it, the objects, the keys.
    pickles: Vec<Pickle>,
}

/// Reads the pickles: as much of the file as they take.
fn parts(task: &Task, source: &Source) -> Result<Parts> {
    let mut last = None;
    for most in PICKLES {
        let bytes = source.read_up_to(task, 0, limits::check(most, limits::CHUNK, "the pickles")?)?;
        let mut pickles: Vec<Pickle> = Vec::new();
        while pickles.len() < 5 {
            let start = pickles.last().map_or(0, Pickle::end);
            let next = Pickle::read(task, &bytes, start)?;
            let whole = next.root().is_some();
            pickles.push(next);
            if !whole {
                break;
            }
        }
        let done = pickles.len() == 5 && pickles.iter().all(|pickle| pickle.root().is_some());
        let all = (bytes.len() as u64) < most;
        last = Some(Parts { bytes, pickles });
        if done || all {
            break;
        }
    }
    last.ok_or_else(|| Error::bug("no pickles were read"))
}

/// Opens the old container.
pub(super) fn open(task: &Task, source: &Source) -> Result<Node> {
    let (loaded, report, mut problems) = load(task, source, None)?;
    let mut root = loaded.values.root("");
    let problem = loaded.values.pickle().fault().cloned();
    root.problem = root.problem.or(problem).or_else(|| problems.pop());
    root.remarks.extend(problems.into_iter().map(|problem| problem.message()));
    Ok(root.read_as("container", "pickles and storages one after the other").python(report))
}

/// The objects of the old container with their storages; what its pickles would import; what is wrong.
///
/// # Errors
/// Where it has no objects. `file` is its name where a model has several.
pub(super) fn load(
    task: &Task,
    source: &Source,
    file: Option<String>,
) -> Result<(Loaded, Report, Vec<Error>)> {
    let Parts { bytes, pickles } = parts(task, source)?;
    let mut report = Report::default();
    pickles.iter().for_each(|pickle| report.merge(Report::of(pickle)));
    let mut problems = Vec::new();
    let mut rest = pickles.into_iter().skip(3);
    let Some(objects) = rest.next() else {
        return Err(
            Error::malformed("file: it ends before the objects; it may be cut off").at(bytes.len() as u64)
        );
    };
    let mut stores = Stores { file, ..Stores::default() };
    match rest.next() {
        Some(keys) => {
            let end = place(task, source, &objects, &keys, &mut stores)?;
            problems.extend(end.err());
        }
        None => {
            problems.push(Error::malformed("file: the keys of its storages are missing; it may be cut off"))
        }
    }
    Ok((with(task, objects, stores)?, report, problems))
}

/// Finds the storages behind the keys: each is its number of elements and then these.
fn place(
    task: &Task,
    source: &Source,
    objects: &Pickle,
    keys: &Pickle,
    stores: &mut Stores,
) -> Result<Result<()>> {
    let known: HashMap<String, Storage> =
        survey(task, objects)?.storages.into_iter().map(|storage| (storage.key.clone(), storage)).collect();
    let keys_of = |id: Id| match keys.value(id) {
        Value::List(items) | Value::Tuple(items) => Some(items.as_slice()),
        _ => None,
    };
    let Some(list) = keys.root().and_then(keys_of) else {
        return Ok(Err(Error::malformed("file: there is no list of the keys of its storages")));
    };
    let mut at = keys.end() as u64;
    let cut = |key: &str, at: u64| {
        Error::malformed(format!("storage {key}: it is not there; the file may be cut off")).at(at)
    };
    let mut broken = None;
    for key in list {
        task.check()?;
        let Some(key) = key_of(keys, *key) else {
            return Ok(Err(Error::malformed("file: a storage whose key is no text")));
        };
        if let Some(error) = &broken {
            stores.put(key, Err(Error::clone(error)));
            continue;
        }
        // Where the elements of a storage end is not known without their type.
        let Some(storage) = known.get(&key) else {
            broken = Some(Error::malformed(format!("storage {key}: no tensor says its type")).at(at));
            continue;
        };
        let count = le::<u64>(&source.read_up_to(task, at, 8)?, 0);
        let size = count.and_then(|count| storage.kind.bytes(count));
        let start = at.checked_add(8);
        let end = start.zip(size).and_then(|(start, size)| start.checked_add(size));
        let (Some(start), Some(end)) = (start, end) else {
            let error = cut(&key, at);
            stores.put(key, Err(error.clone()));
            broken = Some(error);
            continue;
        };
        let there = source.known_len().map_or(end, |len| len.min(end));
        let part = source.member(key.as_str(), start.min(there)..there);
        if there < end {
            broken = Some(cut(&key, start));
        }
        stores.put(key, part.map(|source| Stored { source, at: Some(start) }));
        at = end;
    }
    Ok(broken.map_or(Ok(()), Err))
}

/// Opens the oldest container.
pub(super) fn open_tar(task: &Task, source: &Source) -> Result<Node> {
    let mut members: HashMap<String, Source> = HashMap::new();
    let mut scan = Scan::new(source);
    while let Some(member) = scan.next(task)? {
        let end = member.data.saturating_add(member.size);
        if let Ok(part) = source.member(&*member.path, member.data..end) {
            members.entry(member.path.trim_start_matches("./").to_owned()).or_insert(part);
        }
        if members.len() > 64 {
            break;
        }
    }
    let Some(pickle) = members.get("pickle") else { return Err(Error::other_format("")) };
    let mut report = Report::default();
    let mut problem = None;
    let mut stores = Stores::default();
    let mut known = HashMap::new();
    match members.get("storages") {
        Some(storages) => {
            let mut cursor = Cursor::new(task, storages, &mut report)?;
            if let Err(error) = cursor.storages(&mut stores) {
                problem = Some(error.of("storages"));
            }
            known = cursor.known;
        }
        None => problem = Some(Error::malformed("tar: its member storages is missing")),
    }
    if let Some(tensors) = members.get("tensors") {
        let mut cursor = Cursor::new(task, tensors, &mut report)?;
        cursor.known = known;
        if let Err(error) = cursor.tensors(&mut stores) {
            problem.get_or_insert(error.of("tensors"));
        }
    }
    let len = pickle.len(task)?;
    limits::check(len, limits::CHUNK, "a pickle")?;
    let objects = Pickle::read(task, &pickle.read(task, 0..len)?, 0)?;
    report.merge(Report::of(&objects));
    let loaded = with(task, objects, stores)?;
    let mut root = loaded.values.root("").read_as("container", "tar");
    root.problem = root.problem.or(problem).or(scan.problem);
    Ok(root.python(report))
}

/// Reads pickles and numbers of a member of a tar one after the other.
struct Cursor<'a> {
    task: &'a Task,
    source: &'a Source,
    /// The pickles' bytes; storages between them are passed over.
    at: u64,
    report: &'a mut Report,
    /// Storages and views of them by their numbers.
    known: HashMap<String, Storage>,
}

impl<'a> Cursor<'a> {
    fn new(task: &'a Task, source: &'a Source, report: &'a mut Report) -> Result<Self> {
        task.check()?;
        Ok(Cursor { task, source, at: 0, report, known: HashMap::new() })
    }

    /// The next pickle.
    fn pickle(&mut self) -> Result<Pickle> {
        // Each is a tuple of a few words; a list of views may be longer.
        for most in [4 << 10, 16 << 20] {
            let bytes = self.source.read_up_to(self.task, self.at, most)?;
            let pickle = Pickle::read(self.task, &bytes, 0)?;
            if pickle.root().is_some() {
                self.at += pickle.end() as u64;
                self.report.merge(Report::of(&pickle));
                return Ok(pickle);
            }
            if bytes.len() < most {
                let fault = pickle.fault().cloned();
                return Err(fault.unwrap_or_else(|| Error::malformed("a pickle without an end")).at(self.at));
            }
        }
        Err(Error::malformed("a pickle without an end").at(self.at))
    }

    fn count(&mut self) -> Result<u64> {
        let pickle = self.pickle()?;
        let count = pickle.root().and_then(|root| number(&pickle, root));
        count
            .filter(|count| *count <= PARTS)
            .ok_or_else(|| Error::malformed("a number of parts that is none"))
    }

    fn skip(&mut self, bytes: u64) -> Result<Bytes> {
        let end = self.at.checked_add(bytes).ok_or_else(|| Error::malformed("an offset that overflows"))?;
        let read = self.source.read(self.task, self.at..end)?;
        self.at = end;
        Ok(read)
    }

    /// `count`, of each storage `(key, location, type)`, its number of elements and these; then the views of them.
    fn storages(&mut self, stores: &mut Stores) -> Result<()> {
        let wrong = || Error::malformed("a storage that is not described as one");
        for _ in 0..self.count()? {
            self.task.check()?;
            let pickle = self.pickle()?;
            let parts = pickle.root().and_then(|root| pickle.tuple(root));
            let Some([key, location, class]) = parts else { return Err(wrong()) };
            let key = key_of(&pickle, *key).ok_or_else(wrong)?;
            let class = pickle.global(*class).map_or("?", |(_, name)| name);
            let (label, kind) = types::of_storage(class)
                .ok_or_else(|| Error::unsupported(format!("a storage of the type {class:?}")))?;
            let elements = le_or_zero::<u64>(&self.skip(8)?, 0);
            let end = kind.bytes(elements).and_then(|size| self.at.checked_add(size));
            let end = end.ok_or_else(|| Error::malformed("a storage whose length overflows"))?;
            let there = self.source.known_len().map_or(end, |len| len.min(end));
            let part = self.source.member(key.as_str(), self.at.min(there)..there);
            stores.put(key.clone(), part.map(|source| Stored { source, at: None }));
            let location = pickle.text(*location).unwrap_or("?").to_owned();
            let storage = Storage { key: key.clone(), label, kind, elements, location, start: 0 };
            self.known.insert(key, storage);
            self.at = end;
        }
        let views = self.pickle()?;
        let Some(Value::List(list)) = views.root().map(|root| views.value(root)) else { return Ok(()) };
        for view in list {
            let Some([key, root, offset, count]) = views.tuple(*view) else { continue };
            let (Some(key), Some(root)) = (key_of(&views, *key), key_of(&views, *root)) else { continue };
            let Some(storage) = self.known.get(&root).cloned() else { continue };
            let start = storage.start.saturating_add(number(&views, *offset).unwrap_or(0));
            let elements = number(&views, *count).unwrap_or(0);
            self.known.insert(key, Storage { start, elements, ..storage });
        }
        Ok(())
    }

    /// `count`, of each tensor `(key, storage, type)`, its number of dimensions, shape, strides and offset.
    fn tensors(&mut self, stores: &mut Stores) -> Result<()> {
        let wrong = || Error::malformed("a tensor that is not described as one");
        for _ in 0..self.count()? {
            self.task.check()?;
            let pickle = self.pickle()?;
            let parts = pickle.root().and_then(|root| pickle.tuple(root));
            let Some([key, storage, class]) = parts else { return Err(wrong()) };
            let key = key_of(&pickle, *key).ok_or_else(wrong)?;
            let dimensions = u64::from(le_or_zero::<u32>(&self.skip(8)?, 0));
            limits::check(dimensions, 64, "a tensor's dimensions")?;
            let numbers = self.skip(dimensions * 16 + 8)?;
            let numbers: Vec<u64> =
                numbers.as_chunks::<8>().0.iter().map(|n| u64::from_le_bytes(*n)).collect();
            let (shape, rest) = numbers.split_at_checked(dimensions as usize).ok_or_else(wrong)?;
            let (offset, strides) = rest.split_last().ok_or_else(wrong)?;
            let class = pickle.global(*class).map_or("?", |(_, name)| name);
            let storage = match pickle.value(*storage) {
                Value::None => None,
                _ => key_of(&pickle, *storage).and_then(|key| self.known.get(&key).cloned()),
            };
            let made = storage.ok_or_else(|| Error::malformed("tensor: its storage is not in the file"));
            let made = made.map(|storage| Strided {
                kind: types::of_tensor(class).unwrap_or_else(|| storage.kind.clone()),
                offset: *offset,
                shape: shape.to_vec(),
                strides: strides.to_vec(),
                quantiser: None,
                conjugate: false,
                negative: false,
                storage,
            });
            stores.tensors.insert(key, made);
        }
        Ok(())
    }
}
