//! Pictures in the memory of the graphics card: the only place that makes textures.
//!
//! Drivers take no texture with a side beyond their limit (`max_texture_side`; often 16,384 with OpenGL, 8,192 with
//! wgpu) and end the program when they are given one. A larger picture lies in tiles within that limit, which are
//! drawn side by side as one.

use std::sync::{Arc, Weak};

use egui::{
    Color32, ColorImage, Context, Id, ImageData, Painter, Rect, TextureHandle, TextureId, TextureOptions,
    Vec2, pos2, vec2,
};

/// A picture that was handed to the graphics card, in as many tiles as its limit asks for.
pub(crate) struct Texture {
    size: [usize; 2],
    options: TextureOptions,
    tiles: Vec<Tile>,
}

/// A part of the picture.
struct Tile {
    handle: TextureHandle,
    /// Its left and upper edge, in pixels of the picture.
    at: [usize; 2],
}

/// Where tiles of at most `side` pixels begin within `length` pixels, with how long each is. A picture without pixels
/// has one tile of none.
fn cuts(length: usize, side: usize) -> impl Iterator<Item = (usize, usize)> {
    let side = side.max(1);
    (0..length.max(1)).step_by(side).map(move |start| (start, side.min(length - start)))
}

impl Texture {
    /// Hands a picture to the graphics card. `name` is for debugging.
    pub(crate) fn new(
        context: &Context,
        name: &str,
        image: &Arc<ColorImage>,
        options: TextureOptions,
    ) -> Self {
        let side = context.input(|input| input.max_texture_side);
        let mut tiles = Vec::new();
        for (y, height) in cuts(image.height(), side) {
            for (x, width) in cuts(image.width(), side) {
                let part = part(image, [x, y], [width, height]);
                #[expect(clippy::disallowed_methods, reason = "this is the place: it keeps to the limit")]
                let handle = context.load_texture(name, part, options);
                if image.size == [width, height] {
                    remember(context, handle.id(), image);
                }
                tiles.push(Tile { handle, at: [x, y] });
            }
        }
        Texture { size: image.size, options, tiles }
    }

    /// Puts another picture in its place; one of the same size into the memory that is there.
    pub(crate) fn set(&mut self, context: &Context, image: &Arc<ColorImage>) {
        if image.size != self.size {
            let name = self.tiles.first().map(|tile| tile.handle.name()).unwrap_or_default();
            *self = Texture::new(context, &name, image, self.options);
            return;
        }
        for tile in &mut self.tiles {
            let part = part(image, tile.at, tile.handle.size());
            tile.handle.set_partial([0, 0], part, self.options);
            if tile.handle.size() == image.size {
                remember(context, tile.handle.id(), image);
            }
        }
    }

    /// Width and height in pixels.
    pub(crate) fn size(&self) -> Vec2 {
        vec2(self.size[0] as f32, self.size[1] as f32)
    }

    /// The tiles, each with the part of the picture that it holds: `[x, y, width, height]` as fractions of the
    /// picture's sides.
    pub(crate) fn tiles(&self) -> impl Iterator<Item = (TextureId, [f64; 4])> {
        let [width, height] = self.size.map(|side| side.max(1) as f64);
        self.tiles.iter().map(move |tile| {
            let ([x, y], size) = (tile.at, tile.handle.size());
            let part = [x as f64 / width, y as f64 / height, size[0] as f64 / width, size[1] as f64 / height];
            (tile.handle.id(), part)
        })
    }

    /// Draws the picture so that it fills `place`.
    pub(crate) fn paint(&self, painter: &Painter, place: Rect) {
        let whole = Rect::from_min_max(pos2(0.0, 0.0), pos2(1.0, 1.0));
        for (id, [x, y, width, height]) in self.tiles() {
            let at = place.min + place.size() * vec2(x as f32, y as f32);
            let size = place.size() * vec2(width as f32, height as f32);
            painter.image(id, Rect::from_min_size(at, size), whole, Color32::WHITE);
        }
    }
}

fn key(id: TextureId) -> Id {
    Id::unique(("the picture of a texture", id))
}

