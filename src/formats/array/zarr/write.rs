//! Writes Zarr version 3: a group of arrays in chunks, as a folder or as a ZIP archive of the same keys.
//! Chunks that hold nothing but zeros, the fill value, are left out, as other writers do. The root repeats
//! all metadata (consolidated), so that readers need one document.
//! <https://zarr-specs.readthedocs.io/en/latest/v3/core/index.html>

mod data_type;
mod encode;
mod grid;
mod store;

use super::json::BASE64;
use crate::bytes::archive::write::archive;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::strides;
use crate::bytes::task::Task;
use crate::data::chunked::write::{each_chunk, elements};
use crate::data::content::{Array, Kind};
use crate::data::dtype::DType;
use crate::data::format::{
    Attributes, Files, Loss, Metadata, OptionSpec, Options, Payload, Sink, WriteTo, Writer,
};
use crate::data::scan::array_bytes;
use base64::Engine;
use data_type::Stored;
use encode::{Elements, Encoder};
use grid::Grid;
use rayon::prelude::*;
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;

const COMPRESSION: OptionSpec =
    OptionSpec::new("compression", "How chunks are compressed").one_of("zstd", &["zstd", "gzip", "none"]);

const CHUNKS: OptionSpec = OptionSpec::new(
    "chunks",
    "The shape of a chunk (100,100), for arrays of as many dimensions; auto: the source's, or about 1 MB",
)
.default("auto");

const SHARDS: OptionSpec = OptionSpec::new("shards", "The shape of a shard of chunks, which is one file (1000,1000); auto: about 64 MB; none: each chunk is one").default("none");

/// The writer of a folder.
pub const WRITER: Writer = Writer { write: WriteTo::Folder(write_keys), ..ZIP };
/// The writer of a ZIP archive of the same files.
pub const ZIP: Writer = Writer {
    many: true,
    metadata: Metadata::Tree,
    options: &[COMPRESSION, CHUNKS, SHARDS],
    ..Writer::new(&[Kind::Array], losses, write)
};

fn losses(payload: &Payload, _options: &Options) -> Vec<Loss> {
    let mut losses = Vec::new();
    for (name, array) in payload.arrays().unwrap_or_default() {
        losses.extend(data_type::remark(array.dtype()).map(|remark| remark.at(name)));
    }
    losses
}

fn write(task: &Task, payload: &Payload, options: &Options, sink: &mut dyn Sink) -> Result<()> {
    archive(sink, |zip| write_keys(task, payload, options, zip))
}

/// Writes the hierarchy to any store of keys.
///
/// # Errors
/// `Unsupported` for types that Zarr has not and for names that are no paths; those of reading and writing.
fn write_keys(task: &Task, payload: &Payload, options: &Options, keys: &mut dyn Files) -> Result<()> {
    let compression = Compression::parse(options)?;
    let mut total = 0u64;
    let mut arrays = Vec::new();
    for (name, array) in payload.arrays()? {
        check_name(name)?;
        let stored = Stored::new(array.dtype()).map_err(|e| e.in_node(name))?;
        let grid = Grid::new(array.as_ref(), options)?;
        total = total.saturating_add(array_bytes(array.as_ref())?);
        let own = payload.parts.get(name).map(|own| spelled(own, array.dtype())).unwrap_or_default();
        let document = document(array.as_ref(), &stored, &grid, compression, own);
        arrays.push((name, array, stored, grid, document));
    }
    task.set_total(total);
    let mut documents: BTreeMap<String, Json> = BTreeMap::new();
    for (name, _, _, _, document) in &arrays {
        if documents.insert((*name).clone(), document.clone()).is_some() {
            return Err(Error::unsupported(format!("two arrays are called {name:?}")));
        }
    }
    for name in payload.parts.keys().filter(|name| !name.is_empty()) {
        check_name(name)?;
        documents.entry(name.clone()).or_insert_with(|| group_document(payload.group(name)));
    }
    for name in documents.keys().cloned().collect::<Vec<_>>() {
        let mut at = name.as_str();
        while let Some((group, _)) = at.rsplit_once('/') {
            let made =
                documents.entry(group.to_owned()).or_insert_with(|| group_document(payload.group(group)));
            if made.get("node_type") != Some(&Json::from("group")) {
                return Err(Error::unsupported(format!(
                    "{group:?} is an array and holds the array {name:?}"
                )));
            }
            at = group;
        }
    }
    let mut root = group_document(spelled(&payload.attributes, &DType::U8));
    let consolidated = json!({"kind": "inline", "must_understand": false, "metadata": documents});
    insert(&mut root, "consolidated_metadata", consolidated);
    keys.put("zarr.json", &bytes_of(&root)?)?;
    for (path, document) in &documents {
        keys.put(&format!("{path}/zarr.json"), &bytes_of(document)?)?;
    }
    for (name, array, stored, grid, _) in arrays {
        task.set_message(name.clone());
        let job = Job::new(array.as_ref(), stored, grid, compression)?;
        job.run(task, name, keys).map_err(|e| e.in_node(name))?;
    }
    Ok(())
}

