use super::*;
use crate::bytes::error::ErrorKind;
use crate::data::format::Options;
use crate::data::open::Document;
use crate::engines::trees::testing::{edges, facts, graph, row, table};
use proptest::prelude::*;
use serde_json::Value;
use std::path::Path;

fn path(name: &str) -> String {
    format!("{}/fixtures/lightgbm/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn opened(name: &str) -> Document {
    crate::open(&Task::new(), Path::new(&path(name)), &Options::default()).unwrap()
}

/// All rows against `trees_to_dataframe`, and importance against `feature_importance`.
fn check(name: &str, facts: &Value) {
    let document = opened(name);
    assert_eq!(document.format.id, "lightgbm", "{name}");
    assert_eq!(document.root.problem_now(), None, "{name}");
    let trees = table(&document.root, "trees");
    let rows = facts["rows"].as_array().unwrap();
    assert_eq!(trees.num_rows(), rows.len(), "{name}");
    for (n, want) in rows.iter().enumerate() {
        let got = row(&trees, n);
        for (column, want) in facts["columns"].as_array().unwrap().iter().zip(want.as_array().unwrap()) {
            let column = column.as_str().unwrap();
            let text = want.as_str().filter(|_| column == "threshold");
            let equal = match (text, want.as_f64()) {
                (Some(categories), _) => {
                    let list = got["categories"].as_array().unwrap();
                    list.iter().map(Value::to_string).collect::<Vec<_>>().join("||") == categories
                }
                (None, Some(want)) if column == "split_gain" => {
                    Some(want as f32) == got[column].as_f64().map(|x| x as f32)
                }
                // The library reads its own texts to within the last bit.
                (None, Some(want)) => {
                    got[column].as_f64().is_some_and(|got| (got - want).abs() <= want.abs() * 1e-15)
                }
                // The library does not tell how many rows a tree without splits saw.
                (None, None) => *want == got[column] || column == "count" && rows.len() == 1,
            };
            assert!(equal, "{name}, row {n}, {column}: {want} and {}", got[column]);
        }
    }
    let scores = table(&document.root, "feature importance");
    for (n, feature) in facts["features"].as_array().unwrap().iter().enumerate() {
        let got = row(&scores, n);
        assert_eq!((&got["feature"], got["split"].as_f64()), (feature, facts["split"][n].as_f64()), "{name}");
        assert_eq!(got["gain"].as_f64(), facts["gain"][n].as_f64(), "{name}, {feature}");
    }
}

#[test]
fn every_node_is_as_the_library_says() {
    let facts = facts("lightgbm");
    for name in ["regression", "classes", "linear", "zeros_missing", "stump", "monotone", "forest"] {
        check(&format!("{name}.txt"), &facts[name]);
    }
    check("windows_lines.txt", &facts["regression"]);
    check("version_3.txt", &facts["regression"]);
}

fn near(want: f64, got: f64) -> bool {
    // The library reads its own texts to within the last bit.
    (got - want).abs() <= want.abs() * 1e-15
}

/// All trees against `trees_to_dataframe`: conditions, children, where missing values go, leaves, counts.
fn check_graphs(name: &str, facts: &Value) {
    let document = opened(name);
    let columns: Vec<&str> =
        facts["columns"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    let of = |row: &Value, name: &str| row[columns.iter().position(|known| *known == name).unwrap()].clone();
    let rows = facts["rows"].as_array().unwrap();
    let trees = of(rows.last().unwrap(), "tree_index").as_f64().unwrap() as usize + 1;
    for tree in 0..trees {
        let drawn = graph(&document.root, tree).unwrap();
        let is_own = |row: &&Value| of(row, "tree_index").as_f64() == Some(tree as f64);
        let own: Vec<&Value> = rows.iter().filter(is_own).collect();
        assert_eq!(drawn.nodes().len(), own.len(), "{name}, tree {tree}");
        let place = |id: &Value| own.iter().position(|row| of(row, "node_index") == *id).unwrap();
        let mut want = Vec::new();
        for (n, (row, node)) in own.iter().zip(drawn.nodes()).enumerate() {
            let about = |name: &str| {
                node.attributes
                    .iter()
                    .find(|(known, _)| known.as_ref() == name)
                    .map(|(_, value)| value.to_string())
            };
            assert_eq!(about("node").as_deref(), of(row, "node_index").as_str());
            if let Some(count) = of(row, "count").as_f64() {
                assert_eq!(about("count"), Some(count.to_string()), "{name}, tree {tree}, node {n}");
            }
            let value = of(row, "value").as_f64().unwrap();
            let Some(feature) = of(row, "split_feature").as_str().map(str::to_owned) else {
                // The leaves of linear trees are named by their models.
                let said = about("value").unwrap_or_else(|| node.name.to_string());
                assert!(near(value, said.parse().unwrap()), "{name}, tree {tree}, node {n}: {said}");
                continue;
            };
            match of(row, "threshold") {
                Value::String(categories) => {
                    let all = format!("{feature} in {{{}}}", categories.replace("||", ", "));
                    assert_eq!(node.name.as_ref(), all, "{name}, tree {tree}, node {n}");
                }
                threshold => {
                    let (said, border) = node.name.rsplit_once(" ≤ ").unwrap();
                    assert_eq!(said, feature);
                    assert!(near(threshold.as_f64().unwrap(), border.parse().unwrap()), "{name}: {border}");
                }
            }
            let (direction, kind) = (of(row, "missing_direction"), of(row, "missing_type"));
            for (column, when, side) in [("left_child", "yes", "left"), ("right_child", "no", "right")] {
                let missing = if direction == side && kind != "None" { ", missing" } else { "" };
                want.push((n, place(&of(row, column)), format!("{when}{missing}")));
            }
        }
        want.sort();
        assert_eq!(edges(&drawn), want, "{name}, tree {tree}");
    }
}

#[test]
fn every_graph_is_as_the_library_says() {
    let facts = facts("lightgbm");
    for name in ["regression", "classes", "linear", "zeros_missing", "stump", "monotone", "forest"] {
        check_graphs(&format!("{name}.txt"), &facts[name]);
    }
    let document = opened("classes.txt");
    let node = document.root.find(&Task::new(), "trees/1").unwrap().unwrap();
    assert!(node.attributes.iter().any(|(name, value)| name == "class" && value.to_string() == "1"));
    let linear = graph(&opened("linear.txt").root, 1).unwrap();
    assert!(linear.nodes().iter().any(|node| node.operator.as_ref() == "leaf" && node.name.contains(" · ")));
}

/// A broken tree has a problem, its neighbours have their graphs.
#[test]
fn broken_trees_are_no_graphs() {
    for (name, want) in [
        ("child_beyond", "the child 88"),
        ("children_in_a_circle", "two nodes lead to it"),
        ("list_short", "too short"),
        ("not_a_number", "is no number"),
        ("categories_missing", "categories are not there"),
    ] {
        let document = opened(&format!("malformed/{name}.txt"));
        let count =
            document.root.find(&Task::new(), "trees").unwrap().unwrap().child_count().unwrap() as usize;
        let said: Vec<String> = (0..count)
            .map(|tree| graph(&document.root, tree).map_or_else(|error| error.message(), |_| "fine".into()))
            .collect();
        assert_eq!(said.iter().filter(|said| said.contains(want)).count(), 1, "{name}: {said:?}");
        assert_eq!(said.iter().filter(|said| *said == "fine").count(), count - 1, "{name}: {said:?}");
    }
}

#[test]
fn the_model_and_its_features_are_described() {
    let document = opened("regression.txt");
    let says =
        |name: &str| document.root.attributes.iter().find(|(n, _)| n == name).map(|(_, v)| v.to_string());
    assert_eq!(says("objective").as_deref(), Some("regression"));
    assert!(says("parameters").unwrap().contains("\"num_leaves\":\"4\""));
    assert_eq!(says("pandas_categorical").as_deref(), Some(r#"[["u","v","w","x","y","z"]]"#));
    let features = table(&document.root, "features");
    let kinds: Vec<Value> = (0..4).map(|n| row(&features, n)["type"].clone()).collect();
    assert_eq!(
        kinds,
        ["numerical", "numerical", "unused", "categorical"].map(|kind| if kind == "unused" {
            kinds[2].clone()
        } else {
            kind.into()
        })
    );
    assert!(row(&features, 0)["min"].as_f64() < row(&features, 0)["max"].as_f64());
    assert_eq!(row(&table(&opened("monotone.txt").root, "features"), 1)["monotone_constraint"], -1);
    let linear = table(&opened("linear.txt").root, "trees");
    let mut leaves =
        (0..linear.num_rows()).map(|n| row(&linear, n)).filter(|row| !row["leaf_const"].is_null());
    let equal = |row: serde_json::Map<String, Value>| {
        row["leaf_features"].as_array().unwrap().len() == row["leaf_coeff"].as_array().unwrap().len()
    };
    assert!(leaves.all(equal));
}

#[test]
fn what_is_damaged_ends_in_a_sentence() {
    for (name, want, trees) in [
        ("cut_in_header", "it has no trees", 0),
        ("cut_in_tree", "the file ends inside of it", 1),
        ("cut_before_end", "the file ends inside of it", 1),
        ("leaves_huge", "how many leaves", 1),
        ("no_leaves", "how many leaves", 1),
        ("child_beyond", "the child 88", 0),
        ("children_in_a_circle", "two nodes lead to it", 0),
        ("list_short", "too short", 0),
        ("not_a_number", "\"many\" is no number", 0),
        ("categories_missing", "categories are not there", 0),
        ("tree_missing", "1 trees are there, 2 are promised", 1),
    ] {
        let file = path(&format!("malformed/{name}.txt"));
        let said = match crate::open(&Task::new(), Path::new(&file), &Options::default()) {
            Err(error) => error.message(),
            Ok(document) => {
                let node = document.root.find(&Task::new(), "trees").unwrap().unwrap();
                let Some(Content::Table(table)) = &node.content else { panic!("no table") };
                let read = table.read(&Task::new(), 0..1000, &[0]);
                if trees > 0 {
                    assert_eq!(read.as_ref().unwrap().num_rows(), 7, "{name}");
                }
                let problem = document.root.problem_now().map(|error| error.message());
                problem.or(read.err().map(|error| error.message())).unwrap_or_default()
            }
        };
        assert!(said.contains(want), "{name}: {said}");
    }
}

#[test]
fn other_texts_are_not_taken() {
    for text in
        ["tree\nversion of mine\n", "trees\nversion=v4\n", "tree,version\n1,2\n", "a tree\nversion=v3\n"]
    {
        let source = Source::memory("x.txt", text.as_bytes().to_vec());
        let head = crate::formats::head(&Task::new(), &source).unwrap();
        assert_eq!(sniff(&head), Match::No, "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn flipped_bytes_end(name in prop::sample::select(vec!["regression.txt", "linear.txt"]),
                         flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let mut bytes = std::fs::read(path(name)).unwrap();
        for (at, byte) in flips {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let source = Source::memory(name, bytes);
        if let Ok(document) = crate::formats::open_source(&Task::new(), &source, &Options::default()) {
            for node in document.root.child_page(&Task::new(), 0..9).unwrap() {
                if let Some(Content::Table(table)) = &node.content
                    && let Err(error) = table.read(&Task::new(), 0..100, &[0, 1])
                {
                    prop_assert!(error.kind() != ErrorKind::Bug, "{}", error);
                }
            }
        }
    }
}
