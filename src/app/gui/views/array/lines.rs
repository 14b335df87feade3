//! One-dimensional cuts as lines: rows or columns of the slice, several over each other. Few points are
//! drawn as they are; of many, the least and the largest of each stretch (an envelope).

use std::sync::Arc;

use egui::{Color32, TextEdit, Ui, vec2};
use egui_plot::{FilledArea, Legend, Line, Plot, PlotPoints, Points};
use gander::bytes::display::{self, brief};
use gander::bytes::error::Error;
use gander::data::axes::{AxisCoordinates, LinePositions};
use gander::data::content::Array;
use gander::data::dtype::DType;
use gander::data::numbers::ComplexPart;
use gander::data::plane::color::ColorMap;
use gander::data::plane::lines::{LONG, LineRequest, LineValues, POINTS, unread};
use gander::data::plane::{Mapping, Slice, Window};
use gander::data::region::Span;
use gander::jobs::JobSpec;
use serde::{Deserialize, Serialize};

use super::super::ViewCx;
use super::keys::{LINE_KEYS, LineCommand};
use super::loader::{Loader, SliceKey, SliceValue};
use super::plotting::calm;
use super::probe;
use crate::gui::icons::Icon;
use crate::gui::theme::{self, Severity, Theme, space};
use crate::gui::ui::{drop_down, keys};

/// Lines at once.
const LINES: usize = 16;

impl SliceKey for LineRequest {
    fn slice(&self) -> &Slice {
        &self.slice
    }

    fn of(&self, slice: &Slice) -> Self {
        LineRequest { slice: slice.clone(), ..self.clone() }
    }
}

/// The lines of a request.
struct Curves(Vec<LineValues>);

impl SliceValue for Curves {
    fn kept_bytes(&self) -> Option<usize> {
        unread(&self.0).is_none().then(|| self.0.iter().map(|curve| 24 * curve.extremes.len() + 100).sum())
    }
}

/// What a session keeps.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct LinesState {
    down: bool,
    picks: String,
    bounds: Option<(f64, f64)>,
}

/// Rows or columns of a slice as lines over their positions.
#[derive(Default)]
pub(crate) struct Lines {
    /// Whether a line is a column of the slice; else a row.
    down: bool,
    /// Which rows (or columns), as typed: `0, 5, 10:20`.
    picks: String,
    curves: Loader<LineRequest, Curves>,
    /// The part of the x axis in sight, when it was zoomed: positions along the line.
    bounds: Option<(f64, f64)>,
    /// The marked place along the lines.
    mark: Option<u64>,
}

impl Lines {
    /// The options in the toolbar. An axis that lines are to run along and that is none of the slice's.
    pub(crate) fn toolbar(
        &mut self,
        ui: &mut Ui,
        slice: &Slice,
        mapping: &Mapping,
        coordinates: &AxisCoordinates,
    ) -> Option<usize> {
        let mut other = None;
        if mapping.shape().len() > 1 {
            let down = self.is_down(slice);
            let now = if down { slice.rows } else { slice.columns };
            let name = |axis: usize| format!("along {}", coordinates.name(axis));
            drop_down(ui, &now.map_or("along".to_owned(), name), "Axis of the lines", |ui| {
                for axis in 0..mapping.shape().len() {
                    if ui.selectable_label(now == Some(axis), name(axis)).clicked() {
                        self.bounds = None;
                        match axis {
                            axis if slice.rows == Some(axis) => self.down = true,
                            axis if slice.columns == Some(axis) => self.down = false,
                            axis => other = Some(axis),
                        }
                        ui.close();
                    }
                }
            });
        }
        if slice.height() > 1 && slice.width() > 1 {
            let down = self.is_down(slice);
            let words = if down { "columns" } else { "rows" };
            let across = if down { slice.columns } else { slice.rows };
            let name = across.map_or(String::new(), |axis| format!("at {}", coordinates.name(axis)));
            ui.label(theme::dim(Theme::of(ui), name));
            let mut text = if self.picks.is_empty() { "0".to_owned() } else { self.picks.clone() };
            let edit = TextEdit::singleline(&mut text).font(theme::mono_font()).desired_width(96.0);
            let response = ui.add(edit.margin(vec2(6.0, 4.0)));
            response.widget_info(|| {
                let mut info = egui::WidgetInfo::text_edit(true, &self.picks, &self.picks, "");
                info.label = Some(format!("Which {words}"));
                info
            });
            if response.changed() {
                self.picks = text;
            }
            response.on_hover_text(format!("Which {words}: 0, 5, 10:20 (at most {LINES})"));
        }
        if self.bounds.is_some() && theme::icon_button(ui, Icon::Fit, "Show all").clicked() {
            self.fit();
        }
        other
    }

