//! The tar container: finding its members, whatever tar wrote them — the old one, POSIX ustar and pax, GNU.
//! <https://www.gnu.org/software/tar/manual/html_node/Standard.html>,
//! <https://pubs.opengroup.org/onlinepubs/9799919799/utilities/pax.html>
//!
//! A tar has no directory: its members are found by going from header to header. A damaged header is
//! listed with its problem, and the next good one is looked for behind it.

use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use bytes::Bytes;

/// Everything in a tar comes in blocks of this size.
pub const BLOCK: u64 = 512;
/// How far behind a damaged header the next good one is looked for.
const SEARCHED: u64 = 64 << 20;
/// The longest name, link or pax header that is read.
const LONGEST: u64 = 1 << 20;
/// How much is read at once where members are small, and where they are large.
const NEAR: usize = 64 << 10;
const FAR: usize = 1 << 10;

/// A member.
#[derive(Clone, Debug)]
pub struct Member {
    /// The path as in the file.
    pub path: Box<str>,
    /// What it is.
    pub kind: Kind,
    /// Where its data begin.
    pub data: u64,
    /// How many bytes it has.
    pub size: u64,
    /// When it was modified, in seconds since 1970.
    pub modified: Option<i64>,
    /// Where a link leads.
    pub target: Option<Box<str>>,
    /// Why it cannot be read.
    pub problem: Option<Error>,
}

/// What a member is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Kind {
    File,
    Folder,
    /// Another name of an earlier member.
    HardLink,
    SymbolicLink,
    /// A device, a pipe: nothing to read.
    Special,
    /// A file whose holes were left out; only its name and size are known.
    Sparse,
    /// A header that cannot be trusted.
    Damaged,
}

/// Goes from member to member.
pub struct Scan {
    source: Source,
    /// Where the next header is.
    at: u64,
    buffer: Bytes,
    /// The offset of the first byte of `buffer`.
    buffer_at: u64,
    /// The end was found.
    done: bool,
    /// What is wrong with the archive as a whole.
    pub problem: Option<Error>,
    next: Extended,
    global: Extended,
}

/// What extended headers say about the next member, or all of them.
#[derive(Clone, Default)]
struct Extended {
    path: Option<String>,
    target: Option<String>,
    size: Option<u64>,
    modified: Option<i64>,
    sparse: bool,
}

type Header = [u8; BLOCK as usize];

/// What one block says where a header is expected: for those who go from header to header themselves, over bytes that
/// they have at hand.
pub struct Step<'a> {
    block: &'a Header,
}

/// What a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Block {
    /// Zeros: two of them end an archive.
    Zeros,
    /// No header, and why.
    Damaged(&'static str),
    /// A header about the next member, with so many bytes behind it.
    Extended(u64),
    /// Nothing that a reader looks at; so many bytes are behind it.
    Skipped(u64),
    /// A header of a member with so many bytes, unless an extended header says otherwise.
    Member(u64),
}

/// What the extended headers before a member said of it.
#[derive(Clone, Default)]
pub struct Said(Extended);

impl<'a> Step<'a> {
    /// Looks at a block.
    pub fn new(block: &'a [u8; BLOCK as usize]) -> (Self, Block) {
        let step = Step { block };
        let kind = if block.iter().all(|&b| b == 0) {
            Block::Zeros
        } else if !has_good_checksum(block) {
            Block::Damaged("the checksum of its header does not match")
        } else {
            match (number(&block[124..136]), block[156]) {
                (None, _) => Block::Damaged("its size is no number"),
                (Some(size), b'L' | b'K' | b'x' | b'X' | b'g') => Block::Extended(size),
                (Some(_), b'V') => Block::Skipped(0),
                (Some(size), b'M' | b'D') => Block::Skipped(size),
                (Some(size), _) => Block::Member(size),
            }
        };
        (step, kind)
    }

    /// Takes in what stands behind an extended header. What is said of all members is left out.
    pub fn extend(&self, bytes: &[u8], said: &mut Said) {
        match self.block[156] {
            b'L' => said.0.path = Some(text(bytes)),
            b'K' => said.0.target = Some(text(bytes)),
            b'g' => {}
            _ => pax(bytes, &mut said.0),
        }
    }

    /// The name in the header itself; empty where it has none that can be printed.
    pub fn name(&self) -> String {
        let name = path(self.block);
        let named = !name.contains('\u{fffd}') && !name.chars().any(char::is_control);
        if named { name } else { String::new() }
    }

