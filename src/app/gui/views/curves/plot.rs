//! The plot of one tag: the curves of its runs, raw and smoothed, with what is under the pointer.

use std::sync::Arc;

use arrow::datatypes::{DataType, TimeUnit};
use chrono::{DateTime, SecondsFormat};
use egui::{Align2, Rect, Sense, Ui, UiBuilder, pos2, vec2};
use egui_plot::{Line, Plot, PlotPoints, PlotUi, Points, uniform_grid_spacer};
use gander::bytes::display::{self, brief};
use gander::data::cell;
use gander::data::curves::Curves;
use gander::data::curves::plot::{self, Across, Drawn, Look, Picture, PlotPoint};
use gander::data::curves::smooth::smoothed;
use gander::jobs::{JobSpec, Slot};

use super::legend;
use crate::gui::icons::Icon;
use crate::gui::theme::{self, Theme, space};
use crate::gui::ui::elided;
use crate::gui::views::ViewCx;
use crate::gui::views::array::plotting::calm;
use crate::gui::views::sql::plot::axis::Scale;

/// The height of the line with the name of the tag.
const TITLE: f32 = 22.0;
/// Pictures are made for widths in steps of so many pixels, so that not every move makes a new one.
const STEP: f32 = 64.0;
/// Runs that the tool tip lists.
const LISTED: usize = 12;
/// Curves of so few points show each of them.
const FEW: usize = 40;

/// What all plots of a page look like.
pub(super) struct Wanted {
    pub(super) curves: Arc<Curves>,
    pub(super) across: Across,
    pub(super) log: bool,
    pub(super) weight: f64,
    pub(super) ignore_outliers: bool,
    pub(super) hidden: Vec<usize>,
}

/// The curves by their address, which tag of them, how it is looked at.
type Key = (usize, usize, Look);

/// A picture, and the smoothed values of each of its curves.
struct Shown {
    across: Across,
    log: bool,
    picture: Picture,
    smooth: Vec<Vec<f64>>,
}

/// The plot of one tag.
#[derive(Default)]
pub(super) struct TagPlot {
    slot: Slot<Key, Shown>,
    /// The last frame in which it was drawn.
    pub(super) seen: u64,
    /// Where a drag began that will choose a part of x.
    from: Option<f64>,
}

impl TagPlot {
    /// Draws it; `sight` is the part of x in sight. True where it is to be alone, or not alone any more.
    pub(super) fn ui(
        &mut self,
        ui: &mut Ui,
        cx: &mut ViewCx<'_>,
        wanted: &Wanted,
        tag: usize,
        sight: &mut Option<(f64, f64)>,
        large: bool,
    ) -> bool {
        let Some(curves) = wanted.curves.tags.get(tag) else { return false };
        let area = ui.available_rect_before_wrap();
        let look = Look {
            across: wanted.across,
            log: wanted.log,
            weight: wanted.weight,
            ignore_outliers: wanted.ignore_outliers,
            sight: *sight,
            width: ((area.width() * ui.ctx().pixels_per_point() / STEP).ceil() * STEP).max(STEP) as usize,
            hidden: wanted.hidden.clone(),
        };
        let key = (Arc::as_ptr(&wanted.curves) as usize, tag, look.clone());
        let (of, title) = (curves.clone(), format!("drawing {}", display::harmless(&curves.name, 60)));
        let shown = self.slot.get(cx.jobs, &key, JobSpec::view(title), move |task| {
            let picture = plot::picture(task, &of, &look)?;
            let values = |drawn: &Drawn| match of.series.get(drawn.series) {
                Some(series) if look.weight > 0.0 => {
                    smoothed(series.points.iter().map(|point| point.value), look.weight)
                }
                _ => Vec::new(),
            };
            let smooth = picture.drawn.iter().map(values).collect();
            Ok(Shown { across: look.across, log: look.log, picture, smooth })
        });
        let asked = self.title(ui, area, &curves.name, shown.value.as_deref(), large);
        let place = Rect::from_min_max(pos2(area.left(), area.top() + TITLE), area.max);
        let mut child = ui.new_child(UiBuilder::new().max_rect(place).id_salt("plot"));
        let Some(shown) = shown.value else {
            match shown.error.filter(|error| !error.is_cancelled()) {
                Some(error) => {
                    theme::empty_state(
                        &mut child,
                        Icon::Problem,
                        "This could not be drawn",
                        &error.to_string(),
                    );
                }
                None => theme::pending(&mut child, ui.unique_id().with(("drawing", tag)), "Drawing…"),
            }
            return asked;
        };
        if shown.picture.drawn.iter().all(|drawn| drawn.raw.is_empty()) {
            let words = nothing(&shown.picture, wanted.hidden.len());
            theme::empty_state(&mut child, Icon::LineChart, "Nothing to draw", &words);
            return asked;
        }
        self.draw(&mut child, cx, wanted, tag, &shown, sight);
        asked
    }

