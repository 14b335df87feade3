//! The slider over the versions of a table, with a Delta table of four.

use gander::bytes::task::Task;
use gander::data::format::Options;

use super::*;

/// The view of the table of four versions, of 6, 10, 8 and 3 rows.
fn delta() -> Harness<'static, ViewHarness> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/delta/versions");
    let document = gander::open(&Task::new(), path.as_ref(), &Options::default()).unwrap();
    let root = document.root.clone();
    let Some(Content::Table(table)) = &root.content else { panic!("no table") };
    let mut view = TableView::new("versions", table.clone());
    let target = Target { file: 1, document: Arc::new(document), path: String::new(), node: root };
    view.versions = super::super::versions::Bar::of(&target);
    bench_of(view, target)
}

fn rows(bench: &ViewHarness) -> Option<u64> {
    bench.view.main.table.rows().exact()
}

#[test]
fn a_step_shows_another_version_in_the_same_place() {
    let mut harness = delta();
    until(&mut harness, |b| b.view.main.cell(0, 0).kind == CellKind::Number);
    let grid = &mut harness.state_mut().view.main.grid;
    let mut layout = grid.layout().clone();
    layout.widths.insert(1, 222.0);
    grid.set_layout(layout);
    harness.state_mut().view.main.grid.scroll_to(2, Some(1));
    harness.step();
    assert!(harness.query_by_label("Version: version 3").is_some());
    assert!(harness.query_by_label("newest").is_some());
    assert!(harness.state_mut().view.step_version(-2));
    // What is on screen stays until the rows of the other one are there.
    harness.step();
    let mut seen = Vec::new();
    let started = Instant::now();
    while rows(harness.state()) != Some(10) {
        assert!(started.elapsed() < Duration::from_secs(20), "version 1 did not come");
        seen.push(harness.state().view.main.cell(0, 0).kind.clone());
        harness.step();
    }
    assert!(seen.iter().all(|kind| *kind == CellKind::Number), "{seen:?}");
    assert_eq!(harness.state().view.main.cell(9, 0).kind, CellKind::Number, "its page is there at once");
    let view = &mut harness.state_mut().view;
    assert_eq!(view.main.grid.layout().widths.get(&1), Some(&222.0));
    assert_eq!(view.main.grid.cursor(), Some(CellAt { row: 2, column: 1 }));
    let (path, node) = view.stepped().unwrap();
    assert_eq!((path.as_str(), node.name.as_str()), ("version=1", "version=1"));
    // Only the last of several wishes is shown.
    for by in [-1, 1, 1] {
        harness.state_mut().view.step_version(by);
        harness.step();
    }
    until(&mut harness, |b| rows(b) == Some(8));
    assert_eq!(harness.state_mut().view.stepped().unwrap().0, "version=2");
    // The newest is the table itself.
    harness.state_mut().view.step_version(5);
    until(&mut harness, |b| rows(b) == Some(3));
    assert_eq!(harness.state_mut().view.stepped().unwrap().0, "");
}

#[test]
fn a_filter_holds_for_every_version() {
    let mut harness = delta();
    until(&mut harness, |b| b.view.main.cell(0, 0).kind == CellKind::Number);
    let at_least = gander::query::Test::Between { low: Some("5".to_owned()), high: None, closed: true };
    harness.state_mut().view.row_filter.add(gander::query::Condition::new("id", at_least));
    until(&mut harness, |b| rows(b) == Some(3) && b.view.row_filter.rows().is_some());
    harness.state_mut().view.step_version(-3);
    until(&mut harness, |b| rows(b) == Some(1));
    harness.state_mut().view.step_version(1);
    until(&mut harness, |b| rows(b) == Some(5));
    assert_eq!(harness.state_mut().view.stepped().map(|(path, _)| path), Some("version=1".to_owned()));
}
