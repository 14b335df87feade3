//! Finding a text in the cells of a table: how many cells show it, and the way from one to the next.

use std::sync::Arc;
use std::time::Duration;

use arrow::array::{Array, ArrayRef, RecordBatch};
use arrow::datatypes::DataType;
use egui::{Key, Rect, Ui, UiBuilder, pos2, vec2};
use gander::bytes::display;
use gander::bytes::display::plural;
use gander::bytes::error::{Error, Result};
use gander::bytes::task::Task;
use gander::data::cell;
use gander::data::content::Table;
use gander::jobs::{JobSpec, Jobs, Slot};
use gander::query::pivot::typed;
use gander::query::{Failure, Filter, Filtered, containing, containing_sql, filtered};

use super::super::keys::FOUND_KEYS;
use super::row_filter::{About, engine};
use crate::gui::grid::CellAt;
use crate::gui::icons::Icon;
use crate::gui::theme::{self, Theme, size, space};
use crate::gui::ui::keys;

/// Of more rows with matches these are not counted.
const COUNTED: u64 = 1 << 20;
/// Rows that are counted at a time.
const STEP: u64 = 128;
/// The width of all that stands beside the field, with some words.
const BESIDE: f32 = 260.0;

/// What is looked for, in which columns as they stand, and in which table (by its place in memory).
#[derive(Clone, Debug, PartialEq)]
struct SearchSpec {
    text: String,
    columns: Arc<Vec<usize>>,
    table: usize,
}

impl SearchSpec {
    fn folded(&self) -> String {
        self.text.to_lowercase()
    }
}

/// What is searched, and from where on.
pub(super) struct Place<'a> {
    /// The columns, in their order on screen.
    pub(super) columns: &'a Arc<Vec<usize>>,
    /// The rows that are shown.
    pub(super) table: &'a Arc<dyn Table>,
    pub(super) cursor: Option<CellAt>,
}

/// A way to another match: from which cell, and whether forwards.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Step {
    from: CellAt,
    forward: bool,
    /// The row itself counts, from its beginning.
    here: bool,
}

/// A match: in which of the rows that have some, which of that row's it is, and its cell.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Found {
    at: u64,
    nth: u64,
    cell: CellAt,
}

type Met = Option<Found>;

/// The find bar of a table view.
#[derive(Default)]
pub(super) struct Find {
    open: bool,
    focus: bool,
    text: String,
    /// Those of the columns that can be searched, and of which table and columns that is so.
    searched: Option<(usize, Arc<Vec<usize>>, Arc<Vec<usize>>)>,
    slot: Slot<SearchSpec, Filtered>,
    found: Option<(SearchSpec, Arc<Filtered>)>,
    error: Option<Error>,
    step: Option<Step>,
    steps: Slot<Step, Met>,
    at: Option<Found>,
    counts: Slot<(SearchSpec, usize), Option<Counts>>,
}

impl Find {
    /// Opens the bar, or puts the cursor into it.
    pub(super) fn open(&mut self) {
        (self.open, self.focus) = (true, true);
    }

    /// Whether the bar is there.
    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    /// What is looked for, written small, while the bar is open: it is marked in the cells.
    pub(super) fn wanted(&self) -> Option<String> {
        (self.open && !self.text.is_empty()).then(|| self.text.to_lowercase())
    }

    /// Closes it; whether it was open.
    pub(super) fn close(&mut self) -> bool {
        let was = std::mem::take(&mut self.open);
        self.found = None;
        self.slot.cancel();
        self.slot.clear();
        self.counts.clear();
        was
    }

