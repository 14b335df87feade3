//! What stands on and around a heat map: the colour bar, numbers in cells, places of NaN and Inf, the
//! framed element, the tool tip.

use egui::epaint::{Mesh, Vertex, WHITE_UV};
use egui::{Align2, Color32, Id, Rect, Response, RichText, Shape, Stroke, StrokeKind, Ui, pos2, vec2};
use gander::bytes::display::{self, brief};
use gander::data::axes::AxisCoordinates;
use gander::data::dtype::DType;
use gander::data::numbers::{ComplexPart, NonFinite, element_text, numbers};
use gander::data::plane::color::{ColorScale, non_finite_color};
use gander::data::plane::{Orientation, Plane, ValueSummary};

use super::slice_image::ShownSlice;
use crate::gui::theme::{self, Theme, mono, picture_color, space};
use crate::gui::ui::canvas::Viewport;

/// Room for the colour bar at the right of a heat map.
pub(super) const BAR_ROOM: f32 = 108.0;
const BAR_WIDTH: f32 = 18.0;

/// The colour bar at the right of the picture and of what stands `beside` it: its ends, its middle, and what is not
/// finite.
pub(super) fn color_bar(
    ui: &Ui,
    sight: &Viewport,
    outer: Rect,
    beside: f32,
    scale: &ColorScale,
    summary: &ValueSummary,
) {
    let picture = sight.picture();
    if outer.right() - sight.rect.right() - beside < BAR_ROOM {
        return;
    }
    let theme = Theme::of(ui);
    let font = theme::mono_small_font();
    let kinds = summary.non_finite.iter().filter(|count| **count > 0).count() as f32;
    let legend = kinds * 16.0;
    let left = picture.right().clamp(sight.rect.left(), sight.rect.right()) + beside + space::S4;
    // A flat picture still has a bar that can be read.
    let top = picture.top().min(sight.rect.bottom() - 140.0).max(sight.rect.top());
    let bottom = picture.bottom().max(top + 120.0).min(sight.rect.bottom()) - legend;
    let bar = Rect::from_min_max(pos2(left, top), pos2(left + BAR_WIDTH, bottom));
    let mut mesh = Mesh::default();
    const STEPS: u32 = 64;
    for n in 0..=STEPS {
        let t = n as f32 / STEPS as f32;
        let (color, y) = (picture_color(scale.color(f64::from(t))), bar.bottom() - bar.height() * t);
        for x in [bar.left(), bar.right()] {
            mesh.vertices.push(Vertex { pos: pos2(x, y), uv: WHITE_UV, color });
        }
        if n > 0 {
            let at = 2 * n;
            mesh.indices.extend([at - 2, at - 1, at, at - 1, at, at + 1]);
        }
    }
    let painter = ui.painter();
    painter.add(Shape::mesh(mesh));
    painter.rect_stroke(bar, 2.0, theme.hairline(), StrokeKind::Outside);
    for place in [0.0f32, 0.25, 0.5, 0.75, 1.0] {
        if bar.height() < 160.0 && (place == 0.25 || place == 0.75) {
            continue;
        }
        let y = bar.bottom() - bar.height() * place;
        let anchor = match place {
            0.0 => Align2::LEFT_BOTTOM,
            1.0 => Align2::LEFT_TOP,
            _ => Align2::LEFT_CENTER,
        };
        let text = brief(scale.value(f64::from(place)));
        painter.text(pos2(bar.right() + space::S2, y).round(), anchor, text, font.clone(), theme.dim);
    }
    let mut y = bar.bottom() + 14.0;
    for kind in NonFinite::ALL {
        let (count, name) = (summary.non_finite[kind as usize], kind.word());
        if count == 0 {
            continue;
        }
        let swatch = Rect::from_min_size(pos2(bar.left(), y - 5.0), vec2(10.0, 10.0));
        swatch_of(ui, swatch, kind);
        let about = if summary.exact { "" } else { "≥ " };
        let text = format!("{name} {about}{}", display::short_count(count));
        painter.text(pos2(bar.left() + 14.0, y), Align2::LEFT_CENTER, text, font.clone(), theme.dim);
        y += 16.0;
    }
}

