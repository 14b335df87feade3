//! gzip (RFC 1952): members one after the other, each with a checksum.

use super::deflate::{self, Run};
use super::{Codec, Feed, Notes};
use crate::error::{Error, Result};
use crate::task::Task;
use flate2::Decompress;

/// The longest name or comment that a header may have.
const LONGEST_TEXT: usize = 64 << 10;

/// Decodes all members.
pub struct Gzip {
    inflate: Decompress,
    crc: crc32fast::Hasher,
    len: u32,
    members: u64,
    state: State,
    notes: Notes,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Header,
    Data,
    Trailer,
    Done,
}

impl Gzip {
    /// A decoder at the start.
    pub fn new() -> Self {
        Gzip {
            inflate: Decompress::new(false),
            crc: crc32fast::Hasher::new(),
            len: 0,
            members: 0,
            state: State::Header,
            notes: Notes::default(),
        }
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
        let len = header_len(feed.peek(task, LONGEST_TEXT * 2)?).map_err(|e| e.at(start))?;
        feed.skip(len as u64);
        self.members += 1;
        self.inflate.reset(false);
        self.crc.reset();
        self.len = 0;
        self.state = State::Data;
        Ok(())
    }

    /// Compares checksum and length. A difference is kept as the problem, and reading goes on: the
    /// next members may be good.
    fn trailer(&mut self, task: &Task, feed: &mut Feed) -> Result<()> {
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
        let found = self.crc.clone().finalize();
        if found != crc {
            self.notes.blame(
                Error::malformed(format!(
                    "gzip member {}: its checksum is {crc:08x}, that of its data {found:08x}",
                    self.members
                ))
                .at(at),
            );
        } else if len != self.len {
            self.notes.blame(
                Error::malformed(format!(
                    "gzip member {}: it says that it holds {len} bytes (modulo 4 GiB), it holds {}",
                    self.members, self.len
                ))
                .at(at + 4),
            );
        }
        self.state = State::Header;
        Ok(())
    }
}

impl Default for Gzip {
    fn default() -> Self {
        Self::new()
    }
}

impl Codec for Gzip {
    fn decode(&mut self, task: &Task, feed: &mut Feed, out: &mut [u8]) -> Result<usize> {
        loop {
            match self.state {
                State::Header => self.header(task, feed)?,
                State::Trailer => self.trailer(task, feed)?,
                State::Done => return Ok(0),
                State::Data => {
                    let what = if self.members > 1 {
                        format!("gzip member {}", self.members)
                    } else {
                        "gzip stream".to_owned()
                    };
                    let n = match deflate::run(&mut self.inflate, task, feed, out, &what)? {
                        Run::Bytes(n) => n,
                        Run::Last(n) => {
                            self.state = State::Trailer;
                            n
                        }
                    };
                    self.crc.update(out.get(..n).unwrap_or_default());
                    self.len = self.len.wrapping_add(n as u32);
                    if n > 0 {
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
