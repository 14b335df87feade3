//! The ZIP container: finding the central directory, listing members, giving their bytes.
//! Specification: PKWARE's APPNOTE.TXT 6.3.10.
//!
//! Opening reads the end record and the central directory only. A stored member is a slice of the
//! archive; a compressed one is a stream that is inflated as far as somebody reads and checked
//! against its CRC when its end is reached (see [`super::inflate`]). Where the directory is lost
//! (the file was cut off), members are found by walking their local headers from the start.

use super::inflate;
pub use super::member::{Member, Method};
use crate::bytes::codec::decompress::prefix;
use crate::bytes::codec::inflater::Inflater;
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::numbers::le_or_zero;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use bytes::Bytes;
use std::sync::Arc;

const END: &[u8; 4] = b"PK\x05\x06";
const END64: &[u8; 4] = b"PK\x06\x06";
const LOCATOR: &[u8; 4] = b"PK\x06\x07";
const ENTRY: &[u8; 4] = b"PK\x01\x02";
const LOCAL: &[u8; 4] = b"PK\x03\x04";
const DESCRIPTOR: &[u8; 4] = b"PK\x07\x08";
/// The end record is this long, its comment comes after it.
const END_LEN: usize = 22;
const ENTRY_LEN: usize = 46;
const LOCAL_LEN: usize = 30;

/// An archive whose directory was read.
#[derive(Clone)]
pub struct Archive {
    source: Source,
    /// The members, in the order of the directory.
    pub members: Arc<Vec<Member>>,
    /// The archive's comment.
    pub comment: String,
    /// What is wrong with the directory. The members that could be found are there all the same.
    pub problem: Option<Error>,
}

impl Archive {
    /// Reads the directory of the archive in `source`.
    ///
    /// # Errors
    /// `Malformed` where neither a directory nor a single local header is found.
    pub fn open(task: &Task, source: &Source) -> Result<Archive> {
        let len = source.len(task)?;
        let mut archive = Archive {
            source: source.clone(),
            members: Arc::default(),
            comment: String::new(),
            problem: None,
        };
        let problem = match Directory::find(task, source, len).unless_cancelled()? {
            Ok(directory) => {
                archive.comment.clone_from(&directory.comment);
                let (members, problem) = directory.members(task, source)?;
                if problem.is_none() || !members.is_empty() {
                    archive.members = Arc::new(members);
                    archive.problem = problem;
                    return Ok(archive);
                }
                problem
            }
            Err(error) => Some(error),
        };
        let members = walk_local_headers(task, source, len)?;
        match problem {
            Some(problem) if members.is_empty() => Err(problem),
            problem => {
                archive.members = Arc::new(members);
                archive.problem = problem;
                Ok(archive)
            }
        }
    }

    /// The bytes of a member under the last part of its name: a slice of the archive if it is stored,
    /// else a stream that inflates as it is read.
    ///
    /// # Errors
    /// `Unsupported` for encryption and for unknown methods, `Malformed` where the local header is
    /// not there or the data reach beyond the file.
    pub fn read(&self, task: &Task, member: &Member) -> Result<Source> {
        let name = member.name.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        if member.encrypted {
            return Err(Error::unsupported(format!("member {:?} is encrypted", member.name)));
        }
        let start = self.data_start(task, member)?;
        let end =
            start.checked_add(member.stored).filter(|&end| self.source.known_len().is_none_or(|l| end <= l));
        let Some(end) = end else {
            return Err(Error::malformed(format!(
                "member {:?}: its {} bytes reach beyond the end of the archive; it may be cut off",
                member.name, member.stored
            ))
            .at(start));
        };
        if member.method == Method::Stored {
            if member.stored != member.size {
                return Err(Error::malformed(format!(
                    "member {:?}: it is stored in {} bytes but is said to have {}",
                    member.name, member.stored, member.size
                ))
                .at(member.header));
            }
            return self.source.member(name, start..end);
        }
        let stream = inflate::stream(&self.source, start..end, member)?;
        Ok(self.source.stream(name, stream)?.unpacked_from(&self.source, start..end, member.method.name()))
    }