/// A field of the colour of what is not finite; −Inf is hatched.
fn swatch_of(ui: &Ui, rect: Rect, kind: NonFinite) {
    let painter = ui.painter_at(rect);
    painter.rect_filled(rect, 0.0, picture_color(non_finite_color(kind, 0)));
    if kind == NonFinite::NegativeInfinity {
        let stroke = Stroke::new(1.0, picture_color(non_finite_color(kind, 2)));
        let mut x = rect.left() - rect.height();
        while x < rect.right() {
            painter.line_segment([pos2(x, rect.bottom()), pos2(x + rect.height(), rect.top())], stroke);
            x += 4.0;
        }
    }
    painter.rect_stroke(rect, 0.0, Theme::of(ui).hairline(), StrokeKind::Inside);
}

/// Marks the places of NaN and Inf, also where a cell is less than a pixel or the overview steps over it.
pub(super) fn non_finite_places(ui: &Ui, sight: &Viewport, summary: &ValueSummary) {
    const LEAST: f32 = 4.0;
    let size = sight.element_size();
    if size.min_elem() >= 16.0 {
        let visible = sight.visible();
        let minus = summary.places.iter().filter(|place| place.2 == NonFinite::NegativeInfinity);
        for &(row, column, kind) in minus {
            if visible[0].contains(&column) && visible[1].contains(&row) {
                swatch_of(ui, sight.place([column as f64, row as f64, 1.0, 1.0]), kind);
            }
        }
        return;
    }
    if size.min_elem() >= LEAST {
        return;
    }
    let visible = sight.visible();
    let mut mesh = Mesh::default();
    for &(row, column, kind) in &summary.places {
        if !visible[0].contains(&column) || !visible[1].contains(&row) {
            continue;
        }
        let cell = sight.place([column as f64, row as f64, 1.0, 1.0]);
        let mark = Rect::from_center_size(cell.center(), cell.size().max(vec2(LEAST, LEAST)));
        mesh.add_colored_rect(mark, picture_color(non_finite_color(kind, 0)));
    }
    ui.painter_at(sight.rect).add(Shape::mesh(mesh));
}

/// Writes the values into the cells where these are large enough.
pub(super) fn numbers_in_cells(
    ui: &Ui,
    sight: &Viewport,
    plane: &Plane,
    scale: &ColorScale,
    part: ComplexPart,
    coordinates: &AxisCoordinates,
) {
    let size = sight.element_size();
    if size.x < 40.0 || size.y < 16.0 {
        return;
    }
    let theme = Theme::of(ui);
    let font = theme::mono_small_font();
    let advance = ui.fonts_mut(|fonts| fonts.glyph_width(&font, '0'));
    let room = ((size.x - 6.0) / advance) as usize;
    let visible = sight.visible();
    let painter = ui.painter_at(sight.rect);
    for row in visible[1].clone() {
        for column in visible[0].clone() {
            let Some(bytes) = plane.element(row, column) else { continue };
            let value = numbers(&plane.dtype, part, bytes).first().copied().unwrap_or(f64::NAN);
            let exact = coordinates.text(&plane.dtype, bytes);
            let text = match coordinates.value_name(&plane.dtype, bytes) {
                Some(name) if name.chars().count() <= room => name.to_owned(),
                _ if !plane.dtype.is_complex() && exact.chars().count() <= room => exact,
                _ => fitted(value, room),
            };
            let under = NonFinite::of(value)
                .map_or_else(|| scale.color(scale.place(value)), |kind| non_finite_color(kind, 0));
            let at = sight.place([column as f64, row as f64, 1.0, 1.0]).center();
            painter.text(
                at.round(),
                Align2::CENTER_CENTER,
                text,
                font.clone(),
                readable_on(theme, picture_color(under)),
            );
        }
    }
}

/// A number in at most so many characters: with fewer digits, then as a power of ten, then as a dot.
fn fitted(value: f64, room: usize) -> String {
    let fits = |text: &String| text.chars().count() <= room;
    let whole = brief(value);
    if fits(&whole) || !value.is_finite() {
        return if fits(&whole) { whole } else { "·".to_owned() };
    }
    let plain = (0..6).rev().map(|digits| format!("{value:.digits$}"));
    // Of small numbers digits behind the point would be zeros.
    let plain = plain.filter(|text| value.abs() >= 1.0 || text.bytes().any(|c| (b'1'..=b'9').contains(&c)));
    let powers = (0..4).rev().map(|digits| format!("{value:.digits$e}"));
    let near = |text: &String| {
        let read: f64 = text.parse().unwrap_or(f64::NAN);
        (read - value).abs() <= value.abs() * 0.06
    };
    let all: Vec<String> = plain.chain(powers).filter(fits).collect();
    let best = all.iter().find(|text| near(text)).or(all.last());
    best.cloned().unwrap_or_else(|| "·".to_owned())
}

