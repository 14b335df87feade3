//! Writes NPZ: a ZIP archive of NPY files, as `np.savez` and `np.savez_compressed` do. Every local header
//! has ZIP64's field, so members may be of any size; checksums and sizes are filled in once they are known.
//! <https://numpy.org/doc/stable/reference/generated/numpy.savez.html>

use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::content::{Array, Kind};
use crate::data::format::{Loss, Metadata, OptionSpec, Options, Payload, Sink, Writer};
use crate::data::scan::{array_bytes, elements, put};
use crate::formats::array::npy::write as npy;
use flate2::write::DeflateEncoder;
use std::collections::HashSet;
use std::io::{SeekFrom, Write};

const COMPRESSION: OptionSpec = OptionSpec {
    name: "compression",
    help: "How members are compressed",
    values: &["none", "deflate"],
    default: "none",
};

/// The writer.
pub const WRITER: Writer = Writer {
    accepts: &[Kind::Array],
    many: true,
    metadata: Metadata::None,
    scales: false,
    texts: false,
    options: &[COMPRESSION],
    losses,
    write,
};

fn losses(payload: &Payload, _options: &Options) -> Vec<Loss> {
    let mut losses = Vec::new();
    for (name, array) in payload.arrays().unwrap_or_default() {
        npy::losses_of(name, "", array.dtype(), &mut losses);
    }
    losses
}

/// One member, as the directory at the end lists it.
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) at: u64,
    pub(crate) crc: u32,
    pub(crate) stored: u64,
    pub(crate) raw: u64,
}

fn write(task: &Task, payload: &Payload, options: &Options, sink: &mut dyn Sink) -> Result<()> {
    let deflate = options.choice(&COMPRESSION)? == "deflate";
    let (mut names, mut total) = (HashSet::new(), 0u64);
    for (name, array) in payload.arrays()? {
        if !names.insert(name) {
            return Err(Error::unsupported(format!("two arrays are called {name:?}")));
        }
        total = total.saturating_add(array_bytes(array.as_ref())?);
    }
    task.expect(total);
    let mut entries = Vec::new();
    for (name, array) in payload.arrays()? {
        task.say(name.clone());
        entries.push(member(task, name, array.as_ref(), deflate, sink)?);
    }
    directory(&entries, deflate, sink)
}

fn member(task: &Task, name: &str, array: &dyn Array, deflate: bool, sink: &mut dyn Sink) -> Result<Entry> {
    let at = sink.stream_position()?;
    let mut entry = Entry { name: format!("{name}.npy"), at, crc: 0, stored: 0, raw: 0 };
    put(sink, &local(&entry, deflate)?)?;
    let start = sink.stream_position()?;
    let head = npy::header(array.dtype(), array.shape())?;
    let mut crc = crc32fast::Hasher::new();
    let mut count = |bytes: &[u8]| {
        crc.update(bytes);
        entry.raw += bytes.len() as u64;
    };
    count(&head);
    if deflate {
        let mut encoder = DeflateEncoder::new(&mut *sink, flate2::Compression::default());
        encoder.write_all(&head)?;
        elements(task, array, &mut |bytes| {
            count(bytes);
            Ok(encoder.write_all(bytes)?)
        })?;
        encoder.finish()?;
    } else {
        put(sink, &head)?;
        elements(task, array, &mut |bytes| {
            count(bytes);
            put(sink, bytes)
        })?;
    }
    entry.crc = crc.finalize();
    let end = sink.stream_position()?;
    entry.stored = end - start;
    sink.seek(SeekFrom::Start(at))?;
    put(sink, &local(&entry, deflate)?)?;
    sink.seek(SeekFrom::Start(end))?;
    Ok(entry)
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
    u16::try_from(entry.name.len()).map_err(|_| Error::unsupported("an array's name is over 64 KB long"))
}

/// The header before a member.
pub(crate) fn local(entry: &Entry, deflate: bool) -> Result<Vec<u8>> {
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
pub(crate) fn directory(entries: &[Entry], deflate: bool, sink: &mut dyn Sink) -> Result<()> {
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
        put(sink, &out)?;
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
    put(sink, &out)
}
