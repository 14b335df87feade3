use super::*;
use crate::data::content::array::read as values_of;
use crate::data::content::graph::{Attribute, Graph};
use crate::data::format::Options;
use crate::data::open::Document;
use crate::data::region::Region;
use std::path::Path;

fn opened(name: &str) -> Document {
    let path = format!("{}/fixtures/openvino/{name}.xml", env!("CARGO_MANIFEST_DIR"));
    crate::open(&Task::new(), Path::new(&path), &Options::default()).unwrap()
}

fn graph(document: &Document) -> Arc<Graph> {
    let Some(Content::Graph(graph)) = &document.root.content else { panic!("no graph") };
    graph.clone()
}

#[test]
fn layers_are_nodes_and_constants_weights() {
    let document = opened("small");
    assert_eq!((document.format.id, document.root.problem.is_none()), ("openvino", true));
    let graph = graph(&document);
    let image = graph.value(graph.inputs[0]).unwrap();
    assert_eq!(
        (image.name.as_ref(), image.dtype.as_deref(), image.shape_text().as_deref()),
        ("image", Some("float32"), Some("[?, 1, 4, 4]"))
    );
    assert_eq!((graph.inputs.len(), graph.outputs.len()), (1, 1));
    let convolution = &graph.nodes()[0];
    assert_eq!((convolution.operator.as_ref(), convolution.group.as_ref()), ("Convolution", "net"));
    assert_eq!(convolution.attributes[0], ("strides".into(), Attribute::Ints(vec![1, 1])));
    let kernel = graph.value(convolution.inputs[1].value.unwrap()).unwrap();
    assert_eq!((kernel.weight.as_deref(), kernel.elements), (Some("net.conv.weight"), Some(18)));
    let node = document.root.find(&Task::new(), "net.conv.weight").unwrap().unwrap();
    let Some(Content::Array(array)) = &node.content else { panic!("no array: {:?}", node.problem) };
    let bytes = values_of(array.as_ref(), &Task::new(), &Region::all(array.shape())).unwrap();
    assert_eq!((array.shape(), &bytes[4..8]), (&[2, 1, 3, 3][..], &1f32.to_le_bytes()[..]));
    let split = graph.nodes().iter().find(|node| node.operator.as_ref() == "Split").unwrap();
    assert_eq!(split.outputs.len(), 3);
    let sum = graph.nodes().iter().position(|node| node.name.as_ref() == "net/sum").unwrap();
    let edges = graph.edges().filter(|edge| edge.to == Some(sum as u32)).count();
    assert_eq!(edges, 2);
}

#[test]
fn branches_are_graphs_of_their_own() {
    let document = opened("branches");
    let graph = graph(&document);
    let choice = graph.nodes().iter().find(|node| node.operator.as_ref() == "If").unwrap();
    let names: Vec<&str> = choice.subgraphs.iter().map(|(name, _)| name.as_ref()).collect();
    assert_eq!(names, ["then_body", "else_body"]);
    let inner = &choice.subgraphs[1].1;
    let weight = inner.values().iter().find_map(|value| value.weight.clone()).unwrap();
    let node = document.root.find(&Task::new(), &weight).unwrap().unwrap();
    let Some(Content::Array(array)) = &node.content else { panic!("no array: {:?}", node.problem) };
    let bytes = values_of(array.as_ref(), &Task::new(), &Region::all(array.shape())).unwrap();
    assert_eq!(bytes, (-1f32).to_le_bytes());
}

#[test]
fn blobs_of_early_versions_are_weights() {
    let document = opened("old");
    let graph = graph(&document);
    let names: Vec<String> = graph.nodes()[0].inputs.iter().map(|port| port.name.to_string()).collect();
    assert_eq!(names, ["", "weights", "biases"]);
    assert_eq!(graph.parameters(&graph.nodes()[0]), 8);
    assert!(document.root.find(&Task::new(), "fc.biases").unwrap().unwrap().content.is_some());
}

#[test]
fn what_is_wrong_is_said_and_the_rest_is_shown() {
    let problem = |name: &str| opened(&format!("malformed/{name}")).root.problem.as_ref().map(Error::message);
    assert!(problem("cut").unwrap().contains("line"));
    assert!(problem("edge_from_nowhere").unwrap().contains("begins at no port"));
    assert!(problem("no_layers").unwrap().contains("no layers"));
    for name in ["short", "size_wrong"] {
        let document = opened(&format!("malformed/{name}"));
        let node = document.root.find(&Task::new(), "net.conv.weight").unwrap().unwrap();
        assert!(node.problem.is_some() && !graph(&document).nodes().is_empty(), "{name}");
    }
    let document = opened("malformed/no_values");
    assert!(document.root.remarks[0].contains("no_values.bin"));
    assert!(document.root.find(&Task::new(), "net.fc.weight").unwrap().unwrap().content.is_none());
}
