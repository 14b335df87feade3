//! The grid in a harness: a table of 10⁹ rows, one of 10⁵ columns, mouse and keys.

mod by_keys;

use std::ops::Range;

use egui::accesskit::Role;
use egui::{Event, Key, Modifiers, Pos2, Vec2, pos2, vec2};
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT as _, Queryable as _};

use super::*;
use crate::gui::theme;

/// A table whose cells say where they are.
struct Places {
    rows: GridRows,
    columns: usize,
    wanted: (Range<u64>, Vec<usize>),
    pending: bool,
}

impl Places {
    fn new(rows: u64, columns: usize) -> Self {
        Self { rows: GridRows::Exact(rows), columns, wanted: (0..0, Vec::new()), pending: false }
    }
}

impl GridModel for Places {
    fn rows(&self) -> GridRows {
        self.rows
    }
    fn columns(&self) -> usize {
        self.columns
    }
    fn column(&self, index: usize) -> ColumnHead<'_> {
        assert!(index < self.columns);
        ColumnHead { name: format!("c{index}").into(), type_text: "int64".into(), ..Default::default() }
    }
    fn cell(&self, row: u64, column: usize) -> Cell<'_> {
        assert!(row < self.rows.count() && column < self.columns);
        if self.pending {
            return Cell::pending();
        }
        Cell::new(CellKind::Number, format!("{row}.{column}"))
    }
    fn want(&mut self, rows: Range<u64>, columns: &[usize]) {
        self.wanted = (rows, columns.to_vec());
    }
}

/// The grid, its data, and what it said.
struct Bench {
    grid: Grid,
    model: Places,
    activated: Option<CellAt>,
    copied: Option<gander::convert::copy::CopyRequest>,
    header: Option<HeaderClick>,
    hovered: Option<CellAt>,
    name: Option<String>,
}

const SIZE: Vec2 = vec2(800.0, 600.0);
/// The harness leaves a margin around what it shows.
const ORIGIN: f32 = 8.0;
const LEFT: f32 = ORIGIN + 10.0;
const RIGHT: f32 = SIZE.x - ORIGIN;
const BOTTOM: f32 = SIZE.y - ORIGIN;
/// The first row begins below the heads.
const HEAD: f32 = ORIGIN + 28.0;

fn bench(rows: u64, columns: usize) -> Harness<'static, Bench> {
    let bench = Bench {
        grid: Grid::new("places"),
        model: Places::new(rows, columns),
        activated: None,
        copied: None,
        header: None,
        hovered: None,
        name: None,
    };
    let app = |ui: &mut egui::Ui, bench: &mut Bench| {
        let response = bench.grid.ui(ui, &mut bench.model);
        bench.activated = response.activated.or(bench.activated);
        bench.header = response.header_clicked.or(bench.header);
        if response.copy.is_some() {
            bench.copied = response.copy;
        }
        bench.hovered = response.hovered;
        bench.name = response.copy_name.or(bench.name.take());
    };
    let mut harness = Harness::builder()
        .with_size(SIZE)
        .with_step_dt(1.0 / 60.0)
        .with_context_setup(theme::apply)
        .allow_missing_glyphs()
        .build_ui_state(app, bench);
    harness.state_mut().grid.request_focus();
    harness.run();
    harness
}

fn press(harness: &mut Harness<'_, Bench>, modifiers: Modifiers, key: Key) {
    harness.key_press_modifiers(modifiers, key);
    harness.run();
}

fn button(harness: &mut Harness<'_, Bench>, at: Pos2, pressed: bool, modifiers: Modifiers) {
    harness.event(Event::ModifiersChanged(modifiers));
    harness.event(Event::PointerMoved(at));
    let button = egui::PointerButton::Primary;
    harness.event(Event::PointerButton { pos: at, button, pressed, modifiers });
    harness.step();
    harness.event(Event::ModifiersChanged(Modifiers::NONE));
}