    /// Reads a member through and compares it with its CRC-32. Reading a compressed member to its end
    /// does the same; a stored one is a slice that nobody checks otherwise.
    pub fn verify(&self, task: &Task, member: &Member) -> Result<()> {
        let source = self.read(task, member)?;
        let mut crc = crc32fast::Hasher::new();
        let mut at = 0;
        task.set_total(member.size);
        while at < member.size {
            let block = source.read(task, at..member.size.min(at + (1 << 20)))?;
            crc.update(&block);
            at += block.len() as u64;
            task.advance(block.len() as u64)?;
        }
        match (crc.finalize(), member.crc) {
            (found, promised) if found != promised => Err(Error::malformed(format!(
                "member {:?}: its CRC-32 is {found:08x}, the directory says {promised:08x}",
                member.name
            ))
            .at(member.header)),
            _ => Ok(()),
        }
    }

    /// Where the stored bytes of a member lie in the archive.
    ///
    /// # Errors
    /// `Malformed` where there is no local header, or the end overflows.
    pub fn place(&self, task: &Task, member: &Member) -> Result<std::ops::Range<u64>> {
        let start = self.data_start(task, member)?;
        let end = start.checked_add(member.stored);
        let end =
            end.ok_or_else(|| Error::malformed(format!("member {:?}: its end overflows", member.name)))?;
        Ok(start..end)
    }

    /// Where the local header of a member and its stored bytes lie.
    ///
    /// # Errors
    /// As [`place`](Archive::place).
    pub fn extent(
        &self,
        task: &Task,
        member: &Member,
    ) -> Result<(std::ops::Range<u64>, std::ops::Range<u64>)> {
        let data = self.place(task, member)?;
        Ok((member.header..data.start, data))
    }

    /// What the archive lies in.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Where the data of a member begin: behind its local header, whose extra field may differ from
    /// the directory's.
    fn data_start(&self, task: &Task, member: &Member) -> Result<u64> {
        let lost = || {
            Error::malformed(format!("member {:?}: there is no local header where it should be", member.name))
                .at(member.header)
        };
        let end = member.header.checked_add(LOCAL_LEN as u64).ok_or_else(lost)?;
        if self.source.known_len().is_some_and(|len| end > len) {
            return Err(lost());
        }
        let header = self.source.read(task, member.header..end)?;
        if !header.starts_with(LOCAL) {
            return Err(lost());
        }
        Ok(end + u64::from(le_or_zero::<u16>(&header, 26)) + u64::from(le_or_zero::<u16>(&header, 28)))
    }
}

/// The member that stands first in a file, as far as its begin is known.
pub struct FirstMember<'a> {
    /// Its name.
    pub name: String,
    method: Method,
    data: &'a [u8],
}

/// The first member of the archive that begins with these bytes.
pub fn first_member(first: &[u8]) -> Option<FirstMember<'_>> {
    // An archive in parts that was put together may have their mark before it.
    let first = first.strip_prefix(DESCRIPTOR).filter(|rest| rest.starts_with(LOCAL)).unwrap_or(first);
    if !first.starts_with(LOCAL) || first.len() < LOCAL_LEN {
        return None;
    }
    let name_end = LOCAL_LEN + usize::from(le_or_zero::<u16>(first, 26));
    let name = first.get(LOCAL_LEN..name_end)?;
    let data = first.get(name_end + usize::from(le_or_zero::<u16>(first, 28))..).unwrap_or_default();
    let flags = le_or_zero::<u16>(first, 6);
    // Stored with the sizes behind the data, or encrypted: where the data end or what they are is not known.
    let known = flags & 1 == 0 && (flags & 8 == 0 || le_or_zero::<u16>(first, 8) != 0);
    let method = if known { Method::new(le_or_zero::<u16>(first, 8)) } else { Method::Other(u16::MAX) };
    let stored = if method == Method::Stored { le_or_zero::<u32>(first, 18) as usize } else { data.len() };
    let data = data.get(..stored.min(data.len()))?;
    Some(FirstMember { name: text(name, flags & 0x800 != 0), method, data })
}

/// The names of the directory's entries that begin in these bytes, the end of an archive.
pub fn listed_names(last: &[u8]) -> Vec<String> {
    let name = |at: usize| {
        let entry = last.get(at..)?;
        let bytes = entry.get(ENTRY_LEN..ENTRY_LEN + usize::from(le_or_zero::<u16>(entry, 28)))?;
        Some(text(bytes, le_or_zero::<u16>(entry, 8) & 0x800 != 0))
    };
    memchr::memmem::find_iter(last, ENTRY).filter_map(name).collect()
}

