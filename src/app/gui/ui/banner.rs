//! A sentence over the whole width, above what it is about.

use egui::{Align, Layout, Ui};

use crate::gui::icons::Icon;
use crate::gui::theme::{self, Severity, Theme};

/// A sentence in one line, all of it where it is pointed at, and buttons at its right, the last one first.
pub(crate) fn banner(ui: &mut Ui, severity: Severity, words: &str, buttons: impl FnOnce(&mut Ui)) {
    let theme = Theme::of(ui);
    let (color, icon) = match severity {
        Severity::Problem => (theme.bad, Icon::Problem),
        _ => (theme.warn, Icon::Warning),
    };
    let frame = egui::Frame::new().fill(theme.tint(color)).inner_margin(egui::Margin::symmetric(12, 4));
    frame.show(ui, |ui| {
        ui.horizontal(|ui| {
            ui.set_min_width(ui.available_width());
            ui.label(theme::icon(icon).color(color));
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                buttons(ui);
                ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                    ui.add(egui::Label::new(words).truncate()).on_hover_text(words);
                });
            });
        });
    });
}
