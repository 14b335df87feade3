//! Scroll positions and scroll bars of lists, grids and texts.
//!
//! Rows are scrolled by (row, fraction): 10⁹ rows of 24 points are more than an `f32` can count. The bar
//! works in `f64` and is exact at both ends.

use egui::{Rect, Response, Sense, Ui, pos2};
use serde::{Deserialize, Serialize};

use crate::gui::theme::{Theme, size};

/// The first row in sight, and how much of it is above the edge (0 to less than 1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct RowPosition {
    /// The row.
    pub(crate) row: u64,
    /// The part of it that is out of sight.
    pub(crate) fraction: f32,
}

impl RowPosition {
    /// A position, from rows as a number with a fraction; for numbers of a few pages only.
    fn moved(self, rows: f64) -> Self {
        let sum = f64::from(self.fraction) + rows;
        let whole = sum.floor();
        let row = if whole < 0.0 {
            let back = (-whole) as u64;
            if back > self.row {
                return Self::default();
            }
            self.row - back
        } else {
            self.row.saturating_add(whole as u64)
        };
        // A fraction that rounds up to 1 in f32 would show the row as gone.
        let fraction = (sum - whole) as f32;
        if fraction >= 1.0 {
            Self { row: row.saturating_add(1), fraction: 0.0 }
        } else {
            Self { row, fraction }
        }
    }

    /// The last position: the last row at the lower edge. `page` is how many rows fit.
    pub(crate) fn last(rows: u64, page: f32) -> Self {
        let whole = page.max(0.0).ceil();
        if whole as u64 > rows {
            return Self::default();
        }
        Self { row: rows - whole as u64, fraction: (whole - page.max(0.0)).min(0.999_999) }
    }

    /// The position within the first and the last.
    pub(crate) fn clamped(self, rows: u64, page: f32) -> Self {
        let last = Self::last(rows, page);
        if self.after(last) { last } else { self }
    }

    fn after(self, other: Self) -> bool {
        (self.row, self.fraction) > (other.row, other.fraction)
    }

    /// Moves by rows with a fraction: pixels of the wheel over the height of a row.
    pub(crate) fn scroll(self, by: f64, rows: u64, page: f32) -> Self {
        self.moved(by).clamped(rows, page)
    }

    /// Moves just far enough that `row` is wholly in sight.
    pub(crate) fn reveal(self, row: u64, rows: u64, page: f32) -> Self {
        let target = if row <= self.row {
            // Also when the row is the first one but half hidden.
            Self { row, fraction: 0.0 }
        } else {
            // The position that has `row` at the lower edge.
            let lowest = Self::last(row.saturating_add(1), page);
            if lowest.after(self) { lowest } else { self }
        };
        target.clamped(rows, page)
    }

    /// Where the thumb stands: 0 at the first position, 1 at the last.
    pub(crate) fn part(self, rows: u64, page: f32) -> f64 {
        let last = Self::last(rows, page);
        let number = |position: Self| position.row as f64 + f64::from(position.fraction);
        if number(last) <= 0.0 { 0.0 } else { (number(self) / number(last)).clamp(0.0, 1.0) }
    }

    /// The position of a thumb; exact at both ends.
    pub(crate) fn at_part(part: f64, rows: u64, page: f32) -> Self {
        let last = Self::last(rows, page);
        if part <= 0.0 || part.is_nan() {
            return Self::default();
        }
        if part >= 1.0 {
            return last;
        }
        let number = part * (last.row as f64 + f64::from(last.fraction));
        let position = Self { row: number as u64, fraction: (number - number.floor()) as f32 };
        if position.fraction >= 1.0 || position.after(last) { last } else { position }
    }
}

/// What a scroll bar is asked to show.
pub(crate) struct ScrollBar {
    /// The track.
    pub(crate) track: Rect,
    /// Whether it stands upright.
    pub(crate) vertical: bool,
    /// The thumb's place, 0 to 1.
    pub(crate) part: f64,
    /// How much of all is in sight, 0 to 1.
    pub(crate) seen: f64,
    /// For screen readers.
    pub(crate) name: &'static str,
}

/// What was done with a scroll bar.
pub(crate) enum Scrolled {
    /// Nothing.
    No,
    /// The thumb was dragged to a part.
    To(f64),
    /// The track was clicked before (−1) or behind (1) the thumb.
    Page(i8),
}

impl ScrollBar {
    fn length(&self) -> f32 {
        if self.vertical { self.track.height() } else { self.track.width() }
    }

    fn thumb_length(&self) -> f32 {
        ((f64::from(self.length()) * self.seen) as f32)
            .clamp(size::SCROLL_THUMB.min(self.length()), self.length())
    }

    /// The thumb's rectangle.
    pub(crate) fn thumb(&self) -> Rect {
        let length = self.thumb_length();
        let start = ((self.length() - length) as f64 * self.part) as f32;
        let (min, track) = (self.track.min, self.track);
        if self.vertical {
            Rect::from_min_max(pos2(min.x, min.y + start), pos2(track.max.x, min.y + start + length))
        } else {
            Rect::from_min_max(pos2(min.x + start, min.y), pos2(min.x + start + length, track.max.y))
        }
    }

