//! The bytes of a compressed member, inflated from the front as far as somebody reads.
//!
//! A member of up to [`KEEP`] bytes keeps what was inflated, so that a view may go back. Larger ones that
//! are deflated are read through an index ([`Indexed`]); of those of other methods only the decoder's
//! position is kept, and going back starts over. All kept bytes together stay
//! under [`BUDGET`]: the member that was read longest ago gives up its bytes first. Where the end
//! of a member is reached, its length and CRC-32 are compared with what the directory promised.

use super::zip::Member;
use crate::bytes::cache::Held;
use crate::bytes::error::{Error, ErrorKind, Result};
use crate::bytes::limits;
use crate::bytes::source::{ReadAt, Source};
use crate::bytes::stream::gzip::Bare;
use crate::bytes::stream::indexed::Indexed;
use crate::bytes::task::Task;
use bytes::Bytes;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::io::{self, BufRead, Read};
use std::ops::Range;
use std::sync::{Arc, Weak};

/// The largest member whose inflated bytes are kept.
const KEEP: u64 = 64 << 20;
/// The most bytes that are kept for all members of all archives.
const BUDGET: usize = 256 << 20;
/// How much is inflated between two looks at the task.
const STEP: usize = 256 << 10;

/// How a member is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Method {
    Stored,
    Deflate,
    Bzip2,
    Lzma,
    Zstd,
    Xz,
    /// One that is not read, by its number.
    Other(u16),
}

impl Method {
    /// The method of a number in the directory.
    pub fn new(number: u16) -> Self {
        match number {
            0 => Method::Stored,
            8 => Method::Deflate,
            12 => Method::Bzip2,
            14 => Method::Lzma,
            20 | 93 => Method::Zstd,
            95 => Method::Xz,
            other => Method::Other(other),
        }
    }

    /// Its name in words: `deflate`.
    pub fn name(self) -> String {
        match self {
            Method::Stored => "stored".to_owned(),
            Method::Deflate => "deflate".to_owned(),
            Method::Bzip2 => "bzip2".to_owned(),
            Method::Lzma => "lzma".to_owned(),
            Method::Zstd => "zstd".to_owned(),
            Method::Xz => "xz".to_owned(),
            Method::Other(1) => "shrink".to_owned(),
            Method::Other(6) => "implode".to_owned(),
            Method::Other(9) => "deflate64".to_owned(),
            Method::Other(98) => "ppmd".to_owned(),
            Method::Other(number) => format!("method {number}"),
        }
    }
}

/// A compressed member as bytes.
pub struct Stream {
    member: Member,
    source: Source,
    data: Range<u64>,
    state: Arc<Mutex<State>>,
}

/// A decoder somewhere in the member.
#[derive(Default)]
struct State {
    decoder: Option<Box<dyn Read + Send>>,
    /// The task of the read that is going on; the decoder's input looks at it.
    task: Arc<Mutex<Option<Task>>>,
    position: u64,
    crc: crc32fast::Hasher,
    /// Everything up to `position`, where the member is small enough.
    kept: Vec<u8>,
    held: Held,
}

impl State {
    /// Forgets everything; the next read starts over.
    fn reset(&mut self) {
        *self = State::default();
    }
}

/// The members that keep bytes, the one read last at the back.
static KEPT: Mutex<VecDeque<Weak<Mutex<State>>>> = Mutex::new(VecDeque::new());

/// The bytes of the member whose compressed bytes are `data` of `source`.
pub(super) fn stream(source: &Source, data: Range<u64>, member: &Member) -> Result<Arc<dyn ReadAt>> {
    let stream = Stream::new(source, data, member)?;
    if member.method != Method::Deflate || member.size <= KEEP {
        return Ok(Arc::new(stream));
    }
    let what = format!("member {:?}", member.name);
    let bare = Bare { what, crc: member.crc, len: member.size };
    Ok(Arc::new(Indexed::bare(source.clone(), stream.data.start, bare)))
}

