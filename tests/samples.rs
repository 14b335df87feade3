//! Writers of samples: random tables are written, opened again and equal; shards; what is refused.

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, Float32Array, Int64Array, ListArray, RecordBatch, StringArray,
};
use arrow::datatypes::{DataType, Field, Float32Type, Int64Type, Schema};
use gander::Task;
use gander::convert::{self, Consent, Item, Selection, Target};
use gander::data::content::Content;
use gander::data::content::table::{MemoryTable, Table};
use gander::data::format::Options;
use gander::data::media::{self, MediaKind, Payload, Place, features};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// A sample: payload, label, weight, caption, numbers.
#[derive(Clone, Debug, PartialEq)]
struct Sample {
    payload: Vec<u8>,
    label: i64,
    weight: f32,
    caption: Option<String>,
    numbers: Vec<i64>,
}

fn samples(most: usize) -> impl Strategy<Value = BTreeMap<String, Sample>> {
    let payload = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..40),
        // Pages of their own, and parts that look like heads of records.
        (0usize..9000).prop_map(|len| [b"\x0a\x23\xd7\xce".repeat(len / 4), vec![7; len % 4]].concat()),
    ];
    let sample = (
        payload,
        0..10_i64,
        any::<f32>(),
        prop::option::of("[ -~é]{0,12}"),
        prop::collection::vec(any::<i64>(), 0..4),
    );
    let sample = sample.prop_map(|(payload, label, weight, caption, numbers)| {
        // A first byte that is no text and no other file.
        let payload = [&[0xf5, 0x00][..], &payload].concat();
        Sample { payload, label, weight, caption, numbers }
    });
    prop::collection::btree_map("[a-z0-9][a-z0-9_]{0,19}", sample, 1..most)
}

/// A table of samples, in the order of `seed`.
fn item(samples: &BTreeMap<String, Sample>, seed: u64) -> Item {
    let mut rows: Vec<(&String, &Sample)> = samples.iter().collect();
    rows.sort_by_key(|(key, _)| {
        key.bytes().fold(seed, |sum, byte| sum.wrapping_mul(0x100_0000_01b3) ^ u64::from(byte))
    });
    let key: ArrayRef = Arc::new(rows.iter().map(|(key, _)| Some(key.as_str())).collect::<StringArray>());
    let image: ArrayRef =
        Arc::new(rows.iter().map(|(_, row)| Some(&row.payload[..])).collect::<BinaryArray>());
    let label: ArrayRef = Arc::new(rows.iter().map(|(_, row)| Some(row.label)).collect::<Int64Array>());
    let weight: ArrayRef = Arc::new(rows.iter().map(|(_, row)| Some(row.weight)).collect::<Float32Array>());
    let caption: ArrayRef =
        Arc::new(rows.iter().map(|(_, row)| row.caption.as_deref()).collect::<StringArray>());
    let numbers = rows.iter().map(|(_, row)| Some(row.numbers.iter().copied().map(Some)));
    let numbers: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(numbers));
    let columns = [
        ("key", key),
        ("image", image),
        ("label", label),
        ("weight", weight),
        ("caption", caption),
        ("numbers", numbers),
    ];
    let batch =
        RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true))).unwrap();
    of_batch(batch)
}

fn of_batch(batch: RecordBatch) -> Item {
    Item::new("table", Content::Table(Arc::new(MemoryTable::new(batch))), Default::default())
}

fn written(item: &Item, id: &str, set: &[(&str, &str)], out: &Path) -> gander::Result<()> {
    let mut options = Options::default();
    set.iter().for_each(|(name, value)| options.set(name, *value));
    let plan = convert::plan(
        std::slice::from_ref(item),
        Target::by_id(id).unwrap(),
        &options,
        &Selection::default(),
    )?;
    plan.run(&Task::new(), out, Consent { overwrite: true, lose: true }).map(drop)
}

/// All of the table that a path opens as.
fn opened(path: &Path) -> RecordBatch {
    let task = Task::new();
    let document = gander::open(&task, path, &Options::default()).unwrap();
    let table = table_of(&document.root).unwrap_or_else(|| panic!("{} is no table", path.display()));
    let columns: Vec<usize> = (0..table.schema().fields().len()).collect();
    let rows = table.count(&task).unwrap();
    table.read(&task, 0..rows, &columns).unwrap()
}

