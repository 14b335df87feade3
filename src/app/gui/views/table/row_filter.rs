//! Filters and sorting of a table view: the chips above the rows, the query behind them, the numbers of
//! the rows that it let through.

mod draft;
mod list;
mod numbers;
mod picked;
mod sql_text;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use egui::{Key, Rect, RichText, Ui, UiBuilder, pos2, vec2};
use gander::bytes::cache::DECODED;
use gander::bytes::display;
use gander::bytes::error::Error;
use gander::data::content::Table;
use gander::jobs::{JobSpec, Jobs, Slot};
use gander::query::{
    Condition, Engine, Failure, Filter, Filtered, Order, Settings, Sort, SqlDiagnostic, filtered,
};
use serde::{Deserialize, Serialize};

use crate::gui::commands::Action;
use crate::gui::grid::SortMark;
use crate::gui::icons::Icon;
use crate::gui::theme::{self, Theme, size, space};
use draft::Draft;
pub(super) use numbers::Numbers;
pub(super) use sql_text::About;
use sql_text::{CONTEXT, Sql};

/// The one engine of filters, sorting and groups: what they take of the memory is bounded together.
pub(crate) fn engine() -> Arc<Engine> {
    static ENGINE: OnceLock<Arc<Engine>> = OnceLock::new();
    ENGINE.get_or_init(|| Arc::new(Engine::new(settings(), Vec::new()))).clone()
}

/// What an engine in the window may take: with that of the other kind, the caches and what is shown it stays
/// within the window's budget. The command line, which shows nothing beside it, takes more.
pub(crate) fn settings() -> Settings {
    let all = Settings::default();
    Settings { memory: all.memory.min(DECODED.most() / 4), ..all }
}

/// Narrower bars say less.
const WIDE: f32 = 560.0;

/// What is asked of the table.
#[derive(Clone, Debug, Default, PartialEq)]
struct RowQuery {
    filter: Filter,
    sort: Vec<Sort>,
    /// Asked once more, because guessed types turned out wrong, or because it was stopped.
    again: u32,
}

impl RowQuery {
    fn is_empty(&self) -> bool {
        self.filter.is_empty() && self.sort.is_empty()
    }
}

/// What a session keeps.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct RowFilterState {
    filter: Filter,
    sort: Vec<Sort>,
}

/// Either the rows, or what is wrong with the expression.
type Found = Result<Arc<Filtered>, SqlDiagnostic>;

/// The filters and sort keys of a view.
#[derive(Default)]
pub(super) struct RowFilter {
    query: RowQuery,
    /// Whether the bar is open although nothing is asked.
    open: bool,
    /// The expression as it is typed.
    typed: String,
    focus_typed: bool,
    draft: Draft,
    sql: Sql,
    slot: Slot<RowQuery, Found>,
    shown: Option<(RowQuery, Arc<Filtered>)>,
    /// Shows the query among the jobs until it ends.
    watch: Slot<(), ()>,
    mistake: Option<SqlDiagnostic>,
    error: Option<Error>,
}

/// What the view is to show from now on.
pub(super) enum Change {
    /// The table as it is.
    Whole,
    /// These rows of it.
    Rows(Arc<Filtered>),
}

impl RowFilter {
    /// Whether rows are left out or moved, or soon will be.
    pub(super) fn is_on(&self) -> bool {
        !self.query.is_empty()
    }

    /// Whether rows have to be like something.
    pub(super) fn filters(&self) -> bool {
        !self.query.filter.is_empty()
    }

    /// Whether the rows that are shown stand in another order than in the table.
    pub(super) fn is_sorted(&self) -> bool {
        self.shown.as_ref().is_some_and(|(query, _)| !query.sort.is_empty())
    }

    /// What rows have to be like.
    pub(super) fn filter(&self) -> &Filter {
        &self.query.filter
    }

    /// Whether the bar is there.
    pub(super) fn is_open(&self) -> bool {
        self.open || self.is_on()
    }

