//! The samples of a sound that is decoded by packets, in blocks.

use super::stream::Stream;
use crate::bytes::cache::Cache;
use crate::bytes::error::{Defect, Error, Result};
use crate::bytes::guard::catch_decoder_panic;
use crate::bytes::source::Source;
use crate::bytes::strides::{self, Axis};
use crate::bytes::task::Task;
use crate::data::content::array::{Array, ArrayFacts};
use crate::data::dtype::DType;
use crate::data::region::{Region, Span};
use parking_lot::Mutex;
use rayon::prelude::*;
use std::sync::{Arc, OnceLock};
use symphonia::core::formats::{SeekMode, SeekTo};
use symphonia::core::units::Timestamp;

/// So many frames are a block.
const BLOCK: u64 = 1 << 16;
/// Decoders need so many packets after a seek before what they give is what they would have given without it.
const WARM: usize = 12;
/// The same in frames, at least.
const BEFORE: u64 = 1 << 15;
/// Frames to which nothing is sought: they are decoded from the start.
const FAR: u64 = 4 * BEFORE;
/// Decoders of one sound that wait where they stand.
const WAITING: usize = 8;

/// Bytes of decoded samples that are kept of one sound.
const KEPT: usize = 256 << 20;

/// What of a sound its header tells.
pub(super) struct Told {
    /// Which track of sound.
    pub(super) nth: usize,
    pub(super) dtype: DType,
    /// Frames and channels.
    pub(super) shape: Vec<u64>,
    /// Bits of a sample at full scale.
    pub(super) full: u32,
    /// Whether packets tell which frame they begin with.
    pub(super) counts: bool,
    /// Whether a frame is found by that without what lies before it.
    pub(super) seeks: bool,
    /// Whether packets are decoded each without those before it.
    pub(super) is_whole: bool,
    pub(super) facts: ArrayFacts,
}

/// A sound that is decoded by packets.
pub(super) struct Packets {
    source: Source,
    told: Told,
    /// Decoded samples, by the number of the block.
    blocks: Cache<u64, Arc<Vec<u8>>>,
    /// See `first`; once somebody sought.
    start: OnceLock<(Option<i64>, u64)>,
    /// Those that wait, the oldest first.
    streams: Mutex<Vec<Stream>>,
    /// Held by who decodes a sound that is not sought: another one would go through the same packets.
    turn: Mutex<()>,
}

impl Packets {
    pub(super) fn new(source: &Source, told: Told) -> Self {
        Packets {
            source: source.clone(),
            told,
            blocks: Cache::passing(KEPT),
            start: OnceLock::new(),
            streams: Mutex::default(),
            turn: Mutex::default(),
        }
    }

    fn channels(&self) -> usize {
        self.told.shape.get(1).copied().unwrap_or(1) as usize
    }

    /// How many frames a stream has left.
    fn left(&self, stream: &Stream) -> u64 {
        stream.left.len() as u64 / (self.channels() as u64 * self.told.dtype.size()).max(1)
    }

    fn frames(&self) -> u64 {
        self.told.shape.first().copied().unwrap_or(0)
    }

    /// One block, decoded.
    fn block(&self, task: &Task, number: u64) -> Result<Arc<Vec<u8>>> {
        if let Some(block) = self.blocks.get(&number) {
            return Ok(block);
        }
        let turn = (!self.told.seeks).then(|| self.turn.lock());
        if let Some(block) = self.blocks.peek(&number).filter(|_| turn.is_some()) {
            return Ok(block);
        }
        let from = number * BLOCK;
        let until = (from + BLOCK).min(self.frames());
        // A stream that failed is not used again.
        let mut stream = match self.waiting(from) {
            Some(stream) => stream,
            None => catch_decoder_panic("the sound", || self.sought(task, from))?,
        };
        let block =
            Arc::new(catch_decoder_panic("the sound", || self.decoded(task, &mut stream, from, until))?);
        self.blocks.put(number, block.clone(), block.len());
        let mut streams = self.streams.lock();
        if streams.len() >= WAITING {
            streams.remove(0);
        }
        streams.push(stream);
        Ok(block)
    }

