//! Appends to arrays of a store that is there, along their first dimension: further chunks first, the documents that
//! tell of them last, so that readers see the arrays as they were until all of it is written.

use super::super::json::{self, Object};
use super::super::{dtype, fill};
use super::data_type::Stored;
use super::document::bytes_of;
use super::encode::Codecs;
use super::grid::Grid;
use super::options::Version;
use super::{Job, check_name};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::{Array, Content};
use crate::data::dtype::DType;
use crate::data::format::{Additions, Files, Options, Payload};
use crate::data::region::{Region, Span};
use crate::data::scan::array_bytes;
use crate::engines::keys::{Store, join};
use arrow::array::ArrayRef;
use arrow::compute::concat;
use serde_json::{Map, Value as Json};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Appends the arrays of `payload` to those of the same names in a folder; their types and their shapes behind the
/// first dimension must be the same.
///
/// The last chunk of an array is written anew where rows were missing in it; what readers of the old documents see of it
/// stays as it was. Documents are put last, the one with the metadata of all behind the others.
///
/// # Errors
/// `Unsupported` for arrays that are not there or not the same, and for codecs and layouts that are not written here;
/// those of reading and writing. The store is as it was then, but for chunks that no document tells of.
pub(super) fn append(
    task: &Task,
    payload: &Payload,
    _options: &Options,
    files: &mut dyn Additions,
) -> Result<()> {
    let source = files.source(task)?;
    let store = Store::open(task, &source)?;
    let document = crate::formats::open_source(task, &source, &Options::default())?;
    let (mut total, mut parts) = (0u64, Vec::new());
    for (name, array) in payload.arrays()? {
        check_name(name)?;
        let node = document.root.find(task, &format!("/{name}"))?;
        let there = node.and_then(|node| match &node.content {
            Some(Content::Array(array)) => Some(array.clone()),
            _ => None,
        });
        let there =
            there.ok_or_else(|| Error::unsupported(format!("there is no array {name:?} to append to")))?;
        total = total.saturating_add(array_bytes(array.as_ref())?);
        parts.push(Part::new(task, &store, name, &there, array).map_err(|e| e.in_node(name))?);
    }
    task.set_total(total);
    for part in &parts {
        task.set_message(part.name.clone());
        part.run(task, &mut Chunks(files)).map_err(|e| e.in_node(&part.name))?;
    }
    for part in &parts {
        files.replace(task, &join(&part.name, part.version.document()), &bytes_of(&part.document)?)?;
    }
    consolidate(task, &store, &parts, files)
}

/// The chunks of a folder: the last one of an array is written anew with the rows that it has.
struct Chunks<'a>(&'a mut dyn Additions);

impl Files for Chunks<'_> {
    fn put(&mut self, path: &str, bytes: &[u8]) -> Result<()> {
        self.0.overwrite(path, bytes)
    }
}

/// Those of some files that are chunks within the shape that the document of their array tells.
pub(super) fn known(task: &Task, source: &Source, files: &[String]) -> Result<HashSet<String>> {
    let store = Store::open(task, source)?;
    let (mut arrays, mut spoken) = (HashMap::new(), HashSet::new());
    for file in files {
        let mut name = file.as_str();
        while let Some((folder, _)) = name.rsplit_once('/') {
            name = folder;
            if !arrays.contains_key(name) {
                arrays.insert(name.to_owned(), Extent::of(task, &store, name)?);
            }
            let Some(Some(extent)) = arrays.get(name) else { continue };
            let key = file.get(name.len() + 1..).unwrap_or_default();
            if extent.holds(key) {
                spoken.insert(file.clone());
            }
            break;
        }
    }
    Ok(spoken)
}

/// How many chunks an array has along each dimension.
struct Extent {
    counts: Vec<u64>,
    separator: char,
    version: Version,
}

