//! The sparse index: every 256 KiB a checkpoint with the scanner's state and the number of records
//! that ended before it. Record n is found by one scan of at most that much.
//!
//! A source of random access is cut into segments that all cores scan at once, each for both
//! beliefs about quotes (see [`super::scan`]); the beliefs are settled when the segments are
//! stitched in order. A stream is scanned in one go. What is known grows while the work runs.

use super::ordered;
use super::scan::{Pair, Rules, Scan, State};
use crate::bytes::error::Result;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use parking_lot::Mutex;
use std::time::Duration;

/// Bytes between two checkpoints.
pub const STEP: usize = 256 << 10;
/// Bytes that a worker takes at a time.
const SEGMENT: u64 = 8 << 20;
/// How far a segment's start is moved to come behind a run of quotes (or spaces).
const QUOTES: usize = 64 << 10;

/// A sparse index over the records of a source. Grows on demand; shared by all readers.
pub struct Index {
    source: Source,
    rules: Rules,
    start: u64,
    segment: u64,
    known: Mutex<Known>,
    /// Held by the one that makes it grow.
    building: Mutex<()>,
}

struct Known {
    /// In order of place; the first is the start, the last the frontier.
    checkpoints: Vec<Checkpoint>,
    total: Option<Total>,
}

/// A place and what the scanner knew there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Checkpoint {
    at: u64,
    scan: Scan,
}

/// What a finished index knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Total {
    /// Records, the open one at the end included.
    pub records: u64,
    /// Whether quotes were open at the end of the file.
    pub unclosed: bool,
}

/// A scanned segment: checkpoints for both beliefs; the last is its end.
type Segment = Vec<(u64, Pair)>;

impl Index {
    /// An index over the records of `source` from byte `start` on. Reads nothing.
    pub fn new(source: Source, rules: Rules, start: u64) -> Self {
        Self::with_segments(source, rules, start, SEGMENT)
    }

    fn with_segments(source: Source, rules: Rules, start: u64, segment: u64) -> Self {
        let first = Checkpoint { at: start, scan: Scan::start() };
        let known = Mutex::new(Known { checkpoints: vec![first], total: None });
        Index { source, rules, start, segment, known, building: Mutex::new(()) }
    }

    /// The bytes.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// What ends a record.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Where the first record begins.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// How many records are known to have ended, and before which byte.
    pub fn known(&self) -> (u64, u64) {
        let frontier = self.known.lock().frontier();
        (frontier.scan.ended, frontier.at)
    }

    /// The total, once everything was seen.
    pub fn total(&self) -> Option<Total> {
        self.known.lock().total
    }

    /// The byte just after the end of record `record - 1`: where `record` begins, blank lines aside.
    /// `None` where there are fewer records. Scans on from what is known as far as needed.
    pub fn locate(&self, task: &Task, record: u64) -> Result<Option<u64>> {
        if record == 0 {
            return Ok(Some(self.start));
        }
        let (from, total) = {
            let known = self.known.lock();
            (known.before(record), known.total)
        };
        if total.is_some_and(|t| record >= t.records) {
            return Ok(None);
        }
        // A checkpoint behind `from` means that the record begins between the two.
        match self.building.try_lock() {
            Some(_growing) => self.scan_on(task, from, Some(record), true),
            None => self.scan_on(task, from, Some(record), false),
        }
    }

    /// Scans in one go from a checkpoint to the beginning of `record`, or to the end.
    fn scan_on(
        &self,
        task: &Task,
        from: Checkpoint,
        record: Option<u64>,
        publish: bool,
    ) -> Result<Option<u64>> {
        let Checkpoint { mut at, mut scan } = from;
        let mut buffer = Vec::new();
        loop {
            task.check()?;
            let n = fill(&self.source, task, at, &mut buffer, STEP)?;
            let bytes = buffer.get(..n).unwrap_or_default();
            if n == 0 {
                if publish {
                    self.known.lock().finish(scan, &self.rules);
                }
                return Ok(None);
            }
            if let Some(target) = record {
                let mut search = scan;
                search.feed(&self.rules, bytes);
                if search.ended >= target {
                    let mut exact = scan;
                    let Some(behind) = exact.find(&self.rules, bytes, target) else { return Ok(None) };
                    return self.behind_pair(task, at, bytes, behind).map(Some);
                }
                scan = search;
            } else {
                scan.feed(&self.rules, bytes);
            }
            at += n as u64;
            if record.is_none() {
                task.advance(n as u64)?;
            }
            if publish {
                self.known.lock().push(Checkpoint { at, scan });
            }
        }
    }

