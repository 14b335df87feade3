use super::*;
use crate::bytes::error::ErrorKind;
use crate::bytes::task::Task;
use crate::data::content::Content;
use crate::data::content::array::read;
use crate::data::format::Options;
use crate::data::open::Document;
use crate::data::region::Region;
use crate::formats::array::testing::{array, node, texts};
use std::path::Path;

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/mat/");

fn opened(name: &str) -> Result<Document> {
    crate::open(&Task::new(), Path::new(&format!("{FIXTURES}{name}.mat")), &Options::default())
}

#[test]
fn packed_or_not_the_same_variables_are_read() {
    for name in ["v5", "v7"] {
        let file = opened(name).unwrap();
        assert!(file.root.problem.is_none() && file.root.child_count() == Some(21), "{name}");
        let doubles = array(&file, "doubles");
        assert_eq!(doubles.shape(), [2, 3, 4]);
        assert_eq!(texts(&*doubles, "1, 1:, ::3"), ["16.0", "19.0", "20.0", "23.0"]);
        assert_eq!(texts(&*array(&file, "singles"), ":"), ["0.1", "nan", "inf", "-0.0"]);
        assert_eq!(texts(&*array(&file, "complex"), "1"), ["-0.0-0.5j", "3.0+0.0j"]);
        assert_eq!(array(&file, "complex_single").dtype().to_string(), "complex64");
        assert_eq!(texts(&*array(&file, "text"), ":"), ["Größe 東京"]);
        assert_eq!(texts(&*array(&file, "rows"), ":"), ["abc", "de ", "  f"]);
        assert_eq!(texts(&*array(&file, "uint64"), "0, 2"), ["18446744073709551615"]);
        assert_eq!(texts(&*array(&file, "int64"), "0, 0"), ["-9223372036854775808"]);
    }
}

#[test]
fn cells_and_structs_have_matlabs_paths() {
    let file = opened("v7").unwrap();
    assert_eq!(texts(&*array(&file, "cell{1,2}"), ":"), ["text"]);
    assert_eq!(texts(&*array(&file, "cell{2,1}"), "0, 1:"), ["1", "2"]);
    assert_eq!(array(&file, "cell{2,2}").shape(), [0, 0]);
    assert_eq!(texts(&*array(&file, "one.inner.name"), ":"), ["deep"]);
    assert_eq!(texts(&*array(&file, "structs(3).name"), ":"), ["row 2"]);
    assert_eq!(array(&file, "structs(3).value").shape(), [1, 3]);
    assert!(file.root.find(&Task::new(), "structs(4)").unwrap().is_none());
}

#[test]
fn sparse_matrices_are_shown_with_their_zeros() {
    let file = opened("v7").unwrap();
    let sparse = array(&file, "sparse");
    assert_eq!(sparse.shape(), [4, 3]);
    assert_eq!(texts(&*sparse, "1:, 0:2"), ["2.0", "0.0", "0.0", "0.0", "0.0", "4.0"]);
    assert_eq!(texts(&*sparse, "::3, 1"), ["1.5", "4.0"]);
    assert_eq!(texts(&*array(&file, "sparse.data"), ":").len(), 4);
    assert_eq!(array(&file, "sparse_complex").dtype().to_string(), "complex128");
    assert_eq!(texts(&*array(&opened("by_hand").unwrap(), "bits"), ":, 0"), ["true", "false", "false"]);
}

#[test]
fn what_other_writers_make() {
    let file = opened("by_hand").unwrap();
    assert!(file.root.problem.is_none());
    assert_eq!(texts(&*array(&file, "narrow"), ":"), ["1.0", "3.0", "2.0", "200.0"]);
    assert_eq!(texts(&*array(&file, "utf8"), ":"), ["aé東z"]);
    assert_eq!(texts(&*array(&file, "utf16"), ":"), ["x🪿"]);
    assert_eq!(array(&file, "true").dtype().to_string(), "bool");
    assert_eq!(node(&file, "shared").remarks, ["global"]);
    assert_eq!(node(&file, "today").reader[0].1.to_string(), "datetime");
    assert_eq!(texts(&*array(&file, "handle.function"), ":"), ["@(x) x"]);
    assert_eq!(texts(&*array(&file, "old.a (2)"), ":"), ["@(x) x"]);
    assert_eq!(array(&file, "holes{1}").shape(), [0, 0]);
    let packed = opened("packed").unwrap();
    assert_eq!(texts(&*array(&packed, "narrow"), "1"), ["2.0", "200.0"]);
    assert_eq!(texts(&*array(&packed, "holes{2}"), ":"), ["1.0"]);
    let big = opened("big_endian").unwrap();
    assert_eq!(texts(&*array(&big, "big"), ":"), ["1.0", "-2.5", "1e300"]);
    assert_eq!(texts(&*array(&big, "word"), ":"), ["Grüße"]);
}

#[test]
fn version_4() {
    let file = opened("v4").unwrap();
    assert_eq!(texts(&*array(&file, "a"), "1"), ["3.0", "4.0", "5.0"]);
    assert_eq!(texts(&*array(&file, "text"), ":"), ["words"]);
    assert_eq!(texts(&*array(&file, "z"), ":"), ["1.0+2.0j"]);
    let big = opened("v4_big_endian").unwrap();
    assert_eq!(texts(&*array(&big, "big"), "0, 1:"), ["2.0-2.0j", "3.0-3.0j"]);
}

#[test]
fn every_malformed_file_says_so() {
    let task = Task::new();
    for entry in std::fs::read_dir(format!("{FIXTURES}malformed")).unwrap().map(|e| e.unwrap()) {
        let name = entry.file_name().to_string_lossy().into_owned();
        let document = match crate::open(&task, &entry.path(), &Options::default()) {
            Err(error) => {
                assert!(matches!(error.kind(), ErrorKind::Malformed | ErrorKind::Limit), "{error}");
                continue;
            }
            Ok(document) => document,
        };
        let mut said = document.broken_promise;
        crate::data::open::walk(&task, &document.root, "", usize::MAX, &mut |node, _, _| {
            said |= node.problem.is_some();
            if let Some(Content::Array(array)) = &node.content {
                said |= read(&**array, &task, &Region::all(array.shape())).is_err();
            }
            Ok(true)
        })
        .unwrap();
        assert!(said, "{name}");
    }
}
