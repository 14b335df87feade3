//! The command line as a user meets it.

use std::path::Path;
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

#[test]
fn a_view_is_drawn_without_a_display() {
    let folder = tempfile::tempdir().unwrap();
    let fixture = |name: &str| format!("{}/fixtures/{name}", env!("CARGO_MANIFEST_DIR"));
    let to = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let draw = |target: &str, to: &str, further: &[&str]| {
        let out = Command::new(env!("CARGO_BIN_EXE_gander"))
            .args([&["render", target, "-o", to], further].concat())
            .env_remove("DISPLAY")
            .env_remove("WAYLAND_DISPLAY")
            // Drivers say on stderr that they look for it.
            .env("XDG_RUNTIME_DIR", folder.path())
            .output()
            .unwrap();
        (String::from_utf8_lossy(&out.stderr).into_owned(), out.status.code())
    };
    let pixels = |path: &str| image::open(path).unwrap().to_rgb8();
    let colors = |path: &str| {
        pixels(path).pixels().map(|pixel| pixel.0).collect::<std::collections::HashSet<_>>().len()
    };
    let (image, dark) = (to("image.png"), to("dark.PNG"));
    assert_eq!(draw(&fixture("showcase/field.npy"), &image, &["--size", "400"]), (String::new(), Some(0)));
    assert_eq!(pixels(&image).dimensions(), (400, 300));
    assert!(colors(&image) > 200, "a heat map has many colours: {}", colors(&image));
    let table = fixture("parquet/all_types.parquet");
    assert_eq!(draw(&table, &dark, &["--size", "500x200", "--theme", "dark"]), (String::new(), Some(0)));
    assert_eq!(pixels(&dark).dimensions(), (500, 200));
    assert!(pixels(&dark).pixels().filter(|pixel| pixel.0.iter().all(|&v| v < 80)).count() > 50_000);
    let (words, status) = draw(&to("missing.npy"), &to("none.png"), &[]);
    assert!(status == Some(1) && words.contains("no such file"), "{words}");
    let (words, status) = draw(&format!("{table}#nothing"), &to("none.png"), &[]);
    assert!(status == Some(1) && words.contains("there is no node"), "{words}");
    assert!(!Path::new(&to("none.png")).exists());
    assert_eq!(draw(&table, &to("none.jpg"), &[]).1, Some(2));
    assert_eq!(draw(&table, &to("none.png"), &["--size", "3"]).1, Some(2));
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
    let pipe = Path::new("/dev/null");
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
fn what_cannot_be_read_of_a_file_is_said_with_what_can() {
    let folder = tempfile::tempdir().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/arrow");
    let cut = root.join("malformed/cut_in_second_batch.arrows");
    let (cut, out) = (cut.to_str().unwrap(), folder.path().join("out.parquet"));
    let out = out.to_str().unwrap();
    let of_file = format!("SELECT count(*) AS n FROM '{cut}'");
    let whole = "SELECT count(*) AS n FROM cut_in_second_batch";
    for (args, shown) in [
        (vec!["show", cut], "16 of 16 rows"),
        (vec!["stats", cut], "rows     16"),
        (vec!["query", whole, cut], "16"),
        (vec!["query", &of_file], "16"),
    ] {
        let (said, errors, status) = run(&args);
        assert!(said.contains(shown) && errors.contains("it may be cut off"), "{args:?}: {said}{errors}");
        assert_eq!((errors.lines().count(), status), (1, Some(1)), "{args:?}: {errors}");
    }
    for further in [vec![], vec!["--query", &of_file]] {
        let convert = [vec!["convert", cut, out], further].concat();
        let (_, errors, status) = run(&convert);
        assert!(errors.contains("not all of it can be read: malformed"), "{errors}");
        assert!(status == Some(1) && !Path::new(out).exists(), "{errors}");
    }
    let (_, errors, status) = run(&["convert", cut, out, "--allow-loss"]);
    assert!(status == Some(0) && errors.contains("not all of it can be read: malformed"), "{errors}");
    assert!(run(&["show", out]).0.contains("16 of 16 rows"));
    // A file of intact rows says nothing of the kind.
    let intact = root.join("codec_none.arrows");
    let (_, errors, status) = run(&["show", intact.to_str().unwrap()]);
    assert_eq!((errors.as_str(), status), ("", Some(0)));
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

/// A model of so many tensors side by side, `t0` and so on, of one number each.
fn flat_model(path: &Path, tensors: usize) {
    let entry = |n: usize| {
        format!("\"t{n}\":{{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[{},{}]}}", n * 4, n * 4 + 4)
    };
    let entries: Vec<String> = (0..tensors).map(entry).collect();
    let mut header = format!("{{{}}}", entries.join(","));
    header.push_str(&" ".repeat(header.len().next_multiple_of(8) - header.len()));
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    (0..tensors).for_each(|n| bytes.extend((n as f32).to_le_bytes()));
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn nothing_of_many_tensors_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let model = place("flat.safetensors");
    flat_model(Path::new(&model), 1_500);
    let entries = |path: &str| {
        let (stdout, stderr, status) = run(&["stats", path, "--json"]);
        let json: serde_json::Value = serde_json::from_str(&stdout).unwrap();
        let nodes = json["nodes"].as_array().unwrap().clone();
        assert_eq!((status, stderr.as_str(), nodes.len()), (Some(0), "", 1_500), "{path}");
        assert_eq!(json["path"], path);
        nodes
    };
    assert_eq!(entries(&model)[1_499]["path"], "t1499");
    assert_eq!(run(&["stats", &model]).0.matches("  (array)\n").count(), 1_500);
    for name in ["out.npz", "out.safetensors"] {
        let out = place(name);
        let (_, stderr, status) = run(&["convert", &model, &out]);
        assert_eq!(status, Some(0), "{name}: {stderr}");
        entries(&out);
    }
}

#[test]
fn a_tree_says_how_much_it_leaves_out() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("flat.safetensors");
    flat_model(&model, 1_500);
    let model = model.to_str().unwrap();
    let (stdout, _, status) = run(&["tree", model]);
    assert_eq!((status, stdout.lines().filter(|line| line.starts_with("  t")).count()), (Some(0), 1_000));
    assert!(stdout.ends_with("\n  … and 500 more\n"), "{stdout}");
    assert!(run(&["tree", model, "--depth", "0"]).0.ends_with("\n  … and 1,500 more\n"));
    let json: serde_json::Value = serde_json::from_str(&run(&["tree", model, "--json"]).0).unwrap();
    assert_eq!(json["root"]["children"].as_array().unwrap().len(), 1_000);
    assert_eq!(json["root"]["children_total"], 1_500);
    // What is not looked into is said to be there as well.
    let outer = folder.path().join("outer");
    std::fs::create_dir_all(outer.join("inner")).unwrap();
    for name in ["note.txt", "inner/a.txt", "inner/b.txt", "inner/c.txt"] {
        std::fs::write(outer.join(name), "words\n").unwrap();
    }
    let (stdout, ..) = run(&["tree", outer.to_str().unwrap(), "--depth", "1"]);
    assert!(stdout.contains("  inner  folder\n    … and 3 more\n"), "{stdout}");
}

#[test]
fn a_document_in_a_folder_is_one_entry() {
    let folder = tempfile::tempdir().unwrap();
    let json = r#"{"a": [{"x": 1}, {"x": 2}], "b": {"c": [1, 2, 3]}}"#;
    std::fs::write(folder.path().join("document.json"), json).unwrap();
    std::fs::write(folder.path().join("note.txt"), "words\n").unwrap();
    let (stdout, stderr, status) = run(&["stats", folder.path().to_str().unwrap(), "--json"]);
    let json: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    let kinds: Vec<&str> =
        json["nodes"].as_array().unwrap().iter().filter_map(|node| node["kind"].as_str()).collect();
    assert_eq!((status, kinds), (Some(0), vec!["json", "text"]), "{stderr}");
}

/// Whoever names a folder has not looked at each of its files: they are read apart, and those that lead out of it only where
/// that was allowed. The files of a model hub's snapshot are links to its contents beside it.
#[cfg(target_os = "linux")]
#[test]
fn the_files_of_a_folder_are_read_apart_from_all_else() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("models--a--b");
    let snapshot = model.join("snapshots/0123");
    std::fs::create_dir_all(&snapshot).unwrap();
    std::fs::create_dir(model.join("blobs")).unwrap();
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/npy/dtype_f4.npy");
    for to in [model.join("blobs/abc"), folder.path().join("elsewhere.npy")] {
        std::fs::copy(&fixture, to).unwrap();
    }
    std::fs::write(snapshot.join("note.txt"), "words\n").unwrap();
    std::os::unix::fs::symlink("../../blobs/abc", snapshot.join("inside.npy")).unwrap();
    std::os::unix::fs::symlink("../../../elsewhere.npy", snapshot.join("outside.npy")).unwrap();
    // A folder that looks like one of classes is one of any files, too.
    std::fs::create_dir(snapshot.join("inner")).unwrap();
    std::fs::write(snapshot.join("inner/more.txt"), "words\n").unwrap();
    let path = snapshot.to_str().unwrap();
    let refused = |args: &[&str]| {
        let (stdout, _, _) = run(&[&["tree", path, "--json"], args].concat());
        let json: serde_json::Value = serde_json::from_str(&stdout).unwrap();
        let children = json["root"]["children"].as_array().unwrap().clone();
        children.iter().map(|child| child["problem"].is_string()).collect::<Vec<_>>()
    };
    let all = folder.path().to_str().unwrap();
    assert_eq!(refused(&[]), [false, false, false, true]);
    assert_eq!(refused(&["--no-isolate"]), [false; 4]);
    assert_eq!(run(&["--no-isolate", "tree", path]).2, Some(0));
    assert_eq!(refused(&["--reads", all]), [false; 4]);
}

