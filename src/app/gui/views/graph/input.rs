//! What a person does with a graph: wheel, drag, clicks, keys; and what a screen reader says of its boxes.

use egui::{PointerButton, Pos2, Rect, Response, Role, Sense, Ui, WidgetInfo, pos2, vec2};
use gander::bytes::display;
use gander::data::graph::labels::Label;
use gander::data::graph::{GroupId, Item};

use super::scene::{Outlined, Scene};
use super::{GraphView, LARGEST, draw, scene, walk};
use crate::gui::ui::canvas::Viewport;
use crate::gui::ui::keys;
use crate::gui::views::keys::{GRAPH_KEYS, GraphCommand};

/// Boxes beyond so many in sight are no parts of the accessibility tree.
const SPOKEN: usize = 400;

impl GraphView {
    /// Wheel, pinch and drag.
    pub(super) fn pointer(&mut self, ui: &Ui, response: &Response, scene: &Scene) {
        let sight = self.camera.sight(response.rect, scene.size());
        let at = ui.input(|input| input.pointer.hover_pos()).filter(|_| response.contains_pointer());
        if let Some(at) = at {
            let (scroll, pinch) = ui.input(|input| (input.smooth_scroll_delta(), input.zoom_delta()));
            let factor = if pinch != 1.0 { f64::from(pinch) } else { f64::from(scroll.y * 0.006).exp() };
            if factor != 1.0 {
                let most = LARGEST / self.camera.zoom[0];
                self.camera.zoom_by(&sight, factor.min(most.max(1.0)), at);
            } else if scroll.x != 0.0 {
                self.camera.pan(&sight, vec2(scroll.x, 0.0));
            }
        }
        let drags = response.dragged_by(PointerButton::Primary) || response.dragged_by(PointerButton::Middle);
        if drags && !self.on_map {
            self.camera.pan(&sight, response.drag_delta());
        }
        if !drags {
            let [x, y] = at.map_or([f64::NAN; 2], |at| sight.to_plane(at));
            self.shown.hovered = at.and_then(|_| scene.at(pos2(x as f32, y as f32)));
        }
    }

    /// A click or a drag on the map goes there.
    pub(super) fn map_input(&mut self, response: &Response, map: Option<(Rect, f32)>) {
        let Some((place, scale)) = map else {
            self.on_map = false;
            return;
        };
        let at = response.interact_pointer_pos();
        if response.drag_started() || response.clicked() {
            self.on_map = at.is_some_and(|at| place.expand(6.0).contains(at));
        }
        if self.on_map
            && let Some(at) = at
        {
            let to = (at - place.min) / scale;
            self.camera.fit = false;
            self.camera.middle = [f64::from(to.x), f64::from(to.y)];
        }
        if response.drag_stopped() || response.clicked() {
            self.on_map = false;
        }
    }

    /// Clicks on boxes. Those in sight that can be read are parts of the accessibility tree.
    pub(super) fn boxes(
        &mut self,
        ui: &Ui,
        canvas: &Response,
        scene: &Scene,
        of: &Outlined,
        sight: &Viewport,
    ) {
        if sight.zoom()[0] as f32 >= draw::READABLE {
            self.spoken(ui, canvas, scene, of, sight);
        }
        let hovered = self.shown.hovered;
        // Enter counts as a click of what has the focus, but is a key here.
        let clicked = canvas.clicked_by(PointerButton::Primary) || canvas.double_clicked();
        if clicked && !self.on_map {
            canvas.request_focus();
            let item = hovered.and_then(|number| scene.layout.boxes.get(number)).map(|placed| placed.item);
            self.shown.selected = item;
            if canvas.double_clicked() {
                self.act(item);
            }
        }
    }

