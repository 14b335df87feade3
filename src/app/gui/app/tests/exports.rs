//! Exports through the dialogs and the status bar of the whole window.

use std::sync::atomic::{AtomicBool, Ordering};

use arrow::array::{Array as _, AsArray};
use arrow::datatypes::Int64Type;
use egui::{ViewportCommand, ViewportEvent, ViewportId};
use egui_kittest::kittest::NodeT as _;
use gander::bytes::error::Result;
use gander::bytes::source::Source;
use gander::bytes::task::Task;
use gander::data::content::array::{Plain, read};
use gander::data::content::{Array, Content};
use gander::data::dtype::DType;
use gander::data::format::{Data, Options};
use gander::data::node::Node;
use gander::data::region::Region;

use super::*;
use crate::gui::exports::State;

/// An array that is read only while its gate is open.
struct Gated {
    array: Plain,
    gate: Arc<AtomicBool>,
}

impl Array for Gated {
    fn dtype(&self) -> &DType {
        self.array.dtype()
    }

    fn shape(&self) -> &[u64] {
        self.array.shape()
    }

    fn read(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<()> {
        while !self.gate.load(Ordering::Relaxed) {
            task.check()?;
            std::thread::sleep(Duration::from_millis(1));
        }
        self.array.read(task, region, out)
    }
}

/// A folder with a table in it that a window shows.
fn opened() -> (tempfile::TempDir, Harness<'static, Window>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.csv");
    std::fs::write(&path, "x,name\n1,ant\n2,bee\n-3,\n").unwrap();
    let harness = window(&[&path]);
    (folder, harness)
}

fn act(harness: &mut Harness<'_, Window>, action: Action) {
    harness.state_mut().app.as_mut().unwrap().actions.push(action);
    harness.step();
    harness.step();
}

/// Frames until this is so.
#[track_caller]
fn until(harness: &mut Harness<'_, Window>, what: &str, is_so: impl Fn(&Harness<'_, Window>) -> bool) {
    let started = Instant::now();
    while !is_so(harness) {
        assert!(started.elapsed() < Duration::from_secs(30), "it never came to this: {what}");
        harness.step();
        std::thread::sleep(Duration::from_millis(2));
    }
    harness.step();
}

fn is_said(harness: &Harness<'_, Window>, words: &str) -> bool {
    harness.query_all_by_label_contains(words).next().is_some()
}

/// Presses a button, once it stays where it is.
#[track_caller]
fn click_still(harness: &mut Harness<'_, Window>, name: &str) {
    let (mut last, mut still) = (None, 0);
    for _ in 0..500 {
        let rect = harness.get_by_role_and_label(Role::Button, name).rect();
        still = if last == Some(rect) { still + 1 } else { 0 };
        if still == 10 {
            break;
        }
        last = Some(rect);
        harness.step();
        std::thread::sleep(Duration::from_millis(2));
    }
    harness.get_by_role_and_label(Role::Button, name).click();
}

/// The same, and draws what comes of it.
#[track_caller]
fn press(harness: &mut Harness<'_, Window>, name: &str) {
    click_still(harness, name);
    (0..4).for_each(|_| harness.step());
}

