//! (being written)

use crate::error::{Error, Result};
use crate::format::{Format, Opening};
use crate::node::Node;
use crate::sniff::{Head, Match};

/// The descriptor.
pub static GZIP: Format = Format { extensions: &[], sniff: Some(sniff), ..Format::new("gzip", "GZIP", open) };
/// The descriptor.
pub static ZSTD: Format = Format { extensions: &[], sniff: Some(sniff), ..Format::new("zstd", "ZSTD", open) };
/// The descriptor.
pub static BZIP2: Format =
    Format { extensions: &[], sniff: Some(sniff), ..Format::new("bzip2", "BZIP2", open) };
/// The descriptor.
pub static XZ: Format = Format { extensions: &[], sniff: Some(sniff), ..Format::new("xz", "XZ", open) };
/// The descriptor.
pub static LZ4: Format = Format { extensions: &[], sniff: Some(sniff), ..Format::new("lz4", "LZ4", open) };
/// The descriptor.
pub static ZLIB: Format = Format { extensions: &[], sniff: Some(sniff), ..Format::new("zlib", "ZLIB", open) };

fn sniff(_head: &Head) -> Match {
    Match::No
}

fn open(_opening: &Opening) -> Result<Node> {
    Err(Error::bug("being written"))
}
