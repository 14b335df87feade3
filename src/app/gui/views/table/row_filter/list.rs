//! The list of values of a condition: as text, and as check boxes of the values that are frequent.

use std::sync::Arc;

use egui::{ScrollArea, Ui};
use gander::data::content::Table;
use gander::jobs::{JobSpec, Jobs, Slot};

use super::super::column_summaries::frequent;
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

/// The frequent values of a column, looked at by a job.
#[derive(Default)]
pub(super) struct Frequent(Slot<(usize, usize), Vec<String>>);

impl Frequent {
    /// Check boxes that write values into `text`.
    pub(super) fn ui(
        &self,
        ui: &mut Ui,
        jobs: &Jobs,
        (table, column): (&Arc<dyn Table>, usize),
        text: &mut String,
    ) {
        let key = (Arc::as_ptr(table).cast::<()>() as usize, column);
        let source = table.clone();
        let shown = self.0.get(jobs, &key, JobSpec::scan("frequent values"), move |task| {
            frequent(source.as_ref(), task, column)
        });
        if shown.error.is_some_and(|error| error.is_cancelled()) && theme::cancelled_line(ui) {
            self.0.clear();
        }
        let Some(values) = shown.value.filter(|_| shown.fresh) else { return };
        if values.is_empty() {
            return;
        }
        ui.add_space(space::S1);
        ui.label(theme::dim(Theme::of(ui), "Frequent values"));
        let mut items = if text.trim().is_empty() { Vec::new() } else { read(text) };
        let mut changed = false;
        ScrollArea::vertical().id_salt("frequent").max_height(220.0).show(ui, |ui| {
            for value in values.iter() {
                let at = items.iter().position(|item| item.as_ref() == Some(value));
                let mut chosen = at.is_some();
                let mut short: String = value.chars().take(40).collect();
                if short.len() < value.len() {
                    short.push('…');
                }
                if ui.checkbox(&mut chosen, short).changed() {
                    changed = true;
                    match at {
                        Some(at) => drop(items.remove(at)),
                        None => items.push(Some(value.clone())),
                    }
                }
            }
        });
        if changed {
            *text = write(&items);
        }
    }
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
