use super::*;
use crate::data::content::Graph;
use crate::data::content::array::read;
use crate::data::format::Options;
use crate::data::open::Document;
use crate::data::region::Region;
use std::path::Path;

fn opened(name: &str) -> Document {
    let path = format!("{}/fixtures/tfjs/{name}/model.json", env!("CARGO_MANIFEST_DIR"));
    let document = crate::open(&Task::new(), Path::new(&path), &Options::default()).unwrap();
    assert_eq!(document.format.id, "tfjs", "{name}");
    document
}

fn node(document: &Document, path: &str) -> Arc<Node> {
    let node = document.root.find(&Task::new(), path).unwrap();
    node.unwrap_or_else(|| panic!("{path} is not there")).resolved(&Task::new()).unwrap()
}

fn graph(document: &Document) -> Arc<Graph> {
    let Some(Content::Graph(graph)) = &document.root.content else { panic!("{:?}", document.root.problem) };
    graph.clone()
}

fn values(document: &Document, path: &str) -> (String, Vec<u64>, Vec<f64>) {
    let node = node(document, path);
    let Some(Content::Array(array)) = &node.content else { panic!("{path}: {:?}", node.problem) };
    let bytes = read(array.as_ref(), &Task::new(), &Region::all(array.shape())).unwrap();
    let mut values = Vec::new();
    array.dtype().decode(&bytes, &mut values);
    (array.dtype().to_string(), array.shape().to_vec(), values)
}

fn problem(node: &Node) -> String {
    node.problem.as_ref().map(ToString::to_string).unwrap_or_default()
}

#[test]
fn a_graph_model_is_its_graph_with_its_weights() {
    let document = opened("graph");
    let graph = graph(&document);
    let conv = graph.nodes().iter().find(|node| &*node.operator == "Conv2D").unwrap();
    assert_eq!(&*conv.group, "stem");
    let strides = conv.attributes.iter().find(|(name, _)| &**name == "strides").unwrap();
    assert_eq!(strides.1.to_string(), "[1, 1, 1, 1]");
    let padding = conv.attributes.iter().find(|(name, _)| &**name == "padding").unwrap();
    assert_eq!(padding.1.to_string(), "SAME");
    let kernel = conv.inputs.iter().find_map(|port| graph.value(port.value?)?.weight.clone()).unwrap();
    assert_eq!(values(&document, &kernel).1, [3, 3, 2, 4]);
    let inputs: Vec<_> = graph.inputs.iter().map(|id| graph.value(*id).unwrap()).collect();
    assert_eq!((&*inputs[0].name, inputs[0].shape_text().as_deref()), ("image", Some("[?, 8, 8, 2]")));
    assert!(
        document
            .root
            .attributes
            .iter()
            .any(|(name, value)| name == "signature" && value.to_string().contains("image"))
    );
    let branch = graph.nodes().iter().find(|node| node.operator.ends_with("If")).unwrap();
    assert_eq!(branch.subgraphs.len(), 2);
}

#[test]
fn a_layers_model_is_its_graph_with_its_weights() {
    let document = opened("layers");
    let graph = graph(&document);
    let operators: Vec<&str> = graph.nodes().iter().map(|node| &*node.operator).collect();
    assert_eq!(operators, ["Dense", "Dropout", "Dense"]);
    assert_eq!(graph.parameters(&graph.nodes()[0]), 16);
    assert_eq!(values(&document, "dense_1/kernel").1, [4, 2]);
    let Some(Content::Table(table)) = &node(&document, "layers").content else { panic!("no table") };
    assert_eq!(table.count(&Task::new()).unwrap(), 3);
    let inner = opened("layers_functional");
    let graph = self::graph(&inner);
    let deep = graph.nodes().iter().find(|node| &*node.name == "inner/deep").unwrap();
    assert_eq!(graph.parameters(deep), 42);
}

