//! What heat maps and images share: a camera over a plane of elements, turns and flips, textures that
//! cover a part of the plane, rulers.
//!
//! Plane coordinates are (x, y) in elements from the top left corner, in `f64`: a plane may be a
//! billion columns wide.

use std::sync::Arc;

use egui::epaint::{Mesh, Vertex};
use egui::{Color32, Key, Modifiers, Pos2, Rect, Response, Shape, TextureId, Ui, Vec2, pos2, vec2};
use gander::data::plane::Orientation;
use gander::data::region::Span;
use serde::{Deserialize, Serialize};

use crate::gui::texture::Texture;
use crate::gui::theme::{self, Theme, space};
use crate::gui::ui::{Keys, elided, keys};

/// Points of an element when it is largest.
const LARGEST: f64 = 120.0;

/// What a key means to a camera.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ZoomCommand {
    In,
    Out,
    Fit,
}

/// The keys of every camera.
pub(crate) static KEYS: &[Keys<ZoomCommand>] = &[
    Keys::new(
        "Plus, Minus",
        "Zoom into a picture, out of it",
        &[
            (Modifiers::NONE, Key::Plus, ZoomCommand::In),
            (Modifiers::SHIFT, Key::Plus, ZoomCommand::In),
            // Where Plus is the other sign of its key.
            (Modifiers::NONE, Key::Equals, ZoomCommand::In),
            (Modifiers::NONE, Key::Minus, ZoomCommand::Out),
        ],
    ),
    Keys::new("0", "All of a picture in sight", &[(Modifiers::NONE, Key::Num0, ZoomCommand::Fit)]),
];

/// How elements are shaped on the screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Cells {
    /// As wide and high as the axes say; square where they do not.
    #[default]
    True,
    /// Square, whatever the axes say.
    Square,
    /// As the view has room.
    Fill,
}

/// Where one looks at a plane.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Camera {
    /// Points of an element, across and down.
    pub(crate) zoom: [f64; 2],
    /// What is in the middle, as seen (turned).
    pub(crate) middle: [f64; 2],
    /// Whether all is kept in sight.
    pub(crate) fit: bool,
    /// Orientation and mirror that a person chose, after those of the plane.
    pub(crate) turn: Orientation,
    /// Those that bring the plane the right way up.
    #[serde(skip)]
    base: Orientation,
    /// Whether a very long plane is drawn as the thread that it is.
    #[serde(skip)]
    keeps_shape: bool,
    /// How elements are shaped.
    pub(crate) cells: Cells,
    /// Width and height of an element of the plane beside each other, the larger 1, as its axes say.
    pub(crate) sides: [f64; 2],
}

impl Default for Camera {
    fn default() -> Self {
        Camera {
            zoom: [1.0; 2],
            middle: [0.0; 2],
            fit: true,
            turn: Orientation::default(),
            base: Orientation::default(),
            keeps_shape: false,
            cells: Cells::True,
            sides: [1.0; 2],
        }
    }
}

/// A camera, a plane and a place on the screen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Viewport {
    /// The place.
    pub(crate) rect: Rect,
    /// Columns and rows of the plane.
    pub(crate) size: [f64; 2],
    camera: Camera,
}

impl Camera {
    /// Brings all of the plane into the place, as large as it goes (up to `most` points an element).
    pub(crate) fn fit_into(&mut self, rect: Rect, size: [f64; 2], most: f64) {
        let (seen, shape) = (self.orientation().size(size), self.shape());
        let each = [0, 1].map(|n| f64::from([rect.width(), rect.height()][n]).max(1.0) / seen[n].max(1.0));
        let scale = (each[0] / shape[0]).min(each[1] / shape[1]).min(most);
        let drawn = [0, 1].map(|n| scale * shape[n] * seen[n]);
        // The true picture of a very long plane would be a thread.
        let (short, long) = (drawn[0].min(drawn[1]), drawn[0].max(drawn[1]));
        let thread = !self.keeps_shape && short < 24.0 && long > 8.0 * short;
        self.zoom = match self.cells {
            Cells::True | Cells::Square if !thread => shape.map(|side| scale * side),
            _ => each.map(|zoom| zoom.min(most)),
        };
        self.middle = [seen[0] / 2.0, seen[1] / 2.0];
        self.fit = true;
    }

    /// How the plane is turned and mirrored in all.
    pub(crate) fn orientation(&self) -> Orientation {
        self.base.then(self.turn)
    }

