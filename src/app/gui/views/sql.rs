//! A SQL query: the statement with its tables, columns and functions at hand; its results, each on the
//! same grid as any table; the plan with its timing; a plot.
//!
//! All open files are tables by the stem of their name; other files are named in quotes.

mod code;
mod plot;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use egui::{Key, Modifiers, Rect, RichText, ScrollArea, TextEdit, Ui, UiBuilder, pos2, vec2};
use gander::content::{Rows, Table};
use gander::format::Data;
use gander::jobs::{Jobs, Priority, Slot};
use gander::node::Node;
use gander::open::Document;
use gander::query::{Answer, Engine, Failure, Known, Mistake, Settings};
use gander::task::Task;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::table::TableView;
use super::{Request, Target, View, ViewCx};
use crate::gui::grid::thousands;
use crate::gui::icons::Icon;
use crate::gui::theme::{self, Theme, mono_font, size, space};
use plot::Plotted;

/// The label of the nodes that stand for queries.
pub(crate) const LABEL: &str = "query";
/// What the path of such a node begins with.
pub(crate) const PATH: &str = "sql:";
/// Results that are kept.
const RESULTS: usize = 12;
/// The lines that the statement has room for at first.
const LINES: usize = 7;

/// The open files, as the window last said.
static OPEN: Mutex<Vec<Arc<Document>>> = Mutex::new(Vec::new());

/// Says which files are open.
pub(crate) fn set_open(documents: Vec<Arc<Document>>) {
    *OPEN.lock() = documents;
}

/// A tab for a new query beside `target`, with a statement to begin with.
pub(crate) fn target(beside: &Target, number: u64) -> Target {
    let path = if beside.path.starts_with(PATH) { "" } else { &beside.path };
    let name = gander::query::table_name(beside.document.source.name(), path);
    target_of(beside, number, &format!("SELECT *\nFROM {}\nLIMIT 1000", gander::query::quoted(&name)))
}

/// A tab for this statement beside `target`.
pub(crate) fn target_of(beside: &Target, number: u64, statement: &str) -> Target {
    let node = Node::new(format!("SQL {number}"), LABEL).attribute("statement", statement.to_owned());
    Target { node: Arc::new(node), path: format!("{PATH}{number}"), ..beside.clone() }
}

/// The view of a query.
pub(crate) fn make(target: &Target) -> Box<dyn View> {
    let statement = target.node.attributes.iter().find(|(name, _)| name == "statement");
    let mut view = SqlView::default();
    view.text = statement.map_or(String::new(), |(_, value)| value.to_string());
    Box::new(view)
}

/// What a run gives, as it comes.
#[derive(Default)]
struct Outcome {
    answer: Option<Arc<Answer>>,
    failure: Option<Failure>,
    done: bool,
}

/// One run of a statement.
struct Run {
    number: u64,
    sql: String,
    outcome: Arc<Mutex<Outcome>>,
    task: Task,
    /// The result's view, and the answer that it shows.
    view: Option<(Arc<Answer>, TableView)>,
    plot: Plotted,
}

/// How a result is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mode {
    #[default]
    Rows,
    Plan,
    Plot,
}

/// The state of the view.
#[derive(Default)]
struct SqlView {
    text: String,
    runs: Vec<Run>,
    current: usize,
    count: u64,
    mode: Mode,
    history: Vec<String>,
    names: Slot<usize, Vec<Known>>,
    known: Arc<Vec<Known>>,
    /// The letters before the cursor that a name may complete, and where they begin.
    word: Option<(usize, String)>,
    focused: bool,
}

impl Drop for SqlView {
    fn drop(&mut self) {
        self.runs.iter().for_each(|run| run.task.cancel());
        self.names.cancel();
    }
}

/// An engine that knows all open files and the results so far.
fn engine(
    task: &Task,
    documents: &[Arc<Document>],
    results: &[(String, Arc<Answer>)],
) -> gander::Result<Engine> {
    let folder = |d: &Arc<Document>| d.source.path().and_then(|p| p.parent()).map(PathBuf::from);
    let mut folders: Vec<PathBuf> = documents.iter().filter_map(folder).collect();
    folders.dedup();
    let engine = Engine::new(Settings::default(), folders);
    for document in documents {
        task.check()?;
        // What is no table is left out.
        match engine.add_document(task, document) {
            Err(error) if error.is_cancelled() => return Err(error),
            _ => {}
        }
    }
    for (name, answer) in results {
        engine.add_table(name, answer.clone());
    }
    Ok(engine)
}

