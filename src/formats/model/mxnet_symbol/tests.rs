use super::*;
use crate::data::content::graph::{Attribute, Graph};
use crate::data::open::Document;
use std::path::Path;

fn opened(name: &str) -> Document {
    let path = format!("{}/fixtures/mxnet_symbol/{name}", env!("CARGO_MANIFEST_DIR"));
    crate::open(&Task::new(), Path::new(&path), &Options::default()).unwrap()
}

fn graph(document: &Document) -> Arc<Graph> {
    let Some(Content::Graph(graph)) = &document.root.content else { panic!("no graph") };
    graph.clone()
}

#[test]
fn parameters_beside_it_are_weights() {
    let document = opened("net-symbol.json");
    assert_eq!(document.format.id, "mxnet_symbol");
    let graph = graph(&document);
    let operators: Vec<_> = graph.nodes().iter().map(|node| node.operator.as_ref()).collect();
    assert_eq!(
        operators,
        ["Convolution", "Activation", "SliceChannel", "elemwise_add", "FullyConnected", "SoftmaxOutput"]
    );
    let names = |ids: &[crate::data::content::graph::ValueId]| {
        ids.iter().map(|id| graph.value(*id).unwrap().name.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(
        (names(&graph.inputs), names(&graph.outputs)),
        (vec!["data".into(), "softmax_label".into()], vec!["softmax".to_owned()])
    );
    let first = &graph.nodes()[0];
    assert_eq!(first.attributes[0], ("kernel".into(), Attribute::Ints(vec![3, 3])));
    let weight = graph.value(first.inputs[1].value.unwrap()).unwrap();
    assert_eq!((weight.shape_text().as_deref(), weight.elements), (Some("[4, 1, 3, 3]"), Some(36)));
    let found = document.root.find(&Task::new(), weight.weight.as_deref().unwrap()).unwrap().unwrap();
    assert!(matches!(found.content, Some(Content::Array(_))));
    assert_eq!(graph.nodes()[2].outputs.len(), 2);
    assert_eq!(document.root.attributes[0], ("mxnet_version".to_owned(), "1.9.1".into()));
}

#[test]
fn bodies_and_types_are_read() {
    let graph = graph(&opened("loop.json"));
    let (name, body) = &graph.nodes()[0].subgraphs[0];
    assert_eq!((name.as_ref(), body.nodes().len()), ("0", 1));
    assert_eq!(graph.value(graph.inputs[0]).unwrap().shape_text().as_deref(), Some("[2, 3]"));
    assert_eq!(graph.value(graph.inputs[0]).unwrap().dtype.as_deref(), Some("float32"));
}

#[test]
fn what_is_wrong_is_said_and_the_rest_is_shown() {
    for (name, what, nodes) in [
        ("malformed/forward.json", "does not stand before", 1),
        ("malformed/no_operator.json", "node 1: it has no operator", 1),
        ("malformed/no_output.json", "no output 7", 1),
    ] {
        let document = opened(name);
        let problem = document.root.problem.as_ref().unwrap().message();
        assert!(problem.contains(what), "{name}: {problem}");
        assert_eq!(graph(&document).nodes().len(), nodes, "{name}");
    }
    let path = format!("{}/fixtures/mxnet_symbol/malformed/nodes_no_list.json", env!("CARGO_MANIFEST_DIR"));
    assert!(crate::open(&Task::new(), Path::new(&path), &Options::default()).is_err());
}
