use super::*;
use crate::data::content::array::read as read_array;
use crate::data::content::{Content, Graph};
use crate::data::format::Options;
use crate::data::open::Document;
use crate::data::region::Region;
use std::path::Path;

fn opened(path: &str) -> Document {
    let path = format!("{}/fixtures/{path}", env!("CARGO_MANIFEST_DIR"));
    crate::open(&Task::new(), Path::new(&path), &Options::default()).unwrap()
}

fn model(name: &str) -> Document {
    let document = opened(&format!("coreml/{name}.mlmodel"));
    assert_eq!(document.format.id, "coreml", "{name}");
    document
}

fn package(name: &str) -> Document {
    let document = opened(&format!("mlpackage/{name}.mlpackage"));
    assert_eq!(document.format.id, "mlpackage", "{name}");
    document
}

fn node(document: &Document, path: &str) -> Arc<Node> {
    let node = document.root.find(&Task::new(), path).unwrap();
    node.unwrap_or_else(|| panic!("{path} is not there")).resolved(&Task::new()).unwrap()
}

fn graph_of(node: &Node) -> Arc<Graph> {
    let Some(Content::Graph(graph)) = &node.content else { panic!("no graph: {:?}", node.problem) };
    graph.clone()
}

/// Type, shape and values of an array.
fn values(document: &Document, path: &str) -> (String, Vec<u64>, Vec<f64>) {
    let node = node(document, path);
    let Some(Content::Array(array)) = &node.content else { panic!("{path}: {:?}", node.problem) };
    let bytes = read_array(array.as_ref(), &Task::new(), &Region::all(array.shape())).unwrap();
    let mut values = Vec::new();
    array.dtype().decode(&bytes, &mut values);
    (array.facts().type_name(array.dtype()), array.shape().to_vec(), values)
}

fn says(node: &Node, name: &str) -> String {
    let found = node.attributes.iter().find(|(own, _)| own == name);
    found.map_or_else(String::new, |(_, value)| value.to_string())
}

/// The attributes of a node of a graph, by its name.
fn attributes(graph: &Graph, name: &str) -> Vec<String> {
    let node = graph.nodes().iter().find(|node| &*node.name == name).unwrap();
    node.attributes.iter().map(|(name, value)| format!("{name}={value}")).collect()
}

/// The problems of all nodes, and how many arrays and graphs there are.
fn problems(document: &Document) -> (Vec<String>, usize, usize) {
    let (mut found, mut arrays, mut graphs) = (Vec::new(), 0, 0);
    crate::data::open::walk_all(&Task::new(), &document.root, "", usize::MAX, &mut |node, _, _| {
        found.extend(node.problem.as_ref().map(ToString::to_string));
        arrays += usize::from(matches!(node.content, Some(Content::Array(_))));
        graphs += usize::from(matches!(node.content, Some(Content::Graph(_))));
        Ok(true)
    })
    .unwrap();
    (found, arrays, graphs)
}

#[test]
fn a_network_is_its_graph_with_its_weights() {
    let document = model("net");
    let graph = graph_of(&document.root);
    let operators: Vec<&str> = graph.nodes().iter().map(|node| &*node.operator).collect();
    let expected = [
        "convolution",
        "batchnorm",
        "activation",
        "convolution",
        "pooling",
        "flatten",
        "innerProduct",
        "softmax",
    ];
    assert_eq!(operators, expected);
    assert_eq!(&*graph.nodes()[0].group, "stem");
    assert_eq!(graph.edges().count(), 9);
    assert_eq!(graph.parameters(&graph.nodes()[0]), 6 * 27 + 6);
    for node in graph.nodes() {
        for value in node.inputs.iter().filter_map(|port| graph.value(port.value?)) {
            if let Some(path) = &value.weight {
                assert_eq!(Some(values(&document, path).2.len() as u64), value.elements, "{path}");
            }
        }
    }
    assert_eq!(values(&document, "stem/conv.weights").1, [6, 3, 3, 3]);
    assert_eq!(values(&document, "up.weights").1, [6, 2, 2, 2]);
    assert_eq!(values(&document, "stem/bn.variance").2, [1.0, 1.125, 1.25, 1.375, 1.5, 1.625]);
    let conv = attributes(&graph, "stem/conv");
    assert!(conv.contains(&"outputChannels=6".to_owned()), "{conv:?}");
    assert!(conv.contains(&"ConvolutionPaddingType=same".to_owned()), "{conv:?}");
    assert!(attributes(&graph, "stem/prelu").contains(&"NonlinearityType=PReLU".to_owned()));
    let root = &document.root;
    let told =
        ["type", "author", "license", "versionString", "shortDescription", "ü"].map(|name| says(root, name));
    assert_eq!(told, ["neuralNetwork", "Gander", "MIT", "1.2", "a small net", "1"]);
    let input = graph.value(graph.inputs[0]).unwrap();
    assert_eq!((input.shape_text().as_deref(), input.dtype.as_deref()), (Some("[3, 8, 8]"), Some("float64")));
}

