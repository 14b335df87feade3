//! A container whose records are frames that follow each other.

use super::{Container, Each, Problems, Record};
use crate::bytes::error::{Result, UnlessCancelled};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::Rows;
use crate::data::format::Formats;
use crate::data::node::Node;
use crate::engines::records::{Frame, Framing, Index, NumberedFrame, Window};
use bytes::Bytes;
use parking_lot::Mutex;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// Frames that are looked for while nobody else is let in.
const SLICE: usize = 1 << 14;
/// Bytes of a file that one core goes through at a time, and the most cores.
const PIECE: u64 = 16 << 20;
const PIECES: usize = 8;
/// Where frames are larger than that on average, few heads are looked at, and one core does.
const LARGE: u64 = 64 << 10;
/// Frames that are looked for by one core before the others are asked.
const FAR: u64 = 1 << 17;
/// Records that are read between two looks at the task.
const CHECK: usize = 1_024;

/// Frames that are records, one each.
pub trait RecordFraming: Framing + 'static {
    /// The payload of a frame, through `window`; put together in `scratch` where it lies in pieces.
    ///
    /// # Errors
    /// `Cancelled`; `Malformed` where it is broken; `Limit` where it is too long.
    fn payload<'w>(
        &self,
        window: &'w mut Window<'_>,
        frame: &Range<u64>,
        scratch: &'w mut Vec<u8>,
    ) -> Result<&'w [u8]>;

    /// The first place in a part of the file where a frame begins for sure; `None` where nothing tells. Where this is
    /// known, frames are looked for on several cores at once.
    fn first_in(&self, _part: &[u8]) -> Option<usize> {
        None
    }

    /// Bytes of its payload, of frames that lie in pieces.
    ///
    /// # Errors
    /// As [`payload`](RecordFraming::payload).
    fn len(&self, _window: &mut Window<'_>, frame: &Range<u64>) -> Result<u64> {
        Ok(frame.end - frame.start)
    }
}

/// What payloads are, where they are not what their bytes are by the one door: messages of a kind.
pub trait PayloadKind: Send + Sync + 'static {
    /// The node of a record with this payload; `None` where it is what its bytes are.
    ///
    /// # Errors
    /// `Cancelled`; why the payload is not of that kind.
    fn node(
        &self,
        task: &Task,
        container: &dyn Container,
        record: &Record,
        payload: &Bytes,
    ) -> Result<Option<Node>>;
}

/// No kind of its own.
impl PayloadKind for () {
    fn node(&self, _: &Task, _: &dyn Container, _: &Record, _: &Bytes) -> Result<Option<Node>> {
        Ok(None)
    }
}

/// The container.
pub struct Framed<F, K = ()> {
    source: Source,
    formats: Formats,
    framing: F,
    kind: OnceLock<K>,
    index: Mutex<Index>,
    /// What the index knows, for those who do not wait for it.
    records: AtomicU64,
    seen: AtomicU64,
    ended: AtomicBool,
    start: u64,
    problems: Arc<Problems>,
}

impl<F: RecordFraming> Framed<F> {
    /// The frames from byte `start` on, whose payloads are what their bytes are; none of them is looked at yet.
    pub fn new(source: Source, formats: Formats, framing: F, start: u64) -> Self {
        Framed::of_a_kind(source, formats, framing, start)
    }
}

impl<F: RecordFraming, K: PayloadKind> Framed<F, K> {
    /// The frames from byte `start` on, whose payloads may be of a kind that is found out ([`set_kind`](Framed::set_kind));
    /// none of them is looked at yet.
    pub fn of_a_kind(source: Source, formats: Formats, framing: F, start: u64) -> Self {
        Framed {
            source,
            formats,
            framing,
            kind: OnceLock::new(),
            index: Mutex::new(Index::new(start)),
            records: AtomicU64::new(0),
            seen: AtomicU64::new(start),
            ended: AtomicBool::new(false),
            start,
            problems: Arc::default(),
        }
    }

