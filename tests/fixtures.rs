//! Loops over `fixtures/`: every good file is recognised by its format and reads whole; every damaged
//! one ends in a tree or a typed error, within limits. Adding a fixture adds a test.

use crate::reading::read_all;
use gander::data::format::Options;
use gander::{Document, Error, ErrorKind, Source, Task};
use rayon::prelude::*;
use std::path::{Path, PathBuf};

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

/// Files below a folder; `malformed` ones only if asked for.
pub(crate) fn files(folder: &Path, malformed: bool, out: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().flatten().map(|e| e.path()).collect();
    entries.sort();
    for path in entries {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            if name != "__pycache__" && (malformed || name != "malformed") {
                files(&path, malformed, out);
            }
        } else if !name.ends_with(".py") && name != "golden.txt" {
            out.push(path);
        }
    }
}

/// The documents below a folder: files, and folders that are recognised as one thing.
fn documents(folder: &Path, out: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().flatten().map(|e| e.path()).collect();
    entries.sort();
    for path in entries {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        // An empty file has its own test: it is a sentence.
        let is_left_out = ["__pycache__", "malformed", "golden.txt"].contains(&name.as_str())
            || name.ends_with(".py")
            || path.is_file() && path.metadata().is_ok_and(|meta| meta.len() == 0);
        if is_left_out {
            continue;
        }
        let opened = gander::open(&Task::new(), &path, &Options::default());
        match opened.map(|document| document.format.id) {
            Ok("folder") => documents(&path, out),
            Ok(_) => out.push(path),
            Err(error) => panic!("{error}"),
        }
    }
}

/// Fixtures that another format opens than the one in whose folder they lie.
const OTHERS: [(&str, &str); 42] = [
    ("onnx/external.bin", "bytes"),
    ("parquet/hive", "dataset"),
    ("parquet/hive_escaped", "dataset"),
    ("parquet/parts", "dataset"),
    ("parquet/parts_drift", "dataset"),
    ("parquet/with_metadata_files", "dataset"),
    ("safetensors/sharded", "safetensors_sharded"),
    ("safetensors/sharded_shard_missing", "safetensors_sharded"),
    ("gguf/split", "gguf_split"),
    ("gguf/split_part_missing", "gguf_split"),
    // What the reference reads.
    ("pytorch/expected.json", "json"),
    ("coco/expected.json", "json"),
    ("torchscript/graphs.json", "json"),
    ("torch_export/graphs.json", "json"),
    ("mlir/counts.json", "json"),
    // The pictures that annotations are of.
    ("coco/annotations/panoptic_val/one.png", "png"),
    ("coco/val/one.png", "png"),
    ("coco/val/two.png", "png"),
    ("labelme/pond.png", "png"),
    // What others refer to: raw data of a data set, the pixels behind a picture, a log beside a database.
    ("hdf5/layouts_raw.bin", "bytes"),
    ("fits/compressed_floats.raw", "gzip"),
    ("fits/compressed_integers.raw", "gzip"),
    ("fits/compressed_steps.raw", "gzip"),
    ("sqlite/logged.sqlite-wal", "bytes"),
    ("jpeg/mosaics.raw", "zlib"),
    ("jpeg/samples_12_grey.raw", "zlib"),
    ("jpeg/samples_12_rgb.raw", "zlib"),
    // The keys and the files of records, a schema of messages.
    ("recordio/detection.idx", "text"),
    ("recordio/images.idx", "text"),
    ("recordio/images.lst", "text"),
    ("recordio/labels.idx", "text"),
    ("tfrecord/person.desc", "bytes"),
    ("tfrecord/person.proto", "text"),
    // The parameters beside a symbol.
    ("mxnet_symbol/net-0000.params", "mxnet_params"),
    // The values of constants.
    ("openvino/branches.bin", "bytes"),
    ("openvino/old.bin", "bytes"),
    ("openvino/small.bin", "bytes"),
    // Models of Keras in HDF5.
    ("keras/functional.h5", "hdf5"),
    ("keras/functional.weights.h5", "hdf5"),
    ("joblib/side.pkl_01.npy", "npy"),
    // Values, one after the other.
    ("shelve/dumb.dat", "pickle"),
    // An archive that is a data set.
    ("tar/webdataset.tar", "webdataset"),
];

