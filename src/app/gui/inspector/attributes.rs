//! The attributes: a line each; a long one opens in full, where it can be searched and copied.

use egui::{Role, Sense, TextEdit, Ui, WidgetInfo, pos2, vec2};
use gander::data::node::Value;
use gander::jobs::Jobs;

use crate::gui::commands::Action;
use crate::gui::icons::Icon;
use crate::gui::theme::{self, Theme, body_font, icon_family, mono_font, size, space};
use crate::gui::views::follow::{Follow, looks_like_one};
use crate::gui::views::{Target, tree};

/// Longer values open in full.
const LONG: usize = 28;
/// So many are shown; the filter finds the others.
const SHOWN: usize = 200;
/// From so many on there is a filter.
const MANY: usize = 8;

/// The state of the section.
#[derive(Default)]
pub(super) struct Attributes {
    filter: String,
    follow: Follow,
}

/// References that a menu offers.
const OFFERED: usize = 12;

impl Attributes {
    pub(super) fn ui(
        &mut self,
        ui: &mut Ui,
        jobs: &Jobs,
        target: &Target,
        list: &[(String, Value)],
        actions: &mut Vec<Action>,
    ) {
        let theme = Theme::of(ui);
        let count = gander::bytes::display::count(list.len() as u64);
        theme::section_head(ui, &format!("Attributes · {count}"), None);
        ui.add_space(space::S2);
        if list.len() > MANY {
            let edit = TextEdit::singleline(&mut self.filter).hint_text("Find in names and values");
            ui.add(edit.desired_width(f32::INFINITY));
            ui.add_space(space::S1);
        }
        let wanted = if list.len() > MANY { self.filter.to_lowercase() } else { String::new() };
        let fits = |(name, value): &&(String, Value)| {
            wanted.is_empty() || name.to_lowercase().contains(&wanted) || has(value, &wanted)
        };
        let mut found = list.iter().filter(fits);
        for (index, (name, value)) in found.by_ref().take(SHOWN).enumerate() {
            line(ui, index, name, value, &mut self.follow, actions);
        }
        self.follow.ui(jobs, target, actions);
        let more = found.count();
        if more > 0 {
            ui.label(theme::dim(
                theme,
                format!("{} more; find them by name", gander::bytes::display::count(more as u64)),
            ));
        }
    }
}

fn has(value: &Value, wanted: &str) -> bool {
    // Of very long values only the beginning is looked through in each frame.
    match value {
        Value::Text(text) => {
            let end = (0..=text.len().min(4000)).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
            text[..end].to_lowercase().contains(wanted)
        }
        Value::Json(json) => short(json).to_lowercase().contains(wanted),
    }
}

/// A value in one line.
pub(super) fn brief(value: &Value) -> String {
    match value {
        Value::Text(text) => text.chars().take(300).collect(),
        Value::Json(json) => short(json),
    }
}

fn short(json: &serde_json::Value) -> String {
    match json {
        serde_json::Value::Array(list) if list.len() > 12 => {
            format!("[{} items]", gander::bytes::display::count(list.len() as u64))
        }
        serde_json::Value::Object(map) if map.len() > 6 => format!("{{{} fields}}", map.len()),
        other => other.to_string().chars().take(300).collect(),
    }
}

/// The references in a value: texts that look like paths from the root.
fn references(value: &Value) -> Vec<String> {
    fn add(list: &mut Vec<String>, json: &serde_json::Value) {
        match json {
            _ if list.len() >= OFFERED => {}
            serde_json::Value::String(text) if looks_like_one(text) => list.push(text.clone()),
            serde_json::Value::Array(items) => items.iter().for_each(|item| add(list, item)),
            serde_json::Value::Object(fields) => fields.values().for_each(|field| add(list, field)),
            _ => {}
        }
    }
    let mut list = Vec::new();
    match value {
        Value::Text(text) if looks_like_one(text) => list.push(text.clone()),
        Value::Text(_) => {}
        Value::Json(json) => add(&mut list, json),
    }
    list
}

fn line(
    ui: &mut Ui,
    index: usize,
    name: &str,
    value: &Value,
    follow: &mut Follow,
    actions: &mut Vec<Action>,
) {
    let (text, structured) = match value {
        Value::Text(text) => (text.chars().take(300).collect::<String>(), false),
        Value::Json(json) => (short(json), json.is_array() || json.is_object()),
    };
    let reference = looks_like_one(&text) && !structured;
    let long = structured || reference || text.chars().count() > LONG || text.contains('\n');
    if !long {
        theme::key_value(ui, name, &text);
        return;
    }
    let theme = Theme::of(ui);
    let (rect, response) =
        ui.allocate_exact_size(vec2(ui.available_width(), size::ROW - 2.0), Sense::click());
    let click = if reference { "Click to go there" } else { "Click to open in full" };
    let response = response.on_hover_text(format!("{name}\n{text}\n{click}"));
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, format!("Open {name}")));
    if response.hovered() || response.has_focus() {
        ui.painter().rect_filled(rect.expand2(vec2(space::S1, 0.0)), size::CORNER, theme.bg3);
    }
    let put = |text: &str, font, color, left: f32, width: f32, right: bool| {
        let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let mut job = egui::text::LayoutJob::simple_singleline(text, font, color);
        job.wrap = egui::text::TextWrapping::truncate_at_width(width.max(16.0));
        let galley = ui.painter().layout_job(job);
        let x = if right { left + width - galley.size().x } else { left };
        let drawn = galley.size().x;
        ui.painter().galley(pos2(x, rect.center().y - galley.size().y / 2.0), galley, color);
        drawn
    };
    let mark = 18.0;
    let name_width = put(name, body_font(), theme.dim, rect.left(), rect.width() * 0.5, false);
    let left = rect.left() + name_width + space::S3;
    put(&text, mono_font(), theme.text, left, rect.right() - mark - left, true);
    let font = egui::FontId::new(size::TEXT_MONO, icon_family());
    let at = pos2(rect.right(), rect.center().y);
    ui.painter().text(at, egui::Align2::RIGHT_CENTER, Icon::OpenOutside.glyph(), font, theme.accent);
    let full = || match value {
        Value::Text(text) => match serde_json::from_str::<serde_json::Value>(text) {
            Ok(json) if (json.is_object() || json.is_array()) && text.len() < (4 << 20) => tree::plain(&json),
            _ => text.clone(),
        },
        Value::Json(json) => tree::plain(json),
    };
    if response.clicked() && !(reference && follow.try_text(name, &full())) {
        actions.push(Action::Read(name.to_owned(), full()));
    }
    response.context_menu(|ui| {
        let _ = index;
        for reference in references(value) {
            if ui.button(format!("Go to {reference}")).clicked() {
                follow.start(reference);
                ui.close();
            }
        }
        if ui.button("Copy value").clicked() {
            actions.push(Action::Copy(full()));
            ui.close();
        }
        if ui.button("Copy name").clicked() {
            actions.push(Action::Copy(name.to_owned()));
            ui.close();
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_found_in_lists_and_records() {
        let json = serde_json::json!([["/x"], [{"dataset": "/grp/y", "dimension": 1}], "metres", "/"]);
        assert_eq!(references(&Value::Json(json)), ["/x", "/grp/y"]);
        assert_eq!(references(&Value::Text("/few".to_owned())), ["/few"]);
        assert!(references(&Value::Text("m / s".to_owned())).is_empty());
        let many = serde_json::json!((0..40).map(|n| format!("/{n}")).collect::<Vec<_>>());
        assert_eq!(references(&Value::Json(many)).len(), OFFERED);
    }
}
