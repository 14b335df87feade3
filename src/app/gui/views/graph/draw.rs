//! Drawing of boxes, lines and the map in the corner. What is out of sight is not drawn, what would be too small to be read is
//! not written.

use egui::epaint::{PathShape, PathStroke};
use egui::{
    Align2, Color32, CornerRadius, FontId, Painter, Pos2, Rect, Shape, Stroke, StrokeKind, pos2, vec2,
};
use gander::data::graph::{Item, Kind};
use serde::{Deserialize, Serialize};

use super::find::Found;
use super::paths::OnWay;
use super::scene::{Scene, rect_of};
use crate::gui::theme::{self, Theme, mono_small_font, semi_bold, size, small_font};
use crate::gui::ui::canvas::Viewport;
use crate::gui::ui::elided;

/// Boxes have texts from this zoom on.
pub(super) const READABLE: f32 = 0.5;
/// Lines have texts from this one on.
const LABELLED: f32 = 0.7;
/// Lines are curves, boxes have round corners, arrows have heads from this one on.
const FINE: f32 = 0.3;
/// The strip of a box that has its colour, in points.
const STRIP: f32 = 4.0;
/// The size of the map, in points.
const MAP: [f32; 2] = [132.0, 180.0];
/// The most boxes of the map.
const MAP_BOXES: usize = 20_000;

/// What colours of boxes say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Coloured {
    /// The kind of operator.
    #[default]
    Operator,
    /// How many elements its weights have.
    Parameters,
    /// How many multiply-accumulates it does.
    Macs,
}

impl Coloured {
    pub(super) const ALL: [Coloured; 3] = [Coloured::Operator, Coloured::Parameters, Coloured::Macs];

    pub(super) fn words(self) -> &'static str {
        match self {
            Coloured::Operator => "Colour: operator",
            Coloured::Parameters => "Colour: parameters",
            Coloured::Macs => "Colour: MACs",
        }
    }
}

/// All that the look of a scene depends on.
pub(super) struct Look<'a> {
    pub(super) theme: &'static Theme,
    pub(super) scene: &'a Scene,
    pub(super) sight: &'a Viewport,
    pub(super) coloured: Coloured,
    pub(super) selected: Option<Item>,
    pub(super) hovered: Option<usize>,
    pub(super) way: Option<&'a OnWay>,
    pub(super) found: Option<&'a Found>,
}

/// The colour of a kind of operator.
pub(super) fn kind_color(theme: &Theme, kind: Kind) -> Color32 {
    let [_, red, green, blue] = kind.colour(theme.dark).to_be_bytes();
    theme::picture_color([red, green, blue])
}

