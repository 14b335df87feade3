//! The plan of a query: its steps, how many rows came out of each, how long each worked.

use std::sync::Arc;
use std::time::{Duration, Instant};

use egui::{Align2, Pos2, Rect, ScrollArea, Sense, Ui, pos2, vec2};
use gander::bytes::display;
use gander::bytes::display::bytes;
use gander::query::{QueryResult, Step};

use crate::gui::commands::Action;
use crate::gui::theme::{self, Theme, body_font, heading_font, mono_font, size, small_font, space};
use crate::gui::ui::paint_elided;

/// How often a plan that runs is asked anew.
const ANEW: Duration = Duration::from_millis(250);
/// The widths of the columns of rows and of times.
const ROWS: f32 = 110.0;
const TIME: f32 = 150.0;

/// What was last known of a plan.
#[derive(Default)]
pub(super) struct Steps {
    of: Option<(Arc<QueryResult>, Instant, bool)>,
    list: Vec<Step>,
}

impl Steps {
    /// Draws the plan into all that is left of `ui`.
    pub(super) fn ui(&mut self, ui: &mut Ui, answer: &Arc<QueryResult>, actions: &mut Vec<Action>) {
        self.update(answer);
        if answer.ended().is_none() {
            ui.ctx().request_repaint_after(ANEW);
        }
        let theme = Theme::of(ui);
        let area = ui.available_rect_before_wrap();
        let bar = Rect::from_min_size(area.min, vec2(area.width(), size::BAR));
        let layout = egui::Layout::left_to_right(egui::Align::Center);
        let builder = egui::UiBuilder::new()
            .max_rect(bar.shrink2(vec2(space::S3, 0.0)))
            .id_salt("times")
            .layout(layout);
        let mut child = ui.new_child(builder);
        let (planning, first) = answer.timing();
        let mut words = format!("planned in {}", time(planning));
        if let Some(first) = first {
            words += &format!(" · first rows after {}", time(first));
        }
        words += &format!(" · {} in all", time(answer.elapsed()));
        child.label(theme::mono(words).color(theme.text));
        if theme::button(&mut child, "Copy plan")
            .on_hover_text("The plan in the engine's own words")
            .clicked()
        {
            actions.push(Action::Copy(answer.plan()));
        }
        let rest = Rect::from_min_max(pos2(area.left(), bar.bottom()), area.max);
        let mut child = ui.new_child(egui::UiBuilder::new().max_rect(rest).id_salt("steps"));
        child.shrink_clip_rect(rest);
        self.head(&child, rest);
        let below = Rect::from_min_max(rest.min + vec2(0.0, size::ROW), rest.max);
        let mut child = child.new_child(egui::UiBuilder::new().max_rect(below).id_salt("lines"));
        let most = self.list.iter().filter_map(|step| step.time).max().unwrap_or_default();
        ScrollArea::vertical().id_salt("steps").auto_shrink(false).show(&mut child, |ui| {
            ui.spacing_mut().item_spacing.y = 0.0;
            for step in &self.list {
                line(ui, theme, step, most);
            }
        });
    }

    fn update(&mut self, answer: &Arc<QueryResult>) {
        let ended = answer.ended().is_some();
        let known = self.of.as_ref().is_some_and(|(of, when, end)| {
            Arc::ptr_eq(of, answer) && (*end == ended && (ended || when.elapsed() < ANEW))
        });
        if !known {
            self.list = answer.steps();
            self.of = Some((answer.clone(), Instant::now(), ended));
        }
    }

    fn head(&self, ui: &Ui, area: Rect) {
        let theme = Theme::of(ui);
        let line = Rect::from_min_size(area.min, vec2(area.width(), size::ROW));
        ui.painter().rect_filled(line, 0.0, theme.bg1);
        ui.painter().hline(line.x_range(), line.bottom() - 0.5, theme.hairline());
        let middle = line.center().y;
        let say =
            |at: Pos2, align, words: &str| ui.painter().text(at, align, words, heading_font(), theme.dim);
        say(pos2(line.left() + space::S3, middle), Align2::LEFT_CENTER, "STEP");
        say(pos2(line.right() - TIME - space::S3, middle), Align2::RIGHT_CENTER, "ROWS OUT");
        say(pos2(line.right() - space::S3, middle), Align2::RIGHT_CENTER, "TIME, ALL THREADS");
    }
}

fn line(ui: &mut Ui, theme: &Theme, step: &Step, most: Duration) {
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), size::ROW), Sense::hover());
    let rows = step.rows.map_or(String::new(), display::count);
    let spent = step.time.map_or(String::new(), time);
    let noun = if step.rows == Some(1) { "row" } else { "rows" };
    let spoken = format!("{}: {rows} {noun}, {spent}", step.name);
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, &spoken));
    ui.painter().hline(rect.x_range(), rect.bottom() - 0.5, theme.hairline());
    if response.hovered() {
        ui.painter().rect_filled(rect, 0.0, theme.bg3);
    }
    let middle = rect.center().y;
    let left = rect.left() + space::S3 + step.depth as f32 * size::TREE_INDENT;
    let name =
        ui.painter().text(pos2(left, middle), Align2::LEFT_CENTER, &step.name, body_font(), theme.text);
    let room = rect.right() - TIME - ROWS - name.right() - 2.0 * space::S3;
    let mut details = step.details.clone();
    if step.spilled > 0 {
        details = format!("{} on disk · {details}", bytes(step.spilled));
    }
    let at = pos2(name.right() + space::S2, middle);
    paint_elided(ui.painter(), at, Align2::LEFT_CENTER, &details, small_font(), theme.dim, room);
    let right = rect.right() - TIME - space::S3;
    ui.painter().text(pos2(right, middle), Align2::RIGHT_CENTER, rows, mono_font(), theme.text);
    if let Some(spent) = step.time.filter(|_| !most.is_zero()) {
        let width = (TIME - 84.0) * (spent.as_secs_f32() / most.as_secs_f32());
        let bar = Rect::from_min_size(pos2(right + space::S3, middle - 4.0), vec2(width.max(1.0), 8.0));
        ui.painter().rect_filled(bar, 1.0, theme.bg1.lerp_to_gamma(theme.accent, 0.75));
    }
    ui.painter().text(
        pos2(rect.right() - space::S3, middle),
        Align2::RIGHT_CENTER,
        spent,
        mono_font(),
        theme.text,
    );
    if !details.is_empty() {
        response.on_hover_text(theme::mono(format!("{}\n{details}", step.name)));
    }
}

/// A duration in the unit that suits it.
pub(super) fn time(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    match seconds {
        s if s >= 100.0 => format!("{s:.0} s"),
        s if s >= 1.0 => format!("{s:.2} s"),
        s if s >= 1e-3 => format!("{:.1} ms", s * 1e3),
        s => format!("{:.0} µs", s * 1e6),
    }
}
