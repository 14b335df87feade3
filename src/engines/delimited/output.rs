//! Text as it is written to a file: in an encoding, and compressed by pieces on all cores — each piece of text is a gzip
//! member (RFC 1952, section 2.2) or a Zstandard frame (RFC 8878, section 3) of its own, and readers take those that
//! follow each other for one text. <https://www.rfc-editor.org/rfc/rfc1952>, <https://www.rfc-editor.org/rfc/rfc8878>

use crate::bytes::display;
use crate::bytes::error::{Error, Result};
use crate::data::format::{OptionSpec, Options, Sink};
use encoding_rs::{EncoderResult, Encoding, UTF_8, UTF_16BE, UTF_16LE};
use flate2::write::GzEncoder;
use std::io::Write;

/// Which compression.
pub const COMPRESS: OptionSpec = OptionSpec::new(
    "compress",
    "How the file is compressed; auto: as the end of its name says (.gz, .zst), else not",
)
.one_of("auto", &["auto", "none", "gzip", "zstd"]);
/// How hard.
pub const LEVEL: OptionSpec =
    OptionSpec::new("level", "The compression level: gzip 0 to 9 (usually 6), zstd 1 to 22 (usually 3)");
/// The encoding of what is written.
pub const ENCODING: OptionSpec = OptionSpec::new(
    "encoding",
    "How characters are stored: utf-8, utf-8-bom, utf-16le, utf-16be, latin1, windows-1252, shift_jis …",
)
.default("utf-8");
/// What becomes of characters that the encoding does not have.
pub const UNENCODABLE: OptionSpec = OptionSpec::new(
    "unencodable",
    "What becomes of a character that the encoding does not have: it stops the conversion, or is replaced by ?",
)
.one_of("stop", &["stop", "replace"]);

/// How a text is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// Not.
    Plain,
    /// As gzip members of this level.
    Gzip(u32),
    /// As Zstandard frames of this level.
    Zstd(i32),
}

impl Packing {
    /// What the options, or else the name of the file, ask for.
    ///
    /// # Errors
    /// `Unsupported` for a level that there is not.
    pub fn of(options: &Options, sink: &dyn Sink) -> Result<Self> {
        let name = sink.name().unwrap_or_default().to_lowercase();
        let kind = match options.choice(&COMPRESS)? {
            "auto" if name.ends_with(".gz") => "gzip",
            "auto" if name.ends_with(".zst") => "zstd",
            other => other,
        };
        let level = |usual: i32, least: i32, most: i32| match options.get(LEVEL.name).unwrap_or_default() {
            "" => Ok(usual),
            _ => options.number(&LEVEL, &format!("{kind} has levels from {least} to {most}"), |level| {
                (least..=most).contains(level)
            }),
        };
        Ok(match kind {
            "gzip" => Packing::Gzip(level(6, 0, 9)?.unsigned_abs()),
            "zstd" => Packing::Zstd(level(3, 1, 22)?),
            _ => Packing::Plain,
        })
    }

    /// A piece of the text as it is written.
    ///
    /// # Errors
    /// Those of the compression.
    pub fn packed(self, piece: Vec<u8>) -> Result<Vec<u8>> {
        Ok(match self {
            Packing::Plain => piece,
            Packing::Gzip(level) => {
                let out = Vec::with_capacity(piece.len() / 2);
                let mut out = GzEncoder::new(out, flate2::Compression::new(level));
                out.write_all(&piece)?;
                out.finish()?
            }
            Packing::Zstd(level) => zstd::bulk::compress(&piece, level)?,
        })
    }
}

/// A text that is written piece by piece.
pub struct Output<'a> {
    sink: &'a mut dyn Sink,
    packing: Packing,
    is_begun: bool,
}

impl<'a> Output<'a> {
    /// A text that goes to `sink`.
    pub fn new(sink: &'a mut dyn Sink, packing: Packing) -> Self {
        Output { sink, packing, is_begun: false }
    }

    /// Writes a piece that is packed already.
    ///
    /// # Errors
    /// Those of writing.
    pub fn packed(&mut self, piece: &[u8]) -> Result<()> {
        self.is_begun |= !piece.is_empty();
        Ok(self.sink.write_all(piece)?)
    }

