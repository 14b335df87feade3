use super::*;
use crate::data::cell;
use crate::data::media::features::{self, Feature};
use crate::data::media::{MediaKind, Place, find};
use crate::data::open::Document;
use std::path::Path;

fn opened(name: &str) -> Document {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/hf_dataset")).join(name);
    crate::formats::open(&Task::new(), &path, &Options::default()).unwrap()
}

fn column(document: &Document, name: &str) -> Vec<String> {
    let table = table_of(document).unwrap();
    let at = table.schema().index_of(name).unwrap();
    let total = table.count(&Task::new()).unwrap();
    let batch = table.read(&Task::new(), 0..total, &[at]).unwrap();
    (0..batch.num_rows()).map(|row| cell::shown(batch.column(0).as_ref(), row).unwrap_or_default()).collect()
}

fn said(document: &Document) -> Vec<(String, Feature)> {
    features::of(table_of(document).unwrap().schema(), &document.root.attributes)
}

#[test]
fn what_is_saved_is_one_table_with_its_features() {
    let document = opened("saved");
    assert_eq!(document.format.id, "hf_dataset");
    assert_eq!(column(&document, "id"), ["0", "1", "2", "3", "4"]);
    assert_eq!(column(&document, "matrix")[1], "[[1.0,2.0,3.0],[4.0,5.0,6.0]]");
    let table = table_of(&document).unwrap();
    let place = Place::of_node(&document.source, "", &document.root);
    let media =
        find(&Task::new(), crate::formats::ALL, table.as_ref(), &document.root.attributes, &place).unwrap();
    let kinds: Vec<_> = media.columns.iter().map(|column| (column.column, column.kind)).collect();
    assert_eq!(kinds, [(1, MediaKind::Image), (3, MediaKind::Array)]);
    assert_eq!(media.labels[0].names.to_vec(), ["goose", "duck"]);
}

#[test]
fn splits_are_a_column_and_nodes() {
    for name in ["saved_dict", "cached", "repository_plain"] {
        let document = opened(name);
        assert_eq!(document.format.id, "hf_dataset", "{name}");
        assert_eq!(column(&document, "id"), ["0", "1", "2", "3", "4"], "{name}");
        assert_eq!(column(&document, "split"), ["train", "train", "train", "test", "test"], "{name}");
        let test = document.root.find(&Task::new(), "/test").unwrap().unwrap();
        let Some(Content::Table(table)) = &test.content else { panic!("{name}: no table") };
        assert_eq!((table.count(&Task::new()).unwrap(), test.label), (2, "split"));
        assert!(
            said(&document).iter().any(|(_, feature)| matches!(feature, Feature::ClassLabel(_))),
            "{name}"
        );
    }
}

#[test]
fn a_readme_says_configurations_and_features() {
    let document = opened("repository");
    assert_eq!(column(&document, "split"), ["train", "train", "train", "test", "test"]);
    let said = said(&document);
    let label = features::named(&said, "label").unwrap();
    assert_eq!(label.names().unwrap().to_vec(), ["goose", "duck"]);
    let small = document.root.find(&Task::new(), "/small").unwrap().unwrap();
    let Some(Content::Table(table)) = &small.content else { panic!("no table") };
    assert_eq!(table.count(&Task::new()).unwrap(), 2);
}

#[test]
fn other_folders_stay_folders() {
    let trees: [&[(&str, &str)]; 4] = [
        &[("README.md", "# Hello"), ("src/main.rs", "")],
        &[("README.md", "---\ntitle: x\n---\n"), ("a.csv", "a\n1\n"), ("b/c.txt", "x")],
        &[("data/a.csv", "a\n1\n"), ("x/y.txt", "x")],
        &[("README.md", "---\nconfigs:\n- config_name: a\n  data_files: none/*\n---\n"), ("a/b.txt", "x")],
    ];
    for tree in trees {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in tree {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let document = crate::formats::open(&Task::new(), folder.path(), &Options::default()).unwrap();
        assert_eq!(document.format.id, "folder", "{tree:?}");
    }
}

#[test]
fn names_of_files_tell_splits() {
    let cases = [
        ("data/train-00000-of-00002.parquet", Some("train"), Some("train")),
        ("geese-validation.arrow", None, Some("validation")),
        ("plain/dev.csv", None, Some("validation")),
        ("val/0.jsonl", None, Some("validation")),
        ("extra-00000-of-00001.parquet", Some("extra"), None),
        ("rows.csv", None, None),
    ];
    for (name, shard, word) in cases {
        assert_eq!((files::sharded(name).as_deref(), files::split_of(name)), (shard, word), "{name}");
    }
    let all = ["a/x.csv", "a/b/x.csv", "y.csv"].map(str::to_owned);
    assert_eq!(files::matching(&all, "a/*.csv"), ["a/x.csv"]);
    assert_eq!(files::matching(&all, "a/**/*.csv"), ["a/x.csv", "a/b/x.csv"]);
    assert_eq!(files::matching(&all, "**"), all);
}

#[test]
fn what_is_missing_is_said_and_the_rest_is_shown() {
    let document = opened("malformed/shard_missing");
    assert_eq!(column(&document, "id").len(), 3);
    assert!(
        document.root.remarks.join("\n").contains("data-00001-of-00002.arrow"),
        "{:?}",
        document.root.remarks
    );
    assert_eq!(column(&opened("malformed/no_json"), "id").len(), 5);
}
