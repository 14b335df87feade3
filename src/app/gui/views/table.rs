//! The view of a table: its rows on the grid, or one of them as a form; the value under the cursor in
//! full; the end before all rows are counted; copies and sums of what is selected.

mod bar;
mod column_search;
mod column_summaries;
mod end;
mod find;
mod go;
mod inspect;
mod media;
mod model;
mod pages;
mod parts;
mod pending_table;
mod pivot;
mod preview;
mod record;
mod repeat;
pub(crate) mod row_filter;
pub(crate) mod selection_statistics;
mod summary;
#[cfg(test)]
mod tests;
mod value;
mod versions;

use std::sync::Arc;
use std::time::{Duration, Instant};

use egui::{Key, Modifiers, Rect, Ui, UiBuilder, pos2, vec2};
use gander::bytes::display;
use gander::convert::copy::{self, Copied, CopyRequest};
use gander::data::content::{Content, Table};
use gander::data::format::Data;
use gander::data::node::Node;
use gander::jobs::{JobSpec, Jobs, Slot};
use gander::query::pivot::Pivot;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Request, Subject, Target, View, ViewCommand, ViewCx, gallery, labels, restored, run, saved, sql,
};
use crate::gui::commands::{ALT, Action, Label};
use crate::gui::grid::{self, CellAt, ColumnPosition, GridRows, Layout, Selection, SelectionKind};
use crate::gui::icons::Icon;
use crate::gui::number_format::NumberFormat;
use crate::gui::settings::{Preferences, TableStart};
use crate::gui::target::{BytesOf, Repeat, StoredValue};
use crate::gui::theme::{self, Theme, size, space};
use crate::gui::ui::RowPosition;
use bar::Bar;
use end::End;
use find::{Find, Place};
use inspect::Inspect;
use model::{Labels, Model, Sheet};
use pending_table::PendingTable;
use record::Record;
use row_filter::{About, Change, Numbers, RowFilter, RowFilterState};
use selection_statistics::SelectionStatistics;

/// The view of `table`, the content of `target`.
pub(crate) fn make(target: &Target, table: &Arc<dyn Table>) -> Box<dyn View> {
    let mut view = TableView::new(target.title(), table.clone());
    view.versions = versions::Bar::of(target);
    Box::new(view)
}

/// How the rows are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Mode {
    /// Many rows on a grid.
    #[default]
    Table,
    /// Many rows as pictures.
    Gallery,
    /// One row as a form.
    Record,
    /// A line for each column.
    Summary,
    /// Groups of rows.
    Pivot,
}

/// Files up to this size are counted without being asked.
const COUNTED: u64 = 8 << 30;
/// What ends sooner than this is not talked about.
const PATIENCE: Duration = Duration::from_millis(300);

/// How often rows that come one by one are looked for.
const LOOK: Duration = Duration::from_millis(50);

/// The state of the view.
pub(super) struct TableView {
    name: String,
    mode: Mode,
    /// The table as it is; the main sheet shows it, or the rows of it that the filter lets through.
    base: Arc<dyn Table>,
    /// The same for what is on screen, while another version is on its way.
    shown_base: Arc<dyn Table>,
    row_filter: RowFilter,
    /// How statements call the table, or what stands there instead of a name.
    called: sql::Called,
    given: Option<String>,
    find: Find,
    summary: summary::Page,
    pivot: pivot::Page,
    main: Sheet,
    /// What the main sheet will be, as soon as its rows are there.
    next: Option<PendingTable>,
    /// The states that the table had, where its format keeps them.
    versions: Option<versions::Bar>,
    /// The version whose rows come next, and its node.
    pending_version: Option<(usize, Arc<Node>)>,
    /// The node that is shown now instead of the tab's.
    stepped: Option<(String, Arc<Node>)>,
    /// The last rows, while not all are counted.
    end: End,
    /// The counting of the rows.
    count: Slot<(), u64>,
    inspect: Inspect,
    record: Record,
    gallery: gallery::Page,
    /// A cell whose payload is to be opened.
    opened: Option<media::OpenedCell>,
    /// A cell whose value is to be filtered by: column and row.
    class: Option<(usize, u64)>,
    /// A row of the whole table that is looked for among those that a filter let through.
    seek: go::Seek,
    sums: SelectionStatistics,
    /// The columns in their order, and of which arrangement; the same for those that are selected.
    standing: Option<((u64, usize), Arc<Vec<usize>>)>,
    selected: Option<(u64, Selection, Arc<Vec<usize>>)>,
    copying: Option<(CopyRequest, Slot<(), Copied>)>,
    bar: Bar,
    started: bool,
    /// It stands where it was left; rows that a filter lets through are to stand there too.
    restored: bool,
}

