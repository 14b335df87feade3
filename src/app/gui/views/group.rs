//! The view of what holds other things: a folder, an archive, a group, a model. Its contents as a table that
//! can be sorted; for a model, every tensor below with its parameters, bytes and share.

mod list;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use egui::{RichText, Ui};
use gander::bytes::display;
use gander::bytes::error::{Error, Result};
use gander::bytes::task::Task;
use gander::convert::copy::{CopyFormat, CopyRequest, CopyValue, CopyWriter, ValueKind};
use gander::jobs::{JobSpec, Jobs, Slot};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Request, Target, View, ViewCx, restored, saved};
use crate::gui::commands::{Action, Label, Where};
use crate::gui::grid::{Cell, CellKind, ColumnHead, Grid, GridModel, GridRows, Side, SortMark};
use crate::gui::theme::{self, Theme, space};
use list::{Entry, Listed};

/// The view of a node that has no content of its own.
pub(crate) fn make() -> Box<dyn View> {
    Box::new(Group::default())
}

/// How far down the list goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Scope {
    /// All of a model and below groups that hold groups only, the children of everything else.
    #[default]
    Auto,
    /// The children.
    Direct,
    /// All that has content, at any depth.
    All,
}

/// Which list, the sorted column and whether downwards, the filter.
type Made = (usize, Option<(usize, bool)>, String);

/// Lists of at most so many rows are arranged at once, longer ones by a job.
const SOON: usize = 5_000;

/// What is in the list, and how it is looked at.
#[derive(Default)]
struct Group {
    scope: Scope,
    /// Whether there are levels to choose between, and which of both is shown, once that is known.
    levels: Option<bool>,
    /// What can be had at once of a scope, or all of it, and of children that are made for it how many.
    listed: Slot<(Scope, bool, usize), Listed>,
    /// The scope of which all is wanted, since what could be had at once is a part.
    whole: Option<Scope>,
    /// All rows were asked for, whatever memory they take.
    every: bool,
    /// How many are shown of more.
    cut: Option<usize>,
    sort: Option<(usize, bool)>,
    find: String,
    focus_find: bool,
    arranging: Slot<Made, Arranged>,
    /// The rows that are shown.
    arranged: Option<Arc<Arranged>>,
    grid: Grid,
}

/// The rows that fit the words, in the order asked for.
struct Arranged {
    made: Made,
    listed: Arc<Listed>,
    columns: Vec<Column>,
    order: Vec<u32>,
    /// Their elements and bytes together.
    elements: u64,
    bytes: u64,
}

/// The columns of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Name,
    Kind,
    Value,
    Type,
    Shape,
    Elements,
    Bytes,
    Share,
}

/// The columns in which something stands.
fn columns_of(listed: &Listed) -> Vec<Column> {
    let any = |has: fn(&Entry) -> bool| listed.entries.iter().any(has);
    let mut columns = vec![Column::Name, Column::Kind];
    if any(|entry| entry.node.value.is_some()) {
        columns.push(Column::Value);
    }
    if any(|entry| entry.dtype().is_some()) {
        columns.push(Column::Type);
    }
    if any(|entry| entry.shape().is_some()) {
        columns.push(Column::Shape);
    }
    if any(|entry| entry.elements().is_some()) {
        columns.push(Column::Elements);
    }
    if listed.bytes > 0 {
        columns.extend([Column::Bytes, Column::Share]);
    }
    columns
}

impl Column {
    fn word(self) -> &'static str {
        match self {
            Column::Name => "name",
            Column::Kind => "kind",
            Column::Value => "value",
            Column::Type => "type",
            Column::Shape => "shape",
            Column::Elements => "elements",
            Column::Bytes => "bytes",
            Column::Share => "share",
        }
    }
}

