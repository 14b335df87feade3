//! gzip (RFC 1952): members one after the other, each with a checksum. Bare deflate data whose checksum
//! stands elsewhere (ZIP members) are read as the one member of such a file.

use super::cut_off;
use super::decompress::{Begin, Decompressor, State, Step};
use super::deflate::inflate;
use super::inflater::Inflater;
use crate::bytes::error::{Error, Result};
use crate::bytes::numbers::le;

/// The longest name or comment that a header may have.
const LONGEST_TEXT: usize = 64 << 10;
/// What a member begins with.
const MAGIC: [u8; 2] = [0x1f, 0x8b];

/// All members of a gzip file; CRC and length of each are checked. Bytes after them that begin no member are
/// ignored, as gzip does.
///
/// # Errors
/// `Malformed` for damage, a member that is cut off, or more than `most` bytes.
pub fn gzip(input: &[u8], most: usize) -> Result<Vec<u8>> {
    if !input.starts_with(&MAGIC) {
        return Err(Error::malformed("gzip data: there is no gzip header"));
    }
    let mut out = Vec::new();
    let mut rest = input;
    while rest.starts_with(&MAGIC) {
        let body = rest.get(header_len(rest)?..).ok_or_else(|| cut_off("gzip data"))?;
        let (part, used) = inflate(body, false, most - out.len(), "gzip data")?;
        let (crc, len) = (le::<u32>(body, used), le::<u32>(body, used + 4));
        let (Some(crc), Some(len)) = (crc, len) else { return Err(cut_off("gzip data")) };
        if crc != crc32fast::hash(&part) || len != part.len() as u32 {
            return Err(Error::malformed("gzip data: its CRC-32 or length does not match"));
        }
        if out.is_empty() {
            out = part;
        } else {
            out.extend_from_slice(&part);
        }
        rest = body.get(used + 8..).unwrap_or_default();
    }
    Ok(out)
}

/// Decompresses all members.
pub struct Gzip {
    /// What inflates the current member.
    pub inflater: Inflater,
    crc: crc32fast::Hasher,
    len: u64,
    /// Whether the current member is read from its start, so that its checksum can be compared.
    whole: bool,
    /// The current member's number.
    member: u64,
    /// Whether its data are over and its checksum follows.
    trailer: bool,
    bare: Option<Bare>,
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
    /// A decompressor of members, or of the one without header and trailer.
    pub fn new(bare: Option<Bare>) -> Result<Self> {
        Ok(Gzip {
            inflater: Inflater::new(false)?,
            crc: crc32fast::Hasher::new(),
            len: 0,
            whole: false,
            member: 1,
            trailer: false,
            bare,
        })
    }

    /// Whether it stands in a member's deflate data.
    pub fn is_in_data(&self) -> bool {
        !self.trailer
    }

    /// Compares checksum and length. A difference is told at the end of the member: the next ones may be good.
    fn trailer(&self, input: &mut &[u8]) -> State {
        let promised = match &self.bare {
            Some(bare) => (bare.crc, bare.len),
            None => {
                let Some((&[a, b, c, d, e, f, g, h], rest)) = input.split_first_chunk() else {
                    return State::More(8);
                };
                *input = rest;
                (u32::from_le_bytes([a, b, c, d]), u64::from(u32::from_le_bytes([e, f, g, h])))
            }
        };
        State::End(self.problem(promised).filter(|_| self.whole))
    }

    /// What differs from the promised checksum and length.
    fn problem(&self, (crc, len): (u32, u64)) -> Option<(Error, u64)> {
        let (found, made, n) = (self.crc.clone().finalize(), self.len, self.member);
        let (wrong, back) = match &self.bare {
            Some(Bare { what, .. }) if made != len => {
                (format!("{what}: it inflates to {made} bytes, {len} are promised"), 0)
            }
            Some(Bare { what, .. }) if found != crc => {
                (format!("{what}: its CRC-32 is {found:08x}, {crc:08x} is promised"), 0)
            }
            None if found != crc => {
                (format!("gzip member {n}: its checksum is {crc:08x}, that of its data {found:08x}"), 8)
            }
            None if len != u64::from(made as u32) => (
                format!("gzip member {n}: it says that it holds {len} bytes (modulo 4 GiB), it holds {made}"),
                4,
            ),
            _ => return None,
        };
        Some((Error::malformed(wrong), back))
    }
}

impl Decompressor for Gzip {
    fn head(&self) -> usize {
        if self.bare.is_some() { 0 } else { LONGEST_TEXT * 2 }
    }

    fn begin(&mut self, head: &[u8], number: u64) -> Result<Begin> {
        let header = match &self.bare {
            Some(_) if number > 1 => return Ok(Begin::End),
            Some(_) => 0,
            None if number > 1 && !head.starts_with(&MAGIC) => return Ok(Begin::Other("gzip")),
            None => header_len(head)?,
        };
        self.inflater.reset(false);
        self.crc.reset();
        (self.len, self.whole, self.member, self.trailer) = (0, true, number, false);
        Ok(Begin::Frame(header))
    }

    fn step(&mut self, input: &mut &[u8], out: &mut [u8], last: bool) -> Result<Step> {
        if self.trailer {
            return Ok(Step { made: 0, state: self.trailer(input) });
        }
        let given = *input;
        let mut step = self.inflater.step(input, out, last).inspect_err(|_| *input = given)?;
        self.crc.update(out.get(..step.made).unwrap_or_default());
        self.len += step.made as u64;
        if let State::End(_) = step.state {
            self.trailer = true;
            step.state = self.trailer(input);
        }
        Ok(step)
    }

    fn name(&self) -> String {
        match &self.bare {
            Some(bare) => bare.what.clone(),
            None if self.member > 1 && self.whole => format!("gzip member {}", self.member),
            None => "gzip stream".to_owned(),
        }
    }

    fn cut(&self) -> String {
        match self.trailer {
            true => format!("gzip member {}: it ends before its checksum", self.member),
            false => format!("{}: it ends in the middle of its data", self.name()),
        }
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
