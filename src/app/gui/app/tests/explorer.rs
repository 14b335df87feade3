//! The filter of the explorer.

use super::*;

/// What a screen reader says of the rows.
fn rows(harness: &Harness<'_, Window>) -> Vec<String> {
    labels(harness, Role::TreeItem)
}

#[test]
fn the_filter_finds_nested_names_by_keys_and_is_cleared() {
    let mut harness = window(&[&fixture("showcase/weights.safetensors"), &fixture("showcase/people.csv")]);
    let before = rows(&harness);
    assert!(before.iter().any(|row| row.starts_with("people.csv")), "{before:?}");
    assert!(!before.iter().any(|row| row.contains("query")), "nothing is unfolded yet: {before:?}");
    press(&mut harness, Modifiers::COMMAND | Modifiers::SHIFT, Key::F);
    write(&mut harness, "attention.query.weight");
    let found = rows(&harness);
    assert_eq!(found.len(), 4, "{found:?}");
    assert!(found.iter().all(|row| row.starts_with("weight in layers.")), "{found:?}");
    assert!(found.iter().all(|row| row.contains(".attention.query ")), "{found:?}");
    assert!(harness.query_by_label("4 fit").is_some());
    // Down goes into the list and looks at the first, then at the next.
    for row in found.iter().take(2) {
        press(&mut harness, Modifiers::NONE, Key::ArrowDown);
        let path = &harness.state().app().tabs.target().unwrap().path;
        let above = path.strip_suffix(".weight").unwrap();
        assert!(row.starts_with(&format!("weight in {above} ")), "{row} {path}");
    }
    // Escape in the field shows the tree again.
    press(&mut harness, Modifiers::COMMAND | Modifiers::SHIFT, Key::F);
    press(&mut harness, Modifiers::NONE, Key::Escape);
    assert!(harness.query_by_label("4 fit").is_none());
    assert!(rows(&harness).iter().any(|row| row.starts_with("people.csv")));
}

#[test]
fn the_filter_knows_shapes_and_kinds() {
    let mut harness = window(&[&fixture("showcase/weights.safetensors"), &fixture("showcase/people.csv")]);
    press(&mut harness, Modifiers::COMMAND | Modifiers::SHIFT, Key::F);
    for (text, count, what) in
        [("shape:64 norm", 4, ".norm "), ("kind:table", 1, "people.csv"), ("qqqq", 0, "")]
    {
        write(&mut harness, text);
        let found = rows(&harness);
        assert_eq!(found.len(), count, "{text}: {found:?}");
        assert!(found.iter().all(|row| row.contains(what)), "{text}: {found:?}");
        press(&mut harness, Modifiers::COMMAND, Key::A);
    }
    assert!(harness.query_by_label("Nothing fits.").is_some());
}

#[test]
fn records_of_a_document_stay_folded() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("records.json");
    let records: Vec<String> = (0..40).map(|n| format!("{{\"id\": {n}, \"tag\": \"x\"}}")).collect();
    std::fs::write(&path, format!("[{}]", records.join(","))).unwrap();
    let harness = window(&[&path]);
    assert_eq!(rows(&harness).len(), 1, "{:?}", rows(&harness));
    assert!(harness.query_by_role_and_label(Role::ColumnHeader, "tag").is_some());
}

/// Everything of the window that a key of the explorer may change.
fn state(harness: &Harness<'_, Window>) -> String {
    let app = harness.state().app();
    let said = |words: &str| harness.query_all_by_label_contains(words).next().is_some();
    let target = app.tabs.target().map(|target| target.path.clone());
    let file = app.files.iter().next().map(|file| app.explorer.open_paths(file.id));
    let kept = app.tabs.active().is_some_and(|pane| !pane.preview);
    let (menu, copied) = (said("Copy as command line"), said("Copied: "));
    format!("{:?} {target:?} {file:?} {kept} {menu} {copied}", app.explorer.selected())
}

/// Selects the first child of an archive of three, or with `above` the folded archive itself.
fn stand(harness: &mut Harness<'_, Window>, above: bool) {
    // A menu that is open closes.
    press(harness, Modifiers::NONE, Key::Escape);
    let row = harness
        .query_all_by(|node| {
            node.role() == Role::TreeItem && node.label().is_some_and(|label| label.starts_with("volume.npz"))
        })
        .map(|node| node.rect())
        .min_by(|a, b| a.left().total_cmp(&b.left()))
        .unwrap()
        .center();
    harness.hover_at(row);
    harness.drag_at(row);
    harness.drop_at(row);
    settle(harness);
    press(harness, Modifiers::NONE, Key::ArrowLeft);
    if !above {
        press(harness, Modifiers::NONE, Key::ArrowRight);
        press(harness, Modifiers::NONE, Key::ArrowDown);
    }
}

#[test]
fn every_key_of_the_explorer_works_and_no_other() {
    use crate::gui::explorer::keys::{Command, KEYS, Step};
    use crate::gui::ui::keys as tables;
    let mut harness = window(&[&fixture("showcase/volume.npz")]);
    stand(&mut harness, false);
    let listed = tables::shortcuts(KEYS);
    let before = state(&harness);
    for key in Key::ALL.iter().copied().filter(|key| !matches!(key, Key::Tab | Key::Escape)) {
        for modifiers in [Modifiers::NONE, Modifiers::SHIFT] {
            // Shift changes nothing of a key that has no other meaning with it.
            let is_same = |one: &egui::KeyboardShortcut| {
                one.logical_key == key && modifiers.matches_logically(one.modifiers)
            };
            let commands = commands::COMMANDS.iter().filter_map(|command| command.label.keys);
            if listed.iter().copied().chain(commands).any(|one| is_same(&one)) {
                continue;
            }
            harness.key_press_modifiers(modifiers, key);
            (0..3).for_each(|_| harness.step());
            assert_eq!(state(&harness), before, "{modifiers:?} {key:?} is not in the table");
        }
    }
    for (modifiers, key, command) in KEYS.iter().flat_map(|keys| keys.meanings) {
        stand(&mut harness, matches!(command, Command::Unfold));
        // From the first child one goes down twice and up once.
        if matches!(command, Command::Step(Step::PageUp | Step::First)) {
            press(&mut harness, Modifiers::NONE, Key::ArrowDown);
        }
        let before = state(&harness);
        press(&mut harness, *modifiers, *key);
        assert_ne!(state(&harness), before, "{modifiers:?} {key:?}");
    }
}

#[test]
fn rows_that_the_filter_leaves_obey_the_keys_of_the_tree() {
    let mut harness = window(&[&fixture("showcase/weights.safetensors")]);
    press(&mut harness, Modifiers::COMMAND | Modifiers::SHIFT, Key::F);
    write(&mut harness, "weight");
    let found = rows(&harness).len();
    assert!(found > 4);
    press(&mut harness, Modifiers::NONE, Key::Enter);
    let path = |harness: &Harness<'_, Window>| harness.state().app().tabs.target().unwrap().path.clone();
    let first = path(&harness);
    press(&mut harness, Modifiers::NONE, Key::End);
    let last = path(&harness);
    assert_ne!(first, last);
    press(&mut harness, Modifiers::NONE, Key::Home);
    assert_eq!(path(&harness), first);
    press(&mut harness, Modifiers::NONE, Key::PageDown);
    assert_ne!(path(&harness), first);
    press(&mut harness, Modifiers::SHIFT, Key::F10);
    assert!(harness.query_by_label("Copy as command line").is_some());
    press(&mut harness, Modifiers::NONE, Key::Escape);
    assert!(harness.query_by_label("Copy as command line").is_none());
}
