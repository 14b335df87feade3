//! What is drawn: a layout with all that its boxes and lines say, made by a job, so that drawing only looks things up.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use super::edge_labels::{EdgeLabel, Taken};
use egui::{Pos2, Rect, pos2, vec2};
use gander::bytes::error::Result;
use gander::bytes::task::Task;
use gander::data::adapt::graph_cost::{Macs, macs};
use gander::data::content::graph::{Graph, ValueId};
use gander::data::graph::labels::{self, Label};
use gander::data::graph::{GroupId, Item, Kind, Layout, Layouts, Outline, PlacedEdge};

/// Pieces of a curve between two of its ends.
const PIECES: usize = 8;
/// The most characters of a text at a line.
const LONGEST: usize = 28;

/// Boxes and lines, ready to be drawn.
pub(super) struct Scene {
    pub(super) layout: Layout,
    /// By box.
    pub(super) labels: Vec<Label>,
    /// By box: elements of the weights in it, and multiply-accumulates.
    pub(super) costs: Vec<[u64; 2]>,
    /// By edge.
    pub(super) lines: Vec<Line>,
    /// The kinds of operators in sight, for the legend.
    pub(super) kinds: Vec<Kind>,
    /// The largest of both of a box that is not open.
    pub(super) most: [u64; 2],
}

/// A line between two boxes.
pub(super) struct Line {
    /// The curve in short straight pieces.
    pub(super) points: Vec<Pos2>,
    /// Around it.
    pub(super) bounds: Rect,
    /// What flows, where there is space to say it.
    pub(super) text: Option<EdgeLabel>,
}

/// A rectangle of a layout as egui's.
pub(super) fn rect_of(rect: gander::data::graph::Rect) -> Rect {
    Rect::from_min_size(pos2(rect.x, rect.y), vec2(rect.width, rect.height))
}

impl Scene {
    /// Lays out what is open of a graph.
    pub(super) fn make(
        task: &Task,
        of: &Outlined,
        open: &BTreeSet<GroupId>,
        layouts: &Mutex<Layouts>,
    ) -> Result<Self> {
        let (graph, outline) = (&*of.graph, &of.outline);
        let measure = |item: Item| {
            let [width, height] = labels::measure(&labels::label(graph, outline, item));
            // Groups have a sign behind their names.
            let sign = if matches!(item, Item::Group(_)) { 14.0 } else { 0.0 };
            [width + sign, height]
        };
        let layout = {
            // Another job's panic leaves layouts that are whole: they are replaced, never changed.
            let mut layouts = layouts.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            layouts.layout(task, graph, outline, open, &measure)?
        };
        let texts: Vec<Label> =
            layout.boxes.iter().map(|placed| labels::label(graph, outline, placed.item)).collect();
        let costs: Vec<[u64; 2]> = layout.boxes.iter().map(|placed| of.cost(placed.item)).collect();
        let shown = layout.boxes.iter().zip(&costs).filter(|(placed, _)| !placed.is_open);
        let most = shown.fold([0; 2], |most: [u64; 2], (_, cost)| [0, 1].map(|n| most[n].max(cost[n])));
        let is_there = |kind: &Kind| texts.iter().any(|label| label.kind == Some(*kind));
        let kinds = Kind::ALL.into_iter().filter(is_there).collect();
        let (mut lines, mut taken) = (Vec::with_capacity(layout.edges.len()), Taken::default());
        for edge in &layout.edges {
            if lines.len() % 1024 == 0 {
                task.check()?;
            }
            lines.push(line(graph, &layout, edge, &mut taken));
        }
        Ok(Scene { layout, labels: texts, costs, lines, kinds, most })
    }

    /// The box of an item.
    pub(super) fn rect(&self, item: Item) -> Option<Rect> {
        Some(rect_of(self.layout.boxes.get(self.layout.find(item)?)?.rect))
    }

    /// The innermost box at a place.
    pub(super) fn at(&self, at: Pos2) -> Option<usize> {
        self.layout.boxes.iter().rposition(|placed| rect_of(placed.rect).contains(at))
    }

    /// Width and height of all.
    pub(super) fn size(&self) -> [f64; 2] {
        self.layout.size.map(f64::from)
    }
}