    /// Opens or closes the bar. Closed, nothing is filtered any more.
    pub(super) fn toggle(&mut self) {
        if self.is_open() {
            self.clear();
            self.open = false;
        } else {
            self.open = true;
            self.focus_typed = true;
        }
    }

    fn clear(&mut self) {
        self.query = RowQuery { again: self.query.again + 1, ..RowQuery::default() };
        self.typed.clear();
        (self.mistake, self.sql.mistake) = (None, None);
        self.error = None;
    }

    /// Shows the form for a condition on a column of the table, at a place.
    pub(super) fn begin(&mut self, column: usize, at: Rect) {
        self.open = true;
        self.draft.begin(column, at);
    }

    /// Lets all rows through again; their order stays.
    pub(super) fn clear_filter(&mut self) {
        self.query.filter = Filter::default();
        self.query.again += 1;
        self.typed.clear();
        (self.mistake, self.sql.mistake, self.error) = (None, None, None);
    }

    /// Asks the same again: the table under it is another one now. What is shown stays until it is there.
    pub(super) fn anew(&mut self) {
        self.query.again += 1;
        self.mistake = None;
        self.error = None;
    }

    /// Whether what is asked cannot be answered; nothing of it is shown then.
    pub(super) fn gives_up(&mut self) -> bool {
        let failed = self.is_on() && (self.mistake.is_some() || self.error.is_some());
        if failed {
            self.shown = None;
        }
        failed
    }

    fn stop(&mut self) {
        self.watch.clear();
        self.slot.cancel();
    }

    /// One more condition.
    pub(super) fn add(&mut self, condition: Condition) {
        if !self.query.filter.conditions.contains(&condition) {
            self.query.filter.conditions.push(condition);
        }
    }

    /// A click on the head of a column: up, down, as in the table; with `more` besides the other keys.
    pub(super) fn sort_by(&mut self, column: &str, more: bool) {
        let next = match self.query.sort.iter().find(|key| key.column == column).map(|key| key.order) {
            None => Some(Order::Ascending),
            Some(Order::Ascending) => Some(Order::Descending),
            Some(Order::Descending) => None,
        };
        self.set_order(column, next, more);
    }

    /// Sorts by a column in this order, or not by it.
    pub(super) fn set_order(&mut self, column: &str, order: Option<Order>, more: bool) {
        if !more {
            self.query.sort.retain(|key| key.column == column);
        }
        let place = self.query.sort.iter().position(|key| key.column == column);
        match (place, order) {
            (Some(at), Some(order)) => self.query.sort[at].order = order,
            (Some(at), None) => drop(self.query.sort.remove(at)),
            (None, Some(order)) => {
                self.query.sort.push(Sort::by(column, order));
            }
            (None, None) => {}
        }
    }

    /// The mark in the head of a column.
    pub(super) fn mark(&self, column: &str) -> Option<SortMark> {
        let at = self.query.sort.iter().position(|key| key.column == column)?;
        let rank = if self.query.sort.len() > 1 { at + 1 } else { 1 };
        Some(SortMark { descending: self.query.sort[at].order == Order::Descending, rank })
    }

