//! The Statistics section: what the file says at once; then a sample; then everything — by itself where
//! that is little, else when it is asked for — each labelled as what it is.

use std::collections::HashMap;
use std::sync::Arc;

use egui::{Align2, Rect, Sense, Ui, WidgetInfo, pos2, vec2};
use gander::bytes::display;
use gander::bytes::error::{Error, Result};
use gander::bytes::limits;
use gander::data::content::{Array, Content, Image, Table};
use gander::data::stats::Histogram;
use gander::jobs::{JobSpec, Jobs, Slot};

use super::Key;
use super::details::Known;
use super::numbers::{self, Numbers};
use crate::gui::theme::{self, Theme, mono_small_font, space};
use crate::gui::ui::key_value;
use crate::gui::views::{Subject, Target};
use gander::bytes::display::short_number;

/// Columns of so many rows are scanned without being asked.
const ROWS: u64 = 300_000;
/// Arrays of so many bytes are.
const BYTES: u64 = 64 << 20;
/// Results that are kept.
const KEPT: usize = 200;

/// What statistics are of.
#[derive(Clone)]
enum Of {
    Column(Arc<dyn Table>, usize),
    Array(Arc<dyn Array>),
    Image(Arc<dyn Image>),
}

/// A pass over all of it.
struct Scan {
    numbers: Slot<(), Numbers>,
    /// Nobody asked for it: it ends when something else is shown.
    by_itself: bool,
}

/// The state of the section.
#[derive(Default)]
pub(super) struct Statistics {
    sample: Slot<Key, Numbers>,
    scans: HashMap<Key, Scan>,
}

impl Statistics {
    pub(super) fn ui(&mut self, ui: &mut Ui, jobs: &Jobs, key: &Key, target: &Target, known: &Known) {
        self.tidy(key);
        let Some(of) = of(target, &key.2) else { return };
        let little = of.is_little();
        if little && !self.scans.contains_key(key) {
            self.scan(jobs, key, &of, true);
        }
        let exact = self.scans.get(key).and_then(|scan| scan.numbers.peek(&()).answer());
        let stopped = |exact: &Result<_>| exact.as_ref().is_err_and(Error::is_cancelled);
        let exact = exact.filter(|exact| !stopped(exact));
        let sample = if exact.is_none() && !little { self.sample(jobs, key, &of) } else { None };
        super::section(ui, "Statistics", |ui| {
            let numbers = match (&exact, &sample) {
                (Some(Ok(numbers)), _) => Some(numbers),
                (_, Some(Ok(numbers))) => Some(numbers),
                _ => None,
            };
            let error = [&exact, &sample].into_iter().flatten().find_map(|result| result.as_ref().err());
            self.contents(ui, jobs, key, &of, known, numbers, error);
        });
    }

    #[allow(clippy::too_many_arguments, reason = "one place draws all that there may be")]
    fn contents(
        &mut self,
        ui: &mut Ui,
        jobs: &Jobs,
        key: &Key,
        of: &Of,
        known: &Known,
        numbers: Option<&Arc<Numbers>>,
        error: Option<&Error>,
    ) {
        let theme = Theme::of(ui);
        let stored = stored_lines(known);
        let note = match numbers {
            Some(numbers) => {
                Some((numbers.note.as_str(), if numbers.exact { theme.good } else { theme.warn }))
            }
            None if !stored.is_empty() => Some(("from the file", theme.good)),
            None => None,
        };
        theme::section_head(ui, "Statistics", note);
        ui.add_space(space::S2);
        match numbers {
            Some(numbers) => {
                for (name, value) in &numbers.lines {
                    key_value(ui, name, value);
                }
                if let Some(histogram) = &numbers.histogram {
                    draw(ui, histogram);
                }
                if let Some(unread) = &numbers.unread {
                    ui.add(egui::Label::new(egui::RichText::new(unread).color(theme.bad)).wrap());
                }
                if !numbers.exact && !stored.is_empty() {
                    ui.add_space(space::S2);
                    theme::section_head(ui, "Of all rows", Some(("from the file", theme.good)));
                    stored.iter().for_each(|(name, value)| drop(key_value(ui, name, value)));
                }
            }
            None => stored.iter().for_each(|(name, value)| drop(key_value(ui, name, value))),
        }
        if let Some(error) = error.filter(|error| !error.is_cancelled()) {
            ui.add(egui::Label::new(egui::RichText::new(error.to_string()).color(theme.bad)).wrap());
        }
        if numbers.is_none_or(|numbers| !numbers.exact) {
            self.button(ui, jobs, key, of, error.is_some() || numbers.is_some() || !stored.is_empty());
        }
    }

    /// What runs, or a button that starts it.
    fn button(&mut self, ui: &mut Ui, jobs: &Jobs, key: &Key, of: &Of, something: bool) {
        let theme = Theme::of(ui);
        if let Some(scan) = self.scans.get(key) {
            let shown = scan.numbers.peek(&());
            if shown.ready().is_some() {
                return;
            }
            if shown.runs() {
                ui.horizontal(|ui| {
                    ui.label(theme::dim(theme, format!("scanning{}", theme::percent(shown.progress()))));
                    if theme::icon_button(ui, crate::gui::icons::Icon::Close, "Stop scanning").clicked() {
                        scan.numbers.cancel();
                    }
                });
                return;
            }
        }
        ui.add_space(if something { space::S2 } else { 0.0 });
        let scan = self.scans.get(key).and_then(|scan| scan.numbers.peek(&()).error);
        if scan.is_some_and(|error| error.is_cancelled()) {
            ui.label(theme::dim(theme, "Cancelled"));
        }
        if theme::button(ui, of.words()).clicked() {
            self.scan(jobs, key, of, false);
        }
    }