#[test]
fn number_columns_have_histograms() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.csv");
    let rows: String = (0..100).map(|n| format!("{n},name {n},{}\n", f64::from(n) / 2.0)).collect();
    std::fs::write(&path, format!("id,name,half\n{rows}")).unwrap();
    let path = path.to_str().unwrap();
    let (stdout, stderr, status) = run(&["stats", path, "--json", "--histogram", "4"]);
    assert_eq!(status, Some(0), "{stderr}");
    let json: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    let columns = &json["nodes"][0]["columns"];
    for (column, last) in [(0usize, 99.0), (2, 49.5)] {
        let histogram = &columns[column]["histogram"];
        assert_eq!(histogram["counts"], serde_json::json!([25, 25, 25, 25]), "{stdout}");
        let edges: Vec<f64> =
            histogram["edges"].as_array().unwrap().iter().filter_map(|edge| edge.as_f64()).collect();
        assert_eq!((edges.len(), edges[0], edges[4]), (5, 0.0, last));
    }
    assert!(columns[1]["histogram"].is_null(), "{stdout}");
    assert!(run(&["stats", path, "--histogram", "4"]).0.contains("histogram 25 25 25 25\n"));
    assert_eq!(run(&["stats", path, "--histogram", "0"]).2, Some(2));
}

