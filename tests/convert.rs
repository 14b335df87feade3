//! Conversions by the command line: many sources, folders, pipes, recipes, verification; and what is left where they
//! are ended in the middle.

use serde_json::Value as Json;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

fn gander(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gander"));
    command.current_dir(folder).env("XDG_CONFIG_HOME", folder.join("config"));
    command
}

fn run(folder: &Path, args: &[&str]) -> Output {
    gander(folder).args(args).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[track_caller]
fn done(output: Output) -> String {
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

/// What lies in a folder, with what is hidden.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap().flatten();
    let mut names: Vec<String> = entries.map(|e| e.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, rows) in [("a.csv", "n,t\n1,x\n2,y\n"), ("b.csv", "n,t\n3,z\n")] {
        std::fs::write(folder.path().join(name), rows).unwrap();
    }
    std::fs::create_dir(folder.path().join("more")).unwrap();
    std::fs::write(folder.path().join("more/a.csv"), "n\n7\n").unwrap();
    std::fs::write(folder.path().join("more/notes.txt"), "nothing that is a table\n").unwrap();
    folder
}

#[test]
fn many_sources_become_a_file_each() {
    let folder = folder();
    let printed = done(run(folder.path(), &["convert", "*.csv", "out/", "--to", "jsonl", "--json"]));
    let json: Json = serde_json::from_str(&printed).unwrap();
    let paths: Vec<&str> =
        json["written"].as_array().unwrap().iter().map(|w| w["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["out/a.jsonl", "out/b.jsonl"]);
    assert!(json["written"].as_array().unwrap().iter().all(|w| w["verified"] == true), "{json}");
    assert_eq!(
        std::fs::read_to_string(folder.path().join("out/b.jsonl")).unwrap(),
        "{\"n\":3,\"t\":\"z\"}\n"
    );
}

#[test]
fn a_folder_keeps_its_folders_and_what_fails_stops_nothing() {
    let folder = folder();
    let output = run(folder.path(), &["convert", ".", "out/", "--to", "npz", "--allow-loss", "--json"]);
    let json: Json = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "a text is no array");
    assert_eq!(names(&folder.path().join("out")), ["a.npz", "b.npz", "more"], "{json}");
    assert_eq!(names(&folder.path().join("out/more")), ["a.npz"]);
    assert_eq!(json["failed"].as_array().map(Vec::len), Some(1), "{json}");
    assert!(json["failed"][0]["source"].as_str().unwrap().ends_with("notes.txt"), "{json}");
}

#[test]
fn pipes_are_read_and_written() {
    let folder = folder();
    let mut child = gander(folder.path())
        .args(["convert", "-", "-", "--to", "jsonl"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"n,t\n1,x\n2.5,y\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(done(output), "{\"n\":1.0,\"t\":\"x\"}\n{\"n\":2.5,\"t\":\"y\"}\n");
    let parquet = gander(folder.path()).args(["convert", "a.csv", "-", "--to", "parquet"]).output().unwrap();
    assert!(parquet.stdout.starts_with(b"PAR1") && parquet.stdout.ends_with(b"PAR1"));
    let refused = run(folder.path(), &["convert", "a.csv", "-", "--to", "hdf5", "--allow-loss"]);
    assert!(text(&refused.stderr).contains("pipe"), "{}", text(&refused.stderr));
    assert_eq!(refused.status.code(), Some(1));
    assert!(!std::env::temp_dir().join(format!(".gander-stdin-{}", std::process::id())).exists());
}

#[test]
fn a_recipe_repeats_a_conversion() {
    let folder = folder();
    let args = [
        "convert",
        "a.csv",
        "out.parquet",
        "--columns",
        "n",
        "--compression",
        "gzip",
        "--save-recipe",
        "r.toml",
    ];
    done(run(folder.path(), &args));
    assert!(!folder.path().join("out.parquet").exists());
    // It is found wherever it is called from.
    let elsewhere = tempfile::tempdir().unwrap();
    let recipe = folder.path().join("r.toml");
    done(run(elsewhere.path(), &["convert", "--recipe", recipe.to_str().unwrap()]));
    let shown = done(run(folder.path(), &["show", "out.parquet", "--json"]));
    assert_eq!(serde_json::from_str::<Json>(&shown).unwrap()["columns"], serde_json::json!(["n"]));
    // What is given beside it goes first.
    done(run(folder.path(), &["convert", "--recipe", "r.toml", "b.csv", "other.parquet"]));
    assert!(folder.path().join("other.parquet").exists());
    std::fs::write(folder.path().join("bad.toml"), "colour = 1\n").unwrap();
    let bad = run(folder.path(), &["convert", "--recipe", "bad.toml"]);
    assert!(
        text(&bad.stderr).contains("bad.toml") && text(&bad.stderr).contains("colour"),
        "{}",
        text(&bad.stderr)
    );
}

#[test]
fn a_query_and_a_preset_are_sources_of_conversions() {
    let folder = folder();
    let sql = "SELECT sum(n) AS s FROM a";
    done(run(folder.path(), &["convert", "a.csv", "sum.csv", "--query", sql]));
    assert_eq!(std::fs::read_to_string(folder.path().join("sum.csv")).unwrap(), "s\n3\n");
    let presets = folder.path().join("config/gander/presets");
    std::fs::create_dir_all(&presets).unwrap();
    std::fs::write(presets.join("tabs.toml"), "to = \"tsv\"\n[options]\nheader = \"no\"\n").unwrap();
    done(run(folder.path(), &["convert", "--preset", "tabs", "a.csv", "a.txt"]));
    assert_eq!(std::fs::read_to_string(folder.path().join("a.txt")).unwrap(), "1\tx\n2\ty\n");
    let none = run(folder.path(), &["convert", "--preset", "quux", "a.csv", "b.txt"]);
    assert!(none.status.code() == Some(2) && text(&none.stderr).contains("tabs"), "{}", text(&none.stderr));
}

#[test]
fn help_for_a_format_lists_its_options() {
    let folder = folder();
    let help = done(run(folder.path(), &["convert", "--to", "parquet", "--help"]));
    assert!(help.contains("--compression <zstd|") && help.contains("[default: zstd]"), "{help}");
    let general = done(run(folder.path(), &["convert", "--help"]));
    assert!(general.contains("--recipe"), "{general}");
}

/// A table that takes a while to write.
fn long_table(folder: &Path) -> PathBuf {
    let path = folder.join("long.csv");
    let mut file = std::io::BufWriter::new(std::fs::File::create(&path).unwrap());
    writeln!(file, "n,x,t").unwrap();
    for n in 0..200_000 {
        writeln!(file, "{n},{}.25,text number {}", n * 7 % 1000, n % 977).unwrap();
    }
    path
}

#[test]
fn what_is_ended_in_the_middle_leaves_the_target_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    long_table(folder.path());
    for (target, wait) in
        [("parquet", 30), ("csv", 20), ("sqlite", 60), ("zarr", 50), ("npz", 40), ("avro", 25)]
    {
        let out = folder.path().join(format!("out.{target}"));
        let is_folder = target == "zarr";
        if !is_folder {
            std::fs::write(&out, b"what was there").unwrap();
        }
        let args = [
            "convert",
            "long.csv",
            out.to_str().unwrap(),
            "--to",
            target,
            "--allow-loss",
            "--overwrite",
            "--no-verify",
        ];
        let mut child = gander(folder.path()).args(args).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(wait));
        child.kill().unwrap();
        let status = child.wait().unwrap();
        if status.success() {
            // It was quicker.
            continue;
        }
        match is_folder {
            true => assert!(!out.exists(), "{target}"),
            false => assert_eq!(std::fs::read(&out).unwrap(), b"what was there", "{target}"),
        }
        // The next one takes away what was left, and is whole.
        done(gander(folder.path()).args(args).output().unwrap());
        let left: Vec<String> =
            names(folder.path()).into_iter().filter(|name| name.contains(".gander-")).collect();
        assert!(left.is_empty(), "{target}: {left:?}");
    }
}

#[test]
fn an_interrupt_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    long_table(folder.path());
    let args = ["convert", "long.csv", "out.parquet", "--no-verify"];
    let child = gander(folder.path()).args(args).stderr(Stdio::null()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(60));
    let pid = rustix::process::Pid::from_raw(child.id() as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    let code = output.status.code();
    match code {
        Some(0) => assert_eq!(names(folder.path()), ["long.csv", "out.parquet"]),
        _ => assert_eq!(names(folder.path()), ["long.csv"], "{code:?}"),
    }
}

#[test]
fn a_disk_that_is_full_is_said_and_leaves_the_target_as_it_was() {
    // A limit on the size of files fails as a full disk does: in the middle of a write.
    let folder = tempfile::tempdir().unwrap();
    long_table(folder.path());
    for target in
        ["parquet", "csv", "sqlite", "hdf5", "netcdf4", "zarr", "npz", "npy", "arrow", "avro", "jsonl"]
    {
        let out = folder.path().join(format!("out.{target}"));
        let is_folder = target == "zarr";
        if !is_folder {
            std::fs::write(&out, b"what was there").unwrap();
        }
        let line = format!(
            "ulimit -f 64; trap '' XFSZ; exec {} convert long.csv out.{target} --to {target} --allow-loss --overwrite",
            env!("CARGO_BIN_EXE_gander")
        );
        let output = Command::new("sh").args(["-c", &line]).current_dir(folder.path()).output().unwrap();
        let said = text(&output.stderr);
        if is_folder && output.status.success() {
            continue;
        }
        assert_eq!(output.status.code(), Some(1), "{target}: {said}");
        assert!(
            said.contains("larger than") || said.contains("too large") || said.contains("full"),
            "{target}: {said}"
        );
        match is_folder {
            true => assert!(!out.exists(), "{target}"),
            false => assert_eq!(std::fs::read(&out).unwrap(), b"what was there", "{target}"),
        }
    }
    let left: Vec<String> =
        names(folder.path()).into_iter().filter(|name| name.contains(".gander-")).collect();
    assert!(left.is_empty(), "{left:?}");
}
