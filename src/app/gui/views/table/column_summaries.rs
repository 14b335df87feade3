//! What stands below the names of columns: a small histogram or the most frequent values, and the
//! share of nulls; from where is said beside it. First what the file itself says, then of a few thousand
//! rows, then of all: at once where the table is small, else when that is asked for.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Float64Type, Int64Type, UInt64Type};
use egui::{Align2, Rect, Sense, Ui, pos2, vec2};
use gander::bytes::error::{Error, Result};
use gander::bytes::task::Task;
use gander::data::cell;

use gander::data::content::table::read_each;
use gander::data::content::{ColumnStatistics, Picked, Table};
use gander::data::stats::{Distinct, Histogram, summary as whole};
use gander::jobs::{JobSpec, Jobs, Slot};

use crate::gui::grid::Side;
use crate::gui::theme::{Theme, mono_font, small_font};
use crate::gui::ui::paint_elided;

/// The height of what is drawn, in points.
pub(super) const HEIGHT: f32 = 46.0;
/// Tables of at most so many rows are looked at as a whole.
const ALL: u64 = 8192;
/// Of one column the values are counted in all rows of tables of at most so many: they are counts to choose by.
const COUNTED: u64 = 100_000;
/// Rows that are looked at in others.
const SAMPLE: u64 = 6144;
/// Of what is not counted yet.
const FIRST: u64 = 1024;
const BINS: usize = 24;
/// Frequent values that are kept in full.
const FREQUENT: usize = 20;
/// Columns of one job.
const COLUMNS: usize = 12;
/// So many cells are all looked at without being asked.
const SOON: u64 = 4_000_000;
/// Columns of one job that looks into the footer only.
const FOOTERS: usize = 4096;

/// What is known of a column.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Summary {
    /// Cells that were looked at.
    seen: u64,
    nulls: u64,
    /// Counts of numbers between limits.
    histogram: Option<Histogram>,
    /// The most frequent values and their share.
    top: Vec<(String, f32)>,
    /// The same values in full.
    whole: Vec<String>,
    /// Whether only some rows were looked at.
    sampled: bool,
    /// Whether these are the first ones, because nobody knows yet how many there are.
    first: bool,
    /// Of how many rows the frequent values are, where these are only some of those that were looked at.
    ranked: Option<u64>,
    /// How many different values there are in all rows, in words.
    distinct: Option<String>,
}

/// What was clicked in the head of a column.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Click {
    /// A bar: from one number to another, which belongs to it only in the last bar.
    Range(f64, f64, bool),
    /// A bar of integers: the first and the last one that belong to it.
    Integers(i128, i128),
    /// A frequent value.
    Value(String),
}

/// The summaries that are there, and what the file itself says of columns.
#[derive(Default)]
pub(super) struct ColumnSummaries {
    /// The columns of which all rows are looked at now, and the pass over them.
    passed: Vec<usize>,
    pass: Slot<Vec<usize>, whole::Summaries>,
    /// Columns of which all rows are to be looked at, or were.
    asked: HashSet<usize>,
    known: HashMap<usize, Arc<Summary>>,
    slot: Slot<Vec<usize>, Vec<Summary>>,
    off: bool,
    /// Whether the rows were all there when this was looked at, and what was known before.
    whole: bool,
    before: HashMap<usize, Arc<Summary>>,
    /// From the footer: of thousands of row groups that takes a while too, so a job gathers it.
    stored: HashMap<usize, Option<ColumnStatistics>>,
    /// Whether it says anything of some column.
    some_stored: bool,
    footer: Slot<Vec<usize>, Vec<Option<ColumnStatistics>>>,
}

