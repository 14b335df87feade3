//! Rules of the house that no compiler checks.

use std::path::{Path, PathBuf};

fn sources(folder: &str) -> Vec<(PathBuf, String)> {
    fn walk(folder: &Path, out: &mut Vec<(PathBuf, String)>) {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                walk(&path, out);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let mut text = String::new();
                std::io::Read::read_to_string(&mut std::fs::File::open(&path).unwrap(), &mut text).unwrap();
                out.push((path, text));
            }
        }
    }
    let mut out = Vec::new();
    walk(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), &mut out);
    out
}

#[test]
fn the_library_does_not_know_egui() {
    for (path, text) in sources("src") {
        if !path.to_string_lossy().contains("/src/app/") {
            assert!(!text.contains("use egui") && !text.contains("egui::"), "{}", path.display());
        }
    }
}

#[test]
fn the_window_makes_no_tasks() {
    for (path, text) in sources("src/app") {
        if path.to_string_lossy().contains("/gui/") {
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            assert!(!code.contains("Task::new("), "{} may not block", path.display());
        }
    }
}

#[test]
fn only_source_maps_and_opens() {
    for (path, text) in sources("src") {
        let name = path.to_string_lossy().into_owned();
        if !name.contains("/source/") && !name.contains("/app/") && !name.ends_with("/output.rs") {
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            assert!(!code.contains("File::open(") && !code.contains("Mmap"), "{name} opens files");
        }
    }
}

#[test]
fn rooms_stay_small() {
    for (path, text) in sources("src") {
        let lines = text.lines().count();
        assert!(lines <= 800, "{}: {lines} lines", path.display());
    }
}

#[test]
fn formats_are_listed_once_and_well_named() {
    let mut ids = std::collections::HashSet::new();
    for format in gander::formats::FORMATS {
        assert!(ids.insert(format.id), "{} is listed twice", format.id);
        assert!(
            format.extensions.iter().all(|e| *e == e.to_lowercase() && !e.starts_with('.')),
            "{}",
            format.id
        );
    }
    assert_eq!(gander::formats::FORMATS.last().unwrap().id, "bytes", "bytes opens anything and stands last");
}
