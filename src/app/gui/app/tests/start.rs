//! The window without a file.

use super::*;
use crate::gui::session::{Recent, now};

fn started(recent: Vec<Recent>) -> Harness<'static, Window> {
    window_of(&[], Session { recent, ..Session::default() }, vec2(1100.0, 700.0))
}

#[test]
fn an_empty_window_says_what_can_be_done() {
    let harness = started(Vec::new());
    for words in ["Drop files or folders here", "No file is open."] {
        // The explorer hides while there is nothing in it.
        assert_eq!(harness.query_by_label(words).is_some(), words.starts_with("Drop"), "{words}");
    }
    for name in ["Open file…", "Open folder…", "Open samples"] {
        assert!(harness.query_by_role_and_label(Role::Button, name).is_some(), "{name}");
    }
    for kind in ["Tables", "Arrays", "Models", "Images", "Text", "Archives"] {
        assert!(harness.query_by_label(kind).is_some(), "{kind}");
    }
    assert!(harness.query_by_label("Recent").is_none());
    assert!(harness.state().app().tabs.is_empty());
}

#[test]
fn a_recent_file_opens_by_a_click() {
    let recent = |path: PathBuf, bytes| Recent { path, when: now() - 7_200, bytes, format: "CSV".to_owned() };
    let gone = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join("gone.csv");
    let list = vec![recent(fixture("showcase/people.csv"), Some(5_559)), recent(gone, Some(1))];
    let mut harness = started(list.clone());
    assert!(harness.query_by_label("Recent").is_some());
    click(&mut harness, Role::Button, "people.csv");
    assert_eq!(shown(&harness), "people.csv");
    assert!(harness.query_by_role_and_label(Role::ColumnHeader, "name").is_some());
    assert_eq!(harness.state().app().session.recent[0].path, list[0].path);
    // One that is gone says so, and what can be done.
    let mut harness = started(list);
    click(&mut harness, Role::Button, "gone.csv");
    assert!(harness.query_by_label("gone.csv could not be read").is_some());
    assert!(harness.query_by_role_and_label(Role::Button, "Try again").is_some());
}

#[test]
fn the_samples_open_all_at_once() {
    let mut harness = started(Vec::new());
    click(&mut harness, Role::Button, "Open samples");
    // They are written by one job and opened by others.
    settle(&mut harness);
    let names: Vec<String> = harness.state().app().files.iter().map(|file| file.name()).collect();
    assert_eq!(names.len(), 8, "{names:?}");
    assert_eq!(shown(&harness), "trips.parquet");
    assert!(harness.state().app().files.iter().all(|file| file.document().is_some()));
    assert!(harness.query_by_label("Drop files or folders here").is_none());
}

#[test]
fn a_format_is_found_by_name_or_ending() {
    let mut harness = started(Vec::new());
    let words = |harness: &Harness<'_, Window>, text: &str| harness.query_by_label_contains(text).is_some();
    assert!(words(&harness, "parquet  arrow") && words(&harness, "Sound"));
    harness.get_by_label("Find a format").click();
    settle(&mut harness);
    harness.get_by_label("Find a format").type_text(".geoparq");
    settle(&mut harness);
    assert!(words(&harness, ".geoparquet") && !words(&harness, "Sound"));
    harness.get_by_label("Find a format").type_text("zzz");
    settle(&mut harness);
    assert!(words(&harness, "opens as text or bytes"));
}

/// The paths of the nodes that tabs show, and that of the active one.
fn paths(harness: &Harness<'_, Window>) -> (usize, String) {
    let tabs = &harness.state().app().tabs;
    (tabs.len(), tabs.target().map_or_else(String::new, |target| target.path.clone()))
}

#[test]
fn a_file_opens_at_the_node_that_is_named_with_it() {
    let named = |name: &str| PathBuf::from(format!("{}#{name}", fixture("showcase/volume.npz").display()));
    let harness = window(&[&named("spacing")]);
    assert_eq!(paths(&harness), (1, "spacing".to_owned()));
    let rows = labels(&harness, Role::TreeItem);
    assert!(rows.iter().any(|row| row.starts_with("spacing")), "{rows:?}");
    // Where paths begin with a separator, it may be left out.
    for name in ["/few", "few"] {
        let file = fixture("hdf5/attributes_latest.h5");
        let harness = window(&[&PathBuf::from(format!("{}#{name}", file.display()))]);
        assert_eq!(paths(&harness), (1, "/few".to_owned()), "{name}");
        // Its row is the selected one, although children of such files are read as they come into sight.
        assert_eq!(harness.state().app().explorer.selected(), Some((1, vec![0])), "{name}");
    }
    // Each node that is named has a tab; the first one is shown.
    let people = fixture("showcase/people.csv");
    let harness = window(&[&named("spacing"), &people, &named("volume")]);
    assert_eq!(paths(&harness), (2, "spacing".to_owned()));
    assert_eq!(harness.state().app().files.len(), 2);
    // What is not there is said, with what can be done.
    let harness = window(&[&named("nothing")]);
    assert!(harness.query_by_label_contains("there is no node \"nothing\" in this file").is_some());
}

#[test]
fn a_path_with_a_node_is_opened_by_its_dialog_as_it_was_copied() {
    let mut harness = window(&[&fixture("showcase/people.csv")]);
    press(&mut harness, Modifiers::COMMAND, Key::L);
    write(&mut harness, &format!("{}#spacing", fixture("showcase/volume.npz").display()));
    press(&mut harness, Modifiers::NONE, Key::Enter);
    assert_eq!(paths(&harness).1, "spacing");
    assert_eq!(harness.state().app().tabs.target().unwrap().address(), {
        format!("{}#spacing", fixture("showcase/volume.npz").display())
    });
}

#[test]
fn a_file_whose_name_holds_the_sign_is_opened_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a#b.csv");
    std::fs::write(&path, "x\n1\n").unwrap();
    let harness = window(&[&path]);
    assert_eq!((shown(&harness), paths(&harness).1), ("a#b.csv".to_owned(), String::new()));
}
