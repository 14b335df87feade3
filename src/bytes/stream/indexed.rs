//! Large deflated streams (gzip files, ZIP members), read at random by an index of places where inflating
//! can begin. Nothing is written to disk.
//!
//! A *front* inflates forwards as far as somebody asks. About every megabyte it stops between two blocks
//! and notes the place with the 32 KB that came out before it, packed; where a block is longer than that
//! (fast compressors write one for the whole file), it saves the decoder's state. Whatever lies behind the front is
//! inflated anew from the place before it, by any number of threads, also while the front goes on. The
//! places' memory is bounded: where there are too many, every second one is dropped. A cancelled
//! request leaves the front where it is, and the next one goes on from there.

use super::frames::{Place, Stage};
use super::spooled::Progress;
use super::{Codec, Feed, Frames, Notes};
use crate::bytes::cache::Reservation;
use crate::bytes::codec::gzip::{Bare, Gzip};
use crate::bytes::codec::inflater::{Inflater, WINDOW};
use crate::bytes::error::{Error, Result};
use crate::bytes::source::{ReadAt, Source};
use crate::bytes::task::Task;
use parking_lot::{Mutex, MutexGuard, RwLock};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// How many bytes are inflated between two looks at the task.
const STEP: usize = 256 << 10;
/// How many bytes before the front are kept, twice that at most: whoever reads on does not inflate twice.
const RECENT: usize = 2 << 20;
/// How far apart the places are at first: half of that is inflated for a random read.
const SPACING: u64 = 1 << 20;
/// The most memory for the places of one stream.
const BUDGET: usize = 64 << 20;
/// What a place takes beside its window.
const ENTRY: usize = std::mem::size_of::<Mark>();
/// What a saved decoder takes: its window, twice, and its tables.
const STATE: usize = 80 << 10;
/// How many readers are kept where they stand, for whoever reads on.
const READERS: usize = 4;

/// A deflated stream, readable by ranges.
pub struct Indexed {
    source: Source,
    start: u64,
    bare: Option<Bare>,
    front: Mutex<Front>,
    /// How many bytes the front has made.
    made: AtomicU64,
    marks: RwLock<Marks>,
    readers: Mutex<Vec<Reader>>,
    end: RwLock<Option<Notes>>,
    /// The damage was shown to the user, so the place where it begins counts as the end.
    told: AtomicBool,
}

/// Where decoding stands.
#[derive(Default)]
struct Front {
    running: Option<(Frames<Gzip>, Feed)>,
    /// The last bytes that came out; they end at `made`.
    recent: Vec<u8>,
    scratch: Vec<u8>,
}

/// A place and what came out before it.
#[derive(Clone)]
struct Mark {
    /// Its offset in what comes out.
    offset: u64,
    place: Place,
    before: Before,
}

#[derive(Clone)]
enum Before {
    /// Nothing is needed.
    Nothing,
    /// The last 32 KB, packed.
    Window(Arc<[u8]>),
    /// A decoder as it stood there.
    State(Arc<Mutex<Inflater>>),
}

impl Before {
    fn bytes(&self) -> usize {
        match self {
            Before::Nothing => 0,
            Before::Window(packed) => packed.len(),
            Before::State(_) => STATE,
        }
    }
}

/// All places, in order.
struct Marks {
    list: Vec<Mark>,
    bytes: usize,
    reservation: Reservation,
    spacing: u64,
}

/// A decoder that stands somewhere behind the front.
struct Reader {
    codec: Frames<Gzip>,
    feed: Feed,
    position: u64,
}

impl Indexed {
    /// The gzip stream in `source`.
    pub fn gzip(source: Source) -> Self {
        Self::new(source, 0, None)
    }

    /// The bare deflate data in `source` from byte `start`.
    pub fn bare(source: Source, start: u64, bare: Bare) -> Self {
        Self::new(source, start, Some(bare))
    }

