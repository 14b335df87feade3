//! Sliders: slices come while one moves, those ahead are there before they are asked for.

use std::sync::atomic::Ordering;
use std::sync::{Arc, atomic::AtomicUsize};
use std::time::{Duration, Instant};

use egui::Key;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use gander::data::content::{Array, Content};
use gander::data::dtype::DType;

use super::super::super::Request;
use super::super::super::harness::{Slow, ViewHarness, bench, frame_times, settle};
use super::{cell, plain};

/// Forty slices of 20 × 30 that take a while to read; counts of reads that began and that ended.
fn stack(delay: Duration) -> (Arc<dyn Array>, Arc<AtomicUsize>, Arc<AtomicUsize>) {
    let bytes = (0..40 * 600u32).map(|n| (n / 600 + n % 7) as u8).collect();
    let array = plain(DType::U8, &[40, 20, 30], bytes);
    let (reads, done) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
    let slow = Slow { array, delay, reads: reads.clone(), done: done.clone(), fails: false };
    (Arc::new(slow), reads, done)
}

fn standing(harness: &Harness<'_, ViewHarness>) -> String {
    harness.state().view.export().unwrap().0
}

#[test]
fn slices_come_while_a_slider_moves_faster_than_they_are_read() {
    let (array, _, done) = stack(Duration::from_millis(60));
    let mut harness = bench("a", Content::Array(array));
    settle(&mut harness);
    let before = done.load(Ordering::Relaxed);
    let started = Instant::now();
    let mut at = 0;
    while started.elapsed() < Duration::from_millis(1500) {
        at = (at + 7) % 40;
        assert!(harness.state_mut().ask(&Request::Element(vec![at, 0, 0])));
        harness.step();
        std::thread::sleep(Duration::from_millis(4));
    }
    // Every slice would be stopped by the next one; some are read to their end all the same.
    let read = done.load(Ordering::Relaxed) - before;
    assert!(read >= 4, "{read}");
    settle(&mut harness);
    assert_eq!(standing(&harness), format!("the slice [{at}, :, :]"));
}

#[test]
fn the_next_slices_are_there_before_they_are_asked_for() {
    let (array, reads, _) = stack(Duration::from_millis(20));
    let mut harness = bench("a", Content::Array(array));
    settle(&mut harness);
    let step = |harness: &mut Harness<'_, ViewHarness>| {
        harness.key_press(Key::CloseBracket);
        settle(harness);
        reads.load(Ordering::Relaxed)
    };
    step(&mut harness);
    let ahead = step(&mut harness);
    // The slice behind the six that were read ahead is all that one more step reads.
    assert_eq!(step(&mut harness) - ahead, 1);
    assert_eq!(standing(&harness), "the slice [3, :, :]");
    harness.key_press(Key::OpenBracket);
    settle(&mut harness);
    assert_eq!(standing(&harness), "the slice [2, :, :]");
}

/// Forty slices of 4 × 5 whose values begin at a thousand times the slice's number, from one on.
fn numbered(delay: Duration) -> (Arc<dyn Array>, Arc<AtomicUsize>) {
    let bytes = (0..40 * 20u16).flat_map(|n| (1000 * (n / 20 + 1) + n % 20).to_le_bytes()).collect();
    let array = plain(DType::U16, &[40, 4, 5], bytes);
    let done = Arc::<AtomicUsize>::default();
    let slow = Slow { array, delay, reads: Arc::default(), done: done.clone(), fails: false };
    (Arc::new(slow), done)
}

#[test]
fn numbers_stay_until_those_of_the_next_slice_are_there() {
    let (array, _) = numbered(Duration::from_millis(300));
    let mut harness = bench("a", Content::Array(array));
    settle(&mut harness);
    harness.get_by_label("Numbers").click();
    settle(&mut harness);
    harness.remove_cursor();
    assert!(cell(&harness, "1019").is_some());
    assert!(harness.state_mut().ask(&Request::Element(vec![20, 0, 0])));
    (0..3).for_each(|_| harness.step());
    assert!(cell(&harness, "1019").is_some() && cell(&harness, "21019").is_none());
    settle(&mut harness);
    assert!(cell(&harness, "21019").is_some());
    // A place says no value of another slice.
    assert!(harness.state().status.under.starts_with("a[20, 0, 0] = 21000"));
}

