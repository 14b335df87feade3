//! Group by and pivot: columns are dragged (or put by click or keyboard) into three wells — rows, columns,
//! values — and what comes of them stands beside, as a table like any other. A change asks anew; the
//! old result stays until the new one is there.

mod arrange;
mod columns;
mod wells;

use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::datatypes::SchemaRef;
use egui::{Rect, RichText, ScrollArea, Ui, UiBuilder, pos2, vec2};
use gander::bytes::error::Error;
use gander::bytes::task::Task;
use gander::data::content::Table;
use gander::data::format::Data;
use gander::jobs::{JobSpec, Jobs, Slot};
use gander::query::pivot::{Pivot, Pivoted, pivoted, typed};
use gander::query::{Failure, Filter, SqlDiagnostic};
use parking_lot::Mutex;

use super::column_search::ColumnSearch;
use super::row_filter::engine;
use super::{PATIENCE, Request, TableView, View, ViewCx};
use crate::gui::commands::Action;
use crate::gui::icons::Icon;
use crate::gui::theme::{self, Theme, size, space};
use crate::gui::views::{QueryStart, sql};
use arrange::{Carried, Dragged};
use wells::{LINE, Wells};

/// A result that took longer than this gets its totals only when they are asked for: that is a second pass.
const CHEAP: Duration = Duration::from_secs(4);
/// The types of so many columns are looked up at once, of more by a job.
const SOON: usize = 1_000;
/// The height of the line of totals in the heads.
const TOTALS: f32 = 22.0;

/// What is asked.
#[derive(Clone, Debug, Default, PartialEq)]
struct PivotSpec {
    pivot: Pivot,
    filter: Filter,
    /// Asked once more after it was stopped or failed.
    again: u32,
}

type Found = Result<Pivoted, SqlDiagnostic>;

/// The result on screen.
struct Shown {
    found: Arc<Found>,
    view: Box<TableView>,
    totals: Slot<(), Vec<Option<String>>>,
    /// Whether totals are to be made.
    want_totals: bool,
}

impl Shown {
    fn made(&self) -> Option<&Pivoted> {
        self.found.as_ref().as_ref().ok()
    }
}

/// The state of the page.
#[derive(Default)]
pub(super) struct Page {
    pivot: Pivot,
    again: u32,
    /// The table that the rest is about, by its place in memory.
    of: usize,
    schema: Option<SchemaRef>,
    /// The table and how often its types were guessed, now and where the schema was made; of wide ones a job makes it.
    guesses: u32,
    typed_of: (usize, u32),
    types: Slot<(usize, u32), SchemaRef>,
    find: String,
    named: ColumnSearch,
    typed: String,
    slot: Slot<PivotSpec, Found>,
    /// The running job, to show how far it is.
    task: Arc<Mutex<Option<Task>>>,
    shown: Option<Shown>,
    /// Since when something is asked that is not there.
    since: Option<Instant>,
    mistake: Option<SqlDiagnostic>,
    error: Option<Error>,
    show_sql: bool,
    called: sql::Called,
}

impl Page {
    /// Draws the page into all that is left of `ui`.
    pub(super) fn ui(
        &mut self,
        ui: &mut Ui,
        cx: &mut ViewCx<'_>,
        table: &Arc<dyn Table>,
        filter: &Filter,
        name: &str,
    ) {
        self.about(cx.jobs, table);
        let area = ui.available_rect_before_wrap();
        ui.allocate_rect(area, egui::Sense::hover());
        let theme = Theme::of(ui);
        ui.painter().rect_filled(area, 0.0, theme.bg1);
        let wide = (area.width() * 0.24).clamp(120.0, 208.0);
        let left = Rect::from_min_size(area.min, vec2(wide, area.height()));
        let right = Rect::from_min_max(pos2(left.right(), area.top()), area.max);
        ui.painter().vline(left.right() - 0.5, left.y_range(), theme.hairline());
        let schema = self.schema.clone().unwrap_or_else(|| table.schema().clone());
        let mut child = ui.new_child(UiBuilder::new().max_rect(left).id_salt("pivot columns"));
        child.shrink_clip_rect(left);
        let find = (&mut self.find, &mut self.named);
        if let Some((column, well)) = columns::ui(&mut child, cx.jobs, &schema, &self.pivot, find) {
            arrange::put(&mut self.pivot, &schema, Carried::Column(column), well, usize::MAX);
        }
        let top = Rect::from_min_size(right.min, vec2(right.width(), 3.0 * LINE + 2.0 * space::S2));
        let builder = UiBuilder::new().max_rect(top).id_salt("wells");
        let mut child = ui.new_child(builder);
        child.shrink_clip_rect(top);
        let inner = Rect::from_min_max(top.min + vec2(space::S3, space::S2), top.max - vec2(space::S2, 0.0));
        let mut wells = Wells { pivot: &mut self.pivot, schema: &schema, typed: &mut self.typed };
        wells.ui(&mut child, inner);
        self.carry(ui, &schema);
        if self.schema.is_some() {
            self.ask(cx, table, filter, name);
        }
        let line = Rect::from_min_size(top.left_bottom(), vec2(right.width(), size::BAR));
        ui.painter().hline(line.x_range(), line.top() - 0.5, theme.hairline());
        let statement = self.statement(cx, table);
        self.progress(ui, cx, line.shrink2(vec2(space::S3, 2.0)), statement.as_deref());
        let mut below = Rect::from_min_max(pos2(right.left(), line.bottom()), right.max);
        if let Some(sql) = statement.as_ref().filter(|_| self.show_sql) {
            below = self.sql(ui, cx, below, sql);
        }
        if let Some(shown) = &mut self.shown {
            shown.view.given = statement.map(|sql| format!("(\n{sql}\n) AS groups"));
        }
        self.result(ui, cx, below, name);
    }