fn line(graph: &Graph, layout: &Layout, edge: &PlacedEdge, taken: &mut Taken) -> Line {
    let curve: Vec<Pos2> = edge.curve(layout.direction).into_iter().map(Pos2::from).collect();
    let mut points: Vec<Pos2> = curve.first().copied().into_iter().collect();
    let mut from = points.first().copied().unwrap_or_default();
    for piece in curve.get(1..).unwrap_or_default().chunks_exact(3) {
        let &[one, two, end] = piece else { continue };
        let is_straight = one.x == from.x && two.x == from.x && end.x == from.x;
        let pieces = if is_straight { 1 } else { PIECES };
        points.extend((1..=pieces).map(|n| on_curve([from, one, two, end], n as f32 / pieces as f32)));
        from = end;
    }
    let text = text(graph, &edge.values).filter(|_| !edge.is_control);
    let text = text.and_then(|text| taken.place(&points, text));
    Line { bounds: Rect::from_points(&points), points, text }
}

/// A point of a cubic Bézier curve.
fn on_curve([a, b, c, d]: [Pos2; 4], t: f32) -> Pos2 {
    let s = 1.0 - t;
    let [wa, wb, wc, wd] = [s * s * s, 3.0 * s * s * t, 3.0 * s * t * t, t * t * t];
    pos2(wa * a.x + wb * b.x + wc * c.x + wd * d.x, wa * a.y + wb * b.y + wc * c.y + wd * d.y)
}

/// What flows, in few characters: a shape; how many tensors; the way of a tree.
fn text(graph: &Graph, values: &[ValueId]) -> Option<String> {
    if graph.names_are_labels {
        let name = &graph.value(*values.first()?)?.name;
        return (!name.is_empty()).then(|| labels::cut(name));
    }
    let &[value] = values else { return (values.len() > 1).then(|| format!("{} tensors", values.len())) };
    let shape = graph.value(value)?.shape.as_ref()?;
    if shape.is_empty() {
        return None;
    }
    let mut text = String::from("[");
    for (n, length) in shape.iter().enumerate() {
        text.push_str(if n == 0 { "" } else { "," });
        text.push_str(&labels::cut(&length.to_string()));
        if text.len() > LONGEST {
            text.push('…');
            return Some(text);
        }
    }
    text.push(']');
    Some(text)
}

/// A graph that is looked at, and what its groups are.
pub(super) struct Outlined {
    pub(super) graph: Arc<Graph>,
    pub(super) outline: Outline,
    /// Edges whose shape is known, those whose shape was concluded, and all.
    pub(super) shapes: [u64; 3],
    /// Elements of all weights.
    pub(super) parameters: u64,
    /// Multiply-accumulates by node.
    pub(super) macs: Macs,
    /// By group: those of the nodes in it and below.
    macs_below: Vec<u64>,
}

impl Outlined {
    /// Finds it; nodes that make constants are no boxes where they are not `with_constants`.
    pub(super) fn make(task: &Task, graph: &Arc<Graph>, with_constants: bool) -> Result<Self> {
        let mut outline = Outline::of(task, graph)?.without_lone(task, graph)?;
        if !with_constants {
            outline = outline.without_constants(task, graph)?;
        }
        let mut shapes = [0; 3];
        let mut parameters = 0u64;
        for value in graph.values() {
            parameters = parameters.saturating_add(value.weight.as_ref().and(value.elements).unwrap_or(0));
        }
        for edge in graph.edges() {
            let value = graph.value(edge.value);
            let is_known = value.is_some_and(|value| value.shape.is_some());
            shapes[0] += u64::from(is_known);
            shapes[1] += u64::from(is_known && value.is_some_and(|value| value.is_inferred));
            shapes[2] += 1;
        }
        let macs = macs(graph);
        let mut macs_below = vec![0u64; outline.groups().len()];
        for (node, count) in macs.nodes.iter().enumerate().filter_map(|(n, macs)| Some((n as u32, (*macs)?)))
        {
            task.check()?;
            for group in outline.ancestors(outline.group_of(node)) {
                if let Some(sum) = macs_below.get_mut(group.index()) {
                    *sum = sum.saturating_add(count);
                }
            }
        }
        Ok(Outlined { graph: graph.clone(), outline, shapes, parameters, macs, macs_below })
    }

    /// Elements of the weights of an item, and its multiply-accumulates.
    fn cost(&self, item: Item) -> [u64; 2] {
        match item {
            Item::Node(node) => {
                let node = node as usize;
                let parameters = self.graph.nodes().get(node).map_or(0, |node| self.graph.parameters(node));
                [parameters, self.macs.nodes.get(node).copied().flatten().unwrap_or(0)]
            }
            Item::Group(group) => [
                self.outline.group(group).map_or(0, |group| group.parameters_below),
                self.macs_below.get(group.index()).copied().unwrap_or(0),
            ],
            Item::Input(_) | Item::Output(_) => [0; 2],
        }
    }
}
