//! What is drawn: a layout with all that its boxes and lines say, made by a job, so that drawing only looks things up.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use egui::{Pos2, Rect, pos2, vec2};
use gander::bytes::error::Result;
use gander::bytes::task::Task;
use gander::data::content::graph::{Graph, ValueId};
use gander::data::graph::labels::{self, Label};
use gander::data::graph::{GroupId, Item, Layout, Layouts, Outline, PlacedEdge};

/// Pieces of a curve between two of its ends.
const PIECES: usize = 8;
/// The most characters of a text at a line.
const LONGEST: usize = 28;

/// Boxes and lines, ready to be drawn.
pub(super) struct Scene {
    pub(super) layout: Layout,
    /// By box.
    pub(super) labels: Vec<Label>,
    /// By box: elements of the weights in it.
    pub(super) parameters: Vec<u64>,
    /// By edge.
    pub(super) lines: Vec<Line>,
    /// The largest count of parameters of a box that is not open.
    pub(super) most_parameters: u64,
}

/// A line between two boxes.
pub(super) struct Line {
    /// The curve in short straight pieces.
    pub(super) points: Vec<Pos2>,
    /// Around it.
    pub(super) bounds: Rect,
    /// What flows, and where that stands.
    pub(super) text: Option<(Pos2, String)>,
}

/// A rectangle of a layout as egui's.
pub(super) fn rect_of(rect: gander::data::graph::Rect) -> Rect {
    Rect::from_min_size(pos2(rect.x, rect.y), vec2(rect.width, rect.height))
}

impl Scene {
    /// Lays out what is open of a graph.
    pub(super) fn make(
        task: &Task,
        graph: &Graph,
        outline: &Outline,
        open: &BTreeSet<GroupId>,
        layouts: &Mutex<Layouts>,
    ) -> Result<Self> {
        let measure = |item: Item| labels::measure(&labels::label(graph, outline, item));
        let layout = {
            // Another job's panic leaves layouts that are whole: they are replaced, never changed.
            let mut layouts = layouts.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            layouts.layout(task, graph, outline, open, &measure)?
        };
        let texts = layout.boxes.iter().map(|placed| labels::label(graph, outline, placed.item)).collect();
        let parameters: Vec<u64> =
            layout.boxes.iter().map(|placed| parameters(graph, outline, placed.item)).collect();
        let shown = layout.boxes.iter().zip(&parameters).filter(|(placed, _)| !placed.is_open);
        let most_parameters = shown.map(|(_, count)| *count).max().unwrap_or(0);
        let mut lines = Vec::with_capacity(layout.edges.len());
        for edge in &layout.edges {
            if lines.len() % 1024 == 0 {
                task.check()?;
            }
            lines.push(line(graph, &layout, edge));
        }
        Ok(Scene { layout, labels: texts, parameters, lines, most_parameters })
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

fn parameters(graph: &Graph, outline: &Outline, item: Item) -> u64 {
    match item {
        Item::Node(node) => graph.nodes().get(node as usize).map_or(0, |node| graph.parameters(node)),
        Item::Group(group) => outline.group(group).map_or(0, |group| group.parameters_below),
        Item::Input(_) | Item::Output(_) => 0,
    }
}

fn line(graph: &Graph, layout: &Layout, edge: &PlacedEdge) -> Line {
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
    let text = text.zip(points.first().zip(points.last())).map(|(text, (first, last))| {
        // Beside the line, where it is not yet bundled with others at its end.
        let part = (last.y - first.y).clamp(0.0, 80.0) * 0.5;
        let y = first.y + part;
        let after = points.windows(2).find(|pair| pair[1].y >= y);
        let x = after.map_or(first.x, |pair| {
            let height = (pair[1].y - pair[0].y).max(f32::EPSILON);
            pair[0].x + (pair[1].x - pair[0].x) * ((y - pair[0].y) / height).clamp(0.0, 1.0)
        });
        (pos2(x, y), text)
    });
    Line { bounds: Rect::from_points(&points), points, text }
}

/// A point of a cubic Bézier curve.
fn on_curve([a, b, c, d]: [Pos2; 4], t: f32) -> Pos2 {
    let s = 1.0 - t;
    let [wa, wb, wc, wd] = [s * s * s, 3.0 * s * s * t, 3.0 * s * t * t, t * t * t];
    pos2(wa * a.x + wb * b.x + wc * c.x + wd * d.x, wa * a.y + wb * b.y + wc * c.y + wd * d.y)
}

/// What flows, in few characters: a shape; how many tensors.
fn text(graph: &Graph, values: &[ValueId]) -> Option<String> {
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
}

impl Outlined {
    pub(super) fn make(task: &Task, graph: &Arc<Graph>) -> Result<Self> {
        let outline = Outline::of(task, graph)?;
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
        Ok(Outlined { graph: graph.clone(), outline, shapes, parameters })
    }
}
