use crate::Task;
use crate::engines::multifile::lake::write::testing::*;
use proptest::prelude::*;
use serde_json::Value as Json;
use std::path::Path;

fn metadata(path: &Path, version: u64) -> Json {
    serde_json::from_slice(&std::fs::read(path.join(format!("metadata/v{version}.metadata.json"))).unwrap())
        .unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn what_is_written_is_read_again(batch in tables(), partition in prop::sample::select(vec!["", "text", "float, with a comma", "zoned,flag,small"])) {
        round("iceberg", &batch, partition);
    }
}

#[test]
fn rows_are_added() {
    appends("iceberg");
}

#[test]
fn writers_at_once_all_come_through() {
    races("iceberg");
}

#[test]
fn a_killed_process_leaves_the_table_as_it_was() {
    killed("iceberg", "data/");
}

#[test]
fn each_commit_is_a_snapshot() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    create("iceberg", &geese(0, 4), &[("location", "s3://bucket/birds/"), ("partition_by", "pond")], &path)
        .unwrap();
    append("iceberg", &geese(4, 4), &[], &path).unwrap();
    let (one, two) = (metadata(&path, 1), metadata(&path, 2));
    assert_eq!((&one["location"], &two["last-sequence-number"]), (&"s3://bucket/birds".into(), &2.into()));
    let snapshots = two["snapshots"].as_array().unwrap();
    assert_eq!((snapshots.len(), &snapshots[1]["parent-snapshot-id"]), (2, &one["current-snapshot-id"]));
    assert_eq!(snapshots[1]["summary"]["total-records"], "8");
    assert_eq!(two["refs"]["main"]["snapshot-id"], two["current-snapshot-id"]);
    assert_eq!(std::fs::read(path.join("metadata/version-hint.text")).unwrap(), b"2");
    let document = opened(&path);
    let manifests = document.root.find(&Task::new(), "manifests").unwrap().unwrap();
    assert_eq!(rows_of(&manifests).len(), 2);
    let first =
        document.root.find(&Task::new(), &format!("snapshot={}", one["current-snapshot-id"])).unwrap();
    assert_eq!(rows_of(&first.unwrap().resolved(&Task::new()).unwrap()).len(), 4);
    // Killed before the hint was written anew.
    std::fs::write(path.join("metadata/version-hint.text"), b"1").unwrap();
    assert_eq!(rows(&path).len(), 8);
    append("iceberg", &geese(8, 1), &[], &path).unwrap();
    assert_eq!(rows(&path).len(), 9);
}

#[test]
fn tables_that_a_catalog_keeps_are_left_alone() {
    for (name, words) in [("snapshots", "catalog"), ("empty", "catalog")] {
        let (folder, from) = (
            tempfile::tempdir().unwrap(),
            Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/iceberg").join(name),
        );
        for file in files(&from) {
            let to = folder.path().join(file.strip_prefix(&from).unwrap());
            std::fs::create_dir_all(to.parent().unwrap()).unwrap();
            std::fs::copy(&file, to).unwrap();
        }
        let before = files(folder.path());
        let error = append("iceberg", &geese(0, 1), &[], folder.path()).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
        assert_eq!(files(folder.path()), before);
    }
}
