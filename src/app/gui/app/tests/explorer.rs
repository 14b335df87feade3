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