/// Keeps which picture a texture of one tile shows, as long as somebody else keeps that.
fn remember(context: &Context, id: TextureId, image: &Arc<ColorImage>) {
    context.data_mut(|data| data.insert_temp(key(id), Arc::downgrade(image)));
}

/// The picture that a texture shows, where it is known and lies in one tile: for drawings that leave the window.
pub(crate) fn picture_of(context: &Context, id: TextureId) -> Option<Arc<ColorImage>> {
    context.data(|data| data.get_temp::<Weak<ColorImage>>(key(id)))?.upgrade()
}

/// A part of a picture; the whole of it without a copy.
fn part(image: &Arc<ColorImage>, at: [usize; 2], size: [usize; 2]) -> ImageData {
    if size == image.size {
        return ImageData::Color(image.clone());
    }
    ImageData::Color(Arc::new(image.region_by_pixels(at, size)))
}

#[cfg(test)]
mod tests {
    use egui::{CentralPanel, RawInput};

    use super::*;

    /// The textures that a frame makes, as (size, position of an update).
    fn uploads(side: usize, draw: impl FnMut(&mut egui::Ui)) -> Vec<([usize; 2], Option<[usize; 2]>)> {
        let context = Context::default();
        let input = RawInput { max_texture_side: Some(side), ..RawInput::default() };
        let mut draw = draw;
        let mut output = context.run_ui(input, |ui| {
            CentralPanel::default().show(ui, |ui| draw(ui));
        });
        let images = output.textures_delta.set.iter().filter(|(id, _)| *id != &TextureId::default());
        let made =
            images.flat_map(|(_, deltas)| deltas).map(|delta| (delta.image.size(), delta.pos)).collect();
        output.textures_delta.clear();
        made
    }

    fn picture(width: usize, height: usize) -> Arc<ColorImage> {
        let pixels = (0..width * height).map(|n| Color32::from_gray(n as u8)).collect();
        Arc::new(ColorImage::new([width, height], pixels))
    }

    #[test]
    fn no_texture_is_larger_than_the_limit() {
        let mut covered = 0.0;
        let made = uploads(1024, |ui| {
            let texture = Texture::new(ui.ctx(), "test", &picture(2500, 1025), TextureOptions::NEAREST);
            assert_eq!(texture.size(), vec2(2500.0, 1025.0));
            covered = texture.tiles().map(|(_, [.., width, height])| width * height).sum();
            texture.paint(ui.painter(), ui.max_rect());
        });
        let mut sizes: Vec<[usize; 2]> = made.into_iter().map(|(size, _)| size).collect();
        sizes.sort();
        assert_eq!(sizes, [[452, 1], [452, 1024], [1024, 1], [1024, 1], [1024, 1024], [1024, 1024]]);
        assert!((covered - 1.0).abs() < 1e-12, "{covered}");
    }

    #[test]
    fn a_picture_of_the_same_size_goes_into_the_memory_that_is_there() {
        let made = uploads(1024, |ui| {
            let mut texture = Texture::new(ui.ctx(), "test", &picture(1025, 2), TextureOptions::NEAREST);
            texture.set(ui.ctx(), &picture(1025, 2));
            assert_eq!(texture.tiles().count(), 2);
            texture.set(ui.ctx(), &picture(3, 2));
            assert_eq!(texture.tiles().count(), 1);
            // A picture without pixels is one, too.
            texture.set(ui.ctx(), &picture(0, 0));
            assert_eq!(texture.size(), Vec2::ZERO);
        });
        let updates = made.iter().filter(|(_, at)| at.is_some()).count();
        assert_eq!((updates, made.len()), (2, 6), "{made:?}");
    }

    #[test]
    fn tiles_hold_the_pixels_of_their_place() {
        let image = picture(10, 4);
        let ImageData::Color(tile) = part(&image, [8, 3], [2, 1]);
        assert_eq!(tile.pixels, [Color32::from_gray(38), Color32::from_gray(39)]);
        let ImageData::Color(whole) = part(&image, [0, 0], [10, 4]);
        assert!(Arc::ptr_eq(&whole, &image));
    }
}
