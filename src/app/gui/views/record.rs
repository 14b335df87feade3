//! The view of a node that is nothing but metadata: its attributes, with long values as text or tree.

use std::sync::Arc;

use egui::{Frame, Margin, RichText, ScrollArea, Ui, UiBuilder, vec2};
use gander::bytes::error::Result;
use gander::bytes::task::Task;
use gander::data::node;
use gander::jobs::{JobSpec, Slot};

use super::{Target, View, ViewCx};
use crate::gui::commands::{Action, Label};
use crate::gui::icons::Icon;
use crate::gui::theme::{self, Theme, size, space};
use crate::gui::ui::json::{self, Json};
use crate::gui::ui::{JsonTree, LongText, key_value, rows};

/// Characters of a value on one line.
const BRIEF: usize = 300;

/// The view of `target`, which has neither content nor children.
pub(crate) fn make(_target: &Target) -> Box<dyn View> {
    Box::new(Record::default())
}

#[derive(Default)]
struct Record {
    filter: String,
    /// The attribute that is shown in full.
    chosen: Option<usize>,
    full: Slot<(usize, usize), Full>,
    text: LongText,
    tree: JsonTree,
    /// The attributes whose names fit, and for which words and how many that is so.
    found: Option<(String, usize, Vec<usize>)>,
}

/// A value in full.
struct Full {
    json: Option<Arc<Json>>,
    text: Arc<str>,
}

impl Full {
    fn new(task: &Task, value: &node::Value) -> Result<Self> {
        let text: Arc<str> = value_text(value).into();
        let json = Json::new(task, text.clone())?.map(Arc::new);
        Ok(Full { json, text })
    }
}

impl View for Record {
    fn toolbar(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let Some(target) = cx.target else { return };
        let theme = Theme::of(ui);
        ui.label(theme::dim(theme, target.node.label));
        if count(&target.node) > 8 {
            let edit = egui::TextEdit::singleline(&mut self.filter).hint_text("Find an attribute");
            let edit = ui.add(edit.desired_width(200.0));
            edit.widget_info(|| egui::WidgetInfo::labeled(egui::Role::TextInput, true, "Find an attribute"));
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
        let count = count(&node);
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
        let Some((at, (name, _))) = self.chosen.and_then(|at| Some((at, nth(&node, at)?))) else {
            return;
        };
        ui.separator();
        self.value(ui, cx, &node, at, name);
    }
}

/// All that is known beside content: what the reader says, the attributes, and those that are reserved.
fn of(node: &node::Node) -> impl Iterator<Item = &(String, node::Value)> {
    node.shown_attributes().chain(&node.reserved)
}

/// How many these are.
fn count(node: &node::Node) -> usize {
    node.reader.len() + node.attributes.len() + node.reserved.len()
}

/// One of these, without a walk over those before it.
fn nth(node: &node::Node, at: usize) -> Option<&(String, node::Value)> {
    let mut at = at;
    for list in [&node.reader, &node.attributes, &node.reserved] {
        match list.get(at) {
            None => at -= list.len(),
            found => return found,
        }
    }
    None
}

impl Record {
    fn lines(&mut self, ui: &mut Ui, node: &node::Node) {
        ui.set_max_width(ui.available_width().min(760.0));
        theme::section_head(ui, "Attributes", None);
        let count = count(node);
        if !self.found.as_ref().is_some_and(|(words, of, _)| *words == self.filter && *of == count) {
            let wanted = self.filter.to_lowercase();
            let fits = |name: &str| wanted.is_empty() || name.to_lowercase().contains(&wanted);
            let found = of(node).enumerate().filter(|(_, (name, _))| fits(name)).map(|(at, _)| at);
            self.found = Some((self.filter.clone(), count, found.collect()));
        }
        let found = self.found.as_ref().map_or(&[][..], |(_, _, found)| found);
        let chosen = &mut self.chosen;
        rows::ui(ui, found.len(), size::ROW - 2.0, |ui, row| {
            let Some(at) = found.get(row).copied() else { return };
            let Some((name, value)) = nth(node, at) else { return };
            if key_value(ui, name, &brief(value)).clicked() {
                *chosen = Some(at);
            }
        });
    }

