//! SQL over everything that is open: a text of statements with their names at hand; a result for each, on the
//! same grid as any table, as a plot, and the plan with its timing.
//!
//! All open files are tables by the stem of their name, the results `result1`, `result2` …; other files are
//! named in quotes.

pub(crate) mod code;
mod complete;
mod editor;
pub(super) mod plot;
mod results;
mod run;
mod steps;

use gander::bytes::error::UnlessCancelled;
use std::ops::Range;
use std::sync::Arc;

use egui::{Key, Modifiers, Rect, Ui, UiBuilder, pos2, vec2};
use gander::data::content::{Rows, Table};
use gander::data::format::Data;
use gander::data::open::Document;
use gander::jobs::{JobSpec, Jobs, Slot};
use gander::query::{QueryResult, Registered};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    QueryStart, Request, Target, View, ViewCommand, ViewCx, labels, restored, run as run_command, saved,
};
use crate::gui::commands::{CTRL, CTRL_SHIFT, Label};
use crate::gui::icons::Icon;
use crate::gui::target::Repeat;
use crate::gui::theme::{self, Theme, size, space};
use crate::gui::ui::{drop_down, splitter};
use editor::Editor;
use run::{Mode, Run, State};

/// Results that are kept.
const RESULTS: usize = 12;
/// Statements that are remembered.
const REMEMBERED: usize = 100;
/// The height of the text at first, the least, and the least of what is below it.
const HEIGHT: f32 = 168.0;
const LEAST: f32 = 60.0;

/// The SQL statements that were run, the newest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Statements(Vec<String>);

impl Statements {
    /// Those of an earlier session.
    pub(crate) fn new(mut statements: Vec<String>) -> Self {
        statements.truncate(REMEMBERED);
        Statements(statements)
    }

    /// The newest first.
    pub(crate) fn list(&self) -> &[String] {
        &self.0
    }

    /// Puts a statement on top.
    fn remember(&mut self, sql: &str) {
        self.0.retain(|old| old != sql);
        self.0.insert(0, sql.to_owned());
        self.0.truncate(REMEMBERED);
    }
}

/// The open files and the node whose table's name is looked for.
type Place = (Vec<usize>, usize, String);

/// How statements call the table of a tab, found by a job.
#[derive(Default)]
pub(crate) struct Called(Slot<Place, String>);

impl Called {
    /// What stands behind FROM, once it is known: the name that the table has among those of all open files.
    pub(crate) fn get(
        &self,
        jobs: &Jobs,
        documents: &[Arc<Document>],
        target: &Target,
    ) -> Option<Arc<String>> {
        let place = |document: &Arc<Document>| Arc::as_ptr(document) as usize;
        let path = target.path.clone();
        let key = (documents.iter().map(place).collect(), place(&target.document), path.clone());
        // What lies below a table has no name of its own: a version, its files.
        let address = gander::query::text_literal(&target.address());
        let document = target.document.clone();
        // What was just opened anew is called as it was before.
        let known = documents.iter().any(|other| Arc::ptr_eq(other, &document));
        let documents = if known { documents.to_vec() } else { Vec::new() };
        let shown =
            self.0.get(
                jobs,
                &key,
                JobSpec::view("names of tables"),
                move |task| match gander::query::name_of(task, &documents, &document, &path)
                    .unless_cancelled()?
                {
                    Ok(Some(name)) => Ok(gander::query::identifier(&name)),
                    _ => Ok(address),
                },
            );
        shown.ready()
    }

    /// The same for a table that a view shows. A query's result has no node, and is known in its own tab only: it is
    /// named by its statement.
    pub(crate) fn from(
        &self,
        jobs: &Jobs,
        documents: &[Arc<Document>],
        target: Option<&Target>,
        table: &dyn Table,
    ) -> Option<String> {
        match target {
            Some(target) => self.get(jobs, documents, target).map(|name| name.to_string()),
            None => {
                let details = table.facts().details;
                let (_, query) = details.iter().find(|(name, _)| name == "query")?;
                Some(format!("(\n{query}\n) AS result"))
            }
        }
    }
}

