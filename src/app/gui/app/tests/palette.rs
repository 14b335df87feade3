//! The palette in the whole window: what it offers, and that what is chosen is done.

use super::*;

/// Opens it and writes; the lines that it offers.
fn ask(harness: &mut Harness<'_, Window>, text: &str) -> Vec<String> {
    press(harness, Modifiers::COMMAND, Key::P);
    assert!(harness.state().app().palette.is_open());
    write(harness, text);
    labels(harness, Role::ListBoxOption)
}

fn enter(harness: &mut Harness<'_, Window>) {
    press(harness, Modifiers::NONE, Key::Enter);
    assert!(!harness.state().app().palette.is_open());
}

fn under(harness: &Harness<'_, Window>) -> String {
    harness.state().app().status.under.clone()
}

#[test]
fn a_node_deep_in_a_file_is_found_and_shown() {
    let mut harness = window(&[&fixture("showcase/weights.safetensors"), &fixture("showcase/people.csv")]);
    let lines = ask(&mut harness, "mlp.up.weight");
    assert_eq!(lines.len(), 4, "{lines:?}");
    assert!(lines.iter().all(|line| line.ends_with(".mlp.up.weight")), "{lines:?}");
    // The first is chosen; the arrow goes on to the second.
    press(&mut harness, Modifiers::NONE, Key::ArrowDown);
    enter(&mut harness);
    let target = harness.state().app().tabs.target().unwrap();
    assert_eq!(target.path, lines[1]);
    // A file by a part of its name.
    let lines = ask(&mut harness, "people");
    assert_eq!(lines[0], "people.csv");
    enter(&mut harness);
    assert_eq!(shown(&harness), "people.csv");
}

#[test]
fn columns_and_rows_are_gone_to() {
    let mut harness = window(&[&fixture("showcase/people.csv")]);
    let columns = ask(&mut harness, "@");
    assert_eq!(columns, ["id", "name", "born", "city", "height_m", "member", "note"]);
    write(&mut harness, "height");
    assert_eq!(labels(&harness, Role::ListBoxOption), ["height_m"]);
    enter(&mut harness);
    assert!(under(&harness).starts_with("height_m["), "{}", under(&harness));
    assert_eq!(ask(&mut harness, ":100"), ["Go to row 100"]);
    enter(&mut harness);
    assert!(under(&harness).starts_with("height_m[100]"), "{}", under(&harness));
    // The row is in sight.
    let named = |label: String| label == "height_m, 100";
    let is_row = |role, label: Option<String>| role == Role::GridCell && label.is_some_and(named);
    let mut rows = harness.query_all_by(|node| is_row(node.role(), node.label()));
    assert!(rows.next().is_some());
}

#[test]
fn commands_are_done() {
    let mut harness = window(&[&fixture("showcase/people.csv")]);
    for (text, dark) in [(">theme: light", false), (">theme: dark", true)] {
        let lines = ask(&mut harness, text);
        assert!(lines[0].eq_ignore_ascii_case(&text[1..]), "{lines:?}");
        enter(&mut harness);
        assert_eq!(harness.ctx.global_style().visuals.dark_mode, dark);
    }
    // The keys for commands alone begin with the sign.
    press(&mut harness, Modifiers::COMMAND | Modifiers::SHIFT, Key::P);
    write(&mut harness, "new sql");
    assert_eq!(labels(&harness, Role::ListBoxOption)[0], "New SQL query");
    enter(&mut harness);
    assert!(harness.query_by_label("SQL statements").is_some());
}

#[test]
fn what_fits_nothing_does_nothing() {
    let mut harness = window(&[&fixture("showcase/people.csv")]);
    assert!(ask(&mut harness, "qqqq zzzz").is_empty());
    press(&mut harness, Modifiers::NONE, Key::Enter);
    assert!(harness.state().app().palette.is_open());
    press(&mut harness, Modifiers::NONE, Key::Escape);
    assert!(!harness.state().app().palette.is_open());
    assert_eq!(shown(&harness), "people.csv");
}