    fn new(source: Source, start: u64, bare: Option<Bare>) -> Self {
        Indexed {
            source,
            start,
            bare,
            front: Mutex::default(),
            made: AtomicU64::new(0),
            marks: RwLock::new(Marks {
                list: Vec::new(),
                bytes: 0,
                reservation: Reservation::default(),
                spacing: SPACING,
            }),
            readers: Mutex::default(),
            end: RwLock::new(None),
            told: AtomicBool::new(false),
        }
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
        Some(end)
    }

    fn made(&self) -> u64 {
        self.made.load(Ordering::Acquire)
    }

    /// The damage that was not shown yet.
    fn damage(&self) -> Option<Error> {
        if self.told.load(Ordering::Relaxed) {
            return None;
        }
        self.end.read().as_ref().and_then(|notes| notes.problem.clone())
    }

    fn codec(&self) -> Result<Frames<Gzip>> {
        Gzip::new(self.bare.clone()).map(Frames::new)
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

    /// Moves the front until it has made `to` bytes, or to the end.
    fn reach(&self, task: &Task, to: u64) -> Result<()> {
        while self.made() < to && self.end.read().is_none() {
            let mut front = self.lock(task)?;
            let progress = Progress::begin(task, to.saturating_sub(self.made()), &self.source);
            while self.made() < to && self.end.read().is_none() {
                task.check()?;
                self.step(task, &mut front)?;
                if let Some((_, feed)) = &front.running {
                    progress.at(feed.at());
                }
            }
        }
        Ok(())
    }

    /// Decodes one step; notes the place if there is one, or the end.
    fn step(&self, task: &Task, front: &mut Front) -> Result<()> {
        let mut running = match front.running.take() {
            Some(running) => running,
            None => self.begin()?,
        };
        let (codec, feed) = (&mut running.0, &mut running.1);
        let at = self.made();
        let due = self.marks.read().due(at);
        if due && !codec.stop {
            (codec.stop, codec.decoder.inflater.stop) = (true, true);
        }
        front.scratch.resize(STEP, 0);
        let got = codec.decode(task, feed, &mut front.scratch).map_err(Error::from);
        let made = got.as_ref().map_or(0, |&made| made);
        front.keep(made);
        let place = codec.place.take();
        if let Some(place) = place {
            codec.decoder.inflater.stop = false;
            self.marks.write().push(at + made as u64, place, &front.recent)?;
        } else if codec.stop
            && self.marks.read().overdue(at + made as u64)
            && codec.stage == Stage::Inside
            && codec.decoder.is_in_data()
        {
            (codec.stop, codec.decoder.inflater.stop) = (false, false);
            let state = codec.decoder.inflater.copy()?;
            self.marks.write().save(at + made as u64, feed.at(), state);
        }
        self.made.store(at + made as u64, Ordering::Release);
        match got {
            Ok(0) if place.is_none() => self.finish(codec.notes(), front),
            Ok(_) => front.running = Some(running),
            // Nothing was used up; the next request tries again.
            Err(error) if error.is_cancelled() || error.kind() == crate::bytes::error::ErrorKind::Io => {
                front.running = Some(running);
                return Err(error);
            }
            Err(error) => {
                let mut notes = codec.notes();
                notes.blame(error);
                self.finish(notes, front);
            }
        }
        Ok(())
    }

    fn begin(&self) -> Result<(Frames<Gzip>, Feed)> {
        let mut marks = self.marks.write();
        if marks.list.is_empty() {
            // Bare data have no header: the first block begins at their first bit.
            let first = match self.bare {
                Some(_) => Place::Block { at: self.start, bits: 0 },
                None => Place::Header(self.start),
            };
            marks.push(0, first, &[])?;
        }
        Ok((self.codec()?, self.feed(self.start)))
    }

    fn finish(&self, notes: Notes, front: &mut Front) {
        *front = Front::default();
        *self.end.write() = Some(notes);
    }

    /// Copies what lies close before the front, if no other thread works on it.
    fn copy_recent(&self, offset: u64, out: &mut [u8]) -> bool {
        let Some(front) = self.front.try_lock() else { return false };
        let first = self.made() - front.recent.len() as u64;
        let Some(from) = offset.checked_sub(first).and_then(|from| usize::try_from(from).ok()) else {
            return false;
        };
        match front.recent.get(from..from.saturating_add(out.len())) {
            Some(bytes) => {
                out.copy_from_slice(bytes);
                true
            }
            None => false,
        }
    }

    /// Inflates anew from the place before `offset`.
    fn inflate_anew(&self, task: &Task, offset: u64, out: &mut [u8]) -> Result<()> {
        let mut reader = self.reader(task, offset)?;
        let skip = (offset - reader.position).min(STEP as u64) as usize;
        let mut skipped = vec![0; skip];
        while reader.position < offset {
            let part = (offset - reader.position).min(STEP as u64) as usize;
            reader.fill(task, skipped.get_mut(..part).unwrap_or_default())?;
        }
        for part in out.chunks_mut(STEP) {
            reader.fill(task, part)?;
        }
        let mut readers = self.readers.lock();
        if readers.len() >= READERS {
            readers.remove(0);
        }
        readers.push(reader);
        Ok(())
    }

    /// A reader that stands at `offset` or as close before it as a place or an older reader is.
    fn reader(&self, task: &Task, offset: u64) -> Result<Reader> {
        let mark = self.marks.read().before(offset);
        let mark = mark.ok_or_else(|| Error::bug("a stream without a first place"))?;
        let mut readers = self.readers.lock();
        let fits = |reader: &Reader| (mark.offset..=offset).contains(&reader.position);
        if let Some(n) = readers.iter().position(fits) {
            return Ok(readers.remove(n));
        }
        drop(readers);
        let (Place::Header(at) | Place::Block { at, .. } | Place::Inside(at)) = mark.place;
        let mut codec = self.codec()?;
        let inflater = &mut codec.decoder.inflater;
        match (mark.place, &mark.before) {
            (Place::Block { at, bits }, before) => {
                let byte = self.source.read(task, at.saturating_sub(u64::from(bits > 0))..at)?;
                let window = match before {
                    Before::Window(packed) => zstd::bulk::decompress(packed, WINDOW)?,
                    _ => Vec::new(),
                };
                inflater.resume(&window, bits, byte.first().copied().unwrap_or(0))?;
            }
            (Place::Inside(_), Before::State(state)) => *inflater = state.lock().copy()?,
            _ => {}
        }
        if !matches!(mark.place, Place::Header(_)) {
            (codec.stage, codec.number) = (Stage::Inside, 1);
        }
        Ok(Reader { codec, feed: self.feed(at), position: mark.offset })
    }

    fn feed(&self, at: u64) -> Feed {
        Feed::new(self.source.clone(), at..u64::MAX)
    }
}

impl Front {
    /// Adds the first `made` bytes of the scratch to the recent ones.
    fn keep(&mut self, made: usize) {
        if self.recent.len() > 2 * RECENT {
            self.recent.drain(..self.recent.len() - RECENT);
        }
        self.recent.extend_from_slice(self.scratch.get(..made).unwrap_or_default());
    }
}

impl Reader {
    /// Fills `out` from where the reader stands: from bytes that the front has seen to be good.
    fn fill(&mut self, task: &Task, out: &mut [u8]) -> Result<()> {
        let mut done = 0;
        while let Some(rest) = out.get_mut(done..).filter(|rest| !rest.is_empty()) {
            task.check()?;
            let made = self.codec.decode(task, &mut self.feed, rest).map_err(Error::from)?;
            if made == 0 {
                return Err(Error::io("the file has changed since it was opened").at(self.feed.at()));
            }
            done += made;
            self.position += made as u64;
        }
        Ok(())
    }
}

impl Marks {
    /// Whether a place is wanted behind `offset`.
    fn due(&self, offset: u64) -> bool {
        self.list.last().is_some_and(|last| offset - last.offset >= self.spacing)
    }