    /// Draws the bar at the top of `area`; what is left of it, and the cell to go to.
    pub(super) fn ui(
        &mut self,
        ui: &mut Ui,
        area: Rect,
        place: &Place<'_>,
        about: About<'_>,
        filter: &Filter,
    ) -> (Rect, Option<CellAt>) {
        if !self.open {
            return (area, None);
        }
        let bar = Rect::from_min_size(area.min, vec2(area.width(), size::BAR.min(area.height())));
        let theme = Theme::of(ui);
        ui.painter().rect_filled(bar, 0.0, theme.bg1);
        ui.painter().hline(bar.x_range(), bar.bottom() - 0.5, theme.hairline());
        let builder = UiBuilder::new()
            .max_rect(bar.shrink2(vec2(space::S2, 2.0)))
            .id_salt("find")
            .layout(egui::Layout::left_to_right(egui::Align::Center));
        let mut child = ui.new_child(builder);
        let wanted = self.field(&mut child, place.cursor, about.keyed);
        self.ask(about.jobs, place);
        let go = self.take_step(about.jobs, place.table);
        if let Some(step) = wanted {
            self.step = Some(step);
            self.steps.clear();
        }
        child.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            if theme::icon_button(ui, Icon::Close, "Close (Esc)").clicked() {
                self.close();
            }
            ui.with_layout(egui::Layout::left_to_right(egui::Align::Center), |ui| {
                self.words(ui, about, filter);
            });
        });
        (Rect::from_min_max(pos2(area.left(), bar.bottom()), area.max), go)
    }

    /// The field and its arrows; the step that is asked for.
    fn field(&mut self, ui: &mut Ui, cursor: Option<CellAt>, keyed: bool) -> Option<Step> {
        let from = cursor.unwrap_or(CellAt { row: 0, column: usize::MAX });
        let mut step = None;
        ui.label(theme::icon(Icon::Search).color(Theme::of(ui).dim));
        let field = egui::TextEdit::singleline(&mut self.text).hint_text("Find in all cells");
        let field = field.desired_width((ui.available_width() - BESIDE).clamp(80.0, 240.0));
        let field = ui.add(field.margin(egui::Margin::symmetric(8, 5)));
        field.widget_info(|| egui::WidgetInfo::labeled(egui::Role::TextInput, true, "Find in all cells"));
        if std::mem::take(&mut self.focus) {
            field.request_focus();
        }
        if field.changed() {
            self.at = None;
            step = Some(Step { from, forward: true, here: true });
        }
        let entered = field.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter));
        let back = ui.input(|input| input.modifiers.shift);
        let pressed = if keyed { keys::taken(ui, FOUND_KEYS) } else { Vec::new() };
        let previous = entered && back || pressed.contains(&false);
        let next = entered && !back || pressed.contains(&true);
        if entered {
            field.request_focus();
        }
        if theme::icon_button(ui, Icon::ArrowUp, "Previous match (Shift+F3)").clicked() || previous {
            step = Some(Step { from, forward: false, here: false });
        }
        if theme::icon_button(ui, Icon::ArrowDown, "Next match (F3)").clicked() || next {
            step = Some(Step { from, forward: true, here: false });
        }
        step
    }

    /// Asks for the rows that have the text.
    fn ask(&mut self, jobs: &Jobs, place: &Place<'_>) {
        let table = place.table;
        if self.text.is_empty() {
            self.found = None;
            return;
        }
        let at = Arc::as_ptr(table).cast::<()>() as usize;
        let known =
            self.searched.as_ref().filter(|(of, all, _)| *of == at && Arc::ptr_eq(all, place.columns));
        let columns = match known {
            Some((_, _, searched)) => searched.clone(),
            None => {
                let fields = table.schema().fields();
                let is_shown =
                    |column: &usize| fields.get(*column).is_some_and(|field| !is_binary(field.data_type()));
                let searched: Arc<Vec<usize>> =
                    Arc::new(place.columns.iter().copied().filter(is_shown).collect());
                self.searched = Some((at, place.columns.clone(), searched.clone()));
                searched
            }
        };
        let spec = SearchSpec { text: self.text.clone(), columns, table: at };
        if self.found.as_ref().is_some_and(|(known, rows)| *known == spec && !rows.again()) {
            return;
        }
        if self.found.take().is_some_and(|(known, _)| known == spec) {
            self.slot.clear();
        }
        // The place was one among other matches.
        self.at = None;
        let (source, wanted) = (table.clone(), spec.clone());
        let shown =
            self.slot.get(jobs, &spec, JobSpec::scan(format!("finding {:?}", spec.text)), move |task| {
                let filter = containing(source.as_ref(), &wanted.columns, &wanted.text);
                filtered(&engine(), task, &source, &filter, &[]).map_err(|failure| match failure {
                    Failure::Run(error) => error,
                    Failure::Sql(mistake) => Error::bug(format!("a search is no query: {mistake}")),
                })
            });
        self.error = shown.error.clone();
        self.found = shown.ready().map(|rows| (spec, rows));
    }

    /// Looks for the match that was asked for; the cell, when it is there.
    fn take_step(&mut self, jobs: &Jobs, table: &Arc<dyn Table>) -> Option<CellAt> {
        let step = self.step?;
        let (spec, rows) = self.found.as_ref()?;
        // The first match is there once there is a row, or once all were looked at.
        if rows.rows().number() == 0 && rows.answer().ended().is_none() {
            return None;
        }
        let (source, rows, spec) = (table.clone(), rows.clone(), spec.clone());
        let shown = self.steps.get(jobs, &step, JobSpec::scan("the next match"), move |task| {
            Way { task, rows: &rows, table: source.as_ref(), spec: &spec }.next(step)
        });
        let met = match (shown.ready(), shown.error) {
            (Some(met), _) => *met,
            (None, Some(_)) => None,
            (None, None) => return None,
        };
        self.step = None;
        self.steps.clear();
        self.at = met;
        met.map(|found| found.cell)
    }

    /// How many matches there are, once all rows that have some are known.
    fn counts(&self, jobs: &Jobs) -> Option<Arc<Option<Counts>>> {
        let (spec, rows) = self.found.as_ref()?;
        let key = (spec.clone(), Arc::as_ptr(rows) as usize);
        let (spec, rows) = (spec.clone(), rows.clone());
        let shown = self
            .counts
            .get(jobs, &key, JobSpec::scan("counting matches"), move |task| Counts::of(task, &rows, &spec));
        shown.ready()
    }

    /// The statement of the rows that have matches.
    fn statement(&self, about: About<'_>, filter: &Filter) -> String {
        let Some((spec, _)) = &self.found else { return String::new() };
        let schema = typed(&engine(), about.table);
        let condition = containing_sql(&schema, &spec.columns, &spec.text);
        let clauses = match filter.sql(&schema) {
            Some(filter) => format!("WHERE ({filter}\n) AND ({condition})"),
            None => format!("WHERE {condition}"),
        };
        about.statement(&clauses)
    }

    fn words(&self, ui: &mut Ui, about: About<'_>, filter: &Filter) {
        let theme = Theme::of(ui);
        if self.error.as_ref().is_some_and(Error::is_cancelled) {
            if theme::cancelled_line(ui) {
                self.slot.clear();
            }
            return;
        }
        if let Some(error) = &self.error {
            ui.add(cut(egui::RichText::new(error.message()).color(theme.bad)));
            return;
        }
        let Some((_, rows)) = &self.found else { return };
        let count = rows.rows().number();
        let label = match rows.answer().ended() {
            Some(Ok(())) if count == 0 => ui.label(theme::dim(theme, "no match")),
            Some(Ok(())) => {
                let counts = self.counts(about.jobs);
                let words = match counts.as_ref().and_then(|counts| counts.as_ref().as_ref()) {
                    Some(counts) => told(counts, self.at, count),
                    None => format!("matches in {}", plural(count, "row")),
                };
                ui.add(cut(theme::mono(words).color(theme.good)))
            }
            Some(Err(error)) => ui.add(cut(egui::RichText::new(error.message()).color(theme.bad))),
            None => {
                ui.ctx().request_repaint_after(Duration::from_millis(100));
                let words = format!("matches in ≥ {}", plural(count, "row"));
                ui.add(cut(theme::mono(words).color(theme.dim)))
            }
        };
        label.on_hover_ui(|ui| {
            ui.label(theme::mono(self.statement(about, filter)));
        });
    }
}