impl TableView {
    pub(super) fn new(name: &str, table: Arc<dyn Table>) -> Self {
        TableView {
            name: name.to_owned(),
            mode: Mode::Table,
            base: table.clone(),
            shown_base: table.clone(),
            row_filter: RowFilter::default(),
            called: sql::Called::default(),
            given: None,
            find: Find::default(),
            summary: summary::Page::default(),
            pivot: pivot::Page::default(),
            main: Sheet::new(table, name, Labels::From(0)),
            next: None,
            versions: None,
            pending_version: None,
            stepped: None,
            end: End::default(),
            count: Slot::default(),
            inspect: Inspect::default(),
            record: Record::default(),
            gallery: gallery::Page::default(),
            opened: None,
            class: None,
            seek: go::Seek::default(),
            sums: SelectionStatistics::default(),
            standing: None,
            selected: None,
            copying: None,
            bar: Bar::default(),
            started: false,
            restored: false,
        }
    }

    /// What is on screen: the table, or its end.
    fn sheet(&self) -> &Sheet {
        self.end.sheet().unwrap_or(&self.main)
    }

    fn sheet_mut(&mut self) -> &mut Sheet {
        self.end.sheet_mut().unwrap_or(&mut self.main)
    }

    fn rows(&self) -> GridRows {
        model::rows(self.main.table.rows())
    }

    /// The keyboard goes to the grid where the tab has it; once, rows that are not counted are.
    fn start(&mut self, cx: &ViewCx<'_>) {
        if cx.focus {
            self.sheet_mut().grid.request_focus();
        }
        if std::mem::replace(&mut self.started, true) {
            return;
        }
        let bytes = cx.target.and_then(|target| target.document.source.known_len());
        let near = bytes.is_none_or(|bytes| bytes <= COUNTED);
        if self.main.table.rows().exact().is_none() && near {
            self.start_count(cx.jobs);
        }
    }

    /// Counts in the background, unless it does so already.
    fn start_count(&self, jobs: &Jobs) {
        let table = self.main.table.clone();
        let title = format!("counting rows of {}", self.name);
        self.count.get(jobs, &(), JobSpec::scan(title), move |task| table.count(task));
    }

    /// Shows the last rows: at once where all are counted, else the end of the file.
    fn go_to_end(&mut self) {
        self.end.go_to(&mut self.main);
        self.main.grid.request_focus();
    }

    /// Shows other rows as soon as they are there, with the columns as they stand.
    fn change(&mut self, change: Change) {
        let mut sheet = match change {
            Change::Whole => Sheet::new(self.base.clone(), &self.name, Labels::From(0)),
            Change::Rows(rows) => {
                let mut sheet = Sheet::new(rows.clone(), &self.name, Labels::From(0));
                sheet.numbers = Some(Numbers::new(rows));
                sheet.whole = self.base.rows().number();
                sheet
            }
        };
        let waiting = self.next.take().and_then(|next| next.turned);
        let turned = self.pending_version.take().or(waiting);
        let stays = turned.is_some() || std::mem::take(&mut self.restored);
        let old = &self.main.grid;
        let widths = if turned.is_some() { old.widths() } else { Vec::new() };
        sheet.follow(&self.main, turned.is_none());
        if turned.is_none() {
            // The same columns: nothing moves because other rows are shown.
            sheet.grid.keep_widths(old.widths());
        }
        let schemas = (self.main.table.schema(), sheet.table.schema());
        let layout = pending_table::carried(old.layout(), &widths, schemas.0, schemas.1);
        sheet.grid.set_layout(layout);
        // Another version is looked at where the old one was; what a filter gives, from its beginning.
        let top = if stays { old.row_position() } else { RowPosition::default() };
        sheet.grid.set_position(top, old.column_position());
        let rows = sheet.table.rows().number();
        let fits = |place: &crate::gui::grid::Selection| place.anchor.row.max(place.cursor.row) < rows;
        if turned.is_some() && schemas.0.fields().len() == schemas.1.fields().len() {
            sheet.grid.select(old.selection().filter(fits));
        } else if stays {
            sheet.grid.select(old.selection());
        }
        self.next = Some(PendingTable::new(sheet, turned));
    }

