//! F1: every command with its keys, and the keys of trees, grids and pictures.

use egui::{RichText, ScrollArea, TextEdit, Ui};

use super::{head, height_left, room};
use crate::gui::commands::{COMMANDS, Label, Menu};
use crate::gui::explorer::keys as explorer;
use crate::gui::grid;
use crate::gui::theme::{self, Theme, space};
use crate::gui::ui::{KeyLine, canvas, keys, long_text};
use crate::gui::views::array::keys as array;
use crate::gui::views::keys as views;

/// The state of the list.
#[derive(Default)]
pub(crate) struct Keys {
    /// The commands of the view that is shown.
    of_view: Vec<&'static Label>,
    filter: String,
    focused: bool,
}

impl Keys {
    pub(super) fn new(of_view: Vec<&'static Label>) -> Self {
        Keys { of_view, ..Keys::default() }
    }

    /// Draws it; true if it is to be closed.
    pub(super) fn ui(&mut self, ui: &mut Ui) -> bool {
        room(ui, 560.0, 620.0);
        let close = head(ui, "Keys");
        let edit = TextEdit::singleline(&mut self.filter).hint_text("Search").desired_width(f32::INFINITY);
        let edit = ui.add(edit.margin(egui::Margin::symmetric(8, 5)));
        edit.widget_info(|| egui::WidgetInfo::labeled(egui::Role::TextInput, true, "Search the keys"));
        if !std::mem::replace(&mut self.focused, true) {
            edit.request_focus();
        }
        ui.add_space(space::S2);
        let wanted = self.filter.to_lowercase();
        let height = height_left(ui, 190.0).min(500.0);
        ScrollArea::vertical().auto_shrink([false, true]).max_height(height).show(ui, |ui| {
            let ctx = ui.ctx().clone();
            let row = |label: &Label| (label.keys_text(&ctx), label.words.to_owned());
            for menu in Menu::ALL {
                let of_menu = COMMANDS.iter().filter(|command| command.menu == menu);
                let rows: Vec<(String, String)> = of_menu.map(|command| row(&command.label)).collect();
                section(ui, menu.word(), &rows, &wanted);
            }
            let rows: Vec<(String, String)> = self.of_view.iter().map(|label| row(label)).collect();
            section(ui, "What is shown", &rows, &wanted);
            for (title, lines) in places() {
                let of_line = |line: &KeyLine| (line.keys.to_owned(), line.words.to_owned());
                let rows: Vec<(String, String)> = lines.into_iter().map(of_line).collect();
                section(ui, title, &rows, &wanted);
            }
        });
        close
    }
}

/// Keys that are no commands, by where they work: the tables that those obey who have the keyboard there.
fn places() -> Vec<(&'static str, Vec<&'static KeyLine>)> {
    let mouse = |lines: &'static [KeyLine]| lines.iter();
    let pictures = keys::lines(canvas::KEYS).into_iter().chain(keys::lines(array::FRAME_KEYS));
    let lines = keys::lines(array::LINE_KEYS);
    let texts = keys::lines(views::TEXT_KEYS).into_iter().chain(keys::lines(long_text::KEYS));
    let tiles = keys::lines(views::GALLERY_KEYS).into_iter().chain(keys::lines(views::GALLERY_COLLAPSE));
    let rows = keys::lines(explorer::KEYS).into_iter().chain(keys::lines(explorer::FILTER_KEYS));
    let slices = keys::lines(array::SLICE_KEYS).into_iter().chain(keys::lines(array::PLAY_KEYS));
    let slices = slices.chain(keys::lines(array::ARRAY_KEYS));
    vec![
        ("Explorer", rows.collect()),
        ("Tables and numbers", keys::lines(grid::keys::KEYS)),
        ("One record", keys::lines(views::RECORD_KEYS)),
        ("Gallery", tiles.collect()),
        ("Arrays and frames", slices.collect()),
        ("Pictures and lines", mouse(MOUSE).chain(pictures).chain(lines).collect()),
        ("Sounds", keys::lines(views::SOUND_KEYS)),
        ("Graphs", keys::lines(views::GRAPH_KEYS)),
        ("Texts", texts.collect()),
        ("Bytes", keys::lines(views::HEX_KEYS)),
        ("Find", keys::lines(views::FOUND_KEYS)),
        ("Dialogs and menus", mouse(DIALOGS).collect()),
    ]
}

const MOUSE: &[KeyLine] =
    &[KeyLine::new("Wheel, drag", "Zoom and move"), KeyLine::new("Double click", "All in sight")];

const DIALOGS: &[KeyLine] = &[
    KeyLine::new("Tab, Shift+Tab", "From one thing to the next, to the one before"),
    KeyLine::new("Enter, Space", "Press a button, open a list"),
    KeyLine::new("Arrows", "Go through a list, a menu or joined buttons"),
    KeyLine::new("Esc", "Close a menu or a dialog, cancel"),
];

/// The width of the keys beside their words.
const KEYS: f32 = 230.0;

/// A text of a row, in as many lines as it needs.
fn cell(ui: &mut Ui, width: f32, text: RichText) {
    let column = egui::Layout::top_down(egui::Align::Min);
    ui.allocate_ui_with_layout(egui::vec2(width, 0.0), column, |ui| {
        ui.set_width(width);
        ui.add(egui::Label::new(text).wrap());
    });
}

fn section(ui: &mut Ui, title: &str, rows: &[(String, String)], wanted: &str) {
    let theme = Theme::of(ui);
    let fits = |text: &str| text.to_lowercase().contains(wanted);
    let rows: Vec<_> = rows.iter().filter(|(keys, words)| fits(keys) || fits(words)).collect();
    if rows.is_empty() {
        return;
    }
    theme::section_head(ui, title, None);
    for (keys, words) in rows {
        ui.horizontal_top(|ui| {
            ui.spacing_mut().item_spacing.x = space::S4;
            cell(ui, KEYS, theme::mono(keys).color(theme.text));
            cell(ui, ui.available_width(), RichText::new(words).color(theme.dim));
        });
    }
    ui.add_space(space::S3);
}