/// Presses at the first place, moves over the others, and lets go at the last.
fn drag(harness: &mut Harness<'_, Bench>, places: &[Pos2]) {
    button(harness, places[0], true, Modifiers::NONE);
    for at in &places[1..] {
        harness.event(Event::PointerMoved(*at));
        harness.step();
    }
    button(harness, places[places.len() - 1], false, Modifiers::NONE);
    harness.run();
}

fn click(harness: &mut Harness<'_, Bench>, at: Pos2, modifiers: Modifiers) {
    button(harness, at, true, modifiers);
    button(harness, at, false, modifiers);
    harness.run();
    // Far enough apart that the next one is no double click.
    harness.run_steps(30);
}

/// The middle of the cell in a line and column of the screen, for grids scrolled to whole rows.
fn cell_at(harness: &Harness<'_, Bench>, line: usize, column: usize) -> Pos2 {
    let grid = &harness.state().grid;
    let width = grid.columns.width(0);
    pos2(ORIGIN + grid.gutter + (column as f32 + 0.5) * width, HEAD + (line as f32 + 0.5) * size::ROW)
}

fn cursor(harness: &Harness<'_, Bench>) -> (u64, usize) {
    let cell = harness.state().grid.cursor().expect("a cursor");
    (cell.row, cell.column)
}

fn selected(harness: &Harness<'_, Bench>) -> (Range<u64>, usize) {
    let (rows, columns) = harness.state().grid.selected().expect("a selection");
    (rows, columns.len())
}

/// The rows in sight, as a screen reader hears them.
fn rows(harness: &Harness<'_, Bench>) -> Range<u64> {
    let lines = harness.query_all_by_role(Role::Row);
    let indices: Vec<u64> =
        lines.filter_map(|line| Some(line.accesskit_node().data().row_index()? as u64)).collect();
    let first = indices.iter().min().copied().unwrap_or_default();
    first..indices.iter().max().map_or(first, |last| last + 1)
}

/// The model's columns in sight, from left to right.
fn columns(harness: &Harness<'_, Bench>) -> Vec<usize> {
    let mut heads: Vec<(Option<usize>, usize)> = harness
        .query_all_by_role(Role::ColumnHeader)
        .map(|head| {
            let node = head.accesskit_node();
            let name = node.label().expect("a name");
            (node.data().column_index(), name.trim_start_matches('c').parse().expect("a number"))
        })
        .collect();
    heads.sort_unstable();
    heads.into_iter().map(|(_, column)| column).collect()
}

const BILLION: u64 = 1_000_000_000;

#[test]
fn end_goes_to_the_last_of_a_billion_rows_and_arrows_move_by_one() {
    let mut harness = bench(BILLION, 5);
    press(&mut harness, Modifiers::COMMAND, Key::End);
    assert_eq!(cursor(&harness), (BILLION - 1, 4));
    assert_eq!(rows(&harness).end, BILLION);
    let top = harness.state().grid.row_position();
    for step in 1..=3 {
        press(&mut harness, Modifiers::NONE, Key::ArrowUp);
        assert_eq!(cursor(&harness), (BILLION - 1 - step, 4));
    }
    // Nothing had to scroll for that.
    assert_eq!(harness.state().grid.row_position(), top);
    press(&mut harness, Modifiers::NONE, Key::PageUp);
    let page = BILLION - 4 - cursor(&harness).0;
    assert!((20..=23).contains(&page), "{page}");
    let row = harness.state().grid.row_position().row;
    assert_eq!(top.row - row, page);
    let value = format!("{}.0", cursor(&harness).0);
    harness.get_by(|node| node.role() == Role::GridCell && node.value().as_deref() == Some(&value));
    press(&mut harness, Modifiers::COMMAND, Key::Home);
    assert_eq!((cursor(&harness), rows(&harness).start), ((0, 0), 0));
}