    /// Asks for what is wished, once a frame; what is to be shown instead of what is.
    pub(super) fn take(&mut self, jobs: &Jobs, table: &Arc<dyn Table>, name: &str) -> Option<Change> {
        if self.query.is_empty() {
            let was = self.shown.take();
            if was.is_some() || self.watch.is_busy() {
                self.stop();
            }
            return was.map(|_| Change::Whole);
        }
        if let Some((query, found)) = &self.shown
            && *query == self.query
        {
            if found.again() {
                self.query.again += 1;
            }
            // What was asked for in between is not wanted any more.
            if self.slot.is_busy() || self.error.is_some() || self.mistake.is_some() {
                self.slot.clear();
                (self.error, self.mistake) = (None, None);
            }
            return None;
        }
        let (table, query) = (table.clone(), self.query.clone());
        let shown =
            self.slot.get(jobs, &self.query, JobSpec::once(format!("filtering {name}")), move |task| {
                match filtered(&engine(), task, &table, &query.filter, &query.sort) {
                    Ok(found) => Ok(Ok(Arc::new(found))),
                    Err(Failure::Sql(mistake)) => Ok(Err(*mistake)),
                    Err(Failure::Run(error)) => Err(error),
                }
            });
        self.error = shown.error.clone();
        let found = shown.ready()?;
        match found.as_ref() {
            Err(mistake) => {
                self.mistake = Some(mistake.clone());
                None
            }
            Ok(rows) => {
                self.mistake = None;
                self.shown = Some((self.query.clone(), rows.clone()));
                self.watch = watch(jobs, rows, name);
                // The rows live as long as they are shown, not as long as the slot remembers them.
                self.slot = Slot::default();
                Some(Change::Rows(rows.clone()))
            }
        }
    }

    /// The rows that are shown, if not all are.
    pub(super) fn rows(&self) -> Option<&Arc<Filtered>> {
        self.shown.as_ref().map(|(_, rows)| rows)
    }

    /// What a session keeps.
    pub(super) fn state(&self) -> RowFilterState {
        RowFilterState { filter: self.query.filter.clone(), sort: self.query.sort.clone() }
    }

    /// Takes what a session kept.
    pub(super) fn restore(&mut self, state: RowFilterState) {
        (self.query.filter, self.query.sort) = (state.filter, state.sort);
        self.typed.clone_from(&self.query.filter.expression);
    }

    /// Draws the bar at the top of `area`; what is left of it.
    pub(super) fn ui(
        &mut self,
        ui: &mut Ui,
        area: Rect,
        about: About<'_>,
        actions: &mut Vec<Action>,
    ) -> Rect {
        if !self.is_open() {
            return area;
        }
        let theme = Theme::of(ui);
        let wrong = self.wrong().is_some() || self.problem().is_some();
        let context = self.wrong().and_then(sql_text::context);
        let height = if wrong { 2.0 * size::BAR } else { size::BAR };
        let height = height + if context.is_some() { CONTEXT } else { 0.0 };
        let bar = Rect::from_min_size(area.min, vec2(area.width(), height.min(area.height())));
        ui.painter().rect_filled(bar, 0.0, theme.bg1);
        ui.painter().hline(bar.x_range(), bar.bottom() - 0.5, theme.hairline());
        let line = Rect::from_min_size(bar.min, vec2(bar.width(), size::BAR)).shrink2(vec2(space::S2, 2.0));
        let place = |rect, salt: &str, layout| UiBuilder::new().max_rect(rect).id_salt(salt).layout(layout);
        let layout = egui::Layout::right_to_left(egui::Align::Center);
        let mut right = ui.new_child(place(line, "state", layout));
        right.shrink_clip_rect(bar);
        self.progress(&mut right, line.width() >= WIDE, about);
        let room = Rect::from_min_max(line.min, pos2(right.min_rect().left() - space::S2, line.bottom()));
        let layout = egui::Layout::left_to_right(egui::Align::Center);
        let mut child = ui.new_child(place(room, "row_filter", layout));
        child.shrink_clip_rect(Rect::from_min_max(
            pos2(room.left(), bar.top()),
            pos2(room.right(), bar.bottom()),
        ));
        egui::ScrollArea::horizontal().id_salt("chips").show(&mut child, |ui| {
            ui.with_layout(egui::Layout::left_to_right(egui::Align::Center), |ui| {
                self.chips(ui, about);
                // What the chips leave; with many of them the row scrolls.
                let left = room.width() - ui.min_rect().width() - space::S2;
                self.expression(ui, left.clamp(120.0, 560.0));
            });
        });
        if wrong {
            let below = Rect::from_min_max(pos2(line.left(), line.bottom()), bar.max);
            let first = Rect::from_min_size(below.min, vec2(below.width(), size::BAR));
            self.say_wrong(ui, first);
            if let Some(context) = context {
                let at = pos2(first.left() + space::S3, first.bottom() - 2.0);
                let color = theme.bad;
                let font = theme::mono_small_font();
                ui.painter().text(at, egui::Align2::LEFT_TOP, context, font, color);
            }
        }
        let rest = Rect::from_min_max(pos2(area.left(), bar.bottom()), area.max);
        self.sql_ui(ui, rest, about, actions)
    }

