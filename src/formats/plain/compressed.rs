//! Compressed wrappers: `data.csv.gz` opens as the table that is inside.
//!
//! gzip (RFC 1952), zlib (RFC 1950), Zstandard (RFC 8878), bzip2, xz and LZMA, LZ4 frames.

use crate::bytes::codec::decompress::Decompressor;
use crate::bytes::codec::{bzip2, gzip, inflater::Inflater, lz4_frame as lz4, lzma, zstd};
use crate::bytes::error::{Error, Result};
use crate::bytes::numbers::le;
use crate::bytes::source::ReadAt;
use crate::bytes::stream::indexed::Indexed;
use crate::bytes::stream::{Chained, Codec, Frames, Notes, Spooled};
use crate::data::format::{Format, Opening};
use crate::data::node::Node;
use crate::data::sniff::{self, Head, Magic, Match};
use crate::formats::ALL;
use std::sync::Arc;

/// How many decoded bytes are looked at when opening; damage within them is shown at once.
const CHECKED: u64 = 8 << 20;

/// From this compressed size on, gzip is read by an index rather than kept decoded.
const INDEXED: u64 = 4 << 20;
/// How much of such a file is looked at when opening.
const BEGUN: u64 = 1 << 20;

/// The descriptor.
pub static GZIP: Format = Format {
    extensions: &["gz", "tgz", "gzip", "mgz"],
    mime: &["application/gzip"],
    magic: &[Magic::at(0, &[0x1f, 0x8b, 8])],
    ..Format::new("gzip", "gzip", open_gzip)
};
/// The descriptor.
pub static ZSTD: Format = Format {
    extensions: &["zst", "zstd", "tzst"],
    mime: &["application/zstd"],
    sniff: Some(sniff_zstd),
    ..Format::new("zstd", "Zstandard", open_zstd)
};
/// The descriptor.
pub static BZIP2: Format = Format {
    extensions: &["bz2", "tbz2", "tbz"],
    mime: &["application/x-bzip2"],
    sniff: Some(sniff_bzip2),
    ..Format::new("bzip2", "bzip2", open_bzip2)
};
/// The descriptor.
pub static XZ: Format = Format {
    extensions: &["xz", "txz", "lzma"],
    mime: &["application/x-xz"],
    sniff: Some(sniff_xz),
    ..Format::new("xz", "xz", open_xz)
};
/// The descriptor.
pub static LZ4: Format = Format {
    extensions: &["lz4", "tlz4"],
    mime: &["application/x-lz4"],
    sniff: Some(sniff_lz4),
    ..Format::new("lz4", "LZ4", open_lz4)
};
/// The descriptor.
pub static ZLIB: Format = Format {
    extensions: &["zz", "zlib"],
    mime: &["application/zlib"],
    sniff: Some(sniff_zlib),
    ..Format::new("zlib", "zlib", open_zlib)
};

/// The first magic number behind skippable frames, as far as the head reaches; the skippable one
/// itself where it does not.
fn frame_magic(head: &Head) -> Option<[u8; 4]> {
    let mut rest: &[u8] = &head.first;
    let first = *rest.first_chunk::<4>()?;
    while let Some(&magic) = rest.first_chunk::<4>() {
        if !zstd::is_skippable(magic) {
            return Some(magic);
        }
        let len = le::<u32>(rest, 4)? as usize;
        rest = rest.get(8usize.checked_add(len)?..).unwrap_or_default();
    }
    Some(first)
}

fn sniff_zstd(head: &Head) -> Match {
    match frame_magic(head) {
        Some(zstd::MAGIC) => Match::Yes,
        Some(magic) if zstd::is_skippable(magic) => Match::Maybe,
        _ => Match::No,
    }
}

fn sniff_lz4(head: &Head) -> Match {
    match frame_magic(head) {
        Some(lz4::MAGIC | lz4::LEGACY) => Match::Yes,
        Some(magic) if zstd::is_skippable(magic) => Match::Maybe,
        _ => Match::No,
    }
}

/// `BZh`, a digit, and the mark of a block or of the end.
fn sniff_bzip2(head: &Head) -> Match {
    let marks = [b"\x31\x41\x59\x26\x53\x59", b"\x17\x72\x45\x38\x50\x90"];
    let marked = head.first.get(4..10).is_none_or(|mark| marks.iter().any(|m| mark == *m));
    match *head.first {
        [b'B', b'Z', b'h', b'1'..=b'9', ..] if marked && head.first.len() >= 10 => Match::Yes,
        [b'B', b'Z', b'h', ..] => Match::Maybe,
        _ => Match::No,
    }
}

/// xz by its magic; lzma, which has none, by a header that makes sense and data behind it that decode.
fn sniff_xz(head: &Head) -> Match {
    if head.starts_with(lzma::MAGIC) {
        return Match::Yes;
    }
    let whole = head.len.is_some_and(|len| len <= head.first.len() as u64);
    match lzma::begins_as_lzma(&head.first, whole) {
        Some(true) => Match::Yes,
        Some(false) => Match::Maybe,
        None => Match::No,
    }
}

