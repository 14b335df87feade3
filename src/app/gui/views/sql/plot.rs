//! A plot of a result: columns of it as a line, bars or points, perhaps a colour for each value of another
//! column, or the histogram of one.

pub(in crate::gui::views) mod axis;
mod series;

use std::sync::Arc;

use arrow::datatypes::Fields;
use egui::{Align2, ComboBox, Rect, Ui, UiBuilder, pos2, vec2};
use egui_plot::{Bar, BarChart, Legend, Line, Plot, PlotPoints, PlotUi, Points};
use gander::bytes::display;
use gander::data::content::Table;
use gander::jobs::{JobSpec, Jobs, Slot};

use crate::gui::commands::Action;
use crate::gui::icons::Icon;
use crate::gui::node_menu;
use crate::gui::theme::{self, Theme, size, small_font, space};
use crate::gui::views::array::lines::line_color;
use crate::gui::views::array::plotting::calm;
use series::{Group, PlotSpec, Series};

/// How values are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Kind {
    #[default]
    Line,
    Bars,
    Points,
    Histogram,
}

/// What is plotted.
#[derive(Default)]
pub(super) struct Plotted {
    kind: Kind,
    /// None for the number of the row.
    x: Option<usize>,
    y: Option<usize>,
    /// The column whose values have colours.
    by: Option<usize>,
    /// Whether the columns were chosen, by what is in the result or by hand.
    chosen: bool,
    /// How many rows the result had when they were last read.
    rows: u64,
    slot: Slot<(PlotSpec, u64), Series>,
}

impl Plotted {
    /// The same choices for another result of the same statement.
    pub(super) fn anew(self) -> Self {
        Plotted { slot: Slot::default(), ..self }
    }

    /// Draws the choices and the plot into all that is left of `ui`.
    pub(super) fn ui(&mut self, ui: &mut Ui, jobs: &Jobs, table: &Arc<dyn Table>, actions: &mut Vec<Action>) {
        let fields = table.schema().fields().clone();
        let numeric: Vec<usize> =
            (0..fields.len()).filter(|&c| axis::is_number(fields[c].data_type())).collect();
        if numeric.is_empty() {
            let words = "A plot needs at least one column of numbers or times";
            theme::empty_state(ui, Icon::LineChart, "There is nothing to plot", words);
            return;
        }
        let stands = self.y.is_some_and(|y| numeric.contains(&y))
            && [self.x, self.by].into_iter().flatten().all(|column| column < fields.len());
        if !std::mem::replace(&mut self.chosen, true) || !stands {
            self.choose(&fields, &numeric);
        }
        let area = ui.available_rect_before_wrap();
        let bar = Rect::from_min_size(area.min, vec2(area.width(), size::BAR));
        let layout = egui::Layout::left_to_right(egui::Align::Center);
        let builder =
            UiBuilder::new().max_rect(bar.shrink2(vec2(space::S3, 0.0))).id_salt("choices").layout(layout);
        let mut child = ui.new_child(builder);
        child.shrink_clip_rect(bar);
        egui::ScrollArea::horizontal().id_salt("choices").show(&mut child, |ui| {
            ui.with_layout(layout, |ui| self.choices(ui, &fields, &numeric));
        });
        let rest =
            Rect::from_min_max(pos2(area.left(), bar.bottom()), area.max).shrink2(vec2(space::S2, 0.0));
        let mut child = ui.new_child(UiBuilder::new().max_rect(rest).id_salt("plotted"));
        child.shrink_clip_rect(rest.expand2(vec2(space::S2, 0.0)));
        self.plot(&mut child, jobs, table, actions);
    }

    /// A first guess: names get bars, times a line, two columns of numbers points.
    fn choose(&mut self, fields: &Fields, numeric: &[usize]) {
        let plain: Vec<usize> =
            numeric.iter().copied().filter(|&c| !fields[c].data_type().is_temporal()).collect();
        let time = numeric.iter().copied().find(|&c| fields[c].data_type().is_temporal());
        let name = (0..fields.len()).find(|&c| axis::is_name(fields[c].data_type()));
        self.y = plain.last().or(numeric.last()).copied();
        (self.kind, self.x, self.by) = match (time, name) {
            (Some(time), by) if self.y != Some(time) => (Kind::Line, Some(time), by),
            (_, Some(name)) if self.y.is_some() => (Kind::Bars, Some(name), None),
            _ => {
                let x = plain.iter().copied().find(|c| Some(*c) != self.y);
                (if x.is_some() { Kind::Points } else { Kind::Line }, x, None)
            }
        };
    }