impl Look<'_> {
    fn zoom(&self) -> f32 {
        self.sight.zoom()[0] as f32
    }

    fn point(&self, at: Pos2) -> Pos2 {
        self.sight.to_screen(f64::from(at.x), f64::from(at.y))
    }

    /// Where a rectangle of the layout is seen.
    pub(super) fn place(&self, rect: Rect) -> Rect {
        Rect::from_min_max(self.point(rect.min), self.point(rect.max))
    }

    /// Draws all that is in sight.
    pub(super) fn paint(&self, painter: &Painter) {
        let open = |is_open: bool| {
            let boxes = self.scene.layout.boxes.iter().enumerate();
            boxes.filter(move |(_, placed)| placed.is_open == is_open)
        };
        for (number, placed) in open(true) {
            self.open_group(painter, number, self.place(rect_of(placed.rect)));
        }
        self.lines(painter);
        for (number, placed) in open(false) {
            let place = self.place(rect_of(placed.rect));
            if place.intersects(painter.clip_rect()) {
                self.closed(painter, number, place);
            }
        }
    }

    /// Whether something stands out: then all else steps back.
    fn is_found(&self, item: Item) -> bool {
        let Some(found) = self.found else { return false };
        match item {
            Item::Node(node) => found.is_found.get(node as usize).copied().unwrap_or(false),
            Item::Group(group) => found.groups.get(group.index()).copied().unwrap_or(false),
            Item::Input(_) | Item::Output(_) => false,
        }
    }

    fn border(&self, number: usize) -> Stroke {
        let item = self.scene.layout.boxes[number].item;
        if self.selected == Some(item) {
            Stroke::new(2.0, self.theme.accent)
        } else if self.is_found(item) {
            Stroke::new(2.0, self.theme.warn)
        } else if self.hovered == Some(number) {
            Stroke::new(1.0, self.theme.dim)
        } else {
            self.theme.hairline()
        }
    }

    fn open_group(&self, painter: &Painter, number: usize, place: Rect) {
        let clip = painter.clip_rect();
        if !place.intersects(clip) {
            return;
        }
        let (theme, label) = (self.theme, &self.scene.labels[number]);
        painter.rect_filled(place, size::CORNER, theme.bg2.lerp_to_gamma(theme.bg3, 0.35));
        let border = self.border(number);
        let border = if border.width > 1.0 { border } else { Stroke::new(1.0, theme.faint) };
        // Dashes only of what is in sight: a group may be a hundred thousand points high.
        let seen = place.intersect(clip.expand(8.0));
        for [from, to] in [
            [seen.left_top(), seen.right_top()],
            [seen.right_top(), seen.right_bottom()],
            [seen.right_bottom(), seen.left_bottom()],
            [seen.left_bottom(), seen.left_top()],
        ] {
            painter.extend(Shape::dashed_line(&[from, to], border, 3.0, 3.0));
        }
        if self.zoom() < READABLE {
            return;
        }
        let zoom = self.zoom();
        // The name stays in sight as long as a part of the group does.
        let y = (place.top() + 16.0 * zoom).max(clip.top() + 12.0).min(place.bottom() - 8.0);
        let at = pos2(seen.left() + 10.0 * zoom, y);
        let room = seen.width() - 20.0 * zoom;
        let title = format!("▾ {}", label.title);
        let galley = elided(painter, &title, font(13.0 * zoom, semi_bold()), theme.text, room);
        let rect = Align2::LEFT_CENTER.anchor_size(at, galley.size());
        let behind = rect.expand2(vec2(4.0, 2.0));
        painter.rect_filled(behind, 3.0, theme.bg2.lerp_to_gamma(theme.bg3, 0.35));
        painter.galley(rect.min, galley, theme.text);
        let left = room - rect.width() - 12.0;
        if left > 40.0 {
            let at = pos2(rect.right() + 10.0, y);
            let galley = elided(painter, &label.detail, mono(11.0 * zoom), theme.dim, left);
            painter.galley(Align2::LEFT_CENTER.anchor_size(at, galley.size()).min, galley, theme.dim);
        }
    }

    fn closed(&self, painter: &Painter, number: usize, place: Rect) {
        let (theme, zoom) = (self.theme, self.zoom());
        let (placed, label) = (&self.scene.layout.boxes[number], &self.scene.labels[number]);
        let fill = match self.heat(number) {
            Some(part) => theme.bg3.lerp_to_gamma(theme.accent, 0.75 * part),
            None => theme.bg3,
        };
        if zoom < FINE {
            let fill = if self.coloured == Coloured::Operator {
                fill.lerp_to_gamma(self.strip(placed.item, label.kind), 0.6)
            } else {
                fill
            };
            painter.rect_filled(place, 0.0, fill);
            let border = self.border(number);
            if border.width > 1.0 {
                painter.rect_stroke(place, 0.0, border, StrokeKind::Outside);
            }
            return;
        }
        // The strip is what is left in sight of a box below the box.
        painter.rect_filled(place, size::CORNER, self.strip(placed.item, label.kind));
        let body = Rect::from_min_max(pos2(place.left(), place.top() + STRIP * zoom), place.max);
        let corners = CornerRadius { nw: 0, ne: 0, sw: size::CORNER, se: size::CORNER };
        painter.rect_filled(body, corners, fill);
        painter.rect_stroke(place, size::CORNER, self.border(number), StrokeKind::Inside);
        if zoom < READABLE {
            return;
        }
        let (left, room) = (place.left() + 10.0 * zoom, place.width() - 18.0 * zoom);
        let title = match placed.item {
            Item::Group(_) => format!("{} ▸", label.title),
            _ => label.title.clone(),
        };
        let has_detail = !label.detail.is_empty();
        let y = place.top()
            + STRIP * zoom
            + (place.height() - STRIP * zoom) * if has_detail { 0.32 } else { 0.5 };
        let galley = elided(painter, &title, font(13.0 * zoom, semi_bold()), theme.text, room);
        painter.galley(Align2::LEFT_CENTER.anchor_size(pos2(left, y), galley.size()).min, galley, theme.text);
        if has_detail {
            let y = place.top() + STRIP * zoom + (place.height() - STRIP * zoom) * 0.72;
            let galley = elided(painter, &label.detail, mono(11.0 * zoom), theme.dim, room);
            let at = Align2::LEFT_CENTER.anchor_size(pos2(left, y), galley.size()).min;
            painter.galley(at, galley, theme.dim);
        }
    }

    fn strip(&self, item: Item, kind: Option<Kind>) -> Color32 {
        match (item, kind) {
            (_, Some(kind)) => kind_color(self.theme, kind),
            (Item::Input(_) | Item::Output(_), None) => self.theme.good,
            _ => self.theme.faint,
        }
    }

    /// How much of the cost a box has, from 0 to 1; `None` where colours say something else.
    fn heat(&self, number: usize) -> Option<f32> {
        let (count, most) = match self.coloured {
            Coloured::Operator => return None,
            Coloured::Parameters => (self.scene.costs[number][0], self.scene.most[0]),
            Coloured::Macs => (self.scene.costs[number][1], self.scene.most[1]),
        };
        // Counts lie many powers of ten apart.
        Some(((count as f64 + 1.0).ln() / (most as f64 + 1.0).ln().max(f64::MIN_POSITIVE)).clamp(0.0, 1.0)
            as f32)
    }

    fn lines(&self, painter: &Painter) {
        let way = |number: usize| self.way.is_some_and(|way| way.edges.get(number).copied().unwrap_or(false));
        let clip = painter.clip_rect();
        let seen = |number: &usize| self.place(self.scene.lines[*number].bounds).expand(4.0).intersects(clip);
        let all: Vec<usize> = (0..self.scene.lines.len()).filter(seen).collect();
        for is_on_way in [false, true] {
            for &number in all.iter().filter(|number| way(**number) == is_on_way) {
                self.line(painter, number, is_on_way);
            }
        }
        if self.zoom() < LABELLED {
            return;
        }
        for &number in &all {
            let Some(label) = &self.scene.lines[number].text else { continue };
            let at = self.point(label.at);
            if clip.contains(at) {
                let galley =
                    painter.layout_no_wrap(label.text.clone(), mono(10.5 * self.zoom()), self.theme.dim);
                let rect = label.align.anchor_size(at, galley.size());
                // Borders of groups do not go through it.
                painter.rect_filled(rect.shrink2(vec2(0.0, 1.0)), 2.0, self.theme.bg2);
                painter.galley(rect.min, galley, self.theme.dim);
            }
        }
    }

    fn line(&self, painter: &Painter, number: usize, is_on_way: bool) {
        let (theme, zoom) = (self.theme, self.zoom());
        let (edge, line) = (&self.scene.layout.edges[number], &self.scene.lines[number]);
        let color = if is_on_way { theme.accent } else { theme.faint };
        let stroke = Stroke::new(if is_on_way { 2.0 } else { 1.0 }, color);
        let points: Vec<Pos2> = if zoom < FINE {
            edge.points.iter().map(|at| self.point(pos2(at[0], at[1]))).collect()
        } else {
            line.points.iter().map(|at| self.point(*at)).collect()
        };
        let head = points.last().copied().zip(points.iter().rev().nth(1).copied());
        if edge.is_control {
            painter.extend(Shape::dashed_line(&points, stroke, 4.0, 3.0));
        } else {
            painter.add(PathShape::line(points, PathStroke::new(stroke.width, stroke.color)));
        }
        if zoom >= FINE
            && let Some((tip, before)) = head
        {
            let along = (tip - before).normalized();
            let (back, across) = (tip - along * 7.0 * zoom.min(1.2), along.rot90() * 3.5 * zoom.min(1.2));
            painter.add(Shape::convex_polygon(vec![tip, back + across, back - across], color, Stroke::NONE));
        }
    }

    /// Draws the map of all into a corner where not all is in sight; the place on the map, and its scale.
    pub(super) fn map(&self, painter: &Painter) -> Option<(Rect, f32)> {
        let [width, height] = self.scene.layout.size;
        let view = self.sight.rect;
        let all = self.place(Rect::from_min_size(Pos2::ZERO, vec2(width, height)));
        let is_small = view.width() < MAP[0] * 3.0 || view.height() < MAP[1] * 2.0;
        if view.expand(1.0).contains_rect(all) || is_small || width < 1.0 || height < 1.0 {
            return None;
        }
        let scale = (MAP[0] / width).min(MAP[1] / height);
        let inner = vec2((width * scale).max(12.0), (height * scale).max(12.0));
        let place = Rect::from_min_size(view.right_bottom() - inner - vec2(20.0, 20.0), inner);
        let outer = place.expand(6.0);
        painter.rect_filled(outer, size::CORNER, self.theme.bg1);
        painter.rect_stroke(outer, size::CORNER, self.theme.hairline(), StrokeKind::Inside);
        let boxes = self.scene.layout.boxes.iter().enumerate().filter(|(_, placed)| !placed.is_open);
        let step = self.scene.layout.boxes.len().div_ceil(MAP_BOXES).max(1);
        for (number, placed) in boxes.step_by(step) {
            let rect = rect_of(placed.rect);
            let at = place.min + rect.min.to_vec2() * scale;
            let small = Rect::from_min_size(at, (rect.size() * scale).max(vec2(1.0, 1.0)));
            let is_chosen = self.selected == Some(placed.item);
            let color = match is_chosen {
                true => self.theme.accent,
                false => self.strip(placed.item, self.scene.labels[number].kind).gamma_multiply(0.7),
            };
            painter.rect_filled(small, 0.0, color);
        }
        let corner = |at: Pos2| {
            let [x, y] = self.sight.to_plane(at);
            place.min + vec2(x as f32, y as f32) * scale
        };
        let seen = Rect::from_min_max(corner(view.min), corner(view.max)).intersect(outer);
        painter.rect_stroke(seen, 0.0, Stroke::new(1.0, self.theme.accent), StrokeKind::Inside);
        Some((place, scale))
    }

    /// What colours say, in the lower left corner.
    pub(super) fn legend(&self, painter: &Painter, kinds: &[Kind]) {
        if self.coloured != Coloured::Operator || self.sight.rect.width() < 480.0 {
            return;
        }
        let mut at = self.sight.rect.left_bottom() + vec2(12.0, -14.0);
        for kind in kinds {
            let galley = painter.layout_no_wrap(kind.label().to_owned(), small_font(), self.theme.dim);
            let width = 14.0 + galley.size().x + 14.0;
            if at.x + width > self.sight.rect.right() - MAP[0] - 40.0 {
                break;
            }
            let back = Rect::from_min_size(at - vec2(4.0, 9.0), vec2(width - 4.0, 18.0));
            painter.rect_filled(back, 3.0, self.theme.bg2);
            painter.rect_filled(
                Rect::from_center_size(at + vec2(4.0, 0.0), vec2(8.0, 8.0)),
                2.0,
                kind_color(self.theme, *kind),
            );
            painter.galley(
                Align2::LEFT_CENTER.anchor_size(at + vec2(13.0, 0.0), galley.size()).min,
                galley,
                self.theme.dim,
            );
            at.x += width;
        }
    }
}

/// A font of a size that changes with the zoom: few sizes, because each has its own glyphs in the atlas.
fn font(points: f32, family: egui::FontFamily) -> FontId {
    FontId::new((points * 2.0).round() / 2.0, family)
}

fn mono(points: f32) -> FontId {
    font(points, mono_small_font().family)
}
