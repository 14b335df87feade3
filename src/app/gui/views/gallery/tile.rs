//! One row of the gallery: its picture with what is drawn over it, and the line below.

use egui::{Align2, Color32, Painter, Pos2, Rect, Stroke, StrokeKind, Ui, pos2, vec2};
use gander::data::media::regions::Region;

use super::thumbs::Thumb;
use super::{LINE, PROPORTION};
use crate::gui::icons::Icon;
use crate::gui::theme::{self, Theme, body_font, mono_small_font, size, small_font, space};
use crate::gui::ui::paint_elided;

/// Corners of pictures.
const CORNER: f32 = 3.0;
/// Numbers stand beside labels where there is so much room.
const NUMBER: f32 = 84.0;

/// What the look of a row depends on beside its picture.
pub(super) struct TileStyle<'a> {
    /// The number.
    pub(super) label: &'a str,
    pub(super) cursor: bool,
    pub(super) selected: bool,
    pub(super) hovered: bool,
    pub(super) flagged: bool,
    pub(super) focused: bool,
    pub(super) caption: bool,
}

/// The colour of what is drawn over pictures.
fn over() -> Color32 {
    theme::picture_color([0xff, 0x2b, 0xd6])
}

/// Paints a row.
pub(super) fn paint(ui: &Ui, place: Rect, thumb: Option<&Thumb>, look: &TileStyle<'_>) {
    let theme = Theme::of(ui);
    let painter = ui.painter();
    let area = Rect::from_min_size(place.min, vec2(place.width(), (place.width() * PROPORTION).round()));
    if look.selected {
        painter.rect_filled(place.expand(4.0), CORNER + 2.0, theme.selection);
    }
    painter.rect_filled(area, CORNER, if look.hovered { theme.bg3 } else { theme.bg1 });
    match thumb {
        None => {}
        Some(thumb) => picture(painter, theme, area, thumb),
    }
    if look.cursor {
        let color = if look.focused { theme.accent } else { theme.accent.gamma_multiply(0.55) };
        painter.rect_stroke(area.expand(2.0), CORNER + 1.0, Stroke::new(2.0, color), StrokeKind::Outside);
    }
    if look.flagged {
        flag(painter, theme, area.right_top() + vec2(-space::S4, space::S1));
    }
    words(painter, theme, place, area, thumb, look);
}

fn words(
    painter: &Painter,
    theme: &Theme,
    place: Rect,
    area: Rect,
    thumb: Option<&Thumb>,
    look: &TileStyle<'_>,
) {
    let y = area.bottom() + LINE / 2.0;
    let label = thumb.and_then(|thumb| thumb.label.as_deref());
    let numbered = label.is_none() || place.width() >= NUMBER;
    let mut room = place.width();
    if numbered {
        let at = if label.is_some() {
            (pos2(place.right(), y), Align2::RIGHT_CENTER)
        } else {
            (pos2(place.left(), y), Align2::LEFT_CENTER)
        };
        let rect = paint_elided(painter, at.0, at.1, look.label, mono_small_font(), theme.dim, room);
        room -= rect.width() + space::S2;
    }
    if let Some(label) = label.filter(|_| room > 8.0) {
        paint_elided(
            painter,
            pos2(place.left(), y),
            Align2::LEFT_CENTER,
            label,
            body_font(),
            theme.text,
            room,
        );
    }
    if look.caption
        && let Some(caption) = thumb.and_then(|thumb| thumb.caption.as_deref())
    {
        let at = pos2(place.left(), y + LINE - 2.0);
        paint_elided(painter, at, Align2::LEFT_CENTER, caption, small_font(), theme.dim, place.width());
    }
}

