use super::lex::{Lexer, Token};
use super::parse;
use super::syntax::{Expression, Statement};
use crate::bytes::error::ErrorKind;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::Content;
use crate::data::content::graph::{Attribute, Graph, Operation};
use crate::data::format::Options;
use crate::data::node::Node;
use crate::data::open::Document;
use crate::formats::open_source;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/torchscript/");
/// What only makes and takes apart values: `make.py` leaves the same out.
const PLUMBING: &str = "Constant GetAttr SetAttr CreateObject ListConstruct TupleConstruct DictConstruct TupleUnpack \
                        ListUnpack TupleIndex TupleSlice unchecked_cast Uninitialized";

fn opened(name: &str) -> Document {
    let document = crate::open(&Task::new(), Path::new(&format!("{FIXTURES}{name}")), &Options::default());
    document.unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn node(document: &Document, path: &str) -> Arc<Node> {
    let found = document.root.find(&Task::new(), path).unwrap().unwrap_or_else(|| panic!("no {path:?}"));
    found.resolved(&Task::new()).unwrap()
}

fn graph(node: &Node) -> Arc<Graph> {
    let Some(Content::Graph(graph)) = &node.content else { panic!("{:?} has no graph", node.name) };
    graph.clone()
}

fn count(graph: &Graph, counts: &mut BTreeMap<String, u64>) {
    for node in graph.nodes() {
        if !PLUMBING.split_whitespace().any(|word| word == &*node.operator) {
            *counts.entry(format!("{}::{}", node.domain, node.operator)).or_default() += 1;
        }
        node.subgraphs.iter().for_each(|(_, body)| count(body, counts));
    }
}

fn of<'a>(graph: &'a Graph, operator: &str) -> &'a Operation {
    graph.nodes().iter().find(|node| &*node.operator == operator).unwrap_or_else(|| panic!("no {operator}"))
}

fn named<'a>(graph: &'a Graph, ports: &[crate::data::content::graph::Port]) -> Vec<(String, &'a str)> {
    let value = |port: &crate::data::content::graph::Port| {
        (port.name.to_string(), graph.value(port.value.unwrap()).unwrap().name.as_ref())
    };
    ports.iter().map(value).collect()
}

/// With all calls laid out in their place a graph has the operators that torch compiles from the same code.
#[test]
fn graphs_have_the_operators_that_torch_compiles() {
    let text = std::fs::read(format!("{FIXTURES}graphs.json")).unwrap();
    let expected: BTreeMap<String, BTreeMap<String, u64>> = serde_json::from_slice(&text).unwrap();
    for (file, wanted) in &expected {
        let document = opened(file);
        assert!(document.root.remarks.iter().all(|remark| !remark.contains("drawn")), "{file}");
        let mut counts = BTreeMap::new();
        count(&graph(&document.root), &mut counts);
        assert_eq!(&counts, wanted, "{file}");
    }
    assert!(expected.len() >= 9 && expected["control.pt"].len() > 10);
}

#[test]
fn weights_are_the_arrays_of_the_document() {
    let document = opened("traced_small.pt");
    let graph = graph(&document.root);
    let conv = of(&graph, "_convolution");
    assert_eq!((&*conv.domain, &*conv.group), ("aten", "conv"));
    let inputs = named(&graph, &conv.inputs);
    let wanted = [("input", "x"), ("weight", "conv.weight"), ("bias", "conv.bias")];
    assert_eq!(inputs, wanted.map(|(name, value)| (name.to_owned(), value)));
    assert!(conv.attributes.contains(&("padding".into(), Attribute::Ints(vec![1, 1]))));
    assert_eq!(graph.parameters(conv), 2 * 9 + 2);
    assert_eq!(&*of(&graph, "linear").group, "body/3");
    let mut found = 0;
    for value in graph.values() {
        let Some(path) = &value.weight else { continue };
        let array = node(&document, path);
        let Some(Content::Array(array)) = &array.content else { panic!("{path} is no array") };
        let shape: Vec<String> = array.shape().iter().map(u64::to_string).collect();
        assert_eq!(value.shape_text().unwrap(), format!("[{}]", shape.join(", ")), "{path}");
        assert_eq!(value.dtype.as_deref(), Some("float32"));
        found += 1;
    }
    assert_eq!((found, graph.inputs.len(), graph.outputs.len()), (8, 1, 2));
    // Constants of frozen programs lie beside the module.
    let document = opened("frozen.pt");
    let frozen = self::graph(&document.root);
    let weight = named(&frozen, &of(&frozen, "linear").inputs)[1].1;
    assert!(matches!(node(&document, weight).content, Some(Content::Array(_))), "{weight}");
}

