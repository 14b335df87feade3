//! The frames of a track as a picture: which packet each is in, and how it is decoded from the key frame before it.

use crate::bytes::cache::Cache;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::image::Video;
use crate::data::content::{Image, ImageInfo, Pixels, Rect, Sample};
use crate::engines::ffmpeg::{self, Coding, Decoder};
use parking_lot::Mutex;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// Bytes of decoded frames that are kept.
const KEPT: usize = 256 << 20;
/// From so many starts on one decoder is started before it is needed: a picture of a gallery needs one alone.
const JUMPS: u32 = 2;
/// For so long it waits: who looks at one place needs none.
const WAITS: Duration = Duration::from_secs(30);
/// Packets of one track.
pub(super) const PACKETS: usize = 8_000_000;

/// A coded packet.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Packet {
    /// Where it lies.
    pub(super) place: Range<u64>,
    /// When it is shown, in the time of the track.
    pub(super) time: i64,
    /// Whether it can be decoded alone.
    pub(super) key: bool,
    /// Whether it is never shown.
    pub(super) hidden: bool,
}

/// A track of pictures.
#[derive(Clone, Debug, Default)]
pub(super) struct Track {
    /// What its codec is called: `h264`, `vp9`.
    pub(super) codec: String,
    /// What the decoder has to know; `None` where no decoder is known.
    pub(super) coding: Option<Coding>,
    pub(super) packets: Vec<Packet>,
    /// Frames a second, where the container states them.
    pub(super) fps: Option<f64>,
    /// Further bytes of packets that lie in several places, by the number of the packet.
    pub(super) more: std::collections::HashMap<usize, Vec<Range<u64>>>,
    /// What stands before the bytes of each packet and is not in the file.
    pub(super) before: Vec<u8>,
    /// Parts of a second in which times count.
    pub(super) timescale: f64,
    /// As coded.
    pub(super) width: u64,
    pub(super) height: u64,
    /// The part that is shown, where it is not all.
    pub(super) shown: Option<Rect>,
    /// Bits of a sample.
    pub(super) bits: u32,
    /// Seconds, where the file says them.
    pub(super) seconds: Option<f64>,
    /// How it is turned to be shown: quarters clockwise.
    pub(super) quarters: u8,
    /// What its colours are, as an ICC profile.
    pub(super) profile: Arc<[u8]>,
    pub(super) details: Vec<(String, String)>,
}

/// The picture of a track.
pub(super) struct Frames {
    source: Source,
    track: Track,
    info: ImageInfo,
    /// The packets by the order in which they are shown.
    shown: Vec<u32>,
    /// The place in that order of each packet.
    rank: Vec<u32>,
    kept: Cache<u64, Arc<Pixels>>,
    running: Mutex<Option<Running>>,
    /// Decoders that were begun.
    begun: AtomicU32,
    spare: Arc<Mutex<SpareDecoder>>,
}

/// A decoder that is started before it is needed.
#[derive(Default)]
enum SpareDecoder {
    #[default]
    None,
    Starting,
    /// It waits for its first packet; whoever takes it lets go of the sender.
    Ready(Decoder, Sender<()>),
}

impl SpareDecoder {
    /// Takes the decoder, where it is ready.
    fn take(&mut self) -> Option<Decoder> {
        match std::mem::take(self) {
            SpareDecoder::Ready(decoder, held) => {
                drop(held);
                Some(decoder)
            }
            other => {
                *self = other;
                None
            }
        }
    }
}

/// A decoder that stands before a frame.
struct Running {
    decoder: Decoder,
    /// The frame that comes out next.
    next: u64,
    /// The packet that goes in next.
    packet: usize,
}

