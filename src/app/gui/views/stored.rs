//! The bytes behind a value: the hex view of the file where it lies, or of the decoded unit, with its field painted.

use egui::Ui;
use gander::bytes::source::Source;
use gander::bytes::task::Task;
use gander::data::format::Data;
use gander::data::location::{Location, Part};
use gander::jobs::{JobSpec, Slot};
use gander::{Error, Result};
use serde_json::Value;

use super::hex::{self, HexView, Mark};
use super::{Request, Target, View, ViewCx};
use crate::gui::commands::Label;
use crate::gui::icons::Icon;
use crate::gui::target::BytesOf;
use crate::gui::theme;

/// The view of the bytes behind a value of `target`.
pub(crate) fn make(target: &Target, of: &BytesOf) -> Box<dyn View> {
    Box::new(StoredBytes {
        of: of.clone(),
        name: target.title().to_owned(),
        found: Slot::default(),
        hex: None,
    })
}

/// What is shown.
struct Shown {
    source: Source,
    marks: Vec<Mark>,
}

struct StoredBytes {
    of: BytesOf,
    /// What the value is of.
    name: String,
    found: Slot<(), Option<Shown>>,
    hex: Option<HexView>,
}

/// The bytes of the file around a place, and what is painted in them.
fn in_file(location: &Location) -> Shown {
    let (source, unit) = location.base(location.range.clone());
    let mut marks = vec![Mark::new(unit, unit_words(location), hex::Paint::Unit)];
    if let Some(exact) = location.exact() {
        marks.push(Mark::new(location.base(exact).1, "value".to_owned(), hex::Paint::Value));
    }
    // What lies in the same unit is painted where that is decoded.
    let told = |part: &&Part| part.location.exact().is_some() || !part.location.is_beside(location);
    for part in location.parts.iter().filter(told) {
        let (other, range) = part.location.base(part.location.shown());
        if other.is(&source) {
            marks.push(Mark::new(range, part.what.to_owned(), hex::Paint::Part));
        }
    }
    Shown { source, marks }
}

/// The decoded unit, and where the value stands in it.
fn decoded(task: &Task, location: &Location) -> Result<Shown> {
    let bytes = location.decoded(task)?;
    let source = Source::memory(format!("decoded {}", location.unit), bytes);
    let value = location.within.as_ref().map(|within| within.bytes.clone());
    let value = value.map(|range| Mark::new(range, "value".to_owned(), hex::Paint::Value));
    let beside = location.parts.iter().filter(|part| part.location.is_beside(location));
    let parts = beside.filter_map(|part| {
        let within = part.location.within.as_ref()?;
        Some(Mark::new(within.bytes.clone(), part.what.to_owned(), hex::Paint::Part))
    });
    Ok(Shown { source, marks: value.into_iter().chain(parts).collect() })
}

/// `chunk [0, 3]`
fn unit_words(location: &Location) -> String {
    format!("{} {}", location.unit, location.name).trim_end().to_owned()
}

impl StoredBytes {
    /// Asks for the place, once; the view of it as soon as it is there.
    fn prepare(&mut self, cx: &ViewCx<'_>) -> std::result::Result<bool, Error> {
        if self.hex.is_some() {
            return Ok(true);
        }
        let of = self.of.clone();
        let title = format!("finding the bytes of {}", self.of.value.what);
        let shown = self.found.get(cx.jobs, &(), JobSpec::once(title), move |task| {
            let Some(location) = of.value.location(task)? else { return Ok(None) };
            if of.decoded { decoded(task, &location).map(Some) } else { Ok(Some(in_file(&location))) }
        });
        if let Some(error) = shown.error.clone() {
            return Err(error);
        }
        let Some(found) = shown.ready() else { return Ok(false) };
        let Some(found) = found.as_ref() else {
            return Err(Error::unsupported("where this lies in the file is not told by its format"));
        };
        let mut hex = HexView::new(&self.name, found.source.clone());
        hex.paint(found.marks.clone());
        self.hex = Some(hex);
        Ok(true)
    }
}

