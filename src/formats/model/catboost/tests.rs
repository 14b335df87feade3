use super::*;
use crate::data::content::graph::Graph;
use crate::data::format::Options;
use crate::data::open::Document;
use crate::engines::trees::testing::{edges, facts, graph, row, table};
use serde_json::{Map, Value};
use std::path::Path;

fn path(name: &str) -> String {
    format!("{}/fixtures/catboost/{name}.cbm", env!("CARGO_MANIFEST_DIR"))
}

fn opened(name: &str) -> Document {
    crate::open(&Task::new(), Path::new(&path(name)), &Options::default()).unwrap()
}

fn near(a: &Value, b: f64) -> bool {
    // The export writes 17 digits at most.
    a.as_f64().is_some_and(|a| (a - b).abs() <= 1e-12 * b.abs().max(1.0))
}

/// One value or several.
fn list(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(items) => items.iter().filter_map(Value::as_f64).collect(),
        value => value.as_f64().into_iter().collect(),
    }
}

/// The rows of one tree by their numbers.
fn rows(document: &Document, tree: usize) -> Vec<Map<String, Value>> {
    let all = table(&document.root, "trees");
    (0..all.num_rows()).map(|n| row(&all, n)).filter(|row| row["Tree"] == tree).collect()
}

fn check_split(name: &str, want: &Value, got: &Map<String, Value>, floats: &Value) {
    let [kind, float, border, _] = [0, 1, 2, 3].map(|n| &want[n]);
    assert_eq!(kind, &got["Type"], "{name}");
    if kind == "FloatFeature" {
        assert_eq!(floats[float.as_u64().unwrap() as usize][0], got["Feature"], "{name}");
    }
    if kind != "OneHotFeature" {
        assert_eq!(border.as_f64().map(|x| x as f32), got["Border"].as_f64().map(|x| x as f32), "{name}");
    } else {
        assert_eq!((&got["Feature"], got["Category"].is_string()), (&Value::from("half"), true), "{name}");
    }
}

/// An oblivious tree against the export: the last condition is the root's.
fn check_oblivious(name: &str, tree: usize, want: &Value, document: &Document, floats: &Value) {
    let got = rows(document, tree);
    let splits = want["splits"].as_array().unwrap();
    let leaves = want["weights"].as_array().unwrap();
    assert_eq!(got.len(), leaves.len() * 2 - 1, "{name}");
    for (n, row) in got.iter().take(leaves.len() - 1).enumerate() {
        let level = row["Depth"].as_u64().unwrap() as usize;
        check_split(name, &splits[splits.len() - 1 - level], row, floats);
        assert_eq!((&row["Left"], &row["Right"]), (&Value::from(2 * n + 1), &Value::from(2 * n + 2)));
    }
    let values: Vec<f64> = got.iter().flat_map(|row| list(&row["Value"])).collect();
    assert!(
        want["values"].as_array().unwrap().iter().zip(&values).all(|(want, got)| near(want, *got)),
        "{name}"
    );
    let weights = got.iter().filter_map(|row| row["Weight"].as_f64());
    assert!(leaves.iter().zip(weights).all(|(want, got)| near(want, got)), "{name}");
}

/// Another tree against the export, from a node down.
fn check_linked(name: &str, want: &Value, got: &[Map<String, Value>], node: &Value, floats: &Value) {
    let row = got.iter().find(|row| row["Node"] == *node).unwrap();
    if want["split"].is_object() {
        let split = &want["split"];
        let split =
            serde_json::json!([split["split_type"], split["float_feature_index"], split["border"], null]);
        check_split(name, &split, row, floats);
        check_linked(name, &want["left"], got, &row["Left"], floats);
        check_linked(name, &want["right"], got, &row["Right"], floats);
    } else {
        let (want_values, got_values) = (list(&want["value"]), list(&row["Value"]));
        assert_eq!(want_values.len(), got_values.len(), "{name}");
        assert!(
            want_values.iter().zip(&got_values).all(|(want, got)| near(&Value::from(*want), *got)),
            "{name}"
        );
        assert!(near(&want["weight"], row["Weight"].as_f64().unwrap()), "{name}");
    }
}

