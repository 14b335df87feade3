use super::*;
use crate::bytes::error::ErrorKind;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::array::{Array, read};
use crate::data::content::graph::{Attribute, Graph, Operation};
use crate::data::format::Options;
use crate::data::open::Document;
use crate::data::region::{Region, Span};
use arrow::array::AsArray;
use proptest::prelude::*;
use std::path::Path;

fn path(name: &str) -> String {
    format!("{}/fixtures/tflite/{name}.tflite", env!("CARGO_MANIFEST_DIR"))
}

fn opened(name: &str) -> Document {
    crate::open(&Task::new(), Path::new(&path(name)), &Options::default()).unwrap()
}

fn found(document: &Document, name: &str) -> Arc<Node> {
    document.root.find(&Task::new(), name).unwrap().unwrap_or_else(|| panic!("{name} is not there"))
}

fn array(document: &Document, name: &str) -> Arc<dyn Array> {
    let node = found(document, name);
    let Some(Content::Array(array)) = &node.content else { panic!("{name} is no array: {:?}", node.problem) };
    array.clone()
}

fn bytes(document: &Document, name: &str) -> Vec<u8> {
    let array = array(document, name);
    read(array.as_ref(), &Task::new(), &Region::all(array.shape())).unwrap()
}

fn graph(node: &Node) -> Arc<Graph> {
    let Some(Content::Graph(graph)) = &node.content else { panic!("{} has no graph", node.name) };
    graph.clone()
}

fn attribute(node: &Operation, name: &str) -> String {
    let value = node.attributes.iter().find(|(own, _)| &**own == name);
    value.map_or_else(|| panic!("no {name} in {:?}", node.attributes), |(_, value)| value.to_string())
}

fn root_attribute(node: &Node, name: &str) -> String {
    let value = node.attributes.iter().find(|(own, _)| own == name);
    value.map_or_else(|| panic!("no {name} in {:?}", node.attributes), |(_, value)| value.to_string())
}

fn floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

#[test]
fn operators_weights_and_open_lengths() {
    let document = opened("plain");
    assert_eq!((document.format.id, document.root.problem.is_none()), ("tflite", true));
    assert_eq!(root_attribute(&document.root, "version"), "3");
    let graph = graph(&document.root);
    let count = |name: &str| graph.operators().get(name).copied();
    assert_eq!((count("CONV_2D"), count("MEAN"), count("FULLY_CONNECTED")), (Some(1), Some(1), Some(1)));
    let input = graph.value(graph.inputs[0]).unwrap();
    assert_eq!(input.shape_text().unwrap(), "[?, 8, 8, 2]");
    let conv = graph.nodes().iter().find(|node| &*node.operator == "CONV_2D").unwrap();
    assert_eq!(
        (attribute(conv, "padding"), attribute(conv, "stride_w")),
        ("SAME".to_owned(), "2".to_owned())
    );
    // The defaults of fields that are not there.
    assert_eq!((attribute(conv, "dilation_h_factor"), &*conv.group), ("1".to_owned(), "features"));
    assert_eq!(attribute(conv, "fused_activation_function"), "RELU");
    let kernel = graph.value(conv.inputs[1].value.unwrap()).unwrap();
    assert_eq!((kernel.elements, graph.parameters(conv)), (Some(72), 76));
    assert_eq!(array(&document, kernel.weight.as_deref().unwrap()).shape(), [4, 3, 3, 2]);
}

#[test]
fn scales_of_channels_are_attributes() {
    let document = opened("per_channel");
    let graph = graph(&document.root);
    let conv = graph.nodes().iter().find(|node| &*node.operator == "CONV_2D").unwrap();
    let kernel = graph.value(conv.inputs[1].value.unwrap()).unwrap();
    let node = found(&document, kernel.weight.as_deref().unwrap());
    let Some(crate::data::node::Value::Json(Json::Array(scales))) =
        node.attributes.iter().find(|(name, _)| name == "scale").map(|(_, value)| value)
    else {
        panic!("{:?}", node.attributes)
    };
    assert_eq!((scales.len(), root_attribute(&node, "quantized_dimension")), (4, "0".to_owned()));
    assert_eq!(kernel.dtype.as_deref(), Some("int8"));
}