#[test]
fn a_playing_slider_waits_in_every_mode_until_its_slice_is_shown() {
    for mode in ["Numbers", "Line", "Histogram"] {
        let (array, done) = numbered(Duration::from_millis(60));
        let mut harness = bench("a", Content::Array(array));
        settle(&mut harness);
        harness.get_by_label(mode).click();
        settle(&mut harness);
        let before = done.load(Ordering::Relaxed);
        harness.get_by_label("Play axis 0").click();
        (0..60).for_each(|_| {
            harness.step();
            std::thread::sleep(Duration::from_millis(4));
        });
        let words = standing(&harness);
        let at: usize = words.trim_start_matches("the slice [").split(',').next().unwrap().parse().unwrap();
        let read = done.load(Ordering::Relaxed) - before;
        assert!(at <= read, "{mode}: {at} slices passed, {read} were read");
        // It goes on where they come.
        (0..170).for_each(|_| {
            harness.step();
            std::thread::sleep(Duration::from_millis(4));
        });
        assert_ne!(standing(&harness), words, "{mode}");
    }
}

#[test]
fn a_playing_slider_keeps_its_pace_and_stops() {
    let (array, ..) = stack(Duration::ZERO);
    let mut harness = bench("a", Content::Array(array));
    settle(&mut harness);
    harness.get_by_label("Play axis 0").click();
    harness.step();
    harness.step();
    harness.get_by_label_contains("Slices each second").click();
    (0..3).for_each(|_| harness.step());
    harness.get_by_label("30/s").click();
    (0..3).for_each(|_| harness.step());
    // Frames are a sixtieth of a second long: thirty slices take about sixty of them.
    let place = |harness: &Harness<'_, ViewHarness>| {
        let words = standing(harness);
        words.trim_start_matches("the slice [").split(',').next().unwrap().parse::<i64>().unwrap()
    };
    let before = place(&harness);
    for _ in 0..60 {
        harness.step();
        std::thread::sleep(Duration::from_millis(3));
    }
    let moved = (place(&harness) - before).rem_euclid(40);
    assert!((12..=32).contains(&moved), "{moved}");
    harness.get_by_label("Pause axis 0").click();
    settle(&mut harness);
    let stands = place(&harness);
    (0..30).for_each(|_| harness.step());
    assert_eq!(place(&harness), stands);
}

/// The array that is named by `GANDER_PLAY` (a file whose first child or root is one), or one of 24 slices of a
/// million elements.
fn large() -> Arc<dyn Array> {
    let Some(path) = std::env::var_os("GANDER_PLAY") else {
        let bytes = (0..24_000_000u32).map(|n| (n / 1_000_000 * 10 + n % 7) as u8).collect();
        return plain(DType::U8, &[24, 1000, 1000], bytes);
    };
    let task = gander::bytes::task::Task::new();
    let document = gander::formats::open(&task, path.as_ref(), &Default::default()).unwrap();
    let first = document.root.child_page(&task, 0..1).ok().and_then(|page| page.first().cloned());
    let content = document.root.content.clone().or_else(|| first?.content.clone());
    let Some(Content::Array(array)) = content else { panic!("no array in {}", path.display()) };
    array
}

/// Sixty frames a second are asked for, each with a slice of its own. What comes of it is printed: with
/// `GANDER_PLAY=FILE cargo test --release --bin gander plays -- --nocapture` it is a measurement.
#[test]
fn a_stack_of_slices_of_a_million_elements_plays() {
    let mut harness = bench("a", Content::Array(large()));
    settle(&mut harness);
    harness.get_by_label("Play axis 0").click();
    (0..2).for_each(|_| harness.step());
    harness.get_by_label_contains("Slices each second").click();
    (0..3).for_each(|_| harness.step());
    harness.get_by_label("60/s").click();
    // As long as a measurement wants, else until it has moved on; how fast depends on what else the machine does.
    let measured = if std::env::var_os("GANDER_PLAY").is_some() { 8.0 } else { 0.0 };
    let (started, mut moves, mut before) = (Instant::now(), 0u32, standing(&harness));
    harness.state_mut().frames.clear();
    let lasts = |moves: u32| match started.elapsed().as_secs_f64() {
        now if moves > 2 => now < measured,
        now => now < 60.0,
    };
    while lasts(moves) {
        let frame = Instant::now();
        harness.step();
        let now = standing(&harness);
        moves += u32::from(now != before);
        before = now;
        std::thread::sleep(Duration::from_micros(16_667).saturating_sub(frame.elapsed()));
    }
    let took = started.elapsed().as_secs_f64();
    let (median, longest) = frame_times(&harness.state().frames);
    println!("{:.1} slices a second; frames {median:.1?}, longest {longest:.1?}", f64::from(moves) / took);
    assert!(moves > 2, "{moves} slices in {took:.1} s");
}
