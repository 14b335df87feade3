//! Below the text: a tab for each result, how far it is, and the result itself.

use std::time::Duration;

use egui::{Align, Label, Layout, Rect, RichText, ScrollArea, Sense, Ui, UiBuilder, pos2, vec2};
use gander::bytes::display;
use gander::bytes::error::Error;
use gander::data::content::{Rows, Table};
use gander::query::Failure;

use super::run::{Mode, Run, State};
use super::steps::time;
use super::{SqlView, ViewCx};
use crate::gui::icons::Icon;
use crate::gui::theme::{self, Severity, Theme, body_font, size, space};
use crate::gui::ui::{TabLook, banner};
use crate::gui::views::View as _;

/// Narrower bars say less.
const WIDE: f32 = 560.0;

/// What was done with a tab.
enum Tab {
    Chosen,
    Closed,
}

impl SqlView {
    /// The tabs at the left, what is said of the chosen result and how it is shown at the right.
    pub(super) fn results_bar(&mut self, ui: &mut Ui, line: Rect) {
        let inner = line.shrink2(vec2(space::S2, 0.0));
        let mut right = child_of(ui, inner, "state", Layout::right_to_left(Align::Center));
        right.shrink_clip_rect(line);
        if let Some(run) = self.runs.get_mut(self.current) {
            let modes = [(Mode::Rows, "Rows"), (Mode::Plot, "Plot"), (Mode::Plan, "Plan")];
            if run.answer().is_some() && run.state() != State::Failed {
                theme::segmented(&mut right, "Result as", &mut run.mode, &modes);
                let (icon, words) = match run.is_pinned {
                    true => (Icon::Unpin, "Let the next run replace this result"),
                    false => (Icon::Pin, "Keep this result when its statement runs again"),
                };
                if theme::icon_button(&mut right, icon, words).clicked() {
                    run.is_pinned = !run.is_pinned;
                }
            }
            said(&mut right, run, line.width() >= WIDE);
        }
        let room = Rect::from_min_max(inner.min, pos2(right.min_rect().left() - space::S2, inner.bottom()));
        if room.width() < 20.0 {
            return;
        }
        let mut left = child_of(ui, room, "tabs", Layout::left_to_right(Align::Center));
        left.shrink_clip_rect(Rect::from_min_max(room.min, pos2(room.right(), line.bottom())));
        let mut done = None;
        let chosen = self.runs.get(self.current).map(|run| run.number);
        let reveal = chosen != self.revealed;
        self.revealed = chosen;
        ScrollArea::horizontal().id_salt("results").show(&mut left, |ui| {
            ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                ui.spacing_mut().item_spacing.x = 0.0;
                for (index, run) in self.runs.iter().enumerate() {
                    let is_chosen = index == self.current;
                    if let Some(tab) = tab(ui, run, is_chosen, reveal && is_chosen) {
                        done = Some((index, tab));
                    }
                }
                if self.runs.is_empty() {
                    ui.label(theme::dim(Theme::of(ui), "No result yet"));
                }
            });
        });
        match done {
            Some((index, Tab::Chosen)) => self.current = index,
            Some((index, Tab::Closed)) => self.close(index),
            None => {}
        }
    }

    /// The rows, the plot or the plan; or why there are none.
    pub(super) fn result(&mut self, ui: &mut Ui, area: Rect, cx: &mut ViewCx<'_>) {
        let text = &self.editor.text;
        let Some(run) = self.runs.get_mut(self.current) else {
            let words = "Ctrl+Enter runs the statements; each gets a result here";
            theme::empty_state(ui, Icon::Database, "No result yet", words);
            return;
        };
        let failure = run.outcome.lock().failure.clone();
        if let Some(failure) = failure {
            let place = run.wrong(text).map(|range| range.start);
            if failed(ui, area, &failure, place.is_some())
                && let Some(place) = place
            {
                self.editor.go_to(place);
            }
            return;
        }
        let answer = match (run.answer(), run.state()) {
            (Some(answer), _) => answer,
            (None, State::Stopped) => {
                theme::empty_state(ui, Icon::Stop, "Stopped", "The query was stopped before its first row");
                return;
            }
            (None, State::NotRun) => {
                theme::empty_state(
                    ui,
                    Icon::Hourglass,
                    "Not run",
                    "A statement before it failed or was stopped",
                );
                return;
            }
            (None, State::Waiting) => {
                theme::pending(ui, ui.unique_id().with("waiting"), "Waiting for the statements before it…");
                return;
            }
            (None, _) => {
                theme::pending(ui, ui.unique_id().with("planning"), "Planning…");
                return;
            }
        };
        let area = problems(ui, area, &run.outcome.lock().problems);
        // What has no rows so far may have some.
        if run.mode != Mode::Plan && run.goes_on() && answer.rows().number() == 0 {
            theme::pending(ui, ui.unique_id().with("running"), "Running…");
            return;
        }
        match run.mode {
            Mode::Rows => {
                let Some(view) = run.rows() else { return };
                let bar = Rect::from_min_size(area.min, vec2(area.width(), size::TOOLBAR));
                ui.painter().hline(bar.x_range(), bar.bottom() - 0.5, Theme::of(ui).hairline());
                let inner = bar.shrink2(vec2(space::S3, 0.0));
                let mut child = child_of(ui, inner, "bar", Layout::left_to_right(Align::Center));
                child.shrink_clip_rect(bar);
                view.toolbar(&mut child, cx);
                let rest = Rect::from_min_max(pos2(area.left(), bar.bottom()), area.max);
                view.ui(&mut ui.new_child(UiBuilder::new().max_rect(rest).id_salt("rows")), cx);
            }
            Mode::Plot => {
                let table: std::sync::Arc<dyn Table> = answer;
                run.rows();
                run.plot.ui(ui, cx.jobs, &table, cx.actions);
            }
            Mode::Plan => {
                run.rows();
                run.steps.ui(ui, &answer, cx.actions);
            }
        }
    }
}

