use crate::bytes::task::Task;
use crate::data::content::Content;
use crate::data::content::graph::{Dimension, Graph};
use crate::data::format::Options;
use crate::data::open::Document;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/torch_export/");

fn opened(name: &str) -> Document {
    crate::open(&Task::new(), Path::new(&format!("{FIXTURES}{name}")), &Options::default()).unwrap()
}

fn graph(document: &Document) -> Arc<Graph> {
    let Some(Content::Graph(graph)) = &document.root.content else { panic!("no graph") };
    graph.clone()
}

fn count(graph: &Graph, counts: &mut BTreeMap<String, u64>) {
    for node in graph.nodes() {
        let overload = node.attributes.iter().find(|(name, _)| &**name == "overload");
        let overload = match overload {
            Some((_, overload)) => format!(".{overload}"),
            None if &*node.domain == "higher_order" => String::new(),
            None => ".default".to_owned(),
        };
        let target = format!("torch.ops.{}.{}{overload}", node.domain, node.operator);
        *counts.entry(target).or_default() += 1;
        node.subgraphs.iter().for_each(|(_, body)| count(body, counts));
    }
}

#[test]
fn targets_are_those_that_torch_calls() {
    let text = std::fs::read(format!("{FIXTURES}graphs.json")).unwrap();
    let expected: BTreeMap<String, BTreeMap<String, u64>> = serde_json::from_slice(&text).unwrap();
    for (file, wanted) in &expected {
        let mut counts = BTreeMap::new();
        count(&graph(&opened(file)), &mut counts);
        assert_eq!(&counts, wanted, "{file}");
    }
    assert_eq!(expected.len(), 4);
}

#[test]
fn weights_are_joined_by_the_signature_in_both_layouts() {
    for (file, prefix) in [("net.pt2", ""), ("net_before_2_8.pt2", "serialized_state_dict.pt/")] {
        let document = opened(file);
        let graph = graph(&document);
        let mut weights = 0;
        for path in graph.values().iter().filter_map(|value| value.weight.as_deref()) {
            let node = document.root.find(&Task::new(), path).unwrap().unwrap();
            let node = node.resolved(&Task::new()).unwrap();
            assert!(matches!(node.content, Some(Content::Array(_))), "{file}: {path}");
            weights += 1;
        }
        assert_eq!((weights, graph.inputs.len(), graph.outputs.len()), (6, 1, 3), "{file}");
        let linear = graph.nodes().iter().find(|node| &*node.operator == "linear").unwrap();
        let weight = graph.value(linear.inputs[1].value.unwrap()).unwrap();
        assert_eq!(weight.weight.as_deref(), Some(&*format!("{prefix}body.0.weight")));
        assert_eq!((&*linear.group, graph.parameters(linear)), ("body/0", 30));
        let shape = graph.value(graph.inputs[0]).unwrap().shape.clone().unwrap();
        assert!(matches!(&shape[..], [Dimension::Named(name), Dimension::Fixed(4)] if name.starts_with('s')));
    }
}

#[test]
fn programs_that_cannot_be_drawn_show_their_tensors() {
    for name in ["no_graph.pt2", "odd.pt2", "no_signature.pt2"] {
        let document = opened(&format!("malformed/{name}"));
        let weight = document.root.find(&Task::new(), "body.0.weight").unwrap().unwrap();
        assert!(matches!(weight.content, Some(Content::Array(_))), "{name}");
        assert_eq!(document.root.content.is_none(), name == "no_graph.pt2");
    }
}
