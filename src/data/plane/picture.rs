//! A slice as the picture that is shown of it, one pixel an element: for writers of pictures.

use super::color::{RenderSpec, Rendering};
use super::{Plane, Slice, ValueSummary, Window};
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
        PaintedSlice { array, slice, spec, info, rendering: OnceLock::new() }
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
        let rect = rect.cut(self.info.width, self.info.height);
        let window =
            Window { rows: Span::range(rect.y, rect.height), columns: Span::range(rect.x, rect.width) };
        let (raw, gaps) = self.slice.read_lenient(self.array.as_ref(), task, &window)?;
        let mut plane = Plane::new(&self.slice, window, self.array.dtype(), raw, ValueSummary::default());
        plane.holes = gaps.into_iter().map(|(gap, _)| gap).collect();
        Ok(rendering.paint(&plane))
    }
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
    }
}