    /// The place behind the line end before `bytes[behind]`, which may be the first half of a CR LF: among
    /// lines that may be blank its second half is no line of its own. `bytes` begin at byte `at`.
    fn behind_pair(&self, task: &Task, at: u64, bytes: &[u8], behind: usize) -> Result<u64> {
        let place = at + behind as u64;
        let returned = self.rules.blanks && behind.checked_sub(1).and_then(|i| bytes.get(i)) == Some(&b'\r');
        let feeds = match bytes.get(behind) {
            _ if !returned => false,
            Some(byte) => *byte == b'\n',
            None => self.source.read_up_to(task, place, 1)?.first() == Some(&b'\n'),
        };
        Ok(place + u64::from(feeds))
    }

    /// Counts all records: finishes the index. Progress in bytes.
    pub fn count(&self, task: &Task) -> Result<u64> {
        let _growing = loop {
            if let Some(total) = self.total() {
                return Ok(total.records);
            }
            task.check()?;
            if let Some(guard) = self.building.try_lock_for(Duration::from_millis(20)) {
                break guard;
            }
        };
        let frontier = self.known.lock().frontier();
        let len = self.source.known_len();
        task.set_total(len.unwrap_or(0).saturating_sub(frontier.at));
        match len {
            Some(len) if !self.source.is_stream() && len.saturating_sub(frontier.at) > self.segment => {
                self.scan_parallel(task, frontier, len)?;
            }
            _ => {
                self.scan_on(task, frontier, None, true)?;
            }
        }
        Ok(self.total().map_or(0, |total| total.records))
    }

    fn scan_parallel(&self, task: &Task, from: Checkpoint, len: u64) -> Result<()> {
        let starts = self.segment_starts(task, from.at, len)?;
        let mut carry = from.scan;
        let mut first = true;
        let work = |i: usize, buffer: &mut Vec<u8>| -> Result<Segment> {
            let start = starts.get(i).copied().unwrap_or(len);
            let end = starts.get(i + 1).copied().unwrap_or(len);
            let pair = match i {
                0 => Pair { out: from.scan, within: from.scan },
                _ => {
                    let mut before = [0; 2];
                    self.source.read_into(task, start - 2, &mut before)?;
                    Pair::after(&self.rules, before)
                }
            };
            self.scan_segment(task, start..end, pair, buffer)
        };
        ordered::run(starts.len(), work, |segment| {
            self.stitch(&mut carry, std::mem::take(&mut first), segment);
            Ok(true)
        })?;
        self.known.lock().finish(carry, &self.rules);
        Ok(())
    }

    /// Where segments begin: never right behind a quote, since it might be half of a pair, nor behind
    /// spaces where these may make an empty line.
    fn segment_starts(&self, task: &Task, from: u64, len: u64) -> Result<Vec<u64>> {
        let mut starts = vec![from];
        let mut at = from.saturating_add(self.segment.max(2));
        while at < len {
            let unclear =
                |byte: u8| Some(byte) == self.rules.quote || self.rules.spaces && super::scan::is_space(byte);
            let moved = match self.rules.quote.is_some() || self.rules.spaces {
                false => Some(0),
                true => {
                    let most = QUOTES.min((len - at) as usize);
                    let mut found = None;
                    // One byte tells nearly always.
                    for size in [1, most] {
                        let bytes = self.source.read_up_to(task, at - 1, size)?;
                        found = bytes.iter().position(|&byte| !unclear(byte));
                        if found.is_some() {
                            break;
                        }
                    }
                    found
                }
            };
            if let Some(moved) = moved.map(|m| at + m as u64).filter(|&m| m < len) {
                starts.push(moved);
            }
            at = at.saturating_add(self.segment.max(2));
        }
        // A long run of quotes moves several starts to the same place.
        starts.dedup();
        Ok(starts)
    }

    fn scan_segment(
        &self,
        task: &Task,
        range: std::ops::Range<u64>,
        mut pair: Pair,
        buffer: &mut Vec<u8>,
    ) -> Result<Segment> {
        let mut marks = Vec::new();
        let mut at = range.start;
        while at < range.end {
            let n = (range.end - at).min(STEP as u64) as usize;
            let n = fill(&self.source, task, at, buffer, n)?;
            pair.feed(&self.rules, buffer.get(..n).unwrap_or_default());
            at += n as u64;
            task.advance(n as u64)?;
            marks.push((at, pair));
        }
        Ok(marks)
    }

    /// Settles the next segment; the first one began with the frontier's own count.
    fn stitch(&self, carry: &mut Scan, first: bool, segment: Segment) {
        let before = *carry;
        let mut known = self.known.lock();
        for (at, pair) in segment {
            let mut scan = if before.state == State::In { pair.within } else { pair.out };
            if !first {
                scan.ended += before.ended;
            }
            *carry = scan;
            known.push(Checkpoint { at, scan });
        }
    }
}

