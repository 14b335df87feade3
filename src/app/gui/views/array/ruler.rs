//! A ruler over a picture: how far the pixel under the pointer is from the framed one.

use egui::{Align2, Pos2, Stroke, Ui, vec2};
use gander::bytes::display;
use gander::data::axes::AxisCoordinates;
use gander::data::plane::Slice;

use crate::gui::theme::{Theme, mono_small_font, space};
use crate::gui::ui::canvas::Viewport;

/// Draws it from the element `from` to the one at the pointer, with its length in elements and, where the axes have
/// steps in one unit, in that.
pub(super) fn draw(
    ui: &Ui,
    sight: &Viewport,
    slice: &Slice,
    coordinates: &AxisCoordinates,
    from: [u64; 2],
    pointer: Pos2,
) {
    let Some(to) = sight.element(pointer) else { return };
    let middle = |[column, row]: [u64; 2]| sight.to_screen(column as f64 + 0.5, row as f64 + 0.5);
    let (begin, end) = (middle(from), middle(to));
    let theme = Theme::of(ui);
    let painter = ui.painter_at(sight.rect);
    // Seen on light and dark pictures alike.
    painter.line_segment([begin, end], Stroke::new(3.0, theme.bg0));
    painter.line_segment([begin, end], Stroke::new(1.5, theme.accent));
    for place in [begin, end] {
        painter.circle(place, 3.0, theme.accent, Stroke::new(1.0, theme.bg0));
    }
    let words = words(slice, coordinates, from, to);
    let galley = painter.layout_no_wrap(words, mono_small_font(), theme.text);
    let room = galley.size() + vec2(space::S2, space::S1) * 2.0;
    let mut place = Align2::LEFT_BOTTOM.anchor_size(pointer + vec2(space::S3, -space::S3), room);
    // Where there is no room it stands at the other side.
    if place.right() > sight.rect.right() {
        place = place.translate(vec2(-room.x - space::S3 * 2.0, 0.0));
    }
    if place.top() < sight.rect.top() {
        place = place.translate(vec2(0.0, room.y + space::S3 * 2.0));
    }
    painter.rect_filled(place, 3.0, theme.bg0);
    painter.galley(place.min + vec2(space::S2, space::S1), galley, theme.text);
}

/// The length, and how far it is across and down.
fn words(slice: &Slice, coordinates: &AxisCoordinates, from: [u64; 2], to: [u64; 2]) -> String {
    let [across, down] = [0, 1].map(|n| to[n].abs_diff(from[n]));
    let pixels = (across as f64).hypot(down as f64);
    let length = coordinates
        .distance(slice, across, down)
        .map_or(String::new(), |(length, unit)| format!(" · {} {unit}", display::brief(length)));
    format!("{} px{length} · {across} × {down}", display::brief(pixels))
}
