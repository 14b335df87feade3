//! Bodies, maps and images of the sky the right way up.

use egui::pos2;
use egui_kittest::kittest::Queryable as _;
use gander::data::axes::Heading;
use gander::data::content::ArrayFacts;
use gander::data::content::array::Axis;
use gander::data::dtype::DType;
use std::sync::Arc;

use super::super::super::harness::{picture, settle};
use super::made::Described;
use super::{Content, Harness, ViewHarness, bench_with, fixture, plain, show};

/// What the status bar says of the corners of the picture: upper left, upper right, lower left.
fn corners(harness: &mut Harness<'_, ViewHarness>) -> [String; 3] {
    let rect = super::picture(harness);
    let camera = harness.state().view.save()["heat"]["camera"].clone();
    // Where the picture begins in its place: it is fitted into the middle.
    let pair = |name: &str| [0, 1].map(|n| camera[name][n].as_f64().unwrap() as f32);
    let (zoom, middle) = (pair("zoom"), pair("middle"));
    let half = egui::vec2(zoom[0] * middle[0], zoom[1] * middle[1]);
    let (low, high) = (rect.center() - half, rect.center() + half);
    let inner = egui::vec2(zoom[0] / 2.0, zoom[1] / 2.0);
    let places =
        [low + inner, pos2(high.x - inner.x, low.y + inner.y), pos2(low.x + inner.x, high.y - inner.y)];
    places.map(|at| {
        harness.hover_at(at);
        settle(harness);
        let under = harness.state().status.under.clone();
        under.split(" = ").next().unwrap_or_default().to_owned()
    })
}

fn choose(harness: &mut Harness<'_, ViewHarness>, words: &str) {
    harness.remove_cursor();
    harness.get_by_label("Flip and turn").click();
    settle(harness);
    harness.get_by_label(words).click();
    settle(harness);
    harness.key_press(egui::Key::Escape);
    settle(harness);
}

#[test]
fn bodies_stand_upright_and_sides_can_be_switched() {
    let axis = |heading| Axis { heading: Some(heading), unit: Some("mm".to_owned()), ..Axis::default() };
    let axes = vec![axis(Heading::Left), axis(Heading::Posterior), axis(Heading::Inferior)];
    let facts = ArrayFacts { axes, ..ArrayFacts::default() };
    let array = plain(DType::U8, &[5, 6, 4], (0..120).collect());
    let mut harness = show(Arc::new(Described { array, facts }));
    // It opens as a volume: three pictures, each with its letters.
    let pictures = harness.query_all_by(|node| node.role() == egui::accesskit::Role::Image).count();
    assert_eq!(pictures, 3);
    harness.get_by_label("neurological: right at the right");
    picture(&mut harness, "body");
    harness.get_by_label("Heat map").click();
    settle(&mut harness);
    // In the middle of the body; the left of it at the left, its front on top.
    assert_eq!(corners(&mut harness), ["a[4, 0, 2]", "a[0, 0, 2]", "a[4, 5, 2]"]);
    choose(&mut harness, "Radiological: right at the left");
    assert_eq!(corners(&mut harness), ["a[0, 0, 2]", "a[4, 0, 2]", "a[0, 5, 2]"]);
    assert!(harness.state().workspace.radiological);
    choose(&mut harness, "As stored: row 0 on top");
    assert_eq!(corners(&mut harness), ["a[0, 0, 2]", "a[4, 0, 2]", "a[0, 5, 2]"]);
    assert_eq!(harness.state().view.save()["upright"]["as_stored"], true);
}

#[test]
fn a_file_says_what_is_black_and_white() {
    let mut harness = show(fixture("dicom_series/axial"));
    let choice = |harness: &Harness<'_, ViewHarness>| harness.state().view.save()["choice"].clone();
    let first = choice(&harness);
    assert_eq!(
        (&first["map"], &first["range"]["hand"]),
        (&"grey".into(), &vec![-160.0, 239.0].into()),
        "{first}"
    );
    harness.get_by_label_contains("Range of the colours").click();
    settle(&mut harness);
    harness.get_by_label("min–max").click();
    settle(&mut harness);
    assert_eq!(choice(&harness)["range"], "minmax");
    harness.get_by_label_contains("Range of the colours").click();
    settle(&mut harness);
    harness.get_by_label_contains("as the file asks").click();
    settle(&mut harness);
    assert_eq!(choice(&harness), first);
    // What is stored is another scale; and back.
    let words = |harness: &Harness<'_, ViewHarness>| choice(harness)["range"].to_string();
    for (way, range) in [("stored values", "\"minmax\""), ("scaled values", "{\"hand\":[-160.0,239.0]}")] {
        harness.get_by_label_contains("Scale, offset and missing values").click();
        settle(&mut harness);
        harness.get_by_label(way).click();
        settle(&mut harness);
        assert_eq!(words(&harness), range, "{way}");
    }
}