impl Stream {
    /// The member whose compressed bytes are `data` of `source`.
    fn new(source: &Source, data: Range<u64>, member: &Member) -> Result<Self> {
        if let Method::Other(_) = member.method {
            let (name, method) = (&member.name, member.method.name());
            return Err(Error::unsupported(format!("member {name:?} is compressed with {method}")));
        }
        // Deflate cannot do better than 1032 : 1, so a larger promise is a lie that would make the
        // reader's length checks worthless.
        if member.method == Method::Deflate && member.size / limits::RATIO > member.stored {
            return Err(Error::malformed(format!(
                "member {:?}: {} deflated bytes cannot hold the {} that are promised",
                member.name, member.stored, member.size
            ))
            .at(member.header));
        }
        Ok(Stream { member: member.clone(), source: source.clone(), data, state: Arc::default() })
    }

    fn decoder(&self, task: Arc<Mutex<Option<Task>>>) -> Result<Box<dyn Read + Send>> {
        let input = Feed { source: self.source.clone(), rest: self.data.clone(), block: Bytes::new(), task };
        Ok(match self.member.method {
            Method::Deflate => Box::new(flate2::bufread::DeflateDecoder::new(input)),
            Method::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(input)),
            Method::Zstd => {
                let mut decoder = zstd::stream::read::Decoder::with_buffer(input)?;
                decoder.window_log_max(27)?;
                Box::new(decoder)
            }
            Method::Xz => Box::new(lzma_rust2::XzReader::new(input, true)),
            Method::Lzma => self.lzma(input)?,
            Method::Stored | Method::Other(_) => return Err(Error::bug("no decoder for this ZIP method")),
        })
    }

    /// LZMA in ZIP: two bytes version, two bytes length of the properties, five bytes properties.
    fn lzma(&self, mut input: Feed) -> Result<Box<dyn Read + Send>> {
        let mut head = [0u8; 9];
        input.read_exact(&mut head).map_err(|e| self.damaged(e, 0))?;
        let [_, _, 5, 0, properties, a, b, c, d] = head else {
            return Err(self.damaged(io::Error::other("properties"), 0));
        };
        let wanted = u32::from_le_bytes([a, b, c, d]);
        // A dictionary larger than the member is never used.
        let dictionary = u64::from(wanted).min(self.member.size.max(4096)).min(limits::CHUNK) as u32;
        let reader =
            lzma_rust2::LzmaReader::new_with_props(input, self.member.size, properties, dictionary, None);
        Ok(Box::new(reader.map_err(|e| self.damaged(e, 0))?))
    }

    /// Fills `out` from the decoder's position; fewer bytes only at the member's end, where length
    /// and CRC are checked.
    fn inflate(&self, task: &Task, state: &mut State, out: &mut [u8]) -> Result<usize> {
        if state.decoder.is_none() {
            state.reset();
            *state.task.lock() = Some(task.clone());
            state.decoder = Some(self.decoder(state.task.clone())?);
        }
        *state.task.lock() = Some(task.clone());
        let left = self.member.size.saturating_sub(state.position);
        let want = out.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let mut done = 0;
        while done < want {
            task.check()?;
            let (Some(decoder), Some(part)) = (&mut state.decoder, out.get_mut(done..want.min(done + STEP)))
            else {
                break;
            };
            let got = match decoder.read(part) {
                Ok(0) => return Err(self.short(state.position)),
                Ok(got) => got,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(self.damaged(error, state.position)),
            };
            let new = part.get(..got).unwrap_or_default();
            state.crc.update(new);
            if self.member.size <= KEEP {
                state.kept.extend_from_slice(new);
                state.held.set(state.kept.len());
            }
            state.position += got as u64;
            done += got;
        }
        if done > 0 && state.position == self.member.size {
            self.check_end(state)?;
        }
        Ok(done)
    }

    fn check_end(&self, state: &mut State) -> Result<()> {
        let mut beyond = [0u8];
        let more = match &mut state.decoder {
            Some(decoder) => decoder.read(&mut beyond).map_err(|e| self.damaged(e, state.position))?,
            None => 0,
        };
        let name = &self.member.name;
        if more > 0 {
            let promised = self.member.size;
            let what =
                format!("member {name:?}: it inflates to more than the {promised} bytes that are promised");
            return Err(Error::malformed(what).at(self.data.start));
        }
        let (crc, promised) = (state.crc.clone().finalize(), self.member.crc);
        if crc != promised {
            let what = format!("member {name:?}: its CRC-32 is {crc:08x}, the directory says {promised:08x}");
            return Err(Error::malformed(what).at(self.data.start));
        }
        Ok(())
    }

    fn short(&self, position: u64) -> Error {
        let (name, size) = (&self.member.name, self.member.size);
        Error::malformed(format!("member {name:?}: it inflates to {position} bytes, {size} are promised"))
            .at(self.data.start)
    }

    /// An error of the decoder in our words; our own errors (cancelled, read failed) pass through.
    fn damaged(&self, error: io::Error, position: u64) -> Error {
        let error = Error::from(error);
        if error.kind() != ErrorKind::Io || error.file().is_some() {
            return error;
        }
        let (name, method) = (&self.member.name, self.member.method.name());
        Error::malformed(format!("member {name:?}: its {method} data are damaged after {position} bytes"))
            .at(self.data.start)
    }

    /// Moves the decoder to `offset`, inflating and dropping what is in between.
    fn skip_to(&self, task: &Task, state: &mut State, offset: u64) -> Result<()> {
        if state.position > offset {
            state.reset();
        }
        let mut dropped = vec![0u8; STEP.min((offset - state.position) as usize)];
        while state.position < offset {
            let step = dropped.len().min((offset - state.position) as usize);
            let part = dropped.get_mut(..step).unwrap_or_default();
            self.inflate(task, state, part)?;
        }
        Ok(())
    }

    fn read_locked(&self, task: &Task, state: &mut State, offset: u64, out: &mut [u8]) -> Result<usize> {
        if self.member.size > KEEP {
            self.skip_to(task, state, offset)?;
            return self.inflate(task, state, out);
        }
        let end = offset.saturating_add(out.len() as u64).min(self.member.size);
        if end > state.position {
            let mut rest = vec![0u8; (end - state.position) as usize];
            self.inflate(task, state, &mut rest)?;
        }
        let from = state.kept.get(offset as usize..end as usize).unwrap_or_default();
        if let Some(out) = out.get_mut(..from.len()) {
            out.copy_from_slice(from);
        }
        Ok(from.len())
    }

    /// Puts this member at the back of those that keep bytes and empties others over the budget.
    fn remember(&self) {
        let mut kept = KEPT.lock();
        kept.retain(|w| w.strong_count() > 0 && !std::ptr::eq(w.as_ptr(), Arc::as_ptr(&self.state)));
        kept.push_back(Arc::downgrade(&self.state));
        let mut total = 0;
        for state in kept.iter().rev().filter_map(Weak::upgrade) {
            // One that is busy in another thread is counted when it is done.
            let Some(mut state) = state.try_lock() else { continue };
            total += state.kept.len();
            if total > BUDGET {
                total -= state.kept.len();
                state.reset();
            }
        }
    }
}

