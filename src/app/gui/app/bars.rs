//! The bar at the top: menus, the way to anything, theme and panels.

use egui::{Align, Button, Layout, MenuBar, Rect, Role, Sense, Ui, UiBuilder, WidgetInfo, pos2, vec2};

use super::App;
use crate::gui::commands::{self, Action, CommandId, Label, Menu};
use crate::gui::icons::Icon;
use crate::gui::theme::{self, Theme, size, space};
use crate::gui::ui::menu_lines;

/// The field in the middle: at most this wide.
const FIELD: f32 = 420.0;

impl App {
    /// Draws the bar.
    pub(super) fn menu_bar(&mut self, ui: &mut Ui) {
        let bar = ui.max_rect();
        let part = |ui: &mut Ui, layout| ui.new_child(UiBuilder::new().max_rect(bar).layout(layout));
        let mut left = part(ui, Layout::left_to_right(Align::Center));
        left.add_space(space::S3);
        let name = egui::RichText::new("Gander").family(theme::semi_bold());
        left.label(name);
        left.add_space(2.0);
        let mut left_end = left.min_rect().right();
        MenuBar::new().ui(&mut left, |ui| {
            ui.spacing_mut().item_spacing.x = 0.0;
            ui.spacing_mut().button_padding.x = space::S2;
            for menu in Menu::ALL {
                let word = egui::RichText::new(menu.word()).color(Theme::of(ui).dim);
                let response = ui.menu_button(word, |ui| menu_lines(ui, |ui| self.menu(ui, menu))).response;
                left_end = response.rect.right() + space::S3;
            }
        });
        let mut right = part(ui, Layout::right_to_left(Align::Center));
        right.spacing_mut().item_spacing.x = space::S1;
        right.add_space(space::S2);
        self.right(&mut right);
        let right_end = right.min_rect().left() - space::S3;
        let width = FIELD.min(right_end - left_end);
        if width > 90.0 {
            let middle = bar.center().x.clamp(left_end + width / 2.0, right_end - width / 2.0);
            let rect =
                Rect::from_center_size(pos2(middle.round(), bar.center().y), vec2(width.floor(), size::ROW));
            self.field(ui, rect);
        }
    }

    fn right(&mut self, ui: &mut Ui) {
        let dark = ui.visuals().dark_mode;
        for (id, glyph, name) in [
            (CommandId::Inspector, Icon::Info, "Inspector"),
            (CommandId::Explorer, Icon::Sidebar, "Explorer"),
            (CommandId::ThemeToggle, Icon::Contrast, if dark { "Light theme" } else { "Dark theme" }),
        ] {
            let keys = commands::get(id).label.keys_text(ui.ctx());
            let response = theme::icon_button(ui, glyph, &format!("{name} ({keys})"));
            if response.clicked() {
                self.actions.push(Action::Do(id));
            }
        }
    }

    /// Looks like a field and opens the palette.
    fn field(&mut self, ui: &mut Ui, rect: Rect) {
        let theme = Theme::of(ui);
        let response = ui.interact(rect, ui.scope_id().with("go to anything"), Sense::click());
        response.widget_info(|| WidgetInfo::labeled(Role::Button, true, "Go to anything"));
        let edge = if response.hovered() || response.has_focus() { theme.faint } else { theme.line };
        let painter = ui.painter();
        painter.rect(rect, size::CORNER, theme.bg1, egui::Stroke::new(1.0, edge), egui::StrokeKind::Inside);
        let keys = commands::get(CommandId::GoToAnything).label.keys_text(ui.ctx());
        let put = |align: egui::Align2, x: f32, text: &str| {
            painter.text(pos2(x, rect.center().y), align, text, theme::body_font(), theme.dim)
        };
        put(egui::Align2::LEFT_CENTER, rect.left() + space::S2 + 2.0, "Go to anything");
        if rect.width() > 200.0 {
            put(egui::Align2::RIGHT_CENTER, rect.right() - space::S2, &keys);
        }
        let tip = format!("Files, nodes, columns, commands ({keys})");
        if response.on_hover_text(tip).clicked() {
            self.palette.open("");
        }
    }

    fn menu(&mut self, ui: &mut Ui, menu: Menu) {
        ui.spacing_mut().button_padding.x = space::S2;
        ui.set_min_width(240.0);
        for command in commands::COMMANDS.iter().filter(|command| command.menu == menu) {
            self.item(ui, &command.label, self.can(command.id), Action::Do(command.id));
            if command.id == CommandId::OpenPath {
                self.recent_menu(ui);
            }
        }
        if menu == Menu::Data {
            let labels = self.tabs.view_commands();
            if !labels.is_empty() {
                ui.separator();
            }
            for (at, label) in labels.into_iter().enumerate() {
                self.item(ui, label, true, Action::ViewCommand(at));
            }
        }
    }

    fn item(&mut self, ui: &mut Ui, label: &Label, on: bool, action: Action) {
        if label.apart {
            ui.separator();
        }
        let keys = label.keys_text(ui.ctx());
        let button = Button::new(theme::icon_text(label.icon, label.words)).shortcut_text(keys.clone());
        let response = ui.add_enabled(on, button);
        response
            .widget_info(|| WidgetInfo::labeled(Role::Button, on, format!("{} {keys}", label.words).trim()));
        if response.clicked() {
            self.actions.push(action);
            ui.close();
        }
    }

    fn recent_menu(&mut self, ui: &mut Ui) {
        let recent: Vec<_> = self.session.recent.iter().take(15).map(|recent| recent.path.clone()).collect();
        if recent.is_empty() {
            return;
        }
        ui.menu_button(theme::icon_text(Icon::Recent, "Open recent"), |ui| {
            for path in recent {
                let name =
                    path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
                let response = ui.button(&name).on_hover_text(path.display().to_string());
                if response.clicked() {
                    self.actions.push(Action::Open(vec![path]));
                    ui.close();
                }
            }
        })
        .response
        .widget_info(|| WidgetInfo::labeled(Role::Button, true, "Open recent"));
    }
}
