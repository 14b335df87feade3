//! The last rows of a table, shown before all of its rows are counted.

use std::sync::Arc;

use gander::bytes::error::Error;
use gander::data::content::Table;
use gander::data::content::table::MemoryTable;
use gander::jobs::{JobSpec, Jobs, Slot};

use super::model::{Labels, Sheet};

/// So many rows are shown.
const ROWS: u64 = 1000;
/// Of wider tables only the first columns are.
const COLUMNS: usize = 512;

/// The number of the first row, where it is known, and the rows.
type Rows = (Option<u64>, Arc<dyn Table>);

/// The end of a table: away, asked for, or on screen.
#[derive(Default)]
pub(super) struct End {
    sheet: Option<Sheet>,
    is_asked: bool,
    slot: Slot<(), Rows>,
}

impl End {
    /// The end, where it is on screen.
    pub(super) fn sheet(&self) -> Option<&Sheet> {
        self.sheet.as_ref()
    }

    /// The same, to be changed.
    pub(super) fn sheet_mut(&mut self) -> Option<&mut Sheet> {
        self.sheet.as_mut()
    }

    /// Goes to the end of `main`: to its last row where all are counted, else the last rows are asked for.
    pub(super) fn go_to(&mut self, main: &mut Sheet) {
        match main.table.rows().exact() {
            Some(_) => self.join(main),
            None => self.is_asked = true,
        }
    }

    /// Takes the end off the screen.
    pub(super) fn leave(&mut self) {
        self.sheet = None;
        self.give_up();
    }

    /// Does not wait for it any longer; whether it was waited for.
    pub(super) fn give_up(&mut self) -> bool {
        if self.is_asked {
            self.slot.clear();
        }
        std::mem::take(&mut self.is_asked)
    }

    /// The rows on screen are those of another table from now on.
    pub(super) fn forget(&mut self) {
        self.sheet = None;
        self.slot.clear();
    }

    /// Shows the last row of `main` in its place.
    fn join(&mut self, main: &mut Sheet) {
        self.sheet = None;
        main.grid.scroll_to(main.table.rows().number().saturating_sub(1), None);
    }

    /// Looks for the rows that were asked for, once a frame; why they could not be read, once.
    pub(super) fn take(&mut self, jobs: &Jobs, main: &mut Sheet, name: &str) -> Option<Error> {
        if !self.is_asked {
            // Once everything is counted the end is where it belongs.
            if self.sheet.is_some() && main.table.rows().exact().is_some() {
                self.join(main);
            }
            return None;
        }
        let table = main.table.clone();
        let columns: Vec<usize> = (0..main.columns().min(COLUMNS)).collect();
        let shown = self.slot.get(jobs, &(), JobSpec::once(format!("the end of {name}")), move |task| {
            let (first, batch) = table.tail(task, ROWS, &columns)?;
            let table: Arc<dyn Table> = Arc::new(MemoryTable::new(batch));
            Ok((first, table))
        });
        let failed = match shown.answer()? {
            Ok(rows) => {
                let labels = rows.0.map_or(Labels::FromEnd, Labels::From);
                let mut sheet = Sheet::new(rows.1.clone(), name, labels);
                sheet.grid.scroll_to(sheet.table.rows().number().saturating_sub(1), None);
                sheet.grid.request_focus();
                self.sheet = Some(sheet);
                None
            }
            Err(error) => Some(error),
        };
        self.is_asked = false;
        self.slot.clear();
        failed
    }
}