    fn value(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>, node: &Arc<node::Node>, at: usize, name: &str) {
        let theme = Theme::of(ui);
        let (source, key) = (node.clone(), (Arc::as_ptr(node) as usize, at));
        let shown = self.full.get(cx.jobs, &key, JobSpec::view(""), move |task| match nth(&source, at) {
            Some((_, value)) => Full::new(task, value),
            None => Full::new(task, &"".into()),
        });
        let full = shown.ready();
        ui.horizontal(|ui| {
            ui.add_space(space::S3);
            let short: String = name.chars().take(BRIEF).collect();
            ui.label(RichText::new(short).family(theme::semi_bold()).color(theme.text));
            if let Some(full) = &full {
                if theme::icon_button(ui, Icon::Copy, "Copy the value").clicked() {
                    cx.actions.push(Action::Copy(full.text.as_ref().to_owned()));
                }
                if theme::icon_button(ui, Icon::Search, "Read and search it").clicked() {
                    cx.actions.push(Action::Read(name.to_owned(), full.text.as_ref().to_owned()));
                }
            }
            if theme::icon_button(ui, Icon::Close, "Close").clicked() {
                self.chosen = None;
            }
        });
        let Some(full) = full else {
            theme::pending(ui, ui.unique_id().with(("value", at)), "reading the value …");
            return;
        };
        match &full.json {
            Some(json) => self.tree.ui(ui, cx.jobs, json),
            None => {
                let place = ui.available_rect_before_wrap().shrink2(vec2(space::S3, 0.0));
                let mut child = ui.new_child(UiBuilder::new().max_rect(place).id_salt("value"));
                self.text.ui(&mut child, cx.jobs, &full.text);
            }
        }
    }
}

/// The whole text of a value: JSON indented. For jobs, since a value may be of any size.
pub(crate) fn value_text(value: &node::Value) -> String {
    match value {
        node::Value::Text(text) | node::Value::Json(serde_json::Value::String(text)) => text.clone(),
        node::Value::Json(json) => serde_json::to_string_pretty(json).unwrap_or_default(),
    }
}

/// A value on one line: the beginning of a long one.
pub(crate) fn brief(value: &node::Value) -> String {
    match value {
        node::Value::Text(text) => text.chars().take(BRIEF).collect(),
        node::Value::Json(json) => json::brief(json, BRIEF),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use egui_kittest::Harness;
    use egui_kittest::kittest::Queryable as _;
    use gander::bytes::source::Source;
    use gander::data::content::Content;

    use super::super::harness::{ViewHarness, target};
    use super::*;

    fn harness(node: node::Node) -> Harness<'static, ViewHarness<Record>> {
        let mut target = target("a", Content::Bytes(Source::memory("a", vec![0])));
        target.node = Arc::new(node);
        let bench = ViewHarness::new(Box::new(Record { chosen: Some(0), ..Record::default() }), target);
        let builder = Harness::builder().with_size(egui::vec2(900.0, 600.0));
        let builder = builder.with_context_setup(crate::gui::theme::apply).allow_missing_glyphs();
        builder.build_ui_state(ViewHarness::<Record>::frame, bench)
    }

    fn until(
        harness: &mut Harness<'_, ViewHarness<Record>>,
        done: impl Fn(&Harness<'_, ViewHarness<Record>>) -> bool,
    ) {
        let started = std::time::Instant::now();
        while !done(harness) {
            assert!(started.elapsed().as_secs() < 60, "it does not come");
            harness.step();
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
    }

    #[test]
    fn of_a_megabyte_of_text_only_what_is_in_sight_is_laid_out() {
        let long = format!("the beginning{}", "x".repeat(1 << 20));
        let mut harness = harness(node::Node::new("a", "note").attribute("long", long.as_str()));
        until(&mut harness, |harness| harness.state().view.text.rows() > 1_000);
        (0..3).for_each(|_| harness.step());
        let most = harness.state().view.text.laid_out();
        assert!((100..20_000).contains(&most), "{most} bytes were laid out in one frame");
        harness.get_by_label("Read and search it").click();
        (0..3).for_each(|_| harness.step());
        let read = harness.state().actions.iter().find_map(|action| match action {
            Action::Read(name, text) => Some((name.clone(), text.len())),
            _ => None,
        });
        assert_eq!(read, Some(("long".to_owned(), long.len())));
    }

    #[test]
    fn json_of_a_megabyte_is_a_tree() {
        let list: Vec<String> = (0..100_000).map(|n| format!("item {n}")).collect();
        let mut harness = harness(node::Node::new("a", "note").attribute("list", serde_json::json!(list)));
        until(&mut harness, |harness| harness.query_by_label("0 … 999").is_some());
        harness.get_by_label("0 … 999").click();
        until(&mut harness, |harness| harness.query_by_label("3 item 3").is_some());
    }

    #[test]
    fn a_hundred_thousand_attributes_are_not_all_drawn() {
        let mut node = node::Node::new("a", "note");
        node.attributes = (0..100_000).map(|n| (format!("name {n}"), format!("v{n}").into())).collect();
        let mut harness = harness(node);
        until(&mut harness, |harness| harness.query_by_label("name 3: v3").is_some());
        let rows = |harness: &Harness<'_, ViewHarness<Record>>| {
            let is_row = |label: String| label.starts_with("name ") && label.contains(": v");
            harness.query_all_by(|node| node.label().is_some_and(is_row)).count()
        };
        assert!(rows(&harness) < 60, "{} attributes were drawn", rows(&harness));
        harness.state_mut().view.filter = "99999".to_owned();
        harness.step();
        assert_eq!((rows(&harness), harness.query_by_label("name 99999: v99999").is_some()), (1, true));
    }
}
