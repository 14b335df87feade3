use std::time::{Duration, Instant};

use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use gander::bytes::source::Source;
use gander::data::content::array::Plain;
use gander::data::format::Options;
use gander::data::node::Node;

use super::*;

struct Bench {
    weights: Weights,
    jobs: Jobs,
    target: Target,
    mappings: Mappings,
}

fn plain(dtype: DType, shape: &[u64], bytes: Vec<u8>) -> Arc<dyn Array> {
    Arc::new(Plain::new(Source::memory("w", bytes), 0, dtype, shape.to_vec()).unwrap())
}

fn bench(array: Arc<dyn Array>) -> Harness<'static, Bench> {
    let source = Source::memory("bench", vec![0]);
    let document = gander::formats::open_source(&Task::new(), &source, &Options::default()).unwrap();
    let node = Arc::new(Node::new("w", "array").content(Content::Array(array)));
    let target = Target { file: 1, document: Arc::new(document), path: "w".to_owned(), node };
    let bench =
        Bench { weights: Weights::default(), jobs: Jobs::new(|| {}), target, mappings: Mappings::default() };
    let frame = |ui: &mut Ui, bench: &mut Bench| {
        let key = (1, Arc::as_ptr(&bench.target.node) as usize, Subject::Node);
        bench.weights.ui(ui, &bench.jobs, &key, &bench.target, &bench.mappings);
    };
    Harness::builder()
        .with_size(vec2(304.0, 900.0))
        .with_context_setup(theme::apply)
        .build_ui_state(frame, bench)
}

/// Frames until a widget of these words is there.
fn until(harness: &mut Harness<'_, Bench>, words: &str) {
    let started = Instant::now();
    while harness.query_by_label_contains(words).is_none() {
        assert!(started.elapsed() < Duration::from_secs(60), "no {words}");
        std::thread::sleep(Duration::from_millis(5));
        harness.step();
    }
}

fn diagonal(side: usize) -> Vec<u8> {
    let value = |n: usize| if n.is_multiple_of(side + 1) { (n / (side + 1) + 1) as f32 } else { 0.0 };
    (0..side * side).flat_map(|n| value(n).to_le_bytes()).collect()
}

#[test]
fn a_matrix_has_norms_bits_and_on_a_click_singular_values() {
    let mut harness = bench(plain(DType::F32, &[16, 16], diagonal(16)));
    until(&mut harness, "L1 norm: 136");
    // √(1² + … + 16²), and the largest element.
    harness.get_by_label("L2 norm: 38.67816");
    harness.get_by_label("L∞ norm: 16");
    harness.get_by_label("zeros: 240 (93.75 %)");
    harness.get_by_label("exponents in use: 2^0 … 2^4 · 5");
    harness.get_by_label("mantissa bits in use: 3 of 23");
    harness.get_by_label("all values fit: float8_e4m3fn");
    assert!(harness.query_by_label_contains("stable rank").is_none());
    harness.get_by_label("Singular values").click();
    until(&mut harness, "stable rank");
    harness.get_by_label("largest σ₁: 16");
    harness.get_by_label("condition number: 16");
    // 1496 / 256.
    harness.get_by_label("stable rank: 5.84375");
    harness.get_by_label("rank: 16 of 16");
    harness.get_by_label_contains("tail exponent α");
    harness.get_by_label("Plot of the singular values");
}

#[test]
fn a_matrix_with_nan_says_where_it_has_no_singular_values() {
    let mut bytes = diagonal(4);
    bytes[20..24].copy_from_slice(&f32::NAN.to_le_bytes());
    let mut harness = bench(plain(DType::F32, &[4, 4], bytes));
    // The button moves while the lines above it come.
    until(&mut harness, "L2 norm");
    harness.get_by_label("Singular values").click();
    until(&mut harness, "NaN at [1, 1]");
}

#[test]
fn what_is_no_float_has_no_such_section_and_a_vector_no_singular_values() {
    let mut harness = bench(plain(DType::I32, &[2, 2], vec![0; 16]));
    harness.step();
    assert!(harness.query_by_label_contains("norm").is_none());
    let mut harness = bench(plain(DType::F32, &[4], vec![0; 16]));
    until(&mut harness, "L2 norm: 0");
    assert!(harness.query_by_label("Singular values").is_none());
}
