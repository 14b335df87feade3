//! Playing a sound. A thread reads samples ahead in the rate of the device and hands them over in blocks; what the device
//! asks for is filled from them, and says which frame is heard. Neither waits for the other: where a block is late there is
//! silence, and where the device stalls the thread waits until playing is stopped.

mod device;
mod resample;

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError, sync_channel};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use gander::bytes::error::{Error, Result};
use gander::bytes::task::Task;
use gander::data::content::Array;
use gander::data::sound;
use parking_lot::Mutex;

use resample::Resampler;

/// Seconds of a block that is read ahead, and how many of them there are at most.
const BLOCK: f64 = 0.1;
const AHEAD: usize = 5;
/// No block has more samples, whatever rate and channels a file says.
const SAMPLES: u64 = 1 << 20;
/// How often the thread looks whether it may go on.
const PATIENCE: Duration = Duration::from_millis(5);

/// What plays at this moment in all of the window: one sound at a time.
static PLAYING: Mutex<Weak<PlayerState>> = Mutex::new(Weak::new());

/// What is played.
#[derive(Clone)]
pub(super) struct Playback {
    pub(super) array: Arc<dyn Array>,
    /// Frames a second.
    pub(super) rate: f64,
    /// The frames.
    pub(super) range: Range<u64>,
    /// The first of them that is heard.
    pub(super) from: u64,
    /// Whether the range begins anew when it ends.
    pub(super) repeat: bool,
}

/// Opens a device for a sound of a rate and a number of channels. It calls `start` with its own rate and channels, and
/// fills its buffers from what that gives, until what this returns is dropped.
pub(super) type Open = fn(f64, usize, &mut dyn FnMut(f64, usize) -> SampleQueue) -> Result<Box<dyn Stream>>;

/// What plays: the system's usual device, if a test does not say another one.
pub(super) fn default_device() -> Open {
    #[cfg(test)]
    if let Some(chosen) = tests::CHOSEN.get() {
        return chosen;
    }
    device::open
}

/// A device that plays, until it is dropped.
pub(super) trait Stream {}

/// A sound that is played, until this is dropped.
pub(super) struct Player {
    shared: Arc<PlayerState>,
}

/// What the thread, the device and the window know together.
#[derive(Default)]
struct PlayerState {
    /// Ends reading when playing is stopped. It is no job's: playing waits for time, not for bytes.
    task: Task,
    repeat: AtomicBool,
    ended: AtomicBool,
    /// The frame that is heard at a moment.
    heard: Mutex<Option<(f64, Instant)>>,
    error: Mutex<Option<Error>>,
}

impl Player {
    /// Begins to play, and ends what plays elsewhere in the window.
    pub(super) fn start(playback: Playback, open: Open) -> Self {
        let shared = Arc::new(PlayerState::default());
        shared.repeat.store(playback.repeat, Ordering::Relaxed);
        if let Some(other) = std::mem::replace(&mut *PLAYING.lock(), Arc::downgrade(&shared)).upgrade() {
            other.task.cancel();
        }
        let of_thread = shared.clone();
        let run = move || {
            if let Err(error) = play(&of_thread, &playback, open)
                && !error.is_cancelled()
            {
                *of_thread.error.lock() = Some(error);
            }
            of_thread.ended.store(true, Ordering::Release);
        };
        if let Err(error) = std::thread::Builder::new().name("player".to_owned()).spawn(run) {
            *shared.error.lock() = Some(Error::io(format!("no thread to play with: {error}")));
            shared.ended.store(true, Ordering::Release);
        }
        Player { shared }
    }

    /// Whether it ended, by itself or since another sound began.
    pub(super) fn is_ended(&self) -> bool {
        self.shared.ended.load(Ordering::Acquire) || self.shared.task.is_cancelled()
    }

    /// Why it ended, where that was no end.
    pub(super) fn error(&self) -> Option<Error> {
        self.shared.error.lock().clone()
    }

    /// The frame that is heard now; `None` before the first one.
    pub(super) fn frame(&self, rate: f64) -> Option<u64> {
        let (frame, at) = (*self.shared.heard.lock())?;
        // The device asks for a buffer at a time; between them time goes on.
        let since = at.elapsed().as_secs_f64().min(2.0 * BLOCK);
        Some((frame + since * rate).max(0.0) as u64)
    }

    /// Whether the range begins anew when it ends.
    pub(super) fn repeat(&self, repeat: bool) {
        self.shared.repeat.store(repeat, Ordering::Relaxed);
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        self.shared.task.cancel();
    }
}

/// Samples in the rate and with the channels of the device.
struct Block {
    samples: Vec<f32>,
    /// The frame of the sound that the first one is.
    first: f64,
}

/// What a device fills its buffers from.
pub(super) struct SampleQueue {
    shared: Arc<PlayerState>,
    blocks: Receiver<Block>,
    block: Option<Block>,
    /// Samples of the block that were heard.
    used: usize,
    channels: usize,
    /// Frames of the sound in one of the device.
    ratio: f64,
}

