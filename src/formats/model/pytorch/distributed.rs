//! Checkpoints of `torch.distributed.checkpoint`: a folder with `.metadata`, a pickle that says of each tensor its type,
//! its shape and its pieces, and of each piece the file and the place in it; and files of pieces (`__0_0.distcp`), each
//! piece a checkpoint or a safetensors file of its own.
//! <https://docs.pytorch.org/docs/stable/distributed.checkpoint.html>

use super::archive;
use super::rebuild;
use super::storage::Stores;
use super::types::Kind;
use super::values::entries;
use crate::bytes::archive::zip::Archive;
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::strides;
use crate::bytes::task::Task;
use crate::data::content::Content;
use crate::data::content::array::{Array, ArrayFacts, MissingRegion, read};
use crate::data::dtype::DType;
use crate::data::format::{Opening, Options};
use crate::data::node::Node;
use crate::data::region::{Region, Span};
use crate::data::security::Report;
use crate::data::sniff::{Head, Match};
use crate::engines::modules::{self, Leaf};
use crate::engines::pickle::{self, Id, Pickle, Value};
use parking_lot::Mutex;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

/// The pickle that tells of everything else.
const METADATA: &str = ".metadata";
/// What files of pieces are called.
const PIECES: &str = ".distcp";
/// Objects that are looked into for the report.
const OBJECTS: usize = 1000;

/// A folder with the metadata and a file of pieces.
pub(super) fn sniff(head: &Head) -> Match {
    let file =
        |is: &dyn Fn(&str) -> bool| head.entries.iter().any(|entry| !entry.is_folder && is(&entry.name));
    let is_checkpoint =
        head.is_folder && file(&|name| name == METADATA) && file(&|name| name.ends_with(PIECES));
    if is_checkpoint { Match::Yes } else { Match::No }
}

/// The files of a checkpoint, opened as they are needed.
struct Files {
    folder: Source,
    open: Mutex<HashMap<String, Source>>,
    /// The files that are there.
    there: HashSet<String>,
}

/// Where a piece or an object lies.
#[derive(Clone, Debug)]
struct Place {
    file: String,
    range: Range<u64>,
}

impl Files {
    fn part(&self, task: &Task, place: &Place) -> Result<Source> {
        let known = self.open.lock().get(&place.file).cloned();
        let source = match known {
            Some(source) => source,
            None => {
                let source = self.folder.child(task, &place.file)?;
                self.open.lock().insert(place.file.clone(), source.clone());
                source
            }
        };
        source.member(place.file.as_str(), place.range.clone())
    }

    /// The tree of what lies at a place: of a checkpoint of one piece, or of the safetensors file that has all of them,
    /// whose place says nothing.
    fn document(&self, task: &Task, place: &Place) -> Result<Arc<Node>> {
        let mut source = self.part(task, place)?;
        let is_archive = source.read_up_to(task, 0, 4)?.starts_with(b"PK\x03\x04");
        if !is_archive && let Some(whole) = self.open.lock().get(&place.file) {
            source = whole.clone();
        }
        Ok(crate::formats::ALL.open_source(task, &source, &Options::default())?.root)
    }

    /// Why a place cannot be read, as far as that is known without a look at its file.
    fn missing(&self, place: &Place) -> Option<Error> {
        let gone = !place.file.contains('/') && !self.there.contains(&place.file);
        gone.then(|| {
            Error::malformed(format!("tensor: a piece of it is in {}, which is missing", place.file))
        })
    }
}

/// Opens a checkpoint.
pub(super) fn open(opening: &Opening) -> Result<Node> {
    let (task, folder) = (opening.task, opening.source);
    let source = folder.child(task, METADATA)?;
    let len = source.len(task)?;
    limits::check(len, limits::CHUNK, "the metadata")?;
    let bytes = source.read(task, 0..len)?;
    let mut report = pickle::examine(task, &bytes)?;
    let loaded = archive::load(task, &bytes, Stores::default())?;
    let metadata = loaded.values.pickle();
    let files = opening.head.entries.iter().filter(|entry| !entry.is_folder);
    let files = Files {
        folder: folder.clone(),
        open: Mutex::default(),
        there: files.map(|entry| entry.name.clone()).collect(),
    };
    let reader = Reader { pickle: metadata, files: Arc::new(files) };
    let (parts, problem) = match reader.parts(task) {
        Ok(parts) => (parts, metadata.fault().cloned()),
        Err(error) if error.is_cancelled() => return Err(error),
        Err(error) => (Vec::new(), Some(metadata.fault().cloned().unwrap_or(error))),
    };
    objects(task, &reader.files, &parts, &mut report)?;
    let mut root = Node::new("", "checkpoint");
    root.problem = problem;
    let mut others = vec![Arc::new(loaded.values.root(METADATA))];
    let is_other = |name: &str| !name.ends_with(PIECES) && name != METADATA;
    for entry in opening.head.entries.iter().filter(|entry| is_other(&entry.name)) {
        let (folder, name) = (folder.clone(), entry.name.clone());
        let label = if entry.is_folder { "folder" } else { "file" };
        let open = move |task: &Task| folder.child(task, &name);
        let node = crate::formats::ALL.nested(entry.name.as_str(), label, Options::default(), open);
        others.push(Arc::new(node));
    }
    Ok(modules::tree(root, parts, others).python(report))
}

