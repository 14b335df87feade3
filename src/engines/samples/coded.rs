//! What is written through a compression.

use crate::bytes::error::{Error, Result};
use crate::data::format::{OptionSpec, Options};
use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use std::io::Write;

/// A compression around all of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    /// None.
    Plain,
    /// <https://www.rfc-editor.org/rfc/rfc1952>
    Gzip,
    /// <https://www.rfc-editor.org/rfc/rfc1950>
    Zlib,
    /// <https://www.rfc-editor.org/rfc/rfc8878>
    Zstd,
}

impl Coding {
    /// The one that an option names.
    ///
    /// # Errors
    /// `Unsupported` for a value that the option has not.
    pub fn of(options: &Options, spec: &OptionSpec) -> Result<Coding> {
        Ok(match options.choice(spec)? {
            "gzip" | "gz" => Coding::Gzip,
            "zlib" => Coding::Zlib,
            "zstd" | "zst" => Coding::Zstd,
            _ => Coding::Plain,
        })
    }

    /// What names of such files end in.
    pub fn ending(self) -> &'static str {
        match self {
            Coding::Plain | Coding::Zlib => "",
            Coding::Gzip => ".gz",
            Coding::Zstd => ".zst",
        }
    }
}

/// Bytes on their way through a compression.
pub enum Coded<W: Write> {
    /// None.
    Plain(W),
    /// GZIP.
    Gzip(GzEncoder<W>),
    /// ZLIB.
    Zlib(ZlibEncoder<W>),
    /// Zstandard.
    Zstd(Box<zstd::stream::write::Encoder<'static, W>>),
}

impl<W: Write> Coded<W> {
    /// Begins to write to `inner`.
    ///
    /// # Errors
    /// Those of the compression.
    pub fn new(coding: Coding, inner: W) -> Result<Self> {
        Ok(match coding {
            Coding::Plain => Coded::Plain(inner),
            Coding::Gzip => Coded::Gzip(GzEncoder::new(inner, Compression::default())),
            Coding::Zlib => Coded::Zlib(ZlibEncoder::new(inner, Compression::default())),
            Coding::Zstd => Coded::Zstd(Box::new(zstd::stream::write::Encoder::new(inner, 0)?)),
        })
    }

    /// Writes some bytes.
    ///
    /// # Errors
    /// Those of writing.
    pub fn put(&mut self, bytes: &[u8]) -> Result<()> {
        let written = match self {
            Coded::Plain(inner) => inner.write_all(bytes),
            Coded::Gzip(inner) => inner.write_all(bytes),
            Coded::Zlib(inner) => inner.write_all(bytes),
            Coded::Zstd(inner) => inner.write_all(bytes),
        };
        written.map_err(Error::from)
    }

    /// Writes what ends the compressed bytes.
    ///
    /// # Errors
    /// Those of writing.
    pub fn finish(self) -> Result<()> {
        match self {
            Coded::Plain(_) => Ok(()),
            Coded::Gzip(inner) => Ok(inner.finish().map(drop)?),
            Coded::Zlib(inner) => Ok(inner.finish().map(drop)?),
            Coded::Zstd(inner) => Ok(inner.finish().map(drop)?),
        }
    }
}
