//! Views of arrays of the same shape that are looked at together: what is done in one is done in the others.

use egui::Ui;
use gander::data::plane::color::HeatMapSpec;
use gander::data::plane::{Mapping, Orientation};

use super::super::ViewCx;
use super::slice_image::SliceImage;
use super::{ArrayView, Mode};
use crate::gui::ui::canvas::Cells;

/// What linked views have in common.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Linked {
    mapping: Mapping,
    choice: HeatMapSpec,
    cursor: Option<Vec<u64>>,
    sight: Sight,
}

/// Where they look, whatever the size of their panes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Sight {
    /// Zoom and middle; `None` with all in sight.
    place: Option<([f64; 2], [f64; 2])>,
    turn: Orientation,
    cells: Cells,
}

impl Sight {
    fn of(pictured: &SliceImage) -> Self {
        let camera = &pictured.camera;
        let place = (!camera.fit).then_some((camera.zoom, camera.middle));
        Sight { place, turn: camera.turn, cells: camera.cells }
    }

    fn give(self, pictured: &mut SliceImage) {
        let camera = &mut pictured.camera;
        (camera.turn, camera.cells, camera.fit) = (self.turn, self.cells, self.place.is_none());
        if let Some((zoom, middle)) = self.place {
            (camera.zoom, camera.middle) = (zoom, middle);
        }
    }
}

impl ArrayView {
    fn pictured(&self) -> Option<&SliceImage> {
        match self.mode {
            Mode::Heat => Some(&self.heat),
            Mode::Image => Some(&self.image),
            _ => None,
        }
    }

    fn linked(&self, before: Option<&Linked>) -> Linked {
        // A mode without a picture leaves zoom as it was.
        let sight = self.pictured().map(Sight::of).or(before.map(|before| before.sight)).unwrap_or_default();
        Linked { mapping: self.mapping.clone(), choice: self.choice, cursor: self.cursor.clone(), sight }
    }

    /// Tells the others what was done here, or does what was done there.
    pub(super) fn link(&mut self, ui: &Ui, cx: &mut ViewCx<'_>) {
        if !self.is_linked {
            (self.link_seen, cx.workspace.linked) = (None, None);
            return;
        }
        let now = self.linked(self.link_seen.as_ref());
        let changed = self.link_seen.as_ref().is_some_and(|seen| *seen != now);
        match cx.workspace.linked.as_ref() {
            Some(shared) if !changed => {
                if *shared != now && shared.mapping.shape() == self.array.shape() {
                    let shared = shared.clone();
                    self.adopt(&shared);
                    ui.ctx().request_repaint();
                }
            }
            _ => {
                cx.workspace.linked = Some(now);
                ui.ctx().request_repaint();
            }
        }
        self.link_seen = Some(self.linked(cx.workspace.linked.as_ref()));
    }

    fn adopt(&mut self, shared: &Linked) {
        self.mapping.clone_from(&shared.mapping);
        self.choice = HeatMapSpec { part: self.choice.part, ..shared.choice };
        match self.mode {
            Mode::Heat => shared.sight.give(&mut self.heat),
            Mode::Image => shared.sight.give(&mut self.image),
            _ => {}
        }
        if shared.cursor.is_some() && shared.cursor != self.cursor {
            self.cursor.clone_from(&shared.cursor);
            self.frame_cursor();
        }
    }
}