    /// The member: its path, what it is, and its bytes. `data` is where these begin, and `end` where the next header is;
    /// `None` where the list of holes of a sparse member goes on behind its header.
    pub fn member(&self, said: Said, data: u64, size: u64) -> (Member, Option<u64>) {
        let said = said.0;
        let kind = kind(self.block[156], &said, &Extended::default());
        let size = match kind {
            Kind::Folder | Kind::SymbolicLink | Kind::HardLink | Kind::Special => 0,
            _ => said.size.unwrap_or(size),
        };
        let path = said.path.unwrap_or_else(|| path(self.block));
        let holes = self.block[156] == b'S' && self.block[482] != 0;
        let member = Member {
            kind: if path.ends_with('/') && kind == Kind::File { Kind::Folder } else { kind },
            path: path.into(),
            data,
            size,
            modified: None,
            target: None,
            problem: None,
        };
        (member, (!holes).then(|| after(data, size)))
    }
}

/// The longest extended header that is read, in bytes.
pub const LONGEST_EXTENDED: u64 = LONGEST;

impl Scan {
    /// At the first header of `source`.
    pub fn new(source: &Source) -> Self {
        Scan {
            source: source.clone(),
            at: 0,
            buffer: Bytes::new(),
            buffer_at: 0,
            done: false,
            problem: None,
            next: Extended::default(),
            global: Extended::default(),
        }
    }

    /// Where the next header is.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// Whether all members were found.
    pub fn is_done(&self) -> bool {
        self.done
    }

    /// The next member; `None` at the end. What is wrong with the end is kept in `problem`.
    ///
    /// # Errors
    /// `Cancelled` alone: the scan can go on later.
    pub fn next(&mut self, task: &Task) -> Result<Option<Member>> {
        while !self.done {
            task.check()?;
            match self.step(task).unless_cancelled()? {
                Ok(Some(member)) => return Ok(Some(member)),
                Ok(None) => {}
                Err(error) => {
                    self.problem.get_or_insert(error);
                    self.done = true;
                }
            }
        }
        Ok(None)
    }

    /// Reads one header; gives a member, if it is one's.
    fn step(&mut self, task: &Task) -> Result<Option<Member>> {
        let at = self.at;
        let Some(header) = self.block(task, at)? else {
            self.done = true;
            return Ok(None);
        };
        if header.iter().all(|&b| b == 0) {
            // Two empty blocks end the archive; a single one is a mistake that GNU tar forgives, too.
            self.done = self.block(task, at + BLOCK)?.is_none_or(|next| next.iter().all(|&b| b == 0));
            self.at = at + BLOCK;
            return Ok(None);
        }
        if !has_good_checksum(&header) {
            return self.damaged(task, &header, "the checksum of its header does not match");
        }
        let Some(size) = number(&header[124..136]) else {
            return self.damaged(task, &header, "its size is no number");
        };
        let (kind, data) = (header[156], at + BLOCK);
        match kind {
            b'L' | b'K' | b'x' | b'X' | b'g' => self.extended(task, kind, data, size).map(|()| None),
            b'V' | b'M' | b'D' => {
                self.at = after(data, if kind == b'V' { 0 } else { size });
                Ok(None)
            }
            _ => self.member(task, &header, data, size).map(Some),
        }
    }

    /// A member whose header is `header`.
    fn member(&mut self, task: &Task, header: &Header, data: u64, size: u64) -> Result<Member> {
        let next = std::mem::take(&mut self.next);
        let kind = kind(header[156], &next, &self.global);
        let size = match kind {
            // Some writers note the size of what a hard link leads to, without its data.
            Kind::Folder | Kind::SymbolicLink | Kind::HardLink | Kind::Special => 0,
            _ => next.size.or(self.global.size).unwrap_or(size),
        };
        let path = next.path.or_else(|| self.global.path.clone()).unwrap_or_else(|| path(header));
        let is_link = matches!(kind, Kind::HardLink | Kind::SymbolicLink);
        let target = next.target.filter(|_| is_link).or_else(|| is_link.then(|| text(&header[157..257])));
        let mut member = Member {
            kind: if path.ends_with('/') && kind == Kind::File { Kind::Folder } else { kind },
            path: path.into(),
            data,
            size,
            modified: next.modified.or_else(|| number(&header[136..148]).and_then(|n| i64::try_from(n).ok())),
            target: target.map(Into::into),
            problem: None,
        };
        self.at = if header[156] == b'S' {
            self.behind_sparse(task, header, data, size)?
        } else {
            after(data, size)
        };
        let end = data.checked_add(size).filter(|&end| self.source.known_len().is_none_or(|len| end <= len));
        if end.is_none() {
            let len = self.source.known_len().unwrap_or(u64::MAX);
            member.problem = Some(
                Error::malformed(format!(
                    "member {:?}: its {size} bytes reach beyond the end of the archive, which may be cut off",
                    member.path
                ))
                .at(data - BLOCK),
            );
            // Either the size is wrong or the file is cut off; what follows tells which.
            self.search(task, data, len)?;
        }
        Ok(member)
    }

