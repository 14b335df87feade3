//! The layout of a graph as far as it is open: boxes inside boxes, and edges that meet the borders of open groups.
//!
//! Each open group is laid out for itself by [`layered`](super::layered) and is one box in the group around it. Edges
//! that cross its border meet ports on it, one for each source, and go on inside. So what is inside of a group depends on
//! nothing outside: opening another group moves it as a whole and changes no order in it.
//!
//! All lengths are points as egui and CSS have them; y grows downward.

use super::layered::{self, Flat, FlatEdge, Pin, Spacing};
use super::outline::{GroupId, Outline};
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::content::graph::{Graph, ValueId};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

mod levels;
#[cfg(test)]
mod tests;

use levels::{Levels, Local, Source};

/// What a box stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Item {
    /// A node, by its number in the graph.
    Node(u32),
    /// A group, open or closed.
    Group(GroupId),
    /// What is handed in.
    Input(ValueId),
    /// What comes out.
    Output(ValueId),
}

/// Where edges point to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Downward.
    #[default]
    Down,
    /// To the right.
    Right,
}

/// Lengths of a layout, in points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Where edges point to.
    pub direction: Direction,
    /// Between boxes side by side.
    pub node_gap: f32,
    /// Between edges, and between an edge and a box.
    pub edge_gap: f32,
    /// Between one layer and the next.
    pub layer_gap: f32,
    /// What an open group has above its content, for its name.
    pub head: f32,
    /// What an open group, and the whole drawing, has around its content.
    pub padding: f32,
}

impl Default for Settings {
    fn default() -> Self {
        let direction = Direction::Down;
        Settings { direction, node_gap: 28.0, edge_gap: 14.0, layer_gap: 36.0, head: 32.0, padding: 16.0 }
    }
}

/// A rectangle.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rect {
    /// Its left edge.
    pub x: f32,
    /// Its upper edge.
    pub y: f32,
    /// How wide it is.
    pub width: f32,
    /// How high it is.
    pub height: f32,
}

/// A box.
#[derive(Clone, Debug, PartialEq)]
pub struct PlacedItem {
    /// What it stands for.
    pub item: Item,
    /// Where it is.
    pub rect: Rect,
    /// The number of the box around it, which stands before it; `None` at the top.
    pub parent: Option<usize>,
    /// Whether it is a group that is open: what is in it are boxes of their own.
    pub is_open: bool,
}

/// A line between two boxes.
#[derive(Clone, Debug, PartialEq)]
pub struct PlacedEdge {
    /// The number of the box where it begins.
    pub from: usize,
    /// The number of the box where it ends.
    pub to: usize,
    /// What flows, each once, in the order in which nodes take it.
    pub values: Vec<ValueId>,
    /// Whether nothing flows: the order of execution alone.
    pub is_control: bool,
    /// Where it goes: straight between these, or smoothly by [`PlacedEdge::curve`]. The first lies on the border of
    /// `from`, the last on the border of `to`.
    pub points: Vec<[f32; 2]>,
}

impl PlacedEdge {
    /// The line as cubic Bézier curves: the beginning, then two control points and an end for each.
    pub fn curve(&self, direction: Direction) -> Vec<[f32; 2]> {
        layered::curve(&self.points, direction == Direction::Right)
    }
}

/// Boxes and lines.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    /// Width and height of all.
    pub size: [f32; 2],
    /// The boxes; each stands after the one around it, so that drawn in this order none hides another.
    pub boxes: Vec<PlacedItem>,
    /// The lines.
    pub edges: Vec<PlacedEdge>,
    /// Where edges point to.
    pub direction: Direction,
    by_item: HashMap<Item, u32>,
    /// By box: which edges begin or end there.
    touching: Vec<Vec<u32>>,
}

impl Layout {
    /// The number of the box of an item, where it is in sight.
    pub fn find(&self, item: Item) -> Option<usize> {
        self.by_item.get(&item).map(|number| *number as usize)
    }

