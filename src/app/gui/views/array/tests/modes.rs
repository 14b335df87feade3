//! The modes: fields, texts, complex numbers, the volume, lines along any axis, keys.

use std::sync::Arc;

use egui::{Key, Modifiers, Pos2};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use gander::data::content::{Array, Content};
use gander::data::dtype::{DType, Field, Record};

use super::super::super::harness::{ViewHarness, bench, check_keys, click, picture, settle};
use super::super::super::{Action, Request};
use super::made::{Torn, Words};
use super::{cell, plain, show};

fn under(harness: &Harness<'_, ViewHarness>) -> String {
    harness.state().status.under.clone()
}

/// `a[i] = {"id": i, "p": {"x": i / 2, "y": -i}}`.
fn records() -> Arc<dyn Array> {
    let field = |name: &str, dtype, offset| Field { name: name.to_owned(), dtype, shape: Vec::new(), offset };
    let point = Record { fields: vec![field("x", DType::F32, 0), field("y", DType::F32, 4)], size: 8 };
    let fields = vec![field("id", DType::I32, 0), field("p", DType::Struct(Arc::new(point)), 4)];
    let dtype = DType::Struct(Arc::new(Record { fields, size: 12 }));
    let bytes = (0..30i32)
        .flat_map(|n| [n.to_le_bytes(), (n as f32 / 2.0).to_le_bytes(), (-n as f32).to_le_bytes()].concat())
        .collect();
    plain(dtype, &[30], bytes)
}

#[test]
fn a_field_of_records_is_seen_in_every_mode() {
    let mut harness = show(records());
    harness.get_by_label_contains("Field: all fields").click();
    settle(&mut harness);
    harness.get_by_label("p.x").click();
    settle(&mut harness);
    settle(&mut harness);
    // Numbers of one dimension are a line first.
    harness.get_by_label_contains("1 line of a");
    picture(&mut harness, "field_line");
    harness.get_by_label("Numbers").click();
    settle(&mut harness);
    harness.remove_cursor();
    assert!(harness.state_mut().ask(&Request::Element(vec![9])));
    settle(&mut harness);
    assert!(under(&harness).starts_with("a[9] = 4.5"), "{}", under(&harness));
    let kept = harness.state().view.save();
    let mut again = bench("a", Content::Array(records()));
    again.state_mut().view.restore(&kept);
    settle(&mut again);
    assert_eq!(again.state().view.save(), kept);
    let (words, _) = again.state().view.export().unwrap();
    assert!(words.starts_with("the field p.x of"), "{words}");
}

#[test]
fn texts_stand_in_a_grid_whichever_way_it_is_turned() {
    let mut harness = show(Words::new(&[5, 4], "w", false));
    assert!(cell(&harness, "w3.2").is_some());
    picture(&mut harness, "texts");
    harness.get_by_label("Swap rows and columns").click();
    settle(&mut harness);
    harness.remove_cursor();
    assert!(harness.state_mut().ask(&Request::GoTo("3, 1".to_owned())));
    settle(&mut harness);
    assert_eq!(under(&harness), "a[3, 1] = w3.1");
    harness.key_press(Key::Enter);
    settle(&mut harness);
    let read =
        harness.state().actions.iter().any(
            |action| matches!(action, Action::Read(title, text) if title == "a[3, 1]" && text == "w3.1"),
        );
    assert!(read);
}

#[test]
fn a_reference_leads_to_its_node() {
    let mut harness = show(Words::new(&[3], "group/", true));
    let at = cell(&harness, "group/1").unwrap().center();
    click(&mut harness, at);
    settle(&mut harness);
    // The bench's file has no such node; it says so by the path.
    let said = harness
        .state()
        .actions
        .iter()
        .any(|action| matches!(action, Action::Notice(words) if words.contains("group/1")));
    assert!(said);
}