    fn chips(&mut self, ui: &mut Ui, about: About<'_>) {
        let mut remove = None;
        for (at, condition) in self.query.filter.conditions.iter().enumerate() {
            let words = condition.words();
            let place = condition.place();
            let rest = words.strip_prefix(place.as_str()).map(str::trim);
            let (name, value) = match rest {
                Some(rest) => (place.as_str(), rest),
                None => (words.as_str(), ""),
            };
            let done = theme::chip(ui, name, value, true);
            if done.removed {
                remove = Some(at);
            } else if done.clicked {
                self.draft.edit(at, condition, done.place.unwrap_or_else(|| ui.min_rect()));
            }
        }
        if let Some(at) = remove {
            self.query.filter.conditions.remove(at);
        }
        if let Some((at, condition)) = self.draft.ui(ui, about.jobs, about.table) {
            match at.and_then(|at| self.query.filter.conditions.get_mut(at)) {
                Some(place) => *place = condition,
                None => self.add(condition),
            }
        }
        let mut change = None;
        for key in &self.query.sort {
            let way = if key.order == Order::Ascending { "asc" } else { "desc" };
            let nulls = if key.nulls_first { ", nulls first" } else { "" };
            let done = theme::chip(ui, &key.column, &format!("{way}{nulls}"), true);
            if done.removed {
                change = Some((key.column.clone(), None));
            } else if done.clicked {
                change = Some((key.column.clone(), Some(key.nulls_first)));
            }
        }
        match change {
            Some((column, None)) => self.set_order(&column, None, true),
            Some((column, Some(_))) => {
                // A click on the chip moves nulls to the other end.
                for key in self.query.sort.iter_mut().filter(|key| key.column == column) {
                    key.nulls_first = !key.nulls_first;
                }
            }
            None => {}
        }
    }