impl Extent {
    fn of(task: &Task, store: &Store, name: &str) -> Result<Option<Self>> {
        let Some((version, document)) = document(task, store, name)? else { return Ok(None) };
        let sides = match version {
            Version::V2 => document.get("chunks"),
            Version::V3 => document.pointer("/chunk_grid/configuration/chunk_shape"),
        };
        let Some((shape, sides)) = document.get("shape").zip(sides) else { return Ok(None) };
        let (shape, sides) = (json::lengths("shape", shape)?, json::lengths("chunks", sides)?);
        let counts = shape.iter().zip(&sides).map(|(length, side)| length.div_ceil((*side).max(1))).collect();
        Ok(Some(Extent { counts, separator: separator(&document, version)?, version }))
    }

    /// Whether a key is one of its chunks'.
    fn holds(&self, key: &str) -> bool {
        let numbers = match self.version {
            Version::V2 => Some(key),
            Version::V3 => key.strip_prefix('c').and_then(|key| key.strip_prefix(self.separator)),
        };
        let Some(numbers) = numbers else { return false };
        let index: Option<Vec<u64>> = numbers.split(self.separator).map(|n| n.parse().ok()).collect();
        index.is_some_and(|index| {
            index.len() == self.counts.len() && index.iter().zip(&self.counts).all(|(at, count)| at < count)
        })
    }
}

/// The document of an array, and of which version it is.
fn document(task: &Task, store: &Store, name: &str) -> Result<Option<(Version, Json)>> {
    for version in [Version::V3, Version::V2] {
        let key = join(name, version.document());
        if let Some(bytes) = store.document(task, &key)? {
            return Ok(Some((version, json::parse(&key, &bytes)?)));
        }
    }
    Ok(None)
}

impl Version {
    /// The name of an array's document.
    fn document(self) -> &'static str {
        match self {
            Version::V2 => ".zarray",
            Version::V3 => "zarr.json",
        }
    }
}

/// Puts the new documents into the one that holds all of them, where there is one.
fn consolidate(task: &Task, store: &Store, parts: &[Part], files: &mut dyn Additions) -> Result<()> {
    for (version, key) in [(Version::V3, "zarr.json"), (Version::V2, ".zmetadata")] {
        let parts: Vec<&Part> = parts.iter().filter(|part| part.version == version).collect();
        let Some(bytes) = store.document(task, key)?.filter(|_| !parts.is_empty()) else { continue };
        let mut whole = json::parse(key, &bytes)?;
        let metadata = match version {
            Version::V3 => whole.get_mut("consolidated_metadata").and_then(|inner| inner.get_mut("metadata")),
            Version::V2 => whole.get_mut("metadata"),
        };
        let Some(Json::Object(metadata)) = metadata else { continue };
        for part in parts {
            let name = match version {
                Version::V3 => part.name.clone(),
                Version::V2 => join(&part.name, version.document()),
            };
            if let Some(place) = metadata.get_mut(&name) {
                place.clone_from(&part.document);
            }
        }
        files.replace(task, key, &bytes_of(&whole)?)?;
    }
    Ok(())
}

/// What is written of one array: the rows of its last chunk, where there are fewer than it has room for, and the new
/// ones.
struct Part {
    name: String,
    version: Version,
    /// How it is after it.
    document: Json,
    /// The rows of the last chunk and the new ones.
    rows: Joined,
    /// The number of the chunk that they begin with.
    first: u64,
    stored: (Stored, Grid, Codecs),
    separator: char,
}