    /// The number of the box that a node is seen in: its own, or that of the closed group around it.
    pub fn find_node(&self, outline: &Outline, node: u32) -> Option<usize> {
        let own = std::iter::once(Item::Node(node));
        let groups = outline.ancestors(outline.group_of(node)).map(Item::Group);
        own.chain(groups).find_map(|item| self.find(item))
    }

    /// The numbers of the edges that begin or end at a box.
    pub fn edges_of(&self, number: usize) -> &[u32] {
        self.touching.get(number).map_or(&[], Vec::as_slice)
    }

    /// How far an item has moved since a layout before: what a view adds to its scroll position, so that the box that was
    /// opened or closed keeps its upper left corner on the screen. `None` where it is not in both.
    pub fn moved(&self, before: &Layout, item: Item) -> Option<[f32; 2]> {
        let rect = |layout: &Layout| Some(layout.boxes.get(layout.find(item)?)?.rect);
        let (now, then) = (rect(self)?, rect(before)?);
        Some([now.x - then.x, now.y - then.y])
    }

    fn index(&mut self) {
        self.by_item = self.boxes.iter().enumerate().map(|(n, placed)| (placed.item, n as u32)).collect();
        self.touching = vec![Vec::new(); self.boxes.len()];
        for (number, edge) in self.edges.iter().enumerate() {
            for end in [edge.from, edge.to] {
                if let Some(list) = self.touching.get_mut(end)
                    && list.last() != Some(&(number as u32))
                {
                    list.push(number as u32);
                }
            }
        }
    }
}

/// Lays out a graph as far as it is open.
///
/// `measure` says how large the box of an item is (that of a group while it is closed). Weights and values that nothing
/// in the graph makes are no boxes. The same arguments give the same layout.
///
/// # Errors
/// `Cancelled`; `Limit` where there are more boxes than can be numbered.
pub fn layout(
    task: &Task,
    graph: &Graph,
    outline: &Outline,
    open: &BTreeSet<GroupId>,
    measure: &dyn Fn(Item) -> [f32; 2],
) -> Result<Layout> {
    Layouts::default().layout(task, graph, outline, open, measure)
}

/// Layouts of one graph, with those of single groups kept: opening a group lays out only it and the groups around it.
/// `measure` has to say the same each time; another graph, outline or font wants another.
#[derive(Debug, Default)]
pub struct Layouts {
    settings: Settings,
    kept: HashMap<GroupKey, (u64, Arc<Inner>)>,
    /// How many layouts there have been.
    turn: u64,
}

/// A group, and which of the groups in it are open.
type GroupKey = (GroupId, Vec<GroupId>);

/// For how many layouts the inside of a group is kept after it was last in sight.
const KEPT_TURNS: u64 = 12;

/// What is in an open group, from the group's upper left corner.
#[derive(Debug)]
struct Inner {
    size: [f32; 2],
    /// By local box: its left and upper edge.
    at: Vec<[f32; 2]>,
    /// By local box: its size.
    sizes: Vec<[f32; 2]>,
    /// By local edge.
    points: Vec<Vec<[f32; 2]>>,
}

impl Layouts {
    /// Layouts with other lengths than those by default.
    pub fn new(settings: Settings) -> Self {
        Layouts { settings, ..Layouts::default() }
    }

    /// As [`layout`](fn@layout).
    ///
    /// # Errors
    /// As [`layout`](fn@layout).
    pub fn layout(
        &mut self,
        task: &Task,
        graph: &Graph,
        outline: &Outline,
        open: &BTreeSet<GroupId>,
        measure: &dyn Fn(Item) -> [f32; 2],
    ) -> Result<Layout> {
        self.turn += 1;
        let levels = Levels::of(task, graph, outline, open)?;
        let mut inner: Vec<Option<Arc<Inner>>> = vec![None; levels.all.len()];
        // Groups inside stand after those around them.
        for number in (0..levels.all.len()).rev() {
            let made = self.inner(task, &levels, number, measure, &inner)?;
            if let Some(place) = inner.get_mut(number) {
                *place = Some(made);
            }
        }
        let turn = self.turn;
        self.kept.retain(|_, (used, _)| *used + KEPT_TURNS > turn);
        Ok(self.together(&levels, &inner))
    }

