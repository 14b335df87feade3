//! Buttons with words and a caret that open something below them.

use egui::containers::menu::{MenuButton, MenuConfig, SubMenuButton, is_in_menu};
use egui::text::{LayoutJob, TextFormat};
use egui::{Button, Color32, FontId, PopupCloseBehavior, Response, Role, Ui, WidgetInfo, vec2};

use crate::gui::icons::Icon;
use crate::gui::theme::{self, Theme, size, space};

/// A button that opens a menu, which a choice closes. `name` says what is chosen: the tool tip, and what a screen reader
/// says before `text`.
pub(crate) fn drop_down(ui: &mut Ui, text: &str, name: &str, menu: impl FnOnce(&mut Ui)) {
    opens(ui, text, name, PopupCloseBehavior::CloseOnClick, menu);
}

/// The same, where numbers can be typed in the menu: it stays open when they are clicked.
pub(crate) fn drop_form(ui: &mut Ui, text: &str, name: &str, menu: impl FnOnce(&mut Ui)) {
    opens(ui, text, name, PopupCloseBehavior::CloseOnClickOutside, menu);
}

/// The button alone, for a popup of its caller.
pub(crate) fn drop_button(ui: &mut Ui, text: &str) -> Response {
    let response = ui.add(button(ui, text));
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, text));
    response
}

fn opens(ui: &mut Ui, text: &str, name: &str, close: PopupCloseBehavior, menu: impl FnOnce(&mut Ui)) {
    let button = button(ui, text);
    let response = match is_in_menu(ui) {
        true => SubMenuButton::from_button(button).ui(ui, menu).0,
        false => {
            MenuButton::from_button(button).config(MenuConfig::new().close_behavior(close)).ui(ui, menu).0
        }
    };
    let spoken = if name.contains(text) { name.to_owned() } else { format!("{name}: {text}") };
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, &spoken));
    response.on_hover_text(name);
}

fn button(ui: &Ui, text: &str) -> Button<'static> {
    let mut job = LayoutJob::default();
    let format = |font_id| TextFormat { font_id, color: Color32::PLACEHOLDER, ..Default::default() };
    job.append(text, 0.0, format(theme::body_font()));
    let caret = FontId::new(size::TEXT_SMALL, theme::icon_family());
    job.append(&Icon::CaretDown.glyph().to_string(), space::S1, format(caret));
    Button::new(job).fill(Theme::of(ui).bg1).min_size(vec2(0.0, size::CONTROL))
}

/// Draws the lines of a menu: in a window that is too low for them they scroll.
pub(crate) fn menu_lines(ui: &mut Ui, lines: impl FnOnce(&mut Ui)) {
    /// No menu is as high as what such a window leaves.
    const HIGH_WINDOW: f32 = 600.0;
    let window = ui.ctx().content_rect();
    if window.height() >= HIGH_WINDOW {
        return lines(ui);
    }
    // One that opens below a bar begins there already, one at the pointer is moved up.
    let top = ui.cursor().top().min(size::BAR + space::S2);
    egui::ScrollArea::vertical().max_height(window.bottom() - top - space::S4).show(ui, lines);
}