    /// Puts the rows on screen that were asked for, once they can be drawn.
    fn take_next(&mut self, ui: &Ui, cx: &ViewCx<'_>) {
        let Some(next) = &mut self.next else { return };
        if !next.ready(cx.jobs, &self.main) {
            // Rows that come one by one and pictures that are late wake nobody.
            ui.ctx().request_repaint_after(LOOK);
            return;
        }
        let Some(mut next) = self.next.take() else { return };
        next.sheet.grid.header_extra = self.main.grid.header_extra;
        next.sheet.totals = self.main.totals.take();
        self.main = next.sheet;
        if next.turned.is_some() {
            self.shown_base = self.base.clone();
        }
        self.end.forget();
        self.sums = SelectionStatistics::default();
        self.inspect.forget();
        self.gallery.forget();
        if let (Some((n, node)), Some(versions)) = (next.turned, &mut self.versions) {
            self.stepped = Some((versions.showing(n), node));
        }
    }

    fn show_as(&mut self, mode: Mode) -> bool {
        self.mode = mode;
        true
    }

    /// Goes to an earlier (negative) or later version; false where the format keeps none.
    fn step_version(&mut self, by: i64) -> bool {
        self.versions.as_mut().is_some_and(|versions| versions.step(by))
    }

    /// Asks for the version where the slider stands.
    fn take_version(&mut self, cx: &ViewCx<'_>) {
        let (Some(versions), Some(target)) = (&mut self.versions, cx.target) else { return };
        if let Some((n, node)) = versions.take(cx.jobs, target)
            && let Some(Content::Table(table)) = &node.content
        {
            self.base = table.clone();
            self.pending_version = Some((n, node.clone()));
            if self.row_filter.is_on() { self.row_filter.anew() } else { self.change(Change::Whole) }
        }
        // A column that the version does not have cannot be asked for; its rows can be shown.
        if self.pending_version.is_some() && self.row_filter.gives_up() {
            self.change(Change::Whole);
        }
    }

    /// Shows the last rows that were asked for, as soon as they are there.
    fn take_end(&mut self, cx: &mut ViewCx<'_>) {
        if let Some(error) = self.end.take(cx.jobs, &mut self.main, &self.name) {
            cx.actions.push(Action::Notice(format!("The end could not be read: {}", error.message())));
        }
    }

    fn leave_end(&mut self) {
        self.end.leave();
        self.main.grid.request_focus();
    }

    /// Copies by a job, and puts the text on the clipboard when it is there.
    fn take_copy(&mut self, cx: &mut ViewCx<'_>) {
        let Some((request, slot)) = &self.copying else { return };
        let table = self.sheet().table.clone();
        let (wanted, title) = (request.clone(), format!("copying from {}", self.name));
        let shown =
            slot.get(cx.jobs, &(), JobSpec::once(title), move |task| copy::table(&table, task, &wanted));
        match (shown.ready(), shown.error) {
            (Some(copied), _) => {
                cx.actions.push(Action::Copy(copied.text.clone()));
                if copied.unfit > 0 {
                    let cells = display::plural(copied.unfit, "cell");
                    let words = "not of the type of its column, null in the copy";
                    cx.actions.push(Action::Notice(format!("{cells} {words}")));
                }
            }
            (None, Some(error)) => cx.actions.push(Action::Notice(error.message())),
            (None, None) => return,
        }
        self.copying = None;
    }

