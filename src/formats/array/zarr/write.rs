//! Writes Zarr, version 3 or 2: a group of arrays in chunks, as a folder or as a ZIP archive of the same keys.
//! Chunks that hold nothing but zeros, the fill value, are left out, as other writers do. All metadata stand in one
//! document too (consolidated), so that readers need no other.
//! <https://zarr-specs.readthedocs.io/en/latest/v3/core/index.html>,
//! <https://zarr-specs.readthedocs.io/en/latest/v2/v2.0.html>; the names of dimensions in version 2 are xarray's:
//! <https://docs.xarray.dev/en/stable/internals/zarr-encoding-spec.html>

mod append;
mod data_type;
mod document;
mod encode;
mod grid;
mod options;
mod store;

use crate::bytes::archive::write::archive;
use crate::bytes::codec::checksum;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::strides;
use crate::bytes::task::Task;
use crate::data::chunked::write::{each_chunk, elements};
use crate::data::content::{Array, Kind};
use crate::data::dtype::DType;
use crate::data::format::{Append, Files, Loss, LossKind, Metadata, Options, Payload, Sink, WriteTo, Writer};
use crate::data::format::{loss, note};
use crate::data::scan::array_bytes;
use data_type::Stored;
use encode::{Codecs, Elements};
use grid::Grid;
use options::{Settings, Version};
use rayon::prelude::*;
use serde_json::{Map, Value as Json};
use std::collections::BTreeSet;

/// The writer of a folder.
pub const WRITER: Writer = Writer {
    write: WriteTo::Folder(write_keys),
    append: Some(Append { write: append::append, known: append::known }),
    ..ZIP
};
/// The writer of a ZIP archive of the same files.
pub const ZIP: Writer = Writer {
    many: true,
    metadata: Metadata::Tree,
    variable: true,
    options: options::ALL,
    check,
    ..Writer::new(&[Kind::Array], losses, write)
};

/// Refuses what neither version holds, where there is nothing else.
fn check(payload: &Payload) -> Result<()> {
    let mut refused = None;
    for (name, array) in payload.arrays()? {
        match Stored::new(array.dtype(), Version::V3)
            .or_else(|e| Stored::new(array.dtype(), Version::V2).or(Err(e)))
        {
            Ok(_) => return Ok(()),
            Err(error) => refused = refused.or(Some(error.in_node(name))),
        }
    }
    refused.map_or(Ok(()), Err)
}

fn losses(payload: &Payload, options: &Options) -> Vec<Loss> {
    let mut losses = Vec::new();
    let settings = Settings::of(options).ok();
    let version = settings.map_or(Version::V3, |settings| settings.version);
    for (name, array) in payload.arrays().unwrap_or_default() {
        let dtype = array.dtype();
        if let Err(error) = Stored::new(dtype, version) {
            let what = format!("it is left out: {}", error.what());
            losses.push(loss(LossKind::Type, what).at(name));
            continue;
        }
        losses.extend(data_type::remark(dtype).map(|remark| remark.at(name)));
        if let Some(keep) = settings.and_then(|settings| settings.rounds(dtype)) {
            let what = format!("{keep} bits of the mantissa are kept, the others are rounded to zero");
            losses.push(loss(LossKind::Precision, what).at(name).if_any());
        }
        let own = payload.parts.get(name);
        own.iter().for_each(|own| document::losses(name, own, dtype, &mut losses));
        if version == Version::V2 && own.is_some_and(|own| own.get(document::DIMENSIONS).is_some()) {
            let what = "it holds the names of the dimensions in version 2";
            losses.push(note(LossKind::Attribute, what).at(name).of(document::DIMENSIONS));
        }
    }
    document::losses("", &payload.attributes, &DType::U8, &mut losses);
    let arrays: BTreeSet<&str> =
        payload.arrays().unwrap_or_default().iter().map(|(name, _)| name.as_str()).collect();
    for (name, own) in payload.parts.iter().filter(|(name, _)| !arrays.contains(name.as_str())) {
        document::losses(name, own, &DType::U8, &mut losses);
    }
    losses
}

fn write(task: &Task, payload: &Payload, options: &Options, sink: &mut dyn Sink) -> Result<()> {
    archive(sink, |zip| write_keys(task, payload, options, zip))
}

