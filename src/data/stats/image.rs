//! Statistics of an image: its first frame by bands of rows, so that only the decoder holds all of it.

use crate::bytes::error::Result;
use crate::bytes::task::Task;
use crate::data::content::{Image, Pixels, Rect};

/// Bytes of rows that are asked for at a time.
const BAND: u64 = 4 << 20;

/// What one pass over an image tells.
#[derive(Clone, Debug, Default)]
pub struct ImageStats {
    /// CRC-32 of the pixels as 8-bit RGB, or RGBA where there is alpha.
    pub crc32_rgb: u32,
    /// CRC-32 of the samples as they are delivered.
    pub crc32: u32,
    /// Of each channel.
    pub channels: Vec<ChannelStats>,
}

/// Statistics of one channel's finite samples; nothing where there are none, or they are complex.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ChannelStats {
    /// The smallest.
    pub min: Option<f64>,
    /// The largest.
    pub max: Option<f64>,
    /// Their mean.
    pub mean: Option<f64>,
}

/// Statistics of an image's first frame.
pub fn image(image: &dyn Image, task: &Task) -> Result<ImageStats> {
    let info = image.info();
    let sample = info.sample.size() as u64;
    let row = info.width.saturating_mul(u64::from(info.channels)).saturating_mul(sample).max(1);
    let band = (BAND / row).clamp(1, info.height.max(1));
    let mut pass = Pass { planar: info.planar, ..Pass::default() };
    task.set_total(info.height);
    let mut y = 0;
    while y < info.height {
        // Rows of which nothing is stored are read once and counted as often as they are there.
        let alike = image.unstored_rows(task, 0, y)?.min(info.height - y);
        let (height, times) = if alike > 1 { (1, alike) } else { (band.min(info.height - y), 1) };
        let rect = Rect { x: 0, y, width: info.width, height };
        let seen = image.read(task, 0, 0, rect)?;
        match image.stored(task, 0, rect)? {
            Some(stored) => pass.band(&stored, Some(&seen.to_rgb8()), times),
            None => pass.band(&seen, None, times),
        }
        y += height * times;
        task.advance(height * times)?;
    }
    Ok(pass.finish())
}

/// Adds bytes to a checksum so many times, in steps of their number's logarithm.
fn update(crc: &mut crc32fast::Hasher, bytes: &[u8], mut times: u64) {
    if times == 1 {
        return crc.update(bytes);
    }
    let mut power = crc32fast::Hasher::new();
    power.update(bytes);
    while times > 0 {
        if times & 1 == 1 {
            crc.combine(&power);
        }
        let half = power.clone();
        power.combine(&half);
        times >>= 1;
    }
}

/// Sums of one channel.
#[derive(Clone, Copy)]
struct Sums {
    count: u64,
    low: f64,
    high: f64,
    sum: f64,
}

impl Default for Sums {
    fn default() -> Self {
        Sums { count: 0, low: f64::INFINITY, high: f64::NEG_INFINITY, sum: 0.0 }
    }
}

#[derive(Default)]
struct Pass {
    rgb: crc32fast::Hasher,
    samples: crc32fast::Hasher,
    /// Those of each channel, where the file has them in planes.
    planar: bool,
    planes: Vec<crc32fast::Hasher>,
    total: Vec<Sums>,
    /// The row before with what it gave: masks and screens repeat their rows.
    row: Vec<u8>,
    row_rgb: Vec<u8>,
    row_sums: Vec<Sums>,
    values: Vec<f64>,
}

impl Pass {
    /// Takes rows so many times. `rgb` is what is seen where that differs from the samples.
    fn band(&mut self, pixels: &Pixels, rgb: Option<&[u8]>, times: u64) {
        let channels = pixels.channels as usize;
        let bytes = pixels.data.len() / (pixels.height.max(1) as usize);
        self.total.resize(channels, Sums::default());
        match self.planar {
            true => self.planes(pixels, times),
            false => update(&mut self.samples, &pixels.data, times),
        }
        if let Some(rgb) = rgb {
            update(&mut self.rgb, rgb, times);
        }
        for row in pixels.data.chunks_exact(bytes.max(1)) {
            if row != self.row {
                self.row.clear();
                self.row.extend_from_slice(row);
                let row = Pixels { height: 1, data: row.to_vec(), ..*pixels };
                if rgb.is_none() {
                    self.row_rgb = row.to_rgb8();
                }
                self.measure(&row);
            }
            if rgb.is_none() {
                update(&mut self.rgb, &self.row_rgb, times);
            }
            for (total, row) in self.total.iter_mut().zip(&self.row_sums) {
                total.count += row.count * times;
                total.low = total.low.min(row.low);
                total.high = total.high.max(row.high);
                total.sum += row.sum * times as f64;
            }
        }
    }