/// Adds what objects would run when they are loaded. Tensors are loaded in a way that runs nothing.
fn objects(task: &Task, files: &Files, parts: &[Part], report: &mut Report) -> Result<()> {
    let places = parts.iter().filter_map(|part| match &part.what {
        Ok(What::Object(place)) => Some(place),
        _ => None,
    });
    for (n, place) in places.enumerate() {
        task.check()?;
        if n >= OBJECTS {
            report.incomplete(Error::limit(format!("more than {OBJECTS} objects: not all were looked into")));
            break;
        }
        let found = files.part(task, place).and_then(|source| {
            let container = Archive::open(task, &source)?;
            let mut found = Report::default();
            archive::examine_all(task, &container, &mut found)?;
            Ok(found)
        });
        match found.unless_cancelled()? {
            Ok(found) => report.merge(found),
            Err(error) => report.incomplete(error.of(&place.file)),
        }
    }
    Ok(())
}

/// Reads the metadata.
struct Reader<'a> {
    pickle: &'a Pickle,
    files: Arc<Files>,
}

/// Where each piece of a tensor lies, by its first element; objects have no elements.
type Places = HashMap<(String, Option<Vec<u64>>), Place>;

impl Reader<'_> {
    /// A field of an object: an entry of the dict that is its state.
    fn field(&self, id: Id, name: &str) -> Option<Id> {
        let Value::Object(object) = self.pickle.value(id) else { return None };
        let entries = entries(self.pickle, object.state?)?;
        entries.into_iter().find(|(key, _)| self.pickle.text(*key) == Some(name)).map(|(_, value)| value)
    }

    fn parts(&self, task: &Task) -> Result<Vec<Part>> {
        let wrong = |what: &str| Error::malformed(format!("metadata: it has no {what}"));
        let root = self.pickle.root().ok_or_else(|| wrong("end"))?;
        let dict = |name: &str| {
            let found = self.field(root, name).and_then(|id| entries(self.pickle, id));
            found.ok_or_else(|| wrong(name))
        };
        let places = self.places(task, &dict("storage_data")?)?;
        let mut parts = Vec::new();
        let mut known = HashSet::new();
        for (key, value) in dict("state_dict_metadata")? {
            task.check()?;
            let name = self.pickle.show(key);
            if known.insert(name.clone()) {
                let what = self.part(&name, value, &places);
                parts.push(Part { name, what, files: self.files.clone() });
            }
        }
        Ok(parts)
    }

    /// Where pieces lie: `{MetadataIndex(fqn, offset, index): _StorageInfo(relative_path, offset, length)}`.
    fn places(&self, task: &Task, entries: &[(Id, Id)]) -> Result<Places> {
        let mut places = HashMap::with_capacity(entries.len());
        for (n, (index, info)) in entries.iter().enumerate() {
            if n % 4096 == 0 {
                task.check()?;
            }
            let name = self.field(*index, "fqn").and_then(|id| self.pickle.text(id));
            let offset = self.field(*index, "offset").and_then(|id| rebuild::numbers(self.pickle, id));
            let file = self.field(*info, "relative_path").and_then(|id| self.pickle.text(id));
            let number = |name: &str| self.field(*info, name).and_then(|id| rebuild::number(self.pickle, id));
            let range = number("offset").zip(number("length"));
            let range = range.and_then(|(start, len)| Some(start..start.checked_add(len)?));
            if let (Some(name), Some(file), Some(range)) = (name, file, range) {
                places.insert((name.to_owned(), offset), Place { file: file.to_owned(), range });
            }
        }
        Ok(places)
    }

    /// A tensor or an object.
    fn part(&self, name: &str, id: Id, places: &Places) -> Result<What> {
        let Value::Object(object) = self.pickle.value(id) else {
            return Err(Error::malformed("metadata: what is no object"));
        };
        let class = self.pickle.global(object.class).map_or("?", |(_, name)| name);
        match class {
            "TensorStorageMetadata" => self.tensor(name, id, places).map(What::Tensor),
            "BytesStorageMetadata" => {
                let place = places.get(&(name.to_owned(), None)).cloned();
                place.map(What::Object).ok_or_else(|| {
                    Error::malformed(format!("metadata: it does not say where the object {name:?} lies"))
                })
            }
            other => Err(Error::unsupported(format!("what the metadata calls a {other:?}"))),
        }
    }

    fn tensor(&self, name: &str, id: Id, places: &Places) -> Result<Pieces> {
        let wrong = |what: &str| Error::malformed(format!("metadata: a tensor without {what}"));
        let kind = self.kind(id).ok_or_else(|| wrong("a type of elements"))??;
        let size = self.field(id, "size").and_then(|id| rebuild::numbers(self.pickle, id));
        let shape = size.ok_or_else(|| wrong("a shape"))?;
        limits::check(shape.len() as u64, super::array::DIMENSIONS as u64, "a tensor's dimensions")?;
        limits::bytes(&shape, kind.size())?;
        let chunks = self.field(id, "chunks").map(|id| self.pickle.value(id));
        let Some(Value::List(chunks)) = chunks else { return Err(wrong("pieces")) };
        let mut pieces = Vec::with_capacity(chunks.len());
        let (mut covered, mut problem) = (0u64, None);
        for chunk in chunks {
            let numbers = |name: &str| {
                let numbers = self.field(*chunk, name).and_then(|id| rebuild::numbers(self.pickle, id));
                numbers
                    .filter(|numbers| numbers.len() == shape.len())
                    .ok_or_else(|| wrong("places of its pieces"))
            };
            let (start, sides) = (numbers("offsets")?, numbers("sizes")?);
            let inside = start
                .iter()
                .zip(&sides)
                .zip(&shape)
                .all(|((start, side), len)| start.checked_add(*side).is_some_and(|end| end <= *len));
            if !inside {
                let what = format!("tensor: a piece {sides:?} at {start:?} of the shape {shape:?}");
                return Err(Error::malformed(what));
            }
            covered = covered.saturating_add(limits::elements(&sides)?);
            let place = places.get(&(name.to_owned(), Some(start.clone()))).cloned();
            let missing = match &place {
                Some(place) => self.files.missing(place),
                None => {
                    Some(Error::malformed(format!("tensor: nothing says where its piece at {start:?} lies")))
                }
            };
            problem = problem.or_else(|| missing.clone());
            pieces.push(Piece {
                start,
                sides,
                place: place.ok_or_else(|| missing.unwrap_or_else(|| wrong("a piece"))),
            });
        }
        let elements = limits::elements(&shape)?;
        if covered < elements {
            let what = format!("tensor: its pieces have {covered} of its {elements} elements");
            problem.get_or_insert(Error::malformed(what));
        }
        Ok(Pieces { kind, shape, pieces: pieces.into(), problem })
    }

    /// The type of the elements: the first of the properties, which are a tuple or have names.
    fn kind(&self, id: Id) -> Option<Result<Kind>> {
        let properties = self.field(id, "properties")?;
        let Value::Object(object) = self.pickle.value(properties) else { return None };
        let dtype = match self.pickle.tuple(object.state?) {
            Some(parts) => *parts.first()?,
            None => self.field(properties, "dtype")?,
        };
        Some(rebuild::kind(self.pickle, dtype))
    }
}

