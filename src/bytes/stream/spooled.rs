//! `Spooled`: a stream that is decoded once, as far as somebody asks, and kept.

use super::spool::{MEMORY, Spool};
use super::{Codec, Feed, Notes};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::{ReadAt, Source};
use crate::bytes::task::Task;
use parking_lot::{Mutex, MutexGuard, RwLock};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How many bytes are decoded between two looks at the task.
const STEP: usize = 256 << 10;
/// What any stream may decode to, however short it is.
const FLOOR: u64 = 64 << 20;
/// Work over this many bytes reports progress.
const LONG: u64 = 32 << 20;

/// Makes a codec that starts at the beginning of its stream.
pub(super) type Make = Box<dyn Fn() -> Result<Box<dyn Codec>> + Send + Sync>;

/// A decoded stream, readable by ranges.
pub struct Spooled {
    source: Source,
    start: u64,
    make: Make,
    /// The most bytes that it may decode to.
    most: u64,
    spool: Spool,
    front: Mutex<Front>,
    end: RwLock<Option<End>>,
    /// The damage was shown to the user, so the place where it begins counts as the end.
    told: AtomicBool,
}

/// Where decoding stands.
struct Front {
    running: Option<(Box<dyn Codec>, Feed)>,
    /// Bytes that were kept before a cancelled decoder began again.
    again: u64,
    buffer: Vec<u8>,
}

/// How the stream ended.
#[derive(Clone)]
struct End {
    notes: Notes,
}

impl Spooled {
    /// The stream that `make`'s codec decodes from `source`, starting at byte `start`.
    pub fn new(source: Source, start: u64, make: Make) -> Self {
        Spooled {
            source,
            start,
            make,
            most: u64::MAX,
            spool: Spool::new("decompressed data"),
            front: Mutex::new(Front { running: None, again: 0, buffer: Vec::new() }),
            end: RwLock::new(None),
            told: AtomicBool::new(false),
        }
    }

    /// At most as many bytes as deflate can make of the source: more is a lie.
    pub fn deflated(mut self) -> Self {
        let len = self.source.known_len().unwrap_or(u64::MAX);
        self.most = len.saturating_sub(self.start).saturating_mul(limits::RATIO).max(FLOOR);
        self
    }

    /// Decodes up to `bytes` bytes; whether that was all.
    pub fn ahead(&self, task: &Task, bytes: u64) -> Result<bool> {
        self.reach(task, bytes)?;
        Ok(self.end.read().is_some())
    }

    /// What there is to say about the stream, if its end was seen. From then on its damage counts as
    /// shown, and the stream as ending where it begins.
    pub fn tell(&self) -> Option<Notes> {
        let end = self.end.read().clone()?;
        self.told.store(true, Ordering::Relaxed);
        Some(end.notes)
    }

    /// Decodes until `to` bytes are there, or the end.
    fn reach(&self, task: &Task, to: u64) -> Result<()> {
        if self.spool.len() >= to || self.end.read().is_some() {
            return Ok(());
        }
        let mut front = self.lock(task)?;
        let progress = Progress::begin(task, to.saturating_sub(self.spool.len()), &self.source);
        while self.spool.len() < to && self.end.read().is_none() {
            task.check()?;
            self.step(task, &mut front)?;
            if let Some((_, feed)) = &front.running {
                progress.at(feed.at());
            }
        }
        Ok(())
    }

