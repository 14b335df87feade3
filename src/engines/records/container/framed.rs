//! A container whose records are frames that follow each other.

use super::{Container, Each, Problems, Record};
use crate::bytes::error::{Result, UnlessCancelled};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::Rows;
use crate::data::format::Formats;
use crate::data::node::Node;
use crate::engines::records::{Frame, Framing, Index, NumberedFrame, Window};
use parking_lot::Mutex;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Frames that are looked for while nobody else is let in.
const SLICE: usize = 1 << 14;
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

    /// Bytes of its payload, of frames that lie in pieces.
    ///
    /// # Errors
    /// As [`payload`](RecordFraming::payload).
    fn len(&self, _window: &mut Window<'_>, frame: &Range<u64>) -> Result<u64> {
        Ok(frame.end - frame.start)
    }

    /// A record as a node, where it is not what its payload is by the one door.
    ///
    /// # Errors
    /// `Cancelled`; failures to read.
    fn node(&self, _task: &Task, _container: &Framed<Self>, _record: &Record) -> Result<Option<Node>>
    where
        Self: Sized,
    {
        Ok(None)
    }
}

/// The container.
pub struct Framed<F> {
    source: Source,
    formats: Formats,
    /// How frames are found and read.
    pub framing: F,
    index: Mutex<Index>,
    /// What the index knows, for those who do not wait for it.
    records: AtomicU64,
    seen: AtomicU64,
    ended: AtomicBool,
    start: u64,
    problems: Arc<Problems>,
}

impl<F: RecordFraming> Framed<F> {
    /// The frames from byte `start` on; none of them is looked at yet.
    pub fn new(source: Source, formats: Formats, framing: F, start: u64) -> Self {
        Framed {
            source,
            formats,
            framing,
            index: Mutex::new(Index::new(start)),
            records: AtomicU64::new(0),
            seen: AtomicU64::new(start),
            ended: AtomicBool::new(false),
            start,
            problems: Arc::default(),
        }
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
            left -= slice;
            let mut index = self.index.lock();
            let found = index.extend(task, &self.source, &self.framing, slice, records);
            self.records.store(index.records(), Ordering::Release);
            self.seen.store(index.seen(), Ordering::Release);
            self.ended.store(index.ended(), Ordering::Release);
            drop(index);
            if let Err(error) = found.unless_cancelled()? {
                self.problems.add(error);
            }
        }
        if let Some(len) = len
            && task.progress().1 == len
        {
            task.reached(self.seen.load(Ordering::Acquire).min(len));
        }
        Ok(())
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

impl<F: RecordFraming> Container for Framed<F> {
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
            self.extend(task, u64::MAX, SLICE)?;
        }
        Ok(self.records.load(Ordering::Acquire))
    }

    fn records(&self, task: &Task, range: Range<u64>) -> Result<Vec<Record>> {
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
        match self.framing.node(task, self, record)? {
            Some(node) => Ok(node),
            None => super::payload(self, task, record)?.open(task, self.formats, self.name(record)),
        }
    }
}