impl Part {
    fn new(
        task: &Task,
        store: &Store,
        name: &str,
        there: &Arc<dyn Array>,
        array: &Arc<dyn Array>,
    ) -> Result<Self> {
        let differs =
            |what: &str| Error::unsupported(format!("{what} is another one than that of what is appended"));
        if there.dtype() != array.dtype() {
            return Err(differs(&format!("its type, {},", there.dtype())));
        }
        let (Some((&old, inner)), Some((&new, same))) =
            (there.shape().split_first(), array.shape().split_first())
        else {
            return Err(Error::unsupported("a single value has no dimension to append along"));
        };
        if inner != same {
            return Err(differs("its shape behind the first dimension"));
        }
        let length = old.checked_add(new).ok_or_else(|| Error::limit("that many rows"))?;
        let (version, mut document) =
            document(task, store, name)?.ok_or_else(|| Error::malformed("its document is gone"))?;
        let stored = written_here(&document, version, array.as_ref())?;
        let separator = separator(&document, version)?;
        let side = stored.1.shard.first().copied().unwrap_or(1).max(1);
        let (first, kept) = (old / side, old % side);
        if let Some(place) = document.get_mut("shape").and_then(|shape| shape.get_mut(0)) {
            *place = Json::from(length);
        }
        let rows = Joined::new(there.clone(), old - kept, kept, array.clone())?;
        // The chunks of the rows that are written.
        let mut stored = stored;
        stored.1.cover(rows.shape());
        Ok(Part { name: name.to_owned(), version, document, rows, first, stored, separator })
    }

    fn run(&self, task: &Task, keys: &mut dyn Files) -> Result<()> {
        let (stored, grid, codecs) = &self.stored;
        let job = Job {
            name: &self.name,
            array: &self.rows,
            stored: stored.clone(),
            grid: grid.clone(),
            codecs: codecs.clone(),
            document: Json::Null,
            attributes: Map::new(),
        };
        let key = |index: &[u64]| {
            let mut index = index.to_vec();
            if let Some(at) = index.first_mut() {
                *at += self.first;
            }
            let separator = self.separator.to_string();
            let numbers = index.iter().map(u64::to_string).collect::<Vec<_>>().join(&separator);
            match self.version {
                Version::V3 => format!("c{separator}{numbers}"),
                Version::V2 => numbers,
            }
        };
        job.run(task, &key, keys)
    }
}

/// How the array of a document is stored, where this is a way in which arrays are written here.
fn written_here(document: &Json, version: Version, array: &dyn Array) -> Result<(Stored, Grid, Codecs)> {
    let object = json::object("metadata", document)?;
    let other =
        |what: &str| Error::unsupported(format!("{what} of the array that is there is not written here"));
    let mut stored = Stored::new(array.dtype(), version)?;
    let is_same = |key: &str, value: &Json| object.get(key) == Some(value);
    let sides = |value: Option<&Json>| json::lengths("chunks", value.unwrap_or(&Json::Null));
    let (grid, codecs) = match version {
        Version::V3 => {
            if !is_same("data_type", &stored.data_type) {
                return Err(other("the data type"));
            }
            let shard = sides(
                object.get("chunk_grid").and_then(|grid| grid.get("configuration")?.get("chunk_shape")),
            )?;
            let list = object.get("codecs").and_then(Json::as_array).cloned().unwrap_or_default();
            let sharding =
                list.first().filter(|codec| codec.get("name") == Some(&Json::from("sharding_indexed")));
            let inner = sharding.and_then(|codec| codec.get("configuration"));
            let chunk = inner.map_or(Ok(shard.clone()), |inner| sides(inner.get("chunk_shape")))?;
            let codecs = inner
                .and_then(|inner| inner.get("codecs")?.as_array().cloned())
                .unwrap_or_else(|| list.clone());
            let codecs = Codecs::read_v3(&codecs, array.dtype(), &stored).ok_or_else(|| other("a codec"))?;
            let grid = Grid::known(array.shape(), chunk, shard, inner.is_some())?;
            if super::document::codecs(&grid, &codecs, &stored) != list {
                return Err(other("the layout of shards"));
            }
            (grid, codecs)
        }
        Version::V2 => {
            if !is_same("dtype", &stored.data_type) || !is_same("order", &Json::from("C")) {
                return Err(other("the type or order"));
            }
            let chunk = sides(object.get("chunks"))?;
            let get = |key: &str| object.get(key).cloned().unwrap_or(Json::Null);
            let codecs = Codecs::read_v2(&get("filters"), &get("compressor"), array.dtype(), &stored);
            (
                Grid::known(array.shape(), chunk.clone(), chunk, false)?,
                codecs.ok_or_else(|| other("a codec"))?,
            )
        }
    };
    stored.zeros_are_fill &= is_zero(object, version);
    Ok((stored, grid, codecs))
}

