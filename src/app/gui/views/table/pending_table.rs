//! Rows that are to be shown instead of others: those of another version, those that a filter let through.
//! What is on screen stays until the first page of them is there.

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::datatypes::SchemaRef;
use gander::data::node::Node;
use gander::jobs::Jobs;

use super::model::Sheet;
use crate::gui::grid::Layout;

/// The pictures in the heads are waited for so long; the cells, as long as they take.
const PICTURES: Duration = Duration::from_millis(250);

/// A sheet that is not shown yet.
pub(super) struct PendingTable {
    pub(super) sheet: Sheet,
    /// The version that it is of, where another one was asked for, and its node.
    pub(super) turned: Option<(usize, Arc<Node>)>,
    cells: Option<Instant>,
}

impl PendingTable {
    /// For a sheet.
    pub(super) fn new(sheet: Sheet, turned: Option<(usize, Arc<Node>)>) -> Self {
        PendingTable { sheet, turned, cells: None }
    }

    /// Reads what will be in sight where `shown` is; true once it is there. Called once a frame.
    pub(super) fn ready(&mut self, jobs: &Jobs, shown: &Sheet) -> bool {
        let sheet = &mut self.sheet;
        let rows = sheet.table.rows();
        // As many as it is scrolled down.
        let ended = sheet.numbers.as_ref().is_some_and(|numbers| numbers.ended());
        if !ended && rows.exact().is_none() && rows.number() <= sheet.grid.row_position().row {
            return false;
        }
        let (sight, columns) = &shown.seen;
        let columns = translated(columns, shown.table.schema(), sheet.table.schema());
        let sight = moved(sight, sheet.grid.row_position().row, rows.number());
        sheet.pages.want(jobs, sight.clone(), &columns);
        sheet.want_stored(jobs, &columns);
        if let Some(numbers) = &mut sheet.numbers {
            numbers.want(jobs, &sight);
        }
        if sheet.pages.pending().is_some() {
            return false;
        }
        let since = *self.cells.get_or_insert_with(Instant::now);
        sheet.heads.want(jobs, &sheet.values, &columns);
        sheet.heads.has(&columns) || since.elapsed() >= PICTURES
    }
}

/// As many rows as are in sight, from `top` on, or the last ones.
fn moved(sight: &Range<u64>, top: u64, total: u64) -> Range<u64> {
    let height = sight.end.saturating_sub(sight.start);
    let first = top.min(total.saturating_sub(height));
    first..first.saturating_add(height).min(total)
}

/// The columns of the same names in another table.
fn translated(columns: &[usize], old: &SchemaRef, new: &SchemaRef) -> Vec<usize> {
    columns.iter().filter_map(|&column| place(column, old, new)).collect()
}

fn place(column: usize, old: &SchemaRef, new: &SchemaRef) -> Option<usize> {
    let field = old.fields().get(column)?;
    let same = |other: Option<&arrow::datatypes::FieldRef>| other.is_some_and(|o| o.name() == field.name());
    // Of columns of one name each stays where it is.
    if same(new.fields().get(column)) {
        return Some(column);
    }
    new.fields().iter().position(|other| same(Some(other)))
}

/// The arrangement of columns in a table in which they stand elsewhere; `widths` are those on screen.
pub(super) fn carried(layout: &Layout, widths: &[(usize, f32)], old: &SchemaRef, new: &SchemaRef) -> Layout {
    let list = |columns: &[usize]| translated(columns, old, new);
    let own = layout.widths.iter().map(|(column, width)| (*column, *width));
    let all = widths.iter().copied().chain(own);
    Layout {
        widths: all.filter_map(|(column, width)| Some((place(column, old, new)?, width))).collect(),
        // What is new in it stands at the end.
        order: layout.order.as_ref().map(|order| list(order)),
        frozen: list(&layout.frozen),
        hidden: list(&layout.hidden),
        wrap: layout.wrap,
    }
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::{DataType, Field, Schema};

    use super::*;

    fn schema(names: &[&str]) -> SchemaRef {
        let field = |name: &&str| Field::new(*name, DataType::Int64, true);
        Arc::new(Schema::new(names.iter().map(field).collect::<Vec<_>>()))
    }

    #[test]
    fn an_arrangement_follows_the_names() {
        let (old, new) = (schema(&["a", "b", "c"]), schema(&["b", "d", "a"]));
        let layout = Layout {
            widths: [(0, 50.0)].into(),
            order: Some(vec![1]),
            frozen: vec![2],
            hidden: vec![0],
            wrap: true,
        };
        let carried = carried(&layout, &[(0, 99.0), (1, 70.0)], &old, &new);
        assert_eq!(carried.widths, [(0, 70.0), (2, 50.0)].into(), "a width that was set by hand wins");
        assert_eq!((carried.order, carried.frozen, carried.hidden), (Some(vec![0]), vec![], vec![2]));
        assert!(carried.wrap);
    }

    #[test]
    fn what_is_in_sight_stays_within_the_rows() {
        assert_eq!(moved(&(100..120), 100, 1000), 100..120);
        assert_eq!(moved(&(100..120), 100, 50), 30..50);
        assert_eq!(moved(&(100..120), 0, 7), 0..7);
    }
}
