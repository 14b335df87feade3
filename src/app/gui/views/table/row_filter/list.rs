//! The list of values of a condition: as text, and as check boxes of the values that are frequent.

use std::sync::Arc;

use egui::{ScrollArea, Ui};
use gander::bytes::display;
use gander::bytes::display::plural;
use gander::data::content::Table;
use gander::jobs::{JobSpec, Jobs, Slot};

use super::super::column_summaries::{Frequent, frequent};
use crate::gui::theme::{self, Theme, space};

/// A value; `None` is null.
pub(super) type Item = Option<String>;

/// The values of a text like `a, "b, c", null`: what is quoted is taken as it stands.
pub(super) fn read(text: &str) -> Vec<Item> {
    let (mut out, mut item, mut quoted, mut inside) = (Vec::new(), String::new(), false, false);
    let mut end = |item: &mut String, quoted: &mut bool| {
        let plain = std::mem::take(item);
        match std::mem::take(quoted) {
            true => out.push(Some(plain)),
            false if plain.trim() == "null" => out.push(None),
            false => out.push(Some(plain.trim().to_owned())),
        }
    };
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '"' if inside && characters.peek() == Some(&'"') => {
                characters.next();
                item.push('"');
            }
            '"' if inside => inside = false,
            '"' if item.trim().is_empty() && !quoted => {
                item.clear();
                (quoted, inside) = (true, true);
            }
            ',' if !inside => end(&mut item, &mut quoted),
            // Blanks behind the quote.
            c if quoted && !inside && c.is_whitespace() => {}
            c => item.push(c),
        }
    }
    end(&mut item, &mut quoted);
    out
}

/// The text of values.
pub(super) fn write(items: &[Item]) -> String {
    let one = |item: &Item| match item {
        None => "null".to_owned(),
        Some(text) => {
            let plain = !text.is_empty() && text.trim() == text && text != "null";
            match plain && !text.contains([',', '"']) {
                true => text.clone(),
                false => format!("\"{}\"", text.replace('"', "\"\"")),
            }
        }
    };
    items.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// The values of a column, looked at by a job.
#[derive(Default)]
pub(super) struct Values(Slot<(usize, usize), Frequent>);

impl Values {
    /// What is known of the column's values by now.
    pub(super) fn get(
        &self,
        jobs: &Jobs,
        (table, column): (&Arc<dyn Table>, usize),
    ) -> Option<Arc<Frequent>> {
        let key = (Arc::as_ptr(table).cast::<()>() as usize, column);
        let source = table.clone();
        let shown = self.0.get(jobs, &key, JobSpec::scan("frequent values"), move |task| {
            frequent(source.as_ref(), task, column)
        });
        shown.value.filter(|_| shown.fresh)
    }

    /// Whether the job was cancelled; asks it again where a person wants that.
    pub(super) fn say_cancelled(&self, ui: &mut Ui, jobs: &Jobs, of: (&Arc<dyn Table>, usize)) {
        let key = (Arc::as_ptr(of.0).cast::<()>() as usize, of.1);
        let error = self.0.peek(&key).error;
        if self.get(jobs, of).is_none()
            && error.is_some_and(|error| error.is_cancelled())
            && theme::cancelled_line(ui)
        {
            self.0.clear();
        }
    }
}

/// Check boxes of values, each with how often it comes; those that are ticked stand in `items`. Whether one was
/// ticked or not any more.
pub(super) fn check_list(ui: &mut Ui, values: &Frequent, items: &mut Vec<Item>) -> bool {
    let theme = Theme::of(ui);
    ui.add_space(space::S1);
    let words = match values.sampled {
        true => format!("Values in a sample of {}", plural(values.rows, "row")),
        false => "Values".to_owned(),
    };
    ui.label(theme::dim(theme, words));
    let nulls = (values.nulls > 0).then_some((None, values.nulls));
    let listed = values.values.iter().map(|(text, count)| (Some(text.clone()), *count));
    let mut changed = false;
    ScrollArea::vertical().id_salt("values").max_height(220.0).show(ui, |ui| {
        for (item, count) in listed.chain(nulls) {
            let at = items.iter().position(|other| *other == item);
            let mut chosen = at.is_some();
            if value_row(ui, &item, count, &mut chosen) {
                changed = true;
                match at {
                    Some(at) => drop(items.remove(at)),
                    None => items.push(item),
                }
            }
        }
    });
    if values.others > 0 {
        let words = format!("and {}", plural(values.others, "other value"));
        ui.label(theme::dim(theme, words));
    }
    changed
}

/// A value with its box at the left and its count at the right; whether the box was clicked.
fn value_row(ui: &mut Ui, item: &Item, count: u64, chosen: &mut bool) -> bool {
    let theme = Theme::of(ui);
    let text = item.as_deref().unwrap_or("null");
    let mut short: String = text.chars().take(40).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    let mut label = egui::RichText::new(if short.trim().is_empty() { "(blank)".to_owned() } else { short });
    if item.is_none() {
        label = label.font(theme::italic_font()).color(theme.null);
    }
    let row = ui.horizontal(|ui| {
        let changed = ui.checkbox(chosen, label).changed();
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            ui.label(theme::mono(display::count(count)).color(theme.dim));
        });
        changed
    });
    row.inner
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_with_commas_and_quotes_are_written_and_read() {
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(read("a, b ,null"), [some("a"), some("b"), None]);
        assert_eq!(
            read("\"Paris, Texas\" , \"null\",\"say \"\"hi\"\"\""),
            [some("Paris, Texas"), some("null"), some("say \"hi\"")]
        );
        assert_eq!(read("5\" nail"), [some("5\" nail")]);
        let items = [some("a b"), None, some("null"), some(" x"), some(""), some("a,b"), some("\"")];
        assert_eq!(read(&write(&items)), items);
    }
}
