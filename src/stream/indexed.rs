//! Large gzip files: read forwards by all cores, and at random by an index of places where inflating
//! can begin, built on the way. Nothing is written to disk.
//!
//! The first megabytes come from a plain decoder at once. Beyond them a *front* decodes forwards and
//! keeps its last 32 MB. Whoever asks for something behind those, or for the length, drives the front
//! to the end; from then on the index answers. A cancelled request leaves the front where it is, and
//! the next one goes on from there. A file that does not check out is handed to a plain decoder,
//! which keeps what is good and names the damage.

use super::spooled::Progress;
use super::{Notes, Spooled, gzip};
use crate::error::{Error, Result};
use crate::source::{ReadAt, Source};
use crate::task::Task;
use parking_lot::{Mutex, MutexGuard};
use rapidgzip_core::{Decoder, DeflateIndex, IndexOptions, IndexedReader, IndexingDecoderReader};
use std::io::{Read, Seek, SeekFrom};
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Up to here the plain decoder answers.
const HEAD: u64 = 8 << 20;
/// How many bytes behind the front are kept, twice that at most.
const WINDOW: usize = 16 << 20;
/// How many bytes the front gives between two looks at the task.
const STEP: usize = 1 << 20;
/// How far apart the places in the index are: half of that is inflated for a random read.
const SPACING: u64 = 2 << 20;
/// The most places in the index: each takes up to 32 KB of memory, and each reader has a copy.
const PLACES: u64 = 2048;
/// How many readers by index are kept: one for a scan, one for a view.
const READERS: usize = 2;

/// A large gzip file, decoded.
pub struct Indexed {
    source: Source,
    plain: Spooled,
    front: Mutex<Front>,
    /// The length and the index, once the whole stream was good; or that it was not.
    index: OnceLock<Option<Index>>,
    /// How far the compressed file was read.
    reached: Arc<AtomicU64>,
}

struct Index {
    len: u64,
    index: DeflateIndex,
    readers: Mutex<Vec<Random>>,
}

/// A reader by index that may change threads.
struct Random(IndexedReader<Input>);

// SAFETY: what keeps the reader from being `Send` are the raw pointers in its inflater. They lead to the
// inflater's own heap memory and, during a call, to the buffers of that call; nothing in it belongs to
// a thread, and each reader is used by the one thread that took it out of the pool.
unsafe impl Send for Random {}

/// Where decoding stands.
#[derive(Default)]
struct Front {
    reader: Option<IndexingDecoderReader>,
    /// The last decoded bytes and the offset of the first of them.
    window: Vec<u8>,
    start: u64,
    scratch: Vec<u8>,
}

impl Front {
    fn end(&self) -> u64 {
        self.start + self.window.len() as u64
    }
}

impl Indexed {
    /// The gzip stream in `source`, whose length must be known.
    pub fn new(source: Source) -> Self {
        let plain = Spooled::new(source.clone(), 0, Box::new(|| Ok(Box::new(gzip::Gzip::new()))));
        Indexed { source, plain, front: Mutex::default(), index: OnceLock::new(), reached: Arc::default() }
    }

    /// Decodes the first megabytes; what there is to say if they are all.
    pub fn begin(&self, task: &Task) -> Result<Option<Notes>> {
        self.plain.ahead(task, HEAD)?;
        Ok(self.plain.tell())
    }

    /// The index, after decoding everything that was not decoded yet. `None` if the stream is damaged
    /// and the plain decoder has to answer.
    fn index(&self, task: &Task) -> Result<Option<&Index>> {
        let mut front = self.lock(task)?;
        let progress = Progress::begin(task, u64::MAX, &self.source);
        while self.index.get().is_none() {
            self.step(task, &mut front, &progress)?;
        }
        Ok(self.index.get().and_then(Option::as_ref))
    }

