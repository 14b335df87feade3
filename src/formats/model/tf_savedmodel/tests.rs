use super::*;
use crate::data::content::Content;
use crate::data::content::array::read;
use crate::data::format::Options;
use crate::data::open::Document;
use crate::data::region::Region;
use std::path::Path;
use std::sync::Arc;

fn opened(name: &str) -> Document {
    let path = format!("{}/fixtures/tf_savedmodel/{name}", env!("CARGO_MANIFEST_DIR"));
    crate::open(&Task::new(), Path::new(&path), &Options::default()).unwrap()
}

fn find(document: &Document, path: &str) -> Arc<Node> {
    document.root.find(&Task::new(), path).unwrap().unwrap_or_else(|| panic!("{path} is not there"))
}

#[test]
fn folder_and_file_are_the_same_model() {
    for name in ["module", "module/saved_model.pb"] {
        let document = opened(name);
        assert_eq!(document.format.id, "tf_savedmodel");
        let Some(Content::Graph(graph)) = &document.root.content else { panic!("{name} has no graph") };
        // A handle stands for the variable of the checkpoint that it is of.
        let weights: Vec<&str> = graph.values().iter().filter_map(|value| value.weight.as_deref()).collect();
        let w = "layers/1/w/.ATTRIBUTES/VARIABLE_VALUE";
        let node = find(&document, w);
        let Some(Content::Array(array)) = &node.content else { panic!("{w}: {:?}", node.problem) };
        let values = read(array.as_ref(), &Task::new(), &Region::all(array.shape())).unwrap();
        assert_eq!(values, [1f32, 2.0, 3.0, 4.0].into_iter().flat_map(f32::to_le_bytes).collect::<Vec<u8>>());
        assert!(weights.contains(&"step/.ATTRIBUTES/VARIABLE_VALUE"), "{weights:?}");
        for weight in weights {
            assert!(matches!(find(&document, weight).content, Some(Content::Array(_))), "{weight}");
        }
        let attribute = |name: &str| document.root.attributes.iter().find(|(known, _)| known == name);
        assert!(attribute("fingerprint").is_some() && attribute("tensorflow_version").is_some());
        assert!(attribute("signatures").unwrap().1.to_string().contains("serving_default_x:0"));
        assert_eq!(find(&document, "object graph/layers/1/w").label, "variable");
        assert_eq!(find(&document, "object graph/first").label, "object");
        assert!(graph.nodes().iter().any(|node| node.function.is_some()));
    }
}

#[test]
fn every_meta_graph_is_there() {
    let document = opened("tags");
    let other = find(&document, "meta graphs/1 train");
    assert!(matches!(other.content, Some(Content::Graph(_))));
    assert!(matches!(find(&document, "w").content, Some(Content::Array(_))));
    assert_eq!(opened("text/saved_model.pbtxt").format.id, "tf_savedmodel");
    assert!(matches!(opened("text").root.content, Some(Content::Graph(_))));
}

#[test]
fn what_is_broken_leaves_the_rest() {
    let document = opened("malformed/variables_broken");
    assert!(document.root.problem.is_some() && document.root.content.is_some());
    assert!(opened("malformed/variables_absent").root.content.is_some());
    let path = format!("{}/fixtures/tf_savedmodel/malformed/cut", env!("CARGO_MANIFEST_DIR"));
    let error = crate::open(&Task::new(), Path::new(&path), &Options::default()).map(|_| ()).unwrap_err();
    assert!(error.message().contains("middle of a field"), "{error}");
}
