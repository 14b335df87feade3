//! Smaller versions of a frame of a picture whose file has none: means of its pixels, in memory.

use crate::bytes::cache::Reservation;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::content::{Image, ImageInfo, Pixels, Rect, Sample};
use std::sync::Arc;

/// Bytes of frames that are read as they are, whatever part is looked at.
const SMALL: u64 = 256 << 20;
/// Bytes of the finest smaller version.
const FINEST: u64 = 64 << 20;
/// Bytes of pixels that are read at once.
const BAND: u64 = 32 << 20;
/// The coarsest version has sides of no more than this.
const COARSEST: u64 = 1024;

/// A picture with smaller versions of one of its frames.
pub struct Overview {
    image: Arc<dyn Image>,
    info: ImageInfo,
    frame: u64,
    levels: Vec<Pixels>,
    _counted: Reservation,
}

impl Overview {
    /// Whether a picture is so large that it is read by parts, and has no smaller versions.
    pub fn is_needed(info: &ImageInfo) -> bool {
        info.levels.len() < 2 && frame_bytes(info) > SMALL && info.video.is_none()
    }

    /// Goes through a frame once. Progress is told in rows.
    ///
    /// # Errors
    /// As [`Image::read`]; `Limit` where rows are too long.
    pub fn new(image: Arc<dyn Image>, task: &Task, frame: u64) -> Result<Self> {
        let mut info = image.info().clone();
        let mut step = 2u64;
        while frame_bytes(&info) / step / step > FINEST {
            step *= 2;
        }
        let mut levels = vec![finest(image.as_ref(), task, frame, step)?];
        while let Some(last) = levels.last()
            && last.width.max(last.height) > COARSEST
        {
            task.check()?;
            let half = reduced(last, 2)?;
            levels.push(half);
        }
        info.levels.truncate(1);
        info.levels.extend(levels.iter().map(|level| (level.width, level.height)));
        let counted = Reservation::new(levels.iter().map(|level| level.data.len()).sum());
        Ok(Overview { image, info, frame, levels, _counted: counted })
    }
}

fn frame_bytes(info: &ImageInfo) -> u64 {
    let pixel = u64::from(info.channels).saturating_mul(info.sample.size() as u64);
    info.width.saturating_mul(info.height).saturating_mul(pixel)
}

/// The frame with a pixel for `step × step` of its own.
fn finest(image: &dyn Image, task: &Task, frame: u64, step: u64) -> Result<Pixels> {
    let info = image.info();
    let (width, height) = (info.width.div_ceil(step), info.height.div_ceil(step));
    let pixel = u64::from(info.channels).saturating_mul(info.sample.size() as u64);
    let mut whole = Pixels {
        width,
        height,
        channels: info.channels,
        sample: info.sample,
        alpha: info.alpha,
        data: limits::buffer(limits::bytes(&[width, height], pixel)?, "the overview")?,
    };
    let row = info.width.saturating_mul(pixel).max(1);
    // Bands of whole steps, and of no fewer rows than a strip or tile has for the most part.
    let rows = (BAND / row).max(step).next_multiple_of(step).max(step);
    let mut at = 0usize;
    task.set_total(info.height);
    let mut top = 0;
    while top < info.height {
        let rect = Rect { x: 0, y: top, width: info.width, height: rows.min(info.height - top) };
        let band = image.read(task, frame, 0, rect)?;
        if (band.width, band.channels, band.sample) != (info.width, info.channels, info.sample) {
            return Err(Error::unsupported("a frame of another size or kind than the first has no overview"));
        }
        let part = reduced(&band, step as usize)?;
        let end = at.saturating_add(part.data.len()).min(whole.data.len());
        if let Some(place) = whole.data.get_mut(at..end) {
            place.copy_from_slice(part.data.get(..place.len()).unwrap_or_default());
        }
        at = end;
        top += rect.height;
        task.advance(rect.height)?;
    }
    Ok(whole)
}