#[test]
fn the_thumb_reaches_the_last_row_and_the_wheel_moves_by_points() {
    let mut harness = bench(BILLION, 5);
    let bar = RIGHT - size::SCROLL_BAR / 2.0;
    drag(&mut harness, &[pos2(bar, HEAD + 5.0), pos2(bar, 300.0), pos2(bar, 580.0), pos2(bar, 640.0)]);
    assert_eq!(rows(&harness).end, BILLION);
    let last = RowPosition::last(BILLION, (BOTTOM - HEAD) / size::ROW);
    assert_eq!(harness.state().grid.row_position(), last);
    // One row up by the wheel, exactly.
    harness.event(Event::PointerMoved(pos2(300.0, 300.0)));
    harness.step();
    wheel(&mut harness, vec2(0.0, size::ROW));
    let top = harness.state().grid.row_position();
    assert_eq!(top.row, last.row - 1);
    assert!((top.fraction - last.fraction).abs() < 0.01, "{top:?} {last:?}");
    wheel(&mut harness, vec2(0.0, -3.0 * size::ROW));
    assert_eq!(harness.state().grid.row_position(), last);
    drag(&mut harness, &[pos2(bar, BOTTOM - 5.0), pos2(bar, 300.0), pos2(bar, 0.0)]);
    assert_eq!(harness.state().grid.row_position(), RowPosition::default());
}

fn wheel(harness: &mut Harness<'_, Bench>, delta: Vec2) {
    let (unit, phase) = (egui::MouseWheelUnit::Point, egui::TouchPhase::Move);
    let source = egui::MouseWheelSource::Unknown;
    harness.event(Event::MouseWheel { unit, delta, phase, source, modifiers: Modifiers::NONE });
    // The wheel is smoothed over some frames.
    harness.run_steps(30);
}

#[test]
fn a_hundred_thousand_columns_scroll_sideways() {
    let mut harness = bench(1000, 100_000);
    assert!(columns(&harness).len() < 12);
    press(&mut harness, Modifiers::NONE, Key::ArrowRight);
    assert_eq!(cursor(&harness), (0, 0));
    press(&mut harness, Modifiers::NONE, Key::End);
    assert_eq!(cursor(&harness), (0, 99_999));
    assert_eq!(columns(&harness).last(), Some(&99_999));
    for step in 1..=20 {
        press(&mut harness, Modifiers::NONE, Key::ArrowLeft);
        assert_eq!(cursor(&harness), (0, 99_999 - step));
        assert!(columns(&harness).contains(&(99_999 - step)));
    }
    let wanted = &harness.state().model.wanted.1;
    assert!(wanted.len() < 20 && wanted.is_sorted());
    let y = BOTTOM - size::SCROLL_BAR / 2.0;
    let thumb =
        harness.get_by(|node| node.role() == Role::ScrollBar && node.label().as_deref() == Some("Columns"));
    assert!(thumb.accesskit_node().numeric_value().is_some_and(|part| part > 0.99));
    drag(&mut harness, &[pos2(RIGHT - 30.0, y), pos2(400.0, y), pos2(-50.0, y)]);
    assert_eq!(harness.state().grid.column_position(), ColumnPosition::default());
    assert_eq!(columns(&harness).first(), Some(&0));
}