    fn grid_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        self.want_cell_pictures(ui, cx);
        let place = ui.available_rect_before_wrap();
        let mut child = ui.new_child(UiBuilder::new().max_rect(place).id_salt("sheet"));
        let sheet = self.end.sheet_mut().unwrap_or(&mut self.main);
        let mut grid = std::mem::take(&mut sheet.grid);
        let (mut opened, mut bytes) = (None, None);
        let wanted = self.find.wanted();
        sheet.usual_format = cx.workspace.preferences.numbers;
        let mut model = Model {
            sheet,
            jobs: cx.jobs,
            row_filter: &mut self.row_filter,
            wanted: wanted.as_deref(),
            gallery: &self.gallery,
            opened: &mut opened,
            bytes: &mut bytes,
        };
        let response = grid.ui(&mut child, &mut model);
        if std::mem::take(&mut sheet.widths_came) {
            grid.forget_suggested_widths();
        }
        if let Some(click) = response.header_clicked
            && let Some(name) = sheet.names.get(click.column)
        {
            self.row_filter.sort_by(name, click.shift);
        }
        sheet.grid = grid;
        if response.offer_taken {
            self.row_filter.clear_filter();
        }
        if response.activated.is_some() {
            self.inspect.toggle();
        }
        if let Some(request) = response.copy {
            self.copying = Some((request, Slot::default()));
        }
        cx.actions.extend(response.copy_name.map(Action::Copy));
        if let Some(cell) = opened {
            self.open_cell(cell);
        }
        if let (Some(cell), Some(target)) = (bytes, cx.target) {
            let value = StoredValue::cell(&self.sheet().table, cell.row, cell.column);
            cx.actions.push(Action::ShowBytes(BytesOf { node: target.place(), value, decoded: false }));
        }
        self.take_opened(cx);
    }

    fn summary_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        if let Some((column, click)) = self.summary.ui(ui, cx.jobs, &mut self.main, &self.name) {
            let condition = self.main.asked(column, click);
            let more = ui.input(|input| input.modifiers.command || input.modifiers.shift);
            condition.into_iter().for_each(|condition| self.row_filter.pick(condition, more));
        }
    }

    /// The columns in their order, without hidden ones; listed anew where they were arranged anew.
    fn standing(&mut self) -> Arc<Vec<usize>> {
        let sheet = self.end.sheet().unwrap_or(&self.main);
        let arrangement = (sheet.grid.arrangement(), sheet.columns());
        if let Some((known, columns)) = &self.standing
            && *known == arrangement
        {
            return columns.clone();
        }
        let columns = sheet.grid.columns_at(0..sheet.columns());
        let all = || (0..sheet.columns()).collect();
        let columns = Arc::new(if columns.is_empty() { all() } else { columns });
        self.standing = Some((arrangement, columns.clone()));
        columns
    }

    /// The selected columns in their order; listed anew where others are selected.
    fn selected_columns(&mut self, selection: Selection) -> Option<Arc<Vec<usize>>> {
        let grid = &self.end.sheet().unwrap_or(&self.main).grid;
        let arrangement = grid.arrangement();
        if !self.selected.as_ref().is_some_and(|known| (known.0, known.1) == (arrangement, selection)) {
            let (_, columns) = grid.selected()?;
            self.selected = Some((arrangement, selection, Arc::new(columns)));
        }
        self.selected.as_ref().map(|known| known.2.clone())
    }

    fn cursor(&self) -> Option<CellAt> {
        let sheet = self.sheet();
        let asked = sheet.grid.asked();
        let columns = || sheet.grid.columns_at(0..1).first().copied().unwrap_or(0);
        asked
            .map(|(row, column)| CellAt { row, column: column.unwrap_or_else(columns) })
            .or(sheet.grid.cursor())
    }

    fn put_cursor(&mut self, cell: CellAt) {
        self.sheet_mut().grid.scroll_to(cell.row, Some(cell.column));
    }

    /// What stands at the left of the status bar.
    fn say(&mut self, cx: &mut ViewCx<'_>) {
        let selection = self.sheet().grid.selection().filter(|selection| {
            selection.kind != SelectionKind::Cells || selection.anchor != selection.cursor
        });
        let selected = selection.and_then(|selection| self.selected_columns(selection));
        let sheet = self.end.sheet().unwrap_or(&self.main);
        if let Some(cell) = self.cursor() {
            let name = sheet.column_name(cell.column);
            let value = sheet.cell(cell.row, cell.column);
            let label = sheet.label(cell.row);
            let text = beginning(&value.text, 80);
            cx.status.under = match value.kind {
                crate::gui::grid::CellKind::Pending => format!("{name}[{label}]"),
                crate::gui::grid::CellKind::Failed(why) => format!("{name}[{label}]: {why}"),
                _ => format!("{name}[{label}] = {text}"),
            };
        }
        let columns = gander::bytes::display::plural(sheet.columns() as u64, "column");
        let whole = match self.row_filter.rows() {
            Some(_) => {
                let all = model::rows(self.base.rows()).words();
                format!("{} of {all} rows × {columns}", self.rows().words())
            }
            None => format!("{} {} × {columns}", self.rows().words(), self.rows().noun()),
        };
        let selected = sheet.grid.selected_rows().zip(selected);
        let sums =
            selected.and_then(|(rows, columns)| self.sums.words(cx.jobs, &sheet.values, rows, columns));
        cx.status.facts = sums.unwrap_or(whole);
    }

    /// A line at the lower edge that says what is read, or why it could not be.
    fn footer(&mut self, ui: &mut Ui, area: Rect) -> Rect {
        let theme = Theme::of(ui);
        let sheet = self.sheet();
        let failed =
            sheet.pages.error(&sheet.seen.0, &sheet.seen.1).map(|error| match error.is_cancelled() {
                true => "Reading of these rows was cancelled".to_owned(),
                false => error.to_string(),
            });
        let Some(words) = failed else { return area };
        let line = Rect::from_min_max(pos2(area.left(), area.bottom() - size::CONTROL - 4.0), area.max);
        ui.painter().rect_filled(line, 0.0, theme.tint(theme.bad));
        let builder = UiBuilder::new()
            .max_rect(line.shrink2(vec2(space::S3, 2.0)))
            .id_salt("failed")
            .layout(egui::Layout::right_to_left(egui::Align::Center));
        let mut child = ui.new_child(builder);
        if theme::button(&mut child, "Read again").clicked() {
            self.sheet_mut().pages.retry();
        }
        child.with_layout(egui::Layout::left_to_right(egui::Align::Center), |ui| {
            ui.label(theme::icon(crate::gui::icons::Icon::Problem).color(theme.bad));
            ui.add(egui::Label::new(words.as_str()).truncate()).on_hover_text(words.as_str());
        });
        Rect::from_min_max(area.min, pos2(area.right(), line.top()))
    }

    fn escape(&mut self, ui: &Ui, cx: &ViewCx<'_>) {
        if !cx.active || !ui.input(|input| input.key_pressed(Key::Escape)) {
            return;
        }
        let mut done = true;
        if self.find.close() {
            self.main.grid.request_focus();
        } else if self.versions.as_mut().is_some_and(versions::Bar::give_up) {
            (self.next, self.pending_version) = (None, None);
            self.base = self.shown_base.clone();
            self.row_filter.anew();
        } else if self.end.give_up() {
            self.main.grid.request_focus();
        } else if self.sheet().pages.pending().is_some() {
            self.sheet_mut().pages.cancel();
        } else {
            done = self.inspect.is_open();
            self.inspect.close();
        }
        if done {
            ui.input_mut(|input| input.consume_key(Modifiers::NONE, Key::Escape));
        }
    }
}

