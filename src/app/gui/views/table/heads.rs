//! What stands below the names of columns: a small histogram or the most frequent values, and the
//! share of nulls. Of a small table all rows are looked at, of a larger one a few thousand.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Float64Type};
use egui::{Align2, Rect, Sense, Ui, pos2, vec2};
use gander::cell;
use gander::content::Table;
use gander::content::table::{StoredStatistics, read_each};
use gander::error::Result;
use gander::jobs::{Jobs, Slot};
use gander::task::Task;

use crate::gui::theme::{Theme, small_font};

/// The height of what is drawn, in points.
pub(super) const HEIGHT: f32 = 46.0;
/// Tables of at most so many rows are looked at as a whole.
const ALL: u64 = 8192;
/// Rows at each of the places that are looked at in others.
const SAMPLE: u64 = 256;
/// How many places; as many as bins, so that a sorted column looks even.
const PLACES: u64 = 24;
const BINS: usize = 24;
/// Columns of one job.
const COLUMNS: usize = 12;
/// Columns of one job that looks into the footer only.
const FOOTERS: usize = 4096;

/// What is known of a column.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Summary {
    /// Cells that were looked at.
    seen: u64,
    nulls: u64,
    /// Counts of numbers, and their limits.
    bins: Vec<u32>,
    low: f64,
    high: f64,
    /// The most frequent values and their share.
    top: Vec<(String, f32)>,
    /// The same values in full.
    whole: Vec<String>,
    /// Whether only some rows were looked at.
    sampled: bool,
}

/// What was clicked in the head of a column.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Click {
    /// A bar: from one number to another, which belongs to it only in the last bar.
    Range(f64, f64, bool),
    /// A frequent value.
    Value(String),
}

/// The summaries that are there, and what the file itself says of columns.
#[derive(Default)]
pub(super) struct Heads {
    known: HashMap<usize, Arc<Summary>>,
    slot: Slot<Vec<usize>, Vec<Summary>>,
    off: bool,
    /// Whether the rows were all there when this was looked at, and what was known before.
    whole: bool,
    before: HashMap<usize, Arc<Summary>>,
    /// From the footer: of thousands of row groups that takes a while too, so a job gathers it.
    stored: HashMap<usize, Option<StoredStatistics>>,
    footer: Slot<Vec<usize>, Vec<Option<StoredStatistics>>>,
}

impl Heads {
    /// Looks at columns of which nothing is known yet.
    pub(super) fn want(&mut self, jobs: &Jobs, table: &Arc<dyn Table>, columns: &[usize]) {
        let rows = table.rows();
        if rows.exact().is_none() && rows.number() == 0 {
            // A result of which nothing is there yet.
            return;
        }
        if rows.exact().is_some() && !std::mem::replace(&mut self.whole, true) {
            // More rows came: what was told of the first ones stays until all were looked at.
            self.before = std::mem::take(&mut self.known);
            self.slot.clear();
        }
        let missing = columns.iter().copied().filter(|column| !self.known.contains_key(column));
        let missing: Vec<usize> = missing.take(COLUMNS).collect();
        if missing.is_empty() || self.off {
            return;
        }
        let (table, wanted) = (table.clone(), missing.clone());
        let shown = self
            .slot
            .get(jobs, &missing, "summaries of columns", move |task| summaries(&*table, task, &wanted));
        if let Some(list) = shown.value.filter(|_| shown.fresh) {
            for (column, summary) in missing.into_iter().zip(list.iter()) {
                self.known.insert(column, Arc::new(summary.clone()));
            }
            jobs.wake();
        } else if shown.error.is_some() {
            // The cells say why they cannot be read; heads without a picture are no loss.
            self.off = true;
        }
    }

    /// Whether all that will be known of these columns is.
    pub(super) fn has(&self, columns: &[usize]) -> bool {
        self.off || columns.iter().all(|column| self.known.contains_key(column))
    }

