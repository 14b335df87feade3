//! What is known of a part of a graph: of a node its operator, attributes, inputs and outputs, with links to weights, bodies and
//! functions; of a group its counts; of a value its type. Statistics of the first weight are drawn by the inspector.

use std::sync::Arc;

use egui::Ui;
use gander::bytes::display;
use gander::bytes::task::Task;
use gander::data::adapt::graph_cost::macs;
use gander::data::content::graph::{Graph, Operation, Port, Value};
use gander::data::content::{Content, graph::Attribute};
use gander::data::graph::kind;
use gander::data::node::Node;
use gander::engines::operators::{self, Documentation};
use gander::jobs::{JobSpec, Jobs, Slot};

use super::Key;
use super::details::{self, Known};
use crate::gui::commands::{Action, Where};
use crate::gui::target::{GraphPart, GraphPlace};
use crate::gui::theme::{self, Theme, space};
use crate::gui::ui::{key_value, rows};
use crate::gui::views::{Subject, Target};

/// The most ports of one list: a node may have a million inputs.
const PORTS: usize = 1_000;
/// The most attributes that are shown.
const ATTRIBUTES: usize = 1_000;
/// The longest text of an attribute in a line; all of it is read on a click.
const LONGEST: usize = 200;

/// A line of a list: name, value, and the path of the node of the document that it leads to.
struct Line {
    name: String,
    value: String,
    leads: Option<Arc<str>>,
}

/// What is known, ready to be drawn.
#[derive(Default)]
struct Facts {
    head: &'static str,
    lines: Vec<Line>,
    /// Sections: a title, and its lines.
    sections: Vec<(String, Vec<Line>)>,
    /// The path of the first weight.
    weight: Option<Arc<str>>,
    /// What the operator does.
    documented: Option<&'static Documentation>,
}

/// The state of the sections.
#[derive(Default)]
pub(super) struct GraphSections {
    facts: Slot<Key, Facts>,
    shown: Option<Arc<Facts>>,
    /// The node that a link leads to.
    link: Option<Arc<str>>,
    linked: Slot<Arc<str>, Option<Arc<Node>>>,
    weight: Slot<(u64, Arc<str>), Option<(Arc<Node>, Arc<Known>)>>,
}

impl GraphSections {
    /// Draws what is known of a part.
    pub(super) fn ui(
        &mut self,
        ui: &mut Ui,
        jobs: &Jobs,
        key: &Key,
        target: &Target,
        place: &GraphPlace,
        actions: &mut Vec<Action>,
    ) {
        self.shown = None;
        let Some(Content::Graph(graph)) = &target.node.content else { return };
        let (graph, place) = (graph.clone(), place.clone());
        let format = target.reader().unwrap_or(target.document.format).id;
        let shown = self.facts.get(jobs, key, JobSpec::view(""), move |task| {
            task.check()?;
            Ok(facts(&graph, &place, format).unwrap_or_default())
        });
        let Some(facts) = shown.ready() else { return };
        self.shown = Some(facts.clone());
        super::section(ui, facts.head, |ui| {
            theme::section_head(ui, facts.head, None);
            ui.add_space(space::S2);
            for line in &facts.lines {
                self.line(ui, line, actions);
            }
        });
        for (title, lines) in &facts.sections {
            super::section(ui, title, |ui| {
                theme::section_head(ui, title, None);
                ui.add_space(space::S2);
                rows::ui(ui, lines.len(), crate::gui::theme::size::ROW - 2.0, |ui, n| {
                    if let Some(line) = lines.get(n) {
                        self.line(ui, line, actions);
                    }
                });
            });
        }
        self.follow(jobs, target, actions);
    }

    fn line(&mut self, ui: &mut Ui, line: &Line, actions: &mut Vec<Action>) {
        let value = match &line.leads {
            Some(_) => format!("{} ›", line.value),
            None => line.value.clone(),
        };
        let cut: String = value.chars().take(LONGEST).collect();
        let response = key_value(ui, &line.name, &cut);
        if response.clicked() {
            match &line.leads {
                Some(path) => self.link = Some(path.clone()),
                None if cut.len() < value.len() => {
                    actions.push(Action::Read(line.name.clone(), line.value.clone()));
                }
                None => {}
            }
        }
    }