    /// Packs and writes a few bytes.
    ///
    /// # Errors
    /// Those of writing.
    pub fn text(&mut self, piece: &[u8]) -> Result<()> {
        if piece.is_empty() {
            return Ok(());
        }
        let packed = self.packing.packed(piece.to_vec())?;
        self.packed(&packed)
    }

    /// The end: a compressed file of nothing has a member all the same.
    ///
    /// # Errors
    /// Those of writing.
    pub fn finish(self) -> Result<()> {
        if !self.is_begun {
            self.sink.write_all(&self.packing.packed(Vec::new())?)?;
        }
        Ok(())
    }
}

/// How characters become bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Characters {
    /// UTF-8, with a byte order mark or without.
    Utf8(bool),
    /// UTF-16 with a byte order mark; the most significant byte first or last.
    Utf16(bool),
    /// ISO 8859-1: the first 256 characters of Unicode. The Encoding Standard means windows-1252 by its name.
    Latin1,
    /// One of the Encoding Standard.
    Standard(&'static Encoding),
}

impl Characters {
    /// The encoding that the options name.
    ///
    /// # Errors
    /// `Unsupported` for a name that is none, or of an encoding that is only read.
    pub fn of(options: &Options) -> Result<Self> {
        let label = options.get(ENCODING.name).unwrap_or(ENCODING.default).trim().to_lowercase();
        Ok(match label.as_str() {
            "utf-8" | "utf8" => Characters::Utf8(false),
            "utf-8-bom" | "utf-8-sig" | "utf8-bom" => Characters::Utf8(true),
            "utf-16" | "utf-16le" | "utf16" => Characters::Utf16(false),
            "utf-16be" => Characters::Utf16(true),
            "latin1" | "latin-1" | "iso-8859-1" | "iso8859-1" => Characters::Latin1,
            _ => match Encoding::for_label(label.as_bytes()) {
                Some(encoding) if encoding == UTF_8 => Characters::Utf8(false),
                Some(encoding) if encoding == UTF_16LE => Characters::Utf16(false),
                Some(encoding) if encoding == UTF_16BE => Characters::Utf16(true),
                Some(encoding) if encoding != encoding_rs::REPLACEMENT => Characters::Standard(encoding),
                _ => {
                    let what = format!("{}={label}: there is no such encoding", ENCODING.name);
                    return Err(Error::unsupported(what));
                }
            },
        })
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Characters::Utf8(_) => "UTF-8",
            Characters::Utf16(_) => "UTF-16",
            Characters::Latin1 => "latin1",
            Characters::Standard(encoding) => encoding.name(),
        }
    }

    /// Whether it has every character.
    pub fn has_all(self) -> bool {
        match self {
            Characters::Utf8(_) | Characters::Utf16(_) => true,
            Characters::Latin1 => false,
            Characters::Standard(encoding) => encoding == encoding_rs::GB18030,
        }
    }

    /// What stands before the text.
    pub fn mark(self) -> &'static [u8] {
        match self {
            Characters::Utf8(true) => b"\xef\xbb\xbf",
            Characters::Utf16(false) => b"\xff\xfe",
            Characters::Utf16(true) => b"\xfe\xff",
            _ => b"",
        }
    }

    /// Text in UTF-8 as its bytes; with `replace` the characters that it has not become `?`.
    ///
    /// # Errors
    /// The first character that it has not.
    pub fn encoded(self, text: Vec<u8>, replace: bool) -> std::result::Result<Vec<u8>, char> {
        if matches!(self, Characters::Utf8(_)) {
            return Ok(text);
        }
        // Made of texts, which are UTF-8.
        let text = String::from_utf8(text)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        match self {
            Characters::Utf16(true) => Ok(text.encode_utf16().flat_map(u16::to_be_bytes).collect()),
            Characters::Utf16(false) => Ok(text.encode_utf16().flat_map(u16::to_le_bytes).collect()),
            Characters::Latin1 => {
                let byte = |c: char| match u8::try_from(u32::from(c)) {
                    Ok(byte) => Ok(byte),
                    Err(_) if replace => Ok(b'?'),
                    Err(_) => Err(c),
                };
                text.chars().map(byte).collect()
            }
            Characters::Standard(encoding) => standard(encoding, &text, replace),
            Characters::Utf8(_) => Ok(text.into_bytes()),
        }
    }
}

