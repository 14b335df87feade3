//! The window by the keyboard: commands, their keys and names, splits and settings.

use super::*;
use crate::gui::commands::{COMMANDS, CommandId};
use crate::gui::number_format::NumberFormat;
use crate::gui::settings::{ArrayStart, Preferences, TableStart, ThemeChoice};

/// The words of everything that can be read in a node and below it.
fn all_words(harness: &Harness<'_, Window>) -> Vec<String> {
    let all = harness.query_all_by(|_| true);
    all.filter_map(|node| node.accesskit_node().label().or_else(|| node.accesskit_node().value())).collect()
}

#[test]
fn every_command_is_in_the_list_of_keys_and_in_the_palette() {
    let mut harness = window(&[&fixture("showcase/people.csv")]);
    let views = harness.state().app().tabs.view_commands();
    let mut labels: Vec<_> = COMMANDS.iter().map(|command| &command.label).collect();
    labels.extend(&views);
    for (at, label) in labels.iter().enumerate() {
        let same = labels[at + 1..].iter().find(|other| label.keys.is_some() && other.keys == label.keys);
        assert!(same.is_none(), "{} and {}", label.words, same.unwrap().words);
    }
    press(&mut harness, Modifiers::NONE, Key::F1);
    for label in &labels {
        write(&mut harness, label.words);
        let words = all_words(&harness);
        assert!(words.iter().any(|word| word == label.words), "{} under F1", label.words);
        press(&mut harness, Modifiers::COMMAND, Key::A);
        press(&mut harness, Modifiers::NONE, Key::Delete);
    }
    press(&mut harness, Modifiers::NONE, Key::Escape);
    for label in &labels {
        press(&mut harness, Modifiers::COMMAND | Modifiers::SHIFT, Key::P);
        write(&mut harness, label.words);
        let lines = super::labels(&harness, Role::ListBoxOption);
        assert!(lines.iter().any(|line| line == label.words), "{} in the palette: {lines:?}", label.words);
        press(&mut harness, Modifiers::NONE, Key::Escape);
    }
}

#[test]
fn the_split_control_splits() {
    let mut harness = window(&[&fixture("showcase/people.csv")]);
    assert_eq!(harness.state().app().tabs.len(), 1);
    harness.get_by_label_contains("Split to the side").click();
    settle(&mut harness);
    assert_eq!(harness.state().app().tabs.len(), 2);
    assert_eq!(harness.query_all_by_label_contains("Split to the side").count(), 2, "one for each group");
}

#[test]
fn settings_are_changed_in_their_dialog_and_count_at_once() {
    let mut harness = window(&[&fixture("showcase/people.csv")]);
    press(&mut harness, Modifiers::COMMAND, Key::Comma);
    assert!(harness.query_by_label("Settings").is_some());
    for (name, dark) in [("Light", false), ("Dark", true)] {
        harness.get_by_role_and_label(Role::RadioButton, name).click();
        settle(&mut harness);
        assert_eq!(harness.ctx.global_style().visuals.dark_mode, dark);
    }
    harness.get_by_label("Numbers: Exact, as stored").click();
    settle(&mut harness);
    harness.get_by_label(&NumberFormat::Digits(3).words()).click();
    settle(&mut harness);
    assert_eq!(harness.state().app().settings.preferences.numbers, NumberFormat::Digits(3));
    press(&mut harness, Modifiers::NONE, Key::Escape);
    press(&mut harness, Modifiers::NONE, Key::Escape);
    let values = harness.query_all_by(|node| node.role() == Role::GridCell);
    let heights = values
        .filter(|node| node.accesskit_node().label().is_some_and(|label| label.starts_with("height_m")));
    let texts: Vec<String> = heights.filter_map(|node| node.accesskit_node().value()).collect();
    let digits: Vec<_> = texts.iter().filter_map(|text| Some(text.split_once('.')?.1.len())).collect();
    assert!(!digits.is_empty() && digits.iter().all(|digits| *digits == 3), "{texts:?}");
    // Keys change the scale, and the settings with it.
    press(&mut harness, Modifiers::COMMAND, Key::Minus);
    assert_eq!(harness.state().app().settings.scale, 0.9);
}

#[test]
fn views_begin_as_it_is_preferred() {
    let preferences =
        Preferences { array: ArrayStart::Line, table: TableStart::Summary, ..Preferences::default() };
    let settings = Settings { preferences, theme: ThemeChoice::Dark, scale: 1.5, ..Settings::default() };
    for (name, chosen) in [("npy/matrix_normal.npy", "Line"), ("showcase/people.csv", "Summary")] {
        let file = fixture(name);
        let harness = window_with(&[&file], Session::default(), settings.clone(), vec2(1200.0, 800.0));
        let on = harness
            .query_all_by(|node| node.role() == Role::RadioButton)
            .filter(|node| node.accesskit_node().toggled() == Some(egui::accesskit::Toggled::True))
            .filter_map(|node| node.accesskit_node().label());
        let on: Vec<String> = on.collect();
        assert!(on.iter().any(|label| label == chosen), "{name}: {on:?}");
        assert_eq!(harness.ctx.zoom_factor(), 1.5);
    }
}

/// Everything that Tab reaches, until it comes back: roles and names.
fn walked(harness: &mut Harness<'_, Window>) -> Vec<(Role, String)> {
    walked_by(harness, Modifiers::NONE)
}

