//! The summary page of a table: a line for each column — how its values spread, which are frequent, what is
//! missing, what looks odd — and how the numeric ones go together. First what the file's footer says, soon a
//! sample, all rows when that is asked for.

mod facts;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use egui::{Align, Align2, Layout, Pos2, Rect, Role, ScrollArea, Sense, Ui, WidgetInfo, pos2, vec2};
use gander::bytes::display;
use gander::bytes::error::Error;
use gander::data::content::ColumnStatistics;
use gander::data::content::Table;
use gander::data::stats::summary::{
    Correlation, Depth, Summaries, Summary, correlation, exact, integer_text, sampled,
};
use gander::jobs::{JobSpec, Jobs, Slot};

use super::column_summaries::{Click, bar, percent};
use super::model::Sheet;
use crate::gui::icons::Icon;
use crate::gui::theme::{self, Theme, body_font, mono_small_font, size, small_font, space};
use crate::gui::ui::paint_elided;

/// The height of a line.
const LINE: f32 = 76.0;
/// Columns of one job.
const COLUMNS: usize = 24;
/// Of wider tables all rows are read for these many columns at a time.
const WIDE: usize = 500;

type Known = std::result::Result<Arc<Summary>, String>;

/// What is known, and what runs.
#[derive(Default)]
pub(super) struct Page {
    /// The table that this is about, by its place in memory.
    of: usize,
    known: HashMap<usize, Known>,
    /// The columns of which that is so with the rows that are there now.
    fresh: HashSet<usize>,
    /// How many rows there were when that began, and whether all were.
    seen: Option<(u64, bool)>,
    depth: Option<Depth>,
    slot: Slot<Vec<usize>, Summaries>,
    /// The columns of which all rows are read now, and the pass over them.
    passed: Vec<usize>,
    whole: Slot<Vec<usize>, Summaries>,
    matrix: Slot<(), Correlation>,
    show_matrix: bool,
}

impl Page {
    fn forget(&mut self) {
        self.passed.clear();
        self.whole.clear();
        self.slot.clear();
        self.matrix.clear();
        self.known.clear();
        self.fresh.clear();
        self.seen = None;
        self.depth = None;
    }

    /// Looks again where more rows came, or the last of them: a filter finds them one by one. What was told of the first
    /// ones stays until then.
    fn look_again(&mut self, table: &Arc<dyn Table>) {
        let rows = table.rows();
        let now = (rows.number(), rows.exact().is_some());
        let more =
            |(seen, all): (u64, bool)| !all && (now.1 || now.0 >= seen.saturating_mul(2).max(seen + 1_000));
        if self.seen.is_none_or(more) {
            self.seen = Some(now);
            self.fresh.clear();
            self.slot.clear();
            self.matrix.clear();
        }
    }

    /// Draws the page into all that is left of `ui`; what was clicked, and in which column.
    pub(super) fn ui(
        &mut self,
        ui: &mut Ui,
        jobs: &Jobs,
        sheet: &mut Sheet,
        name: &str,
    ) -> Option<(usize, Click)> {
        let table = &sheet.table.clone();
        let place = Arc::as_ptr(table).cast::<()>() as usize;
        if self.of != place {
            self.forget();
            self.of = place;
        }
        self.look_again(table);
        self.take_whole(jobs, table, name);
        let columns = table.schema().fields().len();
        let theme = Theme::of(ui);
        ui.painter().rect_filled(ui.max_rect(), 0.0, theme.bg2);
        self.head(ui, sheet);
        let mut clicked = None;
        let mut sight = 0..0;
        ScrollArea::vertical().id_salt("summary").auto_shrink(false).show_viewport(ui, |ui, view| {
            let below = if self.show_matrix { matrix_height(columns) } else { 0.0 };
            ui.set_height(columns as f32 * LINE + below);
            let first = (view.top() / LINE).max(0.0) as usize;
            let last = ((view.bottom() / LINE).ceil().max(0.0) as usize).min(columns);
            sight = first.min(last)..last;
            let origin = ui.max_rect().min;
            let width = ui.max_rect().width();
            for column in sight.clone() {
                let at = pos2(origin.x, origin.y + column as f32 * LINE);
                let rect = Rect::from_min_size(at, vec2(width, LINE));
                if let Some(click) = self.line(ui, rect, column, sheet) {
                    clicked = Some((column, click));
                }
            }
            if self.show_matrix {
                let at = pos2(origin.x, origin.y + columns as f32 * LINE);
                self.matrix(ui, Rect::from_min_size(at, vec2(width, below)), jobs, table);
            }
        });
        sheet.want_stored(jobs, &sight.clone().collect::<Vec<_>>());
        self.want(jobs, table, sight.collect());
        clicked
    }

