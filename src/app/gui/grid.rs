//! The virtual grid that tables, numbers and records share: billions of rows × a hundred thousand
//! columns. It knows nothing of files: a [`GridModel`] answers from memory and is told what is in sight.
//!
//! - [`model`]: what the grid asks; `columns`: order, widths, hiding, freezing; `selection`: cells, rows,
//!   columns and the steps of the cursor;
//! - `view`: what stands where in this frame; `input`: mouse and keys; [`keys`]: the table of these; `paint`: cells and lines;
//!   `header`: column heads and row labels; `menu`: context menus; `decoration`: what cells show beside text; `access`: the screen reader's side.
//!
//! A frame costs as much as is in sight, whatever the number of rows and columns.

mod access;
mod columns;
mod decoration;
mod header;
mod input;
pub(crate) mod keys;
mod menu;
pub(crate) mod model;
mod paint;
mod selection;
#[cfg(test)]
mod tests;
mod view;

use std::ops::Range;

use egui::{Rect, Response, Sense, Ui, UiBuilder};
use serde::{Deserialize, Serialize};

pub(crate) use columns::Layout;
pub(crate) use model::{Cell, CellKind, ColumnHead, Decoration, GridModel, GridRows, Side, SortMark};
pub(crate) use paint::line_text;
pub(crate) use selection::{Kind as SelectionKind, Place, Selection};

use super::icons::Icon;
use super::theme::{self, Theme, size};
use super::ui::RowPosition;
use columns::Columns;
use view::View;

/// A cell by row and by the model's column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CellAt {
    /// The row.
    pub(crate) row: u64,
    /// The model's column, not its position on screen.
    pub(crate) column: usize,
}

/// The first column in sight in the scrolling part, by position, and how much of it is out of sight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ColumnPosition {
    /// The position.
    pub(crate) index: usize,
    /// The part of it that is out of sight.
    pub(crate) fraction: f32,
}

/// A click on the head of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HeaderClick {
    /// The model's column.
    pub(crate) column: usize,
    /// Whether Shift was down: one more sort key.
    pub(crate) shift: bool,
}

/// What happened in the grid in this frame.
#[derive(Debug)]
pub(crate) struct GridResponse {
    /// The response of the cells as a whole.
    pub(crate) response: Response,
    /// The cell under the pointer.
    pub(crate) hovered: Option<CellAt>,
    /// The framed cell.
    pub(crate) cursor: Option<CellAt>,
    /// Enter, Space or a double click: show this value in full.
    pub(crate) activated: Option<CellAt>,
    /// Something is to be copied.
    pub(crate) copy: Option<gander::convert::copy::CopyRequest>,
    /// The head of a column was clicked.
    pub(crate) header_clicked: Option<HeaderClick>,
    /// The name of a column that is to be copied.
    pub(crate) copy_name: Option<String>,
    /// What [`GridModel::empty_offer`] offers is wanted.
    pub(crate) offer_taken: bool,
}

/// What the mouse is doing with the button down.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Drag {
    Cells,
    Rows,
    Resize { column: usize, width: f32 },
    Reorder { position: usize },
}

/// What a context menu is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    Cell(CellAt),
    Head(usize),
}

/// The state of a grid: where it is scrolled to, what is selected, how its columns stand. Kept with
/// the tab; the data stays with the model.
#[derive(Clone, Debug)]
pub(crate) struct Grid {
    /// The accessible name, such as the name of the table.
    pub(crate) name: String,
    /// The height of the part of each head that [`GridModel::header_ui`] draws; 0 for none.
    pub(crate) header_extra: f32,
    columns: Columns,
    top: RowPosition,
    left: ColumnPosition,
    selection: Option<Selection>,
    drag: Option<Drag>,
    grab: [Option<f32>; 2],
    target: Option<Target>,
    /// The menu was opened by a key and stands at the cell, not at the pointer.
    menu_by_key: bool,
    /// A place to bring into sight as soon as the size of the view is known.
    go_to: Option<(u64, Option<usize>)>,
    focus: bool,
    gutter: f32,
    rows: u64,
}

impl Default for Grid {
    fn default() -> Self {
        Self::new("Grid")
    }
}