    /// Takes the orientation that brings the plane the right way up; the element in the middle stays there.
    pub(crate) fn set_base(&mut self, base: Orientation, size: [f64; 2]) {
        if self.base != base {
            let middle = self.orientation().inverse(size, self.middle);
            self.base = base;
            self.middle = self.orientation().forward(size, middle);
        }
    }

    /// Width and height of an element as seen, the larger 1.
    fn shape(&self) -> [f64; 2] {
        if self.cells == Cells::True { self.orientation().size(self.sides) } else { [1.0; 2] }
    }

    /// The zoom at which the smaller side of an element has so many points.
    fn zoom_of(&self, points: f64) -> [f64; 2] {
        let shape = self.shape();
        let longer = points / shape[0].min(shape[1]);
        shape.map(|side| side * longer.min(LARGEST.max(points)))
    }

    /// Takes the width and height of elements that the axes say; what is in sight keeps its smaller side.
    pub(crate) fn set_sides(&mut self, sides: [f64; 2]) {
        if std::mem::replace(&mut self.sides, sides) != sides && self.cells == Cells::True && !self.fit {
            self.zoom = self.zoom_of(self.zoom[0].min(self.zoom[1]));
        }
    }

    /// Whether a very long plane keeps its shape: a picture does, numbers are spread over what room there is.
    pub(crate) fn keep_shape(&mut self, keeps: bool) {
        self.keeps_shape = keeps;
    }

    /// Shapes elements in another way, with all in sight.
    pub(crate) fn choose(&mut self, cells: Cells) {
        (self.cells, self.fit) = (cells, true);
    }

    /// Larger by a factor, keeping what is under `at`.
    pub(crate) fn zoom_by(&mut self, sight: &Viewport, factor: f64, at: Pos2) {
        let before = sight.seen(at);
        let size = self.orientation().size(sight.size);
        let fitting =
            [0, 1].map(|n| f64::from([sight.rect.width(), sight.rect.height()][n]) / size[n].max(1.0));
        // At the smallest a picture fills a quarter of the view, at the largest an element does.
        let least = (fitting[0].min(fitting[1]) / 4.0).min(1.0);
        let larger = self.zoom[0].max(self.zoom[1]);
        let smaller = self.zoom[0].min(self.zoom[1]);
        let factor = factor.min((LARGEST / larger).max(1.0)).max((least / smaller).min(1.0));
        self.zoom = self.zoom.map(|zoom| zoom * factor);
        self.fit = false;
        let offset = at - sight.rect.center();
        self.middle =
            [before[0] - f64::from(offset.x) / self.zoom[0], before[1] - f64::from(offset.y) / self.zoom[1]];
        self.hold(sight.size);
    }

    /// Sets the size of an element, keeping the middle.
    pub(crate) fn zoom_to(&mut self, points: f64) {
        self.zoom = self.zoom_of(points);
        self.fit = false;
    }

    /// Moves by points of the screen.
    pub(crate) fn pan(&mut self, sight: &Viewport, by: Vec2) {
        self.middle[0] -= f64::from(by.x) / self.zoom[0];
        self.middle[1] -= f64::from(by.y) / self.zoom[1];
        self.fit = false;
        self.hold(sight.size);
    }

    /// The middle stays over the plane, so that it cannot be lost.
    fn hold(&mut self, size: [f64; 2]) {
        let seen = self.orientation().size(size);
        for (middle, seen) in self.middle.iter_mut().zip(seen) {
            *middle = middle.clamp(0.0, seen);
        }
    }

    /// Brings an element into the middle, at least so large that it can be seen.
    pub(crate) fn look_at(&mut self, size: [f64; 2], x: f64, y: f64, points: f64) {
        let least = self.zoom[0].min(self.zoom[1]);
        if least < points {
            self.zoom = self.zoom_of(points);
        }
        self.middle = self.orientation().forward(size, [x + 0.5, y + 0.5]);
        self.fit = false;
    }