#[test]
fn complex_numbers_have_four_faces() {
    let values = (0..600).map(|n| (n as f32 / 20.0, n as f32 / 50.0));
    let bytes = values
        .flat_map(|(angle, size)| {
            [(size * angle.cos()).to_le_bytes(), (size * angle.sin()).to_le_bytes()].concat()
        })
        .collect();
    let mut harness = show(plain(DType::C64, &[20, 30], bytes));
    for part in ["phase", "real", "imaginary", "amplitude"] {
        harness.get_by_label_contains("ComplexPart of the complex numbers").click();
        settle(&mut harness);
        harness.get_by_label(part).click();
        settle(&mut harness);
        harness.get_by_label_contains(&format!("ComplexPart of the complex numbers: {part}"));
        picture(&mut harness, &format!("complex_{part}"));
    }
}

#[test]
fn complex_numbers_are_written_and_counted_by_part() {
    let parts = [1.0f32, -2.0, 0.5, 3.0, f32::NAN, 0.0, 8.0, 0.25];
    let bytes: Vec<u8> = parts.iter().flat_map(|part| part.to_le_bytes()).collect();
    let mut harness = show(plain(DType::C64, &[2, 2], bytes));
    harness.get_by_label("Numbers").click();
    settle(&mut harness);
    for (notation, text) in [("fixed", "1.0000-2.0000j"), ("scientific", "5.000000e-1+3.000000e0j")] {
        harness.get_by_label_contains("Notation").click();
        settle(&mut harness);
        harness.get_by_label(notation).click();
        settle(&mut harness);
        assert!(cell(&harness, text).is_some(), "{notation}");
    }
    harness.get_by_label_contains("Notation").click();
    settle(&mut harness);
    harness.get_by_label("Bits beside the value").click();
    settle(&mut harness);
    assert!(cell(&harness, "0x3f800000 0xc0000000").is_some());
    harness.get_by_label("Histogram").click();
    settle(&mut harness);
    harness.get_by_label_contains("ComplexPart of the complex numbers").click();
    settle(&mut harness);
    harness.get_by_label("imaginary").click();
    settle(&mut harness);
    // Of the imaginary parts none is NaN, and the least is -2.
    harness.get_by_label("-2.0");
    picture(&mut harness, "complex_histogram");
}

#[test]
fn lines_and_counts_go_on_around_what_cannot_be_read() {
    let array = plain(DType::U8, &[40], (0..40).collect());
    let mut harness = show(Arc::new(Torn { array, lost: 10..14 }));
    let words = "4 elements could not be read: ";
    for mode in ["Line", "Histogram"] {
        harness.get_by_label(mode).click();
        settle(&mut harness);
        harness.get_by_label("A part could not be read");
        let said: Vec<_> = harness.query_all_by_label_contains(words).collect();
        assert_eq!(said.len(), 1, "{mode}");
        picture(&mut harness, &format!("torn_{mode}"));
    }
    // The count is that of what was read.
    harness.get_by_label("36");
}

#[test]
fn a_part_that_a_reference_names_becomes_the_slice() {
    let mut harness = show(cube());
    assert!(harness.state_mut().ask(&Request::GoTo("[2:5, 1:3, 4]".to_owned())));
    settle(&mut harness);
    assert_eq!(harness.state().view.export().unwrap().0, "the slice [2:5, 1:3, 4]");
    assert!(!harness.state_mut().ask(&Request::GoTo("[2:5, 1:3, 99]".to_owned())));
}

/// `a[i, j, k] = 100 i + 10 j + k`.
fn cube() -> Arc<dyn Array> {
    let values =
        (0..9u16).flat_map(|i| (0..8u16).flat_map(move |j| (0..7u16).map(move |k| 100 * i + 10 * j + k)));
    plain(DType::U16, &[9, 8, 7], values.flat_map(u16::to_le_bytes).collect())
}