/// Writes the samples of each pixel into it, one below the other, where there is room.
pub(super) fn samples_in_cells(ui: &Ui, sight: &Viewport, plane: &Plane, window: (f64, f64)) {
    const LINE: f32 = 13.0;
    let size = sight.element_size();
    let channels = plane.channels.max(1);
    if size.x < 40.0 || size.y < LINE * channels as f32 + 2.0 {
        return;
    }
    let theme = Theme::of(ui);
    let font = theme::mono_small_font();
    let visible = sight.visible();
    let painter = ui.painter_at(sight.rect);
    let advance = ui.fonts_mut(|fonts| fonts.glyph_width(&font, '0'));
    let room = ((size.x - 6.0) / advance) as usize;
    let width = plane.dtype.size() as usize;
    let bright = |value: f64| (255.0 * (value - window.0) / (window.1 - window.0)).clamp(0.0, 255.0) as u8;
    for row in visible[1].clone() {
        for column in visible[0].clone() {
            let Some(at) = plane.window.find(row, column).map(|n| n * width * channels) else { continue };
            let Some(bytes) = plane.raw.get(at..at + width * channels) else { continue };
            let values = numbers(&plane.dtype, ComplexPart::Real, bytes);
            let at = |n: usize| bright(values.get(n).copied().unwrap_or(0.0));
            let under =
                if channels < 3 { Color32::from_gray(at(0)) } else { Color32::from_rgb(at(0), at(1), at(2)) };
            let color = readable_on(theme, under);
            let middle = sight.place([column as f64, row as f64, 1.0, 1.0]).center();
            for (n, &value) in values.iter().enumerate() {
                let y = middle.y + LINE * (n as f32 - (channels - 1) as f32 / 2.0);
                painter.text(
                    pos2(middle.x, y).round(),
                    Align2::CENTER_CENTER,
                    fitted(value, room),
                    font.clone(),
                    color,
                );
            }
        }
    }
}

/// Dark or light text, whichever stands out from a colour.
fn readable_on(theme: &Theme, under: Color32) -> Color32 {
    let light = 0.299 * f32::from(under.r()) + 0.587 * f32::from(under.g()) + 0.114 * f32::from(under.b());
    let (dark_text, light_text) = (Theme::light().text, Theme::dark().text);
    let _ = theme;
    if light > 128.0 { dark_text } else { light_text }
}

/// A colour bar that lies, with its ends and its unit below it.
pub(super) fn level_bar(ui: &mut Ui, scale: &ColorScale, unit: &str) {
    const STEPS: u32 = 64;
    let theme = Theme::of(ui);
    ui.add_space(space::S2);
    let width = ui.available_width().min(240.0);
    let (bar, _) = ui.allocate_exact_size(vec2(width, 12.0), egui::Sense::hover());
    let mut mesh = Mesh::default();
    for n in 0..=STEPS {
        let t = n as f32 / STEPS as f32;
        let (color, x) = (picture_color(scale.color(f64::from(t))), bar.left() + bar.width() * t);
        for y in [bar.top(), bar.bottom()] {
            mesh.vertices.push(Vertex { pos: pos2(x, y), uv: WHITE_UV, color });
        }
        if n > 0 {
            let at = 2 * n;
            mesh.indices.extend([at - 2, at - 1, at, at - 1, at, at + 1]);
        }
    }
    ui.painter().add(Shape::mesh(mesh));
    ui.painter().rect_stroke(bar, 2.0, theme.hairline(), StrokeKind::Outside);
    let (line, _) = ui.allocate_exact_size(vec2(width, 16.0), egui::Sense::hover());
    let font = theme::mono_small_font();
    let ends =
        [(line.left_center(), Align2::LEFT_CENTER, 0.0), (line.right_center(), Align2::RIGHT_CENTER, 1.0)];
    for (at, anchor, place) in ends {
        ui.painter().text(at, anchor, brief(scale.value(place)), font.clone(), theme.dim);
    }
    ui.painter().text(line.center(), Align2::CENTER_CENTER, unit, theme::small_font(), theme.dim);
}

/// The unit of the values, above the colour bar.
pub(super) fn unit_of_bar(ui: &Ui, sight: &Viewport, outer: Rect, beside: f32, unit: &str) {
    if outer.right() - sight.rect.right() - beside < BAR_ROOM {
        return;
    }
    let picture = sight.picture();
    let left = picture.right().clamp(sight.rect.left(), sight.rect.right()) + beside + space::S4;
    let top = picture.top().min(sight.rect.bottom() - 140.0).max(sight.rect.top());
    let shown: String = unit.chars().take(14).collect();
    let theme = Theme::of(ui);
    let at = pos2(left, top - 3.0).round();
    ui.painter().text(at, Align2::LEFT_BOTTOM, shown, theme::small_font(), theme.dim);
}

