use super::*;
use crate::data::content::Content;
use crate::data::content::array::read;
use crate::data::open::Document;
use crate::data::region::{Region, Span};
use arrow::array::AsArray;
use std::sync::Arc;

fn path(name: &str) -> String {
    format!("{}/fixtures/tf_checkpoint/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn opened(name: &str) -> Document {
    crate::open(&Task::new(), Path::new(&path(name)), &Options::default()).unwrap()
}

fn find(document: &Document, path: &str) -> Arc<Node> {
    document.root.find(&Task::new(), path).unwrap().unwrap_or_else(|| panic!("{path} is not there"))
}

fn array(document: &Document, path: &str) -> Arc<dyn crate::data::content::Array> {
    let node = find(document, path);
    let Some(Content::Array(array)) = &node.content else { panic!("{path} is no array: {:?}", node.problem) };
    array.clone()
}

fn bytes(document: &Document, path: &str) -> Vec<u8> {
    let array = array(document, path);
    read(array.as_ref(), &Task::new(), &Region::all(array.shape())).unwrap()
}

fn floats(values: impl IntoIterator<Item = f32>) -> Vec<u8> {
    values.into_iter().flat_map(f32::to_le_bytes).collect()
}

const W: &str = "model/w/.ATTRIBUTES/VARIABLE_VALUE";

#[test]
fn any_file_and_the_folder_are_the_whole() {
    for name in ["", "/ckpt-2.index", "/ckpt-2.data-00000-of-00001", "/checkpoint"] {
        let document = opened(&format!("manager{name}"));
        assert_eq!(document.format.id, "tf_checkpoint", "{name}");
        assert_eq!(bytes(&document, W), floats((0..12).map(|n| n as f32 + 2.0)), "{name}");
        assert_eq!(bytes(&document, "step/.ATTRIBUTES/VARIABLE_VALUE"), 2i64.to_le_bytes());
        assert_eq!(array(&document, "model/half/.ATTRIBUTES/VARIABLE_VALUE").dtype().to_string(), "bfloat16");
        assert_eq!(find(&document, "checkpointed objects/model/w").label, "variable");
    }
    let folder = opened("manager");
    let other = find(&folder, "other checkpoints/ckpt-1").resolved(&Task::new()).unwrap();
    assert!(other.find(&Task::new(), W).unwrap().is_some());
}

#[test]
fn texts_read_as_their_layout_is() {
    let words = array(&opened("manager"), "model/words/.ATTRIBUTES/VARIABLE_VALUE");
    let column = words.column(&Task::new(), &Region(vec![Span::range(1, 2)])).unwrap();
    let texts: Vec<&str> = column.as_string::<i32>().iter().flatten().collect();
    assert_eq!((words.dtype().to_string().as_str(), texts), ("str", vec!["two", ""]));
}

#[test]
fn parts_of_variables_are_joined() {
    for name in ["graph", "first_version/old.ckpt-7"] {
        let document = opened(name);
        assert_eq!(array(&document, "parted").shape(), [7, 2]);
        assert_eq!(bytes(&document, "parted"), floats((0..14).map(|n| n as f32)), "{name}");
        let part = Region(vec![Span { start: 1, count: 3, step: 2 }, Span::range(1, 1)]);
        let read = read(array(&document, "parted").as_ref(), &Task::new(), &part).unwrap();
        assert_eq!(read, floats([3.0, 7.0, 11.0]));
        assert_eq!(bytes(&document, "scope/a"), (0..6i32).flat_map(i32::to_le_bytes).collect::<Vec<u8>>());
        assert_eq!(
            bytes(&document, "b"),
            (0..4).flat_map(|n| f64::from(n).to_le_bytes()).collect::<Vec<u8>>()
        );
        assert_eq!(array(&document, "texts").shape(), [2]);
    }
}

#[test]
fn a_graph_beside_it_stands_at_the_root() {
    for name in ["graph", "graph/model.ckpt-7.meta"] {
        let document = opened(name);
        let Some(Content::Graph(graph)) = &document.root.content else { panic!("{name} has no graph") };
        let weights: Vec<&str> = graph.values().iter().filter_map(|value| value.weight.as_deref()).collect();
        assert!(weights.contains(&"scope/a"), "{name}: {weights:?}");
        assert_eq!(bytes(&document, "b").len(), 32);
    }
}

#[test]
fn values_lie_in_several_files() {
    let document = opened("shards");
    assert_eq!(bytes(&document, "one"), floats([0.0, 1.0, 2.0, 3.0]));
    assert_eq!(bytes(&document, "two"), [0, 0, 1, 0, 2, 0]);
}

#[test]
fn what_is_broken_leaves_the_rest() {
    let cut = opened("malformed/values_cut");
    assert!(find(&cut, W).problem.is_some() || cut.root.problem.is_some());
    let absent = opened("malformed/values_absent/m.index");
    assert!(absent.root.problem.as_ref().unwrap().message().contains("files of values"));
    assert!(find(&absent, W).problem.is_some());
    for name in ["malformed/checksum_wrong/m.index", "malformed/footer_wrong/m.index"] {
        match crate::open(&Task::new(), Path::new(&path(name)), &Options::default()) {
            Ok(document) => assert!(document.root.problem.is_some(), "{name}"),
            Err(error) => assert!(!error.message().is_empty()),
        }
    }
    let old = opened("malformed/first_version.ckpt");
    let read = |name: &str| {
        let array = array(&old, name);
        read(array.as_ref(), &Task::new(), &Region::all(array.shape()))
    };
    assert!(old.root.problem.is_some() || ["parted", "b", "scope/a"].iter().any(|name| read(name).is_err()));
}