/// Names become paths of keys.
fn check_name(name: &str) -> Result<()> {
    let fits = |part: &str| {
        !part.is_empty() && part != "." && part != ".." && part != "zarr.json" && !part.contains(['\\', '\0'])
    };
    match name.split('/').all(fits) && name.len() < 4096 {
        true => Ok(()),
        false => Err(Error::unsupported(format!("zarr: the name {name:?} is no path of a key"))),
    }
}

impl Payload {
    /// The attributes of a group as Zarr has them.
    fn group(&self, name: &str) -> Map<String, Json> {
        self.parts.get(name).map(|own| spelled(own, &DType::U8)).unwrap_or_default()
    }
}

/// Attributes of an array of `dtype` (or of a group, which is of none) as JSON.
fn spelled(attributes: &Attributes, dtype: &DType) -> Map<String, Json> {
    let mut out = Map::new();
    for (name, value) in &attributes.list {
        let exact = attributes.exact(name, value);
        // xarray keeps the value for *missing* of floats as the Base64 of a double, since JSON has no NaN.
        let missing = exact.as_f64().or_else(|| exact.as_str().and_then(|text| text.parse().ok()));
        let json = match missing.filter(|_| name == "_FillValue" && dtype.is_float()) {
            Some(missing) => Json::from(BASE64.encode(f64::to_le_bytes(missing))),
            None => exact,
        };
        out.insert(name.clone(), json);
    }
    out
}

fn group_document(attributes: Map<String, Json>) -> Json {
    json!({"zarr_format": 3, "node_type": "group", "attributes": attributes})
}

fn bytes_of(document: &Json) -> Result<Vec<u8>> {
    serde_json::to_vec_pretty(document).map_err(|e| Error::bug(format!("metadata that are no JSON: {e}")))
}

/// What makes bytes of a chunk's elements.
fn chunk_codecs(stored: &Stored, compression: Compression) -> Vec<Json> {
    std::iter::once(stored.codec.clone()).chain(compression.codec()).collect()
}

/// What makes bytes of a shard's index.
fn index_codecs() -> Vec<Json> {
    vec![json!({"name": "bytes", "configuration": {"endian": "little"}}), json!({"name": "crc32c"})]
}

/// The `zarr.json` of an array.
fn document(
    array: &dyn Array,
    stored: &Stored,
    grid: &Grid,
    compression: Compression,
    attributes: Map<String, Json>,
) -> Json {
    let mut codecs = chunk_codecs(stored, compression);
    if grid.is_sharded() {
        codecs = vec![json!({"name": "sharding_indexed", "configuration": {
            "chunk_shape": grid.chunk, "codecs": codecs, "index_codecs": index_codecs(), "index_location": "end"}})];
    }
    let mut document = json!({
        "zarr_format": 3,
        "node_type": "array",
        "shape": array.shape(),
        "data_type": stored.data_type,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": grid.shard}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": stored.fill,
        "codecs": codecs,
        "attributes": attributes,
        "storage_transformers": [],
    });
    let axes = array.facts().axes;
    if axes.len() == array.shape().len() && axes.iter().any(|axis| !axis.name.is_empty()) {
        let name = |name: &String| if name.is_empty() { Json::Null } else { Json::from(name.as_str()) };
        insert(&mut document, "dimension_names", axes.iter().map(|axis| name(&axis.name)).collect());
    }
    document
}

