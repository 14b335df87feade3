//! What a line of the summary says in figures: a few of them as there is room, all of them in the tool tip.

use std::sync::Arc;

use egui::{Align2, Rect, Sense, Ui, pos2, vec2};
use gander::bytes::display;
use gander::data::content::ColumnStatistics;
use gander::data::content::Table;
use gander::data::stats::Distinct;
use gander::data::stats::summary::Summary;

use crate::gui::icons::Icon;
use crate::gui::theme::{self, Theme, mono_small_font, size, small_font, space};
use crate::gui::ui::paint_elided;
use gander::bytes::display::short_number as short;

/// Lines of figures.
const LINES: usize = 3;
/// The height of a line.
const HEIGHT: f32 = 16.0;
/// The width of a letter of a value.
const LETTER: f32 = 6.7;
/// The room of a label.
const LABEL: f32 = 70.0;

/// A figure: what it is, how it is shown, how it is in full.
struct Fact {
    name: &'static str,
    shown: String,
    full: String,
}

impl Fact {
    fn new(name: &'static str, full: impl Into<String>) -> Self {
        let full: String = full.into();
        Fact { name, shown: brief(&full), full }
    }
}

/// A value as it fits: numbers with a few digits, times without parts of seconds.
fn brief(text: &str) -> String {
    if let Ok(number) = text.parse::<f64>()
        && number.is_finite()
        && text.len() > 11
        && text.contains(['.', 'e'])
    {
        return short(number);
    }
    let is_time = text.len() >= 19
        && text.as_bytes().get(10) == Some(&b'T')
        && text.starts_with(|c: char| c.is_ascii_digit());
    if is_time {
        return text.chars().take(19).map(|c| if c == 'T' { ' ' } else { c }).collect();
    }
    let mut letters = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    let mut shown: String = letters.by_ref().take(24).collect();
    if letters.next().is_some() {
        shown.push('…');
    }
    shown
}

/// What is known of a column.
pub(super) struct Known<'a> {
    /// From rows.
    pub(super) summary: Option<&'a Summary>,
    /// From the file's footer, where that says more than the rows that were read.
    pub(super) stored: Option<&'a ColumnStatistics>,
    pub(super) table: &'a Arc<dyn Table>,
}

/// The ends and the different values: those of the footer are of all rows, so they come before those of a
/// sample.
fn first(known: &Known<'_>) -> Vec<Fact> {
    let stored = |name, value: fn(&ColumnStatistics) -> Option<String>| {
        // Inexact ends may be no values.
        let stored = known.stored.filter(|stored| stored.exact || known.summary.is_none())?;
        let name = match (name, stored.exact) {
            ("min", true) => "min, in file",
            ("min", false) => "from",
            (_, true) => "max, in file",
            (_, false) => "to",
        };
        value(stored).map(|text| Fact::new(name, text))
    };
    let seen = |name, value: fn(&Summary) -> &Option<String>| {
        known.summary.and_then(|summary| value(summary).as_deref()).map(|text| Fact::new(name, text))
    };
    let seen_distinct = known.summary.and_then(|summary| summary.distinct).map(|distinct| match distinct {
        Distinct::Exactly(n) => Fact::new("different", display::count(n)),
        Distinct::AtLeast(n) => Fact::new("different", format!("≥ {}", display::count(n))),
        Distinct::About(n) => Fact::new("different", format!("≈ {}", display::count(n))),
    });
    let distinct = known.stored.and_then(|stored| stored.distinct);
    let facts = [
        stored("min", ColumnStatistics::min_text).or_else(|| seen("min", |s| &s.min)),
        stored("max", ColumnStatistics::max_text).or_else(|| seen("max", |s| &s.max)),
        seen_distinct.or_else(|| distinct.map(|n| Fact::new("different", display::count(n)))),
    ];
    facts.into_iter().flatten().collect()
}

/// The figures of a column, in columns of three.
fn facts(known: &Known<'_>) -> Vec<Vec<Fact>> {
    let mut columns = vec![first(known)];
    columns.extend(known.summary.map(further).into_iter().flatten());
    columns.retain(|column| !column.is_empty());
    columns
}

/// The figures that only rows tell.
fn further(summary: &Summary) -> [Vec<Fact>; 2] {
    let mut second: Vec<Fact> = Vec::new();
    let mut third: Vec<Fact> = Vec::new();
    if let (Some(mean), Some(std)) = (summary.mean, summary.std) {
        second.push(Fact::new("mean", short(mean)));
        second.push(Fact::new("std. dev.", short(std)));
    }
    if let Some([low, q1, middle, q3, high]) = summary.quantiles {
        let of = |value: f64| summary.text_of(value);
        let mark = if summary.quantiles_sampled { "≈ " } else { "" };
        let fact = |name, shown: String, full: String| Fact {
            name,
            shown: format!("{mark}{shown}"),
            full: format!("{mark}{full}"),
        };
        second.push(fact("median", brief(&of(middle)), of(middle)));
        let range = |name, low: f64, high: f64| {
            let shown = format!("{} … {}", brief(&of(low)), brief(&of(high)));
            fact(name, shown, format!("{} … {}", of(low), of(high)))
        };
        third.push(range("25–75 %", q1, q3));
        third.push(range("5–95 %", low, high));
    }
    if let Some((low, high, mean)) = summary.lengths {
        second.push(Fact::new("length", format!("{} … {}", display::count(low), display::count(high))));
        second.push(Fact::new("on average", format!("{mean:.1}")));
    }
    if summary.zeros > 0 {
        third.push(Fact::new("zeros", display::count(summary.zeros)));
    }
    [second, third]
}