    /// The stream that stands before a frame, if one does.
    fn waiting(&self, from: u64) -> Option<Stream> {
        let mut streams = self.streams.lock();
        let stands = |stream: &Stream| stream.at.checked_sub(self.left(stream)) == Some(from);
        let at = streams.iter().position(stands)?;
        Some(streams.remove(at))
    }

    /// A stream that stands at a frame at or before `from`.
    fn sought(&self, task: &Task, from: u64) -> Result<Stream> {
        let mut stream = Stream::open(task, &self.source, self.told.nth)?.0;
        if !self.told.seeks || from < FAR {
            return Ok(stream);
        }
        let (origin, longest) = match self.start.get() {
            Some(start) => *start,
            None => {
                let found = self.first(task, &mut stream)?;
                *self.start.get_or_init(|| found)
            }
        };
        // Where packets stand alone one before is enough; where it is longer than those at the start, a second try.
        let tries: &[(usize, u64)] =
            if self.told.is_whole { &[(1, 2 * longest), (1, FAR)] } else { &[(WARM, BEFORE)] };
        for (packets, before) in tries {
            let Some(origin) = origin else { break };
            let to = from.saturating_sub(*before);
            if self.moves(task, &mut stream, origin, from, to, *packets)? {
                return Ok(stream);
            }
        }
        Ok(Stream::open(task, &self.source, self.told.nth)?.0)
    }

    /// Which time stamp frame 0 has, and the frames of the longest packet, as the first packets tell.
    fn first(&self, task: &Task, stream: &mut Stream) -> Result<(Option<i64>, u64)> {
        let (mut at, mut origin, mut longest) = (0u64, None, 1);
        let (mut samples, mut floats) = (Vec::new(), Vec::new());
        for _ in 0..WARM {
            let Some(packet) = stream.decode(task, &mut samples, Some(&mut floats))? else { break };
            if at > 0 {
                origin = i64::try_from(at).ok().map(|at| packet.pts.get().saturating_sub(at));
            }
            let some = (floats.len() / self.channels().max(1)) as u64;
            (at, longest) = (at + some, longest.max(some));
        }
        Ok((origin, longest))
    }

    /// Puts a stream some packets behind `to`; whether it stands at or before `from` then.
    fn moves(
        &self,
        task: &Task,
        stream: &mut Stream,
        origin: i64,
        from: u64,
        to: u64,
        packets: usize,
    ) -> Result<bool> {
        let wanted = i64::try_from(to).unwrap_or(0).saturating_add(origin);
        let place = SeekTo::Timestamp { ts: Timestamp::new(wanted), track_id: stream.track };
        if stream.format.seek(SeekMode::Accurate, place).is_err() {
            return Ok(false);
        }
        stream.decoder.reset();
        let (mut samples, mut floats) = (Vec::new(), Vec::new());
        for _ in 0..packets {
            let Some(packet) = stream.decode(task, &mut samples, Some(&mut floats))? else {
                return Ok(false);
            };
            let here = packet.pts.get().saturating_sub(origin);
            let decoded = (floats.len() / self.channels().max(1)) as u64;
            stream.at = u64::try_from(here).unwrap_or(0).saturating_add(decoded);
            if stream.at > from - (from - to) / 2 {
                break;
            }
        }
        Ok(stream.at <= from)
    }