    /// Gathers what the file says of columns; true when something came. This reads nothing, so it needs not
    /// wait for the cells.
    pub(super) fn want_stored(&mut self, jobs: &Jobs, table: &Arc<dyn Table>, columns: &[usize]) -> bool {
        if self.stored.len() >= table.schema().fields().len() {
            return false;
        }
        let missing = columns.iter().copied().filter(|column| !self.stored.contains_key(column));
        let missing: Vec<usize> = missing.take(FOOTERS).collect();
        if missing.is_empty() {
            return false;
        }
        let (table, wanted) = (table.clone(), missing.clone());
        let shown = self.footer.get(jobs, &missing, "", move |task| {
            let of = |&column: &usize| task.check().map(|()| table.statistics(column));
            wanted.iter().map(of).collect()
        });
        if let Some(list) = shown.value.filter(|_| shown.fresh) {
            self.stored.extend(missing.into_iter().zip(list.iter().cloned()));
            jobs.wake();
            return true;
        }
        if shown.error.is_some() {
            self.stored.extend(missing.into_iter().map(|column| (column, None)));
        }
        false
    }

    /// What the file says of a column, once it is gathered.
    pub(super) fn stored(&self, column: usize) -> Option<&StoredStatistics> {
        self.stored.get(&column)?.as_ref()
    }

    /// Stops what runs, and asks for no more.
    pub(super) fn cancel(&mut self) {
        self.slot.cancel();
        self.footer.cancel();
        self.off = true;
    }

    /// Draws what is known of a column into `ui`; what was clicked.
    pub(super) fn ui(&self, ui: &mut Ui, column: usize, stored_nulls: Option<f64>) -> Option<Click> {
        let theme = Theme::of(ui);
        let area = ui.max_rect();
        let summary = self.known.get(&column).or_else(|| self.before.get(&column))?;
        let picture =
            Rect::from_min_max(area.min, pos2(area.right().min(area.left() + 150.0), area.bottom() - 13.0));
        if !summary.bins.is_empty() {
            summary.draw_bins(ui, picture, theme);
        } else if !summary.top.is_empty() {
            summary.draw_top(ui, Rect::from_min_max(area.min, pos2(area.right(), picture.bottom())), theme);
        }
        let share =
            stored_nulls.or_else(|| (summary.seen > 0).then(|| summary.nulls as f64 / summary.seen as f64));
        if let Some(share) = share.filter(|share| *share > 0.0) {
            let mark = if summary.sampled && stored_nulls.is_none() { "≈ " } else { "" };
            let words = format!("{mark}{} null", percent(share));
            let at = pos2(area.left(), area.bottom() + 1.0);
            ui.painter().text(at, Align2::LEFT_BOTTOM, words, small_font(), theme.dim);
        }
        let id = ui.unique_id().with(("summary", column));
        if summary.bins.is_empty() && summary.whole.is_empty() {
            ui.interact(area, id, Sense::hover()).on_hover_text(summary.words());
            return None;
        }
        let response = ui.interact(picture, id, Sense::click());
        let clicked = response.clicked().then(|| response.interact_pointer_pos()).flatten();
        let hint = format!("{}\nClick to filter", summary.words());
        response.on_hover_text(hint);
        summary.at(picture, clicked?)
    }
}

/// A share in words.
pub(super) fn percent(share: f64) -> String {
    match share * 100.0 {
        part if part >= 9.95 => format!("{part:.0} %"),
        part if part >= 0.05 => format!("{part:.1} %"),
        _ => "< 0.1 %".to_owned(),
    }
}

impl Summary {
    /// What of the picture in `area` stands at a place.
    fn at(&self, area: Rect, place: egui::Pos2) -> Option<Click> {
        if !self.bins.is_empty() {
            let across = (place.x - area.left()) / area.width() * self.bins.len() as f32;
            let bin = (across.max(0.0) as usize).min(self.bins.len() - 1);
            let edge = |n: usize| self.low + (self.high - self.low) * n as f64 / self.bins.len() as f64;
            let last = bin + 1 == self.bins.len();
            return Some(Click::Range(edge(bin), if last { self.high } else { edge(bin + 1) }, last));
        }
        let line = ((place.y - area.top()) / area.height() * 2.0) as usize;
        self.whole.get(line.min(1)).filter(|text| text.len() < super::pages::SHOWN).cloned().map(Click::Value)
    }

