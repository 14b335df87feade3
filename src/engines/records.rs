//! Records in frames that follow each other — blocks with a length before them, with a mark between them — found
//! without reading what is in them, by a [`Framing`] that knows how a frame begins.
//!
//! An [`Index`] is made as far as somebody asks, goes on where it stopped, and takes a bounded amount of memory: of a
//! file with very many frames it keeps every second, fourth … one and walks from there. Heads are looked at through a
//! [`Window`], so that small frames are found at the speed of memory and large ones are hopped over. A broken frame is
//! named once; the walk goes on behind it where the framing can tell where that is.

pub mod container;
pub mod lines;
pub mod recordio;
pub mod tfrecord;

use crate::bytes::display;
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use bytes::Bytes;
use std::ops::Range;

/// How the frames of a format are found.
pub trait Framing: Send + Sync {
    /// The frame that begins at byte `at`; `None` where the file ends there.
    ///
    /// # Errors
    /// `Cancelled`; all others say that no frame can be read there.
    fn frame(&self, window: &mut Window, at: u64) -> Result<Option<Frame>>;

    /// Where frames go on behind a broken one that began at byte `at`; `None` where nothing tells.
    ///
    /// # Errors
    /// `Cancelled`, and failures to read.
    fn resume(&self, window: &mut Window, at: u64) -> Result<Option<u64>>;
}

/// A frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Its contents in the file, without what stands around them.
    pub span: Range<u64>,
    /// How many records they are; none for a frame that is only passed by.
    pub records: u64,
    /// Where the next frame begins, behind `span`.
    pub end: u64,
}

/// A frame and the number of its first record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NumberedFrame {
    /// The number of its first record in the file.
    pub first: u64,
    /// Where it is.
    pub frame: Frame,
}

impl NumberedFrame {
    /// One beyond the number of its last record.
    pub fn end(&self) -> u64 {
        self.first.saturating_add(self.frame.records)
    }
}

/// The bytes of a source around the place where frames are looked for.
pub struct Window<'a> {
    /// For looks beyond the window.
    pub task: &'a Task,
    /// The file.
    pub source: &'a Source,
    start: u64,
    bytes: Bytes,
    width: usize,
}

impl<'a> Window<'a> {
    /// Bytes that are read ahead at first,
    const LEAST: usize = 4 << 10;
    /// and where frames are small.
    const MOST: usize = 1 << 20;
    /// How far is searched, in bytes: a file that goes on as something else is not read through.
    const FAR: u64 = 64 << 20;

    /// Nothing is read yet.
    pub fn new(task: &'a Task, source: &'a Source) -> Self {
        Window { task, source, start: 0, bytes: Bytes::new(), width: Self::LEAST }
    }

    /// Up to `most` bytes from `at`, fewer where the file ends.
    ///
    /// # Errors
    /// As the source's.
    pub fn get(&mut self, at: u64, most: usize) -> Result<&[u8]> {
        let place = |start: u64| usize::try_from(at.checked_sub(start)?).ok();
        let within = |from: usize, len: usize| from.checked_add(most).is_some_and(|end| end <= len);
        let known = place(self.start).filter(|from| within(*from, self.bytes.len()));
        let from = match known {
            Some(from) => from,
            None => {
                // What follows is read ahead, the more the longer that was of use.
                let follows = place(self.start).is_some_and(|from| from <= self.bytes.len());
                self.width = if follows { (self.width * 4).min(Self::MOST) } else { Self::LEAST };
                self.bytes = self.source.read_up_to(self.task, at, self.width.max(most))?;
                self.start = at;
                0
            }
        };
        let rest = self.bytes.get(from..).unwrap_or_default();
        Ok(rest.get(..most).unwrap_or(rest))
    }

    /// The file's length, where it is known.
    pub fn known_len(&self) -> Option<u64> {
        self.source.known_len()
    }

    /// The first place from `start` on, not far from it, for which `found` gives something, which is asked with a part of the file and
    /// gives a place in that part. Parts share their last `overlap` bytes with the next one.
    ///
    /// # Errors
    /// As the source's and `found`'s.
    pub fn search(
        &mut self,
        start: u64,
        overlap: usize,
        mut found: impl FnMut(&[u8], u64) -> Result<Option<usize>>,
    ) -> Result<Option<u64>> {
        let mut at = start;
        while at - start <= Self::FAR {
            let bytes = self.source.read_up_to(self.task, at, Self::MOST)?;
            if let Some(place) = found(&bytes, at)? {
                return Ok(Some(at + place as u64));
            }
            let Some(step) = bytes.len().checked_sub(overlap).filter(|&step| step > 0) else {
                return Ok(None);
            };
            at += step as u64;
        }
        Ok(None)
    }
}

/// The frames that are known, and where to go on.
pub struct Index {
    /// Every `every`-th frame with records, from the first on.
    kept: Vec<NumberedFrame>,
    every: u64,
    /// Frames with records that are known.
    frames: u64,
    records: u64,
    next: u64,
    ended: bool,
}

impl Index {
    /// The most frames that are kept: some megabytes.
    const KEPT: usize = 1 << 16;

    /// Frames from byte `start` on.
    pub fn new(start: u64) -> Self {
        Index { kept: Vec::new(), every: 1, frames: 0, records: 0, next: start, ended: false }
    }