#[test]
fn quantised_weights_are_what_they_stand_for() {
    let document = model("quantised");
    let of = |path: &str| values(&document, path);
    let (dtype, shape, made) = of("stem/conv.weights");
    assert_eq!((dtype.as_str(), shape.as_slice()), ("float32", &[6, 3, 3, 3][..]));
    let (stored, scale, bias) =
        (of("stem/conv.weights.stored").2, of("stem/conv.weights.scale").2, of("stem/conv.weights.bias").2);
    assert_eq!((stored.len(), scale.len()), (162, 6));
    assert!(stored.iter().all(|code| *code < 16.0) && stored.contains(&15.0));
    for (n, value) in made.iter().enumerate() {
        let wanted = (stored[n] as f32) * scale[n / 27] as f32 + bias[n / 27] as f32;
        assert_eq!(*value as f32, wanted, "{n}");
    }
    // Of a deconvolution the scales belong to the second axis.
    let (made, stored, scale) = (of("up.weights").2, of("up.weights.stored").2, of("up.weights.scale").2);
    let bias = of("up.weights.bias").2;
    assert_eq!(scale.len(), 2);
    for (n, value) in made.iter().enumerate() {
        let channel = n / 4 % 2;
        assert_eq!(*value as f32, stored[n] as f32 * scale[channel] as f32 + bias[channel] as f32);
    }
    let (made, stored, table) = (of("fc.weights").2, of("fc.weights.stored").2, of("fc.weights.table").2);
    assert_eq!(table.len(), 8);
    assert!(made.iter().zip(&stored).all(|(value, code)| *value == table[*code as usize]));
    assert_eq!(of("stem/conv.bias").0, "float16");
    let (made, stored) = (of("fc.bias").2, of("fc.bias.stored"));
    assert_eq!(stored.0, "int8");
    assert!(made.iter().zip(&stored.2).all(|(value, code)| *value as f32 == *code as f32 * 0.025));
    assert!(node(&document, "fc.weights").derived && !node(&document, "fc.weights.stored").derived);
}

#[test]
fn layers_say_the_shapes_of_their_weights() {
    let document = model("layers");
    let shape = |path: &str| values(&document, path).1;
    assert_eq!(shape("lstm.weightParams.inputGateWeightMatrix"), [2, 3]);
    assert_eq!(shape("lstm.weightParams.outputGateRecursionMatrix"), [2, 2]);
    assert_eq!(shape("lstm.weightParams.forgetGatePeepholeVector"), [2]);
    assert_eq!(shape("both.weightParams.1.blockInputWeightMatrix"), [2, 3]);
    assert_eq!(shape("gru.resetGateWeightMatrix"), [2, 3]);
    assert_eq!(shape("constant.data"), [2, 3]);
    assert_eq!(shape("lookup.weights"), [2, 5]);
    assert_eq!(shape("matmul.weights"), [3, 2]);
    assert_eq!(shape("then.fc.weights"), [2, 2]);
    assert_eq!(values(&document, "own.weights.0").2, [1.0, 2.0, 3.0]);
    let graph = graph_of(&document.root);
    let choice = graph.nodes().iter().find(|node| &*node.operator == "branch").unwrap();
    let bodies: Vec<(&str, usize)> =
        choice.subgraphs.iter().map(|(name, graph)| (&**name, graph.nodes().len())).collect();
    assert_eq!(bodies, [("ifBranch", 1), ("elseBranch", 1)]);
    assert_eq!(choice.subgraphs[0].1.inputs.len(), 1);
    let own = attributes(&graph, "own");
    assert!(
        own.contains(&"className=Own".to_owned())
            && own.iter().any(|line| line.starts_with("parameters.alpha="))
    );
}

