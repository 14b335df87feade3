//! The histogram of a slice or of the whole array, counted by the library's statistics in a job. A
//! drag over it sets the range of the heat map's colours.

use std::sync::Arc;

use egui::{Color32, Ui, vec2};
use egui_plot::{Bar, BarChart, Plot, PlotPoint, Span, VLine};
use gander::bytes::display::{self, brief};
use gander::bytes::error::Result;
use gander::bytes::task::Task;
use gander::data::adapt::MappedArray;
use gander::data::content::{Array, ArrayFacts};
use gander::data::dtype::DType;
use gander::data::numbers::{ComplexPart, numbers};
use gander::data::plane::Slice;
use gander::data::plane::color::{ColorRange, HeatMapSpec};
use gander::data::stats::{self, ArrayStats};
use gander::jobs::{JobSpec, Partial, Shown};
use serde::{Deserialize, Serialize};

use super::super::ViewCx;
use super::loader::{Loader, SliceKey, SliceValue};
use super::plotting::calm;
use crate::gui::icons::Icon;
use crate::gui::theme::{self, Severity, Theme, size, space};
use crate::gui::ui::{drop_down, spin_button};

/// What is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Scope {
    /// What the dimension mapper shows.
    #[default]
    Slice,
    /// Everything.
    All,
}

/// What is counted, of which part of complex numbers, in how many bins, and whether only a sample is.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    scope: Scope,
    slice: Slice,
    part: ComplexPart,
    bins: usize,
    sampled: bool,
    /// Whether the decimal logarithms of magnitudes are counted instead of values.
    magnitudes: bool,
}

impl Key {
    fn count(&self, array: Arc<dyn Array>, task: &Task) -> Result<ArrayStats> {
        let sliced: Arc<dyn Array> = Arc::new(self.slice.view(array));
        let plain = sliced.dtype().is_real() && !self.magnitudes;
        let seen: Arc<dyn Array> = match plain {
            true => sliced,
            false => Arc::new(as_numbers(sliced, self.part, self.magnitudes)),
        };
        match self.sampled {
            true => stats::sampled(&*seen, task, PLACES, ELEMENTS, Some(self.bins)),
            false => stats::readable(&*seen, task, Some(self.bins)),
        }
    }
}

impl SliceKey for Key {
    fn slice(&self) -> &Slice {
        &self.slice
    }

    fn of(&self, slice: &Slice) -> Self {
        Key { slice: slice.clone(), ..self.clone() }
    }
}

impl SliceValue for ArrayStats {
    fn kept_bytes(&self) -> Option<usize> {
        let bins = self.histogram.as_ref().map_or(0, |histogram| histogram.counts.len());
        self.unread.is_none().then_some(200 + 16 * bins)
    }
}

/// How far the counting is.
fn progress(ui: &Ui, shown: &Shown<ArrayStats>) -> String {
    ui.ctx().request_repaint_after_secs(0.1);
    format!("Counting…{}", theme::percent(shown.progress()))
}

/// Slices of at most so many bytes are counted before they are asked for.
const AHEAD: u64 = 16 << 20;

/// Of more bytes only a sample is counted without being asked.
const UNASKED: u64 = 512 << 20;
/// Places and elements of a sample.
const PLACES: u64 = 64;
const ELEMENTS: u64 = 16 << 10;

/// What a session keeps.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct HistogramState {
    all: bool,
    log: bool,
    magnitudes: bool,
    bins: Option<usize>,
}

/// How often values occur, as bars over their range.
pub(crate) struct Histogram {
    scope: Scope,
    image: bool,
    log: bool,
    /// Whether the axis of the values is one of magnitudes, by their logarithms.
    magnitudes: bool,
    bins: usize,
    counted: Loader<Key, ArrayStats>,
    /// What is to be counted to the last element, however large it is.
    asked: Option<(Scope, Slice)>,
    /// Where a drag began.
    brush: Option<f64>,
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram {
            scope: Scope::Slice,
            image: false,
            log: false,
            magnitudes: false,
            bins: 128,
            counted: Loader::default(),
            asked: None,
            brush: None,
        }
    }
}