impl ColumnSummaries {
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
        if self.off {
            return;
        }
        if missing.is_empty() {
            self.want_exact(jobs, table, columns);
            return;
        }
        let (table, wanted) = (table.clone(), missing.clone());
        let shown = self.slot.get(jobs, &missing, JobSpec::view("summaries of columns"), move |task| {
            summaries(&*table, task, &wanted)
        });
        if let Some(list) = shown.ready() {
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
        let shown = self.footer.get(jobs, &missing, JobSpec::view(""), move |task| {
            let of = |&column: &usize| task.check().map(|()| table.statistics(column));
            wanted.iter().map(of).collect()
        });
        if let Some(list) = shown.ready() {
            self.some_stored |= list.iter().any(Option::is_some);
            self.stored.extend(missing.into_iter().zip(list.iter().cloned()));
            jobs.wake();
            return true;
        }
        if shown.error.is_some() {
            self.stored.extend(missing.into_iter().map(|column| (column, None)));
        }
        false
    }

    /// Whether the file says anything of some column, as far as that is gathered.
    pub(super) fn has_stored(&self) -> bool {
        self.some_stored
    }

    /// What the file says of a column, once it is gathered.
    pub(super) fn stored(&self, column: usize) -> Option<&ColumnStatistics> {
        self.stored.get(&column)?.as_ref()
    }

    /// Whether all rows can be looked at for a column, and were not yet.
    pub(super) fn can_be_exact(&self, column: usize) -> bool {
        !self.asked.contains(&column) && self.known.get(&column).is_some_and(|summary| summary.sampled)
    }

    /// Looks at all rows of a column, whatever that takes.
    pub(super) fn ask_exact(&mut self, column: usize) {
        // One pass does for all that wait.
        self.asked.insert(column);
        self.passed.push(column);
    }

    /// Looks at all rows of the columns in sight where that is little; takes what came of it.
    fn want_exact(&mut self, jobs: &Jobs, table: &Arc<dyn Table>, columns: &[usize]) {
        if !self.passed.is_empty() {
            let (source, wanted) = (table.clone(), self.passed.clone());
            let shown = self.pass.get(
                jobs,
                &self.passed,
                JobSpec::scan("summaries of columns, all rows"),
                move |task| whole::exact(source.as_ref(), task, &wanted),
            );
            let Some(found) = shown.answer() else { return };
            if found.as_ref().is_err_and(Error::is_cancelled) {
                // It can be asked for again.
                self.passed.iter().for_each(|column| _ = self.asked.remove(column));
            }
            let found = found.iter().flat_map(|found| &found.columns);
            for (column, summary) in std::mem::take(&mut self.passed).iter().zip(found) {
                if let (Ok(exact), Some(known)) = (summary, self.known.get_mut(column)) {
                    *known = Arc::new(Summary::exact(exact, known));
                }
            }
            self.pass.clear();
            jobs.wake();
            return;
        }
        let Some(rows) = table.rows().exact() else { return };
        let some = columns.iter().copied().filter(|column| self.can_be_exact(*column)).take(COLUMNS);
        let some: Vec<usize> = some.collect();
        if !some.is_empty() && rows.saturating_mul(some.len() as u64) <= SOON {
            self.asked.extend(some.iter().copied());
            self.passed = some;
            jobs.wake();
        }
    }