fn table_of(node: &Arc<gander::data::node::Node>) -> Option<Arc<dyn Table>> {
    match &node.content {
        Some(Content::Table(table)) => Some(table.clone()),
        _ => None,
    }
}

fn texts(batch: &RecordBatch, column: &str) -> Vec<Option<String>> {
    let array = batch.column_by_name(column).unwrap_or_else(|| panic!("{column}: {:?}", batch.schema()));
    (0..array.len()).map(|row| bytes_of(array.as_ref(), row).map(|b| String::from_utf8(b).unwrap())).collect()
}

/// A cell of texts or bytes.
fn bytes_of(array: &dyn Array, row: usize) -> Option<Vec<u8>> {
    if array.is_null(row) {
        return None;
    }
    Some(match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().value(row).as_bytes().to_vec(),
        DataType::Binary => array.as_binary::<i32>().value(row).to_vec(),
        DataType::Null => return None,
        other => panic!("{other}"),
    })
}

fn integers(batch: &RecordBatch, column: &str) -> Vec<i64> {
    batch.column_by_name(column).unwrap().as_primitive::<Int64Type>().values().to_vec()
}

fn same_floats(a: &[f32], b: &[f32]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a == b || a.is_nan() && b.is_nan())
}

/// Samples in the order of the rows of a table.
fn ordered<'a>(samples: &'a BTreeMap<String, Sample>, keys: &[Option<String>]) -> Vec<&'a Sample> {
    assert_eq!(keys.len(), samples.len());
    keys.iter().map(|key| &samples[key.as_ref().unwrap()]).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn examples_come_back(all in samples(40), seed: u64, compression in prop::sample::select(vec!["none", "gzip", "zlib"])) {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("a.tfrecord");
        written(&item(&all, seed), "tfrecord", &[("compression", compression)], &out).unwrap();
        let back = opened(&out);
        let rows = ordered(&all, &texts(&back, "key"));
        prop_assert_eq!(integers(&back, "label"), rows.iter().map(|row| row.label).collect::<Vec<_>>());
        for (n, row) in rows.iter().enumerate() {
            prop_assert_eq!(bytes_of(back.column_by_name("image").unwrap().as_ref(), n), Some(row.payload.clone()));
            if let Some(captions) = back.column_by_name("caption") {
                prop_assert_eq!(bytes_of(captions.as_ref(), n), row.caption.clone().map(String::into_bytes));
            }
            let numbers = back.column_by_name("numbers").unwrap();
            match numbers.data_type() {
                DataType::List(_) => {
                    let list = numbers.as_list::<i32>().value(n);
                    prop_assert_eq!(list.as_primitive::<Int64Type>().values().to_vec(), row.numbers.clone());
                }
                // All have one.
                _ => prop_assert_eq!(vec![numbers.as_primitive::<Int64Type>().value(n)], row.numbers.clone()),
            }
        }
        let weights = back.column_by_name("weight").unwrap().as_primitive::<Float32Type>().values().to_vec();
        prop_assert!(same_floats(&weights, &rows.iter().map(|row| row.weight).collect::<Vec<_>>()));
    }

    #[test]
    fn a_store_has_its_entries_in_order(all in samples(400), seed: u64, folder_too: bool) {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("a.mdb");
        let set = [("entries", "payload"), ("folder", if folder_too { "yes" } else { "no" })];
        written(&item(&all, seed), "lmdb", &set, &out).unwrap();
        prop_assert_eq!(out.is_dir(), folder_too);
        let back = opened(&out);
        let keys: Vec<String> = texts(&back, "key").into_iter().map(Option::unwrap).collect();
        prop_assert_eq!(&keys, &all.keys().cloned().collect::<Vec<_>>());
        let values = back.column_by_name("value").unwrap();
        for (n, row) in all.values().enumerate() {
            prop_assert_eq!(bytes_of(values.as_ref(), n), Some(row.payload.clone()));
        }
    }

    #[test]
    fn records_of_pictures_come_back(all in samples(40), seed: u64) {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("a.rec");
        written(&item(&all, seed), "recordio", &[], &out).unwrap();
        let back = opened(&out);
        // A key that is a number is that of the index.
        let keys = texts(&back, "key");
        let files = back.column_by_name("file").map(|_| texts(&back, "file"));
        let keys: Vec<Option<String>> = keys
            .into_iter()
            .enumerate()
            .map(|(n, key)| files.as_ref().and_then(|files| files[n].clone()).or(key))
            .collect();
        let rows = ordered(&all, &keys);
        let labels = back.column_by_name("label").unwrap().as_primitive::<Float32Type>().values().to_vec();
        prop_assert_eq!(labels, rows.iter().map(|row| row.label as f32).collect::<Vec<_>>());
        for (n, row) in rows.iter().enumerate() {
            prop_assert_eq!(bytes_of(back.column_by_name("payload").unwrap().as_ref(), n), Some(row.payload.clone()));
        }
    }

    #[test]
    fn maps_come_back(all in samples(40), seed: u64, layout in prop::sample::select(vec!["stream", "array"])) {
        // The only map of a stream is an object.
        prop_assume!(all.len() > 1);
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("a.msgpack");
        written(&item(&all, seed), "msgpack", &[("layout", layout)], &out).unwrap();
        let back = opened(&out);
        let rows = ordered(&all, &texts(&back, "key"));
        prop_assert_eq!(integers(&back, "label"), rows.iter().map(|row| row.label).collect::<Vec<_>>());
        for (n, row) in rows.iter().enumerate() {
            prop_assert_eq!(bytes_of(back.column_by_name("image").unwrap().as_ref(), n), Some(row.payload.clone()));
            let caption = back.column_by_name("caption").unwrap();
            prop_assert_eq!(bytes_of(caption.as_ref(), n), row.caption.clone().map(String::into_bytes));
        }
    }

    #[test]
    fn betons_come_back(all in samples(30), seed: u64) {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("a.beton");
        written(&item(&all, seed), "ffcv", &[("page_size", "2097152")], &out).unwrap();
        let back = opened(&out);
        let rows = ordered(&all, &texts(&back, "key"));
        prop_assert_eq!(integers(&back, "label"), rows.iter().map(|row| row.label).collect::<Vec<_>>());
        let captions = texts(&back, "caption");
        for (n, row) in rows.iter().enumerate() {
            prop_assert_eq!(bytes_of(back.column_by_name("image").unwrap().as_ref(), n), Some(row.payload.clone()));
            prop_assert_eq!(captions[n].clone(), row.caption.clone());
        }
    }

    #[test]
    fn shards_have_all_rows_in_order(all in samples(60), seed: u64, how in 0..3_usize, count in 1..5_u64) {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("train");
        let (name, value) = [("shards", count), ("shard_rows", count * 5), ("shard_bytes", count * 4000)][how];
        let item = item(&all, seed);
        written(&item, "tfrecord", &[(name, &value.to_string())], &out).unwrap();
        let mut names: Vec<_> = std::fs::read_dir(&out).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        let total = names.len();
        let expected: Vec<String> = (0..total).map(|n| format!("train-{n:05}-of-{total:05}.tfrecord")).collect();
        prop_assert_eq!(&names, &expected);
        if how == 0 {
            prop_assert_eq!(total as u64, count);
        }
        let mut keys = Vec::new();
        for name in names {
            let path = out.join(name);
            if std::fs::metadata(&path).unwrap().len() > 0 {
                let rows = texts(&opened(&path), "key");
                prop_assert!(how != 1 || rows.len() as u64 <= value);
                keys.extend(rows);
            }
        }
        let Content::Table(table) = &item.content else { panic!() };
        let batch = table.read(&Task::new(), 0..all.len() as u64, &[0]).unwrap();
        prop_assert_eq!(keys, texts(&batch, "key"));
    }

    #[test]
    fn members_of_archives_are_the_cells(all in samples(30), seed: u64, compression in prop::sample::select(vec!["none", "gzip", "zstd"])) {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("a.tar");
        written(&item(&all, seed), "webdataset", &[("compression", compression)], &out).unwrap();
        let mut options = Options::default();
        options.set("format", "tar");
        let task = Task::new();
        if compression != "none" {
            // Compression is around the archive.
            return Ok(());
        }
        let document = gander::open(&task, &out, &options).unwrap();
        let mut members = BTreeMap::new();
        gander::data::open::walk(&task, &document.root, "", 4, &mut |node, _, level| {
            if level > 0 && node.span.is_some() {
                members.insert(node.name.clone(), ());
            }
            Ok(true)
        }).unwrap();
        let bytes = std::fs::read(&out).unwrap();
        for (key, row) in &all {
            let at = |name: &str| {
                let header = bytes.chunks(512).position(|block| block.starts_with(format!("{key}.{name}\0").as_bytes()));
                header.map(|block| (block + 1) * 512)
            };
            let start = at("bin").unwrap();
            prop_assert_eq!(&bytes[start..start + row.payload.len()], &row.payload[..]);
            prop_assert_eq!(bytes[at("cls").unwrap()], b'0' + row.label as u8);
            prop_assert_eq!(at("caption.txt").is_some(), row.caption.is_some());
        }
    }
}

