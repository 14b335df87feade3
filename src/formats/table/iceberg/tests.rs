use super::*;
use crate::bytes::source::Source;
use crate::data::format::Options;
use crate::data::open::Document;
use crate::formats::open_source;

fn try_open(name: &str) -> Result<Document> {
    let path = format!("{}/fixtures/iceberg/{name}", env!("CARGO_MANIFEST_DIR"));
    let task = Task::new();
    open_source(&task, &Source::open(&task, path.as_ref()).unwrap(), &Options::default())
}

/// Rows of a node's table as texts, sorted.
fn rows(node: &Node) -> Vec<Vec<Option<String>>> {
    let Some(Content::Table(table)) = &node.content else { panic!("{:?}", node.problem) };
    let columns: Vec<usize> = (0..table.schema().fields().len()).collect();
    let batch = table.read(&Task::new(), 0..1000, &columns).unwrap();
    let cell = |n: usize| batch.columns().iter().map(|c| crate::data::cell::text(c, n)).collect();
    let mut rows: Vec<_> = (0..batch.num_rows()).map(cell).collect();
    rows.sort();
    rows
}

#[test]
fn every_snapshot_and_tag_is_there_though_the_table_was_moved() {
    let document = try_open("snapshots").unwrap();
    assert_eq!(document.format.id, "iceberg");
    assert_eq!(rows(&document.root).len(), 8);
    let task = Task::new();
    let history = document.root.find(&task, "history").unwrap().unwrap();
    let snapshots: Vec<String> = rows(&history).into_iter().map(|row| row[0].clone().unwrap()).collect();
    let mut counts: Vec<usize> = snapshots
        .iter()
        .map(|id| rows(&document.root.find(&task, &format!("snapshot={id}")).unwrap().unwrap()).len())
        .collect();
    counts.sort_unstable();
    assert_eq!(counts.first(), Some(&6));
    assert_eq!(counts.last(), Some(&10));
    assert_eq!(rows(&document.root.find(&task, "tag=ringed").unwrap().unwrap()).len(), 8);
    assert!(document.root.find(&task, "snapshot=1").unwrap().is_none());
    let files = document.root.find(&task, "files").unwrap().unwrap();
    assert!(files.problem.is_none() && !rows(&files).is_empty());
}

#[test]
fn snapshots_have_their_files_and_manifests_and_are_found_by_time() {
    let document = try_open("snapshots").unwrap();
    let (task, timeline) = (Task::new(), document.root.timeline.clone().unwrap());
    let at = |path: &str| document.root.find(&task, path).unwrap().unwrap();
    let current = timeline.versions.name(timeline.versions.current().unwrap());
    assert_eq!(rows(&at(&format!("{current}/files"))), rows(&at("files")));
    assert_eq!(rows(&at(&format!("{current}/manifests"))), rows(&at("manifests")));
    let first = rows(&at(&format!("{}/files", timeline.versions.name(0))));
    assert_eq!(first.iter().map(|row| row[5].as_ref().unwrap().parse::<u64>().unwrap()).sum::<u64>(), 6);
    assert!(first.iter().all(|row| row[8].as_ref().unwrap().contains("\"id\":")), "{first:?}");
    assert!(first.iter().all(|row| row[10].as_ref().unwrap().contains("\"id\":0")), "{first:?}");
    let manifests = rows(&at("manifests"));
    assert!(!manifests.is_empty() && manifests.iter().all(|row| row[1].as_deref() == Some("there")));
    let about = timeline.versions.about(&task, 0).unwrap();
    let found = at(&format!("timestamp={}", about.time.unwrap()));
    assert_eq!(rows(&found).len(), 6);
    assert_eq!(rows(&at("timestamp=2999-01-01")).len(), 8);
    assert!(document.root.find(&task, "timestamp=1990-01-01T00:00:00").unwrap().is_none());
}

#[test]
fn schemas_stand_in_a_table_with_the_snapshots_that_had_them_first() {
    let document = try_open("evolved").unwrap();
    let schemas = document.root.find(&Task::new(), "schemas").unwrap().unwrap();
    let lines = rows(&schemas);
    let last = lines.iter().map(|row| row[0].clone().unwrap()).max().unwrap();
    let names = |of: &str| -> Vec<String> {
        lines.iter().filter(|row| row[0].as_deref() == Some(of)).map(|row| row[2].clone().unwrap()).collect()
    };
    assert!(last != "0" && !names("0").contains(&"weight".to_owned()), "{lines:?}");
    assert!(names(&last).contains(&"weight".to_owned()) && names(&last).contains(&"called".to_owned()));
    assert!(lines.iter().any(|row| row[5].is_some()));
}