    /// The expression that is typed by hand.
    fn expression(&mut self, ui: &mut Ui, width: f32) {
        let theme = Theme::of(ui);
        let field = egui::TextEdit::singleline(&mut self.typed)
            .hint_text("Or type a condition in SQL")
            .font(theme::mono_font())
            .margin(egui::Margin::symmetric(8, 5))
            .text_color(if self.mistake.is_some() { theme.bad } else { theme.text });
        let field = ui.add_sized(vec2(width, size::CONTROL), field);
        field.widget_info(|| {
            egui::WidgetInfo::labeled(egui::Role::TextInput, true, "Filter expression (SQL WHERE)")
        });
        if std::mem::take(&mut self.focus_typed) {
            field.request_focus();
        }
        if field.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter)) {
            let typed = self.typed.trim().to_owned();
            if typed == self.query.filter.expression {
                self.query.again += 1;
            }
            self.query.filter.expression = typed;
            (self.mistake, self.sql.mistake) = (None, None);
        }
    }

    /// How many rows are left, and how long it took, from the right end on.
    fn progress(&mut self, ui: &mut Ui, wide: bool, about: About<'_>) {
        let theme = Theme::of(ui);
        if self.is_on() && theme::button(ui, "Clear").on_hover_text("Show all rows as they stand").clicked() {
            self.clear();
            return;
        }
        let words = if self.sql.open { "Hide the SQL" } else { "Show the SQL and edit it" };
        if theme::icon_button(ui, Icon::Query, words).clicked() {
            self.sql.open = !self.sql.open;
        }
        let current = self.shown.as_ref().filter(|(query, _)| *query == self.query);
        let Some((_, rows)) = current else {
            if self.is_on() && self.mistake.is_none() && self.error.is_none() {
                ui.label(theme::dim(theme, "filtering…"));
            }
            return;
        };
        let answer = rows.answer();
        let count = display::count(rows.rows().number());
        let noun = if rows.rows().number() == 1 { "row" } else { "rows" };
        match answer.ended() {
            Some(Ok(())) => {
                let time = answer.elapsed().as_secs_f64();
                let time = if wide { format!(" · {time:.2} s") } else { String::new() };
                let words = theme::mono(format!("{count} {noun}{time}")).color(theme.good);
                ui.label(words).on_hover_ui(|ui| {
                    ui.label(theme::mono(about.statement(&self.clauses(about.table))));
                });
            }
            Some(Err(_)) => {
                ui.label(theme::mono(format!("{count} {noun}")).color(theme.dim));
            }
            None => {
                let (done, total) = answer.progress();
                let part = match total {
                    0 => String::new(),
                    total => format!(" · {:.0} %", 100.0 * done as f64 / total.max(1) as f64),
                };
                if theme::icon_button(ui, Icon::Stop, "Stop filtering").clicked() {
                    answer.cancel();
                }
                ui.label(theme::mono(format!("≥ {count} {noun}{part}")).color(theme.dim));
                ui.ctx().request_repaint_after(Duration::from_millis(100));
            }
        }
    }

    /// What went wrong, other than a mistake in the expression.
    fn problem(&self) -> Option<Error> {
        let ended = self.shown.as_ref().and_then(|(_, rows)| rows.answer().ended());
        self.error.clone().or_else(|| ended.and_then(Result::err))
    }

    fn say_wrong(&mut self, ui: &mut Ui, place: Rect) {
        let theme = Theme::of(ui);
        // What somebody asked for is no error.
        let (words, icon, color) = match (self.wrong(), self.problem()) {
            (Some(mistake), _) => (mistake.message.clone(), Icon::Problem, theme.bad),
            (None, Some(error)) if error.is_cancelled() => {
                ("Filtering was stopped; not all rows are there".to_owned(), Icon::Stop, theme.dim)
            }
            (None, Some(error)) => (error.to_string(), Icon::Problem, theme.bad),
            (None, None) => return,
        };
        let builder = UiBuilder::new()
            .max_rect(place)
            .id_salt("row_filter-wrong")
            .layout(egui::Layout::left_to_right(egui::Align::Center));
        let mut child = ui.new_child(builder);
        child.label(theme::icon(icon).color(color));
        let first = words.lines().next().unwrap_or_default().to_owned();
        let label = egui::Label::new(RichText::new(first).color(color)).truncate();
        let full = self.wrong().map_or(words, ToString::to_string);
        child.add(label).on_hover_text(theme::mono(full));
        if self.wrong().is_none() && theme::button(&mut child, "Try again").clicked() {
            self.error = None;
            self.slot.clear();
            self.query.again += 1;
        }
    }
}

/// A job that lasts as long as the query, so that the status bar shows it and can end it.
fn watch(jobs: &Jobs, rows: &Arc<Filtered>, name: &str) -> Slot<(), ()> {
    let (answer, slot) = (Arc::downgrade(rows.answer()), Slot::default());
    slot.get(jobs, &(), JobSpec::scan(format!("filtering {name}")), move |task| {
        // Only looked at, so that a closed tab ends its query.
        while let Some(answer) = answer.upgrade() {
            if answer.ended().is_some() {
                return Ok(());
            }
            if task.is_cancelled() {
                answer.cancel();
                return Ok(());
            }
            let (at, total) = answer.progress();
            if task.progress().1 != total {
                task.set_total(total);
            }
            task.reached(at);
            drop(answer);
            std::thread::sleep(Duration::from_millis(30));
        }
        Ok(())
    });
    slot
}