    /// Draws what is known of the column called `name` into `ui`; what was clicked. `share` is that of nulls,
    /// where the file says it.
    pub(super) fn ui(&self, ui: &mut Ui, column: usize, name: &str, share: Option<f64>) -> Option<Click> {
        let theme = Theme::of(ui);
        let area = ui.max_rect();
        let stored = self.stored(column);
        let id = ui.unique_id().with(("summary", column));
        let spoken = |depth: &str| format!("Values of {name}, {depth}");
        let Some(summary) = self.known.get(&column).or_else(|| self.before.get(&column)) else {
            // What the file says is there at once.
            let ends = stored.and_then(ends_words);
            if ends.is_none() && share.is_none() {
                return None;
            }
            self.line_below(ui, share.map(|share| (share, "")), FOOTER, theme);
            let words = ends.unwrap_or_default();
            let mut job = egui::text::LayoutJob::simple(words.clone(), small_font(), theme.dim, area.width());
            job.wrap.max_rows = 2;
            let galley = ui.painter().layout_job(job);
            ui.painter().galley(area.min, galley, theme.dim);
            let response = ui.interact(area, id, Sense::hover());
            response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, spoken(FOOTER)));
            response.on_hover_text(format!("From the file's footer: {words}"));
            return None;
        };
        let picture =
            Rect::from_min_max(area.min, pos2(area.right().min(area.left() + 150.0), area.bottom() - 13.0));
        if summary.histogram.is_some() {
            summary.draw_bins(ui, picture, theme);
        } else if !summary.top.is_empty() {
            summary.draw_top(ui, Rect::from_min_max(area.min, pos2(area.right(), picture.bottom())), theme);
        }
        let depth = summary.depth();
        let seen = (summary.seen > 0).then(|| summary.nulls as f64 / summary.seen as f64);
        let mark = if summary.sampled && share.is_none() { "≈ " } else { "" };
        self.line_below(ui, share.or(seen).map(|share| (share, mark)), depth, theme);
        let mut hint = summary.words();
        if let Some(words) = stored.and_then(ends_words) {
            hint += &format!("\nFrom the file's footer: {words}");
        }
        if share.is_some() && summary.sampled {
            hint += "\nNulls are those of the file's footer";
        }
        if summary.histogram.is_none() && summary.whole.is_empty() {
            let response = ui.interact(area, id, Sense::hover());
            response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, spoken(depth)));
            response.on_hover_text(hint);
            return None;
        }
        let response = ui.interact(picture, id, Sense::click());
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, spoken(depth)));
        let clicked = response.clicked().then(|| response.interact_pointer_pos()).flatten();
        response.on_hover_text(format!("{hint}\nClick to filter"));
        summary.at(picture, clicked?)
    }

    /// The line below the picture: the share of nulls, and where all this is from.
    fn line_below(&self, ui: &Ui, share: Option<(f64, &str)>, depth: &str, theme: &Theme) {
        let area = ui.max_rect();
        let mut left = area.left();
        if let Some((share, mark)) = share.filter(|(share, _)| *share > 0.0) {
            let words = format!("{mark}{} null", percent(share));
            let at = pos2(area.left(), area.bottom() + 1.0);
            left = ui.painter().text(at, Align2::LEFT_BOTTOM, words, small_font(), theme.dim).right() + 6.0;
        }
        let right = area.right().min(area.left() + 150.0);
        let galley = ui.painter().layout_no_wrap(depth.to_owned(), small_font(), theme.dim);
        // Where there is no room the tool tip says it.
        if right - galley.size().x >= left {
            let at = pos2(right - galley.size().x, area.bottom() + 1.0 - galley.size().y);
            let color = if depth == "exact" { theme.good } else { theme.dim };
            ui.painter().galley_with_override_text_color(at, galley, color);
        }
    }
}

/// Where numbers are from that the file has ready.
const FOOTER: &str = "footer";

/// The least and the largest value that the file names.
fn ends_words(stored: &ColumnStatistics) -> Option<String> {
    let short = |text: String| text.chars().take(24).collect::<String>();
    let (min, max) = (stored.min_text()?, stored.max_text()?);
    Some(format!("{} to {}", short(min), short(max)))
}

