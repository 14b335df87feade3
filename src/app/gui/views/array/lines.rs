//! One-dimensional cuts as lines: rows or columns of the slice, several over each other. Few points are
//! drawn as they are; of many, the least and the largest of each stretch (an envelope).

use std::sync::Arc;
use std::time::{Duration, Instant};

use egui::{Color32, TextEdit, Ui, vec2};
use egui_plot::{FilledArea, Legend, Line, Plot, PlotPoints, Points};
use gander::content::Array;
use gander::display;
use gander::dtype::DType;
use gander::error::Result;
use gander::jobs::Slot;
use gander::region::Span;
use gander::task::Task;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::super::ViewCx;
use super::color::{Map, brief};
use super::dims::drop_down;
use super::mapping::Mapping;
use super::meaning::Meaning;
use super::plotting::calm;
use super::probe;
use super::ruler::Ruler;
use super::slice::{Slice, Window};
use super::values::{Part, numbers};
use crate::gui::icons::Icon;
use crate::gui::theme::{self, Theme, space};

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
/// Longer lines are looked at in a few places first.
const LONG: u64 = 4 << 20;
/// In so many places,
const PLACES: u64 = 512;
/// and so many elements at each.
const LOOK: u64 = 256;
/// Between two pictures of what there is so far.
const PAUSE: Duration = Duration::from_millis(100);

/// See the module.
#[derive(Default)]
pub(crate) struct Lines {
    /// Whether a line is a column of the slice; else a row.
    down: bool,
    /// Which rows (or columns), as typed: `0, 5, 10:20`.
    picks: String,
    curves: Slot<Key, Vec<Curve>>,
    /// What there is of the lines that are being read.
    partial: Partial,
    /// The part of the x axis in sight, when it was zoomed: positions along the line.
    bounds: Option<(f64, f64)>,
}

type Partial = Arc<Mutex<Option<(Key, Arc<Vec<Curve>>)>>>;

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
#[derive(Clone)]
struct Curve {
    /// The row (or column) of the slice.
    pick: u64,
    name: String,
    /// x, least, largest; where both are equal it is a point.
    stretches: Vec<[f64; 3]>,
    envelope: bool,
    /// Whether only a part of the elements was read.
    sampled: bool,
}

impl Curve {
    /// The same with places on the x axis instead of positions.
    fn placed(&self, ruler: &Ruler) -> Curve {
        let place = |stretch: &[f64; 3]| [ruler.at(stretch[0]), stretch[1], stretch[2]];
        Curve { stretches: self.stretches.iter().map(place).collect(), ..self.clone() }
    }
}