    /// Whether a place was wanted long ago.
    fn overdue(&self, offset: u64) -> bool {
        self.list.last().is_some_and(|last| offset - last.offset >= 2 * self.spacing)
    }

    /// Adds a place between blocks or members; `out` is what came out last.
    fn push(&mut self, offset: u64, place: Place, out: &[u8]) -> Result<()> {
        let window = out.get(out.len().saturating_sub(WINDOW)..).unwrap_or_default();
        let before = match place {
            Place::Block { .. } if !window.is_empty() => {
                Before::Window(zstd::bulk::compress(window, 1)?.into())
            }
            _ => Before::Nothing,
        };
        self.add(Mark { offset, place, before });
        Ok(())
    }

    /// Adds a place inside a block, before the byte `at`.
    fn save(&mut self, offset: u64, at: u64, state: Inflater) {
        let before = Before::State(Arc::new(Mutex::new(state)));
        self.add(Mark { offset, place: Place::Inside(at), before });
    }

    /// Adds a place; drops every second one when they take too much.
    fn add(&mut self, mark: Mark) {
        self.bytes += ENTRY + mark.before.bytes();
        self.list.push(mark);
        if self.bytes > BUDGET {
            let mut keep = false;
            self.list.retain(|_| {
                keep = !keep;
                keep
            });
            self.list.shrink_to_fit();
            self.bytes = self.list.iter().map(|mark| ENTRY + mark.before.bytes()).sum();
            self.spacing *= 2;
        }
        self.reservation.set(self.bytes);
    }