/// A pixel for `step × step`: the mean of those that are there.
fn reduced(pixels: &Pixels, step: usize) -> Result<Pixels> {
    let (width, height) = (pixels.width as usize, pixels.height as usize);
    let (across, down) = (width.div_ceil(step), height.div_ceil(step));
    let (channels, size) = (pixels.channels as usize, pixels.sample.size());
    let line = across * channels;
    let mut data = limits::buffer((line * down * size) as u64, "the overview")?;
    let mut sums = vec![0f64; line];
    let rows = pixels.data.chunks((width * channels * size * step).max(1));
    for (rows, out) in rows.zip(data.chunks_exact_mut((line * size).max(1))) {
        sums.fill(0.0);
        let mut count = 0;
        for row in rows.chunks_exact((width * channels * size).max(1)) {
            count += 1;
            add(row, pixels.sample, channels, step, &mut sums);
        }
        for (n, (sum, place)) in sums.iter().zip(out.chunks_exact_mut(size)).enumerate() {
            // The last pixel may stand for fewer columns.
            let columns = step.min(width - n / channels.max(1) * step);
            put(*sum / (columns * count.max(1)) as f64, pixels.sample, place);
        }
    }
    Ok(Pixels { width: across as u64, height: down as u64, data, ..*pixels })
}

/// Adds the samples of a row to the pixels that stand for them.
fn add(row: &[u8], sample: Sample, channels: usize, step: usize, sums: &mut [f64]) {
    let groups = row.chunks(channels * step * sample.size());
    for (group, sums) in groups.zip(sums.chunks_exact_mut(channels.max(1))) {
        match sample {
            // The usual ones in whole numbers.
            Sample::U8 => {
                for (n, sum) in sums.iter_mut().enumerate() {
                    let total: u32 = group.iter().skip(n).step_by(channels).map(|v| u32::from(*v)).sum();
                    *sum += f64::from(total);
                }
            }
            Sample::U16 => {
                let words = group.as_chunks::<2>().0;
                for (n, sum) in sums.iter_mut().enumerate() {
                    let values = words.iter().skip(n).step_by(channels);
                    let total: u64 = values.map(|word| u64::from(u16::from_le_bytes(*word))).sum();
                    *sum += total as f64;
                }
            }
            _ => {
                for pixel in group.chunks_exact(channels * sample.size()) {
                    for (sum, value) in sums.iter_mut().zip(pixel.chunks_exact(sample.size())) {
                        *sum += sample.number(value).unwrap_or(0.0);
                    }
                }
            }
        }
    }
}

/// Writes a number as a sample; of complex ones the absolute value.
fn put(value: f64, sample: Sample, place: &mut [u8]) {
    let whole = value.round();
    let write = |place: &mut [u8], bytes: &[u8]| {
        for (to, from) in place.iter_mut().zip(bytes) {
            *to = *from;
        }
    };
    match sample {
        Sample::U8 => write(place, &[whole as u8]),
        Sample::I8 => write(place, &(whole as i8).to_le_bytes()),
        Sample::U16 => write(place, &(whole as u16).to_le_bytes()),
        Sample::I16 => write(place, &(whole as i16).to_le_bytes()),
        Sample::U32 => write(place, &(whole as u32).to_le_bytes()),
        Sample::I32 => write(place, &(whole as i32).to_le_bytes()),
        Sample::U64 => write(place, &(whole as u64).to_le_bytes()),
        Sample::I64 => write(place, &(whole as i64).to_le_bytes()),
        Sample::F16 => write(place, &half::f16::from_f64(value).to_le_bytes()),
        Sample::F32 | Sample::C64 => write(place, &(value as f32).to_le_bytes()),
        Sample::F64 | Sample::C128 => write(place, &value.to_le_bytes()),
    }
}

impl Image for Overview {
    fn info(&self) -> &ImageInfo {
        &self.info
    }

