//! One-dimensional cuts as lines: rows or columns of the slice, several over each other. Few points are
//! drawn as they are; of many, the least and the largest of each stretch (an envelope).

use std::sync::Arc;

use egui::{Color32, TextEdit, Ui, vec2};
use egui_plot::{FilledArea, Legend, Line, Plot, PlotPoints, Points};
use gander::content::Array;
use gander::error::Result;
use gander::jobs::Slot;
use gander::region::Span;
use gander::task::Task;
use serde_json::{Value, json};

use super::super::ViewCx;
use super::color::{Map, brief};
use super::dims::drop_down;
use super::plotting::calm;
use super::probe;
use super::slice::{Slice, Window};
use super::values::{Part, numbers};
use crate::gui::icons::Icon;
use crate::gui::theme::{self, Theme, size, space};

/// Points of a line that are drawn as they are.
const POINTS: u64 = 8192;
/// Stretches of an envelope.
const STRETCHES: usize = 4096;
/// Elements read for all lines together; beyond it only every n-th block is.
const MOST: u64 = 64 << 20;
/// Lines at once.
const LINES: usize = 16;
/// Elements read at a time.
const BLOCK: u64 = 1 << 18;

/// See the module.
#[derive(Default)]
pub(crate) struct Lines {
    /// Whether a line is a column of the slice; else a row.
    down: bool,
    /// Which rows (or columns), as typed: `0, 5, 10:20`.
    picks: String,
    curves: Slot<Key, Vec<Curve>>,
    /// The part of the x axis in sight, when it was zoomed: positions along the line.
    bounds: Option<(f64, f64)>,
}

#[derive(Clone, PartialEq)]
struct Key {
    slice: Slice,
    down: bool,
    picks: Vec<u64>,
    part: Part,
    from: u64,
    count: u64,
}

/// A line, ready to draw.
struct Curve {
    name: String,
    /// x, least, largest; where both are equal it is a point.
    stretches: Vec<[f64; 3]>,
    envelope: bool,
    /// Whether only a part of the elements was read.
    sampled: bool,
}

impl Lines {
    /// The options in the toolbar.
    pub(crate) fn toolbar(&mut self, ui: &mut Ui, slice: &Slice) {
        if slice.height() > 1 && slice.width() > 1 {
            let words = |down| if down { "columns" } else { "rows" };
            drop_down(ui, words(self.down), "What a line is", |ui| {
                for down in [false, true] {
                    if ui.selectable_label(self.down == down, words(down)).clicked() {
                        self.down = down;
                        self.bounds = None;
                    }
                }
            });
            let mut text = if self.picks.is_empty() { "0".to_owned() } else { self.picks.clone() };
            let edit = TextEdit::singleline(&mut text).font(theme::mono_font()).desired_width(96.0);
            let response = ui.add(edit.margin(vec2(6.0, 4.0)));
            response.widget_info(|| {
                let mut info = egui::WidgetInfo::text_edit(true, &self.picks, &self.picks, "");
                info.label = Some(format!("Which {}", words(self.down)));
                info
            });
            if response.changed() {
                self.picks = text;
            }
            response.on_hover_text(format!("Which {}: 0, 5, 10:20 (at most {LINES})", words(self.down)));
        }
        if self.bounds.is_some() && theme::icon_button(ui, Icon::Fit, "Show all").clicked() {
            self.fit();
        }
    }

    /// All of the line in sight.
    pub(crate) fn fit(&mut self) {
        self.bounds = None;
    }

