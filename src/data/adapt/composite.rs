//! The channels that the frames of a picture go through, laid over each other in their colours.

use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::content::array::Axis;
use crate::data::content::image::FrameChannel;
use crate::data::content::{Image, ImageInfo, Pixels, Rect, Sample};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

/// More channels than this are not laid over each other.
const MOST: u64 = 32;
/// Samples that a window is chosen by.
const SAMPLED: usize = 1 << 18;
/// Columns and rows of a frame that a window is chosen by, where it is larger.
const SEEN: u64 = 2048;
/// The share of samples that is black, and the share that is of full colour.
const ENDS: f64 = 0.002;
/// The colours of channels that have none, in their order.
const COLOURS: [[u8; 3]; 7] =
    [[255, 0, 0], [0, 255, 0], [0, 0, 255], [0, 255, 255], [255, 0, 255], [255, 255, 0], [255, 255, 255]];

/// A picture of red, green and blue, whose frames are those of another with its channels laid over each other: each
/// channel's samples are a share of its colour, and the shares add up.
pub struct Composite {
    image: Arc<dyn Image>,
    info: ImageInfo,
    channels: Vec<FrameChannel>,
    /// Frames from one channel to the next, and how many channels there are.
    step: u64,
    count: u64,
    windows: ChannelWindows,
}

/// What is black and what of full colour of channels of which the file does not say it, by their numbers: as it was chosen by
/// the first frame of each that was seen, so that all frames are comparable.
pub type ChannelWindows = Arc<Mutex<HashMap<usize, (f64, f64)>>>;

impl Composite {
    /// The axis of channels among those that the frames go through, where there are several.
    pub fn axis(info: &ImageInfo) -> Option<usize> {
        let is_channel = |(len, axis): &(u64, Axis)| {
            matches!(axis.name.as_str(), "channel" | "c" | "C") && (2..=MOST).contains(len)
        };
        info.frame_axes.iter().position(is_channel).filter(|_| info.channels == 1)
    }

    /// The channels of a picture as the file asks for them, with colours for those that have none; empty where its frames
    /// go through none.
    pub fn channels(info: &ImageInfo) -> Vec<FrameChannel> {
        let count = Self::axis(info).and_then(|at| info.frame_axes.get(at)).map_or(0, |(len, _)| *len);
        let given = |n: usize| info.frame_channels.get(n).cloned();
        let usual =
            |n: usize| FrameChannel { shown: true, name: format!("channel {n}"), ..FrameChannel::default() };
        let mut channels: Vec<FrameChannel> =
            (0..count as usize).map(|n| given(n).unwrap_or_else(|| usual(n))).collect();
        for (channel, colour) in channels.iter_mut().zip(COLOURS.iter().cycle()) {
            channel.colour.get_or_insert(*colour);
        }
        channels
    }

    /// Which channel a frame is; `None` where frames go through none.
    pub fn channel_of(info: &ImageInfo, frame: u64) -> Option<usize> {
        let at = Self::axis(info)?;
        let (count, _) = info.frame_axes.get(at)?;
        let step = info.frame_axes.iter().skip(at + 1).map(|(len, _)| *len).product::<u64>().max(1);
        usize::try_from(frame.checked_div(step)?.checked_rem(*count)?).ok()
    }

    /// The picture with these channels; windows that are chosen are kept in `windows`.
    ///
    /// # Errors
    /// `Unsupported` for a picture whose frames go through no channels.
    pub fn new(image: Arc<dyn Image>, channels: Vec<FrameChannel>, windows: ChannelWindows) -> Result<Self> {
        let none = || Error::unsupported("the frames of the picture go through no channels");
        let at = Self::axis(image.info()).ok_or_else(none)?;
        let axes = &image.info().frame_axes;
        let step = axes.iter().skip(at + 1).map(|(len, _)| *len).product::<u64>().max(1);
        let count = axes.get(at).map_or(1, |(len, _)| *len);
        let info = ImageInfo {
            channels: 3,
            bits: 8,
            sample: Sample::U8,
            alpha: false,
            window: None,
            scaling: None,
            profile: Arc::default(),
            ..image.info().clone()
        };
        Ok(Composite { image, info, channels, step, count, windows })
    }

    /// What is black and what of full colour of a channel, where the file does not say it: nearly all samples of this frame
    /// lie between.
    fn window(&self, task: &Task, channel: usize, frame: u64) -> Result<(f64, f64)> {
        if let Some(known) = self.windows.lock().get(&channel) {
            return Ok(*known);
        }
        let levels = &self.image.info().levels;
        let level = levels.len().saturating_sub(1);
        let (width, height) = levels.get(level).copied().unwrap_or((self.info.width, self.info.height));
        let (wide, high) = (width.min(SEEN), height.min(SEEN));
        let rect = Rect { x: (width - wide) / 2, y: (height - high) / 2, width: wide, height: high };
        let pixels = self.image.read(task, frame, level as u32, rect)?;
        let size = pixels.sample.size();
        let every = (pixels.data.len() / size / SAMPLED).max(1);
        let samples = pixels.data.chunks_exact(size).step_by(every);
        let mut values: Vec<f64> = samples
            .filter_map(|sample| pixels.sample.number(sample))
            .filter(|value| value.is_finite())
            .collect();
        values.sort_by(f64::total_cmp);
        let at = |share: f64| values.get((share * (values.len().saturating_sub(1)) as f64).round() as usize);
        let (low, high) = (at(ENDS).copied().unwrap_or(0.0), at(1.0 - ENDS).copied().unwrap_or(1.0));
        let found = if high > low { (low, high) } else { (low, low + 1.0) };
        self.windows.lock().insert(channel, found);
        Ok(found)
    }
}

