use super::*;
use crate::bytes::error::ErrorKind;
use crate::data::content::graph::Graph;
use crate::data::content::{Content, Table};
use crate::data::format::Options;
use crate::data::open::Document as Opened;
use proptest::prelude::*;
use std::path::Path;

fn path(name: &str) -> String {
    format!("{}/fixtures/pmml/{name}.pmml", env!("CARGO_MANIFEST_DIR"))
}

fn opened(name: &str) -> Opened {
    crate::open(&Task::new(), Path::new(&path(name)), &Options::default()).unwrap()
}

fn node(document: &Opened, path: &str) -> Arc<Node> {
    document.root.find(&Task::new(), path).unwrap().unwrap_or_else(|| panic!("{path} is not there"))
}

fn graph(document: &Opened, path: &str) -> Arc<Graph> {
    let node = node(document, path);
    let Some(Content::Graph(graph)) = &node.content else { panic!("{path} is no graph: {:?}", node.problem) };
    graph.clone()
}

fn table(document: &Opened, path: &str) -> Arc<dyn Table> {
    let node = node(document, path);
    let Some(Content::Table(table)) = &node.content else { panic!("{path} is no table: {:?}", node.problem) };
    table.clone()
}

/// The cells of a table, row by row; `-` for null.
fn cells(table: &dyn Table) -> Vec<String> {
    let all: Vec<usize> = (0..table.schema().fields().len()).collect();
    let batch = table.read(&Task::new(), 0..99, &all).unwrap();
    let cell = |row: usize| {
        let text = |column: &arrow::array::ArrayRef| {
            crate::data::cell::text(column.as_ref(), row).unwrap_or_else(|| "-".to_owned())
        };
        batch.columns().iter().map(text).collect::<Vec<_>>().join(" | ")
    };
    (0..batch.num_rows()).map(cell).collect()
}

/// Edges as names of nodes; `.` for the graph itself.
fn edges(graph: &Graph) -> Vec<String> {
    let name = |node: Option<u32>| match node.map(|node| &graph.nodes()[node as usize]) {
        None => ".".to_owned(),
        Some(node) if node.name.is_empty() => node.operator.to_string(),
        Some(node) => node.name.to_string(),
    };
    graph.edges().map(|edge| format!("{}>{}", name(edge.from), name(edge.to))).collect()
}

fn attribute(graph: &Graph, node: usize, name: &str) -> String {
    let found = graph.nodes()[node].attributes.iter().find(|(known, _)| known.as_ref() == name);
    found.map_or("-".to_owned(), |(_, value)| value.to_string())
}

#[test]
fn fields_are_a_table() {
    let document = opened("classes");
    assert_eq!(document.format.id, "pmml");
    let fields = table(&document, "/DataDictionary");
    let names: Vec<String> = fields.described().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["name", "optype", "dataType", "intervals", "values"]);
    let rows = cells(fields.as_ref());
    assert_eq!(rows[0], "age | continuous | integer | [0, 150) | -");
    assert_eq!(rows[2], r#"job | categorical | string | - | ["goose","d&ck","? [missing]"]"#);
    let value =
        |name: &str| document.root.attributes.iter().find(|(known, _)| known == name).unwrap().1.to_string();
    assert_eq!(
        (value("version"), value("application"), value("timestamp")),
        ("4.4".into(), "make.py".into(), "2026-01-02T03:04:05Z".into())
    );
}

