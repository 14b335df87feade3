use super::*;
use crate::data::format::Options;
use crate::data::open::Document;
use crate::engines::trees::testing::{facts, row, table};
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