    /// Asks for a sample of the columns in sight.
    fn want(&mut self, jobs: &Jobs, table: &Arc<dyn Table>, sight: Vec<usize>) {
        let missing: Vec<usize> =
            sight.into_iter().filter(|c| !self.fresh.contains(c)).take(COLUMNS).collect();
        if missing.is_empty() || table.rows().number() == 0 && table.rows().exact().is_none() {
            return;
        }
        let (source, wanted) = (table.clone(), missing.clone());
        let shown = self.slot.get(jobs, &missing, JobSpec::view("a sample for the summary"), move |task| {
            sampled(source.as_ref(), task, &wanted)
        });
        if let Some(found) = shown.ready() {
            self.depth = Some(found.depth);
            self.keep(&missing, &found);
            jobs.wake();
        } else if let Some(error) = shown.error {
            self.fresh.extend(missing.iter().copied());
            missing.into_iter().for_each(|column| drop(self.known.insert(column, Err(error.to_string()))));
        }
    }

    fn keep(&mut self, columns: &[usize], found: &Summaries) {
        for (column, summary) in columns.iter().zip(&found.columns) {
            let known = summary.as_ref().map(|s| Arc::new(s.clone())).map_err(ToString::to_string);
            self.known.insert(*column, known);
            self.fresh.insert(*column);
        }
    }

    /// Follows the pass over all rows.
    fn take_whole(&mut self, jobs: &Jobs, table: &Arc<dyn Table>, name: &str) {
        if self.passed.is_empty() {
            return;
        }
        let (source, wanted) = (table.clone(), self.passed.clone());
        let title = format!("summary of {name}");
        let shown = self
            .whole
            .get(jobs, &self.passed, JobSpec::scan(title), move |task| exact(source.as_ref(), task, &wanted));
        let Some(done) = shown.answer() else { return };
        let columns = std::mem::take(&mut self.passed);
        self.whole.clear();
        if let Ok(found) = done {
            self.depth = Some(found.depth);
            if columns.len() < self.known.len() {
                self.known.clear();
            }
            // All rows are as many as there are by now.
            self.seen = Some((found.rows, true));
            self.fresh.clear();
            self.keep(&columns, &found);
        }
    }