    fn choices(&mut self, ui: &mut Ui, fields: &Fields, numeric: &[usize]) {
        let kinds = [
            (Kind::Line, "Line"),
            (Kind::Bars, "Bars"),
            (Kind::Points, "Scatter"),
            (Kind::Histogram, "Histogram"),
        ];
        theme::segmented(ui, "Kind of plot", &mut self.kind, &kinds);
        ui.add_space(space::S1);
        let name = |column: usize| fields.get(column).map_or("", |field| field.name().as_str());
        let all: Vec<usize> = (0..fields.len())
            .filter(|&c| numeric.contains(&c) || axis::is_name(fields[c].data_type()))
            .collect();
        let many = numeric.iter().copied().map(Some).collect::<Vec<_>>();
        if self.kind == Kind::Histogram {
            pick(ui, "of", "Column", &mut self.y, &many, name, "");
            return;
        }
        let places = std::iter::once(None).chain(all.iter().copied().map(Some)).collect::<Vec<_>>();
        pick(ui, "x", "Column along x", &mut self.x, &places, name, "row number");
        pick(ui, "y", "Column along y", &mut self.y, &many, name, "");
        pick(ui, "colour", "Column of colours", &mut self.by, &places, name, "one");
    }

    fn plot(&mut self, ui: &mut Ui, jobs: &Jobs, table: &Arc<dyn Table>, actions: &mut Vec<Action>) {
        let theme = Theme::of(ui);
        let Some(y) = self.y else { return };
        let spec = match self.kind {
            Kind::Histogram => PlotSpec { x: None, y, by: None, histogram: true },
            _ => PlotSpec { x: self.x, y, by: self.by, histogram: false },
        };
        // While a result grows, one picture is finished before one of more rows is begun.
        if self.slot.peek(&(spec.clone(), self.rows)).pending.is_none() {
            self.rows = table.rows().number();
        }
        let (source, wanted, rows) = (table.clone(), spec.clone(), self.rows);
        let key = (spec, rows);
        let shown = self.slot.get(jobs, &key, JobSpec::scan("a plot"), move |task| {
            series::read(task, source.as_ref(), &wanted, rows)
        });
        if shown.error.as_ref().is_some_and(gander::bytes::error::Error::is_cancelled) {
            if theme::cancelled(ui, "") {
                self.slot.clear();
            }
            return;
        }
        if let Some(error) = shown.error {
            theme::empty_state(ui, Icon::Problem, "This could not be plotted", &error.to_string());
            return;
        }
        // While other columns are read the old ones stay; they would be wrong as another kind of plot.
        let Some(series) = shown.value.filter(|s| s.spec.histogram == key.0.histogram) else {
            theme::pending(ui, ui.unique_id().with("plot"), "Reading the columns…");
            return;
        };
        if series.points() == 0 {
            theme::empty_state(
                ui,
                Icon::LineChart,
                "There are no values to plot",
                "All are null or not finite",
            );
            return;
        }
        let words = self.words(&series, rows);
        let area = ui.available_rect_before_wrap();
        let line = if words.is_empty() { 0.0 } else { 20.0 };
        let place = Rect::from_min_max(area.min, area.max - vec2(0.0, line + space::S1));
        let mut child = ui.new_child(UiBuilder::new().max_rect(place).id_salt("axes"));
        let names = |column: Option<usize>| {
            let field = column.and_then(|c| table.schema().fields().get(c));
            field.map_or("row", |field| field.name().as_str()).to_owned()
        };
        let titles = match self.kind {
            Kind::Histogram => (names(Some(y)), "rows".to_owned()),
            _ => (names(series.spec.x), names(Some(series.spec.y))),
        };
        let drawn = draw(&mut child, self.kind, &series, &titles);
        node_menu::picture(&drawn, false, actions);
        if !words.is_empty() {
            let at = pos2(area.left() + space::S1, area.bottom() - 4.0);
            ui.painter().text(at, Align2::LEFT_BOTTOM, words, small_font(), theme.warn);
        }
    }

    /// What the plot does not show.
    fn words(&self, series: &Series, rows: u64) -> String {
        let mut parts = Vec::new();
        if series.rows < rows {
            parts.push(format!(
                "a sample of {} of {} rows",
                display::count(series.rows),
                display::count(rows)
            ));
        }
        if series.skipped > 0 {
            let noun = if series.skipped == 1 { "row" } else { "rows" };
            parts.push(format!("{} {noun} without a value left out", display::count(series.skipped)));
        }
        if series.more > 0 {
            parts.push(format!("{} more values of the colour left out", display::count(series.more as u64)));
        }
        parts.join(" · ")
    }
}

