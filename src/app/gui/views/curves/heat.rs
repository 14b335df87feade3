//! Histograms over steps: a picture whose columns are steps and whose heights are values, darker where more of them lie,
//! or the histograms of some steps as lines above each other.

use std::sync::Arc;

use egui::{Color32, Mesh, Rect, Ui, pos2, vec2};
use egui_plot::{Line, Plot, PlotPoints};
use gander::bytes::display::{self, brief};
use gander::data::content::Table;
use gander::data::curves::histograms::{self, BUCKETS, HistogramColumns};
use gander::data::plane::color::ColorMap;
use gander::jobs::{JobSpec, Slot};
use serde::{Deserialize, Serialize};

use crate::gui::icons::Icon;
use crate::gui::theme::{self, Theme, space};
use crate::gui::views::ViewCx;
use crate::gui::views::array::lines::line_color;
use crate::gui::views::array::plotting::calm;

/// The most steps that are drawn as lines; evenly spread of more.
const LINES: usize = 24;
/// The most columns of the picture that are drawn.
const COLUMNS: usize = 512;

/// How they are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    #[default]
    Heat,
    Lines,
}

/// What a session keeps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct HeatState {
    kind: Kind,
    /// Whether each step is as dark as another, however many values it has.
    shares: bool,
}

/// The picture.
pub(super) struct Heat {
    table: Arc<dyn Table>,
    columns: HistogramColumns,
    state: HeatState,
    slot: Slot<(), histograms::Heat>,
}

impl Heat {
    pub(super) fn new(table: Arc<dyn Table>, columns: HistogramColumns) -> Self {
        Heat { table, columns, state: HeatState::default(), slot: Slot::default() }
    }

    pub(super) fn state(&self) -> HeatState {
        self.state.clone()
    }

    pub(super) fn restore(&mut self, state: HeatState) {
        self.state = state;
    }

    pub(super) fn toolbar(&mut self, ui: &mut Ui) {
        ui.spacing_mut().item_spacing.x = space::S2;
        theme::segmented(
            ui,
            "Kind",
            &mut self.state.kind,
            &[(Kind::Heat, "Heat map"), (Kind::Lines, "Lines")],
        );
        ui.checkbox(&mut self.state.shares, "each step by itself")
            .on_hover_text("Scale the counts of each step by its largest");
    }

