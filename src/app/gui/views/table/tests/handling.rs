//! Widths, numbers, filters and places as somebody handles them.

use arrow::array::Float64Array;
use egui::accesskit::Role;
use gander::query::{Condition, Test};

use super::*;
use crate::gui::number_format::NumberFormat;

/// 200 fares, among them some with many digits, with short and one long name.
fn fares() -> Arc<dyn Table> {
    let fare = |row: u64| match row % 4 {
        0 => 7.25,
        1 => 1234.5,
        2 => 16.495,
        _ => 8.0,
    };
    let name = |row: u64| match row {
        3 => {
            "a name that is much longer than all the others and needs a lot of room to be read in full".into()
        }
        _ => format!("n{}", row % 3),
    };
    let columns: [(&str, ArrayRef); 3] = [
        ("id", Arc::new(Int64Array::from_iter_values(0..200))),
        ("fare", Arc::new(Float64Array::from_iter_values((0..200).map(fare)))),
        ("name", Arc::new(StringArray::from_iter_values((0..200).map(name)))),
    ];
    Arc::new(MemoryTable::new(RecordBatch::try_from_iter(columns).unwrap()))
}

fn shown(table: Arc<dyn Table>) -> Harness<'static, ViewHarness> {
    let mut harness = bench_table(table);
    until(&mut harness, |b| b.view.main.cell(0, 1).kind == CellKind::Number);
    (0..6).for_each(|_| harness.step());
    harness
}

/// Opens the menu of a column's head; where that was.
fn head_menu(harness: &mut Harness<'static, ViewHarness>, column: &str) -> egui::Pos2 {
    let named = |label: String| label.starts_with(column);
    let head = harness.get_by(|node| node.role() == Role::ColumnHeader && node.label().is_some_and(named));
    let at = head.rect().left_top() + vec2(20.0, 10.0);
    harness.event(egui::Event::PointerMoved(at));
    for pressed in [true, false] {
        let (button, modifiers) = (egui::PointerButton::Secondary, Modifiers::NONE);
        harness.event(egui::Event::PointerButton { pos: at, button, pressed, modifiers });
        harness.step();
    }
    (0..3).for_each(|_| harness.step());
    at
}

#[test]
fn the_menu_of_a_head_opens_over_its_histogram_too() {
    let mut harness = shown(fares());
    let bars = |harness: &Harness<'static, ViewHarness>| {
        let is_bars = |label: String| label.starts_with("Values of fare");
        let found = harness.query_by(|node| node.role() == Role::Button && node.label().is_some_and(is_bars));
        found.map(|node| node.rect().center())
    };
    let started = Instant::now();
    while bars(&harness).is_none() {
        assert!(started.elapsed() < Duration::from_secs(20), "no histogram came");
        harness.step();
        std::thread::sleep(Duration::from_millis(2));
    }
    let at = bars(&harness).unwrap();
    harness.event(egui::Event::PointerMoved(at));
    for pressed in [true, false] {
        let (button, modifiers) = (egui::PointerButton::Secondary, Modifiers::NONE);
        harness.event(egui::Event::PointerButton { pos: at, button, pressed, modifiers });
        harness.step();
    }
    (0..3).for_each(|_| harness.step());
    assert!(harness.query_by_label_contains("Sort ascending").is_some());
    assert!(!harness.state().view.row_filter.is_on(), "only a click filters");
}

fn widths(harness: &Harness<'static, ViewHarness>) -> Vec<(usize, f32)> {
    harness.state().view.main.grid.widths()
}

#[test]
fn keys_of_one_length_are_not_cut() {
    let key = |row: usize| format!("{:08x}-c209-4cac-629f-6fbed82c07cd", row * 7_919);
    let note = "a much longer note that goes on and on until no column could hold it all in one line";
    let texts = |all: Vec<String>| -> ArrayRef { Arc::new(StringArray::from(all)) };
    let mut columns = vec![("id".to_owned(), texts((0..50).map(key).collect()))];
    let notes = |n: usize| (format!("note {n}"), texts((0..50).map(|row| note[row..].to_owned()).collect()));
    columns.extend((0..6).map(notes));
    let mut harness = bench_table(Arc::new(MemoryTable::new(RecordBatch::try_from_iter(columns).unwrap())));
    until(&mut harness, |b| b.view.main.cell(0, 0).kind == CellKind::Text);
    (0..6).for_each(|_| harness.step());
    let laid_out = |fonts: &mut egui::epaint::text::FontsView<'_>| {
        fonts.layout_no_wrap(key(9), crate::gui::theme::body_font(), egui::Color32::WHITE).size().x
    };
    let needed = harness.ctx.fonts_mut(laid_out) + 2.0 * crate::gui::theme::space::CELL;
    let widths = widths(&harness);
    assert!(widths[0].1 >= needed, "{widths:?} {needed}");
    assert!(widths[1].1 < needed, "a text is cut where there is no room to spare: {widths:?}");
}

