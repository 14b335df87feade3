use super::*;
use crate::bytes::source::Source;
use crate::data::content::Content;
use crate::data::format::Options;
use crate::data::open::Document;
use crate::formats::open_source;

fn opened(name: &str) -> Document {
    let path = format!("{}/fixtures/delta/{name}", env!("CARGO_MANIFEST_DIR"));
    let task = Task::new();
    open_source(&task, &Source::open(&task, path.as_ref()).unwrap(), &Options::default()).unwrap()
}

fn find(document: &Document, node: &str) -> Arc<Node> {
    document.root.find(&Task::new(), node).unwrap().unwrap()
}

/// Rows of a node's table as texts.
fn rows(node: &Node) -> Vec<Vec<Option<String>>> {
    let Some(Content::Table(table)) = &node.content else { panic!("{:?}", node.problem) };
    let columns: Vec<usize> = (0..table.schema().fields().len()).collect();
    let batch = table.read(&Task::new(), 0..1000, &columns).unwrap();
    let cell = |n: usize| batch.columns().iter().map(|c| crate::data::cell::text(c, n)).collect();
    (0..batch.num_rows()).map(cell).collect()
}

fn ids(node: &Node) -> Vec<i64> {
    let mut ids: Vec<i64> = rows(node).iter().map(|row| row[0].as_ref().unwrap().parse().unwrap()).collect();
    ids.sort_unstable();
    ids
}

#[test]
fn every_version_is_there() {
    let document = opened("versions");
    assert_eq!(document.format.id, "delta");
    assert_eq!(ids(&document.root), [100, 101, 102]);
    assert_eq!(ids(&find(&document, "version=0")), (0..6).collect::<Vec<_>>());
    assert_eq!(ids(&find(&document, "version=1")), (0..10).collect::<Vec<_>>());
    assert_eq!(ids(&find(&document, "version=2")), (2..10).collect::<Vec<_>>());
    assert!(document.root.find(&Task::new(), "version=4").unwrap().is_none());
    let operations: Vec<_> =
        rows(&find(&document, "history")).into_iter().map(|row| row[2].clone().unwrap()).collect();
    assert_eq!(operations, ["WRITE", "WRITE", "DELETE", "WRITE"]);
}

#[test]
fn files_are_listed_with_what_the_log_says() {
    let document = opened("versions");
    let node = find(&document, "files");
    let states: Vec<_> = rows(&node).into_iter().map(|row| row[1].clone().unwrap()).collect();
    assert_eq!(states.iter().filter(|s| *s == "in the table").count(), 1);
    assert!(states.iter().any(|s| s == "not in this version"));
    assert!(node.problem.is_none());
    let missing = find(&opened("malformed/file_missing"), "files");
    assert!(missing.problem.as_ref().unwrap().to_string().contains("missing"));
}

#[test]
fn every_version_has_its_files_and_is_found_by_time() {
    let document = opened("versions");
    let paths = |node: &str| -> Vec<String> {
        let there = rows(&find(&document, node)).into_iter();
        there
            .filter(|row| row[1].as_deref() == Some("in the table"))
            .map(|row| row[0].clone().unwrap())
            .collect()
    };
    let newest = paths("files");
    assert_eq!(paths("version=3/files"), newest);
    let oldest = rows(&find(&document, "version=0/files"));
    let own = oldest.iter().find(|row| row[1].as_deref() == Some("in the table")).unwrap();
    assert_eq!(own[3].as_deref(), Some("6"));
    assert!(own[7].as_ref().unwrap().contains("\"id\":0"), "{own:?}");
    assert!(!newest.contains(own[0].as_ref().unwrap()));
    let versions = document.root.timeline.clone().unwrap().versions;
    let time = |n: usize| versions.about(&Task::new(), n).unwrap().time.unwrap();
    for n in 0..versions.count() {
        // Versions that were made in the same millisecond are told apart by nobody.
        let last = (n..versions.count()).take_while(|later| time(*later) == time(n)).last().unwrap();
        assert_eq!(find(&document, &format!("timestamp={}", time(n))).name, format!("version={last}"));
    }
    assert_eq!(ids(&find(&document, "timestamp=2999-12-31")), [100, 101, 102]);
    assert_eq!(
        rows(&find(&document, "timestamp=2999-12-31T00:00:00/files")).len(),
        rows(&find(&document, "files")).len()
    );
    assert!(document.root.find(&Task::new(), "timestamp=1990-01-01").unwrap().is_none());
    assert!(document.root.find(&Task::new(), "timestamp=soon").unwrap().is_none());
}