fn names(folder: &Path) -> Vec<String> {
    let files = std::fs::read_dir(folder).unwrap().flatten();
    let mut names: Vec<String> = files.map(|file| file.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn root(path: &Path) -> Arc<Node> {
    gander::open(&Task::new(), path, &Options::default()).unwrap().root.clone()
}

/// Opens the dialog for an array of 0, 1, 2 … that is not read before its gate is open, and starts its export.
fn start_gated(harness: &mut Harness<'_, Window>, path: &Path) -> Arc<AtomicBool> {
    let gate = Arc::new(AtomicBool::new(false));
    let bytes: Vec<u8> = (0..100i32).flat_map(i32::to_le_bytes).collect();
    let array = Plain::new(Source::memory("a", bytes), 0, DType::I32, vec![100]).unwrap();
    let array: Arc<dyn Array> = Arc::new(Gated { array, gate: gate.clone() });
    let target = harness.state().app().tabs.target().cloned().unwrap();
    let part = ("numbers".to_owned(), Data::Arrays(vec![("numbers".to_owned(), array)]));
    act(harness, Action::Export(ExportSource::Node(target, Some(part))));
    until(harness, "the file types are known", |harness| {
        harness.query_by_role_and_label(Role::Button, "NumPy array").is_some()
    });
    press(harness, "NumPy array");
    harness.state_mut().app.as_mut().unwrap().dialogs.place(path);
    until(harness, "the export may begin", |harness| {
        harness
            .query_by_role_and_label(Role::Button, "Export")
            .is_some_and(|node| !node.accesskit_node().is_disabled())
    });
    press(harness, "Export");
    gate
}

/// Whether the file has the array of [`start_gated`].
fn assert_numbers(path: &Path) {
    let root = root(path);
    let Some(Content::Array(array)) = &root.content else { panic!("{}: no array", path.display()) };
    let bytes = read(array.as_ref(), &Task::new(), &Region::all(array.shape())).unwrap();
    assert_eq!(bytes, (0..100i32).flat_map(i32::to_le_bytes).collect::<Vec<u8>>());
}

fn runs(harness: &Harness<'_, Window>) -> bool {
    harness.state().app().exports.list().iter().any(|entry| matches!(entry.state, State::Running(..)))
}

fn is_idle(harness: &Harness<'_, Window>) -> bool {
    !harness.state().app().exports.is_busy()
}

#[test]
fn the_dialog_exports_a_table() {
    let (folder, mut harness) = opened();
    harness.key_press_modifiers(Modifiers::COMMAND, Key::E);
    settle(&mut harness);
    press(&mut harness, "Parquet");
    settle(&mut harness);
    press(&mut harness, "Export");
    until(&mut harness, "it is written", |harness| is_said(harness, "Written and verified"));
    assert!(is_said(&harness, "3 rows"));
    let root = root(&folder.path().join("table.parquet"));
    let Some(Content::Table(table)) = &root.content else { panic!("no table") };
    let batch = table.read(&Task::new(), 0..10, &[0, 1]).unwrap();
    assert_eq!(batch.column(0).as_primitive::<Int64Type>().values(), &[1, 2, -3]);
    let texts = arrow::compute::cast(batch.column(1), &arrow::datatypes::DataType::Utf8).unwrap();
    let texts = texts.as_string::<i32>();
    assert_eq!((texts.value(0), texts.value(1), texts.is_null(2)), ("ant", "bee", true));
    press(&mut harness, "Open it");
    settle(&mut harness);
    assert_eq!(shown(&harness), "table.parquet");
}

#[test]
fn what_stands_below_the_form_of_an_export_never_collides() {
    for size in [vec2(560.0, 420.0), vec2(1000.0, 700.0), vec2(1900.0, 1200.0)] {
        let mut harness = window_of(&[&fixture("showcase/people.csv")], Session::default(), size);
        harness.key_press_modifiers(Modifiers::COMMAND, Key::E);
        settle(&mut harness);
        // The format with the most options.
        press(&mut harness, "Parquet");
        settle(&mut harness);
        let place = harness.get_by_role_and_label(Role::TextInput, "To").rect();
        let tick = harness.get_by(|node| {
            let label = node.label();
            node.role() == Role::CheckBox && label.is_some_and(|label| label.starts_with("Verify"))
        });
        let (tick, button) = (tick.rect(), harness.get_by_role_and_label(Role::Button, "Export").rect());
        assert!(place.bottom() <= tick.top() && tick.bottom() <= button.top(), "{place} {tick} {button}");
        assert!(button.bottom() <= size.y, "{size}: {button}");
    }
}

#[test]
fn an_export_goes_on_when_its_dialog_is_closed() {
    let (folder, mut harness) = opened();
    let path = folder.path().join("numbers.npy");
    let gate = start_gated(&mut harness, &path);
    assert!(runs(&harness) && is_said(&harness, "Exporting numbers.npy"));
    harness.key_press(Key::Escape);
    until(&mut harness, "the dialog is closed", |harness| !harness.state().app().dialogs.is_open());
    // Nor does it need the tab and the file.
    let file = harness.state().app().tabs.target().unwrap().file;
    act(&mut harness, Action::Close(file));
    assert!(runs(&harness) && is_said(&harness, "Exporting numbers.npy"));
    assert_eq!(names(folder.path()).len(), 2, "nothing but the source and a temporary file");
    gate.store(true, Ordering::Relaxed);
    until(&mut harness, "it has ended", |harness| is_said(harness, "ExportSource numbers.npy"));
    assert_numbers(&path);
    assert_eq!(names(folder.path()), ["numbers.npy", "table.csv"]);
}

#[test]
fn exports_that_were_started_together_all_end() {
    let (folder, mut harness) = opened();
    let paths = ["a.npy", "b.npy", "c.npy"].map(|name| folder.path().join(name));
    let gates = paths.each_ref().map(|path| {
        let gate = start_gated(&mut harness, path);
        press(&mut harness, "Run in background");
        gate
    });
    until(&mut harness, "two run", |harness| is_said(harness, "2 exports · a.npy 0 % · 1 waiting"));
    gates.iter().for_each(|gate| gate.store(true, Ordering::Relaxed));
    until(&mut harness, "all have ended", is_idle);
    paths.iter().for_each(|path| assert_numbers(path));
    assert!(is_said(&harness, "3 exports have ended"));
    // The list opens what was written.
    press(&mut harness, "Exports: 3 exports have ended");
    press(&mut harness, "Open b.npy");
    settle(&mut harness);
    assert_eq!(shown(&harness), "b.npy");
}

#[test]
fn what_is_cancelled_in_the_list_leaves_nothing() {
    let (folder, mut harness) = opened();
    let path = folder.path().join("numbers.npy");
    let _gate = start_gated(&mut harness, &path);
    press(&mut harness, "Run in background");
    let bar = harness.state().app().exports.summary().unwrap().words;
    press(&mut harness, &format!("Exports: {bar}"));
    press(&mut harness, "Cancel numbers.npy");
    until(&mut harness, "it has ended", is_idle);
    assert!(is_said(&harness, "Cancelled: nothing was written"));
    assert!(!is_said(&harness, "failed") && !is_said(&harness, "could not"), "that is no error");
    assert_eq!(names(folder.path()), ["table.csv"]);
    press(&mut harness, "Take numbers.npy off the list");
    assert!(harness.state().app().exports.list().is_empty() && !is_said(&harness, "Exports: "));
}

#[test]
fn a_dialog_says_that_its_export_was_cancelled() {
    let (folder, mut harness) = opened();
    let gate = start_gated(&mut harness, &folder.path().join("numbers.npy"));
    press(&mut harness, "Cancel");
    until(&mut harness, "it has ended", is_idle);
    assert!(is_said(&harness, "Nothing was left behind.") && !is_said(&harness, "could not be written"));
    // It may be begun once more.
    press(&mut harness, "Back");
    gate.store(true, Ordering::Relaxed);
    settle(&mut harness);
    press(&mut harness, "Export");
    until(&mut harness, "it is written", |harness| is_said(harness, "Written and verified"));
    assert_numbers(&folder.path().join("numbers.npy"));
}

#[test]
fn a_file_that_exists_is_replaced_only_with_a_yes() {
    let (folder, mut harness) = opened();
    let path = folder.path().join("table.parquet");
    std::fs::write(&path, "something else").unwrap();
    harness.key_press_modifiers(Modifiers::COMMAND, Key::E);
    settle(&mut harness);
    press(&mut harness, "Parquet");
    settle(&mut harness);
    assert!(is_said(&harness, "The file exists: agree to replace it above"));
    press(&mut harness, "Export");
    assert!(harness.state().app().exports.list().is_empty());
    harness.get_by_role_and_label(Role::CheckBox, "This file exists: replace it").click();
    settle(&mut harness);
    press(&mut harness, "Export");
    until(&mut harness, "it is written", |harness| is_said(harness, "Written and verified"));
    assert!(matches!(&root(&path).content, Some(Content::Table(table)) if table.rows().number() == 3));
}

#[test]
fn no_two_exports_write_the_same_file() {
    let (folder, mut harness) = opened();
    let path = folder.path().join("numbers.npy");
    let _gate = start_gated(&mut harness, &path);
    press(&mut harness, "Run in background");
    let target = harness.state().app().tabs.target().cloned().unwrap();
    act(&mut harness, Action::Export(ExportSource::Node(target, None)));
    until(&mut harness, "the file types are known", |harness| {
        harness.query_by_role_and_label(Role::Button, "Parquet").is_some()
    });
    harness.state_mut().app.as_mut().unwrap().dialogs.place(&path);
    until(&mut harness, "it is said", |harness| is_said(harness, "Another export writes this file"));
    assert!(harness.get_by_role_and_label(Role::Button, "Export").accesskit_node().is_disabled());
}

#[test]
fn a_batch_reports_each_file() {
    let folder = tempfile::tempdir().unwrap();
    let files = ["a.csv", "broken.parquet", "c.csv"].map(|name| folder.path().join(name));
    std::fs::write(&files[0], "x\n1\n").unwrap();
    std::fs::write(&files[1], "PAR1 and no more than that PAR1").unwrap();
    std::fs::write(&files[2], "x\n2\n3\n").unwrap();
    let mut harness = window(&[]);
    act(&mut harness, Action::Convert(files.to_vec()));
    until(&mut harness, "the dialog is there", |harness| is_said(harness, "JSON Lines"));
    press(&mut harness, "JSON Lines");
    settle(&mut harness);
    press(&mut harness, "Convert");
    until(&mut harness, "it has ended", |harness| is_said(harness, "2 of 3 were written, 1 failed"));
    assert!(is_said(&harness, "malformed"), "why one failed stands in its line");
    assert_eq!(std::fs::read_to_string(folder.path().join("a.jsonl")).unwrap(), "{\"x\":1}\n");
    assert_eq!(std::fs::read_to_string(folder.path().join("c.jsonl")).unwrap(), "{\"x\":2}\n{\"x\":3}\n");
    assert!(!folder.path().join("broken.jsonl").exists());
    press(&mut harness, "Done");
    assert!(!harness.state().app().dialogs.is_open());
    // The list says it once more.
    press(&mut harness, "Exports: 1 export");
    assert!(is_said(&harness, "broken.parquet: malformed") && is_said(&harness, "2 of 3 were written"));
}

/// What the last frame asked of the window.
fn commands(harness: &Harness<'_, Window>) -> Vec<ViewportCommand> {
    let root = harness.output().viewport_output.get(&ViewportId::ROOT);
    root.map(|output| output.commands.clone()).unwrap_or_default()
}

#[test]
fn a_window_that_is_closed_asks_what_becomes_of_exports() {
    let (folder, mut harness) = opened();
    let close = |harness: &mut Harness<'_, Window>| {
        let root = harness.input_mut().viewports.entry(ViewportId::ROOT).or_default();
        root.events.push(ViewportEvent::Close);
        harness.step();
        commands(harness).contains(&ViewportCommand::CancelClose)
    };
    assert!(!close(&mut harness), "nothing holds it back");
    let _gate = start_gated(&mut harness, &folder.path().join("numbers.npy"));
    press(&mut harness, "Run in background");
    assert!(close(&mut harness));
    until(&mut harness, "it asks", |harness| is_said(harness, "1 export is not done"));
    press(&mut harness, "Stay");
    assert!(runs(&harness) && !is_said(&harness, "1 export is not done"));
    assert!(close(&mut harness));
    until(&mut harness, "it asks", |harness| is_said(harness, "1 export is not done"));
    click_still(&mut harness, "Cancel exports and close");
    until(&mut harness, "it closes", |harness| commands(harness).contains(&ViewportCommand::Close));
    assert!(is_idle(&harness) && !close(&mut harness));
    assert_eq!(names(folder.path()), ["table.csv"]);
}

#[test]
fn pictures_leave_by_their_own_command() {
    let mut harness = window(&[&fixture("showcase/field.npy")]);
    settle(&mut harness);
    harness.key_press_modifiers(Modifiers::COMMAND | Modifiers::ALT, Key::E);
    settle(&mut harness);
    settle(&mut harness);
    // The heat map as it is drawn, with its pixels in it.
    assert!(is_said(&harness, "the drawing, as SVG"), "{:?}", labels(&harness, Role::Label));
    assert!(is_said(&harness, "the heat map, one pixel an element"));
    // What a graph's drawing can be told says nothing to a plot's.
    harness.get_by_role_and_label(Role::RadioButton, "the drawing, as SVG").click();
    settle(&mut harness);
    press(&mut harness, "SVG drawing");
    assert!(is_said(&harness, "Nothing is lost") && !is_said(&harness, "Where the edges point to"));
}

/// The size of the picture that a command puts on the clipboard.
fn copied(harness: &mut Harness<'_, Window>, modifiers: Modifiers) -> Option<[usize; 2]> {
    harness.key_press_modifiers(modifiers, Key::C);
    for _ in 0..400 {
        harness.step();
        let size = harness.output().platform_output.commands.iter().find_map(|command| match command {
            egui::OutputCommand::CopyImage(image) => Some(image.size),
            _ => None,
        });
        if size.is_some() {
            return size;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    None
}

#[test]
fn a_picture_is_copied_with_one_pixel_an_element() {
    let pixels = Modifiers::COMMAND | Modifiers::ALT | Modifiers::SHIFT;
    for name in ["showcase/field.npy", "showcase/photo.png"] {
        let mut harness = window(&[&fixture(name)]);
        settle(&mut harness);
        let target = harness.state().app().tabs.target().cloned().unwrap();
        let sides = match &target.node.content {
            Some(Content::Array(array)) => [array.shape()[1] as usize, array.shape()[0] as usize],
            Some(Content::Image(image)) => [image.info().width as usize, image.info().height as usize],
            _ => panic!("{name}: no picture"),
        };
        assert_eq!(copied(&mut harness, pixels), Some(sides), "{name}");
        until(&mut harness, "it is said", |harness| is_said(harness, "one an element"));
    }
    // A table is no picture, which is said.
    let mut harness = window(&[&fixture("showcase/people.csv")]);
    harness.key_press_modifiers(pixels, Key::C);
    settle(&mut harness);
    assert!(is_said(&harness, "no elements as pixels"));
}

#[test]
fn planes_of_a_volume_are_pictures_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("v.npy");
    let values: Vec<u8> = (0..4 * 5 * 6).map(|n| n as u8).collect();
    let header = "{'descr': '|u1', 'fortran_order': False, 'shape': (4, 5, 6), }";
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16 + 1).to_le_bytes());
    bytes.extend(header.bytes());
    bytes.push(b'\n');
    bytes.extend(values);
    std::fs::write(&path, bytes).unwrap();
    let mut harness = window(&[&path]);
    harness.key_press_modifiers(Modifiers::ALT, Key::Num6);
    settle(&mut harness);
    harness.key_press_modifiers(Modifiers::COMMAND | Modifiers::ALT, Key::E);
    settle(&mut harness);
    settle(&mut harness);
    let planes = harness.query_all_by_label_contains("one pixel an element");
    let planes: std::collections::BTreeSet<String> =
        planes.filter_map(|node| node.accesskit_node().label()).collect();
    assert_eq!(planes.len(), 3, "{planes:?}");
    assert!(planes.iter().all(|words| words.contains("the plane ")), "{planes:?}");
}

