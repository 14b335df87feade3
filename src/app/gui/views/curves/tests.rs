//! The view of curves in a harness: what is shown, hidden, zoomed into and kept.

use std::sync::Arc;

use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use gander::bytes::task::Task;
use gander::data::format::Options;

use super::super::harness::{ViewHarness, bench_of, picture, settle};

fn shown(fixture: &str, path: &str) -> Harness<'static, ViewHarness> {
    let file = format!("{}/fixtures/{fixture}", env!("CARGO_MANIFEST_DIR"));
    let document = gander::open(&Task::new(), file.as_ref(), &Options::default()).unwrap();
    let node = document.root.find(&Task::new(), path).unwrap().unwrap_or_else(|| panic!("{path}"));
    let mut harness = bench_of(Arc::new((*node).clone()));
    settle(&mut harness);
    harness
}

#[test]
fn scalars_are_curves_and_rows() {
    let mut harness = shown("training_run/trainer", "/scalars");
    picture(&mut harness, "curves");
    harness.get_by_label("Curves of train/loss");
    assert_eq!(harness.state().status.facts.split(" · ").next(), Some("3 tags"));
    harness.get_by_label("Table").click();
    settle(&mut harness);
    assert!(harness.query_by_label("Curves of train/loss").is_none());
    assert!(harness.query_by_label("Summary").is_some(), "the view of tables");
    let kept = harness.state().view.save();
    let mut again = shown("training_run/trainer", "/scalars");
    again.state_mut().view.restore(&kept);
    settle(&mut again);
    assert!(again.query_by_label("Curves of train/loss").is_none());
}

#[test]
fn tags_are_filtered_and_shown_alone() {
    let mut harness = shown("training_run/trainer", "/scalars");
    let field = harness.get_by_label("Tags that fit this regular expression");
    field.focus();
    harness.step();
    harness.get_by_label("Tags that fit this regular expression").type_text("^eval");
    settle(&mut harness);
    assert!(harness.query_by_label("Curves of train/loss").is_none());
    harness.get_by_label("Curves of eval/loss");
    assert!(harness.state().status.facts.starts_with("1 of 3 tags"));
}

#[test]
fn runs_are_hidden_by_the_legend() {
    let mut harness = shown("training_run/lightning_logs", "/scalars");
    picture(&mut harness, "curves_runs");
    harness.get_by_label("Run version_0, shown").click();
    settle(&mut harness);
    harness.get_by_label("Run version_0, hidden");
    let kept = harness.state().view.save();
    assert_eq!(kept["page"]["hidden"], serde_json::json!(["version_0"]));
}

#[test]
fn histograms_are_a_picture() {
    let file = "tensorboard/events.out.tfevents.1700000100.tensorflow2.v2";
    let path = format!("{}/fixtures/{file}", env!("CARGO_MANIFEST_DIR"));
    let document = gander::open(&Task::new(), path.as_ref(), &Options::default()).unwrap();
    let histograms = document.root.find(&Task::new(), "/histograms").unwrap().unwrap();
    let first = histograms.child_page(&Task::new(), 0..1).unwrap().remove(0);
    let mut harness = bench_of(first);
    settle(&mut harness);
    picture(&mut harness, "histograms");
    assert!(harness.state().status.facts.contains("step"), "{}", harness.state().status.facts);
    harness.get_by_label("Lines").click();
    settle(&mut harness);
    picture(&mut harness, "histogram_lines");
    assert_eq!(harness.state().view.save()["heat"]["kind"], "lines");
}
