//! The gallery of a table's pictures, sounds and arrays: the same rows as on the grid.

use std::sync::Arc;

use egui::Ui;
use gander::bytes::display;
use gander::data::adapt::ChosenRows;
use gander::data::content::Table;
use gander::data::format::Data;
use gander::data::media::{Place, payload};
use gander::data::node::Node;
use gander::jobs::{JobSpec, Slot};

use super::model::Sheet;
use super::{Mode, TableView};
use crate::gui::commands::{Action, Where};
use crate::gui::grid::CellAt;
use crate::gui::target::ExportSource;
use crate::gui::views::gallery::{Asked, GalleryAction, ShownRows};
use crate::gui::views::{Target, ViewCx};

/// A payload that is to be opened in a tab.
pub(super) struct OpenedCell {
    cell: CellAt,
    slot: Slot<(), Option<Arc<Node>>>,
}

/// Does something with the rows of a sheet.
fn with_rows<T>(sheet: &Sheet, does: impl FnOnce(&ShownRows<'_>) -> T) -> T {
    let label = |row| sheet.label(row);
    let number = |row| match &sheet.numbers {
        Some(numbers) => numbers.get(row),
        None => Some(row),
    };
    does(&ShownRows { table: &sheet.table, label: &label, number: &number })
}

impl TableView {
    /// Looks whether there is something for the gallery, once the first rows are there.
    pub(super) fn look_for_media(&mut self, cx: &ViewCx<'_>) {
        if self.mode != Mode::Gallery && self.main.pages.pending().is_some() {
            return;
        }
        let target = cx.target;
        let may = target.is_some_and(|target| self.gallery.look(cx.jobs, target, &self.base, &self.name));
        // The file of a session may be another one by now.
        if self.mode == Mode::Gallery && !may {
            self.mode = Mode::Table;
        }
    }

    /// Small pictures for cells.
    pub(super) fn want_cell_pictures(&mut self, ui: &Ui, cx: &ViewCx<'_>) {
        let sheet = self.end.sheet_mut().unwrap_or(&mut self.main);
        // Columns with pictures are wider.
        sheet.widths_came |= self.gallery.is_there() && !std::mem::replace(&mut sheet.has_pictures, true);
        self.gallery.want_cells(ui, cx.jobs, &sheet.table, &sheet.seen);
    }

    pub(super) fn gallery_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        self.leave_end();
        let gallery = &mut self.gallery;
        let done = with_rows(&self.main, |rows| gallery.ui(ui, cx, rows));
        let sight = done.sight.clone();
        if let Some(numbers) = &mut self.main.numbers {
            numbers.want(cx.jobs, &sight);
        }
        self.did(&done, cx);
        self.take_opened(cx);
    }

    fn did(&mut self, done: &GalleryAction, cx: &mut ViewCx<'_>) {
        let column = self.gallery.column(self.base.as_ref()).map_or(0, |column| column.column);
        if let Some(row) = done.record {
            self.put_cursor(CellAt { row, column });
            self.mode = Mode::Record;
        }
        if let Some(row) = done.open {
            self.open_cell(CellAt { row, column });
        }
        if let Some((column, row)) = done.class {
            self.main.pages.want(cx.jobs, row..row + 1, &[column]);
            self.class = Some((column, row));
        }
        self.take_class(cx);
    }

    /// Filters by the class of a row, once its cell is there.
    fn take_class(&mut self, cx: &mut ViewCx<'_>) {
        let Some((column, row)) = self.class else { return };
        self.main.pages.want(cx.jobs, row..row + 1, &[column]);
        let condition = self.main.like(row, column);
        if let Some(condition) = condition {
            self.row_filter.pick(condition, false);
            self.class = None;
        }
    }

    /// Opens what a cell holds in a tab of its own.
    pub(super) fn open_cell(&mut self, cell: CellAt) {
        self.opened = Some(OpenedCell { cell, slot: Slot::default() });
    }

    /// Shows the payload that was asked for, as soon as it is there.
    pub(super) fn take_opened(&mut self, cx: &mut ViewCx<'_>) {
        let (Some(OpenedCell { cell, slot }), Some(target)) = (&self.opened, cx.target) else { return };
        let number = match &self.main.numbers {
            Some(numbers) => numbers.get(cell.row),
            None => Some(cell.row),
        };
        let (Some(number), column) = (number, cell.column) else { return };
        let (table, place) =
            (self.base.clone(), Place::of_node(&target.document.source, &target.path, &target.node));
        let title = format!("opening record {}", display::count(number));
        let shown = slot.get(cx.jobs, &(), JobSpec::once(title), move |task| {
            let node = payload::node(task, gander::formats::ALL, table.as_ref(), (number, column), &place)?;
            Ok(node.map(Arc::new))
        });
        match shown.answer() {
            Some(Ok(found)) => match found.as_ref() {
                Some(node) => {
                    let path = format!("{}{}", target.path, node.name);
                    let shown = Target { path, node: node.clone(), ..target.clone() };
                    cx.actions.push(Action::Show(shown, Where::Kept));
                }
                None => cx.actions.push(Action::Notice("This cell holds no file".to_owned())),
            },
            Some(Err(error)) => cx.actions.push(Action::Notice(error.message())),
            None => return,
        }
        self.opened = None;
    }

    /// Draws the gallery's options, and does what they ask for.
    pub(super) fn gallery_bar(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let asked = self.gallery.toolbar(ui, self.base.as_ref());
        if asked == Some(Asked::Export)
            && let Some(target) = cx.target
        {
            cx.actions.push(Action::Export(ExportSource::Node(target.clone(), self.flagged())));
        }
    }

    /// The flagged rows for an export.
    fn flagged(&self) -> Option<(String, Data)> {
        let flags = &self.gallery.state.flags;
        // Rows that are not known yet may be there all the same.
        let rows = self.base.rows().exact().unwrap_or(u64::MAX);
        let chosen = ChosenRows::new(self.base.clone(), flags.iter().copied().filter(|row| *row < rows));
        let count = gander::bytes::display::plural(chosen.rows().number(), "record");
        Some((format!("the flagged records: {count}"), Data::Table(Arc::new(chosen))))
    }

    /// What is selected in the gallery, for an export.
    pub(super) fn gallery_export(&self) -> Option<(String, Data)> {
        let rows = self.gallery.selected()?;
        let words = format!("the selection: {}", gander::bytes::display::plural(rows.len() as u64, "record"));
        Some((words, Data::Table(Arc::new(ChosenRows::new(self.main.table.clone(), rows)))))
    }

    /// Flags what is selected in the gallery.
    pub(super) fn flag(&mut self) -> bool {
        let gallery = &mut self.gallery;
        self.mode == Mode::Gallery && with_rows(&self.main, |rows| gallery.flag(rows))
    }

    /// Goes to the next row of the class of the one with the cursor.
    pub(super) fn next_of_class(&mut self) -> bool {
        let row = self.gallery.cursor().filter(|_| self.mode == Mode::Gallery);
        let table = self.main.table.clone();
        row.is_some_and(|row| self.gallery.look_for_next(table.as_ref(), row))
    }

    /// Shows the gallery; false where there is nothing for it.
    pub(super) fn show_gallery(&mut self) -> bool {
        let there = self.gallery.is_there();
        if there {
            self.enter_gallery();
        }
        there
    }

    /// The cursor of the rows goes where that of the pictures is.
    pub(super) fn leave_gallery(&mut self) {
        let column = self.gallery.column(self.base.as_ref()).map_or(0, |column| column.column);
        if let Some(row) = self.gallery.cursor() {
            self.put_cursor(CellAt { row, column });
        }
    }

    /// The cursor goes along.
    pub(super) fn enter_gallery(&mut self) {
        if let Some(cell) = self.cursor() {
            self.gallery.go_to(cell.row);
        }
        self.mode = Mode::Gallery;
    }
}