    /// With a list of problems that its framing adds to as well.
    pub fn with_problems(self, problems: Arc<Problems>) -> Self {
        Framed { problems, ..self }
    }

    /// Says what the payloads are; the first word holds.
    pub fn set_kind(&self, kind: K) {
        // Whoever came second found the same.
        let _ = self.kind.set(kind);
    }

    /// Finds frames until so many records are known, or all; at most about `most` frames.
    ///
    /// # Errors
    /// `Cancelled`, after which another call goes on. What is wrong with frames is among the problems.
    pub fn extend(&self, task: &Task, records: u64, most: usize) -> Result<()> {
        let mut left = most;
        let len = self.source.known_len();
        while !self.ended.load(Ordering::Acquire)
            && self.records.load(Ordering::Acquire) < records
            && left > 0
        {
            task.check()?;
            let slice = left.min(SLICE);
            let mut index = self.index.lock();
            let found = index.extend(task, &self.source, &self.framing, slice, records);
            self.records.store(index.records(), Ordering::Release);
            self.seen.store(index.seen(), Ordering::Release);
            self.ended.store(index.ended(), Ordering::Release);
            drop(index);
            // A broken frame ends a slice early.
            match found.unless_cancelled()? {
                Ok(()) => left -= slice,
                Err(error) => {
                    self.problems.add(error);
                    left -= 1;
                }
            }
        }
        if let Some(len) = len
            && task.progress().1 == len
        {
            task.reached(self.seen.load(Ordering::Acquire).min(len));
        }
        Ok(())
    }

    /// Finds the frames of the next stretch of the file on several cores: each begins somewhere and goes on to where the
    /// next one began. What they find counts only as far as it fits together. Whether that was anything.
    fn stretch(&self, task: &Task) -> Result<bool> {
        let (Some(len), true) = (self.source.known_len(), self.source.is_random_access()) else {
            return Ok(false);
        };
        let start = self.seen.load(Ordering::Acquire);
        let pieces = rayon::current_num_threads().clamp(1, PIECES) as u64;
        let end = start.saturating_add(pieces * PIECE);
        if pieces < 2 || end > len || self.average() > LARGE {
            return Ok(false);
        }
        let piece = |n: u64| {
            let from = start + n * PIECE;
            self.walk(task, if n == 0 { Some(from) } else { self.begin(task, from)? }, from + PIECE)
        };
        let found: Vec<(u64, Vec<Frame>)> = (0..pieces).into_par_iter().map(piece).collect::<Result<_>>()?;
        let mut index = self.index.lock();
        if index.seen() != start || index.ended() {
            return Ok(true);
        }
        let before = index.seen();
        for (from, frames) in found {
            if from != index.seen() {
                break;
            }
            if let Err(error) = index.append(frames) {
                self.problems.add(error);
            }
        }
        self.records.store(index.records(), Ordering::Release);
        self.seen.store(index.seen(), Ordering::Release);
        self.ended.store(index.ended(), Ordering::Release);
        Ok(index.seen() > before)
    }

    /// Where a frame begins, soon after a place in the file.
    fn begin(&self, task: &Task, from: u64) -> Result<Option<u64>> {
        let part = self.source.read_up_to(task, from, LARGE as usize * 4)?;
        Ok(self.framing.first_in(&part).map(|place| from + place as u64))
    }

    /// The frames that begin from `at` on and before `until`, up to one that is broken.
    fn walk(&self, task: &Task, at: Option<u64>, until: u64) -> Result<(u64, Vec<Frame>)> {
        let Some(from) = at else { return Ok((u64::MAX, Vec::new())) };
        let (mut window, mut frames, mut at) = (Window::new(task, &self.source), Vec::new(), from);
        while at < until {
            if frames.len().is_multiple_of(SLICE) {
                task.check()?;
            }
            match self.framing.frame(&mut window, at).unless_cancelled()? {
                Ok(Some(frame)) if frame.end > at => {
                    at = frame.end;
                    frames.push(frame);
                }
                _ => break,
            }
        }
        Ok((from, frames))
    }

