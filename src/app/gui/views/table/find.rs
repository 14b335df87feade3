//! Finding a text in the cells of a table: how many rows have it, and the way from one to the next.

use std::sync::Arc;
use std::time::Duration;

use egui::{Key, Modifiers, Rect, Ui, UiBuilder, pos2, vec2};
use gander::cell;
use gander::content::Table;
use gander::error::{Error, Result};
use gander::jobs::{Jobs, Slot};
use gander::query::{Failure, Filtered, containing, filtered};
use gander::task::Task;

use super::sieve::engine;
use crate::gui::grid::{CellAt, thousands};
use crate::gui::icons::Icon;
use crate::gui::theme::{self, Theme, size, space};

/// What is looked for, and in which table (by its place in memory).
#[derive(Clone, Debug, PartialEq)]
struct Wish {
    text: String,
    table: usize,
}

/// A way to another match: from which row, and whether forwards.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Step {
    from: u64,
    forward: bool,
    /// The row itself counts.
    here: bool,
}

/// A match: which one it is, and its cell.
type Met = Option<(u64, CellAt)>;

/// The find bar of a table view.
#[derive(Default)]
pub(super) struct Find {
    open: bool,
    focus: bool,
    text: String,
    slot: Slot<Wish, Filtered>,
    found: Option<(Wish, Arc<Filtered>)>,
    error: Option<Error>,
    step: Option<Step>,
    steps: Slot<Step, Met>,
    at: Option<u64>,
}

impl Find {
    /// Opens the bar, or puts the cursor into it.
    pub(super) fn open(&mut self) {
        (self.open, self.focus) = (true, true);
    }

    /// Closes it; whether it was open.
    pub(super) fn close(&mut self) -> bool {
        let was = std::mem::take(&mut self.open);
        self.found = None;
        self.slot.cancel();
        self.slot.clear();
        was
    }

    /// Draws the bar at the top of `area`; what is left of it, and the cell to go to.
    pub(super) fn ui(
        &mut self,
        ui: &mut Ui,
        area: Rect,
        jobs: &Jobs,
        table: &Arc<dyn Table>,
        cursor: Option<CellAt>,
    ) -> (Rect, Option<CellAt>) {
        if !self.open {
            return (area, None);
        }
        let bar = Rect::from_min_size(area.min, vec2(area.width(), size::BAR.min(area.height())));
        let theme = Theme::of(ui);
        ui.painter().rect_filled(bar, 0.0, theme.bg1);
        ui.painter().hline(bar.x_range(), bar.bottom() - 0.5, theme.hairline());
        let builder = UiBuilder::new()
            .max_rect(bar.shrink2(vec2(space::S2, 2.0)))
            .id_salt("find")
            .layout(egui::Layout::left_to_right(egui::Align::Center));
        let mut child = ui.new_child(builder);
        let wanted = self.field(&mut child, cursor);
        self.ask(jobs, table);
        let go = self.take_step(jobs, table);
        if let Some(step) = wanted {
            self.step = Some(step);
            self.steps.clear();
        }
        self.words(&mut child);
        if theme::icon_button(&mut child, Icon::Close, "Close (Esc)").clicked() {
            self.close();
        }
        (Rect::from_min_max(pos2(area.left(), bar.bottom()), area.max), go)
    }

