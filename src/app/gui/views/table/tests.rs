//! The view in a harness: a table of 10⁹ rows, one that needs five seconds for a read, one with a part
//! that cannot be read.

use gander::bytes::task::Task;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use egui::{Modifiers, vec2};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use gander::bytes::error::{Error, Result};
use gander::bytes::source::Source;
use gander::data::content::table::MemoryTable;
use gander::data::content::{Content, Rows};
use gander::data::node::Node;
use gander::data::open::Document;
use gander::jobs::Priority;

use super::*;
use crate::gui::grid::CellKind;
use crate::gui::views::harness::frame_times;

const ROWS: u64 = 1_000_000_000;

/// Rows that are made when they are read.
struct Made {
    schema: SchemaRef,
    rows: Rows,
    /// How long a read takes; it looks up every few milliseconds.
    takes: Duration,
    /// Rows that cannot be read.
    broken: Range<u64>,
    /// Milliseconds from the cancellation to the end of the read.
    ended: Arc<AtomicU64>,
    reads: Arc<AtomicU64>,
    /// How often it was asked for its rows, where each time it estimates another number of them.
    guesses: Option<AtomicU64>,
}

impl Made {
    fn new(rows: Rows) -> Self {
        let fields = vec![Field::new("n", DataType::Int64, true), Field::new("word", DataType::Utf8, true)];
        Made {
            schema: Arc::new(Schema::new(fields)),
            rows,
            takes: Duration::ZERO,
            broken: 0..0,
            ended: Arc::default(),
            reads: Arc::default(),
            guesses: None,
        }
    }
}

impl Table for Made {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn rows(&self) -> Rows {
        match &self.guesses {
            Some(guesses) => Rows::About { rows: ROWS + guesses.fetch_add(1, Ordering::SeqCst), known: 100 },
            None => self.rows,
        }
    }

    fn read(&self, task: &Task, rows: Range<u64>, columns: &[usize]) -> Result<RecordBatch> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        let started = Instant::now();
        while started.elapsed() < self.takes {
            if task.is_cancelled() {
                self.ended.fetch_add(1, Ordering::SeqCst);
            }
            task.check()?;
            std::thread::sleep(Duration::from_millis(5));
        }
        let rows = rows.start..rows.end.min(self.rows.number());
        if rows.start < self.broken.end && self.broken.start < rows.end && columns.contains(&1) {
            return Err(Error::malformed("page: checksum differs").at(4711));
        }
        let of = |column: &usize| -> ArrayRef {
            match column {
                0 => Arc::new(Int64Array::from_iter(
                    rows.clone().map(|row| (row % 7 != 3).then_some(row as i64)),
                )),
                _ => Arc::new(StringArray::from_iter_values(rows.clone().map(|row| format!("w{row}")))),
            }
        };
        gander::data::content::table::batch(
            &self.schema,
            columns,
            columns.iter().map(of).collect(),
            (rows.end - rows.start) as usize,
        )
    }

    /// A footer of many row groups takes a while too.
    fn statistics(&self, _column: usize) -> Option<gander::data::content::ColumnStatistics> {
        std::thread::sleep(self.takes.min(Duration::from_millis(300)));
        None
    }

    fn count(&self, task: &Task) -> Result<u64> {
        task.check()?;
        Err(Error::unsupported("this table does not count"))
    }

    fn tail(&self, _task: &Task, count: u64, columns: &[usize]) -> Result<(Option<u64>, RecordBatch)> {
        let exact = Made::new(Rows::Exact(ROWS));
        Ok((None, exact.read(&Task::new(), ROWS - count..ROWS, columns)?))
    }
}

/// What the harness holds.
type ViewHarness = crate::gui::views::harness::ViewHarness<TableView>;

mod handling;
mod large;
mod versions;

fn bench(table: Made) -> Harness<'static, ViewHarness> {
    bench_table(Arc::new(table))
}