#[test]
fn columns_are_as_wide_as_their_values_and_stay_so_for_other_rows() {
    let mut harness = shown(fares());
    let before = widths(&harness);
    let width = |column: usize| before[column].1;
    assert!(width(2) > 400.0, "the long name has the room that is left: {before:?}");
    assert!(width(0) < 110.0 && width(1) < 130.0, "numbers need little: {before:?}");
    let condition = Condition::new("fare", Test::Equals("7.25".into()));
    harness.state_mut().view.row_filter.add(condition);
    until(&mut harness, |b| b.view.main.numbers.is_some() && b.view.main.cell(0, 1).text == "7.25");
    (0..6).for_each(|_| harness.step());
    assert_eq!(widths(&harness), before, "no long name is among these rows");
    harness.state_mut().view.row_filter.sort_by("id", false);
    harness.state_mut().view.row_filter.sort_by("id", false);
    until(&mut harness, |b| b.view.main.cell(0, 0).text == "196");
    assert_eq!(widths(&harness), before);
    harness.state_mut().view.row_filter.clear_filter();
    until(&mut harness, |b| b.view.main.cell(0, 0).text == "199");
    assert_eq!(widths(&harness), before);
}

#[test]
fn numbers_are_written_as_the_menu_says_and_their_value_stays() {
    let mut harness = shown(fares());
    let cell = |harness: &Harness<'static, ViewHarness>, row: u64| {
        let cell = harness.state().view.main.drawn(row, 1);
        (cell.text.into_owned(), cell.pad)
    };
    // Points stand below each other: 8 has none, 16.495 three digits behind it.
    assert_eq!((cell(&harness, 2), cell(&harness, 0)), (("16.495".into(), 0), ("7.25".into(), 1)));
    head_menu(&mut harness, "fare");
    harness.get_by_label_contains("Number format").click();
    harness.step();
    harness.step();
    harness.get_by_label_contains("2 digits").click();
    harness.step();
    harness.step();
    assert_eq!(harness.state().view.main.formats.get(&1), Some(&NumberFormat::Digits(2)));
    assert_eq!(cell(&harness, 2), ("16.50".into(), 0));
    assert_eq!(harness.state().view.main.cell(2, 1).text, "16.495", "status bar and filters have it all");
    // It stays for other rows, and for another time.
    harness.state_mut().view.row_filter.add(Condition::new("fare", Test::Equals("16.495".into())));
    until(&mut harness, |b| b.view.main.numbers.is_some() && b.view.main.cell(0, 1).text == "16.495");
    assert_eq!(cell(&harness, 0).0, "16.50");
    let kept = harness.state().view.save();
    let mut again = shown(fares());
    again.state_mut().view.restore(&kept);
    assert_eq!(again.state().view.main.formats.get(&1), Some(&NumberFormat::Digits(2)));
}

#[test]
fn the_menu_of_a_head_begins_with_its_filter_and_a_chip_opens_where_it_stands() {
    let mut harness = shown(fares());
    let at = head_menu(&mut harness, "name");
    let first = harness.get_by_label("Filter…").rect();
    assert!(harness.get_by_label("Sort ascending").rect().top() > first.top());
    harness.get_by_label("Filter…").click();
    until_label(&mut harness, "Values");
    let form = harness.get_by_label("Filter value").rect();
    assert!((form.left() - at.x).abs() < 400.0 && form.top() < 300.0, "{form:?} is far from {at:?}");
    // How often each value comes stands beside it; a tick asks for it.
    assert!(harness.query_all_by_label("67").next().is_some(), "n0 comes 66 times and n1, n2 more");
    harness.get_by_role_and_label(Role::CheckBox, "n1").click();
    harness.step();
    harness.step();
    harness.get_by_label("Add").click();
    until(&mut harness, |b| b.view.row_filter.rows().is_some_and(|rows| rows.rows() == Rows::Exact(67)));
    let conditions = harness.state().view.row_filter.filter().conditions.clone();
    assert_eq!(conditions, [Condition::new("name", Test::In(vec![Some("n1".into())]))]);
    let chip = harness.get_by_role_and_label(Role::Button, "name in n1").rect();
    harness.get_by_role_and_label(Role::Button, "name in n1").click();
    until_label(&mut harness, "Change");
    let form = harness.get_by_label("Filter value").rect();
    assert!(
        form.top() > chip.bottom() && form.top() - chip.bottom() < 120.0,
        "{form:?} is far from {chip:?}"
    );
    assert!((form.left() - chip.left()).abs() < 260.0, "{form:?} is far from {chip:?}");
}

