//! A frame of an image as an array of `frames × height × width × channels`, of which only this frame is
//! ever asked for; where frames go through several axes (`t × c × z`) each of them is one of the array. Frames of
//! usual size are decoded whole and kept; of larger ones parts are read, from the pyramid level that is fine enough.

use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::content::array::{ArrayFacts, Axis};
use crate::data::content::{Array, Image, ImageInfo, Pixels, Rect};
use crate::data::dtype::DType;
use crate::data::region::{Region, Span};
use std::sync::Arc;

/// Frames up to here are decoded whole, in bytes;
const WHOLE: u64 = 256 << 20;
/// those of which the file has smaller versions, up to here: what is seen of a larger one is read from the version that it is
/// seen in, and all of it only by who goes through all of it.
const WHOLE_OF_LEVELS: u64 = 16 << 20;

/// A frame of an image, as `frames × height × width × channels`.
pub struct FrameArray {
    image: Arc<dyn Image>,
    number: u64,
    dtype: DType,
    shape: Vec<u64>,
    /// All of it, if it is not too large.
    pixels: Option<Pixels>,
}

fn bytes_of(info: &ImageInfo) -> u64 {
    let pixel = u64::from(info.channels).saturating_mul(info.sample.size() as u64);
    info.width.saturating_mul(info.height).saturating_mul(pixel)
}

impl FrameArray {
    /// The axes that the frames of an image go through, with their lengths: one that counts them, where the file names
    /// none.
    pub fn axes(info: &ImageInfo) -> Vec<(u64, Axis)> {
        match info.frame_axes.is_empty() {
            true => vec![(info.frames.max(1), Axis { name: "frame".to_owned(), ..Axis::default() })],
            false => info.frame_axes.clone(),
        }
    }

    /// The shape of the array of frames of this size.
    pub fn shape_of(info: &ImageInfo, height: u64, width: u64, channels: u32) -> Vec<u64> {
        let frames = Self::axes(info).into_iter().map(|(len, _)| len);
        frames.chain([height, width, u64::from(channels.max(1))]).collect()
    }

    /// Decodes a frame, or gets ready to read parts of it.
    ///
    /// # Errors
    /// As [`Image::read`].
    pub fn read(image: Arc<dyn Image>, task: &Task, number: u64) -> Result<Self> {
        let info = image.info();
        if bytes_of(info) > if info.levels.len() > 1 { WHOLE_OF_LEVELS } else { WHOLE } {
            let shape = Self::shape_of(info, info.height, info.width, info.channels);
            return Ok(FrameArray { dtype: info.sample.dtype(), number, shape, pixels: None, image });
        }
        // Other pages than the first may be larger than it.
        let pixels = image.read(task, number, 0, Rect::all(u64::MAX, u64::MAX))?;
        let shape = Self::shape_of(info, pixels.height, pixels.width, pixels.channels);
        let sides = [pixels.height, pixels.width, u64::from(pixels.channels.max(1))];
        let expected = limits::bytes(&sides, pixels.sample.size() as u64)?;
        if pixels.data.len() as u64 != expected {
            return Err(Error::bug(format!(
                "image: {} bytes of pixels, {expected} expected",
                pixels.data.len()
            )));
        }
        Ok(FrameArray { dtype: pixels.sample.dtype(), number, shape, pixels: Some(pixels), image })
    }

    /// Which frame.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Height, width and channels.
    fn sides(&self) -> [u64; 3] {
        self.shape.last_chunk().copied().unwrap_or_default()
    }

    /// The coarsest level that still has a pixel for each sample that is `step` pixels apart.
    fn level(&self, step: u64) -> u32 {
        let levels = &self.image.info().levels;
        let fits = |level: &&(u64, u64)| self.sides()[1].div_ceil(level.0.max(1)) <= step.max(1);
        levels.iter().filter(fits).count().max(1) as u32 - 1
    }

    /// Reads a part that is not in memory, in bands of rows.
    fn read_part(
        &self,
        task: &Task,
        rows: Span,
        columns: Span,
        channels: Span,
        out: &mut [u8],
    ) -> Result<()> {
        let level = self.level(rows.step.min(columns.step));
        let [height, width, samples] = self.sides();
        let (across, down) = self.image.info().levels.get(level as usize).copied().unwrap_or((width, height));
        let scaled = |at: u64, from: u64, to: u64| {
            let place = u128::from(at) * u128::from(to) / u128::from(from.max(1));
            (place as u64).min(to.saturating_sub(1))
        };
        let left = scaled(columns.start, width, across);
        let right = scaled(columns.index(columns.count.saturating_sub(1)), width, across) + 1;
        let line = (columns.count * channels.count) as usize * self.dtype.size() as usize;
        // As many lines at a time as keep a band within 16 MB, if the lines are close together.
        let pixel = (right - left).saturating_mul(samples * self.dtype.size());
        let close = scaled(rows.step, height, down) <= 2;
        let band = if close { ((16 << 20) / pixel.max(1)).clamp(1, rows.count.max(1)) } else { 1 };
        for (n, lines) in out.chunks_mut(line * band as usize).enumerate() {
            task.check()?;
            let first = n as u64 * band;
            let count = (lines.len() / line.max(1)) as u64;
            let top = scaled(rows.index(first), height, down);
            let bottom = scaled(rows.index(first + count - 1), height, down) + 1;
            let rect = Rect { x: left, y: top, width: right - left, height: bottom - top };
            let pixels = self.image.read(task, self.number, level, rect)?;
            for (m, line) in lines.chunks_exact_mut(line.max(1)).enumerate() {
                let y = scaled(rows.index(first + m as u64), height, down) - top;
                let xs = (0..columns.count).map(|n| scaled(columns.index(n), width, across) - left);
                copy_line(&pixels, y, xs, channels, line)?;
            }
        }
        Ok(())
    }
}