impl SqlView {
    /// Runs the statement.
    fn run(&mut self, jobs: &Jobs, sql: &str) {
        let sql = sql.trim().trim_end_matches(';').to_owned();
        if sql.is_empty() {
            return;
        }
        self.history.retain(|old| *old != sql);
        self.history.insert(0, sql.clone());
        self.history.truncate(50);
        self.count += 1;
        let results = self.results();
        let documents = OPEN.lock().clone();
        let outcome: Arc<Mutex<Outcome>> = Arc::default();
        let (slot, statement, woken) = (outcome.clone(), sql.clone(), jobs.clone());
        let title: String = format!("SQL: {}", sql.split_whitespace().collect::<Vec<_>>().join(" "));
        let title = title.chars().take(60).collect::<String>();
        let task = jobs.run(title, Priority::Background, move |task| {
            let ran = engine(task, &documents, &results).map_err(Failure::from).and_then(|engine| {
                engine.run(task, &statement, |answer| {
                    slot.lock().answer = Some(answer.clone());
                    woken.wake();
                })
            });
            let mut outcome = slot.lock();
            outcome.failure = ran.err();
            outcome.done = true;
        });
        self.runs.push(Run { number: self.count, sql, outcome, task, view: None, plot: Plotted::default() });
        if self.runs.len() > RESULTS {
            self.runs.remove(0);
        }
        self.current = self.runs.len() - 1;
    }

    /// The results that can be queried again, by name.
    fn results(&self) -> Vec<(String, Arc<Answer>)> {
        let one = |run: &Run| {
            let outcome = run.outcome.lock();
            let answer = outcome.answer.clone().filter(|_| outcome.done && outcome.failure.is_none())?;
            Some((format!("result{}", run.number), answer))
        };
        self.runs.iter().filter_map(one).collect()
    }

    fn mistake(&self) -> Option<Mistake> {
        let run = self.runs.get(self.current)?;
        // The place is that of the statement as it ran.
        if run.sql != self.text.trim().trim_end_matches(';') {
            return None;
        }
        match &run.outcome.lock().failure {
            Some(Failure::Sql(mistake)) => Some(mistake.as_ref().clone()),
            _ => None,
        }
    }

    /// The names of tables and columns, for completion.
    fn learn(&mut self, jobs: &Jobs) {
        let documents = OPEN.lock().clone();
        let results = self.results();
        let key = documents.len() * 1_000 + results.len();
        let shown = self
            .names
            .get(jobs, &key, "names of tables", move |task| Ok(engine(task, &documents, &results)?.tables()));
        if let Some(known) = shown.value {
            self.known = known;
        }
    }

    /// The statement.
    fn editor(&mut self, ui: &mut Ui, cx: &ViewCx<'_>) {
        let theme = Theme::of(ui);
        let choices =
            self.word.as_ref().map(|(_, word)| code::choices(word, &self.known)).unwrap_or_default();
        let id = ui.make_persistent_id("statement");
        let focused = ui.memory(|memory| memory.has_focus(id));
        // Tab takes the first name that fits; without one it is an indent.
        let take = focused
            && !choices.is_empty()
            && ui.input_mut(|input| input.consume_key(Modifiers::NONE, Key::Tab));
        let mut chosen = take.then(|| choices[0].clone());
        let mistake = self.mistake();
        let offset = self.text.len() - self.text.trim_start().len();
        let wrong = mistake.and_then(|m| m.place).map(|p| p.bytes.start + offset..p.bytes.end + offset);
        let mut layouter = |ui: &Ui, text: &dyn egui::TextBuffer, _width: f32| {
            let job = code::highlighted(text.as_str(), Theme::of(ui), wrong.clone());
            ui.fonts_mut(|fonts| fonts.layout_job(job))
        };
        let field = TextEdit::multiline(&mut self.text)
            .id(id)
            .font(mono_font())
            .code_editor()
            .desired_rows(LINES)
            .desired_width(f32::INFINITY)
            .margin(egui::Margin::symmetric(10, 8))
            .layouter(&mut layouter);
        let output = ScrollArea::vertical().id_salt("statement").show(ui, |ui| field.show(ui)).inner;
        output
            .response
            .widget_info(|| egui::WidgetInfo::labeled(egui::Role::MultilineTextInput, true, "SQL statement"));
        if !std::mem::replace(&mut self.focused, true) && cx.active {
            output.response.request_focus();
        }
        if let Some(range) = output.cursor_range {
            self.word = code::word_before(&self.text, range.primary.index.0);
        }
        if !choices.is_empty() && focused {
            ui.horizontal(|ui| {
                ui.label(theme::dim(theme, "Tab"));
                for choice in choices.iter().take(10) {
                    if ui
                        .add(egui::Button::new(theme::mono(choice.as_str())).frame_when_inactive(false))
                        .clicked()
                    {
                        chosen = Some(choice.clone());
                    }
                }
            });
        }
        if let (Some(name), Some((start, word))) = (chosen, self.word.take()) {
            self.text.replace_range(start..start + word.len(), &name);
            let place = egui::text::CCursor::new(self.text[..start + name.len()].chars().count());
            let mut state = output.state;
            state.cursor.set_char_range(Some(egui::text::CCursorRange::one(place)));
            state.store(ui.ctx(), id);
            ui.memory_mut(|memory| memory.request_focus(id));
        }
    }

