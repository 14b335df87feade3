//! The attributes: a line each; a long one opens in full, where it can be searched and copied. Jobs look through them
//! and write their values out, since a value may be of any size.

use std::sync::Arc;

use egui::{Align2, Response, Role, Sense, TextEdit, Ui, WidgetInfo, pos2, vec2};
use gander::bytes::error::Result;
use gander::bytes::task::Task;
use gander::data::node::{Node, Value};
use gander::jobs::{JobSpec, Jobs, Slot};
use serde::de::IgnoredAny;

use super::details::Known;
use crate::gui::commands::Action;
use crate::gui::icons::Icon;
use crate::gui::target::{BytesOf, StoredValue};
use crate::gui::theme::{self, Theme, body_font, icon_family, mono_font, size, space};
use crate::gui::ui::{json, key_value, paint_elided, rows};
use crate::gui::views::Target;
use crate::gui::views::record::{brief, value_text};
use crate::gui::views::references::{ReferenceResolver, looks_like_one};

/// Longer values open in full.
const LONG: usize = 28;
/// From so many on there is a filter.
const MANY: usize = 8;
/// References that a menu offers, and how many members of a value are looked at for them.
const OFFERED: usize = 12;
const LOOKED: usize = 10_000;

/// Attributes, and what keeps them.
#[derive(Clone)]
pub(super) enum List {
    Node(Arc<Node>),
    Column(Arc<Known>),
}

impl List {
    pub(super) fn items(&self) -> &[(String, Value)] {
        match self {
            List::Node(node) => &node.attributes,
            List::Column(known) => &known.field,
        }
    }

    /// Tells one list from another while both are kept.
    fn address(&self) -> usize {
        self.items().as_ptr() as usize
    }
}

/// Which attributes have the words of the filter.
struct Found {
    /// Of which list; it is kept, so that no other one gets its address.
    list: List,
    items: Vec<u32>,
}

/// What was asked for with an attribute, by its number.
#[derive(Clone)]
struct Asked {
    list: List,
    item: usize,
    copy: bool,
}

/// The state of the section.
#[derive(Default)]
pub(super) struct Attributes {
    filter: String,
    found: Slot<(usize, String), Found>,
    follow: ReferenceResolver,
    asked: Option<Asked>,
    text: Slot<(usize, usize), String>,
}

impl Attributes {
    pub(super) fn ui(
        &mut self,
        ui: &mut Ui,
        jobs: &Jobs,
        target: &Target,
        list: &List,
        actions: &mut Vec<Action>,
    ) {
        let theme = Theme::of(ui);
        let all = list.items();
        let count = gander::bytes::display::count(all.len() as u64);
        theme::section_head(ui, &format!("Attributes · {count}"), None);
        ui.add_space(space::S2);
        if all.len() > MANY {
            let edit = TextEdit::singleline(&mut self.filter).hint_text("Find in names and values");
            let edit = ui.add(edit.desired_width(f32::INFINITY));
            edit.widget_info(|| {
                egui::WidgetInfo::labeled(egui::Role::TextInput, true, "Find in names and values")
            });
            ui.add_space(space::S1);
        }
        let found = (all.len() > MANY && !self.filter.is_empty()).then(|| self.find(jobs, list));
        let height = size::ROW - 2.0;
        let shown = match &found {
            None => all.len(),
            Some(Some(found)) => found.items.len(),
            Some(None) => {
                ui.label(theme::dim(theme, "searching …"));
                0
            }
        };
        if matches!(&found, Some(Some(found)) if found.items.is_empty()) {
            ui.label(theme::dim(theme, "No name and no value has this."));
        }
        rows::ui(ui, shown, height, |ui, row| {
            let item = match &found {
                Some(Some(found)) => found.items.get(row).map_or(row, |item| *item as usize),
                _ => row,
            };
            let Some((name, value)) = all.get(item) else { return };
            let bytes = match list {
                List::Node(node) => StoredValue::attribute(node, name),
                List::Column(_) => None,
            };
            let bytes = bytes.map(|value| BytesOf { node: target.place(), value, decoded: false });
            if let Some(copy) = line(ui, (name, value), bytes, &mut self.follow, actions) {
                self.text.clear();
                self.asked = Some(Asked { list: list.clone(), item, copy });
                ui.ctx().request_repaint();
            }
        });
        self.follow.ui(jobs, target, actions);
        self.take_asked(jobs, actions);
    }

    /// Looks for the words of the filter in all of the attributes; those of words before stay until then.
    fn find(&self, jobs: &Jobs, list: &List) -> Option<Arc<Found>> {
        let (source, wanted) = (list.clone(), self.filter.to_lowercase());
        let key = (list.address(), wanted.clone());
        let shown = self.found.get(jobs, &key, JobSpec::scan("searching in attributes"), move |task| {
            let mut items = Vec::new();
            for (item, (name, value)) in source.items().iter().enumerate() {
                task.check()?;
                if name.to_lowercase().contains(&wanted) || value.to_string().to_lowercase().contains(&wanted)
                {
                    items.push(u32::try_from(item).unwrap_or(u32::MAX));
                }
            }
            Ok(Found { list: source, items })
        });
        shown.value.filter(|found| found.list.address() == list.address())
    }

