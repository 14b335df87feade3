//! Axes with units, scaled values, values with names.

use egui_kittest::kittest::Queryable as _;

use super::super::super::Request;
use super::super::super::harness::{bench, picture, settle};
use super::made::{Described, classes, temperature};
use super::{cell, fixture, plain, show};
use gander::data::content::array::Axis;
use gander::data::content::{ArrayFacts, Content};
use gander::data::dtype::DType;
use std::sync::Arc;

#[test]
fn sliders_and_values_say_what_they_stand_for() {
    let mut harness = show(temperature());
    assert!(harness.state_mut().ask(&Request::Element(vec![17, 20, 9])));
    settle(&mut harness);
    harness.get_by_label("time 17/60: 1950-01-18");
    let under = harness.state().status.under.clone();
    assert!(under.starts_with("a[17, 20, 9] = 29"), "{under}");
    assert!(
        under.ends_with(" K  ·  time 1950-01-18  lat 12.5 degrees_north  lon 45 degrees_east"),
        "{under}"
    );
    picture(&mut harness, "temperature");
    // Each mode says it in its way.
    for (mode, words) in [("Line", "1 line of a"), ("Numbers", "12.5"), ("Volume", "Cross-hair")] {
        harness.get_by_label(mode).click();
        settle(&mut harness);
        let said = |label: String| label.contains(words);
        let found = harness.query_all_by(|node| node.label().is_some_and(said)).next().is_some();
        assert!(found, "{mode}");
    }
}

/// Rows and columns of the array view, and where its axes stand.
fn plane(harness: &egui_kittest::Harness<'_, super::ViewHarness>) -> (u64, u64, String) {
    let mapping = &harness.state().view.save()["mapping"];
    let axis = |name: &str| mapping[name].as_u64().unwrap();
    (axis("rows"), axis("columns"), mapping["at"].to_string())
}

#[test]
fn scans_open_on_the_plane_of_their_first_axes() {
    let harness = show(fixture("nifti/scaled.nii"));
    // x, y, z and t: in the middle of the body, at the first time.
    assert_eq!(plane(&harness), (1, 0, "[1,1,1,0]".to_owned()));
    // A body opens as a volume. The depth goes through the body too, not through time.
    for heading in ["y × x", "z × y", "z × x"] {
        harness.get_by_label_contains(heading);
    }
    // Climate stands as it is stored.
    let harness = show(temperature());
    assert_eq!(plane(&harness), (1, 2, "[0,0,0]".to_owned()));
}

#[test]
fn elements_are_as_large_as_their_axes_say() {
    let axis = |name: &str, step| Axis {
        name: name.to_owned(),
        unit: Some("mm".to_owned()),
        regular: Some((0.0, step)),
        ..Axis::default()
    };
    let facts = ArrayFacts { axes: vec![axis("z", 5.0), axis("x", 1.0)], ..ArrayFacts::default() };
    let array = plain(DType::U8, &[12, 60], (0..720).map(|n| n as u8).collect());
    let mut harness = show(Arc::new(Described { array, facts }));
    let shape = |harness: &egui_kittest::Harness<'_, super::ViewHarness>| {
        let zoom = harness.state().view.save()["heat"]["camera"]["zoom"].clone();
        zoom[1].as_f64().unwrap() / zoom[0].as_f64().unwrap()
    };
    assert!((shape(&harness) - 5.0).abs() < 1e-9);
    let mut choose = |words: &str| {
        harness.get_by_label("Shape of the cells").click();
        settle(&mut harness);
        harness.get_by_label(words).click();
        settle(&mut harness);
        settle(&mut harness);
        shape(&harness)
    };
    assert!((choose("Square cells") - 1.0).abs() < 1e-9);
    assert!((choose("Fill the view") - 1.0).abs() > 0.1);
    assert!((choose("True size, 1 : 5") - 5.0).abs() < 1e-9);
    // The other way round, and every other row only.
    harness.get_by_label("Swap rows and columns").click();
    settle(&mut harness);
    assert!((shape(&harness) - 0.2).abs() < 1e-9);
}

#[test]
fn places_on_the_sky_are_told_and_rulers_count_pixels() {
    let mut harness = show(fixture("fits/sky.fits"));
    assert!(harness.state_mut().ask(&Request::Element(vec![0, 0])));
    settle(&mut harness);
    let under = harness.state().status.under.clone();
    assert!(under.ends_with("  ·  RA 10.101574 deg  DEC 10.099984 deg"), "{under}");
}

#[test]
fn lines_run_along_uneven_coordinates() {
    let doubles = |values: &[f64]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    let array = plain(DType::F64, &[5], doubles(&[7.0, 8.0, 9.0, 10.0, 11.0]));
    let depth = Axis {
        name: "depth".to_owned(),
        unit: Some("m".to_owned()),
        coordinate: Some(plain(DType::F64, &[5], doubles(&[0.0, 1.0, 2.0, 3.0, 100.0]))),
        ..Axis::default()
    };
    let facts = ArrayFacts { axes: vec![depth], ..ArrayFacts::default() };
    let mut harness = show(Arc::new(Described { array, facts }));
    settle(&mut harness);
    // In the middle between 0 m and 100 m the nearest element is the one before the last.
    let middle = harness.get_by_label_contains("1 line of a").rect().center();
    harness.hover_at(middle);
    settle(&mut harness);
    let under = harness.state().status.under.clone();
    assert!(under.starts_with("a[3] = 10.0  ·  depth 3 m"), "{under}");
    picture(&mut harness, "uneven");
}

#[test]
fn scale_offset_and_missing_values_have_a_switch() {
    let mut harness = bench("t", Content::Array(temperature()));
    settle(&mut harness);
    harness.get_by_label("Numbers").click();
    settle(&mut harness);
    harness.remove_cursor();
    assert!(harness.state_mut().ask(&Request::Element(vec![17, 3, 5])));
    settle(&mut harness);
    let under = |harness: &egui_kittest::Harness<'_, _>| -> String {
        let bench: &super::ViewHarness = harness.state();
        bench.status.under.clone()
    };
    assert!(under(&harness).starts_with("t[17, 3, 5] = NaN"), "{}", under(&harness));
    harness.get_by_label_contains("Scale, offset and missing values").click();
    settle(&mut harness);
    harness.get_by_label_contains("stored × 0.01; plus 273.15; -32768 missing");
    harness.get_by_label("stored values").click();
    settle(&mut harness);
    harness.remove_cursor();
    settle(&mut harness);
    assert!(under(&harness).starts_with("t[17, 3, 5] = -32768"), "{}", under(&harness));
    // The session knows it.
    let kept = harness.state().view.save();
    assert_eq!(kept["field"]["stored"], true);
}

#[test]
fn named_values_show_their_names() {
    let mut harness = show(classes());
    assert!(harness.state_mut().ask(&Request::Element(vec![2, 1])));
    settle(&mut harness);
    assert_eq!(harness.state().status.under, "a[2, 1] = 1 (forest)");
    picture(&mut harness, "classes");
    harness.get_by_label("Numbers").click();
    settle(&mut harness);
    assert!(cell(&harness, "2  town").is_some());
}
