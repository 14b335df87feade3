//! Context menus of cells and heads. What concerns the grid alone is done here; the rest is reported.

use egui::{Button, Ui};
use gander::convert::copy::CopyFormat;

use super::model::GridModel;
use super::selection::{Kind, Selection};
use super::view::View;
use super::{CellAt, Grid, GridResponse, Place, Target};
use crate::gui::icons::Icon;
use crate::gui::theme::icon_text;
use crate::gui::ui::menu_lines;

/// What was chosen in a context menu.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MenuChoice {
    /// Show the value in full.
    Inspect(CellAt),
    /// Copy the selection.
    Copy(CopyFormat),
    /// Copy the selection below its column names.
    CopyWithHeaders,
    /// Copy the column's name.
    CopyName(usize),
    /// Hide the column.
    Hide(usize),
    /// Show all columns.
    ShowAll,
    /// Freeze the column at the left.
    Freeze(usize),
    /// Set the column free.
    Unfreeze(usize),
    /// Give the column the width of its values in sight.
    AutoFit(usize),
    /// The same for all columns in sight.
    AutoFitAll,
    /// Wrap long cells, or cut them.
    Wrap(bool),
    /// Select the row.
    SelectRow(u64),
    /// Select the column.
    SelectColumn(usize),
    /// Select everything.
    SelectAll,
}

/// Whether somebody asks for the menu of a head: also by a click on what stands in it and takes clicks itself.
pub(super) fn asks_head_menu(ui: &Ui, head: &egui::Response) -> bool {
    head.secondary_clicked()
        || (head.contains_pointer() && ui.input(|input| input.pointer.secondary_clicked()))
}

impl Grid {
    /// Shows the menus and does what is chosen.
    pub(super) fn menus(
        &mut self,
        ui: &mut Ui,
        view: &View,
        model: &mut dyn GridModel,
        result: &mut GridResponse,
    ) {
        let mut choice = None;
        let by_key = self.menu_by_key;
        let menu = egui::Popup::context_menu(&result.response);
        // Opened by a key there is no pointer to stand at.
        let place = match (self.target, self.selection) {
            (Some(Target::Cell(_)), Some(selection)) if by_key => {
                view.shown(selection.cursor.position).map(|shown| view.cell(shown, selection.cursor.row))
            }
            _ => None,
        };
        let menu = if let Some(place) = place { menu.anchor(place) } else { menu };
        let cells = menu.accessible_name("Cell menu").show(|ui| {
            first_has_focus(ui, by_key);
            if let Some(Target::Cell(cell)) = self.target {
                menu_lines(ui, |ui| self.cell_menu(ui, cell, model, &mut choice));
            }
        });
        let mut is_open = cells.is_some();
        let id = ui.scope_id();
        if let Some(head) = ui.ctx().read_response(id.with("head")) {
            let menu = egui::Popup::context_menu(&head);
            let menu = match asks_head_menu(ui, &head) {
                true => menu.open_memory(Some(egui::SetOpenCommand::Bool(true))),
                false => menu,
            };
            let shown = match self.target {
                Some(Target::Head(column)) if by_key => self.columns.position(column),
                _ => None,
            };
            let place = shown.and_then(|at| view.shown(at)).map(|shown| view.clip(shown, view.head));
            let menu = if let Some(place) = place { menu.anchor(place) } else { menu };
            let heads = menu.accessible_name("Column menu").show(|ui| {
                first_has_focus(ui, by_key);
                if let Some(Target::Head(column)) = self.target {
                    menu_lines(ui, |ui| self.head_menu(ui, column, model, &mut choice));
                }
            });
            is_open |= heads.is_some();
        }
        // A menu that was opened by a key gives the keyboard back.
        if by_key && !is_open {
            self.menu_by_key = false;
            result.response.request_focus();
        }
        if let Some(choice) = choice {
            self.choose(ui, choice, view, model, result);
        }
    }

    fn head_menu(
        &self,
        ui: &mut Ui,
        column: usize,
        model: &mut dyn GridModel,
        choice: &mut Option<MenuChoice>,
    ) {
        model.header_menu(ui, column);
        row(ui, choice, Icon::Copy, "Copy name", "", MenuChoice::CopyName(column));
        row(ui, choice, Icon::Columns, "Select column", "Ctrl+Space", MenuChoice::SelectColumn(column));
        ui.separator();
        self.column_rows(ui, column, choice);
    }

    fn cell_menu(
        &self,
        ui: &mut Ui,
        cell: CellAt,
        model: &mut dyn GridModel,
        choice: &mut Option<MenuChoice>,
    ) {
        model.cell_menu(ui, cell.row, cell.column);
        row(ui, choice, Icon::Eye, "Inspect value", "Enter", MenuChoice::Inspect(cell));
        ui.separator();
        row(ui, choice, Icon::Copy, "Copy", "Ctrl+C", MenuChoice::Copy(CopyFormat::Tsv));
        row(ui, choice, Icon::Copy, "Copy with headers", "Ctrl+Shift+C", MenuChoice::CopyWithHeaders);
        ui.menu_button(icon_text(Icon::Clipboard, "Copy as"), |ui| {
            for format in model.copy_formats().iter().filter(|format| **format != CopyFormat::Tsv) {
                if ui.button(format.name()).clicked() {
                    *choice = Some(MenuChoice::Copy(*format));
                    ui.close();
                }
            }
        });
        ui.separator();
        row(ui, choice, Icon::Rows, "Select row", "Shift+Space", MenuChoice::SelectRow(cell.row));
        row(ui, choice, Icon::Columns, "Select column", "Ctrl+Space", MenuChoice::SelectColumn(cell.column));
        row(ui, choice, Icon::Table, "Select all", "Ctrl+A", MenuChoice::SelectAll);
        ui.separator();
        self.column_rows(ui, cell.column, choice);
    }