#[test]
fn every_tree_is_as_the_library_says() {
    for (name, facts) in facts("catboost").as_object().unwrap() {
        let document = opened(name);
        assert_eq!((document.format.id, document.root.problem_now()), ("catboost", None), "{name}");
        for (tree, want) in facts["oblivious"].as_array().unwrap().iter().enumerate() {
            check_oblivious(name, tree, want, &document, &facts["floats"]);
        }
        for (tree, want) in facts["trees"].as_array().unwrap().iter().enumerate() {
            check_linked(name, want, &rows(&document, tree), &Value::from(0), &facts["floats"]);
        }
        let scores = table(&document.root, "feature importance");
        for (n, want) in facts["importance"].as_array().unwrap().iter().enumerate() {
            let got = row(&scores, n)["PredictionValuesChange"].as_f64().unwrap();
            assert!((want.as_f64().unwrap() - got).abs() < 1e-9, "{name}, feature {n}: {want} and {got}");
        }
        let features = table(&document.root, "features");
        for (n, want) in facts["floats"].as_array().unwrap().iter().enumerate() {
            let got = row(&features, n);
            assert_eq!(want[0], got["name"], "{name}");
            let same =
                list(&want[1]).iter().zip(list(&got["border_values"])).all(|(a, b)| *a as f32 == b as f32);
            assert!(same && want[1].as_array().unwrap().len() as u64 == got["borders"], "{name}");
        }
    }
}

/// Whether a node of a graph is the split that the export has; only those of numbers name their feature there.
fn check_condition(name: &str, kind: &Value, feature: &Value, border: &Value, floats: &Value, drawn: &str) {
    if kind == "FloatFeature" {
        let feature = floats[feature.as_u64().unwrap() as usize][0].as_str().unwrap();
        let border = crate::data::cell::float32(border.as_f64().unwrap() as f32);
        assert_eq!(drawn, format!("{feature} > {border}"), "{name}");
    } else {
        let sign = if kind == "OneHotFeature" { " = " } else { " > " };
        assert!(drawn.contains(sign), "{name}: {drawn}");
    }
}

fn check_leaf(name: &str, want: &Value, drawn: &str) {
    let got: Vec<f64> =
        drawn.trim_matches(['[', ']']).split(", ").map(|value| value.parse().unwrap()).collect();
    let want = list(want);
    assert_eq!(want.len(), got.len(), "{name}");
    assert!(want.iter().zip(&got).all(|(want, got)| near(&Value::from(*want), *got)), "{name}: {drawn}");
}

/// The graph of an oblivious tree against the export: a condition a level, the leaves from left to right.
fn check_drawn_oblivious(name: &str, want: &Value, drawn: &Graph, floats: &Value) {
    let splits = want["splits"].as_array().unwrap();
    let inner = (1 << splits.len()) - 1;
    assert_eq!(drawn.nodes().len(), inner * 2 + 1, "{name}");
    for (n, node) in drawn.nodes().iter().take(inner).enumerate() {
        let split = &splits[splits.len() - 1 - (n + 1).ilog2() as usize];
        check_condition(name, &split[0], &split[1], &split[2], floats, &node.name);
    }
    let values = list(&want["values"]);
    let width = values.len() / (inner + 1);
    for (leaf, want) in drawn.nodes()[inner..].iter().zip(values.chunks(width)) {
        check_leaf(name, &want.into(), &leaf.name);
    }
    let edges: Vec<(usize, usize, bool)> =
        edges(drawn).into_iter().map(|(from, to, when)| (from, to, when.starts_with("yes"))).collect();
    let want: Vec<_> = (0..inner).flat_map(|n| [(n, n * 2 + 1, false), (n, n * 2 + 2, true)]).collect();
    assert_eq!(edges, want, "{name}");
}

/// The graph of another tree against the export, from a node down.
fn check_drawn_linked(name: &str, want: &Value, drawn: &Graph, node: usize, floats: &Value) {
    let own = &drawn.nodes()[node];
    if !want["split"].is_object() {
        return check_leaf(name, &want["value"], &own.name);
    }
    let split = &want["split"];
    check_condition(
        name,
        &split["split_type"],
        &split["float_feature_index"],
        &split["border"],
        floats,
        &own.name,
    );
    let below: Vec<_> = edges(drawn).into_iter().filter(|(from, ..)| *from == node).collect();
    assert_eq!(below.len(), 2, "{name}");
    for (_, to, when) in below {
        let side = if when.starts_with("yes") { "right" } else { "left" };
        check_drawn_linked(name, &want[side], drawn, to, floats);
    }
}