    /// The last place at or before `offset`.
    fn before(&self, offset: u64) -> Option<Mark> {
        let behind = self.list.partition_point(|mark| mark.offset <= offset);
        self.list.get(behind.checked_sub(1)?).cloned()
    }
}

impl ReadAt for Indexed {
    fn known_len(&self) -> Option<u64> {
        match &self.bare {
            Some(bare) => Some(bare.len),
            // Not while there is damage that nobody was told of.
            None => (self.end.read().is_some() && self.damage().is_none()).then(|| self.made()),
        }
    }

    /// # Errors
    /// The stream's damage, unless it was shown at open: a length would hide it.
    fn len(&self, task: &Task) -> Result<u64> {
        if let Some(bare) = &self.bare {
            return Ok(bare.len);
        }
        self.reach(task, u64::MAX)?;
        self.damage().map_or_else(|| Ok(self.made()), Err)
    }

    /// # Errors
    /// The stream's damage for a read that begins where the good bytes end, unless it was shown at
    /// open. The last bytes of bare data, too.
    fn read_at(&self, task: &Task, offset: u64, out: &mut [u8]) -> Result<usize> {
        let end = offset.saturating_add(out.len() as u64);
        // Of bare data the length is known before their end was seen.
        let last = self.bare.as_ref().is_some_and(|bare| end >= bare.len);
        self.reach(task, if last { u64::MAX } else { end })?;
        let there = self.made().saturating_sub(offset);
        let want = out.len().min(usize::try_from(there).unwrap_or(usize::MAX));
        if want == 0 && !out.is_empty() {
            return self.damage().map_or(Ok(0), Err);
        }
        let out = out.get_mut(..want).unwrap_or_default();
        if !self.copy_recent(offset, out) {
            self.inflate_anew(task, offset, out)?;
        }
        match self.damage() {
            // Whoever reads the last bytes that were promised is told if they are the wrong ones.
            Some(damage) if last => Err(damage),
            _ => Ok(want),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gz(text: &[u8]) -> Vec<u8> {
        use std::io::Write;
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(2));
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn one_block_for_everything_is_read_at_random_too() {
        use std::io::Write;
        let (text, task) = (text(), Task::new());
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(&text).unwrap();
        let stream = Indexed::gzip(Source::memory("x.gz", encoder.finish().unwrap()));
        assert_eq!(stream.len(&task).unwrap(), text.len() as u64);
        let states = |stream: &Indexed| {
            let marks = stream.marks.read();
            marks.list.iter().filter(|mark| matches!(mark.before, Before::State(_))).count()
        };
        assert!(states(&stream) > 5);
        let mut out = vec![0; 1000];
        for offset in [19_000_000, 3_000_000, 3_001_000, 0, 12_345_678, 12_000_000] {
            stream.read_at(&task, offset as u64, &mut out).unwrap();
            assert!(out == text[offset..offset + 1000], "{offset}");
        }
    }

    /// 20 MB of lines, and between them 3 MB that no compressor makes smaller.
    fn text() -> Vec<u8> {
        let line = |n: u64| format!("{:016}\n", n.wrapping_mul(0x9e37_79b9_7f4a_7c15)).into_bytes();
        let mut text: Vec<u8> = (0..600_000).flat_map(line).collect();
        text.extend(noise(3 << 20));
        text.extend((600_000..1_200_000).flat_map(line));
        text
    }

    fn noise(len: usize) -> Vec<u8> {
        let mut state = 1u64;
        let step = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        };
        std::iter::repeat_with(step).take(len).collect()
    }

    #[test]
    fn any_place_reads_what_was_compressed() {
        let (text, task) = (text(), Task::new());
        let stream = Indexed::gzip(Source::memory("x.gz", gz(&text)));
        assert!(!stream.ahead(&task, 1 << 20).unwrap());
        let check = |offset: usize, len: usize| {
            let mut out = vec![0; len];
            let got = stream.read_at(&task, offset as u64, &mut out).unwrap();
            let expected = &text[offset.min(text.len())..(offset + len).min(text.len())];
            assert!(out[..got] == *expected, "{offset} {len}");
        };
        check(0, 1000);
        check(8_000_000, 2_000_000);
        check(15_000_000, 100);
        check(9_000_000, 100);
        assert_eq!(stream.known_len(), None);
        check(text.len() - 10, 100);
        assert_eq!(stream.known_len(), Some(text.len() as u64));
        for offset in [text.len() + 5, 10_000_000, 0, 19_999_999, 8_388_600] {
            check(offset, 3000);
        }
        assert_eq!(stream.len(&task).unwrap(), text.len() as u64);
    }

    #[test]
    fn a_cut_stream_reads_up_to_the_cut_and_then_says_so() {
        let (text, task) = (text(), Task::new());
        let mut file = gz(&text);
        file.truncate(file.len() - file.len() / 10);
        let stream = Indexed::gzip(Source::memory("x.gz", file));
        assert!(!stream.ahead(&task, 1 << 20).unwrap());
        let mut out = vec![0; text.len()];
        let got = stream.read_at(&task, 0, &mut out).unwrap();
        assert!(got > text.len() / 2 && out[..got] == text[..got]);
        let error = stream.read_at(&task, got as u64, &mut out).unwrap_err();
        assert!(error.message().contains("cut off"), "{error}");
        assert!(stream.len(&task).is_err());
    }

    #[test]
    fn a_cancelled_count_goes_on_where_it_was() {
        let (text, task) = (text(), Task::new());
        let stream = Indexed::gzip(Source::memory("x.gz", gz(&text)));
        let mut out = [0; 8];
        stream.read_at(&task, 12_000_000, &mut out).unwrap();
        task.cancel();
        assert!(stream.len(&task).unwrap_err().is_cancelled());
        assert!((12_000_000..13_000_000).contains(&stream.made()));
        assert_eq!(stream.len(&Task::new()).unwrap(), text.len() as u64);
    }

    #[test]
    fn members_of_any_size_are_one_stream() {
        let (text, task) = (text(), Task::new());
        for size in [60_000, 5_000_000] {
            let file: Vec<u8> = text.chunks(size).flat_map(gz).collect();
            let stream = Indexed::gzip(Source::memory("x.gz", file));
            assert_eq!(stream.len(&task).unwrap(), text.len() as u64);
            let marks = stream.marks.read();
            assert!(marks.list.len() > 10 && marks.bytes < 1 << 20, "{} {}", marks.list.len(), marks.bytes);
            if size < 100_000 {
                assert!(marks.list.iter().all(|mark| matches!(mark.place, Place::Header(_))));
            }
            let mut out = vec![0; 100_000];
            for offset in [19_000_000, 4_950_000, 59_990, 0, 12_345_678] {
                assert_eq!(stream.read_at(&task, offset as u64, &mut out).unwrap(), out.len());
                assert!(out == text[offset..offset + out.len()], "{size} {offset}");
            }
        }
    }

    #[test]
    fn a_wrong_checksum_is_told_at_the_end_and_hides_nothing() {
        let (text, task) = (text(), Task::new());
        let (mut file, second) = (gz(&text[..9_000_000]), gz(&text[9_000_000..]));
        let at = file.len() - 8;
        file[at] ^= 1;
        file.extend(second);
        let stream = Indexed::gzip(Source::memory("x.gz", file));
        let error = stream.len(&task).unwrap_err();
        assert!(error.message().contains("gzip member 1: its checksum"), "{error}");
        assert_eq!(error.offset(), Some(at as u64));
        let mut out = vec![0; text.len()];
        assert_eq!(stream.read_at(&task, 0, &mut out).unwrap(), text.len());
        assert!(out == text);
    }

    #[test]
    fn a_damaged_block_leaves_what_came_before() {
        let (text, task) = (text(), Task::new());
        let mut file = gz(&text);
        let middle = file.len() / 4;
        file[middle..middle + 8192].copy_from_slice(&noise(8192));
        let stream = Indexed::gzip(Source::memory("x.gz", file));
        let error = stream.len(&task).unwrap_err();
        assert!(error.offset().is_some_and(|at| at.abs_diff(middle as u64) < 300_000), "{error}");
        let good = stream.made() as usize - 100_000;
        let mut out = vec![0; 1000];
        stream.read_at(&task, good as u64, &mut out).unwrap();
        assert!(out == text[good..good + 1000]);
    }

    #[test]
    fn bare_data_are_compared_with_their_promise() {
        let (text, task) = (text(), Task::new());
        let file = gz(&text);
        let data = file[10..file.len() - 8].to_vec();
        let bare = Bare { what: "member x".into(), crc: crc32fast::hash(&text), len: text.len() as u64 };
        for (crc, good) in [(bare.crc, true), (bare.crc ^ 1, false)] {
            let bare = Bare { crc, ..bare.clone() };
            let stream = Indexed::bare(Source::memory("x", data.clone()), 0, bare);
            let mut out = vec![0; 10];
            for offset in [15_000_000, 3] {
                stream.read_at(&task, offset as u64, &mut out).unwrap();
                assert!(out == text[offset..offset + 10]);
            }
            let last = stream.read_at(&task, text.len() as u64 - 10, &mut out);
            assert_eq!(last.is_ok(), good, "{last:?}");
        }
    }

    #[test]
    fn too_many_places_are_thinned() {
        let mut marks =
            Marks { list: Vec::new(), bytes: 0, reservation: Reservation::default(), spacing: SPACING };
        let noise = noise(WINDOW);
        let mut offset = 0;
        for _ in 0..5_000 {
            marks.push(offset, Place::Block { at: offset / 2, bits: 0 }, &noise).unwrap();
            offset += marks.spacing;
            assert!(marks.bytes <= BUDGET);
        }
        assert!(marks.spacing > SPACING && marks.list.len() > 500);
        assert!(marks.list.is_sorted_by_key(|mark| mark.offset));
        assert_eq!(marks.before(0).unwrap().offset, 0);
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(24))]
        #[test]
        fn no_damage_makes_it_panic_or_changes_what_came_before(at in 0usize..2_000_000, value: u8, cut in 0usize..2_000_000) {
            let text: Vec<u8> = text().into_iter().skip(8_000_000).take(4_000_000).collect();
            let mut file = gz(&text);
            let len = file.len();
            file[at % len] = value;
            file.truncate(len - cut % (len / 4));
            let stream = Indexed::gzip(Source::memory("x.gz", file));
            let task = Task::new();
            let mut out = vec![0; 10_000];
            let good = (at % len).saturating_sub(200_000);
            for offset in [3_900_000u64, 100, 2_500_000, 1_200_000] {
                // Deflate makes no more than it takes of this text, so this much is before the damage.
                if let Ok(got) = stream.read_at(&task, offset, &mut out)
                    && (offset as usize + got) < good
                {
                    proptest::prop_assert!(out[..got] == text[offset as usize..offset as usize + got]);
                }
            }
        }
    }
}
