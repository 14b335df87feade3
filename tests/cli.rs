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

/// Standard output, standard error, status.
fn run(args: &[&str]) -> (String, String, Option<i32>) {
    let out = gander(args);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&out.stdout), text(&out.stderr), out.status.code())
}

#[test]
fn a_folder_of_nothing_known_is_a_sentence_and_status_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    for (command, words) in [("tree", "it is empty"), ("stats", "it is empty"), ("show", "it is empty")] {
        let (_, stderr, status) = run(&[command, path]);
        assert!(status == Some(1) && stderr.contains(words), "{command}: {stderr}");
    }
    std::fs::write(folder.path().join("x.dat"), [0, 1, 2, 255]).unwrap();
    for command in ["tree", "stats", "show"] {
        let (stdout, stderr, status) = run(&[command, path, "--json"]);
        assert_eq!((status, stderr.lines().count()), (Some(1), 1), "{command}: {stderr}");
        let sentence = "nothing in this folder is of a format that Gander knows; looked at 1 file";
        assert!(stderr.starts_with(path) && stderr.contains(sentence), "{command}: {stderr}");
        let json: serde_json::Value = serde_json::from_str(&stdout).unwrap();
        assert_eq!(json["error"]["kind"], "unsupported", "{command}");
    }
    std::fs::create_dir(folder.path().join("inner")).unwrap();
    std::fs::write(folder.path().join("inner/table.csv"), "a,b\n1,2\n").unwrap();
    let (stdout, stderr, status) = run(&["tree", path, "--json"]);
    let json: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    let names: Vec<&str> = json["root"]["children"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|child| child["name"].as_str())
        .collect();
    assert_eq!((names, status), (vec!["inner", "x.dat"], Some(0)), "{stderr}");
}

#[test]
fn links_in_a_circle_end() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("t.csv"), "a,b\n1,2\n").unwrap();
    std::fs::create_dir(folder.path().join("inner")).unwrap();
    std::os::unix::fs::symlink("..", folder.path().join("inner/up")).unwrap();
    std::os::unix::fs::symlink(".", folder.path().join("self")).unwrap();
    let (stdout, _, status) = run(&["tree", folder.path().to_str().unwrap()]);
    assert_eq!(status, Some(0));
    assert_eq!(stdout.matches("is a link to a folder that it lies in itself").count(), 2, "{stdout}");
}

#[test]
fn content_that_its_name_does_not_keep_is_shown_and_status_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fake.parquet");
    let rows: String = (0..50).map(|n| format!("{n},name {n},{}.5\n", n * 3)).collect();
    std::fs::write(&path, format!("id,name,value\n{rows}")).unwrap();
    let path = path.to_str().unwrap();
    for command in ["tree", "show", "stats"] {
        let (stdout, stderr, status) = run(&[command, path, "--json"]);
        assert_eq!(status, Some(1), "{command}: {stderr}");
        assert!(stderr.contains("the extension says .parquet, but the content is not Parquet"), "{stderr}");
        let json: serde_json::Value = serde_json::from_str(&stdout).unwrap();
        assert!(json["error"].is_null(), "{command}: {stdout}");
        assert!(stderr.contains("opened as CSV"), "{command}: {stderr}");
    }
    let (stdout, _, _) = run(&["show", path, "--rows", "7..8", "--json"]);
    assert!(stdout.contains("name 7"), "{stdout}");
}

#[test]
fn files_that_cannot_be_read_say_why() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let locked = folder.path().join("locked.csv");
    std::fs::write(&locked, "a,b\n1,2\n").unwrap();
    std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o0)).unwrap();
    let gone = folder.path().join("gone.csv");
    std::os::unix::fs::symlink("nowhere.csv", &gone).unwrap();
    let pipe = std::path::Path::new("/dev/null");
    let mut cases = vec![(gone.as_path(), "no such file or directory"), (pipe, "not a file or folder")];
    // The superuser may read what nobody else may.
    if std::fs::read(&locked).is_err() {
        cases.push((&locked, "permission denied"));
    }
    for (path, words) in cases {
        let path = path.to_str().unwrap();
        let (stdout, stderr, status) = run(&["tree", path, "--json"]);
        assert_eq!(status, Some(1), "{stderr}");
        assert!(stderr.starts_with(path) && stderr.contains(words), "{stderr}");
        assert!(serde_json::from_str::<serde_json::Value>(&stdout).unwrap()["error"]["kind"].is_string());
    }
}

#[test]
fn what_is_inside_an_archive_is_reached_by_its_path() {
    let fixture = |name: &str| format!("{}/fixtures/{name}", env!("CARGO_MANIFEST_DIR"));
    for (file, node) in [
        ("zip/deflated.zip", "data/x.npy"),
        ("zip/zip_in_zip.zip", "inner.zip/data/x.npy"),
        ("tar/members.tar.gz", "data/x.npy"),
        ("tar/ustar.tar", "data/x.npy"),
    ] {
        let (stdout, stderr, status) = run(&["show", &format!("{}#{node}", fixture(file)), "--json"]);
        let json: serde_json::Value = serde_json::from_str(&stdout).unwrap_or_default();
        assert_eq!((status, &json["shape"]), (Some(0), &serde_json::json!([3, 4])), "{file}: {stderr}");
    }
    let (_, stderr, status) = run(&["show", &format!("{}#secret.txt", fixture("zip/encrypted.zip"))]);
    assert!(status == Some(1) && stderr.contains("is encrypted"), "{stderr}");
}