#[test]
fn branches_and_loops_are_nodes_with_bodies() {
    let document = opened("control.pt");
    let graph = graph(&document.root);
    let names: Vec<&str> = graph.inputs.iter().map(|id| graph.value(*id).unwrap().name.as_ref()).collect();
    assert_eq!(names, ["x", "n", "other"]);
    let repeat = of(&graph, "Loop");
    let (name, body) = &repeat.subgraphs[0];
    assert_eq!(&**name, "body");
    assert!(
        named(&graph, &repeat.inputs).iter().any(|(name, value)| name == "max_trip_count" && *value == "n")
    );
    // The count comes before what is carried from one turn to the next.
    assert_eq!(body.inputs.len(), 1 + repeat.outputs.len());
    assert_eq!(body.outputs.len(), repeat.outputs.len());
    let inner = of(body, "If");
    let [(then, _), (other, _)] = &inner.subgraphs[..] else { panic!("{:?}", inner.subgraphs.len()) };
    assert_eq!((&**then, &**other), ("then", "else"));
    // What a body takes from around it, its node takes too.
    assert!(named(&graph, &repeat.inputs).iter().any(|(_, value)| *value == "kept"));
    let group = node(&document, "subgraphs");
    assert!(group.child_count().unwrap() >= 3);
    let below = node(&document, &format!("subgraphs/{}.body/subgraphs", repeat.name));
    assert!(below.child_count().unwrap() >= 3);
}

#[test]
fn methods_that_are_not_the_main_one_have_graphs_of_their_own() {
    let document = opened("methods.pt");
    let encode = graph(&node(&document, "methods/encode"));
    let operators: Vec<&str> = encode.nodes().iter().map(|node| &*node.operator).collect();
    assert_eq!(operators, ["sub", "linear", "gelu"]);
    assert_eq!(&*encode.nodes()[1].group, "up/0");
    let main = graph(&document.root);
    // An attribute that the code sets is not taken for a constant.
    assert!(main.nodes().iter().any(|node| {
        &*node.operator == "GetAttr"
            && node.attributes.contains(&("name".into(), Attribute::Text("calls".to_owned())))
    }));
    let fork = of(&main, "fork");
    assert_eq!(fork.subgraphs.len(), 1);
}

/// Whatever the code is, the tensors are there.
#[test]
fn code_that_cannot_be_drawn_is_told_and_the_tensors_are_shown() {
    for (name, says) in [
        ("no_end.pt", Some("line 4: a text without an end")),
        ("brackets.pt", Some("deep in each other")),
        ("chain.pt", Some("deep in each other")),
        ("blocks.pt", Some("deep in each other")),
        ("no_code.pt", None),
        ("itself.pt", None),
        ("unknown.pt", None),
    ] {
        let document = opened(&format!("malformed/{name}"));
        let told = document.root.remarks.iter().any(|remark| says.is_some_and(|says| remark.contains(says)));
        assert_eq!(told, says.is_some(), "{name}: {:?}", document.root.remarks);
        assert!(matches!(node(&document, "conv.weight").content, Some(Content::Array(_))), "{name}");
        let code = node(&document, "code/__torch__.py");
        assert!(matches!(code.content, Some(Content::Text(_))) || name == "no_code.pt", "{name}");
    }
    let document = opened("malformed/itself.pt");
    let graph = self::graph(&document.root);
    assert_eq!(graph.nodes()[0].function.as_deref(), Some("functions/__torch__.Small.forward"));
    let inner = self::graph(&node(&document, "functions/__torch__.Small.forward"));
    assert_eq!(inner.nodes().len(), 1);
}