impl Arranged {
    /// Filters and sorts; `task` is that of the job, which a short list does without.
    fn new(task: Option<&Task>, listed: Arc<Listed>, made: Made) -> Result<Self> {
        let check = || task.map_or(Ok(()), Task::check);
        let columns = columns_of(&listed);
        let wanted = made.2.to_lowercase();
        let rows = 0..u32::try_from(listed.entries.len()).unwrap_or(u32::MAX);
        let fits = |row: &u32| {
            wanted.is_empty() || listed.entries[*row as usize].name().to_lowercase().contains(&wanted)
        };
        let mut order: Vec<u32> = rows.filter(fits).collect();
        check()?;
        if let Some((column, descending)) = made.1 {
            if let Some(column) = columns.get(column) {
                sort(&listed, &mut order, *column);
            }
            if descending {
                order.reverse();
            }
        }
        check()?;
        let sum = |of: fn(&Entry) -> u64| -> u64 {
            let rows = order.iter().filter_map(|row| listed.entries.get(*row as usize));
            rows.map(of).fold(0, u64::saturating_add)
        };
        let (elements, bytes) =
            (sum(|entry| entry.elements().unwrap_or(0)), sum(|entry| entry.bytes.unwrap_or(0)));
        Ok(Arranged { made, listed, columns, order, elements, bytes })
    }
}

/// Sorts rows by a column.
fn sort(listed: &Listed, order: &mut [u32], column: Column) {
    let entry = |row: u32| &listed.entries[row as usize];
    match column {
        // They are listed in this order.
        Column::Name => order.sort_unstable(),
        Column::Kind => order.sort_by_key(|row| entry(*row).kind()),
        Column::Value => {
            let empty = String::new();
            let value = |row: &u32| entry(*row).node.value.as_ref().unwrap_or(&empty).clone();
            let mut values: Vec<(String, u32)> = order.iter().map(|row| (value(row), *row)).collect();
            values.sort_by(|a, b| display::natural_order(&a.0, &b.0));
            order.iter_mut().zip(values).for_each(|(row, (_, sorted))| *row = sorted);
        }
        Column::Type => order.sort_by_cached_key(|row| entry(*row).dtype()),
        Column::Shape => order.sort_by_cached_key(|row| entry(*row).shape()),
        Column::Elements => order.sort_by_cached_key(|row| entry(*row).elements()),
        Column::Bytes | Column::Share => order.sort_by_key(|row| entry(*row).bytes),
    }
}

impl Group {
    /// Arranges a list as it is asked for; what was arranged before stays until that is done.
    fn arrange(&mut self, jobs: &Jobs, listed: &Arc<Listed>) -> Option<Arc<Arranged>> {
        let made = (Arc::as_ptr(listed) as usize, self.sort, self.find.clone());
        if self.arranged.as_ref().is_none_or(|known| known.made != made) {
            let now = match listed.entries.len() <= SOON {
                true => Arranged::new(None, listed.clone(), made).ok().map(Arc::new),
                false => {
                    let (source, key) = (listed.clone(), made.clone());
                    let shown =
                        self.arranging.get(jobs, &key, JobSpec::view("sorting the list"), move |task| {
                            Arranged::new(Some(task), source, made)
                        });
                    shown.ready()
                }
            };
            self.arranged = now.or(self.arranged.take());
        }
        self.arranged.clone()
    }

    /// What is in the group; says why it is not there yet, or not all of it.
    fn listed(&mut self, ui: &mut Ui, cx: &ViewCx<'_>) -> Option<Arc<Listed>> {
        let target = cx.target?;
        let (node, path, scope) = (target.node.clone(), target.path.clone(), self.scope);
        let title = format!("listing {}", cx.title());
        let key = (
            scope,
            self.whole == Some(scope) || self.every,
            if self.every { usize::MAX } else { list::MOST },
        );
        // All of it may be a long way down; the first ones are not.
        let spec = || if key.1 { JobSpec::once(title) } else { JobSpec::view(title) };
        let shown = self.listed.ask(cx.jobs, &key, spec, move |task, _| match key.1 {
            true => list::of(task, &node, &path, scope, key.2),
            false => list::soon(task, &node, &path, scope),
        });
        if !key.1 && shown.fresh && shown.value.as_ref().is_some_and(|listed| listed.partly) {
            self.whole = Some(scope);
            ui.ctx().request_repaint();
        }
        let cancelled = shown.error.as_ref().is_some_and(Error::is_cancelled);
        if cancelled {
            // What was listed stays.
            let there = self.arranged.is_some();
            let again = if there {
                theme::cancelled_line(ui)
            } else {
                theme::cancelled(ui, "Not all of it was listed.")
            };
            if again {
                self.listed.clear();
            }
            if !there {
                return None;
            }
        }
        if let Some(error) = shown.error.filter(|_| !cancelled) {
            theme::empty_state(
                ui,
                super::super::icons::Icon::Problem,
                "This could not be listed",
                &error.to_string(),
            );
            return None;
        }
        let more = |listed: &Listed| listed.partly || (self.every && listed.cut);
        let listed = shown.value.filter(|listed| shown.fresh || more(listed));
        let before = || self.arranged.as_ref().filter(|_| cancelled).map(|known| known.listed.clone());
        let listed = listed.or_else(before);
        if listed.is_none() {
            theme::pending(ui, ui.scope_id().with("listing"), "Listing…");
        }
        listed
    }