    /// Starts anew for another table; the wells stay as far as they fit.
    fn about(&mut self, jobs: &Jobs, table: &Arc<dyn Table>) {
        let place = Arc::as_ptr(table).cast::<()>() as usize;
        if self.of != place {
            // The old groups stay until those of this table are there.
            self.again += 1;
            self.of = place;
            self.schema = None;
        }
        let wanted = (place, self.guesses);
        if self.schema.is_some() && self.typed_of == wanted {
            return;
        }
        let schema = match table.schema().fields().len() <= SOON {
            true => Some(typed(&engine(), table)),
            false => {
                let source = table.clone();
                let shown =
                    self.types.get(jobs, &wanted, JobSpec::view(""), move |_| Ok(typed(&engine(), &source)));
                shown.ready().map(|schema| schema.as_ref().clone())
            }
        };
        let Some(schema) = schema else { return };
        if self.schema.is_none() {
            self.pivot.fit(&schema);
        }
        (self.schema, self.typed_of) = (Some(schema), wanted);
    }

    /// Shows what is dragged at the pointer.
    fn carry(&self, ui: &Ui, schema: &SchemaRef) {
        let Some(carried) = Dragged::of(ui.ctx(), &self.pivot) else { return };
        let Some(pointer) = ui.input(|input| input.pointer.interact_pos()) else { return };
        wells::ghost(ui, &arrange::name(&self.pivot, schema, carried), pointer);
        ui.ctx().set_cursor_icon(egui::CursorIcon::Grabbing);
    }

    /// Asks for what stands in the wells; takes what came.
    fn ask(&mut self, cx: &ViewCx<'_>, table: &Arc<dyn Table>, filter: &Filter, name: &str) {
        if self.pivot.is_empty() {
            self.slot.cancel();
            self.shown = None;
            (self.mistake, self.error, self.since) = (None, None, None);
            return;
        }
        let spec = PivotSpec { pivot: self.pivot.clone(), filter: filter.clone(), again: self.again };
        let (source, wanted, task_place) = (table.clone(), spec.clone(), self.task.clone());
        let shown = self.slot.get(cx.jobs, &spec, JobSpec::scan(format!("grouping {name}")), move |task| {
            *task_place.lock() = Some(task.clone());
            match pivoted(&engine(), task, &source, &wanted.filter, &wanted.pivot) {
                Ok(made) => Ok(Ok(made)),
                Err(Failure::Sql(mistake)) => Ok(Err(*mistake)),
                Err(Failure::Run(error)) => Err(error),
            }
        });
        self.since = shown.pending;
        self.error = shown.error.clone();
        let Some(found) = shown.ready() else {
            self.mistake = None;
            return;
        };
        if self.shown.as_ref().is_some_and(|shown| Arc::ptr_eq(&shown.found, &found)) {
            self.mistake = None;
            return;
        }
        match found.as_ref() {
            Err(mistake) => self.mistake = Some(mistake.clone()),
            Ok(made) => {
                self.mistake = None;
                let view = Box::new(view_of(made, name));
                let want_totals = made.answer.elapsed() < CHEAP;
                let found = found.clone();
                self.shown = Some(Shown { found, view, totals: Slot::default(), want_totals });
                // Guessed types may be wider now.
                self.guesses += 1;
                cx.jobs.wake();
            }
        }
    }

    /// The statement of what is on screen.
    fn statement(&self, cx: &ViewCx<'_>, table: &Arc<dyn Table>) -> Option<String> {
        let made = self.shown.as_ref()?.made()?;
        let from = self.called.from(cx.jobs, &cx.workspace.documents, cx.target, table.as_ref())?;
        Some(made.resolved.sql(&from))
    }