#[test]
fn a_store_of_many_entries_has_branches_of_two_levels() {
    let folder = tempfile::tempdir().unwrap();
    // So many that the last page of branches would have one child, for some of the counts.
    for count in [1_i64, 2, 100, 20_000, 20_100, 20_200, 60_000] {
        let key: ArrayRef = Arc::new((0..count).map(|n| Some(format!("{n:0100}"))).collect::<StringArray>());
        let value: ArrayRef = Arc::new((0..count).map(|n| Some(n.to_string())).collect::<StringArray>());
        let item = of_batch(RecordBatch::try_from_iter([("key", key), ("value", value)]).unwrap());
        let out = folder.path().join("a.lmdb");
        written(&item, "lmdb", &[], &out).unwrap();
        let back = opened(&out);
        assert_eq!(back.num_rows() as i64, count);
        let values = texts(&back, "value");
        assert!(values.iter().zip(0..).all(|(value, n)| *value == Some(i64::to_string(&n))), "{count}");
    }
}

/// A table with pictures, of classes with names.
fn pictures() -> Item {
    let jpeg = |n: u8| {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/jpeg");
        let mut files: Vec<_> = std::fs::read_dir(path).unwrap().map(|e| e.unwrap().path()).collect();
        files.retain(|path| path.extension().is_some_and(|e| e == "jpg"));
        files.sort();
        std::fs::read(&files[usize::from(n) % files.len()]).unwrap()
    };
    let image: ArrayRef = Arc::new((0..6).map(|n| Some(jpeg(n))).collect::<BinaryArray>());
    let label: ArrayRef = Arc::new(Int64Array::from(vec![0, 1, 2, 0, 1, 2]));
    let key: ArrayRef = Arc::new((0..6).map(|n| Some(format!("p{n}"))).collect::<StringArray>());
    let split: ArrayRef =
        Arc::new((0..6).map(|n| Some(if n < 4 { "train" } else { "test" })).collect::<StringArray>());
    let said =
        r#"{"info": {"features": {"label": {"names": ["cat", "dog", "goose"], "_type": "ClassLabel"}}}}"#;
    let fields = [
        ("key", DataType::Utf8),
        ("image", DataType::Binary),
        ("label", DataType::Int64),
        ("split", DataType::Utf8),
    ];
    let fields: Vec<Field> = fields.into_iter().map(|(name, kind)| Field::new(name, kind, true)).collect();
    let schema = Schema::new_with_metadata(fields, [("huggingface".to_owned(), said.to_owned())].into());
    of_batch(RecordBatch::try_new(Arc::new(schema), vec![key, image, label, split]).unwrap())
}