    /// The name of the tag, what is not drawn of it, and the button that gives it all the room.
    fn title(&self, ui: &mut Ui, area: Rect, name: &str, shown: Option<&Shown>, large: bool) -> bool {
        let theme = Theme::of(ui);
        let button = Rect::from_min_size(pos2(area.right() - TITLE, area.top()), vec2(TITLE, TITLE));
        let mut child = ui.new_child(UiBuilder::new().max_rect(button).id_salt("alone"));
        let words = if large { "Show all tags" } else { "Show it alone" };
        let clicked = theme::icon_button(&mut child, Icon::Fit, words).clicked();
        let note = shown.map_or(String::new(), |shown| left_out(&shown.picture));
        let mut right = button.left() - space::S1;
        if !note.is_empty() {
            let width = (area.width() * 0.5).min(240.0);
            let galley = elided(ui.painter(), &note, theme::small_font(), theme.warn, width);
            let rect = Align2::RIGHT_CENTER.anchor_size(pos2(right, area.top() + TITLE / 2.0), galley.size());
            ui.painter().galley(rect.min, galley, theme.warn);
            ui.interact(rect, ui.scope_id().with("note"), Sense::hover()).on_hover_text(&note);
            right = rect.left() - space::S2;
        }
        let shown_name = if name.is_empty() { "value".to_owned() } else { display::harmless(name, 300) };
        let room = right - area.left();
        let galley = elided(ui.painter(), &shown_name, theme::body_font(), theme.text, room);
        let rect = Rect::from_min_size(area.min + vec2(space::S1, 3.0), galley.size());
        ui.painter().galley(rect.min, galley, theme.text);
        let response = ui.interact(rect, ui.scope_id().with("name"), Sense::click());
        response
            .widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, format!("Tag {shown_name}")));
        let response = response.on_hover_text(display::harmless(name, 2_000));
        clicked || response.clicked()
    }

    fn draw(
        &mut self,
        ui: &mut Ui,
        cx: &mut ViewCx<'_>,
        wanted: &Wanted,
        tag: usize,
        shown: &Shown,
        sight: &mut Option<(f64, f64)>,
    ) {
        let theme = Theme::of(ui);
        let scale = along(shown.across);
        let unit = unit(shown.across);
        let (left, right) = sight.unwrap_or(shown.picture.x);
        let (left, right) = (left * unit, right * unit);
        let margin = if right > left { (right - left) * 0.02 } else { 0.5 * unit };
        let margin = if sight.is_some() { 0.0 } else { margin };
        let (low, high) = shown.picture.y;
        let width = ui.available_width() - 60.0;
        let x_words: Box<dyn Fn(f64) -> String> = match shown.across {
            Across::Relative => Box::new(|x| duration(x / 1e6)),
            _ => scale.labels(width, (left, right)),
        };
        let log = shown.log;
        let y_words = move |y: f64| if log { brief(10f64.powf(y)) } else { display::short_number(y) };
        let height = ui.available_height() - space::S1;
        let mut plot = calm(Plot::new(("curves", tag)), theme, x_words, y_words)
            .id(ui.scope_id().with("axes"))
            .default_x_bounds(left - margin, right + margin)
            .default_y_bounds(low, high)
            .allow_drag(false)
            .allow_double_click_reset(false)
            .set_margin_fraction(vec2(0.0, 0.0))
            .height(height)
            .reset();
        match scale.marks().filter(|_| shown.across != Across::Step) {
            Some(marks) => plot = plot.x_grid_spacer(marks),
            None => {
                plot = plot.x_grid_spacer(uniform_grid_spacer(|input| fives(input.base_step_size.max(1.0))));
            }
        }
        if log && high - low > 2.0 {
            plot = plot.y_grid_spacer(uniform_grid_spacer(|input| {
                let step = input.base_step_size.ceil().max(1.0);
                [step, step * 10.0, step * 100.0]
            }));
        } else {
            plot = plot.y_grid_spacer(uniform_grid_spacer(|input| fives(input.base_step_size)));
        }
        let response = plot.show(ui, |plot| {
            for drawn in &shown.picture.drawn {
                lines(plot, theme, drawn, unit);
            }
        });
        let (transform, response) = (response.transform, response.response);
        let words = format!("Curves of {}", display::harmless(&wanted_name(wanted, tag), 120));
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, &words));
        let at = |pos: egui::Pos2| transform.value_from_position(pos).x / unit;
        crate::gui::node_menu::picture(&response, false, cx.actions);
        self.aim(ui, &response, sight, shown.picture.x, &at);
        if let Some(pos) = response.hover_pos().filter(|_| self.from.is_none()) {
            let value = transform.value_from_position(pos);
            let found = nearest(shown, value.x / unit, value.y);
            for (_, point) in &found {
                let place =
                    transform.position_from_point(&egui_plot::PlotPoint::new(point.x * unit, point.y));
                ui.painter().circle_stroke(place, 4.0, egui::Stroke::new(1.0, theme.text));
            }
            say(cx, &response, wanted, tag, shown, &found);
        }
    }

    /// A drag chooses a part of x, the wheel with Control zooms, a double click shows all.
    fn aim(
        &mut self,
        ui: &Ui,
        response: &egui::Response,
        sight: &mut Option<(f64, f64)>,
        all: (f64, f64),
        at: &dyn Fn(egui::Pos2) -> f64,
    ) {
        if response.double_clicked() {
            *sight = None;
            self.from = None;
            return;
        }
        if response.drag_started() {
            self.from = ui.input(|input| input.pointer.press_origin()).map(at);
        }
        if let (Some(from), Some(pos)) = (self.from, response.interact_pointer_pos()) {
            let to = at(pos).clamp(all.0, all.1);
            let (left, right) = (from.min(to).max(all.0), from.max(to));
            let theme = Theme::of(ui);
            let place = |x: f64| {
                // The axis is straight: two of its places tell all.
                let rect = response.rect;
                let (a, b) = (at(rect.left_top()), at(rect.right_top()));
                rect.left() + ((x - a) / (b - a)) as f32 * rect.width()
            };
            let chosen = Rect::from_x_y_ranges(place(left)..=place(right), response.rect.y_range());
            ui.painter().rect_filled(chosen, 0.0, theme.accent.gamma_multiply(0.18));
            if response.drag_stopped() {
                if chosen.width() >= 4.0 && right > left {
                    *sight = Some((left, right));
                }
                self.from = None;
            }
        } else if !response.dragged() {
            self.from = None;
        }
        if let Some(pos) = response.hover_pos() {
            let zoom = ui.input(|input| f64::from(input.zoom_delta()));
            if zoom != 1.0 {
                let (left, right) = sight.unwrap_or(all);
                let middle = at(pos).clamp(left, right);
                let (left, right) = (middle - (middle - left) / zoom, middle + (right - middle) / zoom);
                let whole = right - left >= all.1 - all.0;
                let least = (all.1 - all.0).abs() * 1e-9;
                *sight = (!whole && right - left > least).then_some((left.max(all.0), right.min(all.1)));
            }
        }
    }
}