/// Writes the hierarchy to any store of keys.
///
/// # Errors
/// `Unsupported` where Zarr has no type for any of the arrays and for names that are no paths; those of reading and
/// writing.
fn write_keys(task: &Task, payload: &Payload, options: &Options, keys: &mut dyn Files) -> Result<()> {
    let settings = Settings::of(options)?;
    let (mut total, mut jobs, mut refused) = (0u64, Vec::new(), None);
    for (name, array) in payload.arrays()? {
        check_name(name)?;
        match Stored::new(array.dtype(), settings.version) {
            Ok(stored) => jobs.push(Job::new(name, array.as_ref(), stored, &settings, options)?),
            Err(error) => refused = refused.or(Some(error.in_node(name))),
        }
        total = total.saturating_add(array_bytes(array.as_ref())?);
    }
    // What was left out was named before.
    if let Some(error) = refused.filter(|_| jobs.is_empty()) {
        return Err(error);
    }
    task.set_total(total);
    for job in &mut jobs {
        let own = payload.parts.get(job.name).cloned().unwrap_or_default();
        job.describe(&own, settings.version);
    }
    document::put(payload, &jobs, &settings, keys)?;
    for job in &jobs {
        task.set_message(job.name.to_owned());
        job.run(task, &|index| key(index, settings.version), keys).map_err(|e| e.in_node(job.name))?;
    }
    Ok(())
}

/// Names of documents, which are no names of nodes.
const DOCUMENTS: [&str; 5] = ["zarr.json", ".zgroup", ".zarray", ".zattrs", ".zmetadata"];

/// Names become paths of keys.
fn check_name(name: &str) -> Result<()> {
    let fits = |part: &str| {
        !part.is_empty()
            && part != "."
            && part != ".."
            && !DOCUMENTS.contains(&part)
            && !part.contains(['\\', '\0'])
    };
    match name.split('/').all(fits) && name.len() < 4096 {
        true => Ok(()),
        false => Err(Error::unsupported(format!("zarr: the name {name:?} is no path of a key"))),
    }
}

/// One array on its way.
struct Job<'a> {
    name: &'a str,
    array: &'a dyn Array,
    stored: Stored,
    grid: Grid,
    codecs: Codecs,
    document: Json,
    attributes: Map<String, Json>,
}

impl<'a> Job<'a> {
    fn new(
        name: &'a str,
        array: &'a dyn Array,
        stored: Stored,
        settings: &Settings,
        options: &Options,
    ) -> Result<Self> {
        let grid = Grid::new(array, options, settings.version == Version::V3)?;
        let codecs = Codecs::new(array.dtype(), stored.elements, settings);
        Ok(Job { name, array, stored, grid, codecs, document: Json::Null, attributes: Map::new() })
    }

    /// Writes all chunks, each under the `key` below the array that its numbers make.
    fn run(&self, task: &Task, key: &(dyn Fn(&[u64]) -> String + Sync), keys: &mut dyn Files) -> Result<()> {
        let made = |index: &[u64]| self.key(task, index);
        each_chunk(task, self.array, &self.grid.shard, made, |index, bytes| {
            let Some(bytes) = bytes else { return Ok(()) };
            keys.put(&format!("{}/{}", self.name, key(index)), &bytes)
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
        let (mut out, mut index) = (Vec::new(), Vec::with_capacity(chunks.len() * 16 + 4));
        for chunk in &chunks {
            let (offset, len) = match chunk {
                Some(bytes) => (out.len() as u64, bytes.len() as u64),
                None => (u64::MAX, u64::MAX),
            };
            index.extend(offset.to_le_bytes());
            index.extend(len.to_le_bytes());
            out.extend_from_slice(chunk.as_deref().unwrap_or_default());
        }
        index.extend(checksum::crc32c(&index).to_le_bytes());
        out.append(&mut index);
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
            return self.codecs.encode_column(&column, &self.grid.whole_rows(&region)?).map(Some);
        }
        let whole = elements(task, self.array, &self.grid.chunk, index)?;
        if self.stored.zeros_are_fill && whole.iter().all(|&byte| byte == 0) {
            return Ok(None);
        }
        self.codecs.encode(self.stored.packed(self.array.dtype(), whole)?).map(Some)
    }
}

/// The key of a chunk below its array.
fn key(index: &[u64], version: Version) -> String {
    match version {
        Version::V3 => index.iter().fold("c".to_owned(), |key, at| format!("{key}/{at}")),
        Version::V2 if index.is_empty() => "0".to_owned(),
        Version::V2 => index.iter().map(u64::to_string).collect::<Vec<_>>().join("."),
    }
}

/// Whether a type can be written.
pub fn holds(dtype: &DType) -> bool {
    Stored::new(dtype, Version::V3).is_ok()
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