#[test]
fn pictures_keep_keys_classes_and_splits() {
    let folder = tempfile::tempdir().unwrap();
    let item = pictures();
    let Content::Table(table) = &item.content else { panic!() };
    let from = table.read(&Task::new(), 0..6, &[0, 1, 2, 3]).unwrap();
    let payload = |n: usize| bytes_of(from.column(1).as_ref(), n).unwrap();

    let out = folder.path().join("a.hf.parquet");
    written(&item, "parquet-hf", &[], &out).unwrap();
    let document = gander::open(&Task::new(), &out, &Options::default()).unwrap();
    let table = table_of(&document.root).unwrap();
    let said = features::of(table.schema(), &document.root.attributes);
    assert_eq!(features::named(&said, "image"), Some(&features::Feature::Image));
    assert_eq!(
        features::named(&said, "label").and_then(|label| label.names()).unwrap().join(" "),
        "cat dog goose"
    );
    let back = opened(&out);
    let bytes = back.column_by_name("image").unwrap().as_struct().column_by_name("bytes").unwrap().clone();
    assert!((0..6).all(|n| bytes_of(bytes.as_ref(), n).unwrap() == payload(n)));

    for (id, name) in [("tfrecord", "a.tfrecord"), ("msgpack", "a.msgpack"), ("ffcv", "a.beton")] {
        let out = folder.path().join(name);
        written(&item, id, &[], &out).unwrap();
        let back = opened(&out);
        let all = |name: &str| {
            let all = texts(&back, name).into_iter().map(Option::unwrap);
            all.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(all("label/text"), "cat dog goose cat dog goose", "{id}");
        assert_eq!(all("split"), "train train train train test test", "{id}");
        assert_eq!(all("key"), "p0 p1 p2 p3 p4 p5", "{id}");
        let images = back.column_by_name("image").unwrap();
        assert!((0..6).all(|n| bytes_of(images.as_ref(), n).unwrap() == payload(n)), "{id}");
    }

    let out = folder.path().join("pictures");
    written(&item, "image-folder", &[], &out).unwrap();
    for (n, place) in
        ["train/cat/p0", "train/dog/p1", "train/goose/p2", "train/cat/p3", "test/dog/p4", "test/goose/p5"]
            .iter()
            .enumerate()
    {
        assert_eq!(std::fs::read(out.join(format!("{place}.jpg"))).unwrap(), payload(n), "{place}");
    }
}

#[test]
fn what_a_container_has_no_place_for_is_refused_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let one = |name: &str, array: ArrayRef| {
        let key: ArrayRef =
            Arc::new((0..array.len()).map(|n| Some(format!("k{n}"))).collect::<StringArray>());
        of_batch(RecordBatch::try_from_iter_with_nullable([("key", key, true), (name, array, true)]).unwrap())
    };
    let bytes = |all: Vec<Option<&[u8]>>| -> ArrayRef { Arc::new(BinaryArray::from(all)) };
    let same: ArrayRef = Arc::new(StringArray::from(vec!["a", "a"]));
    let twice = of_batch(
        RecordBatch::try_from_iter([("key", same), ("value", bytes(vec![Some(b"1"), Some(b"2")]))]).unwrap(),
    );
    let large: ArrayRef = Arc::new(arrow::array::UInt64Array::from(vec![1, u64::MAX]));
    let long: ArrayRef = Arc::new(StringArray::from(vec!["x".repeat(600)]));
    let long =
        of_batch(RecordBatch::try_from_iter([("key", long), ("value", bytes(vec![Some(b"1")]))]).unwrap());
    let strange = one("label", Arc::new(StringArray::from(vec!["../up"])));
    let Content::Table(table) = &strange.content else { panic!() };
    let keys = table.read(&Task::new(), 0..1, &[0, 1]).unwrap();
    let strange = of_batch(
        RecordBatch::try_from_iter([
            ("label", keys.column(1).clone()),
            ("image", bytes(vec![Some(b"\xff\xd8\xff")])),
        ])
        .unwrap(),
    );
    let big = vec![1_u8; 3 << 20];
    let cases: [(&str, &Item, &str); 9] = [
        ("tfrecord", &one("n", large), "too large for int64"),
        ("webdataset", &twice, "have the key"),
        ("lmdb", &twice, "the same key"),
        ("lmdb", &long, "the longest of LMDB"),
        ("recordio", &one("image", bytes(vec![Some(b"1"), None])), "no payload"),
        ("recordio", &one("n", Arc::new(Int64Array::from(vec![1]))), "no column of bytes"),
        ("ffcv", &one("n", Arc::new(Int64Array::from(vec![Some(1), None]))), "is null"),
        ("ffcv", &one("image", bytes(vec![Some(&big)])), "page_size"),
        ("image-folder", &strange, "cannot be the name of a folder"),
    ];
    for (n, (id, item, what)) in cases.into_iter().enumerate() {
        let out = folder.path().join(format!("{n}.{}", Target::by_id(id).unwrap().extensions[0]));
        let set: &[(&str, &str)] = if id == "ffcv" { &[("page_size", "2097152")] } else { &[] };
        let error = written(item, id, set, &out).unwrap_err();
        assert!(error.to_string().contains(what), "{id}: {error}");
        assert_eq!(error.kind(), gander::ErrorKind::Unsupported, "{id}: {error}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn an_index_lies_beside_its_file_or_neither_does() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("a.rec");
    written(&pictures(), "recordio", &[], &out).unwrap();
    let index = std::fs::read_to_string(folder.path().join("a.idx")).unwrap();
    assert_eq!(index.lines().count(), 6);
    let list = std::fs::read_to_string(folder.path().join("a.lst")).unwrap();
    assert!(list.starts_with("0\t0.0\tp0\n") || list.starts_with("0\t0\tp0\n"), "{list}");
    let cancelled = Task::new();
    cancelled.cancel();
    let other = folder.path().join("b.rec");
    let item = pictures();
    let plan = convert::plan(
        &[item],
        Target::by_id("recordio").unwrap(),
        &Options::default(),
        &Selection::default(),
    );
    assert!(plan.unwrap().run(&cancelled, &other, Consent { lose: true, overwrite: false }).is_err());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3);
}

/// The pictures of a path and their classes, as the gallery shows them, by their bytes.
fn pictures_in(path: &Path) -> BTreeMap<Vec<u8>, Option<String>> {
    let task = Task::new();
    let document = gander::open(&task, path, &Options::default()).unwrap();
    let table = table_of(&document.root).unwrap_or_else(|| panic!("{} is no table", path.display()));
    let place = Place::of_node(&document.source, "", &document.root);
    let attributes = &document.root.attributes;
    let found = media::find(&task, gander::formats::ALL, table.as_ref(), attributes, &place).unwrap();
    let pictures = found.columns.iter().find(|column| column.kind == MediaKind::Image);
    let pictures =
        pictures.unwrap_or_else(|| panic!("{}: no pictures in {}", path.display(), table.schema()));
    let label = found.labels.first().unwrap_or_else(|| panic!("{}: no label", path.display()));
    let rows = table.count(&task).unwrap();
    let batch = table.read(&task, 0..rows, &[pictures.column, label.column]).unwrap();
    let picture =
        |row: usize| match media::payload::payload(&task, pictures, batch.column(0).as_ref(), row, &place)
            .unwrap()
        {
            Some(Payload::File(source)) => {
                source.read(&task, 0..source.len(&task).unwrap()).unwrap().to_vec()
            }
            _ => panic!("{}: row {row} is no picture", path.display()),
        };
    let class = |row: usize| label.text(batch.column(1).as_ref(), row);
    (0..batch.num_rows()).map(|row| (picture(row), class(row))).collect()
}

#[test]
fn files_that_a_table_names_are_put_in() {
    let folder = tempfile::tempdir().unwrap();
    let fixture = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/image_folder/classes"));
    let manifest = folder.path().join("list.csv");
    let mut lines = "file,label\n".to_owned();
    for name in ["duck/1.png", "goose/2.png", "goose/10.png"] {
        let class = name.split('/').next().unwrap();
        std::fs::create_dir_all(folder.path().join(class)).unwrap();
        std::fs::copy(fixture.join(name), folder.path().join(name)).unwrap();
        lines.push_str(&format!("{name},{class}\n"));
    }
    std::fs::write(&manifest, lines).unwrap();
    let expected = pictures_in(fixture);
    assert_eq!(expected.values().flatten().collect::<Vec<_>>().len(), 3);
    assert_eq!(pictures_in(&manifest), expected);
    let task = Task::new();
    let out = |id: &str| folder.path().join(format!("out.{}", Target::by_id(id).unwrap().extensions[0]));
    let ids = ["webdataset", "tfrecord", "ffcv", "parquet-hf", "lmdb", "image-folder"];
    for source in [
        fixture,
        &manifest,
        &out("webdataset"),
        &out("tfrecord"),
        &out("parquet-hf"),
        &out("lmdb"),
        &out("ffcv"),
    ] {
        for id in ids {
            let document = gander::open(&task, source, &Options::default()).unwrap();
            let items = convert::gather(&task, &document.source, &document.root, "").unwrap();
            assert_eq!(items[0].files.is_some(), source == fixture || source == manifest);
            let (out, back) = (folder.path().join(format!("made.{id}")), out(id));
            written(&items[0], id, &[], &out).unwrap_or_else(|e| panic!("{} as {id}: {e}", source.display()));
            assert_eq!(pictures_in(&out), expected, "{} as {id}", source.display());
            let _ = if back.is_dir() { std::fs::remove_dir_all(&back) } else { std::fs::remove_file(&back) };
            std::fs::rename(out, back).unwrap();
        }
    }
    // Or they stay paths; and one that is not there stops it, and leaves nothing.
    let document = gander::open(&task, &manifest, &Options::default()).unwrap();
    let items = convert::gather(&task, &document.source, &document.root, "").unwrap();
    let paths = folder.path().join("paths.tfrecord");
    written(&items[0], "tfrecord", &[("files", "paths")], &paths).unwrap();
    assert_eq!(texts(&opened(&paths), "file")[0].as_deref(), Some("duck/1.png"));
    std::fs::remove_file(folder.path().join("duck/1.png")).unwrap();
    let gone = folder.path().join("gone.tfrecord");
    let error = written(&items[0], "tfrecord", &[], &gone).unwrap_err().to_string();
    assert!(error.contains("duck/1.png") && error.contains("not there"), "{error}");
    assert!(!gone.exists());
}

/// The classes of a folder are counted in their order where a container has numbers only.
#[test]
fn classes_become_numbers_where_labels_are_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let fixture = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/image_folder/classes"));
    let task = Task::new();
    let document = gander::open(&task, fixture, &Options::default()).unwrap();
    let items = convert::gather(&task, &document.source, &document.root, "").unwrap();
    let records = folder.path().join("a.rec");
    written(&items[0], "recordio", &[], &records).unwrap();
    let names = ["duck", "goose"];
    let expected: Vec<f64> = texts(&opened(fixture), "label")
        .iter()
        .map(|label| names.iter().position(|name| label.as_deref() == Some(*name)).unwrap() as f64)
        .collect();
    let labels = |path: &Path| -> Vec<f64> {
        let batch = opened(path);
        let numbers =
            arrow::compute::cast(batch.column_by_name("label").unwrap(), &DataType::Float64).unwrap();
        numbers.as_primitive::<arrow::datatypes::Float64Type>().values().to_vec()
    };
    assert_eq!(labels(&records), expected);
    let store = folder.path().join("a.lmdb");
    written(&items[0], "lmdb", &[("entries", "datum")], &store).unwrap();
    // In the order of keys, which is another one.
    assert_eq!(labels(&store).iter().sum::<f64>(), expected.iter().sum::<f64>());
}