/// Draws the total of a column below its head; the first column says what the others are.
pub(super) fn total(ui: &mut Ui, totals: &[Option<String>], column: usize, side: Side) {
    let theme = Theme::of(ui);
    let (words, color) = match totals.get(column) {
        Some(Some(text)) => (text.as_str(), theme.text),
        Some(None) if column == 0 => ("total", theme.dim),
        _ => return,
    };
    let area = ui.max_rect();
    let (anchor, x) =
        if side == Side::Right { (Align2::RIGHT_TOP, area.right()) } else { (Align2::LEFT_TOP, area.left()) };
    let at = pos2(x, area.top() + 2.0);
    paint_elided(ui.painter(), at, anchor, words, mono_font(), color, area.width());
    let id = ui.unique_id().with(("total", column));
    let response = ui.interact(area, id, Sense::hover());
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, format!("Total: {words}")));
    response.on_hover_text("Of all groups together");
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
    /// What a pass over all rows found; `sample` is what was known before.
    fn exact(found: &whole::Summary, sample: &Summary) -> Self {
        let mut summary = Summary {
            seen: found.rows,
            nulls: found.nulls.saturating_add(found.unfit),
            distinct: found.distinct.map(|distinct| match distinct {
                Distinct::Exactly(count) => gander::bytes::display::count(count),
                Distinct::AtLeast(count) => format!("≥ {}", gander::bytes::display::count(count)),
                Distinct::About(count) => format!("≈ {}", gander::bytes::display::count(count)),
            }),
            ..Summary::default()
        };
        match &found.histogram {
            // Of rows that were still to come the sample knows nothing.
            Some(histogram) if sample.top.is_empty() => {
                summary.histogram = Some(histogram.clone());
            }
            // Frequent values of which only a sample was counted are no better than before.
            _ if found.top_sampled || found.top.is_empty() => {
                let (top, whole) = (sample.top.clone(), sample.whole.clone());
                let ranked = Some(sample.ranked.unwrap_or(sample.seen)).filter(|_| !top.is_empty());
                return Summary { top, whole, ranked, ..summary };
            }
            _ if sample.histogram.is_none() => summary.rank(found.top.clone()),
            _ => return sample.clone(),
        }
        summary
    }

    /// Where the picture is from, in a word.
    fn depth(&self) -> &'static str {
        match (self.first, self.sampled || self.ranked.is_some()) {
            (true, _) => "first rows",
            (_, true) => "sampled",
            (_, false) => "exact",
        }
    }

    /// What of the picture in `area` stands at a place.
    fn at(&self, area: Rect, place: egui::Pos2) -> Option<Click> {
        if let Some(histogram) = &self.histogram {
            let across = (place.x - area.left()) / area.width() * histogram.counts.len() as f32;
            return bar(histogram, across.max(0.0) as usize);
        }
        let line = ((place.y - area.top()) / area.height() * 2.0) as usize;
        self.whole.get(line.min(1)).filter(|text| text.len() < super::pages::SHOWN).cloned().map(Click::Value)
    }

    fn words(&self) -> String {
        let of = gander::bytes::display::count(self.seen);
        let mut words = match self.sampled {
            true if self.first => format!("Of the first {of} rows"),
            true => format!("Of a sample of {of} rows"),
            false => format!("Of all {of} rows"),
        };
        if let Some(rows) = self.ranked {
            words +=
                &format!("\nFrequent values of a sample of {} rows:", gander::bytes::display::count(rows));
        }
        if let Some(histogram) = &self.histogram {
            words += &ends(histogram).map_or(String::new(), |(low, high)| format!("\n{low} to {high}"));
        }
        if let Some(distinct) = &self.distinct {
            words += &format!("\n{distinct} distinct");
        }
        for (value, share) in &self.top {
            words += &format!("\n{}  {value}", percent(f64::from(*share)));
        }
        words
    }

    fn draw_bins(&self, ui: &Ui, area: Rect, theme: &Theme) {
        let counts = self.histogram.as_ref().map_or(&[] as &[u64], |histogram| &histogram.counts);
        let most = counts.iter().copied().max().unwrap_or(1).max(1) as f32;
        let step = area.width() / counts.len().max(1) as f32;
        let color = theme.bg1.lerp_to_gamma(theme.accent, 0.75);
        for (index, &count) in counts.iter().enumerate() {
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
            let (at, room) = (pos2(bar.right() + 6.0, middle), area.width() - width - 6.0);
            paint_elided(ui.painter(), at, Align2::LEFT_CENTER, &words, small_font(), theme.dim, room);
        }
    }
}

/// What is asked for by a bar.
pub(super) fn bar(histogram: &Histogram, at: usize) -> Option<Click> {
    let bin = at.min(histogram.counts.len().checked_sub(1)?);
    if let Some(whole) = &histogram.whole {
        return Some(Click::Integers(*whole.get(bin)?, whole.get(bin + 1)? - 1));
    }
    // The largest value belongs to the last bar.
    let last = bin + 1 == histogram.counts.len();
    Some(Click::Range(*histogram.edges.get(bin)?, *histogram.edges.get(bin + 1)?, last))
}