    fn column_rows(&self, ui: &mut Ui, column: usize, choice: &mut Option<MenuChoice>) {
        row(ui, choice, Icon::Ruler, "Fit width", "Alt+A", MenuChoice::AutoFit(column));
        row(ui, choice, Icon::Ruler, "Fit all in sight", "Alt+Shift+A", MenuChoice::AutoFitAll);
        if self.columns.is_frozen(column) {
            row(ui, choice, Icon::Unpin, "Unfreeze column", "Alt+Z", MenuChoice::Unfreeze(column));
        } else {
            row(ui, choice, Icon::Pin, "Freeze column", "Alt+Z", MenuChoice::Freeze(column));
        }
        if self.columns.len() > 1 {
            row(ui, choice, Icon::EyeSlash, "Hide column", "Alt+H", MenuChoice::Hide(column));
        }
        if self.columns.hidden() > 0 {
            let words = format!("Show {} hidden", self.columns.hidden());
            row(ui, choice, Icon::Eye, &words, "Alt+Shift+H", MenuChoice::ShowAll);
        }
        let words = if self.wrap() { "Cut long cells" } else { "Wrap long cells" };
        row(ui, choice, Icon::Wrap, words, "", MenuChoice::Wrap(!self.wrap()));
    }

    fn choose(
        &mut self,
        ui: &Ui,
        choice: MenuChoice,
        view: &View,
        model: &dyn GridModel,
        result: &mut GridResponse,
    ) {
        match choice {
            MenuChoice::Inspect(cell) => result.activated = Some(cell),
            MenuChoice::Copy(format) => result.copy = self.copy_request(format, format != CopyFormat::Tsv),
            MenuChoice::CopyWithHeaders => result.copy = self.copy_request(CopyFormat::Tsv, true),
            MenuChoice::CopyName(column) => {
                result.copy_name = Some(model.column(column).name.into_owned());
            }
            MenuChoice::Hide(column) => {
                self.hide(&[column]);
                self.selection = None;
            }
            MenuChoice::ShowAll => self.show_all(),
            MenuChoice::Freeze(column) => self.set_frozen(column, true),
            MenuChoice::Unfreeze(column) => self.set_frozen(column, false),
            MenuChoice::AutoFit(column) => self.auto_fit(ui, view, model, &[column]),
            MenuChoice::AutoFitAll => {
                let columns: Vec<usize> = view.columns.iter().map(|shown| shown.column).collect();
                self.auto_fit(ui, view, model, &columns);
            }
            MenuChoice::Wrap(wrap) => self.set_wrap(wrap),
            MenuChoice::SelectRow(row) => self.select_whole(Kind::Rows, Some(row), None),
            MenuChoice::SelectColumn(column) => {
                self.select_whole(Kind::Columns, None, self.columns.position(column));
            }
            MenuChoice::SelectAll => self.select_all(),
        }
        result.response.request_focus();
        ui.ctx().request_repaint();
    }

    fn select_whole(&mut self, kind: Kind, row: Option<u64>, position: Option<usize>) {
        let start =
            self.selection.map_or(Place { row: self.top.row, ..Default::default() }, |old| old.cursor);
        let place = Place { row: row.unwrap_or(start.row), position: position.unwrap_or(start.position) };
        self.selection = Some(Selection { kind, ..Selection::cell(place) });
    }
}

/// Gives the keyboard to the first row of a menu that a key opened; called before the rows. It takes a place above them
/// and in the next frame passes the keyboard on, since who the first one is shows only then.
fn first_has_focus(ui: &mut Ui, by_key: bool) {
    // While a menu is measured nothing in it takes the keyboard.
    if !by_key || !ui.is_enabled() || ui.is_sizing_pass() {
        return;
    }
    let id = ui.scope_id().with("before the first row");
    let frame = ui.ctx().cumulative_frame_nr();
    let (last, was_given) = ui.data(|data| data.get_temp::<(u64, bool)>(id)).unwrap_or_default();
    // It was opened anew where it was not shown in the frame before.
    let was_given = was_given && last + 1 >= frame;
    let has = ui.memory(|memory| memory.has_focus(id));
    ui.data_mut(|data| data.insert_temp(id, (frame, was_given || has)));
    if was_given {
        return;
    }
    match has {
        true => ui.memory_mut(|memory| memory.move_focus(egui::FocusDirection::Next)),
        false => ui.memory_mut(|memory| memory.request_focus(id)),
    }
    let place = egui::Rect::from_min_size(ui.cursor().min, egui::Vec2::ZERO);
    let before = ui.interact(place, id, egui::Sense::focusable_noninteractive());
    before.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Group, true, "Menu"));
    ui.ctx().request_repaint();
}

/// A row of a menu.
fn row(ui: &mut Ui, choice: &mut Option<MenuChoice>, icon: Icon, words: &str, keys: &str, means: MenuChoice) {
    let response = ui.add(Button::new(icon_text(icon, words)).shortcut_text(keys));
    // The icon is a private character: without this it would be read out.
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, words));
    if response.clicked() {
        *choice = Some(means);
        ui.close();
    }
}