/// What the metadata tell of.
enum What {
    Tensor(Pieces),
    Object(Place),
}

/// A tensor in pieces.
#[derive(Clone)]
struct Pieces {
    kind: Kind,
    shape: Vec<u64>,
    pieces: Arc<[Piece]>,
    problem: Option<Error>,
}

/// A piece of a tensor: a box of its elements.
struct Piece {
    start: Vec<u64>,
    sides: Vec<u64>,
    place: Result<Place>,
}

/// An entry of the checkpoint.
struct Part {
    name: String,
    what: Result<What>,
    files: Arc<Files>,
}

impl Leaf for Part {
    fn name(&self) -> &str {
        &self.name
    }

    fn node(&self, name: &str) -> Node {
        match &self.what {
            Ok(What::Tensor(pieces)) => {
                let mut node = Node::new(name, "torch.Tensor");
                node.problem.clone_from(&pieces.problem);
                let array = Assembled::new(self.files.clone(), self.name.clone(), pieces.clone());
                node.content(Content::Array(Arc::new(array)))
            }
            Ok(What::Object(place)) => {
                let (files, place) = (self.files.clone(), place.clone());
                let open = move |task: &Task| files.part(task, &place);
                crate::formats::ALL.nested(name, "object", Options::default(), open)
            }
            Err(error) => Node::new(name, "torch.Tensor").problem(error.clone()),
        }
    }
}

/// A tensor that is put together from its pieces.
struct Assembled {
    files: Arc<Files>,
    /// Its full name.
    name: String,
    pieces: Pieces,
    /// The pieces that were opened, by their numbers.
    open: Mutex<HashMap<usize, Arc<dyn Array>>>,
}

impl Assembled {
    fn new(files: Arc<Files>, name: String, pieces: Pieces) -> Self {
        Assembled { files, name, pieces, open: Mutex::default() }
    }