    fn open(listed: &Listed, row: u32, which: Where, cx: &mut ViewCx<'_>) {
        let (Some(entry), Some(target)) = (listed.entries.get(row as usize), cx.target) else { return };
        let Target { file, document, .. } = target.clone();
        let target = Target { file, document, path: entry.path(), node: entry.node.clone() };
        cx.actions.push(Action::Show(target, which));
    }

    fn sums(arranged: &Arranged) -> String {
        let listed = &arranged.listed;
        let mut words = vec![display::plural(arranged.order.len() as u64, "item")];
        if arranged.elements > 0 {
            words.push(format!("{} elements", display::short_count(arranged.elements)));
        }
        if arranged.bytes > 0 && !listed.partly {
            words.push(display::bytes(arranged.bytes));
        }
        if listed.partly {
            words.push("more are being listed".to_owned());
        }
        if listed.cut {
            words.push(format!("only the first {} are listed", display::count(listed.entries.len() as u64)));
        }
        words.join(" · ")
    }
}

impl View for Group {
    fn toolbar(&mut self, ui: &mut Ui, _cx: &mut ViewCx<'_>) {
        if let Some(all) = self.levels {
            let mut shown = all;
            theme::segmented(ui, "Depth", &mut shown, &[(false, "Children"), (true, "Everything below")]);
            if shown != all {
                self.scope = if shown { Scope::All } else { Scope::Direct };
            }
            ui.add_space(space::S1);
        }
        if let Some(cut) = self.cut {
            let words = format!("First {}", display::count(cut as u64));
            ui.label(RichText::new(words).color(Theme::of(ui).warn));
            let hint = "There are more; they take memory and a while";
            if theme::button(ui, "List all").on_hover_text(hint).clicked() {
                (self.every, self.cut) = (true, None);
            }
            ui.add_space(space::S1);
        }
        let width = (ui.available_width() - 16.0).clamp(40.0, 220.0);
        let edit = egui::TextEdit::singleline(&mut self.find).hint_text("Names with…").desired_width(width);
        let edit = ui.add(edit.margin(egui::Margin::symmetric(8, 4)));
        edit.widget_info(|| egui::WidgetInfo::labeled(egui::Role::TextInput, true, "Names with"));
        if std::mem::take(&mut self.focus_find) {
            edit.request_focus();
        }
        if (edit.has_focus() || edit.lost_focus()) && ui.input(|input| input.key_pressed(egui::Key::Escape)) {
            self.find.clear();
        }
    }

    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let Some(listed) = self.listed(ui, cx) else { return };
        self.levels = listed.levels.then_some(listed.all);
        let Some(arranged) = self.arrange(cx.jobs, &listed) else {
            theme::pending(ui, ui.scope_id().with("arranging"), "Listing…");
            return;
        };
        let listed = &arranged.listed;
        self.cut = (listed.cut && !self.every).then_some(listed.entries.len());
        cx.status.facts = Self::sums(&arranged);
        self.grid.name = cx.title().to_owned();
        let mut model = Rows { listed, order: &arranged.order, columns: &arranged.columns, sort: self.sort };
        let response = self.grid.ui(ui, &mut model);
        if let Some(click) = response.header_clicked {
            self.sort = match self.sort {
                Some((column, false)) if column == click.column => Some((column, true)),
                Some((column, true)) if column == click.column => None,
                _ => Some((click.column, false)),
            };
        }
        if let Some(request) = &response.copy {
            cx.actions.push(Action::Copy(model.copy(request)));
        }
        cx.actions.extend(response.copy_name.map(Action::Copy));
        let hovered = response.hovered.or(response.cursor);
        if let Some(at) = hovered
            && let Some(entry) = model.entry(at.row)
        {
            cx.status.under = entry.path();
        }
        if let Some(at) = response.activated
            && let Some(row) = arranged.order.get(at.row as usize)
        {
            Self::open(listed, *row, Where::Kept, cx);
        }
    }

    fn commands(&self) -> Vec<&'static Label> {
        Vec::new()
    }

    fn run(&mut self, _at: usize, _cx: &mut ViewCx<'_>) -> bool {
        false
    }

    fn request(&mut self, request: &Request, _cx: &mut ViewCx<'_>) -> bool {
        match request {
            Request::Find => {
                self.focus_find = true;
                true
            }
            Request::GoTo(text) => match text.trim().parse() {
                Ok(row) => {
                    self.grid.scroll_to(row, None);
                    true
                }
                Err(_) => false,
            },
            _ => false,
        }
    }

    fn save(&self) -> Value {
        saved(&GroupState { all: self.levels, sort: self.sort, find: self.find.clone() })
    }

    fn restore(&mut self, kept: &Value) {
        let state: GroupState = restored(kept);
        self.scope = match state.all {
            Some(true) => Scope::All,
            Some(false) => Scope::Direct,
            None => Scope::Auto,
        };
        (self.sort, self.find) = (state.sort, state.find);
    }
}

