//! Formats that Gander recognises but does not read: a name says more than bytes alone.
//!
//! Each line gives what the file is and the bytes by which it is told. A format that gets a reader
//! leaves this list.

use crate::bytes::error::{Error, Result};
use crate::bytes::numbers::le;
use crate::data::content::Content;
use crate::data::format::{Format, Opening};
use crate::data::node::Node;
use crate::data::sniff::{Head, Match};

/// The descriptor.
pub static FORMAT: Format = Format {
    extensions: &["pb", "mp3", "rmeta"],
    sniff: Some(sniff),
    ..Format::new("known", "Recognised, not read", open)
};

/// What a file is, and the bytes that tell it: all of them, each at its offset.
type Line = (&'static str, &'static [(usize, &'static [u8])]);

const LINES: &[Line] = &[
    // arrays and science
    ("a MATLAB 7.3 file (HDF5)", &[(0, b"MATLAB 7.3 MAT-file")]),
    ("an HDF5 file", &[(0, b"\x89HDF\r\n\x1a\n")]),
    ("an HDF5 file", &[(512, b"\x89HDF\r\n\x1a\n")]),
    ("an HDF5 file", &[(1024, b"\x89HDF\r\n\x1a\n")]),
    ("an HDF5 file", &[(2048, b"\x89HDF\r\n\x1a\n")]),
    ("an HDF4 file", &[(0, b"\x0e\x03\x13\x01")]),
    ("a GRIB file", &[(0, b"GRIB")]),
    ("an NRRD image", &[(0, b"NRRD000")]),
    ("a LAS point cloud", &[(0, b"LASF")]),
    // models
    ("a PyTorch module for phones (FlatBuffers)", &[(4, b"PTMF")]),
    // tables and databases
    ("a DuckDB database", &[(8, b"DUCK")]),
    ("an ORC file", &[(0, b"ORC")]),
    ("an Avro file", &[(0, b"Obj\x01")]),
    ("a Berkeley DB database", &[(12, b"\x62\x31\x05\0")]),
    ("an R data file", &[(0, b"RDX2\n")]),
    ("an R data file", &[(0, b"RDX3\n")]),
    ("an R object (RDS)", &[(0, b"X\n\0\0\0\x02\0")]),
    ("an R object (RDS)", &[(0, b"X\n\0\0\0\x03\0")]),
    ("an SPSS file", &[(0, b"$FL2")]),
    ("a Stata file", &[(0, b"<stata_dta>")]),
    ("an HDFS sequence file", &[(0, b"SEQ\x06")]),
    // records
    // sound and video
    ("a WAV recording", &[(0, b"RIFF"), (8, b"WAVE")]),
    ("a WAV recording (64 bit)", &[(0, b"RF64"), (8, b"WAVE")]),
    ("an AIFF recording", &[(0, b"FORM"), (8, b"AIF")]),
    ("a FLAC recording", &[(0, b"fLaC")]),
    ("an MP3 recording", &[(0, b"ID3")]),
    ("an Ogg recording or video", &[(0, b"OggS")]),
    ("an AU recording", &[(0, b".snd")]),
    ("a MIDI file", &[(0, b"MThd")]),
    ("an MPEG video", &[(0, b"\0\0\x01\xba")]),
    ("an MPEG video", &[(0, b"\0\0\x01\xb3")]),
    ("a Flash video", &[(0, b"FLV\x01")]),
    ("an ASF (Windows Media) file", &[(0, b"\x30\x26\xb2\x75\x8e\x66\xcf\x11")]),
    // pictures
    ("a Photoshop image", &[(0, b"8BPS")]),
    ("a DirectDraw texture", &[(0, b"DDS |\0\0\0")]),
    ("a Blizzard texture", &[(0, b"BLP2")]),
    ("a KTX texture", &[(0, b"\xabKTX ")]),
    // archives
    ("a 7-Zip archive", &[(0, b"7z\xbc\xaf\x27\x1c")]),
    ("a RAR archive", &[(0, b"Rar!\x1a\x07")]),
    ("a Windows cabinet", &[(0, b"MSCF\0\0\0\0")]),
    ("a Unix ar archive", &[(0, b"!<arch>\n")]),
    ("a cpio archive", &[(0, b"070701")]),
    ("an lzip file", &[(0, b"LZIP\x01")]),
    ("a lzop file", &[(0, b"\x89LZO\0\r\n\x1a\n")]),
    ("a Unix compress file", &[(0, b"\x1f\x9d\x90")]),
    ("a framed Snappy file", &[(0, b"\xff\x06\0\0sNaPpY")]),
    ("a Zstandard dictionary", &[(0, b"\x37\xa4\x30\xec")]),
    // documents and programs
    ("a PDF document", &[(0, b"%PDF-")]),
    ("a PostScript document", &[(0, b"%!PS-")]),
    ("a DjVu document", &[(0, b"AT&TFORM")]),
    ("an ELF program or library", &[(0, b"\x7fELF")]),
    ("a Mach-O program or library", &[(0, b"\xcf\xfa\xed\xfe")]),
    ("a Mach-O program or library", &[(0, b"\xca\xfe\xba\xbe\0\0\0\x02")]),
    ("a Java class", &[(0, b"\xca\xfe\xba\xbe\0")]),
    ("a WebAssembly module", &[(0, b"\0asm\x01\0\0\0")]),
    ("LLVM bitcode", &[(0, b"BC\xc0\xde")]),
    ("a TrueType font", &[(0, b"\0\x01\0\0\0")]),
    ("an OpenType font", &[(0, b"OTTO\0")]),
    ("a WOFF font", &[(0, b"wOFF")]),
    ("a WOFF2 font", &[(0, b"wOF2")]),
];

fn sniff(head: &Head) -> Match {
    match name(head) {
        Some((_, certain)) if certain => Match::Yes,
        Some(_) => Match::Maybe,
        None => Match::No,
    }
}

fn open(opening: &Opening) -> Result<Node> {
    let what = name(opening.head).map_or("of an unknown format", |(what, _)| what);
    let problem = Error::unsupported(format!(
        "this is {what}; this version of Gander recognises that format but does not read it"
    ));
    Ok(Node::new(opening.source.name(), "file")
        .content(Content::Bytes(opening.source.clone()))
        .problem(problem))
}

/// What the file is, and whether that is certain whatever its extension says.
fn name(head: &Head) -> Option<(&'static str, bool)> {
    if head.is_folder {
        return None;
    }
    let first = &head.first;
    let by_bytes = LINES
        .iter()
        .find(|(_, signs)| signs.iter().all(|(at, bytes)| first.get(*at..at + bytes.len()) == Some(bytes)));
    let certain = by_bytes
        .map(|(what, _)| *what)
        .or_else(|| head.zip()?.document.map(|document| document.name()))
        .or_else(|| head.compound().map(|document| document.name()))
        .or_else(|| is_windows_program(first).then_some("a Windows program or library"))
        .or_else(|| head.ends_with(b"\x57\xfb\x80\x8b\x24\x75\x47\xdb").then_some("a table of LevelDB"));
    certain.map(|what| (what, true)).or_else(|| by_name(head).map(|what| (what, false)))
}

/// Formats without a sign of their own: the extension and a first byte that fits.
fn by_name(head: &Head) -> Option<&'static str> {
    if head.is_text() {
        return None;
    }
    let first = *head.first.first()?;
    let protobuf = matches!(first, 0x08 | 0x0a | 0x12);
    [(&["pb"][..], "a Protocol Buffers file", protobuf), (&["mp3"], "an MP3 recording", first == 0xff)]
        .into_iter()
        .find_map(|(extensions, what, fits)| (fits && head.has_extension(extensions)).then_some(what))
}

/// A DOS header that points to a Windows one.
fn is_windows_program(first: &[u8]) -> bool {
    let at = le::<u32>(first, 60);
    first.starts_with(b"MZ")
        && at.is_some_and(|at| first.get(at as usize..).is_some_and(|rest| rest.starts_with(b"PE\0\0")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::source::Source;
    use crate::bytes::task::Task;

    fn head(bytes: &[u8], name: &str) -> Head {
        let source = Source::memory(name, bytes.to_vec());
        crate::formats::head(&Task::new(), &source).unwrap()
    }

    #[test]
    fn files_are_told_by_their_bytes() {
        let says = |bytes: &[u8]| name(&head(bytes, "x")).map(|(what, _)| what);
        assert_eq!(says(b"\x89HDF\r\n\x1a\n......"), Some("an HDF5 file"));
        assert_eq!(says(b"RIFF....WAVEfmt "), Some("a WAV recording"));
        assert_eq!(says(b"RIFF....WEBPVP8 "), None);
        assert_eq!(
            says(b"MZ is what this text begins with, and it is long enough to have an offset in it"),
            None
        );
    }

    #[test]
    fn an_extension_alone_is_only_a_guess() {
        assert_eq!(sniff(&head(b"\x08\x07\x12\x04\0\0", "m.pb")), Match::Maybe);
        assert_eq!(sniff(&head(b"\x08\x07\x12\x04\0\0", "m.bin")), Match::No);
        assert_eq!(sniff(&head(b"a text\n", "m.pb")), Match::No);
    }
}
