//! The array view in a harness: every kind of array shows something, slow ones never hold up a frame.

mod coordinates;
mod huge;
mod made;
mod modes;
mod norms;
mod sliding;
mod together;
mod upright;

use std::sync::Arc;
use std::time::Duration;

use egui::pos2;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use gander::bytes::source::Source;
use gander::bytes::task::Task;
use gander::data::content::array::Plain;
use gander::data::content::{Array, Content};
use gander::data::dtype::{DType, Mini};
use gander::data::format::Options;

use super::super::harness::{self, Slow, ViewHarness, bench, bench_with, frame_times, settle};
use super::super::{Action, Request};

fn plain(dtype: DType, shape: &[u64], bytes: Vec<u8>) -> Arc<dyn Array> {
    Arc::new(Plain::new(Source::memory("a", bytes), 0, dtype, shape.to_vec()).unwrap())
}

/// `a[i, j] = 100 i + j` with a NaN and both infinities.
fn floats() -> Arc<dyn Array> {
    let mut values: Vec<f32> = (0..40).flat_map(|i| (0..60).map(move |j| (100 * i + j) as f32)).collect();
    (values[3], values[61], values[2399]) = (f32::NAN, f32::INFINITY, f32::NAN);
    values[5] = f32::NEG_INFINITY;
    plain(DType::F32, &[40, 60], values.iter().flat_map(|v| v.to_le_bytes()).collect())
}

fn show(array: Arc<dyn Array>) -> Harness<'static, ViewHarness> {
    let mut harness = bench("a", Content::Array(array));
    settle(&mut harness);
    harness
}

/// The array of a file of the fixtures.
fn fixture(name: &str) -> Arc<dyn Array> {
    let path = format!("{}/fixtures/{name}", env!("CARGO_MANIFEST_DIR"));
    let document =
        gander::formats::open(&Task::new(), std::path::Path::new(&path), &Options::default()).unwrap();
    let Some(Content::Array(array)) = document.root.content.clone() else { panic!("{name}: no array") };
    array
}

fn slow(array: Arc<dyn Array>, delay: Duration, fails: bool) -> Arc<dyn Array> {
    Arc::new(Slow { array, delay, fails, reads: Arc::default(), done: Arc::default() })
}

/// Where a cell of the grid holds this.
fn cell(harness: &Harness<'_, ViewHarness>, text: &str) -> Option<egui::Rect> {
    let holds = |value: Option<String>| value.is_some_and(|value| value.contains(text));
    let mut nodes =
        harness.query_all_by(|node| node.role() == egui::accesskit::Role::GridCell && holds(node.value()));
    nodes.next().map(|node| node.rect())
}

/// The centre of the only picture on the screen.
fn picture(harness: &Harness<'_, ViewHarness>) -> egui::Rect {
    harness.get_by(|node| node.role() == egui::accesskit::Role::Image).rect()
}

#[test]
fn the_value_under_the_pointer_is_exact_with_its_full_index() {
    let mut harness = show(floats());
    let rect = picture(&harness);
    // 60 columns and 40 rows, as large as they go, in the middle.
    let cell = (rect.width() / 60.0).min(rect.height() / 40.0);
    let origin = rect.center() - egui::vec2(30.0, 20.0) * cell;
    let at = |row: f32, column: f32| origin + egui::vec2(column + 0.5, row + 0.5) * cell;
    harness.hover_at(at(7.0, 12.0));
    settle(&mut harness);
    assert_eq!(harness.state().status.under, "a[7, 12] = 712.0");
    harness.hover_at(at(0.0, 3.0));
    settle(&mut harness);
    assert_eq!(harness.state().status.under, "a[0, 3] = NaN");
    assert_eq!(harness.state().status.facts, "40×60 float32 · 9.60 kB");
    // The wheel zooms about the pointer, so it stays over its element.
    harness::wheel(&mut harness, at(7.0, 12.0), 300.0);
    harness.hover_at(at(7.0, 12.0));
    settle(&mut harness);
    assert_eq!(harness.state().status.under, "a[7, 12] = 712.0");
    // A click frames an element; the arrows move the frame.
    harness::click(&mut harness, at(7.0, 12.0));
    harness.key_press(egui::Key::ArrowDown);
    harness.remove_cursor();
    settle(&mut harness);
    assert_eq!(harness.state().status.under, "a[8, 12] = 812.0");
}

#[test]
fn from_nan_to_nan_and_back() {
    let mut harness = show(floats());
    let mut next = |label: &str| {
        harness.get_by_label(label).click();
        harness.remove_cursor();
        settle(&mut harness);
        harness.remove_cursor();
        settle(&mut harness);
        harness.state().status.under.clone()
    };
    assert_eq!(next("Next NaN"), "a[0, 3] = NaN");
    assert_eq!(next("Next NaN"), "a[39, 59] = NaN");
    assert_eq!(next("Next NaN"), "a[0, 3] = NaN");
    assert_eq!(next("Previous NaN"), "a[39, 59] = NaN");
}