    /// A piece as an array.
    fn piece(&self, task: &Task, n: usize, piece: &Piece) -> Result<Arc<dyn Array>> {
        if let Some(known) = self.open.lock().get(&n) {
            return Ok(known.clone());
        }
        let place = piece.place.as_ref().map_err(Clone::clone)?;
        let root = self.files.document(task, place)?;
        let wrong = |what: String| Error::malformed(format!("piece in {}: {what}", place.file));
        // A file of many tensors has them by their names.
        let named = root.find(task, &self.name)?;
        let array = first_array(task, &named.unwrap_or(root), 0)?
            .ok_or_else(|| wrong("it holds no tensor".to_owned()))?;
        if array.shape() != piece.sides || array.dtype() != &self.pieces.kind.dtype {
            let (shape, dtype) = (array.shape(), array.dtype());
            let (sides, kind) = (&piece.sides, self.pieces.kind.name());
            return Err(wrong(format!("it is {dtype} {shape:?}, the metadata say {kind} {sides:?}")));
        }
        self.open.lock().insert(n, array.clone());
        Ok(array)
    }

    /// Copies what a piece has of a region; the part of the region that it has.
    fn copy(&self, task: &Task, n: usize, part: &Overlap, region: &Region, out: &mut [u8]) -> Result<()> {
        let Some(piece) = self.pieces.pieces.get(n) else { return Ok(()) };
        let array = self.piece(task, n, piece)?;
        let bytes = read(array.as_ref(), task, &part.from)?;
        let size = array.dtype().size() as usize;
        strides::paste(&bytes, &part.from.shape(), out, &region.shape(), &part.to.start(), size);
        Ok(())
    }
}

/// What a piece has of a region.
struct Overlap {
    /// Of the piece.
    from: Region,
    /// Of the region.
    to: Region,
}

impl Piece {
    fn part(&self, region: &Region) -> Option<Overlap> {
        let (mut from, mut to) = (Vec::new(), Vec::new());
        for (span, (start, side)) in region.0.iter().zip(self.start.iter().zip(&self.sides)) {
            let there = span.holding(&Span::range(*start, *side))?;
            let first = span.index(there.start).checked_sub(*start)?;
            from.push(Span { start: first, count: there.count, step: span.step });
            to.push(there);
        }
        Some(Overlap { from: Region(from), to: Region(to) })
    }
}

/// The first array of a tree.
fn first_array(task: &Task, node: &Arc<Node>, depth: usize) -> Result<Option<Arc<dyn Array>>> {
    let node = node.resolved(task)?;
    if let Some(Content::Array(array)) = &node.content {
        return Ok(Some(array.clone()));
    }
    if let Some(problem) = &node.problem {
        return Err(problem.clone());
    }
    if depth < 3 {
        for child in node.child_page(task, 0..16)? {
            if let Some(array) = first_array(task, &child, depth + 1)? {
                return Ok(Some(array));
            }
        }
    }
    Ok(None)
}

impl Array for Assembled {
    fn dtype(&self) -> &DType {
        &self.pieces.kind.dtype
    }

    fn shape(&self) -> &[u64] {
        &self.pieces.shape
    }

    fn read(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<()> {
        match self.read_lenient(task, region, out)?.into_iter().next() {
            Some(gap) => Err(gap.error),
            None => Ok(()),
        }
    }

    fn read_lenient(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<Vec<MissingRegion>> {
        region.check(&self.pieces.shape)?;
        out.fill(0);
        let mut gaps = Vec::new();
        if out.is_empty() {
            return Ok(gaps);
        }
        for (n, piece) in self.pieces.pieces.iter().enumerate() {
            task.check()?;
            let Some(part) = piece.part(region) else { continue };
            if let Err(error) = self.copy(task, n, &part, region, out).unless_cancelled()? {
                gaps.push(MissingRegion { part: part.to, error });
            }
        }
        Ok(gaps)
    }

    fn facts(&self) -> ArrayFacts {
        let count = self.pieces.pieces.len();
        let mut files: Vec<&str> = self
            .pieces
            .pieces
            .iter()
            .filter_map(|piece| Some(piece.place.as_ref().ok()?.file.as_str()))
            .collect();
        files.sort_unstable();
        files.dedup();
        let more = files.len().saturating_sub(4);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let named = files.iter().take(4).copied().collect::<Vec<_>>().join(", ");
        let stored = limits::bytes(&self.pieces.shape, self.pieces.kind.size()).ok();
        ArrayFacts {
            word: self.pieces.kind.word,
            bytes_stored: stored,
            details: vec![
                ("pieces".to_owned(), count.to_string()),
                ("file".to_owned(), format!("{named}{more}")),
            ],
            ..ArrayFacts::default()
        }
    }
}