fn wanted_name(wanted: &Wanted, tag: usize) -> String {
    wanted.curves.tags.get(tag).map_or(String::new(), |tag| tag.name.clone())
}

/// Marks at a power of ten that is no more than this, at every fifth and at every tenth of them: labels stand where there
/// is room.
fn fives(least: f64) -> [f64; 3] {
    let step = 10f64.powf(least.max(1e-300).log10().floor());
    [step, step * 5.0, step * 10.0]
}

/// The curve of one run: the values pale behind the smoothed ones.
fn lines(plot: &mut PlotUi<'_>, theme: &Theme, drawn: &Drawn, unit: f64) {
    let color = legend::color(theme, drawn.run);
    let smooth = !drawn.smooth.is_empty();
    let few = drawn.raw.iter().map(Vec::len).sum::<usize>() <= FEW;
    let points = |line: &[PlotPoint]| -> Vec<[f64; 2]> {
        line.iter().map(|point| [point.x * unit, point.y]).collect()
    };
    // No bands: a curve of few points that rises upright, where a run was taken up again, would be filled beside it.
    for line in &drawn.raw {
        let color = if smooth { color.gamma_multiply(0.35) } else { color };
        if line.len() == 1 || few && !smooth {
            let marks = Points::new("", PlotPoints::from(points(line)));
            plot.points(marks.color(color).radius(2.5).allow_hover(false));
        }
        plot.line(
            Line::new("", PlotPoints::from(points(line)))
                .allow_band(false)
                .color(color)
                .width(1.2)
                .allow_hover(false),
        );
    }
    for line in &drawn.smooth {
        if line.len() == 1 {
            let marks = Points::new("", PlotPoints::from(points(line)));
            plot.points(marks.color(color).radius(2.5).allow_hover(false));
        }
        plot.line(
            Line::new("", PlotPoints::from(points(line)))
                .allow_band(false)
                .color(color)
                .width(1.6)
                .allow_hover(false),
        );
    }
}