impl SampleQueue {
    /// The next samples, interleaved; silence where none are there. `delay` is when the first of them is heard.
    pub(super) fn fill(&mut self, out: &mut [f32], delay: Duration) {
        let mut filled = 0;
        while filled < out.len() {
            let Some(block) = &self.block else {
                match self.blocks.try_recv() {
                    Ok(block) => (self.block, self.used) = (Some(block), 0),
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) => {
                        self.shared.ended.store(true, Ordering::Release);
                        break;
                    }
                }
                continue;
            };
            if filled == 0 {
                let frame = block.first + (self.used / self.channels) as f64 * self.ratio;
                if let Some(mut heard) = self.shared.heard.try_lock() {
                    *heard = Some((frame, Instant::now() + delay));
                }
            }
            let rest = block.samples.get(self.used..).unwrap_or_default();
            let count = rest.len().min(out.len() - filled);
            if let (Some(to), Some(from)) = (out.get_mut(filled..filled + count), rest.get(..count)) {
                to.copy_from_slice(from);
            }
            filled += count;
            self.used += count;
            if self.used >= block.samples.len() {
                self.block = None;
            }
        }
        out.iter_mut().skip(filled).for_each(|sample| *sample = 0.0);
    }

    /// What the device calls when it cannot go on.
    pub(super) fn fails(&self) -> impl Fn(Error) + Send + 'static {
        let shared = self.shared.clone();
        move |error| {
            shared.error.lock().get_or_insert(error);
            shared.task.cancel();
        }
    }
}

/// Reads and hands over until the end, a stop, or an error.
fn play(shared: &Arc<PlayerState>, playback: &Playback, open: Open) -> Result<()> {
    let (_, channels) = sound::sides(playback.array.as_ref());
    let (sender, blocks) = sync_channel(AHEAD);
    let mut blocks = Some(blocks);
    let mut device = (playback.rate, channels);
    let stream = open(playback.rate, channels, &mut |rate, channels| {
        device = (rate, channels.max(1));
        SampleQueue {
            shared: shared.clone(),
            // A device is asked once; a second feed would have nothing.
            blocks: blocks.take().unwrap_or_else(|| sync_channel(0).1),
            block: None,
            used: 0,
            channels: channels.max(1),
            ratio: playback.rate / rate,
        }
    })?;
    let (rate, outputs) = device;
    let each = ((playback.rate * BLOCK) as u64).clamp(1, (SAMPLES / channels.max(1) as u64).max(1));
    let mut at = playback.from.clamp(playback.range.start, playback.range.end);
    let mut resampler = Resampler::new(playback.rate / rate, outputs);
    loop {
        if at >= playback.range.end {
            if !shared.repeat.load(Ordering::Relaxed) || playback.range.is_empty() {
                break;
            }
            at = playback.range.start;
        }
        let end = (at + each).min(playback.range.end);
        let read = sound::samples(playback.array.as_ref(), &shared.task, at..end)?;
        let samples = resampler.block(mixed(&read, channels, outputs));
        hand_over(shared, &sender, Block { samples, first: at as f64 })?;
        at = end;
    }
    // What was handed over is heard to its end.
    drop(sender);
    while !shared.ended.load(Ordering::Acquire) {
        shared.task.check()?;
        std::thread::sleep(PATIENCE);
    }
    let heard = *shared.heard.lock();
    let rest = heard.map(|(_, at)| at.saturating_duration_since(Instant::now())).unwrap_or_default();
    std::thread::sleep((rest + Duration::from_secs_f64(BLOCK)).min(Duration::from_secs(1)));
    drop(stream);
    Ok(())
}

fn hand_over(shared: &PlayerState, sender: &SyncSender<Block>, mut block: Block) -> Result<()> {
    loop {
        shared.task.check()?;
        match sender.try_send(block) {
            Ok(()) => return Ok(()),
            Err(TrySendError::Full(back)) => block = back,
            Err(TrySendError::Disconnected(_)) => return Err(Error::io("the sound device is gone")),
        }
        std::thread::sleep(PATIENCE);
    }
}

/// The channels of a sound as those of a device: one goes to all, several to as many; of more, each goes to that of its
/// place, counted round, where they are averaged.
fn mixed(samples: &[f32], channels: usize, outputs: usize) -> Vec<f32> {
    let clean = |sample: f32| if sample.is_finite() { sample.clamp(-1.0, 1.0) } else { 0.0 };
    if channels == outputs {
        return samples.iter().map(|sample| clean(*sample)).collect();
    }
    let mut out = Vec::with_capacity(samples.len() / channels.max(1) * outputs);
    for frame in samples.chunks_exact(channels.max(1)) {
        for output in 0..outputs {
            let from = if channels == 1 { 0 } else { output };
            let (mut sum, mut count) = (0.0, 0u32);
            for sample in frame.iter().skip(from).step_by(outputs.max(1)) {
                sum += clean(*sample);
                count += 1;
            }
            out.push(sum / count.max(1) as f32);
        }
    }
    out
}

#[cfg(test)]
pub(super) mod tests;