impl ReadAt for Stream {
    fn known_len(&self) -> Option<u64> {
        Some(self.member.size)
    }

    fn len(&self, _task: &Task) -> Result<u64> {
        Ok(self.member.size)
    }

    fn read_at(&self, task: &Task, offset: u64, out: &mut [u8]) -> Result<usize> {
        if offset >= self.member.size || out.is_empty() {
            return Ok(0);
        }
        let result = {
            let mut state = self.state.lock();
            let result = self.read_locked(task, &mut state, offset, out);
            if result.is_err() {
                state.reset();
            }
            *state.task.lock() = None;
            result
        };
        self.remember();
        result
    }
}

/// The compressed bytes, block by block, under the task of whoever reads now.
struct Feed {
    source: Source,
    rest: Range<u64>,
    block: Bytes,
    task: Arc<Mutex<Option<Task>>>,
}

impl BufRead for Feed {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.block.is_empty() && self.rest.start < self.rest.end {
            let Some(task) = self.task.lock().clone() else {
                return Err(Error::bug("a member was read without a task").into());
            };
            let end = self.rest.end.min(self.rest.start + STEP as u64);
            self.block = self.source.read(&task, self.rest.start..end)?;
            self.rest.start = end;
        }
        Ok(&self.block)
    }

    fn consume(&mut self, amount: usize) {
        self.block = self.block.slice(amount.min(self.block.len())..);
    }
}

impl Read for Feed {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let available = self.fill_buf()?;
        let n = available.len().min(out.len());
        if let (Some(to), Some(from)) = (out.get_mut(..n), available.get(..n)) {
            to.copy_from_slice(from);
        }
        self.consume(n);
        Ok(n)
    }
}
