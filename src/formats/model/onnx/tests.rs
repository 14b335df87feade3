use super::*;
use crate::bytes::task::Task;
use crate::data::content::Graph;
use crate::data::content::array::read;
use crate::data::content::graph::Dimension;
use crate::data::format::Options;
use crate::data::open::Document;
use crate::data::region::Region;
use std::path::Path;

mod shapes;

fn opened(name: &str) -> Document {
    let path = format!("{}/fixtures/onnx/{name}.onnx", env!("CARGO_MANIFEST_DIR"));
    let document = crate::open(&Task::new(), Path::new(&path), &Options::default()).unwrap();
    assert_eq!(document.format.id, "onnx", "{name}");
    document
}

fn graph(document: &Document) -> Arc<Graph> {
    let Some(Content::Graph(graph)) = &document.root.content else { panic!("{:?}", document.root.problem) };
    graph.clone()
}

fn node(document: &Document, path: &str) -> Arc<Node> {
    let node = document.root.find(&Task::new(), path).unwrap();
    node.unwrap_or_else(|| panic!("{path} is not there")).resolved(&Task::new()).unwrap()
}

fn all(document: &Document, path: &str) -> (String, Vec<u64>, Vec<u8>) {
    let node = node(document, path);
    let Some(Content::Array(array)) = &node.content else { panic!("{path}: {:?}", node.problem) };
    let bytes = read(array.as_ref(), &Task::new(), &Region::all(array.shape())).unwrap();
    (array.facts().type_name(array.dtype()), array.shape().to_vec(), bytes)
}

fn shape(graph: &Graph, name: &str) -> String {
    let value = graph.values().iter().find(|value| &*value.name == name).unwrap();
    value.shape_text().unwrap_or_else(|| "open".to_owned())
}

#[test]
fn a_model_is_its_graph_with_its_weights() {
    let document = opened("net");
    let graph = graph(&document);
    assert_eq!((graph.name.as_str(), graph.nodes().len()), ("net", 8));
    let groups: Vec<&str> = graph.nodes().iter().map(|node| &*node.group).collect();
    assert_eq!(groups, ["stem/conv", "stem/bn", "stem", "stem/pool", "head", "head", "head/fc", "head"]);
    let gemm = graph.nodes().iter().find(|node| &*node.operator == "Gemm").unwrap();
    assert_eq!(graph.parameters(gemm), 90);
    let attributes: Vec<String> =
        gemm.attributes.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(attributes, ["alpha=0.1", "transB=1"]);
    let weight = graph.value(gemm.inputs.get(1).unwrap().value.unwrap()).unwrap();
    let path = weight.weight.as_deref().unwrap();
    assert_eq!(all(&document, path).1, [10, 8]);
    assert_eq!(all(&document, "stem.conv.weight").2.len(), 8 * 27 * 4);
    let told: Vec<String> =
        document.root.attributes.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    assert!(told.iter().any(|line| line == "ü: 1"), "{told:?}");
    assert!(told.iter().any(|line| line.contains("17")), "{told:?}");
    let dropout = graph.nodes().last().unwrap();
    assert_eq!(
        dropout.inputs.iter().map(|port| port.value.is_some()).collect::<Vec<_>>(),
        [true, false, false]
    );
}

#[test]
fn shapes_are_concluded_and_said_to_be() {
    let graph = graph(&opened("net"));
    let shapes: Vec<String> = ["a", "c", "d", "e", "f", "y"].iter().map(|name| shape(&graph, name)).collect();
    let expected = ["[N, 8, 16, ?]", "[N, 8, 16, ?]", "[N, 8, 8, ?]", "[N, 8, 1, 1]", "[N, 8]", "[N, 10]"];
    assert_eq!(shapes, expected);
    let value = |name: &str| graph.values().iter().find(|value| &*value.name == name).unwrap();
    assert!(value("a").is_inferred && !value("x").is_inferred && !value("z").is_inferred);
    assert_eq!(value("x").shape.as_ref().unwrap().first(), Some(&Dimension::Named("N".into())));
}