    pub(super) fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let (table, columns) = (self.table.clone(), self.columns.clone());
        let title = format!("reading histograms of {}", cx.title());
        let shown = self
            .slot
            .get(cx.jobs, &(), JobSpec::scan(title), move |task| histograms::read(task, &*table, &columns));
        let Some(heat) = shown.value else {
            match shown.error {
                Some(error) if error.is_cancelled() => {
                    if theme::cancelled(ui, "") {
                        self.slot.clear();
                    }
                }
                Some(error) => {
                    let words = error.to_string();
                    theme::empty_state(ui, Icon::Problem, "The histograms could not be read", &words);
                }
                None => theme::pending(ui, ui.unique_id().with("heat"), "Reading the histograms…"),
            }
            return;
        };
        if heat.steps.is_empty() {
            theme::empty_state(ui, Icon::LineChart, "There are no histograms", "No step has any bucket.");
            return;
        }
        let mut facts = format!(
            "{} · {} … {}",
            display::plural(heat.steps.len() as u64 * heat.every as u64, "step"),
            brief(heat.range.0),
            brief(heat.range.1)
        );
        if heat.every > 1 {
            facts.push_str(&format!(" · {} steps a column", heat.every));
        }
        if heat.outside > 0.0 {
            facts.push_str(&format!(" · {} beyond all edges", brief(heat.outside)));
        }
        cx.status.facts = facts;
        match self.state.kind {
            Kind::Heat => self.map(ui, cx, &heat),
            Kind::Lines => self.lines(ui, cx, &heat),
        }
    }

    /// The largest count of a column, or of all.
    fn most(&self, heat: &histograms::Heat, column: usize) -> f64 {
        let counts = if self.state.shares { heat.column(column) } else { heat.counts.as_slice() };
        counts.iter().copied().fold(0.0, f64::max).max(f64::MIN_POSITIVE)
    }

    fn map(&self, ui: &mut Ui, cx: &mut ViewCx<'_>, heat: &histograms::Heat) {
        let theme = Theme::of(ui);
        let count = heat.steps.len();
        let stride = count.div_ceil(COLUMNS).max(1);
        let (low, high) = heat.range;
        let step_at = |n: usize| heat.steps.get(n).copied().unwrap_or_default();
        // A column is as wide as any other: steps are written when the program likes.
        let x_words = |x: f64| {
            let n = x.floor();
            let is_mark = x.fract() == 0.0 && n >= 0.0 && (n as usize) < count;
            if is_mark { display::signed(step_at(n as usize)) } else { String::new() }
        };
        let height = ui.available_height() - space::S1;
        let response = calm(Plot::new("heat"), theme, x_words, brief)
            .id(ui.scope_id().with("heat"))
            .default_x_bounds(0.0, count as f64)
            .default_y_bounds(low, high)
            .allow_drag(false)
            .allow_double_click_reset(false)
            .set_margin_fraction(vec2(0.0, 0.0))
            .height(height)
            .reset()
            .show(ui, |_| {});
        let (transform, response) = (response.transform, response.response);
        let map = ColorMap::named("viridis").unwrap_or_default();
        let place = |x: f64, y: f64| transform.position_from_point(&egui_plot::PlotPoint::new(x, y));
        let most = (!self.state.shares).then(|| self.most(heat, 0));
        let mut mesh = Mesh::default();
        let wide = (high - low) / BUCKETS as f64;
        for n in (0..count).step_by(stride) {
            let most = most.unwrap_or_else(|| self.most(heat, n));
            for (bucket, value) in heat.column(n).iter().enumerate().filter(|(_, value)| **value > 0.0) {
                let (x, y) = (n as f64, low + wide * bucket as f64);
                let rect = Rect::from_two_pos(place(x, y), place(x + stride as f64, y + wide));
                // Few values are seen too.
                let share = 0.12 + 0.88 * (value / most).sqrt();
                mesh.add_colored_rect(rect, theme::picture_color(map.at(share)));
            }
        }
        ui.painter().with_clip_rect(response.rect).add(mesh);
        let words = format!("Histograms of {}", display::harmless(cx.title(), 120));
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, &words));
        if let Some(pos) = response.hover_pos() {
            let value = transform.value_from_position(pos);
            let n = (value.x.max(0.0) as usize).min(count - 1) / stride * stride;
            let bucket = (((value.y - low) / wide).max(0.0) as usize).min(BUCKETS - 1);
            let from = low + wide * bucket as f64;
            let counted = heat.column(n).get(bucket).copied().unwrap_or_default();
            cx.status.under = format!(
                "{} at step {}: {} values in {} … {}",
                display::harmless(cx.title(), 120),
                step_at(n),
                display::short_number(counted),
                brief(from),
                brief(from + wide)
            );
            let under = cx.status.under.clone();
            response.on_hover_text_at_pointer(under);
        }
    }

    /// Histograms of some steps as lines, the first at the bottom.
    fn lines(&self, ui: &mut Ui, cx: &mut ViewCx<'_>, heat: &histograms::Heat) {
        let theme = Theme::of(ui);
        let count = heat.steps.len();
        let shown: Vec<usize> = match count <= LINES {
            true => (0..count).collect(),
            false => (0..LINES).map(|n| n * (count - 1) / (LINES - 1)).collect(),
        };
        let (low, high) = heat.range;
        let wide = (high - low) / BUCKETS as f64;
        let area = ui.available_rect_before_wrap();
        let plot = calm(Plot::new("ridges"), theme, brief, |_| String::new())
            .id(ui.scope_id().with("ridges"))
            .default_x_bounds(low, high)
            .default_y_bounds(-0.2, shown.len() as f64 + 1.2)
            .allow_drag(false)
            .allow_double_click_reset(false)
            .set_margin_fraction(vec2(0.0, 0.0))
            .height(ui.available_height() - space::S1)
            .reset();
        let response = plot.show(ui, |plot| {
            // Those at the back first.
            for (line, n) in shown.iter().enumerate().rev() {
                let most = self.most(heat, *n);
                let point = |(bucket, value): (usize, &f64)| {
                    [low + wide * (bucket as f64 + 0.5), line as f64 + 1.8 * value / most]
                };
                let points: Vec<[f64; 2]> = heat.column(*n).iter().enumerate().map(point).collect();
                let color: Color32 = line_color(theme, line, shown.len().max(2));
                plot.line(
                    Line::new("", PlotPoints::from(points))
                        .color(color)
                        .fill(line as f32)
                        .fill_alpha(0.12)
                        .width(1.3)
                        .allow_hover(false),
                );
            }
        });
        let (transform, response) = (response.transform, response.response);
        let words = format!("Histograms of {}", display::harmless(cx.title(), 120));
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, &words));
        for (line, n) in shown.iter().enumerate() {
            let step = heat.steps.get(*n).copied().unwrap_or_default();
            let y = transform.position_from_point(&egui_plot::PlotPoint::new(low, line as f64)).y;
            let at = pos2(area.right() - space::S3, y - 2.0);
            let align = egui::Align2::RIGHT_BOTTOM;
            ui.painter().text(at, align, display::signed(step), theme::mono_small_font(), theme.dim);
        }
    }
}
