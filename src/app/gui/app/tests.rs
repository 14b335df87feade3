//! The whole window in a harness: rooms that work alone can still get in each other's way.

mod exports;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use egui::accesskit::Role;
use egui::{Key, Modifiers, vec2};
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use egui_kittest::{Harness, HarnessBuilder};

use super::*;
use crate::gui::Waker;
use crate::gui::session::KeptContent;
use crate::gui::settings::{Settings, SettingsFile};
use crate::gui::target::{ExportSource, NodeRef, QueryStart, TabContent};

mod cancelling;
mod closed_tabs;
mod explorer;
mod following;
mod keyboard;
mod palette;
mod small_windows;
mod snapshots;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod soak;
mod start;
mod stored;

/// A window that starts with its first frame.
#[derive(Default)]
struct Window {
    paths: Vec<PathBuf>,
    session: Session,
    settings: Settings,
    app: Option<App>,
}

impl Window {
    fn frame(ui: &mut Ui, window: &mut Window) {
        let paths = std::mem::take(&mut window.paths);
        let app = window.app.get_or_insert_with(|| {
            let waker = Waker::default();
            let jobs = waker.jobs();
            let mut files = Files::default();
            let named = files.open_named(&paths);
            files.poll(&jobs);
            let session = std::mem::take(&mut window.session);
            let settings = (SettingsFile::default(), window.settings.clone(), Vec::new());
            let (theme, screenshot) = (None, None);
            App::new(ui.ctx(), Launch { jobs, files, named, session, settings, theme, waker, screenshot })
        });
        app.frame(ui);
    }

    fn app(&self) -> &App {
        self.app.as_ref().unwrap()
    }
}

fn window(paths: &[&Path]) -> Harness<'static, Window> {
    window_of(paths, Session::default(), vec2(1200.0, 800.0))
}

/// A window of this size, with what an earlier one left.
fn window_of(paths: &[&Path], session: Session, size: egui::Vec2) -> Harness<'static, Window> {
    window_with(paths, session, Settings::default(), size)
}

/// The same for somebody who set something.
fn window_with(
    paths: &[&Path],
    session: Session,
    settings: Settings,
    size: egui::Vec2,
) -> Harness<'static, Window> {
    let paths = paths.iter().map(|path| path.to_path_buf()).collect();
    started(builder(size), Window { paths, session, settings, app: None })
}

fn builder(size: egui::Vec2) -> HarnessBuilder<Window> {
    Harness::builder()
        .with_size(size)
        .with_step_dt(1.0 / 60.0)
        .with_context_setup(theme::apply)
        .allow_missing_glyphs()
}

fn started(builder: HarnessBuilder<Window>, window: Window) -> Harness<'static, Window> {
    let mut harness = builder.build_ui_state(Window::frame, window);
    settle(&mut harness);
    harness
}

