//! The Weights section, under Statistics, of arrays of floats: quantiles, norms, exponents and bits in use; on a click the
//! singular values of the plane that is looked at, and what they tell.

use std::collections::HashMap;
use std::sync::Arc;

use egui::{Align2, Pos2, Rect, Sense, Shape, Stroke, Ui, WidgetInfo, pos2, vec2};
use gander::bytes::display::{self, short_number as short};
use gander::bytes::error::Result;
use gander::bytes::limits;
use gander::bytes::task::Task;
use gander::data::content::{Array, Content};
use gander::data::dtype::DType;
use gander::data::plane::{Mapping, Slice};
use gander::data::stats::spectrum::{Spectrum, has_spectrum, spectrum};
use gander::data::stats::tensor::{TensorStats, tensor};
use gander::data::stats::{BitUse, bit_use, has_bit_use};
use gander::jobs::{JobSpec, Jobs, Slot};

use super::Key;
use crate::gui::icons::Icon;
use crate::gui::theme::{self, Theme, mono_small_font, space};
use crate::gui::ui::key_value;
use crate::gui::views::{Mappings, Subject, Target};

/// Arrays of so many bytes are gone through without being asked.
const BYTES: u64 = 64 << 20;
/// Planes whose singular values are kept.
const KEPT: usize = 32;
/// Quantiles of elements of more than 16 bits come from a sample, where there are more than so many.
const COUNTED: u64 = 1 << 14;

/// The state of the section.
#[derive(Default)]
pub(super) struct Weights {
    facts: Slot<Key, Facts>,
    /// What is to be gone through, however large it is.
    asked: Option<Key>,
    spectra: HashMap<(Key, Slice), Slot<(), Spectrum>>,
}

/// Lines, ready to draw.
#[derive(Default)]
struct Facts {
    lines: Vec<(&'static str, String)>,
    note: &'static str,
}

impl Weights {
    pub(super) fn ui(&mut self, ui: &mut Ui, jobs: &Jobs, key: &Key, target: &Target, mappings: &Mappings) {
        let (Some(Content::Array(array)), Subject::Node) = (&target.node.content, &key.2) else { return };
        let count = limits::elements(array.shape()).unwrap_or(u64::MAX);
        if !has_bit_use(array.dtype()) || count < 2 {
            return;
        }
        let bytes = limits::bytes(array.shape(), array.dtype().size()).unwrap_or(u64::MAX);
        super::section(ui, "Weights", |ui| {
            self.facts(ui, jobs, key, array, bytes <= BYTES);
            let plane = mappings.get(array.shape()).map(|look| look.mapping.clone());
            let plane = plane.unwrap_or_else(|| Mapping::new(array.shape())).slice(false);
            if plane.height() > 1 && plane.width() > 1 {
                self.spectrum(ui, jobs, key, array, plane);
            }
        });
    }

    /// Quantiles, norms, bits in use: at once where that is little, else on a click.
    fn facts(&mut self, ui: &mut Ui, jobs: &Jobs, key: &Key, array: &Arc<dyn Array>, is_little: bool) {
        let theme = Theme::of(ui);
        if !is_little && self.asked.as_ref() != Some(key) {
            theme::section_head(ui, "Weights", None);
            ui.add_space(space::S2);
            if theme::button(ui, "Quantiles, norms, bits in use").clicked() {
                self.asked = Some(key.clone());
            }
            return;
        }
        let of = array.clone();
        let shown = self.facts.get(jobs, key, JobSpec::scan("weights"), move |task| facts(&*of, task));
        let ready = shown.ready();
        let note = ready.as_ref().map(|facts| (facts.note, theme.good));
        theme::section_head(ui, "Weights", note);
        ui.add_space(space::S2);
        if let Some(facts) = ready {
            facts.lines.iter().for_each(|(name, value)| drop(key_value(ui, name, value)));
        } else if let Some(error) = shown.error.as_ref() {
            if error.is_cancelled() {
                if theme::cancelled_line(ui) {
                    self.facts.clear();
                }
            } else {
                failed(ui, &error.to_string());
            }
        } else {
            let progress = theme::percent(shown.progress());
            if running(ui, &format!("scanning{progress}"), "Stop scanning") {
                self.facts.cancel();
            }
        }
    }

