//! The view of a graph: its operators as boxes in layers, groups that open in place, the ways to and from an operator; its
//! nodes and edges as tables. Layout, search and ways are jobs; a frame draws what they made.

mod draw;
mod edge_labels;
mod find;
mod input;
mod paths;
mod scene;
mod search;
#[cfg(test)]
mod tests;
mod walk;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use egui::{Key, Modifiers, Rect, Role, Sense, Ui, WidgetInfo};
use gander::bytes::display;
use gander::data::adapt::graph as tables;
use gander::data::content::Table;
use gander::data::content::graph::{Graph, ValueId};
use gander::data::format::Data;
use gander::data::graph::labels::short;
use gander::data::graph::{GroupId, Item, Layouts};
use gander::jobs::{JobSpec, Slot};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::references::ReferenceResolver;
use super::table::TableView;
use super::{
    Request, Subject, View, ViewCommand, ViewCx, ZOOM_FIT, ZOOM_IN, ZOOM_OUT, labels, restored,
    run as run_command, saved,
};
use crate::gui::commands::Label;
use crate::gui::icons::Icon;
use crate::gui::target::{GraphPart, GraphPlace};
use crate::gui::theme::{self, Theme, space};
use crate::gui::ui::canvas::Camera;
use crate::gui::ui::{drop_down, drop_form};
use draw::{Coloured, Look};
use paths::{OnWay, Ways};
use scene::{Outlined, Scene};
use search::Search;

/// About so many boxes are in sight at first.
const FIRST: usize = 32;
/// Where all of a graph would be smaller than this, its beginning is shown instead.
const LEGIBLE: f64 = 0.5;
/// A point of the layout is at most so many of the screen.
const LARGEST: f64 = 2.5;
/// In a narrower bar colours and ways are in a menu, in points.
const WIDE: f32 = 640.0;
/// In a narrower one there is nothing but the menu and the search.
const NARROW: f32 = 300.0;
/// Groups are opened all at once up to so many nodes.
const MOST_OPEN: usize = 100_000;

/// The view of a node that is a graph.
pub(super) fn make(graph: &Arc<Graph>) -> Box<dyn View> {
    Box::new(GraphView::new(graph))
}

/// What is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Mode {
    #[default]
    Graph,
    Nodes,
    Edges,
}

