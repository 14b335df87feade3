//! Drawings of graphs, which are written: SVG (<https://www.w3.org/TR/SVG2/>), DOT
//! (<https://graphviz.org/doc/info/lang.html>) and Mermaid (<https://mermaid.js.org/syntax/flowchart.html>). SVG is read
//! as a picture, whatever it shows.

mod dot;
mod mermaid;
mod svg;
#[cfg(test)]
mod tests;

use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::content::graph::Graph;
use crate::data::content::{Content, Kind};
use crate::data::format::{
    Data, Format, Loss, LossKind, Opening, OptionSpec, Options, Payload, Target, note,
};
use crate::data::graph::labels::{self, Label};
use crate::data::graph::{Direction, Item, Layout, Layouts, Outline, Settings};
use crate::data::node::Node;
use crate::data::sniff::{Head, Match};
use crate::engines::xml;
use std::sync::Arc;

/// Scalable Vector Graphics.
pub static SVG: Format = Format {
    extensions: &["svg"],
    mime: &["image/svg+xml"],
    sniff: Some(sniff_svg),
    reads: &[Kind::Image],
    targets: &[Target::new("svg", "SVG drawing", &["svg"], &svg::WRITER)],
    ..Format::new("svg", "SVG", open_svg)
};

/// The language of Graphviz.
pub static DOT: Format = Format {
    extensions: &["dot", "gv"],
    sniff: Some(|_| Match::No),
    targets: &[Target::new("dot", "Graphviz DOT", &["dot", "gv"], &dot::WRITER)],
    ..Format::new("dot", "Graphviz DOT", open)
};

/// Flowcharts in Markdown.
pub static MERMAID: Format = Format {
    extensions: &["mmd", "mermaid"],
    sniff: Some(|_| Match::No),
    targets: &[Target::new("mermaid", "Mermaid flowchart", &["mmd", "mermaid"], &mermaid::WRITER)],
    ..Format::new("mermaid", "Mermaid", open)
};

/// Which groups are open.
const OPEN: OptionSpec = OptionSpec::new(
    "open",
    "Which groups of nodes are drawn open: those that fit about one page, all, or none",
)
.one_of("first", &["first", "all", "none"])
.of_kinds(&[Kind::Graph]);

/// Where edges point to.
const DIRECTION: OptionSpec = OptionSpec::new("direction", "Where the edges point to")
    .one_of("down", &["down", "right"])
    .of_kinds(&[Kind::Graph]);

/// How many boxes are about a page.
const PAGE: usize = 60;

/// A text whose first element is `svg`; comments before it may be longer than what is seen.
fn sniff_svg(head: &Head) -> Match {
    if head.is_folder || !head.is_text() {
        return Match::No;
    }
    let text = xml::decoded(&head.first);
    let name = xml::root_name(&text).map(|name| name.rsplit(':').next().unwrap_or(name) == "svg");
    match name {
        Some(true) => Match::Yes,
        None if head.has_extension(SVG.extensions) && text.trim_start().starts_with('<') => Match::Yes,
        _ => Match::No,
    }
}

fn open_svg(opening: &Opening) -> Result<Node> {
    let image = crate::engines::svg::read(opening.task, opening.source)?;
    Ok(Node::new(opening.source.name(), "image").content(Content::Image(image)))
}

/// Says what there is to say of a drawing that somebody wants to be read as a graph.
fn open(opening: &Opening) -> Result<Node> {
    let what = "drawings are written, but the graphs that they show are not read";
    let content = Content::Bytes(opening.source.clone());
    Ok(Node::new(opening.source.name(), "file").content(content).problem(Error::unsupported(what)))
}

fn graph(payload: &Payload) -> Result<&Arc<Graph>> {
    match &payload.data {
        Data::Graph(graph) => Ok(graph),
        _ => Err(Error::bug("a writer of drawings was given something else")),
    }
}