/// The beginning of a text, with a sign where it goes on.
fn beginning(text: &str, most: usize) -> std::borrow::Cow<'_, str> {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", &text[..at]).into(),
        None => text.into(),
    }
}

/// What versions are called, which their bar says too.
pub(super) const EARLIER: Label =
    Label::new("Earlier version of the table", Icon::CaretLeft).keys(ALT, Key::Comma).apart();
pub(super) const LATER: Label =
    Label::new("Later version of the table", Icon::CaretRight).keys(ALT, Key::Period);

const COMMANDS: &[ViewCommand<TableView>] = &[
    ViewCommand::new(Label::new("Show rows", Icon::Rows).keys(ALT, Key::Num1), |view, _| {
        view.show_as(Mode::Table)
    }),
    ViewCommand::new(Label::new("Show one record", Icon::Form).keys(ALT, Key::Num2), |view, _| {
        view.show_as(Mode::Record)
    }),
    ViewCommand::new(
        Label::new("Show a summary of the columns", Icon::Columns).keys(ALT, Key::Num3),
        |view, _| view.show_as(Mode::Summary),
    ),
    ViewCommand::new(Label::new("Show a pivot table", Icon::Group).keys(ALT, Key::Num4), |view, _| {
        view.show_as(Mode::Pivot)
    }),
    ViewCommand::new(Label::new("Show a gallery", Icon::Module).keys(ALT, Key::Num5), |view, _| {
        view.show_gallery()
    }),
    ViewCommand::new(Label::new("Flag records, or not any more", Icon::Tag), |view, _| view.flag()),
    ViewCommand::new(Label::new("Next record of this class", Icon::CaretRight), |view, _| {
        view.next_of_class()
    }),
    ViewCommand::new(
        Label::new("Filter and sort rows", Icon::Filter).keys(ALT, Key::F).apart(),
        |view, _| {
            view.row_filter.toggle();
            true
        },
    ),
    ViewCommand::new(Label::new("Go to the last row", Icon::Last), |view, _| {
        let can = view.mode == Mode::Table;
        if can {
            view.go_to_end();
        }
        can
    }),
    ViewCommand::new(Label::new("Wrap long cells, or not", Icon::Wrap).keys(ALT, Key::W), |view, _| {
        let wrap = view.sheet().grid.wrap();
        view.sheet_mut().grid.set_wrap(!wrap);
        view.mode == Mode::Table
    }),
    ViewCommand::new(Label::new("Options of the reader…", Icon::Sliders), |view, cx| view.open_options(cx)),
    ViewCommand::new(EARLIER, |view, _| view.step_version(-1)),
    ViewCommand::new(LATER, |view, _| view.step_version(1)),
];

