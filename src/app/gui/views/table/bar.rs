//! The bar above a table: table or record, how many rows, the columns, the options of its format.

use egui::{
    Align, Key, Layout, Popup, PopupCloseBehavior, Response, RichText, ScrollArea, Sense, Ui, UiBuilder, vec2,
};
use gander::bytes::display;
use gander::data::content::Rows;
use gander::data::format::{Format, OptionSpec, Options};

use super::column_search::{ColumnSearch, MatchingColumns};
use super::preview::Preview;
use super::{Mode, PATIENCE, TableView};
use crate::gui::commands::Action;
use crate::gui::icons::Icon;
use crate::gui::theme::{self, Theme, size, space};
use crate::gui::ui::{drop_button, drop_down, menu_lines, rows};
use crate::gui::views::ViewCx;

/// The space within a field, so that it is as high as a button.
const FIELD: egui::Margin = egui::Margin::symmetric(8, 5);
/// Narrower bars keep their rarer buttons in a menu.
const NARROW: f32 = 520.0;
/// The most that an opened list takes; longer ones scroll.
const LIST: f32 = 360.0;
/// The width of the form of a reader's options.
const FORM: f32 = 420.0;
/// The room that "counting 50 %" and its button take.
const COUNTING: f32 = 150.0;
/// In even narrower ones the ways to look at the table are a menu.
const TIGHT: f32 = 430.0;
/// Bars of panes that are hardly wider than a column have no list of columns.
const TINY: f32 = 200.0;
const MODES: [(Mode, &str); 5] = [
    (Mode::Table, "Table"),
    (Mode::Gallery, "Gallery"),
    (Mode::Record, "Record"),
    (Mode::Summary, "Summary"),
    (Mode::Pivot, "Pivot"),
];

/// The state of the bar.
#[derive(Default)]
pub(super) struct Bar {
    filter: String,
    named: ColumnSearch,
    options: Option<Options>,
    /// Their form opens in the next frame.
    opens: bool,
    preview: Preview,
}

#[cfg(test)]
impl Bar {
    /// Types into the field of the list of columns.
    pub(super) fn filter(&mut self, words: &str) {
        words.clone_into(&mut self.filter);
    }
}

impl TableView {
    pub(super) fn draw_bar(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let (before, width) = (self.mode, ui.max_rect().width());
        // With a gallery there is one way more.
        let tight = if self.gallery.is_there() { NARROW } else { TIGHT };
        if self.mode_switch(ui, width < tight) {
            match (before, self.mode) {
                (_, Mode::Gallery) => self.enter_gallery(),
                (Mode::Record, _) => self.main.grid.request_focus(),
                (Mode::Gallery, _) => self.leave_gallery(),
                _ => {}
            }
        }
        if self.mode == Mode::Record {
            self.step_bar(ui);
        }
        let of_cells = !matches!(self.mode, Mode::Pivot | Mode::Gallery);
        if of_cells && width >= (if self.mode == Mode::Table { TINY } else { TIGHT }) {
            self.columns_menu(ui, cx);
        }
        let words = if self.row_filter.is_open() {
            "Close the filter bar (all rows)"
        } else {
            "Filter and sort rows"
        };
        if theme::icon_button(ui, Icon::Filter, words).clicked() {
            self.row_filter.toggle();
        }
        let narrow = width < NARROW;
        if self.mode == Mode::Gallery {
            self.gallery_bar(ui, cx);
        } else if narrow && self.mode != Mode::Pivot {
            self.more_menu(ui, cx);
        } else if !narrow {
            self.options_menu(ui, cx);
            if self.mode == Mode::Table {
                self.wrap_button(ui);
                if theme::icon_button(ui, Icon::Last, "Go to the last row").clicked() {
                    self.go_to_end();
                }
            }
        }
        if let Some(end) = self.end.sheet() {
            let rows = end.table.rows().number();
            if theme::chip(ui, "last", &display::count(rows), true).removed {
                self.leave_end();
            }
        }
        // Where there is no room the status bar says it alone.
        if !narrow {
            self.rows_words(ui, cx);
        }
        self.waiting(ui);
    }