    fn words(&self) -> String {
        let of = gander::display::count(self.seen);
        let mut words = match self.sampled {
            true => format!("Of a sample of {of} rows"),
            false => format!("Of all {of} rows"),
        };
        if !self.bins.is_empty() {
            words += &format!("\n{} to {}", super::sums::short(self.low), super::sums::short(self.high));
        }
        for (value, share) in &self.top {
            words += &format!("\n{}  {value}", percent(f64::from(*share)));
        }
        words
    }

    fn draw_bins(&self, ui: &Ui, area: Rect, theme: &Theme) {
        let most = self.bins.iter().copied().max().unwrap_or(1).max(1) as f32;
        let step = area.width() / self.bins.len() as f32;
        let color = theme.bg1.lerp_to_gamma(theme.accent, 0.75);
        for (index, &count) in self.bins.iter().enumerate() {
            // A bin with few values still shows.
            let least = if count > 0 { 1.5 } else { 0.5 };
            let height = (count as f32 / most * area.height()).max(least);
            let left = area.left() + index as f32 * step;
            let bar = Rect::from_min_max(
                pos2(left, area.bottom() - height),
                pos2(left + (step - 1.0).max(1.0), area.bottom()),
            );
            ui.painter().rect_filled(bar, 0.0, color);
        }
    }

    fn draw_top(&self, ui: &Ui, area: Rect, theme: &Theme) {
        let line = area.height() / 2.0;
        let color = theme.bg1.lerp_to_gamma(theme.accent, 0.75);
        let room = (area.width() * 0.4).min(64.0);
        for (index, (value, share)) in self.top.iter().take(2).enumerate() {
            let middle = area.top() + (index as f32 + 0.5) * line;
            let width = (room * share).max(2.0);
            let bar = Rect::from_min_size(pos2(area.left(), middle - 4.0), vec2(width, 8.0));
            ui.painter().rect_filled(bar, 1.0, color);
            let words = format!("{value} {}", percent(f64::from(*share)));
            let mut job = egui::text::LayoutJob::simple_singleline(words, small_font(), theme.dim);
            job.wrap = egui::text::TextWrapping::truncate_at_width((area.width() - width - 6.0).max(8.0));
            let galley = ui.painter().layout_job(job);
            let at = pos2(bar.right() + 6.0, middle - galley.size().y / 2.0);
            ui.painter().galley(at, galley, theme.dim);
        }
    }
}

/// The rows that are looked at, of `rows`.
#[allow(clippy::single_range_in_vec_init, reason = "a list of ranges, of which there is one")]
fn places(rows: u64) -> Vec<Range<u64>> {
    if rows <= ALL {
        return vec![0..rows];
    }
    (0..PLACES)
        .map(|place| (rows - SAMPLE) / (PLACES - 1) * place)
        .map(|start| start..start + SAMPLE)
        .collect()
}

#[allow(clippy::single_range_in_vec_init, reason = "a list of ranges, of which there is one")]
fn summaries(table: &dyn Table, task: &Task, columns: &[usize]) -> Result<Vec<Summary>> {
    let rows = table.rows();
    // Of what is not counted yet only the beginning is near.
    let places = match rows.exact() {
        Some(rows) => places(rows),
        None => vec![0..rows.number().clamp(1, 4 * SAMPLE)],
    };
    let sampled = rows.exact().is_none_or(|rows| rows > ALL);
    let mut parts: Vec<Vec<ArrayRef>> = vec![Vec::new(); columns.len()];
    for place in places {
        task.check()?;
        for (part, array) in parts.iter_mut().zip(read_each(table, task, place, columns)?) {
            part.extend(array.ok());
        }
    }
    let mut list = Vec::with_capacity(columns.len());
    for part in &parts {
        task.check()?;
        list.push(Summary { sampled, ..summary(part) });
    }
    Ok(list)
}

