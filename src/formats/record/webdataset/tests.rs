use super::*;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::{Rows, Table};
use crate::data::format::Options;
use crate::data::open::Document;
use arrow::array::{Array, AsArray};
use arrow::datatypes::Int64Type;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;

/// A tar of these files, in the order in which they stand.
fn tar(files: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, bytes) in files {
        let mut header = [0_u8; 512];
        header[..name.len()].copy_from_slice(name.as_bytes());
        header[124..135].copy_from_slice(format!("{:011o}", bytes.len()).as_bytes());
        header[156] = b'0';
        header[257..263].copy_from_slice(b"ustar\0");
        header[148..156].fill(b' ');
        let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
        header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        out.extend(header);
        out.extend(bytes);
        out.resize(out.len().next_multiple_of(512), 0);
    }
    out.resize(out.len() + 1024, 0);
    out
}

fn named(files: &[(&str, &str)]) -> Vec<(String, Vec<u8>)> {
    files.iter().map(|(name, bytes)| ((*name).to_owned(), bytes.as_bytes().to_vec())).collect()
}

fn opened(bytes: Vec<u8>) -> Document {
    crate::formats::open_source(&Task::new(), &Source::memory("x.tar", bytes), &Options::default()).unwrap()
}

fn fixture(name: &str) -> Document {
    let path = format!("{}/fixtures/webdataset/{name}", env!("CARGO_MANIFEST_DIR"));
    crate::open(&Task::new(), Path::new(&path), &Options::default()).unwrap()
}

fn set(name: &str) -> Document {
    fixture(&format!("../webdataset_set/{name}"))
}

fn table(document: &Document) -> Arc<dyn Table> {
    crate::data::open::table_of(document).unwrap()
}

/// All cells of a column as texts.
fn column(table: &dyn Table, name: &str) -> Vec<Option<String>> {
    let index = table.schema().index_of(name).unwrap();
    let batch = table.read(&Task::new(), 0..u64::MAX, &[index]).unwrap();
    (0..batch.num_rows()).map(|row| crate::data::cell::shown(batch.column(0), row)).collect()
}

fn texts(values: &[&str]) -> Vec<Option<String>> {
    values.iter().map(|value| Some((*value).to_owned())).collect()
}

#[test]
fn samples_are_rows_and_nodes() {
    let document = fixture("samples.tar");
    assert_eq!((document.format.id, document.remarks.len()), ("webdataset", 0));
    let table = table(&document);
    let names: Vec<&str> = table.schema().fields().iter().map(|field| field.name().as_str()).collect();
    assert_eq!(names, ["key", "cls", "json", "npy", "png", "txt", "seg.png"]);
    assert_eq!(table.rows(), Rows::Exact(6));
    assert_eq!(column(&*table, "cls"), texts(&["0", "1", "2", "0", "1", "2"]));
    assert_eq!(column(&*table, "key")[..2], texts(&["train/000000", "train/000001"]));
    assert_eq!(column(&*table, "txt")[1].as_deref(), Some("caption 1: naïve 東京"));
    assert_eq!(column(&*table, "seg.png").iter().filter(|cell| cell.is_some()).count(), 3);
    let task = Task::new();
    let find = |path: &str| document.root.find(&task, path).unwrap();
    let sample = find("/train/000003").unwrap();
    assert_eq!((sample.label, sample.child_count()), ("sample", Some(5)));
    assert_eq!(find("/train/000003/png").unwrap().kind().word(), "image");
    assert_eq!(find("/train/000000/npy").unwrap().kind().word(), "array");
    assert_eq!(find("/train/000000/json").unwrap().formats[0].id, "json");
    assert!(find("/train/000009").is_none() && find("/train/000003/gif").is_none());
}

#[test]
fn wrappers_and_other_tars_give_the_same() {
    let expected = column(&*table(&fixture("samples.tar")), "json");
    for name in ["samples.tar.gz", "samples.tar.zst", "pax.tar"] {
        assert_eq!(column(&*table(&fixture(name)), "json"), expected, "{name}");
    }
}

