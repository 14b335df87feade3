//! What is painted, not made of widgets, for screen readers.

use egui::accesskit::Role;
use egui::{Id, Rect, Sense, Ui};

/// A painted line as a node of its own: its role, its name, and its text as the value. Nothing is made where nothing
/// listens.
pub(crate) fn spoken_line(
    ui: &Ui,
    place: Rect,
    id: Id,
    role: Role,
    name: &str,
    text: impl FnOnce() -> String,
) {
    if ui.ctx().accesskit_node_builder(ui.unique_id(), |_| ()).is_none() {
        return;
    }
    ui.interact(place.intersect(ui.clip_rect()), id, Sense::hover());
    ui.ctx().accesskit_node_builder(id, |node| {
        node.set_role(role);
        node.set_label(name);
        node.set_value(text());
    });
}
