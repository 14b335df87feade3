//! Pictures as arrays of samples, and arrays as pictures.

use super::frame::copy_line;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::content::{Array, Image, ImageInfo, Pixels, Rect, Sample, array};
use crate::data::dtype::DType;
use crate::data::region::{Region, Span};
use std::sync::Arc;

/// The samples of an image: height × width × channels; without the last for one channel, with frames
/// in front where there are several.
pub struct ImageArray {
    image: Arc<dyn Image>,
    dtype: DType,
    shape: Vec<u64>,
}

impl ImageArray {
    /// The samples of `image`.
    pub fn new(image: Arc<dyn Image>) -> Self {
        let info = image.info();
        let dtype = info.sample.dtype();
        let mut shape = vec![info.height, info.width];
        if info.frames > 1 {
            shape.insert(0, info.frames);
        }
        if info.channels != 1 {
            shape.push(u64::from(info.channels));
        }
        ImageArray { image, dtype, shape }
    }
}

impl Array for ImageArray {
    fn dtype(&self) -> &DType {
        &self.dtype
    }

    fn shape(&self) -> &[u64] {
        &self.shape
    }

    fn read(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<()> {
        region.check(&self.shape)?;
        let info = self.image.info();
        let mut spans = region.0.clone();
        let frames = if info.frames > 1 { spans.remove(0) } else { Span::range(0, 1) };
        let channels =
            if info.channels != 1 { spans.pop().unwrap_or(Span::all(1)) } else { Span::range(0, 1) };
        let [rows, columns] = spans.as_slice() else { return Err(Error::bug("a picture without sides")) };
        let rect = Rect {
            x: columns.start,
            y: rows.start,
            width: columns.end() - columns.start,
            height: rows.end() - rows.start,
        };
        let line = (columns.count * channels.count) as usize * info.sample.size();
        if out.is_empty() || line == 0 {
            return Ok(());
        }
        let mut lines = out.chunks_exact_mut(line);
        for frame in 0..frames.count {
            let pixels = self.image.read(task, frames.index(frame), 0, rect)?;
            if (pixels.width, pixels.height, pixels.channels) != (rect.width, rect.height, info.channels) {
                let what = format!("frame {} has another size or other channels", frames.index(frame));
                return Err(Error::unsupported(what));
            }
            for (y, line) in (0..rows.count).zip(&mut lines) {
                let xs = (0..columns.count).map(|x| x * columns.step);
                copy_line(&pixels, y * rows.step, xs, channels, line)?;
            }
        }
        Ok(())
    }
}

/// Whether an array can be a picture as it is: height × width of bytes or 16-bit samples, perhaps × 1,
/// 2, 3 or 4 channels.
pub fn is_picture(dtype: &DType, shape: &[u64]) -> bool {
    let sides = matches!(shape, [h, w] | [h, w, 1..=4] if *h > 0 && *w > 0 && *h <= 1 << 30 && *w <= 1 << 30);
    sides && matches!(dtype, DType::U8 | DType::U16)
}

/// An array of samples as an image.
pub struct ArrayImage {
    array: Arc<dyn Array>,
    info: ImageInfo,
}

impl ArrayImage {
    /// The picture of an array for which [`is_picture`] holds. Two and four channels end with alpha.
    ///
    /// # Errors
    /// `Unsupported` for other arrays.
    pub fn new(array: Arc<dyn Array>) -> Result<Self> {
        let ([height, width, ..], true) = (array.shape(), is_picture(array.dtype(), array.shape())) else {
            return Err(Error::unsupported(format!(
                "{} of shape {:?} is no picture: that is uint8 or uint16, height × width or × 1 to 4 channels",
                array.dtype(),
                array.shape()
            )));
        };
        let (height, width) = (*height, *width);
        let (sample, bits) = if *array.dtype() == DType::U8 { (Sample::U8, 8) } else { (Sample::U16, 16) };
        let channels = array.shape().get(2).copied().unwrap_or(1) as u32;
        let info = ImageInfo {
            width,
            height,
            channels,
            bits,
            sample,
            alpha: channels == 2 || channels == 4,
            frames: 1,
            levels: vec![(width, height)],
            ..ImageInfo::default()
        };
        Ok(ArrayImage { array, info })
    }
}

impl Image for ArrayImage {
    fn info(&self) -> &ImageInfo {
        &self.info
    }

    fn read(&self, task: &Task, frame: u64, level: u32, rect: Rect) -> Result<Pixels> {
        if frame != 0 || level != 0 {
            return Err(Error::bug(format!("frame {frame}, level {level} of an array")));
        }
        let rect = rect.cut(self.info.width, self.info.height);
        limits::check(rect.width.saturating_mul(rect.height), limits::PIXELS, "this part of the picture")?;
        let mut spans = vec![Span::range(rect.y, rect.height), Span::range(rect.x, rect.width)];
        spans.extend(self.array.shape().get(2).map(|&channels| Span::all(channels)));
        let data = array::read(self.array.as_ref(), task, &Region(spans))?;
        let ImageInfo { channels, sample, alpha, .. } = self.info;
        Ok(Pixels { width: rect.width, height: rect.height, channels, sample, alpha, data })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::source::Source;
    use crate::data::content::array::Plain;

    #[test]
    fn there_and_back_by_any_region() {
        let task = Task::new();
        let bytes: Vec<u8> = (0..4 * 5 * 3 * 2).map(|n| n as u8).collect();
        let plain = Plain::new(Source::memory("a", bytes), 0, DType::U16, vec![4, 5, 3]).unwrap();
        let plain: Arc<dyn Array> = Arc::new(plain);
        let image = Arc::new(ArrayImage::new(plain.clone()).unwrap());
        let back = ImageArray::new(image);
        assert_eq!((back.dtype(), back.shape()), (&DType::U16, &[4, 5, 3][..]));
        for slice in ["", "1:, ::2, 1", "::3, 4, ::2", "2:2"] {
            let (region, _) = Region::parse(slice, &[4, 5, 3]).unwrap();
            let read = |a: &dyn Array| array::read(a, &task, &region).unwrap();
            assert_eq!(read(&back), read(plain.as_ref()), "{slice}");
        }
        assert!(!is_picture(&DType::F32, &[4, 4]) && !is_picture(&DType::U8, &[4, 4, 5]));
    }
}