    /// Whether a line is a column of the slice: a plane of one column has one line, that column.
    fn is_down(&self, slice: &Slice) -> bool {
        slice.width() == 1 && slice.height() > 1 || self.down && slice.height() > 1
    }

    /// Lines run along the columns' axis now.
    pub(crate) fn across(&mut self) {
        self.down = false;
        self.bounds = None;
    }

    /// Forgets what was read: the array is another one now.
    pub(crate) fn clear(&mut self) {
        self.curves.clear();
        self.bounds = None;
    }

    /// Whether the lines of this slice are on the screen.
    pub(crate) fn shows(&self, slice: &Slice) -> bool {
        self.curves.shown() == Some(slice)
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
        part: ComplexPart,
        coordinates: &AxisCoordinates,
    ) {
        if slice.is_empty() {
            theme::empty_state(ui, Icon::LineChart, "No elements", "An axis of this array has the length 0.");
            return;
        }
        let down = self.is_down(slice);
        let len = if down { slice.height() } else { slice.width() };
        let (from, count) = self.reading(len);
        let picks = self.picked(slice, down);
        let wanted = LineRequest { slice: slice.clone(), down, picks, part, from, count };
        let (of, title) = (array.clone(), format!("lines of {}", cx.title()));
        let loaded =
            self.curves.want(ui.ctx(), cx.jobs, &wanted, JobSpec::once(title), move |key, task, partial| {
                key.read(&*of, task, &mut |curves| partial.show(Curves(curves))).map(Curves)
            });
        let error = loaded.state.error.as_ref().filter(|_| loaded.is_wanted);
        let cancelled = error.is_some_and(Error::is_cancelled);
        // What there was of them stays.
        let again = match (cancelled, loaded.value().is_some()) {
            (true, true) => theme::cancelled_line(ui),
            (true, false) => theme::cancelled(ui, ""),
            (false, _) => false,
        };
        if again {
            self.curves.retry();
        }
        if let Some(error) = error.filter(|_| !cancelled) {
            theme::empty_state(ui, Icon::Problem, "These lines could not be read", &error.to_string());
            ui.vertical_centered(|ui| {
                if theme::button(ui, "Try again").clicked() {
                    self.curves.retry();
                }
            });
            return;
        }
        let Some(curves) = loaded.value() else {
            let id = ui.unique_id().with("pending");
            if !cancelled {
                theme::pending(ui, id, "Reading this line…");
            }
            return;
        };
        self.read_ahead(cx, array, &wanted, loaded.is_there());
        let curves = &curves.0;
        if let Some(unread) = unread(curves) {
            let words = unread.to_string();
            theme::problem_banner(ui, Severity::Problem, "A part could not be read", &[(&words, None)]);
        }
        let (fresh, late) = (loaded.is_wanted && loaded.state.so_far().is_some(), loaded.is_late);
        let drawn = Drawn { curves, slice, down, fresh, late, coordinates, dtype: array.dtype() };
        self.plot(ui, cx, &drawn);
    }

