//! A virtual list: rows of one height, millions of them, drawn only where they are in sight. The
//! explorer, texts, bytes and the palette share it. Positions are (row, fraction), as in the grid.

use std::ops::Range;

use egui::{Rect, Response, Sense, Ui, UiBuilder, pos2, vec2};

use super::{RowPosition, ScrollBar, Scrolled};
use crate::gui::theme::size;

/// The scroll state of a list.
#[derive(Clone, Debug, Default)]
pub(crate) struct List {
    top: RowPosition,
    grab: Option<f32>,
    reveal: Option<u64>,
}

/// What a list says after it was drawn.
pub(crate) struct ListShown {
    /// The area of the rows.
    pub(crate) response: Response,
    /// The rows that were drawn.
    pub(crate) rows: Range<u64>,
    /// How many whole rows fit.
    pub(crate) page: u64,
}

impl List {
    /// Brings a row into sight in the next frame.
    pub(crate) fn reveal(&mut self, row: u64) {
        self.reveal = Some(row);
    }

    /// Puts a row at the top.
    pub(crate) fn scroll_to(&mut self, row: u64) {
        self.top = RowPosition { row, fraction: 0.0 };
    }

    /// How much of the first row is out of sight, 0 to 1.
    pub(crate) fn fraction(&self) -> f32 {
        self.top.fraction
    }

    /// The first row in sight.
    pub(crate) fn top(&self) -> u64 {
        self.top.row
    }

    /// Draws `count` rows of `height` points into all that is left of `ui`; `draw` gets the place of
    /// each row in sight. `name` is what a screen reader says of the list.
    pub(crate) fn ui(
        &mut self,
        ui: &mut Ui,
        name: &str,
        count: u64,
        height: f32,
        mut draw: impl FnMut(&mut Ui, Rect, u64),
    ) -> ListShown {
        let outer = ui.available_rect_before_wrap();
        ui.allocate_rect(outer, Sense::hover());
        let page = outer.height() / height;
        let scrolls = count as f64 > f64::from(page);
        let right = if scrolls { outer.right() - size::SCROLL_BAR } else { outer.right() };
        let body = Rect::from_min_max(outer.min, pos2(right, outer.bottom()));
        let mut child = ui.new_child(UiBuilder::new().max_rect(body).id_salt(name));
        child.shrink_clip_rect(body);
        let id = child.scope_id();
        let response = child.interact(body, id.with("body"), Sense::click());
        child.ctx().accesskit_node_builder(response.id, |node| {
            node.set_role(egui::accesskit::Role::List);
            node.set_label(name);
        });
        if let Some(row) = self.reveal.take() {
            self.top = self.top.reveal(row, count, page);
        }
        self.wheel(&child, body, count, height, page);
        self.top = self.top.clamped(count, page);
        let first = self.top.row;
        let mut y = body.top() - self.top.fraction * height;
        let mut row = first;
        while y < body.bottom() && row < count {
            let place = Rect::from_min_size(pos2(body.left(), y), vec2(body.width(), height));
            draw(&mut child, place, row);
            y += height;
            row += 1;
        }
        if scrolls {
            let track = Rect::from_min_max(pos2(right, outer.top()), outer.max);
            self.bar(ui, id, track, count, page);
        }
        ListShown { response, rows: first..row, page: (page.floor() as u64).max(1) }
    }

    fn wheel(&mut self, ui: &Ui, body: Rect, count: u64, height: f32, page: f32) {
        if !ui.rect_contains_pointer(body.expand2(vec2(size::SCROLL_BAR, 0.0))) {
            return;
        }
        let delta = ui.input(|input| input.smooth_scroll_delta().y);
        if delta != 0.0 {
            self.top = self.top.scroll(-f64::from(delta / height), count, page);
            ui.input_mut(|input| input.smooth_scroll_delta.y = 0.0);
        }
    }

    fn bar(&mut self, ui: &Ui, id: egui::Id, track: Rect, count: u64, page: f32) {
        let seen = f64::from(page) / count.max(1) as f64;
        let bar =
            ScrollBar { track, vertical: true, part: self.top.part(count, page), seen, name: "Scroll bar" };
        match bar.ui(ui, id.with("bar"), &mut self.grab).0 {
            Scrolled::No => {}
            Scrolled::To(part) => self.top = RowPosition::at_part(part, count, page),
            Scrolled::Page(way) => {
                let rows = f64::from(way) * f64::from((page.floor() - 1.0).max(1.0));
                self.top = self.top.scroll(rows, count, page);
            }
        }
    }
}