/// Where a histogram begins and ends.
fn ends(histogram: &Histogram) -> Option<(String, String)> {
    histogram.ends(gander::bytes::display::short_number)
}

fn summaries(table: &dyn Table, task: &Task, columns: &[usize]) -> Result<Vec<Summary>> {
    let rows = table.rows();
    let (sampled, first) = (rows.exact().is_none_or(|rows| rows > ALL), rows.exact().is_none());
    let mut list = Vec::with_capacity(columns.len());
    for part in &sample(table, task, columns, ALL)? {
        task.check()?;
        let distinct = if sampled { None } else { distinct(part) };
        list.push(Summary { sampled, first, distinct, ..summary(part) });
    }
    Ok(list)
}

/// How many different values there are.
fn distinct(parts: &[ArrayRef]) -> Option<String> {
    let flat = |array: &ArrayRef| !array.data_type().is_nested() && !cell_is_binary(array.data_type());
    let texts =
        parts.iter().flat_map(|array| (0..array.len()).filter_map(|row| cell::text(array.as_ref(), row)));
    let all_flat = parts.iter().all(flat);
    all_flat.then(|| gander::bytes::display::count(texts.collect::<HashSet<String>>().len() as u64))
}

/// Which values a column has among the rows that its head is about, and how often.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Frequent {
    /// The most frequent ones, by how often; none where no value comes twice.
    pub(super) values: Vec<(String, u64)>,
    /// How many others there are.
    pub(super) others: u64,
    /// Cells that are null.
    pub(super) nulls: u64,
    /// Rows that were looked at, and whether these are only some.
    pub(super) rows: u64,
    pub(super) sampled: bool,
    /// The least and the greatest, where they are numbers.
    pub(super) ends: Option<(String, String)>,
}

/// The values of a column among the rows that its head is about.
pub(super) fn frequent(table: &dyn Table, task: &Task, column: usize) -> Result<Frequent> {
    let parts = sample(table, task, &[column], COUNTED)?.into_iter().next().unwrap_or_default();
    let list = counted(&parts).unwrap_or_default();
    let numbers = || list.iter().filter_map(|(text, _)| Some((text.parse::<f64>().ok()?, text)));
    let (low, high) = (
        numbers().min_by(|a, b| a.0.total_cmp(&b.0)),
        numbers().filter(|(number, _)| !number.is_nan()).max_by(|a, b| a.0.total_cmp(&b.0)),
    );
    let is_listed = list.first().is_some_and(|(_, count)| *count > 1) || list.len() <= FREQUENT;
    let listed = list.iter().filter(|(text, _)| text.len() < super::pages::SHOWN);
    let values: Vec<_> = listed.take(if is_listed { FREQUENT } else { 0 }).cloned().collect();
    Ok(Frequent {
        others: (list.len() - values.len()) as u64,
        nulls: parts.iter().map(|array| array.logical_null_count() as u64).sum(),
        rows: parts.iter().map(|array| array.len() as u64).sum(),
        sampled: table.rows().exact().is_none_or(|rows| rows > COUNTED),
        ends: low.zip(high).map(|(low, high)| (low.1.clone(), high.1.clone())),
        values,
    })
}

/// The cells of columns that are looked at: all of them in tables of at most `all` rows.
fn sample(table: &dyn Table, task: &Task, columns: &[usize], all: u64) -> Result<Vec<Vec<ArrayRef>>> {
    let most = match table.rows().exact() {
        Some(rows) if rows <= all => all,
        Some(_) => SAMPLE,
        // Of what is not counted yet only the beginning is near.
        None => FIRST,
    };
    let first = |rows: u64| std::iter::once(0..rows.clamp(1, FIRST)).collect();
    let picked = match table.rows().exact() {
        Some(_) => Picked::sample(table, task, most)?,
        None => Picked::new(table, first(table.rows().number())),
    };
    let mut parts: Vec<Vec<ArrayRef>> = vec![Vec::new(); columns.len()];
    let mut at = 0;
    while at < picked.len() {
        task.check()?;
        let end = at.saturating_add(picked.scan_step(at)).min(picked.len());
        for (part, array) in parts.iter_mut().zip(read_each(&picked, task, at..end, columns)?) {
            part.extend(array.ok());
        }
        at = end;
    }
    Ok(parts)
}