    /// Control and an arrow move the marked element along the line.
    fn step_mark(&mut self, ui: &Ui, response: &egui::Response, len: u64) {
        let Some(mark) = self.mark.filter(|_| response.has_focus()) else { return };
        let by = keys::pressed(ui, LINE_KEYS).into_iter().map(|command| match command {
            LineCommand::Mark(by) => i64::from(by),
            _ => 0,
        });
        self.mark = Some(mark.saturating_add_signed(by.sum()).min(len.saturating_sub(1)));
    }

    /// Reads the lines of the slices that will probably come next, once these are there.
    fn read_ahead(&mut self, cx: &ViewCx<'_>, array: &Arc<dyn Array>, wanted: &LineRequest, there: bool) {
        let elements = wanted.count.saturating_mul(wanted.picks.len() as u64);
        let Some(&pick) = wanted.picks.first().filter(|_| elements <= LONG) else { return };
        let (one, many) = (Span::range(pick, 1), Span::range(wanted.from, wanted.count));
        let window = if wanted.down {
            Window { rows: many, columns: one }
        } else {
            Window { rows: one, columns: many }
        };
        self.curves.read_ahead(cx.jobs, array, wanted, window, there, |key, array, task| {
            key.read(array, task, &mut |_| {}).map(Curves)
        });
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
    pub(crate) fn stop(&mut self) {
        self.curves.stop();
    }

    fn plot(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>, drawn: &Drawn<'_>) {
        let theme = Theme::of(ui);
        let (curves, slice, coordinates) = (drawn.curves, drawn.slice, drawn.coordinates);
        let (len, axis) = (drawn.len(), drawn.axis());
        let id = ui.scope_id().with("lines");
        let ends = (0.0, len.saturating_sub(1).max(1) as f64);
        let (left, right) = self.bounds.unwrap_or(ends);
        let (low, high) = heights(curves, left, right);
        // From here on places on the x axis.
        let positions = drawn.positions();
        let (left, right) = (positions.at(left), positions.at(right));
        let margin = if self.bounds.is_none() { (right - left) * 0.02 } else { 0.0 };
        let plot = Plot::new("lines")
            .id(id)
            .default_x_bounds(left - margin, right + margin)
            .default_y_bounds(low, high)
            .allow_drag(false)
            .allow_double_click_reset(false)
            .set_margin_fraction(vec2(0.0, 0.0))
            .height(ui.available_height() - space::S1)
            .reset();
        let step = (right - left) / 10.0;
        let whole = |x: f64| {
            if let Some(axis) = axis.filter(|_| !positions.is_even()) {
                return coordinates.place(axis, positions.coordinate(x), step);
            }
            if x.fract() != 0.0 || x < 0.0 || x >= len as f64 {
                return String::new();
            }
            let index = slice.along(axis, x as u64);
            axis.and_then(|axis| coordinates.coordinate(axis, index)).unwrap_or_else(|| match index {
                10_000_000.. if index.is_multiple_of(1_000_000) => format!("{} M", index / 1_000_000),
                _ => index.to_string(),
            })
        };
        let dtype = drawn.dtype;
        let level = move |y: f64| coordinates.date(dtype, y).unwrap_or_else(|| brief(y));
        let mut plot = calm(plot, theme, whole, level);
        if curves.len() > 1 {
            plot = plot.legend(Legend::default());
        }
        let faded = if drawn.late { 0.4 } else { 1.0 };
        let mark = self.mark.filter(|mark| *mark < len);
        let shown = plot.show(ui, |plot| {
            if let Some(mark) = mark {
                let line = egui_plot::VLine::new("", positions.at(mark as f64));
                plot.vline(line.color(theme.faint).width(1.0).allow_hover(false));
            }
            for (n, curve) in curves.iter().enumerate() {
                let color = line_color(theme, n, curves.len()).gamma_multiply(faded);
                match positions.is_even() {
                    true => draw(plot, curve, color),
                    false => draw(plot, &curve.placed(&positions), color),
                }
            }
        });
        let response = &shown.response;
        let words = format!("{} of {}", display::plural(curves.len() as u64, "line"), cx.title());
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, &words));
        if response.clicked() || response.dragged() {
            response.request_focus();
        }
        if response.clicked()
            && let Some(at) = response.interact_pointer_pos()
        {
            let at = positions.position(shown.transform.value_from_position(at).x).round();
            self.mark = Some((at.max(0.0) as u64).min(len.saturating_sub(1)));
        }
        crate::gui::node_menu::picture(response, false, cx.actions);
        self.step_mark(ui, response, len);
        let scale = shown.transform.dvalue_dpos()[0];
        self.aim(ui, response, (left - margin, right + margin), scale, &positions, ends);
        if let Some(at) = response.hover_pos() {
            let value = shown.transform.value_from_position(at);
            drawn.say(cx, response, positions.position(value.x), value.y);
        }
        drawn.titles(ui, response.rect);
    }

    /// The wheel zooms along the line, a drag moves, a double click shows all. `sight` are places on the x
    /// axis, `scale` is the length of a point of the screen, `ends` the positions at the ends of the line.
    fn aim(
        &mut self,
        ui: &Ui,
        response: &egui::Response,
        sight: (f64, f64),
        scale: f64,
        positions: &LinePositions,
        ends: (f64, f64),
    ) {
        let (mut left, mut right) = sight;
        let (begin, end) = (positions.at(ends.0), positions.at(ends.1));
        let last = end - begin;
        // Not closer than four elements.
        let least = last * (4.0 / ends.1.max(4.0));
        if let Some(at) = response.hover_pos() {
            let (scroll, pinch) = ui.input(|input| (input.smooth_scroll_delta(), input.zoom_delta()));
            let factor = if pinch != 1.0 { f64::from(pinch) } else { f64::from(scroll.y * 0.006).exp() };
            let share = f64::from((at.x - response.rect.left()) / response.rect.width().max(1.0));
            let width = ((right - left) / factor).max(least);
            let middle = left + (right - left) * share;
            (left, right) = (middle - width * share, middle + width * (1.0 - share));
            let by = f64::from(scroll.x) * scale;
            (left, right) = (left - by, right - by);
        }
        if response.dragged() {
            let by = f64::from(response.drag_delta().x) * scale;
            (left, right) = (left - by, right - by);
        }
        if response.has_focus() {
            for command in keys::pressed(ui, LINE_KEYS) {
                let width = right - left;
                match command {
                    LineCommand::Move(way) => {
                        let by = width * 0.1 * f64::from(way);
                        (left, right) = (left + by, right + by);
                    }
                    LineCommand::Zoom(closer) => {
                        let most = ((width - least) / 2.0).max(0.0);
                        let by = (width * 0.125 * f64::from(closer)).min(most);
                        (left, right) = (left + by, right - by);
                    }
                    LineCommand::Fit => return self.fit(),
                    LineCommand::Mark(_) => {}
                }
            }
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
        let over = (begin - left).max(0.0) - (right - end).max(0.0);
        let over = if right - left > last { 0.0 } else { over };
        self.bounds = Some((positions.position(left + over), positions.position(right + over)));
    }

    /// For the session.
    pub(crate) fn state(&self) -> LinesState {
        LinesState { down: self.down, picks: self.picks.clone(), bounds: self.bounds }
    }

    /// What [`Lines::state`] gave.
    pub(crate) fn restore(&mut self, state: &LinesState) {
        self.down = state.down;
        self.picks.clone_from(&state.picks);
        self.bounds = state.bounds.filter(|(left, right)| left < right && (right - left).is_finite());
    }

    /// Shows this row (or column) of the slice.
    pub(crate) fn go_to(&mut self, row: u64, column: u64) {
        self.picks = if self.down { column } else { row }.to_string();
        self.mark = Some(if self.down { row } else { column });
    }

    /// Row and column of the marked element of the slice.
    pub(crate) fn marked(&self, slice: &Slice) -> Option<[u64; 2]> {
        let (mark, down) = (self.mark?, self.is_down(slice));
        let pick = self.picked(slice, down).first().copied()?;
        Some(if down { [mark, pick] } else { [pick, mark] })
    }

    /// Marks an element, and shows its line where that is not shown.
    pub(crate) fn show_mark(&mut self, slice: &Slice, row: u64, column: u64) {
        let down = self.is_down(slice);
        let (pick, mark) = if down { (column, row) } else { (row, column) };
        if !self.picked(slice, down).contains(&pick) {
            self.picks = pick.to_string();
        }
        self.mark = Some(mark);
    }
}

