//! The view of sounds in a harness.

use std::sync::Arc;

use egui::vec2;
use egui_kittest::kittest::Queryable as _;
use gander::bytes::task::Task;
use gander::data::content::{Array, Content};
use gander::data::format::{Data, Options};

use super::super::Request;
use super::super::harness::{ViewHarness, bench, click, picture, settle, wheel};
use super::{clock, player};

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

/// Steps until something is so.
fn until(
    harness: &mut egui_kittest::Harness<'static, ViewHarness>,
    is_so: impl Fn(&mut egui_kittest::Harness<'static, ViewHarness>) -> bool,
) {
    let begun = std::time::Instant::now();
    while !is_so(harness) {
        assert!(begun.elapsed() < std::time::Duration::from_secs(60), "it never comes");
        harness.step();
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}

#[test]
fn what_is_played_moves_the_cursor_to_its_end() {
    let _turn = player::tests::TURN.lock();
    player::tests::CHOSEN.set(Some(player::tests::recorder));
    let mut harness = bench("goose", Content::Array(sound("m4a/book.m4b")));
    settle(&mut harness);
    let shows = |harness: &mut egui_kittest::Harness<'static, ViewHarness>, word: &str| {
        harness.query_by_label(word).is_some()
    };
    assert!(shows(&mut harness, "Play"));
    // It ends by itself, near the last frame.
    let frame = |harness: &mut egui_kittest::Harness<'static, ViewHarness>| {
        let under = harness.state().status.under.clone();
        under.rsplit("frame ").next().and_then(|frame| frame.replace(',', "").parse().ok()).unwrap_or(0)
    };
    harness.key_press(egui::Key::Space);
    until(&mut harness, |harness| frame(harness) >= 2_000 && shows(harness, "Play"));
    assert!(frame(&mut harness) <= 6_000);
    // In a loop it does not: it is stopped by hand.
    harness.get_by_label("Loop").click();
    harness.step();
    assert!(harness.state_mut().run("Play or stop"));
    until(&mut harness, |harness| shows(harness, "Stop"));
    assert!(harness.state_mut().run("Play or stop"));
    until(&mut harness, |harness| shows(harness, "Play"));
    player::tests::CHOSEN.set(Some(player::tests::none));
    let mut harness = bench("goose", Content::Array(sound("m4a/book.m4b")));
    settle(&mut harness);
    harness.key_press(egui::Key::Space);
    until(&mut harness, |harness| {
        harness.query_by_label_contains("Nothing is played: this computer has no device for sound").is_some()
    });
    assert!(shows(&mut harness, "Play"));
    player::tests::CHOSEN.set(None);
}

#[test]
fn chapters_stand_above_and_are_gone_to() {
    let mut harness = bench("goose", Content::Array(sound("m4a/book.m4b")));
    settle(&mut harness);
    picture(&mut harness, "audio_chapters");
    let place = harness.get_by_label("chapter The pond, at noon").rect().center();
    click(&mut harness, place);
    settle(&mut harness);
    let frame = |harness: &mut egui_kittest::Harness<'static, ViewHarness>| {
        let under = harness.state().status.under.clone();
        under.rsplit("frame ").next().unwrap().replace(',', "").parse::<u64>().unwrap()
    };
    assert_eq!(frame(&mut harness), 960);
    for (command, at) in [("Next chapter", 3_040), ("Previous chapter", 960), ("Previous chapter", 0)] {
        assert!(harness.state_mut().run(command));
        settle(&mut harness);
        assert_eq!(frame(&mut harness), at, "{command}");
    }
    assert!(!harness.state_mut().run("Previous chapter"));
}

#[test]
fn times_are_as_exact_as_what_is_in_sight() {
    assert_eq!(clock(3_723.5, 10.0), "1:02:03.500");
    assert_eq!(clock(3_723.5, 1_000.0), "1:02:03");
    assert_eq!(clock(61.25, 30.0), "1:01.250");
}