/// Of each curve the point that is nearest along x: of the raw values, or of the smoothed ones where these are higher
/// up in the picture. The nearest curve first.
fn nearest(shown: &Shown, x: f64, y: f64) -> Vec<(usize, PlotPoint)> {
    let mut found: Vec<(usize, PlotPoint)> = Vec::new();
    for (n, drawn) in shown.picture.drawn.iter().enumerate() {
        let lines = if drawn.smooth.is_empty() { &drawn.raw } else { &drawn.smooth };
        let points = lines.iter().flatten();
        let near = points.min_by(|a, b| (a.x - x).abs().total_cmp(&(b.x - x).abs()));
        found.extend(near.map(|point| (n, *point)));
    }
    found.sort_by(|a, b| (a.1.y - y).abs().total_cmp(&(b.1.y - y).abs()));
    found.truncate(LISTED);
    found
}

/// What is under the pointer, in the status bar and in a tool tip: run, value, smoothed value, step, time.
fn say(
    cx: &mut ViewCx<'_>,
    response: &egui::Response,
    wanted: &Wanted,
    tag: usize,
    shown: &Shown,
    found: &[(usize, PlotPoint)],
) {
    let Some(tag) = wanted.curves.tags.get(tag) else { return };
    let mut rows = Vec::new();
    for (n, drawn_at) in found {
        let Some(drawn) = shown.picture.drawn.get(*n) else { continue };
        let Some(series) = tag.series.get(drawn.series) else { continue };
        let Some(point) = series.points.get(drawn_at.at) else { continue };
        let smooth = shown.smooth.get(*n).and_then(|values| values.get(drawn_at.at));
        let run = wanted.curves.runs.get(drawn.run).map_or("", String::as_str);
        let time = time(point.wall_time).unwrap_or_default();
        let relative = point.wall_time - series.start;
        let relative = match relative {
            of if !of.is_finite() => String::new(),
            of if of < 0.0 => duration(of),
            of => format!("+{}", duration(of)),
        };
        rows.push((drawn.run, legend::name(run), *point, smooth.copied(), time, relative));
    }
    let Some((_, run, point, smooth, time, _)) = rows.first() else { return };
    let named = if wanted.curves.runs.len() > 1 { format!("{run} · ") } else { String::new() };
    let smooth = smooth.map_or(String::new(), |value| format!(" (smoothed {})", cell::float64(value)));
    let value = cell::float64(point.value);
    let name = display::harmless(&tag.name, 120);
    let place = if time.is_empty() { String::new() } else { format!(" · {time}") };
    cx.status.under = format!("{named}{name} at step {} = {value}{smooth}{place}", point.step);
    response.clone().on_hover_ui_at_pointer(|ui| {
        let theme = Theme::of(ui);
        egui::Grid::new("under the pointer").num_columns(6).spacing(vec2(space::S3, 2.0)).show(ui, |ui| {
            for head in ["", "run", "step", "value", "smoothed", "time"] {
                ui.label(theme::dim(theme, head));
            }
            ui.end_row();
            for (place, run, point, smooth, time, relative) in &rows {
                let (rect, _) = ui.allocate_exact_size(vec2(10.0, 10.0), Sense::hover());
                ui.painter().circle_filled(rect.center(), 4.0, legend::color(theme, *place));
                ui.label(display::harmless(run, 40));
                ui.label(theme::mono(display::signed(point.step)));
                ui.label(theme::mono(cell::float64(point.value)));
                ui.label(theme::mono(smooth.map_or(String::new(), display::short_number)));
                let behind = if relative.is_empty() { String::new() } else { format!("  {relative}") };
                ui.label(theme::mono(format!("{time}{behind}")));
                ui.end_row();
            }
        });
    });
}