#[test]
fn weights_of_every_type_lie_over_shards() {
    let document = opened("types");
    let of = |path: &str| values(&document, path);
    assert_eq!((of("ints").0.as_str(), of("ints").2), ("int32", vec![-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0]));
    assert_eq!(of("truth").2, [1.0, 0.0, 1.0]);
    assert_eq!((of("floats").1, of("scalar").2), (vec![4, 5], vec![f64::from(0.1f32)]));
    assert_eq!(of("empty").1, [0, 3]);
    let texts = node(&document, "texts");
    let Some(Content::Array(array)) = &texts.content else { panic!("{:?}", texts.problem) };
    let column = array.column(&Task::new(), &Region::all(&[2, 2])).unwrap();
    let column = arrow::array::AsArray::as_string::<i32>(&column).clone();
    assert_eq!(column.iter().flatten().collect::<Vec<_>>(), ["abc", "ü", "", "x\0y"]);
    for name in ["q8", "q16", "half"] {
        let (made, stored) = (of(name), of(&format!("{name}/stored")));
        assert_eq!((made.0.as_str(), made.1.as_slice()), ("float32", &[6, 7][..]));
        let said = node(&document, name).attributes[0].1.to_string();
        let said: Json = serde_json::from_str(&said).unwrap();
        let number = |name: &str, usual: f64| said[name].as_f64().unwrap_or(usual);
        for (value, code) in made.2.iter().zip(stored.2) {
            assert_eq!(*value as f32, (code * number("scale", 1.0) + number("min", 0.0)) as f32, "{name}");
        }
    }
    assert_eq!(of("qint").0, "int32");
    assert!(of("qint").2.iter().zip((-50..50).step_by(3)).all(|(value, wanted)| *value == f64::from(wanted)));
}

#[test]
fn what_is_wrong_has_words_and_the_rest_is_there() {
    let missing = opened("malformed/shard_missing");
    assert!(problem(&missing.root).contains("shard group1-shard"), "{}", problem(&missing.root));
    let whole = opened("graph_uint8");
    let mut states = Vec::new();
    for (name, _) in all_weights(&whole) {
        let there = node(&missing, &name);
        let told = problem(&there);
        assert!(told.is_empty() || told.contains("group1-shard"), "{name}: {told}");
        if told.is_empty() {
            assert_eq!(values(&missing, &name), values(&whole, &name), "{name}");
        }
        states.push(told.is_empty());
    }
    assert!(states.contains(&true) && states.contains(&false));
    for (name, words) in [
        ("shard_short", ""),
        ("huge", ""),
        ("shapes", "float99"),
        ("escape", "out of its folder"),
        ("manifest", "no list"),
        ("topology", "DT_NONE"),
    ] {
        let document = opened(&format!("malformed/{name}"));
        let all: Vec<String> =
            document.root.remarks.iter().cloned().chain([problem(&document.root)]).collect();
        assert!(all.iter().any(|told| told.contains(words)), "{name}: {all:?}");
    }
    let short = opened("malformed/shard_short");
    let told: Vec<String> = all_names(&short).iter().map(|name| problem(&node(&short, name))).collect();
    assert!(told.len() > 1 && told.iter().all(|told| told.contains("files have 100")), "{told:?}");
    let cycle = graph(&opened("malformed/cycle"));
    assert_eq!((cycle.nodes().len(), cycle.edges().count()), (2, 4));
}

/// The paths of the nodes of weights.
fn all_names(document: &Document) -> Vec<String> {
    let mut found = Vec::new();
    crate::data::open::walk_all(&Task::new(), &document.root, "", usize::MAX, &mut |node, path, _| {
        if node.label == "weight" {
            found.push(path.to_owned());
        }
        Ok(true)
    })
    .unwrap();
    found
}

/// The names of the arrays of numbers of a document.
fn all_weights(document: &Document) -> Vec<(String, u64)> {
    let mut found = Vec::new();
    crate::data::open::walk_all(&Task::new(), &document.root, "", usize::MAX, &mut |node, path, _| {
        if let Some(Content::Array(array)) = &node.content
            && !array.dtype().is_variable()
        {
            found.push((path.to_owned(), array.shape().iter().product()));
        }
        Ok(true)
    })
    .unwrap();
    found
}