/// Whether elements that no chunk holds are zero.
fn is_zero(document: &Object, version: Version) -> bool {
    let element = match version {
        Version::V2 => document.get("dtype").map(dtype::of_v2),
        Version::V3 => document.get("data_type").map(dtype::of_v3),
    };
    let Some((Ok(element), value)) = element.zip(document.get("fill_value")) else { return false };
    !value.is_null()
        && fill::bytes(value, &element)
            .is_ok_and(|bytes| bytes.is_some_and(|b| b.iter().all(|&byte| byte == 0)))
}

/// What stands between the numbers of a chunk.
fn separator(document: &Json, version: Version) -> Result<char> {
    let other = || Error::unsupported("the keys of the array that is there are not written here");
    let (value, usual) = match version {
        Version::V2 => (document.get("dimension_separator"), '.'),
        Version::V3 => {
            let encoding = document.get("chunk_key_encoding");
            if encoding.and_then(|e| e.get("name")).and_then(Json::as_str) != Some("default") {
                return Err(other());
            }
            (encoding.and_then(|e| e.get("configuration")?.get("separator")), '/')
        }
    };
    match value.map(Json::as_str) {
        None | Some(None) => Ok(usual),
        Some(Some("/")) => Ok('/'),
        Some(Some(".")) => Ok('.'),
        Some(Some(_)) => Err(other()),
    }
}

/// Some rows of one array, then all of another.
struct Joined {
    before: Arc<dyn Array>,
    /// Where the rows of the first begin, and how many there are.
    start: u64,
    count: u64,
    after: Arc<dyn Array>,
    shape: Vec<u64>,
}

impl Joined {
    fn new(before: Arc<dyn Array>, start: u64, count: u64, after: Arc<dyn Array>) -> Result<Self> {
        let mut shape = after.shape().to_vec();
        if let Some(rows) = shape.first_mut() {
            *rows = rows.saturating_add(count);
        }
        limits::elements(&shape)?;
        Ok(Joined { before, start, count, after, shape })
    }

    /// The parts of a region that lie in the first and in the second.
    fn split(&self, region: &Region) -> Result<(Region, Region)> {
        region.check(&self.shape)?;
        let Some(rows) = region.0.first().filter(|rows| rows.step == 1) else {
            return Err(Error::bug("rows of two arrays with steps between them"));
        };
        let of = |span: Span| {
            let mut part = region.clone();
            part.0.iter_mut().take(1).for_each(|rows| *rows = span);
            part
        };
        let count = self.count.saturating_sub(rows.start).min(rows.count);
        let before = Span::range(self.start.saturating_add(rows.start), count);
        let after = Span::range(rows.start.saturating_sub(self.count), rows.count - count);
        Ok((of(before), of(after)))
    }
}

impl Array for Joined {
    fn dtype(&self) -> &DType {
        self.after.dtype()
    }

    fn shape(&self) -> &[u64] {
        &self.shape
    }