    /// Takes wheel, drag (if it `pans`), double click and keys. True if a drag moves the picture.
    pub(crate) fn input(&mut self, ui: &Ui, response: &Response, sight: &Viewport, pans: bool) -> bool {
        if let Some(at) = response.hover_pos() {
            let (scroll, pinch) = ui.input(|input| (input.smooth_scroll_delta(), input.zoom_delta()));
            if pinch != 1.0 {
                self.zoom_by(sight, f64::from(pinch), at);
            } else if scroll.y != 0.0 {
                self.zoom_by(sight, f64::from(scroll.y * 0.006).exp(), at);
            }
            if scroll.x != 0.0 && pinch == 1.0 {
                self.pan(sight, vec2(scroll.x, 0.0));
            }
        }
        let middle = ui.input(|input| input.pointer.middle_down());
        let dragged = response.dragged() && (pans || middle);
        if dragged && response.drag_delta() != Vec2::ZERO {
            self.pan(sight, response.drag_delta());
        }
        if response.double_clicked() {
            self.fit = true;
        }
        if response.has_focus() {
            self.keys(ui, sight);
        }
        dragged
    }

    fn keys(&mut self, ui: &Ui, sight: &Viewport) {
        let middle = sight.rect.center();
        for zoom in keys::pressed(ui, KEYS) {
            match zoom {
                ZoomCommand::In => self.zoom_by(sight, 1.25, middle),
                ZoomCommand::Out => self.zoom_by(sight, 0.8, middle),
                ZoomCommand::Fit => self.fit = true,
            }
        }
    }

    /// What is seen where.
    pub(crate) fn sight(&self, rect: Rect, size: [f64; 2]) -> Viewport {
        Viewport { rect, size, camera: *self }
    }

    /// This one, read from outside, as far as it is sound.
    pub(crate) fn checked(mut self) -> Self {
        let usual = Camera::default();
        if !self.sides.iter().all(|side| (1e-3..=1.0).contains(side)) {
            self.sides = usual.sides;
        }
        self.turn.quarters %= 4;
        let numbers = self.zoom.iter().chain(&self.middle);
        if self.fit || numbers.into_iter().any(|number| !number.is_finite()) {
            (self.fit, self.zoom, self.middle) = (true, usual.zoom, usual.middle);
        }
        self.zoom = self.zoom.map(|zoom| zoom.clamp(1e-9, LARGEST));
        self
    }
}

impl Viewport {
    fn seen(&self, at: Pos2) -> [f64; 2] {
        let offset = at - self.rect.center();
        let camera = &self.camera;
        [
            camera.middle[0] + f64::from(offset.x) / camera.zoom[0],
            camera.middle[1] + f64::from(offset.y) / camera.zoom[1],
        ]
    }

    /// Where a point of the plane is on the screen.
    pub(crate) fn to_screen(self, x: f64, y: f64) -> Pos2 {
        let camera = &self.camera;
        let [x, y] = camera.orientation().forward(self.size, [x, y]);
        let center = self.rect.center();
        pos2(
            center.x + ((x - camera.middle[0]) * camera.zoom[0]) as f32,
            center.y + ((y - camera.middle[1]) * camera.zoom[1]) as f32,
        )
    }

    /// The point of the plane at a point of the screen.
    pub(crate) fn to_plane(self, at: Pos2) -> [f64; 2] {
        self.camera.orientation().inverse(self.size, self.seen(at))
    }

    /// Column and row of the element at a point of the screen.
    pub(crate) fn element(&self, at: Pos2) -> Option<[u64; 2]> {
        let [x, y] = self.to_plane(at);
        let inside = self.rect.contains(at) && x >= 0.0 && y >= 0.0 && x < self.size[0] && y < self.size[1];
        inside.then_some([x as u64, y as u64])
    }

    /// The same, of the nearest element where the point is beside the plane.
    pub(crate) fn nearest(&self, at: Pos2) -> Option<[u64; 2]> {
        let place = self.to_plane(at);
        let held = [0, 1].map(|n| place[n].clamp(0.0, (self.size[n] - 1.0).max(0.0)) as u64);
        (self.size[0] >= 1.0 && self.size[1] >= 1.0).then_some(held)
    }

    /// The rectangle of a part of the plane: left, top, width, height.
    pub(crate) fn place(&self, [x, y, w, h]: [f64; 4]) -> Rect {
        Rect::from_two_pos(self.to_screen(x, y), self.to_screen(x + w, y + h))
    }

    /// Where the plane is on the screen, cut to what is in sight.
    pub(crate) fn picture(&self) -> Rect {
        self.place([0.0, 0.0, self.size[0], self.size[1]]).intersect(self.rect)
    }

    /// Points of an element of the plane, across and down the screen.
    pub(crate) fn element_size(&self) -> Vec2 {
        vec2(self.camera.zoom[0] as f32, self.camera.zoom[1] as f32)
    }