/// An array whose elements are seen as numbers: parts of complex ones, counts of times; or as the decimal logarithms of
/// their magnitudes, of which that of zero is infinite and in no bin.
fn as_numbers(array: Arc<dyn Array>, part: ComplexPart, magnitudes: bool) -> MappedArray {
    let stored = array.dtype().clone();
    let change = |facts: &mut ArrayFacts| {
        *facts = ArrayFacts { chunks: facts.chunks.take(), ..ArrayFacts::default() };
    };
    MappedArray::new(array, DType::F64, change).converted(move |raw, out| {
        let mut values = numbers(&stored, part, raw);
        if magnitudes {
            values.iter_mut().for_each(|value| *value = value.abs().log10());
        }
        DType::F64.encode(&values, out);
        Ok(())
    })
}

impl Histogram {
    /// Of one frame of an image: there is no other scope, and its range is black and white.
    pub(crate) fn of_image() -> Self {
        Histogram { image: true, ..Histogram::default() }
    }

    /// The options in the toolbar.
    pub(crate) fn toolbar(&mut self, ui: &mut Ui) {
        if !self.image {
            self.scope_menu(ui);
        }
        self.scale_menus(ui);
    }

    fn scope_menu(&mut self, ui: &mut Ui) {
        let word = |scope| if scope == Scope::Slice { "this slice" } else { "whole array" };
        drop_down(ui, word(self.scope), "What is counted", |ui| {
            for scope in [Scope::Slice, Scope::All] {
                if ui.selectable_label(self.scope == scope, word(scope)).clicked() {
                    self.scope = scope;
                }
            }
        });
    }

    fn scale_menus(&mut self, ui: &mut Ui) {
        let words = |log| if log { "log counts" } else { "linear counts" };
        drop_down(ui, words(self.log), "Scale of the counts", |ui| {
            for log in [false, true] {
                if ui.selectable_label(self.log == log, words(log)).clicked() {
                    self.log = log;
                }
            }
        });
        if !self.image {
            let words = |magnitudes| if magnitudes { "log magnitudes" } else { "linear values" };
            drop_down(ui, words(self.magnitudes), "Scale of the values", |ui| {
                for magnitudes in [false, true] {
                    if ui.selectable_label(self.magnitudes == magnitudes, words(magnitudes)).clicked() {
                        self.magnitudes = magnitudes;
                    }
                }
            });
        }
        drop_down(ui, &format!("{} bins", self.bins), "Number of bins", |ui| {
            for bins in [32, 64, 128, 256, 512] {
                if ui.selectable_label(self.bins == bins, bins.to_string()).clicked() {
                    self.bins = bins;
                }
            }
        });
    }

    /// Forgets what was counted: the array is another one now.
    pub(crate) fn clear(&mut self) {
        self.counted.clear();
    }

    /// Stops counting.
    pub(crate) fn stop(&mut self) {
        self.counted.stop();
    }

    /// Whether what is counted of this slice is on the screen.
    pub(crate) fn shows(&self, slice: &Slice) -> bool {
        self.scope == Scope::All || self.counted.shown() == Some(slice)
    }

    /// Draws the histogram; a drag sets `choice`'s range.
    pub(crate) fn ui(
        &mut self,
        ui: &mut Ui,
        cx: &mut ViewCx<'_>,
        array: &Arc<dyn Array>,
        slice: &Slice,
        choice: &mut HeatMapSpec,
    ) {
        // The whole array does not change with the slice.
        let slice = if self.scope == Scope::All { whole(array.shape()) } else { slice.clone() };
        let bytes = slice.all().elements().saturating_mul(slice.depth()).max(elements(&slice));
        let large = bytes.saturating_mul(array.dtype().size().max(1)) > UNASKED;
        let sampled = large && self.asked.as_ref() != Some(&(self.scope, slice.clone()));
        let (scope, part, bins, magnitudes) = (self.scope, choice.part, self.bins, self.magnitudes);
        let wanted = Key { scope, slice: slice.clone(), part, bins, sampled, magnitudes };
        let (of, title) = (array.clone(), format!("counting {}", cx.title()));
        let read = move |key: &Key, task: &Task, _: &Partial<'_, ArrayStats>| key.count(of, task);
        let loaded = self.counted.want(ui.ctx(), cx.jobs, &wanted, JobSpec::once(title), read);
        let fresh = loaded.is_there();
        self.read_ahead(cx, array, &wanted, fresh);
        if let Some(error) = loaded.state.error.as_ref().filter(|_| loaded.is_wanted) {
            let words =
                if error.is_cancelled() { "The counting was stopped.".to_owned() } else { error.to_string() };
            theme::empty_state(ui, Icon::Problem, "There is no histogram", &words);
            ui.vertical_centered(|ui| {
                if theme::button(ui, "Try again").clicked() {
                    self.counted.retry();
                }
            });
            return;
        }
        let Some(stats) = loaded.value() else {
            let id = ui.unique_id().with("pending");
            theme::pending(ui, id, &progress(ui, &loaded.state));
            return;
        };
        if loaded.is_late {
            ui.multiply_opacity(0.5);
        }
        if self.facts(ui, &stats, &loaded.state, fresh, sampled) {
            self.asked = Some((self.scope, slice));
        }
        self.body(ui, cx, &stats, choice);
    }

