//! gzip (RFC 1952): members one after the other, each with a checksum. Bare deflate data whose checksum
//! stands elsewhere (ZIP members) are read as the one member of such a file.

use super::raw::Raw;
use super::{Codec, Feed, Notes};
use crate::bytes::error::{Error, ErrorKind, Result};
use crate::bytes::source::Source;
use crate::bytes::task::Task;

/// The longest name or comment that a header may have.
const LONGEST_TEXT: usize = 64 << 10;

/// Decodes all members.
pub struct Gzip {
    raw: Raw,
    crc: crc32fast::Hasher,
    len: u64,
    /// Whether the current member was read from its start, so that its checksum can be compared.
    whole: bool,
    members: u64,
    state: State,
    notes: Notes,
    /// Stop at the next place where decoding can begin.
    stop: bool,
    place: Option<Place>,
    bare: Option<Bare>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Header,
    Data,
    Trailer,
    Done,
}

/// A place where decoding can begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// A member's header, at this byte. What came before is not needed.
    Header(u64),
    /// The start of a block, of which `bits` bits are the highest of the byte before `at`. The 32 KB
    /// that came out before are needed.
    Block { at: u64, bits: u8 },
    /// Inside a block, before this byte. The decoder's own state is needed.
    Inside(u64),
}

/// Deflate data without header and trailer.
#[derive(Clone)]
pub struct Bare {
    /// What errors call them.
    pub what: String,
    /// The CRC-32 of what comes out.
    pub crc: u32,
    /// How many bytes come out.
    pub len: u64,
}

impl Gzip {
    /// A decoder at the start.
    pub fn new() -> Result<Self> {
        Ok(Gzip {
            raw: Raw::new()?,
            crc: crc32fast::Hasher::new(),
            len: 0,
            whole: true,
            members: 0,
            state: State::Header,
            notes: Notes::default(),
            stop: false,
            place: None,
            bare: None,
        })
    }

    /// A decoder of deflate data without header and trailer.
    pub fn bare(bare: Bare) -> Result<Self> {
        Ok(Gzip { bare: Some(bare), state: State::Data, members: 1, ..Self::new()? })
    }

    /// Goes to a place; `window` is what came out before it. The feed must stand there.
    pub(super) fn resume(&mut self, task: &Task, source: &Source, place: Place, window: &[u8]) -> Result<()> {
        match place {
            Place::Header(_) => {
                self.raw.reset();
                (self.state, self.members) = (State::Header, 0);
            }
            Place::Block { at, bits } => {
                let before = at.saturating_sub(u64::from(bits > 0))..at;
                let byte = source.read(task, before)?.first().copied().unwrap_or(0);
                self.raw.resume(window, bits, byte)?;
                (self.state, self.members, self.whole) = (State::Data, 1, false);
            }
            Place::Inside(_) => return Err(Error::bug("a place inside a block without a state")),
        }
        Ok(())
    }

    /// A state for [`Gzip::restore`], and the byte it stands before; `None` between members. Gives up the
    /// place that was asked for.
    pub(super) fn save(&mut self, feed: &Feed) -> Result<Option<(u64, Raw)>> {
        if self.state != State::Data {
            return Ok(None);
        }
        self.stop = false;
        Ok(Some((feed.at(), self.raw.copy()?)))
    }

    /// Goes on from a saved state.
    pub(super) fn restore(&mut self, raw: Raw) {
        self.raw = raw;
        (self.state, self.members, self.whole) = (State::Data, 1, false);
    }

    /// Asks to stop at the next place where decoding can begin.
    pub(super) fn stop_at_next_place(&mut self) {
        self.stop = true;
    }

    /// The place that was asked for, if the last call of `decode` ended there.
    pub(super) fn take_place(&mut self) -> Option<Place> {
        self.place.take()
    }

    /// Reads a member's header, or finds that there is no further one.
    fn header(&mut self, task: &Task, feed: &mut Feed) -> Result<()> {
        let start = feed.at();
        let another = feed.peek(task, 2)?.starts_with(&[0x1f, 0x8b]);
        if self.members > 0 && !another {
            if !feed.only_zeros_left(task)? {
                self.notes.remarks.push(format!(
                    "bytes after byte {start} do not belong to the gzip stream and are ignored"
                ));
            }
            self.state = State::Done;
            return Ok(());
        }
        if self.stop {
            (self.stop, self.place) = (false, Some(Place::Header(start)));
        }
        let len = header_len(feed.peek(task, LONGEST_TEXT * 2)?).map_err(|e| e.at(start))?;
        feed.skip(len as u64);
        self.members += 1;
        self.raw.reset();
        self.crc.reset();
        (self.len, self.whole) = (0, true);
        self.state = State::Data;
        Ok(())
    }

