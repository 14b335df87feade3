//! Writing ZIP archives whose members may be of any size: every header has ZIP64's field, and checksums and sizes are
//! filled in once they are known.

use crate::bytes::error::{Error, Result};
use std::io::{Seek, Write};
use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

/// Writes an archive: calls `fill` with its writer, then writes the directory.
///
/// # Errors
/// Those of `fill` and of writing. The archive is not complete then.
pub fn archive<W: Write + Seek>(sink: W, fill: impl FnOnce(&mut ZipWriter<W>) -> Result<()>) -> Result<()> {
    let mut zip = ZipWriter::new(sink);
    if let Err(error) = fill(&mut zip) {
        // Dropped, it would write a directory into an output that is given up, and print where that fails.
        std::mem::forget(zip);
        return Err(error);
    }
    zip.finish().map(drop).map_err(failed)
}

/// Begins a member, whose bytes are written to `zip` next.
///
/// # Errors
/// Those of writing; `Unsupported` for a name over 64 KB and for one that is there already.
pub fn member<W: Write + Seek>(zip: &mut ZipWriter<W>, name: &str, deflate: bool) -> Result<()> {
    let method = if deflate { CompressionMethod::Deflated } else { CompressionMethod::Stored };
    // The same bytes whenever they are written.
    let options = SimpleFileOptions::default().last_modified_time(DateTime::DEFAULT);
    zip.start_file(name, options.compression_method(method).large_file(true)).map_err(failed)
}

fn failed(error: ZipError) -> Error {
    match error {
        ZipError::Io(error) => error.into(),
        other => Error::unsupported(format!("a member of a ZIP archive: {other}")),
    }
}