impl Known {
    fn frontier(&self) -> Checkpoint {
        // The list is never empty: it begins with the start.
        self.checkpoints.last().copied().unwrap_or(Checkpoint { at: 0, scan: Scan::start() })
    }

    /// The last checkpoint before the end of record `record - 1`.
    fn before(&self, record: u64) -> Checkpoint {
        let i = self.checkpoints.partition_point(|c| c.scan.ended < record);
        self.checkpoints.get(i.saturating_sub(1)).copied().unwrap_or_else(|| self.frontier())
    }

    fn push(&mut self, checkpoint: Checkpoint) {
        if checkpoint.at > self.frontier().at {
            self.checkpoints.push(checkpoint);
        }
    }

    fn finish(&mut self, scan: Scan, rules: &Rules) {
        let records = scan.ended + u64::from(scan.open_record(rules));
        self.total = Some(Total { records, unclosed: scan.state == State::In });
    }
}

/// Fills `buffer` with up to `most` bytes from `at`; returns how many, 0 at the end. Copies, so that
/// the pages of a mapped file stay out of the process.
pub fn fill(source: &Source, task: &Task, at: u64, buffer: &mut Vec<u8>, most: usize) -> Result<usize> {
    match source.known_len() {
        Some(len) => {
            let n = len.saturating_sub(at).min(most as u64) as usize;
            if buffer.len() < n {
                buffer.resize(most, 0);
            }
            match buffer.get_mut(..n) {
                Some(part) if n > 0 => source.read_into(task, at, part)?,
                _ => return Ok(0),
            }
            Ok(n)
        }
        None => {
            let bytes = source.read_up_to(task, at, most)?;
            buffer.clear();
            buffer.extend_from_slice(&bytes);
            Ok(bytes.len())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::delimited::scan::Ends;
    use proptest::prelude::*;

    fn starts(rules: &Rules, text: &[u8]) -> Vec<u64> {
        let mut scan = Scan::start();
        let mut found = vec![0];
        for (i, &byte) in text.iter().enumerate() {
            let ended = scan.ended;
            scan.step(rules, byte);
            if scan.ended > ended {
                let pair = rules.blanks && byte == b'\r' && text.get(i + 1) == Some(&b'\n');
                found.push(i as u64 + 1 + u64::from(pair));
            }
        }
        if !scan.open_record(rules) {
            found.pop();
        }
        found
    }

    proptest! {
        #[test]
        fn any_segment_size_gives_the_sequential_index(
            text in prop::collection::vec(prop::sample::select(b"\"\"\",\n\nab\r ".to_vec()), 0..600),
            segment in 2u64..80, blanks: bool, spaces: bool, quoted: bool, any: bool,
        ) {
            let ends = if any { Ends::Any } else { Ends::LineFeed };
            let rules = Rules { ends, quote: quoted.then_some(b'"'), delimiter: b',', padded: false, runs: false, blanks, spaces };
            let task = Task::new();
            let expected = starts(&rules, &text);
            let source = Source::memory("t", text.clone());
            let index = Index::with_segments(source, rules, 0, segment);
            let total = index.count(&task).unwrap();
            prop_assert_eq!(total as usize, expected.len());
            for (record, &at) in expected.iter().enumerate() {
                prop_assert_eq!(index.locate(&task, record as u64).unwrap(), Some(at));
            }
            prop_assert_eq!(index.locate(&task, total.max(1)).unwrap(), None);
        }

        #[test]
        fn a_record_is_found_without_an_index(text in prop::collection::vec(prop::sample::select(b"\",\n\rab".to_vec()), 1..300), any: bool) {
            let ends = if any { Ends::Any } else { Ends::LineFeed };
            let rules = Rules { ends, quote: Some(b'"'), delimiter: b',', padded: false, runs: false, blanks: true, spaces: false };
            let index = Index::new(Source::memory("t", text.clone()), rules, 0);
            let task = Task::new();
            for (record, &at) in starts(&rules, &text).iter().enumerate() {
                prop_assert_eq!(index.locate(&task, record as u64).unwrap(), Some(at));
            }
        }
    }

    #[test]
    fn a_cancelled_count_stops_and_can_be_done_again() {
        let index = Index::new(Source::memory("t", "1,2\n".repeat(1 << 20)), Rules::text(), 0);
        let task = Task::new();
        task.cancel();
        assert!(index.count(&task).unwrap_err().is_cancelled());
        assert_eq!(index.count(&Task::new()).unwrap(), 1 << 20);
        let (known, at) = index.known();
        assert_eq!((known, at), (1 << 20, 4 << 20));
    }
}