    /// The inside of a level, kept or made.
    fn inner(
        &mut self,
        task: &Task,
        levels: &Levels,
        number: usize,
        measure: &dyn Fn(Item) -> [f32; 2],
        inner: &[Option<Arc<Inner>>],
    ) -> Result<Arc<Inner>> {
        let level = levels.all.get(number).ok_or_else(|| Error::bug("a level of a layout is missing"))?;
        let key = (level.group, level.open_below.clone());
        if let Some((turn, kept)) = self.kept.get_mut(&key) {
            *turn = self.turn;
            return Ok(kept.clone());
        }
        let of_group = |item: &Item| match item {
            Item::Group(id) => levels.level_of(*id).and_then(|level| inner.get(level)?.as_ref()),
            _ => None,
        };
        let turned = self.settings.direction == Direction::Right;
        let turn = |[x, y]: [f32; 2]| if turned { [y, x] } else { [x, y] };
        let sizes = level.boxes.iter().map(|local| match local {
            Local::Item(item) => {
                turn(of_group(item).map_or_else(|| sane(measure(*item)), |inner| inner.size))
            }
            Local::In(..) | Local::Out(..) => [1.0, 0.0],
        });
        let sizes: Vec<[f32; 2]> = sizes.collect();
        let pins = level.boxes.iter().map(|local| match local {
            Local::Item(_) => Pin::Free,
            Local::In(..) => Pin::First,
            Local::Out(..) => Pin::Last,
        });
        // Where an edge meets the border of an open group: in the middle of the port inside.
        let port = |end: u32, source: Option<Source>, is_in: bool, is_control: bool| -> Option<f32> {
            let Some(Local::Item(Item::Group(id))) = level.boxes.get(end as usize) else { return None };
            let below = levels.level_of(*id)?;
            let source = source?;
            let port = if is_in { Local::In(source, is_control) } else { Local::Out(source, is_control) };
            let at = levels.all.get(below)?.find(&port)?;
            Some(turn(*inner.get(below)?.as_ref()?.at.get(at as usize)?)[0] + 0.5)
        };
        let edges = level.edges.iter().map(|edge| FlatEdge {
            from: edge.from,
            to: edge.to,
            from_at: port(edge.from, edge.from_port, false, edge.is_control),
            to_at: port(edge.to, edge.to_port, true, edge.is_control),
            trunk: edge.trunk(),
        });
        let flat = Flat { pins: pins.collect(), edges: edges.collect(), sizes };
        let made = Arc::new(self.around(task, &flat, level.group == GroupId::TOP)?);
        self.kept.insert(key, (self.turn, made.clone()));
        Ok(made)
    }

