//! The report on what loading something would run: the verdict in words, the calls as code, each name with what it would
//! do, and why not everything was looked at.

use std::sync::Arc;

use egui::{Label, RichText, ScrollArea, Ui};
use gander::bytes::display::{self, harmless};
use gander::data::security::Report;

use super::{head, room};
use crate::gui::commands::Action;
use crate::gui::icons::Icon;
use crate::gui::security::{self, mark};
use crate::gui::theme::{self, Theme, space};
use crate::gui::ui::{paint_elided, rows};

/// The height of a line of code.
const LINE: f32 = 20.0;

/// The report, and its names in the order in which they are listed.
pub(crate) struct SecurityReport {
    name: String,
    report: Arc<Report>,
    names: Vec<String>,
    calls: Vec<String>,
}

impl SecurityReport {
    pub(super) fn new(name: String, report: Arc<Report>) -> Self {
        let names = report.ranked().into_iter().map(str::to_owned).collect();
        let calls = report.calls.iter().map(|call| harmless(call, security::NAME)).collect();
        SecurityReport { name: harmless(&name, 120), report, names, calls }
    }

    /// Draws it; true if it is to be closed.
    pub(super) fn ui(&mut self, ui: &mut Ui, actions: &mut Vec<Action>) -> bool {
        room(ui, 820.0, 640.0);
        let close = head(ui, &format!("What loading {} would run", self.name));
        let theme = Theme::of(ui);
        let report = &self.report;
        let (color, icon) = mark(theme, report.verdict).unwrap_or((theme.good, Icon::Info));
        ui.horizontal(|ui| {
            ui.label(theme::icon(icon).color(color));
            ui.label(RichText::new(report.verdict.title()).family(theme::semi_bold()).color(color));
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                if theme::button(ui, "Copy as JSON").clicked() {
                    let json = serde_json::to_string_pretty(&report.json()).unwrap_or_default();
                    actions.push(Action::Copy(json));
                }
                if theme::button(ui, "Copy as text").clicked() {
                    actions.push(Action::Copy(report.text()));
                }
            });
        });
        ui.add(Label::new(harmless(&report.sentence(), security::NAME)).wrap());
        if let Some(fault) = &report.fault {
            let words = format!("Not everything was looked at: {}", harmless(&fault.to_string(), 1_000));
            ui.add(Label::new(RichText::new(words).color(theme.warn)).wrap());
        }
        ui.add_space(space::S2);
        let screen = ui.ctx().content_rect().height();
        let height = (screen - 260.0).clamp(80.0, 460.0);
        ScrollArea::vertical().id_salt("report").max_height(height).auto_shrink([false, true]).show(
            ui,
            |ui| {
                ui.spacing_mut().item_spacing.y = 0.0;
                if !self.calls.is_empty() {
                    theme::section_head(ui, &format!("It would call ({})", self.calls.len()), None);
                    ui.add_space(space::S1);
                    rows::ui(ui, self.calls.len(), LINE, |ui, n| {
                        let Some(call) = self.calls.get(n) else { return };
                        let size = egui::vec2(ui.available_width(), LINE);
                        let (rect, response) = ui.allocate_exact_size(size, egui::Sense::hover());
                        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, call));
                        let (left, align) = (rect.left_center(), egui::Align2::LEFT_CENTER);
                        let font = theme::mono_font();
                        paint_elided(ui.painter(), left, align, call, font, theme.text, rect.width());
                        response.on_hover_text(call);
                    });
                    ui.add_space(space::S3);
                }
                if !self.names.is_empty() {
                    let count = display::count(self.names.len() as u64);
                    theme::section_head(ui, &format!("It asks for ({count})"), None);
                    ui.add_space(space::S1);
                    security::names(ui, report, &self.names);
                }
            },
        );
        ui.add_space(space::S2);
        ui.label(theme::dim(theme, "Gander ran nothing of it to find this out."));
        close
    }
}

#[cfg(test)]
mod tests {
    use egui_kittest::Harness;
    use egui_kittest::kittest::Queryable as _;
    use gander::data::security::Verdict;

    use super::*;

    fn shown(report: Report) -> Harness<'static, (SecurityReport, Vec<Action>)> {
        let report = SecurityReport::new("x\u{202e}lkp".to_owned(), Arc::new(report));
        let mut harness = Harness::builder()
            .with_size(egui::vec2(900.0, 700.0))
            .with_context_setup(theme::apply)
            .allow_missing_glyphs()
            .build_ui_state(
                |ui, (report, actions): &mut (SecurityReport, Vec<Action>)| {
                    report.ui(ui, actions);
                },
                (report, Vec::new()),
            );
        harness.run();
        harness
    }

    #[test]
    fn hostile_names_are_drawn_harmlessly_and_copied() {
        let mut report = Report { verdict: Verdict::Dangerous, ..Report::default() };
        let long = format!("a.{}", "b".repeat(10_000));
        for name in ["os.system", "evil\u{202e}\n.x", &long] {
            report.globals.insert(name.to_owned());
            report.suspects.insert(name.to_owned());
            report.effects.insert(name.to_owned(), "runs programs on the machine");
        }
        report.globals.extend((0..10_000).map(|n| format!("numpy.core.name{n}")));
        report.calls.push("os.system('a\u{2066}b')".to_owned());
        let mut harness = shown(report);
        harness.get_by_label("Dangerous to load");
        harness.get_by_label("os.system('a\u{fffd}b')");
        harness.get_by_label("evil\u{fffd}\u{fffd}.x runs programs on the machine");
        assert!(harness.query_by_label("numpy.core.name9999 makes plain data").is_none(), "out of sight");
        harness.get_by_label("Copy as JSON").click();
        harness.run();
        let Some(Action::Copy(json)) = harness.state().1.last() else { panic!("nothing was copied") };
        let json: serde_json::Value = serde_json::from_str(json).unwrap();
        assert_eq!(
            (&json["verdict"], json["globals"].as_array().unwrap().len()),
            (&"dangerous".into(), 10_003)
        );
    }

    #[test]
    fn what_is_plain_is_said_to_be() {
        let mut report = Report::default();
        report.globals.insert("collections.OrderedDict".to_owned());
        let harness = shown(report);
        harness.get_by_label("Nothing outside the allow-list");
        harness.get_by_label("collections.OrderedDict makes plain data");
    }
}
