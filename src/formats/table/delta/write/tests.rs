use crate::engines::multifile::lake::write::testing::*;
use arrow::array::{
    ArrayRef, Date32Array, Decimal128Array, Int32Array, RecordBatch, TimestampMicrosecondArray,
};
use proptest::prelude::*;
use serde_json::Value as Json;
use std::path::Path;
use std::sync::Arc;

fn commit(path: &Path, version: u64) -> Vec<Json> {
    let text = std::fs::read_to_string(path.join(super::commit_path(version))).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn what_is_written_is_read_again(batch in tables(), partition in prop::sample::select(vec!["", "small", "zoned,flag"])) {
        round("delta", &batch, partition);
    }
}

#[test]
fn rows_are_added() {
    appends("delta");
}

#[test]
fn writers_at_once_all_come_through() {
    races("delta");
}

#[test]
fn a_killed_process_leaves_the_table_as_it_was() {
    killed("delta", "");
}

#[test]
fn the_log_says_what_is_in_the_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    let days: ArrayRef = Arc::new(Date32Array::from(vec![Some(1), None, Some(-1)]));
    let prices: ArrayRef =
        Arc::new(Decimal128Array::from(vec![150, -5, 7]).with_precision_and_scale(9, 2).unwrap());
    let numbers: ArrayRef = Arc::new(Int32Array::from(vec![3, 1, 2]));
    let batch = RecordBatch::try_from_iter([("day", days), ("price", prices), ("n", numbers)]).unwrap();
    create("delta", &batch, &[("name", "prices")], &path).unwrap();
    let actions = commit(&path, 0);
    assert_eq!(actions[1]["protocol"]["minReaderVersion"], 1);
    assert_eq!(actions[2]["metaData"]["name"], "prices");
    let stats: Json = serde_json::from_str(actions[3]["add"]["stats"].as_str().unwrap()).unwrap();
    assert_eq!(stats["numRecords"], 3);
    assert_eq!(
        (&stats["minValues"]["day"], &stats["maxValues"]["day"]),
        (&"1969-12-31".into(), &"1970-01-02".into())
    );
    assert_eq!(stats["minValues"]["price"].to_string(), "-0.05");
    assert_eq!((&stats["nullCount"]["day"], &stats["nullCount"]["n"]), (&1.into(), &0.into()));
    let times: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![1]));
    let spaced = RecordBatch::try_from_iter([("a time", times)]).unwrap();
    let other = folder.path().join("other");
    create("delta", &spaced, &[], &other).unwrap();
    let actions = commit(&other, 0);
    assert_eq!(
        actions[1]["protocol"]["readerFeatures"],
        serde_json::json!(["timestampNtz", "columnMapping"])
    );
    assert_eq!(actions[2]["metaData"]["configuration"]["delta.columnMapping.mode"], "name");
    append("delta", &spaced, &[], &other).unwrap();
    assert_eq!(rows(&other).len(), 2);
    let plain = folder.path().join("plain");
    create("delta", &spaced, &[("column_mapping", "none")], &plain).unwrap();
    assert_eq!(commit(&plain, 0)[1]["protocol"]["readerFeatures"], serde_json::json!(["timestampNtz"]));
    assert_eq!(rows(&plain), rows(&other)[..1]);
}

#[test]
fn tables_that_ask_for_more_are_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    create("delta", &geese(0, 4), &[], &path).unwrap();
    let log = path.join(super::commit_path(0));
    let text = std::fs::read_to_string(&log).unwrap();
    let plain = r#"{"minReaderVersion":1,"minWriterVersion":2}"#;
    let featured = |name: &str| {
        format!(
            r#"{{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":[],"writerFeatures":["{name}"]}}"#
        )
    };
    assert!(text.contains(plain));
    let refused = |text: String| {
        std::fs::write(&log, text).unwrap();
        append("delta", &geese(4, 1), &[], &path).map(drop).map_err(|e| e.to_string())
    };
    for name in ["telepathy", "rowTracking", "inCommitTimestamp", "icebergCompatV2"] {
        assert!(refused(text.replace(plain, &featured(name))).unwrap_err().contains(name));
    }
    assert!(
        refused(text.replace("\"minWriterVersion\":2", "\"minWriterVersion\":9")).unwrap_err().contains("9")
    );
    let ruled =
        text.replace("\"configuration\":{}", "\"configuration\":{\"delta.constraints.c\":\"id > 0\"}");
    assert!(refused(ruled).unwrap_err().contains("delta.constraints.c"));
    assert!(refused(text.replace(plain, &featured("deletionVectors"))).is_ok());
}

#[test]
fn rows_are_added_to_tables_of_others() {
    let folder = tempfile::tempdir().unwrap();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/delta");
    for (name, before) in [("versions", 3), ("checkpointed", 6), ("partitioned", 9), ("empty", 0)] {
        let (from, path) = (fixtures.join(name), folder.path().join(name));
        for file in files(&from) {
            let to = path.join(file.strip_prefix(&from).unwrap());
            std::fs::create_dir_all(to.parent().unwrap()).unwrap();
            std::fs::copy(&file, to).unwrap();
        }
        append("delta", &geese(50, 2), &[], &path).unwrap();
        let all = rows(&path);
        assert_eq!(all.len(), before + 2, "{name}");
        assert!(cells(&geese(50, 2)).iter().all(|row| all.contains(row)), "{name}");
    }
}

#[test]
fn what_partitions_cannot_keep_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    let refused = |by: &str, batch: &RecordBatch| {
        create("delta", batch, &[("partition_by", by)], &path).unwrap_err().to_string()
    };
    assert!(refused("weight", &geese(0, 2)).contains("no column \"weight\""));
    assert!(refused("id,name,pond", &geese(0, 2)).contains("at least one column"));
    let texts: ArrayRef = Arc::new(arrow::array::StringArray::from(vec!["", "a"]));
    let batch = RecordBatch::try_from_iter([("t", texts), ("n", geese(0, 2).column(0).clone())]).unwrap();
    assert!(refused("t", &batch).contains("empty text"));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