    /// The singular values of a plane, or a button that asks for them.
    fn spectrum(&mut self, ui: &mut Ui, jobs: &Jobs, key: &Key, array: &Arc<dyn Array>, plane: Slice) {
        let (theme, rows, columns) = (Theme::of(ui), plane.height(), plane.width());
        ui.add_space(space::S3);
        let size = format!("{rows} × {columns}");
        theme::section_head(ui, "Spectrum", Some((size.as_str(), theme.dim)));
        ui.add_space(space::S2);
        if !has_spectrum(rows, columns) {
            ui.add(egui::Label::new(theme::dim(theme, "Too large to be decomposed here.")).wrap());
            return;
        }
        let place = (key.clone(), plane);
        let Some(slot) = self.spectra.get(&place) else {
            if theme::button(ui, "Singular values").clicked() {
                self.start(jobs, place, array);
            }
            return;
        };
        let shown = slot.peek(&());
        if let Some(spectrum) = shown.ready() {
            spectrum_lines(&spectrum).iter().for_each(|(name, value)| drop(key_value(ui, name, value)));
            plot(ui, &spectrum);
        } else if let Some(error) = shown.error {
            if !error.is_cancelled() {
                failed(ui, &error.to_string());
            } else if theme::cancelled_line(ui) {
                self.start(jobs, place, array);
            }
        } else {
            let words = match shown.progress() {
                Some(share) if share >= 1.0 => "decomposing…".to_owned(),
                share => format!("reading{}", theme::percent(share)),
            };
            if running(ui, &words, "Stop decomposing") {
                slot.cancel();
            }
        }
    }

    fn start(&mut self, jobs: &Jobs, place: (Key, Slice), array: &Arc<dyn Array>) {
        if self.spectra.len() >= KEPT {
            self.spectra.retain(|_, slot| slot.is_busy());
        }
        let (of, plane, slot) = (array.clone(), place.1.clone(), Slot::default());
        slot.get(jobs, &(), JobSpec::scan("singular values"), move |task| spectrum(&*of, task, &plane));
        self.spectra.insert(place, slot);
    }
}

/// What runs, with a button that stops it; whether it was clicked.
fn running(ui: &mut Ui, words: &str, stop: &str) -> bool {
    ui.ctx().request_repaint_after_secs(0.1);
    let row = ui.horizontal(|ui| {
        ui.label(theme::dim(Theme::of(ui), words));
        theme::icon_button(ui, Icon::Close, stop).clicked()
    });
    row.inner
}

fn failed(ui: &mut Ui, words: &str) {
    ui.add(egui::Label::new(egui::RichText::new(words).color(Theme::of(ui).bad)).wrap());
}

/// Two passes over the elements.
fn facts(array: &dyn Array, task: &Task) -> Result<Facts> {
    task.set_total(limits::bytes(array.shape(), array.dtype().size())?);
    let stats = tensor(array, task)?;
    let bits = bit_use(array, task)?;
    let is_counted = stats.count < COUNTED || array.dtype().bits() <= 16 && !is_blocks(array.dtype());
    let note = if is_counted { "exact" } else { "exact · quantiles to 1 %" };
    Ok(Facts { lines: lines(array.dtype(), &stats, &bits), note })
}

fn is_blocks(dtype: &DType) -> bool {
    matches!(dtype, DType::Blocks(_))
}

fn lines(dtype: &DType, stats: &TensorStats, bits: &BitUse) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    if let Some(distribution) = &stats.distribution {
        let q = &distribution.quantiles;
        lines.push(("median", short(q.median)));
        let pairs = [
            ("25 – 75 %", q.q25, q.q75),
            ("5 – 95 %", q.q05, q.q95),
            ("1 – 99 %", q.q01, q.q99),
            ("0.1 – 99.9 %", q.q001, q.q999),
        ];
        lines.extend(pairs.map(|(name, low, high)| (name, format!("{} … {}", short(low), short(high)))));
        lines.push(("L1 norm", short(bits.magnitudes)));
    }
    lines.extend(stats.norm.map(|norm| ("L2 norm", short(norm))));
    if let (Some(min), Some(max)) = (stats.min, stats.max) {
        lines.push(("L∞ norm", short(min.abs().max(max.abs()))));
    }
    lines.extend(stats.rms().map(|rms| ("root mean square", short(rms))));
    let share = 100.0 * stats.zeros as f64 / stats.count.max(1) as f64;
    lines.push(("zeros", format!("{} ({} %)", display::count(stats.zeros), display::brief(share))));
    if let (Some((least, _)), Some((most, _))) = (bits.exponents.first(), bits.exponents.last()) {
        let count = bits.exponents.len();
        lines.push(("exponents in use", format!("2^{least} … 2^{most} · {count}")));
    }
    if bits.finite > bits.zeros && !is_blocks(dtype) && bits.mantissa > 0 {
        lines.push(("mantissa bits in use", format!("{} of {}", bits.used, bits.mantissa)));
        let fits: Vec<String> = bits.fits().into_iter().map(DType::to_string).collect();
        if !fits.is_empty() {
            lines.push(("all values fit", fits.join(", ")));
        } else {
            let held = bits.narrow.iter().filter(|(kind, _)| matches!(kind, DType::BF16 | DType::F16));
            lines.extend(held.map(|(kind, count)| {
                let name = if *kind == DType::BF16 { "exact in bfloat16" } else { "exact in float16" };
                (name, format!("{} %", display::brief(100.0 * *count as f64 / bits.finite as f64)))
            }));
        }
    }
    lines
}