#[test]
fn every_graph_is_as_the_library_says() {
    for (name, facts) in facts("catboost").as_object().unwrap() {
        let (document, floats) = (opened(name), &facts["floats"]);
        for (tree, want) in facts["oblivious"].as_array().unwrap().iter().enumerate() {
            check_drawn_oblivious(name, want, &graph(&document.root, tree).unwrap(), floats);
        }
        for (tree, want) in facts["trees"].as_array().unwrap().iter().enumerate() {
            check_drawn_linked(name, want, &graph(&document.root, tree).unwrap(), 0, floats);
        }
    }
    // A feature that was missing in the training says where it goes.
    let drawn = graph(&opened("numbers").root, 0).unwrap();
    let of = |name: &str| {
        let starts = |n: &usize| drawn.nodes()[*n].name.starts_with(name);
        edges(&drawn).into_iter().find(|(from, ..)| starts(from)).map(|(.., when)| when)
    };
    assert_eq!(of("age >").as_deref(), Some("no"));
    assert!(["numbers", "lossguide"].iter().any(|name| {
        let root = opened(name).root;
        (0..3).any(|tree| edges(&graph(&root, tree).unwrap()).iter().any(|(.., when)| when == "no, missing"))
    }));
}

#[test]
fn oblivious_trees_of_many_leaves_are_drawn_by_their_levels() {
    let (count, width) = (13, 1);
    let conditions = model::Conditions {
        subject: model::Subject::Made("x".to_owned(), Vec::new()),
        kind: "FloatFeature",
        first: 0,
        borders: (0..count).map(|n| n as f32).collect(),
        values: Vec::new(),
    };
    let model = Model {
        width,
        splits: (0..count).collect(),
        sizes: vec![count],
        starts: vec![0],
        leaves: vec![0],
        conditions: vec![conditions],
        ..Model::default()
    };
    let forest = Forest::new(Source::memory("x", vec![0]), 0, None, CatTrees::new(Arc::new(model)));
    let root = Arc::new(Node::new("", "x").listed(vec![Forest::node(&forest)]));
    let drawn = graph(&root, 0).unwrap();
    let names: Vec<&str> = drawn.nodes().iter().map(|node| node.name.as_ref()).collect();
    assert_eq!((names.len(), names[0], names[13]), (14, "x > 12.0", "8192 leaves"));
    assert_eq!(edges(&drawn).len(), 13);
}

#[test]
fn scale_and_bias_are_told() {
    for (name, facts) in facts("catboost").as_object().unwrap() {
        let document = opened(name);
        let says = |name: &str| {
            document.root.attributes.iter().find(|(n, _)| n == name).map(|(_, v)| v.to_string()).unwrap()
        };
        assert_eq!(says("scale").parse::<f64>().ok(), facts["scale_and_bias"][0].as_f64(), "{name}");
        let bias: Vec<f64> = says("bias").split(' ').map(|bias| bias.parse().unwrap()).collect();
        let want = list(&facts["scale_and_bias"][1]);
        assert!(
            bias.iter().zip(&want).all(|(a, b)| (a - b).abs() < 1e-12) && bias.len() == want.len(),
            "{name}: {bias:?} {want:?}"
        );
        assert!(says("params").contains("iterations"), "{name}");
    }
}

#[test]
fn what_is_damaged_ends_in_a_sentence() {
    for (name, want) in [
        ("cut_in_leaves", "FlatBuffer"),
        ("cut_in_header", "FlatBuffer"),
        ("root_beyond", "FlatBuffer"),
        ("size_huge", "may be cut off"),
        ("version_unknown", "FlabuffersModel_v9"),
    ] {
        let opened =
            crate::open(&Task::new(), Path::new(&path(&format!("malformed/{name}"))), &Options::default());
        let said = match &opened {
            Err(error) => error.message(),
            Ok(document) => document.root.problem_now().map(|error| error.message()).unwrap_or_default(),
        };
        assert!(said.contains(want), "{name}: {said}");
    }
}
