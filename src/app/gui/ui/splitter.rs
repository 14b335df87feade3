//! The border between two parts of a view.

use egui::{CursorIcon, EventFilter, Id, Key, Modifiers, Rangef, Rect, Role, Sense, Stroke, Ui, WidgetInfo};

use crate::gui::theme::Theme;

/// How far from the border, in points, it can be taken.
const REACH: f32 = 3.0;
/// How far an arrow key moves it, in points.
const STEP: f32 = 12.0;

/// The border at `y` between an upper and a lower part, to be moved by the mouse or by the arrow keys; `name` is what a
/// screen reader says of it. Gives by how many points it is to be moved down. Called after both parts are drawn: it
/// lies over their edges.
pub(crate) fn splitter(ui: &Ui, id: Id, name: &str, x: Rangef, y: f32) -> f32 {
    let edge = Rect::from_x_y_ranges(x, Rangef::new(y - REACH, y + REACH));
    let response = ui.interact(edge, id, Sense::drag());
    response.widget_info(|| WidgetInfo::labeled(Role::Splitter, true, name));
    let mut by = response.drag_delta().y;
    if response.has_focus() {
        let filter = EventFilter { vertical_arrows: true, ..EventFilter::default() };
        ui.memory_mut(|memory| memory.set_focus_lock_filter(id, filter));
        let pressed = |key| ui.input_mut(|input| input.count_and_consume_key(Modifiers::NONE, key)) as f32;
        by += STEP * (pressed(Key::ArrowDown) - pressed(Key::ArrowUp));
    }
    if response.hovered() || response.dragged() {
        ui.ctx().set_cursor_icon(CursorIcon::ResizeVertical);
    }
    if response.hovered() || response.dragged() || response.has_focus() {
        ui.painter().hline(x, y, Stroke::new(2.0, Theme::of(ui).accent));
    }
    by
}

#[cfg(test)]
mod tests {
    use egui_kittest::Harness;
    use egui_kittest::kittest::Queryable as _;

    use super::*;

    #[test]
    fn it_is_moved_by_the_mouse_and_by_keys() {
        let frame = |ui: &mut Ui, y: &mut f32| {
            *y += splitter(ui, Id::unique("border"), "Border between two parts", ui.max_rect().x_range(), *y);
        };
        let mut harness = Harness::builder().build_ui_state(frame, 100.0);
        let at = harness.get_by_role_and_label(Role::Splitter, "Border between two parts").rect().center();
        harness.drag_at(at);
        harness.hover_at(at + egui::vec2(0.0, 25.0));
        harness.step();
        harness.drop_at(at + egui::vec2(0.0, 25.0));
        harness.step();
        assert!((*harness.state() - 125.0).abs() < 1.5, "{}", harness.state());
        let dragged = *harness.state();
        harness.get_by_label("Border between two parts").focus();
        harness.run();
        for (key, expected) in [(Key::ArrowDown, dragged + STEP), (Key::ArrowUp, dragged)] {
            harness.key_press(key);
            harness.run();
            assert_eq!(*harness.state(), expected);
        }
    }
}
