//! The bytes of a compressed member, inflated from the front as far as somebody reads.
//!
//! A member of up to [`KEEP`] bytes keeps what was inflated, so that a view may go back. Larger ones that
//! are deflated are read through an index ([`Indexed`]); of those of other methods only the decoder's
//! position is kept, and going back starts over. All kept bytes together stay
//! under [`BUDGET`]: the member that was read longest ago gives up its bytes first. Where the end
//! of a member is reached, its length and CRC-32 are compared with what the directory promised.

use super::member::{Member, Method};
use crate::bytes::cache::Reservation;
use crate::bytes::codec::{bzip2::Bzip2, gzip::Bare, inflater::Inflater, lzma, zstd::Zstd};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::{ReadAt, Source};
use crate::bytes::stream::indexed::Indexed;
use crate::bytes::stream::{Chained, Codec, Failure, Feed, Frames};
use crate::bytes::task::Task;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Weak};

/// The largest member whose inflated bytes are kept.
const KEEP: u64 = 64 << 20;
/// The most bytes that are kept for all members of all archives.
const BUDGET: usize = 256 << 20;
/// How much is inflated between two looks at the task.
const STEP: usize = 256 << 10;

/// A compressed member as bytes.
struct Stream {
    member: Member,
    source: Source,
    data: Range<u64>,
    state: Arc<Mutex<State>>,
}

/// A decoder somewhere in the member.
#[derive(Default)]
struct State {
    running: Option<(Box<dyn Codec>, Feed)>,
    position: u64,
    crc: crc32fast::Hasher,
    /// Everything up to `position`, where the member is small enough.
    kept: Vec<u8>,
    reservation: Reservation,
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

    /// A decoder at the start, and what it reads.
    fn begin(&self, task: &Task) -> Result<(Box<dyn Codec>, Feed)> {
        let mut feed = Feed::new(self.source.clone(), self.data.clone());
        let codec: Box<dyn Codec> = match self.member.method {
            Method::Deflate => Box::new(Frames::new(Inflater::new(false)?)),
            Method::Bzip2 => Box::new(Frames::new(Bzip2::default())),
            Method::Zstd => Box::new(Frames::new(Zstd::new()?)),
            Method::Xz if lzma::filters(feed.chunk(task)?).is_ok_and(|count| count > 1) => {
                Box::new(Chained::new(self.source.member("xz", self.data.clone())?))
            }
            Method::Xz => Box::new(Frames::new(lzma::Lzma::xz())),
            Method::Lzma => Box::new(Frames::new(lzma::Lzma::member(self.member.size))),
            Method::Stored | Method::Other(_) => return Err(Error::bug("no decoder for this ZIP method")),
        };
        Ok((codec, feed))
    }

    /// Fills `out` from the decoder's position; fewer bytes only at the member's end, where length
    /// and CRC are checked.
    fn inflate(&self, task: &Task, state: &mut State, out: &mut [u8]) -> Result<usize> {
        if state.running.is_none() {
            state.reset();
            state.running = Some(self.begin(task)?);
        }
        let left = self.member.size.saturating_sub(state.position);
        let want = out.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let mut done = 0;
        while done < want {
            task.check()?;
            let part = out.get_mut(done..want.min(done + STEP)).unwrap_or_default();
            let got = self.decode(task, state, part)?;
            if got == 0 {
                return Err(self.short(state.position));
            }
            let new = part.get(..got).unwrap_or_default();
            state.crc.update(new);
            if self.member.size <= KEEP {
                state.kept.extend_from_slice(new);
                state.reservation.set(state.kept.len());
            }
            state.position += got as u64;
            done += got;
        }
        if done > 0 && state.position == self.member.size {
            self.check_end(task, state)?;
        }
        Ok(done)
    }

    fn check_end(&self, task: &Task, state: &mut State) -> Result<()> {
        let more = self.decode(task, state, &mut [0])?;
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

    /// Decodes some bytes; errors of the decoder are said in our words.
    fn decode(&self, task: &Task, state: &mut State, out: &mut [u8]) -> Result<usize> {
        let Some((codec, feed)) = &mut state.running else { return Ok(0) };
        codec.decode(task, feed, out).map_err(|failure| match failure {
            Failure::Read(error) => error,
            Failure::Cut(_) => self.short(state.position),
            Failure::Damaged(_) => {
                let (name, method, position) = (&self.member.name, self.member.method.name(), state.position);
                let what = format!("member {name:?}: its {method} data are damaged after {position} bytes");
                Error::malformed(what).at(self.data.start)
            }
        })
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
            result
        };
        self.remember();
        result
    }
}
