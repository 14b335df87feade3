//! The view of a node that is nothing but metadata: its attributes, with long values as text or tree.

use egui::{Frame, Margin, RichText, ScrollArea, Ui};
use gander::data::node;
use serde_json::Value as Json;

use super::tree::{JsonTree, plain};
use super::{Target, View, ViewCx};
use crate::gui::commands::{Action, Label};
use crate::gui::icons::Icon;
use crate::gui::theme::{self, Theme, space};

/// Characters of a long text that are shown here; the reader shows all of it.
const SHOWN: usize = 200_000;

/// The view of `target`, which has neither content nor children.
pub(crate) fn make(_target: &Target) -> Box<dyn View> {
    Box::new(Record::default())
}

#[derive(Default)]
struct Record {
    filter: String,
    /// The attribute that is shown in full.
    chosen: Option<usize>,
    tree: JsonTree,
}

impl View for Record {
    fn toolbar(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let Some(target) = cx.target else { return };
        let theme = Theme::of(ui);
        ui.label(theme::dim(theme, target.node.label));
        if of(&target.node).count() > 8 {
            let edit = egui::TextEdit::singleline(&mut self.filter).hint_text("Find an attribute");
            ui.add(edit.desired_width(200.0));
        }
    }

    fn commands(&self) -> Vec<&'static Label> {
        Vec::new()
    }

    fn run(&mut self, _at: usize, _cx: &mut ViewCx<'_>) -> bool {
        false
    }

    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let Some(target) = cx.target else { return };
        let node = target.node.clone();
        if let Some(problem) = &node.problem {
            let words = problem.to_string();
            let lines = [(words.as_str(), None)];
            theme::problem_banner(ui, theme::Severity::Problem, "This could not be read", &lines);
        }
        if let Some(value) = &node.value {
            Frame::new().inner_margin(Margin::same(space::S3 as i8)).show(ui, |ui| {
                ui.add(egui::Label::new(theme::mono(value.as_str())).wrap().selectable(true));
            });
        }
        let count = of(&node).count();
        if count == 0 && node.value.is_none() {
            let words = if node.problem.is_some() { "" } else { "It has no content and no attributes." };
            theme::empty_state(ui, Icon::Tag, &format!("{} {}", node.label, node.name), words);
            return;
        }
        cx.status.facts = gander::bytes::display::plural(count as u64, "attribute");
        let half = if self.chosen.is_some() { ui.available_height() * 0.45 } else { ui.available_height() };
        ScrollArea::vertical().max_height(half).auto_shrink([false, self.chosen.is_some()]).show(ui, |ui| {
            Frame::new().inner_margin(Margin::same(space::S3 as i8)).show(ui, |ui| self.lines(ui, &node));
        });
        let Some((at, (name, value))) = self.chosen.and_then(|at| Some((at, of(&node).nth(at)?))) else {
            return;
        };
        ui.separator();
        self.value(ui, cx, at, name, value);
    }
}

/// All that is known beside content: what the reader says, the attributes, and those that are reserved.
fn of(node: &node::Node) -> impl Iterator<Item = &(String, node::Value)> {
    node.shown_attributes().chain(&node.reserved)
}

impl Record {
    fn lines(&mut self, ui: &mut Ui, node: &node::Node) {
        let wanted = self.filter.to_lowercase();
        ui.set_max_width(ui.available_width().min(760.0));
        theme::section_head(ui, "Attributes", None);
        for (at, (name, value)) in of(node).enumerate() {
            if !wanted.is_empty() && !name.to_lowercase().contains(&wanted) {
                continue;
            }
            let text = match value {
                node::Value::Text(text) => text.chars().take(300).collect(),
                node::Value::Json(json) => short(json),
            };
            if theme::key_value(ui, name, &text).clicked() {
                self.chosen = Some(at);
            }
        }
    }

    fn value(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>, at: usize, name: &str, value: &node::Value) {
        let theme = Theme::of(ui);
        let parsed;
        let json = match value {
            node::Value::Json(json) => Some(json),
            node::Value::Text(text)
                if text.trim_start().starts_with(['{', '[']) && text.len() < (1 << 20) =>
            {
                parsed = serde_json::from_str(text).ok();
                parsed.as_ref()
            }
            node::Value::Text(_) => None,
        };
        ui.horizontal(|ui| {
            ui.add_space(space::S3);
            ui.label(RichText::new(name).family(theme::semi_bold()).color(theme.text));
            if theme::icon_button(ui, Icon::Copy, "Copy the value").clicked() {
                cx.actions.push(Action::Copy(value_text(value)));
            }
            if theme::icon_button(ui, Icon::Close, "Close").clicked() {
                self.chosen = None;
            }
        });
        match json {
            Some(json) => self.tree.ui(ui, json, at + 1),
            None => {
                let mut text = value_text(value);
                if let Some((end, _)) = text.char_indices().nth(SHOWN) {
                    let (shown, size) = (
                        gander::bytes::display::count(SHOWN as u64),
                        gander::bytes::display::bytes(text.len() as u64),
                    );
                    ui.horizontal(|ui| {
                        ui.add_space(space::S3);
                        let words = format!("Only the first {shown} characters of {size} are shown here");
                        ui.label(RichText::new(words).color(theme.warn));
                        if theme::button(ui, "Read all").clicked() {
                            cx.actions.push(Action::Read(name.to_owned(), text.clone()));
                        }
                    });
                    text.truncate(end);
                }
                ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
                    Frame::new().inner_margin(Margin::symmetric(space::S3 as i8, 0)).show(ui, |ui| {
                        ui.add(egui::Label::new(theme::mono(text).color(theme.text)).wrap().selectable(true));
                    });
                });
            }
        }
    }
}

/// The whole text of a value.
pub(crate) fn value_text(value: &node::Value) -> String {
    match value {
        node::Value::Text(text) => text.clone(),
        node::Value::Json(json) => plain(json),
    }
}

/// The beginning of a JSON value on one line.
pub(crate) fn short(json: &Json) -> String {
    match json {
        Json::Array(list) if list.len() > 12 => {
            format!("[{} items]", gander::bytes::display::count(list.len() as u64))
        }
        Json::Object(map) if map.len() > 6 => {
            format!("{{{} fields}}", gander::bytes::display::count(map.len() as u64))
        }
        other => other.to_string().chars().take(300).collect(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use egui_kittest::Harness;
    use egui_kittest::kittest::Queryable as _;
    use gander::bytes::source::Source;
    use gander::data::content::Content;

    use super::super::bench::{Bench, target};
    use super::*;

    #[test]
    fn a_text_that_is_cut_says_so_and_is_read_in_full() {
        let mut target = target("a", Content::Bytes(Source::memory("a", vec![0])));
        let long = "x".repeat(SHOWN + 5);
        target.node = Arc::new(node::Node::new("a", "note").attribute("long", long.as_str()));
        let bench = Bench::new(Box::new(Record { chosen: Some(0), ..Record::default() }), target);
        let builder = Harness::builder().with_size(egui::vec2(900.0, 600.0));
        let builder = builder.with_context_setup(crate::gui::theme::apply).allow_missing_glyphs();
        let mut harness = builder.build_ui_state(Bench::<Record>::frame, bench);
        harness.step();
        harness.get_by_label_contains("Only the first 200,000 characters");
        harness.get_by_label("Read all").click();
        (0..3).for_each(|_| harness.step());
        let read = harness.state().actions.iter().find_map(|action| match action {
            Action::Read(name, text) => Some((name.clone(), text.len())),
            _ => None,
        });
        assert_eq!(read, Some(("long".to_owned(), long.len())));
    }
}