    fn body(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>, stats: &ArrayStats, choice: &mut HeatMapSpec) {
        if let Some(unread) = &stats.unread {
            let words = unread.to_string();
            theme::problem_banner(ui, Severity::Problem, "A part could not be read", &[(&words, None)]);
        }
        match &stats.histogram {
            Some(histogram) if width(histogram) < MOST => self.plot(ui, cx, histogram, choice),
            Some(_) => theme::empty_state(
                ui,
                Icon::Histogram,
                "No histogram",
                "The values lie too far apart for bins of equal width.",
            ),
            None => theme::empty_state(ui, Icon::Histogram, "No finite values", "There is nothing to count."),
        }
    }

    /// Counts the slices that will probably come next, once this one is there.
    fn read_ahead(&mut self, cx: &ViewCx<'_>, array: &Arc<dyn Array>, wanted: &Key, there: bool) {
        let bytes = elements(&wanted.slice).saturating_mul(array.dtype().size().max(1));
        // Of an image the array is one frame: it has no other slices.
        if bytes > AHEAD || wanted.scope == Scope::All || self.image {
            return;
        }
        let (of, window) = (array.clone(), wanted.slice.all());
        self.counted.read_ahead(cx.jobs, array, wanted, window, there, move |key, _, task| {
            key.count(of.clone(), task)
        });
    }