#[test]
fn slow_reads_never_hold_up_a_frame_and_the_latest_request_wins() {
    let mut harness = bench("a", Content::Array(slow(floats(), Duration::from_secs(5), false)));
    for n in 0..60 {
        // Somebody zooms and points around while nothing is there.
        harness.hover_at(pos2(200.0 + 5.0 * n as f32, 300.0));
        harness.step();
        std::thread::sleep(Duration::from_millis(4));
    }
    harness.get_by_label_contains("Reading this slice");
    for mode in ["Numbers", "Image", "Line", "Histogram", "Heat map"] {
        harness.get_by_label(mode).click();
        (0..10).for_each(|_| harness.step());
    }
    let (median, worst) = frame_times(&harness.state().frames);
    assert!(median < Duration::from_millis(16), "{median:?}");
    // Even where other tests take the processor, nothing near a read.
    assert!(worst < Duration::from_secs(1), "{worst:?}");
}

#[test]
fn a_failed_read_says_why_and_tries_again() {
    let harness = show(slow(floats(), Duration::ZERO, true));
    harness.get_by_label_contains("the disk is gone");
    harness.get_by_label("Try again");
}

#[test]
fn every_fixture_shows_something_in_every_mode() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/npy");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|end| end != "npy") {
            continue;
        }
        let Ok(document) = gander::formats::open(&Task::new(), &path, &Options::default()) else { continue };
        let Some(Content::Array(array)) = document.root.content.clone() else { continue };
        let mut harness = show(array.clone());
        for mode in ["Numbers", "Heat map", "Image", "Line", "Histogram"] {
            if let Some(button) = harness.query_by_label(mode) {
                button.click();
                settle(&mut harness);
            }
            let failed = harness.query_by_label_contains("could not be read").is_some();
            assert!(!failed, "{}: {mode}", path.display());
        }
        seen += 1;
    }
    assert!(seen > 40, "{seen}");
}

#[test]
fn small_floats_show_their_numbers() {
    let values: Vec<u8> = (0..16).collect();
    for (dtype, expected) in
        [(DType::Mini(Mini::F4E2M1), "a[1, 3] = 6.0"), (DType::Mini(Mini::F8E8M0), "a[1, 3] = 7.523164e-37")]
    {
        // Four bits are packed in the file.
        let bytes = if dtype.bits() < 8 {
            (0..8).map(|n| (2 * n) | ((2 * n + 1) << 4)).collect()
        } else {
            values.clone()
        };
        let mut harness = show(plain(dtype.clone(), &[4, 4], bytes));
        assert!(harness.state_mut().ask(&Request::GoTo("1, 3".to_owned())));
        settle(&mut harness);
        let under = &harness.state().status.under;
        let words = |text: &str| text.split("= ").nth(1).unwrap().split(' ').next().unwrap().to_owned();
        let number = |text: &str| words(text).parse::<f32>().unwrap();
        // Sign, exponent and mantissa stand beside it.
        assert!(under.ends_with(if dtype.bits() < 8 { "  0|11|1" } else { "  00000111" }), "{under}");
        assert!(under.starts_with("a[1, 3] = "), "{under}");
        assert!((number(under) / number(expected) - 1.0).abs() < 1e-3, "{under}");
    }
}

#[test]
fn arrays_of_the_same_shape_keep_the_mapping() {
    let cube = || plain(DType::U8, &[9, 20, 30], (0..5400).map(|n| n as u8).collect());
    let mut harness = show(cube());
    assert!(harness.state_mut().ask(&Request::Element(vec![4, 5, 6])));
    settle(&mut harness);
    assert_eq!(harness.state().status.under, "a[4, 5, 6] = 252");
    let seen = harness.state().workspace.mappings.clone();
    let mut other = bench_with("b", Content::Array(cube()), seen);
    settle(&mut other);
    let (words, _) = other.state().view.export().unwrap();
    assert_eq!(words, "the slice [4, :, :]");
    // The session keeps it too.
    let kept = harness.state().view.save();
    let mut third = bench("c", Content::Array(cube()));
    third.state_mut().view.restore(&kept);
    settle(&mut third);
    assert_eq!(third.state().view.save(), kept);
}

#[test]
fn cells_are_copied_and_summed() {
    let mut harness = show(plain(DType::U8, &[3, 4], (0..12).collect()));
    harness.get_by_label("Numbers").click();
    settle(&mut harness);
    harness.get_by_label("1, 0").click();
    settle(&mut harness);
    harness.key_press_modifiers(egui::Modifiers::COMMAND, egui::Key::A);
    settle(&mut harness);
    assert_eq!(harness.state().status.facts, "12 cells · sum 66 · mean 5.5 · min 0 · max 11");
    harness.event(egui::Event::Copy);
    settle(&mut harness);
    let copied = harness.state().actions.iter().find_map(|action| match action {
        Action::Copy(text) => Some(text.clone()),
        _ => None,
    });
    assert_eq!(copied.as_deref(), Some("0\t1\t2\t3\n4\t5\t6\t7\n8\t9\t10\t11\n"));
}