    /// The ways to look at the table, in a menu where the bar is tight; true if another one was chosen.
    fn mode_switch(&mut self, ui: &mut Ui, tight: bool) -> bool {
        let there = |mode: &&(Mode, &'static str)| {
            mode.0 != Mode::Gallery || self.gallery.is_there() || self.mode == mode.0
        };
        let modes: Vec<(Mode, &str)> = MODES.iter().filter(there).copied().collect();
        if !tight {
            return theme::segmented(ui, "View", &mut self.mode, &modes);
        }
        let before = self.mode;
        let words = modes.iter().find(|(mode, _)| *mode == before).map_or("", |(_, words)| words);
        drop_down(ui, words, "Look at the table, a record, a summary or groups", |ui| {
            for (mode, words) in modes.iter().copied() {
                if ui.selectable_label(mode == before, words).clicked() {
                    self.mode = mode;
                    ui.close();
                }
            }
        });
        self.mode != before
    }

    /// How many rows, and how sure that is.
    fn rows_words(&mut self, ui: &mut Ui, cx: &ViewCx<'_>) {
        let theme = Theme::of(ui);
        let rows = self.main.table.rows();
        if rows.exact().is_some() || self.row_filter.rows().is_some() {
            return;
        }
        let hint = match rows {
            Rows::AtLeast(_) => "So many rows are there; the rest is not counted yet",
            _ => "An estimate from the size of the file; not all rows are counted yet",
        };
        let rows = self.rows();
        let words = format!("{} {}", rows.words(), rows.noun());
        // All of it or nothing: the status bar has the number too.
        if ui.available_width() < 8.0 * words.chars().count() as f32 + COUNTING {
            return;
        }
        ui.label(theme::mono(words).color(theme.dim)).on_hover_text(hint);
        let count = self.count.peek(&());
        if count.runs() {
            ui.label(theme::dim(theme, format!("counting{}", theme::percent(count.progress()))));
            if theme::icon_button(ui, Icon::Close, "Stop counting").clicked() {
                self.count.cancel();
            }
        } else if ui.link("count").on_hover_text("Read the whole file to count its rows").clicked() {
            self.count.clear();
            self.start_count(cx.jobs);
        }
    }

    /// What the rows in sight wait for, once that takes a while.
    fn waiting(&mut self, ui: &mut Ui) {
        let theme = Theme::of(ui);
        let Some((words, since)) = self.waits_for() else { return };
        let Some(left) = PATIENCE.checked_sub(since.elapsed()) else {
            let label = RichText::new(&words).font(theme::small_font()).color(theme.accent);
            ui.add(egui::Label::new(label).truncate()).on_hover_text(&words);
            if theme::icon_button(ui, Icon::Close, "Stop reading (Esc)").clicked() {
                self.sheet_mut().pages.cancel();
            }
            return;
        };
        ui.ctx().request_repaint_after(left);
    }

    /// The row of the record view, and the steps to its neighbours.
    fn step_bar(&mut self, ui: &mut Ui) {
        let rows = self.sheet().table.rows().number();
        let Some(at) = self.cursor().or_else(|| {
            let column = self.standing().first().copied()?;
            Some(crate::gui::grid::CellAt { row: 0, column })
        }) else {
            return;
        };
        let mut to = at;
        if theme::icon_button(ui, Icon::CaretLeft, "Previous row (←)").clicked() {
            to.row = at.row.saturating_sub(1);
        }
        let theme = Theme::of(ui);
        ui.label(theme::mono(format!("row {}", self.sheet().label(at.row))).color(theme.text));
        if theme::icon_button(ui, Icon::CaretRight, "Next row (→)").clicked() {
            to.row = (at.row + 1).min(rows.saturating_sub(1));
        }
        if to != at {
            self.put_cursor(to);
        }
    }

    fn wrap_button(&mut self, ui: &mut Ui) {
        let wrap = self.sheet().grid.wrap();
        let words = if wrap { "Cut long cells" } else { "Wrap long cells" };
        if theme::icon_button(ui, Icon::Wrap, words).clicked() {
            self.sheet_mut().grid.set_wrap(!wrap);
        }
    }

    /// All columns: go to one, hide or show it.
    fn columns_menu(&mut self, ui: &mut Ui, cx: &ViewCx<'_>) {
        let count = self.sheet().columns() as u64;
        let hidden = self.sheet().grid.layout().hidden.len();
        let words = match hidden {
            0 => gander::bytes::display::plural(count, "column"),
            hidden => {
                format!("{} of {} columns", display::count(count - hidden as u64), display::count(count))
            }
        };
        let button = drop_button(ui, &words).on_hover_text("Find, hide and show columns");
        let popup = Popup::menu(&button).close_behavior(PopupCloseBehavior::CloseOnClickOutside).width(300.0);
        popup.show(|ui| self.columns_list(ui, cx, button.clicked()));
    }