    /// Shows what a link leads to once it is found.
    fn follow(&mut self, jobs: &Jobs, target: &Target, actions: &mut Vec<Action>) {
        let Some(path) = self.link.clone() else { return };
        let (root, wanted) = (target.document.root.clone(), path.clone());
        let spec = JobSpec::once(format!("looking for {path}"));
        let shown = self.linked.get(jobs, &path, spec, move |task| root.find(task, &wanted));
        match (shown.ready(), shown.error) {
            (Some(found), _) => {
                match &*found {
                    Some(node) => {
                        let there = Target { path: path.to_string(), node: node.clone(), ..target.clone() };
                        actions.push(Action::Show(there, Where::Kept));
                    }
                    None => {
                        actions.push(Action::Notice(format!("There is no node {path:?} in this file.")));
                    }
                }
                self.link = None;
            }
            (None, Some(error)) => {
                actions.push(Action::Notice(format!("{path:?} was not found: {error}")));
                self.linked.clear();
                self.link = None;
            }
            (None, None) => {}
        }
    }

    /// The first weight of the node, as a target of its own.
    pub(super) fn weight(&mut self, jobs: &Jobs, target: &Target) -> Option<(Target, Arc<Known>)> {
        let path = self.shown.as_ref()?.weight.as_ref()?;
        let (of, wanted) = (target.clone(), path.clone());
        let key = (target.file, path.clone());
        let shown = self.weight.get(jobs, &key, JobSpec::view(""), move |task| known(task, &of, &wanted));
        let found = shown.ready()?;
        let (node, known) = found.as_ref().as_ref()?;
        Some((Target { path: path.to_string(), node: node.clone(), ..target.clone() }, known.clone()))
    }

    /// Draws what the operator is documented to do.
    pub(super) fn documentation(&self, ui: &mut Ui, actions: &mut Vec<Action>) {
        let Some(documented) = self.shown.as_ref().and_then(|facts| facts.documented) else { return };
        super::section(ui, "Operator", |ui| {
            theme::section_head(ui, &documented.name, None);
            ui.add_space(space::S2);
            ui.add(egui::Label::new(theme::dim(Theme::of(ui), documented.summary())).wrap());
            if ui.link("more").clicked() {
                actions.push(Action::Read(documented.name.clone(), in_full(documented)));
            }
        });
    }
}

/// A node and what is known of it.
fn known(task: &Task, of: &Target, path: &str) -> gander::Result<Option<(Arc<Node>, Arc<Known>)>> {
    let Some(node) = of.document.root.find(task, path)? else { return Ok(None) };
    let target = Target { path: path.to_owned(), node: node.clone(), ..of.clone() };
    let known = details::known(task, &target, &Subject::Node);
    Ok(Some((node, Arc::new(known))))
}

/// What is known of a part; `None` where there is none of that kind.
fn facts(graph: &Arc<Graph>, place: &GraphPlace, format: &str) -> Option<Facts> {
    let mut graph = graph;
    for (node, body) in &place.bodies {
        graph = &graph.nodes().get(*node as usize)?.subgraphs.get(*body as usize)?.1;
    }
    match &place.part {
        GraphPart::Node(number) => {
            let node = graph.nodes().get(*number as usize)?;
            let documented = operators::of_node(format, node);
            let mut facts = of_node(graph, node, documented);
            if let Some(count) = macs(graph).nodes.get(*number as usize).copied().flatten().filter(|n| *n > 0)
            {
                facts.lines.push(line("MACs", display::count(count)));
            }
            facts.documented = documented;
            Some(facts)
        }
        GraphPart::Group(path) => Some(of_group(graph, path)),
        GraphPart::Value(number) => Some(of_value(graph.values().get(*number as usize)?)),
    }
}

fn line(name: impl Into<String>, value: impl Into<String>) -> Line {
    Line { name: name.into(), value: value.into(), leads: None }
}

fn of_node(graph: &Graph, node: &Operation, documented: Option<&Documentation>) -> Facts {
    let mut facts = Facts { head: "Node", ..Facts::default() };
    if !node.name.is_empty() {
        facts.lines.push(line("Name", node.name.as_ref()));
    }
    let operator = match node.domain.as_ref() {
        "" => node.operator.to_string(),
        domain => format!("{domain}.{}", node.operator),
    };
    facts.lines.push(Line { leads: node.function.clone(), ..line("Operator", operator) });
    facts.lines.push(line("Kind", kind(&node.operator).label()));
    if !node.group.is_empty() {
        facts.lines.push(line("Module", node.group.as_ref()));
    }
    let parameters = graph.parameters(node);
    if parameters > 0 {
        facts.lines.push(line("Parameters", display::count(parameters)));
    }
    for (name, body) in &node.subgraphs {
        let nodes = display::plural(body.nodes().len() as u64, "node");
        facts.lines.push(line(format!("Body {name}"), nodes));
    }
    let attributes: Vec<Line> = node.attributes.iter().take(ATTRIBUTES).map(attribute).collect();
    section(&mut facts, "Attributes", node.attributes.len(), attributes);
    for (title, ports) in [("Inputs", &node.inputs), ("Outputs", &node.outputs)] {
        let named = |n: usize| {
            let about = documented?;
            let about = if title == "Inputs" { about.input(n) } else { about.output(n) };
            about.map(|about| about.name.as_str())
        };
        let ports_shown = ports.iter().enumerate().take(PORTS);
        let lines = ports_shown.map(|(n, one)| port(graph, n, one, named(n))).collect();
        section(&mut facts, title, ports.len(), lines);
    }
    facts.weight = node.inputs.iter().find_map(|port| {
        let value = graph.value(port.value?)?;
        value.weight.clone()
    });
    facts
}