impl Lines {
    /// The options in the toolbar. An axis that lines are to run along and that is none of the slice's.
    pub(crate) fn toolbar(
        &mut self,
        ui: &mut Ui,
        slice: &Slice,
        mapping: &Mapping,
        meaning: &Meaning,
    ) -> Option<usize> {
        let mut other = None;
        if mapping.shape().len() > 1 {
            let down = self.is_down(slice);
            let now = if down { slice.rows } else { slice.columns };
            let name = |axis: usize| format!("along {}", meaning.name(axis));
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
            let name = across.map_or(String::new(), |axis| format!("at {}", meaning.name(axis)));
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
        *self.partial.lock() = None;
        self.bounds = None;
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
        meaning: &Meaning,
    ) {
        if slice.is_empty() {
            theme::empty_state(ui, Icon::LineChart, "No elements", "An axis of this array has the length 0.");
            return;
        }
        let down = self.is_down(slice);
        let len = if down { slice.height() } else { slice.width() };
        let (from, count) = self.reading(len);
        let picks = self.picked(slice, down);
        let key = Key { slice: slice.clone(), down, picks, part, from, count };
        let shown = self.ask(cx, array, &key);
        if let Some(error) = shown.error.as_ref().filter(|error| !error.is_cancelled()) {
            theme::empty_state(ui, Icon::Problem, "These lines could not be read", &error.to_string());
            ui.vertical_centered(|ui| {
                if theme::button(ui, "Try again").clicked() {
                    self.curves.clear();
                }
            });
            return;
        }
        let partial = self.partial.lock().clone().filter(|(of, _)| *of == key).map(|(_, curves)| curves);
        if shown.fresh {
            *self.partial.lock() = None;
        }
        let so_far = partial.filter(|_| !shown.fresh);
        let fresh = shown.fresh || so_far.is_some();
        let Some(curves) = so_far.or(shown.value) else {
            let id = ui.unique_id().with("pending");
            theme::pending(ui, id, "Reading this line…");
            return;
        };
        let drawn = Drawn { curves: &curves, slice, down, fresh, meaning, dtype: array.dtype() };
        self.plot(ui, cx, &drawn);
    }

    fn ask(&self, cx: &ViewCx<'_>, array: &Arc<dyn Array>, key: &Key) -> gander::jobs::Shown<Vec<Curve>> {
        let (array, wanted, title) = (array.clone(), key.clone(), format!("lines of {}", cx.target.title()));
        let (partial, jobs) = (self.partial.clone(), cx.jobs.clone());
        self.curves.get(cx.jobs, key, &title, move |task| {
            let mut publish = |curves: Vec<Curve>| {
                *partial.lock() = Some((wanted.clone(), Arc::new(curves)));
                jobs.wake();
            };
            match wanted.read(&*array, task, &mut publish) {
                // Somebody stopped it: what there is stays.
                Err(error) if error.is_cancelled() => {
                    let partial = partial.lock().clone().filter(|(of, _)| *of == wanted);
                    partial.map(|(_, curves)| curves.as_ref().clone()).ok_or(error)
                }
                read => read,
            }
        })
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

    fn plot(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>, drawn: &Drawn<'_>) {
        let theme = Theme::of(ui);
        let (curves, slice, meaning) = (drawn.curves, drawn.slice, drawn.meaning);
        let (len, axis) = (drawn.len(), drawn.axis());
        let id = ui.unique_id().with("lines");
        let ends = (0.0, len.saturating_sub(1).max(1) as f64);
        let (left, right) = self.bounds.unwrap_or(ends);
        let (low, high) = heights(curves, left, right);
        // From here on places on the x axis.
        let ruler = drawn.ruler();
        let (left, right) = (ruler.at(left), ruler.at(right));
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
            if let Some(axis) = axis.filter(|_| !ruler.is_even()) {
                return meaning.place(axis, ruler.coordinate(x), step);
            }
            if x.fract() != 0.0 || x < 0.0 || x >= len as f64 {
                return String::new();
            }
            let index = slice.along(axis, x as u64);
            axis.and_then(|axis| meaning.coordinate(axis, index)).unwrap_or_else(|| match index {
                10_000_000.. if index.is_multiple_of(1_000_000) => format!("{} M", index / 1_000_000),
                _ => index.to_string(),
            })
        };
        let dtype = drawn.dtype;
        let level = move |y: f64| meaning.date(dtype, y).unwrap_or_else(|| brief(y));
        let mut plot = calm(plot, theme, whole, level);
        if curves.len() > 1 {
            plot = plot.legend(Legend::default());
        }
        let faded = if drawn.fresh { 1.0 } else { 0.4 };
        let shown = plot.show(ui, |plot| {
            for (n, curve) in curves.iter().enumerate() {
                let color = line_color(theme, n, curves.len()).gamma_multiply(faded);
                match ruler.is_even() {
                    true => draw(plot, curve, color),
                    false => draw(plot, &curve.placed(&ruler), color),
                }
            }
        });
        let response = &shown.response;
        let words = format!("{} of {}", display::plural(curves.len() as u64, "line"), cx.target.title());
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, &words));
        if response.clicked() || response.dragged() {
            response.request_focus();
        }
        let scale = shown.transform.dvalue_dpos()[0];
        self.aim(ui, response, (left - margin, right + margin), scale, &ruler, ends);
        if let Some(at) = response.hover_pos() {
            let value = shown.transform.value_from_position(at);
            drawn.say(cx, response, ruler.position(value.x), value.y);
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
        ruler: &Ruler,
        ends: (f64, f64),
    ) {
        let (mut left, mut right) = sight;
        let (begin, end) = (ruler.at(ends.0), ruler.at(ends.1));
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
            let width = right - left;
            ui.input(|input| {
                let pressed = |key| f64::from(u8::from(input.key_pressed(key)));
                let by = width * 0.1 * (pressed(egui::Key::ArrowRight) - pressed(egui::Key::ArrowLeft));
                (left, right) = (left + by, right + by);
                let (plus, minus) = (egui::Key::Plus, egui::Key::Minus);
                let closer = pressed(plus) + pressed(egui::Key::Equals) - pressed(minus);
                let by = (width * 0.125 * closer).min(((width - least) / 2.0).max(0.0));
                (left, right) = (left + by, right - by);
            });
        }
        if response.double_clicked()
            || response.has_focus() && ui.input(|input| input.key_pressed(egui::Key::Num0))
        {
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
        self.bounds = Some((ruler.position(left + over), ruler.position(right + over)));
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

/// Lines while they are drawn.
struct Drawn<'a> {
    curves: &'a [Curve],
    slice: &'a Slice,
    down: bool,
    fresh: bool,
    meaning: &'a Meaning,
    dtype: &'a DType,
}

impl Drawn<'_> {
    fn len(&self) -> u64 {
        if self.down { self.slice.height() } else { self.slice.width() }
    }

