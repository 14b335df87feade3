//! The table as the grid asks for it: from the pages that are in memory.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::ops::Range;
use std::sync::Arc;

use gander::content::{Rows, Table};
use gander::jobs::Jobs;

use super::heads::Heads;
use super::pages::{self, Pages};
use crate::gui::grid::{Cell, CellKind, ColumnHead, Grid, GridModel, GridRows, Side, thousands};

/// A table on a grid: its rows in memory, and where it is scrolled to.
pub(super) struct Sheet {
    pub(super) table: Arc<dyn Table>,
    /// The same with the types that were inferred for texts.
    pub(super) values: Arc<dyn Table>,
    pub(super) pages: Pages,
    pub(super) heads: Heads,
    pub(super) grid: Grid,
    pub(super) labels: Labels,
    /// How each column looks.
    looks: Vec<(CellKind, Side)>,
    small: OnceCell<bool>,
    /// The file said how wide columns are.
    pub(super) widths_came: bool,
    /// What was last asked for.
    pub(super) seen: (Range<u64>, Vec<usize>),
}

/// Up to so many column chunks, what a file says of all its columns is gathered at once.
const LOOKED_UP: u64 = 4_096;

/// What stands before the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Labels {
    /// Their numbers from this one on.
    From(u64),
    /// How far they are from the end.
    FromEnd,
}

impl Sheet {
    pub(super) fn new(table: Arc<dyn Table>, name: &str, labels: Labels) -> Self {
        let looks = table.schema().fields().iter().map(|field| pages::look(field)).collect();
        let mut grid = Grid::new(name);
        grid.header_extra = super::heads::HEIGHT;
        Sheet {
            pages: Pages::new(table.clone(), name),
            heads: Heads::default(),
            grid,
            values: super::typed::typed(&table),
            table,
            labels,
            looks,
            small: OnceCell::new(),
            widths_came: false,
            seen: (0..0, Vec::new()),
        }
    }

    /// Whether the footer is small.
    fn is_small(&self) -> bool {
        *self.small.get_or_init(|| {
            let groups = self.table.facts().row_groups.unwrap_or(1);
            groups.saturating_mul(self.columns() as u64) <= LOOKED_UP
        })
    }

    /// Gathers what the file says of columns: of all where that is little, so that the widths of columns are
    /// settled before they come in sight.
    fn want_stored(&mut self, jobs: &Jobs, columns: &[usize]) {
        let all: Vec<usize>;
        let wanted = match self.is_small() {
            true => {
                all = (0..self.columns()).collect();
                all.as_slice()
            }
            false => columns,
        };
        let came = self.heads.want_stored(jobs, &self.table, wanted);
        self.widths_came |= came && self.is_small();
    }

    /// How wide a column should be, in characters: its integers in full where the file says how long
    /// they are.
    fn width(&self, column: usize) -> Option<f32> {
        let field = self.table.schema().fields().get(column)?;
        let likely = pages::likely_width(field);
        let stored = self.heads.stored(column).filter(|_| field.data_type().is_integer() && self.is_small());
        let ends = stored.iter().flat_map(|stored| [&stored.min, &stored.max]).flatten();
        Some(ends.map(|text| text.len() as f32 + 3.0).fold(likely, f32::max))
    }

    /// How many columns.
    pub(super) fn columns(&self) -> usize {
        self.looks.len()
    }

    /// The name of a column.
    pub(super) fn column_name(&self, column: usize) -> &str {
        self.table.schema().fields().get(column).map_or("", |field| field.name())
    }

    /// A cell, as far as it is in memory.
    pub(super) fn cell(&self, row: u64, column: usize) -> Cell<'_> {
        match self.looks.get(column) {
            Some((kind, _)) => self.pages.cell(row, column, kind),
            None => Cell::pending(),
        }
    }

    /// The number of a row as its label has it.
    pub(super) fn label(&self, row: u64) -> String {
        match self.labels {
            Labels::From(first) => thousands(first.saturating_add(row)),
            Labels::FromEnd => {
                let back = self.table.rows().number().saturating_sub(row);
                format!("end − {}", thousands(back))
            }
        }
    }
}

/// How sure the number of rows is, in the grid's words.
pub(super) fn rows(rows: Rows) -> GridRows {
    match rows {
        Rows::Exact(rows) => GridRows::Exact(rows),
        Rows::AtLeast(rows) => GridRows::AtLeast(rows),
        Rows::About { rows, known } => GridRows::About(rows.max(known)),
    }
}

/// A sheet while it is drawn.
pub(super) struct Model<'a> {
    pub(super) sheet: &'a mut Sheet,
    pub(super) jobs: &'a Jobs,
}

impl GridModel for Model<'_> {
    fn rows(&self) -> GridRows {
        rows(self.sheet.table.rows())
    }

    fn columns(&self) -> usize {
        self.sheet.columns()
    }

    fn column(&self, index: usize) -> ColumnHead<'_> {
        let schema = self.sheet.table.schema();
        let Some(field) = schema.fields().get(index) else { return ColumnHead::default() };
        let side = self.sheet.looks.get(index).map_or(Side::Left, |(_, side)| *side);
        ColumnHead {
            name: Cow::Borrowed(field.name()),
            type_text: Cow::Owned(short_type(&gander::display::column_type(field))),
            side,
            width: self.sheet.width(index),
            remark: None,
            sort: None,
        }
    }

    fn cell(&self, row: u64, column: usize) -> Cell<'_> {
        self.sheet.cell(row, column)
    }

    fn want(&mut self, rows: Range<u64>, columns: &[usize]) {
        let sheet = &mut *self.sheet;
        sheet.pages.want(self.jobs, rows.clone(), columns);
        sheet.want_stored(self.jobs, columns);
        // Pictures in the heads wait until the cells are there.
        if sheet.pages.pending().is_none() {
            sheet.heads.want(self.jobs, &sheet.values, columns);
        }
        sheet.seen = (rows, columns.to_vec());
    }

    fn row_label(&self, row: u64) -> Cow<'_, str> {
        Cow::Owned(self.sheet.label(row))
    }

    fn header_ui(&mut self, ui: &mut egui::Ui, column: usize) {
        let stored = self.sheet.heads.stored(column).and_then(|stored| stored.nulls);
        let share = match (stored, self.sheet.table.rows().exact()) {
            (Some(nulls), Some(rows)) if rows > 0 => Some(nulls as f64 / rows as f64),
            _ => None,
        };
        self.sheet.heads.ui(ui, column, share);
    }
}

/// A type for the head of a column: dictionaries by their values, long ones cut.
fn short_type(text: &str) -> String {
    let text = match text.strip_prefix("dictionary<values=").and_then(|rest| rest.split_once(", indices")) {
        Some((values, _)) => format!("dict<{values}>"),
        None => text.to_owned(),
    };
    let mut characters = text.chars();
    let mut short: String = characters.by_ref().take(28).collect();
    if characters.next().is_some() {
        short.push('…');
    }
    short
}
