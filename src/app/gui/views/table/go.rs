//! Going to a row or a column by what a person types. Rows are called by the numbers that stand before them: of those
//! that a filter let through, or that are sorted, the numbers in the whole table.

use std::sync::Arc;
use std::time::Duration;

use egui::Ui;
use gander::bytes::display;
use gander::bytes::error::Result;
use gander::bytes::task::Task;
use gander::data::content::Table as _;
use gander::jobs::{JobSpec, Slot};
use gander::query::Filtered;

use super::TableView;
use crate::gui::commands::Action;
use crate::gui::views::ViewCx;

/// Numbers that are read at once, where they are in no order.
const STEP: u64 = 1 << 16;
/// How often rows that still come are looked at again.
const LOOK: Duration = Duration::from_millis(50);

/// A row that is looked for, and the column that it is looked at in.
#[derive(Default)]
pub(super) struct Seek {
    wanted: Option<(u64, Option<usize>)>,
    slot: Slot<(u64, u64, usize), Option<Found>>,
}

/// A row among others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Found {
    /// Its place among those that are shown.
    place: u64,
    /// Its number in the whole table.
    number: u64,
}

/// Looks for a row of this number; where it is not among them and they are in the order of the table, the next one.
fn find(task: &Task, rows: &Filtered, count: u64, wanted: u64, is_sorted: bool) -> Result<Option<Found>> {
    let number = |place: u64| rows.numbers(task, place..place + 1).map(|found| found.first().copied());
    if !is_sorted {
        let (mut low, mut high) = (0, count);
        while low < high {
            task.check()?;
            let middle = low + (high - low) / 2;
            if number(middle)?.is_some_and(|number| number < wanted) {
                low = middle + 1
            } else {
                high = middle
            }
        }
        let place = low.min(count.saturating_sub(1));
        return Ok(number(place)?.map(|number| Found { place, number }));
    }
    let mut at = 0;
    while at < count {
        task.check()?;
        let numbers = rows.numbers(task, at..(at + STEP).min(count))?;
        if let Some(place) = numbers.iter().position(|number| *number == wanted) {
            return Ok(Some(Found { place: at + place as u64, number: wanted }));
        }
        at += numbers.len().max(1) as u64;
    }
    Ok(None)
}

impl TableView {
    /// Goes to what a person typed: a row, `row, column`, or the name of a column.
    pub(super) fn go_to(&mut self, text: &str) -> bool {
        let is_part = self.main.numbers.is_some();
        let rows = if is_part { self.main.whole } else { self.rows().count() };
        let (row, column) = match text.split_once(',') {
            Some((row, column)) if row_of(row, rows).is_some() && self.column_of(column).is_some() => {
                (row_of(row, rows), self.column_of(column))
            }
            _ => (row_of(text, rows), None),
        };
        let column = column.or_else(|| if row.is_none() { self.column_of(text) } else { None });
        if row.is_none() && column.is_none() {
            return false;
        }
        self.leave_end();
        if let Some(row) = row.filter(|_| is_part) {
            self.seek = Seek { wanted: Some((row, column)), ..Seek::default() };
            return true;
        }
        let kept = self.main.grid.cursor().map_or(self.main.grid.row_position().row, |cell| cell.row);
        self.main.grid.scroll_to(row.unwrap_or(kept), column);
        true
    }

    /// Goes to the row that is looked for by its number, once it is found.
    pub(super) fn take_seek(&mut self, ui: &Ui, cx: &mut ViewCx<'_>) {
        let Some((wanted, column)) = self.seek.wanted else { return };
        let Some(rows) = self.row_filter.rows().cloned() else {
            // All rows came back meanwhile: they are called by their places.
            self.seek.wanted = None;
            self.main.grid.scroll_to(wanted, column);
            return;
        };
        let (count, is_sorted) = (rows.rows().number(), self.row_filter.is_sorted());
        let has_ended = rows.answer().ended().is_some();
        let (source, key) = (rows.clone(), (wanted, count, Arc::as_ptr(&rows) as usize));
        let shown = self.seek.slot.get(cx.jobs, &key, JobSpec::once("looking for a row"), move |task| {
            if count == 0 { Ok(None) } else { find(task, &source, count, wanted, is_sorted) }
        });
        let found = match (shown.ready(), shown.error) {
            (Some(found), _) => *found,
            (None, Some(_)) => None,
            (None, None) => return,
        };
        // What is not there may come.
        if !has_ended && found.is_none_or(|found| found.number < wanted) {
            ui.ctx().request_repaint_after(LOOK);
            return;
        }
        self.seek.wanted = None;
        let named = display::count(wanted);
        match found {
            Some(found) => {
                self.main.grid.scroll_to(found.place, column);
                if found.number != wanted {
                    let words =
                        format!("Row {named} is filtered out; this is row {}", display::count(found.number));
                    cx.actions.push(Action::Notice(words));
                }
            }
            None => cx.actions.push(Action::Notice(format!("Row {named} is filtered out"))),
        }
    }

    /// A column by its name or number.
    pub(super) fn column_of(&self, text: &str) -> Option<usize> {
        let text = text.trim().trim_start_matches('@');
        let fields = self.main.table.schema().fields();
        let exact = fields.iter().position(|field| field.name() == text);
        let same = || fields.iter().position(|field| field.name().eq_ignore_ascii_case(text));
        exact.or_else(same).or_else(|| text.parse().ok().filter(|column| *column < fields.len()))
    }
}

/// A row as a person types it: separators are welcome, negative ones count from the end.
pub(super) fn row_of(text: &str, rows: u64) -> Option<u64> {
    let text: String = text.chars().filter(|c| !matches!(c, ',' | '_' | ' ' | '\'')).collect();
    match text.strip_prefix(['-', '−']) {
        Some(back) => back.parse().ok().and_then(|back: u64| rows.checked_sub(back)),
        None => text.parse().ok().map(|row: u64| row.min(rows.saturating_sub(1))),
    }
}