    fn picked(&self, slice: &Slice, down: bool) -> Vec<u64> {
        let len = if down { slice.width() } else { slice.height() };
        let mut picks = Vec::new();
        for item in self.picks.split(',') {
            let (start, end) = item.trim().split_once(':').unwrap_or((item.trim(), ""));
            let number = |text: &str| {
                let n: i64 = text.trim().parse().ok()?;
                u64::try_from(if n < 0 { n + len as i64 } else { n }).ok()
            };
            let range = match (number(start), number(end), item.contains(':')) {
                (start, end, true) => start.unwrap_or(0)..end.unwrap_or(len).min(len),
                (Some(one), _, false) => one..one.saturating_add(1).min(len),
                _ => continue,
            };
            picks.extend(range.take(LINES));
        }
        picks.dedup();
        picks.truncate(LINES);
        if picks.is_empty() && len > 0 {
            picks.push(0);
        }
        picks
    }

    /// Draws the lines into all that is left of `ui`.
    pub(crate) fn ui(
        &mut self,
        ui: &mut Ui,
        cx: &mut ViewCx<'_>,
        array: &Arc<dyn Array>,
        slice: &Slice,
        part: Part,
    ) {
        if slice.is_empty() {
            theme::empty_state(ui, Icon::LineChart, "No elements", "An axis of this array has the length 0.");
            return;
        }
        // A plane of one column has one line: that column.
        let down = if slice.width() == 1 { true } else { self.down && slice.height() > 1 };
        let len = if down { slice.height() } else { slice.width() };
        let (from, count) = self.reading(len);
        let picks = self.picked(slice, down);
        let key = Key { slice: slice.clone(), down, picks, part, from, count };
        let (array, wanted, title) = (array.clone(), key.clone(), format!("lines of {}", cx.target.title()));
        let shown = self.curves.get(cx.jobs, &key, &title, move |task| wanted.read(&*array, task));
        if let Some(error) = &shown.error {
            theme::empty_state(ui, Icon::Problem, "These lines could not be read", &error.to_string());
            ui.vertical_centered(|ui| {
                if theme::button(ui, "Try again").clicked() {
                    self.curves.clear();
                }
            });
            return;
        }
        let Some(curves) = shown.value else {
            let id = ui.unique_id().with("pending");
            theme::pending(ui, id, "Reading this line…");
            return;
        };
        self.plot(ui, cx, &curves, slice, down, shown.fresh);
    }

    /// Which part to read for what is in sight: all, or the sight and as much on both sides, in steps
    /// so that not every move reads anew.
    fn reading(&self, len: u64) -> (u64, u64) {
        let Some((left, right)) = self.bounds.filter(|_| len > POINTS) else { return (0, len) };
        let (left, right) = (left.max(0.0) as u64, (right.max(0.0).ceil() as u64).min(len));
        let step = (right.saturating_sub(left) / 2).max(64).next_power_of_two();
        let from = (left / step).saturating_sub(1) * step;
        let end = (right.div_ceil(step) + 1).saturating_mul(step).min(len);
        if from >= end { (0, len) } else { (from, end - from) }
    }

    /// Stops reading.
    pub(crate) fn stop(&self) {
        self.curves.cancel();
    }

    fn plot(
        &mut self,
        ui: &mut Ui,
        cx: &mut ViewCx<'_>,
        curves: &[Curve],
        slice: &Slice,
        down: bool,
        fresh: bool,
    ) {
        let theme = Theme::of(ui);
        let len = if down { slice.height() } else { slice.width() };
        let id = ui.unique_id().with("lines");
        let (left, right) = self.bounds.unwrap_or((0.0, len.saturating_sub(1).max(1) as f64));
        let margin = if self.bounds.is_none() { (right - left) * 0.02 } else { 0.0 };
        let (low, high) = heights(curves, left, right);
        let plot = Plot::new("lines")
            .id(id)
            .default_x_bounds(left - margin, right + margin)
            .default_y_bounds(low, high)
            .allow_drag(false)
            .allow_double_click_reset(false)
            .set_margin_fraction(vec2(0.0, 0.0))
            .height(ui.available_height() - space::S1)
            .reset();
        let whole = |x: f64| if x.fract() == 0.0 { format!("{x}") } else { String::new() };
        let mut plot = calm(plot, theme, whole, brief);
        if curves.len() > 1 {
            plot = plot.legend(Legend::default());
        }
        let faded = if fresh { 1.0 } else { 0.4 };
        let shown = plot.show(ui, |plot| {
            for (n, curve) in curves.iter().enumerate() {
                draw(plot, curve, line_color(theme, n, curves.len()).gamma_multiply(faded));
            }
        });
        let response = &shown.response;
        let scale = shown.transform.dvalue_dpos()[0];
        self.aim(ui, response, (left - margin, right + margin), scale, len);
        if let Some(at) = response.hover_pos() {
            self.say(cx, curves, slice, down, shown.transform.value_from_position(at).x);
        }
        if curves.iter().any(|curve| curve.sampled) {
            let at = response.rect.right_bottom() - vec2(space::S3, space::S3 + size::ROW);
            let words = "a sample: zoom in for every element";
            ui.painter().text(at, egui::Align2::RIGHT_BOTTOM, words, theme::small_font(), theme.dim);
        }
    }