    fn columns_list(&mut self, ui: &mut Ui, cx: &ViewCx<'_>, focus: bool) {
        let field = egui::TextEdit::singleline(&mut self.bar.filter).hint_text("Find a column");
        let field = ui.add(field.desired_width(f32::INFINITY).margin(FIELD));
        field.widget_info(|| egui::WidgetInfo::labeled(egui::Role::TextInput, true, "Find a column"));
        if focus {
            field.request_focus();
        }
        let sheet = self.end.sheet().unwrap_or(&self.main);
        let found = self.bar.named.get(cx.jobs, sheet.table.schema(), &self.bar.filter);
        let fields = sheet.table.schema().fields().clone();
        let hidden = &sheet.grid.layout().hidden;
        let (mut go, mut toggle, mut all) = (None, None, false);
        if field.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter)) {
            go = found.as_ref().and_then(|found| found.get(0));
        }
        ScrollArea::vertical().max_height(420.0).auto_shrink([false, true]).show(ui, |ui| {
            let count = found.as_ref().map_or(0, MatchingColumns::len);
            rows::ui(ui, count, size::ROW, |ui, row| {
                let column = found.as_ref().and_then(|found| found.get(row));
                let Some((column, field)) = column.and_then(|n| Some((n, fields.get(n)?))) else { return };
                let shown = !hidden.contains(&column);
                match column_row(ui, field.name(), shown) {
                    Some(Done::Toggle) => toggle = Some((column, shown)),
                    Some(Done::Go) => go = Some(column),
                    None => {}
                }
            });
        });
        if !hidden.is_empty() {
            ui.add_space(space::S1);
            all = theme::button(ui, "Show all columns").clicked();
        }
        let sheet = self.sheet_mut();
        if let Some((column, shown)) = toggle {
            if shown { sheet.grid.hide(&[column]) } else { show(sheet, column) }
        }
        if all {
            sheet.grid.show_all();
        }
        if let Some(column) = go {
            let row = sheet.grid.cursor().map_or(sheet.grid.row_position().row, |cell| cell.row);
            sheet.grid.scroll_to(row, Some(column));
            sheet.grid.request_focus();
            ui.close();
        }
    }

    /// What else can be done, where the bar is narrow.
    fn more_menu(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let button = theme::icon_button(ui, Icon::More, "More");
        let reader = reader(cx);
        self.begin_options(&button);
        theme::form(Popup::menu(&button).width(FORM), &button, |ui| {
            menu_lines(ui, |ui| {
                if ui.button("Go to the last row").clicked() {
                    self.go_to_end();
                    ui.close();
                }
                let wrap = self.sheet().grid.wrap();
                if ui.button(if wrap { "Cut long cells" } else { "Wrap long cells" }).clicked() {
                    self.sheet_mut().grid.set_wrap(!wrap);
                    ui.close();
                }
                if let Some(reader) = reader {
                    ui.separator();
                    self.options(ui, cx, reader);
                }
            });
        });
    }

    /// The options of the reader, where the table is the whole document: a CSV's delimiter.
    fn options_menu(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let Some(reader) = reader(cx) else { return };
        let button = drop_button(ui, &format!("{} options", reader.name));
        self.begin_options(&button);
        let popup = Popup::from_response(&button).width(FORM);
        theme::form(popup, &button, |ui| menu_lines(ui, |ui| self.options(ui, cx, reader)));
    }

    /// Opens the form of the reader's options; false where it has none.
    pub(super) fn open_options(&mut self, cx: &ViewCx<'_>) -> bool {
        self.bar.opens = reader(cx).is_some();
        self.bar.opens
    }

    /// The form begins with the options that are in force.
    fn begin_options(&mut self, button: &Response) {
        let opens = std::mem::take(&mut self.bar.opens);
        if opens {
            theme::open_form(button);
        }
        if opens || button.clicked() {
            self.bar.options = None;
        }
    }

    fn options(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>, reader: &Format) {
        let Some(target) = cx.target else { return };
        // As wide as the rows need that it shows, where there is room.
        ui.set_min_width(FORM.min(ui.ctx().content_rect().width() - 2.0 * space::S6));
        let options = self.bar.options.get_or_insert_with(|| target.options());
        let facts = self.main.table.facts().details;
        let found = |name: &str| {
            let attribute = target.node.reader.iter().find(|(other, _)| other == name);
            let attribute = attribute.map(|(_, value)| value.to_string());
            attribute
                .or_else(|| facts.iter().find(|(other, _)| other == name).map(|(_, value)| value.clone()))
        };
        // What it gives stays in sight below.
        let most = ui.ctx().content_rect().height() * 0.45;
        ScrollArea::vertical().id_salt("options").max_height(most).show(ui, |ui| {
            egui::Grid::new("options").num_columns(2).show(ui, |ui| {
                for spec in reader.options {
                    option(ui, spec, options, &found(spec.name).unwrap_or_default());
                    ui.end_row();
                }
            });
        });
        ui.add_space(space::S1);
        ui.separator();
        self.bar.preview.ui(ui, cx.jobs, target, options);
        let mut apply = false;
        ui.add_space(space::S1);
        ui.horizontal(|ui| {
            apply = theme::primary_button(ui, "Read anew").clicked();
            if theme::button(ui, "As found").on_hover_text("Let Gander find out").clicked() {
                reader.options.iter().for_each(|spec| drop(options.0.remove(spec.name)));
                apply = true;
            }
        });
        if apply {
            // The kept place in the old table means nothing in the new one, but does no harm.
            cx.actions.push(Action::Reopen(target.file, target.with_options(options.clone())));
            ui.close();
        }
    }
}

