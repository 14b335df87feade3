//! Pictures as arrays of samples, and arrays as pictures.

use super::frame::copy_line;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::content::{Array, Image, ImageInfo, Pixels, Rect, Sample, array};
use crate::data::dtype::DType;
use crate::data::format::{ArrayPictures, CHANNELS};
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

/// The sample that an element of an array is.
fn sample_of(dtype: &DType) -> Option<Sample> {
    const ALL: [Sample; 13] = [
        Sample::U8,
        Sample::U16,
        Sample::U32,
        Sample::U64,
        Sample::I8,
        Sample::I16,
        Sample::I32,
        Sample::I64,
        Sample::F16,
        Sample::F32,
        Sample::F64,
        Sample::C64,
        Sample::C128,
    ];
    ALL.into_iter().find(|sample| sample.dtype() == *dtype)
}

/// An array of samples as an image.
pub struct ArrayImage {
    array: Arc<dyn Array>,
    /// The lengths of the dimensions that the frames go through.
    before: Vec<u64>,
    /// Whether the last dimension is that of the channels.
    has_channels: bool,
    info: ImageInfo,
}

impl ArrayImage {
    /// The picture of an array for which [`is_picture`] holds. Two and four channels end with alpha.
    ///
    /// # Errors
    /// `Unsupported` for other arrays.
    pub fn new(array: Arc<dyn Array>) -> Result<Self> {
        let takes = ArrayPictures { samples: &[Sample::U8, Sample::U16], frames: false };
        ArrayImage::of(array, takes, CHANNELS.default)
    }

    /// The pictures of an array: … × height × width, or × channels, of elements that `takes` names. What stands before
    /// them are frames, of which there is one where `takes` says so. `channels` is a value of [`CHANNELS`]. Four
    /// channels end with alpha, and two of bytes and 16-bit numbers.
    ///
    /// # Errors
    /// `Unsupported` for other arrays.
    pub fn of(array: Arc<dyn Array>, takes: ArrayPictures, channels: &str) -> Result<Self> {
        let sample = sample_of(array.dtype()).filter(|sample| takes.samples.contains(sample));
        let shape = array.shape();
        let has_channels = match channels {
            "last" => shape.len() > 2,
            "none" => false,
            _ => shape.len() > 2 && shape.last().is_some_and(|last| (1..=4).contains(last)),
        };
        let sides = shape.len().checked_sub(2 + usize::from(has_channels));
        let frames = sides.and_then(|at| limits::elements(shape.get(..at)?).ok());
        let parts = sides.and_then(|at| Some((at, shape.get(at..at + 2)?)));
        let (Some((at, &[height, width])), Some(frames), Some(sample)) = (parts, frames, sample) else {
            return Err(no_picture(array.as_ref(), takes));
        };
        let channels = if has_channels { shape.last().copied().unwrap_or(1) } else { 1 };
        let is_side = |n: u64| (1..=1 << 30).contains(&n);
        let fits = is_side(height) && is_side(width) && (1..=1 << 16).contains(&channels);
        if !fits || frames == 0 || frames > 1 && !takes.frames {
            return Err(no_picture(array.as_ref(), takes));
        }
        let channels = channels as u32;
        let is_whole = matches!(sample, Sample::U8 | Sample::U16);
        let info = ImageInfo {
            width,
            height,
            channels,
            bits: sample.size() as u32 * 8,
            sample,
            alpha: channels == 4 || channels == 2 && is_whole,
            frames,
            levels: vec![(width, height)],
            ..ImageInfo::default()
        };
        let before = shape.get(..at).unwrap_or_default().to_vec();
        Ok(ArrayImage { before, has_channels, info, array })
    }
}

fn no_picture(array: &dyn Array, takes: ArrayPictures) -> Error {
    let names: Vec<String> = takes.samples.iter().map(|sample| sample.dtype().to_string()).collect();
    let types = match names.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => "of no type".to_owned(),
    };
    let frames = if takes.frames { ", perhaps with frames before them" } else { "" };
    let other = match (
        array.shape().len() > 2,
        takes.samples.iter().any(|sample| sample.dtype() == *array.dtype()),
    ) {
        (true, true) => "; a slice of it may be one",
        (true, false) => "; a slice of it with another dtype may be one",
        (false, false) if array.shape().len() == 2 => "; with another dtype it may be one",
        (false, _) => "",
    };
    Error::unsupported(format!(
        "{} of shape {:?} is no picture: that is {types}, height × width or × 1 to 4 channels{frames}{other}",
        array.dtype(),
        array.shape()
    ))
}

impl Image for ArrayImage {
    fn info(&self) -> &ImageInfo {
        &self.info
    }

    fn read(&self, task: &Task, frame: u64, level: u32, rect: Rect) -> Result<Pixels> {
        if frame >= self.info.frames || level != 0 {
            return Err(Error::bug(format!("frame {frame}, level {level} of an array")));
        }
        let rect = rect.cut(self.info.width, self.info.height);
        limits::check(rect.width.saturating_mul(rect.height), limits::PIXELS, "this part of the picture")?;
        let mut left = frame;
        let mut spans: Vec<Span> = Vec::with_capacity(self.before.len() + 3);
        for len in self.before.iter().rev() {
            spans.push(Span::range(left % (*len).max(1), 1));
            left /= (*len).max(1);
        }
        spans.reverse();
        spans.extend([Span::range(rect.y, rect.height), Span::range(rect.x, rect.width)]);
        let ImageInfo { channels, sample, alpha, .. } = self.info;
        if self.has_channels {
            spans.push(Span::all(u64::from(channels)));
        }
        let data = array::read(self.array.as_ref(), task, &Region(spans))?;
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

    #[test]
    fn stacks_are_frames() {
        let task = Task::new();
        let bytes: Vec<u8> = (0..2 * 3 * 4 * 5 * 2).map(|n| n as u8).collect();
        let of = |dtype: DType, shape: &[u64], frames: bool, channels: &str| {
            let plain = Plain::new(Source::memory("a", bytes.clone()), 0, dtype, shape.to_vec()).unwrap();
            let takes = ArrayPictures { samples: &[Sample::U8, Sample::U16, Sample::F16], frames };
            ArrayImage::of(Arc::new(plain), takes, channels)
        };
        let told = |image: &ArrayImage| {
            let info = image.info();
            (info.frames, info.height, info.width, info.channels, info.alpha)
        };
        let stack = of(DType::F16, &[2, 3, 4, 5], true, "auto").unwrap();
        assert_eq!(told(&stack), (6, 4, 5, 1, false));
        let second = stack.read(&task, 4, 0, Rect { x: 1, y: 2, width: 2, height: 1 }).unwrap();
        let at = ((4 * 4 + 2) * 5 + 1) * 2;
        assert_eq!(second.data, bytes[at..at + 4]);
        assert_eq!(told(&of(DType::U8, &[2, 3, 5, 4], true, "auto").unwrap()), (2, 3, 5, 4, true));
        assert_eq!(told(&of(DType::U8, &[2, 3, 4, 5], true, "last").unwrap()), (2, 3, 4, 5, false));
        assert_eq!(told(&of(DType::U8, &[6, 5, 4], true, "none").unwrap()), (6, 5, 4, 1, false));
        assert_eq!(told(&of(DType::U8, &[1, 4, 5], false, "auto").unwrap()), (1, 4, 5, 1, false));
        for (dtype, shape, frames) in
            [(DType::U8, &[2, 4, 5][..], false), (DType::I8, &[4, 5], true), (DType::U8, &[5], true)]
        {
            assert!(of(dtype, shape, frames, "auto").is_err(), "{shape:?}");
        }
    }
}