    /// Reads or copies what was asked for, once a job has written it out.
    fn take_asked(&mut self, jobs: &Jobs, actions: &mut Vec<Action>) {
        let Some(Asked { list, item, copy }) = self.asked.clone() else { return };
        let (source, key) = (list.clone(), (list.address(), item));
        let shown = self.text.get(jobs, &key, JobSpec::once("writing out a value"), move |task| match source
            .items()
            .get(item)
        {
            Some((_, value)) => written(task, value),
            None => Ok(String::new()),
        });
        if let Some(text) = shown.ready() {
            let name = list.items().get(item).map_or(String::new(), |(name, _)| name.clone());
            let text = text.as_ref().clone();
            actions.push(if copy { Action::Copy(text) } else { Action::Read(name, text) });
        } else if let Some(error) = &shown.error {
            actions.push(Action::Notice(error.message()));
        } else {
            return;
        }
        self.asked = None;
        self.text.clear();
    }
}

/// A value in full; JSON in lines.
fn written(task: &Task, value: &Value) -> Result<String> {
    match value {
        Value::Text(text) if json::begins(text) && serde_json::from_str::<IgnoredAny>(text).is_ok() => {
            json::indented(Some(task), text)
        }
        other => Ok(value_text(other)),
    }
}

/// The references in a value: texts that look like paths from the root.
fn references(value: &Value) -> Vec<String> {
    fn add(list: &mut Vec<String>, looked: &mut usize, json: &serde_json::Value) {
        *looked += 1;
        match json {
            _ if list.len() >= OFFERED || *looked > LOOKED => {}
            serde_json::Value::String(text) if looks_like_one(text) => list.push(text.clone()),
            serde_json::Value::Array(items) => {
                items.iter().take(LOOKED).for_each(|item| add(list, looked, item));
            }
            serde_json::Value::Object(fields) => {
                fields.values().take(LOOKED).for_each(|field| add(list, looked, field));
            }
            _ => {}
        }
    }
    let mut list = Vec::new();
    match value {
        Value::Text(text) if looks_like_one(text) => list.push(text.clone()),
        Value::Text(_) => {}
        Value::Json(json) => add(&mut list, &mut 0, json),
    }
    list
}

/// Draws an attribute; whether its value is to be read in full (`false`) or copied (`true`).
fn line(
    ui: &mut Ui,
    (name, value): (&str, &Value),
    bytes: Option<BytesOf>,
    follow: &mut ReferenceResolver,
    actions: &mut Vec<Action>,
) -> Option<bool> {
    let text = brief(value);
    let structured = matches!(value, Value::Json(json) if json.is_array() || json.is_object());
    let reference = looks_like_one(&text) && !structured;
    let long = structured || reference || text.chars().count() > LONG || text.contains('\n');
    if !long {
        return menu(&key_value(ui, name, &text), (name, value), bytes, follow, actions);
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
        let (anchor, x) =
            if right { (Align2::RIGHT_CENTER, left + width) } else { (Align2::LEFT_CENTER, left) };
        paint_elided(ui.painter(), pos2(x, rect.center().y), anchor, &text, font, color, width).width()
    };
    let mark = 18.0;
    let name_width = put(name, body_font(), theme.dim, rect.left(), rect.width() * 0.5, false);
    let left = rect.left() + name_width + space::S3;
    put(&text, mono_font(), theme.text, left, rect.right() - mark - left, true);
    let font = egui::FontId::new(size::TEXT_MONO, icon_family());
    let at = pos2(rect.right(), rect.center().y);
    ui.painter().text(at, egui::Align2::RIGHT_CENTER, Icon::OpenOutside.glyph(), font, theme.accent);
    let mut asked = None;
    if response.clicked() {
        let followed = matches!(value, Value::Text(text) if reference && follow.try_text(name, text));
        asked = (!followed).then_some(false);
    }
    menu(&response, (name, value), bytes, follow, actions).or(asked)
}

/// The menu of an attribute; whether its value is to be copied.
fn menu(
    response: &Response,
    (name, value): (&str, &Value),
    bytes: Option<BytesOf>,
    follow: &mut ReferenceResolver,
    actions: &mut Vec<Action>,
) -> Option<bool> {
    let mut asked = None;
    response.context_menu(|ui| {
        for reference in references(value) {
            if ui.button(format!("Go to {reference}")).clicked() {
                follow.start(reference);
                ui.close();
            }
        }
        if ui.button("Copy value").clicked() {
            asked = Some(true);
            ui.close();
        }
        if ui.button("Copy name").clicked() {
            actions.push(Action::Copy(name.to_owned()));
            ui.close();
        }
        if let Some(bytes) = bytes
            && ui.button("Show bytes").clicked()
        {
            actions.push(Action::ShowBytes(bytes));
            ui.close();
        }
    });
    asked
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