#[test]
fn the_mouse_selects_cells_rows_and_columns() {
    let mut harness = bench(1000, 5);
    let [a, middle, b] = [(2, 1), (3, 2), (6, 3)].map(|(line, column)| cell_at(&harness, line, column));
    drag(&mut harness, &[a, middle, b]);
    assert_eq!(selected(&harness), (2..7, 3));
    assert_eq!(cursor(&harness), (6, 3));
    let at = cell_at(&harness, 1, 0);
    click(&mut harness, at, Modifiers::SHIFT);
    assert_eq!(selected(&harness), (1..3, 2));
    click(&mut harness, at, Modifiers::NONE);
    assert_eq!(selected(&harness), (1..2, 1));
    // Rows by their labels.
    click(&mut harness, pos2(LEFT, at.y), Modifiers::NONE);
    assert_eq!(selected(&harness), (1..2, 5));
    click(&mut harness, pos2(LEFT, b.y), Modifiers::SHIFT);
    assert_eq!(selected(&harness), (1..7, 5));
    // Columns by their heads.
    click(&mut harness, pos2(a.x, LEFT), Modifiers::NONE);
    assert_eq!(selected(&harness), (0..1000, 1));
    assert_eq!(harness.state().header, Some(HeaderClick { column: 1, shift: false }));
    click(&mut harness, pos2(b.x, LEFT), Modifiers::SHIFT);
    assert_eq!(selected(&harness), (0..1000, 3));
    // Everything by the corner.
    click(&mut harness, pos2(LEFT, LEFT), Modifiers::NONE);
    assert_eq!(selected(&harness), (0..1000, 5));
}

#[test]
fn keys_select_copy_and_open() {
    let mut harness = bench(1000, 5);
    harness.state_mut().grid.scroll_to(500, Some(2));
    harness.run();
    assert_eq!(cursor(&harness), (500, 2));
    assert!(rows(&harness).contains(&500));
    for key in [Key::ArrowDown, Key::ArrowDown, Key::ArrowRight] {
        press(&mut harness, Modifiers::SHIFT, key);
    }
    assert_eq!(selected(&harness), (500..503, 2));
    harness.event(Event::Copy);
    harness.run();
    let copy = harness.state_mut().copied.take().expect("a copy");
    assert_eq!((copy.rows, copy.columns, copy.headers), (500..503, vec![2, 3], false));
    press(&mut harness, Modifiers::COMMAND | Modifiers::SHIFT, Key::C);
    assert!(harness.state_mut().copied.take().expect("a copy").headers);
    press(&mut harness, Modifiers::COMMAND | Modifiers::SHIFT, Key::ArrowDown);
    assert_eq!(selected(&harness), (500..1000, 2));
    press(&mut harness, Modifiers::NONE, Key::Escape);
    press(&mut harness, Modifiers::NONE, Key::Space);
    assert_eq!(harness.state_mut().activated.take(), Some(CellAt { row: 999, column: 3 }));
    harness.state_mut().grid.request_focus();
    press(&mut harness, Modifiers::COMMAND, Key::A);
    assert_eq!(selected(&harness), (0..1000, 5));
    press(&mut harness, Modifiers::NONE, Key::Home);
    press(&mut harness, Modifiers::NONE, Key::Enter);
    assert_eq!(harness.state().activated, Some(CellAt { row: 999, column: 0 }));
}

#[test]
fn a_double_click_opens_a_cell_and_the_pointer_tells_where_it_is() {
    let mut harness = bench(1000, 5);
    let at = cell_at(&harness, 4, 2);
    for pressed in [true, false, true, false] {
        button(&mut harness, at, pressed, Modifiers::NONE);
    }
    harness.run();
    assert_eq!(harness.state().activated, Some(CellAt { row: 4, column: 2 }));
    assert_eq!(harness.state().hovered, Some(CellAt { row: 4, column: 2 }));
}

#[test]
fn columns_are_resized_fitted_and_moved_by_the_mouse() {
    let mut harness = bench(1000, 5);
    let width = harness.state().grid.columns.width(0);
    let left = ORIGIN + harness.state().grid.gutter;
    let edge = pos2(left + width - 1.0, LEFT);
    drag(&mut harness, &[edge, edge + vec2(20.0, 0.0), edge + vec2(60.0, 0.0)]);
    let wider = harness.state().grid.columns.width(0);
    assert!((wider - width - 60.0).abs() < 1.0, "{width} {wider}");
    let edge = pos2(left + wider - 1.0, LEFT);
    for pressed in [true, false, true, false] {
        button(&mut harness, edge, pressed, Modifiers::NONE);
    }
    harness.run();
    let fitted = harness.state().grid.columns.width(0);
    assert!(fitted < width, "{fitted}");
    // The first column goes behind the third.
    let behind = left + fitted + 1.8 * width;
    drag(&mut harness, &[pos2(left + 10.0, LEFT), pos2(left + 80.0, LEFT), pos2(behind, LEFT)]);
    assert_eq!(columns(&harness), [1, 2, 0, 3, 4]);
    assert_eq!(harness.state().grid.layout().order.as_deref(), Some(&[1, 2, 0, 3, 4][..]));
}