impl FirstMember<'_> {
    /// Its first bytes, at most `most`, as far as they are there.
    pub fn inflated(&self, most: usize) -> Option<Vec<u8>> {
        match self.method {
            Method::Stored => Some(self.data.iter().take(most).copied().collect()),
            Method::Deflate => Some(prefix(&mut Inflater::new(false).ok()?, self.data, most, "member").0),
            _ => None,
        }
    }
}

/// Where the central directory is.
struct Directory {
    start: u64,
    len: u64,
    count: u64,
    /// What stands before the archive (a self-extractor's program): added to all offsets.
    shift: u64,
    comment: String,
}

impl Directory {
    /// Finds the end record — in the last 64 KB, before a comment — and, through its locator, the
    /// 64-bit one.
    fn find(task: &Task, source: &Source, len: u64) -> Result<Directory> {
        let most = END_LEN as u64 + u64::from(u16::MAX);
        let tail_start = len.saturating_sub(most);
        let tail = source.read(task, tail_start..len)?;
        let Some(at) = end_record(&tail) else {
            return Err(Error::malformed("ZIP: there is no end record; the file may be cut off").at(len));
        };
        let record = tail.slice(at..);
        let end = tail_start + at as u64;
        let comment_len = usize::from(le_or_zero::<u16>(&record, 20));
        let comment = record.get(END_LEN..END_LEN + comment_len).unwrap_or_default();
        let mut directory = Directory {
            start: u64::from(le_or_zero::<u32>(&record, 16)),
            len: u64::from(le_or_zero::<u32>(&record, 12)),
            count: u64::from(le_or_zero::<u16>(&record, 10)),
            shift: 0,
            comment: text(comment, false),
        };
        let end = directory.widen(task, source, end)?.unwrap_or(end);
        directory.place(task, source, end)?;
        Ok(directory)
    }

    /// Takes the numbers of the 64-bit end record, if there is one; returns where it is.
    fn widen(&mut self, task: &Task, source: &Source, end: u64) -> Result<Option<u64>> {
        let Some(at) = end.checked_sub(20) else { return Ok(None) };
        let locator = source.read(task, at..end)?;
        if !locator.starts_with(LOCATOR) {
            return Ok(None);
        }
        // The stored offset is wrong where something was put before the archive; the record is then
        // right before its locator.
        let places = [Some(le_or_zero::<u64>(&locator, 8)), at.checked_sub(56)];
        for place in places.into_iter().flatten() {
            let fits = place.checked_add(56).is_some_and(|e| e <= at);
            if !fits {
                continue;
            }
            let record = source.read(task, place..place + 56)?;
            if record.starts_with(END64) {
                self.count = le_or_zero::<u64>(&record, 32);
                self.len = le_or_zero::<u64>(&record, 40);
                self.start = le_or_zero::<u64>(&record, 48);
                return Ok(Some(place));
            }
        }
        Err(Error::malformed("ZIP: the 64-bit end record is not where its locator says").at(at))
    }

    /// Checks that the directory lies before `end` and corrects for bytes before the archive.
    fn place(&mut self, task: &Task, source: &Source, end: u64) -> Result<()> {
        if self.len == 0 && self.count == 0 {
            self.start = end;
            return Ok(());
        }
        let is_entry = |at: u64| -> Result<bool> {
            let inside = at.checked_add(4).is_some_and(|e| e <= end);
            Ok(inside && source.read(task, at..at + 4)?.starts_with(ENTRY))
        };
        if let Some(real) = end.checked_sub(self.len)
            && let Some(shift) = real.checked_sub(self.start)
            && is_entry(real)?
        {
            (self.start, self.shift) = (real, shift);
            return Ok(());
        }
        if is_entry(self.start)? {
            self.len = end - self.start;
            return Ok(());
        }
        Err(Error::malformed(format!("ZIP: the central directory is not at byte {}", self.start)).at(end))
    }

