//! What a line of the summary says in figures: a few of them as there is room, all of them in the tool tip.

use std::sync::Arc;

use egui::{Align2, Rect, Sense, Ui, pos2, vec2};
use gander::content::Table;
use gander::stats::summary::{Different, Summary};

use super::super::sums::short;
use crate::gui::grid::thousands;
use crate::gui::icons::Icon;
use crate::gui::theme::{self, Theme, mono_small_font, size, small_font, space};

/// Lines of figures.
const LINES: usize = 3;
/// The height of a line.
const HEIGHT: f32 = 16.0;
/// The width of a letter of a value.
const LETTER: f32 = 6.7;
/// The room of a label.
const LABEL: f32 = 66.0;

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

/// The figures of a column, in columns of three.
fn facts(summary: &Summary) -> Vec<Vec<Fact>> {
    let different = summary.different.map(|different| match different {
        Different::Exactly(n) => Fact::new("different", thousands(n)),
        Different::About(n) => Fact::new("different", format!("≈ {}", thousands(n))),
    });
    let end = |name, value: &Option<String>| value.as_ref().map(|text| Fact::new(name, text.as_str()));
    let ends = [end("min", &summary.min), end("max", &summary.max), different];
    let mut second: Vec<Fact> = Vec::new();
    let mut third: Vec<Fact> = Vec::new();
    if let (Some(mean), Some(std)) = (summary.mean, summary.std) {
        second.push(Fact::new("mean", short(mean)));
        second.push(Fact::new("std. dev.", short(std)));
    }
    if let Some([low, q1, middle, q3, high]) = summary.quantiles {
        let of = |value: f64| summary.text_of(value);
        second.push(Fact::new("median", of(middle)));
        let range = |name, low: f64, high: f64| Fact {
            name,
            shown: format!("{} … {}", brief(&of(low)), brief(&of(high))),
            full: format!("{} … {}", of(low), of(high)),
        };
        third.push(range("25–75 %", q1, q3));
        third.push(range("5–95 %", low, high));
    }
    if let Some((low, high, mean)) = summary.lengths {
        second.push(Fact::new("length", format!("{} … {}", thousands(low), thousands(high))));
        second.push(Fact::new("on average", format!("{mean:.1}")));
    }
    if summary.zeros > 0 {
        third.push(Fact::new("zeros", thousands(summary.zeros)));
    }
    let first = ends.into_iter().flatten().collect();
    [first, second, third].into_iter().filter(|column: &Vec<Fact>| !column.is_empty()).collect()
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
        odd.push(format!("{} × {text}, perhaps missing", thousands(*count)));
    }
    odd.join("; ")
}

/// Draws the figures into `area`.
pub(super) fn ui(ui: &mut Ui, area: Rect, column: usize, summary: &Summary, table: &Arc<dyn Table>) {
    let theme = Theme::of(ui);
    let columns = facts(summary);
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
    let odd = odd(summary, table);
    if !odd.is_empty() {
        let at = pos2(area.left(), area.top() + LINES as f32 * HEIGHT + 1.0);
        let glyph = egui::FontId::new(size::TEXT_MONO, theme::icon_family());
        painter.text(at, Align2::LEFT_TOP, Icon::Warning.glyph(), glyph, theme.warn);
        let mut job = egui::text::LayoutJob::simple_singleline(odd.clone(), small_font(), theme.warn);
        job.wrap = egui::text::TextWrapping::truncate_at_width((area.width() - 20.0).max(20.0));
        let galley = painter.layout_job(job);
        painter.galley(at + vec2(18.0, 0.0), galley, theme.warn);
    }
    let response = ui.interact(area, ui.unique_id().with(("figures", column)), Sense::hover());
    let mut lines: Vec<String> =
        columns.iter().flatten().map(|fact| format!("{:<12}{}", fact.name, fact.full)).collect();
    lines.extend((!odd.is_empty()).then_some(odd));
    let spoken = lines.iter().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    let spoken = format!("{}: {}", summary.name, spoken.collect::<Vec<_>>().join(", "));
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, &spoken));
    if !lines.is_empty() {
        response.on_hover_text(theme::mono(lines.join("\n")));
    }
}

#[cfg(test)]
mod tests {
    use super::brief;

    #[test]
    fn values_are_short_but_never_wrong() {
        assert_eq!(brief("0.07359927384503817"), "0.073599");
        assert_eq!(brief("9007199254740993"), "9007199254740993");
        assert_eq!(brief("2019-01-01T00:00:00.362292"), "2019-01-01 00:00:00");
        assert_eq!(brief("invoice"), "invoice");
        assert_eq!(brief(&"x".repeat(30)), format!("{}…", "x".repeat(24)));
    }
}