    fn lock(&self, task: &Task) -> Result<MutexGuard<'_, Front>> {
        loop {
            if let Some(front) = self.front.try_lock_for(Duration::from_millis(20)) {
                return Ok(front);
            }
            task.check()?;
        }
    }

    /// Decodes one step forwards; sets the index at the end.
    fn step(&self, task: &Task, front: &mut Front, progress: &Progress) -> Result<()> {
        task.check()?;
        if front.reader.is_none() {
            front.window.clear();
            front.start = 0;
            match self.start() {
                Some(reader) => front.reader = Some(reader),
                None => return self.settle(front, None),
            }
        }
        let Some(reader) = &mut front.reader else { return Ok(()) };
        if front.window.len() >= 2 * WINDOW {
            front.window.drain(..WINDOW);
            front.start += WINDOW as u64;
        }
        front.scratch.resize(STEP, 0);
        let got = reader.read(&mut front.scratch);
        let n = got.as_ref().map_or(0, |&n| n);
        front.window.extend_from_slice(front.scratch.get(..n).unwrap_or_default());
        progress.at(self.reached.load(Ordering::Relaxed));
        match got {
            Ok(0) => {
                let report = front.reader.take().and_then(|reader| reader.finish().ok());
                self.settle(front, report.map(|report| report.index))
            }
            Ok(_) => Ok(()),
            Err(_) => self.settle(front, None),
        }
    }

    fn start(&self) -> Option<IndexingDecoderReader> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let decoder = Decoder::builder().decoder_threads(cores.min(8)).build().ok()?;
        // Text is usually four times as long as its gzip file.
        let spacing = (self.source.known_len()? / PLACES).saturating_mul(4).max(SPACING);
        let options =
            IndexOptions { checkpoint_spacing: NonZeroU64::new(spacing)?, ..IndexOptions::default() };
        decoder.reader_with_index(self.input(), options).ok()
    }

    fn input(&self) -> Input {
        Input { source: self.source.clone(), reached: self.reached.clone() }
    }

    /// Notes how the stream ended.
    fn settle(&self, front: &mut Front, index: Option<DeflateIndex>) -> Result<()> {
        let len = front.end();
        *front = Front::default();
        let _ = self.index.set(index.map(|index| Index { len, index, readers: Mutex::default() }));
        Ok(())
    }

    /// Copies `offset..` from the front, which moves forwards as far as that takes; how many bytes
    /// that gave. Fewer than asked for, the index or the plain decoder has the rest.
    fn from_front(&self, task: &Task, offset: u64, out: &mut [u8]) -> Result<usize> {
        let mut front = self.lock(task)?;
        let to = offset.saturating_add(out.len() as u64);
        let progress = Progress::begin(task, to.saturating_sub(front.end()), &self.source);
        let mut done = 0;
        while done < out.len() && self.index.get().is_none() {
            let Some(from) = (offset + done as u64).checked_sub(front.start) else { break };
            let from = usize::try_from(from).unwrap_or(usize::MAX);
            let there = front.window.get(from..).unwrap_or_default();
            let rest = out.get_mut(done..).unwrap_or_default();
            let n = there.len().min(rest.len());
            if let (Some(to), Some(from)) = (rest.get_mut(..n), there.get(..n)) {
                to.copy_from_slice(from);
            }
            done += n;
            if done < out.len() {
                self.step(task, &mut front, &progress)?;
            }
        }
        Ok(done)
    }

    fn by_index(&self, task: &Task, index: &Index, offset: u64, out: &mut [u8]) -> Result<usize> {
        let there = usize::try_from(index.len.saturating_sub(offset)).unwrap_or(usize::MAX);
        let want = out.len().min(there);
        let out = out.get_mut(..want).unwrap_or_default();
        let mut reader = index.take(|| self.input(), offset)?;
        reader.0.seek(SeekFrom::Start(offset)).map_err(Error::from)?;
        for part in out.chunks_mut(STEP) {
            task.check()?;
            reader.0.read_exact(part).map_err(|error| self.changed(error))?;
        }
        index.give_back(reader);
        Ok(want)
    }

    /// An error where the whole stream was good a moment ago.
    fn changed(&self, error: std::io::Error) -> Error {
        match Error::from(error) {
            error if error.is_cancelled() => error,
            error => Error::io(format!("gzip stream: it read well before, now: {}", error.message())),
        }
    }
}