/// What is not drawn of what there is.
fn left_out(picture: &Picture) -> String {
    let [nan, infinite, low] = picture.left_out;
    let mut words = Vec::new();
    if nan > 0 {
        words.push(format!("{} NaN", display::count(nan)));
    }
    if infinite > 0 {
        words.push(format!("{} infinite", display::count(infinite)));
    }
    if low > 0 {
        words.push(format!("{} not above 0", display::count(low)));
    }
    if picture.every > 1 {
        words.push(format!("least and greatest of each {} values", display::count(2 * picture.every as u64)));
    }
    words.join(" · ")
}

/// Why nothing is drawn.
fn nothing(picture: &Picture, hidden: usize) -> String {
    let left_out = left_out(picture);
    match (left_out.is_empty(), hidden) {
        (false, _) => left_out,
        (true, 0) => "No value is a number.".to_owned(),
        (true, _) => "All runs that have it are hidden.".to_owned(),
    }
}

/// What stands along x.
fn along(across: Across) -> Scale {
    Scale::of(&match across {
        Across::Step => DataType::Int64,
        Across::Relative => DataType::Duration(TimeUnit::Microsecond),
        Across::Wall => DataType::Timestamp(TimeUnit::Microsecond, None),
    })
}

/// What places along x are multiplied by where they are drawn: seconds become microseconds.
fn unit(across: Across) -> f64 {
    if across == Across::Step { 1.0 } else { 1e6 }
}

/// Seconds since 1970 as a time of the calendar.
fn time(seconds: f64) -> Option<String> {
    if seconds.is_nan() || seconds.abs() >= 1e12 {
        return None;
    }
    let time = DateTime::from_timestamp_micros((seconds * 1e6) as i64)?;
    Some(time.to_rfc3339_opts(SecondsFormat::AutoSi, true))
}

/// A stretch of time in words as short as they can be: `1h 20m`.
fn duration(seconds: f64) -> String {
    let sign = if seconds < 0.0 { "−" } else { "" };
    let of = seconds.abs();
    let (d, h, m) = ((of / 86_400.0) as u64, (of / 3_600.0) as u64 % 24, (of / 60.0) as u64 % 60);
    let s = of % 60.0;
    let two = |large: u64, a: &str, small: u64, b: &str| match small {
        0 => format!("{large}{a}"),
        small => format!("{large}{a} {small}{b}"),
    };
    let words = match (d, h, m) {
        (0, 0, 0) => format!("{}s", display::short_number((s * 1e3).round() / 1e3)),
        (0, 0, m) => two(m, "m", s as u64, "s"),
        (0, h, m) => two(h, "h", m, "m"),
        (d, h, _) => two(d, "d", h, "h"),
    };
    format!("{sign}{words}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_short() {
        let words = [0.0, 0.25, 59.0, 60.0, 80.0, 3_600.0, 4_800.0, 90_000.0, -90.0].map(duration);
        assert_eq!(words, ["0s", "0.25s", "59s", "1m", "1m 20s", "1h", "1h 20m", "1d 1h", "−1m 30s"]);
        assert_eq!(time(1_700_000_000.5).as_deref(), Some("2023-11-14T22:13:20.500Z"));
        assert_eq!((time(f64::NAN), time(1e18)), (None, None));
    }
}