#[test]
fn wrong_arguments_are_blamed_and_not_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("table.csv");
    let rows: String = (0..20).map(|n| format!("{n},name {n}\n")).collect();
    std::fs::write(&table, format!("id,name\n{rows}")).unwrap();
    let out = folder.path().join("out.parquet");
    let (table, parquet) = (table.to_str().unwrap(), out.to_str().unwrap());
    let array = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/zip/stored.zip#data/x.npy");
    let has_none = "has no option of this name; it has";
    let reader = format!("--with quux: CSV {has_none} format, del");
    let writer = format!("-o quux: Parquet {has_none} compr");
    let cases: &[(&[&str], &str)] = &[
        (&["show", table, "--rows", "abc"], "--rows abc: it is not of the form"),
        (&["show", table, "--rows=-x.."], "--rows -x..: it is not of the form"),
        (&["show", array, "--slice", "foo"], "--slice foo: it is not of the form"),
        (&["show", array, "--slice", "9"], "--slice 9: slice \"9\" of 3 elements"),
        (&["show", table, "--with", "header"], "--with header: it is not of the form name=value"),
        (&["show", table, "--with", "format=nope"], "--with format=nope: there is no such format"),
        (&["tree", table, "--with", "quux=1"], &reader),
        (&["stats", table, "--with", "header=maybe"], "--with header=maybe: it is one of auto, yes, no"),
        (&["stats", table, "--with", "delimiter=xx"], "--with delimiter=xx: it is one character"),
        (&["query", "SELECT 1", "--rows", "x"], "--rows x: it is not of the form"),
        (&["query", "SELECT 1", table, "--with", "quux=1"], "--with quux: "),
        (&["convert", table, parquet, "-o", "level=99"], "-o level=99: "),
        (&["convert", table, parquet, "-o", "level"], "-o level: it is not of the form name=value"),
        (&["convert", table, parquet, "-o", "quux=1"], &writer),
        (&["convert", table, parquet, "-o", "compression=rar"], "-o compression=rar: it is one of zstd"),
        (&["convert", table, parquet, "--to", "nope"], "--to nope: there is no such writer"),
        (&["convert", table, parquet, "--rows", "1"], "--rows 1: it is not of the form"),
        (&["convert", array, parquet, "--slice", "foo"], "--slice foo: it is not of the form"),
        (&["convert", array, parquet, "--slice", "9"], "--slice 9: "),
    ];
    for (args, words) in cases {
        let (stdout, stderr, status) = run(args);
        assert_eq!((status, stdout.as_str()), (Some(2), ""), "{args:?}: {stderr}");
        assert!(stderr.starts_with(words) && stderr.lines().count() == 1, "{args:?}: {stderr}");
        assert!(!out.exists(), "{args:?}");
    }
    // Options that the format has are taken.
    let (_, stderr, status) = run(&["show", table, "--with", "delimiter=comma", "--rows", "0..1"]);
    assert_eq!(status, Some(0), "{stderr}");
}