    fn sample(&self, jobs: &Jobs, key: &Key, of: &Of) -> Option<Result<Arc<Numbers>>> {
        if let Of::Image(_) = of {
            return None;
        }
        let from = of.clone();
        let shown =
            self.sample.get(jobs, key, JobSpec::view("statistics of a sample"), move |task| match from {
                Of::Column(table, column) => numbers::column_sample(&*table, task, column),
                Of::Array(array) => numbers::array_sample(&*array, task),
                Of::Image(image) => numbers::image_exact(&*image, task),
            });
        shown.answer()
    }

    fn scan(&mut self, jobs: &Jobs, key: &Key, of: &Of, by_itself: bool) {
        let (from, numbers) = (of.clone(), Slot::default());
        numbers.get(jobs, &(), JobSpec::scan("statistics"), move |task| match &from {
            Of::Column(table, column) => numbers::column_exact(&**table, task, *column),
            Of::Array(array) => numbers::array_exact(&**array, task),
            Of::Image(image) => numbers::image_exact(&**image, task),
        });
        self.scans.insert(key.clone(), Scan { numbers, by_itself });
    }

    /// Ends what nobody asked for and nobody looks at, and forgets the oldest.
    fn tidy(&mut self, key: &Key) {
        self.scans.retain(|other, scan| other == key || !scan.by_itself || !scan.numbers.peek(&()).runs());
        if self.scans.len() > KEPT {
            self.scans.retain(|other, scan| other == key || scan.numbers.peek(&()).runs());
        }
    }
}

fn of(target: &Target, subject: &Subject) -> Option<Of> {
    match &target.node.content {
        Some(Content::Table(table)) => match subject {
            Subject::Column(column) if *column < table.schema().fields().len() => {
                Some(Of::Column(table.clone(), *column))
            }
            _ => None,
        },
        Some(Content::Array(array)) => {
            let counts = array.dtype().is_real() || array.dtype().is_complex();
            counts.then(|| Of::Array(array.clone()))
        }
        Some(Content::Image(image)) => matches!(subject, Subject::Node).then(|| Of::Image(image.clone())),
        Some(Content::Text(_) | Content::Graph(_) | Content::Bytes(_)) | None => None,
    }
}

impl Of {
    fn is_little(&self) -> bool {
        match self {
            Of::Column(table, _) => table.rows().exact().is_some_and(|rows| rows <= ROWS),
            Of::Array(array) => {
                limits::bytes(array.shape(), array.dtype().size().max(1)).is_ok_and(|bytes| bytes <= BYTES)
            }
            Of::Image(image) => {
                let info = image.info();
                let shape = [info.width, info.height, info.channels.into()];
                limits::bytes(&shape, info.sample.size() as u64).is_ok_and(|bytes| bytes <= BYTES)
            }
        }
    }

    fn words(&self) -> &'static str {
        match self {
            Of::Column(..) => "Scan all rows",
            Of::Array(_) => "Scan all elements",
            Of::Image(_) => "Scan all pixels",
        }
    }
}

/// What the file itself says.
fn stored_lines(known: &Known) -> Vec<(&'static str, String)> {
    let Some(stored) = &known.stored else { return Vec::new() };
    let mut lines = Vec::new();
    if let Some(nulls) = stored.null_count() {
        lines.push(("null", display::count(nulls)));
    }
    if let Some(distinct) = stored.distinct {
        lines.push(("distinct", display::count(distinct)));
    }
    let (min, max) = if stored.exact { ("min", "max") } else { ("min (bound)", "max (bound)") };
    for (name, value) in [(min, stored.min_text()), (max, stored.max_text())] {
        lines.extend(value.map(|value| (name, value)));
    }
    lines
}

/// A histogram over the whole width, with its limits below.
fn draw(ui: &mut Ui, histogram: &Histogram) {
    const HEIGHT: f32 = 72.0;
    let theme = Theme::of(ui);
    ui.add_space(space::S2);
    let (area, response) = ui.allocate_exact_size(vec2(ui.available_width(), HEIGHT), Sense::hover());
    response.widget_info(|| WidgetInfo::labeled(egui::Role::Image, true, "Histogram"));
    let bins = histogram.counts.len().max(1);
    let most = histogram.counts.iter().copied().max().unwrap_or(1).max(1) as f32;
    let step = area.width() / bins as f32;
    let hovered = response.hover_pos().map(|at| (((at.x - area.left()) / step) as usize).min(bins - 1));
    for (index, &count) in histogram.counts.iter().enumerate() {
        let least = if count > 0 { 1.5 } else { 0.5 };
        let height = (count as f32 / most * area.height()).max(least);
        let left = area.left() + index as f32 * step;
        let bar = Rect::from_min_max(
            pos2(left, area.bottom() - height),
            pos2(left + (step - 1.0).max(1.0), area.bottom()),
        );
        let strength = if hovered == Some(index) { 1.0 } else { 0.75 };
        ui.painter().rect_filled(bar, 0.0, theme.bg1.lerp_to_gamma(theme.accent, strength));
    }
    let (line, _) = ui.allocate_exact_size(vec2(area.width(), 16.0), Sense::hover());
    if let Some((low, high)) = histogram.ends(short_number) {
        let painter = ui.painter();
        painter.text(line.left_center(), Align2::LEFT_CENTER, low, mono_small_font(), theme.dim);
        painter.text(line.right_center(), Align2::RIGHT_CENTER, high, mono_small_font(), theme.dim);
    }
    if let Some(index) = hovered
        && let Some((low, high)) = histogram.limits(index, short_number)
    {
        let count = display::count(histogram.counts.get(index).copied().unwrap_or(0));
        response.on_hover_text(format!("{low} to {high}: {count}"));
    }
}