/// Lines while they are drawn.
struct Drawn<'a> {
    curves: &'a [LineValues],
    slice: &'a Slice,
    down: bool,
    /// Whether the lines are those of the slice.
    fresh: bool,
    /// Whether they have not been for a while.
    late: bool,
    coordinates: &'a AxisCoordinates,
    dtype: &'a DType,
}

impl Drawn<'_> {
    fn len(&self) -> u64 {
        if self.down { self.slice.height() } else { self.slice.width() }
    }

    /// Where positions along the lines lie.
    fn positions(&self) -> LinePositions {
        let uneven = self.axis().and_then(|axis| self.coordinates.uneven(axis));
        let span = self.axis().and_then(|axis| self.slice.spans.get(axis).copied());
        LinePositions::new(uneven, span.unwrap_or(Span::all(self.len())))
    }

    /// The axis along the lines.
    fn axis(&self) -> Option<usize> {
        if self.down { self.slice.rows } else { self.slice.columns }
    }

    /// The value under the pointer, of the nearest line.
    fn say(&self, cx: &mut ViewCx<'_>, response: &egui::Response, x: f64, y: f64) {
        let n = x.round().max(0.0) as u64;
        // The values of another slice do not stand at this place.
        if x < -0.5 || n >= self.len() || !self.fresh {
            return;
        }
        let at = |curve: &LineValues| {
            let nearest = curve.extremes.partition_point(|stretch| stretch[0] < n as f64);
            curve.extremes.get(nearest).or(curve.extremes.last()).copied()
        };
        let far = |stretch: &[f64; 3]| (stretch[1] - y).max(y - stretch[2]).max(0.0);
        let here = self.curves.iter().filter_map(|curve| Some((curve, at(curve)?)));
        let nearest = here.min_by(|a, b| far(&a.1).total_cmp(&far(&b.1)));
        let Some((curve, [_, low, high])) = nearest else { return };
        let index = if self.down { self.slice.index(n, curve.pick) } else { self.slice.index(curve.pick, n) };
        let brief = |value: f64| self.coordinates.date(self.dtype, value).unwrap_or_else(|| brief(value));
        if let Some(unread) = curve.hole(n) {
            let place = probe::place(&index);
            cx.status.under = format!("{}{place} could not be read: {}", cx.title(), unread.error);
            return;
        }
        let value = if curve.envelope {
            format!("{} … {}", brief(low), brief(high))
        } else if let Some(date) = self.coordinates.date(self.dtype, low) {
            date
        } else if matches!(self.dtype, DType::F32 | DType::F16 | DType::BF16 | DType::Blocks(_)) {
            gander::data::cell::float32(low as f32)
        } else if self.dtype.is_float() || self.dtype.is_complex() {
            gander::data::cell::float64(low)
        } else {
            gander::data::cell::float64(low).trim_end_matches(".0").to_owned()
        };
        let unit = self.coordinates.unit.as_ref().map_or(String::new(), |unit| format!(" {unit}"));
        let place = probe::place(&index);
        let lines = self.coordinates.lines(&index);
        let stands = if lines.is_empty() { String::new() } else { format!("  ·  {}", lines.join("  ")) };
        cx.status.under = format!("{}{place} = {value}{unit}{stands}", cx.title());
        let words = (format!("{value}{unit}"), String::new(), low.is_nan());
        super::overlays::tip(response, self.dtype, &place, Some(&words), &lines, &[]);
    }

    /// What the axes are, and whether everything was looked at.
    fn titles(&self, ui: &Ui, rect: egui::Rect) {
        let theme = Theme::of(ui);
        let font = theme::small_font();
        let named = self.axis().filter(|axis| self.coordinates.is_named(*axis));
        let bottom = rect.right_bottom() - vec2(space::S3, space::S2);
        let mut words = named.map_or(String::new(), |axis| format!("{} →", self.coordinates.title(axis)));
        if self.curves.iter().any(|curve| curve.sampled) {
            let sample = "a sample: zoom in for every element";
            words = if words.is_empty() { sample.to_owned() } else { format!("{sample}   {words}") };
        }
        ui.painter().text(bottom, egui::Align2::RIGHT_BOTTOM, words, font.clone(), theme.dim);
        if let Some(unit) = &self.coordinates.unit {
            let at = rect.left_top() + vec2(space::S2, space::S1);
            ui.painter().text(at, egui::Align2::LEFT_TOP, format!("↑ {unit}"), font, theme.dim);
        }
    }
}