fn spectrum_lines(spectrum: &Spectrum) -> Vec<(&'static str, String)> {
    let number = |value: Option<f64>| value.map_or("–".to_owned(), short);
    let mut lines = vec![
        ("largest σ₁", number(spectrum.values.first().copied())),
        ("smallest", number(spectrum.values.last().copied())),
        ("stable rank", number(spectrum.stable_rank)),
        ("effective rank", number(spectrum.effective_rank)),
        ("rank", format!("{} of {}", spectrum.rank, spectrum.values.len())),
    ];
    lines.push((
        "condition number",
        spectrum.condition.map_or_else(
            || {
                let largest = spectrum.values.first().copied().unwrap_or(0.0);
                if largest > 0.0 {
                    format!("> {}", short(largest / spectrum.floor))
                } else {
                    "–".to_owned()
                }
            },
            short,
        ),
    ));
    if let Some(tail) = &spectrum.tail {
        lines.push(("tail exponent α", format!("{:.2} ± {:.2}", tail.alpha, tail.sigma)));
        lines.push(("tail from λ", format!("{} · {} of them", short(tail.x_min), tail.count)));
        lines.push(("distance (KS)", short(tail.distance)));
    }
    lines
}

/// Singular values by their rank, the largest first, on a scale of powers of ten.
fn plot(ui: &mut Ui, spectrum: &Spectrum) {
    const HEIGHT: f32 = 88.0;
    let theme = Theme::of(ui);
    let values = spectrum.values.get(..spectrum.rank).unwrap_or_default();
    let (Some(&high), Some(&low)) = (values.first(), values.last()) else { return };
    ui.add_space(space::S2);
    let (area, response) = ui.allocate_exact_size(vec2(ui.available_width(), HEIGHT), Sense::hover());
    response.widget_info(|| WidgetInfo::labeled(egui::Role::Image, true, "Plot of the singular values"));
    let (top, bottom) = (high.log10(), low.log10());
    let span = (top - bottom).max(1e-9);
    let last = (values.len().max(2) - 1) as f32;
    let at = |n: usize, value: f64| -> Pos2 {
        let y = ((value.log10() - bottom) / span) as f32;
        pos2(area.left() + n as f32 / last * area.width(), area.bottom() - y * area.height())
    };
    let painter = ui.painter();
    painter.rect_filled(area, 2.0, theme.bg2);
    for power in bottom.ceil() as i32..=top.floor() as i32 {
        let y = at(0, 10f64.powi(power)).y;
        painter.hline(area.x_range(), y, theme.hairline());
    }
    // No more points than there are pixels to tell them apart.
    let step = (values.len() / 1000).max(1);
    let points = values.iter().enumerate().step_by(step).map(|(n, value)| at(n, *value)).collect();
    painter.add(Shape::line(points, Stroke::new(1.5, theme.accent)));
    let hovered = response.hover_pos().map(|pointer| {
        let n = ((pointer.x - area.left()) / area.width() * last).round().max(0.0) as usize;
        n.min(values.len() - 1)
    });
    let value = hovered.and_then(|n| Some((n, *values.get(n)?)));
    if let Some((n, value)) = value {
        painter.circle_filled(at(n, value), 3.0, theme.accent);
    }
    ends(ui, area, &short(high), &short(low));
    if let Some((n, value)) = value {
        response.on_hover_text(format!("σ{} = {}", n + 1, short(value)));
    }
}

/// The first and the last value, below the plot.
fn ends(ui: &mut Ui, area: Rect, first: &str, last: &str) {
    let theme = Theme::of(ui);
    let (line, _) = ui.allocate_exact_size(vec2(area.width(), 16.0), Sense::hover());
    let painter = ui.painter();
    painter.text(line.left_center(), Align2::LEFT_CENTER, first, mono_small_font(), theme.dim);
    painter.text(line.center(), Align2::CENTER_CENTER, "log", mono_small_font(), theme.dim);
    painter.text(line.right_center(), Align2::RIGHT_CENTER, last, mono_small_font(), theme.dim);
}

#[cfg(test)]
mod tests;