fn picture(painter: &Painter, theme: &Theme, area: Rect, thumb: &Thumb) {
    let Some(texture) = &thumb.picture else {
        let (icon, color) = match thumb.failed {
            true => (Icon::Warning, theme.bad),
            false => (Icon::Play, theme.dim),
        };
        let font = egui::FontId::new(size::TEXT * 1.4, theme::icon_family());
        painter.text(area.center() - vec2(0.0, 8.0), Align2::CENTER_CENTER, icon.glyph(), font, color);
        let at = area.center() + vec2(0.0, 12.0);
        let width = area.width() - space::S2;
        let color = if thumb.failed { theme.bad } else { theme.dim };
        paint_elided(painter, at, Align2::CENTER_CENTER, &thumb.words, small_font(), color, width);
        return;
    };
    let natural = texture.size();
    let scale = (area.width() / natural.x.max(1.0)).min(area.height() / natural.y.max(1.0));
    // Never larger than eight times, but as large as there is room.
    let shown = Rect::from_center_size(area.center(), natural * scale.min(8.0));
    texture.paint(painter, shown);
    if thumb.partial {
        let font = egui::FontId::new(size::TEXT * 1.2, theme::icon_family());
        let at = shown.left_top() + vec2(space::S1, space::S1);
        painter.text(at, Align2::LEFT_TOP, Icon::Warning.glyph(), font, theme.bad);
    }
    if let Some(mask) = &thumb.mask {
        mask.paint(painter, shown);
    }
    if let Some(shapes) = &thumb.shapes {
        shapes.paint(painter, shown);
    }
    let inside = painter.with_clip_rect(area.intersect(painter.clip_rect()));
    thumb.regions.iter().for_each(|region| frame(&inside, shown, region));
    for region in &thumb.regions {
        outlines(&inside, shown, region);
    }
    let own = thumb.regions.iter().flat_map(|region| &region.points);
    for [x, y] in thumb.points.iter().chain(own) {
        let at = at(shown, *x, *y);
        inside.circle(at, 2.5, over(), Stroke::new(1.0, Color32::WHITE));
    }
}

/// The outlines of shapes and the lines between key points.
fn outlines(painter: &Painter, shown: Rect, region: &Region) {
    let stroke = Stroke::new(1.0, over());
    for polygon in &region.polygons {
        let points = polygon.iter().map(|[x, y]| at(shown, *x, *y)).collect();
        painter.add(egui::Shape::closed_line(points, stroke));
    }
    for [[x0, y0], [x1, y1]] in &region.lines {
        painter.line_segment([at(shown, *x0, *y0), at(shown, *x1, *y1)], Stroke::new(2.0, over()));
    }
}

/// A place on a picture, from shares of its sides.
fn at(shown: Rect, x: f64, y: f64) -> Pos2 {
    let within = |part: f64| part.clamp(-0.1, 1.1) as f32;
    shown.min + shown.size() * vec2(within(x), within(y))
}

fn frame(painter: &Painter, shown: Rect, region: &Region) {
    let [left, top, right, bottom] = region.corners;
    let rect = Rect::from_two_pos(at(shown, left, top), at(shown, right, bottom));
    painter.rect_stroke(rect, 0.0, Stroke::new(1.5, over()), StrokeKind::Inside);
    let Some(label) = region.label.as_deref().filter(|_| shown.width() > 60.0) else { return };
    let galley =
        crate::gui::ui::elided(painter, label, mono_small_font(), Color32::WHITE, shown.width() * 0.8);
    let size = galley.size() + vec2(4.0, 0.0);
    // Above the box, or in it where there is no room.
    let y = if rect.top() - size.y >= shown.top() { rect.top() - size.y } else { rect.top() };
    let tag = Rect::from_min_size(pos2(rect.left(), y), size);
    painter.rect_filled(tag, 0.0, over());
    painter.galley(tag.min + vec2(2.0, 0.0), galley, Color32::WHITE);
}

/// The mark of a flagged row.
fn flag(painter: &Painter, theme: &Theme, at: Pos2) {
    let points =
        vec![at, at + vec2(12.0, 0.0), at + vec2(12.0, 16.0), at + vec2(6.0, 11.0), at + vec2(0.0, 16.0)];
    let [a, b, c, d, e] = [points[0], points[1], points[2], points[3], points[4]];
    for part in [vec![a, b, d], vec![b, c, d], vec![a, d, e]] {
        painter.add(egui::Shape::convex_polygon(part, theme.accent, Stroke::NONE));
    }
    painter.add(egui::Shape::closed_line(points, Stroke::new(1.0, theme.on_accent)));
}
