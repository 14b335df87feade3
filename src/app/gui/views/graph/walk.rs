//! Steps from box to box by keys, and what boxes are called.

use egui::Rect;
use gander::data::content::graph::Operation;
use gander::data::graph::{GroupId, Item};

use super::scene::{Outlined, Scene, rect_of};
use crate::gui::views::keys::Step;

/// The item that a key leads to: down and up along the edges, left and right to what stands beside.
pub(super) fn step(scene: &Scene, from: Option<Item>, to: Step) -> Option<Item> {
    let boxes = &scene.layout.boxes;
    let Some(number) = from.and_then(|item| scene.layout.find(item)) else {
        let first = boxes.iter().filter(|placed| !placed.is_open);
        return first.min_by(|a, b| a.rect.y.total_cmp(&b.rect.y)).map(|placed| placed.item);
    };
    let here = rect_of(boxes.get(number)?.rect);
    let to = match to {
        Step::Down | Step::Up => along(scene, number, here, to == Step::Down),
        _ => beside(scene, number, here, to == Step::Right),
    };
    Some(boxes.get(to?)?.item)
}

/// The other end of the edge that leads most nearly straight on.
fn along(scene: &Scene, number: usize, here: Rect, down: bool) -> Option<usize> {
    let edges =
        scene.layout.edges_of(number).iter().filter_map(|edge| scene.layout.edges.get(*edge as usize));
    let ends = edges.filter_map(|edge| match down {
        true => (edge.from == number).then_some(edge.to),
        false => (edge.to == number).then_some(edge.from),
    });
    let ends = ends.filter(|end| *end != number).chain(
        // From an open group one goes to its first or last box.
        scene
            .layout
            .boxes
            .get(number)
            .filter(|placed| placed.is_open)
            .and_then(|_| inner(scene, number, down)),
    );
    let aside = |end: &usize| {
        let rect = rect_of(scene.layout.boxes[*end].rect);
        (rect.center().x - here.center().x).abs() + (rect.center().y - here.center().y).abs() * 0.1
    };
    ends.min_by(|a, b| aside(a).total_cmp(&aside(b)))
}

fn inner(scene: &Scene, number: usize, first: bool) -> Option<usize> {
    let inside = scene.layout.boxes.iter().enumerate().filter(|(_, placed)| placed.parent == Some(number));
    let y = |(_, placed): &(usize, &gander::data::graph::PlacedItem)| placed.rect.y;
    let found = match first {
        true => inside.min_by(|a, b| y(a).total_cmp(&y(b))),
        false => inside.max_by(|a, b| y(a).total_cmp(&y(b))),
    };
    found.map(|(number, _)| number)
}

/// The nearest box at about the same height.
fn beside(scene: &Scene, number: usize, here: Rect, right: bool) -> Option<usize> {
    let boxes = scene.layout.boxes.iter().enumerate();
    let near = boxes.filter_map(|(other, placed)| {
        let rect = rect_of(placed.rect);
        let is_level = rect.y_range().contains(here.center().y) || here.y_range().contains(rect.center().y);
        let by = if right { rect.left() - here.right() } else { here.left() - rect.right() };
        (other != number && !placed.is_open && is_level && by >= 0.0).then_some((other, by))
    });
    near.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(other, _)| other)
}

/// The group around an item.
pub(super) fn around(of: &Outlined, item: Item) -> Option<GroupId> {
    let group = match item {
        Item::Node(node) => of.outline.group_of(node),
        Item::Group(group) => of.outline.group(group)?.parent?,
        Item::Input(_) | Item::Output(_) => return None,
    };
    (group != GroupId::TOP).then_some(group)
}

/// What an item is called in the status bar.
pub(super) fn name(of: &Outlined, item: Item) -> String {
    let value = |id| of.graph.value(id).map_or_else(String::new, |value| value.name.to_string());
    match item {
        Item::Node(node) => of.graph.nodes().get(node as usize).map_or_else(String::new, node_name),
        Item::Group(group) => {
            of.outline.group(group).map_or_else(String::new, |group| group.path.to_string())
        }
        Item::Input(id) => format!("input {}", value(id)),
        Item::Output(id) => format!("output {}", value(id)),
    }
}

fn node_name(node: &Operation) -> String {
    if node.name.is_empty() {
        node.operator.to_string()
    } else {
        format!("{} · {}", node.name, node.operator)
    }
}
