//! Images: pixels by frame, pyramid level and rectangle.

use super::array::{Axis, Scaling};
use crate::bytes::error::Result;
use crate::bytes::task::Task;
use crate::data::dtype::DType;
use std::sync::Arc;

/// An image, perhaps of several frames and resolutions.
pub trait Image: Send + Sync {
    /// What is known without decoding pixels.
    fn info(&self) -> &ImageInfo;

    /// The pixels of `rect` (cut to the level) of one frame at one level (0 is full resolution,
    /// each further one about half of the one before), as stored: samples interleaved, rows top-down.
    /// Palettes are applied; alpha, if there is any, is the last channel, not premultiplied.
    fn read(&self, task: &Task, frame: u64, level: u32, rect: Rect) -> Result<Pixels>;

    /// All of a frame with fewer pixels, but about `width` × `height` at least, where its decoder makes that for less
    /// work than all pixels; `None` where it does not. For small pictures: how pixels are put together is the decoder's.
    fn reduced(&self, _task: &Task, _frame: u64, _width: u64, _height: u64) -> Result<Option<Pixels>> {
        Ok(None)
    }

    /// The same pixels with the samples that the file holds — palette indices, inks, white as zero, 3-bit
    /// numbers — where `read` makes other ones of them to be seen; `None` where they are the same.
    fn stored(&self, _task: &Task, _frame: u64, _rect: Rect) -> Result<Option<Pixels>> {
        Ok(None)
    }

    /// How many rows of a frame from row `y` on are known, without decoding, to be equal because the file holds
    /// nothing of them: a pass over a large picture with few tiles need not go through what is not there. Zero
    /// where something is stored, or where it is not known. May read the index of tiles.
    fn unstored_rows(&self, _task: &Task, _frame: u64, _y: u64) -> Result<u64> {
        Ok(0)
    }
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
    /// How long each frame stands when it is played, in milliseconds, as the file says it; 0 where it leaves that open.
    /// Empty where frames have no times, and shorter than they are many where these are too many.
    pub frame_times: Vec<u32>,
    /// The axes that the frames go through, slowest first, each with its length: their product is the number of
    /// frames. Empty where frames are only counted.
    pub frame_axes: Vec<(u64, Axis)>,
    /// How the channels are to be seen that frames go through, in their order; empty where the file does not say it.
    pub frame_channels: Vec<FrameChannel>,
    /// What rows and columns stand for: names, units, the sizes of pixels as steps.
    pub sides: [Axis; 2],
    /// (width, height) of each level; the first is full resolution.
    pub levels: Vec<(u64, u64)>,
    /// How the stored rows and columns are to be turned before they are shown, where the file says that: 1 to 8 as
    /// the tag *Orientation* of TIFF 6.0 and EXIF 2.32 (4.6.4) has it. Pixels are delivered as they are stored.
    pub orientation: Option<u32>,
    /// What stored samples mean, where that is another number: the rescale of a modality, values that mean *missing*.
    pub scaling: Option<Scaling>,
    /// The samples, as they are delivered, that the file asks to be seen as black and as white.
    pub window: Option<(f64, f64)>,
    /// Columns and rows of the parts of which the full resolution is stored, each of which is read without the others:
    /// tiles and strips of a TIFF. `None` where the file has no parts or does not tell.
    pub chunk: Option<(u64, u64)>,
    /// Whether the file has the samples of each channel apart, one plane after the other: so they are in its checksum,
    /// whichever way they are delivered.
    pub planar: bool,
    /// What its colours are, as an ICC profile; empty where the file has none. Pixels are delivered as they are stored.
    pub profile: Arc<[u8]>,
    /// What is known of it as a video.
    pub video: Option<Video>,
    /// Further lines for the inspector: colour type, interlace, EXIF.
    pub details: Vec<(String, String)>,
}

/// How one of the channels that frames go through is to be seen beside the others.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FrameChannel {
    /// What it is called.
    pub name: String,
    /// Red, green and blue of its largest samples; `None` where the file leaves it open.
    pub colour: Option<[u8; 3]>,
    /// The samples that are black and of full colour; `None` where the file leaves it open.
    pub window: Option<(f64, f64)>,
    /// Whether it is seen at first.
    pub shown: bool,
}

/// What is known of a picture of many frames that is a video.
#[derive(Clone, Debug, Default)]
pub struct Video {
    /// How frames are coded: `h264`, `vp9`.
    pub codec: String,
    /// Frames a second, on average.
    pub fps: Option<f64>,
    /// How long it is.
    pub seconds: Option<f64>,
    /// The frames that can be decoded alone, in the order in which they are shown.
    pub keys: Arc<[u64]>,
    /// When each frame is shown, in seconds.
    pub times: Arc<[f64]>,
    /// Whether frames can be decoded here: that takes a program which may not be installed.
    pub can_decode: bool,
}

/// What one of the eight orientations means, with its number.
pub fn orientation(value: u32) -> String {
    let word = match value {
        1 => "as stored",
        2 => "mirrored left to right",
        3 => "rotated by 180°",
        4 => "mirrored top to bottom",
        5 => "mirrored left to right, then rotated by 270° clockwise",
        6 => "rotated by 90° clockwise",
        7 => "mirrored left to right, then rotated by 90° clockwise",
        8 => "rotated by 270° clockwise",
        _ => "not one of the eight",
    };
    format!("{value}: {word}")
}