    /// A line of numbers above the plot; of what was there before, until the new ones are. True if everything
    /// is to be counted.
    fn facts(
        &self,
        ui: &mut Ui,
        stats: &ArrayStats,
        state: &Shown<ArrayStats>,
        fresh: bool,
        sampled: bool,
    ) -> bool {
        let mut all = false;
        let theme = Theme::of(ui);
        ui.add_space(space::S2);
        // The margin holds for each of the lines, where there are several.
        let margin = egui::Margin { left: space::S3 as i8, ..egui::Margin::ZERO };
        egui::Frame::new().inner_margin(margin).show(ui, |ui| {
            ui.horizontal_wrapped(|ui| {
                ui.spacing_mut().item_spacing.x = space::S1;
                let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "–".to_owned());
                let number = |value: Option<f64>| value.map_or("–".to_owned(), brief);
                let mut facts = vec![
                    ("count", display::count(stats.count)),
                    ("min", text(&stats.min)),
                    ("max", text(&stats.max)),
                    ("mean", number(stats.mean)),
                    ("std", number(stats.std)),
                    ("zeros", display::count(stats.zeros)),
                ];
                if self.magnitudes {
                    // Means of logarithms are no means of values; what has none is zero or infinite.
                    let number = |text: &Option<String>| {
                        let value = text.as_ref().and_then(|text| text.parse::<f64>().ok());
                        value.map_or("–".to_owned(), |value| brief(10f64.powf(value)))
                    };
                    facts = vec![
                        ("count", display::count(stats.count)),
                        ("least magnitude", number(&stats.min)),
                        ("greatest", number(&stats.max)),
                        ("zero or infinite", display::count(stats.inf)),
                    ];
                }
                let infinite = if self.magnitudes { 0 } else { stats.inf };
                for (name, count) in [("NaN", stats.nan), ("Inf", infinite)] {
                    if count > 0 {
                        facts.push((name, display::count(count)));
                    }
                }
                for (name, value) in facts {
                    let bad = matches!(name, "NaN" | "Inf");
                    ui.label(theme::dim(theme, name));
                    ui.label(theme::mono(value).color(if bad { theme.bad } else { theme.text }));
                    ui.add_space(space::S2);
                }
                if !fresh {
                    ui.label(theme::dim(theme, progress(ui, state)));
                } else if sampled {
                    ui.label(egui::RichText::new("sampled").color(theme.warn));
                    ui.add_space(space::S1);
                    all = ui.link("Count everything").clicked();
                } else {
                    ui.label(egui::RichText::new("exact").color(theme.good));
                }
            })
        });
        all
    }

    fn plot(
        &mut self,
        ui: &mut Ui,
        cx: &mut ViewCx<'_>,
        histogram: &stats::Histogram,
        choice: &mut HeatMapSpec,
    ) {
        let theme = Theme::of(ui);
        let log = self.log;
        let height = move |count: f64| if log { (1.0 + count).log10() } else { count };
        let bars: Vec<Bar> = histogram
            .counts
            .iter()
            .zip(histogram.edges.windows(2))
            .map(|(&count, edge)| {
                let width = (edge[1] - edge[0]).max(f64::MIN_POSITIVE);
                Bar::new(edge[0] + width / 2.0, height(count as f64))
                    .width(width)
                    .fill(theme.accent)
                    .stroke(egui::Stroke::NONE)
            })
            .collect();
        let bars = BarChart::new("counts", bars).color(theme.accent).allow_hover(false);
        let (low, high) = ends(histogram);
        let top = histogram.counts.iter().max().map_or(1.0, |&most| height(most as f64).max(1.0));
        let back = move |y: f64| if log { 10f64.powf(y) - 1.0 } else { y };
        let (brush, set) = (
            self.brush,
            match choice.range {
                ColorRange::Hand(low, high) if !self.magnitudes => Some((low, high)),
                _ => None,
            },
        );
        let id = ui.scope_id().with("histogram");
        let margin = (high - low) * 0.02;
        let plot = Plot::new("histogram")
            .id(id)
            .default_x_bounds(low - margin, high + margin)
            .default_y_bounds(0.0, top * 1.06)
            .allow_drag(false)
            .allow_double_click_reset(false)
            .height(ui.available_height() - size::ROW - space::S2)
            .set_margin_fraction(vec2(0.0, 0.0))
            .reset();
        let counts = move |y: f64| if y < 0.0 { String::new() } else { count_words(back(y)) };
        let magnitudes = self.magnitudes;
        let value = move |x: f64| if magnitudes { brief(10f64.powf(x)) } else { brief(x) };
        let plot = calm(plot, theme, value, counts);
        let accent = theme.accent;
        let shown = plot.show(ui, move |plot| {
            plot.bar_chart(bars);
            let at = plot.pointer_coordinate().map(|point| point.x);
            let band = brush.zip(at).map(|(a, b)| (a.min(b), a.max(b))).or(set);
            if let Some((low, high)) = band {
                let fill = Color32::from_rgba_unmultiplied(accent.r(), accent.g(), accent.b(), 40);
                plot.span(Span::new("range", low..=high).fill(fill).border_color(accent));
            }
            if let Some(x) = at {
                plot.vline(
                    VLine::new("here", x).color(accent.gamma_multiply(0.5)).width(1.0).allow_hover(false),
                );
            }
            at
        });
        let at = shown.response.hover_pos().map(|at| shown.transform.value_from_position(at));
        crate::gui::node_menu::picture(&shown.response, false, cx.actions);
        let words = format!("Histogram of {} from {} to {}", cx.title(), brief(low), brief(high));
        shown.response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, &words));
        self.answer(cx, &shown.response, histogram, at, choice);
        self.foot(ui, choice, (low, high));
    }

    /// Takes the drag, and says what is under the pointer.
    fn answer(
        &mut self,
        cx: &mut ViewCx<'_>,
        response: &egui::Response,
        histogram: &stats::Histogram,
        at: Option<PlotPoint>,
        choice: &mut HeatMapSpec,
    ) {
        if let Some(point) = at {
            let bin = histogram.edges.windows(2).position(|edge| point.x >= edge[0] && point.x < edge[1]);
            if let Some(n) = bin {
                let value = |edge: f64| if self.magnitudes { brief(10f64.powf(edge)) } else { brief(edge) };
                let edges = (value(histogram.edges[n]), value(histogram.edges[n + 1]));
                let words = format!("{} – {}: {}", edges.0, edges.1, display::count(histogram.counts[n]));
                cx.status.under = words;
            }
        }
        if self.magnitudes {
            // A range of magnitudes is two ranges of values.
            self.brush = None;
            return;
        }
        if response.drag_started() {
            self.brush = at.map(|point| point.x);
        }
        if response.drag_stopped() {
            let ends = self.brush.take().zip(at.map(|point| point.x));
            if let Some((a, b)) = ends.filter(|(a, b)| a != b) {
                choice.range = ColorRange::Hand(a.min(b), a.max(b));
            }
        }
    }

    /// The range, to be typed too.
    fn foot(&mut self, ui: &mut Ui, choice: &mut HeatMapSpec, ends: (f64, f64)) {
        let theme = Theme::of(ui);
        if self.magnitudes {
            ui.horizontal(|ui| {
                ui.add_space(space::S3);
                ui.label(theme::dim(theme, "Magnitudes by their logarithms; zeros are in no bin."));
            });
            return;
        }
        ui.horizontal(|ui| {
            ui.add_space(space::S3);
            match choice.range {
                ColorRange::Hand(mut low, mut high) => {
                    ui.label(theme::dim(theme, self.subject().0));
                    let speed = ((ends.1 - ends.0).abs() / 200.0).max(1e-9);
                    let mut changed = false;
                    for (name, end) in [("Lowest value", &mut low), ("Highest value", &mut high)] {
                        let drag = egui::DragValue::new(end).speed(speed).custom_formatter(|n, _| brief(n));
                        changed |= spin_button(ui, name, drag).changed();
                    }
                    if changed {
                        choice.range = ColorRange::Hand(low, high);
                    }
                    if ui.link(self.subject().1).clicked() {
                        choice.range = ColorRange::MinMax;
                    }
                }
                _ => {
                    let words = if self.image {
                        "Drag over the bars to set black and white, or"
                    } else {
                        "Drag over the bars to set the colours' range, or"
                    };
                    ui.label(theme::dim(theme, words));
                    if ui.link("type it").clicked() {
                        choice.range = ColorRange::Hand(ends.0, ends.1);
                    }
                }
            }
        });
    }

    /// What the range is of, and how to be rid of it.
    fn subject(&self) -> (&'static str, &'static str) {
        if self.image { ("Black and white:", "Automatic") } else { ("Colours cover", "Cover everything") }
    }

    /// For the session.
    pub(crate) fn state(&self) -> HistogramState {
        HistogramState {
            all: self.scope == Scope::All,
            log: self.log,
            magnitudes: self.magnitudes,
            bins: Some(self.bins),
        }
    }

    /// What [`Histogram::state`] gave.
    pub(crate) fn restore(&mut self, state: &HistogramState) {
        self.scope = if state.all && !self.image { Scope::All } else { Scope::Slice };
        self.log = state.log;
        self.magnitudes = state.magnitudes && !self.image;
        self.bins = state.bins.map_or(128, |bins| bins.clamp(1, 4096));
    }
}

