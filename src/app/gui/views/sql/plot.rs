//! A plot of a result: two of its columns as a line, bars or points, or the histogram of one.

use std::sync::Arc;

use arrow::array::{Array, AsArray};
use arrow::datatypes::{DataType, Float64Type};
use egui::{ComboBox, Ui};
use egui_plot::{Bar, BarChart, Line, Plot, PlotPoints, Points};
use gander::content::Table;
use gander::error::Result;
use gander::jobs::{Jobs, Slot};
use gander::task::Task;

use crate::gui::grid::thousands;
use crate::gui::theme::{self, Theme};

/// The most rows of a plot.
const MOST: u64 = 50_000;
/// The bars of a histogram.
const BINS: usize = 40;

/// How values are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Kind {
    #[default]
    Line,
    Bars,
    Points,
    Histogram,
}

type Series = Vec<[f64; 2]>;

/// What is plotted.
#[derive(Default)]
pub(super) struct Plotted {
    kind: Kind,
    /// None for the number of the row.
    x: Option<usize>,
    y: Option<usize>,
    slot: Slot<(Option<usize>, usize, u64), Series>,
}

impl Plotted {
    /// Draws the choices and the plot into all that is left of `ui`.
    pub(super) fn ui(&mut self, ui: &mut Ui, jobs: &Jobs, table: &Arc<dyn Table>) {
        let fields = table.schema().fields().clone();
        let numeric: Vec<usize> = (0..fields.len()).filter(|&c| is_number(fields[c].data_type())).collect();
        let Some(&first) = numeric.last() else {
            theme::empty_state(
                ui,
                crate::gui::icons::Icon::Hash,
                "There is no column of numbers to plot",
                "",
            );
            return;
        };
        let mut y = self.y.filter(|y| numeric.contains(y)).unwrap_or(first);
        let theme = Theme::of(ui);
        ui.horizontal(|ui| {
            let kinds = [
                (Kind::Line, "Line"),
                (Kind::Bars, "Bars"),
                (Kind::Points, "Points"),
                (Kind::Histogram, "Histogram"),
            ];
            theme::segmented(ui, "Plot", &mut self.kind, &kinds);
            if self.kind != Kind::Histogram {
                ui.label(theme::dim(theme, "x"));
                let name = self.x.map_or("row", |x| fields[x].name());
                ComboBox::from_id_salt("x").selected_text(name).show_ui(ui, |ui| {
                    ui.selectable_value(&mut self.x, None, "row");
                    for &column in &numeric {
                        ui.selectable_value(&mut self.x, Some(column), fields[column].name());
                    }
                });
            }
            ui.label(theme::dim(theme, "y"));
            ComboBox::from_id_salt("y").selected_text(fields[y].name()).show_ui(ui, |ui| {
                for &column in &numeric {
                    ui.selectable_value(&mut y, column, fields[column].name());
                }
            });
            let rows = table.rows().number();
            if rows > MOST {
                let words = format!("the first {} of {} rows", thousands(MOST), thousands(rows));
                ui.label(egui::RichText::new(words).color(theme.warn));
            }
        });
        self.y = Some(y);
        let (x, rows, source) = (self.x, table.rows().number().min(MOST), table.clone());
        let shown = self
            .slot
            .get(jobs, &(x, y, rows), "a plot", move |task| series(task, source.as_ref(), x, y, rows));
        if let Some(error) = shown.error {
            theme::empty_state(
                ui,
                crate::gui::icons::Icon::Problem,
                "This could not be plotted",
                &error.to_string(),
            );
            return;
        }
        let Some(points) = shown.value else { return };
        let (kind, color) = (self.kind, theme.accent);
        let name = fields[y].name().as_str();
        Plot::new("result plot").show(ui, |plot| match kind {
            Kind::Line => plot.line(Line::new(name, PlotPoints::from(points.to_vec())).color(color)),
            Kind::Points => {
                plot.points(Points::new(name, PlotPoints::from(points.to_vec())).color(color).radius(2.0))
            }
            Kind::Bars => {
                let bars = points.iter().map(|p| Bar::new(p[0], p[1])).collect();
                plot.bar_chart(BarChart::new(name, bars).color(color));
            }
            Kind::Histogram => plot.bar_chart(BarChart::new(name, histogram(&points)).color(color)),
        });
    }
}

fn is_number(data_type: &DataType) -> bool {
    data_type.is_numeric() || data_type.is_temporal()
}

/// The finite values of two columns.
fn series(task: &Task, table: &dyn Table, x: Option<usize>, y: usize, rows: u64) -> Result<Series> {
    let read = table.read(task, 0..rows, &[x.unwrap_or(y), y])?;
    let numbers = |column: usize| -> Result<Vec<f64>> {
        let array = read.column(column);
        let whole = match array.data_type() {
            DataType::Date32 | DataType::Time32(_) => arrow::compute::cast(array, &DataType::Int32)?,
            kind if kind.is_temporal() => arrow::compute::cast(array, &DataType::Int64)?,
            _ => array.clone(),
        };
        let floats = arrow::compute::cast(&whole, &DataType::Float64)?;
        Ok(floats.as_primitive::<Float64Type>().iter().map(|v| v.unwrap_or(f64::NAN)).collect())
    };
    let ys = numbers(1)?;
    let xs = match x {
        Some(_) => numbers(0)?,
        None => (0..ys.len()).map(|n| n as f64).collect(),
    };
    Ok(xs.into_iter().zip(ys).map(|(x, y)| [x, y]).filter(|p| p[0].is_finite() && p[1].is_finite()).collect())
}

fn histogram(points: &Series) -> Vec<Bar> {
    let low = points.iter().map(|p| p[1]).fold(f64::INFINITY, f64::min);
    let high = points.iter().map(|p| p[1]).fold(f64::NEG_INFINITY, f64::max);
    let mut counted = gander::stats::Histogram::new(low, high, BINS);
    points.iter().for_each(|p| counted.add(p[1]));
    let width = ((high - low) / BINS as f64).max(f64::MIN_POSITIVE);
    let middle = |n: usize| low + width * (n as f64 + 0.5);
    counted
        .counts
        .iter()
        .enumerate()
        .map(|(n, &count)| Bar::new(middle(n), count as f64).width(width))
        .collect()
}
