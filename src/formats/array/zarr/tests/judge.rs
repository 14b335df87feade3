//! The zarrs crate as a second reader: of every fixture, and of what the writer makes.

use super::{STORES, array_of, bytes, fixture, texts};
use crate::bytes::task::Task;
use crate::data::format::{Data, Options, Payload, WriteTo};
use crate::data::open::Document;
use crate::data::region::Region;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use zarrs::array::{Array, ArrayBytes};
use zarrs::storage::store::MemoryStore;
use zarrs::storage::{StoreKey, WritableStorageTraits};

/// The keys of a folder or an archive, below the folder of the root.
fn keys(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut keys = BTreeMap::new();
    if path.is_dir() {
        let mut folders = vec![path.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let entry = entry.unwrap().path();
                if entry.is_dir() {
                    folders.push(entry);
                } else {
                    let key = entry.strip_prefix(path).unwrap().to_str().unwrap().to_owned();
                    keys.insert(key, std::fs::read(&entry).unwrap());
                }
            }
        }
    } else {
        let mut archive = zip::ZipArchive::new(std::io::Cursor::new(std::fs::read(path).unwrap())).unwrap();
        for n in 0..archive.len() {
            let mut member = archive.by_index(n).unwrap();
            let mut bytes = Vec::new();
            member.read_to_end(&mut bytes).unwrap();
            keys.insert(member.name().to_owned(), bytes);
        }
    }
    let is_document = |key: &str| [".zgroup", ".zarray", "zarr.json"].iter().any(|name| key.ends_with(name));
    let root = keys.keys().filter(|key| is_document(key)).min_by_key(|key| key.matches('/').count()).unwrap();
    let root = root.rsplit_once('/').map_or(String::new(), |(folder, _)| format!("{folder}/"));
    keys.into_iter().filter_map(|(key, bytes)| Some((key.strip_prefix(&root)?.to_owned(), bytes))).collect()
}

/// Where zarrs gives other bytes than zarr-python, which has the last word: it leaves the bits above those of small
/// integers as they are, and multiplies where numcodecs divides.
const OTHERWISE: [&str; 3] =
    ["v2_codecs.zarr.zip#/filter_scaled", "v3_types.zarr.zip#/int2", "v3_types.zarr.zip#/int4"];

/// What both readers made of a store.
#[derive(Default)]
struct Verdict {
    equal: usize,
    /// Arrays that zarrs does not read, by its words.
    refused: Vec<String>,
    wrong: Vec<String>,
}

impl Verdict {
    fn compare(&mut self, name: &str, path: &Path, document: &Document) {
        let store = Arc::new(MemoryStore::new());
        let keys = keys(path);
        for (key, bytes) in &keys {
            if !key.ends_with('/') {
                store.set(&StoreKey::new(key).unwrap(), bytes.clone().into()).unwrap();
            }
        }
        let node = |key: &String| {
            let (folder, document) = key.rsplit_once('/').unwrap_or(("", key));
            matches!(document, ".zarray" | "zarr.json").then(|| format!("/{folder}"))
        };
        for node in keys.keys().filter_map(node) {
            let Ok(Some(ours)) = document.root.find(&Task::new(), &node) else { continue };
            if !matches!(ours.content, Some(crate::data::content::Content::Array(_))) {
                continue;
            }
            let theirs = match Array::open(store.clone(), &node) {
                Ok(array) => {
                    array.retrieve_array_subset::<ArrayBytes>(&array.subset_all()).map_err(|e| e.to_string())
                }
                Err(error) => Err(error.to_string()),
            };
            match theirs {
                Err(error) => self.refused.push(format!("{name}#{node}: {error}")),
                Ok(theirs) => match equal(array_of(&ours).as_ref(), theirs) {
                    true => self.equal += 1,
                    false => self.wrong.push(format!("{name}#{node}")),
                },
            }
        }
    }
}

/// Whether an array is what zarrs read.
fn equal(ours: &dyn crate::data::content::Array, theirs: ArrayBytes) -> bool {
    match theirs {
        ArrayBytes::Fixed(theirs) => bytes(ours).is_ok_and(|ours| ours == *theirs),
        ArrayBytes::Variable(theirs) => {
            let column = ours.column(&Task::new(), &Region::all(ours.shape())).unwrap();
            let (values, offsets) = (theirs.bytes(), theirs.offsets());
            let theirs = offsets.windows(2).map(|ends| &values[ends[0]..ends[1]]);
            let own: Vec<Vec<u8>> = match texts(&column) {
                _ if column.data_type() == &arrow::datatypes::DataType::Binary => {
                    arrow::array::AsArray::as_binary::<i32>(&column)
                        .iter()
                        .map(|v| v.unwrap_or_default().to_vec())
                        .collect()
                }
                texts => texts.into_iter().map(|text| text.unwrap_or_default().into_bytes()).collect(),
            };
            own.iter().map(Vec::as_slice).eq(theirs)
        }
        ArrayBytes::Optional(_) => false,
    }
}