    /// The line above: how deep this looked, and what can be asked.
    fn head(&mut self, ui: &mut Ui, sheet: &Sheet) {
        let (theme, table) = (Theme::of(ui), &sheet.table);
        let in_file = || sheet.heads.has_stored();
        ui.horizontal(|ui| {
            ui.set_height(size::BAR);
            ui.add_space(space::S2);
            let (words, color) = match self.depth {
                None if in_file() => ("From the file's footer".to_owned(), theme.dim),
                None => ("…".to_owned(), theme.dim),
                Some(Depth::Exact) => {
                    (format!("From all {} rows", super::model::rows(table.rows()).words()), theme.good)
                }
                Some(Depth::Sampled(rows)) if table.rows().exact().is_none() => {
                    (format!("From the first {} rows", display::count(rows)), theme.dim)
                }
                Some(Depth::Sampled(rows)) => {
                    let all = super::model::rows(table.rows()).words();
                    (format!("From a sample of {} of {all} rows", display::count(rows)), theme.dim)
                }
            };
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                ui.add_space(space::S2);
                let shown = if self.show_matrix { "Hide correlations" } else { "Correlations" };
                if theme::button(ui, shown).clicked() {
                    self.show_matrix = !self.show_matrix;
                }
                let whole = self.whole.peek(&self.passed);
                if whole.runs() {
                    ui.label(theme::dim(
                        theme,
                        format!("reading all rows{}", theme::percent(whole.progress())),
                    ));
                    if theme::icon_button(ui, Icon::Stop, "Stop reading").clicked() {
                        self.passed.clear();
                        self.whole.clear();
                    }
                    ui.ctx().request_repaint_after(std::time::Duration::from_millis(150));
                } else if self.depth.is_some_and(|depth| depth != Depth::Exact)
                    && theme::button(ui, "Read all rows")
                        .on_hover_text("One pass over the whole table")
                        .clicked()
                {
                    self.passed = self.all_columns(table);
                }
                ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                    ui.add(egui::Label::new(egui::RichText::new(&words).color(color)).truncate())
                        .on_hover_text(&words);
                });
            });
        });
    }

    /// The columns of which all rows are read: of wide tables those that were looked at.
    fn all_columns(&self, table: &Arc<dyn Table>) -> Vec<usize> {
        let all = table.schema().fields().len();
        if all <= WIDE {
            return (0..all).collect();
        }
        let mut known: Vec<usize> = self.known.keys().copied().collect();
        known.sort_unstable();
        known.truncate(WIDE);
        known
    }

    /// One column; what was clicked.
    fn line(&self, ui: &mut Ui, rect: Rect, column: usize, sheet: &Sheet) -> Option<Click> {
        let (theme, table) = (Theme::of(ui), &sheet.table);
        let field = table.schema().fields().get(column)?.clone();
        ui.painter().hline(rect.x_range(), rect.bottom() - 0.5, theme.hairline());
        let left = rect.left() + space::S3;
        let wide = (rect.width() * 0.2).clamp(110.0, 220.0);
        let text = |ui: &Ui, at: Pos2, room: f32, words: &str, font: egui::FontId, color: egui::Color32| {
            paint_elided(ui.painter(), at, Align2::LEFT_TOP, words, font, color, room);
        };
        text(ui, pos2(left, rect.top() + 8.0), wide, field.name(), body_font(), theme.text);
        let kind = gander::bytes::display::short_arrow_type(table.column_type(column), 60);
        text(ui, pos2(left, rect.top() + 28.0), wide, &kind, small_font(), theme.dim);
        let summary = match self.known.get(&column) {
            Some(Err(error)) => {
                let at = pos2(left + wide, rect.top() + 8.0);
                text(ui, at, rect.width() - wide - 20.0, error, body_font(), theme.bad);
                return None;
            }
            Some(Ok(summary)) => Some(summary.as_ref()),
            None => None,
        };
        // What all rows told needs no footer.
        let stored = sheet.heads.stored(column).filter(|_| self.depth != Some(Depth::Exact));
        if summary.is_none() && stored.is_none() {
            return None;
        }
        let (missing, some) = missing_words(summary, stored, table.rows().exact());
        let color = if some { theme.warn } else { theme.dim };
        text(ui, pos2(left, rect.top() + 46.0), wide, &missing, small_font(), color);
        let picture = Rect::from_min_size(
            pos2(left + wide + space::S3, rect.top() + 8.0),
            vec2((rect.width() * 0.24).clamp(110.0, 200.0), LINE - 18.0),
        );
        let click = summary.and_then(|summary| picture_ui(ui, picture, (column, field.name()), summary));
        let figures = Rect::from_min_max(
            pos2(picture.right() + space::S4, rect.top() + 8.0),
            rect.max - vec2(space::S2, 4.0),
        );
        facts::ui(ui, figures, column, &facts::Known { summary, stored, table });
        click
    }

    fn matrix(&mut self, ui: &mut Ui, rect: Rect, jobs: &Jobs, table: &Arc<dyn Table>) {
        let theme = Theme::of(ui);
        let source = table.clone();
        let shown = self.matrix.get(jobs, &(), JobSpec::scan("correlations"), move |task| {
            let all: Vec<usize> = (0..source.schema().fields().len()).collect();
            correlation(source.as_ref(), task, &all)
        });
        let at = rect.min + vec2(space::S3, space::S3);
        let say = |words: String| {
            ui.painter().text(at, Align2::LEFT_TOP, words, body_font(), theme.dim);
        };
        if shown.error.as_ref().is_some_and(Error::is_cancelled) {
            let place = Rect::from_min_max(at, rect.max);
            let mut child = ui.new_child(egui::UiBuilder::new().max_rect(place).id_salt("correlations"));
            if theme::cancelled_line(&mut child) {
                self.matrix.clear();
            }
            return;
        }
        if let Some(error) = shown.error {
            return say(format!("Correlations: {error}"));
        }
        let Some(found) = shown.ready() else {
            return say("Correlations…".to_owned());
        };
        let count = found.columns.len();
        if count < 2 {
            return say("There are no two numeric columns".to_owned());
        }
        say(format!("Pearson's correlation, of a sample of {} rows", display::count(found.rows)));
        let names = 150.0;
        let side = ((rect.width() - names - 40.0) / count as f32).clamp(6.0, 36.0);
        let origin = at + vec2(names, 28.0);
        let name = |n: usize| {
            found.columns.get(n).and_then(|c| table.schema().fields().get(*c)).map_or("", |f| f.name())
        };
        let pointer = ui.input(|input| input.pointer.hover_pos());
        let mut tip = None;
        for (index, &value) in found.values.iter().enumerate() {
            let (row, column) = (index / count, index % count);
            let cell = Rect::from_min_size(
                origin + vec2(column as f32 * side, row as f32 * side),
                vec2(side - 1.0, side - 1.0),
            );
            let color = match value {
                v if v.is_nan() => theme.bg3,
                v if v < 0.0 => theme.bg1.lerp_to_gamma(theme.bad, (-v) as f32),
                v => theme.bg1.lerp_to_gamma(theme.accent, v as f32),
            };
            ui.painter().rect_filled(cell, 1.0, color);
            if side >= 30.0 && !value.is_nan() {
                let words = format!("{value:.2}");
                ui.painter().text(cell.center(), Align2::CENTER_CENTER, words, mono_small_font(), theme.text);
            }
            if pointer.is_some_and(|at| cell.contains(at)) {
                tip = Some((cell, format!("{} and {}: {value:.3}", name(row), name(column))));
            }
            if column == 0 {
                let at = pos2(origin.x - space::S2, cell.center().y);
                let words: String = name(row).chars().take(22).collect();
                ui.painter().text(at, Align2::RIGHT_CENTER, words, small_font(), theme.dim);
            }
        }
        if let Some((cell, words)) = tip {
            ui.interact(cell, ui.unique_id().with("correlation"), Sense::hover()).on_hover_text(words);
        }
    }
}