    /// How far it is, or what came; what can be done with it.
    fn progress(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>, line: Rect, statement: Option<&str>) {
        let builder = UiBuilder::new()
            .max_rect(line)
            .id_salt("state")
            .layout(egui::Layout::right_to_left(egui::Align::Center));
        let mut child = ui.new_child(builder);
        child.shrink_clip_rect(line);
        if let Some(statement) = statement {
            if line.width() > 360.0
                && theme::button(&mut child, "Open as SQL")
                    .on_hover_text("A new tab with this statement, to be changed")
                    .clicked()
            {
                cx.actions.push(Action::Query(QueryStart::Statement(statement.to_owned())));
            }
            let words = if self.show_sql { "Hide SQL" } else { "Show SQL" };
            if theme::button(&mut child, words).clicked() {
                self.show_sql = !self.show_sql;
            }
        }
        let left = egui::Layout::left_to_right(egui::Align::Center);
        child.with_layout(left, |ui| {
            if self.mistake.is_some() || self.error.is_some() {
                self.wrong(ui);
            } else if self.since.is_some() {
                self.pending(ui);
            } else {
                self.done(ui);
            }
        });
    }

    fn pending(&mut self, ui: &mut Ui) {
        let theme = Theme::of(ui);
        let part = self.task.lock().as_ref().and_then(Task::fraction);
        let part = part.map_or(String::new(), |part| format!(" {:.0} %", part.min(1.0) * 100.0));
        // Before the words, so that it stays where it is while they grow.
        if theme::icon_button(ui, Icon::Stop, "Stop grouping").clicked() {
            self.slot.cancel();
        }
        ui.label(RichText::new(format!("grouping{part}")).color(theme.accent));
        ui.ctx().request_repaint_after(Duration::from_millis(100));
    }

    fn wrong(&mut self, ui: &mut Ui) {
        let theme = Theme::of(ui);
        let stopped = self.error.as_ref().is_some_and(Error::is_cancelled);
        let words = match (&self.mistake, &self.error) {
            (Some(mistake), _) => mistake.message.clone(),
            _ if stopped => "Grouping was stopped".to_owned(),
            (None, Some(error)) => error.to_string(),
            (None, None) => return,
        };
        let (color, icon) = if stopped { (theme.dim, Icon::Stop) } else { (theme.bad, Icon::Problem) };
        ui.label(theme::icon(icon).color(color));
        if theme::button(ui, "Try again").clicked() {
            self.slot.clear();
            self.again += 1;
            (self.mistake, self.error) = (None, None);
        }
        let label = egui::Label::new(RichText::new(words.as_str()).color(color)).truncate();
        ui.add(label).on_hover_text(words);
    }

