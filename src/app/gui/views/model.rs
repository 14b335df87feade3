//! The view of what holds tensors: a model, a checkpoint, a group of arrays. Its parameters as a table that fills in while
//! one looks, in groups that fold or as a plain table; what is wrong with them ([`health`]); where they are
//! ([`treemap`]); and its contents as any other group's.

pub(crate) mod compare;
mod health;
mod rows;
#[cfg(test)]
mod tests;
mod treemap;

use std::sync::Arc;
use std::time::{Duration, Instant};

use egui::{Rect, RichText, Ui, UiBuilder, pos2, vec2};
use gander::bytes::display;
use gander::data::content::{Content, Kind};
use gander::data::format::Data;
use gander::data::health::{Health, examine};
use gander::data::parameters::groups::Grouping;
use gander::data::parameters::{Misplaced, Parameters, Tensor, Tensors};
use gander::jobs::{JobSpec, Slot};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::graph::{self, GraphView};
use super::table::TableView;
use super::{
    Request, Subject, Target, View, ViewCommand, ViewCx, group, labels, restored, run as run_command, saved,
};
use crate::gui::commands::{ALT, Action, Label, Where};
use crate::gui::icons::Icon;
use crate::gui::settings::{ModelStart, Preferences};
use crate::gui::theme::{self, Theme, size, space};
use crate::gui::ui::{drop_down, drop_form, splitter};
use compare::{Comparison, Reference};
use rows::{Compared, Kept, Rows, RowsCx};
use treemap::Treemap;

/// The view of a node below which there may be tensors.
pub(crate) fn make(target: &Target) -> Box<dyn View> {
    if let Some(Content::Graph(graph)) = &target.node.content {
        return Box::new(Model { mode: Mode::Graph, graph: Some(GraphView::new(graph)), ..Model::default() });
    }
    let of_file = target.node.formats.last().copied().unwrap_or(target.document.format);
    if !of_file.reads.contains(&Kind::Array) {
        return group::make();
    }
    let mode = if of_file.holds_weights { Mode::Parameters } else { Mode::Contents };
    Box::new(Model { mode, ..Model::default() })
}

/// What is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Mode {
    /// How they are connected, where the node is a graph.
    Graph,
    /// The nodes or edges of the graph, as tables.
    Nodes,
    /// The tensors.
    Parameters,
    /// What is wrong with them.
    Health,
    /// What lies in the node.
    #[default]
    Contents,
}

/// How the tensors stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Arrangement {
    #[default]
    Modules,
    Dtypes,
    Files,
    /// As a plain table, with all that tables can.
    Table,
}

impl Arrangement {
    const ALL: [Arrangement; 4] =
        [Arrangement::Modules, Arrangement::Dtypes, Arrangement::Files, Arrangement::Table];

    fn words(self) -> &'static str {
        match self {
            Arrangement::Modules => "By module",
            Arrangement::Dtypes => "By dtype",
            Arrangement::Files => "By file",
            Arrangement::Table => "Plain table",
        }
    }

    fn grouping(self) -> Grouping {
        match self {
            Arrangement::Modules | Arrangement::Table => Grouping::Module,
            Arrangement::Dtypes => Grouping::Dtype,
            Arrangement::Files => Grouping::File,
        }
    }
}

/// The tensors of the node.
struct Listed {
    parameters: Parameters,
    problems: Vec<Misplaced>,
    bytes: u64,
}

/// What a pass over all of them told.
struct Examined {
    health: Health,
    took: Duration,
}

/// Tensors of so many bytes together are gone through without being asked.
const BY_ITSELF: u64 = 32 << 30;
/// While a pass runs the view looks again so often.
const AGAIN: Duration = Duration::from_millis(100);
/// The least heights of the table and of the treemap, in points.
const LEAST: [f32; 2] = [120.0, 60.0];
/// In a narrower bar the options are in a menu, in points.
const NARROW: f32 = 400.0;
/// Below this width of the toolbar, the five modes of a graph are a menu.
const NARROW_MODES: f32 = 640.0;
/// The part of the height that the treemap has at first.
const TREEMAP: f32 = 0.32;

