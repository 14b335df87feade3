//! The view in a harness, over a small table.

use std::time::{Duration, Instant};

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use gander::bytes::source::Source;
use gander::data::content::Content;
use gander::data::content::table::MemoryTable;
use gander::data::node::Node;

use super::*;
use gander::data::content::Table;

use crate::gui::views::Workspace;
use crate::gui::views::harness::ViewHarness;

fn harness() -> Harness<'static, ViewHarness> {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..1000));
    let table: Arc<dyn Table> =
        Arc::new(MemoryTable::new(RecordBatch::try_from_iter([("n", numbers)]).unwrap()));
    let root = Arc::new(Node::new("numbers.parquet", "file").content(Content::Table(table)));
    let document = Arc::new(Document {
        source: Source::memory("numbers.parquet", vec![1u8]),
        format: gander::formats::by_id("parquet").unwrap(),
        root: root.clone(),
        remarks: Vec::new(),
        broken_promise: false,
        options: Default::default(),
    });
    let target = Target { file: 1, document: document.clone(), path: String::new(), node: root };
    let workspace = Workspace { documents: vec![document], ..Workspace::default() };
    let harness =
        ViewHarness { workspace, ..ViewHarness::new(make(QueryStart::Table(target, String::new())), None) };
    let builder = Harness::builder().with_size(vec2(1000.0, 700.0)).with_step_dt(1.0 / 60.0);
    builder.with_context_setup(crate::gui::theme::apply).build_ui_state(ViewHarness::frame, harness)
}

fn until(harness: &mut Harness<'static, ViewHarness>, what: impl Fn(&Harness<'static, ViewHarness>) -> bool) {
    let started = Instant::now();
    while !what(harness) {
        assert!(started.elapsed() < Duration::from_secs(20), "it did not come: {:?}", harness.state().status);
        harness.step();
        std::thread::sleep(Duration::from_millis(3));
    }
}

#[test]
fn a_statement_runs_and_its_result_is_a_table() {
    let mut harness = harness();
    let written = |text: &str| text.starts_with("SELECT *\nFROM numbers");
    until(&mut harness, |h| written(h.state().view.save()["statement"].as_str().unwrap()));
    harness.key_press_modifiers(Modifiers::COMMAND, Key::Enter);
    until(&mut harness, |h| h.state().view.export().is_some_and(|(words, _)| words == "result1: 1,000 rows"));
    assert!(harness.query_all_by_label("result1").next().is_some());
    until(&mut harness, |h| h.state().status.facts.starts_with("1,000 rows"));
    harness.get_by_label("Plan").click();
    harness.step();
    harness.step();
    let kept = harness.state().view.save();
    assert!(kept["statement"].as_str().unwrap().contains("FROM numbers"));
}

#[test]
fn a_mistake_is_said_in_words() {
    let mut harness = harness();
    harness.state_mut().view.restore(&serde_json::json!({ "statement": "SELECT m FROM numbers" }));
    harness.step();
    harness.get_by_label("Run").click();
    until(&mut harness, |h| h.query_by_label("there is no column \"m\"; did you mean \"n\"?").is_some());
}

#[test]
fn each_statement_has_a_result_and_knows_those_before_it() {
    let mut harness = harness();
    let text = "SELECT n FROM numbers WHERE n < 7;\nSELECT count(*) AS c FROM result1;\nSELECT m FROM numbers; SELECT 4";
    harness.state_mut().view.restore(&serde_json::json!({ "statement": text }));
    harness.step();
    harness.get_by_label("Run").click();
    until(&mut harness, |h| h.query_by_label("result3 failed").is_some());
    assert!(harness.query_by_label("result4 not run").is_some());
    harness.get_by_label("result2").click();
    until(&mut harness, |h| h.state().view.export().is_some_and(|(words, _)| words == "result2: 1 row"));
    // What failed says where, in the text as a whole.
    harness.get_by_label("result3 failed").click();
    until(&mut harness, |h| h.query_by_label("Go to the place").is_some());
    harness.get_by_label("Go to the place").click();
    harness.step();
    harness.step();
    harness.key_press_modifiers(Modifiers::COMMAND | Modifiers::SHIFT, Key::Enter);
    until(&mut harness, |h| h.query_by_label("result3 failed").is_some());
    // The statement at the cursor ran alone, with the number that it had.
    assert!(harness.query_by_label("result5").is_none());
    harness.get_by_label("Close result4").click();
    until(&mut harness, |h| h.query_by_label("result4 not run").is_none());
}

