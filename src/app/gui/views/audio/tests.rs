//! The view of sounds in a harness.

use std::sync::Arc;

use egui::vec2;
use egui_kittest::kittest::Queryable as _;
use gander::bytes::task::Task;
use gander::data::content::{Array, Content};
use gander::data::format::{Data, Options};

use super::super::Request;
use super::super::harness::{bench, click, picture, settle, wheel};
use super::clock;

fn sound(name: &str) -> Arc<dyn Array> {
    let path = format!("{}/fixtures/{name}", env!("CARGO_MANIFEST_DIR"));
    let document =
        gander::formats::open(&Task::new(), std::path::Path::new(&path), &Options::default()).unwrap();
    match &document.root.content {
        Some(Content::Array(array)) => array.clone(),
        _ => panic!("{name} is no sound"),
    }
}

#[test]
fn waveform_spectrogram_cursor_and_zoom() {
    let mut harness = bench("goose", Content::Array(sound("wav/pcm_16.wav")));
    settle(&mut harness);
    let facts = harness.state().status.facts.clone();
    assert!(facts.contains("Hz") && facts.contains("channel") && facts.contains("frame"), "{facts}");
    picture(&mut harness, "audio");
    let rect = harness.get_by(|node| node.role() == egui::accesskit::Role::Image).rect();
    click(&mut harness, rect.center());
    settle(&mut harness);
    assert!(harness.state().status.under.contains("frame "), "{}", harness.state().status.under);
    // Over the spectrogram the frequency is told.
    harness.hover_at(rect.center_bottom() - vec2(0.0, 20.0));
    settle(&mut harness);
    assert!(harness.state().status.under.contains("dB"), "{}", harness.state().status.under);
    wheel(&mut harness, rect.center(), 400.0);
    settle(&mut harness);
    for mode in ["Show waveform", "Show spectrogram", "Show samples", "Show waveform and spectrogram"] {
        assert!(harness.state_mut().run(mode), "{mode}");
        settle(&mut harness);
    }
    assert!(harness.state_mut().run("Fit the picture"));
    assert!(harness.state_mut().ask(&Request::GoTo("100".to_owned())));
    assert!(!harness.state_mut().ask(&Request::GoTo("99999999".to_owned())));
    settle(&mut harness);
}

#[test]
fn a_selection_is_exported_as_its_frames() {
    let mut harness = bench("goose", Content::Array(sound("wav/pcm_16.wav")));
    settle(&mut harness);
    assert!(harness.state().view.export().is_none());
    let rect = harness.get_by(|node| node.role() == egui::accesskit::Role::Image).rect();
    let (from, to) = (rect.left_center() + vec2(100.0, 0.0), rect.left_center() + vec2(300.0, 0.0));
    harness.drag_at(from);
    harness.step();
    harness.hover_at(to);
    harness.step();
    harness.drop_at(to);
    settle(&mut harness);
    let Some((words, Data::Arrays(arrays))) = harness.state().view.export() else { panic!() };
    let frames = arrays[0].1.shape()[0];
    let whole = sound("wav/pcm_16.wav").shape()[0];
    assert!(frames > 0 && frames < whole, "{frames} of {whole}");
    assert!(words.starts_with("the selected "), "{words}");
}

#[test]
fn times_are_as_exact_as_what_is_in_sight() {
    assert_eq!(clock(3_723.5, 10.0), "1:02:03.500");
    assert_eq!(clock(3_723.5, 1_000.0), "1:02:03");
    assert_eq!(clock(61.25, 30.0), "1:01.250");
}