/// What a drawing does not hold.
fn losses(payload: &Payload, options: &Options) -> Vec<Loss> {
    let Ok(graph) = graph(payload) else { return Vec::new() };
    let mut losses = Vec::new();
    if graph.values().iter().any(|value| value.weight.is_some()) {
        let what = "the values of the weights are not drawn, only how many there are";
        losses.push(note(LossKind::Type, what));
    }
    if graph.nodes().iter().any(|node| !node.attributes.is_empty()) {
        losses.push(note(LossKind::Attribute, "attributes of nodes are not drawn, but for sizes of windows"));
    }
    if graph.nodes().iter().any(|node| !node.subgraphs.is_empty()) {
        losses.push(note(LossKind::Nesting, "the graphs inside of nodes (branches, loops) are not drawn"));
    }
    let is_open = options.get(OPEN.name).unwrap_or(OPEN.default);
    if is_open != "all" && graph.nodes().iter().any(|node| !node.group.is_empty()) {
        let what = "what is in closed groups is not drawn (open=all draws it)";
        losses.push(note(LossKind::Nesting, what).if_any());
    }
    if is_open != "all" && Outline::has_constants(&Task::new(), graph).unwrap_or(false) {
        let what = "nodes that only make constants are not drawn (open=all draws them)";
        losses.push(note(LossKind::Nesting, what));
    }
    if !payload.attributes.list.is_empty() {
        losses.push(note(LossKind::Metadata, "the metadata are not kept"));
    }
    losses
}

/// A graph as it is drawn.
struct Drawing<'a> {
    graph: &'a Graph,
    layout: Layout,
    /// What is written into the boxes.
    labels: Vec<Label>,
}

impl<'a> Drawing<'a> {
    fn of(task: &Task, payload: &'a Payload, options: &Options) -> Result<Self> {
        let graph = graph(payload)?;
        let outline = Outline::of(task, graph)?;
        let (outline, open) = match options.choice(&OPEN)? {
            "all" => {
                let all = outline.all();
                (outline, all)
            }
            "none" => (outline.without_constants(task, graph)?, Default::default()),
            _ => {
                let outline = outline.without_lone(task, graph)?.without_constants(task, graph)?;
                let open = outline.first_open(PAGE);
                (outline, open)
            }
        };
        let direction = match options.choice(&DIRECTION)? {
            "right" => Direction::Right,
            _ => Direction::Down,
        };
        let label = |item: Item| labels::label(graph, &outline, item);
        let mut layouts = Layouts::new(Settings { direction, ..Settings::default() });
        let measure = |item: Item| labels::measure(&label(item));
        let layout = layouts.layout(task, graph, &outline, &open, &measure)?;
        let labels = layout.boxes.iter().map(|placed| label(placed.item)).collect();
        Ok(Drawing { graph, layout, labels })
    }

    /// By box: the boxes in it. Those at the top come at the end.
    fn inside(&self) -> Vec<Vec<usize>> {
        let top = self.layout.boxes.len();
        let mut inside = vec![Vec::new(); top + 1];
        for (number, placed) in self.layout.boxes.iter().enumerate() {
            if let Some(list) = inside.get_mut(placed.parent.unwrap_or(top)) {
                list.push(number);
            }
        }
        inside
    }

    /// Goes through the boxes as they lie in each other: `visit` is told each, and again where an open one ends.
    fn walk(&self, task: &Task, visit: &mut dyn FnMut(usize, Step) -> Result<()>) -> Result<()> {
        let inside = self.inside();
        let of = |number: usize| inside.get(number).map_or(&[][..], Vec::as_slice);
        // Lists that are being gone through: whose they are, and how far it is.
        let mut path = vec![(self.layout.boxes.len(), 0)];
        while let Some((own, next)) = path.last_mut() {
            task.check()?;
            let Some(number) = of(*own).get(*next).copied() else {
                let own = *own;
                path.pop();
                if !path.is_empty() {
                    visit(own, Step::End(path.len()))?;
                }
                continue;
            };
            *next += 1;
            if self.layout.boxes.get(number).is_some_and(|placed| placed.is_open) {
                visit(number, Step::Begin(path.len()))?;
                path.push((number, 0));
            } else {
                visit(number, Step::Box(path.len()))?;
            }
        }
        Ok(())
    }

    /// The shape of what flows along an edge, where it is one tensor; else how many there are.
    fn flows(&self, edge: &crate::data::graph::PlacedEdge) -> String {
        match edge.values.as_slice() {
            [only] => {
                let shape = self.graph.value(*only).and_then(|value| value.shape_text());
                labels::cut(&shape.unwrap_or_default())
            }
            several => format!("{} tensors", several.len()),
        }
    }
}

/// A step through boxes in boxes, with how deep it is: 1 at the top.
enum Step {
    Box(usize),
    Begin(usize),
    End(usize),
}

const ACCEPTS: &[Kind] = &[Kind::Graph];