#[test]
fn names_are_offered_while_one_types() {
    let mut harness = harness();
    harness.state_mut().view.restore(&serde_json::json!({ "statement": "" }));
    until(&mut harness, |h| h.query_by_label("SQL statements").is_some_and(|field| field.is_focused()));
    for _ in 0..40 {
        harness.step();
        std::thread::sleep(Duration::from_millis(5));
    }
    for text in ["s", "e", "l"] {
        harness.event(egui::Event::Text(text.to_owned()));
        harness.step();
    }
    until(&mut harness, |h| h.query_by_label("select, keyword").is_some());
    harness.key_press(Key::Tab);
    harness.step();
    harness.step();
    assert_eq!(harness.state().view.save()["statement"], "select");
    harness.event(egui::Event::Text(" * from num".to_owned()));
    until(&mut harness, |h| h.query_by_label("numbers, table 1,000 rows").is_some());
    harness.key_press(Key::Enter);
    harness.step();
    harness.step();
    assert_eq!(harness.state().view.save()["statement"], "select * from numbers");
    harness.event(egui::Event::Text(" order by n desc".to_owned()));
    until(&mut harness, |h| h.query_by_label("describe, keyword").is_some());
    // What is run is written to its end.
    assert!(harness.state_mut().run("Run all statements, or those that are selected"));
    harness.step();
    until(&mut harness, |h| h.query_all_by_label("result1").next().is_some());
    assert!(harness.query_by_label("describe, keyword").is_none());
}

#[test]
fn a_result_is_plotted() {
    let mut harness = harness();
    harness
        .state_mut()
        .view
        .restore(&serde_json::json!({ "statement": "SELECT n % 3 AS kind, n FROM numbers" }));
    harness.step();
    harness.get_by_label("Run").click();
    until(&mut harness, |h| h.query_by_label("Plot").is_some());
    harness.get_by_label("Plot").click();
    until(&mut harness, |h| h.query_by_label("Plot of n by kind").is_some());
    harness.get_by_label("Histogram").click();
    until(&mut harness, |h| h.query_by_label("Plot of rows by n").is_some());
}

/// Writes a text instead of the one that is there, and runs all of it.
fn run_text(harness: &mut Harness<'static, ViewHarness>, text: &str) {
    let state = serde_json::json!({ "statement": text });
    harness.state_mut().view.restore(&state);
    harness.step();
    assert!(harness.state_mut().run("Run all statements, or those that are selected"));
}

fn results(harness: &Harness<'static, ViewHarness>) -> Vec<String> {
    let tabs = harness.query_all_by(|node| {
        node.role() == egui::accesskit::Role::Tab
            && node.label().is_some_and(|label| label.starts_with("result"))
    });
    tabs.filter_map(|node| node.accesskit_node().label()).collect()
}

#[test]
fn a_run_replaces_the_result_of_its_statement_unless_that_is_pinned() {
    let mut harness = harness();
    let rows = |words: &'static str| {
        move |h: &Harness<'static, ViewHarness>| {
            h.state().view.export().is_some_and(|(said, _)| said == words)
        }
    };
    run_text(&mut harness, "SELECT n FROM numbers LIMIT 3");
    until(&mut harness, rows("result1: 3 rows"));
    run_text(&mut harness, "SELECT n FROM numbers LIMIT 1");
    until(&mut harness, rows("result1: 1 row"));
    // The statement was edited, and has one result.
    until(&mut harness, |h| results(h) == ["result1"]);
    harness.get_by_label("Keep this result when its statement runs again").click();
    harness.step();
    harness.step();
    assert_eq!(results(&harness), ["result1 kept"]);
    run_text(&mut harness, "SELECT n FROM numbers LIMIT 2");
    until(&mut harness, rows("result2: 2 rows"));
    until(&mut harness, |h| results(h) == ["result1 kept", "result2"]);
    // Each of several statements has its own.
    run_text(&mut harness, "SELECT n FROM numbers LIMIT 2;\nSELECT n FROM numbers LIMIT 5");
    until(&mut harness, |h| results(h) == ["result1 kept", "result2", "result3"]);
}