#[test]
fn every_other_type_is_shown_by_its_parameters() {
    let glm = model("glm");
    assert_eq!(values(&glm, "weights").2, [1.0, 2.0, 3.0, 4.0, 5.0, 6.5]);
    assert_eq!(values(&glm, "int64ClassLabels").2, [-1.0, 1_099_511_627_776.0, 7.0]);
    let svm = model("svm");
    assert_eq!(values(&svm, "denseSupportVectors").1, [2, 3]);
    assert!(says(&svm.root, "kernel").contains("0.125"));
    let near = model("neighbours");
    assert_eq!(values(&near, "nearestNeighborsIndex/floatSamples").1, [3, 2]);
    assert!(says(&near.root, "numberOfNeighbors").contains('3'));
    let items = model("items");
    let similar = node(&items, "itemItemSimilarities/2/similarItemList");
    let Some(Content::Table(table)) = &similar.content else { panic!("{:?}", similar.problem) };
    assert_eq!(table.count(&Task::new()).unwrap(), 2);
    assert_eq!(says(&model("custom").root, "className"), "Own");
    assert!(says(&model("linked").root, "linkedModelFile").contains("other.mlmodelc"));
    let text = model("text");
    assert!(matches!(node(&text, "modelParameterData").content, Some(Content::Bytes(_) | Content::Text(_))));
    for name in [
        "glm",
        "svm",
        "svm_sparse",
        "neighbours",
        "items",
        "custom",
        "linked",
        "text",
        "features",
        "trees",
        "pipeline",
    ] {
        let (wrong, ..) = problems(&model(name));
        assert!(wrong.is_empty(), "{name}: {wrong:?}");
    }
}

#[test]
fn features_have_their_types() {
    let document = model("features");
    let told = says(&document.root, "input");
    let json: Json = serde_json::from_str(&told).unwrap();
    assert_eq!(json[0]["type"]["imageType"]["colorSpace"], "RGB");
    assert_eq!(json[1]["type"]["multiArrayType"]["shapeRange"]["sizeRanges"][2]["upperBound"], -1);
    assert_eq!(json.as_array().unwrap().len(), 7);
}

#[test]
fn trees_are_a_table_and_graphs() {
    let document = model("trees");
    let nodes = node(&document, "treeEnsemble/nodes");
    let Some(Content::Table(table)) = &nodes.content else { panic!("{:?}", nodes.problem) };
    assert_eq!((table.count(&Task::new()).unwrap(), table.schema().fields().len()), (4, 11));
    let tree = graph_of(&node(&document, "treeEnsemble/nodes/tree 0"));
    let edges: Vec<_> = tree.edges().map(|edge| (edge.from, edge.to)).collect();
    assert_eq!(edges, [(Some(0), Some(1)), (Some(0), Some(2))]);
    assert_eq!(&*tree.nodes()[1].operator, "LeafNode");
    assert_eq!(graph_of(&node(&document, "treeEnsemble/nodes/tree 1")).nodes().len(), 1);
    assert_eq!(values(&document, "treeEnsemble/basePredictionValue").2, [0.5, -0.5]);
}

#[test]
fn a_pipeline_is_a_graph_of_its_members() {
    let document = model("pipeline");
    let graph = graph_of(&document.root);
    let operators: Vec<&str> = graph.nodes().iter().map(|node| &*node.operator).collect();
    let expected =
        ["dictVectorizer", "imputer", "scaler", "oneHotEncoder", "featureVectorizer", "neuralNetwork"];
    assert_eq!(operators, expected);
    assert_eq!(graph.nodes()[5].function.as_deref(), Some("models/net"));
    let inner = graph_of(&node(&document, "models/net"));
    let weight =
        inner.nodes()[0].inputs.iter().find_map(|port| inner.value(port.value?)?.weight.clone()).unwrap();
    assert_eq!(values(&document, &weight).1, [6, 3, 3, 3]);
    assert_eq!(values(&document, "models/scaler/shiftValue").2, [1.0, 2.0, 3.0]);
    assert_eq!(values(&document, "models/imputer/imputedDoubleArray").2, [1.0, 2.0, 3.0]);
}

#[test]
fn a_program_is_its_graph_with_its_weights() {
    for name in [
        "plain",
        "half",
        "linear",
        "palette",
        "sparse",
        "blockwise",
        "palette_grouped",
        "sparse_new",
        "joint",
        "ranged",
    ] {
        let document = package(name);
        let (wrong, ..) = problems(&document);
        assert!(wrong.is_empty(), "{name}: {wrong:?}");
        let graph = graph_of(&document.root);
        assert!(graph.nodes().iter().all(|node| !node.operator.starts_with("const")), "{name}");
        let mut weights = 0;
        for value in graph.values().iter().filter(|value| value.weight.is_some()) {
            let path = value.weight.as_deref().unwrap();
            let (_, shape, all) = values(&document, path);
            assert_eq!(Some(all.len() as u64), value.elements, "{name}: {path}");
            let said: Vec<String> = shape.iter().map(ToString::to_string).collect();
            assert_eq!(Some(format!("[{}]", said.join(", "))), value.shape_text());
            weights += 1;
        }
        assert!(weights >= 1, "{name}");
        assert_eq!(says(&document.root, "author"), "Gander");
    }
    let graph = graph_of(&package("plain").root);
    let conv = graph.nodes().iter().find(|node| &*node.operator == "conv").unwrap();
    let attributes: Vec<String> =
        conv.attributes.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert!(attributes.contains(&"strides=[1, 1]".to_owned()), "{attributes:?}");
    assert!(attributes.contains(&"pad_type=same".to_owned()), "{attributes:?}");
    let ports: Vec<&str> = conv.inputs.iter().map(|port| &*port.name).collect();
    assert_eq!(ports, ["x", "bias", "weight"]);
}