    /// All entries; with a problem where they end too early.
    fn members(&self, task: &Task, source: &Source) -> Result<(Vec<Member>, Option<Error>)> {
        limits::check(self.len, limits::CHUNK, "the ZIP directory")?;
        let mut rest = source.read(task, self.start..self.start + self.len)?;
        // The count is not trusted: 16 bits wrap around in archives of careless writers.
        let most = (rest.len() / ENTRY_LEN) as u64;
        let mut members = Vec::with_capacity(self.count.min(most) as usize);
        while !rest.is_empty() {
            if members.len() % 4096 == 0 {
                task.check()?;
            }
            let at = self.start + self.len - rest.len() as u64;
            let Some((member, used)) = entry(&rest, self.shift) else {
                // A digital signature may follow the last entry.
                if members.len() as u64 >= self.count {
                    break;
                }
                let what = format!(
                    "ZIP directory: entry {} of {} is damaged or cut off",
                    members.len() + 1,
                    self.count
                );
                return Ok((members, Some(Error::malformed(what).at(at))));
            };
            members.push(member);
            rest = rest.slice(used.min(rest.len())..);
        }
        Ok((members, None))
    }
}

/// The last end record in `tail` whose comment fits; a record whose comment ends the file exactly is
/// taken first, since a comment may contain the signature.
fn end_record(tail: &[u8]) -> Option<usize> {
    let mut fits = None;
    for at in memchr::memmem::rfind_iter(tail, END) {
        let rest = tail.get(at..)?;
        if rest.len() < END_LEN {
            continue;
        }
        let end = END_LEN + usize::from(le_or_zero::<u16>(rest, 20));
        if end == rest.len() {
            return Some(at);
        }
        if end < rest.len() {
            fits.get_or_insert(at);
        }
    }
    fits
}

/// The entry at the start of `bytes` and its length.
fn entry(bytes: &[u8], shift: u64) -> Option<(Member, usize)> {
    if !bytes.starts_with(ENTRY) || bytes.len() < ENTRY_LEN {
        return None;
    }
    let (flags, system) = (le_or_zero::<u16>(bytes, 8), bytes.get(5).copied()?);
    let name_end = ENTRY_LEN + usize::from(le_or_zero::<u16>(bytes, 28));
    let extra_end = name_end + usize::from(le_or_zero::<u16>(bytes, 30));
    let end = extra_end + usize::from(le_or_zero::<u16>(bytes, 32));
    let utf8 = flags & 0x800 != 0;
    let mut member = Member {
        name: text(bytes.get(ENTRY_LEN..name_end)?, utf8),
        method: Method::new(le_or_zero::<u16>(bytes, 10)),
        encrypted: flags & 1 != 0,
        stored: u64::from(le_or_zero::<u32>(bytes, 20)),
        size: u64::from(le_or_zero::<u32>(bytes, 24)),
        crc: le_or_zero::<u32>(bytes, 16),
        stamp: le_or_zero::<u32>(bytes, 12),
        mode: matches!(system, 3 | 19).then(|| le_or_zero::<u32>(bytes, 38) >> 16).filter(|&mode| mode != 0),
        comment: text(bytes.get(extra_end..end)?, utf8).into(),
        header: u64::from(le_or_zero::<u32>(bytes, 42)),
    };
    extra(bytes.get(name_end..extra_end)?, &mut member, true);
    // Encryption puts twelve bytes or more before the data: the mark of what is stored without them is wrong.
    member.encrypted &= member.method != Method::Stored || member.stored != member.size;
    member.header = member.header.saturating_add(shift);
    Some((member, end))
}

/// The extra field: 64-bit numbers (1) and the name in Unicode (0x7075).
fn extra(mut bytes: &[u8], member: &mut Member, with_header: bool) {
    while bytes.len() >= 4 {
        let (id, len) = (le_or_zero::<u16>(bytes, 0), usize::from(le_or_zero::<u16>(bytes, 2)));
        let Some(value) = bytes.get(4..4 + len) else { return };
        if id == 1 {
            let mut at = 0;
            let mut wide = |number: &mut u64| {
                if *number == u64::from(u32::MAX) && at + 8 <= value.len() {
                    *number = le_or_zero::<u64>(value, at);
                    at += 8;
                }
            };
            wide(&mut member.size);
            wide(&mut member.stored);
            if with_header {
                wide(&mut member.header);
            }
        } else if id == 0x7075
            && value.first() == Some(&1)
            && let Some(name) = value.get(5..).and_then(|name| std::str::from_utf8(name).ok())
        {
            member.name = name.to_owned();
        }
        bytes = bytes.get(4 + len..).unwrap_or_default();
    }
}