impl View for StoredBytes {
    fn toolbar(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        if let Some(hex) = &mut self.hex {
            hex.toolbar(ui, cx);
        }
    }

    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        match self.prepare(cx) {
            Ok(true) => {}
            Ok(false) => {
                let words = format!("Finding the bytes of {}", self.of.value.what);
                theme::pending(ui, ui.scope_id().with("finding"), &words);
                return;
            }
            Err(error) => {
                theme::empty_state(ui, Icon::Binary, "No bytes to show", &error.message());
                return;
            }
        }
        if let Some(hex) = &mut self.hex {
            hex.ui(ui, cx);
        }
    }

    fn commands(&self) -> Vec<&'static Label> {
        Vec::new()
    }

    fn run(&mut self, _at: usize, _cx: &mut ViewCx<'_>) -> bool {
        false
    }

    fn request(&mut self, request: &Request, cx: &mut ViewCx<'_>) -> bool {
        self.hex.as_mut().is_some_and(|hex| hex.request(request, cx))
    }

    fn export(&self) -> Option<(String, Data)> {
        self.hex.as_ref().and_then(HexView::export)
    }

    fn save(&self) -> Value {
        self.hex.as_ref().map_or(Value::Null, HexView::save)
    }

    fn restore(&mut self, kept: &Value) {
        if let Some(hex) = &mut self.hex {
            hex.restore(kept);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use egui_kittest::Harness;
    use egui_kittest::kittest::Queryable as _;
    use gander::data::content::Content;
    use gander::data::format::Options;

    use super::*;
    use crate::gui::commands::Action;
    use crate::gui::target::{StoredValue, ValuePlace};
    use crate::gui::views::harness::{ViewHarness, bench_view, settle};

    const TEXT: &str = "name,weight\ngoose,3\nswan,\"11\"\n";

    fn target() -> Target {
        let source = Source::memory("birds.csv", TEXT);
        let document = gander::formats::open_source(&Task::new(), &source, &Options::default()).unwrap();
        let node = document.root.clone();
        Target { file: 1, document: Arc::new(document), path: String::new(), node }
    }

    fn shown(row: u64, column: usize, decoded: bool) -> Harness<'static, ViewHarness> {
        let target = target();
        let Some(Content::Table(table)) = target.node.content.clone() else { panic!("no table") };
        let value = StoredValue::new("the cell", ValuePlace::Cell(table, row, column));
        let of = BytesOf { node: target.place(), value, decoded };
        let mut harness = bench_view(make(&target, &of), target);
        settle(&mut harness);
        harness
    }

    #[test]
    fn the_field_is_painted_and_named() {
        let harness = shown(1, 1, false);
        let start = TEXT.find("\"11\"").unwrap();
        // The legend says what is painted, and the cursor stands at the first byte of it.
        harness.get_by_label(&format!("value: bytes {start} to {}", start + 4));
        harness.get_by_label(&format!("record row 1: bytes {} to {}", TEXT.find("swan").unwrap(), start + 4));
        let under = &harness.state().status.under;
        assert!(under.starts_with(&format!("byte {start} ")), "{under}");
    }

    #[test]
    fn a_byte_says_what_it_belongs_to_and_leads_back() {
        let mut harness = shown(0, 0, false);
        let at = TEXT.find("11").unwrap();
        assert!(harness.state_mut().ask(&Request::GoTo(at.to_string())));
        settle(&mut harness);
        harness.get_by_label("row 1, column weight").click();
        settle(&mut harness);
        let actions = &harness.state().actions;
        let asked =
            |action: &Action| matches!(action, Action::Ask(Request::GoTo(text)) if text == "1, weight");
        assert!(actions.iter().any(asked));
    }

    /// An array that counts how often it is asked of a byte, and has none.
    struct Asked(Arc<dyn gander::data::content::Array>, Arc<AtomicUsize>);

    impl gander::data::content::Array for Asked {
        fn dtype(&self) -> &gander::data::dtype::DType {
            self.0.dtype()
        }
        fn shape(&self) -> &[u64] {
            self.0.shape()
        }
        fn read(&self, task: &Task, region: &gander::data::region::Region, out: &mut [u8]) -> Result<()> {
            self.0.read(task, region, out)
        }
        fn owner(
            &self,
            _task: &Task,
            _byte: &gander::data::location::BytePlace,
        ) -> Result<Option<gander::data::location::Owner>> {
            self.1.fetch_add(1, Ordering::Relaxed);
            Ok(None)
        }
    }

    #[test]
    fn the_node_that_the_last_byte_belonged_to_is_asked_first() {
        use gander::data::content::array::Plain;
        use gander::data::node::Node;
        let source = Source::memory("two.bin", (0..=255u8).collect::<Vec<u8>>());
        let plain = |at| Plain::new(source.clone(), at, gander::data::dtype::DType::U8, vec![100]).unwrap();
        let (asked, own): (_, Arc<dyn gander::data::content::Array>) = (Arc::default(), Arc::new(plain(100)));
        let other = Content::Array(Arc::new(Asked(Arc::new(plain(0)), Arc::clone(&asked))));
        let nodes = vec![
            Arc::new(Node::new("other", "array").content(other)),
            Arc::new(Node::new("own", "array").content(Content::Array(own.clone()))),
        ];
        let mut document = gander::formats::open_source(&Task::new(), &source, &Options::default()).unwrap();
        let mut root = Node::new("two", "group");
        root.children = gander::data::node::Children::Listed(Arc::new(nodes.clone()));
        document.root = Arc::new(root);
        let path = "/own".to_owned();
        let target = Target { file: 1, document: Arc::new(document), path, node: nodes[1].clone() };
        let value = StoredValue::new("a", ValuePlace::Element(own, vec![10]));
        let of = BytesOf { node: target.place(), value, decoded: false };
        let mut harness = bench_view(make(&target, &of), target);
        settle(&mut harness);
        harness.get_by_label("element [10]");
        let first = asked.load(Ordering::Relaxed);
        assert!(first > 0);
        for at in 111..120 {
            assert!(harness.state_mut().ask(&Request::GoTo(at.to_string())));
            settle(&mut harness);
            harness.get_by_label(&format!("element [{}]", at - 100));
        }
        assert_eq!(asked.load(Ordering::Relaxed), first, "the tree is not searched again");
    }

    #[test]
    fn what_is_not_told_is_said() {
        let target = target();
        let table = gander::data::content::table::MemoryTable::new(arrow::array::RecordBatch::new_empty(
            Arc::new(arrow::datatypes::Schema::empty()),
        ));
        let value = StoredValue::new("the cell", ValuePlace::Cell(Arc::new(table), 0, 0));
        let of = BytesOf { node: target.place(), value, decoded: false };
        let mut harness = bench_view(make(&target, &of), target);
        settle(&mut harness);
        harness.get_by_label_contains("not told");
    }
}
