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

/// Edges with what is said of them.
fn said(graph: &Graph) -> Vec<String> {
    let number = |node: Option<u32>| node.map_or(".".to_owned(), |node| node.to_string());
    let edge = |edge: crate::data::content::graph::Edge| {
        format!("{}>{} {}", number(edge.from), number(edge.to), graph.value(edge.value).unwrap().name)
    };
    graph.edges().map(edge).collect()
}

/// Operators and names of nodes.
fn titles(graph: &Graph) -> Vec<String> {
    graph.nodes().iter().map(|node| format!("{} {}", node.operator, node.name)).collect()
}

#[test]
fn trees_are_graphs() {
    let tree = graph(&opened("classes"), "/TreeModel");
    assert_eq!(titles(&tree), ["split age, job", "leaf 1", "split income", "leaf 0"]);
    let edges = ["0>1 age ≤ 30", "0>2 age > 30 else job not in {goose, d&ck}", "2>3 income is missing"];
    assert_eq!(said(&tree), edges);
    assert_eq!(
        (attribute(&tree, 0, "predicate"), attribute(&tree, 1, "predicate")),
        ("true".into(), "age ≤ 30".into())
    );
    assert_eq!(
        (attribute(&tree, 1, "id"), attribute(&tree, 1, "recordCount"), attribute(&tree, 1, "records of 1")),
        ("2".into(), "4".into(), "3".into())
    );
    assert_eq!(tree.value(tree.inputs[0]).unwrap().dtype.as_deref(), Some("int64"));
    // Several ways, one of which is that of missing values.
    let tree = graph(&opened("graphs"), "/TreeModel");
    let titles = titles(&tree);
    assert_eq!(titles[..5], ["split job", "leaf a", "split age, income", "leaf b", "leaf c"]);
    assert_eq!(titles[5], "leaf d");
    assert_eq!(
        said(&tree),
        [
            "0>1 job in {goose, gander}",
            "0>2 job = duck, missing",
            "2>3 (age < 1 and income ≥ 2) or age > 9",
            "2>4 age < 1 xor income ≥ 2",
            "0>5 false",
        ]
    );
}

#[test]
fn general_regressions_and_bayesian_networks_are_graphs() {
    let document = opened("graphs");
    let regression = graph(&document, "/GeneralRegressionModel");
    assert_eq!(
        titles(&regression),
        ["linear predictor low", "linear predictor high", "multinomialLogistic "]
    );
    assert_eq!(attribute(&regression, 0, "terms"), "[26.8, -0.7 · (job = goose), 2 · age^2 · (job = duck)]");
    assert_eq!(attribute(&regression, 1, "terms"), "[-1]");
    assert_eq!(
        edges(&regression),
        [".>low", ".>low", "low>multinomialLogistic", "high>multinomialLogistic", "multinomialLogistic>."]
    );
    assert_eq!(attribute(&regression, 2, "targetReferenceCategory"), "mid");
    assert_eq!(cells(table(&document, "/GeneralRegressionModel/PCovMatrix").as_ref()), ["p0 | p1 | 0.5"]);
    let network = graph(&document, "/BayesianNetworkModel");
    assert_eq!(said(&network), ["0>1 job", "0>2 job", "1>2 age"]);
    assert_eq!(titles(&network), ["DiscreteNode job", "DiscreteNode age", "ContinuousNode income"]);
    assert_eq!(attribute(&network, 0, "probabilities"), "[goose: 0.6, duck: 0.4]");
    assert_eq!(attribute(&network, 1, "conditional probabilities"), "2");
}

#[test]
fn rules_and_scores_are_said() {
    let document = opened("graphs");
    let rules = graph(&document, "/RuleSetModel");
    assert_eq!(
        titles(&rules),
        ["CompoundRule age > 18", "SimpleRule job = goose", "SimpleRule true", "RuleSet "]
    );
    assert!(said(&rules).contains(&"0>1 yes".to_owned()) && said(&rules).contains(&"1>3 1".to_owned()));
    assert_eq!(attribute(&rules, 1, "records of 1"), "7");
    assert_eq!(attribute(&rules, 3, "criterion"), "weightedSum, firstHit");
    let card = graph(&document, "/Scorecard");
    assert_eq!(attribute(&card, 0, "scores"), "[age is missing: 4, age ≥ 0: (age * 2)]");
}

/// A tree that goes deeper than is drawn is drawn as far as there.
#[test]
fn trees_without_end_are_cut() {
    let nodes = "<Node><True/>".repeat(3_000);
    let ends = "</Node>".repeat(3_000);
    let read = |nodes: &str| {
        let text = format!("<PMML version='4.4'><TreeModel>{nodes}</TreeModel></PMML>");
        let source = Source::memory("a.pmml", text.into_bytes());
        let document =
            crate::data::open::open_as(&Task::new(), &source, &FORMAT, &Options::default()).unwrap();
        let node = node(&document, "/TreeModel");
        let Some(Content::Graph(graph)) = &node.content else { panic!("no graph: {:?}", node.problem) };
        (graph.clone(), node.problem.clone())
    };
    let (graph, problem) = read(&format!("{nodes}{ends}"));
    assert_eq!((graph.nodes().len(), problem), (3_000, None));
    let wide = format!("<Node><True/>{}</Node>", "<Node/>".repeat(300_000));
    let (graph, problem) = read(&wide);
    assert_eq!(graph.nodes().len(), 1 << 18);
    assert_eq!(problem.unwrap().kind(), ErrorKind::Limit);
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