/// The same with Shift: the way back.
fn walked_by(harness: &mut Harness<'_, Window>, modifiers: Modifiers) -> Vec<(Role, String)> {
    let mut seen = Vec::new();
    let mut ids = std::collections::HashSet::new();
    for _ in 0..400 {
        press(harness, modifiers, Key::Tab);
        let Some(id) = harness.ctx.memory(|memory| memory.focused()) else { continue };
        if !ids.insert(id) {
            break;
        }
        let focused = harness.query_all_by(|node| node.is_focused()).next();
        let Some(focused) = focused else { panic!("{id:?} has the keyboard and no node; after {seen:?}") };
        let node = focused.accesskit_node();
        let name = node.label().or_else(|| node.value()).unwrap_or_default();
        seen.push((node.role(), name));
    }
    seen
}

/// Whether what has the keyboard says what it is.
fn check(place: &str, seen: &[(Role, String)]) {
    assert!(seen.len() > 1, "{place}: the keyboard goes nowhere: {seen:?}");
    let is_mute = |(role, name): &&(Role, String)| {
        matches!(role, Role::Unknown | Role::GenericContainer) || name.trim().is_empty()
    };
    let mute = seen.iter().position(|node| is_mute(&node));
    let before = mute.and_then(|at| at.checked_sub(1)).map(|at| &seen[at]);
    assert_eq!(
        mute.map(|at| &seen[at]),
        None,
        "{place}: this has no role or no name; it comes after {before:?}"
    );
}

/// Does a command, as the menu would.
fn command(harness: &mut Harness<'_, Window>, id: CommandId) {
    act(harness, Action::Do(id));
}

fn act(harness: &mut Harness<'_, Window>, action: Action) {
    harness.state_mut().app.as_mut().unwrap().actions.push(action);
    settle(harness);
}

#[test]
fn tab_goes_through_every_view_and_what_it_reaches_has_a_name() {
    for name in [
        "showcase/people.csv",
        "showcase/field.npy",
        "showcase/weights.safetensors",
        "showcase/photo.png",
        "text/utf8.txt",
        "json/document.json",
        "bytes/all_256.bin",
        "onnx/net.onnx",
        "image_folder/classes",
        "xlsx/birds.xlsx",
        "sqlite/shop.sqlite",
        "flac/tags.flac",
    ] {
        let file = fixture(name);
        let mut harness = window(&[&file]);
        let seen = walked(&mut harness);
        check(name, &seen);
        let reaches = |what: &str| seen.iter().any(|(_, name)| name.contains(what));
        assert!(reaches("Split to the side") && reaches("File"), "{name}: {seen:?}");
    }
}

#[test]
fn tab_goes_through_queries_and_the_modes_of_tables_and_arrays() {
    let mut harness = window(&[&fixture("showcase/people.csv")]);
    for mode in ["Record", "Summary"] {
        click(&mut harness, Role::RadioButton, mode);
        let seen = walked(&mut harness);
        check(mode, &seen);
    }
    command(&mut harness, CommandId::Sql);
    // Tab belongs to the editor until Esc gives it back; what is behind it is reached from the end.
    press(&mut harness, Modifiers::NONE, Key::Escape);
    let mut seen = walked(&mut harness);
    press(&mut harness, Modifiers::NONE, Key::Escape);
    seen.extend(walked_by(&mut harness, Modifiers::SHIFT));
    check("the query", &seen);
    assert!(seen.iter().any(|(_, name)| name.contains("Run")), "{seen:?}");
    let mut harness = window(&[&fixture("showcase/field.npy")]);
    for mode in ["Numbers", "Heat map", "Line", "Histogram"] {
        click(&mut harness, Role::RadioButton, mode);
        check(mode, &walked(&mut harness));
    }
}

/// Walks through the dialog that was opened, and leaves it.
fn check_dialog(harness: &mut Harness<'_, Window>, place: &str) {
    assert!(harness.state().app().dialogs.is_open(), "{place}");
    let seen = walked(harness);
    // These have one field that takes the keyboard or none.
    if !matches!(place, "About" | "OpenPath") {
        check(place, &seen);
    }
    assert!(!seen.iter().any(|(role, _)| *role == Role::Grid), "{place}: the keyboard left it");
    for _ in 0..3 {
        press(harness, Modifiers::NONE, Key::Escape);
    }
    assert!(!harness.state().app().dialogs.is_open(), "{place}");
}

#[test]
fn tab_stays_in_every_dialog_and_escape_leaves_it() {
    let people = fixture("showcase/people.csv");
    let mut harness = window(&[&people]);
    for id in [CommandId::Keys, CommandId::OpenPath, CommandId::Settings, CommandId::Export, CommandId::About]
    {
        command(&mut harness, id);
        check_dialog(&mut harness, &format!("{id:?}"));
    }
    act(&mut harness, Action::Convert(vec![people, fixture("showcase/field.npy")]));
    check_dialog(&mut harness, "Convert");
    act(&mut harness, Action::Read("A text".to_owned(), "a line\n".repeat(500)));
    check_dialog(&mut harness, "Read");
    for (name, id) in
        [("bytes/float32.raw", CommandId::OpenRaw), ("pickle/classes_p2.pkl", CommandId::Security)]
    {
        let mut harness = window(&[&fixture(name)]);
        command(&mut harness, id);
        check_dialog(&mut harness, &format!("{id:?}"));
    }
}
