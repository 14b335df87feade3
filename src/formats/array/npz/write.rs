//! Writes NPZ: a ZIP archive of NPY files, as `np.savez` and `np.savez_compressed` do. Every local header
//! has ZIP64's field, so members may be of any size; checksums and sizes are filled in once they are known.
//! <https://numpy.org/doc/stable/reference/generated/numpy.savez.html>

use crate::bytes::archive::write::{Entry, directory, local};
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::content::{Array, Kind};
use crate::data::format::{Loss, Metadata, OptionSpec, Options, Payload, Sink, Writer};
use crate::data::scan::{array_bytes, elements, put};
use crate::engines::numpy as npy;
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

fn write(task: &Task, payload: &Payload, options: &Options, sink: &mut dyn Sink) -> Result<()> {
    let deflate = options.choice(&COMPRESSION)? == "deflate";
    let (mut names, mut total) = (HashSet::new(), 0u64);
    for (name, array) in payload.arrays()? {
        if !names.insert(name) {
            return Err(Error::unsupported(format!("two arrays are called {name:?}")));
        }
        total = total.saturating_add(array_bytes(array.as_ref())?);
    }
    task.set_total(total);
    let mut entries = Vec::new();
    for (name, array) in payload.arrays()? {
        task.set_message(name.clone());
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