/// Frames until nothing is under way that a person waits for.
fn settle(harness: &mut Harness<'_, Window>) {
    let started = Instant::now();
    let mut calm = 0;
    while calm < 6 {
        assert!(started.elapsed() < Duration::from_secs(60), "the jobs do not end");
        harness.step();
        calm = if harness.state().app().jobs.list().is_empty() { calm + 1 } else { 0 };
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn shown(harness: &Harness<'_, Window>) -> String {
    let target = harness.state().app().tabs.target().expect("a tab");
    target.document.source.name().to_owned()
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name)
}

/// Writes into what has the keyboard.
fn write(harness: &mut Harness<'_, Window>, text: &str) {
    harness.event(egui::Event::Text(text.to_owned()));
    settle(harness);
}

fn press(harness: &mut Harness<'_, Window>, modifiers: Modifiers, key: Key) {
    harness.key_press_modifiers(modifiers, key);
    settle(harness);
}

/// Turns the wheel by so many points where the pointer is: down where they are negative.
fn wheel(harness: &mut Harness<'_, Window>, by: f32) {
    harness.event(egui::Event::MouseWheel {
        unit: egui::MouseWheelUnit::Point,
        delta: vec2(0.0, by),
        phase: egui::TouchPhase::Move,
        source: egui::MouseWheelSource::Wheel,
        modifiers: Modifiers::NONE,
    });
}

/// The words of everything with this role, from top to bottom.
fn labels(harness: &Harness<'_, Window>, role: Role) -> Vec<String> {
    let mut found: Vec<_> = harness
        .query_all_by(|node| node.role() == role)
        .map(|node| (node.rect().top(), node.accesskit_node().label().unwrap_or_default()))
        .collect();
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    found.into_iter().map(|(_, label)| label).collect()
}

#[test]
fn tables_that_are_opened_together_are_shown_as_one() {
    let folder = tempfile::tempdir().unwrap();
    let [a, b] = ["a.csv", "b.csv"].map(|name| folder.path().join(name));
    std::fs::write(&a, "x,y\n1,2\n").unwrap();
    std::fs::write(&b, "x,y\n3,4\n5,6\n").unwrap();
    let mut harness = window(&[&a, &b]);
    let files = &harness.state().app().files;
    let joined = files.iter().find(|file| !file.parts.is_empty()).map(|file| file.id).unwrap();
    assert_eq!(harness.state().app().tabs.active().and_then(|pane| pane.file_number()), Some(joined));
    // It may be asked for again, which changes nothing.
    harness.state_mut().app.as_mut().unwrap().show_file(joined);
    settle(&mut harness);
    assert_eq!(harness.state().app().tabs.active().and_then(|pane| pane.file_number()), Some(joined));
    assert!(harness.query_by_label_contains("3 rows").is_some());
}

#[test]
fn digits_with_alt_choose_how_an_array_is_drawn() {
    let mut harness = window(&[&fixture("npy/matrix_normal.npy")]);
    assert_eq!(shown(&harness), "matrix_normal.npy");
    let dark = harness.ctx.global_style().visuals.dark_mode;
    let cells =
        |harness: &Harness<'_, Window>| harness.query_all_by(|node| node.role() == Role::GridCell).count();
    for (key, numbers) in [(Key::Num1, true), (Key::Num2, false), (Key::Num1, true)] {
        harness.key_press_modifiers(Modifiers::ALT, key);
        settle(&mut harness);
        assert_eq!(cells(&harness) > 20, numbers, "{key:?}");
    }
    assert_eq!(harness.ctx.global_style().visuals.dark_mode, dark);
}

#[test]
fn the_menu_of_a_row_opens_by_a_key() {
    let mut harness = window(&[&fixture("npy/matrix_normal.npy")]);
    // The row of the explorer, left of the tab of the same name.
    let row = |harness: &Harness<'_, Window>| {
        let is_named = |label: String| label.contains("matrix_normal.npy");
        let named = harness
            .query_all_by(|node| node.role() == Role::TreeItem && node.label().is_some_and(is_named))
            .map(|node| node.rect());
        named.min_by(|a, b| a.left().total_cmp(&b.left())).unwrap().center()
    };
    let at = row(&harness);
    harness.hover_at(at);
    harness.drag_at(at);
    harness.drop_at(at);
    settle(&mut harness);
    assert!(harness.query_by_label("Reload the file").is_none());
    harness.key_press_modifiers(Modifiers::SHIFT, Key::F10);
    settle(&mut harness);
    let item = harness.get_by_label("Reload the file").rect();
    assert!((0.0..400.0).contains(&(item.top() - at.y)), "{item:?} is far from {at:?}");
}

fn click(harness: &mut Harness<'_, Window>, role: Role, name: &str) {
    harness.get_by_role_and_label(role, name).click();
    settle(harness);
}