    /// The line between the statement and its result.
    fn middle(&mut self, ui: &mut Ui) {
        let theme = Theme::of(ui);
        let mut current = self.current;
        ui.horizontal(|ui| {
            for (index, run) in self.runs.iter().enumerate() {
                let label = RichText::new(format!("result{}", run.number));
                if ui.selectable_label(index == self.current, label).on_hover_text(run.sql.as_str()).clicked()
                {
                    current = index;
                }
            }
            let Some(run) = self.runs.get(self.current) else {
                ui.label(theme::dim(theme, "Ctrl+Enter runs the statement"));
                return;
            };
            ui.separator();
            let outcome = run.outcome.lock();
            match (&outcome.answer, &outcome.failure) {
                (_, Some(failure)) => {
                    let (words, more) = match failure {
                        Failure::Sql(mistake) => (mistake.message.clone(), mistake.to_string()),
                        Failure::Run(error) if error.is_cancelled() => {
                            ("The query was stopped".to_owned(), String::new())
                        }
                        Failure::Run(error) => (error.to_string(), String::new()),
                    };
                    ui.label(theme::icon(Icon::Problem).color(theme.bad));
                    let label = ui.add(egui::Label::new(RichText::new(words).color(theme.bad)).truncate());
                    if !more.is_empty() {
                        label.on_hover_text(theme::mono(more));
                    }
                }
                (Some(answer), None) => state(ui, answer, &run.task),
                (None, None) => {
                    ui.label(theme::dim(theme, "planning…"));
                    ui.ctx().request_repaint_after(Duration::from_millis(100));
                }
            }
        });
        self.current = current;
    }

    /// The result, the plan or the plot.
    fn result(&mut self, ui: &mut Ui, area: Rect, cx: &mut ViewCx<'_>) {
        let mode = self.mode;
        let Some(run) = self.runs.get_mut(self.current) else {
            theme::empty_state(ui, Icon::Database, "No result yet", "Ctrl+Enter runs the statement");
            return;
        };
        let Some(answer) = run.outcome.lock().answer.clone() else { return };
        if run.view.as_ref().is_none_or(|(shown, _)| !Arc::ptr_eq(shown, &answer)) {
            let view = TableView::new(&format!("result{}", run.number), answer.clone());
            run.view = Some((answer.clone(), view));
        }
        match mode {
            Mode::Rows => {
                let Some((_, view)) = &mut run.view else { return };
                let bar = Rect::from_min_size(area.min, vec2(area.width(), size::BAR));
                let layout = egui::Layout::left_to_right(egui::Align::Center);
                let builder = UiBuilder::new()
                    .max_rect(bar.shrink2(vec2(space::S2, 0.0)))
                    .id_salt("bar")
                    .layout(layout);
                view.toolbar(&mut ui.new_child(builder), cx);
                let rest = Rect::from_min_max(pos2(area.left(), bar.bottom()), area.max);
                view.ui(&mut ui.new_child(UiBuilder::new().max_rect(rest).id_salt("rows")), cx);
            }
            Mode::Plan => {
                let (planning, first) = answer.timing();
                let first =
                    first.map_or(String::new(), |t| format!(", first rows after {:.3} s", t.as_secs_f64()));
                let total = answer.elapsed().as_secs_f64();
                let times =
                    format!("planned in {:.3} s{first}, {total:.3} s in all\n\n", planning.as_secs_f64());
                ScrollArea::both().id_salt("plan").auto_shrink(false).show(ui, |ui| {
                    ui.add(egui::Label::new(theme::mono(times + &answer.plan())).extend().selectable(true));
                });
            }
            Mode::Plot => {
                let table: Arc<dyn Table> = answer;
                run.plot.ui(ui, cx.jobs, &table);
            }
        }
    }
}