    /// A header that is not to be trusted: lists it under its name and looks for the next good one.
    fn damaged(&mut self, task: &Task, header: &Header, why: &str) -> Result<Option<Member>> {
        let at = self.at;
        self.next = Extended::default();
        let name = path(header);
        let what = if name.is_empty() { "a member".to_owned() } else { format!("member {name:?}") };
        let problem = Error::malformed(format!("{what}: {why}")).at(at);
        self.search(task, at + BLOCK, u64::MAX)?;
        let named = !name.is_empty() && !name.contains('\u{fffd}') && !name.chars().any(char::is_control);
        if !named {
            self.problem.get_or_insert(problem);
            return Ok(None);
        }
        Ok(Some(Member {
            path: name.into(),
            kind: Kind::Damaged,
            data: at + BLOCK,
            size: 0,
            modified: None,
            target: None,
            problem: Some(problem),
        }))
    }

    /// Goes to the next good header at or behind `from`; to the end if there is none close by.
    fn search(&mut self, task: &Task, from: u64, len: u64) -> Result<()> {
        let end = from.saturating_add(SEARCHED).min(len);
        let mut at = from;
        while at < end {
            if at.is_multiple_of(1 << 20) {
                task.check()?;
            }
            let block = self.block(task, at).unless_cancelled()?.unwrap_or(None);
            match block {
                Some(block) if has_magic(&block) && has_good_checksum(&block) => {
                    self.at = at;
                    return Ok(());
                }
                Some(_) => at += BLOCK,
                None => break,
            }
        }
        self.done = true;
        Ok(())
    }

    /// Reads a header about the next member, or about all of them.
    fn extended(&mut self, task: &Task, kind: u8, data: u64, size: u64) -> Result<()> {
        limits::check(size, LONGEST, "an extended header of a tar")?;
        let bytes = self.source.read(task, data..data.saturating_add(size))?;
        self.at = after(data, size);
        match kind {
            b'L' => self.next.path = Some(text(&bytes)),
            b'K' => self.next.target = Some(text(&bytes)),
            b'g' => pax(&bytes, &mut self.global),
            _ => pax(&bytes, &mut self.next),
        }
        Ok(())
    }

    /// The end of a GNU sparse member: behind the blocks that go on with its list of holes.
    fn behind_sparse(&mut self, task: &Task, header: &Header, data: u64, size: u64) -> Result<u64> {
        let (mut data, mut more) = (data, header[482] != 0);
        while more {
            task.check()?;
            let Some(block) = self.block(task, data)? else { break };
            more = block[504] != 0;
            data += BLOCK;
        }
        Ok(after(data, size))
    }

    /// The block at `at`; `None` where the source ends before it does.
    fn block(&mut self, task: &Task, at: u64) -> Result<Option<Header>> {
        let within = |this: &Self| {
            let from = usize::try_from(at.checked_sub(this.buffer_at)?).ok()?;
            this.buffer.get(from..)?.first_chunk::<{ BLOCK as usize }>().copied()
        };
        if let Some(block) = within(self) {
            return Ok(Some(block));
        }
        let close = at.abs_diff(self.buffer_at.saturating_add(self.buffer.len() as u64)) < NEAR as u64;
        let most = if close { NEAR } else { FAR };
        self.buffer = match self.source.known_len() {
            Some(len) => {
                // Copied rather than mapped: a million headers are a million pages.
                let there = usize::try_from(len.saturating_sub(at)).unwrap_or(usize::MAX);
                let mut buffer = vec![0; most.min(there)];
                self.source.read_into(task, at.min(len), &mut buffer)?;
                buffer.into()
            }
            None => self.source.read_up_to(task, at, most)?,
        };
        self.buffer_at = at;
        let block = within(self);
        if block.is_none() && !self.buffer.is_empty() {
            return Err(Error::malformed("tar: it ends in the middle of a header; it may be cut off").at(at));
        }
        Ok(block)
    }
}

