//! A slice as the picture that is shown of it, one pixel an element: for writers of pictures.

use super::color::{RenderSpec, Rendering};
use super::{Orientation, Plane, Slice, ValueSummary, Window};
use crate::bytes::error::Result;
use crate::bytes::task::Task;
use crate::data::content::{Array, Image, ImageInfo, Pixels, Rect, Sample};
use crate::data::region::Span;
use std::sync::{Arc, OnceLock};

/// A slice of an array in the colours of a heat map, or as an image with its black and white. The range of its values is
/// found by one pass, when the first pixels are asked for.
pub struct PaintedSlice {
    array: Arc<dyn Array>,
    slice: Slice,
    spec: RenderSpec,
    info: ImageInfo,
    rendering: OnceLock<Rendering>,
    turn: Orientation,
}

impl PaintedSlice {
    /// The picture of a slice, 8-bit RGBA.
    pub fn new(array: Arc<dyn Array>, slice: Slice, spec: RenderSpec) -> Self {
        let (width, height) = (slice.width(), slice.height());
        let info = ImageInfo {
            width,
            height,
            channels: 4,
            bits: 8,
            sample: Sample::U8,
            alpha: true,
            frames: 1,
            levels: vec![(width, height)],
            ..ImageInfo::default()
        };
        PaintedSlice { array, slice, spec, info, rendering: OnceLock::new(), turn: Orientation::default() }
    }

    /// It turned and mirrored.
    pub fn seen(mut self, turn: Orientation) -> Self {
        let [width, height] = turn.size([self.slice.width(), self.slice.height()]);
        (self.info.width, self.info.height, self.info.levels) = (width, height, vec![(width, height)]);
        self.turn = turn;
        self
    }

    /// The part of the plane that is seen in a part of the picture.
    fn stored(&self, rect: Rect) -> Rect {
        let size = [self.slice.width() as f64, self.slice.height() as f64];
        let corner = |x: u64, y: u64| self.turn.inverse(size, [x as f64, y as f64]);
        let (a, b) = (corner(rect.x, rect.y), corner(rect.x + rect.width, rect.y + rect.height));
        let [width, height] = self.turn.size([rect.width, rect.height]);
        Rect { x: a[0].min(b[0]) as u64, y: a[1].min(b[1]) as u64, width, height }
    }

    fn rendering(&self, task: &Task) -> Result<Rendering> {
        if let Some(rendering) = self.rendering.get() {
            return Ok(*rendering);
        }
        let summary = ValueSummary::take(self.array.as_ref(), task, &self.slice, self.spec.part())?;
        Ok(*self.rendering.get_or_init(|| self.spec.resolve(self.array.as_ref(), &summary)))
    }
}

impl Image for PaintedSlice {
    fn info(&self) -> &ImageInfo {
        &self.info
    }

    fn read(&self, task: &Task, _frame: u64, _level: u32, rect: Rect) -> Result<Pixels> {
        let rendering = self.rendering(task)?;
        let rect = self.stored(rect.cut(self.info.width, self.info.height));
        let window =
            Window { rows: Span::range(rect.y, rect.height), columns: Span::range(rect.x, rect.width) };
        let (raw, gaps) = self.slice.read_lenient(self.array.as_ref(), task, &window)?;
        let mut plane = Plane::new(&self.slice, window, self.array.dtype(), raw, ValueSummary::default());
        plane.holes = gaps.into_iter().map(|(gap, _)| gap).collect();
        Ok(turned(rendering.paint(&plane), self.turn))
    }
}

/// Pixels turned and mirrored.
fn turned(pixels: Pixels, turn: Orientation) -> Pixels {
    if turn == Orientation::default() {
        return pixels;
    }
    let [width, height] = turn.size([pixels.width, pixels.height]);
    let size = [pixels.width as f64, pixels.height as f64];
    let bytes = pixels.data.len() / (pixels.width as usize * pixels.height as usize).max(1);
    let mut data = Vec::with_capacity(pixels.data.len());
    for y in 0..height {
        for x in 0..width {
            let [x, y] = turn.inverse(size, [x as f64 + 0.5, y as f64 + 0.5]);
            let at = (y as usize * pixels.width as usize + x as usize) * bytes;
            data.extend_from_slice(pixels.data.get(at..at.saturating_add(bytes)).unwrap_or_default());
        }
    }
    Pixels { width, height, data, ..pixels }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Source;
    use crate::data::content::array::Plain;
    use crate::data::dtype::DType;
    use crate::data::plane::Mapping;
    use crate::data::plane::color::{ColorMap, HeatMapSpec};

    #[test]
    fn a_pixel_is_the_colour_of_its_element() {
        let bytes: Vec<u8> = (0..12u8).chain(100..112).collect();
        let array: Arc<dyn Array> =
            Arc::new(Plain::new(Source::memory("a", bytes), 0, DType::U8, vec![2, 3, 4]).unwrap());
        let mut mapping = Mapping::new(&[2, 3, 4]);
        mapping.set_position(0, 1);
        let spec = RenderSpec::HeatMap(HeatMapSpec::default());
        let picture = PaintedSlice::new(array, mapping.slice(false), spec);
        assert_eq!((picture.info().width, picture.info().height), (4, 3));
        let all = picture.read(&Task::new(), 0, 0, Rect::all(4, 3)).unwrap();
        let pixel = |x: usize, y: usize| all.data[(y * 4 + x) * 4..][..3].to_vec();
        let map = ColorMap::default();
        assert_eq!((pixel(0, 0), pixel(3, 2)), (map.at(0.0).to_vec(), map.at(1.0).to_vec()));
        let corner = picture.read(&Task::new(), 0, 0, Rect { x: 3, y: 2, width: 9, height: 9 }).unwrap();
        assert_eq!((corner.width, corner.height, corner.data[..3].to_vec()), (1, 1, pixel(3, 2)));
        // Upside down, and then turned by a quarter: the first element stands at the upper left again.
        let mut turn = Orientation::default();
        turn.flip_vertical();
        let picture = picture.seen(turn);
        let upside = picture.read(&Task::new(), 0, 0, Rect { x: 0, y: 2, width: 1, height: 1 }).unwrap();
        assert_eq!(upside.data[..3].to_vec(), pixel(0, 0));
        turn.clockwise();
        let picture = picture.seen(turn);
        assert_eq!((picture.info().width, picture.info().height), (3, 4));
        let turned = picture.read(&Task::new(), 0, 0, Rect::all(3, 4)).unwrap();
        assert_eq!(
            (turned.data[..3].to_vec(), turned.data[11 * 4..][..3].to_vec()),
            (pixel(0, 0), pixel(3, 2))
        );
    }
}