    /// Takes rows into the checksums of their channels.
    fn planes(&mut self, pixels: &Pixels, times: u64) {
        let (size, channels) = (pixels.sample.size(), pixels.channels as usize);
        self.planes.resize(channels, crc32fast::Hasher::new());
        for (n, crc) in self.planes.iter_mut().enumerate() {
            let samples = pixels.data.chunks_exact(size).skip(n).step_by(channels.max(1));
            let plane: Vec<u8> = samples.flatten().copied().collect();
            update(crc, &plane, times);
        }
    }

    fn measure(&mut self, row: &Pixels) {
        let channels = row.channels as usize;
        self.row_sums.clear();
        self.row_sums.resize(channels, Sums::default());
        self.values.clear();
        row.sample.dtype().decode(&row.data, &mut self.values);
        for pixel in self.values.chunks_exact(channels.max(1)) {
            for (sums, &value) in self.row_sums.iter_mut().zip(pixel) {
                if value.is_finite() {
                    sums.count += 1;
                    sums.low = sums.low.min(value);
                    sums.high = sums.high.max(value);
                    sums.sum += value;
                }
            }
        }
    }

    fn finish(mut self) -> ImageStats {
        for plane in &self.planes {
            self.samples.combine(plane);
        }
        let channel = |sums: &Sums| match sums.count {
            0 => ChannelStats::default(),
            n => ChannelStats { min: Some(sums.low), max: Some(sums.high), mean: Some(sums.sum / n as f64) },
        };
        ImageStats {
            crc32_rgb: self.rgb.finalize(),
            crc32: self.samples.finalize(),
            channels: self.total.iter().map(channel).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::content::{Content, Sample};
    use crate::data::format::Options;
    use std::path::Path;

    #[test]
    fn bands_add_up_to_the_whole() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/tiff/rgb_8.tif");
        let task = Task::new();
        let document = crate::open(&task, Path::new(path), &Options::default()).unwrap();
        let Some(Content::Image(picture)) = &document.root.content else { panic!("no image") };
        let info = picture.info();
        let pixels = picture.read(&task, 0, 0, Rect::all(info.width, info.height)).unwrap();
        let stats = image(picture.as_ref(), &task).unwrap();
        assert_eq!(stats.crc32, crc32fast::hash(&pixels.data));
        assert_eq!(stats.crc32_rgb, crc32fast::hash(&pixels.to_rgb8()));
        let mut rows = Pass::default();
        for y in 0..info.height {
            rows.band(&pixels.crop(Rect { x: 0, y, width: info.width, height: 1 }), None, 1);
        }
        assert_eq!(rows.finish().channels, stats.channels);
        assert_eq!(stats.channels.len(), 3);
    }

    proptest::proptest! {
        #[test]
        fn a_row_taken_many_times_is_that_many_rows(row in proptest::collection::vec(0u8.., 1..9), times in 1u64..99) {
            let info = Pixels { width: row.len() as u64, height: 1, channels: 1, sample: Sample::U8, alpha: false, data: row };
            let all = Pixels { height: times, data: info.data.repeat(times as usize), ..info };
            let (mut once, mut many) = (Pass::default(), Pass::default());
            once.band(&info, None, times);
            many.band(&all, None, 1);
            let (once, many) = (once.finish(), many.finish());
            proptest::prop_assert_eq!((once.crc32, once.crc32_rgb), (many.crc32, many.crc32_rgb));
            proptest::prop_assert_eq!(once.channels, many.channels);
        }
    }
}
