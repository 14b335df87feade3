//! The runs beside their curves: each with its colour, shown or hidden by a click.

use std::collections::BTreeSet;

use egui::{Color32, Role, ScrollArea, Sense, Ui, WidgetInfo, pos2, vec2};

use crate::gui::theme::{self, Theme, size, space};
use crate::gui::ui::paint_elided;

/// The colour of a run.
pub(super) fn color(theme: &Theme, run: usize) -> Color32 {
    theme.category(run)
}

/// What a run is called; hostile names are drawn without what would turn the text around.
pub(super) fn name(run: &str) -> String {
    if run.is_empty() { "this run".to_owned() } else { gander::bytes::display::harmless(run, 200) }
}

/// Draws the runs into all that is left of `ui`; a click hides or shows one, with a modifier all others.
pub(super) fn ui(ui: &mut Ui, runs: &[String], hidden: &mut BTreeSet<String>) {
    let theme = Theme::of(ui);
    ui.spacing_mut().item_spacing.y = 0.0;
    theme::section_head(ui, "Runs", None);
    ui.add_space(space::S1);
    ScrollArea::vertical().id_salt("runs").auto_shrink(false).show_rows(
        ui,
        size::ROW,
        runs.len(),
        |ui, rows| {
            for (n, run) in runs.iter().enumerate().take(rows.end).skip(rows.start) {
                let (rect, response) =
                    ui.allocate_exact_size(vec2(ui.available_width(), size::ROW), Sense::click());
                let (shown, name) = (!hidden.contains(run), name(run));
                let spoken = if shown { format!("Run {name}, shown") } else { format!("Run {name}, hidden") };
                response.widget_info(|| WidgetInfo::selected(Role::CheckBox, true, shown, &spoken));
                if response.hovered() || response.has_focus() {
                    ui.painter().rect_filled(rect, size::CORNER, theme.bg3);
                }
                let dot = pos2(rect.left() + space::S3, rect.center().y);
                let color = color(theme, n);
                if shown {
                    ui.painter().circle_filled(dot, 5.0, color);
                } else {
                    ui.painter().circle_stroke(dot, 4.5, egui::Stroke::new(1.0, color));
                }
                let at = pos2(dot.x + space::S3, rect.center().y);
                let text = if shown { theme.text } else { theme.dim };
                let room = rect.right() - at.x - space::S1;
                let align = egui::Align2::LEFT_CENTER;
                paint_elided(ui.painter(), at, align, &name, theme::body_font(), text, room);
                let response =
                    response.on_hover_text(format!("{name}\nClick: show or hide it. Shift: it alone"));
                if response.clicked() {
                    if ui.input(|input| input.modifiers.shift || input.modifiers.command) {
                        *hidden = runs.iter().filter(|other| *other != run).cloned().collect();
                    } else if !hidden.remove(run) {
                        hidden.insert(run.clone());
                    }
                }
            }
        },
    );
}
