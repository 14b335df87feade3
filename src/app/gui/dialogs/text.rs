//! A long text in full: wrapped, searched, copied. JSON is indented. All of that is done by jobs, so that a text of many
//! megabytes holds up no frame.

use std::sync::Arc;

use egui::{Button, Ui};
use gander::bytes::error::Result;
use gander::bytes::task::Task;
use gander::jobs::{JobSpec, Jobs, Slot};
use serde::de::IgnoredAny;

use super::{head, height_left, room};
use crate::gui::commands::Action;
use crate::gui::icons::Icon;
use crate::gui::theme::{self, Theme, size, space};
use crate::gui::ui::LongText;
use crate::gui::ui::json;

/// JSON of so many bytes is indented at once.
const SOON: usize = 64 << 10;

/// The text and how it is looked at.
pub(crate) struct TextDialog {
    title: String,
    /// The text as it came, and as it is shown, once that is known.
    given: Arc<str>,
    shown: Option<Arc<str>>,
    indented: Slot<(), Arc<str>>,
    long: LongText,
}

/// JSON with each member on a line of its own; any other text as it is.
fn readable(task: Option<&Task>, text: &Arc<str>) -> Result<Arc<str>> {
    if !json::begins(text) || serde_json::from_str::<IgnoredAny>(text).is_err() {
        return Ok(text.clone());
    }
    Ok(json::indented(task, text)?.into())
}

impl TextDialog {
    pub(super) fn new(title: String, text: String) -> Self {
        let given: Arc<str> = text.into();
        let shown = match given.len() <= SOON {
            true => readable(None, &given).ok(),
            false => (!json::begins(&given)).then(|| given.clone()),
        };
        TextDialog { title, given, shown, indented: Slot::default(), long: LongText::default() }
    }

    /// Draws it; true if it is to be closed.
    pub(super) fn ui(&mut self, ui: &mut Ui, jobs: &Jobs, actions: &mut Vec<Action>) -> bool {
        room(ui, 860.0, 640.0);
        let close = head(ui, &self.title);
        self.take(jobs);
        self.bar(ui, jobs, actions);
        ui.add_space(space::S2);
        let height = height_left(ui, 190.0).min(520.0);
        let (area, _) =
            ui.allocate_exact_size(egui::vec2(ui.available_width(), height), egui::Sense::hover());
        ui.painter().rect_filled(area, size::CORNER, Theme::of(ui).bg2);
        let inner = area.shrink2(egui::vec2(space::S3, space::S2));
        let mut child = ui.new_child(egui::UiBuilder::new().max_rect(inner).id_salt("text"));
        match &self.shown {
            Some(text) => self.long.rows_ui_of(&mut child, jobs, text),
            None => {
                let waiting = child.unique_id().with("indenting");
                theme::pending(&mut child, waiting, "indenting the text …");
            }
        }
        close
    }

    /// Takes the indented text once it is there.
    fn take(&mut self, jobs: &Jobs) {
        if self.shown.is_some() {
            return;
        }
        let given = self.given.clone();
        let shown = self
            .indented
            .get(jobs, &(), JobSpec::once("indenting a text"), move |task| readable(Some(task), &given));
        match (shown.ready(), shown.error) {
            (Some(text), _) => self.shown = Some(text.as_ref().clone()),
            // Stopped by hand it is shown as it is.
            (None, Some(_)) => self.shown = Some(self.given.clone()),
            (None, None) => {}
        }
    }

    fn bar(&mut self, ui: &mut Ui, jobs: &Jobs, actions: &mut Vec<Action>) {
        ui.horizontal(|ui| {
            self.long.find_ui(ui, jobs);
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                let copy = ui.add(Button::new(theme::icon_text(Icon::Copy, "Copy")));
                copy.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, "Copy"));
                if copy.clicked() {
                    let text = self.shown.as_ref().unwrap_or(&self.given);
                    actions.push(Action::Copy(text.as_ref().to_owned()));
                }
            });
        });
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use egui_kittest::Harness;
    use egui_kittest::kittest::Queryable as _;

    use super::*;

    #[test]
    fn json_is_indented() {
        let shown = |text: &str| TextDialog::new("j".into(), text.into()).shown.unwrap();
        assert_eq!(&*shown("{\"a\":[1]}"), "{\n  \"a\": [\n    1\n  ]\n}");
        assert_eq!(&*shown("{\"a\": no JSON"), "{\"a\": no JSON");
    }

    struct Open(TextDialog, Jobs);

    fn until(harness: &mut Harness<'_, Open>, label: &str) {
        let started = Instant::now();
        while harness.query_by_label_contains(label).is_none() {
            assert!(started.elapsed() < Duration::from_secs(60), "{label:?} does not come");
            harness.step();
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    #[test]
    fn json_of_twenty_megabytes_is_read_to_its_end() {
        let items = (0..400_000).map(|n| format!("{{\"name\":\"item {n}\",\"values\":[{n},2.5]}}"));
        let text = format!("[{},{{\"last\":\"here\"}}]", items.collect::<Vec<_>>().join(","));
        assert!(text.len() > 16_000_000);
        let reader = TextDialog::new("big".into(), text);
        assert!(reader.shown.is_none(), "a job indents it");
        let mut harness = Harness::builder()
            .with_size(egui::vec2(900.0, 700.0))
            .with_context_setup(theme::apply)
            .allow_missing_glyphs()
            .build_ui_state(
                |ui, open: &mut Open| {
                    open.0.ui(ui, &open.1, &mut Vec::new());
                },
                Open(reader, Jobs::new(|| {})),
            );
        until(&mut harness, "\"name\": \"item 0\"");
        harness.get_by_label("Search in the text").focus();
        harness.step();
        harness.get_by_label("Search in the text").type_text("\"LAST\"");
        until(&mut harness, "\"last\": \"here\"");
        harness.get_by_label("1 of 1");
        let most = harness.state().0.long.laid_out();
        assert!(most < 10_000, "{most} bytes were laid out in one frame");
    }
}