/// Where a text has another one, which is written small, whatever the case: in bytes, from left to right.
pub(super) fn marks(text: &str, wanted: &str) -> Vec<std::ops::Range<usize>> {
    if wanted.is_empty() {
        return Vec::new();
    }
    let is_there = |rest: &str| -> Option<usize> {
        let (mut left, mut taken) = (wanted, 0);
        for c in rest.chars() {
            for small in c.to_lowercase() {
                left = left.strip_prefix(small)?;
                if left.is_empty() {
                    return Some(taken + c.len_utf8());
                }
            }
            taken += c.len_utf8();
        }
        None
    };
    let (mut out, mut at) = (Vec::new(), 0);
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let step = match is_there(rest) {
            Some(long) => {
                out.push(at..at + long);
                long
            }
            None => rest.chars().next().map_or(1, char::len_utf8),
        };
        at += step;
    }
    out
}

/// Words that end where the room does.
fn cut(words: egui::RichText) -> egui::Label {
    egui::Label::new(words).truncate()
}

/// `3 of 12 matches in 7 rows`.
fn told(counts: &Counts, at: Option<Found>, rows: u64) -> String {
    let before = |found: Found| counts.before.get(usize::try_from(found.at).ok()?).copied();
    let place = at.and_then(|found| Some(before(found)? + found.nth + 1));
    let place = place.map_or(String::new(), |place| format!("{} of ", display::count(place)));
    let matches = if counts.all() == 1 { "match" } else { "matches" };
    format!("{place}{} {matches} in {}", display::count(counts.all()), plural(rows, "row"))
}

/// How many matches there are in all.
struct Counts {
    /// The matches before each row that has some, and those of all.
    before: Vec<u64>,
}

