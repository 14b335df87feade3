//! Statistics of an image: its first frame by bands of rows, so that only the decoder holds all of it.

use crate::content::{Image, Pixels, Rect};
use crate::error::Result;
use crate::task::Task;

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
    let mut pass = Pass::default();
    task.expect(info.height);
    let mut y = 0;
    while y < info.height {
        let rect = Rect { x: 0, y, width: info.width, height: band.min(info.height - y) };
        let seen = image.read(task, 0, 0, rect)?;
        match image.stored(task, 0, rect)? {
            Some(stored) => {
                seen_rgb(&mut pass.rgb, &seen);
                pass.band(stored, false);
            }
            None => pass.band(seen, true),
        }
        y += rect.height;
        task.advance(rect.height)?;
    }
    Ok(pass.finish())
}

/// Adds pixels as they are seen.
fn seen_rgb(crc: &mut crc32fast::Hasher, pixels: &Pixels) {
    crc.update(&pixels.to_rgb8());
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
    total: Vec<Sums>,
    /// The row before with what it gave: masks and screens repeat their rows.
    row: Vec<u8>,
    row_rgb: Vec<u8>,
    row_sums: Vec<Sums>,
    values: Vec<f64>,
}

impl Pass {
    /// Takes rows; `seen` says whether they are what is seen.
    fn band(&mut self, mut pixels: Pixels, seen: bool) {
        let (height, channels) = (pixels.height, pixels.channels as usize);
        let data = std::mem::take(&mut pixels.data);
        let bytes = data.len() / (height.max(1) as usize);
        self.total.resize(channels, Sums::default());
        self.samples.update(&data);
        pixels.height = 1;
        for row in data.chunks_exact(bytes.max(1)) {
            if row != self.row {
                self.row.clear();
                self.row.extend_from_slice(row);
                pixels.data.clear();
                pixels.data.extend_from_slice(row);
                if seen {
                    self.row_rgb = pixels.to_rgb8();
                }
                self.measure(&pixels);
            }
            if seen {
                self.rgb.update(&self.row_rgb);
            }
            for (total, row) in self.total.iter_mut().zip(&self.row_sums) {
                total.count += row.count;
                total.low = total.low.min(row.low);
                total.high = total.high.max(row.high);
                total.sum += row.sum;
            }
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

    fn finish(self) -> ImageStats {
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
    use crate::content::Content;
    use crate::format::Options;
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
            rows.band(pixels.crop(Rect { x: 0, y, width: info.width, height: 1 }), true);
        }
        assert_eq!(rows.finish().channels, stats.channels);
        assert_eq!(stats.channels.len(), 3);
    }
}