    fn read(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<()> {
        let (before, after) = self.split(region)?;
        let size = limits::bytes(&before.shape(), self.dtype().size())?;
        let (first, second) = out
            .split_at_mut_checked(size as usize)
            .ok_or_else(|| Error::bug("a buffer too short for its region"))?;
        if !first.is_empty() {
            self.before.read(task, &before, first)?;
        }
        if !second.is_empty() {
            self.after.read(task, &after, second)?;
        }
        Ok(())
    }

    fn column(&self, task: &Task, region: &Region) -> Result<ArrayRef> {
        let (before, after) = self.split(region)?;
        if before.elements()? == 0 {
            return self.after.column(task, &after);
        }
        let first = self.before.column(task, &before)?;
        if after.elements()? == 0 {
            return Ok(first);
        }
        let second = self.after.column(task, &after)?;
        Ok(concat(&[first.as_ref(), second.as_ref()])?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convert::{Consent, Item, Selection, Target, plan};
    use crate::data::content::array::{Plain, read};
    use crate::data::format::{Attributes, Data};
    use std::path::{Path, PathBuf};

    /// A folder whose files are replaced; the order of the keys that were put.
    struct Live(PathBuf, Vec<String>);

    impl Files for Live {
        fn put(&mut self, path: &str, bytes: &[u8]) -> Result<()> {
            let file = self.0.join(path);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, bytes).unwrap();
            self.1.push(path.to_owned());
            Ok(())
        }
    }

    impl Additions for Live {
        fn source(&self, task: &Task) -> Result<Source> {
            Source::open(task, &self.0)
        }

        fn commit(&mut self, _: &Task, path: &str, _: &[u8]) -> Result<bool> {
            panic!("{path}: documents are replaced")
        }

        fn replace(&mut self, _: &Task, path: &str, bytes: &[u8]) -> Result<()> {
            self.put(path, bytes)
        }

        fn overwrite(&mut self, path: &str, bytes: &[u8]) -> Result<()> {
            self.put(path, bytes)
        }

        fn take_back(&mut self, path: &str) {
            panic!("{path} is kept")
        }
    }

    fn rows(shape: &[u64], from: u32) -> Arc<dyn Array> {
        let count: u64 = shape.iter().product();
        let bytes: Vec<u8> = (from..from + count as u32).flat_map(|n| n.to_le_bytes()).collect();
        Arc::new(Plain::new(Source::memory("a", bytes), 0, DType::U32, shape.to_vec()).unwrap())
    }

    fn written(path: &Path, array: &Arc<dyn Array>, set: &[(&str, &str)]) {
        let mut options = Options::default();
        set.iter().for_each(|(name, value)| options.set(name, *value));
        let item = Item::new("g/x", Content::Array(array.clone()), Attributes::default());
        let plan = plan(&[item], Target::by_id("zarr").unwrap(), &options, &Selection::default()).unwrap();
        plan.run(&Task::new(), path, Consent::default()).unwrap();
    }

    fn appended(path: &Path, array: &Arc<dyn Array>) -> Result<Vec<String>> {
        let mut live = Live(path.to_owned(), Vec::new());
        let payload = Payload::plain(Data::Arrays(vec![("g/x".to_owned(), array.clone())]));
        append(&Task::new(), &payload, &Options::default(), &mut live)?;
        Ok(live.1)
    }

    fn back(path: &Path) -> (Vec<u64>, Vec<u8>) {
        let document = crate::open(&Task::new(), path, &Options::default()).unwrap();
        let node = document.root.find(&Task::new(), "/g/x").unwrap().unwrap();
        let Some(Content::Array(array)) = &node.content else { panic!("{:?}", node.problem) };
        let bytes = read(array.as_ref(), &Task::new(), &Region::all(array.shape())).unwrap();
        (array.shape().to_vec(), bytes)
    }

    #[test]
    fn rows_go_on_where_the_array_ended() {
        let folder = tempfile::tempdir().unwrap();
        let ways: [&[(&str, &str)]; 6] = [
            &[("zarr_format", "3")],
            &[("zarr_format", "2"), ("compression", "blosc")],
            &[("compression", "blosc"), ("shuffle", "bit"), ("shards", "4,6")],
            &[("compression", "gzip"), ("delta", "yes")],
            &[("zarr_format", "2"), ("compression", "none"), ("delta", "yes")],
            &[("compression", "pcodec"), ("shards", "auto")],
        ];
        for (n, way) in ways.iter().enumerate() {
            for old in [0, 3, 4, 7] {
                let path = folder.path().join(format!("{n}-{old}.zarr"));
                let chunks = [*way, &[("chunks", "2,3")]].concat();
                written(&path, &rows(&[old, 5], 0), &chunks);
                for (count, from) in [(6, old), (0, old + 6), (1, old + 6)] {
                    let put = appended(&path, &rows(&[count, 5], from as u32 * 5)).unwrap();
                    let documents =
                        put.iter().rev().take_while(|key| key.ends_with("zarr.json") || key.contains(".z"));
                    assert_eq!(documents.count(), 2, "{put:?}");
                }
                let (shape, bytes) = back(&path);
                let expected: Vec<u8> = (0..(old as u32 + 7) * 5).flat_map(u32::to_le_bytes).collect();
                assert_eq!(
                    (shape, bytes == expected),
                    (vec![old + 7, 5], true),
                    "{way:?}, {old} rows before"
                );
            }
        }
    }

    /// A process that ended before the documents were replaced leaves chunks that no document tells of: the next one
    /// removes them, and only them.
    #[test]
    fn what_was_begun_is_removed_by_the_next() {
        for version in ["2", "3"] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("x.zarr");
            written(&path, &rows(&[3, 5], 0), &[("chunks", "2,5"), ("zarr_format", version)]);
            let key = |n: u32| if version == "2" { format!("g/x/{n}.0") } else { format!("g/x/c/{n}/0") };
            let (kept, left) = (key(1), key(7));
            if version == "3" {
                std::fs::create_dir(path.join("g/x/c/7")).unwrap();
            }
            std::fs::write(path.join(&left), b"begun").unwrap();
            // No process has the number.
            let hidden = path.join(".append.gander-4194305-0.tmp");
            std::fs::create_dir(&hidden).unwrap();
            let folders = if version == "3" { "g/x/c/7/\n" } else { "" };
            std::fs::write(hidden.join("files"), format!("{folders}{kept}\n{left}\n")).unwrap();
            let item = Item::new("g/x", Content::Array(rows(&[2, 5], 15)), Attributes::default());
            let target = Target::by_id("zarr").unwrap();
            let plan = plan(&[item], target, &Options::default(), &Selection::default()).unwrap();
            plan.append(&Task::new(), &path, Consent::default()).unwrap();
            assert!(!path.join(&left).exists() && !hidden.exists());
            let expected: Vec<u8> = (0..25_u32).flat_map(u32::to_le_bytes).collect();
            assert_eq!(back(&path), (vec![5, 5], expected), "{version}");
            let names = |folder: &Path| std::fs::read_dir(folder).unwrap().count();
            assert_eq!(names(&path), if version == "2" { 3 } else { 2 });
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.zarr");
        written(&path, &rows(&[3, 5], 0), &[]);
        let bytes = Source::memory("a", vec![0; 20]);
        let other: Arc<dyn Array> = Arc::new(Plain::new(bytes, 0, DType::I32, vec![1, 5]).unwrap());
        let said = |array: &Arc<dyn Array>| appended(&path, array).unwrap_err().to_string();
        assert!(said(&other).contains("its type"));
        assert!(said(&rows(&[1, 4], 0)).contains("behind the first dimension"));
        assert!(said(&rows(&[], 0)).contains("single value") || said(&rows(&[], 0)).contains("another"));
        let document = path.join("g/x/zarr.json");
        let text = std::fs::read_to_string(&document).unwrap();
        std::fs::write(&document, text.replace("\"zstd\"", "\"numcodecs.lz4\"")).unwrap();
        std::fs::write(path.join("zarr.json"), r#"{"zarr_format": 3, "node_type": "group"}"#).unwrap();
        assert!(said(&rows(&[1, 5], 15)).contains("codec"));
    }
}