/// How many elements a slice holds, with those of axes that are neither rows nor columns.
fn elements(slice: &Slice) -> u64 {
    slice.spans.iter().fold(1, |product, span| product.saturating_mul(span.count))
}

/// Everything as a slice.
fn whole(shape: &[u64]) -> Slice {
    use gander::data::region::Span;
    // `Slice::view` takes every axis that is longer than one, named or not.
    Slice {
        spans: shape.iter().map(|&len| Span::all(len)).collect(),
        rows: None,
        columns: None,
        channels: None,
    }
}

/// The plot's arithmetic overflows near the ends of f64.
const MOST: f64 = 1e300;

fn width(histogram: &stats::Histogram) -> f64 {
    let (low, high) = ends(histogram);
    if low.abs() < MOST && high.abs() < MOST { high - low } else { f64::INFINITY }
}

/// Both ends of the bins, apart also where all values are equal.
fn ends(histogram: &stats::Histogram) -> (f64, f64) {
    let low = histogram.edges.first().copied().unwrap_or(0.0);
    let high = histogram.edges.last().copied().unwrap_or(1.0);
    if high > low { (low, high) } else { (low - 0.5, high + 0.5) }
}

fn count_words(count: f64) -> String {
    if count.fract().abs() > 0.01 && count < 100.0 {
        return brief(count);
    }
    display::short_count(count.round().max(0.0) as u64)
}