/// What a session keeps.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct GroupState {
    all: Option<bool>,
    sort: Option<(usize, bool)>,
    find: String,
}

/// The list as the grid sees it.
struct Rows<'a> {
    listed: &'a Listed,
    order: &'a [u32],
    columns: &'a [Column],
    sort: Option<(usize, bool)>,
}

impl Rows<'_> {
    fn entry(&self, row: u64) -> Option<&Entry> {
        let row = self.order.get(usize::try_from(row).ok()?)?;
        self.listed.entries.get(*row as usize)
    }

    fn text(&self, entry: &Entry, column: usize) -> Option<String> {
        match self.columns.get(column)? {
            Column::Name => Some(entry.name().into_owned()),
            Column::Kind => Some(entry.kind().to_owned()),
            Column::Value => entry.value(),
            Column::Type => entry.dtype(),
            Column::Shape => entry.shape().map(|shape| display::shape(&shape)),
            Column::Elements => entry.elements().map(display::count),
            Column::Bytes => entry.bytes.map(display::bytes),
            Column::Share => {
                let bytes = entry.bytes.filter(|_| self.listed.bytes > 0)?;
                Some(format!("{:.2} %", bytes as f64 / self.listed.bytes as f64 * 100.0))
            }
        }
    }

    /// A value to be copied: as it is shown, or for the forms that know numbers as it is.
    fn item(&self, entry: &Entry, column: usize, as_shown: bool) -> CopyValue {
        let shown = || CopyValue::new(ValueKind::Text, self.text(entry, column));
        let number =
            |number: Option<u64>| CopyValue::new(ValueKind::Number, number.map(|number| number.to_string()));
        match self.columns.get(column) {
            _ if as_shown => shown(),
            Some(Column::Elements) => number(entry.elements()),
            Some(Column::Bytes) => number(entry.bytes),
            Some(Column::Shape) => {
                CopyValue::new(ValueKind::Nested, entry.shape().map(|shape| format!("{shape:?}")))
            }
            _ => shown(),
        }
    }

    /// The selected cells as text.
    fn copy(&self, request: &CopyRequest) -> String {
        let as_shown = request.format.is_text();
        let heads = request.columns.iter().filter_map(|column| self.columns.get(*column));
        let mut out = CopyWriter::new(request, heads.map(|column| column.word().to_owned()).collect());
        for row in request.rows.clone() {
            let Some(entry) = self.entry(row) else { break };
            let columns = request.columns.iter().filter(|column| **column < self.columns.len());
            let items: Vec<CopyValue> = columns.map(|column| self.item(entry, *column, as_shown)).collect();
            out.row(&items);
        }
        out.end()
    }
}