    /// Points of an element along the plane's x and y.
    pub(crate) fn zoom(&self) -> [f64; 2] {
        self.camera.orientation().size(self.camera.zoom)
    }

    /// Whether the rows of the plane run down the screen.
    pub(crate) fn upright(&self) -> bool {
        self.camera.orientation().quarters.is_multiple_of(2)
    }

    /// The columns and rows in sight, cut to the plane.
    pub(crate) fn visible(&self) -> [std::ops::Range<u64>; 2] {
        let (a, b) = (self.to_plane(self.rect.min), self.to_plane(self.rect.max));
        [0, 1].map(|n| {
            let (low, high) = (a[n].min(b[n]).max(0.0), a[n].max(b[n]).min(self.size[n]));
            low.floor() as u64..(high.ceil().max(low.floor())) as u64
        })
    }

    /// What to read so that what is in sight is as fine as the screen: for each of x and y a span of
    /// whole tiles around it, with a power of two for its step.
    pub(crate) fn fine(&self, pixels_per_point: f32) -> [Span; 2] {
        const TILE: u64 = 128;
        const MOST: u64 = 2048;
        let (visible, zoom) = (self.visible(), self.zoom());
        [0, 1].map(|n| {
            let per_pixel = 1.0 / (zoom[n] * f64::from(pixels_per_point));
            let mut step = (per_pixel.max(1.0) as u64).next_power_of_two();
            if step as f64 > per_pixel * 1.5 && step > 1 {
                step /= 2;
            }
            let len = self.size[n] as u64;
            loop {
                let tile = TILE * step;
                let start = visible[n].start / tile * tile;
                let end = visible[n].end.div_ceil(tile).saturating_mul(tile).min(len);
                let count = end.saturating_sub(start).div_ceil(step);
                if count <= MOST {
                    return Span { start, count, step };
                }
                step *= 2;
            }
        })
    }

    /// Draws a texture that covers `area` of the plane; `tint` white draws it as it is.
    pub(crate) fn draw(&self, ui: &Ui, texture: TextureId, area: [f64; 4], tint: Color32) {
        // Only the part in sight: a point a billion elements away is not exact in f32.
        let visible = self.visible();
        let cut = |n: usize| {
            let (start, len) = (area[n], area[n + 2]);
            let low = (visible[n].start as f64).max(start);
            let high = (visible[n].end as f64).min(start + len).min(self.size[n]);
            (low, high, ((low - start) / len) as f32, ((high - start) / len) as f32)
        };
        let ((x0, x1, u0, u1), (y0, y1, v0, v1)) = (cut(0), cut(1));
        if x1 <= x0 || y1 <= y0 {
            return;
        }
        let corners = [(x0, y0, u0, v0), (x1, y0, u1, v0), (x1, y1, u1, v1), (x0, y1, u0, v1)];
        let mut mesh = Mesh::with_texture(texture);
        for (x, y, u, v) in corners {
            mesh.vertices.push(Vertex { pos: self.to_screen(x, y), uv: pos2(u, v), color: tint });
        }
        mesh.indices = vec![0, 1, 2, 0, 2, 3];
        ui.painter_at(self.rect).add(Shape::mesh(mesh));
    }
}

/// A texture that is uploaded once for each picture.
#[derive(Default)]
pub(crate) struct Painted {
    id: u64,
    texture: Option<Texture>,
    area: [f64; 4],
}

impl Painted {
    /// Takes a picture of a part of the plane, unless it has it already.
    pub(crate) fn take(&mut self, ui: &Ui, id: u64, image: &Arc<egui::ColorImage>, area: [f64; 4]) {
        if self.id == id && self.texture.is_some() {
            return;
        }
        let options = egui::TextureOptions {
            magnification: egui::TextureFilter::Nearest,
            minification: egui::TextureFilter::Linear,
            ..Default::default()
        };
        match &mut self.texture {
            Some(texture) => texture.set(ui.ctx(), image),
            None => self.texture = Some(Texture::new(ui.ctx(), "picture", image, options)),
        }
        (self.id, self.area) = (id, area);
    }

    /// Draws it where it lies in the plane; `tint` white draws it as it is.
    pub(crate) fn draw(&self, ui: &Ui, sight: &Viewport, tint: Color32) {
        let Some(texture) = &self.texture else { return };
        let [left, top, width, height] = self.area;
        for (id, [x, y, across, down]) in texture.tiles() {
            let area = [left + x * width, top + y * height, across * width, down * height];
            sight.draw(ui, id, area, tint);
        }
    }