/// A list of columns behind a word.
fn pick<'a>(
    ui: &mut Ui,
    word: &str,
    spoken: &str,
    chosen: &mut Option<usize>,
    columns: &[Option<usize>],
    name: impl Fn(usize) -> &'a str,
    none: &'a str,
) {
    let theme = Theme::of(ui);
    ui.label(theme::dim(theme, word));
    let text = chosen.map_or(none, &name).to_owned();
    let shown: String =
        if text.chars().count() > 24 { text.chars().take(23).chain(['…']).collect() } else { text.clone() };
    let combo = ComboBox::from_id_salt(spoken).selected_text(shown).height(360.0);
    let response = combo.show_ui(ui, |ui| {
        for column in columns {
            ui.selectable_value(chosen, *column, column.map_or(none, &name));
        }
    });
    response
        .response
        .widget_info(|| egui::WidgetInfo::labeled(egui::Role::ComboBox, true, format!("{spoken}: {text}")));
}

/// The plot itself.
fn draw(ui: &mut Ui, kind: Kind, series: &Series, titles: &(String, String)) -> egui::Response {
    let theme = Theme::of(ui);
    let area = ui.available_rect_before_wrap();
    let width = area.width() - 60.0;
    let (low, high) = series.span();
    let along = series.x.labels(width, (low, high));
    let up = series.y.labels(0.0, (0.0, 0.0));
    let bars = matches!(kind, Kind::Bars | Kind::Histogram);
    let id = ui.unique_id().with(("plot", kind, &series.spec));
    let (x_words, y_words) = (series.x.clone(), series.y.clone());
    let mut plot = calm(Plot::new("result plot").id(id), theme, along, up)
        .height(area.height())
        .allow_zoom(true)
        .set_margin_fraction(vec2(0.02, 0.06))
        .label_formatter(move |hovered| match hovered {
            egui_plot::HoverPosition::NearDataPoint { plot_name, position, .. } => {
                let name = if plot_name.is_empty() { String::new() } else { format!("{plot_name}\n") };
                Some(format!("{name}{}\n{}", x_words.text(position.x), y_words.text(position.y)))
            }
            egui_plot::HoverPosition::Elsewhere { .. } => None,
        });
    if let Some(marks) = series.x.marks() {
        plot = plot.x_grid_spacer(marks);
    }
    if bars {
        plot = plot.include_y(0.0);
    }
    if series.groups.len() > 1 {
        plot = plot.legend(Legend::default().follow_insertion_order(true));
    }
    let shown = plot.show(ui, |plot| {
        let count = series.groups.len();
        for (n, group) in series.groups.iter().enumerate() {
            // More colours than can be told apart follow an order.
            let color = if count <= 8 { theme.category(n) } else { line_color(theme, n, count) };
            draw_group(plot, kind, series, group, (n, count), color);
        }
    });
    let words = format!("Plot of {} by {}", titles.1, titles.0);
    shown.response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, &words));
    let frame = *shown.transform.frame();
    let painter = ui.painter().with_clip_rect(frame);
    let title = |at, align, words: &str| painter.text(at, align, words, small_font(), theme.dim);
    title(frame.left_top() + vec2(6.0, 4.0), Align2::LEFT_TOP, &titles.1);
    title(frame.right_bottom() - vec2(6.0, 4.0), Align2::RIGHT_BOTTOM, &titles.0);
    shown.response
}