    /// The frames from `from` to `until`, from a stream that stands before them.
    fn decoded(&self, task: &Task, stream: &mut Stream, from: u64, until: u64) -> Result<Vec<u8>> {
        let channels = self.channels().max(1);
        let size = self.told.dtype.size() as usize;
        let whole = (until - from) as usize * channels * size;
        let mut out = std::mem::take(&mut stream.left);
        let (mut samples, mut floats) = (Vec::new(), Vec::new());
        while stream.at < until {
            let is_float = self.told.dtype.is_float();
            if stream.decode(task, &mut samples, is_float.then_some(&mut floats))?.is_none() {
                // Where only about is known how long it is, what lacks at the end is silence.
                let lacks = until.saturating_sub(stream.at);
                let rate = self.told.facts.sound.as_ref().map_or(0, |sound| u64::from(sound.rate));
                if !self.told.counts && lacks <= rate / 2 && until == self.frames() {
                    out.resize(whole.max(out.len()), 0);
                    break;
                }
                let what = format!("the sound ends after {} of {} frames", stream.at, self.frames());
                return Err(Error::malformed(what).with_defect(Defect::Truncated));
            }
            if stream.decoder.last_decoded().spec().channels().count() != channels {
                return Err(Error::malformed("the number of channels changes within the sound"));
            }
            let some = if is_float { floats.len() } else { samples.len() } / channels;
            let skipped = from.saturating_sub(stream.at).min(some as u64) as usize;
            let part = skipped * channels..some * channels;
            for sample in floats.get(part.clone()).filter(|_| is_float).unwrap_or_default() {
                out.extend_from_slice(&sample.to_le_bytes());
            }
            for sample in samples.get(part).filter(|_| !is_float).unwrap_or_default() {
                // Symphonia's integers lie at the upper end of 32 bits.
                let value: i32 = sample >> (32 - self.told.full.clamp(1, 32));
                out.extend_from_slice(value.to_le_bytes().get(..size).unwrap_or_default());
            }
            stream.at += some as u64;
        }
        stream.left = out.split_off(whole.min(out.len()));
        Ok(out)
    }

    /// Copies frames of a block.
    fn put(&self, block: &[u8], frames: Span, channels: Span, out: &mut [u8]) -> Result<()> {
        let (size, all) = (self.told.dtype.size(), self.channels() as u64);
        let end = (frames.index(frames.count.saturating_sub(1)) + 1) * all * size;
        if (block.len() as u64) < end {
            return Err(Error::malformed("the sound ends early"));
        }
        let from = (frames.start * all + channels.start) * size;
        let axes = strides::joined([
            Axis { count: frames.count, from: frames.step * all * size, to: channels.count * size },
            Axis { count: channels.count, from: channels.step * size, to: size },
        ]);
        strides::copy(block.get(from as usize..).unwrap_or_default(), out, &axes, size as usize);
        Ok(())
    }
}

impl Array for Packets {
    fn dtype(&self) -> &DType {
        &self.told.dtype
    }

    fn shape(&self) -> &[u64] {
        &self.told.shape
    }

    fn facts(&self) -> ArrayFacts {
        self.told.facts.clone()
    }

    fn read(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<()> {
        let [frames, channels] = region.0.as_slice() else {
            return Err(Error::bug("a sound has frames and channels"));
        };
        let size = self.told.dtype.size() as usize;
        let line = channels.count as usize * size;
        // What lies in each block, and where it goes.
        let mut parts = Vec::new();
        let (mut rest, mut n) = (out, 0);
        while n < frames.count && line > 0 {
            let first = frames.index(n);
            let number = first / BLOCK;
            let count = ((number + 1) * BLOCK - first).div_ceil(frames.step.max(1)).min(frames.count - n);
            let (here, after) = rest.split_at_mut((count as usize * line).min(rest.len()));
            parts.push((number, Span { start: first % BLOCK, count, step: frames.step }, here));
            (rest, n) = (after, n + count);
        }
        let read = |parts: &mut [(u64, Span, &mut [u8])]| {
            parts.iter_mut().try_for_each(|(number, span, here)| {
                let block = self.block(task, *number)?;
                self.put(&block, *span, *channels, here)
            })
        };
        // Several decoders go through as many stretches where places are found without those before them.
        let each = parts.len().div_ceil(rayon::current_num_threads().max(1));
        match self.told.seeks && each < parts.len() {
            true => parts.par_chunks_mut(each.max(1)).try_for_each(read),
            false => read(&mut parts),
        }
    }
}