#[test]
fn lists_open_inside_the_form_of_a_filter() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    std::fs::write(&path, "x,name\n1,ant\n2,bee\n3,antelope\n").unwrap();
    let mut harness = window(&[&path]);
    click(&mut harness, Role::Button, "Filter and sort rows");
    click(&mut harness, Role::Button, "Add filter");
    click(&mut harness, Role::ComboBox, "Column");
    click(&mut harness, Role::Button, "name");
    click(&mut harness, Role::ComboBox, "Test");
    click(&mut harness, Role::Button, "starts with");
    harness.get_by_role_and_label(Role::TextInput, "Filter value").focus();
    harness.step();
    harness.get_by_role_and_label(Role::TextInput, "Filter value").type_text("ant");
    settle(&mut harness);
    click(&mut harness, Role::Button, "Add");
    assert!(harness.query_by_label_contains("2 of 3 rows").is_some());
    assert!(harness.query_by_role_and_label(Role::TextInput, "Filter value").is_none());
}

#[test]
fn lists_open_inside_the_options_of_a_reader() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    std::fs::write(&path, "x,y\n1,2\n4,5\n").unwrap();
    let mut harness = window(&[&path]);
    assert!(harness.query_by_role_and_label(Role::ColumnHeader, "x").is_some());
    click(&mut harness, Role::Button, "More");
    click(&mut harness, Role::ComboBox, "header");
    click(&mut harness, Role::Button, "no");
    click(&mut harness, Role::Button, "Read anew");
    assert!(harness.query_by_role_and_label(Role::ColumnHeader, "x").is_none());
    assert!(harness.query_by_label_contains("3 rows").is_some());
}

#[test]
fn options_show_what_they_give_and_are_remembered_for_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    std::fs::write(&path, "report of May\nx;y\n1,5;2\n4,25;5\n").unwrap();
    let mut harness = window(&[&path]);
    // The form opens by its command, too.
    press(&mut harness, Modifiers::COMMAND | Modifiers::SHIFT, Key::P);
    write(&mut harness, "CSV options");
    press(&mut harness, Modifiers::NONE, Key::Enter);
    let typed = |harness: &mut Harness<'_, Window>, name: &str, text: &str| {
        harness.get_by_role_and_label(Role::TextInput, name).focus();
        harness.step();
        harness.get_by_role_and_label(Role::TextInput, name).type_text(text);
        settle(harness);
    };
    typed(&mut harness, "skip", "1");
    assert!(harness.query_all_by_label("1,5").next().is_some(), "read like this it is a text");
    click(&mut harness, Role::ComboBox, "decimal");
    click(&mut harness, Role::Button, "comma");
    assert!(harness.query_all_by_label("1.5").next().is_some());
    assert!(harness.query_by_role_and_label(Role::ColumnHeader, "x").is_none(), "it is only shown yet");
    click(&mut harness, Role::Button, "Read anew");
    assert!(harness.query_by_role_and_label(Role::ColumnHeader, "x").is_some());
    let app = harness.state().app();
    let told = app.files.told();
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].1.get("decimal").map(String::as_str), Some("comma"));
}

#[test]
fn a_workbook_opens_with_the_rows_of_its_first_sheet() {
    let mut harness = window(&[&fixture("xlsx/birds.xlsx")]);
    let rows = labels(&harness, Role::TreeItem);
    assert!(rows.iter().all(|row| !row.ends_with(" 0")), "a sheet that was not read is not empty: {rows:?}");
    assert_eq!(harness.state().app().tabs.target().unwrap().node.name, "birds");
    assert!(harness.query_by_role_and_label(Role::ColumnHeader, "weight").is_some());
    click(&mut harness, Role::Button, "More");
    click(&mut harness, Role::ComboBox, "header");
    click(&mut harness, Role::Button, "no");
    click(&mut harness, Role::Button, "Read anew");
    assert!(harness.query_by_role_and_label(Role::ColumnHeader, "weight").is_none());
}

#[test]
fn who_walks_through_the_explorer_stays_there() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.csv", "b.csv", "c.csv"] {
        std::fs::write(folder.path().join(name), "x,y\n1,2\n").unwrap();
    }
    let mut harness = window(&[folder.path()]);
    harness
        .get_by(|node| node.role() == Role::TreeItem && node.label().is_some_and(|l| l.starts_with("a.csv")))
        .click();
    settle(&mut harness);
    for name in ["a.csv", "b.csv", "c.csv"] {
        assert_eq!(harness.state().app().tabs.target().unwrap().node.name, name);
        harness.key_press(Key::ArrowDown);
        settle(&mut harness);
    }
}