    /// Where positions along the lines lie.
    fn ruler(&self) -> Ruler {
        let uneven = self.axis().and_then(|axis| self.meaning.uneven(axis));
        let span = self.axis().and_then(|axis| self.slice.spans.get(axis).copied());
        Ruler::new(uneven, span.unwrap_or(Span::all(self.len())))
    }

    /// The axis along the lines.
    fn axis(&self) -> Option<usize> {
        if self.down { self.slice.rows } else { self.slice.columns }
    }

    /// The value under the pointer, of the nearest line.
    fn say(&self, cx: &mut ViewCx<'_>, response: &egui::Response, x: f64, y: f64) {
        let n = x.round().max(0.0) as u64;
        if x < -0.5 || n >= self.len() {
            return;
        }
        let at = |curve: &Curve| {
            let nearest = curve.stretches.partition_point(|stretch| stretch[0] < n as f64);
            curve.stretches.get(nearest).or(curve.stretches.last()).copied()
        };
        let far = |stretch: &[f64; 3]| (stretch[1] - y).max(y - stretch[2]).max(0.0);
        let here = self.curves.iter().filter_map(|curve| Some((curve, at(curve)?)));
        let nearest = here.min_by(|a, b| far(&a.1).total_cmp(&far(&b.1)));
        let Some((curve, [_, low, high])) = nearest else { return };
        let index = if self.down { self.slice.index(n, curve.pick) } else { self.slice.index(curve.pick, n) };
        let brief = |value: f64| self.meaning.date(self.dtype, value).unwrap_or_else(|| brief(value));
        let value = if curve.envelope {
            format!("{} … {}", brief(low), brief(high))
        } else if let Some(date) = self.meaning.date(self.dtype, low) {
            date
        } else if matches!(self.dtype, DType::F32 | DType::F16 | DType::BF16) {
            gander::cell::float32(low as f32)
        } else if self.dtype.is_float() || self.dtype.is_complex() {
            gander::cell::float64(low)
        } else {
            gander::cell::float64(low).trim_end_matches(".0").to_owned()
        };
        let unit = self.meaning.unit.as_ref().map_or(String::new(), |unit| format!(" {unit}"));
        let place = probe::place(&index);
        let lines = self.meaning.lines(&index);
        let stands = if lines.is_empty() { String::new() } else { format!("  ·  {}", lines.join("  ")) };
        cx.status.under = format!("{}{place} = {value}{unit}{stands}", cx.target.title());
        let words = (format!("{value}{unit}"), String::new(), low.is_nan());
        super::marks::tip(response, self.dtype, &place, Some(&words), &lines);
    }

    /// What the axes are, and whether everything was looked at.
    fn titles(&self, ui: &Ui, rect: egui::Rect) {
        let theme = Theme::of(ui);
        let font = theme::small_font();
        let named = self.axis().filter(|axis| self.meaning.is_named(*axis));
        let bottom = rect.right_bottom() - vec2(space::S3, space::S2);
        let mut words = named.map_or(String::new(), |axis| format!("{} →", self.meaning.title(axis)));
        if self.curves.iter().any(|curve| curve.sampled) {
            let sample = "a sample: zoom in for every element";
            words = if words.is_empty() { sample.to_owned() } else { format!("{sample}   {words}") };
        }
        ui.painter().text(bottom, egui::Align2::RIGHT_BOTTOM, words, font.clone(), theme.dim);
        if let Some(unit) = &self.meaning.unit {
            let at = rect.left_top() + vec2(space::S2, space::S1);
            ui.painter().text(at, egui::Align2::LEFT_TOP, format!("↑ {unit}"), font, theme.dim);
        }
    }
}