#[test]
fn frozen_columns_stay_and_hidden_ones_are_gone() {
    let mut harness = bench(1000, 1000);
    let grid = &mut harness.state_mut().grid;
    grid.set_frozen(7, true);
    grid.hide(&[0, 1]);
    grid.scroll_to(0, Some(500));
    harness.run();
    let columns = columns(&harness);
    assert_eq!(columns[0], 7);
    assert!(columns.contains(&500) && !columns.contains(&2), "{columns:?}");
    let layout = harness.state().grid.layout().clone();
    harness.state_mut().grid.show_all();
    harness.state_mut().grid.set_frozen(7, false);
    assert_eq!(harness.state().grid.layout().order, None);
    harness.state_mut().grid.set_layout(layout);
    harness.run();
    assert_eq!(harness.state().grid.columns.len(), 998);
}

#[test]
fn the_menu_reports_what_to_copy() {
    let mut harness = bench(1000, 5);
    let at = cell_at(&harness, 3, 1);
    harness.event(Event::PointerMoved(at));
    for pressed in [true, false] {
        let (button, modifiers) = (egui::PointerButton::Secondary, Modifiers::NONE);
        harness.event(Event::PointerButton { pos: at, button, pressed, modifiers });
        harness.step();
    }
    harness.run();
    harness.get_by_label("Copy with headers").click();
    harness.run();
    let copy = harness.state().copied.clone().expect("a copy");
    assert_eq!((copy.rows, copy.columns, copy.headers), (3..4, vec![1], true));
}

#[test]
fn the_menu_opens_by_key_and_hides_a_column() {
    let mut harness = bench(1000, 5);
    harness.state_mut().grid.scroll_to(3, Some(2));
    harness.run();
    press(&mut harness, Modifiers::SHIFT, Key::F10);
    harness.get_by_label("Hide column").click();
    harness.run();
    assert_eq!(columns(&harness), [0, 1, 3, 4]);
    harness.state_mut().grid.scroll_to(3, Some(3));
    harness.run();
    press(&mut harness, Modifiers::SHIFT, Key::F10);
    harness.get_by_label("Show 1 hidden").click();
    harness.run();
    assert_eq!(columns(&harness), [0, 1, 2, 3, 4]);
}

#[test]
fn the_menu_of_a_column_copies_its_name() {
    let mut harness = bench(1000, 5);
    let at = pos2(cell_at(&harness, 0, 2).x, LEFT);
    harness.event(Event::PointerMoved(at));
    for pressed in [true, false] {
        let (button, modifiers) = (egui::PointerButton::Secondary, Modifiers::NONE);
        harness.event(Event::PointerButton { pos: at, button, pressed, modifiers });
        harness.step();
    }
    harness.run();
    harness.get_by_label("Copy name").click();
    harness.run();
    assert_eq!(harness.state().name.as_deref(), Some("c2"));
}

