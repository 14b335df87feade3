//! A filter and a sort as the SQL that they are: shown below the chips, edited there, copied.

use std::sync::Arc;

use egui::{Align, Frame, Key, Layout, Modifiers, Rect, ScrollArea, TextEdit, Ui, UiBuilder, pos2, vec2};
use gander::data::content::Table;
use gander::data::open::Document;
use gander::jobs::Jobs;
use gander::query::pivot::typed;
use gander::query::{Clauses, Filter, Sort, SqlDiagnostic, clauses, column_names};

use super::{RowFilter, engine};
use crate::gui::commands::Action;
use crate::gui::icons::Icon;
use crate::gui::theme::{self, Theme, mono_font, size, space};
use crate::gui::views::sql::{Called, code};
use crate::gui::views::{QueryStart, Target};

/// The height of a line of SQL, and the most that all of it takes.
const LINE: f32 = 17.0;
const MOST: f32 = 240.0;
/// The width of the buttons beside it.
const BUTTONS: f32 = 76.0;

/// The table that is asked, and how statements call it.
#[derive(Clone, Copy)]
pub(in super::super) struct About<'a> {
    pub(in super::super) jobs: &'a Jobs,
    /// The documents that are open.
    pub(in super::super) documents: &'a [Arc<Document>],
    pub(in super::super) target: Option<&'a Target>,
    pub(in super::super) table: &'a Arc<dyn Table>,
    pub(in super::super) called: &'a Called,
    /// What stands behind FROM where the table is no node's.
    pub(in super::super) given: Option<&'a str>,
    /// Whether keys mean this view.
    pub(in super::super) keyed: bool,
}

impl About<'_> {
    /// The statement with these clauses, as it can be run elsewhere.
    pub(in super::super) fn statement(&self, clauses: &str) -> String {
        let line = if clauses.is_empty() { "" } else { "\n" };
        format!("{}{line}{clauses}", self.head())
    }

    fn head(&self) -> String {
        let given = self.given.map(str::to_owned);
        let from =
            given.or_else(|| self.called.from(self.jobs, self.documents, self.target, self.table.as_ref()));
        format!("SELECT *\nFROM {}", from.as_deref().unwrap_or("…"))
    }
}

/// The text while it is edited.
#[derive(Default)]
pub(super) struct Sql {
    pub(super) open: bool,
    text: String,
    /// What it was written for, and the table's place in memory.
    of: Option<(Filter, Vec<Sort>, usize)>,
    /// What was written for it.
    written: String,
    /// What cannot be read in it.
    pub(super) mistake: Option<SqlDiagnostic>,
}

impl RowFilter {
    /// WHERE and ORDER BY of what is asked of a table.
    pub(in super::super) fn clauses(&self, table: &Arc<dyn Table>) -> String {
        clauses(&self.query.filter, &self.query.sort, &typed(&engine(), table))
    }

    /// Draws the SQL at the top of `area`, where it is wanted; what is left of it.
    pub(super) fn sql_ui(
        &mut self,
        ui: &mut Ui,
        area: Rect,
        about: About<'_>,
        actions: &mut Vec<Action>,
    ) -> Rect {
        if !self.sql.open {
            return area;
        }
        self.write(about.table);
        let theme = Theme::of(ui);
        let head = about.head();
        let lines = head.lines().count() + self.sql.text.split('\n').count().max(2);
        let high = (lines as f32 * LINE + 2.0 * space::S2).min(area.height() * 0.5).min(MOST);
        let place = Rect::from_min_size(area.min, vec2(area.width(), high));
        ui.painter().rect_filled(place, 0.0, theme.bg2);
        ui.painter().hline(place.x_range(), place.bottom() - 0.5, theme.hairline());
        let inner = place.shrink2(vec2(space::S3, space::S2));
        let edge = inner.right() - BUTTONS;
        let left = Rect::from_min_max(inner.min, pos2(edge - space::S2, inner.bottom()));
        let mut child = ui.new_child(UiBuilder::new().max_rect(left).id_salt("row_filter-sql"));
        child.shrink_clip_rect(place);
        let mut apply = self.text_ui(&mut child, &head);
        let right = Rect::from_min_max(pos2(edge, inner.top()), inner.max);
        let layout = Layout::top_down(Align::Max);
        let mut child =
            ui.new_child(UiBuilder::new().max_rect(right).id_salt("row_filter-sql-done").layout(layout));
        apply |= theme::primary_button(&mut child, "Apply").on_hover_text("Ctrl+Enter").clicked();
        let row = vec2(right.width(), size::CONTROL);
        child.allocate_ui_with_layout(row, Layout::right_to_left(Align::Center), |ui| {
            if theme::icon_button(ui, Icon::Database, "Open this in a SQL tab").clicked() {
                let statement = about.statement(&self.sql.text);
                actions.push(Action::Query(QueryStart::Statement(statement)));
            }
            if theme::icon_button(ui, Icon::Copy, "Copy the SQL of the rows").clicked() {
                actions.push(Action::Copy(about.statement(&self.sql.text)));
            }
        });
        if apply {
            self.apply(about.table);
        }
        Rect::from_min_max(pos2(area.left(), place.bottom()), area.max)
    }