impl Frames {
    pub(super) fn new(source: &Source, track: Track) -> Self {
        let mut shown: Vec<u32> = (0..track.packets.len() as u32)
            .filter(|n| !track.packets.get(*n as usize).is_none_or(|p| p.hidden))
            .collect();
        let time = |n: &u32| track.packets.get(*n as usize).map_or(0, |packet| packet.time);
        shown.sort_by_key(time);
        let mut rank = vec![u32::MAX; track.packets.len()];
        for (n, packet) in shown.iter().enumerate() {
            if let Some(place) = rank.get_mut(*packet as usize) {
                *place = n as u32;
            }
        }
        let scale = if track.timescale > 0.0 { track.timescale } else { 1.0 };
        let times: Vec<f64> = shown.iter().map(|n| time(n) as f64 / scale).collect();
        let is_key = |n: &u32| track.packets.get(*n as usize).is_some_and(|packet| packet.key);
        let keys: Vec<u64> =
            shown.iter().enumerate().filter(|(_, n)| is_key(n)).map(|(n, _)| n as u64).collect();
        let span = times.last().zip(times.first()).map(|(last, first)| last - first);
        let counted = || span.filter(|span| *span > 0.0).map(|span| (times.len() - 1) as f64 / span);
        let fps = track.fps.or_else(counted);
        let fps = fps.or_else(|| track.seconds.filter(|s| *s > 0.0).map(|s| times.len() as f64 / s));
        let seconds = track.seconds.or_else(|| span.map(|span| span + fps.map_or(0.0, |fps| 1.0 / fps)));
        let frame_times = times.windows(2).map(|pair| match *pair {
            [a, b] => ((b - a) * 1_000.0).round().clamp(0.0, 1e6) as u32,
            _ => 0,
        });
        let mut frame_times: Vec<u32> = frame_times.take(1 << 20).collect();
        frame_times.extend(fps.map(|fps| (1_000.0 / fps).round() as u32));
        let deep = track.bits > 8;
        let video = Video {
            codec: track.codec.clone(),
            fps,
            seconds,
            keys: keys.into(),
            times: times.into(),
            can_decode: track.coding.is_some() && ffmpeg::is_there(),
        };
        let shown_part = track.shown.map(|part| part.cut(track.width, track.height));
        let shown_part = shown_part.filter(|part| part.width > 0 && part.height > 0);
        let (width, height) =
            shown_part.map_or((track.width, track.height), |part| (part.width, part.height));
        let info = ImageInfo {
            width,
            height,
            channels: 3,
            bits: track.bits.max(8),
            sample: if deep { Sample::U16 } else { Sample::U8 },
            frames: shown.len() as u64,
            frame_times,
            levels: vec![(width, height)],
            orientation: match track.quarters {
                1 => Some(6),
                2 => Some(3),
                3 => Some(8),
                _ => None,
            },
            profile: track.profile.clone(),
            details: track.details.clone(),
            video: Some(video),
            ..ImageInfo::default()
        };
        Frames {
            source: source.clone(),
            track,
            info,
            shown,
            rank,
            kept: Cache::with_last(KEPT),
            running: Mutex::new(None),
            begun: AtomicU32::new(0),
            spare: Arc::default(),
        }
    }

    /// The packet from which a frame is decoded: the last key at or before its packet, whose frame is not shown after it.
    fn key_before(&self, frame: u64) -> usize {
        let packet =
            usize::try_from(frame).ok().and_then(|n| self.shown.get(n)).copied().unwrap_or(0) as usize;
        let is_start = |n: &usize| {
            self.track.packets.get(*n).is_some_and(|packet| packet.key)
                && self.rank.get(*n).is_some_and(|rank| u64::from(*rank) <= frame)
        };
        (0..=packet).rev().find(is_start).unwrap_or(0)
    }

    /// The bytes of a packet as the decoder takes them.
    fn data(&self, task: &Task, n: usize) -> Result<Vec<u8>> {
        let Some(packet) = self.track.packets.get(n) else { return Ok(Vec::new()) };
        let more = self.track.more.get(&n).map_or(&[][..], Vec::as_slice);
        let mut data = self.track.before.clone();
        for place in std::iter::once(&packet.place).chain(more) {
            limits::check(place.end.saturating_sub(place.start), limits::CHUNK, "a packet of video")?;
            data.extend_from_slice(&self.source.read(task, place.clone())?);
        }
        Ok(data)
    }

    fn decode(&self, task: &Task, frame: u64) -> Result<Arc<Pixels>> {
        let coding = self.track.coding.as_ref().ok_or_else(|| {
            Error::unsupported(format!("video coded as {}, which is not decoded", self.track.codec))
        })?;
        super::check_size(self.track.width, self.track.height)?;
        let mut running = self.running.lock();
        task.check()?;
        let key = self.key_before(frame);
        // A decoder that stands before the frame goes on, unless a key frame lies between.
        let goes_on = |running: &Running| running.next <= frame && running.packet >= key;
        let (now, pixels) = match running.take().filter(goes_on) {
            Some(running) => self.until(task, running, frame)?,
            None => self.jumped(task, coding, key, frame)?,
        };
        *running = Some(now);
        Ok(pixels)
    }

    /// Decodes a frame from the key packet before it, by a decoder that waits for it or by a new one.
    fn jumped(&self, task: &Task, coding: &Coding, key: usize, frame: u64) -> Result<(Running, Arc<Pixels>)> {
        let spare = self.spare.lock().take();
        let waited = spare.is_some();
        let mut found = self.start(coding, key, spare).and_then(|running| self.until(task, running, frame));
        // One that waited may have been ended by somebody since: that says nothing about the video.
        if waited && found.as_ref().is_err_and(|error| !error.is_cancelled()) {
            found = self.start(coding, key, None).and_then(|running| self.until(task, running, frame));
        }
        self.prepare();
        found
    }

    /// Decodes up to a frame, and keeps those before it.
    fn until(&self, task: &Task, mut now: Running, frame: u64) -> Result<(Running, Arc<Pixels>)> {
        loop {
            let pixels = self.next(task, &mut now)?;
            let Some(pixels) = pixels else {
                let what = format!("the decoder gives no frame {frame}; the video may be damaged or cut off");
                return Err(Error::malformed(what));
            };
            let number = now.next;
            now.next += 1;
            let pixels = Arc::new(pixels);
            self.kept.put(number, pixels.clone(), pixels.data.len());
            if number == frame {
                return Ok((now, pixels));
            }
        }
    }

