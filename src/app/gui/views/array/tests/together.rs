//! One range for all slices, one cursor for all modes, views that go together.

use egui_kittest::kittest::Queryable as _;
use gander::data::content::ArrayFacts;
use gander::data::content::array::Scaling;
use gander::data::dtype::DType;
use std::sync::Arc;

use super::super::super::harness::{picture, settle};
use super::made::Described;
use super::{Harness, Request, ViewHarness, cell, floats, plain, show};

fn click(harness: &mut Harness<'_, ViewHarness>, label: &str) {
    harness.get_by_label(label).click();
    settle(harness);
}

/// The ends of the colours of the picture that would be exported: the colour of its first element.
fn first_color(harness: &Harness<'_, ViewHarness>) -> [u8; 3] {
    let pictures = harness.state().view.pictures();
    let (_, gander::data::format::Data::Image(image)) = &pictures[0] else { panic!("no picture") };
    let rect = gander::data::content::Rect { x: 0, y: 0, width: 1, height: 1 };
    let pixels = image.read(&gander::bytes::task::Task::new(), 0, 0, rect).unwrap();
    [pixels.data[0], pixels.data[1], pixels.data[2]]
}

#[test]
fn colours_of_the_whole_array_mean_the_same_in_every_slice() {
    // Each slice has one value, ten times its number.
    let bytes = (0..8u8).flat_map(|slice| vec![10 * slice; 30]).collect();
    let mut harness = show(plain(DType::U8, &[8, 5, 6], bytes));
    let at = |harness: &mut Harness<'_, ViewHarness>, slice: u64| {
        assert!(harness.state_mut().ask(&Request::GoTo(format!("[{slice}, :, :]"))));
        settle(harness);
        first_color(harness)
    };
    assert_eq!(at(&mut harness, 1), at(&mut harness, 6), "each slice has colours of its own");
    click(&mut harness, "Range of the colours: min–max");
    click(&mut harness, "of the whole array");
    harness.get_by_label("Range of the colours: min–max of all");
    let map = gander::data::plane::color::ColorMap::default();
    assert_eq!((at(&mut harness, 0), at(&mut harness, 7)), (map.at(0.0), map.at(1.0)));
    let middle = at(&mut harness, 3);
    assert!(middle != map.at(0.0) && middle != map.at(1.0));
    picture(&mut harness, "whole");
    // It stays while a slider plays.
    harness.get_by_label("Play axis 0").click();
    (0..40).for_each(|_| harness.step());
    harness.get_by_label("Range of the colours: min–max of all");
    click(&mut harness, "Pause axis 0");
    assert_eq!(at(&mut harness, 3), middle);
}

#[test]
fn black_and_white_of_the_whole_array_mean_the_same_in_every_slice() {
    // Each slice goes from its number to its number and one.
    let values = (0..8).flat_map(|slice| (0..30).map(move |n| slice as f32 * 100.0 + n as f32 / 29.0));
    let array = plain(DType::F32, &[8, 5, 6], values.flat_map(f32::to_le_bytes).collect());
    let mut harness = show(array);
    harness.get_by_label("Image").click();
    settle(&mut harness);
    let at = |harness: &mut Harness<'_, ViewHarness>, slice: u64| {
        assert!(harness.state_mut().ask(&Request::GoTo(format!("[{slice}, :, :]"))));
        settle(harness);
        first_color(harness)
    };
    assert_eq!((at(&mut harness, 1), at(&mut harness, 6)), ([0; 3], [0; 3]), "each slice has its own");
    click(&mut harness, "Black and white: window and level: auto");
    click(&mut harness, "of the whole array");
    harness.get_by_label("Black and white: window and level: auto of all");
    let grey: Vec<[u8; 3]> = (0..8).map(|slice| at(&mut harness, slice)).collect();
    assert_eq!((grey[0], grey[7]), ([0; 3], [255; 3]), "{grey:?}");
    assert!(grey.windows(2).all(|pair| pair[0] < pair[1]), "{grey:?}");
    // It stays while a slider plays, and in the session.
    harness.get_by_label("Play axis 0").click();
    (0..40).for_each(|_| harness.step());
    harness.get_by_label("Black and white: window and level: auto of all");
    click(&mut harness, "Pause axis 0");
    assert_eq!(at(&mut harness, 3), grey[3]);
    let kept = harness.state().view.save();
    assert_eq!(kept["photo"]["scope"], "array", "{kept}");
    // A window of this slice that is kept is another one again.
    click(&mut harness, "Black and white: window and level: auto of all");
    click(&mut harness, "of this slice");
    click(&mut harness, "Black and white: window and level: auto");
    click(&mut harness, "Keep as it is now");
    assert_eq!((at(&mut harness, 3), at(&mut harness, 4), at(&mut harness, 2)), ([0; 3], [255; 3], [0; 3]));
}