/// The state of the view.
struct Model {
    mode: Mode,
    arrangement: Arrangement,
    contents: Box<dyn View>,
    graph: Option<GraphView>,
    listed: Slot<(), Listed>,
    examined: Slot<(), Examined>,
    /// Whether the pass was asked for where it does not begin by itself.
    asked: bool,
    rows: Rows,
    table: Option<(Arc<Listed>, TableView)>,
    treemap: Treemap,
    with_treemap: bool,
    /// The part of the height that the treemap has.
    part: f32,
    find: String,
    focus_find: bool,
    kept: Kept,
    comparison: Comparison,
}

impl Default for Model {
    fn default() -> Self {
        Model {
            mode: Mode::default(),
            arrangement: Arrangement::default(),
            contents: group::make(),
            graph: None,
            listed: Slot::default(),
            examined: Slot::default(),
            asked: false,
            rows: Rows::default(),
            table: None,
            treemap: Treemap::default(),
            with_treemap: true,
            part: TREEMAP,
            find: String::new(),
            focus_find: false,
            kept: Kept::All,
            comparison: Comparison::default(),
        }
    }
}

/// Shows the nth tensor.
fn open(n: usize, which: Where, listed: &Listed, cx: &mut ViewCx<'_>) {
    let (Some(of), Some(tensor)) = (cx.target, listed.parameters.tensors().get(n)) else { return };
    cx.actions.push(Action::Show(target_of(of, tensor), which));
}

/// The nth tensor, to be compared with others.
fn reference(n: usize, listed: &Listed, cx: &ViewCx<'_>) -> Option<Reference> {
    let tensor = listed.parameters.tensors().get(n)?;
    let file = cx.target?.document.source.name();
    Some(Reference { name: format!("{file}#{}", tensor.path), array: tensor.array.clone() })
}

/// A tensor as a target.
fn target_of(of: &Target, tensor: &Tensor) -> Target {
    let Target { file, document, .. } = of.clone();
    Target { file, document, path: tensor.path.clone(), node: tensor.node.clone() }
}

impl Model {
    /// The tensors; says why they are not there yet.
    fn listed(&mut self, ui: &mut Ui, cx: &ViewCx<'_>) -> Option<Arc<Listed>> {
        let target = cx.target?;
        let (node, path) = (target.node.clone(), target.path.clone());
        let spec = JobSpec::once(format!("tensors of {}", cx.title()));
        let shown = self.listed.get(cx.jobs, &(), spec, move |task| {
            let found = Tensors::below(task, &node, &path)?;
            let parameters = Parameters::new(found.all);
            let bytes = parameters.tensors().iter().fold(0u64, |sum, one| sum.saturating_add(one.bytes()));
            Ok(Listed { parameters, problems: found.problems, bytes })
        });
        if let Some(error) = &shown.error {
            if error.is_cancelled() {
                if theme::cancelled(ui, "Not all tensors were listed.") {
                    self.listed.clear();
                }
            } else {
                theme::empty_state(ui, Icon::Problem, "This could not be listed", &error.to_string());
            }
            return None;
        }
        let listed = shown.value;
        if listed.is_none() {
            theme::pending(ui, ui.scope_id().with("tensors"), "Listing tensors…");
        }
        listed
    }

    /// What a pass over all tensors told, or that it runs.
    fn examined(&mut self, ui: &Ui, cx: &ViewCx<'_>, listed: &Arc<Listed>) -> Pass {
        if listed.bytes > BY_ITSELF && !self.asked {
            return Pass::Waits;
        }
        let Some(target) = cx.target else { return Pass::Waits };
        let (node, of) = (target.node.clone(), listed.clone());
        let count = display::plural(listed.parameters.tensors().len() as u64, "tensor");
        let spec = JobSpec::scan(format!("values of {count}"));
        let shown = self.examined.get(cx.jobs, &(), spec, move |task| {
            let since = Instant::now();
            let health = examine(task, &node, &of.parameters, &of.problems)?;
            Ok(Examined { health, took: since.elapsed() })
        });
        match (shown.ready(), &shown.error) {
            (Some(examined), _) => Pass::Ended(examined),
            (None, Some(error)) => Pass::Stopped(error.to_string()),
            (None, None) => {
                ui.ctx().request_repaint_after(AGAIN);
                Pass::Runs(shown.progress())
            }
        }
    }