fn bench_table(table: Arc<dyn Table>) -> Harness<'static, ViewHarness> {
    let source = Source::memory("made", vec![1u8]);
    let root = Arc::new(Node::new("made", "file").content(Content::Table(table.clone())));
    let format = gander::formats::by_id("parquet").unwrap();
    let document = Document {
        source,
        format,
        root: root.clone(),
        remarks: Vec::new(),
        broken_promise: false,
        options: Default::default(),
    };
    let target = Target { file: 1, document: Arc::new(document), path: String::new(), node: root };
    bench_of(TableView::new("made", table), target)
}

fn bench_of(view: TableView, target: Target) -> Harness<'static, ViewHarness> {
    let bench = ViewHarness::new(Box::new(view), target);
    let builder = Harness::builder().with_size(vec2(900.0, 600.0)).with_step_dt(1.0 / 60.0);
    builder.with_context_setup(crate::gui::theme::apply).build_ui_state(ViewHarness::frame, bench)
}

fn request(harness: &mut Harness<'static, ViewHarness>, request: &Request) -> bool {
    harness.state_mut().ask(request)
}

/// Frames until it is so.
fn until(harness: &mut Harness<'static, ViewHarness>, what: impl Fn(&ViewHarness) -> bool) {
    let started = Instant::now();
    while !what(harness.state()) {
        assert!(started.elapsed() < Duration::from_secs(20), "it did not come: {:?}", harness.state().status);
        harness.step();
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn the_last_of_a_billion_rows_is_reached_exactly() {
    let mut harness = bench(Made::new(Rows::Exact(ROWS)));
    until(&mut harness, |b| b.view.main.cell(0, 0).kind == CellKind::Number);
    assert!(request(&mut harness, &Request::GoTo("999,999,999".to_owned())));
    until(&mut harness, |b| b.status.under == "n[999,999,999] = 999999999");
    assert_eq!(harness.state().view.main.cell(ROWS - 1, 1).text, "w999999999");
    // From the keyboard, there and back.
    harness.key_press_modifiers(Modifiers::COMMAND, Key::Home);
    until(&mut harness, |b| b.status.under == "n[0] = 0");
    harness.key_press_modifiers(Modifiers::COMMAND, Key::End);
    until(&mut harness, |b| b.status.under == "word[999,999,999] = w999999999");
    assert!(request(&mut harness, &Request::GoTo("500000000, word".to_owned())));
    until(&mut harness, |b| b.status.under == "word[500,000,000] = w500000000");
    assert!(!request(&mut harness, &Request::GoTo("no such column".to_owned())));
}

#[test]
fn a_slow_table_holds_up_no_frame_and_is_cancelled_at_once() {
    let table = Made { takes: Duration::from_secs(5), ..Made::new(Rows::Exact(ROWS)) };
    let (ended, reads) = (table.ended.clone(), table.reads.clone());
    let mut harness = bench(table);
    let started = Instant::now();
    while started.elapsed() < Duration::from_millis(900) {
        harness.step();
        std::thread::sleep(Duration::from_millis(4));
    }
    // The tab says what it waits for.
    harness.get_by_label("reading rows 0–63 of made");
    assert!(reads.load(Ordering::SeqCst) >= 1);
    let (middle, longest) = frame_times(&harness.state().frames);
    // Unoptimised and beside other work a frame may be held up by the machine, never by the table.
    assert!(middle < Duration::from_millis(16), "half of the frames take {middle:?}");
    assert!(longest < Duration::from_millis(200), "a frame took {longest:?}");
    let asked = Instant::now();
    harness.get_by_label("Stop reading (Esc)").click();
    harness.step();
    harness.step();
    while ended.load(Ordering::SeqCst) == 0 {
        assert!(asked.elapsed() < Duration::from_millis(100), "the read goes on");
        std::thread::sleep(Duration::from_millis(1));
    }
    until(&mut harness, |b| matches!(b.view.main.cell(0, 0).kind, CellKind::Failed(_)));
    harness.get_by_label("Read again");
}

#[test]
fn five_scans_keep_no_page_from_its_rows() {
    let mut harness = bench(Made::new(Rows::Exact(ROWS)));
    let jobs = harness.state().jobs.clone();
    let run = |_| {
        jobs.run("scan", Priority::Background, |task| {
            while !task.is_cancelled() {
                std::hint::spin_loop();
            }
        })
    };
    let scans: Vec<_> = (0..5).map(run).collect();
    while jobs.list().iter().filter(|job| job.running && job.title == "scan").count() < 5 {
        std::thread::sleep(Duration::from_millis(1));
    }
    // Far from the page that is there already.
    let asked = Instant::now();
    assert!(request(&mut harness, &Request::GoTo("700,000,000".to_owned())));
    until(&mut harness, |b| b.status.under == "n[700,000,000] = 700000000");
    println!("a page beside five scans: {:.1?}", asked.elapsed());
    frame_times(&harness.state().frames);
    assert_eq!(jobs.list().iter().filter(|job| job.running && job.title == "scan").count(), 5, "they go on");
    scans.iter().for_each(|task| task.cancel());
}

#[test]
fn cells_come_while_the_rows_are_counted() {
    let guesses = Some(AtomicU64::new(0));
    let table = Made { takes: Duration::from_millis(60), guesses, ..Made::new(Rows::Exact(ROWS)) };
    let reads = table.reads.clone();
    let mut harness = bench(table);
    until(&mut harness, |b| b.view.main.cell(5, 1).text == "w5");
    // Each frame has another estimate; the read that goes on is not begun anew for that. The heads read too.
    assert!(reads.load(Ordering::SeqCst) <= 3);
}

#[test]
fn a_broken_part_leaves_its_neighbours() {
    let table = Made { broken: 64..128, ..Made::new(Rows::Exact(1000)) };
    let mut harness = bench(table);
    until(&mut harness, |b| b.view.main.cell(0, 0).kind == CellKind::Number);
    // Fetched together with its neighbours above and below.
    assert!(request(&mut harness, &Request::GoTo("62".to_owned())));
    until(&mut harness, |b| matches!(b.view.main.cell(70, 1).kind, CellKind::Failed(_)));
    assert_eq!(harness.state().view.main.cell(63, 1).text, "w63");
    assert_eq!(harness.state().view.main.cell(70, 0).text, "70");
    let CellKind::Failed(why) = harness.state().view.main.cell(70, 1).kind else { panic!("it is read") };
    assert!(why.contains("4711"), "{why}");
}

#[test]
fn the_end_is_there_before_all_is_counted() {
    let mut harness = bench(Made::new(Rows::AtLeast(5000)));
    until(&mut harness, |b| b.view.main.cell(0, 0).kind == CellKind::Number);
    harness.get_by_label("≥ 5,000 rows");
    harness.get_by_label("Go to the last row").click();
    until(&mut harness, |b| b.view.end.sheet().is_some());
    until(&mut harness, |b| b.status.under == "n[end − 1] = 999999999");
    harness.get_by_label("Remove last 1,000").click();
    until(&mut harness, |b| b.view.end.sheet().is_none());
}

#[test]
fn a_value_opens_in_full_and_a_row_as_a_form() {
    let mut harness = bench(Made::new(Rows::Exact(1000)));
    until(&mut harness, |b| b.view.main.cell(5, 1).kind == CellKind::Text);
    assert!(request(&mut harness, &Request::GoTo("5, word".to_owned())));
    until(&mut harness, |b| b.status.under == "word[5] = w5");
    harness.key_press(Key::Enter);
    until(&mut harness, |b| b.view.inspect.is_open());
    until(&mut harness, |_| true);
    for _ in 0..20 {
        harness.step();
        std::thread::sleep(Duration::from_millis(5));
    }
    harness.get_by_label("word[5]");
    harness.get_by_label("Record").click();
    harness.step();
    harness.step();
    harness.get_by_label("n: 5");
    harness.get_by_label("word: w5");
}

#[test]
fn rows_are_understood_as_people_type_them() {
    assert_eq!(go::row_of("1_000", 5000), Some(1000));
    assert_eq!(
        (go::row_of("-1", 5000), go::row_of("9999", 5000), go::row_of("x", 5000)),
        (Some(4999), Some(4999), None)
    );
}

/// The first cells of the rows that are shown, once all are there.
fn numbers(bench: &ViewHarness, rows: u64) -> Vec<String> {
    (0..rows).map(|row| bench.view.main.cell(row, 0).text.into_owned()).collect()
}

#[test]
fn filters_and_sorting_show_rows_by_their_own_numbers() {
    let mut harness = bench(Made::new(Rows::Exact(5000)));
    until(&mut harness, |b| b.view.main.cell(0, 0).kind == CellKind::Number);
    harness.get_by_label("Filter and sort rows").click();
    harness.step();
    harness.step();
    harness.get_by_label("Filter expression (SQL WHERE)").type_text("n >= 100 and word LIKE '%7'");
    harness.step();
    harness.key_press(Key::Enter);
    let exact = |rows: u64| {
        move |b: &ViewHarness| b.view.row_filter.rows().is_some_and(|r| r.rows() == Rows::Exact(rows))
    };
    // Every 70th n is null where it ends in 7: it leaves the filter.
    let expected: Vec<u64> = (100..5000).filter(|n| n % 10 == 7 && n % 7 != 3).collect();
    until(&mut harness, exact(expected.len() as u64));
    until(&mut harness, |b| b.view.main.cell(0, 0).text == "107" && b.view.main.label(0) == "107");
    assert!(harness.state().view.export().is_some_and(|(words, _)| words.contains("filtered")));
    harness.state_mut().view.row_filter.sort_by("n", false);
    harness.state_mut().view.row_filter.sort_by("n", false);
    until(&mut harness, |b| b.view.main.cell(0, 0).text == "4997" && b.view.main.label(0) == "4,997");
    assert!(harness.state().view.row_filter.mark("n").is_some_and(|mark| mark.descending));
    let clauses = "WHERE n >= 100 and word LIKE '%7'\nORDER BY n DESC";
    assert_eq!(harness.state().view.clauses().as_deref(), Some(clauses));
    // What a session keeps comes back, and where one was in it.
    let number = expected[expected.len() - 1 - 300];
    assert!(request(&mut harness, &Request::GoTo(format!("{number}, word"))), "by the number that is shown");
    until(&mut harness, |b| b.view.main.grid.cursor() == Some(CellAt { row: 300, column: 1 }));
    let kept = harness.state().view.save();
    let top = harness.state().view.main.grid.row_position();
    let mut again = bench(Made::new(Rows::Exact(5000)));
    again.state_mut().view.restore(&kept);
    until(&mut again, |b| b.view.main.numbers.is_some() && b.view.main.grid.cursor().is_some());
    let grid = &again.state().view.main.grid;
    assert_eq!((grid.cursor(), grid.row_position()), (Some(CellAt { row: 300, column: 1 }), top));
    assert!(top.row > 200);
    harness.get_by_label("Clear").click();
    until(&mut harness, |b| b.view.row_filter.rows().is_none() && b.view.main.numbers.is_none());
}

#[test]
fn a_mistake_in_a_filter_is_said_and_the_rows_stay() {
    let mut harness = bench(Made::new(Rows::Exact(5000)));
    until(&mut harness, |b| b.view.main.cell(0, 0).kind == CellKind::Number);
    harness.state_mut().view.row_filter.toggle();
    harness.step();
    harness.get_by_label("Filter expression (SQL WHERE)").type_text("wrod = 'w1'");
    harness.step();
    harness.key_press(Key::Enter);
    let said = "there is no column \"wrod\"; did you mean \"word\"?";
    let started = Instant::now();
    while harness.query_by_label(said).is_none() {
        assert!(started.elapsed() < Duration::from_secs(20), "nothing is said");
        harness.step();
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(numbers(harness.state(), 2), ["0", "1"]);
}

#[test]
fn a_text_is_found_in_all_cells() {
    let mut harness = bench(Made::new(Rows::Exact(5000)));
    until(&mut harness, |b| b.view.main.cell(0, 0).kind == CellKind::Number);
    assert!(request(&mut harness, &Request::Find));
    harness.step();
    harness.step();
    harness.get_by_label("Find in all cells").type_text("W499");
    until(&mut harness, |b| b.status.under == "word[499] = w499");
    harness.key_press(Key::F3);
    until(&mut harness, |b| b.status.under == "word[4,990] = w4990");
    harness.key_press_modifiers(Modifiers::SHIFT, Key::F3);
    until(&mut harness, |b| b.status.under == "word[499] = w499");
    until_label(&mut harness, "1 of 11 matches in 11 rows");
}

#[test]
fn each_cell_that_shows_a_text_is_a_match() {
    let mut lists = arrow::array::ListBuilder::new(arrow::array::StringBuilder::new());
    lists.append_value([Some("x1")]);
    lists.append_value([Some("z")]);
    let columns: [(&str, ArrayRef); 3] = [
        ("a", Arc::new(StringArray::from(vec!["x1", "y"]))),
        ("tags", Arc::new(lists.finish())),
        ("b", Arc::new(StringArray::from(vec!["ax1", "X1"]))),
    ];
    let mut harness = bench_table(Arc::new(MemoryTable::new(RecordBatch::try_from_iter(columns).unwrap())));
    until(&mut harness, |b| b.view.main.cell(1, 2).kind == CellKind::Text);
    assert!(request(&mut harness, &Request::Find));
    harness.step();
    harness.step();
    harness.get_by_label("Find in all cells").type_text("x1");
    let at = |row: u64, column: usize| {
        move |b: &ViewHarness| b.view.main.grid.cursor() == Some(CellAt { row, column })
    };
    until(&mut harness, at(0, 0));
    until_label(&mut harness, "1 of 4 matches in 2 rows");
    for (row, column, place) in [(0, 1, 2), (0, 2, 3), (1, 2, 4), (0, 0, 1)] {
        harness.key_press(Key::F3);
        until(&mut harness, at(row, column));
        until_label(&mut harness, &format!("{place} of 4 matches in 2 rows"));
    }
    for (row, column) in [(1, 2), (0, 2), (0, 1)] {
        harness.key_press_modifiers(Modifiers::SHIFT, Key::F3);
        until(&mut harness, at(row, column));
    }
    // What is hidden is not searched.
    harness.state_mut().view.main.grid.hide(&[2]);
    until_label(&mut harness, "2 matches in 1 row");
}

#[test]
fn the_page_that_was_looked_at_comes_back() {
    let mut harness = bench(Made::new(Rows::Exact(5000)));
    until(&mut harness, |b| b.view.main.cell(0, 0).kind == CellKind::Number);
    harness.get_by_label("Summary").click();
    until(&mut harness, |b| b.view.mode == Mode::Summary);
    let kept = harness.state().view.save();
    let mut again = bench(Made::new(Rows::Exact(5000)));
    again.state_mut().view.restore(&kept);
    until_label(&mut again, "From all 5,000 rows");
}

#[test]
fn the_summary_page_tells_of_every_column() {
    let mut harness = bench(Made::new(Rows::Exact(5000)));
    until(&mut harness, |b| b.view.main.cell(0, 0).kind == CellKind::Number);
    harness.get_by_label("Summary").click();
    harness.step();
    let started = Instant::now();
    while harness.query_by_label("From all 5,000 rows").is_none() {
        assert!(started.elapsed() < Duration::from_secs(20), "no summary");
        harness.step();
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Frames until a widget of this name is there.
fn until_label(harness: &mut Harness<'static, ViewHarness>, label: &str) {
    let started = Instant::now();
    while harness.query_by_label(label).is_none() {
        assert!(started.elapsed() < Duration::from_secs(20), "there is no {label:?}");
        harness.step();
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The cells of the pivot on screen, once it has a column of this name.
fn grouped(harness: &mut Harness<'static, ViewHarness>, column: &str, rows: u64) -> Vec<Vec<String>> {
    let there = |b: &ViewHarness| {
        let sheet = b.view.pivot.sheet()?;
        let column = sheet.names.iter().position(|name| name == column)?;
        (sheet.table.rows() == Rows::Exact(rows) && !sheet.cell(rows - 1, column).text.is_empty())
            .then_some(())
    };
    until(harness, |b| b.view.pivot.sheet().is_some_and(|sheet| sheet.names.iter().any(|n| n == column)));
    // The last row comes into sight, so that it is read.
    assert!(request(harness, &Request::GoTo((rows - 1).to_string())));
    until(harness, |b| there(b).is_some());
    let sheet = harness.state().view.pivot.sheet().unwrap();
    let text = |row, column| sheet.cell(row, column).text.into_owned();
    (0..rows).map(|row| (0..sheet.columns()).map(|column| text(row, column)).collect()).collect()
}

#[test]
fn columns_are_put_into_wells_by_click_and_by_drag() {
    let mut harness = bench(Made::new(Rows::Exact(700)));
    until(&mut harness, |b| b.view.main.cell(0, 0).kind == CellKind::Number);
    harness.get_by_label("Pivot").click();
    until_label(&mut harness, "Group rows and compare columns");
    // By a click and a menu.
    harness.get_by_label("Group by word").click();
    until_label(&mut harness, "Add to values");
    harness.get_by_label("Add to values").click();
    let cells = grouped(&mut harness, "count(word)", 1);
    assert_eq!(cells, [["700"]]);
    // By a drag from the list into the well of rows.
    let from = harness.get_by_label("Group by n").rect().center();
    let to = harness.get_by_label("Rows well").rect().center();
    harness.drag_at(from);
    for part in [0.1, 0.5, 1.0] {
        harness.hover_at(from + (to - from) * part);
        harness.step();
    }
    harness.drop_at(to);
    harness.step();
    until_label(&mut harness, "Rows: n");
    // Rows 3, 10, 17 and so on have no n.
    let cells = grouped(&mut harness, "n", 601);
    assert_eq!(cells[600], ["null", "100"]);
    // In bins, by the menu of the chip.
    harness.get_by_label("Rows: n").click();
    until_label(&mut harness, "bins");
    harness.get_by_label("bins").click();
    let cells = grouped(&mut harness, "n (bins of 50)", 15);
    assert_eq!(cells[1], ["50", "43"]);
    until_label(&mut harness, "Total: 700");
    let (words, _) = harness.state().view.export().unwrap();
    assert_eq!(words, "the pivot: 15 rows");
    // What a session keeps comes back, and a filter counts.
    let kept = harness.state().view.save();
    let mut again = bench(Made::new(Rows::Exact(700)));
    again.state_mut().view.restore(&kept);
    again.state_mut().view.row_filter.add(gander::query::Condition::new("n", gander::query::Test::NotNull));
    let cells = grouped(&mut again, "n (bins of 50)", 14);
    assert_eq!(cells[13][0], "650");
    again.get_by_label("Remove Rows: n bins").click();
    assert_eq!(grouped(&mut again, "count(word)", 1), [["600"]]);
}

#[test]
fn a_slow_pivot_keeps_the_old_one_and_can_be_stopped() {
    let table = Made { takes: Duration::from_millis(1500), ..Made::new(Rows::Exact(700)) };
    let (ended, reads) = (table.ended.clone(), table.reads.clone());
    let mut harness = bench(table);
    harness.get_by_label("Pivot").click();
    harness.step();
    harness.state_mut().view.pivot.restore(
        serde_json::from_value(serde_json::json!({ "rows": [], "across": null, "values":
        [{ "aggregate": "Count", "column": "word" }], "most": null }))
        .unwrap(),
    );
    assert_eq!(grouped(&mut harness, "count(word)", 1), [["700"]]);
    let before = reads.load(Ordering::SeqCst);
    harness.state_mut().view.pivot.restore(
        serde_json::from_value(serde_json::json!({ "rows": [], "across": null, "values":
        [{ "aggregate": "Sum", "column": "n" }], "most": null }))
        .unwrap(),
    );
    until_label(&mut harness, "Stop grouping");
    let sheet = harness.state().view.pivot.sheet().unwrap();
    assert_eq!(sheet.names, ["count(word)"]);
    until(&mut harness, |_| reads.load(Ordering::SeqCst) > before);
    harness.get_by_label("Stop grouping").click();
    until_label(&mut harness, "Grouping was stopped");
    until(&mut harness, |_| ended.load(Ordering::SeqCst) > 0);
    harness.get_by_label("Try again").click();
    until(&mut harness, |b| b.view.pivot.sheet().is_some_and(|sheet| sheet.names == ["sum(n)"]));
}

#[test]
fn a_value_that_is_cut_says_so() {
    assert_eq!(beginning("äbc", 2), "äb…");
    assert_eq!(beginning("äbc", 3), "äbc");
}