#[test]
fn members_that_lie_apart_are_put_together() {
    let document = fixture("apart.tar");
    assert_eq!(document.root.remarks.len(), 1);
    let table = table(&document);
    assert_eq!(table.count(&Task::new()).unwrap(), 4);
    assert_eq!(column(&*table, "cls"), texts(&["3", "2", "1", "0"]));
    let sample = document.root.find(&Task::new(), "/0002").unwrap().unwrap();
    assert_eq!(sample.child_count(), Some(2));
    let statistics = document.root.statistics.as_ref().unwrap().statistics(&Task::new()).unwrap();
    assert_eq!(statistics[0], ("records", 4.into()));
}

#[test]
fn shards_are_one_table() {
    let document = set("shards");
    assert_eq!(document.format.id, "webdataset_set");
    let table = table(&document);
    assert_eq!(table.count(&Task::new()).unwrap(), 7);
    let keys: Vec<String> = (0..7).map(|n| format!("{n:04}")).collect();
    assert_eq!(column(&*table, "key"), keys.into_iter().map(Some).collect::<Vec<_>>());
    // A field that only the last shard has.
    assert_eq!(column(&*table, "txt").iter().filter(|cell| cell.is_some()).count(), 1);
    let two = set("shards/part-{000000..000001}.tar");
    assert_eq!(self::table(&two).count(&Task::new()).unwrap(), 6);
    assert_eq!(two.root.child_count(), Some(2));
}

#[test]
fn what_is_no_data_set_stays_an_archive() {
    for files in [
        &[("src/a.c", "x"), ("src/a.h", "x"), ("src/b.c", "x"), ("src/b.h", "x")][..],
        &[("config.json", "{}"), ("model.safetensors", "x"), ("README.md", "x")],
        &[("a.txt", "x")],
        &[("a", "x"), ("b", "x"), ("c", "x")],
        &[("../a.png", "x"), ("../a.cls", "x")],
    ] {
        assert_eq!(opened(tar(&named(files))).format.id, "tar", "{files:?}");
    }
    let options = Options(BTreeMap::from([("format".to_owned(), "tar".to_owned())]));
    let bytes = tar(&named(&[("a.png", "x"), ("a.cls", "1")]));
    assert_eq!(opened(bytes.clone()).format.id, "webdataset");
    let source = Source::memory("x.tar", bytes);
    assert_eq!(crate::formats::open_source(&Task::new(), &source, &options).unwrap().format.id, "tar");
}

#[test]
fn what_does_not_fit_is_null_and_said() {
    let mut files = Vec::new();
    for n in 0..40 {
        files.push((format!("{n:03}.cls"), if n == 30 { b"dog".to_vec() } else { b"7".to_vec() }));
        files.push((format!("{n:03}.png"), vec![n; 3]));
    }
    // In capitals it is the same field.
    files.push(("040.CLS".to_owned(), b" -5\n".to_vec()));
    files.push(("040.cls".to_owned(), b"6".to_vec()));
    let document = opened(tar(&files));
    let table = table(&document);
    let batch = table.read(&Task::new(), 0..100, &[1]).unwrap();
    let numbers = batch.column(0).as_primitive::<Int64Type>();
    assert!(numbers.is_null(30) && numbers.value(29) == 7 && numbers.value(40) == -5);
    let findings = document.root.findings.as_ref().unwrap();
    let said = [vec![findings.problem().unwrap().message()], findings.remarks()].concat().join("; ");
    assert!(said.contains("030.cls") && said.contains("more than once"), "{said}");
    let twice = document.root.find(&Task::new(), "/040").unwrap().unwrap();
    let names: Vec<String> =
        twice.child_page(&Task::new(), 0..9).unwrap().iter().map(|node| node.name.clone()).collect();
    assert_eq!(names, ["cls", "cls (2)"]);
}

#[test]
fn what_is_cut_off_is_told_and_the_rest_is_there() {
    let document = fixture("malformed/cut_in_member.tar");
    let table = table(&document);
    assert_eq!(table.count(&Task::new()).unwrap(), 4);
    assert_eq!(column(&*table, "cls")[..3], texts(&["0", "1", "2"]));
    assert!(column(&*table, "png").last().unwrap().is_none());
    assert!(document.root.problem_now().unwrap().message().contains("reach beyond the end"));
    let document = fixture("malformed/bad_checksum.tar");
    assert_eq!(self::table(&document).count(&Task::new()).unwrap(), 6);
    assert!(document.root.problem_now().unwrap().message().contains("checksum"));
}

