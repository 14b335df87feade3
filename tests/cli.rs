//! The command line as a user meets it.

use std::process::{Command, Output};

fn gander(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_gander")).args(args).output().unwrap()
}

#[test]
fn bad_input_is_a_sentence_and_status_one() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("empty.png");
    std::fs::write(&empty, b"").unwrap();
    let missing = folder.path().join("missing.npy");
    for (path, words) in [(&empty, "it is empty (0 bytes)"), (&missing, "no such file or directory")] {
        let path = path.to_str().unwrap();
        let out = gander(&["tree", path, "--json"]);
        let stderr = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.code(), Some(1), "{stderr}");
        assert!(
            stderr.starts_with(path) && stderr.contains(words) && stderr.lines().count() == 1,
            "{stderr}"
        );
        let json: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
        assert!(json["error"]["kind"].is_string());
    }
}

#[test]
fn wrong_usage_is_status_two() {
    assert_eq!(gander(&["tree"]).status.code(), Some(2));
    assert_eq!(gander(&["show", "x", "--no-such-option"]).status.code(), Some(2));
}

#[test]
fn formats_are_listed_as_json() {
    let out = gander(&["formats", "--json"]);
    let list: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(list.as_array().unwrap().len(), gander::formats::FORMATS.len());
}