    /// Whether all frames are known.
    pub fn ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    fn record(&self, window: &mut Window<'_>, placed: NumberedFrame) -> Result<Record> {
        let Frame { span, .. } = placed.frame;
        let len = self.framing.len(window, &span).unless_cancelled()?;
        let len = len.unwrap_or_else(|_| span.end.saturating_sub(span.start));
        Ok(Record { number: placed.first, key: None, span, len })
    }
}

impl<F: RecordFraming, K: PayloadKind> Container for Framed<F, K> {
    fn source(&self) -> &Source {
        &self.source
    }

    fn formats(&self) -> Formats {
        self.formats
    }

    fn rows(&self) -> Rows {
        let (ended, seen) = (self.ended.load(Ordering::Acquire), self.seen.load(Ordering::Acquire));
        let known = self.records.load(Ordering::Acquire);
        let gone = seen.saturating_sub(self.start);
        match self.source.known_len() {
            _ if ended => Rows::Exact(known),
            Some(len) if gone > 0 => {
                let rows = (known as f64 * len.saturating_sub(self.start) as f64 / gone as f64) as u64;
                Rows::About { rows: rows.max(known), known }
            }
            _ => Rows::AtLeast(known),
        }
    }

    fn measure(&self, task: &Task) -> Result<u64> {
        if let Some(len) = self.source.known_len()
            && !self.ended()
        {
            task.set_total(len);
        }
        while !self.ended() {
            if !self.stretch(task)? {
                self.extend(task, u64::MAX, SLICE)?;
            } else if let Some(len) = self.source.known_len() {
                task.reached(self.seen.load(Ordering::Acquire).min(len));
            }
        }
        Ok(self.records.load(Ordering::Acquire))
    }

    fn records(&self, task: &Task, range: Range<u64>) -> Result<Vec<Record>> {
        let is_far = || self.records.load(Ordering::Acquire).saturating_add(FAR) < range.end;
        while is_far() && !self.ended() && self.stretch(task)? {}
        self.extend(task, range.end, usize::MAX)?;
        let frames = self.index.lock().frames_of(task, &self.source, &self.framing, range)?;
        let mut window = Window::new(task, &self.source);
        frames.into_iter().map(|placed| self.record(&mut window, placed)).collect()
    }

    fn read(&self, task: &Task, records: &[Record], each: &mut Each<'_>) -> Result<()> {
        let (mut window, mut scratch) = (Window::new(task, &self.source), Vec::new());
        for (n, record) in records.iter().enumerate() {
            if n.is_multiple_of(CHECK) || record.len > 1 << 20 {
                task.check()?;
            }
            match self.framing.payload(&mut window, &record.span, &mut scratch) {
                Err(error) if error.is_cancelled() => return Err(error),
                payload => each(record, payload)?,
            }
        }
        Ok(())
    }

    fn average(&self) -> u64 {
        let gone = self.seen.load(Ordering::Acquire).saturating_sub(self.start);
        gone / self.records.load(Ordering::Acquire).max(1)
    }

    fn problems(&self) -> &Arc<Problems> {
        &self.problems
    }

    fn node(&self, task: &Task, record: &Record) -> Result<Node> {
        let by_its_bytes = || super::payload(self, task, record)?.open(task, self.formats, self.name(record));
        let Some(kind) = self.kind.get() else { return by_its_bytes() };
        let mut payload = None;
        self.read(task, std::slice::from_ref(record), &mut |_, read| {
            payload = read.ok().map(Bytes::copy_from_slice);
            Ok(())
        })?;
        // What is broken is not taken for anything.
        let Some(payload) = payload else { return by_its_bytes() };
        match kind.node(task, self, record, &payload).unless_cancelled()? {
            Ok(Some(node)) => Ok(node),
            Ok(None) => by_its_bytes(),
            // Why it is not what others are is said.
            Err(problem) => Ok(by_its_bytes()?.problem(problem)),
        }
    }
}