    fn parameters_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let Some(listed) = self.listed(ui, cx) else { return };
        if listed.parameters.tensors().is_empty() {
            let words = "There is no array of numbers in here; its contents are one click away.";
            theme::empty_state(ui, Icon::Tensor, "No tensors", words);
            return;
        }
        let pass = self.examined(ui, cx, &listed);
        cx.status.facts = facts(&listed);
        let clicked = health::summary(ui, &listed, &pass);
        self.take(clicked, &listed, cx);
        self.comparison.ui(ui, cx.jobs);
        let whole = ui.available_rect_before_wrap();
        let mut border = whole.bottom();
        if self.with_treemap && whole.height() > LEAST[0] + LEAST[1] {
            let height = (whole.height() * self.part).clamp(LEAST[1], whole.height() - LEAST[0]);
            border = (whole.bottom() - height).round();
        }
        let top = Rect::from_min_max(whole.min, pos2(whole.right(), border));
        let mut upper = ui.new_child(UiBuilder::new().max_rect(top).id_salt("tensors"));
        upper.shrink_clip_rect(top);
        match self.arrangement {
            Arrangement::Table => self.plain(&mut upper, cx, &listed),
            _ => self.grouped(&mut upper, cx, &listed, &pass),
        }
        if border < whole.bottom() {
            let below = Rect::from_min_max(pos2(whole.left(), border), whole.max);
            let mut lower = ui.new_child(UiBuilder::new().max_rect(below).id_salt("treemap"));
            lower.shrink_clip_rect(below);
            let path = cx.target.map_or("", |target| target.path.as_str());
            let chosen = self.treemap.ui(&mut lower, cx.jobs, &listed.parameters, path);
            cx.status.under =
                self.treemap.under(&listed.parameters).unwrap_or_else(|| cx.status.under.clone());
            if let Some((n, which)) = chosen {
                open(n, which, &listed, cx);
            }
            let by = splitter(
                ui,
                ui.scope_id().with("treemap border"),
                "Border above the treemap",
                whole.x_range(),
                border,
            );
            if by != 0.0 {
                self.part = ((whole.bottom() - border - by) / whole.height()).clamp(0.05, 0.9);
            }
        }
        ui.allocate_rect(whole, egui::Sense::hover());
    }

    /// The tensors in groups.
    fn grouped(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>, listed: &Arc<Listed>, pass: &Pass) {
        let path = cx.target.map_or("", |target| target.path.as_str());
        let findings = match pass {
            Pass::Ended(examined) => examined.health.findings.as_slice(),
            Pass::Waits | Pass::Runs(_) | Pass::Stopped(_) => &[],
        };
        self.rows.update(
            cx.jobs,
            listed,
            self.arrangement.grouping(),
            path,
            (&self.find, self.kept),
            findings,
        );
        let mut actions = Vec::new();
        let of_rows = RowsCx {
            listed,
            of: cx.target,
            title: cx.title(),
            runs: pass.runs(),
            reference: cx.workspace.reference.as_ref(),
            actions: &mut actions,
        };
        let did = self.rows.ui(ui, of_rows);
        cx.actions.append(&mut actions);
        match did.compared {
            Some(Compared::With(n)) => cx.workspace.reference = reference(n, listed, cx),
            Some(Compared::Itself(n)) => {
                if let Some((one, other)) = cx.workspace.reference.clone().zip(reference(n, listed, cx)) {
                    self.comparison.begin(one, other);
                }
            }
            None => {}
        }
        cx.actions.extend(did.copied.into_iter().map(Action::Copy));
        if let Some(under) = did.under {
            cx.status.under = under;
        }
        if let Some(n) = did.opened {
            open(n, Where::Kept, listed, cx);
        }
    }

    /// The tensors as a table like any other.
    fn plain(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>, listed: &Arc<Listed>) {
        let (_, view) = match &mut self.table {
            Some(table) if Arc::ptr_eq(&table.0, listed) => table,
            table => {
                let rows = Arc::new(listed.parameters.clone());
                table.insert((listed.clone(), TableView::new("parameters", rows)))
            }
        };
        let outer = ui.available_rect_before_wrap();
        let bar = Rect::from_min_size(outer.min, vec2(outer.width(), size::TOOLBAR));
        ui.painter().hline(bar.x_range(), bar.bottom() - 0.5, Theme::of(ui).hairline());
        let inner = bar.shrink2(vec2(space::S3, 0.0));
        let across = egui::Layout::left_to_right(egui::Align::Center);
        let mut child = ui.new_child(UiBuilder::new().max_rect(inner).layout(across).id_salt("bar"));
        child.shrink_clip_rect(bar);
        view.toolbar(&mut child, cx);
        let rest = Rect::from_min_max(pos2(outer.left(), bar.bottom()), outer.max);
        view.ui(&mut ui.new_child(UiBuilder::new().max_rect(rest).id_salt("rows")), cx);
    }

    fn health_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let Some(listed) = self.listed(ui, cx) else { return };
        let pass = self.examined(ui, cx, &listed);
        cx.status.facts = facts(&listed);
        let clicked = health::all(ui, &listed, &pass);
        self.take(clicked, &listed, cx);
    }

    /// Does what was clicked in the findings.
    fn take(&mut self, clicked: Option<health::Clicked>, listed: &Arc<Listed>, cx: &mut ViewCx<'_>) {
        match clicked {
            None => {}
            Some(health::Clicked::Begin) => {
                self.asked = true;
                self.examined.clear();
            }
            Some(health::Clicked::All) => self.mode = Mode::Health,
            Some(health::Clicked::Go(path, index)) => {
                let tensor = listed.parameters.tensors().iter().find(|tensor| tensor.path == path);
                let Some((of, tensor)) = cx.target.zip(tensor) else { return };
                cx.actions.push(Action::Show(target_of(of, tensor), Where::Kept));
                cx.actions.extend(index.map(|index| Action::Ask(Request::Element(index))));
            }
        }
    }

    /// The table that is shown whole, where it is.
    fn table(&self) -> Option<&TableView> {
        let shown = self.mode == Mode::Parameters && self.arrangement == Arrangement::Table;
        self.table.as_ref().map(|(_, table)| table).filter(|_| shown)
    }

    fn table_mut(&mut self) -> Option<&mut TableView> {
        let shown = self.mode == Mode::Parameters && self.arrangement == Arrangement::Table;
        self.table.as_mut().map(|(_, table)| table).filter(|_| shown)
    }

    fn choose(&mut self, mode: Mode) -> bool {
        self.mode = mode;
        true
    }

    /// The graph, where it or its tables are shown.
    fn graph(&self) -> Option<&GraphView> {
        self.graph.as_ref().filter(|_| matches!(self.mode, Mode::Graph | Mode::Nodes))
    }

    fn graph_mut(&mut self) -> Option<&mut GraphView> {
        let mode = self.mode;
        self.graph.as_mut().filter(|_| matches!(mode, Mode::Graph | Mode::Nodes))
    }

    /// The part of the view that has commands of its own.
    fn part(&self) -> Option<&dyn View> {
        self.table().map(|table| table as &dyn View).or(self.graph().map(|graph| graph as &dyn View))
    }

    fn part_mut(&mut self) -> Option<&mut dyn View> {
        match self.mode {
            Mode::Graph | Mode::Nodes => self.graph_mut().map(|graph| graph as &mut dyn View),
            _ => self.table_mut().map(|table| table as &mut dyn View),
        }
    }

    /// Shows of the graph what was chosen in the bar.
    fn follow_graph(&mut self) {
        let Some(graph) = &mut self.graph else { return };
        match self.mode {
            Mode::Graph => drop(graph.choose(graph::Mode::Graph)),
            Mode::Nodes if graph.mode() == graph::Mode::Graph => drop(graph.choose(graph::Mode::Nodes)),
            _ => {}
        }
    }

    fn options(&mut self, ui: &mut Ui) {
        drop_down(ui, self.arrangement.words(), "How tensors are grouped", |ui| {
            for one in Arrangement::ALL {
                ui.radio_value(&mut self.arrangement, one, one.words());
            }
        });
        if self.arrangement != Arrangement::Table {
            drop_down(ui, self.kept.words(), "Which tensors are shown", |ui| {
                for one in Kept::ALL {
                    ui.radio_value(&mut self.kept, one, one.words());
                }
            });
            let width = (ui.available_width() - 120.0).clamp(40.0, 200.0);
            let edit =
                egui::TextEdit::singleline(&mut self.find).hint_text("Names with…").desired_width(width);
            let edit = ui.add(edit.margin(egui::Margin::symmetric(8, 4)));
            edit.widget_info(|| egui::WidgetInfo::labeled(egui::Role::TextInput, true, "Names with"));
            if std::mem::take(&mut self.focus_find) {
                edit.request_focus();
            }
            let escaped = ui.input(|input| input.key_pressed(egui::Key::Escape));
            if (edit.has_focus() || edit.lost_focus()) && escaped {
                self.find.clear();
            }
        }
        let words = RichText::new("Treemap").color(Theme::of(ui).dim);
        ui.checkbox(&mut self.with_treemap, words);
    }
}