    /// The wheel zooms along the line, a drag moves, a double click shows all. `scale` is the length of
    /// a point of the screen.
    fn aim(&mut self, ui: &Ui, response: &egui::Response, sight: (f64, f64), scale: f64, len: u64) {
        let (mut left, mut right) = sight;
        let last = len.saturating_sub(1).max(1) as f64;
        if let Some(at) = response.hover_pos() {
            let (scroll, pinch) = ui.input(|input| (input.smooth_scroll_delta(), input.zoom_delta()));
            let factor = if pinch != 1.0 { f64::from(pinch) } else { f64::from(scroll.y * 0.006).exp() };
            let share = f64::from((at.x - response.rect.left()) / response.rect.width().max(1.0));
            // Not closer than four elements.
            let width = ((right - left) / factor).max(4.0f64.min(last));
            let middle = left + (right - left) * share;
            (left, right) = (middle - width * share, middle + width * (1.0 - share));
            let by = f64::from(scroll.x) * scale;
            (left, right) = (left - by, right - by);
        }
        if response.dragged() {
            let by = f64::from(response.drag_delta().x) * scale;
            (left, right) = (left - by, right - by);
        }
        if response.double_clicked() {
            self.fit();
            return;
        }
        if (left, right) == sight {
            return;
        }
        if right - left >= last * 1.03 {
            self.fit();
            return;
        }
        // The line stays in sight.
        let over = (-left).max(0.0) - (right - last).max(0.0);
        let over = if right - left > last { 0.0 } else { over };
        self.bounds = Some((left + over, right + over));
    }

    /// The value under the pointer, of the first line that is drawn point by point.
    fn say(&self, cx: &mut ViewCx<'_>, curves: &[Curve], slice: &Slice, down: bool, x: f64) {
        let n = x.round().max(0.0) as u64;
        let len = if down { slice.height() } else { slice.width() };
        let Some(curve) = curves.first().filter(|_| x >= -0.5 && n < len) else { return };
        let pick = self.picked(slice, down).first().copied().unwrap_or(0);
        let index = if down { slice.index(n, pick) } else { slice.index(pick, n) };
        let nearest = curve.stretches.partition_point(|stretch| stretch[0] < n as f64);
        let Some(&[_, low, high]) = curve.stretches.get(nearest) else { return };
        let value = if curve.envelope {
            format!("{} … {}", brief(low), brief(high))
        } else {
            gander::cell::float64(low)
        };
        cx.status.under = format!("{}{} = {value}", cx.target.title(), probe::place(&index));
    }

    /// For the session.
    pub(crate) fn keep(&self) -> Value {
        json!({ "down": self.down, "picks": self.picks })
    }

    /// What [`Lines::keep`] gave.
    pub(crate) fn restore(&mut self, kept: &Value) {
        self.down = kept.get("down").and_then(Value::as_bool).unwrap_or(false);
        self.picks = kept.get("picks").and_then(Value::as_str).unwrap_or("").to_owned();
    }