/// Lines through an element, across the whole picture; the element itself stays free.
pub(super) fn cross_hair(ui: &Ui, sight: &Viewport, column: u64, row: u64) {
    let cell = sight.place([column as f64, row as f64, 1.0, 1.0]);
    let (gap, center) = (cell.expand(3.0), cell.center());
    let picture = sight.picture();
    let painter = ui.painter_at(sight.rect);
    for (width, color) in [(3.0, Color32::from_black_alpha(110)), (1.0, Color32::WHITE)] {
        let stroke = Stroke::new(width, color);
        painter.hline(picture.left()..=gap.left().max(picture.left()), center.y, stroke);
        painter.hline(gap.right().min(picture.right())..=picture.right(), center.y, stroke);
        painter.vline(center.x, picture.top()..=gap.top().max(picture.top()), stroke);
        painter.vline(center.x, gap.bottom().min(picture.bottom())..=picture.bottom(), stroke);
    }
}

/// Names and units of the axes, where they have some: above the rows, at the end of the columns.
pub(super) fn axis_titles(
    ui: &Ui,
    shown_slice: &ShownSlice<'_>,
    sight: &Viewport,
    outer: Rect,
    turn: Orientation,
) {
    let theme = Theme::of(ui);
    let (upright, picture) = (sight.upright(), sight.picture());
    let (down, across) = if upright {
        (shown_slice.slice.rows, shown_slice.slice.columns)
    } else {
        (shown_slice.slice.columns, shown_slice.slice.rows)
    };
    let title = |axis: Option<usize>| {
        axis.filter(|axis| shown_slice.coordinates.is_named(*axis))
            .map(|axis| shown_slice.coordinates.title(axis))
    };
    // Where growing indices are seen to lead.
    let ends = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]].map(|place| turn.forward([1.0, 1.0], place));
    let grows = |axis: usize| ends[1][axis] + ends[2][axis] > 2.0 * ends[0][axis];
    let (right, bottom) = (if grows(0) { '→' } else { '←' }, if grows(1) { '↓' } else { '↑' });
    let font = theme::small_font();
    let painter = ui.painter();
    if let Some(title) = title(down) {
        let galley = painter.layout_no_wrap(format!("{title} {bottom}"), font.clone(), theme.dim);
        let left = (picture.left() - space::S2 - galley.size().x).max(outer.left() + space::S2);
        let bottom = (picture.top() - 3.0).max(outer.top() + 14.0);
        painter.galley(pos2(left, bottom - galley.size().y).round(), galley, theme.dim);
    }
    if let Some(title) = title(across) {
        let at = pos2(picture.right(), (picture.bottom() + 18.0).min(outer.bottom() - 14.0));
        painter.text(at, Align2::RIGHT_TOP, format!("{title} {right}"), font, theme.dim);
    }
}

/// Letters at the left, right, upper and lower edge of the picture: which way they lead.
pub(super) fn edges(ui: &Ui, sight: &Viewport, letters: [Option<&str>; 4]) {
    let picture = sight.picture();
    if picture.width() < 60.0 || picture.height() < 60.0 {
        return;
    }
    let inner = picture.shrink(space::S1);
    let places = [
        (inner.left_center(), Align2::LEFT_CENTER),
        (inner.right_center(), Align2::RIGHT_CENTER),
        (inner.center_top(), Align2::CENTER_TOP),
        (inner.center_bottom(), Align2::CENTER_BOTTOM),
    ];
    let painter = ui.painter_at(sight.rect);
    for ((at, anchor), letter) in places.into_iter().zip(letters) {
        let Some(letter) = letter else { continue };
        let galley = painter.layout_no_wrap(letter.to_owned(), theme::edge_font(), Color32::WHITE);
        let rect = anchor.anchor_size(at, galley.size()).expand2(vec2(space::S1, 0.0));
        let rect = rect.translate(rect_inside(rect, picture));
        painter.rect_filled(rect, 3.0, Color32::from_black_alpha(150));
        painter.galley((rect.center() - galley.size() / 2.0).round(), galley, Color32::WHITE);
    }
}