fn draw_group(
    plot: &mut PlotUi<'_>,
    kind: Kind,
    series: &Series,
    group: &Group,
    (n, count): (usize, usize),
    color: egui::Color32,
) {
    let name = group.name.as_str();
    match kind {
        Kind::Line => {
            plot.line(
                Line::new(name, PlotPoints::from(group.points.clone()))
                    .allow_band(false)
                    .color(color)
                    .width(1.5),
            );
            // A few points would be lost in the line.
            if group.points.len() <= 80 {
                let dots = Points::new(name, PlotPoints::from(group.points.clone()));
                plot.points(dots.color(color).radius(2.5).allow_hover(false));
            }
        }
        Kind::Points => {
            let radius = if series.points() > 5_000 { 1.2 } else { 2.5 };
            let dots = Points::new(name, PlotPoints::from(group.points.clone()));
            plot.points(dots.color(color.gamma_multiply(0.8)).radius(radius));
        }
        Kind::Bars | Kind::Histogram => {
            let gap = if kind == Kind::Histogram { 0.98 } else { 0.75 };
            let width = series.step * gap / count as f64;
            let shift = (n as f64 - (count as f64 - 1.0) / 2.0) * width;
            let (x, y) = (series.x.clone(), series.y.clone());
            let bar =
                |p: &[f64; 2]| Bar::new(p[0] + shift, p[1]).width(width).fill(color.gamma_multiply(0.85));
            let bars = group.points.iter().map(|p| bar(p).stroke(egui::Stroke::NONE)).collect();
            let formatter = move |bar: &Bar, chart: &BarChart| {
                let name = egui_plot::PlotItem::name(chart);
                let name = if name.is_empty() { String::new() } else { format!("{name}\n") };
                format!("{name}{}\n{}", x.text(bar.argument - shift), y.text(bar.value))
            };
            plot.bar_chart(BarChart::new(name, bars).color(color).element_formatter(Box::new(formatter)));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use arrow::array::{ArrayRef, Float64Array, RecordBatch, StringArray};
    use egui_kittest::Harness;
    use egui_kittest::kittest::Queryable as _;
    use gander::data::content::table::MemoryTable;

    use super::*;

    struct ViewHarness {
        plotted: Plotted,
        jobs: Jobs,
        table: Arc<dyn Table>,
    }

    /// Four rows: `x` counts up, `y` is its square, `z` its negative, `kind` is a or b.
    fn show() -> Harness<'static, ViewHarness> {
        let floats = |of: fn(f64) -> f64| -> ArrayRef {
            Arc::new(Float64Array::from_iter_values((0..4).map(|n| of(f64::from(n)))))
        };
        let kind: ArrayRef = Arc::new(StringArray::from(vec!["a", "b", "a", "b"]));
        let (x, y, z) = (floats(|n| n), floats(|n| n * n), floats(|n| -n));
        let batch = RecordBatch::try_from_iter([("x", x), ("y", y), ("z", z), ("kind", kind)]).unwrap();
        let table: Arc<dyn Table> = Arc::new(MemoryTable::new(batch));
        let harness = ViewHarness { plotted: Plotted::default(), jobs: Jobs::new(|| {}), table };
        let builder = Harness::builder().with_size(vec2(900.0, 600.0)).with_step_dt(1.0 / 60.0);
        let mut harness = builder.with_context_setup(theme::apply).build_ui_state(
            |ui, harness: &mut ViewHarness| {
                let table = harness.table.clone();
                harness.plotted.ui(ui, &harness.jobs, &table, &mut Vec::new());
            },
            harness,
        );
        settle(&mut harness);
        harness
    }

    fn settle(harness: &mut Harness<'_, ViewHarness>) {
        let (started, mut calm) = (Instant::now(), 0);
        while calm < 4 {
            assert!(started.elapsed() < Duration::from_secs(20), "the jobs do not end");
            harness.step();
            calm = if harness.state().jobs.list().is_empty() { calm + 1 } else { 0 };
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn choose(harness: &mut Harness<'_, ViewHarness>, spoken: &str, column: &str) {
        harness.get_by_label_contains(&format!("{spoken}: ")).click();
        settle(harness);
        harness.get_by_role_and_label(egui::accesskit::Role::Button, column).click();
        settle(harness);
        assert!(harness.query_by_label(&format!("{spoken}: {column}")).is_some());
    }

    /// The points of each group that is drawn.
    fn points(harness: &Harness<'_, ViewHarness>) -> Vec<(String, Vec<[f64; 2]>)> {
        let plotted = &harness.state().plotted;
        let spec = PlotSpec { x: plotted.x, y: plotted.y.unwrap(), by: plotted.by, histogram: false };
        let series = plotted.slot.peek(&(spec, plotted.rows)).ready().unwrap();
        series.groups.iter().map(|group| (group.name.clone(), group.points.clone())).collect()
    }

    #[test]
    fn another_axis_is_another_series() {
        let mut harness = show();
        harness.get_by_label("Scatter").click();
        settle(&mut harness);
        choose(&mut harness, "Column along x", "x");
        choose(&mut harness, "Column along y", "y");
        harness.get_by_label("Plot of y by x");
        let squares = vec![[0.0, 0.0], [1.0, 1.0], [2.0, 4.0], [3.0, 9.0]];
        assert_eq!(points(&harness).into_iter().map(|group| group.1).collect::<Vec<_>>(), [squares]);
        choose(&mut harness, "Column along y", "z");
        harness.get_by_label("Plot of z by x");
        let falling = vec![[0.0, 0.0], [1.0, -1.0], [2.0, -2.0], [3.0, -3.0]];
        assert_eq!(points(&harness).into_iter().map(|group| group.1).collect::<Vec<_>>(), [falling]);
        choose(&mut harness, "Column along x", "row number");
        harness.get_by_label("Plot of z by row");
        choose(&mut harness, "Column of colours", "kind");
        let groups = points(&harness);
        let names: Vec<&str> = groups.iter().map(|group| group.0.as_str()).collect();
        assert_eq!((names, groups[1].1.clone()), (vec!["a", "b"], vec![[1.0, -1.0], [3.0, -3.0]]));
    }
}