#[test]
fn a_screen_reader_hears_the_true_size_and_place() {
    let mut harness = bench(BILLION, 100_000);
    harness.state_mut().grid.scroll_to(123_456_789, Some(4321));
    harness.run();
    let node = harness.get_by_role(Role::Grid);
    let node = node.accesskit_node();
    assert_eq!(node.label().as_deref(), Some("places"));
    assert_eq!(
        (node.data().row_count(), node.data().column_count()),
        (Some(BILLION as usize), Some(100_000))
    );
    let cell = harness.get_by_label("c4321, 123,456,789");
    let data = cell.accesskit_node();
    assert_eq!((data.data().row_index(), data.data().column_index()), (Some(123_456_789), Some(4321)));
    assert_eq!(data.value().as_deref(), Some("123456789.4321"));
    harness.get_by_label("c4320, 123,456,790").click_accesskit();
    harness.run();
    assert_eq!(cursor(&harness), (123_456_790, 4320));
}

#[test]
fn a_screen_reader_hears_that_a_grid_is_empty() {
    let mut harness = bench(0, 3);
    harness.get_by_label("No rows");
    harness.state_mut().model.rows = GridRows::AtLeast(0);
    harness.run();
    harness.get_by_label("No rows yet");
    harness.get_by_label("c1");
    press(&mut harness, Modifiers::NONE, Key::ArrowDown);
    assert_eq!(harness.state().grid.selection(), None);
}

#[test]
fn pending_cells_do_not_move_anything() {
    let mut harness = bench(BILLION, 5);
    harness.state_mut().model.pending = true;
    harness.state_mut().grid.scroll_to(777_777_777, Some(1));
    harness.run();
    let before = harness.state().grid.row_position();
    harness
        .get_by(|node| node.role() == Role::GridCell && node.label().as_deref() == Some("c1, 777,777,777"));
    let wanted = harness.state().model.wanted.0.clone();
    assert!(wanted.contains(&777_777_777) && wanted.end - wanted.start < 100);
    harness.state_mut().model.pending = false;
    harness.state_mut().model.rows = GridRows::AtLeast(2 * BILLION);
    harness.run();
    assert_eq!(harness.state().grid.row_position(), before);
    assert_eq!(cursor(&harness), (777_777_777, 1));
}

#[test]
fn a_tiny_place_and_a_shrinking_table_do_no_harm() {
    for size in [vec2(1.0, 1.0), vec2(40.0, 40.0), vec2(120.0, 60.0), vec2(60.0, 300.0)] {
        let mut harness = bench(BILLION, 1000);
        harness.set_size(size);
        harness.state_mut().grid.set_frozen(3, true);
        harness.run();
        let places = [pos2(size.x / 2.0, size.y / 2.0), pos2(size.x, size.y), pos2(-9.0, -9.0)];
        drag(&mut harness, &places);
        for key in [Key::End, Key::PageDown, Key::ArrowDown, Key::ArrowRight] {
            press(&mut harness, Modifiers::SHIFT, key);
        }
        harness.state_mut().grid.scroll_to(BILLION, Some(999));
        harness.set_size(SIZE);
        harness.run();
        assert_eq!(cursor(&harness), (BILLION - 1, 999));
        harness.state_mut().model.rows = GridRows::Exact(7);
        harness.state_mut().model.columns = 2;
        harness.run();
        assert_eq!((rows(&harness), columns(&harness).len()), (0..7, 2));
        assert_eq!(cursor(&harness).0, 6);
        harness.state_mut().model.rows = GridRows::AtLeast(0);
        harness.state_mut().model.columns = 0;
        harness.run();
        assert_eq!(harness.state().grid.cursor(), None);
    }
}

#[test]
fn long_and_strange_texts_are_cut_and_made_visible() {
    assert_eq!(paint::drawn_text("a\tb\nc\u{202e}\0", false), "a⇥b↵c\u{fffd}\u{fffd}");
    let drawn = paint::drawn_text(&"é".repeat(1000), false);
    assert_eq!(drawn.chars().count(), paint::DRAWN_CHARACTERS + 1);
    assert!(drawn.ends_with('…'));
    assert_eq!(GridRows::AtLeast(1_204_000).words(), "≥ 1,204,000");
    assert_eq!([GridRows::Exact(1), GridRows::AtLeast(1)].map(GridRows::noun), ["row", "rows"]);
}