/// The type of delivered samples, little-endian.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Sample {
    #[default]
    U8,
    U16,
    U32,
    U64,
    I8,
    I16,
    I32,
    I64,
    F16,
    F32,
    F64,
    /// Complex of two f32.
    C64,
    /// Complex of two f64.
    C128,
}

impl Sample {
    /// Bytes of one sample.
    pub fn size(self) -> usize {
        match self {
            Sample::U8 | Sample::I8 => 1,
            Sample::U16 | Sample::I16 | Sample::F16 => 2,
            Sample::U32 | Sample::I32 | Sample::F32 => 4,
            Sample::U64 | Sample::I64 | Sample::F64 | Sample::C64 => 8,
            Sample::C128 => 16,
        }
    }

    /// Whether samples are floats (the JSON words are `uint` and `float`).
    pub fn is_float(self) -> bool {
        matches!(self, Sample::F16 | Sample::F32 | Sample::F64 | Sample::C64 | Sample::C128)
    }

    /// The same type as an array has it.
    pub fn dtype(self) -> DType {
        match self {
            Sample::U8 => DType::U8,
            Sample::U16 => DType::U16,
            Sample::U32 => DType::U32,
            Sample::U64 => DType::U64,
            Sample::I8 => DType::I8,
            Sample::I16 => DType::I16,
            Sample::I32 => DType::I32,
            Sample::I64 => DType::I64,
            Sample::F16 => DType::F16,
            Sample::F32 => DType::F32,
            Sample::F64 => DType::F64,
            Sample::C64 => DType::C64,
            Sample::C128 => DType::C128,
        }
    }

    /// The number that a sample's bytes hold; the absolute value of a complex one.
    pub fn number(self, bytes: &[u8]) -> Option<f64> {
        let f32_at = |at: usize| Some(f64::from(f32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?)));
        let f64_at = |at: usize| Some(f64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        Some(match self {
            Sample::U8 => f64::from(*bytes.first()?),
            Sample::I8 => f64::from(*bytes.first()? as i8),
            Sample::U16 => f64::from(u16::from_le_bytes(bytes.try_into().ok()?)),
            Sample::I16 => f64::from(i16::from_le_bytes(bytes.try_into().ok()?)),
            Sample::U32 => f64::from(u32::from_le_bytes(bytes.try_into().ok()?)),
            Sample::I32 => f64::from(i32::from_le_bytes(bytes.try_into().ok()?)),
            Sample::U64 => u64::from_le_bytes(bytes.try_into().ok()?) as f64,
            Sample::I64 => i64::from_le_bytes(bytes.try_into().ok()?) as f64,
            Sample::F16 => half::f16::from_le_bytes(bytes.try_into().ok()?).to_f64(),
            Sample::F32 => f32_at(0)?,
            Sample::F64 => f64_at(0)?,
            Sample::C64 => f32_at(0)?.hypot(f32_at(4)?),
            Sample::C128 => f64_at(0)?.hypot(f64_at(8)?),
        })
    }

    /// The sample as a byte: integers by their high byte (signed ones with zero in the middle), floats
    /// from 0 to 1 scaled.
    fn byte(self, bytes: &[u8]) -> u8 {
        let last = bytes.last().copied().unwrap_or(0);
        match self {
            Sample::U8 | Sample::U16 | Sample::U32 | Sample::U64 => last,
            Sample::I8 | Sample::I16 | Sample::I32 | Sample::I64 => last ^ 0x80,
            _ => (self.number(bytes).unwrap_or(0.0).clamp(0.0, 1.0) * 255.0).round() as u8,
        }
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
        self.sample.number(bytes)
    }

    /// The part of these pixels in `rect`.
    pub fn crop(&self, rect: Rect) -> Pixels {
        let rect = rect.cut(self.width, self.height);
        let pixel = self.channels as usize * self.sample.size();
        let row = self.width as usize * pixel;
        let mut data = Vec::with_capacity((rect.width * rect.height) as usize * pixel);
        for y in rect.y..rect.y + rect.height {
            let start = y as usize * row + rect.x as usize * pixel;
            data.extend_from_slice(
                self.data.get(start..start + rect.width as usize * pixel).unwrap_or_default(),
            );
        }
        Pixels { width: rect.width, height: rect.height, data, ..*self }
    }

    /// 8-bit RGB, or RGBA where there is alpha: greys spread over three channels, 16-bit samples by
    /// their high byte, floats from 0 to 1 scaled (the rule of `crc32_rgb` in CLI.md). The first of two channels, and
    /// the first three of more than four, are taken for the colours.
    pub fn to_rgb8(&self) -> Vec<u8> {
        let size = self.sample.size();
        let channels = self.channels as usize;
        let colours = channels - usize::from(self.alpha && channels > 1);
        let mut out = Vec::with_capacity(self.data.len() / size.max(1));
        for pixel in self.data.chunks_exact(size * channels.max(1)) {
            let sample = |channel: usize| pixel.get(channel * size..channel * size + size);
            let at = |channel: usize| sample(channel).map_or(0, |sample| self.sample.byte(sample));
            let rgb = if colours >= 3 { [at(0), at(1), at(2)] } else { [at(0); 3] };
            out.extend_from_slice(&rgb);
            if self.alpha && channels > 1 {
                out.push(at(channels - 1));
            }
        }
        out
    }
}