/// Sets an entry of a document, which is an object.
fn insert(document: &mut Json, name: &str, value: Json) {
    if let Some(entries) = document.as_object_mut() {
        entries.insert(name.to_owned(), value);
    }
}

/// How bytes are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compression {
    Zstd,
    Gzip,
    None,
}

impl Compression {
    fn parse(options: &Options) -> Result<Self> {
        Ok(match options.choice(&COMPRESSION)? {
            "gzip" => Compression::Gzip,
            "none" => Compression::None,
            _ => Compression::Zstd,
        })
    }

    fn codec(self) -> Option<Json> {
        match self {
            Compression::Zstd => {
                Some(json!({"name": "zstd", "configuration": {"level": 3, "checksum": false}}))
            }
            Compression::Gzip => Some(json!({"name": "gzip", "configuration": {"level": 6}})),
            Compression::None => None,
        }
    }
}

/// One array on its way.
struct Job<'a> {
    array: &'a dyn Array,
    stored: Stored,
    grid: Grid,
    chunks: Encoder,
    index: Encoder,
}

impl<'a> Job<'a> {
    fn new(array: &'a dyn Array, stored: Stored, grid: Grid, compression: Compression) -> Result<Self> {
        let chunks = Encoder::new(&chunk_codecs(&stored, compression), &grid.chunk, stored.elements)?;
        let mut entries = grid.inside();
        entries.push(2);
        let index = Encoder::new(&index_codecs(), &entries, Elements::Bytes(8))?;
        Ok(Job { array, stored, grid, chunks, index })
    }

    /// Writes all keys.
    fn run(&self, task: &Task, name: &str, keys: &mut dyn Files) -> Result<()> {
        let made = |index: &[u64]| self.key(task, index);
        each_chunk(task, self.array, &self.grid.shard, made, |index, bytes| {
            let Some(bytes) = bytes else { return Ok(()) };
            let key = index.iter().fold(format!("{name}/c"), |key, at| format!("{key}/{at}"));
            keys.put(&key, &bytes)
        })
    }

    /// The bytes of one key; `None` where it holds nothing but the fill value.
    fn key(&self, task: &Task, index: &[u64]) -> Result<Option<Vec<u8>>> {
        if !self.grid.is_sharded() {
            return self.chunk(task, index);
        }
        let inside = self.grid.inside();
        let count = limits::elements(&inside)?;
        let chunks: Vec<Option<Vec<u8>>> = (0..count)
            .into_par_iter()
            .map(|n| {
                let places = index.iter().zip(&inside).zip(strides::unravel(n, &inside));
                let index: Vec<u64> = places.map(|((shard, count), at)| shard * count + at).collect();
                self.chunk(task, &index)
            })
            .collect::<Result<_>>()?;
        if chunks.iter().all(Option::is_none) {
            return Ok(None);
        }
        let (mut out, mut index) = (Vec::new(), Vec::with_capacity(chunks.len() * 16));
        for chunk in &chunks {
            let (offset, len) = match chunk {
                Some(bytes) => (out.len() as u64, bytes.len() as u64),
                None => (u64::MAX, u64::MAX),
            };
            index.extend(offset.to_le_bytes());
            index.extend(len.to_le_bytes());
            out.extend_from_slice(chunk.as_deref().unwrap_or_default());
        }
        out.append(&mut self.index.encode(index)?);
        Ok(Some(out))
    }

    /// One chunk, whole also at the array's edge, encoded.
    fn chunk(&self, task: &Task, index: &[u64]) -> Result<Option<Vec<u8>>> {
        task.check()?;
        let region = self.grid.region(index);
        if region.elements()? == 0 {
            return Ok(None);
        }
        if !matches!(self.stored.elements, Elements::Bytes(_)) {
            let column = self.array.column(task, &region)?;
            return self.chunks.encode_column(&column, &self.grid.whole_rows(&region)?).map(Some);
        }
        let whole = elements(task, self.array, &self.grid.chunk, index)?;
        if self.stored.zeros_are_fill && whole.iter().all(|&byte| byte == 0) {
            return Ok(None);
        }
        self.chunks.encode(self.stored.packed(self.array.dtype(), whole)?).map(Some)
    }
}