#[test]
fn columns_of_formats_do_not_touch() {
    let (stdout, _, status) = run(&["formats"]);
    assert_eq!(status, Some(0));
    for format in gander::formats::FORMATS {
        let named = |line: &str| {
            let rest = line.strip_prefix(format.id).unwrap_or_default();
            rest.starts_with("  ") && rest.trim_start().starts_with(format.name)
        };
        assert!(stdout.lines().any(named), "{}", format.id);
    }
}

/// A Zarr array of numbers in chunks of a million, the last of which is too short.
fn chunks(folder: &Path, count: usize) -> String {
    let place = folder.join("x.zarr");
    std::fs::create_dir(&place).unwrap();
    let meta = serde_json::json!({
        "zarr_format": 2, "shape": [count * 1_000_000], "chunks": [1_000_000], "dtype": "<f8", "compressor": null,
        "fill_value": 0, "order": "C", "filters": null,
    });
    std::fs::write(place.join(".zarray"), meta.to_string()).unwrap();
    for n in 0..count {
        let len = if n + 1 == count { 100 } else { 8_000_000 };
        std::fs::write(place.join(n.to_string()), vec![0; len]).unwrap();
    }
    place.to_str().unwrap().to_owned()
}

#[test]
fn values_that_break_off_leave_json_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let (stdout, stderr, status) = run(&["show", &chunks(folder.path(), 3), "--json"]);
    let json: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(status, Some(1), "{stderr}");
    assert!(json["values"].as_array().unwrap().len() >= 1_000_000);
    assert_eq!(
        (&json["error"]["kind"], &json["shape"]),
        (&"malformed".into(), &serde_json::json!([3_000_000]))
    );
    // Where nothing was printed yet, the error is all there is.
    let (stdout, _, status) =
        run(&["show", &format!("{}/x.zarr", folder.path().display()), "--json", "--slice", "2999990:"]);
    let json: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert!(status == Some(1) && json["error"]["kind"] == "malformed" && json["values"].is_null());
}