#[test]
fn a_tab_that_is_chosen_has_the_keyboard_also_after_a_dialog() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    std::fs::write(&path, "x,y\n1,2\n3,4\n5,6\n").unwrap();
    let mut harness = window(&[&path]);
    let cell = |harness: &Harness<'_, Window>| harness.state().app().status.under.clone();
    harness.key_press(Key::ArrowDown);
    settle(&mut harness);
    harness.key_press(Key::ArrowDown);
    settle(&mut harness);
    let before = cell(&harness);
    assert!(before.starts_with("x["), "{before}");
    // A shortcut leaves the palette; while a dialog is open, keys mean no view.
    harness.key_press_modifiers(Modifiers::COMMAND, Key::P);
    settle(&mut harness);
    harness.key_press(Key::F1);
    settle(&mut harness);
    assert!(harness.state().app().dialogs.is_open() && !harness.state().app().palette.is_open());
    harness.key_press(Key::ArrowUp);
    settle(&mut harness);
    assert_eq!(cell(&harness), before);
    harness.key_press(Key::Escape);
    settle(&mut harness);
    assert!(!harness.state().app().dialogs.is_open());
    harness.key_press(Key::ArrowUp);
    settle(&mut harness);
    assert_ne!(cell(&harness), before);
}

#[test]
fn enter_opens_the_value_under_the_cursor() {
    let mut harness = window(&[&fixture("showcase/people.csv")]);
    let at = harness.query_all_by(|node| node.role() == Role::GridCell).nth(9).unwrap().rect().center();
    harness.hover_at(at);
    for pressed in [true, false] {
        let (button, modifiers) = (egui::PointerButton::Primary, Modifiers::NONE);
        harness.event(egui::Event::PointerButton { pos: at, button, pressed, modifiers });
    }
    settle(&mut harness);
    let shown = |harness: &Harness<'_, Window>| harness.query_by_label("Copy the value").is_some();
    for open in [true, false] {
        for pressed in [true, false] {
            let (key, modifiers) = (Key::Enter, Modifiers::NONE);
            harness.event(egui::Event::Key { key, physical_key: None, pressed, repeat: false, modifiers });
        }
        settle(&mut harness);
        assert_eq!(shown(&harness), open);
    }
}

#[test]
fn a_tab_of_two_nodes_finds_both_and_goes_with_either_file() {
    let folder = tempfile::tempdir().unwrap();
    let [a, b] = ["a.csv", "b.csv"].map(|name| folder.path().join(name));
    std::fs::write(&a, "left\n1\n").unwrap();
    std::fs::write(&b, "right\n2\n").unwrap();
    let mut harness = window(&[&a]);
    let app = harness.state_mut().app.as_mut().unwrap();
    let (other, _) = app.files.open(&b);
    app.files.poll(&app.jobs);
    let first = app.tabs.active().and_then(|pane| pane.file_number()).unwrap();
    let nodes = [first, other].map(|file| NodeRef::new(file, ""));
    app.tabs.show_later(TabContent::Comparison(nodes), "a and b");
    settle(&mut harness);
    let heads = |harness: &Harness<'_, Window>| {
        ["left", "right"].map(|name| harness.query_by_role_and_label(Role::ColumnHeader, name).is_some())
    };
    assert_eq!(heads(&harness), [true, true]);
    // One of the files is opened anew: both are shown again.
    std::fs::write(&b, "right\n2\n3\n").unwrap();
    harness.state_mut().app.as_mut().unwrap().files.reload(other, None);
    settle(&mut harness);
    assert_eq!(heads(&harness), [true, true]);
    let ctx = harness.ctx.clone();
    harness.state_mut().app.as_mut().unwrap().close_file(&ctx, other);
    settle(&mut harness);
    assert_eq!(heads(&harness), [true, false]);
    assert!(harness.query_by_role_and_label(Role::Tab, "a and b").is_none());
}

