use super::*;
use crate::data::content::array::read;
use crate::data::format::Options;
use crate::engines::pickle::Verdict;
use std::path::Path;

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/bloscpack/");

fn opened(name: &str) -> Node {
    let path = format!("{FIXTURES}{name}.blp");
    (*crate::open(&Task::new(), Path::new(&path), &Options::default()).unwrap().root).clone()
}

fn values(node: &Node) -> Vec<u8> {
    let Some(Content::Array(array)) = &node.content else { panic!("no array") };
    read(&**array, &Task::new(), &Region::all(array.shape())).unwrap()
}

/// Element `i` of the fixtures' arrays.
fn wave(i: u32) -> u32 {
    (i * i / 16) % 1009
}

#[test]
fn arrays_of_each_order() {
    let expected: Vec<u8> = (0..600).flat_map(|i| (wave(i) as f32).to_le_bytes()).collect();
    for name in ["c", "big", "nooffsets", "zlibmeta", "sha1"] {
        let node = opened(name);
        assert_eq!(values(&node), expected, "{name}");
        assert!(node.problem.is_none(), "{name}: {:?}", node.problem);
    }
    // [20, 30] in Fortran order: the file has the columns one after the other.
    let node = opened("fortran");
    assert_eq!(values(&node), expected);
    let Some(Content::Array(array)) = &node.content else { panic!() };
    assert_eq!(
        (array.shape(), array.facts().codecs),
        (&[20, 30][..], vec!["shuffle".to_owned(), "lz4".to_owned()])
    );
    assert_eq!(array.layout(&Task::new()).unwrap().blocks.len(), 3);
}

#[test]
fn records_and_plain_files() {
    let node = opened("records");
    let Some(Content::Array(array)) = &node.content else { panic!("{:?}", node.problem) };
    assert_eq!(array.dtype().to_string(), "struct<a: int16, b: float64>");
    let bytes = values(&node);
    assert_eq!(bytes[10..20], [[1u8, 0].as_slice(), &0.5f64.to_le_bytes()].concat());
    let node = opened("text.csv");
    assert!(matches!(&node.content, Some(Content::Table(table)) if table.schema().fields().len() == 2));
}

#[test]
fn what_is_there_of_a_cut_file_is_read() {
    let node = opened("malformed/cut");
    assert_eq!(node.problem.unwrap().message(), "malformed file: 1 of 3 chunks are there; it may be cut off");
    let Some(Content::Array(array)) = node.content else { panic!() };
    let part = Region(vec![Span::range(0, 5), Span::all(30)]);
    assert_eq!(read(&*array, &Task::new(), &part).unwrap().len(), 600);
    assert!(read(&*array, &Task::new(), &Region::all(&[20, 30])).is_err());
    let error = opened("malformed/flipped");
    let Some(Content::Array(array)) = error.content else { panic!() };
    let error = read(&*array, &Task::new(), &Region::all(&[20, 30])).unwrap_err();
    assert!(error.message().contains("adler32 checksum does not match"), "{error}");
}

#[test]
fn pickles_are_shown_and_never_loaded() {
    let task = Task::new();
    let node = |name: &str| {
        let document =
            crate::open(&task, Path::new(&format!("{FIXTURES}{name}")), &Options::default()).unwrap();
        assert_eq!(document.format.id, "bloscpack", "{name}");
        document.root
    };
    let array = node("array.blosc");
    let expected: Vec<u8> = (0..600).flat_map(|i| (wave(i) as f32).to_le_bytes()).collect();
    assert_eq!(values(&array), expected);
    assert_eq!(array.security.as_ref().unwrap().verdict, Verdict::Safe);
    let objects = node("objects.blosc");
    let value = |path: &str| objects.find(&task, path).unwrap().unwrap().value.clone();
    assert_eq!(
        (objects.label, value("/name").as_deref(), value("/counts/2").as_deref()),
        ("dict", Some("goose"), Some("None"))
    );
    assert_eq!(values(&objects.find(&task, "/wave").unwrap().unwrap()), expected[..240]);
    let list = node("pickle.blp");
    assert_eq!((list.label, list.child_count()), ("list", Some(3)));
    let evil = node("malformed/evil.blosc");
    assert_eq!(evil.security.as_ref().unwrap().verdict, Verdict::Dangerous);
    assert!(evil.problem.as_ref().unwrap().message().contains("os.system"));
}
