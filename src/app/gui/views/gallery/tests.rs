//! The gallery in a harness: a table of pictures with labels.

use std::io::Cursor;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::{ArrayRef, BinaryArray, RecordBatch, StringArray};
use egui::{Key, Modifiers};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use gander::bytes::task::Task;
use gander::data::content::Content;
use gander::data::content::table::MemoryTable;
use gander::data::format::Data;

use crate::gui::commands::Action;
use crate::gui::target::{ExportSource, Request};
use crate::gui::ui::keys;
use crate::gui::views::harness::{
    ViewHarness, bench, check_keys, click, frame_times, picture, settle, wheel,
};
use crate::gui::views::keys::{GALLERY_COLLAPSE, GALLERY_KEYS};

const CLASSES: [&str; 3] = ["cat", "dog", "goose"];

/// Pictures of one colour for each class, and their classes.
fn table(rows: usize) -> MemoryTable {
    let encoded: Vec<Vec<u8>> = (0..12u8)
        .map(|n| {
            let color = [[220, 60, 60], [60, 200, 90], [70, 110, 230]][usize::from(n) % 3];
            let picture = image::RgbImage::from_fn(60, 40, |x, y| {
                image::Rgb(if (x + y) % 20 < u32::from(n) { [250, 240, 200] } else { color })
            });
            let mut out = Vec::new();
            picture.write_to(&mut Cursor::new(&mut out), image::ImageFormat::Png).unwrap();
            out
        })
        .collect();
    let pictures: ArrayRef = Arc::new(BinaryArray::from_iter_values((0..rows).map(|n| &encoded[n % 12])));
    let labels: ArrayRef = Arc::new(StringArray::from_iter_values((0..rows).map(|n| CLASSES[n % 3])));
    MemoryTable::new(RecordBatch::try_from_iter([("picture", pictures), ("label", labels)]).unwrap())
}

fn gallery(rows: usize) -> Harness<'static, ViewHarness> {
    let mut harness = bench("birds", Content::Table(Arc::new(table(rows))));
    settle(&mut harness);
    assert!(harness.state_mut().run("Show a gallery"));
    settle(&mut harness);
    harness
}

fn under(harness: &Harness<'static, ViewHarness>) -> String {
    harness.state().status.under.clone()
}

#[test]
fn rows_are_pictures_with_labels_and_keys_walk_through_them() {
    let mut harness = gallery(1000);
    let place = harness.get_by_label("Record 1: dog").rect().center();
    click(&mut harness, place);
    settle(&mut harness);
    assert!(under(&harness).starts_with("record 1 · dog · PNG 60×40"), "{}", under(&harness));
    for (key, record) in
        [(Key::ArrowRight, "record 2"), (Key::ArrowLeft, "record 1"), (Key::End, "record 999")]
    {
        harness.key_press(key);
        settle(&mut harness);
        assert!(under(&harness).starts_with(record), "{key:?}: {}", under(&harness));
    }
    harness.get_by_label("Record 999: cat");
    harness.key_press(Key::Home);
    settle(&mut harness);
    // A line further down, and up again.
    harness.key_press(Key::ArrowDown);
    settle(&mut harness);
    let below = under(&harness);
    assert!(!below.starts_with("record 0 ") && !below.starts_with("record 1 "), "{below}");
    harness.key_press(Key::ArrowUp);
    settle(&mut harness);
    assert!(under(&harness).starts_with("record 0 · cat"));
    harness.key_press(Key::N);
    settle(&mut harness);
    assert!(under(&harness).starts_with("record 3 · cat"), "the next of this class: {}", under(&harness));
    assert!(harness.state_mut().ask(&Request::GoTo("500".to_owned())));
    settle(&mut harness);
    harness.get_by_label("Record 500: goose");
}

#[test]
fn flags_are_kept_and_exported() {
    let mut harness = gallery(300);
    for record in ["Record 2: goose", "Record 4: dog"] {
        let place = harness.get_by_label(record).rect().center();
        click(&mut harness, place);
        harness.key_press(Key::F);
        settle(&mut harness);
    }
    harness.get_by_label("flagged 2");
    let kept = harness.state().view.save();
    assert_eq!(kept["gallery"]["flags"], serde_json::json!([2, 4]));
    harness.get_by_label("export flagged").click();
    settle(&mut harness);
    let export = harness.state_mut().actions.drain(..).find_map(|action| match action {
        Action::Export(ExportSource::Node(_, Some((_, Data::Table(table))))) => Some(table),
        _ => None,
    });
    let export = export.expect("an export");
    let labels = export.read(&Task::new(), 0..9, &[1]).unwrap();
    let labels: Vec<_> = (0..labels.num_rows())
        .map(|row| gander::data::cell::text(labels.column(0).as_ref(), row).unwrap())
        .collect();
    assert_eq!(labels, ["goose", "dog"]);
    // A second time it is no flag any more.
    harness.key_press(Key::F);
    settle(&mut harness);
    harness.get_by_label("flagged 1");
    let mut again = bench("birds", Content::Table(Arc::new(table(300))));
    again.state_mut().view.restore(&kept);
    settle(&mut again);
    again.get_by_label("flagged 2");
}