fn summary(parts: &[ArrayRef]) -> Summary {
    let mut summary = Summary::default();
    for array in parts {
        summary.seen += array.len() as u64;
        summary.nulls += array.logical_null_count() as u64;
    }
    let counted = match parts.iter().map(integers).collect::<Option<Vec<_>>>() {
        Some(lists) => Some(Histogram::of_integers(&lists.concat(), BINS)),
        None => {
            let lists = parts.iter().map(numbers).collect::<Option<Vec<_>>>();
            lists.map(|lists| Histogram::of_numbers(&lists.concat(), BINS))
        }
    };
    match counted {
        Some(histogram) => summary.histogram = histogram,
        None => summary.count_top(parts),
    }
    summary
}

/// The integers of a column, and its dates and times by their stored numbers.
fn integers(array: &ArrayRef) -> Option<Vec<i128>> {
    let kind = array.data_type();
    if *kind == DataType::UInt64 {
        return Some(array.as_primitive_opt::<UInt64Type>()?.iter().flatten().map(i128::from).collect());
    }
    let whole = match kind {
        DataType::Date32 | DataType::Time32(_) => arrow::compute::cast(array, &DataType::Int32).ok()?,
        kind if kind.is_integer() || kind.is_temporal() => array.clone(),
        _ => return None,
    };
    let whole = arrow::compute::cast(&whole, &DataType::Int64).ok()?;
    Some(whole.as_primitive_opt::<Int64Type>()?.iter().flatten().map(i128::from).collect())
}

/// The finite numbers of a column of other numbers.
fn numbers(array: &ArrayRef) -> Option<Vec<f64>> {
    if !array.data_type().is_numeric() {
        return None;
    }
    let casted = arrow::compute::cast(array, &DataType::Float64).ok()?;
    let values = casted.as_primitive_opt::<Float64Type>()?;
    Some(values.iter().flatten().filter(|value| value.is_finite()).collect())
}

impl Summary {
    /// The most frequent texts, if there are frequent ones.
    fn count_top(&mut self, parts: &[ArrayRef]) {
        if let Some(list) = counted(parts) {
            self.rank(list);
        }
    }

    /// Keeps the most frequent texts of a sorted list.
    fn rank(&mut self, list: Vec<(String, u64)>) {
        if list.first().is_none_or(|(_, count)| *count < 2) {
            return;
        }
        let short =
            |text: &str| text.chars().take(40).map(|c| if c.is_control() { ' ' } else { c }).collect();
        let share = |count: u64| count as f32 / self.seen.max(1) as f32;
        self.whole = list.iter().take(FREQUENT).map(|(text, _)| text.clone()).collect();
        self.top = list.iter().take(5).map(|(text, count)| (short(text), share(*count))).collect();
    }
}