fn child_of(ui: &mut Ui, place: Rect, salt: &str, layout: Layout) -> Ui {
    ui.new_child(UiBuilder::new().max_rect(place).id_salt(salt).layout(layout))
}

/// A tab of a result, brought into sight if `reveal`.
fn tab(ui: &mut Ui, run: &Run, chosen: bool, reveal: bool) -> Option<Tab> {
    let theme = Theme::of(ui);
    let name = run.name();
    let state = run.state();
    let color = match state {
        State::Failed => theme.bad,
        State::NotRun | State::Stopped => theme.dim,
        _ if chosen => theme.text,
        _ => theme.dim,
    };
    let mark = match state {
        State::Failed => Some(Icon::Problem),
        State::Waiting | State::Running => Some(Icon::Hourglass),
        State::Stopped => Some(Icon::Stop),
        State::NotRun | State::Done => run.is_pinned.then_some(Icon::Pin),
    };
    let said = match state {
        State::Failed => "failed",
        State::Waiting | State::Running => "running",
        State::NotRun => "not run",
        State::Stopped => "stopped",
        State::Done if run.is_pinned => "kept",
        State::Done => "",
    };
    let spoken = format!("{name} {said}").trim_end().to_owned();
    let look = TabLook {
        title: &name,
        spoken: &spoken,
        font: body_font(),
        color,
        mark,
        is_chosen: chosen,
        is_active: chosen,
        is_drawn: true,
    };
    let id = ui.scope_id().with(("result", run.number));
    let (response, closed) = look.ui(ui, id, Sense::click());
    let clicked = response.clicked();
    if reveal {
        response.scroll_to_me(None);
    }
    response.on_hover_text(theme::mono(run.sql.as_str()));
    match (closed, clicked) {
        (true, _) => Some(Tab::Closed),
        (_, true) => Some(Tab::Chosen),
        _ => None,
    }
}

/// How far a result is: how many rows, how long it took.
fn said(ui: &mut Ui, run: &Run, wide: bool) {
    let theme = Theme::of(ui);
    let Some(answer) = run.answer().filter(|_| run.state() != State::Failed) else {
        if run.goes_on() {
            ui.ctx().request_repaint_after(Duration::from_millis(100));
        }
        return;
    };
    let count = display::count(answer.rows().number());
    let spent = if wide { format!(" · {}", time(answer.elapsed())) } else { String::new() };
    let noun = if answer.rows().number() == 1 { "row" } else { "rows" };
    if matches!(answer.rows(), Rows::Exact(_)) {
        ui.label(theme::mono(format!("{count} {noun}{spent}")).color(theme.good));
        return;
    }
    if run.state() == State::Stopped {
        ui.label(theme::mono(format!("{count} {noun}{spent} · stopped")).color(theme.dim))
            .on_hover_text("The query was stopped; not all of its rows are here");
        return;
    }
    let (done, total) = answer.progress();
    let part = match total {
        0 => String::new(),
        total => format!(" · {:.0} %", 100.0 * done.min(total) as f64 / total as f64),
    };
    if theme::icon_button(ui, Icon::Stop, "Stop this query").clicked() {
        run.job.cancel();
    }
    ui.label(theme::mono(format!("≥ {count} {noun}{spent}{part}")).color(theme.dim));
    ui.ctx().request_repaint_after(Duration::from_millis(100));
}

/// Says that not all of the files could be read; the room that is left for the result.
fn problems(ui: &mut Ui, area: Rect, problems: &[Error]) -> Rect {
    let [first, others @ ..] = problems else { return area };
    let more = match others.len() {
        0 => String::new(),
        others => format!(" (and {})", display::plural(others as u64, "other file")),
    };
    let mut child = child_of(ui, area, "problems", Layout::top_down(Align::Min));
    banner(&mut child, Severity::Remark, &format!("Only a part could be read: {first}{more}"), |_| {});
    area.with_min_y(child.min_rect().bottom())
}

/// Why there is no result; whether its place is asked for.
fn failed(ui: &mut Ui, area: Rect, failure: &Failure, placed: bool) -> bool {
    let theme = Theme::of(ui);
    let (words, context) = match failure {
        Failure::Sql(mistake) => (mistake.message.clone(), mistake.context.clone()),
        Failure::Run(error) => (error.to_string(), String::new()),
    };
    let mut go = false;
    let frame = egui::Frame::new().fill(theme.tint(theme.bad)).inner_margin(egui::Margin::symmetric(12, 10));
    ui.scope_builder(UiBuilder::new().max_rect(area), |ui| {
        frame.show(ui, |ui| {
            ui.set_min_width(ui.available_width());
            ui.horizontal_top(|ui| {
                ui.label(theme::icon(Icon::Problem).color(theme.bad));
                ui.vertical(|ui| {
                    ui.add(
                        Label::new(RichText::new(words.as_str()).color(theme.text)).wrap().selectable(true),
                    );
                    if !context.is_empty() {
                        ui.add_space(space::S1);
                        let context = theme::mono(context.trim_end()).color(theme.text);
                        ui.add(Label::new(context).extend().selectable(true));
                    }
                    if placed {
                        ui.add_space(space::S2);
                        go = theme::button(ui, "Go to the place").clicked();
                    }
                });
            });
        });
    });
    go
}