    fn read(&self, task: &Task, frame: u64, level: u32, rect: Rect) -> Result<Pixels> {
        if level > 0 && frame != self.frame {
            return Err(Error::bug(format!(
                "level {level} of frame {frame} was asked of an overview of {}",
                self.frame
            )));
        }
        match (level as usize).checked_sub(1) {
            None => self.image.read(task, frame, 0, rect),
            Some(at) => {
                let none = || Error::bug(format!("level {level} of an overview was asked for"));
                Ok(self.levels.get(at).ok_or_else(none)?.crop(rect))
            }
        }
    }

    fn unstored_rows(&self, task: &Task, frame: u64, y: u64) -> Result<u64> {
        self.image.unstored_rows(task, frame, y)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A picture in which every sample tells its place, of which no more than a band is read.
    struct Ramp(ImageInfo);

    impl Image for Ramp {
        fn info(&self) -> &ImageInfo {
            &self.0
        }

        fn read(&self, _task: &Task, _frame: u64, _level: u32, rect: Rect) -> Result<Pixels> {
            let rect = rect.cut(self.0.width, self.0.height);
            assert!(rect.width * rect.height <= BAND);
            let mut data = Vec::new();
            for y in rect.y..rect.y + rect.height {
                data.extend((rect.x..rect.x + rect.width).map(|x| (x / 256) as u8 ^ (y / 256) as u8));
            }
            Ok(Pixels {
                width: rect.width,
                height: rect.height,
                channels: 1,
                sample: Sample::U8,
                alpha: false,
                data,
            })
        }
    }

    #[test]
    fn levels_are_means_of_what_is_there() {
        let (width, height) = (20_011, 14_003);
        let info = ImageInfo {
            width,
            height,
            channels: 1,
            frames: 1,
            bits: 8,
            levels: vec![(width, height)],
            ..ImageInfo::default()
        };
        assert!(Overview::is_needed(&info));
        assert!(!Overview::is_needed(&ImageInfo { width: 100, ..info.clone() }));
        let task = Task::new();
        let seen = Overview::new(Arc::new(Ramp(info)), &task, 0).unwrap();
        // 280 MB are too many by a factor of more than 4.
        assert_eq!(seen.info.levels[1..3], [(5_003, 3_501), (2_502, 1_751)]);
        assert!(seen.info.levels.last().unwrap().0 <= COARSEST);
        for level in 1..seen.info.levels.len() as u32 {
            let step = 2u64 << level;
            for (x, y) in [(3u64, 5u64), (100, 77)] {
                let rect = Rect { x, y, width: 1, height: 1 };
                let value = seen.read(&task, 0, level, rect).unwrap().data[0];
                // Steps of up to 256 lie within squares of one value.
                if step <= 256 {
                    assert_eq!(value, ((x * step) / 256) as u8 ^ ((y * step) / 256) as u8, "{level} {x} {y}");
                }
            }
        }
        assert_eq!(seen.read(&task, 0, 0, Rect { x: 256, y: 0, width: 1, height: 1 }).unwrap().data, [1]);
    }

    #[test]
    fn edges_count_fewer_pixels() {
        let pixels = Pixels {
            width: 3,
            height: 3,
            channels: 1,
            sample: Sample::U16,
            alpha: false,
            data: [10u16, 20, 300, 30, 40, 500, 7, 9, 1000].iter().flat_map(|v| v.to_le_bytes()).collect(),
        };
        let half = reduced(&pixels, 2).unwrap();
        let values: Vec<u16> = half.data.as_chunks::<2>().0.iter().map(|b| u16::from_le_bytes(*b)).collect();
        assert_eq!((half.width, half.height, values), (2, 2, vec![25, 400, 8, 1000]));
        let floats = Pixels {
            width: 2,
            height: 1,
            channels: 1,
            sample: Sample::F32,
            alpha: false,
            data: [0.5f32, 1.0].iter().flat_map(|v| v.to_le_bytes()).collect(),
        };
        assert_eq!(reduced(&floats, 2).unwrap().sample(0, 0, 0), Some(0.75));
    }
}