/// Copies the samples of one row of pixels at `xs`, of each these channels.
pub(super) fn copy_line(
    pixels: &Pixels,
    y: u64,
    xs: impl Iterator<Item = u64>,
    channels: Span,
    out: &mut [u8],
) -> Result<()> {
    let size = pixels.sample.size();
    let cut = || Error::bug("image: fewer pixels than were asked for");
    let part = channels.count as usize * size;
    for (x, to) in xs.zip(out.chunks_exact_mut(part.max(1))) {
        let pixel = ((y * pixels.width + x) * u64::from(pixels.channels)) as usize * size;
        for (n, to) in to.chunks_exact_mut(size).enumerate() {
            let at = pixel + channels.index(n as u64) as usize * size;
            to.copy_from_slice(pixels.data.get(at..at + size).ok_or_else(cut)?);
        }
    }
    Ok(())
}

impl Array for FrameArray {
    fn dtype(&self) -> &DType {
        &self.dtype
    }

    fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// How it is stored, where parts of it are read. Smaller versions have chunks of their own, which are not told.
    fn facts(&self) -> ArrayFacts {
        let info = self.image.info();
        let chunk = info.chunk.filter(|_| self.pixels.is_none() && info.levels.len() <= 1);
        let chunks = chunk.map(|(wide, high)| {
            let [height, width, channels] = self.sides();
            let frames = vec![1; self.shape.len().saturating_sub(3)];
            frames.into_iter().chain([high.min(height), wide.min(width), channels]).collect()
        });
        ArrayFacts { chunks, ..ArrayFacts::default() }
    }

    fn read(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<()> {
        let &[.., rows, columns, channels] = region.0.as_slice() else {
            return Err(Error::bug("image: a region of fewer than three axes"));
        };
        if out.is_empty() {
            return Ok(());
        }
        let Some(pixels) = &self.pixels else { return self.read_part(task, rows, columns, channels, out) };
        let line = (columns.count * channels.count) as usize * self.dtype.size() as usize;
        for (n, line) in out.chunks_exact_mut(line.max(1)).enumerate() {
            if n % 256 == 0 {
                task.check()?;
            }
            let xs = (0..columns.count).map(|n| columns.index(n));
            copy_line(pixels, rows.index(n as u64), xs, channels, line)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::content::Sample;
    use crate::data::numbers::ComplexPart;
    use crate::data::plane::{Mapping, tiles};
    use std::sync::atomic::{AtomicU64, Ordering};

    /// A picture of zeros that knows the widest part of it that was read.
    struct BlankImage {
        info: ImageInfo,
        widest: AtomicU64,
    }

    impl Image for BlankImage {
        fn info(&self) -> &ImageInfo {
            &self.info
        }

        fn read(&self, _task: &Task, _frame: u64, _level: u32, rect: Rect) -> Result<Pixels> {
            self.widest.fetch_max(rect.width, Ordering::Relaxed);
            let data = vec![0; (rect.width * rect.height) as usize];
            let (width, height, sample) = (rect.width, rect.height, Sample::U8);
            Ok(Pixels { width, height, channels: 1, sample, alpha: false, data })
        }
    }

    #[test]
    fn a_picture_of_tiles_is_read_tile_by_tile() {
        let widest = |side: u64, levels: u32, chunk: Option<(u64, u64)>| {
            let levels = (0..levels).map(|level| (side >> level, side >> level)).collect();
            let info = ImageInfo {
                width: side,
                height: side,
                channels: 1,
                frames: 1,
                levels,
                chunk,
                ..ImageInfo::default()
            };
            let image = Arc::new(BlankImage { info, widest: AtomicU64::new(0) });
            let task = Task::new();
            let frame = FrameArray::read(image.clone(), &task, 0).unwrap();
            let slice = Mapping::picture(frame.shape()).slice(true);
            let window = slice.coarse(64);
            tiles::read(&frame, &task, &slice, window, ComplexPart::Magnitude, &mut |_| {}).unwrap();
            image.widest.load(Ordering::Relaxed)
        };
        // A row of tiles would be decoded again for each of its rows that is looked at.
        assert!(widest(20_000, 1, Some((256, 256))) < 5_000);
        assert!(widest(20_000, 1, None) > 15_000);
        // Of one with smaller versions that is read which is seen, also where all of it would fit into memory.
        assert!(widest(8_000, 6, None) < 300);
    }
}
