//! What the command line says about every fixture, good and malformed: `fixtures/<id>/golden.txt` holds
//! the tree and the first values of each case. `GANDER_BLESS=1` writes the texts anew; then read the
//! difference.

use rayon::prelude::*;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Lines of `show` that are kept of each case.
const LINES: usize = 12;
/// Characters of a line that are kept.
const WIDTH: usize = 200;

/// The cases of a format: its files, and its folders as wholes; then the malformed ones.
fn cases(folder: &Path) -> Vec<PathBuf> {
    let mut out = Vec::new();
    for inside in ["", "malformed"] {
        let Ok(entries) = std::fs::read_dir(folder.join(inside)) else { continue };
        let mut names: Vec<PathBuf> = entries
            .flatten()
            .map(|entry| Path::new(inside).join(entry.file_name()))
            .filter(|name| {
                let name = name.to_string_lossy();
                !name.ends_with(".py") && !matches!(&*name, "malformed" | "golden.txt" | "__pycache__")
            })
            .collect();
        names.sort();
        out.append(&mut names);
    }
    out
}

/// What a command prints, and its errors, with the lines cut.
fn said(folder: &Path, arguments: &[&str], lines: usize) -> String {
    // What lies beside a folder is looked at, too.
    let mut command = Command::new(env!("CARGO_BIN_EXE_gander"));
    let output = command.current_dir(folder).args(arguments).arg("--no-isolate").output().unwrap();
    assert!(
        output.status.code().is_some_and(|code| code < 2),
        "{arguments:?} in {}: {:?}",
        folder.display(),
        output
    );
    let mut text = String::new();
    let all = [String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr)].concat();
    for line in all.lines().take(lines) {
        // What ffmpeg says differs from version to version.
        let line = line.split_inclusive("ffmpeg: ").next().unwrap_or_default();
        let cut: String = line.chars().take(WIDTH).collect();
        let _ = writeln!(text, "{}", cut.trim_end());
    }
    text
}

fn golden(folder: &Path) -> String {
    let parts: Vec<String> = cases(folder)
        .par_iter()
        .map(|case| {
            let name = case.to_string_lossy();
            let tree = said(folder, &["tree", &name], usize::MAX);
            let show = said(folder, &["show", &name, "--rows", "0..3"], LINES);
            format!("== {name}\n{tree}--\n{show}\n")
        })
        .collect();
    parts.concat()
}

/// Formats whose pixels are decoded by ffmpeg: what is said of them where it is not installed is another thing.
const BY_FFMPEG: [&str; 6] = ["avif", "heic", "mp4", "matroska", "avi", "mpegts"];

/// Whether ffmpeg is installed.
fn has_ffmpeg() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join("ffmpeg").is_file())
}

#[test]
fn every_fixture_says_what_it_said() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let mut wrong = Vec::new();
    for format in gander::formats::FORMATS {
        let folder = root.join(format.id);
        if !folder.is_dir() || BY_FFMPEG.contains(&format.id) && !has_ffmpeg() {
            continue;
        }
        let (path, new) = (folder.join("golden.txt"), golden(&folder));
        if std::env::var_os("GANDER_BLESS").is_some() {
            std::fs::write(&path, new).unwrap();
            continue;
        }
        let old = std::fs::read(&path).unwrap_or_default();
        let old = String::from_utf8_lossy(&old);
        if old != new {
            let at = old.lines().zip(new.lines()).position(|(a, b)| a != b);
            let at = at.unwrap_or_else(|| old.lines().count().min(new.lines().count()));
            wrong.push(format!(
                "{}, line {}:\n  was {:?}\n  is  {:?}",
                path.display(),
                at + 1,
                old.lines().nth(at),
                new.lines().nth(at)
            ));
        }
    }
    assert!(wrong.is_empty(), "GANDER_BLESS=1 writes them anew:\n{}", wrong.join("\n"));
}
