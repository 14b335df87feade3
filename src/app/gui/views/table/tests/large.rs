//! Values and tables that are large: what a frame does is bounded by what is in sight, however large they are.

use gander::data::content::table::MemoryTable;

use super::*;

/// A table that counts how often it is asked for what is known of a column.
struct Asked {
    table: MemoryTable,
    types: Arc<AtomicU64>,
}

impl Table for Asked {
    fn schema(&self) -> &SchemaRef {
        self.table.schema()
    }

    fn rows(&self) -> Rows {
        self.table.rows()
    }

    fn read(&self, task: &Task, rows: Range<u64>, columns: &[usize]) -> Result<RecordBatch> {
        self.table.read(task, rows, columns)
    }

    fn inferred(&self, _column: usize) -> Option<&DataType> {
        self.types.fetch_add(1, Ordering::SeqCst);
        None
    }
}

fn cell(value: ArrayRef) -> Arc<dyn Table> {
    Arc::new(MemoryTable::new(RecordBatch::try_from_iter([("value", value)]).unwrap()))
}

/// The cell inspector on the only cell of a table.
fn inspected(table: Arc<dyn Table>) -> Harness<'static, ViewHarness> {
    let mut harness = bench_table(table);
    until(&mut harness, |b| !matches!(b.view.main.cell(0, 0).kind, CellKind::Pending));
    assert!(request(&mut harness, &Request::GoTo("0, value".to_owned())));
    until(&mut harness, |b| b.view.main.grid.cursor().is_some());
    harness.key_press(Key::Enter);
    harness
}

/// Frames until a label that has these words is there.
fn seen(harness: &mut Harness<'static, ViewHarness>, words: &str) {
    let started = Instant::now();
    while harness.query_all_by_label_contains(words).next().is_none() {
        assert!(started.elapsed() < Duration::from_secs(60), "{words:?} does not come");
        harness.step();
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Turns the wheel over a label as far as it goes.
fn scroll_to_end(harness: &mut Harness<'static, ViewHarness>, over: &str) {
    let at = harness.query_all_by_label_contains(over).next().expect(over).rect().center();
    harness.hover_at(at);
    harness.event(egui::Event::MouseWheel {
        unit: egui::MouseWheelUnit::Point,
        delta: vec2(0.0, -1e7),
        phase: egui::TouchPhase::Move,
        source: egui::MouseWheelSource::Wheel,
        modifiers: Modifiers::NONE,
    });
    (0..30).for_each(|_| harness.step());
}

/// Prints how long the frames since the last time took.
fn measured(harness: &mut Harness<'static, ViewHarness>, what: &str) {
    let frames = std::mem::take(&mut harness.state_mut().frames);
    let longest = frames.iter().max().copied().unwrap_or_default();
    println!("{what}: {} frames, longest {longest:.1?}", frames.len());
    harness.state_mut().frames.push(Duration::ZERO);
}

#[test]
fn a_cell_with_twenty_megabytes_of_json() {
    let items = (0..500_000).map(|n| format!("{{\"name\":\"item {n}\",\"values\":[{n}]}}"));
    let text = format!("[{}]", items.collect::<Vec<_>>().join(","));
    assert!(text.len() > 18_000_000);
    let mut harness = inspected(cell(Arc::new(StringArray::from(vec![text]))));
    // The tree, from the outermost list through a range of it to a member.
    seen(&mut harness, "1,000 … 1,999");
    measured(&mut harness, "opened");
    scroll_to_end(&mut harness, "1,000 … 1,999");
    harness.get_by_label("499,000 … 499,999").click();
    (0..5).for_each(|_| harness.step());
    scroll_to_end(&mut harness, "499000 {2}");
    seen(&mut harness, "499999 {2}");
    measured(&mut harness, "scrolled to the end and unfolded");
    let rows = harness.query_all_by_role(egui::accesskit::Role::TreeItem).count();
    assert!(rows < 60, "{rows} rows were drawn");
    harness.get_by_label("Text").click();
    seen(&mut harness, "\"name\":\"item 0\"");
    (0..3).for_each(|_| harness.step());
    let bytes = harness.state().view.inspect.laid_out();
    assert!((1..10_000).contains(&bytes), "{bytes} bytes were laid out in one frame");
    measured(&mut harness, "as text");
    scroll_to_end(&mut harness, "\"name\":\"item 0\"");
    seen(&mut harness, "item 499999");
    measured(&mut harness, "the end of the text");
}

#[test]
fn a_struct_of_a_hundred_thousand_fields() {
    let fields: Vec<(Arc<Field>, ArrayRef)> = (0..100_000)
        .map(|n| {
            let value: ArrayRef = Arc::new(Int64Array::from(vec![n]));
            (Arc::new(Field::new(format!("field_{n}"), DataType::Int64, true)), value)
        })
        .collect();
    let mut harness = inspected(cell(Arc::new(arrow::array::StructArray::from(fields))));
    seen(&mut harness, "field_1000 … field_1999");
    scroll_to_end(&mut harness, "field_1000 … field_1999");
    harness.get_by_label_contains("field_99000 … field_99999").click();
    (0..5).for_each(|_| harness.step());
    scroll_to_end(&mut harness, "field_99000 99000");
    harness.get_by_label("field_99999 99999");
    measured(&mut harness, "a struct");
}

#[test]
fn a_table_of_a_hundred_thousand_columns() {
    const COLUMNS: usize = 100_000;
    let fields: Vec<Field> =
        (0..COLUMNS).map(|n| Field::new(format!("column {n}"), DataType::Int64, true)).collect();
    let values: ArrayRef = Arc::new(Int64Array::from(vec![7; 3]));
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), vec![values; COLUMNS]).unwrap();
    let types = Arc::new(AtomicU64::new(0));
    let table = Asked { table: MemoryTable::new(batch), types: types.clone() };
    let mut harness = bench_table(Arc::new(table));
    until(&mut harness, |b| b.view.main.cell(0, 0).kind == CellKind::Number);
    assert!(request(&mut harness, &Request::Column(COLUMNS - 1)));
    until(&mut harness, |b| b.status.under == "column 99999[0] = 7");
    measured(&mut harness, "the last column");
    for mode in ["Record", "Summary", "Pivot", "Table"] {
        harness.get_by_label(mode).click();
        (0..30).for_each(|_| harness.step());
        types.store(0, Ordering::SeqCst);
        harness.step();
        let asked = types.load(Ordering::SeqCst);
        measured(&mut harness, mode);
        assert!(asked < 2_000, "{mode}: types of columns are asked {asked} times in a frame");
    }
    // The list of columns has them all and draws those in sight.
    harness.get_by_label("100,000 columns").click();
    seen(&mut harness, "Hide column 3");
    let rows = harness.query_all_by_label_contains("Hide column").count();
    assert!((5..60).contains(&rows), "{rows} columns are drawn");
    measured(&mut harness, "the list of columns");
    harness.state_mut().view.bar.filter("99999");
    seen(&mut harness, "Hide column 99999");
    harness.key_press(Key::Escape);
    // All of them selected, or searched: the list of columns is made once.
    let listed = harness.state_mut().view.standing();
    harness.step();
    assert!(Arc::ptr_eq(&listed, &harness.state_mut().view.standing()));
    measured(&mut harness, "found in the list");
}