#[test]
fn ranges_and_single_rows_are_selected() {
    let mut harness = gallery(300);
    let place = harness.get_by_label("Record 1: dog").rect().center();
    click(&mut harness, place);
    for _ in 0..3 {
        harness.key_press_modifiers(Modifiers::SHIFT, Key::ArrowRight);
        settle(&mut harness);
    }
    assert_eq!(harness.state().status.facts, "4 selected");
    let Some((words, Data::Table(part))) = harness.state().view.export() else { panic!("nothing to export") };
    assert_eq!((words.as_str(), part.rows().exact()), ("the selection: 4 records", Some(4)));
    harness.key_press_modifiers(Modifiers::COMMAND, Key::A);
    settle(&mut harness);
    assert_eq!(harness.state().status.facts, "300 selected");
}

#[test]
fn every_key_of_galleries_works_and_no_other() {
    let mut harness = gallery(1000);
    let state = |harness: &Harness<'_, ViewHarness>| {
        let bench = harness.state();
        let (status, kept) = (&bench.status, bench.view.save());
        let (mode, flags) = (&kept["mode"], &kept["gallery"]["flags"]);
        format!("{} {} {mode} {flags} {}", status.under, status.facts, bench.actions.len())
    };
    // Two tiles in the middle, so that there is something on every side and one of two can stay alone.
    let stand = |harness: &mut Harness<'_, ViewHarness>| {
        assert!(harness.state_mut().run("Show a gallery"));
        assert!(harness.state_mut().ask(&Request::GoTo("500".to_owned())));
        settle(harness);
        harness.key_press_modifiers(Modifiers::SHIFT, Key::ArrowRight);
        settle(harness);
        assert_eq!(harness.state().status.facts, "2 selected");
    };
    let mut table = keys::shortcuts(GALLERY_KEYS);
    table.extend(keys::shortcuts(GALLERY_COLLAPSE));
    check_keys(&mut harness, &table, stand, state);
}

#[test]
fn the_rows_of_a_filter_are_the_rows_of_the_gallery() {
    let mut harness = gallery(300);
    let test = gander::query::Test::Equals("dog".to_owned());
    let condition = gander::query::Condition::new("label", test);
    assert!(harness.state_mut().ask(&Request::Filter(condition, false)));
    let started = Instant::now();
    while harness.query_by_label("Record 4: dog").is_none()
        || harness.query_by_label("Record 2: goose").is_some()
    {
        assert!(started.elapsed() < Duration::from_secs(60), "the filter does not end");
        harness.step();
        std::thread::sleep(Duration::from_millis(5));
    }
    let place = harness.get_by_label("Record 4: dog").rect().center();
    click(&mut harness, place);
    harness.key_press(Key::F);
    settle(&mut harness);
    // Its number in the whole table.
    assert_eq!(harness.state().view.save()["gallery"]["flags"], serde_json::json!([4]));
}

#[test]
fn enter_shows_the_record_and_a_double_click_the_file() {
    let mut harness = gallery(30);
    let place = harness.get_by_label("Record 5: goose").rect().center();
    click(&mut harness, place);
    click(&mut harness, place);
    settle(&mut harness);
    let shown = harness.state_mut().actions.drain(..).find_map(|action| match action {
        Action::Show(target, _) => Some((target.path, target.node.content.is_some())),
        _ => None,
    });
    assert_eq!(shown, Some(("birds[5].picture".to_owned(), true)));
    harness.key_press(Key::Enter);
    settle(&mut harness);
    harness.get_by_label("label: goose");
}

#[test]
fn no_frame_waits_while_it_scrolls() {
    let mut harness = gallery(60_000);
    let middle = harness.get_by_label("Record 1: dog").rect().center();
    harness.state_mut().frames.clear();
    for _ in 0..10 {
        wheel(&mut harness, middle, -900.0);
    }
    let (median, longest) = frame_times(&harness.state().frames);
    assert!(median < Duration::from_millis(16), "half of the frames take {median:?}");
    assert!(longest < Duration::from_millis(250), "a frame took {longest:?}");
    settle(&mut harness);
    picture(&mut harness, "gallery");
}

#[test]
fn a_table_without_pictures_has_no_gallery() {
    let words: ArrayRef = Arc::new(StringArray::from(vec!["a", "b"]));
    let table = MemoryTable::new(RecordBatch::try_from_iter([("word", words)]).unwrap());
    let mut harness = bench("words", Content::Table(Arc::new(table)));
    settle(&mut harness);
    assert!(!harness.state_mut().run("Show a gallery"));
    assert!(harness.query_by_label("Gallery").is_none());
    harness.get_by_label("Record");
}