    /// The statement, its clauses in a field; whether they are to hold.
    fn text_ui(&mut self, ui: &mut Ui, head: &str) -> bool {
        let theme = Theme::of(ui);
        let id = ui.make_persistent_id("clauses");
        let focused = ui.memory(|memory| memory.has_focus(id));
        let apply = focused && ui.input_mut(|input| input.consume_key(Modifiers::COMMAND, Key::Enter));
        // Places are those of what was written for the filter.
        let same = self.sql.text == self.sql.written;
        let mistake = self.sql.mistake.as_ref().or(self.mistake.as_ref().filter(|_| same));
        let wrong = mistake.and_then(|mistake| mistake.place.as_ref()).map(|place| place.bytes.clone());
        let wrong = wrong.filter(|range| self.sql.text.get(range.clone()).is_some());
        let mut layouter = |ui: &Ui, text: &dyn egui::TextBuffer, width: f32| {
            let job = code::highlighted(text.as_str(), Theme::of(ui), wrong.clone(), width);
            ui.fonts_mut(|fonts| fonts.layout_job(job))
        };
        ScrollArea::vertical().id_salt("clauses").auto_shrink(false).show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 0.0;
            ui.add(egui::Label::new(theme::mono(head).color(theme.dim)).selectable(true));
            let field = TextEdit::multiline(&mut self.sql.text)
                .id(id)
                .font(mono_font())
                .code_editor()
                .frame(Frame::NONE)
                .hint_text("WHERE with a condition, ORDER BY with columns")
                .desired_rows(2)
                .desired_width(f32::INFINITY)
                .layouter(&mut layouter);
            let field = ui.add(field);
            field.widget_info(|| {
                egui::WidgetInfo::labeled(egui::Role::MultilineTextInput, true, "WHERE and ORDER BY")
            });
            if field.changed() {
                self.sql.mistake = None;
            }
        });
        apply
    }

    /// Writes the clauses anew where something else is asked.
    fn write(&mut self, table: &Arc<dyn Table>) {
        let place = Arc::as_ptr(table).cast::<()>() as usize;
        let now = (&self.query.filter, &self.query.sort, place);
        if self.sql.of.as_ref().is_some_and(|(filter, sort, of)| (filter, sort, *of) == now) {
            return;
        }
        self.sql.of = Some((self.query.filter.clone(), self.query.sort.clone(), place));
        self.sql.text = self.clauses(table);
        self.sql.written.clone_from(&self.sql.text);
        self.sql.mistake = None;
    }

    /// Asks for what is written. The chips stay where the condition is theirs.
    fn apply(&mut self, table: &Arc<dyn Table>) {
        let found = match Clauses::parse(&self.sql.text, &column_names(table.schema())) {
            Ok(found) => found,
            Err(mistake) => {
                self.sql.mistake = Some(mistake);
                return;
            }
        };
        let own = self.query.filter.sql(&typed(&engine(), table)).unwrap_or_default();
        if own.trim() != found.condition {
            self.query.filter = Filter { conditions: Vec::new(), expression: found.condition };
            self.typed.clone_from(&self.query.filter.expression);
        }
        self.query.sort = found.sort;
        self.query.again += 1;
        (self.mistake, self.sql.mistake) = (None, None);
    }

    /// What is wrong with what was written.
    pub(super) fn wrong(&self) -> Option<&SqlDiagnostic> {
        self.sql.mistake.as_ref().filter(|_| self.sql.open).or(self.mistake.as_ref())
    }
}

/// How high a mistake's line with its carets is.
pub(super) const CONTEXT: f32 = 2.0 * size::TEXT_SMALL + 10.0;

/// The line of a mistake with carets below its place, of a long one the part around it.
pub(super) fn context(mistake: &SqlDiagnostic) -> Option<String> {
    let place = mistake.place.as_ref()?;
    let skipped = place.column.saturating_sub(60);
    let cut = |line: &str| -> String { line.chars().skip(skipped).take(120).collect() };
    let mut lines = mistake.context.lines();
    Some(format!("{}\n{}", cut(lines.next()?), cut(lines.next()?)))
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, Int64Array, RecordBatch};
    use gander::data::content::table::MemoryTable;
    use gander::query::{Condition, Order, Test};

    use super::*;

    #[test]
    fn what_is_edited_holds_and_chips_stay_where_they_are_meant() {
        let column: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
        let batch = RecordBatch::try_from_iter([("n", column)]).unwrap();
        let table: Arc<dyn Table> = Arc::new(MemoryTable::new(batch));
        let mut row_filter = RowFilter::default();
        row_filter.add(Condition::new("n", Test::Equals("2".into())));
        row_filter.write(&table);
        assert_eq!(row_filter.sql.text, "WHERE n = 2");
        row_filter.sql.text += "\nORDER BY N DESC";
        row_filter.apply(&table);
        assert_eq!(
            (row_filter.filter().conditions.len(), row_filter.query.sort.clone()),
            (1, vec![Sort::by("n", Order::Descending)])
        );
        row_filter.write(&table);
        assert_eq!(row_filter.sql.text, "WHERE n = 2\nORDER BY n DESC");
        row_filter.sql.text = "WHERE n > 1 OR n IS NULL".to_owned();
        row_filter.apply(&table);
        let filter = row_filter.filter();
        assert_eq!((filter.conditions.len(), filter.expression.as_str()), (0, "n > 1 OR n IS NULL"));
        assert!(row_filter.query.sort.is_empty());
        row_filter.write(&table);
        row_filter.sql.text = "n > 1".to_owned();
        row_filter.apply(&table);
        row_filter.sql.open = true;
        assert_eq!(
            row_filter.wrong().and_then(|mistake| mistake.place.clone()).map(|place| place.column),
            Some(1)
        );
        assert_eq!(context(row_filter.wrong().unwrap()).as_deref(), Some("n > 1\n^"));
    }
}