    /// Shows this row (or column) of the slice.
    pub(crate) fn go_to(&mut self, row: u64, column: u64) {
        self.picks = if self.down { column } else { row }.to_string();
    }
}

impl Key {
    fn read(&self, array: &dyn Array, task: &Task) -> Result<Vec<Curve>> {
        task.expect(self.count.saturating_mul(self.picks.len() as u64));
        self.picks.iter().map(|&pick| self.curve(array, task, pick)).collect()
    }

    fn curve(&self, array: &dyn Array, task: &Task, pick: u64) -> Result<Curve> {
        let name = match (self.down, self.slice.rows, self.slice.columns) {
            (true, _, None) | (false, None, _) => "values".to_owned(),
            (true, _, columns) => format!("column {}", self.slice.along(columns, pick)),
            (false, rows, _) => format!("row {}", self.slice.along(rows, pick)),
        };
        let envelope = self.count > POINTS;
        let mut curve = Curve { name, stretches: Vec::new(), envelope, sampled: false };
        if !envelope {
            let values = self.values(array, task, pick, self.from, self.count)?;
            let points = values.iter().enumerate().map(|(n, &v)| [(self.from + n as u64) as f64, v, v]);
            curve.stretches = points.collect();
            return Ok(curve);
        }
        let stretch = self.count.div_ceil(STRETCHES as u64);
        // Of a very long line each stretch is looked at in part, at its beginning.
        let share = (MOST / self.picks.len().max(1) as u64 / STRETCHES as u64).max(1);
        let looked = stretch.min(share);
        curve.sampled = looked < stretch;
        let together = if curve.sampled { 1 } else { (BLOCK / stretch).max(1) };
        let mut at = 0;
        while at < self.count {
            let end = (at + stretch * together).min(self.count);
            let count = if curve.sampled { looked.min(end - at) } else { end - at };
            let values = self.values(array, task, pick, self.from + at, count)?;
            for (n, part) in values.chunks(stretch as usize).enumerate() {
                let finite = part.iter().filter(|value| value.is_finite());
                let ends = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), &v| (a.min(v), b.max(v)));
                let x = (self.from + at + n as u64 * stretch) as f64 + (stretch - 1) as f64 / 2.0;
                let (low, high) = if ends.0 <= ends.1 { ends } else { (f64::NAN, f64::NAN) };
                curve.stretches.push([x, low, high]);
            }
            task.advance(end - at)?;
            at = end;
        }
        Ok(curve)
    }

    fn values(&self, array: &dyn Array, task: &Task, pick: u64, from: u64, count: u64) -> Result<Vec<f64>> {
        let (one, many) = (Span::range(pick, 1), Span::range(from, count));
        let window =
            if self.down { Window { rows: many, columns: one } } else { Window { rows: one, columns: many } };
        Ok(numbers(array.dtype(), self.part, &self.slice.read(array, task, &window)?))
    }
}

/// The lowest and highest value between two places, with some air.
fn heights(curves: &[Curve], left: f64, right: f64) -> (f64, f64) {
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for curve in curves {
        let start = curve.stretches.partition_point(|stretch| stretch[0] < left).saturating_sub(1);
        let seen = curve.stretches[start..].iter().take_while(|stretch| stretch[0] <= right);
        for &[_, least, largest] in seen.filter(|stretch| drawable(stretch)) {
            (low, high) = (low.min(least), high.max(largest));
        }
    }
    if low > high {
        return (0.0, 1.0);
    }
    let air = if high > low { (high - low) * 0.05 } else { (low.abs() * 0.05).max(0.5) };
    (low - air, high + air)
}

/// Whether the plot's arithmetic can take it: it overflows near the ends of f64.
fn drawable(stretch: &[f64; 3]) -> bool {
    const MOST: f64 = 1e300;
    stretch[1].abs() < MOST && stretch[2].abs() < MOST
}