#[test]
fn where_no_row_fits_the_filter_can_be_cleared() {
    let mut harness = shown(fares());
    harness.state_mut().view.row_filter.add(Condition::new("id", Test::Equals("-1".into())));
    until_label(&mut harness, "No rows fit the filter");
    until_label(&mut harness, "Clear filter");
    harness.get_by_label("Clear filter").click();
    until(&mut harness, |b| b.view.main.numbers.is_none() && b.view.main.cell(0, 0).text == "0");
    assert!(!harness.state().view.row_filter.is_on());
}

#[test]
fn a_row_is_gone_to_by_the_number_before_it() {
    let mut harness = shown(fares());
    harness.state_mut().view.row_filter.add(Condition::new("fare", Test::Equals("7.25".into())));
    until(&mut harness, |b| b.view.main.numbers.is_some());
    let at = |row: u64| move |b: &ViewHarness| b.view.main.grid.cursor().is_some_and(|cell| cell.row == row);
    assert!(request(&mut harness, &Request::GoTo("100".to_owned())));
    until(&mut harness, at(25));
    assert!(harness.state().actions.is_empty());
    // One that is filtered out: the next one, and it is said.
    assert!(request(&mut harness, &Request::GoTo("41".to_owned())));
    until(&mut harness, at(11));
    let said = |b: &ViewHarness| match b.actions.last() {
        Some(Action::Notice(words)) => words.clone(),
        _ => String::new(),
    };
    assert_eq!(said(harness.state()), "Row 41 is filtered out; this is row 44");
    // In another order too.
    harness.state_mut().view.row_filter.set_order("id", Some(gander::query::Order::Descending), false);
    until(&mut harness, |b| b.view.main.cell(0, 0).text == "196");
    assert!(request(&mut harness, &Request::GoTo("192".to_owned())));
    until(&mut harness, at(1));
    assert!(request(&mut harness, &Request::GoTo("3".to_owned())));
    until(&mut harness, |b| said(b) == "Row 3 is filtered out");
}

#[test]
fn what_is_looked_for_is_marked_in_every_cell() {
    use super::super::find::marks;
    assert_eq!(marks("Anna has bananas", "an"), [0..2, 10..12, 12..14]);
    assert_eq!(marks("ÄÖ äö", "äö"), [0..4, 5..9]);
    assert_eq!(marks("abc", ""), [] as [Range<usize>; 0]);
    assert_eq!(marks("aaa aa", "aa"), [0..2, 4..6]);
    let mut harness = shown(fares());
    assert!(request(&mut harness, &Request::Find));
    harness.step();
    harness.step();
    harness.get_by_label("Find in all cells").type_text("N1");
    until(&mut harness, |b| b.view.find.wanted().as_deref() == Some("n1"));
    assert!(harness.state_mut().view.find.close());
    assert_eq!(harness.state().view.find.wanted(), None);
}

#[test]
fn every_key_of_a_record_works_and_no_other() {
    use crate::gui::ui::keys;
    use crate::gui::views::keys::RECORD_KEYS;
    let mut harness = shown(fares());
    let state = |harness: &Harness<'_, ViewHarness>| {
        let view = &harness.state().view;
        format!("{:?} {:?} {}", view.mode, view.cursor(), view.inspect.is_open())
    };
    let stand = |harness: &mut Harness<'_, ViewHarness>| {
        let view = &mut harness.state_mut().view;
        if view.inspect.is_open() {
            view.inspect.toggle();
        }
        view.mode = Mode::Record;
        view.put_cursor(CellAt { row: 100, column: 1 });
        (0..4).for_each(|_| harness.step());
    };
    crate::gui::views::harness::check_keys(&mut harness, &keys::shortcuts(RECORD_KEYS), stand, state);
}