fn standard(encoding: &'static Encoding, text: &str, replace: bool) -> std::result::Result<Vec<u8>, char> {
    let mut encoder = encoding.new_encoder();
    let mut out = Vec::with_capacity(text.len() + 16);
    let mut rest = text;
    loop {
        out.reserve(rest.len() + 16);
        let (result, read) = encoder.encode_from_utf8_to_vec_without_replacement(rest, &mut out, true);
        rest = rest.get(read..).unwrap_or_default();
        match result {
            EncoderResult::InputEmpty => return Ok(out),
            EncoderResult::OutputFull => out.reserve(rest.len() * 2 + 16),
            EncoderResult::Unmappable(_) if replace => {
                out.reserve(16);
                let _ = encoder.encode_from_utf8_to_vec_without_replacement("?", &mut out, false);
            }
            EncoderResult::Unmappable(character) => return Err(character),
        }
    }
}

/// The cell that cannot be written, in the rows of a piece.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unwritable {
    /// Its row in the piece.
    pub row: usize,
    /// The name of its column.
    pub column: String,
    /// Why.
    pub why: String,
}

impl Unwritable {
    /// The error, for a piece whose first row is `first`.
    pub fn error(&self, first: u64) -> Error {
        let row = display::count(first.saturating_add(self.row as u64));
        Error::unsupported(format!("row {row}, column {:?}: {}", self.column, self.why))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Cursor, Read};

    fn options(list: &[(&str, &str)]) -> Options {
        let mut options = Options::default();
        list.iter().for_each(|(name, value)| options.set(name, *value));
        options
    }

    #[test]
    fn pieces_are_one_text() {
        for (kind, level) in [("gzip", "1"), ("zstd", "19"), ("gzip", ""), ("none", "")] {
            let mut sink = Cursor::new(Vec::new());
            let packing = Packing::of(&options(&[("compress", kind), ("level", level)]), &sink).unwrap();
            let mut out = Output::new(&mut sink, packing);
            out.text(b"one,").unwrap();
            out.packed(&packing.packed(b"two".to_vec()).unwrap()).unwrap();
            out.finish().unwrap();
            let bytes = sink.into_inner();
            let mut text = String::new();
            match kind {
                "gzip" => flate2::read::MultiGzDecoder::new(bytes.as_slice()).read_to_string(&mut text),
                "zstd" => zstd::Decoder::new(bytes.as_slice()).unwrap().read_to_string(&mut text),
                _ => bytes.as_slice().read_to_string(&mut text),
            }
            .unwrap();
            assert_eq!(text, "one,two", "{kind}");
        }
        let wrong = Packing::of(&options(&[("compress", "gzip"), ("level", "10")]), &Cursor::new(Vec::new()));
        assert!(wrong.unwrap_err().to_string().contains("levels from 0 to 9"));
        let mut sink = Cursor::new(Vec::new());
        Output::new(&mut sink, Packing::Gzip(6)).finish().unwrap();
        assert!(!sink.into_inner().is_empty());
    }

    #[test]
    fn characters_become_bytes_or_are_named() {
        let of = |name: &str| Characters::of(&options(&[("encoding", name)])).unwrap();
        let bytes = |name: &str, text: &str| of(name).encoded(text.as_bytes().to_vec(), false);
        assert_eq!(bytes("utf-16le", "aé").unwrap(), [b'a', 0, 0xe9, 0]);
        assert_eq!(bytes("utf-16be", "a😀").unwrap(), [0, b'a', 0xd8, 0x3d, 0xde, 0]);
        assert_eq!(bytes("windows-1252", "€é").unwrap(), [0x80, 0xe9]);
        assert_eq!(bytes("latin1", "é\u{80}").unwrap(), [0xe9, 0x80]);
        assert_eq!((bytes("latin1", "a€"), bytes("windows-1252", "aж")), (Err('€'), Err('ж')));
        assert_eq!(of("cp1252").encoded("aжb".as_bytes().to_vec(), true).unwrap(), b"a?b");
        assert_eq!(bytes("shift_jis", "日本").unwrap(), [0x93, 0xfa, 0x96, 0x7b]);
        assert_eq!(of("utf-8-sig").mark(), "\u{feff}".as_bytes());
        assert!(Characters::of(&options(&[("encoding", "klingon")])).is_err());
    }
}