    fn done(&mut self, ui: &mut Ui) {
        let theme = Theme::of(ui);
        let Some(shown) = &mut self.shown else { return };
        let Some(made) = shown.found.as_ref().as_ref().ok() else { return };
        let groups = gander::bytes::display::plural(made.answer.rows().number(), "group");
        let time = made.answer.elapsed().as_secs_f64();
        ui.label(theme::mono(format!("{groups} · {time:.2} s")).color(theme.good));
        if let Some(remark) = made.resolved.remark() {
            let words = theme::icon(Icon::Warning).color(theme.warn);
            let response = ui.add(egui::Label::new(words).sense(egui::Sense::hover()));
            response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, remark));
            response.on_hover_text(remark);
            let short = remark.split(':').next().unwrap_or(remark);
            let label = egui::Label::new(RichText::new(short).color(theme.warn)).truncate();
            ui.add(label).on_hover_text(remark);
        }
        if made.resolved.groups() > 0
            && !shown.want_totals
            && theme::button(ui, "Totals").on_hover_text("Reads the table once more").clicked()
        {
            shown.want_totals = true;
        }
    }

    /// The statement below the line; what is left of `area`.
    fn sql(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>, area: Rect, sql: &str) -> Rect {
        let theme = Theme::of(ui);
        let lines = sql.lines().count() as f32;
        let high = (lines * 16.0 + 2.0 * space::S2).min(area.height() * 0.4).min(200.0);
        let place = Rect::from_min_size(area.min, vec2(area.width(), high));
        ui.painter().rect_filled(place, 0.0, theme.bg2);
        ui.painter().hline(place.x_range(), place.bottom() - 0.5, theme.hairline());
        let builder = UiBuilder::new().max_rect(place.shrink2(vec2(space::S3, space::S2))).id_salt("sql");
        let mut child = ui.new_child(builder);
        child.shrink_clip_rect(place);
        ScrollArea::both().id_salt("statement").auto_shrink(false).show(&mut child, |ui| {
            let label = egui::Label::new(theme::mono(sql).color(theme.text)).extend().selectable(true);
            ui.add(label);
        });
        let corner = Rect::from_min_size(
            pos2(place.right() - 2.0 * size::ROW - space::S2, place.top() + space::S1),
            vec2(2.0 * size::ROW, size::ROW),
        );
        let layout = egui::Layout::left_to_right(egui::Align::Center);
        let mut child = ui.new_child(UiBuilder::new().max_rect(corner).id_salt("copy").layout(layout));
        child.spacing_mut().item_spacing.x = 0.0;
        if theme::icon_button(&mut child, Icon::Database, "Open this in a SQL tab").clicked() {
            cx.actions.push(Action::Query(QueryStart::Statement(sql.to_owned())));
        }
        if theme::icon_button(&mut child, Icon::Copy, "Copy the SQL").clicked() {
            cx.actions.push(Action::Copy(sql.to_owned()));
        }
        Rect::from_min_max(pos2(area.left(), place.bottom()), area.max)
    }

    /// The groups.
    fn result(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>, area: Rect, name: &str) {
        let theme = Theme::of(ui);
        let pending = self.since.is_some_and(|since| since.elapsed() > PATIENCE);
        ui.painter().rect_filled(area, 0.0, theme.bg2);
        let mut child = ui.new_child(UiBuilder::new().max_rect(area).id_salt("groups"));
        child.shrink_clip_rect(area);
        let failed = self.mistake.is_some() || self.error.is_some();
        let Some(shown) = &mut self.shown else {
            if failed {
                theme::empty_state(&mut child, Icon::Problem, "There are no groups", "See above why");
            } else if self.pivot.is_empty() {
                let words = "Drag columns to Rows, Columns and Values, or click one";
                theme::empty_state(&mut child, Icon::Table, "Group rows and compare columns", words);
            } else {
                theme::pending(&mut child, ui.unique_id().with("grouping"), &format!("Grouping {name}"));
            }
            return;
        };
        take_totals(shown, cx);
        shown.view.ui(&mut child, cx);
        if pending || failed {
            // The old result is still there, but it is not what is asked.
            ui.painter().rect_filled(area, 0.0, theme.bg2.gamma_multiply(0.45));
        }
    }

    /// The groups on a grid.
    #[cfg(test)]
    pub(super) fn sheet(&self) -> Option<&super::Sheet> {
        self.shown.as_ref().map(|shown| &shown.view.main)
    }

    /// What *Export…* writes.
    pub(super) fn export(&self) -> Option<(String, Data)> {
        let shown = self.shown.as_ref()?;
        let made = shown.made()?;
        let whole = || {
            let words =
                format!("the pivot: {}", gander::bytes::display::plural(made.answer.rows().number(), "row"));
            (words, Data::Table(made.answer.clone()))
        };
        Some(shown.view.export().unwrap_or_else(whole))
    }

    /// Does in the result what a command asks.
    pub(super) fn request(&mut self, request: &Request, cx: &mut ViewCx<'_>) -> bool {
        self.shown.as_mut().is_some_and(|shown| shown.view.request(request, cx))
    }

    /// What a session keeps.
    pub(super) fn state(&self) -> Pivot {
        self.pivot.clone()
    }

    /// Takes what a session kept.
    pub(super) fn restore(&mut self, pivot: Pivot) {
        self.pivot = pivot;
        // What the table cannot do is left out when it is looked at.
        self.schema = None;
    }
}

/// The grid of a result.
fn view_of(made: &Pivoted, name: &str) -> TableView {
    let mut view = TableView::new(&format!("{name}, grouped"), made.answer.clone());
    // The keyboard stays where it is.
    view.started = true;
    let many = made.resolved.groups() > 0;
    view.main.grid.header_extra = if many { TOTALS } else { 0.0 };
    view.main.totals = Some(Vec::new());
    view.main.computed_from = Some(made.resolved.groups());
    view
}

/// Asks for the totals, and puts them below the heads.
fn take_totals(shown: &mut Shown, cx: &ViewCx<'_>) {
    let groups = shown.made().map_or(0, |made| made.resolved.groups());
    if !shown.want_totals || groups == 0 {
        return;
    }
    let found = shown.found.clone();
    let totals = shown.totals.get(cx.jobs, &(), JobSpec::scan("totals"), move |task| match found.as_ref() {
        Ok(made) => Ok(made.totals(&engine(), task)?),
        Err(mistake) => Err(Error::bug(mistake.message.clone())),
    });
    let Some(totals) = totals.value else { return };
    let main = &mut shown.view.main;
    let written = |(column, total): (usize, &Option<String>)| {
        let total = total.as_ref()?;
        Some(main.computed(column, total).unwrap_or_else(|| total.clone()))
    };
    let totals: Vec<Option<String>> = totals.iter().enumerate().map(written).collect();
    if main.totals.as_ref() != Some(&totals) {
        main.totals = Some(totals);
    }
}