/// Two bytes are a weak sign (`x^` is text), so some of what follows must inflate.
fn sniff_zlib(head: &Head) -> Match {
    let &[cmf, flg, ..] = &*head.first else { return Match::No };
    if cmf & 15 != 8 || cmf >> 4 > 7 {
        return Match::No;
    }
    let holds = (u32::from(cmf) * 256 + u32::from(flg)) % 31 == 0;
    let mut start = head.first.get(..2048.min(head.first.len())).unwrap_or_default();
    let inflater = Inflater::new(true);
    let good = inflater.and_then(|mut inflater| inflater.step(&mut start, &mut [0; 512], false)).is_ok();
    if holds && good { Match::Yes } else { Match::Maybe }
}

fn open_gzip(opening: &Opening) -> Result<Node> {
    if opening.source.known_len().is_some_and(|len| len >= INDEXED) {
        let stream = Arc::new(Indexed::gzip(opening.source.clone()));
        stream.ahead(opening.task, BEGUN)?;
        let notes = stream.tell();
        return open_inner(opening, "gzip", stream, notes.unwrap_or_default());
    }
    open_spooled(opening, "gzip", || Ok(Box::new(Frames::new(gzip::Gzip::new(None)?))))
}

fn open_zstd(opening: &Opening) -> Result<Node> {
    open_spooled(opening, "zstd", || Ok(Box::new(Frames::new(zstd::Zstd::new()?))))
}

fn open_bzip2(opening: &Opening) -> Result<Node> {
    open_spooled(opening, "bzip2", || Ok(Box::new(Frames::new(bzip2::Bzip2::default()))))
}

fn open_xz(opening: &Opening) -> Result<Node> {
    if opening.head.starts_with(lzma::MAGIC) {
        return match lzma::filters(&opening.head.first)? {
            0 | 1 => open_spooled(opening, "xz", || Ok(Box::new(Frames::new(lzma::Lzma::xz())))),
            _ => {
                let source = opening.source.clone();
                open_spooled(opening, "xz", move || Ok(Box::new(Chained::new(source.clone()))))
            }
        };
    }
    let stream =
        Spooled::new(opening.source.clone(), 0, Box::new(|| Ok(Box::new(Frames::new(lzma::Lzma::alone())))));
    stream.ahead(opening.task, CHECKED)?;
    let notes = stream.tell().unwrap_or_default();
    let is_said = opening.head.has_extension(XZ.extensions) || opening.options.get("format").is_some();
    match &notes.problem {
        // Nothing but its bytes said so, and they do not hold.
        Some(problem) if !is_said => Err(Error::other_format(format!(
            "it begins like an LZMA stream, but cannot be decoded: {problem}"
        ))),
        _ => open_inner(opening, "lzma", Arc::new(stream), notes),
    }
}

fn open_lz4(opening: &Opening) -> Result<Node> {
    open_spooled(opening, "lz4", || Ok(Box::new(Frames::new(lz4::Lz4::default()))))
}

fn open_zlib(opening: &Opening) -> Result<Node> {
    open_spooled(opening, "zlib", || Ok(Box::new(Frames::new(Inflater::new(true)?))))
}

/// Opens what a codec decodes.
fn open_spooled(
    opening: &Opening,
    word: &'static str,
    codec: impl Fn() -> Result<Box<dyn Codec>> + Send + Sync + 'static,
) -> Result<Node> {
    let stream = Spooled::new(opening.source.clone(), 0, Box::new(codec));
    let stream = Arc::new(if matches!(word, "gzip" | "zlib") { stream.deflated() } else { stream });
    stream.ahead(opening.task, CHECKED)?;
    let notes = stream.tell();
    open_inner(opening, word, stream, notes.unwrap_or_default())
}

/// Opens what is inside and lends it the wrapper's name.
fn open_inner(opening: &Opening, word: &'static str, stream: Arc<dyn ReadAt>, notes: Notes) -> Result<Node> {
    let source = opening.source;
    // Nothing could be decoded: the wrapper's own error says more than what an empty inside would.
    if let Some(problem) = &notes.problem
        && stream.known_len() == Some(0)
    {
        return Err(problem.clone());
    }
    let inner = source.decompressed(inner_name(source.name()), stream)?;
    let inner = inner.unpacked_from(source, 0..source.known_len().unwrap_or(0), word);
    let mut options = opening.options.clone();
    options.0.remove("format");
    let mut node = ALL.unwrapped(opening.task, source.name(), "file", &inner, &options)?;
    node.reader.insert(0, ("compression".to_owned(), word.into()));
    if let Some(problem) = notes.problem {
        node.problem = Some(problem);
    }
    node.remarks.extend(notes.remarks);
    // Places inside the decoded stream are none in the file.
    node.span = None;
    Ok(node)
}