#[test]
fn tokens_are_those_of_python() {
    let tokens = |text: &str| {
        let text: &'static str = Box::leak(text.to_owned().into_boxed_str());
        let mut lexer = Lexer::new(text);
        let mut all = Vec::new();
        loop {
            match lexer.next().unwrap() {
                Token::End => return all,
                token => all.push(token),
            }
        }
    };
    let text = |text: &str| Token::Text(text.to_owned());
    assert_eq!(tokens("x = 'a\\n\\\"' \"\\303\\244\"")[2..], [text("a\n\""), text("ä"), Token::Line]);
    assert_eq!(tokens("1e-05 0x1F .5 1j")[..4], ["1e-05", "0x1F", ".5", "1j"].map(Token::Number));
    let blocks = tokens("if x:\n    y\n  # a comment\n\n    (z,\n  w)\nv");
    let (ins, outs) = (Token::Indent, Token::Dedent);
    assert_eq!(blocks.iter().filter(|token| **token == ins).count(), 1);
    assert_eq!(blocks.iter().filter(|token| **token == outs).count(), 1);
}

#[test]
fn statements_are_parsed_by_their_grammar() {
    let code = "op_version_set = 1\ndef f(x: Tensor,\n    n: int=2) -> Tuple[Tensor, int]:\n  a, b, = (x).split(n, )\n  \
                if torch.__isnot__(a, None):\n    y = a[1:]\n  elif b:\n    y = -1 + 2 * n\n  else:\n    pass\n  return (y, n)\n";
    let parsed = parse::parse(&Task::new(), code).unwrap();
    let function = &parsed.functions[0];
    assert_eq!((&*function.name, function.parameters.len(), function.body.len()), ("f", 2, 3));
    assert_eq!(function.returns.as_ref().unwrap().type_text(), "Tuple[Tensor, int]");
    let Statement::Assign { targets, unpacks, .. } = &function.body[0] else {
        panic!("{:?}", function.body[0])
    };
    assert_eq!((targets.len(), *unpacks), (2, true));
    let Statement::If { other, .. } = &function.body[1] else { panic!("{:?}", function.body[1]) };
    let Statement::If { then, .. } = &other[0] else { panic!("{other:?}") };
    let Statement::Assign { value: Expression::Operator("add", parts), .. } = &then[0] else {
        panic!("{then:?}")
    };
    assert!(matches!(&parts[..], [Expression::Int(-1), Expression::Operator("mul", _)]));
    for wrong in ["def f(:\n  x\n", "class\n", "x = (1\n", "x = = 2\n", "def f():\n  x = [\n", "\u{1}"] {
        let error = parse::parse(&Task::new(), wrong).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Malformed, "{wrong:?}: {error}");
    }
}

proptest! {
    #[test]
    fn no_code_makes_it_panic(
        file in prop::sample::select(vec!["control.pt", "methods.pt", "quantised.pt", "traced_small.pt"]),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let mut bytes = std::fs::read(format!("{FIXTURES}{file}")).unwrap();
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        let task = Task::new();
        if let Ok(document) = open_source(&task, &Source::memory(file, bytes), &Options::default()) {
            let _ = crate::data::open::walk(&task, &document.root, "", 12, &mut |_, _, _| Ok(true));
        }
    }

    #[test]
    fn no_source_makes_the_parser_panic(words in prop::collection::vec(prop::sample::select(vec![
        "def f(", "x", ": ", "Tensor", ")", ",", "\n", "  ", "if ", "else:", "return ", "[", "]", "{", "}", "=", "1.5", "'a'",
        ".", "-", "class C(", "while ", "for i in ", "range(", "lambda", "\"", "\\", "->", "not ", "#", "with ", "as ",
    ]), 0..60)) {
        let _ = parse::parse(&Task::new(), &words.concat());
    }
}