impl Mode {
    /// The modes and their names.
    pub(super) const ALL: [(Mode, &'static str); 3] =
        [(Mode::Graph, "Graph"), (Mode::Nodes, "Nodes"), (Mode::Edges, "Edges")];
}

/// A body that was entered: the node, which of its bodies, and what it is called.
struct Body {
    node: u32,
    number: u32,
    name: String,
    graph: Arc<Graph>,
}

/// What the boxes of one graph are: forgotten where another one is entered.
#[derive(Default)]
struct Shown {
    outlined: Slot<bool, Outlined>,
    layouts: Arc<Mutex<Layouts>>,
    scenes: Slot<Vec<GroupId>, Scene>,
    /// The newest scene, shown until another is made.
    scene: Option<Arc<Scene>>,
    open: Option<BTreeSet<GroupId>>,
    /// What stays where it is when the next scene comes.
    anchor: Option<Item>,
    /// What is brought into the middle when it is there.
    wanted: Option<Item>,
    selected: Option<Item>,
    hovered: Option<usize>,
    way: Slot<(usize, Item, Ways), OnWay>,
}

/// The state of the view.
pub(super) struct GraphView {
    graph: Arc<Graph>,
    mode: Mode,
    bodies: Vec<Body>,
    shown: Shown,
    camera: Camera,
    coloured: Coloured,
    ways: Ways,
    /// Whether nodes that make constants are boxes.
    with_constants: bool,
    search: Search,
    tables: Slot<Mode, Arc<dyn Table>>,
    table: Option<(Mode, Arc<dyn Table>, TableView)>,
    resolver: ReferenceResolver,
    /// Whether the pointer holds the map.
    on_map: bool,
    /// Paths of groups that were open in an earlier session.
    kept_open: Option<Vec<String>>,
}

impl GraphView {
    pub(super) fn new(graph: &Arc<Graph>) -> Self {
        GraphView {
            graph: graph.clone(),
            mode: Mode::Graph,
            bodies: Vec::new(),
            shown: Shown::default(),
            camera: Camera::default(),
            coloured: Coloured::default(),
            ways: Ways::default(),
            with_constants: false,
            search: Search::default(),
            tables: Slot::default(),
            table: None,
            resolver: ReferenceResolver::default(),
            on_map: false,
            kept_open: None,
        }
    }

    /// What is shown.
    pub(super) fn mode(&self) -> Mode {
        self.mode
    }

    /// Shows another thing.
    pub(super) fn choose(&mut self, mode: Mode) -> bool {
        self.mode = mode;
        true
    }

    /// The graph that is looked at: the node's own, or a body.
    fn current(&self) -> &Arc<Graph> {
        self.bodies.last().map_or(&self.graph, |body| &body.graph)
    }

    /// Looks at the first body of a node, or at the function that it calls.
    fn enter(&mut self, node: u32) -> bool {
        let graph = self.current().clone();
        let Some(operation) = graph.nodes().get(node as usize) else { return false };
        if let Some((name, body)) = operation.subgraphs.first() {
            let title = if operation.name.is_empty() { &operation.operator } else { &operation.name };
            let name = format!("{title}.{name}");
            self.bodies.push(Body { node, number: 0, name, graph: body.clone() });
            self.leave_scene();
            return true;
        }
        if let Some(function) = &operation.function {
            self.resolver.start(function.to_string());
            return true;
        }
        false
    }

    /// Back to the graph at a place of the trail.
    fn back_to(&mut self, depth: usize) {
        self.bodies.truncate(depth);
        self.leave_scene();
    }

    fn leave_scene(&mut self) {
        self.shown = Shown::default();
        (self.camera, self.table) = (Camera::default(), None);
        self.tables.clear();
        self.search.leave();
    }

    /// What is known of the graph; asks for it.
    fn outlined(&mut self, ui: &mut Ui, cx: &ViewCx<'_>) -> Option<Arc<Outlined>> {
        let graph = self.current().clone();
        let spec = JobSpec::once(format!("outline of {}", cx.title()));
        let all = self.with_constants;
        let shown =
            self.shown.outlined.get(cx.jobs, &all, spec, move |task| Outlined::make(task, &graph, all));
        let slot = &self.shown.outlined;
        let ready = shown.ready();
        if let (None, Some(error)) = (&ready, &shown.error) {
            said(ui, error, || slot.clear());
        } else if ready.is_none() {
            theme::pending(ui, ui.scope_id().with("outline"), "Reading the graph…");
        }
        ready
    }

    /// The groups that are open, at first as many as fit a screen.
    fn open(&mut self, of: &Outlined) -> BTreeSet<GroupId> {
        let kept = self.kept_open.take();
        let first = || match kept {
            Some(paths) => paths.iter().filter_map(|path| of.outline.find(path)).collect(),
            None => of.outline.first_open(FIRST),
        };
        self.shown.open.get_or_insert_with(first).clone()
    }

    /// The newest scene; asks for that of what is open now.
    fn scene(&mut self, ui: &mut Ui, cx: &ViewCx<'_>, of: &Arc<Outlined>, place: Rect) -> Option<Arc<Scene>> {
        let open = self.open(of);
        let key: Vec<GroupId> = open.iter().copied().collect();
        let (outlined, layouts) = (of.clone(), self.shown.layouts.clone());
        let spec = JobSpec::once(format!("layout of {}", cx.title()));
        let shown = self
            .shown
            .scenes
            .get(cx.jobs, &key, spec, move |task| Scene::make(task, &outlined, &open, &layouts));
        if let Some(scene) = shown.ready()
            && self.shown.scene.as_ref().is_none_or(|before| !Arc::ptr_eq(before, &scene))
        {
            self.arrived(scene, place);
        }
        if self.shown.scene.is_none() {
            if let Some(error) = &shown.error {
                let slot = &self.shown.scenes;
                said(ui, error, || slot.clear());
            } else {
                theme::pending(ui, ui.scope_id().with("layout"), "Laying out the graph…");
            }
        }
        self.shown.scene.clone()
    }

    /// Takes a new scene: what was opened or closed stays where it is on the screen.
    fn arrived(&mut self, scene: Arc<Scene>, place: Rect) {
        let before = self.shown.scene.replace(scene.clone());
        self.shown.hovered = None;
        match before.zip(self.shown.anchor.take()) {
            Some((before, anchor)) => {
                if let Some(by) = scene.layout.moved(&before.layout, anchor) {
                    self.camera.fit = false;
                    self.camera.middle = [0, 1].map(|n| self.camera.middle[n] + f64::from(by[n]));
                }
            }
            None if self.camera.fit => self.first_look(&scene, place),
            None => {}
        }
        if let Some(item) = self.shown.wanted.take() {
            self.look_at(&scene, item);
        }
    }

    /// Brings all into sight. Boxes keep their proportions, however long the graph is.
    fn fit_into(&mut self, place: Rect, size: [f64; 2]) {
        let inner = place.shrink(12.0);
        let across = f64::from(inner.width()).max(1.0) / size[0].max(1.0);
        let down = f64::from(inner.height()).max(1.0) / size[1].max(1.0);
        self.camera.zoom = [across.min(down).min(1.0); 2];
        self.camera.middle = size.map(|side| side / 2.0);
        self.camera.fit = true;
    }

    /// All of a small graph; of a large one its beginning, so large that it can be read.
    fn first_look(&mut self, scene: &Scene, place: Rect) {
        let size = scene.size();
        self.fit_into(place, size);
        if self.camera.zoom[0] >= LEGIBLE || scene.layout.boxes.is_empty() {
            return;
        }
        let first = scene.layout.boxes.iter().filter(|placed| placed.parent.is_none());
        let first =
            first.min_by(|a, b| a.rect.y.total_cmp(&b.rect.y)).map(|placed| scene::rect_of(placed.rect));
        let x = first.map_or(size[0] / 2.0, |rect| f64::from(rect.center().x));
        self.camera.fit = false;
        self.camera.zoom = [0.85; 2];
        self.camera.middle = [x, f64::from(place.height()) / 2.0 / 0.85 - 12.0];
    }

    /// Brings an item into the middle, large enough to be read.
    fn look_at(&mut self, scene: &Scene, item: Item) {
        let Some(rect) = scene.rect(item) else { return };
        self.camera.fit = false;
        if self.camera.zoom[0] < LEGIBLE {
            self.camera.zoom = [0.85; 2];
        }
        // Of an open group the name is what is looked for.
        let middle = rect.center();
        let y = if rect.height() > 400.0 { rect.top() + 160.0 } else { middle.y };
        self.camera.middle = [f64::from(middle.x), f64::from(y)];
    }

    /// Opens a closed group, closes an open one.
    fn toggle(&mut self, group: GroupId) {
        let Some(open) = &mut self.shown.open else { return };
        if !open.remove(&group) {
            open.insert(group);
        }
        self.shown.anchor = Some(Item::Group(group));
    }

    /// Opens all groups, or closes them.
    fn open_all(&mut self, all: bool) -> bool {
        let Some(of) = self.shown.outlined.peek(&self.with_constants).ready() else { return false };
        let is_many = of.graph.nodes().len() > MOST_OPEN;
        self.shown.open = Some(match all {
            true if is_many => of.outline.first_open(MOST_OPEN),
            true => of.outline.all(),
            false => BTreeSet::new(),
        });
        self.camera.fit = true;
        self.mode == Mode::Graph
    }

    /// Selects a node and opens the groups around it.
    fn reveal(&mut self, of: &Outlined, node: u32) {
        if of.outline.is_hidden(node) {
            self.show_constants(true);
            self.shown.selected = Some(Item::Node(node));
        }
        let mut open = self.open(of);
        of.outline.reveal(node, &mut open);
        let item = Item::Node(node);
        self.shown.selected = Some(item);
        if self.shown.open.as_ref() == Some(&open) {
            if let Some(scene) = self.shown.scene.clone() {
                self.look_at(&scene, item);
            }
        } else {
            self.shown.open = Some(open);
            self.shown.wanted = Some(item);
        }
    }

    /// Whether nodes that make constants are boxes.
    fn show_constants(&mut self, all: bool) {
        self.with_constants = all;
        self.shown.layouts = Arc::default();
        self.shown.scenes.clear();
        self.shown.way.clear();
    }

    fn zoom(&mut self, factor: Option<f64>) -> bool {
        let Some(scene) = self.shown.scene.clone().filter(|_| self.mode == Mode::Graph) else { return false };
        match factor {
            Some(factor) => {
                self.camera.fit = false;
                let zoom = (self.camera.zoom[0] * factor).clamp(1e-3, LARGEST);
                self.camera.zoom = [zoom; 2];
            }
            None => {
                self.camera.fit = !scene.layout.boxes.is_empty();
            }
        }
        true
    }

    /// Draws the graph and takes its input.
    fn graph_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let place = ui.available_rect_before_wrap();
        let theme = Theme::of(ui);
        ui.painter().rect_filled(place, 0.0, theme.bg2);
        let Some(of) = self.outlined(ui, cx) else { return };
        if of.graph.nodes().is_empty() && of.graph.inputs.is_empty() && of.graph.outputs.is_empty() {
            theme::empty_state(ui, Icon::Module, "An empty graph", "The file has a graph without nodes.");
            return;
        }
        self.search.follow(cx.jobs, &of);
        if let Some(node) = self.search.wanted() {
            self.reveal(&of, node);
        }
        let Some(scene) = self.scene(ui, cx, &of, place) else { return };
        if self.camera.fit {
            self.fit_into(place, scene.size());
        }
        let response = ui.allocate_rect(place, Sense::click_and_drag());
        let words = format!("Graph of {}", display::plural(of.graph.nodes().len() as u64, "node"));
        response.widget_info(|| WidgetInfo::labeled(Role::Image, true, &words));
        self.pointer(ui, &response, &scene);
        let sight = self.camera.sight(place, scene.size());
        self.boxes(ui, &response, &scene, &of, &sight);
        crate::gui::node_menu::picture(&response, false, cx.actions);
        self.keys(ui, &response, &scene, &of);
        let way = self.way(cx, &of, &scene);
        let found = self.search.found();
        let look = Look {
            theme,
            scene: &scene,
            sight: &sight,
            coloured: self.coloured,
            selected: self.shown.selected,
            hovered: self.shown.hovered,
            way: way.as_deref(),
            found: found.as_deref(),
        };
        let painter = ui.painter().with_clip_rect(place);
        look.paint(&painter);
        look.legend(&painter, &scene.kinds);
        let map = look.map(&painter);
        self.map_input(&response, map);
        self.say(cx, &of, &scene, way.as_deref());
        if let Some(target) = cx.target {
            self.resolver.ui(cx.jobs, target, cx.actions);
        }
    }

    /// What lies on the ways of what is selected.
    fn way(&self, cx: &ViewCx<'_>, of: &Arc<Outlined>, scene: &Arc<Scene>) -> Option<Arc<OnWay>> {
        let item = self.shown.selected?;
        let (ways, key) = (self.ways, (Arc::as_ptr(scene) as usize, item, self.ways));
        let (of, scene) = (of.clone(), scene.clone());
        let spec = JobSpec::view("paths of a graph");
        let shown =
            self.shown.way.get(cx.jobs, &key, spec, move |task| paths::on_way(task, &of, &scene, item, ways));
        shown.ready()
    }

    /// What the status bar says.
    fn say(&self, cx: &mut ViewCx<'_>, of: &Outlined, scene: &Scene, way: Option<&OnWay>) {
        let nodes = display::plural(of.graph.nodes().len() as u64, "node");
        let [known, inferred, all] = of.shapes;
        let mut facts = vec![nodes];
        if of.parameters > 0 {
            facts.push(format!("{} parameters", short(of.parameters)));
        }
        if of.macs.sum() > 0 {
            let each = if of.macs.is_per_sample { " a sample" } else { "" };
            facts.push(format!("{} MACs{each}", short(of.macs.sum())));
        }
        if of.outline.hidden() > 0 {
            facts.push(format!("{} not shown", display::plural(of.outline.hidden(), "constant")));
        }
        // The edges of decision trees and programs carry no tensors.
        if known > 0 {
            let inferred = if inferred > 0 { format!(" ({inferred} inferred)") } else { String::new() };
            facts.push(format!("shapes of {known} of {all} edges{inferred}"));
        }
        cx.status.facts = facts.join(" · ");
        let item = self.shown.hovered.and_then(|number| Some(scene.layout.boxes.get(number)?.item));
        let Some(item) = item.or(self.shown.selected) else { return };
        let mut words = walk::name(of, item);
        if self.shown.selected == Some(item)
            && let Some(way) = way
        {
            if matches!(self.ways, Ways::Before | Ways::Both) {
                words.push_str(&format!(" · {} before it", display::plural(way.before, "node")));
            }
            if matches!(self.ways, Ways::After | Ways::Both) {
                words.push_str(&format!(" · {} after it", display::plural(way.after, "node")));
            }
        }
        cx.status.under = words;
    }

    /// The trail of bodies, search and options, in the bar.
    pub(super) fn options(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let mut back = None;
        if !self.bodies.is_empty() {
            let top = if self.graph.name.is_empty() { "graph" } else { &self.graph.name };
            let names = std::iter::once(top).chain(self.bodies.iter().map(|body| body.name.as_str()));
            for (depth, name) in names.enumerate() {
                if depth < self.bodies.len() {
                    if ui.link(gander::data::graph::labels::cut(name)).clicked() {
                        back = Some(depth);
                    }
                    ui.label(theme::dim(Theme::of(ui), "›"));
                } else {
                    ui.label(gander::data::graph::labels::cut(name));
                }
            }
        }
        if let Some(depth) = back {
            self.back_to(depth);
        }
        if self.mode != Mode::Graph {
            if let Some(table) = self.table(cx) {
                table.toolbar(ui, cx);
            }
            return;
        }
        let is_wide = ui.available_width() > WIDE;
        if is_wide {
            self.looks(ui);
        } else {
            drop_form(ui, "Options", "How the graph is shown", |ui| self.looks(ui));
        }
        if ui.available_width() > NARROW {
            if theme::button(ui, "Fold all").clicked() {
                self.open_all(false);
            }
            if theme::button(ui, "Fit").clicked() {
                self.zoom(None);
            }
        }
        self.search.ui(ui);
    }

    /// What colours say, which ways are shown, and whether constants are.
    fn looks(&mut self, ui: &mut Ui) {
        let mut all = self.with_constants;
        ui.checkbox(&mut all, theme::dim(Theme::of(ui), "Constants"));
        if all != self.with_constants {
            self.show_constants(all);
        }
        drop_down(ui, self.coloured.words(), "What the colours say", |ui| {
            for one in Coloured::ALL {
                ui.radio_value(&mut self.coloured, one, one.words());
            }
        });
        drop_down(ui, self.ways.words(), "Which ways of the selected node are shown", |ui| {
            for one in Ways::ALL {
                ui.radio_value(&mut self.ways, one, one.words());
            }
        });
    }

    /// The nodes or edges as a table like any other, once a job has made it.
    fn table(&mut self, cx: &ViewCx<'_>) -> Option<&mut TableView> {
        if self.shown_table().is_none() {
            let (mode, graph) = (self.mode, self.current().clone());
            let name = if mode == Mode::Nodes { "nodes" } else { "edges" };
            let spec = JobSpec::once(format!("{name} of {}", cx.title()));
            let shown = self.tables.get(cx.jobs, &mode, spec, move |task| {
                task.check()?;
                if mode == Mode::Nodes { tables::nodes(&graph) } else { tables::edges(&graph) }
            });
            let made: Arc<dyn Table> = (*shown.ready()?).clone();
            self.table = Some((mode, made.clone(), TableView::new(name, made)));
        }
        self.shown_table_mut()
    }

    fn shown_table(&self) -> Option<&TableView> {
        self.table.as_ref().filter(|(made, ..)| *made == self.mode).map(|(.., table)| table)
    }

    fn shown_table_mut(&mut self) -> Option<&mut TableView> {
        let mode = self.mode;
        self.table.as_mut().filter(|(made, ..)| *made == mode).map(|(.., table)| table)
    }

    /// What the inspector tells about.
    fn part(&self) -> Option<GraphPlace> {
        let of = self.shown.outlined.peek(&self.with_constants).ready()?;
        let part = match self.shown.selected.filter(|_| self.mode == Mode::Graph)? {
            Item::Node(node) => GraphPart::Node(node),
            Item::Group(group) => GraphPart::Group(of.outline.group(group)?.path.clone()),
            Item::Input(value) | Item::Output(value) => GraphPart::Value(ValueId::index(value) as u32),
        };
        Some(GraphPlace { bodies: self.bodies.iter().map(|body| (body.node, body.number)).collect(), part })
    }
}

/// Says why there is nothing to see.
fn said(ui: &mut Ui, error: &gander::Error, again: impl FnOnce()) {
    if error.is_cancelled() {
        if theme::cancelled(ui, "The graph was not laid out.") {
            again();
        }
    } else {
        theme::empty_state(ui, Icon::Problem, "This graph cannot be drawn", &error.to_string());
    }
}

const COMMANDS: &[ViewCommand<GraphView>] = &[
    ViewCommand::new(Label::new("Show the graph", Icon::Module), |view, _| view.choose(Mode::Graph)),
    ViewCommand::new(Label::new("Show the nodes as a table", Icon::Table), |view, _| {
        view.choose(Mode::Nodes)
    }),
    ViewCommand::new(Label::new("Show the edges as a table", Icon::Table), |view, _| {
        view.choose(Mode::Edges)
    }),
    ViewCommand::new(ZOOM_IN, |view, _| view.zoom(Some(1.25))),
    ViewCommand::new(ZOOM_OUT, |view, _| view.zoom(Some(0.8))),
    ViewCommand::new(ZOOM_FIT, |view, _| view.zoom(None)),
    ViewCommand::new(Label::new("Open all groups of the graph", Icon::Plus).apart(), |view, _| {
        view.open_all(true)
    }),
    ViewCommand::new(Label::new("Close all groups of the graph", Icon::List), |view, _| view.open_all(false)),
    ViewCommand::new(
        Label::new("Next node that was found", Icon::Search).keys(Modifiers::NONE, Key::F3),
        |view, _| view.search.step(1),
    ),
    ViewCommand::new(
        Label::new("Previous node that was found", Icon::Search).keys(Modifiers::SHIFT, Key::F3),
        |view, _| view.search.step(-1),
    ),
];

impl View for GraphView {
    fn toolbar(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        theme::segmented(ui, "Show", &mut self.mode, &Mode::ALL);
        ui.add_space(space::S1);
        self.options(ui, cx);
    }

    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let mode = self.mode;
        if mode == Mode::Graph {
            return self.graph_ui(ui, cx);
        }
        match self.table(cx) {
            Some(table) => table.ui(ui, cx),
            None => match self.tables.peek(&mode).error {
                Some(error) => said(ui, &error, || self.tables.clear()),
                None => theme::pending(ui, ui.scope_id().with("table"), "Making the table…"),
            },
        }
    }