    /// Forgets it.
    pub(crate) fn clear(&mut self) {
        *self = Painted::default();
    }
}

/// The checkerboard under what is transparent.
pub(crate) fn checkerboard(ui: &Ui, rect: Rect) {
    const SIDE: f32 = 8.0;
    let theme = Theme::of(ui);
    let painter = ui.painter_at(rect);
    painter.rect_filled(rect, 0.0, theme.bg2);
    let (columns, rows) = ((rect.width() / SIDE).ceil() as u32, (rect.height() / SIDE).ceil() as u32);
    let mut mesh = Mesh::default();
    for row in 0..rows {
        for column in (row % 2..columns).step_by(2) {
            let at = rect.min + vec2(column as f32 * SIDE, row as f32 * SIDE);
            mesh.add_colored_rect(Rect::from_min_size(at, Vec2::splat(SIDE)), theme.bg3);
        }
    }
    painter.add(Shape::mesh(mesh));
}

/// Distances between ticks that are round numbers, at least `least` elements.
fn round_step(least: f64) -> u64 {
    let power = 10f64.powf(least.max(1.0).log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|n| n * power).find(|step| *step >= least);
    (step.unwrap_or(power * 10.0) as u64).max(1)
}

/// Room for labels of so many characters, at the left.
pub(crate) fn ruler_width(ui: &Ui, characters: usize) -> f32 {
    let digits = characters.max(2) as f32;
    let advance = ui.fonts_mut(|fonts| fonts.glyph_width(&theme::mono_small_font(), '0'));
    (digits * advance + space::S3).ceil()
}