/// A statement that is written as soon as its table's name is known.
struct Begin {
    called: Called,
    of: Target,
    clauses: String,
}

impl Begin {
    fn statement(&self, cx: &ViewCx<'_>) -> Option<String> {
        let name = self.called.get(cx.jobs, &cx.workspace.documents, &self.of)?;
        let line = if self.clauses.is_empty() { "" } else { "\n" };
        Some(format!("SELECT *\nFROM {name}{line}{}\nLIMIT 1000", self.clauses))
    }
}

/// The view of a query that begins like this.
pub(crate) fn make(start: QueryStart) -> Box<dyn View> {
    let mut view = SqlView { height: HEIGHT, ..SqlView::default() };
    match start {
        QueryStart::Empty => {}
        QueryStart::Statement(statement) => view.editor.text = statement,
        QueryStart::Table(of, clauses) => {
            view.begin = Some(Begin { called: Called::default(), of, clauses });
        }
    }
    Box::new(view)
}

/// The state of the view.
#[derive(Default)]
struct SqlView {
    editor: Editor,
    /// What the text will begin with, unless something is typed before.
    begin: Option<Begin>,
    /// How high the text is.
    height: f32,
    runs: Vec<Run>,
    current: usize,
    count: u64,
    /// The result whose tab was last brought into sight.
    revealed: Option<u64>,
    names: Slot<Vec<usize>, Vec<Registered>>,
    known: Arc<Vec<Registered>>,
}

/// Statements of a text, where each begins, and which of all it is, from 0 on.
fn numbered_statements(text: &str, wanted: Vec<Range<usize>>) -> Vec<(String, usize, usize)> {
    let all = gander::query::statements(text);
    let one = |range: Range<usize>| {
        let nth = all.iter().take_while(|other| other.end <= range.start).count();
        Some((text.get(range.clone())?.to_owned(), range.start, nth))
    };
    wanted.into_iter().filter_map(one).collect()
}

impl SqlView {
    /// Runs statements of the text, in their order; the result of each takes the place of the one that it had.
    fn run_statements(&mut self, cx: &mut ViewCx<'_>, wanted: Vec<Range<usize>>) {
        self.editor.close_offer();
        let text = self.editor.text.clone();
        let mut numbered: Vec<(u64, String, usize)> = Vec::new();
        let mut places = Vec::new();
        for (sql, start, nth) in numbered_statements(&text, wanted) {
            cx.workspace.statements.remember(&sql);
            let old = self.replaced(&sql, nth, &text, &numbered);
            let number = old.unwrap_or(self.count + 1);
            self.count = self.count.max(number);
            numbered.push((number, sql, start));
            places.push((number, nth));
        }
        if numbered.is_empty() {
            return;
        }
        // What runs still is not waited for: it was asked for by an older text.
        self.runs.iter().filter(|run| run.goes_on()).for_each(|run| run.job.cancel());
        let again = |number: u64| numbered.iter().any(|(other, ..)| *other == number);
        let results = self.results().into_iter().filter(|(number, ..)| !again(*number));
        let results = results.map(|(_, name, answer)| (name, answer)).collect();
        let first = numbered.first().map_or(0, |(number, ..)| *number);
        let looks: Vec<(u64, Mode, plot::Plotted)> = {
            let old = self.runs.iter_mut().filter(|run| again(run.number));
            old.map(|run| (run.number, run.mode, std::mem::take(&mut run.plot))).collect()
        };
        self.runs.retain(|run| !again(run.number));
        let documents = cx.workspace.documents.clone();
        self.runs.extend(run::start(cx.jobs, documents, results, numbered));
        for (number, nth) in places {
            if let Some(run) = self.runs.iter_mut().find(|run| run.number == number) {
                run.nth = nth;
            }
        }
        for (number, mode, plot) in looks {
            if let Some(run) = self.runs.iter_mut().find(|run| run.number == number) {
                // It is looked at as before.
                (run.mode, run.plot) = (mode, plot.anew());
            }
        }
        self.runs.sort_by_key(|run| run.number);
        while self.runs.len() > RESULTS {
            let oldest = self.runs.iter().position(|run| !run.is_pinned && !run.goes_on());
            self.runs.remove(oldest.unwrap_or(0));
        }
        self.current = self.runs.iter().position(|run| run.number == first).unwrap_or(0);
    }