/// The lowest and highest value between two places, with some air.
fn heights(curves: &[LineValues], left: f64, right: f64) -> (f64, f64) {
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for curve in curves {
        let start = curve.extremes.partition_point(|stretch| stretch[0] < left).saturating_sub(1);
        let seen = curve.extremes[start..].iter().take_while(|stretch| stretch[0] <= right);
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
fn draw(plot: &mut egui_plot::PlotUi<'_>, curve: &LineValues, color: Color32) {
    for run in curve.extremes.split(|stretch| !drawable(stretch)).filter(|run| !run.is_empty()) {
        if curve.envelope {
            let column = |n: usize| -> Vec<f64> { run.iter().map(|stretch| stretch[n]).collect() };
            let area = FilledArea::new(&curve.name, &column(0), &column(1), &column(2));
            let fill = color.gamma_multiply(0.45);
            plot.add(area.fill_color(fill).stroke(egui::Stroke::new(1.0, color)).allow_hover(false));
            continue;
        }
        let points: Vec<[f64; 2]> = run.iter().map(|stretch| [stretch[0], stretch[1]]).collect();
        if curve.extremes.len() <= 200 {
            let marks = Points::new(&curve.name, PlotPoints::from(points.clone()));
            plot.points(marks.color(color).radius(2.5).allow_hover(false));
        }
        plot.line(
            Line::new(&curve.name, PlotPoints::from(points))
                .allow_band(false)
                .color(color)
                .width(1.3)
                .allow_hover(false),
        );
    }
}

/// One line takes the accent; several are told apart by a map that the colour-blind can read.
pub(crate) fn line_color(theme: &Theme, n: usize, of: usize) -> Color32 {
    if of <= 1 {
        return theme.accent;
    }
    let share = n as f64 / (of - 1) as f64;
    let map = ColorMap::named("plasma").unwrap_or_default();
    // The darkest and the lightest end would vanish on one of the backgrounds.
    theme::picture_color(map.at(if theme.dark { 0.25 + 0.7 * share } else { 0.05 + 0.75 * share }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_keeps_what_is_in_sight() {
        let lines = Lines { bounds: Some((3.5, 90.25)), picks: "1".to_owned(), ..Lines::default() };
        let mut again = Lines::default();
        again.restore(&lines.state());
        assert_eq!((again.bounds, again.picks.as_str()), (Some((3.5, 90.25)), "1"));
        again.restore(&LinesState { bounds: Some((9.0, 4.0)), ..LinesState::default() });
        assert_eq!(again.bounds, None);
        again.restore(&LinesState::default());
        assert_eq!(again.bounds, None);
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