/// How far a query is.
fn state(ui: &mut Ui, answer: &Arc<Answer>, task: &Task) {
    let theme = Theme::of(ui);
    let count = thousands(answer.rows().number());
    let time = answer.elapsed().as_secs_f64();
    if matches!(answer.rows(), Rows::Exact(_)) {
        ui.label(theme::mono(format!("{count} rows · {time:.3} s")).color(theme.good));
        return;
    }
    ui.label(theme::mono(format!("≥ {count} rows · {time:.1} s")).color(theme.warn));
    if theme::icon_button(ui, Icon::Stop, "Stop the query").clicked() {
        task.cancel();
    }
    ui.ctx().request_repaint_after(Duration::from_millis(100));
}

impl View for SqlView {
    fn toolbar(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let run = theme::primary_button(ui, "Run").on_hover_text("Run the statement (Ctrl+Enter)");
        let keys = cx.active && ui.input_mut(|input| input.consume_key(Modifiers::COMMAND, Key::Enter));
        if run.clicked() || keys {
            let text = self.text.clone();
            self.run(cx.jobs, &text);
        }
        let modes = [(Mode::Rows, "Rows"), (Mode::Plan, "Plan"), (Mode::Plot, "Plot")];
        theme::segmented(ui, "Result", &mut self.mode, &modes);
        ui.menu_button("History", |ui| {
            if self.history.is_empty() {
                ui.label("No statement was run yet");
            }
            for sql in self.history.clone() {
                let line: String =
                    sql.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(90).collect();
                if ui.button(theme::mono(line)).on_hover_text(theme::mono(sql.as_str())).clicked() {
                    self.text = sql;
                    ui.close();
                }
            }
        });
        ui.menu_button("Tables", |ui| {
            for table in self.known.clone().iter() {
                let words = format!("{} · {} rows · {} columns", table.name, table.rows, table.columns.len());
                if ui.button(words).clicked() {
                    self.text.push_str(&gander::query::quoted(&table.name));
                    ui.close();
                }
            }
            ui.label("Other files are named in quotes: FROM 'data/*.parquet'");
        });
    }

    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        self.learn(cx.jobs);
        let whole = ui.available_rect_before_wrap();
        let height = (whole.height() * 0.4).clamp(60.0, 190.0);
        let top = Rect::from_min_size(whole.min, vec2(whole.width(), height));
        ui.painter().rect_filled(top, 0.0, Theme::of(ui).bg2);
        let mut upper = ui.new_child(UiBuilder::new().max_rect(top).id_salt("statement"));
        upper.shrink_clip_rect(top);
        self.editor(&mut upper, cx);
        let line = Rect::from_min_size(top.left_bottom(), vec2(whole.width(), size::BAR));
        ui.painter().rect_filled(line, 0.0, Theme::of(ui).bg1);
        let middle = UiBuilder::new().max_rect(line.shrink2(vec2(space::S2, 4.0))).id_salt("middle");
        self.middle(&mut ui.new_child(middle));
        let rest = Rect::from_min_max(pos2(whole.left(), line.bottom()), whole.max);
        let mut lower = ui.new_child(UiBuilder::new().max_rect(rest).id_salt(("result", self.current)));
        lower.shrink_clip_rect(rest);
        self.result(&mut lower, rest, cx);
    }

    fn request(&mut self, request: &Request, cx: &mut ViewCx<'_>) -> bool {
        let view = self.runs.get_mut(self.current).and_then(|run| run.view.as_mut());
        view.is_some_and(|(_, view)| view.request(request, cx))
    }

    fn export(&self) -> Option<(String, Data)> {
        let run = self.runs.get(self.current)?;
        let (answer, view) = run.view.as_ref()?;
        let whole = || (format!("the result: {} rows", answer.rows()), Data::Table(answer.clone()));
        Some(view.export().unwrap_or_else(whole))
    }

    fn keep(&self) -> Value {
        json!({ "statement": self.text, "history": self.history })
    }

    fn restore(&mut self, kept: &Value) {
        if let Some(text) = kept.get("statement").and_then(Value::as_str) {
            text.clone_into(&mut self.text);
        }
        self.history =
            serde_json::from_value(kept.get("history").cloned().unwrap_or_default()).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests;