fn matrix_height(columns: usize) -> f32 {
    60.0 + 36.0 * columns.min(64) as f32
}

/// What is missing in a column, and whether anything is: the nulls that the file names before those of a sample.
fn missing_words(
    summary: Option<&Summary>,
    stored: Option<&ColumnStatistics>,
    rows: Option<u64>,
) -> (String, bool) {
    let mut parts = Vec::new();
    let in_file = stored.and_then(ColumnStatistics::null_count).zip(rows.filter(|rows| *rows > 0));
    let seen = summary.map(|summary| (summary.nulls, summary.rows));
    let share = |count: u64, of: u64| percent(count as f64 / of.max(1) as f64);
    match (in_file, seen) {
        (Some((nulls, rows)), _) if nulls > 0 => parts.push(format!("{} null, in file", share(nulls, rows))),
        (None, Some((nulls, rows))) if nulls > 0 => parts.push(format!("{} null", share(nulls, rows))),
        _ => {}
    }
    let unfit = summary.map_or(0, |summary| summary.unfit);
    let some = !parts.is_empty() || unfit > 0;
    if let Some(summary) = summary {
        for (count, words) in [(unfit, "of another type"), (summary.nan, "NaN"), (summary.inf, "infinite")] {
            if count > 0 {
                parts.push(format!("{} {words}", share(count, summary.rows)));
            }
        }
    }
    // Of a file that does not say it, nothing is known before the sample is there.
    let words = match (parts.is_empty(), summary, in_file) {
        (false, ..) => parts.join(", "),
        (true, Some(_), _) => "nothing missing".to_owned(),
        (true, None, Some(_)) => "no nulls, in file".to_owned(),
        (true, None, None) => String::new(),
    };
    (words, some)
}