impl Counts {
    /// Looks at all rows that have matches.
    fn of(task: &Task, rows: &Filtered, spec: &SearchSpec) -> Result<Option<Counts>> {
        let count = rows.rows().number();
        if count > COUNTED {
            return Ok(None);
        }
        let (mut before, mut sum, mut at) = (vec![0], 0, 0);
        while at < count {
            task.check()?;
            let read = rows.read(task, at..(at + STEP).min(count), &spec.columns)?;
            if read.num_rows() == 0 {
                return Ok(None);
            }
            let cells = Cells::new(&read)?;
            for row in 0..read.num_rows() {
                sum += (0..spec.columns.len())
                    .filter(|column| cells.has(row, *column, &spec.folded()))
                    .count() as u64;
                before.push(sum);
            }
            at += read.num_rows() as u64;
        }
        Ok(Some(Counts { before }))
    }

    fn all(&self) -> u64 {
        self.before.last().copied().unwrap_or(0)
    }
}

/// Cells as they are shown.
struct Cells(Vec<ArrayRef>);

impl Cells {
    fn new(read: &RecordBatch) -> Result<Cells> {
        let plain = |array: &ArrayRef| match array.data_type() {
            // One look at the keys for all rows.
            DataType::Dictionary(_, values) => arrow::compute::cast(array, values),
            _ => Ok(array.clone()),
        };
        Ok(Cells(read.columns().iter().map(plain).collect::<std::result::Result<_, _>>()?))
    }

    /// Whether a cell shows the text, which is written small.
    fn has(&self, row: usize, column: usize, text: &str) -> bool {
        let cell = self.0.get(column).and_then(|array| cell::shown(array.as_ref(), row));
        cell.is_some_and(|cell| cell.to_lowercase().contains(text))
    }
}

/// Binary cells are not searched.
fn is_binary(kind: &DataType) -> bool {
    matches!(
        kind,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_)
    )
}

/// Where the way to the next match leads through: rows that have matches, and the table that they are of.
struct Way<'a> {
    task: &'a Task,
    rows: &'a Filtered,
    table: &'a dyn Table,
    spec: &'a SearchSpec,
}

impl Way<'_> {
    /// The number in the table of a row that has matches.
    fn row(&self, at: u64) -> Result<u64> {
        let found = self.rows.numbers(self.task, at..at + 1)?;
        found.first().copied().ok_or_else(|| Error::bug("a match without a row"))
    }

    /// The columns of a row's matches, in their order on screen.
    fn columns(&self, row: u64) -> Result<Vec<usize>> {
        let cells = Cells::new(&self.table.read(self.task, row..row + 1, &self.spec.columns)?)?;
        let text = self.spec.folded();
        let all = self.spec.columns.iter().enumerate();
        Ok(all.filter(|(at, _)| cells.has(0, *at, &text)).map(|(_, column)| *column).collect())
    }

    /// The match next to a cell. Behind the last one comes the first.
    fn next(&self, step: Step) -> Result<Met> {
        let count = self.rows.rows().number();
        if count == 0 {
            return Ok(None);
        }
        // The first row with matches at or behind the cell's.
        let (mut low, mut high) = (0, count);
        while low < high {
            let middle = low + (high - low) / 2;
            let before = self.row(middle)? < step.from.row;
            if before { low = middle + 1 } else { high = middle }
        }
        let exact = low < count && self.row(low)? == step.from.row;
        if exact && !step.here {
            let columns = self.columns(step.from.row)?;
            let place = |column: usize| self.spec.columns.iter().position(|other| *other == column);
            let here = place(step.from.column);
            let further = |column: &usize| match step.forward {
                true => place(*column) > here,
                false => place(*column) < here,
            };
            let nth = match step.forward {
                true => columns.iter().position(further),
                false => columns.iter().rposition(further),
            };
            if let Some((nth, column)) = nth.and_then(|nth| Some((nth, *columns.get(nth)?))) {
                let cell = CellAt { row: step.from.row, column };
                return Ok(Some(Found { at: low, nth: nth as u64, cell }));
            }
        }
        let at = match step.forward {
            true => {
                let next = low + u64::from(exact && !step.here);
                // Which row is the last one is known at the end of the search.
                self.rows.answer().wait_for(self.task, next + 1)?;
                next % self.rows.rows().number().max(1)
            }
            false if low == 0 => {
                self.rows.answer().wait_for(self.task, u64::MAX)?;
                self.rows.rows().number().saturating_sub(1)
            }
            false => low - 1,
        };
        let row = self.row(at)?;
        let columns = self.columns(row)?;
        let nth = if step.forward { 0 } else { columns.len().saturating_sub(1) };
        let column = columns.get(nth).or(self.spec.columns.first()).copied().unwrap_or(0);
        Ok(Some(Found { at, nth: nth as u64, cell: CellAt { row, column } }))
    }
}
