//! Writing ZIP archives: headers with ZIP64's field before every member, so that members may be of any size and their
//! checksums and sizes are filled in once they are known; the directory at the end.
//! <https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT>

use crate::bytes::error::{Error, Result};
use std::io::{Seek, Write};

/// One member, as the directory at the end lists it.
pub struct Entry {
    /// Its path.
    pub name: String,
    /// Where its header begins.
    pub at: u64,
    /// The CRC-32 of its bytes.
    pub crc: u32,
    /// How many bytes are stored.
    pub stored: u64,
    /// How many there are without compression.
    pub raw: u64,
}

/// What both headers of a member have in common, from the version needed to the CRC.
fn common(entry: &Entry, deflate: bool) -> Vec<u8> {
    let mut out = Vec::new();
    // Version 4.5 (ZIP64); bit 11 says that the name is UTF-8.
    let flags: u16 = if entry.name.is_ascii() { 0 } else { 1 << 11 };
    for word in [45u16, flags, if deflate { 8 } else { 0 }, 0, 0x21] {
        out.extend(word.to_le_bytes());
    }
    out.extend(entry.crc.to_le_bytes());
    // Both sizes stand in the ZIP64 field.
    out.extend([0xff; 8]);
    out
}

fn name_len(entry: &Entry) -> Result<u16> {
    u16::try_from(entry.name.len()).map_err(|_| Error::unsupported("a member's name is over 64 KB long"))
}

/// The header before a member.
pub fn local(entry: &Entry, deflate: bool) -> Result<Vec<u8>> {
    let mut out = b"PK\x03\x04".to_vec();
    out.extend(common(entry, deflate));
    out.extend(name_len(entry)?.to_le_bytes());
    out.extend(20u16.to_le_bytes());
    out.extend(entry.name.as_bytes());
    out.extend([1, 0, 16, 0]);
    out.extend(entry.raw.to_le_bytes());
    out.extend(entry.stored.to_le_bytes());
    Ok(out)
}

/// The directory, and the records that close an archive, ZIP64's among them where it is needed.
pub fn directory(entries: &[Entry], deflate: bool, sink: &mut (impl Write + Seek + ?Sized)) -> Result<()> {
    let start = sink.stream_position()?;
    for entry in entries {
        let mut out = b"PK\x01\x02\x2d\x03".to_vec();
        out.extend(common(entry, deflate));
        out.extend(name_len(entry)?.to_le_bytes());
        out.extend(28u16.to_le_bytes());
        // No comment, disk 0, no internal attributes; a plain file with mode 0644.
        out.extend([0; 6]);
        out.extend((0o100_644u32 << 16).to_le_bytes());
        out.extend([0xff; 4]);
        out.extend(entry.name.as_bytes());
        out.extend([1, 0, 24, 0]);
        for number in [entry.raw, entry.stored, entry.at] {
            out.extend(number.to_le_bytes());
        }
        sink.write_all(&out)?;
    }
    let end = sink.stream_position()?;
    let (count, size) = (entries.len() as u64, end - start);
    let mut out = Vec::new();
    let large = count >= 0xffff || end >= 0xffff_ffff;
    if large {
        out.extend(b"PK\x06\x06");
        out.extend(44u64.to_le_bytes());
        out.extend([45, 0, 45, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        for number in [count, count, size, start] {
            out.extend(number.to_le_bytes());
        }
        out.extend(b"PK\x06\x07\0\0\0\0");
        out.extend(end.to_le_bytes());
        out.extend(1u32.to_le_bytes());
    }
    let short = u16::try_from(count).unwrap_or(u16::MAX).to_le_bytes();
    out.extend(b"PK\x05\x06\0\0\0\0");
    out.extend([short, short].concat());
    for number in [size, start] {
        out.extend(u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes());
    }
    out.extend([0, 0]);
    Ok(sink.write_all(&out)?)
}