fn summary(parts: &[ArrayRef]) -> Summary {
    let mut summary = Summary::default();
    for array in parts {
        summary.seen += array.len() as u64;
        summary.nulls += array.logical_null_count() as u64;
    }
    let numbers: Option<Vec<f64>> =
        parts.iter().map(numbers).collect::<Option<Vec<_>>>().map(|lists| lists.concat());
    match numbers {
        Some(values) if !values.is_empty() => summary.count_bins(&values),
        Some(_) => {}
        None => summary.count_top(parts),
    }
    summary
}

/// The finite numbers of a column of numbers or times.
fn numbers(array: &ArrayRef) -> Option<Vec<f64>> {
    let kind = array.data_type();
    let casted = match kind {
        kind if kind.is_numeric() => arrow::compute::cast(array, &DataType::Float64).ok()?,
        DataType::Date32 | DataType::Time32(_) => {
            let whole = arrow::compute::cast(array, &DataType::Int32).ok()?;
            arrow::compute::cast(&whole, &DataType::Float64).ok()?
        }
        kind if kind.is_temporal() => {
            let whole = arrow::compute::cast(array, &DataType::Int64).ok()?;
            arrow::compute::cast(&whole, &DataType::Float64).ok()?
        }
        _ => return None,
    };
    let values = casted.as_primitive_opt::<Float64Type>()?;
    Some(values.iter().flatten().filter(|value| value.is_finite()).collect())
}

impl Summary {
    fn count_bins(&mut self, values: &[f64]) {
        self.low = values.iter().copied().fold(f64::INFINITY, f64::min);
        self.high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let span = self.high - self.low;
        self.bins = vec![0; BINS];
        for value in values {
            let place = if span > 0.0 { (value - self.low) / span * BINS as f64 } else { BINS as f64 / 2.0 };
            self.bins[(place as usize).min(BINS - 1)] += 1;
        }
    }

    /// The most frequent texts, if there are frequent ones.
    fn count_top(&mut self, parts: &[ArrayRef]) {
        let mut counts: HashMap<String, u64> = HashMap::new();
        for array in parts {
            let kind = array.data_type();
            if kind.is_nested() || cell_is_binary(kind) {
                return;
            }
            for row in 0..array.len() {
                if let Some(text) = cell::text(array.as_ref(), row) {
                    *counts.entry(super::pages::cut(&text).to_owned()).or_default() += 1;
                }
            }
        }
        let mut list: Vec<(String, u64)> = counts.into_iter().collect();
        list.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        if list.first().is_none_or(|(_, count)| *count < 2) {
            return;
        }
        let short =
            |text: &str| text.chars().take(40).map(|c| if c.is_control() { ' ' } else { c }).collect();
        let share = |count: u64| count as f32 / self.seen.max(1) as f32;
        self.whole = list.iter().take(2).map(|(text, _)| text.clone()).collect();
        self.top = list.iter().take(5).map(|(text, count)| (short(text), share(*count))).collect();
    }
}

fn cell_is_binary(kind: &DataType) -> bool {
    matches!(
        kind,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_)
    )
}

#[cfg(test)]
mod tests {
    use arrow::array::{Int64Array, RecordBatch, StringArray};
    use gander::content::table::MemoryTable;

    use super::*;

    #[test]
    fn numbers_fill_bins_and_texts_are_ranked() {
        let batch = RecordBatch::try_from_iter([
            ("n", Arc::new(Int64Array::from(vec![Some(0), Some(0), Some(10), None])) as ArrayRef),
            ("s", Arc::new(StringArray::from(vec!["card", "cash", "card", "card"]))),
        ])
        .unwrap();
        let list = summaries(&MemoryTable::new(batch), &Task::new(), &[0, 1]).unwrap();
        assert_eq!((list[0].bins[0], list[0].bins[BINS - 1], list[0].nulls), (2, 1, 1));
        assert_eq!(list[1].top[0], ("card".to_owned(), 0.75));
        assert!(!list[0].sampled);
    }

    #[test]
    fn a_sample_lies_within_the_table() {
        let places = places(1_000_000_000);
        assert_eq!((places.len() as u64, places[0].start), (PLACES, 0));
        assert!(places.iter().all(|place| place.end <= 1_000_000_000));
    }
}