#[test]
fn what_is_kept_of_the_whole_array_is_its_range() {
    let bytes = (0..8u8).flat_map(|slice| vec![10 * slice; 30]).collect();
    let mut harness = show(plain(DType::U8, &[8, 5, 6], bytes));
    click(&mut harness, "Range of the colours: min–max");
    click(&mut harness, "of the whole array");
    click(&mut harness, "Range of the colours: min–max of all");
    click(&mut harness, "Keep as it is now");
    harness.get_by_label("Range of the colours: 0 – 70");
}

#[test]
fn every_mode_frames_the_element_that_the_last_one_did() {
    let mut harness = show(floats());
    assert!(harness.state_mut().ask(&Request::Element(vec![7, 12])));
    settle(&mut harness);
    settle(&mut harness);
    click(&mut harness, "Numbers");
    harness.remove_cursor();
    settle(&mut harness);
    assert!(harness.state().status.under.starts_with("a[7, 12] = 712.0"), "{}", harness.state().status.under);
    assert!(cell(&harness, "712").is_some());
    click(&mut harness, "Line");
    assert_eq!(harness.state().view.save()["lines"]["picks"], "7");
    assert!(harness.state_mut().ask(&Request::Element(vec![9, 33])));
    click(&mut harness, "Heat map");
    harness.remove_cursor();
    settle(&mut harness);
    assert_eq!(harness.state().status.under, "a[9, 33] = 933.0");
    click(&mut harness, "Histogram");
    click(&mut harness, "Numbers");
    assert!(harness.state().status.under.starts_with("a[9, 33] = 933.0"));
}

#[test]
fn the_next_nan_and_the_next_missing_value_are_found_in_every_mode() {
    let mut harness = show(floats());
    click(&mut harness, "Numbers");
    for under in ["a[0, 3] = NaN", "a[39, 59] = NaN"] {
        click(&mut harness, "Next and previous of such values: NaN");
        click(&mut harness, "Next NaN");
        settle(&mut harness);
        harness.remove_cursor();
        settle(&mut harness);
        assert!(harness.state().status.under.starts_with(under), "{}", harness.state().status.under);
    }
    click(&mut harness, "Next and previous of such values: NaN");
    click(&mut harness, "Next −Inf");
    settle(&mut harness);
    harness.remove_cursor();
    settle(&mut harness);
    assert!(harness.state().status.under.starts_with("a[0, 5] = −Inf"), "{}", harness.state().status.under);
    let scaling = Scaling { scale: 0.5, offset: 0.0, fill: vec![9.0], valid: None };
    let facts = ArrayFacts { scaling: Some(scaling), ..ArrayFacts::default() };
    let bytes = (0..40u8).map(|n| if n % 20 == 17 { 9 } else { 1 }).collect();
    let mut harness = show(Arc::new(Described { array: plain(DType::U8, &[4, 10], bytes), facts }));
    click(&mut harness, "Scale, offset and missing values: scaled values");
    click(&mut harness, "stored values");
    for under in ["a[1, 7] = 9", "a[3, 7] = 9", "a[1, 7] = 9"] {
        assert!(harness.state_mut().run("Next missing value"));
        settle(&mut harness);
        harness.remove_cursor();
        settle(&mut harness);
        assert_eq!(harness.state().status.under, under);
    }
}

#[test]
fn linked_views_go_together() {
    let mut one = show(floats());
    let mut other = show(floats());
    let mut third = show(plain(DType::U8, &[4, 4], vec![0; 16]));
    let pass = |from: &Harness<'_, ViewHarness>, to: &mut Harness<'_, ViewHarness>| {
        let (link, linked) = (from.state().workspace.link, from.state().workspace.linked.clone());
        let workspace = &mut to.state_mut().workspace;
        (workspace.link, workspace.linked) = (link, linked);
        settle(to);
    };
    assert!(one.state_mut().run("Link views of the same shape"));
    settle(&mut one);
    pass(&one, &mut other);
    pass(&one, &mut third);
    assert!(one.state_mut().ask(&Request::Element(vec![7, 12])));
    click(&mut one, "Swap rows and columns");
    click(&mut one, "1:1");
    pass(&one, &mut other);
    let (here, there) = (one.state().view.save(), other.state().view.save());
    assert_eq!(
        (&here["mapping"], &here["heat"]["camera"]["zoom"]),
        (&there["mapping"], &there["heat"]["camera"]["zoom"])
    );
    assert_eq!(here["heat"]["camera"]["fit"], false);
    assert_eq!(here["heat"]["cursor"], there["heat"]["cursor"]);
    // And back, by what is done in the other one; an array of another shape goes its own way.
    click(&mut other, "All in sight");
    pass(&other, &mut one);
    assert_eq!(one.state().view.save()["heat"]["camera"]["fit"], true);
    pass(&other, &mut third);
    assert_eq!(third.state().view.save()["mapping"]["shape"], serde_json::json!([4, 4]));
    click(&mut other, "Link");
    assert!(!other.state().workspace.link);
}