/// How far a pass over all tensors is.
enum Pass {
    /// It is large, and nobody asked for it.
    Waits,
    Runs(Option<f32>),
    Stopped(String),
    Ended(Arc<Examined>),
}

impl Pass {
    fn runs(&self) -> bool {
        matches!(self, Pass::Runs(_))
    }
}

/// The tensors in a few words.
fn facts(listed: &Listed) -> String {
    let tensors = listed.parameters.tensors().len() as u64;
    let parameters = display::short_count(listed.parameters.total());
    let count = display::plural(tensors, "tensor");
    format!("{count} · {parameters} parameters · {}", display::bytes(listed.bytes))
}

const COMMANDS: &[ViewCommand<Model>] = &[
    ViewCommand::new(Label::new("Show parameters", Icon::Tensor).keys(ALT, egui::Key::Num1), |view, _| {
        view.choose(Mode::Parameters)
    }),
    ViewCommand::new(Label::new("Show health", Icon::Statistics).keys(ALT, egui::Key::Num2), |view, _| {
        view.choose(Mode::Health)
    }),
    ViewCommand::new(Label::new("Show contents", Icon::List).keys(ALT, egui::Key::Num3), |view, _| {
        view.choose(Mode::Contents)
    }),
    ViewCommand::new(Label::new("Show or hide the treemap", Icon::Group).apart(), |view, _| {
        view.with_treemap = !view.with_treemap;
        view.mode == Mode::Parameters
    }),
    ViewCommand::new(Label::new("Open all groups of tensors", Icon::Plus).apart(), |view, _| {
        view.rows.open_all();
        view.mode == Mode::Parameters
    }),
    ViewCommand::new(Label::new("Close all groups of tensors", Icon::List), |view, _| {
        view.rows.close_all();
        view.mode == Mode::Parameters
    }),
];