/// The name without the wrapper's extension; `.tgz` and its like become `.tar`.
fn inner_name(name: &str) -> String {
    const TARS: [&str; 6] = ["tgz", "tbz", "tbz2", "txz", "tzst", "tlz4"];
    match name.rsplit_once('.') {
        Some((stem, _)) if sniff::has_extension(name, &TARS) => format!("{stem}.tar"),
        Some((stem, _)) if !stem.is_empty() => stem.to_owned(),
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use crate::bytes::error::ErrorKind;
    use crate::data::content::Content;
    use crate::data::format::Options;
    use crate::data::open::Document;
    use crate::{Result, Task};
    use std::path::PathBuf;

    fn path(name: &str) -> PathBuf {
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/xz").join(name)
    }

    fn opened(name: &str) -> Result<Document> {
        crate::open(&Task::new(), &path(name), &Options::default())
    }

    fn in_memory(name: &str, bytes: Vec<u8>) -> Document {
        let source = crate::bytes::source::Source::memory(name, bytes);
        crate::formats::open_source(&Task::new(), &source, &Options::default()).unwrap()
    }

    #[test]
    fn arrays_of_zeros_are_bytes() {
        for first in [0u32, 1, 93] {
            let mut labels: Vec<u8> = [first, 1, 2, 0].iter().flat_map(|label| label.to_le_bytes()).collect();
            labels.resize(100_000, 0);
            let document = in_memory("labels.raw", labels);
            assert_eq!(document.format.id, "bytes", "{first}");
            assert!(matches!(document.root.content, Some(Content::Bytes(_))));
        }
    }

    #[test]
    fn what_begins_like_lzma_and_cannot_be_decoded_is_bytes() {
        use std::io::Write;
        let mut state = 1u32;
        let noise = std::iter::repeat_with(|| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            b'a' + (state >> 28) as u8
        });
        let noise: Vec<u8> = noise.take(100_000).collect();
        let options = lzma_rust2::LzmaOptions::with_preset(1);
        let mut writer = lzma_rust2::LzmaWriter::new_use_header(vec![], &options, None).unwrap();
        writer.write_all(&noise).unwrap();
        let mut file = writer.finish().unwrap();
        assert_eq!(in_memory("letters", file.clone()).format.id, "xz");
        // Behind what is looked at to tell formats.
        file.truncate(30_000);
        let document = in_memory("letters", file.clone());
        let Some(Content::Bytes(bytes)) = &document.root.content else { panic!() };
        assert_eq!((document.format.id, bytes.known_len()), ("bytes", Some(30_000)));
        assert!(document.remarks.iter().any(|remark| remark.contains("LZMA")));
        assert!(document.root.problem.is_none());
        let named = in_memory("letters.lzma", file);
        assert!(named.format.id == "xz" && named.root.problem.is_some());
    }

    #[test]
    fn filters_of_xz_are_undone_and_unknown_ones_named() {
        let jumps: Vec<u8> =
            (0..300u32).flat_map(|n| [&[0xe8][..], &(n * 64).to_le_bytes(), b"a goose "].concat()).collect();
        let kinds =
            ["filter_x86", "filter_powerpc", "filter_ia64", "filter_arm", "filter_thumb", "filter_sparc"];
        for name in kinds.iter().chain(&["filters_2", "filters_3"]) {
            let document = opened(&format!("{name}.bin.xz")).unwrap();
            assert!(document.root.problem.is_none(), "{name}: {:?}", document.root.problem);
            let Some(Content::Bytes(source)) = &document.root.content else { panic!("{name}") };
            let task = Task::new();
            let bytes = source.read(&task, 0..source.len(&task).unwrap()).unwrap();
            assert_eq!(bytes.as_ref(), jumps, "{name}");
        }
        let error = opened("malformed/filter_unknown.bin.xz").err().unwrap();
        assert!(error.kind() == ErrorKind::Unsupported && error.message().contains("0x7e"), "{error}");
    }

    #[test]
    fn lzma_alone_is_a_stream_whatever_its_dictionary_and_name() {
        for name in ["small_dictionary.csv.lzma", "lzma_without_extension", "old_lzma.txt.lzma"] {
            let document = opened(name).unwrap();
            assert_eq!(document.format.id, "xz", "{name}");
            let table = matches!(document.root.content, Some(Content::Table(_)));
            assert!(table || name.contains(".txt."), "{name}");
        }
        let unnamed = in_memory("birds", std::fs::read(path("small_dictionary.csv.lzma")).unwrap());
        assert_eq!(unnamed.format.id, "xz");
        let damaged = opened("malformed/bad_data.csv.lzma");
        let problem = damaged.map_or_else(Some, |document| document.root.problem.clone());
        assert_eq!(problem.map(|error| error.kind()), Some(ErrorKind::Malformed));
    }
}