impl Index {
    /// A reader that stands at `offset`, or any.
    fn take(&self, input: impl Fn() -> Input, offset: u64) -> Result<Random> {
        let mut readers = self.readers.lock();
        let fits = readers.iter().position(|reader| reader.0.position() == offset);
        let spare = (readers.len() >= READERS).then_some(0);
        if let Some(n) = fits.or(spare) {
            return Ok(readers.remove(n));
        }
        drop(readers);
        IndexedReader::new(input(), self.index.clone())
            .map(Random)
            .map_err(|error| Error::io(format!("gzip index: {error}")))
    }

    fn give_back(&self, reader: Random) {
        let mut readers = self.readers.lock();
        if readers.len() < READERS {
            readers.push(reader);
        }
    }
}

impl ReadAt for Indexed {
    fn known_len(&self) -> Option<u64> {
        match self.index.get() {
            Some(Some(index)) => Some(index.len),
            _ => self.plain.known_len(),
        }
    }

    fn len(&self, task: &Task) -> Result<u64> {
        if self.plain.known_len().is_some() {
            return self.plain.len(task);
        }
        match self.index(task)? {
            Some(index) => Ok(index.len),
            None => self.plain.len(task),
        }
    }

    fn read_at(&self, task: &Task, offset: u64, out: &mut [u8]) -> Result<usize> {
        let end = offset.saturating_add(out.len() as u64);
        if end <= HEAD || self.plain.known_len().is_some() || matches!(self.index.get(), Some(None)) {
            return self.plain.read_at(task, offset, out);
        }
        let done = if self.index.get().is_none() { self.from_front(task, offset, out)? } else { 0 };
        let rest = out.get_mut(done..).unwrap_or_default();
        if rest.is_empty() {
            return Ok(done);
        }
        let more = match self.index(task)? {
            Some(index) => self.by_index(task, index, offset + done as u64, rest)?,
            None => match self.plain.read_at(task, offset + done as u64, rest) {
                // The good bytes first; whoever reads on behind them is told why there are no more.
                Err(error) if done > 0 && !error.is_cancelled() => 0,
                more => more?,
            },
        };
        Ok(done + more)
    }
}

/// The compressed file for the decoder's threads. They read small pieces of a mapped file, so what is
/// cancelled is the work on their results (see `step`), not each read.
struct Input {
    source: Source,
    reached: Arc<AtomicU64>,
}

impl rapidgzip_core::ReadAt for Input {
    fn len(&self) -> std::io::Result<u64> {
        self.source.known_len().ok_or_else(|| std::io::Error::other("length not known"))
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> std::io::Result<usize> {
        let there = rapidgzip_core::ReadAt::len(self)?.saturating_sub(offset);
        let want = buffer.len().min(usize::try_from(there).unwrap_or(usize::MAX));
        let out = buffer.get_mut(..want).unwrap_or_default();
        self.source.read_into(&Task::new(), offset, out)?;
        self.reached.fetch_max(offset.saturating_add(want as u64), Ordering::Relaxed);
        Ok(want)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gz(text: &[u8]) -> Vec<u8> {
        use std::io::Write;
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    /// 20 MB of lines, so that there is something beyond the head.
    fn text() -> Vec<u8> {
        (0..1_200_000u64)
            .flat_map(|n| format!("{:016}\n", n.wrapping_mul(0x9e37_79b9_7f4a_7c15)).into_bytes())
            .collect()
    }

    #[test]
    fn any_place_reads_what_was_compressed() {
        let (text, task) = (text(), Task::new());
        let stream = Indexed::new(Source::memory("x.gz", gz(&text)));
        assert!(stream.begin(&task).unwrap().is_none());
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
        let stream = Indexed::new(Source::memory("x.gz", file));
        assert!(stream.begin(&task).unwrap().is_none());
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
        let stream = Indexed::new(Source::memory("x.gz", gz(&text)));
        let mut out = [0; 8];
        stream.read_at(&task, 12_000_000, &mut out).unwrap();
        task.cancel();
        assert!(stream.len(&task).unwrap_err().is_cancelled());
        let front = stream.front.lock().end();
        assert!(front >= 12_000_000);
        assert_eq!(stream.len(&Task::new()).unwrap(), text.len() as u64);
    }
}