#[test]
fn elements_of_every_type_are_read_from_memory_and_from_fields() {
    let document = opened("types");
    let kinds = [
        ("FLOAT", "float32"),
        ("UINT8", "uint8"),
        ("INT8", "int8"),
        ("UINT16", "uint16"),
        ("INT16", "int16"),
        ("INT32", "int32"),
        ("INT64", "int64"),
        ("BOOL", "bool"),
        ("FLOAT16", "float16"),
        ("DOUBLE", "float64"),
        ("UINT32", "uint32"),
        ("UINT64", "uint64"),
        ("COMPLEX64", "complex64"),
        ("COMPLEX128", "complex128"),
        ("BFLOAT16", "bfloat16"),
        ("FLOAT8E4M3FN", "float8_e4m3fn"),
        ("FLOAT8E5M2", "float8_e5m2"),
        ("UINT4", "uint4"),
        ("INT4", "int4"),
        ("FLOAT4E2M1", "float4_e2m1fn"),
    ];
    for (kind, word) in kinds {
        let raw = all(&document, &format!("{kind}_raw"));
        assert_eq!(raw, all(&document, &format!("{kind}_fields")), "{kind}");
        assert_eq!((raw.0.as_str(), raw.1.as_slice()), (word, &[5][..]));
        assert!(raw.2.iter().any(|byte| *byte != 0), "{kind}");
    }
    assert_eq!(all(&document, "INT4_raw").2, [0, 1, 2, 3, 1]);
    assert_eq!(all(&document, "scalar"), ("int64".to_owned(), vec![], (-7i64).to_le_bytes().to_vec()));
    assert_eq!(all(&document, "empty").1, [0, 3]);
    let texts = node(&document, "texts");
    let Some(Content::Array(array)) = &texts.content else { panic!("{:?}", texts.problem) };
    let column = array.column(&Task::new(), &Region::all(&[2])).unwrap();
    let column = arrow::array::AsArray::as_string::<i32>(&column).clone();
    assert_eq!(column.iter().flatten().collect::<Vec<_>>(), ["abc", "ü"]);
}

#[test]
fn bodies_functions_constants_and_sparse_tensors_lie_behind() {
    let document = opened("flow");
    let graph = graph(&document);
    let choice = graph.nodes().iter().find(|node| &*node.operator == "If").unwrap();
    let mut bodies: Vec<(&str, usize)> =
        choice.subgraphs.iter().map(|(name, graph)| (&**name, graph.nodes().len())).collect();
    bodies.sort_unstable();
    assert_eq!(bodies, [("else_branch", 1), ("then_branch", 1)]);
    for path in ["subgraphs/choice.then_branch", "functions/custom.Square"] {
        assert!(matches!(node(&document, path).content, Some(Content::Graph(_))), "{path}");
    }
    assert_eq!(all(&document, "subgraphs/choice.else_branch/own").1, [2]);
    assert_eq!(all(&document, "subgraphs/choice.then_branch/constants/t").1, [2]);
    assert_eq!(all(&document, "constants/c").0, "bool");
    assert_eq!(all(&document, "sparse/thin/indices").1, [2]);
    let (dtype, lengths, bytes) = all(&document, "sparse/thin");
    let elements: Vec<f32> = bytes.as_chunks::<4>().0.iter().map(|own| f32::from_le_bytes(*own)).collect();
    assert_eq!((dtype.as_str(), lengths.as_slice()), ("float32", &[3, 3][..]));
    assert_eq!(elements, [0.0, 1.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0]);
    let square = graph.nodes().iter().find(|node| &*node.operator == "Square").unwrap();
    assert_eq!(square.function.as_deref(), Some("functions/custom.Square"));
    let everything = graph.nodes().last().unwrap();
    let attributes: Vec<String> =
        everything.attributes.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let mut attributes = attributes;
    attributes.sort();
    assert_eq!(attributes, ["f=0.1", "fs=[0.5, 1.5]", "i=-3", "is=[1, 2]", "s=text", "ss=[a, b]"]);
}

#[test]
fn elements_beside_the_model_are_read() {
    let document = opened("external");
    let bytes: Vec<u8> = [0f32, 1.0, 2.0, 3.0].iter().flat_map(|n| n.to_le_bytes()).collect();
    assert_eq!(all(&document, "w"), ("float32".to_owned(), vec![4], bytes));
}

#[test]
fn what_is_wrong_has_words_and_the_rest_is_there() {
    for (name, words) in [
        ("external_missing", "no such file"),
        ("external_escape", "out of its folder"),
        ("external_beyond", "at 17 of external.bin"),
        ("external_negative", "offset is"),
        ("negative_dims", ""),
        ("huge_dims", ""),
    ] {
        let document = opened(&format!("malformed/{name}"));
        assert_eq!(graph(&document).nodes().len(), 1);
        let weight = node(&document, "w");
        let problem = weight.problem_now().map(|error| error.to_string()).unwrap_or_default();
        let is_told = !problem.is_empty() && problem.contains(words);
        assert!(is_told, "{name}: {problem}");
    }
    let cut = opened("malformed/cut");
    assert!(cut.root.problem.is_some());
    let short = opened("malformed/short_tensor");
    let weight = node(&short, "stem.conv.weight");
    assert!(weight.problem.is_some() || weight.content.is_some());
    assert_eq!(all(&short, "head.fc.bias").1, [10]);
    let mut problems = Vec::new();
    crate::data::open::walk_all(
        &Task::new(),
        &opened("malformed/deep").root,
        "",
        usize::MAX,
        &mut |node, _, _| {
            problems.extend(node.problem.as_ref().map(ToString::to_string));
            Ok(true)
        },
    )
    .unwrap();
    assert!(problems.iter().any(|problem| problem.contains("deep")), "{problems:?}");
    let looped = graph(&opened("malformed/loop"));
    assert_eq!((looped.nodes().len(), looped.edges().count()), (3, 6));
}