/// The reader of what is shown, where it has options.
fn reader(cx: &ViewCx<'_>) -> Option<&'static Format> {
    cx.target?.reader().filter(|format| !format.options.is_empty())
}

/// One option: a choice, or a text.
fn option(ui: &mut Ui, spec: &OptionSpec, options: &mut Options, found: &str) {
    let theme = Theme::of(ui);
    let label = ui.label(theme::dim(theme, spec.name)).on_hover_text(spec.help);
    let mut value = options.get(spec.name).unwrap_or_default().to_owned();
    let before = value.clone();
    let usual = match (found, spec.default) {
        ("", "") => "as found".to_owned(),
        ("", default) => default.to_owned(),
        ("\t", _) => "as found: tab".to_owned(),
        (found, _) => format!("as found: {found}"),
    };
    if spec.values.is_empty() {
        let field = egui::TextEdit::singleline(&mut value).hint_text(usual).desired_width(220.0);
        ui.add(field.margin(FIELD)).labelled_by(label.id).on_hover_text(spec.help);
    } else {
        let shown = if value.is_empty() { usual.clone() } else { value.clone() };
        let combo = egui::ComboBox::from_id_salt(spec.name).selected_text(shown).width(150.0).height(LIST);
        let response = combo.show_ui(ui, |ui| {
            ui.selectable_value(&mut value, String::new(), usual);
            for choice in spec.values {
                ui.selectable_value(&mut value, (*choice).to_owned(), *choice);
            }
        });
        response.response.labelled_by(label.id).on_hover_text(spec.help);
    }
    if value != before {
        if value.is_empty() {
            options.0.remove(spec.name);
        } else {
            options.set(spec.name, value);
        }
    }
}

/// What was done with a row of the list of columns.
enum Done {
    Toggle,
    Go,
}

/// A row of the list of columns.
fn column_row(ui: &mut Ui, name: &str, shown: bool) -> Option<Done> {
    let theme = Theme::of(ui);
    let (place, _) = ui.allocate_exact_size(vec2(ui.available_width(), size::ROW), Sense::hover());
    let layout = Layout::left_to_right(Align::Center);
    let mut line = ui.new_child(UiBuilder::new().max_rect(place).layout(layout));
    let (glyph, words) = if shown { (Icon::Eye, "Hide") } else { (Icon::EyeSlash, "Show") };
    let name: String = name.chars().take(300).collect();
    if theme::icon_button(&mut line, glyph, &format!("{words} {name}")).clicked() {
        return Some(Done::Toggle);
    }
    let label = RichText::new(name).color(if shown { theme.text } else { theme.dim });
    let button = egui::Button::new(label).frame_when_inactive(false).truncate();
    let clicked = line.add_enabled(shown, button).on_hover_text("Go to this column").clicked();
    clicked.then_some(Done::Go)
}

/// Shows one hidden column again.
fn show(sheet: &mut super::Sheet, column: usize) {
    let hidden: Vec<usize> =
        sheet.grid.layout().hidden.iter().copied().filter(|other| *other != column).collect();
    sheet.grid.show_all();
    sheet.grid.hide(&hidden);
}