#[test]
fn large_archives_are_indexed_in_pieces() {
    let files: Vec<(String, Vec<u8>)> = (0..80_000_u32)
        .flat_map(|n| {
            [
                (format!("d{}/{n:06}.cls", n % 3), n.to_string().into_bytes()),
                (format!("d{}/{n:06}.bin", n % 3), vec![7; (n % 50) as usize * 8]),
            ]
        })
        .collect();
    let document = opened(tar(&files));
    let table = table(&document);
    assert_eq!(table.count(&Task::new()).unwrap(), 80_000);
    for n in [0_u64, 1, 40_000, 65_537, 79_999] {
        let batch = table.read(&Task::new(), n..n + 1, &[0, 1]).unwrap();
        assert_eq!(batch.column(1).as_primitive::<Int64Type>().value(0) as u64, n);
        assert_eq!(batch.column(0).as_string::<i32>().value(0), format!("d{}/{n:06}", n % 3));
    }
    let find = |path: &str| document.root.find(&Task::new(), path).unwrap();
    assert!(
        find("/d1/079999/cls").is_some() && find("/d2/079999").is_none() && find("/d1/079999/x").is_none()
    );
}

proptest! {
    /// Whatever samples there are, they are told as they were written.
    #[test]
    fn all_that_is_written_is_told(
        samples in prop::collection::vec(
            prop::collection::btree_map("[a-c]{1,2}(\\.png)?", prop::collection::vec(any::<u8>(), 0..700), 1..5), 2..30),
        dirs in any::<bool>(),
    ) {
        let mut files = Vec::new();
        for (n, fields) in samples.iter().enumerate() {
            for (field, bytes) in fields {
                let folder = if dirs { format!("d.{}/", n % 3) } else { String::new() };
                files.push((format!("{folder}{n:04}.{field}"), bytes.clone()));
            }
        }
        let options = Options(BTreeMap::from([("format".to_owned(), "webdataset".to_owned())]));
        let source = Source::memory("x.tar", tar(&files));
        let document = crate::formats::open_source(&Task::new(), &source, &options).unwrap();
        let table = table(&document);
        prop_assert_eq!(table.count(&Task::new()).unwrap(), samples.len() as u64);
        let task = Task::new();
        for (n, fields) in samples.iter().enumerate() {
            let page = document.root.child_page(&task, n as u64..n as u64 + 1).unwrap();
            let sample = page[0].resolved(&task).unwrap();
            let names: Vec<String> = sample.child_page(&task, 0..99).unwrap().iter().map(|node| node.name.clone()).collect();
            prop_assert_eq!(names, fields.keys().cloned().collect::<Vec<_>>());
        }
        for (index, field) in table.schema().fields().iter().enumerate().skip(1) {
            let batch = table.read(&task, 0..u64::MAX, &[index]).unwrap();
            for (n, fields) in samples.iter().enumerate() {
                let column = batch.column(0);
                let Some(bytes) = fields.get(field.name()) else {
                    prop_assert!(column.is_null(n));
                    continue;
                };
                match column.as_binary_opt::<i32>() {
                    Some(all) => prop_assert_eq!(all.value(n), bytes.as_slice()),
                    None => {
                        let text = std::str::from_utf8(bytes).ok();
                        prop_assert_eq!(column.as_string::<i32>().iter().nth(n).unwrap(), text);
                    }
                }
            }
        }
    }

    #[test]
    fn no_bytes_make_it_panic(at in 0usize..40_000, value: u8, cut in 0usize..40_000) {
        let name = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/webdataset/samples.tar");
        let mut bytes = std::fs::read(name).unwrap();
        let len = bytes.len();
        bytes[at % len] = value;
        bytes.truncate(len - cut % len);
        let source = Source::memory("x.tar", bytes);
        if let Ok(document) = crate::formats::open_source(&Task::new(), &source, &Options::default())
            && let Ok(table) = crate::data::open::table_of(&document)
        {
            let count = table.count(&Task::new()).unwrap();
            prop_assert!(count < 100);
            let all: Vec<usize> = (0..table.schema().fields().len()).collect();
            let _ = table.read(&Task::new(), 0..100, &all);
        }
    }
}