    /// The field and its arrows; the step that is asked for.
    fn field(&mut self, ui: &mut Ui, cursor: Option<CellAt>) -> Option<Step> {
        let row = cursor.map_or(0, |cell| cell.row);
        let mut step = None;
        ui.label(theme::icon(Icon::Search).color(Theme::of(ui).dim));
        let field =
            egui::TextEdit::singleline(&mut self.text).hint_text("Find in all cells").desired_width(240.0);
        let field = ui.add(field.margin(egui::Margin::symmetric(8, 5)));
        field.widget_info(|| egui::WidgetInfo::labeled(egui::Role::TextInput, true, "Find in all cells"));
        if std::mem::take(&mut self.focus) {
            field.request_focus();
        }
        if field.changed() {
            self.at = None;
            step = Some(Step { from: row, forward: true, here: true });
        }
        let entered = field.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter));
        let back = ui.input(|input| input.modifiers.shift);
        let pressed = |key, modifiers| ui.input_mut(|input| input.consume_key(modifiers, key));
        // Those with Shift are asked first: the shorter one fits too.
        let previous = entered && back || pressed(Key::F3, Modifiers::SHIFT);
        let next = entered && !back || pressed(Key::F3, Modifiers::NONE);
        if entered {
            field.request_focus();
        }
        if theme::icon_button(ui, Icon::ArrowUp, "Previous match (Shift+F3)").clicked() || previous {
            step = Some(Step { from: row, forward: false, here: false });
        }
        if theme::icon_button(ui, Icon::ArrowDown, "Next match (F3)").clicked() || next {
            step = Some(Step { from: row, forward: true, here: false });
        }
        step
    }

    /// Asks for the rows that have the text.
    fn ask(&mut self, jobs: &Jobs, table: &Arc<dyn Table>) {
        let wish = Wish { text: self.text.clone(), table: Arc::as_ptr(table).cast::<()>() as usize };
        if wish.text.is_empty() {
            self.found = None;
            return;
        }
        if self.found.as_ref().is_some_and(|(known, rows)| *known == wish && !rows.again()) {
            return;
        }
        if self.found.take().is_some_and(|(known, _)| known == wish) {
            self.slot.clear();
        }
        let (source, text) = (table.clone(), wish.text.clone());
        let shown = self.slot.get(jobs, &wish, &format!("finding {text:?}"), move |task| {
            filtered(&engine(), task, &source, &containing(source.as_ref(), &text), &[]).map_err(|failure| {
                match failure {
                    Failure::Run(error) => error,
                    Failure::Sql(mistake) => Error::bug(format!("a search is no query: {mistake}")),
                }
            })
        });
        self.error = shown.error;
        self.found = shown.value.filter(|_| shown.fresh).map(|rows| (wish, rows));
    }

    /// Looks for the match that was asked for; the cell, when it is there.
    fn take_step(&mut self, jobs: &Jobs, table: &Arc<dyn Table>) -> Option<CellAt> {
        let step = self.step?;
        let (wish, rows) = self.found.as_ref()?;
        // The first match is there once there is a row, or once all were looked at.
        if rows.rows().number() == 0 && rows.answer().ended().is_none() {
            return None;
        }
        let (source, rows, text) = (table.clone(), rows.clone(), wish.text.to_lowercase());
        let shown = self
            .steps
            .get(jobs, &step, "the next match", move |task| meet(task, &rows, source.as_ref(), &text, step));
        let met = match (shown.value.filter(|_| shown.fresh), shown.error) {
            (Some(met), _) => *met,
            (None, Some(_)) => None,
            (None, None) => return None,
        };
        self.step = None;
        self.steps.clear();
        let (at, cell) = met?;
        self.at = Some(at);
        Some(cell)
    }

    fn words(&self, ui: &mut Ui) {
        let theme = Theme::of(ui);
        if let Some(error) = &self.error {
            ui.label(egui::RichText::new(error.message()).color(theme.bad));
            return;
        }
        let Some((_, rows)) = &self.found else { return };
        let count = rows.rows().number();
        let place = self.at.map_or(String::new(), |at| format!("{} of ", thousands(at + 1)));
        match rows.answer().ended() {
            Some(Ok(())) if count == 0 => drop(ui.label(theme::dim(theme, "no match"))),
            Some(Ok(())) => {
                let noun = if count == 1 { "row" } else { "rows" };
                ui.label(theme::mono(format!("{place}{} {noun}", thousands(count))).color(theme.good));
            }
            Some(Err(error)) => drop(ui.label(egui::RichText::new(error.message()).color(theme.bad))),
            None => {
                ui.label(theme::mono(format!("{place}≥ {} rows", thousands(count))).color(theme.warn));
                ui.ctx().request_repaint_after(Duration::from_millis(100));
            }
        }
    }
}

/// The match next to a row: its number among the matches, and its cell. Behind the last one comes the first.
fn meet(task: &Task, rows: &Filtered, table: &dyn Table, text: &str, step: Step) -> Result<Met> {
    let count = rows.rows().number();
    if count == 0 {
        return Ok(None);
    }
    let row_of = |at: u64| -> Result<u64> {
        let found = rows.numbers(task, at..at + 1)?;
        found.first().copied().ok_or_else(|| Error::bug("a match without a row"))
    };
    // The first match at or behind the row.
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        let before = row_of(middle)? < step.from;
        if before { low = middle + 1 } else { high = middle }
    }
    let exact = low < count && row_of(low)? == step.from;
    let at = match (step.forward, exact && !step.here) {
        (true, true) => (low + 1) % count,
        (true, false) => low % count,
        (false, _) => (low + count - 1) % count,
    };
    let row = row_of(at)?;
    let all: Vec<usize> = (0..table.schema().fields().len()).collect();
    let read = table.read(task, row..row + 1, &all)?;
    let has = |column: &usize| {
        let cell = read
            .columns()
            .get(*column)
            .filter(|array| !array.is_empty())
            .and_then(|a| cell::text(a.as_ref(), 0));
        cell.is_some_and(|cell| cell.to_lowercase().contains(text))
    };
    let column = all.iter().copied().find(has).unwrap_or(0);
    Ok(Some((at, CellAt { row, column })))
}