#[test]
fn every_class_has_its_node() {
    let document = opened("classes");
    let page = document.root.child_page(&Task::new(), 0..99).unwrap();
    let labels: Vec<&str> =
        page.iter().map(|node| node.label).filter(|label| terms::is_model(label)).collect();
    assert_eq!(labels.len(), 18);
    for node in &page {
        assert!(node.resolved(&Task::new()).unwrap().problem_now().is_none(), "{}", node.name);
    }
    let of = |path: &str| cells(table(&document, path).as_ref());
    assert_eq!(of("/AssociationModel/Itemset"), ["1 | 1 | 1 | 1", "2 | - | 2 | [\"1\",\"2\"]"]);
    assert_eq!(of("/ClusteringModel/Cluster"), ["a | 3 | 1 2", "b | - | 3 4.5"]);
    assert_eq!(of("/GaussianProcessModel/TrainingInstances/InlineTable"), ["1 | 2.5", "3 | -1"]);
    assert_eq!(of("/GeneralRegressionModel/ParamMatrix"), ["p0 | 1 | -7.3", "p1 | 1 | 8.8"]);
    assert_eq!(of("/NaiveBayesModel/BayesOutput/TargetValueCounts"), ["0 | 5", "1 | 3"]);
    assert_eq!(of("/TimeSeriesModel/TimeSeries"), ["1 | 112", "2 | 118.5"]);
    assert_eq!(of("/RegressionModel/RegressionTable")[1], "CategoricalPredictor | job | - | 1 | goose | -");
    assert_eq!(
        of("/RegressionModel/Output")[0],
        "doubled | transformedValue | continuous | double | (y * 2)"
    );
    assert_eq!(
        of("/SupportVectorMachineModel/VectorDictionary/VectorFields")[0],
        "FieldRef | age | - | - | -"
    );
    assert_eq!(of("/RuleSetModel/RuleSet/rows").len(), 2);
    let function = node(&opened("chain"), "/TransformationDictionary/DefineFunction/Apply");
    assert_eq!(function.value.as_deref(), Some("(x * 2)"));
}

#[test]
fn trees_are_graphs() {
    let graph = graph(&opened("classes"), "/TreeModel");
    assert_eq!(edges(&graph), [".>1", ".>1", ".>1", "1>2", "1>3", "3>4"]);
    assert_eq!(attribute(&graph, 1, "predicate"), "age ≤ 30");
    assert_eq!(
        (attribute(&graph, 1, "recordCount"), attribute(&graph, 1, "records of 1")),
        ("4".into(), "3".into())
    );
    assert_eq!(attribute(&graph, 2, "predicate"), "age > 30 else job not in {goose, d&ck}");
    assert_eq!(attribute(&graph, 3, "predicate"), "income is missing");
    assert_eq!(graph.value(graph.inputs[0]).unwrap().dtype.as_deref(), Some("int64"));
}

#[test]
fn networks_regressions_rules_and_scorecards_are_graphs() {
    let document = opened("classes");
    let network = graph(&document, "/NeuralNetwork");
    assert_eq!(edges(&network), [".>i1", ".>i2", "i1>h1", "i2>h1", "h1>o", "o>o", "o>."]);
    assert_eq!(
        (attribute(&network, 2, "weights"), attribute(&network, 2, "activationFunction")),
        ("[1, -2]".into(), "tanh".into())
    );
    assert_eq!(
        (network.nodes()[3].group.as_ref(), attribute(&network, 3, "activationFunction")),
        ("layer 2", "identity".into())
    );
    let line = graph(&document, "/RegressionModel");
    assert_eq!(attribute(&line, 0, "terms"), "[-2.1 · half^2, 1 · (job = goose), 3 · age · income]");
    assert_eq!(
        (line.nodes()[1].operator.as_ref(), attribute(&line, 1, "expression")),
        ("DerivedField", "(income / 2)".into())
    );
    let rules = graph(&document, "/RuleSetModel");
    assert_eq!(rules.operators(), [("CompoundRule", 1), ("RuleSet", 1), ("SimpleRule", 2)].into());
    assert_eq!(attribute(&rules, 1, "predicate"), "job = goose");
    let card = graph(&document, "/Scorecard");
    assert_eq!(
        (edges(&card), attribute(&card, 0, "scores")),
        (vec![".>by age".into(), "by age>sum".into(), "sum>.".into()], "[age ≥ 0: 4]".into())
    );
}