/// Fixtures in which a part is not to be read, on purpose: what is said of it is in the golden files.
const PARTLY: [&str; 21] = [
    // Pixels of a syntax that there is not; sound in containers whose packets are not decoded.
    "dicom/unknown_syntax.dcm",
    "mpegts/mpeg2_mp2.ts",
    // A module of its code is an empty file.
    "torchscript/quantised.pt",
    "bzip2/empty.bz2",
    "gzip/empty.gz",
    "lz4/empty.lz4",
    "xz/empty.xz",
    "zlib/empty.zz",
    "zstd/empty.zst",
    "gguf/split_part_missing",
    "hdf5/layouts.h5",
    "hdf5/links.h5",
    "hdf5/links_target.h5",
    "n5/cases.n5",
    "pytorch_sharded/shard_missing",
    "safetensors/sharded_shard_missing",
    "tfrecord_set/shards",
    "webdataset_set/missing",
    "torch_distributed/piece_missing",
    "zarr/v3_types.zarr.zip",
    "zip/encrypted.zip",
];

/// Whether a document is of a format, or a compressed file or an archive that has one.
fn is_of(document: &Document, path: &str, id: &str) -> bool {
    let inner = document.root.formats.last().map(|format| format.id);
    document.format.id == id || inner == Some(id) || OTHERS.contains(&(path, document.format.id))
}

#[test]
fn every_good_fixture_is_recognised_and_reads() {
    let mut wrong = Vec::new();
    for format in gander::formats::FORMATS {
        let folder = root().join(format.id);
        if !folder.is_dir() {
            continue;
        }
        let mut paths = Vec::new();
        documents(&folder, &mut paths);
        assert!(!paths.is_empty(), "no fixtures in {}", folder.display());
        for path in &paths {
            let name = path.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
            let document = gander::open(&Task::new(), path, &Options::default()).unwrap();
            if !is_of(&document, &name, format.id) {
                wrong.push(format!("{name}: it opens as {}", document.format.id));
            }
            let errors = read_all(&document).unwrap_or_else(|error| vec![error]);
            let expected = PARTLY.contains(&name.as_str());
            let is_wrong = |e: &&Error| !expected || e.kind() == ErrorKind::Bug;
            wrong.extend(errors.iter().filter(is_wrong).map(|error| format!("{name}: {error}")));
            if expected && errors.is_empty() {
                wrong.push(format!("{name}: all of it can be read"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// A generator of its own, so that the same flips are made every time.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n.max(1)
    }
}

/// Whatever the bytes: a tree or an error that is neither a panic nor our own mistake. Else what was wrong.
pub(crate) fn survives(name: &str, bytes: Vec<u8>, what: &str) -> Option<String> {
    let source = Source::memory(name, bytes);
    let task = Task::new();
    let outcome = gander::formats::open_source(&task, &source, &Options::default());
    let errors = match outcome {
        Ok(document) => read_all(&document).unwrap_or_else(|error| vec![error]),
        Err(error) => vec![error],
    };
    errors.iter().find(|e| e.kind() == ErrorKind::Bug).map(|error| format!("{name}, {what}: {error}"))
}

/// Damages every file in each of the ways that `damaged` gives, on all cores.
fn each_damaged(malformed: bool, damaged: impl Fn(Vec<u8>) -> Vec<(String, Vec<u8>)> + Sync) {
    let mut paths = Vec::new();
    files(&root(), malformed, &mut paths);
    let wrong: Vec<String> = paths
        .par_iter()
        .flat_map_iter(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let mut bytes = Vec::new();
            std::io::Read::read_to_end(&mut std::fs::File::open(path).unwrap(), &mut bytes).unwrap();
            damaged(bytes).into_iter().filter_map(move |(what, bytes)| survives(&name, bytes, &what))
        })
        .collect();
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn truncated_anywhere() {
    each_damaged(true, |bytes| {
        let mut cuts: Vec<usize> = (1..=37).map(|i| bytes.len() * i / 38).collect();
        cuts.dedup();
        cuts.into_iter().map(|cut| (format!("cut at {cut}"), bytes[..cut].to_vec())).collect()
    });
}

/// 200 times a file: one bit, or ten; headers are hit more often.
#[test]
fn bits_flipped_anywhere() {
    each_damaged(false, |bytes| {
        let mut random = Random(bytes.len() as u64);
        let mut round = |round: usize| {
            let mut damaged = bytes.clone();
            for _ in 0..if round.is_multiple_of(2) { 1 } else { 10 } {
                let reach = if random.below(2) == 0 { damaged.len().min(256) } else { damaged.len() };
                if let Some(byte) = damaged.get_mut(random.below(reach)) {
                    *byte ^= 1 << random.below(8);
                }
            }
            (format!("round {round}"), damaged)
        };
        (0..200).map(&mut round).collect()
    });
}
