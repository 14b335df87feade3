//! The record view: one row as a form, a line for each column.

use egui::{Align2, Rect, Role, Sense, Ui, UiBuilder, WidgetInfo, pos2, vec2};

use super::super::keys::{RECORD_KEYS, RecordCommand};
use super::model::Sheet;
use super::{TableView, ViewCx};
use crate::gui::grid::{CellAt, CellKind};
use crate::gui::icons::Icon;
use crate::gui::theme::{self, Theme, body_font, italic_font, mono_font, mono_small_font, size, space};
use crate::gui::ui::{List, keys, paint_elided};

/// The state of the form.
#[derive(Default)]
pub(super) struct Record {
    list: List,
    /// The columns in sight when it was last drawn.
    pub(super) seen: Vec<usize>,
}

/// What was done with the form.
#[derive(Default)]
pub(super) struct Done {
    /// A line was clicked: its column.
    pub(super) selected: Option<usize>,
    /// A line was double-clicked: show its value in full.
    pub(super) activated: bool,
}

impl Record {
    /// Draws the row with the cursor; `columns` in their order.
    pub(super) fn ui(&mut self, ui: &mut Ui, sheet: &Sheet, at: CellAt, columns: &[usize]) -> Done {
        let theme = Theme::of(ui);
        ui.painter().rect_filled(ui.available_rect_before_wrap(), 0.0, theme.bg2);
        let mut done = Done::default();
        let mut seen = Vec::new();
        self.list.ui(ui, "Record", columns.len() as u64, size::ROW, |ui, place, index| {
            let Some(&column) = columns.get(index as usize) else { return };
            seen.push(column);
            let response = line(ui, theme, place, sheet, at.row, column, at.column == column);
            if response.clicked() {
                done.selected = Some(column);
            }
            if response.double_clicked() {
                done.activated = true;
            }
        });
        self.seen = seen;
        done
    }

    /// Brings a line into sight.
    pub(super) fn reveal(&mut self, index: u64) {
        self.list.reveal(index);
    }
}

fn line(
    ui: &Ui,
    theme: &Theme,
    place: Rect,
    sheet: &Sheet,
    row: u64,
    column: usize,
    selected: bool,
) -> egui::Response {
    let response = ui.interact(place, ui.scope_id().with(("field", column)), Sense::click());
    let name = sheet.column_name(column);
    let cell = sheet.cell(row, column);
    response.widget_info(|| WidgetInfo::labeled(Role::ListItem, true, format!("{name}: {}", cell.text)));
    if selected || response.hovered() {
        let color = if selected { theme.selected_cell() } else { theme.bg3 };
        ui.painter().rect_filled(place, 0.0, color);
    }
    ui.painter().hline(place.x_range(), place.bottom() - 0.5, theme.hairline());
    let middle = place.center().y;
    let names = (place.width() * 0.28).clamp(120.0, 300.0);
    let put = |text: String, font, color, left: f32, width: f32| {
        paint_elided(ui.painter(), pos2(left, middle), Align2::LEFT_CENTER, &text, font, color, width);
    };
    put(name.to_owned(), body_font(), theme.text, place.left() + space::S3, names - space::S3);
    let types = (place.width() * 0.16).clamp(70.0, 150.0);
    let kind = gander::bytes::display::short_arrow_type(sheet.table.column_type(column), 60);
    let left = place.left() + names + space::S2;
    put(kind, mono_small_font(), theme.dim, left, types - space::S2);
    let left = left + types + space::S2;
    let width = place.right() - left - space::S3;
    match &cell.kind {
        CellKind::Pending => {
            let bar = Rect::from_min_size(pos2(left, middle - 3.0), vec2(48.0, 6.0));
            ui.painter().rect_filled(bar, 3.0, theme.bg3);
        }
        CellKind::Failed(why) => {
            let glyph = Icon::Warning.glyph();
            let font = egui::FontId::new(size::TEXT, theme::icon_family());
            ui.painter().text(pos2(left, middle), Align2::LEFT_CENTER, glyph, font, theme.bad);
            put(why.clone(), body_font(), theme.bad, left + 18.0, width - 18.0);
        }
        kind => {
            let (font, color) = match kind {
                CellKind::Null => (italic_font(), theme.null),
                CellKind::Text => (body_font(), theme.string),
                CellKind::Nan => (mono_font(), theme.bad),
                _ => (mono_font(), theme.text),
            };
            let text: String =
                cell.text.chars().take(600).map(|c| if c.is_control() { '↵' } else { c }).collect();
            put(text, font, color, left, width);
        }
    }
    response
}

impl TableView {
    pub(super) fn record_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let place = ui.available_rect_before_wrap();
        let rows = self.sheet().table.rows().number();
        let columns = self.standing();
        if rows == 0 || columns.is_empty() {
            theme::empty_state(ui, Icon::Form, self.rows().none(), "");
            return;
        }
        let at = self.cursor().unwrap_or(CellAt { row: 0, column: columns[0] });
        let at = self.record_keys(ui, cx, at, &columns, rows);
        let mut child = ui.new_child(UiBuilder::new().max_rect(place).id_salt("record"));
        let sheet = self.end.sheet_mut().unwrap_or(&mut self.main);
        let done = self.record.ui(&mut child, sheet, at, &columns);
        let wanted: Vec<usize> = self.record.seen.clone();
        sheet.pages.want(cx.jobs, at.row..at.row + 1, &wanted);
        sheet.seen = (at.row..at.row + 1, wanted);
        if let Some(column) = done.selected {
            self.put_cursor(CellAt { column, ..at });
        }
        if done.activated && !self.inspect.is_open() {
            self.inspect.toggle();
        }
    }

    /// Arrow keys: up and down through the columns, left and right through the rows.
    fn record_keys(&mut self, ui: &Ui, cx: &ViewCx<'_>, at: CellAt, columns: &[usize], rows: u64) -> CellAt {
        if !cx.active || ui.memory(|memory| memory.focused().is_some()) {
            return at;
        }
        let mut to = at;
        let mut place = columns.iter().position(|column| *column == at.column).unwrap_or(0);
        for command in keys::taken(ui, RECORD_KEYS) {
            match command {
                RecordCommand::NextColumn => place = (place + 1).min(columns.len().saturating_sub(1)),
                RecordCommand::PreviousColumn => place = place.saturating_sub(1),
                RecordCommand::NextRow => to.row = (to.row + 1).min(rows - 1),
                RecordCommand::PreviousRow => to.row = to.row.saturating_sub(1),
                RecordCommand::Inspect => self.inspect.toggle(),
            }
        }
        to.column = columns.get(place).copied().unwrap_or(at.column);
        if to != at {
            if to.column != at.column {
                self.record.reveal(place as u64);
            }
            self.put_cursor(to);
        }
        to
    }
}