#[test]
fn three_planes_share_one_cross_hair() {
    let mut harness = show(cube());
    harness.get_by_label("Volume").click();
    settle(&mut harness);
    assert!(harness.state_mut().ask(&Request::Element(vec![4, 3, 2])));
    settle(&mut harness);
    harness.get_by_label("a[4, 3, 2] =");
    harness.get_by_label("432");
    picture(&mut harness, "volume");
    // A click into the third plane, depth by columns, moves depth and columns, and the rows stay.
    let planes: Vec<egui::Rect> = harness
        .get_all_by(|node| node.role() == egui::accesskit::Role::Image)
        .map(|node| node.rect())
        .collect();
    assert_eq!(planes.len(), 3);
    let third = planes[2];
    let cell = (third.width() / 7.0).min(third.height() / 9.0);
    let origin = third.center() - egui::vec2(3.5, 4.5) * cell;
    click(&mut harness, origin + egui::vec2(6.5, 1.5) * cell);
    settle(&mut harness);
    harness.get_by_label("a[1, 3, 6] =");
    assert_eq!(under(&harness), "a[1, 3, 6] = 136");
    harness.key_press(Key::ArrowUp);
    settle(&mut harness);
    harness.get_by_label("a[0, 3, 6] =");
}

#[test]
fn the_plane_that_has_the_keys_is_zoomed_and_the_session_knows_it() {
    let mut harness = show(cube());
    harness.get_by_label("Volume").click();
    settle(&mut harness);
    let planes = harness.get_all_by(|node| node.role() == egui::accesskit::Role::Image);
    let third = planes.map(|node| node.rect().center()).nth(2).unwrap();
    click(&mut harness, third);
    settle(&mut harness);
    assert!(harness.state_mut().run(super::super::ZOOM_IN.words));
    settle(&mut harness);
    let kept = harness.state().view.save();
    let fits = |n: usize| kept["volume"]["planes"][n]["camera"]["fit"].as_bool();
    assert_eq!([fits(0), fits(1), fits(2)], [Some(true), Some(true), Some(false)]);
    let mut again = bench("a", Content::Array(cube()));
    again.state_mut().view.restore(&kept);
    settle(&mut again);
    let restored = again.state().view.save();
    assert_eq!((&restored["volume"], &restored["mapping"]), (&kept["volume"], &kept["mapping"]));
    assert!(again.state_mut().run(super::super::ZOOM_FIT.words));
}

#[test]
fn lines_run_along_any_axis() {
    let mut harness = show(cube());
    harness.get_by_label("Line").click();
    settle(&mut harness);
    harness.get_by_label_contains("Axis of the lines").click();
    settle(&mut harness);
    harness.get_by_label("along axis 0").click();
    settle(&mut harness);
    settle(&mut harness);
    harness.get_by_label_contains("Axis of the lines: along axis 0");
    let (words, _) = harness.state().view.export().unwrap();
    assert_eq!(words, "the slice [:, :, 0]");
    picture(&mut harness, "line_axis");
}

#[test]
fn a_drag_over_the_histogram_sets_the_colours() {
    let mut harness = show(cube());
    harness.get_by_label("Histogram").click();
    settle(&mut harness);
    let at = |x: f32| egui::pos2(x, 300.0);
    harness.drag_at(at(300.0));
    (0..5).for_each(|n| {
        harness.hover_at(at(350.0 + 40.0 * n as f32));
        harness.step();
    });
    harness.drop_at(at(520.0));
    settle(&mut harness);
    harness.get_by_label_contains("Colours cover");
    picture(&mut harness, "histogram");
    let kept = harness.state().view.save();
    assert!(kept["choice"]["range"]["hand"].is_array(), "{kept}");
}

