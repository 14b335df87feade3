//! The first rows of a file as other options would read it, while these are chosen.

use std::sync::Arc;

use egui::{Grid, Label, RichText, ScrollArea, Ui};
use gander::bytes::display::{plural, short_arrow_type};
use gander::bytes::error::{Error, Result};
use gander::bytes::task::Task;
use gander::data::cell;
use gander::data::content::Content;
use gander::data::format::Options;
use gander::jobs::{JobSpec, Jobs, Slot};

use crate::gui::target::Target;
use crate::gui::theme::{self, Theme, space};

/// Rows and columns that are shown, and characters of a cell.
const ROWS: u64 = 5;
const COLUMNS: usize = 24;
const CELL: usize = 24;

/// What other options give, made by a job.
#[derive(Default)]
pub(super) struct Preview {
    slot: Slot<(usize, Options), First>,
    last: Option<Arc<First>>,
}

/// The beginning of a table.
struct First {
    /// Names and types.
    heads: Vec<(String, String)>,
    rows: Vec<Vec<Option<String>>>,
    more_columns: usize,
    remarks: Vec<String>,
}

impl First {
    fn read(task: &Task, target: &Target, options: &Options) -> Result<First> {
        let source = &target.document.source;
        let document = gander::formats::open_source(task, source, options)?;
        let node = document.root.find(task, &target.path)?.map(|node| node.resolved(task)).transpose()?;
        let node = node.ok_or_else(|| Error::unsupported("the table is not there any more"))?;
        if let Some(problem) = node.problem_now() {
            return Err(problem);
        }
        let Some(Content::Table(table)) = &node.content else {
            return Err(Error::unsupported("read like this it is no table"));
        };
        let count = table.schema().fields().len();
        let columns: Vec<usize> = (0..count.min(COLUMNS)).collect();
        let read = table.read(task, 0..ROWS, &columns)?;
        let head = |column: &usize| {
            let name = table.schema().field(*column).name().clone();
            (name, short_arrow_type(table.column_type(*column), 40))
        };
        let row = |row| read.columns().iter().map(|array| cell::shown(array.as_ref(), row)).collect();
        Ok(First {
            heads: columns.iter().map(head).collect(),
            rows: (0..read.num_rows()).map(row).collect(),
            more_columns: count - columns.len(),
            remarks: node.remarks_now(),
        })
    }
}

impl Preview {
    /// Draws the first rows; those of the options before until they are there.
    pub(super) fn ui(&mut self, ui: &mut Ui, jobs: &Jobs, target: &Target, own: &Options) {
        let theme = Theme::of(ui);
        let options = target.with_options(own.clone());
        let key = (Arc::as_ptr(&target.document) as usize, options.clone());
        let of = target.clone();
        let shown = self
            .slot
            .get(jobs, &key, JobSpec::view("a preview"), move |task| First::read(task, &of, &options));
        if let Some(error) = &shown.error {
            ui.add(Label::new(RichText::new(error.message()).color(theme.bad)).wrap());
            return;
        }
        let fresh = shown.ready();
        let is_old = fresh.is_none();
        self.last = fresh.or(self.last.take());
        let Some(first) = &self.last else {
            ui.label(theme::dim(theme, "reading the first rows…"));
            return;
        };
        ScrollArea::horizontal().id_salt("preview").show(ui, |ui| {
            if is_old {
                ui.set_opacity(0.6);
            }
            rows(ui, first);
        });
        for remark in &first.remarks {
            ui.add(Label::new(theme::dim(theme, remark.as_str())).truncate());
        }
    }
}

fn rows(ui: &mut Ui, first: &First) {
    let theme = Theme::of(ui);
    let short = |text: &str| -> String {
        let mut short: String =
            text.chars().take(CELL).map(|c| if c.is_control() { ' ' } else { c }).collect();
        if text.chars().nth(CELL).is_some() {
            short.push('…');
        }
        short
    };
    Grid::new("preview").striped(true).spacing([space::S3, 2.0]).show(ui, |ui| {
        for (name, _) in &first.heads {
            ui.label(short(name));
        }
        if first.more_columns > 0 {
            ui.label(theme::dim(theme, format!("and {}", plural(first.more_columns as u64, "column"))));
        }
        ui.end_row();
        for (_, kind) in &first.heads {
            ui.label(theme::mono(kind.as_str()).color(theme.dim));
        }
        ui.end_row();
        for row in &first.rows {
            for cell in row {
                match cell {
                    Some(text) => ui.label(theme::mono(short(text))),
                    None => ui.label(RichText::new("null").font(theme::italic_font()).color(theme.null)),
                };
            }
            ui.end_row();
        }
    });
}