#[test]
fn the_selection_the_filtered_table_all_of_it_and_a_slice_are_choices() {
    let (_folder, mut harness) = opened();
    harness.key_press_modifiers(Modifiers::ALT, Key::F);
    settle(&mut harness);
    let field = "Filter expression (SQL WHERE)";
    harness.get_by_role_and_label(Role::TextInput, field).focus();
    harness.step();
    harness.get_by_role_and_label(Role::TextInput, field).type_text("x > 0");
    harness.key_press(Key::Enter);
    until(&mut harness, "it is filtered", |harness| is_said(harness, "2 of 3 rows"));
    let at = harness.get_by_role_and_label(Role::GridCell, "name, 0").rect().center();
    harness.drag_at(at);
    harness.drop_at(at);
    harness.step();
    harness.key_press_modifiers(Modifiers::SHIFT, Key::ArrowDown);
    settle(&mut harness);
    harness.key_press_modifiers(Modifiers::COMMAND, Key::E);
    settle(&mut harness);
    let choices = labels(&harness, Role::RadioButton);
    for choice in ["the selection: 2 ", "the filtered table: 2 rows", "all of table.csv"] {
        assert!(choices.iter().any(|words| words.starts_with(choice)), "{choice}: {choices:?}");
    }
    let mut harness = window(&[&fixture("showcase/volume.npz")]);
    harness
        .get_by(|node| {
            node.role() == Role::TreeItem && node.label().is_some_and(|l| l.starts_with("density"))
        })
        .click();
    settle(&mut harness);
    harness.key_press_modifiers(Modifiers::COMMAND, Key::E);
    settle(&mut harness);
    let choices = labels(&harness, Role::RadioButton);
    for choice in ["the slice [", "this node: density", "all of volume.npz"] {
        assert!(choices.iter().any(|words| words.starts_with(choice)), "{choice}: {choices:?}");
    }
}