/// What is odd about a column, in words.
fn odd(summary: &Summary, table: &Arc<dyn Table>) -> String {
    let mut odd = Vec::new();
    if summary.is_constant() {
        odd.push("always the same value".to_owned());
    }
    if summary.nulls == summary.rows && summary.rows > 0 {
        odd.push("always null".to_owned());
    }
    if let Some(other) = summary.same_as
        && let Some(field) = table.schema().fields().get(other)
    {
        odd.push(format!("the same as {}", field.name()));
    }
    for (text, count) in summary.disguised.iter().take(3) {
        let text = if text.trim().is_empty() { "an empty text" } else { text };
        odd.push(format!("{} × {text}, perhaps missing", display::count(*count)));
    }
    odd.join("; ")
}

/// Draws the figures into `area`.
pub(super) fn ui(ui: &mut Ui, area: Rect, column: usize, known: &Known<'_>) {
    let theme = Theme::of(ui);
    let columns = facts(known);
    let painter = ui.painter().with_clip_rect(area.intersect(ui.clip_rect()));
    let mut left = area.left();
    for (n, facts) in columns.iter().enumerate() {
        let letters = facts.iter().map(|fact| fact.shown.chars().count()).max().unwrap_or(0);
        let width = LABEL + letters as f32 * LETTER;
        // The first column is there always, others where they fit whole.
        if n > 0 && left + width > area.right() {
            break;
        }
        for (line, fact) in facts.iter().take(LINES).enumerate() {
            let y = area.top() + (line as f32 + 0.5) * HEIGHT;
            painter.text(pos2(left, y), Align2::LEFT_CENTER, fact.name, small_font(), theme.dim);
            let at = pos2(left + LABEL, y);
            painter.text(at, Align2::LEFT_CENTER, &fact.shown, mono_small_font(), theme.text);
        }
        left += width + space::S4;
    }
    let odd = known.summary.map_or(String::new(), |summary| odd(summary, known.table));
    if !odd.is_empty() {
        let at = pos2(area.left(), area.top() + LINES as f32 * HEIGHT + 1.0);
        let glyph = egui::FontId::new(size::TEXT_MONO, theme::icon_family());
        painter.text(at, Align2::LEFT_TOP, Icon::Warning.glyph(), glyph, theme.warn);
        let (at, room) = (at + vec2(18.0, 0.0), area.width() - 20.0);
        paint_elided(&painter, at, Align2::LEFT_TOP, &odd, small_font(), theme.warn, room);
    }
    let response = ui.interact(area, ui.unique_id().with(("figures", column)), Sense::hover());
    let mut lines: Vec<String> =
        columns.iter().flatten().map(|fact| format!("{:<12}{}", fact.name, fact.full)).collect();
    lines.extend((!odd.is_empty()).then_some(odd));
    let spoken = lines.iter().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    let name = known.table.schema().fields().get(column).map_or("", |field| field.name());
    let spoken = format!("{name}: {}", spoken.collect::<Vec<_>>().join(", "));
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, &spoken));
    if !lines.is_empty() {
        response.on_hover_text(theme::mono(lines.join("\n")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{ArrayRef, Int64Array, RecordBatch};
    use gander::bytes::task::Task;
    use gander::data::content::table::MemoryTable;
    use gander::data::stats::summary::{exact, sampled};

    fn table(rows: i64) -> Arc<dyn Table> {
        let numbers = Arc::new(Int64Array::from_iter_values(0..rows)) as ArrayRef;
        Arc::new(MemoryTable::new(RecordBatch::try_from_iter([("n", numbers)]).unwrap()))
    }

    fn told(known: &Known<'_>) -> Vec<(&'static str, String)> {
        facts(known).into_iter().flatten().map(|fact| (fact.name, fact.shown)).collect()
    }

    #[test]
    fn the_footer_comes_first_and_before_a_sample() {
        let table = table(100_000);
        let some = sampled(table.as_ref(), &Task::new(), &[0]).unwrap().columns.remove(0).unwrap();
        let end = |value| Arc::new(Int64Array::from(vec![value])) as ArrayRef;
        let stored = ColumnStatistics::new(end(-5), end(99_999), vec![None].into());
        let of = |summary, stored| told(&Known { summary, stored: Some(stored), table: &table });
        let ends = [("min, in file", "-5".to_owned()), ("max, in file", "99999".to_owned())];
        assert_eq!(of(None, &stored), ends);
        assert_eq!(of(Some(&some), &stored)[..2], ends);
        let stored = stored.clone().inexact();
        assert_eq!(of(None, &stored)[0].0, "from");
        assert_eq!(of(Some(&some), &stored)[0], ("min", some.min.clone().unwrap()));
    }

    #[test]
    fn a_median_of_some_rows_is_marked() {
        let median = |rows| {
            let table = table(rows);
            let all = exact(table.as_ref(), &Task::new(), &[0]).unwrap().columns.remove(0).unwrap();
            let told = told(&Known { summary: Some(&all), stored: None, table: &table });
            told.into_iter().find(|(name, _)| *name == "median").unwrap().1
        };
        assert!(!median(1_000).contains('≈') && median(200_000).starts_with("≈ "));
    }

    #[test]
    fn values_are_short_but_never_wrong() {
        assert_eq!(brief("0.07359927384503817"), "0.073599");
        assert_eq!(brief("9007199254740993"), "9007199254740993");
        assert_eq!(brief("2019-01-01T00:00:00.362292"), "2019-01-01 00:00:00");
        assert_eq!(brief("invoice"), "invoice");
        assert_eq!(brief(&"x".repeat(30)), format!("{}…", "x".repeat(24)));
    }
}