#[test]
fn keys_do_what_the_mouse_does() {
    let mut harness = show(cube());
    let slice = |harness: &Harness<'_, ViewHarness>| harness.state().view.export().unwrap().0;
    harness.key_press(Key::CloseBracket);
    settle(&mut harness);
    harness.key_press(Key::PageDown);
    settle(&mut harness);
    assert_eq!(slice(&harness), "the slice [2, :, :]");
    harness.key_press_modifiers(Modifiers::SHIFT, Key::CloseBracket);
    settle(&mut harness);
    assert_eq!(slice(&harness), "the slice [8, :, :]");
    harness.key_press_modifiers(Modifiers::ALT, Key::Num4);
    settle(&mut harness);
    harness.get_by_label_contains("1 line of a");
    harness.key_press_modifiers(Modifiers::ALT, Key::Num2);
    settle(&mut harness);
    // The arrows frame an element also where nothing was clicked.
    let middle = super::picture(&harness).center();
    click(&mut harness, middle);
    harness.key_press(Key::Home);
    harness.remove_cursor();
    settle(&mut harness);
    assert!(
        under(&harness).starts_with("a[8, ") && under(&harness).contains(", 0] = "),
        "{}",
        under(&harness)
    );
}

/// The view as it is kept, and whether it plays.
fn kept(harness: &Harness<'_, ViewHarness>) -> String {
    let plays = harness.query_by_label("Pause axis 0").is_some();
    let view = &harness.state().view;
    format!("{} {plays} {:?}", view.save(), view.value())
}

/// Puts the view back to what was kept, with the keyboard in its picture.
fn stand(harness: &mut Harness<'_, ViewHarness>, state: &serde_json::Value, at: Pos2) {
    if harness.query_by_label("Pause axis 0").is_some() {
        harness.get_by_label("Pause axis 0").click();
        settle(harness);
    }
    click(harness, at);
    harness.remove_cursor();
    harness.state_mut().view.restore(state);
    settle(harness);
}

#[test]
fn every_key_of_heat_maps_and_lines_works_and_no_other() {
    use crate::gui::ui::{canvas, keys as tables};
    // A NaN before and behind the middle of a slice, so that both ways lead somewhere.
    let mut values: Vec<f32> = (0..30 * 40 * 50).map(|n| n as f32).collect();
    (values[12 * 2000 + 3], values[12 * 2000 + 1990]) = (f32::NAN, f32::NAN);
    let array = plain(DType::F32, &[30, 40, 50], values.iter().flat_map(|v| v.to_le_bytes()).collect());
    let mut harness = show(array);
    assert!(harness.state_mut().ask(&Request::Element(vec![12, 20, 25])));
    settle(&mut harness);
    let middle = super::picture(&harness).center();
    // Closer than all in sight, so that it can be fitted.
    for _ in 0..3 {
        click(&mut harness, middle);
        harness.key_press(Key::Plus);
        settle(&mut harness);
    }
    let state = harness.state().view.save();
    let mut table = tables::shortcuts(canvas::KEYS);
    table.extend(tables::shortcuts(super::super::keys::FRAME_KEYS));
    table.extend(tables::shortcuts(super::super::keys::SLICE_KEYS));
    table.extend(tables::shortcuts(super::super::keys::PLAY_KEYS));
    table.extend(tables::shortcuts(super::super::keys::ARRAY_KEYS));
    check_keys(&mut harness, &table, |harness| stand(harness, &state, middle), kept);
}

#[test]
fn every_key_of_lines_works_and_no_other() {
    use crate::gui::ui::keys as tables;
    let bytes = (0..4000u16).flat_map(|n| (n % 100).to_le_bytes()).collect();
    let mut harness = show(plain(DType::U16, &[4000], bytes));
    let plot = harness.get_by(|node| node.label().is_some_and(|label| label.contains("1 line of a"))).rect();
    let middle = plot.center();
    click(&mut harness, middle);
    for _ in 0..3 {
        harness.key_press(Key::Plus);
        settle(&mut harness);
    }
    let state = harness.state().view.save();
    let table = tables::shortcuts(super::super::keys::LINE_KEYS);
    let stand_marked = |harness: &mut Harness<'_, ViewHarness>| {
        stand(harness, &state, middle);
        assert!(harness.state_mut().ask(&Request::Element(vec![2000])));
        settle(harness);
    };
    check_keys(&mut harness, &table, stand_marked, kept);
}