    /// The number of the result whose place a statement's takes: that of the same statement, or of the one that it
    /// was before it was edited.
    fn replaced(&self, sql: &str, nth: usize, text: &str, taken: &[(u64, String, usize)]) -> Option<u64> {
        let free = |run: &&Run| !run.is_pinned && !taken.iter().any(|(number, ..)| *number == run.number);
        let is_gone = |run: &Run| {
            let mut ranges = gander::query::statements(text).into_iter();
            !ranges.any(|range| text.get(range) == Some(run.sql.as_str()))
        };
        let same = self.runs.iter().filter(free).find(|run| run.sql == sql);
        let edited = || self.runs.iter().filter(free).rfind(|run| run.nth == nth && is_gone(run));
        same.or_else(edited).map(|run| run.number)
    }

    /// The results that can be queried again, by number and name.
    fn results(&self) -> Vec<(u64, String, Arc<QueryResult>)> {
        let done = self.runs.iter().filter(|run| run.state() == State::Done);
        done.filter_map(|run| Some((run.number, run.name(), run.answer()?))).collect()
    }

    /// A run that failed comes into sight, once.
    fn show_failed(&mut self) {
        let failed = self.runs.iter().position(|run| run.state() == State::Failed && !run.told);
        if let Some(failed) = failed {
            self.runs[failed].told = true;
            self.current = failed;
        }
    }

    /// Closes a result.
    fn close(&mut self, index: usize) {
        let run = self.runs.remove(index);
        if run.goes_on() {
            run.job.cancel();
        }
        if self.current > index || self.current >= self.runs.len() {
            self.current = self.current.saturating_sub(1);
        }
    }

    fn running(&self) -> Option<&Run> {
        self.runs.iter().find(|run| run.goes_on())
    }

    /// Writes the statement that the query begins with.
    fn begin(&mut self, cx: &ViewCx<'_>) {
        let Some(begin) = self.begin.as_ref().filter(|_| self.editor.text.is_empty()) else {
            self.begin = None;
            return;
        };
        if let Some(statement) = begin.statement(cx) {
            self.editor.text = statement;
            self.begin = None;
        }
    }

    /// The names of tables and columns, for completion.
    fn learn(&mut self, cx: &ViewCx<'_>) {
        let documents = &cx.workspace.documents;
        let results: Vec<(String, Arc<QueryResult>)> =
            self.results().into_iter().map(|(_, name, answer)| (name, answer)).collect();
        let files = documents.iter().map(|document| Arc::as_ptr(document) as usize);
        let key: Vec<usize> =
            files.chain(results.iter().map(|(_, answer)| Arc::as_ptr(answer) as usize)).collect();
        let documents = documents.clone();
        let shown = self.names.get(cx.jobs, &key, JobSpec::view("names of tables"), move |task| {
            Ok(run::engine(task, &documents, &results)?.tables())
        });
        if let Some(known) = shown.value {
            self.known = known;
        }
    }

    /// The line between the text and the result, to be dragged.
    fn edge(&mut self, ui: &Ui, whole: Rect) {
        let at = whole.top() + self.height;
        let (id, name) = (ui.scope_id().with("edge"), "Border between the statements and their results");
        let by = splitter(ui, id, name, whole.x_range(), at);
        self.height = (self.height + by).max(LEAST);
    }

    /// Runs all statements, or those that are selected.
    fn run_wanted(&mut self, cx: &mut ViewCx<'_>) -> bool {
        let wanted = self.editor.wanted();
        self.run_statements(cx, wanted);
        true
    }

    /// Runs the statement at the cursor.
    fn run_here(&mut self, cx: &mut ViewCx<'_>) -> bool {
        let here = self.editor.here();
        let found = here.is_some();
        self.run_statements(cx, here.into_iter().collect());
        found
    }

    /// Stops what runs; false where nothing does.
    fn stop(&mut self) -> bool {
        self.running().map(|run| run.job.cancel()).is_some()
    }