/// The members of an archive without a directory: local headers one after the other.
fn walk_local_headers(task: &Task, source: &Source, len: u64) -> Result<Vec<Member>> {
    let mut members = Vec::new();
    let mut at = 0u64;
    while let Some(end) = at.checked_add(LOCAL_LEN as u64).filter(|&end| end <= len) {
        task.check()?;
        let header = source.read(task, at..end)?;
        if !header.starts_with(LOCAL) {
            break;
        }
        let (flags, name_len, extra_len) =
            (le_or_zero::<u16>(&header, 6), le_or_zero::<u16>(&header, 26), le_or_zero::<u16>(&header, 28));
        let data = end + u64::from(name_len) + u64::from(extra_len);
        if data > len {
            break;
        }
        let names = source.read(task, end..data)?;
        let (name, more) = names.split_at(usize::from(name_len).min(names.len()));
        let mut member = Member {
            name: text(name, flags & 0x800 != 0),
            method: Method::new(le_or_zero::<u16>(&header, 8)),
            encrypted: flags & 1 != 0,
            stored: u64::from(le_or_zero::<u32>(&header, 18)),
            size: u64::from(le_or_zero::<u32>(&header, 22)),
            crc: le_or_zero::<u32>(&header, 14),
            stamp: le_or_zero::<u32>(&header, 10),
            mode: None,
            comment: Box::default(),
            header: at,
        };
        extra(more, &mut member, false);
        let mut next = data.checked_add(member.stored);
        if flags & 8 != 0 && member.stored == 0 {
            let Some(end) = find_descriptor(task, source, data..len, &mut member)? else { break };
            next = Some(end);
        }
        members.push(member);
        match next {
            Some(next) => at = next,
            None => break,
        }
    }
    Ok(members)
}

/// Sizes that stand behind the data: the first descriptor whose stored size is its own distance.
fn find_descriptor(
    task: &Task,
    source: &Source,
    data: std::ops::Range<u64>,
    member: &mut Member,
) -> Result<Option<u64>> {
    const STEP: u64 = 1 << 20;
    let mut from = data.start;
    while from < data.end {
        // A little overlap, so that a descriptor on the border is seen whole.
        let block: Bytes = source.read(task, from..(from + STEP + 24).min(data.end))?;
        for at in memchr::memmem::find_iter(&block, DESCRIPTOR) {
            let place = from + at as u64;
            let Some(record) = block.get(at..at + 16) else { break };
            if u64::from(le_or_zero::<u32>(record, 8)) == place - data.start {
                member.crc = le_or_zero::<u32>(record, 4);
                member.stored = place - data.start;
                member.size = u64::from(le_or_zero::<u32>(record, 12));
                return Ok(Some(place + 16));
            }
        }
        from += STEP;
    }
    Ok(None)
}

/// A name or comment: UTF-8 if it says so or happens to be, else the PC's code page 437.
fn text(bytes: &[u8], utf8: bool) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) if utf8 => String::from_utf8_lossy(bytes).into_owned(),
        Err(_) => bytes.iter().map(|&b| cp437(b)).collect(),
    }
}

/// The upper half of code page 437.
const CP437: &str = "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}";