    fn spoken(&mut self, ui: &Ui, canvas: &Response, scene: &Scene, of: &Outlined, sight: &Viewport) {
        let mut count = 0;
        let mut did = None;
        for (number, placed) in scene.layout.boxes.iter().enumerate() {
            let rect = scene::rect_of(placed.rect);
            let corner = |at: Pos2| sight.to_screen(f64::from(at.x), f64::from(at.y));
            let mut place = Rect::from_min_max(corner(rect.min), corner(rect.max)).intersect(canvas.rect);
            if !place.is_positive() || count >= SPOKEN {
                continue;
            }
            if placed.is_open {
                // The inside of an open group belongs to what is in it, and to the canvas.
                place.max.y = place.min.y + (32.0 * sight.zoom()[0] as f32).min(place.height());
            }
            count += 1;
            let response = ui.interact(place, canvas.id.with(placed.item), Sense::click());
            let label = &scene.labels[number];
            let words = spoken_words(of, placed.item, placed.is_open, label);
            let is_selected = self.shown.selected == Some(placed.item);
            response.widget_info(|| WidgetInfo::selected(Role::Button, true, is_selected, &words));
            if response.clicked() || response.gained_focus() {
                did = Some((placed.item, response.double_clicked()));
            }
        }
        if let Some((item, is_double)) = did {
            canvas.request_focus();
            self.shown.selected = Some(item);
            if is_double {
                self.act(Some(item));
            }
        }
    }

    /// What a double click or Enter does.
    pub(super) fn act(&mut self, item: Option<Item>) -> bool {
        match item {
            Some(Item::Group(group)) => {
                self.toggle(group);
                true
            }
            Some(Item::Node(node)) => self.enter(node),
            _ => false,
        }
    }

    /// Arrows go along the edges, Enter opens, Escape lets go.
    pub(super) fn keys(&mut self, ui: &Ui, canvas: &Response, scene: &Scene, of: &Outlined) {
        if !canvas.has_focus() {
            return;
        }
        // Escape lets go of what is selected first, and then of the focus.
        let escape = self.shown.selected.is_some();
        let filter = egui::EventFilter {
            horizontal_arrows: true,
            vertical_arrows: true,
            escape,
            ..Default::default()
        };
        ui.memory_mut(|memory| memory.set_focus_lock_filter(canvas.id, filter));
        for command in keys::pressed(ui, GRAPH_KEYS) {
            match command {
                GraphCommand::Step(step) => {
                    if let Some(item) = walk::step(scene, self.shown.selected, step) {
                        self.shown.selected = Some(item);
                        self.keep_in_sight(scene, item, canvas.rect);
                    }
                }
                GraphCommand::Open => _ = self.act(self.shown.selected),
                GraphCommand::LetGo => self.shown.selected = None,
                GraphCommand::CloseAround => {
                    let group = self.shown.selected.and_then(|item| walk::around(of, item));
                    self.close_around(group);
                }
                GraphCommand::Zoom(closer) => {
                    self.zoom(closer.map(|closer| if closer { 1.25 } else { 0.8 }));
                }
            }
        }
    }

    /// Closes a group and selects it.
    fn close_around(&mut self, group: Option<GroupId>) {
        let Some(group) = group else { return };
        if let Some(open) = &mut self.shown.open {
            open.remove(&group);
        }
        self.shown.selected = Some(Item::Group(group));
        self.shown.anchor = self.shown.selected;
    }

    /// Moves as little as is needed to see an item.
    fn keep_in_sight(&mut self, scene: &Scene, item: Item, place: Rect) {
        let Some(rect) = scene.rect(item) else { return };
        let sight = self.camera.sight(place, scene.size());
        let corner = |at: Pos2| sight.to_screen(f64::from(at.x), f64::from(at.y));
        let seen = Rect::from_min_max(corner(rect.min), corner(rect.max));
        let inner = place.shrink(24.0);
        let by = |low: f32, high: f32, from: f32, to: f32| {
            if low < from { low - from } else { (high - to).max(0.0).min((low - from).max(0.0)) }
        };
        let by = [
            by(seen.left(), seen.right(), inner.left(), inner.right()),
            by(seen.top(), seen.bottom(), inner.top(), inner.bottom()),
        ];
        if by != [0.0; 2] {
            self.camera.fit = false;
            self.camera.middle =
                [0, 1].map(|n| self.camera.middle[n] + f64::from(by[n]) / self.camera.zoom[n]);
        }
    }
}

/// What a screen reader says of a box.
fn spoken_words(of: &Outlined, item: Item, is_open: bool, label: &Label) -> String {
    match item {
        Item::Group(group) => {
            let count = of.outline.group(group).map_or(0, |group| group.nodes_below);
            let state = if is_open { "open" } else { "closed" };
            format!("{}, {state} group of {}", label.title, display::plural(count, "node"))
        }
        Item::Node(_) => format!("{} {}", label.title, label.detail).trim_end().to_owned(),
        Item::Input(_) => format!("{}, input", label.title),
        Item::Output(_) => format!("{}, output", label.title),
    }
}