    /// Draws the bar and says what was done with it. `grab` keeps, while the thumb is dragged, how far
    /// from the thumb's beginning it was taken.
    pub(crate) fn ui(&self, ui: &Ui, id: egui::Id, grab: &mut Option<f32>) -> (Scrolled, Response) {
        let theme = Theme::of(ui);
        let response = ui.interact(self.track, id, Sense::CLICK | Sense::DRAG);
        let along = |at: egui::Pos2| if self.vertical { at.y } else { at.x };
        let (thumb, track_start) = (self.thumb(), along(self.track.min));
        let mut scrolled = Scrolled::No;
        if response.drag_started()
            && let Some(origin) = ui.input(|input| input.pointer.press_origin())
            && thumb.contains(origin)
        {
            *grab = Some(along(origin) - along(thumb.min));
        }
        if let Some(at) = response.interact_pointer_pos() {
            if let Some(grab) = *grab {
                let room = f64::from(self.length() - self.thumb_length());
                let wanted = f64::from(along(at) - grab - track_start);
                scrolled = Scrolled::To(if room > 0.0 { (wanted / room).clamp(0.0, 1.0) } else { 0.0 });
            } else if response.clicked() && !thumb.contains(at) {
                scrolled = Scrolled::Page(if along(at) < along(thumb.min) { -1 } else { 1 });
            }
        }
        if response.drag_stopped() || !ui.input(|input| input.pointer.any_down()) {
            *grab = None;
        }
        let strength = if grab.is_some() {
            0.55
        } else if response.hovered() {
            0.42
        } else {
            0.25
        };
        ui.painter().rect_filled(self.track, 0.0, theme.bg1);
        let color = theme.bg1.lerp_to_gamma(theme.dim, strength + 0.2);
        ui.painter().rect_filled(thumb.shrink(3.0), size::CORNER, color);
        self.describe(ui, id);
        (scrolled, response)
    }

    fn describe(&self, ui: &Ui, id: egui::Id) {
        ui.ctx().accesskit_node_builder(id, |node| {
            node.set_role(egui::accesskit::Role::ScrollBar);
            node.set_label(self.name);
            node.set_orientation(if self.vertical {
                egui::accesskit::Orientation::Vertical
            } else {
                egui::accesskit::Orientation::Horizontal
            });
            node.set_min_numeric_value(0.0);
            node.set_max_numeric_value(1.0);
            node.set_numeric_value(self.part);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: u64 = 1_000_000_000;

    #[test]
    fn the_last_row_stands_at_the_lower_edge() {
        assert_eq!(RowPosition::last(ROWS, 30.0), RowPosition { row: ROWS - 30, fraction: 0.0 });
        assert_eq!(RowPosition::last(ROWS, 30.25), RowPosition { row: ROWS - 31, fraction: 0.75 });
        assert_eq!(RowPosition::last(30, 30.0), RowPosition::default());
        assert_eq!(RowPosition::last(3, 30.5), RowPosition::default());
        assert_eq!(RowPosition::last(0, 30.5), RowPosition::default());
    }

    #[test]
    fn a_row_at_a_time_is_exact_far_down() {
        let mut position = RowPosition { row: ROWS - 31, fraction: 0.75 };
        for step in 1..=1000u64 {
            position = position.scroll(-1.0, ROWS, 30.25);
            assert_eq!(position, RowPosition { row: ROWS - 31 - step, fraction: 0.75 });
        }
        for _ in 0..1000 {
            position = position.scroll(1.0, ROWS, 30.25);
        }
        assert_eq!(position, RowPosition::last(ROWS, 30.25));
        assert_eq!(position.scroll(1.0, ROWS, 30.25), position);
    }

    #[test]
    fn the_thumb_is_exact_at_both_ends() {
        for rows in [1, 31, 1000, ROWS, u64::MAX] {
            let last = RowPosition::last(rows, 30.25);
            assert_eq!(RowPosition::at_part(1.0, rows, 30.25), last);
            assert_eq!(RowPosition::at_part(0.0, rows, 30.25), RowPosition::default());
            assert_eq!(last.part(rows, 30.25), if rows < 31 { 0.0 } else { 1.0 });
        }
        let middle = RowPosition::at_part(0.5, ROWS, 30.0);
        assert_eq!(middle.row, (ROWS - 30) / 2);
    }

    #[test]
    fn revealing_moves_no_further_than_needed() {
        let start = RowPosition { row: 100, fraction: 0.5 };
        assert_eq!(start.reveal(110, ROWS, 30.0), start);
        assert_eq!(start.reveal(100, ROWS, 30.0), RowPosition { row: 100, fraction: 0.0 });
        assert_eq!(start.reveal(99, ROWS, 30.0), RowPosition { row: 99, fraction: 0.0 });
        assert_eq!(start.reveal(130, ROWS, 30.0), RowPosition { row: 101, fraction: 0.0 });
        assert_eq!(start.reveal(ROWS - 1, ROWS, 30.0), RowPosition { row: ROWS - 30, fraction: 0.0 });
    }
}