#[test]
fn a_query_belongs_to_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    std::fs::write(&path, "x\n1\n2\n").unwrap();
    let mut harness = window(&[&path]);
    harness.key_press_modifiers(Modifiers::COMMAND | Modifiers::SHIFT, Key::Q);
    settle(&mut harness);
    assert!(harness.query_by_role_and_label(Role::Tab, "SQL 1").is_some());
    harness.key_press_modifiers(Modifiers::COMMAND, Key::Enter);
    settle(&mut harness);
    let rows = |harness: &Harness<'_, Window>| harness.state().app().status.facts.clone();
    assert!(rows(&harness).starts_with("2 rows"), "{}", rows(&harness));
    // Its result stays when the file is closed, and is what can be exported.
    let file = harness.state().app().files.iter().next().unwrap().id;
    let ctx = harness.ctx.clone();
    harness.state_mut().app.as_mut().unwrap().close_file(&ctx, file);
    settle(&mut harness);
    assert!(rows(&harness).starts_with("2 rows"), "{}", rows(&harness));
    harness.key_press_modifiers(Modifiers::COMMAND, Key::E);
    settle(&mut harness);
    assert!(harness.query_by_label_contains("result1: 2 rows").is_some());
    // It comes back from a session, with the statements that were run.
    let kept = harness.state_mut().app.as_mut().unwrap().kept(&ctx);
    assert_eq!(kept.tabs.iter().map(|tab| &tab.content).collect::<Vec<_>>(), [&KeptContent::Query(1)]);
    assert_eq!(kept.statements.len(), 1);
}

#[test]
fn keys_of_views_are_none_of_the_windows() {
    // A group has none of its own.
    let files = [
        "npy/matrix_normal.npy",
        "showcase/people.csv",
        "showcase/photo.png",
        "showcase/weights.safetensors",
        "delta/versions",
    ];
    let own: Vec<_> = commands::COMMANDS.iter().filter_map(|command| command.label.keys).collect();
    for name in files {
        let mut harness = window(&[&fixture(name)]);
        let labels = harness.state().app().tabs.view_commands();
        for (at, label) in labels.iter().enumerate() {
            assert!(label.keys.is_none_or(|keys| !own.contains(&keys)), "{}", label.words);
            let others = labels.iter().skip(at + 1);
            assert!(others.clone().all(|other| other.keys.is_none() || other.keys != label.keys));
            assert!(others.clone().all(|other| other.words != label.words), "{}", label.words);
        }
        let Some(first) = labels.first() else { continue };
        // They are in the palette.
        harness.key_press_modifiers(Modifiers::COMMAND | Modifiers::SHIFT, Key::P);
        settle(&mut harness);
        first.words.chars().for_each(|c| harness.event(egui::Event::Text(c.to_string())));
        settle(&mut harness);
        assert!(harness.query_by_role_and_label(Role::ListBoxOption, first.words).is_some());
    }
}

#[test]
fn nothing_keeps_a_file_that_was_closed() {
    let names =
        ["showcase/people.csv", "showcase/weights.safetensors", "showcase/field.npy", "showcase/photo.png"];
    for name in names {
        let mut harness = window(&[&fixture(name)]);
        harness.key_press_modifiers(Modifiers::ALT, Key::Num2);
        settle(&mut harness);
        // What was searched for is a place to be forgotten, too.
        harness.key_press_modifiers(Modifiers::COMMAND, Key::P);
        settle(&mut harness);
        harness.event(egui::Event::Text("e".to_owned()));
        settle(&mut harness);
        harness.key_press(Key::Escape);
        settle(&mut harness);
        let app = harness.state().app();
        let file = app.files.iter().next().unwrap();
        let (id, document) = (file.id, Arc::downgrade(file.document().unwrap()));
        let root = Arc::downgrade(&document.upgrade().unwrap().root);
        let ctx = harness.ctx.clone();
        harness.state_mut().app.as_mut().unwrap().close_file(&ctx, id);
        settle(&mut harness);
        assert!(document.upgrade().is_none(), "{name}: its document is kept");
        assert!(root.upgrade().is_none(), "{name}: its nodes are kept");
    }
}