#[test]
fn bodies_are_subgraphs_and_nodes() {
    let document = opened("control_flow");
    let graph = graph(&document.root);
    let loops = graph.nodes().iter().find(|node| &*node.operator == "WHILE").unwrap();
    let (body, inner) = loops.subgraphs.iter().find(|(name, _)| &**name == "body_subgraph_index").unwrap();
    let Attribute::Graph(path) = &loops.attributes.iter().find(|(name, _)| name == body).unwrap().1 else {
        panic!("no path")
    };
    assert_eq!(self::graph(&found(&document, path)).nodes().len(), inner.nodes().len());
    let branch = inner.nodes().iter().find(|node| &*node.operator == "IF").unwrap();
    assert_eq!(branch.subgraphs.len(), 2);
}

#[test]
fn custom_operators_keep_their_names_and_bytes() {
    let document = opened("custom");
    let graph = graph(&document.root);
    let [goose, root] = graph.nodes() else { panic!("{:?}", graph.nodes()) };
    assert_eq!((&*goose.operator, &*goose.domain, &*root.operator), ("Goose", "custom", "STABLEHLO_CBRT"));
    assert!(goose.inputs[1].value.is_none());
    let options = attribute(goose, "custom_options");
    assert!(options.starts_with("0x000102") && options.ends_with("3f... (70 bytes)"), "{options}");
}