/// What `gander` with these arguments prints, in bytes, with as much memory for data as a shell allows it.
#[cfg(target_os = "linux")]
fn printed_within(kilobytes: u64, args: &[&str]) -> (usize, Option<i32>) {
    let line = format!("ulimit -d {kilobytes}; exec \"$0\" \"$@\" | wc -c; exit 0");
    let mut shell = Command::new("sh");
    let out = shell.args(["-c", &line, env!("CARGO_BIN_EXE_gander")]).args(args).output().unwrap();
    (String::from_utf8_lossy(&out.stdout).trim().parse().unwrap_or(0), out.status.code())
}

#[cfg(target_os = "linux")]
#[test]
fn pictures_and_arrays_are_printed_in_bounded_memory() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (side, array, picture) = (2_000usize, place("x.npy"), place("x.ppm"));
    let head = format!("{{'descr': '|u1', 'fortran_order': False, 'shape': ({side}, {side})}}");
    let head = format!("{head:<117}\n");
    let npy = [b"\x93NUMPY\x01\x00\x76\x00", head.as_bytes(), &vec![123; side * side]].concat();
    std::fs::write(&array, npy).unwrap();
    let ppm =
        [format!("P6 {side} {} 255\n", side / 3).as_bytes(), &vec![123; side * (side / 3) * 3]].concat();
    std::fs::write(&picture, ppm).unwrap();
    for (path, values) in [(&array, side * side), (&picture, side * (side / 3) * 3)] {
        // Each is six characters, and stood in memory as a value of its own with its text.
        let (bytes, status) = printed_within(250_000, &["show", path, "--json"]);
        assert!(status == Some(0) && bytes > 6 * values && bytes < 7 * values, "{path}: {bytes}");
        let (bytes, status) = printed_within(250_000, &["show", path, "--slice", ":"]);
        assert!(status == Some(0) && bytes > 4 * values && bytes < 6 * values, "{path}: {bytes}");
    }
    assert!(run(&["show", &array, "--json", "--slice", "7, 3:5"]).0.contains(r#""values":["123","123"]"#));
}

#[test]
fn what_a_file_cannot_hold_is_not_listed() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("x.zarr");
    std::fs::create_dir(&place).unwrap();
    let meta = r#"{"zarr_format":2,"shape":[9000000000000],"chunks":[1000],"dtype":"<f8","compressor":null,"fill_value":0,"order":"C","filters":null}"#;
    std::fs::write(place.join(".zarray"), meta).unwrap();
    let path = place.to_str().unwrap();
    let (stdout, _, status) = run(&["show", path, "--json"]);
    assert!(
        status == Some(1) && stdout.contains(r#""kind":"limit""#),
        "{}",
        &stdout[..200.min(stdout.len())]
    );
    let (stdout, _, status) = run(&["show", path, "--json", "--slice", "8999999999998:"]);
    assert!(status == Some(0) && stdout.contains(r#""values":["0.0","0.0"]"#), "{stdout}");
}

#[test]
fn a_bad_column_hides_no_other_in_the_last_rows() {
    let fixture = |name: &str| format!("{}/fixtures/{name}", env!("CARGO_MANIFEST_DIR"));
    for (file, bad) in
        [("orc/malformed/broken_stripe.orc", "name"), ("parquet/malformed/one_bad_column.parquet", "id")]
    {
        let (stdout, stderr, status) = run(&["show", &fixture(file), "--rows", "-2..", "--json"]);
        let json: serde_json::Value = serde_json::from_str(&stdout).unwrap();
        let columns: Vec<&str> =
            json["columns"].as_array().unwrap().iter().map(|c| c.as_str().unwrap()).collect();
        let rows = json["rows"].as_array().unwrap();
        assert_eq!((status, rows.len()), (Some(0), 2), "{file}: {stderr}");
        assert!(stderr.contains(&format!("column {bad}: ")), "{file}: {stderr}");
        let null = columns.iter().position(|c| *c == bad).unwrap();
        assert!(rows.iter().all(|row| row[null].is_null()), "{file}");
        assert!(rows[0].as_array().unwrap().iter().any(|cell| cell.is_string()), "{file}");
        // By their numbers they are the same.
        let (first, total) = (json["first_row"].as_u64().unwrap(), json["total"].as_u64().unwrap());
        let same = run(&["show", &fixture(file), "--rows", &format!("{first}..{total}"), "--json"]).0;
        assert_eq!(serde_json::from_str::<serde_json::Value>(&same).unwrap(), json, "{file}");
    }
}

#[test]
fn many_rows_are_the_same_in_steps() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.csv");
    let rows: String = (0..20_000).map(|n| format!("{n},\"name, {n}\"\n")).collect();
    std::fs::write(&path, format!("id,name\n{rows}")).unwrap();
    let path = path.to_str().unwrap();
    let json: serde_json::Value =
        serde_json::from_str(&run(&["show", path, "--rows", "5..", "--json"]).0).unwrap();
    let shown = json["rows"].as_array().unwrap();
    assert_eq!((shown.len(), &json["first_row"], &json["total"]), (19_995, &5.into(), &20_000.into()));
    assert!(
        shown
            .iter()
            .zip(5..)
            .all(|(row, n)| *row == serde_json::json!([n.to_string(), format!("name, {n}")]))
    );
}

#[test]
fn a_node_of_a_graph_comes_with_what_its_operator_does() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/onnx/net.onnx");
    let text = String::from_utf8(gander(&["show", path, "--node", "0"]).stdout).unwrap();
    for words in [
        "Conv",
        "W: stem.conv.weight  float32 [8, 3, 3, 3]",
        "pads = [1, 1, 1, 1]",
        "The convolution operator",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let out = gander(&["show", path, "--node", "/stem/conv/Conv", "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!((&json["node"], &json["op"], &json["parameters"]), (&0.into(), &"Conv".into(), &224.into()));
    assert_eq!(json["documentation"]["inputs"][1]["name"], "W");
    assert_eq!(json["documentation"]["since"], 22);
    let array = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/npy/constant.npy");
    for wrong in [["show", path, "--node", "8"], ["show", array, "--node", "0"]] {
        let out = gander(&wrong);
        assert!(matches!(out.status.code(), Some(1 | 2)) && out.stdout.is_empty(), "{wrong:?}");
    }
}

#[test]
fn where_a_value_lies_and_what_a_byte_belongs_to() {
    let fixture = |name: &str| format!("{}/fixtures/{name}", env!("CARGO_MANIFEST_DIR"));
    let (csv, npy) = (fixture("csv/comma.csv"), fixture("npy/shape_2d.npy"));
    let json = |args: &[&str]| -> serde_json::Value {
        let out = gander(args);
        assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
        serde_json::from_slice(&out.stdout).unwrap()
    };
    let bytes = std::fs::read(&csv).unwrap();
    let found = json(&["show", csv.as_str(), "--where", "1,0", "--json"]);
    let (start, len) =
        (found["value"]["offset"].as_u64().unwrap(), found["value"]["length"].as_u64().unwrap());
    let field = &bytes[start as usize..(start + len) as usize];
    let rows = json(&["show", csv.as_str(), "--rows", "1..2", "--json"]);
    assert_eq!(rows["rows"][0][0], String::from_utf8_lossy(field).as_ref());
    let back = json(&["show", csv.as_str(), "--byte", &start.to_string(), "--json"]);
    assert_eq!((&back["row"], &back["column"], &back["exact"]), (&1.into(), &0.into(), &true.into()));
    let found = json(&["show", npy.as_str(), "--where", "1,2", "--json"]);
    let start = found["value"]["offset"].as_u64().unwrap();
    let back = json(&["show", npy.as_str(), "--byte", &format!("0x{start:x}"), "--json"]);
    assert_eq!(back["element"], serde_json::json!([1, 2]));
    let text = gander(&["show", npy.as_str(), "--where", "1,2"]);
    assert!(String::from_utf8_lossy(&text.stdout).contains("value: "));
    for wrong in [
        ["show", csv.as_str(), "--where", "x"],
        ["show", npy.as_str(), "--where", "99,0"],
        ["show", npy.as_str(), "--byte", "z"],
    ] {
        assert_eq!(gander(&wrong).status.code(), Some(2), "{wrong:?}");
    }
}