    /// The front, once no other thread works on it; a cancelled task does not wait.
    fn lock(&self, task: &Task) -> Result<MutexGuard<'_, Front>> {
        loop {
            if let Some(front) = self.front.try_lock_for(Duration::from_millis(20)) {
                return Ok(front);
            }
            task.check()?;
        }
    }

    /// Decodes one step.
    fn step(&self, task: &Task, front: &mut Front) -> Result<()> {
        let (mut codec, mut feed) = match front.running.take() {
            Some(running) => running,
            None => {
                front.again = 0;
                ((self.make)()?, Feed::new(self.source.clone(), self.start..u64::MAX))
            }
        };
        front.buffer.resize(STEP, 0);
        let got = match codec.decode(task, &mut feed, &mut front.buffer).map_err(Error::from) {
            Ok(0) => return self.finish(codec.notes(), front),
            Ok(got) => got,
            Err(error) if error.is_cancelled() => {
                front.running = Some((codec, feed));
                return Err(error);
            }
            // The disk may answer the next time; the decoder begins again and skips what is kept.
            Err(error) if error.kind() == crate::bytes::error::ErrorKind::Io => return Err(error),
            Err(error) => {
                let mut notes = codec.notes();
                notes.blame(error);
                return self.finish(notes, front);
            }
        };
        front.again = front.again.saturating_add(got as u64);
        let new = front.again.saturating_sub(self.spool.len()).min(got as u64) as usize;
        let bytes = front.buffer.get(got - new..got).unwrap_or_default();
        if self.spool.len().saturating_add(new as u64) > self.most {
            let mut notes = codec.notes();
            notes.blame(
                Error::limit(format!(
                    "decompressed data is larger than {} bytes, which this stream may hold",
                    self.most
                ))
                .at(feed.at()),
            );
            return self.finish(notes, front);
        }
        match self.spool.push(bytes) {
            // No room: what is there stays readable, and nobody decodes it all again to learn the same.
            Err(error) if error.kind() == crate::bytes::error::ErrorKind::Limit => {
                let mut notes = codec.notes();
                notes.blame(error);
                return self.finish(notes, front);
            }
            pushed => pushed?,
        }
        front.running = Some((codec, feed));
        Ok(())
    }

    fn finish(&self, notes: Notes, front: &mut Front) -> Result<()> {
        front.buffer = Vec::new();
        *self.end.write() = Some(End { notes });
        Ok(())
    }

    /// The damage that was not shown yet.
    fn damage(&self) -> Option<Error> {
        if self.told.load(Ordering::Relaxed) {
            return None;
        }
        self.end.read().as_ref().and_then(|end| end.notes.problem.clone())
    }
}

impl ReadAt for Spooled {
    /// Not while there is damage that nobody was told of: whoever relied on the length would miss it.
    fn known_len(&self) -> Option<u64> {
        (self.end.read().is_some() && self.damage().is_none()).then(|| self.spool.len())
    }

    /// # Errors
    /// The stream's damage, unless it was shown at open: a length would hide it.
    fn len(&self, task: &Task) -> Result<u64> {
        self.reach(task, u64::MAX)?;
        self.damage().map_or_else(|| Ok(self.spool.len()), Err)
    }

    /// # Errors
    /// The stream's damage for a read that begins where the good bytes end, unless it was shown at
    /// open.
    fn read_at(&self, task: &Task, offset: u64, out: &mut [u8]) -> Result<usize> {
        self.reach(task, offset.saturating_add(out.len() as u64))?;
        let got = self.spool.read(offset, out)?;
        if got == 0
            && !out.is_empty()
            && let Some(damage) = self.damage()
        {
            return Err(damage);
        }
        Ok(got)
    }
}

/// Progress of long decoding on a task that may be counting something else: what it counted comes
/// back at the end.
pub(super) struct Progress<'a> {
    task: &'a Task,
    before: Option<((u64, u64), String)>,
}

impl<'a> Progress<'a> {
    pub(super) fn begin(task: &'a Task, work: u64, source: &Source) -> Self {
        let long = work > LONG && source.known_len().is_none_or(|len| len > MEMORY as u64 / 2);
        let before = long.then(|| {
            let before = (task.progress(), task.message());
            task.set_total(source.known_len().unwrap_or(0));
            task.set_message(format!("decompressing {}", source.name()));
            before
        });
        Progress { task, before }
    }

    pub(super) fn at(&self, compressed: u64) {
        if self.before.is_some() {
            self.task.reached(compressed);
        }
    }
}

impl Drop for Progress<'_> {
    fn drop(&mut self) {
        if let Some(((done, total), doing)) = self.before.take() {
            self.task.set_total(total);
            self.task.reached(done);
            self.task.set_message(doing);
        }
    }
}
