use super::*;
use crate::bytes::task::Task;
use crate::data::content::{Array, Content, array::read};
use crate::data::format::Options;
use crate::data::region::Region;
use arrow::array::{Array as _, AsArray};
use arrow::datatypes::{Int32Type, UInt8Type, UInt16Type};
use std::path::Path;
use std::sync::Arc;

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/n5/");

fn node(file: &str, path: &str) -> Arc<Node> {
    let document = crate::open(&Task::new(), Path::new(&format!("{FIXTURES}{file}")), &Options::default());
    let document = document.unwrap();
    assert_eq!(document.format.id, "n5");
    document.root.find(&Task::new(), path).unwrap().unwrap()
}

fn array(node: &Node) -> Arc<dyn Array> {
    match &node.content {
        Some(Content::Array(array)) => array.clone(),
        _ => panic!("{}: {:?}", node.name, node.problem),
    }
}

/// The elements of `fixtures/n5/make.py`: [9, 7, 5] of u16, slowest first.
fn wave() -> Vec<u8> {
    (0..315u32).flat_map(|i| ((i * i / 4 % 1009) as u16).to_le_bytes()).collect()
}

#[test]
fn every_compression_gives_the_same() {
    for name in ["raw", "gzip", "zlib", "bzip2", "xz", "zstd", "blosc", "lz4java", "lz4bare", "odd"] {
        let array = array(&node("cases.n5", &format!("/codecs/{name}")));
        assert_eq!(array.shape(), [9, 7, 5], "{name}");
        let bytes = read(&*array, &Task::new(), &Region::all(&[9, 7, 5])).unwrap();
        assert_eq!(bytes, wave(), "{name}");
    }
}

#[test]
fn missing_blocks_are_zeros_and_odd_ones_are_said() {
    let sparse = array(&node("cases.n5", "/sparse"));
    assert_eq!(
        read(&*sparse, &Task::new(), &Region::all(&[4, 4])).unwrap(),
        [1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    );
    let layout = sparse.layout(&Task::new()).unwrap();
    assert_eq!((layout.grid, layout.blocks.iter().filter(|b| b.missing).count()), (vec![2, 2], 3));
    let mixed = array(&node("cases.n5", "/mixed"));
    assert_eq!(read(&*mixed, &Task::new(), &Region::parse(":4", &[8]).unwrap().0).unwrap(), b"even");
    let error = read(&*mixed, &Task::new(), &Region::all(&[8])).unwrap_err();
    assert!(error.message().contains("5 values for a block of 4"), "{error}");
    let texts = array(&node("cases.n5", "/texts")).column(&Task::new(), &Region::all(&[3])).unwrap();
    assert_eq!(texts.as_string::<i32>().iter().collect::<Vec<_>>(), [Some("a"), Some(""), Some("ü")]);
    assert_eq!(texts.len(), 3);
}

#[test]
fn blocks_of_variable_length_are_lists() {
    let lists = |path: &str| {
        let node = node("cases.n5", path);
        assert!(node.remarks.iter().any(|remark| remark.contains("variable length")), "{path}");
        let array = array(&node);
        let column = array.column(&Task::new(), &Region::all(array.shape())).unwrap();
        let list = |row: usize| {
            let values = column.as_list::<i32>().value(row);
            values.as_primitive::<Int32Type>().values().to_vec()
        };
        let rows = (0..column.len()).map(|row| column.is_valid(row).then(|| list(row))).collect::<Vec<_>>();
        (array.shape().to_vec(), rows)
    };
    // Slowest first: two blocks along y, three along x.
    let (shape, rows) = lists("/lists");
    assert_eq!(shape, [2, 3]);
    let expected = [
        Some(vec![]),
        Some(vec![10, 11, 12]),
        Some(vec![20]),
        Some(vec![1]),
        Some(vec![11, 12, 13, 14]),
        None,
    ];
    assert_eq!(rows, expected);
    let (_, rows) = lists("/later");
    assert_eq!(rows, [None, Some(vec![10, 11, 12]), Some(vec![20]), None, Some(vec![11, 12, 13, 14]), None]);
    let hello = array(&node("cases.n5", "/variable"));
    assert_eq!(hello.shape(), [1]);
    let bytes = hello.column(&Task::new(), &Region::all(&[1])).unwrap();
    assert_eq!(bytes.as_list::<i32>().value(0).as_primitive::<UInt8Type>().values(), b"hello");
    // One block that is broken leaves the other.
    let damaged = array(&node("malformed/damaged.n5", "/list"));
    let part = |text: &str| damaged.column(&Task::new(), &Region::parse(text, &[2]).unwrap().0);
    assert_eq!(part(":1").unwrap().as_list::<i32>().value(0).as_primitive::<UInt16Type>().values(), &[7]);
    assert!(part("1:").unwrap_err().message().contains("3 values need 6"));
}

#[test]
fn files_beside_the_blocks_are_none() {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, bytes: &[u8]| {
        let path = folder.path().join("x.n5").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    };
    put("attributes.json", br#"{"n5":"2.0.0"}"#);
    let dataset = br#"{"dimensions":[8],"blockSize":[2],"dataType":"uint8","compression":{"type":"raw"}}"#;
    put("a/attributes.json", dataset);
    for name in ["1", "+2", "03"] {
        put(&format!("a/{name}"), &[0, 0, 0, 1, 0, 0, 0, 2, 7, 8]);
    }
    let document = crate::open(&Task::new(), &folder.path().join("x.n5"), &Options::default()).unwrap();
    let array = array(&document.root.find(&Task::new(), "/a").unwrap().unwrap());
    let stored = array.stored(&Task::new()).unwrap().unwrap();
    let regions: Vec<_> = stored.regions.iter().map(|region| region.0[0].start).collect();
    assert_eq!(regions, [2]);
    assert_eq!(read(&*array, &Task::new(), &Region::all(&[8])).unwrap(), [0, 0, 7, 8, 0, 0, 0, 0]);
}

#[test]
fn pyramids_have_axes() {
    let level = array(&node("cases.n5", "/pyramid/s1"));
    let axes = level.facts().axes;
    let told: Vec<_> = axes.iter().map(|a| (a.name.as_str(), a.unit.as_deref(), a.regular)).collect();
    assert_eq!(told, [("y", Some("nm"), Some((10.0, 40.0))), ("x", Some("nm"), Some((2.0, 8.0)))]);
}

#[test]
fn damage_is_said_and_hides_nothing() {
    let broken = |path: &str| {
        let node = node("malformed/damaged.n5", path);
        let error = match &node.content {
            Some(Content::Array(array)) => {
                read(&**array, &Task::new(), &Region::all(array.shape())).unwrap_err()
            }
            _ => node.problem.clone().unwrap(),
        };
        error.message()
    };
    for (path, said) in [
        ("/mode", "mode 9"),
        ("/cut", "ends early"),
        ("/short", "needs 16"),
        ("/huge", "limit"),
        ("/rank", "blocks have 1"),
        ("/dtype", "uint128"),
        ("/json", "no JSON"),
        ("/negative", "dimensions holds -3"),
        ("/codec", "compression \"jpeg\""),
    ] {
        let message = broken(path);
        assert!(message.contains(said), "{path}: {message}");
    }
    let good = array(&node("malformed/damaged.n5", "/good"));
    assert_eq!(read(&*good, &Task::new(), &Region::all(&[2])).unwrap(), [5, 6]);
}
