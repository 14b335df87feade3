use super::*;
use crate::bytes::error::ErrorKind;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::Content;
use crate::data::content::array::read as read_array;
use crate::data::format::Options;
use crate::data::open::Document;
use crate::data::region::Region;
use crate::engines::trees::testing::{edges, facts, graph, row, table};
use proptest::prelude::*;
use serde_json::Value;
use std::path::Path;

fn path(name: &str) -> String {
    format!("{}/fixtures/xgboost/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn opened(name: &str) -> Document {
    crate::open(&Task::new(), Path::new(&path(name)), &Options::default()).unwrap()
}

/// Whether two numbers are the same float32, or two texts the same.
fn same(want: &Value, got: &Value) -> bool {
    match (want.as_f64(), got.as_f64()) {
        (Some(want), Some(got)) => want as f32 == got as f32,
        _ => want == got,
    }
}

/// All rows against `trees_to_dataframe`, and importance against `get_score`.
fn check(name: &str, facts: &Value) {
    let document = opened(name);
    assert_eq!(document.format.id, "xgboost", "{name}");
    assert_eq!(document.root.problem_now(), None, "{name}");
    if let (Some(columns), Some(rows)) = (facts["columns"].as_array(), facts["rows"].as_array()) {
        let trees = table(&document.root, "trees");
        assert_eq!(trees.num_rows(), rows.len(), "{name}");
        for (n, want) in rows.iter().enumerate() {
            let got = row(&trees, n);
            let is_leaf = got["Feature"] == "Leaf";
            for (column, want) in columns.iter().zip(want.as_array().unwrap()) {
                let column = column.as_str().unwrap();
                let column = if column == "Gain" && is_leaf { "Leaf" } else { column };
                let got = &got[column];
                let equal = match want {
                    // The library gives categories as texts.
                    Value::Array(list) => {
                        let got = got.as_array().unwrap().iter().map(|n| Value::from(n.to_string()));
                        got.eq(list.iter().cloned())
                    }
                    want => same(want, got),
                };
                assert!(equal, "{name}, row {n}, {column}: {want} and {got}");
            }
        }
    }
    if let Some(importance) = facts["importance"].as_object() {
        let scores = table(&document.root, "feature importance");
        for (kind, want) in importance {
            let want = want.as_object().unwrap();
            assert_eq!(want.len(), scores.num_rows(), "{name}");
            for n in 0..scores.num_rows() {
                let got = row(&scores, n);
                let feature = got["feature"].as_str().unwrap();
                assert!(
                    same(&want[feature], &got[kind]),
                    "{name}, {kind} of {feature}: {} {}",
                    want[feature],
                    got[kind]
                );
            }
        }
    }
}

#[test]
fn every_node_is_as_the_library_says() {
    let facts = facts("xgboost");
    for name in ["binary", "categorical", "pruned", "multi_output", "dart_classes"] {
        for end in ["json", "ubj"] {
            check(&format!("{name}.{end}"), &facts[name]);
        }
    }
    check("stump.json", &facts["stump"]);
    check("indented.json", &facts["stump"]);
}

/// All trees against `trees_to_dataframe`: conditions, children, where missing values go, leaves.
fn check_graphs(name: &str, facts: &Value) {
    let document = opened(name);
    let columns: Vec<&str> =
        facts["columns"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    let of = |row: &Value, name: &str| row[columns.iter().position(|known| *known == name).unwrap()].clone();
    let rows = facts["rows"].as_array().unwrap();
    let trees = of(rows.last().unwrap(), "Tree").as_f64().unwrap() as usize + 1;
    for tree in 0..trees {
        let drawn = graph(&document.root, tree).unwrap();
        let own: Vec<&Value> =
            rows.iter().filter(|row| of(row, "Tree").as_f64() == Some(tree as f64)).collect();
        assert_eq!(drawn.nodes().len(), own.len(), "{name}, tree {tree}");
        let place = |id: &Value| own.iter().position(|row| of(row, "ID") == *id).unwrap();
        let mut want = Vec::new();
        for (n, (row, node)) in own.iter().zip(drawn.nodes()).enumerate() {
            let single = |name: &str| crate::data::cell::float32(of(row, name).as_f64().unwrap() as f32);
            let feature = of(row, "Feature").as_str().unwrap().to_owned();
            let said = match (feature.as_str(), of(row, "Category").as_array()) {
                ("Leaf", _) => single("Gain"),
                (feature, Some(categories)) => {
                    let all: Vec<&str> =
                        categories.iter().map(|category| category.as_str().unwrap()).collect();
                    format!("{feature} in {{{}}}", all.join(", "))
                }
                (feature, None) => format!("{feature} < {}", single("Split")),
            };
            assert_eq!(node.name.as_ref(), said, "{name}, tree {tree}, node {n}");
            assert_eq!(node.operator.as_ref(), if feature == "Leaf" { "leaf" } else { "split" });
            let cover =
                node.attributes.iter().find(|(name, _)| name.as_ref() == "cover").unwrap().1.to_string();
            assert_eq!(cover.parse::<f32>().unwrap(), of(row, "Cover").as_f64().unwrap() as f32);
            if feature == "Leaf" {
                continue;
            }
            for (column, when) in [("Yes", "yes"), ("No", "no")] {
                let missing = if of(row, "Missing") == of(row, column) { ", missing" } else { "" };
                want.push((n, place(&of(row, column)), format!("{when}{missing}")));
            }
        }
        want.sort();
        assert_eq!(edges(&drawn), want, "{name}, tree {tree}");
    }
}

#[test]
fn every_graph_is_as_the_library_says() {
    let facts = facts("xgboost");
    for name in ["binary", "categorical", "pruned", "multi_output", "dart_classes"] {
        for end in ["json", "ubj"] {
            if facts[name]["rows"].is_array() {
                check_graphs(&format!("{name}.{end}"), &facts[name]);
            }
        }
    }
    check_graphs("stump.json", &facts["stump"]);
    let several = graph(&opened("multi_output.json").root, 0).unwrap();
    let leaf = several.nodes().iter().find(|node| node.operator.as_ref() == "leaf").unwrap();
    assert_eq!(leaf.name.split(", ").count(), 3, "{}", leaf.name);
    let old = opened("old_dart.xgb");
    assert_eq!(graph(&old.root, 5).unwrap().nodes()[0].operator.as_ref(), "split");
    let node = old.root.find(&Task::new(), "trees/5").unwrap().unwrap();
    assert!(node.attributes.iter().any(|(name, value)| name == "group" && value.to_string() == "2"));
}

/// A broken tree has a problem, its neighbours have their graphs.
#[test]
fn broken_trees_are_no_graphs() {
    for (name, want) in [
        ("children_in_a_circle.json", "two nodes lead to it"),
        ("child_beyond.json", "node 77"),
        ("list_short.json", "0 features"),
        ("not_a_number.json", "split_indices has"),
    ] {
        let document = opened(&format!("malformed/{name}"));
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
fn leaves_of_several_outputs_are_lists() {
    for name in ["multi_output.json", "multi_output.ubj"] {
        let trees = table(&opened(name).root, "trees");
        let leaf = row(&trees, trees.num_rows() - 1);
        assert_eq!(leaf["Leaf"].as_array().unwrap().len(), 3, "{name}");
    }
}

fn numbers(document: &Document, node: &str) -> (Vec<u64>, Vec<f32>) {
    let found = document.root.find(&Task::new(), node).unwrap().unwrap();
    let Some(Content::Array(array)) = &found.content else { panic!("{node} is no array") };
    let bytes = read_array(array.as_ref(), &Task::new(), &Region::all(array.shape())).unwrap();
    let numbers = bytes.chunks_exact(4).map(|x| f32::from_le_bytes(x.try_into().unwrap())).collect();
    (array.shape().to_vec(), numbers)
}

#[test]
fn linear_models_have_their_weights() {
    let json = numbers(&opened("linear.json"), "weights");
    assert_eq!((json.0.as_slice(), json.1.len()), (&[5u64][..], 5));
    assert_eq!(json, numbers(&opened("linear.ubj"), "weights"));
    assert_eq!(numbers(&opened("old_gblinear.xgb"), "weights").0, [5]);
    assert_eq!(
        numbers(&opened("dart_classes.ubj"), "weight_drop"),
        numbers(&opened("dart_classes.json"), "weight_drop")
    );
}

#[test]
fn the_binary_format_reads_with_and_without_its_mark() {
    let says = |name: &str| {
        let document = opened(name);
        let attribute =
            |name: &str| document.root.attributes.iter().find(|(n, _)| n == name).map(|(_, v)| v.to_string());
        (table(&document.root, "trees").num_rows(), attribute("objective"), attribute("attributes.note"))
    };
    let want = (14, Some("binary:logistic".to_owned()), Some("old".to_owned()));
    assert_eq!(says("old_gbtree.xgb"), want);
    assert_eq!(says("old_no_mark.xgb"), want);
    let dart = opened("old_dart.xgb");
    assert_eq!(table(&dart.root, "trees").num_rows(), 42);
    assert_eq!(numbers(&dart, "weight_drop").0, [6]);
    let groups = table(&dart.root, "trees");
    assert_eq!(row(&groups, groups.num_rows() - 1)["Group"], 2);
}

/// A large model is read from both of its ends.
#[test]
fn what_follows_the_trees_of_a_large_model_is_found_from_its_end() {
    for name in ["dart_classes.json", "dart_classes.ubj"] {
        let bytes = std::fs::read(path(name)).unwrap();
        let (task, syntax) =
            (Task::new(), if name.ends_with("json") { Syntax::Json } else { Syntax::Ubjson });
        let source = Source::memory(name, bytes);
        let [whole, ends] = [u64::MAX, 0].map(|most| {
            let root = document::open_within(&task, &source, syntax, most).unwrap().node(&task).unwrap();
            assert!(root.problem.is_none(), "{name}: {:?}", root.problem);
            let mut attributes: Vec<String> =
                root.attributes.iter().map(|(n, v)| format!("{n}={v}")).collect();
            attributes.sort();
            (attributes, root.child_count())
        });
        assert_eq!(whole, ends, "{name}");
    }
}

#[test]
fn what_is_damaged_ends_in_a_sentence() {
    let says = |name: &str| -> String {
        match crate::open(&Task::new(), Path::new(&path(&format!("malformed/{name}"))), &Options::default()) {
            Err(error) => error.message(),
            Ok(document) => {
                assert_eq!(document.format.id, "xgboost", "{name}");
                let read = document.root.find(&Task::new(), "trees").unwrap().map(|node| {
                    let Some(Content::Table(trees)) = &node.content else { panic!("no table") };
                    trees.read(&Task::new(), 0..100, &[0, 4]).map(|batch| batch.num_rows())
                });
                let problem = document.root.problem_now().map(|error| error.message());
                format!(
                    "{} | {}",
                    problem.unwrap_or_default(),
                    read.map_or("none".to_owned(), |read| format!("{read:?}"))
                )
            }
        }
    };
    for (name, want) in [
        ("cut_in_tree.json", "the text ends inside a value"),
        ("cut_in_tree.ubj", "the file ends inside a value"),
        ("cut_before_trees.ubj", "the file ends inside a value"),
        ("cut_in_tree.xgb", "the file ends inside of it"),
        ("children_in_a_circle.json", "two nodes lead to it"),
        ("child_beyond.json", "node 77"),
        ("nodes_too_many.json", "cannot have 300000000 nodes"),
        ("no_nodes.json", "cannot have 0 nodes"),
        ("trees_missing.json", "1 trees are there, 9 are promised"),
        ("list_short.json", "0 features"),
        ("not_a_number.json", "split_indices has"),
        ("list_huge.ubj", "the file ends inside a value"),
        ("list_negative.ubj", "a length of -1"),
        ("type_unknown.ubj", "0x"),
        ("nodes_negative.xgb", "-1 nodes"),
    ] {
        let said = says(name);
        assert!(said.contains(want), "{name}: {said}");
    }
    // Trees before a broken one are there.
    assert!(says("cut_in_tree.json").contains("Ok("));
}

#[test]
fn other_json_is_not_taken() {
    for text in [
        r#"{"learner": {"name": "x"}, "version": 3}"#,
        r#"{"a": {"gradient_booster": {}}, "version": [1]}"#,
        r#"[{"learner": {"gradient_booster": {}}}]"#,
    ] {
        let source = Source::memory("x.json", text.as_bytes().to_vec());
        let head = crate::formats::head(&Task::new(), &source).unwrap();
        assert_eq!(sniff(&head), Match::No, "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn flipped_bytes_end(name in prop::sample::select(vec!["binary.json", "categorical.ubj", "old_dart.xgb"]),
                         flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let mut bytes = std::fs::read(path(name)).unwrap();
        for (at, byte) in flips {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let source = Source::memory(name, bytes);
        let opened = crate::formats::open_source(&Task::new(), &source, &Options::default());
        if let Err(error) = &opened {
            prop_assert!(error.kind() != ErrorKind::Bug, "{}", error);
        }
        for node in opened.iter().flat_map(|document| document.root.child_page(&Task::new(), 0..9).unwrap()) {
            if let Some(Content::Table(table)) = &node.content
                && let Err(error) = table.read(&Task::new(), 0..100, &[0, 1])
            {
                prop_assert!(error.kind() != ErrorKind::Bug, "{}", error);
            }
        }
    }
}