    fn commands(&self) -> Vec<&'static Label> {
        let mut all = labels(COMMANDS);
        all.extend(self.shown_table().map(View::commands).unwrap_or_default());
        all
    }

    fn run(&mut self, at: usize, cx: &mut ViewCx<'_>) -> bool {
        match (at.checked_sub(COMMANDS.len()), self.shown_table_mut()) {
            (Some(at), Some(table)) => table.run(at, cx),
            (Some(_), None) => false,
            (None, _) => run_command(COMMANDS, at, self, cx),
        }
    }

    fn takes_keys(&self, ui: &Ui) -> bool {
        match self.shown_table() {
            Some(table) => table.takes_keys(ui),
            None => !ui.ctx().text_edit_focused(),
        }
    }

    fn request(&mut self, request: &Request, cx: &mut ViewCx<'_>) -> bool {
        if let Some(table) = self.shown_table_mut() {
            return table.request(request, cx);
        }
        match request {
            Request::Find => {
                self.search.focus();
                true
            }
            _ => false,
        }
    }

    fn subject(&self) -> Subject {
        match (self.shown_table(), self.part()) {
            (Some(table), _) => table.subject(),
            (None, Some(place)) => Subject::Graph(place),
            (None, None) => Subject::Node,
        }
    }

    fn export(&self) -> Option<(String, Data)> {
        let (_, whole, _) = self.table.as_ref().filter(|(made, ..)| *made == self.mode)?;
        let words = if self.mode == Mode::Nodes { "the table of nodes" } else { "the table of edges" };
        let part = self.shown_table().and_then(View::export);
        Some(part.unwrap_or_else(|| (words.to_owned(), Data::Table(whole.clone()))))
    }

    fn is_drawing(&self) -> bool {
        self.mode == Mode::Graph
    }

    fn save(&self) -> Value {
        let of = self.shown.outlined.peek(&self.with_constants).ready();
        let path = |of: &Outlined, id: &GroupId| Some(of.outline.group(*id)?.path.to_string());
        let open = self.shown.open.as_ref().filter(|open| self.bodies.is_empty() && open.len() <= 1_000);
        saved(&GraphState {
            mode: self.mode,
            coloured: self.coloured,
            ways: self.ways,
            constants: self.with_constants,
            camera: self.bodies.is_empty().then_some(self.camera),
            open: of.zip(open).map(|(of, open)| open.iter().filter_map(|id| path(&of, id)).collect()),
        })
    }

    fn restore(&mut self, kept: &Value) {
        let state: GraphState = restored(kept);
        (self.mode, self.coloured, self.ways) = (state.mode, state.coloured, state.ways);
        self.camera = state.camera.unwrap_or_default().checked();
        (self.kept_open, self.with_constants) = (state.open, state.constants);
    }
}

/// What a session keeps.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct GraphState {
    mode: Mode,
    coloured: Coloured,
    ways: Ways,
    constants: bool,
    camera: Option<Camera>,
    open: Option<Vec<String>>,
}