    /// Compares checksum and length. A difference is kept as the problem, and reading goes on: the
    /// next members may be good.
    fn trailer(&mut self, task: &Task, feed: &mut Feed) -> Result<()> {
        if self.bare.is_some() {
            self.state = State::Done;
            self.check_bare(feed.at());
            return Ok(());
        }
        let at = feed.at();
        let Some([a, b, c, d, e, f, g, h]) = feed.take::<8>(task)? else {
            self.state = State::Done;
            return Err(Error::malformed(format!(
                "gzip member {}: it ends before its checksum; the file may be cut off",
                self.members
            ))
            .at(at));
        };
        let (crc, len) = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
        self.state = State::Header;
        if !self.whole {
            return Ok(());
        }
        let found = self.crc.clone().finalize();
        if found != crc {
            self.notes.blame(
                Error::malformed(format!(
                    "gzip member {}: its checksum is {crc:08x}, that of its data {found:08x}",
                    self.members
                ))
                .at(at),
            );
        } else if len != self.len as u32 {
            self.notes.blame(
                Error::malformed(format!(
                    "gzip member {}: it says that it holds {len} bytes (modulo 4 GiB), it holds {}",
                    self.members, self.len
                ))
                .at(at + 4),
            );
        }
        Ok(())
    }

    /// Compares bare data with what was promised.
    fn check_bare(&mut self, at: u64) {
        let Some(Bare { what, crc, len }) = self.bare.clone().filter(|_| self.whole) else { return };
        let found = self.crc.clone().finalize();
        if self.len != len {
            let found = self.len;
            self.notes.blame(
                Error::malformed(format!("{what}: it inflates to {found} bytes, {len} are promised")).at(at),
            );
        } else if found != crc {
            self.notes.blame(
                Error::malformed(format!("{what}: its CRC-32 is {found:08x}, {crc:08x} is promised")).at(at),
            );
        }
    }

    /// What errors call the current member.
    fn what(&self) -> String {
        match &self.bare {
            Some(bare) => bare.what.clone(),
            None if self.members > 1 && self.whole => format!("gzip member {}", self.members),
            None => "gzip stream".to_owned(),
        }
    }

    /// Inflates until some bytes are made or a place is reached; 0 at the end of the member's data, too.
    fn data(&mut self, task: &Task, feed: &mut Feed, out: &mut [u8]) -> Result<usize> {
        loop {
            let chunk = feed.chunk(task)?;
            let eof = chunk.is_empty();
            let step = self.raw.inflate(chunk, out, self.stop);
            let step = step.map_err(|error| match error.kind() {
                ErrorKind::Malformed => {
                    let why = error.message();
                    let why = why.strip_prefix("malformed ").unwrap_or(&why);
                    Error::malformed(format!("{}: {why}", self.what())).at(feed.at())
                }
                _ => error,
            })?;
            feed.skip(step.taken as u64);
            self.crc.update(out.get(..step.made).unwrap_or_default());
            self.len += step.made as u64;
            if step.end {
                self.state = State::Trailer;
                return Ok(step.made);
            }
            if let Some(bits) = step.between.filter(|_| self.stop) {
                let at = feed.at() - u64::from(bits / 8);
                (self.stop, self.place) = (false, Some(Place::Block { at, bits: bits % 8 }));
                return Ok(step.made);
            }
            if step.made > 0 {
                return Ok(step.made);
            }
            if eof {
                let what =
                    format!("{}: it ends in the middle of its data; the file may be cut off", self.what());
                return Err(Error::malformed(what).at(feed.at()));
            }
            if step.taken == 0 {
                return Err(
                    Error::malformed(format!("{}: the deflate data stop short", self.what())).at(feed.at())
                );
            }
        }
    }
}

impl Codec for Gzip {
    fn decode(&mut self, task: &Task, feed: &mut Feed, out: &mut [u8]) -> Result<usize> {
        loop {
            match self.state {
                State::Header => {
                    self.header(task, feed)?;
                    if self.place.is_some() {
                        return Ok(0);
                    }
                }
                State::Trailer => self.trailer(task, feed)?,
                State::Done => return Ok(0),
                State::Data => {
                    let n = self.data(task, feed, out)?;
                    if n > 0 || self.place.is_some() {
                        return Ok(n);
                    }
                }
            }
        }
    }

    fn notes(&self) -> Notes {
        self.notes.clone()
    }
}

/// The length of the member header that `bytes` start with.
fn header_len(bytes: &[u8]) -> Result<usize> {
    let cut = || Error::malformed("gzip header: it ends early; the file may be cut off");
    let &[_, _, method, flags, ..] = bytes else { return Err(cut()) };
    if method != 8 {
        return Err(Error::unsupported(format!(
            "gzip with compression method {method}; only 8 (deflate) is defined"
        )));
    }
    let mut len = 10;
    if flags & 4 != 0 {
        let extra = bytes.get(len..len + 2).ok_or_else(cut)?;
        len += 2 + extra.iter().rev().fold(0, |n, &b| n << 8 | usize::from(b));
    }
    for (flag, what) in [(8, "name"), (16, "comment")] {
        if flags & flag != 0 {
            let text = bytes.get(len..).ok_or_else(cut)?;
            let end = text.iter().take(LONGEST_TEXT).position(|&b| b == 0);
            len += 1 + end.ok_or_else(|| Error::malformed(format!("gzip header: its {what} has no end")))?;
        }
    }
    if flags & 2 != 0 {
        let stored = bytes.get(len..len + 2).ok_or_else(cut)?;
        let crc = crc32fast::hash(bytes.get(..len).unwrap_or_default()) as u16;
        if stored != crc.to_le_bytes() {
            return Err(Error::malformed("gzip header: its checksum does not match"));
        }
        len += 2;
    }
    if bytes.len() < len { Err(cut()) } else { Ok(len) }
}