fn cp437(byte: u8) -> char {
    match byte.checked_sub(128) {
        None => char::from(byte),
        Some(upper) => CP437.chars().nth(usize::from(upper)).unwrap_or('\u{fffd}'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::error::ErrorKind;
    use proptest::prelude::*;
    use std::path::Path;

    fn fixture(name: &str) -> Source {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/");
        Source::open(&Task::new(), Path::new(&format!("{folder}{name}"))).unwrap()
    }

    /// Every member's bytes or error.
    fn members(source: &Source) -> (Archive, Vec<(String, Result<Bytes>)>) {
        let task = Task::new();
        let archive = Archive::open(&task, source).unwrap();
        let bytes = |m: &Member| archive.read(&task, m).and_then(|s| s.read(&task, 0..s.len(&task)?));
        let read = archive.members.iter().map(|m| (m.name.clone(), bytes(m))).collect();
        (archive, read)
    }

    #[test]
    fn every_method_gives_bytes_of_the_promised_checksum() {
        for name in ["stored", "deflated", "bzip2", "lzma", "zip64", "prefixed", "data_descriptor", "comment"]
        {
            let (archive, read) = members(&fixture(&format!("zip/{name}.zip")));
            assert!(archive.problem.is_none() && !read.is_empty(), "{name}");
            for (member, (_, bytes)) in archive.members.iter().zip(read) {
                assert_eq!(crc32fast::hash(&bytes.unwrap()), member.crc, "{name}: {}", member.name);
            }
        }
    }

    #[test]
    fn an_empty_archive_has_no_members() {
        assert_eq!(members(&fixture("zip/empty.zip")).1.len(), 0);
    }

    #[test]
    fn a_false_mark_of_encryption_hides_nothing() {
        let (sound, _) = members(&fixture("zip/stored.zip"));
        let stored = sound.members.iter().filter(|m| m.method == Method::Stored && m.size > 0).count();
        assert!(stored > 0);
        let source = fixture("zip/stored.zip");
        let mut bytes = source.read(&Task::new(), 0..source.len(&Task::new()).unwrap()).unwrap().to_vec();
        let starts: Vec<usize> = memchr::memmem::find_iter(&bytes, ENTRY).collect();
        starts.into_iter().for_each(|at| bytes[at + 8] |= 1);
        let archive = Archive::open(&Task::new(), &Source::memory("z", bytes)).unwrap();
        assert_eq!(
            archive.members.iter().filter(|member| !member.encrypted && member.size > 0).count(),
            stored
        );
    }

    #[test]
    fn encryption_is_named() {
        let (_, read) = members(&fixture("zip/encrypted.zip"));
        assert!(read.iter().any(|(_, r)| r.as_ref().is_err_and(|e| e.kind() == ErrorKind::Unsupported)));
    }

    #[test]
    fn a_lost_directory_leaves_the_members() {
        for name in ["zip/malformed/cut_no_directory.zip", "npz/malformed/cut_no_directory.npz"] {
            let (archive, read) = members(&fixture(name));
            assert!(archive.problem.is_some(), "{name}");
            assert!(read.iter().any(|(_, bytes)| bytes.is_ok()), "{name}: {read:?}");
        }
    }

    #[test]
    fn damage_is_found_and_the_neighbours_are_read() {
        for name in ["bad_crc", "bad_deflate"] {
            let (archive, _) = members(&fixture(&format!("zip/malformed/{name}.zip")));
            let check = |m| archive.verify(&Task::new(), m).err();
            let bad: Vec<_> = archive.members.iter().filter_map(check).collect();
            assert!(bad.len() < archive.members.len(), "{name}: {bad:?}");
            assert!(
                !bad.is_empty() && bad.iter().all(|e| e.kind() == ErrorKind::Malformed),
                "{name}: {bad:?}"
            );
        }
    }

    #[test]
    fn old_names_are_in_the_pc_code_page() {
        assert_eq!(text(b"na\x8bve \xe1", false), "naïve ß");
        assert_eq!(CP437.chars().count(), 128);
    }

    #[test]
    fn a_large_member_is_read_at_any_place() {
        use std::io::Write;
        let raw: Vec<u8> = (0..(70u32 << 18)).flat_map(|n| (n / 7).to_le_bytes()).collect();
        let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(&raw).unwrap();
        let deflated = encoder.finish().unwrap();
        let member = Member {
            name: "m".into(),
            method: Method::Deflate,
            encrypted: false,
            stored: deflated.len() as u64,
            size: raw.len() as u64,
            crc: crc32fast::hash(&raw),
            stamp: 0,
            mode: None,
            comment: Box::default(),
            header: 0,
        };
        let parent = Source::memory("z", deflated);
        let stream = inflate::stream(&parent, 0..member.stored, &member).unwrap();
        let source = parent.stream("m", stream).unwrap();
        let task = Task::new();
        let end = raw.len() as u64;
        for range in [0..9, 40 << 20..(40 << 20) + 5, 5..9, end - 3..end] {
            let want = &raw[range.start as usize..range.end as usize];
            assert_eq!(source.read(&task, range.clone()).unwrap(), want, "{range:?}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(at in 0usize..400, value: u8, cut in 0usize..400) {
            let name = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/zip/deflated.zip");
            let mut bytes = std::fs::read(name).unwrap();
            let len = bytes.len();
            bytes[len - 1 - at % len] = value;
            bytes.truncate(len - cut % len);
            let source = Source::memory("z", bytes);
            if let Ok(archive) = Archive::open(&Task::new(), &source) {
                for member in archive.members.iter() {
                    let _ = archive.read(&Task::new(), member).and_then(|s| s.read_up_to(&Task::new(), 0, 1 << 20));
                }
            }
        }
    }
}
