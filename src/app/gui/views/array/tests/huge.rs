//! Huge arrays: something stands on the screen at once, what is broken hides nothing else.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use gander::data::content::{Array, Content};
use gander::data::dtype::DType;

use super::super::super::Request;
use super::super::super::harness::{ViewHarness, bench, picture, settle};
use super::made::Vast;
use super::{cell, plain, show};

fn wait(harness: &mut Harness<'_, ViewHarness>, label: &str) -> Duration {
    let started = Instant::now();
    while harness.query_by_label_contains(label).is_none() {
        assert!(started.elapsed() < Duration::from_secs(20), "{label:?} does not come");
        harness.step();
        std::thread::sleep(Duration::from_millis(2));
    }
    started.elapsed()
}

#[test]
fn a_hundred_thousand_squared_is_seen_at_once_and_refined() {
    let vast = Vast::new(100_000, 1000, Duration::from_millis(1));
    let decoded = vast.decoded.clone();
    let mut harness = bench("a", Content::Array(Arc::new(vast)));
    let came = wait(&mut harness, "% read");
    let chunks = decoded.load(Ordering::Relaxed);
    println!("first picture after {came:?} and {chunks} of 10,000 chunks");
    assert!(chunks < 1500, "{chunks}");
    // On a machine that does nothing else within 300 ms.
    assert!(came < Duration::from_secs(4), "{came:?}");
    // A place that is gone to is read by itself.
    assert!(harness.state_mut().ask(&Request::GoTo("51234, 49876".to_owned())));
    for _ in 0..200 {
        harness.step();
        std::thread::sleep(Duration::from_millis(5));
        if harness.state().status.under.contains("= -") || harness.state().status.under.contains("= 0") {
            break;
        }
    }
    let value = |text: &str| text.split("= ").nth(1).and_then(|text| text.parse::<f32>().ok());
    let under = harness.state().status.under.clone();
    let (x, y) = (0.49876f32, 0.51234f32);
    let expected = (x * 25.0).sin() * (y * 18.0).cos() + x;
    assert!((value(&under).unwrap() - expected).abs() < 1e-3, "{under} {expected}");
    let mut times = harness.state().frames.clone();
    times.sort();
    assert!(times[times.len() / 2] < Duration::from_millis(16), "{:?}", times[times.len() / 2]);
}

#[test]
fn a_broken_chunk_leaves_a_hole_and_hides_nothing_else() {
    let mut vast = Vast::new(400, 100, Duration::ZERO);
    vast.broken = vec![vec![1, 2]];
    let mut harness = show(Arc::new(vast));
    harness.get_by_label_contains("its checksum is wrong");
    harness.get_by_label("A part could not be read");
    assert!(harness.state_mut().ask(&Request::GoTo("350, 20".to_owned())));
    settle(&mut harness);
    assert!(harness.state().status.under.starts_with("a[350, 20] = "), "{}", harness.state().status.under);
    harness.state_mut().run(super::super::ZOOM_FIT.words);
    picture(&mut harness, "broken");
}

#[test]
fn a_line_of_a_billion_is_seen_at_once() {
    let mut vast = Vast::new(1_000_000_000, 1_000_000, Duration::from_millis(1));
    vast.shape.truncate(1);
    let decoded = vast.decoded.clone();
    let mut harness = bench("a", Content::Array(Arc::new(vast)));
    let came = wait(&mut harness, "1 line of a");
    println!("first line after {came:?} and {} reads of chunks", decoded.load(Ordering::Relaxed));
    assert!(came < Duration::from_secs(4), "{came:?}");
}

#[test]
fn nothing_one_element_and_nothing_but_nan() {
    let empty = plain(DType::F32, &[0, 5], Vec::new());
    let scalar = plain(DType::F64, &[], 3.5f64.to_le_bytes().to_vec());
    let nan = plain(DType::F32, &[40, 60], f32::NAN.to_le_bytes().repeat(2400));
    let arrays: [(Arc<dyn Array>, &str); 3] = [(empty, "empty"), (scalar, "scalar"), (nan, "nan")];
    for (array, name) in arrays {
        let mut harness = show(array);
        for mode in ["Numbers", "Heat map", "Image", "Line", "Histogram"] {
            harness.get_by_label(mode).click();
            settle(&mut harness);
            picture(&mut harness, &format!("{name}_{}", mode.replace(' ', "_")));
            let found = harness.query_by_label_contains("could not be read").is_some();
            assert!(!found, "{name}: {mode}");
        }
        if name == "nan" {
            harness.get_by_label("No finite values");
            harness.get_by_label("Heat map").click();
            settle(&mut harness);
            harness.get_by_label("Next NaN").click();
            harness.remove_cursor();
            settle(&mut harness);
            assert_eq!(harness.state().status.under, "a[0, 0] = NaN");
        }
        if name == "scalar" {
            harness.get_by_label("Numbers").click();
            settle(&mut harness);
            assert!(cell(&harness, "3.5").is_some());
        }
    }
}