#[test]
fn values_behind_the_flatbuffer_metadata_and_files() {
    let document = opened("buffers_by_offset");
    assert_eq!(bytes(&document, "w"), floats(&[5.0, 6.0, 7.0, 8.0]));
    let document = opened("associated_files");
    assert_eq!(document.format.id, "tflite");
    assert_eq!(root_attribute(&document.root, "min_runtime_version"), "1.14.0");
    let signatures = root_attribute(&document.root, "signatures");
    assert!(signatures.contains(r#""in":"x""#) && signatures.contains(r#""out":"scope/y""#), "{signatures}");
    let notes = found(&document, "metadata/notes");
    let Some(Content::Bytes(notes)) = &notes.content else { panic!("no bytes") };
    assert_eq!(&notes.read(&Task::new(), 0..10).unwrap()[..], b"some notes");
    assert!(matches!(found(&document, "associated files/labels.txt").content, Some(Content::Text(_))));
}

#[test]
fn every_type_reads() {
    let document = opened("types");
    for name in ["float16", "int64", "bool", "complex128", "bfloat16", "float8_e5m2", "float32 (2)"] {
        assert_eq!(array(&document, name).shape(), [3], "{name}");
    }
    // Low bits first: 1, 2, -1; the lowest two bits of 0x1b are 3.
    assert_eq!(bytes(&document, "int4"), [1, 2, 0xff]);
    assert_eq!(bytes(&document, "uint4"), [1, 2, 15]);
    assert_eq!(bytes(&document, "int2"), [0xff, 0xfe, 1]);
    let some = Region(vec![Span { start: 0, count: 2, step: 2 }]);
    assert_eq!(read(array(&document, "int4").as_ref(), &Task::new(), &some).unwrap(), [1, 0xff]);
    assert_eq!(array(&document, "int4").facts().word, Some("int4"));
    let texts = array(&document, "texts").column(&Task::new(), &Region::all(&[3])).unwrap();
    let texts: Vec<_> = texts.as_string::<i32>().iter().flatten().map(str::to_owned).collect();
    assert_eq!(texts, ["goose", "", "ente"]);
}

#[test]
fn sparse_tensors_show_what_is_stored() {
    let document = opened("sparse");
    assert_eq!(bytes(&document, "w"), floats(&[1.5, 2.5]));
    let node = found(&document, "w");
    assert!(root_attribute(&node, "sparsity").contains("SPARSE_CSR"));
    assert!(node.remarks.iter().any(|remark| remark.contains("it is sparse")), "{:?}", node.remarks);
    let graph = graph(&document.root);
    let weight = graph.values().iter().find(|value| value.weight.is_some()).unwrap();
    assert_eq!((weight.shape_text().as_deref(), weight.elements), (Some("[2, 2]"), Some(2)));
}

/// What is said of a document, at its root or at the nodes below.
fn said(document: &Document) -> String {
    let mut all = String::new();
    crate::data::open::walk(&Task::new(), &document.root, "", 8, &mut |node, _, _| {
        all += &node.problem.as_ref().map_or(String::new(), |problem| problem.message() + "\n");
        all += &(node.remarks.join("\n") + "\n");
        Ok(true)
    })
    .unwrap();
    all
}

#[test]
fn what_is_damaged_ends_in_a_sentence() {
    for (name, want, opens) in [
        ("cut_in_head", "cut off", false),
        ("root_to_itself", "an offset leads out of the file", false),
        ("root_behind_the_end", "an offset leads out of the file", false),
        ("field_list_before_the_file", "list of a table's fields", false),
        ("field_list_behind_the_end", "list of a table's fields", false),
        ("field_outside_of_its_table", "lies outside of its table", true),
        ("list_of_subgraphs_to_itself", "", true),
        ("list_of_subgraphs_long", "a list of 1073741823 reaches beyond the end", true),
        ("cut", "which may be cut off", true),
        ("cut_behind", "reach beyond the file", true),
        ("tensor_out_of_range", "operator 0: inputs: tensor 7 is not there: there are 3", true),
        ("operator_code_out_of_range", "operator 0: operator code 5 is not there: there are 1", true),
        ("buffer_out_of_range", "buffer 9 is not there: the file has 2", true),
        ("buffer_too_short", "needs 16 bytes, its buffer has 12", true),
        ("shape_negative", "open lengths", true),
        ("shape_huge", "overflow", true),
        ("type_unknown", "the type of number 99 is not known", true),
        ("subgraph_runs_itself", "runs itself", true),
        ("no_subgraph", "it has no subgraph", true),
    ] {
        let path = path(&format!("malformed/{name}"));
        match crate::open(&Task::new(), Path::new(&path), &Options::default()) {
            Err(error) => assert!(!opens && error.message().contains(want), "{name}: {error}"),
            Ok(document) => {
                let said = said(&document);
                assert!(opens && said.trim().len() > 10 && said.contains(want), "{name}: {said}");
            }
        }
    }
    let document = opened("malformed/buffer_out_of_range");
    assert_eq!(bytes(&document, "v"), floats(&[1.0, 2.0, 3.0, 4.0]));
    let document = opened("malformed/subgraphs_in_each_other");
    // Each level runs the next one twice: they are not drawn in each other without end.
    fn all(graph: &Graph) -> u64 {
        let inner = graph.nodes().iter().flat_map(|node| &node.subgraphs).map(|(_, graph)| all(graph));
        graph.nodes().len() as u64 + inner.sum::<u64>()
    }
    assert!(all(&graph(&document.root)) < 1 << 23);
    assert_eq!(found(&document, "subgraphs").child_count(), Some(39));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn flipped_bytes_end(name in prop::sample::select(vec!["plain", "control_flow", "sparse", "types", "metadata"]),
                         flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let mut bytes = std::fs::read(path(name)).unwrap();
        for (at, byte) in flips {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let source = Source::memory("x.tflite", bytes);
        let document = crate::formats::open_source(&Task::new(), &source, &Options::default());
        let Ok(document) = document else { return Ok(()) };
        for node in document.root.child_page(&Task::new(), 0..30).unwrap() {
            let Some(Content::Array(array)) = &node.content else { continue };
            let region = Region::all(array.shape());
            if crate::bytes::limits::elements(array.shape()).is_ok_and(|count| count < 10_000) {
                let error = match array.dtype().is_variable() {
                    true => array.column(&Task::new(), &region).err(),
                    false => read(array.as_ref(), &Task::new(), &region).err(),
                };
                prop_assert!(error.as_ref().is_none_or(|error| error.kind() != ErrorKind::Bug), "{:?}", error);
            }
        }
    }
}