fn section(facts: &mut Facts, title: &str, count: usize, lines: Vec<Line>) {
    if count > 0 {
        facts.sections.push((format!("{title} · {}", display::count(count as u64)), lines));
    }
}

fn attribute((name, value): &(Arc<str>, Attribute)) -> Line {
    let leads = match value {
        Attribute::Tensor(path, _) => path.clone(),
        _ => None,
    };
    Line { leads, ..line(name.as_ref(), value.to_string()) }
}

fn port(graph: &Graph, number: usize, port: &Port, named: Option<&str>) -> Line {
    let name = match (port.name.is_empty(), named) {
        (false, _) => port.name.to_string(),
        (true, Some(name)) => name.to_owned(),
        (true, None) => number.to_string(),
    };
    match port.value.and_then(|value| graph.value(value)) {
        None => line(name, "none"),
        Some(_) if port.is_control => line(name, "control"),
        Some(value) => {
            let what = type_of(value);
            let words = if what.is_empty() { value.name.to_string() } else { what };
            Line { leads: value.weight.clone(), ..line(name, words) }
        }
    }
}

fn type_of(value: &Value) -> String {
    let shape = value.shape_text();
    let parts: Vec<&str> = value.dtype.as_deref().into_iter().chain(shape.as_deref()).collect();
    let inferred = if value.is_inferred { " · inferred" } else { "" };
    format!("{}{inferred}", parts.join(" "))
}

fn of_value(value: &Value) -> Facts {
    let mut facts = Facts { head: "Tensor", ..Facts::default() };
    facts.lines.push(line("Name", value.name.as_ref()));
    facts.lines.extend(value.dtype.as_deref().map(|dtype| line("Type", dtype)));
    facts.lines.extend(value.shape_text().map(|shape| line("Shape", shape)));
    if value.is_inferred {
        facts.lines.push(line("From", "inferred"));
    }
    facts
}

fn of_group(graph: &Graph, path: &str) -> Facts {
    let mut facts = Facts { head: "Group", ..Facts::default() };
    let is_in = |node: &&Operation| {
        node.group.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let (mut nodes, mut parameters) = (0u64, 0u64);
    let mut operators = std::collections::BTreeMap::<&str, u64>::new();
    for node in graph.nodes().iter().filter(is_in) {
        nodes += 1;
        parameters = parameters.saturating_add(graph.parameters(node));
        *operators.entry(&node.operator).or_default() += 1;
    }
    facts.lines.push(line("Path", path));
    if nodes > 0 {
        facts.lines.push(line("Nodes", display::count(nodes)));
        facts.lines.push(line("Parameters", display::count(parameters)));
    }
    let mut operators: Vec<_> = operators.into_iter().collect();
    operators.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let count = operators.len();
    let lines = operators.into_iter().take(PORTS).map(|(name, many)| line(name, display::count(many)));
    let lines = lines.collect();
    section(&mut facts, "Operators", count, lines);
    facts
}

/// All that is documented of an operator, as text.
fn in_full(documented: &Documentation) -> String {
    let mut text = documented.text.trim().to_owned();
    let parameters = |text: &mut String, title: &str, list: &[operators::Parameter]| {
        if !list.is_empty() {
            text.push_str(&format!("\n\n{title}\n"));
        }
        for one in list {
            text.push_str(&format!("\n{} ({})", one.name, one.kind));
            text.push_str(&if one.text.is_empty() {
                String::new()
            } else {
                format!(": {}", one.text.trim())
            });
        }
    };
    parameters(&mut text, "Inputs", &documented.inputs);
    parameters(&mut text, "Outputs", &documented.outputs);
    if !documented.attributes.is_empty() {
        text.push_str("\n\nAttributes\n");
    }
    for one in &documented.attributes {
        text.push_str(&format!("\n{} ({})", one.name, one.kind));
        text.push_str(&if one.text.is_empty() { String::new() } else { format!(": {}", one.text.trim()) });
    }
    text
}