#[test]
fn every_fixture_is_read_as_zarrs_reads_it() {
    let mut verdict = Verdict::default();
    for store in STORES {
        let path = fixture(store);
        let document = crate::open(&Task::new(), &path, &Options::default()).unwrap();
        verdict.compare(store, &path, &document);
    }
    assert_eq!(verdict.wrong, OTHERWISE);
    println!("{} equal; zarrs does not read\n{}", verdict.equal, verdict.refused.join("\n"));
    assert!(verdict.equal > 90, "{}:\n{}", verdict.equal, verdict.refused.join("\n"));
}

/// Every array of the fixtures once more, as the writer makes it.
#[test]
fn what_is_written_is_read_by_zarrs() {
    let mut verdict = Verdict::default();
    for store in ["v3_types.zarr.zip", "climate_v3.zarr"] {
        let source = crate::open(&Task::new(), &fixture(store), &Options::default()).unwrap();
        let mut arrays = Vec::new();
        for (path, node) in super::nodes(&source) {
            if let Some(crate::data::content::Content::Array(array)) = &node.content
                && super::super::write::holds(array.dtype())
            {
                arrays.push((path.trim_start_matches('/').to_owned(), array.clone()));
            }
        }
        for (compression, shards) in [("zstd", "none"), ("gzip", "auto"), ("none", "auto")] {
            let mut options = Options::default();
            options.set("compression", compression);
            options.set("shards", shards);
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("a.zarr.zip");
            let WriteTo::File(write) = super::super::write::ZIP.write else { panic!("an archive is a file") };
            let mut file = std::io::Cursor::new(Vec::new());
            write(&Task::new(), &Payload::plain(Data::Arrays(arrays.clone())), &options, &mut file).unwrap();
            std::fs::write(&path, file.into_inner()).unwrap();
            let written = crate::open(&Task::new(), &path, &Options::default()).unwrap();
            verdict.compare(&format!("{store}, {compression}, shards {shards}"), &path, &written);
        }
    }
    assert!(verdict.wrong.is_empty(), "{}", verdict.wrong.join("\n"));
    println!("{} equal; zarrs does not read\n{}", verdict.equal, verdict.refused.join("\n"));
    assert!(verdict.equal > 60, "{}:\n{}", verdict.equal, verdict.refused.join("\n"));
}

/// `zarrs.vlen` and `zarrs.vlen_v2`, which nothing else writes.
#[test]
fn elements_without_a_size_as_zarrs_writes_them() {
    use zarrs::array::{ArrayBuilder, data_type};
    use zarrs::metadata::v3::MetadataV3;
    let metadata = |json: serde_json::Value| serde_json::from_value::<MetadataV3>(json).unwrap();
    let bytes = serde_json::json!({"name": "bytes", "configuration": {"endian": "little"}});
    let zstd = serde_json::json!({"name": "zstd", "configuration": {"level": 1, "checksum": false}});
    let vlen = |number: &str, at: &str| {
        serde_json::json!({"name": "zarrs.vlen", "configuration": {"index_codecs": [bytes, zstd], "data_codecs":
            [{"name": "bytes"}, zstd, {"name": "crc32c"}], "index_data_type": number, "index_location": at}})
    };
    let words: Vec<String> = (0..35).map(|n| "é".repeat(n % 6)).collect();
    for codec in
        [vlen("uint32", "start"), vlen("uint64", "end"), serde_json::json!({"name": "zarrs.vlen_v2"})]
    {
        let codec = metadata(codec);
        let chain = zarrs::array::CodecChain::from_metadata(std::slice::from_ref(&codec)).unwrap();
        let store = Arc::new(MemoryStore::new());
        let array = ArrayBuilder::new(vec![5, 7], vec![2, 4], data_type::string(), "")
            .array_to_bytes_codec(chain.array_to_bytes_codec().clone())
            .build(store.clone(), "/")
            .unwrap();
        array.store_metadata().unwrap();
        array.store_array_subset(&array.subset_all(), words.clone()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("a.zarr");
        for key in zarrs::storage::ListableStorageTraits::list(&*store).unwrap() {
            let path = root.join(key.as_str());
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            let value = zarrs::storage::ReadableStorageTraits::get(&*store, &key).unwrap().unwrap();
            std::fs::write(path, value).unwrap();
        }
        let document = crate::open(&Task::new(), &root, &Options::default()).unwrap();
        let ours = array_of(&document.root);
        let column = ours.column(&Task::new(), &Region::all(ours.shape())).unwrap();
        let read: Vec<String> = texts(&column).into_iter().flatten().collect();
        assert_eq!(read, words, "{codec:?}");
        // Cut anywhere, a chunk is an error.
        let chunk = root.join("c/0/0");
        let whole = std::fs::read(&chunk).unwrap();
        for cut in 0..whole.len() {
            std::fs::write(&chunk, &whole[..cut]).unwrap();
            let ours = array_of(&crate::open(&Task::new(), &root, &Options::default()).unwrap().root);
            assert!(ours.column(&Task::new(), &Region::all(ours.shape())).is_err(), "{codec:?}: {cut}");
        }
    }
}
