//! Numbers that are dragged or typed.

use egui::{DragValue, Response, Role, Ui, WidgetInfo};

/// A number that is dragged or typed, with a name for screen readers.
pub(crate) fn spin_button(ui: &mut Ui, name: &str, value: DragValue<'_>) -> Response {
    let response = ui.add(value);
    response.widget_info(|| WidgetInfo::labeled(Role::SpinButton, true, name));
    response
}