#[test]
fn what_a_file_asks_for_is_its_own() {
    let series = fixture("dicom_series/axial");
    let plainly = || plain(DType::U8, &[4, 16, 24], vec![1; 1536]);
    let map = |harness: &Harness<'_, ViewHarness>| harness.state().view.save()["choice"]["map"].clone();
    let usual = map(&show(plainly()));
    let shown = show(series.clone());
    let after = bench_with("b", Content::Array(plainly()), shown.state().workspace.mappings.clone());
    assert_eq!((map(&shown), map(&after)), ("grey".into(), usual));
    let after = bench_with("b", Content::Array(series), show(plainly()).state().workspace.mappings.clone());
    assert_eq!(map(&after), "grey");
}

#[test]
fn arrows_move_the_frame_as_it_is_seen() {
    let mut harness = show(fixture("fits/sky.fits"));
    assert!(harness.state_mut().ask(&super::Request::Element(vec![2, 3])));
    settle(&mut harness);
    settle(&mut harness);
    // Row 0 stands at the bottom, so that up is to the next row; going to an element gave the picture the keys.
    harness.key_press(egui::Key::ArrowUp);
    settle(&mut harness);
    assert!(harness.state().status.under.contains("[3, 3]"), "{}", harness.state().status.under);
}

#[test]
fn images_of_the_sky_have_their_first_row_at_the_bottom() {
    let mut harness = show(fixture("fits/sky.fits"));
    let [upper, _, lower] = corners(&mut harness);
    assert!(lower.ends_with("[0, 0]") && !upper.ends_with("[0, 0]"), "{upper} {lower}");
    choose(&mut harness, "As stored: row 0 on top");
    assert!(corners(&mut harness)[0].ends_with("[0, 0]"));
    choose(&mut harness, "Right way up: row 0 at the bottom");
    assert!(corners(&mut harness)[2].ends_with("[0, 0]"));
    // What is exported as a picture is what is seen.
    let pictures = harness.state().view.pictures();
    let (_, gander::data::format::Data::Image(image)) = &pictures[0] else { panic!("no picture") };
    let (width, height) = (image.info().width, image.info().height);
    let rect = gander::data::content::Rect::all(width, height);
    let seen = image.read(&gander::bytes::task::Task::new(), 0, 0, rect).unwrap();
    choose(&mut harness, "As stored: row 0 on top");
    let pictures = harness.state().view.pictures();
    let (_, gander::data::format::Data::Image(image)) = &pictures[0] else { panic!("no picture") };
    let stored = image.read(&gander::bytes::task::Task::new(), 0, 0, rect).unwrap();
    let row = |pixels: &gander::data::content::Pixels, y: u64| {
        let long = width as usize * 4;
        pixels.data[y as usize * long..][..long].to_vec()
    };
    assert_eq!((row(&seen, 0), row(&seen, height - 1)), (row(&stored, height - 1), row(&stored, 0)));
}

#[test]
fn maps_have_north_up() {
    let axis = |name: &str, unit: &str, step| Axis {
        name: name.to_owned(),
        unit: Some(unit.to_owned()),
        regular: Some((-20.0, step)),
        ..Axis::default()
    };
    let axes = vec![axis("lat", "degrees_north", 10.0), axis("lon", "degrees_east", 10.0)];
    let facts = ArrayFacts { axes, ..ArrayFacts::default() };
    let array = plain(DType::U8, &[5, 9], (0..45).collect());
    let mut harness = show(Arc::new(Described { array, facts }));
    assert_eq!(corners(&mut harness), ["a[4, 0]", "a[4, 8]", "a[0, 0]"]);
    picture(&mut harness, "map");
}