/// Bytes within lists and structs are written whole, however they are written.
#[test]
fn nested_bytes_are_not_cut() {
    let folder = tempfile::tempdir().unwrap();
    let long: Vec<u8> = (0..200).collect();
    let mut lists = arrow::array::ListBuilder::new(arrow::array::BinaryBuilder::new());
    lists.values().append_value(&long);
    lists.append(true);
    let lists: ArrayRef = Arc::new(lists.finish());
    let inner = Arc::new(Field::new("bytes", DataType::Binary, true));
    let cells: ArrayRef = Arc::new(BinaryArray::from(vec![&long[..]]));
    let of: ArrayRef = Arc::new(arrow::array::StructArray::from(vec![(inner, cells)]));
    let offsets = arrow::buffer::OffsetBuffer::from_lengths([1]);
    let item = Arc::new(Field::new("item", of.data_type().clone(), true));
    let structs: ArrayRef = Arc::new(ListArray::new(item, offsets, of, None));
    let image: ArrayRef = Arc::new(BinaryArray::from(vec![&b"\xf5\x00picture"[..]]));
    let batch =
        RecordBatch::try_from_iter([("image", image), ("lists", lists), ("structs", structs)]).unwrap();
    let digits: String = long.iter().map(|byte| format!("{byte:02x}")).collect();
    let contains = |bytes: &[u8]| {
        let part = |part: &[u8]| bytes.windows(part.len()).any(|window| window == part);
        part(&long) || part(digits.as_bytes())
    };
    for id in ["tfrecord", "webdataset", "lmdb", "msgpack", "ffcv", "image-folder", "jsonl", "csv", "json"] {
        for column in ["lists", "structs"] {
            let of = batch.project(&[0, batch.schema().index_of(column).unwrap()]).unwrap();
            let out = folder.path().join(format!("{id}.{column}"));
            written(&of_batch(of), id, &[], &out).unwrap_or_else(|e| panic!("{column} as {id}: {e}"));
            let file = if out.is_dir() { out.join("metadata.csv") } else { out };
            assert!(contains(&std::fs::read(file).unwrap()), "{column} as {id}");
        }
    }
}