impl View for TableView {
    fn toolbar(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        self.draw_bar(ui, cx);
    }

    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        self.start(cx);
        self.take_end(cx);
        self.take_version(cx);
        if let Some(change) = self.row_filter.take(cx.jobs, &self.base, &self.name) {
            self.change(change);
        }
        self.take_next(ui, cx);
        self.take_seek(ui, cx);
        let mut whole = ui.available_rect_before_wrap();
        if let Some(versions) = &mut self.versions {
            whole = versions.ui(ui, whole, cx.jobs);
        }
        let columns = if self.find.is_open() { self.standing() } else { Arc::default() };
        let about = About {
            jobs: cx.jobs,
            documents: &cx.workspace.documents,
            target: cx.target,
            table: &self.base,
            called: &self.called,
            given: self.given.as_deref(),
            keyed: cx.active,
        };
        let whole = self.row_filter.ui(ui, whole, about, cx.actions);
        let place = Place { columns: &columns, table: &self.main.table, cursor: self.main.grid.cursor() };
        let (whole, met) = self.find.ui(ui, whole, &place, about, self.row_filter.filter());
        if let Some(cell) = met {
            self.end.leave();
            self.main.grid.scroll_to(cell.row, Some(cell.column));
        }
        let area = self.footer(ui, whole);
        let (top, bottom) = self.inspect.split(area);
        let mut upper = ui.new_child(UiBuilder::new().max_rect(top).id_salt("rows"));
        upper.shrink_clip_rect(top);
        match self.mode {
            Mode::Table => self.grid_ui(&mut upper, cx),
            Mode::Gallery => self.gallery_ui(&mut upper, cx),
            Mode::Record => self.record_ui(&mut upper, cx),
            Mode::Summary => self.summary_ui(&mut upper, cx),
            Mode::Pivot => self.pivot.ui(&mut upper, cx, &self.base, self.row_filter.filter(), &self.name),
        }
        if let Some(place) = bottom {
            let cell = self.cursor();
            let sheet = self.end.sheet().unwrap_or(&self.main);
            let name = cell.map_or(String::new(), |cell| sheet.column_name(cell.column).to_owned());
            let table = sheet.table.clone();
            self.inspect.ui(ui, place, cx.jobs, &table, cell, &name);
            self.inspect.border(ui, place);
        }
        self.take_copy(cx);
        // Last: the grid and the groups have things to give up, too.
        self.escape(ui, cx);
        self.look_for_media(cx);
        // Groups and pictures speak for themselves.
        if !matches!(self.mode, Mode::Pivot | Mode::Gallery) {
            self.say(cx);
        }
    }

    fn commands(&self) -> Vec<&'static Label> {
        labels(COMMANDS)
    }

    fn run(&mut self, at: usize, cx: &mut ViewCx<'_>) -> bool {
        run(COMMANDS, at, self, cx)
    }

    fn request(&mut self, request: &Request, cx: &mut ViewCx<'_>) -> bool {
        if self.mode == Mode::Pivot && self.pivot.request(request, cx) {
            return true;
        }
        match request {
            Request::GoTo(text) => {
                let there = self.go_to(text);
                if there && self.mode == Mode::Gallery {
                    self.enter_gallery();
                }
                there
            }
            Request::Filter(condition, more) => {
                self.row_filter.pick(condition.clone(), *more);
                true
            }
            Request::Column(column) if *column < self.main.columns() => {
                self.leave_end();
                let row = self.main.grid.cursor().map_or(self.main.grid.row_position().row, |cell| cell.row);
                self.main.grid.scroll_to(row, Some(*column));
                true
            }
            Request::Find => {
                self.find.open();
                true
            }
            _ => false,
        }
    }

    fn stepped(&mut self) -> Option<(String, Arc<Node>)> {
        self.stepped.take()
    }

    fn subject(&self) -> Subject {
        let cursor = self.cursor().filter(|_| self.mode != Mode::Gallery);
        cursor.map_or(Subject::Node, |cell| Subject::Column(cell.column))
    }

    fn value(&self) -> Option<StoredValue> {
        let cell = self.cursor().filter(|_| matches!(self.mode, Mode::Table | Mode::Record))?;
        Some(StoredValue::cell(&self.sheet().table, cell.row, cell.column))
    }

    fn export(&self) -> Option<(String, Data)> {
        self.part()
    }

    fn other_parts(&self) -> Vec<(String, Data)> {
        self.beside_part().into_iter().collect()
    }

    fn repeat(&self) -> Option<Repeat> {
        repeat::of(self)
    }

    fn clauses(&self) -> Option<String> {
        self.row_filter.is_on().then(|| self.row_filter.clauses(&self.base))
    }

    fn save(&self) -> Value {
        let grid = &self.main.grid;
        // What is not shown yet stays where it will be.
        let grid = self.next.as_ref().map_or(grid, |next| &next.sheet.grid);
        saved(&TableState {
            mode: self.mode,
            position: Some((grid.row_position(), grid.column_position())),
            layout: Some(grid.layout().clone()),
            cursor: grid.selection().map(|selection| selection.cursor),
            pivot: self.pivot.state(),
            row_filter: self.row_filter.state(),
            gallery: self.gallery.state.clone(),
            formats: self.main.formats.clone(),
        })
    }

    fn prefer(&mut self, preferences: &Preferences) {
        match preferences.table {
            TableStart::Rows => {}
            TableStart::Record => self.mode = Mode::Record,
            TableStart::Summary => self.mode = Mode::Summary,
            // Without pictures or sounds there is none.
            TableStart::Gallery => drop(self.show_gallery()),
        }
    }

    fn restore(&mut self, kept: &Value) {
        let state: TableState = restored(kept);
        self.row_filter.restore(state.row_filter);
        if let Some(layout) = state.layout {
            self.main.grid.set_layout(layout);
        }
        if let Some((top, left)) = state.position {
            self.main.grid.set_position(top, left);
        }
        if let Some(place) = state.cursor {
            self.main.grid.select(Some(Selection::cell(place)));
        }
        self.restored = self.row_filter.is_on();
        (self.mode, self.gallery.state) = (state.mode, state.gallery);
        self.main.formats = state.formats;
        self.pivot.restore(state.pivot);
    }
}

/// What a session keeps.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct TableState {
    mode: Mode,
    position: Option<(RowPosition, ColumnPosition)>,
    layout: Option<Layout>,
    cursor: Option<grid::Place>,
    pivot: Pivot,
    row_filter: RowFilterState,
    gallery: gallery::GalleryState,
    formats: std::collections::BTreeMap<usize, NumberFormat>,
}

impl TableView {
    /// Words on what the tab waits for, once that takes a while.
    fn waits_for(&self) -> Option<(String, Instant)> {
        let (rows, since) = self.sheet().pages.pending()?;
        let last = rows.end.min(self.sheet().table.rows().number()).saturating_sub(1).max(rows.start);
        let words =
            format!("reading rows {}–{} of {}", display::count(rows.start), display::count(last), self.name);
        Some((words, since))
    }
}