    fn history_menu(&mut self, ui: &mut Ui, list: &[String]) {
        drop_down(ui, "History", "Statements that were run", |ui| {
            if list.is_empty() {
                ui.label("No statement was run yet");
            }
            egui::ScrollArea::vertical().max_height(420.0).show(ui, |ui| {
                for sql in list {
                    let line = sql.split_whitespace().collect::<Vec<_>>().join(" ");
                    let mut short: String = line.chars().take(90).collect();
                    if short.len() < line.len() {
                        short.push('…');
                    }
                    let hint = "Click: write it instead. Shift+click: write it at the end.";
                    let button = ui.button(theme::mono(short)).on_hover_ui(|ui| {
                        ui.label(theme::mono(sql.as_str()));
                        ui.label(theme::dim(Theme::of(ui), hint));
                    });
                    if button.clicked() {
                        let text = match ui.input(|input| input.modifiers.shift) {
                            true => {
                                format!("{};\n\n{sql}", self.editor.text.trim_end().trim_end_matches(';'))
                            }
                            false => sql.clone(),
                        };
                        self.editor.replace(text);
                        ui.close();
                    }
                }
            });
        });
    }

    fn tables_menu(&mut self, ui: &mut Ui) {
        drop_down(ui, "Tables", "What can be queried; a click writes the name", |ui| {
            let theme = Theme::of(ui);
            egui::ScrollArea::vertical().max_height(420.0).show(ui, |ui| {
                for table in self.known.clone().iter() {
                    let columns = gander::bytes::display::plural(table.columns.len() as u64, "column");
                    let noun = if table.rows == Rows::Exact(1) { "row" } else { "rows" };
                    let words = format!("{} · {} {noun} × {columns}", table.name, table.rows);
                    let button = ui.button(theme::icon_text(Icon::Table, &words)).on_hover_ui(|ui| {
                        for (name, data_type) in table.columns.iter().take(40) {
                            ui.label(theme::mono(format!(
                                "{name}  {}",
                                gander::bytes::display::short_arrow_type(data_type, 120)
                            )));
                        }
                    });
                    if button.clicked() {
                        self.editor.insert(&gander::query::identifier(&table.name));
                        ui.close();
                    }
                }
            });
            ui.separator();
            ui.label(theme::dim(theme, "Any other file is named in quotes: FROM 'data/*.parquet'"));
        });
    }
}

const RUN: Label =
    Label::new("Run all statements, or those that are selected", Icon::Play).keys(CTRL, Key::Enter);
const RUN_HERE: Label =
    Label::new("Run the statement at the cursor", Icon::Play).keys(CTRL_SHIFT, Key::Enter);

const COMMANDS: &[ViewCommand<SqlView>] = &[
    ViewCommand::new(RUN, |view, cx| view.run_wanted(cx)),
    ViewCommand::new(RUN_HERE, |view, cx| view.run_here(cx)),
    ViewCommand::new(Label::new("Stop the query", Icon::Stop), |view, _| view.stop()),
];

