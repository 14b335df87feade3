use super::*;
use crate::data::content::array::read;
use crate::data::content::graph::{Attribute, Graph};
use crate::data::format::Options;
use crate::data::open::Document;
use crate::data::region::Region;
use std::path::Path;

fn opened(name: &str) -> Document {
    let path = format!("{}/fixtures/tf_graphdef/{name}", env!("CARGO_MANIFEST_DIR"));
    crate::open(&Task::new(), Path::new(&path), &Options::default()).unwrap()
}

fn graph_of(node: &Node) -> Arc<Graph> {
    let Some(Content::Graph(graph)) = &node.content else {
        panic!("{} has no graph: {:?}", node.name, node.problem)
    };
    graph.clone()
}

fn find(document: &Document, path: &str) -> Arc<Node> {
    document.root.find(&Task::new(), path).unwrap().unwrap_or_else(|| panic!("{path} is not there"))
}

fn bytes(document: &Document, path: &str) -> (String, Vec<u64>, Vec<u8>) {
    let node = find(document, path);
    let Some(Content::Array(array)) = &node.content else { panic!("{path} is no array: {:?}", node.problem) };
    let bytes = read(array.as_ref(), &Task::new(), &Region::all(array.shape())).unwrap();
    (array.dtype().to_string(), array.shape().to_vec(), bytes)
}

fn floats(values: impl IntoIterator<Item = f32>) -> Vec<u8> {
    values.into_iter().flat_map(f32::to_le_bytes).collect()
}

#[test]
fn a_frozen_graph_has_its_weights() {
    for name in ["frozen.pb", "frozen.pbtxt"] {
        let document = opened(name);
        assert_eq!(document.format.id, "tf_graphdef", "{name}");
        let graph = graph_of(&document.root);
        let out = graph.nodes().iter().find(|node| &*node.name == "dense/out").unwrap();
        assert_eq!((&*out.operator, &*out.group), ("BiasAdd", "dense"));
        let bias = graph.value(out.inputs[1].value.unwrap()).unwrap();
        assert_eq!((bias.weight.as_deref(), bias.elements), (Some("dense/bias"), Some(3)));
        assert_eq!(
            bytes(&document, "dense/kernel"),
            ("float32".to_owned(), vec![4, 3], floats((0..12).map(|n| n as f32)))
        );
        let inputs: Vec<&str> = graph.inputs.iter().map(|id| &*graph.value(*id).unwrap().name).collect();
        assert_eq!(inputs, ["x"]);
        let outputs: Vec<&str> = graph.outputs.iter().map(|id| &*graph.value(*id).unwrap().name).collect();
        assert!(outputs.contains(&"y"), "{outputs:?}");
    }
}

#[test]
fn outputs_have_numbers_and_controls_are_marked() {
    let graph = graph_of(&opened("frozen.pb").root);
    let number = |name: &str| graph.nodes().iter().position(|node| &*node.name == name).unwrap();
    let y = &graph.nodes()[number("y")];
    let names: Vec<&str> =
        y.inputs.iter().map(|port| &*graph.value(port.value.unwrap()).unwrap().name).collect();
    assert_eq!(&names[..2], ["parts:2", "parts"]);
    let axis = graph.nodes()[number("y/axis")].inputs.last().unwrap();
    assert!(axis.is_control && graph.value(axis.value.unwrap()).unwrap().name.starts_with('^'));
    for port in &y.inputs[..2] {
        assert_eq!(graph.producer(port.value.unwrap()), Some(number("parts")));
    }
    assert!(graph.producer(y.inputs.last().unwrap().value.unwrap()).is_some());
}

#[test]
fn constants_of_every_kind_read() {
    let document = opened("constants.pb");
    for kind in
        ["float16", "bfloat16", "float64", "int8", "uint16", "int64", "bool", "complex64", "float8_e4m3fn"]
    {
        let (dtype, shape, values) = bytes(&document, &format!("kinds/{kind}"));
        assert_eq!((dtype.as_str(), shape.as_slice()), (kind, &[2u64, 3][..]));
        assert!(values.iter().any(|byte| *byte != 0), "{kind}");
    }
    assert_eq!(bytes(&document, "kinds/int64").2, (0..6i64).flat_map(i64::to_le_bytes).collect::<Vec<u8>>());
    assert_eq!(bytes(&document, "splat").2, floats(std::iter::repeat_n(7.5, 10_000)));
    assert_eq!(bytes(&document, "empty").1, [0, 3]);
    let Some(Content::Array(texts)) = find(&document, "texts").content.clone() else { panic!("texts") };
    let column = texts.column(&Task::new(), &Region::all(texts.shape())).unwrap();
    assert_eq!((texts.dtype().to_string(), column.len()), ("str".to_owned(), 3));
}

