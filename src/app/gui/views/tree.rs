//! A JSON value as a tree: only the rows in sight are drawn, long lists are cut, everything can be
//! copied. The cell inspector, attributes and the record view share it.

use std::collections::HashSet;

use egui::{Align2, Color32, FontId, Role, Sense, Ui, WidgetInfo, pos2, vec2};
use serde_json::Value;

use crate::gui::icons::Icon;
use crate::gui::list::List;
use crate::gui::theme::{Theme, body_font, icon_family, mono_font, size, space};

/// Of a list or object only so many members are listed.
const MEMBERS: usize = 10_000;
/// So many rows are unfolded at first.
const FIRST: usize = 60;

/// The state of a tree: what is unfolded.
#[derive(Default)]
pub(crate) struct JsonTree {
    list: List,
    open: HashSet<String>,
    rows: Vec<Row>,
    /// Which value the rows were made of.
    of: Option<usize>,
    selected: Option<usize>,
}

struct Row {
    depth: usize,
    /// The place in the value, as a JSON pointer.
    pointer: String,
    name: String,
    text: String,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Folded,
    Unfolded,
    Text,
    Number,
    Null,
    More,
}

impl JsonTree {
    /// Draws `value` into all that is left of `ui`; `version` tells one value from the next.
    pub(crate) fn ui(&mut self, ui: &mut Ui, value: &Value, version: usize) {
        if self.of != Some(version) {
            self.unfold_first(value);
            self.selected = None;
            self.of = Some(version);
            self.collect(value);
        }
        let mut toggle = None;
        let (rows, selected) = (&self.rows, self.selected);
        let mut clicked = None;
        self.list.ui(ui, "Value as a tree", rows.len() as u64, size::ROW - 3.0, |ui, place, index| {
            let Some(row) = rows.get(index as usize) else { return };
            let response = row.ui(ui, place, selected == Some(index as usize));
            if response.clicked() {
                clicked = Some(index as usize);
                if matches!(row.kind, Kind::Folded | Kind::Unfolded) {
                    toggle = Some(row.pointer.clone());
                }
            }
            response.context_menu(|ui| {
                if ui.button("Copy value").clicked() {
                    let found = value.pointer(&row.pointer).unwrap_or(&Value::Null);
                    ui.ctx().copy_text(plain(found));
                    ui.close();
                }
                if ui.button("Copy path").clicked() {
                    ui.ctx().copy_text(row.pointer.clone());
                    ui.close();
                }
            });
        });
        self.selected = clicked.or(self.selected);
        if let Some(pointer) = toggle {
            if !self.open.remove(&pointer) {
                self.open.insert(pointer);
            }
            self.collect(value);
        }
    }

    /// Unfolds from the top as long as it stays on a page.
    fn unfold_first(&mut self, value: &Value) {
        self.open.clear();
        let mut shown = 1;
        let mut level = vec![(String::new(), value)];
        while !level.is_empty() {
            let mut next = Vec::new();
            for (pointer, value) in level {
                let count = members(value);
                if count == 0 || (shown + count > FIRST && !pointer.is_empty()) {
                    continue;
                }
                shown += count;
                each(value, |name, child| next.push((below(&pointer, name), child)));
                self.open.insert(pointer);
            }
            level = if shown > FIRST { Vec::new() } else { next };
        }
    }

    fn collect(&mut self, value: &Value) {
        let mut rows = Vec::new();
        collect(value, "", "", 0, &self.open, &mut rows);
        self.rows = rows;
    }
}

/// A value as text: strings without quotes, all else as JSON.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    }
}

fn members(value: &Value) -> usize {
    match value {
        Value::Array(list) => list.len(),
        Value::Object(map) => map.len(),
        _ => 0,
    }
}

fn each<'a>(value: &'a Value, mut visit: impl FnMut(&str, &'a Value)) {
    match value {
        Value::Array(list) => {
            list.iter().take(MEMBERS).enumerate().for_each(|(at, child)| visit(&at.to_string(), child));
        }
        Value::Object(map) => map.iter().take(MEMBERS).for_each(|(name, child)| visit(name, child)),
        _ => {}
    }
}

/// A JSON pointer (RFC 6901) one step further.
fn below(pointer: &str, name: &str) -> String {
    format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"))
}