#[test]
fn the_whole_file_can_be_exported_and_its_recipe_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("volume.npz");
    std::fs::copy(fixture("showcase/volume.npz"), &path).unwrap();
    let mut harness = window(&[&path]);
    harness
        .get_by(|node| {
            node.role() == Role::TreeItem && node.label().is_some_and(|l| l.starts_with("spacing"))
        })
        .click();
    settle(&mut harness);
    harness.key_press_modifiers(Modifiers::COMMAND, Key::E);
    settle(&mut harness);
    assert!(is_said(&harness, "this node: spacing"));
    harness.get_by_role_and_label(Role::RadioButton, "all of volume.npz").click();
    until(&mut harness, "the nodes are counted", |harness| is_said(harness, "3 nodes"));
    until(&mut harness, "the formats are there", |harness| is_said(harness, "NumPy archive"));
    press(&mut harness, "NumPy archive");
    settle(&mut harness);
    press(&mut harness, "Save as recipe…");
    let is_recipe = |name: &&String| name.ends_with(".toml");
    until(&mut harness, "the recipe is written", |_| {
        names(folder.path()).iter().any(|name| is_recipe(&name))
    });
    let recipe = names(folder.path()).into_iter().find(|name| is_recipe(&name)).unwrap();
    let text = std::fs::read_to_string(folder.path().join(recipe)).unwrap();
    // Beside the recipe, as the file is.
    assert!(text.contains("sources = [\"volume.npz\"]"), "{text}");
}