#[test]
fn partition_columns_come_from_the_log() {
    let all = rows(&opened("partitioned").root);
    let seven = all.iter().find(|row| row[0].as_deref() == Some("7")).unwrap();
    assert_eq!(seven[2].as_deref(), Some("south"));
    assert_eq!(all.iter().filter(|row| row[2].is_none()).count(), 3);
}

#[test]
fn a_file_whose_partition_value_does_not_fit_is_left_out() {
    let (folder, fixture) = (tempfile::tempdir().unwrap(), "fixtures/delta/partitioned");
    let fixture = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(fixture);
    for inner in std::fs::read_dir(fixture).unwrap().map(|entry| entry.unwrap()) {
        let to = folder.path().join(inner.file_name());
        std::fs::create_dir(&to).unwrap();
        for file in std::fs::read_dir(inner.path()).unwrap().map(|entry| entry.unwrap()) {
            std::fs::copy(file.path(), to.join(file.file_name())).unwrap();
        }
    }
    // The ponds become numbers: 7, one that stands for null, and a name.
    let path = folder.path().join("_delta_log/00000000000000000000.json");
    let log = std::fs::read_to_string(&path).unwrap();
    let changed = log
        .replace(r#"\"pond\",\"type\":\"string\""#, r#"\"pond\",\"type\":\"integer\""#)
        .replace(r#"{"pond":"north"}"#, r#"{"pond":"7"}"#)
        .replace(r#"{"pond":null}"#, r#"{"pond":"__HIVE_DEFAULT_PARTITION__"}"#);
    std::fs::write(&path, changed).unwrap();
    let task = Task::new();
    let source = Source::open(&task, folder.path()).unwrap();
    let document = open_source(&task, &source, &Options::default()).unwrap();
    for node in [document.root.clone(), find(&document, "version=0")] {
        assert_eq!(ids(&node), [0, 2, 3, 5, 6, 8]);
        assert_eq!(rows(&node).iter().filter(|row| row[2].as_deref() == Some("7")).count(), 3);
        assert_eq!(rows(&node).iter().filter(|row| row[2].is_none()).count(), 3);
        let problem = node.problem.as_ref().unwrap().to_string();
        assert!(problem.contains("1 of its 3 files") && problem.contains("pond=south/"), "{problem}");
        assert!(node.remarks.iter().any(|remark| remark.contains("pond=south/")), "{:?}", node.remarks);
    }
    assert_eq!(rows(&find(&document, "history")).len(), 1);
    assert_eq!(rows(&find(&document, "files")).len(), 3);
}

#[test]
fn what_the_log_says_of_files_leaves_them_out() {
    let document = opened("partitioned");
    let Some(Content::Table(table)) = &document.root.content else { panic!() };
    let said = table.parts(&[2, 0]).unwrap();
    let ponds: Vec<_> = (0..3).map(|n| crate::data::cell::text(said.columns[0].min.as_ref(), n)).collect();
    // One of the ponds is null, and so are all of its rows.
    assert_eq!((ponds.iter().flatten().count(), said.columns[0].nulls.values().iter().sum::<u64>()), (2, 3));
    let all = table.read(&Task::new(), 0..9, &[2, 0]).unwrap();
    let mut row = 0;
    for (n, rows) in said.counts().into_iter().enumerate() {
        for _ in 0..rows {
            assert_eq!(crate::data::cell::text(all.column(0).as_ref(), row), ponds[n]);
            let number = |array: &dyn arrow::array::Array, at| {
                crate::data::cell::text(array, at).unwrap().parse::<i64>().unwrap()
            };
            let id = number(all.column(1).as_ref(), row);
            assert!(number(said.columns[1].min.as_ref(), n) <= id);
            assert!(number(said.columns[1].max.as_ref(), n) >= id);
            row += 1;
        }
    }
    assert_eq!(row, 9);
    let south: Vec<bool> = ponds.iter().map(|pond| pond.as_deref() == Some("south")).collect();
    assert_eq!(table.with_parts(&south).unwrap().rows(), crate::data::content::Rows::Exact(3));
}

#[test]
fn checkpoints_and_the_commits_after_them() {
    let document = opened("checkpointed");
    assert_eq!(ids(&document.root), [0, 1, 2, 3, 4, 5]);
    assert_eq!(ids(&find(&document, "version=4")), [0, 1, 2, 3, 4]);
}

#[test]
fn old_files_lack_what_was_added() {
    let mut all = rows(&opened("evolved").root);
    all.sort();
    let one = |a: &str, b: Option<&str>| vec![Some(a.to_owned()), b.map(str::to_owned)];
    assert_eq!(all, [one("1", None), one("2", None), one("3", Some("new"))]);
}

#[test]
fn vectors_delete_and_mapped_columns_are_found() {
    let document = opened("deletion_vector");
    assert_eq!(ids(&document.root), [0, 3, 4, 5, 6, 7, 8]);
    assert_eq!(ids(&find(&document, "version=0")).len(), 10);
    let mapped = opened("column_mapping");
    let Some(Content::Table(table)) = &mapped.root.content else { panic!() };
    assert_eq!(table.schema().field(1).name(), "the, letter");
    assert_eq!(rows(&mapped.root)[1][1].as_deref(), Some("y"));
}

#[test]
fn what_is_broken_is_named() {
    let problem =
        |name: &str| opened(name).root.problem.as_ref().map(ToString::to_string).unwrap_or_default();
    assert!(problem("malformed/gap").contains("version 1"), "{}", problem("malformed/gap"));
    assert!(problem("malformed/unknown_feature").contains("telepathy"));
    assert!(problem("malformed/vector_broken").contains("checksum"));
    let broken = opened("malformed/not_json");
    assert!(broken.root.problem.as_ref().unwrap().to_string().contains("no JSON"));
    // What comes before the broken commit is still there.
    assert_eq!(ids(&find(&broken, "version=1")).len(), 10);
    let path = format!("{}/fixtures/delta/malformed/no_log", env!("CARGO_MANIFEST_DIR"));
    let task = Task::new();
    let error = open_source(&task, &Source::open(&task, path.as_ref()).unwrap(), &Options::default()).err();
    assert!(error.unwrap().to_string().contains("no commit"));
}

#[test]
fn versions_say_when_and_by_what_they_were_made() {
    let document = opened("versions");
    let timeline = document.root.timeline.clone().unwrap();
    let versions = &timeline.versions;
    assert_eq!((timeline.at, versions.count(), versions.current()), (None, 4, Some(3)));
    let about = versions.about(&Task::new(), 2).unwrap();
    assert_eq!(about.operation.as_deref(), Some("DELETE"));
    assert!(about.time.unwrap().ends_with("+00:00"));
    assert!(about.details.iter().any(|(name, _)| name == "predicate"));
    let old = find(&document, &versions.name(2));
    assert_eq!(old.timeline.as_ref().unwrap().at, Some(2));
}

#[test]
fn actions_may_lie_over_several_lines() {
    let (document, expected) = (opened("spread"), opened("versions"));
    for node in ["version=0", "version=1", "version=2", "version=3", "history"] {
        assert_eq!(rows(&find(&document, node)), rows(&find(&expected, node)), "{node}");
    }
}
