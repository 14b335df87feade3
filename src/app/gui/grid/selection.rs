//! What is selected: one block of cells, whole rows, whole columns, or everything.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// A place in the grid: a row, and a position (not the model's column).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Place {
    /// The row.
    pub(crate) row: u64,
    /// The position of the column on screen.
    pub(crate) position: usize,
}

/// What a selection is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A block of cells.
    #[default]
    Cells,
    /// Whole rows.
    Rows,
    /// Whole columns.
    Columns,
    /// Everything.
    All,
}

/// A selection: from the anchor to the cursor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Selection {
    /// What it is made of.
    pub(crate) kind: Kind,
    /// Where it began.
    pub(crate) anchor: Place,
    /// The end that moves: the framed cell.
    pub(crate) cursor: Place,
}

impl Selection {
    /// One cell.
    pub(crate) fn cell(place: Place) -> Self {
        Self { kind: Kind::Cells, anchor: place, cursor: place }
    }

    /// The selected rows, of `count`.
    pub(crate) fn rows(&self, count: u64) -> Range<u64> {
        match self.kind {
            Kind::Columns | Kind::All => 0..count,
            Kind::Cells | Kind::Rows => {
                let (a, b) = (self.anchor.row, self.cursor.row);
                a.min(b).min(count)..a.max(b).saturating_add(1).min(count)
            }
        }
    }

    /// The selected positions, of `count`.
    pub(crate) fn positions(&self, count: usize) -> Range<usize> {
        match self.kind {
            Kind::Rows | Kind::All => 0..count,
            Kind::Cells | Kind::Columns => {
                let (a, b) = (self.anchor.position, self.cursor.position);
                a.min(b).min(count)..a.max(b).saturating_add(1).min(count)
            }
        }
    }

    /// Moves the cursor; with `extend` the anchor stays where it is.
    pub(super) fn move_to(&mut self, place: Place, extend: bool) {
        self.cursor = place;
        if !extend {
            *self = Self::cell(place);
        } else if self.kind == Kind::All {
            self.kind = Kind::Cells;
        }
    }

    /// Selects rows from a click on a row label.
    pub(super) fn pick_row(&mut self, row: u64, extend: bool) {
        self.kind = Kind::Rows;
        self.cursor.row = row;
        if !extend {
            self.anchor = self.cursor;
        }
    }

    /// Selects columns from a click on a head.
    pub(super) fn pick_column(&mut self, position: usize, extend: bool) {
        self.kind = Kind::Columns;
        self.cursor.position = position;
        if !extend {
            self.anchor = self.cursor;
        }
    }

    /// Keeps it within the grid.
    pub(super) fn clamp(&mut self, rows: u64, positions: usize) {
        for place in [&mut self.anchor, &mut self.cursor] {
            place.row = place.row.min(rows.saturating_sub(1));
            place.position = place.position.min(positions.saturating_sub(1));
        }
    }
}

/// A movement of the cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Up,
    Down,
    Left,
    Right,
    PageUp,
    PageDown,
    FirstColumn,
    LastColumn,
    FirstRow,
    LastRow,
    FirstCell,
    LastCell,
}

impl Step {
    /// Where it leads from `place` in a grid of `rows` × `positions` that shows `page` rows.
    pub(super) fn from(self, place: Place, rows: u64, positions: usize, page: u64) -> Place {
        let (last_row, last_position) = (rows.saturating_sub(1), positions.saturating_sub(1));
        let Place { row, position } = place;
        let (row, position) = match self {
            Step::Up => (row.saturating_sub(1), position),
            Step::Down => (row.saturating_add(1), position),
            Step::Left => (row, position.saturating_sub(1)),
            Step::Right => (row, position.saturating_add(1)),
            Step::PageUp => (row.saturating_sub(page), position),
            Step::PageDown => (row.saturating_add(page), position),
            Step::FirstColumn => (row, 0),
            Step::LastColumn => (row, last_position),
            Step::FirstRow => (0, position),
            Step::LastRow => (last_row, position),
            Step::FirstCell => (0, 0),
            Step::LastCell => (last_row, last_position),
        };
        Place { row: row.min(last_row), position: position.min(last_position) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_runs_from_anchor_to_cursor_either_way() {
        let mut selection = Selection::cell(Place { row: 10, position: 4 });
        selection.move_to(Place { row: 7, position: 6 }, true);
        assert_eq!((selection.rows(100), selection.positions(50)), (7..11, 4..7));
        selection.pick_row(3, false);
        assert_eq!((selection.rows(100), selection.positions(50)), (3..4, 0..50));
        selection.pick_row(9, true);
        assert_eq!(selection.rows(100), 3..10);
        selection.pick_column(2, false);
        assert_eq!((selection.rows(100), selection.positions(50)), (0..100, 2..3));
        selection.clamp(5, 1);
        assert_eq!(selection.cursor, Place { row: 4, position: 0 });
    }

    #[test]
    fn steps_stop_at_the_edges() {
        let place = Place { row: 999_999_998, position: 99_999 };
        let step = |step: Step| step.from(place, 1_000_000_000, 100_000, 30);
        assert_eq!(step(Step::Down), Place { row: 999_999_999, position: 99_999 });
        assert_eq!(step(Step::PageDown), Place { row: 999_999_999, position: 99_999 });
        assert_eq!(step(Step::Right), place);
        assert_eq!(step(Step::FirstCell), Place::default());
        assert_eq!(step(Step::PageUp).row, 999_999_968);
        assert_eq!(Step::Down.from(Place::default(), 0, 0, 10), Place::default());
    }
}