/// How often each text comes, the most frequent first; `None` for values that are no texts.
fn counted(parts: &[ArrayRef]) -> Option<Vec<(String, u64)>> {
    let mut counts: HashMap<String, u64> = HashMap::new();
    for array in parts {
        let kind = array.data_type();
        if kind.is_nested() || cell_is_binary(kind) {
            return None;
        }
        for row in 0..array.len() {
            if let Some(text) = cell::text(array.as_ref(), row) {
                *counts.entry(super::pages::cut(&text).to_owned()).or_default() += 1;
            }
        }
    }
    let mut list: Vec<(String, u64)> = counts.into_iter().collect();
    list.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    Some(list)
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
    use gander::data::content::table::MemoryTable;

    use super::*;

    #[test]
    fn numbers_fill_bins_and_texts_are_ranked() {
        let batch = RecordBatch::try_from_iter([
            ("n", Arc::new(Int64Array::from(vec![Some(0), Some(0), Some(10), None])) as ArrayRef),
            ("s", Arc::new(StringArray::from(vec!["card", "cash", "card", "card"]))),
        ])
        .unwrap();
        let list = summaries(&MemoryTable::new(batch), &Task::new(), &[0, 1]).unwrap();
        let bins = &list[0].histogram.as_ref().unwrap().counts;
        assert_eq!((bins[0], bins[bins.len() - 1], list[0].nulls), (2, 1, 1));
        assert_eq!(list[1].top[0], ("card".to_owned(), 0.75));
        assert_eq!(list[1].whole, ["card", "cash"]);
        assert!(list[0].words().contains("\n2 distinct"), "{}", list[0].words());
        assert!(!list[0].sampled);
    }

    #[test]
    fn values_to_choose_from_are_counted_in_all_rows() {
        let words = (0..20_000).map(|n| if n % 4 == 0 { "a" } else { "b" });
        let words: ArrayRef = Arc::new(StringArray::from_iter_values(words));
        let table = MemoryTable::new(RecordBatch::try_from_iter([("s", words)]).unwrap());
        let found = frequent(&table, &Task::new(), 0).unwrap();
        let expected = vec![("b".to_owned(), 15_000), ("a".to_owned(), 5_000)];
        assert_eq!((found.values, found.rows, found.sampled), (expected, 20_000, false));
    }

    #[test]
    fn all_rows_replace_a_sample() {
        let rows = 200_000i64;
        let batch = RecordBatch::try_from_iter([
            ("n", Arc::new(Int64Array::from_iter_values(0..rows)) as ArrayRef),
            (
                "s",
                Arc::new(StringArray::from_iter_values(
                    (0..rows).map(|n| if n % 4 == 0 { "a" } else { "b" }),
                )),
            ),
        ])
        .unwrap();
        let table: Arc<dyn Table> = Arc::new(MemoryTable::new(batch));
        let (jobs, mut heads) = (Jobs::new(|| {}), ColumnSummaries::default());
        let exact = |heads: &ColumnSummaries| (0..2).all(|c| heads.known.get(&c).is_some_and(|s| !s.sampled));
        let started = std::time::Instant::now();
        let mut sampled = false;
        while !exact(&heads) {
            assert!(started.elapsed().as_secs() < 20, "{:?}", heads.known);
            heads.want(&jobs, &table, &[0, 1]);
            sampled |= heads.known.get(&0).is_some_and(|summary| summary.sampled);
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        assert!(sampled, "the sample came first");
        let (n, s) = (&heads.known[&0], &heads.known[&1]);
        let histogram = n.histogram.as_ref().unwrap();
        assert_eq!((histogram.counts.iter().sum::<u64>(), n.seen), (200_000, 200_000));
        assert_eq!(ends(histogram), Some(("0".to_owned(), "199999".to_owned())));
        assert_eq!((s.top[0].clone(), s.top[1].clone()), (("b".to_owned(), 0.75), ("a".to_owned(), 0.25)));
        assert!(!heads.can_be_exact(0));
        assert!(s.words().contains("\n2 distinct"), "{}", s.words());
    }

    #[test]
    fn frequent_values_of_a_sample_say_so_beside_nulls_of_all_rows() {
        // More different words than are counted, and one that is frequent.
        let words = |n: i64| (n % 7 != 0).then(|| if n % 3 == 0 { "often".into() } else { n.to_string() });
        let texts: ArrayRef = Arc::new(StringArray::from_iter((0..100_000).map(words)));
        let table = MemoryTable::new(RecordBatch::try_from_iter([("s", texts)]).unwrap());
        let sample = summaries(&table, &Task::new(), &[0]).unwrap().remove(0);
        assert!(sample.sampled && sample.words().starts_with("Of a sample of 6,144 rows"));
        let all = whole::exact(&table, &Task::new(), &[0]).unwrap().columns.remove(0).unwrap();
        let shown = Summary::exact(&all, &sample);
        assert_eq!((shown.nulls, shown.depth(), shown.ranked), (14_286, "sampled", Some(6_144)));
        assert!(shown.words().starts_with("Of all 100,000 rows\nFrequent values of a sample of 6,144 rows"));
        assert!(!shown.sampled, "all rows need not be asked for again");
    }
}