impl Image for Composite {
    fn info(&self) -> &ImageInfo {
        &self.info
    }

    fn read(&self, task: &Task, frame: u64, level: u32, rect: Rect) -> Result<Pixels> {
        let first = frame - frame / self.step % self.count.max(1) * self.step;
        let mut sums: Vec<f32> = Vec::new();
        let mut sides = None;
        for (n, channel) in self.channels.iter().enumerate().filter(|(_, channel)| channel.shown) {
            let frame = first + n as u64 * self.step;
            let (low, high) = match channel.window {
                Some(window) => window,
                None => self.window(task, n, frame)?,
            };
            let pixels = self.image.read(task, frame, level, rect)?;
            let known = *sides.get_or_insert((pixels.width, pixels.height));
            if known != (pixels.width, pixels.height) || pixels.channels != 1 {
                return Err(Error::unsupported("channels of different sizes are not laid over each other"));
            }
            if sums.is_empty() {
                let count = limits::elements(&[pixels.width, pixels.height, 3])?;
                limits::check(count.saturating_mul(4), limits::CHUNK, "the composite")?;
                sums = vec![0.0; count as usize];
            }
            let colour = channel.colour.unwrap_or([255; 3]).map(f32::from);
            let scale = 1.0 / (high - low);
            let samples = pixels.data.chunks_exact(pixels.sample.size());
            for (place, sample) in sums.as_chunks_mut::<3>().0.iter_mut().zip(samples) {
                let value = pixels.sample.number(sample).unwrap_or(0.0);
                let share = ((value - low) * scale).clamp(0.0, 1.0) as f32;
                for (sum, part) in place.iter_mut().zip(colour) {
                    *sum += share * part;
                }
            }
        }
        let (width, height) = match sides {
            Some(sides) => sides,
            // No channel is shown: all is black.
            None => {
                let whole = self.info.levels.get(level as usize).copied();
                let (width, height) = whole.unwrap_or((self.info.width, self.info.height));
                let rect = rect.cut(width, height);
                sums = vec![
                    0.0;
                    limits::check(
                        limits::elements(&[rect.width, rect.height, 3])?,
                        limits::CHUNK / 4,
                        "the composite",
                    )?
                ];
                (rect.width, rect.height)
            }
        };
        let data = sums.iter().map(|sum| sum.round().min(255.0) as u8).collect();
        Ok(Pixels { width, height, channels: 3, sample: Sample::U8, alpha: false, data })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Stack(ImageInfo);

    impl Image for Stack {
        fn info(&self) -> &ImageInfo {
            &self.0
        }

        /// Two pixels: the number of the frame, and ten more.
        fn read(&self, _task: &Task, frame: u64, _level: u32, _rect: Rect) -> Result<Pixels> {
            let data = [frame as u16, frame as u16 + 10].iter().flat_map(|v| v.to_le_bytes()).collect();
            Ok(Pixels { width: 2, height: 1, channels: 1, sample: Sample::U16, alpha: false, data })
        }
    }

    #[test]
    fn channels_add_up_in_their_colours() {
        let named = |name: &str| Axis { name: name.to_owned(), ..Axis::default() };
        let info = ImageInfo {
            width: 2,
            height: 1,
            channels: 1,
            bits: 16,
            sample: Sample::U16,
            frames: 12,
            frame_axes: vec![(2, named("time")), (3, named("channel")), (2, named("z"))],
            levels: vec![(2, 1)],
            ..ImageInfo::default()
        };
        let mut channels = Composite::channels(&info);
        assert_eq!(channels.len(), 3);
        // Two planes of each channel, six frames a point in time.
        assert_eq!([0, 1, 2, 5, 6, 9].map(|n| Composite::channel_of(&info, n)), [0, 0, 1, 2, 0, 1].map(Some));
        assert_eq!(channels[1].colour, Some([0, 255, 0]));
        channels[1].shown = false;
        channels[2].window = Some((0.0, 22.0));
        let task = Task::new();
        let image = Arc::new(Stack(info.clone()));
        let seen = Composite::new(image, channels, ChannelWindows::default()).unwrap();
        // The second time, any channel, the second plane: frames 7, 9 and 11.
        let pixels = seen.read(&task, 9, 0, Rect::all(2, 1)).unwrap();
        assert_eq!((pixels.channels, pixels.sample), (3, Sample::U8));
        // Frame 7 is stretched over its own samples in red; frame 11 is 11/22 and 21/22 of blue.
        assert_eq!(pixels.data, [0, 0, 128, 255, 0, 243]);
        assert!(Composite::channels(&ImageInfo { channels: 3, ..info }).is_empty());
    }
}