/// The histogram or the frequent values; what was clicked.
fn picture_ui(ui: &mut Ui, area: Rect, (column, name): (usize, &str), summary: &Summary) -> Option<Click> {
    let theme = Theme::of(ui);
    let color = theme.bg1.lerp_to_gamma(theme.accent, 0.75);
    // By the keyboard the column's filter offers the same values.
    let response = ui.interact(area, ui.scope_id().with(("summary", column)), Sense::CLICK);
    let words = if summary.histogram.is_some() { "Histogram" } else { "Frequent values" };
    response.widget_info(|| WidgetInfo::labeled(Role::Image, true, format!("{words} of {name}")));
    let place = response.hover_pos().filter(|at| area.contains(*at));
    let clicked = response.clicked();
    if let Some(histogram) = &summary.histogram {
        let most = histogram.counts.iter().copied().max().unwrap_or(1).max(1) as f32;
        let step = area.width() / histogram.counts.len().max(1) as f32;
        for (bin, &count) in histogram.counts.iter().enumerate() {
            let height = (count as f32 / most * area.height()).max(if count > 0 { 1.5 } else { 0.5 });
            let left = area.left() + bin as f32 * step;
            let bar = Rect::from_min_max(
                pos2(left, area.bottom() - height),
                pos2(left + (step - 1.0).max(1.0), area.bottom()),
            );
            ui.painter().rect_filled(bar, 0.0, color);
        }
        let bin = (((place?.x - area.left()) / step) as usize).min(histogram.counts.len().checked_sub(1)?);
        let asked = bar(histogram, bin)?;
        let (low, high) = match &asked {
            Click::Integers(low, high) => {
                (integer_text(*low, &summary.data_type), integer_text(*high, &summary.data_type))
            }
            _ => {
                (summary.text_of(*histogram.edges.get(bin)?), summary.text_of(*histogram.edges.get(bin + 1)?))
            }
        };
        let count = histogram.counts.get(bin).copied().unwrap_or(0);
        response.on_hover_text(format!("{low} to {high}: {}\nClick to filter", display::count(count)));
        return clicked.then_some(asked);
    }
    let most = summary.top.first().map_or(1, |(_, count)| *count).max(1) as f32;
    let line = area.height() / 4.0;
    for (n, (text, count)) in summary.top.iter().take(4).enumerate() {
        let top = area.top() + n as f32 * line;
        let width = (*count as f32 / most * 70.0).max(2.0);
        ui.painter().rect_filled(
            Rect::from_min_size(pos2(area.left(), top + 3.0), vec2(width, line - 6.0)),
            1.0,
            color,
        );
        let mut words: String = text.chars().take(24).map(|c| if c.is_control() { ' ' } else { c }).collect();
        words += &format!("  {}", display::count(*count));
        let at = pos2(area.left() + width + 6.0, top + line / 2.0);
        ui.painter().with_clip_rect(area).text(at, Align2::LEFT_CENTER, words, small_font(), theme.dim);
    }
    let n = ((place?.y - area.top()) / line) as usize;
    let (text, count) = summary.top.get(n)?;
    let of = if summary.top_sampled { " in the sample" } else { "" };
    response.on_hover_text(format!("{text}\n{}{of}\nClick to filter", display::count(*count)));
    clicked.then(|| Click::Value(text.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nulls_of_the_file_are_told_before_any_row_was_read() {
        let words = |nulls| {
            let stored = ColumnStatistics::only_nulls(&arrow::datatypes::DataType::Int64, vec![nulls].into());
            missing_words(None, Some(&stored), Some(200))
        };
        assert_eq!(words(Some(50)), ("25 % null, in file".to_owned(), true));
        assert_eq!(words(Some(0)), ("no nulls, in file".to_owned(), false));
        assert_eq!(words(None), (String::new(), false));
    }
}