#[test]
fn blocks_are_bodies_and_functions_stand_below() {
    let flow = package("flow");
    let graph = graph_of(&flow.root);
    let bodies = |operator: &str| -> Vec<String> {
        let node = graph.nodes().iter().find(|node| &*node.operator == operator).unwrap();
        node.subgraphs.iter().map(|(name, _)| name.to_string()).collect()
    };
    assert_eq!(bodies("cond"), ["true", "false"]);
    assert_eq!(bodies("while_loop"), ["cond", "body"]);
    let (wrong, ..) = problems(&flow);
    assert!(wrong.is_empty(), "{wrong:?}");
    let several = package("functions");
    let other = node(&several, "functions/linear");
    assert!(graph_of(&other).nodes().len() > 2);
    let weight = graph_of(&other).values().iter().find_map(|value| value.weight.clone()).unwrap();
    assert!(weight.starts_with("functions/linear/"), "{weight}");
    assert!(!values(&several, &weight).2.is_empty());
    assert_eq!(says(&several.root, "defaultFunctionName"), "half");
}

#[test]
fn what_is_wrong_has_words_and_the_rest_is_there() {
    for (name, words, arrays, graphs) in [
        ("no_weights", "weight.bin", 0, 1),
        ("weights_cut", "behind the end", 1, 1),
        ("weights_other", "version 7", 0, 1),
        ("metadata", "9223372036854775808 bytes", 1, 1),
        ("places", "behind the end", 1, 1),
        ("places", "out of its folder", 1, 1),
        ("huge", "overflow", 1, 1),
        ("cycle", "deep", 2, 1),
        ("program_cut", "middle", 0, 0),
        ("palette_shape", "", 1, 1),
    ] {
        let document = package(&format!("malformed/{name}"));
        let (wrong, arrays_there, graphs_there) = problems(&document);
        assert!(wrong.iter().any(|problem| problem.contains(words)), "{name}: {wrong:?}");
        assert!(arrays_there >= arrays && graphs_there >= graphs, "{name}: {arrays_there}, {graphs_there}");
    }
    for (name, words) in [("broken", "JSON"), ("escape", "out of its folder"), ("elsewhere", "no such file")]
    {
        let path =
            format!("{}/fixtures/mlpackage/malformed/manifest_{name}.mlpackage", env!("CARGO_MANIFEST_DIR"));
        let error = crate::open(&Task::new(), Path::new(&path), &Options::default());
        let told = match error {
            Ok(document) => problems(&document).0.join("; "),
            Err(error) => error.to_string(),
        };
        assert!(told.contains(words) || name == "broken" && told.contains("Manifest.json"), "{name}: {told}");
    }
    for (name, words) in [
        ("shapes", ""),
        ("quantised", "parameters"),
        ("deep", "deep"),
        ("no_type", "does not say"),
        ("cut_in_layers", "middle"),
        ("cut_at_end", "middle"),
    ] {
        let document = model(&format!("malformed/{name}"));
        let (wrong, ..) = problems(&document);
        assert!(name == "shapes" || wrong.iter().any(|problem| problem.contains(words)), "{name}: {wrong:?}");
    }
    let shapes = model("malformed/shapes");
    assert_eq!(values(&shapes, "stem/conv.weights").1, [162]);
    assert_eq!(node(&shapes, "stem/conv.weights").remarks.len(), 1);
    assert_eq!(graph_of(&model("malformed/cycle").root).nodes().len(), 8);
    let tree = graph_of(&node(&model("malformed/tree_cycle"), "treeEnsemble/nodes/tree 0"));
    assert_eq!(tree.nodes().len(), 3);
}

#[test]
fn other_messages_are_not_taken_for_models() {
    let head = |bytes: &[u8], name: &str| {
        let source = Source::memory(name, bytes.to_vec());
        crate::formats::head(&Task::new(), &source).unwrap()
    };
    // An ONNX model begins with a version and the name of a producer.
    assert_eq!(sniff(&head(b"\x08\x07\x12\x07pytorch\x1a\x031.0", "m.pb")), Match::No);
    assert_eq!(sniff(&head(b"\x08\x01\x12\x04\x0a\x02\x0a\x00", "saved_model.pb")), Match::No);
    let net = std::fs::read(format!("{}/fixtures/coreml/net.mlmodel", env!("CARGO_MANIFEST_DIR"))).unwrap();
    assert_eq!(sniff(&head(&net, "anything.bin")), Match::Yes);
    assert_eq!(sniff(&head(&net[..120], "anything.bin")), Match::Yes);
}
