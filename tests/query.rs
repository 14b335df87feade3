//! `gander query` as a user meets it.

use std::path::Path;
use std::process::Command;

/// Standard output, standard error, status, with the repository as the current folder.
fn query(args: &[&str]) -> (String, String, Option<i32>) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let out = Command::new(env!("CARGO_BIN_EXE_gander"))
        .current_dir(root)
        .arg("query")
        .args(args)
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&out.stdout), text(&out.stderr), out.status.code())
}

fn rows(args: &[&str]) -> serde_json::Value {
    let (stdout, stderr, status) = query(&[args, &["--json"]].concat());
    assert_eq!(status, Some(0), "{stderr}");
    serde_json::from_str(&stdout).unwrap()
}

const PART: &str = "fixtures/parquet/parts/part-0.parquet";

#[test]
fn files_are_tables_named_after_their_stems() {
    let folder = tempfile::tempdir().unwrap();
    let csv = folder.path().join("names.csv");
    std::fs::write(&csv, "id,name\n3,three\n10,ten\n4,vier\n").unwrap();
    let csv = csv.to_str().unwrap();
    let answer = rows(&[
        "SELECT n.name, count(*) FROM names n JOIN \"part-0\" p ON p.id = n.id GROUP BY n.name ORDER BY 1",
        csv,
        PART,
    ]);
    assert_eq!(answer["columns"], serde_json::json!(["name", "count(*)"]));
    assert_eq!(answer["total"], answer["rows"].as_array().unwrap().len());
    assert!(answer["rows"].as_array().unwrap().contains(&serde_json::json!(["three", "1"])), "{answer}");
    let twice =
        rows(&["SELECT (SELECT count(*) FROM part_0) + (SELECT count(*) FROM \"part-0_2\")", PART, PART]);
    assert_eq!(twice["rows"], serde_json::json!([["20"]]));
    let path = rows(&["SELECT count(*) FROM 'fixtures/parquet/parts/*.parquet'"]);
    assert_eq!(path["rows"], serde_json::json!([["20"]]));
    let arrays = rows(&["SELECT count(*) FROM constant", "fixtures/npy/constant.npy"]);
    assert!(arrays["rows"][0][0].is_string());
}

#[test]
fn what_is_cut_is_said() {
    let (stdout, _, status) = query(&["SELECT * FROM range(0, 50)"]);
    assert_eq!(status, Some(0));
    assert!(stdout.contains("20 of 50 rows"), "{stdout}");
    assert_eq!(rows(&["SELECT * FROM range(0, 50)"])["rows"].as_array().unwrap().len(), 50);
    let some = rows(&["SELECT * FROM range(0, 50)", "--rows", "48.."]);
    assert_eq!((some["first_row"].as_u64(), some["rows"].as_array().unwrap().len()), (Some(48), 2));
}

#[test]
fn mistakes_have_a_place_and_status_two() {
    let (_, stderr, status) = query(&["SELECT nothing FROM \"part-0\"", PART]);
    assert_eq!(status, Some(2), "{stderr}");
    assert!(stderr.starts_with("SQL: line 1, column 8: there is no column \"nothing\""), "{stderr}");
    assert!(stderr.ends_with("\n       ^^^^^^^\n"), "{stderr}");
    let (stdout, _, _) = query(&["SELECT FROM WHERE", PART, "--json"]);
    let json: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert!(json["error"]["line"] == 1 && json["error"]["message"].is_string(), "{json}");
    let (_, stderr, status) = query(&["DROP TABLE x", PART]);
    assert!(status == Some(2) && stderr.contains("statements only read"), "{stderr}");
    let (_, stderr, status) = query(&["SELECT 1", "no-such-file.parquet"]);
    assert!(status == Some(1) && stderr.starts_with("no-such-file.parquet: "), "{stderr}");
}

#[test]
fn a_result_is_written_in_any_format_and_reads_back() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["out.parquet", "out.csv", "out.arrow", "out.jsonl", "out.json"] {
        let out = folder.path().join(name);
        let out = out.to_str().unwrap();
        let (_, stderr, status) =
            query(&["SELECT value AS n, value * 2 AS m FROM range(0, 1000)", "-o", out]);
        assert_eq!(status, Some(0), "{name}: {stderr}");
        let answer = rows(&["SELECT count(*), sum(m) FROM out", out]);
        assert_eq!(answer["rows"], serde_json::json!([["1000", "999000"]]), "{name}");
        let (_, stderr, status) = query(&["SELECT 1 AS x", "-o", out]);
        assert!(status == Some(1) && stderr.contains("exist"), "{stderr}");
        assert_eq!(query(&["SELECT 1 AS x", "-o", out, "--overwrite"]).2, Some(0));
    }
    let (_, stderr, status) = query(&["SELECT 1 AS x", "-o", "/tmp/x.nosuch"]);
    assert!(status == Some(2) && stderr.contains("--to"), "{stderr}");
}
