use super::operation::Reader;
use crate::bytes::error::ErrorKind;
use crate::bytes::task::Task;
use crate::data::content::Content;
use crate::data::content::graph::{Attribute, Dimension, Graph};
use crate::data::format::Options;
use crate::data::open::Document;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/mlir/");

fn opened(name: &str) -> Document {
    crate::open(&Task::new(), Path::new(&format!("{FIXTURES}{name}")), &Options::default()).unwrap()
}

fn graph(document: &Document, path: &str) -> Arc<Graph> {
    let node = document.root.find(&Task::new(), path).unwrap().unwrap_or_else(|| panic!("no {path:?}"));
    let Some(Content::Graph(graph)) = &node.content else { panic!("{path} has no graph") };
    graph.clone()
}

fn count(graph: &Graph, counts: &mut BTreeMap<String, u64>) {
    for node in graph.nodes() {
        *counts.entry(format!("{}.{}", node.domain, node.operator)).or_default() += 1;
        node.subgraphs.iter().for_each(|(_, body)| count(body, counts));
    }
}

fn root(document: &Document) -> Arc<Graph> {
    let Some(Content::Graph(graph)) = &document.root.content else { panic!("no graph") };
    graph.clone()
}

/// Both forms of one program have the operations that MLIR itself counts; the pretty form leaves out what reducers of one
/// operation do.
#[test]
fn operations_are_those_that_mlir_counts() {
    let text = std::fs::read(format!("{FIXTURES}counts.json")).unwrap();
    let mut expected: BTreeMap<String, u64> = serde_json::from_slice(&text).unwrap();
    let counted = |name: &str| {
        let document = opened(name);
        let mut counts = BTreeMap::new();
        for path in ["functions/closed_call", "functions/sort"] {
            count(&graph(&document, path), &mut counts);
        }
        count(&root(&document), &mut counts);
        counts
    };
    assert_eq!(counted("generic.mlir"), expected);
    *expected.get_mut("stablehlo.add").unwrap() -= 3;
    *expected.get_mut("stablehlo.maximum").unwrap() -= 1;
    assert_eq!(counted("network.mlir"), expected);
    assert_eq!(counted("located.mlir"), expected);
}

#[test]
fn values_have_types_and_operations_attributes() {
    let document = opened("network.mlir");
    let graph = root(&document);
    let value = |name: &str| graph.values().iter().find(|value| &*value.name == name).unwrap();
    assert_eq!(value("%arg1").shape, Some(vec![Dimension::Fixed(4), Dimension::Fixed(8)]));
    assert_eq!(value("%7").dtype.as_deref(), Some("bool"));
    assert_eq!((graph.inputs.len(), graph.outputs.len()), (3, 2));
    let repeat = graph.nodes().iter().find(|node| &*node.operator == "while").unwrap();
    assert_eq!((repeat.inputs.len(), repeat.outputs.len()), (3, 3));
    let body = &repeat.subgraphs[1].1;
    assert_eq!((body.inputs.len(), body.outputs.len()), (3, 3));
    assert_eq!(body.value(body.inputs[2]).unwrap().shape_text().as_deref(), Some("[3, 8]"));
    assert_eq!(body.nodes()[0].function.as_deref(), Some("functions/closed_call"));
    let compare = graph.nodes().iter().find(|node| &*node.operator == "compare").unwrap();
    let said = ("comparison_direction".into(), Attribute::Text("GT".to_owned()));
    assert!(compare.attributes.contains(&said), "{:?}", compare.attributes);
    // A branch takes a value from around it: so does its node.
    let case = graph.nodes().iter().find(|node| &*node.operator == "case").unwrap();
    assert_eq!((case.inputs.len(), case.subgraphs.len()), (2, 2));
    let open = root(&opened("open_length.stablehlo.mlir"));
    let shape = open.value(open.inputs[0]).unwrap().shape.clone().unwrap();
    assert_eq!(shape, [Dimension::Open, Dimension::Fixed(4)]);
    let located = root(&opened("located.mlir"));
    assert!(located.nodes().iter().any(|node| &*node.group == "jit(network)"));
}

#[test]
fn what_is_wrong_is_told_and_the_rest_is_shown() {
    let document = opened("malformed/cut.mlir");
    let problem = document.root.problem.clone().unwrap();
    assert_eq!(problem.kind(), ErrorKind::Malformed);
    assert!(problem.message().contains("line 27"), "{problem}");
    assert!(root(&document).nodes().len() > 10);
    let problem = opened("malformed/deep.mlir").root.problem.clone().unwrap();
    assert_eq!(problem.kind(), ErrorKind::Limit);
    assert!(opened("malformed/brackets.mlir").root.problem.is_some());
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(
        file in prop::sample::select(vec!["network.mlir", "generic.mlir", "open_length.stablehlo.mlir"]),
        changes in prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(b"(){}[]<>:=,%@#^!\"\n 0x-".to_vec())), 1..12),
        cut in prop::option::weighted(0.3, any::<prop::sample::Index>()),
    ) {
        let mut text = std::fs::read(format!("{FIXTURES}{file}")).unwrap();
        for (at, byte) in changes {
            let at = at.index(text.len());
            text[at] = byte;
        }
        if let Some(cut) = cut {
            text.truncate(cut.index(text.len()));
        }
        let task = Task::new();
        let text = String::from_utf8_lossy(&text);
        let mut reader = Reader::new(&task, &text);
        let _ = reader.file();
        let _ = reader.finish();
    }
}