fn collect(
    value: &Value,
    pointer: &str,
    name: &str,
    depth: usize,
    open: &HashSet<String>,
    rows: &mut Vec<Row>,
) {
    let unfolded = open.contains(pointer);
    let (text, kind) = match value {
        Value::Array(list) => {
            (format!("[{}]", gander::bytes::display::count(list.len() as u64)), Kind::Folded)
        }
        Value::Object(map) => {
            (format!("{{{}}}", gander::bytes::display::count(map.len() as u64)), Kind::Folded)
        }
        Value::String(text) => (text.chars().take(400).collect(), Kind::Text),
        Value::Null => ("null".to_owned(), Kind::Null),
        other => (other.to_string(), Kind::Number),
    };
    let kind = if kind == Kind::Folded && unfolded { Kind::Unfolded } else { kind };
    rows.push(Row { depth, pointer: pointer.to_owned(), name: name.to_owned(), text, kind });
    if !unfolded || depth >= gander::bytes::limits::DEPTH {
        return;
    }
    each(value, |name, child| collect(child, &below(pointer, name), name, depth + 1, open, rows));
    if members(value) > MEMBERS {
        let more = gander::bytes::display::count((members(value) - MEMBERS) as u64);
        let text = format!("… {more} more; copy the value to see all");
        rows.push(Row {
            depth: depth + 1,
            pointer: pointer.to_owned(),
            name: String::new(),
            text,
            kind: Kind::More,
        });
    }
}

impl Row {
    fn color(&self, theme: &Theme) -> (FontId, Color32) {
        match self.kind {
            Kind::Text => (mono_font(), theme.string),
            Kind::Number => (mono_font(), theme.text),
            Kind::Null => (crate::gui::theme::italic_font(), theme.null),
            Kind::Folded | Kind::Unfolded | Kind::More => (mono_font(), theme.dim),
        }
    }

    fn ui(&self, ui: &Ui, place: egui::Rect, selected: bool) -> egui::Response {
        let theme = Theme::of(ui);
        let response =
            ui.interact(place, ui.unique_id().with(("row", &self.pointer, self.text.len())), Sense::click());
        let spoken = format!("{} {}", self.name, self.text);
        response.widget_info(|| WidgetInfo::labeled(Role::TreeItem, true, spoken.trim()));
        if selected || response.hovered() {
            let color = if selected { theme.selection } else { theme.bg3 };
            ui.painter().rect_filled(place, 0.0, color);
        }
        let mut x = place.left() + space::S2 + self.depth as f32 * size::TREE_INDENT;
        let middle = place.center().y;
        let caret = match self.kind {
            Kind::Folded => Some(Icon::CaretRight),
            Kind::Unfolded => Some(Icon::CaretDown),
            _ => None,
        };
        if let Some(caret) = caret {
            let font = FontId::new(11.0, icon_family());
            ui.painter().text(pos2(x, middle), Align2::LEFT_CENTER, caret.glyph(), font, theme.dim);
        }
        x += 16.0;
        if !self.name.is_empty() {
            let name: String = self.name.chars().take(120).collect();
            let drawn = ui.painter().text(pos2(x, middle), Align2::LEFT_CENTER, name, body_font(), theme.dim);
            x = drawn.right() + space::S2;
        }
        let (font, color) = self.color(theme);
        let text: String = self.text.chars().map(|c| if c.is_control() { '↵' } else { c }).collect();
        let mut job = egui::text::LayoutJob::simple_singleline(text, font, color);
        job.wrap = egui::text::TextWrapping::truncate_at_width((place.right() - x - space::S2).max(20.0));
        let galley = ui.painter().layout_job(job);
        let at = pos2(x, middle) - vec2(0.0, galley.size().y / 2.0);
        ui.painter().galley(at, galley, color);
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_lead_back_to_their_values() {
        let value: Value = serde_json::json!({"a/b": [1, {"~c": "x"}], "d": null});
        let mut tree = JsonTree::default();
        tree.unfold_first(&value);
        tree.collect(&value);
        assert_eq!(tree.rows.len(), 6);
        for row in &tree.rows {
            assert!(value.pointer(&row.pointer).is_some(), "{}", row.pointer);
        }
    }

    #[test]
    fn a_long_list_starts_folded_below_the_top() {
        let value = serde_json::json!({"ids": vec![0; 5000], "name": "n"});
        let mut tree = JsonTree::default();
        tree.unfold_first(&value);
        tree.collect(&value);
        assert_eq!(tree.rows.len(), 3);
    }
}
