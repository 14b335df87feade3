use super::*;
use crate::bytes::error::ErrorKind;
use crate::data::content::Content;
use crate::data::content::array::read;
use crate::data::format::Options;
use crate::data::open::Document;
use crate::data::region::{Region, Span};
use proptest::prelude::*;
use std::path::Path;

fn path(name: &str) -> String {
    format!("{}/fixtures/mxnet_params/{name}.params", env!("CARGO_MANIFEST_DIR"))
}

fn opened(name: &str) -> Document {
    crate::open(&Task::new(), Path::new(&path(name)), &Options::default()).unwrap()
}

fn array(document: &Document, name: &str) -> Shared {
    let node =
        document.root.find(&Task::new(), name).unwrap().unwrap_or_else(|| panic!("{name} is not there"));
    let Some(Content::Array(array)) = &node.content else { panic!("{name} is no array: {:?}", node.problem) };
    array.clone()
}

fn all(document: &Document, name: &str) -> (String, Vec<u64>, Vec<u8>) {
    let array = array(document, name);
    let bytes = read(array.as_ref(), &Task::new(), &Region::all(array.shape())).unwrap();
    (array.dtype().to_string(), array.shape().to_vec(), bytes)
}

fn floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

#[test]
fn every_type_reads() {
    let document = opened("types");
    assert_eq!(document.format.id, "mxnet_params");
    for kind in ["float32", "float64", "float16", "uint8", "int32", "int8", "int64", "bool"] {
        let (dtype, shape, bytes) = all(&document, &format!("arg:{kind}"));
        assert_eq!((dtype.as_str(), shape.as_slice()), (kind, &[2u64, 3][..]));
        let last: &[u8] = match kind {
            "float32" => &5f32.to_le_bytes(),
            "float64" => &5f64.to_le_bytes(),
            "float16" => &[0x00, 0x45],
            "bool" => &[1],
            _ => &[5],
        };
        assert!(bytes.ends_with(last) || kind.starts_with("int") && bytes.contains(&5), "{kind}: {bytes:?}");
    }
}

#[test]
fn names_make_modules_and_lists_have_numbers() {
    let document = opened("gluon");
    assert_eq!(document.root.child_count(), Some(1));
    assert_eq!(all(&document, "features.2.weight").1, [3, 2]);
    let list = opened("list");
    assert_eq!(all(&list, "0"), ("float32".to_owned(), vec![3], floats(&[0.0, 1.0, 2.0])));
    assert_eq!(all(&list, "1").1, [2, 2]);
    let older = opened("older_versions");
    let want = floats(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    assert_eq!((all(&older, "before").2, all(&older, "first").2), (want.clone(), want));
}

#[test]
fn sparse_arrays_are_whole_and_in_parts() {
    let document = opened("sparse");
    let dense = floats(&[0.0, 1.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.5, 0.0, 0.0, -3.5]);
    assert_eq!(all(&document, "csr"), ("float32".to_owned(), vec![3, 4], dense));
    assert_eq!(all(&document, "csr.data").2, floats(&[1.5, 2.5, -3.5]));
    assert_eq!((all(&document, "csr.indptr").1, all(&document, "csr.indices").1), (vec![4], vec![3]));
    let (_, shape, bytes) = all(&document, "rows");
    let mut want = vec![0.0; 24];
    (want[5], want[16], want[19]) = (1.5, 2.5, -3.5);
    assert_eq!((shape, bytes), (vec![6, 4], floats(&want)));
    let rows = array(&document, "rows");
    let part = Region(vec![Span { start: 1, count: 2, step: 3 }, Span::range(1, 3)]);
    let some = read(rows.as_ref(), &Task::new(), &part).unwrap();
    assert_eq!(some, floats(&[1.5, 0.0, 0.0, 0.0, 0.0, -3.5]));
    assert_eq!(all(&document, "no rows").2, floats(&[0.0; 6]));
}

#[test]
fn shapes_of_numpy_have_scalars() {
    let document = opened("numpy_shapes");
    assert_eq!(all(&document, "scalar"), ("float32".to_owned(), vec![], floats(&[7.5])));
    assert_eq!(all(&document, "empty").1, [0, 3]);
}

#[test]
fn what_is_damaged_ends_in_a_sentence() {
    for (name, want, whole) in [
        ("cut_in_array", "the file ends inside of it", 1),
        ("cut_in_names", "the file ends inside of it", 6),
        ("cut_in_head", "the file ends inside of it", 0),
        ("count_huge", "a list of 18446744073709551615 arrays", 0),
        ("dimensions_many", "255 dimensions", 0),
        ("side_negative", "below zero", 0),
        ("shape_huge", "overflow", 0),
        ("storage_unknown", "storage is of type 9", 0),
        ("type_unknown", "MXNet's type 99", 0),
        ("names_fewer", "", 6),
    ] {
        let opened =
            crate::open(&Task::new(), Path::new(&path(&format!("malformed/{name}"))), &Options::default());
        match opened {
            Err(error) => assert!(whole == 0 && error.message().contains(want), "{name}: {error}"),
            Ok(document) => {
                let said = document.root.problem.as_ref().map(Error::message).unwrap_or_default();
                assert!(said.contains(want) && !said.is_empty() && whole > 0, "{name}: {said}");
                assert!(document.root.child_count() > Some(0), "{name}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn flipped_bytes_end(name in prop::sample::select(vec!["sparse", "gluon", "numpy_shapes"]),
                         flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let mut bytes = std::fs::read(path(name)).unwrap();
        for (at, byte) in flips {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let source = Source::memory("x.params", bytes);
        let Ok(document) = crate::formats::open_source(&Task::new(), &source, &Options::default()) else { return Ok(()) };
        for node in document.root.child_page(&Task::new(), 0..20).unwrap() {
            let Some(Content::Array(array)) = &node.content else { continue };
            if crate::bytes::limits::elements(array.shape()).is_ok_and(|count| count < 10_000)
                && let Err(error) = read(array.as_ref(), &Task::new(), &Region::all(array.shape()))
            {
                prop_assert!(error.kind() != ErrorKind::Bug, "{}", error);
            }
        }
    }
}
