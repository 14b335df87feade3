//! The inspector: what is known of the node that is shown.

use egui::Ui;
use gander::jobs::Jobs;

use super::commands::Action;
use super::theme::{self, space};
use super::views::{Subject, Target};

/// The state of the inspector.
#[derive(Default)]
pub(crate) struct Inspector;

impl Inspector {
    /// Draws it.
    pub(crate) fn ui(
        &mut self,
        ui: &mut Ui,
        _jobs: &Jobs,
        target: Option<&Target>,
        _subject: &Subject,
        _actions: &mut Vec<Action>,
    ) {
        let Some(target) = target else { return };
        egui::Frame::new().inner_margin(egui::Margin::same(space::S3 as i8)).show(ui, |ui| {
            theme::section_head(ui, "Details", None);
            theme::key_value(ui, "Name", &target.node.name);
            theme::key_value(ui, "Format", target.document.format.name);
            for (name, value) in &target.node.attributes {
                theme::key_value(ui, name, &value.to_string());
            }
        });
    }
}