impl GridModel for Rows<'_> {
    fn rows(&self) -> GridRows {
        GridRows::Exact(self.order.len() as u64)
    }

    fn columns(&self) -> usize {
        self.columns.len()
    }

    fn column(&self, index: usize) -> ColumnHead<'_> {
        let column = self.columns.get(index).copied().unwrap_or(Column::Name);
        let width = match column {
            Column::Name => self.listed.widest.clamp(16, 56) as f32,
            Column::Kind => self.listed.widest_kind.clamp(9, 24) as f32,
            Column::Value => 40.0,
            Column::Type => 12.0,
            Column::Shape => 18.0,
            Column::Elements => 14.0,
            Column::Bytes => 10.0,
            Column::Share => 9.0,
        };
        let right = matches!(column, Column::Elements | Column::Bytes | Column::Share);
        let sort = self.sort.filter(|(sorted, _)| *sorted == index);
        ColumnHead {
            name: column.word().into(),
            side: if right { Side::Right } else { Side::Left },
            width: Some(width),
            sort: sort.map(|(_, descending)| SortMark { descending, rank: 1 }),
            ..ColumnHead::default()
        }
    }

    fn cell(&self, row: u64, column: usize) -> Cell<'_> {
        let Some(entry) = self.entry(row) else { return Cell::pending() };
        if self.columns.get(column) == Some(&Column::Kind)
            && let Some(problem) = entry.problem()
        {
            return Cell::failed(problem);
        }
        let number =
            matches!(self.columns.get(column), Some(Column::Elements | Column::Bytes | Column::Share));
        let kind = if number { CellKind::Number } else { CellKind::Nested };
        match self.text(entry, column) {
            Some(text) => Cell::new(kind, text),
            None => Cell::new(CellKind::Text, ""),
        }
    }

    fn want(&mut self, _rows: Range<u64>, _columns: &[usize]) {}

    fn empty(&self) -> Cow<'_, str> {
        if self.listed.entries.is_empty() { "Nothing is in here".into() } else { "No name fits".into() }
    }

    fn copy_formats(&self) -> &[CopyFormat] {
        CopyFormat::UNNAMED
    }

    fn cell_menu(&mut self, ui: &mut Ui, row: u64, _column: usize) {
        if let Some(entry) = self.entry(row) {
            let theme = Theme::of(ui);
            ui.label(RichText::new(entry.path()).font(theme::mono_small_font()).color(theme.dim));
            ui.separator();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use egui::accesskit::Role;
    use gander::bytes::source::Source;
    use gander::data::content::Content;
    use gander::data::content::array::Plain;
    use gander::data::dtype::DType;
    use gander::data::format::Options;
    use gander::data::node::Node;

    use egui_kittest::Harness;
    use egui_kittest::kittest::Queryable as _;

    use super::*;
    use crate::gui::views::harness::{SIZE, ViewHarness, bench_of, settle};

    /// The view of a model of four layers with seven tensors each.
    fn show() -> Harness<'static, ViewHarness> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/showcase/weights.safetensors");
        let document = gander::open(&Task::new(), &path, &Options::default()).unwrap();
        let node = document.root.clone();
        let target = Target { file: 1, document: Arc::new(document), path: String::new(), node };
        let builder = Harness::builder().with_size(SIZE).with_step_dt(1.0 / 60.0);
        let builder = builder.with_context_setup(theme::apply).allow_missing_glyphs();
        let mut harness = builder.build_ui_state(ViewHarness::frame, ViewHarness::new(make(), target));
        settle(&mut harness);
        harness
    }

    /// What stands in a column, from top to bottom.
    fn column(harness: &Harness<'_, ViewHarness>, name: &str) -> Vec<String> {
        let begins = format!("{name}, ");
        let cells = harness.query_all_by(|node| {
            node.role() == Role::GridCell && node.label().is_some_and(|label| label.starts_with(&begins))
        });
        let mut cells: Vec<_> =
            cells.map(|cell| (cell.rect().top(), cell.value().unwrap_or_default())).collect();
        cells.sort_by(|a, b| a.0.total_cmp(&b.0));
        cells.into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn names_are_filtered_sorted_and_summed() {
        let mut harness = show();
        assert!(harness.state().status.facts.starts_with("28 items"), "{}", harness.state().status.facts);
        assert!(harness.state_mut().ask(&Request::Find));
        settle(&mut harness);
        harness.event(egui::Event::Text("MLP.up".to_owned()));
        settle(&mut harness);
        let names = column(&harness, "name");
        assert_eq!(names.len(), 4, "{names:?}");
        assert!(names[0] == "layers.0.mlp.up.weight" && names[3] == "layers.3.mlp.up.weight", "{names:?}");
        assert!(harness.state().status.facts.starts_with("4 items"), "{}", harness.state().status.facts);
        // Once down, once up, once as in the file.
        let mut orders = Vec::new();
        for _ in 0..3 {
            harness.get_by_role_and_label(Role::ColumnHeader, "name").click_accesskit();
            settle(&mut harness);
            orders.push(column(&harness, "name"));
        }
        let turned: Vec<String> = names.iter().rev().cloned().collect();
        assert_eq!(orders, [names.clone(), turned, names]);
        harness.key_press(egui::Key::Escape);
        settle(&mut harness);
        assert!(harness.state().status.facts.starts_with("28 items"), "{}", harness.state().status.facts);
        // The smallest first: norms have 64 elements.
        harness.get_by_role_and_label(Role::ColumnHeader, "elements").click_accesskit();
        settle(&mut harness);
        assert_eq!(column(&harness, "elements")[..5], ["64", "64", "64", "64", "4,096"]);
    }

    #[test]
    fn a_child_is_opened_and_levels_are_chosen() {
        let mut harness = show();
        harness.get_by_label("Children").click();
        settle(&mut harness);
        assert_eq!(column(&harness, "name"), ["layers"]);
        harness.get_by_label("Everything below").click();
        settle(&mut harness);
        let first = column(&harness, "name")[0].clone();
        let cell = harness.query_all_by(|node| node.role() == Role::GridCell).next().unwrap();
        cell.click_accesskit();
        settle(&mut harness);
        assert_eq!(harness.state().status.under, first);
        let grid = harness.get_by(|node| node.role() == Role::Grid);
        grid.focus();
        settle(&mut harness);
        harness.key_press(egui::Key::Enter);
        settle(&mut harness);
        let opened = |action: &Action| matches!(action, Action::Show(to, Where::Kept) if to.path == first);
        assert!(harness.state().actions.iter().any(opened));
    }

    #[test]
    fn a_copy_is_in_the_form_that_was_asked_for() {
        let plain = Plain::new(Source::memory("a", vec![0; 2000]), 0, DType::U8, vec![40, 50]).unwrap();
        let node = Node::new("a|b", "array").content(Content::Array(Arc::new(plain)));
        let entry = Entry::new(Arc::new(node), list::Above::top("", ""), None);
        let listed = Listed { entries: vec![entry], ..Listed::default() };
        let columns = [Column::Name, Column::Shape, Column::Elements];
        let rows = Rows { listed: &listed, order: &[0], columns: &columns, sort: None };
        let copied =
            |format| rows.copy(&CopyRequest { rows: 0..9, columns: vec![0, 1, 2], headers: true, format });
        let json: Value = serde_json::from_str(&copied(CopyFormat::Json)).unwrap();
        assert_eq!(json, serde_json::json!([{ "name": "a|b", "shape": [40, 50], "elements": 2000 }]));
        let markdown = "| name | shape | elements |\n| --- | --- | --- |\n| a\\|b | 40×50 | 2,000 |\n";
        assert_eq!(copied(CopyFormat::Markdown), markdown);
        assert_eq!(copied(CopyFormat::Csv), "name,shape,elements\na|b,40×50,\"2,000\"\n");
        assert_eq!(copied(CopyFormat::NumPy), "np.array([['a|b', '[40, 50]', 2000]])");
        assert!(!rows.copy_formats().contains(&CopyFormat::SqlWhere));
    }

    #[test]
    fn a_million_children_are_listed_to_their_end() {
        let leaf = |n: u32| Node::new(format!("t{n}"), "dataset");
        let node = Node::new("f", "file").separator("").listed((0..1_000_000).map(leaf).collect());
        let mut harness = bench_of(Arc::new(node));
        settle(&mut harness);
        let names = |harness: &Harness<'_, ViewHarness>| -> Vec<String> {
            let cells = harness.query_all_by(|node| node.role() == egui::accesskit::Role::GridCell);
            cells.filter_map(|cell| cell.value()).filter(|text| text.starts_with('t')).collect()
        };
        assert_eq!(names(&harness).first().map(String::as_str), Some("t0"));
        assert!(
            harness.state().status.facts.starts_with("1,000,000 items"),
            "{}",
            harness.state().status.facts
        );
        assert!(harness.state_mut().ask(&Request::GoTo("999999".to_owned())));
        settle(&mut harness);
        assert!(names(&harness).contains(&"t999999".to_owned()));
        assert!(names(&harness).len() < 60, "only what is in sight is made into text");
    }
}