#[test]
fn columns_are_found_by_id() {
    let document = try_open("evolved").unwrap();
    let Some(Content::Table(table)) = &document.root.content else { panic!() };
    let names: Vec<&str> = table.schema().fields().iter().map(|f| f.name().as_str()).collect();
    assert_eq!(names, ["id", "called", "weight"]);
    let all = rows(&document.root);
    assert_eq!(all[0], [Some("0".into()), Some("goose 0".into()), None]);
    assert_eq!(all[2], [Some("9".into()), Some("nine".into()), Some("4".into())]);
}

#[test]
fn partitions_and_old_versions_and_nothing_at_all() {
    assert_eq!(rows(&try_open("partitioned").unwrap().root).len(), 6);
    assert_eq!(rows(&try_open("version_1").unwrap().root).len(), 3);
    assert_eq!(rows(&try_open("empty").unwrap().root).len(), 0);
}

#[test]
fn what_is_broken_is_named() {
    let problem = |name: &str| {
        try_open(name).unwrap().root.problem.as_ref().map(ToString::to_string).unwrap_or_default()
    };
    assert!(
        problem("malformed/manifest_missing").contains("avro"),
        "{}",
        problem("malformed/manifest_missing")
    );
    assert!(problem("malformed/data_missing").contains("parquet"), "{}", problem("malformed/data_missing"));
    assert!(try_open("malformed/not_json").err().unwrap().to_string().contains("no JSON"));
    assert!(try_open("malformed/version_9").err().unwrap().to_string().contains("format version 9"));
}

#[test]
fn snapshots_stand_in_the_order_in_which_they_were_made() {
    let document = try_open("snapshots").unwrap();
    let timeline = document.root.timeline.clone().unwrap();
    let (task, versions) = (Task::new(), &timeline.versions);
    let about: Vec<_> = (0..versions.count()).map(|n| versions.about(&task, n).unwrap()).collect();
    assert!(about.len() > 1 && about.is_sorted_by_key(|version| version.time.clone()));
    assert_eq!(about.first().unwrap().operation.as_deref(), Some("append"));
    let current = versions.current().unwrap();
    assert!(about[current].marks.contains(&"branch main".to_owned()));
    for n in 0..versions.count() {
        let node = document.root.find(&task, &versions.name(n)).unwrap().unwrap();
        assert_eq!(node.timeline.as_ref().unwrap().at, Some(n));
    }
    let tag = document.root.find(&task, "tag=ringed").unwrap().unwrap();
    assert_eq!(tag.timeline.as_ref().unwrap().at.map(|n| rows_of(versions.name(n), &document)), Some(8));
}

fn rows_of(name: String, document: &Document) -> usize {
    rows(&document.root.find(&Task::new(), &name).unwrap().unwrap()).len()
}

#[test]
fn partitions_that_only_manifests_have_are_values() {
    let text = |words: [&str; 4]| words.map(|word| (!word.is_empty()).then(|| word.to_owned())).to_vec();
    let expected = [
        text(["1", "0x00ff", "0x616263", "1.50"]),
        text(["2", "0x", "0x000102", "-2.00"]),
        text(["3", "", "", ""]),
    ];
    assert_eq!(rows(&try_open("only_in_manifests").unwrap().root), expected);
}

#[test]
fn snapshots_may_have_numbers_beyond_63_bits() {
    let (document, expected) = (try_open("unsigned").unwrap(), try_open("snapshots").unwrap());
    assert_eq!(rows(&document.root), rows(&expected.root));
    let task = Task::new();
    let all = rows(&document.root.find(&task, "history").unwrap().unwrap());
    for snapshot in &all {
        let id = snapshot[0].clone().unwrap();
        assert!(id.parse::<u64>().unwrap() > i64::MAX as u64);
        let node = document.root.find(&task, &format!("snapshot={id}")).unwrap().unwrap();
        assert!(node.problem.is_none() && !rows(&node).is_empty());
    }
    // One that is not there is no empty table.
    let lost = try_open("malformed/snapshot_missing").unwrap();
    assert!(lost.root.problem.as_ref().unwrap().to_string().contains("the current snapshot 7"));
    assert!(lost.root.content.is_none());
}

#[test]
fn paths_lead_from_the_table_or_from_around_it() {
    let expected = rows(&try_open("partitioned").unwrap().root);
    for name in ["relative", "around"] {
        let document = try_open(name).unwrap();
        assert_eq!(rows(&document.root), expected, "{name}");
        let files = document.root.find(&Task::new(), "files").unwrap().unwrap();
        assert!(files.problem.is_none(), "{name}");
    }
}