/// Draws labels along the left and the lower edge of the picture. `label` gives that of a row (`true`) or
/// column of the plane.
pub(crate) fn rulers(ui: &Ui, sight: &Viewport, left: f32, label: impl Fn(bool, u64) -> String) {
    let theme = Theme::of(ui);
    let font = theme::mono_small_font();
    let picture = sight.picture();
    let (visible, zoom) = (sight.visible(), sight.zoom());
    let upright = sight.upright();
    let painter = ui.painter();
    for n in 0..2 {
        let rows = n == 1;
        let down = rows == upright;
        let last = (sight.size[n] as u64).saturating_sub(1);
        let longest = [0, last / 2, last].map(|n| label(rows, n).chars().count()).into_iter().max();
        let room = if down { 34.0 } else { (ruler_width(ui, longest.unwrap_or(1)) + 20.0).max(40.0) };
        let step = round_step(f64::from(room) / zoom[n]);
        let mut tick = visible[n].start.div_ceil(step) * step;
        let mut last: Option<Rect> = None;
        while tick < visible[n].end {
            let middle = tick as f64 + 0.5;
            let at = if rows { sight.to_screen(0.5, middle) } else { sight.to_screen(middle, 0.5) };
            // Beside the rows there is so much room and no more.
            let room = if down { (picture.left() - space::S2 - left).max(12.0) } else { 4000.0 };
            let galley = elided(painter, &label(rows, tick), font.clone(), theme.dim, room);
            let size = galley.size();
            let corner = if down {
                let y = (at.y - size.y / 2.0)
                    .clamp(picture.top() - 1.0, (picture.bottom() - size.y).max(picture.top()));
                pos2((picture.left() - space::S2 - size.x).max(left), y)
            } else {
                let x = at.x - size.x / 2.0;
                pos2(
                    x.clamp(picture.left(), (picture.right() - size.x).max(picture.left())),
                    picture.bottom() + 3.0,
                )
            };
            // What would touch its neighbour is left out: labels are not equally long.
            let place = Rect::from_min_size(corner, size);
            let gap = if down { vec2(0.0, 1.0) } else { vec2(space::S2, 0.0) };
            if last.is_none_or(|last| !last.expand2(gap).intersects(place)) {
                painter.galley(corner.round(), galley, theme.dim);
                last = Some(place);
            }
            tick += step;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sight(camera: &Camera) -> Viewport {
        camera.sight(Rect::from_min_size(pos2(100.0, 50.0), vec2(400.0, 300.0)), [80.0, 30.0])
    }

    #[test]
    fn every_turn_goes_there_and_back() {
        for quarters in 0..4 {
            for mirror in [false, true] {
                let mut camera = Camera { turn: Orientation { quarters, mirror }, ..Camera::default() };
                camera.fit_into(sight(&camera).rect, [80.0, 30.0], 32.0);
                let sight = sight(&camera);
                for (x, y) in [(0.5, 0.5), (79.5, 0.5), (40.0, 29.5)] {
                    let at = sight.to_screen(x, y);
                    assert!(sight.rect.contains(at), "{quarters} {mirror} {at:?}");
                    assert_eq!(sight.element(at), Some([x as u64, y as u64]));
                }
            }
        }
    }

    #[test]
    fn zoom_keeps_what_is_under_the_pointer() {
        let mut camera = Camera::default();
        camera.fit_into(sight(&camera).rect, [80.0, 30.0], 32.0);
        assert_eq!(camera.zoom, [5.0, 5.0]);
        let at = pos2(180.0, 140.0);
        let before = sight(&camera).to_plane(at);
        let old = sight(&camera);
        camera.zoom_by(&old, 3.0, at);
        let after = sight(&camera).to_plane(at);
        assert!((before[0] - after[0]).abs() < 1e-4 && (before[1] - after[1]).abs() < 1e-4);
        assert!(!camera.fit);
        for _ in 0..100 {
            let old = sight(&camera);
            camera.zoom_by(&old, 1.5, at);
        }
        assert!((camera.zoom[0] - LARGEST).abs() < 1e-6);
    }

    #[test]
    fn elements_have_the_shape_that_their_axes_say() {
        let rect = Rect::from_min_size(pos2(0.0, 0.0), vec2(400.0, 300.0));
        let mut camera = Camera { sides: [0.2, 1.0], ..Camera::default() };
        // 100 columns of 1 mm and 30 rows of 5 mm: 100 mm by 150 mm.
        camera.fit_into(rect, [100.0, 30.0], 32.0);
        assert_eq!(camera.zoom, [2.0, 10.0]);
        camera.turn.clockwise();
        camera.fit_into(rect, [100.0, 30.0], 32.0);
        assert!((camera.zoom[0] / camera.zoom[1] - 5.0).abs() < 1e-9, "{:?}", camera.zoom);
        camera.turn.back();
        camera.zoom_to(1.0);
        assert_eq!(camera.zoom, [1.0, 5.0]);
        // Close to the largest the shape stays, within bounds.
        camera.look_at([100.0, 30.0], 5.0, 5.0, 60.0);
        assert_eq!(camera.zoom, [24.0, 120.0]);
        // Other axes: what is in sight keeps its smaller side.
        camera.set_sides([1.0, 0.5]);
        assert_eq!(camera.zoom, [48.0, 24.0]);
        let restored = |camera: &Camera| {
            serde_json::from_value::<Camera>(serde_json::to_value(camera).unwrap()).unwrap().checked()
        };
        assert_eq!(restored(&camera), camera);
        let wild = Camera { sides: [7.0, 0.0], ..camera };
        assert_eq!(wild.checked().sides, [1.0; 2]);
        camera.choose(Cells::Square);
        camera.fit_into(rect, [100.0, 30.0], 32.0);
        assert_eq!(camera.zoom, [4.0, 4.0]);
        camera.choose(Cells::Fill);
        camera.fit_into(rect, [100.0, 30.0], 32.0);
        assert_eq!(camera.zoom, [4.0, 10.0]);
        assert_eq!(restored(&camera).cells, Cells::Fill);
    }

    #[test]
    fn what_is_read_is_bounded_and_covers_what_is_seen() {
        let rect = Rect::from_min_size(Pos2::ZERO, vec2(1300.0, 900.0));
        let size = [1e9, 1e6];
        for zoom in [1e-6, 1e-3, 0.3, 1.0, 40.0] {
            let camera = Camera { zoom: [zoom; 2], middle: [5e8, 5e5], fit: false, ..Camera::default() };
            let sight = camera.sight(rect, size);
            let visible = sight.visible();
            for (n, span) in sight.fine(2.0).into_iter().enumerate() {
                assert!(span.count <= 2048, "{zoom}: {span:?}");
                assert!(span.start <= visible[n].start);
                assert!(span.start + span.count * span.step >= visible[n].end.min(size[n] as u64));
            }
        }
        assert_eq!([round_step(1.0), round_step(3.0), round_step(700.0)], [1, 5, 1000]);
    }
}