    /// Records of the known frames.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Bytes of the file up to the end of the known frames.
    pub fn seen(&self) -> u64 {
        self.next
    }

    /// Whether all frames are known.
    pub fn ended(&self) -> bool {
        self.ended
    }

    /// The frames that are kept, and how many frames each of them stands for: itself and those behind it.
    pub fn kept(&self) -> (&[NumberedFrame], u64) {
        (&self.kept, self.every)
    }

    /// Looks at up to `most` further frames, until `record` is within the known ones. A broken frame is said once, by
    /// the call that comes there; the next call goes on behind it where the framing knows where that is.
    ///
    /// # Errors
    /// `Cancelled`, after which another call goes on; else what is wrong with a frame.
    pub fn extend(
        &mut self,
        task: &Task,
        source: &Source,
        framing: &dyn Framing,
        most: usize,
        record: u64,
    ) -> Result<()> {
        let mut window = Window::new(task, source);
        for n in 0..most {
            if self.ended || self.records >= record {
                return Ok(());
            }
            if n % 1024 == 0 {
                task.check()?;
            }
            match framing.frame(&mut window, self.next).unless_cancelled()? {
                Ok(Some(frame)) => self.push(frame)?,
                Ok(None) => self.ended = true,
                Err(error) => {
                    match framing.resume(&mut window, self.next).unless_cancelled()? {
                        // Always further, or it would never end.
                        Ok(Some(next)) if next > self.next => self.next = next,
                        _ => {
                            self.ended = true;
                            return Err(self.lost(source, error));
                        }
                    }
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// A broken frame behind which none was found: with what that means for the rest of the file.
    fn lost(&self, source: &Source, error: Error) -> Error {
        let behind = source.known_len().map_or(0, |len| len.saturating_sub(self.next));
        // A torn end has nothing behind it.
        if behind <= Window::FAR {
            return error;
        }
        let rest = display::bytes(behind);
        Error::malformed(format!(
            "{}; no record was found near behind it: {rest} are not shown",
            error.message()
        ))
        .at(self.next)
    }

    /// Takes in frames that were found elsewhere: the first of them begins where the known ones end, each of the others
    /// where the one before it ends.
    ///
    /// # Errors
    /// `Malformed` where there are more records than can be counted.
    pub fn append(&mut self, frames: impl IntoIterator<Item = Frame>) -> Result<()> {
        frames.into_iter().try_for_each(|frame| self.push(frame))
    }

    fn push(&mut self, frame: Frame) -> Result<()> {
        let at = self.next;
        self.next = frame.end.max(at.saturating_add(1));
        if frame.records == 0 {
            return Ok(());
        }
        let first = self.records;
        let Some(records) = first.checked_add(frame.records).filter(|all| i64::try_from(*all).is_ok()) else {
            self.ended = true;
            return Err(Error::malformed("a frame: the count of all records is beyond 64 bits").at(at));
        };
        self.records = records;
        if self.frames.is_multiple_of(self.every) {
            if self.kept.len() >= Self::KEPT {
                let mut n = 0;
                self.kept.retain(|_| {
                    n += 1;
                    n % 2 == 1
                });
                self.every = self.every.saturating_mul(2);
            }
            if self.frames.is_multiple_of(self.every) {
                self.kept.push(NumberedFrame { first, frame });
            }
        }
        self.frames += 1;
        Ok(())
    }

    /// The frames that these records lie in, in order, as far as they are known.
    ///
    /// # Errors
    /// `Cancelled`, and failures to read. Frames that were broken when they were found are passed by again.
    pub fn frames_of(
        &self,
        task: &Task,
        source: &Source,
        framing: &dyn Framing,
        records: Range<u64>,
    ) -> Result<Vec<NumberedFrame>> {
        let end = records.end.min(self.records);
        let mut frames = Vec::new();
        let mut window = Window::new(task, source);
        let mut number = self.kept.partition_point(|kept| kept.first <= records.start).saturating_sub(1);
        let mut here = self.kept.get(number).cloned();
        while let Some(placed) = here.filter(|placed| placed.first < end) {
            let (next, first) = (placed.frame.end, placed.end());
            number += 1;
            if placed.end() > records.start {
                frames.push(placed);
            }
            here = match self.every {
                1 => self.kept.get(number).cloned(),
                _ if first < end => Self::after(&mut window, framing, next, first)?,
                _ => None,
            };
        }
        Ok(frames)
    }

    /// The next frame with records from byte `at` on.
    fn after(
        window: &mut Window,
        framing: &dyn Framing,
        mut at: u64,
        first: u64,
    ) -> Result<Option<NumberedFrame>> {
        loop {
            window.task.check()?;
            let before = at;
            match framing.frame(window, at).unless_cancelled()? {
                Ok(Some(frame)) if frame.records > 0 => return Ok(Some(NumberedFrame { first, frame })),
                Ok(Some(frame)) => at = frame.end,
                Ok(None) => return Ok(None),
                Err(error) => at = framing.resume(window, at)?.ok_or(error)?,
            }
            if at <= before {
                return Err(Error::bug("frames that lead nowhere").at(at));
            }
        }
    }
}

#[cfg(test)]
mod tests;