    /// The decoder's pixels, and the bytes of a frame of them.
    fn layout(&self) -> Result<(&'static str, usize)> {
        let (layout, sample) = match self.info.sample {
            Sample::U8 => ("rgb24", 1),
            _ => ("rgb48le", 2),
        };
        let size = limits::bytes(&[self.track.width, self.track.height, 3], sample)?;
        Ok((layout, limits::check(size, limits::CHUNK, "a frame")?))
    }

    /// Starts a decoder for the next jump where there were several: most of the time until a key frame is shown is the
    /// program's start. It ends with these frames, and where nobody jumps for a while.
    fn prepare(&self) {
        let Ok((layout, size)) = self.layout() else { return };
        {
            let mut spare = self.spare.lock();
            if self.begun.load(Ordering::Relaxed) < JUMPS || !matches!(*spare, SpareDecoder::None) {
                return;
            }
            *spare = SpareDecoder::Starting;
        }
        let spare = Arc::downgrade(&self.spare);
        let wait = move || {
            let started = Decoder::start(layout, size);
            let (held, taken) = channel();
            let put =
                |now: SpareDecoder| spare.upgrade().map(|spare| std::mem::replace(&mut *spare.lock(), now));
            drop(put(started.map_or(SpareDecoder::None, |decoder| SpareDecoder::Ready(decoder, held))));
            if taken.recv_timeout(WAITS) == Err(RecvTimeoutError::Timeout) {
                drop(put(SpareDecoder::None));
            }
        };
        if std::thread::Builder::new().name("spare decoder".to_owned()).spawn(wait).is_err() {
            *self.spare.lock() = SpareDecoder::None;
        }
    }

    /// Begins at a packet, with a decoder that waited or a new one.
    fn start(&self, coding: &Coding, key: usize, spare: Option<Decoder>) -> Result<Running> {
        let (layout, size) = self.layout()?;
        let mut decoder = spare.map_or_else(|| Decoder::start(layout, size), Ok)?;
        self.begun.fetch_add(1, Ordering::Relaxed);
        decoder.put(ffmpeg::header(coding));
        let next = self.rank.get(key).copied().unwrap_or(0);
        Ok(Running { decoder, next: u64::from(if next == u32::MAX { 0 } else { next }), packet: key })
    }

    /// The process of the decoder that waits.
    #[cfg(test)]
    pub(super) fn waiting(&self) -> Option<u32> {
        match &*self.spare.lock() {
            SpareDecoder::Ready(decoder, _) => Some(decoder.process()),
            SpareDecoder::None | SpareDecoder::Starting => None,
        }
    }

    /// The process of the decoder that stands before a frame.
    #[cfg(test)]
    pub(super) fn running(&self) -> Option<u32> {
        self.running.lock().as_ref().map(|running| running.decoder.process())
    }

    fn next(&self, task: &Task, running: &mut Running) -> Result<Option<Pixels>> {
        let Running { decoder, packet, next } = running;
        let first = *next;
        let mut more = || -> Result<Option<Vec<u8>>> {
            loop {
                let n = *packet;
                let Some(known) = self.track.packets.get(n) else { return Ok(None) };
                *packet += 1;
                let shown = self.rank.get(n).copied().unwrap_or(u32::MAX);
                // Frames that are shown before the key they follow refer to what was not decoded.
                if !known.hidden && u64::from(shown) < first {
                    continue;
                }
                let data = self.data(task, n)?;
                let shown = if known.hidden { first } else { u64::from(shown) };
                return Ok(Some(ffmpeg::packet(&data, shown, known.key)));
            }
        };
        let Some(data) = decoder.frame(task, &mut more)? else { return Ok(None) };
        let (width, height) = (self.track.width, self.track.height);
        let pixels = Pixels { width, height, channels: 3, sample: self.info.sample, alpha: false, data };
        Ok(Some(match self.track.shown {
            Some(part) if (self.info.width, self.info.height) != (width, height) => pixels.crop(part),
            _ => pixels,
        }))
    }
}

impl Image for Frames {
    fn info(&self) -> &ImageInfo {
        &self.info
    }

    fn read(&self, task: &Task, frame: u64, level: u32, rect: Rect) -> Result<Pixels> {
        task.check()?;
        if self.info.frames == 0 {
            return Err(Error::malformed("where the frames of the video lie cannot be read"));
        }
        if frame >= self.info.frames || level > 0 {
            return Err(Error::bug(format!("frame {frame} at level {level} of a video was asked for")));
        }
        let pixels = match self.kept.get(&frame) {
            Some(pixels) => pixels,
            None => self.decode(task, frame)?,
        };
        let all = rect.cut(pixels.width, pixels.height) == Rect::all(pixels.width, pixels.height);
        Ok(if all { (*pixels).clone() } else { pixels.crop(rect) })
    }
}