    /// Lays out one level and gives it its head and padding.
    fn around(&self, task: &Task, flat: &Flat, is_top: bool) -> Result<Inner> {
        let settings = &self.settings;
        let spacing = Spacing {
            node_gap: settings.node_gap,
            edge_gap: settings.edge_gap,
            layer_gap: settings.layer_gap,
        };
        let placed = layered::place(task, flat, &spacing)?;
        let turned = settings.direction == Direction::Right;
        let head = if is_top { settings.padding } else { settings.head };
        let (mut left, mut top) = if turned { (head, settings.padding) } else { (settings.padding, head) };
        let (right, mut bottom) = (settings.padding, settings.padding);
        let has = |pin: Pin| flat.pins.contains(&pin);
        // The gap between the ports and the first layer is part of the head.
        if has(Pin::First) {
            top = (top - settings.layer_gap).max(0.0);
        }
        if has(Pin::Last) {
            bottom = (bottom - settings.layer_gap).max(0.0);
        }
        if is_top && flat.sizes.is_empty() {
            (left, top) = (0.0, 0.0);
        }
        let [width, height] = placed.size;
        let size = [left + width + right, top + height + bottom];
        let turn = |[x, y]: [f32; 2]| if turned { [y, x] } else { [x, y] };
        let at = placed.at.iter().zip(&flat.pins).map(|([x, y], pin)| {
            // Ports lie on the border.
            let y = match pin {
                Pin::Free => y + top,
                Pin::First => 0.0,
                Pin::Last => size[1],
            };
            turn([x + left, y])
        });
        let points = flat.edges.iter().zip(placed.points).map(|(edge, line)| {
            let mut line: Vec<[f32; 2]> = line.into_iter().map(|[x, y]| [x + left, y + top]).collect();
            let pin = |end: u32| flat.pins.get(end as usize);
            if let (Some(Pin::First), Some(first)) = (pin(edge.from), line.first_mut()) {
                first[1] = 0.0;
            }
            if let (Some(Pin::Last), Some(last)) = (pin(edge.to), line.last_mut()) {
                last[1] = size[1];
            }
            line.into_iter().map(turn).collect()
        });
        let sizes = flat.sizes.iter().map(|size| turn(*size)).collect();
        Ok(Inner { at: at.collect(), points: points.collect(), sizes, size: turn(size) })
    }

    /// All levels in one.
    fn together(&self, levels: &Levels, inner: &[Option<Arc<Inner>>]) -> Layout {
        let mut layout = Layout { direction: self.settings.direction, ..Layout::default() };
        let mut origins: Vec<([f32; 2], Option<usize>)> = vec![([0.0; 2], None); levels.all.len()];
        let mut by_item: HashMap<Item, usize> = HashMap::new();
        for (number, (level, inside)) in levels.all.iter().zip(inner).enumerate() {
            let Some(inside) = inside else { continue };
            if number == 0 {
                layout.size = inside.size;
            }
            let Some(([left, top], parent)) = origins.get(number).copied() else { continue };
            let places = level.boxes.iter().zip(&inside.at).zip(&inside.sizes);
            for ((local, [x, y]), [width, height]) in places {
                let Local::Item(item) = local else { continue };
                let below = match item {
                    Item::Group(id) => levels.level_of(*id),
                    _ => None,
                };
                let rect = Rect { x: left + x, y: top + y, width: *width, height: *height };
                if let Some(origin) = below.and_then(|below| origins.get_mut(below)) {
                    *origin = ([rect.x, rect.y], Some(layout.boxes.len()));
                }
                by_item.insert(*item, layout.boxes.len());
                layout.boxes.push(PlacedItem { item: *item, rect, parent, is_open: below.is_some() });
            }
        }
        for line in &levels.lines {
            let (Some(from), Some(to)) = (by_item.get(&line.from), by_item.get(&line.to)) else { continue };
            let mut points: Vec<[f32; 2]> = Vec::new();
            for (level, edge) in &line.parts {
                let origin = origins.get(*level as usize).map_or([0.0; 2], |(origin, _)| *origin);
                let part =
                    inner.get(*level as usize).and_then(|inner| inner.as_ref()?.points.get(*edge as usize));
                let part = part.into_iter().flatten().map(|[x, y]| [x + origin[0], y + origin[1]]);
                for point in part {
                    let is_there = points.last().is_some_and(|last| {
                        (last[0] - point[0]).abs() < 0.01 && (last[1] - point[1]).abs() < 0.01
                    });
                    if !is_there {
                        points.push(point);
                    }
                }
            }
            layout.edges.push(PlacedEdge {
                from: *from,
                to: *to,
                values: line.values.clone(),
                is_control: line.is_control,
                points,
            });
        }
        layout.index();
        layout
    }
}

/// A size that can be laid out, whatever was measured.
fn sane([width, height]: [f32; 2]) -> [f32; 2] {
    let length = |length: f32| if length.is_finite() { length.clamp(1.0, 100_000.0) } else { 1.0 };
    [length(width), length(height)]
}