impl View for SqlView {
    fn toolbar(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let hint = format!("{}\n{}", RUN.tip(ui.ctx()), RUN_HERE.tip(ui.ctx()));
        if theme::primary_button(ui, "Run").on_hover_text(hint).clicked() {
            self.run_wanted(cx);
        }
        if self.running().is_some() && theme::icon_button(ui, Icon::Stop, "Stop the query (Esc)").clicked() {
            self.stop();
        }
        self.history_menu(ui, cx.workspace.statements.list());
        self.tables_menu(ui);
        if ui.available_width() > 330.0 {
            let theme = Theme::of(ui);
            ui.add_space(space::S1);
            ui.label(theme::dim(theme, "Ctrl+Enter runs all, Ctrl+Shift+Enter the one at the cursor"));
        }
    }

    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        self.begin(cx);
        self.learn(cx);
        self.show_failed();
        let theme = Theme::of(ui);
        let whole = ui.available_rect_before_wrap();
        self.height = self.height.clamp(LEAST, (whole.height() * 0.6).max(LEAST));
        let top = Rect::from_min_size(whole.min, vec2(whole.width(), self.height));
        let wrong = self.runs.get(self.current).and_then(|run| run.wrong(&self.editor.text));
        let mut upper = ui.new_child(UiBuilder::new().max_rect(top).id_salt("text"));
        upper.shrink_clip_rect(top);
        let known = self.known.clone();
        self.editor.ui(&mut upper, &known, wrong, cx.active);
        let line = Rect::from_min_size(top.left_bottom(), vec2(whole.width(), size::BAR));
        ui.painter().rect_filled(line, 0.0, theme.bg0);
        ui.painter().hline(line.x_range(), line.top() + 0.5, theme.hairline());
        self.results_bar(ui, line);
        let rest = Rect::from_min_max(pos2(whole.left(), line.bottom()), whole.max);
        let number = self.runs.get(self.current).map(|run| run.number);
        let mut lower = ui.new_child(UiBuilder::new().max_rect(rest).id_salt(("result", number)));
        lower.shrink_clip_rect(rest);
        self.result(&mut lower, rest, cx);
        self.edge(ui, whole);
        // Last: the editor's list and the result have things to give up, too.
        if let Some(run) = self.running().filter(|_| cx.active)
            && ui.input_mut(|input| input.consume_key(Modifiers::NONE, Key::Escape))
        {
            run.job.cancel();
        }
    }

    fn commands(&self) -> Vec<&'static Label> {
        labels(COMMANDS)
    }

    fn run(&mut self, at: usize, cx: &mut ViewCx<'_>) -> bool {
        run_command(COMMANDS, at, self, cx)
    }

    fn takes_keys(&self, ui: &Ui) -> bool {
        // Fields of the result have their own meaning of them.
        !ui.ctx().text_edit_focused() || ui.memory(|memory| memory.focused()) == self.editor.id()
    }

    fn request(&mut self, request: &Request, cx: &mut ViewCx<'_>) -> bool {
        let view = self.runs.get_mut(self.current).and_then(|run| run.view.as_mut());
        view.is_some_and(|(_, view)| view.request(request, cx))
    }

    fn details(&self) -> Vec<(&'static str, String)> {
        let mut lines = vec![("Statements run", self.runs.len().to_string())];
        if let Some(run) = self.runs.get(self.current) {
            lines.push(("Result", run.name()));
            if let Some(answer) = run.answer() {
                lines.push(("Rows", answer.rows().to_string()));
                lines.push(("Columns", answer.schema().fields().len().to_string()));
            }
        }
        lines
    }

    fn export(&self) -> Option<(String, Data)> {
        let run = self.runs.get(self.current)?;
        let (answer, view) = run.view.as_ref()?;
        let noun = if answer.rows() == Rows::Exact(1) { "row" } else { "rows" };
        let whole = || (format!("{}: {} {noun}", run.name(), answer.rows()), Data::Table(answer.clone()));
        Some(view.export().unwrap_or_else(whole))
    }

    fn repeat(&self) -> Option<Repeat> {
        let run = self.runs.get(self.current)?;
        let (_, view) = run.view.as_ref()?;
        // Results of other statements are in no file.
        let names_result = self.runs.iter().any(|other| run.sql.contains(&other.name()));
        let is_whole = view.export().is_none();
        (is_whole && !names_result).then(|| Repeat::Query(run.sql.clone(), run.sources.clone()))
    }

    fn is_drawing(&self) -> bool {
        self.runs.get(self.current).is_some_and(|run| run.mode == Mode::Plot && run.view.is_some())
    }

    fn has_part(&self) -> bool {
        self.runs.get(self.current).is_some_and(|run| run.view.is_some())
    }

    fn save(&self) -> Value {
        saved(&SqlState { statement: Some(self.editor.text.clone()), height: Some(self.height) })
    }

    fn restore(&mut self, kept: &Value) {
        let state: SqlState = restored(kept);
        if let Some(text) = state.statement {
            self.editor.text = text;
            self.begin = None;
        }
        self.height = state.height.unwrap_or(self.height);
    }
}

/// What a session keeps.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct SqlState {
    statement: Option<String>,
    height: Option<f32>,
}

#[cfg(test)]
mod tests;