#[test]
fn functions_are_graphs_that_nodes_refer_to() {
    for name in ["functions.pb", "functions.pbtxt"] {
        let document = opened(name);
        let graph = graph_of(&document.root);
        let mut seen = 0;
        for node in graph.nodes().iter().filter(|node| node.function.is_some()) {
            let inner = find(&document, node.function.as_deref().unwrap());
            seen += graph_of(&inner).nodes().len();
            if &*node.operator == "StatelessWhile" {
                let names: Vec<&str> = node.subgraphs.iter().map(|(name, _)| &**name).collect();
                assert_eq!(names, ["body", "cond"]);
                assert!(
                    node.attributes
                        .iter()
                        .any(|(name, value)| &**name == "body" && matches!(value, Attribute::Graph(_)))
                );
            }
        }
        assert!(seen >= 10, "{name}: {seen}");
        let functions = find(&document, "functions");
        for n in 0..functions.child_count().unwrap() {
            let function = functions.child_page(&Task::new(), n..n + 1).unwrap()[0].clone();
            let graph = graph_of(&function);
            for value in &graph.outputs {
                assert!(
                    graph.producer(*value).is_some() || graph.inputs.contains(value),
                    "{}",
                    function.name
                );
            }
            for weight in graph.values().iter().filter_map(|value| value.weight.as_deref()) {
                assert!(matches!(find(&document, weight).content, Some(Content::Array(_))), "{weight}");
            }
        }
    }
}

#[test]
fn a_meta_graph_has_signatures() {
    for name in ["model.meta", "model.pbtxt"] {
        let document = opened(name);
        assert_eq!(document.format.id, "tf_graphdef");
        let graph = graph_of(&document.root);
        let names = |ids: &[crate::data::content::graph::ValueId]| -> Vec<String> {
            ids.iter().map(|id| graph.value(*id).unwrap().name.to_string()).collect()
        };
        assert_eq!(
            (names(&graph.inputs), names(&graph.outputs)),
            (vec!["x".to_owned()], vec!["y".to_owned()])
        );
        let attribute = |name: &str| {
            document.root.attributes.iter().find(|(known, _)| known == name).unwrap().1.to_string()
        };
        assert_eq!(attribute("tags"), "[\"train\"]");
        assert!(attribute("signatures").contains("tensorflow/serving/predict"));
    }
}

#[test]
fn what_is_broken_leaves_the_rest() {
    for (name, word) in [
        ("malformed/cut.pb", "middle of a field"),
        ("malformed/cut.pbtxt", "inside of"),
        ("malformed/text_wrong.pbtxt", "type"),
    ] {
        let document = opened(name);
        assert!(!graph_of(&document.root).nodes().is_empty(), "{name}");
        let problem = document.root.problem.as_ref().unwrap_or_else(|| panic!("{name} has no problem"));
        assert!(problem.message().contains(word), "{name}: {problem}");
    }
    let document = opened("malformed/shape_huge.pb");
    assert!(find(&document, "dense/kernel").problem.is_some());
    assert_eq!(bytes(&document, "dense/bias").1, [3]);
    let graph = graph_of(&opened("malformed/function_in_itself.pb").root);
    assert!(graph.nodes().iter().any(|node| node.function.is_some()));
}

#[test]
fn other_messages_are_none() {
    let head = |name: &str, bytes: &[u8]| {
        let source = Source::memory(name, bytes.to_vec());
        Head::read(&Task::new(), &source, crate::formats::ALL).unwrap()
    };
    assert_eq!(sniff(&head("a.bin", b"\x0a\x0a\x0a\x01w\x12\x05Const")), Match::Yes);
    assert_eq!(sniff(&head("a.bin", b"\x0a\x05\x0a\x03abc")), Match::No);
    assert_eq!(sniff(&head("a.pb", b"\x0a\x05\x0a\x03abc")), Match::Maybe);
    assert_eq!(sniff(&head("labels.pbtxt", b"item {\n id: 1\n}\n")), Match::No);
    assert_eq!(sniff(&head("graph.txt", b"node {\n  name: \"a\"\n  op: \"NoOp\"\n}\n")), Match::Yes);
}