#[test]
fn segments_stand_in_their_order() {
    let document = opened("chain");
    assert_eq!(document.root.start.as_deref(), Some("/MiningModel"));
    let chain = graph(&document, "/MiningModel");
    let operators: Vec<&str> = chain.nodes().iter().map(|node| node.operator.as_ref()).collect();
    assert_eq!(operators, ["TreeModel", "RegressionModel", "modelChain"]);
    assert!(edges(&chain).contains(&"s1>s2".to_owned()), "{:?}", edges(&chain));
    let function = chain.nodes()[0].function.clone().unwrap();
    assert_eq!(function.as_ref(), "/MiningModel/Segmentation/Segment[1]/TreeModel");
    assert_eq!(graph(&document, &function).nodes().len(), 4);
    let forest = graph(&opened("forest"), "/MiningModel");
    assert_eq!(forest.nodes()[2].operator.as_ref(), "average");
    assert_eq!(attribute(&forest, 1, "predicate"), "age < 9");
    assert_eq!(edges(&forest).last().unwrap(), "average>.");
}

#[test]
fn versions_prefixes_and_encodings() {
    for (name, path) in
        [("latin1_v3", "/RegressionModel"), ("utf16", "/Scorecard"), ("prefix", "/RuleSetModel")]
    {
        let document = opened(name);
        assert_eq!(document.format.id, "pmml", "{name}");
        assert!(document.root.problem.is_none(), "{name}");
        assert!(!graph(&document, path).nodes().is_empty(), "{name}");
        assert_eq!(table(&document, "/DataDictionary").rows().number(), 4, "{name}");
    }
    let said = opened("latin1_v3").root.attributes.iter().any(|(_, value)| value.to_string() == "Gänse");
    assert!(said);
}

#[test]
fn what_is_wrong_is_said_and_the_rest_is_shown() {
    for (name, what) in [
        ("cut_in_tree", "not closed"),
        ("cut_in_fields", "not closed"),
        ("not_closed", "expected `</TransformationDictionary>`"),
        ("deep", "deep"),
        ("two_roots", "second element"),
        ("attribute_twice", "duplicated attribute"),
    ] {
        let document = opened(&format!("malformed/{name}"));
        let problem = document.root.problem.clone().unwrap();
        assert!(problem.message().contains(what), "{name}: {}", problem.message());
        assert!(problem.offset().is_some(), "{name}");
    }
    assert_eq!(opened("malformed/deep").root.problem.as_ref().unwrap().kind(), ErrorKind::Limit);
    let document = opened("malformed/cut_in_tree");
    assert_eq!(table(&document, "/DataDictionary").rows().number(), 4);
    let tree = node(&document, "/MiningModel/Segmentation/Segment/TreeModel");
    let Some(Content::Graph(graph)) = &tree.content else { panic!("no graph") };
    assert_eq!(graph.nodes().len(), 2);
    assert_eq!(table(&opened("malformed/cut_in_fields"), "/DataDictionary").rows().number(), 2);
    let document = opened("malformed/entities");
    let header = node(&document, "/Header");
    assert_eq!(header.attributes[0].1.to_string(), "&b;&c;");
}

proptest! {
    #[test]
    fn no_bytes_break_it(at in 0..2_600_usize, byte in any::<u8>(), end in 0..2_800_usize) {
        let mut bytes = std::fs::read(path("chain")).unwrap();
        if let Some(place) = bytes.get_mut(at) {
            *place = byte;
        }
        bytes.truncate(end.max(80));
        let source = Source::memory("a.pmml", bytes);
        let Ok(document) = crate::data::open::open_as(&Task::new(), &source, &FORMAT, &Options::default()) else {
            return Ok(());
        };
        crate::data::open::walk(&Task::new(), &document.root, "", 16, &mut |node, _, _| {
            if let Some(Content::Table(table)) = &node.content {
                let _ = table.read(&Task::new(), 0..9, &[0]);
            }
            Ok(true)
        })
        .unwrap();
    }
}