/// Whether a type can be written.
pub fn holds(dtype: &DType) -> bool {
    Stored::new(dtype).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::source::Source;
    use crate::data::content::array::Plain;
    use crate::data::content::{Content, array};
    use crate::data::format::Data;
    use crate::data::node::Value;
    use crate::data::region::Region;
    use proptest::prelude::*;
    use std::io::Cursor;
    use std::sync::Arc;

    fn zipped(arrays: Vec<(String, Arc<dyn Array>)>, set: &[(&str, &str)]) -> Result<crate::Document> {
        let mut options = Options::default();
        set.iter().for_each(|(name, value)| options.set(name, *value));
        let named = arrays.iter().map(|(name, _)| name.clone()).filter(|name| name == "a/x");
        let payload = Payload {
            parts: named.map(|name| (name, vec![("unit".into(), "K".into())].into())).collect(),
            ..Payload::plain(Data::Arrays(arrays))
        };
        let mut sink = Cursor::new(Vec::new());
        write(&Task::new(), &payload, &options, &mut sink)?;
        crate::formats::open_source(
            &Task::new(),
            &Source::memory("x.zarr.zip", sink.into_inner()),
            &Options::default(),
        )
    }

    fn plain(shape: &[u64]) -> Arc<dyn Array> {
        let count: u64 = shape.iter().product();
        let bytes: Vec<u8> = (0..count as u32).flat_map(|n| (n / 3 * 3).to_le_bytes()).collect();
        Arc::new(Plain::new(Source::memory("a", bytes), 0, DType::U32, shape.to_vec()).unwrap())
    }

    fn back(document: &crate::Document, path: &str) -> Arc<dyn Array> {
        let node = document.root.find(&Task::new(), path).unwrap().unwrap();
        match &node.content {
            Some(Content::Array(array)) => array.clone(),
            _ => panic!("{:?}", node.problem),
        }
    }

    #[test]
    fn names_are_groups_and_attributes_go_to_their_arrays() {
        let document = zipped(vec![("a/x".into(), plain(&[3])), ("b".into(), plain(&[2, 2]))], &[]).unwrap();
        let node = document.root.find(&Task::new(), "/a/x").unwrap().unwrap();
        assert_eq!(node.attributes, [("unit".to_owned(), Value::from("K"))]);
        assert_eq!(back(&document, "/b").shape(), [2, 2]);
        for names in [["a", "a"], ["a", "a/b"], ["..", "b"], ["", "b"], ["a//b", "b"]] {
            let arrays = names.map(|name| (name.to_owned(), plain(&[3]))).to_vec();
            assert!(zipped(arrays, &[]).is_err(), "{names:?}");
        }
    }

    #[test]
    fn options_that_are_no_shapes_are_refused() {
        for (name, value) in [("chunks", "x"), ("chunks", "0"), ("shards", "3,x"), ("compression", "lzo")] {
            assert!(zipped(vec![("a".into(), plain(&[3]))], &[(name, value)]).is_err(), "{name}={value}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            shape in prop::collection::vec(0u64..9, 0..4), chunk in 1u64..7, shard in 0u64..15,
            compression in prop::sample::select(vec!["zstd", "gzip", "none"]),
        ) {
            let list = |side: u64| vec![side.to_string(); shape.len()].join(",");
            let (chunks, shards) = (list(chunk), if shard == 0 { "none".to_owned() } else { list(shard) });
            let mut set = vec![("compression", compression)];
            if !shape.is_empty() {
                set.extend([("chunks", chunks.as_str()), ("shards", shards.as_str())]);
            }
            let from = plain(&shape);
            let document = zipped(vec![("a".into(), from.clone())], &set).unwrap();
            let to = back(&document, "/a");
            prop_assert_eq!((to.dtype(), to.shape()), (from.dtype(), from.shape()));
            let all = Region::all(&shape);
            let read = |a: &dyn Array| array::read(a, &Task::new(), &all).unwrap();
            prop_assert_eq!(read(to.as_ref()), read(from.as_ref()));
        }
    }
}
