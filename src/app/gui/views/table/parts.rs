//! The parts of a table that *Export…* offers: what is selected, what the filter left, the groups of a pivot table.

use std::sync::Arc;

use gander::data::adapt;
use gander::data::content::Table as _;
use gander::data::format::Data;

use super::{Mode, SelectionKind, TableView, model, selection_statistics};

impl TableView {
    /// What is shown if it is not the whole table, with words for it.
    pub(super) fn part(&self) -> Option<(String, Data)> {
        let special = match self.mode {
            Mode::Pivot => self.pivot.export(),
            Mode::Gallery => self.gallery_export(),
            Mode::Table | Mode::Record | Mode::Summary => None,
        };
        special.or_else(|| self.selected_part()).or_else(|| self.filtered_part())
    }

    /// What there is beside [`TableView::part`]: what the filter left while cells of it are selected.
    pub(super) fn beside_part(&self) -> Option<(String, Data)> {
        let is_plain = !matches!(self.mode, Mode::Pivot | Mode::Gallery);
        self.selected_part().filter(|_| is_plain).and_then(|_| self.filtered_part())
    }

    fn filtered_part(&self) -> Option<(String, Data)> {
        let rows = self.row_filter.rows()?;
        let count = model::rows(rows.rows());
        let words = format!("the filtered table: {} {}", count.words(), count.noun());
        Some((words, Data::Table(rows.clone())))
    }

    /// Several cells, rows or columns; one cell alone is only where the cursor is.
    fn selected_part(&self) -> Option<(String, Data)> {
        let sheet = self.sheet();
        let selection = sheet.grid.selection()?;
        let (rows, columns) = sheet.grid.selected()?;
        let single = selection.kind == SelectionKind::Cells && selection.anchor == selection.cursor;
        if single || selection.kind == SelectionKind::All || columns.is_empty() {
            return None;
        }
        let words = format!("the selection: {}", selection_statistics::selected(&rows, columns.len()));
        let part = adapt::TableView::new(sheet.table.clone(), rows, columns).ok()?;
        Some((words, Data::Table(Arc::new(part))))
    }
}
