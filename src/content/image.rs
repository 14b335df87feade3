//! Images: pixels by frame, pyramid level and rectangle.

use crate::error::Result;
use crate::task::Task;

/// An image, perhaps of several frames and resolutions.
pub trait Image: Send + Sync {
    /// What is known without decoding pixels.
    fn info(&self) -> &ImageInfo;

    /// The pixels of `rect` (cut to the level) of one frame at one level (0 is full resolution,
    /// each further one about half of the one before), as stored: samples interleaved, rows top-down.
    /// Palettes are applied; alpha, if there is any, is the last channel, not premultiplied.
    fn read(&self, task: &Task, frame: u64, level: u32, rect: Rect) -> Result<Pixels>;
}

/// What is known of an image without decoding it.
#[derive(Clone, Debug, Default)]
pub struct ImageInfo {
    /// Columns of pixels of frame 0 at full resolution.
    pub width: u64,
    /// Rows of pixels.
    pub height: u64,
    /// Samples of each pixel as `read` delivers them.
    pub channels: u32,
    /// Bits of each stored sample (1 to 64).
    pub bits: u32,
    /// How samples are delivered.
    pub sample: Sample,
    /// Whether the last channel is alpha.
    pub alpha: bool,
    /// How many frames or pages.
    pub frames: u64,
    /// (width, height) of each level; the first is full resolution.
    pub levels: Vec<(u64, u64)>,
    /// Further lines for the inspector: colour type, interlace, EXIF.
    pub details: Vec<(String, String)>,
}

/// The type of delivered samples, little-endian.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Sample {
    #[default]
    U8,
    U16,
    U32,
    F32,
}

impl Sample {
    /// Bytes of one sample.
    pub fn size(self) -> usize {
        match self {
            Sample::U8 => 1,
            Sample::U16 => 2,
            Sample::U32 | Sample::F32 => 4,
        }
    }

    /// Whether samples are floats (the JSON words are `uint` and `float`).
    pub fn is_float(self) -> bool {
        self == Sample::F32
    }
}

/// A rectangle of pixels: left, top, width, height.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rect {
    /// The first column.
    pub x: u64,
    /// The first row.
    pub y: u64,
    /// Columns.
    pub width: u64,
    /// Rows.
    pub height: u64,
}

impl Rect {
    /// All of an image of this size.
    pub fn all(width: u64, height: u64) -> Self {
        Rect { x: 0, y: 0, width, height }
    }

    /// The part that lies in an image of this size.
    pub fn cut(self, width: u64, height: u64) -> Self {
        let (x, y) = (self.x.min(width), self.y.min(height));
        Rect { x, y, width: self.width.min(width - x), height: self.height.min(height - y) }
    }
}

/// Decoded pixels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pixels {
    /// Columns.
    pub width: u64,
    /// Rows.
    pub height: u64,
    /// Samples of each pixel.
    pub channels: u32,
    /// Their type.
    pub sample: Sample,
    /// Whether the last channel is alpha.
    pub alpha: bool,
    /// `width × height × channels` samples, little-endian, interleaved, rows top-down.
    pub data: Vec<u8>,
}

impl Pixels {
    /// Sample `channel` of the pixel at (x, y), as a number.
    pub fn sample(&self, x: u64, y: u64, channel: u32) -> Option<f64> {
        let index = ((y.checked_mul(self.width)?.checked_add(x)?) * u64::from(self.channels)
            + u64::from(channel)) as usize;
        let size = self.sample.size();
        let bytes = self.data.get(index * size..index * size + size)?;
        Some(match self.sample {
            Sample::U8 => f64::from(bytes[0]),
            Sample::U16 => f64::from(u16::from_le_bytes(bytes.try_into().ok()?)),
            Sample::U32 => f64::from(u32::from_le_bytes(bytes.try_into().ok()?)),
            Sample::F32 => f64::from(f32::from_le_bytes(bytes.try_into().ok()?)),
        })
    }

    /// The part of these pixels in `rect`.
    pub fn crop(&self, rect: Rect) -> Pixels {
        let rect = rect.cut(self.width, self.height);
        let pixel = self.channels as usize * self.sample.size();
        let row = self.width as usize * pixel;
        let mut data = Vec::with_capacity((rect.width * rect.height) as usize * pixel);
        for y in rect.y..rect.y + rect.height {
            let start = y as usize * row + rect.x as usize * pixel;
            data.extend_from_slice(&self.data[start..start + rect.width as usize * pixel]);
        }
        Pixels { width: rect.width, height: rect.height, data, ..*self }
    }

    /// 8-bit RGB, or RGBA where there is alpha: greys spread over three channels, 16-bit samples by
    /// their high byte, floats from 0 to 1 scaled (the rule of `crc32_rgb` in CLI.md).
    pub fn to_rgb8(&self) -> Vec<u8> {
        let size = self.sample.size();
        let byte = |sample: &[u8]| match self.sample {
            Sample::U8 => sample[0],
            Sample::U16 => sample[1],
            Sample::U32 => sample[3],
            Sample::F32 => {
                let value = f32::from_le_bytes([sample[0], sample[1], sample[2], sample[3]]);
                (value.clamp(0.0, 1.0) * 255.0).round() as u8
            }
        };
        let channels = self.channels as usize;
        let colours = channels - usize::from(self.alpha && channels > 1);
        let mut out = Vec::with_capacity(self.data.len() / size.max(1));
        for pixel in self.data.chunks_exact(size * channels.max(1)) {
            let at = |channel: usize| byte(&pixel[channel * size..]);
            let rgb = if colours >= 3 { [at(0), at(1), at(2)] } else { [at(0); 3] };
            out.extend_from_slice(&rgb);
            if self.alpha && channels > 1 {
                out.push(at(channels - 1));
            }
        }
        out
    }
}