impl View for Model {
    fn toolbar(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let modes = [
            (Mode::Graph, "Graph"),
            (Mode::Nodes, "Nodes"),
            (Mode::Parameters, "Parameters"),
            (Mode::Health, "Health"),
            (Mode::Contents, "Contents"),
        ];
        let skipped = if self.graph.is_some() { 0 } else { 2 };
        let modes = &modes[skipped..];
        if skipped == 0 && ui.available_width() < NARROW_MODES {
            let words = modes.iter().find(|(mode, _)| *mode == self.mode).map_or("Show", |(_, words)| *words);
            drop_down(ui, words, "Show", |ui| {
                for (mode, words) in modes {
                    ui.radio_value(&mut self.mode, *mode, *words);
                }
            });
        } else {
            theme::segmented(ui, "Show", &mut self.mode, modes);
        }
        ui.add_space(space::S1);
        self.follow_graph();
        match self.mode {
            Mode::Parameters if ui.available_width() < NARROW => {
                drop_form(ui, "Options", "How tensors are shown", |ui| self.options(ui));
            }
            Mode::Parameters => self.options(ui),
            Mode::Health => {}
            Mode::Contents => self.contents.toolbar(ui, cx),
            Mode::Graph | Mode::Nodes => {
                if let Some(graph) = &mut self.graph {
                    graph.options(ui, cx);
                }
            }
        }
    }

    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        match self.mode {
            Mode::Parameters => self.parameters_ui(ui, cx),
            Mode::Health => self.health_ui(ui, cx),
            Mode::Contents => self.contents.ui(ui, cx),
            Mode::Graph | Mode::Nodes => {
                if let Some(graph) = &mut self.graph {
                    graph.ui(ui, cx);
                    // It has commands of its own that choose what is shown.
                    self.mode = if graph.mode() == graph::Mode::Graph { Mode::Graph } else { Mode::Nodes };
                }
            }
        }
    }

    fn commands(&self) -> Vec<&'static Label> {
        let mut all = labels(COMMANDS);
        all.extend(self.part().map(View::commands).unwrap_or_default());
        all
    }

    fn run(&mut self, at: usize, cx: &mut ViewCx<'_>) -> bool {
        match (at.checked_sub(COMMANDS.len()), self.part_mut()) {
            (Some(at), Some(part)) => part.run(at, cx),
            (Some(_), None) => false,
            (None, _) => run_command(COMMANDS, at, self, cx),
        }
    }

    fn takes_keys(&self, ui: &Ui) -> bool {
        match self.part() {
            Some(part) => part.takes_keys(ui),
            None => !ui.ctx().text_edit_focused(),
        }
    }

    fn subject(&self) -> Subject {
        self.graph().map_or(Subject::Node, View::subject)
    }

    fn is_drawing(&self) -> bool {
        self.graph().is_some_and(View::is_drawing)
    }

    fn request(&mut self, request: &Request, cx: &mut ViewCx<'_>) -> bool {
        if self.mode == Mode::Contents {
            return self.contents.request(request, cx);
        }
        if let Some(part) = self.part_mut() {
            return part.request(request, cx);
        }
        if *request == Request::Find {
            self.mode = Mode::Parameters;
            self.focus_find = true;
            return true;
        }
        false
    }

    fn export(&self) -> Option<(String, Data)> {
        if let Some(graph) = self.graph() {
            return graph.export();
        }
        self.table().filter(|_| self.mode == Mode::Parameters)?.export()
    }

    /// What is usually wanted of a model are its tensors; the table of them is beside.
    fn other_parts(&self) -> Vec<(String, Data)> {
        let listed = self.listed.peek(&()).ready();
        let listed = listed.filter(|_| self.mode == Mode::Parameters && self.table().is_none());
        let table = |listed: &Listed| Data::Table(Arc::new(listed.parameters.clone()));
        listed.map(|listed| ("the table of parameters".to_owned(), table(&listed))).into_iter().collect()
    }

    fn save(&self) -> Value {
        saved(&ModelState {
            mode: Some(self.mode),
            arrangement: self.arrangement,
            kept: self.kept,
            find: self.find.clone(),
            treemap: self.with_treemap,
            part: self.part,
            contents: self.contents.save(),
            graph: self.graph.as_ref().map(View::save).unwrap_or_default(),
        })
    }

    fn prefer(&mut self, preferences: &Preferences) {
        // What holds no weights has its contents alone.
        if self.mode == Mode::Parameters {
            self.mode = match preferences.model {
                ModelStart::Usual | ModelStart::Parameters => Mode::Parameters,
                ModelStart::Health => Mode::Health,
                ModelStart::Contents => Mode::Contents,
            };
        }
    }

    fn restore(&mut self, kept: &Value) {
        let state: ModelState = restored(kept);
        let mode = state.mode.unwrap_or(self.mode);
        let is_of_graph = matches!(mode, Mode::Graph | Mode::Nodes);
        self.mode = if is_of_graph && self.graph.is_none() { self.mode } else { mode };
        if let Some(graph) = &mut self.graph {
            graph.restore(&state.graph);
        }
        (self.arrangement, self.kept, self.find) = (state.arrangement, state.kept, state.find);
        self.with_treemap = state.treemap;
        self.part = if state.part.is_finite() { state.part.clamp(0.05, 0.9) } else { TREEMAP };
        self.contents.restore(&state.contents);
    }
}

/// What a session keeps.
#[derive(Serialize, Deserialize)]
#[serde(default)]
struct ModelState {
    mode: Option<Mode>,
    arrangement: Arrangement,
    kept: Kept,
    find: String,
    treemap: bool,
    part: f32,
    contents: Value,
    graph: Value,
}

impl Default for ModelState {
    fn default() -> Self {
        ModelState {
            mode: None,
            arrangement: Arrangement::default(),
            kept: Kept::default(),
            find: String::new(),
            treemap: true,
            part: TREEMAP,
            contents: Value::Null,
            graph: Value::Null,
        }
    }
}