impl Key {
    fn read(
        &self,
        array: &dyn Array,
        task: &Task,
        publish: &mut dyn FnMut(Vec<Curve>),
    ) -> Result<Vec<Curve>> {
        task.expect(self.count.saturating_mul(self.picks.len() as u64));
        let mut curves = Vec::new();
        let mut last = Instant::now();
        for &pick in &self.picks {
            let curve = self.curve(array, task, pick, &mut |part: &[[f64; 3]], finer: &[[f64; 3]]| {
                if last.elapsed() < PAUSE {
                    return;
                }
                // The rough line, and over its beginning the finer one.
                let reached = finer.last().map_or(f64::NEG_INFINITY, |stretch| stretch[0]);
                let mut stretches = finer.to_vec();
                stretches.extend(part.iter().filter(|stretch| stretch[0] > reached));
                let mut so_far: Vec<Curve> = curves.clone();
                so_far.push(Curve { stretches, envelope: true, sampled: true, ..self.empty(pick) });
                publish(so_far);
                last = Instant::now();
            })?;
            curves.push(curve);
        }
        Ok(curves)
    }

    fn empty(&self, pick: u64) -> Curve {
        let name = match (self.down, self.slice.rows, self.slice.columns) {
            (true, _, None) | (false, None, _) => "values".to_owned(),
            (true, _, columns) => format!("column {}", self.slice.along(columns, pick)),
            (false, rows, _) => format!("row {}", self.slice.along(rows, pick)),
        };
        Curve { pick, name, stretches: Vec::new(), envelope: self.count > POINTS, sampled: false }
    }

    fn curve(
        &self,
        array: &dyn Array,
        task: &Task,
        pick: u64,
        publish: &mut dyn FnMut(&[[f64; 3]], &[[f64; 3]]),
    ) -> Result<Curve> {
        let mut curve = self.empty(pick);
        if !curve.envelope {
            let values = self.values(array, task, pick, self.from, self.count)?;
            let points = values.iter().enumerate().map(|(n, &v)| [(self.from + n as u64) as f64, v, v]);
            curve.stretches = points.collect();
            return Ok(curve);
        }
        let rough = match self.count > LONG {
            true => self.rough(array, task, pick, publish)?,
            false => Vec::new(),
        };
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
                let x = (self.from + at + n as u64 * stretch) as f64 + (stretch - 1) as f64 / 2.0;
                curve.stretches.push(ends(x, part));
            }
            task.advance(end - at)?;
            at = end;
            publish(&rough, &curve.stretches);
        }
        Ok(curve)
    }

    /// The line in a few places, far apart first, so that all of it is seen at once.
    fn rough(
        &self,
        array: &dyn Array,
        task: &Task,
        pick: u64,
        publish: &mut dyn FnMut(&[[f64; 3]], &[[f64; 3]]),
    ) -> Result<Vec<[f64; 3]>> {
        let mut found: Vec<[f64; 3]> = Vec::new();
        let gap = self.count / PLACES;
        let bits = PLACES.trailing_zeros();
        for n in 0..PLACES {
            task.check()?;
            let place = n.reverse_bits() >> (64 - bits);
            let at = self.from + place * gap;
            let values = self.values(array, task, pick, at, LOOK.min(gap).max(1))?;
            let stretch = ends((at + gap / 2) as f64, &values);
            let slot = found.partition_point(|other| other[0] < stretch[0]);
            found.insert(slot, stretch);
            publish(&found, &[]);
        }
        Ok(found)
    }

    fn values(&self, array: &dyn Array, task: &Task, pick: u64, from: u64, count: u64) -> Result<Vec<f64>> {
        let (one, many) = (Span::range(pick, 1), Span::range(from, count));
        let window =
            if self.down { Window { rows: many, columns: one } } else { Window { rows: one, columns: many } };
        Ok(numbers(array.dtype(), self.part, &self.slice.read(array, task, &window)?))
    }
}

/// The least and the largest finite value of a stretch, at its place.
fn ends(x: f64, values: &[f64]) -> [f64; 3] {
    let finite = values.iter().filter(|value| value.is_finite());
    let ends = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), &v| (a.min(v), b.max(v)));
    if ends.0 <= ends.1 { [x, ends.0, ends.1] } else { [x, f64::NAN, f64::NAN] }
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
        let curves = key.read(&array, &Task::new(), &mut |_| {}).unwrap();
        let curve = &curves[0];
        assert!(curve.envelope && !curve.sampled && curve.stretches.len() <= STRETCHES);
        let low = curve.stretches.iter().map(|s| s[1]).fold(f64::INFINITY, f64::min);
        let high = curve.stretches.iter().map(|s| s[2]).fold(f64::NEG_INFINITY, f64::max);
        assert_eq!((low, high, curve.stretches.last().unwrap()[2]), (-7.0, 9.0, 4.0));
        // Few points come as they are.
        let key = Key { from: 99_990, count: 10, ..key };
        let curves = key.read(&array, &Task::new(), &mut |_| {}).unwrap();
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