impl Grid {
    /// A grid at its first row, with all columns as they come.
    pub(crate) fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            header_extra: 0.0,
            columns: Columns::default(),
            top: RowPosition::default(),
            left: ColumnPosition::default(),
            selection: None,
            drag: None,
            grab: [None; 2],
            target: None,
            menu_by_key: false,
            go_to: None,
            focus: false,
            gutter: 0.0,
            rows: 0,
        }
    }

    /// The first row in sight.
    pub(crate) fn row_position(&self) -> RowPosition {
        self.top
    }

    /// The first column in sight, by position.
    pub(crate) fn column_position(&self) -> ColumnPosition {
        self.left
    }

    /// Scrolls to where an earlier session was.
    pub(crate) fn set_position(&mut self, top: RowPosition, left: ColumnPosition) {
        (self.top, self.left) = (top, left);
    }

    /// Brings a cell into sight and puts the cursor on it; out of sight it comes to the middle.
    /// Without a column it stays in the one where the cursor is.
    pub(crate) fn scroll_to(&mut self, row: u64, column: Option<usize>) {
        self.go_to = Some((row, column));
    }

    /// The place that was asked for and not brought into sight yet.
    pub(crate) fn asked(&self) -> Option<(u64, Option<usize>)> {
        self.go_to
    }

    /// Gives the grid the keyboard in the next frame.
    pub(crate) fn request_focus(&mut self) {
        self.focus = true;
    }

    /// Widths, order, hidden and frozen columns, wrapping: what a session keeps.
    pub(crate) fn layout(&self) -> &Layout {
        self.columns.layout()
    }

    /// Takes an earlier arrangement; what does not fit this model is left out.
    pub(crate) fn set_layout(&mut self, layout: Layout) {
        self.columns.set_layout(layout);
    }

    /// Whether long cells are wrapped into taller rows.
    pub(crate) fn wrap(&self) -> bool {
        self.layout().wrap
    }

    /// Wraps long cells into taller rows, or cuts them.
    pub(crate) fn set_wrap(&mut self, wrap: bool) {
        self.columns.set_wrap(wrap);
    }

    /// Hides columns of the model.
    pub(crate) fn hide(&mut self, columns: &[usize]) {
        // A grid without columns could not be clicked to bring them back.
        let going: std::collections::HashSet<usize> = columns.iter().copied().collect();
        let mut shown = (0..self.columns.len()).filter_map(|position| self.columns.column(position));
        if self.columns.len() == 0 || shown.any(|column| !going.contains(&column)) {
            self.columns.hide(columns);
        }
    }

    /// Shows all hidden columns.
    pub(crate) fn show_all(&mut self) {
        self.columns.show_all();
    }

    /// Freezes a column of the model at the left, or sets it free.
    pub(crate) fn set_frozen(&mut self, column: usize, frozen: bool) {
        if frozen { self.columns.freeze(column) } else { self.columns.unfreeze(column) }
    }

    /// Takes the widths of the columns of another grid, which this one replaces: they stay while that is looked at.
    pub(crate) fn keep_widths(&mut self, widths: impl IntoIterator<Item = (usize, f32)>) {
        self.columns.keep(widths);
    }

    /// The widths of the model's columns as they stand, where each has one of its own.
    pub(crate) fn widths(&self) -> Vec<(usize, f32)> {
        self.columns.widths()
    }

    /// Asks the model for the widths of its columns again: it may know better by now. Columns that
    /// were resized keep theirs.
    pub(crate) fn forget_suggested_widths(&mut self) {
        self.columns.forget_suggested();
    }

    /// The selection, by position.
    pub(crate) fn selection(&self) -> Option<Selection> {
        self.selection
    }

    /// Selects.
    pub(crate) fn select(&mut self, selection: Option<Selection>) {
        self.selection = selection;
    }

    /// The selected rows and the model's columns. Of many columns the list is long: ask when the
    /// selection changed, not in every frame.
    pub(crate) fn selected(&self) -> Option<(Range<u64>, Vec<usize>)> {
        let selection = self.selection?;
        let positions = selection.positions(self.columns.len());
        Some((selection.rows(self.rows), self.columns.columns_at(positions)))
    }

    /// The framed cell.
    pub(crate) fn cursor(&self) -> Option<CellAt> {
        self.selection.and_then(|selection| self.cell_at(selection.cursor))
    }

    /// Tells the arrangement of the columns from every other one, of this grid or another: what is worked out from
    /// [`Grid::columns_at`] or [`Grid::selected`] need not be in every frame.
    pub(crate) fn arrangement(&self) -> u64 {
        self.columns.version()
    }

    /// The selected rows.
    pub(crate) fn selected_rows(&self) -> Option<Range<u64>> {
        Some(self.selection?.rows(self.rows))
    }

    /// The model's columns at positions.
    pub(crate) fn columns_at(&self, positions: Range<usize>) -> Vec<usize> {
        self.columns.columns_at(positions)
    }

    fn cell_at(&self, place: Place) -> Option<CellAt> {
        let column = self.columns.column(place.position)?;
        (place.row < self.rows).then_some(CellAt { row: place.row, column })
    }

    /// Draws the grid into all that is left of `ui` and takes its input.
    pub(crate) fn ui(&mut self, ui: &mut Ui, model: &mut dyn GridModel) -> GridResponse {
        let outer = ui.available_rect_before_wrap();
        ui.allocate_rect(outer, Sense::hover());
        ui.painter().rect_filled(outer, 0.0, Theme::of(ui).bg2);
        let mut child = ui.new_child(UiBuilder::new().max_rect(outer).id_salt("grid"));
        child.shrink_clip_rect(outer);
        let id = child.scope_id();
        self.rows = model.rows().count();
        let advance = child.fonts_mut(|fonts| fonts.glyph_width(&theme::mono_font(), '0'));
        let points = |characters: f32| view::width_of(characters, advance);
        self.columns.update(model.columns(), points(model.default_width()), |column| {
            let head = model.column(column);
            let values = head.width.map_or(points(model.default_width()), points);
            let head_width = header::likely_width(&head);
            (values.max(head_width), head.full_width.map(|full| points(full).max(head_width)))
        });
        let gutter = view::gutter_width(self, &child, model);
        self.columns.spread(outer.width() - gutter - size::SCROLL_BAR);
        if let Some(selection) = &mut self.selection {
            selection.clamp(self.rows, self.columns.len());
        }
        let view = View::new(self, &child, outer, model);
        self.answer_go_to(&view);
        let mut result = self.take_input(&mut child, id, &view, model);

        // What the input changed shows at once.
        let view = View::new(self, &child, outer, model);
        model.want(view.wanted_rows(self), &view.wanted_columns(self));
        let hovered = self.paint(&child, &view, model);
        self.paint_heads(&mut child, &view, model);
        self.menus(&mut child, &view, model, &mut result);
        self.describe(&mut child, &view, model, &mut result);
        self.show_tip(&result.response, hovered);
        result.cursor = self.cursor();
        if self.rows == 0 {
            let place = Rect::from_min_max(view.body.min, outer.max);
            let mut middle = child.new_child(UiBuilder::new().max_rect(place).id_salt("empty"));
            match model.empty_offer() {
                Some(offer) => {
                    result.offer_taken = theme::empty_offer(&mut middle, Icon::Rows, &model.empty(), offer);
                }
                None => theme::empty_state(&mut middle, Icon::Rows, &model.empty(), ""),
            }
        }
        result
    }

    fn answer_go_to(&mut self, view: &View) {
        let Some((row, column)) = self.go_to else { return };
        if self.rows == 0 || view.page <= 0.0 {
            return;
        }
        self.go_to = None;
        let row = row.min(self.rows - 1);
        let kept = self.selection.map_or(self.left.index, |selection| selection.cursor.position);
        let position = column.map_or(Some(kept), |column| self.columns.position(column)).unwrap_or(kept);
        let place = Place { row, position };
        self.selection = Some(Selection::cell(place));
        if row < view.first_row || row >= view.end_row {
            let middle = RowPosition { row, fraction: 0.0 };
            self.top = middle.scroll(-f64::from((view.page / 2.0).floor()), self.rows, view.page);
        }
        self.reveal(place, view);
    }

    /// Scrolls just far enough that a cell is wholly in sight.
    fn reveal(&mut self, place: Place, view: &View) {
        self.top = self.top.reveal(place.row, self.rows, view.page);
        if place.position < self.columns.frozen() {
            return;
        }
        let room = f64::from(view.scroll_room());
        let start = self.columns.offset(place.position) - self.columns.offset(self.columns.frozen());
        let end = start + f64::from(self.columns.width(place.position));
        let at = self.scrolled();
        let wanted = if start < at || end - start > room {
            start
        } else if end > at + room {
            end - room
        } else {
            return;
        };
        self.scroll_columns_to(wanted, view);
    }

    /// How far the scrolling columns are scrolled, in points.
    fn scrolled(&self) -> f64 {
        self.columns.offset(self.left.index) - self.columns.offset(self.columns.frozen())
            + f64::from(self.left.fraction) * f64::from(self.columns.width(self.left.index))
    }

    fn scroll_columns_to(&mut self, distance: f64, view: &View) {
        let last = (self.columns.scroll_width() - f64::from(view.scroll_room())).max(0.0);
        let distance = distance.clamp(0.0, last);
        let index = self.columns.position_at(distance);
        let start = self.columns.offset(index) - self.columns.offset(self.columns.frozen());
        let fraction = ((distance - start) / f64::from(self.columns.width(index))) as f32;
        self.left = ColumnPosition { index, fraction: fraction.clamp(0.0, 0.999_999) };
    }

    /// The tool tip of a cell that is cut or failed.
    fn show_tip(&self, response: &Response, tip: Option<String>) {
        if let Some(tip) = tip
            && self.drag.is_none()
            && !response.context_menu_opened()
        {
            let tip = response.clone().on_hover_ui_at_pointer(|ui| {
                ui.label(theme::mono(tip));
            });
            drop(tip);
        }
    }
}

impl GridResponse {
    fn new(response: Response) -> Self {
        Self {
            response,
            hovered: None,
            cursor: None,
            activated: None,
            copy: None,
            header_clicked: None,
            copy_name: None,
            offer_taken: false,
        }
    }
}

/// The height of a row.
fn row_height(wrap: bool) -> f32 {
    if wrap { size::ROW + (view::WRAPPED_LINES - 1) as f32 * 16.0 } else { size::ROW }
}