/// Where the next header is behind `size` bytes at `data`.
pub fn after(data: u64, size: u64) -> u64 {
    data.saturating_add(size.div_ceil(BLOCK).saturating_mul(BLOCK))
}

fn kind(letter: u8, next: &Extended, global: &Extended) -> Kind {
    match letter {
        _ if next.sparse || global.sparse => Kind::Sparse,
        b'S' => Kind::Sparse,
        b'1' => Kind::HardLink,
        b'2' => Kind::SymbolicLink,
        b'3' | b'4' | b'6' => Kind::Special,
        b'5' => Kind::Folder,
        // Unknown letters are to be treated as files.
        _ => Kind::File,
    }
}

/// Whether a block is the header of a tar by its magic number: `ustar` with whatever follows.
pub fn has_magic(block: &[u8]) -> bool {
    block.get(257..262) == Some(b"ustar")
}

/// Whether the sum of a header's bytes is the one that it notes; old tars summed signed bytes.
pub fn has_good_checksum(block: &[u8]) -> bool {
    let (Some(before), Some(noted), Some(after)) =
        (block.get(..148), block.get(148..156), block.get(156..512))
    else {
        return false;
    };
    let Some(noted) = octal(noted) else { return false };
    let others = || before.iter().chain(after);
    // The checksum counts itself as spaces.
    if noted == others().map(|&b| u64::from(b)).sum::<u64>() + 8 * 32 {
        return true;
    }
    i64::try_from(noted) == Ok(others().map(|&b| i64::from(b as i8)).sum::<i64>() + 8 * 32)
}

/// The path in a header: with POSIX' magic the prefix comes before it.
fn path(header: &Header) -> String {
    let name = text(&header[..100]);
    let prefix = if &header[257..263] == b"ustar\0" { text(&header[345..500]) } else { String::new() };
    if prefix.is_empty() { name } else { format!("{prefix}/{name}") }
}

/// Text up to its zero byte; UTF-8 usually, other bytes as replacement characters.
fn text(field: &[u8]) -> String {
    let end = field.iter().position(|&b| b == 0).unwrap_or(field.len());
    String::from_utf8_lossy(field.get(..end).unwrap_or_default()).into_owned()
}

/// A number: octal digits or, for large ones, base 256. `None` for other bytes and negative ones.
fn number(field: &[u8]) -> Option<u64> {
    match *field.first()? {
        0x80 => {
            let (high, low) = field.get(1..)?.split_at(field.len().checked_sub(9)?);
            let fits = high.iter().all(|&b| b == 0);
            fits.then(|| low.iter().fold(0, |n, &b| n << 8 | u64::from(b)))
        }
        0x81.. => None,
        _ => octal(field),
    }
}

/// Octal digits between spaces, up to a space or zero byte; an empty field is zero.
fn octal(field: &[u8]) -> Option<u64> {
    let digits: Vec<u8> =
        field.iter().copied().skip_while(|&b| b == b' ').take_while(|&b| b != b' ' && b != 0).collect();
    digits.iter().try_fold(0u64, |n, &b| {
        let digit = b.checked_sub(b'0').filter(|&d| d < 8)?;
        n.checked_mul(8)?.checked_add(u64::from(digit))
    })
}

/// The records of a pax header: `length key=value\n`.
fn pax(mut bytes: &[u8], into: &mut Extended) {
    let mut name = None;
    while let Some(space) = bytes.iter().take(20).position(|&b| b == b' ') {
        let len = bytes
            .get(..space)
            .and_then(|n| std::str::from_utf8(n).ok())
            .and_then(|n| n.parse::<usize>().ok());
        let Some(record) = len.and_then(|len| bytes.get(space + 1..len)) else { return };
        bytes = bytes.get(space + 1 + record.len()..).unwrap_or_default();
        let record = record.strip_suffix(b"\n").unwrap_or(record);
        let Some(equals) = record.iter().position(|&b| b == b'=') else { continue };
        let (key, value) = record.split_at(equals);
        let value = String::from_utf8_lossy(value.get(1..).unwrap_or_default()).into_owned();
        match key {
            b"path" => into.path = Some(value),
            b"linkpath" => into.target = Some(value),
            b"size" => into.size = value.parse().ok(),
            b"mtime" => {
                into.modified = value.split('.').next().and_then(|seconds| seconds.parse().ok());
            }
            b"GNU.sparse.name" => name = Some(value),
            _ if key.starts_with(b"GNU.sparse.") => into.sparse = true,
            _ => {}
        }
    }
    if name.is_some() {
        into.path = name;
    }
}