/// How far a rectangle has to move to lie in another.
fn rect_inside(rect: Rect, outer: Rect) -> egui::Vec2 {
    let by = |low: f32, high: f32, least: f32, most: f32| (least - low).max(0.0) + (most - high).min(0.0);
    vec2(
        by(rect.left(), rect.right(), outer.left(), outer.right()),
        by(rect.top(), rect.bottom(), outer.top(), outer.bottom()),
    )
}

/// Where a picture ends: its white is the colour of the ground in light colours.
pub(super) fn border(ui: &Ui, sight: &Viewport) {
    let painter = ui.painter_at(sight.rect.expand(1.0));
    painter.rect_stroke(sight.picture(), 0.0, Theme::of(ui).hairline(), StrokeKind::Outside);
}

/// Frames an element, so that it can be seen on any colour.
pub(super) fn frame(ui: &Ui, sight: &Viewport, column: u64, row: u64) {
    let cell = sight.place([column as f64, row as f64, 1.0, 1.0]);
    let mark = Rect::from_center_size(cell.center(), cell.size().max(vec2(7.0, 7.0)));
    let painter = ui.painter_at(sight.rect.expand(4.0));
    painter.rect_stroke(mark, 1.0, Stroke::new(3.0, Color32::BLACK), StrokeKind::Outside);
    painter.rect_stroke(mark, 1.0, Stroke::new(1.5, Color32::WHITE), StrokeKind::Outside);
}

/// The tool tip at the pointer: index, what that stands for, value, bits, type; below it what is `stored`.
pub(super) fn tip(
    response: &Response,
    dtype: &DType,
    place: &str,
    words: Option<&(String, String, bool)>,
    lines: &[String],
    stored: &[String],
) {
    let theme = Theme::of_context(&response.ctx);
    // One name for those of all tabs, as there is one pointer: egui keeps the layer of each name as long as it runs.
    let tip = egui::Tooltip::always_open(
        response.ctx.clone(),
        response.layer_id,
        Id::unique("tip of an element"),
        egui::PopupAnchor::Pointer,
    );
    tip.gap(14.0).show(|ui| {
        ui.spacing_mut().interact_size.y = 16.0;
        ui.label(mono(place));
        for line in lines {
            ui.label(RichText::new(line).font(theme::small_font()).color(theme.dim));
        }
        ui.horizontal(|ui| {
            ui.spacing_mut().item_spacing.x = space::S2;
            let Some((value, bits, nan)) = words else {
                ui.label(mono("…"));
                return;
            };
            let value: String = value.chars().take(80).collect();
            ui.label(mono(value).color(if *nan { theme.bad } else { theme.text }));
            ui.label(
                RichText::new(format!("{bits} {dtype}")).font(theme::mono_small_font()).color(theme.dim),
            );
        });
        for line in stored {
            let text = RichText::new(line).font(theme::mono_small_font()).color(theme.dim);
            ui.add(egui::Label::new(text).extend());
        }
    });
}

/// The samples of a pixel: `(12, 40, 255)`.
pub(super) fn pixel(plane: Option<&Plane>, row: u64, column: u64) -> Option<(String, String, bool)> {
    let plane = plane?;
    let size = plane.dtype.size() as usize;
    let at = plane.window.find(row, column)?.checked_mul(size * plane.channels)?;
    let bytes = plane.raw.get(at..at + size * plane.channels)?;
    let samples: Vec<String> =
        bytes.chunks_exact(size.max(1)).map(|b| element_text(&plane.dtype, b)).collect();
    Some((format!("({})", samples.join(", ")), String::new(), false))
}

/// `[3, 17, :]`: the index of a pixel with all its channels.
pub(super) fn with_colon(index: &[u64], axis: usize, hidden: usize) -> String {
    let part = |(n, at): (usize, &u64)| if n == axis { ":".to_owned() } else { at.to_string() };
    let parts: Vec<String> = index.iter().enumerate().skip(hidden).map(part).collect();
    format!("[{}]", parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_shorten_rather_than_vanish() {
        let all = |value: f64| [5, 4, 3].map(|room| fitted(value, room));
        assert_eq!(all(-0.123456), ["-0.12", "-0.1", "·"].map(str::to_owned));
        assert_eq!(fitted(123456.0, 5), "1.2e5");
        assert_eq!(fitted(1.5e-7, 6), "1.5e-7");
        assert_eq!(fitted(-2.5e-300, 5), "·");
        for value in [0.0, 3.0, -17.25, 98765.4321, 1e20, f64::NAN] {
            for room in 3..9 {
                assert!(fitted(value, room).chars().count() <= room, "{value} {room}");
            }
        }
    }
}
