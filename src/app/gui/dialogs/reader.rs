//! A long text in full: wrapped, searched, copied. JSON is indented.

use egui::{Button, Key, TextEdit, Ui};

use super::{head, room};
use crate::gui::commands::Action;
use crate::gui::icons::Icon;
use crate::gui::list::List;
use crate::gui::theme::{self, Theme, size, space};

/// The text and how it is looked at.
pub(crate) struct Reader {
    title: String,
    text: String,
    /// The text in pieces of a screen line at most, as byte ranges.
    lines: Vec<std::ops::Range<usize>>,
    /// How many letters a piece has.
    columns: usize,
    list: List,
    find: String,
    found: Vec<usize>,
    at: usize,
}

/// Texts above this are not laid out as JSON anew.
const JSON: usize = 20_000_000;

impl Reader {
    pub(super) fn new(title: String, text: String) -> Self {
        let begins = text.trim_start().starts_with(['{', '[']);
        let json = (begins && text.len() <= JSON)
            .then(|| serde_json::from_str::<serde_json::Value>(&text).ok())
            .flatten()
            .and_then(|value| serde_json::to_string_pretty(&value).ok());
        let text = json.unwrap_or(text);
        Reader {
            title,
            text,
            lines: Vec::new(),
            columns: 0,
            list: List::default(),
            find: String::new(),
            found: Vec::new(),
            at: 0,
        }
    }

    /// Draws it; true if it is to be closed.
    pub(super) fn ui(&mut self, ui: &mut Ui, actions: &mut Vec<Action>) -> bool {
        room(ui, 860.0, 640.0);
        let close = head(ui, &self.title);
        self.bar(ui, actions);
        ui.add_space(space::S2);
        let screen = ui.ctx().content_rect().height();
        let height = (screen - 190.0).clamp(120.0, 520.0);
        let theme = Theme::of(ui);
        let (area, _) =
            ui.allocate_exact_size(egui::vec2(ui.available_width(), height), egui::Sense::hover());
        ui.painter().rect_filled(area, size::CORNER, theme.bg2);
        let letter =
            ui.painter().layout_no_wrap("0".repeat(100), theme::mono_font(), theme.text).size().x / 100.0;
        let inner = area.shrink2(egui::vec2(space::S3, space::S2));
        self.wrap(((inner.width() - size::SCROLL_BAR) / letter).floor().max(8.0) as usize);
        let mut child = ui.new_child(egui::UiBuilder::new().max_rect(inner).id_salt("text"));
        let (text, lines) = (&self.text, &self.lines);
        let (find, hit) = (self.find.to_lowercase(), self.found.get(self.at).copied());
        self.list.ui(&mut child, "Text", lines.len() as u64, 18.0, |ui, rect, row| {
            let Some(range) = lines.get(row as usize) else { return };
            let line = text.get(range.clone()).unwrap_or_default();
            if !find.is_empty() && line.to_lowercase().contains(&find) {
                let strong = hit.is_some_and(|at| at == row as usize);
                let fill = if strong { theme.selection } else { theme.selected_cell() };
                ui.painter().rect_filled(rect, 2.0, fill);
            }
            ui.painter().text(
                rect.left_center(),
                egui::Align2::LEFT_CENTER,
                line,
                theme::mono_font(),
                theme.text,
            );
        });
        close
    }

    fn bar(&mut self, ui: &mut Ui, actions: &mut Vec<Action>) {
        let theme = Theme::of(ui);
        ui.horizontal(|ui| {
            let edit =
                TextEdit::singleline(&mut self.find).hint_text("Search in the text").desired_width(240.0);
            let edit = ui.add(edit.margin(egui::Margin::symmetric(8, 5)));
            edit.widget_info(|| egui::WidgetInfo::labeled(egui::Role::TextInput, true, "Search in the text"));
            if edit.changed() {
                self.search();
            }
            let enter = edit.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter));
            if enter {
                edit.request_focus();
            }
            let back = theme::icon_button(ui, Icon::CaretUp, "Previous").clicked();
            let on = theme::icon_button(ui, Icon::CaretDown, "Next").clicked() || enter;
            if !self.found.is_empty() && (back || on) {
                let count = self.found.len();
                self.at = if back { (self.at + count - 1) % count } else { (self.at + 1) % count };
                self.list.reveal(self.found[self.at] as u64);
            }
            if !self.find.is_empty() {
                let words = match self.found.len() {
                    0 => "not found".to_owned(),
                    count => format!("{} of {count}", self.at + 1),
                };
                ui.label(theme::dim(theme, words));
            }
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                let copy = ui.add(Button::new(theme::icon_text(Icon::Copy, "Copy")));
                copy.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, "Copy"));
                if copy.clicked() {
                    actions.push(Action::Copy(self.text.clone()));
                }
            });
        });
    }

    /// Cuts the text into lines of at most `columns` letters.
    fn wrap(&mut self, columns: usize) {
        if self.columns == columns {
            return;
        }
        self.columns = columns;
        self.lines.clear();
        let mut start = 0;
        for line in self.text.split_inclusive('\n') {
            let end = start + line.trim_end_matches(['\n', '\r']).len();
            let mut from = start;
            for (count, (at, _)) in self.text[start..end].char_indices().enumerate() {
                if count > 0 && count % columns == 0 {
                    self.lines.push(from..start + at);
                    from = start + at;
                }
            }
            self.lines.push(from..end);
            start += line.len();
        }
        self.search();
    }

    fn search(&mut self) {
        self.found.clear();
        self.at = 0;
        let wanted = self.find.to_lowercase();
        if wanted.is_empty() {
            return;
        }
        let lines = self.lines.iter().enumerate();
        let found = lines.filter(|(_, range)| self.text[(*range).clone()].to_lowercase().contains(&wanted));
        self.found.extend(found.map(|(index, _)| index));
        if let Some(first) = self.found.first() {
            self.list.reveal(*first as u64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_cut_between_letters_and_found() {
        let mut reader = Reader::new("t".into(), "äöüabc\n\nend".into());
        reader.wrap(4);
        let lines: Vec<&str> = reader.lines.iter().map(|range| &reader.text[range.clone()]).collect();
        assert_eq!(lines, ["äöüa", "bc", "", "end"]);
        reader.find = "END".into();
        reader.search();
        assert_eq!(reader.found, [3]);
    }

    #[test]
    fn json_is_indented() {
        assert!(Reader::new("j".into(), "{\"a\":[1]}".into()).text.contains("\n  \"a\""));
    }
}