/// Draws a line; it is interrupted where a value is not finite.
fn draw(plot: &mut egui_plot::PlotUi<'_>, curve: &Curve, color: Color32) {
    for run in curve.stretches.split(|stretch| !drawable(stretch)).filter(|run| !run.is_empty()) {
        if curve.envelope {
            let column = |n: usize| -> Vec<f64> { run.iter().map(|stretch| stretch[n]).collect() };
            let area = FilledArea::new(&curve.name, &column(0), &column(1), &column(2));
            let fill = color.gamma_multiply(0.45);
            plot.add(area.fill_color(fill).stroke(egui::Stroke::new(1.0, color)).allow_hover(false));
            continue;
        }
        let points: Vec<[f64; 2]> = run.iter().map(|stretch| [stretch[0], stretch[1]]).collect();
        if curve.stretches.len() <= 200 {
            let marks = Points::new(&curve.name, PlotPoints::from(points.clone()));
            plot.points(marks.color(color).radius(2.5).allow_hover(false));
        }
        plot.line(
            Line::new(&curve.name, PlotPoints::from(points)).color(color).width(1.3).allow_hover(false),
        );
    }
}

/// One line takes the accent; several are told apart by a map that the colour-blind can read.
fn line_color(theme: &Theme, n: usize, of: usize) -> Color32 {
    if of <= 1 {
        return theme.accent;
    }
    let share = n as f64 / (of - 1) as f64;
    let map = Map::named("plasma").unwrap_or_default();
    // The darkest and the lightest end would vanish on one of the backgrounds.
    map.at(if theme.dark { 0.25 + 0.7 * share } else { 0.05 + 0.75 * share })
}

#[cfg(test)]
mod tests {
    use gander::content::array::Plain;
    use gander::dtype::DType;
    use gander::source::Source;

    use super::*;

    #[test]
    fn envelopes_hold_every_extreme() {
        let mut values: Vec<f32> = (0..100_000).map(|n| (n as f32 * 0.01).sin()).collect();
        (values[5], values[54_321], values[99_999]) = (9.0, -7.0, 4.0);
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let array = Plain::new(Source::memory("a", bytes), 0, DType::F32, vec![100_000]).unwrap();
        let slice = Slice { spans: vec![Span::all(100_000)], rows: None, columns: Some(0), channels: None };
        let key = Key { slice, down: false, picks: vec![0], part: Part::Real, from: 0, count: 100_000 };
        let curves = key.read(&array, &Task::new()).unwrap();
        let curve = &curves[0];
        assert!(curve.envelope && !curve.sampled && curve.stretches.len() <= STRETCHES);
        let low = curve.stretches.iter().map(|s| s[1]).fold(f64::INFINITY, f64::min);
        let high = curve.stretches.iter().map(|s| s[2]).fold(f64::NEG_INFINITY, f64::max);
        assert_eq!((low, high, curve.stretches.last().unwrap()[2]), (-7.0, 9.0, 4.0));
        // Few points come as they are.
        let key = Key { from: 99_990, count: 10, ..key };
        let curves = key.read(&array, &Task::new()).unwrap();
        assert_eq!((curves[0].envelope, curves[0].stretches[9]), (false, [99_999.0, 4.0, 4.0]));
    }

    #[test]
    fn picks_are_read_like_slices() {
        let slice = Slice {
            spans: vec![Span::all(30), Span::all(9)],
            rows: Some(0),
            columns: Some(1),
            channels: None,
        };
        let picked = |text: &str| Lines { picks: text.to_owned(), ..Lines::default() }.picked(&slice, false);
        assert_eq!(picked("0, 5, 10:12"), [0, 5, 10, 11]);
        assert_eq!(picked("-1"), [29]);
        assert_eq!(picked("99, x"), [0]);
        assert_eq!(picked(":").len(), LINES);
    }
}
