//! How a recipe says the part of a table that is shown or selected.

use gander::convert::Selection;

use super::{Mode, TableView, View};
use crate::gui::grid::SelectionKind;
use crate::gui::target::Repeat;

/// The rows and columns that are selected, or the clauses of the filter; `None` for what neither can say.
pub(super) fn of(view: &TableView) -> Option<Repeat> {
    if view.mode == Mode::Pivot || view.mode == Mode::Gallery {
        return None;
    }
    let sheet = view.sheet();
    let is_cut = sheet.grid.selection().is_some_and(|selection| {
        let single = selection.kind == SelectionKind::Cells && selection.anchor == selection.cursor;
        !single && selection.kind != SelectionKind::All
    });
    match (is_cut, view.clauses()) {
        (false, clauses) => clauses.map(Repeat::Clauses),
        // Rows of a filtered table have no numbers of their own in its file.
        (true, Some(_)) => None,
        (true, None) => {
            let (rows, columns) = sheet.grid.selected()?;
            let fields = sheet.table.schema().fields();
            let name = |column: &usize| fields.get(*column).map(|field| field.name().clone());
            let columns = columns.iter().map(name).collect::<Option<Vec<_>>>();
            Some(Repeat::Selection(Selection { rows: Some(rows), columns, slice: None }))
        }
    }
}
